// SPDX-License-Identifier: GPL-2.0
/*
 * KFI_FENCE: a transmit that starts when all earlier transmits of its endpoint have ended, and with
 * it all later ones.
 *
 *	posted (checked, described; operation and slot taken) --> held --> started
 *
 * An endpoint with this capability counts the transmits that its provider has: one atomic addition
 * when a transmit starts, and one when it has ended. While no transmit is held, there is no other
 * cost. A fence that finds a counted transmit is held, and all later transmits are held behind it.
 * A work item starts the held transmits in order, each fence when no transmit is counted. The end
 * of the last counted transmit queues the work item.
 *
 * No wake-up is lost. A post that holds a fence sets @holding and then reads @counted; the end of
 * an operation decrements @counted and then reads @holding. There is a full barrier in between on
 * both sides.
 *
 * A transmit that is posted on one CPU while a fence is posted on another CPU may be ordered before
 * or after the fence. If it does not see @holding, it is counted and then started. Then either the
 * fence waits for it, or nothing was counted when the fence was started, and the transmit is
 * ordered after the fence.
 *
 * @holding is cleared under @lock when the list is empty. By then the provider has got the last
 * transmit that was held, so a new post does not overtake it.
 *
 * An operation in @held belongs to no context. The work item, a cancel and the end of the endpoint
 * remove an operation from the list under @lock, and own it from then on.
 */
#include <linux/slab.h>
#include <linux/workqueue.h>
#include "ep.h"
#include "fence.h"
#include "post.h"

/*
 * Attempts of the work item to start an operation while the provider has no room; the delays are 1,
 * 2, 4 ... 512 ms
 */
#define START_TRIES	10

struct workqueue_struct *kfi_start_wq;

/**
 * struct kfi_fence - held operations of an endpoint with KFI_FENCE
 * @counted: number of transmits that the provider has, or is about to get
 * @holding: new transmits are added to the end of @held. Written under @lock; posts read it without
 *	the lock
 * @again: the fence at the end of @held was canceled; the next transmit becomes a fence in its
 *	place
 * @tries: number of times that the provider had no room for the first operation of @held. Reset
 *	without a lock, so it is approximate
 * @lock: protects @again, @held and writes of @holding. A leaf lock, taken with bottom halves off
 * @held: posted operations that are not started, by &kfi_oper.link
 * @work: starts them
 * @ep: the endpoint
 *
 * Allocated and freed with the endpoint.
 */
struct kfi_fence {
	atomic_t		counted;
	bool			holding;
	bool			again;
	u8			tries;
	spinlock_t		lock;
	struct list_head	held;
	struct delayed_work	work;
	struct kfi_ep		*ep;
};

void kfi_fence_ended(struct kfi_ep *ep)
{
	struct kfi_fence *f = ep->fence;

	/* atomic_dec_and_test() is a full barrier. Pairs with fence_found() */
	if (atomic_dec_and_test(&f->counted) && READ_ONCE(f->holding))
		queue_delayed_work(kfi_start_wq, &f->work, 0);
}

/*
 * Start a transmit. Returns 0, and the operation may be gone; or an error, and the operation still
 * belongs to the caller.
 */
static int fence_start(struct kfi_ep *ep, struct kfi_oper *op)
{
	int ret;

	op->flags |= KFI_OP_COUNTED;
	atomic_inc(&ep->fence->counted);
	ret = kfi_post_give(op);
	if (unlikely(ret)) {
		op->flags &= ~KFI_OP_COUNTED;
		kfi_fence_ended(ep);
	}
	return ret;
}

/* ---- posts ---- */

/* A fence is posted while nothing is held. Does it have to wait? */
static bool fence_found(struct kfi_fence *f)
{
	lockdep_assert_held(&f->lock);
	WRITE_ONCE(f->holding, true);
	smp_mb();		/* pairs with kfi_fence_ended(): one of the two sees the other */
	if (atomic_read(&f->counted))
		return true;
	WRITE_ONCE(f->holding, false);
	return false;
}

/*
 * Add @op to the held operations if it has to wait. KFI_MORE is cleared, because the work item
 * starts the operation without waiting for the consumer's next post.
 */
static bool fence_hold(struct kfi_fence *f, struct kfi_oper *op)
{
	bool hold;

	spin_lock_bh(&f->lock);
	hold = f->holding || (op->flags & KFI_FENCE && fence_found(f));
	if (hold) {
		op->flags &= ~KFI_MORE;
		if (f->again)
			op->flags |= KFI_FENCE;
		f->again = false;
		list_add_tail(&op->link, &f->held);
	}
	spin_unlock_bh(&f->lock);
	return hold;
}

int kfi_fence_tx(struct kfi_ep *ep, struct kfi_oper *op)
{
	struct kfi_fence *f = ep->fence;

	/* Pairs with fence_take(): all operations that were held have been started */
	if ((op->flags & KFI_FENCE || smp_load_acquire(&f->holding)) && fence_hold(f, op)) {
		/* earlier posts with KFI_MORE rely on a later post that the provider gets */
		kfi_post_flush(ep);
		return 0;
	}
	return fence_start(ep, op);
}

/* ---- start of held operations ---- */

/* Remove the first operation if it may start now. */
static struct kfi_oper *fence_take(struct kfi_fence *f)
{
	struct kfi_oper *op;
	bool wait;

