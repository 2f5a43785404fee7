// SPDX-License-Identifier: GPL-2.0
/* Policy quorum of kfi_mirror: three nodes, of which two decide. */
#include "mirror_world.h"

#define VOTES	(KFM_M_QUORUM | KFM_M_VOTES)

static struct mw *three(struct kunit *test)
{
	struct mw *w = mw_make(test, 2);

	w->m.policy = KFM_QUORUM;
	w->m.sb.nodes[0] = MW_NODE;
	w->m.sb.nodes[1] = MW_NODE + 1;
	memcpy(w->peers[1].rails[0]->remote[1], "8", 2);
	w->newer = true;
	return w;
}

/* A primary of generation 6, which no peer has stored yet */
static struct mw *promoted(struct kunit *test)
{
	struct mw *w = three(test);

	mw_primary(w, 6);
	kfm_quorum_begin(&w->m, 5);
	return w;
}

/* A primary of generation 6, with both peers in sync */
static struct mw *primary(struct kunit *test)
{
	struct mw *w = promoted(test);

	mw_join(w, 0, 5);
	mw_join(w, 1, 5);
	KUNIT_EXPECT_FALSE(test, kfm_quorate(&w->m));
	mw_synced_ok(w, 0);
	KUNIT_EXPECT_TRUE(test, kfm_quorate(&w->m));
	mw_synced_ok(w, 1);
	return w;
}

/* A peer in sync answers a PING; @late: an earlier one. What is due is sent to the other one. */
static void heard(struct mw *w, unsigned int peer, unsigned int late)
{
	w->peers[!peer].next = jiffies;
	mw_say(w, peer, (struct kfm_msg) { .type = KFM_PONG, .asked = w->m.asked - late });
	mw_run(w);
}

/* A peer has ended the session, a moment ago, and the provider has given up its records. */
static void lost(struct mw *w, unsigned int peer)
{
	mw_say(w, peer, (struct kfm_msg) { .type = KFM_BYE });
	w->peers[peer].next = jiffies + 10 * HZ;
	while (w->nr_posted[peer]) {
		w->posted[peer][--w->nr_posted[peer]]->err = -EIO;
		w->posted[peer][w->nr_posted[peer]]->busy = false;
	}
	mw_run(w);
}

/* ... and this primary goes on with peer 0 alone. */
static void lost_one(struct mw *w)
{
	lost(w, 1);
	heard(w, 0, 1);
	KUNIT_EXPECT_FALSE(w->test, kfm_is_alone(&w->peers[1]));
	heard(w, 0, 0);
	KUNIT_EXPECT_TRUE(w->test, kfm_is_alone(&w->peers[1]));
	KUNIT_EXPECT_EQ(w->test, w->m.sb.gens.history[0], 6);
	mw_run(w);
}

static void below_half(struct mw *w)
{
	w->m.quorate_at = jiffies - w->m.timeout / 2 - 1;
	mw_run(w);
}

/* All peers are sent a PING. */
static void asks(struct mw *w)
{
	w->peers[0].next = jiffies;
	w->peers[1].next = jiffies;
	mw_run(w);
}

/* Reads wait from half of the time-out on since more than half of the nodes were asked. */
static void quorum_reads(struct kunit *test)
{
	struct mw *w = primary(test);
	struct kfm_peer *p = w->peers;
	struct kfm *m = &w->m;

	m->reads_quorum = true;
	asks(w);
	KUNIT_EXPECT_TRUE(test, kfm_reads_wait(m));
	heard(w, 0, 0);		/* one of both is enough */
	KUNIT_EXPECT_FALSE(test, kfm_reads_wait(m));
	p[0].heard = jiffies - m->timeout / 2 - 1;
	m->reads_until = jiffies - 1;
	mw_run(w);
	KUNIT_EXPECT_TRUE(test, kfm_reads_wait(m));
	/* nothing but an answer counts, and that from the time of the question on */
	asks(w);
	mw_say(w, 1, (struct kfm_msg) { .type = KFM_APPLIED });
	mw_run(w);
	KUNIT_EXPECT_TRUE(test, kfm_reads_wait(m));
	p[1].timed_at = p[0].heard;
	asks(w);
	heard(w, 1, 0);
	KUNIT_EXPECT_TRUE(test, kfm_reads_wait(m));
	asks(w);
	mw_read(w, 0);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->done, 0);
	KUNIT_EXPECT_FALSE(test, m->noquorum);
	heard(w, 1, 0);
	KUNIT_EXPECT_EQ(test, w->done, 1);
	/* a suspend takes back what waits */
	p[1].heard = jiffies - m->timeout / 2 - 1;
	m->reads_until = jiffies - 1;
	mw_read(w, 1);
	mw_run(w);
	m->noflush = true;
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->done, 1);
	KUNIT_EXPECT_EQ(test, w->requeued, 2);
}

