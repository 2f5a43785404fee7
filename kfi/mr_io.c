// SPDX-License-Identifier: GPL-2.0
/*
 * mr_io.c - regions for one I/O: kfi_mr_alloc() makes a handle once; memory is attached to it
 * and detached from it without sleeping.
 *
 *		    register			   invalidate
 *	EMPTY ------> BUSY ------> ATTACHED ------> DETACHING --- done() ---> EMPTY
 *						\---> KILLING ---> EMPTY	(kfi_mr_kill())
 *	EMPTY, ATTACHED ------> CLOSED						(close)
 *
 * kfi_mr.state is changed by atomic operations; no lock is taken. BUSY and KILLING last only while
 * one call runs. An owner that invalidates while a peer does so waits for nothing, because the
 * other context may be one that it has preempted: it leaves its work to it (PASSED).
 *
 * Each registration uses a new key that can't be guessed, unless the consumer chooses it. An
 * operation of a peer with an old key finds that the key has changed (kfi_mr_live()), even if other
 * memory has been attached to the handle.
 *
 * An invalidation is complete when no byte can be written to the memory or read from it any more.
 * If no operation of a peer is in progress (kfi_mr_in_use()), and no device may still access the
 * memory (ops->mr_end()), it is complete at once. Otherwise it waits for a grace period, for
 * leases of the provider (kfi_mr_lease()), for persist(), and for the device.
 *
 * done() runs in softirq. It does not run inside the call that started the work if the caller has
 * bottom halves off: the consumer may hold a _bh lock of its own. With bottom halves on, it may run
 * at the end of the call.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/export.h>
#include <linux/interrupt.h>
#include <linux/llist.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>
#include "core.h"
#include "mr.h"

enum {
	MR_EMPTY,
	MR_ATTACHED,
	MR_BUSY,
	MR_KILLING,
	MR_PASSED,
	MR_DETACHING,
	MR_CLOSED,
};

/* indices of kfi_mr_work.internal */
enum { WORK_NODE, WORK_MR };

struct done_queue {
	struct llist_head	works;
	struct bh_work_struct	run;
};

static DEFINE_PER_CPU(struct done_queue, done_queues);

static struct llist_node *work_node(struct kfi_mr_work *work)
{
	return (struct llist_node *)&work->internal[WORK_NODE];
}

/* Once mr->work is NULL the handle belongs to the consumer, which may close it at any moment. */
static void finish(struct kfi_mr_work *work)
{
	struct kfi_mr *mr = work->internal[WORK_MR];

	if (READ_ONCE(mr->state) == MR_DETACHING) {
		kfi_mem_unclaim(mr);
		refcount_set(&mr->uses, 1);
		smp_store_release(&mr->state, MR_EMPTY);	/* pairs with kfi_mr_register() */
	}
	smp_store_release(&mr->work, NULL);	/* pairs with kfi_mr_register() */
	work->done(work, 0);
}

static void run_done(struct bh_work_struct *run)
{
	struct done_queue *q = container_of(run, struct done_queue, run);
	struct llist_node *node = llist_reverse_order(llist_del_all(&q->works));
	struct kfi_mr_work *work;

	while (node) {
		work = container_of((void *)node, struct kfi_mr_work, internal[WORK_NODE]);
		node = node->next;
		finish(work);
	}
}

/* Let run_done() run on this CPU, which calls done(). */
static void queue_done(struct kfi_mr_work *work)
{
	struct done_queue *q;

	local_bh_disable();
	q = this_cpu_ptr(&done_queues);
	if (llist_add(work_node(work), &q->works))
		queue_bh_work(&q->run);
	local_bh_enable();
}

static void start(struct kfi_mr *mr, struct kfi_mr_work *work)
{
	work->internal[WORK_MR] = mr;
	WRITE_ONCE(mr->work, work);
}

/*
 * The work items have no static initializer, because the module loader relocates no pointers in
 * per-CPU data.
 */
void kfi_mr_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		INIT_BH_WORK(&per_cpu(done_queues, cpu).run, run_done);
}

/* No handle is left, but a work item may still be about to return. */
void kfi_mr_done_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		cancel_bh_work_sync(&per_cpu(done_queues, cpu).run);
}

int kfi_mr_alloc(struct kfid_domain *dfid, size_t iov_limit, uint64_t flags, struct kfid_mr **mrp,
		 void *context)
{
	struct kfi_domain *domain = kfi_to_domain(dfid);
	struct kfi_mr *mr;
	int ret;

	might_sleep();
	if (flags)
		return -KFI_EBADFLAGS;
	if (!iov_limit ||
	    (domain->limits.mr_page_limit && iov_limit > domain->limits.mr_page_limit))
		return -EINVAL;
	mr = kfi_mr_new(domain, iov_limit, context);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	mr->per_io = true;
	mr->state = MR_EMPTY;
	ret = kfi_mr_take_slot(mr) ?: kfi_mr_prepare(mr);
	if (ret) {
		kfi_mr_abandon(mr);
		return ret;
	}
	*mrp = &mr->fid;
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_mr_alloc);

