// SPDX-License-Identifier: GPL-2.0
/*
 * short.c - short names: a number of up to 20 bits for a node and one of 12 bits for a port, as Lustre's kfilnd has them.
 *
 * An endpoint's name is struct kcxi_addr then. Its nic stands for an IPv4 address: one that the administrator has mapped
 * (kfi.ko's map of fabric ids), or that of the interface's subnet with these host bits, unless he has given that another
 * number: an address has one name. Its pid stands for a port counted from short_port. All else works with IP addresses; names are converted where they come from, or go to, the consumer.
 */
#include <linux/inet.h>
#include <linux/inetdevice.h>
#include "sock.h"

#define KS_NIC_BITS	20
#define KS_PID_MAX	4095

bool ks_is_short(const struct ks_domain *sdom)
{
	return sdom->domain.addrlen == sizeof(struct kcxi_addr);
}

/* ---- between the two ---- */

static __be32 ks_host_mask(u8 prefix)
{
	return ~inet_make_mask(prefix);
}

/* A subnet with more hosts than there are numbers has some that can't be named. */
static bool ks_short_subnet(u8 prefix)
{
	return prefix >= 32 - KS_NIC_BITS && prefix < 32;
}

static int ks_short_ip(struct net *net, __be32 subnet, u8 prefix, u32 nic, __be32 *ip)
{
	u32 other;

	if (!nic || nic >> KS_NIC_BITS)
		return -EINVAL;
	if (!kfi_idmap_addr(net, nic, ip))
		return 0;
	if (!ks_short_subnet(prefix) || htonl(nic) & ~ks_host_mask(prefix))
		return -EINVAL;
	*ip = subnet | htonl(nic);
	return kfi_idmap_id(net, *ip, &other) ? 0 : -EINVAL;
}

/* A number that the map gives to another address is not this one's, whatever its host bits are. */
static int ks_short_nic(struct net *net, __be32 subnet, u8 prefix, __be32 ip, u32 *nic)
{
	__be32 mapped;

	if (!kfi_idmap_id(net, ip, nic))
		return 0;
	if (!ks_short_subnet(prefix) || (ip & ~ks_host_mask(prefix)) != subnet)
		return -EADDRNOTAVAIL;
	*nic = ntohl(ip & ks_host_mask(prefix));
	return *nic && kfi_idmap_addr(net, *nic, &mapped) ? 0 : -EADDRNOTAVAIL;
}

static bool ks_short_pid(__be16 port, u16 *pid)
{
	*pid = ntohs(port) - ks_short_port;
	return ntohs(port) >= ks_short_port && *pid <= KS_PID_MAX;
}

/* ---- names as the domain has them ---- */

static int ks_read_short(const struct ks_domain *sdom, const struct kcxi_addr *a, union kfi_inaddr *name)
{
	struct net *net = read_pnet(&sdom->domain.fabric->net);
	__be32 ip;
	int ret;

	if (!net)
		return -ENODEV;
	if (a->flags)
		return -EINVAL;		/* no two handles for one name */
	ret = ks_short_ip(net, sdom->subnet, sdom->prefix, a->nic, &ip);
	if (ret)
		return ret;
	*name = (union kfi_inaddr) { .in = {
		.sin_family = AF_INET,
		.sin_port = htons(ks_short_port + a->pid),
		.sin_addr.s_addr = ip,
	} };
	return 0;
}

/* From the consumer. Under rcu_read_lock() or where the namespace can't go. 0 or negative errno. */
int ks_name_read(const struct ks_domain *sdom, const void *addr, union kfi_inaddr *name)
{
	if (ks_is_short(sdom))
		return ks_read_short(sdom, addr, name);
	memset(name, 0, sizeof(*name));
	memcpy(name, addr, sdom->domain.addrlen);
	return 0;
}

static int ks_write_short(const struct ks_domain *sdom, const union kfi_inaddr *name, struct kcxi_addr *a)
{
	struct net *net = read_pnet(&sdom->domain.fabric->net);
	u16 pid;
	u32 nic;
	int ret;

	if (!net)
		return -ENODEV;
	if (name->sa.sa_family != AF_INET || !ks_short_pid(name->in.sin_port, &pid))
		return -EADDRNOTAVAIL;
	ret = ks_short_nic(net, sdom->subnet, sdom->prefix, name->in.sin_addr.s_addr, &nic);
	if (ret)
		return ret;
	*a = (struct kcxi_addr) { .pid = pid, .nic = nic };
	return 0;
}

/* For the consumer; room for KFI_ADDR_MAX bytes. Length, or -EADDRNOTAVAIL: it has no name in this domain. */
int ks_name_write(const struct ks_domain *sdom, const union kfi_inaddr *name, void *addr)
{
	int ret;

	if (ks_is_short(sdom)) {
		ret = ks_write_short(sdom, name, addr);
		return ret ?: sizeof(struct kcxi_addr);
	}
	memcpy(addr, name, sdom->domain.addrlen);
	return sdom->domain.addrlen;
}

/* ---- from text ---- */

/* The number of a node, as "0x12"; the port as a plain number. */
int ks_short_resolve(const char *node, const char *service, struct kcxi_addr *a)
{
	u32 nic;
	u16 pid;

	if (!node || !service || kstrtou32(node, 0, &nic) || kstrtou16(service, 10, &pid))
		return -EINVAL;
	if (!nic || nic >> KS_NIC_BITS || pid > KS_PID_MAX)
		return -EINVAL;
	*a = (struct kcxi_addr) { .pid = pid, .nic = nic };
	return 0;
}

/* The domain's subnet, which its fabric is named after. */
int ks_short_open(struct ks_domain *sdom)
{
	const char *text = sdom->domain.fabric->name, *end;
	u8 prefix;

	if (!in4_pton(text, -1, (u8 *)&sdom->subnet, '/', &end) || *end != '/' || kstrtou8(end + 1, 10, &prefix) ||
	    prefix > 32 || sdom->subnet & ks_host_mask(prefix))
		return -EINVAL;
	sdom->prefix = prefix;
	sdom->domain.addrlen = sizeof(struct kcxi_addr);
	return 0;
}

/* ---- offers ---- */

/*
 * Who asks for tagged RMA and named contexts, which no IP consumer does, and does not say how names look, has the
 * numbers of kfilnd: they come first.
 */
bool ks_short_wanted(const struct kfi_query *q)
{
	const u64 caps = KFI_TAGGED_RMA | KFI_NAMED_RX_CTX;

	if (!q->hints)
		return false;
	if (q->hints->addr_format == KFI_ADDR_CXI)
		return true;
	return q->hints->addr_format == KFI_FORMAT_UNSPEC && (q->hints->caps & caps) == caps;
}

/* Our own short name at one of our addresses, if that is one of the subnet that the fabric is named after. */
int ks_short_local(struct net *net, const union kfi_inaddr *name, __be32 subnet, u8 prefix, struct kcxi_addr *a)
{
	__be32 ip = name->in.sin_addr.s_addr;
	u16 pid = ntohs(name->in.sin_port);
	u32 nic;
	int ret;

	if (name->sa.sa_family != AF_INET || pid > KS_PID_MAX)
		return -EADDRNOTAVAIL;
	ret = ks_short_nic(net, subnet, prefix, ip, &nic);
	if (ret)
		return ret;
	*a = (struct kcxi_addr) { .pid = pid, .nic = nic };
	return 0;
}
