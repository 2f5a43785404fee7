// SPDX-License-Identifier: GPL-2.0
/*
 * qp.c - queue pairs, and the memory of their send queues. sq.c fills the send queue; receives are
 * in recv.c (MSG) and stream.c (RDM), the completion queue is in cq.c.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include "verbs.h"

/* Requests for which a queue of a device needs room; the last one is for kv_qp_drain(). */
int kv_qp_depth(void)
{
	return KV_SQ + 1;
}

static void kv_event_work(struct work_struct *work)
{
	struct kv_qp *qp = container_of(work, struct kv_qp, event_work);

	qp->ops->stopped(qp);
}

void kv_qp_init(struct kv_qp *qp, const struct kv_qp_ops *ops)
{
	qp->ops = ops;
	spin_lock_init(&qp->lock);
	INIT_WORK(&qp->event_work, kv_event_work);
	INIT_WORK(&qp->step_work, kv_cm_step_work);
	INIT_DELAYED_WORK(&qp->watch_work, kv_watch_work);
}

/* ---- memory of the send queue ---- */

static unsigned int kv_bufs_per_page(const struct kv_qp *qp)
{
	return PAGE_SIZE / qp->buf_size;
}

static int kv_sq_page(struct kv_qp *qp, struct kv_sqe *e)
{
	void *buf = (void *)__get_free_page(GFP_NOIO);
	unsigned int i;
	u64 dma;

	if (!buf)
		return -ENOMEM;
	dma = ib_dma_map_single(qp->kdom->ib, buf, PAGE_SIZE, DMA_TO_DEVICE);
	if (ib_dma_mapping_error(qp->kdom->ib, dma)) {
		free_page((unsigned long)buf);
		return -EIO;
	}
	for (i = 0; i < kv_bufs_per_page(qp); i++, e++) {
		e->buf = buf + i * qp->buf_size;
		e->dma = dma + i * qp->buf_size;
	}
	return 0;
}

static int kv_sq_create(struct kv_qp *qp, const struct kv_qp_need *need)
{
	unsigned int i;
	int ret = 0;

	qp->depth = need->depth;
	qp->buf_size = need->buf_size;
	/* as many entries as the pages have buffers */
	qp->sq = kvcalloc(round_up(qp->depth, kv_bufs_per_page(qp)), sizeof(*qp->sq), GFP_NOIO);
	if (!qp->sq)
		return -ENOMEM;
	for (i = 0; i < qp->depth; i++) {
		qp->sq[i].qp = qp;
		qp->sq[i].cqe.done = qp->ops->sent;
	}
	for (i = 0; i < qp->depth && !ret; i += kv_bufs_per_page(qp))
		ret = kv_sq_page(qp, &qp->sq[i]);
	return ret;
}

/* Free the send queue, whose requests have ended. */
void kv_qp_free(struct kv_qp *qp)
{
	unsigned int i;

	for (i = 0; qp->sq && i < qp->depth && qp->sq[i].buf; i += kv_bufs_per_page(qp)) {
		ib_dma_unmap_single(qp->kdom->ib, qp->sq[i].dma, PAGE_SIZE, DMA_TO_DEVICE);
		free_page((unsigned long)qp->sq[i].buf);
	}
	kvfree(qp->sq);
	qp->sq = NULL;
}

/* ---- the queue pair ---- */

/* Asynchronous event. Some drivers call this in hard interrupts, so it takes no lock. */
static void kv_qp_event(struct ib_event *event, void *context)
{
	struct kv_qp *qp = context;

	if (event->event != IB_EVENT_COMM_EST)
		queue_work(kv_cm_wq, &qp->event_work);
}

static int kv_qp_make(struct kv_qp *qp, const struct kv_qp_need *need, u32 in_request)
{
	struct ib_qp_init_attr attr = {
		.event_handler	= kv_qp_event,
		.qp_context	= qp,
		.qp_type	= IB_QPT_RC,
		.sq_sig_type	= IB_SIGNAL_REQ_WR,
		.send_cq	= qp->cq,
		.recv_cq	= qp->cq,
		.port_num	= qp->id->port_num,
		.cap		= {
			.max_send_wr	= need->depth + 1,
			.max_recv_wr	= need->receives + 1,
			.max_send_sge	= min_t(u32, KV_SGE + 1, qp->kdom->max_send_sge),
			.max_recv_sge	= need->recv_sge,
			.max_inline_data = in_request,
		},
	};
	int ret = rdma_create_qp(qp->id, need->pd, &attr);

	if (ret)
		return ret;
	qp->ib = qp->id->qp;
	qp->lkey = need->pd->local_dma_lkey;
	/* a device without inline data reports 0 */
	qp->in_request = min(attr.cap.max_inline_data, in_request);
	return 0;
}

/*
 * Create the queue pair. Short data is passed inside the work request, if the device supports it.
 * The limit of the device can't be queried, so several lengths are tried. After an error the caller
 * has to call kv_qp_destroy() and kv_qp_free().
 */
int kv_qp_create(struct kv_qp *qp, const struct kv_qp_need *need)
{
	static const u32 in_request[] = { 128, 80, 0 };
	unsigned int i = 0;
	int ret;

	ret = kv_cq_open(qp, &qp->vep->pe.ep, need->depth + need->receives + 2);
	if (ret)
		return ret;
	do {
		ret = kv_qp_make(qp, need, in_request[i]);
	} while (ret == -EINVAL && ++i < ARRAY_SIZE(in_request));
	return ret ?: kv_sq_create(qp, need);
}

/*
 * Reset a queue pair that was not connected, before it is drained: rxe never flushes the receives
 * of a queue pair whose connection failed for lack of memory. Queue pairs that were connected are
 * not reset, because a reset may drop received messages, which have to be delivered.
 */
static void kv_qp_reset(struct kv_qp *qp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET, .port_num = qp->id->port_num };

	if (qp->kdom->iwarp || ib_modify_qp(qp->ib, &attr, IB_QP_STATE))
		return;
	attr.qp_state = IB_QPS_INIT;
	ib_modify_qp(qp->ib, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
				    IB_QP_ACCESS_FLAGS);
}

/*
 * Stop the queue pair, and wait until the device has returned all requests. On return it transfers
 * no data, and the peer can't access memory by it.
 */
void kv_qp_drain(struct kv_qp *qp)
{
	if (!qp->ib)
		return;
	if (qp->state != KV_CM_CONNECTED)
		kv_qp_reset(qp);
	ib_drain_qp(qp->ib);
}

/* Destroy the queue pair. The caller then ends its requests by kv_sq_flush(). */
void kv_qp_destroy(struct kv_qp *qp)
{
	if (qp->ib)
		rdma_destroy_qp(qp->id);
	qp->ib = NULL;
	cancel_work_sync(&qp->event_work);	/* no event is reported any more */
	kv_cq_close(qp);
}
