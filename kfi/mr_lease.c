// SPDX-License-Identifier: GPL-2.0
/*
 * mr_lease.c - leases: the end of a region waits until no byte of it is moved outside of RCU
 * sections any more. &kfi_mr.uses counts the leases.
 *
 * For one operation that is all. A peer may write to a region for longer, as long as its provider
 * has a lease with a struct kfi_mr_lease. The owner of the region does not see it: each function
 * that changes what a peer may do calls kfi_mr_recall(), and the provider then ends the access of
 * the peer, in bounded time unless a device of the peer writes (see mr.c).
 *
 * A region that changes stays live. While kfi_mr_recall_wait() waits, there are no new ones of
 * these (kfi_mr.changing), so the list only shrinks.
 *
 * kfi_mr.lease_lock protects kfi_mr.leases and kfi_mr.changing. It is a leaf, taken when one of
 * these begins or ends, when a region changes, and when a region ends that is in use at that
 * moment.
 */
#include <linux/export.h>
#include <linux/rcupdate_wait.h>
#include <linux/rhashtable.h>
#include <linux/sched.h>
#include <linux/wait_bit.h>
#include "core.h"
#include "mr.h"

/*
 * May peers of the endpoint write to the region? It may have been bound to another one since
 * kfi_mr_get(), and the right may have been taken from the peers.
 */
static bool lease_allowed(const struct kfi_ep *ep, const struct kfi_mr *mr, u64 key)
{
	const struct kfi_ep *only = READ_ONCE(mr->ep);

	lockdep_assert_held(&mr->lease_lock);
	return !mr->changing && kfi_mr_live(mr, key) && (!only || only == ep || only == ep->sep) &&
	       !(READ_ONCE(ep->remote_denied) & KFI_REMOTE_WRITE);
}

/*
 * The region is checked and the lease is added in one section of the lock. kfi_mr_recall() takes
 * the lock after the region was changed: so either this function sees the change, or
 * kfi_mr_recall() sees the lease. &kfi_ep.leased is set before the right of the peers is read, with
 * a full barrier in between: kfi_mr_recall_ep() does both in the other order.
 */
static bool lease_add(struct kfi_ep *ep, struct kfi_mr *mr, u64 key, struct kfi_mr_lease *lease)
{
	bool ok;

	WRITE_ONCE(ep->leased, true);
	smp_mb();			/* pairs with kfi_mr_recall_ep() */
	lease->ep = ep;
	spin_lock_bh(&mr->lease_lock);
	ok = lease_allowed(ep, mr, key);
	if (ok)
		list_add_tail(&lease->entry, &mr->leases);
	spin_unlock_bh(&mr->lease_lock);
	return ok;
}

/*
 * The order matters: first take the count, then check that the region is live. So the end of the
 * region either sees the count, or has cleared kfi_mr.live before the check.
 */
bool kfi_mr_lease(struct kfi_ep *ep, struct kfi_mr *mr, u64 key, struct kfi_mr_lease *lease)
{
	if (!refcount_inc_not_zero(&mr->uses))
		return false;
	smp_mb__after_atomic();		/* pairs with kfi_mr_in_use() */
	if (lease ? lease_add(ep, mr, key, lease) : kfi_mr_live(mr, key)) {
		kref_get(&mr->ref);
		return true;
	}
	kfi_mr_settle(mr);
	return false;
}
EXPORT_SYMBOL_GPL(kfi_mr_lease);

static void lease_remove(struct kfi_mr *mr, struct kfi_mr_lease *lease)
{
	bool awaited;

	spin_lock_bh(&mr->lease_lock);
	list_del(&lease->entry);
	awaited = mr->changing && list_empty(&mr->leases);
	spin_unlock_bh(&mr->lease_lock);
	if (awaited) {
		smp_mb();	/* required by wake_up_var(), which checks for waiters */
		wake_up_var(&mr->leases);
	}
}

void kfi_mr_unlease(struct kfi_mr *mr, struct kfi_mr_lease *lease)
{
	if (lease)
		lease_remove(mr, lease);
	kfi_mr_settle(mr);
	kfi_mr_put(mr);
}
EXPORT_SYMBOL_GPL(kfi_mr_unlease);

/* Recall the leases of the endpoint, or all if it is NULL. Return: true if there is one. */
static bool lease_recall(struct kfi_mr *mr, const struct kfi_ep *ep)
{
	struct kfi_mr_lease *lease;
	bool any = false;

	rcu_read_lock();	/* a provider waits for the end of recall() by a grace period */
	spin_lock_bh(&mr->lease_lock);
	list_for_each_entry(lease, &mr->leases, entry) {
		if (ep && lease->ep != ep)
			continue;
		lease->recall(lease);
		any = true;
	}
	spin_unlock_bh(&mr->lease_lock);
	rcu_read_unlock();
	return any;
}

bool kfi_mr_recall(struct kfi_mr *mr)
{
	return lease_recall(mr, NULL);
}

/*
 * A region that is registered after the walk has passed its place is found by kfi_mr_get(), whose
 * full barrier comes before lease_add() reads the right, so it gets no lease.
 */
void kfi_mr_recall_ep(struct kfi_ep *ep)
{
	struct rhashtable_iter iter;
	unsigned long slot;
	struct kfi_mr *mr;

	smp_mb();			/* pairs with lease_add() and kfi_mr_get() */
	if (!READ_ONCE(ep->leased))
		return;
	rcu_read_lock();
	xa_for_each(&ep->domain->slots, slot, mr) {
		lease_recall(mr, ep);
		cond_resched_rcu();	/* there may be millions */
	}
	rcu_read_unlock();
	rhashtable_walk_enter(&ep->domain->mrs, &iter);
	rhashtable_walk_start(&iter);
	while ((mr = rhashtable_walk_next(&iter)))
		if (!IS_ERR(mr))	/* the table was resized, and the walk begins again */
			lease_recall(mr, ep);
	rhashtable_walk_stop(&iter);
	rhashtable_walk_exit(&iter);
}

static void lease_change(struct kfi_mr *mr, bool changing)
{
	spin_lock_bh(&mr->lease_lock);
	mr->changing = changing;
	spin_unlock_bh(&mr->lease_lock);
}

void kfi_mr_recall_wait(struct kfi_mr *mr)
{
	lockdep_assert_held(&mr->bind_lock);
	lease_change(mr, true);
	while (!wait_var_event_timeout(&mr->leases, !kfi_mr_recall(mr), KFI_MR_LATE))
		kfi_mr_warn_busy(mr);
	lease_change(mr, false);
}
