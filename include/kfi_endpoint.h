/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfabric: endpoints and messages
 */
#ifndef KFI_ENDPOINT_H
#define KFI_ENDPOINT_H

#include <kfabric.h>
#include <kfi_domain.h>

/**
 * DOC: Posting
 *
 * One function a direction does the work (kfi_sendmsg(), kfi_recvmsg() and
 * their like in the other headers). The other calls are inlines that fill in
 * the message structure. They use the default flags of the endpoint
 * (op_flags of its attributes), the msg calls use exactly the flags given.
 *
 * A message may be empty: no vector, or entries of length 0.
 *
 * All of them answer 0, or a negative error in which case nothing was posted
 * and no completion will come:
 *
 * - -EAGAIN: a queue is full. kfi_ep_tx_space() tells when there is room.
 * - -KFI_EOPBADSTATE: the endpoint is not enabled; -ENOTCONN: not connected.
 * - -EINVAL: a vector or address is malformed, or an injected message longer
 *   than inject_size.
 * - -EMSGSIZE: the message is longer than max_msg_size.
 * - -KFI_EBADFLAGS: an unknown flag, or one that does not belong here.
 * - -EOPNOTSUPP: the endpoint was not opened with the capability.
 * - -ESHUTDOWN, -ENODEV: the connection or device has gone.
 *
 * What can only be found out later, such as an unreachable peer, comes as
 * the completion's error. Every operation that was posted ends once.
 */

/**
 * DOC: Fences
 *
 * An operation posted with KFI_FENCE, and everything that is posted on the same
 * endpoint or transmit context after it, starts when all that was posted there
 * before has ended, well or not. That is more than libfabric asks for, which
 * speaks of operations to one peer. All providers have it, on endpoints with the
 * capability KFI_FENCE (others answer -EOPNOTSUPP); who names capabilities and
 * not this one does not get it, and pays nothing.
 *
 * So when a fenced operation reaches the peer
 *
 * - what was read before, and old values of atomic operations, lie in local
 *   memory;
 * - what was written before, and atomic operations, have been done there: their
 *   completion is the target's word on reliable endpoints;
 * - messages sent before have ended as their level says, and reliable endpoints
 *   let nothing overtake them.
 *
 * Operations in flight are all that is waited for: a message that is not
 * received holds a fence up if the provider keeps it at the sender until then
 * (with KFI_DELIVERY_COMPLETE all do), a peer that is lost as long as it takes
 * to find that out. Triggered posts and deferred work count from their start,
 * and are fences then. An operation that waits has its place and its slot,
 * and its data copied with KFI_INJECT. What a provider tells of it later than
 * its post, a removed address for example, is its completion's error.
 * KFI_MORE means nothing to it.
 *
 * kfi_cancel() ends one that waits with -ECANCELED. What was or will be posted
 * behind a cancelled fence waits for what was before it all the same. The end
 * of the endpoint or connection ends all that wait; kfi_shutdown() does not
 * wait for them.
 */

/**
 * struct kfi_msg - a message, fi_msg(3)
 * @type: what the vector consists of
 * @msg_iov: KFI_KVEC
 * @msg_biov: KFI_BVEC
 * @msg_sgl: KFI_SGL
 * @msg_iter: KFI_ITER
 * @desc: descriptors of the entries (kfi_mr_desc()), or NULL
 * @iov_count: entries of the vector, mapped entries of KFI_SGL. With 0, @type
 *	and the vector are ignored.
 * @addr: peer: where to send to, or whom to receive from with
 *	KFI_DIRECTED_RECV (KFI_ADDR_UNSPEC: from anyone). Ignored on a connected
 *	endpoint.
 * @context: comes back with the completion; a struct kfi_cqe with KFI_CQE
 * @data: remote CQ data, with KFI_REMOTE_CQ_DATA
 * @inv_key: key of the peer's region, with KFI_INVALIDATE
 */
struct kfi_msg {
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
	void			*context;
	uint64_t		data;
	uint64_t		inv_key;
};

/* Levels of endpoint options */
enum {
	KFI_OPT_ENDPOINT,
};

