// SPDX-License-Identifier: GPL-2.0
/*
 * addr.c - names (kfi_inaddr.h), and the answers to getinfo.
 *
 * The provider offers endpoints for addresses of the interfaces of the caller's network namespace
 * only. The fabric is named after the subnet, the domain after the interface, as libfabric's
 * providers over IP do. Sockets are bound to the interface if the consumer has chosen that, and not
 * only an address that it has.
 */
#include <linux/ipv6.h>
#include "sock.h"
#include "wire.h"

int ks_addr_check(struct kfi_domain *domain, u32 format, const void *addr)
{
	return kfi_inaddr_name_check(&to_ks_domain(domain)->names, format, addr);
}

int ks_resolve(struct kfi_domain *domain, const char *node, const char *service, void *addr)
{
	return kfi_inaddr_name_resolve(&to_ks_domain(domain)->names, node, service, addr);
}

/* ---- getinfo ---- */

#define KS_COMM_CAPS	(KFI_LOCAL_COMM | KFI_REMOTE_COMM)
#define KS_DEPTH	16384		/* operations of an endpoint, in each direction */

/*
 * The fate of a datagram is unknown after it was sent, so on DGRAM endpoints TRANSMIT means only
 * that it was sent.
 */
u64 ks_levels(enum kfi_ep_type type)
{
	return type == KFI_EP_DGRAM ? KFI_INJECT_COMPLETE | KFI_TRANSMIT_COMPLETE :
				      KFI_PROTO_LEVELS;
}

/* What datagrams can't do is taken from the offer of an endpoint with connections. */
static void ks_offer_dgram(struct kfi_info *info)
{
	const u64 flags = KFI_COMPLETION | KFI_INJECT | KFI_REMOTE_CQ_DATA | KFI_MULTI_RECV;

	info->caps = KFI_MSG | KFI_SEND | KFI_RECV | KFI_SOURCE | KFI_MULTI_RECV | KS_COMM_CAPS;
	info->tx_attr->caps = info->caps;
	info->tx_attr->op_flags = flags | ks_levels(KFI_EP_DGRAM);
	info->tx_attr->msg_order = 0;
	info->tx_attr->rma_iov_limit = 0;
	info->rx_attr->caps = info->caps;
	info->rx_attr->msg_order = 0;
	*info->ep_attr = (struct kfi_ep_attr) {
		.type = KFI_EP_DGRAM,
		.protocol = KFI_PROTO_KFI_UDP,
		.protocol_version = KSW_VERSION,
		.max_msg_size = ks_dgram_max(),
	};
	info->domain_attr->max_ep_auth_key = 0;
	info->domain_attr->caps &= ~KFI_DATA_CHECK;
}

static void ks_offer_type(struct kfi_info *info, enum kfi_ep_type type)
{
	const struct kfi_proto_offer offer = {
		.caps = KS_COMM_CAPS | KFI_DATA_CHECK | (ks_tls_on() ? KFI_PROTECTED : 0),
		.tclass = KFI_TC_DSCP,
		.protocol = KFI_PROTO_KFI_TCP,
		.depth = KS_DEPTH,
		.max_msg = 1UL << 30,
	};

	kfi_proto_offer(info, type, &offer);
	if (type == KFI_EP_DGRAM)
		ks_offer_dgram(info);
}

/*
 * The address that stands for all of a family, and the fabric and the domain of listeners there. No
 * interface has such a name.
 */
static const struct kfi_inaddr_local ks_wildcards[] = {
	{ .addr.in.sin_family = AF_INET, .fabric = "0.0.0.0/0", .ifname = "0.0.0.0/0" },
	{ .addr.in6.sin6_family = AF_INET6, .fabric = "::/0", .ifname = "::/0" },
};

/*
 * Does the query request an MSG endpoint at the wildcard address, which serves later addresses,
 * too? Either it has the wildcard, or nothing, as the local address; or it has the fabric of such
 * an endpoint. RDM and DGRAM endpoints have an address of their own, by which their peers know
 * them.
 */
static bool ks_wants_wildcard(const struct kfi_query *q, const struct kfi_inaddr_filter *filter,
			      const struct kfi_inaddr_local *wildcard)
{
	const struct kfi_info *hints = q->hints;
	const union kfi_inaddr *src = &filter->src;

	if (src->sa.sa_family && src->sa.sa_family != wildcard->addr.sa.sa_family)
		return false;
	if (wildcard->addr.sa.sa_family == AF_INET6 && !ipv6_mod_enabled())
		return false;
	if (hints && hints->fabric_attr && hints->fabric_attr->name)
		return !strcmp(hints->fabric_attr->name, wildcard->fabric);
	return q->flags & KFI_SOURCE && !filter->name &&
	       (!src->sa.sa_family || kfi_inaddr_any(src));
}

