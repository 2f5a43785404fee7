/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfi_prov.h - the contract between kfi.ko and a provider.
 *
 * A provider moves bytes. Everything else that all providers need is implemented once, in kfi.ko,
 * and available through the functions declared here: discovery and attribute matching, life times
 * of objects, completion and event queues, counters, address vectors, memory keys, tag matching,
 * and the arithmetic of flow control. docs/provider-guide.md describes how to write a provider.
 * Most providers are links below the message protocol, see kfi_link.h.
 */
#ifndef _KFI_PROV_H
#define _KFI_PROV_H

#include <linux/module.h>

#include <kfi_account.h>
#include <kfi_prov_atomic.h>
#include <kfi_prov_mr.h>
#include <kfi_prov_obj.h>
#include <kfi_prov_ops.h>
#include <kfi_prov_place.h>

/**
 * DOC: Allocation of objects, contexts and locks
 *
 * kfi.ko allocates and frees every object. The provider states the size of its structure, which
 * begins with the common one, as RDMA drivers do for ib_core. The open operation of the provider
 * initialises the provider's part and acquires what it needs; the close operation releases that. An
 * object that is in use can't be closed: kfi.ko returns -EBUSY and does not call the provider, so a
 * close operation need not check for users.
 *
 * The operations to open, close, enable, bind and connect are called in process context and may
 * sleep. &kfi_prov_ops.tx is called in process context or softirq, with bottom halves off and
 * inside rcu_read_lock_bh(). &kfi_prov_ops.rx_matched and &kfi_prov_ops.rx_drop are called with
 * bottom halves on or off. None of these three is called with interrupts off, and none may sleep.
 * The completion functions below may be called in process context or softirq. kfi.ko holds none of
 * its spinlocks while it calls an operation of the provider.
 *
 * No handler of a consumer runs inside a completion function. Handlers run in the context of their
 * completion queue, or in kfi_batch_end(). So a provider may complete operations while it holds
 * locks of its own, provided that its tx operation only tries these locks; see kfi/proto/tx.c.
 */

/** KFI_PROV_CONTRACT - version of this contract. A provider built for another one is refused */
#define KFI_PROV_CONTRACT	15

/* ------------------------------------------------------------------ */
/* Registration							      */
/* ------------------------------------------------------------------ */

/**
 * struct kfi_provider - description that a provider registers
 * @name: unique name, for fabric_attr.prov_name, such as "sockets"
 * @version: version of the provider, KFI_VERSION(major, minor)
 * @ops: operations of the provider
 * @priv: for the provider
 * @entry: in the list of providers. Owned by kfi.ko
 * @owner: module of the provider, of which every open fabric holds a reference. Owned by kfi.ko
 * @id: number of the registration, higher than that of earlier ones. Owned by kfi.ko
 */
struct kfi_provider {
	const char			*name;
	u32				version;
	const struct kfi_prov_ops	*ops;
	void				*priv;
	/* owned by kfi.ko */
	struct list_head		entry;
	struct module			*owner;
	u32				id;
};

int __kfi_provider_register(struct kfi_provider *prov, u32 contract, size_t size,
			    struct module *owner);

/**
 * kfi_provider_register() - make a provider known to kfi_getinfo()
 * @prov: description. It has to exist until kfi_provider_deregister()
 *
 * Context: process, may sleep. Return: 0; -EINVAL if an operation is missing, if the name is
 * invalid, or if the provider was built for another version or size of the contract (the kernel
 * log has the reason); -EEXIST if there is a provider of that name.
 */
#define kfi_provider_register(prov)						\
	__kfi_provider_register(prov, KFI_PROV_CONTRACT, sizeof(struct kfi_prov_ops),	\
				THIS_MODULE)

/**
 * kfi_provider_deregister() - undo kfi_provider_register()
 * @prov: registered provider
 *
 * Called in module exit. Every open fabric holds a reference of the module, so no object of the
 * provider is open. Waits for queries that are in progress. Context: process, may sleep.
 */
void kfi_provider_deregister(struct kfi_provider *prov);

/* ------------------------------------------------------------------ */
/* Discovery							      */
/* ------------------------------------------------------------------ */

