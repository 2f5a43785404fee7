/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fence.h - operations that wait for earlier ones (fence.c), for post.c, op.c and the ends of endpoints.
 *
 * What is here about an endpoint without KFI_FENCE does nothing.
 */
#ifndef _KFI_FENCE_CORE_H
#define _KFI_FENCE_CORE_H

#include "core.h"

/* In the flags of a transmit that its endpoint counts; the consumer's flag of that number never gets into an operation. */
#define KFI_OP_COUNTED	KFI_OPFLAGS_DEFAULT

/* On opening and freeing an endpoint. 0, -ENOMEM. */
int kfi_fence_ep_init(struct kfi_ep *ep);
void kfi_fence_ep_exit(struct kfi_ep *ep);
/* End what is held with @err. The endpoint's state forbids posts, and a grace period has passed since. */
void kfi_fence_end(struct kfi_ep *ep, int err);

/*
 * Start a transmit of an endpoint with KFI_FENCE, or hold it. Inside an RCU read section, bottom halves off. Return: 0, or why
 * the provider refuses: the caller still has it.
 */
int kfi_fence_tx(struct kfi_ep *ep, struct kfi_oper *op);
/* One with KFI_OP_COUNTED has ended, and its consumer has been told. Inside an RCU read section. */
void kfi_fence_ended(struct kfi_ep *ep);
/* kfi_cancel() of one that is held. 0, -ENOENT. */
int kfi_fence_cancel(struct kfi_ep *ep, void *context);

#endif /* _KFI_FENCE_CORE_H */
