// SPDX-License-Identifier: GPL-2.0
/*
 * ulp.c - the ULP: makes queue pairs, moves them by hand, and looks at what most of them receive by
 * one shared receive queue.
 *
 * Events of queue pairs and of the shared queue come in any context. The task of the cases makes
 * queue pairs and ends them.
 */
#include <linux/slab.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>
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

static struct ib_device *ulp_device;
static DECLARE_COMPLETION(ulp_found);	/* the device is there */
static DECLARE_COMPLETION(ulp_gone);	/* no object of it is left: the device waits for that */
static bool ulp_registered;
static struct ib_pd *ulp_pd;
static struct ib_cq *ulp_cq;
static struct ib_srq *ulp_srq;
static struct ulp_recv ulp_recvs[HI_RECVS];
static struct ulp_recv ulp_other;	/* memory of all other receives, and of sends */
static struct ib_qp *ulp_ud;
static bool ulp_holds;
static LIST_HEAD(ulp_qps);
static int ulp_gid;			/* index of the GID */

static const struct ib_qp_cap ulp_cap = {
	.max_send_wr = 4, .max_recv_wr = HI_OWN_RECVS, .max_send_sge = 1, .max_recv_sge = 1,
};

/* ---- receives ---- */

static int ulp_post(struct ulp_recv *r)
{
	struct ib_sge sge = { .addr = r->dma, .length = HI_BUF, .lkey = ulp_pd->local_dma_lkey };
	struct ib_recv_wr wr = { .wr_cqe = &r->cqe, .sg_list = &sge, .num_sge = 1 };

	r->held = false;
	return ib_post_srq_recv(ulp_srq, &wr, NULL);
}

/* Return: what to count */
static atomic_t *ulp_look(struct hi_qp *q, const struct ulp_recv *r, const struct ib_wc *wc)
{
	const struct hi_msg *msg = (void *)r->buf;

	if (wc->status == IB_WC_SUCCESS)
		WRITE_ONCE(q->connected, true);
	if (wc->status != IB_WC_SUCCESS || wc->byte_len < sizeof(*msg) ||
	    wc->opcode != IB_WC_RECV || msg->magic != KIB_MAGIC)
		return &hi_seen.others;
	if (msg->number != q->next++)
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

/* ---- a queue pair with receives of its own ---- */

static void own_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct hi_qp *q = container_of(wc->wr_cqe, struct hi_qp, recv);

	if (atomic_inc_return(&q->own) == HI_OWN_RECVS)
		complete(&q->last);
}

static int own_post(struct hi_qp *q)
{
	struct ib_sge sge = {
		.addr = ulp_other.dma, .length = HI_BUF, .lkey = ulp_pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = { .wr_cqe = &q->recv, .sg_list = &sge, .num_sge = 1 };
	int i, ret = 0;

	atomic_set(&q->own, 0);
	for (i = 0; !ret && i < HI_OWN_RECVS; i++)
		ret = ib_post_recv(q->ib, &wr, NULL);
	return ret;
}

/* ---- states of queue pairs ---- */

static int ulp_to_init(struct ib_qp *qp)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT, .port_num = 1,
		.qp_access_flags = IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ,
	};

	return ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
			    IB_QP_ACCESS_FLAGS);
}

static int qp_moved(struct hi_qp *q, int ret, enum ib_qp_state state)
{
	if (!ret)
		q->state = state;
	return ret;
}

int hi_qp_init(struct hi_qp *q)
{
	return qp_moved(q, ulp_to_init(q->ib), IB_QPS_INIT) ?:
	       (q->ib->srq ? 0 : own_post(q));
}

/* @gid, @number: the other side */
static int ulp_to_rtr(struct hi_qp *q, u8 *gid, u32 number)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTR, .path_mtu = IB_MTU_4096, .dest_qp_num = number,
		.max_dest_rd_atomic = 4,
	};

	attr.ah_attr.type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_grh(&attr.ah_attr, NULL, 0, ulp_gid, 64, 0);
	rdma_ah_set_dgid_raw(&attr.ah_attr, gid);
	rdma_ah_set_port_num(&attr.ah_attr, 1);
	return qp_moved(q, ib_modify_qp(q->ib, &attr, IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU |
					IB_QP_DEST_QPN | IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC |
					IB_QP_MIN_RNR_TIMER), IB_QPS_RTR);
}

int hi_qp_rtr(struct hi_qp *q, enum hi_side side, u32 number)
{
	struct kib_packet_head head = hi_head(side, KIB_PACKET_ASK, number, q->ib->qp_num);

	return ulp_to_rtr(q, head.sgid, number);
}

