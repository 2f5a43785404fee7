// SPDX-License-Identifier: GPL-2.0
/*
 * Several ways to a peer of kfi_mirror (ulps/mirror/rail.c): which of them records take, and what
 * becomes of a session when one of them fails.
 */
#include "mirror_world.h"

#define BIG	KFM_DIRECT_DEFAULT

static void write_big(struct mw *w, unsigned int number)
{
	mw_write_at(w, number, (u64)number << w->m.shift, BIG);
}

/* A primary with two rails to a peer in sync. The session is by the first one. */
static struct mw *two_rails(struct kunit *test, enum kfm_policy policy)
{
	struct mw *w = mw_make(test, 1);

	w->newer = true;
	w->slots = 8;
	w->m.policy = policy;
	mw_rail(w, 0);
	mw_primary(w, 6);
	mw_join(w, 0, 5);
	mw_synced_ok(w, 0);
	KUNIT_EXPECT_TRUE(test, w->peers[0].insync);
	return w;
}

/* The peer answers RAIL by the second rail. */
static void grant(struct mw *w)
{
	struct kfm_peer *p = &w->peers[0];

	p->came = p->rails[1];
	mw_say(w, 0, (struct kfm_msg) { .type = KFM_RAIL, .slots_key = 4, .slots_addr = 40 });
	p->came = p->rails[0];
}

/* Records that were posted by a rail end with an error. */
static void cut(struct mw *w, unsigned int rail)
{
	struct kfm_post *post;
	unsigned int i, left = 0;

	for (i = 0; i < w->nr_posted[0]; i++) {
		post = w->posted[0][i];
		if (post->rail == w->peers[0].rails[rail]) {
			post->err = -ETIMEDOUT;
			post->busy = false;
		} else {
			w->posted[0][left++] = post;
		}
	}
	KUNIT_EXPECT_LT(w->test, left, i);
	w->nr_posted[0] = left;
	mw_run(w);
}

/* The next session begins, without a wait. */
static void begins_again(struct mw *w, unsigned int rail)
{
	struct kfm_peer *p = &w->peers[0];
	unsigned int hellos = w->count[0][KFM_HELLO];

	mw_run(w);
	KUNIT_EXPECT_EQ(w->test, w->count[0][KFM_HELLO], hellos + 1);
	KUNIT_EXPECT_PTR_EQ(w->test, w->by[0][KFM_HELLO], p->rails[rail]);
	mw_state(w, 0, KFM_UPTODATE, w->m.sb.gens.cur, 0);
	mw_grant(w, 0);
	mw_run(w);
	mw_synced_ok(w, 0);
	KUNIT_EXPECT_TRUE(w->test, p->insync);
}

/* Direct records go by the rail with the fewest bytes to carry, once the peer has granted that. */
static void rail_shares(struct kunit *test)
{
	struct mw *w = two_rails(test, KFM_FENCE);
	struct kfm_peer *p = &w->peers[0];

	KUNIT_EXPECT_PTR_EQ(test, w->by[0][KFM_RAIL], p->rails[1]);
	write_big(w, 0);
	mw_run(w);
	KUNIT_EXPECT_PTR_EQ(test, w->group[0].rail, p->rails[0]);
	write_big(w, 1);
	mw_run(w);
	KUNIT_EXPECT_PTR_EQ(test, w->group[0].rail, p->rails[0]);
	mw_ack_run(w, 0);
	KUNIT_EXPECT_EQ(test, p->rails[0]->bytes, 0);

	grant(w);
	KUNIT_EXPECT_EQ(test, kfm_rails_used(p), 2);
	write_big(w, 2);
	mw_run(w);
	KUNIT_EXPECT_PTR_EQ(test, w->group[0].rail, p->rails[0]);
	write_big(w, 3);
	mw_run(w);
	KUNIT_EXPECT_PTR_EQ(test, w->group[0].rail, p->rails[1]);
	KUNIT_EXPECT_EQ(test, p->rails[1]->slots_key, 4);
	KUNIT_EXPECT_EQ(test, p->rails[1]->slots_addr, 40);
	KUNIT_EXPECT_GT(test, p->rails[1]->bytes, BIG);
	mw_ack_run(w, 0);
	KUNIT_EXPECT_EQ(test, p->rails[1]->bytes, 0);
	/* what has an order goes by the rail of the session */
	mw_write(w, 4, 4);
	mw_write(w, 5, 5);
	mw_run(w);
	KUNIT_EXPECT_FALSE(test, w->group[0].direct);
	KUNIT_EXPECT_PTR_EQ(test, w->group[0].rail, p->rails[0]);
	mw_ack_run(w, 0);
	KUNIT_EXPECT_EQ(test, w->done, 0x3f);
}

