// SPDX-License-Identifier: GPL-2.0
/* A primary of kfi_mirror whose leg has failed goes on over the network, see ulps/mirror/leg.c. */
#include <linux/crc32c.h>
#include "mirror_world.h"

/* Write 0 is on its way to the leg of a primary with peers in sync, which may do without it. */
static struct mw *failing(struct kunit *test, unsigned int peers, bool cache)
{
	struct mw *w = mw_with_slots(test, peers, cache);

	w->m.open = true;
	w->m.detach = true;
	w->leg_waits = true;
	mw_write_run(w, 0, 20);
	return w;
}

static struct mw *detached(struct kunit *test, unsigned int peers, bool cache)
{
	struct mw *w = failing(test, peers, cache);

	mw_leg_ends(w, BLK_STS_IOERR);
	mw_run(w);
	mw_answers(w);
	KUNIT_EXPECT_TRUE(test, w->done == 1 && w->m.detached && !w->m.leg_failed);
	KUNIT_EXPECT_EQ(test, w->sent[0][KFM_SYNCED].gens.history[0], 6);
	return w;
}

static void lose(struct mw *w, unsigned int peer)
{
	mw_say(w, peer, (struct kfm_msg) { .type = KFM_BYE });
	w->peers[peer].next = jiffies;
	w->peers[peer].outage = 1;
	mw_run(w);
}

/* Without the word, or without its metadata, also later, the node fails as it would else. */
static void detach_refused(struct kunit *test)
{
	struct mw *w;
	int i;

	for (i = 0; i < 3; i++) {
		w = i < 2 ? failing(test, 1, false) : detached(test, 1, false);
		w->m.detach = i;
		w->io_left = i == 1;
		if (i < 2)
			mw_leg_ends(w, BLK_STS_IOERR);
		else
			mw_write(w, 2, 20);
		mw_run(w);
		w->io_err = i == 2 ? -EIO : w->io_err;
		mw_write(w, 1, 40);	/* a new extent, for which the metadata is written */
		mw_answers(w);
		KUNIT_EXPECT_TRUE(test, w->m.leg_failed && w->m.detached == (i == 2));
		KUNIT_EXPECT_EQ(test, w->flight | (w->done & BIT(1)), 0);
		KUNIT_EXPECT_TRUE(test, i < 2 || !w->peers[0].oos_count);
		KUNIT_EXPECT_EQ(test, w->peers[0].state, KFM_SESSION_DOWN);
	}
}

/*
 * The last peer that has the data is not done without, whatever the policy is, whoever says so.
 * When the last one is back the policy is applied again.
 * After a loss of power the copy is not promoted.
 */
static void detach_last(struct kunit *test)
{
	struct mw *w = detached(test, 2, false);
	int policy;

	lose(w, 1);
	for (policy = KFM_STOP; policy <= KFM_ALONE; policy++) {
		w->m.policy = policy;
		mw_say(w, 0, (struct kfm_msg) { .type = KFM_LEAVE });
		KUNIT_EXPECT_EQ(test, w->sent[0][KFM_REFUSED].arg, KFM_R_ONLY);
		KUNIT_EXPECT_EQ(test, w->peers[0].state, KFM_SESSION_DOWN);
		lose(w, 0);
		if (policy == KFM_FENCE)
			KUNIT_EXPECT_EQ(test, mw_order(w, "fenced", "1"), -EIO);
		w->peers[1].down -= 2 * w->m.timeout;
		mw_run(w);
		KUNIT_EXPECT_FALSE(test, kfm_is_alone(&w->peers[0]) || kfm_is_alone(&w->peers[1]));
		mw_join(w, 0, w->m.sb.gens.cur);
		mw_answers(w);
	}
	KUNIT_EXPECT_TRUE(test, kfm_is_alone(&w->peers[1]));
	w->peers[1].rails[0]->remote[1][0]++;
	KUNIT_EXPECT_EQ(test, mw_order(w, "replace", "there 7"), -EIO);
	KUNIT_EXPECT_EQ(test, mw_order(w, "verify", NULL), -EIO);
	KUNIT_EXPECT_EQ(test, mw_order(w, "detach", NULL), -EALREADY);
	/* dm takes a write back: what the peer has that is there counts, the other one differs */
	mw_write_run(w, 1, 3);
	w->m.noflush = true;
	mw_run(w);
	KUNIT_EXPECT_TRUE(test, w->requeued && !w->peers[0].oos_count && w->peers[1].oos_count);
	KUNIT_EXPECT_EQ(test, mw_load(w), 0);
	KUNIT_EXPECT_TRUE(test, kfm_detached_stored(&w->m));	/* when it is resumed */
	w->m.primary = false;
	KUNIT_EXPECT_EQ(test, mw_order(w, "promote", "force"), -EUCLEAN);
}

