// SPDX-License-Identifier: GPL-2.0
/*
 * Matching is compared with a simple model - two arrays, in the order of posting and arrival, that
 * are searched from the front - in long random sequences. Another test runs several threads. In
 * both a receive is compared with very few messages at a time, so that most searches are continued
 * in a work item.
 */
#include <linux/delay.h>
#include <linux/prandom.h>
#include <linux/random.h>
#include <linux/slab.h>
#include "crew.h"
#include "fixture.h"

#define MODEL_MAX	48
#define MODEL_BUF	64
#define MODEL_MIN	8
#define STEPS		20000

struct model_recv {
	unsigned long	id;
	bool		tagged, multi;
	u64		tag, ignore;
	kfi_addr_t	from;
	size_t		used;
};

struct model_msg {
	struct kfi_rx	*rx;
	bool		tagged;
	u64		tag;
	kfi_addr_t	src;
	size_t		len;
};

/**
 * struct model - state of the model, and what it expects
 * @names: addresses of @peers, and of a peer that is not in the address vector
 * @recvs: posted receives, oldest first
 * @msgs: unexpected messages, oldest first
 * @messages: completions of messages so far
 * @released: multi-receive buffers released so far
 * @seen_messages: completions of messages that were read
 * @seen_released: releases that were read
 */
struct model {
	struct kunit		*test;
	struct kfi_world	*w;
	struct rnd_state	rnd;
	kfi_addr_t		peers[4];
	u64			names[5];
	struct model_recv	recvs[MODEL_MAX];
	unsigned int		nr_recvs;
	struct model_msg	msgs[MODEL_MAX];
	unsigned int		nr_msgs;
	unsigned long		next_id;
	u64			messages, released, seen_messages, seen_released;
};

static u32 draw(struct model *m, u32 n)
{
	return prandom_u32_state(&m->rnd) % n;
}

static bool model_fits(const struct model_recv *r, const struct model_msg *msg)
{
	if (r->tagged != msg->tagged || (r->tagged && (r->tag ^ msg->tag) & ~r->ignore))
		return false;
	return r->from == KFI_ADDR_UNSPEC || r->from == msg->src;
}

static void forget_recv(struct model *m, unsigned int i)
{
	if (m->recvs[i].multi)
		m->released++;
	memmove(&m->recvs[i], &m->recvs[i + 1], (--m->nr_recvs - i) * sizeof(m->recvs[0]));
}

static void forget_msg(struct model *m, unsigned int i)
{
	memmove(&m->msgs[i], &m->msgs[i + 1], (--m->nr_msgs - i) * sizeof(m->msgs[0]));
}

/*
 * Return the id of the receive that must match @msg, with the offset in its buffer in *@at; 0:
 * none.
 */
static unsigned long model_match(struct model *m, const struct model_msg *msg, size_t *at)
{
	unsigned int i = 0;

	while (i < m->nr_recvs) {
		struct model_recv *r = &m->recvs[i];
		unsigned long id = r->id;

		if (!model_fits(r, msg)) {
			i++;
			continue;
		}
		if (r->multi && r->used && msg->len > MODEL_BUF - r->used) {
			forget_recv(m, i);
			continue;
		}
		*at = r->used;
		r->used += min_t(size_t, msg->len, MODEL_BUF - r->used);
		if (!r->multi || MODEL_BUF - r->used < MODEL_MIN)
			forget_recv(m, i);
		m->messages++;
		return id;
	}
	return 0;
}

static char model_area[MODEL_BUF];

/* @rx was matched: compare with the model, and complete it. */
static void check_landing(struct model *m, struct kfi_rx *rx, unsigned long id, size_t at)
{
	KUNIT_ASSERT_NOT_NULL(m->test, rx->op);
	KUNIT_ASSERT_EQ(m->test, id, (unsigned long)rx->op->context);
	KUNIT_ASSERT_PTR_EQ(m->test, (void *)model_area + at, rx->buf);
	kfi_rx_complete(rx, 0);
	kfree(rx);
}

