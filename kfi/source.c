// SPDX-License-Identifier: GPL-2.0
/*
 * source.c - completion sources of directly polled queues. kfi_source.h describes the states.
 *
 * A reader that polls a queue sets kfi_cq.polled to the time, and calls ops->poll() of the sources
 * in kfi_cq.hot, which are HOT or DUE, under RCU. A reader that is about to sleep is not missed: it
 * increments kfi_cq.waiting and then looks for HOT sources (kfi_cq_sleeps()); kfi_source_set_hot()
 * makes a source HOT and then reads kfi_cq.waiting. Both sides have a full barrier in between.
 *
 * A source that leaves kfi_cq.hot may be added again at once. A reader that is at its entry then
 * sees a part of the list twice, or misses a part of it, and polls again soon. It does not leave
 * the list, because a source is always added to the same list.
 *
 * Locks, outermost first: kfi_source.lock (state, membership in lists; interrupts off),
 * kfi_cq.hot_lock (list of a queue; interrupts off). kfi_source.poll_lock serializes ops->poll();
 * readers only try it.
 */
#include <linux/rculist.h>
#include <kfi_source.h>
#include "cq.h"

#define KFI_SOURCE_BUDGET	256	/* completions before the tasklet lets other work run */

static struct workqueue_struct *kfi_source_wq;

static bool kfi_cq_is_direct(const struct kfi_cq *cq)
{
	return !cq || cq->where == KFI_CQ_IN_POLL;
}

bool kfi_source_wanted(const struct kfi_ep *ep)
{
	int i;

	for (i = 0; i < KFI_CNTR_DIRS; i++)
		if (ep->cntr[i])
			return false;
	return (ep->rx_cq || ep->tx_cq) && kfi_cq_is_direct(ep->rx_cq) &&
	       kfi_cq_is_direct(ep->tx_cq);
}
EXPORT_SYMBOL_GPL(kfi_source_wanted);

/* ---- transitions ---- */

/*
 * Return true if a queue has been polled in this jiffy or the previous one, and no reader sleeps.
 */
static bool kfi_source_polled(const struct kfi_source *src)
{
	const struct kfi_cq *cq;
	bool polled = false;
	int i;

	for (i = 0; i < ARRAY_SIZE(src->at); i++) {
		cq = src->at[i].cq;
		if (!cq)
			continue;
		if (READ_ONCE(cq->waiting))
			return false;
		polled |= time_before_eq(jiffies, READ_ONCE(cq->polled) + 1);
	}
	return polled;
}

static void kfi_source_link(struct kfi_source *src, bool in)
{
	struct kfi_source_at *at;
	int i;

	lockdep_assert_held(&src->lock);
	for (i = 0; i < ARRAY_SIZE(src->at); i++) {
		at = &src->at[i];
		if (!at->cq)
			continue;
		spin_lock(&at->cq->hot_lock);
		if (in)
			list_add_tail_rcu(&at->link, &at->cq->hot);
		else
			list_del_rcu(&at->link);
		spin_unlock(&at->cq->hot_lock);
	}
}

static bool kfi_source_listed(u8 state)
{
	return state == KFI_SOURCE_HOT || state == KFI_SOURCE_DUE;
}

static void kfi_source_set(struct kfi_source *src, u8 state)
{
	lockdep_assert_held(&src->lock);
	if (kfi_source_listed(src->state) != kfi_source_listed(state))
		kfi_source_link(src, kfi_source_listed(state));
	src->state = state;
	if (state == KFI_SOURCE_DUE)
		tasklet_schedule(&src->tasklet);
}

static void kfi_source_set_hot(struct kfi_source *src)
{
	WRITE_ONCE(src->found, true);
	kfi_source_set(src, KFI_SOURCE_HOT);
	queue_delayed_work(kfi_source_wq, &src->tick, 1);
	smp_mb();		/* pairs with kfi_cq_sleeps() */
	if (!kfi_source_polled(src))
		kfi_source_set(src, KFI_SOURCE_DUE);
}

void kfi_source_event(struct kfi_source *src)
{
	unsigned long flags;

	spin_lock_irqsave(&src->lock, flags);
	if (src->state == KFI_SOURCE_ARMED) {
		if (kfi_source_polled(src))
			kfi_source_set_hot(src);
		else
			kfi_source_set(src, KFI_SOURCE_DUE);
	}
	spin_unlock_irqrestore(&src->lock, flags);
}
EXPORT_SYMBOL_GPL(kfi_source_event);

/*
 * With bottom halves off, the tasklet runs as soon as they are on again. Otherwise it would run in
 * ksoftirqd, some time later.
 */
static void kfi_source_tick(struct work_struct *work)
{
	struct kfi_source *src = container_of(to_delayed_work(work), struct kfi_source, tick);

	local_bh_disable();
	spin_lock_irq(&src->lock);
	if (src->state == KFI_SOURCE_HOT) {
		if (READ_ONCE(src->found) && kfi_source_polled(src))
			queue_delayed_work(kfi_source_wq, &src->tick, 1);
		else
			kfi_source_set(src, KFI_SOURCE_DUE);
	}
	WRITE_ONCE(src->found, false);
	spin_unlock_irq(&src->lock);
	local_bh_enable();
}

