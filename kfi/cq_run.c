// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues: the contexts that run handlers and done() callbacks.
 *
 * A callback never runs inside a completion call, because the caller may hold locks. A completion
 * that causes a callback claims the queue (&kfi_cq.runner) and passes the claim to the context of
 * the queue: a work item; for KFI_CQ_SOFTIRQ a BH work item, or the list of this CPU's batch
 * between kfi_batch_begin() and kfi_batch_end(). A queue with KFI_CQ_DIRECT is not scheduled: the
 * next kfi_cq_poll() handles the completions of its devices (poll_dev.c) and claims it. The context
 * has the claim until nothing is left to do. Until then new completions leave a note, and schedule
 * nothing.
 *
 * A callback may complete further operations, also of other queues, for example by a post. Such
 * queues are added to the list that the batch works on. So there is no recursion. The callbacks of
 * a batch have a budget; queues with work left when it is exhausted are passed to their BH work
 * items.
 */
#include <linux/sched/mm.h>
#include <linux/delay.h>
#include "cq.h"
#include "ep.h"
#include "queue.h"

#define KFI_RUN_BUDGET	256	/* callbacks that run before the CPU is released */

/**
 * struct kfi_batch - queues whose handlers wait for the end of a burst on this CPU
 * @first: first queue to run; the queues are linked by &kfi_cq.batch
 * @end: where the next queue is linked
 * @depth: number of calls of kfi_batch_begin() without kfi_batch_end() yet
 * @budget: number of callbacks that the batch may still call
 *
 * Accessed only on its own CPU, with bottom halves off.
 */
struct kfi_batch {
	struct kfi_cq		*first;
	struct kfi_cq		**end;
	unsigned int		depth;
	int			budget;
};

static DEFINE_PER_CPU(struct kfi_batch, kfi_batches);
struct workqueue_struct *kfi_wq_unbound;
static struct workqueue_struct *kfi_wq_percpu;

void kfi_callback_work(int cpu, struct work_struct *work)
{
	if (cpu != WORK_CPU_UNBOUND && cpu_online(cpu))
		queue_work_on(cpu, kfi_wq_percpu, work);
	else
		queue_work(kfi_wq_unbound, work);
}

void kfi_cq_schedule(struct kfi_cq *cq)
{
	struct kfi_batch *batch;

	if (cq->where != KFI_CQ_IN_SOFTIRQ) {
		kfi_callback_work(cq->local ? raw_smp_processor_id() : cq->cpu, &cq->work);
		return;
	}
	batch = this_cpu_ptr(&kfi_batches);
	if (!batch->depth) {
		queue_bh_work(&cq->bh);
		return;
	}
	cq->batch = NULL;
	*batch->end = cq;
	batch->end = &cq->batch;
}

/* The done() of a receive has returned that a message of @ep has taken from its shared context. */
static void shared_called(struct kfi_ep *ep)
{
	rcu_read_lock();	/* the endpoint may be freed after a grace period */
	if (atomic_dec_and_test(&ep->srx_left))
		wake_up(&ep->drained);
	rcu_read_unlock();
}

/*
 * Call the done() callbacks that are due, up to *@budget of them, and the handler if @handler and
 * an event is pending. The caller has the claim. Returns true if operations are left, because the
 * budget is used up, or because they have ended since this pass took what was there.
 *
 * An operation is freed before its done(), so that done() can post. &kfi_cq.calling shows both to
 * the end of the endpoint, which otherwise only waits until no operation is in use. A receive of a
 * shared context belongs to the context; the end of the endpoint whose message has taken it waits
 * for &kfi_ep.srx_left.
 */
