// SPDX-License-Identifier: GPL-2.0
/*
 * A node of kfi_mirror whose disk has changed what it had stored: it may have forgotten something,
 * so it neither votes nor is promoted, and a primary writes all of its copy.
 */
#include "mirror_world.h"

#define DOUBTFUL	(KFM_SB_DOUBT | KFM_SB_BITS_LOST)

/* A secondary that has stored generation 4, and then generation 5 */
static struct mw *doubt_make(struct kunit *test, unsigned int peers)
{
	struct mw *w = mw_make(test, peers);

	w->newer = true;
	w->m.sb.gens.cur = 4;
	KUNIT_ASSERT_EQ(test, kfm_super_save(&w->m), 0);
	w->m.sb.gens = (struct kfm_gens) { .cur = 5, .history = { 4 } };
	KUNIT_ASSERT_EQ(test, kfm_super_save(&w->m), 0);
	return w;
}

static void flip(struct mw *w, u32 byte, u32 bit)
{
	w->durable[byte] ^= 1 << bit;
}

/* The node starts again, and its newest superblock has a bit that has changed. */
static struct mw *doubtful(struct kunit *test, unsigned int peers)
{
	struct mw *w = doubt_make(test, peers);

	w->watched = false;	/* the superblock says that all may differ */
	flip(w, (w->m.sb.serial & 1) * KFM_BLOCK + 100, 3);
	KUNIT_ASSERT_EQ(test, mw_load(w), 0);
	return w;
}

/*
 * Each bit of both superblocks: the node does not start, or it is in doubt, durably, and then both
 * superblocks are whole again. Never is it what the older one says.
 */
static void doubt_each_bit(struct kunit *test)
{
	struct mw *w = doubt_make(test, 2);
	u8 *before = kfi_test_zalloc(test, 2 * KFM_BLOCK);
	unsigned int i, refused = 0;
	int ret;

	w->watched = false;	/* the superblock says that all may differ */
	memcpy(before, w->durable, 2 * KFM_BLOCK);
	for (i = 0; i < 2 * 8 * KFM_SECTOR; i++) {
		memcpy(w->durable, before, 2 * KFM_BLOCK);
		flip(w, i / 8 % KFM_SECTOR + i / (8 * KFM_SECTOR) * KFM_BLOCK, i % 8);
		ret = mw_load(w);
		refused += ret != 0;
		if (ret)
			continue;
		KUNIT_EXPECT_EQ_MSG(test, w->m.sb.flags & KFM_SB_DOUBT, KFM_SB_DOUBT, "bit %u", i);
		KUNIT_EXPECT_EQ(test, w->m.sb.state, KFM_BLANK);
		KUNIT_EXPECT_EQ(test, w->peers[1].oos_count, MW_REGIONS);
		KUNIT_EXPECT_EQ(test, mw_load(w), 0);
		KUNIT_EXPECT_EQ(test, w->m.sb.flags, KFM_SB_DOUBT);
	}
	KUNIT_EXPECT_GE(test, refused, 2 * 64);		/* the magic numbers */
	KUNIT_EXPECT_LE(test, refused, 2 * (64 + 32));	/* and versions */
	/* a superblock that has become zeros was not the first one of this device */
	memcpy(w->durable, before, KFM_BLOCK);
	memset(w->durable + KFM_BLOCK, 0, KFM_BLOCK);
	KUNIT_EXPECT_EQ(test, mw_load(w), 0);
	KUNIT_EXPECT_TRUE(test, w->m.sb.flags & KFM_SB_DOUBT);
}

/* A new device has one superblock, and nothing was forgotten. */
static void doubt_first(struct kunit *test)
{
	struct mw *w = mw_make(test, 1);

	KUNIT_ASSERT_EQ(test, kfm_super_save(&w->m), 0);
	KUNIT_EXPECT_EQ(test, mw_load(w), 0);
	KUNIT_EXPECT_EQ(test, w->m.sb.flags, 0);
	KUNIT_EXPECT_EQ(test, w->m.sb.gens.cur, 5);
}

