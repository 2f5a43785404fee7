// SPDX-License-Identifier: GPL-2.0
/*
 * device.c - RDMA devices: one for a network device, over the provider that serves its addresses,
 * or over the way that the network device stands for: a domain whose network has one other end, as
 * that of a bridge or a cable.
 *
 * The device is one of RoCE v2 to the RDMA core, which makes its GIDs of the addresses of the
 * network device and of VLANs above it.
 */
#include <linux/if_arp.h>
#include <linux/inet.h>
#include <linux/kmod.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/ipv6.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_user_verbs.h>
#include "kib.h"

#define KIB_API	KFI_VERSION(KFI_MAJOR_VERSION, KFI_MINOR_VERSION)

/* ---- the provider ---- */

/* The provider is one that uses the interface alone, or one that has the way. */
static struct kfi_info *dev_hints(const struct kib_dev *dev, enum kfi_ep_type type,
				  const char *ifname)
{
	struct kfi_info *hints = kfi_allocinfo();

	if (!hints)
		return NULL;
	hints->caps = KFI_MSG;
	hints->ep_attr->type = type;
	if (type == KFI_EP_MSG) {
		hints->caps |= KFI_RMA | KFI_ATOMIC;
		hints->ep_attr->max_msg_size = KIB_MAX_MSG;
		hints->tx_attr->msg_order = KFI_ORDER_SAS | KFI_ORDER_SAW | KFI_ORDER_WAW;
		hints->domain_attr->mr_key_size = sizeof(u32);
	} else {
		hints->caps |= KFI_SOURCE;
	}
	/* The ULP names a key before its region is registered, so the provider may not choose it. */
	hints->domain_attr->mr_mode = KFI_MR_ALLOCATED;
	hints->domain_attr->caps = *dev->way ? KFI_ONE_PEER : KFI_BOUND;
	hints->domain_attr->name = kstrdup(*dev->way ? dev->way : ifname, GFP_KERNEL);
	if (dev->info)	/* only the provider of the device is asked */
		hints->fabric_attr->prov_name = kstrdup(dev->info->fabric_attr->prov_name,
							GFP_KERNEL);
	if (hints->domain_attr->name && (!dev->info || hints->fabric_attr->prov_name))
		return hints;
	kfi_freeinfo(hints);
	return NULL;
}

/* Return: the namespace of the network device, referenced; NULL if the device has gone */
struct net *kib_net_get(struct kib_dev *dev)
{
	struct net *net;

	spin_lock(&dev->net_lock);
	net = dev->net ? maybe_get_net(dev->net) : NULL;
	spin_unlock(&dev->net_lock);
	return net;
}

/* The namespace in which the provider offers its domains. Ways belong to the machine. */
static struct net *dev_fabric_net(struct kib_dev *dev)
{
	struct net *net = kib_net_get(dev);

	if (!net || !*dev->way)
		return net;
	put_net(net);
	return get_net(&init_net);
}

/* Store the address that a connection comes from. Return: 0 or -ENOMEM */
static int hints_from(struct kfi_info *hints, const union ib_gid *gid, int ifindex)
{
	const struct in6_addr *addr = (const void *)gid;
	union {
		struct sockaddr_in	in;
		struct sockaddr_in6	in6;
	} from = {};

	if (ipv6_addr_v4mapped(addr)) {
		from.in.sin_family = AF_INET;
		from.in.sin_addr.s_addr = addr->s6_addr32[3];
		hints->src_addrlen = sizeof(from.in);
	} else {
		from.in6.sin6_family = AF_INET6;
		from.in6.sin6_addr = *addr;
		if (ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL)
			from.in6.sin6_scope_id = ifindex;
		hints->src_addrlen = sizeof(from.in6);
	}
	hints->src_addr = kmemdup(&from, hints->src_addrlen, GFP_KERNEL);
	return hints->src_addr ? 0 : -ENOMEM;
}

