// SPDX-License-Identifier: GPL-2.0
/* recv.c - receive queues. The k-th receive takes the k-th message, and is reported as the k-th. */
#include <linux/slab.h>
#include "kib.h"

/* ---- posts ---- */

static void recv_ended(struct kib_slot *s);

static void recv_init(struct kib_slot *s, u64 wr_id)
{
	s->cqe.done = kib_recv_done;
	s->ended = recv_ended;
	s->step = KIB_WAITS;
	s->status = IB_WC_SUCCESS;
	s->wr_id = wr_id;
	s->opcode = IB_WR_SEND;
	s->wc_flags = 0;
}

/* Store a receive in a slot of a ring whose lock is held, or, of a process, of the runner. */
int kib_recv_fill(struct ib_pd *pd, struct kib_ring *ring, struct kib_slot *s,
		  const struct ib_recv_wr *wr)
{
	int ret;

	if (wr->num_sge > ring->sge)
		return -EINVAL;
	ret = kib_slot_map(pd, ring, s, wr->sg_list, wr->num_sge, ITER_DEST);
	if (ret)
		return ret;
	if (s->mr) {	/* a receive can't wait for a registration */
		kib_slot_release(ring, s);
		return -EINVAL;
	}
	recv_init(s, wr->wr_id);
	return 0;
}

int kib_post_recv(struct ib_qp *ib, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad)
{
	struct kib_qp *qp = to_kib_qp(ib);
	struct kib_ring *ring = &qp->rq;
	struct kib_slot *s;
	const struct ib_recv_wr *first = wr;
	unsigned long flags;
	int ret = 0;

	if (ib->srq || (qp->map && wr)) {
		*bad = wr;
		return -EINVAL;
	}
	if (qp->map) {
		kib_qp_posted(qp);
		return 0;
	}
	/* The lock is taken for each request, because a process chooses how many it posts. */
	for (; wr; wr = wr->next) {
		spin_lock_irqsave(&ring->lock, flags);
		s = kib_ring_slot(ring);
		ret = s ? kib_recv_fill(ib->pd, ring, s, wr) : -ENOMEM;
		if (!ret)	/* pairs with kib_recv_start() */
			smp_store_release(&ring->head, ring->head + 1);
		spin_unlock_irqrestore(&ring->lock, flags);
		if (ret)
			break;
	}
	if (ret)
		*bad = wr;
	if (wr != first)	/* something was posted */
		kib_qp_posted(qp);
	return ret;
}

/* ---- posts of a process ---- */

/*
 * A process writes its receives to memory that both have mapped. The runner takes them from there
 * in each pass, and there is a pass after each message. So the process has to call only while few
 * receives are left, of which &kfi_ib_rq.wake tells it: a message without a receive is no reason
 * for a pass.
 */
#define RECV_FEW	16

/* Receives that a pass takes: the process posts any number of them in no time. */
#define RECV_TAKE	256

/* Copy a receive of the process, which may write to it meanwhile. Return: 0 or a negative error */
static int recv_copy(struct kib_qp *qp, struct kib_slot *s, const struct kfi_ib_recv *from)
{
	struct ib_recv_wr wr = { .wr_id = READ_ONCE(from->wr_id) };
	struct ib_sge sge[KIB_MAX_SGE];
	int i;

	wr.num_sge = READ_ONCE(from->num_sge);
	if (wr.num_sge < 0 || wr.num_sge > qp->rq.sge)
		return -EINVAL;
	for (i = 0; i < wr.num_sge; i++)
		sge[i] = (struct ib_sge){
			.addr = READ_ONCE(from->sge[i].addr),
			.length = READ_ONCE(from->sge[i].length),
			.lkey = READ_ONCE(from->sge[i].lkey),
		};
	wr.sg_list = sge;
	return kib_recv_fill(qp->ib.pd, &qp->rq, s, &wr);
}

size_t kib_recv_user_size(const struct kib_ring *ring)
{
	return struct_size((struct kfi_ib_recv *)NULL, sge, ring->sge);
}

/*
 * Take what the process has posted. Whatever it claims, that is no more than the ring has room for.
 * What is left is for the next pass.
 */
static void recv_take(struct kib_qp *qp)
{
	int left = RECV_TAKE;
	struct kfi_ib_rq *user = qp->user;
	struct kib_ring *ring = &qp->rq;
	size_t size = kib_recv_user_size(ring);
	struct kfi_ib_recv *from;
	struct kib_slot *s;

	/* pairs with the release by the process */
	while (ring->head != smp_load_acquire(&user->head) &&
	       ring->head - ring->tail < ring->depth) {
		if (!left--) {
			kfi_runner_enter(&qp->runner);	/* leaves a note */
			return;
		}
		from = (void *)user->slots + size * (ring->head & (ring->depth - 1));
		s = kib_slot(ring, ring->head);
		if (recv_copy(qp, s, from)) {
			recv_init(s, READ_ONCE(from->wr_id));
			s->len = 0;
			s->status = IB_WC_LOC_PROT_ERR;
		}
		ring->head++;
	}
}

