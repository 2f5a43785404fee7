/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfi_conn_set.h - connection sets: the connections of an endpoint or of a passive endpoint.
 *
 * &struct kfi_conn_set is a connection set. An endpoint or passive endpoint has to end all
 * connections in its set before it is freed. A connection is in one set at a time, from the moment
 * at which it may have to be ended. It moves at most once: from a scalable endpoint to the receive
 * context that is called, or from a passive endpoint to the endpoint that accepts.
 *
 *	this side dials			a peer calls: the connection is pending, and their number
 *					is limited
 *	kfi_conn_set_add()		kfi_conn_set_add()
 *					RDM: kfi_conn_set_adopt(), kfi_conn_set_admitted()
 *					MSG: kfi_conn_set_accept() or kfi_conn_set_reject(), as the
 *					consumer decides
 *	MSG: kfi_conn_set_publish()	MSG: kfi_conn_set_publish()
 *
 * The end of a connection may begin at any time, by ops->fail(), which kfi_conn_set_drain() calls
 * too. These steps follow once, in process context, in this order:
 *
 *	kfi_conn_set_wait_move()
 *	no publication of the connection runs, and none follows
 *	kfi_conn_set_unpublish()
 *	an RCU grace period, if the connection was published; posters that have found it have left
 *	their read sections
 *	the provider completes every operation that the connection has, and reports the end
 *	kfi_conn_set_remove()
 *
 * kfi_conn_set.lock is taken with bottom halves off. Two of these locks are held while a connection
 * moves, first that of the set that the connection leaves. Under them a provider may take locks
 * under which it calls no function of this header and completes no operation. The callbacks must
 * not sleep, except @put.
 */
#ifndef _KFI_CONN_SET_H
#define _KFI_CONN_SET_H

#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include <kfi_prov.h>

struct kfi_conn_set;
struct kfi_peer;

/**
 * struct kfi_peer_conn - a connection; the provider's connection contains it
 * @dialed: this side dials the peer; false: the peer has called. Set before kfi_conn_set_add()
 * @conn_set: connection set that contains the connection
 * @entry: in &kfi_conn_set.conns
 * @is_pending: the connection is in &kfi_conn_set.pending_conns
 * @waiting: in &kfi_conn_set.pending_conns
 * @peer: RDM: the peer, of which this connection is a user; NULL until the peer is known. This
 *	member and those that follow are the message protocol's
 * @ready: the connection was published
 * @call_id: random number that names the connection on both sides. The side that dials chooses it
 * @known: @call_id of the previous connection to the peer, for the hello of a call; 0 if there was
 *	none
 * @incarnation: incarnation of the peer. Set before the connection is published
 */
struct kfi_peer_conn {
	bool			dialed;
	struct kfi_conn_set	*conn_set;
	struct list_head	entry;
	bool			is_pending;
	struct list_head	waiting;
	struct kfi_peer		*peer;
	bool			ready;
	u64			call_id;
	u64			known;
	u64			incarnation;
};

/**
 * struct kfi_conn_set_ops - what a provider implements for the connections of a set
 * @backlog: limit for the number of pending connections in a set. Read at each use, it may be a
 *	module parameter
 *
 * @get: take a reference of the connection, for the set
 * @put: drop the reference of @get. Called by kfi_conn_set_remove(), may sleep
 * @fail: begin the end of a connection. The first reason counts. It is called again while the
 *	connection is in the set
 * @failed: returns whether the end of the connection has begun. Such a connection does not move
 * @carrier: returns the connection that has the transmit operation; NULL if no connection has it
 *	yet. Called without a lock, for an operation that may end at the same time: the result is
 *	only compared with the connections of the set. Without @carrier, endpoints of the provider
 *	do not have KFI_OPT_OP_TIMEOUT_MS
 * @moved: &kfi_peer_conn.conn_set has changed to the set of an endpoint. Called under the locks of
 *	both sets
 * @unproven: the caller has not sent its hello or its proof yet, or its link is not secured yet
 *	(TLS), or it has no key and the peer with the name that it claims is being probed. Such a
 *	connection may be failed to make room for another one. With @same_origin and
 *	@origin_backlog. Without them a new caller is refused if there is no room
 * @same_origin: returns whether two callers have the same source address
 * @origin_backlog: limit for the number of pending connections from one source address. Read at
 *	each use
 * @answer: MSG: the consumer has accepted or rejected the connection. Queues a work item that
 *	notifies the caller. @fail has to stop that work item.
 *	Called after @moved and under the same locks if accepted, under the lock of the passive
 *	endpoint's set if rejected. NULL if the provider has no passive endpoints
 */
struct kfi_conn_set_ops {
	const unsigned int	*backlog;
	const unsigned int	*origin_backlog;

