// SPDX-License-Identifier: GPL-2.0
/*
 * plain.c - MSG endpoints: a reliable queue pair without a protocol on it. A message is one SEND,
 * which the peer's device writes into a posted receive. The device performs RMA, with keys of its
 * own. There is no header, no credit and no copy, and the peer need not be kfabric.
 *
 *	kv_plain_tx()	puts a message or an RMA operation into the send queue (sq.c)
 *	kv_tx_run()	puts operations there that had to wait for room
 *	kv_plain_sent()	handles completions of work requests
 *
 * Receives are in recv.c. msg.c and cm.c establish connections, conn.c ends them.
 * docs/wire-verbs.md describes the restrictions of such endpoints, and the keys of their regions.
 */
#include "verbs.h"

#define KV_PLAIN_UNSUPPORTED	(KFI_TAGGED | KFI_ATOMIC | KFI_MULTI_RECV | KFI_TAGGED_RMA |	\
				 KFI_SOURCE | KFI_DIRECTED_RECV | KFI_RMA_EVENT | KFI_PROTECTED)

/* An endpoint whose regions peers may access needs a domain with keys of the device. */
int kv_plain_open(struct kv_ep *vep)
{
	struct kfi_ep *ep = &vep->pe.ep;
	struct kv_domain *kdom = to_kv_domain(ep->domain);

	ep->hw_recv = true;
	ep->reply_max = SIZE_MAX;
	ep->ops = &kv_msg_ops;
	kfi_conn_set_init(&vep->pe.conn_set, ep, &kv_conn_set_ops);
	if (ep->rx.depth > kdom->max_receives || kdom->iwarp)
		return -EINVAL;
	if (ep->caps & (KFI_REMOTE_READ | KFI_REMOTE_WRITE) && !ep->domain->prov_keys)
		return -EINVAL;
	if (ep->caps & KV_PLAIN_UNSUPPORTED || ep->info->ep_attr->auth_key_size)
		return -EOPNOTSUPP;
	return kv_pd_open(kdom, vep);
}

/* ---- the end of operations ---- */

/* Called under the lock. The completion is reported after the lock was dropped: kv_unlock_bh() */
static void kv_op_end(struct kfi_oper *op, int err, struct kv_done *done)
{
	kv_op(op)->err = kv_op(op)->err ?: err;
	kv_op(op)->conn = NULL;
	kv_done_op(done, op);
}

/* Report completions. Called with bottom halves off, and without the lock. */
static void kv_done(struct kv_done *done)
{
	struct kfi_oper *op, *next;

	llist_for_each_entry_safe(op, next, done->ops, lnode)
		__kfi_tx_complete(op, kv_op(op)->err);
}

void kv_unlock_bh(struct kv_conn *conn, struct kv_done *done)
{
	spin_unlock(&conn->qp.lock);
	kv_done(done);
	local_bh_enable();
}

/* ---- the send queue ---- */

static bool kv_tx_open(const struct kv_conn *conn)
{
	return conn->qp.up && !conn->qp.detached && !conn->qp.broken;
}

/* Return: true if no operation waits for room. Called under the lock. */
static bool kv_tx_idle(const struct kv_conn *conn)
{
	return list_empty(&conn->queue) && !conn->op && !test_bit(KV_BYE_WANTED, &conn->flags);
}

void kv_conn_post(struct kv_conn *conn)
{
	int ret = kv_sq_post(&conn->qp);

	if (unlikely(ret))
		kv_conn_fail(conn, ret);
}

/* Let the operation end with work request @e, or now if its payload was copied. */
static void kv_sent(struct kv_conn *conn, struct kv_sqe *e, struct kfi_oper *op,
		    struct kv_done *done)
{
	if (!e->mapped && !(op->flags & KFI_TRANSMIT_COMPLETE)) {
		kv_op_end(op, 0, done);
		return;
	}
	conn->inflight++;
	e->op = op;
}

