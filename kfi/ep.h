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

/* ep_bind.c */

int kfi_ep_bind_fid(struct kfid *fid, struct kfid *bfid, u64 flags);
void kfi_ep_unbind(struct kfi_ep *ep);
/* Are the bindings complete? 0, -KFI_ENOCQ, -KFI_ENOAV, -KFI_ENOEQ. */
int kfi_ep_check_bound(const struct kfi_ep *ep);

/* ep_opt.c */

int kfi_ep_control(struct kfid *fid, int command, void *arg);

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
bool kfi_pool_idle(struct kfi_op_pool *pool);

#endif /* _KFI_EP_H */