	void	(*get)(struct kfi_peer_conn *conn);
	void	(*put)(struct kfi_peer_conn *conn);
	void	(*fail)(struct kfi_peer_conn *conn, int err);
	bool	(*failed)(const struct kfi_peer_conn *conn);
	const struct kfi_peer_conn *(*carrier)(const struct kfi_oper *op);
	void	(*moved)(struct kfi_peer_conn *conn);
	bool	(*unproven)(const struct kfi_peer_conn *conn);
	bool	(*same_origin)(const struct kfi_peer_conn *a, const struct kfi_peer_conn *b);
	void	(*answer)(struct kfi_peer_conn *conn, bool accepted);
};

/**
 * struct kfi_conn_set - a connection set; the provider's endpoint and passive endpoint contain one
 * @conn: MSG: the published connection, or NULL. Changed under @lock, read under RCU by
 *	kfi_conn_set_conn()
 * @ep: the endpoint; NULL for a passive endpoint
 * @ops: operations of the provider
 * @lock: protects the members below, changes of @conn, and &kfi_peer_conn.conn_set,
 *	&kfi_peer_conn.entry, &kfi_peer_conn.is_pending and &kfi_peer_conn.waiting of the
 *	connections in @conns
 * @conns: all connections of the set, by &kfi_peer_conn.entry, each with a reference
 * @nr_pending: number of pending connections: a peer has called, and has not been admitted (RDM) or
 *	accepted (MSG) yet
 * @pending_conns: pending connections, oldest first
 * @stop_err: reason for which kfi_conn_set_add() refuses connections; 0 before kfi_conn_set_stop().
 *	Read without the lock by READ_ONCE()
 * @idle: woken when a connection leaves the set. A provider may wait here for other conditions and
 *	wake it
 *
 * The set exists until a grace period after kfi_conn_set_drain() has returned, see
 * kfi_conn_set_wait_move(). By then its connections have ended, but not the last lines of the work
 * items in which they have ended: these use neither the set nor the endpoint.
 */
struct kfi_conn_set {
	struct kfi_peer_conn __rcu *conn;
	struct kfi_ep		*ep;
	const struct kfi_conn_set_ops *ops;
	spinlock_t		lock;
	unsigned int		nr_pending;
	struct list_head	pending_conns;
	struct list_head	conns;
	int			stop_err;
	wait_queue_head_t	idle;
};

/**
 * kfi_conn_set_init() - prepare the connection set of an endpoint or passive endpoint
 * @set: zeroed structure
 * @ep: the endpoint, whose &kfi_ep.conn_set is set to @set; NULL for a passive endpoint
 * @ops: operations of the provider
 *
 * Context: any.
 */
void kfi_conn_set_init(struct kfi_conn_set *set, struct kfi_ep *ep,
		       const struct kfi_conn_set_ops *ops);

/**
 * kfi_conn_set_add() - add a new connection to a set
 * @set: the set
 * @conn: the connection. The set takes a reference of its own
 *
 * A connection without &kfi_peer_conn.dialed is pending. If there are too many pending connections,
 * or too many from its source address, the oldest one for which &kfi_conn_set_ops.unproven returns
 * true fails with -EBUSY. From now on @conn may be failed, and its end has to call
 * kfi_conn_set_remove().
 *
 * Context: process or softirq.
 * Return: 0; -ENODEV after kfi_conn_set_stop(); -EBUSY if there are too many pending connections,
 * and none of them can be failed.
 */
int kfi_conn_set_add(struct kfi_conn_set *set, struct kfi_peer_conn *conn);

/**
 * kfi_conn_set_adopt() - move a pending connection to the receive context that is called
 * @conn: connection in the set of the endpoint that listens. Nothing else moves it
 * @rx_ctx: receive context that the caller has named; 0 if the endpoint is no scalable endpoint
 *
 * The connection stays pending, and room is made for it as by kfi_conn_set_add(). Context: process
 * or softirq.
 * Return: true if the connection is in the set of the context; false if there is no such context,
 * if the context stops or has too many pending connections, or if @conn has failed.
 */
bool kfi_conn_set_adopt(struct kfi_peer_conn *conn, u32 rx_ctx);

/**
 * kfi_conn_set_accept() - move a connection request to the endpoint that accepts it
 * @conn: connection of the request; the caller has a reference
 * @set: set of the endpoint
 *
 * Part of &kfi_prov_ops.accept. Calls &kfi_conn_set_ops.answer. Context: process or softirq.
 * Return: true; false if @conn has failed, or if @set is stopped. Then @conn has not moved and is
 * failed, and the provider reports the failure to the consumer.
 */
bool kfi_conn_set_accept(struct kfi_peer_conn *conn, struct kfi_conn_set *set);

