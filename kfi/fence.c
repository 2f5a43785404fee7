// SPDX-License-Identifier: GPL-2.0
/*
 * KFI_FENCE: a transmit that starts when all earlier ones of its endpoint have ended, and with it all later ones.
 *
 *	posted (checked, described; place and slot taken) --> held --> started, as any other
 *
 * An endpoint with the capability counts what its provider has: one atomic addition when a transmit starts, one when it has
 * ended. As long as nothing is held that is all. A fence that finds something counted is held; whatever comes after it goes
 * behind it, and a work item starts them in order, each fence when nothing is counted any more. Who ends the last counted
 * one wakes the work item.
 *
 * No wake-up is missed: who holds a fence says so (@holding) and then looks at the count; who ends an operation counts and
 * then looks at @holding; a full barrier in between on both sides.
 *
 * A transmit that is posted on one CPU while another posts a fence may come before or after it. If it sees no fence, it is
 * started, and counted before that: then the fence waits for it, or nothing was counted when the fence started, and it is one of
 * those behind it.
 *
 * @holding ends under the lock when the list is empty: so not before the provider has had the last one that was held, and
 * nothing that is posted overtakes it.
 *
 * In the list means: in nobody's hands. The work item, a cancel and the end of the endpoint each take out under the lock what they
 * want, and own it; see trigger.c, which does the same.
 */
#include <linux/slab.h>
#include <linux/workqueue.h>
#include "ep.h"
#include "fence.h"
#include "post.h"
#include "trigger.h"

/**
 * struct kfi_fence - of an endpoint with KFI_FENCE
 * @counted:	transmits that the provider has, or is about to be given
 * @holding:	transmits go to the end of @held. Written under @lock
 * @again:	the fence at the end of @held was taken back: what comes next is one in its place
 * @tries:	how often the provider had no room for the first of @held, at most
 * @lock:	protects what follows; taken with bottom halves off; leaf lock
 * @held:	posted and not started, by kfi_oper.link
 * @work:	starts them
 * @ep:		the endpoint
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

	/* A full barrier: pairs with fence_found() */
	if (atomic_dec_and_test(&f->counted) && READ_ONCE(f->holding))
		queue_delayed_work(kfi_start_wq, &f->work, 0);
}

/* The second half of a post. Return: 0, @op may be gone; or an error, and it is the caller's. */
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

/* A fence, and nothing is held: does it have to wait? */
static bool fence_found(struct kfi_fence *f)
{
	lockdep_assert_held(&f->lock);
	WRITE_ONCE(f->holding, true);
	smp_mb();		/* pairs with kfi_fence_ended(): it sees holding, or we that nothing is counted */
	if (atomic_read(&f->counted))
		return true;
	WRITE_ONCE(f->holding, false);
	return false;
}

/* The work item waits for nobody's next post, so KFI_MORE means nothing any more. */
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

	/* Pairs with fence_take(): what was held has been started. */
	if ((op->flags & KFI_FENCE || smp_load_acquire(&f->holding)) && fence_hold(f, op)) {
		kfi_post_flush(ep);	/* earlier posts with KFI_MORE counted on one that the provider sees */
		return 0;
	}
	return fence_start(ep, op);
}

/* ---- the start of what is held ---- */

/* The first, if it may start. */
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
 * The provider had no room: back to the head, unless that has been often enough. We are still in the RCU section in which the
 * endpoint's state allowed the post: an end of the endpoint finds it there.
 */
static bool fence_again(struct kfi_fence *f, struct kfi_oper *op)
{
	u8 tries = READ_ONCE(f->tries);

	if (tries >= KFI_START_TRIES)
		return false;
	spin_lock_bh(&f->lock);
	list_add(&op->link, &f->held);
	WRITE_ONCE(f->tries, tries + 1);
	/* Whatever has called for the work item meanwhile, the refusal itself among it: not before that. */
	mod_delayed_work(kfi_start_wq, &f->work, msecs_to_jiffies(1 << tries));
	spin_unlock_bh(&f->lock);
	return true;
}

/* Return: false: not yet, and what is behind it neither. */
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

/* ---- the ends of what has not started ---- */

static struct kfi_oper *fence_find(struct kfi_fence *f, const void *context)
{
	struct kfi_oper *op;

	list_for_each_entry(op, &f->held, link)
		if (op->context == context)
			return op;
	return NULL;
}

/* Who takes back a fence takes back its operation. What was posted after it, or will be, still waits for what was before it. */
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
	queue_delayed_work(kfi_start_wq, &f->work, 0);	/* perhaps nothing is held any more */
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

/* All operations have ended, a grace period ago. */
void kfi_fence_ep_exit(struct kfi_ep *ep)
{
	if (!ep->fence)
		return;
	cancel_delayed_work_sync(&ep->fence->work);
	WARN_ON_ONCE(!list_empty(&ep->fence->held) || atomic_read(&ep->fence->counted));
	kfree(ep->fence);
}
