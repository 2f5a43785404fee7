// SPDX-License-Identifier: GPL-2.0
/*
 * Endpoints: open, enable and close; the end of an endpoint whose network is removed;
 * kfi_ep_reset().
 *
 * Steps of the end of an endpoint:
 *
 * 1. The state DEAD forbids posts. A grace period later every post that was allowed has reached the
 *    provider.
 * 2. The provider releases the network and ends all its operations (&kfi_prov_ops.ep_stop).
 * 3. The receives in the matching are completed.
 * 4. The operations drain into their queues (ep_drain()).
 *
 * No step waits for a peer, except that step 2 may do so for a bounded time (&kfi_link_ops.close).
 * kfi_ep_kill() does not do step 4; the consumer's kfi_close() does, whenever it is called.
 *
 * &kfi_ep.lock serialises bind, enable, the connection calls, kfi_ep_kill(), kfi_ep_reset() and
 * close. gone.c and netlink take it, or call the provider, inside of &kfi_domain.lock.
 */
#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <kfi_conn_set.h>
#include "auth.h"
#include "cq.h"
#include "ep.h"
#include <trace/events/kfi.h>

#define EP_TX_SIZE	256
#define EP_RX_SIZE	256
#define EP_SIZE_MAX	(1U << 20)
#define EP_IOV_MAX	1024
#define EP_MULTI_RECV	64
#define EP_DRAIN_WARN	(30 * HZ)

/* ---- open ---- */

static u64 ep_caps(u64 caps, const struct kfi_prov_ops *ops)
{
	if (!ops->atomic_size)
		caps &= ~KFI_ATOMIC;
	if ((caps & (KFI_MSG | KFI_TAGGED)) && !(caps & (KFI_SEND | KFI_RECV)))
		caps |= KFI_SEND | KFI_RECV;
	if ((caps & (KFI_RMA | KFI_ATOMIC)) &&
	    !(caps & (KFI_READ | KFI_WRITE | KFI_REMOTE_READ | KFI_REMOTE_WRITE)))
		caps |= KFI_READ | KFI_WRITE | KFI_REMOTE_READ | KFI_REMOTE_WRITE;
	return caps;
}

/* Add the levels that a level includes. */
static u64 ep_levels(u64 levels)
{
	if (levels & KFI_COMMIT_COMPLETE)
		levels |= KFI_DELIVERY_COMPLETE;
	if (levels & KFI_MATCH_COMPLETE)
		levels |= KFI_DELIVERY_COMPLETE;
	if (levels & KFI_DELIVERY_COMPLETE)
		levels |= KFI_TRANSMIT_COMPLETE;
	return levels | KFI_INJECT_COMPLETE;
}

int kfi_ep_check_info(const struct kfi_info *info)
{
	if (!info || !info->ep_attr || !info->tx_attr || !info->rx_attr)
		return -EINVAL;
	if (!kfi_auth_key_ok(info->ep_attr->auth_key, info->ep_attr->auth_key_size))
		return -EINVAL;
	switch (info->ep_attr->type) {
	case KFI_EP_MSG:
	case KFI_EP_RDM:
	case KFI_EP_DGRAM:
		break;
	default:
		return -EINVAL;
	}
	if (info->tx_attr->size > EP_SIZE_MAX || info->rx_attr->size > EP_SIZE_MAX ||
	    info->tx_attr->iov_limit > EP_IOV_MAX || info->rx_attr->iov_limit > EP_IOV_MAX ||
	    info->tx_attr->rma_iov_limit > KFI_RMA_IOV_MAX ||
	    info->tx_attr->inject_size > KFI_INJECT_MAX)
		return -EINVAL;
	return 0;
}

