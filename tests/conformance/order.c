// SPDX-License-Identifier: GPL-2.0
/*
 * Orders that getinfo has granted hold with many operations under way. Orders that it has not
 * granted are not tested. msg.in_order and tagged.same_tag test messages among themselves,
 * regress.write_after_read reads and later writes.
 */
#include "harness.h"

#define ROUNDS(t)	((t)->w->quick ? 20 : 400)
#define DEPTH		16
#define LEN		20000

/**
 * struct lane - two nodes that were opened with an order, and memory for operations under way
 * @near: DEPTH pieces of A
 * @far: as many of B, in @r
 */
struct lane {
	struct pair	*p;
	u8		*near, *far, *small;
	struct region	r;
};

/*
 * Request the order. Return: NULL if it is not offered, and there is nothing else to test; or if
 * the case has failed.
 */
static struct lane *lane_open(struct test *t, u64 order)
{
	struct lane *l = test_new(t, struct lane);
	struct kfi_info *hints, *info;
	int i, ret;

	for (i = 0; i < 2; i++) {
		hints = test_hints(t, t->c->caps);
		hints->tx_attr->msg_order = order;
		hints->rx_attr->msg_order = order;
		ret = test_answer(t, i, hints, &info);
		if (ret) {
			EXPECT_EQ(t, ret, -ENODATA);
			/* nor offered without a request */
			EXPECT_EQ(t, t->info[i]->tx_attr->msg_order & order, 0);
			return NULL;
		}
		EXPECT_EQ(t, info->tx_attr->msg_order & order, order);
		kfi_freeinfo(t->info[i]);
		t->info[i] = info;
	}
	l->p = pair_open(t, NULL, NULL);
	l->near = test_pages(t, DEPTH * LEN);
	l->small = test_zalloc(t, 64 * DEPTH);
	if (!l->p)
		return NULL;
	/* A peer may write to such memory directly, so that short and long writes go two ways. */
	l->far = test_best(t, l->p->b.domain, DEPTH * LEN);
	if (!l->far || region_open(&l->p->b, &l->r, l->far, DEPTH * LEN, ALL_RIGHTS))
		return NULL;
	return l;
}

static bool all_sent(struct lane *l, int n)
{
	struct test *t = l->p->a.t;
	comp_t c;

	while (n--)
		if (WAIT_TX(&l->p->a, &c) || !EXPECT_EQ(t, c.err, 0))
			return false;
	return true;
}

/* Many writes to one place: the last one stays, whatever the lengths. */
static void write_write(struct test *t)
{
	struct lane *l = lane_open(t, KFI_ORDER_WAW);
	struct node *a;
	int i, j;

	if (!l)
		return;
	a = &l->p->a;
	EXPECT(t, t->info[0]->ep_attr->max_order_waw_size >= LEN);
	for (i = 0; i < ROUNDS(t) && !t->failures; i++) {
		for (j = 0; j < DEPTH; j++) {
			/* The last one is short every other time, and may tend to overtake. */
			size_t len = j < DEPTH - 1 ? 1 + test_random(t, LEN) : i & 1 ? 100 : LEN;

			fill(l->near + j * LEN, len, i * DEPTH + j);
			REQUIRE(t, !POST(t, kfi_write(a->ep, l->near + j * LEN, len, NULL, a->peer,
						      l->r.addr, l->r.key, CTX(j))));
		}
		REQUIRE(t, all_sent(l, DEPTH));
		EXPECT(t, test_until(t, differs(l->far, i & 1 ? 100 : LEN, i * DEPTH + DEPTH - 1) ==
						-1));
	}
}

/* A read right behind a write, without a wait in between, returns what was written. */
static void read_write(struct test *t)
{
	struct lane *l = lane_open(t, KFI_ORDER_RAW);
	struct node *a;
	u8 *back;
	int i, j;

	if (!l)
		return;
	a = &l->p->a;
	back = test_pages(t, DEPTH * LEN);
	EXPECT(t, t->info[0]->ep_attr->max_order_raw_size >= LEN);
	for (i = 0; i < ROUNDS(t) && !t->failures; i++) {
		size_t len = 1 + test_random(t, i & 1 ? 200 : LEN);

		memset(back, 0, DEPTH * LEN);
		for (j = 0; j < DEPTH; j++) {
			fill(l->near + j * LEN, len, i * DEPTH + j);
			REQUIRE(t, !POST(t, kfi_write(a->ep, l->near + j * LEN, len, NULL, a->peer,
						      l->r.addr + j * LEN, l->r.key, CTX(j))));
			REQUIRE(t, !POST(t, kfi_read(a->ep, back + j * LEN, len, NULL, a->peer,
						     l->r.addr + j * LEN, l->r.key, CTX(j))));
		}
		REQUIRE(t, all_sent(l, 2 * DEPTH));
		for (j = 0; j < DEPTH; j++)
			EXPECT_DATA(t, back + j * LEN, len, i * DEPTH + j);
	}
}