/* A rail whose network does not notice changed bytes gets CRCs, and the key is taken once. */
static void rail_granted(struct kunit *test)
{
	struct mw *w = two_rails(test, KFM_FENCE);
	struct kfm_peer *p = &w->peers[0];

	p->slots.data_crc = false;
	p->rails[1]->checked = true;
	grant(w);
	KUNIT_EXPECT_FALSE(test, p->slots.data_crc);
	p->rails[1]->open = false;
	p->rails[1]->checked = false;
	grant(w);
	KUNIT_EXPECT_TRUE(test, p->slots.data_crc);
	p->rails[1]->slots_key = 5;
	grant(w);
	KUNIT_EXPECT_EQ(test, p->rails[1]->slots_key, 5);
}

/* Either rail is cut: the session begins again by the other one. No write fails, no policy acts. */
static void rail_cut(struct kunit *test)
{
	unsigned int rail, i;
	struct kfm_peer *p;
	struct mw *w;

	for (rail = 0; rail < 2; rail++) {
		w = two_rails(test, KFM_ALONE);
		p = &w->peers[0];
		grant(w);
		for (i = 0; i < 4; i++) {
			write_big(w, i);
			mw_run(w);
		}
		cut(w, rail);
		KUNIT_EXPECT_EQ(test, p->state, KFM_SESSION_DOWN);
		KUNIT_EXPECT_FALSE(test, p->rails[rail]->up);
		KUNIT_EXPECT_TRUE(test, p->rails[!rail]->up);
		KUNIT_EXPECT_EQ(test, kfm_rails_used(p), 0);
		KUNIT_EXPECT_EQ(test, w->done, 0);
		mw_ack(w, 0);		/* too late to count */
		begins_again(w, !rail);
		KUNIT_EXPECT_EQ(test, kfm_rails_used(p), 1);
		mw_ack_run(w, 0);
		mw_ack_run(w, 0);
		KUNIT_EXPECT_EQ(test, w->done, 0xf);
		KUNIT_EXPECT_FALSE(test, kfm_is_alone(p));
		KUNIT_EXPECT_NULL(test, strstr(w->events, "alone "));
		KUNIT_EXPECT_EQ(test, w->m.sb.gens.cur, 6);
	}
}

/* A rail that has nothing to carry and does not answer is left out, until it answers. */
static void rail_idle(struct kunit *test)
{
	struct mw *w = two_rails(test, KFM_ALONE);
	struct kfm_peer *p = &w->peers[0];
	unsigned int i, asked;

	grant(w);
	write_big(w, 0);
	mw_run(w);
	write_big(w, 1);
	mw_run(w);
	for (i = 0; i < 3; i++) {
		asked = w->count[0][KFM_RAIL];
		p->rails[1]->live = jiffies - 2 * w->m.timeout;
		p->next = jiffies;
		mw_run(w);
		KUNIT_EXPECT_EQ(test, w->count[0][KFM_RAIL], asked + 1);
		/* what is in flight has its own time limit */
		KUNIT_EXPECT_EQ(test, kfm_rails_used(p), i == 1 ? 1 : 2);
		if (i == 0)
			mw_ack_run(w, 0);
		else if (i == 1)
			grant(w);
		KUNIT_EXPECT_TRUE(test, p->insync);
		p->rails[1]->bytes = i == 1;
	}
	KUNIT_EXPECT_EQ(test, w->done, 3);
}

