// SPDX-License-Identifier: GPL-2.0
/*
 * post.c - posts: check, take an operation, fill it in, and pass it to the provider or the
 * matching.
 *
 * A post runs inside an RCU read section in which the state of the endpoint allows it. A context
 * that stops an endpoint changes the state and waits for a grace period; after that no post is
 * between the check and the provider. So a post that races with the removal of a namespace or a
 * device either fails with -ENODEV, or its operation has reached the provider, which completes it.
 * A post that races with kfi_close() is a fault of the consumer: the handle itself may be freed.
 *
 * Addresses are not checked here: the provider checks in ops->tx() whether a handle is valid,
 * because it needs the address anyway.
 *
 * Posts take no lock of the endpoint. They are legal in process context and softirq, with
 * interrupts enabled.
 */
#include "atomic.h"
#include "ep.h"
#include "post.h"
#include <trace/events/kfi.h>

#define TX_FLAGS	(KFI_COMPLETION | KFI_MORE | KFI_CQE | KFI_NO_COMPLETION)
#define SEND_FLAGS	(TX_FLAGS | KFI_INJECT | KFI_REMOTE_CQ_DATA | KFI_INVALIDATE |	\
			 KFI_INJECT_COMPLETE | KFI_TRANSMIT_COMPLETE |	\
			 KFI_DELIVERY_COMPLETE | KFI_MATCH_COMPLETE)
#define WRITE_FLAGS	(TX_FLAGS | KFI_INJECT | KFI_REMOTE_CQ_DATA |	\
			 KFI_INJECT_COMPLETE | KFI_TRANSMIT_COMPLETE |	\
			 KFI_DELIVERY_COMPLETE | KFI_COMMIT_COMPLETE)
#define RX_FLAGS	(KFI_COMPLETION | KFI_MORE | KFI_CQE | KFI_NO_COMPLETION)
#define PEEK_FLAGS	(KFI_PEEK | KFI_CLAIM | KFI_DISCARD)
#define ACCESS_FLAGS	(KFI_REMOTE_READ | KFI_REMOTE_WRITE)

/*
 * For each operation: flags that it accepts, capabilities that it needs, direction of its payload.
 */
static const struct {
	u64 flags;
	u64 caps;
	u8 dir;
} post_rows[KFI_OPC_CODES] = {
	[KFI_OPC_SEND]	= { SEND_FLAGS,		KFI_MSG | KFI_SEND,		ITER_SOURCE },
	[KFI_OPC_TSEND]	= { SEND_FLAGS,		KFI_TAGGED | KFI_SEND,		ITER_SOURCE },
	[KFI_OPC_WRITE]	= { WRITE_FLAGS,	KFI_RMA | KFI_WRITE,		ITER_SOURCE },
	[KFI_OPC_READ]	= { TX_FLAGS,		KFI_RMA | KFI_READ,		ITER_DEST },
	[KFI_OPC_TWRITE]	= { WRITE_FLAGS,	KFI_TAGGED_RMA | KFI_WRITE,	ITER_SOURCE },
	[KFI_OPC_TREAD]	= { TX_FLAGS,		KFI_TAGGED_RMA | KFI_READ,	ITER_DEST },
	[KFI_OPC_PLACE_GET] = { TX_FLAGS & ~KFI_NO_COMPLETION,
				KFI_PLACE | KFI_RMA | KFI_WRITE,	ITER_SOURCE },
	[KFI_OPC_PLACE_PUT] = { TX_FLAGS,	KFI_PLACE | KFI_RMA | KFI_WRITE, ITER_SOURCE },
	[KFI_OPC_ATOMIC] = { WRITE_FLAGS,	KFI_ATOMIC | KFI_WRITE,		ITER_SOURCE },
	[KFI_OPC_FETCH_ATOMIC] = { TX_FLAGS,	KFI_ATOMIC | KFI_READ,		ITER_SOURCE },
	[KFI_OPC_COMPARE_ATOMIC] = { TX_FLAGS,	KFI_ATOMIC | KFI_READ,		ITER_SOURCE },
	[KFI_OPC_RECV]	= { RX_FLAGS | KFI_MULTI_RECV, KFI_MSG | KFI_RECV,	ITER_DEST },
	[KFI_OPC_TRECV]	= { RX_FLAGS | PEEK_FLAGS | ACCESS_FLAGS,
				    KFI_TAGGED | KFI_RECV,			ITER_DEST },
};

