// SPDX-License-Identifier: GPL-2.0
/*
 * Scalable endpoints: one address with several contexts. Each context is an endpoint of its own
 * that either sends or receives.
 *
 * A scalable endpoint is an endpoint without capabilities. It has the address and the address
 * vector. A context has queues, operations, matching and provider state as any endpoint, so two
 * contexts share nothing but the address. Contexts can be opened at any time, and are enabled after
 * their scalable endpoint. Each open context is counted in &kfi_ep.obj of the scalable endpoint,
 * which can't be closed before them.
 *
 * &kfi_ep.ctxs and rx_ctxs are xarrays with their own lock. rx_ctxs is read under RCU to find the
 * context for a call or a message of a peer.
 */
#include <linux/export.h>
#include "av.h"
#include "ep.h"

#define CTX_MAX		(1U << 16)

static bool is_ctx(const struct kfi_ep *ep)
{
	return ep->sep;
}

/* Key in &kfi_ep.ctxs. Transmit and receive contexts have the same range of indices. */
static unsigned long ctx_key(const struct kfi_ep *ep)
{
	return ep->ctx | (ep->fid.fid.fclass == KFI_CLASS_TX_CTX ? CTX_MAX : 0);
}

/* ---- look-up for messages of peers ---- */

struct kfi_ep *kfi_ep_rx_ctx(struct kfi_ep *ep, u32 index)
{
	if (ep->fid.fid.fclass == KFI_CLASS_SEP)
		return xa_load(&ep->rx_ctxs, index);
	return index ? NULL : ep;
}
EXPORT_SYMBOL_GPL(kfi_ep_rx_ctx);

/* ---- states of a context ---- */

int kfi_ctx_check_enable(struct kfi_ep *ep)
{
	lockdep_assert_held(&ep->lock);
	if (!is_ctx(ep))
		return 0;
	/* pairs with kfi_ep_move(): sees what kfi_enable() has set */
	switch (smp_load_acquire(&ep->sep->state)) {
	case KFI_EP_ENABLED:
		break;
	case KFI_EP_DEAD:
		return -ENODEV;
	default:
		return -KFI_EOPBADSTATE;
	}
	if (!ep->av)
		kfi_av_join(ep->sep->av, ep);
	if (ep->eager_max && !ep->eager_set)
		ep->eager_size = ep->sep->eager_size;
	ep->reclaim |= ep->sep->reclaim;
	ep->av_only |= ep->sep->av_only;
	ep->unprivileged |= ep->sep->unprivileged;
	return 0;
}

void kfi_ctx_publish(struct kfi_ep *ep)
{
	/* ctx_join() has reserved the slot, so this allocates no memory. */
	if (ep->fid.fid.fclass == KFI_CLASS_RX_CTX)
		WARN_ON_ONCE(xa_err(xa_store(&ep->sep->rx_ctxs, ep->ctx, ep, GFP_KERNEL)));
}

void kfi_ctx_unpublish(struct kfi_ep *ep)
{
	if (ep->fid.fid.fclass == KFI_CLASS_RX_CTX)
		xa_erase(&ep->sep->rx_ctxs, ep->ctx);
}

void kfi_ctx_leave(struct kfi_ep *ep)
{
	if (!is_ctx(ep))
		return;
	xa_erase(&ep->sep->ctxs, ctx_key(ep));
	kfi_obj_put(&ep->sep->obj);
}

/* ---- opening ---- */

int kfi_scalable_ep(struct kfid_domain *domain_fid, struct kfi_info *info, struct kfid_ep **sep,
		    void *context)
{
	struct kfi_domain *domain = kfi_to_domain(domain_fid);
	const struct kfi_domain_attr *dom = domain->info->domain_attr;
	struct kfi_ep *ep;
	int ret;

	might_sleep();
	ret = kfi_ep_check_info(info);
	if (ret)
		return ret;
	if (dom->max_ep_tx_ctx < 2 && dom->max_ep_rx_ctx < 2)
		return -EOPNOTSUPP;
	if (info->handle || info->ep_attr->type != KFI_EP_RDM)
		return -EINVAL;
	if (info->ep_attr->tx_ctx_cnt > max_t(size_t, dom->max_ep_tx_ctx, 1) ||
	    info->ep_attr->rx_ctx_cnt > max_t(size_t, dom->max_ep_rx_ctx, 1))
		return -EINVAL;
	ep = kfi_ep_make(domain, info, KFI_CLASS_SEP, context);
	if (!ep)
		return -ENOMEM;
	ret = kfi_ep_open(domain, ep);
	if (ret) {
		kfi_ep_free(ep);
		return ret;
	}
	*sep = &ep->fid;
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_scalable_ep);

