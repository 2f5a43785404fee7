/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfi_peer.h - whom a reliable-datagram endpoint talks to, for providers that have a connection to each peer.
 *
 * There is none until somebody posts. The operation then waits at the peer, a work item has the provider call, and what
 * has waited goes to the connection in posting order. A post to a peer that has one is a look-up under RCU and nothing else.
 *
 * Two endpoints that call each other at the same moment settle it by name: the smaller one's call stands. A peer that has
 * restarted shows another incarnation in its hello, and its new connection replaces the old one; what was under way on
 * the old one the provider ends in error, and nobody sends it again.
 *
 * A connection as seen from here:
 *
 *	we call					a peer calls, and has said its hello
 *	ops->dial(): kfi_peer_join()		kfi_peer_admit(): then accept, or refuse with the errno as the reason
 *	ops->start()
 *	accepted: kfi_peer_stands()
 *	kfi_peer_publish()			kfi_peer_publish()
 *
 * It may end at any moment, by ops->fail() or because the provider says so. Then, once, and in this order:
 *
 *	no kfi_peer_publish() of it runs or will come
 *	kfi_peer_unpublish()
 *	a grace period: posters that still saw it are through
 *	the provider ends every operation that it was given
 *	kfi_peer_lost()
 *	kfi_peer_leave()
 *
 * What the two sides of a call have to tell each other is in struct kfi_peer_call; how it looks on the wire is up to the
 * provider.
 *
 * Locks, outermost first: kfi_peers.lock, kfi_peer.lock, both with bottom halves off. A post takes them while there is no
 * connection, so they are inside of whatever a provider holds when it lets consumers' handlers run (kfi_batch_end()). A
 * callback that is called under them takes only locks of the provider's under which no handler runs, and nothing here is called.
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

struct kfi_home;
struct kfi_peer;
struct kfi_peers;

/**
 * struct kfi_peer_conn - a connection to a peer; embedded by the provider in its own
 * @peer:	whom it goes to, counted in its users; NULL until that is known
 * @dialed:	we have called (provider, before kfi_peer_join() and kfi_home_list())
 * @ready:	kfi_peer_publish() was called
 * @stream:	its name, as both sides know it; chosen by the side that calls, before ops->start()
 * @known:	the name of the connection before it, if we have called: for the hello
 * @incarnation: the peer's; of a call of ours the provider sets it before kfi_peer_publish()
 * @home:	whose connection it is, see kfi_home.h; this and the next two are unused if the provider has none
 * @entry:	in &kfi_home.conns
 * @stranger:	counted in &kfi_home.nstrangers
 * @waiting:	a stranger's: in &kfi_home.strangers
 */
struct kfi_peer_conn {
	struct kfi_peer		*peer;
	bool			dialed;
	bool			ready;
	u64			stream;
	u64			known;
	u64			incarnation;
	struct kfi_home		*home;
	struct list_head	entry;
	bool			stranger;
	struct list_head	waiting;
};

/**
 * struct kfi_peer_ops - what a provider does for its peers
 * @name_len:	bytes of a name as @cmp wants it, up to KFI_ADDR_MAX: the core only copies it
 * @max_peers:	who calls by himself and would be a peer more is refused. Read at each use: may be a module's parameter
 * @patience_ms: for how long a call that has lost to the peer's own is tried again, if that never comes. Read at each use
 *
 * @name:	the name for an address as address vectors have it. In an RCU section, under kfi_peers.lock or not; does not sleep.
 *		Return: 0 or negative errno: it means nobody
 * @cmp:	< 0, 0, > 0: the order must be the same on both sides. Any context, under both locks
 * @dial:	make a connection to @peer that does not call yet, and join it (kfi_peer_join()) before anybody else finds it.
 *		From kfi_peers.wq, may sleep, but not for I/O: it may be writeback that waits for us. Return: with a reference for the
 *		core until @put; or ERR_PTR: as a failed call
 * @start:	call. Under kfi_peer.lock, may not sleep: queue a work item
 * @put:	give the reference of @dial back; may sleep
 * @fail:	begin the end of a connection, for this reason; the first counts. Under kfi_peer.lock, may not sleep
 * @failed:	has its end begun? Under kfi_peer.lock
 * @probe:	somebody calls by the name of the peer at the other end of this established
 *		connection. Is that peer still there? Ask it, and look at the answer when this is
 *		called again. Under kfi_peer.lock, may not sleep. Return: 0 not known yet; 1 it
 *		is, so the caller is refused; -1 it is not. NULL: nobody asks
 * @queue:	@op has waited for this connection. Keep it, to be started when kfi_peer_publish() has returned; behind those that
 *		came before. Under kfi_peer.lock; a connection that has failed ends it, before kfi_peer_lost()
 * @show:	fill in what `kfi show` has to say about a peer with this name; @conn is NULL if there is none. @info has the
 *		number, the reconnects, and says "idle". In an RCU section
 */
