// SPDX-License-Identifier: GPL-2.0
/*
 * bare.c - connected endpoints of the protocol KFI_PROTO_RDMA_CM_IB_RC: a reliable queue pair as it is. A message is one SEND, and lands
 * in the receive that was posted for it: no header, no credit, no copy. Who is at the other end need not be kfabric.
 *
 *	kv_bare_recv()	onto the device's receive queue, or a list until there is one: before the endpoint is connected
 *	kv_bare_came()	softirq: the device has filled the oldest of them
 *	kv_bare_put()	a message into the send queue, which is the same as that of other connections (sq.c, tx.c)
 *
 * All else that a connection has (cm.c, conn.c, qp.c) it has as well, but no hello: private data is the consumer's alone. What is given up
 * for that is in docs/wire-verbs.md.
 *
 * Receives. The device completes them in the order of posting, so those that it has are a ring (struct kv_rqe) between kv_conn.rq_tail and
 * kv_conn.rq_head, which has room for every operation of the endpoint. An entry is written before it is posted and read when it is reported,
 * and belongs to the connection: a broken device may tell of it when the operation is long over (drain.c). &kv_rq.lock is held while one
 * is posted, so that none is behind the end of the queue pair; it is a leaf but for what ib_post_recv() takes.
 */
#include <linux/memremap.h>
#include <linux/slab.h>
#include "verbs.h"

#define KV_BARE_LACKS	(KFI_TAGGED | KFI_RMA | KFI_ATOMIC | KFI_MULTI_RECV | KFI_TAGGED_RMA | KFI_SOURCE | KFI_DIRECTED_RECV)

/* Receiver not ready: how long the peer's device waits before it tries again. */
#define KV_RNR_TIMER	IB_RNR_TIMER_000_32

/**
 * struct kv_rqe - a receive that the device has
 * @cqe:	its completion
 * @op:		the consumer's
 * @data:	it has come, with @imm; @len: its bytes; @err: or what went wrong; @flushed: that was the connection
 * @held:	in &kv_conn.held: that was before the consumer knew of the connection
 * @nsge: @sge: its memory, mapped
 */
struct kv_rqe {
	struct ib_cqe		cqe;
	struct kv_conn		*conn;
	struct kfi_oper		*op;
	u32			len;
	__be32			imm;
	int			err;
	bool			data;
	bool			flushed;
	u8			nsge;
	struct list_head	held;
	struct ib_sge		sge[KV_SGE];
};

static void kv_bare_came(struct ib_cq *cq, struct ib_wc *wc);

/* What this protocol can't be asked for; iWARP ends a connection when there is no receive. */
int kv_bare_open(struct kv_ep *vep)
{
	struct kfi_ep *ep = &vep->ep;

	if (ep->type != KFI_EP_MSG)
		return -EINVAL;
	ep->hw_recv = true;
	if (ep->rx.depth > to_kv_domain(ep->domain)->max_receives)
		return -EINVAL;
	if (ep->caps & KV_BARE_LACKS || ep->info->ep_attr->auth_key_size || to_kv_domain(ep->domain)->iwarp)
		return -EOPNOTSUPP;
	return 0;
}

/* ---- receives ---- */

static void kv_rqe_unmap(struct kv_rqe *e)
{
	struct ib_device *ib = e->conn->kdom->ib;
	unsigned int i;

	for (i = 0; i < e->nsge; i++)
		ib_dma_unmap_page(ib, e->sge[i].addr, e->sge[i].length, DMA_FROM_DEVICE);
}

/* The iterator is moved only where there is more than one piece: mostly there is not. */
static int kv_rqe_map(struct kv_rqe *e, const struct kfi_oper *op)
{
	struct kv_domain *kdom = e->conn->kdom;
	unsigned int max = kv_bare_pieces(kdom->max_recv_sge);
	struct iov_iter iter = op->iter;
	size_t left = op->len, off, n;
	struct page *page;
	u64 dma;

	e->nsge = 0;
	if (unlikely(left > SZ_2G))
		return -EMSGSIZE;	/* no device has such */
	for (; left; left -= n) {
		if (e->nsge)
			iov_iter_advance(&iter, e->sge[e->nsge - 1].length);
		if (unlikely(e->nsge == max))
			return -EMSGSIZE;
		n = kv_piece(&iter, &page, &off);
		if (unlikely(is_pci_p2pdma_page(page)) && !ib_uses_virt_dma(kdom->ib))
			return -EIO;	/* that is found out for what is sent, see sq.c */
		dma = ib_dma_map_page(kdom->ib, page, off, n, DMA_FROM_DEVICE);
		if (unlikely(ib_dma_mapping_error(kdom->ib, dma)))
			return -EIO;
		e->sge[e->nsge++] = (struct ib_sge){ dma, n, kdom->pd->local_dma_lkey };
	}
	return 0;
}

