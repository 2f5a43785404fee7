// SPDX-License-Identifier: GPL-2.0
/*
 * listener.c - accepts connections, limits those without a login, and releases them.
 *
 * Several providers may serve an address (TCP and RDMA on the same interface), and an address may
 * cover several (0.0.0.0, ::, the name of an interface). A listener has a place for each answer of
 * the providers: for each address that exists when it is opened, or for a wildcard of a provider
 * that serves later addresses by it, too.
 *
 * A place whose device goes listens again when a provider offers the address again, by whatever
 * device. &kfi_listener.again looks for that when kfi.ko reports a device, when an interface comes
 * or gets an address, and every few seconds while a place is missing.
 *
 * A listener with &kfi_listener.wait follows the answers: it opens a place for each new one, so it
 * need not have a place when it is opened, and closes the place of an address that no provider has
 * offered for ten seconds, so that addresses which change, as those that a router announces, do not
 * add up. It looks some more times after each event, because an RDMA device may have the addresses
 * of its interface later than the interface has them, and because one query may fail for want of
 * memory.
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
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <linux/ratelimit.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include "ulp.h"

#define PLACE_TEXT	64		/* bytes of an address as text */
#define PLACE_AGAIN	(5 * HZ)	/* between attempts to listen again */
#define PLACE_LOOKS	3		/* after an event */
#define PLACE_GONE	(10 * HZ)	/* an address that no look finds for so long has gone */

/**
 * struct place - a passive endpoint
 * @entry: in &kfi_listener.places
 * @l: listener
 * @info: the answer of the provider for which it was opened
 * @fab: its fabric, held; also while there is no endpoint
 * @eq: connection requests
 * @lock: held while a request is answered, and while @pep is closed: the close fails with -EBUSY if
 *	a request was read and not answered yet
 * @pep: endpoint; NULL: it does not listen
 * @lost: the device of @pep has gone
 * @told: the log has that it does not listen
 * @unseen: the last look of &kfi_listener.wait has found no answer for it
 * @since: the first such look in succession, in jiffies
 * @node: what it listens at, if that is no IP address
 *
 * The opening of the listener, then &kfi_listener.again, then the close use the endpoint. @lost is
 * set by the handler of @eq, and cleared while there is no queue.
 */
struct place {
	struct list_head	entry;
	struct kfi_listener	*l;
	struct kfi_info		*info;
	struct kfi_fab		*fab;
	struct kfid_eq		*eq;
	struct mutex		lock;
	struct kfid_pep		*pep;
	bool			lost, told, unseen;
	unsigned long		since;
	char			node[PLACE_TEXT];
};

static LIST_HEAD(listeners);
/* Protects @listeners and &kfi_listener.looks. The locks of timers and work queues are inside. */
static DEFINE_SPINLOCK(listeners_lock);

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
	dom = kfi_dom_get_paid(l->net, caller->info, l->owner, attr->account);
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

static void look(struct kfi_listener *l)
{
	lockdep_assert_held(&listeners_lock);
	l->looks = l->wait ? PLACE_LOOKS : 0;
	mod_delayed_work(system_long_wq, &l->again, 0);
}

/* Let the listener look for lost places, unless it is being closed. */
static void listener_look(struct kfi_listener *l)
{
	spin_lock_bh(&listeners_lock);
	if (!list_empty(&l->entry))
		look(l);
	spin_unlock_bh(&listeners_lock);
}

static void place_event(struct kfid_eq *eq, void *context)
{
	struct place *place = context;
	struct kfi_event ev;

	while (kfi_eq_next(eq, &ev)) {
		if (ev.info)
			place_call(place, &ev);
		if (ev.err != -ENODEV)
			continue;
		WRITE_ONCE(place->lost, true);
		listener_look(place->l);
	}
}

static void place_stop(struct place *place)
{
	mutex_lock(&place->lock);
	if (place->pep)
		WARN_ON(kfi_close(&place->pep->fid));
	place->pep = NULL;
	mutex_unlock(&place->lock);
	if (place->eq)
		WARN_ON(kfi_close(&place->eq->fid));
	place->eq = NULL;
	place->lost = false;
}

static void place_free(struct place *place)
{
	place_stop(place);
	list_del(&place->entry);
	if (place->fab)
		kfi_fab_put(place->fab);
	kfi_freeinfo(place->info);
	kfree(place);
}

