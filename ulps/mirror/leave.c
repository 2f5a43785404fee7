// SPDX-License-Identifier: GPL-2.0
/*
 * leave.c - an orderly stop of a secondary: it outdates its copy, durably, and sends LEAVE until
 * its primary goes on without it, and answers BYE. All of it runs in the worker.
 */
#include "command.h"
#include "copy.h"
#include "leave.h"
#include "leg.h"
#include "meta.h"
#include "mirror.h"
#include "peer.h"
#include "quorum.h"
#include "session.h"

#define LEAVE_EVERY	(HZ / 4)
#define HELLO_AGAIN	(2 * HZ)	/* to a node that has left */

/* ---- secondary ---- */

/*
 * Say to a primary, in its present session, that this node leaves. A primary that names no such
 * feature does not know LEAVE.
 */
void kfm_leave_send(struct kfm_peer *p)
{
	if (p->features & KFM_F_LEAVE)
		kfm_peer_send(p, KFM_LEAVE, 0, p->session);
}

/* End `leave`, if there is one. */
void kfm_leave_end(struct kfm *m, int ret)
{
	struct kfm_cmd *cmd = m->leave;

	m->leave = NULL;
	if (cmd)
		kfm_cmd_end(cmd, ret);
}

/* Repeat LEAVE until BYE answers it. While the primary sends HELLO, secondary.c does so. */
void kfm_leave_tick(struct kfm *m)
{
	struct kfm_peer *p = m->log.peer;

	if (time_after(jiffies, m->leave_by)) {
		kfm_peers_end(m);
		if (m->policy == KFM_QUORUM)
			m->left = false;	/* the primary needs this node */
		kfm_leave_end(m, -ETIMEDOUT);
	} else if (p->state == KFM_SESSION_UP && !time_before(jiffies, p->next)) {
		p->next = jiffies + LEAVE_EVERY;
		kfm_leave_send(p);
	}
}

/* Return: 0, or the reason for which this node does not leave. */
static int leave_check(const struct kfm *m)
{
	if (m->primary || m->promote || m->leave)
		return -EBUSY;
	if (!m->formatted)
		return -ENODATA;
	if (m->policy == KFM_STOP)
		return -EINVAL;
	if (!m->log.open)
		return -ENOTCONN;
	return m->log.peer->features & KFM_F_LEAVE ? 0 : -EOPNOTSUPP;
}

/*
 * The session goes on until the primary writes without this copy, so that nothing is held. What
 * makes that safe is durable before LEAVE: the copy is outdated, and no SYNCED changes that any
 * more.
 */
void kfm_leave(struct kfm *m, struct kfm_cmd *cmd)
{
	int ret = cmd->argc == 1 ? leave_check(m) : -EINVAL;

	if (!ret)
		ret = kfm_store_outdated(m);
	if (ret) {
		kfm_cmd_end(cmd, ret);
		return;
	}
	m->left = true;
	m->leave = cmd;
	m->leave_by = jiffies + m->timeout;
	m->log.peer->next = jiffies;
}

/* ---- primary ---- */

/*
 * A detached node can't do without the peer. The copy that it has outdated is whole, and becomes
 * up to date in the next session. This one ends, because a peer with such a copy serves no reads;
 * they wait. A peer that does not know the answer ignores it, and sends LEAVE again until it is
 * resumed.
 */
static void leave_refuse(struct kfm_peer *p)
{
	bool up = p->state == KFM_SESSION_UP;

	kfm_peer_send(p, KFM_REFUSED, KFM_R_ONLY, p->session);
	kfm_peer_lost(p, -EBUSY);
	if (up)
		p->next = jiffies;
}

/*
 * The peer has stored that its copy is outdated, if it was whole. If it comes back with one that is
 * up to date, in no newer generation, its disk was put back: kfm_state_compare().
 */
static void note_left(struct kfm_peer *p)
{
	if (kfm_pair(p)->flags & KFM_PAIR_LEFT)
		return;
	kfm_pair(p)->flags |= KFM_PAIR_LEFT;
	if (kfm_super_save(p->m))
		kfm_pair(p)->flags &= ~KFM_PAIR_LEFT;
}

/*
 * A secondary leaves. It has stored that its copy is outdated, so this node goes on without it, as
 * if a manager had said so, and nothing is held. The session ends in the same run of the worker.
 * Without an answer LEAVE is repeated, also as the answer to the next HELLO. Policy stop needs
 * both copies, and policy quorum more than half of the nodes.
 */
void kfm_leave_message(struct kfm_peer *p)
{
	struct kfm *m = p->m;

	if (!kfm_is_alone(p) && !kfm_may_do_without(p)) {
		leave_refuse(p);
		return;
	}
	if (m->policy == KFM_STOP || m->leg_failed ||
	    (!kfm_is_alone(p) && (!kfm_may_go_alone(p) || kfm_go_alone(p))))
		return;
	note_left(p);
	kfm_peer_lost(p, -ESHUTDOWN);
	p->next = jiffies + HELLO_AGAIN;
	kfm_peer_send(p, KFM_BYE, KFM_BYE_LEAVE, p->session);
}

/**
 * kfm_state_compare() - what a peer needs, as kfm_peer_compare() says it
 * @p: peer of a primary
 * @state: STATE, in which the peer describes its copy
 *
 * All of the copy is written if the peer has stored that it is outdated, and does not know that any
 * more: its disk was put back, and the bitmap has what it lacked later.
 */
enum kfm_verdict kfm_state_compare(const struct kfm_peer *p, const struct kfm_msg *state)
{
	enum kfm_verdict verdict = kfm_peer_compare(p, state);

	if (p->witness || !(kfm_pair(p)->flags & KFM_PAIR_LEFT) ||
	    state->state != KFM_UPTODATE || verdict >= KFM_FULL)
		return verdict;
	DMERR_LIMIT("%s: the disk of %s was put back to an earlier state: all of it is written",
		    kfm_name(p->m), kfm_peer_name(p));
	return KFM_FULL;
}
