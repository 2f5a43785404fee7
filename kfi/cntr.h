/* SPDX-License-Identifier: GPL-2.0 */
/*
 * cntr.h - the inside of a counter.
 */
#ifndef _KFI_CNTR_H
#define _KFI_CNTR_H

#include <linux/cache.h>
#include "core.h"

/**
 * struct kfi_cntr - a counter
 * @fid: @obj: @domain: as everywhere
 * @bytes:	counts bytes instead of operations
 * @waitable:	has a wait object
 * @wait:	sleepers in kfi_cntr_wait()
 * @value:	successes; @errors: failures. Exact at any time: both are plain atomics, no lock.
 */
struct kfi_cntr {
	struct kfid_cntr	fid;
	struct kfi_obj		obj;
	struct kfi_domain	*domain;
	bool			bytes;
	bool			waitable;
	wait_queue_head_t	wait;
	atomic64_t		value ____cacheline_aligned_in_smp;
	atomic64_t		errors;
};

static inline struct kfi_cntr *kfi_to_cntr(struct kfid_cntr *fid)
{
	return container_of(fid, struct kfi_cntr, fid);
}

#endif /* _KFI_CNTR_H */
