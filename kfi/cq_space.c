// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues: waiters for a free slot.
 *
 * A slot is returned by a reader or by a completion, whose callers may hold any lock of a consumer
 * or a provider. Therefore a work item calls the waiters, with bottom halves off and without a
 * lock. The work item costs time, but a full queue is the slow path.
 *
 * No wake-up is lost. A waiter increments &kfi_cq.nr_space and then reads &kfi_cq.free; the return
 * of a slot increments free and then reads nr_space. There is a full barrier in between on both
 * sides.
 */
#include "cq.h"

struct workqueue_struct *kfi_cq_space_wq;

static void kfi_cq_space_work(struct work_struct *work)
{
	struct kfi_cq *cq = container_of(work, struct kfi_cq, space_work);
	struct kfi_cq_waiter *w;

	spin_lock_bh(&cq->space_lock);
	while (!list_empty(&cq->space) && atomic_read(&cq->free) > 0) {
		w = list_first_entry(&cq->space, struct kfi_cq_waiter, link);
		list_del_init(&w->link);
		WRITE_ONCE(cq->nr_space, cq->nr_space - 1);
		cq->space_calling = w;
		spin_unlock(&cq->space_lock);
		w->fn(w);
		spin_lock(&cq->space_lock);
		cq->space_calling = NULL;
	}
	spin_unlock_bh(&cq->space_lock);
}

static void kfi_cq_space_add(struct kfi_cq *cq, struct kfi_cq_waiter *w)
{
	lockdep_assert_held(&cq->space_lock);
	list_add_tail(&w->link, &cq->space);
	WRITE_ONCE(cq->nr_space, cq->nr_space + 1);
}

static void kfi_cq_space_del(struct kfi_cq *cq, struct kfi_cq_waiter *w)
{
	lockdep_assert_held(&cq->space_lock);
	list_del_init(&w->link);
	WRITE_ONCE(cq->nr_space, cq->nr_space - 1);
}

bool kfi_cq_wait_space(struct kfi_cq *cq, struct kfi_cq_waiter *w)
{
	bool waits = true;

	spin_lock_bh(&cq->space_lock);
	if (list_empty(&w->link)) {
		kfi_cq_space_add(cq, w);
		smp_mb();		/* pairs with kfi_cq_freed() */
		waits = atomic_read(&cq->free) <= 0;
		if (!waits)
			kfi_cq_space_del(cq, w);
	}
	spin_unlock_bh(&cq->space_lock);
	return waits;
}
EXPORT_SYMBOL_GPL(kfi_cq_wait_space);

void kfi_cq_call_waiter(struct kfi_cq *cq, struct kfi_cq_waiter *w)
{
	spin_lock_bh(&cq->space_lock);
	if (list_empty(&w->link))
		kfi_cq_space_add(cq, w);
	spin_unlock_bh(&cq->space_lock);
	queue_work(kfi_cq_space_wq, &cq->space_work);
}

/*
 * The work item calls fn() with bottom halves off, so a task that spins here on the same CPU can't
 * preempt it. The caller must not hold a lock that fn() takes, and must not be fn() itself.
 */
void kfi_cq_cancel_wait(struct kfi_cq *cq, struct kfi_cq_waiter *w)
{
	bool running;

	do {
		spin_lock_bh(&cq->space_lock);
		if (!list_empty(&w->link))
			kfi_cq_space_del(cq, w);
		running = cq->space_calling == w;
		spin_unlock_bh(&cq->space_lock);
		if (running)
			cpu_relax();
	} while (running);
}
EXPORT_SYMBOL_GPL(kfi_cq_cancel_wait);

void kfi_cq_space_init(struct kfi_cq *cq)
{
	spin_lock_init(&cq->space_lock);
	INIT_LIST_HEAD(&cq->space);
	INIT_WORK(&cq->space_work, kfi_cq_space_work);
}

void kfi_cq_space_stop(struct kfi_cq *cq)
{
	cancel_work_sync(&cq->space_work);
	WARN_ON_ONCE(!list_empty(&cq->space));
}

int kfi_cq_space_setup(void)
{
	kfi_cq_space_wq = alloc_workqueue("kfi_space", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	return kfi_cq_space_wq ? 0 : -ENOMEM;
}

void kfi_cq_space_teardown(void)
{
	destroy_workqueue(kfi_cq_space_wq);
}
