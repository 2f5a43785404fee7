/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfi_peer.h - the peers of an RDM endpoint, for providers that have a connection to each peer.
 *
 * A connection to a peer is made when the consumer posts the first operation to the peer. Until the
 * connection is ready, operations wait in &kfi_peer.pending, and a work item has the provider dial.
 * When the connection is ready, the waiting operations are queued on it in posting order. A post to
 * a peer that has a connection is one look-up under RCU.
 *
 * If two endpoints dial each other at the same time, the call of the endpoint with the smaller name
 * is kept, and the other call ends with -EALREADY. A peer that has restarted sends another
 * incarnation in its hello, and its new connection replaces the old one. The provider ends the
 * operations of the old connection with an error; they are not sent again.
 *
 * Life of a connection:
 *
 *	this side dials				a peer calls, and its hello has arrived
 *	ops->dial(): kfi_peer_join()		kfi_peer_admit(), then accept, or refuse with
 *	ops->start()				the errno as the reason
 *	accepted: kfi_peer_is_dialing()
 *	kfi_peer_publish()			kfi_peer_publish()
 *
 * The end of a connection may begin at any time, by ops->fail() or in the provider. These steps
 * follow once, in this order:
 *
 *	no kfi_peer_publish() of the connection runs, and none follows
 *	kfi_peer_unpublish()
 *	an RCU grace period; posters that have found the connection have left their read sections
 *	the provider completes every operation that the connection has
 *	kfi_peer_lost()
 *	kfi_peer_leave()
 *
 * &struct kfi_peer_call contains what the caller of a connection tells the called side. The
 * provider defines the format on the wire.
 *
 * Locks, outermost first: kfi_peers.lock, kfi_peer.lock, both with bottom halves off. A post takes
 * them if there is no connection. So they are inside every lock that a provider holds while it lets
 * handlers of consumers run (kfi_batch_end()). A callback that is called under these locks calls no
 * function of this header, and takes only locks of the provider under which no handler runs.
 */
#ifndef _KFI_PEER_H
#define _KFI_PEER_H

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include <kfi_prov.h>

struct kfi_conn_set;
struct kfi_peer;
struct kfi_peers;

/**
 * struct kfi_peer_conn - a connection to a peer; the provider's connection contains it
 * @peer: the peer, of which this connection is a user; NULL until the peer is known
 * @dialed: this side has called. The provider sets it before kfi_peer_join() and kfi_conn_set_add()
 * @ready: kfi_peer_publish() has been called
 * @stream: random number that names the connection on both sides. The side that calls chooses it,
 *	before ops->start()
 * @known: @stream of the previous connection to the peer, for the hello of a call; 0 if there was
 *	none
 * @incarnation: incarnation of the peer. kfi_peer_admit() sets it; the provider sets it before
 *	kfi_peer_publish() if @dialed
 * @conn_set: connection set that contains the connection, see kfi_conn_set.h. This member and those
 *	that follow are unused if the provider does not use connection sets
 * @entry: in &kfi_conn_set.conns
 * @is_pending: the connection is in &kfi_conn_set.pending_conns
 * @waiting: in &kfi_conn_set.pending_conns
 */
struct kfi_peer_conn {
	struct kfi_peer		*peer;
	bool			dialed;
	bool			ready;
	u64			stream;
	u64			known;
	u64			incarnation;
	struct kfi_conn_set	*conn_set;
	struct list_head	entry;
	bool			is_pending;
	struct list_head	waiting;
};

