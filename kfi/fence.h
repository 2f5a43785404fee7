/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fence.h - operations that wait for earlier operations (fence.c), for post.c, op.c and ep.c.
 *
 * kfi_fence_ep_init(), kfi_fence_ep_exit(), kfi_fence_end() and kfi_fence_cancel() accept an
 * endpoint without KFI_FENCE.
 */
#ifndef _KFI_FENCE_CORE_H
#define _KFI_FENCE_CORE_H

#include "core.h"

/*
 * Flag of a transmit that its endpoint counts. The bit is that of a consumer's flag that is never
 * stored in an operation.
 */
#define KFI_OP_COUNTED	KFI_OPFLAGS_DEFAULT

/* Starts operations that waited behind a fence (fence.c); looks for those that take too long (overdue.c). */
extern struct workqueue_struct *kfi_start_wq;

int kfi_fence_init(void);
void kfi_fence_exit(void);

/* Called when an endpoint is opened and freed. Returns 0 or -ENOMEM. */
int kfi_fence_ep_init(struct kfi_ep *ep);
void kfi_fence_ep_exit(struct kfi_ep *ep);
/*
 * Complete the held operations with @err. The state of the endpoint forbids posts, and an RCU grace
 * period has passed since.
 */
void kfi_fence_end(struct kfi_ep *ep, int err);

/*
 * Start a transmit of an endpoint with KFI_FENCE, or hold it. The caller is in an RCU read section
 * with bottom halves off. Returns 0, or the error of the provider; after an error the operation
 * still belongs to the caller.
 */
int kfi_fence_tx(struct kfi_ep *ep, struct kfi_oper *op);
/*
 * An operation with KFI_OP_COUNTED has ended, and its completion has been queued. The caller is in
 * an RCU read section.
 */
void kfi_fence_ended(struct kfi_ep *ep);
/* kfi_cancel() of an operation that is held. Returns 0 or -ENOENT. */
int kfi_fence_cancel(struct kfi_ep *ep, void *context);

#endif /* _KFI_FENCE_CORE_H */
