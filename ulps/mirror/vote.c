// SPDX-License-Identifier: GPL-2.0
/*
 * vote.c - which nodes vote, and for whom: rules Q2 and Q4 of quorum.c. All of it is the worker's.
 */
#include "bits.h"
#include "meta.h"
#include "mirror.h"
#include "peer.h"
#include "quorum.h"
#include "session.h"

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

/*
 * May this node vote? Not while it may have followed a primary before it was resumed that still
 * serves reads because of that.
 */
static bool may_vote(const struct kfm *m)
{
	if (m->reads_quorum && time_before(jiffies, m->resumed + m->timeout))
		return false;
	return m->sb.nodes[0] && !m->left && !(m->sb.flags & KFM_SB_DOUBT);
}

/* What STATE says of this node */
u32 kfm_quorum_flags(const struct kfm *m)
{
	if (m->policy != KFM_QUORUM)
		return 0;
	return KFM_M_QUORUM | (may_vote(m) ? KFM_M_VOTES : 0) |
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
	return m->policy == KFM_QUORUM && m->sb.nodes[0] && kfm_most(m, others);
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
