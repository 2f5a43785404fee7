// SPDX-License-Identifier: GPL-2.0
/*
 * plain.c - MSG endpoints: a reliable queue pair as it is. A message is one SEND, and lands in the receive that was posted for it; RMA is
 * the device's, by its keys: no header, no credit, no copy. The peer need not be kfabric.
 *
 *	kv_plain_recv()	onto the device's receive queue, or a list until there is one: before the endpoint is connected
 *	kv_plain_came()	softirq: the device has filled the oldest of them
 *	kv_plain_tx()	a message, or RMA, into the send queue (sq.c)
 *	kv_plain_next()	what could not go there at once, from kv_tx_run() (tx.c)
 *
 * How connections come about is in msg.c and cm.c, their life in conn.c and qp.c. What such endpoints can't do, and the keys of their
 * regions: docs/wire-verbs.md.
 *
 * Receives. The device completes them in the order of posting, so those that it has are a ring (struct kv_rqe) between kv_conn.rq_tail and
 * kv_conn.rq_head, which has room for every operation of the endpoint. An entry is written before it is posted and read when it is reported,
 * and belongs to the connection: a broken device may report it when the operation is long over (drain.c). &kv_rq.lock is held while one
 * is posted, so that none is behind the end of the queue pair; it is a leaf but for what ib_post_recv() takes.
 */
#include <linux/memremap.h>
#include <linux/slab.h>
#include "verbs.h"

#define KV_PLAIN_LACKS	(KFI_TAGGED | KFI_ATOMIC | KFI_MULTI_RECV | KFI_TAGGED_RMA | KFI_SOURCE | KFI_DIRECTED_RECV | KFI_RMA_EVENT)

/* Receiver not ready: how long the peer's device waits before it tries again. */
#define KV_RNR_TIMER	IB_RNR_TIMER_000_32

/**
 * struct kv_rqe - a receive that the device has
 * @cqe:	its completion
 * @op:		the consumer's
 * @data:	it has come, with @imm; @inv: it has ended the region with this key, 0: none; @len: its bytes; @err: or what went wrong; @flushed: that was the connection
 * @held:	in &kv_conn.held: that was before the consumer knew of the connection
 * @nsge: @sge: its memory, mapped
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

/* An endpoint whose regions peers are to reach needs a domain whose keys are the device's. */
int kv_plain_open(struct kv_ep *vep)
{
	struct kfi_ep *ep = &vep->ep;

	ep->hw_recv = true;
	ep->ops = &kv_msg_ops;
	if (ep->rx.depth > to_kv_domain(ep->domain)->max_receives || to_kv_domain(ep->domain)->iwarp)
		return -EINVAL;
	if (ep->caps & (KFI_REMOTE_READ | KFI_REMOTE_WRITE) && !ep->domain->prov_keys)
		return -EINVAL;
	return ep->caps & KV_PLAIN_LACKS || ep->info->ep_attr->auth_key_size ? -EOPNOTSUPP : 0;
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
	unsigned int max = kv_plain_pieces(kdom->max_recv_sge);
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

/* &kfi_prov_ops.rx_cancel: what the device has it keeps. */
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
 * Our device has invalidated what the peer has named. Is it the peer's business, whose connection is @conn? Else the region is dead all the same.
 * Return: 1: the region is over; 0: it is left to its owner, who has begun to end it; -EPROTO
 */
static int kv_plain_invalidated(struct kv_conn *conn, u32 rkey)
{
	int ret;

	if (!kv_region_taken(conn, rkey, rkey) && kv_region_spoilt(conn->kdom, rkey))
		return -EPROTO;
	ret = kfi_mr_kill(&conn->vep->ep, rkey);
	if (ret == -EACCES)
		return -EPROTO;
	return !ret;
}

/*
 * What ended the connection, or soon will have. A message may have made it ready when the failure of the attempt had
 * been noted already: that is the end of a connection, then.
 */
static int kv_plain_why(const struct kv_conn *conn)
{
	int err = READ_ONCE(conn->error);

	if (!err)
		return kv_conn_end(conn);
	return READ_ONCE(conn->state) == KV_READY ? kv_conn_was(conn) : err;
}

/* A WRITE with immediate is no message. */
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

/* The entry may be used anew when its operation is told of. */
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
		kfi_recv_complete(op, e->len, e->data ? KFI_REMOTE_CQ_DATA : 0, e->data ? be32_to_cpu(e->imm) : 0, 0);
}

/* What went wrong with it, and with the connection. */
static void kv_plain_failed(struct kv_conn *conn, const struct ib_wc *wc, int err)
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
	conn->heard = jiffies;
	e->err = err;
	e->flushed = wc->status == IB_WC_WR_FLUSH_ERR;
	e->len = wc->byte_len;
	e->data = wc->wc_flags & IB_WC_WITH_IMM;
	e->imm = wc->ex.imm_data;
	if (unlikely(err))
		kv_plain_failed(conn, wc, err);
	/* Pairs with kv_plain_release(): what was held has been told of before. */
	if (unlikely(smp_load_acquire(&conn->rx_held)) && kv_plain_hold(e))
		return;
	kfi_batch_begin();
	kv_plain_deliver(e, err);
	kfi_batch_end();
}

