// SPDX-License-Identifier: GPL-2.0
/*
 * fabric.c - what devices share: the fabric below them, and the endpoints that peers reach.
 *
 * A fabric is that of a namespace, or of a way. A *place* is a passive endpoint, for the
 * connections of queue pairs (pair.c), at all addresses that an interface has or will have, of one
 * family, or at a way. Packets have an endpoint at each GID, or one at a way (talk.c).
 *
 * The GIDs of a device are the addresses of its interface and of the VLANs above it. rdma_cm may
 * choose the device of a VLAN for an address of the interface below. So there are places at all of
 * these interfaces, and what arrives there may be for a queue pair of any device of the fabric.
 * Numbers of queue pairs are therefore those of the module.
 */
#include <linux/if_vlan.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <net/ipv6.h>
#include "kib.h"

static LIST_HEAD(kib_fabrics);
static DEFINE_SPINLOCK(kib_fabrics_lock);	/* may be taken under the RTNL, or in softirq */

/* ---- related interfaces ---- */

/* May rdma_cm choose the device of one of them for an address of the other one? */
static bool netdevs_relate(const struct net_device *a, const struct net_device *b)
{
	return a == b || (is_vlan_dev(a) && vlan_dev_real_dev(a) == b) ||
	       (is_vlan_dev(b) && vlan_dev_real_dev(b) == a);
}

/* Return: the interface if the device serves it, or NULL. Context: RCU read section */
static struct net_device *served_netdev(struct kib_dev *dev, int ifindex)
{
	struct net *net = READ_ONCE(dev->net);
	struct net_device *netdev = net ? dev_get_by_index_rcu(net, ifindex) : NULL;

	return netdev && netdevs_relate(netdev, dev->netdev) ? netdev : NULL;
}

/* Does the device serve the interface? Context: RCU read section */
bool kib_dev_serves(struct kib_dev *dev, int ifindex)
{
	return served_netdev(dev, ifindex);
}

/* Store the name of an interface that the device serves. Return: whether it is one */
bool kib_dev_ifname(struct kib_dev *dev, int ifindex, char *name)
{
	const struct net_device *netdev;

	rcu_read_lock();
	netdev = served_netdev(dev, ifindex);
	if (netdev)
		strscpy(name, netdev->name, IFNAMSIZ);
	rcu_read_unlock();
	return netdev;
}

/* ---- places ---- */

/* The passive endpoint is in use while one of its calls is being accepted. */
static void place_close(struct kib_fabric *fabric, struct kib_place *place)
{
	lockdep_assert_held(&fabric->places_lock);
	list_del_rcu(&place->entry);
	synchronize_rcu_expedited();	/* for called() */
	while (place->pep && kfi_close(&place->pep->fid) == -EBUSY)
		wait_var_event(&fabric->accepts, !atomic_read(&fabric->accepts));
	kfree(place);
}

static void talk_close(struct kib_fabric *fabric, struct kib_talk *talk)
{
	lockdep_assert_held(&fabric->places_lock);
	list_del_rcu(&talk->entry);
	synchronize_rcu_expedited();	/* for kib_packet_send() */
	kib_talk_close(talk);
}

static int place_open(struct kib_dev *dev, struct kfi_info *info, const char *ifname, int ifindex)
{
	struct kib_fabric *fabric = dev->fabric;
	struct kib_place *place = kzalloc(sizeof(*place), GFP_KERNEL);
	int ret;

	if (!place)
		return -ENOMEM;
	strscpy(place->ifname, ifname, sizeof(place->ifname));
	place->dev = dev;
	place->ifindex = ifindex;
	place->format = info->addr_format;
	ret = kfi_passive_ep(fabric->fabric, info, &place->pep, NULL);
	list_add_tail_rcu(&place->entry, &fabric->places);	/* kfi_listen() lets calls come */
	ret = ret ?: kfi_pep_bind(place->pep, &fabric->eq->fid, 0) ?: kfi_listen(place->pep);
	if (ret)
		place_close(fabric, place);
	return ret;
}

static bool place_exists(struct kib_fabric *fabric, const struct kfi_info *info, int ifindex)
{
	struct kib_place *place;

	list_for_each_entry(place, &fabric->places, entry)
		if (place->ifindex == ifindex && place->format == info->addr_format)
			return true;
	return false;
}

/* Open what an interface lacks. Other devices may want the same. */
static int places_open(struct kib_dev *dev, const char *ifname, int ifindex)
{
	struct kfi_info *list, *info;
	int ret, err = 0;

	ret = kib_find(dev, KFI_EP_MSG, ifname, &list);
	for (info = list; info && !ret; info = info->next)
		if (!place_exists(dev->fabric, info, ifindex))
			err = place_open(dev, info, ifname, ifindex) ?: err;
	kfi_freeinfo(list);
	if (ret && ret != -ENODATA && ret != -ENODEV)
		err = ret;
	return kib_talks_open(dev, ifname, ifindex) ?: err;
}

struct vlans {
	struct xarray		ifindexes;
	struct net_device	*below;
	int			err;
};