/* @info: @place->info, or an answer for the same address */
static int place_objects(struct place *place, struct kfi_info *info)
{
	struct kfi_fab *fab = kfi_fab_get(place->l->net, info, place->l->owner,
					  place->l->account);

	if (IS_ERR(fab))
		return PTR_ERR(fab);
	if (place->fab)
		kfi_fab_put(place->fab);
	place->fab = fab;
	return kfi_eq_open(fab->fabric, NULL, &place->eq, place_event, place) ?:
	       kfi_passive_ep(fab->fabric, info, &place->pep, place) ?:
	       kfi_pep_bind(place->pep, &place->eq->fid, 0) ?:
	       kfi_conn_option(&place->pep->fid, KFI_OPT_NEED_PRIVILEGE,
			       place->l->need_privilege) ?:
	       kfi_listen(place->pep);
}

/*
 * The administrator of another namespace may be anybody, and the log is that of the machine. In its
 * own namespace a router that announces more and more addresses may be anybody.
 */
static bool may_log(const struct kfi_listener *l)
{
	static DEFINE_RATELIMIT_STATE(own, DEFAULT_RATELIMIT_INTERVAL, 100);
	static DEFINE_RATELIMIT_STATE(others, DEFAULT_RATELIMIT_INTERVAL, DEFAULT_RATELIMIT_BURST);

	return __ratelimit(net_eq(l->net, &init_net) ? &own : &others);
}

static int place_listen(struct place *place, struct kfi_info *info)
{
	const char *module = module_name(place->l->owner);
	int ret = place_objects(place, info);
	char at[PLACE_TEXT];

	place_text(place, info, at);
	if (!ret && may_log(place->l))
		pr_info("%s: listens at %s over %s\n", module, at, info->fabric_attr->prov_name);
	else if (ret && !place->told && may_log(place->l))
		pr_warn("%s: can't listen at %s over %s (%d)\n", module, at,
			info->fabric_attr->prov_name, ret);
	place->told = ret;
	if (ret)
		place_stop(place);
	return ret;
}

static struct place *place_new(struct kfi_listener *l, const struct kfi_info *info)
{
	struct place *place = kzalloc(sizeof(*place), GFP_KERNEL_ACCOUNT);

	if (!place)
		return NULL;
	place->info = kfi_dupinfo(info);
	if (!place->info) {
		kfree(place);
		return NULL;
	}
	mutex_init(&place->lock);
	place->l = l;
	strscpy(place->node, l->node ?: "*", sizeof(place->node));
	list_add_tail(&place->entry, &l->places);
	return place;
}

static int place_open(struct kfi_listener *l, struct kfi_info *info)
{
	struct place *place = place_new(l, info);
	int ret = place ? place_listen(place, info) : -ENOMEM;

	if (ret && place)
		place_free(place);
	return ret;
}

/* ---- places that are lost ---- */

/*
 * Is it an answer for the address of the place? A device may have another name when it comes back,
 * but not a way, which has no address of its own.
 */
static bool place_is_at(const struct place *place, const struct kfi_info *info)
{
	const struct kfi_info *old = place->info;
	bool ip = old->addr_format == KFI_SOCKADDR_IN || old->addr_format == KFI_SOCKADDR_IN6;

	return !strcmp(old->fabric_attr->prov_name, info->fabric_attr->prov_name) &&
	       old->addr_format == info->addr_format && old->src_addrlen == info->src_addrlen &&
	       !memcmp(old->src_addr, info->src_addr, info->src_addrlen) &&
	       (ip || !strcmp(old->domain_attr->name, info->domain_attr->name));
}

static void place_lost(struct place *place)
{
	char at[PLACE_TEXT];

	place_stop(place);
	place_text(place, place->info, at);
	if (may_log(place->l))
		pr_info("%s: does not listen at %s over %s until its device is there again\n",
			module_name(place->l->owner), at, place->info->fabric_attr->prov_name);
	place->told = false;	/* the log shall have why it does not listen then */
}

static void place_again(struct place *place, struct kfi_info *infos)
{
	struct kfi_info *info;

	for (info = infos; info && !place->pep; info = info->next)
		if (place_is_at(place, info))
			place_listen(place, info);
}

/*
 * Open a place for each answer that has none. A place that fails stays in the list, and is tried
 * again like one that was lost. Return: was each answer entered?
 */
static bool places_add(struct kfi_listener *l, struct kfi_info *infos)
{
	struct kfi_info *info;
	struct place *place;
	bool all = true, known;

	for (info = infos; info; info = info->next) {
		known = false;
		list_for_each_entry(place, &l->places, entry)
			known |= place_is_at(place, info);
		if (known)
			continue;
		place = place_new(l, info);
		if (place)
			place_listen(place, info);
		else
			all = false;
	}
	return all;
}

/*
 * Close the places of addresses that have gone for good. Events may make looks follow each other at
 * once, so time decides. Return: is there a place whose address may have gone?
 */