/**
 * struct kfi_query - one call of kfi_getinfo(), for one provider
 * @net: network namespace of the query
 * @version: version of the interface that the caller uses
 * @node: node, or NULL
 * @service: service, or NULL
 * @flags: KFI_SOURCE, KFI_NUMERICHOST
 * @hints: hints of the caller, or NULL. A provider needs them only for addresses
 * @prov: the provider that answers
 * @hw_recv: set by the provider before kfi_query_add(): the endpoints of the offer have
 *	&kfi_ep.hw_recv, and can't share receive contexts
 * @head: first info of the answer. Owned by kfi.ko
 * @tail: where the next info is linked. Owned by kfi.ko
 * @err: first error of kfi_query_add(). Owned by kfi.ko
 */
struct kfi_query {
	struct net		*net;
	u32			version;
	const char		*node;
	const char		*service;
	u64			flags;
	const struct kfi_info	*hints;
	const struct kfi_provider *prov;
	bool			hw_recv;
	struct kfi_info		*head;
	struct kfi_info		**tail;
	int			err;
};

/**
 * kfi_query_add() - offer a combination of fabric, domain and endpoint type
 * @q: the query
 * @offer: what the provider supports at most: all capabilities, the highest limits, all order
 *	bits, and the mode bits that it *requires*. tx_attr->op_flags has the supported completion
 *	levels. tx_attr->tclass has the supported kinds of traffic classes (KFI_TC_DSCP,
 *	KFI_TC_LABEL). Addresses are set if they are known. Copied if it matches
 *
 * kfi.ko ignores the members of @offer that are the same for all providers, and sets them itself:
 * name and version of the provider, threading, progress, resource management, type of address
 * vectors, and the number of contexts of an endpoint if the hints have none. Then it compares the
 * offer with the hints, reduces it to what the hints request, and appends it to the answer.
 *
 * Context: process, may sleep.
 * Return: 0, also if the hints do not match; -EINVAL if @offer lacks a name or an attribute
 * structure; -ENOMEM. After an error all later calls return it too.
 */
int kfi_query_add(struct kfi_query *q, const struct kfi_info *offer);

/* ------------------------------------------------------------------ */
/* Operations							      */
/* ------------------------------------------------------------------ */

/**
 * enum kfi_opcode - kind of an operation
 * @KFI_OPC_SEND: send
 * @KFI_OPC_TSEND: tagged send
 * @KFI_OPC_WRITE: RMA write
 * @KFI_OPC_READ: RMA read
 * @KFI_OPC_REPLY: __kfi_replymsg(): an RMA write, and a message behind it
 * @KFI_OPC_TWRITE: tagged RMA: write to the buffer of a tagged receive of the peer
 * @KFI_OPC_TREAD: tagged RMA: read from the buffer of a tagged receive of the peer
 * @KFI_OPC_PLACE_GET: kfi_place_get()
 * @KFI_OPC_PLACE_PUT: kfi_place_put()
 * @KFI_OPC_ATOMIC: atomic operation that returns nothing
 * @KFI_OPC_FETCH_ATOMIC: atomic operation that returns the old values
 * @KFI_OPC_COMPARE_ATOMIC: atomic operation that compares, and returns the old values
 * @KFI_OPC_RECV: receive
 * @KFI_OPC_TRECV: tagged receive
 * @KFI_OPC_CODES: number of kinds
 */
enum kfi_opcode {
	KFI_OPC_SEND,
	KFI_OPC_TSEND,
	KFI_OPC_WRITE,
	KFI_OPC_READ,
	KFI_OPC_REPLY,
	KFI_OPC_TWRITE,
	KFI_OPC_TREAD,
	KFI_OPC_PLACE_GET,
	KFI_OPC_PLACE_PUT,
	KFI_OPC_ATOMIC,
	KFI_OPC_FETCH_ATOMIC,
	KFI_OPC_COMPARE_ATOMIC,
	KFI_OPC_RECV,
	KFI_OPC_TRECV,
	KFI_OPC_CODES
};

/**
 * kfi_opc_is_atomic() - check for one of the three kinds of atomic operations
 * @code: &enum kfi_opcode
 */
static inline bool kfi_opc_is_atomic(u8 code)
{
	return code >= KFI_OPC_ATOMIC && code <= KFI_OPC_COMPARE_ATOMIC;
}

/**
 * kfi_opc_is_place() - check for the get or the put of a place
 * @code: &enum kfi_opcode
 */
