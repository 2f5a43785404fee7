// SPDX-License-Identifier: GPL-2.0
/*
 * peers.c - the peers of an RDM endpoint, and the connection to each of them. See peers.h.
 *
 * kfi_peers.lock protects the list of peers and the cache; kfi_peer.lock, which is taken inside of
 * it, protects the connection of a peer and the operations that wait for it. Both are taken with
 * bottom halves off. docs/locking.md describes the life of peers and connections.
 */
#include <linux/err.h>
#include <linux/random.h>
#include <linux/rculist.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "peers.h"

/* Delay before this side dials again, see kfi_peer_redial() */
#define KFI_REDIAL_MS	50

static void kfi_peer_dial_work(struct work_struct *work);

static const struct kfi_link_ops *link_ops(const struct kfi_peers *peers)
{
	return to_proto_ep(peers->ep)->proto->ops;
}

static const struct kfi_proto_params *params(const struct kfi_peers *peers)
{
	return &to_proto_ep(peers->ep)->proto->params;
}

/* Bytes of a peer with its name, its entry in the cache and its accounts, roughly */
#define KFI_PEER_BYTES	1024

/* ---- the list of peers ---- */

static struct kfi_peer *kfi_peer_lookup(struct kfi_peers *peers, const void *name, int ctx_id)
{
	struct kfi_peer *peer;

	list_for_each_entry(peer, &peers->list, entry)
		if (peer->ctx_id == ctx_id && !kfp_name_cmp(link_ops(peers), peer->name, name))
			return peer;
	return NULL;
}

static struct kfi_peer *kfi_peer_new(struct kfi_peers *peers, const void *name, int ctx_id)
{
	struct kfi_account *payer = kfi_ep_account(peers->ep);
	struct mem_cgroup *memcg = set_active_memcg(payer ? payer->memcg : NULL);
	size_t len = link_ops(peers)->name_len;
	struct kfi_peer *peer;

	peer = kzalloc(struct_size(peer, name, len),
		       GFP_ATOMIC | __GFP_NOWARN | (payer ? __GFP_ACCOUNT : 0));
	set_active_memcg(memcg);
	if (!peer)
		return NULL;
	peer->peers = peers;
	memcpy(peer->name, name, len);
	peer->ctx_id = ctx_id;
	peer->key = ULONG_MAX;
	spin_lock_init(&peer->lock);
	INIT_LIST_HEAD(&peer->pending);
	INIT_DELAYED_WORK(&peer->dial, kfi_peer_dial_work);
	return peer;
}

static void kfi_peer_uncache(struct kfi_peers *peers, struct kfi_peer *peer)
{
	lockdep_assert_held(&peers->lock);
	if (peer->key == ULONG_MAX)
		return;
	xa_erase(&peers->cache, peer->key);
	peers->nr_ctx_peers -= peer->ctx_id > 0;
	peer->key = ULONG_MAX;
}

/*
 * Free the peer, if only the list and the cache refer to it and no operation waits for it. A later
 * use of its name creates a new one. A post that has found the peer in the cache sees peer->gone.
 * Return: true if the peer was freed.
 */
static bool kfi_peer_reclaim(struct kfi_peers *peers, struct kfi_peer *peer)
{
	lockdep_assert_held(&peers->lock);
	if (atomic_read(&peer->users))
		return false;
	spin_lock(&peer->lock);	/* kfi_peer_add_pending() takes a reference under this lock */
	if (!atomic_read(&peer->users) && list_empty(&peer->pending)) {
		kfi_peer_uncache(peers, peer);
		peer->gone = true;
	}
	spin_unlock(&peer->lock);
	if (!peer->gone)
		return false;
	list_del_rcu(&peer->entry);
	peers->nr--;
	kfi_account_uncharge(kfi_ep_account(peers->ep), KFI_PEER_BYTES);
	kfree_rcu(peer, rcu);
	return true;
}

/* Free a peer that is not in use. */
static bool kfi_peer_reclaim_any(struct kfi_peers *peers)
{
	struct kfi_peer *peer;

	list_for_each_entry(peer, &peers->list, entry)
		if (kfi_peer_reclaim(peers, peer))
			return true;
	return false;
}

