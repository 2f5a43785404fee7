/* SPDX-License-Identifier: GPL-2.0 */
/*
 * commit.h - making the writes of a peer durable, for the message protocol.
 *
 * The protocol checks with kfi_commit_get(), before the first byte moves, that the peer may make
 * bytes of the region durable and that the region has a persist(). Then the bytes move. Then a work
 * item calls kfi_commit_start(), which calls persist() of the regions. When all calls have ended,
 * done() of the protocol answers the peer.
 *
 * The references that are held meanwhile keep the structures of the regions, not the right to use
 * them. The owner may end a region at any time. Of the commits, the end of the region waits only
 * for calls of persist() that have not ended; for a region that has ended before the result is
 * -EREMOTEIO.
 */
#ifndef _KFI_COMMIT_H
#define _KFI_COMMIT_H

#include <kfi_prov.h>

struct kfi_commit;

/**
 * struct kfi_persist - bytes of a region that are to become durable
 * @mr: the region, with a reference
 * @key: key of the region in the request
 * @at: offset of the first byte in the region
 * @len: number of bytes
 * @commit: set by kfi_commit_start()
 */
struct kfi_persist {
	struct kfi_mr		*mr;
	u64			key;
	u64			at;
	size_t			len;
	struct kfi_commit	*commit;
};

/**
 * struct kfi_commit - what a request of a peer makes durable. The protocol allocates it
 * @done: called once, when all calls of persist() have ended. It has to drop the references. @err
 *	is 0 if all bytes are durable. After any other value it is unknown what is durable:
 *	-EREMOTEIO if a region was closed or invalidated before its persist() was called; otherwise
 *	the error of a persist(). -EIO replaces a value that is no errno, and also -EACCES, which
 *	would mean to the peer that no byte has moved. Context: process or softirq; no endpoint is
 *	needed
 * @pending: calls that have not ended, and 1 while they are begun
 * @err: the first error
 * @count: number of segments
 * @segs: the segments, filled in by kfi_commit_get()
 */
struct kfi_commit {
	void			(*done)(struct kfi_commit *commit, int err);
	atomic_t		pending;
	int			err;
	unsigned int		count;
	struct kfi_persist	segs[];
};

/**
 * kfi_commit_get() - check a peer's request to make bytes durable, and add them to a commit
 * @ep: endpoint that has received the request
 * @rma: bytes in a region, as the peer has sent them, not trusted
 * @commit: has room for another segment
 *
 * Context: process or softirq.
 * Return: 0, and kfi_commit_put() has to drop a reference; -EACCES as kfi_mr_get() for
 * KFI_REMOTE_WRITE; -EOPNOTSUPP if the region has no persist().
 */
int kfi_commit_get(struct kfi_ep *ep, const struct kfi_rma_iov *rma, struct kfi_commit *commit);

/**
 * kfi_commit_put() - drop the references of kfi_commit_get()
 * @commit: commit that has not begun, or whose done() is called
 *
 * Context: process or softirq.
 */
void kfi_commit_put(struct kfi_commit *commit);

/**
 * kfi_commit_start() - call persist() of each segment's region, until a call fails
 * @commit: its bytes are in memory. done() may free it before this returns
 *
 * Context: a work item of a workqueue with WQ_MEM_RECLAIM. Sleeps as long as the calls do. The
 * caller holds no lock, and nothing else for which the end of an object waits.
 */
void kfi_commit_start(struct kfi_commit *commit);

#endif /* _KFI_COMMIT_H */