static int kv_plain_map(struct kv_conn *conn, struct kv_sqe *e, struct kfi_oper *op)
{
	struct iov_iter iter = op->iter;
	ssize_t n;

	if (op->len <= KV_INLINE) {
		WARN_ON_ONCE(kfi_copy_from(e->buf, &op->iter, op->len) != op->len);
		__kfi_stat_add(op->ep, copied, op->len);
		e->nsge = !!op->len;
		if (op->len)
			kv_put_buf(&conn->qp, e, op->len);
		return 0;
	}
	n = kv_sq_map(&conn->qp, e, &iter, op->len, kv_plain_pieces(conn->qp.kdom->max_send_sge),
		      DMA_TO_DEVICE);
	if (unlikely(n != op->len))
		return n < 0 ? n : -EMSGSIZE;
	return 0;
}

static void kv_send_opcode(struct kv_sqe *e, const struct kfi_oper *op)
{
	e->wr.send.opcode = IB_WR_SEND;
	if (unlikely(op->flags & KFI_INVALIDATE)) {
		e->wr.send.opcode = IB_WR_SEND_WITH_INV;
		e->wr.send.ex.invalidate_rkey = op->inv_key;
	} else if (op->flags & KFI_REMOTE_CQ_DATA) {
		e->wr.send.opcode = IB_WR_SEND_WITH_IMM;
		e->wr.send.ex.imm_data = cpu_to_be32(op->data);
	}
}

static void kv_plain_send(struct kv_conn *conn, struct kfi_oper *op, struct kv_done *done)
{
	struct kv_sqe *e = kv_sq_get(&conn->qp, KV_SQ_MESSAGE);
	int ret;

	kv_send_opcode(e, op);
	ret = kv_plain_map(conn, e, op);
	if (unlikely(ret)) {
		kv_sq_unmap(&conn->qp, e);
		kv_op_end(op, ret, done);
		return;
	}
	conn->tx_bytes += op->len;
	kv_sent(conn, e, op, done);
	kv_sq_put(&conn->qp, e, &e->wr.send, e->op);
}

/* ---- RMA ---- */

/* Fill in a WRITE of bytes from the front of the payload. Short payload is copied. */
static ssize_t kv_plain_write(struct kv_conn *conn, struct kv_sqe *e, struct kfi_oper *op, u64 len)
{
	struct kv_op *kop = kv_op(op);
	ssize_t n;

	e->wr.rdma.wr.opcode = IB_WR_RDMA_WRITE;
	if (len > KV_INLINE)
		return kv_sq_map(&conn->qp, e, &kop->iter, len,
				 min_t(u32, KV_SGE, conn->qp.kdom->max_send_sge), DMA_TO_DEVICE);
	n = kfi_copy_from(e->buf, &kop->iter, len);
	__kfi_stat_add(op->ep, copied, len);
	e->nsge = 1;
	kv_put_buf(&conn->qp, e, len);
	return n;
}

static ssize_t kv_plain_read(struct kv_conn *conn, struct kv_sqe *e, struct kfi_oper *op, u64 len)
{
	e->wr.rdma.wr.opcode = IB_WR_RDMA_READ;
	return kv_sq_map(&conn->qp, e, &kv_op(op)->iter, len,
			 min_t(u32, KV_SGE, conn->qp.kdom->max_sge_rd), DMA_FROM_DEVICE);
}

/*
 * Put one work request of an operation into the queue: memory that is contiguous at the peer and
 * has not too many local pieces. Return false if the limit of READs in flight is reached.
 */
static bool kv_plain_part(struct kv_conn *conn, struct kfi_oper *op)
{
	struct kv_op *kop = kv_op(op);
	const struct kfi_rma_iov *seg = &op->rma[kop->seg];
	u64 len = min_t(u64, seg->len - kop->at, conn->qp.kdom->max_wr_size);
	bool write = op->code != KFI_OPC_READ;
	struct kv_sqe *e;
	ssize_t n;

	if (!write && conn->qp.reads >= conn->qp.reads_max)
		return false;
	e = kv_sq_get(&conn->qp, KV_SQ_PART);
	n = write ? kv_plain_write(conn, e, op, len) : kv_plain_read(conn, e, op, len);
	if (unlikely(n < 0)) {
		kv_sq_unmap(&conn->qp, e);
		kop->err = n;
		return true;
	}
	e->op = op;
	e->atom = n <= conn->qp.mtu && !kop->begun;
	kop->begun = true;
	e->wr.rdma.remote_addr = seg->addr + kop->at;
	e->wr.rdma.rkey = seg->key;
	kop->at += n;
	kop->wrs++;
	conn->tx_bytes += write ? n : 0;
	kv_sq_put(&conn->qp, e, &e->wr.rdma.wr,
		  op->code != KFI_OPC_REPLY && !iov_iter_count(&kop->iter));
	return true;
}

