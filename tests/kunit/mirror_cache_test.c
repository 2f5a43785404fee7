// SPDX-License-Identifier: GPL-2.0
/* Volatile caches of legs: what a primary of kfi_mirror flushes, and when. */
#include "mirror_world.h"

static unsigned int flags_of(struct mw *w)
{
	const struct kfm_write *last = w->group[0].writes[w->group[0].count - 1];
	const struct kfm_le_direct *head = kfm_write_head(&w->peers[0], last);

	return w->group[0].direct ? le32_to_cpu(head->flags) & ~KFM_D_CRC : U32_MAX;
}

/*
 * Records of any length are direct, and say what the cache may keep. A flush goes to the leg and
 * to the peer, alone, and waits for both. When all is flushed none is needed.
 */
static void cache_flush(struct kunit *test)
{
	struct mw *w = mw_with_slots(test, 1, true);

	KUNIT_EXPECT_TRUE(test, kfm_flush_needed(&w->m));	/* what was before is unknown */
	KUNIT_EXPECT_TRUE(test, w->sent[0][KFM_HELLO].features & KFM_F_CACHE);
	mw_write_run(w, 0, 1);
	KUNIT_EXPECT_EQ(test, flags_of(w), KFM_D_CACHED);
	mw_write(w, 1, 2);
	w->bios[1].bi_opf |= REQ_FUA;
	mw_run(w);
	KUNIT_EXPECT_EQ(test, flags_of(w), 0);
	mw_answers(w);
	mw_write(w, 2, 3);
	mw_flush(w, 3);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, flags_of(w), KFM_D_FLUSH);
	KUNIT_EXPECT_EQ(test, w->group[0].count, 1);
	KUNIT_EXPECT_EQ(test, w->done, 3);
	mw_answers(w);
	KUNIT_EXPECT_EQ(test, w->done, 15);
	KUNIT_EXPECT_TRUE(test, kfm_flush_needed(&w->m));	/* the third one was late */
	mw_flush(w, 4);
	mw_answers(w);
	KUNIT_EXPECT_FALSE(test, kfm_flush_needed(&w->m));
}

/* An older peer, and one whose start is not known, are sent neither; their records are durable. */
static void cache_older_peer(struct kunit *test)
{
	struct mw *w = mw_with_slots(test, 1, true);

	w->peers[0].slots.caches = false;
	mw_write_at(w, 0, 0, KFM_DIRECT_DEFAULT);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, flags_of(w), 0);
	mw_write_run(w, 1, 1);
	KUNIT_EXPECT_FALSE(test, w->group[0].direct);
	mw_answers(w);
	w->groups[0] = 0;
	mw_flush(w, 2);
	mw_run(w);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->done, 7);
	KUNIT_EXPECT_EQ(test, w->groups[0], 0);
}

/* A peer that comes back with another start, or takes no flush, gets each active extent. */
static void cache_lost(struct kunit *test)
{
	struct mw *w = mw_with_slots(test, 1, true);
	int i, n;

	for (i = 0; i < 4; i++) {
		mw_write(w, 0, 3);
		mw_answers(w);
		mw_say(w, 0, (struct kfm_msg) { .type = KFM_BYE });
		w->peers[0].next = jiffies;
		mw_run(w);
		w->peers[0].start += i == 1;
		if (i == 2)	/* a flush may have ended without it */
			kfm_pair(&w->peers[0])->flags |= KFM_PAIR_ALONE;
		w->m.cache = i < 3;	/* in GRANT */
		mw_state(w, 0, KFM_UPTODATE, 6, 0);
		KUNIT_EXPECT_EQ(test, w->sent[0][KFM_ATTACH].arg, i == 1 || i == 2);
		mw_grant(w, 0);
		KUNIT_EXPECT_EQ(test, w->peers[0].oos_count, i ? 8 : 0);	/* the extent */
		KUNIT_EXPECT_EQ(test, w->peers[0].state == KFM_SESSION_UP, i < 3);
		for (n = 0; n < 4; n++) {
			w->peers[0].next = jiffies;
			mw_answers(w);
		}
		mw_synced_ok(w, 0);
	}
}

