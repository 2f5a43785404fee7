/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kib.h - shared by the files of kfi_ib.ko. docs/verbs-device.md describes how they work together.
 *
 * Locks, outermost first: &kib_fabric.places_lock, &kib_qp.lock, &kib_qp.heard_lock,
 * &kib_qp.asked_lock or &kib_talk.lock, &kib_ring.lock or &kib_srq.lock, &kib_cq.lock. The rings',
 * and those behind them, and &kib_talk.lock are taken with interrupts off.
 */
#ifndef KIB_H
#define KIB_H

#include <linux/bvec.h>
#include <linux/completion.h>
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/in6.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <kfi_atomic.h>
#include <kfi_cm.h>
#include <kfi_domain.h>
#include <kfi_eq.h>
#include <kfi_ib.h>
#include <kfi_netdev.h>
#include <kfi_payer.h>
#include <kfi_rma.h>
#include <kfi_runner.h>
#include "wire.h"

/* What a device offers. A queue may be longer than what an endpoint has in progress. */
enum {
	KIB_MAX_QP	= 65536,
	KIB_MAX_WR	= 16384,	/* requests of a queue */
	KIB_MAX_SGE	= 16,
	KIB_MAX_CQE	= 1 << 20,	/* verbs;ofi_rxm of libfabric makes long queues */
	KIB_MAX_PAGES	= 512,		/* of a fast registration */
	KIB_MAX_MR	= 1 << 20,
	KIB_MAX_READS	= 128,
	KIB_MAX_MSG	= 1 << 30,
	KIB_TX		= 256,		/* operations of an endpoint in progress */
	KIB_TX_MIN	= 32,		/* several times what peers acknowledge together */
	KIB_RX		= 1024,		/* receives posted to an endpoint or a shared context */
	KIB_MTU		= 4096,		/* bytes of a datagram */
	KIB_GIDS	= 32,
	KIB_NO_VLAN	= 0xffff,
	KIB_ROOM	= 18,		/* entries of a send's vector: 64 KiB and a header */
	KIB_INLINE	= 256,		/* bytes of inline data, in place of entries */
	KIB_LKEY	= 1,		/* the key of all local memory; no region has it */
};

/* A Q_Key with this bit is the kernel's, and those who may send raw packets */
#define KIB_QKEY_CONTROLLED	0x80000000U

#define KIB_MAX_REGION	(1ULL << 40)	/* bytes of a region of a process */

/* What is counted, in the order of stats.c */
enum kib_counter {
	KIB_SENDS,		/* messages */
	KIB_RECVS,		/* receives that have got a message, or an immediate */
	KIB_WRITES,
	KIB_READS,
	KIB_ATOMICS,
	KIB_SENT,		/* bytes of messages and writes */
	KIB_RECEIVED,		/* bytes of messages and reads */
	KIB_REGISTRATIONS,	/* fast registrations */
	KIB_FAILED,		/* requests with an error of their own: they end a queue pair */
	KIB_CONNECTED,		/* connections of either end that were made */
	KIB_COUNTERS,
};

/**
 * struct kib_counts - counters of one CPU
 * @value: by enum kib_counter
 */
struct kib_counts {
	u64	value[KIB_COUNTERS];
};

/**
 * struct kib_wait - a queue pair in a list of those that wait; kib_qps_run() runs them
 * @entry: in &kib_cq.waiting or &kib_srq.wanting
 * @qp: the queue pair
 */
struct kib_wait {
	struct list_head	entry;
	struct kib_qp		*qp;
};

/**
 * struct kib_fabric - what the devices of a namespace, or the one of a way, share
 * @entry: in the list of all fabrics
 * @refs: its devices
 * @cookie: number of the namespace in which the provider offers its domains, which nothing keeps
 * @way: as that of its device
 * @fabric: fabric of all domains
 * @eq: events of @places
 * @places_lock: serializes the changes of @devs, @places and @talks, which are read under RCU, too
 * @devs: devices
 * @places: passive endpoints
 * @talks: endpoints of packets
 * @accepts: calls that are being accepted: their place is in use
 * @places_work: interfaces or GIDs have changed
 */
struct kib_fabric {
	struct list_head	entry;
	refcount_t		refs;
	u64			cookie;
	char			way[KFI_NAME_MAX];
	struct kfid_fabric	*fabric;
	struct kfid_eq		*eq;
	struct mutex		places_lock;
	struct list_head	devs;
	struct list_head	places;
	struct list_head	talks;
	atomic_t		accepts;
	struct delayed_work	places_work;
};

/**
 * struct kib_place - the passive endpoint at an interface, or at a way
 * @entry: in &kib_fabric.places
 * @dev: device by which it was opened, and before which it goes
 * @pep: takes the calls of queue pairs
 * @ifindex: number of the interface; of a way that of its network device
 * @ifname: its name when the place was opened, by which the provider knows it
 * @format: of its address, which says the family
 */
struct kib_place {
	struct list_head	entry;
	struct kib_dev		*dev;
	struct kfid_pep		*pep;
	int			ifindex;
	char			ifname[IFNAMSIZ];
	u32			format;
};

