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
 * @type: @iov: @count: the local vector; @iov is a kvec, bio_vec, scatterlist or iov_iter, of atomic operations
 *	a struct kfi_ioc
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

/* Of an endpoint, a context, or an alias of one. */
ssize_t kfi_post_tx(struct kfid_ep *fid, struct kfi_post *post);
ssize_t kfi_post_rx(struct kfid_ep *fid, struct kfi_post *post);

/* What is posted to by a handle; @post has all its flags now, the defaults of the handle among them. */
struct kfi_ep *kfi_post_ep(struct kfid_ep *fid, struct kfi_post *post);

/*
 * The two halves of a post, for an operation that starts later (trigger.c), each inside an RCU read section and with bottom
 * halves off. make: a checked and described operation, or ERR_PTR. start: 0, or why it can't: the caller still has it.
 */
struct kfi_oper *kfi_post_make(struct kfi_ep *ep, struct kfi_post *post);
int kfi_post_start(struct kfi_oper *op);
/* The second half of a transmit that no fence holds: its provider hears of it, if the state allows. As start. */
int kfi_post_give(struct kfi_oper *op);
/* The end of an operation between the halves. */
void kfi_post_fail(struct kfi_oper *op, int err);
/* Posts with KFI_MORE have no last one. In the RCU read section of a post. */
void kfi_post_flush(struct kfi_ep *ep);

#define KFI_START_TRIES	10	/* of a work item at a provider without room: after 1, 2, 4 ... 512 ms */

/* Flags that such an operation takes. */
u64 kfi_post_flags(enum kfi_opcode code);

/* Member by member: an initialiser would clear all of it first. What a receive has no use for is not read. */
static __always_inline void kfi_post_msg(struct kfi_post *post, enum kfi_opcode code, const struct kfi_msg *msg, u64 flags)
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

/* @write: else a read; KFI_TAGGED in @flags makes it one of a tagged receive. */
static __always_inline void kfi_post_rma(struct kfi_post *post, bool write, const struct kfi_msg_rma *msg, u64 flags)
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

/* payload.c: set op->iter, op->len, op->sgl from the local vector; with KFI_INJECT copy it. 0, -EINVAL. */
int kfi_op_payload(struct kfi_oper *op, const struct kfi_post *post, u32 limit, unsigned int dir);
/* payload.c: the payload that op->iter describes becomes the operation's own. 0, -EINVAL. */
int kfi_op_inject(struct kfi_oper *op);

#endif /* _KFI_POST_H */
