/* SPDX-License-Identifier: GPL-2.0 */
/*
 * awake.pml - signals that are not sent: B announces in its lines that it polls for a while; A sees
 * that and sends no signal meanwhile.
 *
 * The model has lines in both directions, by posted writes that arrive later, a word at a time;
 * polls of B, each of which may be the last; and a question of A, which has no room and sends
 * nothing else before the answer. ring.pml models the contents of the rings.
 *
 * Condition: B sees all that A has sent (otherwise both sleep, an invalid end state).
 */
#define LINES	3	/* with news; reminders are additional */

mtype = { PRODUCED, SERIAL, SIGNAL, LINE };

chan to_b = [3] of { mtype, byte };
chan to_a = [2] of { mtype, byte, bool };

/* B's memory that A writes, and the reverse */
byte b_produced, b_serial;
byte a_echo;
bool a_awake, a_bell, b_bell;

byte produced, got;

active proctype WayToB()
{
	mtype what;
	byte v;

end:	do
	:: atomic {
		to_b?what, v ->
		if
		:: what == PRODUCED -> b_produced = v
		:: what == SERIAL -> b_serial = v
		:: what == SIGNAL -> b_bell = true
		fi
	}
	od
}

active proctype WayToA()
{
	mtype what;
	byte v;
	bool flag;

end:	do
	:: atomic {
		to_a?what, v, flag ->
		if
		/*
		 * The flag is in the word behind the echo. A reader that gets an older flag gets
		 * the new one later; with an older echo it sends one signal too many.
		 */
		:: what == LINE -> a_echo = v; a_awake = flag
		:: what == SIGNAL -> a_bell = true
		fi
	}
	od
}

/* A question must be signalled. */
#ifdef NO_LOUD_QUESTION
#define MAY_HUSH	a_awake
#else
#define MAY_HUSH	(a_awake && !asking)
#endif

inline say()
{
	serial = serial + 2;
	to_b!PRODUCED, produced;
	to_b!SERIAL, serial + asking;
	if
	:: MAY_HUSH -> quiet = true; unrung = serial
	:: else -> to_b!SIGNAL, 0
	fi
}

inline look()
{
	peer_awake = a_awake;
	echo = a_echo;
	if
	:: asking && echo >= ask -> asking = false
	:: else
	fi;
	if
	:: quiet && echo >= unrung -> quiet = false
#ifndef NO_REMINDER
	/* B sleeps and has not seen everything. */
	:: quiet && echo < unrung && !peer_awake -> quiet = false; due = true
#endif
	:: else
	fi
}

active proctype A()
{
	byte serial, unrung, ask, echo;
	bool peer_awake, quiet, due, asking;

	do
	:: atomic { !asking && produced < LINES -> produced++; say() }
	:: atomic { !asking && produced < LINES -> produced++; asking = true; ask = serial + 2; say() }
	:: atomic { !asking && due -> due = false; say() }
	:: atomic { a_bell -> a_bell = false; look() }
	:: got == LINES -> break
	od
}

active proctype B()
{
	byte echo, wanted;
	bool more, awake, was_awake, news;

end:	do
	:: b_bell || more ->
		b_bell = false;
#ifdef NO_ECHO_FIRST
		news = got != b_produced;
		got = b_produced;
		echo = b_serial;
#else
		echo = b_serial;
		news = got != b_produced;
		got = b_produced;
#endif
		/* A side that has found something may continue to poll for a while. */
		if
		:: got < LINES && (news || awake) -> more = true
		:: more = false
		fi;
		if
		:: news || awake > more || (echo % 2 && echo != wanted) -> atomic {
			was_awake = awake;
			awake = more;
			to_a!LINE, echo - echo % 2, more;
			if
			:: echo % 2 && echo != wanted -> wanted = echo; to_a!SIGNAL, 0, 0
#ifndef NO_FAREWELL
			:: (!(echo % 2) || echo == wanted) && was_awake && !more -> to_a!SIGNAL, 0, 0
#endif
			:: else
			fi
			}
		/* The serial alone, or the flag alone, need not be sent. */
		:: !(awake > more || (echo % 2 && echo != wanted))
		fi
	od
}