static bool places_drop(struct kfi_listener *l, const struct kfi_info *infos)
{
	struct place *place, *next;
	const struct kfi_info *info;
	char at[PLACE_TEXT];
	bool doubt = false;

	list_for_each_entry_safe(place, next, &l->places, entry) {
		for (info = infos; info && !place_is_at(place, info); info = info->next)
			;
		if (!info && !place->unseen)
			place->since = jiffies;
		place->unseen = !info;
		if (!place->unseen)
			continue;
		if (time_before(jiffies, place->since + PLACE_GONE)) {
			doubt = true;
			continue;
		}
		place_text(place, place->info, at);
		if (place->pep && may_log(l))
			pr_info("%s: listens at %s over %s no more: the address has gone\n",
				module_name(l->owner), at, place->info->fabric_attr->prov_name);
		place_free(place);
	}
	return doubt;
}

/* A provider whose module the administrator has removed is not loaded by a look. */
static int listener_query(struct kfi_listener *l, struct net *net, struct kfi_info **infos)
{
	unsigned int noio = memalloc_noio_save();
	int ret = kfi_ulp_query(net, &l->need, NULL, l->node, l->service, KFI_SOURCE, infos);

	memalloc_noio_restore(noio);
	return ret;
}

static void look_again(struct kfi_listener *l, bool missing)
{
	spin_lock_bh(&listeners_lock);
	l->looks -= !!l->looks;
	if (missing || l->looks)
		queue_delayed_work(system_long_wq, &l->again, PLACE_AGAIN);
	spin_unlock_bh(&listeners_lock);
}

/* The namespace of a weak listener may be ending: then no object is opened in it. */
static void listener_again(struct work_struct *work)
{
	struct kfi_listener *l = container_of(to_delayed_work(work), struct kfi_listener, again);
	struct net *net = maybe_get_net(l->net);
	struct kfi_info *infos = NULL;
	bool missing = l->wait;
	struct place *place;
	int ret = 0;

	if (!net)
		return;
	list_for_each_entry(place, &l->places, entry) {
		if (READ_ONCE(place->lost))
			place_lost(place);
		missing |= !place->pep;
	}
	if (missing)
		ret = listener_query(l, net, &infos);
	if (ret)
		infos = NULL;
	missing = ret && ret != -ENODATA;
	if (l->wait && !missing) {
		missing = places_drop(l, infos);
		missing |= !places_add(l, infos) || list_empty(&l->places);
	}
	list_for_each_entry(place, &l->places, entry) {
		place_again(place, infos);
		missing |= !place->pep;
	}
	kfi_freeinfo(infos);
	put_net(net);
	look_again(l, missing);
}

/* @net: of the event, or NULL: that of a device is not known */
static void listeners_look(const struct net *net)
{
	struct kfi_listener *l;

	spin_lock_bh(&listeners_lock);
	list_for_each_entry(l, &listeners, entry)
		if (!net || net_eq(l->net, net))
			look(l);
	spin_unlock_bh(&listeners_lock);
}

static int devices_event(struct notifier_block *nb, unsigned long event, void *data)
{
	listeners_look(NULL);
	return NOTIFY_DONE;
}

/* Context: under the RTNL */
static int netdev_event(struct notifier_block *nb, unsigned long event, void *data)
{
	if (event == NETDEV_UP || event == NETDEV_CHANGENAME)
		listeners_look(dev_net(netdev_notifier_info_to_dev(data)));
	return NOTIFY_DONE;
}

/* Context: under the RTNL */
static int inetaddr_event(struct notifier_block *nb, unsigned long event, void *data)
{
	const struct in_ifaddr *ifa = data;

	if (event == NETDEV_UP)
		listeners_look(dev_net(ifa->ifa_dev->dev));
	return NOTIFY_DONE;
}

/* Context: process, or softirq */
static int inet6addr_event(struct notifier_block *nb, unsigned long event, void *data)
{
	const struct inet6_ifaddr *ifa = data;

	if (event == NETDEV_UP)
		listeners_look(dev_net(ifa->idev->dev));
	return NOTIFY_DONE;
}

static struct notifier_block devices_nb = { .notifier_call = devices_event };
static struct notifier_block netdev_nb = { .notifier_call = netdev_event };
static struct notifier_block inetaddr_nb = { .notifier_call = inetaddr_event };
static struct notifier_block inet6addr_nb = { .notifier_call = inet6addr_event };

int kfi_listeners_init(void)
{
	int ret = register_netdevice_notifier(&netdev_nb);

	if (ret)
		return ret;
	register_inetaddr_notifier(&inetaddr_nb);
	register_inet6addr_notifier(&inet6addr_nb);
	kfi_register_devices_notifier(&devices_nb);
	return 0;
}