/* Options of level KFI_OPT_ENDPOINT, with the type of the value */
enum {
	KFI_OPT_MIN_MULTI_RECV,		/* size_t, bytes */
	KFI_OPT_CM_DATA_SIZE,		/* size_t, bytes, read only */
	KFI_OPT_BUFFERED_MIN,		/* refused */
	KFI_OPT_BUFFERED_LIMIT,		/* refused */
	KFI_OPT_SEND_BUF_SIZE,		/* size_t, bytes */
	KFI_OPT_RECV_BUF_SIZE,		/* size_t, bytes */
	KFI_OPT_TX_SIZE,		/* size_t, operations */
	KFI_OPT_RX_SIZE,		/* size_t, operations */
	KFI_OPT_FI_HMEM_P2P,		/* refused */
	KFI_OPT_XPU_TRIGGER,		/* refused */
	KFI_OPT_CUDA_API_PERMITTED,	/* refused */
	KFI_OPT_SHARED_MEMORY_PERMITTED, /* bool */
	KFI_OPT_MAX_MSG_SIZE,		/* size_t, bytes */
	KFI_OPT_MAX_TAGGED_SIZE,	/* size_t, bytes */
	KFI_OPT_MAX_RMA_SIZE,		/* size_t, bytes */
	KFI_OPT_MAX_ATOMIC_SIZE,	/* size_t, bytes */
	KFI_OPT_INJECT_MSG_SIZE,	/* size_t, bytes */
	KFI_OPT_INJECT_TAGGED_SIZE,	/* size_t, bytes */
	KFI_OPT_INJECT_RMA_SIZE,	/* size_t, bytes */
	KFI_OPT_INJECT_ATOMIC_SIZE,	/* size_t, bytes */
	KFI_OPT_RECLAIM = 0x1000,	/* size_t, not 0: what goes over it frees memory; before it is enabled */
	KFI_OPT_AV_ONLY,		/* size_t, not 0: an RDM endpoint admits members of its address vector alone; before it is enabled */
	KFI_OPT_OP_TIMEOUT_MS,		/* size_t, 0: no limit; before it is enabled */
	KFI_OPT_UNPRIVILEGED,		/* size_t, not 0: no reserved ports, neither its own nor demanded of peers; before it is enabled */
};

/** KFI_OP_TIMEOUT_MAX_MS - largest value of KFI_OPT_OP_TIMEOUT_MS: a day */
#define KFI_OP_TIMEOUT_MAX_MS	86400000UL

/**
 * kfi_endpoint() - open an endpoint
 * @domain: the domain
 * @info: an answer of kfi_getinfo(), or the info of a KFI_CONNREQ event
 * @ep: where to put the endpoint; close it with kfi_close()
 * @context: consumer's pointer, kept in the object
 *
 * See fi_endpoint(3).
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL, -EOPNOTSUPP, -EADDRINUSE, -ENODEV, -ENOMEM.
 */
int kfi_endpoint(struct kfid_domain *domain, struct kfi_info *info,
		 struct kfid_ep **ep, void *context);

/**
 * kfi_passive_ep() - open an endpoint that listens
 * @fabric: the fabric
 * @info: an answer of kfi_getinfo() with type KFI_EP_MSG
 * @pep: where to put it; close it with kfi_close()
 * @context: consumer's pointer, kept in the object
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL, -EOPNOTSUPP, -ENODEV, -ENOMEM.
 */
int kfi_passive_ep(struct kfid_fabric *fabric, struct kfi_info *info,
		   struct kfid_pep **pep, void *context);

/**
 * kfi_scalable_ep() - open an endpoint that has several contexts
 * @domain: the domain
 * @info: an answer of kfi_getinfo()
 * @sep: where to put it; close it with kfi_close(), after its contexts
 * @context: consumer's pointer, kept in the object
 *
 * The contexts are opened by kfi_tx_context() and kfi_rx_context(), before or
 * after the scalable endpoint is enabled.
 *
 * Context: Process context, may sleep.
 * Return: as kfi_endpoint().
 */
int kfi_scalable_ep(struct kfid_domain *domain, struct kfi_info *info,
		    struct kfid_ep **sep, void *context);

