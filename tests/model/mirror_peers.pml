/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mirror_peers.pml - a mirror of three nodes: which copy may be promoted, which node may write
 * alone, and what makes the copies the same again, while nodes lose their power and links are cut
 * (kfi_mirror). A copy is one block here; mirror_leg.pml has what happens inside of a node.
 *
 * The search tries two policies. With "fence" a cluster manager says whether a node is dead or
 * outdated, and tells the truth. With "quorum" more than half of the nodes decide.
 *
 * Conditions: a node that is promoted has the last acknowledged write, or one in flight behind it;
 * writes end only at the node that was promoted last; copies that count as the same are.
 *
 * The rules, and the mutants that go without one of them:
 *
 * NO_BIT_FIRST		the primary's bits are durable before a write reaches any leg
 * NO_PEER_BIT		so are those of a secondary, for all nodes but the primary: after the loss of
 *			the primary only it knows that it may have what another one lacks
 * NO_PEER_FIRST	and before a direct record reaches its leg, not with the answer
 * NO_SETTLED		it clears them when the write has ended everywhere, and not before
 * NO_UNION		two nodes copy what the bits of either of them say
 * NO_WHOLE		a node of an older generation than that in which the primary was promoted gets
 *			everything: the bits for it are those of a node that is dead
 * NO_GENERATION	a primary that goes on without a node begins a generation, and no write ends
 *			before the others know it
 * NO_ALONE_LAST	a copy may be promoted only after its primary has stored that it writes no more
 *			without it
 * NO_INCONSISTENT	a copy is marked before it is written over, so that it is not promoted
 * NO_NEWER (-DDEATHS=2 -DWRITES=1 -DREVERSE -DT_REVERSE)
 *			no node is promoted if the copy of a node that answers is newer
 * NO_MARK (-DDEATHS=2 -DWRITES=1 -DREVERSE -DT_REVERSE)
 *			fence: nor without the answer of a node, if this copy was not in sync when the
 *			session was lost, or the node has been restarted since
 * NO_OPEN		a node that was promoted has no reads and writes before the other copies are the
 *			same, or can't be promoted because they are copied to; with "quorum" before one of
 *			them is the same: it may have what was in flight when the primary died, and what
 *			was read must not be lost
 * NO_OUTDATED (-DLEAVES=1 -DWRITES=1)
 *			fence: a node that leaves has stored that its copy is outdated before the primary
 *			goes on without it
 * NO_IN_SYNC (-DCUTS=2)
 *			quorum: a node that writes alone counts only copies that are in sync
 *
 * A promotion is one step here: the answers still hold at its end. That a node in a session with a
 * primary lets no other node be promoted, and that a promotion needs more than half of the nodes,
 * are no rules of this model: they keep a manager's mistake, and a node that is alone, from making
 * copies of a generation that is of no use.
 */

/*
 * -DDEATHS=2 and the like search more. Besides these bounds, DEATHS=2 and CUTS=2, each with WRITES=1,
 * and LEAVES=1 were searched.
 */
#ifndef WRITES
#define WRITES	2	/* to the block, with the numbers 1 to WRITES; 0 is what was there before */
#endif
#ifndef DEATHS
#define DEATHS	1	/* losses of power */
#endif
#ifndef CUTS
#define CUTS	1	/* of links */
#endif
#ifndef LEAVES
#define LEAVES	0	/* orderly stops of secondaries */
#endif
#ifndef GENS
#define GENS	4	/* generations */
#endif

#define of(n, m)	(3 * (n) + (m))
#define is(set, value)	(((set) >> (value)) & 1)
#define link(n, m)	((n) + (m) - 1)
#define connected(n, m)	(up[n] && up[m] && !is(cut, link(n, m)))
/* The generation @a is @b, or one that came behind it. */
#define knows(a, b)	is(past[a], b)

mtype = { OFF, COPYING, COPIED, SYNC };	/* a session */
mtype = { NOTHING, WAITS, STORED };	/* a record of the write in flight */

bool quorum;				/* else: fence */

/* durable, by node; by node and peer */
byte data[3], gen[3] = 1;
bool uptodate[3] = true, outdated[3];
bool dirty[9], alone[9];