static int vlans_add(struct net_device *netdev, struct netdev_nested_priv *priv)
{
	struct vlans *vlans = priv->data;

	if (netdevs_relate(netdev, vlans->below))
		vlans->err = xa_err(xa_store(&vlans->ifindexes, netdev->ifindex, xa_mk_value(0),
					     GFP_ATOMIC));
	return vlans->err;
}

/* The interfaces that the device serves: its own one, that below it, and the VLANs above it */
static int dev_interfaces(struct kib_dev *dev, struct vlans *vlans)
{
	struct netdev_nested_priv priv = { .data = vlans };

	vlans->below = dev->netdev;
	rcu_read_lock();
	vlans_add(dev->netdev, &priv);
	if (is_vlan_dev(dev->netdev) && !vlans->err)
		vlans_add(vlan_dev_real_dev(dev->netdev), &priv);
	if (!vlans->err)
		netdev_walk_all_upper_dev_rcu(dev->netdev, vlans_add, &priv);
	rcu_read_unlock();
	return vlans->err;
}

static int dev_places(struct kib_dev *dev)
{
	struct vlans vlans = {};
	char name[IFNAMSIZ];
	unsigned long ifindex;
	void *entry;
	int ret;

	if (*dev->way)
		return places_open(dev, dev->netdev->name, dev->netdev->ifindex);
	xa_init(&vlans.ifindexes);
	ret = dev_interfaces(dev, &vlans);
	xa_for_each(&vlans.ifindexes, ifindex, entry)
		if (kib_dev_ifname(dev, ifindex, name))
			ret = places_open(dev, name, ifindex) ?: ret;
	xa_destroy(&vlans.ifindexes);
	return ret;
}

/* Does a device serve the interface, and has that the name that it had? */
static bool interface_wanted(struct kib_fabric *fabric, int ifindex, const char *ifname)
{
	char name[IFNAMSIZ];
	struct kib_dev *dev;

	list_for_each_entry(dev, &fabric->devs, fabric_entry)
		if (kib_dev_ifname(dev, ifindex, name))
			return !strcmp(name, ifname);
	return false;
}

/*
 * Close what no device wants, which may be in the way of others, and open what is missing. What is
 * at an address that is no GID any more is closed when all others are known.
 */
static void places_update(struct kib_fabric *fabric)
{
	struct kib_place *place, *next;
	struct kib_talk *talk, *next_talk;
	struct kib_dev *dev;
	unsigned int noio;
	int ret = 0;

	lockdep_assert_held(&fabric->places_lock);
	noio = memalloc_noio_save();	/* reclaim may wait for a call, and that for this lock */
	list_for_each_entry_safe(place, next, &fabric->places, entry)
		if (!interface_wanted(fabric, place->ifindex, place->ifname))
			place_close(fabric, place);
	list_for_each_entry_safe(talk, next_talk, &fabric->talks, entry) {
		talk->wanted = false;
		if (!interface_wanted(fabric, talk->ifindex, talk->ifname))
			talk_close(fabric, talk);
	}
	list_for_each_entry(dev, &fabric->devs, fabric_entry)
		if (READ_ONCE(dev->registered))
			ret = dev_places(dev) ?: ret;
	if (ret)	/* another socket has the port, or memory is short */
		queue_delayed_work(system_long_wq, &fabric->places_work, HZ);
	else
		list_for_each_entry_safe(talk, next_talk, &fabric->talks, entry)
			if (!talk->wanted)
				talk_close(fabric, talk);
	memalloc_noio_restore(noio);
}

/* A device has been registered, and has GIDs. Process context */
void kib_places_now(struct kib_fabric *fabric)
{
	mutex_lock(&fabric->places_lock);
	places_update(fabric);
	mutex_unlock(&fabric->places_lock);
}

static void places_work(struct work_struct *work)
{
	kib_places_now(container_of(to_delayed_work(work), struct kib_fabric, places_work));
}

/* Interfaces or GIDs have changed. Context: any */
void kib_places_changed(struct kib_fabric *fabric)
{
	mod_delayed_work(system_long_wq, &fabric->places_work, 0);
}

/* In the namespace an interface has another name, or a VLAN or an address has come or gone. */
void kib_fabrics_changed(const struct net *net)
{
	struct kib_fabric *fabric;

	spin_lock_bh(&kib_fabrics_lock);
	list_for_each_entry(fabric, &kib_fabrics, entry)
		if (fabric->cookie == net->net_cookie)
			kib_places_changed(fabric);
	spin_unlock_bh(&kib_fabrics_lock);
}

/* ---- calls ---- */

/*
 * Refuse a call. The place where it has arrived may be closed, which has refused it then. Another
 * one may have its memory, but has no such call. Process context, without locks
 */
void kib_refuse(struct kib_fabric *fabric, const struct kfid *fid, struct kfi_info *info)
{
	struct kib_place *place;

	mutex_lock(&fabric->places_lock);
	list_for_each_entry(place, &fabric->places, entry)
		if (&place->pep->fid == fid)
			kfi_reject(place->pep, info->handle, NULL, 0);
	mutex_unlock(&fabric->places_lock);
	kfi_freeinfo(info);
}

