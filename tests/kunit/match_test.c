// SPDX-License-Identifier: GPL-2.0
/*
 * Matching: what a search costs, when it continues, and that no message or receive is lost when one
 * of them ends. match_model_test.c shows which receive a message matches.
 */
#include <linux/delay.h>
#include <linux/list.h>
#include <linux/slab.h>
#include "fixture.h"

#define CTX(n)	((void *)(unsigned long)(n))

static void make_rx(struct kfi_rx *rx, u64 flags, u64 tag, size_t len)
{
	*rx = (struct kfi_rx) { .flags = flags, .tag = tag, .len = len, .src = KFI_ADDR_NOTAVAIL };
}

static void expect_none(struct kfi_world *w)
{
	struct kfi_cq_err_entry wc;

	KUNIT_EXPECT_FALSE(w->test, kfi_world_entry(w, &wc));
}

static void expect_entry(struct kfi_world *w, void *context, u64 flags, size_t len, int err)
{
	struct kfi_cq_err_entry wc;

	KUNIT_ASSERT_TRUE(w->test, kfi_world_entry(w, &wc));
	KUNIT_EXPECT_PTR_EQ(w->test, context, wc.op_context);
	KUNIT_EXPECT_EQ(w->test, flags, wc.flags);
	KUNIT_EXPECT_EQ(w->test, len, wc.len);
	KUNIT_EXPECT_EQ(w->test, err, wc.err);
}

/* A tagged message completes the receive of @context. */
static void expect_tag_to(struct kfi_world *w, u64 tag, kfi_addr_t src, void *context)
{
	struct kfi_rx rx;

	make_rx(&rx, KFI_TAGGED, tag, 0);
	rx.src = src;
	KUNIT_ASSERT_EQ(w->test, (int)KFI_RX_MATCHED, (int)kfi_rx_arrive(&w->ep, &rx, false));
	kfi_rx_complete(&rx, 0);
	expect_entry(w, context, KFI_TAGGED | KFI_RECV, 0, 0);
}

/* Look for an unexpected message. */
static int peek(struct kfi_world *w, u64 flags, u64 tag, void *context)
{
	struct kfi_oper *op = kfi_world_recv(w, KFI_TAGGED, NULL, 0, context, flags);
	struct kfi_rx *rx;

	KUNIT_ASSERT_NOT_NULL(w->test, op);
	op->tag = tag;
	local_bh_disable();
	rx = kfi_match_peek(&w->ep, op);
	local_bh_enable();
	if (IS_ERR(rx))
		kfi_op_abort(op);
	else if (rx)
		w->ops.rx_matched(&w->ep, rx);
	return PTR_ERR_OR_ZERO(rx);
}

static int post_directed(struct kfi_world *w, u64 tag, kfi_addr_t from, void *context)
{
	struct kfi_oper *op = kfi_world_recv(w, KFI_TAGGED, NULL, 0, context, 0);

	if (op) {
		op->tag = tag;
		op->addr = from;
	}
	return kfi_world_post(w, op);
}

/* A message from a peer with the address @name */
static void queue_named(struct kfi_world *w, struct kfi_rx *rx, u64 flags, u64 tag, const u64 *name)
{
	make_rx(rx, flags, tag, 0);
	rx->name = name;
	KUNIT_ASSERT_EQ(w->test, (int)KFI_RX_QUEUED, (int)kfi_rx_arrive(&w->ep, rx, true));
}

static void expect_from(struct kfi_world *w, void *context, kfi_addr_t src, int err)
{
	struct kfi_cq_err_entry wc;

	KUNIT_ASSERT_TRUE(w->test, kfi_world_entry(w, &wc));
	KUNIT_EXPECT_PTR_EQ(w->test, context, wc.op_context);
	KUNIT_EXPECT_EQ(w->test, src, wc.src_addr);
	KUNIT_EXPECT_EQ(w->test, err, wc.err);
}

