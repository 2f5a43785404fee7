// SPDX-License-Identifier: GPL-2.0
/*
 * overdue.c - a time limit for operations: KFI_OPT_OP_TIMEOUT_MS.
 *
 * A live peer, which passes every keep-alive check, can still leave an operation without an answer
 * for ever: it posts no receive, or it is hostile. An endpoint with the option has a work item that
 * looks at its transmit operations OVERDUE_CHECKS times per timeout, but not more often than every
 * OVERDUE_PERIOD, and records when it first saw each of them. Posts and completions do nothing for
 * it.
 *
 * A process may have many endpoints with many operations and a short limit. So all these work
 * items together run on one CPU at a time, and with the priority of an ordinary thread; those of
 * the kernel's endpoints do not wait for them.
 *
 * An overdue operation can't be completed by itself: the peer may still write to its memory, or
 * read from it. So the connection that has the operation is ended with -ETIMEDOUT. When the
 * connection is down, and nothing reaches the memory any more, the provider completes the operation
 * and all other operations of the connection.
 *
 * Time counts while a connection has the operation. An operation that waits for a connection
 * is not overdue. Time does not count while the network is held (kfi_hold.h).
 *
 * The work item takes no lock. It reads operations that may complete at the same time;
 * kfi_conn_set_expire() compares the generation of the operation again before it ends a connection.
 */
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <kfi_conn_set.h>
#include "ep.h"
#include "pool.h"

#define OVERDUE_CHECKS	4
#define OVERDUE_PERIOD	(HZ / 20)

static struct workqueue_struct *overdue_wq[2];	/* of the kernel, of processes */

/**
 * struct kfi_overdue - time limit of an endpoint; allocated when the endpoint is enabled
 * @ep: the endpoint
 * @work: work item that looks at the operations; it alone uses @mark
 * @timeout: the limit, in jiffies
 * @mark: one entry for each operation of the pool that @ep transmits with
 * @mark.since: when this use of the operation was first seen, in jiffies, without those for which
 *	the network was held
 * @mark.gen: &kfi_oper.gen of that use
 * @mark.seen: the operation was in use at the last look
 */
struct kfi_overdue {
	struct kfi_ep		*ep;
	struct delayed_work	work;
	unsigned long		timeout;
	struct {
		unsigned long	since;
		u32		gen;
		bool		seen;
	} mark[];
};

/*
 * Return true if a connection has the operation. If the operation has completed, its private part
 * of the provider is stale and must not be used.
 */
static bool op_is_out(struct kfi_ep *ep, const struct kfi_oper *op)
{
	if (!kfi_op_used(op) || READ_ONCE(op->ep) != ep || READ_ONCE(op->context) == op)
		return false;
	return ep->conn_set->ops->carrier(op);
}

static void check_op(struct kfi_overdue *o, u32 i, const struct kfi_oper *op, unsigned long now)
{
	u32 gen = READ_ONCE(op->gen);
	bool out = op_is_out(o->ep, op);

	if (out && (!o->mark[i].seen || o->mark[i].gen != gen)) {
		o->mark[i].gen = gen;
		o->mark[i].since = now;
	} else if (out && time_after_eq(now, o->mark[i].since + o->timeout)) {
		kfi_conn_set_expire(o->ep->conn_set, op, gen);
	}
	o->mark[i].seen = out;
}

static void overdue_queue(struct kfi_overdue *o)
{
	unsigned long period = DIV_ROUND_UP(o->timeout, OVERDUE_CHECKS);

	queue_delayed_work(overdue_wq[o->ep->unprivileged], &o->work,
			   max_t(unsigned long, period, OVERDUE_PERIOD));
}

static void overdue_work(struct work_struct *work)
{
	struct kfi_overdue *o = container_of(to_delayed_work(work), struct kfi_overdue, work);
	struct kfi_op_pool *pool = &kfi_tx_owner(o->ep)->tx;
	unsigned long now = jiffies - kfi_held(o->ep->hold);
	struct kfi_oper *op;
	u32 i;

	/*
	 * If the pool is idle there is nothing to record: the next use of an operation has another
	 * generation.
	 */
	for (i = 0; kfi_pool_used(pool) && (op = kfi_op_by_index(pool, i)); i++) {
		check_op(o, i, op, now);
		cond_resched();
	}
	overdue_queue(o);
}

int kfi_overdue_set(struct kfi_ep *ep, size_t ms)
{
	int ret = 0;

	switch (ep->fid.fid.fclass) {
	case KFI_CLASS_EP:
	case KFI_CLASS_TX_CTX:
		break;
	default:
		return -ENOPROTOOPT;
	}
	if (ep->type == KFI_EP_DGRAM || !ep->conn_set || !ep->conn_set->ops->carrier)
		return -EOPNOTSUPP;
	if (ms > KFI_OP_TIMEOUT_MAX_MS)
		return -EINVAL;
	mutex_lock(&ep->lock);
	if (ep->state == KFI_EP_IDLE)
		ep->op_timeout_ms = ms;
	else
		ret = -KFI_EOPBADSTATE;
	mutex_unlock(&ep->lock);
	return ret;
}

int kfi_overdue_alloc(struct kfi_ep *ep)
{
	struct kfi_overdue *o;
	u32 depth = kfi_tx_owner(ep)->tx.depth;

	lockdep_assert_held(&ep->lock);
	if (!ep->op_timeout_ms)
		return 0;
	o = kvzalloc(struct_size(o, mark, depth), GFP_KERNEL_ACCOUNT);
	if (!o)
		return -ENOMEM;
	o->ep = ep;
	o->timeout = max(msecs_to_jiffies(ep->op_timeout_ms), 1UL);
	INIT_DELAYED_WORK(&o->work, overdue_work);
	ep->overdue = o;
	return 0;
}

void kfi_overdue_start(struct kfi_ep *ep)
{
	if (ep->overdue)
		overdue_queue(ep->overdue);
}

void kfi_overdue_stop(struct kfi_ep *ep)
{
	if (ep->overdue)
		cancel_delayed_work_sync(&ep->overdue->work);
}

void kfi_overdue_free(struct kfi_ep *ep)
{
	kvfree(ep->overdue);
	ep->overdue = NULL;
}

int kfi_overdue_init(void)
{
	overdue_wq[false] = alloc_ordered_workqueue("kfi_overdue", WQ_MEM_RECLAIM);
	overdue_wq[true] = alloc_ordered_workqueue("kfi_overdue_user", 0);
	if (overdue_wq[false] && overdue_wq[true])
		return 0;
	kfi_overdue_exit();
	return -ENOMEM;
}

void kfi_overdue_exit(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(overdue_wq); i++)
		if (overdue_wq[i])
			destroy_workqueue(overdue_wq[i]);
}
