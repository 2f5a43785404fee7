/* SPDX-License-Identifier: GPL-2.0 */
/*
 * crew.h - several threads, on all CPUs, use one object. Each has its own random numbers, which
 * follow from one seed that is printed.
 */
#ifndef _KFI_KUNIT_CREW_H
#define _KFI_KUNIT_CREW_H

#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/prandom.h>
#include "suite.h"

#define CREW_MAX	8

/**
 * typedef crew_fn - function of the threads
 * @arg: shared; the function must not use assertions, because it does not run in the thread of the
 *	test
 * @id: number of the thread, from 0
 * @rnd: random numbers of this thread
 */
typedef void (*crew_fn)(void *arg, unsigned int id, struct rnd_state *rnd);

/* Run @threads threads and wait until all have returned. */
void crew_run(struct kunit *test, unsigned int threads, crew_fn fn, void *arg);
/*
 * Wait at random between two steps, not at all, in a loop, or while another thread runs. For
 * windows of races.
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