/* Receives of an endpoint of packets */
#define KIB_TALK_RX	64

/**
 * struct kib_talk - the endpoint of packets at a GID, or at a way, where it serves all GIDs
 * @entry: in &kib_fabric.talks
 * @fabric: its fabric
 * @dev: device by which it was opened, and before which it goes
 * @gid: the GID; zeros at a way
 * @ifindex: number of the interface
 * @ifname: its name when the endpoint was opened, by which the provider knows it
 * @wanted: kib_talks_open() has seen that the GID is there. Under &kib_fabric.places_lock
 * @domain: domain
 * @ep: endpoint
 * @av: addresses of peers
 * @cq: completions
 * @lock: protects @tx, @nr_tx and @closing
 * @tx: packets that wait
 * @nr_tx: packets that wait or are in flight
 * @closing: no packet is taken any more
 * @work: posts packets
 * @peers: other nodes, the one that was used last at the front; for @work
 * @nr_peers: for @work
 * @peers_by_addr: the same by their handles, which are read under RCU
 * @answers: limits answers to nodes of other versions
 * @rx: receives
 * @kept: of these, how many wait in queue pairs
 */
struct kib_talk {
	struct list_head	entry;
	struct kib_fabric	*fabric;
	struct kib_dev		*dev;
	union ib_gid		gid;
	int			ifindex;
	char			ifname[IFNAMSIZ];
	bool			wanted;
	struct kfid_domain	*domain;
	struct kfid_ep		*ep;
	struct kfid_av		*av;
	struct kfid_cq		*cq;
	spinlock_t		lock;
	struct list_head	tx;
	unsigned int		nr_tx;
	bool			closing;
	struct work_struct	work;
	struct list_head	peers;
	unsigned int		nr_peers;
	struct xarray		peers_by_addr;
	struct ratelimit_state	answers;
	struct kib_rx		*rx[KIB_TALK_RX];
	atomic_t		kept;
};

/**
 * struct kib_packet - a packet that is sent; it belongs to talk.c
 * @entry: in &kib_talk.tx
 * @cqe: its end
 * @peer: to which it is in flight, or NULL
 * @of_process: a process has sent it, or a node of another version has caused it
 * @len: bytes of @data
 * @head: its beginning
 * @data: the rest
 */
struct kib_packet {
	struct list_head	entry;
	struct kfi_cqe		cqe;
	struct kib_peer		*peer;
	bool			of_process;
	u32			len;
	struct kib_packet_head	head;
	u8			data[];
};

/**
 * struct kib_rx - a packet that has come
 * @cqe: completion of the receive
 * @talk: endpoint
 * @node: in &kib_qp.came
 * @vlan: number of the VLAN whose GID it is for, or KIB_NO_VLAN
 * @looped: it was sent by this node, and is freed with its end
 * @len: bytes of @data
 * @head: its beginning, which was checked
 * @data: the rest
 */
struct kib_rx {
	struct kfi_cqe		cqe;
	struct kib_talk		*talk;
	struct llist_node	node;
	u16			vlan;
	bool			looped;
	u32			len;
	struct kib_packet_head	head;
	u8			data[KIB_MTU];
};

/**
 * struct kib_dest - where an address handle or an RC queue pair leads
 * @dgid: GID of the other side
 * @sgid: GID of this side
 * @ifindex: interface that has @sgid
 * @sgid_index: its index
 * @hop_limit: what the ULP has said
 */
struct kib_dest {
	union ib_gid	dgid;
	union ib_gid	sgid;
	int		ifindex;
	u8		sgid_index;
	u8		hop_limit;
};

/**
 * struct kib_ah - an address handle
 * @ib: the RDMA core's part
 * @payer: of the process, or NULL
 * @dest: where it leads
 */
struct kib_ah {
	struct ib_ah		ib;
	struct kfi_payer	*payer;
	struct kib_dest		dest;
};

struct kib_map;

/**
 * struct kib_dev - an RDMA device
 * @ib: the RDMA core's part
 * @netdev: network device, held
 * @net_lock: protects @net
 * @net: its namespace; NULL when @netdev has gone, because the namespace may go, too. It may be
 *	compared without the lock
 * @way: domain with one other end (KFI_ONE_PEER) whose kfi_net device @netdev is; empty if it is
 *	another device. Constant
 * @up: what the last event of the port has said
 * @registered: the RDMA core has its table of GIDs
 * @gid_handler: GIDs have changed
 * @info: what the provider offers; domains are opened with it
 * @fabric: fabric of all domains
 * @fabric_entry: in &kib_fabric.devs
 * @gsi: queue pair 1, or NULL; read under RCU
 * @counts: statistics
 * @mrs: regions by the upper 24 bits of their keys
 * @next_mr: where the search for a key begins, a random number at first
 */
