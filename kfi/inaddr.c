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
#include <linux/sched/signal.h>
#include <net/addrconf.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <net/sock.h>
#include <kfi_cxi_ext.h>
#include "inaddr.h"

/* ---- arithmetic and text ---- */

static int ip_cmp(const union kfi_inaddr *a, const union kfi_inaddr *b)
{
	if (a->sa.sa_family != b->sa.sa_family)
		return a->sa.sa_family < b->sa.sa_family ? -1 : 1;
	if (a->sa.sa_family == AF_INET6)
		return memcmp(&a->in6.sin6_addr, &b->in6.sin6_addr, sizeof(a->in6.sin6_addr));
	return memcmp(&a->in.sin_addr, &b->in.sin_addr, sizeof(a->in.sin_addr));
}

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

	return ip_cmp(a, b) ?: (int)pa - (int)pb ?: scope_cmp(a, b);
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

int kfi_inaddr_bind_device(struct socket *sock, const char *ifname, bool only)
{
	struct net_device *dev;
	int ifindex = 0;

	rcu_read_lock();
	dev = dev_get_by_name_rcu(sock_net(sock->sk), ifname);
	if (dev)
		ifindex = only ? dev->ifindex : l3mdev_master_ifindex_rcu(dev);
	rcu_read_unlock();
	if (ifindex)
		return sock_bindtoindex(sock->sk, ifindex, true);
	return only ? -ENODEV : 0;
}
EXPORT_SYMBOL_GPL(kfi_inaddr_bind_device);

static bool addr_matches(const struct kfi_inaddr_filter *filter,
			 const struct kfi_inaddr_local *local)
{
	if (filter->src.sa.sa_family && filter->src.sa.sa_family != local->addr.sa.sa_family)
		return false;
	if (filter->src.sa.sa_family && !kfi_inaddr_any(&filter->src) &&
	    (ip_cmp(&filter->src, &local->addr) || scope_cmp(&filter->src, &local->addr)))
		return false;
	return !filter->dest.sa.sa_family || filter->dest.sa.sa_family == local->addr.sa.sa_family;
}

/**
 * struct listing - a list of addresses in progress
 * @all: the list. @all->n counts all addresses, also those that it has no room for
 * @room: entries of @all
 * @filter: addresses to list
 */
struct listing {
	struct kfi_inaddr_locals	*all;
	unsigned int			room;
	const struct kfi_inaddr_filter	*filter;
};

static void list_one(struct listing *l, const struct kfi_inaddr_local *local)
{
	if (!addr_matches(l->filter, local))
		return;
	if (l->all->n < l->room)
		l->all->at[l->all->n] = *local;
	l->all->n++;
}

static void list_v4(struct listing *l, struct net_device *dev, const char *ifname)
{
	struct in_device *in_dev = __in_dev_get_rcu(dev);
	struct kfi_inaddr_local local = { .addr.in.sin_family = AF_INET };
	const struct in_ifaddr *ifa;

	if (!in_dev)
		return;
	strscpy(local.ifname, ifname, sizeof(local.ifname));
	in_dev_for_each_ifa_rcu(ifa, in_dev) {
		local.addr.in.sin_addr.s_addr = ifa->ifa_local;
		local.prefix = ifa->ifa_prefixlen;
		local.subnet = ifa->ifa_address & ifa->ifa_mask;
		list_one(l, &local);
	}
}

static void list_v6(struct listing *l, struct net_device *dev, const char *ifname)
{
	struct inet6_dev *idev = __in6_dev_get(dev);
	struct kfi_inaddr_local local = { .addr.in6.sin6_family = AF_INET6 };
	const struct inet6_ifaddr *ifa;

	if (!idev)
		return;
	strscpy(local.ifname, ifname, sizeof(local.ifname));
	read_lock_bh(&idev->lock);
	list_for_each_entry(ifa, &idev->addr_list, if_list) {
		if (ifa->flags & IFA_F_DADFAILED)
			continue;
		local.addr.in6.sin6_addr = ifa->addr;
		local.addr.in6.sin6_scope_id =
			ipv6_addr_type(&ifa->addr) & IPV6_ADDR_LINKLOCAL ? dev->ifindex : 0;
		local.prefix = ifa->prefix_len;
		list_one(l, &local);
	}
	read_unlock_bh(&idev->lock);
}

/*
 * List the addresses of the devices whose IFF_LOOPBACK flag is @loopback. @via: only of this
 * device, and of the devices in it if it is a VRF. Context: RCU read section
 */
static void list_devices(struct listing *l, struct net *net, const struct net_device *via,
			 unsigned int loopback)
{
	struct net_device *dev;
	const char *ifname;

	for_each_netdev_rcu(net, dev) {
		if (!(dev->flags & IFF_UP) || (dev->flags & IFF_LOOPBACK) != loopback ||
		    (via && via != dev && via != l3mdev_master_dev_rcu(dev)))
			continue;
		ifname = via ? via->name : dev->name;
		list_v4(l, dev, ifname);
		list_v6(l, dev, ifname);
	}
}

static void print_fabric(struct kfi_inaddr_local *local)
{
	struct in6_addr subnet;

	if (local->addr.sa.sa_family == AF_INET) {
		snprintf(local->fabric, sizeof(local->fabric), "%pI4/%u", &local->subnet,
			 local->prefix);
		return;
	}
	ipv6_addr_prefix(&subnet, &local->addr.in6.sin6_addr, local->prefix);
	snprintf(local->fabric, sizeof(local->fabric), "%pI6c/%u", &subnet, local->prefix);
}

