// SPDX-License-Identifier: GPL-2.0
/*
 * addr.c - names. A name consists of an end of a bridge, and a port at this end. The driver of the
 * bridge reports the numbers of both ends.
 *
 * A node string is the number of an end, or the name of a bridge of this machine. The name stands
 * for our end of the bridge; with "/peer" behind it, it stands for the other end.
 */
#include <linux/jhash.h>
#include <linux/kernel.h>
#include "ntb.h"

void nt_addr_str(const void *addr, size_t len, char *buf, size_t size)
{
	const struct ntw_addr *a = addr;

	if (len < sizeof(*a))
		snprintf(buf, size, "ntb:?");
	else
		snprintf(buf, size, "ntb:%u:%u", le32_to_cpu(a->side), le32_to_cpu(a->port));
}

/* ---- names of the message protocol: a struct ntw_addr ---- */

size_t nt_name_len(const void *name)
{
	return sizeof(struct ntw_addr);
}

int nt_name_cmp(const void *a, const void *b)
{
	const struct ntw_addr *x = a, *y = b;

	if (x->side != y->side)
		return le32_to_cpu(x->side) < le32_to_cpu(y->side) ? -1 : 1;
	if (x->port != y->port)
		return le32_to_cpu(x->port) < le32_to_cpu(y->port) ? -1 : 1;
	return 0;
}

u32 nt_name_hash(const void *name)
{
	return jhash(name, sizeof(struct ntw_addr), 0);
}

int nt_name_read(const struct kfi_ep *ep, const void *addr, void *name)
{
	memcpy(name, addr, sizeof(struct ntw_addr));
	return 0;
}

int nt_name_write(const struct kfi_ep *ep, const void *name, void *addr)
{
	memcpy(addr, name, sizeof(struct ntw_addr));
	return sizeof(struct ntw_addr);
}

/* All endpoints of one end count as one origin. */
void nt_name_origin(const void *name, void *origin)
{
	const struct ntw_addr *a = name;

	*(struct ntw_addr *)origin = (struct ntw_addr) { .side = a->side };
}

void nt_name_self(struct kfi_link *link, void *name)
{
	const struct nt_stream *s = container_of(link, struct nt_end, link)->stream;

	*(struct ntw_addr *)name = (struct ntw_addr) {
		.side = cpu_to_le32(nt_link_side(s->dev->link)),
		.port = cpu_to_le32(s->port),
	};
}

size_t nt_name_wire(const void *name, u8 *bytes)
{
	memcpy(bytes, name, sizeof(struct ntw_addr));
	return sizeof(struct ntw_addr);
}

/* ---- nodes and services ---- */

int nt_port_parse(const char *service, u32 *port)
{
	return kstrtou32(service, 10, port) || !*port || *port > INT_MAX ? -EINVAL : 0;
}

/* Parse a node string that begins with the name of @dev. Return: 0, -ENODATA */
static int nt_named(struct nt_dev *dev, const char *node, u32 *side)
{
	const char *name = nt_link_name(dev->link);
	size_t len = strlen(name);

	if (strncmp(node, name, len))
		return -ENODATA;
	if (!node[len])
		*side = nt_link_side(dev->link);
	else if (!strcmp(node + len, "/peer"))
		*side = nt_link_peer_side(dev->link);
	else
		return -ENODATA;
	return 0;
}

struct nt_name {
	const char	*node;
	u32		side;
};

static int nt_name_match(struct nt_dev *dev, void *arg)
{
	struct nt_name *name = arg;

	if (strcmp(nt_link_name(dev->link), name->node))
		return 0;
	name->side = nt_link_side(dev->link);
	return 1;
}

/*
 * The name of another bridge stands for its end, too, because both ends of @dev may be in one
 * machine. "/peer" is accepted behind the name of @dev only. If several bridges connect two
 * machines, all other ends may have the same number, so the name selects the bridge.
 */
int nt_node_side(struct nt_dev *dev, const char *node, u32 *side)
{
	struct nt_name name = { .node = node };

	if (!kstrtou32(node, 10, side) || !nt_named(dev, node, side))
		return *side == nt_link_side(dev->link) || *side == nt_link_peer_side(dev->link) ?
		       0 : -ENODATA;
	if (nt_devs_each(nt_name_match, &name) != 1 || name.side != nt_link_peer_side(dev->link))
		return -ENODATA;
	*side = name.side;
	return 0;
}

int nt_addr_check(struct kfi_domain *domain, u32 format, const void *addr)
{
	const struct ntw_addr *a = addr;
	u32 port = le32_to_cpu(a->port);

	return port && port <= INT_MAX ? 0 : -EINVAL;
}

/* Without a node, the address is at the other end of the domain's bridge. */
int nt_resolve(struct kfi_domain *domain, const char *node, const char *service, void *addr)
{
	struct nt_dev *dev = nt_dev_find(domain->name, 0);
	struct ntw_addr *a = addr;
	u32 side, port;
	int ret = 0;

	if (!dev)
		return -ENODEV;
	side = nt_link_peer_side(dev->link);
	if (node)
		ret = nt_node_side(dev, node, &side);
	nt_dev_put(dev);
	if (ret || !service || nt_port_parse(service, &port))
		return -EINVAL;
	*a = (struct ntw_addr) { .side = cpu_to_le32(side), .port = cpu_to_le32(port) };
	return sizeof(*a);
}

/* Store the name that an info requests for its endpoint. Port 0 stands for any port. */
int nt_source(const struct kfi_info *info, struct nt_dev *dev, struct ntw_addr *addr)
{
	*addr = (struct ntw_addr) { .side = cpu_to_le32(nt_link_side(dev->link)) };
	if (!info->src_addr)
		return 0;
	if (info->src_addrlen != sizeof(*addr))
		return -EINVAL;
	memcpy(addr, info->src_addr, sizeof(*addr));
	if (le32_to_cpu(addr->side) != nt_link_side(dev->link))
		return -EADDRNOTAVAIL;
	return le32_to_cpu(addr->port) > INT_MAX ? -EINVAL : 0;
}
