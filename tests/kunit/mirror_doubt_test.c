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
	KUNIT_EXPECT_EQ(test, refused, 2 * 64);		/* the magic numbers */
	/* a superblock that has become zeros was not the first one of this device */
	memcpy(w->durable, before, KFM_BLOCK);
	memset(w->durable + KFM_BLOCK, 0, KFM_BLOCK);
	KUNIT_EXPECT_EQ(test, mw_load(w), 0);
	KUNIT_EXPECT_TRUE(test, w->m.sb.flags & KFM_SB_DOUBT);
}

/* The power fails when a new device has one superblock: nothing was forgotten. */
static void doubt_first(struct kunit *test)
{
	struct mw *w = mw_make(test, 1);

	w->io_left = 2;
	KUNIT_ASSERT_EQ(test, kfm_super_save(&w->m), -EIO);
	KUNIT_EXPECT_EQ(test, mw_load(w), 0);
	KUNIT_EXPECT_EQ(test, w->m.sb.serial, 1);
	KUNIT_EXPECT_EQ(test, w->m.sb.flags, 0);
	KUNIT_EXPECT_EQ(test, w->m.sb.gens.cur, 5);
}

/*
 * A superblock of another version, in either place, may be the newer one: the node does not start,
 * the log names the versions, and nothing is written.
 */
static void doubt_other_version(struct kunit *test)
{
	static const struct {
		u32 version;
		const char *said;
	} rows[] = {
		{ KFM_VERSION + 1, "mirror: the metadata has version 8, and this module reads 3 to 7: use a newer kfabric" },
		{ KFM_VERSION_LOWEST - 1, "mirror: the metadata has version 2, and this module reads 3 to 7: use an older kfabric" },
	};
	struct mw *w = doubt_make(test, 2);
	u8 *was = kfi_test_zalloc(test, MW_META), *now = kfi_test_zalloc(test, MW_META);
	unsigned int i;

	memcpy(was, w->durable, MW_META);
	for (i = 0; i < 2 * ARRAY_SIZE(rows); i++) {
		memcpy(w->durable, was, MW_META);
		mw_version(w->durable + i % 2 * KFM_BLOCK, rows[i / 2].version);
		memcpy(now, w->durable, MW_META);
		KUNIT_EXPECT_EQ(test, mw_load(w), -EPROTONOSUPPORT);
		KUNIT_EXPECT_STREQ(test, mw_heard, rows[i / 2].said);
		KUNIT_EXPECT_MEMEQ(test, w->durable, now, MW_META);
		/* the other one is damaged besides */
		flip(w, (i + 1) % 2 * KFM_BLOCK + 100, 3);
		KUNIT_EXPECT_EQ(test, mw_load(w), -EPROTONOSUPPORT);
	}
	memcpy(w->durable, was, MW_META);
	KUNIT_EXPECT_EQ(test, mw_load(w), 0);
	KUNIT_EXPECT_EQ(test, w->m.sb.flags, 0);
}

static u8 *place(struct mw *w, unsigned int i)
{
	return w->durable + i * KFM_BLOCK;
}

/*
 * A place of the superblock gives back what it had at any time before, with its right checksum, or
 * what the other place has: the node is in doubt, or it knows all the same.
 */
