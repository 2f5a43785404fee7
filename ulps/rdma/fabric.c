// SPDX-License-Identifier: GPL-2.0
/*
 * fabric.c - what devices share: the fabric below them, and its passive endpoints.
 *
 * A fabric is that of a namespace, or of a way. A *place* is a passive endpoint at all addresses
 * that an interface has or will have, of one family, or one at a way.
 *
 * rdma_cm may choose the device of an interface for the address of a VLAN above it, and the device
 * of a VLAN for an address of the interface below. So there are places at all of these interfaces
 * as soon as one of their devices has a listener, and a call that arrives at a place may be for the
 * listener of another device (listen.c).
 */
#include <linux/delay.h>
#include <linux/if_vlan.h>
#include <linux/slab.h>
#include "kib.h"

static LIST_HEAD(kib_fabrics);
static DEFINE_SPINLOCK(kib_fabrics_lock);	/* may be taken under the RTNL */

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

/* It is in use while one of its calls is being accepted. */
static void place_close(struct kib_fabric *fabric, struct kib_place *place)
{
	mutex_lock(&fabric->lock);
	list_del(&place->entry);
	mutex_unlock(&fabric->lock);
	while (kfi_close(&place->pep->fid) == -EBUSY)
		usleep_range(1000, 2000);
	kfree(place);
}

