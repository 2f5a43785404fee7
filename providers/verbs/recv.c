// SPDX-License-Identifier: GPL-2.0
/*
 * recv.c - receives of MSG endpoints, which the device fills itself.
 *
 *   kv_plain_recv()	puts a receive into the device's receive queue, or into a list before the
 *			endpoint is connected
 *   kv_plain_recv_done()	softirq: the device has filled the oldest receive
 *   kv_rq_lost()	the connection has ended: completes all other receives
 *
 * The device completes receives in the order of posting. So posted receives are in a ring (struct
 * kv_rqe) between kv_conn.rq_tail and kv_conn.rq_head, which has room for all receives of the
 * endpoint. An entry is written before it is posted and read when it is reported. Receives are
 * posted under kv_rq.lock, so that none is posted after the queue pair was stopped.
 */
#include <linux/memremap.h>
#include <linux/slab.h>
#include "verbs.h"

/**
 * struct kv_rqe - a receive that was posted to the device
 * @cqe: its completion
 * @conn: the connection
 * @op: the operation
 * @len: bytes received
 * @imm: remote CQ data, if @data
 * @inv: KFI_INVALIDATE or KFI_INVALIDATE_DUE, if the message names the region @rkey; else 0
 * @err: error of the receive, negative, or 0
 * @flushed: the receive has failed because the connection has ended
 * @held: entry in &kv_conn.held, until KFI_CONNECTED is reported to the consumer
 * @nsge: number of entries of @sge
 * @sge: its memory, mapped
 */
struct kv_rqe {
	struct ib_cqe		cqe;
	struct kv_conn		*conn;
	struct kfi_oper		*op;
	u32			len;
	__be32			imm;
	u64			inv;
	u32			rkey;
	int			err;
	bool			data;
	bool			flushed;
	u8			nsge;
	struct list_head	held;
	struct ib_sge		sge[KV_SGE];
};

static void kv_plain_recv_done(struct ib_cq *cq, struct ib_wc *wc);

/* ---- receives ---- */

static void kv_rqe_unmap(struct kv_rqe *e)
{
	struct ib_device *ib = e->conn->qp.kdom->ib;
	unsigned int i;

	for (i = 0; i < e->nsge; i++)
		ib_dma_unmap_page(ib, e->sge[i].addr, e->sge[i].length, DMA_FROM_DEVICE);
}

/* The iterator is advanced only if there is more than one piece, which is rare. */
static int kv_rqe_map(struct kv_rqe *e, const struct kfi_oper *op)
{
	struct kv_domain *kdom = e->conn->qp.kdom;
	unsigned int max = kv_plain_pieces(kdom->max_recv_sge);
	struct iov_iter iter = op->iter;
	size_t left = op->len, off, n;
	struct page *page;
	u64 dma;

	e->nsge = 0;
	if (unlikely(left > SZ_2G))
		return -EMSGSIZE;
	for (; left; left -= n) {
		if (e->nsge)
			iov_iter_advance(&iter, e->sge[e->nsge - 1].length);
		if (unlikely(e->nsge == max))
			return -EMSGSIZE;
		n = kfi_piece(&iter, &page, &off);
		dma = ib_dma_map_page(kdom->ib, page, off, n, DMA_FROM_DEVICE);
		if (unlikely(ib_dma_mapping_error(kdom->ib, dma)))
			return -EIO;
		e->sge[e->nsge++] = (struct ib_sge){ dma, n, e->conn->qp.lkey };
	}
	return 0;
}

/* Called under kv_rq.lock. */
static int kv_rqe_post(struct kv_conn *conn, struct kfi_oper *op)
{
	struct kv_rqe *e = &conn->rqe[conn->rq_head & conn->rq_mask];
	struct ib_recv_wr wr = { .wr_cqe = &e->cqe, .sg_list = e->sge };
	int ret = kv_rqe_map(e, op);

	e->op = op;
	wr.num_sge = e->nsge;
	ret = ret ?: ib_post_recv(conn->qp.ib, &wr, NULL);
	if (likely(!ret))
		conn->rq_head++;
	else
		kv_rqe_unmap(e);
	return ret;
}

/*
 * Add a receive to the list. One that no queue pair could take is refused here, because a
 * connection ends if its receives can't be posted.
 */
static int kv_plain_wait(struct kv_rq *rq, struct kfi_oper *op)
{
	unsigned int left = kv_plain_pieces(to_kv_domain(op->ep->domain)->max_recv_sge);
	struct iov_iter iter = op->iter;
	struct page *page;
	size_t off;

	if (op->len > SZ_2G)
		return -EMSGSIZE;
	while (iov_iter_count(&iter)) {
		if (!left--)
			return -EMSGSIZE;
		kv_take_piece(&iter, SIZE_MAX, &page, &off);
	}
	list_add_tail(&op->link, &rq->waiting);
	return 0;
}

