/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfi_prov.h - the contract between kfi.ko and a provider.
 *
 * A provider moves bytes. Everything that is not moving bytes - discovery and attribute matching, object life
 * times, completion and event queues, counters, address vectors, memory keys, tag matching, flow-control
 * arithmetic - lives once in kfi.ko and is reached through the calls declared here. docs/provider-guide.md walks
 * through providers/loop, the smallest complete provider.
 */
#ifndef _KFI_PROV_H
#define _KFI_PROV_H

#include <linux/bottom_half.h>
#include <linux/module.h>

#include <kfi_prov_atomic.h>
#include <kfi_prov_obj.h>
#include <kfi_prov_ops.h>

/**
 * DOC: Who allocates, who frees, who may call
 *
 * kfi.ko allocates every object (the provider states how much room it needs behind the common part, as RDMA
 * drivers do for ib_core) and frees it. A provider's open op initialises its part and takes what it needs; its
 * close op gives that back. Children pin parents: a close of an object that something still uses answers -EBUSY
 * before the provider hears of it, so a close op never has to check.
 *
 * Contexts. open, close, enable, bind and connection calls run in process context and may sleep. &kfi_prov_ops.tx is
 * called in process or softirq context, with bottom halves off, which is an RCU read section (rcu_read_lock_bh()); .rx_matched and .rx_drop with
 * bottom halves in any state; none of them with interrupts off, and none may sleep. Every completion call below may be made from process or softirq context.
 * kfi.ko calls no provider op with one of its own spinlocks held.
 *
 * Handlers of consumers never run inside a completion call: they run in the completion queue's own context, or at
 * kfi_batch_end(). A provider may thus complete an operation while it holds its own locks, if and only if its tx op
 * never spins on those locks (it may trylock); see kfi/proto/tx.c.
 */

/** KFI_PROV_CONTRACT - version of this contract; a provider built against another one is refused. */
#define KFI_PROV_CONTRACT	10

/* ------------------------------------------------------------------ */
/* Registration							      */
/* ------------------------------------------------------------------ */

/**
 * struct kfi_provider - what a provider module registers
 * @name:	unique name, as in fabric_attr.prov_name ("sockets")
 * @version:	the provider's own version, KFI_VERSION(major, minor)
 * @ops:	its operations
 * @priv:	the provider's own
 * @entry:	kfi.ko's
 * @owner:	kfi.ko's: the module, pinned by every open fabric
 * @id:		kfi.ko's: grows with each registration
 */
struct kfi_provider {
	const char			*name;
	u32				version;
	const struct kfi_prov_ops	*ops;
	void				*priv;
	/* kfi.ko's part */
	struct list_head		entry;
	struct module			*owner;
	u32				id;
};

int __kfi_provider_register(struct kfi_provider *prov, u32 contract, size_t size, struct module *owner);

/**
 * kfi_provider_register() - make a provider known to kfi_getinfo()
 * @prov: static description, must stay until kfi_provider_deregister()
 *
 * Context: process, may sleep. Return: 0; -EINVAL (a mandatory op is missing, or another contract version or size;
 * said in the log), -EEXIST (the name is taken).
 */
#define kfi_provider_register(prov)						\
	__kfi_provider_register(prov, KFI_PROV_CONTRACT, sizeof(struct kfi_prov_ops), THIS_MODULE)

/**
 * kfi_provider_deregister() - forget a provider
 * @prov: a registered provider
 *
 * Called from module exit: the module reference of every open fabric has already kept the module from getting
 * here with live objects. Waits for discovery calls in flight. Context: process, may sleep.
 */
void kfi_provider_deregister(struct kfi_provider *prov);

/* ------------------------------------------------------------------ */
/* Discovery							      */
/* ------------------------------------------------------------------ */