struct kib_dev {
	struct ib_device	ib;
	struct net_device	*netdev;
	spinlock_t		net_lock;
	struct net		*net;
	char			way[KFI_NAME_MAX];
	bool			up;
	bool			registered;
	struct ib_event_handler	gid_handler;
	struct kfi_info		*info;
	struct kib_fabric	*fabric;
	struct list_head	fabric_entry;
	struct kib_qp		*gsi;
	struct kib_counts __percpu *counts;
	struct xarray		mrs;
	u32			next_mr;
};

/**
 * struct kib_pd - a protection domain: a domain of its own, because the core checks keys by domain
 * @ib: the RDMA core's part
 * @domain: the domain
 * @payer: of the process, or NULL: the kernel. It pays for all objects of the domain. Constant
 * @boundary: &kfi_domain_limits.virt_boundary_mask
 */
struct kib_pd {
	struct ib_pd		ib;
	struct kfid_domain	*domain;
	struct kfi_payer	*payer;
	u64			boundary;
};

/**
 * struct kib_cq - a completion queue
 * @ib: the RDMA core's part
 * @payer: of the process, or NULL. Constant
 * @wc: ring of &ib_cq.cqe entries, a power of two; of the kernel
 * @user: the same of a process, in
 * @map: memory that the process has mapped; NULL: the queue is the kernel's. Both are constant
 * @lock: protects the following members
 * @head: entries written since the creation
 * @tail: entries read; of a process &kfi_ib_cq.tail
 * @armed: the handler is due with the next entry; of a process &kfi_ib_cq.armed
 * @full: requests that have ended wait for room
 * @waiting: queue pairs that have such requests
 * @reserved: entries written, and those that kib_cq_add() is about to write
 * @uverbs: what uverbs notes of the queue of a process, or NULL. Constant
 * @events: completions that were reported to the process, roughly
 */
struct kib_cq {
	struct ib_cq		ib;
	struct kfi_payer	*payer;
	struct ib_wc		*wc;
	struct kfi_ib_cq	*user;
	struct kib_map		*map;
	spinlock_t		lock;
	u32			head, tail;
	bool			armed;
	bool			full;
	struct list_head	waiting;
	atomic_t		reserved;
	const struct kib_uverbs_cq *uverbs;
	u32			events;
};

/**
 * struct kib_ucontext - what a process has opened
 * @ib: the RDMA core's part
 * @payer: pays for all of it
 * @maps_lock: protects @maps; a process may leave many pages to look at, so it is no spinlock
 * @maps: memory of queues that have ended, which the process has still mapped
 */
struct kib_ucontext {
	struct ib_ucontext	ib;
	struct kfi_payer	*payer;
	struct mutex		maps_lock;
	struct list_head	maps;
};

/* Who may access the memory of a region of fast registrations */
enum kib_mr_state {
	KIB_MR_FREE,	/* nobody */
	KIB_MR_LOCAL,	/* requests of this side only: it is not registered */
	KIB_MR_SHARED,	/* peers, too */
	KIB_MR_ENDING,	/* it is being invalidated */
};

/**
 * struct kib_mr - a region of fast registrations, or of the memory of a process
 * @ib: the RDMA core's part
 * @mr: the region, or NULL if peers may not access the memory of a process
 * @boundary: as in struct kib_pd
 * @max: entries of @vec
 * @nr: how many are used
 * @vec: memory, as ib_map_mr_sg() has found it. Not that of kfi_mr_biov(), because a ULP may map
 *	other memory before it posts the request that ends the registration, as iSER does
 * @lock: protects @key, @state and @waiters against requests, and receives that report an
 *	invalidation. A leaf, taken with bottom halves off
 * @key: present or last key; the ULP chooses its lower byte
 * @state: whether this side alone, or peers, too, may access the memory
 * @work: the invalidation, in the state ENDING
 * @waiters: slots that wait for its end
 * @ended: kib_dereg_mr() waits for it, or NULL; under @lock
 * @rcu: kib_mr_find() may have found it, and mr_ended() may be about to return
 * @umem: memory of a process, or NULL; the following members are for that, and @key does not
 *	change
 * @payer: of the process, held; its memory may stay longer than all other objects of the process
 * @room: bytes that are charged to it
 * @mapped: the pages of it
 * @iova: address that the process gives to the first byte
 * @access: what requests and peers may do, IB_ACCESS_; of a ULP: what the last registration says
 * @refs: requests that use the memory, and one of the registration
 * @free_work: frees the region
 */
struct kib_mr {
	struct ib_mr		ib;
	struct kfid_mr		*mr;
	u64			boundary;
	unsigned int		max, nr;
	struct bio_vec		*vec;
	spinlock_t		lock;
	u32			key;
	enum kib_mr_state	state;
	struct kfi_mr_work	work;
	struct list_head	waiters;
	struct completion	*ended;
	struct rcu_head		rcu;
	struct ib_umem		*umem;
	struct kfi_payer	*payer;
	size_t			room;
	void			*mapped;
	u64			iova;
	int			access;
	refcount_t		refs;
	struct rcu_work		free_work;
};

/* How far a request is */
enum kib_step {
	KIB_WAITS,	/* not given to the endpoint yet */
	KIB_STARTED,	/* the endpoint has it */
	KIB_DONE,	/* it has ended, and waits for those before it */
};

