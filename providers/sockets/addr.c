// SPDX-License-Identifier: GPL-2.0
/*
 * addr.c - names, and what we offer for them.
 *
 * A node is an IPv4 or IPv6 address, or (for the local side) the name of an interface; a service is a port number. We answer
 * for addresses of this namespace's interfaces only. The fabric is named after the subnet, the domain after the interface,
 * as libfabric's providers over IP do.
 */
#include <linux/inet.h>
#include <linux/inetdevice.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <net/ipv6.h>
#include "sock.h"

/* ---- plain address arithmetic ---- */

size_t ks_addrlen(int family)
{
	return family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

__be16 ks_addr_port(const union ks_addr *a)
{
	return a->sa.sa_family == AF_INET6 ? a->in6.sin6_port : a->in.sin_port;
}

void ks_addr_set_port(union ks_addr *a, __be16 port)
{
	if (a->sa.sa_family == AF_INET6)
		a->in6.sin6_port = port;
	else
		a->in.sin_port = port;
}

static int ks_ip_cmp(const union ks_addr *a, const union ks_addr *b)
{
	if (a->sa.sa_family != b->sa.sa_family)
		return a->sa.sa_family < b->sa.sa_family ? -1 : 1;
	if (a->sa.sa_family == AF_INET6)
		return memcmp(&a->in6.sin6_addr, &b->in6.sin6_addr, sizeof(a->in6.sin6_addr));
	return memcmp(&a->in.sin_addr, &b->in.sin_addr, sizeof(a->in.sin_addr));
}

/* The same order on both ends of a connection: it settles simultaneous calls. */
int ks_addr_cmp(const union ks_addr *a, const union ks_addr *b)
{
	u16 pa = be16_to_cpu(ks_addr_port(a)), pb = be16_to_cpu(ks_addr_port(b));

	return ks_ip_cmp(a, b) ?: (int)pa - (int)pb;
}

bool ks_addr_equal(const union ks_addr *a, const union ks_addr *b)
{
	return ks_addr_port(a) == ks_addr_port(b) && !ks_ip_cmp(a, b);
}

static bool ks_addr_any(const union ks_addr *a)
{
	if (a->sa.sa_family == AF_INET6)
		return ipv6_addr_any(&a->in6.sin6_addr);
	return a->in.sin_addr.s_addr == htonl(INADDR_ANY);
}

void ks_addr_str(const void *addr, size_t len, char *buf, size_t size)
{
	const struct kcxi_addr *brief = addr;

	if (len == sizeof(*brief))
		snprintf(buf, size, "%#x:%u", (u32)brief->nic, (u32)brief->pid);
	else
		snprintf(buf, size, "%pISpc", addr);
}

int ks_addr_check(struct kfi_domain *domain, const void *addr)
{
	const union ks_addr *a = addr;
	union ks_addr name;
	int ret;

	if (ks_is_short(to_ks_domain(domain))) {
		rcu_read_lock();	/* the namespace may be going */
		ret = ks_name_read(to_ks_domain(domain), addr, &name);
		rcu_read_unlock();
		return ret;
	}
	if (a->sa.sa_family != to_ks_domain(domain)->family || ks_addr_any(a) || !ks_addr_port(a))
		return -EINVAL;
	return 0;
}

static int ks_port(const char *service, __be16 *port)
{
	u16 n = 0;

	if (service && kstrtou16(service, 10, &n))
		return -EINVAL;
	*port = htons(n);
	return 0;
}

/* Numeric address and port; family AF_UNSPEC takes either. */
static int ks_literal(struct net *net, int family, const char *node, const char *service, union ks_addr *addr)
{
	struct sockaddr_storage ss = {};
	__be16 port;

	if (ks_port(service, &port) || inet_pton_with_scope(net, family, node, service, &ss))
		return -EINVAL;
	memset(addr, 0, sizeof(*addr));
	memcpy(addr, &ss, ks_addrlen(ss.ss_family));
	return 0;
}

int ks_resolve(struct kfi_domain *domain, const char *node, const char *service, void *addr)
{
	int family = to_ks_domain(domain)->family;

	if (ks_is_short(to_ks_domain(domain)))
		return ks_short_resolve(node, service, addr) ?: ks_addr_check(domain, addr) ?: sizeof(struct kcxi_addr);
	if (!node || !service || ks_literal(read_pnet(&domain->fabric->net), family, node, service, addr))
		return -EINVAL;
	return ks_addr_check(domain, addr) ?: ks_addrlen(family);
}

/* Where an endpoint opened with @info will listen or bind. */
int ks_addr_local(const struct kfi_info *info, union ks_addr *addr)
{
	int family = info->addr_format == KFI_SOCKADDR_IN6 ? AF_INET6 : AF_INET;
	const union ks_addr *src = info->src_addr;

	memset(addr, 0, sizeof(*addr));
	addr->sa.sa_family = family;
	if (!src)
		return 0;
	if (info->src_addrlen != ks_addrlen(family) || src->sa.sa_family != family)
		return -EINVAL;
	memcpy(addr, src, info->src_addrlen);
	return 0;
}

/* ---- the interfaces of a namespace ---- */

/** struct ks_local - an address of ours */
struct ks_local {
	union ks_addr	addr;
	char		fabric[KFI_NAME_MAX];
	char		domain[IFNAMSIZ];
	__be32		subnet;		/* IPv4 */
	u8		prefix;
};

#define KS_LOCAL_MAX	64

struct ks_locals {
	unsigned int	n;
	struct ks_local	at[KS_LOCAL_MAX];
};

static void ks_local_v4(struct ks_locals *all, struct net_device *dev)
{
	struct in_device *in_dev = __in_dev_get_rtnl(dev);
	const struct in_ifaddr *ifa;
	struct ks_local *local;

	if (!in_dev)
		return;
	in_dev_for_each_ifa_rtnl(ifa, in_dev) {
		if (all->n == KS_LOCAL_MAX)
			return;
		local = &all->at[all->n++];
		local->addr.in.sin_family = AF_INET;
		local->addr.in.sin_addr.s_addr = ifa->ifa_local;
		local->prefix = ifa->ifa_prefixlen;
		local->subnet = ifa->ifa_address & ifa->ifa_mask;
		snprintf(local->fabric, sizeof(local->fabric), "%pI4/%d", &local->subnet, ifa->ifa_prefixlen);
		strscpy(local->domain, dev->name, sizeof(local->domain));
	}
}

static void ks_local_v6(struct ks_locals *all, struct net_device *dev)
{
	struct inet6_dev *idev = __in6_dev_get(dev);
	const struct inet6_ifaddr *ifa;
	struct ks_local *local;
	struct in6_addr subnet;

	if (!idev)
		return;
	read_lock_bh(&idev->lock);
	list_for_each_entry(ifa, &idev->addr_list, if_list) {
		if (all->n == KS_LOCAL_MAX)
			break;
		if (ifa->flags & IFA_F_DADFAILED)
			continue;
		local = &all->at[all->n++];
		local->addr.in6.sin6_family = AF_INET6;
		local->addr.in6.sin6_addr = ifa->addr;
		if (ipv6_addr_type(&ifa->addr) & IPV6_ADDR_LINKLOCAL)
			local->addr.in6.sin6_scope_id = dev->ifindex;
		ipv6_addr_prefix(&subnet, &ifa->addr, ifa->prefix_len);
		snprintf(local->fabric, sizeof(local->fabric), "%pI6c/%u", &subnet, ifa->prefix_len);
		strscpy(local->domain, dev->name, sizeof(local->domain));
	}
	read_unlock_bh(&idev->lock);
}

static struct ks_locals *ks_locals_get(struct net *net)
{
	struct ks_locals *all = kvzalloc(sizeof(*all), GFP_KERNEL);
	struct net_device *dev;

	if (!all)
		return NULL;
	rtnl_lock();
	for_each_netdev(net, dev) {
		if (!(dev->flags & IFF_UP))
			continue;
		ks_local_v4(all, dev);
		ks_local_v6(all, dev);
	}
	rtnl_unlock();
	return all;
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
		.tx_ctx_cnt = 1,
		.rx_ctx_cnt = 1,
	};
}

