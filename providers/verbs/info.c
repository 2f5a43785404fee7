// SPDX-License-Identifier: GPL-2.0
/*
 * info.c - what we offer: for each address of the namespace that an RDMA device serves, what that device can do. The fabric is
 * named after the subnet, the domain after the device.
 */
#include <linux/mm.h>
#include "dev.h"
#include "wire.h"

#define KV_DIR_CAPS	(KFI_SEND | KFI_RECV)
#define KV_RMA_CAPS	(KFI_RMA | KFI_ATOMIC | KFI_READ | KFI_WRITE | KFI_REMOTE_READ | KFI_REMOTE_WRITE)
#define KV_COMM_CAPS	(KFI_LOCAL_COMM | KFI_REMOTE_COMM)
#define KV_MSG_CAPS	(KFI_MSG | KFI_TAGGED | KV_DIR_CAPS | KV_RMA_CAPS | KFI_RMA_EVENT | KFI_MULTI_RECV | KV_COMM_CAPS)
#define KV_RDM_CAPS	(KV_MSG_CAPS | KFI_SOURCE | KFI_DIRECTED_RECV | KFI_TAGGED_RMA | KFI_NAMED_RX_CTX)
#define KV_DGRAM_CAPS	(KFI_MSG | KV_DIR_CAPS | KFI_SOURCE | KFI_MULTI_RECV | KV_COMM_CAPS)
#define KV_OP_FLAGS	(KFI_COMPLETION | KFI_INJECT | KFI_REMOTE_CQ_DATA | KFI_MULTI_RECV)
/* As requests of a reliable connection are performed; a read may take what a later write brings. */
#define KV_ORDER	(KFI_ORDER_SAS | KFI_ORDER_SAW | KFI_ORDER_WAW | KFI_ORDER_RAW | KFI_ORDER_RAR |	\
			 KFI_ORDER_ATOMIC_RAR | KFI_ORDER_ATOMIC_RAW | KFI_ORDER_ATOMIC_WAR | KFI_ORDER_ATOMIC_WAW)

/* A datagram's fate is unknown once it is sent. */
u64 kv_levels(enum kfi_ep_type type)
{
	return type == KFI_EP_DGRAM ? KFI_INJECT_COMPLETE :
		KFI_INJECT_COMPLETE | KFI_TRANSMIT_COMPLETE | KFI_DELIVERY_COMPLETE | KFI_COMMIT_COMPLETE;
}

static u64 kv_caps(enum kfi_ep_type type)
{
	switch (type) {
	case KFI_EP_RDM:
		return KV_RDM_CAPS;
	case KFI_EP_MSG:
		return KV_MSG_CAPS;
	default:
		return KV_DGRAM_CAPS;
	}
}

/* A datagram is one packet of the port's. 0: it has no datagrams; iWARP has none. */
static size_t kv_max_msg(const struct kv_dev *dev, u32 port, enum kfi_ep_type type)
{
	struct ib_port_attr attr;

	if (type != KFI_EP_DGRAM)
		return KV_MSG_MAX;
	if (!rdma_cap_ib_cm(dev->ib, port) || ib_query_port(dev->ib, port, &attr))
		return 0;
	return ib_mtu_enum_to_int(attr.active_mtu) - sizeof(struct kvw_dgram_hdr);
}

static void kv_offer_transfer(struct kfi_info *info, enum kfi_ep_type type, size_t max_msg)
{
	bool dgram = type == KFI_EP_DGRAM;

	info->caps = kv_caps(type);
	*info->tx_attr = (struct kfi_tx_attr) {
		.caps = info->caps,
		.op_flags = KV_OP_FLAGS | kv_levels(type),
		.msg_order = dgram ? 0 : KV_ORDER,
		.inject_size = min(KV_INJECT_MAX, max_msg),
		.size = KV_DEPTH_MAX,
		.iov_limit = KV_IOV_MAX,
		.rma_iov_limit = dgram ? 0 : KV_RMA_MAX,
		.tclass = KFI_TC_DSCP,
	};
	*info->rx_attr = (struct kfi_rx_attr) {
		.caps = info->caps,
		.op_flags = KV_OP_FLAGS,
		.msg_order = dgram ? 0 : KV_ORDER,
		.size = KV_DEPTH_MAX,
		.iov_limit = KV_IOV_MAX,
	};
	*info->ep_attr = (struct kfi_ep_attr) {
		.type = type,
		.protocol = dgram ? KFI_PROTO_KFI_UD : KFI_PROTO_KFI_RC,
		.protocol_version = 1,
		.max_msg_size = max_msg,
		.max_order_raw_size = dgram ? 0 : SIZE_MAX,
		.max_order_waw_size = dgram ? 0 : SIZE_MAX,
		.mem_tag_format = dgram ? 0 : ~0ULL,
	};
}

