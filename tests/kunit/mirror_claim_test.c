// SPDX-License-Identifier: GPL-2.0
/*
 * The claim of a mirror: one context at a time has it, and what others hand over meanwhile is done,
 * by that context or by the worker. claim.c is compiled into this file with the writes replaced.
 */
#include <linux/atomic.h>
#include "crew.h"

/* mirror_world.c has functions of the same names; mirror.h declares these instead. */
#define kfm_kick		cl_kick
#define kfm_writes_run_atomic	cl_writes_run_atomic
#define kfm_run_atomic		cl_run_atomic
#define kfm_claim_work		cl_claim_work
#define kfm_unclaim_work	cl_unclaim_work

#include "../../ulps/mirror/mirror.h"
#include "../../ulps/mirror/claim.c"

#define RACERS	2	/* as many as CPUs, so that none waits for its turn */

/**
 * struct cl - a mirror that has nothing but its claim
 * @m: the mirror
 * @handed: things that were handed over
 * @taken: how many of them a context with the claim has seen
 * @inside: contexts that have the claim
 * @clashes: times that there were two
 * @kicks: times that the worker was queued
 * @passes: of kfm_run_atomic()
 * @leave: kfm_writes_run_atomic() leaves something to the worker
 * @during: called in each pass, or NULL
 * @at: times that racers have come to meet()
 * @rounds: of the race
 * @lost: rounds after which something was left to nobody
 */
struct cl {
	struct kfm	m;
	atomic_t	handed;
	int		taken;
	atomic_t	inside;
	atomic_t	clashes;
	atomic_t	kicks;
	unsigned int	passes;
	bool		leave;
	void		(*during)(struct cl *c);
	atomic_t	at;
	unsigned int	rounds;
	unsigned int	lost;
};

static struct cl *cl_of(struct kfm *m)
{
	return container_of(m, struct cl, m);
}

void cl_kick(struct kfm *m)
{
	atomic_inc(&cl_of(m)->kicks);
}

/* With the claim: take what there is. */
static void take(struct cl *c)
{
	if (atomic_inc_return(&c->inside) != 1)
		atomic_inc(&c->clashes);
	c->taken = atomic_read(&c->handed);
	if (c->during)
		c->during(c);
	atomic_dec(&c->inside);
}

bool cl_writes_run_atomic(struct kfm *m, struct bio_list *legs)
{
	cl_of(m)->passes++;
	take(cl_of(m));
	return cl_of(m)->leave;
}

static void work(struct cl *c)
{
	atomic_set(&c->kicks, 0);
	smp_mb();	/* as when a work item begins: what was stored before the kick is seen */
	if (!kfm_claim_work(&c->m))
		return;
	take(c);
	kfm_unclaim_work(&c->m);
}

static void hand_over(struct cl *c)
{
	atomic_inc(&c->handed);
	kfm_run_atomic(&c->m, NULL);
}

static struct cl *cl_make(struct kunit *test)
{
	struct cl *c = kvzalloc(sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, c);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, (void (*)(void *))kvfree, c), 0);
	return c;
}

static void claim_alone(struct kunit *test)
{
	struct cl *c = cl_make(test);

	hand_over(c);
	KUNIT_EXPECT_EQ(test, c->passes, 1);
	KUNIT_EXPECT_EQ(test, c->taken, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->kicks), 0);
	KUNIT_EXPECT_EQ(test, c->m.claim, 0);
	c->leave = true;
	hand_over(c);
	KUNIT_EXPECT_EQ(test, c->passes, 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->kicks), 1);
	work(c);
	KUNIT_EXPECT_EQ(test, c->passes, 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->kicks), 0);
	KUNIT_EXPECT_EQ(test, c->m.claim, 0);
}

static void hand_over_once(struct cl *c)
{
	c->during = NULL;
	hand_over(c);
}

/* What comes while another context has the claim is seen by its next pass. */
static void claim_noted(struct kunit *test)
{
	struct cl *c = cl_make(test);

	c->during = hand_over_once;
	hand_over(c);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->clashes), 0);
	KUNIT_EXPECT_EQ(test, c->taken, 2);
	KUNIT_EXPECT_EQ(test, c->passes, 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->kicks), 0);
}

/* What comes while the worker runs is left to its next run. */
static void claim_worker(struct kunit *test)
{
	struct cl *c = cl_make(test);

	c->during = hand_over_once;
	work(c);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->clashes), 0);
	KUNIT_EXPECT_EQ(test, c->passes, 0);
	KUNIT_EXPECT_EQ(test, c->taken, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->kicks), 1);
	work(c);
	KUNIT_EXPECT_EQ(test, c->taken, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->kicks), 0);
}

static void work_once(struct cl *c)
{
	c->during = NULL;
	work(c);
}

/* A worker that does not get the claim is queued again. */
static void claim_worker_waits(struct kunit *test)
{
	struct cl *c = cl_make(test);

	c->during = work_once;
	hand_over(c);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->clashes), 0);
	KUNIT_EXPECT_EQ(test, c->passes, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->kicks), 1);
	work(c);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->kicks), 0);
	KUNIT_EXPECT_EQ(test, c->m.claim, 0);
}

/* A context makes a few passes only, even if others hand over without end. */
static void claim_bounded(struct kunit *test)
{
	struct cl *c = cl_make(test);

	c->during = hand_over;
	hand_over(c);
	KUNIT_EXPECT_EQ(test, c->passes, 4);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->kicks), 1);
	c->during = NULL;
	work(c);
	KUNIT_EXPECT_EQ(test, c->taken, atomic_read(&c->handed));
	KUNIT_EXPECT_EQ(test, atomic_read(&c->kicks), 0);
}

/* Wait until all racers have come here for the @n-th time. */
static void meet(struct cl *c, int n)
{
	atomic_inc(&c->at);
	while (atomic_read(&c->at) < n * RACERS)
		crew_turn();
}

/*
 * Each round, one context hands something over while another one does, too, or is the worker. When
 * both have returned, everything was taken and no note is left, or the worker is queued.
 */
static void race(void *arg, unsigned int id, struct rnd_state *rnd)
{
	struct cl *c = arg;
	unsigned int i, spin;

	for (i = 0; i < c->rounds; i++) {
		meet(c, 2 * i + 1);
		for (spin = prandom_u32_state(rnd) % 64; spin; spin--)
			cpu_relax();
		if (id && i % 2)
			work(c);
		else
			hand_over(c);
		meet(c, 2 * i + 2);
		if (id)
			continue;
		if (c->m.claim & BIT(KFM_CLAIMED) ||
		    (!atomic_read(&c->kicks) &&
		     (c->m.claim || c->taken != atomic_read(&c->handed))))
			c->lost++;
		c->m.claim = 0;
		work(c);
	}
}

static void claim_race(struct kunit *test)
{
	struct cl *c = cl_make(test);

	c->rounds = num_online_cpus() > 1 ? 50000 : 300;
	crew_run(test, RACERS, race, c);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->clashes), 0);
	KUNIT_EXPECT_EQ(test, c->lost, 0);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(claim_alone),
	KUNIT_CASE(claim_noted),
	KUNIT_CASE(claim_worker),
	KUNIT_CASE(claim_worker_waits),
	KUNIT_CASE(claim_bounded),
	KUNIT_CASE_SLOW(claim_race),
	{}
};

static struct kunit_suite suite = {
	.name = "kfi_mirror_claim",
	.test_cases = cases,
};
kunit_test_suites(&suite);
