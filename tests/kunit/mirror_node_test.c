// SPDX-License-Identifier: GPL-2.0
/*
 * What a node of kfi_mirror does when its peers come, go or stop: which writes end, which
 * copies are overwritten when, and what a message is answered.
 */
#include <linux/delay.h>
#include "mirror_world.h"

/* Let a peer answer the next HELLO. */
static void again(struct mw *w, unsigned int peer, u32 state, u64 gen, u32 flags)
{
	w->peers[peer].next = jiffies;
	mw_run(w);
	mw_state(w, peer, state, gen, flags);
}

/* ... except if the generation can't be announced any more: all peers have these writes. */
static void node_generation_stuck(struct kunit *test)
{
	struct mw *w = mw_make(test, 1);

	mw_primary(w, 6);
	mw_join(w, 0, 5);
	mw_write_run(w, 0, 3);
	w->m.meta_failed = true;
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->done, 0);
	mw_ack_run(w, 0);
	KUNIT_EXPECT_EQ(test, w->done, 1);
}

/* A resynchronisation begins after the other copies have stored its generation. */
static void node_source_known(struct kunit *test)
{
	struct mw *w = mw_make(test, 2);

	mw_primary(w, 6);
	mw_run(w);
	mw_state(w, 0, KFM_BLANK, 0, 0);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_ATTACH], 0);
	mw_join(w, 1, 5);
	KUNIT_EXPECT_EQ(test, w->count[1][KFM_SYNCED], 1);
	again(w, 0, KFM_BLANK, 0, 0);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_ATTACH], 0);
	mw_synced_ok(w, 1);
	again(w, 0, KFM_BLANK, 0, 0);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_ATTACH], 1);
	KUNIT_EXPECT_EQ(test, w->sent[0][KFM_ATTACH].arg, 1);
	KUNIT_EXPECT_EQ(test, w->sent[0][KFM_ATTACH].gens.source, 6);
}

/* ... but does not wait for a peer that does not come. */
static void node_source_alone(struct kunit *test)
{
	struct mw *w = mw_make(test, 2);

	mw_primary(w, 6);
	mw_run(w);
	mw_state(w, 0, KFM_BLANK, 0, 0);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_ATTACH], 0);
	w->peers[0].down = jiffies - w->m.timeout;
	again(w, 0, KFM_BLANK, 0, 0);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_ATTACH], 1);
}

/* Of two whole copies one is left as it is while the other one is overwritten. */
static void node_one_by_one(struct kunit *test)
{
	struct mw *w = mw_make(test, 2);

	mw_primary(w, 6);
	mw_run(w);
	mw_state(w, 0, KFM_UPTODATE, 5, KFM_M_DIRTY);
	mw_state(w, 1, KFM_UPTODATE, 5, KFM_M_DIRTY);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_ATTACH], 0);
	KUNIT_EXPECT_EQ(test, w->count[1][KFM_ATTACH], 1);
	again(w, 0, KFM_UPTODATE, 5, KFM_M_DIRTY);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_ATTACH], 0);
	mw_grant(w, 1);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->count[1][KFM_SYNCED], 1);
	again(w, 0, KFM_UPTODATE, 5, KFM_M_DIRTY);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_ATTACH], 0);
	mw_synced_ok(w, 1);
	again(w, 0, KFM_UPTODATE, 5, KFM_M_DIRTY);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_ATTACH], 1);
}

/* A peer that stops holds up writes, and no resynchronisation of another one. */
static void node_part_passes(struct kunit *test)
{
	struct mw *w = mw_make(test, 2);
	unsigned int i;

	mw_primary(w, 6);
	mw_join(w, 0, 5);
	mw_synced_ok(w, 0);
	mw_differs(w, 1, 10);
	mw_join(w, 1, 5);
	KUNIT_EXPECT_EQ(test, w->sent[1][KFM_ATTACH].arg, 1);
	mw_write(w, 0, 3);
	for (i = 0; i < 4; i++) {
		mw_run(w);
		mw_ack(w, 1);
	}
	mw_run(w);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->done, 0);
	KUNIT_EXPECT_EQ(test, w->peers[1].oos_count, 0);
	KUNIT_EXPECT_EQ(test, w->count[1][KFM_SYNCED], 1);
	mw_synced_ok(w, 1);
	mw_ack_run(w, 0);
	KUNIT_EXPECT_EQ(test, w->done, 1);
}

