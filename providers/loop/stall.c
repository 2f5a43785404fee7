// SPDX-License-Identifier: GPL-2.0
/*
 * stall.c - operations that wait for room in the peer's completion queue.
 *
 * They wait in loop_ep.waiting of the peer, in order. When the queue has room, the peer's work item
 * (loop_ep.retry) performs them. No other context performs waiting operations, so they stay in
 * order.
 * loop_net.stall_lock protects these lists for all endpoints of a namespace: a full queue is the
 * slow path.
 */
#include "loop.h"

static void loop_set_congested(struct loop_ep *to)
{
	lockdep_assert_held(&to->ln->stall_lock);
	WRITE_ONCE(to->congested, to->held || to->retrying || !list_empty(&to->waiting));
}

static bool loop_is_rma(const struct kfi_oper *op)
{
	return op->code == KFI_OPC_WRITE || op->code == KFI_OPC_READ ||
	       kfi_opc_is_place(op->code) || kfi_opc_is_atomic(op->code);
}

/*
 * Would the operation overtake another one? If it may need a slot in the full queue, it waits
 * behind all others. Otherwise it waits only behind operations of the same sender.
 */
static bool loop_must_wait(const struct loop_ep *from, const struct loop_ep *to,
			   const struct kfi_oper *op)
{
	lockdep_assert_held(&to->ln->stall_lock);
	if (!to->congested)
		return false;
	return !loop_is_rma(op) || (op->flags & KFI_REMOTE_CQ_DATA) ||
	       !list_empty(&from->stalled) || to->retrying == from;
}

/*
 * Add the operation to to->waiting: at the end, or at the head if it is to be tried again. Return:
 * 0, or the errno to complete it with.
 */
static int loop_wait_add(struct loop_ep *from, struct loop_ep *to, struct loop_op *p, bool again)
{
	lockdep_assert_held(&to->ln->stall_lock);
	/* loop_ep_down() clears up, and then takes the lock to remove the waiting operations. */
	if (!READ_ONCE(from->up))
		return from->err;
	if (!READ_ONCE(to->up))
		return -ECONNRESET;
	if (again) {
		list_add(&p->op->link, &to->waiting);
		list_add(&p->node, &from->stalled);
	} else {
		list_add_tail(&p->op->link, &to->waiting);
		list_add_tail(&p->node, &from->stalled);
	}
	loop_set_congested(to);
	return 0;
}

bool loop_stall(struct loop_ep *from, struct loop_ep *to, struct loop_op *p, bool full)
{
	struct loop_net *ln = to->ln;
	int err = 0;
	bool wait;

	spin_lock_bh(&ln->stall_lock);
	wait = full || loop_must_wait(from, to, p->op);
	if (wait)
		err = loop_wait_add(from, to, p, false);
	/*
	 * Queued under the lock: loop_ep_down() removes the operation under the lock first, and
	 * then cancels the work.
	 */
	if (full && !err)
		queue_work(loop_wq, &to->retry);
	spin_unlock_bh(&ln->stall_lock);
	if (err)
		loop_tx_end(p, err);
	return wait;
}

static struct loop_op *loop_next_waiting(struct loop_ep *to)
{
	struct kfi_oper *op;
	struct loop_op *p = NULL;

	spin_lock_bh(&to->ln->stall_lock);
	op = list_first_entry_or_null(&to->waiting, struct kfi_oper, link);
	to->retrying = op ? to_loop_ep(op->ep) : NULL;
	if (op) {
		p = op->priv;
		list_del(&op->link);
		list_del(&p->node);
	}
	loop_set_congested(to);
	spin_unlock_bh(&to->ln->stall_lock);
	return p;
}

/* The operation did not fit again. Return: true if it waits; false if it has been completed. */
static bool loop_put_back(struct loop_ep *to, struct loop_op *p)
{
	int err;

	spin_lock_bh(&to->ln->stall_lock);
	to->retrying = NULL;
	err = loop_wait_add(to_loop_ep(p->op->ep), to, p, true);
	loop_set_congested(to);
	spin_unlock_bh(&to->ln->stall_lock);
	if (err)
		loop_tx_end(p, err);
	return !err;
}

/* Perform the operations that wait for @to, in order, until its queue is full again. */
void loop_retry(struct work_struct *work)
{
	struct loop_ep *to = container_of(work, struct loop_ep, retry);
	struct loop_op *p;

	while ((p = loop_next_waiting(to))) {
		if (loop_perform(to, p) || !loop_put_back(to, p))
			continue;
		if (kfi_cq_wait_space(to->ep.rx_cq, &to->room))
			break;
	}
}

/* Let messages to @le wait, or perform those that wait. */
void loop_hold(struct loop_ep *le, bool held)
{
	spin_lock_bh(&le->ln->stall_lock);
	le->held = held;
	loop_set_congested(le);
	if (!list_empty(&le->waiting))
		queue_work(loop_wq, &le->retry);
	spin_unlock_bh(&le->ln->stall_lock);
}

void loop_room(struct kfi_cq_waiter *w)
{
	queue_work(loop_wq, &container_of(w, struct loop_ep, room)->retry);
}

void loop_unstall(struct loop_ep *le, struct list_head *own, struct list_head *peers)
{
	struct kfi_oper *op, *next_op;
	struct loop_op *p, *next;

	spin_lock_bh(&le->ln->stall_lock);
	list_for_each_entry_safe(p, next, &le->stalled, node) {
		list_del(&p->op->link);
		list_move_tail(&p->node, own);
	}
	list_for_each_entry_safe(op, next_op, &le->waiting, link) {
		p = op->priv;
		list_del(&op->link);
		list_move_tail(&p->node, peers);
	}
	loop_set_congested(le);
	spin_unlock_bh(&le->ln->stall_lock);
}
