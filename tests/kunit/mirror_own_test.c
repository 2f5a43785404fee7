// SPDX-License-Identifier: GPL-2.0
/* The log of a primary whose leg can tear a sector, see ulps/mirror/own.c. */
#include "mirror_world.h"

/* A primary in sync with one peer, with a log of its own */
static struct mw *own_make(struct kunit *test)
{
	struct mw *w = mw_synced(test);

	mw_leg_tears(w);
	return w;
}

/* Write @n times, one after the other, and let all of it end. */
static void own_write_many(struct mw *w, unsigned int n, u32 bytes)
{
	while (n--) {
		mw_write_at(w, 1, (u64)(n % 4 + 1) << w->m.extent_shift, bytes);
		mw_run(w);
		mw_ack_run(w, 0);
	}
}

/*
 * A write that can't be stored does not reach the leg, and fails, as do those behind it: a replay
 * would not get to their records.
 */
static void own_not_stored(struct kunit *test)
{
	struct mw *w = own_make(test);

	w->store_err = -ESTALE;
	mw_write(w, 0, 1);
	mw_write_run(w, 1, 2);
	mw_run(w);
	mw_write_run(w, 2, 3);
	KUNIT_EXPECT_EQ(test, w->stored, 0);
	KUNIT_EXPECT_EQ(test, w->done, 0);
	KUNIT_EXPECT_EQ(test, w->flight, 0);
	KUNIT_EXPECT_TRUE(test, w->m.leg_failed);
	KUNIT_EXPECT_EQ(test, w->m.bios, 0);
}

/* Nothing is written to a place of the log that is bad, or has moved and may be somebody else's. */
static void own_unsound(struct kunit *test)
{
	struct mw *w = own_make(test);

	w->unsound = true;
	mw_write(w, 0, 1);
	mw_write_run(w, 1, 2);
	KUNIT_EXPECT_NULL(test, memchr_inv(w->m.log.ring, 0, KFM_RING_MIN));
	w->unsound = false;
	mw_write_run(w, 2, 3);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->stored, 0);
	KUNIT_EXPECT_EQ(test, w->done, 0);
	KUNIT_EXPECT_EQ(test, w->flight, 0);
	KUNIT_EXPECT_TRUE(test, w->m.leg_failed);
	KUNIT_EXPECT_EQ(test, w->m.bios, 0);
}

/* The leg has not ended a write, and others behind it half fill the log. */
static struct mw *own_half_full(struct kunit *test)
{
	struct mw *w = own_make(test);

	own_write_many(w, 1, KFM_WRITE_MAX);
	w->leg_waits = true;
	mw_write_at(w, 0, 0, KFM_WRITE_MAX);
	mw_run(w);
	w->leg_waits = false;
	while (!kfm_own_due(&w->m))
		own_write_many(w, 1, KFM_WRITE_MAX);
	KUNIT_EXPECT_EQ(test, w->m.log.head.seq, 2);
	return w;
}

/* A failed write to the leg may leave half a sector: its record stays for the next replay. */
static void own_leg_fails(struct kunit *test)
{
	struct mw *w = own_half_full(test);

	mw_leg_ends(w, BLK_STS_IOERR);
	KUNIT_EXPECT_EQ(test, kfm_own_trim(&w->m), 0);
	KUNIT_EXPECT_EQ(test, w->m.log.head.seq, 2);
	mw_run(w);
	KUNIT_EXPECT_TRUE(test, w->m.leg_failed);
	KUNIT_EXPECT_EQ(test, kfm_own_trim(&w->m), -EIO);
	KUNIT_EXPECT_EQ(test, mw_order(w, "demote", NULL), 0);
	KUNIT_EXPECT_EQ(test, w->m.log.head.seq, 2);
}

