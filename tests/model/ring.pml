/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ring.pml - the protocol of providers/ntb/ring.c: A sends records to B, B answers one of them, all
 * by posted writes.
 *
 * The model has A's shadow, which an engine copies when it executes the copy, not when that is
 * submitted; completions of the engine, which mean that it has read, not that data has arrived; two
 * paths from A to B (engine and CPU), each ordered in itself; a path from B to A; doorbells that
 * are bits; lines whose words arrive one after another.
 *
 * Conditions: B handles every record once, in order and with its own bytes, which stay until B has
 * read them; a record ends at A only after A has seen the answer to it; no side sleeps while there
 * is work (no invalid end state).
 *
 * `run` checks the model, and then once without each of the orderings (-DNO_...), where it has to
 * fail.
 */
#define RECORDS	3
#define SIZE	2	/* records in the ring */
#define ANSWER	3	/* the record that is answered: the last one */

mtype = { BYTES, PRODUCED, SERIAL, CONSUMED, ECHO, SIGNAL };

/* Requests to the engine, and writes in flight to the other side: kind, index, value */
chan engine = [6] of { mtype, byte };
chan by_engine = [3] of { mtype, byte, byte };
chan by_cpu = [3] of { mtype, byte, byte };
chan to_a = [4] of { mtype, byte, byte };

/* A's memory, which its engine reads; and the part that B writes */
byte shadow[SIZE], line_produced, line_serial;
byte a_answer, a_answers, a_consumed, a_echo;
bool a_bell;
/* completions of A's engine */
bool busy;

/* B's memory that A writes */
byte ring[SIZE], b_produced, b_serial;
bool b_bell;

/* for the assertions */
byte handled, heard;

/* ---- hardware ---- */

/* The engine reads when it executes a copy. A line is two words. */
active proctype Engine()
{
	mtype what;
	byte i;

end:	do
	:: engine?what, i ->
		if
		:: what == BYTES -> by_engine!BYTES, i, shadow[i]
		:: what == PRODUCED -> d_step { i = line_produced }; by_engine!PRODUCED, 0, i; by_engine!SERIAL, 0, line_serial
		:: what == SIGNAL -> by_engine!SIGNAL, 0, 0
		fi;
		/* Only the last copy of a batch is reported. */
		if
		:: what == SIGNAL -> busy = false
		:: else
		fi
	od
}

inline arrive(what, i, v)
{
	if
	:: what == BYTES -> ring[i] = v
	:: what == PRODUCED -> b_produced = v
	:: what == SERIAL -> b_serial = v
	:: what == SIGNAL -> b_bell = true
	fi
}

active proctype EngineWay()
{
	mtype what;
	byte i, v;

end:	do
	:: atomic { by_engine?what, i, v -> arrive(what, i, v) }
#ifdef NO_POSTED_ORDER
	/* The second write overtakes the first. */
	:: atomic { len(by_engine) > 1 -> by_engine?what, i, v; by_engine!what, i, v }
#endif
	od
}

active proctype CpuWay()
{
	mtype what;
	byte i, v;

end:	do
	:: atomic { by_cpu?what, i, v -> arrive(what, i, v) }
	od
}

active proctype WayBack()
{
	mtype what;
	byte i, v;

end:	do
	:: atomic {
		to_a?what, i, v ->
		if
		:: what == BYTES -> a_answer = v
		:: what == PRODUCED -> a_answers = v
		:: what == CONSUMED -> a_consumed = v
		:: what == ECHO -> a_echo = v
		:: what == SIGNAL -> a_bell = true
		fi
	}
	od
}

/* ---- A sends ---- */

/* The next line asks, unless a question is unanswered. */
inline want()
{
	if
	:: !asking -> asking = true; ask = serial + 2
	:: else
	fi
}

byte placed, given, acked, seen, by_engine_serial, by_cpu_serial, ask;
byte serial = 2;
bool asking;

inline give_by_engine()
{
	line_produced = placed;
	serial = serial + 2;
	line_serial = serial + asking;
	by_engine_serial = serial;
	busy = true;
#ifdef NO_BYTES_FIRST
	engine!PRODUCED, 0;
#endif
	i = given;
	do
	:: i < placed -> engine!BYTES, i % SIZE; i++
	:: else -> break
	od;
	given = placed;
#ifdef NO_SIGNAL_LAST
	engine!SIGNAL, 0;
	engine!PRODUCED, 0
#else
#ifndef NO_BYTES_FIRST
	engine!PRODUCED, 0;
#endif
	engine!SIGNAL, 0
#endif
}

