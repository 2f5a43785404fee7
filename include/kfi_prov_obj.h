/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfi_prov_obj.h - the structures of fabrics, domains, endpoints and their parts, as kfi.ko and
 * providers see them. Included by kfi_prov.h, which describes how they may be used.
 *
 * kfi.ko allocates and frees these structures. The structure of a provider begins with the common
 * one. Members are owned by kfi.ko and read only for providers, unless their description says
 * something else.
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
#include <linux/siphash.h>
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
#include <kfi_hold.h>
#include <kfi_rma.h>
#include <kfi_tagged.h>
#include <kfi_atomic.h>
#include <kfi_runner.h>
#include <kfi_errno.h>

/** KFI_ADDR_MAX - length in bytes of the longest address */
#define KFI_ADDR_MAX		64
/** KFI_CM_DATA_MAX - bytes of private data that a connection request or answer can have */
#define KFI_CM_DATA_MAX		256
/** KFI_INJECT_MAX - highest &kfi_ep.inject_size, in bytes */
#define KFI_INJECT_MAX		4096
/** KFI_RMA_IOV_MAX - highest &kfi_ep.rma_iov_limit */
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
struct kfi_conn_set;

/**
 * struct kfi_obj - common part of all objects
 * @users: number of children and bindings, which keep the object from being closed
 * @id: number of the object for netlink. Numbers increase, whatever the class
 * @entry: in the parent's list of this class, under the parent's lock
 */
struct kfi_obj {
	atomic_t		users;
	u32			id;
	struct list_head	entry;
};

/**
 * struct kfi_fabric - an open fabric
 * @fid: handle of the consumer
 * @obj: common part
 * @prov: provider, whose module can't be unloaded
 * @net: network namespace, read by read_pnet(). The fabric holds no reference: when the namespace
 *	goes, it is set to NULL
 * @name: name of the fabric
 * @account: account that pays for connections and unexpected messages, or NULL. Does not change
 *	after the first object was opened in the fabric
 * @dead: the namespace has gone, and all objects of the fabric return -ENODEV
 * @walks: calls of kfi_walk_fabrics() that look at the fabric, for which its close waits
 * @lock: protects @domains and @peps
 * @domains: open domains
 * @peps: open passive endpoints
 */
struct kfi_fabric {
	struct kfid_fabric	fid;
	struct kfi_obj		obj;
	struct kfi_provider	*prov;
	possible_net_t		net;
	char			name[KFI_NAME_MAX];
	struct kfi_account	*account;
	bool			dead;
	unsigned int		walks;
	struct mutex		lock;
	struct list_head	domains;
	struct list_head	peps;
};

/**
 * struct kfi_domain - an open domain
 * @fid: handle of the consumer
 * @obj: common part
 * @fabric: parent
 * @name: name of the domain
 * @info: copy of the info that the domain was opened with
 * @account: account that pays for what endpoints hold, or NULL. Does not change after the first one
 *	was opened
 * @limits: limits that kfi_domain_limits() returns. The provider sets them in
 *	&kfi_prov_ops.domain_open. If a software provider leaves dma_device NULL, kfi.ko sets it to
 *	a device of its own with direct mapping
 * @addrlen: length in bytes of an address. The provider sets it in &kfi_prov_ops.domain_open
 * @device: device that the domain uses, if it can be removed, for kfi_device_gone(). The provider
 *	sets it in &kfi_prov_ops.domain_open
 * @dead: the namespace or the device has gone, and all objects of the domain return -ENODEV.
 *	Written under @lock
 * @lock: protects @eps, @regions and @writers. A mutex, because netlink lists the endpoints, and the
 *	end of a namespace or device stops them, under it
 * @eps: open endpoints
 * @writers: devices that may write to places (kfi_place_writer_add())
 * @regions: regions for which &kfi_prov_ops.mr_reg was called
 * @slots: &struct kfi_mr by index, which is the low part of its key, read under RCU: regions whose
 *	keys kfi.ko chooses
 * @next_slot: where the search for a free slot begins, so that none is soon used again
 * @slot_mask: the part of a key that is an index in @slots; 0 if keys are too short for that
 * @key_secret: secret from which keys of @slots are made
 * @mrs: hash table of the other regions, by key
 * @prov_keys: set by the provider in &kfi_prov_ops.domain_open: the key of a region is
 *	&kfi_mr.prov_key, and a region has to be bound to an endpoint before it has a key
 * @registered: number of times that a region was made available to peers, per CPU
 * @mems: memory of kfi_mem_alloc(): &struct kfi_mem by page number, read under RCU
 * @eq: bound event queue, or NULL. Does not change after the first endpoint was opened
 */
