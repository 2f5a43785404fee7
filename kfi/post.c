// SPDX-License-Identifier: GPL-2.0
/*
 * post.c - posts: the begin and the start of an operation; the posting calls fill it in between
 * (post.h).
 *
 * A post runs inside rcu_read_lock_bh(), which covers all locks and per-CPU counts of its path. The
 * posting call opens this section, or the kit does for several calls (kfi_conn_enter()). In it the
 * state of the endpoint allows the post. A context that stops an endpoint changes the state and
 * waits for a grace period; after that no post is between the check and the provider. So a post
 * that races with the removal of a namespace or a device either fails with -ENODEV, or its
 * operation has reached the provider, which completes it. A post that races with kfi_close() is a
 * fault of the consumer: the handle itself may be freed.
 *
 * Addresses are not checked here: the provider checks in ops->tx() whether a handle is valid,
 * because it needs the address anyway.
 *
 * Posts take no lock of the endpoint. They are legal in process context and softirq, with
 * interrupts enabled.
 */
#include "ep.h"
#include "opcode.h"
#include "post.h"
#include <trace/events/kfi.h>

static __always_inline void post_assert_section(void)
{
	lockdep_assert_irqs_enabled();
	RCU_LOCKDEP_WARN(!rcu_read_lock_bh_held(), "bottom halves are on");
}

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
static __always_inline u64 post_merge(u64 flags, u64 defaults, u64 mask)
{
	if (!(flags & KFI_OPFLAGS_DEFAULT))
		return flags;
	if (flags & KFI_LEVELS)
		defaults &= ~KFI_LEVELS;
	return (flags & ~KFI_OPFLAGS_DEFAULT) | (defaults & mask);
}

static __always_inline u64 post_selective(u64 flags, bool selective)
{
	if (selective && !(flags & (KFI_COMPLETION | KFI_CQE)))
		flags |= KFI_NO_COMPLETION;
	return flags;
}

/* Checks that are common to all operations. */
static __always_inline int post_check(const struct kfi_ep *ep, enum kfi_opcode code,
				      const void *context, u64 flags, const struct kfi_cq *cq)
{
	const struct kfi_opcode_row *row = &kfi_opcode_rows[code];
	int ret;

	ret = post_state_error(ep, kfi_opc_is_rx(code));
	if (unlikely(ret))
		return ret;
	if (unlikely((ep->caps & row->caps) != row->caps))
		return -EOPNOTSUPP;
	if (unlikely(flags & ~row->flags))
		return -KFI_EBADFLAGS;
	if (unlikely((flags & KFI_CQE) && (!context || !cq)))
		return cq ? -EINVAL : -KFI_ENOCQ;
	return 0;
}

static __always_inline int post_check_tx(const struct kfi_ep *ep, u64 flags)
{
	if (unlikely(flags & KFI_LEVELS & ~ep->tx_levels))
		return -EOPNOTSUPP;
	if (unlikely((flags & KFI_INVALIDATE) && (flags & KFI_REMOTE_CQ_DATA)))
		return -EINVAL;
	return 0;
}

static noinline int post_check_peek(const struct kfi_ep *ep, u64 flags)
{
	u64 what = flags & KFI_PEEK_FLAGS;

	if (ep->hw_recv)
		return -EOPNOTSUPP;
	return what == KFI_PEEK_FLAGS || what == KFI_DISCARD ? -EINVAL : 0;
}

static __always_inline int post_check_rx(const struct kfi_ep *ep, u64 flags)
{
	if (unlikely(ep->srx))
		return -EOPNOTSUPP;	/* receives are posted to the shared context */
	if (unlikely(flags & KFI_PEEK_FLAGS))
		return post_check_peek(ep, flags);
	if (likely(!(flags & KFI_MULTI_RECV)))
		return 0;
	if (!(ep->caps & KFI_MULTI_RECV))
		return -EOPNOTSUPP;
	/* A multi-receive buffer has several completions, and a kfi_cqe has room for one. */
	return flags & KFI_CQE ? -EINVAL : 0;
}

/* ---- transmit ---- */

static void post_flush(struct kfi_ep *ep)
{
	if (ep->ops->tx_flush && READ_ONCE(ep->state) != KFI_EP_DEAD)
		ep->ops->tx_flush(ep);
}

