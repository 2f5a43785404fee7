// SPDX-License-Identifier: GPL-2.0
/*
 * claim.c - which context uses the members of a mirror that have no lock.
 *
 * A context that has set KFM_CLAIMED uses them. Nobody waits for the claim: a context that does not
 * get it leaves a note, and the context that has it acts on the note after it has given up the
 * claim. A note is lost in none of these cases:
 *
 * What was handed over, and the note KFM_HANDED_OVER. The context that leaves the note stores what
 * it hands over, and then sets the note. The context with the claim clears the note, and then loads
 * what was handed over. Both have a full barrier between their two steps. So either the load sees
 * the store, or the note is set after it was cleared.
 *
 * A note, and the claim. The context that leaves the note sets it and then tries to claim. The
 * context that gives up the claim clears KFM_CLAIMED and then tests the notes. Both have a full
 * barrier between the two steps. So either the first one gets the claim, or the second one sees the
 * note. The worker leaves KFM_WORKER_DUE in the same way.
 *
 * The two completions that a write waits for (leg_end_io(), and record_done() in record.c). Each
 * clears its own flag and then reads the other one: leg_end_io() after smp_mb(), record_done() in
 * kfm_run_atomic(), after the full barrier of its note. So at least one of them finds both flags
 * clear.
 *
 * test_and_set_bit() and test_and_clear_bit() are full barriers whatever they return.
 */
#include "mirror.h"

#define CLAIM_PASSES	4	/* of kfm_run_atomic(), before the worker has to continue */

static void unclaim(struct kfm *m)
{
	clear_bit_unlock(KFM_CLAIMED, &m->claim);
	smp_mb__after_atomic();		/* clear the claim before testing the notes */
	if (test_bit(KFM_WORKER_DUE, &m->claim) && test_and_clear_bit(KFM_WORKER_DUE, &m->claim))
		kfm_kick(m);
}

/**
 * kfm_claim_work() - claim the mirror for the worker
 * @m: mirror
 *
 * Return: whether it is claimed. If not, the context that has claimed it queues the worker again.
 */
bool kfm_claim_work(struct kfm *m)
{
	if (test_and_set_bit(KFM_CLAIMED, &m->claim)) {
		/* the note, before the attempt to claim */
		test_and_set_bit(KFM_WORKER_DUE, &m->claim);
		if (test_and_set_bit(KFM_CLAIMED, &m->claim))
			return false;
		clear_bit(KFM_WORKER_DUE, &m->claim);
	}
	test_and_clear_bit(KFM_HANDED_OVER, &m->claim);	/* before what was handed over is loaded */
	return true;
}

/* The worker gives up the claim. It is queued again if something was handed over meanwhile. */
void kfm_unclaim_work(struct kfm *m)
{
	unclaim(m);
	if (test_bit(KFM_HANDED_OVER, &m->claim))
		kfm_kick(m);
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
	bool worker = false;

	/* after what was handed over, before the attempt to claim */
	test_and_set_bit(KFM_HANDED_OVER, &m->claim);
	local_bh_disable();		/* a softirq here would not get the claim */
	while (!worker && test_bit(KFM_HANDED_OVER, &m->claim) &&
	       !test_and_set_bit(KFM_CLAIMED, &m->claim)) {
		/* before what was handed over is loaded */
		test_and_clear_bit(KFM_HANDED_OVER, &m->claim);
		worker = kfm_writes_run_atomic(m, legs) || ++passes == CLAIM_PASSES;
		unclaim(m);
		if (worker)
			kfm_kick(m);
	}
	local_bh_enable();
}