/* A scalable endpoint has no capabilities itself. A context has those of its direction. */
static u64 ep_class_caps(u64 caps, size_t fclass)
{
	switch (fclass) {
	case KFI_CLASS_SEP:
		return 0;
	case KFI_CLASS_TX_CTX:
	case KFI_CLASS_STX_CTX:
		return caps & ~(KFI_RECV | KFI_REMOTE_READ | KFI_REMOTE_WRITE);
	case KFI_CLASS_RX_CTX:
	case KFI_CLASS_SRX_CTX:
		return caps & ~(KFI_SEND | KFI_READ | KFI_WRITE);
	default:
		return caps;
	}
}

static void ep_set_info(struct kfi_ep *ep, const struct kfi_info *info)
{
	ep->type = info->ep_attr->type;
	ep->caps = ep_class_caps(ep_caps(info->caps, ep->ops), ep->fid.fid.fclass);
	ep->tx_flags = info->tx_attr->op_flags;
	ep->rx_flags = info->rx_attr->op_flags;
	ep->tx_levels = info->tx_attr->op_flags & KFI_LEVELS;
	ep->inject_size = info->tx_attr->inject_size;
	ep->max_msg_size = info->ep_attr->max_msg_size ?: SIZE_MAX;
	ep->min_multi_recv = EP_MULTI_RECV;
	ep->rma_iov_limit = max_t(size_t, info->tx_attr->rma_iov_limit, 1);
}

/*
 * Number of operations of a pool. One is enough for a direction in which the endpoint does not
 * transfer, or uses the operations of a shared context.
 */
static u32 ep_tx_depth(const struct kfi_ep *ep, const struct kfi_info *info)
{
	switch (ep->fid.fid.fclass) {
	case KFI_CLASS_SEP:
	case KFI_CLASS_RX_CTX:
	case KFI_CLASS_SRX_CTX:
		return 1;
	case KFI_CLASS_EP:
		if (kfi_shares_tx(info))
			return 1;
	}
	return info->tx_attr->size ?: EP_TX_SIZE;
}

static u32 ep_rx_depth(const struct kfi_ep *ep, const struct kfi_info *info)
{
	switch (ep->fid.fid.fclass) {
	case KFI_CLASS_SEP:
	case KFI_CLASS_TX_CTX:
	case KFI_CLASS_STX_CTX:
		return 1;
	case KFI_CLASS_EP:
		if (kfi_shares_rx(info))
			return 1;
	}
	return info->rx_attr->size ?: EP_RX_SIZE;
}

static int ep_alloc_pools(struct kfi_ep *ep, const struct kfi_info *info)
{
	u32 tx = ep_tx_depth(ep, info), rx = ep_rx_depth(ep, info);
	int ret;

	ep->stats = alloc_percpu(struct kfi_stats);
	if (!ep->stats)
		return -ENOMEM;
	ret = kfi_pool_init(&ep->tx, ep, tx, info->tx_attr->iov_limit, ep->rma_iov_limit,
			    max_t(size_t, ep->inject_size, KFI_REPLY_LEN), ep->ops->tx_priv);
	if (ret)
		return ret;
	ret = kfi_pool_init(&ep->rx, ep, rx, info->rx_attr->iov_limit, 0, 0, 0);
	if (ret)
		return ret;
	return kfi_match_init(&ep->match, rx,
			      ep->caps & (KFI_DIRECTED_RECV | KFI_TAGGED_DIRECTED_RECV));
}

void kfi_ep_free(struct kfi_ep *ep)
{
	xa_destroy(&ep->ctxs);
	xa_destroy(&ep->rx_ctxs);
	if (ep->match.exact)
		kfi_match_exit(&ep->match);
	kfi_overdue_free(ep);
	kfi_pool_exit(&ep->rx);
	kfi_pool_exit(&ep->tx);
	free_percpu(ep->stats);
	kfi_freeinfo(ep->info);
	mutex_destroy(&ep->lock);
	kvfree(ep);
}

/*
 * Neither the address nor the id identifies an endpoint for ever: the address may be reused, and
 * the 32 bits of the id may wrap.
 */
static void ep_begin_life(struct kfi_ep *ep)
{
	static atomic64_t last;

	WRITE_ONCE(ep->life, atomic64_inc_return(&last));
}