/* Put the message of a reply behind its data. */
static void kv_plain_reply(struct kv_conn *conn, struct kfi_oper *op)
{
	struct kv_sqe *e = kv_sq_get(&conn->qp, KV_SQ_PART);

	static_assert(KFI_REPLY_LEN <= KV_INLINE);
	e->op = op;
	kv_send_opcode(e, op);
	if (op->reply_len) {
		memcpy(e->buf, op->inline_buf, op->reply_len);
		e->nsge = 1;
		kv_put_buf(&conn->qp, e, op->reply_len);
	}
	kv_op(op)->wrs++;
	conn->tx_bytes += op->reply_len;
	kv_sq_put(&conn->qp, e, &e->wr.send, true);
}

/* Skip segments that have work requests. Return: true if there are more. */
static bool kv_rma_left(const struct kfi_oper *op, struct kv_op *kop)
{
	while (kop->seg < op->rma_count && kop->at == op->rma[kop->seg].len) {
		kop->seg++;
		kop->at = 0;
	}
	return kop->seg < op->rma_count;
}

static void kv_rma_done(struct kv_conn *conn, struct kfi_oper *op, struct kv_done *done)
{
	conn->inflight--;
	kv_op_end(op, 0, done);
}

/* Put as much of @conn->op into the queue as there is room for. Return: false if not all fits. */
static bool kv_plain_rma(struct kv_conn *conn, struct kv_done *done)
{
	struct kfi_oper *op = conn->op;
	struct kv_op *kop = kv_op(op);

	while (!kop->err && kv_rma_left(op, kop))
		if (kv_sq_room(&conn->qp) < KV_SQ_ROOM || !kv_plain_part(conn, op))
			return false;
	if (op->code == KFI_OPC_REPLY && !kop->err) {
		if (kv_sq_room(&conn->qp) < KV_SQ_ROOM)
			return false;
		kv_plain_reply(conn, op);
	}
	conn->op = NULL;
	kop->issued = true;
	if (!kop->wrs)
		kv_rma_done(conn, op, done);
	else if (kop->err)
		kv_put_empty_write(&conn->qp, KV_SQ_OTHER);	/* nothing reports the last part */
	return true;
}

/* Begin an operation. There is room for a part of it. Return false if there is no room for all. */
static bool kv_plain_put(struct kv_conn *conn, struct kfi_oper *op, struct kv_done *done)
{
	struct kv_op *kop = kv_op(op);
	unsigned int i;

	if (op->code == KFI_OPC_SEND) {
		kv_plain_send(conn, op, done);
		return true;
	}
	kop->iter = op->iter;
	conn->inflight++;
	conn->op = op;
	for (i = 0; i < op->rma_count; i++)
		if (unlikely(op->rma[i].key > U32_MAX))
			kop->err = -EACCES;	/* keys of devices have 32 bits */
	return kv_plain_rma(conn, done);
}

/* ---- filling the send queue ---- */

/* The last operation has ended, after kv_msg_shutdown(). */
static void kv_bye(struct kv_conn *conn)
{
	kv_conn_fail(conn, READ_ONCE(conn->pc.conn_set->stop_err) ?: -ESHUTDOWN);
}

/*
 * All operations were sent: let the connection end when the peer's device has received them, or at
 * a deadline if the device does not answer. Return: true if a request was put.
 */
