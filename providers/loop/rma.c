// SPDX-License-Identifier: GPL-2.0
/*
 * rma.c - remote memory access, atomic operations, commits, and places.
 */
#include <linux/slab.h>
#include "loop.h"

static u64 loop_access(const struct kfi_oper *op)
{
	switch (op->code) {
	case KFI_OPC_READ:
	case KFI_OPC_FETCH_ATOMIC:
	case KFI_OPC_COMPARE_ATOMIC:
		return KFI_REMOTE_READ;
	default:
		return KFI_REMOTE_WRITE;
	}
}

/* Check all segments before any byte is moved. */
static int loop_rma_check(struct loop_ep *to, const struct kfi_oper *op)
{
	struct iov_iter it;
	struct kfi_mr *mr;
	int i;

	for (i = 0; i < op->rma_count; i++) {
		const struct kfi_rma_iov *r = &op->rma[i];

		mr = kfi_mr_get(&to->ep, r->key, r->addr, r->len, loop_access(op), &it);
		if (IS_ERR(mr))
			return PTR_ERR(mr);
		kfi_mr_put(mr);
	}
	return 0;
}

/*
 * Move one segment. rcu_read_lock() is dropped after each chunk, so that the close of a region
 * waits for one chunk at most.
 */
static int loop_rma_move(struct kfi_oper *op, struct kfi_mr *mr, u64 key, struct iov_iter *it)
{
	size_t left = iov_iter_count(it), n, done;
	bool live;

	while (left) {
		n = min_t(size_t, left, LOOP_CHUNK);
		done = 0;
		rcu_read_lock();
		live = kfi_mr_live(mr, key);
		if (live)
			done = op->code == KFI_OPC_READ ? loop_copy(&op->iter, it, n) :
						  loop_copy(it, &op->iter, n);
		rcu_read_unlock();
		if (done < n)
			return live ? -EFAULT : -EREMOTEIO;
		left -= n;
		kfi_stat_add(op->ep, copied, n);
	}
	return 0;
}

/* Move all segments. On success p->mr is the region of the last one. */
static int loop_rma_run(struct loop_ep *to, struct loop_op *p)
{
	struct kfi_oper *op = p->op;
	struct iov_iter it;
	struct kfi_mr *mr;
	int i, err;

	err = loop_rma_check(to, op);
	for (i = 0; i < op->rma_count && !err; i++) {
		const struct kfi_rma_iov *r = &op->rma[i];

		mr = kfi_mr_get(&to->ep, r->key, r->addr, r->len, loop_access(op), &it);
		if (IS_ERR(mr))	/* -EACCES would mean that no byte has moved */
			return i ? -EREMOTEIO : PTR_ERR(mr);
		if (p->mr)
			kfi_mr_put(p->mr);
		p->mr = mr;
		err = loop_rma_move(op, mr, r->key, &it);
	}
	return err;
}

/* Have the core perform the operation. */
static int loop_atomic_run(struct loop_ep *to, struct loop_op *p)
{
	struct kfi_oper *op = p->op;
	struct kfi_atomic a = {
		.code = op->code,
		.op = op->atomic->op,
		.datatype = op->atomic->datatype,
		.len = op->len,
		.operand = op->iter,
		.compare = op->atomic->compare,
		.result = op->atomic->result,
	};
	struct kfi_mr *mr = kfi_atomic_perform(&to->ep, &a, op->rma, op->rma_count);

	if (IS_ERR(mr))
		return PTR_ERR(mr);
	p->mr = mr;
	return 0;
}

/* ---- commit ---- */

void loop_commit_free(struct loop_commit *c)
{
	if (!c)
		return;
	kfi_commit_put(c->segs, c->count);
	kfree(c);
}

/*
 * Find the regions that are to be made durable, before any byte is moved: each must have persist().
 */
static int loop_commit_get(struct loop_ep *to, struct loop_op *p)
{
	const struct kfi_oper *op = p->op;
	struct loop_commit *c =
		kmalloc(struct_size(c, segs, op->rma_count), GFP_ATOMIC | __GFP_NOWARN);
	int err = 0;

	if (!c)
		return -ENOMEM;
	for (c->count = 0; c->count < op->rma_count && !err; c->count += !err)
		err = kfi_commit_get(&to->ep, &op->rma[c->count], &c->segs[c->count]);
	if (err)
		loop_commit_free(c);
	else
		p->commit = c;
	return err;
}

/*
 * Protects the lists of commits of all endpoints (loop_ep.committing, loop_ep.commits) and
 * loop_commit.op. It is global because a commit may last longer than its endpoints exist.
 */
static DEFINE_SPINLOCK(loop_commit_lock);

/* Detach the operation from its commit, which continues without it. */
static void loop_commit_part(struct loop_commit *c, struct list_head *to)
{
	lockdep_assert_held(&loop_commit_lock);
	list_del(&c->entry);
	list_move_tail(&c->op->node, to);
	c->op->commit = NULL;
	c->op = NULL;
}

static void loop_commit_work(struct work_struct *work)
{
	struct loop_commit *c = container_of(work, struct loop_commit, work);
	int err = kfi_commit_run(c->segs, c->count);
	LIST_HEAD(ended);

	spin_lock_bh(&loop_commit_lock);
	if (c->op)
		loop_commit_part(c, &ended);
	spin_unlock_bh(&loop_commit_lock);
	loop_commit_free(c);
	loop_end_all(&ended, err);
}

