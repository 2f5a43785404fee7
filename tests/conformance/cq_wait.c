// SPDX-License-Identifier: GPL-2.0
/* Completion queues with waiters, and handlers in the three contexts. */
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/preempt.h>
#include "harness.h"

static void timeout(struct test *t)
{
	struct node_opts opts = { .wait = KFI_WAIT_QUEUE };
	struct node *n = test_new(t, struct node);
	struct kfi_cq_tagged_entry e;
	ktime_t start;
	s64 ms;

	REQUIRE(t, !node_open(t, n, 0, &opts));
	start = ktime_get();
	EXPECT_EQ(t, kfi_cq_sread(n->rxcq, &e, 1, NULL, 200), -EAGAIN);
	ms = ktime_ms_delta(ktime_get(), start);
	/* Ticks of a busy virtual machine come late, and then several at once. */
	EXPECT(t, ms >= 100);
	EXPECT(t, ms < 5000);
	start = ktime_get();
	EXPECT_EQ(t, kfi_cq_sread(n->rxcq, &e, 1, NULL, 0), -EAGAIN);
	EXPECT(t, ktime_ms_delta(ktime_get(), start) < 100);
}

struct reader {
	struct kfid_cq			*cq;
	struct kfi_cq_tagged_entry	e[4];
	int				timeout;
};

static int read_one(void *arg)
{
	struct reader *r = arg;

	return kfi_cq_sread(r->cq, r->e, 4, NULL, r->timeout);
}

static void send_n(struct pair *p, int n, u8 *buf)
{
	struct test *t = p->a.t;
	comp_t c;
	int i;

	for (i = 1; i <= n; i++) {
		POST(t, kfi_recv(p->b.ep, buf, 32, NULL, KFI_ADDR_UNSPEC, CTX(i)));
		POST(t, kfi_send(p->a.ep, buf + 32, 8, NULL, p->a.peer, CTX(i)));
		WAIT_TX(&p->a, &c);
	}
}

static void wakes(struct test *t)
{
	struct node_opts opts = { .wait = KFI_WAIT_QUEUE };
	struct pair *p = pair_open(t, &opts, &opts);
	struct worker *w = test_new(t, struct worker);
	struct reader *r = test_new(t, struct reader);
	u8 *buf = test_zalloc(t, 64);

	REQUIRE(t, p);
	r->cq = p->b.rxcq;
	r->timeout = t->w->wait_ms;
	REQUIRE(t, !worker_start(t, w, -1, read_one, r));
	msleep(50);
	send_n(p, 1, buf);
	EXPECT_EQ(t, worker_join(w, t->w->wait_ms + 1000), 1);
	EXPECT(t, r->e[0].op_context == CTX(1));
}

static void signalled(struct test *t)
{
	struct node_opts opts = { .wait = KFI_WAIT_QUEUE };
	struct worker *w = test_new(t, struct worker);
	struct reader *r = test_new(t, struct reader);
	struct node *n = test_new(t, struct node);
	ktime_t start;

	REQUIRE(t, !node_open(t, n, 0, &opts));
	r->cq = n->rxcq;
	r->timeout = 2 * t->w->wait_ms;
	REQUIRE(t, !worker_start(t, w, -1, read_one, r));
	msleep(50);
	EXPECT_EQ(t, kfi_cq_signal(n->rxcq), 0);
	EXPECT_EQ(t, worker_join(w, t->w->wait_ms), -EAGAIN);
	/* Without a sleeper a signal ends the next wait, and only that one. */
	EXPECT_EQ(t, kfi_cq_signal(n->rxcq), 0);
	EXPECT_EQ(t, kfi_cq_sread(n->rxcq, r->e, 4, NULL, r->timeout), -EAGAIN);
	start = ktime_get();
	EXPECT_EQ(t, kfi_cq_sread(n->rxcq, r->e, 4, NULL, 200), -EAGAIN);
	EXPECT(t, ktime_ms_delta(ktime_get(), start) >= 100);
}

/* ---- handlers and done() ---- */

