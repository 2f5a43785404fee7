/* SPDX-License-Identifier: GPL-2.0 */
/*
 * post.h - interface between the posting calls (msg.c, rma.c, place.c, atomic.c) and
 * post.c
 */
#ifndef _KFI_POST_H
#define _KFI_POST_H

#include "core.h"

/**
 * struct kfi_post - one posting call, independent of the call's message structure
 * @code: operation
 * @type: type of @iov
 * @iov: local vector: kvec, bio_vec, scatterlist or iov_iter; struct kfi_ioc for atomic operations
 * @count: entries of @iov
 * @addr: handle of the peer
 * @context: consumer's context
 * @flags: operation flags
 * @data: remote CQ data
 * @inv_key: key to invalidate with KFI_INVALIDATE
 * @tag: tag
 * @ignore: bits of @tag that a receive ignores
 * @rma: remote segments; set for RMA only
 * @rma_count: entries of @rma
 * @atomic: set for atomic operations only
 * @place: set for the get and the put of a place only
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
	struct kfi_dev_place		*place;
};

/* @fid is a handle of an endpoint or a context. */
ssize_t kfi_post_tx(struct kfid_ep *fid, struct kfi_post *post);
ssize_t kfi_post_rx(struct kfid_ep *fid, struct kfi_post *post);

/*
 * Assign member by member, because an initializer would clear the whole structure first. Members
 * that a receive does not use are not read from @msg.
 */
static __always_inline void kfi_post_msg(struct kfi_post *post, enum kfi_opcode code,
					 const struct kfi_msg *msg, u64 flags)
{
	post->code = code;
	post->type = msg->type;
	post->iov = msg->msg_iov;
	post->count = msg->iov_count;
	post->addr = msg->addr;
	post->context = msg->context;
	post->flags = flags;
	post->data = code == KFI_OPC_RECV ? 0 : msg->data;
	post->inv_key = code == KFI_OPC_RECV ? 0 : msg->inv_key;
	post->tag = 0;
	post->ignore = 0;
}

static __always_inline void kfi_post_tagged(struct kfi_post *post, enum kfi_opcode code,
					    const struct kfi_msg_tagged *msg, u64 flags)
{
	post->code = code;
	post->type = msg->type;
	post->iov = msg->msg_iov;
	post->count = msg->iov_count;
	post->addr = msg->addr;
	post->context = msg->context;
	post->flags = flags;
	post->data = code == KFI_OPC_TRECV ? 0 : msg->data;
	post->inv_key = code == KFI_OPC_TRECV ? 0 : msg->inv_key;
	post->tag = msg->tag;
	post->ignore = code == KFI_OPC_TRECV ? msg->ignore : 0;
}

/*
 * @write selects write or read. With KFI_TAGGED in @flags it accesses a tagged receive of the peer.
 */
static __always_inline void kfi_post_rma(struct kfi_post *post, bool write,
					 const struct kfi_msg_rma *msg, u64 flags)
{
	if (flags & KFI_TAGGED)
		post->code = write ? KFI_OPC_TWRITE : KFI_OPC_TREAD;
	else
		post->code = write ? KFI_OPC_WRITE : KFI_OPC_READ;
	post->type = msg->type;
	post->iov = msg->msg_iov;
	post->count = msg->iov_count;
	post->addr = msg->addr;
	post->context = msg->context;
	post->flags = flags & ~KFI_TAGGED;
	post->data = msg->data;
	post->inv_key = 0;
	post->tag = 0;
	post->ignore = 0;
	post->rma = msg->rma_iov;
	post->rma_count = msg->rma_iov_count;
}

/*
 * payload.c: set op->iter, op->len and op->sgl from the local vector; with KFI_INJECT copy the
 * payload. Return: 0, -EINVAL, -EOPNOTSUPP.
 */
int kfi_op_payload(struct kfi_oper *op, const struct kfi_post *post, u32 limit, unsigned int dir);
/* payload.c: copy the payload that op->iter describes into the operation. Return: 0, -EINVAL. */
int kfi_op_inject(struct kfi_oper *op);

#endif /* _KFI_POST_H */