/* SYNCED_OK without SYNCED says nothing. */
static void node_early_synced_ok(struct kunit *test)
{
	struct mw *w = mw_make(test, 1);
	struct kfm_peer *p = &w->peers[0];

	mw_primary(w, 6);
	mw_differs(w, 0, 10);
	mw_join(w, 0, 5);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_SYNCED], 0);
	mw_say(w, 0, (struct kfm_msg) { .type = KFM_SYNCED_OK, .gens.cur = 6 });
	KUNIT_EXPECT_EQ(test, p->gen, 0);
	kfm_oos_zero(p);
	mw_say(w, 0, (struct kfm_msg) { .type = KFM_SYNCED_OK, .gens.cur = 6 });
	KUNIT_EXPECT_FALSE(test, p->insync);
	p->next = jiffies;
	mw_run(w);
	mw_synced_ok(w, 0);
	KUNIT_EXPECT_TRUE(test, p->insync);
}

/* A confirmation is valid for one outage of one peer, unless that peer is coming back. */
static void node_fenced(struct kunit *test)
{
	struct mw *w = mw_make(test, 2);
	struct kfm_peer *p = &w->peers[1];

	mw_primary(w, 6);
	w->peers[0].policy_applied = true;
	p->policy_applied = true;
	mw_run(w);
	mw_state(w, 1, KFM_UPTODATE, 5, 0);
	KUNIT_ASSERT_EQ(test, p->state, KFM_SESSION_ATTACH);
	KUNIT_EXPECT_EQ(test, mw_order(w, "fenced", "10"), -EBUSY);
	KUNIT_EXPECT_EQ(test, mw_order(w, "fenced", "11"), -ESTALE);
	KUNIT_EXPECT_FALSE(test, kfm_is_alone(p));
	/* it does not come: the manager is asked again */
	p->deadline = jiffies - 1;
	p->down = jiffies - w->m.timeout - 1;
	mw_run(w);
	KUNIT_EXPECT_EQ(test, p->state, KFM_SESSION_DOWN);
	KUNIT_EXPECT_STREQ(test, w->events, "");
	mw_run(w);
	KUNIT_EXPECT_STREQ(test, w->events, "frozen ");
	KUNIT_EXPECT_EQ(test, mw_order(w, "fenced", "10"), 0);
	KUNIT_EXPECT_TRUE(test, kfm_is_alone(p));
	KUNIT_EXPECT_FALSE(test, kfm_is_alone(&w->peers[0]));
}

/*
 * While the peer is asked, the leg becomes memory that can tear a sector: there is no promotion, and
 * none by force.
 */
static void node_promoted_with_memory(struct kunit *test)
{
	struct mw *w = mw_make(test, 1);
	int i;

	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, mw_order(w, "promote", "force"), 1);
		w->became_memory = !i;
		mw_run(w);
		mw_state(w, 0, KFM_UPTODATE, 5, 0);
		KUNIT_EXPECT_NULL(test, w->m.promote);
		KUNIT_EXPECT_EQ(test, i, w->m.primary);
	}
}

/* A peer follows a dead primary for as long as the time-out; a candidate waits for that. */
static void node_promoted_at_once(struct kunit *test)
{
	struct mw *w = mw_make(test, 2);
	unsigned int asked = 0;
	unsigned long begin;

	w->m.timeout = HZ / 5;
	KUNIT_EXPECT_EQ(test, mw_order(w, "promote", "fenced"), 1);
	begin = jiffies;
	while (w->m.promote) {
		mw_run(w);
		if (w->m.promote && w->count[1][KFM_HELLO] > asked) {
			asked = w->count[1][KFM_HELLO];
			if (time_before(jiffies, begin + w->m.timeout))
				mw_say(w, 1, (struct kfm_msg) {
					.type = KFM_REFUSED, .arg = KFM_R_FOLLOWS,
				});
			else
				mw_state(w, 1, KFM_UPTODATE, 5, 0);
		}
		msleep(20);
	}
	KUNIT_EXPECT_TRUE(test, w->m.primary);
	KUNIT_EXPECT_TRUE(test, kfm_is_alone(&w->peers[0]));
	KUNIT_EXPECT_FALSE(test, kfm_is_alone(&w->peers[1]));
}

