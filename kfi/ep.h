/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ep.h - what the files of endpoints share: ep.c, ep_bind.c, ep_opt.c, cm.c, pep.c, post.c, op.c.
 */
#ifndef _KFI_EP_H
#define _KFI_EP_H

#include "core.h"

#define KFI_TX_CAPS	(KFI_SEND | KFI_READ | KFI_WRITE)
#define KFI_RX_CAPS	KFI_RECV
#define KFI_LEVELS	(KFI_INJECT_COMPLETE | KFI_TRANSMIT_COMPLETE | KFI_DELIVERY_COMPLETE | \
			 KFI_COMMIT_COMPLETE | KFI_MATCH_COMPLETE)

/* ep_state.c: the arrows */

bool kfi_ep_arrow(int from, int to);
/* Go to @to if an arrow leads there; lock-free. Return: the state before, or -1: there is no arrow. */
int kfi_ep_move(struct kfi_ep *ep, int to);

/* ep.c */

/* Can an endpoint be what @info says? 0 or -EINVAL. */
int kfi_ep_check_info(const struct kfi_info *info);
/* An endpoint of a class, not open yet; NULL: no memory. */
struct kfi_ep *kfi_ep_make(struct kfi_domain *domain, const struct kfi_info *info, size_t fclass, void *context);
void kfi_ep_free(struct kfi_ep *ep);
/* Hand it to the provider, and list it in the domain. On failure it is still only made. */
int kfi_ep_open(struct kfi_domain *domain, struct kfi_ep *ep);
/* Enable; ep->lock is held. */
int kfi_ep_enable(struct kfi_ep *ep);

/* ctx.c: nothing to be done for endpoints that are no contexts */

/* May it be enabled? Takes over the vector of its scalable endpoint. 0, -KFI_EOPBADSTATE, -ENODEV. */
int kfi_ctx_check_enable(struct kfi_ep *ep);
/* From then on peers find a receive context; and from then on they don't, after a grace period. */
void kfi_ctx_publish(struct kfi_ep *ep);
void kfi_ctx_unpublish(struct kfi_ep *ep);
/* Its number is free again. */
void kfi_ctx_leave(struct kfi_ep *ep);
/* What a context is opened with: @tx, @rx are its parent's attributes, @attr the consumer's or NULL. 0, -EINVAL, -EOPNOTSUPP. */
int kfi_ctx_tx_attr(struct kfi_tx_attr *tx, const struct kfi_tx_attr *attr, u64 levels);
int kfi_ctx_rx_attr(struct kfi_rx_attr *rx, const struct kfi_rx_attr *attr);

/* shared.c: contexts that endpoints share, and the endpoints that do. See there */

/* Endpoints that can share one context. */
#define KFI_SHARERS_MAX	65536

/* Is it a shared context? */
static inline bool kfi_ep_is_shared(const struct kfi_ep *ep)
{
	return ep->fid.fid.fclass == KFI_CLASS_SRX_CTX || ep->fid.fid.fclass == KFI_CLASS_STX_CTX;
}

/* Whose operations @ep transmits with, and receives with. */
static inline struct kfi_ep *kfi_tx_home(struct kfi_ep *ep)
{
	return ep->stx ?: ep;
}

static inline struct kfi_ep *kfi_rx_home(struct kfi_ep *ep)
{
	return ep->srx ?: ep;
}

/* Does an endpoint that was opened with @info share this direction? Then it has hardly any operations of its own. */
static inline bool kfi_shares_tx(const struct kfi_info *info)
{
	return info->ep_attr->tx_ctx_cnt == KFI_SHARED_CONTEXT;
}

static inline bool kfi_shares_rx(const struct kfi_info *info)
{
	return info->ep_attr->rx_ctx_cnt == KFI_SHARED_CONTEXT;
}

int kfi_share_bind(struct kfi_ep *ep, struct kfi_ep *ctx, u64 flags);
/* May it be enabled? 0, -KFI_ENORX, -KFI_EOPBADSTATE, -EINVAL, -ENODEV. */
int kfi_share_check_enable(struct kfi_ep *ep);
void kfi_share_unbind(struct kfi_ep *ep);
/* No operation of @ep is in use at its shared transmit context. */
bool kfi_share_idle(struct kfi_ep *ep);
/* There is room again for all who wait. Inside an RCU read section. */
void kfi_share_wake(struct kfi_ep *stx);

/* ep_bind.c */

int kfi_ep_bind_fid(struct kfid *fid, struct kfid *bfid, u64 flags);
void kfi_ep_unbind(struct kfi_ep *ep);
/* Are the bindings complete? 0, -KFI_ENOCQ, -KFI_ENOAV, -KFI_ENOEQ. */
int kfi_ep_check_bound(const struct kfi_ep *ep);

/* ep_opt.c */

int kfi_ep_control(struct kfid *fid, int command, void *arg);
/* KFI_GETOPSFLAG, KFI_SETOPSFLAG: @tx, @rx are @ep's defaults or those of an alias; *@arg names one of the directions. */
int kfi_ep_get_ops_flags(u64 *tx, u64 *rx, u64 *arg);
int kfi_ep_set_ops_flags(const struct kfi_ep *ep, u64 *tx, u64 *rx, const u64 *arg);

/* overdue.c: KFI_OPT_OP_TIMEOUT_MS */

/* Before the endpoint is enabled. 0, -ENOPROTOOPT, -EOPNOTSUPP, -EINVAL, -KFI_EOPBADSTATE. */
int kfi_overdue_set(struct kfi_ep *ep, size_t ms);
/*
 * What the work item needs, when the pool that the endpoint transmits with is known; ep->lock is
 * held. 0, -ENOMEM.
 */
int kfi_overdue_alloc(struct kfi_ep *ep);
void kfi_overdue_start(struct kfi_ep *ep);
/* On return no operation is looked at any more. Waits for a look, which waits for nobody. */
void kfi_overdue_stop(struct kfi_ep *ep);
void kfi_overdue_free(struct kfi_ep *ep);

/* alias.c */

int kfi_alias_open(struct kfi_ep *ep, const struct kfi_alias *arg);

/* ep_space.c: kfi_ep_tx_space() */

void kfi_ep_space_init(struct kfi_ep *ep);
void kfi_ep_space_disarm(struct kfi_ep *ep);

/* pep.c */

/* Take the request that @handle names from the listener of @fabric that has it. NULL: nobody has. @handle is not followed. */
struct kfi_connreq *kfi_connreq_take(struct kfi_fabric *fabric, const struct kfid *handle);
/* Undo it. Return: false: the listener takes nothing any more, the request is still the caller's. */
bool kfi_connreq_put_back(struct kfi_connreq *req);

/* cm.c */

int kfi_cm_check_data(const struct kfi_prov_ops *ops, const void *data, size_t len);
/* An endpoint that has taken a request closes without having accepted it. */
void kfi_ep_reject(struct kfi_ep *ep);

/* op.c */

bool kfi_pool_full(struct kfi_op_pool *pool);
bool kfi_pool_starve(struct kfi_op_pool *pool);
void kfi_pool_unstarve(struct kfi_op_pool *pool);
void kfi_pool_closing(struct kfi_op_pool *pool);
void kfi_pool_opened(struct kfi_op_pool *pool);
bool kfi_pool_idle(struct kfi_op_pool *pool);

#endif /* _KFI_EP_H */