/**
 * struct kfi_peer_ops - what a provider implements for the peers of its endpoints
 * @name_len: bytes of a name, at most KFI_ADDR_MAX. The core copies names and does not interpret
 *	them
 * @max_peers: limit for the number of peers of an endpoint. If an endpoint has so many, and a new
 *	peer calls, a peer that is not in use is freed, or else the call is refused. Read at each
 *	use, it may be a module parameter
 * @redial_timeout_ms: milliseconds. A call that has lost to the call of the peer is repeated for so
 *	long if the connection of the peer does not come up. Read at each use
 *
 * @name: convert an address of the address vector to a name. Returns 0, or a negative errno if the
 *	address denotes no peer. Called inside rcu_read_lock(), with or without kfi_peers.lock;
 *	must not sleep
 * @cmp: compare two names. Returns < 0, 0 or > 0; the order is the same on both sides of a
 *	connection. Any context, also under both locks
 * @dial: allocate a connection to @peer and join it with kfi_peer_join() before anything else can
 *	find it. Does not call the peer yet. Returns the connection with a reference for the core,
 *	which @put drops; or ERR_PTR() of the error with which the waiting operations end. Called
 *	in a work item of &kfi_peers.wq, may sleep. Must not wait for I/O, because writeback may
 *	wait for the connection
 * @start: call the peer. Called under kfi_peer.lock, must not sleep: it queues a work item
 * @put: drop the reference of @dial. May sleep
 * @fail: begin the end of a connection. The first reason counts, later ones are ignored. Called
 *	under kfi_peer.lock, must not sleep
 * @failed: has the end of the connection begun? Called under kfi_peer.lock
 * @probe: optional: another caller claims the name of the peer of this published connection. Find
 *	out whether the peer is still alive: send something to the peer at the first call, and look
 *	at the result at later calls. Returns 0 if the result is not known yet; 1 if the peer is
 *	alive, then the caller is refused; -1 if the peer is not alive. Without it, the new
 *	connection always replaces the old one. Called under kfi_peer.lock, must not sleep
 * @queue: add an operation that has waited to the connection, behind those that were added before.
 *	The provider starts the operations when kfi_peer_publish() has returned. If the connection
 *	has failed, the provider completes them before kfi_peer_lost(). Called under kfi_peer.lock
 * @show: fill in the address of a peer, and the state and the counts of its connection @conn,
 *	which is NULL if there is none. The core has set the number, the reconnects, and the state
 *	"idle". Called inside rcu_read_lock()
 */
struct kfi_peer_ops {
	size_t			name_len;
	const unsigned int	*max_peers;
	const unsigned int	*redial_timeout_ms;

	int	(*name)(const struct kfi_ep *ep, const void *addr, void *name);
	int	(*cmp)(const void *a, const void *b);

	struct kfi_peer_conn *(*dial)(struct kfi_peer *peer);
	void	(*start)(struct kfi_peer_conn *conn);
	void	(*put)(struct kfi_peer_conn *conn);
	void	(*fail)(struct kfi_peer_conn *conn, int err);
	int	(*probe)(struct kfi_peer_conn *conn);
	bool	(*failed)(const struct kfi_peer_conn *conn);
	void	(*queue)(struct kfi_peer_conn *conn, struct kfi_oper *op);

	void	(*show)(const struct kfi_peers *peers, const void *name,
			const struct kfi_peer_conn *conn, struct kfi_peer_info *info);
};

/**
 * struct kfi_peers - the peers of one endpoint; the provider's endpoint contains it
 * @cache: peers by index and receive context of their address handle, in front of @list. Written
 *	under @lock, read under RCU
 * @ep: the endpoint
 * @ops: operations of the provider
 * @wq: workqueue for &kfi_peer.dial, unbound and with WQ_MEM_RECLAIM
 * @incarnation: random number of this life of the endpoint, never 0. All contexts of a scalable
 *	endpoint have the same one: the provider copies it before it enables a context
 * @lock: protects @nr, @last, @nr_ctx_peers, and changes of @list, @cache and @stopping
 * @list: all peers, ordered by number. Read under @lock or RCU
 * @nr: number of peers
 * @last: number of the newest peer
 * @nr_ctx_peers: number of peers in @cache with &kfi_peer.ctx_id above 0
 * @stopping: kfi_peers_stop() was called. Read without the lock by READ_ONCE()
 */