/*
 * The number of peers that call is bounded. If the limit is reached, free one that is not in use.
 */
static bool kfi_peer_room(struct kfi_peers *peers)
{
	return peers->nr < READ_ONCE(params(peers)->max_peers) || kfi_peer_reclaim_any(peers);
}

/* Let the account of the fabric pay for a peer. Return: 0, -ENOBUFS */
static int kfi_peer_pay(struct kfi_peers *peers)
{
	struct kfi_account *payer = kfi_ep_account(peers->ep);
	int ret = kfi_account_charge(payer, KFI_PEER_BYTES);

	if (ret && kfi_peer_reclaim_any(peers))
		ret = kfi_account_charge(payer, KFI_PEER_BYTES);
	return ret;
}

static int kfi_peer_add(struct kfi_peers *peers, struct kfi_peer *new, bool inbound)
{
	int ret;

	lockdep_assert_held(&peers->lock);
	if (peers->stopping)
		return -ENODEV;
	if (!new)
		return -EAGAIN;
	if (inbound && !kfi_peer_room(peers))
		return -ECONNREFUSED;
	ret = kfi_peer_pay(peers);
	if (ret)
		return ret;
	new->nr = ++peers->last;
	list_add_tail_rcu(&new->entry, &peers->list);
	peers->nr++;
	return 0;
}

/*
 * Return the peer with this name and context number (see struct kfi_peer); create it if it does not
 * exist. This is the slow path: posts find a peer by its index in the address vector. If @inbound,
 * the caller gets a count in peer->users for its connection; otherwise it must stay inside
 * rcu_read_lock().
 * Return: ERR_PTR(-ENODEV) if the endpoint stops, -EAGAIN if there is no memory, -ECONNREFUSED if
 * there are too many peers (@inbound only), -ENOBUFS if the account of the fabric is full.
 */
static struct kfi_peer *kfi_peer_find(struct kfi_peers *peers, const void *name, int ctx_id,
				      bool inbound)
{
	struct kfi_peer *peer, *new = kfi_peer_new(peers, name, ctx_id);
	int err = 0;

	spin_lock_bh(&peers->lock);
	peer = kfi_peer_lookup(peers, name, ctx_id);
	if (!peer) {
		err = kfi_peer_add(peers, new, inbound);
		peer = new;
	}
	if (!err && inbound)
		atomic_inc(&peer->users);
	spin_unlock_bh(&peers->lock);
	if (err || peer != new)
		kfree(new);
	return err ? ERR_PTR(err) : peer;
}

/* Get the name for an address handle. */
static int kfi_peer_name(struct kfi_peers *peers, kfi_addr_t addr, void *name)
{
	u8 raw[KFI_ADDR_MAX] __aligned(8);

	if (kfi_av_addr(peers->ep->av, addr, raw) < 0 ||
	    kfp_name_read(link_ops(peers), peers->ep, raw, name))
		return -EINVAL;
	return 0;
}

/*
 * Enter the peer into the cache, and check afterwards that the handle still denotes it:
 * kfi_peers_removed() may have run in between. A peer is in the cache under one handle only, even
 * if several handles denote it.
 */
static void kfi_peer_cache(struct kfi_peers *peers, struct kfi_peer *peer, kfi_addr_t addr)
{
	u8 name[KFI_ADDR_MAX] __aligned(8);
	unsigned long key;

	if (!kfi_peer_key(peers->ep->av, addr, &key))
		return;
	spin_lock_bh(&peers->lock);
	kfi_peer_uncache(peers, peer);
	if (!peer->gone && !xa_err(xa_store(&peers->cache, key, peer, GFP_ATOMIC | __GFP_NOWARN))) {
		peer->key = key;
		peers->nr_ctx_peers += peer->ctx_id > 0;
		if (kfi_peer_name(peers, addr, name) ||
		    kfp_name_cmp(link_ops(peers), name, peer->name))
			kfi_peer_uncache(peers, peer);
	}
	spin_unlock_bh(&peers->lock);
}

