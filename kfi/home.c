// SPDX-License-Identifier: GPL-2.0
/*
 * home.c - connection sets (struct kfi_home): the connections of an endpoint or a passive endpoint,
 * from beginning to end. kfi_home.h describes the calls and &kfi_home.lock.
 */
#include <linux/export.h>
#include <kfi_home.h>
#include <kfi_prov.h>

void kfi_home_init(struct kfi_home *home, struct kfi_peers *peers, const struct kfi_home_ops *ops, struct workqueue_struct *wq)
{
	home->peers = peers;
	home->ops = ops;
	home->wq = wq;
	spin_lock_init(&home->lock);
	INIT_LIST_HEAD(&home->conns);
	INIT_LIST_HEAD(&home->strangers);
	init_waitqueue_head(&home->idle);
	if (peers)
		peers->ep->home = home;
}
EXPORT_SYMBOL_GPL(kfi_home_init);

/* ---- begin and move ---- */

static bool kfi_home_full(const struct kfi_home *home)
{
	return home->nstrangers >= READ_ONCE(*home->ops->backlog);
}

static void kfi_home_stranger(struct kfi_home *home, struct kfi_peer_conn *conn)
{
	lockdep_assert_held(&home->lock);
	conn->stranger = true;
	home->nstrangers++;
	list_add_tail(&conn->waiting, &home->strangers);
}

static void kfi_home_no_stranger(struct kfi_home *home, struct kfi_peer_conn *conn)
{
	lockdep_assert_held(&home->lock);
	if (!conn->stranger)
		return;
	conn->stranger = false;
	home->nstrangers--;
	list_del(&conn->waiting);
}

/*
 * Is there room for @conn, one more caller that is neither admitted nor accepted? If the set has as
 * many of them as it may, the oldest one that has not yet proved who it is (ops->pending) is failed
 * to make room, so that silent callers do not lock out others. If the source address of @conn has
 * as many of them as it may, the oldest such caller from that address is failed. A failed caller
 * keeps its memory until its end has run, therefore failed callers are bounded, too: the list has
 * at most twice the backlog.
 */
static bool kfi_home_room(struct kfi_home *home, const struct kfi_peer_conn *conn)
{
	const struct kfi_home_ops *ops = home->ops;
	unsigned int backlog = READ_ONCE(*ops->backlog), live = 0, akin = 0;
	struct kfi_peer_conn *oldest = NULL, *sibling = NULL, *one;

	lockdep_assert_held(&home->lock);
	if (!ops->pending)
		return !kfi_home_full(home);
	if (home->nstrangers / 2 >= backlog)
		return false;
	list_for_each_entry(one, &home->strangers, waiting) {
		if (ops->failed(one))
			continue;
		live++;
		if (!oldest && ops->pending(one))
			oldest = one;
		if (!ops->akin(one, conn))
			continue;
		akin++;
		if (!sibling && ops->pending(one))
			sibling = one;
	}
	if (akin >= READ_ONCE(*ops->source_backlog))
		oldest = sibling;
	else if (live < backlog)
		return true;
	if (oldest)
		ops->fail(oldest, -EBUSY);
	return oldest;
}

int kfi_home_list(struct kfi_home *home, struct kfi_peer_conn *conn, struct kfi_peer *peer)
{
	int ret = 0;

	spin_lock_bh(&home->lock);
	if (home->stop_err) {
		ret = -ENODEV;
	} else if (!conn->dialed && !kfi_home_room(home, conn)) {
		ret = -EBUSY;
	} else {
		conn->home = home;
		if (!conn->dialed)
			kfi_home_stranger(home, conn);
		list_add_tail(&conn->entry, &home->conns);
		home->ops->get(conn);
		if (peer)
			kfi_peer_join(peer, conn);
	}
	spin_unlock_bh(&home->lock);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_home_list);

