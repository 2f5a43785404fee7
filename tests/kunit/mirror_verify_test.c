// SPDX-License-Identifier: GPL-2.0
/* The comparison of the copies: what differs, and whose copy is written over the other one. */
#include <linux/crc32c.h>
#include "mirror_world.h"

/* The peer answers that its part has the same data, or not. */
static void verify_answer(struct mw *w, bool same)
{
	const struct kfm_msg *copy = &w->sent[0][KFM_COPY];
	const u8 *data = w->m.verify.w->buf + KFM_DATA_AT;

	KUNIT_EXPECT_EQ(w->test, copy->sector, w->m.verify.w->sector);
	mw_say(w, 0, (struct kfm_msg) {
		.type = KFM_COPIED, .id = copy->id, .arg = copy->arg,
		.crc = crc32c(~0U, data, copy->arg) ^ !same,
	});
}

/*
 * A primary compares every part with its peer. One that differs is out of sync, durably, and is
 * resynchronised, if this node is the source; a write to the part that is compared waits. What a
 * peer that is lost has is unknown.
 */
static void verify_compares(struct kunit *test)
{
	const unsigned int parts = MW_REGIONS / 4;
	struct mw *w = mw_synced(test);
	struct kfm_verify *v = &w->m.verify;
	struct kfm_peer *p = &w->peers[0];
	bool marked = false;
	unsigned int i;

	KUNIT_EXPECT_EQ(test, mw_order(w, "verify", "softly"), -EINVAL);
	KUNIT_EXPECT_EQ(test, mw_order(w, "verify", "repair-from"), -EINVAL);
	KUNIT_EXPECT_EQ(test, mw_order(w, "verify", "repair-from there"), -EINVAL);
	KUNIT_EXPECT_EQ(test, mw_order(w, "verify", "repair-from there 8"), -ENOENT);
	KUNIT_EXPECT_EQ(test, mw_order(w, "verify", "repair-from majority"), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, mw_order(w, "verify", "repair-from here"), 0);
	KUNIT_EXPECT_EQ(test, mw_order(w, "verify", NULL), -EALREADY);
	mw_run(w);
	mw_write_run(w, 0, 0);
	KUNIT_EXPECT_EQ(test, w->nr_posted[0], 0);
	for (i = 0; v->w && i < 2 * parts; i++) {
		verify_answer(w, v->w->sector != 4ULL << w->m.shift);
		mw_run(w);
		marked |= p->oos_count == 4 && w->durable[KFM_BITMAP_AT + KFM_BLOCK] == 0xf0;
		mw_ack_run(w, 0);
	}
	KUNIT_EXPECT_EQ(test, i, parts);
	KUNIT_EXPECT_EQ(test, w->done, 1);
	KUNIT_EXPECT_TRUE(test, marked);
	KUNIT_EXPECT_EQ(test, v->differ, 1);
	KUNIT_EXPECT_EQ(test, v->skipped, 0);
	KUNIT_EXPECT_NOT_NULL(test, strstr(w->events, "verified "));
	for (i = 0; i < 4; i++)
		mw_ack_run(w, 0);
	KUNIT_EXPECT_EQ(test, p->oos_count, 0);
	KUNIT_EXPECT_TRUE(test, p->insync);
	/* once more, and the session ends */
	KUNIT_EXPECT_EQ(test, mw_order(w, "verify", NULL), 0);
	mw_run(w);
	mw_say(w, 0, (struct kfm_msg) { .type = KFM_BYE });
	mw_run(w);
	KUNIT_EXPECT_FALSE(test, v->running);
	KUNIT_EXPECT_EQ(test, v->differ, 0);
	KUNIT_EXPECT_EQ(test, v->skipped, parts);
	KUNIT_EXPECT_TRUE(test, kfm_writes_idle(&w->m));
}

/* A peer answers the last request: with what this node has, or with another CRC. */
static void verify_says(struct mw *w, unsigned int peer, u32 other)
{
	const struct kfm_msg *copy = &w->sent[peer][KFM_COPY];
	const u8 *data = w->m.verify.w->buf + KFM_DATA_AT;

	KUNIT_EXPECT_PTR_EQ(w->test, w->m.verify.asked, &w->peers[peer]);
	mw_say(w, peer, (struct kfm_msg) {
		.type = KFM_COPIED, .id = copy->id, .arg = copy->arg,
		.crc = crc32c(~0U, data, copy->arg) ^ other,
	});
	mw_run(w);
}