/* &kfi_prov_ops.rx_posted */
int kv_plain_recv(struct kfi_ep *ep, struct kfi_oper *op)
{
	struct kv_rq *rq = &to_kv_ep(ep)->rq;
	int ret;

	spin_lock(&rq->lock);
	if (likely(rq->conn))
		ret = kv_rqe_post(rq->conn, op);
	else
		ret = rq->closed ? -ESHUTDOWN : kv_plain_wait(rq, op);
	spin_unlock(&rq->lock);
	return ret;
}

/* &kfi_prov_ops.rx_cancel. A receive that was posted to the device can't be cancelled. */
struct kfi_oper *kv_plain_cancel(struct kfi_ep *ep, void *context)
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

/* ---- completions ---- */

/*
 * A message has named a key, which the local device has invalidated, even if the peer is not
 * permitted to end that region. Return: 0; -EPROTO: the peer is not permitted to end it
 */
static int kv_plain_invalidated(struct kv_conn *conn, u32 rkey, u64 *flag)
{
	int ret;

	if (!kv_region_io_invalidated(conn, rkey) && kv_region_invalidated(conn->qp.kdom, rkey))
		return -EPROTO;
	ret = kfi_mr_kill(&conn->qp.vep->pe.ep, rkey);
	if (ret == -EACCES)
		return -EPROTO;
	*flag = !ret ? KFI_INVALIDATE : ret == -EBUSY ? KFI_INVALIDATE_DUE : 0;
	return 0;
}

/*
 * Return the reason for the end of the connection. A message may have made the connection ready
 * after kv_conn_fail(): then the reason is that of an established connection, not of an attempt to
 * connect.
 */
static int kv_plain_end_reason(const struct kv_conn *conn)
{
	int err = READ_ONCE(conn->error);

	if (!err)
		return -ESHUTDOWN;
	return READ_ONCE(conn->qp.up) ? kv_conn_end_reason(conn) : err;
}

/* Only a SEND is a message: a WRITE with immediate data is an error. */
static int kv_plain_error(struct kv_conn *conn, const struct ib_wc *wc)
{
	switch (wc->status) {
	case IB_WC_SUCCESS:
		return likely(wc->opcode == IB_WC_RECV) ? 0 : -EPROTO;
	case IB_WC_LOC_LEN_ERR:
		return -KFI_ETRUNC;
	case IB_WC_WR_FLUSH_ERR:
		return kv_plain_end_reason(conn);
	default:
		return -EIO;
	}
}

/* Complete the operation. After that another receive may use the entry. */
static void kv_plain_deliver(struct kv_rqe *e, int err)
{
	struct kv_conn *conn = e->conn;
	struct kfi_oper *op = e->op;

	if (unlikely(err)) {
		kfi_recv_complete(op, 0, 0, 0, err);
		return;
	}
	conn->rx_bytes += e->len;
	__kfi_stat_add(op->ep, placed, e->len);
	if (unlikely(e->inv))
		kfi_recv_complete(op, e->len, e->inv, e->rkey, 0);
	else
		kfi_recv_complete(op, e->len, e->data ? KFI_REMOTE_CQ_DATA : 0,
				  e->data ? be32_to_cpu(e->imm) : 0, 0);
}

/* A receive has failed, and the connection with it. */
static void kv_plain_failed(struct kv_conn *conn, const struct ib_wc *wc, int err)
{
	if (wc->status == IB_WC_WR_FLUSH_ERR)
		kv_conn_flushed(conn);
	else
		kv_conn_fail(conn, err == -KFI_ETRUNC ? -ESHUTDOWN : err);
}

/*
 * Until KFI_CONNECTED is reported to the consumer, completed and failed receives wait in order. A
 * message of the caller shows that the connection is established, although rdma_cm does not know it
 * if the last message of the handshake is late or lost. Return: true if the receive waits.
 */
static bool kv_plain_hold(struct kv_rqe *e)
{
	struct kv_conn *conn = e->conn;
	bool held;

	spin_lock(&conn->rx_lock);
	held = conn->rx_held;
	if (held)
		list_add_tail(&e->held, &conn->held);
	spin_unlock(&conn->rx_lock);
	if (held && !e->err && !conn->pc.dialed)
		kv_cm_step(&conn->qp, KV_STEP_READY);
	return held;
}

