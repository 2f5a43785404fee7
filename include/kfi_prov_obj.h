/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfi_prov_obj.h - what fabrics, domains, endpoints and their parts look like to kfi.ko and to providers.
 *
 * kfi.ko allocates and frees them; a provider embeds the common structure at the beginning of its own. Include
 * kfi_prov.h, which says what may be done with them.
 */
#ifndef _KFI_PROV_OBJ_H
#define _KFI_PROV_OBJ_H

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/bvec.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/rhashtable-types.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/uio.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>

#include <kfabric.h>
#include <kfi_domain.h>
#include <kfi_endpoint.h>
#include <kfi_eq.h>
#include <kfi_cm.h>
#include <kfi_rma.h>
#include <kfi_tagged.h>
#include <kfi_atomic.h>
#include <kfi_errno.h>

/** KFI_ADDR_MAX - longest provider address in bytes. */
#define KFI_ADDR_MAX		64
/** KFI_CM_DATA_MAX - longest private data of a connection request or answer, in bytes. */
#define KFI_CM_DATA_MAX		256
/** KFI_INJECT_MAX - longest inject the core copies into an operation, in bytes. */
#define KFI_INJECT_MAX		4096
/** KFI_RMA_IOV_MAX - most remote segments of one RMA operation. */
#define KFI_RMA_IOV_MAX		256

struct kfi_provider;
struct kfi_prov_ops;
struct kfi_query;
struct kfi_fabric;
struct kfi_domain;
struct kfi_ep;
struct kfi_pep;
struct kfi_cq;
struct kfi_eq;
struct kfi_cntr;
struct kfi_av;
struct kfi_mr;
struct kfi_oper;
struct kfi_rx;
struct kfi_trigger;
struct kfi_fence;
struct kfi_home;

/**
 * struct kfi_obj - what every fid has
 * @users:	children and bindings that keep this object from being closed
 * @id:		number shown by netlink, unique per class
 * @entry:	in the parent's list of this class (kfi.ko's, under the parent's lock)
 */
struct kfi_obj {
	atomic_t		users;
	u32			id;
	struct list_head	entry;
};

/**
 * struct kfi_fabric - an open fabric
 * @fid:	consumer's handle
 * @obj:	common part
 * @prov:	its provider; the module is pinned
 * @net:	its namespace; read with read_pnet(); not pinned: when the namespace goes, @dead is set
 * @name:	fabric name
 * @dead:	the namespace is gone: everything below answers -ENODEV
 * @lock:	protects @domains, @peps
 * @domains:	open domains
 * @peps:	open passive endpoints
 */
struct kfi_fabric {
	struct kfid_fabric	fid;
	struct kfi_obj		obj;
	struct kfi_provider	*prov;
	possible_net_t		net;
	char			name[KFI_NAME_MAX];
	bool			dead;
	struct mutex		lock;
	struct list_head	domains;
	struct list_head	peps;
};

/**
 * struct kfi_domain - an open domain
 * @fid:	consumer's handle
 * @obj:	common part
 * @fabric:	parent
 * @name:	domain name
 * @info:	private copy of the info it was opened with
 * @limits:	what kfi_domain_limits() answers; the provider fills it in domain_open. A software provider leaves
 *		dma_device NULL and gets kfi.ko's, whose mapping is direct
 * @addrlen:	bytes of one address in this domain's format; the provider sets it in domain_open
 * @device:	what it stands on, set by a provider in domain_open if that can go; see kfi_device_gone()
 * @dead:	the namespace or the device is gone: everything below answers -ENODEV. Written under @lock
 * @lock:	protects @eps (mutex: listed by netlink, walked when namespace or device go), @cntrs and @regions
 * @eps:	open endpoints
 * @cntrs:	open counters
 * @regions:	regions that the provider has registered (&kfi_prov_ops.mr_reg)
 * @mrs:	regions by key, rhashtable of kfi_mr
 * @registered:	how often a region was made ready, per CPU
 * @mems:	memory of kfi_mem_alloc(): struct kfi_mem by page number; found under RCU
 * @eq:	bound event queue or NULL; set once, before endpoints are opened
 */
struct kfi_domain {
	struct kfid_domain	fid;
	struct kfi_obj		obj;
	struct kfi_fabric	*fabric;
	char			name[KFI_NAME_MAX];
	struct kfi_info		*info;
	struct kfi_domain_limits limits;
	size_t			addrlen;
	const void		*device;
	bool			dead;
	struct mutex		lock;
	struct list_head	eps;
	struct list_head	cntrs;
	struct list_head	regions;
	struct rhashtable	mrs;
	u64 __percpu		*registered;
	struct xarray		mems;
	struct kfi_eq		*eq;
};

