// SPDX-License-Identifier: GPL-2.0
/*
 * inaddr.c - names that consist of an IP address and a port: comparison, text, the addresses of a
 * namespace, and the addresses that a query requests. kfi_inaddr.h describes the calls. They access
 * no object of kfi.ko, and take no lock of it.
 */
#include <linux/jhash.h>
#include <linux/inet.h>
#include <linux/inetdevice.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/rcupdate.h>
#include <net/addrconf.h>
#include <net/ipv6.h>
#include <kfi_cxi_ext.h>
#include <kfi_inaddr.h>

/* ---- arithmetic and text ---- */

int kfi_inaddr_ip_cmp(const union kfi_inaddr *a, const union kfi_inaddr *b)
{
	if (a->sa.sa_family != b->sa.sa_family)
		return a->sa.sa_family < b->sa.sa_family ? -1 : 1;
	if (a->sa.sa_family == AF_INET6)
		return memcmp(&a->in6.sin6_addr, &b->in6.sin6_addr, sizeof(a->in6.sin6_addr));
	return memcmp(&a->in.sin_addr, &b->in.sin_addr, sizeof(a->in.sin_addr));
}
EXPORT_SYMBOL_GPL(kfi_inaddr_ip_cmp);

/* A link-local address on two links belongs to two hosts. A name without a scope matches both. */
static int scope_cmp(const union kfi_inaddr *a, const union kfi_inaddr *b)
{
	u32 sa = a->in6.sin6_scope_id, sb = b->in6.sin6_scope_id;

	if (a->sa.sa_family != AF_INET6 || !sa || !sb ||
	    !(ipv6_addr_type(&a->in6.sin6_addr) & IPV6_ADDR_LINKLOCAL))
		return 0;
	return sa < sb ? -1 : sa > sb;
}

int kfi_inaddr_cmp(const void *a, const void *b)
{
	u16 pa = be16_to_cpu(kfi_inaddr_port(a)), pb = be16_to_cpu(kfi_inaddr_port(b));

	return kfi_inaddr_ip_cmp(a, b) ?: (int)pa - (int)pb ?: scope_cmp(a, b);
}
EXPORT_SYMBOL_GPL(kfi_inaddr_cmp);

u32 kfi_inaddr_hash(const void *name)
{
	const union kfi_inaddr *a = name;
	u32 port = (__force u16)kfi_inaddr_port(a);

	if (a->sa.sa_family == AF_INET6)
		return jhash(&a->in6.sin6_addr, sizeof(a->in6.sin6_addr), port);
	return jhash_2words((__force u32)a->in.sin_addr.s_addr, port, 0);
}
EXPORT_SYMBOL_GPL(kfi_inaddr_hash);

size_t kfi_inaddr_name_len(const void *name)
{
	const union kfi_inaddr *a = name;

	return kfi_inaddr_len(a->sa.sa_family);
}
EXPORT_SYMBOL_GPL(kfi_inaddr_name_len);

void kfi_inaddr_name_origin(const void *name, void *into)
{
	union kfi_inaddr *origin = into;

	*origin = *(const union kfi_inaddr *)name;
	kfi_inaddr_set_port(origin, 0);
	if (origin->sa.sa_family == AF_INET6)
		memset(&origin->in6.sin6_addr.s6_addr[8], 0, 8);
}
EXPORT_SYMBOL_GPL(kfi_inaddr_name_origin);

size_t kfi_inaddr_name_wire(const void *name, u8 *bytes)
{
	const union kfi_inaddr *a = name;
	struct in6_addr ip = a->in6.sin6_addr;
	__be16 port = kfi_inaddr_port(a);

	if (a->sa.sa_family != AF_INET6)
		ipv6_addr_set_v4mapped(a->in.sin_addr.s_addr, &ip);
	memcpy(bytes, &ip, sizeof(ip));
	memcpy(bytes + sizeof(ip), &port, sizeof(port));
	return sizeof(ip) + sizeof(port);
}
EXPORT_SYMBOL_GPL(kfi_inaddr_name_wire);

void kfi_inaddr_name_set_port(void *name, u16 port)
{
	kfi_inaddr_set_port(name, cpu_to_be16(port));
}
EXPORT_SYMBOL_GPL(kfi_inaddr_name_set_port);

bool kfi_inaddr_any(const union kfi_inaddr *a)
{
	if (a->sa.sa_family == AF_INET6)
		return ipv6_addr_any(&a->in6.sin6_addr);
	return a->in.sin_addr.s_addr == htonl(INADDR_ANY);
}
EXPORT_SYMBOL_GPL(kfi_inaddr_any);

