// SPDX-License-Identifier: GPL-2.0
/*
 * rdm.c - reliable-datagram endpoints: a connection to each peer, opened when first needed.
 *
 * Operations posted while there is none wait at the peer. Two endpoints that dial each other at the same moment settle it
 * by address: the smaller one's call stands. A peer that has restarted shows another incarnation in its hello, and
 * its new connection replaces the old one; what was under way on the old one ends in error and is never sent again.
 */
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "sock.h"

#define KS_REDIAL_MS	50	/* after a lost simultaneous call, if the winner's never came */

static struct ks_peer *ks_peer_lookup(struct ks_ep *sep, const union kfi_inaddr *addr, int lane)
{
	struct ks_peer *peer;

	list_for_each_entry(peer, &sep->peer_list, entry)
		if (peer->lane == lane && kfi_inaddr_equal(&peer->addr, addr))
			return peer;
	return NULL;
}

static struct ks_peer *ks_peer_new(struct ks_ep *sep, const union kfi_inaddr *addr, int lane)
{
	struct ks_peer *peer = kzalloc(sizeof(*peer), GFP_ATOMIC | __GFP_NOWARN);

	if (!peer)
		return NULL;
	peer->sep = sep;
	peer->addr = *addr;
	peer->lane = lane;
	peer->key = ULONG_MAX;
	spin_lock_init(&peer->lock);
	INIT_LIST_HEAD(&peer->pending);
	INIT_DELAYED_WORK(&peer->dial, ks_peer_dial_work);
	return peer;
}

static void ks_peer_uncache(struct ks_ep *sep, struct ks_peer *peer)
{
	lockdep_assert_held(&sep->lock);
	if (peer->key == ULONG_MAX)
		return;
	xa_erase(&sep->peers, peer->key);
	sep->nlanes -= peer->lane > 0;
	peer->key = ULONG_MAX;
}

/*
 * Nothing but the list and the cache know of it, and nothing waits for it: it would be made anew when it is named again. Who
 * has found it in the cache sees @gone.
 */
static bool ks_peer_forget(struct ks_ep *sep, struct ks_peer *peer)
{
	lockdep_assert_held(&sep->lock);
	if (atomic_read(&peer->users))
		return false;
	spin_lock(&peer->lock);		/* whoever parks something here counts its dial under it */
	if (!atomic_read(&peer->users) && list_empty(&peer->pending)) {
		ks_peer_uncache(sep, peer);
		peer->gone = true;
	}
	spin_unlock(&peer->lock);
	if (!peer->gone)
		return false;
	list_del(&peer->entry);
	sep->npeers--;
	kfree_rcu(peer, rcu);
	return true;
}

/* Peers that come by themselves are bounded, and those that have gone again make room for them. */
static bool ks_peer_room(struct ks_ep *sep)
{
	struct ks_peer *peer;

	if (sep->npeers < ks_max_peers)
		return true;
	list_for_each_entry(peer, &sep->peer_list, entry)
		if (ks_peer_forget(sep, peer))
			return true;
	return false;
}

/*
 * The peer with this address. Slow path: the data path finds it by AV index. An inbound one is counted as a connection's.
 * Inside rcu_read_lock(). NULL: not there and not to be created, no memory, too many, or the endpoint stops.
 */
static struct ks_peer *ks_peer_find(struct ks_ep *sep, const union kfi_inaddr *addr, int lane, bool inbound)
{
	struct ks_peer *peer, *fresh = ks_peer_new(sep, addr, lane);

	spin_lock_bh(&sep->lock);
	peer = ks_peer_lookup(sep, addr, lane);
	if (!peer && fresh && !sep->stopping && (!inbound || ks_peer_room(sep))) {
		list_add_tail(&fresh->entry, &sep->peer_list);
		sep->npeers++;
		peer = fresh;
		fresh = NULL;
	}
	if (peer && inbound)
		atomic_inc(&peer->users);
	spin_unlock_bh(&sep->lock);
	kfree(fresh);
	return peer;
}

/* ---- sending ---- */

static void ks_peer_dial(struct ks_peer *peer, unsigned int delay_ms)
{
	atomic_inc(&peer->users);
	if (!queue_delayed_work(ks_cm_wq, &peer->dial, msecs_to_jiffies(delay_ms)))
		atomic_dec(&peer->users);	/* it is queued already, and counted */
}

