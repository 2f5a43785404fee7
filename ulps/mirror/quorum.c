// SPDX-License-Identifier: GPL-2.0
/*
 * quorum.c - whether enough nodes have what a primary writes, with any policy; and policy quorum:
 * more than half of all nodes, which are an odd number, decide what a manager decides with policy
 * fence. tests/model/mirror_quorum.pml has these rules.
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
#include "command.h"
#include "meta.h"
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
static bool most(const struct kfm *m, unsigned int others)
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

/* Are this node, and those that count and have answered p->ask, without @p more than half? */
static bool most_without(const struct kfm_peer *p)
{
	struct kfm *m = p->m;
	unsigned int others = 0;
	struct kfm_peer *q;

	kfm_for_each_peer(q, m)
		others += q != p && counts(q) && q->answered >= p->ask;
	return most(m, others);
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

/* ---- the nodes that vote ---- */

static bool is_voter(const struct kfm *m, u64 node)
{
	unsigned int i;

	for (i = 0; i < KFM_PEERS && m->sb.nodes[i]; i++) {
		if (m->sb.nodes[i] == node)
			return true;
	}
	return false;
}

static unsigned int voter_count(const struct kfm *m)
{
	unsigned int n = 0;

	while (n < KFM_PEERS && m->sb.nodes[n])
		n++;
	return n;
}

/* Would a node be one more than all? Then `replace` has to remove another one. */
bool kfm_quorum_full(const struct kfm *m, u64 node)
{
	return m->policy == KFM_QUORUM && !is_voter(m, node) &&
	       voter_count(m) >= kfm_peer_count(m);
}

/**
 * kfm_quorum_admits() - does a node vote?
 * @p: peer that has described its copy, without a session
 * @node: its number; kfm_quorum_full() is false
 *
 * If not, it does in the generation that begins now, and the session begins again.
 */
bool kfm_quorum_admits(struct kfm_peer *p, u64 node)
{
	struct kfm_pair pair = *kfm_pair(p);
	struct kfm *m = p->m;
	u64 *at;

	if (m->policy != KFM_QUORUM || is_voter(m, node))
		return true;
	if (!kfm_quorate(m))
		return false;
	at = &m->sb.nodes[voter_count(m)];
	*at = node;
	pair.node = node;
	if (kfm_pair_change(p, &pair))
		*at = 0;
	return false;
}

static bool in_place(const struct kfm *m, u64 node)
{
	struct kfm_peer *p;

	kfm_for_each_peer(p, m) {
		if (kfm_pair(p)->node == node)
			return true;
	}
	return false;
}

/*
 * The node in the place of a peer votes no more. If this node has never met it, it is one of those
 * that are in no other place.
 */
void kfm_quorum_forget(struct kfm_peer *p)
{
	u64 nodes[KFM_PEERS] = {}, node = kfm_pair(p)->node;
	struct kfm *m = p->m;
	unsigned int i, n = 0;

	for (i = 0; i < voter_count(m); i++) {
		if (node ? m->sb.nodes[i] != node : in_place(m, m->sb.nodes[i]))
			nodes[n++] = m->sb.nodes[i];
	}
	memcpy(m->sb.nodes, nodes, sizeof(nodes));
}

/* A peer is about to be told which nodes vote. It may store the present generation from now on. */
void kfm_quorum_announce(struct kfm *m, struct kfm_msg *synced)
{
	memcpy(synced->nodes, m->sb.nodes, sizeof(synced->nodes));
	m->announced = synced->gens.cur;
}

/* Take over the numbers in SYNCED. Its sender does not name itself. */
void kfm_quorum_take(struct kfm *m, const struct kfm_msg *synced)
{
	unsigned int i, n = 0, all = kfm_peer_count(m);

	memset(m->sb.nodes, 0, sizeof(m->sb.nodes));
	if (m->policy != KFM_QUORUM)
		return;
	m->sb.nodes[n++] = synced->node;
	for (i = 0; i < KFM_PEERS && n < all; i++) {
		if (synced->nodes[i] && synced->nodes[i] != m->sb.node &&
		    !is_voter(m, synced->nodes[i]))
			m->sb.nodes[n++] = synced->nodes[i];
	}
}

/* ---- promotion ---- */

/* What STATE says of this node */
u32 kfm_quorum_flags(const struct kfm *m)
{
	if (m->policy != KFM_QUORUM)
		return 0;
	return KFM_M_QUORUM |
	       (m->sb.nodes[0] && !m->left && !(m->sb.flags & KFM_SB_DOUBT) ? KFM_M_VOTES : 0) |
	       (m->witness ? KFM_M_WITNESS : 0);
}

/* Has the node answered in the place of another peer? */
static bool twice(const struct kfm_peer *p, u64 node)
{
	struct kfm_peer *q;

	kfm_for_each_peer(q, p->m) {
		if (q != p && q->answer == KFM_A_STATE && q->voter == node)
			return true;
	}
	return false;
}

/**
 * kfm_quorum_vote() - take the answer of a peer to a candidate
 * @p: peer
 * @state: STATE, which describes its copy
 * @verdict: how that compares with the one of this node
 *
 * A copy that is newer or split gives no vote, but does not decide: with more than half of the
 * votes this node has all that was acknowledged.
 */
void kfm_quorum_vote(struct kfm_peer *p, const struct kfm_msg *state, enum kfm_verdict verdict)
{
	p->voter = state->node;
	p->votes = state->flags & KFM_M_VOTES && is_voter(p->m, state->node);
	if (verdict == KFM_OTHER || !(state->flags & KFM_M_QUORUM) || !state->gens.cur ||
	    twice(p, state->node))
		p->answer = KFM_A_NO;
	else if (verdict == KFM_STALE)
		p->answer = KFM_A_NEWER;
	else
		p->answer = verdict == KFM_SPLIT ? KFM_A_SPLIT : KFM_A_STATE;
}

/* Have more than half voted for this candidate? */
bool kfm_promote_voted(const struct kfm *m)
{
	unsigned int others = 0;
	struct kfm_peer *p;

	kfm_for_each_peer(p, m)
		others += p->answer == KFM_A_STATE && p->votes;
	return m->policy == KFM_QUORUM && m->sb.nodes[0] && most(m, others);
}

/**
 * kfm_quorum_promoted() - this node is about to store that it is primary
 * @m: mirror, with its new generation
 * @before: superblock before that
 * @force: by force
 *
 * The first generation of this policy is not taken back to one of another policy, and begins with
 * the nodes that have answered: those are all, or a person has said so.
 */
void kfm_quorum_promoted(struct kfm *m, const struct kfm_super *before, bool force)
{
	bool first = !before->nodes[0];
	unsigned int n = 0;
	struct kfm_peer *p;

	kfm_quorum_begin(m, force || first ? m->sb.gens.cur : before->gens.cur);
	if (m->policy != KFM_QUORUM)
		memset(m->sb.nodes, 0, sizeof(m->sb.nodes));
	if (m->policy != KFM_QUORUM || !first)
		return;
	kfm_for_each_peer(p, m) {
		if (p->answer == KFM_A_STATE)
			m->sb.nodes[n++] = p->voter;
	}
}

/**
 * kfm_quorum_force() - a primary below half goes on without all others
 * @m: primary
 *
 * Return: 0 or a negative error; then nothing has changed.
 */
int kfm_quorum_force(struct kfm *m)
{
	struct kfm_super before = m->sb;
	struct kfm_peer *p;
	int ret;

	if (m->leg_failed || m->meta_failed || m->stepping)
		return -EIO;
	kfm_for_each_peer(p, m)
		kfm_pair(p)->flags |= KFM_PAIR_ALONE;
	ret = kfm_pair_change(m->peers[0], kfm_pair(m->peers[0]));
	if (ret)
		m->sb = before;
	return ret;
}

/**
 * kfm_quorum_begin() - this node becomes primary, or is resumed
 * @m: mirror
 * @gen: the last generation in which a write may have ended
 */
void kfm_quorum_begin(struct kfm *m, u64 gen)
{
	m->reads_until = jiffies - 1;
	m->counted_gen = gen;
	m->quorate_at = jiffies;
	m->noquorum = false;
	m->stepping = false;
}

/**
 * kfm_quorum_witness() - note which peer is the witness
 * @m: formatted mirror
 *
 * There are no bits for a witness. If another table says that this peer has a copy, or has none any
 * more, nothing is known of that copy: the peer gets all of it.
 *
 * Return: has anything changed? Then the caller stores the superblock.
 */
bool kfm_quorum_witness(struct kfm *m)
{
	bool changed = false;
	struct kfm_peer *p;

	kfm_for_each_peer(p, m) {
		struct kfm_pair *pair = kfm_pair(p);

		if (p->witness == !!(pair->flags & KFM_PAIR_WITNESS))
			continue;
		if (!p->witness && kfm_oos_fill(p))	/* the generations may be the same */
			continue;
		pair->flags ^= KFM_PAIR_WITNESS;
		pair->base = 0;
		pair->source = 0;
		changed = true;
	}
	return changed;
}

/**
 * kfm_quorum_resume() - a table is resumed
 * @m: mirror, with its superblock, its policy and its role
 *
 * A primary goes on with what it knows to count. A node of another policy gives its word to that,
 * so it votes no more if this policy returns; if that can't be stored, it takes part in nothing.
 */
void kfm_quorum_resume(struct kfm *m)
{
	bool changed;

	kfm_quorum_begin(m, m->primary ? m->counted_gen : m->sb.gens.cur);
	if (!m->formatted)
		return;
	changed = kfm_quorum_witness(m);
	if (m->policy != KFM_QUORUM && m->sb.nodes[0]) {
		memset(m->sb.nodes, 0, sizeof(m->sb.nodes));
		changed = true;
	}
	if (changed)
		kfm_super_save(m);
}

/* A peer has stored the present generation, or this node has begun it. Context: the worker. */
void kfm_quorum_stored(struct kfm *m)
{
	if (kfm_quorate(m))
		m->counted_gen = m->sb.gens.cur;
}

/* ---- a primary below half ---- */

/*
 * The generations of a primary without the one in which no write has ended. There is one at most: a
 * generation begins with the promotion, or while the one before counts.
 */
static struct kfm_gens counted_gens(const struct kfm *m)
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
	return m->stepping || m->announced != m->sb.gens.cur ? counted_gens(m) : m->sb.gens;
}