inline write_line()
{
	serial = serial + 2;
	by_cpu_serial = serial;
	by_cpu!PRODUCED, 0, given;
	by_cpu!SERIAL, 0, serial + asking;
	by_cpu!SIGNAL, 0, 0
}

inline write_by_cpu()
{
	i = given;
	do
	:: i < placed -> by_cpu!BYTES, i % SIZE, shadow[i % SIZE]; i++
	:: else -> break
	od;
	given = placed;
	write_line()
}

#ifdef NO_REAP
#define ENGINE_DONE	true
#else
#define ENGINE_DONE	!busy
#endif
#ifdef NO_ECHO_OF_ENGINE
#define ENGINE_LANDED	true
#else
#define ENGINE_LANDED	a_echo >= by_engine_serial
#endif
#ifdef NO_ECHO_OF_CPU
#define CPU_LANDED	true
#else
#define CPU_LANDED	a_echo >= by_cpu_serial
#endif
#ifdef NO_ACK
#define ROOM		true
#else
#define ROOM		placed - acked < SIZE
#endif

/* Read what B has consumed, and remember the previous value. */
inline look()
{
	e = a_echo;
#ifdef NO_PAIR
	seen = a_answers;
	c = a_consumed;
#else
	c = a_consumed;
	seen = a_answers;
#endif
	if
	:: seen > 0 -> assert(a_answer == ANSWER)
	:: else
	fi;
	assert(c <= given);
	if
	:: asking && e >= ask -> asking = false
	:: else
	fi;
	/* The record was handled, so the answer must have been seen. */
	assert(c < ANSWER || seen > 0);
	assert(c <= handled);
	acked = c;
	heard = c
}

#define TO_GIVE		(placed > given || due)

active proctype A()
{
	byte i, c, e;
	bool due, switching;

	do
	:: atomic { placed < RECORDS && ROOM -> shadow[placed % SIZE] = placed + 1; placed++ }
	:: atomic { TO_GIVE && ENGINE_DONE && CPU_LANDED -> due = false; switching = false; give_by_engine(); i = 0 }
	/* Ask once about the CPU's last line. */
	:: atomic { TO_GIVE && ENGINE_DONE && !(CPU_LANDED) && !switching -> switching = true; want(); write_line() }
	:: atomic { TO_GIVE && !busy && ENGINE_LANDED && !switching -> due = false; write_by_cpu(); i = 0 }
	:: a_bell ->
#ifdef NO_CLEAR_FIRST
		look();
		a_bell = false
#else
		a_bell = false;
		look()
#endif
#ifndef NO_ASK
	:: atomic { placed < RECORDS && !(ROOM) && placed == given && !busy && !due && !asking -> want(); due = true }
#endif
	:: placed == RECORDS && given == RECORDS && handled == RECORDS -> break
	od
}

/* ---- B receives ---- */

inline handle()
{
	assert(v == got + 1);	/* its own bytes, and in order */
	got++;
	handled = got;
	if
	:: v == ANSWER -> answers++; to_a!BYTES, 0, v
	:: else
	fi
}

/* Send a line, with its words in order. */
inline tell()
{
#ifdef NO_WORD_ORDER
	to_a!CONSUMED, 0, done;
	to_a!PRODUCED, 0, answers;
#else
	to_a!PRODUCED, 0, answers;
	to_a!CONSUMED, 0, done;
#endif
	to_a!ECHO, 0, echo
}

active proctype B()
{
	byte got, avail, v, answers, told_answers, wanted, done, told, echo;

end:	do
	:: b_bell ->
#ifndef NO_CLEAR_FIRST
		b_bell = false;
#endif
#ifdef NO_INDEX_FIRST
		v = ring[got % SIZE];
#endif
		echo = b_serial;
		avail = b_produced;
#ifdef NO_READ_FIRST
		done = avail;
		tell();
#endif
		do
		:: got < avail ->
#ifndef NO_INDEX_FIRST
			v = ring[got % SIZE];
#endif
			handle();
#ifdef NO_INDEX_FIRST
			v = ring[got % SIZE]
#endif
		:: else -> break
		od;
		done = got;
		if
		/*
		 * A report that a record was handled is not sent alone: it goes with other lines.
		 */
		:: told != done || (echo % 2 && echo != wanted) || answers != told_answers -> atomic {
			tell();
			if
			:: answers != told_answers -> told_answers = answers; to_a!SIGNAL, 0, 0
#ifndef NO_ANSWER
			:: echo % 2 && echo != wanted -> wanted = echo; to_a!SIGNAL, 0, 0
#endif
			:: else
			fi;
			told = done
			}
		:: !(echo % 2 && echo != wanted) && answers == told_answers
		fi
#ifdef NO_CLEAR_FIRST
		; b_bell = false
#endif
	od
}