/*
 * Of three copies two are the same: if this node is the source and has the other one, nothing is
 * overwritten. If the third one is as this one, or differs from both, this one wins. A report changes
 * nothing.
 */
static void verify_votes(struct kunit *test)
{
	static const struct { u32 first, second; bool report; u32 oos, outvoted; } rows[] = {
		{ 1, 1, false, 0, 1 }, { 1, 0, false, 4, 0 }, { 1, 2, false, 4, 0 },
		{ 1, 0, true, 0, 0 }, { 1, 1, true, 0, 1 },
	};
	struct kfm_verify *v;
	const char *how;
	unsigned int i;
	struct mw *w;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		how = rows[i].report ? "report" : "repair-from here";
		w = mw_make(test, 2);
		v = &w->m.verify;
		mw_primary(w, 6);
		mw_join(w, 0, 5);
		mw_synced_ok(w, 0);
		mw_join(w, 1, 5);
		mw_synced_ok(w, 1);
		mw_run(w);
		KUNIT_ASSERT_EQ(test, mw_order(w, "verify", how), 0);
		mw_run(w);
		KUNIT_ASSERT_NOT_NULL(test, v->w);
		verify_says(w, 0, rows[i].first);
		KUNIT_EXPECT_EQ(test, v->next, 0);
		verify_says(w, 1, rows[i].second);
		KUNIT_EXPECT_EQ(test, v->differ, 1);
		KUNIT_EXPECT_EQ_MSG(test, w->peers[0].oos_count, rows[i].oos, "row %u", i);
		KUNIT_EXPECT_EQ(test, v->outvoted, rows[i].outvoted);
		KUNIT_EXPECT_NE(test, v->next, 0);
	}
	/* without the answer of one that was asked nothing is overwritten */
	verify_says(w, 0, 1);
	mw_say(w, 1, (struct kfm_msg) { .type = KFM_BYE });
	mw_run(w);
	KUNIT_EXPECT_EQ(test, v->differ, 1);
	KUNIT_EXPECT_EQ(test, v->skipped, 1);
	KUNIT_EXPECT_EQ(test, v->outvoted, 1);
}

/* A primary that compares its copy with those of its peers, which are all in sync, and @how */
static struct mw *verifying(struct kunit *test, unsigned int peers, const char *how)
{
	struct mw *w = mw_make(test, peers);
	unsigned int i;

	mw_primary(w, 6);
	for (i = 0; i < peers; i++) {
		mw_join(w, i, 5);
		mw_synced_ok(w, i);
	}
	mw_run(w);
	for (i = 1; i < peers; i++)	/* their addresses differ */
		w->peers[i].rails[0]->remote[1][0] = '7' + i;
	KUNIT_ASSERT_EQ(test, mw_order(w, "verify", how), 0);
	mw_run(w);
	return w;
}

/* All are asked, in whichever order they have one copy or the other one. */
static void verify_asks_all(struct kunit *test)
{
	struct mw *w = verifying(test, 4, "repair-from here");
	struct kfm_verify *v = &w->m.verify;

	verify_says(w, 0, 1);
	verify_says(w, 1, 0);
	verify_says(w, 2, 1);
	KUNIT_EXPECT_EQ(test, v->outvoted, 1);
	KUNIT_EXPECT_EQ(test, w->peers[0].oos_count, 0);
	verify_says(w, 0, 1);
	verify_says(w, 1, 0);
	verify_says(w, 2, 2);
	verify_says(w, 3, 0);
	KUNIT_EXPECT_EQ(test, v->outvoted, 1);
	KUNIT_EXPECT_EQ(test, v->differ, 2);
	KUNIT_EXPECT_EQ(test, w->peers[0].oos_count, 4);
}