/**
 * struct kfi_query - one kfi_getinfo() call, as the provider sees it
 * @net:	namespace that asks
 * @version:	API version the caller is written to
 * @node:	node string or NULL
 * @service:	service string or NULL
 * @flags:	KFI_SOURCE, KFI_NUMERICHOST
 * @hints:	the caller's hints or NULL; a provider needs them only for addresses
 * @prov:	the provider asked
 * @hw_recv:	the provider's: what it offers now is endpoints with &kfi_ep.hw_recv, which share no receives
 * @head:	kfi.ko's: the answer so far
 * @tail:	kfi.ko's
 * @err:	kfi.ko's: first failure of kfi_query_add()
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
 * kfi_query_add() - offer one thing the provider can do
 * @q:		the query
 * @offer:	the most that this combination of fabric, domain and endpoint type can give: all capabilities, largest
 *		limits, every supported order bit, the mode bits *required*; tx_attr->op_flags is the set of completion
 *		levels on offer; tx_attr->tclass says which kinds of traffic classes are mapped (KFI_TC_DSCP,
 *		KFI_TC_LABEL); addresses set where known. Borrowed, copied if it matches.
 *
 * What is the same whoever offers is kfi.ko's to say, and is not looked at here: in whose name and version, threading, progress,
 * resource management, the type of address vectors, how many contexts an endpoint has unless it asks for more.
 *
 * Shared code compares the offer with the hints, trims it to what was asked for and appends it to the answer.
 * Return: 0, also when the hints do not match; -ENOMEM.
 */
int kfi_query_add(struct kfi_query *q, const struct kfi_info *offer);

/* ------------------------------------------------------------------ */
/* Operations							      */
/* ------------------------------------------------------------------ */

/** enum kfi_opcode - what an operation does */
enum kfi_opcode {
	KFI_OPC_SEND,
	KFI_OPC_TSEND,
	KFI_OPC_WRITE,
	KFI_OPC_READ,
	KFI_OPC_TWRITE,		/* tagged RMA: data goes to a tagged receive of the peer */
	KFI_OPC_TREAD,
	KFI_OPC_FLUSH,
	KFI_OPC_ATOMIC,
	KFI_OPC_FETCH_ATOMIC,
	KFI_OPC_COMPARE_ATOMIC,
	KFI_OPC_RECV,
	KFI_OPC_TRECV,
	KFI_OPC_CODES
};

/** kfi_opc_is_atomic() - is it one of the three kinds of atomic operations? */
static inline bool kfi_opc_is_atomic(u8 code)
{
	return code >= KFI_OPC_ATOMIC && code <= KFI_OPC_COMPARE_ATOMIC;
}

/**
 * struct kfi_oper_atomic - what an atomic operation has besides
 * @op:		enum kfi_op
 * @datatype:	enum kfi_datatype
 * @compare:	KFI_OPC_COMPARE_ATOMIC: values to compare with, else empty
 * @result:	where the old values go; empty for KFI_OPC_ATOMIC
 * @iov:	core's: room for the segments of @compare, then of @result
 *
 * The operands are the operation's @iter, empty for KFI_ATOMIC_READ. The core has checked that type and operation fit the
 * kind, and that all vectors are of the same length.
 */
struct kfi_oper_atomic {
	u8			op;
	u16			datatype;
	struct iov_iter		compare;
	struct iov_iter		result;
	struct kvec		*iov;
};

/**
 * struct kfi_oper - one posted operation, from post to completion (enum kfi_op is the API's atomic operation)
 * @link: the holder's: the provider's while a transmit is in flight, the matching's while a receive waits
 * @lnode: the same, for who has a llist
 * @ep:		endpoint
 * @cq:		queue with a slot reserved for it, or NULL
 * @context:	consumer's context, or its struct kfi_cqe when @flags has KFI_CQE
 * @flags:	op flags, the endpoint's defaults already merged in
 * @addr:	peer (transmit) or directed source (receive)
 * @data: remote CQ data
 * @tag: of a tagged message
 * @ignore: bits of @tag that a receive does not look at
 * @inv_key: key to invalidate with KFI_INVALIDATE
 * @len:	payload bytes described by @iter; of atomic operations bytes of the targets
 * @iter:	the payload: kvec or bvec; ITER_SOURCE for sends and writes, ITER_DEST for receives and reads. A
 *		KFI_SGL is turned into a bvec iterator over its pages. INJECT payload is already copied: @iter points
 *		to memory inside the operation.
 * @sgl:	the consumer's mapped scatterlist when it gave one, else NULL (for hardware providers)
 * @rma: remote segments
 * @rma_count: their number
 * @code:	&enum kfi_opcode
 * @state:	core's: where a receive is, see kfi/landing.h
 * @index:	its place in the pool: fit for the wire, but check what comes back against the state of the operation
 * @next: core's: the next free operation
 * @used: it is none
 * @gen:	counts reuses of this place, so that a late answer of a peer is recognised
 * @consumed:	multi-receive: bytes used so far
 * @landings: messages under way into it
 * @seq:	posting order for the matching
 * @wc:		core's: the completion of an operation that has ended and waits for its done(), with KFI_CQE
 * @iov:	the local segments; room for &kfi_op_pool.iov_limit
 * @inline_buf:	room for inject payload (tx only), @ep->inject_size bytes
 * @atomic:	of atomic operations (tx only); NULL on an endpoint without KFI_ATOMIC
 * @priv:	room the provider asked for (&kfi_prov_ops.tx_priv)
 *
 * What transmits alone have comes first. All else, up to the first local segment, is three cache lines, for of thousands of
 * posted receives each is fetched from memory when its message comes. A cancel looks at the first of them alone.
 */