struct kfi_peer_ops {
	size_t			name_len;
	const unsigned int	*max_peers;
	const unsigned int	*patience_ms;

	int	(*name)(const struct kfi_ep *ep, const void *addr, void *name);
	int	(*cmp)(const void *a, const void *b);

	struct kfi_peer_conn *(*dial)(struct kfi_peer *peer);
	void	(*start)(struct kfi_peer_conn *conn);
	void	(*put)(struct kfi_peer_conn *conn);
	void	(*fail)(struct kfi_peer_conn *conn, int err);
	int	(*probe)(struct kfi_peer_conn *conn);
	bool	(*failed)(const struct kfi_peer_conn *conn);
	void	(*queue)(struct kfi_peer_conn *conn, struct kfi_oper *op);

	void	(*show)(const struct kfi_peers *peers, const void *name, const struct kfi_peer_conn *conn,
			struct kfi_peer_info *info);
};

/**
 * struct kfi_peers - the peers of one endpoint; embedded by the provider in its own
 * @cache:	peers by AV index and receive context, in front of @list; written under @lock, read under RCU
 * @ep:		whose they are
 * @ops:	the provider's
 * @wq:		where calls are begun: unbound, with WQ_MEM_RECLAIM
 * @incarnation: random name of this life of the endpoint, never 0. A context has that of its scalable endpoint: its provider
 *		copies it before it is enabled
 * @lock:	protects @nr, @last, @nlanes, @stopping, the writing of @list and @cache
 * @list:	every peer, in the order of their numbers; read under RCU too
 * @nr:		how many there are
 * @last:	number of the newest
 * @nlanes:	those in @cache that are receive contexts but the first
 * @stopping:	kfi_peers_stop() was called; read with READ_ONCE() elsewhere
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
	unsigned int		nlanes;
	bool			stopping;
};

/** KFI_LANE_SELF - &kfi_peer.lane of an endpoint that has called itself: the end at which the call has come */
#define KFI_LANE_SELF	INT_MIN

/**
 * struct kfi_peer - somebody an RDM endpoint talks to; lives until the endpoint closes, or until it is forgotten
 * @conn:	the connection in use, RCU
 * @peers:	whose it is
 * @entry:	in &kfi_peers.list
 * @nr:		&kfi_peer_info.nr
 * @users:	its connections, and its dial when that is queued or runs: with one of them it is not forgotten
 * @lane:	0; or the receive context of it that we send to (> 0); or minus the transmit context of it that calls us, counted
 *		from 1 (< 0). Each has connections of its own
 * @key:	in &kfi_peers.cache, ULONG_MAX: not there; under kfi_peers.lock
 * @lock:	protects @pending, @dialing, @gone, @redials and the publication of @conn
 * @gone:	forgotten: nothing may wait here any more
 * @dialing:	an attempt that is not settled yet, ours or the peer's
 * @pending:	operations posted while there was no connection
 * @incarnation: last known; another one means the peer has restarted
 * @stream:	the last connection's name
 * @reconnects:	connections after the first
 * @dial:	opens a connection
 * @redials:	attempts since a simultaneous call was lost
 * @rcu:	frees it
 * @name:	&kfi_peer_ops.name_len bytes
 *
 * Found under RCU; under kfi_peers.lock; or by one of its users.
 */
