// SPDX-License-Identifier: GPL-2.0
/*
 * info.c - discovery: the endpoints that are offered for each address of the namespace that belongs
 * to an RDMA device. The fabric is named after the subnet, the domain after the device.
 */
#include <linux/mm.h>
#include <kfi_cxi_ext.h>
#include "verbs.h"

#define KV_DIR_CAPS	(KFI_SEND | KFI_RECV)
#define KV_RMA_CAPS	(KFI_RMA | KFI_READ | KFI_WRITE | KFI_REMOTE_READ | KFI_REMOTE_WRITE)
#define KV_COMM_CAPS	(KFI_LOCAL_COMM | KFI_REMOTE_COMM)
#define KV_MSG_CAPS	(KFI_MSG | KV_DIR_CAPS | KV_RMA_CAPS | KV_COMM_CAPS)
#define KV_RDM_CAPS	(KV_MSG_CAPS | KFI_TAGGED | KFI_ATOMIC | KFI_RMA_EVENT |	\
			 KFI_MULTI_RECV | KFI_SOURCE | KFI_DIRECTED_RECV |		\
			 KFI_TAGGED_RMA | KFI_NAMED_RX_CTX)
#define KV_MSG_LEVELS	(KFI_INJECT_COMPLETE | KFI_TRANSMIT_COMPLETE)
#define KV_OP_FLAGS	(KFI_COMPLETION | KFI_INJECT | KFI_REMOTE_CQ_DATA | KFI_MULTI_RECV)
/* The order of a reliable connection: a read may return bytes that a later write has written. */
#define KV_MSG_ORDER	(KFI_ORDER_SAS | KFI_ORDER_SAW | KFI_ORDER_WAW | KFI_ORDER_RAW |	\
			 KFI_ORDER_RAR)
#define KV_ORDER	(KV_MSG_ORDER | KFI_ORDER_ATOMIC_RAR | KFI_ORDER_ATOMIC_RAW |		\
			 KFI_ORDER_ATOMIC_WAR | KFI_ORDER_ATOMIC_WAW)

/**
 * struct kv_kind - a kind of endpoint
 * @type: type of the endpoint; @protocol: its protocol; @caps: its capabilities
 * @levels: completion levels; @flags: other flags of operations; @order: order of operations
 * @iov: elements of a vector; @data: bytes of remote CQ data; @ctxs: contexts in each direction
 * @keys: it can have an authorization key
 * @mr_mode: requirements on the owners of regions; @mr_key: bytes of a region's key
 * @hw_recv: the device fills receives itself
 */
static const struct kv_kind {
	enum kfi_ep_type	type;
	u32			protocol;
	u64			caps;
	u64			levels;
	u64			flags;
	u64			order;
	u32			iov;
	u8			data;
	u16			ctxs;
	int			mr_mode;
	u8			mr_key;
	bool			keys;
	bool			hw_recv;
} kv_kinds[] = {
	{
		.type = KFI_EP_RDM, .protocol = KFI_PROTO_KFI_RC,
		.caps = KV_RDM_CAPS, .levels = KFI_PROTO_LEVELS, .flags = KV_OP_FLAGS,
		.order = KV_ORDER, .iov = KV_IOV_MAX, .data = sizeof(u64), .ctxs = KV_CTX_MAX,
		.mr_key = sizeof(u64), .keys = true,
	}, {
		.type = KFI_EP_MSG, .protocol = KFI_PROTO_RDMA_CM_IB_RC,
		.caps = KV_MSG_CAPS, .levels = KV_MSG_LEVELS,
		.flags = KV_OP_FLAGS & ~KFI_MULTI_RECV,
		.order = KV_MSG_ORDER, .iov = KV_SGE, .data = sizeof(__be32), .ctxs = 1,
		.mr_mode = KFI_MR_VIRT_ADDR | KFI_MR_ALLOCATED | KFI_MR_PROV_KEY | KFI_MR_ENDPOINT,
		.mr_key = sizeof(u32), .hw_recv = true,
	},
};

u64 kv_levels(const struct kfi_ep_attr *attr)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kv_kinds); i++)
		if (kv_kinds[i].type == attr->type && kv_kinds[i].protocol == attr->protocol)
			return kv_kinds[i].levels;
	/* no protocol was named */
	return attr->type == KFI_EP_MSG ? KV_MSG_LEVELS : KFI_PROTO_LEVELS;
}

/*
 * Return the longest message; for queue pairs the port limits it. 0: iWARP has no MSG endpoints,
 * see docs/wire-verbs.md
 */