/* A part that was outvoted is not overwritten when the next peer is compared, without the first. */
static void verify_remembers(struct kunit *test)
{
	struct mw *w = verifying(test, 2, "repair-from here");
	struct kfm_verify *v = &w->m.verify;
	unsigned int i;

	verify_says(w, 0, 1);
	verify_says(w, 1, 1);
	KUNIT_EXPECT_EQ(test, v->outvoted, 1);
	for (i = 0; v->w && !v->index && i < MW_REGIONS; i++)
		verify_says(w, 0, 0);
	mw_say(w, 0, (struct kfm_msg) { .type = KFM_BYE });
	mw_run(w);
	KUNIT_ASSERT_NOT_NULL(test, v->w);
	KUNIT_EXPECT_EQ(test, v->w->sector, 0);
	verify_says(w, 1, 1);
	KUNIT_EXPECT_EQ(test, v->differ, 2);
	KUNIT_EXPECT_EQ(test, w->peers[1].oos_count, 0);
	verify_says(w, 1, 1);	/* the next part */
	KUNIT_EXPECT_EQ(test, v->differ, 3);
	KUNIT_EXPECT_EQ(test, w->peers[1].oos_count, 4);
}

/* Stopped in the middle of a vote: nobody else is asked, and nothing is overwritten. */
static void verify_stopped(struct kunit *test)
{
	struct mw *w = verifying(test, 3, "repair-from here");
	struct kfm_verify *v = &w->m.verify;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		if (i)
			KUNIT_ASSERT_EQ(test, mw_order(w, "verify", "repair-from here"), 0);
		mw_run(w);
		verify_says(w, 0, 1);
		KUNIT_EXPECT_EQ(test, w->count[1][KFM_COPY], i + 1);
		/* a demotion waits for the part; one of a device that is in use does not end it */
		w->in_use = i;
		if (i)
			KUNIT_EXPECT_EQ(test, mw_order(w, "demote", NULL), -EBUSY);
		KUNIT_EXPECT_TRUE(test, v->running);
		w->in_use = false;
		KUNIT_EXPECT_EQ(test, mw_order(w, i ? "demote" : "verify", i ? NULL : "stop"), i);
		mw_run(w);
		KUNIT_EXPECT_NULL(test, v->w);
		KUNIT_EXPECT_EQ(test, w->count[2][KFM_COPY], 0);
		KUNIT_EXPECT_EQ(test, v->differ, 0);
		KUNIT_EXPECT_EQ(test, v->skipped, 1);
		KUNIT_EXPECT_EQ(test, w->peers[0].oos_count, 0);
	}
	KUNIT_EXPECT_TRUE(test, w->m.primary);
	kfm_commands(&w->m);
	KUNIT_EXPECT_FALSE(test, w->m.primary);
}

#define TAKEN	0x5a5a5a5a	/* the first word of a region of which the peer had MW_OFFERED */

/* A peer answers the last request with what it offers, or with something else. */
static void verify_offers(struct mw *w, unsigned int peer, bool wrong)
{
	const struct kfm_msg *copy = &w->sent[peer][KFM_COPY];

	KUNIT_EXPECT_PTR_EQ(w->test, w->m.verify.asked, &w->peers[peer]);
	memset(w->page, MW_OFFERED, copy->arg);
	mw_say(w, peer, (struct kfm_msg) {
		.type = KFM_COPIED, .id = copy->id, .arg = copy->arg,
		.crc = crc32c(~0U, w->page, copy->arg) ^ wrong,
	});
	mw_run(w);
}

/* All peers answer, until the comparison has ended, that they have what this node has. */
static void verify_rest(struct mw *w)
{
	struct kfm_verify *v = &w->m.verify;
	unsigned int i;

	for (i = 0; v->w && i < 4 * MW_REGIONS; i++)
		verify_says(w, v->asked->index, 0);
	KUNIT_EXPECT_TRUE(w->test, v->done);
}

/*
 * Without a source nothing is overwritten. What differs is marked, and is all that is compared when
 * a source is named; once that has ended, or if it was stopped, all is compared again.
 */