static int place_open(struct kib_fabric *fabric, struct kfi_info *info, const char *ifname,
		      int ifindex)
{
	struct kib_place *place = kzalloc(sizeof(*place), GFP_KERNEL);
	int ret;

	if (!place)
		return -ENOMEM;
	strscpy(place->ifname, ifname, sizeof(place->ifname));
	place->ifindex = ifindex;
	place->format = info->addr_format;
	ret = kfi_passive_ep(fabric->fabric, info, &place->pep, NULL);
	if (ret) {
		kfree(place);
		return ret;
	}
	mutex_lock(&fabric->lock);	/* the first call may come before kfi_listen() returns */
	list_add_tail(&place->entry, &fabric->places);
	mutex_unlock(&fabric->lock);
	ret = kfi_pep_bind(place->pep, &fabric->eq->fid, 0) ?: kfi_listen(place->pep);
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

/* Open the missing places of an interface. Other devices may want the same ones. */
static int places_open(struct kib_dev *dev, const char *ifname, int ifindex)
{
	struct kfi_info *list, *info;
	int ret, err = 0;

	ret = kib_find(dev, ifname, NULL, KFI_SOURCE, &list);
	for (info = list; info; info = info->next)
		if (!place_exists(dev->fabric, info, ifindex))
			err = place_open(dev->fabric, info, ifname, ifindex) ?: err;
	kfi_freeinfo(list);
	return ret && ret != -ENODATA && ret != -ENODEV ? ret : err;
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

	if (!dev->nr_listeners)
		return 0;
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

/* Does a device with listeners serve the interface, and has that the name that it had? */
static bool place_wanted(struct kib_fabric *fabric, const struct kib_place *place)
{
	char name[IFNAMSIZ];
	struct kib_dev *dev;

	list_for_each_entry(dev, &fabric->devs, fabric_entry)
		if (dev->nr_listeners && kib_dev_ifname(dev, place->ifindex, name))
			return !strcmp(name, place->ifname);
	return false;
}

/*
 * Close the places that no device wants, which may be in the way of others, and open those that are
 * missing. Return: 0 or a negative error, for the places of @which. The others are tried again.
 */
int kib_places_update(struct kib_fabric *fabric, const struct kib_dev *which)
{
	struct kib_place *place, *next;
	struct kib_dev *dev;
	int err, ret = 0;

	lockdep_assert_held(&fabric->places_lock);
	list_for_each_entry_safe(place, next, &fabric->places, entry)
		if (!place_wanted(fabric, place))
			place_close(fabric, place);
	list_for_each_entry(dev, &fabric->devs, fabric_entry) {
		err = dev_places(dev);
		if (err)	/* another socket has the port, or memory is short */
			kib_places_later(fabric, HZ);
		if (dev == which)
			ret = err;
	}
	return ret;
}

/* Does the device have a place? */
bool kib_dev_has_place(struct kib_dev *dev)
{
	struct kib_place *place;
	bool has = false;

	lockdep_assert_held(&dev->fabric->places_lock);
	rcu_read_lock();
	list_for_each_entry(place, &dev->fabric->places, entry)
		has |= kib_dev_serves(dev, place->ifindex);
	rcu_read_unlock();
	return has;
}

static void places_work(struct work_struct *work)
{
	struct kib_fabric *fabric = container_of(to_delayed_work(work), struct kib_fabric,
						 places_work);

	mutex_lock(&fabric->places_lock);
	kib_places_update(fabric, NULL);
	mutex_unlock(&fabric->places_lock);
}

void kib_places_later(struct kib_fabric *fabric, unsigned long delay)
{
	queue_delayed_work(system_long_wq, &fabric->places_work, delay);
}

/* An interface has another name, or a VLAN has come or gone in the namespace. */
void kib_fabrics_changed(const struct net *net)
{
	struct kib_fabric *fabric;

	spin_lock(&kib_fabrics_lock);
	list_for_each_entry(fabric, &kib_fabrics, entry)
		if (fabric->cookie == net->net_cookie)
			kib_places_later(fabric, 0);
	spin_unlock(&kib_fabrics_lock);
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
	mutex_init(&fabric->lock);
	INIT_LIST_HEAD(&fabric->devs);
	INIT_LIST_HEAD(&fabric->places);
	INIT_LIST_HEAD(&fabric->listeners);
	INIT_LIST_HEAD(&fabric->calls);
	INIT_DELAYED_WORK(&fabric->places_work, places_work);
	ret = kfi_fabric_net(net, dev->info->fabric_attr, &fabric->fabric, fabric);
	if (ret)
		goto free;
	ret = kfi_eq_open(fabric->fabric, NULL, &fabric->eq, kib_place_event, fabric);
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
	kib_places_update(fabric, NULL);
	mutex_unlock(&fabric->places_lock);
	WARN_ON(!list_empty(&fabric->places) || !list_empty(&fabric->calls));
	WARN_ON(kfi_close(&fabric->eq->fid));
	WARN_ON(kfi_close(&fabric->fabric->fid));
	mutex_destroy(&fabric->places_lock);
	mutex_destroy(&fabric->lock);
	kfree(fabric);
}

/*
 * Take a reference of the fabric that the device needs. Without one, let @new be it. A namespace
 * that goes may still have devices when another one gets its memory, so its cookie is compared.
 */
static struct kib_fabric *fabric_take(struct kib_dev *dev, struct net *net, struct kib_fabric *new)
{
	struct kib_fabric *fabric, *found = new;

	spin_lock(&kib_fabrics_lock);
	list_for_each_entry(fabric, &kib_fabrics, entry) {
		if (fabric->cookie != net->net_cookie || strcmp(fabric->way, dev->way))
			continue;
		refcount_inc(&fabric->refs);
		found = fabric;
		break;
	}
	if (new && found == new)
		list_add(&new->entry, &kib_fabrics);
	spin_unlock(&kib_fabrics_lock);
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
	mutex_lock(&fabric->lock);
	list_add_tail(&dev->fabric_entry, &fabric->devs);
	mutex_unlock(&fabric->lock);
	mutex_unlock(&fabric->places_lock);
	return 0;
}

/* No object of the device is left, and so no listener. */
void kib_fabric_leave(struct kib_dev *dev)
{
	struct kib_fabric *fabric = dev->fabric;

	WARN_ON(dev->nr_listeners);
	mutex_lock(&fabric->places_lock);
	mutex_lock(&fabric->lock);
	list_del(&dev->fabric_entry);
	mutex_unlock(&fabric->lock);
	mutex_unlock(&fabric->places_lock);
	if (!refcount_dec_and_lock(&fabric->refs, &kib_fabrics_lock))
		return;
	list_del(&fabric->entry);
	spin_unlock(&kib_fabrics_lock);
	fabric_free(fabric);
}
