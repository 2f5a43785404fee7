// SPDX-License-Identifier: GPL-2.0
/*
 * held.c - how much the peers of an RDM endpoint can make it hold, in units of unexpected
 * messages (SKW_UNIT bytes of payload, or one message object), for each peer, each source address
 * and the endpoint as a whole.
 *
 * A live connection is charged with its windows when it begins: with all that its peer may send
 * unexpected. So the data path checks nothing but credits, and no stream ever waits for another
 * one. When the connection is down, it is charged with the complete messages that it has left in
 * the matching, until these are received or dropped: the bound survives reconnects.
 *
 *	ks_held_join()	a connection begins: how large are its windows?
 *	ks_held_down()	it is down: what has it left?
 *	ks_held_freed()	a message that it has left is gone
 *
 * When a level comes to its bound, messages that dead connections have left are dropped, oldest
 * connection first; not those whose sender was told that they have arrived (flag ACK). Then new
 * connections get smaller windows, down to KS_HELD_MIN. When dead connections alone have left as
 * much as a peer or a source may, callers of that peer or source are refused. When they have left
 * as much as the endpoint may hold, only callers of sources are refused that have more than
 * KS_HELD_SPARE: others must not be able to lock a source out. A connection that this side dials
 * is never refused, for its consumer has chosen the peer.
 *
 * So a peer or a source holds no more than its bound and KS_HELD_MIN for each live connection, and
 * an endpoint no more than its bound and KS_HELD_SPARE for each source. What dialed connections
 * leave beyond that is bounded by what the consumer dials. Messages of live connections are never
 * dropped.
 *
 * ks_helds.lock protects all of it: a leaf, taken when a connection begins or ends and when a
 * message of a dead connection goes.
 */
#include <linux/jhash.h>
#include <linux/slab.h>
#include "sock.h"

/* What one object of a dead connection counts, in units */
#define KS_HELD_CONN	DIV_ROUND_UP(sizeof(struct ks_conn), SKW_UNIT + sizeof(struct ks_inmsg))

static const struct {
	const unsigned int	*limit;		/* units */
	unsigned int		share;		/* a connection gets at the most this fraction of what is left */
} ks_held_levels[KS_HELD_LEVELS] = {
	[KS_HELD_PEER]	 = { &ks_window_peer, 2 },
	[KS_HELD_SOURCE] = { &ks_window_source, 4 },
	[KS_HELD_ALL]	 = { &ks_window_total, 8 },
};

void ks_helds_init(struct ks_helds *helds)
{
	spin_lock_init(&helds->lock);
	hash_init(helds->by_name);
	INIT_LIST_HEAD(&helds->all.dead);
	helds->all.level = KS_HELD_ALL;
}

/* ---- accounts ---- */

/* Of the address and the port, which is all that tells names apart. */
static u32 ks_held_key(const union kfi_inaddr *name)
{
	u32 port = (__force u16)kfi_inaddr_port(name);

	if (name->sa.sa_family == AF_INET6)
		return jhash(&name->in6.sin6_addr, sizeof(name->in6.sin6_addr), port);
	return jhash_2words((__force u32)name->in.sin_addr.s_addr, port, 0);
}

/*
 * The account with this name one level below @up, with one more user; a new one is made of @fresh.
 * The name of a peer can be that of an address: a consumer may dial port 0.
 */
static struct ks_held *ks_held_get(struct ks_helds *helds, const union kfi_inaddr *name, struct ks_held *up, struct ks_held **fresh)
{
	u8 level = up->level - 1;
	struct ks_held *held;

	lockdep_assert_held(&helds->lock);
	hash_for_each_possible(helds->by_name, held, node, ks_held_key(name))
		if (held->level == level && !kfi_inaddr_cmp(&held->name, name))
			goto found;
	held = *fresh;
	*fresh = NULL;
	held->level = level;
	held->name = *name;
	held->up = up;
	up->users++;
	INIT_LIST_HEAD(&held->dead);
	hash_add(helds->by_name, &held->node, ks_held_key(name));
found:
	held->users++;
	return held;
}

static void ks_held_put(struct ks_helds *helds, struct ks_held *held)
{
	struct ks_held *up;

	lockdep_assert_held(&helds->lock);
	for (; held != &helds->all && !--held->users; held = up) {
		up = held->up;
		hash_del(&held->node);
		kfree(held);
	}
}

static void ks_held_live(struct ks_held *held, int n)
{
	for (; held; held = held->up)
		held->live += n;
}

static void ks_held_charge(struct ks_held *held, s64 units)
{
	for (; held; held = held->up)
		held->units += units;
}

static void ks_held_leave_behind(struct ks_held *held, s64 units)
{
	for (; held; held = held->up)
		held->left += units;
}

/* ---- dead connections ---- */

/* Nothing of this connection is held any more. */
static void ks_held_leave(struct ks_conn *conn)
{
	struct ks_helds *helds = &conn->sep->helds;
	int level;

	spin_lock_bh(&helds->lock);
	ks_held_charge(conn->held, -(s64)conn->held_units);
	if (conn->held_left)
		ks_held_leave_behind(conn->held, -(s64)conn->held_units);
	for (level = 0; level < KS_HELD_LEVELS; level++)
		list_del_init(&conn->held_dead[level]);
	ks_held_put(helds, conn->held);
	conn->held = NULL;
	spin_unlock_bh(&helds->lock);
}

/* The oldest dead connection of an account, out of all lists; with a reference. */
static struct ks_conn *ks_held_oldest(struct ks_helds *helds, struct ks_held *held, int level)
{
	struct ks_conn *conn;