/**
 * struct kib_slot - a request in a queue
 * @cqe: completion of the endpoint's operation
 * @wait: in &kib_mr.waiters, or &kib_qp.asked of the other side; of a shared receive in a list of
 *	struct kib_srq or &kib_qp.taken
 * @ended: stores that the request has ended, or that one of its callbacks has come. Softirq; the
 *	caller runs the queues of the queue pair then
 * @qp: queue pair; of a shared receive that whose message has taken it
 * @step: written by the runner, and once by the callback that ends the request
 * @left: callbacks that have to come before the request has ended
 * @half: the first of two operations was posted
 * @status: result
 * @wr_id: of the ULP
 * @opcode: of a send request, enum ib_wr_opcode
 * @flags: IB_SEND_
 * @len: bytes
 * @remote: address of the peer's memory
 * @rkey: its key, or the key to invalidate, or the key of a registration
 * @access: of a registration
 * @imm: immediate data; of a receive the remote CQ data
 * @operand: of an atomic operation, as @compare; and @old: what it has found
 * @mr: region of a registration or invalidation, or whose memory the request uses
 * @lkey: key of @mr that a request uses
 * @local: address in @mr
 * @wc_flags: of a receive, IB_WC_
 * @remote_qpn: of a datagram: number of the other queue pair
 * @v4: of a datagram that has come: its GIDs are addresses of IPv4
 * @vlan: the same: as in struct kib_rx
 * @served: bytes that local.c has copied
 * @recv: receive to which local.c copies, or NULL
 * @dest: of a datagram that is sent: where to. Its Q_Key is @rkey
 * @nr: entries of @vec or @big
 * @big: vector that is longer than @vec; owned
 * @held: regions of a process that the request uses, kib_slot_regions()
 * @iter: memory, of which the vector is @vec, @big, or that of @mr
 * @vec: memory; that of a process as struct kvec. Then the regions follow
 */
struct kib_slot {
	struct kfi_cqe		cqe;
	struct list_head	wait;
	void			(*ended)(struct kib_slot *s);
	struct kib_qp		*qp;
	enum kib_step		step;
	atomic_t		left;
	bool			half;
	enum ib_wc_status	status;
	u64			wr_id;
	enum ib_wr_opcode	opcode;
	int			flags;
	u32			len;
	u64			remote;
	u32			rkey;
	u32			access;
	u64			imm;
	u64			operand, compare, old;
	struct kib_mr		*mr;
	u32			lkey;
	u64			local;
	int			wc_flags;
	u32			remote_qpn;
	bool			v4;
	u16			vlan;
	u32			served;
	struct kib_slot		*recv;
	struct kib_dest		dest;
	unsigned int		nr;
	struct bio_vec		*big;
	unsigned int		held;
	struct iov_iter		iter;
	struct bio_vec		vec[];
};

/**
 * struct kib_ring - a send queue or receive queue
 * @lock: serializes posts, which come in any context
 * @slots: memory of the slots
 * @size: bytes of a slot
 * @depth: how many there are, a power of two
 * @sge: elements of a request
 * @room: entries of &kib_slot.vec
 * @head: requests posted since the creation; written under @lock, released behind the request
 * @next: requests started; for the runner
 * @tail: requests reported; written by the runner
 */
struct kib_ring {
	spinlock_t		lock;
	void			*slots;
	size_t			size;
	u32			depth;
	unsigned int		sge;
	unsigned int		room;
	u32			head;
	u32			next;
	u32			tail;
};

/**
 * struct kib_srq - a shared receive queue: a shared receive context of the protection domain
 * @ib: the RDMA core's part
 * @srx: the context
 * @cq: completions of its receives
 * @lock: protects the following members. Posts come in any context
 * @ring: memory of the slots, in no order; its counters are not used
 * @free: slots without a receive
 * @waiting: receives that the context has not got yet, in the order of the posts
 * @posted: those that it has
 * @moving: receives on their way: those that srq_run() gives to the context, and those for which
 *	kfi_cancel() has returned 0 and srq_done() has not run yet. Increased after kfi_cancel()
 *	returns, when srq_done() may have run already: so it can be negative for a moment
 * @reserved: receives that came back are for the queue pairs of @wanting, until @run_bh runs
 * @left: receives that no message has taken
 * @limit: an event is due when fewer are left; 0: not armed
 * @told: no message has taken a receive since the last event
 * @wanting: queue pairs for which a message of this node, or a datagram, has found no receive
 * @runner: its claim is the right to give receives to the context
 * @run_bh: does that for a context that can't
 * @ends: the queue is destroyed: the context gets no receives
 * @room: bytes that are charged to the payer
 */
struct kib_srq {
	struct ib_srq		ib;
	struct kfid_ep		*srx;
	struct kfid_cq		*cq;
	spinlock_t		lock;
	struct kib_ring		ring;
	struct list_head	free;
	struct list_head	waiting;
	struct list_head	posted;
	int			moving;
	bool			reserved;
	u32			left;
	u32			limit;
	bool			told;
	struct list_head	wanting;
	struct kfi_runner	runner;
	struct bh_work_struct	run_bh;
	bool			ends;
	size_t			room;
};

