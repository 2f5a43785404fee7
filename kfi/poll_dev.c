// SPDX-License-Identifier: GPL-2.0
/*
 * poll_dev.c - devices that the readers of directly polled queues poll. kfi_poll_dev.h describes
 * the states.
 *
 * A reader that polls a queue sets kfi_cq.polled to the time, and calls ops->poll() of the devices
 * in kfi_cq.hot, which are HOT or DUE, under RCU. A reader that is about to sleep is not missed: it
 * increments kfi_cq.waiting and then looks for HOT devices (kfi_cq_sleeps());
 * kfi_poll_dev_set_hot() makes a device HOT and then reads kfi_cq.waiting. Both sides have a full
 * barrier in between.
 *
 * A device that leaves kfi_cq.hot may be added again at once. A reader that is at its entry then
 * sees a part of the list twice, or misses a part of it, and polls again soon. It does not leave
 * the list, because a device is always added to the same list.
 *
 * Locks, outermost first: kfi_poll_dev.lock (state, membership in lists; interrupts off),
 * kfi_cq.hot_lock (list of a queue; interrupts off). kfi_poll_dev.poll_lock serializes ops->poll();
 * readers only try it.
 */
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <kfi_poll_dev.h>
#include "cq.h"

/* The context that polls and arms a device in the state DUE */
struct kfi_poll_bh {
	struct bh_work_struct	work;
	struct kfi_poll_dev	*dev;
};

static struct workqueue_struct *kfi_poll_dev_wq;

static bool kfi_cq_is_direct(const struct kfi_cq *cq)
{
	return !cq || cq->where == KFI_CQ_IN_POLL;
}

bool kfi_poll_dev_wanted(const struct kfi_ep *ep)
{
	int i;

	for (i = 0; i < KFI_CNTR_DIRS; i++)
		if (ep->cntr[i])
			return false;
	return (ep->rx_cq || ep->tx_cq) && kfi_cq_is_direct(ep->rx_cq) &&
	       kfi_cq_is_direct(ep->tx_cq);
}
EXPORT_SYMBOL_GPL(kfi_poll_dev_wanted);

/* ---- transitions ---- */

/*
 * Return true if a queue has been polled in this jiffy or the previous one, and no reader sleeps.
 */
static bool kfi_poll_dev_attended(const struct kfi_poll_dev *dev)
{
	const struct kfi_cq *cq;
	bool polled = false;
	int i;

	for (i = 0; i < ARRAY_SIZE(dev->at); i++) {
		cq = dev->at[i].cq;
		if (!cq)
			continue;
		if (READ_ONCE(cq->waiting))
			return false;
		polled |= time_before_eq(jiffies, READ_ONCE(cq->polled) + 1);
	}
	return polled;
}

