/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfabric: endpoints and messages
 */
#ifndef KFI_ENDPOINT_H
#define KFI_ENDPOINT_H

#include <linux/rcupdate.h>

#include <kfabric.h>
#include <kfi_domain.h>

/**
 * DOC: Posting
 *
 * One function for each direction and kind of operation posts it: kfi_sendmsg(),
 * kfi_recvmsg(), and similar functions in the other headers. The other functions
 * are inlines that fill in the message structure. They use the default operation
 * flags of the endpoint (op_flags of its attributes); the msg functions use
 * exactly the flags of the call.
 *
 * A message may be empty: no vector, or entries of length 0.
 *
 * All of these functions return 0, or a negative error. After an error nothing
 * was posted, and there is no completion:
 *
 * - -EAGAIN: all operations of the endpoint are in use, its completion queue has
 *   no free slot, or the provider has no room. For transmits kfi_ep_tx_space()
 *   reports when there is room.
 * - -KFI_EOPBADSTATE: the endpoint is not enabled.
 * - -ENOTCONN: the endpoint is not connected yet.
 * - -EINVAL: a vector or an address is malformed; a vector is longer than
 *   iov_limit; the payload is longer than inject_size with KFI_INJECT; or the
 *   context is NULL with KFI_CQE.
 * - -EMSGSIZE: the message is longer than max_msg_size.
 * - -KFI_EBADFLAGS: a flag is unknown, or not allowed for this operation.
 * - -EOPNOTSUPP: the endpoint does not have the capability or the completion
 *   level, or uses a shared receive context, to which receives are posted; or a
 *   vector has pages of a PCI device that are not accepted, see p2p_device of
 *   struct kfi_domain_limits.
 * - -KFI_ENOCQ: KFI_CQE is set, and there is no completion queue.
 * - -ESHUTDOWN: the connection has ended. A receive is accepted all the same,
 *   because the consumer may not have read the event yet, and completes with
 *   ESHUTDOWN at once.
 * - -ENODEV: the device or the namespace has gone.
 *
 * Errors that are detected later, such as an unreachable peer, are reported by
 * the completion. Every operation that was posted completes exactly once.
 *
 * Messages between two endpoints match receives, and lie in a multi-receive buffer,
 * in the order of their posts as far as msg_order says. Completions may come in
 * another order, because one CPU may report a message that came before its receive
 * while another reports one that came after it. The completion with KFI_MULTI_RECV is
 * the last one of its buffer in any case.
 */

/**
 * struct kfi_msg - a message, fi_msg(3)
 * @type: which member of the union is valid
 * @msg_iov: KFI_KVEC
 * @msg_biov: KFI_BVEC
 * @msg_sgl: KFI_SGL
 * @msg_iter: KFI_ITER
 * @desc: descriptors of the entries (kfi_mr_desc()), or NULL
 * @iov_count: number of entries, of KFI_SGL mapped entries. If it is 0, @type
 *	and the vector are ignored.
 * @addr: peer to send to; or with KFI_DIRECTED_RECV peer to receive from,
 *	KFI_ADDR_UNSPEC for any. Ignored on a connected endpoint.
 * @context: returned in the completion; a struct kfi_cqe with KFI_CQE
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

/* Levels of kfi_setopt() and kfi_getopt() */
enum {
	KFI_OPT_ENDPOINT,
};

