// SPDX-License-Identifier: GPL-2.0
/*
 * send.c - send queues: each request of verbs as operations of kfabric.
 *
 *	SEND			a message; immediate data is remote CQ data
 *	SEND_WITH_INV		a message with KFI_INVALIDATE
 *	RDMA_WRITE		a write; an empty one ends at once
 *	RDMA_WRITE_WITH_IMM	a write, and an empty message, which consumes the peer's receive
 *	RDMA_READ		a read
 *	ATOMIC_FETCH_AND_ADD	an atomic operation that fetches, or compares and fetches
 *	ATOMIC_CMP_AND_SWP	the word of the peer, which has 64 bits
 *	REG_MR			a registration; takes effect at once
 *	LOCAL_INV		an invalidation; later requests wait until it has ended
 *
 * A message of a UD queue pair is a packet (ud.c).
 */
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "kib.h"

/* What a request ends with, whose operation has ended with a positive error number, or 0 */
enum ib_wc_status kib_status(int err)
{
	switch (err) {
	case 0:
		return IB_WC_SUCCESS;
	case EACCES:
		return IB_WC_REM_ACCESS_ERR;
	case EREMOTEIO:
		return IB_WC_REM_OP_ERR;
	case KFI_ETRUNC:
	case EMSGSIZE:
		return IB_WC_LOC_LEN_ERR;
	case ETIMEDOUT:
		return IB_WC_RETRY_EXC_ERR;
	case EPROTO:
		return IB_WC_FATAL_ERR;
	case EINVAL:
		return IB_WC_LOC_QP_OP_ERR;
	case EDOM:
		return IB_WC_REM_INV_REQ_ERR;
	default:
		return IB_WC_WR_FLUSH_ERR;	/* the connection has ended */
	}
}

/* What the start of a request has come to, besides 0: callbacks will end it; and errors */
enum {
	SEND_ENDED = 1,	/* no callback follows */
	SEND_WAITS,	/* kib_qp_room() follows, and another start */
};

static void send_done(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc);
static void send_ended(struct kib_slot *s);

/* ---- posts ---- */

static int send_fill_reg(struct kib_qp *qp, struct kib_slot *s, const struct ib_reg_wr *reg)
{
	s->mr = to_kib_mr(reg->mr);
	s->rkey = reg->key;
	s->access = reg->access;
	s->len = 0;
	return reg->mr->pd == qp->ib.pd ? 0 : -EINVAL;
}

static int send_fill_inv(struct kib_qp *qp, struct kib_slot *s, const struct ib_send_wr *wr)
{
	s->mr = xa_load(&qp->dev->mrs, wr->ex.invalidate_rkey >> 8);
	s->rkey = wr->ex.invalidate_rkey;
	s->len = 0;
	return s->mr && s->mr->ib.pd == qp->ib.pd ? 0 : -EINVAL;
}

static void send_fill_rdma(struct kib_slot *s, const struct ib_send_wr *wr)
{
	s->remote = rdma_wr(wr)->remote_addr;
	s->rkey = rdma_wr(wr)->rkey;
	s->imm = be32_to_cpu(wr->ex.imm_data);
}

/* Does the request store what it finds at the peer? */
static bool send_fetches(const struct kib_slot *s)
{
	return s->opcode == IB_WR_RDMA_READ || kib_is_atomic(s);
}

static int send_fill_atomic(struct kib_qp *qp, struct kib_slot *s, const struct ib_send_wr *wr)
{
	const struct ib_atomic_wr *atomic = atomic_wr(wr);
	int ret;

	if (wr->send_flags & IB_SEND_INLINE)
		return -EINVAL;
	s->remote = atomic->remote_addr;
	s->rkey = atomic->rkey;
	s->compare = atomic->compare_add;
	s->operand = wr->opcode == IB_WR_ATOMIC_FETCH_AND_ADD ? atomic->compare_add : atomic->swap;
	ret = kib_slot_map(qp->ib.pd, &qp->sq, s, wr->sg_list, wr->num_sge, ITER_DEST);
	if (ret || s->len == sizeof(u64))
		return ret;
	kib_slot_release(&qp->sq, s);
	return -EINVAL;
}