/* The lock of its queue is held. */
static int kv_rqe_post(struct kv_conn *conn, struct kfi_oper *op)
{
	struct kv_rqe *e = &conn->rqe[conn->rq_head & conn->rq_mask];
	struct ib_recv_wr wr = { .wr_cqe = &e->cqe, .sg_list = e->sge };
	int ret = kv_rqe_map(e, op);

	e->op = op;
	wr.num_sge = e->nsge;
	ret = ret ?: ib_post_recv(conn->qp, &wr, NULL);
	if (likely(!ret))
		conn->rq_head++;
	else
		kv_rqe_unmap(e);
	return ret;
}

/* There is no queue pair yet that would say how many pieces are too many. */
static int kv_bare_wait(struct kv_rq *rq, struct kfi_oper *op)
{
	unsigned int left = kv_bare_pieces(to_kv_domain(op->ep->domain)->max_recv_sge);
	struct iov_iter iter = op->iter;
	struct page *page;
	size_t off;

	while (iov_iter_count(&iter)) {
		if (!left--)
			return -EMSGSIZE;
		kv_take_piece(&iter, SIZE_MAX, &page, &off);
	}
	list_add_tail(&op->link, &rq->waiting);
	return 0;
}

/* &kfi_prov_ops.rx_posted */
int kv_bare_recv(struct kfi_ep *ep, struct kfi_oper *op)
{
	struct kv_rq *rq = &to_kv_ep(ep)->rq;
	int ret;

	spin_lock(&rq->lock);
	if (likely(rq->conn))
		ret = kv_rqe_post(rq->conn, op);
	else
		ret = rq->over ? -ESHUTDOWN : kv_bare_wait(rq, op);
	spin_unlock(&rq->lock);
	return ret;
}

/* &kfi_prov_ops.rx_cancel: what the device has it keeps. */
struct kfi_oper *kv_bare_cancel(struct kfi_ep *ep, void *context)
{
	struct kv_rq *rq = &to_kv_ep(ep)->rq;
	struct kfi_oper *op, *found = NULL;

	spin_lock_bh(&rq->lock);
	list_for_each_entry(op, &rq->waiting, link) {
		if (op->context == context) {
			list_del(&op->link);
			found = op;
			break;
		}
	}
	spin_unlock_bh(&rq->lock);
	return found;
}

/* ---- what comes ---- */

/* The peer's device has written, or made invalid, what no SEND does: whoever has a key of ours may. It is no message. */
static bool kv_bare_odd(const struct kv_conn *conn, const struct ib_wc *wc)
{
	if (unlikely(wc->wc_flags & IB_WC_WITH_INVALIDATE)) {
		kv_region_spoilt(conn->kdom, wc->ex.invalidate_rkey);
		return true;
	}
	return wc->opcode != IB_WC_RECV;
}

/*
 * What ended the connection, or soon will have. A message may have made it ready when the failure of the attempt had
 * been noted already: that is the end of a connection, then.
 */
static int kv_bare_why(const struct kv_conn *conn)
{
	int err = READ_ONCE(conn->error);

	if (!err)
		return kv_conn_end(conn);
	return READ_ONCE(conn->state) == KV_READY ? kv_conn_was(conn) : err;
}

static int kv_bare_error(struct kv_conn *conn, const struct ib_wc *wc)
{
	switch (wc->status) {
	case IB_WC_SUCCESS:
		return likely(!kv_bare_odd(conn, wc)) ? 0 : -EPROTO;
	case IB_WC_LOC_LEN_ERR:
		return -KFI_ETRUNC;
	case IB_WC_WR_FLUSH_ERR:
		return kv_bare_why(conn);
	default:
		return -EIO;
	}
}

/* The entry may be used anew when its operation is told of. */
static void kv_bare_deliver(struct kv_rqe *e, int err)
{
	struct kv_conn *conn = e->conn;
	struct kfi_oper *op = e->op;

	if (unlikely(err)) {
		kfi_recv_complete(op, 0, 0, 0, err);
		return;
	}
	conn->rx_bytes += e->len;
	__kfi_stat_add(op->ep, placed, e->len);
	kfi_recv_complete(op, e->len, e->data ? KFI_REMOTE_CQ_DATA : 0, e->data ? be32_to_cpu(e->imm) : 0, 0);
}

/* What went wrong with it, and with the connection. */
static void kv_bare_failed(struct kv_conn *conn, const struct ib_wc *wc, int err)
{
	if (wc->status == IB_WC_WR_FLUSH_ERR)
		kv_conn_flushed(conn);
	else
		kv_conn_fail(conn, err == -KFI_ETRUNC ? kv_conn_end(conn) : err);
}

/*
 * The consumer does not know of the connection yet: what comes waits, errors too, for they are behind it. rdma_cm may not know either, if the
 * caller's last word is late, or lost.
 */