static void kv_plain_recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kv_rqe *e = container_of(wc->wr_cqe, struct kv_rqe, cqe);
	struct kv_conn *conn = e->conn;
	int err = kv_plain_error(conn, wc);

	kv_rqe_unmap(e);
	e->inv = 0;
	if (unlikely(!err && wc->wc_flags & IB_WC_WITH_INVALIDATE)) {
		e->rkey = wc->ex.invalidate_rkey;
		err = kv_plain_invalidated(conn, e->rkey, &e->inv);
	}
	conn->rq_tail++;
	conn->qp.last_active = jiffies;
	e->err = err;
	e->flushed = wc->status == IB_WC_WR_FLUSH_ERR;
	e->len = wc->byte_len;
	e->data = wc->wc_flags & IB_WC_WITH_IMM;
	e->imm = wc->ex.imm_data;
	if (unlikely(err))
		kv_plain_failed(conn, wc, err);
	/* Pairs with kv_plain_release(): what was held has been completed before. */
	if (unlikely(smp_load_acquire(&conn->rx_held)) && kv_plain_hold(e))
		return;
	kfi_batch_begin();
	kv_plain_deliver(e, err);
	kfi_batch_end();
}

/* Complete the receives that wait, before any later one. */
static void kv_plain_release(struct kv_conn *conn, int err)
{
	struct kv_rqe *e, *next;

	spin_lock_bh(&conn->rx_lock);
	list_for_each_entry_safe(e, next, &conn->held, held) {
		list_del(&e->held);
		kv_plain_deliver(e, e->flushed ? kv_plain_end_reason(conn) : e->err ?: err);
	}
	smp_store_release(&conn->rx_held, false);	/* pairs with kv_plain_recv_done() */
	spin_unlock_bh(&conn->rx_lock);
}

/* KFI_CONNECTED was reported to the consumer: complete the receives that have waited for it. */
void kv_rq_ready(struct kv_conn *conn)
{
	kv_plain_release(conn, 0);
}

/* ---- the ring ---- */

/* Post receives to the device that were posted before the queue pair was created. */
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
	u32 i, size = roundup_pow_of_two(conn->qp.vep->pe.ep.rx.depth);

	conn->rqe = kvcalloc(size, sizeof(*conn->rqe), GFP_NOIO);
	if (!conn->rqe)
		return -ENOMEM;
	for (i = 0; i < size; i++) {
		conn->rqe[i].conn = conn;
		conn->rqe[i].cqe.done = kv_plain_recv_done;
	}
	conn->rq_mask = size - 1;
	conn->rx_held = true;
	return kv_rq_fill(&conn->qp.vep->rq, conn);
}

/* Post no more receives to the queue pair, which is stopped next. */
void kv_rq_stop(struct kv_conn *conn)
{
	struct kv_rq *rq = &conn->qp.vep->rq;

	spin_lock_bh(&rq->lock);
	rq->conn = NULL;
	rq->closed = true;
	spin_unlock_bh(&rq->lock);
}

/* Complete receives that were not posted to a device: the endpoint or its connection has ended. */
void kv_rq_end(struct kv_ep *vep, int err)
{
	struct kv_rq *rq = &vep->rq;
	struct kfi_oper *op, *next;
	LIST_HEAD(ops);

	spin_lock_bh(&rq->lock);
	rq->closed = true;
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
	rq->closed = false;
	spin_unlock_bh(&rq->lock);
}

/*
 * Was there a connection that was not reported to the consumer? There was if rdma_cm has reported
 * it, or if the first completed receive is a message.
 */
static bool kv_plain_was_connected(struct kv_conn *conn)
{
	struct kv_rqe *first = list_first_entry_or_null(&conn->held, struct kv_rqe, held);

	return !conn->qp.up && conn->qp.state == KV_CM_CONNECTED &&
	       (test_bit(KV_STEP_READY, &conn->qp.steps) || (first && !first->err));
}

/*
 * The queue pair is destroyed, and no completion is reported any more. The peer may have sent
 * messages and disconnected, or violated the protocol, before KFI_CONNECTED was reported to the
 * consumer: these messages are delivered.
 */
void kv_rq_lost(struct kv_conn *conn)
{
	struct kv_rqe *e;

	kv_cm_sync(&conn->qp);
	kv_plain_release(conn, kv_plain_was_connected(conn) && kv_msg_was_ready(conn) ?
			       0 : conn->error);
	local_bh_disable();
	for (; conn->rq_tail != conn->rq_head; conn->rq_tail++) {
		e = &conn->rqe[conn->rq_tail & conn->rq_mask];
		kv_rqe_unmap(e);
		kfi_recv_complete(e->op, 0, 0, 0, conn->error);
	}
	local_bh_enable();
	kv_rq_end(conn->qp.vep, conn->error);
}
