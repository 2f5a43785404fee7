/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfabric: atomic operations on a peer's memory
 */
#ifndef KFI_ATOMIC_H
#define KFI_ATOMIC_H

#include <kfi_endpoint.h>
#include <kfi_rma.h>

/**
 * DOC: Atomic operations
 *
 * An atomic operation combines operands with an array in a peer's region. Each
 * element is changed atomically with respect to all other atomic operations on
 * that machine, whatever endpoint or software provider they use. It is not
 * atomic with respect to RMA writes, or to instructions of the region's owner.
 * The owner sees whole elements of up to 64 bits, but can't lock them.
 *
 * Types and operations are in kfi_types.h: all integer types, no floating point.
 * kfi_query_atomic() returns which of them a domain supports; others are refused
 * with -EOPNOTSUPP. kfi_atomic() and kfi_fetch_atomic() support KFI_MIN to
 * KFI_BXOR, KFI_DIFF and KFI_ATOMIC_WRITE; kfi_fetch_atomic() also
 * KFI_ATOMIC_READ; kfi_compare_atomic() supports KFI_CSWAP to KFI_MSWAP.
 * Operands are kernel memory in vectors of struct kfi_ioc. See fi_atomic(3).
 *
 * Both endpoints need KFI_ATOMIC. The region needs KFI_REMOTE_WRITE for
 * operations that change it, and KFI_REMOTE_READ for operations that return old
 * values; and KFI_ATOMIC instead, if the endpoint has KFI_OPT_REMOTE_ACCESS.
 *
 * In addition to the errors in "Posting", a post returns -EMSGSIZE if there are
 * more elements than the query allows; and -EINVAL if the vectors have different
 * lengths, if there is no element, or if a remote address is not a multiple of
 * the element's size. A completion has EACCES as for RMA, or EINVAL if an element
 * is not naturally aligned in the peer's memory; then nothing has changed. It has
 * EREMOTEIO if a region was closed during the operation; then elements of earlier
 * segments have changed, and others have not. The flags of completions are
 * KFI_ATOMIC and KFI_WRITE, or KFI_READ if old values are returned; counters
 * count them as writes and reads.
 */

/* Flags of kfi_query_atomic(): operations that fetch, or compare and fetch */
#define KFI_FETCH_ATOMIC	(1ULL << 58)
#define KFI_COMPARE_ATOMIC	(1ULL << 59)

/**
 * struct kfi_atomic_attr - limits of an atomic operation
 * @count: number of operands of one operation
 * @size: size of an operand, bytes
 */
struct kfi_atomic_attr {
	size_t			count;
	size_t			size;
};

/**
 * struct kfi_msg_atomic - an atomic operation, fi_atomic(3)
 * @msg_iov: operands; ignored for KFI_ATOMIC_READ
 * @desc: descriptors of the entries, or NULL
 * @iov_count: number of entries of @msg_iov
 * @addr: peer; ignored on a connected endpoint
 * @rma_iov: targets, as many as there are operands
 * @rma_iov_count: number of entries of @rma_iov
 * @datatype: type of operands, targets and results
 * @op: operation
 * @context: returned in the completion; a struct kfi_cqe with KFI_CQE
 * @data: remote CQ data, with KFI_REMOTE_CQ_DATA
 */
struct kfi_msg_atomic {
	const struct kfi_ioc	*msg_iov;
	void			**desc;
	size_t			iov_count;
	kfi_addr_t		addr;
	const struct kfi_rma_ioc *rma_iov;
	size_t			rma_iov_count;
	enum kfi_datatype	datatype;
	enum kfi_op		op;
	void			*context;
	uint64_t		data;
};

/**
 * struct kfi_msg_fetch - memory for the old values of the targets
 * @msg_iov: the memory
 * @desc: descriptors of the entries, or NULL
 * @iov_count: number of entries of @msg_iov
 */
struct kfi_msg_fetch {
	struct kfi_ioc		*msg_iov;
	void			**desc;
	size_t			iov_count;
};

/**
 * struct kfi_msg_compare - values to compare with
 * @msg_iov: the values
 * @desc: descriptors of the entries, or NULL
 * @iov_count: number of entries of @msg_iov
 */
struct kfi_msg_compare {
	const struct kfi_ioc	*msg_iov;
	void			**desc;
	size_t			iov_count;
};

/**
 * kfi_query_atomic() - check whether a domain supports an atomic operation
 * @domain: the domain
 * @datatype: type of the operands
 * @op: operation
 * @attr: where to store the limits
 * @flags: 0, KFI_FETCH_ATOMIC or KFI_COMPARE_ATOMIC
 *
 * See fi_query_atomic(3).
 *
 * Context: Process context or softirq, does not sleep.
 * Return: 0 if the operation is supported; -EOPNOTSUPP if it is not;
 * -KFI_EBADFLAGS; -EINVAL if @domain is no domain, or @attr is NULL.
 */