/*
 * Move @conn to another set. The locks of both sets are held. The work item that ends @conn reads
 * &kfi_peer_conn.home, see kfi_home_stays().
 */
static void kfi_home_enter(struct kfi_home *to, struct kfi_peer_conn *conn, bool stranger)
{
	struct kfi_home *from = conn->home;

	kfi_home_no_stranger(from, conn);
	if (stranger)
		kfi_home_stranger(to, conn);
	list_move_tail(&conn->entry, &to->conns);
	WRITE_ONCE(conn->home, to);
	to->ops->moved(conn);
	wake_up_all(&from->idle);
}

static bool kfi_home_move(struct kfi_peer_conn *conn, struct kfi_home *to, bool accepted)
{
	struct kfi_home *from = conn->home;
	bool there;

	spin_lock_bh(&from->lock);
	spin_lock_nested(&to->lock, SINGLE_DEPTH_NESTING);
	there = !to->ops->failed(conn) && !to->stop_err && (accepted || !kfi_home_full(to));
	if (there) {
		kfi_home_enter(to, conn, !accepted);
		if (accepted)
			to->ops->answer(conn, true);
	}
	spin_unlock(&to->lock);
	spin_unlock_bh(&from->lock);
	return there;
}

bool kfi_home_accept(struct kfi_peer_conn *conn, struct kfi_home *home)
{
	return kfi_home_move(conn, home, true);
}
EXPORT_SYMBOL_GPL(kfi_home_accept);

bool kfi_home_adopt(struct kfi_peer_conn *conn, u32 rx_ctx)
{
	struct kfi_home *home = conn->home;
	struct kfi_ep *ctx;
	bool there;

	rcu_read_lock();	/* the context may be stopping; its stop_err shows that */
	ctx = kfi_ep_rx_ctx(home->peers->ep, rx_ctx);
	there = ctx && (ctx->home == home || kfi_home_move(conn, ctx->home, false));
	rcu_read_unlock();
	return there;
}
EXPORT_SYMBOL_GPL(kfi_home_adopt);

void kfi_home_reject(struct kfi_peer_conn *conn)
{
	struct kfi_home *home = conn->home;

	spin_lock_bh(&home->lock);
	if (!home->ops->failed(conn))
		home->ops->answer(conn, false);
	spin_unlock_bh(&home->lock);
}
EXPORT_SYMBOL_GPL(kfi_home_reject);

void kfi_home_known(struct kfi_peer_conn *conn)
{
	struct kfi_home *home = conn->home;

	spin_lock_bh(&home->lock);
	kfi_home_no_stranger(home, conn);
	spin_unlock_bh(&home->lock);
}
EXPORT_SYMBOL_GPL(kfi_home_known);

void kfi_home_publish(struct kfi_peer_conn *conn)
{
	struct kfi_home *home = conn->home;

	spin_lock_bh(&home->lock);
	if (!home->ops->failed(conn))
		rcu_assign_pointer(home->conn, conn);
	spin_unlock_bh(&home->lock);
}
EXPORT_SYMBOL_GPL(kfi_home_publish);

/* ---- the end ---- */

/*
 * A connection is moved under the lock of the set that it leaves, and only if it has not failed.
 * @conn has failed. Once the lock has been taken, every mover that had not seen the failure has
 * released it. If such a mover has moved @conn, the loop takes the lock of the new set, which @conn
 * does not leave any more. Both sets wait for the work item that calls this before they are freed.
 */
void kfi_home_stays(struct kfi_peer_conn *conn)
{
	struct kfi_home *home;

	do {
		home = READ_ONCE(conn->home);
		spin_lock_bh(&home->lock);
		spin_unlock_bh(&home->lock);
	} while (home != READ_ONCE(conn->home));
}
EXPORT_SYMBOL_GPL(kfi_home_stays);