/**
 * enum kfi_ep_state - life of an endpoint, see docs/locking.md for the arrows
 * @KFI_EP_IDLE:	opened, may be bound
 * @KFI_EP_ENABLED:	RDM, DGRAM: may transfer. MSG: receives may be posted
 * @KFI_EP_CONNECTING:	MSG: connect or accept under way
 * @KFI_EP_CONNECTED:	MSG: may transfer
 * @KFI_EP_SHUT:	MSG: was connected, or its connection failed; no more transfers
 * @KFI_EP_DEAD:	its network is gone (namespace, device); a husk that answers -ENODEV
 */
enum kfi_ep_state {
	KFI_EP_IDLE,
	KFI_EP_ENABLED,
	KFI_EP_CONNECTING,
	KFI_EP_CONNECTED,
	KFI_EP_SHUT,
	KFI_EP_DEAD,
};

/** enum kfi_cntr_dir - which operations a counter bound to an endpoint counts */
enum kfi_cntr_dir {
	KFI_CNTR_SEND,
	KFI_CNTR_RECV,
	KFI_CNTR_READ,
	KFI_CNTR_WRITE,
	KFI_CNTR_REMOTE_READ,
	KFI_CNTR_REMOTE_WRITE,
	KFI_CNTR_DIRS
};

/**
 * struct kfi_stats - per-CPU counts of one endpoint, shown by `kfi stats`
 * @tx_ops: operations posted
 * @tx_bytes: their payload
 * @rx_ops: receives completed
 * @rx_bytes: their payload
 * @rma_in_ops: RMA operations that peers performed here
 * @rma_in_bytes: their payload
 * @errors: operations completed in error
 * @again: posts answered -EAGAIN
 * @unexpected: messages that came before their receive
 * @dropped: unexpected messages of lost peers that were dropped to make room
 * @copied: payload bytes the provider copied on the sending side
 * @spliced: payload bytes it did not
 * @placed: payload bytes of peers that the hardware has put in their place for somebody here. What a peer's RMA does
 *	without anybody here is in no count
 * @bounced: ... that a CPU here had to copy from where the hardware had put them
 */
struct kfi_stats {
	u64 tx_ops, tx_bytes;
	u64 rx_ops, rx_bytes;
	u64 rma_in_ops, rma_in_bytes;
	u64 errors, again, unexpected, dropped;
	u64 copied, spliced;
	u64 placed, bounced;
};

#define kfi_stat_add(ep, field, n)	this_cpu_add((ep)->stats->field, (n))
#define kfi_stat_inc(ep, field)		this_cpu_inc((ep)->stats->field)

/* The same with bottom halves off: no more than an addition on any architecture. */
#define __kfi_stat_add(ep, field, n)	__this_cpu_add((ep)->stats->field, (n))
#define __kfi_stat_inc(ep, field)	__this_cpu_inc((ep)->stats->field)

/**
 * struct kfi_op_pool - the operations of one direction of one endpoint
 * @free:	the free ones: the first, how many are in use, and a count of changes (op.c). What was given back last is
 *		taken next, so that an endpoint with few operations under way stays in few cache lines.
 * @mem:	@depth operations of @stride bytes
 * @base: the memory they lie in
 * @stride:	bytes from one to the next
 * @depth:	tx_attr.size or rx_attr.size
 * @iov_limit:	local segments each has room for
 * @starved:	bits: somebody wants to hear of space; close waits
 *
 * Allocated when the endpoint opens: posting allocates no memory.
 */
struct kfi_op_pool {
	atomic64_t	free;
	void		*mem;
	void		*base;
	size_t		stride;
	u32		depth;
	u32		iov_limit;
	unsigned long	starved;
};

#define KFI_POOL_BITS	20
#define KFI_POOL_MAX	((1U << KFI_POOL_BITS) - 1)

/** kfi_pool_used() - operations of @pool that are in use */
static inline u32 kfi_pool_used(const struct kfi_op_pool *pool)
{
	return (u64)atomic64_read(&pool->free) >> KFI_POOL_BITS & KFI_POOL_MAX;
}

/**
 * struct kfi_cq_waiter - asks to be told when a full CQ has room; embedded by whoever waits
 * @link: kfi.ko's; empty when not waiting
 * @fn: called once, from a work item with bottom halves off and no locks held; may not sleep, may wait again
 */
struct kfi_cq_waiter {
	struct list_head	link;
	void			(*fn)(struct kfi_cq_waiter *w);
};