/**
 * kfi_conn_set_reject() - reject a connection request
 * @conn: connection of the request; the caller has a reference
 *
 * Part of &kfi_prov_ops.reject. Calls &kfi_conn_set_ops.answer, unless @conn has failed.
 * Context: process or softirq.
 */
void kfi_conn_set_reject(struct kfi_peer_conn *conn);

/**
 * kfi_conn_set_admitted() - end the pending state of a connection whose caller was admitted
 * @conn: the connection. Nothing changes if it is not pending
 *
 * Context: process or softirq.
 */
void kfi_conn_set_admitted(struct kfi_peer_conn *conn);

/**
 * kfi_conn_set_publish() - let posts to an MSG endpoint use its connection
 * @conn: the connection. Nothing changes if it has failed
 *
 * Context: process or softirq.
 */
void kfi_conn_set_publish(struct kfi_peer_conn *conn);

/**
 * kfi_conn_set_wait_move() - wait until a failed connection does not move any more
 * @conn: connection that has failed; called by the work item of its end
 *
 * On return &kfi_peer_conn.conn_set does not change any more, and callbacks that were called while
 * it changed have returned.
 *
 * Context: process. Does not sleep, takes kfi_conn_set.lock.
 */
void kfi_conn_set_wait_move(struct kfi_peer_conn *conn);

/**
 * kfi_conn_set_unpublish() - prevent posts from finding a connection
 * @conn: connection that has failed, of an RDM or MSG endpoint
 *
 * Posters that have found the connection already may use it until the end of an RCU grace period.
 *
 * Context: process or softirq.
 */
void kfi_conn_set_unpublish(struct kfi_peer_conn *conn);

/**
 * kfi_conn_set_remove() - remove a connection that has ended from its set
 * @conn: the connection. The reference of the set is dropped, @conn may be freed on return
 *
 * Context: as &kfi_conn_set_ops.put.
 */
void kfi_conn_set_remove(struct kfi_peer_conn *conn);

/**
 * kfi_conn_set_stop() - refuse new connections
 * @set: the set
 * @err: reason, a negative errno. kfi_conn_set_drain() fails the connections with it
 *
 * The connections in the set go on until kfi_conn_set_drain().
 *
 * Context: process or softirq.
 */
void kfi_conn_set_stop(struct kfi_conn_set *set, int err);

/**
 * kfi_conn_set_end() - kfi_conn_set_stop(), and begin the ends of all connections
 * @set: the set
 * @err: reason, a negative errno
 *
 * kfi_conn_set_drain() follows.
 *
 * Context: process or softirq.
 */
void kfi_conn_set_end(struct kfi_conn_set *set, int err);

/**
 * kfi_conn_set_each() - call a function for each connection of a set
 * @set: the set
 * @fn: called without a lock, may sleep. The connection has a reference, and may have left the set
 *
 * Connections that enter or leave the set meanwhile may be left out.
 *
 * Context: process, may sleep.
 */
void kfi_conn_set_each(struct kfi_conn_set *set, void (*fn)(struct kfi_peer_conn *conn));

/**
 * kfi_conn_set_drain() - fail all connections of a set, and wait until they have ended
 * @set: the set, after kfi_conn_set_stop()
 *
 * The function waits for a peer only if the end of one of these connections does. It does not wait
 * for connections of other sets.
 *
 * Context: process, may sleep.
 */
void kfi_conn_set_drain(struct kfi_conn_set *set);

/**
 * kfi_conn_set_restart() - accept connections again after kfi_conn_set_drain()
 * @set: set of an MSG endpoint
 *
 * kfi.ko calls this in kfi_ep_reset(). Context: process or softirq.
 */
void kfi_conn_set_restart(struct kfi_conn_set *set);

/**
 * kfi_conn_set_expire() - fail the connection of a transmit operation that has taken too long
 * @set: set of the operation's endpoint
 * @op: the operation, which may have ended meanwhile
 * @gen: &kfi_oper.gen of the use of @op that has taken too long
 *
 * The connection fails with -ETIMEDOUT. kfi.ko calls this for KFI_OPT_OP_TIMEOUT_MS.
 * Context: process or softirq.
 */
void kfi_conn_set_expire(struct kfi_conn_set *set, const struct kfi_oper *op, u32 gen);

/**
 * kfi_conn_set_conn() - return the published connection of an MSG endpoint
 * @set: set of the endpoint
 *
 * Context: any, inside an RCU read section. The connection may be posted to until the end of that
 * section. Return: the connection, or NULL if the endpoint is not connected.
 */
static inline struct kfi_peer_conn *kfi_conn_set_conn(const struct kfi_conn_set *set)
{
	return rcu_dereference_check(set->conn, rcu_read_lock_bh_held());
}

#endif /* _KFI_CONN_SET_H */
