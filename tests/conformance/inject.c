// SPDX-License-Identifier: GPL-2.0
/* Injected messages: the buffer may be changed at once. */
#include "harness.h"

static void clobber(struct test *t)
{
	struct pair *p = pair_open(t, NULL, NULL);
	size_t max = t->info[0]->tx_attr->inject_size, len;
	u8 *tx = test_zalloc(t, max), *rx = test_zalloc(t, max);
	bool late;
	comp_t c;
	int i;

	REQUIRE(t, max > 0 && p && tx && rx);
	for (i = 0; i < 40 && !t->failures; i++) {
		late = i % 3 == 0 && t->type != KFI_EP_DGRAM;
		len = i & 1 ? max : test_random(t, max + 1);
		fill(tx, len, i);
		memset(rx, 0, max);
		if (!late)
			POST(t, kfi_recv(p->b.ep, rx, max, NULL, KFI_ADDR_UNSPEC, CTX(i)));
		REQUIRE(t, !POST(t, kfi_inject(p->a.ep, tx, len, p->a.peer)));
		memset(tx, 0xff, max);
		if (late)	/* it has to have waited in other memory */
			POST(t, kfi_recv(p->b.ep, rx, max, NULL, KFI_ADDR_UNSPEC, CTX(i)));
		REQUIRE(t, !WAIT_RX(&p->b, &c));
		EXPECT_COMP(t, &c, CTX(i), KFI_MSG | KFI_RECV);
		EXPECT_EQ(t, c.len, len);
		EXPECT_DATA(t, rx, len, i);
	}
	NONE_TX(&p->a);
}

/* Injected payload may be on the stack. */
static noinline void one_from_stack(struct node *a, u64 seed)
{
	u8 buf[32];

	fill(buf, sizeof(buf), seed);
	POST(a->t, kfi_injectdata(a->ep, buf, sizeof(buf), seed, a->peer));
	memset(buf, 0, sizeof(buf));
	barrier_data(buf);
}

static void from_stack(struct test *t)
{
	struct pair *p = pair_open(t, NULL, NULL);
	u8 *rx = test_zalloc(t, 64 * 32);
	comp_t c;
	int i;

	REQUIRE(t, p && rx);
	for (i = 0; i < 32; i++)
		POST(t, kfi_recv(p->b.ep, rx + 64 * i, 64, NULL, KFI_ADDR_UNSPEC, CTX(i)));
	for (i = 0; i < 32; i++)
		one_from_stack(&p->a, i);
	for (i = 0; i < 32; i++) {
		REQUIRE(t, !WAIT_RX(&p->b, &c));
		EXPECT_COMP(t, &c, CTX(i), KFI_MSG | KFI_RECV | KFI_REMOTE_CQ_DATA);
		EXPECT_EQ(t, c.data, i);
		EXPECT_DATA(t, rx + 64 * i, 32, i);
	}
	NONE_TX(&p->a);
}

/* As a flag of a message it completes like any other. */
static void with_completion(struct test *t)
{
	struct pair *p = pair_open(t, NULL, NULL);
	u8 *tx = test_zalloc(t, 64), *rx = test_zalloc(t, 64);
	struct kvec iov[2] = { { tx, 10 }, { tx + 20, 10 } };
	struct kfi_msg msg = { .type = KFI_KVEC, .msg_iov = iov, .iov_count = 2 };
	comp_t c;

	REQUIRE(t, p && tx && rx);
	msg.addr = p->a.peer;
	msg.context = CTX(5);
	fill(tx, 10, 1);
	fill(tx + 20, 10, 2);
	POST(t, kfi_recv(p->b.ep, rx, 64, NULL, KFI_ADDR_UNSPEC, rx));
	REQUIRE(t, !POST(t, kfi_sendmsg(p->a.ep, &msg, KFI_INJECT | KFI_COMPLETION)));
	memset(tx, 0xff, 64);
	REQUIRE(t, !WAIT_TX(&p->a, &c));
	EXPECT_COMP(t, &c, CTX(5), KFI_MSG | KFI_SEND);
	REQUIRE(t, !WAIT_RX(&p->b, &c));
	EXPECT_EQ(t, c.len, 20);
	EXPECT_DATA(t, rx, 10, 1);
	EXPECT_DATA(t, rx + 10, 10, 2);
}