/**
 * struct echo - a responder that works in callbacks only
 * @t: the case
 * @n: its node
 * @flags: flags of the queue: the context to be tested
 * @poller: task that is calling kfi_cq_poll()
 * @buf: memory of the receives, 64 bytes each
 * @cqe: of the operations, if done() is tested
 * @got: completions that were handled
 * @sent: those of them that were answers
 * @wrong: calls in a wrong context
 */
struct echo {
	struct test		*t;
	struct node		*n;
	u64			flags;
	struct task_struct	*poller;
	u8			*buf;
	struct slot {
		struct kfi_cqe	rx, tx;
		struct echo	*echo;
		u8		*buf;
		atomic_t	ended;
	} slot[16];
	atomic_t		got, sent, wrong;
};

static void check_context(struct echo *e)
{
	bool ok;

	if (e->flags & KFI_CQ_SOFTIRQ) {
		ok = in_softirq() && !irqs_disabled();
	} else if (e->flags & KFI_CQ_DIRECT) {
		ok = READ_ONCE(e->poller) == current;
	} else {
		ok = in_task() && !irqs_disabled();
		might_sleep();
	}
	if (!ok)
		atomic_inc(&e->wrong);
}

static int answer(struct echo *e, struct slot *s)
{
	struct kvec iov = { s->buf, 64 };
	struct kfi_msg msg = {
		.type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1,
		.addr = e->n->peer, .context = &s->tx,
	};

	return kfi_sendmsg(e->n->ep, &msg, KFI_CQE | KFI_COMPLETION);
}

static int receive(struct echo *e, struct slot *s)
{
	struct kvec iov = { s->buf, 64 };
	struct kfi_msg msg = {
		.type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1,
		.addr = KFI_ADDR_UNSPEC, .context = &s->rx,
	};

	return kfi_recvmsg(e->n->ep, &msg, KFI_CQE | KFI_COMPLETION);
}

static void rx_done(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	struct slot *s = container_of(cqe, struct slot, rx);
	struct echo *e = s->echo;

	check_context(e);
	if (wc->err == ECANCELED || wc->err == ESHUTDOWN)
		return;
	if (wc->err || cq != e->n->rxcq || wc->op_context != cqe || wc->len != 64 ||
	    wc->flags != (KFI_MSG | KFI_RECV))
		atomic_inc(&e->wrong);
	atomic_inc(&e->got);
	/* Its slot is free: an answer can be posted at once. */
	if (answer(e, s))
		atomic_inc(&e->wrong);
}

static void tx_done(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	struct slot *s = container_of(cqe, struct slot, tx);
	struct echo *e = s->echo;

	check_context(e);
	if (wc->err == ECANCELED || wc->err == ESHUTDOWN)
		return;
	if (wc->err || cq != e->n->txcq || wc->flags != (KFI_MSG | KFI_SEND))
		atomic_inc(&e->wrong);
	atomic_inc(&e->sent);
	if (receive(e, s))
		atomic_inc(&e->wrong);
}

static struct echo *echo_new(struct test *t, u64 flags)
{
	struct echo *e = test_new(t, struct echo);
	int i;

	e->t = t;
	e->flags = flags;
	e->buf = test_zalloc(t, 64 * ARRAY_SIZE(e->slot));
	for (i = 0; i < ARRAY_SIZE(e->slot); i++) {
		e->slot[i].echo = e;
		e->slot[i].buf = e->buf + 64 * i;
		e->slot[i].rx.done = rx_done;
		e->slot[i].tx.done = tx_done;
	}
	return e;
}

static void poll_direct(struct echo *e)
{
	if (!(e->flags & KFI_CQ_DIRECT))
		return;
	WRITE_ONCE(e->poller, current);
	kfi_cq_poll(e->n->rxcq, 4);
	kfi_cq_poll(e->n->txcq, 4);
	WRITE_ONCE(e->poller, NULL);
}

