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
 * kfi_match.lock protects all of it.
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

/* Return: true if @op is complete with *@wc; false if *@taken has been matched with @op. */
static bool peek(struct kfi_match *m, struct kfi_oper *op, struct kfi_rx **taken,
		 struct kfi_cq_err_entry *wc)
{
	struct kfi_rx *rx;

	lockdep_assert_held(&m->lock);
	rx = op->flags & KFI_PEEK ? kfi_match_unexpected(m, op) : find_claimed(m, op);
	if (!rx) {
		*wc = (struct kfi_cq_err_entry) {
			.flags = KFI_TAGGED | KFI_RECV, .tag = op->tag, .err = ENOMSG,
			.prov_errno = ENOMSG, .src_addr = KFI_ADDR_NOTAVAIL,
		};
		return true;
	}
	if (op->flags & KFI_DISCARD || !(op->flags & KFI_PEEK)) {
		take(m, op, rx);
		*taken = rx;
		return false;
	}
	describe_rx(op, rx, wc);
	if (op->flags & KFI_CLAIM)
		claim_rx(m, rx, op->context);
	return true;
}

struct kfi_rx *kfi_match_peek(struct kfi_ep *ep, struct kfi_oper *op)
{
	struct kfi_match *m = &ep->match;
	struct kfi_rx *taken = NULL;
	struct kfi_cq_err_entry wc;
	bool completes;

	if (op->addr != KFI_ADDR_UNSPEC)
		kfi_match_direct(ep, op);
	spin_lock(&m->lock);
	if (m->closed) {
		spin_unlock(&m->lock);
		return ERR_PTR(-ESHUTDOWN);
	}
	completes = peek(m, op, &taken, &wc);
	spin_unlock(&m->lock);
	if (completes)
		__kfi_op_finish(op, ep, &wc);
	return taken;
}
