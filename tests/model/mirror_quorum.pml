/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mirror_quorum.pml - policy quorum of kfi_mirror: which of three nodes may be promoted, and may end writes, while nodes lose
 * their power and links are cut. A candidate asks one node after the other, so an answer may be an old one when it counts. A
 * primary that is asked to be demoted takes back what no other node may have stored. Not modelled: five nodes, `promote force`, another policy
 * before this one, and which nodes vote, when one is replaced. In mirror_witness.pml the third node is a witness.
 *
 * Conditions: a node that is opened has the last acknowledged write, or one in flight behind it; no write ends that a node does
 * not have which has been opened meanwhile; copies that count as the same are. The rules, and the mutants without one of them:
 *
 * NO_IN_SYNC (-DGENS=4)	Q1: a primary writes only while it and the copies in sync are more than half
 * NO_STORED		Q1: these have stored the present generation
 * NO_DESCENDS		a node stores a generation only if its own is one of the past of that
 * NO_BLANK (-DBLANKS=1)	Q2: a copy that was given up has forgotten its generation, and does not count as an answer; nor is it
 *			in sync before the primary has heard, since it began to copy, that it has more than half without it
 * NO_SENT		Q3: a primary that is demoted takes back no generation that another node may have stored
 * NO_BITS		Q3: what a primary gives back is on its leg: the bits stay until SYNCED (LINBIT/drbd#145)
 *
 * That a promotion needs answers of more than half, none of them newer, is no rule of this model, because of Q1: it keeps a node
 * that can't get that from becoming primary.
 */
#ifndef WRITES
#define WRITES	1
#endif
#ifndef DEATHS
#define DEATHS	0	/* losses of power */
#endif
#ifndef CUTS
#define CUTS	2	/* of links; each may come back at any time */
#endif
#ifndef GENS
#define GENS	3	/* generations */
#endif
#ifndef BLANKS
#define BLANKS	0	/* copies that are given up */
#endif
#define of(n, m)	(3 * (n) + (m))
#define is(set, value)	(((set) >> (value)) & 1)
#define link(n, m)	((n) + (m) - 1)
#define connected(n, m)	(up[n] && up[m] && !is(cut, link(n, m)))
#define knows(a, b)	is(past[a], b)		/* @a is @b, or came behind it */
#ifdef WITNESS
#define copies(n)	((n) != 2)	/* the node has a copy */
#else
#define copies(n)	true
#endif
mtype = { OFF, COPYING, COPIED, SYNC };

byte data[3], gen[3] = 1;		/* durable; 0: a copy that was given up */
bool whole[3] = true, dirty[9], alone[9];
bool up[3] = true, primary[3], open[3], asks[3], yes[9], sure[9];
byte follows[3], cur[3], known[3];	/* known: the last generation that more than half have stored */
mtype session[9] = OFF;
bool sent[3];				/* another node may have stored the generation of this primary */
bool told[9], has[9];			/* the peer has stored the generation; and what is in flight */
byte past[GENS + 1], gens = 1, next = 1, deaths, cut, cuts, blanks, owner, allowed = 1;
byte acked, gone;	/* the last write that has ended; writes that a node which was opened since does not have */

#define talks(n, m)	(session[of(n, m)] != OFF && connected(n, m) && follows[m] == n + 1)
#ifdef NO_IN_SYNC
#define counts(n, m)	(session[of(n, m)] != OFF && (told[of(n, m)] || session[of(n, m)] != SYNC))
#else
#define counts(n, m)	(session[of(n, m)] == SYNC && told[of(n, m)])
#endif
#define quorate(n, m, k)	(counts(n, m) || counts(n, k))
/* Does a peer hold up no write, that is in flight or not? */
#define away(n, m)	(session[of(n, m)] == OFF || session[of(n, m)] == COPYING)
#define permits(n, m)	(alone[of(n, m)] && away(n, m) ||						\
	 session[of(n, m)] == SYNC && told[of(n, m)] && (!cur[n] || !copies(m) || has[of(n, m)]))
#define may_write(n, m, k)	(quorate(n, m, k) && permits(n, m) && permits(n, k))

inline end_session(x, y)
{
	session[of(x, y)] = OFF; told[of(x, y)] = false; has[of(x, y)] = false; sure[of(x, y)] = false
}

inline no_primary(x)
{
	primary[x] = false; open[x] = false; cur[x] = 0; known[x] = 0;
	end_session(x, (x + 1) % 3); end_session(x, (x + 2) % 3)
}

