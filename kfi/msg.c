// SPDX-License-Identifier: GPL-2.0
/*
 * Messages and tagged messages: the calls.
 *
 * struct kfi_post is filled member by member, for an initialiser would clear all of it first; the remote vector is for
 * operations that have one.
 */
#include <linux/export.h>
#include "post.h"

ssize_t kfi_sendmsg(struct kfid_ep *ep, const struct kfi_msg *msg, uint64_t flags)
{
	struct kfi_post post __uninitialized;

	post.code = KFI_OPC_SEND;
	post.type = msg->type;
	post.iov = msg->msg_iov;
	post.count = msg->iov_count;
	post.addr = msg->addr;
	post.context = msg->context;
	post.flags = flags;
	post.data = msg->data;
	post.inv_key = msg->inv_key;
	post.tag = 0;
	post.ignore = 0;
	return kfi_post_tx(kfi_to_ep(ep), &post);
}
EXPORT_SYMBOL_GPL(kfi_sendmsg);

ssize_t kfi_recvmsg(struct kfid_ep *ep, const struct kfi_msg *msg, uint64_t flags)
{
	struct kfi_post post __uninitialized;

	post.code = KFI_OPC_RECV;
	post.type = msg->type;
	post.iov = msg->msg_iov;
	post.count = msg->iov_count;
	post.addr = msg->addr;
	post.context = msg->context;
	post.flags = flags;
	post.data = 0;
	post.inv_key = 0;
	post.tag = 0;
	post.ignore = 0;
	return kfi_post_rx(kfi_to_ep(ep), &post);
}
EXPORT_SYMBOL_GPL(kfi_recvmsg);

ssize_t kfi_tsendmsg(struct kfid_ep *ep, const struct kfi_msg_tagged *msg, uint64_t flags)
{
	struct kfi_post post __uninitialized;

	post.code = KFI_OPC_TSEND;
	post.type = msg->type;
	post.iov = msg->msg_iov;
	post.count = msg->iov_count;
	post.addr = msg->addr;
	post.context = msg->context;
	post.flags = flags;
	post.data = msg->data;
	post.inv_key = msg->inv_key;
	post.tag = msg->tag;
	post.ignore = 0;
	return kfi_post_tx(kfi_to_ep(ep), &post);
}
EXPORT_SYMBOL_GPL(kfi_tsendmsg);

ssize_t kfi_trecvmsg(struct kfid_ep *ep, const struct kfi_msg_tagged *msg, uint64_t flags)
{
	struct kfi_post post __uninitialized;

	post.code = KFI_OPC_TRECV;
	post.type = msg->type;
	post.iov = msg->msg_iov;
	post.count = msg->iov_count;
	post.addr = msg->addr;
	post.context = msg->context;
	post.flags = flags;
	post.data = 0;
	post.inv_key = 0;
	post.tag = msg->tag;
	post.ignore = msg->ignore;
	return kfi_post_rx(kfi_to_ep(ep), &post);
}
EXPORT_SYMBOL_GPL(kfi_trecvmsg);
