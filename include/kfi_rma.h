/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfabric: remote memory access
 */
#ifndef KFI_RMA_H
#define KFI_RMA_H

#include <kfi_endpoint.h>

/**
 * struct kfi_rma_iov - a piece of a peer's region
 * @addr: first byte: counted from the region's offset, or with
 *	KFI_MR_VIRT_ADDR the peer's virtual address
 * @len: bytes
 * @key: key of the region; with KFI_TAGGED the tag of the peer's receive
 */
struct kfi_rma_iov {
	uint64_t		addr;
	size_t			len;
	uint64_t		key;
};

/**
 * struct kfi_rma_ioc - atomic operands in a peer's region
 * @addr: first operand; as in struct kfi_rma_iov, aligned to the type
 * @count: number of operands
 * @key: key of the region
 */
struct kfi_rma_ioc {
	uint64_t		addr;
	size_t			count;
	uint64_t		key;
};

/**
 * struct kfi_msg_rma - a remote memory access, fi_rma(3)
 * @type: what the local vector consists of
 * @msg_iov: KFI_KVEC
 * @msg_biov: KFI_BVEC
 * @msg_sgl: KFI_SGL
 * @msg_iter: KFI_ITER
 * @desc: descriptors of the entries (kfi_mr_desc()), or NULL
 * @iov_count: entries of the local vector, mapped entries of KFI_SGL. With 0,
 *	@type and the vector are ignored.
 * @addr: peer; ignored on a connected endpoint
 * @rma_iov: remote vector. Its length has to be that of the local one.
 * @rma_iov_count: entries of the remote vector
 * @context: comes back with the completion; a struct kfi_cqe with KFI_CQE
 * @data: remote CQ data, with KFI_REMOTE_CQ_DATA
 */
struct kfi_msg_rma {
	enum kfi_iov_type	type;
	union {
		const struct kvec		*msg_iov;
		const struct bio_vec		*msg_biov;
		const struct scatterlist	*msg_sgl;
		const struct iov_iter		*msg_iter;
	};
	void			**desc;
	size_t			iov_count;
	kfi_addr_t		addr;
	const struct kfi_rma_iov *rma_iov;
	size_t			rma_iov_count;
	void			*context;
	uint64_t		data;
};

/**
 * kfi_readmsg() - read a peer's memory
 * @ep: the endpoint or transmit context
 * @msg: local and remote vector; copied
 * @flags: KFI_COMPLETION, KFI_MORE, KFI_FENCE, KFI_CQE, KFI_NO_COMPLETION,
 *	KFI_OPFLAGS_DEFAULT; KFI_TAGGED with the capability KFI_TAGGED_RMA
 *
 * The peer takes no part. An access outside a region, against its rights or
 * with a wrong or closed key completes with EACCES; no byte has moved, and the
 * endpoint stays usable where the transport allows it. A region that is closed
 * or invalidated while it is read or written gives EREMOTEIO.
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h.
 */
ssize_t kfi_readmsg(struct kfid_ep *ep, const struct kfi_msg_rma *msg,
		    uint64_t flags);

/**
 * kfi_writemsg() - write to a peer's memory
 * @ep: the endpoint or transmit context
 * @msg: local and remote vector; copied, but the data only with KFI_INJECT
 * @flags: as kfi_readmsg(), and KFI_INJECT, KFI_REMOTE_CQ_DATA, one of
 *	KFI_INJECT_COMPLETE, KFI_TRANSMIT_COMPLETE, KFI_DELIVERY_COMPLETE,
 *	KFI_COMMIT_COMPLETE
 *
 * As kfi_readmsg(). Delivery means that a reader at the peer sees the data,
 * commit that it survives a loss of power there, with errors as kfi_flush();
 * where it can't, EOPNOTSUPP, nothing is written. After an error it is unknown
 * how much of the data has arrived, unless the error is EACCES.
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h.
 */
ssize_t kfi_writemsg(struct kfid_ep *ep, const struct kfi_msg_rma *msg,
		     uint64_t flags);

/**
 * kfi_flush() - make earlier writes visible or durable
 * @ep: the endpoint or transmit context
 * @addr: peer; ignored on a connected endpoint
 * @ranges: pieces of the peer's regions; copied
 * @count: how many
 * @scope: KFI_DELIVERY_COMPLETE for visible to every reader at the peer, or
 *	KFI_COMMIT_COMPLETE for durable; and KFI_CQE
 * @context: comes back with the completion; a struct kfi_cqe with KFI_CQE
 *
 * Covers all writes of this endpoint to @ranges that were posted before,
 * whether they have completed or not. Always completes, with the flags
 * KFI_RMA | KFI_WRITE. An error means that it is unknown what is durable:
 *
 * - EACCES: as kfi_writemsg(); no owner was asked.
 * - EOPNOTSUPP: durable needs regions with a persist() of their owner; or the
 *   peer is too old to know of it.
 * - EREMOTEIO: a region was closed or invalidated before its owner was asked.
 * - what persist() said;
 * - that of a connection or peer that is lost.
 *
 * It takes as long as the owners do. Other operations do not wait for it.
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h.
 */