void kfi_inaddr_str(const void *addr, size_t len, char *buf, size_t size)
{
	const struct kcxi_addr *short_name = addr;

	if (len == sizeof(*short_name))
		snprintf(buf, size, "%#x:%u", (u32)short_name->nic, (u32)short_name->pid);
	else
		snprintf(buf, size, "%pISpc", addr);
}
EXPORT_SYMBOL_GPL(kfi_inaddr_str);

int kfi_inaddr_check(int family, const union kfi_inaddr *a)
{
	return a->sa.sa_family != family || kfi_inaddr_any(a) || !kfi_inaddr_port(a) ? -EINVAL : 0;
}
EXPORT_SYMBOL_GPL(kfi_inaddr_check);

static int read_port(const char *service, __be16 *port)
{
	u16 n = 0;

	if (service && kstrtou16(service, 10, &n))
		return -EINVAL;
	*port = htons(n);
	return 0;
}

/* Parse a numeric address and a port. AF_UNSPEC accepts both families. */
static int read_literal(struct net *net, int family, const char *node, const char *service,
			union kfi_inaddr *addr)
{
	struct sockaddr_storage ss = {};
	__be16 port;

	if (read_port(service, &port) || inet_pton_with_scope(net, family, node, service, &ss))
		return -EINVAL;
	memset(addr, 0, sizeof(*addr));
	memcpy(addr, &ss, kfi_inaddr_len(ss.ss_family));
	return 0;
}

int kfi_inaddr_resolve(struct net *net, int family, const char *node, const char *service,
		       union kfi_inaddr *addr)
{
	if (!node || !service || read_literal(net, family, node, service, addr))
		return -EINVAL;
	return kfi_inaddr_check(family, addr) ?: kfi_inaddr_len(family);
}
EXPORT_SYMBOL_GPL(kfi_inaddr_resolve);

int kfi_inaddr_source(const struct kfi_info *info, union kfi_inaddr *addr)
{
	const union kfi_inaddr *src = info->src_addr;
	int family = kfi_inaddr_family(info);

	memset(addr, 0, sizeof(*addr));
	addr->sa.sa_family = family;
	if (!src)
		return 0;
	if (info->src_addrlen != kfi_inaddr_len(family) || src->sa.sa_family != family)
		return -EINVAL;
	memcpy(addr, src, info->src_addrlen);
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_inaddr_source);

int kfi_inaddr_replace(union kfi_inaddr *name, const void *addr, size_t len)
{
	const union kfi_inaddr *other = addr;

	if (len != kfi_inaddr_len(name->sa.sa_family) ||
	    other->sa.sa_family != name->sa.sa_family)
		return -EINVAL;
	memcpy(name, other, len);
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_inaddr_replace);

/* ---- the interfaces of a namespace ---- */

static void add_v4(struct kfi_inaddr_locals *all, struct net_device *dev, unsigned int most)
{
	struct in_device *in_dev = __in_dev_get_rcu(dev);
	struct kfi_inaddr_local *local;
	const struct in_ifaddr *ifa;

	if (!in_dev)
		return;
	in_dev_for_each_ifa_rcu(ifa, in_dev) {
		if (all->n >= most)
			return;
		local = &all->at[all->n++];
		local->addr.in.sin_family = AF_INET;
		local->addr.in.sin_addr.s_addr = ifa->ifa_local;
		local->prefix = ifa->ifa_prefixlen;
		local->subnet = ifa->ifa_address & ifa->ifa_mask;
		snprintf(local->fabric, sizeof(local->fabric), "%pI4/%d", &local->subnet,
			 ifa->ifa_prefixlen);
		strscpy(local->ifname, dev->name, sizeof(local->ifname));
	}
}

static void add_v6(struct kfi_inaddr_locals *all, struct net_device *dev, unsigned int most)
{
	struct inet6_dev *idev = __in6_dev_get(dev);
	struct kfi_inaddr_local *local;
	const struct inet6_ifaddr *ifa;
	struct in6_addr subnet;

	if (!idev)
		return;
	read_lock_bh(&idev->lock);
	list_for_each_entry(ifa, &idev->addr_list, if_list) {
		if (all->n >= most)
			break;
		if (ifa->flags & IFA_F_DADFAILED)
			continue;
		local = &all->at[all->n++];
		local->addr.in6.sin6_family = AF_INET6;
		local->addr.in6.sin6_addr = ifa->addr;
		if (ipv6_addr_type(&ifa->addr) & IPV6_ADDR_LINKLOCAL)
			local->addr.in6.sin6_scope_id = dev->ifindex;
		local->prefix = ifa->prefix_len;
		ipv6_addr_prefix(&subnet, &ifa->addr, ifa->prefix_len);
		snprintf(local->fabric, sizeof(local->fabric), "%pI6c/%u", &subnet,
			 ifa->prefix_len);
		strscpy(local->ifname, dev->name, sizeof(local->ifname));
	}
	read_unlock_bh(&idev->lock);
}

