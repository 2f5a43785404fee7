// SPDX-License-Identifier: GPL-2.0
/*
 * I/O of a primary of kfi_mirror: writes at random, against a model of the copies; and reads of a
 * node that has been promoted, because the primary may have died with a write that only this copy
 * has.
 */
#include <linux/prandom.h>
#include "mirror_world.h"

/* ---- writes ---- */

#define MODEL_STEPS	200000

/*
 * A record that is durable, or, if it is direct, perhaps @cached: what it writes to the first
 * words of regions, from @region on
 */
struct logged {
	u32	region, count, value[9];
	bool	durable, cached;
};

/**
 * struct copy - a peer that keeps to the protocol, and may vanish
 * @has: what it has of each region
 * @safe: the same without what only its volatile cache has
 * @start: kfm.start; @lost: it has changed since the copies were the same
 * @log: records that are durable, by their numbers; they count up to @next, where one is missing
 * @gen: generation that it has stored
 * @source: of the resynchronisation that overwrites it; 0: it is whole
 * @synced: messages SYNCED that were answered
 * @gone: so many of the records that were posted are of earlier sessions
 */
struct copy {
	u32		has[MW_REGIONS], safe[MW_REGIONS];
	u64		start;
	bool		lost;
	struct logged	log[KFM_WINDOW];
	u64		next, gen, source;
	unsigned int	synced, gone;
};

/**
 * struct model - a primary and its peers
 * @ended: what the last write that has ended well has written to each region
 * @region: first one of each write in flight, @regions of them; MW_REGIONS for a flush
 * @value: what it writes
 * @before: what had ended before the flush
 * @last: the last value
 * @writes: that have ended well, @zeroes of them with zeroes
 * @direct: direct records
 * @equal: parts of resynchronisations that a peer had
 * @fails: the leg may fail
 */
struct model {
	struct mw		*w;
	struct rnd_state	rnd;
	struct copy		copies[2];
	u32			ended[MW_REGIONS];
	u32			region[8], regions[8], value[8], last;
	u32			before[8][MW_REGIONS];
	unsigned int		writes, zeroes, direct, equal;
	bool			fails;
};

static u32 draw(struct model *d, u32 n)
{
	return prandom_u32_state(&d->rnd) % n;
}

static void model_apply(struct copy *c, const struct logged *l)
{
	memcpy(&c->has[l->region], l->value, l->count * sizeof(u32));
	if (!l->cached)
		memcpy(&c->safe[l->region], l->value, l->count * sizeof(u32));
}

/* A record is durable: on the leg, or in the log, and so are those behind it that have waited. */
static void model_logged(struct model *d, struct copy *c, const struct kfm_post *post)
{
	const u32 bytes = KFM_SECTOR << d->w->m.shift;
	struct logged *l, one = {
		.region = post->w->sector >> d->w->m.shift,
		.count = DIV_ROUND_UP(post->w->len, bytes), .durable = true,
		.cached = post->direct && post->w->cached,
	};
	unsigned int i;

	if (post->w->kind == KFM_FLUSH) {
		memcpy(c->safe, c->has, sizeof(c->has));
		return;
	}
	for (i = 0; i < one.count; i++)
		one.value[i] = *(u32 *)(post->w->buf + KFM_DATA_AT +
					(post->w->kind == KFM_DATA ? i * bytes : 0));
	d->direct += post->direct;
	if (post->direct)
		model_apply(c, &one);
	else
		c->log[post->seq % KFM_WINDOW] = one;
	for (; (l = &c->log[c->next % KFM_WINDOW])->durable; c->next++) {
		l->durable = false;
		model_apply(c, l);
	}
}

/* A peer has lost its power, and with it a part of its cache. */
static void model_restart(struct model *d, struct copy *c)
{
	unsigned int r;

	c->start++;
	c->lost = true;
	for (r = 0; r < MW_REGIONS; r++) {
		if (draw(d, 2))
			c->has[r] = c->safe[r];
		c->safe[r] = c->has[r];
	}
}