/* No connection yet: wait at the peer, unless it appears while we look. -ESTALE: forgotten, look it up again. */
static int ks_peer_park(struct ks_peer *peer, struct kfi_oper *op)
{
	struct ks_conn *conn;
	int ret = 0;

	spin_lock_bh(&peer->lock);
	conn = rcu_dereference_protected(peer->conn, lockdep_is_held(&peer->lock));
	if (peer->gone) {
		ret = -ESTALE;
	} else if (READ_ONCE(peer->sep->stopping)) {
		ret = -ENODEV;
	} else if (!conn) {
		list_add_tail(&op->link, &peer->pending);
		if (!peer->dialing)
			ks_peer_dial(peer, 0);
	}
	spin_unlock_bh(&peer->lock);
	if (conn && !ret)
		ks_tx_post(conn, op);
	return ret;
}

/* Of a handle. False: a long has no room for both index and context, and the peer is looked up by name each time. */
static bool ks_peer_key(struct kfi_av *av, kfi_addr_t addr, unsigned long *key)
{
	u64 rx_ctx = kfi_av_rx_ctx(av, addr);

	*key = rx_ctx << 32 | kfi_av_index(av, addr);
	return !rx_ctx || BITS_PER_LONG == 64;
}

/* What the handle means, as an IP address. */
static int ks_peer_name(struct ks_ep *sep, kfi_addr_t addr, union kfi_inaddr *name)
{
	u8 raw[KFI_ADDR_MAX] __aligned(8);

	if (kfi_av_addr(sep->ep.av, addr, raw) < 0)
		return -EINVAL;
	return ks_name_read(to_ks_domain(sep->ep.domain), raw, name);
}

/*
 * Keep it by its key, if the handle still means it: see ks_addr_removed(). By one only: an address that was written in two
 * ways has two.
 */
static void ks_peer_cache(struct ks_ep *sep, struct ks_peer *peer, kfi_addr_t addr)
{
	union kfi_inaddr name;
	unsigned long key;

	if (!ks_peer_key(sep->ep.av, addr, &key))
		return;
	spin_lock_bh(&sep->lock);
	ks_peer_uncache(sep, peer);
	if (!peer->gone && !xa_err(xa_store(&sep->peers, key, peer, GFP_ATOMIC | __GFP_NOWARN))) {
		peer->key = key;
		sep->nlanes += peer->lane > 0;
		if (ks_peer_name(sep, addr, &name) || !kfi_inaddr_equal(&name, &peer->addr))
			ks_peer_uncache(sep, peer);
	}
	spin_unlock_bh(&sep->lock);
}

/* The index will mean somebody else, if anybody: with every receive context. */
void ks_addr_removed(struct kfi_ep *ep, u32 index)
{
	struct ks_ep *sep = to_ks_ep(ep);
	struct ks_peer *peer;
	unsigned long key;

	spin_lock_bh(&sep->lock);
	peer = xa_load(&sep->peers, index);
	if (peer)
		ks_peer_uncache(sep, peer);
	if (sep->nlanes)
		xa_for_each(&sep->peers, key, peer)
			if ((u32)key == index)
				ks_peer_uncache(sep, peer);
	spin_unlock_bh(&sep->lock);
}

static noinline struct ks_peer *ks_peer_by_name(struct ks_ep *sep, kfi_addr_t addr)
{
	union kfi_inaddr name;
	struct ks_peer *peer;

	if (ks_peer_name(sep, addr, &name))
		return ERR_PTR(-EINVAL);
	peer = ks_peer_find(sep, &name, kfi_av_rx_ctx(sep->ep.av, addr), false);
	if (!peer)
		return ERR_PTR(READ_ONCE(sep->stopping) ? -ENODEV : -EAGAIN);
	ks_peer_cache(sep, peer, addr);
	return peer;
}

static struct ks_peer *ks_peer_of(struct ks_ep *sep, kfi_addr_t addr)
{
	struct ks_peer *peer = NULL;
	unsigned long key;

	if (ks_peer_key(sep->ep.av, addr, &key))
		peer = xa_load(&sep->peers, key);
	return likely(peer) ? peer : ks_peer_by_name(sep, addr);
}

int ks_rdm_tx(struct ks_ep *sep, struct kfi_oper *op)
{
	struct ks_peer *peer;
	struct ks_conn *conn;
	int ret;

	rcu_read_lock();
	do {
		peer = ks_peer_of(sep, op->addr);
		ret = PTR_ERR_OR_ZERO(peer);
		if (unlikely(ret))
			break;
		conn = rcu_dereference(peer->conn);
		if (likely(conn))
			ks_tx_post(conn, op);
		else
			ret = ks_peer_park(peer, op);
	} while (unlikely(ret == -ESTALE));
	rcu_read_unlock();
	return ret;
}

