// SPDX-License-Identifier: GPL-2.0
/*
 * quorum.c - whether enough nodes have what a primary writes, with any policy; and policy quorum:
 * more than half of all nodes, which are an odd number, decide what a manager decides with policy
 * fence. tests/model/mirror_quorum.pml has these rules; Q2 and Q4 are in vote.c, Q3 in minority.c.
 *
 * Q1: a primary reads and writes only while it and the copies in sync are more than half, and have
 * stored the present generation. It begins a generation before it goes on without a peer. A node
 * stores only a generation that came behind its own, so of two nodes that begin one at the same
 * time at most one gets more than half. A witness, which has no copy, counts like a copy in sync.
 * So the only copy that has all writes may be that of the primary; another one, which lacks the
 * generation, gets no vote of the witness.
 *
 * Q2: a promotion needs the votes of more than half, this node included. In any such set is a node
 * that has the last generation in which a write may have ended. It gives no vote to a copy that
 * lacks that. A copy that was given up, or has never been in sync, has no generation, and no vote.
 *
 * Q3: a primary below half holds its writes. If it then meets a newer generation, others have gone
 * on without it: it gives its writes back with an error, and becomes secondary. A generation that
 * it has begun, and that it does not know to be stored by more than half, is taken back: no write
 * has ended in it, and it would make the copy a split one. `demote` takes it back as well, unless
 * SYNCED has told it to another node. Bits stay as they are: what was given back is on this leg,
 * and is resynchronised from the new primary. Only SYNCED clears bits.
 *
 * Q4: the nodes that vote have numbers, which are stored with each generation (kfm_super.nodes). A
 * primary changes one of them at a time, while it has more than half, and begins a generation for
 * that. A node that was replaced and starts again is none of them. A generation that was begun or
 * stored with another policy has no such numbers, so it neither gives nor gets a vote: a primary of
 * that policy may have gone on by itself.
 *
 * After `promote force` this node goes on without all others, whatever half is: a person has said
 * so. It ends when so many are in sync again that the others are less than half.
 *
 * The worker runs all of it, except for kfm_quorate(), which needs the claim alone.
 */
#include "mirror.h"
#include "peer.h"
#include "quorum.h"

/**
 * kfm_quorum_compare() - compare generations, as kfm_compare() does
 * @m: mirror
 * @mine: generations of the primary, or of the candidate
 * @peer: those of its peer
 * @peer_state: enum kfm_state of the peer's copy
 *
 * With policy quorum a copy that is partly overwritten is known by the generation that it has
 * stored, whichever resynchronisation has begun to overwrite it: it did not count in that one.
 */
enum kfm_verdict kfm_quorum_compare(const struct kfm *m, const struct kfm_gens *mine,
				    const struct kfm_gens *peer, u32 peer_state)
{
	enum kfm_verdict verdict = kfm_compare(mine, peer, peer_state);

	if (m->policy == KFM_QUORUM && peer_state == KFM_INCONSISTENT && verdict == KFM_SPLIT &&
	    (!peer->cur || kfm_compare(mine, peer, KFM_UPTODATE) < KFM_STALE))
		return KFM_FULL;
	return verdict;
}

/* Are this node and @others others more than half? */
bool kfm_most(const struct kfm *m, unsigned int others)
{
	return 2 * (1 + others) > 1 + kfm_peer_count(m);
}

/* Has a peer the present data, and stored the generation? */
static bool counts(const struct kfm_peer *p)
{
	const struct kfm *m = p->m;

	return p->state == KFM_SESSION_UP && p->insync &&
	       (p->gen == m->sb.gens.cur || m->meta_failed);
}

/* Does this node go on without so many that the others are no half? Only `force` makes it so. */
static bool forced(const struct kfm *m)
{
	unsigned int needed = 0;
	struct kfm_peer *p;

	kfm_for_each_peer(p, m)
		needed += !kfm_is_alone(p);
	return !kfm_most(m, needed);
}

/**
 * kfm_quorate() - may this primary read and write, as far as the number of nodes is concerned?
 * @m: primary
 *
 * Context: the mirror is claimed.
 */
bool kfm_quorate(const struct kfm *m)
{
	unsigned int others = 0;
	struct kfm_peer *p;

	if (m->policy != KFM_QUORUM)
		return true;
	kfm_for_each_peer(p, m)
		others += counts(p);
	return kfm_most(m, others) || forced(m);
}

/* Are this node, and those that count and have answered p->ask, without @p more than half? */
static bool most_without(const struct kfm_peer *p)
{
	struct kfm *m = p->m;
	unsigned int others = 0;
	struct kfm_peer *q;

	kfm_for_each_peer(q, m)
		others += q != p && counts(q) && q->answered >= p->ask;
	return kfm_most(m, others);
}

/**
 * kfm_quorum_ask() - ask the others whether they are there, for the sake of a peer
 * @p: peer that was lost, or whose copy is written now and was blank
 *
 * Each PING has a number, which PONG repeats: what was sent before does not count.
 */