struct kfi_peers {
	struct xarray		cache;
	struct kfi_ep		*ep;
	const struct kfi_peer_ops *ops;
	struct workqueue_struct	*wq;
	u64			incarnation;
	spinlock_t		lock;
	struct list_head	list;
	unsigned int		nr;
	u32			last;
	unsigned int		nr_ctx_peers;
	bool			stopping;
};

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
 * @ctx_id: tells the contexts of a peer's scalable endpoint apart; each of them has connections of
 *	its own. 0: the endpoint itself or its receive context 0. Above 0: the receive context of
 *	the peer to which this side sends. Below 0: minus the number, counted from 1, of the
 *	transmit context of the peer that calls this side, or KFI_CTX_ID_SELF
 * @key: key in &kfi_peers.cache; ULONG_MAX if the peer is not cached. Under kfi_peers.lock
 * @lock: protects @pending, @dialing, @gone, @redials and changes of @conn
 * @gone: the peer is being freed; no operation may be added to @pending
 * @dialing: the connection that is being established, dialed by either side, or NULL
 * @pending: operations that wait for a connection
 * @incarnation: incarnation of the peer in its last connection. If it changes, the peer has
 *	restarted
 * @stream: &kfi_peer_conn.stream of the last published connection
 * @reconnects: number of connections after the first
 * @dial: work item that dials
 * @redials: attempts since a call has lost to the call of the peer
 * @rcu: frees the peer
 * @name: &kfi_peer_ops.name_len bytes
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
	u64			stream;
	u64			reconnects;
	struct delayed_work	dial;
	unsigned int		redials;
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
 * @stream: name of the connection
 * @known: &kfi_peer_conn.stream of the last connection to this side that the caller knows of
 */
struct kfi_peer_call {
	const void	*name;
	const void	*self;
	u16		src_ctx;
	u64		incarnation;
	u64		stream;
	u64		known;
};

/**
 * kfi_peers_init() - prepare the peers of an endpoint
 * @peers: zeroed structure
 * @ep: the endpoint
 * @ops: operations of the provider
 * @wq: workqueue for dialing, see &struct kfi_peers
 *
 * Context: any.
 */
void kfi_peers_init(struct kfi_peers *peers, struct kfi_ep *ep, const struct kfi_peer_ops *ops,
		    struct workqueue_struct *wq);

/**
 * kfi_peers_stop() - refuse new peers, dials and posts
 * @peers: peers of the endpoint
 *
 * A post to a peer without a connection returns -ENODEV from now on. The provider then fails every
 * connection, and waits until the last one has called kfi_peer_leave(). Then it waits for an RCU
 * grace period, after which no poster adds an operation to &kfi_peer.pending, and calls
 * kfi_peers_flush().
 *
 * Context: process or softirq.
 */
void kfi_peers_stop(struct kfi_peers *peers);

/**
 * kfi_peers_flush() - complete the operations that wait for a connection
 * @peers: peers of the endpoint, after kfi_peers_stop()
 * @err: negative errno of the completions
 *
 * Cancels the work items that dial, and waits for those that run.
 *
 * Context: process, may sleep.
 */
void kfi_peers_flush(struct kfi_peers *peers, int err);

/**
 * kfi_peers_free() - free the peers of an endpoint that closes
 * @peers: peers of the endpoint, after kfi_peers_flush()
 *
 * Context: process.
 */
void kfi_peers_free(struct kfi_peers *peers);

/**
 * kfi_peers_removed() - implement &kfi_prov_ops.addr_removed
 * @peers: peers of the endpoint
 * @index: index that was removed from the address vector
 *
 * Removes the peers with this index, whatever the receive context, from the cache. The peer and its
 * connection stay: a post to another handle of the same address finds them by name.
 *
 * Context: process or softirq.
 */
void kfi_peers_removed(struct kfi_peers *peers, u32 index);