/* A record that was posted becomes durable, or it or its session is lost. */
static void model_record(struct model *d, unsigned int peer)
{
	struct copy *c = &d->copies[peer];
	struct mw *w = d->w;
	struct kfm_post *post;
	unsigned int i;

	if (!w->nr_posted[peer])
		return;
	i = draw(d, w->nr_posted[peer]);
	post = w->posted[peer][i];
	post->err = i < c->gone || !draw(d, 2048) ? -EIO : 0;
	if (!post->err)
		model_logged(d, c, post);
	c->gone -= i < c->gone;
	memmove(&w->posted[peer][i], &w->posted[peer][i + 1],
		(--w->nr_posted[peer] - i) * sizeof(post));
	smp_store_release(&post->busy, false);	/* pairs with kfm_busy() */
}

/* Has the peer got SYNCED? Then it stores the generation. */
static bool model_synced(struct model *d, unsigned int peer)
{
	struct copy *c = &d->copies[peer];

	if (c->synced == d->w->count[peer][KFM_SYNCED])
		return false;
	c->synced = d->w->count[peer][KFM_SYNCED];
	c->gen = d->w->sent[peer][KFM_SYNCED].gens.cur;
	c->source = 0;
	c->lost = false;
	return true;
}

/* The peer compares a part, and flushes its cache if that is the same; or it never answers. */
static void model_hash(struct model *d, unsigned int peer)
{
	const u32 shift = d->w->m.shift, bytes = KFM_SECTOR << shift;
	struct kfm_msg msg = { .type = KFM_HASHED };
	struct copy *c = &d->copies[peer];
	struct kfm_write *part;
	u32 at;

	list_for_each_entry(part, &d->w->m.reads, entry) {
		if (part->peer->index != peer || part->sum.step != KFM_H_ASKED ||
		    c->next <= part->sum.seq)
			continue;
		if (part->sum.id % 16 == 1) {
			part->sum.deadline = jiffies - 1;
			continue;
		}
		for (msg.arg = 1, at = 0; at < part->len; at += bytes)
			msg.arg &= *(u32 *)(part->buf + KFM_DATA_AT + at) ==
				   c->has[(part->sector >> shift) + at / bytes];
		if (msg.arg)
			memcpy(c->safe, c->has, sizeof(c->has));
		d->equal += msg.arg;
		msg.id = part->sum.id;
		mw_say(d->w, peer, msg);
	}
}

/* The peer answers what the primary waits for. */
static void model_answer(struct model *d, unsigned int peer)
{
	struct copy *c = &d->copies[peer];
	struct mw *w = d->w;
	struct kfm_msg applied = { .type = KFM_APPLIED };

	switch (w->peers[peer].state) {
	case KFM_SESSION_HELLO:
		if (draw(d, 2))		/* the answer was lost, or the message */
			model_synced(d, peer);
		c->synced = w->count[peer][KFM_SYNCED];
		c->gone = w->nr_posted[peer];
		if (w->m.cache && !draw(d, 4))
			model_restart(d, c);
		c->next = 1;
		memset(c->log, 0, sizeof(c->log));
		mw_say(w, peer, (struct kfm_msg) {
			.type = KFM_STATE, .peers = 2, .sectors = w->m.sectors,
			/* refused: its generation is too old to be known */
			.state = w->peers[peer].refused ? KFM_BLANK :
				 c->source ? KFM_INCONSISTENT : KFM_UPTODATE,
			.gens = { .cur = c->gen, .source = c->source }, .start = c->start,
		});
		break;
	case KFM_SESSION_ATTACH:
		if (w->sent[peer][KFM_ATTACH].arg)
			c->source = w->sent[peer][KFM_ATTACH].gens.source;
		w->takes_zeroes = d->fails || draw(d, 8);
		w->m.csum = draw(d, 2);
		mw_grant(w, peer);
		break;
	case KFM_SESSION_UP:
		applied.seq = c->next - 1;
		mw_say(w, peer, applied);
		model_hash(d, peer);
		if (model_synced(d, peer))
			mw_synced_ok(w, peer);
		break;
	default:
		break;
	}
}

static void model_write(struct model *d)
{
	unsigned int n = draw(d, ARRAY_SIZE(d->region));

	if (test_bit(n, &d->w->flight))
		return;
	if (d->w->m.cache && !draw(d, 4)) {
		d->region[n] = MW_REGIONS;
		memcpy(d->before[n], d->ended, sizeof(d->ended));
		mw_flush(d->w, n);
		return;
	}
	d->region[n] = draw(d, draw(d, 2) ? 4 : MW_REGIONS);
	d->value[n] = ++d->last;
	*(u32 *)(d->w->page + n * PAGE_SIZE) = d->value[n];
	d->regions[n] = 1;
	if (draw(d, 8)) {
		mw_write(d->w, n, d->region[n]);
		d->w->bios[n].bi_opf |= draw(d, 8) ? 0 : REQ_FUA;
		return;
	}
	d->regions[n] += draw(d, min(MW_REGIONS - d->region[n], 9));
	mw_zero(d->w, n, d->region[n], d->regions[n],
		draw(d, 2) ? REQ_OP_DISCARD : REQ_OP_WRITE_ZEROES);
}

