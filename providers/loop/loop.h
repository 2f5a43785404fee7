/* SPDX-License-Identifier: GPL-2.0 */
/*
 * loop.h - what the files of kfi_loop.ko share.
 *
 * The provider inside one kernel: a peer is another endpoint of the same network namespace, found by its number.
 *
 * Who holds what. In the order in which they are taken:
 *
 *   kfi_ep.lock, kfi_pep.lock	mutexes of kfi.ko around open, enable, connection calls and close
 *   loop_connreq.lock	spin lock, bottom halves off, taken alone: the way from a request to its initiator
 *   loop_ep.lock		spin lock, bottom halves off: may this endpoint send (@up), its messages that wait for a
 *				receive (@parked), its pending connection request and news (@req, @events, ...)
 *   loop_net.stall_lock	spin lock, bottom halves off: operations that wait for room in a peer's completion queue
 *   loop_commit_lock	spin lock, bottom halves off, taken alone: operations that wait for a region's owner
 *   locks of kfi.ko's calls	leaves: matching, completion queues
 *
 * No two endpoints' loop_ep.lock are ever held together, so endpoints that send to each other at once can't deadlock.
 * kfi_rx_arrive() and kfi_rx_unqueue() are called under the sender's loop_ep.lock; payload is copied, and operations
 * are completed, with no lock at all.
 *
 * Who keeps whom alive. An endpoint is found in loop_net.eps under rcu_read_lock() and then pinned by @users; its stop
 * takes it out, waits until @users is gone and its close waits a grace period. Pins are short: nobody keeps one while
 * an operation waits for something. @nr_tx counts the operations that an endpoint has accepted and not completed yet;
 * going down waits for the last. An operation that waits is always on a list, from which the sender takes it back, or
 * the receiver hands it back when it closes. One that waits for the owner of a region is taken back by either: the
 * owner's persist() goes on without it (struct loop_commit).
 */
#ifndef _KFI_LOOP_H
#define _KFI_LOOP_H

#include <linux/wait_bit.h>
#include <kfi_commit.h>

/* Completion levels: nothing is in flight, so each is as good as done. */
#define LOOP_LEVELS	(KFI_INJECT_COMPLETE | KFI_TRANSMIT_COMPLETE | KFI_DELIVERY_COMPLETE |		\
			 KFI_COMMIT_COMPLETE)

/* An address is a number, in the host's byte order as it never leaves the host; 0 is none. */
struct kfi_loop_addr {
	u64 id;
};

enum {
	LOOP_MAX_MSG	= 64 << 20,	/* bytes */
	LOOP_QUEUE	= 16384,	/* operations per direction */
	LOOP_CTX	= 256,		/* contexts per direction */
	LOOP_IOV	= 256,		/* segments, local or remote */
	LOOP_INJECT	= 512,		/* bytes */
	LOOP_ATOMIC	= 4096,		/* bytes of targets of an atomic operation: done in one RCU section */
	LOOP_CHUNK	= 64 << 10,	/* bytes of a region touched before asking again whether it lives */
};

/**
 * struct loop_net - the loop of one network namespace
 * @eps:	endpoints by number; a reserved entry is one that is not enabled yet
 * @listeners:	passive endpoints by number, likewise
 * @next_ep: @next_listener: where the search for a free number begins (under the arrays' own locks)
 * @stall_lock:	protects @stalled, @waiting, @retrying and @congested of all endpoints
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
 * @ep:		common part
 * @ln:		its namespace's loop; valid until the endpoint is stopped
 * @id:		its number, fixed once enabled; a context has its scalable endpoint's
 * @keyed:	has an authorization key
 * @peer_id:	MSG: number of the peer, set before @up
 * @peer_name:	MSG: the name by which the consumer knows it: to the initiator that of the listener
 * @users:	pins; one is the endpoint's own until it is stopped
 * @nr_tx:	operations accepted and not completed
 * @lock:	protects what follows
 * @up:		may send and be sent to (RDM: enabled, MSG: connected); also read without the lock
 * @stopped:	nothing may be started any more
 * @err:	why it is not @up any more
 * @parked:	own messages that wait at a peer for a receive, loop_op.node
 * @req:	MSG: own connection request that waits for its answer
 * @events:	what @cm_work has to tell the consumer, LOOP_EV bits
 * @cm_err: @cm_len: @cm_data: the answer that came, or why the connection failed
 * @cm_work:	connects, and tells the consumer
 * @stalled:	own operations that wait for room in a peer's queue, loop_op.node
 * @waiting:	peers' operations that wait for room in our receive queue, in order, kfi_oper.link
 * @retrying:	whose operation @retry has in hand
 * @congested:	@waiting is not empty, or @retrying; also read without the lock
 * @room:	tells of room in our receive queue
 * @retry:	performs @waiting
 * @committing:	own operations that wait for the owner of a peer's region, loop_op.node
 * @commits:	of peers' operations on regions that were reached through this endpoint, loop_commit.entry
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
	struct list_head	parked;
	struct loop_connreq	*req;
	unsigned int		events;
	int			cm_err;
	size_t			cm_len;
	u8			cm_data[KFI_CM_DATA_MAX];
	struct work_struct	cm_work;

	/* under ln->stall_lock */
	struct list_head	stalled;
	struct list_head	waiting;
	struct loop_ep		*retrying;
	bool			congested;
	struct kfi_cq_waiter	room;
	struct work_struct	retry;

	/* under loop_commit_lock (rma.c) */
	struct list_head	committing;
	struct list_head	commits;
};

