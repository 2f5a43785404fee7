/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mirror_leg.pml - two copies of a block of two sectors, and every order in which nodes lose their
 * power, the session ends and is there again, and one node takes over from the other (kfi_mirror).
 *
 * The primary writes its leg. A record of the write goes to the secondary, which stores it in its
 * log, and writes it to its leg later; or, a direct record, to its leg at once. Legs may have a
 * volatile cache (the search tries both), which a flush of the file system makes durable.
 * Whether a record is direct is chosen each time, so the runs of a node without a log, which takes no
 * others, are among these.
 *
 * The block is a region and an extent. A node knows by its active bit, and by the bit of the region,
 * what may differ after a loss of power. The latter is stored when the extent is cleaned.
 *
 * Conditions: a node that is promoted has each acknowledged write, or the one in flight behind it;
 * after a loss of power of both nodes, what was flushed. If nothing says at the begin of a session
 * that the region differs, the copies are the same, or the write in flight is sent again.
 *
 * The rules, and the mutants that go without one of them:
 *
 * NO_BIT_FIRST		the extent is active, durably, before a write reaches any leg
 * NO_REGION_FIRST (-DDEATHS=3)	it is active until the bit of the region is durable
 * NO_APPLIED		a direct record is not written while a record of the log that it overlaps
 *			waits for the leg: that would be written over it
 * NO_DURABLE_HEAD	nor while the durable head of the log is not behind that record: a replay
 *			would write it over the new data
 * NO_KEEP		such a record is not just dropped, for the same reason
 * NO_FLUSH_FIRST	and until both legs were flushed since the last write
 * NO_STARTS		a secondary that has lost its power gets each region whose extent is active, not
 *			only the write in flight: its cache is lost
 * NO_NEW_LOG		a session, and a promotion, begin with an empty log: old records never
 *			overwrite newer data
 * NO_CLOSE		nor do they begin before the direct record of the session before has ended,
 *			which would be written over what comes next
 */
#define WRITES	3	/* to the block, with the numbers 1 to WRITES; 0 is what was there before */
#ifndef DEATHS
#define DEATHS	2	/* losses of power */
#endif

#define ALL	3	/* both sectors, as a mask */
#define of(node, sector)	(2 * (node) + (sector))
#define is(set, value)		(((set) >> (value)) & 1)
#define q			(1 - p)

mtype = { NOTHING, WAITS, DIRECT, ANSWERED };

bool cached;			/* legs have a volatile cache */
byte leg[4], seen[4];		/* what is durable, and what a read returns */
bool extent[2], region[2];	/* active; may differ: the bits that are durable, by node */
bool oos[2];			/* the region may differ, as a node knows that has power */
bool up[2] = true, whole[2] = true;	/* power; the copy may be promoted */
byte log[2], head[2] = 1;	/* durable: records, as a set; where a replay begins */
byte p;				/* the primary, also if it has no power */
bool session = true;
byte next = 1, cur, own;	/* the next write; that in flight; sectors of it on the primary's leg */
mtype record = NOTHING;		/* of the write in flight, at the secondary */
byte placed, orphan;		/* direct: sectors on the leg; the number, if the primary has died */
byte memory, applied, part;	/* records that wait for the leg; the one that goes there; its sectors */
byte new_head;			/* to be stored */
byte deaths;
byte truth[2];			/* the last write that was acknowledged, by sector */
byte safe[2] = 1;		/* what both may have after they have lost their power, as sets */
byte allowed[2];		/* what a copy may have that is promoted */

inline put(n, sector, value)
{
	seen[of(n, sector)] = value;
	if
	:: !cached -> leg[of(n, sector)] = value
	:: else
	fi
}

inline flush(n)
{
	leg[of(n, 0)] = seen[of(n, 0)];
	leg[of(n, 1)] = seen[of(n, 1)]
}

/* Each sector in the cache was written to the disk, or is lost. */
inline power_off(n)
{
	if
	:: leg[of(n, 0)] = seen[of(n, 0)]
	:: seen[of(n, 0)] = leg[of(n, 0)]
	fi;
	if
	:: leg[of(n, 1)] = seen[of(n, 1)]
	:: seen[of(n, 1)] = leg[of(n, 1)]
	fi;
	up[n] = false;
	oos[n] = false;
	deaths++
}

