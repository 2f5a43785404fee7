// SPDX-License-Identifier: GPL-2.0
/*
 * Nodes of kfi_mirror of other versions, and LEAVE, the first message that not all of them know:
 * an orderly stop of a secondary.
 */
#include "mirror_world.h"

/* HELLO of a primary that speaks some versions. Return: the reason of a refusal, or 0 */
static u32 hello_from(struct mw *w, u32 versions)
{
	memset(&w->sent[0][KFM_REFUSED], 0, sizeof(w->sent[0][KFM_REFUSED]));
	mw_say(w, 0, (struct kfm_msg) {
		.type = KFM_HELLO, .session = 9, .gens.cur = 5, .lbs = KFM_SECTOR,
		.arg = KFM_FENCE, .peers = 1, .sectors = w->m.sectors, .versions = versions,
	});
	return w->sent[0][KFM_REFUSED].arg;
}

/*
 * A node that names no versions is one that was made before there were several. The tests of other
 * files have such peers.
 */
static void leave_versions(struct kunit *test)
{
	struct mw *w = mw_make(test, 1);
	struct dm_target ti = { .private = &w->m };
	char text[256];

	KUNIT_EXPECT_EQ(test, hello_from(w, 0), 0);
	KUNIT_EXPECT_EQ(test, hello_from(w, KFM_VERSIONS(4u, 4u)), 0);
	KUNIT_EXPECT_EQ(test, hello_from(w, KFM_VERSIONS(1u, 9u)), 0);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_STATE], 3);
	w->newer = true;
	KUNIT_EXPECT_EQ(test, hello_from(w, KFM_VERSIONS(5u, 9u)), KFM_R_VERSION);
	KUNIT_EXPECT_EQ(test, hello_from(w, KFM_VERSIONS(1u, 3u)), KFM_R_VERSION);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_STATE], 3);
	mw_primary(w, 6);
	KUNIT_EXPECT_EQ(test, hello_from(w, KFM_VERSIONS(5u, 9u)), KFM_R_PRIMARY);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->sent[0][KFM_HELLO].versions,
			KFM_VERSIONS(KFM_MSG_LOWEST, KFM_MSG_VERSION));
	mw_say(w, 0, (struct kfm_msg) { .type = KFM_REFUSED, .arg = KFM_R_VERSION });
	kfm_status(&ti, STATUSTYPE_INFO, 0, text, sizeof(text));
	KUNIT_EXPECT_NOT_NULL(test, strstr(text, " refused other-version"));
	KUNIT_EXPECT_STREQ(test, w->events, "refused ");
	/* a reason of a later version is one, too */
	w->peers[0].refused = 0;
	w->peers[0].next = jiffies;
	mw_run(w);
	mw_say(w, 0, (struct kfm_msg) { .type = KFM_REFUSED, .arg = KFM_REFUSALS });
	KUNIT_EXPECT_NE(test, w->peers[0].refused, 0);
}

/*
 * A node without a log has no session with a primary that would write to one. It says so in a form
 * that the primary knows, and to its own manager. A candidate writes nothing.
 */
