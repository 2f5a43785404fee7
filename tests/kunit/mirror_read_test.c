// SPDX-License-Identifier: GPL-2.0
/*
 * Reads of a node of kfi_mirror that has been promoted: the primary may have died with a write
 * that only this copy has.
 */
#include "mirror_world.h"

/* A copy that may be promoted next has to be the same, and to know the generation. */
static void read_waits(struct kunit *test)
{
	struct mw *w = mw_make(test, 2);

	mw_primary(w, 6);
	mw_read(w, 0);
	mw_join(w, 0, 5);
	mw_synced_ok(w, 0);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->done, 0);
	mw_join(w, 1, 5);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->done, 0);
	mw_synced_ok(w, 1);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->done, 1);
	/* once is enough: a peer that is lost later has the same, or less, and is not promoted */
	mw_say(w, 1, (struct kfm_msg) { .type = KFM_BYE });
	mw_read(w, 1);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->done, 3);
}

/* A copy that is being resynchronised, and one without which this node goes on, hold up no read. */
static void read_passes(struct kunit *test)
{
	struct mw *w = mw_make(test, 2);

	mw_primary(w, 6);
	mw_read(w, 0);
	KUNIT_EXPECT_EQ(test, mw_order(w, "fenced", "0"), 0);
	kfm_oos_set(&w->peers[1], 10);
	mw_run(w);
	mw_state(w, 1, KFM_UPTODATE, 5, 0);
	KUNIT_EXPECT_EQ(test, w->sent[1][KFM_ATTACH].arg, 1);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->done, 0);	/* it is not yet known that the copy is marked */
	mw_grant(w, 1);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->done, 1);
}

/* A read that is held ends with the role, with the metadata device, or goes back to dm. */
static void read_ends(struct kunit *test)
{
	struct mw *w = mw_make(test, 1);

	mw_primary(w, 6);
	mw_read(w, 0);
	mw_run(w);
	w->m.noflush = true;
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->requeued, 1);
	w->m.noflush = false;
	mw_read(w, 1);
	w->m.meta_failed = true;
	mw_run(w);
	w->m.meta_failed = false;
	KUNIT_EXPECT_EQ(test, w->flight, 0);
	mw_read(w, 2);
	KUNIT_EXPECT_EQ(test, mw_order(w, "demote", NULL), 0);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->flight, 0);
	KUNIT_EXPECT_EQ(test, w->done, 0);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(read_waits),
	KUNIT_CASE(read_passes),
	KUNIT_CASE(read_ends),
	{}
};

static struct kunit_suite suite = {
	.name = "kfi_mirror_read",
	.test_cases = cases,
};
kunit_test_suite(suite);