/* A message behind many writes arrives when all of them are done. */
static void send_write(struct test *t)
{
	struct lane *l = lane_open(t, KFI_ORDER_SAW);
	struct node *a;
	comp_t c;
	int i, j;

	if (!l)
		return;
	a = &l->p->a;
	for (i = 0; i < ROUNDS(t) && !t->failures; i++) {
		size_t len = 1 + test_random(t, i & 1 ? 200 : LEN);

		POST(t, kfi_recv(l->p->b.ep, l->small, 64, NULL, KFI_ADDR_UNSPEC, CTX(1)));
		for (j = 0; j < DEPTH; j++) {
			fill(l->near + j * LEN, len, i * DEPTH + j);
			REQUIRE(t, !POST(t, kfi_write(a->ep, l->near + j * LEN, len, NULL, a->peer,
						      l->r.addr + j * LEN, l->r.key, CTX(j))));
		}
		REQUIRE(t, !POST(t, kfi_send(a->ep, l->small + 64, 8, NULL, a->peer, CTX(9))));
		REQUIRE_RX(&l->p->b, &c, CTX(1), KFI_MSG | KFI_RECV);
		for (j = 0; j < DEPTH; j++)
			EXPECT_DATA(t, l->far + j * LEN, len, i * DEPTH + j);
		REQUIRE(t, all_sent(l, DEPTH + 1));
	}
}

/* A message behind reads arrives when they are done: they do not see changes after its receive. */
static void send_read(struct test *t)
{
	struct lane *l = lane_open(t, KFI_ORDER_SAR);
	struct node *a;
	comp_t c;
	int i, j;

	if (!l)
		return;
	a = &l->p->a;
	for (i = 0; i < ROUNDS(t) && !t->failures; i++) {
		memset(l->far, 0x11, DEPTH * LEN);
		memset(l->near, 0, DEPTH * LEN);
		POST(t, kfi_recv(l->p->b.ep, l->small, 64, NULL, KFI_ADDR_UNSPEC, CTX(1)));
		for (j = 0; j < DEPTH; j++)
			REQUIRE(t, !POST(t, kfi_read(a->ep, l->near + j * LEN, LEN, NULL, a->peer,
						     l->r.addr + j * LEN, l->r.key, CTX(j))));
		REQUIRE(t, !POST(t, kfi_send(a->ep, l->small + 64, 8, NULL, a->peer, CTX(9))));
		REQUIRE(t, !WAIT_RX(&l->p->b, &c));
		memset(l->far, 0xee, DEPTH * LEN);
		REQUIRE(t, all_sent(l, DEPTH + 1));
		EXPECT_EQ(t, not_all(l->near, DEPTH * LEN, 0x11), -1);
	}
}

/* A write behind messages changes nothing before they were received. */
static void write_send(struct test *t)
{
	struct lane *l = lane_open(t, KFI_ORDER_WAS);
	struct node *a;
	comp_t c;
	int i, j;

	if (!l)
		return;
	a = &l->p->a;
	for (i = 0; i < ROUNDS(t) && !t->failures; i++) {
		for (j = 0; j < DEPTH; j++)
			POST(t, kfi_recv(l->p->b.ep, l->small + 64 * j, 64, NULL, KFI_ADDR_UNSPEC,
					 CTX(j)));
		l->far[0] = 0;
		l->near[0] = 1;
		for (j = 0; j < DEPTH; j++)
			REQUIRE(t, !POST(t, kfi_send(a->ep, l->near, 8, NULL, a->peer, CTX(9))));
		REQUIRE(t, !POST(t, kfi_write(a->ep, l->near, 1, NULL, a->peer, l->r.addr, l->r.key,
					      CTX(9))));
		REQUIRE(t, test_until(t, READ_ONCE(l->far[0])));
		for (j = 0; j < DEPTH; j++) {
			REQUIRE_EQ(t, comp_poll(&l->p->b, l->p->b.rxcq, &c), 1);
			EXPECT_COMP(t, &c, CTX(j), KFI_MSG | KFI_RECV);
		}
		REQUIRE(t, all_sent(l, DEPTH + 1));
	}
}

/* A read behind messages reads after they were received. */
static void read_send(struct test *t)
{
	struct lane *l = lane_open(t, KFI_ORDER_RAS);
	struct node *a, *b;
	comp_t c;
	int i;

	if (!l)
		return;
	a = &l->p->a;
	b = &l->p->b;
	for (i = 0; i < ROUNDS(t) && !t->failures; i++) {
		/* The receive is in the region that is read. */
		memset(l->far, 0, 64);
		fill(l->near, 64, i);
		POST(t, kfi_recv(b->ep, l->far, 64, NULL, KFI_ADDR_UNSPEC, CTX(1)));
		REQUIRE(t, !POST(t, kfi_send(a->ep, l->near, 64, NULL, a->peer, CTX(9))));
		REQUIRE(t, !POST(t, kfi_read(a->ep, l->near + LEN, 64, NULL, a->peer, l->r.addr,
					     l->r.key, CTX(9))));
		REQUIRE(t, all_sent(l, 2));
		EXPECT_DATA(t, l->near + LEN, 64, i);
		REQUIRE(t, !WAIT_RX(b, &c));
	}
}

#define C_ORDER	(C_MSG | C_RMA)

const struct test_case order_cases[] = {
	{ "order.write_after_write", T_REL, 0, C_ORDER, write_write },
	{ "order.read_after_write", T_REL, 0, C_ORDER, read_write },
	{ "order.send_after_write", T_REL, 0, C_ORDER, send_write },
	{ "order.send_after_read", T_REL, 0, C_ORDER, send_read },
	{ "order.write_after_send", T_REL, 0, C_ORDER, write_send },
	{ "order.read_after_send", T_REL, 0, C_ORDER, read_send },
	{ }
};