/* A buffer has room and the completion queue has none: messages match as the queue is read. */
static void handle_while_stalled(struct kunit *test)
{
	struct kfi_world_opts opts = { .cq_size = 2 };
	struct kfi_world *w = kfi_world_open(test, &opts);
	static const u64 name = 12;
	struct kfi_rx rx[3];
	struct kfi_oper *op;
	kfi_addr_t peer;
	char buf[64];
	struct kfi_rx late;
	int i, tries;

	w->ep.min_multi_recv = 1;
	for (i = 0; i < 3; i++)
		queue_named(w, &rx[i], KFI_MSG, 0, &name);
	peer = kfi_world_peer(w, name);
	op = kfi_world_recv(w, KFI_MSG, buf, sizeof(buf), CTX(1), KFI_MULTI_RECV);
	KUNIT_ASSERT_NOT_NULL(test, op);
	op->addr = peer;
	KUNIT_ASSERT_EQ(test, 0, kfi_world_post(w, op));
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&w->matched));
	/* a later message does not overtake those that wait */
	make_rx(&late, KFI_MSG, 0, 0);
	late.src = peer;
	KUNIT_EXPECT_EQ(test, (int)KFI_RX_FULL, (int)kfi_rx_arrive(&w->ep, &late, true));
	for (i = 0; i < 3; i++) {
		for (tries = 0; tries < 200 && atomic_read(&w->matched) < i + 1; tries++)
			msleep(20);
		KUNIT_ASSERT_EQ(test, i + 1, atomic_read(&w->matched));
		expect_from(w, CTX(1), peer, 0);
	}
	kfi_world_close(w);
}

static void directed_needs_the_capability(struct kunit *test)
{
	struct kfi_world_opts opts = { .caps = KFI_MSG | KFI_TAGGED };
	struct kfi_world *w = kfi_world_open(test, &opts);
	kfi_addr_t a = kfi_world_peer(w, 11), b = kfi_world_peer(w, 12);

	KUNIT_ASSERT_EQ(test, 0, post_directed(w, 1, b, CTX(1)));
	expect_tag_to(w, 1, a, CTX(1));
	kfi_world_close(w);
}

/*
 * How many receives a look-up of each of @n posted tags visits: mean of all (times 100), and
 * maximum
 */
static void walk_length(struct kfi_world *w, u32 n, u32 *mean, u32 *most)
{
	struct kfi_match *m = &w->ep.match;
	u64 total = 0;
	u32 i, at;

	*most = 0;
	for (i = 0; i < 1u << m->bits; i++) {
		struct kfi_oper *op = m->exact[i];

		at = !!op;
		for (; op && list_next_entry(op, link) != m->exact[i];
		     op = list_next_entry(op, link))
			total += at++;
		total += at;
		*most = max(*most, at);
	}
	*mean = total * 100 / n;
}

#define WAITING		131072U		/* default of kfi_sockets' unexpected_total */

/* Post a tagged receive, and tell whether it still searches when the post has returned. */
static bool post_searches(struct kfi_world *w, u64 tag, u64 ignore, kfi_addr_t from, void *context)
{
	struct kfi_oper *op = kfi_world_recv(w, KFI_TAGGED, NULL, 0, context, 0);
	bool searches;

	KUNIT_ASSERT_NOT_NULL(w->test, op);
	op->tag = tag;
	op->ignore = ignore;
	op->addr = from;
	local_bh_disable();
	KUNIT_EXPECT_PTR_EQ(w->test, NULL, kfi_match_post(&w->ep, op));
	searches = !list_empty(&w->ep.match.search[1].ops);
	local_bh_enable();
	return searches;
}

/*
 * All messages that an endpoint may hold have the same tag, and their sender is not in the address
 * vector. A receive for another sender is not compared with them. A receive with ignore bits is, in
 * a work item: the post returns early, and the receives that are posted later follow in order.
 */
