// SPDX-License-Identifier: GPL-2.0
/*
 * shared.c - transmit and receive contexts that several endpoints share.
 *
 * A shared context is a struct kfi_ep that the core opens without a provider. It has a pool of
 * operations; a shared receive context also has a matching and a completion queue. Providers do not
 * see it, so every provider that uses the matching of the core supports both kinds.
 *
 * Receive: all receives are posted to the shared context, and the messages of its endpoints are
 * matched there, see kfi_rx_owner(). The operation belongs to the context (kfi_oper.ep), the
 * message to its endpoint (kfi_rx.ep): the endpoint counts it, names its source, and its provider
 * delivers it. All endpoints and the context have the same completion queue. So the slot that the
 * post has reserved serves whichever endpoint uses the receive, and the rules of multi-receive
 * buffers hold unchanged. A receive without a message completes in that queue, too.
 *
 * Transmit: operations are posted to the endpoints and taken from the pool of the context, see
 * kfi_tx_owner(). kfi_oper.ep is the endpoint while an operation is in use. The endpoints share
 * tx_attr.size of the context.
 *
 * Life: a binding pins the context, so the context is closed after its endpoints. The messages of
 * an endpoint leave the shared matching before its provider is stopped (kfi_match_leave()). A grace
 * period lies in between, because a post to the context may be passing a message to that provider.
 * When a namespace or a device is removed, the contexts are stopped after all endpoints.
 *
 * Locks: kfi_ep.lock of the endpoint protects its bindings, and kfi_ep.lock of the shared context,
 * taken inside of it, protects the binding of the context to its queue. kfi_ep.space_lock of a
 * transmit context protects its list of endpoints.
 */
#include <linux/export.h>
#include "av.h"
#include "cq.h"
#include "ep.h"
#include "landing.h"
#include "pool.h"

/* ---- operations that a context has instead of a provider's ---- */

static int shared_open(struct kfi_ep *ep)
{
	return 0;
}

static void shared_stop(struct kfi_ep *ep, int err)
{
}

static void shared_close(struct kfi_ep *ep)
{
}

static int shared_getname(struct kfi_ep *ep, void *addr)
{
	return -EOPNOTSUPP;
}

static const struct kfi_prov_ops shared_ops = {
	.ep_open	= shared_open,
	.ep_stop	= shared_stop,
	.ep_close	= shared_close,
	.getname	= shared_getname,
};

/* ---- open ---- */

static struct kfi_ep *shared_make(struct kfi_domain *domain, const struct kfi_info *info,
				  size_t fclass, void *context)
{
	struct kfi_ep *ep;
	int ret;

	ret = kfi_ep_check_info(info);
	if (ret)
		return ERR_PTR(ret);
	if (info->caps & ~domain->info->caps)
		return ERR_PTR(-EINVAL);
	ep = kfi_ep_make(domain, info, fclass, context);
	if (!ep)
		return ERR_PTR(-ENOMEM);
	ep->ops = &shared_ops;
	ret = kfi_ep_open(domain, ep);
	if (!ret)
		return ep;
	kfi_ep_free(ep);
	return ERR_PTR(ret);
}

int kfi_stx_context(struct kfid_domain *fid, struct kfi_tx_attr *attr, struct kfid_stx **stx,
		    void *context)
{
	struct kfi_domain *domain = kfi_to_domain(fid);
	struct kfi_info info = *domain->info;
	struct kfi_tx_attr tx;
	struct kfi_ep *ep;
	int ret;

	might_sleep();
	if (!info.tx_attr)
		return -EINVAL;
	tx = *info.tx_attr;
	ret = kfi_ctx_tx_attr(&tx, attr, U64_MAX);
	if (ret)
		return ret;
	info.tx_attr = &tx;
	info.caps = attr && attr->caps ? attr->caps : info.caps;
	ep = shared_make(domain, &info, KFI_CLASS_STX_CTX, context);
	if (IS_ERR(ep))
		return PTR_ERR(ep);
	*stx = container_of(&ep->fid.fid, struct kfid_stx, fid);
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_stx_context);

int kfi_srx_context(struct kfid_domain *fid, struct kfi_rx_attr *attr, struct kfid_ep **rx_ep,
		    void *context)
{
	struct kfi_domain *domain = kfi_to_domain(fid);
	struct kfi_info info = *domain->info;
	struct kfi_rx_attr rx;
	struct kfi_ep *ep;
	int ret;

	might_sleep();
	if (!domain->fabric->prov->ops->rx_matched)
		return -EOPNOTSUPP;
	if (!info.rx_attr)
		return -EINVAL;
	rx = *info.rx_attr;
	ret = kfi_ctx_rx_attr(&rx, attr);
	if (ret)
		return ret;
	info.rx_attr = &rx;
	info.caps = attr && attr->caps ? attr->caps : info.caps;
	ep = shared_make(domain, &info, KFI_CLASS_SRX_CTX, context);
	if (IS_ERR(ep))
		return PTR_ERR(ep);
	*rx_ep = &ep->fid;
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_srx_context);

/* ---- bind ---- */

static int bind_srx(struct kfi_ep *ep, struct kfi_ep *srx)
{
	if (!kfi_shares_rx(ep->info) || ep->srx)
		return -EINVAL;
	if (ep->hw_recv)
		return -EOPNOTSUPP;
	ep->srx = srx;
	return 0;
}

