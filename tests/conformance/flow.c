// SPDX-License-Identifier: GPL-2.0
/*
 * Flow control: a peer that takes nothing does not affect others, and no accepted operation is
 * lost.
 */
#include <linux/delay.h>
#include "harness.h"

#define LATE	40	/* messages shorter than a page that every provider keeps */

/* Post until -EAGAIN stays; completions of A are read meanwhile. */
static u32 flood(struct pair *p, const u8 *buf, size_t len, u32 most, u32 *ended)
{
	struct test *t = p->a.t;
	unsigned long idle = 0;
	u32 posted = 0;
	comp_t c;
	int ret;

	while (posted < most && !t->failures) {
		ret = kfi_send(p->a.ep, buf, len, NULL, p->a.peer, CTX(posted));
		if (!ret) {
			posted++;
			idle = 0;
		} else if (!EXPECT_EQ(t, ret, -EAGAIN)) {
			break;
		}
		while (comp_poll(&p->a, p->a.txcq, &c) == 1)
			EXPECT_COMP(t, &c, CTX((*ended)++), KFI_MSG | KFI_SEND);
		if (!ret)
			continue;
		if (!idle)
			idle = jiffies + msecs_to_jiffies(500);
		if (time_after(jiffies, idle))
			break;
		usleep_range(50, 100);
	}
	return posted;
}

/* Ten thousand sends to a peer without receives end in -EAGAIN; none is lost. */
static void no_receives(struct test *t, struct pair *p)
{
	u32 n = 10000, ended = 0, posted, got, next = 0;
	unsigned long until;
	u8 *tx = test_pages(t, 1000), *rx = test_pages(t, 64 * 1024);
	comp_t c;

	fill(tx, 1000, 1);
	posted = flood(p, tx, 1000, n, &ended);
	EXPECT(t, posted > 0);
	/* The memory that a peer can make this side hold is bounded. */
	EXPECT(t, posted < n);
	until = jiffies + msecs_to_jiffies(3 * t->w->wait_ms);
	for (got = 0; got < posted && !t->failures && time_before(jiffies, until);) {
		while (next < posted && next < got + 64 &&
		       !kfi_recv(p->b.ep, rx + next % 64 * 1024, 1024, NULL, KFI_ADDR_UNSPEC,
				 CTX(next)))
			next++;
		while (comp_poll(&p->a, p->a.txcq, &c) == 1)
			EXPECT_COMP(t, &c, CTX(ended++), KFI_MSG | KFI_SEND);
		while (comp_poll(&p->b, p->b.rxcq, &c) == 1) {
			EXPECT_COMP(t, &c, CTX(got), KFI_MSG | KFI_RECV);
			EXPECT_DATA(t, rx + got % 64 * 1024, 1000, 1);
			got++;
		}
		cond_resched();
	}
	EXPECT_EQ(t, got, posted);
	while (ended < posted && !t->failures)
		REQUIRE_TX(&p->a, &c, CTX(ended++), KFI_MSG | KFI_SEND);
	NONE_RX(&p->b);
	NONE_TX(&p->a);
	still_works(p);
}

static bool ended_soon(struct node *a, comp_t *c)
{
	unsigned long until = jiffies + msecs_to_jiffies(3000);

	while (comp_poll(a, a->txcq, c) != 1) {
		if (time_after(jiffies, until))
			return false;
		usleep_range(50, 100);
	}
	return true;
}

/*
 * A peer that is a little late does not delay others: some messages are kept for it, and their
 * sends end meanwhile.
 */
static void late_receives(struct test *t, struct pair *p)
{
	u8 *tx = test_pages(t, 1000 * LATE), *rx = test_pages(t, 1000);
	comp_t c;
	int i;

	fill(tx, 1000 * LATE, 1);
	for (i = 0; i < LATE; i++)
		REQUIRE(t,
			!POST(t, kfi_send(p->a.ep, tx + 1000 * i, 1000, NULL, p->a.peer, CTX(i))));
	if (!ended_soon(&p->a, &c)) {
		test_skip(t, "nothing is kept for who is late");
		return;
	}
	for (i = 0; i < LATE; i++) {
		REQUIRE(t, !i || !WAIT_TX(&p->a, &c));
		EXPECT_COMP(t, &c, CTX(i), KFI_MSG | KFI_SEND);
	}
	for (i = 0; i < LATE; i++) {
		REQUIRE(t, !POST(t, kfi_recv(p->b.ep, rx, 1000, NULL, KFI_ADDR_UNSPEC, CTX(i))));
		REQUIRE_RX(&p->b, &c, CTX(i), KFI_MSG | KFI_RECV);
		EXPECT(t, !memcmp(rx, tx + 1000 * i, 1000));
	}
}

/* Long and short messages without receives, half as many as the queue has room for. */
static u32 choke(struct node *a, const u8 *buf, size_t len)
{
	struct test *t = a->t;
	u32 n = min_t(size_t, a->info->tx_attr->size / 2, 100), i;

	for (i = 0; i < n; i++)
		if (kfi_send(a->ep, buf, i % 4 ? 500 : len, NULL, a->peer, CTX(100000 + i)))
			break;
	EXPECT(t, i > 0);
	return i;
}

