// SPDX-License-Identifier: GPL-2.0
/*
 * addr.c - names (kfi_inaddr.h), and the answers to getinfo.
 *
 * The provider offers endpoints for addresses of the interfaces of the caller's network namespace
 * only. The fabric is named after the subnet, the domain after the interface, as libfabric's
 * providers over IP do.
 */
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
 * Add the endpoints that @local offers. @short_names: add only RDM endpoints, under the short name
 * of the address if it has one; else all types, under the address.
 */
static int ks_offer(struct kfi_query *q, struct kfi_inaddr_local *local,
		    struct kfi_inaddr_filter *filter, bool short_names)
{
	static const enum kfi_ep_type types[] = { KFI_EP_RDM, KFI_EP_MSG, KFI_EP_DGRAM };
	struct kfi_info *info;
	struct kcxi_addr name;
	int i, ret;

	if (!kfi_inaddr_named(filter, local->ifname))
		return -ENODATA;
	info = kfi_allocinfo();
	ret = info ? 0 : -ENOMEM;
	for (i = 0; !ret && i < (short_names ? 1 : ARRAY_SIZE(types)); i++) {
		if (ks_tls_on() && types[i] == KFI_EP_DGRAM)
			continue;
		ks_offer_type(info, types[i]);
		info->domain_attr->name = local->ifname;
		info->fabric_attr->name = local->fabric;
		if (!short_names)
			kfi_inaddr_offer(info, local, filter);
		else if (!kfi_inaddr_short_offer(q, filter, local, &name, info))
			break;
		ret = kfi_query_add(q, info);
	}
	if (info) {	/* do not free what belongs to others */
		info->src_addr = NULL;
		info->dest_addr = NULL;
		info->domain_attr->name = NULL;
		info->fabric_attr->name = NULL;
	}
	kfi_freeinfo(info);
	return ret;
}

/* The domain in the hints may be an alternative name of the interface. */
int ks_getinfo(struct kfi_query *q)
{
	const struct kfi_info *asked = q->hints;
	struct kfi_domain_attr domain;
	struct kfi_info hints;
	char ifname[IFNAMSIZ];
	int ret;

	if (asked && asked->domain_attr && asked->domain_attr->name &&
	    kfi_inaddr_ifname(q->net, asked->domain_attr->name, ifname)) {
		domain = *asked->domain_attr;
		domain.name = ifname;
		hints = *asked;
		hints.domain_attr = &domain;
		q->hints = &hints;
	}
	ret = kfi_inaddr_getinfo(q, ks_offer);
	q->hints = asked;
	return ret;
}
