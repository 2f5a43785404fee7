// SPDX-License-Identifier: GPL-2.0
/*
 * rma.c - posting of remote memory access
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

