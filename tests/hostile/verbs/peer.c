// SPDX-License-Identifier: GPL-2.0
/*
 * peer.c - a connection of ours to the victim.
 */
#include <linux/slab.h>
#include <linux/in.h>
#include <rdma/ib_cm.h>
#include "hostile.h"

static void hv_wake(struct hv *hv)
{
	wake_up_all(&hv->wait);
}

static bool hv_is_over(struct hv *hv)
{
	return READ_ONCE(hv->events) & (BIT(RDMA_CM_EVENT_ADDR_ERROR) | BIT(RDMA_CM_EVENT_ROUTE_ERROR) |
					BIT(RDMA_CM_EVENT_CONNECT_ERROR) | BIT(RDMA_CM_EVENT_UNREACHABLE) |
					BIT(RDMA_CM_EVENT_REJECTED) | BIT(RDMA_CM_EVENT_DISCONNECTED));
}

/* There is no connection any more. Its own device would be long in finding that out. */
bool hv_gone(struct hv *hv)
{
	return hv_is_over(hv) || READ_ONCE(hv->broken);
}

/* ---- packets ---- */

void hv_listen(struct hv *hv, unsigned int n)
{
	struct ib_sge sge = { hv->in_dma, HV_BUF, hv->pd->local_dma_lkey };
	struct ib_recv_wr wr = { .wr_cqe = &hv->recv, .sg_list = &sge, .num_sge = 1 };

	while (n--) {
		sge.addr = hv->in_dma + (u64)(hv->posted++ % HV_RECVS) * HV_BUF;
		if (ib_post_recv(hv->qp, &wr, NULL))
			return;
	}
}

/*
 * The bytes that are left begin with a frame, or with the victim's hello. Return: its length, or
 * 0
 */
static u32 hv_parse(struct hv *hv)
{
	struct kfw_hello_info info;
	struct hv_heard *heard;
	struct kfw_frame f;
	u32 len, parts;

	if (!hv->accepted) {
		if (hv->have < sizeof(struct kfw_hello))
			return 0;
		hv->accepted = !kfw_decode_hello((void *)hv->stream, &info) && info.kind == KFW_ACCEPT;
		return sizeof(struct kfw_hello);
	}
	if (hv->have < sizeof(struct kfw_hdr) ||
	    kfw_decode((void *)hv->stream, HV_STREAM, &f))
		return 0;
	parts = sizeof(struct kfw_hdr) + f.rma_count * sizeof(struct kfw_rma);
	len = parts + f.places * sizeof(struct kfw_place) + f.payload;
	if (hv->have < len)
		return 0;
	heard = &hv->heard[f.type];
	heard->last = f;
	memcpy(heard->places, hv->stream + parts, f.places * sizeof(struct kfw_place));
	heard->n++;
	if (f.type == KFW_MSG || f.type == KFW_RTS)
		hv->grant += kfw_cost(f.payload);
	return len;
}

/* A SEND of the victim */
static void hv_heard(struct hv *hv, const u8 *at, u32 bytes)
{
	const struct kvw_head *head = (void *)at;
	u32 n;

	if (bytes < sizeof(*head))
		return;
	spin_lock(&hv->lock);
	hv->limit = le32_to_cpu(head->limit);
	bytes = min_t(u32, bytes - sizeof(*head), HV_STREAM - hv->have);
	memcpy(hv->stream + hv->have, head + 1, bytes);
	hv->have += bytes;
	while ((n = hv_parse(hv))) {
		hv->have -= n;
		memmove(hv->stream, hv->stream + n, hv->have);
	}
	spin_unlock(&hv->lock);
}

/* Receives complete in the order in which they were posted. */
static void hv_recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct hv *hv = container_of(wc->wr_cqe, struct hv, recv);
	u8 *at;

	if (wc->status != IB_WC_SUCCESS) {
		WRITE_ONCE(hv->broken, true);
		hv_wake(hv);
		return;
	}
	at = hv->in + (hv->taken++ % HV_RECVS) * HV_BUF;
	if (!hv->plain)
		hv_heard(hv, at, wc->byte_len);
	if (!hv->deaf)
		hv_listen(hv, 1);
	hv_wake(hv);
}