static bool kv_bare_hold(struct kv_rqe *e)
{
	struct kv_conn *conn = e->conn;
	bool held;

	spin_lock(&conn->rx_lock);
	held = conn->rx_held;
	if (held)
		list_add_tail(&e->held, &conn->held);
	spin_unlock(&conn->rx_lock);
	if (held && !e->err && !conn->pc.dialed)
		kv_cm_step(conn, KV_STEP_HEARD);
	return held;
}

static void kv_bare_came(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kv_rqe *e = container_of(wc->wr_cqe, struct kv_rqe, cqe);
	struct kv_conn *conn = e->conn;
	int err = kv_bare_error(conn, wc);

	kv_rqe_unmap(e);
	conn->rq_tail++;
	conn->heard = jiffies;
	e->err = err;
	e->flushed = wc->status == IB_WC_WR_FLUSH_ERR;
	e->len = wc->byte_len;
	e->data = wc->wc_flags & IB_WC_WITH_IMM;
	e->imm = wc->ex.imm_data;
	if (unlikely(err))
		kv_bare_failed(conn, wc, err);
	/* Pairs with kv_bare_release(): what was held has been told of before. */
	if (unlikely(smp_load_acquire(&conn->rx_held)) && kv_bare_hold(e))
		return;
	kfi_batch_begin();
	kv_bare_deliver(e, err);
	kfi_batch_end();
}

/* With the lock of what comes: it is behind what has come. */
static void kv_bare_release(struct kv_conn *conn, int err)
{
	struct kv_rqe *e, *next;

	spin_lock_bh(&conn->rx_lock);
	list_for_each_entry_safe(e, next, &conn->held, held) {
		list_del(&e->held);
		kv_bare_deliver(e, e->flushed ? kv_bare_why(conn) : e->err ?: err);
	}
	smp_store_release(&conn->rx_held, false);	/* pairs with kv_bare_came() */
	spin_unlock_bh(&conn->rx_lock);
}

/* The consumer knows. */
void kv_bare_ready(struct kv_conn *conn)
{
	kv_bare_release(conn, 0);
}

/* ---- the ring ---- */

/* What has been posted before there was a queue pair goes to the device now. */
static int kv_rq_fill(struct kv_rq *rq, struct kv_conn *conn)
{
	struct kfi_oper *op, *next;
	int ret = 0;

	spin_lock_bh(&rq->lock);
	list_for_each_entry_safe(op, next, &rq->waiting, link) {
		ret = kv_rqe_post(conn, op);
		if (ret)
			break;
		list_del(&op->link);
	}
	if (!ret)
		rq->conn = conn;
	spin_unlock_bh(&rq->lock);
	return ret;
}

int kv_rq_create(struct kv_conn *conn)
{
	u32 i, size = roundup_pow_of_two(conn->vep->ep.rx.depth);

	conn->rqe = kvcalloc(size, sizeof(*conn->rqe), GFP_NOIO);
	if (!conn->rqe)
		return -ENOMEM;
	for (i = 0; i < size; i++) {
		conn->rqe[i].conn = conn;
		conn->rqe[i].cqe.done = kv_bare_came;
	}
	conn->rq_mask = size - 1;
	conn->rx_held = true;
	return kv_rq_fill(&conn->vep->rq, conn);
}

/* Before the queue pair is told to stop: it is given no more. */
void kv_rq_stop(struct kv_conn *conn)
{
	struct kv_rq *rq = &conn->vep->rq;

	spin_lock_bh(&rq->lock);
	rq->conn = NULL;
	rq->over = true;
	spin_unlock_bh(&rq->lock);
}

/* The device is broken and may still tell of them: kv_qp_forget() */
void kv_rq_late(struct kv_conn *conn)
{
	u32 i;

	for (i = 0; conn->rqe && i <= conn->rq_mask; i++)
		WRITE_ONCE(conn->rqe[i].cqe.done, kv_late_done);
}

/* The endpoint stops, or its connection has ended: what was never given to a device. */
void kv_rq_end(struct kv_ep *vep, int err)
{
	struct kv_rq *rq = &vep->rq;
	struct kfi_oper *op, *next;
	LIST_HEAD(ops);

	spin_lock_bh(&rq->lock);
	rq->over = true;
	list_splice_init(&rq->waiting, &ops);
	spin_unlock(&rq->lock);
	list_for_each_entry_safe(op, next, &ops, link)
		kfi_recv_complete(op, 0, 0, 0, err);
	local_bh_enable();
}

void kv_rq_restart(struct kv_ep *vep)
{
	struct kv_rq *rq = &vep->rq;

	spin_lock_bh(&rq->lock);
	rq->over = false;
	spin_unlock_bh(&rq->lock);
}