/* Was the message passed to the provider? It is not considered again. */
static bool take_held(struct kfi_world *w, const struct kfi_rx *rx)
{
	unsigned int i;

	for (i = 0; i < w->nr_held; i++) {
		if (w->held[i] != rx)
			continue;
		w->held[i] = w->held[--w->nr_held];
		return true;
	}
	return false;
}

/*
 * After a post, the messages have matched that the model expects, and no others. That each takes
 * its receive in the order of arrival shows in where it lands.
 */
static void check_held(struct model *m)
{
	unsigned int i;
	unsigned long id;
	size_t at;

	for (i = 0; i < m->nr_msgs;) {
		struct kfi_rx *rx = m->msgs[i].rx;

		id = model_match(m, &m->msgs[i], &at);
		if (!id) {
			i++;
			continue;
		}
		KUNIT_ASSERT_TRUE(m->test, take_held(m->w, rx));
		check_landing(m, rx, id, at);
		forget_msg(m, i);
	}
	KUNIT_ASSERT_EQ(m->test, 0u, m->w->nr_held);
}

static void step_post(struct model *m)
{
	struct model_recv *r = &m->recvs[m->nr_recvs];
	struct kfi_oper *op;

	if (m->nr_recvs == MODEL_MAX)
		return;
	*r = (struct model_recv) { .id = m->next_id++, .tagged = draw(m, 2), .from = KFI_ADDR_UNSPEC };
	r->multi = !r->tagged && draw(m, 2);
	r->tag = draw(m, 8);
	if (draw(m, 3) == 0)
		r->ignore = draw(m, 8);
	if (draw(m, 4) == 0)
		r->from = m->peers[draw(m, 4)];
	op = kfi_world_recv(m->w, r->tagged ? KFI_TAGGED : KFI_MSG, model_area, MODEL_BUF,
			    (void *)r->id, r->multi ? KFI_MULTI_RECV : 0);
	KUNIT_ASSERT_NOT_NULL(m->test, op);
	op->tag = r->tag;
	op->ignore = r->ignore;
	op->addr = r->from;
	m->nr_recvs++;
	KUNIT_ASSERT_EQ(m->test, 0, kfi_world_post(m->w, op));
	kfi_world_search_end(m->w);
	check_held(m);
}

static void step_arrive(struct model *m)
{
	struct model_msg msg = { .tagged = draw(m, 2), .tag = draw(m, 8), .len = draw(m, 40) };
	bool queue = draw(m, 4) && m->nr_msgs < MODEL_MAX;
	struct kfi_rx *rx = kzalloc(sizeof(*rx), GFP_KERNEL);
	enum kfi_rx_verdict verdict;
	u32 peer = draw(m, 8) ? draw(m, 4) : 4;
	unsigned long id;
	size_t at = 0;

	KUNIT_ASSERT_NOT_NULL(m->test, rx);
	msg.rx = rx;
	msg.src = peer < 4 ? m->peers[peer] : KFI_ADDR_NOTAVAIL;
	rx->flags = msg.tagged ? KFI_TAGGED : KFI_MSG;
	rx->tag = msg.tag;
	rx->len = msg.len;
	rx->name = &m->names[peer];
	id = model_match(m, &msg, &at);
	verdict = kfi_rx_arrive(&m->w->ep, rx, queue);
	if (id) {
		KUNIT_ASSERT_EQ(m->test, (int)KFI_RX_MATCHED, (int)verdict);
		check_landing(m, rx, id, at);
	} else if (queue) {
		KUNIT_ASSERT_EQ(m->test, (int)KFI_RX_QUEUED, (int)verdict);
		m->msgs[m->nr_msgs++] = msg;
	} else {
		KUNIT_ASSERT_EQ(m->test, (int)KFI_RX_NONE, (int)verdict);
		kfree(rx);
	}
}