static inline bool kfi_opc_is_place(u8 code)
{
	return code == KFI_OPC_PLACE_GET || code == KFI_OPC_PLACE_PUT;
}

/**
 * struct kfi_oper_atomic - the part of an operation that only atomic operations have
 * @op: &enum kfi_op
 * @datatype: &enum kfi_datatype
 * @compare: values to compare with; empty unless KFI_OPC_COMPARE_ATOMIC
 * @result: destination of the old values; empty for KFI_OPC_ATOMIC
 * @iov: room for the segments of @compare, followed by those of @result. Owned by kfi.ko
 *
 * The operands are in &kfi_oper.iter, which is empty for KFI_ATOMIC_READ. kfi.ko has checked that
 * the kind of operation supports @op and @datatype, and that all vectors have the same length.
 */
struct kfi_oper_atomic {
	u8			op;
	u16			datatype;
	struct iov_iter		compare;
	struct iov_iter		result;
	struct kvec		*iov;
};

/**
 * struct kfi_oper - one operation, from its post to its completion
 * @link: for the owner of the operation: the provider while a transmit is with it, the matching
 *	while a receive is posted
 * @lnode: the same, for lists of type llist
 * @ep: endpoint of the operation
 * @cq: completion queue in which the operation has a slot; NULL if there is none
 * @context: context of the consumer, a &struct kfi_cqe with KFI_CQE
 * @flags: operation flags; the default flags of the endpoint are merged in
 * @addr: peer of a transmit, source of a directed receive
 * @data: remote CQ data
 * @tag: tag of a tagged message; the key of the first remote segment of RMA operations but
 *	replies, which have 0
 * @ignore: bits of @tag that a receive ignores
 * @inv_key: transmits: key to invalidate, with KFI_INVALIDATE
 * @reply_len: bytes of the message of a KFI_OPC_REPLY, which is in @inline_buf
 * @len: bytes of the payload in @iter; of an atomic operation bytes of the targets
 * @iter: payload, as kvec or bvec: ITER_SOURCE for sends and writes, ITER_DEST for receives and
 *	reads. A KFI_SGL becomes a bvec iterator over its pages. With KFI_INJECT the payload was
 *	copied, and @iter points to @inline_buf
 * @sgl: scatterlist of a KFI_SGL, mapped by the consumer, for providers of hardware; else NULL
 * @rma: remote segments
 * @rma_count: number of remote segments
 * @code: &enum kfi_opcode
 * @state: state of a receive, see kfi/landing.h. Owned by kfi.ko
 * @index: index of the operation in its pool. It may be sent to the peer; an index that the peer
 *	sends back has to be checked against the state of the operation
 * @gen: changes when the operation is taken, and when it is free again, by which a late answer of a
 *	peer is detected; odd while the operation is in use
 * @consumed: multi-receive: bytes of the buffer that are in use
 * @landings: number of messages that are being placed in the buffer. Owned by kfi.ko
 * @seq: sequence number of the post. Owned by kfi.ko
 * @wc: with KFI_CQE: completion of the operation, which has ended and waits for its done(). Owned
 *	by kfi.ko
 * @iov: local segments; room for &kfi_op_pool.iov_limit
 * @inline_buf: room for the payload of KFI_INJECT, &kfi_ep.inject_size bytes, or for the message of
 *	a reply (transmits only)
 * @atomic: part of atomic operations (transmits only); NULL on an endpoint without KFI_ATOMIC
 * @priv: room for the provider, &kfi_prov_ops.tx_priv bytes
 * @place: handle of KFI_OPC_PLACE_GET and KFI_OPC_PLACE_PUT; not valid for other operations
 *
 * &enum kfi_op has the arithmetic of atomic operations, so this structure is called kfi_oper.
 *
 * The members that only some transmits use come first. The others, up to the first local segment,
 * fill three cache lines, because each of thousands of posted receives is fetched from memory when
 * its message arrives. kfi_cancel() reads only the first of these lines.
 */
struct kfi_oper {
	struct kfi_rma_iov	*rma;
	void			*inline_buf;
	struct kfi_oper_atomic	*atomic;
	struct kfi_dev_place	*place;
	u32			reply_len;