/* lost with the power */
bool up[3] = true, primary[3], open[3], marked[3];	/* marked: in sync when the session was lost */
byte follows[3];			/* the primary + 1 */
byte cur[3], base[3];			/* the write in flight; the generation before the promotion */
bool own[3];				/* the primary's leg has it */
bool known[9];				/* this primary has been in sync with the peer */
mtype session[9] = OFF, record[9] = NOTHING;

byte past[GENS + 1], gens = 1;		/* of each generation: itself and those before, as a set */
byte next = 1, deaths, cut, cuts, leaves;
byte owner, allowed = 1;		/* promoted last; what a copy may have that is promoted, as a set */

inline new_generation(x)
{
	gens++;
	past[gens] = past[gen[x]] | (1 << gens);
	gen[x] = gens
}

inline end_session(x, y)
{
	session[of(x, y)] = OFF;
	record[of(x, y)] = NOTHING
}

inline no_primary(x)
{
	primary[x] = false;
	open[x] = false;
	cur[x] = 0;
	own[x] = false;
	known[of(x, (x + 1) % 3)] = false;
	known[of(x, (x + 2) % 3)] = false;
	end_session(x, (x + 1) % 3);
	end_session(x, (x + 2) % 3)
}

inline begin(x)
{
	cur[x] = next;
	allowed = allowed | (1 << next);
	next++
}

inline send(x, y)
{
#ifndef NO_BIT_FIRST
	dirty[of(x, y)] = true;
#endif
	if
	:: session[of(x, y)] == SYNC || session[of(x, y)] == COPIED -> record[of(x, y)] = WAITS
	:: else
	fi
}

/* Does the peer keep no write from its end? */
#ifdef NO_GENERATION
#define has_ended(n, m)	(alone[of(n, m)] || record[of(n, m)] == STORED)
#else
#define has_ended(n, m)	(alone[of(n, m)] || (record[of(n, m)] == STORED && gen[m] == gen[n]))
#endif

/* What has ended without the peer is copied once more. */
inline ended(x, y)
{
	if
	:: session[of(x, y)] == COPIED && record[of(x, y)] != STORED -> session[of(x, y)] = COPYING
	:: else
	fi;
	record[of(x, y)] = NOTHING
}

/* All writes have ended, and a peer in sync has them. The peer is told. */
inline settle(x, y, z)
{
	if
	:: session[of(x, y)] == SYNC ->
		dirty[of(x, y)] = false;
		if
		:: connected(x, y) && follows[y] == x + 1 ->
			assert(data[y] == data[x]);
			dirty[of(y, z)] = false
		:: else
		fi
	:: else
	fi
}

/* ---- promotion ---- */

#ifdef NO_NEWER
#define agrees(n, m)	!primary[m]
#else
#define agrees(n, m)	(!primary[m] && knows(gen[n], gen[m]))
#endif
#ifdef NO_MARK
#define fenced(n, m)	(!up[m] || outdated[m])
#else
#define fenced(n, m)	((!up[m] || outdated[m]) && marked[n])
#endif
#define permits(n, m)	(connected(n, m) -> agrees(n, m) : quorum || fenced(n, m))
#define may_promote(n, m, k)							\
	(up[n] && !primary[n] && uptodate[n] && !outdated[n] && gens < GENS &&	\
	 permits(n, m) && permits(n, k))

inline promote(x, y, z)
{
	follows[x] = 0;
	base[x] = gen[x];
	new_generation(x);
	alone[of(x, y)] = !connected(x, y);
	alone[of(x, z)] = !connected(x, z);
	primary[x] = true
}

/* May there be reads and writes? */
#ifdef NO_OPEN
#define may_open(n, m, k)	(primary[n] && !open[n])
#else
#define in_sync(n, m)	(session[of(n, m)] == SYNC && connected(n, m) && follows[m] == n + 1)
#define is_copied(n, m)							\
	(session[of(n, m)] == COPYING && connected(n, m) && follows[m] == n + 1)
#define goes_with(n, m)		(alone[of(n, m)] || in_sync(n, m) || is_copied(n, m))
#define may_open(n, m, k)							\
	(primary[n] && !open[n] &&						\
	 (quorum -> in_sync(n, m) || in_sync(n, k) : goes_with(n, m) && goes_with(n, k)))
#endif

inline open_up(x)
{
	assert(is(allowed, data[x]));
	allowed = 1 << data[x];
	owner = x;
	open[x] = true
}

/* ---- a node goes on without another one ---- */

