// SPDX-License-Identifier: GPL-2.0
/*
 * tx.c - the data path: an operation from its post to its completion.
 *
 * Top to bottom: copying; the end of an operation; messages; RMA; commit and flush; waiting for room in the
 * peer's queue; the entry.
 *
 * An operation is performed by the thread that posts it, at the peer, at once. It is not when
 *  - a message finds no receive: it is parked, that is, the operation itself waits in the peer's matching;
 *  - the peer's completion queue is full: it is stalled, and with it what would overtake it;
 *  - durability is asked for: the region's owner is called in a workqueue.
 */
#include <linux/highmem.h>
#include <linux/wait_bit.h>
#include "loop.h"

/* ---- copying ---- */

/* A piece of memory at the front of @it, mapped if need be; at most *len bytes, and *len says how many. */
static void *loop_map(const struct iov_iter *it, size_t *len)
{
	size_t off = it->iov_offset;
	const struct bio_vec *bv;

	if (iov_iter_is_kvec(it)) {
		*len = min(*len, it->kvec->iov_len - off);
		return it->kvec->iov_base + off;
	}
	bv = it->bvec;
	*len = min(*len, bv->bv_len - off);
	off += bv->bv_offset;
	*len = min_t(size_t, *len, PAGE_SIZE - offset_in_page(off));
	return kmap_local_page(bv->bv_page + off / PAGE_SIZE) + offset_in_page(off);
}

static void loop_unmap(const struct iov_iter *it, void *p)
{
	if (!iov_iter_is_kvec(it))
		kunmap_local(p);
}

/*
 * Copy between kvec or bvec iterators, in any context. Not copy_to_iter(): its check of the source is meant for user
 * copies and would refuse slab objects that are not to be shown to users.
 */
static size_t loop_copy(struct iov_iter *dst, struct iov_iter *src, size_t len)
{
	size_t done = 0, n, got;
	void *p;

	len = min3(len, iov_iter_count(dst), iov_iter_count(src));
	while (done < len) {
		n = len - done;
		p = loop_map(src, &n);
		got = _copy_to_iter(p, n, dst);
		loop_unmap(src, p);
		iov_iter_advance(src, got);
		done += got;
		if (got < n)
			break;
	}
	return done;
}

/* ---- begin and end ---- */

static void loop_tx_put(struct loop_ep *le)
{
	/* The last one lets the endpoint be freed: only its address is used after it. */
	if (atomic_dec_and_test(&le->nr_tx))
		wake_up_var(&le->nr_tx);
}

static int loop_tx_begin(struct loop_ep *le)
{
	atomic_inc(&le->nr_tx);
	/* Pairs with loop_ep_down(): it clears up, then waits for the count. */
	smp_mb__after_atomic();
	if (READ_ONCE(le->up))
		return 0;
	loop_tx_put(le);
	return READ_ONCE(le->err);
}

void loop_tx_end(struct loop_op *p, int err)
{
	struct loop_ep *le = to_loop_ep(p->op->ep);

	if (p->mr)
		kfi_mr_put(p->mr);
	kfi_tx_complete(p->op, err);
	loop_tx_put(le);
}

/* Our name in the peer's address vector. */
static kfi_addr_t loop_src(const struct loop_ep *from, const struct loop_ep *to)
{
	struct kfi_loop_addr a = { .id = from->id };

	return to->ep.av ? kfi_av_reverse(to->ep.av, &a) : KFI_ADDR_NOTAVAIL;
}

/* ---- messages, and tagged RMA, which is a message to a tagged receive ---- */

static bool loop_is_rma(const struct kfi_oper *op)
{
	return op->code == KFI_OPC_WRITE || op->code == KFI_OPC_READ || op->code == KFI_OPC_FLUSH;
}

static void loop_rx_fill(struct loop_ep *to, struct loop_op *p)
{
	struct kfi_oper *op = p->op;
	struct kfi_rx *rx = &p->rx;

	rx->len = op->len;
	rx->src = loop_src(to_loop_ep(op->ep), to);
	rx->tag = op->tag;
	rx->data = op->data;
	rx->flags = op->code == KFI_OPC_SEND ? KFI_MSG : KFI_TAGGED;
	if (op->code == KFI_OPC_TWRITE || op->code == KFI_OPC_TREAD) {
		rx->flags |= KFI_RMA | (op->code == KFI_OPC_TWRITE ? KFI_WRITE : KFI_READ);
		rx->tag = op->rma[0].key;
	}
	rx->flags |= op->flags & KFI_REMOTE_CQ_DATA;
	if (op->flags & KFI_INVALIDATE) {
		rx->flags |= KFI_INVALIDATE;
		rx->data = op->inv_key;
	}
}

