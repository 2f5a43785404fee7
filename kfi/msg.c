// SPDX-License-Identifier: GPL-2.0
/*
 * msg.c - posting of messages and tagged messages
 */
#include <linux/export.h>
#include "post.h"

ssize_t kfi_sendmsg(struct kfid_ep *ep, const struct kfi_msg *msg, uint64_t flags)
{
	struct kfi_post post __uninitialized;

	kfi_post_msg(&post, KFI_OPC_SEND, msg, flags);
	return kfi_post_tx(ep, &post);
}
EXPORT_SYMBOL_GPL(kfi_sendmsg);

ssize_t kfi_recvmsg(struct kfid_ep *ep, const struct kfi_msg *msg, uint64_t flags)
{
	struct kfi_post post __uninitialized;

	kfi_post_msg(&post, KFI_OPC_RECV, msg, flags);
	return kfi_post_rx(ep, &post);
}
EXPORT_SYMBOL_GPL(kfi_recvmsg);

ssize_t kfi_tsendmsg(struct kfid_ep *ep, const struct kfi_msg_tagged *msg, uint64_t flags)
{
	struct kfi_post post __uninitialized;

	kfi_post_tagged(&post, KFI_OPC_TSEND, msg, flags);
	return kfi_post_tx(ep, &post);
}
EXPORT_SYMBOL_GPL(kfi_tsendmsg);

ssize_t kfi_trecvmsg(struct kfid_ep *ep, const struct kfi_msg_tagged *msg, uint64_t flags)
{
	struct kfi_post post __uninitialized;

	kfi_post_tagged(&post, KFI_OPC_TRECV, msg, flags);
	return kfi_post_rx(ep, &post);
}
EXPORT_SYMBOL_GPL(kfi_trecvmsg);
