/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfabric: tagged messages
 */
#ifndef KFI_TAGGED_H
#define KFI_TAGGED_H

#include <kfi_endpoint.h>

/**
 * DOC: Tagged messages
 *
 * A message with a tag is placed in the first receive of the peer that matches:
 * the tags are equal in all bits that are clear in the receive's ignore, and the
 * sender is the one that the receive names, if it names one (KFI_DIRECTED_RECV).
 * Tagged and untagged messages never match one another. A message that comes
 * before its receive waits at one of the sides, in memory that is bounded. Buffers,
 * flags, errors and completions are those of kfi_endpoint.h; mem_tag_format of
 * struct kfi_ep_attr says which bits of a tag can be used.
 */

/**
 * struct kfi_msg_tagged - a tagged message, fi_tagged(3)
 * @type: which member of the union is valid
 * @msg_iov: KFI_KVEC
 * @msg_biov: KFI_BVEC
 * @msg_sgl: KFI_SGL
 * @msg_iter: KFI_ITER
 * @desc: descriptors of the entries (kfi_mr_desc()), or NULL
 * @iov_count: number of entries, of KFI_SGL mapped entries. If it is 0, @type
 *	and the vector are ignored.
 * @addr: peer, as in struct kfi_msg
 * @tag: tag of the message, or tag that a receive matches
 * @ignore: bits of the tag that a receive ignores
 * @context: returned in the completion; a struct kfi_cqe with KFI_CQE
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
 * @msg: buffer, tag, and the peer to receive from; copied
 * @flags: as kfi_recvmsg(), without KFI_MULTI_RECV; KFI_REMOTE_READ, KFI_REMOTE_WRITE: see below;
 *	and one of
 *	KFI_PEEK: report whether an unexpected message matches, and leave it;
 *	KFI_PEEK | KFI_CLAIM: reserve it for a later KFI_CLAIM with this context;
 *	KFI_PEEK | KFI_DISCARD: drop it;
 *	KFI_CLAIM: receive the message that is reserved for this context;
 *	KFI_CLAIM | KFI_DISCARD: drop the message that is reserved.
 *	None of these waits for a message, and only KFI_CLAIM alone needs a buffer.
 *
 * Receives match in the order of posting, and messages of one peer in the order
 * of sending. A receive that names a peer (KFI_DIRECTED_RECV) ignores the bits of
 * the receive context in addr. If no message matches, an operation with KFI_PEEK
 * or KFI_CLAIM completes with ENOMSG. See fi_tagged(3).
 *
 * On an endpoint with KFI_TAGGED_RMA a peer may also read or write the buffer. With KFI_REMOTE_READ
 * or KFI_REMOTE_WRITE it may only do that, and other accesses do not match the receive; messages
 * do. Without both it may read and write: a receive that is meant for one direction, or for
 * messages, should say so, because a read returns what the buffer contains. libfabric has no tagged
 * RMA; these are its names for access to a region.
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h. -EINVAL for another combination of
 * these flags; -EOPNOTSUPP for any of them if the hardware holds the receives.
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
 * kfi_trecv() - receive a tagged message into a buffer
 * @ep: the endpoint or receive context
 * @buf: the buffer
 * @len: length in bytes
 * @desc: descriptor of the buffer, or NULL
 * @src_addr: peer to receive from, or KFI_ADDR_UNSPEC
 * @tag: tag to match
 * @ignore: bits of the tag to ignore
 * @context: returned in the completion
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h.
 */
static inline ssize_t
kfi_trecv(struct kfid_ep *ep, void *buf, size_t len, void *desc,
	  kfi_addr_t src_addr, uint64_t tag, uint64_t ignore, void *context)
{
	struct kvec iov = { .iov_base = buf, .iov_len = len };
	struct kfi_msg_tagged msg = {
		.type = KFI_KVEC,
		.msg_iov = &iov,
		.desc = desc ? &desc : NULL,
		.iov_count = 1,
		.addr = src_addr,
		.tag = tag,
		.ignore = ignore,
		.context = context,
	};

	return kfi_trecvmsg(ep, &msg, KFI_OPFLAGS_DEFAULT);
}

/**
 * kfi_tsend() - send a tagged message from a buffer
 * @ep: the endpoint or transmit context
 * @buf: the buffer
 * @len: length in bytes
 * @desc: descriptor of the buffer, or NULL
 * @dest_addr: peer to send to
 * @tag: tag of the message
 * @context: returned in the completion
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h.
 */
static inline ssize_t
kfi_tsend(struct kfid_ep *ep, const void *buf, size_t len, void *desc,
	  kfi_addr_t dest_addr, uint64_t tag, void *context)
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
	};

	return kfi_tsendmsg(ep, &msg, KFI_OPFLAGS_DEFAULT);
}

/**
 * kfi_tsenddata() - send a tagged buffer with remote CQ data
 * @ep: the endpoint or transmit context
 * @buf: the buffer
 * @len: length in bytes
 * @desc: descriptor of the buffer, or NULL
 * @data: remote CQ data, in the peer's completion
 * @dest_addr: peer to send to
 * @tag: tag of the message
 * @context: returned in the completion
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
 * kfi_tinject() - send a small tagged buffer without a completion
 * @ep: the endpoint or transmit context
 * @buf: the buffer, may be reused when the call returns
 * @len: length in bytes, at most inject_size
 * @dest_addr: peer to send to
 * @tag: tag of the message
 *
 * Success writes no completion; a bound counter counts it.
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
 * @buf: the buffer, may be reused when the call returns
 * @len: length in bytes, at most inject_size
 * @data: remote CQ data, in the peer's completion
 * @dest_addr: peer to send to
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