/**
 * DOC: Options of endpoints
 *
 * All values are of type size_t, and those of KFI_OPT_ENDPOINT. KFI_OPT_MIN_MULTI_RECV
 * and KFI_OPT_REMOTE_ACCESS may be set at any time; those marked as read only can't be
 * set. The others exist
 * only in kfabric, and are set before the endpoint is enabled; contexts inherit them
 * from their scalable endpoint. An option that a provider or endpoint does not have
 * is refused (-ENOPROTOOPT, -EOPNOTSUPP).
 *
 * KFI_OPT_RECLAIM: not 0 if memory reclaim may wait for operations of the endpoint,
 * for example because a disk to which pages are written uses it. They may then use
 * memory reserves (vm.min_free_kbytes), and so may packets of its peers, because
 * TCP can't know which packet ends an operation before it has received it. An
 * admitted peer can hold as much of the reserves as the receive buffer of its
 * connection, and no other caller any of it: such an endpoint calls its peers
 * itself, or has KFI_OPT_AV_ONLY or an authorization key. A shared receive context
 * has no connections, and so not this option.
 *
 * KFI_OPT_AV_ONLY: not 0 if an RDM endpoint refuses callers that are not in its
 * address vector.
 *
 * KFI_OPT_UNPRIVILEGED: not 0 if the endpoint or shared receive context belongs to
 * a process. It neither uses reserved ports nor requires them of its peers, which
 * without an authorization key are other such endpoints. Its payload has no pages
 * of PCI devices, for which it is not searched.
 *
 * KFI_OPT_NEED_PRIVILEGE: not 0 if an MSG endpoint without an authorization key
 * uses reserved ports and requires them of its peer, as RDM endpoints do, so that
 * no unprivileged process takes the place of a peer that is known by its address
 * alone. A passive endpoint has it, too, before kfi_listen(): then it refuses
 * callers from other ports, before there is a request. Only kfi_sockets has it.
 *
 * KFI_OPT_EAGER_SIZE: length in bytes of the longest message that peers send without
 * waiting for its receive. Its bytes go through a buffer of the provider, and
 * without a receive they are kept. A longer message is transferred when its receive
 * is found, which takes an additional round trip. SIZE_MAX is the highest value that
 * the provider has, and a higher one fails with -EMSGSIZE. The option is of use to a
 * consumer whose receives are posted before the messages come, in memory to which
 * the provider can't transfer them without a copy. The highest value is half of an
 * allowance (128 KiB unless the provider is configured otherwise). An MSG endpoint
 * that has set the option keeps eight messages of that length, or its allowance if
 * that is more. What an RDM endpoint keeps does not change: one or two messages of that
 * length without a receive take the allowance, and then the peer sends no message of
 * this kind, tagged or untagged, until one of them is received. So a consumer whose
 * receives are not used in the order of the messages should set an eighth of the
 * allowance at most. MSG and RDM endpoints of the message protocol have the option,
 * unless they are transmit contexts or belong to processes.
 *
 * KFI_OPT_ACK_DELIVERED: not 0 if an MSG endpoint acknowledges a message when it is in its
 * receive, and not when it has arrived. So KFI_TRANSMIT_COMPLETE means to its peer what
 * KFI_DELIVERY_COMPLETE means, and costs no request for the receive. A peer that waits for
 * that completion waits until there is a receive. Endpoints of the message protocol have
 * the option.
 *
 * KFI_OPT_REMOTE_ACCESS: what the peers of an endpoint may do to regions, whatever the
 * regions allow: KFI_REMOTE_READ, KFI_REMOTE_WRITE and KFI_ATOMIC, or 0. Anything else
 * completes with EACCES at the peer. An operation that the peer has begun before may
 * still be performed. A peer that writes to memory of a region on its own (lasting grants
 * of the message protocol) is asked to give it back: a write that it begins until then may
 * still land, and completes with EREMOTEIO or EACCES. The connection of a peer that does not
 * give it back in the time limit for peers (peer_timeout_ms) ends. Atomic operations of these
 * peers need a region with KFI_ATOMIC, and then no other right. Without the option peers may
 * do what the regions allow. For endpoints in a domain whose provider leaves keys to its
 * consumers.
 *
 * KFI_OPT_OP_TIMEOUT_MS: time limit in milliseconds of transmit operations of an MSG
 * or RDM endpoint or a transmit context; 0, the default, for none. It is for peers
 * that pass every keep-alive check and do not answer. A connection that does not
 * complete an operation within the limit is ended, at most a quarter of the limit
 * later; with a limit below 200 ms, at most 100 ms later. When the connection is
 * down, this operation and all others of the connection complete with ETIMEDOUT:
 * their memory is not used any more, and whether they were performed at the peer is
 * unknown. An RDM endpoint connects to that peer again with the next operation; an
 * MSG endpoint is disconnected. Receives have no time limit. The time during which an
 * operation waits for a connection does not count, nor does that in which the provider waits
 * for a cable that was pulled (hold_s, kfi_usb4(7)).
 */
