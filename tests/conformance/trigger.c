// SPDX-License-Identifier: GPL-2.0
/*
 * Operations that wait for a counter, fi_trigger(3): triggered posts and
 * deferred work.
 */
#include <linux/delay.h>
#include "atomic.h"
#include <kfi_trigger.h>
#include <kfi_trigger.h>

#define LEN	256
#define CHAIN	16

static struct kfid_cntr *cntr_open(struct test *t, struct node *n)
{
	struct kfi_cntr_attr attr = { .wait_obj = KFI_WAIT_QUEUE };
	struct kfid_cntr *cntr;

	if (!EXPECT_EQ(t, kfi_cntr_open(n->domain, &attr, &cntr, NULL), 0))
		return NULL;
	test_keep(t, &cntr->fid);
	return cntr;
}

static struct kfi_triggered_context at(struct kfid_cntr *cntr, size_t threshold)
{
	return (struct kfi_triggered_context) {
		.event_type = KFI_TRIGGER_THRESHOLD,
		.trigger.threshold = { .cntr = cntr, .threshold = threshold },
	};
}

static ssize_t send_at(struct node *n, struct kvec *v, struct kfi_triggered_context *c)
{
	struct kfi_msg msg = {
		.type = KFI_KVEC, .msg_iov = v, .iov_count = 1, .addr = n->peer, .context = c
	};

	return kfi_sendmsg(n->ep, &msg, KFI_TRIGGER | KFI_COMPLETION);
}

static ssize_t recv_at(struct node *n, struct kvec *v, struct kfi_triggered_context *c)
{
	struct kfi_msg msg = {
		.type = KFI_KVEC, .msg_iov = v, .iov_count = 1, .addr = KFI_ADDR_UNSPEC,
		.context = c,
	};

	return kfi_recvmsg(n->ep, &msg, KFI_TRIGGER | KFI_COMPLETION);
}

/*
 * Sends start when messages were received, in the order of thresholds, with the contents of the
 * buffer at that time.
 */
static void forwards(struct test *t)
{
	struct pair *p = pair_open(t, NULL, NULL);
	struct kfi_triggered_context *c = test_zalloc(t, 2 * sizeof(*c));
	u8 *tx = test_zalloc(t, 2 * LEN), *rx = test_zalloc(t, 2 * LEN);
	struct kvec v[2] = { { tx, LEN }, { tx + LEN, LEN } };
	struct kfid_cntr *cntr;
	comp_t e;
	int i;

	REQUIRE(t, p && c && tx && rx);
	cntr = cntr_open(t, &p->a);
	REQUIRE(t, cntr);
	for (i = 0; i < 2; i++) {
		POST(t, kfi_recv(p->b.ep, rx + i * LEN, LEN, NULL, KFI_ADDR_UNSPEC, rx + i * LEN));
		c[i] = at(cntr, 2 - i);
		REQUIRE_EQ(t, send_at(&p->a, &v[i], &c[i]), 0);
	}
	NONE_TX(&p->a);
	NONE_RX(&p->b);
	fill(tx, LEN, 11);
	fill(tx + LEN, LEN, 12);
	kfi_cntr_add(cntr, 2);
	for (i = 0; i < 2; i++) {
		REQUIRE(t, !WAIT_TX(&p->a, &e));
		EXPECT_COMP(t, &e, &c[1 - i], KFI_MSG | KFI_SEND);
		REQUIRE(t, !WAIT_RX(&p->b, &e));
		EXPECT_COMP(t, &e, rx + i * LEN, KFI_MSG | KFI_RECV);
		EXPECT_DATA(t, rx + i * LEN, LEN, 12 - i);
	}
	EXPECT_EQ(t, test_close(t, &cntr->fid), 0);
	still_works(p);
}

/* A receive takes no message before its time, and then also messages that have waited. */
static void receives(struct test *t)
{
	struct pair *p = pair_open(t, NULL, NULL);
	struct kfi_triggered_context *c = test_new(t, struct kfi_triggered_context);
	u8 *tx = test_zalloc(t, LEN), *rx = test_zalloc(t, LEN);
	struct kvec v = { rx, LEN };
	struct kfid_cntr *cntr;
	comp_t e;

	REQUIRE(t, p && c && tx && rx);
	cntr = cntr_open(t, &p->b);
	REQUIRE(t, cntr);
	*c = at(cntr, 1);
	REQUIRE_EQ(t, recv_at(&p->b, &v, c), 0);
	fill(tx, LEN, 21);
	POST(t, kfi_send(p->a.ep, tx, LEN, NULL, p->a.peer, tx));
	NONE_RX(&p->b);
	EXPECT_EQ(t, not_all(rx, LEN, 0), -1);
	kfi_cntr_add(cntr, 1);
	REQUIRE(t, !WAIT_RX(&p->b, &e));
	EXPECT_COMP(t, &e, c, KFI_MSG | KFI_RECV);
	EXPECT_DATA(t, rx, LEN, 21);
	REQUIRE(t, !WAIT_TX(&p->a, &e));
	EXPECT_COMP(t, &e, tx, KFI_MSG | KFI_SEND);
}

