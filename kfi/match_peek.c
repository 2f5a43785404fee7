// SPDX-License-Identifier: GPL-2.0
/*
 * match_peek.c - operations on unexpected tagged messages without a posted receive, see
 * fi_tagged(3):
 *
 *	PEEK			report whether there is a message. The message stays.
 *	PEEK | CLAIM		reserve the message for this context: no other receive gets it.
 *	PEEK | DISCARD		drop the message.
 *	CLAIM			receive the message that was reserved for this context.
 *	CLAIM | DISCARD		drop the message that was reserved for this context.
 *
 * To drop a message, it is matched with a receive of length 0. So the provider delivers no payload
 * and answers the sender as usual. The completion has the length of the message and no ETRUNC.
 *
 * A peek searches like a receive that is posted (kfi_match_search()), and behind those that still
 * search. kfi_match.lock protects all of it.
 */
#include "core.h"
#include "landing.h"

/*
 * Find the message that is reserved for op->context. While it is reserved, rx->buf is that context.
 */
static struct kfi_rx *find_claimed(struct kfi_match *m, const struct kfi_oper *op)
{
	struct kfi_rx *rx;

	list_for_each_entry(rx, &m->claimed, link)
		if (rx->buf == op->context)
			return rx;
	return NULL;
}

static void claim_rx(struct kfi_match *m, struct kfi_rx *rx, void *context)
{
	kfi_match_dequeue(m, rx);
	rx->buf = context;
	list_add_tail(&rx->link, &m->claimed);
}

/* Fill in the completion that describes @rx. @rx stays unmatched. */
static void describe_rx(struct kfi_oper *op, struct kfi_rx *rx, struct kfi_cq_err_entry *wc)
{
	rx->op = op;
	rx->room = 0;
	kfi_match_source(rx);
	kfi_land_entry(rx, 0, wc);
	rx->op = NULL;
	wc->buf = NULL;
}

static void no_message(const struct kfi_oper *op, struct kfi_cq_err_entry *wc)
{
	*wc = (struct kfi_cq_err_entry) {
		.flags = KFI_TAGGED | KFI_RECV, .tag = op->tag, .err = ENOMSG,
		.prov_errno = ENOMSG, .src_addr = KFI_ADDR_NOTAVAIL,
	};
}

/* Match @rx with @op, to be received or dropped. */
static void take(struct kfi_match *m, struct kfi_oper *op, struct kfi_rx *rx)
{
	kfi_match_dequeue(m, rx);
	if (op->flags & KFI_DISCARD) {
		iov_iter_truncate(&op->iter, 0);
		op->len = 0;
	}
	op->state = KFI_RECV_TAKEN;
	kfi_match_source(rx);
	kfi_land_in(op, rx);
}

void kfi_match_peeked(struct kfi_match *m, struct kfi_oper *op, struct kfi_rx *rx)
{
	struct kfi_cq_err_entry wc;

	lockdep_assert_held(&m->lock);
	if (rx && op->flags & KFI_DISCARD) {
		take(m, op, rx);
		list_add_tail(&rx->link, &m->ready);
		return;
	}
	if (rx)
		describe_rx(op, rx, &wc);
	else
		no_message(op, &wc);
	if (rx && op->flags & KFI_CLAIM)
		claim_rx(m, rx, op->context);
	op->wc = wc;
	list_add_tail(&op->link, &m->released);
}

struct kfi_rx *kfi_match_peek(struct kfi_ep *ep, struct kfi_oper *op)
{
	struct kfi_match *m = &ep->match;
	struct kfi_cq_err_entry wc;
	struct kfi_rx *rx;

	if (op->addr != KFI_ADDR_UNSPEC)
		kfi_match_direct(ep, op);
	if (op->flags & KFI_PEEK)
		return kfi_match_search(ep, op);
	spin_lock(&m->lock);
	if (m->closed) {
		spin_unlock(&m->lock);
		return ERR_PTR(-ESHUTDOWN);
	}
	rx = find_claimed(m, op);
	if (rx)
		take(m, op, rx);
	spin_unlock(&m->lock);
	if (!rx) {
		no_message(op, &wc);
		__kfi_op_finish(op, ep, &wc);
	}
	return rx;
}
