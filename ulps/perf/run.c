// SPDX-License-Identifier: GPL-2.0
/* run.c - a measurement: the thread of the client. */
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "perf.h"

#define EVENT_JIFFIES	(HZ / 5)
#define PING_JIFFIES	HZ
#define PING_PONG_OPS	4
/* Without PINGs: the pauses that a caller makes */
#define PAUSE_MS	(600 * MSEC_PER_SEC)
#define STEP_MS		(10 * MSEC_PER_SEC)

static struct perf_run *run_of(struct perf_flow *flow)
{
	return container_of(flow, struct perf_run, flow);
}

/* ---- PING ---- */

static int ping(struct perf_flow *flow, void *arg)
{
	struct perf_ctl ctl = { .type = PERF_PING };

	return perf_post_ctl(flow, &ctl);
}

static void run_tick(struct perf_flow *flow)
{
	struct perf_run *run = run_of(flow);

	if (run->state != KFI_PERF_RUNNING)
		return;
	if (!run->leaving && time_after(jiffies, run->t_ping + PING_JIFFIES)) {
		run->t_ping = jiffies;
		perf_flow_call(flow, ping, NULL);	/* no room: other messages are sent */
	}
	if (time_after(jiffies, run->t_event + EVENT_JIFFIES)) {
		run->t_event = jiffies;
		perf_nl_run_event(run);
	}
}

/* ---- connect to the server ---- */

static void run_shape(const struct perf_hello *h, struct perf_shape *shape)
{
	shape->tx = h->depth;
	shape->tx_len = h->size;
	shape->rx = 0;
	shape->rx_len = 0;
	if (h->mode != KFI_PERF_LATENCY || perf_is_rma(h))
		return;
	shape->tx = PING_PONG_OPS;
	shape->rx = PING_PONG_OPS;
	shape->rx_len = max_t(size_t, h->size, PERF_CTL_MAX);
}

static int find_server(struct perf_run *run, const struct perf_shape *shape, struct kfi_info **info)
{
	struct perf_flow *flow = &run->flow;
	struct kfi_need need = { .provider = run->prov };
	bool delivery = flow->hello.op == KFI_PERF_WRITE && !flow->tx_flags;
	const char *node = *run->node ? run->node : NULL;
	int err;

	if (delivery)
		need.level = KFI_DELIVERY_COMPLETE;
	perf_flow_need(flow, shape, &need);
	err = perf_find(run->net, &need, NULL, node, run->service, info);
	if (err == -ENODATA && delivery) {
		/*
		 * A plain queue pair does not report delivery. Its sends stay behind its writes, so
		 * the server has all that was written before a message asks it to compare.
		 */
		need.level = 0;
		need.order |= KFI_ORDER_SAW;
		err = perf_find(run->net, &need, NULL, node, run->service, info);
	}
	if (err)
		return perf_flow_fail(flow, err, "finding a provider that reaches the server");
	flow->tx_flags |= need.level;
	return 0;
}

static int open_flow(struct perf_flow *flow, struct net *net, const struct kfi_info *info,
		     const struct perf_shape *shape)
{
	struct kfi_conn_attr attr = perf_flow_attr(flow, shape);
	int err = perf_flow_ops(flow, net, info, shape);

	if (err)
		return perf_flow_fail(flow, err, "allocating buffers");
	err = kfi_conn_open(&flow->conn, flow->dom, info, &attr);
	if (err)
		return perf_flow_fail(flow, err, "opening an endpoint");
	return perf_flow_post_rx(flow);
}

/* The error is that of the server, if it sent one. */
static int connect_msg(struct perf_flow *flow, const void *addr)
{
	struct perf_ctl ctl = { .type = PERF_HELLO, .hello = flow->hello };
	u8 data[PERF_CTL_MAX], answer[PERF_CTL_MAX];
	struct perf_ctl first = { .type = PERF_PING };
	size_t len = sizeof(answer);
	int err;

	/* Nothing comes before the PING, and receives that end with an attempt are not the error. */
	flow->closing = true;
	err = kfi_conn_connect(&flow->conn, addr, data, perf_encode(&ctl, data), answer, &len,
			       flow->hello.timeout_ms);
	flow->closing = false;
	if (!err)
		return perf_flow_send(flow, &first);
	if (perf_decode(answer, len, &ctl) != -EPROTO && ctl.type == PERF_WELCOME && ctl.status)
		return perf_flow_fail(flow, -(int)ctl.status, "the server refused");
	return perf_flow_fail(flow, err, "connect");
}