static int dev_getinfo(struct kib_dev *dev, enum kfi_ep_type type, const char *node, u64 flags,
		       struct kfi_info *hints, struct kfi_info **info)
{
	struct net *net = dev_fabric_net(dev);
	int ret;

	*info = NULL;
	if (!net)
		return -ENODEV;
	ret = kfi_getinfo_net(net, KIB_API, *dev->way ? NULL : node,
			      type == KFI_EP_MSG ? kib_service : kib_packet_service, flags, hints,
			      info);
	put_net(net);
	return ret;
}

/*
 * Find what this side has at an interface: for connections (KFI_EP_MSG) what stands for all
 * addresses that the interface has or will have, one of each family; for packets (KFI_EP_RDM) each
 * address. A way has one end here. Return: 0; -ENODATA if there is none; or another negative error
 */
int kib_find(struct kib_dev *dev, enum kfi_ep_type type, const char *ifname, struct kfi_info **info)
{
	struct kfi_info *hints = dev_hints(dev, type, ifname);
	int ret = -ENOMEM;

	*info = NULL;
	if (hints)
		ret = dev_getinfo(dev, type, NULL, KFI_SOURCE, hints, info);
	kfi_freeinfo(hints);
	return ret;
}

/*
 * Find the peer that has the GID @to, by an interface. @from: the GID of this side, or NULL. GIDs are
 * IP addresses; a way has one peer, whatever these are. Return: as kib_find()
 */
int kib_find_gid(struct kib_dev *dev, enum kfi_ep_type type, int ifindex,
		 const union ib_gid *from, const union ib_gid *to, struct kfi_info **info)
{
	char node[INET6_ADDRSTRLEN + IFNAMSIZ + 1], ifname[IFNAMSIZ];
	const struct in6_addr *addr = (const void *)to;
	struct kfi_info *hints;
	int ret = -ENOMEM;

	*info = NULL;
	if (!kib_dev_ifname(dev, ifindex, ifname))
		return -ENODEV;
	if (ipv6_addr_v4mapped(addr))
		snprintf(node, sizeof(node), "%pI4", &addr->s6_addr32[3]);
	else if (ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL)
		snprintf(node, sizeof(node), "%pI6c%%%s", addr, ifname);
	else
		snprintf(node, sizeof(node), "%pI6c", addr);
	hints = dev_hints(dev, type, ifname);
	if (hints && (!from || *dev->way || !hints_from(hints, from, ifindex)))
		ret = dev_getinfo(dev, type, node, 0, hints, info);
	kfi_freeinfo(hints);
	return ret;
}

/* The network device goes, and maybe its namespace: connections that exist are not affected. */
void kib_dev_netdev_gone(struct kib_dev *dev)
{
	spin_lock(&dev->net_lock);
	WRITE_ONCE(dev->net, NULL);
	spin_unlock(&dev->net_lock);
}

/* ---- attributes ---- */

static int kib_query_device(struct ib_device *ib, struct ib_device_attr *attr,
			    struct ib_udata *udata)
{
	*attr = (struct ib_device_attr) {
		.sys_image_guid = ib->node_guid,
		.device_cap_flags = IB_DEVICE_MEM_MGT_EXTENSIONS,
		.kernel_cap_flags = IBK_ALLOW_USER_UNREG | IBK_LOCAL_DMA_LKEY | IBK_SG_GAPS_REG,
		.max_mr_size = KIB_MAX_REGION,
		.page_size_cap = PAGE_SIZE,
		.vendor_id = 0xffffff,	/* as that of rxe: nobody's */
		.max_qp = KIB_MAX_QP,
		.max_qp_wr = KIB_MAX_WR,
		.max_send_sge = KIB_MAX_SGE,
		.max_recv_sge = KIB_MAX_SGE,
		.max_sge_rd = KIB_MAX_SGE,
		.max_cq = KIB_MAX_QP,
		.max_cqe = KIB_MAX_CQE,
		.max_mr = KIB_MAX_MR,
		.max_pd = KIB_MAX_QP,
		.max_ah = KIB_MAX_QP,
		.max_pkeys = 1,
		.max_srq = KIB_MAX_QP,
		.max_srq_wr = KIB_MAX_WR,
		.max_srq_sge = KIB_MAX_SGE,
		.max_qp_rd_atom = KIB_MAX_READS,
		.max_qp_init_rd_atom = KIB_MAX_READS,
		.max_res_rd_atom = KIB_MAX_READS * KIB_MAX_QP,
		.atomic_cap = IB_ATOMIC_HCA,
		.max_fast_reg_page_list_len = KIB_MAX_PAGES,
	};
	return 0;
}

