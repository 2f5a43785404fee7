/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfabric: remote memory access
 */
#ifndef KFI_RMA_H
#define KFI_RMA_H

#include <kfi_endpoint.h>

/**
 * struct kfi_rma_iov - a segment of a peer's region
 * @addr: address of the first byte: the offset in the region plus kfi_mr_addr()
 *	of the region at the peer
 * @len: length in bytes
 * @key: key of the region; with KFI_TAGGED the tag of the peer's receive
 */
struct kfi_rma_iov {
	uint64_t		addr;
	size_t			len;
	uint64_t		key;
};

/**
 * struct kfi_rma_ioc - atomic operands in a peer's region
 * @addr: address of the first operand, as in struct kfi_rma_iov; aligned to the
 *	type
 * @count: number of operands
 * @key: key of the region
 */
struct kfi_rma_ioc {
	uint64_t		addr;
	size_t			count;
	uint64_t		key;
};

/**
 * struct kfi_msg_rma - an RMA operation, fi_rma(3)
 * @type: which member of the union is valid
 * @msg_iov: KFI_KVEC
 * @msg_biov: KFI_BVEC
 * @msg_sgl: KFI_SGL
 * @msg_iter: KFI_ITER
 * @desc: descriptors of the entries (kfi_mr_desc()), or NULL
 * @iov_count: number of entries of the local vector, of KFI_SGL mapped entries.
 *	If it is 0, @type and the vector are ignored.
 * @addr: peer; ignored on a connected endpoint
 * @rma_iov: remote vector, of the same length in bytes as the local one
 * @rma_iov_count: number of entries of the remote vector
 * @context: returned in the completion; a struct kfi_cqe with KFI_CQE
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
 * __kfi_readmsg() - kfi_readmsg() inside a section of the caller
 * @ep: as there
 * @msg: as there
 * @flags: as there
 *
 * Context: Inside rcu_read_lock_bh(), as between kfi_conn_enter() and
 * kfi_conn_exit().
 * Return: As kfi_readmsg().
 */
ssize_t __kfi_readmsg(struct kfid_ep *ep, const struct kfi_msg_rma *msg,
		    uint64_t flags);

/**
 * kfi_readmsg() - read a peer's memory
 * @ep: the endpoint or transmit context
 * @msg: local and remote vector; copied
 * @flags: KFI_COMPLETION, KFI_MORE, KFI_CQE, KFI_NO_COMPLETION,
 *	KFI_OPFLAGS_DEFAULT; KFI_TAGGED with the capability KFI_TAGGED_RMA
 *
 * The consumer at the peer takes no part. An access that is outside of a region,
 * that the access rights of the region do not allow, or that uses a wrong or
 * invalid key completes with EACCES. Then no byte has moved, and the endpoint can
 * still be used, unless kfi_domain_limits.refusal describes another effect. If a
 * region is closed or invalidated during the operation, the operation completes
 * with EREMOTEIO. See fi_readmsg(3).
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h.
 */
static inline ssize_t
kfi_readmsg(struct kfid_ep *ep, const struct kfi_msg_rma *msg, uint64_t flags)
{
	ssize_t ret;

	rcu_read_lock_bh();
	ret = __kfi_readmsg(ep, msg, flags);
	rcu_read_unlock_bh();
	return ret;
}

/**
 * __kfi_writemsg() - kfi_writemsg() inside a section of the caller
 * @ep: as there
 * @msg: as there
 * @flags: as there
 *
 * Context: Inside rcu_read_lock_bh(), as between kfi_conn_enter() and
 * kfi_conn_exit().
 * Return: As kfi_writemsg().
 */
ssize_t __kfi_writemsg(struct kfid_ep *ep, const struct kfi_msg_rma *msg,
		     uint64_t flags);

/**
 * kfi_writemsg() - write to a peer's memory
 * @ep: the endpoint or transmit context
 * @msg: local and remote vector; copied, but the data only with KFI_INJECT
 * @flags: as kfi_readmsg(), and KFI_INJECT, KFI_REMOTE_CQ_DATA, one of
 *	KFI_INJECT_COMPLETE, KFI_TRANSMIT_COMPLETE, KFI_DELIVERY_COMPLETE,
 *	KFI_COMMIT_COMPLETE
 *
 * Errors are as for kfi_readmsg(). With KFI_DELIVERY_COMPLETE the completion
 * means that readers at the peer see the data. With KFI_COMMIT_COMPLETE it means
 * that the data survives a loss of power at the peer; further errors are then:
 *
 * - EOPNOTSUPP: a region has no persist(); nothing is written.
 * - EREMOTEIO: a region was closed or invalidated before its owner was called.
 * - The error of persist().
 *
 * Such a write takes as long as persist() of the owners. Other operations do not
 * wait for it. After an error other than EACCES and EOPNOTSUPP it is unknown how
 * much of the data has arrived, or is durable. See fi_writemsg(3).
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h.
 */
static inline ssize_t
kfi_writemsg(struct kfid_ep *ep, const struct kfi_msg_rma *msg, uint64_t flags)
{
	ssize_t ret;

	rcu_read_lock_bh();
	ret = __kfi_writemsg(ep, msg, flags);
	rcu_read_unlock_bh();
	return ret;
}

/** KFI_REPLY_LEN - longest message of a reply, in bytes */
#define KFI_REPLY_LEN	64