static void verify_reports(struct kunit *test)
{
	const unsigned int parts = MW_REGIONS / 4;
	struct mw *w = verifying(test, 1, NULL);
	struct kfm_verify *v = &w->m.verify;

	verify_says(w, 0, 1);
	verify_says(w, 0, 1);
	verify_says(w, 0, 0);
	verify_says(w, 0, 1);
	verify_rest(w);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_COPY], parts);
	KUNIT_EXPECT_EQ(test, v->differ, 3);
	KUNIT_EXPECT_EQ(test, v->left, 3);
	KUNIT_EXPECT_EQ(test, v->marks.count, 2);
	KUNIT_EXPECT_EQ(test, w->peers[0].oos_count, 0);
	KUNIT_EXPECT_TRUE(test, w->peers[0].insync);
	KUNIT_ASSERT_EQ(test, mw_order(w, "verify", "repair-from here"), 0);
	mw_run(w);
	verify_says(w, 0, 1);
	verify_says(w, 0, 0);
	KUNIT_EXPECT_EQ(test, v->w->sector, 12ULL << w->m.shift);
	verify_says(w, 0, 1);
	KUNIT_EXPECT_TRUE(test, v->done);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_COPY], parts + 3);
	KUNIT_EXPECT_EQ(test, v->differ, 2);
	KUNIT_EXPECT_EQ(test, v->left, 0);
	KUNIT_EXPECT_EQ(test, w->peers[0].oos_count, 8);
	/* nothing is marked any more, which tells nothing of now: all is compared */
	while (w->peers[0].oos_count)
		mw_ack_run(w, 0);
	KUNIT_ASSERT_EQ(test, mw_order(w, "verify", "repair-from here"), 0);
	mw_run(w);
	verify_rest(w);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_COPY], 2 * parts + 3);
}

/* The data of the peer is written to this node's leg, if it arrives as the peer has said. */
static void verify_takes(struct kunit *test)
{
	struct mw *w = verifying(test, 1, "repair-from there 7");
	struct kfm_verify *v = &w->m.verify;

	KUNIT_EXPECT_EQ(test, mw_order(w, "verify", "stop"), 0);
	mw_run(w);
	w->watched = false;	/* no extent is active: what a crash leaves is what a copy has had */
	memset(w->durable + KFM_BITMAP_AT, 0xff, KFM_BLOCK);
	w->leg[0] = 666;
	w->leg[1] = 666;
	w->leg_waits = true;
	KUNIT_ASSERT_EQ(test, mw_order(w, "verify", "repair-from there 7"), 0);
	mw_run(w);
	mw_leg_ends(w, BLK_STS_OK);
	mw_run(w);
	verify_offers(w, 0, false);
	KUNIT_EXPECT_EQ(test, v->differ, 0);
	verify_offers(w, 0, false);
	/* stopped: what has begun ends */
	mw_run(w);
	KUNIT_EXPECT_EQ(test, mw_order(w, "verify", "stop"), 0);
	mw_run(w);
	KUNIT_EXPECT_NOT_NULL(test, v->w);
	mw_leg_ends(w, BLK_STS_OK);
	mw_run(w);
	KUNIT_EXPECT_NULL(test, v->w);
	KUNIT_EXPECT_EQ(test, v->differ, 1);
	KUNIT_EXPECT_EQ(test, w->leg[0], TAKEN);
	KUNIT_EXPECT_EQ(test, w->leg[3], TAKEN);
	KUNIT_EXPECT_NE(test, w->leg[4], TAKEN);
	KUNIT_EXPECT_EQ(test, w->leg_safe[0], TAKEN);
	KUNIT_EXPECT_EQ(test, w->peers[0].oos_count, 0);
	w->leg_waits = false;
	KUNIT_ASSERT_EQ(test, mw_order(w, "verify", "repair-from there 7"), 0);
	mw_run(w);
	verify_says(w, 0, 0);
	/* the peer has something else than before */
	verify_offers(w, 0, false);
	verify_offers(w, 0, true);
	KUNIT_EXPECT_EQ(test, v->skipped, 1);
	KUNIT_EXPECT_EQ(test, v->next, 8ULL << w->m.shift);
	/* its data is not what it has said */
	verify_offers(w, 0, true);
	verify_offers(w, 0, true);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, v->skipped, 2);
	w->read_err = -EIO;
	verify_offers(w, 0, false);
	verify_offers(w, 0, false);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, v->skipped, 3);
	w->read_err = 0;
	KUNIT_EXPECT_NE(test, w->leg[4], TAKEN);
	KUNIT_EXPECT_NE(test, w->leg[8], TAKEN);
	KUNIT_EXPECT_NE(test, w->leg[12], TAKEN);
	verify_rest(w);
	KUNIT_EXPECT_EQ(test, v->left, 3);
	KUNIT_EXPECT_FALSE(test, v->marks.whole);
	w->peers[0].insync = false;
	KUNIT_EXPECT_EQ(test, mw_order(w, "verify", "repair-from there 7"), -ENOTCONN);
}

