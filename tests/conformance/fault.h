/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fault.h - lack of memory in any context: the nth allocation from now on that a module of this
 * tree makes, or that is made for it further down, fails once. Unlike a task's own fail_nth this
 * includes work items and softirq.
 */
#ifndef KFI_CONFORMANCE_FAULT_H
#define KFI_CONFORMANCE_FAULT_H

#include <linux/fault-inject.h>
#include <linux/mm.h>
#include "harness.h"

#if defined(CONFIG_FAILSLAB) && defined(CONFIG_FAIL_PAGE_ALLOC) && \
	defined(CONFIG_FAULT_INJECTION_STACKTRACE_FILTER) && defined(MODULES_VADDR)
#define FAULT_INJECTION

/**
 * enum fault_kind - kind of allocations
 * @FAULT_SLAB: objects
 * @FAULT_PAGE: pages, those of socket buffers among them
 * @FAULT_KINDS: number of kinds
 */
enum fault_kind { FAULT_SLAB, FAULT_PAGE, FAULT_KINDS };

/**
 * struct fault - an open fault injector
 * @attr: the kernel's attribute
 * @saved: its old value
 * @may_wait: knob: spare allocations that may sleep
 * @saved_wait: its old value
 * @order: knob: spare pages of smaller orders
 * @saved_order: its old value
 */
struct fault {
	struct fault_attr	*attr, saved;
	bool			*may_wait, saved_wait;
	u32			*order, saved_order;
};

/* Nothing fails yet. Without debugfs this fails the case, and fault_close() is not needed. */
bool fault_open(struct test *t, struct fault *f, enum fault_kind kind);
void fault_close(struct fault *f);
/* Count only allocations of code in this range, or for it further down. */
void fault_within(struct fault *f, unsigned long begin, unsigned long end);
/*
 * Leave out allocations of code in this range. Then some of the leak detector's own are counted,
 * and do no harm when they fail.
 */
void fault_without(struct fault *f, unsigned long begin, unsigned long end);
/* Let the @nth allocation from now on fail, and no other. */
void fault_arm(struct fault *f, unsigned int nth);
/* Has it failed? From now on no allocation fails. */
bool fault_fired(struct fault *f);
/* Return the number of allocations since it was armed for one that has not come. */
unsigned long fault_sites(const struct fault *f);

#endif
#endif /* KFI_CONFORMANCE_FAULT_H */