/* A node has its power again */
inline power_on(n)
{
	oos[n] = oos[n] || region[n] || extent[n];
	up[n] = true
}

inline forget()
{
	memory = 0;
	applied = 0;
	part = 0;
	new_head = 0
}

/* The power may fail behind each sector. */
inline replay(n)
{
	died = false;
	k = 1;
	do
	:: k > WRITES || died -> break
	:: else ->
		if
		:: is(log[n], k) && k >= head[n] ->
			put(n, 0, k);
			if
			:: deaths < DEATHS -> power_off(n); died = true
			:: put(n, 1, k)
			fi
		:: else
		fi;
		k++
	od;
	if
	:: died
	:: !died && deaths < DEATHS -> power_off(n); died = true
	:: !died -> flush(n)
	fi;
	k = 0
}

inline new_log(n)
{
	forget();
#ifndef NO_NEW_LOG
	log[n] = 0;
	head[n] = (cur -> cur : next)
#endif
}

/* Of @node, which has power, and has replayed its log */
inline promote()
{
	assert(is(allowed[0], seen[of(node, 0)]));
	assert(is(allowed[1], seen[of(node, 1)]));
	flush(node);
	new_log(node);
	p = node;
	whole[node] = true;
	whole[1 - node] = false;
	truth[0] = seen[of(node, 0)];
	truth[1] = seen[of(node, 1)];
	safe[0] = 1 << truth[0];
	safe[1] = 1 << truth[1];
	allowed[0] = 0;
	allowed[1] = 0;
	cur = 0;
	own = 0;
	record = NOTHING;
	orphan = 0;
	session = false
}

inline all_flushed()
{
	flush(p);
	flush(q);
	safe[0] = 1 << truth[0];
	safe[1] = 1 << truth[1]
}

/* Has the session before ended at the secondary? @stray: what it still writes */
#ifdef NO_CLOSE
byte stray;
#define closed		true
#else
#define closed		(record != DIRECT)
#endif

/* May a direct record be written to the leg? */
#ifdef NO_APPLIED
#define direct_fits	true
#elif defined(NO_DURABLE_HEAD)
#define direct_fits	(!memory && !applied)
#elif defined(NO_KEEP)
#define direct_fits	!applied
#else
#define direct_fits	(!memory && !applied && !new_head)
#endif