void kfi_peers_removed(struct kfi_peers *peers, u32 index)
{
	struct kfi_peer *peer;
	unsigned long key;

	spin_lock_bh(&peers->lock);
	peer = xa_load(&peers->cache, index);
	if (peer)
		kfi_peer_uncache(peers, peer);
	if (peers->nr_ctx_peers)
		xa_for_each(&peers->cache, key, peer)
			if ((u32)key == index)
				kfi_peer_uncache(peers, peer);
	spin_unlock_bh(&peers->lock);
}

void kfi_peers_show(struct kfi_peers *peers, u32 after,
		    int (*emit)(void *arg, const struct kfi_peer_info *peer), void *arg)
{
	struct kfi_peer *peer;

	rcu_read_lock();
	list_for_each_entry_rcu(peer, &peers->list, entry) {
		struct kfi_peer_info info;

		if (peer->nr <= after)
			continue;
		info = (struct kfi_peer_info){
			.state = "idle",
			.cpu = -1,
			.nr = peer->nr,
			.reconnects = READ_ONCE(peer->reconnects),
		};
		kfp_peer_info(to_proto_ep(peers->ep), peer->name, rcu_dereference(peer->conn),
			      &info);
		if (emit(arg, &info))
			break;
	}
	rcu_read_unlock();
}

/* ---- operations that wait for a connection ---- */

static void kfi_peer_dial(struct kfi_peer *peer, unsigned int delay_ms)
{
	atomic_inc(&peer->users);
	if (!queue_delayed_work(kfp_cm_wq, &peer->dial, msecs_to_jiffies(delay_ms)))
		atomic_dec(&peer->users);	/* queued already, and counted */
}

/*
 * Add the operation to peer->pending and queue the work item that dials, unless there is a
 * connection by now.
 * Return: NULL if the operation waits; the connection; -ESTALE if the peer is being freed and must
 * be looked up again; -ENODEV if the endpoint stops.
 */
static struct kfi_peer_conn *kfi_peer_add_pending(struct kfi_peer *peer, struct kfi_oper *op)
{
	struct kfi_peer_conn *conn;

	spin_lock_bh(&peer->lock);
	conn = rcu_dereference_protected(peer->conn, lockdep_is_held(&peer->lock));
	if (peer->gone) {
		conn = ERR_PTR(-ESTALE);
	} else if (READ_ONCE(peer->peers->stopping)) {
		conn = ERR_PTR(-ENODEV);
	} else if (!conn) {
		list_add_tail(&op->link, &peer->pending);
		if (!peer->dialing)
			kfi_peer_dial(peer, 0);
	}
	spin_unlock_bh(&peer->lock);
	return conn;
}

static struct kfi_peer *kfi_peer_by_name(struct kfi_peers *peers, kfi_addr_t addr)
{
	u8 name[KFI_ADDR_MAX] __aligned(8);
	struct kfi_peer *peer;

	if (kfi_peer_name(peers, addr, name))
		return ERR_PTR(-EINVAL);
	peer = kfi_peer_find(peers, name, kfi_av_rx_ctx(peers->ep->av, addr), false);
	if (!IS_ERR(peer))
		kfi_peer_cache(peers, peer, addr);
	return peer;
}

struct kfi_peer_conn *kfi_peer_wait(struct kfi_peers *peers, struct kfi_oper *op)
{
	struct kfi_peer_conn *conn;
	struct kfi_peer *peer;

	do {
		peer = kfi_peer_cached(peers, op->addr) ?: kfi_peer_by_name(peers, op->addr);
		if (IS_ERR(peer))
			return ERR_CAST(peer);
		conn = rcu_dereference_check(peer->conn, rcu_read_lock_bh_held()) ?:
		       kfi_peer_add_pending(peer, op);
	} while (conn == ERR_PTR(-ESTALE));
	return conn;
}

/* Pass the waiting operations to @conn in posting order, before a post can find @conn. */
static void kfi_pending_move(struct kfi_peer *peer, struct kfp_conn *conn)
{
	struct kfi_oper *op, *next;

	lockdep_assert_held(&peer->lock);
	list_for_each_entry_safe(op, next, &peer->pending, link) {
		list_del(&op->link);
		kfp_op(op)->conn = conn;
		llist_add(&op->lnode, &conn->posted);
	}
}

