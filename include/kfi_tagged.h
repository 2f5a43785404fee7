/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfabric: tagged messages
 */
#ifndef KFI_TAGGED_H
#define KFI_TAGGED_H

#include <kfi_endpoint.h>

#define KFI_MPI_IGNORE_TAG	((uint64_t)U32_MAX)
#define KFI_MPI_IGNORE_PAYLOAD	((uint64_t)U8_MAX << 32)

/**
 * kfi_tag_mpi() - tag in the layout KFI_TAG_MPI
 * @tag: the tag proper
 * @payload_id: kind of message
 *
 * Context: Any.
 * Return: the tag for the calls below.
 */
static inline uint64_t kfi_tag_mpi(int tag, uint8_t payload_id)
{
	return ((uint64_t)payload_id << 32) | (uint32_t)tag;
}

/**
 * struct kfi_msg_tagged - a tagged message, fi_tagged(3)
 * @type: what the vector consists of
 * @msg_iov: KFI_KVEC
 * @msg_biov: KFI_BVEC
 * @msg_sgl: KFI_SGL
 * @msg_iter: KFI_ITER
 * @desc: descriptors of the entries (kfi_mr_desc()), or NULL
 * @iov_count: entries of the vector, mapped entries of KFI_SGL. With 0, @type
 *	and the vector are ignored.
 * @addr: peer, as in struct kfi_msg
 * @tag: tag that is sent, or that is wanted
 * @ignore: bits of the tag that do not matter to a receive
 * @context: comes back with the completion; a struct kfi_cqe with KFI_CQE
 * @data: remote CQ data, with KFI_REMOTE_CQ_DATA
 * @inv_key: key of the peer's region, with KFI_INVALIDATE
 */
struct kfi_msg_tagged {
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
	uint64_t		tag;
	uint64_t		ignore;
	void			*context;
	uint64_t		data;
	uint64_t		inv_key;
};

/**
 * kfi_trecvmsg() - post a tagged receive
 * @ep: the endpoint or receive context
 * @msg: the message; copied
 * @flags: as kfi_recvmsg(), without KFI_MULTI_RECV unless the endpoint has
 *	KFI_TAGGED_MULTI_RECV; and one of
 *	KFI_PEEK: only see if such a message has arrived; with KFI_CLAIM keep it
 *	for a later receive, with KFI_DISCARD drop it.
 *	KFI_CLAIM: receive the message kept for @msg->context.
 *	KFI_CLAIM | KFI_DISCARD: drop the message kept.
 *
 * Receives match in the order of posting, messages of one peer in the order
 * of sending. A receive that names a peer in addr, with KFI_DIRECTED_RECV,
 * ignores the receive context bits. A KFI_PEEK that finds nothing completes
 * with ENOMSG.
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h.
 */
ssize_t kfi_trecvmsg(struct kfid_ep *ep, const struct kfi_msg_tagged *msg,
		     uint64_t flags);

/**
 * kfi_tsendmsg() - send a tagged message
 * @ep: the endpoint or transmit context
 * @msg: the message; copied, but the data only with KFI_INJECT
 * @flags: as kfi_sendmsg()
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h.
 */
ssize_t kfi_tsendmsg(struct kfid_ep *ep, const struct kfi_msg_tagged *msg,
		     uint64_t flags);

/**
 * kfi_trecvv() - receive a tagged message into a vector of kernel memory
 * @ep: the endpoint or receive context
 * @iov: the vector; copied
 * @desc: descriptors of the entries, or NULL
 * @count: entries of the vector
 * @src_addr: whom to receive from, or KFI_ADDR_UNSPEC
 * @tag: tag that is wanted
 * @ignore: bits of the tag that do not matter
 * @context: comes back with the completion
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h.
 */
static inline ssize_t
kfi_trecvv(struct kfid_ep *ep, const struct kvec *iov, void **desc,
	   size_t count, kfi_addr_t src_addr, uint64_t tag, uint64_t ignore,
	   void *context)
{
	struct kfi_msg_tagged msg = {
		.type = KFI_KVEC,
		.msg_iov = iov,
		.desc = desc,
		.iov_count = count,
		.addr = src_addr,
		.tag = tag,
		.ignore = ignore,
		.context = context,
	};

	return kfi_trecvmsg(ep, &msg, KFI_OPFLAGS_DEFAULT);
}

/**
 * kfi_trecv() - receive a tagged message into a buffer
 * @ep: the endpoint or receive context
 * @buf: the buffer
 * @len: bytes of it
 * @desc: its descriptor, or NULL
 * @src_addr: whom to receive from, or KFI_ADDR_UNSPEC
 * @tag: tag that is wanted
 * @ignore: bits of the tag that do not matter
 * @context: comes back with the completion
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h.
 */