/* ---- dialling ---- */

/* Who can't be called is unreachable, whatever is in the way: no answer, no route, or no address of our own any more. */
static int ks_no_way(int err)
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

static void ks_pending_fail(struct ks_peer *peer, int err)
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

static bool ks_dial_wanted(struct ks_peer *peer)
{
	bool wanted;

	spin_lock_bh(&peer->lock);
	wanted = !peer->dialing && !rcu_access_pointer(peer->conn) && !list_empty(&peer->pending);
	spin_unlock_bh(&peer->lock);
	return wanted && !READ_ONCE(peer->sep->stopping);
}

/* From our own address, so that the peer knows us by it; any port. */
static int ks_dial_socket(struct ks_ep *sep, int family, struct socket **sockp)
{
	union kfi_inaddr from = sep->addr;
	struct socket *sock;
	int ret;

	ret = sock_create_kern(kfi_ep_net(&sep->ep), family, SOCK_STREAM, IPPROTO_TCP, &sock);
	if (ret)
		return ret;
	ks_conn_tune(sock, sep->ep.info->tx_attr->tclass);
	kfi_inaddr_set_port(&from, 0);
	ret = kernel_bind(sock, (void *)&from.sa, kfi_inaddr_len(from.sa.sa_family));
	if (ret) {
		sock_release(sock);
		return ret;
	}
	*sockp = sock;
	return 0;
}

/* Messages say whom they are from by this; 0: the peer has no name in this domain. */
static void ks_conn_named(struct ks_conn *conn)
{
	u8 raw[KFI_ADDR_MAX] __aligned(8);
	int len = ks_name_write(to_ks_domain(conn->sep->ep.domain), &conn->name, raw);

	if (len > 0)
		memcpy(conn->av_name, raw, len);
}

/* A connection object that will dial @to, listed at its endpoint; with a reference for the caller. */
struct ks_conn *ks_dial(struct ks_ep *sep, const union kfi_inaddr *to, struct ks_peer *peer)
{
	unsigned int noio = memalloc_noio_save();	/* a reconnect may be what writeback waits for */
	struct ks_conn *conn;
	struct socket *sock;
	int ret;

	ret = ks_dial_socket(sep, to->sa.sa_family, &sock);
	memalloc_noio_restore(noio);
	if (ret)
		return ERR_PTR(ret);
	conn = ks_conn_new(sep, NULL, sock);
	if (!conn) {
		sock_release(sock);
		return ERR_PTR(-ENOMEM);
	}
	conn->name = *to;
	ks_conn_named(conn);
	conn->dialed = true;
	spin_lock_bh(&sep->lock);
	if (!sep->stopping) {
		list_add_tail(&conn->entry, &sep->conns);
		ks_conn_get(conn);
		conn->peer = peer;
		if (peer)
			atomic_inc(&peer->users);	/* the dial's count keeps it until then */
	} else {
		ret = -ENODEV;
	}
	spin_unlock_bh(&sep->lock);
	if (ret) {
		sock_release(sock);
		ks_conn_put(conn);
		return ERR_PTR(ret);
	}
	return conn;
}

/* Start the TCP connect, in greet_work, of a connection made by ks_dial(). What fails is reported through ks_conn_fail(). */
void ks_dial_start(struct ks_conn *conn)
{
	ks_greet_start(conn, KS_CALLING);
}

/*
 * Ours is the attempt under way, unless the peer has called while we made the socket, or the endpoint stops. Started under the
 * lock: who finds it at the peer may end it at once.
 */
static void ks_dial_claim(struct ks_peer *peer, struct ks_conn *conn)
{
	spin_lock_bh(&peer->lock);
	if (peer->dialing || rcu_access_pointer(peer->conn)) {
		ks_conn_fail(conn, -EALREADY);
	} else if (!test_bit(KS_FAILED, &conn->flags)) {
		peer->dialing = conn;
		conn->known = peer->stream;
		ks_dial_start(conn);
	}
	spin_unlock_bh(&peer->lock);
}

static void ks_peer_dial_now(struct ks_peer *peer)
{
	struct ks_conn *conn = ks_dial(peer->sep, &peer->addr, peer);

	if (IS_ERR(conn)) {
		if (!READ_ONCE(peer->sep->stopping))	/* else ks_peers_flush() says why they end */
			ks_pending_fail(peer, ks_no_way(PTR_ERR(conn)));
		return;
	}
	conn->stream = get_random_u64();
	ks_dial_claim(peer, conn);
	ks_conn_put(conn);
}