/* dm takes back what has not ended. */
static void model_suspend(struct model *d)
{
	d->w->m.noflush = true;
	mw_run(d->w);
	d->w->m.noflush = false;
}

/* Run the writes in a context that is not the worker. Return: whether the worker has to run. */
static bool run_atomic(struct mw *w, bool may_sleep)
{
	struct bio_list legs = BIO_EMPTY_LIST;
	struct bio *leg;
	bool worker = kfm_writes_run_atomic(&w->m, may_sleep ? &legs : NULL);

	while ((leg = bio_list_pop(&legs)))
		mw_submit(leg);
	return worker;
}

static void model_step(struct model *d)
{
	struct mw *w = d->w;
	unsigned int peer = draw(d, 2);

	switch (draw(d, 64)) {
	case 0 ... 9:
		model_write(d);
		break;
	case 10 ... 27:
		model_record(d, peer);
		break;
	case 28 ... 35:
		mw_run(w);
		break;
	case 36 ... 45:
		run_atomic(w, draw(d, 2));
		break;
	case 46:
		w->full = !draw(d, 3);
		break;
	case 47:
		w->leg_waits = !w->leg_waits;
		break;
	case 48 ... 50:
		if (w->nr_works || !bio_list_empty(&w->legs))
			mw_leg_ends(w, d->fails && !draw(d, 512) ? BLK_STS_IOERR : BLK_STS_OK);
		break;
	case 51:
		w->peers[peer].next = jiffies;
		w->peers[peer].down -= w->m.timeout / 8;
		w->m.renewed -= 5 * HZ;
		break;
	case 52:
		if (!draw(d, 64))
			mw_say(w, peer, (struct kfm_msg) { .type = KFM_BYE });
		else if (!draw(d, 64))
			model_suspend(d);
		break;
	default:
		model_answer(d, peer);
	}
}

/* Is it durable that the copy of a detached node is worthless? */
static bool model_worthless(const struct mw *w)
{
	struct kfm_super sb;

	return !kfm_super_decode((void *)w->durable + (w->m.sb.serial & 1) * KFM_BLOCK, &sb) &&
	       sb.serial == w->m.sb.serial && sb.state == KFM_BLANK &&
	       sb.flags & KFM_SB_LEG_FAILED;
}

/*
 * What has ended well is at each peer, unless the primary goes on without the peer and knows that
 * the region differs; then the copy can't be promoted, because it is not whole, or does not have
 * the generation. No write ends before the whole copies have stored that.
 */
static const char *model_wrong(const struct model *d)
{
	const struct mw *w = d->w;
	const struct kfm_peer *p;
	const struct copy *c;
	unsigned int i, r, whole = 0;

	for (i = 0; i < 2; i++) {
		p = &w->peers[i];
		c = &d->copies[i];
		whole += !kfm_is_alone(p) && !c->source;
		for (r = 0; r < MW_REGIONS; r++)
			if (!test_bit_le(r / 8, p->active) && !test_bit_le(r, p->oos) &&
			    (w->leg[r] != w->leg_safe[r] || c->has[r] != c->safe[r]))
				return "an extent is cleaned before a flush";	/* C1 */
			else if (c->has[r] >= d->ended[r])
				continue;
			else if (c->lost && (p->state != KFM_SESSION_UP || test_bit_le(r, p->oos)))
				continue;	/* C2 */
			else if (!kfm_is_alone(p) || !test_bit_le(r, p->oos))
				return "a write is lost";
			else if (!c->source && c->gen == w->m.sb.gens.cur)
				return "a copy that misses a write can be promoted";
		if (w->done && p->state == KFM_SESSION_UP && !c->source &&
		    c->gen != w->m.sb.gens.cur)
			return "a write has ended before the generation is known";
	}
	if (!w->m.detached)
		return NULL;
	return !whole ? "no copy is left" : model_worthless(w) ? NULL : "a stale copy is left";
}