static void kfi_pending_fail(struct kfi_peer *peer, int err)
{
	struct kfi_oper *op, *next;
	LIST_HEAD(list);

	spin_lock_bh(&peer->lock);
	list_splice_init(&peer->pending, &list);
	spin_unlock_bh(&peer->lock);
	list_for_each_entry_safe(op, next, &list, link) {
		list_del(&op->link);
		kfi_tx_complete(op, err);
	}
}

/* ---- calls of this side ---- */

/* Without an answer, without a route, or without a local address, the peer is unreachable. */
static int kfi_unreachable_err(int err)
{
	switch (err) {
	case -ETIMEDOUT:
	case -ENETUNREACH:
	case -ENETDOWN:
	case -EADDRNOTAVAIL:
		return -EHOSTUNREACH;
	default:
		return err;
	}
}

/* Return true if the peer has neither a connection nor a connection attempt. */
static bool kfi_peer_unconnected(const struct kfi_peer *peer)
{
	lockdep_assert_held(&peer->lock);
	return !peer->dialing && !rcu_access_pointer(peer->conn);
}

/* Return true if operations wait for a connection and there is no attempt to connect. */
static bool kfi_dial_wanted(const struct kfi_peer *peer)
{
	return kfi_peer_unconnected(peer) && !list_empty(&peer->pending) &&
	       !READ_ONCE(peer->peers->stopping);
}

/*
 * Make @conn the current attempt (peer->dialing) and start it, unless the peer has called meanwhile
 * or the endpoint has failed @conn because it stops. kfp_dial_start() runs under peer->lock,
 * because another context that finds peer->dialing may end the attempt at once.
 */
static void kfi_dial_claim(struct kfi_peer *peer, struct kfp_conn *conn)
{
	spin_lock_bh(&peer->lock);
	if (!kfi_peer_unconnected(peer)) {
		kfp_conn_fail(conn, -EALREADY);
	} else if (!kfp_conn_failed(&conn->pc)) {
		peer->dialing = &conn->pc;
		conn->pc.known = peer->call_id;
		kfp_dial_start(conn);
	}
	spin_unlock_bh(&peer->lock);
}

static void kfi_peer_dial_now(struct kfi_peer *peer)
{
	struct kfp_conn *conn = kfp_dial(to_proto_ep(peer->peers->ep), peer->name, peer);

	if (IS_ERR(conn)) {
		/* else kfi_peers_flush() reports the reason */
		if (!READ_ONCE(peer->peers->stopping))
			kfi_pending_fail(peer, kfi_unreachable_err(PTR_ERR(conn)));
		return;
	}
	conn->pc.call_id = get_random_u64();
	kfi_dial_claim(peer, conn);
	kfp_conn_put(conn);
}

static void kfi_peer_dial_work(struct work_struct *work)
{
	struct kfi_peer *peer = container_of(to_delayed_work(work), struct kfi_peer, dial);
	bool wanted;

	spin_lock_bh(&peer->lock);
	wanted = kfi_dial_wanted(peer);
	spin_unlock_bh(&peer->lock);
	if (wanted)
		kfi_peer_dial_now(peer);
	atomic_dec(&peer->users);	/* the peer may be freed from here on */
}

bool kfi_peer_is_dialing(struct kfi_peer_conn *conn)
{
	struct kfi_peer *peer = conn->peer;
	bool dialing;

	spin_lock_bh(&peer->lock);
	dialing = peer->dialing == conn;
	spin_unlock_bh(&peer->lock);
	return dialing;
}

/* ---- calls of peers ---- */

/*
 * Decide which of two calls between this side and the peer is kept. Return: true if it is the call
 * of this side. That is the case if its name is the smaller one, and it is still dialing; or its
 * call has been established already, but the hello of the peer does not name that connection: then
 * both calls crossed on the wire. A peer that names the connection and calls again has lost it; a
 * peer with another incarnation has restarted.
 */
