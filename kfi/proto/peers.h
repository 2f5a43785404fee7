/* SPDX-License-Identifier: GPL-2.0 */
/*
 * peers.h - the peers of an RDM endpoint, and which connection to each of them is used (peers.c).
 *
 * A connection to a peer is made when the consumer posts the first operation to the peer. Until the
 * connection is ready, operations wait in &kfi_peer.pending, and a work item dials. When the
 * connection is ready, the waiting operations are queued on it in posting order. A post to a peer
 * that has a connection is one look-up under RCU.
 *
 * If two endpoints dial each other at the same time, the call of the endpoint with the smaller name
 * is kept, and the other call ends with -EALREADY. A peer that has restarted sends another
 * incarnation in its hello, and its new connection replaces the old one. The operations of the old
 * connection end with an error; they are not sent again.
 *
 * Life of a connection:
 *
 *	this side dials				a peer calls, and its hello has arrived
 *	kfp_dial(): kfi_peer_join()		kfi_peer_admit(), then accept, or refuse with
 *	kfp_dial_start()			the errno as the reason
 *	accepted: kfi_peer_is_dialing()
 *	kfi_peer_publish()			kfi_peer_publish()
 *
 * The end of a connection may begin at any time. These steps follow once, in this order:
 *
 *	no kfi_peer_publish() of the connection runs, and none follows
 *	kfi_peer_unpublish()
 *	an RCU grace period, if it was published; posters that have found the connection have left their read sections
 *	every operation that the connection has is completed
 *	kfi_peer_lost()
 *	kfi_peer_leave()
 *
 * Locks, outermost first: kfi_peers.lock, kfi_peer.lock, both with bottom halves off. A post takes
 * them if there is no connection. So they are inside every lock that is held while handlers of
 * consumers run (kfi_batch_end()).
 */
#ifndef _KFI_PROTO_PEERS_H
#define _KFI_PROTO_PEERS_H

#include "conn.h"

/** KFI_CTX_ID_SELF - &kfi_peer.ctx_id of the called end, if an endpoint has called itself */
#define KFI_CTX_ID_SELF	INT_MIN

/**
 * struct kfi_peer - a peer of an RDM endpoint
 * @conn: the published connection, or NULL. Changed under @lock, read under RCU
 * @peers: the peers of the endpoint
 * @entry: in &kfi_peers.list
 * @nr: number of the peer, as &kfi_peer_info.nr
 * @users: number of joined connections, plus 1 while @dial is queued or runs. The peer is not
 *	freed before it is 0
 * @ctx_id: distinguishes the contexts of a peer's scalable endpoint; each of them has connections
 *	of its own. 0: the endpoint itself or its receive context 0. Above 0: the receive context of
 *	the peer to which this side sends. Below 0: minus the number, counted from 1, of the
 *	transmit context of the peer that calls this side, or KFI_CTX_ID_SELF
 * @key: key in &kfi_peers.cache; ULONG_MAX if the peer is not cached. Under kfi_peers.lock
 * @lock: protects @pending, @dialing, @gone, @redials and changes of @conn
 * @gone: the peer is being freed; no operation may be added to @pending
 * @dialing: the connection that is being established, dialed by either side, or NULL
 * @pending: operations that wait for a connection
 * @incarnation: incarnation of the peer in its last connection. If it changes, the peer has
 *	restarted
 * @call_id: &kfi_peer_conn.call_id of the last published connection
 * @reconnects: number of connections after the first
 * @dial: work item that dials
 * @redials: attempts since a call has lost to the call of the peer
 * @warned: the log says that the peer is not dialed. Of @dial
 * @rcu: frees the peer
 * @name: &kfi_link_ops.name_len bytes
 *
 * A peer lives until the endpoint closes, or until it is freed to make room for another peer. It
 * can be used inside rcu_read_lock(), under kfi_peers.lock, or by one of its users.
 */