/*
 * Of three copies the one of a peer that is named is compared first. It wins over this one, unless
 * the third one is as this one; and then over the third one, where this one is as it.
 */
static void verify_from_third(struct kunit *test)
{
	struct mw *w = verifying(test, 2, "repair-from there 8");
	struct kfm_verify *v = &w->m.verify;
	unsigned int i;

	w->watched = false;
	for (i = 0; i < 2; i++)
		memset(w->durable + KFM_BITMAP_AT + i * KFM_BLOCK, 0xff, KFM_BLOCK);
	verify_offers(w, 1, false);
	verify_says(w, 0, 0);		/* two are the same: the source is outvoted */
	KUNIT_EXPECT_EQ(test, v->outvoted, 1);
	KUNIT_EXPECT_NE(test, w->leg[0], TAKEN);
	verify_offers(w, 1, false);
	verify_says(w, 0, 1);		/* all three differ */
	verify_offers(w, 1, false);
	mw_run(w);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->leg[4], TAKEN);
	for (i = 0; v->w && !v->index && i < MW_REGIONS; i++)
		verify_says(w, 1, 0);
	KUNIT_EXPECT_EQ(test, v->index, 1);
	verify_says(w, 0, 1);		/* where the source was outvoted this node is not as it */
	verify_says(w, 1, 2);
	KUNIT_EXPECT_EQ(test, w->peers[0].oos_count, 0);
	verify_says(w, 0, 1);
	verify_says(w, 1, 0);
	KUNIT_EXPECT_EQ(test, w->peers[0].oos_count, 4);
	KUNIT_EXPECT_EQ(test, w->peers[1].oos_count, 0);
}

/* What more than half of three copies are like is written over the third one, whose ever that is. */
static void verify_majority(struct kunit *test)
{
	struct mw *w = verifying(test, 2, "repair-from majority");
	struct kfm_verify *v = &w->m.verify;
	unsigned int i;

	w->watched = false;
	for (i = 0; i < 2; i++)
		memset(w->durable + KFM_BITMAP_AT + i * KFM_BLOCK, 0xff, KFM_BLOCK);
	verify_offers(w, 0, false);
	verify_offers(w, 1, false);
	verify_offers(w, 0, false);
	mw_run(w);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->leg[0], TAKEN);
	KUNIT_EXPECT_EQ(test, w->peers[0].oos_count, 0);
	verify_says(w, 0, 1);
	verify_says(w, 1, 0);
	KUNIT_EXPECT_EQ(test, w->peers[0].oos_count, 4);
	verify_says(w, 0, 1);
	verify_says(w, 1, 2);
	KUNIT_EXPECT_EQ(test, w->peers[0].oos_count, 4);
	KUNIT_EXPECT_EQ(test, v->left, 1);
	KUNIT_EXPECT_EQ(test, v->differ, 3);
	/* without the answer of the third one there are no two that are the same */
	verify_says(w, 0, 1);
	mw_say(w, 1, (struct kfm_msg) { .type = KFM_BYE });
	mw_run(w);
	KUNIT_EXPECT_EQ(test, v->skipped, 1);
	KUNIT_EXPECT_EQ(test, w->peers[0].oos_count, 4);
}

KFI_SUITE(kfi_mirror_verify,
	KUNIT_CASE(verify_compares),
	KUNIT_CASE(verify_votes),
	KUNIT_CASE(verify_asks_all),
	KUNIT_CASE(verify_remembers),
	KUNIT_CASE(verify_stopped),
	KUNIT_CASE(verify_reports),
	KUNIT_CASE(verify_takes),
	KUNIT_CASE(verify_from_third),
	KUNIT_CASE(verify_majority));
