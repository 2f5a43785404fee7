// SPDX-License-Identifier: GPL-2.0
/*
 * info.c - discovery: each bridge is a domain. Bridges belong to the machine, so they are offered
 * in the initial network namespace only.
 */
#include "ntb.h"

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
	const struct kfi_proto_offer link = {
		.caps = KFI_REMOTE_COMM | (nt_pages_device(dev->link) ? KFI_PLACE : 0),
		.protocol = KFI_PROTO_KFI_NTB,
		.depth = NT_DEPTH,
		.max_msg = NT_MSG_MAX,
	};
	struct kfi_tx_attr tx;
	struct kfi_rx_attr rx;
	struct kfi_ep_attr ep;
	struct kfi_domain_attr domain;
	struct kfi_fabric_attr fabric = { .name = "ntb" };
	struct kfi_info offer = {
		.tx_attr = &tx,
		.rx_attr = &rx,
		.ep_attr = &ep,
		.domain_attr = &domain,
		.fabric_attr = &fabric,
	};
	struct ntw_addr name[2];

	kfi_proto_offer(&offer, type, &link);
	domain.name = (char *)nt_link_name(dev->link);
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
	u32 side = nt_link_side(dev->link), want;
	int ret;

	/* The peer's number is valid if there is one of ours. */
	if (side == NT_NO_SIDE)
		return 0;
	want = source ? side : nt_link_peer_side(dev->link);
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

struct nt_parts {
	int	(*emit)(void *arg, const struct kfi_part *part);
	void	*arg;
};

static int nt_parts_dev(struct nt_dev *dev, void *arg)
{
	struct nt_parts *w = arg;

	return nt_link_parts(dev->link, dev->number, w->emit, w->arg);
}

int nt_parts(struct net *net, int (*emit)(void *arg, const struct kfi_part *part), void *arg)
{
	struct nt_parts w = { emit, arg };

	return net == &init_net ? nt_devs_each(nt_parts_dev, &w) : 0;
}
