// SPDX-License-Identifier: GPL-2.0
/*
 * query.c - kfi_getinfo(): each provider makes offers; the offers that match the hints are the
 * answer.
 *
 * No lock is held while a provider is called. A query belongs to its caller, so nothing here is
 * shared.
 */
#define pr_fmt(fmt) "kfi: " fmt

#include <linux/nsproxy.h>
#include <linux/slab.h>

#include "attr.h"
#include "ep.h"
#include "registry.h"

#define QUERY_FLAGS	(KFI_SOURCE | KFI_NUMERICHOST | KFI_PROV_ATTR_ONLY)

/* Objects of each kind and regions that an answer promises, of those that only memory limits */
#define QUERY_OBJECTS	65536
#define QUERY_REGIONS	(1 << 20)

/* ---- open objects in the hints ---- */

static struct kfid_fabric *hint_fabric(const struct kfi_info *hints)
{
	return hints && hints->fabric_attr ? hints->fabric_attr->fabric : NULL;
}

static struct kfid_domain *hint_domain(const struct kfi_info *hints)
{
	return hints && hints->domain_attr ? hints->domain_attr->domain : NULL;
}

static const char *hint_prov_name(const struct kfi_info *hints)
{
	return hints && hints->fabric_attr ? hints->fabric_attr->prov_name : NULL;
}

static bool same_name(const char *name, const char *offered)
{
	return offered && !strcmp(name, offered);
}

static bool fabric_fits(const struct kfi_fabric *fabric, const struct kfi_query *q,
			const struct kfi_info *offer)
{
	return fabric->prov == q->prov && !READ_ONCE(fabric->dead) &&
	       net_eq(read_pnet(&fabric->net), q->net) &&
	       same_name(fabric->name, offer->fabric_attr->name);
}

static bool domain_fits(const struct kfi_domain *domain, const struct kfi_query *q,
			const struct kfi_info *offer)
{
	return fabric_fits(domain->fabric, q, offer) && !READ_ONCE(domain->dead) &&
	       same_name(domain->name, offer->domain_attr->name);
}

/* A consumer checks in this way whether an object that it has open can be used for a node. */
static bool reuse_match(const struct kfi_query *q, const struct kfi_info *offer)
{
	struct kfid_fabric *fabric = hint_fabric(q->hints);
	struct kfid_domain *domain = hint_domain(q->hints);

	if (fabric && (fabric->fid.fclass != KFI_CLASS_FABRIC ||
		       !fabric_fits(kfi_to_fabric(fabric), q, offer)))
		return false;
	if (domain && (domain->fid.fclass != KFI_CLASS_DOMAIN ||
		       !domain_fits(kfi_to_domain(domain), q, offer)))
		return false;
	return !fabric || !domain ||
	       kfi_to_domain(domain)->fabric == kfi_to_fabric(fabric);
}

/* ---- the answer ---- */

static int fill_answer(struct kfi_info *info, const struct kfi_query *q)
{
	struct kfi_fabric_attr *attr = info->fabric_attr;

	kfree(attr->prov_name);
	attr->prov_name = kstrdup(q->prov->name, GFP_KERNEL);
	if (!attr->prov_name)
		return -ENOMEM;
	attr->prov_version = q->prov->version;
	attr->api_version = q->version;
	attr->fabric = hint_fabric(q->hints);
	if (info->domain_attr)
		info->domain_attr->domain = hint_domain(q->hints);
	return 0;
}

static void append(struct kfi_query *q, struct kfi_info *info)
{
	*q->tail = info;
	q->tail = &info->next;
}

static struct kfi_info *make_answer(const struct kfi_query *q, const struct kfi_info *offer)
{
	struct kfi_info *info = kfi_info_copy(offer);

	if (!info)
		return NULL;
	if (kfi_attr_answer(info, q->hints) || fill_answer(info, q)) {
		kfi_freeinfo(info);
		return NULL;
	}
	return info;
}

static bool offer_complete(const struct kfi_info *offer)
{
	return offer->tx_attr && offer->rx_attr && offer->ep_attr &&
	       offer->domain_attr && offer->domain_attr->name &&
	       offer->fabric_attr && offer->fabric_attr->name;
}

/*
 * The core sets the name and version of the provider in the answer, so the hints are compared with
 * these and not with the offer.
 */
static bool prov_match(const struct kfi_query *q)
{
	const struct kfi_fabric_attr *h = q->hints ? q->hints->fabric_attr : NULL;

	return !h || ((!h->prov_name || !strcmp(h->prov_name, q->prov->name)) &&
		      h->prov_version <= q->prov->version);
}

/* A copy of an offer with room for the parts that the core extends */
struct wide_offer {
	struct kfi_info		info;
	struct kfi_domain_attr	domain;
};

/* Add the limits of the core, which apply to objects that the provider does not limit itself. */
static void widen_offer(struct wide_offer *wide, const struct kfi_query *q,
			const struct kfi_info *offer)
{
	struct kfi_domain_attr *dom = &wide->domain;

	*dom = *offer->domain_attr;
	dom->max_ep_stx_ctx = KFI_SHARERS_MAX;
	dom->max_ep_srx_ctx = q->hw_recv ? 0 : KFI_SHARERS_MAX;
	dom->cq_cnt = QUERY_OBJECTS;
	dom->cntr_cnt = QUERY_OBJECTS;
	dom->ep_cnt = dom->ep_cnt ?: QUERY_OBJECTS;
	dom->tx_ctx_cnt = dom->tx_ctx_cnt ?: dom->ep_cnt;
	dom->rx_ctx_cnt = dom->rx_ctx_cnt ?: dom->ep_cnt;
	dom->mr_cnt = dom->mr_cnt ?: QUERY_REGIONS;
	wide->info = *offer;
	wide->info.domain_attr = &wide->domain;
}