struct kfi_ep *kfi_ep_make(struct kfi_domain *domain, const struct kfi_info *info, size_t fclass,
			   void *context)
{
	const struct kfi_prov_ops *ops = domain->fabric->prov->ops;
	struct kfi_ep *ep;

	ep = kvzalloc_node(max(sizeof(*ep), ops->ep_size), GFP_KERNEL_ACCOUNT,
			   domain->limits.numa_node);
	if (!ep)
		return NULL;
	ep->fid.fid.fclass = fclass;
	ep->fid.fid.context = context;
	ep->domain = domain;
	ep->ops = ops;
	ep->state = KFI_EP_IDLE;
	xa_init(&ep->ctxs);
	xa_init(&ep->rx_ctxs);
	mutex_init(&ep->lock);
	init_waitqueue_head(&ep->drained);
	INIT_LIST_HEAD(&ep->sharers);
	INIT_LIST_HEAD(&ep->share);
	INIT_LIST_HEAD(&ep->regions);
	kfi_ep_space_init(ep);
	kfi_obj_init(&ep->obj);
	ep_begin_life(ep);
	ep_set_info(ep, info);
	ep->info = kfi_info_copy(info);
	if (!ep->info || kfi_auth_inherit(ep->info, domain->info->domain_attr) ||
	    ep_alloc_pools(ep, info)) {
		kfi_ep_free(ep);
		return NULL;
	}
	return ep;
}

/*
 * Check what kfi_provider_register() can't: a provider that supports both kinds of receives sets
 * &kfi_ep.hw_recv for each endpoint in ep_open, and needs the operations of that kind.
 */
static int ep_check_recv(struct kfi_ep *ep)
{
	const struct kfi_prov_ops *ops = ep->ops;

	if (ep->fid.fid.fclass != KFI_CLASS_EP && ep->fid.fid.fclass != KFI_CLASS_RX_CTX)
		return 0;
	if (ep->hw_recv ? ops->rx_posted && ops->rx_cancel : ops->rx_matched && ops->rx_drop)
		return 0;
	pr_err("kfi: provider %s: an endpoint lacks the operations for its receives\n",
	       ep->domain->fabric->prov->name);
	ops->ep_stop(ep, -EINVAL);
	ops->ep_close(ep);
	return -EINVAL;
}

/*
 * The domain's lock prevents the removal of the namespace and the device. When one of them is
 * removed later, gone.c finds the endpoint in the list. Memory reclaim may wait for another
 * endpoint of the domain, which is about to be opened.
 */
int kfi_ep_open(struct kfi_domain *domain, struct kfi_ep *ep)
{
	unsigned int noio = memalloc_noio_save();
	int ret = -ENODEV;

	mutex_lock(&domain->lock);
	if (!READ_ONCE(domain->dead))
		ret = ep->ops->ep_open(ep) ?: ep_check_recv(ep);
	if (!ret) {
		ep->tx_levels = ep_levels(ep->tx_levels);
		kfi_obj_get(&domain->obj);
		kfi_obj_link(&ep->obj, &domain->eps);
	}
	mutex_unlock(&domain->lock);
	memalloc_noio_restore(noio);
	return ret;
}

/* Take the request that the endpoint will accept. The endpoint owns the request from here on. */
static int ep_take_connreq(struct kfi_ep *ep, const struct kfi_info *info)
{
	if (!info->handle)
		return 0;
	if (ep->type != KFI_EP_MSG)
		return -EINVAL;
	ep->connreq = kfi_connreq_take(ep->domain->fabric, info->handle);
	return ep->connreq ? 0 : -EINVAL;
}