/* The same if dm takes the write back as soon as it has failed */
static void own_leg_fails_requeued(struct kunit *test)
{
	struct mw *w = own_half_full(test);

	w->m.noflush = true;
	w->leg_fails_late = true;
	mw_run(w);
	KUNIT_EXPECT_TRUE(test, w->requeued & BIT(0));
	KUNIT_EXPECT_TRUE(test, w->m.leg_failed);
	KUNIT_EXPECT_EQ(test, w->m.log.head.seq, 2);
}

/* An orderly end leaves an empty log, so no replay overwrites what is written meanwhile. */
static void own_ends(struct kunit *test)
{
	struct kfm_cmd suspend = { .ret = 1 };
	struct mw *w = own_make(test);
	u64 id = w->m.log.head.id;

	own_write_many(w, 3, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, w->m.log.own.next.seq, 4);
	KUNIT_EXPECT_EQ(test, mw_order(w, "demote", NULL), 0);
	KUNIT_EXPECT_EQ(test, w->m.log.own.next.seq, 1);
	KUNIT_EXPECT_NE(test, w->m.log.head.id, id);

	w = own_make(test);
	id = w->m.log.head.id;
	own_write_many(w, 3, PAGE_SIZE);
	init_completion(&suspend.done);
	list_add_tail(&suspend.entry, &w->m.cmds);
	kfm_commands(&w->m);
	KUNIT_EXPECT_EQ(test, suspend.ret, 0);
	KUNIT_EXPECT_EQ(test, w->m.log.own.next.seq, 1);
	KUNIT_EXPECT_NE(test, w->m.log.head.id, id);
}

/* If an empty log can't be begun, nothing is stored in one that a replay would not find. */
static void own_ends_badly(struct kunit *test)
{
	struct mw *w = own_make(test);

	own_write_many(w, 3, PAGE_SIZE);
	w->start_err = -EIO;
	KUNIT_EXPECT_EQ(test, mw_order(w, "demote", NULL), -EIO);
	w->done = 0;
	own_write_many(w, 1, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, w->stored, 0);
	KUNIT_EXPECT_EQ(test, w->done, 0);
	KUNIT_EXPECT_EQ(test, w->flight, 0);
}

/* After an error of the metadata no record follows the places of writes that did not begin. */
static void own_meta_fails(struct kunit *test)
{
	struct mw *w = own_make(test);

	w->io_err = -EIO;
	mw_write_run(w, 0, 1);
	KUNIT_EXPECT_EQ(test, w->done, 0);
	KUNIT_EXPECT_EQ(test, w->flight, 0);
	KUNIT_EXPECT_EQ(test, w->stored, 0);
	KUNIT_EXPECT_TRUE(test, w->m.meta_failed);
	KUNIT_EXPECT_EQ(test, kfm_own_trim(&w->m), -EIO);
}

/* If the head can't be stored, all writes fail, and no record is overwritten. */
static void own_head_fails(struct kunit *test)
{
	struct mw *w = own_make(test);
	u64 tail = w->m.log.own.tail;

	own_write_many(w, 7, KFM_WRITE_MAX);
	w->io_err = -EIO;
	own_write_many(w, 1, KFM_WRITE_MAX);
	w->done = 0;
	mw_write_run(w, 0, 1);
	KUNIT_EXPECT_EQ(test, w->done, 0);
	KUNIT_EXPECT_EQ(test, w->flight, 0);
	KUNIT_EXPECT_TRUE(test, w->m.leg_failed);
	KUNIT_EXPECT_EQ(test, w->m.bios, 0);
	KUNIT_EXPECT_EQ(test, w->m.log.own.tail, tail);
}

KFI_SUITE(kfi_mirror_own,
	KUNIT_CASE(own_not_stored),
	KUNIT_CASE(own_unsound),
	KUNIT_CASE(own_leg_fails),
	KUNIT_CASE(own_leg_fails_requeued),
	KUNIT_CASE(own_ends),
	KUNIT_CASE(own_ends_badly),
	KUNIT_CASE(own_meta_fails),
	KUNIT_CASE(own_head_fails));