/**
 * struct loop_pep - a passive endpoint
 * @pep:	common part
 * @ln:		its namespace's loop
 * @id:		its number
 * @users:	pins of look-ups; one is its own until closed
 */
struct loop_pep {
	struct kfi_pep		pep;
	struct loop_net		*ln;
	u64			id;
	refcount_t		users;
};

/**
 * struct loop_op - a transmit operation (kfi_oper.priv)
 * @op:		common part
 * @rx:		the message, as the receiver's matching sees it
 * @node:	in the sender's @parked, @committing or @stalled
 * @mr:		the region of an RMA write that has landed and whose event waits for room, with a reference
 * @commit:	what is to be durable when it has landed
 * @killed:	the key to be invalidated has been looked at; @over: the region is over
 */
struct loop_op {
	struct kfi_oper		*op;
	struct kfi_rx		rx;
	struct list_head	node;
	struct kfi_mr		*mr;
	struct loop_commit	*commit;
	bool			killed;
	bool			over;
};

/**
 * struct loop_commit - a call of the owners of regions, which may last longer than both endpoints
 * @work:	does it
 * @entry:	in the target's @commits
 * @op:		who waits for it; NULL: nobody any more
 * @count: @segs: the regions
 */
struct loop_commit {
	struct work_struct	work;
	struct list_head	entry;
	struct loop_op		*op;
	unsigned int		count;
	struct kfi_commit_seg	segs[];
};

static inline struct loop_ep *to_loop_ep(struct kfi_ep *ep)
{
	return container_of(ep, struct loop_ep, ep);
}

static inline struct loop_pep *to_loop_pep(struct kfi_pep *pep)
{
	return container_of(pep, struct loop_pep, pep);
}

/* The last one lets the structure be freed: only the address is used after it. */
static inline void loop_unpin(refcount_t *users)
{
	if (refcount_dec_and_test(users)) {
		smp_mb__after_atomic();	/* for wake_up_var(), which looks whether anybody waits */
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
/* Reserve @id, or a free number when it is 0. */
int loop_id_reserve(struct xarray *ids, u32 *next, u64 *id);
bool loop_addr_ok(u64 id);

/* ep.c */
int loop_ep_open(struct kfi_ep *ep);
int loop_ep_enable(struct kfi_ep *ep);
void loop_ep_stop(struct kfi_ep *ep, int err);
void loop_ep_close(struct kfi_ep *ep);
int loop_getname(struct kfi_ep *ep, void *addr);
int loop_setname(struct kfi_ep *ep, const void *addr, size_t len);
/* The endpoint with this number, or that receive context of it, pinned; NULL: there is none. */
struct loop_ep *loop_ep_get(struct loop_net *ln, u64 id, u32 rx_ctx);
void loop_ep_put(struct loop_ep *le);
/* No more sending; ends all own operations with @err before it returns. May be called again. May sleep. */
void loop_ep_down(struct loop_ep *le, int err);
/* Ends operations linked by loop_op.node. */
void loop_end_all(struct list_head *ops, int err);

/* tx.c */
int loop_tx(struct kfi_ep *ep, struct kfi_oper *op);
/* Return: false: not done, for the peer's queue has no room. After true @p is not the caller's any more. */
bool loop_perform(struct loop_ep *to, struct loop_op *p);
void loop_tx_end(struct loop_op *p, int err);
/* The name of @from in the address vector of @to. */
kfi_addr_t loop_src(const struct loop_ep *from, const struct loop_ep *to);
void loop_rx_matched(struct kfi_ep *ep, struct kfi_rx *rx);
void loop_rx_drop(struct kfi_ep *ep, struct kfi_rx *rx);

/* copy.c */
size_t loop_copy(struct iov_iter *dst, struct iov_iter *src, size_t len);

/* rma.c: as loop_perform() */
bool loop_rma(struct loop_ep *to, struct loop_op *p);
bool loop_flush(struct loop_ep *to, struct loop_op *p);
void loop_commit_free(struct loop_commit *c);
/* Operations that wait for a commit are moved to the lists as by loop_unstall(). @le is not up any more. */
void loop_uncommit(struct loop_ep *le, struct list_head *own, struct list_head *peers);

/* stall.c */
/* @full: it needs room. Return: true: it waits now, or has ended; false: there is nothing to wait behind. */
bool loop_stall(struct loop_ep *from, struct loop_ep *to, struct loop_op *p, bool full);
/* All waiting operations of @le, and all that wait for it, are moved to the lists, linked by loop_op.node. */
void loop_unstall(struct loop_ep *le, struct list_head *own, struct list_head *peers);
void loop_room(struct kfi_cq_waiter *w);
void loop_retry(struct work_struct *work);

/* cm.c */
int loop_connect(struct kfi_ep *ep, const void *addr, const void *data, size_t len);
int loop_accept(struct kfi_ep *ep, const void *data, size_t len);
int loop_shutdown(struct kfi_ep *ep);
int loop_getpeer(struct kfi_ep *ep, void *addr);
int loop_reject(struct kfi_pep *pep, struct kfi_connreq *req, const void *data, size_t len);
void loop_cm_work(struct work_struct *work);
/* The endpoint goes: withdraw its request, tell its peer. */
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
