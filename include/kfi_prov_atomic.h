/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfi_prov_atomic.h - atomic operations at their target. A part of kfi_prov.h.
 */
#ifndef _KFI_PROV_ATOMIC_H
#define _KFI_PROV_ATOMIC_H

#include <kfi_prov_obj.h>

/**
 * struct kfi_atomic - a peer's atomic operation, as the target sees it
 * @code:	KFI_OPC_ATOMIC, KFI_OPC_FETCH_ATOMIC or KFI_OPC_COMPARE_ATOMIC
 * @op: enum kfi_op
 * @datatype: enum kfi_datatype
 * @len:	bytes of the targets
 * @operand:	the operation's &kfi_oper.iter
 * @compare:	as in struct kfi_oper_atomic
 * @result:	likewise; may be the same memory as @operand: an element is read before it is written
 */
struct kfi_atomic {
	u8			code;
	u8			op;
	u16			datatype;
	size_t			len;
	struct iov_iter		operand;
	struct iov_iter		compare;
	struct iov_iter		result;
};

/**
 * kfi_atomic_perform() - do what a peer asks for
 * @ep:		endpoint the request came through
 * @atomic:	the request; its iterators move on. Not trusted
 * @segs:	the targets, as the peer said, not trusted
 * @count:	how many
 *
 * Each element is changed atomically towards every other call of this function in this kernel, whatever endpoint,
 * domain, provider or alias of the memory it comes through; elements of different cache lines do not wait for each
 * other. Rights: KFI_REMOTE_WRITE, KFI_REMOTE_READ for what returns old values, both for what does both.
 *
 * Tell kfi_remote_rma() afterwards, then give the reference back. Context: process or softirq.
 * Return: the last target's region with a reference, or ERR_PTR: -EACCES as kfi_mr_get(), or the endpoint is without
 * KFI_ATOMIC; -EOPNOTSUPP: no such operation; -EINVAL: lengths that do not agree, or an element that is not naturally
 * aligned in memory; -EREMOTEIO: a region has died under the operation, earlier segments are done. But for the last nothing has
 * changed.
 */
struct kfi_mr *kfi_atomic_perform(struct kfi_ep *ep, struct kfi_atomic *atomic, const struct kfi_rma_iov *segs,
				  unsigned int count);

/** kfi_atomic_size() - bytes of an element of @datatype; 0: no integer that this kernel computes with */
size_t kfi_atomic_size(unsigned int datatype);

/** kfi_atomic_valid() - can @op be done to @datatype by operations of this kind (enum kfi_opcode)? */
bool kfi_atomic_valid(u8 code, unsigned int op, unsigned int datatype);

#endif /* _KFI_PROV_ATOMIC_H */
