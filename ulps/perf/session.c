// SPDX-License-Identifier: GPL-2.0
/*
 * session.c - the server's side of a client: an endpoint and a thread, which echo payload, discard
 * it, or wait.
 */
#include <linux/slab.h>

#include "perf.h"

#define ECHO_OPS	4
#define SINK_OPS_MAX	512U

/**
 * struct perf_session - one client
 * @entry: in &perf_listener.sessions
 * @listener: its listener
 * @flow: the endpoint
 * @first: the client's hello
 * @req: MSG: info of the connection request
 * @task: the thread
 * @ended: the session can be freed
 * @expected: number of messages that will have arrived at the end, under the flow's lock
 */
struct perf_session {
	struct list_head	entry;
	struct perf_listener	*listener;
	struct perf_flow	flow;
	struct perf_ctl		first;
	struct kfi_info		*req;
	struct task_struct	*task;
	bool			ended;
	u64			expected;
};

static struct perf_session *session_of(struct perf_flow *flow)
{
	return container_of(flow, struct perf_session, flow);
}

/* ---- payload; under the lock ---- */

static void take_in(struct perf_flow *flow, struct perf_op *op, size_t len)
{
	const struct perf_hello *h = &flow->hello;
	u64 seq = flow->received;

	flow->rx_bytes += len;
	if (h->verify) {
		flow->verified++;
		if (len != h->size || !perf_check(op->buf, 0, len, perf_seed(h->seed, seq)))
			flow->bad++;
	}
	WRITE_ONCE(flow->received, seq + 1);
	if (flow->softirq && flow->received == session_of(flow)->expected)
		wake_up(&flow->wq);
}

static void sink_data(struct perf_flow *flow, struct perf_op *op, size_t len)
{
	take_in(flow, op, len);
	perf_post_rx(flow, op);
}

static void sink_pump(struct perf_flow *flow)
{
}

/* The operation keeps its buffer until the message was sent back. */
static int echo(struct perf_flow *flow, struct perf_op *op)
{
	size_t len = op->seq;
	int err;

	op->echo = true;
	err = perf_post_tx(flow, op, len, 0);
	if (!err && perf_injects(flow, len))
		perf_post_rx(flow, op);
	return err;
}

static void echo_data(struct perf_flow *flow, struct perf_op *op, size_t len)
{
	int err;

	op->seq = len;	/* length to send back */
	take_in(flow, op, len);
	err = echo(flow, op);
	if (err == -EAGAIN)
		list_add_tail(&op->entry, &flow->tx_free);
	else if (err)
		perf_flow_fail(flow, err, "sending back");
}

static void echo_sent(struct perf_flow *flow, struct perf_op *op)
{
	if (op != &flow->inject_op)
		perf_post_rx(flow, op);
}

/* tx_free has messages here that could not be sent back yet. */
static void echo_pump(struct perf_flow *flow)
{
	struct perf_op *op, *next;

	list_for_each_entry_safe(op, next, &flow->tx_free, entry) {
		list_del_init(&op->entry);
		if (!echo(flow, op))
			continue;
		list_add(&op->entry, &flow->tx_free);
		break;
	}
}

static const struct perf_role sink_role = {
	.data	= sink_data,
	.sent	= echo_sent,
	.pump	= sink_pump,
};

static const struct perf_role echo_role = {
	.data	= echo_data,
	.sent	= echo_sent,
	.pump	= echo_pump,
};

static bool echoes(const struct perf_hello *h)
{
	return h->mode == KFI_PERF_LATENCY && !perf_is_rma(h);
}

/* ---- opening ---- */

static size_t budget(void)
{
	return (size_t)perf_session_mib << 20;
}

/* Limit what the client requests. */
static int session_shape(const struct perf_hello *h, struct perf_shape *shape)
{
	size_t len = max_t(size_t, h->size, PERF_CTL_MAX);

	memset(shape, 0, sizeof(*shape));
	if (perf_is_rma(h))
		return h->depth * perf_stride(h) > budget() ? -ENOBUFS : 0;
	if (len > budget() / 2)
		return -ENOBUFS;
	shape->rx_len = len;
	shape->rx = echoes(h) ? ECHO_OPS : clamp(2 * h->depth, 8U, SINK_OPS_MAX);
	shape->rx = min_t(size_t, shape->rx, budget() / len);
	return 0;
}