/* Of too many active extents that of a write stays, which was in flight when the flush began. */
static void cache_crowd(struct kunit *test)
{
	struct mw *w = mw_with_slots(test, 1, true);
	struct kfm_peer *p = &w->peers[0];
	u32 e;

	w->watched = false;	/* extents have one region */
	w->m.extent_shift = w->m.shift;
	w->m.extents = 2000;
	for (e = 0; e <= KFM_ACTIVE_MAX; e++)
		kfm_active_set(p, (u64)e << w->m.shift, KFM_SECTOR);
	mw_write(w, 0, 0);
	mw_run(w);	/* extents are chosen */
	mw_run(w);	/* a flush begins */
	KUNIT_EXPECT_TRUE(test, w->m.flushing && w->m.cool_from);
	mw_ack_run(w, 0);
	KUNIT_EXPECT_EQ(test, w->done, 1);
	KUNIT_EXPECT_EQ(test, p->active_count, KFM_ACTIVE_MAX + 2 - KFM_ACTIVE_MAX / 4);
	KUNIT_EXPECT_TRUE(test, test_bit_le(0, p->active));
}

static void clean(struct mw *w)
{
	int i;

	for (i = 0; i < 2; i++) {	/* in the first one the extent was touched */
		w->m.renewed -= 20 * HZ;
		mw_run(w);
	}
}

/* Without a peer nobody asks for a flush: the leg is flushed before an extent is cleaned. */
static void cache_alone(struct kunit *test)
{
	struct mw *w = mw_with_slots(test, 1, true);

	w->m.policy = KFM_ALONE;
	mw_say(w, 0, (struct kfm_msg) { .type = KFM_BYE });
	*(u32 *)w->page = 7;
	mw_write(w, 0, 3);
	mw_answers(w);
	KUNIT_EXPECT_EQ(test, w->done, 1);
	KUNIT_EXPECT_EQ(test, w->leg_safe[3], 0);
	w->flush_err = -EIO;
	clean(w);
	KUNIT_EXPECT_TRUE(test, w->m.leg_failed && test_bit_le(0, w->peers[0].active));
	KUNIT_EXPECT_TRUE(test, w->m.sb.flags & KFM_SB_LEG_FAILED);	/* for a demotion */
	w->m.leg_failed = false;
	w->flush_err = 0;
	clean(w);
	KUNIT_EXPECT_FALSE(test, w->m.leg_failed || test_bit_le(0, w->peers[0].active));
	KUNIT_EXPECT_EQ(test, w->leg_safe[3], 7);
}

/* The leg is flushed before anything is stored that says that this node is primary. */
static void cache_promoted(struct kunit *test)
{
	struct mw *w = mw_make(test, 1);
	int i;

	for (i = 0; i < 2; i++) {
		w->flush_err = i ? 0 : -EIO;
		w->m.log.failed = false;	/* a resume */
		KUNIT_EXPECT_EQ(test, mw_order(w, "promote", "force"), 1);
		mw_run(w);
		mw_state(w, 0, KFM_UPTODATE, 5, 0);
		KUNIT_EXPECT_EQ(test, i, w->m.primary);
		KUNIT_EXPECT_EQ(test, i, !w->m.log.failed);
		KUNIT_EXPECT_EQ(test, i, w->m.sb.gens.cur != 5);
	}
}

/* A demotion waits for a flush, and leaves no bit; without the peer it leaves what may differ. */
static void cache_demoted(struct kunit *test)
{
	struct mw *w = mw_with_slots(test, 1, true);

	mw_write(w, 0, 3);
	mw_answers(w);
	KUNIT_EXPECT_EQ(test, mw_order(w, "demote", NULL), 1);
	mw_answers(w);
	KUNIT_EXPECT_TRUE(test, w->m.primary);
	kfm_commands(&w->m);
	KUNIT_EXPECT_FALSE(test, w->m.primary);
	KUNIT_EXPECT_EQ(test, w->peers[0].oos_count + w->peers[0].active_count, 0);

	w = mw_with_slots(test, 1, true);
	mw_write(w, 0, 3);
	mw_answers(w);
	KUNIT_EXPECT_EQ(test, mw_order(w, "demote", NULL), 1);
	mw_run(w);
	mw_say(w, 0, (struct kfm_msg) { .type = KFM_BYE });
	mw_run(w);
	kfm_commands(&w->m);
	KUNIT_EXPECT_FALSE(test, w->m.primary);
	KUNIT_EXPECT_TRUE(test, test_bit_le(3, w->peers[0].oos));
	KUNIT_EXPECT_FALSE(test, test_bit(0, w->peers[0].stale));
}

/* A mirror with a write that both nodes have acknowledged, and none has flushed */
static struct mw *one_cached(struct kunit *test)
{
	struct mw *w = mw_with_slots(test, 1, true);

