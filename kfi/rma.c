// SPDX-License-Identifier: GPL-2.0
/*
 * rma.c - posting of remote memory access; with KFI_TAGGED, of access to a tagged receive of the
 * peer. A reply is a write, and a message behind it.
 */
#include <linux/export.h>
#include <linux/overflow.h>
#include "post.h"

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
	struct kfi_oper *op = kfi_tx_begin(ep, code, msg->context, flags & ~KFI_TAGGED);

	if (IS_ERR(op))
		return PTR_ERR(op);
	op->addr = msg->addr;
	op->data = msg->data;
	return kfi_tx_start(op, kfi_op_payload(op, msg->type, msg->msg_iov, msg->iov_count) ?:
				rma_segments(op, msg->rma_iov, msg->rma_iov_count));
}

ssize_t __kfi_readmsg(struct kfid_ep *ep, const struct kfi_msg_rma *msg, uint64_t flags)
{
	return post_rma(ep, flags & KFI_TAGGED ? KFI_OPC_TREAD : KFI_OPC_READ, msg, flags);
}
EXPORT_SYMBOL_GPL(__kfi_readmsg);

ssize_t kfi_readmsg(struct kfid_ep *ep, const struct kfi_msg_rma *msg, uint64_t flags)
{
	ssize_t ret;

	rcu_read_lock_bh();
	ret = __kfi_readmsg(ep, msg, flags);
	rcu_read_unlock_bh();
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_readmsg);

ssize_t __kfi_writemsg(struct kfid_ep *ep, const struct kfi_msg_rma *msg, uint64_t flags)
{
	return post_rma(ep, flags & KFI_TAGGED ? KFI_OPC_TWRITE : KFI_OPC_WRITE, msg, flags);
}
EXPORT_SYMBOL_GPL(__kfi_writemsg);

ssize_t kfi_writemsg(struct kfid_ep *ep, const struct kfi_msg_rma *msg, uint64_t flags)
{
	ssize_t ret;

	rcu_read_lock_bh();
	ret = __kfi_writemsg(ep, msg, flags);
	rcu_read_unlock_bh();
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_writemsg);

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
	if (unlikely(op->len > op->ep->reply_max || len > KFI_REPLY_LEN))
		return kfi_tx_start(op, -EMSGSIZE);
	memcpy(op->inline_buf, msg, len);
	op->reply_len = len;
	op->inv_key = op->rma[0].key;
	op->tag = 0;
	return kfi_tx_start(op, 0);
}
EXPORT_SYMBOL_GPL(__kfi_replymsg);