static int send_fill_read(struct kib_qp *qp, struct kib_slot *s, const struct ib_send_wr *wr)
{
	if (wr->send_flags & IB_SEND_INLINE)
		return -EINVAL;
	send_fill_rdma(s, wr);
	return kib_slot_map(qp->ib.pd, &qp->sq, s, wr->sg_list, wr->num_sge, ITER_DEST);
}

/*
 * Read the inline data of a process, which may be anywhere in its memory. Context: process.
 * Return: 0 or a negative error; *@len is 0 for a request without inline data
 */
static int send_read_inline(const struct kib_qp *qp, const struct ib_send_wr *wr, u8 *data,
			    u32 *len)
{
	int i;

	*len = 0;
	if (!(wr->send_flags & IB_SEND_INLINE))
		return 0;
	if (!qp->owner || wr->num_sge > qp->sq.sge)
		return -EINVAL;
	for (i = 0; i < wr->num_sge; i++) {
		if (wr->sg_list[i].length > KIB_INLINE - *len)
			return -EINVAL;
		if (copy_from_user(data + *len, u64_to_user_ptr(wr->sg_list[i].addr),
				   wr->sg_list[i].length))
			return -EFAULT;
		*len += wr->sg_list[i].length;
	}
	return 0;
}

/* The data is behind the only entry of the vector. */
static void send_map_inline(struct kib_slot *s, const u8 *data, u32 len)
{
	struct kvec *vec = (struct kvec *)s->vec;

	static_assert(KIB_INLINE <= (KIB_ROOM - 1) * sizeof(*s->vec));
	memcpy(&s->vec[1], data, len);
	*vec = (struct kvec){ &s->vec[1], len };
	s->len = len;
	s->nr = !!len;
	iov_iter_kvec(&s->iter, ITER_SOURCE, vec, s->nr, len);
}

static int send_map(struct kib_qp *qp, struct kib_slot *s, const struct ib_send_wr *wr,
		    const u8 *data, u32 len)
{
	if (!(wr->send_flags & IB_SEND_INLINE))
		return kib_slot_map(qp->ib.pd, &qp->sq, s, wr->sg_list, wr->num_sge, ITER_SOURCE);
	send_map_inline(s, data, len);
	return 0;
}

/* A datagram. Nothing else is sent by a queue pair without a connection. */
static int send_fill_ud(struct kib_qp *qp, struct kib_slot *s, const struct ib_send_wr *wr,
			const u8 *data, u32 len)
{
	int ret = wr->opcode == IB_WR_SEND || wr->opcode == IB_WR_SEND_WITH_IMM ?
		  send_map(qp, s, wr, data, len) : -EINVAL;

	if (ret)
		return ret;
	s->imm = be32_to_cpu(wr->ex.imm_data);
	ret = s->mr ? -EINVAL : kib_ud_fill(qp, s, wr);
	if (ret)
		kib_slot_release(&qp->sq, s);
	return ret;
}