static void leave_no_log(struct kunit *test)
{
	static const struct {
		u64 features;
		u32 versions, flags, refusal;
	} rows[] = {
		{ KFM_F_LEAVE | KFM_F_DIRECT, 0, 0, KFM_R_LEG },
		{ KFM_F_DIRECT, KFM_VERSIONS(4u, 4u), 0, KFM_R_VERSION },
		{ KFM_F_DIRECT, KFM_VERSIONS(4u, 4u), KFM_M_CANDIDATE, 0 },
		{ KFM_F_DIRECT | KFM_F_NO_LOG, KFM_VERSIONS(4u, 4u), 0, 0 },
	};
	struct mw *w = mw_make(test, 1);
	struct kfm_msg *refused = &w->sent[0][KFM_REFUSED];
	unsigned int i;

	w->m.logdev = NULL;
	w->newer = true;
	/* the session of a program that knew nodes without a log, before that was taken back */
	w->m.log.open = true;
	w->m.log.peer = &w->peers[0];
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		refused->arg = 0;
		w->peers[0].refused = 0;
		mw_say(w, 0, (struct kfm_msg) {
			.type = KFM_HELLO, .session = 9, .gens.cur = 5, .lbs = KFM_SECTOR,
			.arg = KFM_FENCE, .peers = 1, .sectors = w->m.sectors,
			.versions = rows[i].versions, .features = rows[i].features,
			.flags = rows[i].flags,
		});
		KUNIT_EXPECT_EQ_MSG(test, refused->arg, rows[i].refusal, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, !!kfm_refused_word(&w->peers[0]), !!rows[i].refusal,
				    "row %u", i);
		KUNIT_EXPECT_FALSE(test, w->m.log.open);
	}
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_STATE], 2);
	KUNIT_EXPECT_STREQ(test, w->events, "refused refused ");
	/* what the node is does not change with its copy */
	w->m.sb.flags = KFM_SB_NO_LOG;
	KUNIT_EXPECT_EQ(test, mw_order(w, "invalidate", NULL), 0);
	KUNIT_EXPECT_EQ(test, w->m.sb.flags, KFM_SB_NO_LOG);
	w->peers[0].state = KFM_SESSION_UP;
	mw_say(w, 0, (struct kfm_msg) { .type = KFM_SYNCED, .gens.cur = 6 });
	KUNIT_EXPECT_EQ(test, w->m.sb.state, KFM_UPTODATE);
	KUNIT_EXPECT_EQ(test, w->m.sb.flags, KFM_SB_NO_LOG);
}

/*
 * A peer leaves: what is in flight ends without it, and its manager is not asked. With policy
 * stop, and if it can't be stored that this node writes alone, the peer gets no answer, and is
 * needed.
 */
static void leave_primary(struct kunit *test)
{
	struct mw *w = mw_synced(test);
	struct kfm_peer *p = &w->peers[0];
	struct kfm_msg leave = { .type = KFM_LEAVE };

	w->newer = true;
	mw_write_run(w, 0, 3);
	w->m.policy = KFM_STOP;
	mw_say(w, 0, leave);
	w->m.policy = KFM_FENCE;
	w->io_err = -EIO;
	mw_say(w, 0, leave);
	w->io_err = 0;
	w->m.meta_failed = false;
	KUNIT_EXPECT_EQ(test, p->state, KFM_SESSION_UP);
	KUNIT_EXPECT_FALSE(test, kfm_is_alone(p));
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_BYE], 0);
	KUNIT_EXPECT_EQ(test, w->m.sb.gens.cur, 6);
	w->events[0] = 0;
	mw_say(w, 0, leave);
	KUNIT_EXPECT_STREQ(test, w->events, "alone lost ");
	KUNIT_EXPECT_EQ(test, p->state, KFM_SESSION_DOWN);
	KUNIT_EXPECT_TRUE(test, kfm_is_alone(p));
	KUNIT_EXPECT_EQ(test, w->m.sb.gens.history[0], 6);
	KUNIT_EXPECT_EQ(test, w->sent[0][KFM_BYE].arg, 1);
	/* the answer was lost */
	mw_say(w, 0, leave);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_BYE], 2);
	KUNIT_EXPECT_EQ(test, w->m.sb.gens.history[0], 6);
	KUNIT_EXPECT_STREQ(test, w->events, "alone lost ");
	/* the provider has given up the record */
	w->posted[0][0]->err = -EIO;
	w->posted[0][0]->busy = false;
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->done, 1);
	KUNIT_EXPECT_TRUE(test, test_bit_le(3, p->oos));
	/* it returns, for the region */
	p->next = jiffies;
	mw_run(w);
	mw_state(w, 0, KFM_OUTDATED, 6, 0);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_ATTACH], 2);
	KUNIT_EXPECT_EQ(test, w->sent[0][KFM_ATTACH].arg, 1);
	KUNIT_EXPECT_EQ(test, p->oos_count, 1);
}