/* The operations of the context must have room for all that the endpoint may post. */
static int bind_stx(struct kfi_ep *ep, struct kfi_ep *stx)
{
	if (!kfi_shares_tx(ep->info) || ep->stx)
		return -EINVAL;
	if (ep->inject_size > stx->inject_size || ep->tx.iov_limit > stx->tx.iov_limit ||
	    ep->rma_iov_limit > stx->rma_iov_limit || ep->caps & ~stx->caps & KFI_ATOMIC)
		return -EINVAL;
	ep->stx = stx;
	spin_lock_bh(&stx->space_lock);
	list_add_tail(&ep->share, &stx->sharers);
	spin_unlock_bh(&stx->space_lock);
	return 0;
}

int kfi_share_bind(struct kfi_ep *ep, struct kfi_ep *ctx, u64 flags)
{
	int ret;

	lockdep_assert_held(&ep->lock);
	if (flags)
		return -KFI_EBADFLAGS;
	if (ctx->domain != ep->domain)
		return -KFI_EDOMAIN;
	if (ep->fid.fid.fclass != KFI_CLASS_EP || ctx->type != ep->type)
		return -EINVAL;
	if (atomic_read(&ctx->obj.users) >= KFI_SHARERS_MAX)
		return -ENOSPC;
	ret = ctx->fid.fid.fclass == KFI_CLASS_SRX_CTX ? bind_srx(ep, ctx) : bind_stx(ep, ctx);
	if (!ret)
		kfi_obj_get(&ctx->obj);
	return ret;
}

void kfi_share_unbind(struct kfi_ep *ep)
{
	if (ep->stx) {
		spin_lock_bh(&ep->stx->space_lock);
		list_del(&ep->share);
		spin_unlock_bh(&ep->stx->space_lock);
		kfi_obj_put(&ep->stx->obj);
	}
	if (ep->srx)
		kfi_obj_put(&ep->srx->obj);
}

/*
 * If the context is not enabled yet, it takes the completion queue and the address vector of this
 * endpoint, and is enabled. Otherwise both must be the same as those of the endpoint.
 */
static int srx_take_queues(struct kfi_ep *srx, struct kfi_ep *ep)
{
	lockdep_assert_held(&srx->lock);
	if (READ_ONCE(srx->state) == KFI_EP_DEAD)
		return -ENODEV;
	if (srx->state == KFI_EP_IDLE && !srx->rx_cq) {
		kfi_obj_get(&ep->rx_cq->obj);
		srx->rx_selective = ep->rx_selective;
		srx->rx_cq = ep->rx_cq;
	}
	if (srx->state == KFI_EP_IDLE && !srx->av && ep->av)
		kfi_av_join(ep->av, srx);
	if (srx->rx_cq != ep->rx_cq || srx->av != ep->av)
		return -EINVAL;
	return srx->state == KFI_EP_IDLE ? kfi_ep_enable(srx) : 0;
}

int kfi_share_check_enable(struct kfi_ep *ep)
{
	struct kfi_ep *srx = ep->srx;
	int ret;

	if (ep->fid.fid.fclass != KFI_CLASS_EP)
		return 0;
	if (kfi_shares_tx(ep->info) && !ep->stx)
		return -KFI_EOPBADSTATE;
	if (!kfi_shares_rx(ep->info))
		return 0;
	if (!srx || !ep->rx_cq)
		return srx ? -KFI_ENOCQ : -KFI_ENORX;
	mutex_lock_nested(&srx->lock, SINGLE_DEPTH_NESTING);
	ret = srx_take_queues(srx, ep);
	mutex_unlock(&srx->lock);
	return ret;
}

/* ---- the end of an endpoint ---- */

static void move_messages(struct kfi_match *m, struct list_head *from, const struct kfi_ep *ep,
			  struct list_head *to)
{
	struct kfi_rx *rx, *next;

	list_for_each_entry_safe(rx, next, from, link) {
		if (rx->ep != ep)
			continue;
		kfi_match_dequeue(m, rx);
		list_add_tail(&rx->link, to);
	}
}

/*
 * The messages of @ep move to its own matching, which is empty otherwise, until kfi_match_close().
 * The lock of the shared matching keeps protecting them. Messages that have a receive already
 * (m->ready) are delivered as usual.
 */
void kfi_match_leave(struct kfi_ep *ep)
{
	struct kfi_match *m = &ep->srx->match, *own = &ep->match;

	spin_lock_bh(&m->lock);
	WRITE_ONCE(own->closed, true);
	move_messages(m, &m->claimed, ep, &own->claimed);
	move_messages(m, &m->unexp_msgs, ep, &own->unexp_msgs);
	move_messages(m, &m->unexp_tags, ep, &own->unexp_tags);
	spin_unlock_bh(&m->lock);
	kfi_match_deliver(ep->srx);
}

/* ---- the shared pool ---- */

/*
 * Return true if no operation of the endpoint is in use. The close of the endpoint is not woken, so
 * it polls. The provider has completed the transmits by then; at most some done() are outstanding.
 */
bool kfi_share_idle(struct kfi_ep *ep)
{
	struct kfi_oper *op;
	u32 i;

	smp_mb();	/* pairs with op_give_back() */
	for (i = 0; (op = kfi_tx_by_index(ep, i)); i++)
		if (kfi_op_used(op) && READ_ONCE(op->ep) == ep)
			return false;
	return true;
}
