/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fault.h - lack of memory in whatever context: the nth allocation from now on that is made by our modules, or for them
 * further down, fails, once. Unlike a task's own fail_nth this reaches work items and softirq.
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
 * enum fault_kind - what fails
 * @FAULT_SLAB: objects
 * @FAULT_PAGE: pages, those of socket buffers among them
 */
enum fault_kind { FAULT_SLAB, FAULT_PAGE, FAULT_KINDS };

/**
 * struct fault - an open fault injector
 * @attr: the kernel's; @saved: as it was
 * @may_wait: spare allocations that may sleep? @saved_wait: as it was
 * @order: spare smaller ones, of pages; @saved_order: as it was
 */
struct fault {
	struct fault_attr	*attr, saved;
	bool			*may_wait, saved_wait;
	u32			*order, saved_order;
};

/* Nothing fails yet. Fails the case, and needs no closing then, if there is no debugfs. */
bool fault_open(struct test *t, struct fault *f, enum fault_kind kind);
void fault_close(struct fault *f);
/* From now on only what is allocated by code in this range, or for it further down. */
void fault_within(struct fault *f, unsigned long begin, unsigned long end);
/* Not what is allocated by code in this range. Some of the leak detector's own is counted then, and does no harm when it fails. */
void fault_without(struct fault *f, unsigned long begin, unsigned long end);
/* The @nth from now on fails, and no other. */
void fault_arm(struct fault *f, unsigned int nth);
/* Has it? From now on nothing fails. */
bool fault_fired(struct fault *f);
/* How many there were since it was armed for one that did not come. */
unsigned long fault_sites(const struct fault *f);

#endif
#endif /* KFI_CONFORMANCE_FAULT_H */