static void cancelled(struct test *t)
{
	struct pair *p = pair_open(t, NULL, NULL);
	struct kfi_triggered_context *c = test_zalloc(t, 2 * sizeof(*c));
	u8 *buf = test_zalloc(t, LEN);
	struct kvec v = { buf, LEN };
	struct kfid_cntr *cntr;
	comp_t e;

	REQUIRE(t, p && c && buf);
	cntr = cntr_open(t, &p->a);
	REQUIRE(t, cntr);
	c[0] = at(cntr, 1);
	c[1] = at(cntr, 1);
	REQUIRE_EQ(t, send_at(&p->a, &v, &c[0]), 0);
	REQUIRE_EQ(t, recv_at(&p->a, &v, &c[1]), 0);
	EXPECT_EQ(t, kfi_close(&cntr->fid), -EBUSY);
	EXPECT_EQ(t, kfi_cancel(&p->a.ep->fid, &c[0]), 0);
	EXPECT_EQ(t, kfi_cancel(&p->a.ep->fid, &c[1]), 0);
	EXPECT_EQ(t, kfi_cancel(&p->a.ep->fid, &c[1]), -ENOENT);
	REQUIRE(t, !WAIT_TX(&p->a, &e));
	EXPECT_ERR(t, &e, &c[0], ECANCELED);
	REQUIRE(t, !WAIT_RX(&p->a, &e));
	EXPECT_ERR(t, &e, &c[1], ECANCELED);
	EXPECT_EQ(t, test_close(t, &cntr->fid), 0);
	still_works(p);
}

/* ---- deferred work ---- */

static int queue(struct node *n, struct kfi_deferred_work *work)
{
	return kfi_control(&n->domain->fid, KFI_QUEUE_WORK, work);
}

struct chain {
	struct kfi_deferred_work	work[CHAIN];
	struct kfi_op_rma		rma[CHAIN];
	struct kfi_rma_iov		iov[CHAIN];
	struct kvec			v[CHAIN];
};

/*
 * Each write starts when the one before it has ended: it counts on the counter that starts the
 * next.
 */
static void chain(struct test *t)
{
	struct pair *p = pair_open(t, NULL, NULL);
	struct chain *c = test_new(t, struct chain);
	u8 *src = test_pages(t, CHAIN * LEN), *dst = test_pages(t, CHAIN * LEN);
	struct kfid_cntr *cntr;
	struct region r;
	int i;

	REQUIRE(t, p && c && src && dst);
	cntr = cntr_open(t, &p->a);
	REQUIRE(t, cntr && !region_open(&p->b, &r, dst, CHAIN * LEN, KFI_REMOTE_WRITE));
	for (i = CHAIN - 1; i >= 0; i--) {
		c->v[i] = (struct kvec) { src + i * LEN, LEN };
		c->iov[i] = (struct kfi_rma_iov) {
			.addr = r.addr + i * LEN, .len = LEN, .key = r.key,
		};
		c->rma[i] = (struct kfi_op_rma) {
			.ep = p->a.ep,
			.msg = { .type = KFI_KVEC,
				 .msg_iov = &c->v[i],
				 .iov_count = 1,
				 .addr = p->a.peer,
				 .rma_iov = &c->iov[i],
				 .rma_iov_count = 1 },
		};
		c->work[i] = (struct kfi_deferred_work) {
			.threshold = i + 1, .triggering_cntr = cntr, .completion_cntr = cntr,
			.op_type = KFI_OP_WRITE, .op.rma = &c->rma[i],
		};
		REQUIRE_EQ(t, queue(&p->a, &c->work[i]), 0);
		fill(src + i * LEN, LEN, i);
	}
	NONE_TX(&p->a);
	EXPECT_EQ(t, not_all(dst, CHAIN * LEN, 0), -1);
	kfi_cntr_add(cntr, 1);
	REQUIRE_EQ(t, kfi_cntr_wait(cntr, CHAIN + 1, t->w->wait_ms), 0);
	for (i = 0; i < CHAIN; i++)
		EXPECT(t, test_until(t, differs(dst + i * LEN, LEN, i) == -1));
	NONE_TX(&p->a);
	EXPECT_EQ(t, test_close(t, &cntr->fid), 0);
}