struct kfi_domain {
	struct kfid_domain	fid;
	struct kfi_obj		obj;
	struct kfi_fabric	*fabric;
	char			name[KFI_NAME_MAX];
	struct kfi_info		*info;
	struct kfi_account	*account;
	struct kfi_domain_limits limits;
	size_t			addrlen;
	const void		*device;
	bool			dead;
	bool			prov_keys;
	struct mutex		lock;
	struct list_head	eps;
	struct list_head	writers;
	struct list_head	regions;
	struct xarray		slots;
	u32			next_slot;
	u32			slot_mask;
	siphash_key_t		key_secret;
	u64 __percpu		*registered;
	struct xarray		mems;
	struct rhashtable	mrs;
	struct kfi_eq		*eq;
};

/**
 * enum kfi_ep_state - state of an endpoint; kfi/ep_state.c has the transitions
 * @KFI_EP_IDLE: opened, can be bound
 * @KFI_EP_ENABLED: RDM, DGRAM: can transfer. MSG: receives can be posted
 * @KFI_EP_CONNECTING: MSG: connect or accept is in progress
 * @KFI_EP_CONNECTED: MSG: can transfer
 * @KFI_EP_SHUT: MSG: the connection has ended or failed; no transfers
 * @KFI_EP_DEAD: closed, or the namespace or device has gone; posts return -ENODEV
 */
enum kfi_ep_state {
	KFI_EP_IDLE,
	KFI_EP_ENABLED,
	KFI_EP_CONNECTING,
	KFI_EP_CONNECTED,
	KFI_EP_SHUT,
	KFI_EP_DEAD,
};

/**
 * enum kfi_cntr_dir - index of the counters that are bound to an endpoint
 * @KFI_CNTR_SEND: counts sends
 * @KFI_CNTR_RECV: counts receives
 * @KFI_CNTR_READ: counts RMA reads, and atomic operations that return old values
 * @KFI_CNTR_WRITE: counts RMA writes, and other atomic operations
 * @KFI_CNTR_REMOTE_READ: counts reads of peers
 * @KFI_CNTR_REMOTE_WRITE: counts writes of peers
 * @KFI_CNTR_DIRS: number of counters
 */
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
 * struct kfi_stats - statistics of one endpoint on one CPU, for "kfi stats"
 * @tx_ops: transmit operations that were posted
 * @tx_bytes: bytes of payload in @tx_ops, without the messages of replies
 * @rx_ops: receives that were completed
 * @rx_bytes: bytes of payload in @rx_ops
 * @rma_in_ops: RMA and atomic operations that peers have performed on this side
 * @rma_in_bytes: bytes of payload in @rma_in_ops
 * @errors: operations that were completed with an error
 * @again: posts that returned -EAGAIN
 * @unexpected: messages that arrived before their receive was posted
 * @dropped: unexpected messages of lost peers that were dropped to make room
 * @copied: bytes of payload that the provider has copied to send them. Counted by the provider
 * @spliced: bytes of payload that the provider has sent from the consumer's pages. Counted by the
 *	provider
 * @placed: bytes of payload that hardware has placed at their destination for an operation of this
 *	side. RMA of a peer that no code on this side takes part in is not counted. Counted by the
 *	provider
 * @bounced: bytes of payload that hardware has placed elsewhere, and a CPU has copied. Counted by
 *	the provider
 * @granted: bytes of payload that this side has written to regions of peers by lasting grants,
 *	without a request for each write. Counted by the message protocol
 */
