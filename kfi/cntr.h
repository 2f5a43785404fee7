/* SPDX-License-Identifier: GPL-2.0 */
/* cntr.h - internals of a counter. */
#ifndef _KFI_CNTR_H
#define _KFI_CNTR_H

#include <linux/cache.h>
#include "core.h"

/** enum kfi_cntr_sense - what a threshold is compared with */
enum kfi_cntr_sense {
	KFI_CNTR_SUCCEEDED,	/* the counter's value */
	KFI_CNTR_ENDED,		/* successes plus errors */
	KFI_CNTR_SENSES
};

/**
 * struct kfi_cntr - a counter
 * @fid: the consumer's handle
 * @obj: common part
 * @domain: parent
 * @bytes: counts bytes instead of operations
 * @waitable: has a wait object
 * @armed: @waiting may have operations; a change of the value calls kfi_trigger_check()
 * @handler: the consumer's, called after each change in the context of the change, or NULL
 * @wait: sleepers in kfi_cntr_wait()
 * @lock: protects @waiting, @due, and &kfi_trigger.cntr of the operations in them. A leaf lock,
 *	taken with bottom halves off
 * @waiting: operations that start when the counter reaches a value, ordered by threshold
 *	(trigger.c)
 * @due: operations whose threshold has been reached, in the order in which they start
 * @work: starts the operations in @due
 * @value: number of successes, or their bytes
 * @errors: number of errors
 *
 * @value and @errors are atomics without a lock, exact at any time. kfi_cntr_open() allocates the
 * counter; kfi_cntr_close() frees it, when nothing is bound to it and no operation waits for it.
 */
struct kfi_cntr {
	struct kfid_cntr	fid;
	struct kfi_obj		obj;
	struct kfi_domain	*domain;
	bool			bytes;
	bool			waitable;
	bool			armed;
	kfi_cntr_handler	handler;
	wait_queue_head_t	wait;
	spinlock_t		lock;
	struct list_head	waiting[KFI_CNTR_SENSES];
	struct list_head	due;
	struct delayed_work	work;
	atomic64_t		value ____cacheline_aligned_in_smp;
	atomic64_t		errors;
};

static inline struct kfi_cntr *kfi_to_cntr(struct kfid_cntr *fid)
{
	return container_of(fid, struct kfi_cntr, fid);
}

#endif /* _KFI_CNTR_H */