static void doubt_earlier(struct kunit *test)
{
	u8 *was[4], *now = kfi_test_zalloc(test, 2 * KFM_BLOCK);
	struct mw *w = mw_make(test, 2);
	struct kfm *m = &w->m;
	unsigned int i, k;

	w->watched = false;	/* the superblock says that all may differ */
	for (i = 0; i < 4; i++) {
		m->sb.gens.cur = 10 + i;
		KUNIT_ASSERT_EQ(test, kfm_super_save(m), 0);
		was[i] = kfi_test_zalloc(test, 2 * KFM_BLOCK);
		memcpy(was[i], w->durable, 2 * KFM_BLOCK);
	}
	for (i = 0; i < 4; i++) {
		for (k = 0; k < 2; k++) {
			memcpy(w->durable, was[3], 2 * KFM_BLOCK);
			memcpy(place(w, k), was[i] + k * KFM_BLOCK, KFM_BLOCK);
			memcpy(now, w->durable, 2 * KFM_BLOCK);
			KUNIT_ASSERT_EQ(test, mw_load(w), 0);
			if (!(m->sb.flags & KFM_SB_DOUBT)) {
				KUNIT_EXPECT_EQ_MSG(test, m->sb.gens.cur, 13, "%u %u", i, k);
				continue;
			}
			KUNIT_EXPECT_EQ(test, m->sb.state, KFM_BLANK);
			KUNIT_EXPECT_LT(test, i, 3);
			KUNIT_EXPECT_EQ(test, mw_load(w), 0);	/* durably, and both are whole */
			KUNIT_EXPECT_EQ(test, m->sb.flags, KFM_SB_DOUBT);
			KUNIT_EXPECT_GT(test, m->sb.serial, 1000);
		}
		KUNIT_EXPECT_TRUE(test, i == 3 || memcmp(now, was[3], 2 * KFM_BLOCK));
	}
	/* far back, and each place has what the other one should have */
	memcpy(place(w, 0), was[0], KFM_BLOCK);
	memcpy(place(w, 1), was[3] + KFM_BLOCK, KFM_BLOCK);
	KUNIT_ASSERT_EQ(test, mw_load(w), 0);
	KUNIT_EXPECT_TRUE(test, m->sb.flags & KFM_SB_DOUBT);
	memcpy(place(w, 0), was[3] + KFM_BLOCK, KFM_BLOCK);
	memcpy(place(w, 1), was[3], KFM_BLOCK);
	KUNIT_ASSERT_EQ(test, mw_load(w), 0);
	KUNIT_EXPECT_TRUE(test, m->sb.flags & KFM_SB_DOUBT);
	KUNIT_ASSERT_EQ(test, mw_load(w), 0);
	KUNIT_EXPECT_EQ(test, m->sb.flags, KFM_SB_DOUBT);
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
	u64 serial;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		flip(w, ((known.serial + i) & 1) * KFM_BLOCK + 100, 3);
		memcpy(w->meta, w->durable, MW_META);
		KUNIT_ASSERT_EQ(test, kfm_super_load(&w->m), 0);
		KUNIT_EXPECT_EQ(test, w->m.sb.flags, DOUBTFUL);
		serial = w->m.sb.serial;
		KUNIT_EXPECT_EQ(test, kfm_super_settle(&w->m, &known), 0);
		known.serial = serial + 2;	/* both places have it */
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
static u32 hello_told(struct mw *w, u32 flags, u32 versions, struct kfm_gens gens,
		      const struct kfm_heard *told)
{
	unsigned int before = w->count[0][KFM_REFUSED];

	mw_say(w, 0, (struct kfm_msg) {
		.told_node = w->m.sb.node, .told_super = told->super, .told_head = told->head,
		.type = KFM_HELLO, .session = 9, .gens = gens, .sectors = w->m.sectors,
		.lbs = KFM_SECTOR, .flags = flags, .arg = KFM_FENCE, .versions = versions,
		.peers = kfm_peer_count(&w->m),
		.features = KFM_F_DIRECT | (w->m.policy == KFM_QUORUM ? KFM_F_QUORUM : 0),
	});
	return w->count[0][KFM_REFUSED] > before ? w->sent[0][KFM_REFUSED].arg : 0;
}

static u32 hello(struct mw *w, u32 flags, u32 versions, struct kfm_gens gens)
{
	return hello_told(w, flags, versions, gens, &(struct kfm_heard) {});
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

/* ---- what others remember ---- */

/*
 * Both places have gone back, and a peer knows of a later superblock: this node agrees with no
 * candidate, nor has it a vote as a witness, and a primary writes all of its copy. Of what another
 * node had stored, and of what nobody can have stored, it does not hear.
 */
static void told_hello(struct kunit *test)
{
	const struct kfm_gens newer = { .cur = 9, .history = { 5, 4 } };
	const u32 versions = KFM_VERSIONS(4, 4);
	struct kfm_heard told = {};
	struct mw *w;
	unsigned int i;
	struct kfm *m;

	for (i = 0; i < 3; i++) {
		w = doubt_make(test, i == 2 ? 2 : 1);
		m = &w->m;
		w->watched = false;	/* the superblock says that all may differ */
		told.super = m->sb.serial;
		KUNIT_EXPECT_EQ(test, hello_told(w, KFM_M_CANDIDATE, versions, newer, &told), 0);
		told.super = KFM_SERIAL_MAX + 1;
		KUNIT_EXPECT_EQ(test, hello_told(w, KFM_M_CANDIDATE, versions, newer, &told), 0);
		told.super = m->sb.serial + 1;
		m->sb.node++;	/* hello_told() is for the one before */
		mw_say(w, 0, (struct kfm_msg) {
			.type = KFM_HELLO, .session = 9, .gens = newer, .sectors = m->sectors,
			.lbs = KFM_SECTOR, .flags = KFM_M_CANDIDATE, .arg = KFM_FENCE,
			.versions = versions, .peers = kfm_peer_count(m),
			.told_node = m->sb.node - 1, .told_super = told.super,
		});
		m->sb.node--;
		KUNIT_EXPECT_EQ(test, m->sb.flags, 0);
		if (i == 2) {
			m->policy = KFM_QUORUM;
			m->sb.nodes[0] = MW_NODE;
			KUNIT_EXPECT_TRUE(test, kfm_quorum_flags(m) & KFM_M_VOTES);
		}
		KUNIT_EXPECT_EQ(test, hello_told(w, i == 1 ? 0 : KFM_M_CANDIDATE, versions, newer,
						 &told), i == 1 ? 0 : KFM_R_DOUBT);
		KUNIT_EXPECT_FALSE(test, kfm_quorum_flags(m) & KFM_M_VOTES);
		if (i == 1)
			KUNIT_EXPECT_EQ(test, w->sent[0][KFM_STATE].state, KFM_BLANK);
		KUNIT_EXPECT_NOT_NULL(test, strstr(w->events, "invalid "));
		KUNIT_ASSERT_EQ(test, mw_load(w), 0);
		KUNIT_EXPECT_EQ(test, m->sb.flags, KFM_SB_DOUBT);
		KUNIT_EXPECT_EQ(test, m->sb.state, KFM_BLANK);
		KUNIT_EXPECT_GT(test, m->sb.serial, told.super);
	}
}

/* A candidate is told by STATE, and is not promoted; a primary has no session. */
static void told_state(struct kunit *test)
{
	struct mw *w = doubt_make(test, 1);
	struct kfm_msg state = {
		.type = KFM_STATE, .state = KFM_UPTODATE, .gens.cur = 5, .peers = 1,
		.sectors = w->m.sectors, .start = 1, .told_node = w->m.sb.node,
	};
	struct kfm_cmd *cmd;

	w->watched = false;	/* the superblock says that all may differ */
	state.told_super = w->m.sb.serial + 1;
	KUNIT_ASSERT_EQ(test, mw_order(w, "promote", NULL), 1);
	cmd = w->m.promote;
	mw_run(w);
	mw_say(w, 0, state);
	KUNIT_EXPECT_EQ(test, cmd->ret, -EUCLEAN);
	KUNIT_EXPECT_EQ(test, mw_order(w, "promote", "force"), -EUCLEAN);
	KUNIT_ASSERT_EQ(test, mw_load(w), 0);
	KUNIT_EXPECT_EQ(test, w->m.sb.flags, KFM_SB_DOUBT);

	w = doubt_make(test, 1);
	mw_primary(w, 6);
	KUNIT_ASSERT_EQ(test, kfm_super_save(&w->m), 0);
	mw_run(w);
	state.told_super = w->m.sb.serial + 1;
	mw_say(w, 0, state);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_ATTACH], 0);
	KUNIT_EXPECT_STREQ(test, kfm_refused_word(&w->peers[0]), "earlier");
	w->peers[0].next = jiffies;
	mw_run(w);
	state.told_super--;
	mw_say(w, 0, state);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_ATTACH], 1);
}