/* All kinds of messages, one behind the other on both sides, without a thread. */
static void messages(struct test *t)
{
	struct pair *p = pair_open(t, NULL, NULL);
	u8 *tx = test_zalloc(t, LEN), *rx = test_zalloc(t, LEN), *back = test_zalloc(t, LEN);
	struct kvec v[3] = { { tx, LEN }, { rx, LEN }, { back, LEN } };
	struct kfid_cntr *start, *got, *home;
	struct kfi_op_tagged op[4] = {
		{ .ep = p ? p->b.ep : NULL, .msg = { .msg_iov = &v[1], .tag = 5, .addr = KFI_ADDR_UNSPEC } },
		{ .ep = p ? p->b.ep : NULL, .msg = { .msg_iov = &v[1], .tag = 6, .addr = p ? p->b.peer : 0 } },
		{ .ep = p ? p->a.ep : NULL, .msg = { .msg_iov = &v[2], .tag = 6, .addr = KFI_ADDR_UNSPEC } },
		{ .ep = p ? p->a.ep : NULL, .msg = { .msg_iov = &v[0], .tag = 5, .addr = p ? p->a.peer : 0 } },
	};
	static const enum kfi_op_type type[4] = { KFI_OP_TRECV, KFI_OP_TSEND, KFI_OP_TRECV,
						  KFI_OP_TSEND };
	struct kfi_deferred_work work[4] = {};
	int i;

	REQUIRE(t, p && tx && rx && back);
	start = cntr_open(t, &p->a);
	home = cntr_open(t, &p->a);
	got = cntr_open(t, &p->b);
	REQUIRE(t, start && got && home);
	fill(tx, LEN, 31);
	for (i = 0; i < 4; i++) {
		op[i].msg.type = KFI_KVEC;
		op[i].msg.iov_count = 1;
		work[i].op_type = type[i];
		work[i].op.tagged = &op[i];
	}
	work[0].triggering_cntr = work[0].completion_cntr = work[1].triggering_cntr = got;
	work[1].threshold = 1;
	work[2].triggering_cntr = work[3].triggering_cntr = start;
	work[2].completion_cntr = home;
	work[2].threshold = work[3].threshold = 1;
	for (i = 0; i < 4; i++)
		REQUIRE_EQ(t, queue(i < 2 ? &p->b : &p->a, &work[i]), 0);
	kfi_cntr_add(start, 1);
	REQUIRE_EQ(t, kfi_cntr_wait(home, 1, t->w->wait_ms), 0);
	EXPECT_DATA(t, back, LEN, 31);
	NONE_RX(&p->a);
	NONE_RX(&p->b);
	EXPECT_EQ(t, test_close(t, &start->fid), 0);
	EXPECT_EQ(t, test_close(t, &got->fid), 0);
}

/*
 * All three kinds of atomic operations, each after the one before; injected operands are read when
 * the operation starts.
 */