/**
 * kfi_ep_bind() - bind a queue, counter, vector or context to an endpoint
 * @ep: an endpoint or a context of one, not enabled yet
 * @bfid: head of a completion queue, event queue, counter, address vector,
 *	shared transmit or receive context
 * @flags: for a completion queue KFI_TRANSMIT, KFI_RECV or both, and
 *	KFI_SELECTIVE_COMPLETION. A context has one direction, which need not be
 *	named. For a counter KFI_SEND, KFI_RECV, KFI_READ, KFI_WRITE,
 *	KFI_REMOTE_READ, KFI_REMOTE_WRITE. Else 0.
 *
 * Context: Process context, may sleep.
 * Return: as kfi_bind().
 */
static inline int
kfi_ep_bind(struct kfid_ep *ep, struct kfid *bfid, uint64_t flags)
{
	return kfi_bind(&ep->fid, bfid, flags);
}

/**
 * kfi_pep_bind() - bind an event queue to a passive endpoint
 * @pep: the passive endpoint
 * @bfid: head of the event queue
 * @flags: 0
 *
 * Context: Process context, may sleep.
 * Return: as kfi_bind().
 */
static inline int
kfi_pep_bind(struct kfid_pep *pep, struct kfid *bfid, uint64_t flags)
{
	return kfi_bind(&pep->fid, bfid, flags);
}

/**
 * kfi_scalable_ep_bind() - bind an address vector to a scalable endpoint
 * @sep: the scalable endpoint
 * @bfid: head of the address vector
 * @flags: 0
 *
 * Context: Process context, may sleep.
 * Return: as kfi_bind().
 */
static inline int
kfi_scalable_ep_bind(struct kfid_ep *sep, struct kfid *bfid, uint64_t flags)
{
	return kfi_bind(&sep->fid, bfid, flags);
}

/**
 * kfi_enable() - make an endpoint or context ready for operations
 * @ep: the endpoint or context
 *
 * kfi_connect() and kfi_accept() enable an endpoint that is not.
 *
 * Context: Process context, may sleep.
 * Return: 0; -KFI_ENOCQ if a direction has no completion queue and no counter,
 * -KFI_ENOAV if an unconnected endpoint has no address vector, -KFI_ENOEQ if a
 * connected one has no event queue, -EINVAL if it is enabled already,
 * -EADDRINUSE, -ENODEV, -ENOMEM.
 */
static inline int kfi_enable(struct kfid_ep *ep)
{
	return kfi_control(&ep->fid, KFI_ENABLE, NULL);
}

/**
 * kfi_cancel() - end a posted receive
 * @fid: head of the endpoint or receive context
 * @context: context that the receive was posted with; the first such one ends
 *
 * Context: Process context or softirq, does not sleep.
 * Return: 0 and one completion with ECANCELED follows (a multi-receive buffer
 * takes no more messages; while some are arriving in it, the completion of the
 * last of them, with KFI_MULTI_RECV, is what follows); -ENOENT if there is no
 * such receive (it has been consumed, and its completion is queued or about to
 * be); -EAGAIN if data is arriving for it just now: try again, or wait for its
 * completion.
 */
ssize_t kfi_cancel(struct kfid *fid, void *context);

/**
 * kfi_setopt() - set an option of an endpoint
 * @fid: head of the endpoint or context
 * @level: KFI_OPT_ENDPOINT
 * @optname: KFI_OPT_ value
 * @optval: the value
 * @optlen: bytes of it
 *
 * See fi_endpoint(3).
 *
 * Context: Process context, may sleep.
 * KFI_OPT_OP_TIMEOUT_MS is a time limit for transmit operations of an MSG or RDM
 * endpoint, or of a transmit context. When a connection has had an operation for
 * longer than that, and for no more than a quarter longer, the connection is ended
 * with ETIMEDOUT. The operation completes with ETIMEDOUT when the connection
 * is down: its memory is not used any more, and whether it was performed at the
 * peer is unknown. So do the other operations of that connection. An RDM endpoint
 * connects to the peer anew with the next operation; an MSG endpoint is
 * disconnected. Receives have no time limit. The time that an operation waits for a
 * counter, for a fence or for a connection does not count.
 *
 * Return: 0; -ENOPROTOOPT for an unknown level or option, or one that this kind of endpoint does
 * not have; -EOPNOTSUPP for one of a shared context the endpoint is bound to, or that the provider
 * does not have; -EINVAL for a wrong
 * length or value, -KFI_EOPBADSTATE if it is too late.
 */
int kfi_setopt(struct kfid *fid, int level, int optname, const void *optval,
	       size_t optlen);