struct kfi_oper {
	struct kfi_rma_iov	*rma;
	void			*inline_buf;
	struct kfi_oper_atomic	*atomic;
	void			*priv;
	u64			inv_key;

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
			u64		ignore;
			u64		seq;
			u64		data;
		};
		struct kfi_cq_err_entry	wc;
	};

	u32			gen;
	u32			landings;
	u32			next;
	bool			used;
	struct scatterlist	*sgl;
	union {
		DECLARE_FLEX_ARRAY(struct kvec, kvec);
		DECLARE_FLEX_ARRAY(struct bio_vec, bvec);
	} iov;
};

/**
 * kfi_op_by_index() - the operation a peer's answer names
 * @pool:	&ep->tx or &ep->rx
 * @index:	from the wire, not trusted
 *
 * Return: the operation at that place, in use or not, or NULL when there is no such place. The caller compares
 * @gen and its own state before it believes anything.
 */
static inline struct kfi_oper *kfi_op_by_index(struct kfi_op_pool *pool, u32 index)
{
	return index < pool->depth ? pool->mem + pool->stride * index : NULL;
}

/**
 * kfi_tx_by_index() - the same among the transmits of an endpoint, which may share them with others
 * @ep: endpoint
 * @index: from the wire, not trusted
 */
static inline struct kfi_oper *kfi_tx_by_index(struct kfi_ep *ep, u32 index)
{
	return kfi_op_by_index(&(ep->stx ?: ep)->tx, index);
}

/* As below, for who has bottom halves off already: here and where else there are such pairs they are the same but for that. */
void __kfi_tx_complete(struct kfi_oper *op, int err);
/**
 * kfi_tx_complete() - a transmit operation ended
 * @op:		the operation; the provider forgets it with this call
 * @err:	0 or negative errno
 *
 * Exactly once for each operation that tx accepted. Writes the entry, calls counters, wakes readers, frees @op.
 * Context: process or softirq.
 */
static inline void kfi_tx_complete(struct kfi_oper *op, int err)
{
	local_bh_disable();
	__kfi_tx_complete(op, err);
	local_bh_enable();
}

/**
 * kfi_copy_to() - into the memory of an operation, as copy_to_iter() would
 * @iter:	kvec or bvec; moves on
 * @from:	kernel memory of any kind, also what must not be shown to users
 * @len:	bytes
 *
 * Context: any. Return: bytes copied, fewer only if @iter has no more.
 */
size_t kfi_copy_to(struct iov_iter *iter, const void *from, size_t len);

/**
 * kfi_copy_from() - out of the memory of an operation, as copy_from_iter() would
 * @to:		kernel memory
 * @iter:	kvec or bvec; moves on
 * @len:	bytes
 *
 * Context: any. Return: bytes copied, fewer only if @iter has no more.
 */
size_t kfi_copy_from(void *to, struct iov_iter *iter, size_t len);

/* ------------------------------------------------------------------ */
/* Receiving							      */
/* ------------------------------------------------------------------ */

