// SPDX-License-Identifier: GPL-2.0
/*
 * Looking at unexpected tagged messages without a receive, fi_tagged(3):
 *
 *	PEEK			is there one? It stays where it is.
 *	PEEK | CLAIM		set it aside for this context: no other receive gets it.
 *	PEEK | DISCARD		drop it.
 *	CLAIM			receive the one that was set aside for this context.
 *	CLAIM | DISCARD		drop that one.
 *
 * A message is dropped by giving it a receive without room: so the provider delivers nothing, and tells the sender what
 * it would have told him anyway. The completion has the message's length and no ETRUNC.
 */
#include "core.h"
#include "landing.h"

/* The one set aside for the context of @op; rx->buf holds that context meanwhile. */
static struct kfi_rx *find_claimed(struct kfi_match *m, const struct kfi_oper *op)
{
	struct kfi_rx *rx;

	list_for_each_entry(rx, &m->claimed, link)
		if (rx->buf == op->context)
			return rx;
	return NULL;
}

static void set_aside(struct kfi_match *m, struct kfi_rx *rx, void *context)
{
	kfi_match_dequeue(m, rx);
	rx->buf = context;
	list_add_tail(&rx->link, &m->claimed);
}

/* What a look at @rx tells, while it stays unmatched. */
static void look(struct kfi_oper *op, struct kfi_rx *rx, struct kfi_cq_err_entry *wc)
{
	rx->op = op;
	rx->room = 0;
	kfi_match_source(rx);
	kfi_land_entry(rx, 0, wc);
	rx->op = NULL;
	wc->buf = NULL;
}

/* To be received or dropped by @op. */
static void take(struct kfi_match *m, struct kfi_oper *op, struct kfi_rx *rx)
{
	kfi_match_dequeue(m, rx);
	if (op->flags & KFI_DISCARD) {
		iov_iter_truncate(&op->iter, 0);
		op->len = 0;
	}
	op->state = KFI_RECV_TAKEN;
	kfi_match_source(rx);
	kfi_land_place(op, rx);
}

/* Return: whether @op ends here, with *@wc; else *@taken has it. */
static bool peek(struct kfi_match *m, struct kfi_oper *op, struct kfi_rx **taken, struct kfi_cq_err_entry *wc)
{
	struct kfi_rx *rx;

	lockdep_assert_held(&m->lock);
	rx = op->flags & KFI_PEEK ? kfi_match_unexpected(m, op) : find_claimed(m, op);
	if (!rx) {
		*wc = (struct kfi_cq_err_entry) { .flags = KFI_TAGGED | KFI_RECV, .tag = op->tag, .err = ENOMSG,
			.prov_errno = ENOMSG, .src_addr = KFI_ADDR_NOTAVAIL };
		return true;
	}
	if (op->flags & KFI_DISCARD || !(op->flags & KFI_PEEK)) {
		take(m, op, rx);
		*taken = rx;
		return false;
	}
	look(op, rx, wc);
	if (op->flags & KFI_CLAIM)
		set_aside(m, rx, op->context);
	return true;
}

struct kfi_rx *kfi_match_peek(struct kfi_ep *ep, struct kfi_oper *op)
{
	struct kfi_match *m = &ep->match;
	struct kfi_rx *taken = NULL;
	struct kfi_cq_err_entry wc;
	bool ends;

	if (op->addr != KFI_ADDR_UNSPEC)
		kfi_match_direct(ep, op);
	spin_lock(&m->lock);
	if (m->closed) {
		spin_unlock(&m->lock);
		return ERR_PTR(-ESHUTDOWN);
	}
	ends = peek(m, op, &taken, &wc);
	spin_unlock(&m->lock);
	if (ends)
		__kfi_op_finish(op, ep, &wc);
	return taken;
}