	struct kfi_ep		*ep ____cacheline_aligned;
	union {
		struct list_head	link;
		struct llist_node	lnode;
	};
	struct kfi_cq		*cq;
	void			*context;
	u64			flags;
	u64			tag;
	u8			code;
	u8			state;
	u16			rma_count;
	u32			index;

	union {
		struct {
			kfi_addr_t	addr;
			size_t		len;
			struct iov_iter	iter;
			size_t		consumed;
			union {
				u64	ignore;
				u64	inv_key;
			};
			u64		seq;
			u64		data;
		};
		struct kfi_cq_err_entry	wc;
	};

	u32			gen;
	u32			landings;
	struct scatterlist	*sgl;
	void			*priv;
	union {
		DECLARE_FLEX_ARRAY(struct kvec, kvec);
		DECLARE_FLEX_ARRAY(struct bio_vec, bvec);
	} iov;
};

/**
 * kfi_op_by_index() - find an operation by its index in a pool
 * @pool: &kfi_ep.tx or &kfi_ep.rx
 * @index: index that a peer has sent, not trusted
 *
 * The caller has to compare &kfi_oper.gen and its own state before it uses the operation.
 *
 * Return: the operation, whether it is in use or not; NULL if the pool has no such index.
 */
static inline struct kfi_oper *kfi_op_by_index(struct kfi_op_pool *pool, u32 index)
{
	return index < pool->depth ? pool->mem + pool->stride * index : NULL;
}

/**
 * kfi_tx_by_index() - find a transmit operation of an endpoint by its index
 * @ep: the endpoint. With a shared transmit context the operations are those of the context
 * @index: index that a peer has sent, not trusted
 *
 * Return: as kfi_op_by_index().
 */
static inline struct kfi_oper *kfi_tx_by_index(struct kfi_ep *ep, u32 index)
{
	return kfi_op_by_index(&(ep->stx ?: ep)->tx, index);
}

/*
 * Functions whose names begin with two underscores are the same as those without, for callers that
 * have bottom halves off already.
 */
void __kfi_tx_complete(struct kfi_oper *op, int err);
/**
 * kfi_tx_complete() - complete a transmit operation
 * @op: the operation. The provider must not use it after this call
 * @err: 0 or a negative errno
 *
 * The provider calls this once for each operation that &kfi_prov_ops.tx has accepted. The function
 * writes the completion, increases the counters, wakes readers and frees @op.
 *
 * Context: process or softirq.
 */
void kfi_tx_complete(struct kfi_oper *op, int err);

/**
 * kfi_copy_to() - copy to the memory of an operation, as copy_to_iter()
 * @iter: kvec or bvec iterator, which is advanced
 * @from: any kernel memory, also memory for which hardened usercopy refuses copy_to_iter()
 * @len: number of bytes
 *
 * Context: any. Return: number of bytes copied, less than @len only if @iter is shorter.
 */
size_t kfi_copy_to(struct iov_iter *iter, const void *from, size_t len);

/**
 * kfi_copy_from() - copy from the memory of an operation, as copy_from_iter()
 * @to: kernel memory
 * @iter: kvec or bvec iterator, which is advanced
 * @len: number of bytes
 *
 * Context: any. Return: number of bytes copied, less than @len only if @iter is shorter.
 */
size_t kfi_copy_from(void *to, struct iov_iter *iter, size_t len);

/**
 * kfi_piece() - find the first contiguous piece of the memory of an operation
 * @iter: kvec or bvec iterator, not empty. It is not advanced, except past empty segments
 * @page: where to store the first page of the piece
 * @off: where to store the offset of the piece in @page
 *
 * Memory of the linear map is contiguous as far as its virtual addresses are; memory that is mapped
 * elsewhere is contiguous up to the end of a page.
 *
 * Context: any. Return: length of the piece in bytes.
 */
size_t kfi_piece(struct iov_iter *iter, struct page **page, size_t *off);

/* ------------------------------------------------------------------ */
/* Receiving							      */
/* ------------------------------------------------------------------ */

