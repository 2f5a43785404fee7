// SPDX-License-Identifier: GPL-2.0
/*
 * The peer is lost during traffic: each operation ends once, in bounded time, and others continue.
 */
#include <linux/bitmap.h>
#include <linux/delay.h>
#include "peerloss.h"

struct traffic *traffic_start(struct test *t, struct pair *p)
{
	struct traffic *f = test_new(t, struct traffic);

	f->p = p;
	f->most = t->w->lost_ops;
	f->len = min_t(size_t, 200000, t->info[0]->ep_attr->max_msg_size);
	f->near = test_best(t, p->a.domain, f->len);
	f->far = test_best(t, p->b.domain, f->len);
	f->seen = test_zalloc(t, BITS_TO_LONGS(f->most) * sizeof(long));
	if (!f->near || !f->far ||
	    region_open(&p->b, &f->r, f->far, f->len, KFI_REMOTE_READ | KFI_REMOTE_WRITE))
		return NULL;
	return f;
}

/*
 * Small and large sends, writes, reads and, if the case has requested them, atomic operations in
 * turn.
 */
static int traffic_post(struct traffic *f)
{
	struct node *a = &f->p->a;
	void *ctx = CTX(f->posted);

	switch (f->posted % 8) {
	case 0:
		return kfi_send(a->ep, f->near, f->len, NULL, a->peer, ctx);
	case 3:
		return kfi_write(a->ep, f->near, f->len, NULL, a->peer, f->r.addr, f->r.key, ctx);
	case 5:
		return kfi_read(a->ep, f->near, 4096, NULL, a->peer, f->r.addr, f->r.key, ctx);
	case 6:
		if (a->info->caps & KFI_ATOMIC)
			return kfi_fetch_atomic(a->ep, f->near, 4, NULL, f->near + 64, NULL,
						a->peer, f->r.addr, f->r.key, KFI_UINT64, KFI_SUM,
						ctx);
		fallthrough;
	default:
		return kfi_send(a->ep, f->near, 300, NULL, a->peer, ctx);
	}
}

static bool traffic_read(struct traffic *f)
{
	struct node *a = &f->p->a;
	struct test *t = a->t;
	unsigned long which;
	comp_t c;
	int ret = comp_poll(a, a->txcq, &c);

	if (ret <= 0)
		return ret && !EXPECT_EQ(t, ret, 0);
	which = (unsigned long)c.op_context;
	EXPECT(t, which < f->posted && !test_and_set_bit(which, f->seen));
	f->ended++;
	f->failed += c.err != 0;
	/* Any error except one that does not concern the peer. */
	EXPECT(t, c.err != EACCES || which % 8 == 3 || which % 8 == 5 ||
	       (which % 8 == 6 && a->info->caps & KFI_ATOMIC));
	EXPECT(t, c.err != EAGAIN && c.err != EINVAL);
	return true;
}

void traffic_fill(struct traffic *f)
{
	unsigned long idle = 0;
	int ret;

	while (f->posted < f->most / 2 && !f->p->a.t->failures) {
		ret = traffic_post(f);
		if (!ret) {
			f->posted++;
			idle = 0;
			continue;
		}
		if (!EXPECT_EQ(f->p->a.t, ret, -EAGAIN))
			return;
		while (traffic_read(f))
			;
		if (!idle)
			idle = jiffies + msecs_to_jiffies(200);
		if (time_after(jiffies, idle))
			return;
		usleep_range(50, 100);
	}
}

#define SAVING_MS	10000	/* time for the last eighth */

/* Few are left: they are posted one by one, with no other operation under way. */
static bool traffic_saves(const struct traffic *f)
{
	return f->posted > f->most / 8 * 7;
}

/* The loss may take time, and operations have to be left for it. */
static void traffic_save(const struct traffic *f)
{
	unsigned int us = SAVING_MS * USEC_PER_MSEC / (f->most / 8 + 1);

	if (!f->failed && !f->refused && traffic_saves(f))
		usleep_range(us, 2 * us);
}

void traffic_lost(struct traffic *f, unsigned int ms)
{
	struct test *t = f->p->a.t;
	unsigned long until = jiffies + msecs_to_jiffies(ms);

	while (f->ended < f->posted || (f->posted < f->most && !f->refused)) {
		if (f->posted < f->most && !f->refused) {
			int ret = traffic_post(f);

			if (!ret)
				f->posted++;
			else if (ret != -EAGAIN)
				f->refused = ret;
		}
		while (traffic_read(f))
			;
		traffic_save(f);
		if (t->failures)
			return;
		if (time_after(jiffies, until)) {
			FAIL(t, "%u of %u operations have not ended in %u ms",
			     f->posted - f->ended, f->posted, ms);
			return;
		}
		cond_resched();
	}
	/* No operation may have been under way at that moment. */
	EXPECT(t, f->failed > 0 || (f->refused && (f->lost_device || traffic_saves(f))));
	EXPECT_EQ(t, bitmap_weight(f->seen, f->most), f->posted);
	NONE_TX(&f->p->a);
	/*
	 * An unconnected endpoint learns of its peer's end by completions only. A connected one may
	 * get its event before.
	 */
	if (t->type == KFI_EP_RDM && f->lost_device)
		EXPECT(t, f->refused == -ENODEV || f->posted == f->most);
	else if (t->type == KFI_EP_RDM)
		EXPECT_EQ(t, f->refused, 0);
	else
		EXPECT(t, f->refused == 0 || f->refused == -ESHUTDOWN ||
			  f->refused == -ENOTCONN || f->refused == -ENODEV);
}

static void drain_rx(struct node *n)
{
	comp_t c;

	while (comp_poll(n, n->rxcq, &c) == 1)
		;
}

