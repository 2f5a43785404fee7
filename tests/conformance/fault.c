// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's fault injection, as exact as a walk needs it. Its attributes have knobs in debugfs,
 * except for the count of allocations that have not failed yet. So this file accesses the attribute
 * to which the knobs belong.
 */
#include <linux/err.h>
#include <linux/fault-inject.h>
#include <linux/fs.h>
#include <linux/kmemleak.h>
#include "fault.h"

#ifdef FAULT_INJECTION

#define KNOBS	"/sys/kernel/debug/"

/*
 * The leak detector's own allocations do not matter. Those that come through this function, which
 * is short, are left out.
 */
#define LEAKS	((unsigned long)kmemleak_alloc)

static const struct {
	const char *probability, *wait, *order;
} knobs[] = {
	[FAULT_SLAB] = { KNOBS "failslab/probability", KNOBS "failslab/ignore-gfp-wait" },
	[FAULT_PAGE] = {
		KNOBS "fail_page_alloc/probability", KNOBS "fail_page_alloc/ignore-gfp-wait",
		KNOBS "fail_page_alloc/min-order",
	},
};

/* Return the variable behind a knob, or NULL. */
static void *knob(struct test *t, const char *name)
{
	struct file *file = filp_open(name, O_RDWR, 0);
	void *value;

	if (IS_ERR(file)) {
		FAIL(t, "%s: %ld", name, PTR_ERR(file));
		return NULL;
	}
	value = file_inode(file)->i_private;
	filp_close(file, NULL);
	return value;
}

bool fault_open(struct test *t, struct fault *f, enum fault_kind kind)
{
	unsigned long *probability = knob(t, knobs[kind].probability);

	f->may_wait = knob(t, knobs[kind].wait);
	f->order = knobs[kind].order ? knob(t, knobs[kind].order) : &f->saved_order;
	if (!probability || !f->may_wait || !f->order)
		return false;
	f->attr = container_of(probability, struct fault_attr, probability);
	f->saved = *f->attr;
	f->saved_wait = *f->may_wait;
	f->saved_order = *f->order;
	*f->may_wait = false;
	*f->order = 0;
	f->attr->probability = 0;
	f->attr->verbose = 0;
	atomic_set(&f->attr->space, 0);
	f->attr->stacktrace_depth = 32;
	f->attr->require_start = MODULES_VADDR;
	f->attr->require_end = MODULES_END;
	f->attr->reject_start = LEAKS;
	f->attr->reject_end = LEAKS + 64;
	return true;
}

void fault_close(struct fault *f)
{
	WRITE_ONCE(f->attr->probability, 0);
	*f->may_wait = f->saved_wait;
	*f->order = f->saved_order;
	*f->attr = f->saved;
}

void fault_within(struct fault *f, unsigned long begin, unsigned long end)
{
	f->attr->require_start = begin;
	f->attr->require_end = end;
}

void fault_without(struct fault *f, unsigned long begin, unsigned long end)
{
	f->attr->reject_start = begin;
	f->attr->reject_end = end;
}

void fault_arm(struct fault *f, unsigned int nth)
{
	f->attr->count = 0;
	f->attr->interval = nth;
	atomic_set(&f->attr->times, 1);
	WRITE_ONCE(f->attr->probability, 100);
}

bool fault_fired(struct fault *f)
{
	WRITE_ONCE(f->attr->probability, 0);
	return !atomic_read(&f->attr->times);
}

unsigned long fault_sites(const struct fault *f)
{
	return f->attr->count;
}

#endif
