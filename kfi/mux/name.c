// SPDX-License-Identifier: GPL-2.0
/*
 * name.c - names. A name is an end of a way, and a port at this end. How an end is identified is up
 * to the provider: by a number, or by the UUID of a machine.
 *
 * A node string is what the provider reads as an end, or the name of a way of this machine. The
 * name stands for our end of the way; with "/peer" behind it, it stands for the other end.
 */
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/unaligned.h>
#include "mux.h"

/* ---- addresses ---- */

void kmx_addr_set(const struct kfi_mux_prov *mp, void *addr, const void *side, u32 port)
{
	memcpy(addr, side, mp->side_len);
	put_unaligned_le32(port, addr + mp->side_len);
}

u32 kmx_addr_port(const struct kfi_mux_prov *mp, const void *addr)
{
	return get_unaligned_le32(addr + mp->side_len);
}

int kfi_mux_addr_check(struct kfi_domain *domain, u32 format, const void *addr)
{
	u32 port = kmx_addr_port(to_mux_prov(domain->fabric->prov), addr);

	return port && port <= KMW_PORT_MAX ? 0 : -EINVAL;
}
EXPORT_SYMBOL_GPL(kfi_mux_addr_check);

int kmx_source(const struct kfi_info *info, struct kfi_mux *mux, u32 *port)
{
	u32 from;

	*port = 0;
	if (!info->src_addr)
		return 0;
	if (info->src_addrlen != kmx_addr_len(mux->prov))
		return -EINVAL;
	if (!kmx_is_side(mux, mux->own, info->src_addr))
		return -EADDRNOTAVAIL;
	from = kmx_addr_port(mux->prov, info->src_addr);
	if (from > KMW_PORT_MAX)
		return -EINVAL;
	*port = from;
	return 0;
}

/* ---- nodes and services ---- */

int kmx_port_parse(const char *service, u32 *port)
{
	return kstrtou32(service, 10, port) || !*port || *port > KMW_PORT_MAX ? -EINVAL : 0;
}

/* Return the end that a name of @mux stands for, alone or with "/peer"; or NULL. */
static const u8 *kmx_named(struct kfi_mux *mux, const char *node)
{
	const char *behind = strchrnul(node, '/');
	char name[KFI_NAME_MAX];

	if (*behind && strcmp(behind, "/peer"))
		return NULL;
	if (behind - node >= sizeof(name))
		return NULL;
	strscpy(name, node, behind - node + 1);
	if (!kmx_is_called(mux, name))
		return NULL;
	return *behind ? mux->peer : mux->own;
}

struct kmx_name {
	const char	*node;
	u8		side[KFI_MUX_SIDE_MAX];
};

static int kmx_name_match(struct kfi_mux *mux, void *arg)
{
	struct kmx_name *name = arg;

	if (!kfi_mux_named(mux) || !kmx_is_called(mux, name->node))
		return 0;
	memcpy(name->side, mux->own, mux->prov->side_len);
	return 1;
}

/*
 * The name of another way stands for its end, too, because both ends of @mux may be in one machine.
 * "/peer" is accepted behind the name of @mux only. If several ways connect two machines, all other
 * ends may be identified alike, so the name selects the way.
 */
int kmx_node_side(struct kfi_mux *mux, const char *node, u8 *side)
{
	const struct kfi_mux_prov *mp = mux->prov;
	struct kmx_name name = { .node = node };
	const u8 *named = kmx_named(mux, node);
	int ret = 0;

	if (named)
		memcpy(side, named, mp->side_len);
	else
		ret = mux->ops->side(mux, node, side);
	if (ret == -ENOTUNIQ)
		return ret;
	if (!ret)
		return kmx_is_side(mux, mux->own, side) || kmx_is_side(mux, mux->peer, side) ?
		       0 : -ENODATA;
	if (kfi_mux_each(mux->prov, kmx_name_match, &name) != 1 ||
	    !kmx_is_side(mux, mux->peer, name.side))
		return -ENODATA;
	memcpy(side, name.side, mp->side_len);
	return 0;
}

/* Without a node, the address is at the other end of the domain's way. */
int kfi_mux_resolve(struct kfi_domain *domain, const char *node, const char *service, void *addr)
{
	struct kfi_mux_prov *mp = to_mux_prov(domain->fabric->prov);
	struct kfi_mux *mux = kfi_mux_find(mp, domain->name);
	u8 side[KFI_MUX_SIDE_MAX];
	u32 port;
	int ret = 0;

	if (!mux)
		return -ENODEV;
	memcpy(side, mux->peer, mp->side_len);
	if (node)
		ret = kmx_node_side(mux, node, side);
	kfi_mux_put(mux);
	if (ret || !service || kmx_port_parse(service, &port))
		return -EINVAL;
	kmx_addr_set(mp, addr, side, port);
	return kmx_addr_len(mp);
}
EXPORT_SYMBOL_GPL(kfi_mux_resolve);