static int own_name(struct perf_flow *flow, struct perf_ctl *ctl)
{
	size_t len = sizeof(ctl->addr);
	int err = kfi_conn_name(&flow->conn, ctl->addr, &len);

	if (err)
		return perf_flow_fail(flow, err, "reading the endpoint's name");
	ctl->addrlen = len;
	return 0;
}

static int insert_peer(struct perf_flow *flow, const void *addr)
{
	if (kfi_av_insert(flow->conn.av, addr, 1, &flow->conn.peer, 0, NULL) != 1)
		return perf_flow_fail(flow, -EADDRNOTAVAIL, "inserting the server's address");
	return 0;
}

static int hello_rdm(struct perf_flow *flow, const void *addr, size_t *addrlen)
{
	struct perf_ctl ctl = { .type = PERF_HELLO, .hello = flow->hello };
	int err;

	err = insert_peer(flow, addr) ?: own_name(flow, &ctl);
	if (err)
		return err;
	*addrlen = ctl.addrlen;
	return perf_flow_send(flow, &ctl);
}

static int exchange_hello(struct perf_flow *flow, const void *addr)
{
	struct perf_ctl ctl;
	size_t addrlen = 0;
	int err;

	err = flow->ep_type == KFI_EP_MSG ? connect_msg(flow, addr) :
					    hello_rdm(flow, addr, &addrlen);
	if (!err)
		err = perf_flow_recv(flow, &ctl, "no answer from the server");
	if (err)
		return err;
	if (ctl.type != PERF_WELCOME)
		return perf_flow_fail(flow, -EPROTO, "the server does not welcome us");
	if (ctl.status)
		return perf_flow_fail(flow, -(int)ctl.status, "the server refused");
	if (ctl.addrlen != addrlen)
		return perf_flow_fail(flow, -EPROTO, "the server's address is malformed");
	flow->version = ctl.version;
	flow->base = ctl.base;
	flow->key = ctl.key;
	return addrlen ? insert_peer(flow, ctl.addr) : 0;
}

static int connect_server(struct perf_run *run)
{
	struct perf_flow *flow = &run->flow;
	struct perf_shape shape;
	struct kfi_info *info;
	int err;

	run_shape(&flow->hello, &shape);
	err = find_server(run, &shape, &info);
	if (err)
		return err;
	if (info->dest_addr)
		err = open_flow(flow, run->net, info, &shape) ?:
		      exchange_hello(flow, info->dest_addr);
	else
		err = perf_flow_fail(flow, -EDESTADDRREQ, "finding the server's address");
	kfi_freeinfo(info);
	return err;
}

/* ---- measuring ---- */

static int allow(struct perf_flow *flow, void *limit)
{
	struct perf_run *run = run_of(flow);

	if (!run->posted && !run->warmup) {
		run->t_start = ktime_get_ns();
		run->until = jiffies + msecs_to_jiffies(run->duration_ms);
	}
	WRITE_ONCE(run->limit, *(u64 *)limit);
	flow->role->pump(flow);
	return 0;
}

static int drive(struct perf_run *run, u64 limit)
{
	perf_flow_call(&run->flow, allow, &limit);
	return perf_flow_wait(&run->flow, perf_run_idle, "nothing moves any more");
}

/* Check the data in the target's slots. */
static int check_slots(struct perf_run *run, u64 seq, u64 count)
{
	struct perf_ctl ctl = { .type = PERF_CHECK, .seq = seq, .count = count };
	int err;

	err = perf_flow_send(&run->flow, &ctl) ?:
	      perf_flow_recv(&run->flow, &ctl, "no verdict from the server");
	if (err)
		return err;
	if (ctl.type != PERF_CHECKED || ctl.count != count || ctl.errors > count)
		return perf_flow_fail(&run->flow, -EPROTO, "the server's verdict is malformed");
	run->checked += count;
	run->remote_bad += ctl.errors;
	return 0;
}

static int drive_checked(struct perf_run *run)
{
	u64 total = perf_run_total(run), from;
	int err;

	do {
		from = run->posted;
		err = drive(run, min(total, from + run->flow.hello.depth));
		if (!err && run->posted > from)
			err = check_slots(run, from, run->posted - from);
	} while (!err && run->posted < total && !run->expired);
	return err;
}

