/* SPDX-License-Identifier: GPL-2.0 */
/*
 * trigger.h - operations that wait for a counter (trigger.c), for endpoints, counters, domains and op.c.
 */
#ifndef _KFI_TRIGGER_CORE_H
#define _KFI_TRIGGER_CORE_H

#include <kfi_trigger.h>
#include "cntr.h"
#include "post.h"

/**
 * struct kfi_trigger - something that waits for a counter
 * @link:	in a list of @cntr
 * @cntr:	the counter, whose close it prevents, while it waits; NULL before and after. Written under @cntr->lock
 * @threshold:	value that starts it
 * @op:		the operation, posted but not started; NULL: @work changes a counter
 * @work:	the consumer's structure, by which it is cancelled; NULL: a post with KFI_TRIGGER
 * @target:	counts the end of @op, or is changed; its close is prevented until then. May be NULL
 * @tries:	how often the provider had no room for @op
 * @inject:	the payload is to be copied at the start
 *
 * Operations have theirs in kfi_ep.triggers, works that change counters in the consumer's struct kfi_deferred_work: so there is
 * nothing to allocate when one is queued.
 */
struct kfi_trigger {
	struct list_head		link;
	struct kfi_cntr			*cntr;
	u64				threshold;
	struct kfi_oper			*op;
	struct kfi_deferred_work	*work;
	struct kfi_cntr			*target;
	u8				tries;
	bool				inject;
};

/* Room for all operations of an endpoint that has KFI_TRIGGER, behind its pools. 0, -ENOMEM. */
int kfi_trigger_ep_init(struct kfi_ep *ep);
void kfi_trigger_ep_exit(struct kfi_ep *ep);
/* End what waits with @err. The endpoint's state forbids posts, and a grace period has passed since. */
void kfi_trigger_end(struct kfi_ep *ep, int err);

/* Does a transmit of @ep with KFI_TRIGGER still wait for its counter? The answer may be old. */
bool kfi_trigger_waits(struct kfi_ep *ep, const struct kfi_oper *op);
/* A post with KFI_TRIGGER, of either direction. */
ssize_t kfi_trigger_post(struct kfi_ep *ep, struct kfi_post *post);
/* kfi_cancel() of one that waits. 0, -ENOENT. */
int kfi_trigger_cancel(struct kfi_ep *ep, void *context);
/* An operation with KFI_TRIGGER ends: count it where deferred work says. Return: false: it is counted as any other. */
bool kfi_trigger_ended(const struct kfi_oper *op, int err);

void kfi_trigger_cntr_init(struct kfi_cntr *cntr);
/* After it nobody comes to the counter, which has been retired, through here. May sleep. */
void kfi_trigger_cntr_stop(struct kfi_cntr *cntr);
/* The counter has changed, and something waits for it. Process or softirq. */
void kfi_trigger_check(struct kfi_cntr *cntr);

/* The commands of kfi_control() */
int kfi_work_queue(struct kfi_domain *domain, struct kfi_deferred_work *work);
int kfi_work_cancel(struct kfi_domain *domain, struct kfi_deferred_work *work);
int kfi_work_flush(struct kfi_domain *domain);
void kfi_work_flush_cntr(struct kfi_cntr *cntr);

/* Its work items start operations, without locks held: those that waited for a counter, and those behind a fence. */
extern struct workqueue_struct *kfi_start_wq;

int kfi_trigger_setup(void);
void kfi_trigger_teardown(void);

#endif /* _KFI_TRIGGER_CORE_H */