/*
 * How far a queue pair is. The states follow one another; CONNECTING and READY may be left out. A
 * call that fails leads back to IDLE, and so does a modify to RESET from each state. A queue pair
 * of datagrams has no endpoint: it is READY from RTR on.
 */
enum kib_qp_state {
	KIB_QP_IDLE,		/* requests wait in the rings */
	KIB_QP_CONNECTING,	/* there is an endpoint */
	KIB_QP_READY,		/* it is connected: receives are posted to it, and in RTS sends */
	KIB_QP_ERROR,		/* nothing is given to the endpoint any more */
	KIB_QP_FLUSH,		/* there is no endpoint; requests end */
};

/**
 * struct kib_turn - a change of a queue pair that its runner makes, for a process that waits
 * @fn: makes it, before the next pass; bottom halves are off
 * @ep: for @fn
 * @done: it was made
 */
struct kib_turn {
	void			(*fn)(struct kib_qp *qp, struct kib_turn *turn);
	struct kfid_ep		*ep;
	struct completion	done;
};

/**
 * struct kib_qp - a queue pair
 * @ib: the RDMA core's part
 * @dev: device
 * @owner: process that has it, or NULL: the kernel
 * @room: bytes that are charged to the payer
 * @cq: completions of the endpoint; its handler runs the queues after each round of them
 * @eq: its events; exists as long as @ep
 * @lock: serializes modify, call, accept, and the end
 * @ib_state: the state that the ULP has asked for
 * @attr: attributes that it has set, and that nobody looks at but itself
 * @qkey: Q_Key of datagrams
 * @access: what the other side may do to regions, IB_ACCESS_
 * @dest: RC: where the other queue pair is; constant from RTR to RESET
 * @remote_qpn: RC: its number; the same
 * @timeout: time and
 * @retry_cnt: number of repetitions after which a request fails, as verbs count them
 * @rts: sends may start
 * @pair_work: finds and connects the other queue pair (pair.c)
 * @heard_lock: protects @heard, @secret and @paired against packets
 * @heard: READY of the other queue pair; type is 0: there is none
 * @secret: with this number calls are for this queue pair
 * @paired: @dest and @remote_qpn are set; written under @lock, too
 * @lost: the connection has ended
 * @late: requests have waited for it for too long
 * @waits_since: jiffies since which requests wait for a connection
 * @pause: before the next attempt
 * @call: a connection that has called, with the right number; and
 * @call_place: the passive endpoint where it has arrived, which is only compared. Both under
 *	@heard_lock
 * @local: the other side is in this kernel (local.c): there is no endpoint
 * @bounce: a page for the messages of such a queue pair
 * @asked_lock: protects @asked
 * @asked: requests of the other side
 * @came: datagrams that the runner has not looked at yet
 * @held: those that wait for a receive of a shared queue, in order; for the runner
 * @ep: endpoint, or NULL. Written under @lock by the runner
 * @state: enum kib_qp_state, changed by cmpxchg(). A request that was posted after a change is
 *	started in the new state
 * @runner: its claim is the right to start and report requests
 * @turn: what it does before that, or NULL; stored under @lock
 * @send_room: in &kib_cq.waiting of the queue of sends
 * @recv_room: the same of receives
 * @wants: in &kib_srq.wanting
 * @again: runs the queues after a while, if there was no memory for a registration
 * @run_bh: runs the queues for a context that can't do that
 * @end_work: closes the endpoint, and ends the requests
 * @sq: send queue
 * @rq: receive queue. With a shared one it has no slots, and counts what its messages have taken
 * @user: receives that a process posts, in
 * @map: memory that the process has mapped; NULL: there is none. Both are constant
 * @few: what &kfi_ib_rq.wake says; for the runner
 * @taken: shared receives that have ended, by &kfi_cqe.nr; protected by the lock of @rq
 * @last_told: the ULP knows that no message takes a shared receive any more; written by @end_work
 * @destroyed: the ULP wants no more entries
 * @sig_all: each send request is reported
 * @stopped: the endpoint has no room: kib_qp_room() is due. For the runner
 * @rq_stop: a receive is not to be used: no other one starts; for the runner
 * @barrier: request that has to end before the next one starts, an invalidation; for the runner
 * @reads: RDMA reads in progress
 * @sq_stop: a send request has failed: no other one starts; for the runner
 * @sq_failed: that was reported, and those behind it are flushed; for the runner
 * @rq_failed: the same of a receive
 */