enum {
	KFI_OPT_MIN_MULTI_RECV,		/* bytes */
	KFI_OPT_CM_DATA_SIZE,		/* bytes, read only */
	KFI_OPT_BUFFERED_MIN,		/* not supported */
	KFI_OPT_BUFFERED_LIMIT,		/* not supported */
	KFI_OPT_SEND_BUF_SIZE,		/* not supported */
	KFI_OPT_RECV_BUF_SIZE,		/* not supported */
	KFI_OPT_TX_SIZE,		/* operations, read only */
	KFI_OPT_RX_SIZE,		/* operations, read only */
	KFI_OPT_FI_HMEM_P2P,		/* not supported */
	KFI_OPT_XPU_TRIGGER,		/* not supported */
	KFI_OPT_CUDA_API_PERMITTED,	/* not supported */
	KFI_OPT_SHARED_MEMORY_PERMITTED, /* not supported */
	KFI_OPT_MAX_MSG_SIZE,		/* bytes, read only */
	KFI_OPT_MAX_TAGGED_SIZE,	/* bytes, read only */
	KFI_OPT_MAX_RMA_SIZE,		/* bytes, read only */
	KFI_OPT_MAX_ATOMIC_SIZE,	/* bytes, read only, with KFI_ATOMIC */
	KFI_OPT_INJECT_MSG_SIZE,	/* bytes, read only */
	KFI_OPT_INJECT_TAGGED_SIZE,	/* bytes, read only */
	KFI_OPT_INJECT_RMA_SIZE,	/* bytes, read only */
	KFI_OPT_INJECT_ATOMIC_SIZE,	/* bytes, read only, with KFI_ATOMIC */
	KFI_OPT_RECLAIM = 0x1000,
	KFI_OPT_AV_ONLY,
	KFI_OPT_OP_TIMEOUT_MS,
	KFI_OPT_UNPRIVILEGED,
	KFI_OPT_EAGER_SIZE,		/* bytes */
	KFI_OPT_NEED_PRIVILEGE,
	KFI_OPT_REMOTE_ACCESS,		/* rights of peers */
	KFI_OPT_ACK_DELIVERED,
};

/** KFI_OP_TIMEOUT_MAX_MS - highest value of KFI_OPT_OP_TIMEOUT_MS: one day */
#define KFI_OP_TIMEOUT_MAX_MS	86400000UL

/**
 * DOC: Life of an endpoint
 *
 * An endpoint is opened with an info, bound to what it needs, and enabled::
 *
 *	idle ----> enabled ----> connecting ----> connected
 *	                             |                |
 *	                             +----> shut <----+
 *
 * RDM and DGRAM endpoints are ready when they are enabled, an MSG endpoint can
 * connect then. When a connection is refused or ends, the endpoint is shut;
 * kfi_ep_reset() makes it enabled again. When the device or the namespace goes, an
 * endpoint is dead in any state: its operations complete, calls return -ENODEV, and
 * only kfi_close() is of use. All memory that operations need is allocated when the
 * endpoint is opened.
 */

/**
 * kfi_endpoint() - open an endpoint
 * @domain: the domain
 * @info: an info of kfi_getinfo(), or of a KFI_CONNREQ event
 * @ep: where to store the endpoint; close it with kfi_close()
 * @context: pointer of the consumer, stored in kfid.context
 *
 * See fi_endpoint(3). An endpoint that was opened with the info of a
 * KFI_CONNREQ event owns the connection request. If the endpoint is closed before
 * kfi_accept(), the request is rejected. An MSG endpoint over IP may have the
 * other address family than the domain.
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL if @info is incomplete, out of range, or names a request
 * that is not waiting; -EOPNOTSUPP; -EADDRINUSE; -ENODEV if the device or the
 * namespace has gone; -ENOMEM.
 */
int kfi_endpoint(struct kfid_domain *domain, struct kfi_info *info,
		 struct kfid_ep **ep, void *context);