static inline ssize_t
kfi_trecv(struct kfid_ep *ep, void *buf, size_t len, void *desc,
	  kfi_addr_t src_addr, uint64_t tag, uint64_t ignore, void *context)
{
	struct kvec iov = { .iov_base = buf, .iov_len = len };

	return kfi_trecvv(ep, &iov, desc ? &desc : NULL, 1, src_addr, tag, ignore,
			  context);
}

/**
 * kfi_trecvbv() - receive a tagged message into a vector of pages
 * @ep: the endpoint or receive context
 * @biov: the vector; copied
 * @desc: descriptors of the entries, or NULL
 * @count: entries of the vector
 * @src_addr: whom to receive from, or KFI_ADDR_UNSPEC
 * @tag: tag that is wanted
 * @ignore: bits of the tag that do not matter
 * @context: comes back with the completion
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h.
 */
static inline ssize_t
kfi_trecvbv(struct kfid_ep *ep, const struct bio_vec *biov, void **desc,
	    size_t count, kfi_addr_t src_addr, uint64_t tag, uint64_t ignore,
	    void *context)
{
	struct kfi_msg_tagged msg = {
		.type = KFI_BVEC,
		.msg_biov = biov,
		.desc = desc,
		.iov_count = count,
		.addr = src_addr,
		.tag = tag,
		.ignore = ignore,
		.context = context,
	};

	return kfi_trecvmsg(ep, &msg, KFI_OPFLAGS_DEFAULT);
}

/**
 * kfi_trecvsgl() - receive a tagged message into a mapped scatterlist
 * @ep: the endpoint or receive context
 * @sgl: the list. It and its mapping have to exist until the completion.
 * @desc: descriptors of the entries, or NULL
 * @count: mapped entries of the list
 * @src_addr: whom to receive from, or KFI_ADDR_UNSPEC
 * @tag: tag that is wanted
 * @ignore: bits of the tag that do not matter
 * @context: comes back with the completion
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h.
 */
static inline ssize_t
kfi_trecvsgl(struct kfid_ep *ep, const struct scatterlist *sgl, void **desc,
	     size_t count, kfi_addr_t src_addr, uint64_t tag, uint64_t ignore,
	     void *context)
{
	struct kfi_msg_tagged msg = {
		.type = KFI_SGL,
		.msg_sgl = sgl,
		.desc = desc,
		.iov_count = count,
		.addr = src_addr,
		.tag = tag,
		.ignore = ignore,
		.context = context,
	};

	return kfi_trecvmsg(ep, &msg, KFI_OPFLAGS_DEFAULT);
}

/**
 * kfi_tsendv() - send a tagged message from a vector of kernel memory
 * @ep: the endpoint or transmit context
 * @iov: the vector; copied
 * @desc: descriptors of the entries, or NULL
 * @count: entries of the vector
 * @dest_addr: whom to send to
 * @tag: tag of the message
 * @context: comes back with the completion
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h.
 */
static inline ssize_t
kfi_tsendv(struct kfid_ep *ep, const struct kvec *iov, void **desc,
	   size_t count, kfi_addr_t dest_addr, uint64_t tag, void *context)
{
	struct kfi_msg_tagged msg = {
		.type = KFI_KVEC,
		.msg_iov = iov,
		.desc = desc,
		.iov_count = count,
		.addr = dest_addr,
		.tag = tag,
		.context = context,
	};

	return kfi_tsendmsg(ep, &msg, KFI_OPFLAGS_DEFAULT);
}

/**
 * kfi_tsend() - send a tagged message from a buffer
 * @ep: the endpoint or transmit context
 * @buf: the buffer
 * @len: bytes of it
 * @desc: its descriptor, or NULL
 * @dest_addr: whom to send to
 * @tag: tag of the message
 * @context: comes back with the completion
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h.
 */
static inline ssize_t
kfi_tsend(struct kfid_ep *ep, const void *buf, size_t len, void *desc,
	  kfi_addr_t dest_addr, uint64_t tag, void *context)
{
	struct kvec iov = { .iov_base = (void *)buf, .iov_len = len };

	return kfi_tsendv(ep, &iov, desc ? &desc : NULL, 1, dest_addr, tag,
			  context);
}

/**
 * kfi_tsendbv() - send a tagged message from a vector of pages
 * @ep: the endpoint or transmit context
 * @biov: the vector; copied
 * @desc: descriptors of the entries, or NULL
 * @count: entries of the vector
 * @dest_addr: whom to send to
 * @tag: tag of the message
 * @context: comes back with the completion
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h.
 */