/**
 * struct kfi_match - receives posted on an endpoint, and messages that came before their receive
 * @lock:	protects everything here but @order; taken with bottom halves off; leaf lock
 * @order:	taken before @lock, around "is this the last landing?" and the entry of one that is not: so the entry with
 *		KFI_MULTI_RECV is behind all others of its buffer
 * @msgs:	the oldest untagged receive, in a ring of all in posting order (multi-receive buffers included)
 * @exact:	tagged receives without ignore bits, hashed by tag: a ring for each bucket, in posting order
 * @wild:	tagged receives with ignore bits, a ring in posting order
 * @unexp_msgs:	unexpected untagged messages in arrival order
 * @unexp_tags:	unexpected tagged messages in arrival order
 * @unexp_hash: the same tagged messages, hashed by tag, each bucket in arrival order
 * @ready:	unexpected messages that a multi-receive buffer took and kfi_match_more() has not handed out yet
 * @claimed:	unexpected tagged messages that KFI_PEEK | KFI_CLAIM has set aside, each for one context
 * @spent:	multi-receive buffers that were released under @lock and end when it is dropped; else empty
 * @space:	waits for room in the CQ while @stalled
 * @bits:	log2 of the number of buckets, from rx_attr.size: the cost of a match does not grow with the depth
 * @mult:	odd random number that hashes tags: a peer that chooses tags can't choose their
 *		buckets
 * @seq:	stamps receives so that exact and wild ones keep their common order
 * @stalled:	an unexpected message (untagged, tagged) has its multi-receive buffer but no CQ slot; later ones wait
 * @waiting:	@space is registered, or about to be
 * @delivering:	somebody is in kfi_match_deliver(), and looks at @ready once more before he leaves
 * @closed:	flushed: arrivals and posts are refused
 */
struct kfi_match {
	spinlock_t		lock;
	spinlock_t		order;
	struct kfi_oper		*msgs;
	struct kfi_oper		**exact;
	struct kfi_oper		*wild;
	struct list_head	unexp_msgs;
	struct list_head	unexp_tags;
	struct list_head	*unexp_hash;
	struct list_head	ready;
	struct list_head	claimed;
	struct list_head	spent;
	struct kfi_cq_waiter	space;
	unsigned int		bits;
	u64			mult;
	u64			seq;
	bool			stalled[2];
	bool			waiting;
	bool			delivering;
	bool			closed;
};

/**
 * struct kfi_ep - an endpoint
 * @fid:	consumer's handle
 * @obj:	common part
 * @domain:	parent
 * @ops:	the provider's operations (one load less on the data path)
 * @type:	KFI_EP_MSG, RDM or DGRAM
 * @state:	&enum kfi_ep_state; written under @lock, read with READ_ONCE() on the data path
 * @lock:	serialises bind, enable, connection calls and close
 * @caps:	granted capabilities
 * @tx_flags:	default op flags of sends and RMA
 * @rx_flags: of receives
 * @tx_levels:	completion levels the provider gives on this endpoint
 * @tx_selective: only operations with KFI_COMPLETION make an entry
 * @rx_selective: likewise
 * @hw_recv:	receives are the provider's (&kfi_prov_ops.rx_posted), not the matching's; it says so in ep_open
 * @inject_size: longest inject
 * @max_msg_size: longest message
 * @min_multi_recv: KFI_OPT_MIN_MULTI_RECV
 * @reclaim: KFI_OPT_RECLAIM: others may wait for memory until its operations end, so these may use what is kept for that. Settled when
 *	it is enabled
 * @av_only: KFI_OPT_AV_ONLY: a caller that is not in the address vector is refused. Settled when
 *		it is enabled
 * @unprivileged: KFI_OPT_UNPRIVILEGED: the endpoint belongs to a process, which has no right to reserved ports.
 *		Settled when it is enabled
 * @op_timeout_ms: KFI_OPT_OP_TIMEOUT_MS, 0: none. Settled when it is enabled
 * @rma_iov_limit: remote segments an operation may name
 * @tx_cq: bound queue of transmits, or NULL
 * @rx_cq: that of receives
 * @eq: bound event queue or NULL
 * @av: bound address vector or NULL
 * @av_entry: in its list
 * @cntr:	bound counters
 * @tx: transmit operations
 * @rx: receive operations
 * @match:	posted receives and unexpected messages
 * @info:	private copy of the info it was opened with
 * @connreq:	the request it will accept, or NULL
 * @srx: shared receive context that its messages go to, or NULL
 * @stx: shared transmit context whose operations it uses
 * @sharers:	shared transmit context: the endpoints bound to it, by @share; under @space_lock
 * @share:	in that list
 * @sep: context: the scalable endpoint that it is one of, else NULL
 * @ctx: its number, 0 for all others
 * @ctxs:	scalable endpoint: its open contexts (kfi.ko's)
 * @rx_ctxs: the receive contexts that are enabled, see kfi_ep_rx_ctx()
 * @triggers:	with KFI_TRIGGER: what its operations wait for (kfi.ko's), those of @tx before those of @rx
 * @home:	its connections, if the provider keeps them by kfi_home.h
 * @fence:	with KFI_FENCE: what waits for earlier transmits (kfi.ko's)
 * @overdue:	with KFI_OPT_OP_TIMEOUT_MS: what looks for operations that take too long (kfi.ko's)
 * @end_err:	why it is DEAD; set before it is
 * @space_fn: one-shot "there is room again" callback
 * @space_arg: its argument
 * @space_lock:	protects @space_fn, @space_arg; bottom halves off
 * @space:	waits on @tx_cq's behalf of @space_fn
 * @drained:	wakes close when an operation ends
 * @stats:	per-CPU counts
 *
 * In the order of use: what every operation reads, what posters of transmits write, what receiving writes, all else. So
 * CPUs that send and CPUs that receive do not take each other's cache lines.
 */
