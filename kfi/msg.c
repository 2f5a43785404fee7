// SPDX-License-Identifier: GPL-2.0
/*
 * msg.c - messages and tagged messages: the posting calls, and the cancel of a receive
 */
#include <linux/export.h>
#include "post.h"

/* ---- messages ---- */

ssize_t __kfi_sendmsg(struct kfid_ep *ep, const struct kfi_msg *msg, uint64_t flags)
{
	struct kfi_oper *op = kfi_tx_begin(ep, KFI_OPC_SEND, msg->context, flags);

	if (IS_ERR(op))
		return PTR_ERR(op);
	op->addr = msg->addr;
	op->data = msg->data;
	op->inv_key = msg->inv_key;
	op->tag = 0;
	return kfi_tx_start(op, kfi_op_payload(op, msg->type, msg->msg_iov, msg->iov_count));
}
EXPORT_SYMBOL_GPL(__kfi_sendmsg);

ssize_t kfi_sendmsg(struct kfid_ep *ep, const struct kfi_msg *msg, uint64_t flags)
{
	ssize_t ret;

	rcu_read_lock_bh();
	ret = __kfi_sendmsg(ep, msg, flags);
	rcu_read_unlock_bh();
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_sendmsg);

ssize_t __kfi_recvmsg(struct kfid_ep *ep, const struct kfi_msg *msg, uint64_t flags)
{
	struct kfi_oper *op = kfi_rx_begin(ep, KFI_OPC_RECV, msg->context, flags);
	int ret;

	if (IS_ERR(op))
		return PTR_ERR(op);
	op->addr = msg->addr;
	op->tag = 0;
	op->ignore = 0;
	ret = kfi_op_payload(op, msg->type, msg->msg_iov, msg->iov_count);
	if (unlikely(op->flags & KFI_MULTI_RECV) && msg->iov_count != 1)
		ret = -EINVAL;	/* a multi-receive buffer has one segment */
	return kfi_rx_start(op, ret);
}
EXPORT_SYMBOL_GPL(__kfi_recvmsg);

ssize_t kfi_recvmsg(struct kfid_ep *ep, const struct kfi_msg *msg, uint64_t flags)
{
	ssize_t ret;

	rcu_read_lock_bh();
	ret = __kfi_recvmsg(ep, msg, flags);
	rcu_read_unlock_bh();
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_recvmsg);

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
	op = kfi_rx_begin(ep, KFI_OPC_TRECV, msg->context, flags);
	ret = PTR_ERR_OR_ZERO(op);
	if (likely(!ret)) {
		op->addr = msg->addr;
		op->tag = msg->tag;
		op->ignore = msg->ignore;
		ret = kfi_rx_start(op, kfi_op_payload(op, msg->type, msg->msg_iov,
						      msg->iov_count));
	}
	rcu_read_unlock_bh();
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_trecvmsg);

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
