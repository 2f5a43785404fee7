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
 * element by itself is changed atomically towards all other atomic operations
 * on that machine, through whatever endpoint or software provider they come;
 * not towards RMA writes, and not towards instructions of the region's owner,
 * who sees whole elements of up to 64 bits but can't lock them.
 *
 * Types and operations are in kfi_types.h: every integer, no floating point.
 * kfi_query_atomic() tells which of them a domain has, and what it has not is
 * refused with -EOPNOTSUPP. KFI_MIN to KFI_BXOR, KFI_DIFF and
 * KFI_ATOMIC_WRITE go with kfi_atomic() and kfi_fetch_atomic(),
 * KFI_ATOMIC_READ with the latter, KFI_CSWAP to KFI_MSWAP with
 * kfi_compare_atomic(). All kernel memory: operands are in struct kfi_ioc
 * vectors. See fi_atomic(3).
 *
 * Both endpoints need KFI_ATOMIC. The region needs KFI_REMOTE_WRITE for what
 * changes it, KFI_REMOTE_READ for what returns old values.
 *
 * Besides what "Posting" says, a post answers -EMSGSIZE for more elements than
 * the query allows, -EINVAL for vectors of different lengths, for no element
 * at all, and for a remote address that is not a multiple of the element's
 * size. A completion's error is EACCES as in RMA, or EINVAL if an element is not
 * naturally aligned in the peer's memory: then nothing has changed. EREMOTEIO
 * says that a region was closed meanwhile: elements of earlier segments have
 * been changed, others not. Completions have KFI_ATOMIC with KFI_WRITE, or with
 * KFI_READ if old values are returned, and count as such.
 */

/* kfi_query_atomic(): ask about fetching or comparing operations */
#define KFI_FETCH_ATOMIC	(1ULL << 58)
#define KFI_COMPARE_ATOMIC	(1ULL << 59)

/**
 * struct kfi_atomic_attr - what a domain can do with a type and an operation
 * @count: operands of one call
 * @size: bytes of an operand
 */
struct kfi_atomic_attr {
	size_t			count;
	size_t			size;
};

/**
 * struct kfi_msg_atomic - an atomic operation
 * @msg_iov: operands; ignored for KFI_ATOMIC_READ
 * @desc: descriptors of the entries, or NULL
 * @iov_count: entries of @msg_iov
 * @addr: peer; ignored on a connected endpoint
 * @rma_iov: targets; as many as there are operands
 * @rma_iov_count: entries of @rma_iov
 * @datatype: type of operands, targets, results
 * @op: what to do
 * @context: comes back with the completion; a struct kfi_cqe with KFI_CQE
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
 * struct kfi_msg_fetch - where to put results
 * @msg_iov: the memory
 * @desc: descriptors of the entries, or NULL
 * @iov_count: entries of @msg_iov
 */
struct kfi_msg_fetch {
	struct kfi_ioc		*msg_iov;
	void			**desc;
	size_t			iov_count;
};

/**
 * struct kfi_msg_compare - what to compare with
 * @msg_iov: the values
 * @desc: descriptors of the entries, or NULL
 * @iov_count: entries of @msg_iov
 */
struct kfi_msg_compare {
	const struct kfi_ioc	*msg_iov;
	void			**desc;
	size_t			iov_count;
};

/**
 * kfi_query_atomic() - ask a domain for an atomic operation
 * @domain: the domain
 * @datatype: type
 * @op: operation
 * @attr: where to put what it can do
 * @flags: 0, KFI_FETCH_ATOMIC or KFI_COMPARE_ATOMIC
 *
 * Context: Process context or softirq, does not sleep.
 * Return: 0; -EOPNOTSUPP if there is no such operation, -KFI_EBADFLAGS.
 */
int kfi_query_atomic(struct kfid_domain *domain, enum kfi_datatype datatype,
		     enum kfi_op op, struct kfi_atomic_attr *attr,
		     uint64_t flags);

/**
 * kfi_ep_query_atomic() - ask an endpoint for an atomic operation
 * @ep: the endpoint or transmit context
 * @datatype: type
 * @op: operation
 * @attr: where to put what it can do
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
 * Return: see "Posting" in kfi_endpoint.h.
 */
ssize_t kfi_atomicmsg(struct kfid_ep *ep, const struct kfi_msg_atomic *msg,
		      uint64_t flags);

/**
 * kfi_fetch_atomicmsg() - change a peer's memory and get what was there
 * @ep: the endpoint or transmit context
 * @msg: the operation; copied
 * @resultv: where to put what was there before
 * @result_desc: descriptors of the entries, or NULL
 * @result_count: entries of @resultv
 * @flags: as kfi_readmsg(), without KFI_TAGGED
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h.
 */
ssize_t kfi_fetch_atomicmsg(struct kfid_ep *ep,
			    const struct kfi_msg_atomic *msg,
			    struct kfi_ioc *resultv, void **result_desc,
			    size_t result_count, uint64_t flags);