static size_t kv_max_msg(const struct kv_dev *dev, u32 port, const struct kv_kind *kind)
{
	struct ib_port_attr attr;

	if (kind->type == KFI_EP_RDM)
		return KV_MSG_MAX;
	if (!rdma_cap_ib_cm(dev->ib, port) || ib_query_port(dev->ib, port, &attr))
		return 0;
	return min_t(size_t, KV_MSG_MAX, attr.max_msg_sz);
}

static u32 kv_iov_limit(const struct kv_dev *dev, const struct kv_kind *kind)
{
	const struct ib_device_attr *a = &dev->ib->attrs;

	if (!kind->hw_recv)
		return kind->iov;
	return min3(kind->iov, (u32)a->max_send_sge, (u32)a->max_recv_sge);
}

static u32 kv_depth(const struct kv_dev *dev, const struct kv_kind *kind)
{
	return kind->hw_recv ? kv_max_receives(&dev->ib->attrs) : KV_DEPTH_MAX;
}

static void kv_offer_transfer(struct kfi_info *info, const struct kv_dev *dev,
			      const struct kv_kind *kind, size_t max_msg)
{
	size_t order = kind->order & KFI_ORDER_WAW ? SIZE_MAX : 0;

	info->caps = kind->caps;
	*info->tx_attr = (struct kfi_tx_attr) {
		.caps = info->caps,
		.op_flags = kind->flags | kind->levels,
		.msg_order = kind->order,
		.inject_size = min(KV_INJECT_MAX, max_msg),
		.size = KV_DEPTH_MAX,
		.iov_limit = kv_iov_limit(dev, kind),
		.rma_iov_limit = kind->caps & KFI_RMA ? KFI_PROTO_RMA_MAX : 0,
		.tclass = KFI_TC_DSCP,
	};
	*info->rx_attr = (struct kfi_rx_attr) {
		.caps = info->caps,
		.op_flags = kind->flags,
		.msg_order = kind->order,
		.size = kv_depth(dev, kind),
		.iov_limit = kv_iov_limit(dev, kind),
	};
	*info->ep_attr = (struct kfi_ep_attr) {
		.type = kind->type,
		.protocol = kind->protocol,
		.protocol_version = kind->hw_recv ? 1 : KFI_PROTO_VERSION,
		.max_msg_size = max_msg,
		.max_order_raw_size = order,
		.max_order_waw_size = order,
		.mem_tag_format = kind->caps & KFI_TAGGED ? ~0ULL : 0,
	};
}

static void kv_offer_domain(struct kfi_domain_attr *attr, const struct kv_dev *dev,
			    const struct kv_kind *kind)
{
	const struct ib_device_attr *a = &dev->ib->attrs;
	int qps = min(a->max_qp, 65536);

	*attr = (struct kfi_domain_attr) {
		.name = (char *)dev_name(&dev->ib->dev),
		.mr_mode = kind->mr_mode,
		.mr_key_size = kind->mr_key,
		.cq_data_size = kind->data,
		.cq_cnt = 65536,
		.ep_cnt = qps,
		.tx_ctx_cnt = qps,
		.rx_ctx_cnt = qps,
		.max_ep_tx_ctx = kind->ctxs,
		.max_ep_rx_ctx = kind->ctxs,
		.max_ep_auth_key = kind->keys,
		.cntr_cnt = 65536,
		.mr_iov_limit = min(a->max_fast_reg_page_list_len, KV_FRMR_PAGES),
		.caps = KV_COMM_CAPS,
		.mr_cnt = min(a->max_mr, 1 << 20),
	};
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
	const struct kv_kind *kind;
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
	size_t max_msg;
	int ret = 0;

	if (!short_names)
		kfi_inaddr_offer(&info, local, filter);
	else if (!kfi_inaddr_short_offer(q, filter, local, &name, &info))
		return 0;
	for (kind = kv_kinds; !ret && kind < kv_kinds + ARRAY_SIZE(kv_kinds); kind++) {
		max_msg = kv_max_msg(dev, port, kind);
		if (!max_msg || (short_names && kind->type != KFI_EP_RDM))
			continue;
		kv_offer_transfer(&info, dev, kind, max_msg);
		kv_offer_domain(&domain, dev, kind);
		q->hw_recv = kind->hw_recv;
		ret = kfi_query_add(q, &info);
	}
	return ret;
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
	return kfi_inaddr_getinfo(q, kv_offer_at);
}