struct bio_vec *kfi_mr_biov(struct kfid_mr *fid)
{
	return container_of(fid, struct kfi_mr, fid)->iov.bvec;
}
EXPORT_SYMBOL_GPL(kfi_mr_biov);

static int attach(struct kfi_mr *mr, const struct kfi_mr_attr *attr)
{
	const struct kfi_prov_ops *ops = mr->domain->fabric->prov->ops;
	u64 key = attr->requested_key ?: KFI_KEY_NOTAVAIL;
	bool chosen = key != KFI_KEY_NOTAVAIL;
	ssize_t segs;
	size_t len;
	int ret;

	if (chosen && (mr->domain->prov_keys ||
		       mr->domain->info->domain_attr->mr_mode & KFI_MR_PROV_KEY))
		return -EINVAL;
	segs = kfi_mr_measure(attr, &len);
	if (segs < 0)
		return segs;
	if (segs > mr->iov_limit)
		return -EINVAL;
	kfi_mr_fill(mr, attr, segs, len);
	ret = ops->mr_attach ? ops->mr_attach(mr) : 0;
	if (!ret) {
		ret = kfi_mr_set_key(mr, key);
		/* A key that is in use is an error of the consumer if it has chosen the key. */
		if (ret && !(chosen && (ret == -EINVAL || ret == -KFI_ENOKEY)))
			ret = -EAGAIN;
	}
	if (ret)
		kfi_mem_unclaim(mr);
	else
		kfi_mr_make_live(mr);
	return ret;
}

void kfi_mr_registered(struct kfi_mr *mr)
{
	queue_done(READ_ONCE(mr->work));
}
EXPORT_SYMBOL_GPL(kfi_mr_registered);

int kfi_mr_register(struct kfid_mr *fid, const struct kfi_mr_attr *attr, struct kfi_mr_work *work)
{
	struct kfi_mr *mr = container_of(fid, struct kfi_mr, fid);
	const struct kfi_prov_ops *ops = mr->domain->fabric->prov->ops;
	int old, ret;

	if (!mr->per_io)
		return -EINVAL;
	if (smp_load_acquire(&mr->work))	/* pairs with finish() */
		return -EAGAIN;
	old = cmpxchg(&mr->state, MR_EMPTY, MR_BUSY);
	if (old != MR_EMPTY)
		return old == MR_ATTACHED || old == MR_CLOSED ? -KFI_EOPBADSTATE : -EAGAIN;
	rcu_read_lock();	/* kfi_mr_device_gone() waits for a grace period */
	ret = READ_ONCE(mr->domain->dead) ? -ENODEV : attach(mr, attr);
	if (!ret && work)
		start(mr, work);
	/* pairs with the cmpxchg() above */
	smp_store_release(&mr->state, ret ? MR_EMPTY : MR_ATTACHED);
	if (!ret && ops->mr_publish)
		ops->mr_publish(mr, work);
	else if (!ret && work)
		queue_done(work);
	rcu_read_unlock();
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_mr_register);

/*
 * The CPUs move no byte of the region any more. Return: true if the device may, and the provider
 * will call kfi_mr_settle().
 */
static bool moved_by_device(struct kfi_mr *mr)
{
	const struct kfi_prov_ops *ops = mr->domain->fabric->prov->ops;
	bool moved;

	/* keeps the provider's part of the region while the device is removed */
	rcu_read_lock();
	moved = ops->mr_end && ops->mr_end(mr);
	rcu_read_unlock();
	return moved;
}

static void invalidated(struct rcu_head *rcu)
{
	struct kfi_mr *mr = container_of(rcu, struct kfi_mr, rcu);

	if (!moved_by_device(mr))
		kfi_mr_settle(mr);
}

void kfi_mr_settle(struct kfi_mr *mr)
{
	struct kfi_mr_work *work;

	if (!refcount_dec_and_test(&mr->uses))
		return;
	work = READ_ONCE(mr->work);
	if (work) {
		queue_done(work);
		return;
	}
	smp_mb__after_atomic();	/* required by wake_up_var(), which checks for waiters */
	wake_up_var(&mr->uses);
}
EXPORT_SYMBOL_GPL(kfi_mr_settle);