/*
 * Tell the process, at the end of a pass, whether it has to call for its next receive. Return:
 * whether it has posted before it could know that: another pass is due
 */
bool kib_recv_tell(struct kib_qp *qp)
{
	struct kfi_ib_rq *user = qp->user;
	struct kib_ring *ring = &qp->rq;
	bool few;

	if (!qp->map)
		return false;
	few = ring->head - ring->tail < RECV_FEW;
	if (few == qp->few)
		return false;
	qp->few = few;
	WRITE_ONCE(user->wake, few);
	if (!few)
		return false;
	smp_mb();	/* the process reads @wake when it has written @head */
	return READ_ONCE(user->head) != ring->head;
}

/* ---- the end of a receive ---- */

/* As send_ended() */
static void recv_ended(struct kib_slot *s)
{
	smp_store_release(&s->step, KIB_DONE);	/* pairs with kib_ring_ended() */
}

/*
 * The peer has named a key. If its region is still in use, this side ends the registration, and
 * reports the receive when that is done: ULPs use the region again without another look.
 * Return: whether the receive has to wait
 */
static bool recv_invalidate(struct kib_slot *s, u64 key, bool due)
{
	struct kib_mr *mr;
	bool wait;

	rcu_read_lock();
	mr = kib_mr_find(s->qp->dev, s->qp->ib.pd, key);
	if (mr && READ_ONCE(mr->state) == KIB_MR_LOCAL)
		mr = NULL;	/* no peer knows its key */
	s->wc_flags = IB_WC_WITH_INVALIDATE;
	s->rkey = key;
	if (mr && !due)
		kib_mr_invalidated(mr, key);
	wait = mr && due && kib_mr_invalidate(mr, key, s);
	rcu_read_unlock();
	return wait;
}

void kib_recv_done(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	struct kib_slot *s = container_of(cqe, struct kib_slot, cqe);

	s->status = kib_status(wc->err);
	s->len = wc->len;
	if (wc->flags & KFI_REMOTE_CQ_DATA) {
		s->wc_flags = IB_WC_WITH_IMM;
		s->imm = wc->data;
		if (wc->data & KIB_CQ_WRITE) {
			s->opcode = IB_WR_RDMA_WRITE_WITH_IMM;
			s->len = wc->data >> KIB_CQ_LEN_SHIFT & KIB_CQ_LEN_MASK;
		}
	}
	if (wc->flags & (KFI_INVALIDATE | KFI_INVALIDATE_DUE) &&
	    recv_invalidate(s, wc->data, wc->flags & KFI_INVALIDATE_DUE))
		return;
	s->ended(s);
}

/* ---- start, report ---- */

/* Describe a receive to kfabric. */
void kib_recv_msg(struct kib_slot *s, struct kfi_msg *msg)
{
	*msg = (struct kfi_msg) {
		.type = KFI_ITER, .msg_iter = &s->iter, .iov_count = !!s->nr, .context = &s->cqe,
	};
}

/* Post the receives that the endpoint has room for; each that ends makes room. */
void kib_recv_start(struct kib_qp *qp)
{
	struct kib_ring *ring = &qp->rq;
	enum kib_qp_state state;
	struct kib_slot *s;
	struct kfi_msg msg;
	int ret;

	if (qp->ib.srq)
		return;
	if (qp->map)
		recv_take(qp);
	/* pairs with kib_post_recv(), as kib_send_start() */
	while (ring->next != smp_load_acquire(&ring->head)) {
		state = READ_ONCE(qp->state);
		s = kib_slot(ring, ring->next);
		if (state == KIB_QP_FLUSH || s->status != IB_WC_SUCCESS) {
			if (s->status == IB_WC_SUCCESS)
				s->status = IB_WC_WR_FLUSH_ERR;
			else
				qp->rq_stop = true;	/* no message may pass it by */
			s->step = KIB_DONE;	/* the runner itself reports it */
			ring->next++;
			continue;
		}
		if (qp->rq_stop || state != KIB_QP_READY || qp->local || !kib_is_connected(qp))
			break;
		kib_recv_msg(s, &msg);
		s->step = KIB_STARTED;
		ret = kfi_recvmsg(qp->ep, &msg, KFI_CQE);
		if (ret == -EAGAIN)
			break;
		ring->next++;
		if (ret) {
			s->status = kib_status(-ret);
			s->step = KIB_DONE;
		}
	}
}