/**
 * kfi_getopt() - read an option of an endpoint
 * @fid: head of the endpoint or context; or of a passive endpoint, which has KFI_OPT_CM_DATA_SIZE
 * @level: KFI_OPT_ENDPOINT
 * @optname: KFI_OPT_ value
 * @optval: where to put the value
 * @optlen: in: bytes at @optval; out: bytes of the value
 *
 * Context: Process context, may sleep.
 * Return: 0; -ENOPROTOOPT, -KFI_ETOOSMALL with @optlen set.
 */
int kfi_getopt(struct kfid *fid, int level, int optname, void *optval,
	       size_t *optlen);

/**
 * kfi_ep_alias() - the same endpoint with other default flags
 * @ep: the endpoint or context
 * @alias_ep: where to put the alias; close it before @ep
 * @flags: default operation flags, with KFI_TRANSMIT or KFI_RECV
 *
 * Context: Process context, may sleep.
 * Return: as kfi_alias().
 */
static inline int
kfi_ep_alias(struct kfid_ep *ep, struct kfid_ep **alias_ep, uint64_t flags)
{
	struct kfid *fid;
	int ret;

	ret = kfi_alias(&ep->fid, &fid, flags);
	if (!ret)
		*alias_ep = container_of(fid, struct kfid_ep, fid);
	return ret;
}

/**
 * kfi_tx_context() - open a transmit context of a scalable endpoint
 * @ep: the scalable endpoint
 * @idx: number of the context, from 0
 * @attr: attributes, or NULL for those of the endpoint
 * @tx_ep: where to put it; close it before @ep
 * @context: consumer's pointer, kept in the object
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL, -EBUSY if the number is in use, -ENOMEM.
 */
int kfi_tx_context(struct kfid_ep *ep, int idx, struct kfi_tx_attr *attr,
		   struct kfid_ep **tx_ep, void *context);

/**
 * kfi_rx_context() - open a receive context of a scalable endpoint
 * @ep: the scalable endpoint
 * @idx: number of the context, from 0; peers name it by kfi_rx_addr()
 * @attr: attributes, or NULL for those of the endpoint
 * @rx_ep: where to put it; close it before @ep
 * @context: consumer's pointer, kept in the object
 *
 * Context: Process context, may sleep.
 * Return: as kfi_tx_context().
 */
int kfi_rx_context(struct kfid_ep *ep, int idx, struct kfi_rx_attr *attr,
		   struct kfid_ep **rx_ep, void *context);

/**
 * kfi_stx_context() - open a transmit context that endpoints can share
 * @domain: the domain
 * @attr: attributes, or NULL for those of the domain's info; tx_attr.size is what all endpoints together may have outstanding
 * @stx: where to put it; close it after the endpoints
 * @context: consumer's pointer, kept in the object
 *
 * Endpoints whose info says KFI_SHARED_CONTEXT in ep_attr.tx_ctx_cnt are bound to one with kfi_ep_bind(ep, &stx->fid, 0)
 * before they are enabled. They are posted to as any other and complete in their own queues. An endpoint may not ask for more
 * (inject size, segments, KFI_ATOMIC, KFI_TRIGGER) than the context was opened with.
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL, -ENOMEM, -ENODEV.
 */
int kfi_stx_context(struct kfid_domain *domain, struct kfi_tx_attr *attr,
		    struct kfid_stx **stx, void *context);

/**
 * kfi_srx_context() - open a receive context that endpoints can share
 * @domain: the domain
 * @attr: attributes, or NULL for those of the domain's info
 * @rx_ep: where to put it; close it after the endpoints
 * @context: consumer's pointer, kept in the object
 *
 * Endpoints whose info says KFI_SHARED_CONTEXT in ep_attr.rx_ctx_cnt are bound to one with kfi_ep_bind(ep, &rx_ep->fid, 0)
 * before they are enabled; all of them have its completion queue and, if they are unconnected, its address vector. Those
 * are bound to the context before kfi_enable() of it, or else are those of the first endpoint for which kfi_enable() is called,
 * which enables the context, and they stay in use as long as that is open. Receives are posted to the context, and taken by messages for any of the endpoints in the order of posting; a
 * receive counter is the endpoint's. An endpoint that closes takes along the messages that wait for a receive, and on a
 * connected one the receives that are being written; all others stay. What has no message ends in the queue at the
 * latest when the context is closed.
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL, -EOPNOTSUPP (the provider receives on its own), -ENOMEM, -ENODEV.
 */
