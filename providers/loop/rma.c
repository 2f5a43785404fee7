// SPDX-License-Identifier: GPL-2.0
/*
 * rma.c - reads and writes of a peer's regions, atomic operations on them, and making them durable.
 */
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

/* All segments are looked at before a byte moves. */
static int loop_rma_check(struct loop_ep *to, const struct kfi_oper *op)
{
	struct iov_iter it;
	struct kfi_mr *mr;
	int i, err = 0;

	for (i = 0; i < op->rma_count && !err; i++) {
		const struct kfi_rma_iov *r = &op->rma[i];

		mr = kfi_mr_get(&to->ep, r->key, r->addr, r->len, loop_access(op), &it);
		if (IS_ERR(mr))
			return PTR_ERR(mr);
		if ((op->flags & KFI_COMMIT_COMPLETE) && !mr->persist)
			err = -EOPNOTSUPP;
		kfi_mr_put(mr);
	}
	return err;
}

/* One segment. A region may be closed at any time, and then waits no longer than one chunk takes. */
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
			done = op->code == KFI_OPC_READ ? loop_copy(&op->iter, it, n) : loop_copy(it, &op->iter, n);
		rcu_read_unlock();
		if (done < n)
			return live ? -EFAULT : -EREMOTEIO;
		left -= n;
		kfi_stat_add(op->ep, copied, n);
	}
	return 0;
}

/* Move all segments; p->mr is the last one's region then. */
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
		if (IS_ERR(mr))	/* EACCES would say that no byte has moved */
			return i ? -EREMOTEIO : PTR_ERR(mr);
		if (p->mr)
			kfi_mr_put(p->mr);
		p->mr = mr;
		err = loop_rma_move(op, mr, r->key, &it);
	}
	return err;
}

/* The core does it; what is to be durable needs an owner who can see to that. */
static int loop_atomic_run(struct loop_ep *to, struct loop_op *p)
{
	struct kfi_oper *op = p->op;
	struct kfi_atomic a = {
		.code = op->code, .op = op->atomic->op, .datatype = op->atomic->datatype, .len = op->len,
		.operand = op->iter, .compare = op->atomic->compare, .result = op->atomic->result,
	};
	struct kfi_mr *mr;
	int err = op->flags & KFI_COMMIT_COMPLETE ? loop_rma_check(to, op) : 0;

	if (err)
		return err;
	mr = kfi_atomic_perform(&to->ep, &a, op->rma, op->rma_count);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	p->mr = mr;
	return 0;
}

/* ---- durable ---- */

static void loop_commit_work(struct work_struct *work)
{
	struct loop_op *p = container_of(work, struct loop_op, work);
	struct kfi_oper *op = p->op;
	struct loop_ep *to = p->peer;
	struct iov_iter it;
	struct kfi_mr *mr;
	int i, err = 0;

	for (i = 0; i < op->rma_count && !err; i++) {
		const struct kfi_rma_iov *r = &op->rma[i];

		mr = kfi_mr_get(&to->ep, r->key, r->addr, r->len, KFI_REMOTE_WRITE, &it);
		if (IS_ERR(mr)) {
			err = -EREMOTEIO;	/* closed meanwhile: nobody knows */
			break;
		}
		err = mr->persist(&mr->fid, r->addr - mr->offset, r->len);
		kfi_mr_put(mr);
	}
	loop_tx_end(p, err);
	loop_ep_put(to);
}

/* persist() may sleep. The pin keeps the target's stop waiting: for its own consumer's persist(), for nobody else. */
static void loop_commit_start(struct loop_ep *to, struct loop_op *p)
{
	refcount_inc(&to->users);
	p->peer = to;
	INIT_WORK(&p->work, loop_commit_work);
	queue_work(loop_wq, &p->work);
}

/* ---- the operations ---- */

/* Return: false: it has landed, but the event for the peer has no room. Then the bytes do not move again. */
bool loop_rma(struct loop_ep *to, struct loop_op *p)
{
	struct kfi_oper *op = p->op;
	u64 flags = loop_access(op) | (op->flags & KFI_REMOTE_CQ_DATA);
	bool atomic = kfi_opc_is_atomic(op->code);
	int err = 0;

	if (!p->mr)
		err = atomic ? loop_atomic_run(to, p) : loop_rma_run(to, p);
	if (!err && p->mr)
		err = kfi_remote_rma(&to->ep, p->mr, flags | (atomic ? KFI_ATOMIC : 0), op->len, op->data,
				     loop_src(to_loop_ep(op->ep), to));
	if (err == -EAGAIN)
		return false;
	if (!err && (op->flags & KFI_COMMIT_COMPLETE))
		loop_commit_start(to, p);
	else
		loop_tx_end(p, err);
	return true;
}

/* Earlier writes have landed in memory that everybody here sees: visible they are. */
bool loop_flush(struct loop_ep *to, struct loop_op *p)
{
	int err = loop_rma_check(to, p->op);

	if (!err && (p->op->flags & KFI_COMMIT_COMPLETE))
		loop_commit_start(to, p);
	else
		loop_tx_end(p, err);
	return true;
}
