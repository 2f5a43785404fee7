/* SPDX-License-Identifier: GPL-2.0 */
/*
 * landing.h - between match.c, which finds a receive, match_peek.c, which looks without one, and landing.c, which knows
 * what becomes of it.
 */
#ifndef _KFI_LANDING_H
#define _KFI_LANDING_H

#include <linux/list.h>
#include <kfi_prov.h>

/* kfi_oper.state of a receive; protected by kfi_match.lock */
enum {
	KFI_RECV_POSTED = 1,	/* may be given a message */
	KFI_RECV_TAKEN,		/* will be given no more: the last one is what it was for, or fills it */
	KFI_RECV_SPENT,		/* nor that: what came was too long for what is left */
	KFI_RECV_BACK,		/* nor that: its consumer wants it back, or its endpoint ends */
};

/* What a receive says to a message */
enum kfi_land {
	KFI_LAND_DONE,		/* here; and I take no more */
	KFI_LAND_MORE,		/* here; and I have room for another */
	KFI_LAND_SPENT,		/* not here, I am too full: release me */
	KFI_LAND_FULL,		/* here, but the CQ has no slot yet */
};

/* Under kfi_match.lock. Sets rx->op, iter, room, buf unless SPENT or FULL. */
enum kfi_land kfi_land_place(struct kfi_oper *op, struct kfi_rx *rx);
/* Without locks: end the multi-receive buffers (linked by op->link) that were released while nothing was under way. */
void kfi_land_end_all(struct list_head *spent);

/* match.c. Under kfi_match.lock: the oldest unexpected message that @op fits; take one out. */
struct kfi_rx *__kfi_match_unexpected(struct kfi_match *m, const struct kfi_oper *op);

static inline struct kfi_rx *kfi_match_unexpected(struct kfi_match *m, const struct kfi_oper *op)
{
	if (likely(list_empty(op->code == KFI_OPC_TRECV ? &m->unexp_tags : &m->unexp_msgs)))
		return NULL;
	return __kfi_match_unexpected(m, op);
}

void kfi_match_dequeue(struct kfi_match *m, struct kfi_rx *rx);
/* match_source.c. @op->addr is a handle: make it what is compared. */
void kfi_match_direct(struct kfi_ep *ep, struct kfi_oper *op);
/* Under kfi_match.lock: set rx->src to the handle that the address vector has now. */
void kfi_match_source(struct kfi_rx *rx);
/* What the completion of @rx with its rx->op says. */
void kfi_land_entry(const struct kfi_rx *rx, int err, struct kfi_cq_err_entry *wc);

#endif /* _KFI_LANDING_H */