/* Answers of one rail say nothing of the messages of the other one. */
static void rail_silent(struct kunit *test)
{
	struct mw *w = two_rails(test, KFM_ALONE);
	struct kfm_peer *p = &w->peers[0];

	grant(w);
	write_big(w, 0);
	mw_run(w);
	write_big(w, 1);
	mw_run(w);
	p->live = jiffies - 2 * w->m.timeout;
	grant(w);	/* RAIL says nothing of them, either */
	w->posted[0][1]->busy = false;
	mw_run(w);
	KUNIT_EXPECT_EQ(test, p->state, KFM_SESSION_DOWN);
	KUNIT_EXPECT_FALSE(test, kfm_is_alone(p));
	w->nr_posted[0] = 0;
	KUNIT_EXPECT_PTR_EQ(test, p->rail, p->rails[1]);
}

/* A peer that answers by no rail is lost, as one with a single rail is. */
static void rail_none(struct kunit *test)
{
	struct mw *w = two_rails(test, KFM_ALONE);
	struct kfm_peer *p = &w->peers[0];
	struct kfm_rail *first;

	write_big(w, 0);
	mw_run(w);
	cut(w, 0);
	p->rails[0]->up = true;		/* opened again */
	mw_run(w);
	first = w->by[0][KFM_HELLO];
	KUNIT_EXPECT_PTR_EQ(test, first, p->rails[1]);
	p->deadline = jiffies - 1;
	mw_run(w);
	mw_run(w);
	KUNIT_EXPECT_PTR_EQ(test, w->by[0][KFM_HELLO], p->rails[0]);
	KUNIT_EXPECT_EQ(test, w->done, 0);
	p->down = jiffies - 2 * w->m.timeout;
	mw_run(w);
	mw_run(w);
	KUNIT_EXPECT_TRUE(test, kfm_is_alone(p));
	KUNIT_EXPECT_EQ(test, w->done, 1);
}

/* What the peer says of a record is no fault of the rail: it is asked again after a while. */
static void rail_record(struct kunit *test)
{
	struct mw *w = two_rails(test, KFM_FENCE);
	struct kfm_peer *p = &w->peers[0];
	unsigned int hellos;

	grant(w);
	write_big(w, 0);
	mw_run(w);
	w->posted[0][0]->err = -EPROTO;
	w->posted[0][0]->busy = false;
	w->nr_posted[0] = 0;
	hellos = w->count[0][KFM_HELLO];
	mw_run(w);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, p->state, KFM_SESSION_DOWN);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_HELLO], hellos);
	KUNIT_EXPECT_TRUE(test, p->rails[0]->up);
	KUNIT_EXPECT_PTR_EQ(test, p->rail, p->rails[0]);
	KUNIT_EXPECT_NOT_NULL(test, strstr(w->events, "frozen "));
}

/* A rail that carries RAIL and no records is used after pauses that double. */
static void rail_pauses(struct kunit *test)
{
	struct mw *w = two_rails(test, KFM_FENCE);
	struct kfm_peer *p = &w->peers[0];
	struct kfm_rail *bad = p->rails[1];
	unsigned int i, asked;

	for (i = 0; i < 3; i++) {
		grant(w);
		write_big(w, 0);
		mw_run(w);
		write_big(w, 1);
		mw_run(w);
		cut(w, 1);
		mw_ack(w, 0);
		bad->up = true;		/* opened again */
		KUNIT_EXPECT_EQ(test, bad->pause, w->m.timeout << i);
		asked = w->count[0][KFM_RAIL];
		begins_again(w, 0);
		mw_ack_run(w, 0);
		KUNIT_EXPECT_EQ(test, w->count[0][KFM_RAIL], asked);
		bad->again = jiffies;
		p->next = jiffies;
		mw_run(w);
		KUNIT_EXPECT_EQ(test, w->count[0][KFM_RAIL], asked + 1);
	}
	bad->again = jiffies - 8 * bad->pause - 1;
	p->next = jiffies;
	mw_run(w);
	KUNIT_EXPECT_EQ(test, bad->pause, 0);
	KUNIT_EXPECT_EQ(test, w->done, 3);
}

/* The peer has lost the endpoint of the other rail: the session begins again by this one. */
static void rail_closed_there(struct kunit *test)
{
	struct mw *w = two_rails(test, KFM_ALONE);
	struct kfm_peer *p = &w->peers[0];

	grant(w);
	mw_say(w, 0, (struct kfm_msg) { .type = KFM_BYE, .arg = KFM_BYE_RAIL });
	KUNIT_EXPECT_FALSE(test, kfm_is_alone(p));
	KUNIT_EXPECT_FALSE(test, p->rails[1]->up);
	begins_again(w, 0);
}