/* ---- checks ---- */

/*
 * Return the errno for a transmit or a receive in the current state of the endpoint, 0 if it is
 * legal. A receive in the state SHUT is legal, but see post_start_rx().
 */
static __always_inline int post_state_error(const struct kfi_ep *ep, bool rx)
{
	switch (READ_ONCE(ep->state)) {
	case KFI_EP_IDLE:
		return -KFI_EOPBADSTATE;
	case KFI_EP_ENABLED:
	case KFI_EP_CONNECTING:
		return rx || ep->type != KFI_EP_MSG ? 0 : -ENOTCONN;
	case KFI_EP_CONNECTED:
		return 0;
	case KFI_EP_SHUT:
		return rx ? 0 : -ESHUTDOWN;
	default:
		return -ENODEV;
	}
}

/*
 * Add the default flags of the endpoint that apply to the operation. A completion level in @flags
 * replaces the default levels.
 */
static u64 post_merge(u64 flags, u64 defaults, u64 mask)
{
	if (!(flags & KFI_OPFLAGS_DEFAULT))
		return flags;
	if (flags & KFI_LEVELS)
		defaults &= ~KFI_LEVELS;
	return (flags & ~KFI_OPFLAGS_DEFAULT) | (defaults & mask);
}

static u64 post_selective(u64 flags, bool selective)
{
	if (selective && !(flags & (KFI_COMPLETION | KFI_CQE)))
		flags |= KFI_NO_COMPLETION;
	return flags;
}

/* Checks that are common to all operations. */
static __always_inline int post_check(const struct kfi_ep *ep, const struct kfi_post *post,
				      const struct kfi_cq *cq)
{
	u64 caps = post_rows[post->code].caps;
	int ret;

	ret = post_state_error(ep, post->code >= KFI_OPC_RECV);
	if (unlikely(ret))
		return ret;
	if (unlikely((ep->caps & caps) != caps))
		return -EOPNOTSUPP;
	if (unlikely(post->flags & ~post_rows[post->code].flags))
		return -KFI_EBADFLAGS;
	if (unlikely((post->flags & KFI_CQE) && (!post->context || !cq)))
		return cq ? -EINVAL : -KFI_ENOCQ;
	return 0;
}

static __always_inline int post_check_tx(const struct kfi_ep *ep, const struct kfi_post *post)
{
	if (unlikely(post->flags & KFI_LEVELS & ~ep->tx_levels))
		return -EOPNOTSUPP;
	if (unlikely((post->flags & KFI_INVALIDATE) && (post->flags & KFI_REMOTE_CQ_DATA)))
		return -EINVAL;
	return 0;
}

static noinline int post_check_peek(const struct kfi_ep *ep, const struct kfi_post *post)
{
	u64 what = post->flags & PEEK_FLAGS;

	if (ep->hw_recv)
		return -EOPNOTSUPP;
	return what == PEEK_FLAGS || what == KFI_DISCARD ? -EINVAL : 0;
}

static __always_inline int post_check_rx(const struct kfi_ep *ep, const struct kfi_post *post)
{
	if (unlikely(ep->srx))
		return -EOPNOTSUPP;	/* receives are posted to the shared context */
	if (unlikely(post->flags & PEEK_FLAGS))
		return post_check_peek(ep, post);
	if (likely(!(post->flags & KFI_MULTI_RECV)))
		return 0;
	if (!(ep->caps & KFI_MULTI_RECV))
		return -EOPNOTSUPP;
	/*
	 * A multi-receive buffer has one segment. It has several completions, and a kfi_cqe has
	 * room for one.
	 */
	return post->count == 1 && !(post->flags & KFI_CQE) ? 0 : -EINVAL;
}

/* ---- the operation ---- */

static void post_describe(struct kfi_oper *op, const struct kfi_post *post)
{
	op->code = post->code;
	op->context = post->context;
	op->addr = post->addr;
	op->tag = post->tag;
	op->ignore = post->ignore;
	op->data = post->data;
}