static void expect_same(struct mw *w, const struct kfm_super *known)
{
	KUNIT_EXPECT_MEMEQ(w->test, &w->m.sb.gens, &known->gens, sizeof(known->gens));
	KUNIT_EXPECT_EQ(w->test, w->m.sb.state, known->state);
	KUNIT_EXPECT_EQ(w->test, w->m.sb.flags, known->flags);
	KUNIT_EXPECT_EQ(w->test, w->m.sb.pairs[0].base, known->pairs[0].base);
	KUNIT_EXPECT_EQ(w->test, w->m.sb.serial, known->serial);
}

/* A resume knows what was stored before the suspend, whichever copy is damaged. */
static void doubt_settled(struct kunit *test)
{
	struct mw *w = doubt_make(test, 1);
	struct kfm_super known = w->m.sb, other = known;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		flip(w, ((known.serial + i) & 1) * KFM_BLOCK + 100, 3);
		memcpy(w->meta, w->durable, MW_META);
		KUNIT_ASSERT_EQ(test, kfm_super_load(&w->m), 0);
		KUNIT_EXPECT_EQ(test, w->m.sb.flags, DOUBTFUL);
		KUNIT_EXPECT_EQ(test, kfm_super_settle(&w->m, &known), 0);
		known.serial += i;	/* the newer one is stored again, or both are */
		expect_same(w, &known);
		KUNIT_EXPECT_EQ(test, mw_load(w), 0);
		expect_same(w, &known);
	}
	/* the device has something else than what this node has stored */
	flip(w, 100, 3);
	memcpy(w->meta, w->durable, MW_META);
	KUNIT_ASSERT_EQ(test, kfm_super_load(&w->m), 0);
	other.node++;
	other.serial = w->m.sb.serial;
	KUNIT_EXPECT_EQ(test, kfm_super_settle(&w->m, &other), 0);
	KUNIT_EXPECT_TRUE(test, w->m.sb.flags & KFM_SB_DOUBT);
}

/* A candidate, or a primary, says HELLO. Return: the reason of a refusal, or 0 after STATE. */
static u32 hello(struct mw *w, u32 flags, u32 versions, struct kfm_gens gens)
{
	unsigned int before = w->count[0][KFM_REFUSED];

	mw_say(w, 0, (struct kfm_msg) {
		.type = KFM_HELLO, .session = 9, .gens = gens, .sectors = w->m.sectors,
		.lbs = KFM_SECTOR, .flags = flags, .arg = KFM_FENCE, .versions = versions,
		.peers = kfm_peer_count(&w->m),
		.features = KFM_F_DIRECT | (w->m.policy == KFM_QUORUM ? KFM_F_QUORUM : 0),
	});
	return w->count[0][KFM_REFUSED] > before ? w->sent[0][KFM_REFUSED].arg : 0;
}

/* It is not promoted, not even by force, and agrees with no candidate of any version. */
static void doubt_refuses(struct kunit *test)
{
	const struct kfm_gens newer = { .cur = 9, .history = { 5, 4 } };
	struct mw *w = doubtful(test, 1);
	struct dm_target ti = { .private = &w->m };
	char text[256];

	KUNIT_EXPECT_EQ(test, mw_order(w, "promote", NULL), -EUCLEAN);
	KUNIT_EXPECT_EQ(test, mw_order(w, "promote", "force"), -EUCLEAN);
	KUNIT_EXPECT_EQ(test, hello(w, KFM_M_CANDIDATE, KFM_VERSIONS(4, 4), newer), KFM_R_DOUBT);
	KUNIT_EXPECT_EQ(test, hello(w, KFM_M_CANDIDATE, 0, newer), KFM_R_LEG);
	kfm_status(&ti, STATUSTYPE_INFO, 0, text, sizeof(text));
	KUNIT_EXPECT_NOT_NULL(test, strstr(text, " blank "));
	KUNIT_EXPECT_NOT_NULL(test, strstr(text, " doubtful"));
	/* a person says that this copy is not needed */
	KUNIT_EXPECT_EQ(test, mw_order(w, "invalidate", NULL), 0);
	KUNIT_EXPECT_EQ(test, hello(w, KFM_M_CANDIDATE, KFM_VERSIONS(4, 4), newer), 0);
	w->m.policy = KFM_QUORUM;
	w->m.sb.nodes[0] = MW_NODE;
	w->m.sb.flags = KFM_SB_DOUBT;
	KUNIT_EXPECT_EQ(test, kfm_quorum_flags(&w->m), KFM_M_QUORUM);
}

