// SPDX-License-Identifier: GPL-2.0
/* Shared transmit contexts: effects of endpoints of one pool on each other. */
#include "crowd.h"
#include <kfi_trigger.h>

#define DEPTH	4	/* operations of a context in the case about its room */

static void transmits(struct test *t)
{
	struct crowd *c = crowd_open(t, NULL, &plain_tx);
	int i, j;

	REQUIRE(t, c);
	for (j = 0; j < 3; j++)
		for (i = 0; i < CROWD && !t->failures; i++) {
			c->b[i].txcq = c->host.txcq;
			transfer(&c->b[i], &c->a[i],
				 100 + 50000 * (j == 2 && t->type != KFI_EP_DGRAM), i);
			transfer(&c->a[i], &c->b[i], 100, i);
		}
}

static void count_call(struct kfid_ep *ep, void *arg)
{
	atomic_inc(arg);
}

/* DEPTH sends without receives: there is no room for more, by any of the endpoints. */
static bool use_up(struct crowd *c, const u8 *tx)
{
	struct test *t = c->t;
	int i;

	for (i = 0; i < DEPTH; i++)
		if (!EXPECT_EQ(t,
			       kfi_send(c->b[i % CROWD].ep, tx, LONG, NULL, c->b[i % CROWD].peer,
					CTX(i)),
			       0))
			return false;
	for (i = 0; i < CROWD; i++)
		EXPECT_EQ(t, kfi_send(c->b[i].ep, tx, LONG, NULL, c->b[i].peer, CTX(9)), -EAGAIN);
	return true;
}

static void room(struct test *t)
{
	struct kfi_tx_attr attr = { .size = DEPTH };
	struct crowd *c = crowd_open(t, NULL, &attr);
	u8 *tx = test_pages(t, LONG), *rx = test_pages(t, LONG);
	atomic_t *told = test_zalloc(t, CROWD * sizeof(*told));
	size_t size, len = sizeof(size);
	comp_t e;
	int i;

	REQUIRE(t, c && tx && rx && told);
	EXPECT_EQ(t, kfi_getopt(&c->b[0].ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_TX_SIZE, &size, &len),
		  0);
	EXPECT_EQ(t, size, DEPTH);
	fill(tx, LONG, 8);
	REQUIRE(t, use_up(c, tx));
	for (i = 0; i < CROWD; i++)
		REQUIRE_EQ(t, kfi_ep_tx_space(c->b[i].ep, count_call, &told[i]), 0);
	NONE_TX(&c->host);
	EXPECT_EQ(t, atomic_read(&told[0]), 0);
	/* An operation that ends makes room for all of them. */
	REQUIRE(t, !POST(t, kfi_recv(c->a[1].ep, rx, LONG, NULL, KFI_ADDR_UNSPEC, CTX(0))));
	REQUIRE(t, !WAIT_RX(&c->a[1], &e) && !WAIT_TX(&c->host, &e));
	EXPECT_COMP(t, &e, CTX(1), KFI_MSG | KFI_SEND);
	EXPECT_DATA(t, rx, LONG, 8);
	for (i = 0; i < CROWD; i++)
		EXPECT(t, test_until(t, atomic_read(&told[i]) == 1));
	EXPECT_EQ(t, kfi_send(c->b[2].ep, tx, LONG, NULL, c->b[2].peer, CTX(7)), 0);
	EXPECT_EQ(t, kfi_send(c->b[2].ep, tx, LONG, NULL, c->b[2].peer, CTX(8)), -EAGAIN);
	for (i = 0; i < CROWD; i++)
		EXPECT_EQ(t, kfi_ep_tx_space(c->b[i].ep, NULL, NULL), 0);
	/* An endpoint that is closed returns its operations, and nothing else. */
	REQUIRE_EQ(t, test_close(t, &c->b[0].ep->fid), 0);
	for (i = 0; i < 2; i++) {
		REQUIRE(t, !WAIT_TX(&c->host, &e));
		EXPECT_ERR(t, &e, e.op_context, ECANCELED);
		EXPECT(t, e.op_context == CTX(0) || e.op_context == CTX(3));
	}
	for (i = 0; i < 2; i++)
		EXPECT_EQ(t, kfi_send(c->b[1].ep, tx, LONG, NULL, c->b[1].peer, CTX(20 + i)), 0);
	EXPECT_EQ(t, kfi_send(c->b[1].ep, tx, LONG, NULL, c->b[1].peer, CTX(30)), -EAGAIN);
}

/**
 * struct waiter - posts work that waits for a counter, and cancels it
 * @rounds: number of times
 */
struct waiter {
	struct crowd		*c;
	struct worker		worker;
	struct kfid_cntr	*cntr;
	u64			rounds;
	bool			stop;
	u8			buf[8];
};

static int wait_and_cancel(void *arg)
{
	struct waiter *w = arg;
	struct node *b = &w->c->b[1];
	struct kfi_triggered_context ctx = { .event_type = KFI_TRIGGER_THRESHOLD,
					     .trigger.threshold = { w->cntr, 1 } };
	struct kvec v = { w->buf, 8 };
	struct kfi_msg msg = {
		.type = KFI_KVEC, .msg_iov = &v, .iov_count = 1, .addr = b->peer, .context = &ctx
	};
	struct test *t = w->c->t;
	comp_t e;

	while (!READ_ONCE(w->stop) && !READ_ONCE(t->failures)) {
		if (POST(t, kfi_sendmsg(b->ep, &msg, KFI_TRIGGER | KFI_COMPLETION)))
			return -EIO;
		if (!EXPECT_EQ(t, kfi_cancel(&b->ep->fid, &ctx), 0) || WAIT_TX(&w->c->host, &e))
			return -EIO;
		EXPECT_ERR(t, &e, &ctx, ECANCELED);
		w->rounds++;
		/* this loop does not sleep, and a close waits for a grace period */
		cond_resched();
	}
	return 0;
}

/*
 * A cancel that searches the shared operations, again and again, does not affect those of other
 * endpoints.
 */
static void triggers(struct test *t)
{
	struct kfi_cntr_attr attr = { .events = KFI_CNTR_EVENTS_COMP };
	struct crowd *c = crowd_open(t, NULL, &plain_tx);
	struct waiter *w = test_new(t, struct waiter);
	unsigned long until;

	REQUIRE(t, c && w &&
			   !KEEP(t, kfi_cntr_open(c->host.domain, &attr, &w->cntr, NULL),
				 &w->cntr->fid));
	w->c = c;
	REQUIRE(t, !worker_start(t, &w->worker, -1, wait_and_cancel, w));
	until = jiffies + msecs_to_jiffies(t->w->quick ? 300 : 5000);
	while (time_before(jiffies, until) && !READ_ONCE(t->failures)) {
		EXPECT_EQ(t, kfi_cancel(&c->b[0].ep->fid, CTX(1)), -ENOENT);
		cond_resched();
	}
	EXPECT_EQ(t, test_close(t, &c->b[2].ep->fid), 0);
	WRITE_ONCE(w->stop, true);
	EXPECT_EQ(t, worker_join(&w->worker, t->w->wait_ms), 0);
	EXPECT(t, w->rounds);
	EXPECT_EQ(t, test_close(t, &w->cntr->fid), 0);
}

const struct test_case shared_tx_cases[] = {
	{ "shared.transmits", T_ALL, 0, C_MSG, transmits },
	{ "shared.room", T_REL, 0, C_MSG, room },
	{ "shared.triggers", T_REL, 0, C_MSG | KFI_TRIGGER, triggers },
	{ }
};
