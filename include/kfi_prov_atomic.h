/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfi_prov_atomic.h - atomic operations at their target. Included by kfi_prov.h.
 */
#ifndef _KFI_PROV_ATOMIC_H
#define _KFI_PROV_ATOMIC_H

#include <kfi_prov_obj.h>

/**
 * struct kfi_atomic - an atomic operation of a peer
 * @code: KFI_OPC_ATOMIC, KFI_OPC_FETCH_ATOMIC or KFI_OPC_COMPARE_ATOMIC
 * @op: &enum kfi_op
 * @datatype: &enum kfi_datatype
 * @len: bytes of the targets
 * @operand: operands; empty for KFI_ATOMIC_READ
 * @compare: values to compare with; empty unless KFI_OPC_COMPARE_ATOMIC
 * @result: destination of the old values; empty for KFI_OPC_ATOMIC. It may be the same memory as
 *	@operand, because each operand is read before its result is written
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
 * kfi_atomic_perform() - perform an atomic operation of a peer
 * @ep: endpoint that has received the request
 * @atomic: the operation, not trusted. Its iterators are advanced
 * @segs: targets, as the peer has sent them, not trusted
 * @count: number of segments in @segs
 *
 * Each element is changed atomically with respect to all other calls of this function in this
 * kernel, whatever endpoint, domain, provider or mapping of the memory they use. Elements in
 * different cache lines do not wait for each other, except by chance. The region needs
 * KFI_REMOTE_WRITE, KFI_REMOTE_READ for KFI_ATOMIC_READ, and both if the operation changes the
 * region and returns old values.
 *
 * The provider calls kfi_remote_rma() afterwards, and then kfi_mr_put().
 *
 * Context: process or softirq.
 * Return: the region of the last target, with a reference; or ERR_PTR(): -EACCES as kfi_mr_get(),
 * or if the endpoint has no KFI_ATOMIC; -EOPNOTSUPP if there is no such operation; -EINVAL if the
 * lengths do not agree, or if an element is not naturally aligned in memory; -EREMOTEIO if a region
 * has ended during the operation, and earlier segments have been changed. After all other errors
 * nothing has been changed.
 */
struct kfi_mr *kfi_atomic_perform(struct kfi_ep *ep, struct kfi_atomic *atomic,
				  const struct kfi_rma_iov *segs, unsigned int count);

/**
 * kfi_atomic_size() - return the size of an element
 * @datatype: &enum kfi_datatype, not trusted
 *
 * Return: size in bytes; 0 if the type is not supported.
 */
size_t kfi_atomic_size(unsigned int datatype);

/**
 * kfi_atomic_valid() - check whether an atomic operation is supported
 * @code: &enum kfi_opcode
 * @op: &enum kfi_op, not trusted
 * @datatype: &enum kfi_datatype, not trusted
 *
 * Return: true if operations of this kind can apply @op to @datatype.
 */
bool kfi_atomic_valid(u8 code, unsigned int op, unsigned int datatype);

#endif /* _KFI_PROV_ATOMIC_H */