/*
 * A primary writes all of it, and goes on where that was interrupted. It does not if the superblock
 * that is left tells that the primary lacks data, or has another past. SYNCED ends the doubt.
 */
static void doubt_ends(struct kunit *test)
{
	const struct kfm_gens older = { .cur = 3 }, split = { .cur = 9, .history = { 3 } };
	struct kfm_gens newer = { .cur = 9, .history = { 5, 4 }, .source = 9 };
	struct mw *w = doubtful(test, 1);
	const struct kfm_msg *state = &w->sent[0][KFM_STATE];
	struct kfm *m = &w->m;

	m->sb.gens.history[0] = 3;
	KUNIT_EXPECT_EQ(test, hello(w, 0, KFM_VERSIONS(4, 4), older), KFM_R_DOUBT);
	KUNIT_EXPECT_EQ(test, hello(w, 0, KFM_VERSIONS(4, 4), split), KFM_R_DOUBT);
	KUNIT_EXPECT_EQ(test, hello(w, 0, KFM_VERSIONS(4, 4), newer), 0);
	KUNIT_EXPECT_TRUE(test, state->state == KFM_BLANK && !state->gens.cur);
	mw_say(w, 0, (struct kfm_msg) { .type = KFM_ATTACH, .session = 9, .gens = newer });
	KUNIT_EXPECT_EQ(test, w->log_opened, 0);
	mw_say(w, 0, (struct kfm_msg) {
		.type = KFM_ATTACH, .session = 9, .gens = newer, .arg = 1,
	});
	KUNIT_EXPECT_EQ(test, w->log_opened, 1);
	KUNIT_ASSERT_EQ(test, mw_load(w), 0);
	KUNIT_EXPECT_EQ(test, m->sb.flags, KFM_SB_DOUBT);
	KUNIT_EXPECT_TRUE(test, m->sb.state == KFM_INCONSISTENT && !m->sb.gens.cur);
	newer.cur = 10;
	newer.history[0] = 9;
	KUNIT_EXPECT_EQ(test, hello(w, KFM_M_CANDIDATE, KFM_VERSIONS(4, 4), newer), KFM_R_DOUBT);
	KUNIT_EXPECT_EQ(test, hello(w, 0, KFM_VERSIONS(4, 4), newer), 0);
	KUNIT_EXPECT_TRUE(test, state->state == KFM_INCONSISTENT && state->gens.source == 9);
	w->peers[0].state = KFM_SESSION_UP;
	mw_say(w, 0, (struct kfm_msg) { .type = KFM_SYNCED, .session = 9, .gens = newer });
	KUNIT_ASSERT_EQ(test, mw_load(w), 0);
	KUNIT_EXPECT_EQ(test, m->sb.flags, 0);
	KUNIT_EXPECT_TRUE(test, m->sb.state == KFM_UPTODATE && m->sb.gens.cur == 10);
}

