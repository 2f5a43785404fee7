// SPDX-License-Identifier: GPL-2.0
/*
 * claim.c - which context uses the members of a mirror that have no lock.
 *
 * The runner of kfm.runner uses them (kfi_runner.h has the barriers). A context that hands
 * something over and does not get the claim leaves a note.
 *
 * The worker is a runner that can do everything, and may sleep. If it does not get the claim, it
 * has set kfm.worker_due before its note. The pass that acts on the note finds that, and queues the
 * worker again. Every runner queues the worker only after it has given up the claim, so the worker
 * gets the claim, or leaves a note for a later runner.
 *
 * The two completions that a write waits for (leg_end_io(), and record_done() in record.c). Each
 * clears its own flag and then reads the other one: leg_end_io() after smp_mb(), record_done() in
 * kfm_run_atomic(), after the full barrier of kfi_runner_enter(). So at least one of them finds
 * both flags clear.
 */
#include "mirror.h"
#include "run.h"

#define CLAIM_PASSES	4	/* of kfm_run_atomic(), before the worker has to continue */

/**
 * kfm_claim_work() - claim the mirror for the worker
 * @m: mirror
 *
 * Return: whether it is claimed. If not, the context that has claimed it queues the worker again.
 */
bool kfm_claim_work(struct kfm *m)
{
	WRITE_ONCE(m->worker_due, true);
	if (!kfi_runner_enter(&m->runner))
		return false;
	WRITE_ONCE(m->worker_due, false);
	m->worker_notes = kfi_runner_begin(&m->runner);
	return true;
}

/* The worker gives up the claim. It is queued again if something was handed over meanwhile. */
void kfm_unclaim_work(struct kfm *m)
{
	if (kfi_runner_drop(&m->runner) != m->worker_notes)
		kfm_kick(m);
}

/* One pass. Return: whether the worker has to continue. */
static bool run_pass(struct kfm *m, struct bio_list *legs)
{
	if (!READ_ONCE(m->worker_due))
		return kfm_writes_run_atomic(m, legs);
	WRITE_ONCE(m->worker_due, false);
	return true;
}

/**
 * kfm_run_atomic() - advance the writes here, or in the context that has claimed the mirror
 * @m: mirror
 * @legs: see kfm_writes_run_atomic(); the caller submits these bios after its RCU section
 *
 * Bottom halves are off here, and contexts that write leave new notes all the time. So this
 * function makes CLAIM_PASSES passes at most, and then the worker continues.
 *
 * Context: process or softirq, interrupts on; under RCU unless the mirror can't go.
 */
void kfm_run_atomic(struct kfm *m, struct bio_list *legs)
{
	unsigned int passes = 0;
	bool runner;
	long notes;

	local_bh_disable();		/* a softirq here would not get the claim */
	for (runner = kfi_runner_enter(&m->runner); runner;
	     runner = !kfi_runner_leave(&m->runner, notes)) {
		notes = kfi_runner_begin(&m->runner);
		if (run_pass(m, legs) || ++passes == CLAIM_PASSES) {
			kfi_runner_drop(&m->runner);
			kfm_kick(m);
			break;
		}
	}
	local_bh_enable();
}