static void atomics(struct test *t)
{
	struct pair *p = pair_open(t, NULL, NULL);
	u64 *far = test_pages(t, 4096), *near = test_zalloc(t, 64);
	struct kfi_ioc v[4] = { { &near[0], 1 }, { &near[1], 1 }, { &near[2], 1 }, { &near[3], 1 } };
	struct kfi_rma_ioc there = { .count = 1 };
	struct kfi_op_atomic base = {};
	struct kfi_op_fetch_atomic fetch = {};
	struct kfi_op_compare_atomic compare = {};
	struct kfi_msg_atomic *msg[3] = { &base.msg, &fetch.msg, &compare.msg };
	struct kfi_deferred_work work[3] = { { .op_type = KFI_OP_ATOMIC, .op.atomic = &base },
					     { .op_type = KFI_OP_FETCH_ATOMIC, .op.fetch_atomic = &fetch },
					     { .op_type = KFI_OP_COMPARE_ATOMIC, .op.compare_atomic = &compare } };
	struct kfid_cntr *cntr;
	struct region r;
	int i;

	REQUIRE(t, p && far && near);
	cntr = cntr_open(t, &p->a);
	*far = 100;
	REQUIRE(t, cntr && !region_open(&p->b, &r, far, 4096, ALL_RIGHTS));
	there.addr = r.addr;
	there.key = r.key;
	base.ep = fetch.ep = compare.ep = p->a.ep;
	base.flags = KFI_INJECT;
	fetch.fetch = (struct kfi_msg_fetch) { .msg_iov = &v[2], .iov_count = 1 };
	compare.fetch = (struct kfi_msg_fetch) { .msg_iov = &v[3], .iov_count = 1 };
	compare.compare = (struct kfi_msg_compare) { .msg_iov = &v[1], .iov_count = 1 };
	for (i = 0; i < 3; i++) {
		*msg[i] = (struct kfi_msg_atomic) {
			.msg_iov = &v[0], .iov_count = 1, .addr = p->a.peer, .rma_iov = &there,
			.rma_iov_count = 1, .datatype = KFI_UINT64,
			.op = i == 2 ? KFI_CSWAP : KFI_SUM,
		};
		work[i].threshold = i + 1;
		work[i].triggering_cntr = work[i].completion_cntr = cntr;
		REQUIRE_EQ(t, queue(&p->a, &work[i]), 0);
	}
	memset(v, 0, sizeof(v));	/* the operation was described already */
	near[0] = 7;
	near[1] = 114;
	NONE_TX(&p->a);
	kfi_cntr_add(cntr, 1);
	REQUIRE_EQ(t, kfi_cntr_wait(cntr, 4, t->w->wait_ms), 0);
	EXPECT_EQ(t, near[2], 107);
	EXPECT_EQ(t, near[3], 114);
	EXPECT_EQ(t, *far, 7);
	NONE_TX(&p->a);
	EXPECT_EQ(t, test_close(t, &cntr->fid), 0);
}

/*
 * A failure is an error entry and an error of the completion counter, once, and starts operations
 * that wait for its end.
 */
static void fails(struct test *t)
{
	struct pair *p = pair_open(t, NULL, NULL);
	u8 *src = test_pages(t, LEN), *dst = test_pages(t, LEN);
	struct kvec v = { src, LEN };
	struct kfi_rma_iov iov = { .len = LEN };
	struct kfi_op_rma rma = { .msg = { .type = KFI_KVEC,
					   .msg_iov = &v,
					   .iov_count = 1,
					   .rma_iov = &iov,
					   .rma_iov_count = 1 } };
	struct kfi_op_cntr add = { .value = 40 };
	struct kfi_deferred_work write = { .op_type = KFI_OP_WRITE, .op.rma = &rma };
	struct kfi_deferred_work count = {
		.op_type = KFI_OP_CNTR_ADD, .op.cntr = &add, .threshold = 1,
	};
	struct kfid_cntr *cntr, *next;
	struct region r;
	comp_t e;

	REQUIRE(t, p && src && dst && !region_open(&p->b, &r, dst, LEN, KFI_REMOTE_READ));
	cntr = cntr_open(t, &p->a);
	next = cntr_open(t, &p->a);
	REQUIRE(t, cntr && next);
	rma.ep = p->a.ep;
	rma.msg.addr = p->a.peer;
	rma.msg.context = &rma;
	iov.addr = r.addr;
	iov.key = r.key;
	write.triggering_cntr = write.completion_cntr = count.triggering_cntr = cntr;
	add.cntr = next;
	REQUIRE_EQ(t, queue(&p->a, &count), 0);
	REQUIRE_EQ(t, queue(&p->a, &write), 0);
	REQUIRE(t, !WAIT_TX(&p->a, &e));
	EXPECT_ERR(t, &e, &rma, EACCES);
	EXPECT(t, test_until(t, kfi_cntr_readerr(cntr) == 1));
	EXPECT_EQ(t, kfi_cntr_wait(next, 40, t->w->wait_ms), 0);
	EXPECT_EQ(t, kfi_cntr_read(cntr), 0);
	NONE_TX(&p->a);
	EXPECT_EQ(t, test_close(t, &cntr->fid), 0);
	EXPECT_EQ(t, test_close(t, &next->fid), 0);
}

static struct kfi_deferred_work work_send(struct node *n, struct kfi_op_msg *op, struct kvec *v,
					  struct kfid_cntr *cntr, u64 threshold)
{
	*op = (struct kfi_op_msg) {
		.ep = n->ep,
		.msg = { .type = KFI_KVEC,
			 .msg_iov = v,
			 .iov_count = 1,
			 .addr = n->peer,
			 .context = op },
		.flags = KFI_COMPLETION,
	};
	return (struct kfi_deferred_work) {
		.threshold = threshold,
		.triggering_cntr = cntr,
		.op_type = KFI_OP_SEND,
		.op.msg = op,
	};
}

