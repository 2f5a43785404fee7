// SPDX-License-Identifier: GPL-2.0
/*
 * account.c - bounds of the memory that the peers of an RDM endpoint can make it hold. Accounts
 * exist for each peer, for each origin, and for the endpoint. They count credits: KFW_CREDIT_BYTES
 * bytes of payload of unexpected messages, or one message object.
 *
 * A live connection is charged with its allowances when it begins. The allowances are all that its
 * peer may send unexpected, so the data path checks nothing but credit, and no connection waits
 * for another one. When the connection is down, it is charged with the complete messages that it
 * has left in the matching, until they are received or dropped. So the bound survives reconnects.
 *
 * kfp_account_join() charges a connection that begins, and determines its allowances.
 * kfp_account_down() replaces the charge by that of the messages that the connection has left.
 * kfp_account_freed() returns the charge of one of these messages.
 *
 * At the bound of a level, messages that dead connections have left are dropped, oldest connection
 * first, except those that were acknowledged, and those that have invalidated a region. Then new
 * connections get smaller allowances, at least KFP_ACCOUNT_MIN.
 *
 * The ACK of an unexpected message is a promise to keep the message, also when its connection is
 * down. A promise is never broken, and is given only as long as it fits into the bounds: when dead
 * connections alone have left as much as a peer or an origin may have, the ACKs of the unexpected
 * messages of its next connections follow when the messages are received (&kfp_conn.late_acks). So
 * all that these connections leave can be dropped, and messages that no consumer receives lock out
 * neither their peer nor its origin. When dead connections have left as much as the endpoint may
 * have, only connections whose origin has more than KFP_ACCOUNT_SPARE get no promises, because no
 * origin may take them from another one.
 *
 * So a peer or an origin holds at most its bound and KFP_ACCOUNT_MIN credits of each class for
 * each live connection, and an endpoint at most its bound and KFP_ACCOUNT_SPARE for each origin.
 * What connections without promises leave is dropped when the next one begins. Messages of live
 * connections are never dropped.
 *
 * If the endpoint belongs to a process, the account of its fabric pays for the same credits, in
 * advance: memory of a message that arrives in softirq can't be charged to the process any more. A
 * connection gets allowances in proportion to what the account has left, and none begins if not
 * even the smallest allowances can be paid for. An MSG endpoint pays for the allowances of its
 * connection when it is opened.
 *
 * A receive that is granted to a message can't be canceled, and one origin may have many
 * connections, each with a message for the same receive, of which none sends its payload. So when
 * a peer was late, the waiting messages of its origin go behind those of others
 * (kfp_account_yield()), before the receive takes the next message.
 *
 * kfp_accounts.lock protects all accounts. It is a leaf, taken when a connection begins or ends,
 * and when a message of a dead connection is freed.
 */
#include <linux/slab.h>
#include "conn.h"

/* Return the charge for the object of a dead connection that has left messages, in credits. */
static u32 kfp_account_object(const struct kfp_conn *conn)
{
	size_t bytes = offsetof(struct kfp_conn, link) + conn->ops->link_size;

	return DIV_ROUND_UP(bytes, KFP_CREDIT_MEM);
}

/* Return the credits of each allowance that @payer allows, at least KFP_ACCOUNT_MIN. */
static u32 kfp_payer_allowance(const struct kfi_account *payer, u32 allowance)
{
	if (!payer)
		return allowance;
	return clamp_t(unsigned long,
		       kfi_account_left(payer) / KFP_PAYER_SHARE / kfp_allowance_mem(1),
		       KFP_ACCOUNT_MIN, allowance);
}

/* Charge credits, which may be negative, to the account of the fabric. */
static void kfp_payer_adjust(struct kfp_accounts *accounts, s64 credits)
{
	kfi_account_uncharge(accounts->payer, -credits * (s64)KFP_CREDIT_MEM);
}

/* A new connection gets at most this fraction (1/n) of the remaining credits. */
static const unsigned int kfp_account_share[KFP_ACCOUNT_LEVELS] = {
	[KFP_ACCOUNT_PEER]   = 2,
	[KFP_ACCOUNT_ORIGIN] = 4,
	[KFP_ACCOUNT_ALL]    = 8,
};

/* Return the bound of an account of this level, in credits. */
static u32 kfp_account_limit(const struct kfp_accounts *accounts, int level)
{
	const struct kfi_proto_params *params = &accounts->proto->params;

	switch (level) {
	case KFP_ACCOUNT_PEER:
		return READ_ONCE(params->unexpected_peer);
	case KFP_ACCOUNT_ORIGIN:
		return READ_ONCE(params->unexpected_origin);
	default:
		return READ_ONCE(params->unexpected_total);
	}
}

