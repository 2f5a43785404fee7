// SPDX-License-Identifier: GPL-2.0
/* Peek, claim and discard; and messages that break off, after which their receives wait again. */
#include <kunit/test.h>
#include "fixture.h"

#define CTX(n)	((void *)(unsigned long)(n))
#define TRECV	(KFI_TAGGED | KFI_RECV)

static char area[64];

static void expect(struct kfi_world *w, void *context, size_t len, int err)
{
	struct kfi_cq_err_entry wc;

	KUNIT_ASSERT_TRUE(w->test, kfi_world_entry(w, &wc));
	KUNIT_EXPECT_PTR_EQ(w->test, context, wc.op_context);
	KUNIT_EXPECT_EQ(w->test, TRECV, wc.flags);
	KUNIT_EXPECT_EQ(w->test, len, wc.len);
	KUNIT_EXPECT_EQ(w->test, err, wc.err);
}

static void expect_none(struct kfi_world *w)
{
	struct kfi_cq_err_entry wc;

	KUNIT_EXPECT_FALSE(w->test, kfi_world_entry(w, &wc));
}

static void arrive(struct kfi_world *w, struct kfi_rx *rx, u64 tag, size_t len,
		   enum kfi_rx_verdict want)
{
	*rx = (struct kfi_rx) { .flags = KFI_TAGGED, .tag = tag, .len = len, .src = KFI_ADDR_NOTAVAIL };
	KUNIT_ASSERT_EQ(w->test, (int)want, (int)kfi_rx_arrive(&w->ep, rx, true));
}

static int peek(struct kfi_world *w, u64 flags, u64 tag, u64 ignore, void *context)
{
	struct kfi_oper *op = kfi_world_recv(w, KFI_TAGGED, area, sizeof(area), context, flags);
	struct kfi_rx *rx;

	KUNIT_ASSERT_NOT_NULL(w->test, op);
	op->tag = tag;
	op->ignore = ignore;
	local_bh_disable();
	rx = kfi_match_peek(&w->ep, op);
	local_bh_enable();
	if (IS_ERR(rx))
		kfi_op_abort(op);
	else if (rx)
		w->ops.rx_matched(&w->ep, rx);
	return PTR_ERR_OR_ZERO(rx);
}

static void a_miss_says_enomsg(struct kunit *test)
{
	static const u64 flags[] = {
		KFI_PEEK,  KFI_PEEK | KFI_CLAIM,    KFI_PEEK | KFI_DISCARD,
		KFI_CLAIM, KFI_CLAIM | KFI_DISCARD,
	};
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct kfi_rx rx;
	int i;

	arrive(w, &rx, 5, 10, KFI_RX_QUEUED);
	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		KUNIT_EXPECT_EQ(test, 0, peek(w, flags[i], 6, 0, CTX(i)));
		expect(w, CTX(i), 0, ENOMSG);
		expect_none(w);
	}
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&w->matched));
	kfi_world_close(w);
}

static void peek_takes_nothing(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct kfi_rx rx[2];
	int i;

	arrive(w, &rx[0], 5, 10, KFI_RX_QUEUED);
	arrive(w, &rx[1], 5, 20, KFI_RX_QUEUED);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, 0, peek(w, KFI_PEEK, 4, 3, CTX(i)));
		expect(w, CTX(i), 10, 0);
	}
	KUNIT_EXPECT_EQ(test, 0, kfi_post_tag(w, 0, 0, CTX(9)));
	expect_none(w);		/* tag 0 has no message */
	KUNIT_EXPECT_TRUE(test, kfi_rx_unqueue(&rx[0]));
	KUNIT_EXPECT_EQ(test, 0, peek(w, KFI_PEEK, 5, 0, CTX(4)));
	expect(w, CTX(4), 20, 0);
	kfi_world_close(w);
}

