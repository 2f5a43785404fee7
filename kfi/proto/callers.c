// SPDX-License-Identifier: GPL-2.0
/*
 * callers.c - a bound of the memory of connections that peers have begun to endpoints of the
 * kernel, for all endpoints and providers together.
 *
 * A process pays for the connections of its endpoints (kfi_account.h). Endpoints of the kernel have
 * one account for those that peers have begun, which has the limit of a user, max_queue_mb. It pays
 * for the largest size that a connection may have, when that is admitted, and for an object in
 * handshake, of which each endpoint has few. Connections that the kernel dials are its own choice.
 *
 * A peer has any number of connections, and may keep them idle for ever. So when the account is
 * full, a caller takes the place of another connection instead of being refused: of one that has
 * proved no identity, from the origin with the most connections. The caller itself has to have
 * proved its identity, by a key or by TLS, or be accepted by a consumer, or be of an origin with
 * fewer connections. So neither one origin nor a few lock out the others. The place is free when
 * the other connection has ended; until then the account is exceeded, by a bounded number of them.
 *
 * callers_lock protects the list of the connections that may have to give way, &kfp_conn.caller,
 * and those that do, &kfp_conn.leaving. It is a leaf, taken with bottom halves off.
 */
#include <linux/net.h>
#include "conn.h"

#define CALLERS_SEEN	256U	/* connections that one caller compares */
#define CALLERS_LEAVING	64U	/* connections that give way at a time */

static DEFINE_SPINLOCK(callers_lock);
static LIST_HEAD(callers);		/* connections of RDM endpoints, roughly the oldest first */
static unsigned int callers_leaving;

/* Is the account of @conn the one of the kernel's callers? */
static bool kfp_is_caller(const struct kfp_conn *conn)
{
	return conn->payer && conn->payer == kfi_payer_callers();
}

/* Has the caller proved an identity, or has a consumer accepted it? Then it does not give way. */
static bool kfp_caller_proven(const struct kfp_conn *conn)
{
	return conn->auth || conn->link.proto->identity || conn->ep->ep.type != KFI_EP_RDM;
}

/* Connections from the origin of @conn to the same endpoint */
static unsigned int kfp_caller_siblings(const struct kfp_conn *conn)
{
	return conn->account ? READ_ONCE(conn->account->up->live) : 0;
}

/*
 * Choose a connection that gives way to @conn, among those that are compared next. Return: the
 * connection, referenced, which is in the list no more; NULL if there is none
 */
static struct kfp_conn *kfp_callers_choose(const struct kfp_conn *conn)
{
	/* A caller that has proved nothing does not end the only connection of an origin. */
	bool known = conn->auth || conn->link.proto->identity;
	unsigned int most = known ? 0 : max(kfp_caller_siblings(conn), 1U);
	unsigned int n = CALLERS_SEEN, siblings;
	struct kfp_conn *one, *next, *chosen = NULL;
	LIST_HEAD(seen);

	lockdep_assert_held(&callers_lock);
	list_for_each_entry_safe(one, next, &callers, caller) {
		if (!n--)
			break;
		list_move_tail(&one->caller, &seen);
		siblings = kfp_caller_siblings(one);
		if (siblings <= most || kfp_caller_proven(one) || kfp_conn_failed(&one->pc))
			continue;
		most = siblings;
		chosen = one;
	}
	list_splice_tail(&seen, &callers);
	if (!chosen)
		return NULL;
	list_del_init(&chosen->caller);
	chosen->leaving = true;
	callers_leaving++;
	kfp_conn_get(chosen);
	return chosen;
}

/* Let a connection end in favour of @conn. Return: whether there is one */
static bool kfp_callers_make_room(const struct kfp_conn *conn)
{
	const struct kfi_proto *proto = conn->link.proto;
	struct kfp_conn *chosen = NULL;
	char name[KFI_ADDR_MAX];

	spin_lock_bh(&callers_lock);
	if (callers_leaving < CALLERS_LEAVING)
		chosen = kfp_callers_choose(conn);
	spin_unlock_bh(&callers_lock);
	proto = chosen ? chosen->link.proto : proto;
	proto->addr_str(chosen ? chosen->link.name : conn->link.name, proto->ops->name_len, name,
			sizeof(name));
	net_warn_ratelimited("kfi_%s: connections of callers use all of max_queue_mb, %s is %s\n",
			     proto->name, name, chosen ? "disconnected" : "turned away");
	if (!chosen)
		return false;
	kfp_conn_fail(chosen, -ENOBUFS);
	kfp_conn_put(chosen);
	return true;
}

/* Return the account that pays for a connection that a peer has begun. @of_consumer: or NULL */
struct kfi_account *kfp_caller_payer(struct kfi_account *of_consumer)
{
	return of_consumer ?: kfi_payer_callers();
}

/*
 * Charge memory of a connection. @admitted: false for the object of one in handshake, for which the
 * kernel's account always has room. Process context. Return: 0, -ENOBUFS
 */
int kfp_conn_pay(struct kfp_conn *conn, size_t bytes, bool admitted)
{
	int ret = kfi_account_charge(conn->payer, bytes);

	if (ret && kfp_is_caller(conn) && (!admitted || kfp_callers_make_room(conn))) {
		atomic_long_add(bytes, conn->payer->bytes);
		ret = 0;
	}
	if (!ret)
		conn->paid += bytes;
	return ret;
}

/* @conn is admitted, and its peer is known: it may have to give way to others. */
void kfp_callers_add(struct kfp_conn *conn)
{
	if (!kfp_is_caller(conn) || !conn->account)
		return;
	spin_lock_bh(&callers_lock);
	list_add_tail(&conn->caller, &callers);
	spin_unlock_bh(&callers_lock);
}

/* The connection has ended; it still has its account. No caller compares it any more. */
void kfp_callers_remove(struct kfp_conn *conn)
{
	spin_lock_bh(&callers_lock);
	list_del_init(&conn->caller);
	spin_unlock_bh(&callers_lock);
}

/* The buffers of the connection are free: uncharge them. */
void kfp_conn_unpay(struct kfp_conn *conn)
{
	kfi_account_uncharge(conn->payer, conn->paid);
	conn->payer = NULL;
	conn->paid = 0;
	spin_lock_bh(&callers_lock);
	callers_leaving -= conn->leaving;
	conn->leaving = false;
	spin_unlock_bh(&callers_lock);
}