/* The get of a place moves nothing. */
static bool post_moves_data(enum kfi_opcode code)
{
	return code != KFI_OPC_PLACE_GET;
}

/* Copy the remote segments. Their length must be that of the payload, if there is one. */
static noinline int post_describe_rma(struct kfi_oper *op, const struct kfi_post *post)
{
	size_t i, len = 0;

	if (unlikely(!post->rma || !post->rma_count || post->rma_count > op->ep->rma_iov_limit))
		return -EINVAL;
	for (i = 0; i < post->rma_count; i++) {
		op->rma[i] = post->rma[i];
		if (check_add_overflow(len, post->rma[i].len, &len))
			return -EINVAL;
	}
	op->rma_count = post->rma_count;
	/* for tagged RMA, where the key is the tag of a receive; not used otherwise */
	op->tag = post->rma[0].key;
	return !post_moves_data(post->code) || len == op->len ? 0 : -EINVAL;
}

static __always_inline int post_fill_tx(struct kfi_oper *op, const struct kfi_post *post)
{
	struct kfi_ep *ep = op->ep;
	int ret;

	post_describe(op, post);
	op->inv_key = post->inv_key;
	if (unlikely(kfi_opc_is_atomic(post->code)))
		return kfi_op_atomic(op, post);
	ret = kfi_op_payload(op, post, ep->tx.iov_limit, post_rows[post->code].dir);
	if (unlikely(ret))
		return ret;
	if (unlikely(kfi_opc_is_place(post->code))) {
		op->place = post->place;
		op->len = post->place->reported;
	}
	if (unlikely(op->len > ep->max_msg_size))
		return -EMSGSIZE;
	if (post->code >= KFI_OPC_WRITE)
		return post_describe_rma(op, post);
	return 0;
}

/* ---- transmit ---- */

static __always_inline struct kfi_oper *post_make_tx(struct kfi_ep *ep, struct kfi_post *post)
{
	struct kfi_oper *op;
	int ret;

	post->flags = post_merge(post->flags, ep->tx_flags, post_rows[post->code].flags);
	ret = post_check(ep, post, ep->tx_cq) ?: post_check_tx(ep, post);
	if (unlikely(ret))
		return ERR_PTR(ret);
	op = kfi_op_get(ep, &kfi_tx_owner(ep)->tx, ep->tx_cq,
			post_selective(post->flags, ep->tx_selective));
	if (IS_ERR(op))
		return op;
	ret = post_fill_tx(op, post);
	if (likely(!ret))
		return op;
	kfi_op_abort(op);
	return ERR_PTR(ret);
}

static __always_inline int post_give_tx(struct kfi_ep *ep, struct kfi_oper *op)
{
	size_t len = op->len;
	int ret;

	trace_kfi_post(op);
	ret = ep->ops->tx(ep, op);	/* @op may be complete and reused */
	if (unlikely(ret)) {
		if (ret == -EAGAIN)
			kfi_stat_inc(ep, again);
		return ret;
	}
	__kfi_stat_inc(ep, tx_ops);
	__kfi_stat_add(ep, tx_bytes, len);
	return 0;
}

static void post_flush(struct kfi_ep *ep)
{
	if (ep->ops->tx_flush && READ_ONCE(ep->state) != KFI_EP_DEAD)
		ep->ops->tx_flush(ep);
}

ssize_t kfi_post_tx(struct kfid_ep *fid, struct kfi_post *post)
{
	struct kfi_ep *ep = kfi_to_ep(fid);
	struct kfi_oper *op;
	int ret;

	lockdep_assert_irqs_enabled();
	rcu_read_lock_bh();	/* covers all locks and per-CPU counts of the path */
	op = post_make_tx(ep, post);
	ret = PTR_ERR_OR_ZERO(op);
	if (likely(!ret)) {
		ret = post_give_tx(ep, op);
		if (unlikely(ret))
			kfi_op_abort(op);
	}
	if (unlikely(ret))
		post_flush(ep);	/* earlier posts with KFI_MORE rely on this one */
	rcu_read_unlock_bh();
	return ret;
}

