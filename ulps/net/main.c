// SPDX-License-Identifier: GPL-2.0
/*
 * main.c - kfi_net, Ethernet devices whose frames are messages of kfabric. docs/network-device.md
 *
 *	main.c		the module; devices of ways, and interfaces that go
 *	net.c		namespaces: limits, and who pays
 *	dev.c  show.c	a device; ip link, ethtool and sysfs
 *	port.c		what the device of a way has of its port
 *	identity.c	Ethernet addresses that stay
 *	peer.c  ear.c	peers: which side calls, and the addresses at which calls are awaited
 *	link.c		a connection
 *	send.c  recv.c	frames
 *	hello.h		what goes over the network
 */
#include <linux/module.h>
#include <kfi_param.h>
#include <kfi_version.h>
#include "knet.h"

char knet_service[KFI_NAME_MAX] = "342";
KFI_PARAM_TEXT(service, knet_service, 0444,
	       "service of the provider at which peers are awaited (default 342)");

/* ---- devices of ways ---- */

/* A way is a domain whose network has one other end, as that of a bridge or a cable. */
static LIST_HEAD(ways);	/* struct knet; used by the work item only */

static bool address_used(const u8 *mac)
{
	struct knet *kn;

	list_for_each_entry(kn, &ways, entry)
		if (ether_addr_equal(kn->dev->perm_addr, mac))
			return true;
	return false;
}

/*
 * A device keeps its address when its cable is plugged into another port, so a port may belong to
 * several.
 */
static void way_address(struct knet *kn)
{
	unsigned int n = 0;

	while (knet_port_address(kn, n++))
		if (!address_used(kn->dev->dev_addr))
			return;
}

/* Return: 0 or a negative error, then the device is the caller's */
static int way_register(struct knet *kn, const struct kfi_info *info)
{
	struct kfi_dom *dom = kfi_dom_get(&init_net, info, THIS_MODULE);

	if (IS_ERR(dom))
		return PTR_ERR(dom);
	knet_port_init(kn, &dom->limits);
	kfi_dom_put(dom);
	way_address(kn);
	return knet_enter(kn, &init_net, NULL) ?: knet_port_register(kn);
}

static void way_add(const struct kfi_info *info)
{
	const char *domain = info->domain_attr->name;
	char peer[KNET_NODE];
	struct net_device *dev;
	struct knet *kn;
	int ret;

	/* a name to show, which no query needs */
	if (snprintf(peer, sizeof(peer), "%s/peer", domain) >= sizeof(peer))
		return;
	dev = alloc_netdev_mqs(sizeof(*kn), "kfi%d", NET_NAME_ENUM, knet_setup, 2, 1);
	if (!dev)
		return;
	kn = netdev_priv(dev);
	strscpy(kn->domain, domain, sizeof(kn->domain));
	knet_init(dev, &init_net);
	dev->mtu = KNET_WAY_MTU;	/* a way has no limit, and TCP begins slowly */
	ret = way_register(kn, info);
	if (ret) {
		pr_warn("kfi_net: no device for %s (%d)\n", domain, ret);
		knet_port_exit(kn);
		knet_leave(kn);
		free_netdev(dev);
		return;
	}
	if (dev->addr_assign_type == NET_ADDR_RANDOM)
		netdev_info(dev, "the firmware does not identify this machine or the port, so the Ethernet address is another one after each load\n");
	list_add_tail(&kn->entry, &ways);
	ret = knet_peer_add(kn, peer);
	if (ret)
		netdev_warn(dev, "no peer at %s (%d)\n", peer, ret);
}

static void way_remove(struct knet *kn)
{
	list_del(&kn->entry);
	unregister_netdev(kn->dev);
}

static bool listed(const struct kfi_info *info, const char *domain)
{
	for (; info; info = info->next)
		if (!strcmp(info->domain_attr->name, domain))
			return true;
	return false;
}

static bool has_device(const char *domain)
{
	struct knet *kn;

	list_for_each_entry(kn, &ways, entry)
		if (!strcmp(kn->domain, domain))
			return true;
	return false;
}

