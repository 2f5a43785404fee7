// SPDX-License-Identifier: GPL-2.0
/*
 * kfi_bench_null - RDMA devices whose verbs cost next to nothing, see null.h.
 *
 *   main.c  this: devices   ah.c  address handles           cq.c    completion queues
 *   qp.c    queue pairs     mr.c  registered memory, RDMA   work.c  work requests
 */
#include <linux/cpumask.h>
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rculist.h>
#include <net/addrconf.h>
#include <rdma/ib_mad.h>
#include <rdma/rdma_netlink.h>
#include "null.h"

#define ND_MSG_MAX	SZ_1G
#define ND_GIDS		64
#define ND_MANY		SZ_64K	/* limit of resources without cost */

int nd_deaf;
module_param_named(deaf, nd_deaf, int, 0644);
MODULE_PARM_DESC(deaf, "1: receives are not flushed; 2: too late");

/* Protects nd_devices against other changes. */
static DEFINE_SPINLOCK(nd_devices_lock);
static LIST_HEAD(nd_devices);

struct nd_device *nd_device_find(const u8 *mac)
{
	struct nd_device *dev;

	list_for_each_entry_rcu(dev, &nd_devices, entry)
		if (ether_addr_equal_unaligned(dev->mac, mac))
			return dev;
	return NULL;
}

/* ---- attributes ---- */

static int nd_query_device(struct ib_device *ib, struct ib_device_attr *attr,
			   struct ib_udata *udata)
{
	*attr = (struct ib_device_attr) {
		.sys_image_guid			= ib->node_guid,
		.max_mr_size			= ND_PAGES * PAGE_SIZE,
		.page_size_cap			= PAGE_SIZE,
		.device_cap_flags		= IB_DEVICE_MEM_MGT_EXTENSIONS,
		.kernel_cap_flags		= IBK_LOCAL_DMA_LKEY | IBK_ALLOW_USER_UNREG,
		.max_qp				= ND_MANY,
		.max_qp_wr			= ND_WR,
		.max_send_sge			= ND_SGE,
		.max_recv_sge			= ND_SGE,
		.max_sge_rd			= ND_SGE,
		.max_cq				= ND_MANY,
		.max_cqe			= 8 * ND_WR,
		.max_mr				= ND_MANY,
		.max_pd				= ND_MANY,
		.max_ah				= ND_MANY,
		.max_qp_rd_atom			= 128,
		.max_qp_init_rd_atom		= 128,
		.max_fast_reg_page_list_len	= ND_PAGES,
		.max_pkeys			= 1,
	};
	return 0;
}

static int nd_query_port(struct ib_device *ib, u32 port, struct ib_port_attr *attr)
{
	struct net_device *ndev = ib_device_get_netdev(ib, port);

	if (!ndev)
		return -ENODEV;
	*attr = (struct ib_port_attr) {
		.state = netif_running(ndev) && netif_carrier_ok(ndev) ? IB_PORT_ACTIVE :
									 IB_PORT_DOWN,
		.max_mtu = IB_MTU_4096,
		.active_mtu = IB_MTU_4096,
		.gid_tbl_len = ND_GIDS,
		.port_cap_flags = IB_PORT_CM_SUP,
		.max_msg_sz = ND_MSG_MAX,
		.pkey_tbl_len = 1,
		.max_vl_num = 1,
		.active_width = IB_WIDTH_4X,
		.active_speed = IB_SPEED_NDR,
	};
	attr->phys_state = attr->state == IB_PORT_ACTIVE ? IB_PORT_PHYS_STATE_LINK_UP :
							   IB_PORT_PHYS_STATE_DISABLED;
	dev_put(ndev);
	return 0;
}

static int nd_query_pkey(struct ib_device *ib, u32 port, u16 index, u16 *pkey)
{
	*pkey = IB_DEFAULT_PKEY_FULL;
	return 0;
}

static int nd_get_port_immutable(struct ib_device *ib, u32 port,
				 struct ib_port_immutable *immutable)
{
	*immutable = (struct ib_port_immutable) {
		.core_cap_flags	= RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP,
		.pkey_tbl_len	= 1,
		.gid_tbl_len	= ND_GIDS,
		.max_mad_size	= IB_MGMT_MAD_SIZE,
	};
	return 0;
}

static enum rdma_link_layer nd_get_link_layer(struct ib_device *ib, u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}

/* A protection domain without members */
struct nd_pd {
	struct ib_pd	ib;
};

static int nd_alloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return 0;
}

static int nd_dealloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return 0;
}