#ifdef NO_IN_SYNC
#define counts(n, k)	(session[of(n, k)] != OFF)
#else
#define counts(n, k)	(session[of(n, k)] == SYNC)
#endif
#define may_leave(n, m, k)							\
	(primary[n] && session[of(n, m)] == OFF && !alone[of(n, m)] && gens < GENS &&	\
	 (quorum -> counts(n, k) : !up[m] || outdated[m]))

#ifdef NO_OUTDATED
#define has_left(m)	(!quorum && leaves < LEAVES)
#else
#define has_left(m)	outdated[m]
#endif

/* ---- a session begins ---- */

#define may_attach(n, m)							\
	(primary[n] && session[of(n, m)] == OFF && connected(n, m) && !primary[m] &&	\
	 (!follows[m] || follows[m] == n + 1) && knows(gen[n], gen[m]))

/* The same primary as before, which has ended no write without this peer */
#define goes_on(n, m)	(known[of(n, m)] && !alone[of(n, m)] && uptodate[m])

#ifdef NO_UNION
#define bits(n, m)	dirty[of(n, m)]
#else
#define bits(n, m)	(dirty[of(n, m)] || dirty[of(m, n)])
#endif
#ifdef NO_WHOLE
#define older(n, m)	false
#else
#define older(n, m)	!knows(gen[m], base[n])
#endif

inline attach(x, y)
{
	follows[y] = x + 1;
	marked[y] = false;
	if
	:: goes_on(x, y) ->
		assert(cur[x] || data[x] == data[y]);
		session[of(x, y)] = SYNC;
		marked[y] = true;
		record[of(x, y)] = (cur[x] -> WAITS : NOTHING)
	:: else ->
		if
		:: !uptodate[y] || older(x, y) || bits(x, y) ->
#ifndef NO_INCONSISTENT
			uptodate[y] = false;
#endif
			session[of(x, y)] = COPYING
		:: else ->
			assert(data[x] == data[y]);
			session[of(x, y)] = (cur[x] -> COPYING : COPIED)
		fi
	fi
}

inline copy(x, y, z)
{
	data[y] = data[x];
	dirty[of(x, y)] = false;
	dirty[of(y, x)] = false;
	dirty[of(y, z)] = dirty[of(x, z)];
	session[of(x, y)] = COPIED
}

/* SYNCED, and its answer */
inline synced(x, y)
{
	uptodate[y] = true;
	outdated[y] = false;
	gen[y] = gen[x];
	marked[y] = true;
	known[of(x, y)] = true;
	session[of(x, y)] = SYNC
}

#ifdef NO_ALONE_LAST
#define may_sync(n, m)	true
#else
#define may_sync(n, m)	!alone[of(n, m)]
#endif

/* ---- a record is durable at the peer, in its log, or on its leg ---- */

#ifdef NO_PEER_BIT
#define PEER_BIT(m, k)	skip
#else
#define PEER_BIT(m, k)	dirty[of(m, k)] = true
#endif

#define waits(n, m)	(record[of(n, m)] == WAITS && connected(n, m) && follows[m] == n + 1)
#ifdef NO_PEER_FIRST
#define STORE(m, k)								\
	:: atomic { waits(n, m) && data[m] != cur[n] -> data[m] = cur[n] }	\
	:: atomic { waits(n, m) && data[m] == cur[n] ->				\
		PEER_BIT(m, k);							\
		record[of(n, m)] = STORED					\
	   }
#else
#define STORE(m, k)								\
	:: atomic { waits(n, m) ->						\
		PEER_BIT(m, k);							\
		data[m] = cur[n];						\
		record[of(n, m)] = STORED					\
	   }
#endif

