// SPDX-License-Identifier: GPL-2.0
/*
 * Threads of a case.
 */
#include <linux/err.h>
#include <linux/kthread.h>
#include "harness.h"

static int worker_thread(void *data)
{
	struct worker *w = data;

	w->ret = w->fn(w->arg);
	complete(&w->ended);
	/* Stay until joined, so that no thread is left in the module's text. */
	for (;;) {
		set_current_state(TASK_IDLE);
		if (kthread_should_stop())
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

int worker_start(struct test *t, struct worker *w, int cpu, int (*fn)(void *arg), void *arg)
{
	w->t = t;
	w->fn = fn;
	w->arg = arg;
	init_completion(&w->ended);
	w->task = kthread_create(worker_thread, w, "kfi_conformance");
	if (IS_ERR(w->task)) {
		FAIL(t, "no thread: %ld", PTR_ERR(w->task));
		return PTR_ERR(w->task);
	}
	if (cpu >= 0)
		kthread_bind(w->task, cpu);
	spin_lock_bh(&t->lock);
	list_add(&w->link, &t->workers);
	spin_unlock_bh(&t->lock);
	wake_up_process(w->task);
	return 0;
}

int worker_join(struct worker *w, unsigned int ms)
{
	if (!wait_for_completion_timeout(&w->ended, msecs_to_jiffies(ms))) {
		FAIL(w->t, "a thread did not end within %u ms", ms);
		wait_for_completion(&w->ended);
	}
	kthread_stop(w->task);
	spin_lock_bh(&w->t->lock);
	list_del(&w->link);
	spin_unlock_bh(&w->t->lock);
	return w->ret;
}

void worker_join_all(struct test *t)
{
	struct worker *w;

	while ((w = list_first_entry_or_null(&t->workers, struct worker, link))) {
		FAIL(t, "the case returned while a worker was running");
		worker_join(w, t->w->wait_ms);
	}
}
