// SPDX-License-Identifier: GPL-2.0
/*
 * main.c - kfi_ib, RDMA devices whose queue pairs are connections of kfabric. docs/verbs-device.md
 *
 *   main.c		parameters, `rdma link`, network devices that change; the module
 *   device.c		a device: its provider, its attributes, protection domains
 *   fabric.c		what devices share: the fabric, and the endpoints at which peers reach them
 *   talk.c		packets between two kernels
 *   pair.c		how RC queue pairs find each other
 *   local.c		RC queue pairs whose other side is in this kernel
 *   qp.c  run.c		queue pairs: life; the runner, which moves requests
 *   send.c  recv.c	send and receive queues
 *   ud.c		address handles; datagrams, and GSI
 *   srq.c		shared receive queues
 *   cq.c  mr.c		completion queues; regions of fast registrations
 *   user.c		contexts and memory of processes
 *   stats.c		statistics
 *   wire.h		what two nodes say to each other
 */
#include <linux/if_vlan.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <net/ipv6.h>
#include <rdma/rdma_netlink.h>
#include <kfi_param.h>
#include <kfi_version.h>
#include "kib.h"

char kib_service[KFI_NAME_MAX] = "4467";
KFI_PARAM_TEXT(service, kib_service, 0444,
	       "service of the provider at which devices listen (default 4467)");

char kib_packet_service[KFI_NAME_MAX] = "446";
KFI_PARAM_TEXT(packet_service, kib_packet_service, 0444,
	       "the same for packets between kernels (default 446), a reserved port");

struct workqueue_struct *kib_wq;

/* ---- network devices ---- */

static void dev_event(struct kib_dev *dev, enum ib_event_type type)
{
	struct ib_event event = {
		.device = &dev->ib, .element.port_num = 1, .event = type,
	};

	ib_dispatch_event(&event);
}

static void port_changed(struct kib_dev *dev, bool up)
{
	ASSERT_RTNL();
	if (!KFI_IB_REPORTS_PORT || dev->up == up)
		return;
	dev->up = up;
	dev_event(dev, up ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR);
}

static void dev_netdev_event(struct kib_dev *dev, unsigned long type)
{
	switch (type) {
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		port_changed(dev, kib_dev_is_up(dev));
		break;
	case NETDEV_UNREGISTER:
		kib_dev_netdev_gone(dev);
		ib_unregister_device_queued(&dev->ib);
		break;
	}
}

/* May other interfaces need places now? */
static bool places_change(const struct net_device *netdev, unsigned long type, void *arg)
{
	const struct netdev_notifier_changeupper_info *info = arg;

	switch (type) {
	case NETDEV_CHANGEUPPER:
		return is_vlan_dev(info->upper_dev);
	case NETDEV_REGISTER:
	case NETDEV_UNREGISTER:
		return is_vlan_dev(netdev);
	case NETDEV_CHANGENAME:
		return true;
	default:
		return false;
	}
}

static int netdev_event(struct notifier_block *nb, unsigned long type, void *arg)
{
	struct net_device *netdev = netdev_notifier_info_to_dev(arg);
	struct ib_device *ib = ib_device_get_by_netdev(netdev, KFI_IB_DRIVER_ID);

	if (places_change(netdev, type, arg))
		kib_fabrics_changed(dev_net(netdev));
	if (!ib)
		return NOTIFY_DONE;
	dev_netdev_event(to_kib_dev(ib), type);
	ib_device_put(ib);
	return NOTIFY_DONE;
}

static struct notifier_block netdev_nb = { .notifier_call = netdev_event };

/*
 * GID 0 is there before the link-local address that it is made of, and whose coming does not change
 * it: no event of GIDs says that it can have an endpoint now. Context: softirq, or process
 */
static int inet6addr_event(struct notifier_block *nb, unsigned long type, void *arg)
{
	const struct inet6_ifaddr *addr = arg;

	if (type == NETDEV_UP && ipv6_addr_type(&addr->addr) & IPV6_ADDR_LINKLOCAL)
		kib_fabrics_changed(dev_net(addr->idev->dev));
	return NOTIFY_DONE;
}

static struct notifier_block inet6addr_nb = { .notifier_call = inet6addr_event };

/* ---- the module ---- */

static struct rdma_link_ops link_ops = {
	.type = "kfi",
	.newlink = kib_dev_add,
};

static int __init kib_init(void)
{
	int ret;

	kib_wq = alloc_workqueue("kfi_ib", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!kib_wq)
		return -ENOMEM;
	kfi_wire_register(&kib_wire);
	ret = register_netdevice_notifier(&netdev_nb);
	if (ret) {
		kfi_wire_unregister(&kib_wire);
		destroy_workqueue(kib_wq);
		return ret;
	}
	register_inet6addr_notifier(&inet6addr_nb);
	rdma_link_register(&link_ops);
	return 0;
}

static void __exit kib_exit(void)
{
	rdma_link_unregister(&link_ops);
	unregister_inet6addr_notifier(&inet6addr_nb);
	unregister_netdevice_notifier(&netdev_nb);
	ib_unregister_driver((enum rdma_driver_id)KFI_IB_DRIVER_ID);
	synchronize_rcu();	/* for mr_ended() */
	rcu_barrier();		/* for kib_user_mr_put(): RCU callbacks queue user_mr_free() */
	destroy_workqueue(kib_wq);
	kfi_wire_unregister(&kib_wire);
}

module_init(kib_init);
module_exit(kib_exit);
MODULE_DESCRIPTION("RDMA devices over kfabric");
MODULE_VERSION(KFABRIC_VERSION);
MODULE_LICENSE("GPL");
MODULE_ALIAS_RDMA_LINK("kfi");