static void kv_offer_domain(struct kfi_domain_attr *attr, const struct kv_dev *dev, enum kfi_ep_type type)
{
	const struct ib_device_attr *a = &dev->ib->attrs;
	int qps = min(a->max_qp, 65536);

	*attr = (struct kfi_domain_attr) {
		.name = (char *)dev_name(&dev->ib->dev),
		.mr_key_size = sizeof(u64),
		.cq_data_size = sizeof(u64),
		.cq_cnt = 65536,
		.ep_cnt = qps,
		.tx_ctx_cnt = qps,
		.rx_ctx_cnt = qps,
		.max_ep_tx_ctx = type == KFI_EP_RDM ? KV_CTX_MAX : 1,
		.max_ep_rx_ctx = type == KFI_EP_RDM ? KV_CTX_MAX : 1,
		.max_ep_auth_key = type == KFI_EP_DGRAM ? 0 : 1,
		.cntr_cnt = 65536,
		.mr_iov_limit = min(a->max_fast_reg_page_list_len, KV_FRMR_PAGES),
		.caps = KV_COMM_CAPS,
		.mr_cnt = min(a->max_mr, 1 << 20),
	};
}

/* Everything that the offer points to is borrowed. */
static int kv_offer(struct kfi_query *q, const struct kv_dev *dev, u32 port, struct kfi_inaddr_local *local,
		    struct kfi_inaddr_wish *wish)
{
	static const enum kfi_ep_type types[] = { KFI_EP_RDM, KFI_EP_MSG, KFI_EP_DGRAM };
	struct kfi_tx_attr tx;
	struct kfi_rx_attr rx;
	struct kfi_ep_attr ep;
	struct kfi_domain_attr domain;
	struct kfi_fabric_attr fabric = { .name = local->fabric };
	struct kfi_info info = {
		.tx_attr = &tx, .rx_attr = &rx, .ep_attr = &ep, .domain_attr = &domain, .fabric_attr = &fabric,
	};
	size_t max_msg;
	int i, ret = 0;

	kfi_inaddr_offer(&info, local, wish);
	for (i = 0; !ret && i < ARRAY_SIZE(types); i++) {
		max_msg = kv_max_msg(dev, port, types[i]);
		if (!max_msg)
			continue;
		kv_offer_transfer(&info, types[i], max_msg);
		kv_offer_domain(&domain, dev, types[i]);
		ret = kfi_query_add(q, &info);
	}
	return ret;
}

/* Both the interface's and the device's name will do. */
static bool kv_named(const struct kfi_inaddr_wish *wish, const struct kfi_inaddr_local *local,
		     const struct kv_dev *dev)
{
	return kfi_inaddr_named(wish, local->ifname) || kfi_inaddr_named(wish, dev_name(&dev->ib->dev));
}

/* 0: offered; -ENODATA: nothing at this address. */
static int kv_offer_at(struct kfi_query *q, struct kfi_inaddr_local *local, struct kfi_inaddr_wish *wish)
{
	struct kv_dev *dev;
	int ret = -ENODATA;
	u32 port;

	if (!kfi_inaddr_grants(wish, local))
		return -ENODATA;
	dev = kv_dev_at(q->net, &local->addr, &port);
	if (IS_ERR_OR_NULL(dev))
		return dev ? PTR_ERR(dev) : -ENODATA;
	kfi_inaddr_set_port(&local->addr, wish->port);
	if (kv_named(wish, local, dev))
		ret = kv_offer(q, dev, port, local, wish);
	kv_dev_put(dev);
	return ret;
}

int kv_getinfo(struct kfi_query *q)
{
	struct kfi_inaddr_locals *all;
	struct kfi_inaddr_wish wish;
	bool any = false;
	unsigned int i;
	int ret = kfi_inaddr_wish(q, &wish);

	if (ret)
		return ret;
	all = kfi_inaddr_locals(q->net);
	if (!all)
		return -ENOMEM;
	for (i = 0; i < all->n && (!ret || ret == -ENODATA); i++) {
		ret = kv_offer_at(q, &all->at[i], &wish);
		any |= !ret;
	}
	kvfree(all);
	if (ret && ret != -ENODATA)
		return ret;
	return any ? 0 : -ENODATA;
}