struct kib_qp {
	struct ib_qp		ib;
	struct kib_dev		*dev;
	struct pid		*owner;
	size_t			room;
	struct kfid_cq		*cq;
	struct kfid_eq		*eq;
	struct mutex		lock;
	enum ib_qp_state	ib_state;
	struct ib_qp_attr	attr;
	u32			qkey;
	int			access;
	struct kib_dest		dest;
	u32			remote_qpn;
	u8			timeout, retry_cnt;
	bool			rts;
	struct delayed_work	pair_work;
	spinlock_t		heard_lock;
	struct kib_packet_head	heard;
	u64			secret;
	bool			paired;
	bool			lost;
	bool			late;
	unsigned long		waits_since;
	unsigned long		pause;
	struct kfi_info		*call;
	const struct kfid	*call_place;
	bool			local;
	void			*bounce;
	spinlock_t		asked_lock;
	struct list_head	asked;
	struct llist_head	came;
	struct llist_node	*held;
	struct kfid_ep		*ep;
	enum kib_qp_state	state;
	struct kfi_runner	runner;
	struct kib_turn		*turn;
	struct kib_wait		send_room, recv_room, wants;
	struct bh_work_struct	run_bh;
	struct delayed_work	again;
	struct work_struct	end_work;
	struct kib_ring		sq;
	struct kib_ring		rq;
	struct kfi_ib_rq	*user;
	struct kib_map		*map;
	bool			few;
	struct list_head	taken;
	bool			last_told;
	bool			destroyed;
	bool			sig_all;
	bool			stopped;
	bool			rq_stop;
	struct kib_slot		*barrier;
	atomic_t		reads;
	bool			sq_stop;
	bool			sq_failed;
	bool			rq_failed;
};

static inline struct kib_dev *to_kib_dev(struct ib_device *ib)
{
	return container_of(ib, struct kib_dev, ib);
}

static inline struct kib_pd *to_kib_pd(struct ib_pd *ib)
{
	return container_of(ib, struct kib_pd, ib);
}

static inline struct kib_cq *to_kib_cq(struct ib_cq *ib)
{
	return container_of(ib, struct kib_cq, ib);
}

static inline struct kib_mr *to_kib_mr(struct ib_mr *ib)
{
	return container_of(ib, struct kib_mr, ib);
}

static inline struct kib_qp *to_kib_qp(struct ib_qp *ib)
{
	return container_of(ib, struct kib_qp, ib);
}

static inline struct kib_srq *to_kib_srq(struct ib_srq *ib)
{
	return container_of(ib, struct kib_srq, ib);
}

/* Return: the payer of a process; NULL for the kernel, which has no context */
static inline struct kfi_payer *kib_payer(const struct ib_ucontext *context)
{
	return context ? container_of(context, struct kib_ucontext, ib)->payer : NULL;
}

static inline size_t kib_ring_bytes(const struct kib_ring *ring)
{
	return ring->size * ring->depth;
}

static inline struct kib_slot *kib_slot(const struct kib_ring *ring, u32 number)
{
	return ring->slots + ring->size * (number & (ring->depth - 1));
}

/* The regions of a process that a request uses */
static inline struct kib_mr **kib_slot_regions(const struct kib_ring *ring, struct kib_slot *s)
{
	return (struct kib_mr **)&s->vec[ring->room];
}

/* A queue pair of type UC is served as one of type RC: what is lost by a card is not lost here. */
static inline bool kib_is_connected(const struct kib_qp *qp)
{
	return qp->ib.qp_type == IB_QPT_RC || qp->ib.qp_type == IB_QPT_UC;
}

static inline bool kib_is_atomic(const struct kib_slot *s)
{
	return s->opcode == IB_WR_ATOMIC_FETCH_AND_ADD || s->opcode == IB_WR_ATOMIC_CMP_AND_SWP;
}

static inline enum kfi_op kib_atomic_op(const struct kib_slot *s)
{
	return s->opcode == IB_WR_ATOMIC_FETCH_AND_ADD ? KFI_SUM : KFI_CSWAP;
}

/* Rights of peers in terms of kfabric. @access: IB_ACCESS_ */
static inline u64 kib_rights(int access)
{
	return (access & IB_ACCESS_REMOTE_READ ? KFI_REMOTE_READ : 0) |
	       (access & IB_ACCESS_REMOTE_WRITE ? KFI_REMOTE_WRITE : 0) |
	       (access & IB_ACCESS_REMOTE_ATOMIC ? KFI_ATOMIC : 0);
}

/* What peers of a queue pair may do: one of type UC takes no reads, whatever a program allows */
static inline int kib_qp_access(const struct kib_qp *qp)
{
	int access = READ_ONCE(qp->access);

	return qp->ib.qp_type == IB_QPT_UC ? access & IB_ACCESS_REMOTE_WRITE : access;
}

/* The memory at an address of the process */
static inline void *kib_user_mr_at(const struct kib_mr *mr, u64 addr)
{
	return mr->mapped + ib_umem_offset(mr->umem) + (addr - mr->iova);
}

/* Context: any */
static inline void kib_count(struct kib_dev *dev, enum kib_counter counter, u64 n)
{
	this_cpu_add(dev->counts->value[counter], n);
}

/* main.c */
extern struct workqueue_struct *kib_wq;		/* the ends of queue pairs; reclaim may wait */
extern char kib_service[KFI_NAME_MAX];
extern char kib_packet_service[KFI_NAME_MAX];