/* All tables have to name all other nodes. */
static void node_peers_differ(struct kunit *test)
{
	struct kfm_msg hello = {
		.type = KFM_HELLO, .session = 9, .gens.cur = 5, .lbs = KFM_SECTOR,
		.arg = KFM_FENCE, .peers = 1,
	};
	struct mw *w = mw_make(test, 2);

	hello.sectors = w->m.sectors;
	mw_say(w, 0, hello);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_STATE], 0);
	KUNIT_EXPECT_EQ(test, w->sent[0][KFM_REFUSED].arg, KFM_R_PEERS);
	hello.peers = 2;
	mw_say(w, 0, hello);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_STATE], 1);
	KUNIT_EXPECT_EQ(test, w->sent[0][KFM_STATE].peers, 2);
	mw_primary(w, 6);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->sent[1][KFM_HELLO].peers, 2);
	mw_say(w, 1, (struct kfm_msg) {
		.type = KFM_STATE, .state = KFM_UPTODATE, .gens.cur = 5, .peers = 3,
	});
	KUNIT_EXPECT_EQ(test, w->count[1][KFM_ATTACH], 0);
	KUNIT_EXPECT_NE(test, w->peers[1].refused, 0);
}

/* A secondary grows before its primary; a candidate is asked for its generation alone. */
static void node_sizes(struct kunit *test)
{
	struct mw *w = mw_make(test, 1);
	struct dm_target ti = { .private = &w->m };
	struct kfm_msg msg = {
		.type = KFM_HELLO, .session = 9, .gens.cur = 5, .lbs = KFM_SECTOR,
		.arg = KFM_FENCE, .peers = 1, .sectors = w->m.sectors + 1,
	};
	char text[256], want[40];

	mw_say(w, 0, msg);
	KUNIT_EXPECT_EQ(test, w->sent[0][KFM_REFUSED].arg, KFM_R_SIZE);
	msg.flags = KFM_M_CANDIDATE;
	mw_say(w, 0, msg);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_STATE], 1);
	/* of what this node alone has, nothing is said */
	msg.flags = 0;
	msg.sectors = w->m.sectors - KFM_SECTOR;
	mw_differs(w, 0, MW_REGIONS - 1);
	mw_say(w, 0, msg);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_STATE], 2);
	KUNIT_EXPECT_EQ(test, w->sent[0][KFM_STATE].sectors, w->m.sectors);
	KUNIT_EXPECT_EQ(test, w->sent[0][KFM_STATE].flags, 0);
	mw_differs(w, 0, 1);
	mw_say(w, 0, msg);
	KUNIT_EXPECT_EQ(test, w->sent[0][KFM_STATE].flags, KFM_M_DIRTY);
	kfm_wire_fill(&w->peers[0]);
	KUNIT_EXPECT_EQ(test, w->peers[0].wire[0], 1);
	mw_primary(w, 6);
	mw_run(w);
	msg.type = KFM_STATE;
	msg.session = 0;
	msg.state = KFM_UPTODATE;
	mw_say(w, 0, msg);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_ATTACH], 0);
	kfm_status(&ti, STATUSTYPE_INFO, 0, text, sizeof(text));
	KUNIT_EXPECT_NOT_NULL(test, strstr(text, " refused other-size"));
	w->peers[0].next = jiffies;
	mw_run(w);
	msg.sectors = w->m.sectors + 8;
	mw_say(w, 0, msg);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_ATTACH], 1);
	kfm_status(&ti, STATUSTYPE_INFO, 0, text, sizeof(text));
	snprintf(want, sizeof(want), " peer-sectors %llu", msg.sectors);
	KUNIT_EXPECT_NOT_NULL(test, strstr(text, want));
}

/* The status of the node begins so. */
static bool node_is(struct mw *w, const char *begin)
{
	struct dm_target ti = { .private = &w->m };
	char text[256];

	kfm_status(&ti, STATUSTYPE_INFO, 0, text, sizeof(text));
	return strstarts(text, begin);
}