static bool kv_put_bye(struct kv_conn *conn)
{
	if (!test_bit(KV_BYE_WANTED, &conn->flags) || conn->inflight ||
	    test_and_set_bit(KV_BYE_SENT, &conn->flags))
		return false;
	if (conn->qp.head == conn->qp.tail) {
		kv_bye(conn);
		return false;
	}
	queue_delayed_work(kv_cm_wq, &conn->deadline,
			   msecs_to_jiffies(READ_ONCE(kv_proto.params.connect_timeout_ms)));
	kv_put_empty_write(&conn->qp, KV_SQ_BYE);
	return true;
}

/* Put the next waiting operation into the queue. Return: false if none can be put now. */
static bool kv_plain_next(struct kv_conn *conn, struct kv_done *done)
{
	struct kfi_oper *op;

	if (kv_put_next_reg(conn))
		return true;
	if (conn->op)
		return kv_plain_rma(conn, done);
	op = list_first_entry_or_null(&conn->queue, struct kfi_oper, link);
	if (!op)
		return kv_put_bye(conn);
	list_del(&op->link);
	return kv_plain_put(conn, op, done);
}

/* kv_mr_publish() adds a region to the list before it takes the lock. */
static bool kv_tx_left(const struct kv_conn *conn)
{
	return !kv_tx_idle(conn) || !list_empty(&conn->qp.vep->reg_queue);
}

/* Put waiting operations into the send queue. Called under the lock. */
void kv_tx_run(struct kv_conn *conn, struct kv_done *done)
{
	lockdep_assert_held(&conn->qp.lock);
	if (!kv_tx_open(conn))
		return;
	while (kv_tx_left(conn) && kv_sq_room(&conn->qp) >= KV_SQ_ROOM && kv_plain_next(conn, done))
		;
	conn->waits = kv_tx_left(conn);
	kv_conn_post(conn);
}

/* Called with a reference, or inside the RCU section in which the connection was found. */
void kv_tx_kick(struct kv_conn *conn)
{
	struct kv_done done = KV_DONE(done);

	spin_lock_bh(&conn->qp.lock);
	kv_tx_run(conn, &done);
	kv_unlock_bh(conn, &done);
}

/* &kfi_prov_ops.tx_flush */
void kv_plain_flush(struct kfi_ep *ep)
{
	struct kv_conn *conn = kv_msg_conn(to_kv_ep(ep));

	if (conn)
		kv_tx_kick(conn);
}

/* Refuse operations that a queue pair can't perform, if no capability excludes them. */
static int kv_plain_refuses(const struct kfi_oper *op)
{
	if (op->flags & KFI_INVALIDATE)
		return op->inv_key > U32_MAX ? -EINVAL : 0;
	return op->code == KFI_OPC_WRITE && op->flags & KFI_REMOTE_CQ_DATA ? -EOPNOTSUPP : 0;
}

/* &kfi_prov_ops.tx. An operation is sent at once if no other one waits and there is room. */
int kv_plain_tx(struct kfi_ep *ep, struct kfi_oper *op)
{
	struct kv_conn *conn = kv_msg_conn(to_kv_ep(ep));
	struct kv_done done = KV_DONE(done);
	bool more = op->flags & KFI_MORE;
	int ret = kv_plain_refuses(op);

	if (unlikely(!conn || test_bit(KV_BYE_WANTED, &conn->flags)))
		return conn ? -ESHUTDOWN : -ENOTCONN;
	if (unlikely(ret))
		return ret;
	memset(kv_op(op), 0, offsetof(struct kv_op, iter));
	kv_op(op)->conn = conn;
	spin_lock(&conn->qp.lock);
	if (likely(!conn->waits && kv_tx_open(conn) && kv_sq_room(&conn->qp) >= KV_SQ_ROOM)) {
		conn->waits = !kv_plain_put(conn, op, &done);
	} else {
		list_add_tail(&op->link, &conn->queue);
		conn->waits = true;
		if (!more)
			kv_tx_run(conn, &done);
		else
			kv_conn_post(conn);	/* operations before it that had room */
	}
	ret = more ? 0 : kv_sq_post(&conn->qp);
	if (unlikely(ret))
		kv_conn_fail(conn, ret);
	spin_unlock(&conn->qp.lock);
	kv_done(&done);
	if (unlikely(more && !delayed_work_pending(&conn->more_work)))
		queue_delayed_work(kv_cm_wq, &conn->more_work, 1);
	return 0;
}