/**
 * struct kfi_rx - a message that arrives; the provider's message contains it
 * @link: for the matching, while the message is unexpected
 * @bucket: for the matching, while the message is unexpected
 * @by_source: for the matching, while the message is unexpected
 * @ep: endpoint that receives the message. Set by kfi_rx_arrive()
 * @op: receive that the message was matched with, or NULL. Set by kfi.ko
 * @iter: destination of the payload, at most @room bytes. Each message that is placed in a
 *	multi-receive buffer has an iterator of its own. Set by kfi.ko
 * @buf: buf of the completion. Set by kfi.ko
 * @room: the lesser of @len and the space in the receive. Set by kfi.ko
 * @len: length of the whole message. Set by the provider
 * @name: address of the sender in the format of the address vector, valid until the message leaves
 *	the matching; NULL if the provider sets @src, then the message does not wait for directed
 *	receives. Set by the provider
 * @src: handle of the sender, KFI_ADDR_NOTAVAIL if it is not in the address vector.
 *	kfi_rx_arrive() derives it from @name, and kfi.ko derives it again when a receive takes a
 *	message that has waited, because the address may have been inserted or removed meanwhile
 * @tag: tag. Set by the provider
 * @data: remote CQ data. Set by the provider
 * @flags: KFI_MSG or KFI_TAGGED, with KFI_REMOTE_CQ_DATA; for tagged RMA also KFI_RMA and either
 *	KFI_READ or KFI_WRITE; KFI_INVALIDATE or KFI_INVALIDATE_DUE with the key in @data, see
 *	kfi_mr_kill(). Set by the
 *	provider
 */
struct kfi_rx {
	struct list_head	link;
	struct list_head	bucket;
	struct kfi_ep		*ep;
	struct kfi_oper		*op;
	struct iov_iter		iter;
	void			*buf;
	size_t			room;
	size_t			len;
	const void		*name;
	kfi_addr_t		src;
	u64			tag;
	u64			data;
	u64			flags;
	struct list_head	by_source;
};

/**
 * enum kfi_rx_verdict - result of kfi_rx_arrive()
 * @KFI_RX_MATCHED: &kfi_rx.op and &kfi_rx.iter are set. The provider copies the payload and calls
 *	kfi_rx_complete()
 * @KFI_RX_QUEUED: the message is unexpected, and belongs to the matching until
 *	&kfi_prov_ops.rx_matched or &kfi_prov_ops.rx_drop
 * @KFI_RX_NONE: no receive matches, and the provider has not set @queue of kfi_rx_arrive()
 * @KFI_RX_FULL: a receive may match, but its completion queue has no free slot. The provider calls
 *	kfi_cq_wait_space(), and kfi_rx_arrive() again when there is one
 * @KFI_RX_CLOSED: the endpoint closes
 */
enum kfi_rx_verdict {
	KFI_RX_MATCHED,
	KFI_RX_QUEUED,
	KFI_RX_NONE,
	KFI_RX_FULL,
	KFI_RX_CLOSED,
};

enum kfi_rx_verdict __kfi_rx_arrive(struct kfi_ep *ep, struct kfi_rx *rx, bool queue);
/**
 * kfi_rx_arrive() - find the receive for a message that arrives
 * @ep: endpoint that receives the message
 * @rx: the message; the members that the provider sets are set
 * @queue: keep the message as unexpected if no receive matches. The provider bounds the number of
 *	such messages by credits
 *
 * Context: process or softirq. Return: &enum kfi_rx_verdict.
 */
enum kfi_rx_verdict kfi_rx_arrive(struct kfi_ep *ep, struct kfi_rx *rx, bool queue);

void __kfi_rx_complete(struct kfi_rx *rx, int err);
/**
 * kfi_rx_complete() - complete the receive of a matched message
 * @rx: the message. Its memory belongs to the provider again after this call
 * @err: 0 if the payload was placed, else a negative errno. If @err is 0 and &kfi_rx.len is above
 *	&kfi_rx.room, the completion has KFI_ETRUNC and the length of the whole message
 *
 * Context: process or softirq.
 */
void kfi_rx_complete(struct kfi_rx *rx, int err);

/**
 * kfi_rx_abort() - end the placement of a matched message whose sender is lost
 * @rx: the message. Its memory belongs to the provider again after this call
 * @err: negative errno
 *
 * On a connected endpoint the receive completes with @err; so does a directed receive, and one with
 * KFI_CLAIM or KFI_DISCARD. A multi-receive buffer goes on without the bytes of the message. Any
 * other receive is posted again at its previous position in the order.
 *
 * Context: process or softirq.
 */
