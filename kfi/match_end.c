// SPDX-License-Identifier: GPL-2.0
/*
 * match_end.c - receives that end without a message, by kfi_cancel() or with their endpoint or its
 * connection, and unexpected messages that end without a receive. kfi_match.lock protects the lists.
 */
#include <linux/export.h>
#include "ep.h"
#include "landing.h"

bool kfi_rx_unqueue(struct kfi_rx *rx)
{
	struct kfi_match *m = &kfi_rx_owner(rx->ep)->match;
	bool queued;

	spin_lock_bh(&m->lock);
	queued = !rx->op && !list_empty(&rx->link);
	if (queued)
		kfi_match_dequeue(m, rx);
	spin_unlock_bh(&m->lock);
	return queued;
}
EXPORT_SYMBOL_GPL(kfi_rx_unqueue);

bool kfi_rx_dequeue(struct kfi_rx *rx)
{
	struct kfi_match *m = &kfi_rx_owner(rx->ep)->match;
	bool queued;

	spin_lock_bh(&m->lock);
	queued = kfi_match_waits(rx);
	if (queued)
		kfi_match_dequeue(m, rx);
	spin_unlock_bh(&m->lock);
	return queued;
}
EXPORT_SYMBOL_GPL(kfi_rx_dequeue);

static void cancel_recv(struct kfi_match *m, struct kfi_oper *op)
{
	kfi_match_withdraw(m, op);
	WRITE_ONCE(op->state, KFI_RECV_CANCELED);
}

/* Return the oldest posted receive with @context; the caller checks it again under m->lock. */
static struct kfi_oper *by_context(const struct kfi_op_pool *pool, void *context, u64 *seq)
{
	struct kfi_oper *op, *first = NULL;
	u32 i;

	for (i = 0; i < pool->depth; i++) {
		op = pool->mem + pool->stride * i;
		if (READ_ONCE(op->context) != context || READ_ONCE(op->state) != KFI_RECV_POSTED)
			continue;
		if (first && READ_ONCE(op->seq) > *seq)
			continue;
		first = op;
		*seq = READ_ONCE(op->seq);
	}
	return first;
}

/* A canceled buffer takes no more messages; the last one in progress, if any, completes it. */
int kfi_match_cancel(struct kfi_ep *ep, void *context)
{
	struct kfi_match *m = &ep->match;
	bool found, idle = false;
	struct kfi_oper *op;
	u64 seq;

	do {
		op = by_context(&ep->rx, context, &seq);
		if (!op)
			return -ENOENT;
		spin_lock_bh(&m->lock);
		found = op->seq == seq && op->state == KFI_RECV_POSTED && op->context == context;
		if (found) {
			cancel_recv(m, op);
			idle = !op->landings;
		}
		spin_unlock_bh(&m->lock);
	} while (!found);	/* a message has just taken it; another receive may match */
	if (idle)
		kfi_recv_end(op, -ECANCELED);
	return 0;
}

static void take_all(struct kfi_match *m, struct kfi_oper **ring, struct list_head *to)
{
	struct kfi_oper *op;

	while ((op = *ring)) {
		cancel_recv(m, op);
		if (!op->landings)
			list_add_tail(&op->link, to);
	}
}

static void take_searching(struct kfi_match *m, bool tagged, struct list_head *to)
{
	struct kfi_oper *op;

	while ((op = list_first_entry_or_null(&m->search[tagged].ops, struct kfi_oper, link))) {
		cancel_recv(m, op);
		if (!op->landings)
			list_add_tail(&op->link, to);
	}
}

static void take_posted(struct kfi_match *m, struct list_head *to)
{
	unsigned int i;

	lockdep_assert_held(&m->lock);
	take_searching(m, false, to);
	take_searching(m, true, to);
	take_all(m, &m->msgs, to);
	take_all(m, &m->wild, to);
	for (i = 0; i < 1u << m->bits; i++)
		take_all(m, &m->exact[i], to);
}

void kfi_rx_flush(struct kfi_ep *ep, int err)
{
	struct kfi_match *m = &ep->match;
	struct kfi_oper *op, *next;
	LIST_HEAD(ops);

	/* An endpoint with a shared receive context has no posted receives of its own. */
	spin_lock_bh(&m->lock);
	take_posted(m, &ops);
	spin_unlock_bh(&m->lock);
	list_for_each_entry_safe(op, next, &ops, link)
		kfi_recv_end(op, err);
}
EXPORT_SYMBOL_GPL(kfi_rx_flush);

/*
 * Remove one unexpected message. If rx->op is set, a receive has taken it already. The lock of a
 * shared matching still protects messages that kfi_match_leave() has moved out of it: the end of a
 * sender may remove them at the same time.
 */
static struct kfi_rx *take_unexpected(struct kfi_ep *ep)
{
	struct kfi_match *m = &kfi_rx_owner(ep)->match, *own = &ep->match;
	struct kfi_rx *rx;

	spin_lock_bh(&m->lock);
	rx = list_first_entry_or_null(&own->ready, struct kfi_rx, link) ?:
	     list_first_entry_or_null(&own->claimed, struct kfi_rx, link) ?:
	     list_first_entry_or_null(&own->unexp_msgs, struct kfi_rx, link) ?:
	     list_first_entry_or_null(&own->unexp_tags, struct kfi_rx, link);
	if (rx)
		kfi_match_dequeue(m, rx);
	spin_unlock_bh(&m->lock);
	return rx;
}

void kfi_match_close(struct kfi_ep *ep, int err)
{
	struct kfi_match *m = &ep->match;
	struct kfi_rx *rx;

	spin_lock_bh(&m->lock);
	kfi_match_set_closed(m, true);
	spin_unlock_bh(&m->lock);
	cancel_work_sync(&m->work);
	if (ep->rx_cq)
		kfi_cq_cancel_wait(ep->rx_cq, &m->space);
	while ((rx = take_unexpected(ep))) {
		if (rx->op)
			kfi_rx_complete(rx, err);
		rx->ep->ops->rx_drop(rx->ep, rx);
	}
	kfi_rx_flush(ep, err);
}

void kfi_match_reopen(struct kfi_ep *ep)
{
	struct kfi_match *m = &ep->match;

	spin_lock_bh(&m->lock);
	m->waiting = false;	/* kfi_match_close() has canceled the waiter */
	kfi_match_set_closed(m, false);
	spin_unlock_bh(&m->lock);
}