/**
 * struct kfi_rx - a message on its way into a receive; embedded by the provider wherever it keeps the message
 * @link: the matching's while unexpected
 * @bucket: likewise
 * @ep:		receiving endpoint (set by kfi_rx_arrive())
 * @op:		the receive it was matched with, or NULL
 * @iter:	where the payload goes: at most @room bytes. Several messages may land in one multi-receive buffer at
 *		the same time; each has its own iterator
 * @buf:	what the completion's buf will say
 * @room:	min(@len, space in the receive)
 * @len:	true length of the message (provider)
 * @name:	sender's address in the format of the AV, valid until the message leaves the
 *		matching; NULL: the provider has set @src (provider)
 * @src:	sender's handle, KFI_ADDR_NOTAVAIL if not in the AV. kfi_rx_arrive() sets it from
 *		@name, and the core sets it again when a receive takes a message that has waited:
 *		the address may have been inserted or removed meanwhile
 * @tag: (provider)
 * @data: remote CQ data (provider)
 * @flags:	KFI_MSG or KFI_TAGGED, with KFI_REMOTE_CQ_DATA; for tagged RMA also KFI_RMA|KFI_READ or KFI_WRITE (provider)
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
};

/** enum kfi_rx_verdict - answer of kfi_rx_arrive() */
enum kfi_rx_verdict {
	KFI_RX_MATCHED,		/* rx->op and rx->iter are set: deliver, then kfi_rx_complete() */
	KFI_RX_QUEUED,		/* unexpected: rx stays in the matching until .rx_matched or .rx_drop hands it back */
	KFI_RX_NONE,		/* no receive, and queueing was not wanted */
	KFI_RX_FULL,		/* a receive would match but its CQ has no slot: use kfi_cq_wait_space() and try again */
	KFI_RX_CLOSED,		/* endpoint closes */
};

enum kfi_rx_verdict __kfi_rx_arrive(struct kfi_ep *ep, struct kfi_rx *rx, bool queue);	/* bottom halves off */
/**
 * kfi_rx_arrive() - a message has come: find its receive
 * @ep:		endpoint
 * @rx:		the message, provider's fields filled
 * @queue:	keep it as unexpected when nothing matches (the provider has bounded their number by credits)
 *
 * Context: process or softirq. Return: &enum kfi_rx_verdict.
 */
static inline enum kfi_rx_verdict kfi_rx_arrive(struct kfi_ep *ep, struct kfi_rx *rx, bool queue)
{
	enum kfi_rx_verdict verdict;

	local_bh_disable();
	verdict = __kfi_rx_arrive(ep, rx, queue);
	local_bh_enable();
	return verdict;
}

void __kfi_rx_complete(struct kfi_rx *rx, int err);	/* bottom halves off */
/**
 * kfi_rx_complete() - the message has landed, or never will
 * @rx:		a matched message; its memory is the provider's again afterwards
 * @err:	0 or negative errno; with 0 and @rx->len > @rx->room the completion says KFI_ETRUNC with true lengths
 *
 * Context: process or softirq.
 */
static inline void kfi_rx_complete(struct kfi_rx *rx, int err)
{
	local_bh_disable();
	__kfi_rx_complete(rx, err);
	local_bh_enable();
}

/**
 * kfi_rx_abort() - a matched message will never land completely: its sender is lost
 * @rx:		a matched message; its memory is the provider's again afterwards
 * @err:	negative errno
 *
 * On a connected endpoint, and for a directed receive, the receive ends with @err. Otherwise the loss of a sender ends
 * nobody's receive: it goes back to the place in the order that it had (of a multi-receive buffer the bytes already
 * assigned to this message are not used again). Context: process or softirq.
 */
void kfi_rx_abort(struct kfi_rx *rx, int err);

/**
 * kfi_rx_unqueue() - take an unexpected message back, for its sender is gone
 * @rx: a queued message
 * Return: true if it was still queued; false if a receive has taken it (then .rx_matched was or will be called).
 */
bool kfi_rx_unqueue(struct kfi_rx *rx);

/**
 * kfi_rx_forget() - take an unexpected message back to drop it
 * @rx: a queued message
 *
 * As kfi_rx_unqueue(), but a tagged message that a consumer has claimed (KFI_PEEK | KFI_CLAIM)
 * stays. Context: process or softirq. Return: true if it is the caller's now.
 */
bool kfi_rx_forget(struct kfi_rx *rx);

