/* SPDX-License-Identifier: GPL-2.0 */
/* cntr.h - internals of a counter. */
#ifndef _KFI_CNTR_H
#define _KFI_CNTR_H

#include <linux/cache.h>
#include "core.h"

/**
 * struct kfi_cntr - a counter
 * @fid: the consumer's handle
 * @obj: common part
 * @domain: parent
 * @waitable: has a wait object
 * @handler: handler of the consumer, called after each change in the context of the change, or NULL
 * @wait: sleepers in kfi_cntr_wait()
 * @value: number of successes
 * @errors: number of errors
 *
 * @value and @errors are atomics without a lock, exact at any time. kfi_cntr_open() allocates the
 * counter; kfi_cntr_close() frees it, when it is bound to nothing.
 */
struct kfi_cntr {
	struct kfid_cntr	fid;
	struct kfi_obj		obj;
	struct kfi_domain	*domain;
	bool			waitable;
	kfi_cntr_handler	handler;
	wait_queue_head_t	wait;
	atomic64_t		value ____cacheline_aligned_in_smp;
	atomic64_t		errors;
};

static inline struct kfi_cntr *kfi_to_cntr(struct kfid_cntr *fid)
{
	return container_of(fid, struct kfi_cntr, fid);
}

#endif /* _KFI_CNTR_H */