static void step_cancel(struct model *m)
{
	unsigned int i = draw(m, MODEL_MAX);

	if (i >= m->nr_recvs) {
		KUNIT_ASSERT_EQ(m->test, -ENOENT, kfi_match_cancel(&m->w->ep, (void *)m->next_id));
		return;
	}
	KUNIT_ASSERT_EQ(m->test, 0, kfi_match_cancel(&m->w->ep, (void *)m->recvs[i].id));
	forget_recv(m, i);
}

static void step_unqueue(struct model *m)
{
	unsigned int i = draw(m, MODEL_MAX);

	if (i >= m->nr_msgs)
		return;
	KUNIT_ASSERT_TRUE(m->test, kfi_rx_unqueue(m->msgs[i].rx));
	kfree(m->msgs[i].rx);
	forget_msg(m, i);
}

static void drain(struct model *m)
{
	struct kfi_cq_err_entry wc;

	while (kfi_world_entry(m->w, &wc)) {
		if (wc.flags & KFI_MULTI_RECV)
			m->seen_released++;
		if (wc.err == 0 && wc.flags & (KFI_MSG | KFI_TAGGED))
			m->seen_messages++;
	}
	KUNIT_ASSERT_EQ(m->test, m->messages, m->seen_messages);
	KUNIT_ASSERT_EQ(m->test, m->released, m->seen_released);
}

static void random_sequences(struct kunit *test)
{
	struct model *m = kfi_test_zalloc(test, sizeof(*m));
	u64 seed = get_random_u64();
	unsigned int i;

	kunit_info(test, "seed %llu\n", seed);
	prandom_seed_state(&m->rnd, seed);
	m->test = test;
	m->next_id = 1;
	m->w = kfi_world_open(test, NULL);
	m->w->hold = true;
	m->w->ep.min_multi_recv = MODEL_MIN;
	m->w->ep.match.steps = 2;
	for (i = 0; i < 5; i++)
		m->names[i] = i + 1;
	for (i = 0; i < 4; i++)
		m->peers[i] = kfi_world_peer(m->w, m->names[i]);
	for (i = 0; i < STEPS; i++) {
		u32 what = draw(m, 20);

		if (what < 8)
			step_post(m);
		else if (what < 17)
			step_arrive(m);
		else if (what < 19)
			step_cancel(m);
		else
			step_unqueue(m);
		drain(m);
	}
	KUNIT_EXPECT_GT(test, m->messages, (u64)STEPS / 20);	/* or nothing was tested */
	KUNIT_EXPECT_GT(test, m->released, (u64)STEPS / 100);
	kfi_match_close(&m->w->ep, -ECANCELED);
	for (i = 0; i < m->nr_msgs; i++)
		kfree(m->msgs[i].rx);
	kfi_world_close(m->w);
}

/* ---- several threads ---- */

#define CROWD_POSTS	3000
#define CROWD_TAGS	16

/**
 * struct crowd - what the threads share
 * @rx: messages, each used once
 * @ends: events of each receive
 * @wins: completions without error
 * @landed: messages that matched a receive
 * @lost: messages of @landed that broke off
 */
struct crowd {
	struct kfi_world	*w;
	struct kfi_rx		*rx;
	atomic_t		*ends;
	atomic_t		next_post, next_rx, wins, landed, lost;
};

static void crowd_drain(struct crowd *c)
{
	struct kfi_cq_err_entry wc;

	while (kfi_world_entry(c->w, &wc)) {
		atomic_inc(&c->ends[(unsigned long)wc.op_context]);
		if (!wc.err)
			atomic_inc(&c->wins);
	}
}

/* Posters and senders take turns to lead: some messages come before their receives, some after. */
static void crowd_turn(int id, bool leads_even, const atomic_t *others)
{
	if ((id / 100 % 2 == 0) == leads_even)
		return;
	while (atomic_read(others) <= id)
		crew_turn();
}

