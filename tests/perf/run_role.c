// SPDX-License-Identifier: GPL-2.0
/*
 * run_role.c - the client's side of the payload: when to post, and what to
 * measure. Under the lock of the flow, perhaps in softirq.
 */
#include <linux/jiffies.h>

#include "perf.h"

static struct perf_run *run_of(struct perf_flow *flow)
{
	return container_of(flow, struct perf_run, flow);
}

static bool plays_ping_pong(const struct perf_hello *h)
{
	return h->mode == KFI_PERF_LATENCY && !perf_is_rma(h);
}

/* ---- the clock ---- */

static void start_clock(struct perf_run *run, u64 now)
{
	run->t_start = now;
	run->until = jiffies + msecs_to_jiffies(run->duration_ms);
}

/* One more operation has ended, at @now. */
static void count(struct perf_run *run, u64 now)
{
	if (run->completed >= run->warmup && run->flow.hello.mode == KFI_PERF_LATENCY)
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

/* Operations that the run consists of, unless time ends it. */
u64 perf_run_total(const struct perf_run *run)
{
	return run->duration_ms ? U64_MAX : run->warmup + run->iterations;
}

/* Nothing is in flight, and nothing may be posted. Also without the lock: both only grow. */
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
	u64 now = ktime_get_ns();

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
	now = ktime_get_ns();
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

/* Post @n operations, in batches that leave together. */
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
	/* A batch waits for its last place, unless nothing else would bring the rest. */
	if (n &&
	    (n >= run->batch || n == run->limit - run->posted || run->posted == run->completed))
		post_many(run, n);
}

const struct perf_role perf_run_role = {
	.data	= run_data,
	.sent	= run_sent,
	.pump	= run_pump,
};