/* What a peer says of itself is remembered, also after a restart, and is told to that node alone. */
static void told_remembers(struct kunit *test)
{
	struct mw *w = mw_synced(test);
	const struct kfm_msg *sent = &w->sent[0][KFM_HELLO];
	struct kfm *m = &w->m;

	w->newer = true;
	mw_say(w, 0, (struct kfm_msg) { .type = KFM_PONG, .super = 8, .head = 3 });
	mw_say(w, 0, (struct kfm_msg) { .type = KFM_APPLIED, .super = 7, .head = 4 });
	mw_say(w, 0, (struct kfm_msg) { .type = KFM_PONG, .super = U64_MAX, .head = U64_MAX });
	mw_say(w, 0, (struct kfm_msg) { .type = KFM_PONG, .super = 9, .node = MW_NODE + 5 });
	mw_say(w, 0, (struct kfm_msg) { .type = KFM_COPIED, .super = 9, .head = 9 });
	KUNIT_ASSERT_EQ(test, kfm_super_save(m), 0);
	m->sb.heard[0] = (struct kfm_heard) {};
	KUNIT_ASSERT_EQ(test, mw_load(w), 0);
	m->sb.heard[1].super = 77;	/* of another peer */
	kfm_peer_hello(w->peers[0].rail, 0);
	KUNIT_EXPECT_EQ(test, sent->told_node, MW_NODE);
	KUNIT_EXPECT_EQ(test, sent->told_super, 8);
	KUNIT_EXPECT_EQ(test, sent->told_head, 4);
	KUNIT_EXPECT_EQ(test, sent->super, m->sb.serial);
	m->sb.heard[1].super = 0;
	/* another node in its place has stored nothing yet */
	w->peers[0].state = KFM_SESSION_DOWN;
	KUNIT_EXPECT_EQ(test, mw_order(w, "replace", "there 7"), 0);
	kfm_peer_hello(w->peers[0].rail, 0);
	KUNIT_EXPECT_EQ(test, sent->told_super, 0);
}

