// SPDX-License-Identifier: GPL-2.0
/*
 * Remote memory access and flush: the calls.
 */
#include <linux/export.h>
#include "post.h"

static ssize_t post_rma(struct kfid_ep *ep, const struct kfi_msg_rma *msg, u64 flags, enum kfi_opcode code)
{
	struct kfi_post post __uninitialized;

	post.code = code;
	post.type = msg->type;
	post.iov = msg->msg_iov;
	post.count = msg->iov_count;
	post.addr = msg->addr;
	post.context = msg->context;
	post.flags = flags & ~KFI_TAGGED;
	post.data = msg->data;
	post.inv_key = 0;
	post.tag = 0;
	post.ignore = 0;
	post.rma = msg->rma_iov;
	post.rma_count = msg->rma_iov_count;
	return kfi_post_tx(kfi_to_ep(ep), &post);
}

ssize_t kfi_readmsg(struct kfid_ep *ep, const struct kfi_msg_rma *msg, uint64_t flags)
{
	return post_rma(ep, msg, flags, flags & KFI_TAGGED ? KFI_OPC_TREAD : KFI_OPC_READ);
}
EXPORT_SYMBOL_GPL(kfi_readmsg);

ssize_t kfi_writemsg(struct kfid_ep *ep, const struct kfi_msg_rma *msg, uint64_t flags)
{
	return post_rma(ep, msg, flags, flags & KFI_TAGGED ? KFI_OPC_TWRITE : KFI_OPC_WRITE);
}
EXPORT_SYMBOL_GPL(kfi_writemsg);

ssize_t kfi_flush(struct kfid_ep *fid, kfi_addr_t addr, const struct kfi_rma_iov *ranges, size_t count,
		  uint64_t scope, void *context)
{
	struct kfi_ep *ep = kfi_to_ep(fid);
	u64 level = scope & (KFI_DELIVERY_COMPLETE | KFI_COMMIT_COMPLETE);
	struct kfi_post post = {
		.code = KFI_OPC_FLUSH,
		.addr = addr,
		.context = context,
		.flags = scope | KFI_COMPLETION,
		.rma = ranges,
		.rma_count = count,
	};

	if (!ep->ops->flush)
		return -EOPNOTSUPP;
	if (level != KFI_DELIVERY_COMPLETE && level != KFI_COMMIT_COMPLETE)
		return -EINVAL;
	return kfi_post_tx(ep, &post);
}
EXPORT_SYMBOL_GPL(kfi_flush);
