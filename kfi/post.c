// SPDX-License-Identifier: GPL-2.0
/*
 * post.c - posts: the begin and the start of an operation, and the posting calls of messages and
 * RMA, which fill it in between; atomic.c and place_post.c have other ones (post.h).
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
#include <linux/export.h>
#include <linux/overflow.h>
#include "ep.h"
#include "opcode.h"
#include "pool.h"
#include "post.h"
#include <trace/events/kfi.h>

/* ---- checks ---- */

/*
 * Checks that are common to all operations. Adds to @flags the default flags of the endpoint that
 * apply to the operation, of which a completion level in @flags replaces the levels, and
 * KFI_NO_COMPLETION if the binding of the queue is selective.
 *
 * A receive in the state SHUT is legal, but see rx_start().
 */
static __always_inline int post_check(const struct kfi_ep *ep, enum kfi_opcode code,
				      const void *context, u64 *flags, u64 defaults,
				      const struct kfi_cq *cq, bool selective)
{
	const struct kfi_opcode_row *row = &kfi_opcode_rows[code];
	bool rx = kfi_opc_is_rx(code);

	lockdep_assert_irqs_enabled();
	RCU_LOCKDEP_WARN(!rcu_read_lock_bh_held(), "bottom halves are on");
	switch (READ_ONCE(ep->state)) {
	case KFI_EP_CONNECTED:
		break;
	case KFI_EP_IDLE:
		return -KFI_EOPBADSTATE;
	case KFI_EP_ENABLED:
	case KFI_EP_CONNECTING:
		if (!rx && ep->type == KFI_EP_MSG)
			return -ENOTCONN;
		break;
	case KFI_EP_SHUT:
		if (!rx)
			return -ESHUTDOWN;
		break;
	default:
		return -ENODEV;
	}
	if (*flags & KFI_OPFLAGS_DEFAULT) {
		if (*flags & KFI_LEVELS)
			defaults &= ~KFI_LEVELS;
		*flags = (*flags & ~KFI_OPFLAGS_DEFAULT) | (defaults & row->flags);
	}
	if (unlikely((ep->caps & row->caps) != row->caps))
		return -EOPNOTSUPP;
	if (unlikely(*flags & ~row->flags))
		return -KFI_EBADFLAGS;
	if (unlikely((*flags & KFI_CQE) && (!context || !cq)))
		return cq ? -EINVAL : -KFI_ENOCQ;
	if (selective && !(*flags & (KFI_COMPLETION | KFI_CQE)))
		*flags |= KFI_NO_COMPLETION;
	return 0;
}

/* ---- transmit ---- */

static void post_flush(struct kfi_ep *ep)
{
	if (ep->ops->tx_flush && READ_ONCE(ep->state) != KFI_EP_DEAD)
		ep->ops->tx_flush(ep);
}

static __always_inline struct kfi_oper *tx_begin(struct kfid_ep *fid, enum kfi_opcode code,
						 void *context, u64 flags)
{
	struct kfi_ep *ep = kfi_to_ep(fid);
	struct kfi_oper *op;
	int ret;

	ret = post_check(ep, code, context, &flags, ep->tx_flags, ep->tx_cq, ep->tx_selective);
	if (unlikely(flags & KFI_LEVELS & ~ep->tx_levels))
		ret = ret ?: -EOPNOTSUPP;
	if (unlikely((flags & KFI_INVALIDATE) && (flags & KFI_REMOTE_CQ_DATA)))
		ret = ret ?: -EINVAL;
	op = unlikely(ret) ? ERR_PTR(ret) :
			     kfi_op_get(ep, &kfi_tx_owner(ep)->tx, ep->tx_cq, flags);
	if (IS_ERR(op)) {
		post_flush(ep);		/* earlier posts with KFI_MORE rely on this one */
		return op;
	}
	op->code = code;
	op->context = context;
	return op;
}

/* For the calls of other files. Those here have the step inline, because most posts are theirs. */
struct kfi_oper *kfi_tx_begin(struct kfid_ep *fid, enum kfi_opcode code, void *context, u64 flags)
{
	return tx_begin(fid, code, context, flags);
}

static noinline ssize_t post_refused(struct kfi_ep *ep, struct kfi_oper *op, int err)
{
	kfi_op_abort(op);
	post_flush(ep);
	return err;
}

static __always_inline ssize_t tx_start(struct kfi_oper *op, int err)
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