/* The next completion that is not one of choke()'s. */
static int wait_other(struct node *a, comp_t *c, u32 *clogged)
{
	do {
		if (WAIT_TX(a, c))
			return -ETIMEDOUT;
		EXPECT_EQ(a->t, c->err, 0);
		if ((unsigned long)c->op_context < 100000)
			return 0;
		(*clogged)--;
	} while (true);
}

static void unclog(struct pair *p, u32 n, u32 clogged, u8 *rx, size_t len)
{
	struct test *t = p->a.t;
	comp_t c;

	while (n--) {
		POST(t, kfi_recv(p->b.ep, rx, len, NULL, KFI_ADDR_UNSPEC, rx));
		REQUIRE_RX(&p->b, &c, rx, KFI_MSG | KFI_RECV);
	}
	while (clogged--)
		REQUIRE_TX_OK(&p->a, &c);
	still_works(p);
}

static void rma_passes(struct test *t, struct pair *p)
{
	size_t len = min_t(size_t, 200000, t->info[0]->ep_attr->max_msg_size);
	u8 *buf = test_pages(t, len), *near = test_pages(t, 65536), *far = test_pages(t, 65536);
	struct region r;
	u32 n, clogged;
	comp_t c;
	int i;

	REQUIRE(t, !region_open(&p->b, &r, far, 65536, KFI_REMOTE_READ | KFI_REMOTE_WRITE));
	n = clogged = choke(&p->a, buf, len);
	msleep(100);
	for (i = 0; i < 20 && !t->failures; i++) {
		size_t size = i & 1 ? 65536 : 100;

		fill(near, size, i);
		POST(t, kfi_write(p->a.ep, near, size, NULL, p->a.peer, r.addr, r.key, CTX(1)));
		REQUIRE(t, !wait_other(&p->a, &c, &clogged));
		EXPECT_EQ(t, c.flags, KFI_RMA | KFI_WRITE);
		memset(near, 0, size);
		POST(t, kfi_read(p->a.ep, near, size, NULL, p->a.peer, r.addr, r.key, CTX(2)));
		REQUIRE(t, !wait_other(&p->a, &c, &clogged));
		EXPECT_EQ(t, c.flags, KFI_RMA | KFI_READ);
		EXPECT_DATA(t, near, size, i);
	}
	unclog(p, n, clogged, buf, len);
}

static void tagged_passes(struct test *t, struct pair *p)
{
	size_t len = min_t(size_t, 200000, t->info[0]->ep_attr->max_msg_size);
	u8 *buf = test_pages(t, len), *tx = test_pages(t, 65536), *rx = test_pages(t, 65536);
	u32 n, clogged;
	comp_t c;
	int i;

	n = clogged = choke(&p->a, buf, len);
	msleep(100);
	for (i = 0; i < 20 && !t->failures; i++) {
		size_t size = i & 1 ? 65536 : 100;

		size = min(size, len);
		fill(tx, size, i);
		POST(t, kfi_trecv(p->b.ep, rx, size, NULL, KFI_ADDR_UNSPEC, i, 0, CTX(i)));
		POST(t, kfi_tsend(p->a.ep, tx, size, NULL, p->a.peer, i, CTX(i)));
		REQUIRE_RX(&p->b, &c, CTX(i), KFI_TAGGED | KFI_RECV);
		EXPECT_DATA(t, rx, size, i);
		REQUIRE(t, !wait_other(&p->a, &c, &clogged));
		EXPECT_EQ(t, c.flags, KFI_TAGGED | KFI_SEND);
	}
	unclog(p, n, clogged, buf, len);
}