struct kfp_accounts *kfp_accounts_new(const struct kfi_proto *proto, struct kfi_account *payer)
{
	struct kfp_accounts *accounts = kzalloc(sizeof(*accounts), GFP_KERNEL_ACCOUNT);

	if (!accounts)
		return NULL;
	accounts->proto = proto;
	accounts->payer = payer;
	spin_lock_init(&accounts->lock);
	hash_init(accounts->by_name);
	INIT_LIST_HEAD(&accounts->all.dead);
	accounts->all.level = KFP_ACCOUNT_ALL;
	return accounts;
}

/* ---- accounts ---- */

/*
 * Find the account with this name one level below @up, and add a user. If there is none, use
 * *@spare. The level is compared, too, because the name of a peer can equal that of an origin: a
 * consumer may dial port 0.
 */
static struct kfp_account *kfp_account_get(struct kfp_accounts *accounts, const void *name,
					   struct kfp_account *up, struct kfp_account **spare)
{
	const struct kfi_link_ops *ops = accounts->proto->ops;
	u8 level = up->level - 1;
	struct kfp_account *account;

	lockdep_assert_held(&accounts->lock);
	hash_for_each_possible(accounts->by_name, account, node, kfp_name_hash(ops, name))
		if (account->level == level && !kfp_name_cmp(ops, account->name, name))
			goto found;
	account = *spare;
	*spare = NULL;
	account->level = level;
	memcpy(account->name, name, ops->name_len);
	account->up = up;
	up->users++;
	INIT_LIST_HEAD(&account->dead);
	INIT_LIST_HEAD(&account->conns);
	hash_add(accounts->by_name, &account->node, kfp_name_hash(ops, name));
found:
	account->users++;
	return account;
}

static void kfp_account_put(struct kfp_accounts *accounts, struct kfp_account *account)
{
	struct kfp_account *up;

	lockdep_assert_held(&accounts->lock);
	for (; account != &accounts->all && !--account->users; account = up) {
		up = account->up;
		hash_del(&account->node);
		kfree(account);
	}
}

static void kfp_account_live(struct kfp_account *account, int n)
{
	for (; account; account = account->up)
		account->live += n;
}

static void kfp_account_charge(struct kfp_account *account, s64 credits)
{
	for (; account; account = account->up)
		account->credits += credits;
}

static void kfp_account_charge_dead(struct kfp_account *account, s64 credits)
{
	for (; account; account = account->up)
		account->dead_credits += credits;
}

/* ---- dead connections ---- */

/* Release the account: the endpoint holds nothing of this connection any more. */
static void kfp_account_leave(struct kfp_conn *conn)
{
	struct kfp_accounts *accounts = conn->ep->accounts;
	int level;

	lockdep_assert_held(&accounts->lock);
	kfp_account_charge(conn->account, -(s64)conn->credits);
	kfp_payer_adjust(accounts, -(s64)conn->credits);
	if (conn->orphaned)
		kfp_account_charge_dead(conn->account, -(s64)conn->credits);
	for (level = 0; level < KFP_ACCOUNT_LEVELS; level++)
		list_del_init(&conn->dead[level]);
	kfp_account_put(accounts, conn->account);
	conn->account = NULL;
	conn->credits = 0;
}

/* Take the oldest dead connection of an account out of all lists, with a reference. */
static struct kfp_conn *kfp_account_oldest(struct kfp_accounts *accounts,
					   struct kfp_account *account, int level)
{
	struct kfp_conn *conn;

	lockdep_assert_held(&accounts->lock);
	conn = list_first_entry_or_null(&account->dead, struct kfp_conn, dead[level]);
	if (!conn)
		return NULL;
	for (level = 0; level < KFP_ACCOUNT_LEVELS; level++)
		list_del_init(&conn->dead[level]);
	kfp_conn_get(conn);
	return conn;
}

/*
 * Replace the charge of a connection that is down. Its last message was aborted, so the messages
 * that it has left in the matching are complete.
 */
