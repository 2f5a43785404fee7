// SPDX-License-Identifier: GPL-2.0
/*
 * qp.c - what a connection has at the device: queue pair, memory of packets to be sent. Of those that come: slot.c. Completion
 * queue: cq.c.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include "verbs.h"

/* One more of each: kv_drain(). */
int kv_qp_depth(void)
{
	return max_t(unsigned int, KV_SQ, kv_nslots()) + 1;
}

/* ---- the send queue's memory ---- */

#define KV_BUFS_PER_PAGE	(PAGE_SIZE / KV_BUF)

#define KV_BUF_PAGES		(KV_SQ / KV_BUFS_PER_PAGE)

static int kv_sq_page(struct kv_conn *conn, unsigned int first, void *buf)
{
	struct kv_sqe *e = &conn->sq[first];
	unsigned int i;
	u64 dma;

	dma = ib_dma_map_single(conn->kdom->ib, buf, PAGE_SIZE, DMA_TO_DEVICE);
	if (ib_dma_mapping_error(conn->kdom->ib, dma))
		return -EIO;
	for (i = 0; i < KV_BUFS_PER_PAGE; i++, e++) {
		e->conn = conn;
		e->cqe.done = kv_send_done;
		e->buf = buf + i * KV_BUF;
		e->dma = dma + i * KV_BUF;
	}
	return 0;
}

static int kv_sq_create(struct kv_conn *conn)
{
	struct page *pages[KV_BUF_PAGES] = {};
	unsigned int i;
	int ret;

	conn->sq = kvcalloc(KV_SQ, sizeof(*conn->sq), GFP_NOIO);
	if (!conn->sq)
		return -ENOMEM;
	ret = kv_pages_alloc(pages, KV_BUF_PAGES, GFP_NOIO);
	if (ret)
		return ret;
	for (i = 0; i < KV_BUF_PAGES && !ret; i++) {
		ret = kv_sq_page(conn, i * KV_BUFS_PER_PAGE, page_address(pages[i]));
		if (!ret)
			pages[i] = NULL;	/* the ring's */
	}
	kv_pages_free(pages, KV_BUF_PAGES);
	return ret;
}

static void kv_sq_destroy(struct kv_conn *conn)
{
	unsigned int i;

	for (i = 0; conn->sq && i < KV_SQ && conn->sq[i].buf; i += KV_BUFS_PER_PAGE) {
		ib_dma_unmap_single(conn->kdom->ib, conn->sq[i].dma, PAGE_SIZE, DMA_TO_DEVICE);
		free_page((unsigned long)conn->sq[i].buf);
	}
	kvfree(conn->sq);
	conn->sq = NULL;
}

/* ---- all together ---- */

void kv_event_work(struct work_struct *work)
{
	kv_conn_flushed(container_of(work, struct kv_conn, event_work));
}

/* What work requests do not tell. Some drivers call in hard interrupt, where none of our locks may be taken. */
static void kv_qp_event(struct ib_event *event, void *context)
{
	struct kv_conn *conn = context;

	if (event->event != IB_EVENT_COMM_EST)
		queue_work(kv_cm_wq, &conn->event_work);
}

static u32 kv_qp_recv_sge(const struct kv_conn *conn)
{
	if (conn->plain)
		return kv_plain_pieces(conn->kdom->max_recv_sge);
	return kv_packet(conn->kdom) > KVW_PAGE ? 2 : 1;
}

static int kv_qp_make(struct kv_conn *conn, u32 sends, u32 receives, u32 in_request)
{
	struct kv_domain *kdom = conn->kdom;
	struct ib_qp_init_attr attr = {
		.event_handler	= kv_qp_event,
		.qp_context	= conn,
		.qp_type	= IB_QPT_RC,
		.sq_sig_type	= IB_SIGNAL_REQ_WR,
		.send_cq	= conn->cq,
		.recv_cq	= conn->cq,
		.port_num	= conn->id->port_num,
		.cap		= {
			.max_send_wr	= sends + 1,
			.max_recv_wr	= receives + 1,
			.max_send_sge	= min_t(u32, KV_SGE + 1, kdom->max_send_sge),
			.max_recv_sge	= kv_qp_recv_sge(conn),
			.max_inline_data = in_request,
		},
	};
	int ret = rdma_create_qp(conn->id, kdom->pd, &attr);

	if (ret)
		return ret;
	conn->qp = conn->id->qp;
	conn->in_request = min(attr.cap.max_inline_data, in_request);	/* a device without it says 0 */
	return 0;
}