/**
 * kfi_rx_flush() - end every posted receive
 * @ep: endpoint
 * @err: negative errno for each of them
 *
 * For connected endpoints at disconnect (and by kfi.ko at close). Receives with a message under way end with that message.
 */
void kfi_rx_flush(struct kfi_ep *ep, int err);

/**
 * kfi_remote_rma() - a peer's RMA or atomic operation has been performed here
 * @ep:		endpoint it came through
 * @mr:		region, for its counters, with a reference; or NULL
 * @key:	it was found by: a region that was ended after the bytes had moved hears nothing, nor does another life of its handle
 * @flags:	KFI_REMOTE_READ or KFI_REMOTE_WRITE, with KFI_REMOTE_CQ_DATA; with KFI_ATOMIC if it was one: those that
 *		return old values count as reads, the others as writes
 * @len: bytes
 * @data: remote CQ data
 * @src: the peer
 *
 * Return: 0; -EAGAIN: it carries CQ data and the receive CQ has no slot (nobody was told; kfi_cq_wait_space()).
 */
int kfi_remote_rma(struct kfi_ep *ep, struct kfi_mr *mr, u64 key, u64 flags, size_t len, u64 data, kfi_addr_t src);

/* ------------------------------------------------------------------ */
/* Completion queues						      */
/* ------------------------------------------------------------------ */

/**
 * kfi_cq_cpu() - where the consumer wants to hear of completions
 * @cq: queue, or NULL
 *
 * For a provider whose device can choose where it reports. Callbacks are on that CPU wherever completions are made. Context: any.
 * Return: the CPU that was asked for with KFI_AFFINITY, or -1.
 */
int kfi_cq_cpu(const struct kfi_cq *cq);

/**
 * kfi_cq_wait_space() - call back when a CQ has a free slot
 * @cq: queue
 * @w: waiter, with @w->fn set and @w->link initialised
 * Return: false if there is room already (no call will come).
 */
bool kfi_cq_wait_space(struct kfi_cq *cq, struct kfi_cq_waiter *w);

/**
 * kfi_cq_cancel_wait() - forget a waiter; after return fn neither runs nor will run
 * @cq: queue
 * @w: waiter
 *
 * Spins while fn runs: not from fn, and not under a lock that fn takes. Context: process or softirq.
 */
void kfi_cq_cancel_wait(struct kfi_cq *cq, struct kfi_cq_waiter *w);

/**
 * kfi_batch_begin() - several completions follow; consumers' handlers wait until kfi_batch_end()
 *
 * For use in softirq (or with bottom halves off): a provider brackets the handling of one burst of arrivals.
 * Handlers of KFI_CQ_SOFTIRQ queues touched in between run inside kfi_batch_end(), on this CPU, instead of in a
 * softirq of their own: one wake-up less per message. Without the bracket everything works, later. Never around a tx op:
 * it may be called with a consumer's locks held, which the handlers take. Does not nest
 * over different endpoints' locks: kfi_batch_end() may be called with a lock held only if the provider's tx op never
 * spins on that lock.
 */
void kfi_batch_begin(void);
/** kfi_batch_end() - see kfi_batch_begin() */
void kfi_batch_end(void);

/* ------------------------------------------------------------------ */
/* Memory regions						      */
/* ------------------------------------------------------------------ */

/**
 * struct kfi_mr - a memory region
 * @fid:	consumer's handle (key is there)
 * @obj:	common part
 * @domain:	parent
 * @ep:		the endpoint it is bound to, or NULL for every endpoint of the domain
 * @node:	in &kfi_domain.mrs, by key
 * @access:	KFI_REMOTE_READ, KFI_REMOTE_WRITE, ...
 * @offset:	address of its first byte as peers name it (mr_attr.offset)
 * @len:	bytes
 * @live:	peers may use it; cleared by close and invalidate
 * @enabled:	its bindings are complete
 * @flags:	of the registration: KFI_MR_SINGLE_USE, KFI_RMA_EVENT, KFI_RMA_PMEM
 * @used:	KFI_MR_SINGLE_USE, and the operation is over: kfi_mr_spend()
 * @per_io:	made by kfi_mr_alloc()
 * @fixed:	set in mr_reg: the provider has named its pages to hardware, so no others can take their place (KFI_REFRESH)
 * @state:	of a per-I/O region, see kfi/mr_async.c
 * @iter:	template over the whole region (kvec or bvec)
 * @iov: copy of its segments
 * @iov_limit: room
 * @claims:	of them segments in memory of kfi_mem_alloc(), which they keep
 * @unit:	bytes of every segment but the first and last, if that is a constant; else 0
 * @cntr:	bound counter or NULL
 * @cntr_access: what it counts
 * @persist:	owner's callback for COMMIT, or NULL
 * @persists:	calls of it that run, see kfi/commit.c, and holds, see kfi_mr_hold()
 * @ref:	holders of the structure (not of the right to touch memory)
 * @rcu:	frees it, or ends an invalidation
 * @work:	asynchronous registration or invalidation in flight
 * @priv:	the provider's
 */
