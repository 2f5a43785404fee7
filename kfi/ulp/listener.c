// SPDX-License-Identifier: GPL-2.0
/*
 * listener.c - accepts connections, limits those without a login, and releases them.
 *
 * Several providers may serve an address (TCP and RDMA on the same interface), and an address may
 * cover several (0.0.0.0, ::, the name of an interface). A listener has a place for each answer of
 * the providers: for each address that exists when it is opened, or for a wildcard of a provider
 * that serves later addresses by it, too.
 *
 * Any host can make a connection. Until the ULP says that its peer has logged in, little memory is
 * allocated for it, but the endpoint has pools for the size that the peer has announced. So a
 * listener limits the sum of the announced sizes, not the number of connections. A host that makes
 * connections and is silent must not lock out others: at the limit a new connection is not refused,
 * the oldest ones without a login end. If one source has more than half of the limit, its own ones
 * end: so a source can't end those of others, but one that is alone has the whole limit. A source
 * is an IPv4 address, or an IPv6 network of 64 bits; peers with other addresses, such as ends of
 * bridges and cables, are one source. Releases take time, so as much again is permitted for
 * connections in release.
 */
#include <linux/slab.h>
#include <linux/string.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include "ulp.h"

#define PLACE_TEXT	64	/* bytes of an address as text */

/**
 * struct place - a passive endpoint
 * @entry: in &kfi_listener.places
 * @l: listener
 * @fab: its fabric, held
 * @eq: connection requests
 * @lock: held while a request is answered, and while @pep is closed: the close fails with -EBUSY if
 *	a request was read and not answered yet
 * @pep: endpoint
 * @node: what it listens at, if that is no IP address
 */
struct place {
	struct list_head	entry;
	struct kfi_listener	*l;
	struct kfi_fab		*fab;
	struct kfid_eq		*eq;
	struct mutex		lock;
	struct kfid_pep		*pep;
	char			node[PLACE_TEXT];
};

static unsigned int conn_cost(const struct kfi_conn *conn)
{
	return conn->attr.depth + conn->attr.spare;
}

/* ---- connections without a login ---- */

static void conn_source(struct kfi_conn *conn, const struct kfi_info *info)
{
	const struct sockaddr_in6 *in6 = info->dest_addr;
	const struct sockaddr_in *in = info->dest_addr;

	if (info->addr_format == KFI_SOCKADDR_IN)
		ipv6_addr_set_v4mapped(in->sin_addr.s_addr, &conn->source);
	else if (info->addr_format == KFI_SOCKADDR_IN6)
		ipv6_addr_prefix(&conn->source, &in6->sin6_addr, 64);
}

/* End the oldest connections until @new has its place below the limit. */
static void make_room(struct kfi_listener *l, const struct kfi_conn *new)
{
	unsigned int all = conn_cost(new), own = all;
	struct kfi_conn *conn, *next;
	bool same;

	lockdep_assert_held(&l->lock);
	list_for_each_entry(conn, &l->waiting, waiting) {
		all += conn_cost(conn);
		own += ipv6_addr_equal(&conn->source, &new->source) ? conn_cost(conn) : 0;
	}
	list_for_each_entry_safe(conn, next, &l->waiting, waiting) {
		if (all <= l->max_unready)
			return;
		same = ipv6_addr_equal(&conn->source, &new->source);
		if (own > l->max_unready / 2 && !same)
			continue;
		all -= conn_cost(conn);
		list_del_init(&conn->waiting);
		kfi_conn_fail(conn, -EBUSY);
	}
}

/* Enter the connection into the lists. Return: false if too many are being released. */
static bool conn_enter(struct kfi_conn *conn)
{
	struct kfi_listener *l = conn->listener;
	bool ok = true;

	spin_lock_bh(&l->lock);
	if (conn->attr.first && l->max_unready) {
		ok = l->unready + conn_cost(conn) <= 2 * l->max_unready;
		if (ok)
			make_room(l, conn);
	}
	if (ok) {
		if (conn->attr.first) {
			l->unready += conn_cost(conn);
			set_bit(KFI_CONN_COUNTED, &conn->flags);
			list_add_tail(&conn->waiting, &l->waiting);
		}
		list_add_tail(&conn->entry, &l->conns);
		l->alive++;
	}
	spin_unlock_bh(&l->lock);
	return ok;
}

static void uncount(struct kfi_conn *conn)
{
	lockdep_assert_held(&conn->listener->lock);
	if (test_and_clear_bit(KFI_CONN_COUNTED, &conn->flags))
		conn->listener->unready -= conn_cost(conn);
	list_del_init(&conn->waiting);
}

/*
 * The lock is held to the end: kfi_listener_wait() takes it before its caller frees the listener.
 */