void ks_peer_dial_work(struct work_struct *work)
{
	struct ks_peer *peer = container_of(to_delayed_work(work), struct ks_peer, dial);

	if (ks_dial_wanted(peer))
		ks_peer_dial_now(peer);
	atomic_dec(&peer->users);	/* it may be gone now */
}

/* ---- settling ---- */

/* What has waited goes on the list of @conn, in posting order, before anybody can find it. */
static void ks_pending_move(struct ks_peer *peer, struct ks_conn *conn)
{
	struct kfi_oper *op, *next;

	lockdep_assert_held(&peer->lock);
	list_for_each_entry_safe(op, next, &peer->pending, link) {
		list_del(&op->link);
		ks_op(op)->conn = conn;
		llist_add(&op->lnode, &conn->posted);
	}
}

/*
 * @conn is the way to its peer. If it is lost already, ks_conn_down() is on its way and ends what has waited: a peer that
 * accepts and hangs up does not keep us dialling. Connections found at the peer under its lock can't be freed meanwhile.
 */
static void ks_peer_settle(struct ks_peer *peer, struct ks_conn *conn)
{
	struct ks_conn *old = rcu_dereference_protected(peer->conn, lockdep_is_held(&peer->lock));

	lockdep_assert_held(&peer->lock);
	if (peer->dialing == conn)
		peer->dialing = NULL;
	if (test_bit(KS_FAILED, &conn->flags)) {
		if (!old && !peer->dialing)
			ks_pending_move(peer, conn);
		return;
	}
	if (peer->incarnation)
		peer->reconnects++;
	peer->incarnation = conn->greeting.incarnation;
	peer->stream = conn->stream;
	peer->redials = 0;
	ks_pending_move(peer, conn);
	rcu_assign_pointer(peer->conn, conn);
	if (old)
		ks_conn_fail(old, -ECONNRESET);
	trace_kfi_connect(&peer->sep->ep);
}

/* In greet_work, which ks_conn_down() waits for. */
static void ks_peer_publish(struct ks_peer *peer, struct ks_conn *conn)
{
	ks_conn_start(conn);
	spin_lock_bh(&peer->lock);
	ks_peer_settle(peer, conn);
	spin_unlock_bh(&peer->lock);
	ks_tx_kick(conn);
}

/* Our call was accepted. False: the peer's own call has been accepted by us in the meantime and stands. */
bool ks_rdm_ready(struct ks_conn *conn)
{
	struct ks_peer *peer = conn->peer;
	bool taken;

	spin_lock_bh(&peer->lock);
	taken = peer->dialing != conn;
	spin_unlock_bh(&peer->lock);
	if (taken)
		return false;
	ks_peer_publish(peer, conn);
	return true;
}

/*
 * Whose call stands? Ours when we dial and our address is the smaller one; ours also when it is established already and
 * the peer's hello does not know of it: then the two crossed on the wire. A peer that knows our stream and calls again has
 * lost it; one with another incarnation has restarted.
 */
static bool ks_ours_stands(struct ks_peer *peer, const union kfi_inaddr *self, const struct skw_greeting *g)
{
	bool smaller = kfi_inaddr_cmp(self, &peer->addr) < 0;
	struct ks_conn *cur = rcu_dereference_protected(peer->conn, lockdep_is_held(&peer->lock));

	if (cur)
		return smaller && cur->dialed && peer->incarnation == g->incarnation && g->known != peer->stream;
	return smaller && peer->dialing && peer->dialing->dialed;
}

static void ks_stranger_known(struct ks_conn *conn)
{
	struct ks_ep *sep = conn->sep;

	spin_lock_bh(&sep->lock);
	if (conn->stranger)
		sep->nstrangers--;
	conn->stranger = false;
	spin_unlock_bh(&sep->lock);
}

