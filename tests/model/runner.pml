/* SPDX-License-Identifier: GPL-2.0 */
/*
 * runner.pml - one context at a time does the work of an object; the others leave a note
 * (include/kfi_runner.h). Two contexts hand over work. A worker does what they may not do, and is
 * queued for that, as in ulps/mirror/claim.c: if the runner is claimed, it leaves a note that says
 * so. 0 stands for -1 here, and each state is one more.
 *
 * Conditions: one context at a time has the claim; each runner sees what the previous one has
 * stored; in the end all that was handed over is done, by a context or by the worker.
 *
 * A barrier orders two steps of a context. Without the barrier the steps happen in the other order
 * at times, so each mutant (-DNO_...) has them so.
 */
#define CONTEXTS	2
#define ITEMS		2	/* that a context hands over */

byte notes;			/* kfi_runner.notes + 1 */
byte handed;			/* work, which any context stores */
bool due, queued;		/* the worker's note; its work item */
byte done, passes, left;	/* with the claim: work that was done; passes; work for the worker */
byte inside, made, ended;	/* for the assertions */

inline enter()
{
#ifdef NO_ATOMIC_ENTER
	was = notes;
	notes = was + 1;
	mine = was == 0
#else
	atomic { notes++; mine = notes == 1 }
#endif
}

inline leave()
{
#ifdef NO_COMPARE
	notes = 0;
	gone = true
#else
#ifdef NO_ATOMIC_LEAVE
	gone = notes == seen;
	if
	:: gone -> notes = 0
	:: else
	fi
#else
	atomic { gone = notes == seen; if :: gone -> notes = 0 :: else fi }
#endif
#endif
}

inline drop()
{
	atomic { was = notes; notes = 0 }
}

/* The runner counts its passes, without an atomic operation. */
inline work()
{
	atomic { inside++; assert(inside == 1) };
	done = got;
	made++;
#ifndef NO_CLAIM_FIRST
	mirrored = passes;
#endif
	mirrored++;
#ifndef NO_WORK_FIRST
	passes = mirrored;
#endif
	inside--
}

/* After the claim was given up */
inline work_late()
{
#ifdef NO_WORK_FIRST
	passes = mirrored
#else
	skip
#endif
}

active [CONTEXTS] proctype Context()
{
	byte seen, was, got, mirrored, i;
	bool mine, gone, worker;

	do
	:: i < ITEMS ->
		i++;
#ifdef NO_CLAIM_FIRST
		mirrored = passes;
#endif
#ifdef NO_STORE_FIRST
		enter();
		atomic { handed++ };
#else
		atomic { handed++ };
		enter();
#endif
		gone = !mine;
		do
		:: gone -> break
		:: else ->
#ifdef NO_BEGIN_FIRST
			got = handed;
			seen = notes;
#else
			seen = notes;
			got = handed;
#endif
			worker = due;
			if
			:: worker -> due = false
			:: else
			fi;
			work();
			/* Some work has to be left to the worker, which may also have to continue. */
			if
			:: left = 1; worker = true
			:: true
			:: worker = true
			fi;
			if
			:: worker ->
				worker = false;
				gone = true;
#ifdef NO_DROP_FIRST
				queued = true;
				drop()
#else
				drop();
				queued = true
#endif
			:: else -> leave()
			fi;
			work_late()
		od
	:: else -> break
	od;
	ended++
}

active proctype Worker()
{
	byte seen, was, got, mirrored;
	bool mine;

end:	do
	:: atomic { queued -> queued = false };
#ifdef NO_CLAIM_FIRST
		mirrored = passes;
#endif
#ifdef NO_DUE_FIRST
		enter();
		due = true;
#else
#ifndef NO_DUE
		due = true;
#endif
		enter();
#endif
		if
		:: mine ->
			due = false;
			seen = notes;
			got = handed;
			work();
			left = 0;
			drop();
			work_late();
#ifndef NO_REQUEUE
			if
			:: was != seen -> queued = true
			:: else
			fi
#endif
		:: else
		fi
	:: atomic { ended == CONTEXTS && !queued && notes == 0 && !inside ->
		assert(done == handed && handed == CONTEXTS * ITEMS);
		assert(!left);
		assert(passes == made) };
		break
	od
}