/* Send a message and wait for the answer; poll @e meanwhile if its queue is polled. */
static void ping(struct pair *p, struct echo *e, u8 *buf, u64 seed)
{
	struct test *t = p->a.t;
	comp_t c;

	fill(buf, 64, seed);
	memset(buf + 64, 0, 64);
	POST(t, kfi_recv(p->a.ep, buf + 64, 64, NULL, KFI_ADDR_UNSPEC, CTX(1)));
	REQUIRE(t, !POST(t, kfi_send(p->a.ep, buf, 64, NULL, p->a.peer, CTX(2))));
	REQUIRE(t, test_until(t, (poll_direct(e), comp_poll(&p->a, p->a.rxcq, &c) == 1)));
	EXPECT_COMP(t, &c, CTX(1), KFI_MSG | KFI_RECV);
	EXPECT_DATA(t, buf + 64, 64, seed);
	REQUIRE(t, !WAIT_TX(&p->a, &c));
}

static void callbacks(struct test *t)
{
	u64 flags = case_num(t);
	struct node_opts opts = { .cq_flags = flags };
	struct echo *e = echo_new(t, flags);
	struct pair *p = pair_open(t, NULL, &opts);
	int i, n = t->w->quick ? 100 : 1000;
	u8 *buf = test_zalloc(t, 128);

	REQUIRE(t, p);
	e->n = &p->b;
	for (i = 0; i < ARRAY_SIZE(e->slot); i++)
		REQUIRE(t, !POST(t, receive(e, &e->slot[i])));
	for (i = 0; i < n && !t->failures; i++)
		ping(p, e, buf, i);
	EXPECT(t, test_until(t, (poll_direct(e), atomic_read(&e->sent) == n)));
	EXPECT_EQ(t, atomic_read(&e->got), n);
	EXPECT_EQ(t, atomic_read(&e->wrong), 0);
	/* There are no entries for them. */
	NONE_RX(&p->b);
	NONE_TX(&p->b);
	/* Receives that wait end by done() as well. */
	EXPECT_EQ(t, test_close(t, &p->b.ep->fid), 0);
	poll_direct(e);
}

/* A handler that reads its queue until empty, posts the receives again, and counts. */
struct drain {
	struct echo	e;
	atomic_t	calls;
	int		cpu;
};

static void drain(struct kfid_cq *cq, void *context)
{
	struct drain *d = context;
	struct kfi_cq_tagged_entry entry;
	ssize_t ret;

	check_context(&d->e);
	atomic_inc(&d->calls);
	if (d->cpu >= 0 && raw_smp_processor_id() != d->cpu)
		atomic_inc(&d->e.wrong);
	while ((ret = kfi_cq_read(cq, &entry, 1)) == 1) {
		if (!(entry.flags & KFI_RECV))
			continue;
		atomic_inc(&d->e.got);
		if (kfi_recv(d->e.n->ep, entry.op_context, 64, NULL, KFI_ADDR_UNSPEC,
			     entry.op_context))
			atomic_inc(&d->e.wrong);
	}
	/* Errors are left to the case. */
	if (ret != -EAGAIN && ret != -KFI_EAVAIL)
		atomic_inc(&d->e.wrong);
}

static void handlers(struct test *t)
{
	u64 flags = case_num(t);
	struct drain *d = test_new(t, struct drain);
	struct node_opts opts = { .cq_flags = flags, .handler = drain, .arg = d };
	int i, n = t->w->quick ? 200 : 2000;
	struct pair *p;
	u8 *buf;
	comp_t c;

	d->cpu = -1;
	d->e.flags = flags & (KFI_CQ_SOFTIRQ | KFI_CQ_DIRECT);
	p = pair_open(t, NULL, &opts);
	buf = test_zalloc(t, 64 * 33);
	REQUIRE(t, p);
	d->e.n = &p->b;
	for (i = 0; i < 32; i++)
		REQUIRE(t, !POST(t, kfi_recv(p->b.ep, buf + 64 * i, 64, NULL,
					     KFI_ADDR_UNSPEC, buf + 64 * i)));
	for (i = 0; i < n; i++) {
		REQUIRE(t, !POST(t, kfi_send(p->a.ep, buf + 64 * 32, 8, NULL, p->a.peer, CTX(i))));
		/* If no other context reads what has come, there may be no room for more. */
		REQUIRE(t,
			test_until(t, (poll_direct(&d->e), comp_poll(&p->a, p->a.txcq, &c) == 1)));
	}
	/* Edge triggered, but no completion is missed. */
	EXPECT(t, test_until(t, (poll_direct(&d->e), atomic_read(&d->e.got) >= n)));
	EXPECT_EQ(t, atomic_read(&d->e.got), n);
	EXPECT(t, atomic_read(&d->calls) >= 1 && atomic_read(&d->calls) <= n);
	EXPECT_EQ(t, atomic_read(&d->e.wrong), 0);
}

