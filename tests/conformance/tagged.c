// SPDX-License-Identifier: GPL-2.0
/*
 * Tagged messages.
 */
#include <linux/delay.h>
#include "harness.h"

static int tsend(struct node *n, void *buf, size_t len, u64 tag, void *ctx)
{
	return POST(n->t, kfi_tsend(n->ep, buf, len, NULL, n->peer, tag, ctx));
}

static int trecv(struct node *n, void *buf, size_t len, u64 tag, u64 ignore, void *ctx)
{
	return POST(n->t, kfi_trecv(n->ep, buf, len, NULL, KFI_ADDR_UNSPEC, tag, ignore, ctx));
}

/* Of all matching receives the one posted first is used; and ignored bits. */
static void ignore(struct test *t, struct pair *p)
{
	u8 *buf = test_zalloc(t, 128);
	comp_t c;

	REQUIRE(t, !trecv(&p->b, buf, 8, 0x1200, 0xff, CTX(1)));	/* 12xx */
	REQUIRE(t, !trecv(&p->b, buf, 8, 0x1234, 0, CTX(2)));		/* 1234 */
	REQUIRE(t, !trecv(&p->b, buf, 8, 0, ~0ULL, CTX(3)));		/* any */
	REQUIRE(t, !trecv(&p->b, buf, 8, 0x1234, 0, CTX(4)));
	REQUIRE(t, !tsend(&p->a, buf + 64, 8, 0x1234, NULL));
	REQUIRE(t, !tsend(&p->a, buf + 64, 8, 0x1234, NULL));
	REQUIRE(t, !tsend(&p->a, buf + 64, 8, 0x1234, NULL));
	REQUIRE(t, !tsend(&p->a, buf + 64, 8, 0x1234, NULL));
	REQUIRE_RX(&p->b, &c, CTX(1), KFI_TAGGED | KFI_RECV);
	EXPECT_EQ(t, c.tag, 0x1234);
	REQUIRE_RX(&p->b, &c, CTX(2), KFI_TAGGED | KFI_RECV);
	REQUIRE_RX(&p->b, &c, CTX(3), KFI_TAGGED | KFI_RECV);
	REQUIRE_RX(&p->b, &c, CTX(4), KFI_TAGGED | KFI_RECV);
	/* One different bit does not match. */
	REQUIRE(t, !trecv(&p->b, buf, 8, 0x8000000000000000ULL, 0x0f, CTX(5)));
	REQUIRE(t, !tsend(&p->a, buf + 64, 8, 0x8000000000000010ULL, NULL));
	NONE_RX(&p->b);
	REQUIRE(t, !tsend(&p->a, buf + 64, 8, 0x800000000000000fULL, NULL));
	REQUIRE_RX(&p->b, &c, CTX(5), KFI_TAGGED | KFI_RECV);
	EXPECT_EQ(t, c.tag, 0x800000000000000fULL);
}

/*
 * The same tag many times: messages in the order of sending use receives in the order of posting.
 */
static void same_tag(struct test *t, struct pair *p)
{
	u8 *tx = test_zalloc(t, 64 * 32), *rx = test_zalloc(t, 64 * 32);
	comp_t c;
	int i;

	for (i = 0; i < 32; i++) {
		fill(tx + 64 * i, 64, i);
		/* Half of them come before their receive. */
		if (i == 16)
			msleep(50);
		if (i >= 16)
			REQUIRE(t, !trecv(&p->b, rx + 64 * (i - 16), 64, 7, 0, CTX(i - 16)));
		REQUIRE(t, !tsend(&p->a, tx + 64 * i, 64, 7, CTX(i)));
	}
	for (i = 16; i < 32; i++)
		REQUIRE(t, !trecv(&p->b, rx + 64 * i, 64, 7, 0, CTX(i)));
	for (i = 0; i < 32; i++) {
		REQUIRE_RX(&p->b, &c, CTX(i), KFI_TAGGED | KFI_RECV);
		EXPECT_DATA(t, rx + 64 * i, 64, i);
		REQUIRE(t, !WAIT_TX(&p->a, &c));
	}
}

/* ---- looking at messages that wait ---- */