int hi_qp_rtr_within(struct hi_qp *q, const struct hi_qp *other)
{
	union ib_gid gid;

	return rdma_query_gid(ulp_device, 1, ulp_gid, &gid) ?:
	       ulp_to_rtr(q, gid.raw, other->ib->qp_num);
}

/* The time of a request is the shortest that there is. */
int hi_qp_rts(struct hi_qp *q)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTS, .timeout = 1, .retry_cnt = 1, .max_rd_atomic = 4,
	};

	return qp_moved(q, ib_modify_qp(q->ib, &attr, IB_QP_STATE | IB_QP_TIMEOUT |
					IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_SQ_PSN |
					IB_QP_MAX_QP_RD_ATOMIC), IB_QPS_RTS);
}

int hi_qp_up(struct hi_qp *q, enum hi_side side, u32 number)
{
	return hi_qp_init(q) ?: hi_qp_rtr(q, side, number) ?: hi_qp_rts(q);
}

int hi_qp_to(struct hi_qp *q, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };

	return qp_moved(q, ib_modify_qp(q->ib, &attr, IB_QP_STATE), state);
}

int hi_qp_err(struct hi_qp *q)
{
	return hi_qp_to(q, IB_QPS_ERR);
}

int hi_qp_state(struct hi_qp *q)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	return ib_query_qp(q->ib, &attr, IB_QP_STATE, &init) ?: attr.qp_state;
}

/*
 * What the queue pair has not reported is forgotten. A completion that was polled already may still
 * be handled, so the completion queue is let run dry first.
 */
int hi_qp_reset(struct hi_qp *q)
{
	int ret = hi_qp_to(q, IB_QPS_RESET);

	flush_work(&ulp_cq->work);
	reinit_completion(&q->last);
	q->connected = false;
	q->next = 0;
	return ret;
}

/* ---- life of queue pairs ---- */

static void qp_event(struct ib_event *event, void *context)
{
	struct hi_qp *q = context;

	if (event->event == IB_EVENT_QP_LAST_WQE_REACHED)
		complete(&q->last);
}

static void send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct hi_qp *q = container_of(wc->wr_cqe, struct hi_qp, send);

	q->status = wc->status;
	complete(&q->sent);
}

int hi_qp_send(struct hi_qp *q)
{
	struct ib_sge sge = {
		.addr = ulp_other.dma, .length = 64, .lkey = ulp_pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.wr_cqe = &q->send, .sg_list = &sge, .num_sge = 1, .opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
	};

	return ib_post_send(q->ib, &wr, NULL);
}

struct hi_qp *hi_qp_new(bool shared)
{
	struct ib_qp_init_attr attr = {
		.event_handler = qp_event, .send_cq = ulp_cq, .recv_cq = ulp_cq,
		.srq = shared ? ulp_srq : NULL, .cap = ulp_cap, .qp_type = IB_QPT_RC,
	};
	struct hi_qp *q = kzalloc(sizeof(*q), GFP_KERNEL);

	if (!q)
		return NULL;
	init_completion(&q->last);
	init_completion(&q->sent);
	q->send.done = send_done;
	q->recv.done = own_done;
	attr.qp_context = q;
	if (shared)
		attr.cap.max_recv_wr = 0;
	q->ib = ib_create_qp(ulp_pd, &attr);
	if (IS_ERR(q->ib)) {
		kfree(q);
		return NULL;
	}
	list_add_tail(&q->entry, &ulp_qps);
	return q;
}

void hi_qp_destroy(struct hi_qp *q)
{
	ib_destroy_qp(q->ib);
	flush_work(&ulp_cq->work);	/* it may handle what it has polled before */
	list_del(&q->entry);
	kfree(q);
}

int hi_qps(void)
{
	struct hi_qp *q;
	int n = 0;

	list_for_each_entry(q, &ulp_qps, entry)
		n++;
	return n;
}

/*
 * What is in the completion queue when a queue pair is destroyed is lost, and its receive, too.
 * One that is connected ends by itself when its peer has ended the connection.
 */
static bool qp_end(struct hi_qp *q, bool drop)
{
	bool told = true;

	if (q->state != IB_QPS_RESET) {
		if (drop || !READ_ONCE(q->connected))
			hi_qp_err(q);
		told = wait_for_completion_timeout(&q->last, HI_WAIT);
		ib_drain_sq(q->ib);	/* the receives have the same completion queue */
	}
	hi_qp_destroy(q);
	return told;
}

static bool qps_end(bool drop)
{
	struct hi_qp *q, *next;
	bool told = true;

	list_for_each_entry_safe(q, next, &ulp_qps, entry)
		told &= qp_end(q, drop);
	return told;
}

bool hi_ulp_wait(void)
{
	return qps_end(false);
}

