// SPDX-License-Identifier: GPL-2.0
/*
 * sq.c - send queues: a ring of work requests, posted to the device in chains, completed in order.
 *
 * The device reports few requests. A report completes all requests before it, too, because a
 * reliable connection keeps the order. All READs are reported, because some iWARP devices report a
 * request after a READ before the data of the READ has arrived. On iWARP all requests are reported:
 * siw passes the pages of other requests to TCP, which may send them again after their contents
 * have changed. When the ring is empty, it is used from the first entry again: the first entries
 * are still in the CPU cache, which is too small for the whole ring.
 *
 * All functions are called under kv_qp.lock.
 */
#include <linux/memremap.h>
#include "verbs.h"

/* Take the next entry. The caller has checked that there is room. */
struct kv_sqe *kv_sq_get(struct kv_qp *qp, u8 kind)
{
	struct kv_sqe *e = &qp->sq[qp->head & (qp->depth - 1)];

	lockdep_assert_held(&qp->lock);
	e->kind = kind;
	e->done = false;
	e->atom = false;
	e->notify = false;
	e->err = 0;
	e->nsge = 0;
	e->mapped = 0;
	e->unmapped = 0;
	e->op = NULL;
	memset(&e->wr.send, 0, sizeof(e->wr.send));	/* callers set members after it */
	return e;
}

/* Add a filled entry to the chain that is posted next. @signaled: the device has to report it. */
void kv_sq_put(struct kv_qp *qp, struct kv_sqe *e, struct ib_send_wr *wr, bool signaled)
{
	wr->wr_cqe = &e->cqe;
	wr->sg_list = e->sge;
	wr->num_sge = e->nsge;
	e->read = wr->opcode == IB_WR_RDMA_READ;
	qp->fenced = wr->opcode == IB_WR_LOCAL_INV || (qp->fenced && wr->opcode == IB_WR_REG_MR);
	if (signaled || e->read || qp->kdom->iwarp || !((qp->head + 1) & (KV_SIGNAL - 1))) {
		wr->send_flags |= IB_SEND_SIGNALED;
		qp->due = qp->head + 1;
	}
	qp->reads += e->read;
	qp->head++;
	if (qp->chain)
		qp->chain_end->next = wr;
	else
		qp->chain = wr;
	qp->chain_end = wr;
}

/*
 * Post the chain to the device. A request that the device refuses stays in the ring until the
 * connection is taken down, and so do all later requests. Return: 0, or the error that ends the
 * connection.
 */
int kv_sq_post(struct kv_qp *qp)
{
	struct ib_send_wr *first = qp->chain;
	int ret;

	if (!first)
		return 0;
	qp->chain = NULL;
	if (unlikely(qp->broken))
		return 0;
	ret = ib_post_send(qp->ib, first, NULL);
	if (unlikely(ret))
		qp->broken = true;
	return ret;
}

/* ---- registrations ---- */

void kv_put_inv(struct kv_qp *qp, struct kv_sqe *e, u32 rkey, bool signaled)
{
	e->wr.send.opcode = IB_WR_LOCAL_INV;
	e->wr.send.ex.invalidate_rkey = rkey;
	kv_sq_put(qp, e, &e->wr.send, signaled);
}

/*
 * Called before the registrations of a step. @rkey: the previous key of the first registration.
 * When rxe retransmits a request, it also repeats all requests behind it, but it refuses to
 * register a registration that is valid. rxe executes an invalidation only when all requests before
 * it have ended, and accepts an invalid key. So an invalidation before a registration ensures that
 * no retransmission repeats the registration.
 */
void kv_put_fence(struct kv_qp *qp, u32 rkey)
{
	if (!qp->kdom->repeats || qp->fenced)
		return;
	if (qp->head == qp->tail)
		qp->fenced = true;	/* no request can be repeated */
	else
		kv_put_inv(qp, kv_sq_get(qp, KV_SQ_OTHER), rkey, false);
}

/* Register @mr, whose pages and key are set. */
void kv_put_reg_as(struct kv_qp *qp, struct kv_sqe *e, struct ib_mr *mr, int access, bool signaled)
{
	e->wr.reg.wr.opcode = IB_WR_REG_MR;
	e->wr.reg.mr = mr;
	e->wr.reg.key = mr->rkey;
	e->wr.reg.access = access;
	kv_sq_put(qp, e, &e->wr.reg.wr, signaled);
}

/* Register @mr, whose pages are set, with another key. */
void kv_put_reg(struct kv_qp *qp, struct kv_sqe *e, struct ib_mr *mr, int access, bool signaled)
{
	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
	kv_put_reg_as(qp, e, mr, access, signaled);
}

/*
 * Put an empty WRITE, which is reported. When it ends, the peer's device has received all requests
 * before it in the queue; over iWARP, only the local TCP has them. It has no entry of memory: to
 * some devices (mlx4) an entry of length 0 means 2 GiB.
 */
void kv_put_empty_write(struct kv_qp *qp, u8 kind)
{
	struct kv_sqe *e = kv_sq_get(qp, kind);

	e->wr.rdma.wr.opcode = IB_WR_RDMA_WRITE;
	e->wr.rdma.remote_addr = 0;
	e->wr.rdma.rkey = 0;
	kv_sq_put(qp, e, &e->wr.rdma.wr, true);
}