int kfi_endpoint(struct kfid_domain *domain_fid, struct kfi_info *info, struct kfid_ep **ep_fid,
		 void *context)
{
	struct kfi_domain *domain = kfi_to_domain(domain_fid);
	struct kfi_ep *ep;
	int ret;

	might_sleep();
	ret = kfi_ep_check_info(info);
	if (ret)
		return ret;
	ep = kfi_ep_make(domain, info, KFI_CLASS_EP, context);
	if (!ep)
		return -ENOMEM;
	ret = ep_take_connreq(ep, info);
	if (ret)
		goto free;
	ret = kfi_ep_open(domain, ep);
	if (ret)
		goto put_back;
	*ep_fid = &ep->fid;
	return 0;

put_back:
	if (ep->connreq && !kfi_connreq_put_back(ep->connreq))
		kfi_ep_reject(ep);
free:
	kfi_ep_free(ep);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_endpoint);

/* ---- enable ---- */

int kfi_ep_enable(struct kfi_ep *ep)
{
	int ret;

	lockdep_assert_held(&ep->lock);
	if (ep->state == KFI_EP_DEAD)
		return -ENODEV;
	if (ep->state != KFI_EP_IDLE)
		return -EINVAL;
	ret = kfi_ctx_check_enable(ep) ?: kfi_ep_check_bound(ep) ?:
	      kfi_share_check_enable(ep) ?: kfi_overdue_alloc(ep);
	if (ret)
		return ret;
	ret = ep->ops->ep_enable ? ep->ops->ep_enable(ep) : 0;
	if (ret) {
		kfi_overdue_free(ep);
		return ret;
	}
	kfi_ep_move(ep, KFI_EP_ENABLED);
	kfi_ctx_publish(ep);
	kfi_overdue_start(ep);
	return 0;
}

/* ---- the end ---- */

static void ep_stop(struct kfi_ep *ep, int err)
{
	lockdep_assert_held(&ep->lock);
	if (READ_ONCE(ep->state) == KFI_EP_DEAD)
		return;
	ep->end_err = err;
	kfi_ep_move(ep, KFI_EP_DEAD);
	kfi_ctx_unpublish(ep);
	if (ep->srx)
		kfi_match_leave(ep);
	synchronize_rcu_expedited();	/* all posts that were allowed have been made */
	kfi_overdue_stop(ep);
	ep->ops->ep_stop(ep, err);
	kfi_match_close(ep, err);
}

void kfi_ep_kill(struct kfi_ep *ep)
{
	bool was_dead;

	mutex_lock(&ep->lock);
	was_dead = ep->state == KFI_EP_DEAD;
	trace_kfi_error(ep, -ENODEV, "killed");
	kfi_ep_reject(ep);
	ep_stop(ep, -ENODEV);
	if (!was_dead && ep->eq)
		kfi_eq_error(ep->eq, &ep->fid.fid, -ENODEV, NULL, 0);
	mutex_unlock(&ep->lock);
}

static bool ep_is_idle(struct kfi_ep *ep)
{
	return kfi_pool_idle(&ep->tx) && kfi_pool_idle(&ep->rx) &&
	       (!ep->stx || kfi_share_idle(ep)) && !atomic_read(&ep->srx_left);
}

/*
 * Does a done() callback of the endpoint run? This also runs the done() callbacks of directly
 * polled queues, because their owner is the caller that waits.
 */
static bool ep_is_called(struct kfi_ep *ep)
{
	return kfi_cq_busy_for(ep->tx_cq, ep) | kfi_cq_busy_for(ep->rx_cq, ep);
}

/*
 * Wait until no operation is in use, the context that has freed the last one does not access the
 * endpoint any more, and the last done() callback has returned. All of these run in this kernel,
 * and none of them waits for a peer.
 */
static void ep_drain(struct kfi_ep *ep)
{
	unsigned long warn = jiffies + EP_DRAIN_WARN;

	kfi_pool_closing(&ep->tx);
	kfi_pool_closing(&ep->rx);
	do {
		ep_is_called(ep);
		if (time_after(jiffies, warn)) {
			pr_warn("kfi: endpoint %u: waiting for completions by provider %s\n",
				ep->obj.id, ep->domain->fabric->prov->name);
			warn = jiffies + EP_DRAIN_WARN;
		}
	} while (!wait_event_timeout(ep->drained, ep_is_idle(ep), HZ / 20));
	synchronize_rcu_expedited();
	while (ep_is_called(ep))
		usleep_range(20, 200);
}

