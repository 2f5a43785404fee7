// SPDX-License-Identifier: GPL-2.0
/*
 * ulp.c - the ULP: accepts each call with a queue pair of its own, and looks at what all of them
 * receive by one shared receive queue.
 *
 * Events of a connection come from rdma_cm's workqueue, those of queue pairs and of the shared
 * queue in any context. The task of the cases ends connections.
 */
#include <linux/slab.h>
#include <rdma/iw_cm.h>
#include "hostile.h"

/**
 * struct ulp_recv - a receive
 * @cqe: its completion
 * @dma: address of @buf
 * @held: it was not posted again
 */
struct ulp_recv {
	struct ib_cqe	cqe;
	u64		dma;
	u8		*buf;
	bool		held;
};

struct hi_seen hi_seen;

static struct rdma_cm_id *ulp_listener;
static struct rdma_cm_id *ulp_anchor;	/* the device waits for it, and so for all objects */
static struct rdma_cm_id *ulp_mute;	/* a listener that answers no call */
static struct rdma_cm_id *ulp_unanswered[HI_UNANSWERED];	/* its calls */
static int ulp_nr_unanswered;
static struct ib_pd *ulp_pd;
static struct ib_cq *ulp_cq;
static struct ib_srq *ulp_srq;
static struct ulp_recv ulp_recvs[HI_RECVS];
static bool ulp_holds;
static LIST_HEAD(ulp_conns);
static DEFINE_MUTEX(ulp_lock);		/* protects the list */

/* ---- receives ---- */

static int ulp_post(struct ulp_recv *r)
{
	struct ib_sge sge = { .addr = r->dma, .length = HI_BUF, .lkey = ulp_pd->local_dma_lkey };
	struct ib_recv_wr wr = { .wr_cqe = &r->cqe, .sg_list = &sge, .num_sge = 1 };

	r->held = false;
	return ib_post_srq_recv(ulp_srq, &wr, NULL);
}

/* Return: what to count */
static atomic_t *ulp_look(struct hi_conn *conn, const struct ulp_recv *r, const struct ib_wc *wc)
{
	const struct hi_msg *msg = (void *)r->buf;

	if (wc->status != IB_WC_SUCCESS || wc->byte_len < sizeof(*msg) ||
	    wc->opcode != IB_WC_RECV || msg->magic != KIB_MAGIC)
		return &hi_seen.others;
	if (msg->number != conn->next++)
		atomic_inc(&hi_seen.disorder);
	return &hi_seen.messages;
}

/* It is counted last: the cases rely on the receive then. */
static void ulp_received(struct ib_cq *cq, struct ib_wc *wc)
{
	struct ulp_recv *r = container_of(wc->wr_cqe, struct ulp_recv, cqe);
	atomic_t *count = ulp_look(wc->qp->qp_context, r, wc);

	memset(r->buf, 0, sizeof(struct hi_msg));
	if (READ_ONCE(ulp_holds))
		r->held = true;
	else
		WARN_ON(ulp_post(r));
	atomic_inc(count);
}

void hi_ulp_hold(bool hold)
{
	int i;

	WRITE_ONCE(ulp_holds, hold);
	for (i = 0; !hold && i < HI_RECVS; i++)
		if (ulp_recvs[i].held)
			WARN_ON(ulp_post(&ulp_recvs[i]));
}

static void srq_event(struct ib_event *event, void *context)
{
	if (event->event == IB_EVENT_SRQ_LIMIT_REACHED)
		atomic_inc(&hi_seen.limits);
}

int hi_ulp_limit(u32 limit)
{
	struct ib_srq_attr attr = { .srq_limit = limit };

	return ib_modify_srq(ulp_srq, &attr, IB_SRQ_LIMIT);
}

/* ---- a queue pair that has ended ---- */

#define CHAIN	10000	/* completions */

/**
 * struct ulp_chain - completions whose handlers post the next receive
 * @breaker: runs when softirq work other than the queue pair's has its turn
 * @nr: completions
 * @row: completions since @breaker has run; @longest: the most
 */
struct ulp_chain {
	struct ib_qp		*qp;
	struct bh_work_struct	breaker;
	unsigned int		nr, row, longest;
	struct completion	done;
};

