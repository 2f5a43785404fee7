// SPDX-License-Identifier: GPL-2.0
/*
 * minority.c - a primary below half, which others may have left: rule Q3 of quorum.c. All of it is
 * the worker's.
 */
#include "event.h"
#include "mirror.h"
#include "peer.h"
#include "promote.h"
#include "quorum.h"
#include "session.h"

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
	struct kfm_gens counted = kfm_counted_gens(m);

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
	kfm_reads_extend(m);
	if (kfm_quorate(m)) {
		m->quorate_at = jiffies;
		m->noquorum = false;
	} else if (!m->noquorum && time_after(jiffies, m->quorate_at + m->timeout / 2)) {
		m->noquorum = true;
		kfm_event(m, "noquorum");
	}
}
