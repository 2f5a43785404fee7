// SPDX-License-Identifier: GPL-2.0
/*
 * work.c - work requests: a receive waits for its message, all others are executed when they are
 * posted.
 */
#include <linux/bottom_half.h>
#include <linux/irqflags.h>
#include "null.h"

/**
 * struct nd_quiet - interrupts off, and bottom halves disabled outside of that
 *
 * Consumers that are notified meanwhile are polled when bottom halves are enabled again. A poster
 * with interrupts off can't enable them: then ksoftirqd polls, as soon as it is scheduled.
 */
struct nd_quiet {
	unsigned long	flags;
	bool		bottom;
};

static void nd_quiet_begin(struct nd_quiet *quiet) __acquires(RCU)
{
	quiet->bottom = !irqs_disabled();
	if (quiet->bottom)
		local_bh_disable();
	local_irq_save(quiet->flags);
	rcu_read_lock();
}

static void nd_quiet_end(struct nd_quiet *quiet) __releases(RCU)
{
	rcu_read_unlock();
	local_irq_restore(quiet->flags);
	if (quiet->bottom)
		local_bh_enable();
}

/* ---- receives ---- */

static struct nd_recv *nd_recv_at(const struct nd_qp *qp, u32 position)
{
	return qp->ring + (position & (qp->size - 1)) * qp->stride;
}

static void nd_recv_put(struct nd_qp *qp, const struct ib_recv_wr *wr)
{
	struct nd_recv *recv = nd_recv_at(qp, qp->head++);
	int i;

	recv->wr_id = wr->wr_id;
	recv->nsge = wr->num_sge;
	for (i = 0; i < wr->num_sge; i++)
		recv->sge[i] = wr->sg_list[i];
}

static void nd_recvs_flush(struct nd_qp *qp)
{
	struct ib_wc wc = { .status = IB_WC_WR_FLUSH_ERR, .opcode = IB_WC_RECV, .qp = &qp->ib };

	lockdep_assert_held(&qp->lock);
	while (qp->tail != qp->head) {
		wc.wr_id = nd_recv_at(qp, qp->tail++)->wr_id;
		nd_cq_put(to_nd_cq(qp->ib.recv_cq), &wc, true);
	}
}

int nd_post_recv(struct ib_qp *ib, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad)
{
	struct nd_qp *qp = to_nd_qp(ib);
	struct nd_quiet quiet;
	int ret = 0;

	nd_quiet_begin(&quiet);
	spin_lock(&qp->lock);
	for (; wr && !ret; wr = wr->next) {
		*bad = wr;
		if (qp->state == IB_QPS_RESET)
			ret = -EINVAL;
		else if (qp->head - qp->tail == qp->size)
			ret = -ENOMEM;
		else
			nd_recv_put(qp, wr);
	}
	if (unlikely(qp->state == IB_QPS_ERR && !READ_ONCE(nd_deaf)))
		nd_recvs_flush(qp);
	spin_unlock(&qp->lock);
	nd_cq_tell(to_nd_cq(ib->recv_cq));
	nd_quiet_end(&quiet);
	return ret;
}

/* The queue pair can't be used any more, and gets @state. If @flush, its receives complete. */
void nd_qp_end(struct nd_qp *qp, enum ib_qp_state state, bool flush)
{
	struct nd_quiet quiet;

	nd_quiet_begin(&quiet);
	spin_lock(&qp->lock);
	qp->state = state;
	if (flush)
		nd_recvs_flush(qp);
	qp->tail = state == IB_QPS_RESET ? qp->head : qp->tail;
	spin_unlock(&qp->lock);
	nd_cq_tell(to_nd_cq(qp->ib.recv_cq));
	nd_quiet_end(&quiet);
}

/* ---- messages ---- */

/* Return: false if they do not fit. */
bool nd_put(struct nd_place *place, const void *from, u32 len)
{
	u32 n;

	for (; len; from += n, len -= n) {
		while (place->nsge && place->at == place->sge->length) {
			place->sge++;
			place->nsge--;
			place->at = 0;
		}
		if (!place->nsge)
			return false;
		n = min(len, place->sge->length - place->at);
		memcpy(ib_virt_dma_to_ptr(place->sge->addr) + place->at, from, n);
		place->at += n;
	}
	return true;
}

static bool nd_fill(struct nd_recv *recv, const struct ib_send_wr *wr, const struct nd_ah *ah,
		    struct ib_wc *wc)
{
	struct nd_place place = { recv->sge, recv->nsge };
	int i;