/* Of a copy to which nothing was written all may differ, as of a peer that has never been there. */
static void node_blank(struct kunit *test)
{
	struct mw *w = mw_make(test, 1);

	KUNIT_EXPECT_TRUE(test, node_is(w, "secondary down uptodate 0/64 100 "));
	w->m.sb.state = KFM_BLANK;
	KUNIT_EXPECT_TRUE(test, node_is(w, "secondary down blank 64/64 0 "));
	w->m.sb.state = KFM_INCONSISTENT;
	KUNIT_EXPECT_TRUE(test, node_is(w, "secondary down inconsistent 64/64 0 "));
	w->m.formatted = false;
	KUNIT_EXPECT_TRUE(test, node_is(w, "secondary down unformatted 64/64 0 "));
	w->m.formatted = true;
	w->m.sb.state = KFM_UPTODATE;
	mw_primary(w, 6);
	KUNIT_EXPECT_TRUE(test, node_is(w, "primary down uptodate 0/64 100 "));
	w->m.sb.pairs[0] = (struct kfm_pair) {};
	KUNIT_EXPECT_TRUE(test, node_is(w, "primary down uptodate 64/64 0 "));
	w->m.sb.pairs[0].base = 6;	/* `create clean`: both have the same */
	KUNIT_EXPECT_TRUE(test, node_is(w, "primary down uptodate 0/64 100 "));
}

/* A day without a resynchronisation earns what a second does, also at the highest rate. */
static void node_rate(struct kunit *test)
{
	struct mw *w = mw_make(test, 1);
	struct kfm_peer *p = &w->peers[0];

	mw_primary(w, 6);
	KUNIT_EXPECT_EQ(test, mw_order(w, "rate", "1073741824"), 0);
	KUNIT_EXPECT_EQ(test, mw_order(w, "rate", "1073741825"), -ERANGE);
	KUNIT_EXPECT_EQ(test, w->m.rate, KFM_RATE_MAX);
	mw_differs(w, 0, 10);
	p->budget_at = jiffies - (1UL << 23);	/* the product would be 2^63 */
	mw_join(w, 0, 5);
	KUNIT_EXPECT_FALSE(test, list_empty(&w->m.flight) && list_empty(&w->m.reads));
	KUNIT_EXPECT_LE(test, p->budget, (s64)KFM_RATE_MAX << 10);
}

#define OTHER_NODE	555

static void node_speaks(struct mw *w, u16 type, u64 node, u32 state)
{
	mw_say(w, 0, (struct kfm_msg) {
		.type = type, .session = type == KFM_HELLO ? 9 : 0, .node = node, .state = state,
		.gens.cur = state == KFM_BLANK ? 0 : 5, .sectors = w->m.sectors,
		.lbs = KFM_SECTOR, .arg = KFM_FENCE, .peers = w->m.sb.peers,
	});
}

/* A blank node at the address of a peer gets no byte before it is admitted, nor does a third one. */
static void node_replaced(struct kunit *test)
{
	struct mw *w = mw_make(test, 1);
	struct dm_target ti = { .private = &w->m };
	struct kfm_peer *p = &w->peers[0];
	char text[256];

	mw_primary(w, 6);
	mw_run(w);
	node_speaks(w, KFM_STATE, OTHER_NODE, KFM_BLANK);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_ATTACH], 0);
	KUNIT_EXPECT_EQ(test, p->state, KFM_SESSION_DOWN);
	KUNIT_EXPECT_STREQ(test, w->events, "refused ");
	kfm_status(&ti, STATUSTYPE_INFO, 0, text, sizeof(text));
	KUNIT_EXPECT_NOT_NULL(test, strstr(text, " refused other-node"));
	KUNIT_EXPECT_EQ(test, mw_order(w, "replace", "there"), -EINVAL);
	KUNIT_EXPECT_EQ(test, mw_order(w, "replace", "there 8"), -ENOENT);
	w->io_err = -EIO;
	KUNIT_EXPECT_EQ(test, mw_order(w, "replace", "there 7"), -EIO);
	KUNIT_EXPECT_EQ(test, w->m.sb.pairs[0].node, MW_NODE);
	KUNIT_EXPECT_EQ(test, w->m.sb.gens.cur, 6);
	w->io_err = 0;
	w->m.meta_failed = false;
	KUNIT_EXPECT_EQ(test, mw_order(w, "replace", "there 7"), 0);
	mw_run(w);
	node_speaks(w, KFM_STATE, OTHER_NODE, KFM_BLANK);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_ATTACH], 1);
	KUNIT_EXPECT_EQ(test, p->oos_count, MW_REGIONS);
	KUNIT_EXPECT_EQ(test, mw_order(w, "replace", "there 7"), -EBUSY);
	mw_say(w, 0, (struct kfm_msg) { .type = KFM_BYE, .node = OTHER_NODE });
	p->next = jiffies;
	mw_run(w);
	node_speaks(w, KFM_STATE, OTHER_NODE + 1, KFM_BLANK);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_ATTACH], 1);
}