/**
 * kfi_ep_reply_max() - return how much data a reply may have
 * @ep: the endpoint or transmit context
 *
 * It depends on the provider; 256 KiB over kfi_sockets. With more data, or a
 * message of more than 64 bytes, post kfi_writemsg() and kfi_sendmsg().
 *
 * Context: Any.
 * Return: bytes; 0: there are no replies.
 */
size_t kfi_ep_reply_max(struct kfid_ep *ep);

/**
 * __kfi_replymsg() - write to a peer's memory, and send a message behind the data
 * @ep: the endpoint or transmit context
 * @data: local vector, and remote vector of one segment; copied. @data->data is not used
 * @msg: message; copied
 * @len: bytes of the message
 * @flags: as kfi_readmsg() without KFI_TAGGED, and KFI_INJECT_COMPLETE,
 *	KFI_TRANSMIT_COMPLETE; KFI_INVALIDATE: the message ends the region of @data
 *
 * This is kfi_writemsg() and kfi_sendmsg() as one operation, with one completion,
 * counted as a write.
 * The peer receives the message after its data; without its data it never does:
 * the operation fails as that of kfi_writemsg(). If it has completed, with a
 * level below KFI_TRANSMIT_COMPLETE, the failure ends the connection. The data of
 * later operations may overtake that of a reply, so these should not write to the
 * same bytes. It needs KFI_MSG and KFI_RMA.
 * libfabric has no counterpart.
 *
 * Context: Inside rcu_read_lock_bh(), as between kfi_conn_enter() and
 * kfi_conn_exit().
 * Return: see "Posting" in kfi_endpoint.h. -EMSGSIZE: more data than
 * kfi_ep_reply_max(), none, or too long a message. -EINVAL: @data has not one
 * remote segment. -EOPNOTSUPP: KFI_DELIVERY_COMPLETE.
 */
ssize_t __kfi_replymsg(struct kfid_ep *ep, const struct kfi_msg_rma *data,
		       const void *msg, size_t len, uint64_t flags);

/**
 * kfi_kvec_len() - return the length of a vector of kernel memory
 * @iov: the vector
 * @count: number of entries
 *
 * Context: Any.
 * Return: sum of the lengths in bytes.
 */
static inline size_t kfi_kvec_len(const struct kvec *iov, size_t count)
{
	size_t len = 0;

	while (count--)
		len += iov++->iov_len;
	return len;
}

/**
 * kfi_bvec_len() - return the length of a vector of pages
 * @biov: the vector
 * @count: number of entries
 *
 * Context: Any.
 * Return: sum of the lengths in bytes.
 */
static inline size_t kfi_bvec_len(const struct bio_vec *biov, size_t count)
{
	size_t len = 0;

	while (count--)
		len += biov++->bv_len;
	return len;
}

/**
 * kfi_readv() - read a peer's memory into a vector of kernel memory
 * @ep: the endpoint or transmit context
 * @iov: the vector; copied
 * @desc: descriptors of the entries, or NULL
 * @count: number of entries
 * @src_addr: peer to read from
 * @addr: address in the peer's region, as in struct kfi_rma_iov
 * @key: key of the peer's region
 * @context: returned in the completion
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
 * @len: length in bytes
 * @desc: descriptor of the buffer, or NULL
 * @src_addr: peer to read from
 * @addr: address in the peer's region, as in struct kfi_rma_iov
 * @key: key of the peer's region
 * @context: returned in the completion
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
 * kfi_writev() - write to a peer's memory from a vector of kernel memory
 * @ep: the endpoint or transmit context
 * @iov: the vector; copied
 * @desc: descriptors of the entries, or NULL
 * @count: number of entries
 * @dest_addr: peer to write to
 * @addr: address in the peer's region, as in struct kfi_rma_iov
 * @key: key of the peer's region
 * @context: returned in the completion
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
 * @len: length in bytes
 * @desc: descriptor of the buffer, or NULL
 * @dest_addr: peer to write to
 * @addr: address in the peer's region, as in struct kfi_rma_iov
 * @key: key of the peer's region
 * @context: returned in the completion
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
 * kfi_writedata() - write a buffer with remote CQ data
 * @ep: the endpoint or transmit context
 * @buf: the buffer
 * @len: length in bytes
 * @desc: descriptor of the buffer, or NULL
 * @data: remote CQ data, for a completion at the peer
 * @dest_addr: peer to write to
 * @addr: address in the peer's region, as in struct kfi_rma_iov
 * @key: key of the peer's region
 * @context: returned in the completion
 *
 * The peer gets a completion with KFI_RMA | KFI_REMOTE_WRITE |
 * KFI_REMOTE_CQ_DATA after the data has been written.
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
 * kfi_inject_write() - write a small buffer without a completion
 * @ep: the endpoint or transmit context
 * @buf: the buffer, may be reused when the call returns
 * @len: length in bytes, at most inject_size
 * @dest_addr: peer to write to
 * @addr: address in the peer's region, as in struct kfi_rma_iov
 * @key: key of the peer's region
 *
 * Success writes no completion; a bound counter counts it.
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
 * @buf: the buffer, may be reused when the call returns
 * @len: length in bytes, at most inject_size
 * @data: remote CQ data, for a completion at the peer
 * @dest_addr: peer to write to
 * @addr: address in the peer's region, as in struct kfi_rma_iov
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