/* device.c */
int kib_dev_add(const char *name, struct net_device *netdev);
void kib_dev_netdev_gone(struct kib_dev *dev);
struct net *kib_net_get(struct kib_dev *dev);
int kib_find(struct kib_dev *dev, enum kfi_ep_type type, const char *ifname,
	     struct kfi_info **info);
int kib_find_gid(struct kib_dev *dev, enum kfi_ep_type type, int ifindex,
		 const union ib_gid *from, const union ib_gid *to, struct kfi_info **info);
bool kib_dev_is_up(const struct kib_dev *dev);

/* fabric.c */
int kib_fabric_join(struct kib_dev *dev, struct net *net);
void kib_fabric_leave(struct kib_dev *dev);
void kib_fabrics_changed(const struct net *net);
void kib_refuse(struct kib_fabric *fabric, const struct kfid *place, struct kfi_info *info);
void kib_places_now(struct kib_fabric *fabric);
void kib_places_changed(struct kib_fabric *fabric);
bool kib_dev_serves(struct kib_dev *dev, int ifindex);
bool kib_dev_ifname(struct kib_dev *dev, int ifindex, char *name);

/* cq.c */
int kib_create_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
		  struct uverbs_attr_bundle *attrs);
int kib_destroy_cq(struct ib_cq *ib, struct ib_udata *udata);
int kib_poll_cq(struct ib_cq *ib, int count, struct ib_wc *wc);
int kib_req_notify_cq(struct ib_cq *ib, enum ib_cq_notify_flags flags);
bool kib_cq_reserve(struct ib_cq *ib, struct kib_wait *wait);
void kib_cq_add(struct ib_cq *ib, const struct ib_wc *wc);
void kib_cq_forget(struct ib_cq *ib, struct ib_qp *qp);

/* map.c */
void *kib_map_new(struct ib_ucontext *context, struct ib_udata *udata, size_t bytes,
		  struct kib_map **map);
void kib_map_end(struct kib_map *map);
void kib_maps_end(struct kib_ucontext *uc);
int kib_mmap(struct ib_ucontext *context, struct vm_area_struct *vma);
void kib_mmap_free(struct rdma_user_mmap_entry *entry);

/* mr.c */
struct ib_mr *kib_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max);
struct ib_mr *kib_get_dma_mr(struct ib_pd *pd, int access);
int kib_map_mr_sg(struct ib_mr *ib, struct scatterlist *sg, int nents, unsigned int *offset);
int kib_dereg_mr(struct ib_mr *ib, struct ib_udata *udata);
int kib_mr_number(struct kib_dev *dev, struct kib_mr *mr, void *entry);
struct kib_mr *kib_mr_find(struct kib_dev *dev, struct ib_pd *pd, u32 key);
int kib_mr_register(struct kib_mr *mr, u32 key, u32 access);
bool kib_mr_invalidate(struct kib_mr *mr, u32 key, struct kib_slot *s);
void kib_mr_invalidated(struct kib_mr *mr, u32 key);
bool kib_mr_usable(struct kib_mr *mr, u32 key);
unsigned int kib_mr_part(const struct kib_mr *mr, u64 addr, u32 len, struct bio_vec *to);

/* ring.c */
void kib_ring_init(struct kib_ring *ring, u32 depth, u32 sge, u32 room);
int kib_ring_alloc(struct kib_ring *ring, struct kib_qp *qp);
struct kib_slot *kib_ring_slot(struct kib_ring *ring);
struct kib_slot *kib_ring_ended(const struct kib_ring *ring);
int kib_slot_map(struct ib_pd *pd, struct kib_ring *ring, struct kib_slot *s,
		 const struct ib_sge *sge, int nr, int dir);
void kib_slot_release(struct kib_ring *ring, struct kib_slot *s);

/* qp.c */
int kib_create_qp(struct ib_qp *ib, struct ib_qp_init_attr *attr, struct ib_udata *udata);
int kib_modify_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask, struct ib_udata *udata);
int kib_query_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init);
int kib_destroy_qp(struct ib_qp *ib, struct ib_udata *udata);
struct kib_qp *kib_qp_find(struct kib_fabric *fabric, int ifindex, u32 number);
int kib_qp_open(struct kib_qp *qp, struct kfi_info *info);
void kib_qp_reopen(struct kib_qp *qp);
void kib_qp_lost(struct kib_qp *qp);
void kib_qp_close(struct kib_qp *qp);
bool kib_qp_fail(struct kib_qp *qp);
void kib_qp_ready(struct kib_qp *qp);
void kib_qp_ready_local(struct kib_qp *qp);

/* run.c */
void kib_qp_runner_init(struct kib_qp *qp);
void kib_qp_run(struct kib_qp *qp);
void kib_qp_kick(struct kib_qp *qp);
void kib_qp_posted(struct kib_qp *qp);
void kib_qp_room(struct kfid_ep *ep, void *context);
void kib_qps_run(struct list_head *list, spinlock_t *lock);
void kib_qp_turn(struct kib_qp *qp, struct kib_turn *turn);
void kib_qp_quiesce(struct kib_qp *qp);