/*
 * A node that was replaced returns with the generation in which it was lost. It lacks what was
 * written since then, so it gets the whole copy.
 */
static void node_replaced_returns(struct kunit *test)
{
	struct mw *w = mw_synced(test);
	struct kfm_peer *p = &w->peers[0];
	unsigned int i;

	mw_say(w, 0, (struct kfm_msg) { .type = KFM_BYE });
	mw_write_run(w, 0, 3);
	KUNIT_EXPECT_EQ(test, mw_order(w, "replace", "there 7"), 0);
	mw_run(w);
	node_speaks(w, KFM_STATE, OTHER_NODE, KFM_BLANK);
	mw_grant(w, 0);
	for (i = 0; i < 4 * MW_REGIONS && (p->oos_count || !w->done); i++) {
		mw_run(w);
		mw_ack(w, 0);
	}
	p->next = jiffies;
	mw_run(w);
	mw_synced_ok(w, 0);
	KUNIT_EXPECT_TRUE(test, p->insync);
	KUNIT_EXPECT_EQ(test, w->done, 1);
	mw_say(w, 0, (struct kfm_msg) { .type = KFM_BYE });
	KUNIT_EXPECT_EQ(test, mw_order(w, "replace", "there 7"), 0);
	again(w, 0, KFM_UPTODATE, 6, 0);
	KUNIT_EXPECT_EQ(test, w->sent[0][KFM_ATTACH].arg, 1);
	KUNIT_EXPECT_EQ(test, p->oos_count, MW_REGIONS);
}

/*
 * So it is if it returns to another peer, which has been promoted meanwhile, and where it was not
 * replaced: that one has stored a new generation before the node in its place got a record.
 */
static void node_replaced_elsewhere(struct kunit *test)
{
	struct mw *w = mw_make(test, 2);
	struct kfm_msg synced;

	mw_primary(w, 6);
	mw_join(w, 0, 5);
	mw_join(w, 1, 5);
	mw_synced_ok(w, 0);
	mw_synced_ok(w, 1);
	mw_say(w, 0, (struct kfm_msg) { .type = KFM_BYE });
	w->peers[1].rails[0]->remote[1][0]++;	/* another service */
	KUNIT_EXPECT_EQ(test, mw_order(w, "replace", "there 7"), 0);
	mw_run(w);
	node_speaks(w, KFM_STATE, OTHER_NODE, KFM_BLANK);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_ATTACH], 1);
	synced = w->sent[1][KFM_SYNCED];
	mw_synced_ok(w, 1);
	w->peers[0].next = jiffies;
	mw_run(w);
	node_speaks(w, KFM_STATE, OTHER_NODE, KFM_BLANK);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_ATTACH], 2);

	w = mw_follower(test);
	mw_say(w, 0, (struct kfm_msg) { .type = KFM_SYNCED, .gens.cur = 6, .gens.history = { 5 } });
	synced.session = 0;
	synced.node = 0;
	mw_say(w, 0, synced);
	KUNIT_EXPECT_EQ(test, mw_order(w, "promote", "fenced"), 1);
	mw_run(w);
	mw_state(w, 1, KFM_UPTODATE, 6, 0);
	w->m.promote_by = jiffies - 1;
	mw_run(w);
	KUNIT_EXPECT_TRUE(test, w->m.primary);
	again(w, 1, KFM_UPTODATE, 6, 0);
	KUNIT_EXPECT_EQ(test, w->sent[1][KFM_ATTACH].arg, 1);
	KUNIT_EXPECT_EQ(test, w->peers[1].oos_count, MW_REGIONS);
}