/* Has the sender of HELLO, STATE or REFUSED this policy, as many peers, and the same witness? */
static bool is_alike(const struct kfm_peer *p, const struct kfm_msg *msg)
{
	bool quorum = msg->type == KFM_HELLO ? msg->features & KFM_F_QUORUM :
					       msg->flags & KFM_M_QUORUM;

	return quorum && msg->peers == kfm_peer_count(p->m) && kfm_roles_agree(p, msg);
}

/**
 * kfm_quorum_newer() - has a peer a generation that came behind the one of this primary?
 * @p: peer, which describes its generations
 * @msg: HELLO, STATE, or REFUSED with generations
 *
 * If so, this primary becomes secondary, unless it has more than half. A peer may have stored the
 * present generation of this node, which does not know that; then it is none of another one.
 */
void kfm_quorum_newer(struct kfm_peer *p, const struct kfm_msg *msg)
{
	struct kfm *m = p->m;
	struct kfm_gens counted = counted_gens(m);

	if (m->policy != KFM_QUORUM || !m->primary || !m->noquorum || m->stepping ||
	    kfm_quorate(m) || !msg->gens.cur || !is_alike(p, msg) ||
	    !kfm_node_matches(p, msg->node) ||
	    memcmp(m->sb.uuid, msg->uuid, sizeof(msg->uuid)) ||
	    kfm_compare(&m->sb.gens, &msg->gens, KFM_UPTODATE) < KFM_STALE ||
	    kfm_compare(&counted, &msg->gens, KFM_UPTODATE) != KFM_STALE)
		return;
	DMERR("%s: others have gone on without this node: its writes fail", kfm_name(m));
	m->stepping = true;
	kfm_sessions_drop(m);
}

