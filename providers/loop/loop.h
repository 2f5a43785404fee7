/* SPDX-License-Identifier: GPL-2.0 */
/*
 * loop.h - shared by the files of kfi_loop.ko.
 *
 * The provider connects endpoints of one kernel: a peer is another endpoint of the same network
 * namespace, found by its number.
 *
 * Locks, outermost first:
 *
 *   kfi_ep.lock, kfi_pep.lock	mutexes of kfi.ko around open, enable, connection calls and close
 *   loop_connreq.lock		spin lock, bh off, no other lock with it: the initiator of a request
 *   loop_ep.lock		spin lock, bh off: state of the endpoint (@up, @stopped, @err), its
 *				messages that wait for a receive (@unexpected), its connection
 *				request and its events (@req, @events and the following members)
 *   loop_net.stall_lock		spin lock, bh off: operations that wait for room in a peer's
 *				completion queue
 *   loop_commit_lock		spin lock, bh off, no other lock with it: operations that wait for
 *				persist()
 *   locks inside calls of kfi.ko	leaves: matching, completion queues
 *
 * loop_ep.lock of two endpoints are never held together, so endpoints that send to each other at
 * the same time cannot deadlock. kfi_rx_arrive() and kfi_rx_unqueue() are called under loop_ep.lock
 * of the sender. Payload is copied, and operations are completed, without a lock.
 *
 * Life times: an endpoint is found in loop_net.eps under rcu_read_lock(), and the caller then takes
 * a reference (@users). loop_ep_stop() removes the endpoint from the array and waits until @users
 * is 0; loop_ep_close() waits for a grace period. References are held for a short time: no
 * waiting operation holds one. @nr_tx counts the operations that the endpoint has
 * accepted and not completed; loop_ep_down() waits until it is 0. An operation that waits is always
 * in a list. The sender takes it back from there, or the receiver completes it when it closes. An
 * operation that waits for persist() is taken back by either side, and persist() continues without
 * it (struct loop_commit).
 */
#ifndef _KFI_LOOP_H
#define _KFI_LOOP_H

#include <linux/wait_bit.h>
#include <kfi_commit.h>

/* Completion levels. Nothing is ever in flight, so only COMMIT costs more than the others. */
#define LOOP_LEVELS	(KFI_INJECT_COMPLETE | KFI_TRANSMIT_COMPLETE | KFI_DELIVERY_COMPLETE |		\
			 KFI_COMMIT_COMPLETE)

/* An address is a number in host byte order, because it never leaves the host. 0 is no address. */
struct kfi_loop_addr {
	u64 id;
};

enum {
	LOOP_MAX_MSG	= 64 << 20,	/* bytes */
	LOOP_QUEUE	= 16384,	/* operations per direction */
	LOOP_CTX	= 256,		/* contexts per direction */
	LOOP_IOV	= 256,		/* segments, local or remote */
	LOOP_INJECT	= 512,		/* bytes */
	/* bytes of targets of an atomic operation, which is performed in one RCU section */
	LOOP_ATOMIC	= 4096,
	/* bytes of a region that are moved between two checks that the region is live */
	LOOP_CHUNK	= 64 << 10,
};

/**
 * struct loop_net - state of a network namespace
 * @eps: endpoints by number. The entry of an endpoint that is not enabled is reserved
 * @listeners: passive endpoints by number. The entry of one that does not listen is reserved
 * @next_ep: where the search for a free number in @eps begins; under the lock of @eps
 * @next_listener: the same for @listeners
 * @stall_lock: protects @stalled, @waiting, @retrying and @congested of all endpoints
 */
struct loop_net {
	struct xarray	eps;
	struct xarray	listeners;
	u32		next_ep;
	u32		next_listener;
	spinlock_t	stall_lock;
};