static void claimed_is_out_of_reach(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct kfi_rx rx[2];

	arrive(w, &rx[0], 5, 10, KFI_RX_QUEUED);
	arrive(w, &rx[1], 5, 20, KFI_RX_QUEUED);
	KUNIT_EXPECT_EQ(test, 0, peek(w, KFI_PEEK | KFI_CLAIM, 5, 0, CTX(1)));
	expect(w, CTX(1), 10, 0);
	KUNIT_EXPECT_EQ(test, 0, peek(w, KFI_PEEK, 5, 0, CTX(2)));
	expect(w, CTX(2), 20, 0);
	KUNIT_EXPECT_EQ(test, 0, peek(w, KFI_CLAIM, 5, 0, CTX(2)));	/* of another context */
	expect(w, CTX(2), 0, ENOMSG);
	KUNIT_EXPECT_EQ(test, 0, peek(w, KFI_CLAIM, 5, 0, CTX(1)));
	expect(w, CTX(1), 10, 0);
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&w->matched));
	KUNIT_EXPECT_PTR_EQ(test, (void *)area, rx[0].buf);
	KUNIT_EXPECT_EQ(test, (size_t)10, rx[0].room);
	KUNIT_EXPECT_EQ(test, 0, peek(w, KFI_CLAIM, 5, 0, CTX(1)));	/* only once */
	expect(w, CTX(1), 0, ENOMSG);
	kfi_world_close(w);
}

/* The provider sees a receive without room; the consumer sees the length and no truncation. */
static void discard(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct kfi_rx rx[2];

	arrive(w, &rx[0], 5, 10, KFI_RX_QUEUED);
	arrive(w, &rx[1], 5, 20, KFI_RX_QUEUED);
	KUNIT_EXPECT_EQ(test, 0, peek(w, KFI_PEEK | KFI_DISCARD, 5, 0, CTX(1)));
	expect(w, CTX(1), 10, 0);
	KUNIT_EXPECT_EQ(test, (size_t)0, rx[0].room);
	KUNIT_EXPECT_EQ(test, (size_t)0, iov_iter_count(&rx[0].iter));
	KUNIT_EXPECT_EQ(test, 0, peek(w, KFI_PEEK | KFI_CLAIM, 5, 0, CTX(2)));
	expect(w, CTX(2), 20, 0);
	KUNIT_EXPECT_EQ(test, 0, peek(w, KFI_CLAIM | KFI_DISCARD, 0, 0, CTX(2)));
	expect(w, CTX(2), 20, 0);
	KUNIT_EXPECT_EQ(test, 2, atomic_read(&w->matched));
	KUNIT_EXPECT_EQ(test, 0, peek(w, KFI_PEEK, 5, 0, CTX(3)));
	expect(w, CTX(3), 0, ENOMSG);
	kfi_world_close(w);
}

static void claimed_is_not_forgotten(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct kfi_rx rx[2];

	arrive(w, &rx[0], 5, 10, KFI_RX_QUEUED);
	arrive(w, &rx[1], 5, 10, KFI_RX_QUEUED);
	KUNIT_EXPECT_EQ(test, 0, peek(w, KFI_PEEK | KFI_CLAIM, 5, 0, CTX(1)));
	KUNIT_EXPECT_EQ(test, 0, peek(w, KFI_PEEK | KFI_CLAIM, 5, 0, CTX(2)));
	KUNIT_EXPECT_TRUE(test, kfi_rx_unqueue(&rx[0]));	/* its sender is lost */
	kfi_match_close(&w->ep, -ECANCELED);
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&w->dropped));
	KUNIT_EXPECT_EQ(test, -ESHUTDOWN, peek(w, KFI_PEEK, 5, 0, CTX(3)));
	kfi_world_close(w);
}

/* ---- kfi_rx_abort() ---- */

static void untargeted_receive_goes_on(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct kfi_rx rx, next;
	int i;

	for (i = 1; i <= 3; i++)
		KUNIT_ASSERT_EQ(test, 0, kfi_post_tag(w, 5, 0, CTX(i)));
	arrive(w, &rx, 5, 0, KFI_RX_MATCHED);
	arrive(w, &next, 5, 0, KFI_RX_MATCHED);
	kfi_rx_abort(&next, -EHOSTUNREACH);
	kfi_rx_abort(&rx, -EHOSTUNREACH);
	expect_none(w);
	for (i = 1; i <= 3; i++) {	/* still in the order of posting */
		arrive(w, &rx, 5, 0, KFI_RX_MATCHED);
		kfi_rx_complete(&rx, 0);
		expect(w, CTX(i), 0, 0);
	}
	kfi_world_close(w);
}

