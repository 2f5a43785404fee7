// SPDX-License-Identifier: GPL-2.0
/*
 * addr.c - names (kfi_inaddr.h, and short ones), and what we offer for them.
 *
 * We answer for addresses of this namespace's interfaces only. The fabric is named after the subnet, the domain after
 * the interface, as libfabric's providers over IP do.
 */
#include "sock.h"

void ks_addr_str(const void *addr, size_t len, char *buf, size_t size)
{
	const struct kcxi_addr *brief = addr;

	if (len == sizeof(*brief))
		snprintf(buf, size, "%#x:%u", (u32)brief->nic, (u32)brief->pid);
	else
		kfi_inaddr_str(addr, len, buf, size);
}

int ks_addr_check(struct kfi_domain *domain, const void *addr)
{
	union kfi_inaddr name;
	int ret;

	if (!ks_is_short(to_ks_domain(domain)))
		return kfi_inaddr_check(to_ks_domain(domain)->family, addr);
	rcu_read_lock();	/* the namespace may be going */
	ret = ks_name_read(to_ks_domain(domain), addr, &name);
	rcu_read_unlock();
	return ret;
}

int ks_resolve(struct kfi_domain *domain, const char *node, const char *service, void *addr)
{
	if (ks_is_short(to_ks_domain(domain)))
		return ks_short_resolve(node, service, addr) ?: ks_addr_check(domain, addr) ?: sizeof(struct kcxi_addr);
	return kfi_inaddr_resolve(read_pnet(&domain->fabric->net), to_ks_domain(domain)->family, node, service, addr);
}

/* ---- what we offer ---- */

#define KS_DIR_CAPS	(KFI_SEND | KFI_RECV)
#define KS_RMA_CAPS	(KFI_RMA | KFI_ATOMIC | KFI_READ | KFI_WRITE | KFI_REMOTE_READ | KFI_REMOTE_WRITE)
#define KS_COMM_CAPS	(KFI_LOCAL_COMM | KFI_REMOTE_COMM)
#define KS_MSG_CAPS	(KFI_MSG | KFI_TAGGED | KS_DIR_CAPS | KS_RMA_CAPS | KFI_RMA_EVENT | KFI_MULTI_RECV | KS_COMM_CAPS)
#define KS_RDM_CAPS	(KS_MSG_CAPS | KFI_SOURCE | KFI_DIRECTED_RECV | KFI_TAGGED_RMA | KFI_NAMED_RX_CTX)
#define KS_DGRAM_CAPS	(KFI_MSG | KS_DIR_CAPS | KFI_SOURCE | KFI_MULTI_RECV | KS_COMM_CAPS)
#define KS_OP_FLAGS	(KFI_COMPLETION | KFI_INJECT | KFI_REMOTE_CQ_DATA | KFI_MULTI_RECV)
/*
 * Frames leave in posting order but for messages that wait for credit: those may be overtaken by RMA and the other class. A
 * read takes what lies in the region when its answer leaves, which can be after later writes have landed: no WAR. Atomic
 * operations are performed as they arrive.
 */
#define KS_ORDER	(KFI_ORDER_SAS | KFI_ORDER_SAW | KFI_ORDER_WAW | KFI_ORDER_RAW | KFI_ORDER_RAR |	\
			 KFI_ORDER_ATOMIC_RAR | KFI_ORDER_ATOMIC_RAW | KFI_ORDER_ATOMIC_WAR | KFI_ORDER_ATOMIC_WAW)