/* A peer has more of the same log: this one has lost its last records, and that one is promoted. */
static int promoted_beside(struct kunit *test, u64 begun, u64 epoch, u64 number, const char *how)
{
	struct mw *w = doubt_make(test, 1);
	struct kfm *m = &w->m;
	struct kfm_cmd *cmd;

	m->log.head.epoch = 20;
	m->log.head.number = 30;
	m->log.begun = begun;
	KUNIT_ASSERT_EQ(test, mw_order(w, "promote", how), 1);
	cmd = m->promote;
	mw_run(w);
	mw_say(w, 0, (struct kfm_msg) {
		.type = KFM_STATE, .state = KFM_UPTODATE, .gens.cur = 5, .peers = 1,
		.sectors = m->sectors, .start = 1, .epoch = epoch, .number = number,
	});
	KUNIT_EXPECT_EQ(test, m->primary, !cmd->ret);
	return cmd->ret;
}

static void told_longer(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, promoted_beside(test, 0, 20, 30, NULL), 0);
	KUNIT_EXPECT_EQ(test, promoted_beside(test, 0, 20, 31, NULL), -ESTALE);
	KUNIT_EXPECT_EQ(test, promoted_beside(test, 0, 20, 31, "force"), 0);
	/* this node was there all the time, and knows how far its log went */
	KUNIT_EXPECT_EQ(test, promoted_beside(test, 1, 20, 31, NULL), 0);
	/* of another primary, or the peer does not know */
	KUNIT_EXPECT_EQ(test, promoted_beside(test, 0, 21, 31, NULL), 0);
	KUNIT_EXPECT_EQ(test, promoted_beside(test, 0, 0, 31, NULL), 0);
}

/* ---- disks of a node that was stopped ---- */

/* The bitmaps were put back while the node was stopped: they lack what was stored last. */
static void rest_bitmap(struct kunit *test)
{
	u8 *early = kfi_test_zalloc(test, MW_META), *last = kfi_test_zalloc(test, MW_META);
	struct mw *w = doubt_make(test, 2);
	struct kfm *m = &w->m;

	memcpy(early, w->durable, MW_META);
	mw_differs(w, 1, 20);
	KUNIT_EXPECT_EQ(test, kfm_bits_rest(m), 0);
	kfm_rest_begin(m);
	memcpy(last, w->durable, MW_META);
	KUNIT_ASSERT_EQ(test, mw_load(w), 0);
	KUNIT_EXPECT_EQ(test, w->peers[1].oos_count, 1);
	memcpy(w->durable + KFM_BITMAP_AT, early + KFM_BITMAP_AT, MW_META - KFM_BITMAP_AT);
	w->watched = false;
	KUNIT_ASSERT_EQ(test, mw_load(w), 0);
	KUNIT_EXPECT_EQ(test, w->peers[1].oos_count, MW_REGIONS);
	KUNIT_EXPECT_EQ(test, w->peers[0].oos_count, 0);
	KUNIT_EXPECT_EQ(test, m->sb.state, KFM_UPTODATE);
	/* the node runs: its bitmaps do not stay as they were */
	memcpy(w->durable, last, MW_META);
	KUNIT_ASSERT_EQ(test, mw_load(w), 0);
	kfm_rest_end(m);
	mw_differs(w, 1, 30);
	KUNIT_ASSERT_EQ(test, mw_load(w), 0);
	KUNIT_EXPECT_EQ(test, w->peers[1].oos_count, 2);
	KUNIT_EXPECT_EQ(test, w->peers[0].oos_count, 0);
}