/*
 * Q1: without one peer a write ends when the other one, which has answered since, has stored the
 * generation that begins. Without both it is held, also while the first one is copied to; a write
 * that this has, and the leg, is not in the way of that.
 */
static void quorum_writes(struct kunit *test)
{
	struct mw *w = primary(test);
	struct kfm_peer *p = w->peers;
	int i;

	KUNIT_EXPECT_EQ(test, mw_order(w, "detach", NULL), -EOPNOTSUPP);
	mw_write_run(w, 0, 3);
	mw_ack(w, 0);
	lost_one(w);
	KUNIT_EXPECT_EQ(test, w->done, 0);
	mw_synced_ok(w, 0);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->done, 1);
	mw_write_run(w, 1, 3);
	lost(w, 0);
	w->events[0] = 0;
	below_half(w);
	KUNIT_EXPECT_STREQ(test, w->events, "noquorum ");
	mw_join(w, 1, 6);
	heard(w, 1, 0);
	KUNIT_EXPECT_EQ(test, p[1].state, KFM_SESSION_UP);
	KUNIT_EXPECT_FALSE(test, kfm_quorate(&w->m) || kfm_is_alone(&p[0]));
	mw_write(w, 2, 9);
	for (i = 0; i < 3; i++)
		mw_ack_run(w, 1);
	/* the third does not begin */
	KUNIT_EXPECT_TRUE(test, w->m.bios == 1 && w->done == 1);
	p[0].next = jiffies + 10 * HZ;
	for (i = 0; i < 6; i++) {
		p[1].next = jiffies;
		mw_say(w, 1, (struct kfm_msg) { .type = KFM_PONG, .asked = w->m.asked });
		mw_run(w);
		mw_synced_ok(w, 1);
		mw_ack(w, 1);
	}
	KUNIT_EXPECT_TRUE(test, kfm_is_alone(&p[0]) && !w->m.noquorum);
	KUNIT_EXPECT_EQ(test, w->done, 7);
}

/* The answer of a peer to a candidate */
struct vote {
	u32 state;
	u64 gen, before;
	u32 flags;
	int ret;
};

/* `promote`: the peers answer, or do not. The result is that of the command. */
static int promotes(struct mw *w, const struct vote *first, const struct vote *second)
{
	const struct vote *votes[] = { first, second };
	struct kfm_cmd *cmd;
	u64 source;
	int i;

	KUNIT_ASSERT_EQ(w->test, mw_order(w, "promote", NULL), 1);
	cmd = w->m.promote;
	mw_run(w);
	for (i = 1; i >= 0; i--) {
		if (!votes[i])
			continue;
		source = votes[i]->state == KFM_INCONSISTENT ? votes[i]->before : 0;
		mw_say(w, i, (struct kfm_msg) {
			.type = KFM_STATE, .state = votes[i]->state, .peers = 2,
			.sectors = w->m.sectors, .flags = votes[i]->flags,
			.gens = {
				.cur = votes[i]->gen, .source = source,
				.history = { votes[i]->before },
			},
		});
	}
	w->m.promote_by = jiffies - 1;
	mw_run(w);
	return cmd->ret;
}

/*
 * Q2: more than half vote: they have a generation, none that is newer or split, and have stored it
 * with this policy. Q4: they are nodes that this one was told of.
 */
