/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kib.h - shared by the files of kfi_ib.ko. docs/verbs-device.md describes how they work together.
 *
 * Locks, outermost first: &kib_fabric.places_lock, &kib_qp.lock, &kib_fabric.lock,
 * &kib_qp.cm_lock, &kib_ring.lock or &kib_srq.lock, &kib_cq.lock. The last four are taken with
 * interrupts off.
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
#include <rdma/iw_cm.h>
#include <kfi_cm.h>
#include <kfi_domain.h>
#include <kfi_eq.h>
#include <kfi_ib.h>
#include <kfi_payer.h>
#include <kfi_rma.h>
#include <kfi_runner.h>
#include "hello.h"

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
	KIB_CALLS	= 100,		/* unanswered calls; a passive endpoint has 128 */
	KIB_DATA	= 256,		/* bytes of private data, with the hello or answer */
	KIB_ROOM	= 18,		/* entries of a send's vector: 64 KiB and a header */
	KIB_INLINE	= 256,		/* bytes of inline data, in place of entries */
	KIB_LKEY	= 1,		/* the key of all local memory; no region has it */
};

/* An orderly end may take so long: the peer need not receive what was posted before. */
#define KIB_SHUT_TIME	(5 * HZ)

#define KIB_MAX_REGION	(1ULL << 40)	/* bytes of a region of a process */

