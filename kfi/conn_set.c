// SPDX-License-Identifier: GPL-2.0
/*
 * conn_set.c - connection sets (struct kfi_conn_set): the connections of an endpoint or a passive
 * endpoint, from beginning to end. kfi_conn_set.h describes the calls and &kfi_conn_set.lock.
 */
#include <linux/export.h>
#include <kfi_conn_set.h>
#include <kfi_prov.h>

void kfi_conn_set_init(struct kfi_conn_set *set, struct kfi_ep *ep,
		       const struct kfi_conn_set_ops *ops)
{
	set->ep = ep;
	set->ops = ops;
	spin_lock_init(&set->lock);
	INIT_LIST_HEAD(&set->conns);
	INIT_LIST_HEAD(&set->pending_conns);
	init_waitqueue_head(&set->idle);
	if (ep)
		ep->conn_set = set;
}
EXPORT_SYMBOL_GPL(kfi_conn_set_init);

/* ---- begin and move ---- */

static bool kfi_conn_set_full(const struct kfi_conn_set *set)
{
	return set->nr_pending >= READ_ONCE(*set->ops->backlog);
}

static void kfi_conn_set_add_pending(struct kfi_conn_set *set, struct kfi_peer_conn *conn)
{
	lockdep_assert_held(&set->lock);
	conn->is_pending = true;
	set->nr_pending++;
	list_add_tail(&conn->waiting, &set->pending_conns);
}

static void kfi_conn_set_del_pending(struct kfi_conn_set *set, struct kfi_peer_conn *conn)
{
	lockdep_assert_held(&set->lock);
	if (!conn->is_pending)
		return;
	conn->is_pending = false;
	set->nr_pending--;
	list_del(&conn->waiting);
}

/*
 * Is there room for @conn, one more caller that is neither admitted nor accepted? If the set has as
 * many of them as it may, the oldest one that has not shown yet that it is the peer that it claims
 * to be (ops->unproven) is failed to make room, so that silent callers do not lock out others. If
 * the source address of @conn has as many of them as it may, the oldest such caller from that
 * address is failed. A failed caller keeps its memory until its end has run, therefore failed
 * callers are bounded, too: the list has at most twice the backlog.
 */
static bool kfi_conn_set_room(struct kfi_conn_set *set, const struct kfi_peer_conn *conn)
{
	const struct kfi_conn_set_ops *ops = set->ops;
	unsigned int backlog = READ_ONCE(*ops->backlog), live = 0, same_origin = 0;
	struct kfi_peer_conn *oldest = NULL, *sibling = NULL, *one;

	lockdep_assert_held(&set->lock);
	if (!ops->unproven)
		return !kfi_conn_set_full(set);
	if (set->nr_pending / 2 >= backlog)
		return false;
	list_for_each_entry(one, &set->pending_conns, waiting) {
		if (ops->failed(one))
			continue;
		live++;
		if (!oldest && ops->unproven(one))
			oldest = one;
		if (!ops->same_origin(one, conn))
			continue;
		same_origin++;
		if (!sibling && ops->unproven(one))
			sibling = one;
	}
	if (same_origin >= READ_ONCE(*ops->origin_backlog))
		oldest = sibling;
	else if (live < backlog)
		return true;
	if (oldest)
		ops->fail(oldest, -EBUSY);
	return oldest;
}

int kfi_conn_set_add(struct kfi_conn_set *set, struct kfi_peer_conn *conn)
{
	int ret = 0;

	spin_lock_bh(&set->lock);
	if (set->stop_err) {
		ret = -ENODEV;
	} else if (!conn->dialed && !kfi_conn_set_room(set, conn)) {
		ret = -EBUSY;
	} else {
		conn->conn_set = set;
		if (!conn->dialed)
			kfi_conn_set_add_pending(set, conn);
		list_add_tail(&conn->entry, &set->conns);
		set->ops->get(conn);
	}
	spin_unlock_bh(&set->lock);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_conn_set_add);

/*
 * Move @conn to another set. The locks of both sets are held. The work item that ends @conn reads
 * &kfi_peer_conn.conn_set, see kfi_conn_set_wait_move().
 */