struct kfi_ep {
	struct kfid_ep		fid;
	const struct kfi_prov_ops *ops;
	enum kfi_ep_type	type;
	int			state;
	u64			caps;
	u64			tx_flags;
	u64			tx_levels;
	bool			tx_selective;
	bool			rx_selective;
	bool			hw_recv;
	struct kfi_ep		*stx;

	struct kfi_stats __percpu *stats;
	struct kfi_cq		*tx_cq;
	struct kfi_cq		*rx_cq;
	struct kfi_ep		*srx;
	struct kfi_av		*av;
	u64			rx_flags;
	size_t			inject_size;
	size_t			max_msg_size;
	size_t			rma_iov_limit;

	size_t			min_multi_recv;
	bool			reclaim;
	bool			av_only;
	bool			unprivileged;
	u32			op_timeout_ms;
	struct kfi_domain	*domain;
	struct kfi_cntr		*cntr[KFI_CNTR_DIRS];

	struct kfi_op_pool	tx ____cacheline_aligned_in_smp;

	struct kfi_op_pool	rx ____cacheline_aligned_in_smp;
	struct kfi_match	match;

	struct mutex		lock ____cacheline_aligned_in_smp;
	struct kfi_obj		obj;
	struct kfi_eq		*eq;
	struct list_head	av_entry;
	struct kfi_info		*info;
	struct kfi_connreq	*connreq;
	struct kfi_ep		*sep;
	u16			ctx;
	struct xarray		ctxs;
	struct xarray		rx_ctxs;
	struct kfi_home		*home;
	struct kfi_trigger	*triggers;
	struct kfi_fence	*fence;
	struct kfi_overdue	*overdue;
	int			end_err;
	void			(*space_fn)(struct kfid_ep *ep, void *context);
	void			*space_arg;
	spinlock_t		space_lock;
	struct kfi_cq_waiter	space;
	struct list_head	sharers;
	struct list_head	share;
	wait_queue_head_t	drained;
};

/**
 * struct kfi_pep - a passive (listening) endpoint
 * @fid: consumer's handle
 * @obj: common part
 * @fabric: parent
 * @ops: the provider's
 * @lock:	protects everything from @eq on, but for requests; the provider's listen is called under it
 * @eq:		bound event queue
 * @info:	private copy
 * @req_lock:	protects the requests; inside of @lock, and taken by providers' reports
 * @connreqs:	requests reported and neither accepted nor rejected yet
 * @nr_connreqs: their number; bounded by @backlog
 * @backlog:	most requests held for the consumer (KFI_BACKLOG)
 * @listening:	kfi_listen() has succeeded; written under both
 * @dead:	closed, or its network is gone: the provider has let go of it
 * @device:	what it stands on, set by a provider in pep_open, pep_setname or listen if that can go; see kfi_device_gone()
 */
struct kfi_pep {
	struct kfid_pep		fid;
	struct kfi_obj		obj;
	struct kfi_fabric	*fabric;
	const struct kfi_prov_ops *ops;
	struct mutex		lock;
	struct kfi_eq		*eq;
	struct kfi_info		*info;
	struct mutex		req_lock;
	struct list_head	connreqs;
	unsigned int		nr_connreqs;
	unsigned int		backlog;
	bool			listening;
	bool			dead;
	const void		*device;
};

/**
 * struct kfi_connreq - a connection request that waits for accept or reject; embedded by the provider
 * @fid:	fclass KFI_CLASS_CONNREQ; kfi_info.handle of the CONNREQ event points here
 * @entry:	in &kfi_pep.connreqs
 * @pep:	the listener
 */
struct kfi_connreq {
	struct kfid		fid;
	struct list_head	entry;
	struct kfi_pep		*pep;
};

#endif /* _KFI_PROV_OBJ_H */
