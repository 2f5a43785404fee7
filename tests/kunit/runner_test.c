// SPDX-License-Identifier: GPL-2.0
/*
 * Runners (kfi_runner.h): one context at a time has the claim, and no note gets lost.
 */
#include <kfi_runner.h>
#include "crew.h"

#define RACERS	2	/* as many as CPUs, so that none waits for its turn */

/**
 * struct job - an object with a runner
 * @r: its runner
 * @handed: work that was handed over
 * @taken: work that a runner has seen
 * @passes: of the runners; only a runner changes it
 * @made: the same, counted by an atomic operation
 * @inside: contexts that have the claim
 * @clashes: times that there were two
 * @at: times that racers have come to meet()
 * @rounds: of the race
 * @lost: rounds after which something was left
 */
struct job {
	struct kfi_runner	r;
	atomic_t		handed;
	int			taken;
	int			passes;
	atomic_t		made;
	atomic_t		inside;
	atomic_t		clashes;
	atomic_t		at;
	unsigned int		rounds;
	unsigned int		lost;
};

static void runner_claimed(struct kunit *test)
{
	struct kfi_runner r;

	kfi_runner_init(&r);
	KUNIT_EXPECT_TRUE(test, kfi_runner_claim(&r));
	KUNIT_EXPECT_FALSE(test, kfi_runner_claim(&r));		/* no note */
	KUNIT_EXPECT_TRUE(test, kfi_runner_leave(&r, 0));
	KUNIT_EXPECT_TRUE(test, kfi_runner_enter(&r));
	KUNIT_EXPECT_FALSE(test, kfi_runner_claim(&r));
	KUNIT_EXPECT_FALSE(test, kfi_runner_enter(&r));
	KUNIT_EXPECT_EQ(test, 1, kfi_runner_drop(&r));
	KUNIT_EXPECT_TRUE(test, kfi_runner_idle(&r));
}

static void pass(struct job *j)
{
	if (atomic_inc_return(&j->inside) != 1)
		atomic_inc(&j->clashes);
	j->taken = atomic_read(&j->handed);
	j->passes++;
	atomic_inc(&j->made);
	atomic_dec(&j->inside);
}

/* Give up the claim after each pass; if there was a note, try to get it again. */
static void run_dropping(struct job *j)
{
	long notes;

	do {
		notes = kfi_runner_begin(&j->r);
		pass(j);
	} while (kfi_runner_drop(&j->r) != notes && kfi_runner_enter(&j->r));
}

static void run(struct job *j)
{
	long notes;

	do {
		notes = kfi_runner_begin(&j->r);
		pass(j);
	} while (!kfi_runner_leave(&j->r, notes));
}

/* Wait until all racers have come here for the @n-th time. */
static void meet(struct job *j, int n)
{
	atomic_inc(&j->at);
	while (atomic_read(&j->at) < n * RACERS)
		crew_turn();
}

static void race(void *arg, unsigned int id, struct rnd_state *rnd)
{
	struct job *j = arg;
	unsigned int i, spin;

	for (i = 0; i < j->rounds; i++) {
		meet(j, 2 * i + 1);
		for (spin = prandom_u32_state(rnd) % 64; spin; spin--)
			cpu_relax();
		atomic_inc(&j->handed);
		if (kfi_runner_enter(&j->r)) {
			if (id && i % 2)
				run_dropping(j);
			else
				run(j);
		}
		meet(j, 2 * i + 2);
		if (!id && (!kfi_runner_idle(&j->r) || j->taken != atomic_read(&j->handed)))
			j->lost++;
	}
}

/* Each round, two contexts hand something over. When both have returned, everything was taken. */
static void runner_race(struct kunit *test)
{
	struct job *j = kfi_test_zalloc(test, sizeof(*j));

	kfi_runner_init(&j->r);
	j->rounds = num_online_cpus() > 1 ? 50000 : 300;
	crew_run(test, RACERS, race, j);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&j->clashes));
	KUNIT_EXPECT_EQ(test, 0, j->lost);
	KUNIT_EXPECT_EQ(test, j->passes, atomic_read(&j->made));
}

KFI_SUITE(kfi_runner,
	KUNIT_CASE(runner_claimed),
	KUNIT_CASE_SLOW(runner_race));