struct kfi_stats {
	u64 tx_ops, tx_bytes;
	u64 rx_ops, rx_bytes;
	u64 rma_in_ops, rma_in_bytes;
	u64 errors, again, unexpected, dropped;
	u64 copied, spliced;
	u64 placed, bounced, granted;
};

/* Add to a count, in any context. */
#define kfi_stat_add(ep, field, n)	this_cpu_add((ep)->stats->field, (n))
#define kfi_stat_inc(ep, field)		this_cpu_inc((ep)->stats->field)

/* The same with bottom halves off: on every architecture this is a plain addition. */
#define __kfi_stat_add(ep, field, n)	__this_cpu_add((ep)->stats->field, (n))
#define __kfi_stat_inc(ep, field)	__this_cpu_inc((ep)->stats->field)

/**
 * struct kfi_op_pool - operations of one direction of one endpoint
 * @free: list of free operations: index of the first one, number of operations that are in use, and
 *	number of changes, in one word (kfi/pool.h). The operation that was freed last is used
 *	next, so an endpoint with few operations in progress uses few cache lines
 * @mem: @depth operations of @stride bytes
 * @base: allocated memory, which contains @mem and @next
 * @next: for each free operation the index + 1 of the next free one; 0 for the last
 * @stride: distance in bytes of two operations
 * @depth: number of operations, tx_attr.size or rx_attr.size
 * @iov_limit: number of local segments that each operation has room for
 * @starved: bits: kfi_ep_tx_space() waits for a free operation; kfi_close() waits for the last
 *	operation
 *
 * Allocated when the endpoint is opened, so that a post allocates no memory.
 */
struct kfi_op_pool {
	atomic64_t	free;
	void		*mem;
	void		*base;
	u32		*next;
	size_t		stride;
	u32		depth;
	u32		iov_limit;
	unsigned long	starved;
};

#define KFI_POOL_BITS	20
#define KFI_POOL_MAX	((1U << KFI_POOL_BITS) - 1)

/**
 * kfi_pool_used() - return the number of operations that are in use
 * @pool: the pool
 */
static inline u32 kfi_pool_used(const struct kfi_op_pool *pool)
{
	return (u64)atomic64_read(&pool->free) >> KFI_POOL_BITS & KFI_POOL_MAX;
}

/**
 * struct kfi_cq_waiter - callback for a free slot in a completion queue, see kfi_cq_wait_space()
 * @link: in the list of the queue; empty if the waiter does not wait. Owned by kfi.ko
 * @fn: called once, in a work item, with bottom halves off and without locks. It must not sleep,
 *	and may wait again. Set by the waiter
 */
struct kfi_cq_waiter {
	struct list_head	link;
	void			(*fn)(struct kfi_cq_waiter *w);
};

/**
 * struct kfi_match_search - receives that search for an unexpected message (kfi/match.c)
 * @ops: the receives, in the order of posting. They are in no ring
 * @at: entry of the last message that the first receive was compared with, or the head of the list
 *	of messages; NULL: the search has not begun
 */
struct kfi_match_search {
	struct list_head	ops;
	struct list_head	*at;
};