bool kib_dev_is_up(const struct kib_dev *dev)
{
	return netif_running(dev->netdev) && netif_carrier_ok(dev->netdev);
}

/* The RDMA core warns of each question for a speed that is unknown, and any process may ask. */
static bool dev_has_speed(const struct kib_dev *dev)
{
	struct ethtool_link_ksettings settings;
	bool has;

	rtnl_lock();
	has = dev->netdev->reg_state == NETREG_REGISTERED &&
	      !__ethtool_get_link_ksettings(dev->netdev, &settings) &&
	      settings.base.speed != (u32)SPEED_UNKNOWN;
	rtnl_unlock();
	return has;
}

static int kib_query_port(struct ib_device *ib, u32 port, struct ib_port_attr *attr)
{
	struct kib_dev *dev = to_kib_dev(ib);
	bool up = kib_dev_is_up(dev);

	attr->gid_tbl_len = KIB_GIDS;
	attr->pkey_tbl_len = 1;
	attr->max_msg_sz = KIB_MAX_MSG;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = IB_MTU_4096;	/* messages are cut by the network below */
	attr->max_vl_num = 1;
	attr->ip_gids = true;
	attr->state = up ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	attr->phys_state = up ? IB_PORT_PHYS_STATE_LINK_UP : IB_PORT_PHYS_STATE_DISABLED;
	attr->port_cap_flags = IB_PORT_CM_SUP | IB_PORT_DEVICE_MGMT_SUP;
	attr->active_speed = IB_SPEED_SDR;
	attr->active_width = IB_WIDTH_1X;
	return dev_has_speed(dev) ? ib_get_eth_speed(ib, port, &attr->active_speed,
						     &attr->active_width) : 0;
}

static int kib_get_port_immutable(struct ib_device *ib, u32 port, struct ib_port_immutable *attr)
{
	attr->gid_tbl_len = KIB_GIDS;
	attr->pkey_tbl_len = 1;
	attr->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	attr->max_mad_size = IB_MGMT_MAD_SIZE;
	return 0;
}

static enum rdma_link_layer kib_get_link_layer(struct ib_device *ib, u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}

static int kib_query_pkey(struct ib_device *ib, u32 port, u16 index, u16 *pkey)
{
	if (index)
		return -EINVAL;
	*pkey = IB_DEFAULT_PKEY_FULL;
	return 0;
}

/* ---- protection domains ---- */

static int kib_alloc_pd(struct ib_pd *ib, struct ib_udata *udata)
{
	struct kib_dev *dev = to_kib_dev(ib->device);
	struct kib_pd *pd = to_kib_pd(ib);
	struct kfi_domain_limits limits;
	int ret;

	pd->payer = kib_payer(ib->uobject ? ib->uobject->context : NULL);
	ret = kfi_payer_take(pd->payer, KFI_PAYER_OTHERS, KFI_PAYER_OTHER_BYTES);
	if (ret)
		return ret;
	ret = kfi_domain(dev->fabric->fabric, dev->info, &pd->domain, pd);
	if (ret)
		goto give_back;
	kfi_domain_set_account(pd->domain, kfi_payer_account(pd->payer));
	ret = kfi_domain_limits(pd->domain, &limits);
	if (ret)
		goto close_domain;
	pd->boundary = limits.virt_boundary_mask;
	return 0;

close_domain:
	WARN_ON(kfi_close(&pd->domain->fid));
give_back:
	kfi_payer_give(pd->payer, KFI_PAYER_OTHERS, KFI_PAYER_OTHER_BYTES);
	return ret;
}