	if (ah) {
		wc->wc_flags = IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE;
		wc->network_hdr_type = ah->net_type;
		wc->byte_len = sizeof(ah->hdr);
		if (!nd_put(&place, &ah->hdr, sizeof(ah->hdr)))
			return false;
	}
	for (i = 0; i < wr->num_sge; i++) {
		wc->byte_len += wr->sg_list[i].length;
		if (!nd_put(&place, ib_virt_dma_to_ptr(wr->sg_list[i].addr), wr->sg_list[i].length))
			return false;
	}
	return true;
}

/* Set the fields that go with the payload. Return: false if the receiver does not permit them. */
static bool nd_fill_extra(struct nd_qp *to, const struct ib_send_wr *wr, struct ib_wc *wc)
{
	if (wr->opcode == IB_WR_SEND_WITH_IMM) {
		wc->wc_flags |= IB_WC_WITH_IMM;
		wc->ex.imm_data = wr->ex.imm_data;
	} else if (wr->opcode == IB_WR_SEND_WITH_INV) {
		wc->wc_flags |= IB_WC_WITH_INVALIDATE;
		wc->ex.invalidate_rkey = wr->ex.invalidate_rkey;
		return nd_mr_invalid(to->ib.device, wr->ex.invalidate_rkey);
	}
	return true;
}

/* Copy into the next receive. Return: status for the sender of a connection */
static enum ib_wc_status nd_take(struct nd_qp *to, const struct ib_send_wr *wr,
				 const struct nd_ah *ah, struct ib_wc *wc)
{
	struct nd_recv *recv = nd_recv_at(to, to->tail);

	lockdep_assert_held(&to->lock);
	if (unlikely(to->state != IB_QPS_RTR && to->state != IB_QPS_RTS))
		return IB_WC_RETRY_EXC_ERR;
	if (unlikely(to->tail == to->head))
		return IB_WC_RNR_RETRY_EXC_ERR;
	to->tail++;
	wc->wr_id = recv->wr_id;
	if (unlikely(!nd_fill(recv, wr, ah, wc)))
		wc->status = IB_WC_LOC_LEN_ERR;
	else if (unlikely(!nd_fill_extra(to, wr, wc)))
		wc->status = IB_WC_LOC_ACCESS_ERR;
	nd_cq_put(to_nd_cq(to->ib.recv_cq), wc, wr->send_flags & IB_SEND_SOLICITED || wc->status);
	return wc->status ? IB_WC_REM_INV_REQ_ERR : IB_WC_SUCCESS;
}

static enum ib_wc_status nd_message(struct nd_qp *qp, struct nd_qp *to, const struct ib_send_wr *wr,
				    const struct nd_ah *ah)
{
	struct ib_wc wc = {
		.opcode = IB_WC_RECV, .qp = &to->ib, .src_qp = qp->ib.qp_num, .port_num = 1
	};
	enum ib_wc_status status;

	spin_lock(&to->lock);
	status = nd_take(to, wr, ah, &wc);
	spin_unlock(&to->lock);
	nd_cq_tell(to_nd_cq(to->ib.recv_cq));
	return status;
}

/* ---- kinds of queue pairs ---- */

static struct nd_qp *nd_addressee(const struct nd_ah *ah, u32 number)
{
	struct nd_device *dev = nd_device_find(ah->mac);
	struct nd_qp *to;

	if (!dev)
		return NULL;
	to = number == 1 ? rcu_dereference(dev->gsi) : nd_qp_find(number);
	return to && to->ib.device == &dev->ib && to->ib.qp_type != IB_QPT_RC ? to : NULL;
}

/* A datagram succeeds whether or not it arrives. */
static enum ib_wc_status nd_datagram(struct nd_qp *qp, const struct ib_ud_wr *wr)
{
	const struct nd_ah *ah = to_nd_ah(wr->ah);
	struct nd_qp *to = nd_addressee(ah, wr->remote_qpn);
	u32 qkey = wr->remote_qkey & BIT(31) ? qp->qkey : wr->remote_qkey;

	if (wr->wr.opcode != IB_WR_SEND && wr->wr.opcode != IB_WR_SEND_WITH_IMM)
		return IB_WC_LOC_QP_OP_ERR;
	if (to && to->qkey == qkey)
		nd_message(qp, to, &wr->wr, ah);
	return IB_WC_SUCCESS;
}