	spin_lock_bh(&f->lock);
	op = list_first_entry_or_null(&f->held, struct kfi_oper, link);
	wait = (op ? op->flags & KFI_FENCE : f->again) && atomic_read(&f->counted);
	if (wait) {
		op = NULL;
	} else if (op) {
		list_del(&op->link);
	} else {
		f->again = false;
		smp_store_release(&f->holding, false);	/* pairs with kfi_fence_tx() */
	}
	spin_unlock_bh(&f->lock);
	return op;
}

/*
 * The provider had no room. Return the operation to the head of the list, unless the provider has
 * refused it START_TRIES times. The caller is still in the RCU section in which the state of
 * the endpoint allowed the post, so the end of the endpoint finds the operation in the list.
 */
static bool fence_again(struct kfi_fence *f, struct kfi_oper *op)
{
	u8 tries = READ_ONCE(f->tries);

	if (tries >= START_TRIES)
		return false;
	spin_lock_bh(&f->lock);
	list_add(&op->link, &f->held);
	WRITE_ONCE(f->tries, tries + 1);
	/* this also postpones the work item that the failed start has queued without delay */
	mod_delayed_work(kfi_start_wq, &f->work, msecs_to_jiffies(1 << tries));
	spin_unlock_bh(&f->lock);
	return true;
}

/*
 * Start one operation. Returns false if the provider has no room now; then the operations behind it
 * wait, too.
 */
static bool fence_go(struct kfi_fence *f, struct kfi_oper *op)
{
	bool later = false;
	int ret;

	rcu_read_lock_bh();
	ret = fence_start(f->ep, op);
	if (ret == -EAGAIN)
		later = fence_again(f, op);
	if (!later)
		WRITE_ONCE(f->tries, 0);
	if (ret && !later)
		kfi_post_fail(op, ret);
	rcu_read_unlock_bh();
	return !later;
}

static void fence_work(struct work_struct *work)
{
	struct kfi_fence *f = container_of(to_delayed_work(work), struct kfi_fence, work);
	struct kfi_oper *op;

	while ((op = fence_take(f))) {
		if (!fence_go(f, op))
			break;
		cond_resched();
	}
}

/* ---- end of held operations ---- */

static struct kfi_oper *fence_find(struct kfi_fence *f, const void *context)
{
	struct kfi_oper *op;

	list_for_each_entry(op, &f->held, link)
		if (op->context == context)
			return op;
	return NULL;
}

/*
 * Remove an operation because it is canceled. If it is a fence, the next transmit becomes a fence
 * in its place: it still has to wait for the transmits before the canceled one.
 */
static void fence_take_back(struct kfi_fence *f, struct kfi_oper *op)
{
	if (op->flags & KFI_FENCE) {
		if (list_is_last(&op->link, &f->held))
			f->again = true;
		else
			list_next_entry(op, link)->flags |= KFI_FENCE;
	}
	list_del(&op->link);
	WRITE_ONCE(f->tries, 0);
}

int kfi_fence_cancel(struct kfi_ep *ep, void *context)
{
	struct kfi_fence *f = ep->fence;
	struct kfi_oper *op;

	if (!f)
		return -ENOENT;
	spin_lock_bh(&f->lock);
	op = fence_find(f, context);
	if (op)
		fence_take_back(f, op);
	spin_unlock_bh(&f->lock);
	if (!op)
		return -ENOENT;
	kfi_post_fail(op, -ECANCELED);
	queue_delayed_work(kfi_start_wq, &f->work, 0);	/* the list may be empty now */
	return 0;
}

void kfi_fence_end(struct kfi_ep *ep, int err)
{
	struct kfi_fence *f = ep->fence;
	struct kfi_oper *op, *next;
	LIST_HEAD(held);

	if (!f)
		return;
	spin_lock_bh(&f->lock);
	list_splice_init(&f->held, &held);
	spin_unlock_bh(&f->lock);
	list_for_each_entry_safe(op, next, &held, link)
		kfi_post_fail(op, err);
}

/* ---- life ---- */

int kfi_fence_ep_init(struct kfi_ep *ep)
{
	struct kfi_fence *f;

	if (!(ep->caps & KFI_FENCE))
		return 0;
	f = kzalloc_node(sizeof(*f), GFP_KERNEL, ep->domain->limits.numa_node);
	if (!f)
		return -ENOMEM;
	spin_lock_init(&f->lock);
	INIT_LIST_HEAD(&f->held);
	INIT_DELAYED_WORK(&f->work, fence_work);
	f->ep = ep;
	ep->fence = f;
	return 0;
}

/* All operations have ended, and a grace period has passed since. */
void kfi_fence_ep_exit(struct kfi_ep *ep)
{
	if (!ep->fence)
		return;
	cancel_delayed_work_sync(&ep->fence->work);
	WARN_ON_ONCE(!list_empty(&ep->fence->held) || atomic_read(&ep->fence->counted));
	kfree(ep->fence);
}

int kfi_fence_init(void)
{
	kfi_start_wq = alloc_workqueue("kfi_start", WQ_MEM_RECLAIM | WQ_UNBOUND | WQ_HIGHPRI, 0);
	return kfi_start_wq ? 0 : -ENOMEM;
}

void kfi_fence_exit(void)
{
	destroy_workqueue(kfi_start_wq);
}