/*
 * Add the addresses of the devices whose IFF_LOOPBACK flag is @loopback, up to @most entries in
 * total. Context: RCU read section
 */
static void add_devices(struct kfi_inaddr_locals *all, struct net *net, unsigned int loopback,
			unsigned int most)
{
	struct net_device *dev;

	for_each_netdev_rcu(net, dev) {
		if (!(dev->flags & IFF_UP) || (dev->flags & IFF_LOOPBACK) != loopback)
			continue;
		add_v4(all, dev, most);
		add_v6(all, dev, most);
	}
}

#define LOOPBACKS	4	/* entries that are reserved for loopback devices */

/*
 * Loopback devices come last, as in libfabric, because a consumer that takes the first info usually
 * has to reach other machines. Room is reserved for them, so they are present even if the other
 * devices have more addresses than fit. A provider asks under the lock of its fabric, which may be
 * taken under the RTNL (kfi_net), so the RTNL is not taken here.
 */
struct kfi_inaddr_locals *kfi_inaddr_locals(struct net *net)
{
	struct kfi_inaddr_locals *all = kvzalloc(sizeof(*all), GFP_KERNEL);

	if (!all)
		return NULL;
	rcu_read_lock();
	add_devices(all, net, 0, ARRAY_SIZE(all->at) - LOOPBACKS);
	add_devices(all, net, IFF_LOOPBACK, ARRAY_SIZE(all->at));
	rcu_read_unlock();
	return all;
}
EXPORT_SYMBOL_GPL(kfi_inaddr_locals);

/* ---- queries ---- */

/* Find the source address that the routing tables select for @dest, by connecting a UDP socket. */
static int find_route(struct net *net, const union kfi_inaddr *dest, union kfi_inaddr *src)
{
	union kfi_inaddr to = *dest;
	struct socket *sock;
	int ret;

	ret = sock_create_kern(net, dest->sa.sa_family, SOCK_DGRAM, IPPROTO_UDP, &sock);
	if (ret)
		return ret;
	if (!kfi_inaddr_port(&to))
		kfi_inaddr_set_port(&to, htons(9));	/* connect() rejects 0; nothing is sent */
	ret = kernel_connect(sock, (void *)&to.sa, kfi_inaddr_len(to.sa.sa_family), 0);
	if (!ret)
		ret = min(0, kernel_getsockname(sock, (void *)&src->sa));
	sock_release(sock);
	return ret;
}

static bool read_hint(const void *addr, size_t len, union kfi_inaddr *to)
{
	const union kfi_inaddr *a = addr;

	if (!addr || len < sizeof(struct sockaddr_in) || len != kfi_inaddr_len(a->sa.sa_family))
		return false;
	if (a->sa.sa_family != AF_INET && a->sa.sa_family != AF_INET6)
		return false;
	memcpy(to, a, len);
	return true;
}

bool kfi_inaddr_ifname(struct net *net, const char *name, char *ifname)
{
	struct net_device *dev = dev_get_by_name(net, name);

	if (!dev)
		return false;
	strscpy(ifname, dev->name, IFNAMSIZ);
	dev_put(dev);
	return true;
}
EXPORT_SYMBOL_GPL(kfi_inaddr_ifname);

static int filter_source(const struct kfi_query *q, const char *node, const char *service,
			 struct kfi_inaddr_filter *filter)
{
	if (service && read_port(service, &filter->port))
		return -ENODATA;
	if (!node)
		return 0;
	if (!read_literal(q->net, AF_UNSPEC, node, service, &filter->src))
		return 0;
	filter->name = node;
	kfi_inaddr_ifname(q->net, node, filter->ifname);
	return 0;
}

static int filter_dest(const struct kfi_query *q, struct kfi_inaddr_filter *filter)
{
	union kfi_inaddr src = {};

	if (q->node && read_literal(q->net, AF_UNSPEC, q->node, q->service, &filter->dest))
		return -ENODATA;
	if (!filter->dest.sa.sa_family || filter->src.sa.sa_family || filter->name)
		return 0;
	if (find_route(q->net, &filter->dest, &src))
		return -ENODATA;
	kfi_inaddr_set_port(&src, 0);
	filter->src = src;
	return 0;
}