/* Bottom halves are off for the same reason as in kfi_source_tick(). */
void kfi_cq_sleeps(struct kfi_cq *cq)
{
	struct kfi_source_at *at;

	if (cq->where != KFI_CQ_IN_POLL)
		return;
	smp_mb();		/* pairs with kfi_source_set_hot() */
	local_bh_disable();
	rcu_read_lock();
	list_for_each_entry_rcu(at, &cq->hot, link) {
		spin_lock_irq(&at->src->lock);
		if (at->src->state == KFI_SOURCE_HOT)
			kfi_source_set(at->src, KFI_SOURCE_DUE);
		spin_unlock_irq(&at->src->lock);
	}
	rcu_read_unlock();
	local_bh_enable();
}

/* ---- poll ---- */

/*
 * Called by a reader. It does not wait for another reader, because the completions that the other
 * one finds are in the queue soon.
 */
static int kfi_source_poll(struct kfi_source *src, int budget)
{
	int n;

	if (!spin_trylock(&src->poll_lock))
		return 0;
	n = src->ops->poll(src, budget);
	spin_unlock(&src->poll_lock);
	if (n)
		WRITE_ONCE(src->found, true);
	return n;
}

int kfi_cq_poll_sources(struct kfi_cq *cq, int budget)
{
	struct kfi_source_at *at;
	int n = 0;

	/* written once a jiffy, because pollers share the cache line */
	if (time_before(READ_ONCE(cq->polled), jiffies))
		WRITE_ONCE(cq->polled, jiffies);
	if (list_empty(&cq->hot))
		return 0;
	local_bh_disable();
	rcu_read_lock();
	list_for_each_entry_rcu(at, &cq->hot, link) {
		n += kfi_source_poll(at->src, budget - n);
		if (n >= budget)
			break;
	}
	rcu_read_unlock();
	local_bh_enable();
	return n;
}

static bool kfi_source_move(struct kfi_source *src, u8 from, u8 to)
{
	bool moved;

	spin_lock_irq(&src->lock);
	moved = src->state == from;
	if (moved)
		kfi_source_set(src, to);
	spin_unlock_irq(&src->lock);
	return moved;
}

/*
 * The state is ARMED before the device is armed, because the device may call kfi_source_event() at
 * once.
 */
static void kfi_source_arm(struct kfi_source *src)
{
	if (kfi_source_move(src, KFI_SOURCE_DUE, KFI_SOURCE_ARMED) && src->ops->arm(src))
		kfi_source_move(src, KFI_SOURCE_ARMED, KFI_SOURCE_DUE);
}

static void kfi_source_tasklet(struct tasklet_struct *t)
{
	struct kfi_source *src = from_tasklet(src, t, tasklet);
	int n;

	spin_lock(&src->poll_lock);
	n = src->ops->poll(src, KFI_SOURCE_BUDGET);
	spin_unlock(&src->poll_lock);
	if (n < KFI_SOURCE_BUDGET)
		kfi_source_arm(src);
	else
		tasklet_schedule(&src->tasklet);
}

/* ---- life ---- */

void kfi_source_start(struct kfi_source *src, const struct kfi_source_ops *ops, struct kfi_ep *ep)
{
	struct kfi_cq *cqs[] = { ep->rx_cq, ep->tx_cq == ep->rx_cq ? NULL : ep->tx_cq };
	int i;

	src->ops = ops;
	spin_lock_init(&src->lock);
	spin_lock_init(&src->poll_lock);
	tasklet_setup(&src->tasklet, kfi_source_tasklet);
	INIT_DELAYED_WORK(&src->tick, kfi_source_tick);
	for (i = 0; i < ARRAY_SIZE(src->at); i++) {
		src->at[i].src = src;
		src->at[i].cq = cqs[i];
	}
	src->state = KFI_SOURCE_ARMED;
	kfi_source_event(src);
}
EXPORT_SYMBOL_GPL(kfi_source_start);

void kfi_source_stop(struct kfi_source *src)
{
	spin_lock_irq(&src->lock);
	kfi_source_set(src, KFI_SOURCE_STOPPED);
	spin_unlock_irq(&src->lock);
	cancel_delayed_work_sync(&src->tick);
	tasklet_kill(&src->tasklet);
	synchronize_rcu_expedited();	/* readers may still use it */
}
EXPORT_SYMBOL_GPL(kfi_source_stop);

int kfi_source_setup(void)
{
	kfi_source_wq = alloc_workqueue("kfi_source", WQ_MEM_RECLAIM | WQ_UNBOUND | WQ_HIGHPRI, 0);
	return kfi_source_wq ? 0 : -ENOMEM;
}

void kfi_source_teardown(void)
{
	destroy_workqueue(kfi_source_wq);
}
