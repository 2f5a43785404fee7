// SPDX-License-Identifier: GPL-2.0
/*
 * Bindings of an endpoint. A binding keeps the bound object from being closed until the endpoint is
 * closed. &kfi_ep.lock serialises the changes, and the bindings do not change after kfi_enable().
 */
#include <linux/sched/mm.h>
#include "av.h"
#include "cntr.h"
#include "cq.h"
#include "ep.h"
#include "eq.h"

static const u64 ep_cntr_flags[KFI_CNTR_DIRS] = {
	[KFI_CNTR_SEND]		= KFI_SEND,
	[KFI_CNTR_RECV]		= KFI_RECV,
	[KFI_CNTR_READ]		= KFI_READ,
	[KFI_CNTR_WRITE]	= KFI_WRITE,
	[KFI_CNTR_REMOTE_READ]	= KFI_REMOTE_READ,
	[KFI_CNTR_REMOTE_WRITE]	= KFI_REMOTE_WRITE,
};

#define EP_CNTR_FLAGS	(KFI_SEND | KFI_RECV | KFI_READ | KFI_WRITE | KFI_REMOTE_READ |	\
			 KFI_REMOTE_WRITE)

/*
 * Directions of a binding. A context has one direction only: the flags need not name it, and must
 * not name the other one. Returns 0 if the flags are invalid.
 */
static u64 ep_directions(const struct kfi_ep *ep, u64 flags)
{
	u64 has = KFI_TRANSMIT | KFI_RECV;

	switch (ep->fid.fid.fclass) {
	case KFI_CLASS_SEP:
	case KFI_CLASS_STX_CTX:
		return 0;
	case KFI_CLASS_TX_CTX:
		has = KFI_TRANSMIT;
		break;
	case KFI_CLASS_RX_CTX:
	case KFI_CLASS_SRX_CTX:
		has = KFI_RECV;
		break;
	default:
		return flags & has;
	}
	return flags & (KFI_TRANSMIT | KFI_RECV) & ~has ? 0 : has;
}

static int ep_bind_cq(struct kfi_ep *ep, struct kfi_cq *cq, u64 flags)
{
	bool selective = flags & KFI_SELECTIVE_COMPLETION;
	u64 dir = ep_directions(ep, flags);

	if (flags & ~(KFI_TRANSMIT | KFI_RECV | KFI_SELECTIVE_COMPLETION))
		return -KFI_EBADFLAGS;
	if (cq->domain != ep->domain)
		return -KFI_EDOMAIN;
	if (!dir || ((dir & KFI_TRANSMIT) && ep->tx_cq) || ((dir & KFI_RECV) && ep->rx_cq))
		return -EINVAL;
	if (dir & KFI_TRANSMIT) {
		kfi_obj_get(&cq->obj);
		ep->tx_selective = selective;
		ep->tx_cq = cq;
	}
	if (dir & KFI_RECV) {
		kfi_obj_get(&cq->obj);
		ep->rx_selective = selective;
		ep->rx_cq = cq;
	}
	return 0;
}

static int ep_bind_eq(struct kfi_ep *ep, struct kfi_eq *eq, u64 flags)
{
	if (flags)
		return -KFI_EBADFLAGS;
	if (eq->fabric != ep->domain->fabric)
		return -KFI_EDOMAIN;
	if (ep->eq || kfi_ep_is_shared(ep))
		return -EINVAL;
	kfi_obj_get(&eq->obj);
	ep->eq = eq;
	return 0;
}

static int ep_bind_av(struct kfi_ep *ep, struct kfi_av *av, u64 flags)
{
	if (flags)
		return -KFI_EBADFLAGS;
	if (av->domain != ep->domain)
		return -KFI_EDOMAIN;
	if (ep->av || ep->type == KFI_EP_MSG || ep->sep || ep->fid.fid.fclass == KFI_CLASS_STX_CTX)
		return -EINVAL;	/* a context uses the vector of its scalable endpoint */
	kfi_av_join(av, ep);
	return 0;
}

