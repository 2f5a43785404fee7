// SPDX-License-Identifier: GPL-2.0
/* Cancel of receives: one entry for each, and no effect on others. */
#include <linux/delay.h>
#include "harness.h"

static void one_of_many(struct test *t, struct pair *p)
{
	u8 *rx = test_zalloc(t, 64 * 8), *tx = test_zalloc(t, 64);
	comp_t c;
	int i;

	for (i = 1; i <= 8; i++)
		POST(t, kfi_recv(p->b.ep, rx + 64 * (i - 1), 64, NULL, KFI_ADDR_UNSPEC, CTX(i)));
	EXPECT_EQ(t, kfi_cancel(&p->b.ep->fid, CTX(3)), 0);
	REQUIRE_RX_ERR(&p->b, &c, CTX(3), ECANCELED);
	EXPECT_EQ(t, c.flags, KFI_MSG | KFI_RECV);
	EXPECT_EQ(t, kfi_cancel(&p->b.ep->fid, CTX(3)), -ENOENT);
	NONE_RX(&p->b);
	/* The others are unchanged, and in their order. */
	for (i = 1; i <= 8; i++) {
		if (i == 3)
			continue;
		fill(tx, 64, i);
		POST(t, kfi_send(p->a.ep, tx, 64, NULL, p->a.peer, CTX(9)));
		REQUIRE(t, !WAIT_TX(&p->a, &c) && !WAIT_RX(&p->b, &c));
		EXPECT_COMP(t, &c, CTX(i), KFI_MSG | KFI_RECV);
		EXPECT_DATA(t, rx + 64 * (i - 1), 64, i);
	}
}

static void unknown(struct test *t, struct pair *p)
{
	u8 *buf = test_zalloc(t, 64);
	comp_t c;

	EXPECT_EQ(t, kfi_cancel(&p->b.ep->fid, CTX(99)), -ENOENT);
	/* A receive that was used is unknown as well. */
	POST(t, kfi_recv(p->b.ep, buf, 32, NULL, KFI_ADDR_UNSPEC, CTX(1)));
	POST(t, kfi_send(p->a.ep, buf + 32, 8, NULL, p->a.peer, CTX(2)));
	REQUIRE(t, !WAIT_RX(&p->b, &c));
	EXPECT_EQ(t, kfi_cancel(&p->b.ep->fid, CTX(1)), -ENOENT);
	NONE_RX(&p->b);
	REQUIRE(t, !WAIT_TX(&p->a, &c));
	/* Only endpoints support cancel. */
	EXPECT(t, kfi_cancel(&p->b.rxcq->fid, CTX(1)) < 0);
}

/* Of several receives with one context the first is cancelled. */
static void same_context(struct test *t, struct pair *p)
{
	u8 *rx = test_zalloc(t, 128), *tx = test_zalloc(t, 64);
	comp_t c;

	POST(t, kfi_recv(p->b.ep, rx, 64, NULL, KFI_ADDR_UNSPEC, CTX(1)));
	POST(t, kfi_recv(p->b.ep, rx + 64, 64, NULL, KFI_ADDR_UNSPEC, CTX(1)));
	EXPECT_EQ(t, kfi_cancel(&p->b.ep->fid, CTX(1)), 0);
	REQUIRE_RX_ERR(&p->b, &c, CTX(1), ECANCELED);
	NONE_RX(&p->b);
	fill(tx, 64, 1);
	POST(t, kfi_send(p->a.ep, tx, 64, NULL, p->a.peer, CTX(9)));
	REQUIRE_RX(&p->b, &c, CTX(1), KFI_MSG | KFI_RECV);
	EXPECT_DATA(t, rx + 64, 64, 1);
	EXPECT_EQ(t, not_all(rx, 64, 0), -1);
	REQUIRE(t, !WAIT_TX(&p->a, &c));
}

struct arrival {
	struct pair		*p;
	u8			*tx;
	size_t			len;
	struct completion	begun;
};

static int send_run(void *arg)
{
	struct arrival *x = arg;
	struct node *a = &x->p->a;

	complete(&x->begun);
	return POST(a->t, kfi_send(a->ep, x->tx, x->len, NULL, a->peer, CTX(9)));
}

/*
 * A message of 1 MiB is arriving. If its receive was cancelled, no byte is written there, and the
 * next receive gets all of it.
 */
static bool cancel_one(struct test *t, struct arrival *x, u8 *rx, u8 *next, u64 seed,
		       unsigned int us)
{
	struct worker *w = test_new(t, struct worker);
	comp_t c = {}, tx = {};
	ssize_t ret;

	fill(x->tx, x->len, seed);
	memset(rx, 0, x->len);
	init_completion(&x->begun);
	if (!w || POST(t, kfi_recv(x->p->b.ep, rx, x->len, NULL, KFI_ADDR_UNSPEC, CTX(1))) ||
	    worker_start(t, w, -1, send_run, x))
		return false;
	wait_for_completion(&x->begun);
	if (us)
		usleep_range(us, us + 1);
	ret = kfi_cancel(&x->p->b.ep->fid, CTX(1));
	EXPECT(t, ret == 0 || ret == -ENOENT || ret == -EAGAIN);
	EXPECT_EQ(t, worker_join(w, t->w->wait_ms), 0);
	if (WAIT_RX(&x->p->b, &c))
		return false;
	EXPECT(t, c.op_context == CTX(1));
	EXPECT_EQ(t, c.err, ret ? 0 : ECANCELED);
	if (!ret && !POST(t, kfi_recv(x->p->b.ep, next, x->len, NULL, KFI_ADDR_UNSPEC, CTX(2))) &&
	    !WAIT_RX(&x->p->b, &c))
		EXPECT_COMP(t, &c, CTX(2), KFI_MSG | KFI_RECV);
	EXPECT_DATA(t, ret ? rx : next, x->len, seed);
	if (!ret)
		EXPECT_EQ(t, not_all(rx, x->len, 0), -1);
	if (!WAIT_TX(&x->p->a, &tx))
		EXPECT_COMP(t, &tx, CTX(9), KFI_MSG | KFI_SEND);
	return !ret;
}

static void arriving(struct test *t)
{
	struct arrival x = {
		.p = pair_open(t, NULL, NULL),
		.len = min_t(size_t, 1 << 20, t->info[0]->ep_attr->max_msg_size),
	};
	int i, n = t->w->quick ? 20 : 400, in_time = 0;
	u8 *rx = test_pages(t, x.len), *next = test_pages(t, x.len);

	x.tx = test_pages(t, x.len);
	REQUIRE(t, x.p);
	for (i = 0; i < n && !t->failures; i++)
		in_time += cancel_one(t, &x, rx, next, i,
				      i % 4 ? test_random(t, 200 * (i % 16) + 1) : 0);
	NONE_RX(&x.p->b);
	NONE_TX(&x.p->a);
	pr_info("    # cancel: %d of %d in time\n", in_time, n);
}

const struct test_case cancel_cases[] = {
	{ "cancel.one_of_many", T_ALL, CASE_MATCHING, C_MSG, .pair = one_of_many },
	{ "cancel.unknown", T_ALL, 0, C_MSG, .pair = unknown },
	{ "cancel.same_context", T_ALL, CASE_MATCHING, C_MSG, .pair = same_context },
	{ "cancel.arriving", T_REL, CASE_MATCHING, C_MSG, arriving },
	{ }
};