/* The state is DETACHING, and &kfi_mr.work is set. */
static void detach(struct kfi_mr *mr)
{
	kfi_mr_make_dead(mr);
	if (kfi_mr_in_use(mr)) {
		kfi_mr_recall(mr);
		call_rcu(&mr->rcu, invalidated);
	} else if (!moved_by_device(mr)) {
		queue_done(mr->work);
	}
}

/*
 * A peer ends a registration only once, so the loop does: a third round finds no kfi_mr_kill().
 * Each cmpxchg() publishes &kfi_mr.work.
 */
int kfi_mr_invalidate(struct kfid_mr *fid, struct kfi_mr_work *work)
{
	struct kfi_mr *mr = container_of(fid, struct kfi_mr, fid);
	int old;

	if (!mr->per_io)
		return -EINVAL;
	work->internal[WORK_MR] = mr;
	if (cmpxchg(&mr->work, NULL, work))	/* pairs with finish() */
		return -EBUSY;
	do {
		if (cmpxchg(&mr->state, MR_ATTACHED, MR_DETACHING) == MR_ATTACHED) {
			detach(mr);
			return 0;
		}
		old = cmpxchg(&mr->state, MR_KILLING, MR_PASSED);
		if (old == MR_KILLING)
			return 0;
	} while (old == MR_ATTACHED);
	smp_store_release(&mr->work, NULL);	/* pairs with kfi_mr_register() */
	return -KFI_EOPBADSTATE;
}
EXPORT_SYMBOL_GPL(kfi_mr_invalidate);

struct detach {
	struct kfi_mr_work	work;
	struct completion	ended;
};

static void detached(struct kfi_mr_work *work, int err)
{
	complete(&container_of(work, struct detach, work)->ended);
}

static void detach_wait(struct kfi_mr *mr)
{
	struct detach d = { .work.done = detached };

	while (READ_ONCE(mr->work))	/* of the consumer */
		usleep_range(20, 200);
	init_completion(&d.ended);
	if (!kfi_mr_invalidate(&mr->fid, &d.work))
		wait_for_completion(&d.ended);
}

/*
 * No list lock: the consumer binds and closes no region during kfi_ep_reset(). finish() clears
 * &kfi_mr.work before it calls done(), in softirq.
 */
void kfi_mr_detach_all(struct kfi_ep *ep)
{
	struct kfi_mr *mr;

	if (list_empty(&ep->regions))
		return;
	list_for_each_entry(mr, &ep->regions, bound)
		detach_wait(mr);
	synchronize_rcu_expedited();
}

/*
 * A key that no region has is treated as an ended registration (-ENOENT): each registration has a
 * new key, so there is no difference for a peer.
 *
 * If an operation is in progress, the region is dead but stays attached: its owner must invalidate
 * it, and that waits for the operation. If the owner has begun to do so, its work continues here.
 */
int kfi_mr_kill(struct kfi_ep *ep, u64 key)
{
	const struct kfi_prov_ops *ops = ep->domain->fabric->prov->ops;
	struct kfi_mr *mr;
	int ret = -ENOENT;

	rcu_read_lock();
	mr = kfi_mr_find(ep, key);
	if (mr ? !mr->per_io : kfi_mr_key_exists(ep, key)) {
		ret = -EACCES;
		goto unlock;
	}
	if (!mr || !kfi_mr_live(mr, key) ||
	    cmpxchg(&mr->state, MR_ATTACHED, MR_KILLING) != MR_ATTACHED)
		goto unlock;
	if (kfi_mr_live(mr, key)) {		/* it is still that registration */
		kfi_mr_make_dead(mr);
		ret = -EBUSY;
		if (kfi_mr_in_use(mr))
			kfi_mr_recall(mr);
		else if (!ops->mr_known || !ops->mr_known(mr))
			ret = 0;
	}
	if (!ret && unlikely(mr->claims))
		kfi_mem_unclaim(mr);
	/* the end of the memory's use is visible before the state; pairs with kfi_mr_register() */
	if (cmpxchg(&mr->state, MR_KILLING, ret ? MR_ATTACHED : MR_EMPTY) == MR_PASSED) {
		WRITE_ONCE(mr->state, MR_DETACHING);
		detach(mr);
		ret = -ENOENT;
	}
unlock:
	rcu_read_unlock();
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_mr_kill);

/*
 * The owner closes the handle. CLOSED keeps kfi_mr_kill() from starting; one that runs does so
 * inside an RCU read section, so a grace period is enough.
 */
void kfi_mr_retire(struct kfi_mr *mr)
{
	while (xchg(&mr->state, MR_CLOSED) == MR_KILLING)
		synchronize_rcu();
}
