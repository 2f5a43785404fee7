/* SPDX-License-Identifier: GPL-2.0 */
/* pool.h - take an operation from the pool of its endpoint; op.c has the rest of the pools. */
#ifndef _KFI_POOL_H
#define _KFI_POOL_H

#include "cq.h"

/*
 * The free list is one 64-bit word: the first free operation (index + 1, or 0 if there is none),
 * the number of operations in use, and a count of changes. The count makes the cmpxchg() of a pop
 * fail if the list has changed since pool->next was read (ABA).
 */
#define KFI_POOL_USED	(1ULL << KFI_POOL_BITS)
#define KFI_POOL_CHANGE	(1ULL << (2 * KFI_POOL_BITS))

static inline u32 kfi_pool_first(u64 word)
{
	return word & KFI_POOL_MAX;
}

/*
 * Take an operation, and reserve a slot of @cq unless the operation needs none. Returns
 * ERR_PTR(-EAGAIN) if there is none.
 */
static __always_inline struct kfi_oper *kfi_op_get(struct kfi_ep *ep, struct kfi_op_pool *pool,
						   struct kfi_cq *cq, u64 flags)
{
	bool reserve = cq && !(flags & KFI_CQE);
	u64 old = atomic64_read(&pool->free), new;
	struct kfi_oper *op;
	u32 index;

	/* A post that finds no operation must not take a slot from other posts. */
	if (unlikely(!kfi_pool_first(old)) || (reserve && unlikely(!kfi_cq_reserve(cq))))
		goto again;
	do {
		if (unlikely(!kfi_pool_first(old)))
			goto unreserve;
		index = kfi_pool_first(old) - 1;
		new = (old & ~(u64)KFI_POOL_MAX) + KFI_POOL_CHANGE + KFI_POOL_USED +
		      READ_ONCE(pool->next[index]);
	} while (!atomic64_try_cmpxchg(&pool->free, &old, new));
	op = pool->mem + pool->stride * index;
	WRITE_ONCE(op->ep, ep);		/* those of a shared context serve several endpoints */
	WRITE_ONCE(op->gen, op->gen + 1);
	op->cq = cq;
	op->flags = flags;
	op->state = 0;
	op->rma_count = 0;
	op->landings = 0;
	op->consumed = 0;
	op->sgl = NULL;
	return op;

unreserve:
	if (reserve)
		kfi_cq_unreserve(cq);
again:
	kfi_stat_inc(ep, again);
	return ERR_PTR(-EAGAIN);
}

/* Is the operation in use? The answer may be outdated, unless the caller excludes that. */
static inline bool kfi_op_used(const struct kfi_oper *op)
{
	return READ_ONCE(op->gen) & 1;
}

#endif /* _KFI_POOL_H */
