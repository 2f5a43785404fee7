// SPDX-License-Identifier: GPL-2.0
/* pair.c - connections by rdma_cm */
#include <linux/in.h>
#include <linux/inet.h>
#include <linux/mm.h>
#include <linux/module.h>
#include "rv.h"

#define RV_TIMEOUT_MS	5000

/* The first error is kept. Any context. */
void rv_fail(struct rv_pair *pair, int err)
{
	pair->err = pair->err ?: err;
	complete(&pair->done);
}

/* ---- rdma_cm ---- */

/*
 * A connection request comes to the identifier of the listener. The identifier of the connection
 * replaces it, with the same end.
 */
static int rv_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct rv_end *end = id->context;

	if (event->event == RDMA_CM_EVENT_DISCONNECTED ||
	    event->event == RDMA_CM_EVENT_TIMEWAIT_EXIT)
		return 0;
	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		if (end->id)
			return -EBUSY;	/* destroys the new identifier */
		end->id = id;
	}
	end->said = event->event;
	end->status = event->status;
	complete(&end->event);
	return 0;
}

static int rv_await(struct rv_end *end, int event)
{
	if (!wait_for_completion_timeout(&end->event, msecs_to_jiffies(2 * RV_TIMEOUT_MS)))
		return -ETIMEDOUT;
	if (end->said == event)
		return 0;
	return end->status < 0 ? end->status : -ECONNREFUSED;
}

static struct sockaddr_in rv_addr(const char *node)
{
	return (struct sockaddr_in) { .sin_family = AF_INET, .sin_addr.s_addr = in_aton(node) };
}

static struct rdma_cm_id *rv_id(struct bench_env *env, int nr, struct rv_end *end)
{
	return rdma_create_id(env->net[nr], rv_event, end, RDMA_PS_TCP, IB_QPT_RC);
}

/* Listen on a port that the system chooses, and return it in @addr. */
static int rv_listen(struct rv_pair *pair, struct bench_env *env, struct sockaddr_in *addr,
		     struct rdma_cm_id **listener)
{
	struct rdma_cm_id *id = rv_id(env, 1, &pair->end[1]);
	int ret;

	if (IS_ERR(id))
		return PTR_ERR(id);
	*addr = rv_addr(env->node[1]);
	ret = rdma_bind_addr(id, (struct sockaddr *)addr) ?: rdma_listen(id, 1);
	if (ret) {
		rdma_destroy_id(id);
		return ret;
	}
	addr->sin_port = ((struct sockaddr_in *)&id->route.addr.src_addr)->sin_port;
	*listener = id;
	return 0;
}