static bool kfi_own_call_wins(const struct kfi_peer *peer, const struct kfi_peer_call *call)
{
	bool smaller = kfp_name_cmp(link_ops(peer->peers), call->self, peer->name) < 0;
	struct kfi_peer_conn *cur =
		rcu_dereference_protected(peer->conn, lockdep_is_held(&peer->lock));

	if (cur)
		return smaller && cur->dialed && peer->incarnation == call->incarnation &&
		       call->known != peer->call_id;
	return smaller && peer->dialing && peer->dialing->dialed;
}

/*
 * May the call replace an established connection? Not while its peer is still alive, because any
 * caller can claim a name. A peer that has restarted, or has lost the connection, does not answer
 * on it. A published connection that has not failed has an open link, and its work items were not
 * canceled.
 *
 * A call that was taken is being accepted. Its caller may have the ACCEPT already, and then counts
 * on the connection, so another call waits until the connection is published, or has failed.
 */
static int kfi_peer_replace(struct kfi_peer *peer)
{
	struct kfi_peer_conn *cur =
		rcu_dereference_protected(peer->conn, lockdep_is_held(&peer->lock));
	struct kfi_peer_conn *taken = peer->dialing;
	int alive;

	if (taken && !taken->dialed && !kfp_conn_failed(taken))
		return -EINPROGRESS;
	if (!cur || kfp_conn_failed(cur))
		return 0;
	alive = link_ops(peer->peers)->probe(&to_kfp_conn(cur)->link);
	if (alive < 0)
		return 0;
	return alive ? -EALREADY : -EINPROGRESS;
}

/* Return: 0 if the call becomes the current attempt; it replaces an attempt of this side. */
static int kfi_peer_take(struct kfi_peer *peer, struct kfi_peer_conn *conn,
			 const struct kfi_peer_call *call)
{
	struct kfi_peer_conn *other;
	int ret;

	spin_lock_bh(&peer->lock);
	ret = kfi_own_call_wins(peer, call) ? -EALREADY : kfi_peer_replace(peer);
	if (!ret) {
		other = peer->dialing;
		conn->peer = peer;
		conn->call_id = call->call_id;
		conn->incarnation = call->incarnation;
		peer->dialing = conn;
		if (other)
			kfp_conn_fail(to_kfp_conn(other), -EALREADY);
	}
	spin_unlock_bh(&peer->lock);
	return ret;
}

/*
 * Return the context number of the call (see struct kfi_peer). If an endpoint calls itself, both
 * ends of the connection belong to the same endpoint. Posts use the end that calls; the other end
 * gets a context number of its own, so that it is not mistaken for the first.
 */
static int kfi_call_ctx_id(const struct kfi_peers *peers, const struct kfi_peer_call *call)
{
	if (!call->src_ctx && call->incarnation == peers->incarnation)
		return KFI_CTX_ID_SELF;
	return -(int)call->src_ctx;
}

int kfi_peer_admit(struct kfi_peers *peers, struct kfi_peer_conn *conn,
		   const struct kfi_peer_call *call)
{
	struct kfi_peer *peer = kfi_peer_find(peers, call->name, kfi_call_ctx_id(peers, call),
					      true);
	int ret;

	if (IS_ERR(peer))
		return PTR_ERR(peer) == -ENOBUFS ? -ENOBUFS : -ECONNREFUSED;
	ret = kfi_peer_take(peer, conn, call);
	if (ret)
		atomic_dec(&peer->users);
	return ret;
}

/* ---- established connections and their end ---- */

/*
 * Publish @conn and pass the waiting operations to it. If @conn has failed already, it gets the
 * operations, if there is no other connection or attempt, and ends them. Connections that are found
 * in the peer under peer->lock cannot be freed meanwhile: kfi_peer_unpublish() takes the lock.
 */