/* The last peer that has the data says that it lacks some: nothing is waited for any more. */
static void detach_useless(struct kunit *test)
{
	struct mw *w = detached(test, 1, false);

	lose(w, 0);
	mw_write(w, 1, 3);
	mw_read(w, 2);
	mw_run(w);
	KUNIT_EXPECT_TRUE(test, w->flight && !w->m.leg_failed);
	mw_state(w, 0, KFM_UPTODATE, w->m.sb.gens.cur, KFM_M_DIRTY);
	KUNIT_EXPECT_EQ(test, w->peers[0].state, KFM_SESSION_DOWN);
	mw_run(w);
	mw_run(w);
	KUNIT_EXPECT_TRUE(test, w->m.leg_failed && !w->flight && w->done == 1);
	KUNIT_EXPECT_EQ(test, mw_order(w, "demote", NULL), 0);
}

/*
 * One peer is away, and one is being resynchronised, when the leg fails: the second one is done
 * without. What dm takes back counts at the peer with a session, and not at one that is away.
 */
static void detach_three(struct kunit *test)
{
	struct mw *w = failing(test, 2, false);

	lose(w, 1);
	mw_differs(w, 1, 30);
	mw_join(w, 1, w->m.sb.gens.cur);
	KUNIT_EXPECT_EQ(test, w->peers[1].state, KFM_SESSION_UP);
	mw_leg_ends(w, BLK_STS_IOERR);
	mw_run(w);
	mw_answers(w);
	KUNIT_EXPECT_TRUE(test, w->m.detached && kfm_is_alone(&w->peers[1]) && w->done == 1);

	w = detached(test, 2, false);
	lose(w, 0);
	mw_read(w, 2);
	mw_run(w);
	mw_say(w, 1, (struct kfm_msg) { .type = KFM_COPIED, .id = w->sent[1][KFM_COPY].id });
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->flight, BIT(2));	/* the other one may be able to read it */
	lose(w, 1);
	mw_join(w, 1, w->m.sb.gens.cur);
	mw_answers(w);
	mw_write(w, 1, 3);
	mw_join(w, 0, w->m.sb.gens.cur);
	mw_synced_ok(w, 0);
	mw_run(w);
	lose(w, 0);
	w->m.noflush = true;
	mw_run(w);
	mw_run(w);
	KUNIT_EXPECT_TRUE(test, w->requeued && w->peers[0].oos_count && !w->peers[1].oos_count);
}

/* The only copy returns, and takes no zeroes any more: what is in flight fails, and it is kept. */
static void detach_zeroes(struct kunit *test)
{
	struct mw *w = detached(test, 1, false);

	lose(w, 0);
	w->takes_zeroes = true;
	mw_join(w, 0, w->m.sb.gens.cur);
	mw_answers(w);
	mw_zero_run(w, 1, 16, 2, REQ_OP_WRITE_ZEROES);
	KUNIT_EXPECT_EQ(test, w->flight, BIT(1));
	lose(w, 0);
	w->takes_zeroes = false;
	mw_join(w, 0, w->m.sb.gens.cur);
	mw_answers(w);
	KUNIT_EXPECT_EQ(test, w->peers[0].state, KFM_SESSION_UP);
	KUNIT_EXPECT_TRUE(test, !w->flight && w->done == 1 && !w->peers[0].oos_count);
}

/* The peer answers COPY: it has the bytes, or it has not. */
static void copied(struct mw *w, struct kfm_msg copy, bool has)
{
	u8 *data = kfi_test_zalloc(w->test, copy.arg);

	memset(data, MW_OFFERED, copy.arg);
	copy.type = KFM_COPIED;
	copy.crc = crc32c(~0U, data, copy.arg);
	copy.arg *= has;
	mw_say(w, 0, copy);
	mw_run(w);
}

