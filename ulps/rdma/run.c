// SPDX-License-Identifier: GPL-2.0
/*
 * run.c - the runner of a queue pair: the context that starts and reports its requests, takes turns
 * for processes that change it, and is called when it waits for something that has come.
 */
#include <linux/hardirq.h>
#include <linux/wait_bit.h>
#include "kib.h"

/*
 * Passes of a run. Processes on other CPUs, or the handler of a completion queue, may leave a note
 * in each pass, and bottom halves are off meanwhile.
 */
#define QP_PASSES	8

/*
 * A pass starts before it reports, so it reports what its starts have ended. What a report lets
 * start has a note: posts, callbacks and room leave one. What is left after the last pass is for
 * run_bh, which yields to tasks when softirqs last. kib_destroy_qp() waits for the part without the
 * claim: bottom halves are off, which is an RCU section.
 */
static void qp_run(struct kib_qp *qp, bool report)
{
	struct kib_turn *turn;
	int passes = QP_PASSES;
	long notes;

	if (!kfi_runner_enter(&qp->runner))
		return;
	do {
		if (!passes--) {
			kfi_runner_drop(&qp->runner);
			queue_bh_work(&qp->run_bh);
			return;
		}
		notes = kfi_runner_begin(&qp->runner);
		turn = READ_ONCE(qp->turn);
		if (unlikely(turn)) {
			WRITE_ONCE(qp->turn, NULL);
			turn->fn(qp, turn);
			complete(&turn->done);
		}
		kib_recv_start(qp);
		if (qp->held || !llist_empty(&qp->came))
			kib_ud_receive(qp);
		if (!list_empty(&qp->asked))
			kib_local_serve(qp);
		kib_send_start(qp);
		if (report) {
			kib_send_report(qp);
			kib_recv_report(qp);
			if (unlikely(READ_ONCE(qp->destroyed))) {
				smp_mb();	/* qp_drain() reads the tails when it waits */
				wake_up_var(&qp->destroyed);
			}
		} else if (kib_ring_ended(&qp->sq) || kib_recv_next(qp)) {
			queue_bh_work(&qp->run_bh);
		}
		if (kib_recv_tell(qp))
			kfi_runner_enter(&qp->runner);	/* leaves a note */
	} while (!kfi_runner_leave(&qp->runner, notes));
}

/* Start and report. Context: softirq, or process context with bottom halves off; not in a post */
void kib_qp_run(struct kib_qp *qp)
{
	qp_run(qp, true);
}

/* A request was posted. Context: any */
void kib_qp_posted(struct kib_qp *qp)
{
	if (in_hardirq() || irqs_disabled()) {
		queue_bh_work(&qp->run_bh);
		return;
	}
	local_bh_disable();
	qp_run(qp, false);
	local_bh_enable();
}

static void qp_run_bh(struct bh_work_struct *bh)
{
	kib_qp_run(container_of(bh, struct kib_qp, run_bh));
}

/* There may be room in the endpoint now. */
void kib_qp_room(struct kfid_ep *ep, void *context)
{
	struct kib_qp *qp = context;

	WRITE_ONCE(qp->stopped, false);
	kib_qp_run(qp);
}

static void qp_again_work(struct work_struct *work)
{
	struct kib_qp *qp = container_of(to_delayed_work(work), struct kib_qp, again);

	WRITE_ONCE(qp->stopped, false);
	kib_qp_kick(qp);
}

/* Run the queues in a process. */
void kib_qp_kick(struct kib_qp *qp)
{
	local_bh_disable();
	kib_qp_run(qp);
	local_bh_enable();
}

/* Run the queue pairs of a list of struct kib_wait, which @lock protects. Context: any */
void kib_qps_run(struct list_head *list, spinlock_t *lock)
{
	struct kib_wait *wait;
	unsigned long flags;
	LIST_HEAD(waiting);

	if (list_empty(list))	/* they added themselves under @lock, which the caller had */
		return;
	spin_lock_irqsave(lock, flags);
	list_splice_init(list, &waiting);
	while ((wait = list_first_entry_or_null(&waiting, struct kib_wait, entry))) {
		list_del_init(&wait->entry);
		queue_bh_work(&wait->qp->run_bh);	/* the lock keeps the queue pair */
		spin_unlock_irqrestore(lock, flags);	/* there may be many */
		spin_lock_irqsave(lock, flags);
	}
	spin_unlock_irqrestore(lock, flags);
}

/* Let the runner make a change, and wait for that. */
void kib_qp_turn(struct kib_qp *qp, struct kib_turn *turn)
{
	lockdep_assert_held(&qp->lock);
	init_completion(&turn->done);
	WRITE_ONCE(qp->turn, turn);
	kib_qp_kick(qp);
	wait_for_completion(&turn->done);
}

/* ---- life ---- */

static void wait_init(struct kib_wait *wait, struct kib_qp *qp)
{
	INIT_LIST_HEAD(&wait->entry);
	wait->qp = qp;
}

void kib_qp_runner_init(struct kib_qp *qp)
{
	wait_init(&qp->send_room, qp);
	wait_init(&qp->recv_room, qp);
	wait_init(&qp->wants, qp);
	kfi_runner_init(&qp->runner);
	INIT_BH_WORK(&qp->run_bh, qp_run_bh);
	INIT_DELAYED_WORK(&qp->again, qp_again_work);
}

static void wait_end(struct kib_wait *wait, spinlock_t *lock)
{
	spin_lock_irq(lock);
	list_del_init(&wait->entry);
	spin_unlock_irq(lock);
}

/* No callback, and no work item but these, uses the queue pair any more. */
void kib_qp_quiesce(struct kib_qp *qp)
{
	wait_end(&qp->send_room, &to_kib_cq(qp->ib.send_cq)->lock);
	wait_end(&qp->recv_room, &to_kib_cq(qp->ib.recv_cq)->lock);
	if (qp->ib.srq)
		wait_end(&qp->wants, &to_kib_srq(qp->ib.srq)->lock);
	cancel_delayed_work_sync(&qp->again);
	cancel_bh_work_sync(&qp->run_bh);
	if (!kfi_runner_idle(&qp->runner))	/* it may be about to queue end_work */
		synchronize_rcu_expedited();	/* it has bottom halves off */
	cancel_work_sync(&qp->end_work);
}