static void returned_receive_takes_what_waits(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct kfi_rx rx, waits;

	KUNIT_ASSERT_EQ(test, 0, kfi_post_tag(w, 5, 0, CTX(1)));
	arrive(w, &rx, 5, 0, KFI_RX_MATCHED);
	arrive(w, &waits, 5, 0, KFI_RX_QUEUED);
	kfi_rx_abort(&rx, -EHOSTUNREACH);
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&w->matched));
	expect(w, CTX(1), 0, 0);
	kfi_world_close(w);
}

static unsigned int depth, deepest;

static void sender_is_lost(struct kfi_ep *ep, struct kfi_rx *rx)
{
	deepest = max(deepest, ++depth);
	kfi_rx_abort(rx, -EHOSTUNREACH);
	depth--;
}

/* A peer may do this any number of times: the stack must not grow with it. */
static void lost_senders_one_after_the_other(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct kfi_rx rx, *waits = kunit_kcalloc(test, 32, sizeof(*waits), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, waits);
	depth = 0;
	deepest = 0;
	w->ops.rx_matched = sender_is_lost;
	KUNIT_ASSERT_EQ(test, 0, kfi_post_tag(w, 5, 0, CTX(1)));
	arrive(w, &rx, 5, 0, KFI_RX_MATCHED);
	for (i = 0; i < 32; i++)
		arrive(w, &waits[i], 5, 0, KFI_RX_QUEUED);
	kfi_rx_abort(&rx, -EHOSTUNREACH);
	KUNIT_EXPECT_EQ(test, 1, deepest);
	expect_none(w);
	arrive(w, &rx, 5, 0, KFI_RX_MATCHED);
	kfi_rx_complete(&rx, 0);
	expect(w, CTX(1), 0, 0);
	kfi_world_close(w);
}

static void targeted_receive_ends(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct kfi_oper *op = kfi_world_recv(w, KFI_TAGGED, area, 64, CTX(1), 0);
	kfi_addr_t peer = kfi_world_peer(w, 3);
	struct kfi_rx rx = { .flags = KFI_TAGGED, .src = peer };

	KUNIT_ASSERT_NOT_NULL(test, op);
	op->addr = peer;
	KUNIT_ASSERT_EQ(test, 0, kfi_world_post(w, op));
	KUNIT_ASSERT_EQ(test, (int)KFI_RX_MATCHED, (int)kfi_rx_arrive(&w->ep, &rx, true));
	kfi_rx_abort(&rx, -EHOSTUNREACH);
	expect(w, CTX(1), 0, EHOSTUNREACH);
	/* on a connected endpoint every receive ends */
	w->ep.type = KFI_EP_MSG;
	KUNIT_ASSERT_EQ(test, 0, kfi_post_tag(w, 5, 0, CTX(2)));
	arrive(w, &rx, 5, 0, KFI_RX_MATCHED);
	kfi_rx_abort(&rx, -ENOTCONN);
	expect(w, CTX(2), 0, ENOTCONN);
	kfi_world_close(w);
}

static struct kunit_case peek_cases[] = {
	KUNIT_CASE(a_miss_says_enomsg),
	KUNIT_CASE(peek_takes_nothing),
	KUNIT_CASE(claimed_is_out_of_reach),
	KUNIT_CASE(discard),
	KUNIT_CASE(claimed_is_not_forgotten),
	KUNIT_CASE(untargeted_receive_goes_on),
	KUNIT_CASE(returned_receive_takes_what_waits),
	KUNIT_CASE(lost_senders_one_after_the_other),
	KUNIT_CASE(targeted_receive_ends),
	{}
};

static struct kunit_suite peek_suite = {
	.name = "kfi_peek",
	.test_cases = peek_cases,
};
kunit_test_suite(peek_suite);
