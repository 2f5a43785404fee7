// SPDX-License-Identifier: GPL-2.0
/*
 * ep.c - endpoints and passive endpoints: open, enable, stop, close, names.
 */
#include "ntb.h"

/* ---- endpoints ---- */

int nt_ep_open(struct kfi_ep *ep)
{
	struct nt_ep *nep = to_nt_ep(ep);
	int ret = 0;

	nep->dev = to_nt_domain(ep->domain)->dev;
	/* A connection stays on the bridge of the listener that was called. */
	if (ep->connreq && to_nt_pep(ep->connreq->pep)->dev != nep->dev)
		return -EINVAL;
	ep->tx_levels = KFI_PROTO_LEVELS;
	nep->listener.nep = nep;
	if (!ep->sep)
		ret = nt_source(ep->info, nep->dev, &nep->addr);
	ret = ret ?: kfi_proto_ep_open(ep, &nt_proto);
	/*
	 * With flat or mapped the engine of the peer can write a long message to its receive, so
	 * that no CPU copies it. Such a message has to ask for the receive.
	 */
	if (!ret && nep->dev->link->flat.index >= 0)
		ep->eager_max = min_t(size_t, ep->eager_max, nt_proto.params.eager_size);
	return ret;
}

/* A context has the name of its scalable endpoint, which listens for it; kfi_conn_set_adopt(). */
static void nt_ctx_enable(struct nt_ep *nep, const struct nt_ep *top)
{
	nep->addr = top->addr;
	nep->pe.peers.incarnation = top->pe.peers.incarnation;
}

/* Listen at the port of @addr, or at any port if that is 0, which is then stored in @addr. */
static int nt_listen(struct nt_dev *dev, struct nt_listener *l, struct ntw_addr *addr)
{
	int ret;

	l->port = le32_to_cpu(addr->port);
	ret = nt_port_take(dev, l);
	if (ret)
		l->port = 0;
	else
		addr->port = cpu_to_le32(l->port);
	return ret;
}

int nt_ep_enable(struct kfi_ep *ep)
{
	struct nt_ep *nep = to_nt_ep(ep);

	if (ep->sep) {
		nt_ctx_enable(nep, to_nt_ep(ep->sep));
		return 0;
	}
	return ep->type == KFI_EP_RDM ? nt_listen(nep->dev, &nep->listener, &nep->addr) : 0;
}

static void nt_ep_quiet(struct kfi_proto_ep *pe)
{
	struct nt_ep *nep = container_of(pe, struct nt_ep, pe);

	nt_port_give(nep->dev, &nep->listener);
}

void nt_ep_stop(struct kfi_ep *ep, int err)
{
	kfi_proto_ep_stop(ep, err, nt_ep_quiet);
}

static int nt_addr_write(const struct ntw_addr *from, void *addr)
{
	memcpy(addr, from, sizeof(*from));
	return sizeof(*from);
}

/* Set the name of an endpoint. It has to be a name at our own end of the bridge. */
static int nt_addr_set(struct ntw_addr *to, u32 side, const void *addr, size_t len)
{
	struct ntw_addr name;

	if (len != sizeof(name))
		return -EINVAL;
	memcpy(&name, addr, len);
	if (le32_to_cpu(name.side) != side || le32_to_cpu(name.port) > INT_MAX)
		return -EINVAL;
	*to = name;
	return 0;
}

int nt_ep_getname(struct kfi_ep *ep, void *addr)
{
	return nt_addr_write(&to_nt_ep(ep->sep ?: ep)->addr, addr);
}

int nt_ep_setname(struct kfi_ep *ep, const void *addr, size_t len)
{
	struct nt_ep *nep = to_nt_ep(ep);

	return nt_addr_set(&nep->addr, nt_link_side(nep->dev->link), addr, len);
}

int nt_ep_getpeer(struct kfi_ep *ep, void *addr)
{
	return nt_addr_write((void *)to_proto_ep(ep)->peer_name, addr);
}

/* ---- passive endpoints ---- */

static struct nt_dev *nt_pep_dev(const struct kfi_info *info)
{
	const struct ntw_addr *src = info->src_addrlen == sizeof(*src) ? info->src_addr : NULL;

	if (info->domain_attr && info->domain_attr->name)
		return nt_dev_find(info->domain_attr->name, 0);
	return src ? nt_dev_find(NULL, le32_to_cpu(src->side)) : NULL;
}

/*
 * The caller holds the lock of the fabric. kfi_device_gone() waits for that lock, and then closes
 * what is open on the bridge.
 */
int nt_pep_open(struct kfi_pep *pep)
{
	struct nt_pep *npep = to_nt_pep(pep);
	int ret;

	kfi_proto_pep_open(pep, &nt_proto);
	npep->listener.npep = npep;
	npep->dev = nt_pep_dev(pep->info);
	if (!npep->dev)
		return -ENODEV;
	ret = nt_source(pep->info, npep->dev, &npep->addr);
	if (ret)
		nt_dev_put(npep->dev);
	pep->device = npep->dev;
	return ret;
}

int nt_pep_listen(struct kfi_pep *pep)
{
	struct nt_pep *npep = to_nt_pep(pep);

	return nt_listen(npep->dev, &npep->listener, &npep->addr);
}

int nt_pep_getname(struct kfi_pep *pep, void *addr)
{
	return nt_addr_write(&to_nt_pep(pep)->addr, addr);
}

int nt_pep_setname(struct kfi_pep *pep, const void *addr, size_t len)
{
	struct nt_pep *npep = to_nt_pep(pep);

	return nt_addr_set(&npep->addr, le32_to_cpu(npep->addr.side), addr, len);
}

void nt_pep_close(struct kfi_pep *pep)
{
	struct nt_pep *npep = to_nt_pep(pep);

	nt_port_give(npep->dev, &npep->listener);
	kfi_proto_pep_close(pep);
	nt_dev_put(npep->dev);
}