void kfi_rx_abort(struct kfi_rx *rx, int err);

/**
 * kfi_rx_unqueue() - remove an unexpected message whose sender is lost from the matching
 * @rx: message for which kfi_rx_arrive() has returned KFI_RX_QUEUED
 *
 * Context: process or softirq.
 * Return: true if the message belongs to the provider again; false if a receive has taken it. Then
 * &kfi_prov_ops.rx_matched or &kfi_prov_ops.rx_drop was called, or will be.
 */
bool kfi_rx_unqueue(struct kfi_rx *rx);

/**
 * kfi_rx_dequeue() - remove an unexpected message from the matching, to drop it
 * @rx: message for which kfi_rx_arrive() has returned KFI_RX_QUEUED
 *
 * Context: process or softirq.
 * Return: as kfi_rx_unqueue(), but false also for a tagged message that the consumer has claimed
 * (KFI_PEEK | KFI_CLAIM), which stays.
 */
bool kfi_rx_dequeue(struct kfi_rx *rx);

/**
 * kfi_rx_yield() - move an unexpected message behind all others
 * @rx: message for which kfi_rx_arrive() has returned KFI_RX_QUEUED. Nothing changes if a receive
 *	has taken it, or if the consumer has claimed it
 *
 * The caller moves all messages of a peer, in the order of arrival, and no other message of that
 * peer arrives meanwhile. Context: process or softirq.
 */
void kfi_rx_yield(struct kfi_rx *rx);

/**
 * kfi_rx_flush() - complete all posted receives of an endpoint
 * @ep: the endpoint
 * @err: negative errno of the completions
 *
 * kfi.ko calls this when a connected endpoint is disconnected, and when an endpoint closes. A
 * receive into which a message is being placed completes with that message.
 *
 * Context: process or softirq.
 */
void kfi_rx_flush(struct kfi_ep *ep, int err);

/**
 * kfi_remote_rma() - report an RMA or atomic operation that a peer has performed on this side
 * @ep: endpoint that has received the request
 * @mr: region, with a reference, for its counter; or NULL
 * @key: key by which the region was found. The counter of a region that has ended meanwhile, or
 *	that has another key now, does not count the operation
 * @flags: KFI_REMOTE_READ or KFI_REMOTE_WRITE, with KFI_REMOTE_CQ_DATA; with KFI_ATOMIC for an
 *	atomic operation. Atomic operations that return old values are reads, others are writes
 * @len: number of bytes
 * @data: remote CQ data
 * @src: handle of the peer
 *
 * Writes a completion for remote CQ data, and increases the counters.
 *
 * Context: process or softirq.
 * Return: 0; -EAGAIN if there is remote CQ data and the completion queue has no free slot. Then
 * nothing was reported, and the provider calls again after kfi_cq_wait_space().
 */
int kfi_remote_rma(struct kfi_ep *ep, struct kfi_mr *mr, u64 key, u64 flags, size_t len, u64 data,
		   kfi_addr_t src);

/* ------------------------------------------------------------------ */
/* Completion queues						      */
/* ------------------------------------------------------------------ */

/**
 * kfi_cq_cpu() - return the CPU that the consumer has chosen for the callbacks of a queue
 * @cq: completion queue, or NULL
 *
 * For providers whose device can choose the CPU that it interrupts. The callbacks run on that CPU
 * wherever completions are made.
 *
 * Context: any. Return: the CPU of KFI_AFFINITY, or -1.
 */
int kfi_cq_cpu(const struct kfi_cq *cq);

/**
 * kfi_cq_wait_space() - call a function when a completion queue has a free slot
 * @cq: the queue
 * @w: waiter; &kfi_cq_waiter.fn is set and &kfi_cq_waiter.link is initialised
 *
 * Context: process or softirq.
 * Return: true; false if the queue has a free slot now, then the function will not be called.
 */
bool kfi_cq_wait_space(struct kfi_cq *cq, struct kfi_cq_waiter *w);

/**
 * kfi_cq_cancel_wait() - undo kfi_cq_wait_space()
 * @cq: the queue
 * @w: the waiter, whether it waits or not
 *
 * On return the function does not run, and will not be called. Spins while the function runs, so it
 * must not be called by the function, or under a lock that the function takes.
 *
 * Context: process or softirq.
 */
