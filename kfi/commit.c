// SPDX-License-Identifier: GPL-2.0
/*
 * Commit: the owner of a region makes durable what a peer has written.
 *
 * &kfi_mr.uses counts the calls of &kfi_mr.persist that have not ended, the leases
 * (kfi_mr_lease()), and one reference of the region itself. The end of a region (kfi_close(),
 * kfi_mr_invalidate()) marks the region dead, drops that reference, and is complete when the count
 * is 0; no call begins after that. So the owner of a region waits for a commit only from the call
 * of its callback until that has returned and the call has ended, by its result or by
 * kfi_persist_done(), however many commits are queued.
 */
#include <linux/err.h>
#include <linux/export.h>
#include "commit.h"
#include "mr.h"

/*
 * One RCU section covers the look-up and the copy of the members: a per-I/O region may be attached
 * to other memory after it.
 */
int kfi_commit_get(struct kfi_ep *ep, const struct kfi_rma_iov *rma, struct kfi_commit *commit)
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
		commit->segs[commit->count++] = (struct kfi_persist) {
			.mr = mr, .key = rma->key, .at = rma->addr - mr->fid.addr, .len = rma->len,
		};
	}
	rcu_read_unlock();
	return err;
}

void kfi_commit_put(struct kfi_commit *commit)
{
	while (commit->count)
		kfi_mr_put(commit->segs[--commit->count].mr);
}

static void commit_failed(struct kfi_commit *commit, int err)
{
	cmpxchg(&commit->err, 0, err);
}

/* After the last call of this the commit is the protocol's, which may free it. */
static void commit_ended(struct kfi_commit *commit)
{
	if (atomic_dec_and_test(&commit->pending))
		commit->done(commit, commit->err);
}

void kfi_persist_done(struct kfi_persist *p, int err)
{
	if (err)
		commit_failed(p->commit, err > 0 || err < -MAX_ERRNO || err == -EACCES ? -EIO : err);
	kfi_mr_settle(p->mr);
	commit_ended(p->commit);
}
EXPORT_SYMBOL_GPL(kfi_persist_done);

/*
 * Begin to commit one segment. A region with another key has been attached to other memory since,
 * and is not committed.
 */
static void commit_begin(struct kfi_commit *commit, struct kfi_persist *p)
{
	struct kfi_mr *mr = p->mr;
	int err = -EREMOTEIO;

	if (!refcount_inc_not_zero(&mr->uses)) {
		commit_failed(commit, err);
		return;
	}
	/* The owner may end the call before persist() has returned. */
	refcount_inc(&mr->uses);
	p->commit = commit;
	atomic_inc(&commit->pending);
	if (kfi_mr_live(mr, p->key))
		err = mr->persist(&mr->fid, p->at, p->len, p);
	if (err != -EIOCBQUEUED)
		kfi_persist_done(p, err);
	kfi_mr_settle(mr);
}

void kfi_commit_start(struct kfi_commit *commit)
{
	unsigned int i;

	might_sleep();
	commit->err = 0;
	atomic_set(&commit->pending, 1);
	for (i = 0; i < commit->count && !READ_ONCE(commit->err); i++)
		commit_begin(commit, &commit->segs[i]);
	commit_ended(commit);
}