static void hv_send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct hv *hv = container_of(wc->wr_cqe, struct hv, send);

	if (wc->status != IB_WC_SUCCESS)
		WRITE_ONCE(hv->broken, true);
	WRITE_ONCE(hv->sent, wc->status == IB_WC_SUCCESS ? 0 : -EIO);
	hv_wake(hv);
}

int hv_send(struct hv *hv, const void *bytes, u32 len, u32 inv)
{
	struct ib_sge sge = { hv->out_dma, len, hv->pd->local_dma_lkey };
	struct ib_send_wr wr = {
		.wr_cqe = &hv->send, .sg_list = &sge, .num_sge = len ? 1 : 0, .send_flags = IB_SEND_SIGNALED,
		.opcode = inv ? IB_WR_SEND_WITH_INV : IB_WR_SEND, .ex.invalidate_rkey = inv,
	};
	int ret;

	memcpy(hv->out, bytes, len);
	hv->sent = 1;
	ret = ib_post_send(hv->qp, &wr, NULL);
	if (ret)
		return ret;
	if (!wait_event_timeout(hv->wait, READ_ONCE(hv->sent) <= 0 || hv_gone(hv), msecs_to_jiffies(HV_WAIT_MS)))
		return -ETIMEDOUT;
	return min(READ_ONCE(hv->sent), 0) ?: hv_gone(hv) ? -ENOTCONN : 0;
}

int hv_say(struct hv *hv, const void *bytes, u32 len, u16 flags)
{
	u8 *out = kzalloc(HV_BUF, GFP_KERNEL);
	struct kvw_head *head = (void *)out;
	int ret = -ENOMEM;

	if (!out)
		return ret;
	head->limit = cpu_to_le32(READ_ONCE(hv->posted));
	head->flags = cpu_to_le16(flags);
	memcpy(head + 1, bytes, len);
	if (wait_event_timeout(hv->wait, READ_ONCE(hv->limit) - hv->told > KVW_RESERVE ||
					 hv_gone(hv), msecs_to_jiffies(HV_WAIT_MS)))
		ret = hv_send(hv, out, sizeof(*head) + len, 0);
	else
		ret = -ETIMEDOUT;
	hv->told++;
	kfree(out);
	return ret;
}

/* Our credit is filled in, unless the caller has said something else. */
int hv_frame(struct hv *hv, struct kfw_frame *f, const void *rest, u32 len)
{
	u8 *bytes = kzalloc(HV_BUF, GFP_KERNEL);
	int ret;

	if (!bytes)
		return -ENOMEM;
	f->credit_msg = f->credit_msg ?: READ_ONCE(hv->grant);
	f->credit_tag = f->credit_tag ?: HV_WINDOW;
	kfw_encode(f, (void *)bytes);
	memcpy(bytes + sizeof(struct kfw_hdr), rest, len);
	ret = hv_say(hv, bytes, sizeof(struct kfw_hdr) + len, 0);
	kfree(bytes);
	return ret;
}

unsigned int hv_count(struct hv *hv, u8 type)
{
	return READ_ONCE(hv->heard[type].n);
}

bool hv_wait(struct hv *hv, u8 type, unsigned int n, unsigned int ms)
{
	return wait_event_timeout(hv->wait, hv_count(hv, type) >= n, msecs_to_jiffies(ms));
}

/* ---- rdma_cm ---- */

static int hv_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct hv *hv = id->context;

	spin_lock_bh(&hv->lock);
	hv->said_len = 0;
	if (event->param.conn.private_data) {
		hv->said_len = event->param.conn.private_data_len;
		memcpy(hv->said, event->param.conn.private_data, hv->said_len);
	}
	hv->events |= BIT(event->event);
	spin_unlock_bh(&hv->lock);
	hv_wake(hv);
	return 0;
}

