// SPDX-License-Identifier: GPL-2.0
/*
 * Address vectors: removals, ranges of text addresses, and writers and readers at the same time.
 */
#include <linux/slab.h>
#include "../../kfi/av.h"
#include "crew.h"
#include "fixture.h"

static u32 removed_index;
static int notified;

static void note_removed(struct kfi_ep *ep, u32 index)
{
	removed_index = index;
	notified++;
}

/*
 * addr_removed() is called for each endpoint from kfi_av_join() to kfi_av_leave(), once for an
 * index, when the last handle of the address was removed.
 */
static void removal_is_notified(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	kfi_addr_t other = kfi_world_peer(w, 4), h = kfi_world_peer(w, 5);
	struct kfi_ep *ep = kfi_test_zalloc(test, sizeof(*ep));

	kfi_world_peer(w, 5);
	w->ops.addr_removed = note_removed;
	ep->ops = &w->ops;
	notified = 0;
	kfi_av_join(w->ep.av, ep);
	KUNIT_EXPECT_PTR_EQ(test, w->ep.av, ep->av);
	KUNIT_EXPECT_EQ(test, 0, kfi_av_remove(w->av, &h, 1, 0));
	KUNIT_EXPECT_EQ(test, 0, notified);
	KUNIT_EXPECT_EQ(test, 0, kfi_av_remove(w->av, &h, 1, 0));
	KUNIT_EXPECT_EQ(test, 1, notified);
	KUNIT_EXPECT_EQ(test, (u32)h, removed_index);
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_av_remove(w->av, &h, 1, 0));
	kfi_av_leave(w->ep.av, ep);
	kfi_obj_put(kfi_av_obj(w->ep.av));
	KUNIT_EXPECT_EQ(test, 0, kfi_av_remove(w->av, &other, 1, 0));
	KUNIT_EXPECT_EQ(test, 1, notified);
	kfi_world_close(w);
}

static void removed_index_rests(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	kfi_addr_t last = KFI_ADDR_NOTAVAIL;
	u64 i;

	for (i = 1; i <= 300; i++) {
		kfi_addr_t h = kfi_world_peer(w, i);

		KUNIT_ASSERT_EQ(test, i - 1, h);
		KUNIT_ASSERT_NE(test, last, h);
		KUNIT_ASSERT_EQ(test, 0, kfi_av_remove(w->av, &h, 1, 0));
		last = h;
	}
	kfi_world_close(w);
}

static const char *asked[8];
static char asked_text[8][48];
static int nr_asked;

static int record_resolve(struct kfi_domain *domain, const char *node, const char *service,
			  void *addr)
{
	u64 n = nr_asked + 1;

	if (nr_asked == ARRAY_SIZE(asked))
		return -EINVAL;
	snprintf(asked_text[nr_asked], sizeof(asked_text[0]), "%s:%s", node, service ?: "-");
	asked[nr_asked] = asked_text[nr_asked];
	nr_asked++;
	memcpy(addr, &n, sizeof(n));
	return sizeof(n);
}

static void ranges(struct kunit *test)
{
	static const struct {
		const char *node, *svc;
		size_t nodes, svcs;
		const char *want[4];
	} rows[] = {
		{ "10.0.0.255",
		  "5000",
		  2,
		  2,
		  { "10.0.0.255:5000", "10.0.0.255:5001", "10.0.1.0:5000", "10.0.1.0:5001" } },
		{ "fe80::ffff", "1", 2, 1, { "fe80::ffff:1", "fe80::1:0:1" } },
		{ "node09", "9", 2, 2, { "node09:9", "node09:10", "node10:9", "node10:10" } },
		{ "host", NULL, 1, 1, { "host:-" } },
	};
	static const char * const last[] = {
		"host", "255.255.255.255", "fe80::ffff:ffff:ffff:ffff", "n18446744073709551615",
	};
	struct kfi_world *w = kfi_world_open(test, NULL);
	kfi_addr_t h[4];
	int r, i;

	w->ops.resolve = record_resolve;
	for (r = 0; r < ARRAY_SIZE(rows); r++) {
		int n = rows[r].nodes * rows[r].svcs;

		nr_asked = 0;
		KUNIT_EXPECT_EQ(test, n,
				kfi_av_insertsym(w->av, rows[r].node, rows[r].nodes, rows[r].svc,
						 rows[r].svcs, h, 0, NULL));
		KUNIT_ASSERT_EQ(test, n, nr_asked);
		for (i = 0; i < n; i++)
			KUNIT_EXPECT_STREQ(test, rows[r].want[i], asked[i]);
	}
	/* a name without a number at its end can't be counted up, nor can the last address */
	for (r = 0; r < ARRAY_SIZE(last); r++) {
		nr_asked = 0;
		KUNIT_EXPECT_EQ(test, 1, kfi_av_insertsym(w->av, last[r], 2, "1", 1, h, 0, NULL));
		KUNIT_EXPECT_EQ(test, KFI_ADDR_NOTAVAIL, h[1]);
	}
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_av_insertsym(w->av, "a1", 0, "1", 1, h, 0, NULL));
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_av_insertsym(w->av, "a1", SIZE_MAX, "1", 3, h, 0, NULL));
	kfi_world_close(w);
}

