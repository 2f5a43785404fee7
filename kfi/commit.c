// SPDX-License-Identifier: GPL-2.0
/*
 * Commit: the owner of a region makes durable what a peer has written.
 *
 * &kfi_mr.holds counts the calls of &kfi_mr.persist that run, the leases (kfi_mr_lease()), and one
 * reference of the region itself. The end of a region (kfi_close(), kfi_mr_invalidate()) marks the
 * region dead, drops that reference, and is complete when the count is 0; no call begins after
 * that. So the owner of a region waits for a commit only while its own callback runs, however many
 * commits are queued.
 */
#include <linux/err.h>
#include <linux/export.h>
#include <kfi_commit.h>
#include "mr.h"

/*
 * One RCU section covers the look-up and the copy of the members: a per-I/O region may be attached
 * to other memory after it.
 */
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
			.mr = mr, .key = rma->key, .at = rma->addr - mr->fid.addr, .len = rma->len,
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

/*
 * Commit one segment. A region with another key has been attached to other memory since, and is not
 * committed.
 */
static int commit_seg(const struct kfi_commit_seg *seg)
{
	struct kfi_mr *mr = seg->mr;
	int err = -EREMOTEIO;

	if (!refcount_inc_not_zero(&mr->holds))
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
