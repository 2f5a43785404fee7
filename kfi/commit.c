// SPDX-License-Identifier: GPL-2.0
/*
 * Commit: a region's owner makes what a peer has written durable.
 *
 * kfi_mr.persists counts the calls of persist() that run, and one for the region itself until it ends. Whoever ends
 * it (kfi_close(), kfi_mr_invalidate()) makes it dead, gives that one back, and is done when the count is 0: from then on none
 * begins. So an owner waits for his own function and for no peer, however many commits are queued.
 */
#include <linux/err.h>
#include <linux/export.h>
#include <kfi_commit.h>
#include "mr.h"

/* All in one RCU section: a handle for one I/O may be given other memory after it. */
int kfi_commit_get(struct kfi_ep *ep, const struct kfi_rma_iov *rma, struct kfi_commit_seg *seg)
{
	struct iov_iter iter;
	struct kfi_mr *mr;
	int err = 0;

	rcu_read_lock();
	mr = kfi_mr_get(ep, rma->key, rma->addr, rma->len, KFI_REMOTE_WRITE, &iter);
	if (IS_ERR(mr)) {
		err = PTR_ERR(mr);
	} else if (!mr->persist) {
		kfi_mr_put(mr);
		err = -EOPNOTSUPP;
	} else {
		*seg = (struct kfi_commit_seg) {
			.mr = mr, .key = rma->key, .at = rma->addr - mr->offset, .len = rma->len,
		};
	}
	rcu_read_unlock();
	return err;
}
EXPORT_SYMBOL_GPL(kfi_commit_get);

void kfi_commit_put(const struct kfi_commit_seg *segs, unsigned int count)
{
	for (; count; count--)
		kfi_mr_put(segs++->mr);
}
EXPORT_SYMBOL_GPL(kfi_commit_put);

/* Under another key the handle stands for other memory. */
static int commit_seg(const struct kfi_commit_seg *seg)
{
	struct kfi_mr *mr = seg->mr;
	int err = -EREMOTEIO;

	if (!refcount_inc_not_zero(&mr->persists))
		return err;
	if (kfi_mr_live(mr, seg->key))
		err = mr->persist(&mr->fid, seg->at, seg->len);
	kfi_mr_settle(mr);
	return err > 0 || err < -MAX_ERRNO || err == -EACCES ? -EIO : err;
}

int kfi_commit_run(const struct kfi_commit_seg *segs, unsigned int count)
{
	int err = 0;

	might_sleep();
	for (; count && !err; count--)
		err = commit_seg(segs++);
	return err;
}
EXPORT_SYMBOL_GPL(kfi_commit_run);