struct kfi_oper *kfi_tx_begin(struct kfid_ep *fid, enum kfi_opcode code, void *context, u64 flags)
{
	struct kfi_ep *ep = kfi_to_ep(fid);
	struct kfi_oper *op;
	int ret;

	post_assert_section();
	flags = post_merge(flags, ep->tx_flags, kfi_opcode_rows[code].flags);
	ret = post_check(ep, code, context, flags, ep->tx_cq) ?: post_check_tx(ep, flags);
	op = unlikely(ret) ? ERR_PTR(ret) :
			     kfi_op_get(ep, &kfi_tx_owner(ep)->tx, ep->tx_cq,
					post_selective(flags, ep->tx_selective));
	if (IS_ERR(op)) {
		post_flush(ep);		/* earlier posts with KFI_MORE rely on this one */
		return op;
	}
	op->code = code;
	op->context = context;
	return op;
}

static noinline ssize_t post_refused(struct kfi_ep *ep, struct kfi_oper *op, int err)
{
	kfi_op_abort(op);
	post_flush(ep);
	return err;
}

ssize_t kfi_tx_start(struct kfi_oper *op, int err)
{
	struct kfi_ep *ep = op->ep;
	size_t len = op->len;

	if (unlikely(err))
		return post_refused(ep, op, err);
	/* kfi_ep_query_atomic() has told the limit of an atomic operation */
	if (unlikely(len > ep->max_msg_size && !kfi_opc_is_atomic(op->code)))
		return post_refused(ep, op, -EMSGSIZE);
	trace_kfi_post(op);
	err = ep->ops->tx(ep, op);	/* @op may be complete and reused */
	if (unlikely(err)) {
		if (err == -EAGAIN)
			kfi_stat_inc(ep, again);
		return post_refused(ep, op, err);
	}
	__kfi_stat_inc(ep, tx_ops);
	__kfi_stat_add(ep, tx_bytes, len);
	return 0;
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

struct kfi_oper *kfi_rx_begin(struct kfid_ep *fid, enum kfi_opcode code, void *context, u64 flags)
{
	struct kfi_ep *ep = kfi_to_ep(fid);
	struct kfi_oper *op;
	int ret;

	post_assert_section();
	flags = post_merge(flags, ep->rx_flags, kfi_opcode_rows[code].flags);
	ret = post_check(ep, code, context, flags, ep->rx_cq) ?: post_check_rx(ep, flags);
	if (unlikely(ret))
		return ERR_PTR(ret);
	op = kfi_op_get(ep, &ep->rx, ep->rx_cq, post_selective(flags, ep->rx_selective));
	if (IS_ERR(op))
		return op;
	op->code = code;
	op->context = context;
	op->data = 0;
	if (unlikely(kfi_ep_is_shared(ep)) && flags & KFI_CQE)
		((struct kfi_cqe *)context)->ep = NULL;	/* no message has taken it */
	return op;
}

/*
 * Pass the receive to the matching, and pass unexpected messages that it takes to their provider.
 */
static __always_inline int post_match(struct kfi_ep *ep, struct kfi_oper *op)
{
	struct kfi_rx *rx = unlikely(op->flags & KFI_PEEK_FLAGS) ? kfi_match_peek(ep, op) :
								   kfi_match_post(ep, op);

	if (IS_ERR(rx))
		return PTR_ERR(rx);
	for (; rx; rx = kfi_match_more(ep))
		rx->ep->ops->rx_matched(rx->ep, rx);
	return 0;
}

/* Return -ESHUTDOWN if the receives of the endpoint have ended, or are about to. */
static __always_inline int post_start_rx(struct kfi_ep *ep, struct kfi_oper *op)
{
	trace_kfi_post(op);
	if (unlikely(READ_ONCE(ep->state) == KFI_EP_SHUT))
		return -ESHUTDOWN;
	return unlikely(ep->hw_recv) ? ep->ops->rx_posted(ep, op) : post_match(ep, op);
}

ssize_t kfi_rx_start(struct kfi_oper *op, int err)
{
	if (likely(!err))
		err = post_start_rx(op->ep, op);
	if (likely(!err))
		return 0;
	if (err != -ESHUTDOWN) {
		kfi_op_abort(op);
		return err;
	}
	/*
	 * The peer may have ended the connection before the consumer was notified of it. The
	 * receive ends as it would have if it had been posted before.
	 */
	kfi_recv_end(op, err);
	return 0;
}
