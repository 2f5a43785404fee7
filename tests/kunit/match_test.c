// SPDX-License-Identifier: GPL-2.0
/*
 * Matching: which receive a message matches, what its completion says, and that none is lost or
 * duplicated.
 */
#include <kunit/test.h>
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

static void expect_tag_unmatched(struct kfi_world *w, u64 tag, kfi_addr_t src)
{
	struct kfi_rx rx;

	make_rx(&rx, KFI_TAGGED, tag, 0);
	rx.src = src;
	KUNIT_EXPECT_EQ(w->test, (int)KFI_RX_NONE, (int)kfi_rx_arrive(&w->ep, &rx, false));
}

static void posted_first_matched_first(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct kfi_rx rx;
	char buf[4];
	long i;

	for (i = 1; i <= 3; i++)
		KUNIT_ASSERT_EQ(test, 0, kfi_post_msg(w, buf, sizeof(buf), CTX(i)));
	for (i = 1; i <= 3; i++) {
		make_rx(&rx, KFI_MSG, 0, 4);
		KUNIT_ASSERT_EQ(test, (int)KFI_RX_MATCHED, (int)kfi_rx_arrive(&w->ep, &rx, true));
		KUNIT_EXPECT_PTR_EQ(test, (void *)buf, rx.buf);
		KUNIT_EXPECT_EQ(test, (size_t)4, rx.room);
		KUNIT_EXPECT_EQ(test, (size_t)4, copy_to_iter("abc", 4, &rx.iter));
		kfi_rx_complete(&rx, 0);
		expect_entry(w, CTX(i), KFI_MSG | KFI_RECV, 4, 0);
		KUNIT_EXPECT_STREQ(test, "abc", buf);
	}
	make_rx(&rx, KFI_MSG, 0, 4);
	KUNIT_EXPECT_EQ(test, (int)KFI_RX_NONE, (int)kfi_rx_arrive(&w->ep, &rx, false));
	expect_none(w);
	kfi_world_close(w);
}

static void unexpected_oldest_first(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct kfi_rx msg[3], tag[4];
	char buf[8];
	long i;

	for (i = 0; i < 3; i++) {
		make_rx(&msg[i], KFI_MSG, 0, i + 1);
		KUNIT_ASSERT_EQ(test, (int)KFI_RX_QUEUED,
				(int)kfi_rx_arrive(&w->ep, &msg[i], true));
	}
	for (i = 0; i < 4; i++) {
		make_rx(&tag[i], KFI_TAGGED | KFI_REMOTE_CQ_DATA, 7 + i / 2, 0);
		tag[i].data = i;
		KUNIT_ASSERT_EQ(test, (int)KFI_RX_QUEUED,
				(int)kfi_rx_arrive(&w->ep, &tag[i], true));
	}
	expect_none(w);
	for (i = 0; i < 3; i++) {
		KUNIT_ASSERT_EQ(test, 0, kfi_post_msg(w, buf, sizeof(buf), CTX(i)));
		expect_entry(w, CTX(i), KFI_MSG | KFI_RECV, i + 1, 0);
	}
	/*
	 * The messages have the tags 7 7 8 8: a receive of one tag matches the oldest with it, a
	 * receive of any tag the oldest.
	 */
	static const struct { u64 tag, ignore, data; } want[] = {
		{ 8, 0, 2 }, { 0, ~0ULL, 0 }, { 7, 0, 1 }, { 8, 1, 3 },
	};
	for (i = 0; i < 4; i++) {
		struct kfi_cq_err_entry wc;

		KUNIT_ASSERT_EQ(test, 0, kfi_post_tag(w, want[i].tag, want[i].ignore, CTX(i)));
		KUNIT_ASSERT_TRUE(test, kfi_world_entry(w, &wc));
		KUNIT_EXPECT_EQ(test, want[i].data, wc.data);
		KUNIT_EXPECT_EQ(test, 7 + want[i].data / 2, wc.tag);
		KUNIT_EXPECT_EQ(test, KFI_TAGGED | KFI_RECV | KFI_REMOTE_CQ_DATA, wc.flags);
	}
	KUNIT_EXPECT_EQ(test, 7, atomic_read(&w->matched));
	kfi_world_close(w);
}

