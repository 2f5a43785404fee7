// SPDX-License-Identifier: GPL-2.0
/*
 * op.c - operations: their pools, and their completion.
 *
 * All that an operation may need is allocated when its endpoint opens: struct kfi_oper, room for
 * the longest local and remote vectors, for an injected payload, and for the provider. So a post
 * allocates nothing, and the number of outstanding operations is bounded.
 *
 * An operation completes with bottom halves off, which is an RCU read section, or while
 * &kfi_cq.calling is its endpoint. An endpoint that closes waits until no operation is in use, then
 * for a grace period, and then for that. So completion may return
 * the operation to the pool before it reports the completion to the consumer: a consumer that
 * counts its operations against tx_attr.size never gets -EAGAIN for lack of an operation.
 *
 * The pools are lock-free (kfi_op_pool.free). An operation that is in use belongs to the context
 * that posts or completes it, to its provider, or to the matching.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include "cq.h"
#include "ep.h"
#include "opcode.h"
#include "pool.h"
#include <trace/events/kfi.h>

/* Bits of kfi_op_pool.starved */
#define KFI_POOL_STARVED	0	/* ep->space is to be called */
#define KFI_POOL_CLOSING	1	/* close waits for the last operation */

/* The segments of both kinds of local vectors share kfi_oper.iov. */
static_assert(sizeof(struct kvec) == sizeof(struct bio_vec));

static struct kfi_op_pool *kfi_op_pool(struct kfi_oper *op)
{
	return kfi_opc_is_rx(op->code) ? &op->ep->rx : &kfi_tx_owner(op->ep)->tx;
}

#define POOL_COLOURS	64

/* With one segment the part that receives use fits in three cache lines: see struct kfi_oper. */
static_assert(offsetof(struct kfi_oper, iov) - offsetof(struct kfi_oper, ep) +
		      sizeof(struct kvec) <=
	      3 * 64);

/*
 * Set what is the same for all uses of an operation. The members that are used most come first,
 * long arrays last.
 */
static void kfi_op_layout(struct kfi_op_pool *pool, struct kfi_ep *ep, u32 index, u32 rma_limit,
			  size_t inline_size, size_t priv, size_t atomic)
{
	void *p = pool->mem + pool->stride * index;
	struct kfi_oper *op = p;

	op->ep = ep;
	/* a post sets the opcode; until then only the direction counts, see kfi_op_pool() */
	op->code = pool == &ep->rx ? KFI_OPC_RECV : KFI_OPC_SEND;
	op->index = index;
	pool->next[index] = index + 1 < pool->depth ? index + 2 : 0;
	p += offsetof(struct kfi_oper, iov) + pool->iov_limit * sizeof(struct bio_vec);
	op->priv = priv ? p : NULL;
	p += ALIGN(priv, sizeof(u64));
	op->rma = rma_limit ? p : NULL;
	p += rma_limit * sizeof(struct kfi_rma_iov);
	op->atomic = atomic ? p : NULL;
	if (atomic)
		op->atomic->iov = p + sizeof(*op->atomic);
	p += atomic;
	op->inline_buf = inline_size ? p : NULL;
}

/* Bytes of struct kfi_oper_atomic and its two vectors; 0 for endpoints without KFI_ATOMIC. */
static size_t pool_atomic_size(const struct kfi_op_pool *pool, const struct kfi_ep *ep)
{
	if (pool != &ep->tx || !(ep->caps & KFI_ATOMIC))
		return 0;
	return ALIGN(sizeof(struct kfi_oper_atomic) + 2 * pool->iov_limit * sizeof(struct kvec),
		     sizeof(u64));
}

/*
 * Large allocations are page aligned, and the first operations of a pool are used most. Without
 * different offsets the pools of many endpoints would compete for the same few sets of the cache.
 */
static size_t pool_colour(void)
{
	static atomic_t next;

	return (unsigned int)atomic_inc_return(&next) * 7 % POOL_COLOURS * SMP_CACHE_BYTES;
}

int kfi_pool_init(struct kfi_op_pool *pool, struct kfi_ep *ep, u32 depth, u32 iov_limit,
		  u32 rma_limit, size_t inline_size, size_t priv)
{
	int node = ep->domain ? ep->domain->limits.numa_node : NUMA_NO_NODE;
	size_t atomic;
	u32 i;

	depth = max(depth, 1U);
	pool->depth = depth;
	pool->iov_limit = max(iov_limit, 1U);
	pool->starved = 0;
	atomic = pool_atomic_size(pool, ep);
	pool->stride = ALIGN(offsetof(struct kfi_oper, iov) + ALIGN(priv, sizeof(u64)) +
				     pool->iov_limit * sizeof(struct bio_vec) +
				     rma_limit * sizeof(struct kfi_rma_iov) + atomic + inline_size,
			     SMP_CACHE_BYTES);
	if (depth > KFI_POOL_MAX)
		return -EINVAL;
	pool->base = kvzalloc_node(size_add(array_size(depth, pool->stride + sizeof(*pool->next)),
					    POOL_COLOURS * SMP_CACHE_BYTES),
				   GFP_KERNEL_ACCOUNT, node);
	if (!pool->base)
		return -ENOMEM;
	pool->mem = PTR_ALIGN(pool->base, SMP_CACHE_BYTES) + pool_colour();
	pool->next = pool->mem + depth * pool->stride;
	for (i = 0; i < depth; i++)
		kfi_op_layout(pool, ep, i, rma_limit, inline_size, priv, atomic);
	atomic64_set(&pool->free, 1);
	return 0;
}