static void too_long(struct test *t)
{
	struct pair *p = pair_open(t, NULL, NULL);
	size_t max = t->info[0]->tx_attr->inject_size;
	u8 *tx = test_zalloc(t, max + 1), *rx = test_zalloc(t, max + 1);
	comp_t c;

	REQUIRE(t, p && tx && rx);
	POST(t, kfi_recv(p->b.ep, rx, max + 1, NULL, KFI_ADDR_UNSPEC, rx));
	EXPECT_EQ(t, kfi_inject(p->a.ep, tx, max + 1, p->a.peer), -EINVAL);
	EXPECT_EQ(t, kfi_injectdata(p->a.ep, tx, max + 1, 1, p->a.peer), -EINVAL);
	/* It has had no effect. */
	NONE_TX(&p->a);
	NONE_RX(&p->b);
	EXPECT_EQ(t, kfi_inject(p->a.ep, tx, 1, p->a.peer), 0);
	REQUIRE(t, !WAIT_RX(&p->b, &c));
	EXPECT_EQ(t, c.len, 1);
}

static void tagged(struct test *t)
{
	struct pair *p = pair_open(t, NULL, NULL);
	size_t max = t->info[0]->tx_attr->inject_size;
	u8 *tx = test_zalloc(t, max + 1), *rx = test_zalloc(t, max);
	comp_t c;

	REQUIRE(t, p && tx && rx);
	EXPECT_EQ(t, kfi_tinject(p->a.ep, tx, max + 1, p->a.peer, 1), -EINVAL);
	fill(tx, max, 1);
	POST(t, kfi_trecv(p->b.ep, rx, max, NULL, KFI_ADDR_UNSPEC, 5, 0, CTX(1)));
	REQUIRE(t, !POST(t, kfi_tinject(p->a.ep, tx, max, p->a.peer, 5)));
	memset(tx, 0xff, max);
	REQUIRE(t, !WAIT_RX(&p->b, &c));
	EXPECT_COMP(t, &c, CTX(1), KFI_TAGGED | KFI_RECV);
	EXPECT_DATA(t, rx, max, 1);
	POST(t, kfi_trecv(p->b.ep, rx, max, NULL, KFI_ADDR_UNSPEC, 5, 0, CTX(2)));
	REQUIRE(t, !POST(t, kfi_tinjectdata(p->a.ep, tx, 1, 77, p->a.peer, 5)));
	REQUIRE(t, !WAIT_RX(&p->b, &c));
	EXPECT_COMP(t, &c, CTX(2), KFI_TAGGED | KFI_RECV | KFI_REMOTE_CQ_DATA);
	EXPECT_EQ(t, c.data, 77);
	NONE_TX(&p->a);
}

static void write_remote(struct test *t)
{
	struct pair *p = pair_open(t, NULL, NULL);
	size_t max = t->info[0]->tx_attr->inject_size;
	u8 *tx = test_zalloc(t, max + 1), *rx = test_pages(t, max);
	struct region r;
	comp_t c;

	REQUIRE(t, p && tx && rx);
	REQUIRE(t, !region_open(&p->b, &r, rx, max, KFI_REMOTE_WRITE));
	EXPECT_EQ(t, kfi_inject_write(p->a.ep, tx, max + 1, p->a.peer, r.addr, r.key), -EINVAL);
	fill(tx, max, 1);
	REQUIRE(t, !POST(t, kfi_inject_write(p->a.ep, tx, max, p->a.peer, r.addr, r.key)));
	memset(tx, 0xff, max);
	/* Data with a completion comes after the completion of earlier ones. */
	if (!test_hw_recv(t)) {
		REQUIRE(t, !POST(t, kfi_inject_writedata(p->a.ep, tx, 0, 5, p->a.peer, r.addr,
							 r.key)));
		REQUIRE(t, !WAIT_RX(&p->b, &c));
		EXPECT_EQ(t, c.flags, KFI_RMA | KFI_REMOTE_WRITE | KFI_REMOTE_CQ_DATA);
		EXPECT_EQ(t, c.data, 5);
	}
	EXPECT(t, test_until(t, differs(rx, max, 1) == -1));
	NONE_TX(&p->a);
	/* A failure is reported nevertheless. */
	REQUIRE(t, !POST(t, kfi_inject_write(p->a.ep, tx, 1, p->a.peer, r.addr, r.key ^ 1)));
	REQUIRE(t, !WAIT_TX(&p->a, &c));
	EXPECT_EQ(t, c.err, EACCES);
}

const struct test_case inject_cases[] = {
	{ "inject.clobber", T_ALL, 0, C_MSG, clobber },
	{ "inject.from_stack", T_ALL, 0, C_MSG, from_stack },
	{ "inject.with_completion", T_ALL, 0, C_MSG, with_completion },
	{ "inject.too_long", T_ALL, 0, C_MSG, too_long },
	{ "inject.tagged", T_REL, 0, C_TAGGED, tagged },
	{ "inject.write", T_REL, 0, C_MSG | C_RMA, write_remote },
	{ }
};