static int look(struct node *n, u64 tag, void *ctx, u64 flags, void *buf, size_t len)
{
	struct kvec iov = { buf, len };
	struct kfi_msg_tagged msg = {
		.type = KFI_KVEC, .msg_iov = &iov, .iov_count = len ? 1 : 0,
		.addr = KFI_ADDR_UNSPEC, .tag = tag, .context = ctx,
	};

	return POST(n->t, kfi_trecvmsg(n->ep, &msg, flags | KFI_COMPLETION));
}

/* Peek until the message has come. */
static bool peek_found(struct node *n, u64 tag, u64 flags, comp_t *c)
{
	struct test *t = n->t;
	unsigned long until = 0;

	do {
		if (look(n, tag, CTX(8), KFI_PEEK | flags, NULL, 0) || WAIT_RX(n, c))
			return false;
		EXPECT(t, c->op_context == CTX(8));
		if (c->err != ENOMSG)
			return EXPECT_EQ(t, c->err, 0);
	} while (test_again(t, &until));
	FAIL(t, "the message is not seen");
	return false;
}

static void peek(struct test *t, struct pair *p)
{
	u8 *buf = test_zalloc(t, 128);
	comp_t c;

	REQUIRE(t, !look(&p->b, 5, CTX(1), KFI_PEEK, NULL, 0) && !WAIT_RX(&p->b, &c));
	EXPECT_ERR(t, &c, CTX(1), ENOMSG);
	fill(buf + 64, 40, 1);
	REQUIRE(t, !tsend(&p->a, buf + 64, 40, 5, CTX(2)));
	REQUIRE(t, peek_found(&p->b, 5, 0, &c));
	EXPECT_EQ(t, c.tag, 5);
	EXPECT_EQ(t, c.len, 40);
	/* A peek does not take the message. */
	REQUIRE(t, peek_found(&p->b, 5, 0, &c));
	REQUIRE(t, !look(&p->b, 6, CTX(3), KFI_PEEK, NULL, 0) && !WAIT_RX(&p->b, &c));
	EXPECT_ERR(t, &c, CTX(3), ENOMSG);
	REQUIRE(t, !trecv(&p->b, buf, 64, 5, 0, CTX(4)) && !WAIT_RX(&p->b, &c));
	EXPECT_COMP(t, &c, CTX(4), KFI_TAGGED | KFI_RECV);
	EXPECT_DATA(t, buf, 40, 1);
}

static void claim(struct test *t, struct pair *p)
{
	u8 *buf = test_zalloc(t, 256);
	comp_t c;

	REQUIRE(t, !look(&p->b, 5, CTX(1), KFI_PEEK | KFI_CLAIM, NULL, 0) && !WAIT_RX(&p->b, &c));
	EXPECT_ERR(t, &c, CTX(1), ENOMSG);
	fill(buf + 64, 40, 1);
	fill(buf + 128, 40, 2);
	REQUIRE(t, !tsend(&p->a, buf + 64, 40, 5, CTX(2)));
	REQUIRE(t, !tsend(&p->a, buf + 128, 40, 5, CTX(2)));
	REQUIRE(t, peek_found(&p->b, 5, KFI_CLAIM, &c));
	/* Others get the second one. */
	REQUIRE(t, !trecv(&p->b, buf, 64, 5, 0, CTX(4)) && !WAIT_RX(&p->b, &c));
	EXPECT_COMP(t, &c, CTX(4), KFI_TAGGED | KFI_RECV);
	EXPECT_DATA(t, buf, 40, 2);
	/* The claim is under the context of the peek. */
	REQUIRE(t, !look(&p->b, 5, CTX(8), KFI_CLAIM, buf, 64) && !WAIT_RX(&p->b, &c));
	EXPECT_COMP(t, &c, CTX(8), KFI_TAGGED | KFI_RECV);
	EXPECT_EQ(t, c.len, 40);
	EXPECT_DATA(t, buf, 40, 1);
}