static int kib_dealloc_pd(struct ib_pd *ib, struct ib_udata *udata)
{
	struct kib_pd *pd = to_kib_pd(ib);

	WARN_ON(kfi_close(&pd->domain->fid));
	kfi_payer_give(pd->payer, KFI_PAYER_OTHERS, KFI_PAYER_OTHER_BYTES);
	return 0;
}

/* ---- life ---- */

/* No object of the device is left. */
static void kib_dealloc_driver(struct ib_device *ib)
{
	struct kib_dev *dev = to_kib_dev(ib);

	rcu_barrier();		/* user_mr_free() is queued after a grace period */
	flush_workqueue(kib_wq);
	if (dev->fabric) {
		ib_unregister_event_handler(&dev->gid_handler);
		kib_fabric_leave(dev);
	}
	kfi_freeinfo(dev->info);
	free_percpu(dev->counts);
	xa_destroy(&dev->mrs);
	dev_put(dev->netdev);
}

/* Context: process */
static void dev_event(struct ib_event_handler *handler, struct ib_event *event)
{
	struct kib_dev *dev = container_of(handler, struct kib_dev, gid_handler);

	if (event->event == IB_EVENT_GID_CHANGE)
		kib_places_changed(dev->fabric);
}

/* The device has GIDs. ULPs find it when this has returned, and peers answer it. */
static int kib_enable_driver(struct ib_device *ib)
{
	struct kib_dev *dev = to_kib_dev(ib);

	WRITE_ONCE(dev->registered, true);
	kib_places_now(dev->fabric);
	return 0;
}

static const struct ib_device_ops kib_dev_ops = {
	.owner			= THIS_MODULE,
	.driver_id		= (enum rdma_driver_id)KFI_IB_DRIVER_ID,
	.uverbs_abi_ver		= KIB_UVERBS_ABI_VERSION,

	.alloc_hw_port_stats	= kib_alloc_hw_stats,
	.alloc_mr		= kib_alloc_mr,
	.alloc_pd		= kib_alloc_pd,
	.alloc_ucontext		= kib_alloc_ucontext,
	.create_ah		= kib_create_ah,
	.create_cq		= kib_create_cq,
	.create_qp		= kib_create_qp,
	.create_srq		= kib_create_srq,
	.create_user_ah		= kib_create_ah,
	.dealloc_driver		= kib_dealloc_driver,
	.dealloc_pd		= kib_dealloc_pd,
	.dealloc_ucontext	= kib_dealloc_ucontext,
	.dereg_mr		= kib_dereg_mr,
	.destroy_ah		= kib_destroy_ah,
	.destroy_cq		= kib_destroy_cq,
	.destroy_qp		= kib_destroy_qp,
	.destroy_srq		= kib_destroy_srq,
	.disassociate_ucontext	= kib_disassociate_ucontext,
	.enable_driver		= kib_enable_driver,
	.get_dma_mr		= kib_get_dma_mr,
	.get_hw_stats		= kib_get_hw_stats,
	.get_link_layer		= kib_get_link_layer,
	.get_port_immutable	= kib_get_port_immutable,
	.map_mr_sg		= kib_map_mr_sg,
	.mmap			= kib_mmap,
	.mmap_free		= kib_mmap_free,
	.modify_qp		= kib_modify_qp,
	.modify_srq		= kib_modify_srq,
	.poll_cq		= kib_poll_cq,
	.post_recv		= kib_post_recv,
	.post_send		= kib_post_send,
	.post_srq_recv		= kib_post_srq_recv,
	.query_ah		= kib_query_ah,
	.query_device		= kib_query_device,
	.query_pkey		= kib_query_pkey,
	.query_port		= kib_query_port,
	.query_qp		= kib_query_qp,
	.query_srq		= kib_query_srq,
	.reg_user_mr		= kib_reg_user_mr,
	.req_notify_cq		= kib_req_notify_cq,

	INIT_RDMA_OBJ_SIZE(ib_ah, kib_ah, ib),
	INIT_RDMA_OBJ_SIZE(ib_cq, kib_cq, ib),
	INIT_RDMA_OBJ_SIZE(ib_pd, kib_pd, ib),
	INIT_RDMA_OBJ_SIZE(ib_qp, kib_qp, ib),
	INIT_RDMA_OBJ_SIZE(ib_srq, kib_srq, ib),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, kib_ucontext, ib),
};