static int get_report(struct perf_run *run)
{
	struct perf_flow *flow = &run->flow;
	struct perf_ctl ctl = { .type = PERF_END };
	int err;

	if (!perf_is_rma(&flow->hello))
		ctl.count = run->posted;
	err = perf_flow_send(flow, &ctl) ?:
	      perf_flow_recv(flow, &ctl, "no report from the server");
	if (err)
		return err;
	if (ctl.type != PERF_REPORT)
		return perf_flow_fail(flow, -EPROTO, "the server does not report");
	if (perf_is_rma(&flow->hello))
		return 0;
	run->lost = run->posted - min(run->posted, ctl.count);
	run->remote_bad += ctl.errors;
	if (flow->hello.mode != KFI_PERF_LATENCY) {
		run->t_end = ktime_get_ns();
		run->checked = flow->hello.verify ? ctl.count : 0;
	}
	return 0;
}

static int measure(struct perf_run *run)
{
	const struct perf_hello *h = &run->flow.hello;
	struct perf_ctl bye = { .type = PERF_BYE };
	int err;

	run->t_ping = jiffies;
	WRITE_ONCE(run->state, KFI_PERF_RUNNING);
	if (h->op == KFI_PERF_WRITE && h->verify)
		err = drive_checked(run);
	else
		err = drive(run, perf_run_total(run));
	err = err ?: get_report(run);
	if (err)
		return err;
	run->leaving = true;	/* the server closes its endpoint when it has the BYE */
	return perf_flow_send(&run->flow, &bye) ?: perf_flow_flush(&run->flow);
}

/* ---- the thread ---- */

static void finish(struct perf_run *run, int err)
{
	u32 state = KFI_PERF_DONE;

	if (err)
		state = READ_ONCE(run->flow.stop) ? KFI_PERF_CANCELED : KFI_PERF_FAILED;
	else if (run->samples.ns)
		perf_samples_sort(&run->samples);
	run->err = err;
	run->what = run->flow.what;
	/* Last: pairs with perf_run_result(). */
	smp_store_release(&run->state, state);
	perf_nl_run_event(run);
}

static int run_main(void *arg)
{
	struct perf_run *run = arg;
	int err;

	err = connect_server(run) ?: measure(run);
	perf_flow_close(&run->flow);
	finish(run, err);
	perf_await_stop();
	return 0;
}

/**
 * perf_run_start() - start the thread of a run
 * @run: the run with its parameters; its flow was initialized
 * Return: 0 or a negative error.
 */
int perf_run_start(struct perf_run *run)
{
	int err;

	run->flow.hello.seed = get_random_u64();
	run->flow.tick = run_tick;
	if (run->flow.hello.mode == KFI_PERF_LATENCY) {
		err = perf_samples_init(&run->samples,
					run->duration_ms ? U64_MAX : run->iterations);
		if (err)
			return err;
	}
	run->task = kthread_run(run_main, run, "kfi_perf/%u", run->id);
	if (!IS_ERR(run->task))
		return 0;
	err = PTR_ERR(run->task);
	run->task = NULL;
	perf_samples_free(&run->samples);
	return err;
}

/**
 * perf_run_free() - cancel a run if it is still going on, and free it
 * @run: the run, which is in no list any more
 */
void perf_run_free(struct perf_run *run)
{
	if (run->task) {
		perf_flow_stop(&run->flow);
		kthread_stop(run->task);
	}
	perf_samples_free(&run->samples);
	kfree(run);
}

/**
 * perf_run_join() - connect to the server without a thread: the caller drives the run
 * @run: the run with the server's words, its namespace and the batch
 * @hello: what it does
 * @tx_flags: when payload completes, see struct perf_flow
 *
 * The functions for such a run are called in one thread at a time, which handles the events of a
 * flow that blocks. Nothing is timed, and no PING is sent.
 *
 * Return: 0 or a negative error. perf_run_leave() must be called either way.
 */
int perf_run_join(struct perf_run *run, const struct perf_hello *hello, u64 tx_flags)
{
	int err;

	perf_flow_init(&run->flow, run->ep_type, hello, &perf_run_role, &perf_run_ops);
	run->driven = true;
	run->flow.tx_flags = tx_flags;
	run->flow.hello.timeout_ms = PAUSE_MS;
	err = connect_server(run);
	run->flow.hello.timeout_ms = STEP_MS;
	return err;
}
EXPORT_SYMBOL_GPL(perf_run_join);

/* Begin @ops more operations. Return: 0 or the error of the flow; perf_run_finish() follows. */
int perf_run_begin(struct perf_run *run, u64 ops)
{
	u64 limit = run->posted + ops;

	perf_flow_call(&run->flow, allow, &limit);
	return READ_ONCE(run->flow.err);
}
EXPORT_SYMBOL_GPL(perf_run_begin);