/* Bytes that it sends in one packet. It is connected. */
u32 kv_qp_mtu(struct kv_conn *conn)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	if (ib_query_qp(conn->qp, &attr, IB_QP_PATH_MTU, &init) || ib_mtu_enum_to_int(attr.path_mtu) < 0)
		return ib_mtu_enum_to_int(IB_MTU_256);
	return ib_mtu_enum_to_int(attr.path_mtu);
}

/* Bytes of a packet that go to the device with the work request: what most short ones have, or none. How many it takes can't be asked. */
static int kv_qp_try(struct kv_conn *conn, u32 sends, u32 receives)
{
	static const u32 in_request[] = { 128, 80, 0 };
	unsigned int i = 0;
	int ret;

	do {
		ret = kv_qp_make(conn, sends, receives, in_request[i]);
	} while (ret == -EINVAL && ++i < ARRAY_SIZE(in_request));
	return ret;
}

/* Of the device's vectors, which are spread over the CPUs, the one for who wants to hear of what comes, or of what went. */
static int kv_qp_vector(const struct kv_conn *conn)
{
	const struct kfi_ep *ep = &conn->vep->ep;
	int cpu = kfi_cq_cpu(ep->rx_cq);

	return cpu < 0 ? kfi_cq_cpu(ep->tx_cq) : cpu;
}

static int kv_qp_open(struct kv_conn *conn, u32 sends, u32 receives)
{
	int ret = kv_cq_open(conn, sends + receives + 2, kv_qp_vector(conn));

	if (ret)
		return ret;
	return sends ? kv_qp_try(conn, sends, receives) : kv_qp_make(conn, 0, receives, 0);
}

/* For a call that is going to be refused. */
int kv_qp_knock(struct kv_conn *conn)
{
	return kv_qp_open(conn, 0, 0);
}

/* On failure the caller takes down what there is, with kv_qp_destroy(). */
int kv_qp_create(struct kv_conn *conn)
{
	int ret = kv_qp_open(conn, KV_SQ, conn->plain ? conn->vep->ep.rx.depth : kv_nslots());

	if (ret)
		return ret;
	if (conn->plain)
		return kv_sq_create(conn) ?: kv_rq_create(conn);
	conn->keys = kvcalloc(KV_KEYS, sizeof(*conn->keys), GFP_NOIO);
	if (!conn->keys)
		return -ENOMEM;
	return kv_sq_create(conn) ?: kv_frmrs_alloc(conn) ?: kv_slots_create(conn);
}

/*
 * Of one that has not been connected nobody waits for anything. But it is not enough to drain it: rxe never flushes the receives of one
 * that had no memory to be connected. What one of MSG has received is the consumer's, and a reset may take it out of the queue.
 */
static void kv_qp_reset(struct kv_conn *conn)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET, .port_num = conn->id->port_num };

	if (conn->state == KV_READY || conn->stands || conn->kdom->iwarp || ib_modify_qp(conn->qp, &attr, IB_QP_STATE))
		return;
	attr.qp_state = IB_QPS_INIT;
	ib_modify_qp(conn->qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS);
}

static void kv_slot_late(struct kv_slot *slot, int err)
{
	WRITE_ONCE(slot->cqe.done, kv_late_done);
}

/* The device is broken; what it may still tell of stays. When this returns nobody is being told of it. */
static void kv_qp_forget(struct kv_conn *conn)
{
	unsigned int i;

	kv_forget(conn->qp);
	conn->kept = true;
	for (i = 0; conn->sq && i < KV_SQ; i++)
		WRITE_ONCE(conn->sq[i].cqe.done, kv_late_done);
	kv_slots_each(conn, kv_slot_late, 0);
	kv_rq_late(conn);
	synchronize_rcu();
}

/* Nothing moves any more when this returns, and the peer can touch nothing. Operations and messages are not ended yet. */
void kv_qp_destroy(struct kv_conn *conn)
{
	if (conn->qp) {
		kv_qp_reset(conn);
		if (!kv_drain(conn->qp, &conn->drain))
			kv_qp_forget(conn);
	}
	kv_frmrs_dereg(conn);
	if (conn->qp)
		rdma_destroy_qp(conn->id);
	conn->qp = NULL;
	cancel_work_sync(&conn->event_work);	/* no event comes any more */
	kv_cq_close(conn);
	kv_slots_unmap(conn);
}

/* All operations have ended. */
void kv_qp_free(struct kv_conn *conn)
{
	kv_frmrs_free(conn);
	if (!conn->kept)
		kv_sq_destroy(conn);
	kvfree(conn->keys);
	conn->keys = NULL;
}