void kfi_cq_cancel_wait(struct kfi_cq *cq, struct kfi_cq_waiter *w);

/**
 * kfi_batch_begin() - delay the handlers of consumers until kfi_batch_end()
 *
 * A provider calls this before it handles a burst of arrivals. The handlers of KFI_CQ_SOFTIRQ
 * queues that get completions before kfi_batch_end() run in kfi_batch_end(), on this CPU, instead
 * of in a BH work item, which saves one softirq for each message. Without kfi_batch_begin() the
 * handlers run later.
 *
 * Must not be used around operations of &struct kfi_prov_ops: they may be called under locks of a
 * consumer, which its handlers take. kfi_batch_end() may be called under a lock only if
 * &kfi_prov_ops.tx of the provider never spins on this lock.
 *
 * Context: softirq, or bottom halves off.
 */
void kfi_batch_begin(void);
/**
 * kfi_batch_end() - run the handlers that kfi_batch_begin() has delayed
 *
 * Context: softirq, or bottom halves off; the same section as kfi_batch_begin().
 */
void kfi_batch_end(void);

/* ------------------------------------------------------------------ */
/* Address vectors						      */
/* ------------------------------------------------------------------ */

/**
 * kfi_av_addr() - return the address of a handle
 * @av: address vector
 * @addr: handle; the bits of the receive context are ignored
 * @buf: room for KFI_ADDR_MAX bytes
 *
 * Context: any but hard interrupt. Return: length in bytes; -EINVAL if the handle denotes no
 * address.
 */
int kfi_av_addr(struct kfi_av *av, kfi_addr_t addr, void *buf);

/**
 * kfi_av_index() - return the index in a handle, without the bits of the receive context
 * @av: address vector
 * @addr: handle
 *
 * Context: any. Return: the index, or U32_MAX if it is too large to be valid.
 */
u32 kfi_av_index(struct kfi_av *av, kfi_addr_t addr);
/**
 * kfi_av_rx_ctx() - return the receive context in a handle
 * @av: address vector
 * @addr: handle
 *
 * Context: any. Return: number of the receive context, from 0.
 */
u32 kfi_av_rx_ctx(struct kfi_av *av, kfi_addr_t addr);

/**
 * kfi_av_reverse() - return the handle of an address, in constant time
 * @av: address vector
 * @addr: address in the format of the domain
 *
 * Context: any but hard interrupt. Return: the handle, or KFI_ADDR_NOTAVAIL.
 */
kfi_addr_t kfi_av_reverse(struct kfi_av *av, const void *addr);

/* ------------------------------------------------------------------ */
/* Authorization						      */
/* ------------------------------------------------------------------ */

/**
 * kfi_auth_secret() - check whether an endpoint has an authorization key that is a secret
 * @ep: the open endpoint
 *
 * In domains with the address format KFI_ADDR_CXI the key is the number of a service, which
 * everybody knows. It separates endpoints, but does not identify a peer.
 *
 * Context: any. Return: true if the endpoint has a key, and the key is a secret.
 */
static inline bool kfi_auth_secret(const struct kfi_ep *ep)
{
	return ep->info->ep_attr->auth_key_size && ep->domain->info->addr_format != KFI_ADDR_CXI;
}

/* ------------------------------------------------------------------ */
/* Connections and events					      */
/* ------------------------------------------------------------------ */

/**
 * kfi_ep_connected() - report that an MSG endpoint is connected
 * @ep: the endpoint
 * @data: private data of the peer
 * @len: length of @data
 *
 * The state becomes KFI_EP_CONNECTED, and the consumer gets the event KFI_CONNECTED.
 *
 * Context: process, may sleep. Return: 0; -ECANCELED if the endpoint is being closed or reset.
 */
int kfi_ep_connected(struct kfi_ep *ep, const void *data, size_t len);
/**
 * kfi_ep_refused() - report that a connect or accept has failed
 * @ep: MSG endpoint
 * @err: reason, a negative errno
 * @data: private data of the peer
 * @len: length of @data
 *
 * The state becomes KFI_EP_SHUT, posted receives complete with @err, and the consumer gets an error
 * event. Nothing happens if the endpoint is not connecting.
 *
 * Context: process, may sleep.
 */