struct kfi_mr {
	struct kfid_mr		fid;
	struct kfi_obj		obj;
	struct kfi_domain	*domain;
	struct kfi_ep		*ep;
	struct rhash_head	node;
	u64			flags;
	u64			access;
	u64			offset;
	size_t			len;
	bool			live;
	bool			enabled;
	bool			used;
	bool			per_io;
	bool			fixed;
	int			state;
	struct iov_iter		iter;
	union {
		struct kvec	*kvec;
		struct bio_vec	*bvec;
	} iov;
	size_t			iov_limit;
	size_t			claims;
	size_t			unit;
	struct kfi_cntr		*cntr;
	u64			cntr_access;
	int			(*persist)(struct kfid_mr *mr, u64 offset, size_t len);
	refcount_t		persists;
	struct kref		ref;
	struct rcu_head		rcu;
	struct kfi_mr_work	*work;
	void			*priv;
};

/**
 * kfi_mr_get() - a peer wants to touch memory: may it?
 * @ep:		endpoint the request came through
 * @key: as the peer said, not trusted
 * @addr: the same
 * @len: the same
 * @access:	KFI_REMOTE_READ or KFI_REMOTE_WRITE
 * @iter:	set to the bytes asked for: ITER_DEST for writes, ITER_SOURCE for reads
 *
 * Every byte that is moved later must be moved inside rcu_read_lock() after kfi_mr_live() said yes, and @iter must not
 * be touched but there: closing or invalidating a region ends that and waits, so that no peer can delay it. Keep the
 * reference until the last byte has moved and kfi_remote_rma() has been told. Context: process or softirq.
 * Return: the region with a reference, or ERR_PTR(-EACCES): no such key, another endpoint's, out of range, or no right.
 */
struct kfi_mr *kfi_mr_get(struct kfi_ep *ep, u64 key, u64 addr, u64 len, u64 access,
			  struct iov_iter *iter);
/** kfi_mr_put() - give the reference of kfi_mr_get() back; process or softirq */
void kfi_mr_put(struct kfi_mr *mr);

/**
 * kfi_mr_live() - may bytes of this region still be moved?
 * @mr:		region of kfi_mr_get()
 * @key:	the key it was got with: a per-I/O region may have been attached to other memory since, under another key
 *
 * Ask under rcu_read_lock(), and stay there while moving.
 */
static inline bool kfi_mr_live(const struct kfi_mr *mr, u64 key)
{
	/* pairs with the release that makes a region live: its key and memory are in place */
	return smp_load_acquire(&mr->live) && READ_ONCE(mr->fid.key) == key;
}

/**
 * kfi_mr_spend() - a peer's operation has moved all that it had to
 * @mr:		region of kfi_mr_get()
 * @key:	the key it was got with
 *
 * If that was for a single use nobody is let in any more. kfi_remote_rma() does it, too: this is for providers that may have to wait
 * until they can tell, while other operations go on. Context: process or softirq.
 */
static inline void kfi_mr_spend(struct kfi_mr *mr, u64 key)
{
	if (likely(!(mr->flags & KFI_MR_SINGLE_USE)))
		return;
	rcu_read_lock();	/* while it is this one it stays so: see kfi/mr_async.c */
	if (kfi_mr_live(mr, key))
		WRITE_ONCE(mr->used, true);
	rcu_read_unlock();
}