void kfi_conn_gone(struct kfi_conn *conn)
{
	struct kfi_listener *l = conn->listener;

	spin_lock_bh(&l->lock);
	list_del_init(&conn->entry);
	uncount(conn);
	if (!--l->alive)
		wake_up_all(&l->gone);
	spin_unlock_bh(&l->lock);
}

void kfi_conn_ready_work(struct work_struct *work)
{
	struct kfi_conn *conn = container_of(to_delayed_work(work), struct kfi_conn, ready_work);

	if (test_bit(KFI_CONN_COUNTED, &conn->flags))
		kfi_conn_fail(conn, -ETIMEDOUT);
}

int kfi_conn_ready(struct kfi_conn *conn)
{
	unsigned int n = conn_cost(conn) - conn->attr.first;
	struct kfi_listener *l = conn->listener;
	bool waiting;
	int ret;

	spin_lock_bh(&l->lock);
	waiting = !list_empty(&conn->waiting);
	if (waiting)
		uncount(conn);
	spin_unlock_bh(&l->lock);
	if (!waiting)
		return -ECONNABORTED;	/* it has been ended to make room */
	ret = kfi_rxset_alloc(conn, &conn->rx[1], n);
	if (!ret) {
		/* a stop waits for this section; each receive is posted in one of its own */
		rcu_read_lock();
		if (test_bit(KFI_CONN_OPEN, &conn->flags))
			ret = kfi_rxset_post(conn, &conn->rx[1]);
		rcu_read_unlock();
	}
	if (ret)
		kfi_conn_fail(conn, ret);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_conn_ready);

/* ---- acceptance and release ---- */

/* As kfi_conn_stop(), but the endpoint is of no use any more. */
void kfi_conn_end_work(struct work_struct *work)
{
	struct kfi_conn *conn = container_of(work, struct kfi_conn, end_work);
	struct kfi_listener *l = conn->listener;

	spin_lock_bh(&l->lock);
	list_del_init(&conn->entry);
	list_del_init(&conn->waiting);
	spin_unlock_bh(&l->lock);
	cancel_delayed_work_sync(&conn->ready_work);
	clear_bit(KFI_CONN_OPEN, &conn->flags);
	synchronize_rcu();
	if (conn->ops->ending)
		conn->ops->ending(conn);
	mutex_lock(&conn->lock);
	WARN_ON(kfi_close(&conn->ep->fid));
	conn->ep = NULL;
	mutex_unlock(&conn->lock);
	kfi_conn_drain(conn);
	conn->ops->release(conn);
}

int kfi_conn_accept(struct kfi_conn *conn, struct kfi_caller *caller,
		    const struct kfi_conn_attr *attr, const void *data, size_t len)
{
	struct kfi_listener *l = caller->listener;
	struct kfi_dom *dom;
	int ret;

	conn->listener = l;
	conn->attr = *attr;
	conn_source(conn, caller->info);
	if (!conn_enter(conn))
		return -EBUSY;
	dom = kfi_dom_get(l->net, caller->info, l->owner);
	ret = PTR_ERR_OR_ZERO(dom) ?: kfi_conn_objects(conn, dom, caller->info, attr);
	if (!IS_ERR(dom))
		kfi_dom_put(dom);
	if (ret)
		goto close;
	set_bit(KFI_CONN_OPEN, &conn->flags);
	ret = kfi_rxset_post(conn, &conn->rx[0]);
	if (ret)
		goto close;
	if (attr->first && l->ready_ms)
		queue_delayed_work(conn->ops->end_wq, &conn->ready_work,
				   msecs_to_jiffies(l->ready_ms));
	ret = kfi_accept(conn->ep, data, len);
	if (ret)
		kfi_conn_fail(conn, ret);
	kfi_conn_live(conn);	/* may release the connection */
	return 0;

close:
	/* Its lock is not taken: those who close events hold it, and here an event is handled. */
	clear_bit(KFI_CONN_OPEN, &conn->flags);
	kfi_conn_discard(conn);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_conn_accept);

void kfi_conn_reject(struct kfi_caller *caller, const void *data, size_t len)
{
	struct place *place = caller->place;

	kfi_reject(place->pep, caller->info->handle, data, len);
}
EXPORT_SYMBOL_GPL(kfi_conn_reject);

/* ---- places ---- */

/* @info: with the address of @place, or with that at which a caller has called it */
static void place_text(const struct place *place, const struct kfi_info *info, char *text)
{
	if (info->addr_format == KFI_SOCKADDR_IN || info->addr_format == KFI_SOCKADDR_IN6)
		snprintf(text, PLACE_TEXT, "%pISc", info->src_addr);
	else
		strscpy(text, place->node, PLACE_TEXT);
}