/* What is counted, in the order of stats.c */
enum kib_counter {
	KIB_SENDS,		/* messages */
	KIB_RECVS,		/* receives that have got a message, or an immediate */
	KIB_WRITES,
	KIB_READS,
	KIB_SENT,		/* bytes of messages and writes */
	KIB_RECEIVED,		/* bytes of messages and reads */
	KIB_REGISTRATIONS,	/* fast registrations */
	KIB_FAILED,		/* requests with an error of their own: they end a queue pair */
	KIB_CONNECTED,		/* connections of either end that were made */
	KIB_REFUSED,		/* calls that were refused by this side, or forgotten by it */
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
 * struct kib_fabric - what the devices of a namespace, or the one of a way, share
 * @entry: in the list of all fabrics
 * @refs: its devices
 * @cookie: number of the namespace in which the provider offers its domains, which nothing keeps
 * @way: as that of its device
 * @fabric: fabric of all domains
 * @eq: events of @places
 * @places_lock: serializes the changes of @devs, @places and &kib_dev.nr_listeners
 * @devs: devices, and
 * @places: passive endpoints; both are changed under @lock, too
 * @places_work: the interfaces have changed
 * @lock: protects the following members
 * @listeners: listeners of rdma_cm
 * @calls: calls that wait for an answer, by number, the oldest first
 * @next_call: number of the next call
 * @nr_calls: how many
 */
struct kib_fabric {
	struct list_head	entry;
	refcount_t		refs;
	u64			cookie;
	char			way[ETHTOOL_BUSINFO_LEN];
	struct kfid_fabric	*fabric;
	struct kfid_eq		*eq;
	struct mutex		places_lock;
	struct list_head	devs;
	struct list_head	places;
	struct delayed_work	places_work;
	struct mutex		lock;
	struct list_head	listeners;
	struct list_head	calls;
	unsigned long		next_call;
	unsigned int		nr_calls;
};

/**
 * struct kib_place - a passive endpoint at an interface, or at a way
 * @entry: in &kib_fabric.places
 * @pep: the passive endpoint
 * @ifindex: number of the interface; of a way that of its network device
 * @ifname: its name when the place was opened, by which the provider knows it
 * @format: of its address, which says the family
 */
struct kib_place {
	struct list_head	entry;
	struct kfid_pep		*pep;
	int			ifindex;
	char			ifname[IFNAMSIZ];
	u32			format;
};

/**
 * struct kib_call - a call that waits for an answer
 * @entry: in &kib_fabric.calls
 * @number: its number, which is the provider_data of iw_cm
 * @listener: listener that was told of it; it is only compared
 * @place: passive endpoint where it has arrived, which may be closed: it is only compared
 * @info: the request
 * @ird: reads that the caller answers at a time
 * @privileged: no unprivileged process has made it, as far as the network below knows
 */
struct kib_call {
	struct list_head	entry;
	unsigned long		number;
	const struct iw_cm_id	*listener;
	const struct kfid	*place;
	struct kfi_info		*info;
	u16			ird;
	bool			privileged;
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
 * @gid: GID, the address of @netdev. Written under the RTNL
 * @up: what the last event of the port has said
 * @info: what the provider offers; domains are opened with it
 * @fabric: fabric of all domains
 * @fabric_entry: in &kib_fabric.devs
 * @nr_listeners: listeners of rdma_cm
 * @counts: statistics
 * @qps: queue pairs by number
 * @mrs: regions by the upper 24 bits of their keys
 * @next_qp: where the search for a number begins
 * @next_mr: where the search for a key begins, a random number at first
 */
struct kib_dev {
	struct ib_device	ib;
	struct net_device	*netdev;
	spinlock_t		net_lock;
	struct net		*net;
	char			way[ETHTOOL_BUSINFO_LEN];
	union ib_gid		gid;
	bool			up;
	struct kfi_info		*info;
	struct kib_fabric	*fabric;
	struct list_head	fabric_entry;
	unsigned int		nr_listeners;
	struct kib_counts __percpu *counts;
	struct xarray		qps;
	struct xarray		mrs;
	u32			next_qp, next_mr;
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
 * @vec: memory, as ib_map_mr_sg() has found it
 * @lock: protects @key, @state and @waiters against requests, and receives that report an
 *	invalidation. A leaf, taken with bottom halves off
 * @key: present or last key; the ULP chooses its lower byte
 * @state: whether this side alone, or peers, too, may access the memory
 * @work: the invalidation, in the state ENDING
 * @waiters: slots that wait for its end
 * @rcu: kib_mr_find() may have found it, and mr_ended() may be about to return
 * @umem: memory of a process, or NULL; the following members are for that, and @key does not
 *	change
 * @payer: of the process, held; its memory may stay longer than all other objects of the process
 * @room: bytes that are charged to it
 * @mapped: the pages of it
 * @iova: address that the process gives to the first byte
 * @access: what requests and peers may do, IB_ACCESS_
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
 * @wait: in &kib_mr.waiters; of a shared receive in a list of struct kib_srq or &kib_qp.taken
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
 * @mr: region of a registration or invalidation, or whose memory the request uses
 * @lkey: key of @mr that a request uses
 * @local: address in @mr
 * @wc_flags: of a receive, IB_WC_
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
	struct kib_mr		*mr;
	u32			lkey;
	u64			local;
	int			wc_flags;
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
 * @left: receives that no message has taken
 * @limit: an event is due when fewer are left; 0: not armed
 * @told: no message has taken a receive since the last event
 * @runner: its claim is the right to give receives to the context
 * @run_bh: does that for a context that can't
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
	u32			left;
	u32			limit;
	bool			told;
	struct kfi_runner	runner;
	struct bh_work_struct	run_bh;
	size_t			room;
};

/* States of a queue pair. They follow one another; CONNECTING and READY may be left out. */
enum kib_qp_state {
	KIB_QP_IDLE,		/* requests wait in the rings */
	KIB_QP_CONNECTING,	/* receives are posted to the endpoint */
	KIB_QP_READY,		/* sends, too */
	KIB_QP_ERROR,		/* nothing is given to the endpoint any more */
	KIB_QP_FLUSH,		/* there is no endpoint; requests end */
};

/**
 * struct kib_qp - a queue pair
 * @ib: the RDMA core's part
 * @dev: device
 * @owner: process that has it, or NULL: the kernel
 * @room: bytes that are charged to the payer
 * @refs: references of rdma_cm, and one of the creation
 * @gone: completed with the last reference
 * @cq: completions of the endpoint; its handler runs the queues after each round of them
 * @eq: its events; exists as long as @ep
 * @lock: serializes connect, accept, and the end
 * @ep: endpoint, or NULL. Written under @lock with the claim of @runner
 * @state: enum kib_qp_state, changed by cmpxchg() in this order only. A request that was posted
 *	after a change is started in the new state
 * @runner: its claim is the right to start and report requests
 * @again: runs the queues after a while, if there was no memory for a registration
 * @run_bh: runs the queues for a context that can't do that
 * @shut_work: begins the orderly end if the disconnecting ULP could not, and fails the queue pair
 *	if that end takes too long
 * @end_work: closes the endpoint, and ends the requests
 * @sq: send queue
 * @rq: receive queue. With a shared one it has no slots, and counts what its messages have taken
 * @user: receives that a process posts, in
 * @map: memory that the process has mapped; NULL: there is none. Both are constant
 * @few: what &kfi_ib_rq.wake says; for the runner
 * @taken: shared receives that have ended, by &kfi_cqe.nr; protected by the lock of @rq
 * @last_told: the ULP knows that no message takes a shared receive any more; written by @end_work
 * @destroyed: the ULP wants no more entries
 * @shut: the ULP has disconnected
 * @shut_end: jiffies at which the orderly end takes too long
 * @shut_asked: kfi_shutdown() has begun the orderly end; protected by @lock
 * @sig_all: each send request is reported
 * @stopped: the endpoint has no room: kib_qp_room() is due. For the runner
 * @early: completion of all writes that have ended for the process already
 * @nr_early: how many these are
 * @rq_stop: a receive is not to be used: no other one starts; for the runner
 * @barrier: request that has to end before the next one starts, an invalidation; for the runner
 * @reads: RDMA reads in progress
 * @sq_stop: a send request has failed: no other one starts; for the runner
 * @sq_failed: that was reported, and those behind it are flushed; for the runner
 * @rq_failed: the same of a receive
 * @cm_lock: protects the following members
 * @cm_id: identifier that gets the events of the connection; holds a reference
 * @established: it has got CONNECT_REPLY or ESTABLISHED
 * @ird: reads that this side answers; @ord: that it has in progress
 */
struct kib_qp {
	struct ib_qp		ib;
	struct kib_dev		*dev;
	struct pid		*owner;
	size_t			room;
	refcount_t		refs;
	struct completion	gone;
	struct kfid_cq		*cq;
	struct kfid_eq		*eq;
	struct mutex		lock;
	struct kfid_ep		*ep;
	enum kib_qp_state	state;
	struct kfi_runner	runner;
	struct bh_work_struct	run_bh;
	struct delayed_work	again;
	struct delayed_work	shut_work;
	struct work_struct	end_work;
	struct kib_ring		sq;
	struct kib_ring		rq;
	struct kfi_ib_rq	*user;
	struct kib_map		*map;
	bool			few;
	struct list_head	taken;
	bool			last_told;
	bool			destroyed;
	bool			shut;
	bool			shut_asked;
	unsigned long		shut_end;
	bool			sig_all;
	bool			stopped;
	struct kfi_cqe		early;
	atomic_t		nr_early;
	bool			rq_stop;
	struct kib_slot		*barrier;
	atomic_t		reads;
	bool			sq_stop;
	bool			sq_failed;
	bool			rq_failed;
	spinlock_t		cm_lock;
	struct iw_cm_id		*cm_id;
	bool			established;
	u16			ird, ord;
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
extern bool kib_reserved_ports;

/* device.c */
int kib_dev_add(const char *name, struct net_device *netdev);
void kib_dev_netdev_gone(struct kib_dev *dev);
struct net *kib_net_get(struct kib_dev *dev);
int kib_find(struct kib_dev *dev, const char *ifname, const char *node, u64 flags,
	     struct kfi_info **info);
void kib_dev_set_addr(struct kib_dev *dev);
bool kib_dev_is_up(const struct kib_dev *dev);

/* fabric.c */
int kib_fabric_join(struct kib_dev *dev, struct net *net);
void kib_fabric_leave(struct kib_dev *dev);
void kib_fabrics_changed(const struct net *net);
int kib_places_update(struct kib_fabric *fabric, const struct kib_dev *which);
bool kib_dev_has_place(struct kib_dev *dev);
void kib_places_later(struct kib_fabric *fabric, unsigned long delay);
bool kib_dev_serves(struct kib_dev *dev, int ifindex);
bool kib_dev_ifname(struct kib_dev *dev, int ifindex, char *name);

/* cq.c */
int kib_create_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
		  struct uverbs_attr_bundle *attrs);
int kib_destroy_cq(struct ib_cq *ib, struct ib_udata *udata);
int kib_poll_cq(struct ib_cq *ib, int count, struct ib_wc *wc);
int kib_req_notify_cq(struct ib_cq *ib, enum ib_cq_notify_flags flags);
bool kib_cq_reserve(struct ib_cq *ib);
void kib_cq_add(struct ib_cq *ib, const struct ib_wc *wc);
void kib_cq_forget(struct ib_cq *ib, struct ib_qp *qp);
u32 kib_cq_head(struct ib_cq *ib);
void kib_cq_wait_read(struct ib_cq *ib, u32 head);

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
struct ib_qp *kib_get_qp(struct ib_device *ib, int number);
void kib_qp_add_ref(struct ib_qp *ib);
void kib_qp_rem_ref(struct ib_qp *ib);
int kib_qp_open(struct kib_qp *qp, struct kfi_info *info, bool reserved);
void kib_qp_close(struct kib_qp *qp);
bool kib_qp_fail(struct kib_qp *qp);
void kib_qp_ready(struct kib_qp *qp);
void kib_qp_run(struct kib_qp *qp);
void kib_qp_kick(struct kib_qp *qp);
void kib_qp_posted(struct kib_qp *qp);
void kib_qp_room(struct kfid_ep *ep, void *context);
enum ib_wc_status kib_status(int err);

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
int kib_post_send(struct ib_qp *ib, const struct ib_send_wr *wr, const struct ib_send_wr **bad);
void kib_send_early_done(struct kfid_cq *cq, struct kfi_cqe *cqe,
			 const struct kfi_cq_err_entry *wc);
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
struct kib_slot *kib_srq_next(struct kib_qp *qp);
void kib_srq_reported(struct kib_qp *qp, struct kib_slot *s);
void kib_srq_last(struct kib_qp *qp);

/* cm.c */
bool kib_routed(struct kib_dev *dev, const struct sockaddr_storage *to);
const struct net *kib_id_net(const struct iw_cm_id *id);
int kib_connect(struct iw_cm_id *id, struct iw_cm_conn_param *param);
int kib_accept(struct iw_cm_id *id, struct iw_cm_conn_param *param);
int kib_reject(struct iw_cm_id *id, const void *data, u8 len);
void kib_cm_event(struct kfid_eq *eq, void *context);
void kib_cm_end(struct kib_qp *qp);

/* listen.c */
int kib_create_listen(struct iw_cm_id *id, int backlog);
int kib_destroy_listen(struct iw_cm_id *id);
void kib_place_event(struct kfid_eq *eq, void *context);
struct kib_call *kib_call_take(struct kib_dev *dev, unsigned long number);
void kib_call_free(struct kib_call *call);
void kib_call_end(struct kib_dev *dev, struct kib_call *call, const void *data, size_t len);

#endif /* KIB_H */