/*
 * Without these two operations the core does not offer the device to the kernel's consumers,
 * although it never calls them. The arguments of the second depend on the kernel's version.
 */
static struct ib_mr *nd_no_mr(void)
{
	return ERR_PTR(-EOPNOTSUPP);
}

/* ---- register and remove ---- */

/* Only look-ups that compare addresses may still use the device. */
static void nd_dealloc_driver(struct ib_device *ib)
{
	struct nd_device *dev = to_nd_device(ib);

	spin_lock(&nd_devices_lock);
	list_del_rcu(&dev->entry);
	spin_unlock(&nd_devices_lock);
	synchronize_rcu();
}

static const struct ib_device_ops nd_ops = {
	.owner			= THIS_MODULE,
	.driver_id		= RDMA_DRIVER_UNKNOWN,

	.query_device		= nd_query_device,
	.query_port		= nd_query_port,
	.query_pkey		= nd_query_pkey,
	.get_port_immutable	= nd_get_port_immutable,
	.get_link_layer		= nd_get_link_layer,
	.dealloc_driver		= nd_dealloc_driver,

	.alloc_pd		= nd_alloc_pd,
	.dealloc_pd		= nd_dealloc_pd,
	.create_ah		= nd_create_ah,
	.destroy_ah		= nd_destroy_ah,
	.create_cq		= nd_create_cq,
	.destroy_cq		= nd_destroy_cq,
	.poll_cq		= nd_poll_cq,
	.req_notify_cq		= nd_req_notify_cq,
	.create_qp		= nd_create_qp,
	.modify_qp		= nd_modify_qp,
	.destroy_qp		= nd_destroy_qp,
	.post_send		= nd_post_send,
	.post_recv		= nd_post_recv,
	.alloc_mr		= nd_alloc_mr,
	.get_dma_mr		= (void *)nd_no_mr,
	.reg_user_mr		= (void *)nd_no_mr,
	.dereg_mr		= nd_dereg_mr,
	.map_mr_sg		= nd_map_mr_sg,

	INIT_RDMA_OBJ_SIZE(ib_pd, nd_pd, ib),
	INIT_RDMA_OBJ_SIZE(ib_ah, nd_ah, ib),
	INIT_RDMA_OBJ_SIZE(ib_cq, nd_cq, ib),
	INIT_RDMA_OBJ_SIZE(ib_qp, nd_qp, ib),
};

static struct rdma_link_ops nd_link_ops;

static void nd_setup(struct nd_device *dev, const struct net_device *ndev)
{
	struct ib_device *ib = &dev->ib;

	ether_addr_copy(dev->mac, ndev->dev_addr);
	addrconf_addr_eui48((u8 *)&ib->node_guid, ndev->dev_addr);
	strscpy(ib->node_desc, "null", sizeof(ib->node_desc));
	ib->node_type = RDMA_NODE_IB_CA;
	ib->phys_port_cnt = 1;
	ib->num_comp_vectors = num_possible_cpus();
	ib->link_ops = &nd_link_ops;
	ib_set_device_ops(ib, &nd_ops);
}

/* Before the device is registered, because connections may come at once. */
static void nd_enter(struct nd_device *dev)
{
	spin_lock(&nd_devices_lock);
	list_add_tail_rcu(&dev->entry, &nd_devices);
	spin_unlock(&nd_devices_lock);
}

/* The interface must stay as long as the device. */
static int nd_newlink(const char *name, struct net_device *ndev)
{
	struct nd_device *dev = ib_alloc_device(nd_device, ib);
	int ret;

	if (!dev)
		return -ENOMEM;
	nd_setup(dev, ndev);
	nd_enter(dev);
	ret = ib_device_set_netdev(&dev->ib, ndev, 1) ?: ib_register_device(&dev->ib, name, NULL);
	if (ret)
		ib_dealloc_device(&dev->ib);
	return ret;
}

static struct rdma_link_ops nd_link_ops = {
	.type		= "null",
	.newlink	= nd_newlink,
};

static int __init nd_init(void)
{
	rdma_link_register(&nd_link_ops);
	return 0;
}

static void __exit nd_exit(void)
{
	rdma_link_unregister(&nd_link_ops);
	ib_unregister_driver(RDMA_DRIVER_UNKNOWN);
}

module_init(nd_init);
module_exit(nd_exit);
MODULE_DESCRIPTION("RDMA devices that cost next to nothing, for kfabric's benchmarks");
MODULE_LICENSE("GPL");
MODULE_ALIAS_RDMA_LINK("null");
