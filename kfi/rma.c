// SPDX-License-Identifier: GPL-2.0
/*
 * rma.c - posting of remote memory access and flush
 */
#include <linux/export.h>
#include "post.h"

ssize_t kfi_readmsg(struct kfid_ep *ep, const struct kfi_msg_rma *msg, uint64_t flags)
{
	struct kfi_post post __uninitialized;

	kfi_post_rma(&post, false, msg, flags);
	return kfi_post_tx(ep, &post);
}
EXPORT_SYMBOL_GPL(kfi_readmsg);

ssize_t kfi_writemsg(struct kfid_ep *ep, const struct kfi_msg_rma *msg, uint64_t flags)
{
	struct kfi_post post __uninitialized;

	kfi_post_rma(&post, true, msg, flags);
	return kfi_post_tx(ep, &post);
}
EXPORT_SYMBOL_GPL(kfi_writemsg);

ssize_t kfi_flush(struct kfid_ep *fid, kfi_addr_t addr, const struct kfi_rma_iov *ranges, size_t count,
		  uint64_t scope, void *context)
{
	u64 level = scope & (KFI_DELIVERY_COMPLETE | KFI_COMMIT_COMPLETE);
	struct kfi_post post = {
		.code = KFI_OPC_FLUSH,
		.addr = addr,
		.context = context,
		.flags = scope | KFI_COMPLETION,
		.rma = ranges,
		.rma_count = count,
	};

	if (!kfi_to_ep(fid)->ops->flush)
		return -EOPNOTSUPP;
	if (level != KFI_DELIVERY_COMPLETE && level != KFI_COMMIT_COMPLETE)
		return -EINVAL;
	return kfi_post_tx(fid, &post);
}
EXPORT_SYMBOL_GPL(kfi_flush);