/* Wait until they have ended, and until the server has all messages. Return: 0 or an error */
int perf_run_finish(struct perf_run *run)
{
	int err = perf_flow_wait(&run->flow, perf_run_idle, "nothing moves any more");

	if (!err && run->flow.hello.mode != KFI_PERF_LATENCY && !perf_is_rma(&run->flow.hello))
		err = get_report(run);
	return err ?: run->lost || run->remote_bad ? -EBADMSG : 0;
}
EXPORT_SYMBOL_GPL(perf_run_finish);

/* Close and free a run that perf_run_join() has opened, perhaps in part. */
void perf_run_leave(struct perf_run *run)
{
	struct perf_ctl bye = { .type = PERF_BYE };

	if (run->flow.conn.ep && !run->flow.err && !perf_flow_send(&run->flow, &bye))
		perf_flow_flush(&run->flow);
	perf_flow_close(&run->flow);
	kfree(run);
}
EXPORT_SYMBOL_GPL(perf_run_leave);

static u64 permille(const struct perf_run *run, u64 completed)
{
	u64 total = perf_run_total(run), ms;

	if (!run->duration_ms)
		return div64_u64(min(completed, total) * 1000, total);
	if (!run->t_start)
		return 0;
	ms = div_u64(ktime_get_ns() - run->t_start, NSEC_PER_MSEC);
	return min_t(u64, div_u64(ms * 1000, run->duration_ms), 1000);
}

static void latencies(const struct perf_run *run, struct perf_result *res)
{
	const struct perf_samples *s = &run->samples;

	if (!s->seen)
		return;
	res->lat_min = s->min;
	res->lat_median = perf_samples_at(s, 500);
	res->lat_p99 = perf_samples_at(s, 990);
	res->lat_max = s->max;
}

/**
 * perf_run_result() - state and results of a run
 * @run: the run
 * @res: returns the results; they are exact only when the run has ended
 */
void perf_run_result(struct perf_run *run, struct perf_result *res)
{
	u64 completed = READ_ONCE(run->completed);

	memset(res, 0, sizeof(*res));
	/* First, so that the rest of an ended run is final: pairs with finish(). */
	res->state = smp_load_acquire(&run->state);
	res->iterations = completed > run->warmup ? completed - run->warmup : 0;
	res->bytes = res->iterations * run->flow.hello.size;
	if (res->iterations)
		res->elapsed_ns = READ_ONCE(run->t_end) - READ_ONCE(run->t_start);
	res->verified = run->flow.verified + run->checked;
	res->bad = run->flow.bad + run->remote_bad;
	res->lost = run->lost;
	res->permille = res->state == KFI_PERF_DONE ? 1000 : permille(run, completed);
	if (res->state < KFI_PERF_DONE)
		return;
	res->err = run->err;
	res->what = run->what;
	if (res->state == KFI_PERF_DONE)
		latencies(run, res);
}

/*
 * payload: when to post, and what to measure; under the lock of the flow, perhaps in softirq
 */

static bool plays_ping_pong(const struct perf_hello *h)
{
	return h->mode == KFI_PERF_LATENCY && !perf_is_rma(h);
}

/* ---- the clock ---- */

static u64 now_of(const struct perf_run *run)
{
	return run->driven ? 0 : ktime_get_ns();
}

static void start_clock(struct perf_run *run, u64 now)
{
	run->t_start = now;
	run->until = jiffies + msecs_to_jiffies(run->duration_ms);
}

/* One more operation has ended at @now. */
static void count(struct perf_run *run, u64 now)
{
	if (run->completed >= run->warmup && run->samples.ns)
		perf_samples_add(&run->samples, now - run->t_post);
	run->t_end = now;
	if (++run->completed == run->warmup)
		start_clock(run, now);
	run->t_post = now;
}

static bool expired(struct perf_run *run)
{
	if (run->duration_ms && run->completed >= run->warmup && time_after_eq(jiffies, run->until))
		run->expired = true;
	return run->expired;
}

/* Number of operations of the run, unless time ends it. */
u64 perf_run_total(const struct perf_run *run)
{
	return run->duration_ms ? U64_MAX : run->warmup + run->iterations;
}

/*
 * No operation is in progress, and none may be posted. Also without the lock: both only increase.
 */
bool perf_run_idle(struct perf_flow *flow)
{
	struct perf_run *run = run_of(flow);

	return READ_ONCE(run->completed) == READ_ONCE(run->posted) &&
	       (run->posted >= run->limit || READ_ONCE(run->expired));
}

/* ---- events ---- */