/* ---- several writers ---- */

#define CLUB_NAMES	12
#define CLUB_STEPS	4000
#define CLUB_THREADS	4

/**
 * struct club - threads that insert and remove the same addresses, each the ones that it has
 * inserted
 * @wrong: look-ups that missed an address which was inserted, or found the wrong one
 * @met: look-ups that found an address which other threads may have inserted
 */
struct club {
	struct kfi_world	*w;
	atomic_t		wrong, met;
};

/* Look up, in both directions, an address that this thread has inserted. */
static void club_check(struct club *c, u64 addr, kfi_addr_t h)
{
	u64 got = 0;

	local_bh_disable();
	if (kfi_av_addr(c->w->ep.av, h, &got) != sizeof(got) || got != addr ||
	    kfi_av_reverse(c->w->ep.av, &addr) != h)
		atomic_inc(&c->wrong);
	local_bh_enable();
}

/* Look up an address that other threads may remove: the result is nothing, or right. */
static void club_peek(struct club *c, u64 addr)
{
	u64 got = 0;
	kfi_addr_t h;

	local_bh_disable();
	h = kfi_av_reverse(c->w->ep.av, &addr);
	if (h != KFI_ADDR_NOTAVAIL && kfi_av_addr(c->w->ep.av, h, &got) > 0) {
		atomic_inc(&c->met);
		if (got != addr)
			atomic_inc(&c->wrong);
	}
	local_bh_enable();
}

static void club_thread(void *arg, unsigned int id, struct rnd_state *rnd)
{
	kfi_addr_t mine[CLUB_NAMES];
	u32 uses[CLUB_NAMES] = {}, i, step;
	struct club *c = arg;
	u64 addr;

	for (step = 0; step < CLUB_STEPS; step++) {
		i = prandom_u32_state(rnd) % CLUB_NAMES;
		addr = 100 + i;
		if (prandom_u32_state(rnd) % 2 && uses[i] < 3) {
			if (kfi_av_insert(c->w->av, &addr, 1, &mine[i], 0, NULL) != 1)
				atomic_inc(&c->wrong);
			uses[i]++;
		} else if (uses[i]) {
			club_check(c, addr, mine[i]);
			uses[i]--;
			if (kfi_av_remove(c->w->av, &mine[i], 1, 0))
				atomic_inc(&c->wrong);
		}
		crew_dawdle(rnd);
		if (uses[i])
			club_check(c, addr, mine[i]);
		club_peek(c, 100 + prandom_u32_state(rnd) % CLUB_NAMES);
		crew_turn();
	}
	for (i = 0; i < CLUB_NAMES; i++)
		while (uses[i]--)
			if (kfi_av_remove(c->w->av, &mine[i], 1, 0))
				atomic_inc(&c->wrong);
}

/* A thread finds each address that it has inserted and not removed. At the end none is left. */
static void many_writers(struct kunit *test)
{
	struct club c = { .w = kfi_world_open(test, NULL) };
	u64 addr;

	crew_run(test, CLUB_THREADS, club_thread, &c);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&c.wrong));
	KUNIT_EXPECT_GT(test, atomic_read(&c.met), CLUB_STEPS / 10);
	for (addr = 100; addr < 100 + CLUB_NAMES; addr++)
		KUNIT_EXPECT_EQ(test, KFI_ADDR_NOTAVAIL, kfi_av_reverse(c.w->ep.av, &addr));
	kfi_world_close(c.w);
}

KFI_SUITE(kfi_av,
	KUNIT_CASE(removal_is_notified),
	KUNIT_CASE(removed_index_rests),
	KUNIT_CASE(ranges),
	KUNIT_CASE_SLOW(many_writers));