static void dev_init(struct kib_dev *dev, struct net_device *netdev)
{
	struct ib_device *ib = &dev->ib;

	dev_hold(netdev);
	dev->netdev = netdev;
	dev->net = dev_net(netdev);
	dev->up = kib_dev_is_up(dev);
	dev->next_mr = get_random_u32() >> 8;
	spin_lock_init(&dev->net_lock);
	xa_init_flags(&dev->mrs, XA_FLAGS_ALLOC);
	addrconf_addr_eui48((u8 *)&ib->node_guid, netdev->dev_addr);
	ib->node_type = RDMA_NODE_IB_CA;
	ib->phys_port_cnt = 1;
	ib->num_comp_vectors = num_possible_cpus();
	ib->local_dma_lkey = KIB_LKEY;
	/* Processes post by commands, and these run a queue that waits for its process. */
	ib->uverbs_cmd_mask |= BIT_ULL(IB_USER_VERBS_CMD_POST_SEND) |
			       BIT_ULL(IB_USER_VERBS_CMD_POST_RECV) |
			       BIT_ULL(IB_USER_VERBS_CMD_POST_SRQ_RECV) |
			       BIT_ULL(IB_USER_VERBS_CMD_POLL_CQ);
	ib_set_device_ops(ib, &kib_dev_ops);
}

static int dev_objects(struct kib_dev *dev)
{
	struct net *net;
	int ret;

	kfi_netdev_domain(dev->netdev, dev->way, sizeof(dev->way));
	ret = kib_find(dev, KFI_EP_MSG, dev->netdev->name, &dev->info);
	if (ret == -ENODATA && !*dev->way) {
		request_module(KFI_MODULE_IP);
		ret = kib_find(dev, KFI_EP_MSG, dev->netdev->name, &dev->info);
	}
	if (ret)
		return ret == -ENODATA ? -EADDRNOTAVAIL : ret;
	dev->counts = alloc_percpu(struct kib_counts);
	if (!dev->counts)
		return -ENOMEM;
	net = dev_fabric_net(dev);
	if (!net)
		return -ENODEV;
	ret = kib_fabric_join(dev, net);
	put_net(net);
	if (ret)
		return ret;
	INIT_IB_EVENT_HANDLER(&dev->gid_handler, &dev->ib, dev_event);
	ib_register_event_handler(&dev->gid_handler);
	return 0;
}

/*
 * Make the device of a network device. Context: process, without the RTNL; the caller keeps
 * @netdev. Return: 0; -EEXIST if it has one; -EPROTONOSUPPORT if it has no Ethernet addresses;
 * -EADDRNOTAVAIL if no provider serves it
 */
int kib_dev_add(const char *name, struct net_device *netdev)
{
	struct ib_device *old = ib_device_get_by_netdev(netdev, KFI_IB_DRIVER_ID);
	struct kib_dev *dev;
	int ret;

	if (old) {
		ib_device_put(old);
		return -EEXIST;
	}
	if (netdev->type != ARPHRD_ETHER)	/* the RDMA core makes no GIDs of others */
		return -EPROTONOSUPPORT;
	dev = ib_alloc_device(kib_dev, ib);
	if (!dev)
		return -ENOMEM;
	dev_init(dev, netdev);
	ib_mark_name_assigned_by_user(&dev->ib);
	ret = dev_objects(dev) ?: ib_device_set_netdev(&dev->ib, netdev, 1) ?:
	      ib_register_device(&dev->ib, name, NULL);
	if (ret)
		ib_dealloc_device(&dev->ib);
	return ret;
}
