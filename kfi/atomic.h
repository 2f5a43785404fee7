/* SPDX-License-Identifier: GPL-2.0 */
/*
 * atomic.h - what the files about atomic operations share: atomic.c posts, atomic_target.c performs, atomic_math.c computes.
 */
#ifndef _KFI_CORE_ATOMIC_H
#define _KFI_CORE_ATOMIC_H

#include "core.h"
#include "post.h"

/**
 * struct kfi_post_atomic - what an atomic call has beyond struct kfi_post
 * @op: @datatype: as given
 * @compare: @compare_count: values to compare with
 * @result: @result_count: where old values go
 * @targets: as many elements as there are operands; their number is &kfi_post.rma_count
 */
struct kfi_post_atomic {
	unsigned int			op;
	unsigned int			datatype;
	const struct kfi_ioc		*compare;
	size_t				compare_count;
	const struct kfi_ioc		*result;
	size_t				result_count;
	const struct kfi_rma_ioc	*targets;
};

/* Describe the call; where results go and what is compared with is the caller's to add. */
static __always_inline void kfi_post_atomic(struct kfi_post *post, struct kfi_post_atomic *atomic, enum kfi_opcode code,
					    const struct kfi_msg_atomic *msg, u64 flags)
{
	atomic->op = msg->op;
	atomic->datatype = msg->datatype;
	atomic->targets = msg->rma_iov;
	post->code = code;
	post->type = KFI_KVEC;
	post->iov = msg->msg_iov;
	post->count = msg->iov_count;
	post->addr = msg->addr;
	post->context = msg->context;
	post->flags = flags;
	post->data = msg->data;
	post->inv_key = 0;
	post->tag = 0;
	post->ignore = 0;
	post->rma = NULL;
	post->rma_count = msg->rma_iov_count;
	post->atomic = atomic;
}

/* atomic.c: describe an atomic operation. 0, -EOPNOTSUPP, -EMSGSIZE, -EINVAL. */
int kfi_op_atomic(struct kfi_oper *op, const struct kfi_post *post);

/*
 * atomic_math.c: the element at @target, and its value before to @old. For what kfi_atomic_valid() says; all are naturally
 * aligned; @operand and @compare are readable even if @op needs none. The caller sees to it that nobody else is there.
 */
void kfi_atomic_element(u8 op, u16 datatype, void *target, const void *operand, const void *compare, void *old);

/* atomic_target.c */
void kfi_atomic_init(void);

#endif /* _KFI_CORE_ATOMIC_H */
