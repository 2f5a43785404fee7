/* SPDX-License-Identifier: GPL-2.0 */
/* ep.h - declarations that the files about endpoints share. */
#ifndef _KFI_EP_H
#define _KFI_EP_H

#include "core.h"

#define KFI_TX_CAPS	(KFI_SEND | KFI_READ | KFI_WRITE)
#define KFI_RX_CAPS	KFI_RECV
#define KFI_LEVELS	(KFI_INJECT_COMPLETE | KFI_TRANSMIT_COMPLETE | KFI_DELIVERY_COMPLETE | \
			 KFI_COMMIT_COMPLETE | KFI_MATCH_COMPLETE)

/* ep_state.c: states and transitions */

bool kfi_ep_transition(int from, int to);
/*
 * Change the state to @to if there is such a transition. Takes no lock. Returns the previous state,
 * or -1 if there is no such transition.
 */
int kfi_ep_move(struct kfi_ep *ep, int to);

/* ep.c */

/* Check that an endpoint can be opened with @info. Returns 0 or -EINVAL. */
int kfi_ep_check_info(const struct kfi_info *info);
/*
 * Allocate an endpoint of a class. kfi_ep_open() opens it; kfi_ep_free() frees it. Returns NULL if
 * there is no memory.
 */
struct kfi_ep *kfi_ep_make(struct kfi_domain *domain, const struct kfi_info *info, size_t fclass,
			   void *context);
void kfi_ep_free(struct kfi_ep *ep);
/*
 * Open the endpoint at the provider, and add it to the domain's list. After an error the caller
 * frees the endpoint.
 */
int kfi_ep_open(struct kfi_domain *domain, struct kfi_ep *ep);
/* Enable the endpoint. The caller holds &kfi_ep.lock. */
int kfi_ep_enable(struct kfi_ep *ep);

/* ctx.c: contexts of scalable endpoints. These calls do nothing for other endpoints */

/*
 * Check that a context can be enabled, and give it the address vector and the options of its
 * scalable endpoint. Returns 0, -KFI_EOPBADSTATE or -ENODEV.
 */
int kfi_ctx_check_enable(struct kfi_ep *ep);
/*
 * Make a receive context visible to peers, or hide it. An RCU grace period after
 * kfi_ctx_unpublish() no peer's message uses the context any more.
 */
void kfi_ctx_publish(struct kfi_ep *ep);
void kfi_ctx_unpublish(struct kfi_ep *ep);
/* Release the index of a context, and the context's reference to its scalable endpoint. */
void kfi_ctx_leave(struct kfi_ep *ep);
/*
 * Compute the attributes of a context. @tx and @rx are the attributes of the parent, @attr those
 * that the consumer requests, or NULL. Returns 0, -EINVAL or -EOPNOTSUPP.
 */
int kfi_ctx_tx_attr(struct kfi_tx_attr *tx, const struct kfi_tx_attr *attr, u64 levels);
int kfi_ctx_rx_attr(struct kfi_rx_attr *rx, const struct kfi_rx_attr *attr);

/* shared.c: shared contexts, and the endpoints that are bound to them */

/* Maximum number of endpoints bound to one shared context */
#define KFI_SHARERS_MAX	65536

static inline bool kfi_ep_is_shared(const struct kfi_ep *ep)
{
	return ep->fid.fid.fclass == KFI_CLASS_SRX_CTX || ep->fid.fid.fclass == KFI_CLASS_STX_CTX;
}

/*
 * The endpoint whose pool has the operations that @ep transmits or receives with: a shared context,
 * or @ep itself.
 */
static inline struct kfi_ep *kfi_tx_owner(struct kfi_ep *ep)
{
	return ep->stx ?: ep;
}

static inline struct kfi_ep *kfi_rx_owner(struct kfi_ep *ep)
{
	return ep->srx ?: ep;
}

/*
 * Will an endpoint that is opened with @info be bound to a shared context for this direction? Then
 * its own pool has one operation only.
 */