/**
 * kfi_compare_atomicmsg() - change a peer's memory if it compares
 * @ep: the endpoint or transmit context
 * @msg: the operation; copied
 * @comparev: what to compare with
 * @compare_desc: descriptors of the entries, or NULL
 * @compare_count: entries of @comparev
 * @resultv: where to put what was there before
 * @result_desc: descriptors of the entries, or NULL
 * @result_count: entries of @resultv
 * @flags: as kfi_readmsg(), without KFI_TAGGED
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h.
 */
ssize_t kfi_compare_atomicmsg(struct kfid_ep *ep,
			      const struct kfi_msg_atomic *msg,
			      const struct kfi_ioc *comparev,
			      void **compare_desc, size_t compare_count,
			      struct kfi_ioc *resultv, void **result_desc,
			      size_t result_count, uint64_t flags);

/**
 * kfi_ioc_count() - operands of a vector
 * @iov: the vector
 * @count: entries of it
 *
 * Context: Any.
 * Return: the sum of the counts.
 */
static inline size_t kfi_ioc_count(const struct kfi_ioc *iov, size_t count)
{
	size_t sum = 0;

	while (count--)
		sum += iov++->count;
	return sum;
}

/**
 * kfi_atomicv() - change a peer's memory atomically
 * @ep: the endpoint or transmit context
 * @iov: operands
 * @desc: descriptors of the entries, or NULL
 * @count: entries of @iov
 * @dest_addr: peer
 * @addr: first target in the peer's region
 * @key: key of the peer's region
 * @datatype: type
 * @op: operation
 * @context: comes back with the completion
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h.
 */
static inline ssize_t
kfi_atomicv(struct kfid_ep *ep, const struct kfi_ioc *iov, void **desc,
	    size_t count, kfi_addr_t dest_addr, uint64_t addr, uint64_t key,
	    enum kfi_datatype datatype, enum kfi_op op, void *context)
{
	struct kfi_rma_ioc rma = {
		.addr = addr,
		.count = kfi_ioc_count(iov, count),
		.key = key,
	};
	struct kfi_msg_atomic msg = {
		.msg_iov = iov,
		.desc = desc,
		.iov_count = count,
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
 * kfi_atomic() - change an array in a peer's memory atomically
 * @ep: the endpoint or transmit context
 * @buf: operands
 * @count: how many
 * @desc: descriptor of @buf, or NULL
 * @dest_addr: peer
 * @addr: first target in the peer's region
 * @key: key of the peer's region
 * @datatype: type
 * @op: operation
 * @context: comes back with the completion
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