/**
 * kfi_mr_find() - a region that peers of an endpoint may name, dead or alive
 * @ep: endpoint the request came through
 * @key: as the peer said
 * Context: under rcu_read_lock(), the region is there until the end of that. Return: the region or NULL.
 */
struct kfi_mr *kfi_mr_find(struct kfi_ep *ep, u64 key);

/**
 * kfi_mr_hold() - something moves bytes of a region outside of our RCU sections, for one operation
 * @mr:		region of kfi_mr_get(), with a reference of the caller's; the hold is another
 * @key:	the key that it was got with
 *
 * The end of the region (close, or done() of an invalidation) waits until all holds have been given back; from then on there are none. So see to it that they are, in bounded time, whatever a peer does. A hold keeps nobody from declaring the region dead: ask
 * kfi_mr_live() again where it matters. Context: process or softirq. Return: false: it is dead already.
 */
bool kfi_mr_hold(struct kfi_mr *mr, u64 key);
/** kfi_mr_unhold() - no byte of it moves any more; process or softirq */
void kfi_mr_unhold(struct kfi_mr *mr);

/** kfi_mr_settle() - after @mr_end of the operations answered true: no byte can land any more. Process or softirq */
void kfi_mr_settle(struct kfi_mr *mr);

/**
 * kfi_mr_kill() - a peer's send-with-invalidate named @key: make a per-I/O region dead
 * @ep: endpoint the message came through
 * @key: as the peer said
 *
 * To be called before the message's receive completes. Long-lived regions end by their owner alone.
 * Return: 0, no byte can land any more, and the receive has KFI_INVALIDATE; -EACCES: it is an ordinary region's, or
 * another endpoint's, which is a breach of any protocol; -EBUSY: an operation of a peer on it is under way, or the device still
 * knows it: the receive comes without KFI_INVALIDATE, and the owner detaches the region; -ENOENT: likewise, but he is about to
 * do so or has done it, while the message was under way.
 */
int kfi_mr_kill(struct kfi_ep *ep, u64 key);

/* ------------------------------------------------------------------ */
/* Address vectors						      */
/* ------------------------------------------------------------------ */

/**
 * kfi_av_addr() - the address behind a handle
 * @av: table
 * @addr: handle, receive-context bits ignored
 * @buf: room for KFI_ADDR_MAX bytes
 * Context: any but hard interrupt. Return: length, or -EINVAL: not set or removed.
 */
int kfi_av_addr(struct kfi_av *av, kfi_addr_t addr, void *buf);

/** kfi_av_index() - the table index in a handle, without receive-context bits */
u32 kfi_av_index(struct kfi_av *av, kfi_addr_t addr);
/** kfi_av_rx_ctx() - the receive context in a handle */
u32 kfi_av_rx_ctx(struct kfi_av *av, kfi_addr_t addr);

/**
 * kfi_av_reverse() - the handle of an address, O(1)
 * @av: address vector
 * @addr: in the format of its domain
 * Return: the handle or KFI_ADDR_NOTAVAIL.
 */
kfi_addr_t kfi_av_reverse(struct kfi_av *av, const void *addr);

/**
 * kfi_idmap_addr() - the IPv4 address that an administrator has given to a node's number, in one namespace
 * @net: namespace
 * @id: number, 1 to 0xfffff
 * @addr: where to put it
 * Context: any but hard interrupt. Return: 0, -ENOENT: he has given it none.
 */
int kfi_idmap_addr(struct net *net, u32 id, __be32 *addr);
/** kfi_idmap_id() - the way back. Context: as kfi_idmap_addr(). Return: 0, -ENOENT. */
int kfi_idmap_id(struct net *net, __be32 addr, u32 *id);

/* ------------------------------------------------------------------ */
/* Authorization						      */
/* ------------------------------------------------------------------ */

/** KFI_AUTH_PROOF - bytes of a proof */
#define KFI_AUTH_PROOF		32

/**
 * kfi_auth_same() - may endpoints with these attributes talk to each other?
 * @a: one of them
 * @b: the other: info->ep_attr of open endpoints or passive endpoints: the key that each goes by, if any, is there
 *
 * A provider that lets keys be asked for (domain_attr->max_ep_auth_key of its offer is 1) refuses every other peer with
 * -KFI_EKEYREJECTED: before a byte moves, and before a consumer hears of him. Context: any.
 */