/*
 * Is the domain bound to its interface? The consumer says so, or by saying nothing about the domain
 * but the name of the interface. A consumer whose hints are an earlier answer has said it then.
 */
static bool ks_wants_bound(const struct kfi_query *q, const struct kfi_inaddr_filter *filter)
{
	const struct kfi_domain_attr *hint = q->hints ? q->hints->domain_attr : NULL;

	return hint && hint->caps ? hint->caps & KFI_BOUND : *filter->ifname;
}

/* Add an endpoint at @local, whose name has been set. */
static int ks_offer_at(struct kfi_query *q, struct kfi_info *info, enum kfi_ep_type type,
		       struct kfi_inaddr_local *local, const struct kfi_inaddr_filter *filter)
{
	ks_offer_type(info, type);
	if (ks_wants_bound(q, filter))
		info->domain_attr->caps |= KFI_BOUND;
	info->domain_attr->name = local->ifname;
	info->fabric_attr->name = local->fabric;
	return kfi_query_add(q, info);
}

/* Free an info whose names belong to others. */
static void ks_free_offer(struct kfi_info *info)
{
	info->src_addr = NULL;
	info->dest_addr = NULL;
	info->domain_attr->name = NULL;
	info->fabric_attr->name = NULL;
	kfi_freeinfo(info);
}

/*
 * Add the endpoints that @local offers. @short_names: add only RDM endpoints, under the short name
 * of the address if it has one; else all types, under the address.
 */
static int ks_offer(struct kfi_query *q, struct kfi_inaddr_local *local,
		    struct kfi_inaddr_filter *filter, bool short_names)
{
	static const enum kfi_ep_type types[] = { KFI_EP_RDM, KFI_EP_MSG, KFI_EP_DGRAM };
	const struct kfi_inaddr_local *wildcard =
		&ks_wildcards[local->addr.sa.sa_family == AF_INET6];
	struct kfi_info *info;
	struct kcxi_addr name;
	int i, ret = 0;

	if (!kfi_inaddr_named(filter, local->ifname))
		return -ENODATA;
	info = kfi_allocinfo();
	if (!info)
		return -ENOMEM;
	if (!short_names)
		kfi_inaddr_offer(info, local, filter);
	else if (!kfi_inaddr_short_offer(q, filter, local, &name, info))
		goto free;
	for (i = 0; !ret && i < (short_names ? 1 : ARRAY_SIZE(types)); i++) {
		if (ks_tls_on() && types[i] == KFI_EP_DGRAM)
			continue;
		if (types[i] == KFI_EP_MSG && ks_wants_wildcard(q, filter, wildcard))
			continue;
		ret = ks_offer_at(q, info, types[i], local, filter);
	}
free:
	ks_free_offer(info);
	return ret;
}

static int ks_offer_wildcard(struct kfi_query *q, struct kfi_inaddr_filter *filter,
			     const struct kfi_inaddr_local *wildcard)
{
	struct kfi_inaddr_local local = *wildcard;
	struct kfi_info *info = kfi_allocinfo();
	int ret;

	if (!info)
		return -ENOMEM;
	if (filter->src.sa.sa_family)
		local.addr = filter->src;
	if (*filter->ifname)
		strscpy(local.ifname, filter->ifname, sizeof(local.ifname));
	kfi_inaddr_set_port(&local.addr, filter->port);
	kfi_inaddr_offer(info, &local, filter);
	ret = ks_offer_at(q, info, KFI_EP_MSG, &local, filter);
	ks_free_offer(info);
	return ret;
}

static int ks_offer_all(struct kfi_query *q, struct kfi_inaddr_filter *filter)
{
	int i, ret = kfi_inaddr_getinfo(q, filter, ks_offer);

	for (i = 0; i < ARRAY_SIZE(ks_wildcards) && (!ret || ret == -ENODATA); i++)
		if (ks_wants_wildcard(q, filter, &ks_wildcards[i]))
			ret = ks_offer_wildcard(q, filter, &ks_wildcards[i]);
	return ret;
}

/* The domain in the hints may be an alternative name of the interface. */
int ks_getinfo(struct kfi_query *q)
{
	const struct kfi_info *asked = q->hints;
	struct kfi_inaddr_filter filter;
	struct kfi_domain_attr domain;
	struct kfi_info hints;
	int ret;

	ret = kfi_inaddr_filter(q, true, &filter);
	if (ret)
		return ret;
	if (*filter.ifname && asked && asked->domain_attr && asked->domain_attr->name) {
		domain = *asked->domain_attr;
		domain.name = filter.ifname;
		hints = *asked;
		hints.domain_attr = &domain;
		q->hints = &hints;
	}
	ret = ks_offer_all(q, &filter);
	q->hints = asked;
	return ret;
}