static noinline bool kfi_cq_pass(struct kfi_cq *cq, int *budget, bool handler)
{
	struct kfi_cq_err_entry wc;
	struct kfid_ep *taker;
	struct kfi_cqe *cqe;
	struct kfi_oper *op;
	bool event = false;

	if (!cq->due && !llist_empty(&cq->done))
		WRITE_ONCE(cq->due, llist_reverse_order(llist_del_all(&cq->done)));
	if (handler && cq->handler) {
		spin_lock_bh(&cq->lock);
		event = (cq->event || (cq->rounds && cq->due)) && !cq->closing;
		cq->event = false;
		spin_unlock_bh(&cq->lock);
	}
	for (; cq->due && *budget > 0; --*budget) {
		op = llist_entry(cq->due, struct kfi_oper, lnode);
		WRITE_ONCE(cq->due, op->lnode.next);
		wc = op->wc;
		cqe = wc.op_context;
		taker = unlikely(kfi_ep_is_shared(op->ep)) ? cqe->ep : NULL;
		WRITE_ONCE(cq->calling, op->ep);
		kfi_op_free(op);
		cqe->done(&cq->fid, cqe, &wc);
		if (unlikely(taker))
			shared_called(kfi_to_ep(taker));
		smp_store_release(&cq->calling, NULL);	/* pairs with kfi_cq_busy_for() */
	}
	if (event) {
		--*budget;
		cq->handler(&cq->fid, cq->fid.fid.context);
	}
	return cq->due || !llist_empty(&cq->done);
}

/*
 * Run what is due, up to *@budget callbacks. The caller has the claim. Returns true if nothing was
 * left and the claim is given up; false if the caller still has the claim and has to run the queue
 * again.
 */
static bool kfi_cq_run(struct kfi_cq *cq, int *budget)
{
	long notes;

	do {
		notes = kfi_runner_begin(&cq->runner);
		if (!kfi_cq_pass(cq, budget, true) && kfi_runner_leave(&cq->runner, notes))
			return true;
	} while (*budget > 0);
	return false;
}

static void kfi_cq_work(struct work_struct *work)
{
	struct kfi_cq *cq = container_of(work, struct kfi_cq, work);
	unsigned int noio = memalloc_noio_save();
	int budget;
	bool idle;

	do {
		budget = KFI_RUN_BUDGET;
		idle = kfi_cq_run(cq, &budget);
		cond_resched();
	} while (!idle);
	memalloc_noio_restore(noio);
}

static void kfi_cq_bh(struct bh_work_struct *bh)
{
	struct kfi_cq *cq = container_of(bh, struct kfi_cq, bh);
	int budget = KFI_BH_BUDGET;

	if (!kfi_cq_run(cq, &budget))
		queue_bh_work(&cq->bh);
}

/*
 * With CONFIG_PREEMPT_RT a softirq can be preempted, so per-CPU batches do not work. BH work
 * items run the callbacks then.
 */
void kfi_batch_begin(void)
{
	WARN_ON_ONCE(!in_softirq());
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		this_cpu_ptr(&kfi_batches)->depth++;
}
EXPORT_SYMBOL_GPL(kfi_batch_begin);

/*
 * Run the queues of the batch. The batch is still open, so queues that become due by the callbacks
 * are added to it. Handlers that answer one another would keep it alive for ever without a budget.
 */
void kfi_batch_end(void)
{
	struct kfi_batch *batch = this_cpu_ptr(&kfi_batches);
	struct kfi_cq *cq;

	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		return;
	if (batch->depth == 1 && batch->first) {
		batch->budget = KFI_RUN_BUDGET;
		while ((cq = batch->first)) {
			batch->first = cq->batch;
			if (!batch->first)
				batch->end = &batch->first;
			if (batch->budget <= 0 || !kfi_cq_run(cq, &batch->budget))
				queue_bh_work(&cq->bh);
		}
	}
	batch->depth--;
}
EXPORT_SYMBOL_GPL(kfi_batch_end);

static bool kfi_cq_has_work(struct kfi_cq *cq, bool handler)
{
	return !llist_empty(&cq->done) || READ_ONCE(cq->due) || (handler && READ_ONCE(cq->event));
}

/*
 * Claim a directly polled queue and run it within the budget. Give up the claim even if something
 * is left to do: the next poll continues. Completions leave no note.
 */