struct kfi_peer {
	struct kfi_peer_conn __rcu *conn;
	struct kfi_peers	*peers;
	struct list_head	entry;
	u32			nr;
	atomic_t		users;
	int			ctx_id;
	unsigned long		key;
	spinlock_t		lock;
	bool			gone;
	struct kfi_peer_conn	*dialing;
	struct list_head	pending;
	u64			incarnation;
	u64			call_id;
	u64			reconnects;
	struct delayed_work	dial;
	unsigned int		redials;
	bool			warned;
	struct rcu_head		rcu;
	u8			name[] __aligned(8);
};

/**
 * struct kfi_peer_call - what a caller has sent in its hello, not trusted
 * @name: name of the caller, at which this side could call it
 * @self: name of this side, as the caller has called it. The name to which the endpoint is bound
 *	may be a wildcard, which is smaller than every name on both sides
 * @src_ctx: transmit context of the caller, counted from 1; 0 if the caller is no context
 * @incarnation: incarnation of the caller's endpoint, not 0
 * @call_id: name of the connection
 * @known: &kfi_peer_conn.call_id of the caller's last connection to this side, 0 if there was none
 */
struct kfi_peer_call {
	const void	*name;
	const void	*self;
	u16		src_ctx;
	u64		incarnation;
	u64		call_id;
	u64		known;
};

/* Prepare the peers of an endpoint. Any context. */
void kfi_peers_init(struct kfi_peers *peers, struct kfi_ep *ep);

/*
 * Refuse new peers, dials and posts: a post to a peer without a connection returns -ENODEV from now
 * on. When all connections have ended, and a grace period has passed, no poster adds an operation
 * to &kfi_peer.pending.
 */
void kfi_peers_stop(struct kfi_peers *peers);

/*
 * After that: complete the operations that wait for a connection with @err. Cancels the work items
 * that dial, and waits for those that run. May sleep.
 */
void kfi_peers_flush(struct kfi_peers *peers, int err);

/* Free the peers of an endpoint that closes, after kfi_peers_flush(). Process context. */
void kfi_peers_free(struct kfi_peers *peers);

/*
 * Remove the peers with this index of the address vector, whatever their receive context, from the
 * cache. They stay: a post to another handle of the same address finds them by name.
 */
void kfi_peers_removed(struct kfi_peers *peers, u32 index);

/*
 * Call @emit for each peer with a number above @after, in the order of the numbers, until it
 * returns nonzero. It must not sleep. Takes no lock.
 */
void kfi_peers_show(struct kfi_peers *peers, u32 after,
		    int (*emit)(void *arg, const struct kfi_peer_info *peer), void *arg);

/* The part of kfi_peer_find_conn() for a peer without a cached connection */
struct kfi_peer_conn *kfi_peer_wait(struct kfi_peers *peers, struct kfi_oper *op);

/*
 * Compute the key of an address handle in &kfi_peers.cache. Return: false if an unsigned long has
 * no room for both the index and the receive context. Then the peer is not cached, and each post
 * finds it by name.
 */
static inline bool kfi_peer_key(struct kfi_av *av, kfi_addr_t addr, unsigned long *key)
{
	u64 rx_ctx = kfi_av_rx_ctx(av, addr);

	*key = rx_ctx << 32 | kfi_av_index(av, addr);
	return !rx_ctx || BITS_PER_LONG == 64;
}

/*
 * Look up the peer of an address handle in the cache, inside an RCU read section. Return: NULL if
 * it is not cached; &kfi_peers.list may contain it all the same.
 */
static inline struct kfi_peer *kfi_peer_cached(struct kfi_peers *peers, kfi_addr_t addr)
{
	unsigned long key;

	return kfi_peer_key(peers->ep->av, addr, &key) ? xa_load(&peers->cache, key) : NULL;
}

/*
 * Find the connection for an operation, inside an RCU read section. The connection may be posted to
 * until the end of that section. If the peer has no connection, @op is added to &kfi_peer.pending
 * until it is published.
 *
 * Return: the connection; NULL if @op waits for one; ERR_PTR() if @op is refused: -EINVAL if the
 * handle denotes no peer, -ENODEV if the endpoint stops, -EAGAIN if there is no memory, -ENOBUFS if
 * the account of the fabric does not pay for another peer.
 */