ssize_t kfi_flush(struct kfid_ep *ep, kfi_addr_t addr,
		  const struct kfi_rma_iov *ranges, size_t count,
		  uint64_t scope, void *context);

/**
 * kfi_kvec_len() - bytes of a vector of kernel memory
 * @iov: the vector
 * @count: entries of it
 *
 * Context: Any.
 * Return: the sum of the lengths.
 */
static inline size_t kfi_kvec_len(const struct kvec *iov, size_t count)
{
	size_t len = 0;

	while (count--)
		len += iov++->iov_len;
	return len;
}

/**
 * kfi_bvec_len() - bytes of a vector of pages
 * @biov: the vector
 * @count: entries of it
 *
 * Context: Any.
 * Return: the sum of the lengths.
 */
static inline size_t kfi_bvec_len(const struct bio_vec *biov, size_t count)
{
	size_t len = 0;

	while (count--)
		len += biov++->bv_len;
	return len;
}

/**
 * kfi_sgl_len() - bytes of a mapped scatterlist
 * @sgl: the list
 * @count: mapped entries of it
 *
 * Context: Any.
 * Return: the sum of the mapped lengths.
 */
static inline size_t kfi_sgl_len(const struct scatterlist *sgl, size_t count)
{
	struct scatterlist *sg = (struct scatterlist *)sgl;
	size_t len = 0;

	for (; count && sg; count--, sg = sg_next(sg))
		len += sg_dma_len(sg);
	return len;
}

/**
 * kfi_readv() - read a peer's memory into a vector of kernel memory
 * @ep: the endpoint or transmit context
 * @iov: the vector; copied
 * @desc: descriptors of the entries, or NULL
 * @count: entries of the vector
 * @src_addr: peer to read from
 * @addr: first byte in the peer's region
 * @key: key of the peer's region
 * @context: comes back with the completion
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h.
 */
static inline ssize_t
kfi_readv(struct kfid_ep *ep, const struct kvec *iov, void **desc, size_t count,
	  kfi_addr_t src_addr, uint64_t addr, uint64_t key, void *context)
{
	struct kfi_rma_iov rma = {
		.addr = addr,
		.len = kfi_kvec_len(iov, count),
		.key = key,
	};
	struct kfi_msg_rma msg = {
		.type = KFI_KVEC,
		.msg_iov = iov,
		.desc = desc,
		.iov_count = count,
		.addr = src_addr,
		.rma_iov = &rma,
		.rma_iov_count = 1,
		.context = context,
	};

	return kfi_readmsg(ep, &msg, KFI_OPFLAGS_DEFAULT);
}

/**
 * kfi_read() - read a peer's memory into a buffer
 * @ep: the endpoint or transmit context
 * @buf: the buffer
 * @len: bytes of it
 * @desc: its descriptor, or NULL
 * @src_addr: peer to read from
 * @addr: first byte in the peer's region
 * @key: key of the peer's region
 * @context: comes back with the completion
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h.
 */
static inline ssize_t
kfi_read(struct kfid_ep *ep, void *buf, size_t len, void *desc,
	 kfi_addr_t src_addr, uint64_t addr, uint64_t key, void *context)
{
	struct kvec iov = { .iov_base = buf, .iov_len = len };

	return kfi_readv(ep, &iov, desc ? &desc : NULL, 1, src_addr, addr, key,
			context);
}

/**
 * kfi_readbv() - read a peer's memory into a vector of pages
 * @ep: the endpoint or transmit context
 * @biov: the vector; copied
 * @desc: descriptors of the entries, or NULL
 * @count: entries of the vector
 * @src_addr: peer to read from
 * @addr: first byte in the peer's region
 * @key: key of the peer's region
 * @context: comes back with the completion
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h.
 */
static inline ssize_t
kfi_readbv(struct kfid_ep *ep, const struct bio_vec *biov, void **desc,
	   size_t count, kfi_addr_t src_addr, uint64_t addr, uint64_t key,
	   void *context)
{
	struct kfi_rma_iov rma = {
		.addr = addr,
		.len = kfi_bvec_len(biov, count),
		.key = key,
	};
	struct kfi_msg_rma msg = {
		.type = KFI_BVEC,
		.msg_biov = biov,
		.desc = desc,
		.iov_count = count,
		.addr = src_addr,
		.rma_iov = &rma,
		.rma_iov_count = 1,
		.context = context,
	};

	return kfi_readmsg(ep, &msg, KFI_OPFLAGS_DEFAULT);
}