bool kfi_auth_same(const struct kfi_ep_attr *a, const struct kfi_ep_attr *b);

/**
 * kfi_auth_proof() - what only an owner of a key can say about something
 * @attr: of an endpoint that has a key
 * @parts: the thing; a random number of whoever is to be convinced belongs to it
 * @count: entries of @parts
 * @proof: where to put KFI_AUTH_PROOF bytes: HMAC-SHA256
 *
 * Context: any but hard interrupt.
 */
void kfi_auth_proof(const struct kfi_ep_attr *attr, const struct kvec *parts, size_t count, u8 *proof);

/**
 * kfi_auth_proved() - is what somebody has said the proof that was wanted?
 * @proof: what kfi_auth_proof() answered, or the beginning of it
 * @said: what has come from outside
 * @len: bytes of either
 *
 * The time that it takes tells nothing of the two. Context: any.
 */
bool kfi_auth_proved(const u8 *proof, const u8 *said, size_t len);

/* ------------------------------------------------------------------ */
/* Connections and events					      */
/* ------------------------------------------------------------------ */

/**
 * kfi_ep_connected() - a connect or accept succeeded: state CONNECTED, event KFI_CONNECTED with the peer's data
 * @ep: endpoint
 * @data: the peer's
 * @len: its bytes
 *
 * Context: process. Return: 0, or -ECANCELED when the endpoint closes meanwhile.
 */
int kfi_ep_connected(struct kfi_ep *ep, const void *data, size_t len);
/** kfi_ep_refused() - a connect or accept failed: state SHUT, error event with @err (negative) and the peer's data */
void kfi_ep_refused(struct kfi_ep *ep, int err, const void *data, size_t len);
/**
 * kfi_ep_disconnected() - the peer shut down or is lost: state SHUT, posted receives end with @err, event KFI_SHUTDOWN
 * @ep: endpoint
 * @err: negative
 *
 * The provider has completed its transmits before. Once per connection; later calls do nothing. Context: process.
 */
void kfi_ep_disconnected(struct kfi_ep *ep, int err);
/**
 * kfi_pep_connreq() - a peer asks to connect: event KFI_CONNREQ
 * @pep: listener
 * @req: embedded request
 * @peer: its address
 * @peerlen: bytes of it
 * @data: private data
 * @len: bytes of it
 *
 * Context: process. Return: 0; -EBUSY: backlog full, or the EQ is; -ESHUTDOWN: not listening any more. On error the
 * provider keeps @req.
 */
int kfi_pep_connreq(struct kfi_pep *pep, struct kfi_connreq *req, const void *peer, size_t peerlen,
		    const void *data, size_t len);
/**
 * kfi_connreq_gone() - the peer of a waiting request went away
 * @req: the request
 *
 * Return: true: the request was still waiting, it is forgotten and the provider may free it; false: an accept or
 * reject has taken it.
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
 * A provider that says so in domain_attr.max_ep_tx_ctx and max_ep_rx_ctx gets three more kinds of endpoints through ep_open,
 * ep_enable, ep_stop and ep_close, told apart by fid.fid.fclass: a scalable endpoint (KFI_CLASS_SEP), which has the address and
 * transfers nothing itself, and its contexts (KFI_CLASS_TX_CTX, KFI_CLASS_RX_CTX), which transfer in one direction each under
 * the address of @kfi_ep.sep. Contexts are enabled after it and closed before it. Where a message goes is in the address
 * handle: kfi_av_rx_ctx().
 */

/**
 * kfi_ep_rx_ctx() - the receive context that a message for an address is for
 * @ep: the endpoint that has the address
 * @index: context that the sender names, not trusted
 *
 * Context: any but hard interrupt, under rcu_read_lock(); the context is there until the end of that, or longer if ep_stop
 * waits for it. Return: a context of a scalable endpoint, another endpoint itself if @index is 0, or NULL.
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

/** kfi_ep_net() - namespace of an endpoint; valid while the endpoint is not stopped */
static inline struct net *kfi_ep_net(const struct kfi_ep *ep)
{
	return read_pnet(&ep->domain->fabric->net);
}

#endif /* _KFI_PROV_H */