/* What had ended before a flush is durable at all whole copies that this node needs. */
static bool model_flushed(const struct model *d, const u32 *before)
{
	const struct copy *c;
	unsigned int i, r;

	for (i = 0; i < 2; i++) {
		c = &d->copies[i];
		for (r = 0; r < MW_REGIONS; r++)
			if ((d->w->leg_safe[r] < before[r] && !d->w->m.detached) ||
			    (c->safe[r] < before[r] && !c->lost && !c->source &&
			     !kfm_is_alone(&d->w->peers[i])))
				return false;
	}
	return true;
}

/* Return: what is wrong after a step, or NULL */
static const char *model_after(struct model *d)
{
	struct mw *w = d->w;
	const char *wrong;
	unsigned int n, r;

	for_each_set_bit(n, &w->done, ARRAY_SIZE(d->region)) {
		if (d->region[n] == MW_REGIONS && !model_flushed(d, d->before[n]))
			return "a flush has not reached all copies";
		if (d->region[n] == MW_REGIONS)
			continue;
		for (r = d->region[n]; r < d->region[n] + d->regions[n]; r++)
			d->ended[r] = d->value[n];
		d->writes++;
		d->zeroes += kfm_bio_zeroes(&w->bios[n]);
	}
	wrong = model_wrong(d);
	w->done = 0;
	w->events[0] = 0;
	return wrong;
}

/* The writes end, and all copies are the same, if nothing is lost any more. */
static void model_end(struct model *d)
{
	struct mw *w = d->w;
	unsigned int i;

	w->full = false;
	w->leg_waits = false;
	while (w->nr_works || !bio_list_empty(&w->legs))
		mw_leg_ends(w, BLK_STS_OK);
	for (i = 0; i < 4000; i++) {
		w->peers[i % 2].next = jiffies;
		mw_run(w);
		model_answer(d, i % 2);
		while (w->nr_posted[i % 2])
			model_record(d, i % 2);
	}
}

static struct model *model_make(struct kunit *test, bool cache)
{
	struct model *d = kfi_test_zalloc(test, sizeof(*d));
	u64 seed = get_random_u64();
	unsigned int i;

	kunit_info(test, "seed %llu\n", seed);
	prandom_seed_state(&d->rnd, seed);
	d->w = mw_make(test, 2);
	mw_primary(d->w, 6);
	if (cache)
		mw_cache(d->w);
	d->w->m.policy = KFM_ALONE;
	d->w->newer = true;
	d->w->slots = 2;	/* a record that finds none is logged */
	d->w->m.direct_min = 0;
	for (i = 0; i < 2; i++)
		d->copies[i] = (struct copy) { .gen = 5, .start = 1 };
	return d;
}

/* Return: the primary at the end */
static struct mw *model_run(struct kunit *test, unsigned int steps, bool cache)
{
	struct model *d = model_make(test, cache);
	unsigned int i, synced = 0;
	const char *wrong;

	for (i = 0; i < steps; i++) {
		model_step(d);
		KUNIT_ASSERT_NULL_MSG(test, wrong = model_after(d), "step %u: %s", i, wrong);
		synced += d->w->peers[0].insync && d->w->peers[1].insync;
	}
	model_end(d);
	KUNIT_EXPECT_NULL(test, model_after(d));
	KUNIT_EXPECT_EQ(test, d->w->flight, 0);
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_MEMEQ(test, d->copies[i].has, d->w->leg, sizeof(d->w->leg));
	kunit_info(test, "%u writes, %u of zeroes; %u parts equal; in sync in %u of %u steps\n",
		   d->writes, d->zeroes, d->equal, synced, steps);
	KUNIT_EXPECT_GT(test, d->writes, steps / 100);
	KUNIT_EXPECT_GT(test, synced, steps / 100);
	KUNIT_EXPECT_GT(test, d->direct, steps / 1000);
	KUNIT_EXPECT_GE(test, d->equal, steps / MODEL_STEPS);
	KUNIT_EXPECT_GT(test, d->zeroes, steps / 1000);
	return d->w;
}

static void writes_model(struct kunit *test)
{
	model_run(test, MODEL_STEPS, false);
}

