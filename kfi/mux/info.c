// SPDX-License-Identifier: GPL-2.0
/*
 * info.c - discovery: each way is a domain, whose network has one other end (KFI_ONE_PEER). Ways
 * belong to the machine, so they are offered in the initial network namespace only.
 */
#include <linux/export.h>
#include "mux.h"

/**
 * struct kmx_filter - what a query requests
 * @q: the query
 * @node: its node, or NULL
 * @src: port of the source, 0 for any
 * @dest: port of the destination, 0 for any
 * @up: ways that are up are being offered; the others follow
 * @offered: numbers of the ways that were visited as such
 * @any: something was offered
 * @err: otherwise: why not, or 0
 */
struct kmx_filter {
	struct kfi_query	*q;
	const char		*node;
	u32			src, dest;
	bool			up;
	struct xarray		offered;
	bool			any;
	int			err;
};

static int kmx_offer(struct kmx_filter *w, struct kfi_mux *mux, enum kfi_ep_type type)
{
	const struct kfi_mux_prov *mp = mux->prov;
	const struct kfi_info *h = w->q->hints;
	const struct kfi_proto_offer link = {
		.caps = KFI_REMOTE_COMM | mux->caps,
		.protocol = mp->protocol,
		.depth = KMX_DEPTH,
		.max_msg = KMX_MSG_MAX,
	};
	u8 own[KFI_ADDR_MAX] __aligned(8), peer[KFI_ADDR_MAX] __aligned(8);
	struct kfi_tx_attr tx;
	struct kfi_rx_attr rx;
	struct kfi_ep_attr ep;
	struct kfi_domain_attr domain;
	struct kfi_fabric_attr fabric = { .name = (char *)mp->prov.name };
	struct kfi_info offer = {
		.tx_attr = &tx,
		.rx_attr = &rx,
		.ep_attr = &ep,
		.domain_attr = &domain,
		.fabric_attr = &fabric,
	};

	kfi_proto_offer(&offer, type, &link);
	/* a consumer finds the domain by the name that it knows */
	domain.name = (char *)mux->name;
	if (h && h->domain_attr && h->domain_attr->name &&
	    kmx_is_called(mux, h->domain_attr->name))
		domain.name = h->domain_attr->name;
	domain.caps |= KFI_ONE_PEER;
	offer.addr_format = mp->addr_format;
	kmx_addr_set(mp, own, mux->own, w->src);
	offer.src_addr = own;
	offer.src_addrlen = kmx_addr_len(mp);
	if (w->dest) {
		kmx_addr_set(mp, peer, mux->peer, w->dest);
		offer.dest_addr = peer;
		offer.dest_addrlen = kmx_addr_len(mp);
	} else if (h && h->dest_addr && h->dest_addrlen == kmx_addr_len(mp)) {
		offer.dest_addr = h->dest_addr;
		offer.dest_addrlen = kmx_addr_len(mp);
	}
	return kfi_query_add(w->q, &offer);
}

/* A source address in the hints restricts the offers, too, unless a node names the source. */
static bool kmx_hint_ok(struct kmx_filter *w, struct kfi_mux *mux)
{
	const struct kfi_info *h = w->q->hints;

	if (!h || !h->src_addr || (w->q->flags & KFI_SOURCE && w->node))
		return true;
	if (h->src_addrlen != kmx_addr_len(mux->prov) || !kmx_is_side(mux, mux->own, h->src_addr))
		return false;
	w->src = w->src ?: kmx_addr_port(mux->prov, h->src_addr);
	return true;
}

/*
 * To a host, ways that are down, or held, are offered behind those that are up: a consumer takes
 * the first offer, and it shall be one that leads there now.
 */
static bool kmx_turn(struct kmx_filter *w, struct kfi_mux *mux)
{
	if (!w->up)
		return !xa_load(&w->offered, mux->number);
	return READ_ONCE(mux->up) && !READ_ONCE(mux->hold.now) &&
	       !xa_err(xa_store(&w->offered, mux->number, xa_mk_value(1), GFP_KERNEL));
}

/* Return: 0: continue with the next way; negative: stop */
static int kmx_offer_way(struct kfi_mux *mux, void *arg)
{
	struct kmx_filter *w = arg;
	bool source = w->q->flags & KFI_SOURCE;
	u8 side[KFI_MUX_SIDE_MAX];
	int ret;

	if (!kfi_mux_named(mux) || !kmx_turn(w, mux))
		return 0;
	/* The name of a way stands for that way only, not for others with the same end. */
	if (source && w->node && mux->ops->side(mux, w->node, side) == -EINVAL &&
	    !kmx_is_called(mux, w->node))
		return 0;
	ret = w->node ? kmx_node_side(mux, w->node, side) : 0;
	if (ret == -ENOTUNIQ)
		w->err = ret;
	if (ret || (w->node && !kmx_is_side(mux, source ? mux->own : mux->peer, side)))
		return 0;
	if (!kmx_hint_ok(w, mux))
		return 0;
	w->any = true;
	ret = kmx_offer(w, mux, KFI_EP_RDM);
	return ret ?: kmx_offer(w, mux, KFI_EP_MSG);
}

int kfi_mux_getinfo(struct kfi_query *q)
{
	struct kmx_filter w = { .q = q, .node = q->node };
	struct kfi_mux_prov *mp = to_mux_prov(q->prov);
	int ret = 0;

	if (q->net != &init_net)
		return -ENODATA;
	if (q->service && kmx_port_parse(q->service, q->flags & KFI_SOURCE ? &w.src : &w.dest))
		return -ENODATA;
	xa_init(&w.offered);
	if (q->node && !(q->flags & KFI_SOURCE)) {
		w.up = true;
		ret = kfi_mux_each(mp, kmx_offer_way, &w);
		w.up = false;
	}
	ret = ret ?: kfi_mux_each(mp, kmx_offer_way, &w);
	xa_destroy(&w.offered);
	return ret ?: w.any ? 0 : w.err ?: -ENODATA;
}
EXPORT_SYMBOL_GPL(kfi_mux_getinfo);
