// SPDX-License-Identifier: GPL-2.0
/*
 * info.c - discovery: each bridge is a domain. Bridges belong to the machine, so they are offered
 * in the initial network namespace only.
 */
#include "ntb.h"

#define NT_DIR_CAPS	(KFI_SEND | KFI_RECV)
#define NT_RMA_CAPS	(KFI_RMA | KFI_ATOMIC | KFI_READ | KFI_WRITE | KFI_REMOTE_READ |	\
			 KFI_REMOTE_WRITE)
#define NT_MSG_CAPS	(KFI_MSG | KFI_TAGGED | NT_DIR_CAPS | NT_RMA_CAPS | KFI_RMA_EVENT |	\
			 KFI_MULTI_RECV | KFI_REMOTE_COMM)
#define NT_RDM_CAPS	(NT_MSG_CAPS | KFI_SOURCE | KFI_DIRECTED_RECV | KFI_TAGGED_RMA |	\
			 KFI_NAMED_RX_CTX)
#define NT_OP_FLAGS	(KFI_COMPLETION | KFI_INJECT | KFI_REMOTE_CQ_DATA | KFI_MULTI_RECV)
/* The same as with all links of the message protocol, see providers/sockets/addr.c */
#define NT_ORDER	(KFI_ORDER_SAS | KFI_ORDER_SAW | KFI_ORDER_WAW | KFI_ORDER_RAW |	\
			 KFI_ORDER_RAR | KFI_ORDER_ATOMIC_RAR | KFI_ORDER_ATOMIC_RAW |		\
			 KFI_ORDER_ATOMIC_WAR | KFI_ORDER_ATOMIC_WAW)

/**
 * struct nt_filter - what a query requests
 * @q: the query
 * @node: its node, or NULL
 * @src: port of the source, 0 for any
 * @dest: port of the destination, 0 for any
 * @any: something was offered
 */
struct nt_filter {
	struct kfi_query	*q;
	const char		*node;
	u32			src, dest;
	bool			any;
};

/* Fill in the names of this end and of the peer; @name is memory for both. */
static void nt_offer_names(struct nt_filter *w, struct nt_dev *dev, struct kfi_info *info,
			   struct ntw_addr *name)
{
	const struct kfi_info *h = w->q->hints;

	name[0] = (struct ntw_addr) { cpu_to_le32(nt_link_side(dev->link)), cpu_to_le32(w->src) };
	name[1] = (struct ntw_addr) {
		cpu_to_le32(nt_link_peer_side(dev->link)), cpu_to_le32(w->dest)
	};
	info->addr_format = KFI_ADDR_NTB;
	info->src_addr = &name[0];
	info->src_addrlen = sizeof(name[0]);
	if (w->dest) {
		info->dest_addr = &name[1];
		info->dest_addrlen = sizeof(name[1]);
	} else if (h && h->dest_addr && h->dest_addrlen == sizeof(name[1])) {
		info->dest_addr = h->dest_addr;
		info->dest_addrlen = sizeof(name[1]);
	}
}

static int nt_offer(struct nt_filter *w, struct nt_dev *dev, enum kfi_ep_type type)
{
	bool rdm = type == KFI_EP_RDM;
	u64 places = nt_pages_device(dev->link) ? KFI_PLACE : 0;
	u64 caps = (rdm ? NT_RDM_CAPS : NT_MSG_CAPS) | places;
	struct kfi_tx_attr tx = {
		.caps = caps,
		.op_flags = NT_OP_FLAGS | KFI_PROTO_LEVELS,
		.msg_order = NT_ORDER,
		.inject_size = NT_INJECT,
		.size = NT_DEPTH,
		.iov_limit = NT_IOV_MAX,
		.rma_iov_limit = KFI_PROTO_RMA_MAX,
	};
	struct kfi_rx_attr rx = {
		.caps = caps,
		.op_flags = NT_OP_FLAGS,
		.msg_order = NT_ORDER,
		.size = NT_DEPTH,
		.iov_limit = NT_IOV_MAX,
	};
	struct kfi_ep_attr ep = {
		.type = type,
		.protocol = KFI_PROTO_KFI_NTB,
		.protocol_version = KFI_PROTO_VERSION,
		.max_msg_size = NT_MSG_MAX,
		.max_order_raw_size = SIZE_MAX,
		.max_order_waw_size = SIZE_MAX,
		.mem_tag_format = ~0ULL,
	};
	struct kfi_domain_attr domain = {
		.name = (char *)nt_link_name(dev->link),
		.mr_key_size = sizeof(u64),
		.cq_data_size = sizeof(u64),
		.cq_cnt = 65536,
		.ep_cnt = 65536,
		.tx_ctx_cnt = 65536,
		.rx_ctx_cnt = 65536,
		.max_ep_tx_ctx = rdm ? NT_CTX_MAX : 1,
		.max_ep_rx_ctx = rdm ? NT_CTX_MAX : 1,
		.max_ep_auth_key = 1,
		.cntr_cnt = 65536,
		.mr_iov_limit = 1024,
		.caps = KFI_REMOTE_COMM,
		.mr_cnt = 1 << 20,
	};
	struct kfi_fabric_attr fabric = { .name = "ntb" };
	struct kfi_info offer = {
		.caps = caps,
		.tx_attr = &tx,
		.rx_attr = &rx,
		.ep_attr = &ep,
		.domain_attr = &domain,
		.fabric_attr = &fabric,
	};
	struct ntw_addr name[2];

	nt_offer_names(w, dev, &offer, name);
	return kfi_query_add(w->q, &offer);
}

/* A source address in the hints restricts the offers, too, unless a node names the source. */
static bool nt_hint_ok(struct nt_filter *w, struct nt_dev *dev)
{
	const struct kfi_info *h = w->q->hints;
	const struct ntw_addr *src = h ? h->src_addr : NULL;

	if (!src || (w->q->flags & KFI_SOURCE && w->node))
		return true;
	if (h->src_addrlen != sizeof(*src) || le32_to_cpu(src->side) != nt_link_side(dev->link))
		return false;
	w->src = w->src ?: le32_to_cpu(src->port);
	return true;
}

/* Return: 0: continue with the next bridge; negative: stop */
static int nt_offer_dev(struct nt_dev *dev, void *arg)
{
	struct nt_filter *w = arg;
	bool source = w->q->flags & KFI_SOURCE;
	u32 side, want = source ? nt_link_side(dev->link) : nt_link_peer_side(dev->link);
	int ret;

	/* The name of a bridge stands for that bridge only, not for others with the same number. */
	if (source && w->node && kstrtou32(w->node, 10, &side) &&
	    strcmp(w->node, nt_link_name(dev->link)))
		return 0;
	if (w->node && (nt_node_side(dev, w->node, &side) || side != want))
		return 0;
	if (!nt_hint_ok(w, dev))
		return 0;
	w->any = true;
	ret = nt_offer(w, dev, KFI_EP_RDM);
	return ret ?: nt_offer(w, dev, KFI_EP_MSG);
}

int nt_getinfo(struct kfi_query *q)
{
	struct nt_filter w = { .q = q, .node = q->node };
	int ret;

	if (q->net != &init_net)
		return -ENODATA;
	if (q->service && nt_port_parse(q->service, q->flags & KFI_SOURCE ? &w.src : &w.dest))
		return -ENODATA;
	ret = nt_devs_each(nt_offer_dev, &w);
	return ret ?: w.any ? 0 : -ENODATA;
}