static void quorum_promotes(struct kunit *test)
{
	static const struct vote refused[] = {
		{ KFM_BLANK, 5, 0, KFM_M_QUORUM, -EPERM },
		{ KFM_INCONSISTENT, 0, 5, VOTES, -EPERM },
		{ KFM_UPTODATE, 6, 5, VOTES, -ESTALE },
		{ KFM_UPTODATE, 6, 4, VOTES, -ENOTUNIQ },
		{ KFM_UPTODATE, 5, 0, KFM_M_VOTES, -EPERM },
		{ KFM_UPTODATE, 5, 0, KFM_M_QUORUM, -EPERM },
	}, split = { KFM_UPTODATE, 6, 3, VOTES }, good = { KFM_UPTODATE, 5, 0, VOTES },
	  begun = { KFM_INCONSISTENT, 4, 9, VOTES };
	struct mw *w = three(test);
	struct kfm *m = &w->m;
	unsigned int i;

	KUNIT_EXPECT_EQ(test, mw_order(w, "promote", "fenced"), -EINVAL);
	for (i = 0; i < ARRAY_SIZE(refused); i++)
		KUNIT_EXPECT_EQ(test, promotes(w, &refused[i], NULL), refused[i].ret);
	m->sb.nodes[0] = 55;
	KUNIT_EXPECT_EQ(test, promotes(w, &good, NULL), -EPERM);
	m->sb.nodes[0] = MW_NODE;
	/*
	 * A split copy does not prevent it, nor that a primary which is gone has begun to overwrite
	 * another one, nor that this one is outdated. A node without which it went on is needed.
	 */
	m->sb.pairs[0].flags = KFM_PAIR_ALONE;
	m->sb.state = KFM_OUTDATED;
	m->sb.gens.history[0] = 4;
	KUNIT_EXPECT_EQ(test, promotes(w, &begun, &split), 0);
	KUNIT_EXPECT_TRUE(test, !kfm_is_alone(&w->peers[0]) && kfm_is_alone(&w->peers[1]));
	/* no other node has stored this generation, so it is taken back */
	KUNIT_EXPECT_TRUE(test, !mw_order(w, "demote", NULL) && m->sb.gens.cur == 5);
	/* one may have stored the next one */
	KUNIT_EXPECT_EQ(test, promotes(w, &good, NULL), 0);
	mw_join(w, 0, 5);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_SYNCED], 1);
	KUNIT_EXPECT_TRUE(test, !mw_order(w, "demote", NULL) && m->sb.gens.history[0] == 5);
	/* the generation was stored with another policy: all have to answer */
	m->sb.gens.cur = 5;
	memset(m->sb.nodes, 0, sizeof(m->sb.nodes));
	KUNIT_EXPECT_EQ(test, promotes(w, &good, NULL), -EPERM);
	KUNIT_EXPECT_EQ(test, promotes(w, &good, &good), 0);
	KUNIT_EXPECT_EQ(test, m->sb.nodes[0] + m->sb.nodes[1], 2 * MW_NODE + 1);
	KUNIT_EXPECT_EQ(test, m->counted_gen, m->sb.gens.cur);
}

/*
 * A copy that knows nothing does not make this node more than half: not when it comes, and not when
 * it has been written, if the other peer may have left before. By force it does.
 */
static void quorum_blank(struct kunit *test)
{
	struct mw *w = promoted(test);
	struct kfm_peer *p = w->peers;

	w->m.sb.pairs[1].flags = KFM_PAIR_ALONE;
	below_half(w);
	mw_join(w, 1, 0);
	KUNIT_EXPECT_EQ(test, w->count[1][KFM_ATTACH], 0);
	KUNIT_EXPECT_NE(test, p[1].refused, 0);
	mw_read(w, 0);
	mw_join(w, 0, 5);
	KUNIT_EXPECT_EQ(test, w->done, 0);
	mw_synced_ok(w, 0);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->done, 1);
	mw_join(w, 1, 0);
	kfm_oos_zero(&p[1]);
	heard(w, 0, 1);
	KUNIT_EXPECT_EQ(test, w->count[1][KFM_SYNCED], 0);
	heard(w, 0, 0);
	KUNIT_EXPECT_EQ(test, w->count[1][KFM_SYNCED], 1);
	lost(w, 0);
	lost(w, 1);
	KUNIT_EXPECT_EQ(test, mw_order(w, "replace", "there 8"), -EBUSY);
	KUNIT_EXPECT_EQ(test, mw_order(w, "promote", "force now"), -EINVAL);
	KUNIT_EXPECT_FALSE(test, kfm_may_write(&w->m));
	KUNIT_EXPECT_TRUE(test, !mw_order(w, "promote", "force") && kfm_may_write(&w->m));
	KUNIT_EXPECT_EQ(test, mw_order(w, "promote", "force"), -EALREADY);
	KUNIT_EXPECT_EQ(test, w->m.counted_gen, w->m.sb.gens.cur);
}

