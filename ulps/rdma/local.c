// SPDX-License-Identifier: GPL-2.0
/*
 * local.c - RC queue pairs whose other side is in this kernel, or is itself. A network need not
 * lead from a node back to it: an interface to which a provider binds its sockets does not, and a
 * way has one other end. So these have no connection. The runner of the side that is sent to does
 * the work:
 *
 *	runner of the sender	&kib_slot.wait in &kib_qp.asked of the other side
 *	runner of the receiver	copies, ends the receive, and ends the request
 *
 * Requests are served in order. A message waits until there is a receive. A pass copies at most
 * LOCAL_PASS bytes, because bottom halves are off.
 *
 * The other side is looked up for each request, under RCU, and has to have named this one. A side
 * that ends, or is reset, serves what it was asked with an error, and takes back what it has asked:
 * its requests end before it does.
 */
#include <linux/highmem.h>
#include <rdma/ib_cache.h>
#include "kib.h"

#define LOCAL_PASS	(256 * 1024)
#define LOCAL_COST	256U		/* of a request, beside its bytes */

/*
 * Return: number of the interface of the device that has the GID, if that is one of the fabric; 0:
 * it is another node's. Process context
 */
int kib_local_ifindex(const struct kib_fabric *fabric, const union ib_gid *gid)
{
	const struct ib_gid_attr *attr;
	struct kib_dev *dev;
	int ifindex = 0;

	rcu_read_lock();
	list_for_each_entry_rcu(dev, &fabric->devs, fabric_entry) {
		if (!READ_ONCE(dev->registered))
			continue;
		attr = rdma_find_gid(&dev->ib, gid, IB_GID_TYPE_ROCE_UDP_ENCAP, NULL);
		if (IS_ERR(attr))
			continue;
		rdma_put_gid_attr(attr);
		ifindex = dev->netdev->ifindex;
		break;
	}
	rcu_read_unlock();
	return ifindex;
}

/* Return: the other side, if it has named this one; or NULL. Context: RCU read section */
static struct kib_qp *local_other(const struct kib_qp *qp)
{
	struct kib_qp *other = kib_qp_find(qp->dev->fabric, 0, qp->remote_qpn);

	return other && READ_ONCE(other->local) && READ_ONCE(other->paired) &&
	       other->remote_qpn == qp->ib.qp_num &&
	       !memcmp(&other->dest.dgid, &qp->dest.sgid, sizeof(qp->dest.sgid)) ? other : NULL;
}

/* Is the other side in RTR, too? Then both are ready. Called by pair_work */
bool kib_local_is_ready(struct kib_qp *qp)
{
	struct kib_qp *other;

	rcu_read_lock();
	other = local_other(qp);
	if (other && other != qp)	/* it may have looked before this one was in RTR */
		mod_delayed_work(kib_wq, &other->pair_work, 0);
	rcu_read_unlock();
	return other;
}

/*
 * Ask the other side, which may be about to be ready: then the request waits there. For the runner.
 * Return: 0, and &kfi_cqe.done follows; or -ENOTCONN
 */
int kib_local_begin(struct kib_qp *qp, struct kib_slot *s)
{
	struct kib_qp *other;
	int ret = -ENOTCONN;

	rcu_read_lock();
	other = local_other(qp);
	if (other && READ_ONCE(other->state) <= KIB_QP_READY) {
		s->served = 0;
		s->recv = NULL;
		spin_lock(&other->asked_lock);
		list_add_tail(&s->wait, &other->asked);
		spin_unlock(&other->asked_lock);
		queue_bh_work(&other->run_bh);
		ret = 0;
	}
	rcu_read_unlock();
	return ret;
}

/* ---- serve ---- */

/* Copy a piece between the memory of the request and that at @at, or change the word there. */
static int local_copy(struct kib_slot *s, void *at, u32 len)
{
	size_t done = len;

	s->served += len;
	if (kib_is_atomic(s) && len != sizeof(u64))
		return -EINVAL;		/* the word is in two pieces of a ULP's region */
	if (kib_is_atomic(s))
		s->old = kfi_atomic_word(at, kib_atomic_op(s), s->operand, s->compare);
	else if (s->opcode == IB_WR_RDMA_READ)
		done = _copy_to_iter(at, len, &s->iter);
	else
		done = _copy_from_iter(at, len, &s->iter);
	return done == len ? 0 : -EINVAL;
}

