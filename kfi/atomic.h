/* SPDX-License-Identifier: GPL-2.0 */
/*
 * atomic.h - atomic operations: atomic.c posts them, atomic_target.c performs them at the target,
 * atomic_math.c computes the result of one element.
 */
#ifndef _KFI_CORE_ATOMIC_H
#define _KFI_CORE_ATOMIC_H

#include "core.h"
#include "post.h"

/**
 * struct kfi_post_atomic - arguments of an atomic call that struct kfi_post does not have
 * @op: enum kfi_op
 * @datatype: enum kfi_datatype
 * @compare: values to compare with
 * @compare_count: number of entries of @compare
 * @result: where the previous values are stored
 * @result_count: number of entries of @result
 * @targets: remote segments; their number is &kfi_post.rma_count. They have as many elements as the
 *	operands
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

/* Describe the call. The caller sets &kfi_post_atomic.compare and result. */
static __always_inline void kfi_post_atomic(struct kfi_post *post, struct kfi_post_atomic *atomic,
					    enum kfi_opcode code, const struct kfi_msg_atomic *msg,
					    u64 flags)
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

/*
 * atomic.c: check an atomic call and describe it in @op. Returns 0, -EOPNOTSUPP, -EMSGSIZE or
 * -EINVAL.
 */
int kfi_op_atomic(struct kfi_oper *op, const struct kfi_post *post);

/*
 * atomic_math.c: perform one element, and store the previous value of @target in @old.
 * kfi_atomic_valid() has accepted operation and type, and all pointers are naturally aligned.
 * @operand and @compare must be readable even if @op does not use them. The caller excludes other
 * operations on @target.
 */
void kfi_atomic_element(u8 op, u16 datatype, void *target, const void *operand, const void *compare,
			void *old);

/* atomic_target.c */
void kfi_atomic_init(void);

#endif /* _KFI_CORE_ATOMIC_H */