/* Q4: a node is replaced. The others know that before the next one is written. */
static void quorum_replaces(struct kunit *test)
{
	struct mw *w = primary(test);
	struct kfm *m = &w->m;

	lost_one(w);
	mw_synced_ok(w, 0);
	KUNIT_EXPECT_EQ(test, mw_order(w, "replace", "there 8"), 0);
	KUNIT_EXPECT_TRUE(test, m->sb.nodes[0] == MW_NODE && !kfm_quorate(m));
	mw_join(w, 1, 0);		/* not before the other one has stored that */
	mw_synced_ok(w, 0);
	KUNIT_EXPECT_EQ(test, m->sb.nodes[1], 0);
	mw_join(w, 1, 0);
	KUNIT_EXPECT_EQ(test, m->sb.nodes[1], MW_NODE + 1);
	KUNIT_EXPECT_EQ(test, w->sent[0][KFM_SYNCED].nodes[1], MW_NODE + 1);
	mw_join(w, 1, 0);
	KUNIT_EXPECT_EQ(test, w->count[1][KFM_ATTACH], 1);	/* the first one */
	mw_synced_ok(w, 0);
	mw_join(w, 1, 0);
	KUNIT_EXPECT_EQ(test, w->count[1][KFM_ATTACH], 2);
	/* there is one more, whose place nobody has given up */
	lost(w, 1);
	m->sb.nodes[1] = 55;
	mw_join(w, 1, 0);
	KUNIT_EXPECT_TRUE(test, kfm_other_node(&w->peers[1]));
}

/* What a secondary stores, and says; one that the primary can't do without goes on with it. */
static void quorum_follows(struct kunit *test)
{
	struct mw *w = mw_follower(test);
	struct kfm *m = &w->m;
	struct kfm_msg synced = {
		.type = KFM_SYNCED, .gens = { .cur = 6, .history = { 5 } },
		.nodes = { 7, MW_NODE + 1 },
	};

	w->newer = true;
	m->policy = KFM_QUORUM;
	KUNIT_EXPECT_EQ(test, kfm_quorum_flags(m), KFM_M_QUORUM);
	mw_say(w, 0, synced);
	KUNIT_EXPECT_EQ(test, kfm_quorum_flags(m), VOTES);
	KUNIT_EXPECT_TRUE(test, !mw_load(w) && m->sb.nodes[0] == MW_NODE &&
			  m->sb.nodes[1] == MW_NODE + 1);
	mw_say(w, 0, (struct kfm_msg) { .type = KFM_PING, .asked = 4 });
	KUNIT_EXPECT_EQ(test, w->sent[0][KFM_PONG].asked, 4);
	w->peers[0].features = KFM_F_LEAVE;
	KUNIT_EXPECT_EQ(test, mw_order(w, "leave", NULL), 1);
	KUNIT_EXPECT_EQ(test, kfm_quorum_flags(m), KFM_M_QUORUM);
	m->leave_by = jiffies - 1;
	mw_run(w);
	KUNIT_EXPECT_FALSE(test, m->left);
	m->policy = KFM_FENCE;
	kfm_quorum_resume(m);
	KUNIT_EXPECT_TRUE(test, !mw_load(w) && !m->sb.nodes[0]);
	w->peers[0].state = KFM_SESSION_UP;
	mw_say(w, 0, synced);
	KUNIT_EXPECT_EQ(test, m->sb.nodes[0], 0);
}

/*
 * Q3, and LINBIT/drbd#145: a primary below half with a write on its leg learns that others have
 * gone on. The write fails, the generation that it has begun alone is taken back, and its bits are
 * those of the write until SYNCED.
 */