/* ---- end of a connection: kfi_ep_reset() ---- */

/*
 * As ep_stop(), but the endpoint remains usable. Until the caller changes the state to ENABLED, the
 * state SHUT forbids posts, and the reports of the provider are ignored.
 */
static int ep_disconnect(struct kfi_ep *ep)
{
	lockdep_assert_held(&ep->lock);
	switch (READ_ONCE(ep->state)) {
	case KFI_EP_DEAD:
		return -ENODEV;
	case KFI_EP_IDLE:
		return -KFI_EOPBADSTATE;
	}
	kfi_ep_reject(ep);
	kfi_ep_move(ep, KFI_EP_SHUT);
	synchronize_rcu_expedited();	/* all posts that were allowed have been made */
	ep->ops->ep_stop(ep, -ECANCELED);
	ep_begin_life(ep);
	kfi_match_close(ep, -ECANCELED);
	kfi_match_reopen(ep);
	if (ep->conn_set)
		kfi_conn_set_restart(ep->conn_set);
	if (ep->ops->ep_restart)
		ep->ops->ep_restart(ep);
	return 0;
}

/*
 * Called without &kfi_ep.lock, because a done() callback may take it. Meanwhile the network may be
 * removed, and kfi_ep_kill() may end the endpoint.
 */
static void ep_finish_disconnect(struct kfi_ep *ep)
{
	kfi_ep_space_disarm(ep);
	ep_drain(ep);
	kfi_mr_detach_all(ep);
	kfi_pool_opened(&ep->tx);
	kfi_pool_opened(&ep->rx);
	kfi_eq_purge_sync(ep->eq, &ep->fid.fid);
}

int kfi_ep_reset(struct kfid_ep *fid)
{
	struct kfi_ep *ep = kfi_to_ep(fid);
	int ret;

	might_sleep();
	if (ep->type != KFI_EP_MSG || (!ep->conn_set && !ep->ops->ep_restart) || ep->stx ||
	    ep->srx || kfi_ep_is_shared(ep))
		return -EOPNOTSUPP;
	mutex_lock(&ep->lock);
	ret = ep_disconnect(ep);
	mutex_unlock(&ep->lock);
	if (ret && ret != -ENODEV)
		return ret;
	ep_finish_disconnect(ep);
	mutex_lock(&ep->lock);
	if (!ret && kfi_ep_move(ep, KFI_EP_ENABLED) < 0)
		ret = -ENODEV;
	mutex_unlock(&ep->lock);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_ep_reset);

static int close_ep(struct kfid *fid)
{
	struct kfi_ep *ep = container_of(fid, struct kfi_ep, fid.fid);
	struct kfi_domain *domain = ep->domain;

	if (!kfi_obj_retire(&ep->obj))
		return -EBUSY;
	mutex_lock(&ep->lock);
	kfi_ep_reject(ep);
	ep_stop(ep, -ECANCELED);
	mutex_unlock(&ep->lock);
	/*
	 * The endpoint stays in the list until it is stopped, because the end of the namespace
	 * waits only for endpoints in the list.
	 */
	mutex_lock(&domain->lock);
	list_del(&ep->obj.entry);
	mutex_unlock(&domain->lock);
	ep_drain(ep);
	kfi_share_unbind(ep);
	kfi_ep_space_disarm(ep);
	if (ep->av)
		kfi_av_leave(ep->av, ep);
	ep->ops->ep_close(ep);
	kfi_ep_unbind(ep);
	kfi_ctx_leave(ep);
	kfi_ep_free(ep);
	kfi_obj_put(&domain->obj);
	return 0;
}

const struct kfi_fid_class kfi_ep_class = {
	.name = "ep",
	.close = close_ep,
	.bind = kfi_ep_bind_fid,
	.control = kfi_ep_control,
};
