// SPDX-License-Identifier: GPL-2.0
/*
 * Multi-receive buffers: where messages land, which completion releases the buffer, and what
 * happens when the queue is full.
 */
#include <linux/slab.h>
#include "../../kfi/cq.h"
#include "crew.h"
#include "fixture.h"

#define CTX(n)	((void *)(unsigned long)(n))
#define PART	(KFI_MSG | KFI_RECV)
#define LAST	(KFI_MSG | KFI_RECV | KFI_MULTI_RECV)

static char area[4096];

static enum kfi_rx_verdict arrive(struct kfi_world *w, struct kfi_rx *rx, size_t len, bool queue)
{
	*rx = (struct kfi_rx) { .flags = KFI_MSG, .len = len, .src = KFI_ADDR_NOTAVAIL };
	return kfi_rx_arrive(&w->ep, rx, queue);
}

static void expect(struct kfi_world *w, void *context, u64 flags, size_t len, void *buf, int err)
{
	struct kfi_cq_err_entry wc;

	KUNIT_ASSERT_TRUE(w->test, kfi_world_entry(w, &wc));
	KUNIT_EXPECT_PTR_EQ(w->test, context, wc.op_context);
	KUNIT_EXPECT_EQ(w->test, flags, wc.flags);
	KUNIT_EXPECT_EQ(w->test, len, wc.len);
	KUNIT_EXPECT_PTR_EQ(w->test, buf, wc.buf);
	KUNIT_EXPECT_EQ(w->test, err, wc.err);
}

static int slots;

static struct kfi_world *world(struct kunit *test, size_t min, u32 cq_size)
{
	struct kfi_world_opts opts = { .cq_size = cq_size };
	struct kfi_world *w = kfi_world_open(test, &opts);

	w->ep.min_multi_recv = min;
	slots = atomic_read(&kfi_to_cq(w->cq)->free);
	return w;
}

/* All operations have ended and all entries were read: every slot of the queue is free again. */
static void end(struct kfi_world *w)
{
	struct kfi_cq_err_entry wc;

	KUNIT_EXPECT_FALSE(w->test, kfi_world_entry(w, &wc));
	KUNIT_EXPECT_EQ(w->test, slots, atomic_read(&kfi_to_cq(w->cq)->free));
	kfi_world_close(w);
}