int kfi_srx_context(struct kfid_domain *domain, struct kfi_rx_attr *attr,
		    struct kfid_ep **rx_ep, void *context);

/**
 * kfi_ep_tx_space() - be told when posting is worth while again
 * @ep: the endpoint or transmit context that answered -EAGAIN
 * @fn: called once when there is room in its queues, or NULL to disarm.
 *	Several consumers of one endpoint share the one slot.
 * @context: second argument of @fn
 *
 * Room that appeared between the failed post and this call counts: @fn is
 * then called at once. @fn runs in process context or softirq, possibly
 * before this call returns; it may post and arm again, may not sleep. That a
 * post succeeds then is not guaranteed. Closing the endpoint disarms.
 *
 * Context: Process context or softirq, does not sleep. With @fn NULL process
 * context only, may sleep; when it returns the old callback is not running
 * and won't be called.
 * Return: 0; -EALREADY if one is armed, -KFI_EOPBADSTATE if the endpoint is not
 * enabled, -KFI_ENOCQ if it does not transmit, -ENODEV.
 */
int kfi_ep_tx_space(struct kfid_ep *ep,
		    void (*fn)(struct kfid_ep *ep, void *context),
		    void *context);

/**
 * kfi_ep_tx_flush() - nothing follows what was posted with KFI_MORE
 * @ep: endpoint or transmit context
 *
 * A series of posts ends with one without that flag; this is for who has
 * none left. On a connected endpoint the series starts at once, on
 * others a moment later.
 *
 * Context: As kfi_sendmsg().
 */
void kfi_ep_tx_flush(struct kfid_ep *ep);

/**
 * kfi_recvmsg() - post a receive
 * @ep: the endpoint or receive context
 * @msg: the message; copied
 * @flags: KFI_COMPLETION, KFI_MULTI_RECV, KFI_MORE, KFI_CQE,
 *	KFI_OPFLAGS_DEFAULT
 *
 * A message longer than the buffer completes with ETRUNC; len of the error
 * entry is the message's full length, olen what of it did not fit. With
 * KFI_MULTI_RECV the vector has one entry, many messages are put into it one
 * after the other, and the last completion has KFI_MULTI_RECV set. A message
 * that is too long for the rest of a buffer goes to the next one; if no
 * message is on its way into the old buffer then, it comes back with an entry
 * of its own, whose flags are KFI_MULTI_RECV alone and whose len is 0.
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting".
 */
ssize_t kfi_recvmsg(struct kfid_ep *ep, const struct kfi_msg *msg,
		    uint64_t flags);

/**
 * kfi_sendmsg() - send a message
 * @ep: the endpoint or transmit context
 * @msg: the message; copied, but the data only with KFI_INJECT
 * @flags: KFI_COMPLETION, KFI_INJECT, KFI_MORE, KFI_FENCE,
 *	KFI_REMOTE_CQ_DATA, one of KFI_INJECT_COMPLETE, KFI_TRANSMIT_COMPLETE,
 *	KFI_DELIVERY_COMPLETE, KFI_MATCH_COMPLETE; KFI_CQE, KFI_INVALIDATE,
 *	KFI_NO_COMPLETION, KFI_OPFLAGS_DEFAULT
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting".
 */
ssize_t kfi_sendmsg(struct kfid_ep *ep, const struct kfi_msg *msg,
		    uint64_t flags);

/**
 * kfi_recvv() - post a receive into a vector of kernel memory
 * @ep: the endpoint or receive context
 * @iov: the vector; copied
 * @desc: descriptors of the entries, or NULL
 * @count: entries of the vector
 * @src_addr: whom to receive from, or KFI_ADDR_UNSPEC
 * @context: comes back with the completion
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting".
 */
static inline ssize_t
kfi_recvv(struct kfid_ep *ep, const struct kvec *iov, void **desc,
	  size_t count, kfi_addr_t src_addr, void *context)
{
	struct kfi_msg msg = {
		.type = KFI_KVEC,
		.msg_iov = iov,
		.desc = desc,
		.iov_count = count,
		.addr = src_addr,
		.context = context,
	};

	return kfi_recvmsg(ep, &msg, KFI_OPFLAGS_DEFAULT);
}