/* A blank node is not overwritten by another one than its primary, which is dead. */
static void node_primary_replaced(struct kunit *test)
{
	struct mw *w = mw_follower(test);
	struct kfm_peer *p = &w->peers[0];

	p->live = jiffies;
	/* two have that address */
	KUNIT_EXPECT_EQ(test, mw_order(w, "replace", "there 7"), -ENOENT);
	w->m.peers[1] = NULL;
	w->m.sb.peers = 1;
	KUNIT_EXPECT_EQ(test, mw_order(w, "replace", "there 7"), -EBUSY);
	p->live = jiffies - w->m.timeout - 1;
	w->m.sb.state = KFM_BLANK;
	node_speaks(w, KFM_HELLO, OTHER_NODE, KFM_UPTODATE);
	KUNIT_EXPECT_EQ(test, w->sent[0][KFM_REFUSED].arg, KFM_R_NODE);
	KUNIT_EXPECT_EQ(test, mw_order(w, "replace", "there 7"), 0);
	KUNIT_EXPECT_EQ(test, p->state, KFM_SESSION_DOWN);
	KUNIT_EXPECT_FALSE(test, w->m.log.open);
	node_speaks(w, KFM_HELLO, OTHER_NODE, KFM_UPTODATE);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_STATE], 1);
}

static u32 node_candidate_refused(struct mw *w, u32 lbs)
{
	mw_say(w, 1, (struct kfm_msg) {
		.type = KFM_HELLO, .session = 9, .node = OTHER_NODE, .gens.cur = 5, .lbs = lbs,
		.flags = KFM_M_CANDIDATE, .sectors = w->m.sectors, .arg = KFM_FENCE, .peers = 2,
	});
	return w->sent[1][KFM_REFUSED].arg;
}

/*
 * At the first session of two nodes their legs have the same logical blocks, for each may be
 * primary later. A mirror that began with others goes on, while those of the primary are larger.
 */
static void node_blocks(struct kunit *test)
{
	static const struct { u32 mine, theirs; bool first, refused; } rows[] = {
		{ 512, 512, true, false }, { 4096, 4096, true, false }, { 512, 4096, true, true },
		{ 4096, 512, true, true }, { 512, 4096, false, false }, { 4096, 512, false, true },
	};
	struct mw *w = mw_make(test, 1);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		w->block = rows[i].mine;
		w->m.sb.pairs[0].node = rows[i].first ? 0 : MW_NODE;
		w->sent[0][KFM_REFUSED].arg = 0;
		mw_say(w, 0, (struct kfm_msg) {
			.type = KFM_HELLO, .session = 9, .gens.cur = 5, .lbs = rows[i].theirs,
			.sectors = w->m.sectors, .arg = KFM_FENCE, .peers = 1,
			.features = KFM_F_DIRECT,
		});
		KUNIT_EXPECT_EQ_MSG(test, w->sent[0][KFM_REFUSED].arg,
				    rows[i].refused ? KFM_R_SIZE : 0, "row %u", i);
	}
}

/* A primary whose device is mounted is not demoted, and goes on. */
static void node_mounted(struct kunit *test)
{
	struct mw *w = mw_synced(test);

	w->in_use = true;
	KUNIT_EXPECT_EQ(test, mw_order(w, "demote", NULL), -EBUSY);
	KUNIT_EXPECT_TRUE(test, w->m.primary && w->peers[0].insync);
	w->in_use = false;
	KUNIT_EXPECT_EQ(test, mw_order(w, "demote", NULL), 0);
}

