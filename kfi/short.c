// SPDX-License-Identifier: GPL-2.0
/*
 * short.c - short names: a number of up to 20 bits for a node and a number of 12 bits for a port,
 * as Lustre's kfilnd uses them. They are for providers whose own names are IP addresses and ports
 * (kfi_inaddr.h).
 *
 * The name of an endpoint is then a struct kcxi_addr. kcxi_addr.nic stands for an IPv4 address: the
 * address that the administrator has mapped the number to (idmap.c), or else the address in the
 * interface's subnet whose host bits are the number, unless the map gives that address another
 * number: an address has one name. kcxi_addr.pid stands for a port, counted from a base. A provider
 * works with IP addresses only; names are converted when they come from the consumer or go to it.
 */
#define pr_fmt(fmt) "kfi: " fmt

#include <linux/inet.h>
#include <linux/inetdevice.h>
#include <linux/net.h>
#include <kfi_cxi_ext.h>
#include "inaddr.h"
#include "registry.h"

#define NIC_BITS	20
#define PID_MAX		4095

static_assert(KFI_SHORT_PORT_MAX == U16_MAX - PID_MAX);

/* ---- conversion ---- */

static __be32 host_mask(u8 prefix)
{
	return ~inet_make_mask(prefix);
}

/* In a larger subnet there would be more hosts than numbers. */
static bool has_numbers(u8 prefix)
{
	return prefix >= 32 - NIC_BITS && prefix < 32;
}

static int nic_to_ip(struct net *net, __be32 subnet, u8 prefix, u32 nic, __be32 *ip)
{
	u32 other;

	if (!nic || nic >> NIC_BITS)
		return -EINVAL;
	if (!kfi_idmap_addr(net, nic, ip))
		return 0;
	if (!has_numbers(prefix) || htonl(nic) & ~host_mask(prefix))
		return -EINVAL;
	*ip = subnet | htonl(nic);
	return kfi_idmap_id(net, *ip, &other) ? 0 : -EINVAL;
}

/*
 * If the map gives a number to another address, the number does not denote this one, whatever its
 * host bits are.
 */
static int ip_to_nic(struct net *net, __be32 subnet, u8 prefix, __be32 ip, u32 *nic)
{
	__be32 mapped;

	if (!kfi_idmap_id(net, ip, nic))
		return 0;
	if (!has_numbers(prefix) || (ip & ~host_mask(prefix)) != subnet)
		return -EADDRNOTAVAIL;
	*nic = ntohl(ip & host_mask(prefix));
	return *nic && kfi_idmap_addr(net, *nic, &mapped) ? 0 : -EADDRNOTAVAIL;
}

/* ---- names in the format of a domain ---- */

static int read_short(const struct kfi_inaddr_names *names, const struct kcxi_addr *a,
		      union kfi_inaddr *name)
{
	struct net *net = read_pnet(&names->domain->fabric->net);
	__be32 ip;
	int ret;

	if (!net)
		return -ENODEV;
	if (a->flags)
		return -EINVAL;		/* two forms of a name would have two handles */
	ret = nic_to_ip(net, names->subnet, names->prefix, a->nic, &ip);
	if (ret)
		return ret;
	*name = (union kfi_inaddr) { .in = {
		.sin_family = AF_INET,
		.sin_port = htons(names->base + a->pid),
		.sin_addr.s_addr = ip,
	} };
	return 0;
}

int kfi_inaddr_name_read(const struct kfi_inaddr_names *names, const void *addr,
			 union kfi_inaddr *name)
{
	if (names->short_names)
		return read_short(names, addr, name);
	memset(name, 0, sizeof(*name));
	memcpy(name, addr, kfi_inaddr_name_len(addr));
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_inaddr_name_read);

static int write_short(const struct kfi_inaddr_names *names, const union kfi_inaddr *name,
		       struct kcxi_addr *a)
{
	struct net *net = read_pnet(&names->domain->fabric->net);
	u16 port = ntohs(kfi_inaddr_port(name));
	u32 nic;
	int ret;

	if (!net)
		return -ENODEV;
	if (name->sa.sa_family != AF_INET || port < names->base || port - names->base > PID_MAX)
		return -EADDRNOTAVAIL;
	ret = ip_to_nic(net, names->subnet, names->prefix, name->in.sin_addr.s_addr, &nic);
	if (ret)
		return ret;
	*a = (struct kcxi_addr) { .pid = port - names->base, .nic = nic };
	return 0;
}

int kfi_inaddr_name_write(const struct kfi_inaddr_names *names, const union kfi_inaddr *name,
			  void *addr)
{
	size_t len = kfi_inaddr_name_len(name);

	if (names->short_names)
		return write_short(names, name, addr) ?: sizeof(struct kcxi_addr);
	memcpy(addr, name, len);
	return len;
}
EXPORT_SYMBOL_GPL(kfi_inaddr_name_write);

int kfi_inaddr_name_set(const struct kfi_inaddr_names *names, const void *addr, size_t len,
			union kfi_inaddr *name)
{
	union kfi_inaddr read;
	int ret;

	if (len != names->domain->addrlen)
		return -EINVAL;
	if (!names->short_names && ((const struct sockaddr *)addr)->sa_family != names->family)
		return -EINVAL;
	ret = kfi_inaddr_name_read(names, addr, &read);
	if (ret)
		return ret;
	*name = read;
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_inaddr_name_set);