/* Cancelled one by one and all together: they have no effect, and hold no reference any more. */
static void flushed(struct test *t)
{
	struct pair *p = pair_open(t, NULL, NULL);
	struct kfi_op_msg *op = test_zalloc(t, 4 * sizeof(*op));
	struct kfi_deferred_work work[4];
	u8 *buf = test_zalloc(t, LEN);
	struct kvec v = { buf, LEN };
	struct kfid_cntr *cntr[2];
	int i;

	REQUIRE(t, p && op && buf);
	cntr[0] = cntr_open(t, &p->a);
	cntr[1] = cntr_open(t, &p->a);
	REQUIRE(t, cntr[0] && cntr[1]);
	for (i = 0; i < 4; i++) {
		work[i] = work_send(&p->a, &op[i], &v, cntr[i % 2], 1);
		REQUIRE_EQ(t, queue(&p->a, &work[i]), 0);
	}
	EXPECT_EQ(t, kfi_control(&p->a.domain->fid, KFI_CANCEL_WORK, &work[0]), 0);
	EXPECT_EQ(t, kfi_control(&p->a.domain->fid, KFI_CANCEL_WORK, &work[0]), -ENOENT);
	EXPECT_EQ(t, kfi_control(&cntr[1]->fid, KFI_FLUSH_WORK, NULL), 0);
	EXPECT_EQ(t, kfi_control(&p->a.domain->fid, KFI_CANCEL_WORK, &work[3]), -ENOENT);
	EXPECT_EQ(t, kfi_close(&cntr[0]->fid), -EBUSY);
	EXPECT_EQ(t, kfi_control(&p->a.domain->fid, KFI_FLUSH_WORK, NULL), 0);
	for (i = 0; i < 2; i++) {
		kfi_cntr_add(cntr[i], 1);
		EXPECT_EQ(t, test_close(t, &cntr[i]->fid), 0);
	}
	NONE_TX(&p->a);
	still_works(p);
}

/*
 * Closed in the wrong order: the domain and the counters are in use, the endpoint ends work that
 * waits for it.
 */
static void closed(struct test *t)
{
	struct pair *p = pair_open(t, NULL, NULL);
	struct kfi_op_msg *op = test_zalloc(t, 2 * sizeof(*op));
	struct kfi_deferred_work work[2];
	u8 *buf = test_zalloc(t, LEN);
	struct kvec v = { buf, LEN };
	struct kfid_cntr *cntr, *ended;
	comp_t e;
	int i;

	REQUIRE(t, p && op && buf);
	cntr = cntr_open(t, &p->a);
	ended = cntr_open(t, &p->a);
	REQUIRE(t, cntr && ended);
	for (i = 0; i < 2; i++) {
		work[i] = work_send(&p->a, &op[i], &v, cntr, 1 + i);
		work[i].completion_cntr = ended;
		REQUIRE_EQ(t, queue(&p->a, &work[i]), 0);
	}
	EXPECT_EQ(t, kfi_close(&p->a.domain->fid), -EBUSY);
	EXPECT_EQ(t, kfi_close(&cntr->fid), -EBUSY);
	EXPECT_EQ(t, kfi_close(&ended->fid), -EBUSY);
	kfi_cntr_add(cntr, 1);		/* one is under way now, or not yet */
	REQUIRE_EQ(t, test_close(t, &p->a.ep->fid), 0);
	for (i = 0; i < 2; i++) {
		REQUIRE(t, !WAIT_TX(&p->a, &e));
		EXPECT(t, e.op_context == &op[0] || (e.op_context == &op[1] && e.err == ECANCELED));
	}
	NONE_TX(&p->a);
	EXPECT_EQ(t, kfi_cntr_read(ended) + kfi_cntr_readerr(ended), 2);
	EXPECT(t, kfi_cntr_readerr(ended) >= 1);
	EXPECT_EQ(t, test_close(t, &ended->fid), 0);
	EXPECT_EQ(t, test_close(t, &cntr->fid), 0);
}