/* A candidate is told of a live primary, whatever else does not match. */
static void node_candidate_unknown(struct kunit *test)
{
	struct mw *w = mw_follower(test);

	w->peers[0].live = jiffies;
	KUNIT_EXPECT_EQ(test, node_candidate_refused(w, KFM_SECTOR), KFM_R_FOLLOWS);
	KUNIT_EXPECT_EQ(test, node_candidate_refused(w, KFM_SECTOR / 2), KFM_R_FOLLOWS);
	w->peers[0].live = jiffies - w->m.timeout - 1;
	KUNIT_EXPECT_EQ(test, node_candidate_refused(w, KFM_SECTOR), KFM_R_NODE);
	KUNIT_EXPECT_EQ(test, mw_order(w, "promote", "fenced"), 1);
	KUNIT_EXPECT_EQ(test, node_candidate_refused(w, KFM_SECTOR), KFM_R_BUSY);
	w->m.promote = NULL;
	mw_primary(w, 6);
	KUNIT_EXPECT_EQ(test, node_candidate_refused(w, KFM_SECTOR), KFM_R_PRIMARY);
	KUNIT_EXPECT_EQ(test, node_candidate_refused(w, KFM_SECTOR / 2), KFM_R_PRIMARY);
}

/*
 * With `reads quorum` a primary serves reads for a while after it was heard. A node that it calls
 * again follows it all that time, unless it says that it ends.
 */
static void node_follows(struct kunit *test)
{
	struct mw *w = mw_follower(test);
	unsigned int i;

	for (i = 0; i < 2; i++) {
		w->m.reads_quorum = i;
		w->m.followed = &w->peers[0];
		w->peers[0].live = jiffies;
		node_speaks(w, KFM_HELLO, MW_NODE, KFM_UPTODATE);
		KUNIT_EXPECT_FALSE(test, w->m.log.open);
		KUNIT_EXPECT_EQ(test, node_candidate_refused(w, KFM_SECTOR),
				i ? KFM_R_FOLLOWS : KFM_R_NODE);
	}
	w->peers[0].live = jiffies - w->m.timeout - 1;
	KUNIT_EXPECT_EQ(test, node_candidate_refused(w, KFM_SECTOR), KFM_R_NODE);
	w->peers[0].live = jiffies;
	KUNIT_EXPECT_EQ(test, node_candidate_refused(w, KFM_SECTOR), KFM_R_FOLLOWS);
	mw_say(w, 0, (struct kfm_msg) { .type = KFM_BYE });
	KUNIT_EXPECT_EQ(test, node_candidate_refused(w, KFM_SECTOR), KFM_R_NODE);
}

/* ---- a secondary ---- */

/* A generation that can't be stored ends the session: the primary would wait for the answer. */
static void node_synced_not_stored(struct kunit *test)
{
	struct mw *w = mw_follower(test);

	w->io_err = -EIO;
	mw_say(w, 0, (struct kfm_msg) { .type = KFM_SYNCED, .gens.cur = 6 });
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_SYNCED_OK], 0);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_BYE], 1);
	KUNIT_EXPECT_EQ(test, w->peers[0].state, KFM_SESSION_DOWN);
	KUNIT_EXPECT_FALSE(test, w->m.log.open);
	KUNIT_EXPECT_EQ(test, w->m.sb.gens.cur, 5);
}

/* A record is applied. */
static void apply(struct mw *w, u64 seq, u32 region)
{
	struct kfm_rec rec = {
		.seq = seq, .sector = (u64)region << w->m.shift, .len = KFM_SECTOR,
	};

	KUNIT_ASSERT_EQ(w->test, kfm_recent_add(&w->m, &rec, 1), 0);
	w->m.log.head.seq = seq + 1;
}

static void settled(struct mw *w, u64 seq)
{
	kfm_recent_clean(&w->peers[0], &(struct kfm_msg) {
		.type = KFM_PING, .flags = KFM_M_SETTLED, .seq = seq,
	});
}

/* Has the device a bit? */
static bool any_stored(const struct mw *w)
{
	u32 at;

	for (at = KFM_BITMAP_AT; at < KFM_BITMAP_AT + 4 * KFM_BLOCK; at += KFM_SECTOR) {
		if (memchr_inv(w->durable + at, 0, KFM_MAP_BYTES))
			return true;
	}
	return false;
}

