// SPDX-License-Identifier: GPL-2.0
/*
 * main.c - kfi_ib, RDMA devices whose queue pairs are connections of kfabric. docs/verbs-device.md
 *
 *   main.c		parameters, `rdma link`, network devices that change; the module
 *   device.c		a device: its provider, its attributes, protection domains
 *   listen.c  cm.c	listeners and calls; connections
 *   qp.c		queue pairs: life, rings, the runner
 *   send.c  recv.c	send and receive queues
 *   srq.c		shared receive queues
 *   cq.c  mr.c		completion queues; regions of fast registrations
 *   user.c		contexts and memory of processes
 *   stats.c		statistics
 *   hello.h		private data of connections
 */
#include <linux/inetdevice.h>
#include <linux/module.h>
#include <net/addrconf.h>
#include <rdma/rdma_netlink.h>
#include "kib.h"

char *kib_service = "4467";
module_param_named(service, kib_service, charp, 0444);
MODULE_PARM_DESC(service, "service of the provider at which devices listen (default 4467)");

bool kib_reserved_ports;
module_param_named(reserved_ports, kib_reserved_ports, bool, 0644);
MODULE_PARM_DESC(reserved_ports,
		 "ULPs of the kernel call from, and serve, TCP ports below 1024 only (default no)");

struct workqueue_struct *kib_wq;

/* ---- network devices ---- */

static void port_changed(struct kib_dev *dev, bool up)
{
	struct ib_event event = {
		.device = &dev->ib, .element.port_num = 1,
		.event = up ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR,
	};

	if (KFI_IB_REPORTS_PORT)
		ib_dispatch_event(&event);
}

static int netdev_event(struct notifier_block *nb, unsigned long type, void *arg)
{
	struct net_device *netdev = netdev_notifier_info_to_dev(arg);
	struct ib_device *ib = ib_device_get_by_netdev(netdev, KFI_IB_DRIVER_ID);

	if (!ib)
		return NOTIFY_DONE;
	switch (type) {
	case NETDEV_UP:
	case NETDEV_DOWN:
		port_changed(to_kib_dev(ib), type == NETDEV_UP);
		break;
	case NETDEV_UNREGISTER:
		kib_dev_netdev_gone(to_kib_dev(ib));
		ib_unregister_device_queued(ib);
		break;
	}
	ib_device_put(ib);
	return NOTIFY_DONE;
}

static int address_changed(struct net_device *netdev)
{
	struct ib_device *ib = ib_device_get_by_netdev(netdev, KFI_IB_DRIVER_ID);

	if (ib) {
		mod_delayed_work(system_long_wq, &to_kib_dev(ib)->places_work, 0);
		ib_device_put(ib);
	}
	return NOTIFY_DONE;
}

static int inet_event(struct notifier_block *nb, unsigned long type, void *arg)
{
	return address_changed(((struct in_ifaddr *)arg)->ifa_dev->dev);
}

static int inet6_event(struct notifier_block *nb, unsigned long type, void *arg)
{
	return address_changed(((struct inet6_ifaddr *)arg)->idev->dev);
}

static struct notifier_block netdev_nb = { .notifier_call = netdev_event };
static struct notifier_block inet_nb = { .notifier_call = inet_event };
static struct notifier_block inet6_nb = { .notifier_call = inet6_event };

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
	ret = register_netdevice_notifier(&netdev_nb);
	if (ret)
		goto destroy_wq;
	ret = register_inetaddr_notifier(&inet_nb);
	if (ret)
		goto unregister_netdev;
	ret = register_inet6addr_notifier(&inet6_nb);
	if (ret)
		goto unregister_inet;
	rdma_link_register(&link_ops);
	return 0;
unregister_inet:
	unregister_inetaddr_notifier(&inet_nb);
unregister_netdev:
	unregister_netdevice_notifier(&netdev_nb);
destroy_wq:
	destroy_workqueue(kib_wq);
	return ret;
}

static void __exit kib_exit(void)
{
	rdma_link_unregister(&link_ops);
	unregister_inet6addr_notifier(&inet6_nb);
	unregister_inetaddr_notifier(&inet_nb);
	unregister_netdevice_notifier(&netdev_nb);
	ib_unregister_driver((enum rdma_driver_id)KFI_IB_DRIVER_ID);
	synchronize_rcu();	/* for mr_ended() */
	rcu_barrier();		/* for kib_user_mr_put(): RCU callbacks queue user_mr_free() */
	destroy_workqueue(kib_wq);
}

module_init(kib_init);
module_exit(kib_exit);
MODULE_DESCRIPTION("RDMA devices over kfabric");
MODULE_LICENSE("GPL");
MODULE_ALIAS_RDMA_LINK("kfi");