static void ks_offer_domain(struct kfi_info *info, const struct kfi_query *q, struct ks_local *local)
{
	*info->domain_attr = (struct kfi_domain_attr) {
		.name = local->domain,
		.threading = KFI_THREAD_SAFE,
		.control_progress = KFI_PROGRESS_AUTO,
		.data_progress = KFI_PROGRESS_AUTO,
		.resource_mgmt = KFI_RM_ENABLED,
		.av_type = KFI_AV_TABLE,
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
	*info->fabric_attr = (struct kfi_fabric_attr) {
		.name = local->fabric,
		.prov_name = (char *)q->prov->name,
		.prov_version = q->prov->version,
		.api_version = q->version,
	};
}

static void ks_offer_names(struct kfi_info *info, struct ks_local *local, const union ks_addr *dest)
{
	info->addr_format = local->addr.sa.sa_family == AF_INET6 ? KFI_SOCKADDR_IN6 : KFI_SOCKADDR_IN;
	info->src_addr = &local->addr;
	info->src_addrlen = ks_addrlen(local->addr.sa.sa_family);
	info->dest_addr = (void *)dest;
	info->dest_addrlen = dest ? ks_addrlen(dest->sa.sa_family) : 0;
}

static void ks_offer_short(struct kfi_info *info, struct kcxi_addr *name)
{
	info->addr_format = KFI_ADDR_CXI;
	info->src_addr = name;
	info->src_addrlen = sizeof(*name);
}

/* @name: offer unconnected endpoints under this short name, instead of all kinds under addresses. */
static int ks_offer(struct kfi_query *q, struct ks_local *local, const union ks_addr *dest, struct kcxi_addr *name)
{
	static const enum kfi_ep_type types[] = { KFI_EP_RDM, KFI_EP_MSG, KFI_EP_DGRAM };
	struct kfi_info *info = kfi_allocinfo();
	int i, ret = info ? 0 : -ENOMEM;

	for (i = 0; !ret && i < (name ? 1 : ARRAY_SIZE(types)); i++) {
		ks_offer_transfer(info, types[i]);
		ks_offer_domain(info, q, local);
		if (name)
			ks_offer_short(info, name);
		else
			ks_offer_names(info, local, dest);
		ret = kfi_query_add(q, info);
	}
	if (info) {	/* everything it points to was borrowed */
		info->src_addr = NULL;
		info->dest_addr = NULL;
		info->domain_attr->name = NULL;
		info->fabric_attr->name = NULL;
		info->fabric_attr->prov_name = NULL;
	}
	kfi_freeinfo(info);
	return ret;
}

/* The source address that the routing would choose towards @dest: ask a socket. */
static int ks_route(struct net *net, const union ks_addr *dest, union ks_addr *src)
{
	union ks_addr to = *dest;
	struct socket *sock;
	int ret;

	ret = sock_create_kern(net, dest->sa.sa_family, SOCK_DGRAM, IPPROTO_UDP, &sock);
	if (ret)
		return ret;
	if (!ks_addr_port(&to))
		ks_addr_set_port(&to, htons(9));	/* discard: nothing is sent, but 0 won't connect */
	ret = kernel_connect(sock, (void *)&to.sa, ks_addrlen(to.sa.sa_family), 0);
	if (!ret)
		ret = min(0, kernel_getsockname(sock, (void *)&src->sa));
	sock_release(sock);
	return ret;
}

/** struct ks_wish - what a query asks for: which of our addresses, which port, and towards whom */
struct ks_wish {
	union ks_addr		src;		/* family 0: any */
	const char		*interface;
	__be16			port;
	u32			nic;		/* short name's; 0: any */
	union ks_addr		dest;		/* family 0: nobody in particular */
};

static bool ks_hint_addr(const void *addr, size_t len, union ks_addr *to)
{
	const union ks_addr *a = addr;

	if (!addr || len < sizeof(struct sockaddr_in) || len != ks_addrlen(a->sa.sa_family))
		return false;
	if (a->sa.sa_family != AF_INET && a->sa.sa_family != AF_INET6)
		return false;
	memcpy(to, a, len);
	return true;
}

static int ks_wish_source(const struct kfi_query *q, struct ks_wish *wish)
{
	if (q->service && ks_port(q->service, &wish->port))
		return -ENODATA;
	if (!q->node)
		return 0;
	if (ks_literal(q->net, AF_UNSPEC, q->node, q->service, &wish->src))
		wish->interface = q->node;
	else if (ks_addr_any(&wish->src))
		wish->src.sa.sa_family = 0;
	return 0;
}

static int ks_wish_dest(const struct kfi_query *q, struct ks_wish *wish)
{
	union ks_addr src = {};

	if (q->node && ks_literal(q->net, AF_UNSPEC, q->node, q->service, &wish->dest))
		return -ENODATA;
	if (!wish->dest.sa.sa_family || wish->src.sa.sa_family)
		return 0;
	if (ks_route(q->net, &wish->dest, &src))
		return -ENODATA;
	ks_addr_set_port(&src, 0);
	wish->src = src;
	return 0;
}

/* An earlier answer's short name: the port is what is left of it, the node is compared with each of ours. */
static bool ks_hint_short(const struct kfi_info *hints, struct ks_wish *wish)
{
	const struct kcxi_addr *a = hints->src_addr;

	if (hints->addr_format != KFI_ADDR_CXI || !a || hints->src_addrlen != sizeof(*a))
		return false;
	wish->nic = a->nic;
	wish->port = htons(a->pid);
	return true;
}

static int ks_wish(const struct kfi_query *q, struct ks_wish *wish)
{
	memset(wish, 0, sizeof(*wish));
	if (q->hints && ks_hint_short(q->hints, wish))
		return q->flags & KFI_SOURCE && q->node ? ks_wish_source(q, wish) : 0;
	if (q->hints && ks_hint_addr(q->hints->src_addr, q->hints->src_addrlen, &wish->src))
		wish->port = ks_addr_port(&wish->src);
	if (q->hints)
		ks_hint_addr(q->hints->dest_addr, q->hints->dest_addrlen, &wish->dest);
	return q->flags & KFI_SOURCE ? ks_wish_source(q, wish) : ks_wish_dest(q, wish);
}

static bool ks_grants(const struct ks_wish *wish, const struct ks_local *local)
{
	if (wish->interface && strcmp(wish->interface, local->domain))
		return false;
	if (wish->src.sa.sa_family && !ks_addr_any(&wish->src) && ks_ip_cmp(&wish->src, &local->addr))
		return false;
	return !wish->dest.sa.sa_family || wish->dest.sa.sa_family == local->addr.sa.sa_family;
}

/* Our short name at an address that has one. */
static int ks_offer_if_short(struct kfi_query *q, struct ks_local *local, u32 nic)
{
	struct kcxi_addr name;

	if (ks_short_local(q->net, &local->addr, local->subnet, local->prefix, &name) || (nic && name.nic != nic))
		return 0;
	return ks_offer(q, local, NULL, &name);
}

int ks_getinfo(struct kfi_query *q)
{
	struct ks_locals *all;
	struct ks_wish wish;
	bool any = false;
	unsigned int i;
	int ret = ks_wish(q, &wish);

	if (ret)
		return ret;
	all = ks_locals_get(q->net);
	if (!all)
		return -ENOMEM;
	for (i = 0; i < all->n; i++)
		ks_addr_set_port(&all->at[i].addr, wish.port);
	for (i = 0; !ret && i < all->n && ks_short_wanted(q); i++)
		if (ks_grants(&wish, &all->at[i]))
			ret = ks_offer_if_short(q, &all->at[i], wish.nic);
	for (i = 0; !ret && i < all->n; i++) {
		if (!ks_grants(&wish, &all->at[i]))
			continue;
		any = true;
		ret = ks_offer(q, &all->at[i], wish.dest.sa.sa_family ? &wish.dest : NULL, NULL);
	}
	kvfree(all);
	return ret ?: any ? 0 : -ENODATA;
}