static void kfi_conn_set_enter(struct kfi_conn_set *to, struct kfi_peer_conn *conn, bool is_pending)
{
	struct kfi_conn_set *from = conn->conn_set;

	kfi_conn_set_del_pending(from, conn);
	if (is_pending)
		kfi_conn_set_add_pending(to, conn);
	list_move_tail(&conn->entry, &to->conns);
	WRITE_ONCE(conn->conn_set, to);
	to->ops->moved(conn);
	wake_up_all(&from->idle);
}

static bool kfi_conn_set_move(struct kfi_peer_conn *conn, struct kfi_conn_set *to, bool accepted)
{
	struct kfi_conn_set *from = conn->conn_set;
	bool moved;

	spin_lock_bh(&from->lock);
	spin_lock_nested(&to->lock, SINGLE_DEPTH_NESTING);
	moved = !to->ops->failed(conn) && !to->stop_err &&
		(accepted || kfi_conn_set_room(to, conn));
	if (moved) {
		kfi_conn_set_enter(to, conn, !accepted);
		if (accepted)
			to->ops->answer(conn, true);
	}
	spin_unlock(&to->lock);
	spin_unlock_bh(&from->lock);
	return moved;
}

/* A request that can't be accepted fails: its consumer has answered it, and will not reject it. */
bool kfi_conn_set_accept(struct kfi_peer_conn *conn, struct kfi_conn_set *set)
{
	bool moved = kfi_conn_set_move(conn, set, true);

	if (!moved)
		set->ops->fail(conn, -ECONNABORTED);
	return moved;
}
EXPORT_SYMBOL_GPL(kfi_conn_set_accept);

bool kfi_conn_set_adopt(struct kfi_peer_conn *conn, u32 rx_ctx)
{
	struct kfi_conn_set *set = conn->conn_set;
	struct kfi_ep *ctx;
	bool moved;

	rcu_read_lock();	/* the context may be stopping; its stop_err shows that */
	ctx = kfi_ep_rx_ctx(set->ep, rx_ctx);
	moved = ctx && (ctx->conn_set == set || kfi_conn_set_move(conn, ctx->conn_set, false));
	rcu_read_unlock();
	return moved;
}
EXPORT_SYMBOL_GPL(kfi_conn_set_adopt);

void kfi_conn_set_reject(struct kfi_peer_conn *conn)
{
	struct kfi_conn_set *set = conn->conn_set;

	spin_lock_bh(&set->lock);
	if (!set->ops->failed(conn))
		set->ops->answer(conn, false);
	spin_unlock_bh(&set->lock);
}
EXPORT_SYMBOL_GPL(kfi_conn_set_reject);

void kfi_conn_set_admitted(struct kfi_peer_conn *conn)
{
	struct kfi_conn_set *set = conn->conn_set;

	spin_lock_bh(&set->lock);
	kfi_conn_set_del_pending(set, conn);
	spin_unlock_bh(&set->lock);
}
EXPORT_SYMBOL_GPL(kfi_conn_set_admitted);

void kfi_conn_set_publish(struct kfi_peer_conn *conn)
{
	struct kfi_conn_set *set = conn->conn_set;

	spin_lock_bh(&set->lock);
	if (!set->ops->failed(conn))
		rcu_assign_pointer(set->conn, conn);
	spin_unlock_bh(&set->lock);
}
EXPORT_SYMBOL_GPL(kfi_conn_set_publish);

/* ---- the end ---- */

/*
 * A connection is moved under the lock of the set that it leaves, and only if it has not failed.
 * @conn has failed. Once the lock has been taken, every mover that had not seen the failure has
 * released it. If such a mover has moved @conn, the loop takes the lock of the new set, which @conn
 * does not leave any more.
 *
 * The first set that is read may be the one that @conn has just left. A set is freed a grace period
 * after kfi_conn_set_drain(), and so after this function.
 */
void kfi_conn_set_wait_move(struct kfi_peer_conn *conn)
{
	struct kfi_conn_set *set;

	rcu_read_lock();
	do {
		set = READ_ONCE(conn->conn_set);
		spin_lock_bh(&set->lock);
		spin_unlock_bh(&set->lock);
	} while (set != READ_ONCE(conn->conn_set));
	rcu_read_unlock();
}
EXPORT_SYMBOL_GPL(kfi_conn_set_wait_move);