/* A peer without receives does not delay the others, in either direction. */
static void others_pass(struct test *t)
{
	struct node *hub = test_new(t, struct node), *peer = test_zalloc(t, 2 * sizeof(*peer));
	size_t len = min_t(size_t, 200000, t->info[0]->ep_attr->max_msg_size);
	u8 *buf = test_pages(t, len), *tx = test_pages(t, 8192), *rx = test_pages(t, 8192);
	u32 clogged, theirs;
	kfi_addr_t addr[2];
	comp_t c;
	int i;

	REQUIRE(t, !node_open_ep(t, hub, 0, NULL));
	for (i = 0; i < 2; i++) {
		REQUIRE(t, !node_open_ep(t, &peer[i], 1, NULL));
		REQUIRE(t, !node_insert(hub, &peer[i], &addr[i]));
		REQUIRE(t, !node_insert(&peer[i], hub, &peer[i].peer));
	}
	/*
	 * The hub sends to a peer without receives, and a peer to the hub, which receives from
	 * others.
	 */
	hub->peer = addr[0];
	clogged = choke(hub, buf, len);
	theirs = choke(&peer[0], buf, len);
	EXPECT(t, clogged && theirs);
	msleep(100);
	for (i = 0; i < 20 && !t->failures; i++) {
		fill(tx, 8192, i);
		POST(t, kfi_trecv(peer[1].ep, rx, 8192, NULL, KFI_ADDR_UNSPEC, 1, 0, CTX(1)));
		POST(t, kfi_tsend(hub->ep, tx, 8192, NULL, addr[1], 1, CTX(1)));
		REQUIRE(t, !WAIT_RX(&peer[1], &c));
		EXPECT_DATA(t, rx, 8192, i);
		REQUIRE(t, !wait_other(hub, &c, &clogged));
		fill(tx, 8192, i + 100);
		POST(t, kfi_trecv(hub->ep, rx, 8192, NULL, KFI_ADDR_UNSPEC, 2, 0, CTX(1)));
		POST(t, kfi_tsend(peer[1].ep, tx, 8192, NULL, peer[1].peer, 2, CTX(1)));
		REQUIRE(t, !WAIT_RX(hub, &c));
		EXPECT_DATA(t, rx, 8192, i + 100);
		REQUIRE(t, !WAIT_TX(&peer[1], &c));
	}
}

/* The target's queue is full and not read: data waits, none is dropped. */
static void unread_target(struct test *t)
{
	struct node_opts small = { .cq_size = 4 };
	struct pair *p = pair_open(t, NULL, &small);
	u8 *near = test_pages(t, 64), *far = test_pages(t, 64);
	u32 posted = 0, ended = 0, got, n = 100;
	struct region r;
	comp_t c;

	REQUIRE(t, p && !region_open(&p->b, &r, far, 64, KFI_REMOTE_WRITE));
	for (; posted < n; posted++)
		if (kfi_writedata(p->a.ep, near, 8, NULL, posted, p->a.peer, r.addr, r.key,
				  CTX(posted)))
			break;
	EXPECT(t, posted > 4);
	msleep(200);
	for (got = 0; got < posted && !t->failures; got++) {
		REQUIRE(t, !WAIT_RX(&p->b, &c));
		EXPECT_EQ(t, c.flags, KFI_RMA | KFI_REMOTE_WRITE | KFI_REMOTE_CQ_DATA);
		EXPECT_EQ(t, c.data, got);
	}
	for (; ended < posted && !t->failures; ended++)
		REQUIRE_TX_OK(&p->a, &c);
	NONE_RX(&p->b);
}

/*
 * A consumer that manages resources itself and makes an error gets an error; it is not served worse
 * than others.
 */
static void unmanaged(struct test *t)
{
	struct node_opts small = { .cq_size = 8 };
	u8 *buf = test_zalloc(t, 64);
	u32 i, posted, ended;
	struct pair *p;
	ssize_t ret;
	comp_t c;

	t->info[0]->domain_attr->resource_mgmt = KFI_RM_DISABLED;
	t->info[1]->domain_attr->resource_mgmt = KFI_RM_DISABLED;
	p = pair_open(t, &small, &small);
	REQUIRE(t, p);
	for (posted = 0; posted < 5000; posted++) {
		ret = kfi_recv(p->b.ep, buf, 32, NULL, KFI_ADDR_UNSPEC, CTX(posted));
		if (ret)
			break;
	}
	EXPECT_EQ(t, ret, -EAGAIN);
	/* As many messages at once as there are receives, and no reader: no queue overflows. */
	for (i = 0, ended = 0; i < posted; i++) {
		ret = kfi_send(p->a.ep, buf + 32, 8, NULL, p->a.peer, CTX(i));
		if (ret != -EAGAIN) {
			REQUIRE_EQ(t, ret, 0);
			continue;
		}
		REQUIRE_TX(&p->a, &c, CTX(ended++), KFI_MSG | KFI_SEND);
		i--;
	}
	for (; ended < posted; ended++)
		REQUIRE_TX(&p->a, &c, CTX(ended), KFI_MSG | KFI_SEND);
	for (i = 0; i < posted; i++)
		REQUIRE_RX(&p->b, &c, CTX(i), KFI_MSG | KFI_RECV);
	NONE_RX(&p->b);
	still_works(p);
}

const struct test_case flow_cases[] = {
	{ "flow.no_receives", T_REL, 0, C_MSG, .pair = no_receives },
	{ "flow.late_receives", T_REL, CASE_CHECKED, C_MSG, .pair = late_receives },
	{ "flow.rma_passes", T_REL, CASE_CHECKED, C_MSG | C_RMA, .pair = rma_passes },
	{ "flow.tagged_passes", T_REL, 0, C_MSG | C_TAGGED, .pair = tagged_passes },
	{ "flow.others_pass", T_RDM, 0, C_MSG | C_TAGGED, others_pass },
	{ "flow.unmanaged", T_REL, 0, C_MSG, unmanaged },
	{ "flow.unread_target", T_REL, CASE_CHECKED, C_MSG | C_RMA, unread_target },
	{ }
};
