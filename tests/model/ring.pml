/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ring.pml - the protocol of providers/ntb/ring.c: A sends the records of one connection to B, by
 * posted writes, each of them through the message ring or the bulk ring.
 *
 * The model has A's shadow of the bulk ring, which an engine copies when it executes the copy, not
 * when that is submitted; completions of the engine, which mean that it has read, not that data has
 * arrived; two paths from A to B (engine and CPU), each ordered in itself; a path from B to A;
 * doorbells that are bits; lines whose words arrive one after another. A record of the message ring
 * may go without a line, with a signal; B finds it if its first line is there, which A writes last,
 * so here a record is one write; and B forgets what it has handled. Its CRC is no condition: a part
 * of a record may have the right one, if seldom.
 *
 * Conditions: B handles every record once, in the order in which A has sent them, and with its own
 * bytes, which stay until B has read them; no side sleeps while there is work (no invalid end
 * state).
 *
 * `run` checks the model, and then once without each of the orderings (-DNO_...), where it has to
 * fail.
 */
#define RECORDS	4
#define SIZE	2	/* records in a ring */

mtype = { BYTES, AFTER, PRODUCED, CONSUMED_MSG, CONSUMED_BULK, SERIAL, ECHO, SIGNAL, REST };

/* Requests to the engine, and writes in flight to the other side: kind, index, value */
chan engine = [5] of { mtype, byte };
chan by_engine = [3] of { mtype, byte, byte };
chan by_cpu = [3] of { mtype, byte, byte };
chan to_a = [4] of { mtype, byte };

/* A's memory, which its engine reads; and the part that B writes */
byte shadow[SIZE], line_after, line_produced;
byte a_msg_consumed, a_bulk_consumed, a_echo;
bool a_bell;
/* A's engine has copies */
bool busy;

/* B's memory that A writes */
byte msg_ring[SIZE], msg_rest[SIZE], msg_produced, bulk_ring[SIZE], bulk_produced, bulk_after, b_serial;
bool b_bell;

/* for the assertions */
byte handled;

/* ---- hardware ---- */

/* The engine reads when it executes a copy. */
active proctype Engine()
{
	mtype what;
	byte i;

end:	do
	:: engine?what, i ->
		if
		:: what == BYTES -> by_engine!BYTES, i, shadow[i]
		:: what == AFTER -> by_engine!AFTER, 0, line_after
		:: what == PRODUCED -> by_engine!PRODUCED, 0, line_produced
		/* Only the last copy of a batch is reported. */
		:: what == SIGNAL -> by_engine!SIGNAL, 0, 0; busy = false
		fi
	od
}

active proctype EnginePath()
{
	mtype what;
	byte i, v;

end:	do
	:: atomic {
		by_engine?what, i, v ->
		if
		:: what == BYTES -> bulk_ring[i] = v
		:: what == AFTER -> bulk_after = v
		:: what == PRODUCED -> bulk_produced = v
		:: what == SIGNAL -> b_bell = true
		fi
	}
#ifdef NO_POSTED_ORDER
	/* The second write overtakes the first. */
	:: atomic { len(by_engine) > 1 -> by_engine?what, i, v; by_engine!what, i, v }
#endif
	od
}

active proctype CpuPath()
{
	mtype what;
	byte i, v;

end:	do
	:: atomic {
		by_cpu?what, i, v ->
		if
		:: what == BYTES -> msg_ring[i] = v
		:: what == REST -> msg_rest[i] = v
		:: what == PRODUCED -> msg_produced = v
		:: what == SERIAL -> b_serial = v
		:: what == SIGNAL -> b_bell = true
		fi
	}
	od
}

active proctype PathBack()
{
	mtype what;
	byte v;

end:	do
	:: atomic {
		to_a?what, v ->
		if
		:: what == CONSUMED_MSG -> a_msg_consumed = v
		:: what == CONSUMED_BULK -> a_bulk_consumed = v
		:: what == ECHO -> a_echo = v
		:: what == SIGNAL -> a_bell = true
		fi
	}
	od
}

/* ---- A sends ---- */

#ifdef NO_ACK
#define MSG_ROOM	true
#define BULK_ROOM	true
#else
#define MSG_ROOM	(msg - msg_acked < SIZE)
#define BULK_ROOM	(placed - bulk_acked < SIZE)
#endif
/* Records of the message ring overtake those of the bulk ring. */
#ifdef NO_BULK_BEHIND
#define IN_ORDER	true
#else
#define IN_ORDER	(bulk_acked == placed)
#endif
#ifdef NO_REAP
#define ENGINE_DONE	true
#else
#define ENGINE_DONE	!busy
#endif

inline write_line()
{
	serial = serial + 2;
	by_cpu!PRODUCED, 0, msg;
	by_cpu!SERIAL, 0, serial + asking;
	by_cpu!SIGNAL, 0, 0
}