int kfi_query_atomic(struct kfid_domain *domain, enum kfi_datatype datatype,
		     enum kfi_op op, struct kfi_atomic_attr *attr,
		     uint64_t flags);

/**
 * kfi_ep_query_atomic() - check whether an endpoint supports an atomic operation
 * @ep: the endpoint or transmit context
 * @datatype: type of the operands
 * @op: operation
 * @attr: where to store the limits
 * @flags: 0, KFI_FETCH_ATOMIC or KFI_COMPARE_ATOMIC
 *
 * Context: Process context or softirq, does not sleep.
 * Return: as kfi_query_atomic().
 */
int kfi_ep_query_atomic(struct kfid_ep *ep, enum kfi_datatype datatype,
			enum kfi_op op, struct kfi_atomic_attr *attr,
			uint64_t flags);

/**
 * kfi_atomicmsg() - change a peer's memory atomically
 * @ep: the endpoint or transmit context
 * @msg: the operation; copied, but the operands only with KFI_INJECT
 * @flags: as kfi_writemsg(), without KFI_TAGGED
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h, and "Atomic operations".
 */
ssize_t kfi_atomicmsg(struct kfid_ep *ep, const struct kfi_msg_atomic *msg,
		      uint64_t flags);

/**
 * kfi_fetch_atomicmsg() - change a peer's memory and return the old values
 * @ep: the endpoint or transmit context
 * @msg: the operation; copied
 * @resultv: where to store the old values
 * @result_desc: descriptors of the entries, or NULL
 * @result_count: number of entries of @resultv
 * @flags: as kfi_readmsg(), without KFI_TAGGED
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h, and "Atomic operations".
 */
ssize_t kfi_fetch_atomicmsg(struct kfid_ep *ep,
			    const struct kfi_msg_atomic *msg,
			    struct kfi_ioc *resultv, void **result_desc,
			    size_t result_count, uint64_t flags);

/**
 * kfi_compare_atomicmsg() - change a peer's memory depending on its old values
 * @ep: the endpoint or transmit context
 * @msg: the operation; copied
 * @comparev: values to compare with
 * @compare_desc: descriptors of the entries, or NULL
 * @compare_count: number of entries of @comparev
 * @resultv: where to store the old values
 * @result_desc: descriptors of the entries, or NULL
 * @result_count: number of entries of @resultv
 * @flags: as kfi_readmsg(), without KFI_TAGGED
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h, and "Atomic operations".
 */
ssize_t kfi_compare_atomicmsg(struct kfid_ep *ep,
			      const struct kfi_msg_atomic *msg,
			      const struct kfi_ioc *comparev,
			      void **compare_desc, size_t compare_count,
			      struct kfi_ioc *resultv, void **result_desc,
			      size_t result_count, uint64_t flags);

/**
 * kfi_atomic_word() - change a word of this machine's memory
 * @at: the word; its address is a multiple of 8
 * @op: an operation of kfi_fetch_atomic() or kfi_compare_atomic()
 * @operand: operand
 * @compare: value to compare with, if @op compares
 *
 * For a consumer that serves its own memory: atomic with respect to the operations
 * of peers.
 *
 * Context: Process context or softirq, does not sleep.
 * Return: the old value.
 */
uint64_t kfi_atomic_word(uint64_t *at, enum kfi_op op, uint64_t operand,
			 uint64_t compare);

/**
 * kfi_atomic() - change an array in a peer's memory atomically
 * @ep: the endpoint or transmit context
 * @buf: operands
 * @count: number of operands
 * @desc: descriptor of @buf, or NULL
 * @dest_addr: peer
 * @addr: address of the first target in the peer's region
 * @key: key of the peer's region
 * @datatype: type of the operands
 * @op: operation
 * @context: returned in the completion
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h.
 */
static inline ssize_t
kfi_atomic(struct kfid_ep *ep, const void *buf, size_t count, void *desc,
	   kfi_addr_t dest_addr, uint64_t addr, uint64_t key,
	   enum kfi_datatype datatype, enum kfi_op op, void *context)
{
	struct kfi_ioc iov = { .addr = (void *)buf, .count = count };
	struct kfi_rma_ioc rma = { .addr = addr, .count = count, .key = key };
	struct kfi_msg_atomic msg = {
		.msg_iov = &iov,
		.desc = desc ? &desc : NULL,
		.iov_count = 1,
		.addr = dest_addr,
		.rma_iov = &rma,
		.rma_iov_count = 1,
		.datatype = datatype,
		.op = op,
		.context = context,
	};

	return kfi_atomicmsg(ep, &msg, KFI_OPFLAGS_DEFAULT);
}

