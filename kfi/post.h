/* SPDX-License-Identifier: GPL-2.0 */
/*
 * post.h - the steps of a post. The posting calls (post.c, place_post.c, atomic.c) have the middle
 * one:
 *
 *	kfi_tx_begin(), kfi_rx_begin()	check the post, and take an operation
 *	the call			fills the operation in, with kfi_op_payload()
 *	kfi_tx_start(), kfi_rx_start()	pass it to the provider, or to the matching
 *
 * All of a post runs inside one rcu_read_lock_bh(), which the posting call opens, or the caller of
 * __kfi_sendmsg() and the like: see post.c.
 */
#ifndef _KFI_POST_H
#define _KFI_POST_H

#include "core.h"

/*
 * Begin a post: check it, and take an operation. Sets the kind, the flags and the context of the
 * operation. Returns ERR_PTR() if the post is refused.
 */
struct kfi_oper *kfi_tx_begin(struct kfid_ep *fid, enum kfi_opcode code, void *context, u64 flags);
struct kfi_oper *kfi_rx_begin(struct kfid_ep *fid, enum kfi_opcode code, void *context, u64 flags);

/*
 * Start the operation; or drop it, because its description has failed with @err. Returns 0 or a
 * negative errno: then nothing has happened.
 */
ssize_t kfi_tx_start(struct kfi_oper *op, int err);
ssize_t kfi_rx_start(struct kfi_oper *op, int err);

/*
 * payload.c: set op->iter, op->len and op->sgl from the local vector; with KFI_INJECT copy the
 * payload. Return: 0, -EINVAL, -EOPNOTSUPP.
 */
int kfi_op_payload(struct kfi_oper *op, enum kfi_iov_type type, const void *iov, size_t count);
/* payload.c: copy the payload that op->iter describes into the operation. Return: 0, -EINVAL. */
int kfi_op_inject(struct kfi_oper *op);

#endif /* _KFI_POST_H */