/**
 * kfi_passive_ep() - open a passive endpoint, which listens
 * @fabric: the fabric
 * @info: an info of kfi_getinfo() with type KFI_EP_MSG
 * @pep: where to store the passive endpoint; close it with kfi_close()
 * @context: pointer of the consumer, stored in kfid.context
 *
 * See fi_passive_ep(3). An info of kfi_getinfo() names a domain. Without that
 * name the source address has to say which one is meant.
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL if @info is not of type KFI_EP_MSG or has an invalid key;
 * -EOPNOTSUPP if the provider has no passive endpoints; -ENODEV if the device
 * or the namespace has gone; -ENOTUNIQ if @info names no domain, and its source
 * address is that of several domains with KFI_ONE_PEER; -ENOMEM.
 */
int kfi_passive_ep(struct kfid_fabric *fabric, struct kfi_info *info,
		   struct kfid_pep **pep, void *context);

/**
 * kfi_scalable_ep() - open a scalable endpoint, which has several contexts
 * @domain: the domain
 * @info: an info of kfi_getinfo() with type KFI_EP_RDM
 * @sep: where to store the scalable endpoint; close it with kfi_close(), after
 *	its contexts
 * @context: pointer of the consumer, stored in kfid.context
 *
 * kfi_tx_context() and kfi_rx_context() open the contexts, before or after the
 * scalable endpoint is enabled. See fi_scalable_ep(3).
 *
 * Context: Process context, may sleep.
 * Return: as kfi_endpoint(); -EOPNOTSUPP if the provider has no scalable
 * endpoints; -EINVAL also if @info is not of type KFI_EP_RDM, or has more
 * contexts than the domain.
 */
int kfi_scalable_ep(struct kfid_domain *domain, struct kfi_info *info,
		    struct kfid_ep **sep, void *context);

/**
 * kfi_ep_bind() - bind a queue, counter, vector or context to an endpoint
 * @ep: endpoint or context that is not enabled yet
 * @bfid: head of a completion queue, event queue, counter, address vector,
 *	shared transmit or receive context
 * @flags: for a completion queue KFI_TRANSMIT, KFI_RECV or both, and
 *	KFI_SELECTIVE_COMPLETION; a context has one direction, which may be
 *	omitted. For a counter KFI_SEND, KFI_RECV, KFI_READ, KFI_WRITE,
 *	KFI_REMOTE_READ, KFI_REMOTE_WRITE. Otherwise 0.
 *
 * Context: Process context, may sleep.
 * Return: as kfi_bind(); -ENOSPC if no more endpoints can share the context.
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
 * kfi_connect() and kfi_accept() enable an endpoint that is not enabled.
 *
 * Context: Process context, may sleep.
 * Return: 0; -KFI_ENOCQ if a direction has neither a completion queue nor a
 * counter, or if an endpoint with a shared receive context has no completion
 * queue for receives; -KFI_ENOAV if an unconnected endpoint has no address
 * vector; -KFI_ENOEQ if a connected endpoint has no event queue; -KFI_ENORX if
 * no shared receive context is bound; -KFI_EOPBADSTATE if no shared transmit
 * context is bound, or if the scalable endpoint of a context is not enabled;
 * -EINVAL if the endpoint is enabled already, or does not have the completion
 * queue and address vector of its shared receive context; -EADDRINUSE; -ENODEV if
 * the device or the namespace has gone; -ENOMEM.
 */
static inline int kfi_enable(struct kfid_ep *ep)
{
	return kfi_control(&ep->fid, KFI_ENABLE, NULL);
}

/**
 * kfi_cancel() - cancel a posted receive
 * @fid: head of the endpoint or context
 * @context: context that the receive was posted with. The oldest such receive
 *	is cancelled.
 *
 * A multi-receive buffer that is cancelled takes no more messages. If messages
 * are being placed in it, it completes with the last of them, with
 * KFI_MULTI_RECV.
 *
 * Context: Process context or softirq, does not sleep.
 * Return: 0 if a completion with ECANCELED follows; -ENOENT if there is no such
 * receive, for example because a message has taken it: then its completion is
 * queued already, or follows; -EINVAL if @fid is no endpoint or context.
 */
ssize_t kfi_cancel(struct kfid *fid, void *context);