/* ---- completions ---- */

static void kv_plain_end(struct kv_sqe *e, int err, void *done)
{
	struct kv_conn *conn = container_of(e->qp, struct kv_conn, qp);
	struct kv_op *kop;

	switch (e->kind) {
	case KV_SQ_MESSAGE:
		if (!e->op)
			break;
		conn->inflight--;
		kv_op_end(e->op, err, done);
		break;
	case KV_SQ_PART:
		kop = kv_op(e->op);
		kop->wrs--;
		kop->err = kop->err ?: err;
		if (kop->issued && !kop->wrs)
			kv_rma_done(conn, e->op, done);
		break;
	case KV_SQ_BYE:
		kv_bye(conn);
		break;
	}
}

/*
 * A refused key is an error of its operation; other errors are errors of the connection. EACCES
 * means that no byte has moved. An access of several packets may have moved some bytes, because a
 * region may end between two packets.
 */
static int kv_wc_error(const struct kv_conn *conn, const struct kv_sqe *e, const struct ib_wc *wc)
{
	switch (wc->status) {
	case IB_WC_SUCCESS:
		return 0;
	case IB_WC_REM_ACCESS_ERR:
		return e->atom ? -EACCES : -EREMOTEIO;
	case IB_WC_RETRY_EXC_ERR:
		return -ETIMEDOUT;
	case IB_WC_WR_FLUSH_ERR:
		return READ_ONCE(conn->error) ?: -ESHUTDOWN;
	default:
		return -EREMOTEIO;
	}
}

/*
 * Move operations to @conn->failed: they are completed when the connection is down, because until
 * then the peer may still access memory that was registered for it.
 */
static void kv_sq_failed(struct kv_conn *conn, struct kv_done *done)
{
	struct kfi_oper *op, *next;

	llist_for_each_entry_safe(op, next, done->ops, lnode)
		list_add_tail(&op->link, &conn->failed);
	done->ops = NULL;
	done->ops_end = &done->ops;
}

/*
 * Completion of a work request. An error ends the connection; it is reported to the consumer after
 * the connection was unpublished, so that later posts are refused. Softirq
 */
void kv_plain_sent(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kv_sqe *e = container_of(wc->wr_cqe, struct kv_sqe, cqe);
	struct kv_conn *conn = container_of(e->qp, struct kv_conn, qp);
	int err = kv_wc_error(conn, e, wc);
	struct kv_done done = KV_DONE(done);

	kfi_batch_begin();
	spin_lock(&conn->qp.lock);
	kv_sq_reported(e, err, kv_plain_end, &done);
	if (unlikely(err))
		conn->qp.broken = true;
	else
		conn->qp.last_active = jiffies;
	if (unlikely(conn->qp.broken))
		kv_sq_failed(conn, &done);
	kv_tx_run(conn, &done);
	spin_unlock(&conn->qp.lock);
	if (unlikely(err))
		kv_conn_fail(conn, wc->status == IB_WC_REM_ACCESS_ERR ? -ESHUTDOWN : err);
	kv_done(&done);
	kfi_batch_end();
}

/* ---- the end ---- */

/* Complete all operations. The queue pair is destroyed, and no post uses the connection. */
void kv_tx_flush_all(struct kv_conn *conn, int err)
{
	struct kfi_oper *op, *next;
	struct kv_done done = KV_DONE(done);

	spin_lock_bh(&conn->qp.lock);
	list_for_each_entry_safe(op, next, &conn->failed, link) {
		list_del(&op->link);
		kv_done_op(&done, op);	/* with its own error */
	}
	kv_sq_flush(&conn->qp, err, kv_plain_end, &done);
	if (conn->op)
		kv_op_end(conn->op, err, &done);
	conn->op = NULL;
	list_for_each_entry_safe(op, next, &conn->queue, link) {
		list_del(&op->link);
		kv_op_end(op, err, &done);
	}
	kv_unlock_bh(conn, &done);
}
