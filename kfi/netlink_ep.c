// SPDX-License-Identifier: GPL-2.0
/*
 * netlink_ep.c - dumps of endpoints, their peers and their statistics
 */
#include <linux/percpu.h>

#include "cntr.h"
#include "netlink.h"

#define SAME(state)	static_assert((int)KFI_NL_EP_##state == (int)KFI_EP_##state)
SAME(IDLE);
SAME(ENABLED);
SAME(CONNECTING);
SAME(CONNECTED);
SAME(SHUT);
SAME(DEAD);

static_assert((int)KFI_NL_CNTR_SEND == (int)KFI_CNTR_SEND);
static_assert((int)KFI_NL_CNTR_REMOTE_WRITE == (int)KFI_CNTR_REMOTE_WRITE);

/* ---- endpoints ---- */

static int put_addr(struct sk_buff *skb, int attr, const struct kfi_prov_ops *ops,
		    const void *addr, int len)
{
	char text[128] = "";

	if (len <= 0)	/* not known in this state */
		return 0;
	ops->addr_str(addr, len, text, sizeof(text));
	return nla_put_string(skb, attr, text);
}

static int put_ep_names(struct sk_buff *skb, const struct kfi_ep *ep)
{
	const struct kfi_domain *domain = ep->domain;

	return nla_put_string(skb, KFI_A_PROV_NAME, domain->fabric->prov->name) ?:
	       nla_put_string(skb, KFI_A_DOMAIN_NAME, domain->name) ?:
	       nla_put_u32(skb, KFI_A_EP_ID, ep->obj.id);
}

static int put_ep_addrs(struct sk_buff *skb, struct kfi_ep *ep)
{
	const struct kfi_prov_ops *ops = ep->ops;
	u8 addr[KFI_ADDR_MAX];
	int ret;

	if (ep->state == KFI_EP_DEAD)
		return 0;
	ret = put_addr(skb, KFI_A_SRC_ADDR, ops, addr, ops->getname(ep, addr));
	if (ret || ep->state != KFI_EP_CONNECTED || !ops->getpeer)
		return ret;
	return put_addr(skb, KFI_A_DEST_ADDR, ops, addr, ops->getpeer(ep, addr));
}

static int put_ep(struct kfi_nl_dump *d, struct kfi_ep *ep)
{
	struct sk_buff *skb = d->skb;

	return kfi_nl_put_fabric(skb, ep->domain->fabric) ?:
	       nla_put_u32(skb, KFI_A_DOMAIN_ID, ep->domain->obj.id) ?:
	       nla_put_string(skb, KFI_A_DOMAIN_NAME, ep->domain->name) ?:
	       nla_put_u32(skb, KFI_A_EP_ID, ep->obj.id) ?:
	       nla_put_u32(skb, KFI_A_EP_TYPE, ep->type) ?:
	       nla_put_u32(skb, KFI_A_EP_STATE, ep->state) ?:
	       nla_put_u64_64bit(skb, KFI_A_CAPS, ep->caps, KFI_A_PAD) ?:
	       put_ep_addrs(skb, ep) ?:
	       kfi_nl_put_ctx(skb, KFI_A_TX_ATTR, ep->info->tx_attr, NULL) ?:
	       kfi_nl_put_ctx(skb, KFI_A_RX_ATTR, NULL, ep->info->rx_attr);
}

static int pep_state(const struct kfi_pep *pep)
{
	if (pep->dead)
		return KFI_NL_EP_DEAD;
	return pep->listening ? KFI_NL_EP_LISTENING : KFI_NL_EP_IDLE;
}

static int put_pep(struct sk_buff *skb, void *object)
{
	struct kfi_pep *pep = object;
	u8 addr[KFI_ADDR_MAX];
	int len = pep->dead ? 0 : pep->ops->pep_getname(pep, addr);
	const struct kfi_domain_attr *domain = pep->info->domain_attr;

	return kfi_nl_put_fabric(skb, pep->fabric) ?:
	       (domain && domain->name ?
		nla_put_string(skb, KFI_A_DOMAIN_NAME, domain->name) : 0) ?:
	       nla_put_u32(skb, KFI_A_EP_ID, pep->obj.id) ?:
	       nla_put_u32(skb, KFI_A_EP_TYPE, KFI_EP_MSG) ?:
	       nla_put_u32(skb, KFI_A_EP_STATE, pep_state(pep)) ?:
	       nla_put_u64_64bit(skb, KFI_A_CAPS, pep->info->caps, KFI_A_PAD) ?:
	       put_addr(skb, KFI_A_SRC_ADDR, pep->ops, addr, len);
}