void kfi_ep_refused(struct kfi_ep *ep, int err, const void *data, size_t len);
/**
 * kfi_ep_disconnected() - report that a connection has ended
 * @ep: MSG endpoint
 * @err: reason, a negative errno; 0 stands for -ESHUTDOWN
 *
 * The provider has completed the transmits of the endpoint before. The state becomes KFI_EP_SHUT,
 * posted receives complete with @err, and the consumer gets the event KFI_SHUTDOWN. Nothing happens
 * if the endpoint is not connected.
 *
 * Context: process, may sleep.
 */
void kfi_ep_disconnected(struct kfi_ep *ep, int err);
/**
 * kfi_pep_connreq() - report a connection request
 * @pep: passive endpoint
 * @req: the request, part of the provider's connection
 * @peer: address of the peer
 * @self: address of this side as the peer has called it; NULL: that of @pep
 * @addrlen: length of each address
 * @data: private data
 * @len: length of @data
 *
 * The consumer gets the event KFI_CONNREQ. After an error the request still belongs to the
 * provider.
 *
 * Context: process, may sleep.
 * Return: 0; -EBUSY if the backlog or the event queue is full; -ESHUTDOWN if @pep does not listen;
 * -EINVAL if the data or the address is too long; -ENOMEM.
 */
int kfi_pep_connreq(struct kfi_pep *pep, struct kfi_connreq *req, const void *peer,
		    const void *self, size_t addrlen, const void *data, size_t len);
/**
 * kfi_connreq_gone() - report that the peer of a connection request has gone
 * @req: the request, after kfi_pep_connreq() has returned 0
 *
 * Context: process, may sleep.
 * Return: true if the request was waiting. It belongs to the provider again, and its event is
 * removed from the queue. False if an accept or a reject has taken it.
 */
bool kfi_connreq_gone(struct kfi_connreq *req);

static inline struct kfi_domain *kfi_to_domain(struct kfid_domain *fid)
{
	return container_of(fid, struct kfi_domain, fid);
}

/* ------------------------------------------------------------------ */
/* Scalable endpoints						      */
/* ------------------------------------------------------------------ */

/*
 * If a provider offers contexts in domain_attr.max_ep_tx_ctx and max_ep_rx_ctx, ep_open, ep_enable,
 * ep_stop and ep_close are also called for scalable endpoints (fid.fid.fclass is KFI_CLASS_SEP) and
 * for their contexts (KFI_CLASS_TX_CTX, KFI_CLASS_RX_CTX). A scalable endpoint has the address and
 * transfers nothing. A context transfers in one direction, and has the address of its &kfi_ep.sep.
 * Contexts are enabled after their scalable endpoint, and closed before it. The handle of a peer
 * contains the receive context that a message is for, see kfi_av_rx_ctx().
 */

/**
 * kfi_ep_rx_ctx() - find the receive context that a message is for
 * @ep: endpoint that has the address
 * @index: receive context that the sender names, not trusted
 *
 * Context: any but hard interrupt, inside rcu_read_lock(). The context exists until the end of that
 * section, or longer if &kfi_prov_ops.ep_stop waits for it.
 * Return: the enabled context of a scalable endpoint; @ep itself if it is no scalable endpoint and
 * @index is 0; NULL if there is no such context.
 */
struct kfi_ep *kfi_ep_rx_ctx(struct kfi_ep *ep, u32 index);

static inline struct kfi_ep *kfi_to_ep(struct kfid_ep *fid)
{
	return container_of(fid, struct kfi_ep, fid);
}

static inline struct kfi_pep *kfi_to_pep(struct kfid_pep *fid)
{
	return container_of(fid, struct kfi_pep, fid);
}

/**
 * kfi_ep_net() - return the network namespace of an endpoint
 * @ep: endpoint that is not stopped
 */
static inline struct net *kfi_ep_net(const struct kfi_ep *ep)
{
	return read_pnet(&ep->domain->fabric->net);
}

/**
 * kfi_ep_account() - return the account that pays for what an endpoint holds
 * @ep: endpoint
 *
 * Return: the account, or NULL. It may be used as long as the endpoint is open.
 */
static inline struct kfi_account *kfi_ep_account(const struct kfi_ep *ep)
{
	return ep->domain->account;
}

#endif /* _KFI_PROV_H */
