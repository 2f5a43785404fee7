/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfi_commit.h - making a peer's writes durable, for providers.
 *
 * A provider finds out whether it can be done before the first byte moves (kfi_commit_get()), moves the bytes, and then
 * has a work item call the regions' owners (kfi_commit_run()) before it answers the peer. The references that it holds in
 * between keep structures only: the owner may end a region at any time, waits for a persist() that runs and for nothing
 * else, and what comes later learns that nobody knows.
 */
#ifndef _KFI_COMMIT_H
#define _KFI_COMMIT_H

#include <kfi_prov.h>

/**
 * struct kfi_commit_seg - bytes of a region that are to become durable
 * @mr:		the region, with a reference
 * @key:	the key that it was got with
 * @at:		first byte, counted from the region's first
 * @len:	bytes
 */
struct kfi_commit_seg {
	struct kfi_mr	*mr;
	u64		key;
	u64		at;
	size_t		len;
};

/**
 * kfi_commit_get() - a peer wants bytes to be durable: may it, and can they be?
 * @ep:		endpoint the request came through
 * @rma:	as the peer said, not trusted
 * @seg:	filled in if they can
 *
 * Context: process or softirq. Return: 0, and a reference is held until kfi_commit_put(); -EACCES: as kfi_mr_get() for
 * KFI_REMOTE_WRITE; -EOPNOTSUPP: the owner has given no persist().
 */
int kfi_commit_get(struct kfi_ep *ep, const struct kfi_rma_iov *rma, struct kfi_commit_seg *seg);

/** kfi_commit_put() - give the references of @count segments back; process or softirq */
void kfi_commit_put(const struct kfi_commit_seg *segs, unsigned int count);

/**
 * kfi_commit_run() - call the owners, one segment after the other, up to the first error
 * @segs:	of kfi_commit_get()
 * @count:	how many
 *
 * What is to be covered has landed. Needs no endpoint: it may have been closed since.
 *
 * Context: a work item of a queue with WQ_MEM_RECLAIM; sleeps for as long as the owners do, with no lock and no pin of
 * the provider's that anybody waits for. Return: 0: durable. Otherwise nobody knows what is: -EREMOTEIO: a region has
 * been closed or invalidated since; or what persist() said, -EIO if that is no error number, or -EACCES, which would
 * promise that nothing has moved.
 */
int kfi_commit_run(const struct kfi_commit_seg *segs, unsigned int count);

#endif /* _KFI_COMMIT_H */