static int kfi_cq_poll_once(struct kfi_cq *cq, int budget, bool handler)
{
	int left = budget;

	if (!kfi_cq_has_work(cq, handler) || !kfi_runner_claim(&cq->runner))
		return 0;	/* nothing is due, or another CPU polls the queue */
	do
		kfi_cq_pass(cq, &left, handler);
	while (left > 0 && kfi_cq_has_work(cq, handler));
	kfi_runner_drop(&cq->runner);
	return budget - max(left, 0);
}

int kfi_cq_poll(struct kfid_cq *fid, int budget)
{
	struct kfi_cq *cq = kfi_to_cq(fid);

	if (cq->where != KFI_CQ_IN_POLL)
		return -EINVAL;
	if (budget <= 0)
		return 0;
	kfi_cq_poll_devs(cq, budget);
	return kfi_cq_poll_once(cq, budget, true);
}
EXPORT_SYMBOL_GPL(kfi_cq_poll);

/*
 * A pass takes all operations, so the first one in the list claims the queue for those behind it,
 * too. The RCU read section of the completion keeps the queue: see op.c for what its end waits for.
 */
void kfi_cq_done(struct kfi_cq *cq, struct kfi_oper *op)
{
	if (llist_add(&op->lnode, &cq->done) && kfi_cq_claim(cq))
		kfi_cq_schedule(cq);
}

/*
 * Called when an endpoint ends: is one of its operations freed, or does its done() run? A directly
 * polled queue is polled here, because its owner is closing the endpoint and may not poll the queue
 * any more.
 */
bool kfi_cq_busy_for(struct kfi_cq *cq, const struct kfi_ep *ep)
{
	if (!cq)
		return false;
	if (cq->where == KFI_CQ_IN_POLL)
		kfi_cq_poll_once(cq, KFI_RUN_BUDGET, false);
	return smp_load_acquire(&cq->calling) == ep;	/* pairs with kfi_cq_pass() */
}

int kfi_cq_run_init(struct kfi_cq *cq)
{
	kfi_runner_init(&cq->runner);
	INIT_WORK(&cq->work, kfi_cq_work);
	INIT_BH_WORK(&cq->bh, kfi_cq_bh);
	return 0;
}

/*
 * Nothing is added to the queue any more, so the owner of a claim gives it up soon, at the latest
 * after the callback that it runs at present.
 */
void kfi_cq_run_stop(struct kfi_cq *cq)
{
	spin_lock_bh(&cq->lock);
	cq->closing = true;
	spin_unlock_bh(&cq->lock);
	while (!kfi_runner_idle(&cq->runner))
		usleep_range(20, 200);
	cancel_work_sync(&cq->work);
	cancel_bh_work_sync(&cq->bh);
	WARN_ON_ONCE(!llist_empty(&cq->done) || cq->due);
}

int kfi_cq_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		per_cpu(kfi_batches, cpu).end = &per_cpu(kfi_batches, cpu).first;
	kfi_wq_unbound = alloc_workqueue("kfi_cq", WQ_MEM_RECLAIM | WQ_UNBOUND | WQ_HIGHPRI, 0);
	kfi_wq_percpu = alloc_workqueue("kfi_cq_cpu", WQ_MEM_RECLAIM | WQ_PERCPU | WQ_HIGHPRI, 0);
	if (!kfi_wq_unbound || !kfi_wq_percpu || kfi_cq_space_setup())
		goto err;
	if (!kfi_poll_dev_setup())
		return 0;
	kfi_cq_space_teardown();

err:
	if (kfi_wq_percpu)
		destroy_workqueue(kfi_wq_percpu);
	if (kfi_wq_unbound)
		destroy_workqueue(kfi_wq_unbound);
	return -ENOMEM;
}

void kfi_cq_exit(void)
{
	kfi_poll_dev_teardown();
	kfi_cq_space_teardown();
	destroy_workqueue(kfi_wq_percpu);
	destroy_workqueue(kfi_wq_unbound);
}