void kfi_pool_exit(struct kfi_op_pool *pool)
{
	kvfree(pool->base);
	pool->base = NULL;
	pool->mem = NULL;
}

bool kfi_pool_full(struct kfi_op_pool *pool)
{
	return !kfi_pool_first(atomic64_read(&pool->free));
}

/* Call the waiters for space of all endpoints that are bound to a shared context. */
static void pool_wake_sharers(struct kfi_ep *stx)
{
	struct kfi_ep *ep;

	spin_lock_bh(&stx->space_lock);
	list_for_each_entry(ep, &stx->sharers, share)
		if (READ_ONCE(ep->space_fn))
			kfi_cq_call_waiter(ep->tx_cq, &ep->space);
	spin_unlock_bh(&stx->space_lock);
}

/*
 * Wake the close that waits for the last operation, or call the waiters for a free operation. See
 * op_give_back() for what keeps @ep.
 */
static void kfi_pool_wake(struct kfi_ep *ep, struct kfi_op_pool *pool)
{
	if (test_bit(KFI_POOL_CLOSING, &pool->starved))
		wake_up(&ep->drained);
	else if (!test_and_clear_bit(KFI_POOL_STARVED, &pool->starved))
		return;
	else if (ep->stx)
		pool_wake_sharers(ep->stx);
	else
		kfi_cq_call_waiter(ep->tx_cq, &ep->space);
}

/*
 * Called inside an RCU read section, or while &kfi_cq.calling is the endpoint, because the endpoint
 * may be freed after its last operation. The successful cmpxchg() is a full barrier: all use of @op
 * comes before its next use. It pairs with kfi_pool_starve() and kfi_pool_idle(), too.
 */
static inline void op_give_back(struct kfi_oper *op)
{
	struct kfi_op_pool *pool = kfi_op_pool(op);
	u64 old = atomic64_read(&pool->free), new;
	struct kfi_ep *ep = op->ep;

	WRITE_ONCE(op->gen, op->gen + 1);
	do {
		WRITE_ONCE(pool->next[op->index], kfi_pool_first(old));
		new = (old & ~(u64)KFI_POOL_MAX) + KFI_POOL_CHANGE - KFI_POOL_USED + op->index + 1;
	} while (!atomic64_try_cmpxchg(&pool->free, &old, new));
	if (unlikely(READ_ONCE(pool->starved)))
		kfi_pool_wake(ep, pool);
}

void kfi_op_free(struct kfi_oper *op)
{
	op_give_back(op);
}

void kfi_op_abort(struct kfi_oper *op)
{
	struct kfi_cq *cq = op->cq;
	u64 flags = op->flags;

	rcu_read_lock();
	op_give_back(op);
	if (cq && !(flags & KFI_CQE))
		kfi_cq_unreserve(cq);
	rcu_read_unlock();
}

/* Request a call of ep->space when an operation is free. Return: false if one is free already. */
bool kfi_pool_starve(struct kfi_op_pool *pool)
{
	set_bit(KFI_POOL_STARVED, &pool->starved);
	smp_mb__after_atomic();		/* pairs with op_give_back() */
	return kfi_pool_full(pool);
}

void kfi_pool_unstarve(struct kfi_op_pool *pool)
{
	clear_bit(KFI_POOL_STARVED, &pool->starved);
}

/* From now on each operation that is returned to the pool wakes ep->drained. */
void kfi_pool_closing(struct kfi_op_pool *pool)
{
	set_bit(KFI_POOL_CLOSING, &pool->starved);
}

/* Undo kfi_pool_closing(), because the endpoint remains in use (kfi_ep_reset()). */
void kfi_pool_opened(struct kfi_op_pool *pool)
{
	clear_bit(KFI_POOL_CLOSING, &pool->starved);
}

/*
 * Return true if no operation is in use. Called for a pool that is closing, so none is taken any
 * more.
 */
bool kfi_pool_idle(struct kfi_op_pool *pool)
{
	smp_mb();			/* pairs with op_give_back() */
	return !kfi_pool_used(pool);
}

/*
 * Is the operation counted? The get of a place moves nothing, and an abandoned place is no write. A
 * get that fails is not counted as an error either, because many gets fail in ordinary use.
 */
static inline bool op_counts(const struct kfi_oper *op)
{
	return likely(!kfi_opc_is_place(op->code)) || (op->code == KFI_OPC_PLACE_PUT && op->len);
}