static inline ssize_t
kfi_tsendbv(struct kfid_ep *ep, const struct bio_vec *biov, void **desc,
	    size_t count, kfi_addr_t dest_addr, uint64_t tag, void *context)
{
	struct kfi_msg_tagged msg = {
		.type = KFI_BVEC,
		.msg_biov = biov,
		.desc = desc,
		.iov_count = count,
		.addr = dest_addr,
		.tag = tag,
		.context = context,
	};

	return kfi_tsendmsg(ep, &msg, KFI_OPFLAGS_DEFAULT);
}

/**
 * kfi_tsendsgl() - send a tagged message from a mapped scatterlist
 * @ep: the endpoint or transmit context
 * @sgl: the list. It and its mapping have to exist until the completion.
 * @desc: descriptors of the entries, or NULL
 * @count: mapped entries of the list
 * @dest_addr: whom to send to
 * @tag: tag of the message
 * @context: comes back with the completion
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h.
 */
static inline ssize_t
kfi_tsendsgl(struct kfid_ep *ep, const struct scatterlist *sgl, void **desc,
	     size_t count, kfi_addr_t dest_addr, uint64_t tag, void *context)
{
	struct kfi_msg_tagged msg = {
		.type = KFI_SGL,
		.msg_sgl = sgl,
		.desc = desc,
		.iov_count = count,
		.addr = dest_addr,
		.tag = tag,
		.context = context,
	};

	return kfi_tsendmsg(ep, &msg, KFI_OPFLAGS_DEFAULT);
}

/**
 * kfi_tsenddata() - send a tagged buffer with remote CQ data
 * @ep: the endpoint or transmit context
 * @buf: the buffer
 * @len: bytes of it
 * @desc: its descriptor, or NULL
 * @data: comes with the peer's completion
 * @dest_addr: whom to send to
 * @tag: tag of the message
 * @context: comes back with the completion
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h.
 */
static inline ssize_t
kfi_tsenddata(struct kfid_ep *ep, const void *buf, size_t len, void *desc,
	      uint64_t data, kfi_addr_t dest_addr, uint64_t tag, void *context)
{
	struct kvec iov = { .iov_base = (void *)buf, .iov_len = len };
	struct kfi_msg_tagged msg = {
		.type = KFI_KVEC,
		.msg_iov = &iov,
		.desc = desc ? &desc : NULL,
		.iov_count = 1,
		.addr = dest_addr,
		.tag = tag,
		.context = context,
		.data = data,
	};

	return kfi_tsendmsg(ep, &msg, KFI_OPFLAGS_DEFAULT | KFI_REMOTE_CQ_DATA);
}

/**
 * kfi_tinject() - send a small tagged buffer and forget it
 * @ep: the endpoint or transmit context
 * @buf: the buffer, free again when the call returns
 * @len: bytes of it, at most inject_size
 * @dest_addr: whom to send to
 * @tag: tag of the message
 *
 * No completion reports success; a counter counts it.
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h.
 */
static inline ssize_t
kfi_tinject(struct kfid_ep *ep, const void *buf, size_t len,
	    kfi_addr_t dest_addr, uint64_t tag)
{
	struct kvec iov = { .iov_base = (void *)buf, .iov_len = len };
	struct kfi_msg_tagged msg = {
		.type = KFI_KVEC,
		.msg_iov = &iov,
		.iov_count = 1,
		.addr = dest_addr,
		.tag = tag,
	};

	return kfi_tsendmsg(ep, &msg, KFI_INJECT | KFI_NO_COMPLETION);
}

/**
 * kfi_tinjectdata() - kfi_tinject() with remote CQ data
 * @ep: the endpoint or transmit context
 * @buf: the buffer, free again when the call returns
 * @len: bytes of it, at most inject_size
 * @data: comes with the peer's completion
 * @dest_addr: whom to send to
 * @tag: tag of the message
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h.
 */
static inline ssize_t
kfi_tinjectdata(struct kfid_ep *ep, const void *buf, size_t len, uint64_t data,
		kfi_addr_t dest_addr, uint64_t tag)
{
	struct kvec iov = { .iov_base = (void *)buf, .iov_len = len };
	struct kfi_msg_tagged msg = {
		.type = KFI_KVEC,
		.msg_iov = &iov,
		.iov_count = 1,
		.addr = dest_addr,
		.tag = tag,
		.data = data,
	};

	return kfi_tsendmsg(ep, &msg, KFI_INJECT | KFI_NO_COMPLETION |
			    KFI_REMOTE_CQ_DATA);
}

#endif /* KFI_TAGGED_H */