void kfi_ep_tx_flush(struct kfid_ep *fid)
{
	lockdep_assert_irqs_enabled();
	rcu_read_lock_bh();
	post_flush(kfi_to_ep(fid));
	rcu_read_unlock_bh();
}
EXPORT_SYMBOL_GPL(kfi_ep_tx_flush);

/* ---- receive ---- */

/*
 * Pass the receive to the matching, and pass unexpected messages that it takes to their provider.
 */
static __always_inline int post_match(struct kfi_ep *ep, struct kfi_oper *op)
{
	struct kfi_rx *rx = unlikely(op->flags & PEEK_FLAGS) ? kfi_match_peek(ep, op) :
							    kfi_match_post(ep, op);

	if (IS_ERR(rx))
		return PTR_ERR(rx);
	for (; rx; rx = kfi_match_more(ep))
		rx->ep->ops->rx_matched(rx->ep, rx);
	return 0;
}

static __always_inline struct kfi_oper *post_make_rx(struct kfi_ep *ep, struct kfi_post *post)
{
	struct kfi_oper *op;
	int ret;

	post->flags = post_merge(post->flags, ep->rx_flags, post_rows[post->code].flags);
	ret = post_check(ep, post, ep->rx_cq) ?: post_check_rx(ep, post);
	if (unlikely(ret))
		return ERR_PTR(ret);
	op = kfi_op_get(ep, &ep->rx, ep->rx_cq, post_selective(post->flags, ep->rx_selective));
	if (IS_ERR(op))
		return op;
	post_describe(op, post);
	if (unlikely(kfi_ep_is_shared(ep)) && post->flags & KFI_CQE)
		((struct kfi_cqe *)post->context)->ep = NULL;	/* no message has taken it */
	ret = kfi_op_payload(op, post, ep->rx.iov_limit, ITER_DEST);
	if (likely(!ret))
		return op;
	kfi_op_abort(op);
	return ERR_PTR(ret);
}

/* Return -ESHUTDOWN if the receives of the endpoint have ended, or are about to. */
static __always_inline int post_start_rx(struct kfi_ep *ep, struct kfi_oper *op)
{
	trace_kfi_post(op);
	if (unlikely(READ_ONCE(ep->state) == KFI_EP_SHUT))
		return -ESHUTDOWN;
	return unlikely(ep->hw_recv) ? ep->ops->rx_posted(ep, op) : post_match(ep, op);
}

static __always_inline int post_rx(struct kfi_ep *ep, struct kfi_post *post)
{
	struct kfi_oper *op = post_make_rx(ep, post);
	int ret;

	if (IS_ERR(op))
		return PTR_ERR(op);
	ret = post_start_rx(ep, op);
	if (likely(!ret))
		return 0;
	if (ret != -ESHUTDOWN) {
		kfi_op_abort(op);
		return ret;
	}
	/*
	 * The peer may have ended the connection before the consumer was notified of it. The
	 * receive ends as it would have if it had been posted before.
	 */
	kfi_recv_end(op, -ESHUTDOWN);
	return 0;
}

ssize_t kfi_post_rx(struct kfid_ep *fid, struct kfi_post *post)
{
	struct kfi_ep *ep = kfi_to_ep(fid);
	int ret;

	lockdep_assert_irqs_enabled();
	rcu_read_lock_bh();
	ret = post_rx(ep, post);
	rcu_read_unlock_bh();
	return ret;
}

/* ---- cancel ---- */

static int cancel_rx(struct kfi_ep *ep, void *context)
{
	struct kfi_oper *op;

	if (!ep->hw_recv)
		return kfi_match_cancel(ep, context);
	op = ep->ops->rx_cancel(ep, context);
	if (!op)
		return -ENOENT;
	kfi_recv_end(op, -ECANCELED);
	return 0;
}

ssize_t kfi_cancel(struct kfid *fid, void *context)
{
	struct kfi_ep *ep = kfi_fid_ep(fid);
	int ret;

	if (!ep)
		return -EINVAL;
	rcu_read_lock();
	if (READ_ONCE(ep->state) == KFI_EP_IDLE || READ_ONCE(ep->state) == KFI_EP_DEAD)
		ret = -ENOENT;
	else
		ret = cancel_rx(ep, context);
	rcu_read_unlock();
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_cancel);