/* Stop the node in order, change its leg, and start it. Return: is it in doubt? */
static bool rest_doubts(struct mw *w, u32 region, u32 word)
{
	u32 before = w->leg[region];
	bool doubt;

	KUNIT_EXPECT_EQ(w->test, kfm_bits_rest(&w->m), 0);
	kfm_rest_begin(&w->m);
	w->leg[region] = word;
	KUNIT_EXPECT_EQ(w->test, mw_load(w), 0);
	kfm_rest_check(&w->m);
	doubt = w->m.sb.flags & KFM_SB_DOUBT;
	KUNIT_EXPECT_EQ(w->test, w->m.sb.state, doubt ? KFM_BLANK : KFM_UPTODATE);
	kfm_rest_end(&w->m);
	w->leg[region] = before;
	KUNIT_EXPECT_EQ(w->test, mw_load(w), 0);	/* with the right leg it is what it was */
	KUNIT_EXPECT_EQ(w->test, w->m.sb.state, KFM_UPTODATE);
	kfm_rest_check(&w->m);
	KUNIT_EXPECT_EQ(w->test, w->m.sb.state, KFM_UPTODATE);
	return doubt;
}

/* A leg without a label was exchanged, or put back, while the node was stopped. */
static void rest_leg(struct kunit *test)
{
	struct mw *w = doubt_make(test, 1);
	unsigned int i;

	for (i = 0; i < MW_REGIONS; i++)
		w->leg[i] = i;
	for (i = 20; i < 20 + KFM_SAMPLES; i++) {
		kfm_rest_wrote(&w->m, (u64)i << w->m.shift);
		kfm_rest_wrote(&w->m, ((u64)i << w->m.shift) + 3);
	}
	KUNIT_EXPECT_FALSE(test, rest_doubts(w, 0, 0));
	KUNIT_EXPECT_TRUE(test, rest_doubts(w, 0, 22));
	KUNIT_EXPECT_TRUE(test, rest_doubts(w, MW_REGIONS - 1, 22));
	for (i = 20; i < 20 + KFM_SAMPLES; i++)
		KUNIT_EXPECT_TRUE_MSG(test, rest_doubts(w, i, i + 1), "region %u", i);
	/* written after the start */
	kfm_rest_end(&w->m);
	kfm_rest_wrote(&w->m, 40 << w->m.shift);
	KUNIT_EXPECT_TRUE(test, rest_doubts(w, 40, 22));
	/* after a loss of power nothing is known */
	KUNIT_EXPECT_EQ(test, kfm_super_save(&w->m), 0);
	w->leg[0] = 22;
	KUNIT_EXPECT_EQ(test, mw_load(w), 0);
	kfm_rest_check(&w->m);
	KUNIT_EXPECT_EQ(test, w->m.sb.state, KFM_UPTODATE);
}

KFI_SUITE(kfi_mirror_doubt,
	KUNIT_CASE(doubt_earlier),
	KUNIT_CASE(told_hello),
	KUNIT_CASE(told_state),
	KUNIT_CASE(told_remembers),
	KUNIT_CASE(told_longer),
	KUNIT_CASE(rest_bitmap),
	KUNIT_CASE(rest_leg),
	KUNIT_CASE(doubt_each_bit),
	KUNIT_CASE(doubt_first),
	KUNIT_CASE(doubt_other_version),
	KUNIT_CASE(doubt_settled),
	KUNIT_CASE(doubt_refuses),
	KUNIT_CASE(doubt_ends),
	KUNIT_CASE(doubt_candidate),
	KUNIT_CASE(doubt_log));
