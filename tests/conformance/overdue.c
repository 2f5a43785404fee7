// SPDX-License-Identifier: GPL-2.0
/*
 * A time limit for operations (KFI_OPT_OP_TIMEOUT_MS): a peer that is alive and never answers.
 */
#include <linux/delay.h>
#include "harness.h"

#define LIMIT_MS	500
#define LONG		60000	/* bytes: no provider keeps such a message for a late receive */

static int set_limit(struct node *n)
{
	size_t ms = LIMIT_MS;
	int ret = kfi_setopt(&n->ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_OP_TIMEOUT_MS, &ms, sizeof(ms));

	if (ret == -EOPNOTSUPP)
		test_skip(n->t, "operations have no time limit");
	else
		EXPECT_EQ(n->t, ret, 0);
	return ret;
}

static const struct node_opts limited = { .before_enable = set_limit };

/* It ends because of the limit, and not before. */
static int wait_overdue(struct node *n, ktime_t since, const void *ctx)
{
	s64 ms;
	comp_t c;

	if (WAIT_TX(n, &c))
		return -ETIMEDOUT;
	EXPECT_ERR(n->t, &c, ctx, ETIMEDOUT);
	ms = ktime_ms_delta(ktime_get(), since);
	EXPECT(n->t, ms >= LIMIT_MS);
	EXPECT(n->t, ms < LIMIT_MS + n->t->w->wait_ms / 2);
	return 0;
}

/*
 * The endpoint is disconnected, or continues with a new connection, whose first message is a new
 * one.
 */
static void goes_anew(struct pair *p)
{
	struct test *t = p->a.t;
	struct event ev;

	if (t->type == KFI_EP_RDM) {
		transfer(&p->a, &p->b, LONG, 2);
		still_works(p);
		return;
	}
	REQUIRE(t, !WAIT_EVENT(&p->a, &ev));
	EXPECT_EQ(t, ev.type, KFI_SHUTDOWN);
	REQUIRE(t, !WAIT_EVENT(&p->b, &ev));
	EXPECT_EQ(t, ev.type, KFI_SHUTDOWN);
	EXPECT_EQ(t, kfi_send(p->a.ep, NULL, 0, NULL, p->a.peer, NULL), -ESHUTDOWN);
}

/*
 * A message without a receive ends in time. After that its memory is not read any more: the peer
 * gets no byte of it.
 */
static void message(struct test *t)
{
	struct pair *p = pair_open(t, &limited, NULL);
	u8 *tx = test_pages(t, LONG);
	ktime_t start;

	if (t->skipped)
		return;
	REQUIRE(t, p);
	if (t->type == KFI_EP_RDM && transfer(&p->a, &p->b, 100, 1))
		return;
	fill(tx, LONG, 1);
	start = ktime_get();
	REQUIRE(t, !POST(t, kfi_send(p->a.ep, tx, LONG, NULL, p->a.peer, tx)));
	REQUIRE(t, !wait_overdue(&p->a, start, tx));
	fill(tx, LONG, 3);
	goes_anew(p);
	NONE_TX(&p->a);
}

/* All operations of the connection end with it, also those that wait behind the overdue one. */
static void several(struct test *t)
{
	struct pair *p = pair_open(t, &limited, NULL);
	u8 *tx = test_pages(t, LONG);
	ktime_t start;
	comp_t c;
	int i;

	if (t->skipped)
		return;
	REQUIRE(t, p);
	start = ktime_get();
	for (i = 0; i < 8; i++)
		REQUIRE(t, !POST(t, kfi_tsend(p->a.ep, tx, LONG, NULL, p->a.peer, i, CTX(i))));
	for (i = 0; i < 8; i++) {
		REQUIRE(t, !WAIT_TX(&p->a, &c));
		EXPECT_EQ(t, c.err, ETIMEDOUT);
	}
	EXPECT(t, ktime_ms_delta(ktime_get(), start) >= LIMIT_MS);
	goes_anew(p);
	NONE_TX(&p->a);
}

/* Operations that are answered have no limit, however long the connection is in use. */
static void in_time(struct test *t)
{
	struct pair *p = pair_open(t, &limited, &limited);
	unsigned long end = jiffies + msecs_to_jiffies(4 * LIMIT_MS);
	u64 seed = 0;

	if (t->skipped)
		return;
	REQUIRE(t, p);
	while (time_before(jiffies, end)) {
		if (transfer(&p->a, &p->b, LONG, ++seed) || transfer(&p->b, &p->a, 100, ++seed))
			return;
		msleep(20);
	}
	NONE_TX(&p->a);
	NONE_TX(&p->b);
}

/* A peer that answers is not affected by one that does not. */
static void others(struct test *t)
{
	struct pair *p = pair_open(t, &limited, NULL);
	struct node *good = test_new(t, struct node), *a = test_new(t, struct node);
	u8 *tx = test_pages(t, LONG);
	kfi_addr_t addr = KFI_ADDR_NOTAVAIL;
	bool ended = false;
	unsigned long end;
	u64 seed = 0;
	comp_t c;

	if (t->skipped)
		return;
	REQUIRE(t, p && a);
	REQUIRE(t, !node_open_ep(t, good, 1, NULL) && !node_insert(&p->a, good, &addr) &&
			   !node_insert(good, &p->a, &good->peer));
	*a = p->a;
	a->peer = addr;			/* A, as the good peer knows it */
	REQUIRE(t, !transfer(a, good, 100, ++seed));
	REQUIRE(t, !POST(t, kfi_send(p->a.ep, tx, LONG, NULL, p->a.peer, tx)));
	end = jiffies + msecs_to_jiffies(2 * LIMIT_MS);
	while (!ended && time_before(jiffies, end) && !transfer(good, a, 100, ++seed)) {
		msleep(20);
		ended = comp_poll(&p->a, p->a.txcq, &c) == 1;
	}
	if (!ended)
		REQUIRE(t, !WAIT_TX(&p->a, &c));
	EXPECT_ERR(t, &c, tx, ETIMEDOUT);
	transfer(a, good, LONG, ++seed);
	transfer(good, a, LONG, ++seed);
	NONE_TX(&p->a);
}

const struct test_case overdue_cases[] = {
	{ "overdue.message", T_REL, 0, C_MSG, message },
	{ "overdue.several", T_REL, 0, C_MSG | C_TAGGED, several },
	{ "overdue.in_time", T_REL, 0, C_MSG, in_time },
	{ "overdue.others", T_RDM, 0, C_MSG, others },
	{}
};