inline raise(x)
{
	gens++; past[gens] = past[gen[x]] | (1 << gens); gen[x] = gens; sent[x] = false;
#ifndef NO_STORED
	told[of(x, (x + 1) % 3)] = false; told[of(x, (x + 2) % 3)] = false
#endif
}

#ifdef NO_BLANK
#define votes(m)	true
#define may_sync(n, m)	true
#else
#define votes(m)	(gen[m] != 0)
#define may_sync(n, m)	(gen[m] != 0 || sure[of(n, m)])
#endif
#define may_promote(n, m, k)	(asks[n] && gens < GENS && (yes[of(n, m)] || yes[of(n, k)]))

#ifdef NO_DESCENDS
#define takes(n, m)	true
#elif defined(TAKES_ANY)
#define takes(n, m)	(!copies(m) || knows(gen[n], gen[m]))
#else
#define takes(n, m)	knows(gen[n], gen[m])
#endif

inline answer(x, y)
{
	if
	:: primary[y] || asks[y] || (follows[y] && follows[y] != x + 1) -> asks[x] = false
	:: else -> yes[of(x, y)] = votes(y) && takes(x, y)
	fi
}

inline promote(x, y, z)
{
	asks[x] = false; follows[x] = 0; known[x] = gen[x];
	raise(x);
	alone[of(x, y)] = !yes[of(x, y)]; alone[of(x, z)] = !yes[of(x, z)];
	primary[x] = true
}

/* The answer that makes it more than half has just come. What is read later may be old. */
#define heard(n, m)	(talks(n, m) && counts(n, m))
#define may_open(n, m, k)	(primary[n] && !open[n] && may_write(n, m, k) && (heard(n, m) || heard(n, k)))

inline open_up(x)
{
	assert(is(allowed, data[x]));
	if
	:: data[x] == acked -> gone = gone | (allowed & ~(1 << acked))
	:: else			/* the other one was overwritten */
	fi;
	acked = data[x]; allowed = 1 << acked; owner = x; open[x] = true
}

#define may_attach(n, m, k)	(primary[n] && session[of(n, m)] == OFF && connected(n, m) && !primary[m] && !asks[m] &&	\
	 (!follows[m] || follows[m] == n + 1) && takes(n, m))

inline attach(x, y)
{
	follows[y] = x + 1;
	if
	:: !copies(y) -> session[of(x, y)] = COPIED
	:: copies(y) && (!whole[y] || !gen[y] || !knows(gen[y], known[x]) || dirty[of(x, y)] || dirty[of(y, x)]) ->
		whole[y] = false; session[of(x, y)] = COPYING
	:: else ->
		assert(data[x] == data[y]);
		session[of(x, y)] = COPIED
	fi
}

/* What is in flight is on the leg of the primary, so it is copied as well. */
inline copy(x, y, z)
{
	data[y] = data[x]; has[of(x, y)] = (cur[x] != 0);
	dirty[of(x, y)] = false; dirty[of(y, x)] = false; dirty[of(y, z)] = dirty[of(x, z)];
	session[of(x, y)] = COPIED
}

/*
 * A node has a generation that is none of this one's, and begins from the last one here that counts. It may have stored the
 * present one of this node, which does not know that it counts then.
 */
#define later(n, m)	(!knows(gen[n], gen[m]) && knows(gen[m], known[n]))
#ifdef NO_BITS
#define BITS(n, m, k)	dirty[of(n, m)] = false; dirty[of(n, k)] = false
#else
#define BITS(n, m, k)	skip
#endif

#ifdef NO_SENT
#define SENT	false
#else
#define SENT	true
#endif
#ifdef PROMOTED
#define candidate(n)	true
#else
#define candidate(n)	copies(n)
#endif
#ifdef FORGETS
#define LOSES(n)	gen[n] = (copies(n) -> gen[n] : 1)
#else
#define LOSES(n)	skip
#endif