static void poster(struct crowd *c, struct rnd_state *rnd)
{
	int id;

	while ((id = atomic_fetch_inc(&c->next_post)) < CROWD_POSTS) {
		u64 tag = prandom_u32_state(rnd) % CROWD_TAGS, ignore = id % 5 ? 0 : 3;

		crowd_turn(id, true, &c->next_rx);
		while (kfi_post_tag(c->w, tag, ignore, (void *)(unsigned long)id))
			kfi_match_cancel(&c->w->ep, (void *)(prandom_u32_state(rnd) % (id + 1ul)));
		if (id % 7 == 0)
			kfi_match_cancel(&c->w->ep, (void *)(prandom_u32_state(rnd) % (id + 1ul)));
		crowd_drain(c);
		crew_dawdle(rnd);
		crew_turn();
	}
}

/* A message has matched: complete it, or abort it as if its sender were lost. */
static void crowd_land(struct crowd *c, struct kfi_rx *rx, int id, struct rnd_state *rnd)
{
	atomic_inc(&c->landed);
	if (prandom_u32_state(rnd) % 4 == 0)
		/* the message has the receive now */
		udelay(prandom_u32_state(rnd) % 10);
	if (id % 13) {
		kfi_rx_complete(rx, 0);
		return;
	}
	atomic_inc(&c->lost);
	kfi_rx_abort(rx, -ECONNRESET);
}

static void sender(struct crowd *c, struct rnd_state *rnd)
{
	int id;

	while ((id = atomic_fetch_inc(&c->next_rx)) < CROWD_POSTS) {
		struct kfi_rx *rx = &c->rx[id];

		crowd_turn(id, false, &c->next_post);
		rx->flags = KFI_TAGGED;
		rx->tag = prandom_u32_state(rnd) % CROWD_TAGS;
		rx->src = KFI_ADDR_NOTAVAIL;
		local_bh_disable();
		if (kfi_rx_arrive(&c->w->ep, rx, true) == KFI_RX_MATCHED)
			crowd_land(c, rx, id, rnd);
		else if (id % 11 == 0)
			kfi_rx_unqueue(rx);
		local_bh_enable();
		crew_dawdle(rnd);
		crew_turn();
	}
}

static void crowd_role(void *arg, unsigned int id, struct rnd_state *rnd)
{
	if (id / 2 % 2)		/* both roles on both CPUs */
		sender(arg, rnd);
	else
		poster(arg, rnd);
}

/* @steps: as &kfi_match.steps, 0 for the default. Return: the number of messages that met a receive */
static int crowd_run(struct kunit *test, unsigned int steps)
{
	struct crowd *c = kfi_test_zalloc(test, sizeof(*c));
	int i, landed;

	c->w = kfi_world_open(test, NULL);
	if (steps)
		c->w->ep.match.steps = steps;
	c->rx = kvcalloc(CROWD_POSTS, sizeof(*c->rx), GFP_KERNEL);
	c->ends = kvcalloc(CROWD_POSTS, sizeof(*c->ends), GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, c->rx && c->ends);
	crew_run(test, 4, crowd_role, c);
	kfi_match_close(&c->w->ep, -ECANCELED);
	crowd_drain(c);
	for (i = 0; i < CROWD_POSTS; i++)
		KUNIT_ASSERT_EQ_MSG(test, 1, atomic_read(&c->ends[i]), "receive %d", i);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->wins) + atomic_read(&c->lost),
			atomic_read(&c->landed) + atomic_read(&c->w->matched));
	KUNIT_EXPECT_GT(test, atomic_read(&c->w->matched), 100);
	KUNIT_EXPECT_GE(test, atomic_read(&c->lost), atomic_read(&c->landed) / 100);
	landed = atomic_read(&c->landed);
	kfi_world_close(c->w);
	kvfree(c->ends);
	kvfree(c->rx);
	return landed;
}

static void each_receive_ends_once(struct kunit *test)
{
	KUNIT_EXPECT_GT(test, crowd_run(test, 0), 100);
}

/* Nearly every receive searches: few messages meet a receive that was posted before. */
static void each_search_ends_once(struct kunit *test)
{
	crowd_run(test, 1);
}

KFI_SUITE(kfi_match_model,
	KUNIT_CASE_SLOW(random_sequences),
	KUNIT_CASE_SLOW(each_receive_ends_once),
	KUNIT_CASE_SLOW(each_search_ends_once));