/**
 * kfi_recv() - post a receive into a buffer
 * @ep: the endpoint or receive context
 * @buf: the buffer
 * @len: bytes of it
 * @desc: its descriptor, or NULL
 * @src_addr: whom to receive from, or KFI_ADDR_UNSPEC
 * @context: comes back with the completion
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting".
 */
static inline ssize_t
kfi_recv(struct kfid_ep *ep, void *buf, size_t len, void *desc,
	 kfi_addr_t src_addr, void *context)
{
	struct kvec iov = { .iov_base = buf, .iov_len = len };

	return kfi_recvv(ep, &iov, desc ? &desc : NULL, 1, src_addr, context);
}

/**
 * kfi_recvbv() - post a receive into a vector of pages
 * @ep: the endpoint or receive context
 * @biov: the vector; copied
 * @desc: descriptors of the entries, or NULL
 * @count: entries of the vector
 * @src_addr: whom to receive from, or KFI_ADDR_UNSPEC
 * @context: comes back with the completion
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting".
 */
static inline ssize_t
kfi_recvbv(struct kfid_ep *ep, const struct bio_vec *biov, void **desc,
	   size_t count, kfi_addr_t src_addr, void *context)
{
	struct kfi_msg msg = {
		.type = KFI_BVEC,
		.msg_biov = biov,
		.desc = desc,
		.iov_count = count,
		.addr = src_addr,
		.context = context,
	};

	return kfi_recvmsg(ep, &msg, KFI_OPFLAGS_DEFAULT);
}

/**
 * kfi_recvsgl() - post a receive into a mapped scatterlist
 * @ep: the endpoint or receive context
 * @sgl: the list. It and its mapping have to exist until the completion.
 * @desc: descriptors of the entries, or NULL
 * @count: mapped entries of the list
 * @src_addr: whom to receive from, or KFI_ADDR_UNSPEC
 * @context: comes back with the completion
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting".
 */
static inline ssize_t
kfi_recvsgl(struct kfid_ep *ep, const struct scatterlist *sgl, void **desc,
	    size_t count, kfi_addr_t src_addr, void *context)
{
	struct kfi_msg msg = {
		.type = KFI_SGL,
		.msg_sgl = sgl,
		.desc = desc,
		.iov_count = count,
		.addr = src_addr,
		.context = context,
	};

	return kfi_recvmsg(ep, &msg, KFI_OPFLAGS_DEFAULT);
}

/**
 * kfi_sendv() - send a vector of kernel memory
 * @ep: the endpoint or transmit context
 * @iov: the vector; copied
 * @desc: descriptors of the entries, or NULL
 * @count: entries of the vector
 * @dest_addr: whom to send to
 * @context: comes back with the completion
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting".
 */
static inline ssize_t
kfi_sendv(struct kfid_ep *ep, const struct kvec *iov, void **desc,
	  size_t count, kfi_addr_t dest_addr, void *context)
{
	struct kfi_msg msg = {
		.type = KFI_KVEC,
		.msg_iov = iov,
		.desc = desc,
		.iov_count = count,
		.addr = dest_addr,
		.context = context,
	};

	return kfi_sendmsg(ep, &msg, KFI_OPFLAGS_DEFAULT);
}

/**
 * kfi_send() - send a buffer
 * @ep: the endpoint or transmit context
 * @buf: the buffer
 * @len: bytes of it
 * @desc: its descriptor, or NULL
 * @dest_addr: whom to send to
 * @context: comes back with the completion
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting".
 */
static inline ssize_t
kfi_send(struct kfid_ep *ep, const void *buf, size_t len, void *desc,
	 kfi_addr_t dest_addr, void *context)
{
	struct kvec iov = { .iov_base = (void *)buf, .iov_len = len };
	struct kfi_msg msg = {
		.type = KFI_KVEC,
		.msg_iov = &iov,
		.desc = desc ? &desc : NULL,
		.iov_count = 1,
		.addr = dest_addr,
		.context = context,
	};

	return kfi_sendmsg(ep, &msg, KFI_OPFLAGS_DEFAULT);
}