static void called(struct kib_fabric *fabric, const struct kfi_event *ev)
{
	if (!kib_pair_called(fabric, ev->fid, ev->info, ev->data, ev->len))
		kib_refuse(fabric, ev->fid, ev->info);
}

static void place_event(struct kfid_eq *eq, void *context)
{
	struct kib_fabric *fabric = context;
	struct kfi_event ev;

	while (kfi_eq_next(eq, &ev))
		if (!ev.err && ev.event == KFI_CONNREQ)
			called(fabric, &ev);
}

/* ---- life ---- */

static struct kib_fabric *fabric_new(struct kib_dev *dev, struct net *net)
{
	struct kib_fabric *fabric = kzalloc(sizeof(*fabric), GFP_KERNEL);
	int ret;

	if (!fabric)
		return ERR_PTR(-ENOMEM);
	refcount_set(&fabric->refs, 1);
	fabric->cookie = net->net_cookie;
	strscpy(fabric->way, dev->way, sizeof(fabric->way));
	mutex_init(&fabric->places_lock);
	INIT_LIST_HEAD(&fabric->devs);
	INIT_LIST_HEAD(&fabric->places);
	INIT_LIST_HEAD(&fabric->talks);
	INIT_DELAYED_WORK(&fabric->places_work, places_work);
	ret = kfi_fabric_net(net, dev->info->fabric_attr, &fabric->fabric, fabric);
	if (ret)
		goto free;
	ret = kfi_eq_open(fabric->fabric, NULL, &fabric->eq, place_event, fabric);
	if (!ret)
		return fabric;
	WARN_ON(kfi_close(&fabric->fabric->fid));
free:
	kfree(fabric);
	return ERR_PTR(ret);
}

/* No device is left, so no place is wanted. */
static void fabric_free(struct kib_fabric *fabric)
{
	cancel_delayed_work_sync(&fabric->places_work);
	mutex_lock(&fabric->places_lock);
	places_update(fabric);
	mutex_unlock(&fabric->places_lock);
	WARN_ON(!list_empty(&fabric->places) || !list_empty(&fabric->talks));
	WARN_ON(kfi_close(&fabric->eq->fid));
	WARN_ON(kfi_close(&fabric->fabric->fid));
	mutex_destroy(&fabric->places_lock);
	kfree(fabric);
}

/*
 * Take a reference of the fabric that the device needs. Without one, let @new be it. A namespace
 * that goes may still have devices when another one gets its memory, so its cookie is compared.
 */
static struct kib_fabric *fabric_take(struct kib_dev *dev, struct net *net, struct kib_fabric *new)
{
	struct kib_fabric *fabric, *found = new;

	spin_lock_bh(&kib_fabrics_lock);
	list_for_each_entry(fabric, &kib_fabrics, entry) {
		if (fabric->cookie != net->net_cookie || strcmp(fabric->way, dev->way))
			continue;
		refcount_inc(&fabric->refs);
		found = fabric;
		break;
	}
	if (new && found == new)
		list_add(&new->entry, &kib_fabrics);
	spin_unlock_bh(&kib_fabrics_lock);
	return found;
}

/* Let the device use its fabric. @net: the namespace in which the provider offers its domains */
int kib_fabric_join(struct kib_dev *dev, struct net *net)
{
	struct kib_fabric *fabric = fabric_take(dev, net, NULL), *new;

	if (!fabric) {
		new = fabric_new(dev, net);
		if (IS_ERR(new))
			return PTR_ERR(new);
		fabric = fabric_take(dev, net, new);
		if (fabric != new)
			fabric_free(new);
	}
	dev->fabric = fabric;
	mutex_lock(&fabric->places_lock);
	list_add_tail_rcu(&dev->fabric_entry, &fabric->devs);
	mutex_unlock(&fabric->places_lock);
	return 0;
}

/* No object of the device is left. Its places go; a device that needs them opens them again. */
void kib_fabric_leave(struct kib_dev *dev)
{
	struct kib_fabric *fabric = dev->fabric;
	struct kib_place *place, *next;
	struct kib_talk *talk, *next_talk;
	bool last;

	mutex_lock(&fabric->places_lock);
	list_del_rcu(&dev->fabric_entry);
	synchronize_rcu_expedited();	/* for kib_qp_find() and kib_local_ifindex() */
	list_for_each_entry_safe(place, next, &fabric->places, entry)
		if (place->dev == dev)
			place_close(fabric, place);
	list_for_each_entry_safe(talk, next_talk, &fabric->talks, entry)
		if (talk->dev == dev)
			talk_close(fabric, talk);
	places_update(fabric);
	mutex_unlock(&fabric->places_lock);
	local_bh_disable();
	last = refcount_dec_and_lock(&fabric->refs, &kib_fabrics_lock);
	if (last) {
		list_del(&fabric->entry);
		spin_unlock(&kib_fabrics_lock);
	}
	local_bh_enable();
	if (last)
		fabric_free(fabric);
}