void kfp_account_down(struct kfp_conn *conn)
{
	struct kfp_account *account = conn->account;
	struct kfp_accounts *accounts;
	struct kfp_inmsg *in;
	u32 credits = 0;
	int level;

	if (!account)
		return;
	accounts = conn->ep->accounts;
	spin_lock_bh(&conn->lock);
	list_for_each_entry(in, &conn->messages.all, entry)
		credits += in->cost;
	if (credits)
		credits += kfp_account_object(conn);
	conn->orphaned = credits;	/* from here on kfp_inmsg_free() reports to the account */
	spin_lock(&accounts->lock);
	kfp_account_live(account, -1);
	list_del_init(&conn->of_origin);
	kfp_account_charge(account, (s64)credits - conn->credits);
	kfp_payer_adjust(accounts, (s64)credits - conn->credits);
	kfp_account_charge_dead(account, credits);
	conn->credits = credits;
	for (level = 0; credits && level < KFP_ACCOUNT_LEVELS; level++, account = account->up)
		list_add_tail(&conn->dead[level], &account->dead);
	if (!credits)
		kfp_account_leave(conn);
	spin_unlock(&accounts->lock);
	spin_unlock_bh(&conn->lock);
}

/*
 * Return the charge of a message of a dead connection, and with the last one that of the object.
 * The order of these calls may be another one than that in which the messages have left the list
 * of the connection, so what is still charged shows which call is the last.
 */
void kfp_account_freed(struct kfp_conn *conn, u32 credits)
{
	struct kfp_accounts *accounts = conn->ep->accounts;

	spin_lock_bh(&accounts->lock);
	kfp_account_charge(conn->account, -(s64)credits);
	kfp_account_charge_dead(conn->account, -(s64)credits);
	kfp_payer_adjust(accounts, -(s64)credits);
	conn->credits -= credits;
	if (conn->credits == kfp_account_object(conn))
		kfp_account_leave(conn);
	spin_unlock_bh(&accounts->lock);
}

/* ---- a connection begins ---- */

/*
 * Drop messages that the oldest dead connection has left in @account, if a new connection would get
 * less than a full allowance. Return true if this has to be tried again.
 */
static bool kfp_account_reclaim(struct kfp_accounts *accounts, struct kfp_account *account,
				int level)
{
	u32 limit = kfp_account_limit(accounts, level);
	u32 allowances = 2 * accounts->proto->params.unexpected;
	struct kfp_conn *conn = NULL;

	spin_lock_bh(&accounts->lock);
	if (account->credits + kfp_account_share[level] * allowances > limit)
		conn = kfp_account_oldest(accounts, account, level);
	spin_unlock_bh(&accounts->lock);
	if (!conn)
		return false;
	kfp_protocols_call(shrink, conn);
	kfp_conn_put(conn);
	return true;
}

/* Return the credits that @account allows for each allowance of a new connection. */
static u32 kfp_account_allowance(const struct kfp_accounts *accounts,
			      const struct kfp_account *account)
{
	u32 limit = kfp_account_limit(accounts, account->level);
	u32 left = limit - min(limit, account->credits);

	return left / kfp_account_share[account->level] / 2;
}

/* Have dead connections left so much that the smallest allowances do not fit? */
static bool kfp_account_full(const struct kfp_accounts *accounts, const struct kfp_account *account)
{
	return account->dead_credits + 2 * KFP_ACCOUNT_MIN >
	       kfp_account_limit(accounts, account->level);
}

static void kfp_set_allowance(struct kfp_conn *conn, u32 allowance)
{
	conn->allowance = allowance;
	conn->link.eager = min_t(size_t, conn->ep->ep.eager_size, kfp_eager_max(allowance));
}

/* May the unexpected messages of a further connection to @peer be promised to be kept? */
static bool kfp_account_promises(const struct kfp_accounts *accounts,
				 const struct kfp_account *peer)
{
	const struct kfp_account *origin = peer->up;

	if (kfp_account_full(accounts, peer) || kfp_account_full(accounts, origin))
		return false;
	return !kfp_account_full(accounts, origin->up) ||
	       origin->dead_credits + (origin->live + 1) * 2 * KFP_ACCOUNT_MIN <= KFP_ACCOUNT_SPARE;
}

/*
 * Determine the allowances and the eager size of @conn, whose peer is known, and charge them.
 * Called in process context, before the hello of this side announces them.
 *
 * Return: 0; -ENOMEM; -ENOBUFS if the peer has called and its origin has too many connections, or
 * if the account of the fabric is full.
 */