/* ---- local memory ---- */

/*
 * Add the first @bytes of &kv_sqe.buf to a request. Inline data is copied while the request is
 * posted; otherwise the device reads the buffer.
 */
void kv_put_buf(struct kv_qp *qp, struct kv_sqe *e, u32 bytes)
{
	bool in_request = bytes <= qp->in_request && !e->mapped;

	e->sge[0] = (struct ib_sge) {
		in_request ? (uintptr_t)e->buf : e->dma, bytes, qp->lkey,
	};
	if (in_request)
		e->wr.send.send_flags |= IB_SEND_INLINE;
	else
		ib_dma_sync_single_for_device(qp->kdom->ib, e->dma, bytes, DMA_TO_DEVICE);
}

/*
 * Map memory of another device. The DMA mapping code determines the path between both devices for
 * scatterlists only. If both are on one bus, the result is a bus address, which needs no mapping
 * and stays valid after the list was unmapped. In all other cases the page can be mapped as usual.
 * Return: the bus address; 0 if there is none; DMA_MAPPING_ERROR
 */
static noinline u64 kv_bus_address(struct ib_device *ib, struct page *page, size_t off, size_t n,
				   enum dma_data_direction dir)
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

static u64 kv_sq_map_piece(struct kv_qp *qp, struct kv_sqe *e, struct page *page, size_t off,
			   size_t n)
{
	struct ib_device *ib = qp->kdom->ib;
	u64 dma = 0;

	if (unlikely(is_pci_p2pdma_page(page)))
		dma = kv_bus_address(ib, page, off, n, e->dir);
	if (likely(!dma))
		return ib_dma_map_page(ib, page, off, n, e->dir);
	e->unmapped |= BIT(e->nsge);
	return dma;
}

/*
 * Map at most @len bytes at the front of @iter as at most @max segments, and advance @iter. Return:
 * bytes, fewer than @len if there were too many pieces; or a negative error.
 */
ssize_t kv_sq_map(struct kv_qp *qp, struct kv_sqe *e, struct iov_iter *iter, size_t len,
		  unsigned int max, enum dma_data_direction dir)
{
	struct ib_device *ib = qp->kdom->ib;
	size_t done = 0, off, n;
	struct page *page;
	u64 dma;

	e->dir = dir;
	while (done < len && max--) {
		n = kv_take_piece(iter, len - done, &page, &off);
		dma = kv_sq_map_piece(qp, e, page, off, n);
		if (unlikely(ib_dma_mapping_error(ib, dma)))
			return -EIO;
		e->sge[e->nsge++] = (struct ib_sge) { dma, n, qp->lkey };
		e->mapped++;
		done += n;
	}
	return done;
}

void kv_sq_unmap(struct kv_qp *qp, struct kv_sqe *e)
{
	unsigned int i;

	for (i = e->nsge - e->mapped; i < e->nsge; i++)
		if (likely(!(e->unmapped & BIT(i))))
			ib_dma_unmap_page(qp->kdom->ib, e->sge[i].addr, e->sge[i].length, e->dir);
	e->mapped = 0;
}

/* ---- completions ---- */

static void kv_sq_end(struct kv_sqe *e, int err, void (*end)(struct kv_sqe *e, int err, void *arg),
		      void *arg)
{
	struct kv_qp *qp = e->qp;

	if (e->mapped)
		kv_sq_unmap(qp, e);
	qp->reads -= e->read;
	if (e->kind == KV_SQ_REGION)
		kv_region_registered(e, err);
	else if (e->kind != KV_SQ_OTHER)
		end(e, err, arg);
}

/*
 * The device has reported @last: end @last and all entries before it, except READs, which have
 * reports of their own. Call @end for each entry that ends, except KV_SQ_OTHER and KV_SQ_REGION.
 */
void kv_sq_reported(struct kv_sqe *last, int err,
		    void (*end)(struct kv_sqe *e, int err, void *arg), void *arg)
{
	struct kv_qp *qp = last->qp;
	u32 n = ((last - qp->sq) - qp->tail) & (qp->depth - 1);
	struct kv_sqe *e;

	lockdep_assert_held(&qp->lock);
	if (n >= qp->head - qp->tail)
		return;		/* @last has ended already */
	if (n >= qp->reported - qp->tail)
		qp->reported = qp->tail + n + 1;
	last->done = true;
	last->err = err;
	while (qp->tail != qp->head) {
		e = &qp->sq[qp->tail & (qp->depth - 1)];
		if (!e->done && (e->read || qp->tail == qp->reported))
			return;
		qp->tail++;
		kv_sq_end(e, e->err, end, arg);
	}
	qp->head = 0;		/* the ring is empty */
	qp->tail = 0;
	qp->reported = 0;
	qp->due = 0;
}

/* The device has no requests any more: end all remaining entries with @err. */
void kv_sq_flush(struct kv_qp *qp, int err, void (*end)(struct kv_sqe *e, int err, void *arg),
		 void *arg)
{
	qp->chain = NULL;
	while (qp->tail != qp->head)
		kv_sq_end(&qp->sq[qp->tail++ & (qp->depth - 1)], err, end, arg);
}