static int show_pep(struct kfi_nl_dump *d, struct kfi_pep *pep)
{
	int ret;

	if (d->only_ep && d->only_ep != pep->obj.id)
		return 0;
	mutex_lock(&pep->lock);
	ret = kfi_nl_show(d, pep->fabric->obj.id, 0, pep->obj.id, put_pep, pep);
	mutex_unlock(&pep->lock);
	return ret;
}

static int show_peps(struct kfi_nl_dump *d, struct kfi_fabric *fabric)
{
	struct kfi_pep *pep;
	int ret = 0;

	mutex_lock(&fabric->lock);
	list_for_each_entry(pep, &fabric->peps, obj.entry) {
		ret = show_pep(d, pep);
		if (ret)
			break;
	}
	mutex_unlock(&fabric->lock);
	return ret;
}

/* ---- peers ---- */

static int put_peer(struct kfi_nl_dump *d, struct kfi_ep *ep, const struct kfi_peer_info *peer)
{
	struct sk_buff *skb = d->skb;
	struct nlattr *nest;

	if (put_ep_names(skb, ep))
		return -EMSGSIZE;
	nest = nla_nest_start(skb, KFI_A_PEER);
	if (!nest ||
	    nla_put_string(skb, KFI_PEER_A_ADDR, peer->addr) ||
	    (peer->state && nla_put_string(skb, KFI_PEER_A_STATE, peer->state)) ||
	    (peer->protection && nla_put_string(skb, KFI_PEER_A_PROTECTION, peer->protection)) ||
	    (peer->identity && nla_put_string(skb, KFI_PEER_A_IDENTITY, peer->identity)) ||
	    (peer->cpu >= 0 && nla_put_u32(skb, KFI_PEER_A_CPU, peer->cpu)) ||
	    nla_put_u64_64bit(skb, KFI_PEER_A_TX_BYTES, peer->tx_bytes, KFI_PEER_A_PAD) ||
	    nla_put_u64_64bit(skb, KFI_PEER_A_RX_BYTES, peer->rx_bytes, KFI_PEER_A_PAD) ||
	    nla_put_u64_64bit(skb, KFI_PEER_A_PENDING, peer->pending, KFI_PEER_A_PAD) ||
	    nla_put_u64_64bit(skb, KFI_PEER_A_UNEXPECTED_BYTES, peer->unexpected_bytes,
			      KFI_PEER_A_PAD) ||
	    nla_put_u64_64bit(skb, KFI_PEER_A_RECONNECTS, peer->reconnects, KFI_PEER_A_PAD))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

struct peer_walk {
	struct kfi_nl_dump	*d;
	struct kfi_ep		*ep;
	int			ret;
};

static int show_peer(void *arg, const struct kfi_peer_info *peer)
{
	struct peer_walk *walk = arg;
	struct kfi_nl_dump *d = walk->d;

	walk->ret = kfi_nl_begin(d);
	if (!walk->ret)
		walk->ret = kfi_nl_end(d, put_peer(d, walk->ep, peer));
	if (!walk->ret) {
		d->cur->peers = peer->nr;
		d->cur->peers_ep = walk->ep->obj.id;
	}
	return walk->ret;
}

static bool has_peers(const struct kfi_ep *ep)
{
	return ep->ops->peers && (ep->state == KFI_EP_ENABLED ||
				  ep->state == KFI_EP_CONNECTING ||
				  ep->state == KFI_EP_CONNECTED);
}

static int show_ep_peers(struct kfi_nl_dump *d, struct kfi_ep *ep)
{
	struct peer_walk walk = { .d = d, .ep = ep };
	u32 after = d->cur->peers_ep == ep->obj.id ? d->cur->peers : 0;

	if (has_peers(ep))
		ep->ops->peers(ep, after, show_peer, &walk);
	return walk.ret;
}

/* ---- statistics ---- */

static const struct {
	int	attr;
	size_t	offset;
} stats_members[] = {
	{ KFI_STATS_A_TX_OPS,		offsetof(struct kfi_stats, tx_ops) },
	{ KFI_STATS_A_TX_BYTES,		offsetof(struct kfi_stats, tx_bytes) },
	{ KFI_STATS_A_RX_OPS,		offsetof(struct kfi_stats, rx_ops) },
	{ KFI_STATS_A_RX_BYTES,		offsetof(struct kfi_stats, rx_bytes) },
	{ KFI_STATS_A_RMA_IN_OPS,	offsetof(struct kfi_stats, rma_in_ops) },
	{ KFI_STATS_A_RMA_IN_BYTES,	offsetof(struct kfi_stats, rma_in_bytes) },
	{ KFI_STATS_A_ERRORS,		offsetof(struct kfi_stats, errors) },
	{ KFI_STATS_A_AGAIN,		offsetof(struct kfi_stats, again) },
	{ KFI_STATS_A_UNEXPECTED,	offsetof(struct kfi_stats, unexpected) },
	{ KFI_STATS_A_COPIED,		offsetof(struct kfi_stats, copied) },
	{ KFI_STATS_A_SPLICED,		offsetof(struct kfi_stats, spliced) },
	{ KFI_STATS_A_PLACED,		offsetof(struct kfi_stats, placed) },
	{ KFI_STATS_A_BOUNCED,		offsetof(struct kfi_stats, bounced) },
	{ KFI_STATS_A_DROPPED,		offsetof(struct kfi_stats, dropped) },
	{ KFI_STATS_A_GRANTED,		offsetof(struct kfi_stats, granted) },
};

static u64 sum_stat(const struct kfi_ep *ep, size_t offset)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += *(const u64 *)((const char *)per_cpu_ptr(ep->stats, cpu) + offset);
	return sum;
}

