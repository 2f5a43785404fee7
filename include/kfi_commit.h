/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfi_commit.h - making the writes of a peer durable, for providers.
 *
 * The provider checks with kfi_commit_get(), before the first byte moves, that the peer may make
 * bytes of the region durable and that the region has a persist(). Then the bytes move. Then a work
 * item calls kfi_commit_run(), which calls persist() of the regions, and answers the peer.
 *
 * The references that are held meanwhile keep the structures of the regions, not the right to use
 * them. The owner may end a region at any time. Of the commits, the end of the region waits only
 * for a persist() that runs; kfi_commit_run() returns -EREMOTEIO for a region that has ended
 * before.
 */
#ifndef _KFI_COMMIT_H
#define _KFI_COMMIT_H

#include <kfi_prov.h>

/**
 * struct kfi_commit_seg - bytes of a region that are to become durable
 * @mr: the region, with a reference
 * @key: key of the region in the request
 * @at: offset of the first byte in the region
 * @len: number of bytes
 */
struct kfi_commit_seg {
	struct kfi_mr	*mr;
	u64		key;
	u64		at;
	size_t		len;
};

/**
 * kfi_commit_get() - check a peer's request to make bytes durable
 * @ep: endpoint that has received the request
 * @rma: bytes in a region, as the peer has sent them, not trusted
 * @seg: filled in on success
 *
 * Context: process or softirq.
 * Return: 0, and kfi_commit_put() has to drop the reference in @seg; -EACCES as kfi_mr_get() for
 * KFI_REMOTE_WRITE; -EOPNOTSUPP if the region has no persist().
 */
int kfi_commit_get(struct kfi_ep *ep, const struct kfi_rma_iov *rma, struct kfi_commit_seg *seg);

/**
 * kfi_commit_put() - drop the references of kfi_commit_get()
 * @segs: the segments
 * @count: number of segments
 *
 * Context: process or softirq.
 */
void kfi_commit_put(const struct kfi_commit_seg *segs, unsigned int count);

/**
 * kfi_commit_run() - call persist() of each segment's region, until one fails
 * @segs: segments of kfi_commit_get()
 * @count: number of segments
 *
 * The bytes are in memory when this is called. No endpoint is needed; it may be closed already.
 *
 * Context: a work item of a workqueue with WQ_MEM_RECLAIM. Sleeps as long as persist() does. The
 * caller holds no lock, and nothing else for which the end of an object waits.
 * Return: 0 if all bytes are durable. After any other value it is unknown what is durable:
 * -EREMOTEIO if a region was closed or invalidated before its persist() was called; otherwise the
 * error of persist(). -EIO replaces a value that is no errno, and also -EACCES, which would mean to
 * the peer that no byte has moved.
 */
int kfi_commit_run(const struct kfi_commit_seg *segs, unsigned int count);

#endif /* _KFI_COMMIT_H */