int kfi_inaddr_name_check(const struct kfi_inaddr_names *names, u32 format, const void *addr)
{
	union kfi_inaddr name;
	int ret;

	if (!names->short_names)
		return kfi_inaddr_check(kfi_inaddr_format_family(format), addr);
	rcu_read_lock();	/* prevents the removal of the namespace */
	ret = read_short(names, addr, &name);
	rcu_read_unlock();
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_inaddr_name_check);

/* Parse the number of a node, such as "0x12", and a port, which is a decimal number. */
static int resolve_short(const char *node, const char *service, struct kcxi_addr *a)
{
	u32 nic;
	u16 pid;

	if (!node || !service || kstrtou32(node, 0, &nic) || kstrtou16(service, 10, &pid))
		return -EINVAL;
	if (!nic || nic >> NIC_BITS || pid > PID_MAX)
		return -EINVAL;
	*a = (struct kcxi_addr) { .pid = pid, .nic = nic };
	return 0;
}

int kfi_inaddr_name_resolve(const struct kfi_inaddr_names *names, const char *node,
			    const char *service, void *addr)
{
	if (names->short_names)
		return resolve_short(node, service, addr) ?:
		       kfi_inaddr_name_check(names, KFI_ADDR_CXI, addr) ?: sizeof(struct kcxi_addr);
	return kfi_inaddr_resolve(read_pnet(&names->domain->fabric->net), names->family, node,
				  service, addr);
}
EXPORT_SYMBOL_GPL(kfi_inaddr_name_resolve);

int kfi_inaddr_name_source(const struct kfi_inaddr_names *names, const struct kfi_info *info,
			   union kfi_inaddr *addr)
{
	if (!names->short_names)
		return info->ep_attr->type == KFI_EP_MSG ||
		       kfi_inaddr_family(info) == names->family ?
		       kfi_inaddr_source(info, addr) : -EINVAL;
	/* The info must have an address: one that the provider chose might have no short name. */
	if (info->ep_attr->type != KFI_EP_RDM || !info->src_addr ||
	    info->src_addrlen != sizeof(struct kcxi_addr))
		return -EINVAL;
	return read_short(names, info->src_addr, addr);
}
EXPORT_SYMBOL_GPL(kfi_inaddr_name_source);

/*
 * Warn if the address has no entry in the map. The map is lost with the module. A node that had a
 * number of the map would come back under another name, and peers that use the first name could not
 * reach it.
 */
static void warn_unmapped(const struct kfi_inaddr_names *names, const struct kfi_info *info)
{
	union kfi_inaddr name;
	u32 nic;

	if (!kfi_inaddr_name_source(names, info, &name) &&
	    kfi_idmap_id(read_pnet(&names->domain->fabric->net), name.in.sin_addr.s_addr, &nic))
		net_warn_ratelimited(
			"%s: %pI4 is not in the map of short names; its short name is %#x, its host bits; see kfi(8), map load\n",
			info->domain_attr->name, &name.in.sin_addr,
			(u32)((const struct kcxi_addr *)info->src_addr)->nic);
}

int kfi_inaddr_names_open(struct kfi_inaddr_names *names, struct kfi_domain *domain, u16 base)
{
	const char *text = domain->fabric->name, *end;

	*names = (struct kfi_inaddr_names){ .domain = domain,
					    .family = kfi_inaddr_family(domain->info),
					    .base = base };
	domain->addrlen = kfi_inaddr_len(names->family);
	if (domain->info->addr_format != KFI_ADDR_CXI)
		return 0;
	/* The name of the fabric is the subnet. */
	if (!in4_pton(text, -1, (u8 *)&names->subnet, '/', &end) || *end != '/' ||
	    kstrtou8(end + 1, 10, &names->prefix) || names->prefix > 32 ||
	    names->subnet & host_mask(names->prefix))
		return -EINVAL;
	names->short_names = true;
	domain->addrlen = sizeof(struct kcxi_addr);
	warn_unmapped(names, domain->info);
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_inaddr_names_open);

/* ---- queries ---- */

/*
 * A consumer that requests tagged RMA and named receive contexts, but no address format, is assumed
 * to be kfilnd, because no known consumer of IP addresses requests both. Offers with short names
 * come first then.
 */
bool kfi_inaddr_short_wanted(const struct kfi_query *q)
{
	const u64 caps = KFI_TAGGED_RMA | KFI_NAMED_RX_CTX;

	if (!q->hints)
		return false;
	if (q->hints->addr_format == KFI_ADDR_CXI)
		return true;
	return q->hints->addr_format == KFI_FORMAT_UNSPEC && (q->hints->caps & caps) == caps;
}

bool kfi_inaddr_short_offer(const struct kfi_query *q, const struct kfi_inaddr_filter *filter,
			    const struct kfi_inaddr_local *local, struct kcxi_addr *name,
			    struct kfi_info *info)
{
	u16 pid = ntohs(filter->port);
	u32 nic;

	if (local->addr.sa.sa_family != AF_INET || pid > PID_MAX ||
	    ip_to_nic(q->net, local->subnet, local->prefix, local->addr.in.sin_addr.s_addr, &nic) ||
	    (filter->nic && filter->nic != nic))
		return false;
	*name = (struct kcxi_addr) { .pid = pid, .nic = nic };
	info->addr_format = KFI_ADDR_CXI;
	info->src_addr = name;
	info->src_addrlen = sizeof(*name);
	info->dest_addr = NULL;
	info->dest_addrlen = 0;
	return true;
}
EXPORT_SYMBOL_GPL(kfi_inaddr_short_offer);
