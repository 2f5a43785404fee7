// SPDX-License-Identifier: GPL-2.0
/*
 * ep.c - endpoints and passive endpoints: open, enable, stop, close, names.
 */
#include <linux/export.h>
#include "mux.h"

/* ---- names ---- */

static int kmx_own_name(const struct kfi_mux *mux, u32 port, void *addr)
{
	kmx_addr_set(mux->prov, addr, mux->own, port);
	return kmx_addr_len(mux->prov);
}

/* Set the name of an endpoint. It has to be a name at our own end of the way. */
static int kmx_own_name_set(const struct kfi_mux *mux, u32 *port, const void *addr, size_t len)
{
	u32 to;

	if (len != kmx_addr_len(mux->prov) || !kmx_is_side(mux, mux->own, addr))
		return -EINVAL;
	to = kmx_addr_port(mux->prov, addr);
	if (to > KMW_PORT_MAX)
		return -EINVAL;
	*port = to;
	return 0;
}

/* Listen at @port, or at any port if that is 0, which is then stored there. */
static int kmx_listen(struct kfi_mux *mux, struct kfi_mux_listener *l, u32 *port)
{
	int ret;

	l->port = *port;
	ret = kmx_port_take(mux, l);
	if (ret)
		l->port = 0;
	else
		*port = l->port;
	return ret;
}

/* ---- endpoints ---- */

int kfi_mux_ep_open(struct kfi_ep *ep)
{
	struct kfi_mux_ep *mep = to_mux_ep(ep);
	int ret = 0;

	mep->mux = to_mux_domain(ep->domain)->mux;
	ep->hold = &mep->mux->hold;
	/* A connection stays on the way of the listener that was called. */
	if (ep->connreq && to_mux_pep(ep->connreq->pep)->mux != mep->mux)
		return -EINVAL;
	ep->tx_levels = KFI_PROTO_LEVELS;
	mep->listener.pe = &mep->pe;
	if (!ep->sep)
		ret = kmx_source(ep->info, mep->mux, &mep->port);
	return ret ?: kfi_proto_ep_open(ep, mep->mux->prov->proto);
}
EXPORT_SYMBOL_GPL(kfi_mux_ep_open);

/* A context has the name of its scalable endpoint, which listens for it; kfi_conn_set_adopt(). */
static void kmx_ctx_enable(struct kfi_mux_ep *mep, const struct kfi_mux_ep *top)
{
	mep->port = top->port;
	mep->pe.peers.incarnation = top->pe.peers.incarnation;
}

int kfi_mux_ep_enable(struct kfi_ep *ep)
{
	struct kfi_mux_ep *mep = to_mux_ep(ep);

	if (ep->sep) {
		kmx_ctx_enable(mep, to_mux_ep(ep->sep));
		return 0;
	}
	return ep->type == KFI_EP_RDM ? kmx_listen(mep->mux, &mep->listener, &mep->port) : 0;
}
EXPORT_SYMBOL_GPL(kfi_mux_ep_enable);

static void kmx_ep_quiet(struct kfi_proto_ep *pe)
{
	struct kfi_mux_ep *mep = container_of(pe, struct kfi_mux_ep, pe);

	kmx_port_give(mep->mux, &mep->listener);
}

void kfi_mux_ep_stop(struct kfi_ep *ep, int err)
{
	kfi_proto_ep_stop(ep, err, kmx_ep_quiet);
}
EXPORT_SYMBOL_GPL(kfi_mux_ep_stop);

int kfi_mux_getname(struct kfi_ep *ep, void *addr)
{
	struct kfi_mux_ep *mep = to_mux_ep(ep->sep ?: ep);

	return kmx_own_name(mep->mux, mep->port, addr);
}
EXPORT_SYMBOL_GPL(kfi_mux_getname);

int kfi_mux_setname(struct kfi_ep *ep, const void *addr, size_t len)
{
	struct kfi_mux_ep *mep = to_mux_ep(ep);

	return kmx_own_name_set(mep->mux, &mep->port, addr, len);
}
EXPORT_SYMBOL_GPL(kfi_mux_setname);

int kfi_mux_getpeer(struct kfi_ep *ep, void *addr)
{
	size_t len = kmx_addr_len(to_mux_ep(ep)->mux->prov);

	memcpy(addr, to_proto_ep(ep)->peer_name, len);
	return len;
}
EXPORT_SYMBOL_GPL(kfi_mux_getpeer);

/* ---- passive endpoints ---- */

/* The name of the domain says which way. Without it, the source address has to. */
static struct kfi_mux *kmx_pep_way(struct kfi_mux_prov *mp, const struct kfi_info *info)
{
	if (info->domain_attr && info->domain_attr->name)
		return kfi_mux_find(mp, info->domain_attr->name) ?: ERR_PTR(-ENODEV);
	if (!info->src_addr || info->src_addrlen != kmx_addr_len(mp))
		return ERR_PTR(-ENODEV);
	return kmx_find_side(mp, info->src_addr);
}

/*
 * The caller holds the lock of the fabric. kfi_device_gone() waits for that lock, and then closes
 * what is open on the way.
 */
int kfi_mux_pep_open(struct kfi_pep *pep)
{
	struct kfi_mux_prov *mp = to_mux_prov(pep->fabric->prov);
	struct kfi_mux_pep *mpep = to_mux_pep(pep);
	struct kfi_mux *mux;
	int ret;

	kfi_proto_pep_open(pep, mp->proto);
	mux = kmx_pep_way(mp, pep->info);
	if (IS_ERR(mux))
		return PTR_ERR(mux);
	ret = kmx_source(pep->info, mux, &mpep->port);
	if (ret)
		kfi_mux_put(mux);
	mpep->listener.ppep = &mpep->ppep;
	mpep->mux = mux;
	pep->hold = &mux->hold;
	pep->device = mux;
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_mux_pep_open);

int kfi_mux_listen(struct kfi_pep *pep)
{
	struct kfi_mux_pep *mpep = to_mux_pep(pep);

	return kmx_listen(mpep->mux, &mpep->listener, &mpep->port);
}
EXPORT_SYMBOL_GPL(kfi_mux_listen);

int kfi_mux_pep_getname(struct kfi_pep *pep, void *addr)
{
	struct kfi_mux_pep *mpep = to_mux_pep(pep);

	return kmx_own_name(mpep->mux, mpep->port, addr);
}
EXPORT_SYMBOL_GPL(kfi_mux_pep_getname);

int kfi_mux_pep_setname(struct kfi_pep *pep, const void *addr, size_t len)
{
	struct kfi_mux_pep *mpep = to_mux_pep(pep);

	return kmx_own_name_set(mpep->mux, &mpep->port, addr, len);
}
EXPORT_SYMBOL_GPL(kfi_mux_pep_setname);

void kfi_mux_pep_close(struct kfi_pep *pep)
{
	struct kfi_mux_pep *mpep = to_mux_pep(pep);

	kmx_port_give(mpep->mux, &mpep->listener);
	kfi_proto_pep_close(pep);
	kfi_mux_put(mpep->mux);
}
EXPORT_SYMBOL_GPL(kfi_mux_pep_close);
