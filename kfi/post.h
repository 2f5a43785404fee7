/* SPDX-License-Identifier: GPL-2.0 */
/*
 * post.h - the steps of a post. The posting calls (post.c, place_post.c, atomic.c) have the middle
 * one:
 *
 *	kfi_tx_begin()	check the post, and take an operation
 *	the call	fills the operation in, with kfi_op_payload()
 *	kfi_tx_start()	pass it to the provider
 *
 * All of a post runs inside one rcu_read_lock_bh(), which the posting call opens, or the caller of
 * __kfi_sendmsg() and the like: see post.c.
 */
#ifndef _KFI_POST_H
#define _KFI_POST_H

#include <linux/uio.h>
#include "core.h"
#include "opcode.h"

/*
 * Begin a post: check it, and take an operation. Sets the kind, the flags and the context of the
 * operation. Returns ERR_PTR() if the post is refused.
 */
struct kfi_oper *kfi_tx_begin(struct kfid_ep *fid, enum kfi_opcode code, void *context, u64 flags);

/*
 * Start the operation; or drop it, because its description has failed with @err. Returns 0 or a
 * negative errno: then nothing has happened.
 */
ssize_t kfi_tx_start(struct kfi_oper *op, int err);

/*
 * Set op->iter, op->len and op->sgl from the local vector; with KFI_INJECT copy the payload. Most
 * vectors are one piece of kernel memory. Return: 0, -EINVAL, -EOPNOTSUPP.
 */
static __always_inline int kfi_op_payload(struct kfi_oper *op, enum kfi_iov_type type,
					  const void *iov, size_t count)
{
	struct kvec *one = &op->iov.kvec[0];

	if (unlikely(type != KFI_KVEC || count != 1 || !iov))
		return kfi_op_vector(op, type, iov, count);
	*one = *(const struct kvec *)iov;
	op->len = one->iov_len;
	if (op->flags & KFI_INJECT) {
		if (op->len > op->ep->inject_size)
			return -EINVAL;
		memcpy(op->inline_buf, one->iov_base, op->len);
		one->iov_base = op->inline_buf;
	}
	iov_iter_kvec(&op->iter, kfi_opcode_rows[op->code].dir, one, 1, op->len);
	return 0;
}

#endif /* _KFI_POST_H */