/* Execute a request that needs the other end. */
static enum ib_wc_status nd_transfer(struct nd_qp *qp, struct nd_qp *peer,
				     const struct ib_send_wr *wr)
{
	if (unlikely(!peer || (READ_ONCE(peer->state) != IB_QPS_RTS &&
			       READ_ONCE(peer->state) != IB_QPS_RTR)))
		return IB_WC_RETRY_EXC_ERR;
	switch (wr->opcode) {
	case IB_WR_SEND:
	case IB_WR_SEND_WITH_IMM:
	case IB_WR_SEND_WITH_INV:
		return nd_message(qp, peer, wr, NULL);
	case IB_WR_RDMA_WRITE:
		return nd_mr_write(peer->ib.pd, rdma_wr(wr)) ? IB_WC_SUCCESS : IB_WC_REM_ACCESS_ERR;
	case IB_WR_RDMA_READ:
		return nd_mr_read(peer->ib.pd, rdma_wr(wr)) ? IB_WC_SUCCESS : IB_WC_REM_ACCESS_ERR;
	default:
		return IB_WC_LOC_QP_OP_ERR;
	}
}

static enum ib_wc_status nd_work(struct nd_qp *qp, struct nd_qp *peer, const struct ib_send_wr *wr)
{
	if (unlikely(READ_ONCE(qp->state) == IB_QPS_ERR))
		return IB_WC_WR_FLUSH_ERR;
	if (qp->ib.qp_type != IB_QPT_RC)
		return nd_datagram(qp, ud_wr(wr));
	switch (wr->opcode) {
	case IB_WR_REG_MR:
		nd_mr_valid(reg_wr(wr));
		return IB_WC_SUCCESS;
	case IB_WR_LOCAL_INV:
		return nd_mr_invalid(qp->ib.device, wr->ex.invalidate_rkey) ? IB_WC_SUCCESS :
									      IB_WC_LOC_PROT_ERR;
	default:
		return nd_transfer(qp, peer, wr);
	}
}

/* ---- sends ---- */

static enum ib_wc_opcode nd_wc_opcode(enum ib_wr_opcode opcode)
{
	switch (opcode) {
	case IB_WR_RDMA_WRITE:
		return IB_WC_RDMA_WRITE;
	case IB_WR_RDMA_READ:
		return IB_WC_RDMA_READ;
	case IB_WR_REG_MR:
		return IB_WC_REG_MR;
	case IB_WR_LOCAL_INV:
		return IB_WC_LOCAL_INV;
	default:
		return IB_WC_SEND;
	}
}

static void nd_ended(struct nd_qp *qp, struct nd_qp *peer, const struct ib_send_wr *wr,
		     enum ib_wc_status status)
{
	struct ib_wc wc = {
		.wr_id = wr->wr_id,
		.status = status,
		.opcode = nd_wc_opcode(wr->opcode),
		.qp = &qp->ib,
	};

	nd_cq_put(to_nd_cq(qp->ib.send_cq), &wc, status);
	nd_cq_tell(to_nd_cq(qp->ib.send_cq));
	if (likely(!status) || status == IB_WC_WR_FLUSH_ERR)
		return;
	nd_qp_end(qp, IB_QPS_ERR, !READ_ONCE(nd_deaf));
	if (status == IB_WC_REM_INV_REQ_ERR || status == IB_WC_REM_ACCESS_ERR)
		nd_qp_end(peer, IB_QPS_ERR, !READ_ONCE(nd_deaf));
}

static int nd_send(struct nd_qp *qp, struct nd_qp *peer, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad)
{
	enum ib_wc_status status;

	for (; wr; wr = wr->next) {
		*bad = wr;
		if (unlikely(READ_ONCE(qp->state) < IB_QPS_RTS || wr->num_sge > ND_SGE))
			return -EINVAL;
		status = nd_work(qp, peer, wr);
		if (status || qp->signal_all || wr->send_flags & IB_SEND_SIGNALED)
			nd_ended(qp, peer, wr, status);
	}
	return 0;
}

int nd_post_send(struct ib_qp *ib, const struct ib_send_wr *wr, const struct ib_send_wr **bad)
{
	struct nd_qp *qp = to_nd_qp(ib);
	struct nd_quiet quiet;
	int ret;

	nd_quiet_begin(&quiet);
	ret = nd_send(qp, rcu_dereference(qp->peer), wr, bad);
	nd_quiet_end(&quiet);
	return ret;
}
