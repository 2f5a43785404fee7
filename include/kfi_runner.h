/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfi_runner.h - one context at a time does the work of an object; the others leave a note.
 *
 * Several contexts have work for an object and none waits for another. The context that gets the
 * claim of the object is its runner. A context that does not get the claim leaves a note, and the
 * runner makes another pass. kfi_runner.notes is the whole state:
 *
 *	-1	no context has the claim
 *	n	a context has the claim, and n notes were left since it got the claim
 *
 * A context with work stores the work where the runner finds it, and then:
 *
 *	if (!kfi_runner_enter(r))
 *		return;
 *	do {
 *		notes = kfi_runner_begin(r);
 *		do all the work that there is
 *	} while (!kfi_runner_leave(r, notes));
 *
 * kfi_runner_leave() succeeds only if the number of notes has not changed since kfi_runner_begin().
 * All calls act on this one word, so there is one order of all of them, and no note gets lost: it
 * is left before kfi_runner_begin(), and the pass does the work; or between kfi_runner_begin() and
 * kfi_runner_leave(), which fails; or after that, and then it is no note but the claim.
 *
 * Barriers:
 *
 * - Work. kfi_runner_enter() is a release, and kfi_runner_begin() an acquire. So a pass sees
 *   everything that was stored before the notes that its kfi_runner_begin() has counted.
 * - Members that only the runner uses. kfi_runner_leave() and kfi_runner_drop() are releases;
 *   kfi_runner_enter() and kfi_runner_claim() are acquires if they return true. So a runner sees
 *   what the previous runner has stored.
 * - kfi_runner_enter() and kfi_runner_drop() are full barriers whatever they return. A caller may
 *   rely on that for other members.
 *
 * The claim belongs to no context in particular: the runner may pass it on, for example to a work
 * item, by any means that orders memory. tests/model/runner.pml is the model.
 */
#ifndef _KFI_RUNNER_H
#define _KFI_RUNNER_H

#include <linux/atomic.h>
#include <linux/types.h>

/**
 * struct kfi_runner - the claim of an object, and the notes for the context that has it
 * @notes: see the beginning of this file. It has at least as many bits as a pointer. Where these
 *	are 32, 2^31 notes in one pass would be too many
 */
struct kfi_runner {
	atomic_long_t	notes;
};

/**
 * kfi_runner_init() - initialize a runner that no context has claimed
 * @r: runner
 *
 * Context: any; before all other calls.
 */
static inline void kfi_runner_init(struct kfi_runner *r)
{
	atomic_long_set(&r->notes, -1);
}

/**
 * kfi_runner_enter() - get the claim, or leave a note
 * @r: runner
 *
 * Called after the work was stored. A full barrier.
 * Context: any.
 * Return: whether the caller has the claim now. If so, it calls kfi_runner_begin(), or passes the
 * claim to a context that does.
 */
static inline bool kfi_runner_enter(struct kfi_runner *r)
{
	return atomic_long_inc_and_test(&r->notes);
}

/**
 * kfi_runner_claim() - get the claim, but leave no note
 * @r: runner
 *
 * For a context that need not run if another one does. An acquire if it returns true.
 * Context: any.
 * Return: whether the caller has the claim now.
 */
static inline bool kfi_runner_claim(struct kfi_runner *r)
{
	long idle = -1;

	return atomic_long_try_cmpxchg_acquire(&r->notes, &idle, 0);
}

/**
 * kfi_runner_begin() - begin a pass
 * @r: runner
 *
 * Called before the pass looks for work. An acquire.
 * Context: any, with the claim.
 * Return: the number of notes that the pass acts upon, for kfi_runner_leave().
 */
static inline long kfi_runner_begin(const struct kfi_runner *r)
{
	return atomic_long_read_acquire(&r->notes);
}

/**
 * kfi_runner_leave() - give up the claim, unless there are new notes
 * @r: runner
 * @notes: what kfi_runner_begin() of this pass has returned
 *
 * Called after the pass has done all the work that it has found. A release if it returns true.
 * Context: any, with the claim.
 * Return: true: the claim is given up, and the object may be freed. false: the caller still has the
 * claim, and a pass has to follow.
 */
static inline bool kfi_runner_leave(struct kfi_runner *r, long notes)
{
	return atomic_long_try_cmpxchg_release(&r->notes, &notes, -1);
}

/**
 * kfi_runner_drop() - give up the claim, even if there are new notes
 * @r: runner
 *
 * The caller sees to it that a context enters or claims the runner later. It does so after this
 * call: a context that looks at the runner earlier finds it claimed. A full barrier.
 * Context: any, with the claim.
 * Return: the number of notes; more than kfi_runner_begin() has returned if there are new ones.
 */
static inline long kfi_runner_drop(struct kfi_runner *r)
{
	return atomic_long_xchg(&r->notes, -1);
}

/**
 * kfi_runner_idle() - check that no context has the claim
 * @r: runner
 *
 * For the end of an object, when no context can enter any more. An acquire: the caller sees what
 * the last runner has stored.
 * Context: any.
 * Return: whether no context has the claim.
 */
static inline bool kfi_runner_idle(const struct kfi_runner *r)
{
	return atomic_long_read_acquire(&r->notes) == -1;
}

#endif /* _KFI_RUNNER_H */