active proctype Mirror()
{
	byte k, node;
	bool died, lost;

	atomic { if :: cached = true :: cached = false fi };
end:	do
	/* ---- the primary ---- */
	:: atomic { up[p] && session && !cur && next <= WRITES ->
		cur = next;
		next++;
		own = 0;
		record = WAITS;
#ifndef NO_BIT_FIRST
		extent[p] = true
#endif
	   }
	:: atomic { up[p] && cur && !(own & 1) -> put(p, 0, cur); own = own | 1 }
	:: atomic { up[p] && cur && !(own & 2) -> put(p, 1, cur); own = own | 2 }
#ifdef NO_BIT_FIRST
	:: atomic { up[p] && cur && own == ALL && !extent[p] -> extent[p] = true }
#endif
	:: atomic { up[p] && session && own == ALL && record == ANSWERED && extent[p] ->
		truth[0] = cur;
		truth[1] = cur;
		safe[0] = (cached -> safe[0] : 0) | (1 << cur);
		safe[1] = (cached -> safe[1] : 0) | (1 << cur);
		cur = 0;
		own = 0;
		record = NOTHING
	   }
	:: atomic { cached && up[p] && session && !memory && !applied -> all_flushed() }
	:: atomic { up[p] && session && !cur && (extent[p] || region[p]) && !memory && !applied ->
#ifndef NO_FLUSH_FIRST
		all_flushed();
#endif
		region[p] = oos[p];
		extent[p] = false
	   }
	/* without a session, what is in the cache of the secondary may be lost */
	:: atomic { up[p] && !session && !cur && extent[p] && (oos[p] || !cached) ->
#ifndef NO_REGION_FIRST
		region[p] = oos[p];
#endif
		extent[p] = false
	   }
	/* ---- the secondary ---- */
	:: atomic { up[q] && session && record == WAITS ->
		log[q] = log[q] | (1 << cur);
		memory = memory | (1 << cur);
		record = ANSWERED
	   }
	:: atomic { up[q] && session && record == WAITS && direct_fits ->
#ifdef NO_KEEP
		memory = 0;
#endif
		record = DIRECT;
		placed = 0
	   }
	:: atomic { up[q] && record == DIRECT && !(placed & 1) ->
		put(q, 0, cur | orphan);	/* one of them is 0 */
		placed = placed | 1
	   }
	:: atomic { up[q] && record == DIRECT && !(placed & 2) ->
		put(q, 1, cur | orphan);
		placed = placed | 2
	   }
	:: atomic { up[q] && record == DIRECT && placed == ALL ->
		record = (session -> ANSWERED : (cur -> WAITS : NOTHING));
		placed = 0;
		orphan = 0
	   }
	:: atomic { up[q] && memory && !applied && !new_head ->
		applied = 1;
		do
		:: is(memory, applied) -> break
		:: else -> applied++
		od;
		part = 0
	   }
	:: atomic { up[q] && applied && !(part & 1) -> put(q, 0, applied); part = part | 1 }
	:: atomic { up[q] && applied && !(part & 2) -> put(q, 1, applied); part = part | 2 }
	:: atomic { up[q] && applied && part == ALL ->
		flush(q);
		memory = memory & ~(1 << applied);
		new_head = applied + 1;
		applied = 0;
		part = 0
	   }
	:: atomic { up[q] && new_head -> head[q] = new_head; new_head = 0 }
#ifdef NO_CLOSE
	:: atomic { up[q] && stray -> put(q, 0, stray); stray = 0 }
#endif
	/* ---- failures ---- */
	:: atomic { up[p] && session ->
		session = false;
		/* the region is closed, which waits for a direct record */
		record = (record == DIRECT -> DIRECT : (cur -> WAITS : NOTHING))
	   }
	:: atomic { up[q] && deaths < DEATHS ->
		power_off(q);
#ifdef NO_CLOSE
		stray = 0;
#endif
		session = false;
		forget();
		placed = 0;
		orphan = 0;
		record = (cur && up[p] -> WAITS : NOTHING)
	   }
	:: atomic { up[p] && deaths < DEATHS ->
		allowed[0] = (1 << truth[0]) | (cur -> 1 << cur : 0);
		allowed[1] = (1 << truth[1]) | (cur -> 1 << cur : 0);
		power_off(p);
		session = false;
		orphan = (record == DIRECT -> cur : 0);
		record = (record == DIRECT -> DIRECT : NOTHING);
		cur = 0;
		own = 0
	   }
	/* ---- a session begins ---- */
	:: atomic { up[p] && !session && closed ->
#ifdef NO_CLOSE
		stray = (record == DIRECT -> cur | orphan : stray);
		placed = 0;
		orphan = 0;
#endif
		lost = !up[q];
		if
		:: lost -> power_on(q)
		:: else
		fi;
		replay(q);
		if
		:: died -> forget()
		:: else ->
			new_log(q);
#ifdef NO_STARTS
			lost = false;
#endif
			if
			:: oos[q] || oos[p] || (extent[p] && lost && cached) ->
				/* the region is copied */
				seen[of(q, 0)] = seen[of(p, 0)];
				seen[of(q, 1)] = seen[of(p, 1)];
				flush(q);
				oos[q] = false;
				region[q] = false;
				extent[q] = false;
				oos[p] = false
			:: else ->
				assert(cur || (seen[of(0, 0)] == seen[of(1, 0)] && seen[of(0, 1)] == seen[of(1, 1)]))
			fi;
			session = true;
			record = (cur -> WAITS : NOTHING);
			whole[q] = true
		fi;
		lost = false;
		died = false
	   }
	/* ---- a node takes over ---- */
	:: atomic { !up[p] && up[q] && whole[q] && record != DIRECT ->
		node = q;
		replay(node);
		if
		:: died -> forget()
		:: else -> promote()
		fi;
		died = false;
		node = 0
	   }
	:: atomic { !up[0] && !up[1] ->
		allowed[0] = allowed[0] | (cached -> safe[0] : 0);
		allowed[1] = allowed[1] | (cached -> safe[1] : 0);
		if
		:: whole[0] -> node = 0
		:: whole[1] -> node = 1
		fi;
		power_on(node);
		replay(node);
		if
		:: !died -> promote()
		:: else
		fi;
		died = false;
		node = 0
	   }
	od
}
