// SPDX-License-Identifier: GPL-2.0
/*
 * msg.c - messages and tagged messages: the posting calls, and the cancel of a receive
 */
#include <linux/export.h>
#include "post.h"

ssize_t kfi_sendmsg(struct kfid_ep *fid, const struct kfi_msg *msg, uint64_t flags)
{
	struct kfi_ep *ep = kfi_to_ep(fid);
	struct kfi_oper *op = kfi_tx_begin(ep, KFI_OPC_SEND, msg->context, flags);
	int ret = PTR_ERR_OR_ZERO(op);

	if (likely(!ret)) {
		op->addr = msg->addr;
		op->data = msg->data;
		op->inv_key = msg->inv_key;
		op->tag = 0;
		ret = kfi_op_payload(op, msg->type, msg->msg_iov, msg->iov_count);
	}
	return kfi_tx_start(ep, op, ret);
}
EXPORT_SYMBOL_GPL(kfi_sendmsg);

ssize_t kfi_tsendmsg(struct kfid_ep *fid, const struct kfi_msg_tagged *msg, uint64_t flags)
{
	struct kfi_ep *ep = kfi_to_ep(fid);
	struct kfi_oper *op = kfi_tx_begin(ep, KFI_OPC_TSEND, msg->context, flags);
	int ret = PTR_ERR_OR_ZERO(op);

	if (likely(!ret)) {
		op->addr = msg->addr;
		op->data = msg->data;
		op->inv_key = msg->inv_key;
		op->tag = msg->tag;
		ret = kfi_op_payload(op, msg->type, msg->msg_iov, msg->iov_count);
	}
	return kfi_tx_start(ep, op, ret);
}
EXPORT_SYMBOL_GPL(kfi_tsendmsg);

ssize_t kfi_recvmsg(struct kfid_ep *fid, const struct kfi_msg *msg, uint64_t flags)
{
	struct kfi_ep *ep = kfi_to_ep(fid);
	struct kfi_oper *op = kfi_rx_begin(ep, KFI_OPC_RECV, msg->context, flags);
	int ret = PTR_ERR_OR_ZERO(op);

	if (likely(!ret)) {
		op->addr = msg->addr;
		op->tag = 0;
		op->ignore = 0;
		ret = kfi_op_payload(op, msg->type, msg->msg_iov, msg->iov_count);
		/* a multi-receive buffer has one segment */
		if (unlikely(op->flags & KFI_MULTI_RECV) && msg->iov_count != 1)
			ret = -EINVAL;
	}
	return kfi_rx_start(ep, op, ret);
}
EXPORT_SYMBOL_GPL(kfi_recvmsg);

ssize_t kfi_trecvmsg(struct kfid_ep *fid, const struct kfi_msg_tagged *msg, uint64_t flags)
{
	struct kfi_ep *ep = kfi_to_ep(fid);
	struct kfi_oper *op = kfi_rx_begin(ep, KFI_OPC_TRECV, msg->context, flags);
	int ret = PTR_ERR_OR_ZERO(op);

	if (likely(!ret)) {
		op->addr = msg->addr;
		op->tag = msg->tag;
		op->ignore = msg->ignore;
		ret = kfi_op_payload(op, msg->type, msg->msg_iov, msg->iov_count);
	}
	return kfi_rx_start(ep, op, ret);
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
