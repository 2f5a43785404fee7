/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ways.pml - the two ways to the peer of providers/ntb/out.c, on both sides at once: stores by the CPU, and an engine.
 *
 * Each side has small things to say, that either way will do for, and big ones, for which it has to go over to the engine; and has to answer
 * when it is asked. Lines alone are modelled: what they speak of goes the same way in front of them. ring.pml has the rest.
 *
 * What must hold: no line lands on one that was said later; all that is to be said is, and every question is answered (no invalid end
 * state); and that takes a bounded number of lines.
 */
#define SMALL	2
#define BIG	1
#define LINES	40	/* more of them from one side, and it does not come to an end */

/* On their way from that side: serial, does it ask, echo */
chan by_cpu0 = [4] of { byte, bool, byte };
chan by_cpu1 = [4] of { byte, bool, byte };
chan by_engine0 = [4] of { byte, bool, byte };
chan by_engine1 = [4] of { byte, bool, byte };

/* The line in the memory of that side, and its doorbell */
byte in_serial[2], in_echo[2];
bool in_ask[2], bell[2];
/* How many have said all that they have to, and were told what they asked */
byte through;

inline arrive(to)
{
	assert(s > in_serial[to]);
	in_serial[to] = s;
	in_ask[to] = a;
	in_echo[to] = e;
	bell[to] = true
}

proctype Way(chan way; bit to)
{
	byte s, e;
	bool a;

end:	do
	:: atomic { way?s, a, e -> arrive(to); s = 0; a = false; e = 0 }
	od
}

inline want()
{
	if
	:: !asking -> asking = true; ask = serial + 2
	:: else
	fi
}

inline line(way)
{
	serial = serial + 2;
	assert(serial < LINES);
	repeated = seen;
	due = false;
	way!serial, asking, seen
}

inline look()
{
	seen = in_serial[me];
	seen_asks = in_ask[me];
	echoed = in_echo[me];
	if
	:: asking && echoed >= ask -> asking = false
	:: else
	fi;
	if
	:: seen_asks && seen != answered -> answered = seen; due = true
	:: else
	fi
}

#define TO_SAY		(small > 0 || big > 0 || due)
#define CPU_LANDED	(echoed >= by_cpu_serial)
#define ENGINE_LANDED	(echoed >= by_engine_serial)
#ifdef NO_ECHO
#define MAY_SWITCH	true
#else
#define MAY_SWITCH	CPU_LANDED
#endif
#ifdef NO_YIELD
#define YIELDS		false
#else
#ifdef NO_TURN
#define YIELDS		(seen_asks && repeated != seen)
#else
#define YIELDS		(seen_asks && repeated != seen && me == 0)
#endif
#endif

proctype Side(bit me; chan cpu; chan engine)
{
	byte serial, by_cpu_serial, by_engine_serial, echoed, seen, repeated, answered, ask;
	byte small = SMALL, big = BIG;
	bool seen_asks, asking, due, switching, counted;

	do
	:: atomic { bell[me] -> bell[me] = false; look() }
	/* Small things by CPU, and answers */
	:: atomic { (small > 0 || due) && !switching && ENGINE_LANDED ->
		if
		:: small > 0 -> small--
		:: else
		fi;
		line(cpu);
		by_cpu_serial = serial }
	/* Everything by the engine, when what the CPU has said is there */
	:: atomic { TO_SAY && MAY_SWITCH ->
		if
		:: big > 0 -> big--
		:: small > 0 -> small--
		:: else
		fi;
		switching = false;
		line(engine);
		by_engine_serial = serial }
	:: atomic { TO_SAY && !(MAY_SWITCH) && (!switching || YIELDS) ->
		switching = true;
		want();
		line(cpu);
		by_cpu_serial = serial }
	:: atomic { !counted && big == 0 && small == 0 && !asking -> counted = true; through++ }
	:: through == 2 -> break
	od
}

init
{
	atomic {
		run Way(by_cpu0, 1);
		run Way(by_engine0, 1);
		run Way(by_cpu1, 0);
		run Way(by_engine1, 0);
		run Side(0, by_cpu0, by_engine0);
		run Side(1, by_cpu1, by_engine1)
	}
}
