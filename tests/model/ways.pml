/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ways.pml - the two paths to the peer of providers/ntb/out.c, on both sides at once: stores of the
 * CPU, and an engine.
 *
 * Each side has small records, which either path can carry, and big ones, for which it has to
 * switch to the engine; and it has to answer questions. The model has lines only, because the
 * records that they announce precede them on the same path. ring.pml has the rest.
 *
 * Conditions: no line overwrites a later one; everything is sent, and every question is answered
 * (no invalid end state), in a bounded number of lines.
 */
#define SMALL	2
#define BIG	1
#define LINES	40	/* more lines of one side would mean that it does not end */

/* Lines in flight from a side: serial, does it ask, echo */
chan by_cpu0 = [4] of { byte, bool, byte };
chan by_cpu1 = [4] of { byte, bool, byte };
chan by_engine0 = [4] of { byte, bool, byte };
chan by_engine1 = [4] of { byte, bool, byte };

/* The line in the memory of that side, and its doorbell */
byte in_serial[2], in_echo[2];
bool in_ask[2], bell[2];
/* Number of sides that have sent everything and got all answers */
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
	/* Small records and answers by CPU */
	:: atomic { (small > 0 || due) && !switching && ENGINE_LANDED ->
		if
		:: small > 0 -> small--
		:: else
		fi;
		line(cpu);
		by_cpu_serial = serial }
	/* Everything by the engine, after the CPU's lines have arrived */
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
