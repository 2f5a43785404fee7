// SPDX-License-Identifier: GPL-2.0
/* crew.c - threads of tests, see crew.h. */
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/random.h>
#include <linux/sched/task.h>
#include "crew.h"

/**
 * struct crew - threads at work
 * @start: completed when all exist, so that they begin together
 */
struct crew {
	crew_fn			fn;
	void			*arg;
	struct completion	start;
	struct thread {
		struct crew		*crew;
		unsigned int		id;
		struct rnd_state	rnd;
		struct task_struct	*task;
		struct completion	done;
	} threads[CREW_MAX];
};

static int thread_main(void *arg)
{
	struct thread *h = arg;

	wait_for_completion(&h->crew->start);
	h->crew->fn(h->crew->arg, h->id, &h->rnd);
	complete(&h->done);
	return 0;
}

static int thread_start(struct crew *c, unsigned int id, u64 seed)
{
	struct thread *h = &c->threads[id];
	struct task_struct *task;

	h->crew = c;
	h->id = id;
	prandom_seed_state(&h->rnd, seed + id);
	init_completion(&h->done);
	task = kthread_create(thread_main, h, "kfi_crew/%u", id);
	if (IS_ERR(task))
		return PTR_ERR(task);
	kthread_bind(task, cpumask_nth(id % num_online_cpus(), cpu_online_mask));
	h->task = get_task_struct(task);
	wake_up_process(task);
	return 0;
}

void crew_run(struct kunit *test, unsigned int threads, crew_fn fn, void *arg)
{
	struct crew *c = kfi_test_zalloc(test, sizeof(*c));
	u64 seed = get_random_u64();
	unsigned int i, started;
	int ret = 0;

	KUNIT_ASSERT_LE(test, threads, CREW_MAX);
	kunit_info(test, "seed %llu\n", seed);
	c->fn = fn;
	c->arg = arg;
	init_completion(&c->start);
	for (started = 0; started < threads && !ret; started++)
		ret = thread_start(c, started, seed);
	started -= !!ret;
	complete_all(&c->start);
	for (i = 0; i < started; i++) {
		wait_for_completion(&c->threads[i].done);
		/* the thread runs code of this module until it has exited */
		kthread_stop_put(c->threads[i].task);
	}
	KUNIT_ASSERT_EQ(test, 0, ret);
}

void crew_dawdle(struct rnd_state *rnd)
{
	switch (prandom_u32_state(rnd) % 16) {
	case 0:
		crew_turn();
		break;
	case 1:
		udelay(1 + prandom_u32_state(rnd) % 20);
		break;
	case 2 ... 5:
		cpu_relax();
		break;
	}
}