/**
 * kfi_peers_show() - implement &kfi_prov_ops.peers
 * @peers: peers of the endpoint
 * @after: show peers with a number above this
 * @emit: called for each peer, in the order of the numbers, until it returns nonzero. Must not
 *	sleep
 * @arg: first argument of @emit
 *
 * Takes no lock. Context: process or softirq.
 */
void kfi_peers_show(struct kfi_peers *peers, u32 after,
		    int (*emit)(void *arg, const struct kfi_peer_info *peer), void *arg);

/**
 * kfi_peer_wait() - the part of kfi_peer_find_conn() for a peer without a cached connection
 * @peers: peers of the endpoint
 * @op: posted operation
 *
 * Context, Return: as kfi_peer_find_conn().
 */
struct kfi_peer_conn *kfi_peer_wait(struct kfi_peers *peers, struct kfi_oper *op);

/**
 * kfi_peer_key() - compute the key of an address handle in &kfi_peers.cache
 * @av: address vector of the endpoint
 * @addr: the handle
 * @key: where to store the key
 *
 * Context: any.
 * Return: true; false if an unsigned long has no room for both the index and the receive context.
 * Then the peer is not cached, and each post finds it by name.
 */
static inline bool kfi_peer_key(struct kfi_av *av, kfi_addr_t addr, unsigned long *key)
{
	u64 rx_ctx = kfi_av_rx_ctx(av, addr);

	*key = rx_ctx << 32 | kfi_av_index(av, addr);
	return !rx_ctx || BITS_PER_LONG == 64;
}

/**
 * kfi_peer_cached() - look up the peer of an address handle in the cache
 * @peers: peers of the endpoint
 * @addr: the handle
 *
 * Context: any, inside an RCU read section.
 * Return: the peer, or NULL if it is not cached; &kfi_peers.list may contain it all the same.
 */
static inline struct kfi_peer *kfi_peer_cached(struct kfi_peers *peers, kfi_addr_t addr)
{
	unsigned long key;

	return kfi_peer_key(peers->ep->av, addr, &key) ? xa_load(&peers->cache, key) : NULL;
}

/**
 * kfi_peer_find_conn() - find the connection for an operation
 * @peers: peers of the endpoint
 * @op: operation that was posted on the endpoint
 *
 * If the peer has no connection, @op is added to &kfi_peer.pending, and belongs to the core until
 * &kfi_peer_ops.queue.
 *
 * Context: process or softirq, inside an RCU read section. The connection may be posted to until
 * the end of that section.
 * Return: the connection; NULL if @op waits for one; ERR_PTR() if @op is refused: -EINVAL if the
 * handle denotes no peer, -ENODEV if the endpoint stops, -EAGAIN if there is no memory.
 */
static inline struct kfi_peer_conn *kfi_peer_find_conn(struct kfi_peers *peers, struct kfi_oper *op)
{
	struct kfi_peer *peer = kfi_peer_cached(peers, op->addr);
	struct kfi_peer_conn *conn = likely(peer) ?
		rcu_dereference_check(peer->conn, rcu_read_lock_bh_held()) : NULL;

	return likely(conn) ? conn : kfi_peer_wait(peers, op);
}

/**
 * kfi_peer_join() - make a dialed connection a user of its peer
 * @peer: the peer that &kfi_peer_ops.dial was called for
 * @conn: the new connection. Its end has to call kfi_peer_leave()
 *
 * Context: from &kfi_peer_ops.dial.
 */
static inline void kfi_peer_join(struct kfi_peer *peer, struct kfi_peer_conn *conn)
{
	conn->peer = peer;
	atomic_inc(&peer->users);	/* the dial work is a user too, so the peer is not freed */
}

/**
 * kfi_peer_rx_ctx() - return the receive context of the peer that this side calls
 * @peer: the peer
 *
 * The hello of the call contains it.
 *
 * Context: any. Return: number of the receive context; 0 if the peer is no scalable endpoint.
 */
static inline u16 kfi_peer_rx_ctx(const struct kfi_peer *peer)
{
	return max(peer->ctx_id, 0);
}