static void long_searches(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	kfi_addr_t known = kfi_world_peer(w, 11);
	struct kfi_rx *rx = kvcalloc(WAITING + 1, sizeof(*rx), GFP_KERNEL), rma;
	u64 name = 4711;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, rx);
	/* with these keys no two names or tags of this test have the same bucket */
	w->ep.match.hash_key[0] = 0;
	w->ep.match.hash_key[1] = GOLDEN_RATIO_64;
	for (i = 0; i < WAITING; i++)
		queue_named(w, &rx[i], KFI_TAGGED, 1, &name);
	KUNIT_EXPECT_FALSE(test, post_searches(w, 1, 0, known, CTX(1)));
	KUNIT_EXPECT_FALSE(test, post_searches(w, 1, ~0ULL, known, CTX(2)));
	KUNIT_EXPECT_FALSE(test, post_searches(w, 9, 0, KFI_ADDR_UNSPEC, CTX(3)));
	KUNIT_EXPECT_TRUE(test, post_searches(w, 2, 4, KFI_ADDR_UNSPEC, CTX(4)));
	KUNIT_EXPECT_TRUE(test, post_searches(w, 6, 0, KFI_ADDR_UNSPEC, CTX(5)));
	KUNIT_EXPECT_TRUE(test, post_searches(w, 7, 0, KFI_ADDR_UNSPEC, CTX(6)));
	KUNIT_EXPECT_TRUE(test, post_searches(w, 8, 0, KFI_ADDR_UNSPEC, CTX(7)));
	KUNIT_EXPECT_EQ(test, 0, kfi_match_cancel(&w->ep, CTX(6)));
	expect_entry(w, CTX(6), KFI_TAGGED | KFI_RECV, 0, ECANCELED);
	/* tagged RMA does not wait until a search has ended, a message does */
	make_rx(&rma, KFI_TAGGED | KFI_RMA | KFI_WRITE, 8, 0);
	KUNIT_ASSERT_EQ(test, (int)KFI_RX_MATCHED, (int)kfi_rx_arrive(&w->ep, &rma, false));
	kfi_rx_complete(&rma, 0);
	expect_entry(w, CTX(7), rma.flags | KFI_RECV, 0, 0);
	queue_named(w, &rx[WAITING], KFI_TAGGED, 6, &name);
	kfi_world_search_end(w);
	expect_entry(w, CTX(4), KFI_TAGGED | KFI_RECV, 0, 0);
	expect_tag_to(w, 6, KFI_ADDR_NOTAVAIL, CTX(5));
	expect_tag_to(w, 9, KFI_ADDR_NOTAVAIL, CTX(3));
	for (i = 0; i < WAITING; i++)
		KUNIT_EXPECT_TRUE(test, kfi_rx_unqueue(&rx[i]));
	expect_none(w);
	kfi_world_close(w);
	kvfree(rx);
}

/* Messages leave while they are compared, and the endpoint closes while receives search. */
static void searches_end(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct kfi_rx rx[4];
	u64 name = 4711;
	int i;

	w->ep.match.steps = 2;
	for (i = 0; i < 4; i++)
		queue_named(w, &rx[i], KFI_TAGGED, i == 2 ? 6 : 1, &name);
	local_bh_disable();
	KUNIT_EXPECT_TRUE(test, post_searches(w, 2, 4, KFI_ADDR_UNSPEC, CTX(1)));
	KUNIT_EXPECT_TRUE(test, kfi_rx_unqueue(&rx[1]));
	local_bh_enable();
	kfi_world_search_end(w);
	expect_entry(w, CTX(1), KFI_TAGGED | KFI_RECV, 0, 0);
	queue_named(w, &rx[1], KFI_TAGGED, 1, &name);
	local_bh_disable();
	KUNIT_EXPECT_TRUE(test, post_searches(w, 2, 4, KFI_ADDR_UNSPEC, CTX(2)));
	KUNIT_EXPECT_EQ(test, 0, peek(w, KFI_PEEK, 1, CTX(3)));
	local_bh_enable();
	kfi_match_close(&w->ep, -ECANCELED);
	expect_entry(w, CTX(2), KFI_TAGGED | KFI_RECV, 0, ECANCELED);
	expect_entry(w, CTX(3), KFI_TAGGED | KFI_RECV, 0, ECANCELED);
	expect_none(w);
	kfi_world_close(w);
}

