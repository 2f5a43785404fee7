// SPDX-License-Identifier: GPL-2.0
/*
 * peer.c - the peers of a reliable-datagram endpoint, and which connection leads to each. See kfi_peer.h.
 */
#include <linux/err.h>
#include <linux/export.h>
#include <linux/random.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <kfi_peer.h>
#include <trace/events/kfi.h>

#define KFI_REDIAL_MS	50	/* after a lost simultaneous call, if the winner's never came */

static void kfi_peer_dial_work(struct work_struct *work);

/* ---- who there is ---- */

static struct kfi_peer *kfi_peer_lookup(struct kfi_peers *peers, const void *name, int lane)
{
	struct kfi_peer *peer;

	list_for_each_entry(peer, &peers->list, entry)
		if (peer->lane == lane && !peers->ops->cmp(peer->name, name))
			return peer;
	return NULL;
}

static struct kfi_peer *kfi_peer_new(struct kfi_peers *peers, const void *name, int lane)
{
	struct kfi_peer *peer = kzalloc(struct_size(peer, name, peers->ops->name_len), GFP_ATOMIC | __GFP_NOWARN);

	if (!peer)
		return NULL;
	peer->peers = peers;
	memcpy(peer->name, name, peers->ops->name_len);
	peer->lane = lane;
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
	peers->nlanes -= peer->lane > 0;
	peer->key = ULONG_MAX;
}

/*
 * Nothing but the list and the cache know of it, and nothing waits for it: it would be made anew when it is named again. Who
 * has found it in the cache sees @gone.
 */
static bool kfi_peer_forget(struct kfi_peers *peers, struct kfi_peer *peer)
{
	lockdep_assert_held(&peers->lock);
	if (atomic_read(&peer->users))
		return false;
	spin_lock(&peer->lock);		/* whoever parks something here counts its dial under it */
	if (!atomic_read(&peer->users) && list_empty(&peer->pending)) {
		kfi_peer_uncache(peers, peer);
		peer->gone = true;
	}
	spin_unlock(&peer->lock);
	if (!peer->gone)
		return false;
	list_del_rcu(&peer->entry);
	peers->nr--;
	kfree_rcu(peer, rcu);
	return true;
}

/* Peers that come by themselves are bounded, and those that have gone again make room for them. */
static bool kfi_peer_room(struct kfi_peers *peers)
{
	struct kfi_peer *peer;

	if (peers->nr < READ_ONCE(*peers->ops->max_peers))
		return true;
	list_for_each_entry(peer, &peers->list, entry)
		if (kfi_peer_forget(peers, peer))
			return true;
	return false;
}

/*
 * The peer with this name. Slow path: posts find it by AV index. An inbound one is counted as a connection's, for another stay
 * inside rcu_read_lock(). NULL: not there and not to be created, no memory, too many, or the endpoint stops.
 */
static struct kfi_peer *kfi_peer_find(struct kfi_peers *peers, const void *name, int lane, bool inbound)
{
	struct kfi_peer *peer, *fresh = kfi_peer_new(peers, name, lane);

	spin_lock_bh(&peers->lock);
	peer = kfi_peer_lookup(peers, name, lane);
	if (!peer && fresh && !peers->stopping && (!inbound || kfi_peer_room(peers))) {
		fresh->nr = ++peers->last;
		list_add_tail_rcu(&fresh->entry, &peers->list);
		peers->nr++;
		peer = fresh;
		fresh = NULL;
	}
	if (peer && inbound)
		atomic_inc(&peer->users);
	spin_unlock_bh(&peers->lock);
	kfree(fresh);
	return peer;
}

/* What the handle means. */
static int kfi_peer_name(struct kfi_peers *peers, kfi_addr_t addr, void *name)
{
	u8 raw[KFI_ADDR_MAX] __aligned(8);

	if (kfi_av_addr(peers->ep->av, addr, raw) < 0 || peers->ops->name(peers->ep, raw, name))
		return -EINVAL;
	return 0;
}