/**
 * kfi_sendbv() - send a vector of pages
 * @ep: the endpoint or transmit context
 * @biov: the vector; copied
 * @desc: descriptors of the entries, or NULL
 * @count: entries of the vector
 * @dest_addr: whom to send to
 * @context: comes back with the completion
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting".
 */
static inline ssize_t
kfi_sendbv(struct kfid_ep *ep, const struct bio_vec *biov, void **desc,
	   size_t count, kfi_addr_t dest_addr, void *context)
{
	struct kfi_msg msg = {
		.type = KFI_BVEC,
		.msg_biov = biov,
		.desc = desc,
		.iov_count = count,
		.addr = dest_addr,
		.context = context,
	};

	return kfi_sendmsg(ep, &msg, KFI_OPFLAGS_DEFAULT);
}

/**
 * kfi_sendsgl() - send a mapped scatterlist
 * @ep: the endpoint or transmit context
 * @sgl: the list. It and its mapping have to exist until the completion.
 * @desc: descriptors of the entries, or NULL
 * @count: mapped entries of the list
 * @dest_addr: whom to send to
 * @context: comes back with the completion
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting".
 */
static inline ssize_t
kfi_sendsgl(struct kfid_ep *ep, const struct scatterlist *sgl, void **desc,
	    size_t count, kfi_addr_t dest_addr, void *context)
{
	struct kfi_msg msg = {
		.type = KFI_SGL,
		.msg_sgl = sgl,
		.desc = desc,
		.iov_count = count,
		.addr = dest_addr,
		.context = context,
	};

	return kfi_sendmsg(ep, &msg, KFI_OPFLAGS_DEFAULT);
}

/**
 * kfi_senddata() - send a buffer with remote CQ data
 * @ep: the endpoint or transmit context
 * @buf: the buffer
 * @len: bytes of it
 * @desc: its descriptor, or NULL
 * @data: comes with the peer's completion
 * @dest_addr: whom to send to
 * @context: comes back with the completion
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting".
 */
static inline ssize_t
kfi_senddata(struct kfid_ep *ep, const void *buf, size_t len, void *desc,
	     uint64_t data, kfi_addr_t dest_addr, void *context)
{
	struct kvec iov = { .iov_base = (void *)buf, .iov_len = len };
	struct kfi_msg msg = {
		.type = KFI_KVEC,
		.msg_iov = &iov,
		.desc = desc ? &desc : NULL,
		.iov_count = 1,
		.addr = dest_addr,
		.context = context,
		.data = data,
	};

	return kfi_sendmsg(ep, &msg, KFI_OPFLAGS_DEFAULT | KFI_REMOTE_CQ_DATA);
}

/**
 * kfi_inject() - send a small buffer and forget it
 * @ep: the endpoint or transmit context
 * @buf: the buffer, free again when the call returns
 * @len: bytes of it, at most inject_size
 * @dest_addr: whom to send to
 *
 * No completion reports success; a counter counts it.
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting".
 */
static inline ssize_t
kfi_inject(struct kfid_ep *ep, const void *buf, size_t len,
	   kfi_addr_t dest_addr)
{
	struct kvec iov = { .iov_base = (void *)buf, .iov_len = len };
	struct kfi_msg msg = {
		.type = KFI_KVEC,
		.msg_iov = &iov,
		.iov_count = 1,
		.addr = dest_addr,
	};

	return kfi_sendmsg(ep, &msg, KFI_INJECT | KFI_NO_COMPLETION);
}

/**
 * kfi_injectdata() - kfi_inject() with remote CQ data
 * @ep: the endpoint or transmit context
 * @buf: the buffer, free again when the call returns
 * @len: bytes of it, at most inject_size
 * @data: comes with the peer's completion
 * @dest_addr: whom to send to
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting".
 */
static inline ssize_t
kfi_injectdata(struct kfid_ep *ep, const void *buf, size_t len, uint64_t data,
	       kfi_addr_t dest_addr)
{
	struct kvec iov = { .iov_base = (void *)buf, .iov_len = len };
	struct kfi_msg msg = {
		.type = KFI_KVEC,
		.msg_iov = &iov,
		.iov_count = 1,
		.addr = dest_addr,
		.data = data,
	};

	return kfi_sendmsg(ep, &msg, KFI_INJECT | KFI_NO_COMPLETION |
			   KFI_REMOTE_CQ_DATA);
}

#endif /* KFI_ENDPOINT_H */