	return kfi_atomicv(ep, &iov, desc ? &desc : NULL, 1, dest_addr, addr,
			   key, datatype, op, context);
}

/**
 * kfi_inject_atomic() - change an array in a peer's memory and forget it
 * @ep: the endpoint or transmit context
 * @buf: operands, free again when the call returns
 * @count: how many
 * @dest_addr: peer
 * @addr: first target in the peer's region
 * @key: key of the peer's region
 * @datatype: type
 * @op: operation
 *
 * No completion reports success; a counter counts it.
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
 * kfi_fetch_atomicv() - change a peer's memory and get what was there
 * @ep: the endpoint or transmit context
 * @iov: operands
 * @desc: descriptors of the entries, or NULL
 * @count: entries of @iov
 * @resultv: where to put what was there before
 * @result_desc: descriptors of the entries, or NULL
 * @result_count: entries of @resultv
 * @dest_addr: peer
 * @addr: first target in the peer's region
 * @key: key of the peer's region
 * @datatype: type
 * @op: operation
 * @context: comes back with the completion
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h.
 */
static inline ssize_t
kfi_fetch_atomicv(struct kfid_ep *ep, const struct kfi_ioc *iov, void **desc,
		  size_t count, struct kfi_ioc *resultv, void **result_desc,
		  size_t result_count, kfi_addr_t dest_addr, uint64_t addr,
		  uint64_t key, enum kfi_datatype datatype, enum kfi_op op,
		  void *context)
{
	struct kfi_rma_ioc rma = {
		.addr = addr,
		.count = kfi_ioc_count(resultv, result_count),
		.key = key,
	};
	struct kfi_msg_atomic msg = {
		.msg_iov = iov,
		.desc = desc,
		.iov_count = count,
		.addr = dest_addr,
		.rma_iov = &rma,
		.rma_iov_count = 1,
		.datatype = datatype,
		.op = op,
		.context = context,
	};

	return kfi_fetch_atomicmsg(ep, &msg, resultv, result_desc,
				   result_count, KFI_OPFLAGS_DEFAULT);
}

/**
 * kfi_fetch_atomic() - change an array in a peer's memory, get the old one
 * @ep: the endpoint or transmit context
 * @buf: operands
 * @count: how many
 * @desc: descriptor of @buf, or NULL
 * @result: where to put what was there before
 * @result_desc: descriptor of @result, or NULL
 * @dest_addr: peer
 * @addr: first target in the peer's region
 * @key: key of the peer's region
 * @datatype: type
 * @op: operation
 * @context: comes back with the completion
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

	return kfi_fetch_atomicv(ep, &iov, desc ? &desc : NULL, 1, &res,
				 result_desc ? &result_desc : NULL, 1,
				 dest_addr, addr, key, datatype, op, context);
}

/**
 * kfi_compare_atomicv() - change a peer's memory if it compares
 * @ep: the endpoint or transmit context
 * @iov: operands
 * @desc: descriptors of the entries, or NULL
 * @count: entries of @iov
 * @comparev: what to compare with
 * @compare_desc: descriptors of the entries, or NULL
 * @compare_count: entries of @comparev
 * @resultv: where to put what was there before
 * @result_desc: descriptors of the entries, or NULL
 * @result_count: entries of @resultv
 * @dest_addr: peer
 * @addr: first target in the peer's region
 * @key: key of the peer's region
 * @datatype: type
 * @op: operation
 * @context: comes back with the completion
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h.
 */
static inline ssize_t
kfi_compare_atomicv(struct kfid_ep *ep, const struct kfi_ioc *iov, void **desc,
		    size_t count, const struct kfi_ioc *comparev,
		    void **compare_desc, size_t compare_count,
		    struct kfi_ioc *resultv, void **result_desc,
		    size_t result_count, kfi_addr_t dest_addr, uint64_t addr,
		    uint64_t key, enum kfi_datatype datatype, enum kfi_op op,
		    void *context)
{
	struct kfi_rma_ioc rma = {
		.addr = addr,
		.count = kfi_ioc_count(iov, count),
		.key = key,
	};
	struct kfi_msg_atomic msg = {
		.msg_iov = iov,
		.desc = desc,
		.iov_count = count,
		.addr = dest_addr,
		.rma_iov = &rma,
		.rma_iov_count = 1,
		.datatype = datatype,
		.op = op,
		.context = context,
	};

	return kfi_compare_atomicmsg(ep, &msg, comparev, compare_desc,
				     compare_count, resultv, result_desc,
				     result_count, KFI_OPFLAGS_DEFAULT);
}

/**
 * kfi_compare_atomic() - change an array in a peer's memory if it compares
 * @ep: the endpoint or transmit context
 * @buf: operands
 * @count: how many
 * @desc: descriptor of @buf, or NULL
 * @compare: what to compare with, @count operands
 * @compare_desc: descriptor of @compare, or NULL
 * @result: where to put what was there before
 * @result_desc: descriptor of @result, or NULL
 * @dest_addr: peer
 * @addr: first target in the peer's region
 * @key: key of the peer's region
 * @datatype: type
 * @op: operation
 * @context: comes back with the completion
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

	return kfi_compare_atomicv(ep, &iov, desc ? &desc : NULL, 1, &cmp,
				   compare_desc ? &compare_desc : NULL, 1,
				   &res, result_desc ? &result_desc : NULL, 1,
				   dest_addr, addr, key, datatype, op, context);
}

/**
 * kfi_atomicvalid() - ask whether an endpoint has a kfi_atomic()
 * @ep: the endpoint
 * @datatype: type
 * @op: operation
 * @count: where to put the operands of one call
 *
 * Context: Process context or softirq, does not sleep.
 * Return: 0; -EOPNOTSUPP if it has not.
 */
static inline int
kfi_atomicvalid(struct kfid_ep *ep, enum kfi_datatype datatype, enum kfi_op op,
		size_t *count)
{
	struct kfi_atomic_attr attr;
	int ret;

	ret = kfi_ep_query_atomic(ep, datatype, op, &attr, 0);
	if (!ret)
		*count = attr.count;
	return ret;
}

/**
 * kfi_fetch_atomicvalid() - ask whether an endpoint has a kfi_fetch_atomic()
 * @ep: the endpoint
 * @datatype: type
 * @op: operation
 * @count: where to put the operands of one call
 *
 * Context: Process context or softirq, does not sleep.
 * Return: 0; -EOPNOTSUPP if it has not.
 */
static inline int
kfi_fetch_atomicvalid(struct kfid_ep *ep, enum kfi_datatype datatype,
		      enum kfi_op op, size_t *count)
{
	struct kfi_atomic_attr attr;
	int ret;

	ret = kfi_ep_query_atomic(ep, datatype, op, &attr, KFI_FETCH_ATOMIC);
	if (!ret)
		*count = attr.count;
	return ret;
}

/**
 * kfi_compare_atomicvalid() - ask whether an endpoint has a kfi_compare_atomic()
 * @ep: the endpoint
 * @datatype: type
 * @op: operation
 * @count: where to put the operands of one call
 *
 * Context: Process context or softirq, does not sleep.
 * Return: 0; -EOPNOTSUPP if it has not.
 */
static inline int
kfi_compare_atomicvalid(struct kfid_ep *ep, enum kfi_datatype datatype,
			enum kfi_op op, size_t *count)
{
	struct kfi_atomic_attr attr;
	int ret;

	ret = kfi_ep_query_atomic(ep, datatype, op, &attr, KFI_COMPARE_ATOMIC);
	if (!ret)
		*count = attr.count;
	return ret;
}

#endif /* KFI_ATOMIC_H */