/*
 * Peers choose the tags: whatever the key of the hash is, no common stride may lead to long
 * searches. A random function exceeds the bounds with a probability below one in a million; a
 * multiplication by a random number exceeds them for 6 of 100 numbers.
 */
static void no_bad_strides(struct kunit *test)
{
	struct kfi_world_opts opts = { .depth = 1024, .cq_size = 1024 };
	u32 mean, most, worst_mean = 0, worst_most = 0, keys, shift, i;
	struct kfi_cq_err_entry wc;

	for (keys = 0; keys < 10; keys++) {
		struct kfi_world *w = kfi_world_open(test, &opts);

		for (shift = 0; shift < 54; shift += 3) {
			for (i = 0; i < 1000; i++)
				KUNIT_ASSERT_EQ(test, 0,
						kfi_post_tag(w, (u64)i << shift, 0, CTX(i)));
			walk_length(w, 1000, &mean, &most);
			worst_mean = max(worst_mean, mean);
			worst_most = max(worst_most, most);
			kfi_rx_flush(&w->ep, -ECANCELED);
			for (i = 0; i < 1000; i++)
				KUNIT_ASSERT_TRUE(test, kfi_world_entry(w, &wc));
		}
		kfi_world_close(w);
	}
	kunit_info(test, "worst mean %u/100, most %u\n", worst_mean, worst_most);
	KUNIT_EXPECT_LE(test, worst_mean, 200u);
	KUNIT_EXPECT_LE(test, worst_most, 16u);
}

/* ---- claimed messages, and messages that break off: kfi_rx_abort() ---- */

static void arrive(struct kfi_world *w, struct kfi_rx *rx, u64 tag, size_t len,
		   enum kfi_rx_verdict want)
{
	make_rx(rx, KFI_TAGGED, tag, len);
	KUNIT_ASSERT_EQ(w->test, (int)want, (int)kfi_rx_arrive(&w->ep, rx, true));
}

static void claimed_is_not_forgotten(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct kfi_rx rx[2];

	arrive(w, &rx[0], 5, 10, KFI_RX_QUEUED);
	arrive(w, &rx[1], 5, 10, KFI_RX_QUEUED);
	KUNIT_EXPECT_EQ(test, 0, peek(w, KFI_PEEK | KFI_CLAIM, 5, CTX(1)));
	KUNIT_EXPECT_EQ(test, 0, peek(w, KFI_PEEK | KFI_CLAIM, 5, CTX(2)));
	KUNIT_EXPECT_TRUE(test, kfi_rx_unqueue(&rx[0]));	/* its sender is lost */
	kfi_match_close(&w->ep, -ECANCELED);
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&w->dropped));
	KUNIT_EXPECT_EQ(test, -ESHUTDOWN, peek(w, KFI_PEEK, 5, CTX(3)));
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
	struct kfi_rx rx, *waits = kfi_test_zalloc(test, 32 * sizeof(*waits));
	int i;

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
	expect_entry(w, CTX(1), KFI_TAGGED | KFI_RECV, 0, 0);
	kfi_world_close(w);
}

KFI_SUITE(kfi_match,
	KUNIT_CASE(handle_while_stalled),
	KUNIT_CASE(directed_needs_the_capability),
	KUNIT_CASE_SLOW(long_searches),
	KUNIT_CASE(searches_end),
	KUNIT_CASE_SLOW(no_bad_strides),
	KUNIT_CASE(claimed_is_not_forgotten),
	KUNIT_CASE(lost_senders_one_after_the_other));