/**
 * struct loop_ep - an endpoint
 * @ep: common part
 * @ln: state of its namespace; valid until the endpoint is stopped
 * @id: its number, constant once enabled; a context has that of its scalable endpoint
 * @keyed: the endpoint has an authorization key
 * @peer_id: MSG: number of the peer, set before @up
 * @peer_name: MSG: number of the peer that is reported to the consumer: for the initiator that of
 *	the listener
 * @users: references; the endpoint holds one itself until it is stopped
 * @nr_tx: operations accepted and not completed
 * @lock: protects the following members up to @cm_data
 * @up: the endpoint may send and be sent to (RDM: enabled, MSG: connected); also read without the
 *	lock
 * @stopped: set by loop_cm_stop(): no event is queued any more
 * @err: error of operations while @up is false
 * @unexpected: own messages that wait for a receive in the matching of a peer, by loop_op.node
 * @req: MSG: own connection request that waits for an answer
 * @events: LOOP_EV_* bits that @cm_work has to handle
 * @cm_err: error of the connection
 * @cm_len: bytes of @cm_data
 * @cm_data: private data of the answer
 * @cm_work: connects, and reports to the consumer
 * @stalled: own operations that wait for room in a peer's completion queue, by loop_op.node
 * @waiting: operations of peers that wait for room in the receive queue of this endpoint, in order,
 *	by kfi_oper.link
 * @retrying: sender of the operation that @retry is performing
 * @held: MSG: set before @up, and cleared when the connection was reported: no receive completes
 *	before the endpoint may send
 * @congested: @waiting is not empty, or @retrying or @held is set; also read without the lock
 * @room: called when the receive queue has room
 * @retry: performs the operations in @waiting
 * @committing: own operations that wait for persist() of a peer's region, by loop_op.node
 * @commits: commits of regions that were accessed through this endpoint, by loop_commit.entry
 */
struct loop_ep {
	struct kfi_ep		ep;
	struct loop_net		*ln;
	u64			id;
	bool			keyed;
	u64			peer_id;
	u64			peer_name;
	refcount_t		users;
	atomic_t		nr_tx;

	spinlock_t		lock;
	bool			up;
	bool			stopped;
	int			err;
	struct list_head	unexpected;
	struct loop_connreq	*req;
	unsigned int		events;
	int			cm_err;
	size_t			cm_len;
	u8			cm_data[KFI_CM_DATA_MAX];
	struct work_struct	cm_work;

	/* protected by ln->stall_lock */
	struct list_head	stalled;
	struct list_head	waiting;
	struct loop_ep		*retrying;
	bool			held;
	bool			congested;
	struct kfi_cq_waiter	room;
	struct work_struct	retry;

	/* protected by loop_commit_lock (rma.c) */
	struct list_head	committing;
	struct list_head	commits;
};

/**
 * struct loop_pep - a passive endpoint
 * @pep: common part
 * @ln: state of its namespace
 * @id: its number
 * @users: references of look-ups; the passive endpoint holds one itself until it is closed
 */
struct loop_pep {
	struct kfi_pep		pep;
	struct loop_net		*ln;
	u64			id;
	refcount_t		users;
};

/**
 * struct loop_op - a transmit operation (kfi_oper.priv)
 * @op: common part
 * @rx: the message, for the receiver's matching
 * @node: entry in the sender's @unexpected, @committing or @stalled
 * @mr: region of an RMA operation whose bytes have moved, with a reference; not NULL while its
 *	event waits for room
 * @commit: regions to be made durable, or NULL
 * @killed: kfi_mr_kill() was called for the key to be invalidated
 * @ended: this call of kfi_mr_kill() has ended the region
 */
struct loop_op {
	struct kfi_oper		*op;
	struct kfi_rx		rx;
	struct list_head	node;
	struct kfi_mr		*mr;
	struct loop_commit	*commit;
	bool			killed;
	bool			ended;
};

/**
 * struct loop_commit - calls of persist(), which may last longer than both endpoints exist
 * @work: calls persist()
 * @entry: entry in the target's @commits
 * @op: operation that waits for it, or NULL if it has been taken back. Under loop_commit_lock
 * @count: entries of @segs
 * @segs: the regions
 */
struct loop_commit {
	struct work_struct	work;
	struct list_head	entry;
	struct loop_op		*op;
	unsigned int		count;
	struct kfi_commit_seg	segs[];
};

/**
 * struct loop_place - a handle for places, which are the pages of the region itself
 * @place: common part
 * @lease: holds the region while the handle has a place
 * @recalled: the region has ended, or its owner sees other memory than the pages of the place. Set
 *	by recall()
 */
struct loop_place {
	struct kfi_dev_place	place;
	struct kfi_mr_lease	lease;
	bool			recalled;
};

static inline struct loop_ep *to_loop_ep(struct kfi_ep *ep)
{
	return container_of(ep, struct loop_ep, ep);
}

static inline struct loop_pep *to_loop_pep(struct kfi_pep *pep)
{
	return container_of(pep, struct loop_pep, pep);
}

/*
 * The structure may be freed when the last reference is dropped: only its address is used after
 * that.
 */
static inline void loop_unpin(refcount_t *users)
{
	if (refcount_dec_and_test(users)) {
		smp_mb__after_atomic();	/* required by wake_up_var(), which checks for waiters */
		wake_up_var(users);
	}
}