/* Most endpoints have no counter. */
static __always_inline void op_count_cntr(const struct kfi_oper *op, const struct kfi_ep *ep,
					  int err)
{
	struct kfi_cntr *cntr;

	if (likely(!ep->counted))
		return;
	cntr = ep->cntr[kfi_opcode_rows[op->code].cntr];
	if (cntr && op_counts(op))
		kfi_cntr_count(cntr, err);
}

/* Update statistics and counters. Bottom halves are off. */
static __always_inline void kfi_op_count(const struct kfi_oper *op, struct kfi_ep *ep,
					 const struct kfi_cq_err_entry *wc)
{
	bool rx = kfi_opc_is_rx(op->code);

	if (unlikely(wc->flags == KFI_MULTI_RECV))
		return;		/* a multi-receive buffer is returned without a message */
	if (unlikely(wc->err) && op_counts(op)) {
		__kfi_stat_inc(ep, errors);
		trace_kfi_error(ep, -wc->err, rx ? "receive" : "transmit");
	} else if (rx) {
		__kfi_stat_inc(ep, rx_ops);
		__kfi_stat_add(ep, rx_bytes, wc->len);
	}
	op_count_cntr(op, ep, wc->err);
}

void __kfi_op_finish(struct kfi_oper *op, struct kfi_ep *ep, struct kfi_cq_err_entry *wc)
{
	struct kfi_cq *cq = op->cq;
	u64 flags = op->flags;
	bool reported = wc->err || !(flags & KFI_NO_COMPLETION);

	RCU_LOCKDEP_WARN(!rcu_read_lock_bh_held(), "bottom halves are on");
	wc->op_context = op->context;
	trace_kfi_complete(op, wc);
	kfi_op_count(op, ep, wc);
	if (flags & KFI_CQE && reported) {
		/*
		 * The operation keeps its completion until done() is called. op->ep, op->index and
		 * op->code stay for kfi_op_free(). op->context changes, so that kfi_cancel() does
		 * not find an operation that has completed.
		 */
		WRITE_ONCE(op->context, op);
		if (wc != &op->wc)
			op->wc = *wc;
		op->wc.err_data = NULL;
		op->wc.err_data_size = 0;
		kfi_cq_done(cq, op);
		return;
	}
	op_give_back(op);
	if (!cq || flags & KFI_CQE)
		return;
	if (reported)
		__kfi_cq_fill(cq, wc);
	else
		kfi_cq_unreserve(cq);
}

void kfi_op_finish(struct kfi_oper *op, struct kfi_ep *ep, struct kfi_cq_err_entry *wc)
{
	rcu_read_lock_bh();
	__kfi_op_finish(op, ep, wc);
	rcu_read_unlock_bh();
}

void kfi_op_part(struct kfi_oper *op, struct kfi_ep *ep, struct kfi_cq_err_entry *wc)
{
	wc->op_context = op->context;
	trace_kfi_complete(op, wc);
	kfi_op_count(op, ep, wc);
	if (!op->cq)
		return;
	if (wc->err || !(op->flags & KFI_NO_COMPLETION))
		__kfi_cq_fill(op->cq, wc);
	else
		kfi_cq_unreserve(op->cq);
}

static noinline void op_finish_tx(struct kfi_oper *op, int err)
{
	struct kfi_cq_err_entry wc __uninitialized;

	wc.flags = kfi_opcode_rows[op->code].wc_flags;
	wc.len = 0;
	wc.buf = NULL;
	wc.data = 0;
	wc.tag = 0;
	wc.olen = 0;
	wc.err = -err;
	wc.prov_errno = -err;
	wc.src_addr = KFI_ADDR_NOTAVAIL;
	WARN_ON_ONCE(err > 0 || kfi_opc_is_rx(op->code));
	__kfi_op_finish(op, op->ep, &wc);
}

void __kfi_tx_complete(struct kfi_oper *op, int err)
{
	struct kfi_cq *cq = op->cq;
	bool reserved = cq && !(op->flags & KFI_CQE);

	RCU_LOCKDEP_WARN(!rcu_read_lock_bh_held(), "bottom halves are on");
	if (unlikely(kfi_opc_is_place(op->code)))
		kfi_place_ended(op, err);
	if (err || !(op->flags & KFI_NO_COMPLETION) || trace_kfi_complete_enabled()) {
		op_finish_tx(op, err);
		return;
	}
	/* Success is neither reported nor traced, as of most injected messages. */
	op_count_cntr(op, op->ep, 0);
	op_give_back(op);
	if (reserved)
		kfi_cq_unreserve(cq);
}
EXPORT_SYMBOL_GPL(__kfi_tx_complete);

void kfi_tx_complete(struct kfi_oper *op, int err)
{
	local_bh_disable();
	__kfi_tx_complete(op, err);
	local_bh_enable();
}
EXPORT_SYMBOL_GPL(kfi_tx_complete);