static bool has_short_hint(const struct kfi_info *hints)
{
	return hints && hints->addr_format == KFI_ADDR_CXI && hints->src_addr &&
	       hints->src_addrlen == sizeof(struct kcxi_addr);
}

static bool has_text_hint(const struct kfi_info *hints)
{
	return hints && hints->addr_format == KFI_ADDR_STR && hints->src_addr;
}

/*
 * The hint is the short name of an earlier answer. Its port is used. Its node number is compared
 * with that of each local address later.
 */
static int filter_short(const struct kfi_query *q, struct kfi_inaddr_filter *filter)
{
	const struct kcxi_addr *a = q->hints->src_addr;
	bool node = q->flags & KFI_SOURCE && q->node;
	int ret = node ? filter_source(q, q->node, q->service, filter) : 0;

	if (!node || !q->service)
		filter->port = htons(a->pid);
	filter->nic = a->nic;
	return ret;
}

int kfi_inaddr_filter(const struct kfi_query *q, struct kfi_inaddr_filter *filter)
{
	const struct kfi_info *hints = q->hints;

	memset(filter, 0, sizeof(*filter));
	if (has_short_hint(hints))
		return filter_short(q, filter);
	if (has_text_hint(hints)) {
		/* the text may come from a process */
		if (strnlen(hints->src_addr, hints->src_addrlen) == hints->src_addrlen ||
		    filter_source(q, hints->src_addr, NULL, filter))
			return -ENODATA;
	} else if (hints && read_hint(hints->src_addr, hints->src_addrlen, &filter->src)) {
		filter->port = kfi_inaddr_port(&filter->src);
	}
	if (hints)
		read_hint(hints->dest_addr, hints->dest_addrlen, &filter->dest);
	return q->flags & KFI_SOURCE ? filter_source(q, q->node, q->service, filter) :
				       filter_dest(q, filter);
}
EXPORT_SYMBOL_GPL(kfi_inaddr_filter);

bool kfi_inaddr_matches(const struct kfi_inaddr_filter *filter,
			const struct kfi_inaddr_local *local)
{
	if (filter->src.sa.sa_family && filter->src.sa.sa_family != local->addr.sa.sa_family)
		return false;
	if (filter->src.sa.sa_family && !kfi_inaddr_any(&filter->src) &&
	    kfi_inaddr_ip_cmp(&filter->src, &local->addr))
		return false;
	return !filter->dest.sa.sa_family || filter->dest.sa.sa_family == local->addr.sa.sa_family;
}
EXPORT_SYMBOL_GPL(kfi_inaddr_matches);

int kfi_inaddr_getinfo(struct kfi_query *q,
		       int (*offer)(struct kfi_query *q, struct kfi_inaddr_local *local,
				    struct kfi_inaddr_filter *filter, bool short_names))
{
	struct kfi_inaddr_locals *all;
	struct kfi_inaddr_filter filter;
	bool any = false;
	unsigned int i;
	int ret = kfi_inaddr_filter(q, &filter);

	if (ret)
		return ret;
	all = kfi_inaddr_locals(q->net);
	if (!all)
		return -ENOMEM;
	for (i = 0; i < all->n && (!ret || ret == -ENODATA) && kfi_inaddr_short_wanted(q); i++)
		if (kfi_inaddr_matches(&filter, &all->at[i]))
			ret = offer(q, &all->at[i], &filter, true);
	for (i = 0; i < all->n && (!ret || ret == -ENODATA); i++) {
		if (!kfi_inaddr_matches(&filter, &all->at[i]))
			continue;
		kfi_inaddr_set_port(&all->at[i].addr, filter.port);
		ret = offer(q, &all->at[i], &filter, false);
		any |= !ret;
	}
	kvfree(all);
	if (ret && ret != -ENODATA)
		return ret;
	return any ? 0 : -ENODATA;
}
EXPORT_SYMBOL_GPL(kfi_inaddr_getinfo);

void kfi_inaddr_offer(struct kfi_info *info, struct kfi_inaddr_local *local,
		      struct kfi_inaddr_filter *filter)
{
	int family = local->addr.sa.sa_family;
	bool dest = filter && filter->dest.sa.sa_family;

	info->addr_format = family == AF_INET6 ? KFI_SOCKADDR_IN6 : KFI_SOCKADDR_IN;
	info->src_addr = &local->addr;
	info->src_addrlen = kfi_inaddr_len(family);
	info->dest_addr = dest ? &filter->dest : NULL;
	info->dest_addrlen = dest ? kfi_inaddr_len(filter->dest.sa.sa_family) : 0;
}
EXPORT_SYMBOL_GPL(kfi_inaddr_offer);