/* Call persist() in a work item: it may sleep, without a time limit. */
static void loop_commit_start(struct loop_ep *to, struct loop_op *p)
{
	struct loop_ep *from = to_loop_ep(p->op->ep);
	struct loop_commit *c = p->commit;
	int err = 0;

	c->op = p;
	INIT_WORK(&c->work, loop_commit_work);
	spin_lock_bh(&loop_commit_lock);
	if (!READ_ONCE(from->up)) {
		err = from->err;
	} else if (!READ_ONCE(to->up)) {
		err = -ECONNRESET;
	} else {
		list_add_tail(&p->node, &from->committing);
		list_add_tail(&c->entry, &to->commits);
		queue_work(loop_wq, &c->work);
	}
	spin_unlock_bh(&loop_commit_lock);
	if (err)
		loop_tx_end(p, err);
}

void loop_uncommit(struct loop_ep *le, struct list_head *own, struct list_head *peers)
{
	struct loop_commit *c, *next;
	struct loop_op *p, *more;

	spin_lock_bh(&loop_commit_lock);
	list_for_each_entry_safe(p, more, &le->committing, node)
		loop_commit_part(p->commit, own);
	list_for_each_entry_safe(c, next, &le->commits, entry)
		loop_commit_part(c, peers);
	spin_unlock_bh(&loop_commit_lock);
}

/* ---- places ---- */

static struct loop_place *to_loop_place(struct kfi_dev_place *place)
{
	return container_of(place, struct loop_place, place);
}

/*
 * The owner ends or changes a region in use by a place. The end of the region waits until the
 * consumer's device has finished, because the pages are ordinary memory, and writes of a device to
 * them can't be prevented. If the region has changed, its owner does not see what the device
 * writes, so the put fails.
 */
static void loop_place_recall(struct kfi_mr_lease *lease)
{
	WRITE_ONCE(container_of(lease, struct loop_place, lease)->recalled, true);
}

/* Return the error of a get without a lease. A live region is changing; writes to it succeed. */
static int loop_no_lease(struct kfi_mr *mr, u64 key)
{
	int err;

	rcu_read_lock();
	err = kfi_mr_live(mr, key) ? -EOPNOTSUPP : -EACCES;
	rcu_read_unlock();
	return err;
}

void loop_place_get(struct loop_ep *to, struct loop_op *p)
{
	struct loop_place *lp = to_loop_place(p->op->place);
	const struct kfi_rma_iov *r = &p->op->rma[0];
	struct iov_iter it;
	struct kfi_mr *mr;
	int err = 0;

	mr = kfi_mr_get(&to->ep, r->key, r->addr, r->len, KFI_REMOTE_WRITE, &it);
	if (IS_ERR(mr)) {
		loop_tx_end(p, PTR_ERR(mr));
		return;
	}
	lp->lease.recall = loop_place_recall;
	lp->recalled = false;
	if (!kfi_mr_lease(&to->ep, mr, r->key, &lp->lease))
		err = loop_no_lease(mr, r->key);
	kfi_mr_put(mr);
	if (!err) {
		err = kfi_place_fill(&lp->place, it);
		if (err)
			kfi_mr_unlease(&lp->lease);
	}
	loop_tx_end(p, err);
}

/*
 * Memory is coherent, so the bytes of the device are visible when its completion is. Find the
 * region by its key again: it may be dead, and the peer may be another endpoint than before.
 * @recalled is checked last, so a change of the region after this check is ordered after the put.
 */
static int loop_place_written(struct loop_ep *to, struct loop_op *p)
{
	struct loop_place *lp = to_loop_place(p->op->place);
	const struct kfi_rma_iov *r = &p->op->rma[0];
	struct iov_iter it;

	if (!r->len)
		return 0;	/* abandoned */
	p->mr = kfi_mr_get(&to->ep, r->key, r->addr, r->len, KFI_REMOTE_WRITE, &it);
	if (!IS_ERR(p->mr) && p->mr == lp->lease.mr && !READ_ONCE(lp->recalled))
		return 0;
	if (!IS_ERR(p->mr))
		kfi_mr_put(p->mr);
	p->mr = NULL;
	return -EREMOTEIO;
}

void loop_place_end(struct kfi_dev_place *place)
{
	kfi_mr_unlease(&to_loop_place(place)->lease);
}

/* ---- operations ---- */

static int loop_rma_perform(struct loop_ep *to, struct loop_op *p)
{
	int err = p->op->flags & KFI_COMMIT_COMPLETE ? loop_commit_get(to, p) : 0;

	if (err)
		return err;
	if (p->op->code == KFI_OPC_PLACE_PUT)
		return loop_place_written(to, p);
	return kfi_opc_is_atomic(p->op->code) ? loop_atomic_run(to, p) : loop_rma_run(to, p);
}

/*
 * Return: false if the bytes have moved, but the peer's queue has no room for the event. They are
 * not moved again by the next call.
 */
bool loop_rma(struct loop_ep *to, struct loop_op *p)
{
	struct kfi_oper *op = p->op;
	u64 flags = loop_access(op) | (op->flags & KFI_REMOTE_CQ_DATA);
	int err = 0;

	if (kfi_opc_is_atomic(op->code))
		flags |= KFI_ATOMIC;
	if (!p->mr)
		err = loop_rma_perform(to, p);
	if (!err && p->mr)
		err = kfi_remote_rma(&to->ep, p->mr, op->rma[op->rma_count - 1].key, flags, op->len,
				     op->data, loop_src(to_loop_ep(op->ep), to));
	if (err == -EAGAIN)
		return false;
	if (!err && p->commit)
		loop_commit_start(to, p);
	else
		loop_tx_end(p, err);
	return true;
}