/* To the receive context that the peer has named, from the scalable endpoint that listens for all. False: there is none. */
static bool ks_rdm_adopt(struct ks_conn *conn, u32 rx_ctx)
{
	struct ks_ep *top = conn->sep, *sep;
	struct kfi_ep *ctx;
	bool there = false;

	rcu_read_lock();	/* it may be going: then it says so under its lock */
	ctx = kfi_ep_rx_ctx(&top->ep, rx_ctx);
	if (!ctx || ctx == &top->ep) {
		rcu_read_unlock();
		return ctx;
	}
	sep = to_ks_ep(ctx);
	spin_lock_bh(&top->lock);
	if (!test_bit(KS_FAILED, &conn->flags)) {
		spin_lock_nested(&sep->lock, SINGLE_DEPTH_NESTING);
		there = !sep->stopping;
		if (there) {
			list_move_tail(&conn->entry, &sep->conns);
			conn->sep = sep;
			conn->stranger = false;
			top->nstrangers--;
			wake_up_all(&top->idle);
		}
		spin_unlock(&sep->lock);
	}
	spin_unlock_bh(&top->lock);
	rcu_read_unlock();
	return there;
}

/*
 * Which of the connections with this address it is. Who calls himself has both ends at one endpoint: the caller's is the way,
 * and this one must not pass for it.
 */
static int ks_rdm_lane(const struct ks_conn *conn, const struct skw_greeting *g)
{
	if (!g->src_ctx && g->incarnation == conn->sep->incarnation)
		return KS_LANE_SELF;
	return -(int)g->src_ctx;
}

/* A peer calls. Return: 0 admitted and ready; negative: the connection is to be closed. */
int ks_rdm_admit(struct ks_conn *conn, const struct skw_greeting *g)
{
	union kfi_inaddr self = conn->sep->addr;
	struct ks_peer *peer = NULL;
	struct ks_conn *ours;
	bool refuse;
	int ret;

	ks_conn_named(conn);
	if (ks_rdm_adopt(conn, g->dst_ctx)) {
		rcu_read_lock();
		peer = ks_peer_find(conn->sep, &conn->name, ks_rdm_lane(conn, g), true);
		rcu_read_unlock();
	}

	/* The name by which the peer knows us: our own may be a wildcard, smaller than every other on both sides. */
	kernel_getsockname(conn->sock, &self.sa);
	if (!peer) {
		ks_greet_answer(conn, SKW_REJECT, ECONNREFUSED);
		return -ECONNREFUSED;
	}
	spin_lock_bh(&peer->lock);
	refuse = ks_ours_stands(peer, &self, g);
	ours = peer->dialing;
	if (!refuse) {
		conn->peer = peer;
		conn->stream = g->stream;
		peer->dialing = conn;
		if (ours)
			ks_conn_fail(ours, -EALREADY);
	}
	spin_unlock_bh(&peer->lock);
	if (refuse) {
		atomic_dec(&peer->users);
		ks_greet_answer(conn, SKW_REJECT, EALREADY);
		return -EALREADY;
	}
	ks_stranger_known(conn);
	ret = ks_greet_answer(conn, SKW_ACCEPT, 0);
	if (ret)
		return ret;
	ks_peer_publish(peer, conn);
	return 0;
}

/* A connection to the peer, or an attempt at one, is over. What waits for another one is tried again or fails. */
void ks_rdm_lost(struct ks_conn *conn, int err)
{
	struct ks_peer *peer = conn->peer;
	bool settled;

	if (conn->state == KS_READY) {
		trace_kfi_disconnect(&conn->sep->ep, err);
		if (ks_dial_wanted(peer))
			ks_peer_dial(peer, 0);
		return;
	}
	spin_lock_bh(&peer->lock);
	settled = rcu_access_pointer(peer->conn) || peer->dialing;
	spin_unlock_bh(&peer->lock);
	if (settled)
		return;
	if ((err == -EALREADY || !conn->dialed) && ks_dial_wanted(peer) &&
	    peer->redials++ < ks_connect_timeout_ms / KS_REDIAL_MS) {
		ks_peer_dial(peer, KS_REDIAL_MS);
		return;
	}
	peer->redials = 0;
	ks_pending_fail(peer, ks_no_way(err));
}

/* ---- the end ---- */

/* The endpoint stops; its connections are down already. */
void ks_peers_flush(struct ks_ep *sep, int err)
{
	struct ks_peer *peer;

	list_for_each_entry(peer, &sep->peer_list, entry) {
		cancel_delayed_work_sync(&peer->dial);
		ks_pending_fail(peer, err);
	}
}

void ks_peers_free(struct ks_ep *sep)
{
	struct ks_peer *peer, *next;

	list_for_each_entry_safe(peer, next, &sep->peer_list, entry)
		kfree(peer);
	local_bh_disable();	/* as its lock is taken elsewhere */
	xa_destroy(&sep->peers);
	local_bh_enable();
}