#define WITH_PEER(m, k)										\
	:: atomic { asks[n] && !yes[of(n, m)] && connected(n, m) -> answer(n, m) }		\
	:: atomic { may_attach(n, m, k) -> attach(n, m) }					\
	:: atomic { talks(n, m) && session[of(n, m)] == COPYING -> copy(n, m, k) }		\
	:: atomic { session[of(n, m)] != OFF && !gen[m] && !sure[of(n, m)] && heard(n, k) -> sure[of(n, m)] = true }	\
	:: atomic { talks(n, m) && ((session[of(n, m)] == COPIED && may_sync(n, m)) || (session[of(n, m)] == SYNC && gen[m] != gen[n])) ->	\
		alone[of(n, m)] = false; whole[m] = true; gen[m] = gen[n]; session[of(n, m)] = SYNC; sent[n] = SENT }	\
	:: atomic { talks(n, m) && session[of(n, m)] == SYNC && gen[m] == gen[n] && !told[of(n, m)] ->	\
		told[of(n, m)] = true;								\
		if										\
		:: quorate(n, m, k) -> known[n] = gen[n]					\
		:: else										\
		fi }										\
	:: atomic { talks(n, m) && session[of(n, m)] == SYNC && cur[n] && copies(m) && !has[of(n, m)] ->	\
		dirty[of(m, k)] = copies(k); data[m] = cur[n]; has[of(n, m)] = true }		\
	:: atomic { session[of(n, m)] != OFF && !(connected(n, m) && follows[m] == n + 1) -> end_session(n, m) }	\
	/* on without the peer */								\
	:: atomic { primary[n] && session[of(n, m)] == OFF && !alone[of(n, m)] && counts(n, k) && gens < GENS ->	\
		raise(n); alone[of(n, m)] = true }						\
	/* below half: its writes are given back */						\
	:: atomic { primary[n] && !quorate(n, m, k) && connected(n, m) && later(n, m) ->	\
		gen[n] = known[n]; BITS(n, m, k); no_primary(n) }				\
	:: atomic { cuts < CUTS && !is(cut, link(n, m)) && n < m -> cut = cut | (1 << link(n, m)); cuts++ }	\
	:: atomic { is(cut, link(n, m)) && n < m -> cut = cut & ~(1 << link(n, m)) }

inline ended(x, y) { dirty[of(x, y)] = dirty[of(x, y)] && !has[of(x, y)]; has[of(x, y)] = false }

proctype Node(byte n; byte m; byte k)
{
end:	do
	:: atomic { open[n] && !cur[n] && next <= WRITES && may_write(n, m, k) ->
		cur[n] = next; data[n] = next; dirty[of(n, m)] = copies(m); dirty[of(n, k)] = copies(k);
		if
		:: owner == n -> allowed = allowed | (1 << next)
		:: else -> gone = gone | (1 << next)
		fi;
		next++
	   }
	:: atomic { cur[n] && may_write(n, m, k) ->
		assert(!is(gone, cur[n]));
		if
		:: owner == n -> acked = cur[n]; allowed = 1 << acked
		:: else
		fi;
		cur[n] = 0; ended(n, m); ended(n, k)
	   }
	:: atomic { may_open(n, m, k) -> open_up(n) }
	:: atomic { primary[n] && !cur[n] && !sent[n] && gen[n] != known[n] -> gen[n] = known[n]; no_primary(n) }	/* `demote` */
	WITH_PEER(m, k)
	WITH_PEER(k, m)
	:: atomic { up[n] && candidate(n) && !primary[n] && !asks[n] && whole[n] && gen[n] && gens < GENS ->
		yes[of(n, m)] = false; yes[of(n, k)] = false; asks[n] = true }
	:: atomic { may_promote(n, m, k) -> promote(n, m, k) }
	:: atomic { follows[n] && (!connected(n, follows[n] - 1) || session[of(follows[n] - 1, n)] == OFF) -> follows[n] = 0 }
	:: atomic { up[n] && deaths < DEATHS -> up[n] = false; deaths++; no_primary(n); asks[n] = false; follows[n] = 0; LOSES(n) }
	:: atomic { !up[n] -> up[n] = true }
	:: atomic { up[n] && !primary[n] && !asks[n] && !follows[n] && blanks < BLANKS ->	/* `invalidate` */
		blanks++; gen[n] = 0; dirty[of(n, m)] = false; dirty[of(n, k)] = false }
	od
}

init
{
	atomic {
		past[0] = 1; past[1] = 3; known[0] = 1; primary[0] = true; open[0] = true;
		session[of(0, 1)] = SYNC; session[of(0, 2)] = SYNC; told[of(0, 1)] = true; told[of(0, 2)] = true;
		follows[1] = 1; follows[2] = 1;
		run Node(0, 1, 2); run Node(1, 2, 0); run Node(2, 0, 1)
	}
}