static void chain_break(struct bh_work_struct *bh)
{
	container_of(bh, struct ulp_chain, breaker)->row = 0;
}

static void chain_next(struct ib_cq *cq, void *context)
{
	struct ulp_chain *chain = context;
	struct ib_recv_wr wr = {};
	struct ib_wc wc;

	while (ib_poll_cq(cq, 1, &wc) > 0)
		chain->nr++;
	chain->longest = max(chain->longest, ++chain->row);
	queue_bh_work(&chain->breaker);
	if (chain->nr >= CHAIN) {
		complete(&chain->done);
		return;
	}
	ib_req_notify_cq(cq, IB_CQ_NEXT_COMP);
	WARN_ON(ib_post_recv(chain->qp, &wr, NULL));
}

static struct ib_qp *ulp_plain_qp(struct ib_cq *cq)
{
	struct ib_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IB_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	return ib_create_qp(ulp_pd, &attr);
}

static int chain_run(struct ulp_chain *chain, struct ib_cq *cq)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct ib_recv_wr wr = {};
	int ret;

	chain->qp = ulp_plain_qp(cq);
	if (IS_ERR(chain->qp))
		return PTR_ERR(chain->qp);
	ib_req_notify_cq(cq, IB_CQ_NEXT_COMP);
	ret = ib_modify_qp(chain->qp, &attr, IB_QP_STATE) ?: ib_post_recv(chain->qp, &wr, NULL);
	if (!ret && !wait_for_completion_timeout(&chain->done, HI_WAIT))
		ret = -ETIMEDOUT;
	ib_destroy_qp(chain->qp);
	return ret;
}

int hi_ulp_chain(void)
{
	struct ib_cq_init_attr attr = { .cqe = 16 };
	static struct ulp_chain chain;	/* work items are not on a stack */
	struct ib_cq *cq;
	int ret;

	chain = (struct ulp_chain) {};
	init_completion(&chain.done);
	INIT_BH_WORK(&chain.breaker, chain_break);
	cq = ib_create_cq(ulp_pd->device, chain_next, NULL, &chain, &attr);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	ret = chain_run(&chain, cq) ?: chain.longest;
	cancel_bh_work_sync(&chain.breaker);
	ib_destroy_cq(cq);
	return ret;
}

/* ---- a caller of another namespace ---- */

static int foreign_event(struct iw_cm_id *id, struct iw_cm_event *event)
{
	return 0;
}

static void foreign_ref(struct iw_cm_id *id)
{
}

/*
 * A caller of a namespace names a queue pair that does not exist. What rdma_cm of Linux 6.1 lets
 * pass, because the Ethernet addresses are equal, is refused before that is found.
 */
static int call_from(struct ib_device *dev, struct rdma_cm_id *ulp_id, struct iw_cm_id *id,
		     struct net *net)
{
	struct iw_cm_conn_param param = { .qpn = U32_MAX };
	struct sockaddr_in *to = (void *)&id->m_remote_addr, *from = (void *)&id->m_local_addr;

	ulp_id->route.addr.dev_addr.net = net;
	id->context = ulp_id;
	id->device = dev;
	id->event_handler = foreign_event;
	id->add_ref = foreign_ref;
	id->rem_ref = foreign_ref;
	*to = (struct sockaddr_in) {
		.sin_family = AF_INET, .sin_port = cpu_to_be16(HI_PORT),
		.sin_addr.s_addr = cpu_to_be32(HI_ADDR),
	};
	*from = *to;
	from->sin_port = cpu_to_be16(40000);
	return dev->ops.iw_connect(id, &param);
}

int hi_ulp_foreign(bool foreign)
{
	struct rdma_cm_id *ulp_id = kzalloc(sizeof(*ulp_id), GFP_KERNEL);
	struct iw_cm_id *id = kzalloc(sizeof(*id), GFP_KERNEL);
	int ret = -ENOMEM;

	if (ulp_id && id)	/* the foreign one is only compared */
		ret = call_from(ulp_cq->device, ulp_id, id, foreign ? ZERO_SIZE_PTR : &init_net);
	kfree(ulp_id);
	kfree(id);
	return ret;
}