/* A piece of a region of a ULP, which may be invalidated between pieces */
static int local_part(struct kib_mr *mr, struct kib_slot *s, u32 *budget)
{
	u64 at = s->remote + s->served - mr->ib.iova;
	unsigned int i;
	void *page;
	int ret;
	u32 len;

	for (i = 0; i < mr->nr && at >= mr->vec[i].bv_len; i++)
		at -= mr->vec[i].bv_len;
	if (i == mr->nr)
		return -EACCES;
	at += mr->vec[i].bv_offset;
	len = min3(mr->vec[i].bv_offset + mr->vec[i].bv_len - (u32)at, s->len - s->served,
		   (u32)(PAGE_SIZE - offset_in_page(at)));
	page = kmap_local_page(mr->vec[i].bv_page + at / PAGE_SIZE);
	ret = local_copy(s, page + offset_in_page(at), len);
	kunmap_local(page);
	*budget -= min(len, *budget);
	return ret;
}

static bool local_in_range(u64 iova, u64 length, const struct kib_slot *s)
{
	u64 at = s->remote - iova;

	return at <= length && s->len <= length - at;
}

static int local_of_process(struct kib_mr *mr, struct kib_slot *s, u32 *budget)
{
	u32 len = min(s->len - s->served, *budget);

	if (!local_in_range(mr->iova, mr->umem->length, s))
		return -EACCES;
	*budget -= len;
	return local_copy(s, kib_user_mr_at(mr, s->remote + s->served), len);
}

static int local_of_ulp(struct kib_mr *mr, struct kib_slot *s, u32 *budget)
{
	int ret = 0;

	spin_lock(&mr->lock);
	if (mr->key != s->rkey || mr->state != KIB_MR_SHARED ||
	    !local_in_range(mr->ib.iova, mr->ib.length, s))
		ret = -EACCES;
	while (!ret && *budget && s->served < s->len)
		ret = local_part(mr, s, budget);
	spin_unlock(&mr->lock);
	return ret;
}

/* Access a region of this side. Return: 0: all; -EAGAIN: go on later; or an error */
static int local_rdma(struct kib_qp *qp, struct kib_slot *s, u32 *budget)
{
	int need = kib_is_atomic(s) ? IB_ACCESS_REMOTE_ATOMIC :
		   s->opcode == IB_WR_RDMA_READ ? IB_ACCESS_REMOTE_READ : IB_ACCESS_REMOTE_WRITE;
	struct kib_mr *mr = kib_mr_find(qp->dev, qp->ib.pd, s->rkey);
	u32 word = sizeof(u64);
	int ret;

	if (!mr || !(READ_ONCE(mr->access) & kib_qp_access(qp) & need))
		return -EACCES;
	if (kib_is_atomic(s))
		budget = &word;		/* a whole one */
	if (mr->umem && !refcount_inc_not_zero(&mr->refs))
		return -EACCES;
	if (mr->umem) {
		ret = local_of_process(mr, s, budget);
		kib_user_mr_put(mr);
	} else {
		ret = local_of_ulp(mr, s, budget);
	}
	return ret ?: s->served < s->len ? -EAGAIN : 0;
}

/* Both iterators are advanced. Return: 0; -EAGAIN: go on later; or -EINVAL */
static int local_message_bytes(struct kib_qp *qp, struct kib_slot *s, u32 *budget)
{
	u32 len;

	for (; s->served < s->len && *budget; s->served += len) {
		len = min3(s->len - s->served, *budget, (u32)PAGE_SIZE);
		*budget -= len;
		if (_copy_from_iter(qp->bounce, len, &s->iter) != len ||
		    _copy_to_iter(qp->bounce, len, &s->recv->iter) != len)
			return -EINVAL;
	}
	return s->served < s->len ? -EAGAIN : 0;
}

/* The receive that the message has taken ends. */
static void local_received(struct kib_slot *s, int err)
{
	struct kfi_cq_err_entry wc = { .len = s->len, .err = -err };

	if (!err && s->opcode == IB_WR_RDMA_WRITE_WITH_IMM) {
		wc.flags = KFI_REMOTE_CQ_DATA;
		wc.data = s->imm | KIB_CQ_WRITE | (u64)s->len << KIB_CQ_LEN_SHIFT;
	} else if (!err && s->opcode == IB_WR_SEND_WITH_IMM) {
		wc.flags = KFI_REMOTE_CQ_DATA;
		wc.data = s->imm;
	} else if (!err && s->opcode == IB_WR_SEND_WITH_INV) {
		wc.flags = KFI_INVALIDATE_DUE;	/* the receive ends when the region has */
		wc.data = s->rkey;
	}
	kib_recv_done(NULL, &s->recv->cqe, &wc);
	s->recv = NULL;
}