/*
 * Keep it by its key, if the handle still means it: see kfi_peers_removed(). By one only: an address that was written in two
 * ways has two.
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
		peers->nlanes += peer->lane > 0;
		if (kfi_peer_name(peers, addr, name) || peers->ops->cmp(name, peer->name))
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
	if (peers->nlanes)
		xa_for_each(&peers->cache, key, peer)
			if ((u32)key == index)
				kfi_peer_uncache(peers, peer);
	spin_unlock_bh(&peers->lock);
}
EXPORT_SYMBOL_GPL(kfi_peers_removed);

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
		peers->ops->show(peers, peer->name, rcu_dereference(peer->conn), &info);
		if (emit(arg, &info))
			break;
	}
	rcu_read_unlock();
}
EXPORT_SYMBOL_GPL(kfi_peers_show);

/* ---- operations that wait ---- */

static void kfi_peer_dial(struct kfi_peer *peer, unsigned int delay_ms)
{
	atomic_inc(&peer->users);
	if (!queue_delayed_work(peer->peers->wq, &peer->dial, msecs_to_jiffies(delay_ms)))
		atomic_dec(&peer->users);	/* it is queued already, and counted */
}

/*
 * No connection yet: wait at the peer, unless it appears while we look; then that is returned. -ESTALE: forgotten, look it up
 * again.
 */
static struct kfi_peer_conn *kfi_peer_park(struct kfi_peer *peer, struct kfi_oper *op)
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
	if (!peer)
		return ERR_PTR(READ_ONCE(peers->stopping) ? -ENODEV : -EAGAIN);
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
		conn = rcu_dereference_check(peer->conn, rcu_read_lock_bh_held()) ?: kfi_peer_park(peer, op);
	} while (conn == ERR_PTR(-ESTALE));
	return conn;
}
EXPORT_SYMBOL_GPL(kfi_peer_wait);