static int rv_resolve(struct rv_end *end, struct bench_env *env, struct sockaddr_in *to)
{
	struct sockaddr_in from = rv_addr(env->node[0]);
	struct rdma_cm_id *id = rv_id(env, 0, end);
	int ret;

	if (IS_ERR(id))
		return PTR_ERR(id);
	end->id = id;
	ret = rdma_resolve_addr(id, (struct sockaddr *)&from, (struct sockaddr *)to, RV_TIMEOUT_MS);
	ret = ret ?: rv_await(end, RDMA_CM_EVENT_ADDR_RESOLVED);
	ret = ret ?: rdma_resolve_route(id, RV_TIMEOUT_MS);
	return ret ?: rv_await(end, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

/* ---- queue pairs ---- */

static int rv_qp_open(struct rv_end *end, u32 sends, u32 recvs)
{
	/* one more of each for ib_drain_qp() */
	struct ib_qp_init_attr attr = {
		.qp_type	= IB_QPT_RC,
		.sq_sig_type	= IB_SIGNAL_REQ_WR,
		.cap		= {
			.max_send_wr	= sends + 1,
			.max_recv_wr	= recvs + 1,
			.max_send_sge	= 1,
			.max_recv_sge	= 1,
			.max_inline_data = RV_INLINE,
		},
	};
	struct ib_pd *pd = ib_alloc_pd(end->id->device, 0);
	struct ib_cq *cq;
	int ret;

	if (IS_ERR(pd))
		return PTR_ERR(pd);
	end->pd = pd;
	cq = ib_alloc_cq(end->id->device, end, sends + recvs + 2, 0, IB_POLL_SOFTIRQ);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	end->cq = cq;
	attr.send_cq = cq;
	attr.recv_cq = cq;
	ret = rdma_create_qp(end->id, pd, &attr);
	if (!ret)
		end->qp = end->id->qp;
	return ret;
}

static int rv_call(struct rv_pair *pair, struct bench_env *env, struct sockaddr_in *to, u32 sends,
		   u32 recvs)
{
	struct rdma_conn_param param = {
		.responder_resources = RV_READS,
		.initiator_depth = RV_READS,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
	struct rv_end *end = pair->end;
	int ret;

	ret = rv_resolve(&end[0], env, to);
	ret = ret ?: rv_qp_open(&end[0], sends, recvs);
	ret = ret ?: rdma_connect(end[0].id, &param);
	ret = ret ?: rv_await(&end[1], RDMA_CM_EVENT_CONNECT_REQUEST);
	ret = ret ?: rv_qp_open(&end[1], sends, recvs);
	if (ret)
		return ret;
	rdma_lock_handler(end[1].id);
	ret = rdma_accept(end[1].id, &param);
	rdma_unlock_handler(end[1].id);
	ret = ret ?: rv_await(&end[0], RDMA_CM_EVENT_ESTABLISHED);
	return ret ?: rv_await(&end[1], RDMA_CM_EVENT_ESTABLISHED);
}

int rv_pair_open(struct rv_pair *pair, struct bench_env *env, u32 sends, u32 recvs)
{
	struct rdma_cm_id *listener;
	struct sockaddr_in addr;
	int ret;

	*pair = (struct rv_pair) { };
	init_completion(&pair->done);
	init_completion(&pair->end[0].event);
	init_completion(&pair->end[1].event);
	ret = rv_listen(pair, env, &addr, &listener);
	if (ret)
		return ret;
	ret = rv_call(pair, env, &addr, sends, recvs);
	rdma_destroy_id(listener);
	if (ret) {
		rv_pair_stop(pair);
		rv_pair_close(pair);
	}
	return ret;
}

void rv_pair_stop(struct rv_pair *pair)
{
	int i;

	if (pair->end[0].qp)
		rdma_disconnect(pair->end[0].id);
	for (i = 0; i < 2; i++)
		if (pair->end[i].qp)
			ib_drain_qp(pair->end[i].qp);
}

static void rv_end_close(struct rv_end *end)
{
	if (end->qp)
		rdma_destroy_qp(end->id);
	if (end->cq)
		ib_free_cq(end->cq);
	if (end->pd)
		ib_dealloc_pd(end->pd);
	if (end->id)
		rdma_destroy_id(end->id);
}

void rv_pair_close(struct rv_pair *pair)
{
	rv_end_close(&pair->end[0]);
	rv_end_close(&pair->end[1]);
}

/* ---- prepared work requests, and memory that the peer may write ---- */

static int rv_slot_map(struct rv_end *end, struct rv_slot *slot, void *buf, u32 size,
		       enum dma_data_direction dir)
{
	struct ib_device *ib = end->id->device;

	slot->buf = buf;
	slot->dir = dir;
	slot->sge = (struct ib_sge){ .length = size, .lkey = end->pd->local_dma_lkey };
	if (!size)
		return 0;
	slot->sge.addr = ib_dma_map_single(ib, buf, size, dir);
	if (!ib_dma_mapping_error(ib, slot->sge.addr))
		return 0;
	slot->sge.length = 0;
	return -EIO;
}

/* Prepare a receive and post it. */
int rv_slot_recv(struct rv_end *end, struct rv_slot *slot, void *buf, u32 size, rv_done *done,
		 void *owner)
{
	int ret = rv_slot_map(end, slot, buf, size, DMA_FROM_DEVICE);

	slot->owner = owner;
	slot->cqe.done = done;
	slot->recv = (struct ib_recv_wr) {
		.wr_cqe = &slot->cqe, .sg_list = &slot->sge, .num_sge = size ? 1 : 0,
	};
	return ret ?: rv_post_recv(end, slot);
}

/* The device copies inline data from its virtual address when the request is posted. */
int rv_slot_send(struct rv_end *end, struct rv_slot *slot, void *buf, u32 size, rv_done *done,
		 void *owner)
{
	bool in_request = size && size <= RV_INLINE;
	int ret = rv_slot_map(end, slot, buf, in_request ? 0 : size, DMA_TO_DEVICE);

	slot->owner = owner;
	slot->cqe.done = done;
	slot->send.wr = (struct ib_send_wr) {
		.wr_cqe = &slot->cqe,
		.sg_list = &slot->sge,
		.num_sge = size ? 1 : 0,
		.opcode = IB_WR_SEND,
	};
	if (in_request) {
		slot->sge.addr = (uintptr_t)buf;
		slot->sge.length = size;
		slot->send.wr.send_flags = IB_SEND_INLINE;
	}
	return ret;
}

/* The slot may be unused. */
void rv_slot_free(struct rv_end *end, struct rv_slot *slot)
{
	if (slot->sge.length && !(slot->send.wr.send_flags & IB_SEND_INLINE))
		ib_dma_unmap_single(end->id->device, slot->sge.addr, slot->sge.length, slot->dir);
	slot->sge.length = 0;
}

/* ---- regions ---- */

struct rv_registration {
	struct ib_cqe		cqe;
	struct completion	done;
	int			err;
};

static void rv_registered(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rv_registration *r = container_of(wc->wr_cqe, struct rv_registration, cqe);

	r->err = wc->status == IB_WC_SUCCESS ? 0 : -EIO;
	complete(&r->done);
}

static int rv_register(struct rv_end *end, struct ib_mr *mr)
{
	struct rv_registration r = { .cqe.done = rv_registered };
	struct ib_reg_wr wr = {
		.wr = { .wr_cqe = &r.cqe, .opcode = IB_WR_REG_MR, .send_flags = IB_SEND_SIGNALED },
		.mr = mr,
		.key = mr->rkey,
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE,
	};
	int ret;

	init_completion(&r.done);
	ret = ib_post_send(end->qp, &wr.wr, NULL);
	if (ret)
		return ret;
	wait_for_completion(&r.done);	/* the queue pair completes all requests */
	return r.err;
}

int rv_region_open(struct rv_end *end, struct rv_region *region, struct page *page, u32 size)
{
	struct ib_device *ib = end->id->device;
	struct ib_mr *mr = ib_alloc_mr(end->pd, IB_MR_TYPE_MEM_REG, DIV_ROUND_UP(size, PAGE_SIZE));

	if (IS_ERR(mr))
		return PTR_ERR(mr);
	sg_init_table(&region->sg, 1);
	sg_set_page(&region->sg, page, size, 0);
	if (!ib_dma_map_sg(ib, &region->sg, 1, DMA_FROM_DEVICE)) {
		ib_dereg_mr(mr);
		return -EIO;
	}
	region->mr = mr;
	if (ib_map_mr_sg(mr, &region->sg, 1, NULL, PAGE_SIZE) != 1)
		return -EIO;
	return rv_register(end, mr);
}

/* The region may be unused. */
void rv_region_close(struct rv_end *end, struct rv_region *region)
{
	if (!region->mr)
		return;
	ib_dereg_mr(region->mr);
	ib_dma_unmap_sg(end->id->device, &region->sg, 1, DMA_FROM_DEVICE);
	region->mr = NULL;
}

/* ---- the module ---- */

EXPORT_SYMBOL_GPL(bench_rv_pingpong_block);
EXPORT_SYMBOL_GPL(bench_rv_pingpong_softirq);
EXPORT_SYMBOL_GPL(bench_rv_messages_single);
EXPORT_SYMBOL_GPL(bench_rv_messages_chain);
EXPORT_SYMBOL_GPL(bench_rv_stream_send);
EXPORT_SYMBOL_GPL(bench_rv_stream_write);
EXPORT_SYMBOL_GPL(bench_rv_write_8);
EXPORT_SYMBOL_GPL(bench_rv_write_4k);

MODULE_DESCRIPTION("raw in-kernel verbs, the limit for kfabric's benchmarks");
MODULE_LICENSE("GPL");