struct kfi_peer {
	struct kfi_peer_conn __rcu *conn;
	struct kfi_peers	*peers;
	struct list_head	entry;
	u32			nr;
	atomic_t		users;
	int			lane;
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
 * struct kfi_peer_call - what somebody who calls has said, and what is known of him besides; not trusted
 * @name:	his name, by which we could call him
 * @self:	the name by which he has called us. Our own may be a wildcard, which is smaller than every other on both sides
 * @src_ctx:	his transmit context, counted from 1; 0: he has none
 * @incarnation: of his endpoint, not 0
 * @stream:	how he names the connection
 * @known:	the name of the last one between us that he knows of
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
 * kfi_peers_init() - an endpoint is made
 * @peers: in the provider's structure, zeroed
 * @ep: whose they are
 * @ops: the provider's
 * @wq: where calls are begun, see struct kfi_peers
 */
void kfi_peers_init(struct kfi_peers *peers, struct kfi_ep *ep, const struct kfi_peer_ops *ops, struct workqueue_struct *wq);

/**
 * kfi_peers_stop() - the endpoint stops: no new peers, no new attempts, posts are answered -ENODEV
 * @peers: the endpoint's
 *
 * The provider then fails every connection, waits until the last has called kfi_peer_leave(), and for a grace period: posters
 * that saw us running have left their operations somewhere. Context: process or softirq.
 */
void kfi_peers_stop(struct kfi_peers *peers);

/** kfi_peers_flush() - and then: whatever still waits ends with @err. Context: process, sleeps for an attempt that runs */
void kfi_peers_flush(struct kfi_peers *peers, int err);

/** kfi_peers_free() - the endpoint closes. Context: process */
void kfi_peers_free(struct kfi_peers *peers);

/**
 * kfi_peers_removed() - &kfi_prov_ops.addr_removed: the index will mean somebody else, if anybody, with every receive context
 * @peers: the endpoint's
 * @index: of a handle
 *
 * The peer stays, with its connection: who names its address again finds it. Context: process or softirq.
 */
void kfi_peers_removed(struct kfi_peers *peers, u32 index);

/**
 * kfi_peers_show() - &kfi_prov_ops.peers
 * @peers: the endpoint's
 * @after: peers with a number above this
 * @emit: called for each, in the order of the numbers, until it answers nonzero; may not sleep
 * @arg: for @emit
 *
 * Takes no lock. Context: process or softirq.
 */
void kfi_peers_show(struct kfi_peers *peers, u32 after,
		    int (*emit)(void *arg, const struct kfi_peer_info *peer), void *arg);

/** kfi_peer_wait() - the slow half of kfi_peer_way() */
struct kfi_peer_conn *kfi_peer_wait(struct kfi_peers *peers, struct kfi_oper *op);

/* Where the peer of a handle is kept. False: a long has no room for index and context, and it is found by name each time. */
static inline bool kfi_peer_key(struct kfi_av *av, kfi_addr_t addr, unsigned long *key)
{
	u64 rx_ctx = kfi_av_rx_ctx(av, addr);

	*key = rx_ctx << 32 | kfi_av_index(av, addr);
	return !rx_ctx || BITS_PER_LONG == 64;
}

/* Under RCU. NULL: not there, which says nothing about the list. */
static inline struct kfi_peer *kfi_peer_cached(struct kfi_peers *peers, kfi_addr_t addr)
{
	unsigned long key;

	return kfi_peer_key(peers->ep->av, addr, &key) ? xa_load(&peers->cache, key) : NULL;
}

/**
 * kfi_peer_way() - where does an operation go?
 * @peers: the endpoint's
 * @op: posted on it
 *
 * Context: process or softirq, inside an RCU read section; the connection may be posted to until the end of that.
 * Return: the connection; NULL: there is none, @op waits at its peer and is the provider's no more, until &kfi_peer_ops.queue;
 * ERR_PTR: refused: -EINVAL (the handle means nobody), -ENODEV (the endpoint stops), -EAGAIN (no memory).
 */
static inline struct kfi_peer_conn *kfi_peer_way(struct kfi_peers *peers, struct kfi_oper *op)
{
	struct kfi_peer *peer = kfi_peer_cached(peers, op->addr);
	struct kfi_peer_conn *conn = likely(peer) ? rcu_dereference_check(peer->conn, rcu_read_lock_bh_held()) : NULL;

	return likely(conn) ? conn : kfi_peer_wait(peers, op);
}

/** kfi_peer_join() - &kfi_peer_ops.dial has made @conn for @peer: from now on it must end by kfi_peer_leave() */
static inline void kfi_peer_join(struct kfi_peer *peer, struct kfi_peer_conn *conn)
{
	conn->peer = peer;
	atomic_inc(&peer->users);	/* the dial's count keeps it until then */
}

/** kfi_peer_rx_ctx() - the receive context that we call: for the hello */
static inline u16 kfi_peer_rx_ctx(const struct kfi_peer *peer)
{
	return max(peer->lane, 0);
}

/**
 * kfi_peer_tx_ctx() - who of an endpoint calls: for the hello, see &kfi_peer_call.src_ctx
 * @ep: an endpoint or a context
 *
 * Return: the number of a transmit context, counted from 1; else 0. On its connections a peer has nothing to ask for, and
 * who does has broken the protocol.
 */
static inline u16 kfi_peer_tx_ctx(const struct kfi_ep *ep)
{
	return ep->fid.fid.fclass == KFI_CLASS_TX_CTX ? ep->ctx + 1 : 0;
}

/**
 * kfi_peer_stands() - a call of ours was accepted: is it still the one?
 * @conn: the call
 *
 * Context: process or softirq. Return: false: the peer's own call was admitted in the meantime and stands, and this one is to
 * end with -EALREADY.
 */
bool kfi_peer_stands(struct kfi_peer_conn *conn);

/**
 * kfi_peer_admit() - somebody calls
 * @peers: of the endpoint that he wants
 * @conn: his connection, which has no peer yet
 * @call: what he has said
 *
 * If he may, this is the attempt under way, one of ours ends, and @conn has to end by kfi_peer_leave(). Tell him, and then it is
 * published; in between another call may take its place.
 * Context: process or softirq. Return: 0; -EINPROGRESS: there is a connection to that peer, which
 * is being probed (&kfi_peer_ops.probe): call again in a moment; what to refuse him with:
 * -EALREADY: our own call stands, or the peer is at the other end of that connection;
 * -ECONNREFUSED: too many peers, no memory, or the endpoint stops.
 */
int kfi_peer_admit(struct kfi_peers *peers, struct kfi_peer_conn *conn, const struct kfi_peer_call *call);

/**
 * kfi_peer_publish() - a connection is the way to its peer
 * @conn: the connection; the peer has agreed
 *
 * It can be posted to as soon as this is called. What has waited has been put on it (&kfi_peer_ops.queue) before that, and
 * nobody else starts it: look at what there is when this returns. One that has failed already gets them too, if there is no
 * other, and ends them: a peer that accepts and hangs up does not keep us calling.
 * Context: process or softirq.
 */
void kfi_peer_publish(struct kfi_peer_conn *conn);

/** kfi_peer_unpublish() - nobody new finds @conn. Context: process or softirq */
void kfi_peer_unpublish(struct kfi_peer_conn *conn);

/**
 * kfi_peer_lost() - a connection, or an attempt, is over
 * @conn: its operations have ended
 * @err: why. -EALREADY: the peer says that its own call stands
 *
 * What waits for another one makes us call again, or ends: with -EHOSTUNREACH if there is no way to the peer, whatever is in
 * the way, else with @err. Context: process or softirq.
 */
void kfi_peer_lost(struct kfi_peer_conn *conn, int err);

/** kfi_peer_leave() - the last that is done with @conn: its peer may be forgotten now. Any context */
static inline void kfi_peer_leave(struct kfi_peer_conn *conn)
{
	atomic_dec(&conn->peer->users);
}

#endif /* _KFI_PEER_H */