/* The handler runs in the requested context. */
static void handler_cpu(struct test *t)
{
	struct drain *d = test_new(t, struct drain);
	struct kfi_cq_attr attr = {
		.size = 64, .format = KFI_CQ_FORMAT_TAGGED, .flags = KFI_AFFINITY,
	};
	struct node *n = test_new(t, struct node);
	u8 *buf = test_zalloc(t, 64);
	int i;

	REQUIRE(t, n && !node_open(t, n, 0, NULL));
	d->cpu = cpumask_last(cpu_online_mask);
	d->e.n = n;
	attr.signaling_vector = d->cpu;
	REQUIRE_EQ(t, test_close(t, &n->rxcq->fid), 0);
	REQUIRE_EQ(t, kfi_cq_open(n->domain, &attr, &n->rxcq, drain, d), 0);
	test_keep(t, &n->rxcq->fid);
	REQUIRE(t, !node_endpoint(n, n->info) && !node_enable(n));
	for (i = 1; i <= 4; i++) {
		comp_t c;

		POST(t, kfi_recv(n->ep, buf, 32, NULL, KFI_ADDR_UNSPEC, CTX(i)));
		EXPECT_EQ(t, kfi_cancel(&n->ep->fid, CTX(i)), 0);
		EXPECT(t, test_until(t, atomic_read(&d->calls) == i));
		REQUIRE(t, !WAIT_RX(n, &c));
		/* Read until empty: armed again. */
		EXPECT_EQ(t, comp_poll(n, n->rxcq, &c), 0);
	}
	EXPECT_EQ(t, atomic_read(&d->e.wrong), 0);
}

static void count_call(struct kfid_cq *cq, void *context)
{
	atomic_inc(context);
}

/*
 * A queue may name any possible CPU. If that CPU is offline, the handler and the work items of the
 * connection run on another one. Their timers, too: nothing follows the message with KFI_MORE, so
 * a timer sends it.
 */
static void possible_cpu(struct test *t)
{
	atomic_t *calls = test_zalloc(t, sizeof(*calls));
	struct node_opts opts = {
		.cq_flags = KFI_AFFINITY, .cq_cpu = cpumask_last(cpu_possible_mask),
		.handler = count_call, .arg = calls,
	};
	u8 *tx = test_pages(t, 64), *rx = test_pages(t, 64), *back = test_pages(t, 64);
	struct kvec iov = { tx, 64 };
	struct kfi_msg msg = { .type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1, .context = tx };
	struct pair *p;
	comp_t c;

	p = pair_open(t, &opts, NULL);
	REQUIRE(t, p);
	fill(tx, 64, 1);
	msg.addr = p->a.peer;
	REQUIRE(t, !POST(t, kfi_recv(p->b.ep, rx, 64, NULL, KFI_ADDR_UNSPEC, rx)) &&
			   !POST(t, kfi_sendmsg(p->a.ep, &msg, KFI_MORE | KFI_COMPLETION)) &&
			   !WAIT_RX(&p->b, &c));
	EXPECT_DATA(t, rx, 64, 1);
	EXPECT(t, test_until(t, atomic_read(calls) == 1));
	REQUIRE(t, !WAIT_TX(&p->a, &c));
	REQUIRE(t, !POST(t, kfi_recv(p->a.ep, back, 64, NULL, KFI_ADDR_UNSPEC, back)) &&
			   !POST(t, kfi_send(p->b.ep, rx, 64, NULL, p->b.peer, rx)));
	EXPECT(t, test_until(t, atomic_read(calls) == 2));
	REQUIRE(t, !WAIT_RX(&p->a, &c) && !WAIT_TX(&p->b, &c));
	EXPECT_DATA(t, back, 64, 1);
}