/* A peer serves reads, a few at a time. A write to the range of one waits. */
static void detach_reads(struct kunit *test)
{
	struct mw *w = detached(test, 1, false);
	struct kfm_msg *copy = &w->sent[0][KFM_COPY];
	unsigned int i;

	for (i = 1; i < 7; i++) {
		mw_read(w, i);
		mw_run(w);
		mw_run(w);
	}
	mw_write_run(w, 7, 4);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_COPY], KFM_PATCHES);
	KUNIT_EXPECT_EQ(test, w->nr_posted[0], 0);
	copied(w, *copy, true);
	KUNIT_EXPECT_TRUE(test, w->done == (BIT(0) | BIT(4)) && w->nr_posted[0]);
	KUNIT_EXPECT_EQ(test, *(u8 *)(w->page + 4 * PAGE_SIZE), MW_OFFERED);
	copied(w, *copy, false);
	KUNIT_EXPECT_EQ(test, w->flight, BIT(1) | BIT(2) | BIT(3) | BIT(6) | BIT(7));
}

/* Data with a wrong CRC is asked for again, and a patch that can't be read in a new session. */
static void detach_rereads(struct kunit *test)
{
	struct mw *w = detached(test, 1, false);
	struct kfm_msg copy;
	int i;

	mw_read(w, 1);
	mw_run(w);
	mw_run(w);
	w->read_err = -EIO;
	copied(w, w->sent[0][KFM_COPY], true);
	KUNIT_EXPECT_TRUE(test, w->peers[0].state != KFM_SESSION_UP && w->flight);
	w->read_err = 0;
	mw_join(w, 0, w->m.sb.gens.cur);
	mw_answers(w);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, w->flight, BIT(1));
		mw_run(w);
		copy = w->sent[0][KFM_COPY];
		copy.type = KFM_COPIED;
		copy.crc = 1;
		mw_say(w, 0, copy);
		mw_run(w);
	}
	KUNIT_EXPECT_TRUE(test, !w->flight && w->done == 1);
}

/* A read that the leg has failed, or that is in a bad range: a peer is asked. */
static void remote(struct mw *w, unsigned int number, bool leg_asked)
{
	mw_read(w, number);
	bio_list_init(&w->m.held);
	w->reads[number].leg_asked = leg_asked;
	kfm_read_remote(&w->m, &w->bios[number]);
	mw_run(w);
}

/* The peer serves a read, and the data is written to the leg with this result. */
static void written_back(struct mw *w, unsigned int number, blk_status_t status)
{
	remote(w, number, true);
	w->leg_waits = true;
	copied(w, w->sent[0][KFM_COPY], true);
	mw_leg_ends(w, status);
	w->leg_waits = false;
	mw_run(w);
}

/*
 * A leg that does not take repaired data has not failed: the peer serves the range, until the leg
 * has taken it. Without a peer the leg is asked. A demotion excludes the range, durably.
 */
static void detach_unrepaired(struct kunit *test)
{
	struct mw *w = mw_with_slots(test, 1, false);
	struct dm_target ti = { .private = &w->m };
	u64 sector = 1 << w->m.shift;
	char text[256];

	kfm_active_set(&w->peers[0], 0, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, kfm_active_flush(&w->m), 0);
	written_back(w, 1, BLK_STS_IOERR);
	KUNIT_EXPECT_TRUE(test, w->done == BIT(1) && !w->m.leg_failed);
	KUNIT_EXPECT_EQ(test, w->m.sb.flags, KFM_SB_PRIMARY);
	KUNIT_EXPECT_TRUE(test, w->peers[0].insync && !w->peers[0].oos_count);
	KUNIT_EXPECT_TRUE(test, kfm_repair_bad(&w->m, sector + 7, 9));
	KUNIT_EXPECT_FALSE(test, kfm_repair_bad(&w->m, sector + PAGE_SIZE / KFM_SECTOR, 9));
	kfm_status(&ti, STATUSTYPE_INFO, 0, text, sizeof(text));
	KUNIT_EXPECT_NOT_NULL(test, strstr(text, " unrepaired 1"));
	written_back(w, 1, BLK_STS_IOERR);
	KUNIT_EXPECT_EQ(test, w->m.repair.bad_count, 1);
	written_back(w, 1, BLK_STS_OK);
	KUNIT_EXPECT_TRUE(test, !w->m.repair.bad_count && w->m.repair.count == 1);
	written_back(w, 1, BLK_STS_IOERR);
	/* neither copied from there, nor compared */
	mw_differs(w, 0, 1);
	mw_run(w);
	mw_run(w);
	KUNIT_EXPECT_TRUE(test, w->peers[0].oos_count && list_empty(&w->m.flight));
	lose(w, 0);
	w->done = 0;
	remote(w, 1, false);
	KUNIT_EXPECT_EQ(test, w->done, BIT(1));
	KUNIT_EXPECT_EQ(test, mw_order(w, "demote", NULL), 0);
	KUNIT_EXPECT_EQ(test, w->m.repair.bad_count, 0);
	KUNIT_ASSERT_EQ(test, mw_load(w), 0);
	KUNIT_EXPECT_EQ(test, w->m.sb.flags, KFM_SB_LEG_FAILED);
	KUNIT_EXPECT_TRUE(test, test_bit_le(1, w->peers[0].oos));
}