/* Writes stay in volatile caches until a flush, and peers lose these. */
static void writes_model_cached(struct kunit *test)
{
	struct mw *w = model_run(test, MODEL_STEPS, true);
	unsigned int i;

	for (i = 0; i < 4; i++) {	/* choose, flush, clear */
		w->m.renewed -= 20 * HZ;
		mw_run(w);
		mw_ack(w, 0);
		mw_ack_run(w, 1);
	}
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_EQ(test, w->peers[i].active_count + w->peers[i].oos_count, 0);
}

/*
 * The leg fails at any time. Then all writes fail, or they go on and are at each peer without which
 * this node does not go on; there always is one, and it is not overwritten.
 */
static void writes_model_detached(struct kunit *test)
{
	unsigned int i, step, detached = 0;
	const char *wrong;
	struct model *d;

	for (i = 0; i < 12; i++) {
		d = model_make(test, i % 2);
		d->w->m.detach = d->fails = true;
		for (step = 0; step < MODEL_STEPS / 12 && !d->w->m.leg_failed; step++) {
			model_step(d);
			wrong = model_after(d);
			KUNIT_ASSERT_NULL_MSG(test, wrong, "step %u: %s", step, wrong);
		}
		model_end(d);
		KUNIT_EXPECT_NULL(test, model_after(d));
		detached += d->w->m.detached;
	}
	kunit_info(test, "detached in %u of %u runs\n", detached, i);
	KUNIT_EXPECT_GE(test, detached, 1);
}

/* ---- reads ---- */

/* A copy that may be promoted next has to be the same, and to know the generation. */
static void read_waits(struct kunit *test)
{
	struct mw *w = mw_make(test, 2);

	mw_primary(w, 6);
	mw_read(w, 0);
	mw_join(w, 0, 5);
	mw_synced_ok(w, 0);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->done, 0);
	mw_join(w, 1, 5);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->done, 0);
	mw_synced_ok(w, 1);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->done, 1);
	/* once is enough: a peer that is lost later has the same, or less, and is not promoted */
	mw_say(w, 1, (struct kfm_msg) { .type = KFM_BYE });
	mw_read(w, 1);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->done, 3);
}

/*
 * A copy that is being resynchronised, and one without which this node goes on, hold up no read.
 */
static void read_passes(struct kunit *test)
{
	struct mw *w = mw_make(test, 2);

	mw_primary(w, 6);
	mw_read(w, 0);
	KUNIT_EXPECT_EQ(test, mw_order(w, "fenced", "0"), 0);
	mw_differs(w, 1, 10);
	mw_run(w);
	mw_state(w, 1, KFM_UPTODATE, 5, 0);
	KUNIT_EXPECT_EQ(test, w->sent[1][KFM_ATTACH].arg, 1);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->done, 0);	/* it is not yet known that the copy is marked */
	mw_grant(w, 1);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->done, 1);
}

/* A read that is held ends with the role, with the metadata device, or goes back to dm. */
static void read_ends(struct kunit *test)
{
	struct mw *w = mw_make(test, 1);

	mw_primary(w, 6);
	mw_read(w, 0);
	mw_run(w);
	w->m.noflush = true;
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->requeued, 1);
	w->m.noflush = false;
	mw_read(w, 1);
	w->m.meta_failed = true;
	mw_run(w);
	w->m.meta_failed = false;
	KUNIT_EXPECT_EQ(test, w->flight, 0);
	mw_read(w, 2);
	KUNIT_EXPECT_EQ(test, mw_order(w, "demote", NULL), 0);
	mw_run(w);
	KUNIT_EXPECT_EQ(test, w->flight, 0);
	KUNIT_EXPECT_EQ(test, w->done, 0);
}

/* The primary asks for zeros, which this node has, or for something else. */
static void csum_ask_for(struct mw *w, u64 id, bool other)
{
	const u32 len = KFM_SECTOR << w->m.shift;
	struct kfm_write data = { .buf = w->page, .len = len, .sum = { .session = 9, .id = id } };

	mw_say(w, 0, (struct kfm_msg) {
		.type = KFM_HASH, .id = id, .seq = 1, .sector = id % 4 << w->m.shift, .arg = len,
		.hash = kfm_csum_hash(&data) + other,
	});
	mw_run(w);
}

/* A part was read, with this many answers and flushes since the beginning. */
static void csum_was_read(struct mw *w, unsigned int answers, bool same, unsigned int flushes)
{
	mw_leg_ends(w, BLK_STS_OK);
	mw_run(w);
	KUNIT_EXPECT_EQ(w->test, w->count[0][KFM_HASHED], answers);
	KUNIT_EXPECT_TRUE(w->test, w->sent[0][KFM_HASHED].arg == same);
	KUNIT_EXPECT_TRUE(w->test, w->csum_flushes == flushes);
}