/* What is settled is forgotten, for the other secondaries. */
static void node_settled(struct kunit *test)
{
	struct mw *w = mw_follower(test);
	struct kfm_peer *q = &w->peers[1];
	u64 seq;

	for (seq = 1; seq <= 8; seq++)
		apply(w, seq, seq);
	KUNIT_EXPECT_EQ(test, w->peers[0].oos_count, 0);
	KUNIT_EXPECT_EQ(test, q->oos_count, 8);
	settled(w, 6);
	KUNIT_EXPECT_EQ(test, q->oos_count, 2);
	KUNIT_EXPECT_TRUE(test, test_bit_le(7, q->oos) && test_bit_le(8, q->oos));
	apply(w, 9, 3);
	settled(w, 8);
	KUNIT_EXPECT_EQ(test, q->oos_count, 1);
	KUNIT_EXPECT_TRUE(test, test_bit_le(3, q->oos));
	settled(w, 9);
	KUNIT_EXPECT_EQ(test, q->oos_count, 0);
	KUNIT_EXPECT_NULL(test, memchr_inv(q->oos, 0, KFM_BLOCK));
	/* a primary that is shorter does not know of all regions */
	w->peers[0].sectors--;
	apply(w, 10, 3);
	settled(w, 10);
	KUNIT_EXPECT_EQ(test, q->oos_count, 1);
	w->peers[0].sectors++;
	settled(w, 10);
	KUNIT_EXPECT_EQ(test, q->oos_count, 0);
	/* on the device the bits stay until they are cleaned */
	KUNIT_EXPECT_TRUE(test, any_stored(w));
	KUNIT_EXPECT_EQ(test, kfm_bits_rest(&w->m), 0);
	KUNIT_EXPECT_FALSE(test, any_stored(w));
}

/* The region of a write that is not settled is kept, however many records follow it. */
static void node_settled_long_ago(struct kunit *test)
{
	struct mw *w = mw_follower(test);
	struct kfm_peer *q = &w->peers[1];
	u64 seq;

	apply(w, 1, 3);
	for (seq = 2; seq <= KFM_WINDOW; seq++)
		apply(w, seq, 9);
	settled(w, 0);
	KUNIT_EXPECT_EQ(test, q->oos_count, 2);
	apply(w, seq, 9);	/* the first one is not remembered any more */
	settled(w, 0);
	KUNIT_EXPECT_TRUE(test, test_bit_le(3, q->oos));
	settled(w, 1);
	KUNIT_EXPECT_FALSE(test, test_bit_le(3, q->oos));
	KUNIT_EXPECT_EQ(test, q->oos_count, 1);
}

/* A log that can't be applied ends the session, so the primary goes on without this copy. */
static void node_log_fails(struct kunit *test)
{
	struct mw *w = mw_follower(test);

	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->peers[0].state, KFM_SESSION_UP);
	w->apply_err = -EIO;
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->peers[0].state, KFM_SESSION_DOWN);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_BYE], 1);
}

KFI_SUITE(kfi_mirror_node,
	KUNIT_CASE(node_generation_stuck),
	KUNIT_CASE(node_source_known),
	KUNIT_CASE(node_source_alone),
	KUNIT_CASE(node_one_by_one),
	KUNIT_CASE(node_part_passes),
	KUNIT_CASE(node_early_synced_ok),
	KUNIT_CASE(node_fenced),
	KUNIT_CASE(node_promoted_with_memory),
	KUNIT_CASE(node_promoted_at_once),
	KUNIT_CASE(node_peers_differ),
	KUNIT_CASE(node_sizes),
	KUNIT_CASE(node_blank),
	KUNIT_CASE(node_rate),
	KUNIT_CASE(node_replaced),
	KUNIT_CASE(node_replaced_returns),
	KUNIT_CASE(node_replaced_elsewhere),
	KUNIT_CASE(node_primary_replaced),
	KUNIT_CASE(node_candidate_unknown),
	KUNIT_CASE(node_follows),
	KUNIT_CASE(node_blocks),
	KUNIT_CASE(node_mounted),
	KUNIT_CASE(node_synced_not_stored),
	KUNIT_CASE(node_settled),
	KUNIT_CASE(node_settled_long_ago),
	KUNIT_CASE(node_log_fails));