static inline bool kfi_shares_tx(const struct kfi_info *info)
{
	return info->ep_attr->tx_ctx_cnt == KFI_SHARED_CONTEXT;
}

static inline bool kfi_shares_rx(const struct kfi_info *info)
{
	return info->ep_attr->rx_ctx_cnt == KFI_SHARED_CONTEXT;
}

int kfi_share_bind(struct kfi_ep *ep, struct kfi_ep *ctx, u64 flags);
/*
 * Check that the bindings to shared contexts allow the endpoint to be enabled. Returns 0,
 * -KFI_ENORX, -KFI_ENOCQ, -KFI_EOPBADSTATE, -EINVAL or -ENODEV.
 */
int kfi_share_check_enable(struct kfi_ep *ep);
void kfi_share_unbind(struct kfi_ep *ep);
/* Does @ep use no operation of its shared transmit context? */
bool kfi_share_idle(struct kfi_ep *ep);

/* ep_bind.c */

int kfi_ep_bind_fid(struct kfid *fid, struct kfid *bfid, u64 flags);
void kfi_ep_unbind(struct kfi_ep *ep);
/* Check that the necessary objects are bound. Returns 0, -KFI_ENOCQ, -KFI_ENOAV or -KFI_ENOEQ. */
int kfi_ep_check_bound(const struct kfi_ep *ep);

/* ep_opt.c */

int kfi_ep_control(struct kfid *fid, int command, void *arg);
/* overdue.c: time limit for operations, KFI_OPT_OP_TIMEOUT_MS */

/*
 * Set the limit. The endpoint is not enabled yet. Returns 0, -ENOPROTOOPT, -EOPNOTSUPP, -EINVAL or
 * -KFI_EOPBADSTATE.
 */
int kfi_overdue_set(struct kfi_ep *ep, size_t ms);
/*
 * Allocate the state of the work item, after the shared transmit context is bound, because its size
 * depends on the pool. If the enable fails after that, the state is freed, because the consumer
 * may change the limit before it tries again. The caller holds &kfi_ep.lock. Returns 0 or -ENOMEM.
 */
int kfi_overdue_alloc(struct kfi_ep *ep);
void kfi_overdue_start(struct kfi_ep *ep);
/*
 * Stop the work item. On return it accesses no operation any more. The work item takes no mutex and
 * waits for nothing.
 */
void kfi_overdue_stop(struct kfi_ep *ep);
void kfi_overdue_free(struct kfi_ep *ep);

/* ep_space.c: kfi_ep_tx_space() */

void kfi_ep_space_init(struct kfi_ep *ep);
void kfi_ep_space_disarm(struct kfi_ep *ep);

/* pep.c */

/*
 * Take the request whose handle is @handle from the passive endpoint of @fabric that has it.
 * Returns NULL if there is no such request. @handle comes from the consumer, so it is compared and
 * not dereferenced.
 */
struct kfi_connreq *kfi_connreq_take(struct kfi_fabric *fabric, const struct kfid *handle);
/*
 * Return a request to its passive endpoint. Returns false if the passive endpoint does not listen
 * any more; then the request still belongs to the caller.
 */
bool kfi_connreq_put_back(struct kfi_connreq *req);

/* cm.c */

int kfi_cm_check_data(const struct kfi_prov_ops *ops, const void *data, size_t len);
/* Reject the request of an endpoint that is closed before it has accepted the request. */
void kfi_ep_reject(struct kfi_ep *ep);

/* op.c */

bool kfi_pool_full(struct kfi_op_pool *pool);
bool kfi_pool_starve(struct kfi_op_pool *pool);
void kfi_pool_unstarve(struct kfi_op_pool *pool);
void kfi_pool_closing(struct kfi_op_pool *pool);
void kfi_pool_opened(struct kfi_op_pool *pool);
bool kfi_pool_idle(struct kfi_op_pool *pool);

#endif /* _KFI_EP_H */
