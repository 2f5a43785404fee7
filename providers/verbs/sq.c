// SPDX-License-Identifier: GPL-2.0
/*
 * sq.c - the send queue: a ring of work requests, given to the device in chains, completed in order.
 *
 * Few of them are reported by the device. One that is stands for all before it: a reliable connection does things in
 * their order. But for READs, which are all reported: some iWARP devices report what follows one before its data has come. On
 * iWARP everything is reported: siw hands pages of what is not to TCP, which may send them again when they mean something else.
 * When nothing is left the ring begins anew, for its first entries are still in the cache, where not all of it has room.
 * All of this is under kv_conn.lock.
 */
#include <linux/memremap.h>
#include "verbs.h"

/* There is room, the caller has looked. */
struct kv_sqe *kv_sq_get(struct kv_conn *conn, u8 kind)
{
	struct kv_sqe *e = &conn->sq[conn->head & (KV_SQ - 1)];

	lockdep_assert_held(&conn->lock);
	e->kind = kind;
	e->done = false;
	e->atom = false;
	e->err = 0;
	e->nsge = 0;
	e->mapped = 0;
	e->unmapped = 0;
	e->op = NULL;
	e->slot = NULL;
	e->frmr = NULL;
	e->region = NULL;
	e->tells = false;
	memset(&e->wr.send, 0, sizeof(e->wr.send));	/* what others have behind it they all fill in */
	return e;
}

/* Filled in: the device gets it with the next chain. @tell: somebody waits for it. */
void kv_sq_put(struct kv_conn *conn, struct kv_sqe *e, struct ib_send_wr *wr, bool tell)
{
	wr->wr_cqe = &e->cqe;
	wr->sg_list = e->sge;
	wr->num_sge = e->nsge;
	e->read = wr->opcode == IB_WR_RDMA_READ || wr->opcode == IB_WR_RDMA_READ_WITH_INV;
	conn->fenced = wr->opcode == IB_WR_LOCAL_INV || (conn->fenced && wr->opcode == IB_WR_REG_MR);
	if (tell || e->read || conn->kdom->iwarp || !((conn->head + 1) & (KV_SIGNAL - 1))) {
		wr->send_flags |= IB_SEND_SIGNALED;
		conn->due = conn->head + 1;
	}
	conn->reads += e->read;
	conn->head++;
	if (conn->chain)
		conn->chain_end->next = wr;
	else
		conn->chain = wr;
	conn->chain_end = wr;
}

/*
 * What the device refuses stays in the ring until the connection is taken down, and so does what comes after it: what ends well stands for
 * all before it.
 */
void kv_sq_post(struct kv_conn *conn)
{
	struct ib_send_wr *first = conn->chain;
	int ret;

	if (!first)
		return;
	conn->chain = NULL;
	if (unlikely(conn->broken))
		return;
	ret = ib_post_send(conn->qp, first, NULL);
	if (likely(!ret))
		return;
	conn->broken = true;
	kv_conn_fail(conn, ret);
}

/* ---- registrations ---- */

/*
 * Before the registrations of a step, the first of which is of what has had @rkey. rxe that has to send something again begins there and does all that is
 * behind it once more, but refuses to register what is registered. Invalidations it does when all before them has ended, and they may be
 * of what is invalid: nothing that could be repeated is left before what follows one.
 */
void kv_put_fence(struct kv_conn *conn, u32 rkey)
{
	struct kv_sqe *e;

	if (!conn->kdom->repeats || conn->fenced)
		return;
	if (conn->head == conn->tail) {
		conn->fenced = true;	/* by nothing that could be repeated */
		return;
	}
	e = kv_sq_get(conn, KV_SQ_REG);
	e->wr.send.opcode = IB_WR_LOCAL_INV;
	e->wr.send.ex.invalidate_rkey = rkey;
	kv_sq_put(conn, e, &e->wr.send, false);
}

/* Its pages and its key are set. */
void kv_put_reg_as(struct kv_conn *conn, struct kv_sqe *e, struct ib_mr *mr, int access, bool tell)
{
	e->wr.reg.wr.opcode = IB_WR_REG_MR;
	e->wr.reg.mr = mr;
	e->wr.reg.key = mr->rkey;
	e->wr.reg.access = access;
	kv_sq_put(conn, e, &e->wr.reg.wr, tell);
}

/* Its pages are set; it gets another key. */
void kv_put_reg(struct kv_conn *conn, struct kv_sqe *e, struct ib_mr *mr, int access, bool tell)
{
	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
	kv_put_reg_as(conn, e, mr, access, tell);
}

