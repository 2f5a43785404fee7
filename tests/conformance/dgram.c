// SPDX-License-Identifier: GPL-2.0
/*
 * Datagrams: the other side need not exist, but each operation ends once, and a peer that comes
 * back under the same name is found.
 */
#include "harness.h"

/* Open a twin of side B under its old name. */
static int come_back(struct node *n)
{
	int ret = test_close(n->t, &n->ep->fid);

	n->ep = NULL;
	ret = ret ?: node_endpoint(n, n->info);
	ret = ret ?: kfi_setname(&n->ep->fid, n->addr, n->addrlen);
	return ret ?: node_enable(n);
}

/* Datagrams go to the present endpoint of an address that was inserted again. */
static void restarted(struct test *t, struct pair *p)
{
	int i, n = t->w->quick ? 5 : 20;

	for (i = 0; i < n && !t->failures; i++) {
		transfer(&p->a, &p->b, 100, i);
		REQUIRE_EQ(t, come_back(&p->b), 0);
		transfer(&p->b, &p->a, 200, i);
	}
	transfer(&p->a, &p->b, 100, i);
}

/* The handle of a peer that was closed before the first datagram to it */
static int somebody_gone(struct pair *p, kfi_addr_t *addr)
{
	struct node *gone = test_new(p->a.t, struct node);

	if (node_open_ep(p->a.t, gone, 1, NULL) || node_insert(&p->a, gone, addr))
		return -EIO;
	node_close(gone);
	return 0;
}

static bool may_be(int err)
{
	return !err || err == ECONNREFUSED || err == EHOSTUNREACH;
}

static void nobody(struct test *t, struct pair *p)
{
	kfi_addr_t addr;
	comp_t c;
	int i;

	REQUIRE(t, !somebody_gone(p, &addr));
	for (i = 0; i < 3; i++) {
		REQUIRE(t, !POST(t, kfi_send(p->a.ep, &i, sizeof(i), NULL, addr, CTX(i))));
		REQUIRE(t,
			!comp_wait_ms(t, &p->a, p->a.txcq, &c, t->w->loss_ms, __FILE__, __LINE__));
		EXPECT(t, c.op_context == CTX(i) && may_be(c.err));
	}
	NONE_TX(&p->a);
	still_works(p);
}

#define MANY	200

/*
 * The endpoint is closed with datagrams that wait for the peer's address, are under way, or wait
 * behind others.
 */
static void closed(struct test *t)
{
	int i, round, n = t->w->quick ? 5 : 30;
	DECLARE_BITMAP(seen, MANY);
	kfi_addr_t addr;
	struct pair *p;
	comp_t c;

	for (round = 0; round < n && !t->failures; round++) {
		p = pair_open(t, NULL, NULL);
		REQUIRE(t, p && !somebody_gone(p, &addr));
		for (i = 0; i < MANY; i++)
			REQUIRE(t, !POST(t, kfi_send(p->a.ep, &i, sizeof(i), NULL,
						     i % 2 ? addr : p->a.peer, CTX(i))));
		REQUIRE(t, !node_close_ep(&p->a));
		bitmap_zero(seen, MANY);
		for (i = 0; i < MANY; i++) {
			REQUIRE(t, !WAIT_TX(&p->a, &c));
			REQUIRE(t, (unsigned long)c.op_context < MANY);
			EXPECT(t, !test_and_set_bit((unsigned long)c.op_context, seen));
			EXPECT(t, may_be(c.err) || c.err == ECANCELED);
		}
		NONE_TX(&p->a);
		node_close(&p->a);
		node_close(&p->b);
	}
}

/* Send until one has arrived: those before it may be lost, and all look the same. */
static void reach(struct pair *p)
{
	struct test *t = p->a.t;
	u8 *buf = test_zalloc(t, 128);
	comp_t c;

	fill(buf, 64, 1);
	REQUIRE(t, !POST(t, kfi_recv(p->b.ep, buf + 64, 64, NULL, KFI_ADDR_UNSPEC, CTX(1))));
	EXPECT(t, test_until(t, !POST(t, kfi_send(p->a.ep, buf, 64, NULL, p->a.peer, CTX(2))) &&
			     !WAIT_TX(&p->a, &c) && comp_poll(&p->b, p->b.rxcq, &c) == 1));
	EXPECT_COMP(t, &c, CTX(1), KFI_MSG | KFI_RECV);
	EXPECT_EQ(t, c.len, 64);
	EXPECT_DATA(t, buf + 64, 64, 1);
}

/* More datagrams than a peer without receives can hold: all of them end, and it still works. */
static void flood(struct test *t, struct pair *p)
{
	int sent = 0, ended = 0, n = t->w->quick ? 2000 : 50000;
	u8 *buf = test_zalloc(t, 64);
	comp_t c;

	fill(buf, 64, 1);
	while (ended < n && !t->failures) {
		for (; sent < n && sent - ended < 256; sent++)
			if (kfi_send(p->a.ep, buf, 64, NULL, p->a.peer, CTX(3)))
				break;
		REQUIRE(t, !WAIT_TX(&p->a, &c));
		EXPECT(t, c.op_context == CTX(3) && (!c.err || c.err == ENOBUFS));
		ended++;
	}
	NONE_TX(&p->a);
	NONE_RX(&p->b);
	reach(p);
}

const struct test_case dgram_cases[] = {
	{ "dgram.restarted", T_DGRAM, 0, C_MSG, .pair = restarted },
	{ "dgram.nobody", T_DGRAM, 0, C_MSG, .pair = nobody },
	{ "dgram.closed", T_DGRAM, 0, C_MSG, closed },
	{ "dgram.flood", T_DGRAM, 0, C_MSG, .pair = flood },
	{ }
};