/**
 * kfi_setopt() - set an option of an endpoint
 * @fid: head of the endpoint or context
 * @level: KFI_OPT_ENDPOINT
 * @optname: KFI_OPT_ value
 * @optval: the value
 * @optlen: length in bytes
 *
 * See fi_setopt(3), and "Options of endpoints".
 *
 * Context: Process context, may sleep.
 * Return: 0; -ENOPROTOOPT if the level or option is unknown, read only, or not
 * available for this kind of endpoint; -EOPNOTSUPP if the option belongs to the
 * shared context that the endpoint is bound to, or if the provider does not
 * support it; -EINVAL if the length or the value is wrong; -EMSGSIZE if the
 * provider does not have so high an eager size; -KFI_EOPBADSTATE if the endpoint is
 * enabled already.
 */
int kfi_setopt(struct kfid *fid, int level, int optname, const void *optval,
	       size_t optlen);

/**
 * kfi_getopt() - read an option of an endpoint
 * @fid: head of an endpoint or context; or of a passive endpoint, which has
 *	only KFI_OPT_CM_DATA_SIZE
 * @level: KFI_OPT_ENDPOINT
 * @optname: KFI_OPT_ value
 * @optval: where to store the value
 * @optlen: in: bytes at @optval; out: length of the value
 *
 * Context: Process context, may sleep.
 * Return: 0; -ENOPROTOOPT if the level or option is unknown or not available for
 * this kind of endpoint; -KFI_ETOOSMALL if @optval is too small, @optlen is set;
 * -EINVAL if @fid is no endpoint or context.
 */
int kfi_getopt(struct kfid *fid, int level, int optname, void *optval,
	       size_t *optlen);

/**
 * kfi_tx_context() - open a transmit context of a scalable endpoint
 * @ep: the scalable endpoint
 * @idx: number of the context, from 0
 * @attr: attributes, or NULL for those of @ep. A limit of 0 means that of @ep
 * @tx_ep: where to store the context; close it before @ep
 * @context: pointer of the consumer, stored in kfid.context
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL if @idx or an attribute is too high for @ep, or @ep is no
 * scalable endpoint; -EBUSY if the number is in use; -EOPNOTSUPP for a completion
 * level that @ep does not have; -ENODEV if the device or the namespace has gone;
 * -ENOMEM.
 */
int kfi_tx_context(struct kfid_ep *ep, int idx, struct kfi_tx_attr *attr,
		   struct kfid_ep **tx_ep, void *context);

/**
 * kfi_rx_context() - open a receive context of a scalable endpoint
 * @ep: the scalable endpoint
 * @idx: number of the context, from 0; peers name it by kfi_rx_addr()
 * @attr: attributes, or NULL for those of @ep. A limit of 0 means that of @ep
 * @rx_ep: where to store the context; close it before @ep
 * @context: pointer of the consumer, stored in kfid.context
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL if @idx or an attribute is too high for @ep, or @ep is no
 * scalable endpoint; -EBUSY if the number is in use; -ENODEV if the device or the
 * namespace has gone; -ENOMEM.
 */
int kfi_rx_context(struct kfid_ep *ep, int idx, struct kfi_rx_attr *attr,
		   struct kfid_ep **rx_ep, void *context);

/**
 * kfi_stx_context() - open a transmit context that endpoints can share
 * @domain: the domain
 * @attr: attributes, or NULL for those of the domain's info. size is the number
 *	of operations that all endpoints together can have outstanding
 * @stx: where to store the context; close it after the endpoints
 * @context: pointer of the consumer, stored in kfid.context
 *
 * An endpoint whose info has KFI_SHARED_CONTEXT in ep_attr.tx_ctx_cnt is bound
 * to the context by kfi_ep_bind(ep, &stx->fid, 0) before it is enabled.
 * Operations are posted to the endpoints, and complete in the queues of the
 * endpoints. An endpoint can't be bound if its inject size or a number of
 * segments is higher than that of the context, or if only the endpoint has
 * KFI_ATOMIC.
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL if @attr has more than the domain; -ENOMEM; -ENODEV if the
 * device or the namespace has gone.
 */
int kfi_stx_context(struct kfid_domain *domain, struct kfi_tx_attr *attr,
		    struct kfid_stx **stx, void *context);