/**
 * kfi_readsgl() - read a peer's memory into a mapped scatterlist
 * @ep: the endpoint or transmit context
 * @sgl: the list. It and its mapping have to exist until the completion.
 * @desc: descriptors of the entries, or NULL
 * @count: mapped entries of the list
 * @src_addr: peer to read from
 * @addr: first byte in the peer's region
 * @key: key of the peer's region
 * @context: comes back with the completion
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h.
 */
static inline ssize_t
kfi_readsgl(struct kfid_ep *ep, const struct scatterlist *sgl, void **desc,
	    size_t count, kfi_addr_t src_addr, uint64_t addr, uint64_t key,
	    void *context)
{
	struct kfi_rma_iov rma = {
		.addr = addr,
		.len = kfi_sgl_len(sgl, count),
		.key = key,
	};
	struct kfi_msg_rma msg = {
		.type = KFI_SGL,
		.msg_sgl = sgl,
		.desc = desc,
		.iov_count = count,
		.addr = src_addr,
		.rma_iov = &rma,
		.rma_iov_count = 1,
		.context = context,
	};

	return kfi_readmsg(ep, &msg, KFI_OPFLAGS_DEFAULT);
}

/**
 * kfi_writev() - write to a peer's memory from a vector of kernel memory
 * @ep: the endpoint or transmit context
 * @iov: the vector; copied
 * @desc: descriptors of the entries, or NULL
 * @count: entries of the vector
 * @dest_addr: peer to write to
 * @addr: first byte in the peer's region
 * @key: key of the peer's region
 * @context: comes back with the completion
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h.
 */
static inline ssize_t
kfi_writev(struct kfid_ep *ep, const struct kvec *iov, void **desc,
	   size_t count, kfi_addr_t dest_addr, uint64_t addr, uint64_t key,
	   void *context)
{
	struct kfi_rma_iov rma = {
		.addr = addr,
		.len = kfi_kvec_len(iov, count),
		.key = key,
	};
	struct kfi_msg_rma msg = {
		.type = KFI_KVEC,
		.msg_iov = iov,
		.desc = desc,
		.iov_count = count,
		.addr = dest_addr,
		.rma_iov = &rma,
		.rma_iov_count = 1,
		.context = context,
	};

	return kfi_writemsg(ep, &msg, KFI_OPFLAGS_DEFAULT);
}

/**
 * kfi_write() - write to a peer's memory from a buffer
 * @ep: the endpoint or transmit context
 * @buf: the buffer
 * @len: bytes of it
 * @desc: its descriptor, or NULL
 * @dest_addr: peer to write to
 * @addr: first byte in the peer's region
 * @key: key of the peer's region
 * @context: comes back with the completion
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h.
 */
static inline ssize_t
kfi_write(struct kfid_ep *ep, const void *buf, size_t len, void *desc,
	  kfi_addr_t dest_addr, uint64_t addr, uint64_t key, void *context)
{
	struct kvec iov = { .iov_base = (void *)buf, .iov_len = len };

	return kfi_writev(ep, &iov, desc ? &desc : NULL, 1, dest_addr, addr, key,
			 context);
}

/**
 * kfi_writebv() - write to a peer's memory from a vector of pages
 * @ep: the endpoint or transmit context
 * @biov: the vector; copied
 * @desc: descriptors of the entries, or NULL
 * @count: entries of the vector
 * @dest_addr: peer to write to
 * @addr: first byte in the peer's region
 * @key: key of the peer's region
 * @context: comes back with the completion
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h.
 */
static inline ssize_t
kfi_writebv(struct kfid_ep *ep, const struct bio_vec *biov, void **desc,
	    size_t count, kfi_addr_t dest_addr, uint64_t addr, uint64_t key,
	    void *context)
{
	struct kfi_rma_iov rma = {
		.addr = addr,
		.len = kfi_bvec_len(biov, count),
		.key = key,
	};
	struct kfi_msg_rma msg = {
		.type = KFI_BVEC,
		.msg_biov = biov,
		.desc = desc,
		.iov_count = count,
		.addr = dest_addr,
		.rma_iov = &rma,
		.rma_iov_count = 1,
		.context = context,
	};

	return kfi_writemsg(ep, &msg, KFI_OPFLAGS_DEFAULT);
}

/**
 * kfi_writesgl() - write to a peer's memory from a mapped scatterlist
 * @ep: the endpoint or transmit context
 * @sgl: the list. It and its mapping have to exist until the completion.
 * @desc: descriptors of the entries, or NULL
 * @count: mapped entries of the list
 * @dest_addr: peer to write to
 * @addr: first byte in the peer's region
 * @key: key of the peer's region
 * @context: comes back with the completion
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h.
 */