/* With the lock of what comes: it is behind what has come. */
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

/* The consumer knows. */
void kv_plain_ready(struct kv_conn *conn)
{
	kv_plain_release(conn, 0);
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
		conn->rqe[i].cqe.done = kv_plain_came;
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
static bool kv_plain_proven(struct kv_conn *conn)
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

/* ---- sending ---- */

static int kv_plain_map(struct kv_conn *conn, struct kv_sqe *e, struct kfi_oper *op)
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
	n = kv_sq_map(conn, e, &iter, op->len, kv_plain_pieces(conn->kdom->max_send_sge), DMA_TO_DEVICE);
	if (unlikely(n != op->len))
		return n < 0 ? n : -EMSGSIZE;
	return 0;
}

static void kv_plain_send(struct kv_conn *conn, struct kfi_oper *op, struct kv_done *done)
{
	struct kv_sqe *e = kv_sq_get(conn, KV_SQ_PACKET);
	int ret;

	e->wr.send.opcode = IB_WR_SEND;
	if (unlikely(op->flags & KFI_INVALIDATE)) {
		e->wr.send.opcode = IB_WR_SEND_WITH_INV;
		e->wr.send.ex.invalidate_rkey = op->inv_key;
	} else if (op->flags & KFI_REMOTE_CQ_DATA) {
		e->wr.send.opcode = IB_WR_SEND_WITH_IMM;
		e->wr.send.ex.imm_data = cpu_to_be32(op->data);
	}
	ret = kv_plain_map(conn, e, op);
	if (unlikely(ret)) {
		kv_sq_unmap(conn, e);
		kv_op_end(op, ret, done);
		return;
	}
	conn->tx_bytes += op->len;
	kv_sent(conn, e, op, 0, done);
	kv_sq_put(conn, e, &e->wr.send, e->op);
}

/* Short payload of a WRITE is copied; else the device fetches it from where it is. */
static struct kv_sqe *kv_plain_write(struct kv_conn *conn, struct kfi_oper *op, u64 len, ssize_t *n)
{
	struct kv_op *kop = kv_op(op);
	struct kv_sqe *e;

	if (len > KV_INLINE)
		return kv_sq_write(conn, KV_SQ_PART, &kop->iter, len, n);
	e = kv_sq_get(conn, KV_SQ_PART);
	e->wr.rdma.wr.opcode = IB_WR_RDMA_WRITE;
	*n = kfi_copy_from(e->buf, &kop->iter, len);
	__kfi_stat_add(op->ep, copied, len);
	e->nsge = 1;
	kv_put_buf(conn, e, len);
	return e;
}

/* One work request of an operation: what is contiguous at the peer, and in few enough pieces here. False: as many READs as may be are under way. */
static bool kv_plain_part(struct kv_conn *conn, struct kfi_oper *op)
{
	struct kv_op *kop = kv_op(op);
	const struct kfi_rma_iov *seg = &op->rma[kop->seg];
	u64 addr = seg->addr + kop->at, len = min_t(u64, seg->len - kop->at, conn->kdom->max_wr_size);
	struct kv_sqe *e;
	ssize_t n;

	if (op->code == KFI_OPC_WRITE)
		e = kv_plain_write(conn, op, len, &n);
	else if (kv_may_read(conn))
		e = kv_sq_read(conn, KV_SQ_PART, &kop->iter, addr, len, &n);
	else
		return false;
	if (unlikely(n < 0)) {
		kv_sq_unmap(conn, e);
		kop->err = n;
		return true;
	}
	e->op = op;
	e->atom = n <= conn->mtu && !kop->begun;
	kop->begun = true;
	e->wr.rdma.remote_addr = addr;
	e->wr.rdma.rkey = seg->key;
	kop->at += n;
	kop->wrs++;
	conn->tx_bytes += op->code == KFI_OPC_WRITE ? n : 0;
	kv_sq_put(conn, e, &e->wr.rdma.wr, !iov_iter_count(&kop->iter));
	return true;
}

/* As much of the operation under way as there is room for. False: the rest waits. */
static bool kv_plain_rma(struct kv_conn *conn, struct kv_done *done)
{
	struct kfi_oper *op = conn->op;
	struct kv_op *kop = kv_op(op);

	while (!kop->err && kv_rma_left(op, kop))
		if (kv_sq_room(conn) < KV_SQ_ROOM || !kv_plain_part(conn, op))
			return false;
	kv_rma_issued(conn, op, done);
	return true;
}