bool hv_wait_event(struct hv *hv, enum rdma_cm_event_type type, unsigned int ms)
{
	wait_event_timeout(hv->wait, READ_ONCE(hv->events) & BIT(type) || hv_is_over(hv), msecs_to_jiffies(ms));
	return READ_ONCE(hv->events) & BIT(type);
}

bool hv_ended(struct hv *hv)
{
	return wait_event_timeout(hv->wait, hv_gone(hv), msecs_to_jiffies(HV_WAIT_MS));
}

static void hv_hello(struct kfw_hello *hello, u16 port)
{
	struct kfw_hello_info info = {
		.kind = KFW_HELLO, .ep_type = KFI_EP_RDM, .port = port, .incarnation = 77,
		.stream = get_random_u64() | 1, .window_msg = HV_WINDOW, .window_tag = HV_WINDOW,
		.requests = 64, .eager = 4096,
	};

	kfw_encode_hello(&info, hello);
}

static int hv_memory(struct hv *hv)
{
	struct ib_device *ib = hv->id->device;

	hv->out_dma = ib_dma_map_single(ib, hv->out, HV_BUF, DMA_TO_DEVICE);
	hv->in_dma = ib_dma_map_single(ib, hv->in, HV_RECVS * HV_BUF, DMA_FROM_DEVICE);
	hv->dma = ib_dma_map_single(ib, hv->mem, HV_MEM, DMA_BIDIRECTIONAL);
	return 0;
}