/* Give a message, or the end of a write with immediate data, to the next receive. */
static int local_message(struct kib_qp *qp, struct kib_slot *s, u32 *budget)
{
	struct kib_slot *recv;
	int ret = 0;

	if (!s->recv) {
		recv = qp->ib.srq ? kib_srq_take(qp, 0) : kib_recv_ready(qp);
		if (IS_ERR_OR_NULL(recv))
			return -EAGAIN;
		s->recv = recv;
		recv->step = KIB_STARTED;
		if (!qp->ib.srq)
			qp->rq.next++;
		if (s->opcode != IB_WR_RDMA_WRITE_WITH_IMM && s->len > s->recv->len)
			ret = -KFI_ETRUNC;
	}
	if (!ret && s->opcode != IB_WR_RDMA_WRITE_WITH_IMM)
		ret = local_message_bytes(qp, s, budget);
	if (ret == -EAGAIN)
		return ret;
	local_received(s, ret);
	return ret ? -EREMOTEIO : 0;
}

static int local_serve_one(struct kib_qp *qp, struct kib_slot *s, u32 *budget)
{
	int ret;

	/* it may have been reset, and be another one's since it was asked */
	if (READ_ONCE(s->qp->state) != KIB_QP_READY || READ_ONCE(qp->state) > KIB_QP_READY ||
	    !READ_ONCE(qp->paired) || s->qp->ib.qp_num != qp->remote_qpn) {
		if (s->recv)
			local_received(s, -ECONNRESET);
		return -ECONNRESET;
	}
	if (READ_ONCE(qp->state) != KIB_QP_READY)
		return -EAGAIN;
	switch (s->opcode) {
	case IB_WR_SEND:
	case IB_WR_SEND_WITH_IMM:
	case IB_WR_SEND_WITH_INV:
		return local_message(qp, s, budget);
	case IB_WR_RDMA_WRITE_WITH_IMM:
		ret = s->served < s->len ? local_rdma(qp, s, budget) : 0;
		return ret ?: local_message(qp, s, budget);
	default:
		return local_rdma(qp, s, budget);
	}
}

/* Serve what the other side has asked. For the runner; bottom halves are off */
void kib_local_serve(struct kib_qp *qp)
{
	struct kfi_cq_err_entry wc = {};
	u32 budget = LOCAL_PASS;
	struct kib_slot *s;
	struct kib_qp *from;
	int ret;

	for (;;) {
		spin_lock(&qp->asked_lock);
		s = list_first_entry_or_null(&qp->asked, struct kib_slot, wait);
		spin_unlock(&qp->asked_lock);
		if (!s)
			return;
		ret = local_serve_one(qp, s, &budget);
		if (ret == -EAGAIN) {
			if (!budget)
				queue_bh_work(&qp->run_bh);
			return;		/* or kib_qp_ready(), or the post of a receive, goes on */
		}
		spin_lock(&qp->asked_lock);
		list_del_init(&s->wait);
		spin_unlock(&qp->asked_lock);
		wc.err = -ret;
		from = s->qp;
		s->cqe.done(NULL, &s->cqe, &wc);
		queue_bh_work(&from->run_bh);	/* its end waits for an RCU grace period */
		/* Requests of a few bytes, or of none, use the budget up, too. */
		budget -= min(budget, LOCAL_COST);
		if (!budget) {
			queue_bh_work(&qp->run_bh);
			return;
		}
	}
}

/*
 * This side has ended: the other one has to give back what it was asked, and the queue pair of a
 * ULP ends with it (kib_qp_lost()). Process context
 */
void kib_local_end(struct kib_qp *qp)
{
	struct kib_qp *other;

	rcu_read_lock();
	other = local_other(qp);
	if (other) {
		queue_bh_work(&other->run_bh);
		WRITE_ONCE(other->lost, true);
		mod_delayed_work(kib_wq, &other->pair_work, 0);
	}
	rcu_read_unlock();
}

/* ---- regions that end ---- */

static atomic_t local_pairs = ATOMIC_INIT(0);

void kib_local_join(struct kib_qp *qp)
{
	atomic_inc(&local_pairs);
	WRITE_ONCE(qp->local, true);
}

void kib_local_leave(struct kib_qp *qp)
{
	WRITE_ONCE(qp->local, false);
	atomic_dec(&local_pairs);
}

/*
 * A region is not found any more: wait for the pass that may have found it. With bottom halves off
 * a pass is an RCU section.
 */
void kib_local_wait(void)
{
	if (atomic_read(&local_pairs))
		synchronize_rcu_expedited();
}