/* There is room for it. The lock is held. False: not for all of it. */
static bool kv_plain_put(struct kv_conn *conn, struct kfi_oper *op, struct kv_done *done)
{
	struct kv_op *kop = kv_op(op);
	unsigned int i;

	if (op->code == KFI_OPC_SEND) {
		kv_plain_send(conn, op, done);
		return true;
	}
	kop->state = KV_OP_SENT;
	kop->iter = op->iter;
	conn->inflight++;
	conn->op = op;
	for (i = 0; i < op->rma_count; i++)
		if (unlikely(op->rma[i].key > U32_MAX))
			kop->err = -EACCES;	/* nobody has such a key */
	return kv_plain_rma(conn, done);
}

/* The next thing that waits. False: there is none, or not now. */
bool kv_plain_next(struct kv_conn *conn, struct kv_done *done)
{
	struct kfi_oper *op;

	if (kv_put_fresh(conn))
		return true;
	if (conn->op)
		return kv_plain_rma(conn, done);
	op = list_first_entry_or_null(&conn->queue, struct kfi_oper, link);
	if (!op)
		return kv_put_control(conn);
	list_del(&op->link);
	return kv_plain_put(conn, op, done);
}

/* What a queue pair can't do, and what no hint asks for. */
static int kv_plain_refuses(const struct kfi_oper *op)
{
	if (op->flags & KFI_INVALIDATE)
		return op->inv_key > U32_MAX ? -EINVAL : 0;
	return op->code == KFI_OPC_WRITE && op->flags & KFI_REMOTE_CQ_DATA ? -EOPNOTSUPP : 0;
}

/* &kfi_prov_ops.tx: at once if nothing waits that it would overtake, and there is room. */
int kv_plain_tx(struct kfi_ep *ep, struct kfi_oper *op)
{
	struct kv_conn *conn = kv_msg_way(to_kv_ep(ep));
	struct kv_done done = KV_DONE(done);
	bool more = op->flags & KFI_MORE;
	int ret = kv_plain_refuses(op);

	if (unlikely(!conn || test_bit(KV_BYE_WANTED, &conn->flags)))
		return conn ? -ESHUTDOWN : -ENOTCONN;
	if (unlikely(ret))
		return ret;
	memset(kv_op(op), 0, offsetof(struct kv_op, iter));
	INIT_LIST_HEAD(&kv_op(op)->frmrs);
	kv_op(op)->conn = conn;
	spin_lock(&conn->lock);
	if (likely(!kv_tx_waits(conn) && kv_tx_open(conn) && kv_sq_room(conn) >= KV_SQ_ROOM)) {
		conn->waits = !kv_plain_put(conn, op, &done);
	} else {
		list_add_tail(&op->link, &conn->queue);
		conn->waits = true;
		if (!more)
			kv_tx_run(conn, &done);
		else
			kv_sq_post(conn);	/* what had room before it */
	}
	if (!more)
		kv_sq_post(conn);
	spin_unlock(&conn->lock);
	kv_done(&done);
	if (unlikely(more && !delayed_work_pending(&conn->more_work)))
		queue_delayed_work(kv_cm_wq, &conn->more_work, 1);
	return 0;
}

/* ---- rdma_cm ---- */

void kv_plain_tune(struct kv_conn *conn)
{
	rdma_set_min_rnr_timer(conn->id, KV_RNR_TIMER);
}

/* Private data, as much as a consumer can have; InfiniBand pads it with zeros, and does not say where they begin. */
static void kv_plain_data(struct kv_conn *conn, const void *data, u8 len)
{
	conn->data_in_len = data ? min_t(u8, len, KVW_DATA_MAX) : 0;
	memcpy(conn->data_in, data, conn->data_in_len);
}

/* Somebody calls a listener. */
int kv_plain_called(struct kv_conn *conn, const struct rdma_cm_id *id, const struct rdma_conn_param *param)
{
	if (rdma_protocol_iwarp(id->device, id->port_num))
		return -EOPNOTSUPP;
	kv_plain_data(conn, param->private_data, param->private_data_len);
	return 0;
}

/* Each side hears that it is connected. */
void kv_plain_established(struct kv_conn *conn, const struct rdma_conn_param *param)
{
	if (conn->pc.dialed) {
		kv_plain_data(conn, param->private_data, param->private_data_len);
		conn->reads_max = clamp_t(unsigned int, param->initiator_depth, 1, conn->reads_max);
		conn->stands = true;
		conn->state = KV_ACCEPTED;
	}
	if (conn->state == KV_ACCEPTED)
		kv_cm_step(conn, KV_STEP_READY);
}

/* By a consumer, who may say why, or because nobody listens. */
int kv_plain_rejected(struct kv_conn *conn, struct rdma_cm_event *event)
{
	struct kvw_greeting hello;
	const void *data;
	u8 len = 0;

	data = rdma_consumer_reject_data(conn->id, event, &len);
	if (data && !kvw_decode_hello(data, len, &hello))
		data = NULL;	/* a listener that wants a hello: these are not its consumer's words */
	kv_plain_data(conn, data, len);
	conn->rejected = true;
	return -ECONNREFUSED;
}
