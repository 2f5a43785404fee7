/* SPDX-License-Identifier: GPL-2.0 */
/*
 * cntr.h - the inside of a counter.
 */
#ifndef _KFI_CNTR_H
#define _KFI_CNTR_H

#include <linux/cache.h>
#include "core.h"

/** enum kfi_cntr_sense - what a threshold is compared with */
enum kfi_cntr_sense {
	KFI_CNTR_SUCCEEDED,	/* the counter's value */
	KFI_CNTR_ENDED,		/* successes and errors */
	KFI_CNTR_SENSES
};

/**
 * struct kfi_cntr - a counter
 * @fid: @obj: @domain: as everywhere
 * @bytes:	counts bytes instead of operations
 * @waitable:	has a wait object
 * @handler:	the consumer's, called after each change, or NULL
 * @armed:	something in @waiting: a change has to look there
 * @wait:	sleepers in kfi_cntr_wait()
 * @lock:	protects @waiting, @due and kfi_trigger.cntr of what is in there; a leaf lock, bottom halves off
 * @waiting:	operations that start at a value, by threshold (trigger.c); @due: those that have been reached, in order
 * @work:	starts what is due
 * @value:	successes; @errors: failures. Exact at any time: both are plain atomics, no lock.
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