/* A datagram's fate is unknown once it is sent. */
u64 ks_levels(enum kfi_ep_type type)
{
	return type == KFI_EP_DGRAM ? KFI_INJECT_COMPLETE :
		KFI_INJECT_COMPLETE | KFI_TRANSMIT_COMPLETE | KFI_DELIVERY_COMPLETE | KFI_COMMIT_COMPLETE;
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
		.rma_iov_limit = dgram ? 0 : SKW_RMA_MAX,
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
		.protocol_version = SKW_VERSION,
		.max_msg_size = dgram ? KS_DGRAM_MAX : 1UL << 30,
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

static void ks_offer_short(struct kfi_info *info, struct kcxi_addr *name)
{
	info->addr_format = KFI_ADDR_CXI;
	info->src_addr = name;
	info->src_addrlen = sizeof(*name);
}

/* @name: offer unconnected endpoints under this short name, instead of all kinds under addresses. */
static int ks_offer(struct kfi_query *q, struct kfi_inaddr_local *local, struct kfi_inaddr_wish *wish,
		    struct kcxi_addr *name)
{
	static const enum kfi_ep_type types[] = { KFI_EP_RDM, KFI_EP_MSG, KFI_EP_DGRAM };
	struct kfi_info *info = kfi_allocinfo();
	int i, ret = info ? 0 : -ENOMEM;

	for (i = 0; !ret && i < (name ? 1 : ARRAY_SIZE(types)); i++) {
		ks_offer_transfer(info, types[i]);
		ks_offer_domain(info, local);
		if (name)
			ks_offer_short(info, name);
		else
			kfi_inaddr_offer(info, local, wish);
		ret = kfi_query_add(q, info);
	}
	if (info) {	/* everything it points to was borrowed */
		info->src_addr = NULL;
		info->dest_addr = NULL;
		info->domain_attr->name = NULL;
		info->fabric_attr->name = NULL;
	}
	kfi_freeinfo(info);
	return ret;
}

/** struct ks_wish - what a query asks for: the common part; @nic: short name's, 0: any */
struct ks_wish {
	struct kfi_inaddr_wish	in;
	u32			nic;
};

/* An earlier answer's short name: the port is what is left of it, the node is compared with each of ours. */
static int ks_wish_short(const struct kfi_query *q, struct ks_wish *wish)
{
	const struct kcxi_addr *a = q->hints->src_addr;
	bool node = q->flags & KFI_SOURCE && q->node;
	int ret;

	memset(wish, 0, sizeof(*wish));
	ret = node ? kfi_inaddr_wish(q, &wish->in) : 0;
	if (!node || !q->service)
		wish->in.port = htons(a->pid);
	wish->nic = a->nic;
	return ret;
}

static bool ks_hint_short(const struct kfi_info *hints)
{
	return hints && hints->addr_format == KFI_ADDR_CXI && hints->src_addr &&
	       hints->src_addrlen == sizeof(struct kcxi_addr);
}

static int ks_wish(const struct kfi_query *q, struct ks_wish *wish)
{
	if (ks_hint_short(q->hints))
		return ks_wish_short(q, wish);
	wish->nic = 0;
	return kfi_inaddr_wish(q, &wish->in);
}

static bool ks_grants(const struct ks_wish *wish, const struct kfi_inaddr_local *local)
{
	return kfi_inaddr_named(&wish->in, local->ifname) && kfi_inaddr_grants(&wish->in, local);
}

/* Our short name at an address that has one. */
static int ks_offer_if_short(struct kfi_query *q, struct kfi_inaddr_local *local, u32 nic)
{
	struct kcxi_addr name;

	if (ks_short_local(q->net, &local->addr, local->subnet, local->prefix, &name) || (nic && name.nic != nic))
		return 0;
	return ks_offer(q, local, NULL, &name);
}

int ks_getinfo(struct kfi_query *q)
{
	struct kfi_inaddr_locals *all;
	struct ks_wish wish;
	bool any = false;
	unsigned int i;
	int ret = ks_wish(q, &wish);

	if (ret)
		return ret;
	all = kfi_inaddr_locals(q->net);
	if (!all)
		return -ENOMEM;
	for (i = 0; i < all->n; i++)
		kfi_inaddr_set_port(&all->at[i].addr, wish.in.port);
	for (i = 0; !ret && i < all->n && ks_short_wanted(q); i++)
		if (ks_grants(&wish, &all->at[i]))
			ret = ks_offer_if_short(q, &all->at[i], wish.nic);
	for (i = 0; !ret && i < all->n; i++) {
		if (!ks_grants(&wish, &all->at[i]))
			continue;
		any = true;
		ret = ks_offer(q, &all->at[i], &wish.in, NULL);
	}
	kvfree(all);
	return ret ?: any ? 0 : -ENODATA;
}
