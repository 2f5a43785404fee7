// SPDX-License-Identifier: GPL-2.0
/*
 * iface.c - the interfaces that sockets are bound to.
 *
 * A domain is named after an interface. If the consumer has chosen that (KFI_BOUND), its sockets
 * send and receive only by this interface; otherwise as the routing tables say, in the VRF of the
 * interface if that is in one. Each new socket looks the interface up by its name, because another
 * one may have the name since the domain was opened. Sockets that stay, which listen or get
 * datagrams, are in a list, and are bound again when an interface gets the name.
 */
#include <linux/netdevice.h>
#include "sock.h"

static LIST_HEAD(ks_stays);
static DEFINE_MUTEX(ks_stays_lock);	/* inside the RTNL, outside socket locks */

int ks_socket(struct net *net, const struct kfi_info *info, int family, int type,
	      struct socket **sockp)
{
	const struct kfi_domain_attr *domain = info->domain_attr;
	int ret = sock_create_kern(net, family, type, 0, sockp);

	if (ret || !domain || !domain->name)
		return ret;
	ret = kfi_inaddr_bind_device(*sockp, domain->name, domain->caps & KFI_BOUND);
	if (ret) {
		sock_release(*sockp);
		*sockp = NULL;
	}
	return ret;
}

/* An MSG endpoint may be one of another interface than its domain. */
const struct kfi_info *ks_iface_info(const struct kfi_ep *ep)
{
	const struct kfi_domain_attr *own = ep->info->domain_attr;

	return ep->type == KFI_EP_MSG && own && own->name ? ep->info : ep->domain->info;
}

void ks_stay(struct ks_stay *stay, const struct kfi_info *info, struct socket *sock)
{
	const struct kfi_domain_attr *domain = info->domain_attr;

	if (!domain || !domain->name || !(domain->caps & KFI_BOUND))
		return;
	stay->sock = sock;
	stay->ifname = domain->name;
	mutex_lock(&ks_stays_lock);
	list_add(&stay->entry, &ks_stays);
	/* The interface may have changed since the socket was created. */
	kfi_inaddr_bind_device(sock, stay->ifname, true);
	mutex_unlock(&ks_stays_lock);
}

void ks_stay_end(struct ks_stay *stay)
{
	if (!stay->sock)
		return;
	mutex_lock(&ks_stays_lock);
	list_del(&stay->entry);
	mutex_unlock(&ks_stays_lock);
	stay->sock = NULL;
}

static int ks_netdev_event(struct notifier_block *nb, unsigned long event, void *data)
{
	const struct net_device *dev = netdev_notifier_info_to_dev(data);
	struct ks_stay *stay;

	if (event != NETDEV_REGISTER && event != NETDEV_CHANGENAME)
		return NOTIFY_DONE;
	mutex_lock(&ks_stays_lock);
	list_for_each_entry(stay, &ks_stays, entry)
		if (net_eq(sock_net(stay->sock->sk), dev_net(dev)) &&
		    !strcmp(stay->ifname, dev->name))
			kfi_inaddr_bind_device(stay->sock, stay->ifname, true);
	mutex_unlock(&ks_stays_lock);
	return NOTIFY_DONE;
}

static struct notifier_block ks_netdev_notifier = { .notifier_call = ks_netdev_event };

int ks_iface_init(void)
{
	return register_netdevice_notifier(&ks_netdev_notifier);
}

void ks_iface_exit(void)
{
	unregister_netdevice_notifier(&ks_netdev_notifier);
}
