// SPDX-License-Identifier: GPL-2.0
/*
 * session.c - the server's side of a client: an endpoint and a thread, which echo payload, discard
 * it, or wait.
 *
 * A session ends when its client says so, when its thread or its connection fails, and with its
 * server. In every case the thread ends first, in a work item, which then closes the endpoint and
 * frees the session.
 */
#include <linux/slab.h>

#include "perf.h"

#define ECHO_OPS	4
#define SINK_OPS_MAX	512U
#define SESSION_MAX	(64UL << 20)	/* bytes of the buffers of a client */
#define SESSIONS_MAX	64		/* clients that a server serves at the same time */

/**
 * struct perf_session - one client
 * @entry: in &perf_server.sessions
 * @server: its server
 * @place: RDM: where the hello has come
 * @flow: the endpoint
 * @first: the client's hello
 * @task: the thread
 * @started: MSG: the thread is running, so the session may be freed
 * @greeted: MSG: the first message has come, so that an answer may be sent
 * @end_work: RDM: frees the session
 * @expected: number of messages that will have arrived at the end, under the flow's lock
 */
struct perf_session {
	struct list_head	entry;
	struct perf_server	*server;
	struct perf_place	*place;
	struct perf_flow	flow;
	struct perf_ctl		first;
	struct task_struct	*task;
	struct completion	started;
	bool			greeted;
	struct work_struct	end_work;
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

/* Limit what the client requests. */
static int session_shape(const struct perf_hello *h, struct perf_shape *shape)
{
	size_t len = max_t(size_t, h->size, PERF_CTL_MAX);

	memset(shape, 0, sizeof(*shape));
	if (perf_is_rma(h))
		return h->depth * perf_stride(h) > SESSION_MAX ? -ENOBUFS : 0;
	if (len > SESSION_MAX / 2)
		return -ENOBUFS;
	shape->rx_len = len;
	shape->rx = echoes(h) ? ECHO_OPS : clamp(2 * h->depth, 8U, SINK_OPS_MAX);
	shape->rx = min_t(size_t, shape->rx, SESSION_MAX / len);
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

/* RDM: an endpoint on the device of the one that has received the hello */
static int session_open(struct perf_session *s)
{
	const struct kfi_info *near = s->place->info;
	struct kfi_need need = {
		.provider = near->fabric_attr->prov_name, .device = near->domain_attr->name,
	};
	struct perf_flow *flow = &s->flow;
	struct net *net = s->server->net;
	struct kfi_conn_attr attr;
	struct perf_shape shape;
	struct kfi_info *info;
	int err;

	err = session_shape(&flow->hello, &shape);
	if (err)
		return err;
	perf_flow_need(flow, &shape, &need);
	err = perf_find(net, &need, near->fabric_attr->name, NULL, NULL, &info);
	if (err)
		return err;
	attr = perf_flow_attr(flow, &shape);
	err = perf_flow_ops(flow, net, info, &shape) ?:
	      kfi_conn_open(&flow->conn, flow->dom, info, &attr);
	kfi_freeinfo(info);
	return err;
}

/* ---- talking to the client ---- */

static int know_client(struct perf_session *s, struct perf_ctl *ctl)
{
	struct kfi_conn *conn = &s->flow.conn;
	size_t len = sizeof(ctl->addr);
	int err = kfi_conn_name(conn, ctl->addr, &len);

	if (err)
		return err;
	ctl->addrlen = len;
	return s->first.addrlen == len &&
	       kfi_av_insert(conn->av, s->first.addr, 1, &conn->peer, 0, NULL) == 1 ?
	       0 : -EADDRNOTAVAIL;
}

static bool greeted(struct perf_flow *flow)
{
	return READ_ONCE(session_of(flow)->greeted);
}

static int welcome(struct perf_session *s)
{
	struct perf_flow *flow = &s->flow;
	struct perf_ctl ctl = { .type = PERF_WELCOME };
	int err, bad;

	err = s->place ? know_client(s, &ctl) :
			 perf_flow_wait(flow, greeted, "the client is silent");
	if (err)
		return err;
	bad = perf_flow_post_rx(flow);
	if (!bad && perf_is_rma(&flow->hello))
		bad = open_region(flow);
	ctl.status = -bad;
	ctl.base = flow->base;
	ctl.key = flow->key;
	err = perf_flow_send(flow, &ctl);
	return !err && bad ? perf_flow_flush(flow) ?: bad : err;
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
	struct perf_counts *c = &s->server->counts;

	atomic64_add(s->flow.received, &c->messages);
	atomic64_add(s->flow.rx_bytes, &c->bytes);
	atomic64_add(s->flow.bad, &c->errors);
}

static int session_main(void *arg)
{
	struct perf_session *s = arg;
	int err = s->place ? session_open(s) : 0;

	if (err)
		perf_refuse(s->place, &s->first, err);
	else
		err = welcome(s) ?: serve(s);
	if (err)
		pr_debug("kfi_perf: session ends: %d %s\n", err, s->flow.what ?: "");
	account(s);
	if (s->place)
		queue_work(perf_wq, &s->end_work);
	else
		kfi_conn_fail(&s->flow.conn, -ESHUTDOWN);
	perf_await_stop();
	return 0;
}

/* ---- begin and end ---- */

/* perf_sessions_end() takes the lock before its caller frees the server. */
static void session_free(struct perf_session *s)
{
	struct perf_server *server = s->server;

	atomic_dec(&server->counts.sessions);
	spin_lock(&server->lock);
	list_del(&s->entry);
	if (list_empty(&server->sessions))
		wake_up(&server->gone);
	spin_unlock(&server->lock);
	kfree(s);
}

static void session_end_work(struct work_struct *work)
{
	struct perf_session *s = container_of(work, struct perf_session, end_work);

	kthread_stop(s->task);
	perf_flow_close(&s->flow);
	session_free(s);
}

static struct perf_session *session_at(struct kfi_conn *conn)
{
	return container_of(conn, struct perf_session, flow.conn);
}

/* The only receive of the kit. If it fails, so does the connection. */
static void session_greeted(struct kfid_cq *cq, struct kfi_cqe *cqe,
			    const struct kfi_cq_err_entry *wc)
{
	struct perf_session *s = session_at(container_of(cqe, struct kfi_rxbuf, cqe)->conn);

	if (wc->err)
		return;
	WRITE_ONCE(s->greeted, true);
	perf_flow_wake(&s->flow);
}

static void session_ending(struct kfi_conn *conn)
{
	struct perf_session *s = session_at(conn);

	wait_for_completion(&s->started);
	perf_flow_stop(&s->flow);
	kthread_stop(s->task);
	perf_flow_end(&s->flow);
}

static void session_release(struct kfi_conn *conn)
{
	struct perf_session *s = session_at(conn);

	perf_flow_close(&s->flow);
	session_free(s);
}

struct kfi_conn_ops perf_session_ops = {
	.received = session_greeted, .ending = session_ending, .release = session_release,
};

/* The thread does not run yet. */
static struct perf_session *session_new(struct perf_server *server, const struct perf_ctl *hello)
{
	struct perf_counts *c = &server->counts;
	struct perf_session *s;
	int err = -EBUSY;
	bool late;

	if (atomic_inc_return(&c->sessions) > SESSIONS_MAX)
		goto uncount;
	err = -ENOMEM;
	s = kzalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		goto uncount;
	s->server = server;
	s->first = *hello;
	s->expected = U64_MAX;
	init_completion(&s->started);
	INIT_WORK(&s->end_work, session_end_work);
	perf_flow_init(&s->flow, server->ep_type, &hello->hello,
		       echoes(&hello->hello) ? &echo_role : &sink_role, &perf_session_ops);
	s->flow.version = hello->version;
	s->task = kthread_create(session_main, s, "kfi_perf_srv/%u", server->id);
	if (IS_ERR(s->task))
		goto free;
	spin_lock(&server->lock);
	late = server->stopping;
	if (!late)
		list_add(&s->entry, &server->sessions);
	spin_unlock(&server->lock);
	if (!late)
		return s;
	err = -ESHUTDOWN;
	kthread_stop(s->task);
free:
	kfree(s);
uncount:
	atomic_dec(&c->sessions);
	return ERR_PTR(err);
}

int perf_session_accept(struct perf_server *server, const struct perf_ctl *hello,
			struct kfi_caller *caller)
{
	struct kfi_info *info = caller->info;
	struct kfi_need need = {};
	struct kfi_conn_attr attr;
	struct perf_shape shape;
	struct perf_session *s;
	int err;

	err = session_shape(&hello->hello, &shape);
	if (err)
		return err;
	s = session_new(server, hello);
	if (IS_ERR(s))
		return PTR_ERR(s);
	perf_flow_need(&s->flow, &shape, &need);
	info->caps |= need.caps;	/* if the provider has them */
	info->tx_attr->iov_limit = max_t(size_t, info->tx_attr->iov_limit, need.tx_segs);
	info->rx_attr->iov_limit = max_t(size_t, info->rx_attr->iov_limit, need.rx_segs);
	attr = perf_flow_attr(&s->flow, &shape);
	attr.first = 1;
	attr.rx_len = PERF_CTL_MAX;
	err = perf_flow_ops(&s->flow, server->net, info, &shape) ?:
	      kfi_conn_accept(&s->flow.conn, caller, &attr, NULL, 0);
	if (!err) {
		atomic64_inc(&server->counts.sessions_total);
		wake_up_process(s->task);
		complete(&s->started);
		return 0;
	}
	kthread_stop(s->task);
	perf_flow_free(&s->flow);
	session_free(s);
	return err;
}

void perf_session_start(struct perf_place *place, const struct perf_ctl *hello)
{
	struct perf_session *s = session_new(place->server, hello);

	if (IS_ERR(s)) {
		perf_refuse(place, hello, PTR_ERR(s));
		return;
	}
	s->place = place;
	atomic64_inc(&place->server->counts.sessions_total);
	wake_up_process(s->task);
}

void perf_sessions_end(struct perf_server *server)
{
	struct perf_session *s;

	spin_lock(&server->lock);
	server->stopping = true;
	list_for_each_entry(s, &server->sessions, entry)
		perf_flow_stop(&s->flow);
	spin_unlock(&server->lock);
	wait_event(server->gone, list_empty(&server->sessions));
	spin_lock(&server->lock);	/* session_free() has left it */
	spin_unlock(&server->lock);
}