static void exact_and_wild_keep_posting_order(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);

	KUNIT_ASSERT_EQ(test, 0, kfi_post_tag(w, 5, 0, CTX(1)));
	KUNIT_ASSERT_EQ(test, 0, kfi_post_tag(w, 4, 1, CTX(2)));
	KUNIT_ASSERT_EQ(test, 0, kfi_post_tag(w, 5, 0, CTX(3)));
	KUNIT_ASSERT_EQ(test, 0, kfi_post_tag(w, 0, ~0ULL, CTX(4)));
	KUNIT_ASSERT_EQ(test, 0, kfi_post_tag(w, 6, 0, CTX(5)));
	expect_tag_to(w, 6, KFI_ADDR_NOTAVAIL, CTX(4));
	expect_tag_to(w, 5, KFI_ADDR_NOTAVAIL, CTX(1));
	expect_tag_to(w, 5, KFI_ADDR_NOTAVAIL, CTX(2));
	expect_tag_to(w, 5, KFI_ADDR_NOTAVAIL, CTX(3));
	expect_tag_unmatched(w, 5, KFI_ADDR_NOTAVAIL);
	expect_tag_to(w, 6, KFI_ADDR_NOTAVAIL, CTX(5));
	kfi_world_close(w);
}

static void tagged_and_untagged_do_not_mix(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct kfi_rx rx;

	KUNIT_ASSERT_EQ(test, 0, kfi_post_tag(w, 0, ~0ULL, CTX(1)));
	make_rx(&rx, KFI_MSG, 0, 0);
	KUNIT_EXPECT_EQ(test, (int)KFI_RX_NONE, (int)kfi_rx_arrive(&w->ep, &rx, false));
	expect_tag_to(w, 3, KFI_ADDR_NOTAVAIL, CTX(1));
	KUNIT_ASSERT_EQ(test, 0, kfi_post_msg(w, NULL, 0, CTX(2)));
	expect_tag_unmatched(w, 0, KFI_ADDR_NOTAVAIL);
	kfi_world_close(w);
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

static void directed(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	static const u64 name = 11;
	kfi_addr_t a = kfi_world_peer(w, name), b = kfi_world_peer(w, 12);
	struct kfi_rx rx;

	KUNIT_ASSERT_NE(test, a, b);
	KUNIT_ASSERT_EQ(test, 0, post_directed(w, 1, kfi_rx_addr(b, 3, 8), CTX(1)));
	KUNIT_ASSERT_EQ(test, 0, post_directed(w, 1, KFI_ADDR_UNSPEC, CTX(2)));
	expect_tag_to(w, 1, a, CTX(2));
	expect_tag_unmatched(w, 1, a);
	expect_tag_unmatched(w, 1, KFI_ADDR_NOTAVAIL);
	expect_tag_to(w, 1, kfi_rx_addr(b, 200, 8), CTX(1));
	/* the same for messages that came before */
	make_rx(&rx, KFI_TAGGED, 1, 0);
	rx.name = &name;
	KUNIT_ASSERT_EQ(test, (int)KFI_RX_QUEUED, (int)kfi_rx_arrive(&w->ep, &rx, true));
	KUNIT_ASSERT_EQ(test, 0, post_directed(w, 1, b, CTX(3)));
	expect_none(w);
	KUNIT_ASSERT_EQ(test, 0, post_directed(w, 1, a, CTX(4)));
	expect_entry(w, CTX(4), KFI_TAGGED | KFI_RECV, 0, 0);
	kfi_world_close(w);
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

/* KFI_PEEK looks for an unexpected message; KFI_CLAIM without KFI_PEEK receives the claimed one. */
static void peek(struct kfi_world *w, u64 flags, u64 tag, kfi_addr_t from, void *context)
{
	struct kfi_oper *op = kfi_world_recv(w, KFI_TAGGED, NULL, 0, context, flags);
	struct kfi_rx *rx;

	KUNIT_ASSERT_NOT_NULL(w->test, op);
	op->tag = tag;
	op->addr = from;
	local_bh_disable();
	rx = kfi_match_peek(&w->ep, op);
	local_bh_enable();
	KUNIT_ASSERT_FALSE(w->test, IS_ERR(rx));
	if (rx)
		w->ops.rx_matched(&w->ep, rx);
}

/*
 * A sender's address is inserted while its messages are unexpected: receives and peeks find them by
 * the handle.
 */
static void handle_comes_late(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	kfi_addr_t other = kfi_world_peer(w, 11), peer;
	static const u64 name = 12;
	struct kfi_rx rx[6];
	struct kfi_oper *op;

	queue_named(w, &rx[0], KFI_TAGGED, 1, &name);
	queue_named(w, &rx[1], KFI_TAGGED, 1, &name);
	queue_named(w, &rx[2], KFI_TAGGED, 1, &name);
	queue_named(w, &rx[3], KFI_TAGGED, 6, &name);
	queue_named(w, &rx[4], KFI_MSG, 0, &name);
	queue_named(w, &rx[5], KFI_MSG, 0, &name);
	peek(w, KFI_PEEK, 1, other, CTX(1));
	expect_from(w, CTX(1), KFI_ADDR_NOTAVAIL, ENOMSG);
	peek(w, KFI_PEEK | KFI_CLAIM, 1, KFI_ADDR_UNSPEC, CTX(2));
	expect_from(w, CTX(2), KFI_ADDR_NOTAVAIL, 0);
	KUNIT_ASSERT_EQ(test, 0, post_directed(w, 1, other, CTX(3)));
	expect_none(w);
	peer = kfi_world_peer(w, name);
	KUNIT_ASSERT_NE(test, other, peer);
	/* a message that was claimed before the insertion */
	peek(w, KFI_CLAIM, 1, KFI_ADDR_UNSPEC, CTX(2));
	expect_from(w, CTX(2), peer, 0);
	peek(w, KFI_PEEK, 1, peer, CTX(4));
	expect_from(w, CTX(4), peer, 0);
	KUNIT_ASSERT_EQ(test, 0, post_directed(w, 1, kfi_rx_addr(peer, 3, 8), CTX(5)));
	expect_from(w, CTX(5), peer, 0);
	KUNIT_ASSERT_EQ(test, 0, kfi_post_tag(w, 1, 0, CTX(6)));
	expect_from(w, CTX(6), peer, 0);
	/* the lists of all tagged and of all untagged messages */
	op = kfi_world_recv(w, KFI_TAGGED, NULL, 0, CTX(7), 0);
	KUNIT_ASSERT_NOT_NULL(test, op);
	op->ignore = ~0ULL;
	op->addr = peer;
	KUNIT_ASSERT_EQ(test, 0, kfi_world_post(w, op));
	expect_from(w, CTX(7), peer, 0);
	op = kfi_world_recv(w, KFI_MSG, NULL, 0, CTX(8), 0);
	KUNIT_ASSERT_NOT_NULL(test, op);
	op->addr = peer;
	KUNIT_ASSERT_EQ(test, 0, kfi_world_post(w, op));
	expect_from(w, CTX(8), peer, 0);
	KUNIT_ASSERT_EQ(test, 0, kfi_post_msg(w, NULL, 0, CTX(9)));
	expect_from(w, CTX(9), peer, 0);
	expect_none(w);
	kfi_world_close(w);
}

/* A sender's address is removed, and inserted again with another handle. */
static void handle_changes(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	static const u64 name = 12;
	kfi_addr_t old = kfi_world_peer(w, name), new;
	struct kfi_rx rx[3];

	queue_named(w, &rx[0], KFI_TAGGED, 1, &name);
	queue_named(w, &rx[1], KFI_TAGGED, 1, &name);
	peek(w, KFI_PEEK, 1, old, CTX(1));
	expect_from(w, CTX(1), old, 0);
	KUNIT_ASSERT_EQ(test, 0, kfi_av_remove(w->av, &old, 1, 0));
	KUNIT_ASSERT_EQ(test, 0, post_directed(w, 1, old, CTX(2)));
	expect_none(w);
	KUNIT_ASSERT_EQ(test, 0, kfi_post_tag(w, 1, 0, CTX(3)));
	expect_from(w, CTX(3), KFI_ADDR_NOTAVAIL, 0);
	new = kfi_world_peer(w, name);
	KUNIT_ASSERT_NE(test, old, new);
	KUNIT_ASSERT_EQ(test, 0, post_directed(w, 1, new, CTX(4)));
	expect_from(w, CTX(4), new, 0);
	/* a message that arrives after the second insertion */
	queue_named(w, &rx[2], KFI_TAGGED, 1, &name);
	KUNIT_ASSERT_EQ(test, 0, post_directed(w, 1, new, CTX(5)));
	expect_from(w, CTX(5), new, 0);
	expect_none(w);
	kfi_world_close(w);
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

/* The completion flags, and the direction of the iterator, of every kind of message */
static void completion_flags(struct kunit *test)
{
	static const u64 kinds[] = {
		KFI_MSG,
		KFI_MSG | KFI_REMOTE_CQ_DATA,
		KFI_MSG | KFI_INVALIDATE,
		KFI_TAGGED,
		KFI_TAGGED | KFI_REMOTE_CQ_DATA,
		KFI_TAGGED | KFI_RMA | KFI_READ,
		KFI_TAGGED | KFI_RMA | KFI_WRITE,
	};
	struct kfi_world *w = kfi_world_open(test, NULL);
	kfi_addr_t peer = kfi_world_peer(w, 5);
	struct kfi_cq_err_entry wc;
	struct kfi_oper *op;
	struct kfi_rx rx;
	char buf[16];
	int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		op = kfi_world_recv(w, kinds[i], buf, sizeof(buf), CTX(i), KFI_COMPLETION);
		op->tag = 9;
		KUNIT_ASSERT_EQ(test, 0, kfi_world_post(w, op));
		make_rx(&rx, kinds[i] | KFI_COMPLETION, 9, 16);
		rx.data = 0x1234;
		rx.src = peer;
		KUNIT_ASSERT_EQ(test, (int)KFI_RX_MATCHED, (int)kfi_rx_arrive(&w->ep, &rx, false));
		KUNIT_EXPECT_EQ(test, !!(kinds[i] & KFI_READ),
				iov_iter_rw(&rx.iter) == ITER_SOURCE);
		KUNIT_EXPECT_EQ(test, (size_t)16, iov_iter_count(&rx.iter));
		kfi_rx_complete(&rx, 0);
		KUNIT_ASSERT_TRUE(test, kfi_world_entry(w, &wc));
		KUNIT_EXPECT_EQ(test, kinds[i] | KFI_RECV, wc.flags);
		KUNIT_EXPECT_EQ(test, 0x1234ULL, wc.data);
		KUNIT_EXPECT_EQ(test, 9ULL, wc.tag);
		KUNIT_EXPECT_EQ(test, peer, wc.src_addr);
		KUNIT_EXPECT_EQ(test, (size_t)16, wc.len);
	}
	kfi_world_close(w);
}

/* Tagged RMA matches only receives that permit its direction; a message matches any. */
static void rma_direction(struct kunit *test)
{
	static const struct { u64 access, flags; bool fits; } cases[] = {
		{ KFI_REMOTE_WRITE, KFI_RMA | KFI_READ, false },
		{ KFI_REMOTE_WRITE, KFI_RMA | KFI_WRITE, true },
		{ KFI_REMOTE_READ, KFI_RMA | KFI_WRITE, false },
		{ KFI_REMOTE_READ, KFI_RMA | KFI_READ, true },
		{ KFI_REMOTE_READ | KFI_REMOTE_WRITE, KFI_RMA | KFI_READ, true },
		{ KFI_REMOTE_READ, 0, true },
	};
	struct kfi_world *w = kfi_world_open(test, NULL);
	enum kfi_rx_verdict verdict;
	struct kfi_oper *op;
	struct kfi_rx rx;
	char buf[8];
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		op = kfi_world_recv(w, KFI_TAGGED, buf, 8, CTX(i), cases[i].access);
		KUNIT_ASSERT_EQ(test, 0, kfi_world_post(w, op));
		make_rx(&rx, KFI_TAGGED | cases[i].flags, 0, 8);
		verdict = kfi_rx_arrive(&w->ep, &rx, false);
		KUNIT_EXPECT_EQ(test, cases[i].fits, verdict == KFI_RX_MATCHED);
		if (verdict == KFI_RX_MATCHED)
			kfi_rx_complete(&rx, 0);
		else
			KUNIT_EXPECT_EQ(test, 0, kfi_match_cancel(&w->ep, CTX(i)));
		if (cases[i].fits)
			expect_entry(w, CTX(i), KFI_TAGGED | KFI_RECV | cases[i].flags, 8, 0);
		else
			expect_entry(w, CTX(i), KFI_TAGGED | KFI_RECV, 0, ECANCELED);
	}
	kfi_world_close(w);
}

static void truncation(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct kfi_cq_err_entry wc;
	struct kfi_rx rx;
	char buf[64];

	KUNIT_ASSERT_EQ(test, 0, kfi_post_msg(w, buf, 64, CTX(1)));
	make_rx(&rx, KFI_MSG, 0, 4096);
	KUNIT_ASSERT_EQ(test, (int)KFI_RX_MATCHED, (int)kfi_rx_arrive(&w->ep, &rx, false));
	KUNIT_EXPECT_EQ(test, (size_t)64, rx.room);
	KUNIT_EXPECT_EQ(test, (size_t)64, iov_iter_count(&rx.iter));
	kfi_rx_complete(&rx, 0);
	KUNIT_ASSERT_TRUE(test, kfi_world_entry(w, &wc));
	KUNIT_EXPECT_EQ(test, KFI_ETRUNC, wc.err);
	KUNIT_EXPECT_EQ(test, (size_t)4096, wc.len);
	KUNIT_EXPECT_EQ(test, (size_t)4032, wc.olen);
	KUNIT_EXPECT_EQ(test, KFI_MSG | KFI_RECV, wc.flags);
	kfi_world_close(w);
}

static void failed_message(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct kfi_rx rx;

	KUNIT_ASSERT_EQ(test, 0, kfi_post_tag(w, 1, 0, CTX(1)));
	make_rx(&rx, KFI_TAGGED, 1, 100);
	KUNIT_ASSERT_EQ(test, (int)KFI_RX_MATCHED, (int)kfi_rx_arrive(&w->ep, &rx, false));
	kfi_rx_complete(&rx, -ECONNRESET);
	expect_entry(w, CTX(1), KFI_TAGGED | KFI_RECV, 0, ECONNRESET);
	expect_none(w);
	kfi_world_close(w);
}

static void cancel_takes_one(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct kfi_rx rx;

	KUNIT_ASSERT_EQ(test, 0, kfi_post_tag(w, 1, 0, CTX(1)));
	KUNIT_ASSERT_EQ(test, 0, kfi_post_tag(w, 1, 0, CTX(2)));
	KUNIT_ASSERT_EQ(test, 0, kfi_post_msg(w, NULL, 0, CTX(3)));
	KUNIT_EXPECT_EQ(test, -ENOENT, kfi_match_cancel(&w->ep, CTX(9)));
	KUNIT_EXPECT_EQ(test, 0, kfi_match_cancel(&w->ep, CTX(1)));
	expect_entry(w, CTX(1), KFI_TAGGED | KFI_RECV, 0, ECANCELED);
	KUNIT_EXPECT_EQ(test, -ENOENT, kfi_match_cancel(&w->ep, CTX(1)));
	expect_tag_to(w, 1, KFI_ADDR_NOTAVAIL, CTX(2));
	/* matched, so it can't be canceled */
	make_rx(&rx, KFI_MSG, 0, 0);
	KUNIT_ASSERT_EQ(test, (int)KFI_RX_MATCHED, (int)kfi_rx_arrive(&w->ep, &rx, false));
	KUNIT_EXPECT_EQ(test, -ENOENT, kfi_match_cancel(&w->ep, CTX(3)));
	kfi_rx_complete(&rx, 0);
	expect_entry(w, CTX(3), KFI_MSG | KFI_RECV, 0, 0);
	expect_none(w);
	kfi_world_close(w);
}

static void flush_ends_what_waits(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct kfi_rx rx;
	char buf[8];

	KUNIT_ASSERT_EQ(test, 0, kfi_post_msg(w, buf, 8, CTX(1)));
	make_rx(&rx, KFI_MSG, 0, 3);
	KUNIT_ASSERT_EQ(test, (int)KFI_RX_MATCHED, (int)kfi_rx_arrive(&w->ep, &rx, false));
	KUNIT_ASSERT_EQ(test, 0, kfi_post_msg(w, buf, 8, CTX(2)));
	KUNIT_ASSERT_EQ(test, 0, kfi_post_tag(w, 3, 0, CTX(3)));
	KUNIT_ASSERT_EQ(test, 0, kfi_post_tag(w, 3, 1, CTX(4)));
	kfi_rx_flush(&w->ep, -ENOTCONN);
	expect_entry(w, CTX(2), KFI_MSG | KFI_RECV, 0, ENOTCONN);
	expect_entry(w, CTX(4), KFI_TAGGED | KFI_RECV, 0, ENOTCONN);
	expect_entry(w, CTX(3), KFI_TAGGED | KFI_RECV, 0, ENOTCONN);
	expect_none(w);
	kfi_rx_complete(&rx, 0);
	expect_entry(w, CTX(1), KFI_MSG | KFI_RECV, 3, 0);
	KUNIT_EXPECT_EQ(test, 0, kfi_post_msg(w, buf, 8, CTX(5)));	/* a flush closes nothing */
	kfi_world_close(w);
}

static void close_refuses_and_returns(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct kfi_rx msg, tag;
	char buf[8];

	make_rx(&tag, KFI_TAGGED, 1, 0);
	KUNIT_ASSERT_EQ(test, (int)KFI_RX_QUEUED, (int)kfi_rx_arrive(&w->ep, &tag, true));
	make_rx(&msg, KFI_MSG, 1, 0);
	KUNIT_ASSERT_EQ(test, (int)KFI_RX_QUEUED, (int)kfi_rx_arrive(&w->ep, &msg, true));
	KUNIT_ASSERT_EQ(test, 0, kfi_post_tag(w, 3, 0, CTX(3)));
	kfi_match_close(&w->ep, -ECANCELED);
	KUNIT_EXPECT_EQ(test, 2, atomic_read(&w->dropped));
	KUNIT_EXPECT_FALSE(test, kfi_rx_unqueue(&msg));
	expect_entry(w, CTX(3), KFI_TAGGED | KFI_RECV, 0, ECANCELED);
	KUNIT_EXPECT_EQ(test, -ESHUTDOWN, kfi_post_msg(w, buf, 8, CTX(1)));
	KUNIT_EXPECT_EQ(test, (int)KFI_RX_CLOSED, (int)kfi_rx_arrive(&w->ep, &msg, true));
	expect_none(w);
	kfi_world_close(w);
	KUNIT_EXPECT_EQ(test, 2, atomic_read(&w->dropped));
}

static void unqueue_races_with_a_receive(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct kfi_rx rx[2];

	make_rx(&rx[0], KFI_TAGGED, 1, 0);
	make_rx(&rx[1], KFI_TAGGED, 1, 0);
	KUNIT_ASSERT_EQ(test, (int)KFI_RX_QUEUED, (int)kfi_rx_arrive(&w->ep, &rx[0], true));
	KUNIT_ASSERT_EQ(test, (int)KFI_RX_QUEUED, (int)kfi_rx_arrive(&w->ep, &rx[1], true));
	KUNIT_EXPECT_TRUE(test, kfi_rx_unqueue(&rx[0]));
	KUNIT_EXPECT_FALSE(test, kfi_rx_unqueue(&rx[0]));
	w->hold = true;
	KUNIT_ASSERT_EQ(test, 0, kfi_post_tag(w, 1, 0, CTX(1)));
	KUNIT_ASSERT_EQ(test, 1u, w->nr_held);
	KUNIT_EXPECT_PTR_EQ(test, &rx[1], w->held[0]);
	KUNIT_EXPECT_FALSE(test, kfi_rx_unqueue(&rx[1]));
	kfi_rx_complete(&rx[1], -EHOSTUNREACH);
	expect_entry(w, CTX(1), KFI_TAGGED | KFI_RECV, 0, EHOSTUNREACH);
	kfi_world_close(w);
}

static void statistics(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct kfi_stats sum = {};
	struct kfi_rx rx[2];
	char buf[10];
	int cpu;

	make_rx(&rx[0], KFI_MSG, 0, 10);
	KUNIT_ASSERT_EQ(test, (int)KFI_RX_QUEUED, (int)kfi_rx_arrive(&w->ep, &rx[0], true));
	KUNIT_ASSERT_EQ(test, 0, kfi_post_msg(w, buf, 10, CTX(1)));
	KUNIT_ASSERT_EQ(test, 0, kfi_post_msg(w, buf, 10, CTX(2)));
	make_rx(&rx[1], KFI_MSG, 0, 10);
	KUNIT_ASSERT_EQ(test, (int)KFI_RX_MATCHED, (int)kfi_rx_arrive(&w->ep, &rx[1], true));
	kfi_rx_complete(&rx[1], -EIO);
	KUNIT_ASSERT_EQ(test, 0, kfi_remote_rma(&w->ep, NULL, 0, KFI_REMOTE_WRITE, 77, 0, 0));
	for_each_possible_cpu(cpu) {
		struct kfi_stats *s = per_cpu_ptr(w->ep.stats, cpu);

		sum.unexpected += s->unexpected;
		sum.rx_ops += s->rx_ops;
		sum.rx_bytes += s->rx_bytes;
		sum.errors += s->errors;
		sum.rma_in_ops += s->rma_in_ops;
		sum.rma_in_bytes += s->rma_in_bytes;
	}
	KUNIT_EXPECT_EQ(test, 1ULL, sum.unexpected);
	KUNIT_EXPECT_EQ(test, 1ULL, sum.rx_ops);
	KUNIT_EXPECT_EQ(test, 10ULL, sum.rx_bytes);
	KUNIT_EXPECT_EQ(test, 1ULL, sum.errors);
	KUNIT_EXPECT_EQ(test, 1ULL, sum.rma_in_ops);
	KUNIT_EXPECT_EQ(test, 77ULL, sum.rma_in_bytes);
	kfi_world_close(w);
}

static void remote_cq_data_of_rma(struct kunit *test)
{
	struct kfi_world_opts opts = { .cq_size = 1 };
	struct kfi_world *w = kfi_world_open(test, &opts);
	u64 flags = KFI_REMOTE_WRITE | KFI_REMOTE_CQ_DATA;
	struct kfi_cq_err_entry wc;

	KUNIT_EXPECT_EQ(test, 0, kfi_remote_rma(&w->ep, NULL, 0, KFI_REMOTE_READ, 8, 0, 3));
	expect_none(w);
	KUNIT_EXPECT_EQ(test, 0, kfi_remote_rma(&w->ep, NULL, 0, flags, 8, 0xabc, 3));
	KUNIT_EXPECT_EQ(test, -EAGAIN, kfi_remote_rma(&w->ep, NULL, 0, flags, 8, 0xdef, 3));
	KUNIT_ASSERT_TRUE(test, kfi_world_entry(w, &wc));
	KUNIT_EXPECT_EQ(test, KFI_RMA | KFI_REMOTE_WRITE | KFI_REMOTE_CQ_DATA, wc.flags);
	KUNIT_EXPECT_EQ(test, 0xabcULL, wc.data);
	KUNIT_EXPECT_EQ(test, 3ULL, wc.src_addr);
	KUNIT_EXPECT_EQ(test, 0, kfi_remote_rma(&w->ep, NULL, 0, flags, 8, 0xdef, 3));
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

/*
 * A match visits about as many receives with 10,000 posted as with 10. Visits are counted, not
 * timed.
 */
static void cost_is_flat(struct kunit *test)
{
	struct kfi_world_opts opts = { .depth = 10000, .cq_size = 10000 };
	u32 mean, most, patterns, i;

	for (patterns = 0; patterns < 3; patterns++) {
		struct kfi_world *w = kfi_world_open(test, &opts);

		for (i = 0; i < 10000; i++) {
			u64 tag = patterns == 0 ? i :
				  patterns == 1 ? (u64)i << 32 :
						  (u64)i << 20 | 0xfff;

			KUNIT_ASSERT_EQ(test, 0, kfi_post_tag(w, tag, 0, CTX(i)));
		}
		walk_length(w, 10000, &mean, &most);
		kunit_info(test, "pattern %u: mean %u/100, most %u\n", patterns, mean, most);
		KUNIT_EXPECT_LE(test, mean, 200u);
		KUNIT_EXPECT_LE(test, most, 12u);
		kfi_world_close(w);
	}
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
	peek(w, KFI_PEEK, 1, KFI_ADDR_UNSPEC, CTX(3));
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

static struct kunit_case match_cases[] = {
	KUNIT_CASE(posted_first_matched_first),
	KUNIT_CASE(unexpected_oldest_first),
	KUNIT_CASE(exact_and_wild_keep_posting_order),
	KUNIT_CASE(tagged_and_untagged_do_not_mix),
	KUNIT_CASE(directed),
	KUNIT_CASE(handle_comes_late),
	KUNIT_CASE(handle_changes),
	KUNIT_CASE(handle_while_stalled),
	KUNIT_CASE(directed_needs_the_capability),
	KUNIT_CASE(completion_flags),
	KUNIT_CASE(rma_direction),
	KUNIT_CASE(truncation),
	KUNIT_CASE(failed_message),
	KUNIT_CASE(cancel_takes_one),
	KUNIT_CASE(flush_ends_what_waits),
	KUNIT_CASE(close_refuses_and_returns),
	KUNIT_CASE(unqueue_races_with_a_receive),
	KUNIT_CASE(statistics),
	KUNIT_CASE(remote_cq_data_of_rma),
	KUNIT_CASE_SLOW(cost_is_flat),
	KUNIT_CASE_SLOW(long_searches),
	KUNIT_CASE(searches_end),
	KUNIT_CASE_SLOW(no_bad_strides),
	{}
};

static struct kunit_suite match_suite = {
	.name = "kfi_match",
	.test_cases = match_cases,
};
kunit_test_suite(match_suite);
