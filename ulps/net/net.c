// SPDX-License-Identifier: GPL-2.0
/*
 * net.c - network namespaces: what one may have, and who pays for it.
 *
 * A device in the initial namespace is the kernel's. The administrator of another one may be a user
 * or a container. So devices and peers there are limited, memory is charged to the user that has
 * made the device, and the memory reserve is not used.
 */
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include "knet.h"

static unsigned int max_devices = 16;
module_param(max_devices, uint, 0644);
MODULE_PARM_DESC(max_devices,
		 "devices of a network namespace, but the initial one (default 16)");

static unsigned int max_peers = 256;
module_param(max_peers, uint, 0644);
MODULE_PARM_DESC(max_peers,
		 "peers of all devices of a network namespace, but the initial one (default 256)");

static unsigned int knet_net_id;

static struct knet_net *knet_net(struct net *net)
{
	return net_generic(net, knet_net_id);
}

/* ---- queues ---- */

/*
 * The work items of a namespace may wait for grace periods, for the RTNL and for packets in its
 * queues: those of another one have their own workers. The network of a user takes no part in
 * memory reclaim, so its queues have no threads of their own. The first device makes them.
 */
static struct workqueue_struct *make_queue(const char *what, struct net *net)
{
	if (net_eq(net, &init_net))
		return alloc_workqueue("kfi_net_%s", WQ_MEM_RECLAIM | WQ_UNBOUND, 0, what);
	return alloc_workqueue("kfi_net_%s_%u", WQ_UNBOUND, KNET_WORKERS, what, net->ns.inum);
}

/* The queues stay until the namespace ends: work items need the RTNL, and devices go under it. */
static int make_queues(struct knet_net *ns, struct net *net)
{
	lockdep_assert_held(&ns->lock);
	if (!ns->wq)
		ns->wq = make_queue("peer", net);
	if (!ns->in_ops.end_wq)
		ns->in_ops.end_wq = make_queue("end", net);
	return ns->wq && ns->in_ops.end_wq ? 0 : -ENOMEM;
}

/* ---- devices ---- */

static int find_payer(struct knet *kn, struct netlink_ext_ack *extack)
{
	struct kfi_payer *payer = kfi_payer_open();

	if (PTR_ERR(payer) == -EMFILE)
		NL_SET_ERR_MSG(extack, "this user has too many devices and contexts of kfabric (max_contexts of kfi.ko)");
	if (IS_ERR(payer))
		return PTR_ERR(payer);
	kn->payer = payer;
	return 0;
}

static int count_device(struct knet_net *ns, struct knet *kn, struct net *net,
			struct netlink_ext_ack *extack)
{
	lockdep_assert_held(&ns->lock);
	if (kn->payer && ns->devices >= READ_ONCE(max_devices)) {
		NL_SET_ERR_MSG(extack, "this network namespace has too many devices of kfi_net (max_devices)");
		return -ENOSPC;
	}
	if (make_queues(ns, net))
		return -ENOMEM;
	if (!ns->devices++)
		ns->payer = kfi_payer_get(kn->payer);
	return 0;
}

/*
 * Count a device that the calling process makes. knet_leave() follows if this, or the registration
 * of the device, fails
 */
int knet_enter(struct knet *kn, struct net *net, struct netlink_ext_ack *extack)
{
	struct knet_net *ns = knet_net(net);
	int ret = net_eq(net, &init_net) ? 0 : find_payer(kn, extack);

	if (ret)
		return ret;
	mutex_lock(&ns->lock);
	ret = count_device(ns, kn, net, extack);
	mutex_unlock(&ns->lock);
	if (!ret)
		kn->ns = ns;
	return ret;
}

/* The device has no peers any more. It may have left before. */
void knet_leave(struct knet *kn)
{
	struct knet_net *ns = kn->ns;

	if (ns) {
		mutex_lock(&ns->lock);
		if (!--ns->devices) {
			kfi_payer_put(ns->payer);
			ns->payer = NULL;
		}
		mutex_unlock(&ns->lock);
	}
	kfi_payer_put(kn->payer);
	kn->ns = NULL;
	kn->payer = NULL;
}

int knet_count_peer(struct knet *kn)
{
	if (atomic_inc_return(&kn->ns->peers) <= READ_ONCE(max_peers) || !kn->payer)
		return 0;
	knet_uncount_peer(kn);
	return -ENOSPC;
}

void knet_uncount_peer(struct knet *kn)
{
	atomic_dec(&kn->ns->peers);
}

/*
 * Charge what this context allocates with __GFP_ACCOUNT to the memory cgroup of the device. Any
 * context. Return: the argument of set_active_memcg() that ends that
 */
struct mem_cgroup *knet_charge_to(struct knet *kn)
{
	struct kfi_account *account = kfi_payer_account(kn->payer);

	return set_active_memcg(account ? account->memcg : NULL);
}

/* ---- namespaces ---- */

static int __net_init net_begin(struct net *net)
{
	struct knet_net *ns = knet_net(net);

	mutex_init(&ns->lock);
	mutex_init(&ns->ears_lock);
	INIT_LIST_HEAD(&ns->ears);
	ns->in_ops = knet_in_ops;
	return 0;
}

static void __net_exit net_end(struct net *net)
{
	struct knet_net *ns = knet_net(net);

	if (ns->wq)
		destroy_workqueue(ns->wq);
	if (ns->in_ops.end_wq)
		destroy_workqueue(ns->in_ops.end_wq);
}

/* As a subsystem, which ends after all devices. */
static struct pernet_operations net_ops = {
	.init	= net_begin,
	.exit	= net_end,
	.id	= &knet_net_id,
	.size	= sizeof(struct knet_net),
};

int knet_net_init(void)
{
	return register_pernet_subsys(&net_ops);
}

void knet_net_exit(void)
{
	unregister_pernet_subsys(&net_ops);
}