/* What has waited goes to @conn, in posting order, before anybody can find it. */
static void kfi_pending_move(struct kfi_peer *peer, struct kfi_peer_conn *conn)
{
	struct kfi_oper *op, *next;

	lockdep_assert_held(&peer->lock);
	list_for_each_entry_safe(op, next, &peer->pending, link) {
		list_del(&op->link);
		peer->peers->ops->queue(conn, op);
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

/* ---- calling ---- */

/* Who can't be called is unreachable, whatever is in the way: no answer, no route, or no address of our own any more. */
static int kfi_no_way(int err)
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

/* Neither a connection nor an attempt at one. */
static bool kfi_peer_apart(const struct kfi_peer *peer)
{
	lockdep_assert_held(&peer->lock);
	return !peer->dialing && !rcu_access_pointer(peer->conn);
}

/* Something waits for a connection, and nobody is at it. */
static bool kfi_dial_wanted(const struct kfi_peer *peer)
{
	return kfi_peer_apart(peer) && !list_empty(&peer->pending) && !READ_ONCE(peer->peers->stopping);
}

/*
 * Ours is the attempt under way, unless the peer has called while it was made, or the endpoint stops. Started under the lock:
 * who finds it at the peer may end it at once.
 */
static void kfi_dial_claim(struct kfi_peer *peer, struct kfi_peer_conn *conn)
{
	const struct kfi_peer_ops *ops = peer->peers->ops;

	spin_lock_bh(&peer->lock);
	if (!kfi_peer_apart(peer)) {
		ops->fail(conn, -EALREADY);
	} else if (!ops->failed(conn)) {
		peer->dialing = conn;
		conn->known = peer->stream;
		ops->start(conn);
	}
	spin_unlock_bh(&peer->lock);
}

static void kfi_peer_dial_now(struct kfi_peer *peer)
{
	const struct kfi_peer_ops *ops = peer->peers->ops;
	struct kfi_peer_conn *conn = ops->dial(peer);

	if (IS_ERR(conn)) {
		if (!READ_ONCE(peer->peers->stopping))	/* else kfi_peers_flush() says why they end */
			kfi_pending_fail(peer, kfi_no_way(PTR_ERR(conn)));
		return;
	}
	conn->stream = get_random_u64();
	kfi_dial_claim(peer, conn);
	ops->put(conn);
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
	atomic_dec(&peer->users);	/* it may be gone now */
}

bool kfi_peer_stands(struct kfi_peer_conn *conn)
{
	struct kfi_peer *peer = conn->peer;
	bool stands;

	spin_lock_bh(&peer->lock);
	stands = peer->dialing == conn;
	spin_unlock_bh(&peer->lock);
	return stands;
}
EXPORT_SYMBOL_GPL(kfi_peer_stands);

/* ---- being called ---- */

/*
 * Whose call stands? Ours when we dial and our name is the smaller one; ours also when it is established already and
 * the peer's hello does not know of it: then the two crossed on the wire. A peer that knows our stream and calls again has
 * lost it; one with another incarnation has restarted.
 */
static bool kfi_ours_stands(const struct kfi_peer *peer, const struct kfi_peer_call *call)
{
	bool smaller = peer->peers->ops->cmp(call->self, peer->name) < 0;
	struct kfi_peer_conn *cur = rcu_dereference_protected(peer->conn, lockdep_is_held(&peer->lock));

	if (cur)
		return smaller && cur->dialed && peer->incarnation == call->incarnation && call->known != peer->stream;
	return smaller && peer->dialing && peer->dialing->dialed;
}

/*
 * May the call take the place of an established connection? Not as long as its peer is there: a
 * name is easily claimed. A peer that has restarted, or has lost the connection, does not answer
 * on it.
 */
static int kfi_peer_replace(struct kfi_peer *peer)
{
	const struct kfi_peer_ops *ops = peer->peers->ops;
	struct kfi_peer_conn *cur = rcu_dereference_protected(peer->conn, lockdep_is_held(&peer->lock));
	int there;

	if (!cur || !ops->probe || ops->failed(cur))
		return 0;
	there = ops->probe(cur);
	if (there < 0)
		return 0;
	return there ? -EALREADY : -EINPROGRESS;
}

/* 0: the call takes the place of an attempt of ours, if there is any. */
static int kfi_peer_take(struct kfi_peer *peer, struct kfi_peer_conn *conn, const struct kfi_peer_call *call)
{
	struct kfi_peer_conn *other;
	int ret;

	spin_lock_bh(&peer->lock);
	ret = kfi_ours_stands(peer, call) ? -EALREADY : kfi_peer_replace(peer);
	if (!ret) {
		other = peer->dialing;
		conn->peer = peer;
		conn->stream = call->stream;
		conn->incarnation = call->incarnation;
		peer->dialing = conn;
		if (other)
			peer->peers->ops->fail(other, -EALREADY);
	}
	spin_unlock_bh(&peer->lock);
	return ret;
}

/*
 * Which of the connections with this name it is. Who calls himself has both ends at one endpoint: the caller's is the way,
 * and this one must not pass for it.
 */
static int kfi_call_lane(const struct kfi_peers *peers, const struct kfi_peer_call *call)
{
	if (!call->src_ctx && call->incarnation == peers->incarnation)
		return KFI_LANE_SELF;
	return -(int)call->src_ctx;
}

int kfi_peer_admit(struct kfi_peers *peers, struct kfi_peer_conn *conn, const struct kfi_peer_call *call)
{
	struct kfi_peer *peer = kfi_peer_find(peers, call->name, kfi_call_lane(peers, call), true);
	int ret;

	if (!peer)
		return -ECONNREFUSED;
	ret = kfi_peer_take(peer, conn, call);
	if (ret)
		atomic_dec(&peer->users);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_peer_admit);

/* ---- a connection, and its end ---- */

/* Connections found at the peer under its lock can't be freed meanwhile. */
static void kfi_peer_settle(struct kfi_peer *peer, struct kfi_peer_conn *conn)
{
	const struct kfi_peer_ops *ops = peer->peers->ops;
	struct kfi_peer_conn *old = rcu_dereference_protected(peer->conn, lockdep_is_held(&peer->lock));

	conn->ready = true;
	if (peer->dialing == conn)
		peer->dialing = NULL;
	if (ops->failed(conn)) {
		if (kfi_peer_apart(peer))
			kfi_pending_move(peer, conn);
		return;
	}
	if (peer->incarnation)
		peer->reconnects++;
	peer->incarnation = conn->incarnation;
	peer->stream = conn->stream;
	peer->redials = 0;
	kfi_pending_move(peer, conn);
	rcu_assign_pointer(peer->conn, conn);
	if (old)
		ops->fail(old, -ECONNRESET);
	trace_kfi_connect(peer->peers->ep);
}

void kfi_peer_publish(struct kfi_peer_conn *conn)
{
	struct kfi_peer *peer = conn->peer;

	spin_lock_bh(&peer->lock);
	kfi_peer_settle(peer, conn);
	spin_unlock_bh(&peer->lock);
}
EXPORT_SYMBOL_GPL(kfi_peer_publish);

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
EXPORT_SYMBOL_GPL(kfi_peer_unpublish);

/* An attempt that lost to the peer's own is made again, some times; so is one that the peer has begun. */
static bool kfi_peer_redial(struct kfi_peer *peer, const struct kfi_peer_conn *conn, int err)
{
	unsigned int tries = READ_ONCE(*peer->peers->ops->patience_ms) / KFI_REDIAL_MS;

	if ((err == -EALREADY || !conn->dialed) && kfi_dial_wanted(peer) && peer->redials++ < tries)
		return true;
	peer->redials = 0;
	return false;
}

void kfi_peer_lost(struct kfi_peer_conn *conn, int err)
{
	struct kfi_peer *peer = conn->peer;
	bool again, settled;

	if (conn->ready)
		trace_kfi_disconnect(peer->peers->ep, err);
	spin_lock_bh(&peer->lock);
	settled = conn->ready || !kfi_peer_apart(peer);
	again = settled ? kfi_dial_wanted(peer) : kfi_peer_redial(peer, conn, err);
	if (again)
		kfi_peer_dial(peer, settled ? 0 : KFI_REDIAL_MS);
	spin_unlock_bh(&peer->lock);
	if (!again && !settled)
		kfi_pending_fail(peer, kfi_no_way(err));
}
EXPORT_SYMBOL_GPL(kfi_peer_lost);

/* ---- the endpoint ---- */

void kfi_peers_init(struct kfi_peers *peers, struct kfi_ep *ep, const struct kfi_peer_ops *ops, struct workqueue_struct *wq)
{
	peers->ep = ep;
	peers->ops = ops;
	peers->wq = wq;
	xa_init(&peers->cache);
	spin_lock_init(&peers->lock);
	INIT_LIST_HEAD(&peers->list);
	do {
		peers->incarnation = get_random_u64();
	} while (!peers->incarnation);
}
EXPORT_SYMBOL_GPL(kfi_peers_init);

void kfi_peers_stop(struct kfi_peers *peers)
{
	spin_lock_bh(&peers->lock);
	WRITE_ONCE(peers->stopping, true);
	spin_unlock_bh(&peers->lock);
}
EXPORT_SYMBOL_GPL(kfi_peers_stop);

/* Nobody comes or goes any more: the list needs no lock. */
void kfi_peers_flush(struct kfi_peers *peers, int err)
{
	struct kfi_peer *peer;

	list_for_each_entry(peer, &peers->list, entry) {
		if (cancel_delayed_work_sync(&peer->dial))
			atomic_dec(&peer->users);
		kfi_pending_fail(peer, err);
	}
}
EXPORT_SYMBOL_GPL(kfi_peers_flush);

void kfi_peers_free(struct kfi_peers *peers)
{
	struct kfi_peer *peer, *next;

	list_for_each_entry_safe(peer, next, &peers->list, entry)
		kfree(peer);
	local_bh_disable();	/* as its lock is taken elsewhere */
	xa_destroy(&peers->cache);
	local_bh_enable();
}
EXPORT_SYMBOL_GPL(kfi_peers_free);