/* The completion that is written last has the flag, whichever message it belongs to. */
static void any_order_of_completion(struct kunit *test)
{
	static const u8 orders[][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
					{ 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
	struct kfi_world *w = world(test, 11, 0);
	struct kfi_rx rx[3];
	int o, i;

	for (o = 0; o < ARRAY_SIZE(orders); o++) {
		KUNIT_ASSERT_EQ(test, 0, kfi_post_multi(w, area, 40, CTX(o)));
		for (i = 0; i < 3; i++)
			KUNIT_ASSERT_EQ(test, (int)KFI_RX_MATCHED,
					(int)arrive(w, &rx[i], 10, false));
		for (i = 0; i < 3; i++) {
			kfi_rx_complete(&rx[orders[o][i]], 0);
			expect(w, CTX(o), i == 2 ? LAST : PART, 10, area + 10 * orders[o][i], 0);
		}
	}
	end(w);
}

/* @n messages wait. A buffer takes the first one, and the last free slot of the queue. */
static void stall(struct kfi_world *w, struct kfi_rx *rx, int n)
{
	int i, matched = atomic_read(&w->matched);

	for (i = 0; i < n; i++)
		KUNIT_ASSERT_EQ(w->test, (int)KFI_RX_QUEUED, (int)arrive(w, &rx[i], 10, true));
	KUNIT_ASSERT_EQ(w->test, 0, kfi_post_multi(w, area, 100, CTX(1)));
	KUNIT_ASSERT_EQ(w->test, matched + 1, atomic_read(&w->matched));
}

static void closing_while_stalled(struct kunit *test)
{
	struct kfi_world *w = world(test, 1, 2);
	struct kfi_rx rx[3];

	stall(w, rx, 3);
	kfi_match_close(&w->ep, -ECANCELED);
	KUNIT_EXPECT_EQ(test, 2, atomic_read(&w->dropped));
	expect(w, CTX(1), PART, 10, area, 0);
	expect(w, CTX(1), LAST, 0, NULL, ECANCELED);
	/* the next life of the endpoint stalls anew, and waits for a slot anew */
	kfi_match_reopen(&w->ep);
	stall(w, rx, 2);
	expect(w, CTX(1), PART, 10, area, 0);
	flush_work(&kfi_to_cq(w->cq)->space_work);
	KUNIT_EXPECT_EQ(test, 3, atomic_read(&w->matched));
	kfi_world_close(w);
}

/*
 * A canceled buffer does not hold up others while the queue is full: a receive behind it (@behind)
 * takes the message that waits, and one that is posted later takes the next message.
 */
static void cancel_stalled(struct kunit *test, bool behind)
{
	struct kfi_world *w = world(test, 1, 4);
	struct kfi_oper *op = kfi_world_recv(w, KFI_MSG, area + 100, 10, CTX(2), 0);
	struct kfi_oper *next = kfi_world_recv(w, KFI_MSG, area + 110, 10, CTX(3), 0);
	struct kfi_rx rx[2], late;

	stall(w, rx, 2);
	if (behind)
		KUNIT_ASSERT_EQ(test, 0, kfi_world_post(w, op));
	KUNIT_ASSERT_EQ(test, 0, kfi_match_cancel(&w->ep, CTX(1)));
	flush_work(&w->ep.match.work);
	KUNIT_EXPECT_EQ(test, 1 + behind, atomic_read(&w->matched));
	if (!behind)
		KUNIT_ASSERT_EQ(test, 0, kfi_world_post(w, op));
	KUNIT_ASSERT_EQ(test, 0, kfi_world_post(w, next));
	KUNIT_EXPECT_EQ(test, 2, atomic_read(&w->matched));
	KUNIT_ASSERT_EQ(test, (int)KFI_RX_MATCHED, (int)arrive(w, &late, 10, true));
	kfi_rx_complete(&late, 0);
	expect(w, CTX(1), PART, 10, area, 0);
	expect(w, CTX(1), LAST, 0, NULL, ECANCELED);
	expect(w, CTX(2), PART, 10, area + 100, 0);
	expect(w, CTX(3), PART, 10, area + 110, 0);
	end(w);
}

static void cancel_while_stalled(struct kunit *test)
{
	cancel_stalled(test, false);
	cancel_stalled(test, true);
}

#define ROUNDS	3000

/**
 * struct tug - a thread cancels buffers which another thread fills
 * @arrived: rounds in which a message was in progress
 * @cancelled: rounds in which the buffer was canceled
 * @bare: releases without a message or ECANCELED
 * @lost: messages that did not match, and errors that did not release the buffer
 * @releases: rounds in which exactly one entry released the buffer
 * @refused: cancels that found no buffer
 */
struct tug {
	struct kfi_world	*w;
	atomic_t		arrived, cancelled;
	unsigned int		bare, lost, releases, refused;
};

static void tug_read(struct tug *g)
{
	struct kfi_cq_err_entry wc;
	unsigned int last = 0;

	while (kfi_world_entry(g->w, &wc)) {
		last += !!(wc.flags & KFI_MULTI_RECV);
		g->bare += wc.flags == KFI_MULTI_RECV;
		g->lost += wc.err && wc.flags != LAST;
	}
	g->releases += last == 1;
}

static void tug(void *arg, unsigned int id, struct rnd_state *rnd)
{
	struct tug *g = arg;
	struct kfi_rx rx;
	bool matched;
	int i;

	for (i = 1; i <= ROUNDS; i++) {
		if (id) {
			while (atomic_read(&g->arrived) < i)
				cpu_relax();
			crew_dawdle(rnd);
			g->refused += kfi_match_cancel(&g->w->ep, CTX(i)) != 0;
			atomic_set(&g->cancelled, i);
			continue;
		}
		matched = !kfi_post_multi(g->w, area, 100, CTX(i)) &&
			  arrive(g->w, &rx, 10, false) == KFI_RX_MATCHED;
		atomic_set(&g->arrived, i);
		crew_dawdle(rnd);
		if (matched)
			kfi_rx_complete(&rx, 0);
		g->lost += !matched;
		while (atomic_read(&g->cancelled) < i)
			cpu_relax();
		tug_read(g);
	}
}

/*
 * Whenever a buffer is canceled, one entry releases it: that of a message, or one with ECANCELED.
 */
static void cancel_in_the_middle(struct kunit *test)
{
	struct tug g = {};

	if (num_online_cpus() < 2)
		kunit_skip(test, "one CPU: nobody cancels in the middle of anything");
	g.w = world(test, 1, 0);
	crew_run(test, 2, tug, &g);
	KUNIT_EXPECT_EQ(test, ROUNDS, g.releases);
	KUNIT_EXPECT_EQ(test, 0, g.refused);
	KUNIT_EXPECT_EQ(test, 0, g.bare);
	KUNIT_EXPECT_EQ(test, 0, g.lost);
	end(g.w);
}

KFI_SUITE(kfi_multi,
	KUNIT_CASE(any_order_of_completion),
	KUNIT_CASE(closing_while_stalled),
	KUNIT_CASE(cancel_while_stalled),
	KUNIT_CASE(cancel_in_the_middle));