/* Somebody else answers by the first rail. */
static void rail_refused(struct kunit *test)
{
	struct mw *w = mw_make(test, 1);
	struct kfm_peer *p = &w->peers[0];

	mw_rail(w, 0);
	mw_primary(w, 6);
	mw_run(w);
	mw_say(w, 0, (struct kfm_msg) { .type = KFM_REFUSED, .arg = KFM_R_FOREIGN });
	p->next = jiffies;
	mw_run(w);
	KUNIT_EXPECT_PTR_EQ(test, w->by[0][KFM_HELLO], p->rails[1]);
}

/* A peer that ends the session itself is lost at once, whatever rails there are. */
static void rail_bye(struct kunit *test)
{
	struct mw *w = two_rails(test, KFM_ALONE);

	grant(w);
	mw_say(w, 0, (struct kfm_msg) { .type = KFM_BYE });
	KUNIT_EXPECT_TRUE(test, kfm_is_alone(&w->peers[0]));
}

/* A candidate asks by one rail after the other. */
static void rail_candidate(struct kunit *test)
{
	struct mw *w = mw_make(test, 1);
	struct kfm_peer *p = &w->peers[0];

	mw_rail(w, 0);
	KUNIT_EXPECT_EQ(test, mw_order(w, "promote", NULL), 1);
	mw_run(w);
	KUNIT_EXPECT_PTR_EQ(test, w->by[0][KFM_HELLO], p->rails[0]);
	p->next = jiffies;
	mw_run(w);
	KUNIT_EXPECT_PTR_EQ(test, w->by[0][KFM_HELLO], p->rails[1]);
	mw_state(w, 0, KFM_UPTODATE, 5, 0);
	KUNIT_EXPECT_TRUE(test, w->m.primary);
}

static void hello(struct mw *w, u64 session, u64 start, u64 stamp)
{
	mw_say(w, 0, (struct kfm_msg) {
		.type = KFM_HELLO, .session = session, .gens.cur = 6, .gens.base = 5,
		.sectors = w->m.sectors, .lbs = KFM_SECTOR, .arg = KFM_FENCE, .peers = 1,
		.versions = KFM_VERSIONS(4, 4), .features = KFM_F_DIRECT, .start = start,
		.seq = stamp,
	});
}

/* A secondary answers by the rail by which it was asked, and its session is there. */
static void rail_follows(struct kunit *test)
{
	struct mw *w = mw_make(test, 1);
	struct kfm_peer *p = &w->peers[0];
	unsigned int i;

	mw_rail(w, 0);
	w->newer = true;
	for (i = 2; i--;) {
		p->came = p->rails[i];
		hello(w, 9 + i, 3, 100 - i);
		KUNIT_EXPECT_PTR_EQ(test, w->by[0][KFM_STATE], p->rails[i]);
		KUNIT_EXPECT_PTR_EQ(test, p->rail, p->rails[i]);
	}
	/* one that was under way for longer ends nothing; after a loss of power time begins anew */
	p->came = p->rails[1];
	hello(w, 11, 3, 99);
	KUNIT_EXPECT_EQ(test, p->session, 9);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_STATE], 2);
	hello(w, 12, 4, 1);
	KUNIT_EXPECT_EQ(test, p->session, 12);
	hello(w, 13, 0, 0);	/* of an older program */
	KUNIT_EXPECT_EQ(test, p->session, 13);
	/* it gives no key without a session */
	mw_say(w, 0, (struct kfm_msg) { .type = KFM_RAIL });
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_RAIL], 0);
}

KFI_SUITE(kfi_mirror_rail,
	KUNIT_CASE(rail_shares),
	KUNIT_CASE(rail_granted),
	KUNIT_CASE(rail_cut),
	KUNIT_CASE(rail_idle),
	KUNIT_CASE(rail_silent),
	KUNIT_CASE(rail_none),
	KUNIT_CASE(rail_record),
	KUNIT_CASE(rail_pauses),
	KUNIT_CASE(rail_closed_there),
	KUNIT_CASE(rail_refused),
	KUNIT_CASE(rail_bye),
	KUNIT_CASE(rail_candidate),
	KUNIT_CASE(rail_follows));