/* ---- connections ---- */

static void qp_event(struct ib_event *event, void *context)
{
	struct hi_conn *conn = context;

	if (event->event == IB_EVENT_QP_LAST_WQE_REACHED)
		complete(&conn->last);
}

static int ulp_accept(struct hi_conn *conn)
{
	struct ib_qp_init_attr attr = {
		.event_handler = qp_event, .qp_context = conn, .send_cq = ulp_cq, .recv_cq = ulp_cq,
		.srq = ulp_srq, .cap = { .max_send_wr = 4, .max_send_sge = 1 },
		.qp_type = IB_QPT_RC,
	};
	struct rdma_conn_param param = { .responder_resources = 4, .initiator_depth = 4 };
	int ret = rdma_create_qp(conn->id, ulp_pd, &attr);

	if (ret)
		return ret;
	ret = rdma_accept(conn->id, &param);
	if (ret)
		rdma_destroy_qp(conn->id);
	return ret;
}

/* Return: an error, with which rdma_cm destroys the identifier */
static int ulp_called(struct rdma_cm_id *id)
{
	struct hi_conn *conn = kzalloc(sizeof(*conn), GFP_KERNEL);
	int ret;

	atomic_inc(&hi_seen.calls);
	if (!conn)
		return -ENOMEM;
	init_completion(&conn->last);
	init_completion(&conn->lost);
	conn->id = id;
	id->context = conn;
	mutex_lock(&ulp_lock);	/* once the peer knows, the connection is in the list for all */
	ret = ulp_accept(conn);
	if (!ret)
		list_add_tail(&conn->entry, &ulp_conns);
	mutex_unlock(&ulp_lock);
	if (ret)
		kfree(conn);
	return ret;
}

static int ulp_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct hi_conn *conn = id->context;

	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		return ulp_called(id);
	/* the last event of an identifier */
	if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		atomic_inc(&hi_seen.removals);
	else if (event->event != RDMA_CM_EVENT_DISCONNECTED)
		return 0;
	if (conn)
		complete(&conn->lost);
	return 0;
}

void hi_ulp_pause(void)
{
	mutex_lock(&ulp_lock);
}

void hi_ulp_resume(void)
{
	mutex_unlock(&ulp_lock);
}

int hi_ulp_conns(void)
{
	struct hi_conn *conn;
	int n = 0;

	mutex_lock(&ulp_lock);
	list_for_each_entry(conn, &ulp_conns, entry)
		n++;
	mutex_unlock(&ulp_lock);
	return n;
}

/*
 * What is in the completion queue when a queue pair is destroyed is lost, and its receive, too.
 * When the device goes, the end of the peer may not arrive.
 */
static bool ulp_end(struct hi_conn *conn)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	bool told = wait_for_completion_timeout(&conn->lost, HI_WAIT);

	ib_modify_qp(conn->id->qp, &attr, IB_QP_STATE);
	told &= !!wait_for_completion_timeout(&conn->last, HI_WAIT);
	ib_drain_sq(conn->id->qp);	/* it has the same completion queue */
	rdma_destroy_qp(conn->id);
	rdma_destroy_id(conn->id);
	kfree(conn);
	return told;
}

bool hi_ulp_wait(void)
{
	struct hi_conn *conn, *next;
	bool told = true;
	LIST_HEAD(conns);

	mutex_lock(&ulp_lock);
	list_splice_init(&ulp_conns, &conns);
	mutex_unlock(&ulp_lock);
	list_for_each_entry_safe(conn, next, &conns, entry)
		told &= ulp_end(conn);
	return told;
}

bool hi_ulp_drop(void)
{
	struct hi_conn *conn;

	mutex_lock(&ulp_lock);
	list_for_each_entry(conn, &ulp_conns, entry)
		rdma_disconnect(conn->id);
	mutex_unlock(&ulp_lock);
	return hi_ulp_wait();
}

/* ---- life ---- */