static inline ssize_t
kfi_writesgl(struct kfid_ep *ep, const struct scatterlist *sgl, void **desc,
	     size_t count, kfi_addr_t dest_addr, uint64_t addr, uint64_t key,
	     void *context)
{
	struct kfi_rma_iov rma = {
		.addr = addr,
		.len = kfi_sgl_len(sgl, count),
		.key = key,
	};
	struct kfi_msg_rma msg = {
		.type = KFI_SGL,
		.msg_sgl = sgl,
		.desc = desc,
		.iov_count = count,
		.addr = dest_addr,
		.rma_iov = &rma,
		.rma_iov_count = 1,
		.context = context,
	};

	return kfi_writemsg(ep, &msg, KFI_OPFLAGS_DEFAULT);
}

/**
 * kfi_writedata() - write a buffer with remote CQ data
 * @ep: the endpoint or transmit context
 * @buf: the buffer
 * @len: bytes of it
 * @desc: its descriptor, or NULL
 * @data: comes as a completion to the peer
 * @dest_addr: peer to write to
 * @addr: first byte in the peer's region
 * @key: key of the peer's region
 * @context: comes back with the completion
 *
 * The peer sees a completion with KFI_RMA | KFI_REMOTE_WRITE |
 * KFI_REMOTE_CQ_DATA after the data is in place.
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h.
 */
static inline ssize_t
kfi_writedata(struct kfid_ep *ep, const void *buf, size_t len, void *desc,
	      uint64_t data, kfi_addr_t dest_addr, uint64_t addr, uint64_t key,
	      void *context)
{
	struct kvec iov = { .iov_base = (void *)buf, .iov_len = len };
	struct kfi_rma_iov rma = { .addr = addr, .len = len, .key = key };
	struct kfi_msg_rma msg = {
		.type = KFI_KVEC,
		.msg_iov = &iov,
		.desc = desc ? &desc : NULL,
		.iov_count = 1,
		.addr = dest_addr,
		.rma_iov = &rma,
		.rma_iov_count = 1,
		.context = context,
		.data = data,
	};

	return kfi_writemsg(ep, &msg, KFI_OPFLAGS_DEFAULT | KFI_REMOTE_CQ_DATA);
}

/**
 * kfi_inject_write() - write a small buffer and forget it
 * @ep: the endpoint or transmit context
 * @buf: the buffer, free again when the call returns
 * @len: bytes of it, at most inject_size
 * @dest_addr: peer to write to
 * @addr: first byte in the peer's region
 * @key: key of the peer's region
 *
 * No completion reports success; a counter counts it.
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h.
 */
static inline ssize_t
kfi_inject_write(struct kfid_ep *ep, const void *buf, size_t len,
		 kfi_addr_t dest_addr, uint64_t addr, uint64_t key)
{
	struct kvec iov = { .iov_base = (void *)buf, .iov_len = len };
	struct kfi_rma_iov rma = { .addr = addr, .len = len, .key = key };
	struct kfi_msg_rma msg = {
		.type = KFI_KVEC,
		.msg_iov = &iov,
		.iov_count = 1,
		.addr = dest_addr,
		.rma_iov = &rma,
		.rma_iov_count = 1,
	};

	return kfi_writemsg(ep, &msg, KFI_INJECT | KFI_NO_COMPLETION);
}

/**
 * kfi_inject_writedata() - kfi_inject_write() with remote CQ data
 * @ep: the endpoint or transmit context
 * @buf: the buffer, free again when the call returns
 * @len: bytes of it, at most inject_size
 * @data: comes as a completion to the peer
 * @dest_addr: peer to write to
 * @addr: first byte in the peer's region
 * @key: key of the peer's region
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h.
 */
static inline ssize_t
kfi_inject_writedata(struct kfid_ep *ep, const void *buf, size_t len,
		     uint64_t data, kfi_addr_t dest_addr, uint64_t addr,
		     uint64_t key)
{
	struct kvec iov = { .iov_base = (void *)buf, .iov_len = len };
	struct kfi_rma_iov rma = { .addr = addr, .len = len, .key = key };
	struct kfi_msg_rma msg = {
		.type = KFI_KVEC,
		.msg_iov = &iov,
		.iov_count = 1,
		.addr = dest_addr,
		.rma_iov = &rma,
		.rma_iov_count = 1,
		.data = data,
	};

	return kfi_writemsg(ep, &msg, KFI_INJECT | KFI_NO_COMPLETION |
			    KFI_REMOTE_CQ_DATA);
}

#endif /* KFI_RMA_H */