static void quorum_steps_down(struct kunit *test)
{
	struct kfm_msg newer = {
		.type = KFM_REFUSED, .arg = KFM_R_PRIMARY, .gens = { .cur = 8, .history = { 6 } },
		.flags = KFM_M_QUORUM, .peers = 2,
	};
	struct kfm_msg others[4] = { newer, newer, newer, newer };
	struct mw *w = primary(test);
	struct kfm *m = &w->m;
	unsigned int i;

	mw_say(w, 1, newer);
	mw_run(w);
	KUNIT_EXPECT_TRUE(test, m->primary);	/* it is more than half */
	mw_write_run(w, 0, 3);
	lost_one(w);
	lost(w, 0);
	below_half(w);
	others[0].gens = m->sb.gens;		/* its own generation is no newer one */
	others[1].gens.history[0] = 5;		/* a split copy */
	others[2].peers = 4;
	others[3].flags = 0;
	for (i = 0; i < ARRAY_SIZE(others); i++)
		mw_say(w, 0, others[i]);
	KUNIT_EXPECT_FALSE(test, m->stepping);
	mw_say(w, 0, newer);
	mw_write_run(w, 1, 4);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->flight + w->done, 0);
	KUNIT_EXPECT_TRUE(test, !m->primary && !m->leg_failed && m->sb.gens.cur == 6);
	/* it is shut down, and comes back; a node of another policy has no session with it */
	KUNIT_EXPECT_TRUE(test, !mw_load(w) && m->sb.state == KFM_OUTDATED);
	KUNIT_EXPECT_TRUE(test, test_bit_le(3, w->peers[0].oos) && test_bit_le(3, w->peers[1].oos));
	newer = (struct kfm_msg) {
		.type = KFM_HELLO, .session = 9, .gens = newer.gens, .lbs = KFM_SECTOR, .peers = 2,
		.sectors = m->sectors,
	};
	mw_say(w, 0, newer);
	KUNIT_EXPECT_EQ(test, w->sent[0][KFM_REFUSED].arg, KFM_R_POLICY);
	newer.features = KFM_F_QUORUM;
	mw_say(w, 0, newer);
	KUNIT_EXPECT_EQ(test, w->sent[0][KFM_STATE].flags, VOTES | KFM_M_DIRTY);
}

/*
 * The second peer is a witness, as both say: what it stores counts, and it is sent nothing else.
 * If it is given a copy, which may have been written before, it gets all of it.
 */
static void quorum_witness(struct kunit *test)
{
	struct mw *w = three(test);
	struct kfm_peer *p = w->peers;

	p[1].witness = true;
	mw_primary(w, 6);
	kfm_quorum_resume(&w->m);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->sent[0][KFM_HELLO].features & KFM_F_WITNESS, 0);
	KUNIT_EXPECT_NE(test, w->sent[1][KFM_HELLO].features & KFM_F_WITNESS, 0);
	mw_state(w, 0, KFM_UPTODATE, 5, KFM_M_QUORUM | KFM_M_WITNESS);
	mw_state(w, 1, KFM_UPTODATE, 5, KFM_M_QUORUM);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_ATTACH] + w->count[1][KFM_ATTACH], 0);
	mw_join(w, 0, 5);
	p[1].next = jiffies;
	mw_run(w);
	mw_state(w, 1, KFM_UPTODATE, 5, KFM_M_QUORUM | KFM_M_WITNESS | KFM_M_DIRTY);
	KUNIT_EXPECT_EQ(test, w->sent[1][KFM_ATTACH].arg, 0);
	mw_grant(w, 1);			/* not that of a witness */
	KUNIT_EXPECT_EQ(test, p[1].state, KFM_SESSION_ATTACH);
	mw_say(w, 1, (struct kfm_msg) { .type = KFM_GRANT, .flags = KFM_M_WITNESS });
	KUNIT_EXPECT_TRUE(test, kfm_resync_waits(&p[0]));
	p[1].fresh = true;		/* it may wait for the first peer itself */
	KUNIT_EXPECT_FALSE(test, kfm_resync_waits(&p[0]));
	p[1].fresh = false;
	mw_run(w);
	mw_synced_ok(w, 1);
	lost(w, 0);
	heard(w, 1, 0);
	KUNIT_EXPECT_TRUE(test, kfm_is_alone(&p[0]));
	mw_write(w, 1, 4);
	mw_zero_run(w, 2, 16, 8, REQ_OP_WRITE_ZEROES);
	KUNIT_EXPECT_EQ(test, w->done, 0);	/* the witness has to store the generation */
	mw_synced_ok(w, 1);
	mw_run(w);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->done, 6);
	lost(w, 1);
	KUNIT_EXPECT_EQ(test, w->groups[1] + p[1].oos_count + p[1].active_count, 0);
	KUNIT_EXPECT_EQ(test, mw_load(w), 0);
	KUNIT_EXPECT_GT(test, p[0].oos_count, p[1].oos_count);
	p[1].witness = false;
	kfm_quorum_resume(&w->m);
	mw_join(w, 1, w->m.sb.gens.cur);
	KUNIT_EXPECT_EQ(test, p[1].oos_count, MW_REGIONS);
}