static inline void loop_wait_unpinned(refcount_t *users)
{
	loop_unpin(users);
	wait_var_event(users, !refcount_read(users));
}

/* main.c */
extern struct workqueue_struct *loop_wq;
struct loop_net *loop_net(struct net *net);
/* Reserve *@id, or a free number if *@id is 0. */
int loop_id_reserve(struct xarray *ids, u32 *next, u64 *id);
bool loop_addr_ok(u64 id);

/* ep.c */
int loop_ep_open(struct kfi_ep *ep);
int loop_ep_enable(struct kfi_ep *ep);
void loop_ep_stop(struct kfi_ep *ep, int err);
void loop_ep_restart(struct kfi_ep *ep);
void loop_ep_close(struct kfi_ep *ep);
int loop_getname(struct kfi_ep *ep, void *addr);
int loop_setname(struct kfi_ep *ep, const void *addr, size_t len);
/*
 * Return the endpoint with this number, or receive context @rx_ctx of it, with a reference, or
 * NULL.
 */
struct loop_ep *loop_ep_get(struct loop_net *ln, u64 id, u32 rx_ctx);
void loop_ep_put(struct loop_ep *le);
/*
 * Forbid further sends and complete all own operations with @err before it returns. May be called
 * again. May sleep.
 */
void loop_ep_down(struct loop_ep *le, int err);
/* Complete operations in a list by loop_op.node. */
void loop_end_all(struct list_head *ops, int err);

/* tx.c */
int loop_tx(struct kfi_ep *ep, struct kfi_oper *op);
/*
 * Perform an operation at the peer. Return: false if it could not be performed because the peer's
 * queue has no room; true if the caller does not own @p any more.
 */
bool loop_perform(struct loop_ep *to, struct loop_op *p);
void loop_tx_end(struct loop_op *p, int err);
/* Return the handle of @from in the address vector of @to. */
kfi_addr_t loop_src(const struct loop_ep *from, const struct loop_ep *to);
void loop_rx_matched(struct kfi_ep *ep, struct kfi_rx *rx);
void loop_rx_drop(struct kfi_ep *ep, struct kfi_rx *rx);

/* copy.c */
size_t loop_copy(struct iov_iter *dst, struct iov_iter *src, size_t len);

/* rma.c. loop_rma() returns the same as loop_perform(). */
bool loop_rma(struct loop_ep *to, struct loop_op *p);
/* Complete a get. */
void loop_place_get(struct loop_ep *to, struct loop_op *p);
void loop_place_end(struct kfi_dev_place *place);
void loop_commit_free(struct loop_commit *c);
/*
 * Move the operations that wait for a commit to the lists, as loop_unstall() does. @le is not up
 * any more.
 */
void loop_uncommit(struct loop_ep *le, struct list_head *own, struct list_head *peers);

/* stall.c */
/*
 * Let the operation wait for room. @full: the peer's queue is full. If it is not, the operation
 * waits only if it would overtake others. Return: true if it waits or has been completed; false if
 * it need not wait.
 */
bool loop_stall(struct loop_ep *from, struct loop_ep *to, struct loop_op *p, bool full);
/*
 * Move the waiting operations of @le to @own, and those of its peers that wait for it to @peers,
 * linked by loop_op.node.
 */
void loop_unstall(struct loop_ep *le, struct list_head *own, struct list_head *peers);
void loop_room(struct kfi_cq_waiter *w);
void loop_hold(struct loop_ep *le, bool held);
void loop_retry(struct work_struct *work);

/* cm.c */
int loop_connect(struct kfi_ep *ep, const void *addr, const void *data, size_t len);
int loop_accept(struct kfi_ep *ep, const void *data, size_t len);
int loop_shutdown(struct kfi_ep *ep);
int loop_getpeer(struct kfi_ep *ep, void *addr);
int loop_reject(struct kfi_pep *pep, struct kfi_connreq *req, const void *data, size_t len);
void loop_cm_work(struct work_struct *work);
/* The endpoint stops: withdraw its request, and notify its peer. */
void loop_cm_stop(struct loop_ep *le);

/* pep.c */
int loop_pep_open(struct kfi_pep *pep);
void loop_pep_close(struct kfi_pep *pep);
int loop_pep_getname(struct kfi_pep *pep, void *addr);
int loop_pep_setname(struct kfi_pep *pep, const void *addr, size_t len);
int loop_listen(struct kfi_pep *pep);
struct loop_pep *loop_pep_get(struct loop_net *ln, u64 id);
void loop_pep_put(struct loop_pep *lp);

#endif /* _KFI_LOOP_H */