inline put()
{
	seq++;
#ifdef NO_RECORD_FIRST
	msg++;
	write_line();
	by_cpu!BYTES, (msg - 1) % SIZE, seq
#else
	by_cpu!BYTES, msg % SIZE, seq;
#ifdef NO_FIRST_LINE_LAST
	by_cpu!REST, msg % SIZE, seq;
#endif
	msg++;
	if
	:: write_line()
	:: !asking ->
#ifdef NO_SIGNAL_OF_RECORD
		skip
#else
		by_cpu!SIGNAL, 0, 0
#endif
	fi
#endif
}

inline give()
{
	line_after = msg;
	line_produced = placed;
	busy = true;
#ifdef NO_BYTES_FIRST
	engine!AFTER, 0;
	engine!PRODUCED, 0;
#endif
	i = given;
	do
	:: i < placed -> engine!BYTES, i % SIZE; i++
	:: else -> break
	od;
	i = 0;
	given = placed;
#ifdef NO_SIGNAL_LAST
	engine!SIGNAL, 0;
	engine!AFTER, 0;
	engine!PRODUCED, 0
#else
#ifdef NO_AFTER_FIRST
	engine!PRODUCED, 0;
	engine!AFTER, 0;
#else
#ifndef NO_BYTES_FIRST
	engine!AFTER, 0;
	engine!PRODUCED, 0;
#endif
#endif
	engine!SIGNAL, 0
#endif
}

inline look()
{
	msg_acked = a_msg_consumed;
	bulk_acked = a_bulk_consumed;
	assert(msg_acked <= msg && bulk_acked <= given);
	assert(msg_acked + bulk_acked <= handled);
	if
	:: asking && a_echo >= ask -> asking = false
	:: else
	fi
}

#define STARVED	(!(MSG_ROOM) || (!(BULK_ROOM) && given == placed && !busy))

active proctype A()
{
	byte seq, msg, placed, given, msg_acked, bulk_acked, serial, ask, i;
	bool asking;

	do
	:: atomic { seq < RECORDS && MSG_ROOM && IN_ORDER -> put() }
	:: atomic { seq < RECORDS && BULK_ROOM -> seq++; shadow[placed % SIZE] = seq; placed++ }
	:: atomic { placed > given && ENGINE_DONE -> give() }
	:: a_bell ->
#ifdef NO_CLEAR_FIRST
		look();
		a_bell = false
#else
		a_bell = false;
		look()
#endif
#ifndef NO_ASK
	:: atomic { seq < RECORDS && STARVED && !asking -> asking = true; ask = serial + 2; write_line() }
#endif
	:: seq == RECORDS && given == placed && handled == RECORDS -> break
	od
}

/* ---- B receives ---- */

#ifdef NO_AFTER
#define BULK_READY	true
#else
#define BULK_READY	(msg_got >= after)
#endif

inline handle()
{
	assert(v == handled + 1);	/* its own bytes, and in order */
	handled++
}

active proctype B()
{
	byte msg_got, msg_avail, bulk_got, bulk_avail, after, v, echo, answered, told;

end:	do
	:: b_bell ->
#ifndef NO_CLEAR_FIRST
		b_bell = false;
#endif
		echo = b_serial;
		msg_avail = msg_produced;
#ifdef NO_AFTER_LAST
		after = bulk_after;
		bulk_avail = bulk_produced;
#else
		bulk_avail = bulk_produced;
		after = bulk_after;
#endif
#ifdef NO_READ_FIRST
		to_a!CONSUMED_MSG, msg_avail;
		to_a!CONSUMED_BULK, bulk_avail;
		to_a!SIGNAL, 0;
#endif
		do
		:: msg_got < msg_avail || msg_ring[msg_got % SIZE] ->
			v = msg_ring[msg_got % SIZE];
#ifdef NO_FIRST_LINE_LAST
			assert(msg_rest[msg_got % SIZE] == v);
#endif
#ifndef NO_FORGET
			msg_ring[msg_got % SIZE] = 0;
#endif
			msg_got++;
			handle()
		:: else -> break
		od;
		do
		:: bulk_got < bulk_avail && BULK_READY ->
			v = bulk_ring[bulk_got % SIZE]; bulk_got++; handle()
		:: else -> break
		od;
		if
		/* A report that a record was handled is not sent alone: it goes with other lines. */
		:: msg_got + bulk_got != told || (echo % 2 && echo != answered) -> atomic {
			told = msg_got + bulk_got;
			to_a!CONSUMED_MSG, msg_got;
			to_a!CONSUMED_BULK, bulk_got;
			to_a!ECHO, echo;
			if
#ifndef NO_ANSWER
			:: echo % 2 && echo != answered -> answered = echo; to_a!SIGNAL, 0
#endif
			:: else
			fi
			}
		:: !(echo % 2 && echo != answered)
		fi
#ifdef NO_CLEAR_FIRST
		; b_bell = false
#endif
	od
}
