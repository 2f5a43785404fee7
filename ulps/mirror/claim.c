// SPDX-License-Identifier: GPL-2.0
/*
 * claim.c - which context uses the members of a mirror that have no lock.
 *
 * A context that has set KFM_CLAIMED uses them. Nobody waits for the claim: a context that does not
 * get it leaves a note, and the context that has it acts on the note after it has given up the
 * claim. A note is lost in none of these cases:
 *
 * What was handed over, and the note KFM_LOOK. The context that leaves the note stores what it
 * hands over, and then sets the note. The context with the claim clears the note, and then loads
 * what was handed over. Both have a full barrier between their two steps. So either the load sees
 * the store, or the note is set after it was cleared.
 *
 * A note, and the claim. The context that leaves the note sets it and then tries to claim. The
 * context that gives up the claim clears KFM_CLAIMED and then tests the notes. Both have a full
 * barrier between the two steps. So either the first one gets the claim, or the second one sees the
 * note. The worker leaves KFM_WORK in the same way.
 *
 * The two completions that a write waits for (leg_end_io() and written()). Each clears its flag,
 * and then looks whether the other flag is clear: leg_end_io() at once, after smp_mb(); written()
 * by kfm_look(), after the full barrier of its note. So one of them at least sees both flags clear.
 *
 * test_and_set_bit() and test_and_clear_bit() are full barriers whatever they return.
 */
#include "mirror.h"

#define LOOK_PASSES	4	/* of kfm_look(), before the worker has to go on */

static void unclaim(struct kfm *m)
{
	clear_bit_unlock(KFM_CLAIMED, &m->claim);
	smp_mb__after_atomic();		/* clear the claim before testing the notes */
	if (test_bit(KFM_WORK, &m->claim) && test_and_clear_bit(KFM_WORK, &m->claim))
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
		test_and_set_bit(KFM_WORK, &m->claim);	/* note before the attempt to claim */
		if (test_and_set_bit(KFM_CLAIMED, &m->claim))
			return false;
		clear_bit(KFM_WORK, &m->claim);
	}
	test_and_clear_bit(KFM_LOOK, &m->claim);	/* before what was handed over is loaded */
	return true;
}

/* The worker gives up the claim. It is queued again if something was handed over meanwhile. */
void kfm_unclaim_work(struct kfm *m)
{
	unclaim(m);
	if (test_bit(KFM_LOOK, &m->claim))
		kfm_kick(m);
}

/**
 * kfm_look() - have the writes advanced by this context, or by the one that has claimed the mirror
 * @m: mirror
 * @legs: see kfm_writes_look(); the caller submits these bios after its RCU section
 *
 * The worker goes on where this context has done its part, so that bottom halves are not off for
 * long: the notes of other contexts never stop while they write.
 *
 * Context: process or softirq, interrupts on; under RCU unless the mirror can't go.
 */
void kfm_look(struct kfm *m, struct bio_list *legs)
{
	unsigned int passes = 0;
	bool worker = false;

	/* after what was handed over, before the attempt to claim */
	test_and_set_bit(KFM_LOOK, &m->claim);
	local_bh_disable();		/* a softirq here would not get the claim */
	while (!worker && test_bit(KFM_LOOK, &m->claim) &&
	       !test_and_set_bit(KFM_CLAIMED, &m->claim)) {
		/* before what was handed over is loaded */
		test_and_clear_bit(KFM_LOOK, &m->claim);
		worker = kfm_writes_look(m, legs) || ++passes == LOOK_PASSES;
		unclaim(m);
		if (worker)
			kfm_kick(m);
	}
	local_bh_enable();
}