/* A primary of the generation behind 5 */
static void says(struct mw *w, u16 type, u64 gen, u32 arg)
{
	mw_say(w, 0, (struct kfm_msg) {
		.type = type, .gens = { .cur = gen, .history = { 5 }, .source = 6 }, .arg = arg,
		.id = 1, .nodes = { 7, MW_NODE + 1 },
	});
}

/* This node is the witness: what it has stored outlives its power, and it is never promoted. */
static void quorum_votes(struct kunit *test)
{
	struct mw *w = mw_make(test, 2);
	struct kfm *m = &w->m;
	struct kfm_msg hello = {
		.type = KFM_HELLO, .session = 9, .lbs = 4096, .peers = 2, .sectors = 2 * m->sectors,
		.features = KFM_F_QUORUM,
	};

	w->newer = true;
	m->policy = KFM_QUORUM;
	m->witness = true;
	m->leg = NULL;
	m->logdev = NULL;
	m->sb.flags = KFM_SB_WITNESS | KFM_SB_NO_LOG;
	mw_say(w, 0, hello);
	KUNIT_EXPECT_EQ(test, w->sent[0][KFM_REFUSED].arg, KFM_R_WITNESS);
	hello.features |= KFM_F_WITNESS | KFM_F_DIRECT | KFM_F_NO_LOG;
	mw_say(w, 0, hello);
	KUNIT_EXPECT_EQ(test, w->sent[0][KFM_STATE].flags, KFM_M_QUORUM | KFM_M_WITNESS);
	says(w, KFM_ATTACH, 6, 1);	/* to be overwritten */
	m->sb.gens.history[0] = 4;
	mw_say(w, 0, (struct kfm_msg) { .type = KFM_ATTACH, .gens.cur = 4 });
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_GRANT], 0);
	says(w, KFM_ATTACH, 6, 0);
	KUNIT_EXPECT_EQ(test, w->sent[0][KFM_GRANT].flags, KFM_M_WITNESS);
	says(w, KFM_SYNCED, 6, 0);
	KUNIT_EXPECT_EQ(test, w->sent[0][KFM_SYNCED_OK].gens.cur, 6);
	says(w, KFM_COPY, 0, KFM_SECTOR);
	says(w, KFM_HASH, 0, KFM_SECTOR);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_COPIED] + w->count[0][KFM_HASHED], 0);
	KUNIT_EXPECT_EQ(test, mw_order(w, "promote", "force"), -EOPNOTSUPP);
	says(w, KFM_BYE, 0, 0);
	KUNIT_EXPECT_EQ(test, mw_load(w), 0);
	hello.flags = KFM_M_CANDIDATE;
	mw_say(w, 1, hello);
	KUNIT_EXPECT_EQ(test, w->sent[1][KFM_STATE].flags, VOTES | KFM_M_WITNESS);
	KUNIT_EXPECT_EQ(test, w->sent[1][KFM_STATE].gens.cur, 6);
	m->witness = false;
	KUNIT_EXPECT_EQ(test, mw_load(w), -EINVAL);
	/* what it has forgotten is not attached to */
	m->witness = true;
	KUNIT_EXPECT_EQ(test, mw_order(w, "invalidate", NULL), 0);
	mw_say(w, 0, (struct kfm_msg) { .type = KFM_ATTACH, .session = 9, .gens.cur = 7 });
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_GRANT], 1);
}

KFI_SUITE(kfi_mirror_quorum,
	KUNIT_CASE(quorum_reads),
	KUNIT_CASE(quorum_writes),
	KUNIT_CASE(quorum_promotes),
	KUNIT_CASE(quorum_blank),
	KUNIT_CASE(quorum_replaces),
	KUNIT_CASE(quorum_follows),
	KUNIT_CASE(quorum_steps_down),
	KUNIT_CASE(quorum_witness),
	KUNIT_CASE(quorum_votes));