/* Order a promotion; the peer answers that it is in doubt. Return: the result. */
static int promotes(struct mw *w, const char *how)
{
	struct kfm_cmd *cmd;

	w->m.was_insync = true;
	KUNIT_ASSERT_EQ(w->test, mw_order(w, "promote", how), 1);
	cmd = w->m.promote;
	mw_run(w);
	mw_say(w, 0, (struct kfm_msg) { .type = KFM_REFUSED, .arg = KFM_R_DOUBT });
	if (w->m.promote) {	/* another peer has not answered */
		w->m.promote_by = jiffies - 1;
		mw_run(w);
	}
	return cmd->ret;
}

/*
 * A peer in doubt may have gone on alone: only force goes on without it, whatever a manager says.
 * With a quorum it just gives no vote.
 */
static void doubt_candidate(struct kunit *test)
{
	struct mw *w = doubt_make(test, 1);

	KUNIT_EXPECT_EQ(test, promotes(w, NULL), -ESTALE);
	KUNIT_EXPECT_EQ(test, promotes(w, "fenced"), -ESTALE);
	KUNIT_EXPECT_EQ(test, promotes(w, "force"), 0);
	KUNIT_EXPECT_TRUE(test, kfm_is_alone(&w->peers[0]));
	w = doubt_make(test, 2);
	w->m.policy = KFM_QUORUM;
	w->m.sb.nodes[0] = MW_NODE;
	w->m.sb.nodes[1] = MW_NODE + 1;
	KUNIT_EXPECT_EQ(test, promotes(w, NULL), -EPERM);
}

/*
 * The device has damaged the log: this node is not promoted, but as it knows its generation it
 * votes; by force it is. When a primary attaches, its copy is blank, and all of it is written.
 */
static void doubt_log(struct kunit *test)
{
	struct mw *w = doubt_make(test, 1);
	struct kfm *m = &w->m;
	struct kfm_cmd *cmd;

	w->replay_err = -EBADMSG;
	KUNIT_ASSERT_EQ(test, mw_order(w, "promote", NULL), 1);
	cmd = m->promote;
	mw_run(w);
	mw_state(w, 0, KFM_UPTODATE, 5, 0);
	KUNIT_EXPECT_EQ(test, cmd->ret, -EUCLEAN);
	KUNIT_EXPECT_TRUE(test, !m->primary && m->sb.state == KFM_UPTODATE);
	KUNIT_EXPECT_EQ(test, hello(w, 0, KFM_VERSIONS(4, 4), m->sb.gens), 0);
	mw_say(w, 0, (struct kfm_msg) { .type = KFM_ATTACH, .session = 9, .gens = m->sb.gens });
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_BYE], 1);
	KUNIT_EXPECT_EQ(test, w->log_opened, 0);
	KUNIT_ASSERT_EQ(test, mw_load(w), 0);
	KUNIT_EXPECT_TRUE(test, m->sb.state == KFM_BLANK && m->sb.gens.cur == 5 && !m->sb.flags);
	w->replay_err = 0;
	KUNIT_EXPECT_EQ(test, hello(w, 0, KFM_VERSIONS(4, 4), m->sb.gens), 0);
	KUNIT_EXPECT_EQ(test, w->sent[0][KFM_STATE].state, KFM_BLANK);
	KUNIT_EXPECT_EQ(test, w->sent[0][KFM_STATE].gens.cur, 5);
	w = doubt_make(test, 1);
	w->replay_err = -EBADMSG;
	KUNIT_ASSERT_EQ(test, mw_order(w, "promote", "force"), 1);
	mw_run(w);
	mw_state(w, 0, KFM_UPTODATE, 5, 0);
	KUNIT_EXPECT_TRUE(test, w->m.primary);
}

KFI_SUITE(kfi_mirror_doubt,
	KUNIT_CASE(doubt_each_bit),
	KUNIT_CASE(doubt_first),
	KUNIT_CASE(doubt_settled),
	KUNIT_CASE(doubt_refuses),
	KUNIT_CASE(doubt_ends),
	KUNIT_CASE(doubt_candidate),
	KUNIT_CASE(doubt_log));
