/* SPDX-License-Identifier: GPL-2.0 */
/*
 * post.h - what the posting calls (msg.c, rma.c) hand to post.c.
 */
#ifndef _KFI_POST_H
#define _KFI_POST_H

#include "core.h"

/**
 * struct kfi_post - one posting call, whatever its message structure was
 * @code:	what
 * @type: @iov: @count: the local vector; @iov is a kvec, bio_vec or scatterlist, of atomic operations a struct kfi_ioc
 * @atomic: of atomic operations; else not set
 * The rest as in the message structures.
 */
struct kfi_post {
	enum kfi_opcode			code;
	enum kfi_iov_type		type;
	const void			*iov;
	size_t				count;
	kfi_addr_t			addr;
	void				*context;
	u64				flags;
	u64				data;
	u64				inv_key;
	u64				tag;
	u64				ignore;
	const struct kfi_rma_iov	*rma;
	size_t				rma_count;
	const struct kfi_post_atomic	*atomic;
};

ssize_t kfi_post_tx(struct kfi_ep *ep, struct kfi_post *post);
ssize_t kfi_post_rx(struct kfi_ep *ep, struct kfi_post *post);

/* payload.c: set op->iter, op->len, op->sgl from the local vector; with KFI_INJECT copy it. 0, -EINVAL. */
int kfi_op_payload(struct kfi_oper *op, const struct kfi_post *post, u32 limit, unsigned int dir);
/* payload.c: the payload that op->iter describes becomes the operation's own. 0, -EINVAL. */
int kfi_op_inject(struct kfi_oper *op);

#endif /* _KFI_POST_H */