/* @data: inline data, of @len bytes */
static int send_fill(struct kib_qp *qp, struct kib_slot *s, const struct ib_send_wr *wr,
		     const u8 *data, u32 len)
{
	if (wr->num_sge > qp->sq.sge)
		return -EINVAL;
	s->step = KIB_WAITS;
	s->cqe.done = send_done;
	s->ended = send_ended;
	s->mr = NULL;
	s->status = IB_WC_SUCCESS;
	s->half = false;
	s->wr_id = wr->wr_id;
	s->opcode = wr->opcode;
	s->flags = wr->send_flags;
	if (!kib_is_connected(qp))
		return send_fill_ud(qp, s, wr, data, len);
	if (send_fetches(s) && qp->ib.qp_type != IB_QPT_RC)
		return -EINVAL;
	switch (wr->opcode) {
	case IB_WR_SEND:
		return send_map(qp, s, wr, data, len);
	case IB_WR_SEND_WITH_IMM:
		s->imm = be32_to_cpu(wr->ex.imm_data);
		return send_map(qp, s, wr, data, len);
	case IB_WR_SEND_WITH_INV:
		s->rkey = wr->ex.invalidate_rkey;
		return send_map(qp, s, wr, data, len);
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		send_fill_rdma(s, wr);
		return send_map(qp, s, wr, data, len);
	case IB_WR_RDMA_READ:
		return send_fill_read(qp, s, wr);
	case IB_WR_ATOMIC_FETCH_AND_ADD:
	case IB_WR_ATOMIC_CMP_AND_SWP:
		return send_fill_atomic(qp, s, wr);
	case IB_WR_REG_MR:
		return send_fill_reg(qp, s, reg_wr(wr));
	case IB_WR_LOCAL_INV:
		return send_fill_inv(qp, s, wr);
	default:
		return -EINVAL;
	}
}

