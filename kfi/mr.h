/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mr.h - between mr.c (regions) and mr_async.c (regions for one I/O)
 */
#ifndef _KFI_MR_H
#define _KFI_MR_H

#include <linux/rhashtable.h>
#include "core.h"

/* A region without memory, pinning @domain; ERR_PTR. May sleep. */
struct kfi_mr *kfi_mr_new(struct kfi_domain *domain, size_t iov_limit, void *context);
/* The provider's part, before peers can know of the region. May sleep. */
int kfi_mr_prepare(struct kfi_mr *mr);
/* Undo kfi_mr_new(). */
void kfi_mr_abandon(struct kfi_mr *mr);
/* Segments that @attr needs, or negative errno; *@len: bytes. Does not sleep. */
ssize_t kfi_mr_measure(const struct kfi_mr_attr *attr, size_t *len);
/* Copy the segments, rights and offset of @attr, which has been measured and fits. Does not sleep. */
void kfi_mr_fill(struct kfi_mr *mr, const struct kfi_mr_attr *attr, size_t segs, size_t len);
/* Into the table with a random key. Does not sleep. */
int kfi_mr_hash_random(struct kfi_mr *mr);
/* Peers can find and use it / can't any more (but may be at it still: kfi_mr_in_use()). */
void kfi_mr_make_live(struct kfi_mr *mr);
void kfi_mr_make_dead(struct kfi_mr *mr);
bool kfi_mr_taken(struct kfi_ep *ep, u64 key);
void kfi_mr_done_exit(void);
void kfi_mr_retire(struct kfi_mr *mr);

/* mem.c: its segments keep the memory that they lie in, from kfi_mr_fill() on until no byte can land any more. Neither sleeps. */
void kfi_mem_claim(struct kfi_mr *mr);
void kfi_mem_unclaim(struct kfi_mr *mr);

/*
 * Does anybody hold a reference, that is, may a peer's bytes be moving? After kfi_mr_make_dead(), "no" means that none
 * will: who comes later sees the region dead. Pairs with the barrier in kfi_mr_get().
 */
static inline bool kfi_mr_in_use(struct kfi_mr *mr)
{
	bool used;

	smp_mb();			/* pairs with kfi_mr_get() */
	used = kref_read(&mr->ref) != 1;
	smp_acquire__after_ctrl_dep();	/* what movers did is over */
	return used;
}

#endif /* _KFI_MR_H */