/*
 * A secondary reads when its log is applied, and says "the same" when its leg was flushed, once
 * for all that were read. What another session has asked for is in nobody's way.
 */
static void csum_serves(struct kunit *test)
{
	struct mw *w = mw_follower(test);

	w->newer = w->leg_waits = true;
	csum_ask_for(w, 1, false);
	csum_ask_for(w, 2, false);
	KUNIT_EXPECT_TRUE(test, kfm_csum_behind(&w->m) && bio_list_empty(&w->legs));
	w->m.log.head.seq = 2;
	mw_run(w);
	csum_was_read(w, 0, false, 0);
	csum_ask_for(w, 3, true);
	csum_was_read(w, 2, true, 1);
	csum_was_read(w, 3, false, 1);
	w->peers[0].session = 8;
	csum_ask_for(w, 4, false);
	w->peers[0].session = 9;
	mw_run(w);
	mw_leg_ends(w, BLK_STS_OK);
	csum_ask_for(w, 8, false);
	w->flush_err = -EIO;
	csum_was_read(w, 3, false, 2);
	KUNIT_EXPECT_EQ(test, w->peers[0].state, KFM_SESSION_DOWN);
	mw_run(w);
	KUNIT_EXPECT_TRUE(test, w->m.log.failed && kfm_writes_idle(&w->m));
}

/* An answer counts for its request, in its round. A peer that gives none is not asked again. */
static void csum_asks(struct kunit *test)
{
	struct mw *w = mw_synced(test);
	struct kfm_peer *p = &w->peers[0];
	struct kfm_sum *sum;
	unsigned int i;

	w->newer = p->csum = true;
	mw_differs(w, 0, 3);
	for (i = 0; i < 3; i++) {
		mw_run(w);
		mw_run(w);
		sum = &list_first_entry(&w->m.reads, struct kfm_write, entry)->sum;
		mw_say(w, 0, (struct kfm_msg) {
			.type = KFM_HASHED, .id = sum->id + (i != 1), .arg = 1,
		});
		sum->deadline -= i == 2 ? HZ + w->m.timeout : 0;
		p->rs_round += i == 1;
		p->rs_from = 0;
		mw_run(w);
		KUNIT_EXPECT_TRUE(test, p->oos_count == 1 && p->csum == (i < 2));
	}
	KUNIT_EXPECT_EQ(test, w->nr_posted[0], 1);
}

/* While the application writes, another limit holds. A write that is held does not count. */
static void resync_backs_off(struct kunit *test)
{
	struct mw *w = mw_synced(test);
	struct kfm_peer *p = &w->peers[0];
	unsigned int i;

	KUNIT_EXPECT_EQ(test, mw_order(w, "rate", "0 1"), 0);
	mw_write(w, 0, 0);
	p->budget = -1024;
	for (i = 0; i < 2; i++) {	/* it is in flight; it has ended a moment ago */
		mw_run(w);
		p->budget_at = jiffies - HZ / 4;
		KUNIT_EXPECT_FALSE(test, kfm_resync_allowed(p));
		mw_ack(w, 0);
	}
	w->m.wrote = jiffies - HZ;
	KUNIT_EXPECT_TRUE(test, kfm_resync_allowed(p));
	mw_run(w);
	KUNIT_EXPECT_TRUE(test, time_after(w->m.wrote, jiffies - HZ / 2));
	mw_say(w, 0, (struct kfm_msg) { .type = KFM_BYE });
	mw_write_run(w, 1, 0);
	p->budget = -1024;
	KUNIT_EXPECT_TRUE(test, kfm_resync_allowed(p));
}

KFI_SUITE(kfi_mirror_io,
	KUNIT_CASE(csum_serves),
	KUNIT_CASE(csum_asks),
	KUNIT_CASE(resync_backs_off),
	KUNIT_CASE_SLOW(writes_model),
	KUNIT_CASE_SLOW(writes_model_cached),
	KUNIT_CASE_SLOW(writes_model_detached),
	KUNIT_CASE(read_waits),
	KUNIT_CASE(read_passes),
	KUNIT_CASE(read_ends));
