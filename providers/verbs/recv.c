// SPDX-License-Identifier: GPL-2.0
/*
 * recv.c - receives of MSG endpoints, which the device fills itself.
 *
 *   kv_plain_recv()	puts a receive into the device's receive queue, or before the endpoint is
 *			connected into a list
 *   kv_plain_came()	softirq: the device has filled the oldest of them
 *   kv_rq_lost()	the connection has ended: completes the rest
 *
 * The device completes receives in the order of posting, so those that it has are a ring (struct
 * kv_rqe) between kv_conn.rq_tail and kv_conn.rq_head, which has room for all receives of the
 * endpoint. An entry is written before it is posted and read when it is reported. It belongs to the
 * connection, because a broken device may report it long after its operation has ended (drain.c).
 * Receives are posted under kv_rq.lock, so that none is posted behind the end of the queue pair.
 */
#include <linux/memremap.h>
#include <linux/slab.h>
#include "verbs.h"

/**
 * struct kv_rqe - a receive that the device has
 * @cqe: its completion
 * @conn: the connection
 * @op: the operation
 * @len: bytes that have come
 * @imm: remote CQ data, if @data
 * @inv: key of a region that the message has ended, or 0
 * @err: why it has failed
 * @flushed: because the connection has ended
 * @held: entry in &kv_conn.held: the consumer does not know of the connection yet
 * @nsge: number of entries of @sge
 * @sge: its memory, mapped
 */
struct kv_rqe {
	struct ib_cqe		cqe;
	struct kv_conn		*conn;
	struct kfi_oper		*op;
	u32			len;
	__be32			imm;
	u32			inv;
	int			err;
	bool			data;
	bool			flushed;
	u8			nsge;
	struct list_head	held;
	struct ib_sge		sge[KV_SGE];
};

static void kv_plain_came(struct ib_cq *cq, struct ib_wc *wc);

/* ---- receives ---- */

static void kv_rqe_unmap(struct kv_rqe *e)
{
	struct ib_device *ib = e->conn->qp.kdom->ib;
	unsigned int i;

	for (i = 0; i < e->nsge; i++)
		ib_dma_unmap_page(ib, e->sge[i].addr, e->sge[i].length, DMA_FROM_DEVICE);
}

/* The iterator is moved only if there is more than one piece, which is rare. */
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
		if (unlikely(is_pci_p2pdma_page(page)) && !ib_uses_virt_dma(kdom->ib))
			return -EIO;	/* see kv_sq_map_piece() for what is sent */
		dma = ib_dma_map_page(kdom->ib, page, off, n, DMA_FROM_DEVICE);
		if (unlikely(ib_dma_mapping_error(kdom->ib, dma)))
			return -EIO;
		e->sge[e->nsge++] = (struct ib_sge){ dma, n, kdom->pd->local_dma_lkey };
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

/* There is no queue pair yet that could refuse too many pieces. */
static int kv_plain_wait(struct kv_rq *rq, struct kfi_oper *op)
{
	unsigned int left = kv_plain_pieces(to_kv_domain(op->ep->domain)->max_recv_sge);
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
int kv_plain_recv(struct kfi_ep *ep, struct kfi_oper *op)
{
	struct kv_rq *rq = &to_kv_ep(ep)->rq;
	int ret;

	spin_lock(&rq->lock);
	if (likely(rq->conn))
		ret = kv_rqe_post(rq->conn, op);
	else
		ret = rq->over ? -ESHUTDOWN : kv_plain_wait(rq, op);
	spin_unlock(&rq->lock);
	return ret;
}

/* &kfi_prov_ops.rx_cancel: what the device has can't be cancelled. */
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

/* ---- what comes ---- */

/*
 * Our device has invalidated the key that the peer has named, even if the peer may not end that
 * region. Return: 1: the region has ended; 0: its owner has begun to end it; -EPROTO
 */
static int kv_plain_invalidated(struct kv_conn *conn, u32 rkey)
{
	int ret;

	if (!kv_region_taken(conn, rkey) && kv_region_spoilt(conn->qp.kdom, rkey))
		return -EPROTO;
	ret = kfi_mr_kill(&conn->vep->pe.ep, rkey);
	if (ret == -EACCES)
		return -EPROTO;
	return !ret;
}

/*
 * Why the connection ends. A message may have made it ready after its failure was noted: then a
 * connection has ended, and not an attempt to connect.
 */
static int kv_plain_why(const struct kv_conn *conn)
{
	int err = READ_ONCE(conn->error);

	if (!err)
		return -ESHUTDOWN;
	return READ_ONCE(conn->state) == KV_READY ? kv_conn_was(conn) : err;
}

/* A WRITE with immediate data is no message. */
static int kv_plain_error(struct kv_conn *conn, const struct ib_wc *wc)
{
	switch (wc->status) {
	case IB_WC_SUCCESS:
		return likely(wc->opcode == IB_WC_RECV) ? 0 : -EPROTO;
	case IB_WC_LOC_LEN_ERR:
		return -KFI_ETRUNC;
	case IB_WC_WR_FLUSH_ERR:
		return kv_plain_why(conn);
	default:
		return -EIO;
	}
}

/* The entry may be used again when its operation has been completed. */
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
		kfi_recv_complete(op, e->len, KFI_INVALIDATE, e->inv, 0);
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
 * Until the consumer knows of the connection, receives wait in order, failed ones too. rdma_cm may
 * not know of the connection either, if the last message of the caller is late or lost.
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
		kv_cm_step(conn, KV_STEP_HEARD);
	return held;
}