void kfi_home_unpublish(struct kfi_peer_conn *conn)
{
	struct kfi_home *home = conn->home;

	if (conn->peer) {
		kfi_peer_unpublish(conn);
		return;
	}
	spin_lock_bh(&home->lock);
	if (rcu_access_pointer(home->conn) == conn)
		RCU_INIT_POINTER(home->conn, NULL);
	spin_unlock_bh(&home->lock);
}
EXPORT_SYMBOL_GPL(kfi_home_unpublish);

void kfi_home_unlist(struct kfi_peer_conn *conn)
{
	struct kfi_home *home = conn->home;
	const struct kfi_home_ops *ops = home->ops;

	spin_lock_bh(&home->lock);
	list_del_init(&conn->entry);
	kfi_home_no_stranger(home, conn);
	if (conn->peer)
		kfi_peer_leave(conn);
	wake_up_all(&home->idle);
	spin_unlock_bh(&home->lock);
	ops->put(conn);
}
EXPORT_SYMBOL_GPL(kfi_home_unlist);

/*
 * A connection in the list can't be freed while the lock is held. If the operation names a
 * connection in the list, and its place has not been reused, that connection has the operation, and
 * not a later connection at the same address.
 */
void kfi_home_expire(struct kfi_home *home, const struct kfi_oper *op, u32 gen)
{
	const struct kfi_peer_conn *carrier;
	struct kfi_peer_conn *conn;

	spin_lock_bh(&home->lock);
	carrier = home->ops->carrier(op);
	smp_rmb();	/* read @gen last: so the carrier is not that of a later use of the place */
	if (READ_ONCE(op->gen) != gen)
		carrier = NULL;
	list_for_each_entry(conn, &home->conns, entry)
		if (conn == carrier)
			home->ops->fail(conn, -ETIMEDOUT);
	spin_unlock_bh(&home->lock);
}

void kfi_home_stop(struct kfi_home *home, int err)
{
	if (home->peers)
		kfi_peers_stop(home->peers);
	spin_lock_bh(&home->lock);
	WRITE_ONCE(home->stop_err, err);
	spin_unlock_bh(&home->lock);
}
EXPORT_SYMBOL_GPL(kfi_home_stop);

void kfi_home_restart(struct kfi_home *home)
{
	spin_lock_bh(&home->lock);
	WRITE_ONCE(home->stop_err, 0);
	spin_unlock_bh(&home->lock);
}

/* Fail all connections that are left. Returns true if there are none. */
static bool kfi_home_empty(struct kfi_home *home)
{
	struct kfi_peer_conn *conn;
	bool empty;

	spin_lock_bh(&home->lock);
	list_for_each_entry(conn, &home->conns, entry)
		home->ops->fail(conn, home->stop_err);
	empty = list_empty(&home->conns);
	spin_unlock_bh(&home->lock);
	return empty;
}

/*
 * Connections end in work items of their own, in parallel, so all of them take one or two grace
 * periods.
 */
void kfi_home_drain(struct kfi_home *home)
{
	wait_event(home->idle, kfi_home_empty(home));
	if (home->peers) {
		/* posters that have not seen the stop have added their operations somewhere */
		synchronize_rcu();
		kfi_peers_flush(home->peers, home->stop_err);
	}
	flush_workqueue(home->wq);	/* the work item of the last connection may still run */
}
EXPORT_SYMBOL_GPL(kfi_home_drain);

/* ---- for `kfi show` ---- */

void kfi_home_show(struct kfi_home *home, const void *name, u32 after,
		   int (*emit)(void *arg, const struct kfi_peer_info *peer), void *arg)
{
	struct kfi_peer_info info = { .nr = 1 };
	struct kfi_peer_conn *conn;

	rcu_read_lock();
	conn = rcu_dereference(home->conn);
	if (conn && !after) {
		home->peers->ops->show(home->peers, name, conn, &info);
		emit(arg, &info);
	}
	rcu_read_unlock();
	kfi_peers_show(home->peers, after, emit, arg);
}
EXPORT_SYMBOL_GPL(kfi_home_show);
