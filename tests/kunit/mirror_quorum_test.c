// SPDX-License-Identifier: GPL-2.0
/* Policy quorum of kfi_mirror: three nodes, of which two decide. */
#include "mirror_world.h"

static struct mw *three(struct kunit *test)
{
	struct mw *w = mw_make(test, 2);

	w->m.policy = KFM_QUORUM;
	w->newer = true;
	return w;
}

/* A session with a whole copy, or a blank one */
static void joins(struct mw *w, unsigned int peer, u64 gen)
{
	w->peers[peer].next = jiffies;
	mw_run(w);
	mw_state(w, peer, gen ? KFM_UPTODATE : KFM_BLANK, gen, KFM_M_QUORUM);
	mw_grant(w, peer);
	mw_run(w);
}

/* A primary of generation 6, with both peers in sync */
static struct mw *primary(struct kunit *test)
{
	struct mw *w = three(test);

	mw_primary(w, 6);
	kfm_quorum_begin(&w->m, 5);
	joins(w, 0, 5);
	joins(w, 1, 5);
	KUNIT_EXPECT_FALSE(test, kfm_quorate(&w->m));
	mw_synced_ok(w, 0);
	KUNIT_EXPECT_TRUE(test, kfm_quorate(&w->m));
	mw_synced_ok(w, 1);
	return w;
}

/* A peer in sync answers PING. */
static void heard(struct mw *w, unsigned int peer)
{
	mw_say(w, peer, (struct kfm_msg) { .type = KFM_PONG });
	mw_run(w);
}

/* A peer has ended the session, a moment ago, and the provider has given up its records. */
static void lost(struct mw *w, unsigned int peer)
{
	w->peers[!peer].live = jiffies - 2;
	mw_say(w, peer, (struct kfm_msg) { .type = KFM_BYE });
	w->peers[peer].next = jiffies + 10 * HZ;
	w->peers[peer].down = jiffies - 1;
	while (w->nr_posted[peer]) {
		w->posted[peer][--w->nr_posted[peer]]->err = -EIO;
		w->posted[peer][w->nr_posted[peer]]->busy = false;
	}
	mw_run(w);
}

static void below_half(struct mw *w)
{
	w->m.quorate_at = jiffies - w->m.timeout / 2 - 1;
	mw_run(w);
}

/*
 * Q1: without one peer a write ends when the other one, which has answered since, has stored the
 * generation that begins. Without both it is held, also while the first one is copied to; a write that
 * this has, and the leg, is not in the way of that.
 */
static void quorum_writes(struct kunit *test)
{
	struct mw *w = primary(test);
	struct kfm_peer *p = w->peers;
	int i;

	mw_write(w, 0, 3);
	mw_run(w);
	mw_ack(w, 0);
	lost(w, 1);
	KUNIT_EXPECT_FALSE(test, kfm_is_alone(&p[1]));
	heard(w, 0);
	KUNIT_EXPECT_TRUE(test, kfm_is_alone(&p[1]));
	KUNIT_EXPECT_EQ(test, w->m.sb.gens.history[0], 6);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->done, 0);
	mw_synced_ok(w, 0);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->done, 1);
	mw_write(w, 1, 3);
	mw_run(w);
	lost(w, 0);
	w->events[0] = 0;
	below_half(w);
	KUNIT_EXPECT_STREQ(test, w->events, "noquorum ");
	joins(w, 1, 6);
	heard(w, 1);
	KUNIT_EXPECT_EQ(test, p[1].state, KFM_SESSION_UP);
	KUNIT_EXPECT_FALSE(test, kfm_quorate(&w->m) || kfm_is_alone(&p[0]));
	mw_write(w, 2, 9);
	for (i = 0; i < 3; i++) {
		mw_ack(w, 1);
		mw_run(w);
	}
	KUNIT_EXPECT_EQ(test, w->m.bios, 1);	/* the third write does not begin */
	KUNIT_EXPECT_EQ(test, w->done, 1);
	for (i = 0; i < 6; i++) {
		p[1].next = jiffies;
		heard(w, 1);
		mw_synced_ok(w, 1);
		mw_ack(w, 1);
	}
	KUNIT_EXPECT_TRUE(test, kfm_is_alone(&p[0]));
	KUNIT_EXPECT_EQ(test, w->done, 7);
	KUNIT_EXPECT_FALSE(test, w->m.noquorum);
}

/* `promote`; a peer answers, if @gen is not 0. Return: did this node become primary? */
static bool promoted(struct mw *w, u32 state, u64 gen, u64 before, u32 flags)
{
	struct kfm *m = &w->m;

	KUNIT_EXPECT_EQ(w->test, mw_order(w, "promote", NULL), 1);
	mw_run(w);
	m->promote_by = jiffies - 1;
	if (gen)
		mw_say(w, 0, (struct kfm_msg) {
			.type = KFM_STATE, .state = state, .peers = 2, .sectors = m->sectors,
			.gens = { .cur = gen, .history = { before } }, .flags = flags,
		});
	mw_run(w);
	return m->primary;
}