/*
 * Return: the receive for the next message of a queue pair without an endpoint, or NULL; the caller
 * increases &kib_ring.next. For the runner
 */
struct kib_slot *kib_recv_ready(struct kib_qp *qp)
{
	struct kib_ring *ring = &qp->rq;
	struct kib_slot *s = kib_slot(ring, ring->next);

	if (READ_ONCE(qp->state) != KIB_QP_READY || qp->rq_stop)
		return NULL;
	if (ring->next == smp_load_acquire(&ring->head))	/* pairs with kib_post_recv() */
		return NULL;
	if (s->status == IB_WC_SUCCESS)
		return s;
	kfi_runner_enter(&qp->runner);	/* kib_recv_start() ends it in the next pass */
	return NULL;
}

/* The receive that is to be reported next, if it has ended */
struct kib_slot *kib_recv_next(struct kib_qp *qp)
{
	return qp->ib.srq ? kib_srq_next(qp) : kib_ring_ended(&qp->rq);
}

static void recv_count(struct kib_dev *dev, const struct ib_wc *wc)
{
	if (wc->status != IB_WC_SUCCESS)
		return;
	kib_count(dev, KIB_RECVS, 1);
	if (wc->opcode == IB_WC_RECV)
		kib_count(dev, KIB_RECEIVED, wc->byte_len);
}

/*
 * A receive that has ended because the connection has, of a process: it is not reported before the
 * queue pair ends, as with hardware. The other side may just have finished.
 */
static bool recv_is_quiet(const struct kib_qp *qp, const struct kib_slot *s)
{
	return s->status == IB_WC_WR_FLUSH_ERR && qp->owner &&
	       READ_ONCE(qp->state) == KIB_QP_READY;
}

/* As kib_send_report(). The last receive of a shared queue may be reported after end_work. */
void kib_recv_report(struct kib_qp *qp)
{
	struct kib_ring *ring = &qp->rq;
	struct kib_slot *s;
	struct ib_wc wc;
	bool report;

	while ((s = kib_recv_next(qp))) {
		report = !READ_ONCE(qp->destroyed);
		if (report && recv_is_quiet(qp, s))
			return;
		if (report && !kib_cq_reserve(qp->ib.recv_cq, &qp->recv_room))
			return;
		wc = (struct ib_wc) {
			.wr_id = s->wr_id, .status = s->status, .qp = &qp->ib, .port_num = 1,
			.opcode = s->opcode == IB_WR_SEND ? IB_WC_RECV :
							    IB_WC_RECV_RDMA_WITH_IMM,
			.byte_len = s->len, .wc_flags = s->wc_flags,
		};
		if (s->wc_flags & IB_WC_GRH) {
			wc.src_qp = s->remote_qpn;
			wc.network_hdr_type = s->v4 ? RDMA_NETWORK_IPV4 : RDMA_NETWORK_IPV6;
			wc.vlan_id = s->vlan;
		}
		if (s->wc_flags & IB_WC_WITH_IMM)
			wc.ex.imm_data = cpu_to_be32(s->imm);
		else if (s->wc_flags & IB_WC_WITH_INVALIDATE)
			wc.ex.invalidate_rkey = s->rkey;
		if (qp->ib.srq)
			kib_srq_reported(qp, s);
		else
			kib_slot_release(ring, s);
		smp_store_release(&ring->tail, ring->tail + 1);	/* pairs with kib_ring_slot() */
		if (qp->map)	/* the process may write to the slot of the receive */
			smp_store_release(&qp->user->tail, ring->tail);
		if (qp->rq_failed)
			wc.status = IB_WC_WR_FLUSH_ERR;
		recv_count(qp->dev, &wc);
		if (wc.status != IB_WC_SUCCESS && !qp->rq_failed) {
			qp->rq_failed = true;
			if (wc.status != IB_WC_WR_FLUSH_ERR)
				kib_count(qp->dev, KIB_FAILED, 1);
			kib_qp_fail(qp);
		}
		if (report)
			kib_cq_add(qp->ib.recv_cq, &wc);
	}
	if (qp->ib.srq && READ_ONCE(qp->state) == KIB_QP_FLUSH && !READ_ONCE(qp->last_told) &&
	    ring->tail == READ_ONCE(ring->head) && !READ_ONCE(qp->destroyed))
		queue_work(kib_wq, &qp->end_work);	/* for kib_srq_last() */
}