/* user.c */
int kib_alloc_ucontext(struct ib_ucontext *context, struct ib_udata *udata);
void kib_dealloc_ucontext(struct ib_ucontext *context);
void kib_disassociate_ucontext(struct ib_ucontext *context);
struct ib_mr *kib_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 addr, int access,
			      KFI_IB_DMAH_ARG struct ib_udata *udata);
struct kib_mr *kib_user_mr_get(struct ib_pd *pd, const struct ib_sge *sge, int dir);
void kib_user_mr_put(struct kib_mr *mr);

/* stats.c */
struct rdma_hw_stats *kib_alloc_hw_stats(struct ib_device *ib, u32 port);
int kib_get_hw_stats(struct ib_device *ib, struct rdma_hw_stats *stats, u32 port, int index);
void kib_count_send(struct kib_dev *dev, const struct kib_slot *s);

/* send.c */
enum ib_wc_status kib_status(int err);
int kib_post_send(struct ib_qp *ib, const struct ib_send_wr *wr, const struct ib_send_wr **bad);
void kib_send_start(struct kib_qp *qp);
void kib_send_report(struct kib_qp *qp);

/* recv.c */
int kib_post_recv(struct ib_qp *ib, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad);
int kib_recv_fill(struct ib_pd *pd, struct kib_ring *ring, struct kib_slot *s,
		  const struct ib_recv_wr *wr);
void kib_recv_done(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc);
void kib_recv_msg(struct kib_slot *s, struct kfi_msg *msg);
size_t kib_recv_user_size(const struct kib_ring *ring);
bool kib_recv_tell(struct kib_qp *qp);
void kib_recv_start(struct kib_qp *qp);
struct kib_slot *kib_recv_ready(struct kib_qp *qp);
struct kib_slot *kib_recv_next(struct kib_qp *qp);
void kib_recv_report(struct kib_qp *qp);

/* srq.c */
int kib_create_srq(struct ib_srq *ib, struct ib_srq_init_attr *attr, struct ib_udata *udata);
int kib_modify_srq(struct ib_srq *ib, struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
		   struct ib_udata *udata);
int kib_query_srq(struct ib_srq *ib, struct ib_srq_attr *attr);
int kib_destroy_srq(struct ib_srq *ib, struct ib_udata *udata);
int kib_post_srq_recv(struct ib_srq *ib, const struct ib_recv_wr *wr,
		      const struct ib_recv_wr **bad);
struct kib_slot *kib_srq_take(struct kib_qp *qp, u32 room);
struct kib_slot *kib_srq_next(struct kib_qp *qp);
void kib_srq_reported(struct kib_qp *qp, struct kib_slot *s);
void kib_srq_last(struct kib_qp *qp);

/* talk.c */
extern const struct kfi_versions kib_speaks;
extern struct kfi_wire kib_wire;
struct kib_packet *kib_packet_new(u32 len, gfp_t gfp);
void kib_packet_send(struct kib_fabric *fabric, int ifindex, struct kib_packet *packet);
void kib_rx_put(struct kib_rx *rx);
bool kib_rx_is_for(struct kib_rx *rx, struct kib_dev *dev);
int kib_talks_open(struct kib_dev *dev, const char *ifname, int ifindex);
void kib_talk_close(struct kib_talk *talk);

/* pair.c */
bool kib_packet_came(struct kib_fabric *fabric, int ifindex, struct kib_rx *rx);
bool kib_pair_called(struct kib_fabric *fabric, const struct kfid *place, struct kfi_info *info,
		     const void *data, size_t len);
void kib_pair_refuse(struct kib_qp *qp);
void kib_pair_event(struct kfid_eq *eq, void *context);
void kib_pair_work(struct work_struct *work);
int kib_pair_begin(struct kib_qp *qp);
void kib_pair_end(struct kib_qp *qp);

/* local.c */
int kib_local_ifindex(const struct kib_fabric *fabric, const union ib_gid *gid);
bool kib_local_is_ready(struct kib_qp *qp);
int kib_local_begin(struct kib_qp *qp, struct kib_slot *s);
void kib_local_serve(struct kib_qp *qp);
void kib_local_end(struct kib_qp *qp);
void kib_local_join(struct kib_qp *qp);
void kib_local_leave(struct kib_qp *qp);
void kib_local_wait(void);

/* ud.c */
int kib_dest(const struct rdma_ah_attr *attr, struct kib_dest *dest);
int kib_create_ah(struct ib_ah *ib, struct rdma_ah_init_attr *attr, struct ib_udata *udata);
int kib_query_ah(struct ib_ah *ib, struct rdma_ah_attr *attr);
int kib_destroy_ah(struct ib_ah *ib, u32 flags);
int kib_ud_fill(struct kib_qp *qp, struct kib_slot *s, const struct ib_send_wr *wr);
void kib_ud_send(struct kib_qp *qp, struct kib_slot *s);
bool kib_ud_came(struct kib_qp *qp, struct kib_rx *rx);
void kib_ud_receive(struct kib_qp *qp);
void kib_ud_end(struct kib_qp *qp);

#endif /* KIB_H */