/**
 * struct kfi_match - posted receives and unexpected messages of an endpoint
 * @lock: protects all members but @order. A leaf lock, taken with bottom halves off
 * @order: taken before @lock. Held from the decision that a message is not the last one in its
 *	multi-receive buffer until its completion is written, so that the completion with
 *	KFI_MULTI_RECV comes after all others of the buffer
 * @msgs: ring of untagged receives in posting order, multi-receive buffers included; points to the
 *	oldest
 * @exact: hash table of tagged receives without ignore bits, by tag. Each bucket is a ring in
 *	posting order
 * @wild: ring of tagged receives with ignore bits, in posting order
 * @unexp_msgs: unexpected untagged messages in the order of arrival
 * @unexp_tags: unexpected tagged messages in the order of arrival
 * @unexp_hash: hash table of the messages in @unexp_tags, by tag. Each bucket is in the order of
 *	arrival
 * @unexp_source: hash table of all unexpected messages by the address of the sender, for directed
 *	receives; NULL if there are none. Each bucket is in the order of arrival; those with an odd
 *	index have the tagged messages
 * @search: receives that search, by kind: 0 untagged, 1 tagged
 * @work: continues the searches
 * @steps: number of messages that are compared in one hold of @lock
 * @slow: a post of this kind does not go directly to a ring: receives search, or @closed
 * @ready: unexpected messages that have a receive now, and were not passed to
 *	&kfi_prov_ops.rx_matched yet
 * @claimed: unexpected tagged messages that KFI_PEEK | KFI_CLAIM has reserved for a context
 * @released: multi-receive buffers and peeks that have ended under @lock, and are completed when it
 *	is unlocked; empty at other times
 * @space: waits for a slot in the completion queue while @stalled
 * @bits: log2 of the number of buckets, from rx_attr.size. So the cost of a match does not depend
 *	on the number of receives
 * @hash_key: random key of the hash of tags, so that a peer can't choose tags that share a bucket
 * @seq: sequence number of the next receive, by which receives in @exact and @wild are ordered
 * @stalled: an unexpected message (index 0: untagged, 1: tagged) fits the first receive of @search,
 *	a multi-receive buffer, but the completion queue has no free slot. Later messages of the
 *	kind have to wait. Ends at the latest when that receive leaves @search
 * @waiting: @space is registered, or is being registered
 * @deliver: one context at a time delivers @ready, in kfi_match_deliver()
 * @closed: the endpoint closes; messages and posts are refused
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
	struct list_head	released;
	struct kfi_cq_waiter	space;
	unsigned int		bits;
	u64			hash_key[2];
	u64			seq;
	bool			slow[2];
	bool			stalled[2];
	bool			waiting;
	bool			closed;
	struct kfi_runner	deliver;
	struct list_head	*unexp_source;
	struct kfi_match_search	search[2];
	unsigned int		steps;
	struct work_struct	work;
};

/**
 * struct kfi_ep - an endpoint
 * @fid: handle of the consumer
 * @ops: operations of the provider; here to save a load on the data path. The provider may set
 *	others in &kfi_prov_ops.ep_open, for endpoints of a type that differs from the others
 * @type: KFI_EP_MSG, KFI_EP_RDM or KFI_EP_DGRAM
 * @state: &enum kfi_ep_state. Changed by cmpxchg(), read by READ_ONCE()
 * @caps: capabilities
 * @tx_flags: default operation flags of transmits
 * @tx_levels: completion levels that the endpoint supports. Set by the provider in
 *	&kfi_prov_ops.ep_open
 * @tx_selective: only transmits with KFI_COMPLETION write a completion
 * @rx_selective: only receives with KFI_COMPLETION write a completion
 * @hw_recv: receives are posted to &kfi_prov_ops.rx_posted instead of the matching. Set by the
 *	provider in &kfi_prov_ops.ep_open
 * @stx: shared transmit context, whose operations the endpoint uses, or NULL
 * @stats: statistics per CPU
 * @tx_cq: completion queue of transmits, or NULL
 * @rx_cq: completion queue of receives, or NULL
 * @srx: shared receive context, which receives the messages of the endpoint, or NULL
 * @av: address vector, or NULL
 * @rx_flags: default operation flags of receives
 * @inject_size: longest payload with KFI_INJECT, bytes
 * @max_msg_size: longest message or RMA operation, bytes
 * @rma_iov_limit: highest number of remote segments of an operation
 * @reply_max: most data of a KFI_OPC_REPLY, bytes; 0, unless &kfi_prov_ops.ep_open sets it: none
 * @min_multi_recv: KFI_OPT_MIN_MULTI_RECV, bytes
 * @eager_size: KFI_OPT_EAGER_SIZE: longest message that peers send without waiting for its receive,
 *	bytes. The provider sets it in &kfi_prov_ops.ep_open. Does not change after the endpoint was
 *	enabled
 * @eager_max: highest value of @eager_size; 0: the endpoint does not have the option. Set by the
 *	provider in &kfi_prov_ops.ep_open
 * @eager_set: the consumer has set the option
 * @reclaim: KFI_OPT_RECLAIM: memory reclaim may wait for the operations of the endpoint, which may
 *	therefore use memory reserves. Does not change after the endpoint was enabled
 * @ack_delivered: KFI_OPT_ACK_DELIVERED: a message is acknowledged when it is in its receive. Does
 *	not change after the endpoint was enabled
 * @av_only: KFI_OPT_AV_ONLY: a caller that is not in the address vector is refused. Does not change
 *	after the endpoint was enabled
 * @unprivileged: KFI_OPT_UNPRIVILEGED: the endpoint belongs to a process: no reserved ports, and
 *	no pages of PCI devices in its payload. Does not change after the endpoint was enabled
 * @need_privilege: KFI_OPT_NEED_PRIVILEGE of an MSG endpoint. Does not change after the endpoint
 *	was enabled
 * @remote_denied: rights that KFI_OPT_REMOTE_ACCESS takes from peers
 * @remote_chosen: the option was set
 * @leased: a peer had a lease of a region (kfi_mr_lease()). Set before the lease begins, and stays
 * @op_timeout_ms: KFI_OPT_OP_TIMEOUT_MS, milliseconds; 0: no time limit. Does not change after the
 *	endpoint was enabled
 * @domain: parent
 * @counted: one of @cntr is bound
 * @cntr: bound counters, by &enum kfi_cntr_dir
 * @tx: transmit operations
 * @rx: receive operations
 * @match: posted receives and unexpected messages
 * @lock: serialises bind, enable, connection calls, reset and close
 * @obj: common part
 * @life: number that is never used again for another endpoint; kfi_ep_reset() assigns a new one.
 *	Owned by kfi.ko
 * @eq: event queue, or NULL
 * @av_entry: in the list of @av
 * @info: copy of the info that the endpoint was opened with
 * @connreq: connection request that the endpoint will accept, or NULL
 * @sep: scalable endpoint of a context, else NULL
 * @ctx: number of a context in @sep, else 0
 * @ctxs: open contexts of a scalable endpoint
 * @rx_ctxs: enabled receive contexts of a scalable endpoint, see kfi_ep_rx_ctx()
 * @conn_set: connection set, if the provider uses kfi_conn_set.h
 * @hold: for how long the network of the endpoint was held; NULL: it never is. The provider sets it
 *	when the endpoint is opened; it is valid until ep_stop
 * @overdue: with KFI_OPT_OP_TIMEOUT_MS: work item that searches for operations that take too long
 * @end_err: error of the operations that are completed because the endpoint is KFI_EP_DEAD. Set
 *	before the state
 * @space_fn: callback of kfi_ep_tx_space(), or NULL
 * @space_arg: second argument of @space_fn
 * @space_lock: protects @space_fn, @space_arg and @sharers. Taken with bottom halves off
 * @space: waiter at @tx_cq that calls @space_fn
 * @sharers: endpoints that are bound to a shared transmit context, by @share
 * @share: in &kfi_ep.sharers of @stx
 * @regions: per-I/O regions that are bound to the endpoint, by &kfi_mr.bound
 * @drained: woken when an operation ends while kfi_close() waits
 * @srx_nr: receives with KFI_CQE of @srx that messages of the endpoint have taken since it was
 *	opened, see &kfi_cqe.nr. Protected by the &kfi_match.lock of @srx
 * @srx_left: those of them whose done() has not returned; kfi_close() waits for them
 *
 * The members are ordered by use: first what every operation reads, then what transmits write, then
 * what receives write, then the others. So CPUs that send and CPUs that receive do not compete for
 * cache lines.
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
	bool			counted;
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
	size_t			reply_max;

	size_t			min_multi_recv;
	size_t			eager_size;
	size_t			eager_max;
	bool			eager_set;
	bool			reclaim;
	bool			ack_delivered;
	bool			av_only;
	bool			unprivileged;
	bool			need_privilege;
	u64			remote_denied;
	bool			remote_chosen;
	bool			leased;
	u32			op_timeout_ms;
	struct kfi_domain	*domain;
	struct kfi_cntr		*cntr[KFI_CNTR_DIRS];

	struct kfi_op_pool	tx ____cacheline_aligned_in_smp;

	struct kfi_op_pool	rx ____cacheline_aligned_in_smp;
	struct kfi_match	match;

	struct mutex		lock ____cacheline_aligned_in_smp;
	struct kfi_obj		obj;
	u64			life;
	struct kfi_eq		*eq;
	struct list_head	av_entry;
	struct kfi_info		*info;
	struct kfi_connreq	*connreq;
	struct kfi_ep		*sep;
	u16			ctx;
	struct xarray		ctxs;
	struct xarray		rx_ctxs;
	struct kfi_conn_set	*conn_set;
	struct kfi_hold		*hold;
	struct kfi_overdue	*overdue;
	int			end_err;
	void			(*space_fn)(struct kfid_ep *ep, void *context);
	void			*space_arg;
	spinlock_t		space_lock;
	struct kfi_cq_waiter	space;
	struct list_head	sharers;
	struct list_head	share;
	struct list_head	regions;
	wait_queue_head_t	drained;
	u64			srx_nr;
	atomic_t		srx_left;
};

/**
 * struct kfi_pep - a passive endpoint
 * @fid: handle of the consumer
 * @obj: common part
 * @fabric: parent
 * @ops: operations of the provider
 * @lock: protects the members below except those under @req_lock. Held while
 *	&kfi_prov_ops.listen is called
 * @eq: event queue, or NULL
 * @info: copy of the info that the passive endpoint was opened with
 * @req_lock: protects @connreqs, @nr_connreqs and @backlog. Inside @lock, and inside the locks that
 *	providers hold when they call kfi_pep_connreq()
 * @connreqs: requests that were reported, and were neither accepted nor rejected yet
 * @nr_connreqs: number of requests in @connreqs, at most @backlog
 * @backlog: limit for @nr_connreqs
 * @listening: kfi_listen() has succeeded. Written under @lock and @req_lock
 * @need_privilege: KFI_OPT_NEED_PRIVILEGE. Does not change once @listening is set
 * @dead: closed, or the namespace or device has gone; &kfi_prov_ops.pep_close was called
 * @device: device that the passive endpoint uses, if it can be removed, for kfi_device_gone(). The
 *	provider sets it in &kfi_prov_ops.pep_open, &kfi_prov_ops.pep_setname or
 *	&kfi_prov_ops.listen
 * @hold: as &kfi_ep.hold, set in &kfi_prov_ops.pep_open and valid until pep_close
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
	bool			need_privilege;
	bool			dead;
	const void		*device;
	struct kfi_hold		*hold;
};

/**
 * struct kfi_connreq - a connection request that waits for the consumer; part of the provider's
 *	connection
 * @number: the handle in the info of the event KFI_CONNREQ, a number that no other request has
 * @entry: in &kfi_pep.connreqs
 * @pep: passive endpoint
 */
struct kfi_connreq {
	unsigned long		number;
	struct list_head	entry;
	struct kfi_pep		*pep;
};

#endif /* _KFI_PROV_OBJ_H */