/* There was a connection that the consumer has not been told of: rdma_cm has said so, or the first that came was a message. */
static bool kv_bare_proven(struct kv_conn *conn)
{
	struct kv_rqe *first = list_first_entry_or_null(&conn->held, struct kv_rqe, held);

	return conn->state == KV_ACCEPTED && (test_bit(KV_STEP_READY, &conn->flags) || (first && !first->err));
}

/*
 * The queue pair is gone, and nobody tells of anything any more. A peer may have sent and left, or broken a rule, before the consumer knew of
 * him: what was received is received.
 */
void kv_rq_lost(struct kv_conn *conn)
{
	struct kv_rqe *e;

	kv_cm_settle(conn);
	kv_bare_release(conn, kv_bare_proven(conn) && kv_msg_was_ready(conn) ? 0 : conn->error);
	local_bh_disable();
	for (; conn->rq_tail != conn->rq_head; conn->rq_tail++) {
		e = &conn->rqe[conn->rq_tail & conn->rq_mask];
		kv_rqe_unmap(e);
		kfi_recv_complete(e->op, 0, 0, 0, conn->error);
	}
	local_bh_enable();
	kv_rq_end(conn->vep, conn->error);
}

/* ---- sending ---- */

static int kv_bare_map(struct kv_conn *conn, struct kv_sqe *e, struct kfi_oper *op)
{
	struct iov_iter iter = op->iter;
	ssize_t n;

	if (op->len <= KV_INLINE) {
		WARN_ON_ONCE(kfi_copy_from(e->buf, &op->iter, op->len) != op->len);
		__kfi_stat_add(op->ep, copied, op->len);
		e->nsge = !!op->len;
		if (op->len)
			kv_put_buf(conn, e, op->len);
		return 0;
	}
	n = kv_sq_map(conn, e, &iter, op->len, kv_bare_pieces(conn->kdom->max_send_sge), DMA_TO_DEVICE);
	if (unlikely(n != op->len))
		return n < 0 ? n : -EMSGSIZE;
	return 0;
}

/* There is room for it. The lock is held. */
void kv_bare_put(struct kv_conn *conn, struct kfi_oper *op, struct kv_done *done)
{
	struct kv_sqe *e = kv_sq_get(conn, KV_SQ_PACKET);
	int ret;

	e->wr.send.opcode = IB_WR_SEND;
	if (op->flags & KFI_REMOTE_CQ_DATA) {
		e->wr.send.opcode = IB_WR_SEND_WITH_IMM;
		e->wr.send.ex.imm_data = cpu_to_be32(op->data);
	}
	ret = kv_bare_map(conn, e, op);
	if (unlikely(ret)) {
		kv_sq_unmap(conn, e);
		kv_op_end(op, ret, done);
		return;
	}
	conn->tx_bytes += op->len;
	kv_sent(conn, e, op, 0, done);
	kv_sq_put(conn, e, &e->wr.send, e->op);
}

/* ---- rdma_cm ---- */

void kv_bare_tune(struct kv_conn *conn)
{
	rdma_set_min_rnr_timer(conn->id, KV_RNR_TIMER);
}

/* Private data, as much as a consumer can have; InfiniBand pads it with zeros, and does not say where they begin. */
static void kv_bare_data(struct kv_conn *conn, const void *data, u8 len)
{
	struct kvw_greeting *g = &conn->greeting;

	g->data_len = data ? min_t(u8, len, KVW_DATA_MAX) : 0;
	memcpy(g->data, data, g->data_len);
}

/* Somebody calls a listener. */
int kv_bare_called(struct kv_conn *conn, const struct rdma_cm_id *id, const struct rdma_conn_param *param)
{
	if (rdma_protocol_iwarp(id->device, id->port_num))
		return -EOPNOTSUPP;
	kv_bare_data(conn, param->private_data, param->private_data_len);
	return 0;
}

/* Each side hears that it is connected. */
void kv_bare_established(struct kv_conn *conn, const struct rdma_conn_param *param)
{
	if (conn->pc.dialed) {
		kv_bare_data(conn, param->private_data, param->private_data_len);
		conn->stands = true;
		conn->state = KV_ACCEPTED;
	}
	if (conn->state == KV_ACCEPTED)
		kv_cm_step(conn, KV_STEP_READY);
}

/* By a consumer, who may say why, or because nobody listens. */
int kv_bare_rejected(struct kv_conn *conn, struct rdma_cm_event *event)
{
	struct kvw_greeting hello;
	const void *data;
	u8 len = 0;

	data = rdma_consumer_reject_data(conn->id, event, &len);
	if (data && !kvw_decode_hello(data, len, &hello))
		data = NULL;	/* a listener that wants a hello: these are not its consumer's words */
	kv_bare_data(conn, data, len);
	conn->greeting.kind = KVW_REJECT;
	return -ECONNREFUSED;
}