void kfi_conn_set_unpublish(struct kfi_peer_conn *conn)
{
	struct kfi_conn_set *set = conn->conn_set;

	spin_lock_bh(&set->lock);
	if (rcu_access_pointer(set->conn) == conn)
		RCU_INIT_POINTER(set->conn, NULL);
	spin_unlock_bh(&set->lock);
}
EXPORT_SYMBOL_GPL(kfi_conn_set_unpublish);

void kfi_conn_set_remove(struct kfi_peer_conn *conn)
{
	struct kfi_conn_set *set = conn->conn_set;
	const struct kfi_conn_set_ops *ops = set->ops;

	spin_lock_bh(&set->lock);
	list_del_init(&conn->entry);
	kfi_conn_set_del_pending(set, conn);
	wake_up_all(&set->idle);
	spin_unlock_bh(&set->lock);
	ops->put(conn);
}
EXPORT_SYMBOL_GPL(kfi_conn_set_remove);

/*
 * @op may have ended, and may be in use again. ops->carrier() then returns a stale pointer, so the
 * pointer is only compared with the connections in the list, which can't be freed under the lock.
 * If op->gen is still @gen after the pointer was read, the pointer belongs to this use of @op, and
 * the connection at this address is not a later one.
 */
void kfi_conn_set_expire(struct kfi_conn_set *set, const struct kfi_oper *op, u32 gen)
{
	const struct kfi_peer_conn *carrier;
	struct kfi_peer_conn *conn;

	spin_lock_bh(&set->lock);
	carrier = set->ops->carrier(op);
	smp_rmb();	/* read op->gen last */
	if (READ_ONCE(op->gen) != gen)
		carrier = NULL;
	list_for_each_entry(conn, &set->conns, entry)
		if (conn == carrier)
			set->ops->fail(conn, -ETIMEDOUT);
	spin_unlock_bh(&set->lock);
}

void kfi_conn_set_stop(struct kfi_conn_set *set, int err)
{
	spin_lock_bh(&set->lock);
	WRITE_ONCE(set->stop_err, err);
	spin_unlock_bh(&set->lock);
}
EXPORT_SYMBOL_GPL(kfi_conn_set_stop);

void kfi_conn_set_restart(struct kfi_conn_set *set)
{
	spin_lock_bh(&set->lock);
	WRITE_ONCE(set->stop_err, 0);
	spin_unlock_bh(&set->lock);
}

/* Fail all connections that are left. Returns true if there are none. */
static bool kfi_conn_set_empty(struct kfi_conn_set *set)
{
	struct kfi_peer_conn *conn;
	bool empty;

	spin_lock_bh(&set->lock);
	list_for_each_entry(conn, &set->conns, entry)
		set->ops->fail(conn, set->stop_err);
	empty = list_empty(&set->conns);
	spin_unlock_bh(&set->lock);
	return empty;
}

/* The list is turned, so that the next connection is its first one. */
void kfi_conn_set_each(struct kfi_conn_set *set, void (*fn)(struct kfi_peer_conn *conn))
{
	struct kfi_peer_conn *conn;
	size_t n = 0;

	spin_lock_bh(&set->lock);
	list_for_each_entry(conn, &set->conns, entry)
		n++;
	for (; n; n--) {
		conn = list_first_entry_or_null(&set->conns, struct kfi_peer_conn, entry);
		if (!conn)
			break;
		list_move_tail(&conn->entry, &set->conns);
		set->ops->get(conn);
		spin_unlock_bh(&set->lock);
		fn(conn);
		set->ops->put(conn);
		spin_lock_bh(&set->lock);
	}
	spin_unlock_bh(&set->lock);
}

void kfi_conn_set_end(struct kfi_conn_set *set, int err)
{
	kfi_conn_set_stop(set, err);
	kfi_conn_set_empty(set);
}

/*
 * Connections end in work items of their own, in parallel, so all of them take one or two grace
 * periods. A connection of another set may wait for its peer meanwhile, and does not matter here.
 */
void kfi_conn_set_drain(struct kfi_conn_set *set)
{
	wait_event(set->idle, kfi_conn_set_empty(set));
}
EXPORT_SYMBOL_GPL(kfi_conn_set_drain);