void kfi_listeners_exit(void)
{
	kfi_unregister_devices_notifier(&devices_nb);
	unregister_inet6addr_notifier(&inet6addr_nb);
	unregister_inetaddr_notifier(&inetaddr_nb);
	unregister_netdevice_notifier(&netdev_nb);
}

/* ---- open and close ---- */

static void say_wait(const struct kfi_listener *l)
{
	const char *provider = l->need.provider;

	if (may_log(l))
		pr_info("%s: waits at %s, service %s: no device of %s has this address yet\n",
			module_name(l->owner), l->node ?: "*", l->service ?: "*",
			provider && *provider ? provider : "any provider");
}

static void listener_free(struct kfi_listener *l)
{
	kfree(l->need.provider);
	kfree(l->need.device);
	kfree_sensitive(l->need.auth_key);
	kfree(l->node);
	kfree(l->service);
	if (!l->weak)
		put_net_track(l->net, &l->tracker);
}

static bool copy_text(const char **to, const char *from)
{
	*to = kstrdup(from, GFP_KERNEL);
	return *to || !from;
}

/* Copy what places are opened with again. */
static int listener_init(struct kfi_listener *l, struct net *net, const struct kfi_need *need,
			 const char *node, const char *service, struct module *owner)
{
	bool ok;

	INIT_LIST_HEAD(&l->entry);
	INIT_LIST_HEAD(&l->places);
	INIT_LIST_HEAD(&l->conns);
	INIT_LIST_HEAD(&l->waiting);
	INIT_DELAYED_WORK(&l->again, listener_again);
	spin_lock_init(&l->lock);
	init_waitqueue_head(&l->gone);
	l->unready = 0;
	l->alive = 0;
	l->looks = 0;
	l->owner = owner;
	l->net = l->weak ? net : get_net_track(net, &l->tracker, GFP_KERNEL);
	l->need = *need;
	l->need.load = false;
	l->need.auth_key = need->auth_key_size ? kmemdup(need->auth_key, need->auth_key_size,
							 GFP_KERNEL) : NULL;
	ok = l->need.auth_key || !need->auth_key_size;
	ok &= copy_text(&l->need.provider, need->provider);
	ok &= copy_text(&l->need.device, need->device);
	ok &= copy_text(&l->node, node);
	ok &= copy_text(&l->service, service);
	return ok ? 0 : -ENOMEM;
}

int kfi_listener_open(struct kfi_listener *l, struct net *net, const struct kfi_need *need,
		      const char *node, const char *service, struct module *owner)
{
	struct kfi_info *infos, *info;
	int ret, err;

	ret = listener_init(l, net, need, node, service, owner) ?:
	      kfi_ulp_query(net, need, NULL, node, service, KFI_SOURCE, &infos);
	if (ret == -ENODATA && l->wait) {
		ret = kfi_ulp_may_come(net, need, node, service);
		infos = NULL;
	}
	if (ret)
		goto free;
	ret = infos ? -ENODATA : 0;
	for (info = infos; info; info = info->next) {
		err = place_open(l, info);
		if (ret)
			ret = err;
	}
	kfi_freeinfo(infos);
	/* The device has gone since the query, or an IPv6 address is tentative. */
	if (l->wait && (ret == -ENODEV || ret == -EADDRNOTAVAIL))
		ret = 0;
	if (ret)
		goto free;
	if (list_empty(&l->places))
		say_wait(l);
	spin_lock_bh(&listeners_lock);
	list_add(&l->entry, &listeners);
	look(l);	/* devices may have come and gone since the query */
	spin_unlock_bh(&listeners_lock);
	return 0;
free:
	listener_free(l);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_listener_open);

void kfi_listener_close(struct kfi_listener *l)
{
	struct place *place, *next;
	struct kfi_conn *conn;

	spin_lock_bh(&listeners_lock);
	list_del_init(&l->entry);
	spin_unlock_bh(&listeners_lock);
	cancel_delayed_work_sync(&l->again);
	list_for_each_entry_safe(place, next, &l->places, entry)
		place_free(place);
	spin_lock_bh(&l->lock);
	list_for_each_entry(conn, &l->conns, entry)
		kfi_conn_fail(conn, -ESHUTDOWN);
	spin_unlock_bh(&l->lock);
	listener_free(l);
}
EXPORT_SYMBOL_GPL(kfi_listener_close);

void kfi_listener_wait(struct kfi_listener *l)
{
	wait_event(l->gone, !READ_ONCE(l->alive));
	spin_lock_bh(&l->lock);	/* kfi_conn_gone() has left it */
	spin_unlock_bh(&l->lock);
}
EXPORT_SYMBOL_GPL(kfi_listener_wait);
