// SPDX-License-Identifier: GPL-2.0
/* flow.c - completions of an endpoint, and the thread that waits for them. */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/string.h>

#include "perf.h"

/* Let the thread look again at what it waits for. */
void perf_flow_wake(struct perf_flow *flow)
{
	if (flow->softirq)
		wake_up(&flow->wq);
	else
		kfi_cq_signal(flow->conn.cq);
}

/* ---- events; under the lock ---- */

static void wake_thread(struct perf_flow *flow)
{
	if (flow->softirq)
		wake_up(&flow->wq);
}

/**
 * perf_flow_fail() - end the flow with an error; the first one is kept
 * @flow: the flow
 * @err: negative error
 * @what: what has failed, a constant string
 * Return: @err.
 */
int perf_flow_fail(struct perf_flow *flow, int err, const char *what)
{
	if (!flow->err && !flow->closing) {
		flow->what = what;
		/* A reader of the error sees @what as well: pairs with over(). */
		smp_store_release(&flow->err, err);
	}
	wake_thread(flow);
	return err;
}

/* A control message is shorter than the first chunk of any buffer. */
static void control_in(struct perf_flow *flow, struct perf_op *op, size_t len)
{
	unsigned int room = ARRAY_SIZE(flow->inbox) - (flow->in_tail - flow->in_head);
	struct perf_ctl *ctl = &flow->inbox[flow->in_tail % ARRAY_SIZE(flow->inbox)];
	int err = room ? perf_decode(op->buf->va[0], len, ctl) : -EOVERFLOW;

	if (!room)
		perf_flow_fail(flow, err, "the peer sends too many control messages");
	else if (err == -EPROTONOSUPPORT)
		perf_flow_fail(flow, err, "the peer speaks other versions of kfi_perf's messages");
	else if (err)
		perf_flow_fail(flow, -EPROTO, "the peer sent a malformed control message");
	else if (ctl->type != PERF_PING)
		/* After the message: pairs with have_ctl(). */
		smp_store_release(&flow->in_tail, flow->in_tail + 1);
	wake_thread(flow);
}

static void received(struct perf_flow *flow, struct perf_op *op, const struct kfi_cq_err_entry *wc)
{
	if ((wc->flags & KFI_REMOTE_CQ_DATA) && wc->data == PERF_CTL_DATA) {
		control_in(flow, op, wc->len);
		perf_post_rx(flow, op);
	} else if (op->kind == PERF_OP_RX) {
		flow->role->data(flow, op, wc->len);
	} else {
		perf_flow_fail(flow, -EPROTO, "the peer sent payload where none belongs");
	}
}

static const char *failed_what(const struct perf_flow *flow, const struct perf_op *op)
{
	if (op->kind == PERF_OP_CTL_TX)
		return "sending a control message";
	if (op->kind == PERF_OP_TX || op->echo || op == &flow->inject_op)
		return flow->hello.op == KFI_PERF_WRITE ? "write" :
		       flow->hello.op == KFI_PERF_READ ? "read" : "send";
	return "receive";
}

void perf_flow_event(struct perf_flow *flow, struct perf_op *op, const struct kfi_cq_err_entry *wc)
{
	if (flow->closing)
		return;
	/*
	 * The end of a control message of ours, which may be a PING, says nothing about the peer.
	 */
	flow->activity += op->kind != PERF_OP_CTL_TX;
	if (wc->err) {
		perf_flow_fail(flow, -wc->err, failed_what(flow, op));
		return;
	}
	if (op->kind == PERF_OP_CTL_TX) {
		list_add(&op->entry, &flow->ctl_free);
		WRITE_ONCE(flow->ctl_busy, flow->ctl_busy - 1);
		wake_thread(flow);
	} else if (op->kind == PERF_OP_TX || op->echo) {
		flow->role->sent(flow, op);
	} else {
		received(flow, op, wc);
	}
}

static void pump(struct perf_flow *flow)
{
	struct perf_op *op, *next;

	if (flow->closing || flow->err)
		return;
	list_for_each_entry_safe(op, next, &flow->rx_lost, entry) {
		list_del_init(&op->entry);
		if (perf_post_rx(flow, op))
			break;
	}
	flow->role->pump(flow);
}

void perf_flow_done(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	struct perf_op *op = container_of(cqe, struct perf_op, cqe);
	struct perf_flow *flow = op->flow;

	lockdep_assert_in_softirq();
	spin_lock(&flow->lock);
	perf_flow_event(flow, op, wc);
	pump(flow);
	spin_unlock(&flow->lock);
}

void perf_flow_space(struct work_struct *work)
{
	struct perf_flow *flow = container_of(work, struct perf_flow, space_work);

	spin_lock_bh(&flow->lock);
	pump(flow);
	spin_unlock_bh(&flow->lock);
}

/* ---- the thread ---- */

/**
 * perf_flow_call() - call a function without concurrent events
 * @flow: the flow
 * @fn: the function; must not sleep
 * @arg: argument of @fn
 * Return: result of @fn.
 */
int perf_flow_call(struct perf_flow *flow, int (*fn)(struct perf_flow *flow, void *arg), void *arg)
{
	int ret;

	if (!flow->softirq)
		return fn(flow, arg);
	spin_lock_bh(&flow->lock);
	ret = fn(flow, arg);
	spin_unlock_bh(&flow->lock);
	return ret;
}