/* The receive is there: move the bytes and end both sides. */
static void loop_deliver(struct loop_op *p)
{
	struct kfi_oper *op = p->op;
	struct kfi_rx *rx = &p->rx;
	size_t len = min(rx->len, rx->room), done;
	int err = 0;

	if (op->code == KFI_OPC_TREAD)
		done = loop_copy(&op->iter, &rx->iter, len);
	else
		done = loop_copy(&rx->iter, &op->iter, len);
	kfi_stat_add(op->ep, copied, done);
	if (done < len)
		err = -EFAULT;
	else if ((rx->flags & KFI_RMA) && rx->len > rx->room)
		err = -KFI_ETRUNC;	/* a sender need not know, but RMA has a result */
	kfi_rx_complete(rx, err == -EFAULT ? err : 0);
	loop_tx_end(p, err);
}

/*
 * Find the receive; a message that has none is parked. The lock orders parking with loop_rx_matched() and
 * loop_rx_drop(), which may come at once, and with the sender's end, which takes parked messages back.
 */
static enum kfi_rx_verdict loop_arrive(struct loop_ep *from, struct loop_ep *to, struct loop_op *p)
{
	bool queue = p->op->code == KFI_OPC_SEND || p->op->code == KFI_OPC_TSEND;
	enum kfi_rx_verdict verdict = KFI_RX_CLOSED;

	spin_lock_bh(&from->lock);
	if (from->up)
		verdict = kfi_rx_arrive(&to->ep, &p->rx, queue);
	if (verdict == KFI_RX_QUEUED)
		list_add_tail(&p->node, &from->parked);
	spin_unlock_bh(&from->lock);
	return verdict;
}

static void loop_unpark_one(struct loop_op *p)
{
	struct loop_ep *from = to_loop_ep(p->op->ep);

	spin_lock_bh(&from->lock);
	list_del(&p->node);
	spin_unlock_bh(&from->lock);
}

/* An unexpected message has its receive now. In the context of the receiver's post. */
void loop_rx_matched(struct kfi_ep *ep, struct kfi_rx *rx)
{
	struct loop_op *p = container_of(rx, struct loop_op, rx);

	loop_unpark_one(p);
	loop_deliver(p);
}

void loop_rx_drop(struct kfi_ep *ep, struct kfi_rx *rx)
{
	struct loop_op *p = container_of(rx, struct loop_op, rx);

	loop_unpark_one(p);
	loop_tx_end(p, -ECONNRESET);
}

/* Return: false: the peer's queue has no room. */
static bool loop_message(struct loop_ep *to, struct loop_op *p)
{
	struct loop_ep *from = to_loop_ep(p->op->ep);
	int err;

	if ((p->op->flags & KFI_INVALIDATE) && !p->killed) {
		err = kfi_mr_kill(&to->ep, p->op->inv_key);
		if (err) {
			loop_tx_end(p, err);
			return true;
		}
		p->killed = true;
	}
	loop_rx_fill(to, p);
	switch (loop_arrive(from, to, p)) {
	case KFI_RX_MATCHED:
		loop_deliver(p);
		break;
	case KFI_RX_QUEUED:
		break;	/* perhaps it has ended by now: hands off */
	case KFI_RX_FULL:
		return false;
	case KFI_RX_NONE:
		loop_tx_end(p, -EACCES);	/* tagged RMA: the key opens nothing */
		break;
	case KFI_RX_CLOSED:
		loop_tx_end(p, READ_ONCE(from->up) ? -ECONNRESET : from->err);
		break;
	}
	return true;
}

/* ---- RMA ---- */