/* A node leaves: its copy is outdated before the primary is told so, and stays it. */
static void leave_secondary(struct kunit *test)
{
	struct mw *w = mw_follower(test);
	struct kfm_peer *p = &w->peers[0];
	struct kfm_cmd *cmd;

	p->features = KFM_F_LEAVE;
	w->newer = true;
	w->io_err = -EIO;
	KUNIT_EXPECT_EQ(test, mw_order(w, "leave", NULL), -EIO);
	w->io_err = 0;
	w->m.meta_failed = false;
	w->m.sb.state = KFM_UPTODATE;
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_LEAVE], 0);
	KUNIT_EXPECT_EQ(test, mw_order(w, "leave", NULL), 1);
	cmd = w->m.leave;
	KUNIT_EXPECT_EQ(test, w->m.sb.state, KFM_OUTDATED);
	mw_run(w);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_LEAVE], 1);
	KUNIT_EXPECT_TRUE(test, w->m.log.open);
	p->next = jiffies;
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_LEAVE], 2);
	/* what the primary said before it knew */
	mw_say(w, 0, (struct kfm_msg) { .type = KFM_SYNCED, .gens.cur = 6 });
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_SYNCED_OK], 0);
	KUNIT_EXPECT_EQ(test, w->m.sb.state, KFM_OUTDATED);
	KUNIT_EXPECT_FALSE(test, w->m.was_insync);
	/* a session that ends for another reason is no answer, and the next HELLO gets the same */
	mw_say(w, 0, (struct kfm_msg) { .type = KFM_BYE });
	KUNIT_EXPECT_PTR_EQ(test, w->m.leave, cmd);
	mw_say(w, 0, (struct kfm_msg) {
		.type = KFM_HELLO, .session = 10, .gens.cur = 5, .lbs = KFM_SECTOR,
		.arg = KFM_FENCE, .peers = 2, .sectors = w->m.sectors, .features = KFM_F_LEAVE,
	});
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_LEAVE], 3);
	KUNIT_EXPECT_EQ(test, w->sent[0][KFM_LEAVE].session, 10);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_STATE], 0);
	mw_say(w, 0, (struct kfm_msg) { .type = KFM_BYE, .arg = 1 });
	KUNIT_EXPECT_NULL(test, w->m.leave);
	KUNIT_EXPECT_EQ(test, cmd->ret, 0);
	KUNIT_EXPECT_EQ(test, mw_order(w, "promote", "fenced"), 1);
	w->m.promote_by = jiffies - 1;
	mw_run(w);
	KUNIT_EXPECT_FALSE(test, w->m.primary);
}

/* A node does not leave a primary that does not know what that is, or that does not answer. */
static void leave_refused(struct kunit *test)
{
	struct mw *w = mw_follower(test);
	struct kfm_cmd *cmd;

	KUNIT_EXPECT_EQ(test, mw_order(w, "leave", NULL), -EOPNOTSUPP);
	w->peers[0].features = KFM_F_LEAVE;
	w->newer = true;
	w->m.policy = KFM_STOP;
	KUNIT_EXPECT_EQ(test, mw_order(w, "leave", NULL), -EINVAL);
	w->m.policy = KFM_FENCE;
	KUNIT_EXPECT_EQ(test, w->m.sb.state, KFM_UPTODATE);
	KUNIT_EXPECT_TRUE(test, w->m.was_insync);
	KUNIT_EXPECT_EQ(test, mw_order(w, "leave", NULL), 1);
	cmd = w->m.leave;
	/* the primary has no other copy, which this one remains */
	mw_say(w, 0, (struct kfm_msg) { .type = KFM_REFUSED, .arg = KFM_R_ONLY });
	KUNIT_EXPECT_EQ(test, cmd->ret, -EBUSY);
	mw_say(w, 0, (struct kfm_msg) { .type = KFM_SYNCED, .gens.cur = 6 });
	KUNIT_EXPECT_TRUE(test, w->m.was_insync && w->m.sb.state == KFM_UPTODATE);
	KUNIT_EXPECT_EQ(test, mw_order(w, "leave", NULL), 1);
	cmd = w->m.leave;
	w->m.leave_by = jiffies - 1;
	mw_run(w);
	KUNIT_EXPECT_NULL(test, w->m.leave);
	KUNIT_EXPECT_EQ(test, cmd->ret, -ETIMEDOUT);
	KUNIT_EXPECT_FALSE(test, w->m.log.open);
	KUNIT_EXPECT_EQ(test, w->sent[0][KFM_BYE].arg, 0);
	KUNIT_EXPECT_EQ(test, mw_order(w, "leave", NULL), -ENOTCONN);
}

KFI_SUITE(kfi_mirror_leave,
	KUNIT_CASE(leave_versions),
	KUNIT_CASE(leave_no_log),
	KUNIT_CASE(leave_primary),
	KUNIT_CASE(leave_secondary),
	KUNIT_CASE(leave_refused));