static void kfi_poll_dev_list(struct kfi_poll_dev *dev, bool in)
{
	struct kfi_poll_dev_at *at;
	int i;

	lockdep_assert_held(&dev->lock);
	for (i = 0; i < ARRAY_SIZE(dev->at); i++) {
		at = &dev->at[i];
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

static bool kfi_poll_dev_listed(u8 state)
{
	return state == KFI_POLL_DEV_HOT || state == KFI_POLL_DEV_DUE;
}

static void kfi_poll_dev_set(struct kfi_poll_dev *dev, u8 state)
{
	lockdep_assert_held(&dev->lock);
	if (kfi_poll_dev_listed(dev->state) != kfi_poll_dev_listed(state))
		kfi_poll_dev_list(dev, kfi_poll_dev_listed(state));
	dev->state = state;
	if (state == KFI_POLL_DEV_DUE)
		queue_bh_work(&dev->bh->work);
}

static void kfi_poll_dev_set_hot(struct kfi_poll_dev *dev)
{
	WRITE_ONCE(dev->found, true);
	kfi_poll_dev_set(dev, KFI_POLL_DEV_HOT);
	queue_delayed_work(kfi_poll_dev_wq, &dev->tick, 1);
	smp_mb();		/* pairs with kfi_cq_sleeps() */
	if (!kfi_poll_dev_attended(dev))
		kfi_poll_dev_set(dev, KFI_POLL_DEV_DUE);
}

void kfi_poll_dev_event(struct kfi_poll_dev *dev)
{
	unsigned long flags;

	spin_lock_irqsave(&dev->lock, flags);
	if (dev->state == KFI_POLL_DEV_ARMED) {
		if (kfi_poll_dev_attended(dev))
			kfi_poll_dev_set_hot(dev);
		else
			kfi_poll_dev_set(dev, KFI_POLL_DEV_DUE);
	}
	spin_unlock_irqrestore(&dev->lock, flags);
}
EXPORT_SYMBOL_GPL(kfi_poll_dev_event);

/*
 * With bottom halves off, the BH work item runs as soon as they are on again. Otherwise it would run in
 * ksoftirqd, some time later.
 */
static void kfi_poll_dev_tick(struct work_struct *work)
{
	struct kfi_poll_dev *dev = container_of(to_delayed_work(work), struct kfi_poll_dev, tick);

	local_bh_disable();
	spin_lock_irq(&dev->lock);
	if (dev->state == KFI_POLL_DEV_HOT) {
		if (READ_ONCE(dev->found) && kfi_poll_dev_attended(dev))
			queue_delayed_work(kfi_poll_dev_wq, &dev->tick, 1);
		else
			kfi_poll_dev_set(dev, KFI_POLL_DEV_DUE);
	}
	WRITE_ONCE(dev->found, false);
	spin_unlock_irq(&dev->lock);
	local_bh_enable();
}

/* Bottom halves are off for the same reason as in kfi_poll_dev_tick(). */
void kfi_cq_sleeps(struct kfi_cq *cq)
{
	struct kfi_poll_dev_at *at;

	if (cq->where != KFI_CQ_IN_POLL)
		return;
	smp_mb();		/* pairs with kfi_poll_dev_set_hot() */
	local_bh_disable();
	rcu_read_lock();
	list_for_each_entry_rcu(at, &cq->hot, link) {
		spin_lock_irq(&at->dev->lock);
		if (at->dev->state == KFI_POLL_DEV_HOT)
			kfi_poll_dev_set(at->dev, KFI_POLL_DEV_DUE);
		spin_unlock_irq(&at->dev->lock);
	}
	rcu_read_unlock();
	local_bh_enable();
}

/* ---- poll ---- */

/*
 * Called by a reader. It does not wait for another reader, because the completions that the other
 * one finds are in the queue soon.
 */
static int kfi_poll_dev_poll(struct kfi_poll_dev *dev, int budget)
{
	int n;

	if (!spin_trylock(&dev->poll_lock))
		return 0;
	n = dev->ops->poll(dev, budget);
	spin_unlock(&dev->poll_lock);
	if (n)
		WRITE_ONCE(dev->found, true);
	return n;
}

int kfi_cq_poll_devs(struct kfi_cq *cq, int budget)
{
	struct kfi_poll_dev_at *at;
	int n = 0;

	/* written once a jiffy, because pollers share the cache line */
	if (time_before(READ_ONCE(cq->polled), jiffies))
		WRITE_ONCE(cq->polled, jiffies);
	if (list_empty(&cq->hot))
		return 0;
	local_bh_disable();
	rcu_read_lock();
	list_for_each_entry_rcu(at, &cq->hot, link) {
		n += kfi_poll_dev_poll(at->dev, budget - n);
		if (n >= budget)
			break;
	}
	rcu_read_unlock();
	local_bh_enable();
	return n;
}

static bool kfi_poll_dev_move(struct kfi_poll_dev *dev, u8 from, u8 to)
{
	bool moved;

	spin_lock_irq(&dev->lock);
	moved = dev->state == from;
	if (moved)
		kfi_poll_dev_set(dev, to);
	spin_unlock_irq(&dev->lock);
	return moved;
}

/*
 * The state is ARMED before the device is armed, because the device may call kfi_poll_dev_event()
 * at once.
 */
static void kfi_poll_dev_arm(struct kfi_poll_dev *dev)
{
	if (kfi_poll_dev_move(dev, KFI_POLL_DEV_DUE, KFI_POLL_DEV_ARMED) && dev->ops->arm(dev))
		kfi_poll_dev_move(dev, KFI_POLL_DEV_ARMED, KFI_POLL_DEV_DUE);
}

static void kfi_poll_dev_bh(struct bh_work_struct *work)
{
	struct kfi_poll_dev *dev = container_of(work, struct kfi_poll_bh, work)->dev;
	int n;

	spin_lock(&dev->poll_lock);
	n = dev->ops->poll(dev, KFI_BH_BUDGET);
	spin_unlock(&dev->poll_lock);
	if (n < KFI_BH_BUDGET)
		kfi_poll_dev_arm(dev);
	else
		queue_bh_work(work);
}

/* ---- life ---- */

int kfi_poll_dev_start(struct kfi_poll_dev *dev, const struct kfi_poll_dev_ops *ops,
		       struct kfi_ep *ep)
{
	struct kfi_cq *cqs[] = { ep->rx_cq, ep->tx_cq == ep->rx_cq ? NULL : ep->tx_cq };
	int i;

	dev->bh = kmalloc(sizeof(*dev->bh), GFP_KERNEL);
	if (!dev->bh)
		return -ENOMEM;
	INIT_BH_WORK(&dev->bh->work, kfi_poll_dev_bh);
	dev->bh->dev = dev;
	dev->ops = ops;
	spin_lock_init(&dev->lock);
	spin_lock_init(&dev->poll_lock);
	INIT_DELAYED_WORK(&dev->tick, kfi_poll_dev_tick);
	for (i = 0; i < ARRAY_SIZE(dev->at); i++) {
		dev->at[i].dev = dev;
		dev->at[i].cq = cqs[i];
	}
	dev->state = KFI_POLL_DEV_ARMED;
	kfi_poll_dev_event(dev);
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_poll_dev_start);

void kfi_poll_dev_stop(struct kfi_poll_dev *dev)
{
	spin_lock_irq(&dev->lock);
	kfi_poll_dev_set(dev, KFI_POLL_DEV_STOPPED);
	spin_unlock_irq(&dev->lock);
	cancel_delayed_work_sync(&dev->tick);
	cancel_bh_work_sync(&dev->bh->work);
	kfree(dev->bh);
	synchronize_rcu_expedited();	/* readers may still use it */
}
EXPORT_SYMBOL_GPL(kfi_poll_dev_stop);

int kfi_poll_dev_setup(void)
{
	kfi_poll_dev_wq = alloc_workqueue("kfi_poll_dev",
					  WQ_MEM_RECLAIM | WQ_UNBOUND | WQ_HIGHPRI, 0);
	return kfi_poll_dev_wq ? 0 : -ENOMEM;
}

void kfi_poll_dev_teardown(void)
{
	destroy_workqueue(kfi_poll_dev_wq);
}