/*
 * The leg fails to take repaired data once too often, and the session ends in the same run: this
 * node does not go on alone. If the session does not end, it detaches, and no copy differs.
 */
static void detach_repair(struct kunit *test)
{
	struct mw *w;
	int i;

	for (i = 0; i < 2; i++) {
		w = failing(test, 1, false);
		w->m.policy = KFM_ALONE;
		w->m.repair.bad_count = KFM_BAD_RANGES;
		kfm_active_set(&w->peers[0], 0, PAGE_SIZE);
		KUNIT_EXPECT_EQ(test, kfm_active_flush(&w->m), 0);
		mw_leg_ends(w, BLK_STS_OK);
		remote(w, 1, true);
		copied(w, w->sent[0][KFM_COPY], true);
		mw_leg_ends(w, BLK_STS_IOERR);
		w->posted[0][0]->err = i ? 0 : -EIO;
		w->posted[0][0]->busy = false;
		w->nr_posted[0] = 0;
		kfm_writes_run(&w->m);
		KUNIT_EXPECT_EQ(test, w->m.leg_failed, !i);
		mw_answers(w);
		KUNIT_EXPECT_EQ(test, w->done, i ? 3 : 2);
		KUNIT_EXPECT_TRUE(test, !kfm_is_alone(&w->peers[0]) && i == !w->peers[0].oos_count);
	}
}

/*
 * What was in caches when the leg failed is flushed, and what follows is durable at once. So a peer
 * that loses its power before the flush has ended has no session (0), and one that does later has
 * (1), unless it may have missed the flush (2). One that keeps its power has, also if extents were
 * to be cleaned meanwhile (3). The leg is not flushed any more.
 */
static void detach_cached(struct kunit *test)
{
	struct mw *w;
	int i;

	for (i = 0; i < 4; i++) {
		w = detached(test, 1, true);
		w->flush_err = -EIO;
		mw_run(w);
		if (i % 3)
			mw_answers(w);	/* to the flush */
		mw_write_run(w, 2, 4);
		KUNIT_EXPECT_FALSE(test, w->group[0].writes[0]->cached);
		if (i % 3)
			mw_answers(w);
		lose(w, 0);
		w->m.renewed -= 20 * HZ;
		mw_run(w);
		w->m.renewed -= 20 * HZ;
		w->peers[0].start += i < 3;
		if (i == 2)
			kfm_pair(&w->peers[0])->flags |= KFM_PAIR_ALONE;
		mw_join(w, 0, w->m.sb.gens.cur);
		KUNIT_EXPECT_EQ(test, w->peers[0].state == KFM_SESSION_UP, i % 2);
		mw_answers(w);
		KUNIT_EXPECT_EQ(test, i == 1 ? mw_order(w, "demote", NULL) : 0, 0);
	}
	/* a suspend takes back a write, and does not wait: no extent was in a cache alone */
	w = detached(test, 1, true);
	mw_run(w);
	mw_answers(w);
	mw_write_run(w, 2, 4);
	w->m.noflush = true;
	mw_run(w);
	KUNIT_EXPECT_EQ(test, kfm_bits_rest(&w->m), 0);
	KUNIT_EXPECT_TRUE(test, w->requeued && !w->peers[0].oos_count);
}

KFI_SUITE(kfi_mirror_detach,
	KUNIT_CASE(detach_refused),
	KUNIT_CASE(detach_last),
	KUNIT_CASE(detach_useless),
	KUNIT_CASE(detach_three),
	KUNIT_CASE(detach_zeroes),
	KUNIT_CASE(detach_reads),
	KUNIT_CASE(detach_rereads),
	KUNIT_CASE(detach_unrepaired),
	KUNIT_CASE(detach_repair),
	KUNIT_CASE(detach_cached));