int kfp_account_join(struct kfp_conn *conn)
{
	struct kfp_account *spare[] = {
		kzalloc(sizeof(*spare[0]), GFP_NOIO), kzalloc(sizeof(*spare[0]), GFP_NOIO)
	};
	struct kfp_accounts *accounts = conn->ep->accounts;
	const struct kfi_proto_params *params = kfp_params(conn);
	struct kfp_account *peer, *origin, *account;
	u8 from[KFI_ADDR_MAX] __aligned(8);
	u32 allowance = params->unexpected;
	int level, ret;

	if (!spare[0] || !spare[1]) {
		kfree(spare[0]);
		kfree(spare[1]);
		return -ENOMEM;
	}
	kfp_name_origin(conn->ops, conn->link.name, from);
	spin_lock_bh(&accounts->lock);
	origin = kfp_account_get(accounts, from, &accounts->all, &spare[0]);
	peer = kfp_account_get(accounts, conn->link.name, origin, &spare[1]);
	kfp_account_put(accounts, origin);	/* @peer holds a reference */
	spin_unlock_bh(&accounts->lock);
	kfree(spare[0]);
	kfree(spare[1]);
	for (account = peer, level = 0; account; account = account->up, level++)
		while (kfp_account_reclaim(accounts, account, level))
			cond_resched();
	spin_lock_bh(&accounts->lock);
	for (account = peer; account; account = account->up)
		allowance = min(allowance, kfp_account_allowance(accounts, account));
	allowance = kfp_payer_allowance(accounts->payer, max(allowance, KFP_ACCOUNT_MIN));
	if (!conn->pc.dialed && peer->up->live >= READ_ONCE(params->origin_peers))
		ret = -ENOBUFS;
	else
		ret = kfi_account_charge(accounts->payer, kfp_allowance_mem(allowance));
	if (ret) {
		kfp_account_put(accounts, peer);
	} else {
		kfp_set_allowance(conn, allowance);
		conn->late_acks = !kfp_account_promises(accounts, peer);
		conn->credits = 2 * allowance;
		conn->account = peer;
		kfp_account_charge(peer, conn->credits);
		kfp_account_live(peer, 1);
		list_add_tail(&conn->of_origin, &peer->up->conns);
	}
	spin_unlock_bh(&accounts->lock);
	return ret;
}

/*
 * An MSG endpoint has one connection, and its messages stay when that has ended. So the allowances
 * are those of the endpoint. Return: 0; -ENOBUFS if the account of the fabric is full.
 */
int kfp_account_msg_open(struct kfi_proto_ep *pe)
{
	struct kfi_account *payer = kfi_ep_account(&pe->ep);

	pe->allowance = kfp_payer_allowance(payer, pe->proto->params.unexpected);
	return kfi_account_charge(payer, kfp_allowance_mem(pe->allowance));
}

void kfp_account_msg_close(struct kfi_proto_ep *pe)
{
	kfi_account_uncharge(kfi_ep_account(&pe->ep), kfp_allowance_mem(pe->allowance));
}

/*
 * Determine the allowances of a connection that has its MSG endpoint now. A consumer that wants
 * long messages without a request may have several of them under way, so that credit returns with
 * other frames. Without room for them in its account it has to ask for the longest ones.
 */
void kfp_account_msg_join(struct kfp_conn *conn)
{
	struct kfi_proto_ep *pe = conn->ep;
	u32 ahead = pe->ep.eager_set ? KFP_AHEAD * kfw_cost(pe->ep.eager_size) : 0;

	if (ahead > pe->allowance &&
	    !kfi_account_charge(kfi_ep_account(&pe->ep), kfp_allowance_mem(ahead - pe->allowance)))
		pe->allowance = ahead;
	kfp_set_allowance(conn, pe->allowance);
	conn->late_acks = pe->ep.ack_delivered;
}

/* ---- late peers ---- */

/*
 * The peer was late: the waiting messages of its origin go behind those of others. The messages of
 * each peer keep their order. Process context.
 */
void kfp_account_yield(struct kfp_conn *conn)
{
	struct kfp_accounts *accounts = conn->ep->accounts;
	struct kfp_account *origin;
	struct kfp_conn *other;
	unsigned int n;

	if (!conn->account)
		return;
	origin = conn->account->up;
	spin_lock_bh(&accounts->lock);
	for (n = origin->live; n; n--) {
		other = list_first_entry_or_null(&origin->conns, struct kfp_conn, of_origin);
		if (!other)
			break;
		list_move_tail(&other->of_origin, &origin->conns);
		kfp_conn_get(other);
		spin_unlock_bh(&accounts->lock);
		kfp_protocols_call(yield, other);
		kfp_conn_put(other);
		cond_resched();
		spin_lock_bh(&accounts->lock);
	}
	spin_unlock_bh(&accounts->lock);
}