static int find_info(struct perf_session *s, const struct perf_shape *shape)
{
	struct perf_listener *l = s->listener;
	struct perf_ask ask = {
		.net = s->flow.net,
		.prov = l->info->fabric_attr->prov_name,
		.fabric = l->fabric,
		.domain = l->domain,
		.ep_type = KFI_EP_RDM,
	};
	int err;

	perf_ask_flow(&ask, &s->flow.hello, shape);
	err = perf_getinfo(&ask, &s->flow.info);
	if (err)
		return err;
	kfi_freeinfo(s->flow.info->next);
	s->flow.info->next = NULL;
	return 0;
}

/* MSG: the info of the request must offer enough. */
static int take_request(struct perf_session *s, const struct perf_shape *shape)
{
	struct kfi_info *info = s->req;

	if (perf_caps(&s->flow.hello) & ~info->caps)
		return -EOPNOTSUPP;
	if (shape->tx + PERF_CTL_OPS > info->tx_attr->size ||
	    shape->rx + PERF_CTL_OPS > info->rx_attr->size)
		return -ENOBUFS;
	s->flow.info = info;
	s->req = NULL;
	return 0;
}

/* The region of a read has the pattern of the first message of each slot. */
static int open_region(struct perf_flow *flow)
{
	const struct perf_hello *h = &flow->hello;
	u32 i;
	int err;

	err = perf_flow_region(flow, h->depth * perf_stride(h));
	if (err || h->op != KFI_PERF_READ)
		return err;
	for (i = 0; i < h->depth; i++)
		perf_fill(flow->region, i * perf_stride(h), h->size, perf_seed(h->seed, i));
	return 0;
}

static int session_open(struct perf_session *s)
{
	struct perf_flow *flow = &s->flow;
	struct perf_shape shape;
	int err;

	flow->fabric = s->listener->fabric;
	flow->domain = s->listener->domain;
	err = session_shape(&flow->hello, &shape);
	if (!err)
		err = s->req ? take_request(s, &shape) : find_info(s, &shape);
	if (!err)
		err = perf_flow_ops(flow, &shape) ?: perf_flow_open(flow, &shape);
	if (!err && perf_is_rma(&flow->hello))
		err = open_region(flow);
	return err ?: perf_flow_post_rx(flow);
}

/* ---- talking to the client ---- */

static int welcome(struct perf_session *s)
{
	struct perf_flow *flow = &s->flow;
	struct perf_ctl ctl = { .type = PERF_WELCOME, .base = flow->base, .key = flow->key };
	size_t len = sizeof(ctl.addr);
	int err;

	if (flow->ep_type == KFI_EP_MSG) {
		err = kfi_accept(flow->ep, NULL, 0) ?: perf_flow_connected(flow, "accept");
		return err ?: perf_flow_send(flow, &ctl);
	}
	err = kfi_getname(&flow->ep->fid, ctl.addr, &len);
	if (err)
		return err;
	ctl.addrlen = len;
	if (s->first.addrlen != len ||
	    kfi_av_insert(flow->av, s->first.addr, 1, &flow->peer, 0, NULL) != 1)
		return -EADDRNOTAVAIL;
	return perf_flow_send(flow, &ctl);
}

static int check(struct perf_session *s, const struct perf_ctl *asked)
{
	struct perf_flow *flow = &s->flow;
	const struct perf_hello *h = &flow->hello;
	struct perf_ctl ctl = { .type = PERF_CHECKED, .seq = asked->seq, .count = asked->count };
	size_t at;
	u64 i;

	if (h->op != KFI_PERF_WRITE || asked->count > h->depth)
		return -EPROTO;
	for (i = asked->seq; i < asked->seq + asked->count; i++) {
		at = (i % h->depth) * perf_stride(h);
		if (!perf_check(flow->region, at, h->size, perf_seed(h->seed, i)))
			ctl.errors++;
		perf_wipe(flow->region, at, h->size);
	}
	flow->bad += ctl.errors;
	return perf_flow_send(flow, &ctl);
}

static int expect(struct perf_flow *flow, void *count)
{
	session_of(flow)->expected = *(u64 *)count;
	return 0;
}

static bool all_in(struct perf_flow *flow)
{
	return READ_ONCE(flow->received) >= session_of(flow)->expected;
}