static int put_stats(struct sk_buff *skb, const struct kfi_ep *ep)
{
	struct nlattr *nest = nla_nest_start(skb, KFI_A_STATS);
	int i;

	if (!nest)
		return -EMSGSIZE;
	for (i = 0; i < ARRAY_SIZE(stats_members); i++)
		if (nla_put_u64_64bit(skb, stats_members[i].attr,
				      sum_stat(ep, stats_members[i].offset),
				      KFI_STATS_A_PAD))
			return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int put_cntr(struct sk_buff *skb, int dir, struct kfi_cntr *cntr)
{
	struct kfid_cntr *fid = &cntr->fid;
	struct nlattr *nest = nla_nest_start(skb, KFI_A_CNTR);

	if (!nest ||
	    nla_put_u32(skb, KFI_CNTR_A_DIR, dir) ||
	    nla_put_u64_64bit(skb, KFI_CNTR_A_VALUE, kfi_cntr_read(fid), KFI_CNTR_A_PAD) ||
	    nla_put_u64_64bit(skb, KFI_CNTR_A_ERRORS, kfi_cntr_readerr(fid), KFI_CNTR_A_PAD))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int put_ep_stats(struct kfi_nl_dump *d, struct kfi_ep *ep)
{
	int dir, ret;

	ret = put_ep_names(d->skb, ep) ?:
	      nla_put_u32(d->skb, KFI_A_EP_TYPE, ep->type) ?:
	      put_stats(d->skb, ep);
	for (dir = 0; !ret && dir < KFI_CNTR_DIRS; dir++)
		if (ep->cntr[dir])
			ret = put_cntr(d->skb, dir, ep->cntr[dir]);
	return ret;
}

/* ---- the walk over endpoints ---- */

static int show_one(struct kfi_nl_dump *d, struct kfi_ep *ep,
		    int (*put)(struct kfi_nl_dump *d, struct kfi_ep *ep))
{
	int ret = kfi_nl_begin(d);

	return ret ?: kfi_nl_end(d, put(d, ep));
}

static int show_locked(struct kfi_nl_dump *d, struct kfi_ep *ep)
{
	lockdep_assert_held(&ep->lock);
	switch (d->cmd) {
	case KFI_CMD_GET_PEER:
		return show_ep_peers(d, ep);
	case KFI_CMD_GET_STATS:
		return show_one(d, ep, put_ep_stats);
	default:
		return show_one(d, ep, put_ep);
	}
}

static int show_ep(struct kfi_ep *ep, void *arg)
{
	u32 fabric = ep->domain->fabric->obj.id, domain = ep->domain->obj.id;
	struct kfi_nl_dump *d = arg;
	int ret;

	if (d->only_ep && d->only_ep != ep->obj.id)
		return 0;
	if (kfi_nl_seen(d->cur, fabric, domain, ep->obj.id))
		return 0;
	mutex_lock(&ep->lock);
	ret = show_locked(d, ep);
	mutex_unlock(&ep->lock);
	if (!ret)
		kfi_nl_done(d->cur, fabric, domain, ep->obj.id);
	return ret;
}

/* Show the endpoints of a fabric, their peers or their statistics, depending on the command. */
int kfi_nl_show_eps(struct kfi_fabric *fabric, void *arg)
{
	struct kfi_nl_dump *d = arg;
	int ret = 0;

	if (d->cmd == KFI_CMD_GET_EP)
		ret = show_peps(d, fabric);
	return ret ?: kfi_fabric_walk_eps(fabric, show_ep, d);
}