/* The writes have been given back: become secondary, or try again in the next run. */
static void step_down(struct kfm *m)
{
	u32 state = m->sb.state;

	m->sb.state = KFM_OUTDATED;	/* whole, and others have gone on */
	if (kfm_demote(m))
		m->sb.state = state;
	else
		m->stepping = false;
}

/* Go on without the peers that are lost, if more than half are left. */
static void without_lost(struct kfm *m)
{
	struct kfm_peer *p;

	kfm_for_each_peer(p, m) {
		if (p->state <= KFM_SESSION_HELLO && p->policy_applied && !kfm_is_alone(p) &&
		    kfm_may_go_alone(p))
			kfm_go_alone(p);
	}
}

/* Have more than half of the nodes, this one included, answered what was sent at @at or later? */
static bool heard_since(const struct kfm *m, unsigned long at)
{
	unsigned int others = 0;
	struct kfm_peer *p;

	kfm_for_each_peer(p, m)
		others += counts(p) && !time_before(p->heard, at);
	return most(m, others);
}

/*
 * Reads may go on for half of the time-out since then. An answer may be old when the worker takes it,
 * so it counts from the time at which its PING was sent. A primary by force asks nobody.
 */
static void reads_extend(struct kfm *m)
{
	struct kfm_peer *p;

	if (forced(m))
		WRITE_ONCE(m->reads_until, jiffies + m->timeout / 2);
	kfm_for_each_peer(p, m) {
		if (counts(p) && heard_since(m, p->heard) &&
		    time_after(p->heard + m->timeout / 2, m->reads_until))
			WRITE_ONCE(m->reads_until, p->heard + m->timeout / 2);
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
		without_lost(m);
	reads_extend(m);
	if (kfm_quorate(m)) {
		m->quorate_at = jiffies;
		m->noquorum = false;
	} else if (!m->noquorum && time_after(jiffies, m->quorate_at + m->timeout / 2)) {
		m->noquorum = true;
		kfm_event(m, "noquorum");
	}
}
