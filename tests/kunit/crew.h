/* SPDX-License-Identifier: GPL-2.0 */
/*
 * crew.h - several threads at one object, on all CPUs, each with random numbers of its own that
 * follow from one printed seed.
 */
#ifndef _KFI_KUNIT_CREW_H
#define _KFI_KUNIT_CREW_H

#include <kunit/test.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/prandom.h>

#define CREW_MAX	8

/**
 * typedef crew_fn - what one of them does
 * @arg: shared; it may not fail assertions, for it is not the test's thread
 * @id: from 0
 * @rnd: its own
 */
typedef void (*crew_fn)(void *arg, unsigned int id, struct rnd_state *rnd);

/* Run @hands threads to their ends. */
void crew_run(struct kunit *test, unsigned int hands, crew_fn fn, void *arg);
/*
 * A random while between two steps: none, a spin, or another thread's turn. Where races are to be
 * wide open.
 */
void crew_dawdle(struct rnd_state *rnd);

/* Let another thread run. On one CPU cond_resched() does so only when the time slice is over. */
static inline void crew_turn(void)
{
	if (num_online_cpus() > 1)
		cond_resched();
	else
		usleep_range(1, 2);
}

#endif /* _KFI_KUNIT_CREW_H */