static void list_all(struct listing *l, struct net *net)
{
	const char *ifname = l->filter->ifname;
	const struct net_device *via = NULL;

	rcu_read_lock();
	if (*ifname)
		via = dev_get_by_name_rcu(net, ifname);
	if (via || !*ifname) {
		list_devices(l, net, via, 0);
		list_devices(l, net, via, IFF_LOOPBACK);
	}
	rcu_read_unlock();
}

#define LOCALS_ROOM	16	/* entries of the first attempt */

/*
 * Loopback devices come last, as in libfabric, because a consumer that takes the first info usually
 * has to reach other machines. A provider asks under the lock of its fabric, which may be taken
 * under the RTNL (kfi_net), so the RTNL is not taken here, and there may be more addresses than in
 * the attempt before.
 */
struct kfi_inaddr_locals *kfi_inaddr_locals(struct net *net,
					    const struct kfi_inaddr_filter *filter)
{
	struct listing l = { .room = LOCALS_ROOM, .filter = filter };
	unsigned int i;

	for (;;) {
		l.all = kvzalloc(struct_size(l.all, at, l.room), GFP_KERNEL_ACCOUNT);
		if (!l.all)
			return NULL;
		list_all(&l, net);
		if (l.all->n <= l.room)
			break;
		l.room = l.all->n + l.all->n / 8 + LOCALS_ROOM;
		kvfree(l.all);
	}
	for (i = 0; i < l.all->n; i++)
		print_fabric(&l.all->at[i]);
	return l.all;
}
EXPORT_SYMBOL_GPL(kfi_inaddr_locals);

/* ---- queries ---- */

/*
 * Find the source address that the routing tables select for @dest, by connecting a UDP socket.
 * @ifname: for routes by this interface, or "".
 */
static int find_route(struct net *net, const char *ifname, const union kfi_inaddr *dest,
		      union kfi_inaddr *src)
{
	union kfi_inaddr to = *dest;
	struct socket *sock;
	int ret;

	ret = sock_create_kern(net, dest->sa.sa_family, SOCK_DGRAM, IPPROTO_UDP, &sock);
	if (ret)
		return ret;
	if (!kfi_inaddr_port(&to))
		kfi_inaddr_set_port(&to, htons(9));	/* connect() rejects 0; nothing is sent */
	if (*ifname)
		ret = kfi_inaddr_bind_device(sock, ifname, true);
	if (!ret)
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

/* Find an interface by its name, or an alternative name. If there is none, *@ifname stays. */
static bool find_ifname(struct net *net, const char *name, char *ifname)
{
	struct net_device *dev = dev_get_by_name(net, name);

	if (!dev)
		return false;
	strscpy(ifname, dev->name, IFNAMSIZ);
	dev_put(dev);
	return true;
}

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
	find_ifname(q->net, node, filter->ifname);
	return 0;
}

/* The domain in the hints may be an alternative name of its interface. */
static int filter_domain(const struct kfi_query *q, struct kfi_inaddr_filter *filter)
{
	const struct kfi_domain_attr *hint = q->hints ? q->hints->domain_attr : NULL;
	char ifname[IFNAMSIZ];

	if (!hint || !hint->name || !find_ifname(q->net, hint->name, ifname))
		return 0;
	if (*filter->ifname && strcmp(filter->ifname, ifname))
		return -ENODATA;
	strscpy(filter->ifname, ifname, sizeof(filter->ifname));
	return 0;
}

static int filter_route(const struct kfi_query *q, struct kfi_inaddr_filter *filter)
{
	union kfi_inaddr src = {};

	if (!filter->dest.sa.sa_family || filter->src.sa.sa_family)
		return 0;
	if (filter->name && !*filter->ifname)
		return 0;	/* a device that has no routes of its own */
	if (find_route(q->net, filter->ifname, &filter->dest, &src))
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

static int filter_names(const struct kfi_query *q, struct kfi_inaddr_filter *filter)
{
	const struct kfi_info *hints = q->hints;

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
	if (q->flags & KFI_SOURCE)
		return filter_source(q, q->node, q->service, filter);
	if (q->node && read_literal(q->net, AF_UNSPEC, q->node, q->service, &filter->dest))
		return -ENODATA;
	return 0;
}

int kfi_inaddr_filter(const struct kfi_query *q, bool domains, struct kfi_inaddr_filter *filter)
{
	int ret;

	memset(filter, 0, sizeof(*filter));
	ret = filter_names(q, filter);
	if (!ret && domains)
		ret = filter_domain(q, filter);
	if (!ret && !(q->flags & KFI_SOURCE))
		ret = filter_route(q, filter);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_inaddr_filter);

/* The number of addresses has no limit, so a task can be killed before it has gone through all. */
static bool goes_on(int ret)
{
	cond_resched();
	return (!ret || ret == -ENODATA) && !fatal_signal_pending(current);
}

int kfi_inaddr_getinfo(struct kfi_query *q, struct kfi_inaddr_filter *filter,
		       int (*offer)(struct kfi_query *q, struct kfi_inaddr_local *local,
				    struct kfi_inaddr_filter *filter, bool short_names))
{
	struct kfi_inaddr_locals *all = kfi_inaddr_locals(q->net, filter);
	bool any = false;
	unsigned int i;
	int ret = 0;

	if (!all)
		return -ENOMEM;
	for (i = 0; i < all->n && goes_on(ret) && kfi_inaddr_short_wanted(q); i++)
		ret = offer(q, &all->at[i], filter, true);
	for (i = 0; i < all->n && goes_on(ret); i++) {
		kfi_inaddr_set_port(&all->at[i].addr, filter->port);
		ret = offer(q, &all->at[i], filter, false);
		any |= !ret;
	}
	if (i < all->n && fatal_signal_pending(current))
		ret = -EINTR;
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
