/* SPDX-License-Identifier: GPL-2.0 */
/*
 * landing.h - interface between match.c, which finds a receive for a message, match_peek.c, which
 * finds a message without posting a receive, and landing.c, which places a message in a receive and
 * completes the receive.
 */
#ifndef _KFI_LANDING_H
#define _KFI_LANDING_H

#include <linux/list.h>
#include <kfi_prov.h>

/*
 * States of a receive (&kfi_oper.state). Protected by &kfi_match.lock.
 *
 * POSTED: may get a message.
 * TAKEN: gets no more messages. The last message is the only one of the receive, or fills the
 *	multi-receive buffer.
 * RELEASED: gets no more messages, because a message was too long for the rest of the buffer.
 * CANCELED: gets no more messages, because the consumer has canceled it or the endpoint ends.
 */
enum {
	KFI_RECV_POSTED = 1,
	KFI_RECV_TAKEN,
	KFI_RECV_RELEASED,
	KFI_RECV_CANCELED,
};

/* Result of kfi_land_in() */
enum kfi_land {
	KFI_LAND_DONE,		/* placed; the receive takes no more messages */
	KFI_LAND_MORE,		/* placed; the receive has room for another message */
	KFI_LAND_NO_ROOM,	/* not placed: too little room is left; release the buffer */
	KFI_LAND_FULL,		/* not placed: the CQ has no free slot at present */
};

/*
 * Place a message in a receive: set &kfi_rx.op, iter, room and buf, unless the result is NO_ROOM or
 * FULL. Called under &kfi_match.lock.
 */
enum kfi_land kfi_land_in(struct kfi_oper *op, struct kfi_rx *rx);
/*
 * Complete the receives in @released (by &kfi_oper.link): multi-receive buffers that were released
 * while no message was being placed in them, and peeks, whose completion is in &kfi_oper.wc. Called
 * without locks.
 */
void kfi_land_end_all(struct list_head *released);

/* match.c: remove a message from the unexpected ones. Called under &kfi_match.lock. */
void kfi_match_dequeue(struct kfi_match *m, struct kfi_rx *rx);
/*
 * match.c: take @op out of a ring, or out of the queue of receives that search. The next receive of
 * that queue goes on in a work item. Called under &kfi_match.lock.
 */
void kfi_match_withdraw(struct kfi_match *m, struct kfi_oper *op);
/* Is @rx unexpected? A claimed message is in no bucket: kfi_match_dequeue() has removed it. */
static inline bool kfi_match_waits(const struct kfi_rx *rx)
{
	return !rx->op && !list_empty(&rx->link) &&
	       !(rx->flags & KFI_TAGGED && list_empty(&rx->bucket));
}

/* match.c: refuse posts and arrivals from now on, or accept them. Under &kfi_match.lock. */
void kfi_match_set_closed(struct kfi_match *m, bool closed);
/*
 * match.c: post a receive that searches behind those that search already. Arguments and result as
 * kfi_match_post().
 */
struct kfi_rx *kfi_match_search(struct kfi_ep *ep, struct kfi_oper *op);
/*
 * match_peek.c: the search of a peek has found @rx, or NULL. The peek goes to m->released, or @rx
 * to m->ready. Called under &kfi_match.lock.
 */
void kfi_match_peeked(struct kfi_match *m, struct kfi_oper *op, struct kfi_rx *rx);
/* match_source.c: convert @op->addr from a handle to the value that arrivals are compared with. */
void kfi_match_direct(struct kfi_ep *ep, struct kfi_oper *op);
/*
 * Set rx->src to the handle that the address vector has for the sender at present. Called under
 * &kfi_match.lock.
 */
void kfi_match_source(struct kfi_rx *rx);
/* Fill in the completion of rx->op for message @rx, or for its failure with @err. */
void kfi_land_entry(const struct kfi_rx *rx, int err, struct kfi_cq_err_entry *wc);

#endif /* _KFI_LANDING_H */