bool hi_ulp_drop(void)
{
	return qps_end(true);
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

static int chain_run(struct ulp_chain *chain, struct ib_cq *cq)
{
	struct ib_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IB_QPT_RC, .cap = ulp_cap,
	};
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct ib_recv_wr wr = {};
	int ret;

	chain->qp = ib_create_qp(ulp_pd, &init);
	if (IS_ERR(chain->qp))
		return PTR_ERR(chain->qp);
	ib_req_notify_cq(cq, IB_CQ_NEXT_COMP);
	ret = ulp_to_init(chain->qp) ?: ib_modify_qp(chain->qp, &attr, IB_QP_STATE) ?:
	      ib_post_recv(chain->qp, &wr, NULL);
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

/* ---- datagrams ---- */

static void ud_done(struct ib_cq *cq, struct ib_wc *wc)
{
	atomic_inc(wc->status == IB_WC_SUCCESS ? &hi_seen.datagrams : &hi_seen.bad_datagrams);
}

int hi_ud_post(int n)
{
	struct ib_sge sge = {
		.addr = ulp_other.dma, .length = sizeof(struct ib_grh) + HI_UD_ROOM,
		.lkey = ulp_pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = { .wr_cqe = &ulp_other.cqe, .sg_list = &sge, .num_sge = 1 };
	int ret = 0;

	while (!ret && n--)
		ret = ib_post_recv(ulp_ud, &wr, NULL);
	return ret;
}

int hi_ud_open(void)
{
	struct ib_qp_init_attr init = {
		.send_cq = ulp_cq, .recv_cq = ulp_cq, .qp_type = IB_QPT_UD, .cap = ulp_cap,
	};
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT, .port_num = 1, .qkey = HI_QKEY,
	};
	int ret;

	init.cap.max_recv_wr *= 2;	/* one more for the end */
	ulp_ud = ib_create_qp(ulp_pd, &init);
	if (IS_ERR(ulp_ud))
		return PTR_ERR(ulp_ud);
	ulp_other.cqe.done = ud_done;
	ret = ib_modify_qp(ulp_ud, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY);
	attr.qp_state = IB_QPS_RTR;
	ret = ret ?: ib_modify_qp(ulp_ud, &attr, IB_QP_STATE);
	attr.qp_state = IB_QPS_RTS;
	ret = ret ?: ib_modify_qp(ulp_ud, &attr, IB_QP_STATE | IB_QP_SQ_PSN);
	return ret ?: ulp_ud->qp_num;
}

static int ud_send(struct ib_ah *ah)
{
	struct ib_sge sge = {
		.addr = ulp_other.dma, .length = 8, .lkey = ulp_pd->local_dma_lkey,
	};
	struct ib_ud_wr wr = {
		.wr = { .wr_cqe = &ulp_other.cqe, .sg_list = &sge, .num_sge = 1,
			.opcode = IB_WR_SEND },
		.ah = ah, .remote_qpn = 2, .remote_qkey = HI_QKEY,
	};
	unsigned long end = jiffies + HI_WAIT;
	int ret;

	while ((ret = ib_post_send(ulp_ud, &wr.wr, NULL)) == -ENOMEM && time_before(jiffies, end))
		usleep_range(50, 100);
	return ret;
}

/* Does an address handle say what it was made of? */
static bool ah_says(struct ib_ah *ah, const struct rdma_ah_attr *attr)
{
	const struct ib_global_route *made = rdma_ah_read_grh(attr), *says;
	struct rdma_ah_attr found;

	if (rdma_query_ah(ah, &found) || !(rdma_ah_get_ah_flags(&found) & IB_AH_GRH))
		return false;
	says = rdma_ah_read_grh(&found);
	return found.type == attr->type && says->sgid_index == made->sgid_index &&
	       !memcmp(&says->dgid, &made->dgid, sizeof(says->dgid));
}

int hi_ud_dead(int nodes)
{
	struct kib_packet_head head = hi_head(HI_LOW, KIB_PACKET_UD, 2, 0);
	struct rdma_ah_attr attr = { .type = RDMA_AH_ATTR_TYPE_ROCE };
	struct ib_ah *ah;
	int i, ret = 0;

	for (i = 0; !ret && i < nodes; i++) {
		head.sgid[14] = 1 + i / 200;
		head.sgid[15] = 1 + i % 200;
		rdma_ah_set_grh(&attr, NULL, 0, ulp_gid, 64, 0);
		rdma_ah_set_dgid_raw(&attr, head.sgid);
		rdma_ah_set_port_num(&attr, 1);
		ah = rdma_create_ah(ulp_pd, &attr, RDMA_CREATE_AH_SLEEPABLE);
		if (IS_ERR(ah))
			return PTR_ERR(ah);
		ret = ah_says(ah, &attr) ? ud_send(ah) : -EINVAL;
		rdma_destroy_ah(ah, RDMA_DESTROY_AH_SLEEPABLE);
	}
	return ret;
}

void hi_ud_close(void)
{
	if (!IS_ERR_OR_NULL(ulp_ud)) {
		ib_drain_rq(ulp_ud);
		ib_destroy_qp(ulp_ud);
	}
	ulp_ud = NULL;
}

/* ---- life ---- */

static int recv_open(struct ulp_recv *r)
{
	r->buf = kzalloc(HI_BUF, GFP_KERNEL);
	if (!r->buf)
		return -ENOMEM;
	r->dma = ib_dma_map_single(ulp_device, r->buf, HI_BUF, DMA_BIDIRECTIONAL);
	return 0;
}

static void recv_close(struct ulp_recv *r)
{
	if (r->buf)
		ib_dma_unmap_single(ulp_device, r->dma, HI_BUF, DMA_BIDIRECTIONAL);
	kfree(r->buf);
}

static int ulp_recvs_open(void)
{
	struct ulp_recv *r;
	int ret = recv_open(&ulp_other);

	for (r = ulp_recvs; !ret && r < ulp_recvs + HI_RECVS; r++) {
		r->cqe.done = ulp_received;
		ret = recv_open(r) ?: ulp_post(r);
	}
	return ret;
}

/* The RDMA core makes the GIDs of the device in a work item. */
static int ulp_find_gid(void)
{
	struct kib_packet_head head = hi_head(HI_LOW, KIB_PACKET_ASK, 0, 0);
	const struct ib_gid_attr *attr = ERR_PTR(-ENODEV);
	unsigned long end = jiffies + HI_WAIT;

	while (IS_ERR(attr) && time_before(jiffies, end) && !atomic_read(&hi_seen.removals)) {
		attr = rdma_find_gid_by_port(ulp_device, (union ib_gid *)head.dgid,
					     IB_GID_TYPE_ROCE_UDP_ENCAP, 1, NULL);
		if (IS_ERR(attr))
			usleep_range(1000, 2000);
	}
	if (IS_ERR(attr))
		return PTR_ERR(attr);
	ulp_gid = attr->index;
	rdma_put_gid_attr(attr);
	return 0;
}

static int ulp_objects(void)
{
	struct ib_srq_init_attr attr = {
		.event_handler = srq_event, .attr = { .max_wr = HI_RECVS, .max_sge = 1 },
	};

	ulp_pd = ib_alloc_pd(ulp_device, 0);
	if (IS_ERR(ulp_pd))
		return PTR_ERR(ulp_pd);
	/* far fewer entries than requests end at a time: none of them may get lost */
	ulp_cq = ib_alloc_cq(ulp_device, NULL, 4, 0, IB_POLL_WORKQUEUE);
	if (IS_ERR(ulp_cq))
		return PTR_ERR(ulp_cq);
	ulp_srq = ib_create_srq(ulp_pd, &attr);
	if (IS_ERR(ulp_srq))
		return PTR_ERR(ulp_srq);
	return ulp_recvs_open();
}

static int client_add(struct ib_device *device)
{
	if (strcmp(dev_name(&device->dev), HI_DEVICE))
		return -EOPNOTSUPP;	/* not ours */
	ulp_device = device;
	complete(&ulp_found);
	return 0;
}

static void client_remove(struct ib_device *device, void *data)
{
	atomic_inc(&hi_seen.removals);
	wait_for_completion(&ulp_gone);
}

static struct ib_client ulp_client = {
	.name = "kfi_ib_hostile", .add = client_add, .remove = client_remove,
};

int hi_ulp_open(void)
{
	int ret = ib_register_client(&ulp_client);

	if (ret)
		return ret;
	ulp_registered = true;
	if (!wait_for_completion_timeout(&ulp_found, HI_WAIT))
		return -ENODEV;
	return ulp_find_gid() ?: ulp_objects();
}

void hi_ulp_close(void)
{
	struct ulp_recv *r;

	WARN_ON(!hi_ulp_drop());
	hi_ud_close();
	if (!IS_ERR_OR_NULL(ulp_srq))
		ib_destroy_srq(ulp_srq);
	if (!IS_ERR_OR_NULL(ulp_cq))
		ib_free_cq(ulp_cq);
	for (r = ulp_recvs; r < ulp_recvs + HI_RECVS; r++)
		recv_close(r);
	recv_close(&ulp_other);
	if (!IS_ERR_OR_NULL(ulp_pd))
		ib_dealloc_pd(ulp_pd);
	complete_all(&ulp_gone);
	if (ulp_registered)
		ib_unregister_client(&ulp_client);
}