/**
 * kfi_query_add() - see kfi_prov.h
 * @q: the query
 * @offer: what the provider can do
 *
 * Return: 0, -EINVAL for an offer without names or attributes, -ENOMEM.
 */
int kfi_query_add(struct kfi_query *q, const struct kfi_info *offer)
{
	struct wide_offer wide;
	struct kfi_info *info;

	if (q->err)
		return q->err;
	if (WARN_ON_ONCE(!offer_complete(offer)))
		return q->err = -EINVAL;
	widen_offer(&wide, q, offer);
	if (!prov_match(q) || !kfi_attr_match(&wide.info, q->hints) || !reuse_match(q, &wide.info))
		return 0;
	info = make_answer(q, &wide.info);
	if (!info)
		return q->err = -ENOMEM;
	append(q, info);
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_query_add);

/* KFI_PROV_ATTR_ONLY: report the provider without calling it. */
static int add_prov_attr(struct kfi_query *q)
{
	struct kfi_info *info;

	if (!prov_match(q))
		return 0;
	info = kfi_allocinfo();
	if (!info)
		return -ENOMEM;
	if (fill_answer(info, q)) {
		kfi_freeinfo(info);
		return -ENOMEM;
	}
	append(q, info);
	return 0;
}

/* ---- query of the providers ---- */

static int query_one(struct kfi_query *q)
{
	int ret;

	if (q->flags & KFI_PROV_ATTR_ONLY)
		return add_prov_attr(q);
	ret = q->prov->ops->getinfo(q);
	return ret ?: q->err;
}

/* Query one provider. If the provider fails, only its own offers are dropped. */
static int query_provider(struct kfi_provider *prov, void *arg)
{
	struct kfi_query *all = arg;
	struct kfi_query q = *all;
	int ret;

	q.prov = prov;
	q.head = NULL;
	q.tail = &q.head;
	q.err = 0;
	ret = query_one(&q);
	if (ret) {
		kfi_freeinfo(q.head);
		if (ret != -ENODATA)
			pr_debug("provider %s: getinfo: %d\n", prov->name, ret);
		if (ret == -ENOMEM || ret == -ENOTUNIQ)
			all->err = ret;
		return 0;
	}
	if (q.head) {
		*all->tail = q.head;
		all->tail = q.tail;
	}
	return 0;
}

static int check_query(const struct kfi_query *q)
{
	if (q->version > kfi_version())
		return -ENOSYS;
	if (q->flags & ~QUERY_FLAGS)
		return -KFI_EBADFLAGS;
	if ((q->flags & KFI_SOURCE) && !q->node && !q->service)
		return -EINVAL;
	return 0;
}

static void query_providers(struct kfi_query *q)
{
	const char *name = hint_prov_name(q->hints);
	struct kfi_provider *prov;

	if (!name) {
		kfi_walk_providers(query_provider, q);
		return;
	}
	prov = kfi_provider_get(name);
	if (!prov)
		return;
	query_provider(prov, q);
	kfi_provider_put(prov);
}

/**
 * kfi_getinfo_net() - see kfi_info.h
 * @net: network namespace
 * @version: API version, 0 for any
 * @node: address or interface, or NULL
 * @service: port, or NULL
 * @flags: KFI_SOURCE, KFI_NUMERICHOST, KFI_PROV_ATTR_ONLY
 * @hints: requirements, or NULL
 * @info: set to the list
 *
 * Return: 0, or a negative errno.
 */
int kfi_getinfo_net(struct net *net, uint32_t version, const char *node,
		    const char *service, uint64_t flags,
		    const struct kfi_info *hints, struct kfi_info **info)
{
	struct kfi_query q = {
		.net	 = net,
		.version = version ?: kfi_version(),
		.node	 = node,
		.service = service,
		.flags	 = flags,
		.hints	 = hints,
	};
	int ret;

	might_sleep();
	if (!info)
		return -EINVAL;
	*info = NULL;
	if (!net)
		return -EINVAL;
	ret = check_query(&q);
	if (ret)
		return ret;
	q.tail = &q.head;
	query_providers(&q);
	if (!q.head)
		return q.err ?: -ENODATA;
	*info = q.head;
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_getinfo_net);

/**
 * kfi_getinfo() - see kfi_info.h
 * @version: as in kfi_getinfo_net()
 * @node: as in kfi_getinfo_net()
 * @service: as in kfi_getinfo_net()
 * @flags: as in kfi_getinfo_net()
 * @hints: as in kfi_getinfo_net()
 * @info: as in kfi_getinfo_net()
 *
 * Return: as kfi_getinfo_net().
 */
int kfi_getinfo(uint32_t version, const char *node, const char *service,
		uint64_t flags, const struct kfi_info *hints,
		struct kfi_info **info)
{
	return kfi_getinfo_net(kfi_current_net(), version, node, service, flags,
			       hints, info);
}
EXPORT_SYMBOL_GPL(kfi_getinfo);