struct edge {
	struct completion	called;
	atomic_t		calls;
};

static void count_edge(struct kfid_cq *cq, void *context)
{
	struct edge *e = context;

	atomic_inc(&e->calls);
	complete(&e->called);
}

static bool one_call(struct test *t, struct edge *e, int calls)
{
	return EXPECT(t,
		      wait_for_completion_timeout(&e->called, msecs_to_jiffies(t->w->wait_ms))) &&
	       EXPECT_EQ(t, atomic_read(&e->calls), calls);
}

/*
 * The handler is called once when a completion comes, and again only after a read that has found
 * none.
 */
static void handler_edge(struct test *t)
{
	struct edge *e = test_new(t, struct edge);
	struct node_opts opts = { .handler = count_edge, .arg = e };
	struct kfi_cq_tagged_entry entry[4];
	struct pair *p;
	comp_t c;
	u8 *buf;
	int i;

	init_completion(&e->called);
	p = pair_open(t, NULL, &opts);
	buf = test_zalloc(t, 64);
	REQUIRE(t, p);
	for (i = 0; i < 10 && !t->failures; i++) {
		send_n(p, 1, buf);
		REQUIRE(t, one_call(t, e, i + 1));
		send_n(p, 2, buf);		/* three entries, but one call */
		msleep(20);
		EXPECT_EQ(t, atomic_read(&e->calls), i + 1);
		REQUIRE(t, test_until(t, kfi_cq_read(p->b.rxcq, entry, 1) == 1));
		send_n(p, 1, buf);		/* it was read, but not until empty */
		msleep(20);
		EXPECT_EQ(t, atomic_read(&e->calls), i + 1);
		/* Errors are entries like others, and so is the read of an error. */
		POST(t, kfi_recv(p->b.ep, buf, 32, NULL, KFI_ADDR_UNSPEC, CTX(1)));
		EXPECT_EQ(t, kfi_cancel(&p->b.ep->fid, CTX(1)), 0);
		while (comp_poll(&p->b, p->b.rxcq, &c) == 1)
			;
		EXPECT_EQ(t, atomic_read(&e->calls), i + 1);
	}
}

const struct test_case cq_wait_cases[] = {
	{ "cq.timeout", T_ALL, CASE_ONCE, 0, timeout },
	{ "cq.wakes", T_ALL, 0, 0, wakes },
	{ "cq.signalled", T_ALL, CASE_ONCE, 0, signalled },
	{ "cq.done_workqueue", T_REL, 0, 0, callbacks, CASE_NUM(0) },
	{ "cq.done_softirq", T_REL, 0, 0, callbacks, CASE_NUM(KFI_CQ_SOFTIRQ) },
	{ "cq.done_direct", T_REL, 0, 0, callbacks, CASE_NUM(KFI_CQ_DIRECT) },
	{ "cq.handler_workqueue", T_REL, 0, 0, handlers, CASE_NUM(0) },
	{ "cq.handler_softirq", T_REL, 0, 0, handlers, CASE_NUM(KFI_CQ_SOFTIRQ) },
	{ "cq.handler_direct", T_REL, 0, 0, handlers, CASE_NUM(KFI_CQ_DIRECT) },
	{ "cq.handler_cpu", T_REL, CASE_ONCE, 0, handler_cpu },
	{ "cq.possible_cpu", T_REL, 0, 0, possible_cpu },
	{ "cq.handler_edge", T_REL, CASE_MATCHING, 0, handler_edge },
	{ }
};