/* ---- local memory ---- */

/*
 * Memory of another device, whose drivers and the core of PCI know how the two reach each other: they say it for scatterlists alone. An
 * address on a bus that both are on needs no mapping, so it is good after the list has been unmapped; for all others pages do as well.
 * 0: none.
 */
static noinline u64 kv_bus_address(struct ib_device *ib, struct page *page, size_t off, size_t n, enum dma_data_direction dir)
{
	struct scatterlist sg;
	u64 dma = 0;

	sg_init_table(&sg, 1);
	sg_set_page(&sg, page, n, off);
	if (!ib_dma_map_sg(ib, &sg, 1, dir))
		return DMA_MAPPING_ERROR;
	if (sg_dma_is_bus_address(&sg))
		dma = sg_dma_address(&sg);
	ib_dma_unmap_sg(ib, &sg, 1, dir);
	return dma;
}

/* The next piece. A processor that moves the bytes itself, as with rxe, reaches everything. */
static u64 kv_sq_map_piece(struct kv_conn *conn, struct kv_sqe *e, struct page *page, size_t off, size_t n)
{
	struct ib_device *ib = conn->kdom->ib;
	u64 dma = 0;

	if (unlikely(is_pci_p2pdma_page(page)) && !ib_uses_virt_dma(ib))
		dma = kv_bus_address(ib, page, off, n, e->dir);
	if (likely(!dma))
		return ib_dma_map_page(ib, page, off, n, e->dir);
	e->unmapped |= BIT(e->nsge);
	return dma;
}

/*
 * Segments for at most @len bytes at the front of @iter, which moves on, in at most @max pieces. Return: bytes; less than
 * asked for if there were too many pieces; negative: they can't be mapped.
 */
ssize_t kv_sq_map(struct kv_conn *conn, struct kv_sqe *e, struct iov_iter *iter, size_t len, unsigned int max,
		  enum dma_data_direction dir)
{
	struct ib_device *ib = conn->kdom->ib;
	size_t done = 0, off, n;
	struct page *page;
	u64 dma;

	e->dir = dir;
	while (done < len && max--) {
		n = kv_take_piece(iter, len - done, &page, &off);
		dma = kv_sq_map_piece(conn, e, page, off, n);
		if (unlikely(ib_dma_mapping_error(ib, dma)))
			return -EIO;
		e->sge[e->nsge++] = (struct ib_sge){ dma, n, conn->kdom->pd->local_dma_lkey };
		e->mapped++;
		done += n;
	}
	return done;
}

/* A WRITE of @len bytes from the front of @iter, as kv_sq_read() for READs. */
struct kv_sqe *kv_sq_write(struct kv_conn *conn, u8 kind, struct iov_iter *iter, u64 len, ssize_t *n)
{
	struct kv_sqe *e = kv_sq_get(conn, kind);

	*n = kv_sq_map(conn, e, iter, len, min_t(u32, KV_SGE, conn->kdom->max_send_sge), DMA_TO_DEVICE);
	e->wr.rdma.wr.opcode = IB_WR_RDMA_WRITE;
	return e;
}

void kv_sq_unmap(struct kv_conn *conn, struct kv_sqe *e)
{
	unsigned int i;

	for (i = e->nsge - e->mapped; i < e->nsge; i++)
		if (likely(!(e->unmapped & BIT(i))))
			ib_dma_unmap_page(conn->kdom->ib, e->sge[i].addr, e->sge[i].length, e->dir);
	e->mapped = 0;
}

/* ---- completions ---- */

static void kv_rma_sent(struct kv_sqe *e, int err, struct kv_done *done)
{
	struct kv_op *kop = kv_op(e->op);

	kop->wrs--;
	kop->err = kop->err ?: err;
	if (kop->issued && !kop->wrs)
		kv_rma_done(e->conn, e->op, done);
}

static void kv_fetched(struct kv_sqe *e, int err, struct kv_done *done)
{
	struct kv_slot *slot = e->slot;

	if (err)
		return;		/* the memory may not be used again before kv_qp_destroy(): kv_rx_lost() ends it */
	slot->wrs--;
	if (!slot->left && !slot->wrs)
		list_add_tail(&slot->link, &done->slots);
}