static int hv_queue_pair(struct hv *hv, const struct hv_call *call)
{
	struct ib_device *ib = hv->id->device;
	struct ib_qp_init_attr attr = {
		.qp_type = IB_QPT_RC, .sq_sig_type = IB_SIGNAL_REQ_WR, .port_num = hv->id->port_num,
		.cap = { .max_send_wr = HV_SENDS + 1, .max_recv_wr = HV_RECVS + 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	hv->pd = ib_alloc_pd(ib, IB_PD_UNSAFE_GLOBAL_RKEY);
	if (IS_ERR(hv->pd)) {
		hv->pd = NULL;
		return -ENOMEM;
	}
	hv->cq = ib_alloc_cq(ib, hv, HV_SENDS + HV_RECVS + 2, 0, IB_POLL_WORKQUEUE);
	if (IS_ERR(hv->cq)) {
		hv->cq = NULL;
		return -ENOMEM;
	}
	attr.send_cq = attr.recv_cq = hv->cq;
	if (call->bare) {
		hv->qp = ib_create_qp(hv->pd, &attr);
		if (IS_ERR(hv->qp))
			hv->qp = NULL;
		return hv->qp ? hv_memory(hv) : -ENOMEM;
	}
	if (rdma_create_qp(hv->id, hv->pd, &attr))
		return -ENOMEM;
	hv->qp = hv->id->qp;
	hv_memory(hv);
	hv_listen(hv, call->recvs ?: HV_RECVS);
	return 0;
}

static int hv_connect(struct hv *hv, const struct hv_call *call)
{
	const struct kvw_front front = {
		.magic = cpu_to_le32(KVW_MAGIC), .version = KVW_VERSION,
		.version_min = KVW_VERSION,
	};
	struct rdma_conn_param param = {
		.private_data = call->hello ?: &front,
		.private_data_len = call->hello ? call->len : sizeof(front),
		.responder_resources = 1, .initiator_depth = 1, .retry_count = 7,
		.rnr_retry_count = 7, .qp_num = hv->qp->qp_num,
	};

	return rdma_connect(hv->id, &param);
}

struct hv *hv_new(void)
{
	struct hv *hv = kvzalloc(sizeof(*hv), GFP_KERNEL);

	if (!hv)
		return NULL;
	spin_lock_init(&hv->lock);
	init_waitqueue_head(&hv->wait);
	hv->recv.done = hv_recv_done;
	hv->send.done = hv_send_done;
	hv->grant = HV_WINDOW;
	hv->limit = KVW_FIRST;
	hv->out = kzalloc(HV_BUF, GFP_KERNEL);
	hv->in = kzalloc(HV_RECVS * HV_BUF, GFP_KERNEL);
	hv->mem = kzalloc(HV_MEM, GFP_KERNEL);
	hv->stream = kvzalloc(HV_STREAM, GFP_KERNEL);
	if (hv->out && hv->in && hv->mem && hv->stream)
		return hv;
	hv_close(hv);
	return NULL;
}

/* Say hello, and wait for the answer. */
static int hv_exchange_hello(struct hv *hv, u16 port)
{
	struct kfw_hello hello;
	int ret;

	hv_hello(&hello, port);
	ret = hv_say(hv, &hello, sizeof(hello), 0);
	if (ret)
		return ret;
	wait_event_timeout(hv->wait, READ_ONCE(hv->accepted) || hv_gone(hv),
			   msecs_to_jiffies(HV_WAIT_MS));
	return READ_ONCE(hv->accepted) ? 0 : -ECONNREFUSED;
}

/* 0: accepted; -ECONNREFUSED: rejected, by what is in @hv->said. */
int hv_call(struct hv *hv, const struct victim *v, const struct hv_call *call)
{
	struct sockaddr_in to = *(const struct sockaddr_in *)v->name;
	int ret;

	hv->id = rdma_create_id(current->nsproxy->net_ns, hv_event, hv, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(hv->id)) {
		ret = PTR_ERR(hv->id);
		hv->id = NULL;
		return ret;
	}
	hv->deaf = call->recvs;
	ret = rdma_resolve_addr(hv->id, NULL, (struct sockaddr *)&to, HV_WAIT_MS);
	if (ret || !hv_wait_event(hv, RDMA_CM_EVENT_ADDR_RESOLVED, HV_WAIT_MS))
		return ret ?: -EHOSTUNREACH;
	ret = rdma_resolve_route(hv->id, HV_WAIT_MS);
	if (ret || !hv_wait_event(hv, RDMA_CM_EVENT_ROUTE_RESOLVED, HV_WAIT_MS))
		return ret ?: -EHOSTUNREACH;
	ret = hv_queue_pair(hv, call) ?: hv_connect(hv, call);
	if (ret)
		return ret;
	if (!hv_wait_event(hv, call->bare ? RDMA_CM_EVENT_CONNECT_RESPONSE : RDMA_CM_EVENT_ESTABLISHED, HV_WAIT_MS))
		return hv->events & BIT(RDMA_CM_EVENT_REJECTED) ? -ECONNREFUSED : -ETIMEDOUT;
	return call->bare || call->silent ? 0 : hv_exchange_hello(hv, call->port);
}

struct hv *hv_open(const struct victim *v, u16 port)
{
	struct hv_call call = { .port = port };
	struct hv *hv = hv_new();
	int ret = hv ? hv_call(hv, v, &call) : -ENOMEM;

	if (!ret)
		return hv;
	if (hv)
		hv_close(hv);
	return ERR_PTR(ret);
}

void hv_close(struct hv *hv)
{
	if (hv->id && hv->id->qp) {
		rdma_disconnect(hv->id);
		ib_drain_qp(hv->qp);
		rdma_destroy_qp(hv->id);
	} else if (hv->qp) {
		ib_destroy_qp(hv->qp);
	}
	if (hv->qp) {
		ib_dma_unmap_single(hv->id->device, hv->out_dma, HV_BUF, DMA_TO_DEVICE);
		ib_dma_unmap_single(hv->id->device, hv->in_dma, HV_RECVS * HV_BUF, DMA_FROM_DEVICE);
		ib_dma_unmap_single(hv->id->device, hv->dma, HV_MEM, DMA_BIDIRECTIONAL);
	}
	if (hv->cq)
		ib_free_cq(hv->cq);
	if (hv->pd)
		ib_dealloc_pd(hv->pd);
	if (hv->id)
		rdma_destroy_id(hv->id);
	kvfree(hv->stream);
	kfree(hv->mem);
	kfree(hv->in);
	kfree(hv->out);
	kvfree(hv);
}