int kib_post_send(struct ib_qp *ib, const struct ib_send_wr *wr, const struct ib_send_wr **bad)
{
	struct kib_qp *qp = to_kib_qp(ib);
	struct kib_ring *ring = &qp->sq;
	struct kib_slot *s;
	const struct ib_send_wr *first = wr;
	unsigned long flags;
	u8 data[KIB_INLINE];
	int ret = 0;
	u32 len;

	/* The lock is taken for each request, because a process chooses how many it posts. */
	for (; wr; wr = wr->next) {
		ret = send_read_inline(qp, wr, data, &len);
		if (ret)
			break;
		spin_lock_irqsave(&ring->lock, flags);
		s = kib_ring_slot(ring);
		ret = s ? send_fill(qp, s, wr, data, len) : -ENOMEM;
		if (!ret)	/* pairs with kib_send_start() */
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

/* ---- the end of a request ---- */

/*
 * End the queue pair. Raise an event, once, for an error of which no completion tells the ULP,
 * unless the ULP ends the queue pair itself.
 */
static void send_fatal(struct kib_qp *qp)
{
	struct ib_event event = {
		.device = qp->ib.device, .element.qp = &qp->ib, .event = IB_EVENT_QP_FATAL,
	};

	if (kib_qp_fail(qp) && !READ_ONCE(qp->destroyed) && qp->ib.event_handler)
		qp->ib.event_handler(&event, qp->ib.qp_context);
}

/* One of the callbacks that the request waits for has come. The queues run after that. */
static void send_ended(struct kib_slot *s)
{
	if (!atomic_dec_and_test(&s->left))
		return;
	if (send_fetches(s))
		atomic_dec(&s->qp->reads);
	smp_store_release(&s->step, KIB_DONE);	/* pairs with kib_ring_ended() */
}

static void send_done(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	struct kib_slot *s = container_of(cqe, struct kib_slot, cqe);

	if (wc->err && s->status == IB_WC_SUCCESS)
		s->status = kib_status(wc->err);
	else if (kib_is_atomic(s) && _copy_to_iter(&s->old, s->len, &s->iter) != s->len)
		s->status = IB_WC_LOC_PROT_ERR;
	send_ended(s);
}

/* ---- start ---- */

/*
 * The memory of a request is a part of a region, or has parts of it, which has to be registered by
 * now.
 */
static int send_use_region(struct kib_slot *s)
{
	struct kib_mr *mr = s->mr;
	u64 at = s->local - mr->ib.iova;

	if (!kib_mr_usable(mr, s->lkey))
		return -EINVAL;
	if (s->nr)
		return 0;	/* kib_slot_map() has found the parts */
	if (at > mr->ib.length || s->len > mr->ib.length - at)
		return -EINVAL;
	iov_iter_bvec(&s->iter, send_fetches(s) ? ITER_DEST : ITER_SOURCE, mr->vec, mr->nr,
		      mr->ib.length);
	iov_iter_advance(&s->iter, at);
	iov_iter_truncate(&s->iter, s->len);
	return 0;
}

static int send_message(struct kib_qp *qp, struct kib_slot *s, u64 flags)
{
	struct kfi_msg msg = {
		.type = KFI_ITER, .msg_iter = &s->iter, .iov_count = !!s->len,
		.context = &s->cqe, .data = s->imm, .inv_key = s->rkey,
	};

	if (s->opcode == IB_WR_RDMA_WRITE_WITH_IMM) {
		msg.iov_count = 0;
		msg.data |= KIB_CQ_WRITE | (u64)s->len << KIB_CQ_LEN_SHIFT;
	}
	if (s->opcode == IB_WR_SEND_WITH_INV)
		flags |= KFI_INVALIDATE;
	else if (s->opcode != IB_WR_SEND)
		flags |= KFI_REMOTE_CQ_DATA;
	/* A message has ended when the peer has received it: its endpoint acknowledges so. */
	return kfi_sendmsg(qp->ep, &msg, flags | KFI_CQE | KFI_TRANSMIT_COMPLETE);
}

static int send_rdma(struct kib_qp *qp, struct kib_slot *s, u64 flags)
{
	struct kfi_rma_iov rma = { .addr = s->remote, .len = s->len, .key = s->rkey };
	struct kfi_msg_rma msg = {
		.type = KFI_ITER, .msg_iter = &s->iter, .iov_count = 1,
		.rma_iov = &rma, .rma_iov_count = 1, .context = &s->cqe,
	};

	if (!s->len)
		return SEND_ENDED;	/* nothing has to be done at the peer */
	return s->opcode == IB_WR_RDMA_READ ? kfi_readmsg(qp->ep, &msg, flags | KFI_CQE) :
					      kfi_writemsg(qp->ep, &msg, flags | KFI_CQE);
}

static int send_atomic(struct kib_qp *qp, struct kib_slot *s, u64 flags)
{
	struct kfi_ioc operand = { &s->operand, 1 }, compare = { &s->compare, 1 };
	struct kfi_rma_ioc rma = { .addr = s->remote, .count = 1, .key = s->rkey };
	struct kfi_ioc old = { &s->old, 1 };
	struct kfi_msg_atomic msg = {
		.msg_iov = &operand, .iov_count = 1, .rma_iov = &rma, .rma_iov_count = 1,
		.datatype = KFI_UINT64, .op = kib_atomic_op(s), .context = &s->cqe,
	};

	if (s->opcode == IB_WR_ATOMIC_FETCH_AND_ADD)
		return kfi_fetch_atomicmsg(qp->ep, &msg, &old, NULL, 1, flags | KFI_CQE);
	return kfi_compare_atomicmsg(qp->ep, &msg, &compare, NULL, 1, &old, NULL, 1,
				     flags | KFI_CQE);
}

/* The write, if it has bytes, and then the message. Either may be refused with -EAGAIN. */
static int send_write_imm(struct kib_qp *qp, struct kib_slot *s, u64 more)
{
	int ret = 0;

	if (s->len && !s->half)
		ret = send_rdma(qp, s, KFI_MORE);
	if (ret)
		return ret;
	s->half = true;
	return send_message(qp, s, more);
}

/* Other requests wait for the end of an invalidation. */
static int send_invalidate(struct kib_qp *qp, struct kib_slot *s)
{
	if (READ_ONCE(s->mr->key) != s->rkey)
		return -EINVAL;
	qp->barrier = s;
	return kib_mr_invalidate(s->mr, s->rkey, s) ? 0 : SEND_ENDED;
}

/*
 * Return: 0: callbacks end the request; SEND_ENDED; -EAGAIN: begin again later; or another
 * negative error, with which the request ends
 */
static int send_begin(struct kib_qp *qp, struct kib_slot *s, u64 more)
{
	if (!kib_is_connected(qp)) {
		kib_ud_send(qp, s);
		return SEND_ENDED;
	}
	if (s->mr && s->len && send_use_region(s))
		return -EINVAL;
	if (kib_is_atomic(s) && s->remote % sizeof(u64))
		return -EDOM;
	switch (s->opcode) {
	case IB_WR_REG_MR:
		return kib_mr_register(s->mr, s->rkey, s->access) ?: SEND_ENDED;
	case IB_WR_LOCAL_INV:
		return send_invalidate(qp, s);
	default:
		break;
	}
	if (qp->local) {
		if (!s->len && (s->opcode == IB_WR_RDMA_WRITE || s->opcode == IB_WR_RDMA_READ))
			return SEND_ENDED;	/* nothing has to be done at the other side */
		atomic_set(&s->left, 1);
		return kib_local_begin(qp, s);
	}
	switch (s->opcode) {
	case IB_WR_RDMA_WRITE_WITH_IMM:
		return send_write_imm(qp, s, more);
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_READ:
		return send_rdma(qp, s, more);
	case IB_WR_ATOMIC_FETCH_AND_ADD:
	case IB_WR_ATOMIC_CMP_AND_SWP:
		return send_atomic(qp, s, more);
	default:
		return send_message(qp, s, more);
	}
}

/* May the request start, as far as those before it are concerned? */
static bool send_is_due(struct kib_qp *qp, const struct kib_slot *s)
{
	/* pairs with send_ended() */
	if (qp->barrier && smp_load_acquire(&qp->barrier->step) != KIB_DONE)
		return false;
	qp->barrier = NULL;
	return !(s->flags & IB_SEND_FENCE) || !atomic_read(&qp->reads);
}

/* The endpoint, or the table of regions, has no room: go on when there is some. */
static int send_wait(struct kib_qp *qp, const struct kib_slot *s)
{
	int ret;

	WRITE_ONCE(qp->stopped, true);
	if (s->opcode == IB_WR_REG_MR) {
		queue_delayed_work(kib_wq, &qp->again, 1);
		return 0;
	}
	ret = kfi_ep_tx_space(qp->ep, kib_qp_room, qp);
	return ret == -EALREADY ? 0 : ret;
}

/*
 * Start the request at &kib_ring.next, or end it with @status. Return: false if it has to wait;
 * then kib_qp_room() follows.
 */
static bool send_start_one(struct kib_qp *qp, struct kib_slot *s, enum ib_wc_status status,
			   u64 more)
{
	bool two = s->opcode == IB_WR_RDMA_WRITE_WITH_IMM && s->len;
	int ret = SEND_ENDED;

	if (!s->half)
		atomic_set(&s->left, two ? 2 : 1);
	if (send_fetches(s))
		atomic_inc(&qp->reads);
	s->step = KIB_STARTED;
	if (status == IB_WC_SUCCESS)
		ret = send_begin(qp, s, more);
	if (ret == -EAGAIN)
		ret = send_wait(qp, s) ?: SEND_WAITS;
	if (ret == SEND_WAITS) {
		if (send_fetches(s))
			atomic_dec(&qp->reads);
		return false;
	}
	if (ret < 0)
		status = kib_status(-ret);
	if (status != IB_WC_SUCCESS) {
		s->status = status;
		qp->sq_stop = true;	/* a SEND may depend on it */
	}
	qp->sq.next++;
	if (ret && two && !s->half)
		atomic_set(&s->left, 1);	/* neither operation was posted */
	if (ret)
		send_ended(s);
	return true;
}

/* Start what can be started. The caller has the claim. */
void kib_send_start(struct kib_qp *qp)
{
	struct kib_ring *ring = &qp->sq;
	enum kib_qp_state state;
	bool flush = false, more;
	struct kib_slot *s;
	u32 head;

	/* pairs with kib_post_send(): the state is that of the post, or a later one */
	while (ring->next != (head = smp_load_acquire(&ring->head))) {
		state = READ_ONCE(qp->state);
		s = kib_slot(ring, ring->next);
		if (state == KIB_QP_FLUSH) {
			send_start_one(qp, s, IB_WC_WR_FLUSH_ERR, 0);
			continue;
		}
		if (state != KIB_QP_READY || !READ_ONCE(qp->rts) || qp->sq_stop ||
		    READ_ONCE(qp->stopped) ||
		    !send_is_due(qp, s))
			break;
		more = ring->next + 1 != head;
		flush |= more;
		if (!send_start_one(qp, s, IB_WC_SUCCESS, more ? KFI_MORE : 0))
			break;
	}
	if (flush && qp->ep)	/* the last request may be none that is posted */
		kfi_ep_tx_flush(qp->ep);
}

/* ---- report ---- */

static enum ib_wc_opcode send_opcode(enum ib_wr_opcode opcode)
{
	switch (opcode) {
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		return IB_WC_RDMA_WRITE;
	case IB_WR_RDMA_READ:
		return IB_WC_RDMA_READ;
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		return IB_WC_FETCH_ADD;
	case IB_WR_ATOMIC_CMP_AND_SWP:
		return IB_WC_COMP_SWAP;
	case IB_WR_REG_MR:
		return IB_WC_REG_MR;
	case IB_WR_LOCAL_INV:
		return IB_WC_LOCAL_INV;
	default:
		return IB_WC_SEND;
	}
}

/* The first request has failed. If the peer is lost, that is an error of the queue pair as well. */
static void send_failed(struct kib_qp *qp, enum ib_wc_status status)
{
	bool lost = status == IB_WC_WR_FLUSH_ERR || status == IB_WC_RETRY_EXC_ERR;

	qp->sq_failed = true;
	if (status != IB_WC_WR_FLUSH_ERR)
		kib_count(qp->dev, KIB_FAILED, 1);
	qp->sq_stop = true;
	if (lost)
		send_fatal(qp);
	else
		kib_qp_fail(qp);
}

/*
 * A request that has ended because the connection has, while the queue pair has not: hardware would
 * have repeated it in vain.
 */
static enum ib_wc_status send_status(const struct kib_qp *qp, const struct kib_slot *s)
{
	if (qp->sq_failed)
		return IB_WC_WR_FLUSH_ERR;
	if (s->status == IB_WC_WR_FLUSH_ERR && (READ_ONCE(qp->late) ||
						READ_ONCE(qp->state) == KIB_QP_READY))
		return IB_WC_RETRY_EXC_ERR;
	return s->status;
}

/*
 * Report the requests that have ended, as far as all before them have and the completion queue has
 * room. What a queue pair that is destroyed reports would be forgotten. Behind the first that has
 * failed none succeeds. The slot is free before its entry can be read, because the ULP posts the
 * next request then. The caller has the claim.
 */
void kib_send_report(struct kib_qp *qp)
{
	struct kib_ring *ring = &qp->sq;
	struct ib_wc wc = { .qp = &qp->ib, .port_num = 1 };
	struct kib_slot *s;
	bool report;

	while ((s = kib_ring_ended(ring))) {
		wc.status = send_status(qp, s);
		wc.wr_id = s->wr_id;
		wc.opcode = send_opcode(s->opcode);
		wc.byte_len = s->len;
		report = !READ_ONCE(qp->destroyed) && (qp->sig_all ||
			 s->flags & IB_SEND_SIGNALED || wc.status != IB_WC_SUCCESS);
		if (report && !kib_cq_reserve(qp->ib.send_cq, &qp->send_room))
			break;
		if (qp->barrier == s)
			qp->barrier = NULL;
		kib_slot_release(ring, s);
		if (wc.status == IB_WC_SUCCESS)
			kib_count_send(qp->dev, s);
		smp_store_release(&ring->tail, ring->tail + 1);	/* pairs with kib_ring_slot() */
		if (wc.status != IB_WC_SUCCESS && !qp->sq_failed)
			send_failed(qp, wc.status);
		if (report)
			kib_cq_add(qp->ib.send_cq, &wc);
	}
}