/* Q2: more than half have answered, none is newer, and all of them have this policy. */
static void quorum_promotes(struct kunit *test)
{
	struct mw *w = three(test);

	KUNIT_EXPECT_EQ(test, mw_order(w, "promote", "fenced"), -EINVAL);
	KUNIT_EXPECT_FALSE(test, promoted(w, 0, 0, 0, 0));
	KUNIT_EXPECT_FALSE(test, promoted(w, KFM_BLANK, 5, 0, KFM_M_QUORUM));
	KUNIT_EXPECT_FALSE(test, promoted(w, KFM_UPTODATE, 6, 5, KFM_M_QUORUM));
	KUNIT_EXPECT_FALSE(test, promoted(w, KFM_UPTODATE, 5, 0, 0));
	/* a node without which this one went on before is needed if it has answered */
	w->m.sb.pairs[0].flags = KFM_PAIR_ALONE;
	KUNIT_EXPECT_TRUE(test, promoted(w, KFM_UPTODATE, 5, 0, KFM_M_QUORUM));
	KUNIT_EXPECT_FALSE(test, kfm_is_alone(&w->peers[0]));
	KUNIT_EXPECT_TRUE(test, kfm_is_alone(&w->peers[1]));
	/* a copy that knows nothing does not make it more than half */
	joins(w, 1, 0);
	KUNIT_EXPECT_EQ(test, w->count[1][KFM_ATTACH], 0);
	mw_read(w, 0);
	joins(w, 0, 5);
	KUNIT_EXPECT_EQ(test, w->done, 0);
	mw_synced_ok(w, 0);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->done, 1);
}

/*
 * Q3, and LINBIT/drbd#145: a primary below half with a write on its leg learns that others have gone
 * on. The write fails, the generation that it has begun alone is taken back, and its bits are those
 * of the write until SYNCED.
 */
static void quorum_steps_down(struct kunit *test)
{
	struct kfm_msg newer = {
		.type = KFM_REFUSED, .arg = KFM_R_PRIMARY, .gens = { .cur = 8, .history = { 6 } },
	};
	struct mw *w = primary(test);
	struct kfm *m = &w->m;

	mw_say(w, 1, newer);
	mw_run(w);
	KUNIT_EXPECT_TRUE(test, m->primary);	/* it is more than half */
	mw_write(w, 0, 3);
	mw_run(w);
	lost(w, 1);
	heard(w, 0);
	KUNIT_EXPECT_EQ(test, m->sb.gens.history[0], 6);
	lost(w, 0);
	below_half(w);
	newer.gens = m->sb.gens;		/* its own generation is no newer one */
	mw_say(w, 0, newer);
	newer.gens = (struct kfm_gens) { .cur = 8, .history = { 5 } };	/* a split copy */
	mw_say(w, 0, newer);
	KUNIT_EXPECT_FALSE(test, m->stepping);
	newer.gens.history[0] = 6;
	mw_say(w, 0, newer);
	mw_write(w, 1, 4);
	mw_run(w);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->flight + w->done, 0);
	KUNIT_EXPECT_FALSE(test, m->primary || m->leg_failed);
	KUNIT_EXPECT_EQ(test, m->sb.gens.cur, 6);
	/* it is shut down, and comes back; a node of another policy has no session with it */
	KUNIT_EXPECT_EQ(test, mw_load(w), 0);
	KUNIT_EXPECT_EQ(test, m->sb.state, KFM_OUTDATED);
	KUNIT_EXPECT_TRUE(test, test_bit_le(3, w->peers[0].oos) && test_bit_le(3, w->peers[1].oos));
	newer = (struct kfm_msg) {
		.type = KFM_HELLO, .session = 9, .gens = newer.gens, .lbs = KFM_SECTOR, .peers = 2,
		.sectors = m->sectors,
	};
	mw_say(w, 0, newer);
	KUNIT_EXPECT_EQ(test, w->sent[0][KFM_REFUSED].arg, KFM_R_POLICY);
	newer.features = KFM_F_QUORUM;
	mw_say(w, 0, newer);
	KUNIT_EXPECT_EQ(test, w->sent[0][KFM_STATE].flags, KFM_M_QUORUM | KFM_M_DIRTY);
	KUNIT_EXPECT_EQ(test, w->sent[0][KFM_STATE].gens.cur, 6);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(quorum_writes),
	KUNIT_CASE(quorum_promotes),
	KUNIT_CASE(quorum_steps_down),
	{}
};

static struct kunit_suite suite = { .name = "kfi_mirror_quorum", .test_cases = cases };
kunit_test_suite(suite);