	lockdep_assert_held(&helds->lock);
	conn = list_first_entry_or_null(&held->dead, struct ks_conn, held_dead[level]);
	if (!conn)
		return NULL;
	for (level = 0; level < KS_HELD_LEVELS; level++)
		list_del_init(&conn->held_dead[level]);
	ks_conn_get(conn);
	return conn;
}

/*
 * The connection is down and its last message has been aborted: what is left in the matching is
 * complete.
 */
void ks_held_down(struct ks_conn *conn)
{
	struct ks_held *held = conn->held;
	struct ks_helds *helds;
	struct ks_inmsg *in;
	u32 units = 0;
	int level;

	if (!held)
		return;
	helds = &conn->sep->helds;
	spin_lock_bh(&conn->lock);
	list_for_each_entry(in, &conn->inmsgs, entry)
		units += in->cost;
	if (units)
		units += KS_HELD_CONN;
	conn->held_left = units;	/* from here on ks_inmsg_free() tells us */
	spin_lock(&helds->lock);
	ks_held_live(held, -1);
	ks_held_charge(held, (s64)units - conn->held_units);
	ks_held_leave_behind(held, units);
	conn->held_units = units;
	for (level = 0; units && level < KS_HELD_LEVELS; level++, held = held->up)
		list_add_tail(&conn->held_dead[level], &held->dead);
	spin_unlock(&helds->lock);
	spin_unlock_bh(&conn->lock);
	if (!units)
		ks_held_leave(conn);
}

/* A message of a dead connection is gone, and with @last all of them. */
void ks_held_freed(struct ks_conn *conn, u32 units, bool last)
{
	struct ks_helds *helds = &conn->sep->helds;

	spin_lock_bh(&helds->lock);
	ks_held_charge(conn->held, -(s64)units);
	ks_held_leave_behind(conn->held, -(s64)units);
	conn->held_units -= units;
	spin_unlock_bh(&helds->lock);
	if (last)
		ks_held_leave(conn);
}

/* ---- a connection begins ---- */

/*
 * Drop what dead connections have left in @held, as long as a new connection would get less than
 * a full window for it.
 */
static bool ks_held_reclaim(struct ks_helds *helds, struct ks_held *held, int level)
{
	u32 limit = READ_ONCE(*ks_held_levels[level].limit);
	struct ks_conn *conn = NULL;

	spin_lock_bh(&helds->lock);
	if (held->units + ks_held_levels[level].share * 2 * ks_window > limit)
		conn = ks_held_oldest(helds, held, level);
	spin_unlock_bh(&helds->lock);
	if (!conn)
		return false;
	ks_inmsgs_drop(conn);
	ks_conn_put(conn);
	return true;
}

/* Units of each window that @held allows. */
static u32 ks_held_window(const struct ks_held *held, int level)
{
	u32 limit = READ_ONCE(*ks_held_levels[level].limit);
	u32 left = limit - min(limit, held->units);

	return left / ks_held_levels[level].share / 2;
}

/* Have dead connections left so much that not even the smallest windows fit? */
static bool ks_held_full(const struct ks_held *held)
{
	return held->left + 2 * KS_HELD_MIN > READ_ONCE(*ks_held_levels[held->level].limit);
}

/* Is a further caller with the name of @peer to be refused? */
static bool ks_held_refuses(const struct ks_held *peer)
{
	const struct ks_held *source = peer->up;

	if (source->live >= READ_ONCE(ks_source_peers) || ks_held_full(peer) || ks_held_full(source))
		return true;
	return ks_held_full(source->up) && source->left + (source->live + 1) * 2 * KS_HELD_MIN > KS_HELD_SPARE;
}

/*
 * How much may the peer of @conn send, whose name is known? In process context, before the hello
 * of ours that announces it. Sets the windows and the eager size. Return: 0; -ENOMEM; -ENOBUFS: the
 * peer has called, and the peer, its source or the endpoint already has as much as it may have, or
 * the source as many connections.
 */
int ks_held_join(struct ks_conn *conn)
{
	struct ks_held *fresh[] = { kzalloc(sizeof(*fresh[0]), GFP_NOIO), kzalloc(sizeof(*fresh[0]), GFP_NOIO) };
	struct ks_helds *helds = &conn->sep->helds;
	union kfi_inaddr address = kfi_inaddr_origin(&conn->name);
	struct ks_held *peer, *source, *held;
	u32 window = ks_window;
	int level, ret = 0;

	if (!fresh[0] || !fresh[1]) {
		kfree(fresh[0]);
		kfree(fresh[1]);
		return -ENOMEM;
	}
	spin_lock_bh(&helds->lock);
	source = ks_held_get(helds, &address, &helds->all, &fresh[0]);
	peer = ks_held_get(helds, &conn->name, source, &fresh[1]);
	ks_held_put(helds, source);	/* @peer has one */
	spin_unlock_bh(&helds->lock);
	kfree(fresh[0]);
	kfree(fresh[1]);
	for (held = peer, level = 0; held; held = held->up, level++)
		while (ks_held_reclaim(helds, held, level))
			cond_resched();
	spin_lock_bh(&helds->lock);
	for (held = peer, level = 0; held; held = held->up, level++)
		window = min(window, ks_held_window(held, level));
	if (!conn->pc.dialed && ks_held_refuses(peer)) {
		ret = -ENOBUFS;
		ks_held_put(helds, peer);
	} else {
		conn->window = max(window, KS_HELD_MIN);
		conn->eager = min(ks_eager_size, conn->window / 2 * SKW_UNIT);
		conn->held_units = 2 * conn->window;
		conn->held = peer;
		ks_held_charge(peer, conn->held_units);
		ks_held_live(peer, 1);
	}
	spin_unlock_bh(&helds->lock);
	return ret;
}