static void place_call(struct place *place, const struct kfi_event *ev)
{
	char at[PLACE_TEXT];
	struct kfi_caller caller = {
		.listener = place->l, .info = ev->info, .data = ev->data, .len = ev->len,
		.at = at, .place = place,
	};

	place_text(place, ev->info, at);
	mutex_lock(&place->lock);
	/* A request that was answered can't be refused any more. */
	if (place->pep && place->l->called(&caller) < 0)
		kfi_conn_reject(&caller, NULL, 0);
	mutex_unlock(&place->lock);
	kfi_freeinfo(ev->info);
}

static void place_event(struct kfid_eq *eq, void *context)
{
	struct kfi_event ev;

	while (kfi_eq_next(eq, &ev))
		if (ev.info)
			place_call(context, &ev);
}

static void place_close(struct place *place)
{
	mutex_lock(&place->lock);
	if (place->pep)
		WARN_ON(kfi_close(&place->pep->fid));
	place->pep = NULL;
	mutex_unlock(&place->lock);
	if (place->eq)
		WARN_ON(kfi_close(&place->eq->fid));
	kfi_fab_put(place->fab);
	kfree(place);
}

static int place_listen(struct place *place, struct kfi_info *info)
{
	struct kfid_fabric *fabric = place->fab->fabric;

	return kfi_eq_open(fabric, NULL, &place->eq, place_event, place) ?:
	       kfi_passive_ep(fabric, info, &place->pep, place) ?:
	       kfi_pep_bind(place->pep, &place->eq->fid, 0) ?:
	       kfi_conn_option(&place->pep->fid, KFI_OPT_NEED_PRIVILEGE,
			       place->l->need_privilege) ?:
	       kfi_listen(place->pep);
}

static int place_open(struct kfi_listener *l, struct kfi_info *info, const char *node)
{
	struct place *place = kzalloc(sizeof(*place), GFP_KERNEL);
	char at[PLACE_TEXT];
	int ret;

	if (!place)
		return -ENOMEM;
	mutex_init(&place->lock);
	place->l = l;
	strscpy(place->node, node ?: "*", sizeof(place->node));
	place_text(place, info, at);
	place->fab = kfi_fab_get(l->net, info, l->owner);
	if (IS_ERR(place->fab)) {
		ret = PTR_ERR(place->fab);
		kfree(place);
		return ret;
	}
	ret = place_listen(place, info);
	if (ret) {
		pr_warn("%s: can't listen at %s over %s (%d)\n", module_name(l->owner), at,
			info->fabric_attr->prov_name, ret);
		place_close(place);
		return ret;
	}
	list_add_tail(&place->entry, &l->places);
	pr_info("%s: listens at %s over %s\n", module_name(l->owner), at,
		info->fabric_attr->prov_name);
	return 0;
}

int kfi_listener_open(struct kfi_listener *l, struct net *net, const struct kfi_need *need,
		      const char *node, const char *service, struct module *owner)
{
	struct kfi_info *infos, *info;
	int ret, err;

	INIT_LIST_HEAD(&l->places);
	INIT_LIST_HEAD(&l->conns);
	INIT_LIST_HEAD(&l->waiting);
	spin_lock_init(&l->lock);
	init_waitqueue_head(&l->gone);
	l->unready = 0;
	l->alive = 0;
	l->owner = owner;
	ret = kfi_ulp_query(net, need, NULL, node, service, KFI_SOURCE, &infos);
	if (ret)
		return ret;
	l->net = l->weak ? net : get_net_track(net, &l->tracker, GFP_KERNEL);
	ret = -ENODATA;
	for (info = infos; info; info = info->next) {
		err = place_open(l, info, node);
		if (ret)
			ret = err;
	}
	kfi_freeinfo(infos);
	if (ret && !l->weak)
		put_net_track(l->net, &l->tracker);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_listener_open);

void kfi_listener_close(struct kfi_listener *l)
{
	struct place *place, *next;
	struct kfi_conn *conn;

	list_for_each_entry_safe(place, next, &l->places, entry) {
		list_del(&place->entry);
		place_close(place);
	}
	spin_lock_bh(&l->lock);
	list_for_each_entry(conn, &l->conns, entry)
		kfi_conn_fail(conn, -ESHUTDOWN);
	spin_unlock_bh(&l->lock);
	if (!l->weak)
		put_net_track(l->net, &l->tracker);
}
EXPORT_SYMBOL_GPL(kfi_listener_close);

void kfi_listener_wait(struct kfi_listener *l)
{
	wait_event(l->gone, !READ_ONCE(l->alive));
	spin_lock_bh(&l->lock);	/* kfi_conn_gone() has left it */
	spin_unlock_bh(&l->lock);
}
EXPORT_SYMBOL_GPL(kfi_listener_wait);