static void kfi_peer_set_conn(struct kfi_peer *peer, struct kfi_peer_conn *conn)
{
	struct kfi_peer_conn *old =
		rcu_dereference_protected(peer->conn, lockdep_is_held(&peer->lock));

	conn->ready = true;
	if (peer->dialing == conn)
		peer->dialing = NULL;
	if (kfp_conn_failed(conn)) {
		if (kfi_peer_unconnected(peer))
			kfi_pending_move(peer, to_kfp_conn(conn));
		return;
	}
	if (peer->incarnation)
		peer->reconnects++;
	peer->incarnation = conn->incarnation;
	peer->call_id = conn->call_id;
	peer->redials = 0;
	kfi_pending_move(peer, to_kfp_conn(conn));
	rcu_assign_pointer(peer->conn, conn);
	if (old)
		kfp_conn_fail(to_kfp_conn(old), -ECONNRESET);
	trace_kfi_connect(peer->peers->ep);
}

void kfi_peer_publish(struct kfi_peer_conn *conn)
{
	struct kfi_peer *peer = conn->peer;

	spin_lock_bh(&peer->lock);
	kfi_peer_set_conn(peer, conn);
	spin_unlock_bh(&peer->lock);
}

void kfi_peer_unpublish(struct kfi_peer_conn *conn)
{
	struct kfi_peer *peer = conn->peer;

	spin_lock_bh(&peer->lock);
	if (rcu_access_pointer(peer->conn) == conn)
		RCU_INIT_POINTER(peer->conn, NULL);
	if (peer->dialing == conn)
		peer->dialing = NULL;
	spin_unlock_bh(&peer->lock);
}

/*
 * Return true if the attempt is to be repeated: for a limited time after it was ended in favor of a
 * call of the peer, or after a call of the peer has ended before it was established.
 */
static bool kfi_peer_redial(struct kfi_peer *peer, const struct kfi_peer_conn *conn, int err)
{
	unsigned int tries = READ_ONCE(params(peer->peers)->connect_timeout_ms) / KFI_REDIAL_MS;

	if ((err == -EALREADY || !conn->dialed) && kfi_dial_wanted(peer) && peer->redials++ < tries)
		return true;
	peer->redials = 0;
	return false;
}

void kfi_peer_lost(struct kfi_peer_conn *conn, int err)
{
	struct kfi_peer *peer = conn->peer;
	bool again, connected;

	if (conn->ready)
		trace_kfi_disconnect(peer->peers->ep, err);
	spin_lock_bh(&peer->lock);
	connected = conn->ready || !kfi_peer_unconnected(peer);
	again = connected ? kfi_dial_wanted(peer) : kfi_peer_redial(peer, conn, err);
	if (again)
		kfi_peer_dial(peer, connected ? 0 : KFI_REDIAL_MS);
	spin_unlock_bh(&peer->lock);
	if (!again && !connected)
		kfi_pending_fail(peer, kfi_unreachable_err(err));
}

/* ---- the endpoint ---- */

void kfi_peers_init(struct kfi_peers *peers, struct kfi_ep *ep)
{
	peers->ep = ep;
	xa_init(&peers->cache);
	spin_lock_init(&peers->lock);
	INIT_LIST_HEAD(&peers->list);
	do {
		peers->incarnation = get_random_u64();
	} while (!peers->incarnation);
}

void kfi_peers_stop(struct kfi_peers *peers)
{
	spin_lock_bh(&peers->lock);
	WRITE_ONCE(peers->stopping, true);
	spin_unlock_bh(&peers->lock);
}

/* No peer is added or removed any more, so the list needs no lock. */
void kfi_peers_flush(struct kfi_peers *peers, int err)
{
	struct kfi_peer *peer;

	list_for_each_entry(peer, &peers->list, entry) {
		if (cancel_delayed_work_sync(&peer->dial))
			atomic_dec(&peer->users);
		kfi_pending_fail(peer, err);
	}
}

void kfi_peers_free(struct kfi_peers *peers)
{
	struct kfi_peer *peer, *next;

	list_for_each_entry_safe(peer, next, &peers->list, entry)
		kfree(peer);
	kfi_account_uncharge(kfi_ep_account(peers->ep), peers->nr * KFI_PEER_BYTES);
	/* xa_destroy() takes the lock of the cache; other users do so with bottom halves off */
	local_bh_disable();
	xa_destroy(&peers->cache);
	local_bh_enable();
}