/**
 * kfi_srx_context() - open a receive context that endpoints can share
 * @domain: the domain
 * @attr: attributes, or NULL for those of the domain's info
 * @rx_ep: where to store the context; close it after the endpoints
 * @context: pointer of the consumer, stored in kfid.context
 *
 * An endpoint whose info has KFI_SHARED_CONTEXT in ep_attr.rx_ctx_cnt is bound
 * to the context by kfi_ep_bind(ep, &rx_ep->fid, 0) before it is enabled.
 * Receives are posted to the context. Messages for any of the endpoints take
 * them in the order of posting. A counter of receives is bound to an endpoint.
 *
 * All endpoints have to be bound to the completion queue of the context and, if
 * they are unconnected, to its address vector. The consumer binds both to the
 * context and enables it with kfi_enable(). Otherwise kfi_enable() of the first
 * endpoint enables the context with the queue and vector of that endpoint; the
 * context uses them until it is closed.
 *
 * When an endpoint closes, its unexpected messages are dropped, and receives
 * into which its messages are being placed end; all other receives stay posted. A
 * receive without a message completes at the latest when the context is closed.
 *
 * A long message may complete after a later one of the same endpoint. Members of
 * struct kfi_cqe say which endpoint's message has taken a receive, and in which
 * order.
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL if @attr has more than the domain; -EOPNOTSUPP if the
 * provider posts all receives to its hardware; -ENOMEM; -ENODEV if the device or
 * the namespace has gone.
 */
int kfi_srx_context(struct kfid_domain *domain, struct kfi_rx_attr *attr,
		    struct kfid_ep **rx_ep, void *context);

/**
 * kfi_ep_tx_space() - call a function when there is room for a transmit
 * @ep: endpoint or transmit context whose post has returned -EAGAIN
 * @fn: called once when there is room in the queues, or NULL to cancel. Only one
 *	function can be set for an endpoint.
 * @context: second argument of @fn
 *
 * If there is room already, because operations have completed since the post,
 * the call of @fn is scheduled at once. @fn runs in a work item with bottom
 * halves off, without locks, possibly before this function returns. It may post
 * and call this function again, and must not sleep. It is not guaranteed that a
 * post from @fn succeeds. kfi_close() of the endpoint cancels the call. libfabric
 * has no counterpart.
 *
 * Context: Process context or softirq, does not sleep. With @fn NULL: process
 * context, without locks that the function takes; spins while the function runs.
 * On return the function does not run, and will not be called.
 * Return: 0; -EALREADY if a function is set; -KFI_EOPBADSTATE if the endpoint is
 * not enabled; -KFI_ENOCQ if it has no completion queue for transmits; -ENODEV if
 * the device or the namespace has gone.
 */
int kfi_ep_tx_space(struct kfid_ep *ep,
		    void (*fn)(struct kfid_ep *ep, void *context),
		    void *context);

/**
 * kfi_ep_tx_flush() - start operations that were posted with KFI_MORE
 * @ep: endpoint or transmit context
 *
 * A series of posts with KFI_MORE usually ends with a post without it. This
 * function ends the series if the consumer has nothing more to post. The
 * operations of a connected endpoint start at once, those of other endpoints a
 * little later.
 *
 * Context: As kfi_sendmsg().
 */
void kfi_ep_tx_flush(struct kfid_ep *ep);

/**
 * __kfi_recvmsg() - kfi_recvmsg() inside a section of the caller
 * @ep: as there
 * @msg: as there
 * @flags: as there
 *
 * Context: Inside rcu_read_lock_bh(), as between kfi_conn_enter() and
 * kfi_conn_exit().
 * Return: As kfi_recvmsg().
 */
ssize_t __kfi_recvmsg(struct kfid_ep *ep, const struct kfi_msg *msg,
		      uint64_t flags);

