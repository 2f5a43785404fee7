/* SPDX-License-Identifier: GPL-2.0 */
/*
 * trigger.h - operations that wait for a counter (trigger.c): interface to endpoints, counters,
 * domains and op.c
 */
#ifndef _KFI_TRIGGER_CORE_H
#define _KFI_TRIGGER_CORE_H

#include <kfi_trigger.h>
#include "cntr.h"
#include "post.h"

/**
 * struct kfi_trigger - an operation, or a change of a counter, that waits for a counter
 * @link: entry in &kfi_cntr.waiting or &kfi_cntr.due; protected by &kfi_cntr.lock of @cntr
 * @cntr: the counter while this is in one of its lists, else NULL. Holds a count in kfi_obj.users,
 *	which keeps the counter from being closed. Written under &kfi_cntr.lock of the counter
 * @threshold: start when the counter has reached this value
 * @op: operation that has been posted but not started; NULL if @work changes a counter
 * @work: the consumer's structure, which identifies deferred work when it is canceled; NULL for a
 *	post with KFI_TRIGGER
 * @target: counter that counts the completion of @op, or that is changed; may be NULL. Holds a
 *	count in kfi_obj.users until then
 * @tries: number of times that the provider had no room for @op
 * @inject: the payload is copied when the operation starts
 *
 * The triggers of operations are in &kfi_ep.triggers, those of deferred work that changes a counter
 * in the consumer's struct kfi_deferred_work. So nothing is allocated when one is queued.
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

/*
 * Allocate the triggers of an endpoint with KFI_TRIGGER, after its pools; free them. Return: 0,
 * -ENOMEM.
 */
int kfi_trigger_ep_init(struct kfi_ep *ep);
void kfi_trigger_ep_exit(struct kfi_ep *ep);
/*
 * Complete what waits with @err. The state of the endpoint forbids posts, and a grace period has
 * passed since.
 */
void kfi_trigger_end(struct kfi_ep *ep, int err);

/*
 * Return true if a transmit of @ep with KFI_TRIGGER still waits for its counter. The result may be
 * outdated.
 */
bool kfi_trigger_waits(struct kfi_ep *ep, const struct kfi_oper *op);
/* Post a transmit or receive with KFI_TRIGGER. */
ssize_t kfi_trigger_post(struct kfi_ep *ep, struct kfi_post *post);
/* Cancel an operation that waits, for kfi_cancel(). Return: 0, -ENOENT. */
int kfi_trigger_cancel(struct kfi_ep *ep, void *context);
/*
 * An operation with KFI_TRIGGER has completed. If it is deferred work, count it in the counter that
 * the work names. Return: false if it must be counted as any other operation.
 */
bool kfi_trigger_ended(const struct kfi_oper *op, int err);

void kfi_trigger_cntr_init(struct kfi_cntr *cntr);
/*
 * Called when the counter has been retired. On return trigger.c does not use the counter any more.
 * May sleep.
 */
void kfi_trigger_cntr_stop(struct kfi_cntr *cntr);
/* The counter has changed while operations wait for it. Process context or softirq. */
void kfi_trigger_check(struct kfi_cntr *cntr);

/* Commands of kfi_control() */
int kfi_work_queue(struct kfi_domain *domain, struct kfi_deferred_work *work);
int kfi_work_cancel(struct kfi_domain *domain, struct kfi_deferred_work *work);
int kfi_work_flush(struct kfi_domain *domain);
void kfi_work_flush_cntr(struct kfi_cntr *cntr);

/*
 * Work items of this queue start operations that waited for a counter or behind a fence, without a
 * lock held.
 */
extern struct workqueue_struct *kfi_start_wq;

int kfi_trigger_setup(void);
void kfi_trigger_teardown(void);

#endif /* _KFI_TRIGGER_CORE_H */