ssize_t kfi_tx_start(struct kfi_oper *op, int err)
{
	return tx_start(op, err);
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

static noinline int post_check_peek(const struct kfi_ep *ep, u64 flags)
{
	u64 what = flags & KFI_PEEK_FLAGS;

	if (ep->hw_recv)
		return -EOPNOTSUPP;
	return what == KFI_PEEK_FLAGS || what == KFI_DISCARD ? -EINVAL : 0;
}

static __always_inline struct kfi_oper *rx_begin(struct kfid_ep *fid, enum kfi_opcode code,
						 void *context, u64 flags)
{
	struct kfi_ep *ep = kfi_to_ep(fid);
	struct kfi_oper *op;
	int ret;

	ret = post_check(ep, code, context, &flags, ep->rx_flags, ep->rx_cq, ep->rx_selective);
	if (unlikely(ret))
		return ERR_PTR(ret);
	if (unlikely(ep->srx))
		return ERR_PTR(-EOPNOTSUPP);	/* receives are posted to the shared context */
	if (unlikely(flags & KFI_PEEK_FLAGS)) {
		ret = post_check_peek(ep, flags);
	} else if (unlikely(flags & KFI_MULTI_RECV)) {
		if (!(ep->caps & KFI_MULTI_RECV))
			ret = -EOPNOTSUPP;
		else if (flags & KFI_CQE)	/* it has room for one completion of several */
			ret = -EINVAL;
	}
	if (unlikely(ret))
		return ERR_PTR(ret);
	op = kfi_op_get(ep, &ep->rx, ep->rx_cq, flags);
	if (IS_ERR(op))
		return op;
	op->code = code;
	op->context = context;
	op->data = 0;
	if (unlikely(kfi_ep_is_shared(ep)) && flags & KFI_CQE)
		((struct kfi_cqe *)context)->ep = NULL;	/* no message has taken it */
	return op;
}

/* The matching is passed the receive, and the provider unexpected messages that it takes. */
static __always_inline ssize_t rx_start(struct kfi_oper *op, int err)
{
	struct kfi_ep *ep = op->ep;
	struct kfi_rx *rx;

	if (unlikely(err))
		goto abort;
	trace_kfi_post(op);
	if (unlikely(READ_ONCE(ep->state) == KFI_EP_SHUT)) {
		err = -ESHUTDOWN;
	} else if (unlikely(ep->hw_recv)) {
		err = ep->ops->rx_posted(ep, op);
	} else {
		rx = unlikely(op->flags & KFI_PEEK_FLAGS) ? kfi_match_peek(ep, op) :
							    kfi_match_post(ep, op);
		err = PTR_ERR_OR_ZERO(rx);
		for (; unlikely(!err && rx); rx = kfi_match_more(ep))
			rx->ep->ops->rx_matched(rx->ep, rx);
	}
	if (likely(!err))
		return 0;
	if (err == -ESHUTDOWN) {
		/*
		 * The receives of the endpoint have ended, or are about to. The peer may have ended
		 * the connection before the consumer was notified of it. The receive ends as it
		 * would have if it had been posted before.
		 */
		kfi_recv_end(op, err);
		return 0;
	}
abort:
	kfi_op_abort(op);
	return err;
}

/* ---- messages ---- */

ssize_t __kfi_sendmsg(struct kfid_ep *ep, const struct kfi_msg *msg, uint64_t flags)
{
	struct kfi_oper *op = tx_begin(ep, KFI_OPC_SEND, msg->context, flags);

	if (IS_ERR(op))
		return PTR_ERR(op);
	op->addr = msg->addr;
	op->data = msg->data;
	op->inv_key = msg->inv_key;
	op->tag = 0;
	return tx_start(op, kfi_op_payload(op, msg->type, msg->msg_iov, msg->iov_count));
}
EXPORT_SYMBOL_GPL(__kfi_sendmsg);

ssize_t __kfi_recvmsg(struct kfid_ep *ep, const struct kfi_msg *msg, uint64_t flags)
{
	struct kfi_oper *op = rx_begin(ep, KFI_OPC_RECV, msg->context, flags);
	int ret;

	if (IS_ERR(op))
		return PTR_ERR(op);
	op->addr = msg->addr;
	op->tag = 0;
	op->ignore = 0;
	ret = kfi_op_payload(op, msg->type, msg->msg_iov, msg->iov_count);
	if (unlikely(op->flags & KFI_MULTI_RECV) && msg->iov_count != 1)
		ret = -EINVAL;	/* a multi-receive buffer has one segment */
	return rx_start(op, ret);
}
EXPORT_SYMBOL_GPL(__kfi_recvmsg);

/* ---- tagged messages ---- */

ssize_t kfi_tsendmsg(struct kfid_ep *ep, const struct kfi_msg_tagged *msg, uint64_t flags)
{
	struct kfi_oper *op;
	ssize_t ret;

	rcu_read_lock_bh();
	op = kfi_tx_begin(ep, KFI_OPC_TSEND, msg->context, flags);
	ret = PTR_ERR_OR_ZERO(op);
	if (likely(!ret)) {
		op->addr = msg->addr;
		op->data = msg->data;
		op->inv_key = msg->inv_key;
		op->tag = msg->tag;
		ret = kfi_tx_start(op, kfi_op_payload(op, msg->type, msg->msg_iov,
						      msg->iov_count));
	}
	rcu_read_unlock_bh();
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_tsendmsg);

ssize_t kfi_trecvmsg(struct kfid_ep *ep, const struct kfi_msg_tagged *msg, uint64_t flags)
{
	struct kfi_oper *op;
	ssize_t ret;

	rcu_read_lock_bh();
	op = rx_begin(ep, KFI_OPC_TRECV, msg->context, flags);
	ret = PTR_ERR_OR_ZERO(op);
	if (likely(!ret)) {
		op->addr = msg->addr;
		op->tag = msg->tag;
		op->ignore = msg->ignore;
		ret = rx_start(op, kfi_op_payload(op, msg->type, msg->msg_iov, msg->iov_count));
	}
	rcu_read_unlock_bh();
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_trecvmsg);

/* ---- remote memory access; with KFI_TAGGED, of a tagged receive ---- */

/* Copy the remote segments. Their length must be that of the payload. */
static int rma_segments(struct kfi_oper *op, const struct kfi_rma_iov *rma, size_t count)
{
	size_t i, len = 0;

	if (unlikely(!rma || !count || count > op->ep->rma_iov_limit))
		return -EINVAL;
	for (i = 0; i < count; i++) {
		op->rma[i] = rma[i];
		if (check_add_overflow(len, rma[i].len, &len))
			return -EINVAL;
	}
	op->rma_count = count;
	op->tag = rma[0].key;	/* for tagged RMA, where the key is the tag of a receive */
	return len == op->len ? 0 : -EINVAL;
}

static ssize_t post_rma(struct kfid_ep *ep, enum kfi_opcode code, const struct kfi_msg_rma *msg,
			u64 flags)
{
	struct kfi_oper *op = tx_begin(ep, code, msg->context, flags & ~KFI_TAGGED);

	if (IS_ERR(op))
		return PTR_ERR(op);
	op->addr = msg->addr;
	op->data = msg->data;
	return tx_start(op, kfi_op_payload(op, msg->type, msg->msg_iov, msg->iov_count) ?:
			    rma_segments(op, msg->rma_iov, msg->rma_iov_count));
}

ssize_t __kfi_readmsg(struct kfid_ep *ep, const struct kfi_msg_rma *msg, uint64_t flags)
{
	return post_rma(ep, flags & KFI_TAGGED ? KFI_OPC_TREAD : KFI_OPC_READ, msg, flags);
}
EXPORT_SYMBOL_GPL(__kfi_readmsg);

ssize_t __kfi_writemsg(struct kfid_ep *ep, const struct kfi_msg_rma *msg, uint64_t flags)
{
	return post_rma(ep, flags & KFI_TAGGED ? KFI_OPC_TWRITE : KFI_OPC_WRITE, msg, flags);
}
EXPORT_SYMBOL_GPL(__kfi_writemsg);

size_t kfi_ep_reply_max(struct kfid_ep *fid)
{
	return kfi_to_ep(fid)->reply_max;
}
EXPORT_SYMBOL_GPL(kfi_ep_reply_max);

ssize_t __kfi_replymsg(struct kfid_ep *ep, const struct kfi_msg_rma *data, const void *msg,
		       size_t len, uint64_t flags)
{
	struct kfi_oper *op = kfi_tx_begin(ep, KFI_OPC_REPLY, data->context, flags);
	int ret;

	if (IS_ERR(op))
		return PTR_ERR(op);
	op->addr = data->addr;
	op->data = 0;
	ret = kfi_op_payload(op, data->type, data->msg_iov, data->iov_count) ?:
	      rma_segments(op, data->rma_iov, data->rma_iov_count);
	if (unlikely(ret))
		return kfi_tx_start(op, ret);
	if (unlikely(op->flags & KFI_DELIVERY_COMPLETE))
		return kfi_tx_start(op, -EOPNOTSUPP);
	if (unlikely(op->rma_count != 1))
		return kfi_tx_start(op, -EINVAL);
	if (unlikely(!op->len || op->len > op->ep->reply_max || len > KFI_REPLY_LEN))
		return kfi_tx_start(op, -EMSGSIZE);
	memcpy(op->inline_buf, msg, len);
	op->reply_len = len;
	op->inv_key = op->rma[0].key;
	op->tag = 0;
	return kfi_tx_start(op, 0);
}
EXPORT_SYMBOL_GPL(__kfi_replymsg);

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