static int end(struct perf_session *s, struct perf_ctl *asked)
{
	struct perf_flow *flow = &s->flow;
	struct perf_ctl ctl = { .type = PERF_REPORT };
	int err;

	perf_flow_call(flow, expect, &asked->count);
	err = perf_flow_wait(flow, all_in, "the client sent less than it says");
	if (err)
		return err;
	ctl.count = flow->received;
	ctl.errors = flow->bad;
	return perf_flow_send(flow, &ctl);
}

/* Serve the client until its BYE. */
static int serve(struct perf_session *s)
{
	struct perf_ctl ctl;
	int err;

	for (;;) {
		err = perf_flow_recv(&s->flow, &ctl, "the client is silent");
		if (err || ctl.type == PERF_BYE)
			return err;
		if (ctl.type == PERF_CHECK)
			err = check(s, &ctl);
		else if (ctl.type == PERF_END)
			err = end(s, &ctl);
		else
			err = -EPROTO;
		if (err)
			return err;
	}
}

/* ---- the thread ---- */

static void account(struct perf_session *s)
{
	struct perf_counts *c = &s->listener->server->counts;

	atomic64_add(s->flow.received, &c->messages);
	atomic64_add(s->flow.rx_bytes, &c->bytes);
	atomic64_add(s->flow.bad, &c->errors);
	atomic_dec(&c->sessions);
}

/* Closing an endpoint that was opened for a request refuses the request. */
static void refuse(struct perf_session *s, int err)
{
	if (s->flow.ep && s->flow.ep_type == KFI_EP_MSG)
		return;
	perf_refuse(s->listener, &s->first, s->req ?: s->flow.info, err);
}

static int session_main(void *arg)
{
	struct perf_session *s = arg;
	int err;

	err = session_open(s);
	if (err)
		refuse(s, err);
	else
		err = welcome(s) ?: serve(s);
	if (err)
		pr_debug("kfi_perf: session ends: %d %s\n", err, s->flow.what ?: "");
	account(s);
	perf_flow_close(&s->flow);
	kfi_freeinfo(s->req);
	WRITE_ONCE(s->ended, true);
	perf_await_stop();
	return 0;
}

static struct perf_session *session_new(struct perf_listener *l, const struct perf_ctl *hello,
					struct kfi_info *req)
{
	struct perf_session *s = kzalloc(sizeof(*s), GFP_KERNEL);

	if (!s)
		return NULL;
	s->listener = l;
	s->first = *hello;
	s->req = req;
	s->expected = U64_MAX;
	perf_flow_init(&s->flow, l->server->net, l->server->ep_type, &hello->hello,
		       echoes(&hello->hello) ? &echo_role : &sink_role);
	return s;
}

static int start(struct perf_listener *l, const struct perf_ctl *hello, struct kfi_info *req)
{
	struct perf_counts *c = &l->server->counts;
	struct perf_session *s;

	if (atomic_read(&c->sessions) >= perf_max_sessions)
		return -EBUSY;
	s = session_new(l, hello, req);
	if (!s)
		return -ENOMEM;
	s->task = kthread_create(session_main, s, "kfi_perf_srv/%u", l->server->id);
	if (IS_ERR(s->task)) {
		kfree(s);
		return -ENOMEM;
	}
	list_add(&s->entry, &l->sessions);
	atomic_inc(&c->sessions);
	atomic64_inc(&c->sessions_total);
	wake_up_process(s->task);
	return 0;
}

void perf_session_start(struct perf_listener *l, const struct perf_ctl *hello,
			struct kfi_info *req)
{
	int err = start(l, hello, req);

	if (!err)
		return;
	perf_refuse(l, hello, req, err);
	kfi_freeinfo(req);
}

/**
 * perf_sessions_reap() - free sessions that have ended
 * @l: the listener, in its thread
 * @all: end and free all sessions
 */
void perf_sessions_reap(struct perf_listener *l, bool all)
{
	struct perf_session *s, *next;

	if (all) {
		list_for_each_entry(s, &l->sessions, entry)
			perf_flow_stop(&s->flow);
	}
	list_for_each_entry_safe(s, next, &l->sessions, entry) {
		if (!all && !READ_ONCE(s->ended))
			continue;
		list_del(&s->entry);
		kthread_stop(s->task);
		kfree(s);
	}
}
