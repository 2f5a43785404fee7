// SPDX-License-Identifier: GPL-2.0
/*
 * quorum.c - whether enough nodes have what a primary writes, with any policy; and policy quorum: more
 * than half of all nodes, which are an odd number, decide what a manager decides with policy fence. tests/model/mirror_quorum.pml has these rules.
 *
 * Q1: a primary reads and writes only while it, the copies in sync, and the witness are more than
 * half, and have stored the present generation. It begins a generation before it goes on without a
 * peer. A node stores only a generation that came behind its own, so of two nodes that begin one
 * at the same time at most one gets more than half.
 *
 * Q2: a promotion needs an answer of more than half, this node included. In any such set is a node
 * that has the last generation in which a write may have ended, and its answer refuses a copy that
 * lacks that. A copy that was given up, or never had anything, has no generation and does not count.
 *
 * Q3: a primary below half holds its writes. If it then meets a newer generation, others have gone
 * on without it: it gives its writes back with an error, and becomes secondary. A generation that
 * it has begun, and that it does not know to be stored by more than half, is taken back: no write
 * has ended in it, and it would make the copy a split one. Bits stay as they are: what was given
 * back is on this leg, and is resynchronised from the new primary. Only SYNCED clears bits.
 *
 * After `promote force` this node goes on without all others, whatever half is: a person has said
 * so. It ends when so many are in sync again that the others are less than half.
 *
 * The worker runs all of it, except for kfm_quorate(), which needs the claim alone.
 */
#include "command.h"
#include "mirror.h"
#include "peer.h"
#include "quorum.h"

/* Are this node and @others others more than half? */
static bool most(const struct kfm *m, unsigned int others)
{
	return 2 * (1 + others) > 1 + kfm_peer_count(m);
}

/* Has a peer the present data, and stored the generation? A witness has no data. */
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
	return !most(m, needed);
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
	return most(m, others) || forced(m);
}

/* Are this node, and those that count and have answered since a time, without a peer more than half? */
static bool most_since(const struct kfm_peer *without, unsigned long since)
{
	struct kfm *m = without->m;
	unsigned int others = 0;
	struct kfm_peer *p;

	kfm_for_each_peer(p, m)
		others += p != without && counts(p) && time_after(p->live, since);
	return most(m, others);
}

/* A peer is lost: ask the others whether they are there. Their answers decide (kfm_quorum_tick()). */
void kfm_quorum_ask(struct kfm *m)
{
	struct kfm_peer *p;

	kfm_for_each_peer(p, m)
		p->next = p->state == KFM_SESSION_UP ? jiffies : p->next;	/* PING */
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
	return p->m->policy != KFM_QUORUM || most_since(p, p->down);
}

/**
 * kfm_may_copy() - may the copy of a peer be made that of this primary?
 * @p: peer
 * @state: enum kfm_state of its copy
 *
 * A blank copy may have been that of a node which has gone on with others, and has forgotten that.
 * So it must not be the one that makes this primary have more than half.
 */
bool kfm_may_copy(const struct kfm_peer *p, u32 state)
{
	const struct kfm *m = p->m;

	return m->policy != KFM_QUORUM || state != KFM_BLANK || forced(m) ||
	       most_since(p, jiffies - m->timeout / 4);
}

/*
 * May writes end? Each copy that can be promoted must have stored the present generation before.
 * Otherwise a peer that misses a write would pass for a copy as good as the others; and this node
 * would pass for a split copy if a peer of the generation before is promoted. A copy that is partly
 * resynchronised can't be promoted before SYNCED. If the generation can't be announced because the
 * metadata device has failed, writes end that all peers have.
 */