static bool as_sent(struct perf_flow *flow, struct perf_op *op, size_t len, u64 seq)
{
	const struct perf_hello *h = &flow->hello;

	return len == h->size && perf_check(op->buf, 0, len, perf_seed(h->seed, seq));
}

static void verify(struct perf_flow *flow, struct perf_op *op, size_t len, u64 seq)
{
	if (!flow->hello.verify)
		return;
	flow->verified++;
	if (!as_sent(flow, op, len, seq))
		flow->bad++;
}

static void wake_if_idle(struct perf_flow *flow)
{
	if (flow->softirq && perf_run_idle(flow))
		wake_up(&flow->wq);
}

static void run_data(struct perf_flow *flow, struct perf_op *op, size_t len)
{
	struct perf_run *run = run_of(flow);
	u64 now = now_of(run);

	if (!plays_ping_pong(&flow->hello) || run->completed == run->posted) {
		perf_flow_fail(flow, -EPROTO, "the server sent a message too many");
		return;
	}
	verify(flow, op, len, flow->received++);
	if (len != flow->hello.size)
		perf_flow_fail(flow, -EPROTO, "the server sent a message of another length");
	count(run, now);
	perf_post_rx(flow, op);
	wake_if_idle(flow);
}

static void run_sent(struct perf_flow *flow, struct perf_op *op)
{
	struct perf_run *run = run_of(flow);
	u64 now;

	list_add_tail(&op->entry, &flow->tx_free);
	if (plays_ping_pong(&flow->hello))
		return;
	now = now_of(run);
	if (flow->hello.op == KFI_PERF_READ)
		verify(flow, op, flow->hello.size, op->seq % flow->hello.depth);
	count(run, now);
	wake_if_idle(flow);
}

/* ---- posting ---- */

static u64 room(struct perf_run *run)
{
	u64 n = run->limit - run->posted;

	if (run->flow.hello.mode == KFI_PERF_LATENCY)
		return run->posted == run->completed ? min_t(u64, n, 1) : 0;
	return min_t(u64, n, run->flow.hello.depth - (run->posted - run->completed));
}

static void prepare(struct perf_flow *flow, struct perf_op *op)
{
	const struct perf_hello *h = &flow->hello;

	if (!h->verify)
		return;
	if (h->op == KFI_PERF_READ)
		perf_wipe(op->buf, 0, h->size);
	else
		perf_fill(op->buf, 0, h->size, perf_seed(h->seed, op->seq));
}

static int post_one(struct perf_run *run, struct perf_op *op, u64 flags)
{
	struct perf_flow *flow = &run->flow;
	const struct perf_hello *h = &flow->hello;
	int err;

	op->seq = run->posted;
	prepare(flow, op);
	if (h->mode == KFI_PERF_LATENCY && (h->verify || !run->posted))
		run->t_post = ktime_get_ns();
	err = perf_is_rma(h) ? perf_post_rma(flow, op, flags) :
	      perf_post_tx(flow, op, h->size, flags);
	if (err)
		return err;
	if (perf_is_rma(h) || !perf_injects(flow, h->size))
		list_del_init(&op->entry);
	WRITE_ONCE(run->posted, run->posted + 1);
	return 0;
}

/* Post @n operations, in batches with one doorbell each. */
static void post_many(struct perf_run *run, u64 n)
{
	struct perf_op *op;
	u64 i, flags;
	int err;

	for (i = 1; i <= n; i++) {
		op = list_first_entry_or_null(&run->flow.tx_free, struct perf_op, entry);
		if (!op)
			return;
		flags = i % run->batch && i < n && !list_is_singular(&run->flow.tx_free) ?
			KFI_MORE : 0;
		err = post_one(run, op, flags);
		if (err == -EAGAIN)
			return;
		if (err) {
			perf_flow_fail(&run->flow, err, "posting");
			return;
		}
	}
}

static void run_pump(struct perf_flow *flow)
{
	struct perf_run *run = run_of(flow);
	u64 n;

	if (!run->limit || READ_ONCE(flow->stop) || expired(run)) {
		wake_if_idle(flow);
		return;
	}
	n = room(run);
	/*
	 * A batch is posted when there is room for all of it, unless no completion will make room.
	 */
	if (n &&
	    (n >= run->batch || n == run->limit - run->posted || run->posted == run->completed))
		post_many(run, n);
}

/* A loss is noticed by the operations, which then fail. */
const struct kfi_conn_ops perf_run_ops = {};

const struct perf_role perf_run_role = {
	.data	= run_data,
	.sent	= run_sent,
	.pump	= run_pump,
};