/* Find the ways, each of which is in @info once. Return: whether @info has all of them */
static bool find_ways(struct kfi_info **info)
{
	struct kfi_info *hints = kfi_allocinfo();
	int ret;

	*info = NULL;
	if (!hints)
		return false;
	hints->caps = KFI_MSG;
	hints->ep_attr->type = KFI_EP_MSG;
	hints->domain_attr->caps = KFI_ONE_PEER;
	ret = kfi_getinfo_net(&init_net, KFI_VERSION(KFI_MAJOR_VERSION, KFI_MINOR_VERSION), NULL,
			      NULL, 0, hints, info);
	kfi_freeinfo(hints);
	return !ret || ret == -ENODATA;
}

static void ways_work_fn(struct work_struct *work)
{
	struct kfi_info *infos, *info;
	struct knet *kn, *next;

	if (!find_ways(&infos)) {
		queue_delayed_work(system_long_wq, to_delayed_work(work), HZ);
		return;
	}
	list_for_each_entry_safe(kn, next, &ways, entry)
		if (!listed(infos, kn->domain))
			way_remove(kn);
	for (info = infos; info; info = info->next)
		if (!has_device(info->domain_attr->name))
			way_add(info);
	kfi_freeinfo(infos);
}

static DECLARE_DELAYED_WORK(ways_work, ways_work_fn);

static int devices_event(struct notifier_block *nb, unsigned long event, void *arg)
{
	mod_delayed_work(system_long_wq, &ways_work, 0);
	return NOTIFY_DONE;
}

static struct notifier_block devices_nb = { .notifier_call = devices_event };

/* ---- interfaces ---- */

static struct net_device *find_above(struct net_device *lower)
{
	struct net_device *upper;
	struct list_head *iter;

	netdev_for_each_upper_dev_rcu(lower, upper, iter)
		if (knet_is(upper))
			return upper;
	return NULL;
}

/* An interface goes, and with it the devices above. */
static int netdev_event(struct notifier_block *nb, unsigned long event, void *arg)
{
	struct net_device *lower = netdev_notifier_info_to_dev(arg), *upper;
	LIST_HEAD(list);

	if (event != NETDEV_UNREGISTER)
		return NOTIFY_DONE;
	while ((upper = find_above(lower)))
		knet_link_ops.dellink(upper, &list);
	unregister_netdevice_many(&list);
	return NOTIFY_DONE;
}

static struct notifier_block netdev_nb = { .notifier_call = netdev_event };

/* ---- the module ---- */

static int __init knet_module_init(void)
{
	int ret = knet_net_init();

	if (ret)
		return ret;
	kfi_wire_register(&knet_wire);
	ret = register_netdevice_notifier(&netdev_nb);
	if (ret)
		goto exit_net;
	ret = rtnl_link_register(&knet_link_ops);
	if (ret)
		goto unregister;
	kfi_register_devices_notifier(&devices_nb);
	mod_delayed_work(system_long_wq, &ways_work, 0);
	return 0;
unregister:
	unregister_netdevice_notifier(&netdev_nb);
exit_net:
	kfi_wire_unregister(&knet_wire);
	knet_net_exit();
	return ret;
}

/* The devices are gone when the RTNL has been released, and with them all that uses the queues. */
static void __exit knet_module_exit(void)
{
	struct knet *kn, *next;

	kfi_unregister_devices_notifier(&devices_nb);
	cancel_delayed_work_sync(&ways_work);
	list_for_each_entry_safe(kn, next, &ways, entry)
		way_remove(kn);
	rtnl_link_unregister(&knet_link_ops);
	unregister_netdevice_notifier(&netdev_nb);
	knet_net_exit();
	kfi_wire_unregister(&knet_wire);
}

module_init(knet_module_init);
module_exit(knet_module_exit);
MODULE_DESCRIPTION("Ethernet devices over kfabric");
MODULE_VERSION(KFABRIC_VERSION);
MODULE_LICENSE("GPL");
MODULE_ALIAS_RTNL_LINK("kfi");