	mw_write(w, 0, 3);
	mw_answers(w);
	return w;
}

/*
 * A leg that fails may have lost what it has acknowledged, so it is no source after a resume, also
 * if a suspend with noflush has begun before.
 */
static void cache_leg_fails(struct kunit *test)
{
	struct mw *w;
	int i;

	for (i = 0; i < 2; i++) {
		w = one_cached(test);
		w->leg_waits = true;
		mw_flush(w, 1);
		mw_run(w);
		w->m.noflush = i;
		mw_leg_ends(w, BLK_STS_IOERR);
		mw_run(w);
		KUNIT_EXPECT_EQ(test, w->done, 1);
		KUNIT_EXPECT_EQ(test, w->flight, 0);
		KUNIT_EXPECT_EQ(test, mw_load(w), 0);
		KUNIT_EXPECT_TRUE(test, w->m.leg_failed && w->m.sb.flags & KFM_SB_LEG_FAILED);
	}
}

/* The same if the flush fails with which a suspend ends. */
static void cache_suspended(struct kunit *test)
{
	struct mw *w = one_cached(test);
	struct kfm_cmd suspend = {};

	w->m.noflush = true;
	w->flush_err = -EIO;
	init_completion(&suspend.done);
	list_add_tail(&suspend.entry, &w->m.cmds);
	kfm_commands(&w->m);
	KUNIT_EXPECT_EQ(test, suspend.ret, -EIO);
	KUNIT_EXPECT_EQ(test, mw_load(w), 0);
	KUNIT_EXPECT_TRUE(test, w->m.sb.flags & KFM_SB_LEG_FAILED);
}

/*
 * A leg may report once what it has lost, to another write than the flush that is behind: what
 * that flush seems to cover is out of sync, also if the error comes late in a run of the worker.
 */
static void cache_other_fails(struct kunit *test)
{
	struct mw *w;
	int i;

	for (i = 0; i < 2; i++) {
		w = one_cached(test);
		clean(w);	/* waits for a flush */
		w->leg_waits = true;
		mw_run(w);
		KUNIT_EXPECT_TRUE(test, w->m.flushing && w->m.cool_from);
		mw_ack(w, 0);
		mw_write(w, 1, 20);
		w->bios[1].bi_opf |= REQ_FUA;
		mw_run(w);
		mw_leg_ends(w, BLK_STS_OK);
		w->leg_fails_late = i;
		if (!i)
			mw_leg_ends(w, BLK_STS_IOERR);
		mw_run(w);
		KUNIT_EXPECT_TRUE(test, w->m.leg_failed && test_bit_le(3, w->peers[0].oos));
	}
}

/* Writes are settled when a flush has ended at all nodes that began after them. */
static void cache_settled(struct kunit *test)
{
	struct mw *w = mw_with_slots(test, 2, true);
	const struct kfm_msg *ping = &w->sent[0][KFM_PING];
	int i;

	for (i = 0; i < 4; i++) {
		if (i % 2)
			mw_flush(w, i);
		else
			mw_write(w, i, i);
		mw_answers(w);
		mw_answers(w);
		w->peers[0].next = jiffies;
		mw_run(w);
		KUNIT_EXPECT_EQ(test, ping->flags, i ? KFM_M_SETTLED : 0);
		KUNIT_EXPECT_EQ(test, ping->direct, (i + 1) / 2 * 2 - !!i);
	}
	KUNIT_EXPECT_EQ(test, w->done, 15);
	/* the list of a secondary is short: a flush comes by itself */
	for (i = 0; i < KFM_WINDOW; i++) {
		mw_write(w, 0, i % MW_REGIONS);
		mw_answers(w);
		mw_answers(w);
	}
	KUNIT_EXPECT_GT(test, w->peers[1].settled.direct, KFM_WINDOW / 2);
}

KFI_SUITE(kfi_mirror_cache,
	KUNIT_CASE(cache_flush),
	KUNIT_CASE(cache_older_peer),
	KUNIT_CASE(cache_lost),
	KUNIT_CASE(cache_crowd),
	KUNIT_CASE(cache_alone),
	KUNIT_CASE(cache_promoted),
	KUNIT_CASE(cache_demoted),
	KUNIT_CASE(cache_leg_fails),
	KUNIT_CASE(cache_suspended),
	KUNIT_CASE(cache_other_fails),
	KUNIT_CASE(cache_settled));