/**
 * kfi_inject_atomic() - change an array in a peer's memory without a completion
 * @ep: the endpoint or transmit context
 * @buf: operands, may be reused when the call returns
 * @count: number of operands
 * @dest_addr: peer
 * @addr: address of the first target in the peer's region
 * @key: key of the peer's region
 * @datatype: type of the operands
 * @op: operation
 *
 * Success writes no completion; a bound counter counts it.
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h.
 */
static inline ssize_t
kfi_inject_atomic(struct kfid_ep *ep, const void *buf, size_t count,
		  kfi_addr_t dest_addr, uint64_t addr, uint64_t key,
		  enum kfi_datatype datatype, enum kfi_op op)
{
	struct kfi_ioc iov = { .addr = (void *)buf, .count = count };
	struct kfi_rma_ioc rma = { .addr = addr, .count = count, .key = key };
	struct kfi_msg_atomic msg = {
		.msg_iov = &iov,
		.iov_count = 1,
		.addr = dest_addr,
		.rma_iov = &rma,
		.rma_iov_count = 1,
		.datatype = datatype,
		.op = op,
	};

	return kfi_atomicmsg(ep, &msg, KFI_INJECT | KFI_NO_COMPLETION);
}

/**
 * kfi_fetch_atomic() - change an array in a peer's memory and return the old
 *	values
 * @ep: the endpoint or transmit context
 * @buf: operands
 * @count: number of operands
 * @desc: descriptor of @buf, or NULL
 * @result: where to store the old values
 * @result_desc: descriptor of @result, or NULL
 * @dest_addr: peer
 * @addr: address of the first target in the peer's region
 * @key: key of the peer's region
 * @datatype: type of the operands
 * @op: operation
 * @context: returned in the completion
 *
 * @buf may be NULL for KFI_ATOMIC_READ.
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h.
 */
static inline ssize_t
kfi_fetch_atomic(struct kfid_ep *ep, const void *buf, size_t count, void *desc,
		 void *result, void *result_desc, kfi_addr_t dest_addr,
		 uint64_t addr, uint64_t key, enum kfi_datatype datatype,
		 enum kfi_op op, void *context)
{
	struct kfi_ioc iov = { .addr = (void *)buf, .count = count };
	struct kfi_ioc res = { .addr = result, .count = count };
	struct kfi_rma_ioc rma = { .addr = addr, .count = count, .key = key };
	struct kfi_msg_atomic msg = {
		.msg_iov = &iov,
		.desc = desc ? &desc : NULL,
		.iov_count = 1,
		.addr = dest_addr,
		.rma_iov = &rma,
		.rma_iov_count = 1,
		.datatype = datatype,
		.op = op,
		.context = context,
	};

	return kfi_fetch_atomicmsg(ep, &msg, &res, result_desc ? &result_desc : NULL, 1,
				   KFI_OPFLAGS_DEFAULT);
}

/**
 * kfi_compare_atomic() - change an array in a peer's memory depending on its old
 *	values
 * @ep: the endpoint or transmit context
 * @buf: operands
 * @count: number of operands
 * @desc: descriptor of @buf, or NULL
 * @compare: values to compare with, @count operands
 * @compare_desc: descriptor of @compare, or NULL
 * @result: where to store the old values
 * @result_desc: descriptor of @result, or NULL
 * @dest_addr: peer
 * @addr: address of the first target in the peer's region
 * @key: key of the peer's region
 * @datatype: type of the operands
 * @op: operation
 * @context: returned in the completion
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h.
 */
static inline ssize_t
kfi_compare_atomic(struct kfid_ep *ep, const void *buf, size_t count,
		   void *desc, const void *compare, void *compare_desc,
		   void *result, void *result_desc, kfi_addr_t dest_addr,
		   uint64_t addr, uint64_t key, enum kfi_datatype datatype,
		   enum kfi_op op, void *context)
{
	struct kfi_ioc iov = { .addr = (void *)buf, .count = count };
	struct kfi_ioc cmp = { .addr = (void *)compare, .count = count };
	struct kfi_ioc res = { .addr = result, .count = count };
	struct kfi_rma_ioc rma = { .addr = addr, .count = count, .key = key };
	struct kfi_msg_atomic msg = {
		.msg_iov = &iov,
		.desc = desc ? &desc : NULL,
		.iov_count = 1,
		.addr = dest_addr,
		.rma_iov = &rma,
		.rma_iov_count = 1,
		.datatype = datatype,
		.op = op,
		.context = context,
	};

	return kfi_compare_atomicmsg(ep, &msg, &cmp, compare_desc ? &compare_desc : NULL, 1,
				     &res, result_desc ? &result_desc : NULL, 1,
				     KFI_OPFLAGS_DEFAULT);
}

#endif /* KFI_ATOMIC_H */