static void kv_plain_came(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kv_rqe *e = container_of(wc->wr_cqe, struct kv_rqe, cqe);
	struct kv_conn *conn = e->conn;
	int err = kv_plain_error(conn, wc);

	kv_rqe_unmap(e);
	e->inv = 0;
	if (unlikely(!err && wc->wc_flags & IB_WC_WITH_INVALIDATE)) {
		err = kv_plain_invalidated(conn, wc->ex.invalidate_rkey);
		e->inv = err > 0 ? wc->ex.invalidate_rkey : 0;
		err = min(err, 0);
	}
	conn->rq_tail++;
	conn->qp.heard = jiffies;
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

/* Complete what was held, before anything that comes later. */
static void kv_plain_release(struct kv_conn *conn, int err)
{
	struct kv_rqe *e, *next;

	spin_lock_bh(&conn->rx_lock);
	list_for_each_entry_safe(e, next, &conn->held, held) {
		list_del(&e->held);
		kv_plain_deliver(e, e->flushed ? kv_plain_why(conn) : e->err ?: err);
	}
	smp_store_release(&conn->rx_held, false);	/* pairs with kv_plain_came() */
	spin_unlock_bh(&conn->rx_lock);
}

/* The consumer knows of the connection. */
void kv_rq_ready(struct kv_conn *conn)
{
	kv_plain_release(conn, 0);
}

/* ---- the ring ---- */

/* Give the device what was posted before there was a queue pair. */
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
	u32 i, size = roundup_pow_of_two(conn->vep->pe.ep.rx.depth);

	conn->rqe = kvcalloc(size, sizeof(*conn->rqe), GFP_NOIO);
	if (!conn->rqe)
		return -ENOMEM;
	for (i = 0; i < size; i++) {
		conn->rqe[i].conn = conn;
		conn->rqe[i].cqe.done = kv_plain_came;
	}
	conn->rq_mask = size - 1;
	conn->rx_held = true;
	return kv_rq_fill(&conn->vep->rq, conn);
}

/* Give the queue pair no more receives, before it is stopped. */
void kv_rq_stop(struct kv_conn *conn)
{
	struct kv_rq *rq = &conn->vep->rq;

	spin_lock_bh(&rq->lock);
	rq->conn = NULL;
	rq->over = true;
	spin_unlock_bh(&rq->lock);
}

/* The device is broken and may still report receives: kv_qp_forget() */
void kv_rq_late(struct kv_conn *conn)
{
	u32 i;

	for (i = 0; conn->rqe && i <= conn->rq_mask; i++)
		WRITE_ONCE(conn->rqe[i].cqe.done, kv_late_done);
}

/* Complete what no device has: the endpoint stops, or its connection has ended. */
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

/*
 * Was there a connection that the consumer was not told of? There was if rdma_cm has reported it,
 * or if the first receive that the device reported is a message.
 */
static bool kv_plain_proven(struct kv_conn *conn)
{
	struct kv_rqe *first = list_first_entry_or_null(&conn->held, struct kv_rqe, held);

	return conn->state == KV_ACCEPTED &&
	       (test_bit(KV_STEP_READY, &conn->flags) || (first && !first->err));
}

/*
 * The queue pair is gone, and no completion comes any more. A peer may have sent messages and left,
 * or broken a rule, before the consumer knew of the connection: the messages are delivered.
 */
void kv_rq_lost(struct kv_conn *conn)
{
	struct kv_rqe *e;

	kv_cm_settle(conn->id);
	kv_plain_release(conn, kv_plain_proven(conn) && kv_msg_was_ready(conn) ? 0 : conn->error);
	local_bh_disable();
	for (; conn->rq_tail != conn->rq_head; conn->rq_tail++) {
		e = &conn->rqe[conn->rq_tail & conn->rq_mask];
		kv_rqe_unmap(e);
		kfi_recv_complete(e->op, 0, 0, 0, conn->error);
	}
	local_bh_enable();
	kv_rq_end(conn->vep, conn->error);
}
