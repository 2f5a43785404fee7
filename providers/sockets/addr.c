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

int ks_addr_check(struct kfi_domain *domain, const void *addr)
{
	return kfi_inaddr_name_check(&to_ks_domain(domain)->names, addr);
}

int ks_resolve(struct kfi_domain *domain, const char *node, const char *service, void *addr)
{
	return kfi_inaddr_name_resolve(&to_ks_domain(domain)->names, node, service, addr);
}

/* ---- getinfo ---- */

#define KS_DIR_CAPS	(KFI_SEND | KFI_RECV)
#define KS_RMA_CAPS	(KFI_RMA | KFI_ATOMIC | KFI_READ | KFI_WRITE | KFI_REMOTE_READ |	\
			 KFI_REMOTE_WRITE)
#define KS_COMM_CAPS	(KFI_LOCAL_COMM | KFI_REMOTE_COMM)
#define KS_MSG_CAPS	(KFI_MSG | KFI_TAGGED | KS_DIR_CAPS | KS_RMA_CAPS | KFI_RMA_EVENT |	\
			 KFI_MULTI_RECV | KS_COMM_CAPS)
#define KS_RDM_CAPS	(KS_MSG_CAPS | KFI_SOURCE | KFI_DIRECTED_RECV | KFI_TAGGED_RMA |	\
			 KFI_NAMED_RX_CTX)
#define KS_DGRAM_CAPS	(KFI_MSG | KS_DIR_CAPS | KFI_SOURCE | KFI_MULTI_RECV | KS_COMM_CAPS)
#define KS_OP_FLAGS	(KFI_COMPLETION | KFI_INJECT | KFI_REMOTE_CQ_DATA | KFI_MULTI_RECV)
/*
 * Frames are sent in posting order, except messages that wait for credit: RMA and messages of the
 * other class may overtake them. A read returns what the region contains when its answer is sent,
 * which may be after later writes have arrived: no WAR. Atomic operations are performed in the
 * order of their arrival.
 */
#define KS_ORDER	(KFI_ORDER_SAS | KFI_ORDER_SAW | KFI_ORDER_WAW | KFI_ORDER_RAW |	\
			 KFI_ORDER_RAR | KFI_ORDER_ATOMIC_RAR | KFI_ORDER_ATOMIC_RAW |		\
			 KFI_ORDER_ATOMIC_WAR | KFI_ORDER_ATOMIC_WAW)

/*
 * The fate of a datagram is unknown after it was sent, so on DGRAM endpoints TRANSMIT means only
 * that it was sent.
 */
u64 ks_levels(enum kfi_ep_type type)
{
	return type == KFI_EP_DGRAM ? KFI_INJECT_COMPLETE | KFI_TRANSMIT_COMPLETE :
				      KFI_PROTO_LEVELS;
}

static u64 ks_caps(enum kfi_ep_type type)
{
	switch (type) {
	case KFI_EP_RDM:
		return KS_RDM_CAPS;
	case KFI_EP_MSG:
		return KS_MSG_CAPS;
	default:
		return KS_DGRAM_CAPS;
	}
}

static void ks_offer_transfer(struct kfi_info *info, enum kfi_ep_type type)
{
	bool dgram = type == KFI_EP_DGRAM;

	info->caps = ks_caps(type);
	*info->tx_attr = (struct kfi_tx_attr) {
		.caps = info->caps,
		.op_flags = KS_OP_FLAGS | ks_levels(type),
		.msg_order = dgram ? 0 : KS_ORDER,
		.inject_size = 512,
		.size = 16384,
		.iov_limit = 256,
		.rma_iov_limit = dgram ? 0 : KFI_PROTO_RMA_MAX,
		.tclass = KFI_TC_DSCP,
	};
	*info->rx_attr = (struct kfi_rx_attr) {
		.caps = info->caps,
		.op_flags = KS_OP_FLAGS,
		.msg_order = dgram ? 0 : KS_ORDER,
		.size = 16384,
		.iov_limit = 256,
	};
	*info->ep_attr = (struct kfi_ep_attr) {
		.type = type,
		.protocol = dgram ? KFI_PROTO_KFI_UDP : KFI_PROTO_KFI_TCP,
		.protocol_version = dgram ? KSW_VERSION : KFI_PROTO_VERSION,
		.max_msg_size = dgram ? ks_dgram_max() : 1UL << 30,
		.max_order_raw_size = dgram ? 0 : SIZE_MAX,
		.max_order_waw_size = dgram ? 0 : SIZE_MAX,
		.mem_tag_format = dgram ? 0 : ~0ULL,
	};
}

static void ks_offer_domain(struct kfi_info *info, struct kfi_inaddr_local *local)
{
	*info->domain_attr = (struct kfi_domain_attr) {
		.name = local->ifname,
		.mr_key_size = sizeof(u64),
		.cq_data_size = sizeof(u64),
		.cq_cnt = 65536,
		.ep_cnt = 65536,
		.tx_ctx_cnt = 65536,
		.rx_ctx_cnt = 65536,
		.max_ep_tx_ctx = info->ep_attr->type == KFI_EP_RDM ? KS_CTX_MAX : 1,
		.max_ep_rx_ctx = info->ep_attr->type == KFI_EP_RDM ? KS_CTX_MAX : 1,
		.max_ep_auth_key = info->ep_attr->type == KFI_EP_DGRAM ? 0 : 1,
		.cntr_cnt = 65536,
		.mr_iov_limit = 1024,
		.caps = KS_COMM_CAPS,
		.mr_cnt = 1 << 20,
	};
	info->fabric_attr->name = local->fabric;
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
		ks_offer_transfer(info, types[i]);
		ks_offer_domain(info, local);
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

int ks_getinfo(struct kfi_query *q)
{
	return kfi_inaddr_getinfo(q, ks_offer);
}
