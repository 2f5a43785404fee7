// SPDX-License-Identifier: GPL-2.0
/*
 * port.c - what a device of a way has of the port that it belongs to: its Ethernet address, its
 * parent in sysfs, and the name of the port. All of it stays over loads and boots.
 *
 * The device stays when its parent goes, because a cable to that host may be plugged elsewhere. It
 * has no parent then: sysfs would remove its files with the parent.
 */
#include <linux/device.h>
#include <linux/dmi.h>
#include <kfi_param.h>
#include "identity.h"
#include "knet.h"

/* The UUID of this machine, instead of that of the firmware */
static char *machine;
KFI_TEST_PARAM(machine, machine, charp);

static const char *machine_uuid(void)
{
	return machine ?: dmi_get_system_info(DMI_PRODUCT_UUID);
}

/* ---- the parent ---- */

/* Context: process; the caller holds the lock of the bus's list of notifiers */
static int parent_event(struct notifier_block *nb, unsigned long event, void *dev)
{
	struct knet *kn = container_of(nb, struct knet, parent_nb);

	if (dev != kn->parent ||
	    (event != BUS_NOTIFY_DEL_DEVICE && event != BUS_NOTIFY_REMOVED_DEVICE))
		return NOTIFY_DONE;
	rtnl_lock();
	if (kn->dev->reg_state == NETREG_REGISTERED && kn->dev->dev.parent == kn->parent)
		device_move(&kn->dev->dev, NULL, DPM_ORDER_NONE);
	kn->parent_gone = true;
	rtnl_unlock();
	return NOTIFY_DONE;
}

static void parent_watch(struct knet *kn)
{
	kn->parent_nb.notifier_call = parent_event;
	if (!kn->parent->bus || bus_register_notifier(kn->parent->bus, &kn->parent_nb)) {
		put_device(kn->parent);
		kn->parent = NULL;
	}
}

void knet_port_exit(struct knet *kn)
{
	if (kn->nd.dev)
		kfi_netdev_remove(&kn->nd);
	kn->nd.dev = NULL;
	if (!kn->parent)
		return;
	bus_unregister_notifier(kn->parent->bus, &kn->parent_nb);
	put_device(kn->parent);
	kn->parent = NULL;
}

/* ---- the address ---- */

/*
 * Without a machine that can be identified, the device has the random address of knet_init(), and
 * systemd makes another one that stays.
 */
bool knet_port_address(struct knet *kn, unsigned int n)
{
	const char *uuid = machine_uuid();
	u8 mac[ETH_ALEN];

	if (!*kn->where || !knet_identifies(uuid))
		return false;
	knet_make_address(uuid, kn->where, kn->port, n, mac);
	eth_hw_addr_set(kn->dev, mac);
	kn->dev->addr_assign_type = NET_ADDR_PERM;
	return true;
}

/*
 * The other end has the address that this module has made: two machines have one identity. Both
 * ends take a random one. Context: process, without the RTNL
 */
void knet_port_clash(struct knet *kn)
{
	struct net_device *dev = kn->dev;

	rtnl_lock();
	if (!kn->lower && dev->addr_assign_type == NET_ADDR_PERM &&
	    dev->reg_state == NETREG_REGISTERED) {
		eth_hw_addr_random(dev);
		knet_mac_changed(kn);
		call_netdevice_notifiers(NETDEV_CHANGEADDR, dev);
		netdev_warn(dev, "the other machine has the same identity, so this device has a random address, see kfi_net(7)\n");
	}
	rtnl_unlock();
}

/* ---- life ---- */

void knet_port_init(struct knet *kn, const struct kfi_domain_limits *limits)
{
	kn->speed = limits->speed;
	if (!limits->port_device)
		return;
	kn->port = limits->port;
	strscpy(kn->where, dev_name(limits->port_device), sizeof(kn->where));
	kn->parent = get_device(limits->port_device);
	parent_watch(kn);
}

/* A parent that goes meanwhile is noticed before, or moves the device away after this. */
int knet_port_register(struct knet *kn)
{
	int ret;

	kn->nd.dev = kn->dev;
	kn->nd.domain = kn->domain;
	kfi_netdev_add(&kn->nd);
	rtnl_lock();
	if (kn->parent && !kn->parent_gone && device_is_registered(kn->parent))
		SET_NETDEV_DEV(kn->dev, kn->parent);
	ret = register_netdevice(kn->dev);
	kn->registered = !ret;
	rtnl_unlock();
	return ret;
}

int knet_port_name(struct net_device *dev, char *name, size_t len)
{
	const struct knet *kn = netdev_priv(dev);

	if (!kn->port)
		return -EOPNOTSUPP;
	return snprintf(name, len, "%llx", kn->port) < len ? 0 : -EINVAL;
}