static int ep_bind_cntr(struct kfi_ep *ep, struct kfi_cntr *cntr, u64 flags)
{
	int dir;

	if (flags & ~EP_CNTR_FLAGS)
		return -KFI_EBADFLAGS;
	if (cntr->domain != ep->domain)
		return -KFI_EDOMAIN;
	if (!flags || kfi_ep_is_shared(ep))
		return -EINVAL;	/* operations of a shared context are counted at their endpoints */
	for (dir = 0; dir < KFI_CNTR_DIRS; dir++)
		if ((flags & ep_cntr_flags[dir]) && ep->cntr[dir])
			return -EINVAL;
	for (dir = 0; dir < KFI_CNTR_DIRS; dir++) {
		if (!(flags & ep_cntr_flags[dir]))
			continue;
		kfi_obj_get(&cntr->obj);
		ep->cntr[dir] = cntr;
		ep->counted = true;
	}
	return 0;
}

static int ep_bind_one(struct kfi_ep *ep, struct kfid *bfid, u64 flags)
{
	lockdep_assert_held(&ep->lock);
	if (ep->state == KFI_EP_DEAD)
		return -ENODEV;
	if (ep->state != KFI_EP_IDLE)
		return -KFI_EOPBADSTATE;
	switch (bfid->fclass) {
	case KFI_CLASS_CQ:
		return ep_bind_cq(ep, container_of(bfid, struct kfi_cq, fid.fid), flags);
	case KFI_CLASS_EQ:
		return ep_bind_eq(ep, container_of(bfid, struct kfi_eq, fid.fid), flags);
	case KFI_CLASS_AV:
		return ep_bind_av(ep, container_of(bfid, struct kfi_av, fid.fid), flags);
	case KFI_CLASS_CNTR:
		return ep_bind_cntr(ep, container_of(bfid, struct kfi_cntr, fid.fid), flags);
	case KFI_CLASS_SRX_CTX:
	case KFI_CLASS_STX_CTX:
		return kfi_share_bind(ep, container_of(bfid, struct kfi_ep, fid.fid), flags);
	default:
		return -EINVAL;
	}
}

int kfi_ep_bind_fid(struct kfid *fid, struct kfid *bfid, u64 flags)
{
	struct kfi_ep *ep = container_of(fid, struct kfi_ep, fid.fid);
	unsigned int noio = memalloc_noio_save();	/* see docs/locking.md */
	int ret;

	mutex_lock(&ep->lock);
	ret = ep_bind_one(ep, bfid, flags);
	mutex_unlock(&ep->lock);
	memalloc_noio_restore(noio);
	return ret;
}

int kfi_ep_check_bound(const struct kfi_ep *ep)
{
	bool tx_cntr = ep->cntr[KFI_CNTR_SEND] || ep->cntr[KFI_CNTR_READ] ||
		       ep->cntr[KFI_CNTR_WRITE];

	if ((ep->caps & KFI_TX_CAPS) && !ep->tx_cq && !tx_cntr)
		return -KFI_ENOCQ;
	if ((ep->caps & KFI_RX_CAPS) && !ep->rx_cq && !ep->cntr[KFI_CNTR_RECV])
		return -KFI_ENOCQ;
	if (ep->type != KFI_EP_MSG && !ep->av)
		return -KFI_ENOAV;
	if (ep->type == KFI_EP_MSG && !ep->eq && !kfi_ep_is_shared(ep))
		return -KFI_ENOEQ;
	return 0;
}

void kfi_ep_unbind(struct kfi_ep *ep)
{
	int dir;

	for (dir = 0; dir < KFI_CNTR_DIRS; dir++)
		if (ep->cntr[dir])
			kfi_obj_put(&ep->cntr[dir]->obj);
	if (ep->av)
		kfi_obj_put(kfi_av_obj(ep->av));
	if (ep->eq) {
		kfi_eq_purge(ep->eq, &ep->fid.fid);
		kfi_obj_put(&ep->eq->obj);
	}
	if (ep->rx_cq)
		kfi_obj_put(&ep->rx_cq->obj);
	if (ep->tx_cq)
		kfi_obj_put(&ep->tx_cq->obj);
}