/* Work for a connection ends with it. */
static void disconnected(struct test *t)
{
	struct pair *p = pair_open(t, NULL, NULL);
	struct kfi_triggered_context *c = test_zalloc(t, 2 * sizeof(*c));
	u8 *buf = test_zalloc(t, LEN);
	struct kvec v = { buf, LEN };
	struct kfid_cntr *cntr;
	comp_t e;

	REQUIRE(t, p && c && buf);
	cntr = cntr_open(t, &p->a);
	REQUIRE(t, cntr);
	c[0] = at(cntr, 1);
	c[1] = at(cntr, 1);
	REQUIRE_EQ(t, send_at(&p->a, &v, &c[0]), 0);
	REQUIRE_EQ(t, recv_at(&p->a, &v, &c[1]), 0);
	EXPECT_EQ(t, kfi_shutdown(p->b.ep, 0), 0);
	REQUIRE(t, !WAIT_TX(&p->a, &e));
	EXPECT(t, e.op_context == &c[0] && e.err);
	REQUIRE(t, !WAIT_RX(&p->a, &e));
	EXPECT(t, e.op_context == &c[1] && e.err);
	EXPECT_EQ(t, test_close(t, &cntr->fid), 0);
}

/* ---- on all CPUs ---- */

#define FAN	32
#define ADDERS	4

struct fan {
	struct kfid_cntr	*cntr;
	unsigned int		each;
};

static int fan_add(void *arg)
{
	struct fan *f = arg;
	unsigned int i;

	for (i = 0; i < f->each; i++) {
		kfi_cntr_add(f->cntr, 1);
		cond_resched();
	}
	return 0;
}

/*
 * Several threads count on a counter that starts a message at each value; each is sent once, in
 * order.
 */
static void fan(struct test *t)
{
	struct pair *p = pair_open(t, NULL, NULL);
	struct kfi_triggered_context *c = test_zalloc(t, FAN * sizeof(*c));
	struct worker *w = test_zalloc(t, ADDERS * sizeof(*w));
	struct fan *f = test_new(t, struct fan);
	u32 *tx = test_zalloc(t, FAN * 4), *rx = test_zalloc(t, FAN * 4);
	struct kvec v;
	comp_t e;
	int i;

	REQUIRE(t, p && c && w && f && tx && rx);
	f->cntr = cntr_open(t, &p->a);
	f->each = FAN / ADDERS;
	REQUIRE(t, f->cntr);
	for (i = 0; i < FAN; i++)
		POST(t, kfi_recv(p->b.ep, &rx[i], 4, NULL, KFI_ADDR_UNSPEC, &rx[i]));
	for (i = FAN - 1; i >= 0; i--) {
		tx[i] = i;
		v = (struct kvec) { &tx[i], 4 };
		c[i] = at(f->cntr, i + 1);
		REQUIRE_EQ(t, send_at(&p->a, &v, &c[i]), 0);
	}
	for (i = 0; i < ADDERS; i++)
		REQUIRE(t, !worker_start(t, &w[i], -1, fan_add, f));
	for (i = 0; i < ADDERS; i++)
		worker_join(&w[i], t->w->wait_ms);
	for (i = 0; i < FAN; i++) {
		REQUIRE(t, !WAIT_TX(&p->a, &e) && !WAIT_RX(&p->b, &e));
		EXPECT_EQ(t, e.err, 0);
	}
	for (i = 0; i < FAN; i++)
		EXPECT_EQ(t, rx[i], i);
	NONE_TX(&p->a);
	EXPECT_EQ(t, test_close(t, &f->cntr->fid), 0);
}

const struct test_case trigger_cases[] = {
	{ "trigger.forwards", T_REL, 0, C_MSG | KFI_TRIGGER, forwards },
	{ "trigger.receives", T_REL, 0, C_MSG | KFI_TRIGGER, receives },
	{ "trigger.cancelled", T_ALL, 0, C_MSG | KFI_TRIGGER, cancelled },
	{ "trigger.chain", T_REL, 0, C_MSG | C_RMA | KFI_TRIGGER, chain },
	{ "trigger.messages", T_REL, 0, C_TAGGED | KFI_TRIGGER, messages },
	{ "trigger.atomics", T_REL, 0, C_MSG | C_ATOMIC | KFI_TRIGGER, atomics },
	{ "trigger.fails", T_REL, 0, C_MSG | C_RMA | KFI_TRIGGER, fails },
	{ "trigger.flushed", T_ALL, 0, C_MSG | KFI_TRIGGER, flushed },
	{ "trigger.closed", T_ALL, 0, C_MSG | KFI_TRIGGER, closed },
	{ "trigger.disconnected", T_MSG, 0, C_MSG | KFI_TRIGGER, disconnected },
	{ "trigger.fan", T_REL, 0, C_MSG | KFI_TRIGGER, fan },
	{ }
};