/* ---- what a primary does with a peer ---- */
#define WITH_PEER(m, k)								\
	STORE(m, k)								\
	:: atomic { session[of(n, m)] == SYNC && connected(n, m) && follows[m] == n + 1 &&	\
		    gen[m] != gen[n] -> gen[m] = gen[n] }				\
	:: atomic { may_attach(n, m) -> attach(n, m) }				\
	:: atomic { session[of(n, m)] == COPYING && connected(n, m) && follows[m] == n + 1 &&	\
		    !cur[n] -> copy(n, m, k) }					\
	:: atomic { session[of(n, m)] != OFF && session[of(n, m)] != COPYING &&	\
		    alone[of(n, m)] -> alone[of(n, m)] = false }			\
	:: atomic { session[of(n, m)] == COPIED && connected(n, m) && follows[m] == n + 1 &&	\
		    may_sync(n, m) -> synced(n, m) }				\
	/* the link is cut, or was, the peer is dead, or has been restarted */	\
	:: atomic { session[of(n, m)] != OFF && !(connected(n, m) && follows[m] == n + 1) ->	\
		end_session(n, m) }						\
	:: atomic { may_leave(n, m, k) -> new_generation(n); alone[of(n, m)] = true }	\
	/* LEAVE */								\
	:: atomic { has_left(m) && session[of(n, m)] == SYNC && connected(n, m) &&	\
		    follows[m] == n + 1 && gens < GENS ->			\
		new_generation(n);						\
		alone[of(n, m)] = true;						\
		end_session(n, m) }						\
	/* a newer primary: what is in flight fails */				\
	:: atomic { primary[n] && connected(n, m) && gen[m] != gen[n] && knows(gen[m], gen[n]) ->	\
		no_primary(n) }

proctype Node(byte n; byte m; byte k)
{
end:	do
	:: atomic { open[n] && !cur[n] && next <= WRITES ->
		begin(n);
		send(n, m);
		send(n, k)
	   }
	:: atomic { cur[n] && !own[n] -> data[n] = cur[n]; own[n] = true }
#ifdef NO_BIT_FIRST
	:: atomic { own[n] && !dirty[of(n, m)] -> dirty[of(n, m)] = true; dirty[of(n, k)] = true }
#endif
	:: atomic { own[n] && has_ended(n, m) && has_ended(n, k) ->
		assert(owner == n);
		allowed = 1 << cur[n];
		cur[n] = 0;
		own[n] = false;
		ended(n, m);
		ended(n, k)
	   }
	:: atomic { primary[n] && !cur[n] && (dirty[of(n, m)] || dirty[of(n, k)] || dirty[of(m, k)] || dirty[of(k, m)]) ->
		settle(n, m, k);
		settle(n, k, m)
	   }
#ifdef NO_SETTLED
	:: atomic { cur[n] && dirty[of(m, k)] && connected(n, m) -> dirty[of(m, k)] = false }
#endif
	WITH_PEER(m, k)
	WITH_PEER(k, m)
	/* ---- a secondary ---- */
	:: atomic { follows[n] && (!connected(n, follows[n] - 1) || session[of(follows[n] - 1, n)] == OFF) ->
		follows[n] = 0
	   }
	:: atomic { !quorum && up[n] && !primary[n] && !follows[n] && !outdated[n] -> outdated[n] = true }
	/* it is about to leave */
	:: atomic { !quorum && up[n] && follows[n] && session[of(follows[n] - 1, n)] == SYNC &&
		    !outdated[n] && leaves < LEAVES -> leaves++; outdated[n] = true }
	:: atomic { may_promote(n, m, k) -> promote(n, m, k) }
	:: atomic { may_open(n, m, k) -> open_up(n) }
	/* ---- power, links ---- */
	:: atomic { up[n] && deaths < DEATHS ->
		up[n] = false;
		deaths++;
		no_primary(n);
		follows[n] = 0;
		marked[n] = false
	   }
	:: atomic { !up[n] -> up[n] = true }
	:: atomic { cuts < CUTS && !is(cut, link(n, m)) && n < m -> cut = cut | (1 << link(n, m)); cuts++ }
	:: atomic { is(cut, link(n, m)) && n < m -> cut = cut & ~(1 << link(n, m)) }
	:: atomic { cuts < CUTS && !is(cut, link(n, k)) && n < k -> cut = cut | (1 << link(n, k)); cuts++ }
	:: atomic { is(cut, link(n, k)) && n < k -> cut = cut & ~(1 << link(n, k)) }
	od
}

init
{
	atomic {
		if
		:: quorum = true
		:: quorum = false
		fi;
		past[1] = 1 << 1;
		base[0] = 1;
		primary[0] = true;
		open[0] = true;
		session[of(0, 1)] = SYNC;
		session[of(0, 2)] = SYNC;
		known[of(0, 1)] = true;
		known[of(0, 2)] = true;
		follows[1] = 1;
		follows[2] = 1;
		marked[1] = true;
		marked[2] = true;
		run Node(0, 1, 2);
		run Node(1, 2, 0);
		run Node(2, 0, 1)
	}
}