static inline void kv_sq_end(struct kv_sqe *e, int err, struct kv_done *done)
{
	struct kv_conn *conn = e->conn;

	if (e->mapped)
		kv_sq_unmap(conn, e);
	if (e->read) {
		conn->reads -= !err;
		if (e->frmr)
			kv_sink_done(e, err);
	}
	switch (e->kind) {
	case KV_SQ_PACKET:
		if (!e->op)
			break;
		conn->inflight--;
		kv_op_end(e->op, err, done);
		break;
	case KV_SQ_PART:
		kv_rma_sent(e, err, done);
		break;
	case KV_SQ_FETCH:
		kv_fetched(e, err, done);
		break;
	case KV_SQ_INV:
		kv_frmr_done(e, err, done);
		break;
	case KV_SQ_REGION:
		kv_region_registered(e, err);
		break;
	case KV_SQ_HANGUP:
		kv_conn_fail(conn, kv_conn_end(conn));
		break;
	case KV_SQ_PROBE:
		wake_up_all(&conn->vep->home.idle);
		break;
	}
}

/*
 * What the fabric says about the remote key is about that operation; all else is about the connection. EACCES promises that nothing
 * has moved, and a region may go between two packets.
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
		return READ_ONCE(conn->error) ?: kv_conn_end(conn);
	default:
		return -EREMOTEIO;
	}
}

/* It is reported, and what is before it stands or has its own report. False: it has ended already. */
static bool kv_sq_mark(struct kv_conn *conn, struct kv_sqe *last, int err)
{
	u32 n = ((last - conn->sq) - conn->tail) & (KV_SQ - 1);

	if (n >= conn->head - conn->tail)
		return false;
	if (n >= conn->told - conn->tail)
		conn->told = conn->tail + n + 1;
	last->done = true;
	last->err = err;
	return true;
}

static void kv_sq_retire(struct kv_conn *conn, struct kv_done *done)
{
	struct kv_sqe *e;

	while (conn->tail != conn->head) {
		e = &conn->sq[conn->tail & (KV_SQ - 1)];
		if (!e->done && (e->read || conn->tail == conn->told))
			return;
		conn->tail++;
		kv_sq_end(e, e->err, done);
	}
	/* Nothing is left, nor of what kv_conn_settled() waits for. */
	conn->head = 0;
	conn->tail = 0;
	conn->told = 0;
	conn->last = 0;
	conn->due = 0;
}

/* What ends from now on ends with the connection: a peer that has broken it may still reach what was registered for him. */
static void kv_sq_failed(struct kv_conn *conn, struct kv_done *done)
{
	struct kfi_oper *op, *next;

	llist_for_each_entry_safe(op, next, done->ops, lnode)
		list_add_tail(&op->link, &conn->failed);
	done->ops = NULL;
	done->ops_end = &done->ops;
}

/*
 * Something has ended well. On iWARP only a READ tells that the peer is there, all else that TCP has it. But a READ that is behind much
 * has its time from when that has gone: what keeps moving before it is heard by somebody, for TCP does not take it without limit. The
 * lock is held.
 */
static void kv_sq_heard(struct kv_conn *conn, bool read, bool moved)
{
	if (read || !conn->kdom->iwarp)
		conn->heard = jiffies;
	else if (moved)
		conn->probed = jiffies;
}

/*
 * An error ends the connection, and the consumer hears of it when nobody finds the connection any more: what he posts then goes
 * another way, or is refused. Softirq
 */
void kv_send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kv_sqe *e = container_of(wc->wr_cqe, struct kv_sqe, cqe);
	struct kv_conn *conn = e->conn;
	int err = kv_wc_error(conn, e, wc);
	struct kv_done done = KV_DONE(done);
	bool read = e->read;	/* it may be used anew below */
	u32 tail;

	kfi_batch_begin();
	spin_lock(&conn->lock);
	tail = conn->tail;
	if (kv_sq_mark(conn, e, err))
		kv_sq_retire(conn, &done);
	if (unlikely(err))
		conn->broken = true;
	else
		kv_sq_heard(conn, read, conn->tail != tail);
	if (unlikely(conn->broken))
		kv_sq_failed(conn, &done);
	kv_tx_run(conn, &done);
	spin_unlock(&conn->lock);
	if (unlikely(err))
		kv_conn_fail(conn, wc->status == IB_WC_REM_ACCESS_ERR ? kv_conn_end(conn) : err);
	kv_done(&done);
	kfi_batch_end();
}

/* The device has returned all that it had: what is left was never given to it. */
void kv_sq_flush(struct kv_conn *conn, struct kv_done *done)
{
	conn->chain = NULL;
	while (conn->tail != conn->head)
		kv_sq_end(&conn->sq[conn->tail++ & (KV_SQ - 1)], conn->error, done);
}
