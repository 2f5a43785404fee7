// SPDX-License-Identifier: GPL-2.0
/*
 * The claim of a mirror: one context at a time has it, and what others hand over meanwhile is done,
 * by that context or by the worker. claim.c is compiled into this file with the writes replaced.
 */
#include <linux/mm.h>
#include "suite.h"

/* mirror_world.c has functions of the same names; mirror.h declares these instead. */
#define kfm_kick		cl_kick
#define kfm_writes_run_atomic	cl_writes_run_atomic
#define kfm_run_atomic		cl_run_atomic
#define kfm_claim_work		cl_claim_work
#define kfm_unclaim_work	cl_unclaim_work

#include "../../ulps/mirror/mirror.h"
#include "../../ulps/mirror/claim.c"

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
 * @at_once: the worker runs as soon as it is queued
 */
struct cl {
	struct kfm	m;
	int		handed;
	int		taken;
	int		inside;
	int		clashes;
	int		kicks;
	unsigned int	passes;
	bool		leave;
	void		(*during)(struct cl *c);
	bool		at_once;
};

static struct cl *cl_of(struct kfm *m)
{
	return container_of(m, struct cl, m);
}

/* With the claim: take what there is. */
static void take(struct cl *c)
{
	c->clashes += c->inside++;
	c->taken = c->handed;
	if (c->during)
		c->during(c);
	c->inside--;
}

bool cl_writes_run_atomic(struct kfm *m, struct bio_list *legs)
{
	cl_of(m)->passes++;
	take(cl_of(m));
	return cl_of(m)->leave;
}

static void work(struct cl *c)
{
	c->kicks = 0;
	if (!kfm_claim_work(&c->m))
		return;
	take(c);
	kfm_unclaim_work(&c->m);
}

void cl_kick(struct kfm *m)
{
	struct cl *c = cl_of(m);

	c->kicks++;
	if (c->at_once)
		work(c);
}

static void hand_over(struct cl *c)
{
	c->handed++;
	kfm_run_atomic(&c->m, NULL);
}

static struct cl *cl_make(struct kunit *test)
{
	struct cl *c = kfi_test_zalloc(test, sizeof(*c));

	kfi_runner_init(&c->m.runner);
	return c;
}

static void hand_over_once(struct cl *c)
{
	c->during = NULL;
	hand_over(c);
}

/* The worker is queued when it can get the claim. */
static void claim_kicked(struct kunit *test)
{
	struct cl *c = cl_make(test);

	c->at_once = true;
	c->leave = true;
	hand_over(c);
	KUNIT_EXPECT_EQ(test, c->kicks, 0);
	KUNIT_EXPECT_FALSE(test, c->m.worker_due);	/* it has run */
	c->during = hand_over_once;
	work(c);
	KUNIT_EXPECT_EQ(test, c->taken, c->handed);
	KUNIT_EXPECT_EQ(test, c->kicks, 0);
	KUNIT_EXPECT_EQ(test, c->clashes, 0);
	KUNIT_EXPECT_TRUE(test, kfi_runner_idle(&c->m.runner));
}

KFI_SUITE(kfi_mirror_claim,
	KUNIT_CASE(claim_kicked));
