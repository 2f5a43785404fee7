// SPDX-License-Identifier: GPL-2.0
/*
 * info.c - discovery: the endpoints that are offered for each address of the namespace that belongs
 * to an RDMA device. The fabric is named after the subnet, the domain after the device.
 */
#include <linux/mm.h>
#include <kfi_cxi_ext.h>
#include "verbs.h"

#define KV_COMM_CAPS	(KFI_LOCAL_COMM | KFI_REMOTE_COMM)
#define KV_MSG_CAPS	(KFI_MSG | KFI_SEND | KFI_RECV | KFI_RMA | KFI_READ | KFI_WRITE |	\
			 KFI_REMOTE_READ | KFI_REMOTE_WRITE | KV_COMM_CAPS)
#define KV_MSG_FLAGS	(KFI_COMPLETION | KFI_INJECT | KFI_REMOTE_CQ_DATA)
#define KV_MSG_LEVELS	(KFI_INJECT_COMPLETE | KFI_TRANSMIT_COMPLETE)
/* The order of a reliable connection: a read may return bytes that a later write has written. */
#define KV_MSG_ORDER	(KFI_ORDER_SAS | KFI_ORDER_SAW | KFI_ORDER_WAW | KFI_ORDER_RAW |	\
			 KFI_ORDER_RAR)

u64 kv_levels(enum kfi_ep_type type)
{
	return type == KFI_EP_MSG ? KV_MSG_LEVELS : KFI_PROTO_LEVELS;
}

/* An RDM endpoint is the message protocol over queue pairs. */
static void kv_offer_rdm(struct kfi_info *info)
{
	static const struct kfi_proto_offer offer = {
		.caps = KV_COMM_CAPS | KFI_DATA_CHECK,
		.tclass = KFI_TC_DSCP,
		.protocol = KFI_PROTO_KFI_RC,
		.depth = KV_DEPTH_MAX,
		.max_msg = KV_MSG_MAX,
	};

	kfi_proto_offer(info, KFI_EP_RDM, &offer);
}

/* An MSG endpoint is a queue pair. */
static void kv_offer_msg(struct kfi_info *info, const struct kv_dev *dev)
{
	const struct ib_device_attr *a = &dev->ib->attrs;
	u32 sge = min3(KV_SGE, a->max_send_sge, a->max_recv_sge);

	info->caps = KV_MSG_CAPS;
	*info->tx_attr = (struct kfi_tx_attr) {
		.caps = info->caps,
		.op_flags = KV_MSG_FLAGS | KV_MSG_LEVELS,
		.msg_order = KV_MSG_ORDER,
		.inject_size = min_t(size_t, KV_INJECT_MAX, dev->max_wr_size),
		.size = KV_DEPTH_MAX,
		.iov_limit = sge,
		.rma_iov_limit = KFI_PROTO_RMA_MAX,
		.tclass = KFI_TC_DSCP,
	};
	*info->rx_attr = (struct kfi_rx_attr) {
		.caps = info->caps,
		.op_flags = KV_MSG_FLAGS,
		.msg_order = KV_MSG_ORDER,
		.size = kv_max_receives(a),
		.iov_limit = sge,
	};
	*info->ep_attr = (struct kfi_ep_attr) {
		.type = KFI_EP_MSG,
		.protocol = KFI_PROTO_RDMA_CM_IB_RC,
		.protocol_version = 1,
		.max_msg_size = dev->max_wr_size,
		.max_order_raw_size = SIZE_MAX,
		.max_order_waw_size = SIZE_MAX,
	};
	*info->domain_attr = (struct kfi_domain_attr) {
		.mr_mode = KFI_MR_VIRT_ADDR | KFI_MR_ALLOCATED | KFI_MR_PROV_KEY | KFI_MR_ENDPOINT,
		.mr_key_size = sizeof(u32),
		.cq_data_size = sizeof(__be32),
		.max_ep_tx_ctx = 1,
		.max_ep_rx_ctx = 1,
		.caps = KV_COMM_CAPS | KFI_DATA_CHECK,
	};
}

/* Set what the device limits for endpoints of both types. */
static void kv_offer_device(struct kfi_domain_attr *attr, const struct kv_dev *dev)
{
	const struct ib_device_attr *a = &dev->ib->attrs;

	attr->name = (char *)dev_name(&dev->ib->dev);
	attr->ep_cnt = min(a->max_qp, 65536);
	attr->mr_iov_limit = min(a->max_fast_reg_page_list_len, KV_FRMR_PAGES);
	attr->mr_cnt = min(a->max_mr, 1 << 20);
}

/*
 * Offer the endpoints of an address. kfi_query_add() copies the info, so its members may be on the
 * stack. @short_names: only unconnected endpoints, under the short name of the address if it has
 * one.
 */
static int kv_offer(struct kfi_query *q, const struct kv_dev *dev, u32 port,
		    struct kfi_inaddr_local *local, struct kfi_inaddr_filter *filter,
		    bool short_names)
{
	struct kfi_tx_attr tx;
	struct kfi_rx_attr rx;
	struct kfi_ep_attr ep;
	struct kfi_domain_attr domain;
	struct kfi_fabric_attr fabric = { .name = local->fabric };
	struct kfi_info info = {
		.tx_attr = &tx,
		.rx_attr = &rx,
		.ep_attr = &ep,
		.domain_attr = &domain,
		.fabric_attr = &fabric,
	};
	struct kcxi_addr name;
	int ret;

	if (!short_names)
		kfi_inaddr_offer(&info, local, filter);
	else if (!kfi_inaddr_short_offer(q, filter, local, &name, &info))
		return 0;
	kv_offer_rdm(&info);
	kv_offer_device(&domain, dev);
	q->hw_recv = false;
	ret = kfi_query_add(q, &info);
	if (ret || short_names || !rdma_cap_ib_cm(dev->ib, port))
		return ret;	/* iWARP has no queue pairs for MSG endpoints, see wire-verbs.md */
	kv_offer_msg(&info, dev);
	kv_offer_device(&domain, dev);
	q->hw_recv = true;
	return kfi_query_add(q, &info);
}

/* The hints may name a domain by the name of the interface or of the device. */
static bool kv_named(const struct kfi_inaddr_filter *filter, const struct kfi_inaddr_local *local,
		     const struct kv_dev *dev)
{
	return kfi_inaddr_named(filter, local->ifname) ||
	       kfi_inaddr_named(filter, dev_name(&dev->ib->dev));
}

/*
 * Return: 0; -ENODATA if the address has no device, or a device that the hints exclude; another
 * negative errno
 */
static int kv_offer_at(struct kfi_query *q, struct kfi_inaddr_local *local,
		       struct kfi_inaddr_filter *filter, bool short_names)
{
	struct kv_dev *dev;
	int ret = -ENODATA;
	u32 port;

	dev = kv_dev_at(q->net, &local->addr, &port);
	if (IS_ERR_OR_NULL(dev))
		return dev ? PTR_ERR(dev) : -ENODATA;
	if (kv_named(filter, local, dev))
		ret = kv_offer(q, dev, port, local, filter, short_names);
	kv_dev_put(dev);
	return ret;
}

int kv_getinfo(struct kfi_query *q)
{
	struct kfi_inaddr_filter filter;

	return kfi_inaddr_filter(q, false, &filter) ?:
	       kfi_inaddr_getinfo(q, &filter, kv_offer_at);
}