/**
 * kfi_peer_tx_ctx() - return the transmit context that calls, for &kfi_peer_call.src_ctx
 * @ep: endpoint or context that dials
 *
 * The peer sends no requests on a connection of a transmit context. A request that arrives there
 * violates the protocol.
 *
 * Context: any. Return: number of the transmit context, counted from 1; 0 if @ep is none.
 */
static inline u16 kfi_peer_tx_ctx(const struct kfi_ep *ep)
{
	return ep->fid.fid.fclass == KFI_CLASS_TX_CTX ? ep->ctx + 1 : 0;
}

/**
 * kfi_peer_is_dialing() - check that a dialed connection has not lost to a call of the peer
 * @conn: dialed connection that the peer has accepted
 *
 * Context: process or softirq.
 * Return: false if the peer's call was admitted meanwhile and is kept. The provider then ends @conn
 * with -EALREADY.
 */
bool kfi_peer_is_dialing(struct kfi_peer_conn *conn);

/**
 * kfi_peer_admit() - admit or refuse a caller
 * @peers: peers of the endpoint that was called
 * @conn: connection of the caller, which has no peer yet
 * @call: contents of the caller's hello
 *
 * An admitted connection becomes &kfi_peer.dialing, and a call of this side to the same peer ends
 * with -EALREADY. The provider then accepts the call, and publishes the connection. Until it is
 * published another call of the same name may replace it. After 0 the end of @conn has to call
 * kfi_peer_leave().
 *
 * Context: process or softirq.
 * Return: 0 if the caller is admitted; -EINPROGRESS if there is a connection to the peer, which is
 * being probed (&kfi_peer_ops.probe): the provider calls again a little later; otherwise the reason
 * to refuse the caller: -EALREADY if the call of this side is kept, or if the peer at the other end
 * of the existing connection is alive; -ECONNREFUSED if there are too many peers, if there is no
 * memory, or if the endpoint stops.
 */
int kfi_peer_admit(struct kfi_peers *peers, struct kfi_peer_conn *conn,
		   const struct kfi_peer_call *call);

/**
 * kfi_peer_publish() - let posts to a peer use its connection
 * @conn: the connection, which both sides have accepted
 *
 * Adds the waiting operations to the connection (&kfi_peer_ops.queue), and then lets posts find it.
 * The provider starts the queued operations when this function returns. The previous connection to
 * the peer fails with -ECONNRESET. If @conn itself has failed, it is not published. It gets the
 * waiting operations all the same, and ends them, unless there is another connection. So a peer
 * that accepts every call and then closes does not make this side dial for ever.
 *
 * Context: process or softirq.
 */
void kfi_peer_publish(struct kfi_peer_conn *conn);

/**
 * kfi_peer_unpublish() - prevent posts from finding a connection
 * @conn: connection that has failed
 *
 * Posters that have found the connection already may use it until the end of an RCU grace period.
 *
 * Context: process or softirq.
 */
void kfi_peer_unpublish(struct kfi_peer_conn *conn);

/**
 * kfi_peer_lost() - report that a connection or an attempt to connect has ended
 * @conn: the connection; its operations have been completed
 * @err: reason, a negative errno. -EALREADY: the peer keeps its own call
 *
 * If operations wait for a connection, the peer is dialed again, or the operations are completed.
 * They are completed with -EHOSTUNREACH if @err is -ETIMEDOUT, -ENETUNREACH, -ENETDOWN or
 * -EADDRNOTAVAIL, otherwise with @err.
 *
 * Context: process or softirq.
 */
void kfi_peer_lost(struct kfi_peer_conn *conn, int err);

/**
 * kfi_peer_leave() - end the use of the peer by a connection
 * @conn: connection that has ended. Its peer may be freed from now on
 *
 * Context: any.
 */
static inline void kfi_peer_leave(struct kfi_peer_conn *conn)
{
	atomic_dec(&conn->peer->users);
}

#endif /* _KFI_PEER_H */