/* Take the index of the context; for a receive context also reserve its slot in rx_ctxs. */
static int ctx_join(struct kfi_ep *ep, struct kfi_ep *sep, int idx)
{
	int ret;

	ep->ctx = idx;
	ret = xa_insert(&sep->ctxs, ctx_key(ep), ep, GFP_KERNEL_ACCOUNT);
	if (ret)
		return ret;
	if (ep->fid.fid.fclass == KFI_CLASS_RX_CTX)
		ret = xa_reserve(&sep->rx_ctxs, idx, GFP_KERNEL_ACCOUNT);
	if (ret) {
		xa_erase(&sep->ctxs, ctx_key(ep));
		return ret;
	}
	ep->sep = sep;
	kfi_obj_get(&sep->obj);
	return 0;
}

static int ctx_open(struct kfi_ep *sep, int idx, const struct kfi_info *info, size_t fclass,
		    struct kfid_ep **fid, void *context)
{
	struct kfi_ep *ep;
	int ret;

	ret = kfi_ep_check_info(info);
	if (ret)
		return ret;
	ep = kfi_ep_make(sep->domain, info, fclass, context);
	if (!ep)
		return -ENOMEM;
	ret = ctx_join(ep, sep, idx);
	if (ret)
		goto free;
	ret = kfi_ep_open(sep->domain, ep);
	if (ret)
		goto leave;
	*fid = &ep->fid;
	return 0;

leave:
	kfi_ctx_unpublish(ep);
	kfi_ctx_leave(ep);
free:
	kfi_ep_free(ep);
	return ret;
}

static struct kfi_ep *sep_of(struct kfid_ep *fid)
{
	return fid && fid->fid.fclass == KFI_CLASS_SEP ? kfi_to_ep(fid) : NULL;
}

static bool idx_ok(int idx, size_t count)
{
	return idx >= 0 && idx < CTX_MAX && idx < max_t(size_t, count, 1);
}

/*
 * Set one limit of a context. 0 means the limit of the scalable endpoint. A context can't have more
 * than was granted to the scalable endpoint.
 */
static bool ctx_limit(size_t *limit, size_t requested)
{
	if (requested > *limit)
		return false;
	*limit = requested ?: *limit;
	return true;
}

int kfi_ctx_tx_attr(struct kfi_tx_attr *tx, const struct kfi_tx_attr *attr, u64 levels)
{
	if (!attr)
		return 0;
	if (attr->op_flags & KFI_LEVELS & ~levels)
		return -EOPNOTSUPP;
	if (!ctx_limit(&tx->inject_size, attr->inject_size) ||
	    !ctx_limit(&tx->iov_limit, attr->iov_limit) ||
	    !ctx_limit(&tx->rma_iov_limit, attr->rma_iov_limit))
		return -EINVAL;
	tx->op_flags = attr->op_flags;
	tx->size = attr->size ?: tx->size;
	tx->tclass = attr->tclass ?: tx->tclass;
	return 0;
}

int kfi_ctx_rx_attr(struct kfi_rx_attr *rx, const struct kfi_rx_attr *attr)
{
	if (!attr)
		return 0;
	if (!ctx_limit(&rx->iov_limit, attr->iov_limit))
		return -EINVAL;
	rx->op_flags = attr->op_flags;
	rx->size = attr->size ?: rx->size;
	return 0;
}

int kfi_tx_context(struct kfid_ep *fid, int idx, struct kfi_tx_attr *attr, struct kfid_ep **tx_ep,
		   void *context)
{
	struct kfi_ep *sep = sep_of(fid);
	struct kfi_tx_attr tx;
	struct kfi_info info;
	int ret;

	might_sleep();
	if (!sep || !idx_ok(idx, sep->info->ep_attr->tx_ctx_cnt))
		return -EINVAL;
	info = *sep->info;
	tx = *info.tx_attr;
	info.tx_attr = &tx;
	ret = kfi_ctx_tx_attr(&tx, attr, sep->tx_levels);
	return ret ?: ctx_open(sep, idx, &info, KFI_CLASS_TX_CTX, tx_ep, context);
}
EXPORT_SYMBOL_GPL(kfi_tx_context);

int kfi_rx_context(struct kfid_ep *fid, int idx, struct kfi_rx_attr *attr, struct kfid_ep **rx_ep,
		   void *context)
{
	struct kfi_ep *sep = sep_of(fid);
	struct kfi_rx_attr rx;
	struct kfi_info info;
	int ret;

	might_sleep();
	if (!sep || !idx_ok(idx, sep->info->ep_attr->rx_ctx_cnt))
		return -EINVAL;
	info = *sep->info;
	rx = *info.rx_attr;
	info.rx_attr = &rx;
	ret = kfi_ctx_rx_attr(&rx, attr);
	return ret ?: ctx_open(sep, idx, &info, KFI_CLASS_RX_CTX, rx_ep, context);
}
EXPORT_SYMBOL_GPL(kfi_rx_context);