static u64 loop_access(const struct kfi_oper *op)
{
	return op->code == KFI_OPC_READ ? KFI_REMOTE_READ : KFI_REMOTE_WRITE;
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

static void loop_commit_start(struct loop_ep *to, struct loop_op *p);

/* Return: false: it has landed, but the event for the peer has no room. Then the bytes do not move again. */
static bool loop_rma(struct loop_ep *to, struct loop_op *p)
{
	struct kfi_oper *op = p->op;
	int err = 0;

	if (!p->mr)
		err = loop_rma_run(to, p);
	if (!err && p->mr)
		err = kfi_remote_rma(&to->ep, p->mr, loop_access(op) | (op->flags & KFI_REMOTE_CQ_DATA),
				     op->len, op->data, loop_src(to_loop_ep(op->ep), to));
	if (err == -EAGAIN)
		return false;
	if (!err && (op->flags & KFI_COMMIT_COMPLETE))
		loop_commit_start(to, p);
	else
		loop_tx_end(p, err);
	return true;
}

/* ---- commit and flush ---- */

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

/* Earlier writes have landed in memory that everybody here sees: visible they are. */
static bool loop_flush(struct loop_ep *to, struct loop_op *p)
{
	int err = loop_rma_check(to, p->op);

	if (!err && (p->op->flags & KFI_COMMIT_COMPLETE))
		loop_commit_start(to, p);
	else
		loop_tx_end(p, err);
	return true;
}

/* ---- waiting for room in the peer's completion queue ---- */

/* Return: false: not done, for the peer's queue has no room. After true @p is not ours any more. */
static bool loop_perform(struct loop_ep *to, struct loop_op *p)
{
	if (!READ_ONCE(to->up)) {
		loop_tx_end(p, -ECONNRESET);
		return true;
	}
	switch (p->op->code) {
	case KFI_OPC_READ:
	case KFI_OPC_WRITE:
		return loop_rma(to, p);
	case KFI_OPC_FLUSH:
		return loop_flush(to, p);
	default:
		return loop_message(to, p);
	}
}

static void loop_set_congested(struct loop_ep *to)
{
	lockdep_assert_held(&to->ln->stall_lock);
	WRITE_ONCE(to->congested, to->retrying || !list_empty(&to->waiting));
}

/*
 * Would it overtake? What may need a slot of a full queue waits behind those that wait for one; the rest waits only
 * behind the same sender's.
 */
static bool loop_must_wait(const struct loop_ep *from, const struct loop_ep *to, const struct kfi_oper *op)
{
	lockdep_assert_held(&to->ln->stall_lock);
	if (!to->congested)
		return false;
	return !loop_is_rma(op) || (op->flags & KFI_REMOTE_CQ_DATA) || !list_empty(&from->stalled) ||
	       to->retrying == from;
}

/* Put it into the line of @to, at its end or, to try again, where it was. Return: 0, or why it has to end. */
static int loop_line_up(struct loop_ep *from, struct loop_ep *to, struct loop_op *p, bool again)
{
	lockdep_assert_held(&to->ln->stall_lock);
	/* Going down clears up and then comes here for what is in line. */
	if (!READ_ONCE(from->up))
		return from->err;
	if (!READ_ONCE(to->up))
		return -ECONNRESET;
	if (again) {
		list_add(&p->op->link, &to->waiting);
		list_add(&p->node, &from->stalled);
	} else {
		list_add_tail(&p->op->link, &to->waiting);
		list_add_tail(&p->node, &from->stalled);
	}
	loop_set_congested(to);
	return 0;
}

/* Return: true: it waits now (or has ended); false: there is nothing to wait behind. */
static bool loop_stall(struct loop_ep *from, struct loop_ep *to, struct loop_op *p, bool full)
{
	struct loop_net *ln = to->ln;
	int err = 0;
	bool wait;

	spin_lock_bh(&ln->stall_lock);
	wait = full || loop_must_wait(from, to, p->op);
	if (wait)
		err = loop_line_up(from, to, p, false);
	/* Under the lock: who takes us out of the line afterwards also cancels the work. */
	if (full && !err)
		queue_work(loop_wq, &to->retry);
	spin_unlock_bh(&ln->stall_lock);
	if (err)
		loop_tx_end(p, err);
	return wait;
}

static struct loop_op *loop_next_waiting(struct loop_ep *to)
{
	struct kfi_oper *op;
	struct loop_op *p = NULL;

	spin_lock_bh(&to->ln->stall_lock);
	op = list_first_entry_or_null(&to->waiting, struct kfi_oper, link);
	to->retrying = op ? to_loop_ep(op->ep) : NULL;
	if (op) {
		p = op->priv;
		list_del(&op->link);
		list_del(&p->node);
	}
	loop_set_congested(to);
	spin_unlock_bh(&to->ln->stall_lock);
	return p;
}

/* It did not fit. Return: it waits again; else it has ended. */
static bool loop_put_back(struct loop_ep *to, struct loop_op *p)
{
	int err;

	spin_lock_bh(&to->ln->stall_lock);
	to->retrying = NULL;
	err = loop_line_up(to_loop_ep(p->op->ep), to, p, true);
	loop_set_congested(to);
	spin_unlock_bh(&to->ln->stall_lock);
	if (err)
		loop_tx_end(p, err);
	return !err;
}

/* Perform what waits for @to, in order, until its queue is full again. */
void loop_retry(struct work_struct *work)
{
	struct loop_ep *to = container_of(work, struct loop_ep, retry);
	struct loop_op *p;

	while ((p = loop_next_waiting(to))) {
		if (loop_perform(to, p) || !loop_put_back(to, p))
			continue;
		if (kfi_cq_wait_space(to->ep.rx_cq, &to->room))
			break;
	}
}

void loop_room(struct kfi_cq_waiter *w)
{
	queue_work(loop_wq, &container_of(w, struct loop_ep, room)->retry);
}

void loop_unstall(struct loop_ep *le, struct list_head *own, struct list_head *peers)
{
	struct kfi_oper *op, *next_op;
	struct loop_op *p, *next;

	spin_lock_bh(&le->ln->stall_lock);
	list_for_each_entry_safe(p, next, &le->stalled, node) {
		list_del(&p->op->link);
		list_move_tail(&p->node, own);
	}
	list_for_each_entry_safe(op, next_op, &le->waiting, link) {
		p = op->priv;
		list_del(&op->link);
		list_move_tail(&p->node, peers);
	}
	loop_set_congested(le);
	spin_unlock_bh(&le->ln->stall_lock);
}

/* ---- the entry ---- */

/* The peer, pinned. */
static struct loop_ep *loop_peer(struct loop_ep *from, u64 id)
{
	struct loop_ep *to = loop_ep_get(from->ln, id);

	if (!to)
		return NULL;
	if (to->ep.type == from->ep.type && READ_ONCE(to->up) &&
	    (to->ep.type == KFI_EP_RDM || to->peer_id == from->id))
		return to;
	loop_ep_put(to);
	return NULL;
}

/* What can be told from the operation alone. */
static int loop_tx_check(struct loop_ep *from, struct kfi_oper *op, u64 *id)
{
	u8 addr[KFI_ADDR_MAX] __aligned(8);
	int len;

	if ((op->code == KFI_OPC_TWRITE || op->code == KFI_OPC_TREAD) && (op->rma_count != 1 || op->rma[0].addr))
		return -EINVAL;
	if ((op->flags & KFI_COMMIT_COMPLETE) && op->code != KFI_OPC_WRITE && op->code != KFI_OPC_FLUSH)
		return -EOPNOTSUPP;
	*id = from->peer_id;
	if (from->ep.type == KFI_EP_MSG)
		return 0;
	len = kfi_av_addr(from->ep.av, op->addr, addr);
	if (len < 0)
		return len;
	*id = ((struct kfi_loop_addr *)addr)->id;
	return 0;
}

int loop_tx(struct kfi_ep *ep, struct kfi_oper *op)
{
	struct loop_ep *from = to_loop_ep(ep), *to;
	struct loop_op *p = op->priv;
	u64 id;
	int err;

	err = loop_tx_check(from, op, &id) ?: loop_tx_begin(from);
	if (err)
		return err;
	p->op = op;
	p->mr = NULL;
	p->killed = false;
	to = loop_peer(from, id);
	if (!to) {
		loop_tx_end(p, ep->type == KFI_EP_MSG ? -ENOTCONN : -EHOSTUNREACH);
		return 0;
	}
	if (READ_ONCE(to->congested) && loop_stall(from, to, p, false))
		goto out;
	if (!loop_perform(to, p))
		loop_stall(from, to, p, true);
out:
	loop_ep_put(to);
	return 0;
}