static int ulp_recvs_open(void)
{
	struct ulp_recv *r;
	int ret = 0;

	for (r = ulp_recvs; !ret && r < ulp_recvs + HI_RECVS; r++) {
		r->cqe.done = ulp_received;
		r->buf = kzalloc(HI_BUF, GFP_KERNEL);
		if (!r->buf)
			return -ENOMEM;
		r->dma = ib_dma_map_single(ulp_pd->device, r->buf, HI_BUF, DMA_FROM_DEVICE);
		ret = ulp_post(r);
	}
	return ret;
}

static int ulp_objects(struct ib_device *device)
{
	struct ib_srq_init_attr attr = {
		.event_handler = srq_event, .attr = { .max_wr = HI_RECVS, .max_sge = 1 },
	};

	ulp_pd = ib_alloc_pd(device, 0);
	if (IS_ERR(ulp_pd))
		return PTR_ERR(ulp_pd);
	/* far fewer entries than requests end at a time: none of them may get lost */
	ulp_cq = ib_alloc_cq(device, NULL, 4, 0, IB_POLL_WORKQUEUE);
	if (IS_ERR(ulp_cq))
		return PTR_ERR(ulp_cq);
	ulp_srq = ib_create_srq(ulp_pd, &attr);
	if (IS_ERR(ulp_srq))
		return PTR_ERR(ulp_srq);
	return ulp_recvs_open();
}

/* An identifier at a port of the device. Return: it, or an error pointer */
static struct rdma_cm_id *ulp_id(u16 port, rdma_cm_event_handler handler)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET, .sin_port = cpu_to_be16(port),
		.sin_addr.s_addr = cpu_to_be32(HI_ADDR),
	};
	struct rdma_cm_id *id;
	int ret;

	id = rdma_create_id(&init_net, handler, NULL, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return id;
	ret = rdma_bind_addr(id, (struct sockaddr *)&addr);
	if (!ret && !id->device)
		ret = -ENODEV;
	if (!ret)
		return id;
	rdma_destroy_id(id);
	return ERR_PTR(ret);
}

static int mute_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	if (ulp_nr_unanswered == HI_UNANSWERED)
		return -ENOSPC;
	ulp_unanswered[ulp_nr_unanswered++] = id;
	atomic_inc(&hi_seen.unanswered);
	return 0;
}

int hi_ulp_mute(void)
{
	ulp_mute = ulp_id(HI_PORT + 1, mute_event);
	return IS_ERR(ulp_mute) ? PTR_ERR(ulp_mute) : rdma_listen(ulp_mute, HI_UNANSWERED);
}

void hi_ulp_unmute(void)
{
	if (!IS_ERR_OR_NULL(ulp_mute))
		rdma_destroy_id(ulp_mute);
	ulp_mute = NULL;
}

int hi_ulp_open(void)
{
	ulp_anchor = ulp_id(0, ulp_event);
	if (IS_ERR(ulp_anchor))
		return PTR_ERR(ulp_anchor);
	ulp_listener = ulp_id(HI_PORT, ulp_event);
	if (IS_ERR(ulp_listener))
		return PTR_ERR(ulp_listener);
	return ulp_objects(ulp_anchor->device) ?: rdma_listen(ulp_listener, 64);
}

void hi_ulp_close(void)
{
	struct ulp_recv *r;

	if (!IS_ERR_OR_NULL(ulp_listener))
		rdma_destroy_id(ulp_listener);
	while (ulp_nr_unanswered)
		rdma_destroy_id(ulp_unanswered[--ulp_nr_unanswered]);
	WARN_ON(!hi_ulp_drop());
	if (!IS_ERR_OR_NULL(ulp_srq))
		ib_destroy_srq(ulp_srq);
	if (!IS_ERR_OR_NULL(ulp_cq))
		ib_free_cq(ulp_cq);
	for (r = ulp_recvs; r < ulp_recvs + HI_RECVS && r->buf; r++) {
		ib_dma_unmap_single(ulp_pd->device, r->dma, HI_BUF, DMA_FROM_DEVICE);
		kfree(r->buf);
	}
	if (!IS_ERR_OR_NULL(ulp_pd))
		ib_dealloc_pd(ulp_pd);
	if (!IS_ERR_OR_NULL(ulp_anchor))
		rdma_destroy_id(ulp_anchor);
}