static int read_error(struct perf_flow *flow)
{
	struct kfi_cq_err_entry wc = {};
	ssize_t n = kfi_cq_readerr(flow->conn.cq, &wc, 0);

	if (n == 1)
		perf_flow_event(flow, wc.op_context, &wc);
	return n == 1 || n == -EAGAIN ? 0 : n;
}

static void read_events(struct perf_flow *flow, const struct kfi_cq_data_entry *e, ssize_t n)
{
	struct kfi_cq_err_entry wc = {};

	for (; n > 0; n--, e++) {
		wc.flags = e->flags;
		wc.len = e->len;
		wc.data = e->data;
		perf_flow_event(flow, e->op_context, &wc);
	}
}

/* Sleep until an operation has completed, but at most a slice, and handle it. */
static int block_slice(struct perf_flow *flow)
{
	struct kfi_cq_data_entry e[32] __uninitialized;
	ssize_t n = kfi_cq_sread(flow->conn.cq, e, ARRAY_SIZE(e), NULL, PERF_SLICE_MS);
	int err = 0;

	if (n == -KFI_EAVAIL)
		err = read_error(flow);
	else if (n > 0)
		read_events(flow, e, n);
	else if (n != -EAGAIN && n != -EINTR)
		err = n;
	pump(flow);
	return err;
}

static bool over(struct perf_flow *flow, bool (*until)(struct perf_flow *flow))
{
	/* The text of the error is valid as well: pairs with perf_flow_fail(). */
	return until(flow) || smp_load_acquire(&flow->err) || READ_ONCE(flow->stop);
}

static int slice(struct perf_flow *flow, bool (*until)(struct perf_flow *flow))
{
	if (!flow->softirq)
		return block_slice(flow);
	wait_event_idle_timeout(flow->wq, over(flow, until), msecs_to_jiffies(PERF_SLICE_MS));
	return 0;
}

static bool too_quiet(struct perf_flow *flow)
{
	u64 activity = READ_ONCE(flow->activity);

	if (activity != flow->activity_seen) {
		flow->activity_seen = activity;
		flow->last = jiffies;
	}
	return time_after(jiffies, flow->last + msecs_to_jiffies(flow->hello.timeout_ms));
}

static int verdict(struct perf_flow *flow)
{
	if (flow->err)
		return flow->err;
	return READ_ONCE(flow->stop) ? perf_flow_fail(flow, -ECANCELED, "stopped") : 0;
}

/**
 * perf_flow_wait() - handle events until a condition is true
 * @flow: the flow
 * @until: the condition; called without the lock
 * @what: text of the error when nothing happens for the time limit
 * Return: 0, -ETIMEDOUT, -ECANCELED, or the error of the flow.
 */
int perf_flow_wait(struct perf_flow *flow, bool (*until)(struct perf_flow *flow), const char *what)
{
	int err;

	flow->last = jiffies;
	while (!over(flow, until)) {
		err = slice(flow, until);
		if (err)
			return perf_flow_fail(flow, err, "reading the completion queue");
		if (too_quiet(flow))
			return perf_flow_fail(flow, -ETIMEDOUT, what);
		if (flow->tick)
			flow->tick(flow);
	}
	return verdict(flow);
}

static int try_post_ctl(struct perf_flow *flow, void *ctl)
{
	return flow->err ?: perf_post_ctl(flow, ctl);
}

static bool ctl_room(struct perf_flow *flow)
{
	return !list_empty_careful(&flow->ctl_free) && !READ_ONCE(flow->blocked);
}

/**
 * perf_flow_send() - send a control message, and wait for room if necessary
 * @flow: the flow
 * @ctl: the message
 * Return: 0 or a negative error.
 */
int perf_flow_send(struct perf_flow *flow, const struct perf_ctl *ctl)
{
	int err;

	for (;;) {
		err = perf_flow_call(flow, try_post_ctl, (void *)ctl);
		if (err != -EAGAIN)
			break;
		usleep_range(20, 100);
		err = perf_flow_wait(flow, ctl_room, "sending a control message");
		if (err)
			return err;
	}
	return err ? perf_flow_fail(flow, err, "sending a control message") : 0;
}

static bool ctl_idle(struct perf_flow *flow)
{
	return !READ_ONCE(flow->ctl_busy);
}

/**
 * perf_flow_flush() - wait until all control messages were sent
 * @flow: the flow
 * Return: 0 or a negative error.
 */
int perf_flow_flush(struct perf_flow *flow)
{
	return perf_flow_wait(flow, ctl_idle, "sending a control message");
}

static bool have_ctl(struct perf_flow *flow)
{
	/* The message is valid as well: pairs with control_in(). */
	return flow->in_head != smp_load_acquire(&flow->in_tail);
}

static int take_ctl(struct perf_flow *flow, void *ctl)
{
	*(struct perf_ctl *)ctl = flow->inbox[flow->in_head++ % ARRAY_SIZE(flow->inbox)];
	return 0;
}

/**
 * perf_flow_recv() - wait for a control message
 * @flow: the flow
 * @ctl: returns the message
 * @what: as in perf_flow_wait()
 * Return: 0 or a negative error.
 */
int perf_flow_recv(struct perf_flow *flow, struct perf_ctl *ctl, const char *what)
{
	int err = perf_flow_wait(flow, have_ctl, what);

	return err ?: perf_flow_call(flow, take_ctl, ctl);
}

void perf_flow_stop(struct perf_flow *flow)
{
	WRITE_ONCE(flow->stop, true);
	wake_up(&flow->wq);
	kfi_conn_cancel(&flow->conn);	/* it may wait for the connection */
}