static void discard(struct test *t, struct pair *p)
{
	u8 *buf = test_zalloc(t, 256);
	comp_t c;

	REQUIRE(t, !look(&p->b, 5, CTX(1), KFI_PEEK | KFI_DISCARD, NULL, 0) &&
		   !WAIT_RX(&p->b, &c));
	EXPECT_ERR(t, &c, CTX(1), ENOMSG);
	REQUIRE(t, !tsend(&p->a, buf + 64, 40, 5, CTX(2)));
	REQUIRE(t, peek_found(&p->b, 5, KFI_DISCARD, &c));
	REQUIRE(t, !look(&p->b, 5, CTX(1), KFI_PEEK, NULL, 0) && !WAIT_RX(&p->b, &c));
	EXPECT_ERR(t, &c, CTX(1), ENOMSG);
	/* Claimed, then dropped. */
	REQUIRE(t, !tsend(&p->a, buf + 64, 40, 5, CTX(2)));
	REQUIRE(t, peek_found(&p->b, 5, KFI_CLAIM, &c));
	REQUIRE(t, !look(&p->b, 5, CTX(8), KFI_CLAIM | KFI_DISCARD, NULL, 0));
	REQUIRE_RX_OK(&p->b, &c);
	REQUIRE(t, !look(&p->b, 5, CTX(1), KFI_PEEK, NULL, 0) && !WAIT_RX(&p->b, &c));
	EXPECT_ERR(t, &c, CTX(1), ENOMSG);
	REQUIRE(t, !WAIT_TX(&p->a, &c) && !WAIT_TX(&p->a, &c));
}

/* Receives that name a peer take no message of another. */
static void directed(struct test *t)
{
	struct node_opts opts = { .caps = C_TAGGED | KFI_DIRECTED_RECV };
	struct node *hub = test_new(t, struct node), *peer = test_zalloc(t, 2 * sizeof(*peer));
	u8 *buf = test_zalloc(t, 256);
	kfi_addr_t addr[2];
	comp_t c;
	int i;

	REQUIRE(t, !node_open_ep(t, hub, 0, &opts));
	for (i = 0; i < 2; i++) {
		REQUIRE(t, !node_open_ep(t, &peer[i], 1, &opts));
		REQUIRE(t, !node_insert(hub, &peer[i], &addr[i]));
		REQUIRE(t, !node_insert(&peer[i], hub, &peer[i].peer));
	}
	POST(t, kfi_trecv(hub->ep, buf, 64, NULL, addr[1], 7, 0, CTX(1)));
	POST(t, kfi_trecv(hub->ep, buf + 64, 64, NULL, addr[0], 7, 0, CTX(2)));
	POST(t, kfi_trecv(hub->ep, buf + 128, 64, NULL, KFI_ADDR_UNSPEC, 7, 0, CTX(3)));
	REQUIRE(t, !tsend(&peer[0], buf + 192, 8, 7, CTX(1)) && !WAIT_RX(hub, &c));
	EXPECT_COMP(t, &c, CTX(2), KFI_TAGGED | KFI_RECV);
	REQUIRE(t, !tsend(&peer[0], buf + 192, 8, 7, CTX(1)) && !WAIT_RX(hub, &c));
	EXPECT_COMP(t, &c, CTX(3), KFI_TAGGED | KFI_RECV);
	REQUIRE(t, !tsend(&peer[0], buf + 192, 8, 7, CTX(1)));
	NONE_RX(hub);
	REQUIRE(t, !tsend(&peer[1], buf + 192, 8, 7, CTX(1)) && !WAIT_RX(hub, &c));
	EXPECT_COMP(t, &c, CTX(1), KFI_TAGGED | KFI_RECV);
	/* A message that no directed receive has taken goes to any other receive. */
	POST(t, kfi_trecv(hub->ep, buf, 64, NULL, KFI_ADDR_UNSPEC, 7, 0, CTX(4)));
	REQUIRE_RX(hub, &c, CTX(4), KFI_TAGGED | KFI_RECV);
	for (i = 0; i < 3; i++)
		REQUIRE(t, !WAIT_TX(&peer[0], &c));
	REQUIRE(t, !WAIT_TX(&peer[1], &c));
}

const struct test_case tagged_cases[] = {
	{ "tagged.ignore", T_REL, 0, C_TAGGED, .pair = ignore },
	{ "tagged.same_tag", T_REL, 0, C_TAGGED, .pair = same_tag },
	{ "tagged.peek", T_REL, 0, C_TAGGED, .pair = peek },
	{ "tagged.claim", T_REL, 0, C_TAGGED, .pair = claim },
	{ "tagged.discard", T_REL, 0, C_TAGGED, .pair = discard },
	{ "tagged.directed", T_RDM, 0, C_TAGGED | KFI_DIRECTED_RECV, directed },
	{ }
};