bool kfm_generation_known(const struct kfm *m)
{
	struct kfm_peer *p;

	kfm_for_each_peer(p, m) {
		if (p->state == KFM_SESSION_UP && (!p->attach || p->synced_sent) &&
		    p->gen != m->sb.gens.cur)
			return m->meta_failed && kfm_quorate(m);
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

/* ---- promotion ---- */

/*
 * Does an answer count? A blank copy has no generation, so it refuses no older copy either. A node
 * of another policy gives its word to others.
 */
bool kfm_vote_taken(const struct kfm_peer *p, const struct kfm_msg *state)
{
	return p->m->policy != KFM_QUORUM ||
	       (state->flags & KFM_M_QUORUM && state->state != KFM_BLANK);
}

/* Have more than half answered this candidate? */
bool kfm_promote_voted(const struct kfm *m)
{
	unsigned int others = 0;
	struct kfm_peer *p;

	kfm_for_each_peer(p, m)
		others += p->answer == KFM_A_STATE;
	return m->policy == KFM_QUORUM && most(m, others);
}

/**
 * kfm_quorum_begin() - this node becomes primary, or is resumed as one
 * @m: mirror
 * @gen: the last generation in which a write may have ended
 */
void kfm_quorum_begin(struct kfm *m, u64 gen)
{
	m->counted_gen = gen;
	m->quorate_at = jiffies;
	m->noquorum = false;
	m->stepping = false;
}

/* A peer has stored the present generation. Context: the worker. */
void kfm_quorum_stored(struct kfm *m)
{
	if (kfm_quorate(m))
		m->counted_gen = m->sb.gens.cur;
}

/* ---- a primary below half ---- */

/*
 * The generations of this node without those in which no write has ended. A superblock has the last
 * KFM_HISTORY ones, and here there are two at most.
 */
static struct kfm_gens counted_gens(const struct kfm *m)
{
	struct kfm_gens gens = m->sb.gens;
	unsigned int i;

	for (i = 0; i < KFM_HISTORY && gens.cur != m->counted_gen; i++)
		kfm_gens_lower(&gens);
	return gens.cur == m->counted_gen ? gens : m->sb.gens;
}

/**
 * kfm_quorum_newer() - has a peer a generation that came behind the one of this primary?
 * @p: peer, which describes its generations
 * @msg: STATE, or REFUSED with generations
 *
 * If so, this primary becomes secondary, unless it has more than half. A peer may have stored the
 * present generation of this node, which does not know that; then it is none of another one.
 */
void kfm_quorum_newer(struct kfm_peer *p, const struct kfm_msg *msg)
{
	struct kfm *m = p->m;
	struct kfm_gens counted;

	if (m->policy != KFM_QUORUM || !m->primary || !m->noquorum || m->stepping ||
	    !msg->gens.cur || !kfm_node_matches(p, msg->node) ||
	    memcmp(m->sb.uuid, msg->uuid, sizeof(msg->uuid)) ||
	    kfm_compare(&m->sb.gens, &msg->gens, KFM_UPTODATE) < KFM_STALE)
		return;
	counted = counted_gens(m);
	if (kfm_compare(&counted, &msg->gens, KFM_UPTODATE) != KFM_STALE)
		return;
	DMERR("%s: others have gone on without this node: its writes fail", kfm_name(m));
	m->stepping = true;
	kfm_sessions_drop(m);
}

/* The writes have been given back: become secondary, or try again in the next run. */
static void step_down(struct kfm *m)
{
	struct kfm_super before = m->sb;

	m->sb.gens = counted_gens(m);
	m->sb.state = KFM_OUTDATED;	/* whole, and others have gone on */
	if (kfm_demote(m))
		m->sb = before;
	else
		m->stepping = false;
}

/* Go on without the peers that are lost, if more than half are left. */
static void go_on(struct kfm *m)
{
	struct kfm_peer *p;

	kfm_for_each_peer(p, m) {
		if (p->state <= KFM_SESSION_HELLO && p->policy_applied && !kfm_is_alone(p) &&
		    kfm_may_go_alone(p))
			kfm_go_alone(p);
	}
}

/* What is due, in each run of the worker of a primary */
void kfm_quorum_tick(struct kfm *m)
{
	if (m->policy != KFM_QUORUM)
		return;
	if (m->stepping) {
		step_down(m);
		return;
	}
	if (!m->leg_failed && !m->meta_failed)
		go_on(m);
	if (kfm_quorate(m)) {
		m->quorate_at = jiffies;
		m->noquorum = false;
	} else if (!m->noquorum && time_after(jiffies, m->quorate_at + m->timeout / 2)) {
		m->noquorum = true;
		kfm_event(m, "noquorum");
	}
}