void kfm_quorum_ask(struct kfm_peer *p)
{
	struct kfm *m = p->m;
	struct kfm_peer *q;

	p->ask = ++m->asked;
	kfm_for_each_peer(q, m)
		q->next = q->state == KFM_SESSION_UP ? jiffies : q->next;	/* PING */
}

/**
 * kfm_may_go_alone() - would more than half be left without a peer?
 * @p: peer that is lost, or leaves
 *
 * Those that count have answered since it was lost. Otherwise a primary whose links fail all at
 * once would begin a generation with a peer that is lost as well.
 */
bool kfm_may_go_alone(const struct kfm_peer *p)
{
	return p->m->policy != KFM_QUORUM || most_without(p);
}

/**
 * kfm_may_copy() - may the copy of a peer be made that of this primary?
 * @p: peer
 * @state: STATE, which describes its copy
 *
 * A copy without a generation may have been that of a node which has gone on with others, and has
 * forgotten that. So it must not be the one that makes this primary have more than half.
 */
bool kfm_may_copy(const struct kfm_peer *p, const struct kfm_msg *state)
{
	const struct kfm *m = p->m;

	return m->policy != KFM_QUORUM || state->gens.cur || forced(m) || most_without(p);
}

/*
 * May a peer whose copy was blank get its first SYNCED? The other peers were asked when the session
 * was up. From then on the peer has no other primary. Peers that have answered since are still with
 * this primary.
 */
bool kfm_may_sync(const struct kfm_peer *p)
{
	return !p->fresh || p->synced_sent || forced(p->m) || most_without(p);
}

/*
 * May writes end? Each copy that can be promoted must have stored the present generation before.
 * Otherwise a peer that misses a write would pass for a copy as good as the others; and this node
 * would pass for a split copy if a peer of the generation before is promoted. A copy that is partly
 * resynchronised can't be promoted before SYNCED. If the generation can't be announced because the
 * metadata device has failed, writes end that all peers have, unless they are the only ones.
 */
bool kfm_generation_known(const struct kfm *m)
{
	struct kfm_peer *p;

	kfm_for_each_peer(p, m) {
		if (p->state == KFM_SESSION_UP && (!p->attach || p->synced_sent) &&
		    p->gen != m->sb.gens.cur)
			return m->meta_failed && !m->detached && kfm_quorate(m);
	}
	return kfm_quorate(m);
}

/* May a new write begin? */
bool kfm_may_write(const struct kfm *m)
{
	struct kfm_peer *p;

	kfm_for_each_peer(p, m) {
		if (p->state != KFM_SESSION_UP && !kfm_is_alone(p))
			return false;
	}
	return kfm_quorate(m);
}

/* May writes begin, and end as soon as all peers have them that are needed? */
bool kfm_writes_may_end(const struct kfm *m)
{
	return kfm_may_write(m) && kfm_generation_known(m);
}

/* ---- generations ---- */

/* A peer has stored the present generation, or this node has begun it. Context: the worker. */
void kfm_quorum_stored(struct kfm *m)
{
	if (kfm_quorate(m))
		m->counted_gen = m->sb.gens.cur;
}

/*
 * The generations of a primary without the one in which no write has ended. There is one at most: a
 * generation begins with the promotion, or while the one before counts.
 */
struct kfm_gens kfm_counted_gens(const struct kfm *m)
{
	struct kfm_gens gens = m->sb.gens;

	if (m->policy == KFM_QUORUM && gens.cur != m->counted_gen)
		kfm_gens_lower(&gens);
	return gens.cur == m->counted_gen ? gens : m->sb.gens;
}

/**
 * kfm_quorum_kept() - the generations with which a primary becomes secondary
 * @m: primary
 *
 * If another node may have stored the present generation, this node forgets that only if it knows
 * that others have gone on without it. Else it would help a primary of the generation before, while
 * the other node overwrites what that has written.
 */
struct kfm_gens kfm_quorum_kept(const struct kfm *m)
{
	return m->stepping || m->announced != m->sb.gens.cur ? kfm_counted_gens(m) : m->sb.gens;
}

/* ---- reads ---- */

/* Have more than half of the nodes, this one included, answered what was sent at @at or later? */
static bool heard_since(const struct kfm *m, unsigned long at)
{
	unsigned int others = 0;
	struct kfm_peer *p;

	kfm_for_each_peer(p, m)
		others += counts(p) && !time_before(p->heard, at);
	return kfm_most(m, others);
}

/*
 * Reads may go on for half of the time-out since enough nodes have been heard. An answer may be old
 * when the worker takes it, so it counts from the time at which its PING was sent. A primary by
 * force asks nobody.
 */
void kfm_reads_extend(struct kfm *m)
{
	struct kfm_peer *p;

	if (forced(m))
		WRITE_ONCE(m->reads_until, jiffies + m->timeout / 2);
	kfm_for_each_peer(p, m) {
		if (counts(p) && heard_since(m, p->heard) &&
		    time_after(p->heard + m->timeout / 2, m->reads_until))
			WRITE_ONCE(m->reads_until, p->heard + m->timeout / 2);
	}
	/* a time that is very old would seem to be one to come */
	if (time_before(m->reads_until, jiffies))
		WRITE_ONCE(m->reads_until, jiffies - 1);
}