static inline struct kfi_peer_conn *kfi_peer_find_conn(struct kfi_peers *peers, struct kfi_oper *op)
{
	struct kfi_peer *peer = kfi_peer_cached(peers, op->addr);
	struct kfi_peer_conn *conn = likely(peer) ?
		rcu_dereference_check(peer->conn, rcu_read_lock_bh_held()) : NULL;

	return likely(conn) ? conn : kfi_peer_wait(peers, op);
}

/* Make a dialed connection a user of its peer. Its end has to call kfi_peer_leave(). */
static inline void kfi_peer_join(struct kfi_peer *peer, struct kfi_peer_conn *conn)
{
	conn->peer = peer;
	atomic_inc(&peer->users);	/* the dial work is a user too, so the peer is not freed */
}

/* The connection has ended. Its peer may be freed from now on. */
static inline void kfi_peer_leave(struct kfi_peer_conn *conn)
{
	atomic_dec(&conn->peer->users);
}

/* Receive context of the peer that this side calls, for the hello; 0: no scalable endpoint */
static inline u16 kfi_peer_rx_ctx(const struct kfi_peer *peer)
{
	return max(peer->ctx_id, 0);
}

/*
 * Transmit context that calls, for &kfi_peer_call.src_ctx, counted from 1; 0 if @ep is none. The
 * peer sends no requests on a connection of a transmit context.
 */
static inline u16 kfi_peer_tx_ctx(const struct kfi_ep *ep)
{
	return ep->fid.fid.fclass == KFI_CLASS_TX_CTX ? ep->ctx + 1 : 0;
}

/*
 * Return true if @conn, which this side has dialed and the peer has accepted, is still the current
 * attempt. Otherwise a call of the peer has replaced it, and the caller of this function ends @conn
 * with -EALREADY.
 */
bool kfi_peer_is_dialing(struct kfi_peer_conn *conn);

/*
 * Admit or refuse a caller, whose connection has no peer yet. An admitted connection becomes
 * &kfi_peer.dialing, and a call of this side to the same peer ends with -EALREADY. Until the
 * connection is published another call of the same name may replace it. After 0 the end of @conn
 * has to call kfi_peer_leave().
 *
 * Return: 0; -EINPROGRESS if there is a connection to the peer, which is being probed: the caller
 * tries again a little later; otherwise the reason to refuse: -EALREADY if the call of this side is
 * kept, or if the peer at the other end of the existing connection is alive; -ECONNREFUSED if there
 * are too many peers, if there is no memory, or if the endpoint stops; -ENOBUFS if the account of
 * the fabric does not pay for another peer.
 */
int kfi_peer_admit(struct kfi_peers *peers, struct kfi_peer_conn *conn,
		   const struct kfi_peer_call *call);

/*
 * Let posts use a connection that both sides have accepted: first the waiting operations are queued
 * on it. The caller starts them. The previous connection to the peer fails with -ECONNRESET. If
 * @conn itself has failed, it is not published. It gets the waiting operations all the same, and
 * ends them, unless there is another connection. So a peer that accepts every call and then closes
 * does not make this side dial for ever.
 */
void kfi_peer_publish(struct kfi_peer_conn *conn);

/*
 * Prevent posts from finding a connection that has failed. Posters that have found it already may
 * use it until the end of an RCU grace period.
 */
void kfi_peer_unpublish(struct kfi_peer_conn *conn);

/*
 * A connection or an attempt to connect has ended, and its operations have been completed. @err:
 * reason, -EALREADY if the peer keeps its own call. If operations wait for a connection, the peer
 * is dialed again, or they are completed: with -EHOSTUNREACH if @err is -ETIMEDOUT, -ENETUNREACH,
 * -ENETDOWN or -EADDRNOTAVAIL, otherwise with @err.
 */
void kfi_peer_lost(struct kfi_peer_conn *conn, int err);

#endif /* _KFI_PROTO_PEERS_H */