/**
 * kfi_recvmsg() - post a receive
 * @ep: the endpoint or receive context
 * @msg: buffer, and the peer to receive from; copied
 * @flags: KFI_COMPLETION, KFI_MULTI_RECV, KFI_MORE, KFI_CQE,
 *	KFI_NO_COMPLETION, KFI_OPFLAGS_DEFAULT
 *
 * A message that is longer than the buffer completes with ETRUNC; len of the
 * error entry is the length of the whole message, olen the bytes that did not
 * fit.
 *
 * With KFI_MULTI_RECV the vector has one entry, and KFI_CQE is not allowed.
 * Messages are placed in the buffer one after the other, and the last completion
 * has KFI_MULTI_RECV. A message that is too long for the rest of the buffer is
 * placed in the next receive. If no other message is being placed in the old
 * buffer at that time, a separate entry ends it, whose flags are KFI_MULTI_RECV
 * alone and whose len is 0. See fi_msg(3).
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting".
 */
static inline ssize_t
kfi_recvmsg(struct kfid_ep *ep, const struct kfi_msg *msg, uint64_t flags)
{
	ssize_t ret;

	rcu_read_lock_bh();
	ret = __kfi_recvmsg(ep, msg, flags);
	rcu_read_unlock_bh();
	return ret;
}

/**
 * __kfi_sendmsg() - kfi_sendmsg() inside a section of the caller
 * @ep: as there
 * @msg: as there
 * @flags: as there
 *
 * Context: Inside rcu_read_lock_bh(), as between kfi_conn_enter() and
 * kfi_conn_exit().
 * Return: As kfi_sendmsg().
 */
ssize_t __kfi_sendmsg(struct kfid_ep *ep, const struct kfi_msg *msg,
		      uint64_t flags);

/**
 * kfi_sendmsg() - send a message
 * @ep: the endpoint or transmit context
 * @msg: the message; copied, but the data only with KFI_INJECT
 * @flags: KFI_COMPLETION, KFI_INJECT, KFI_MORE, KFI_REMOTE_CQ_DATA,
 *	one of KFI_INJECT_COMPLETE, KFI_TRANSMIT_COMPLETE,
 *	KFI_DELIVERY_COMPLETE, KFI_MATCH_COMPLETE; KFI_CQE, KFI_INVALIDATE,
 *	KFI_NO_COMPLETION, KFI_OPFLAGS_DEFAULT
 *
 * See fi_msg(3).
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting".
 */
static inline ssize_t
kfi_sendmsg(struct kfid_ep *ep, const struct kfi_msg *msg, uint64_t flags)
{
	ssize_t ret;

	rcu_read_lock_bh();
	ret = __kfi_sendmsg(ep, msg, flags);
	rcu_read_unlock_bh();
	return ret;
}

/**
 * kfi_recvv() - post a receive into a vector of kernel memory
 * @ep: the endpoint or receive context
 * @iov: the vector; copied
 * @desc: descriptors of the entries, or NULL
 * @count: number of entries
 * @src_addr: peer to receive from, or KFI_ADDR_UNSPEC
 * @context: returned in the completion
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
 * @len: length in bytes
 * @desc: descriptor of the buffer, or NULL
 * @src_addr: peer to receive from, or KFI_ADDR_UNSPEC
 * @context: returned in the completion
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
 * kfi_sendv() - send a vector of kernel memory
 * @ep: the endpoint or transmit context
 * @iov: the vector; copied
 * @desc: descriptors of the entries, or NULL
 * @count: number of entries
 * @dest_addr: peer to send to
 * @context: returned in the completion
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
 * @len: length in bytes
 * @desc: descriptor of the buffer, or NULL
 * @dest_addr: peer to send to
 * @context: returned in the completion
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
 * @count: number of entries
 * @dest_addr: peer to send to
 * @context: returned in the completion
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
 * @count: number of mapped entries
 * @dest_addr: peer to send to
 * @context: returned in the completion
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
 * @len: length in bytes
 * @desc: descriptor of the buffer, or NULL
 * @data: remote CQ data, in the peer's completion
 * @dest_addr: peer to send to
 * @context: returned in the completion
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
 * kfi_inject() - send a small buffer without a completion
 * @ep: the endpoint or transmit context
 * @buf: the buffer, may be reused when the call returns
 * @len: length in bytes, at most inject_size
 * @dest_addr: peer to send to
 *
 * Success writes no completion; a bound counter counts it.
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
 * @buf: the buffer, may be reused when the call returns
 * @len: length in bytes, at most inject_size
 * @data: remote CQ data, in the peer's completion
 * @dest_addr: peer to send to
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