/* B's endpoint is closed while operations are under way. */
static void endpoint_closed(struct test *t, struct pair *p)
{
	struct traffic *f;

	f = traffic_start(t, p);
	REQUIRE(t, f);
	traffic_fill(f);
	REQUIRE(t, !t->failures && f->posted > f->ended);
	test_close(t, &f->r.mr->fid);
	REQUIRE(t, !node_close_ep(&p->b));
	traffic_lost(f, t->w->loss_ms + t->w->wait_ms);
	REQUIRE(t, !t->failures);
	if (pair_reconnect(p, &p->b))
		return;
	drain_rx(&p->a);
	still_works(p);
}

/* The loss of a peer ends no receive that takes messages of any sender. */
static void receives_stay(struct test *t, struct pair *p)
{
	u8 *rx = test_pages(t, 4096), *tx = test_pages(t, 4096);
	comp_t c;
	int i;

	for (i = 0; i < 4; i++)
		POST(t, kfi_recv(p->a.ep, rx + 1000 * i, 1000, NULL, KFI_ADDR_UNSPEC, CTX(i)));
	/* They know each other, and then B is closed. */
	fill(tx, 1000, 0);
	POST(t, kfi_send(p->b.ep, tx, 1000, NULL, p->b.peer, tx));
	REQUIRE_RX(&p->a, &c, CTX(0), KFI_MSG | KFI_RECV);
	REQUIRE(t, !node_close_ep(&p->b));
	msleep(500);
	NONE_RX(&p->a);
	REQUIRE(t, !pair_reconnect(p, &p->b));
	for (i = 1; i < 4; i++) {
		fill(tx, 1000, i);
		drain_rx(&p->b);
		POST(t, kfi_send(p->b.ep, tx, 1000, NULL, p->b.peer, tx));
		REQUIRE_RX(&p->a, &c, CTX(i), KFI_MSG | KFI_RECV);
		EXPECT_DATA(t, rx + 1000 * i, 1000, i);
	}
}

/* The same address is another endpoint now: it is recognised, and served. */
static void restarted(struct test *t, struct pair *p)
{
	int i, n = t->w->quick ? 5 : 20;

	for (i = 0; i < n && !t->failures; i++) {
		still_works(p);
		REQUIRE(t, !node_close_ep(&p->b));
		/* a message that A sends before it learns of the end is lost with the endpoint */
		msleep(50);
		REQUIRE(t, !node_endpoint(&p->b, p->b.info));
		if (kfi_setname(&p->b.ep->fid, p->b.addr, p->b.addrlen))
			FAIL(t, "the old name cannot be had again");
		REQUIRE(t, !node_enable(&p->b));
	}
	still_works(p);
}

/*
 * Writes that were under way when their region was closed, in the order of their posts: some have
 * succeeded, the others are refused. If that ends the connection, the device may refuse one, and
 * all behind it are lost. That one is lost as well if the peer has disconnected before the device's
 * answer came, which must be the exception: @told and @untold count such rounds.
 */
static void region_closed_end(struct node *a, u32 posted, size_t len, u32 *told, u32 *untold)
{
	bool lost = false, ends = refusal(a) == KFI_REFUSAL_CONN;
	struct test *t = a->t;
	comp_t c = {};
	u32 i;

	for (i = 0; i < posted; i++) {
		REQUIRE(t, !WAIT_TX(a, &c));
		if (lost)
			EXPECT(t, is_lost(a, c.err));
		else
			EXPECT(t, c.err == 0 || c.err == EREMOTEIO ||
					  is_refused(a, c.err, len) ||
					  (ends && is_lost(a, c.err)));
		if (lost || !ends)
			continue;
		lost = c.err == EREMOTEIO || is_lost(a, c.err);
		*told += c.err == EREMOTEIO;
		*untold += lost && c.err != EREMOTEIO;
	}
}

/* A region is closed while it is written: after that no byte changes. */
static void region_closed(struct test *t, struct pair *p)
{
	struct region r;
	u32 posted = 0, round, told = 0, untold = 0;
	size_t len = 50000;
	u8 *near = test_pages(t, len), *far = test_pages(t, len);

	memset(near, 0xa5, len);
	for (round = 0; round < 10 && !t->failures; round++) {
		REQUIRE(t, !region_open(&p->b, &r, far, len, KFI_REMOTE_WRITE));
		for (posted = 0; posted < 32; posted++)
			if (kfi_write(p->a.ep, near, len, NULL, p->a.peer, r.addr, r.key,
				      CTX(posted)))
				break;
		if (round & 1)
			usleep_range(100, 1000);
		REQUIRE_EQ(t, test_close(t, &r.mr->fid), 0);
		memset(far, 0x5a, len);
		region_closed_end(&p->a, posted, len, &told, &untold);
		REQUIRE(t, goes_on(p));
		EXPECT_EQ(t, not_all(far, len, 0x5a), -1);
	}
	EXPECT(t, untold <= told);
}

const struct test_case peerloss_cases[] = {
	{ "peerloss.endpoint_closed", T_REL, 0, C_MSG | C_RMA, .pair = endpoint_closed },
	{ "peerloss.endpoint_closed_atomics", T_REL, 0, C_MSG | C_RMA | KFI_ATOMIC,
	  .pair = endpoint_closed },
	{ "peerloss.receives_stay", T_RDM, 0, C_MSG, .pair = receives_stay },
	{ "peerloss.restarted", T_RDM, 0, C_MSG, .pair = restarted },
	{ "peerloss.region_closed", T_REL, 0, C_MSG | C_RMA, .pair = region_closed },
	{ }
};
