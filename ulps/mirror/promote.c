// SPDX-License-Identifier: GPL-2.0
/*
 * promote.c - a node becomes primary, or secondary. Before a promotion it asks all peers which copy
 * they have, so `promote` ends in a later run of the worker. All of it is the worker's.
 */
#include <linux/blkdev.h>
#include "bits.h"
#include "command.h"
#include "copy.h"
#include "event.h"
#include "flush.h"
#include "log.h"
#include "meta.h"
#include "mirror.h"
#include "peer.h"
#include "promote.h"
#include "quorum.h"
#include "rail.h"
#include "repair.h"
#include "session.h"
#include "table.h"
#include "told.h"
#include "verify.h"
#include "write.h"

#define REQUEST_EVERY	(HZ / 4)

/* Return: 0, or the reason for which no answer of the peer can make a promotion possible. */
static int promote_check(struct kfm *m, const struct kfm_cmd *cmd)
{
	bool force = kfm_has_word(cmd, "force");

	if (cmd->argc > 2 || (cmd->argc == 2 && !force && !kfm_has_word(cmd, "fenced")))
		return -EINVAL;
	if (m->witness)
		return -EOPNOTSUPP;
	if (!m->formatted)
		return -ENODATA;
	if (m->primary)
		return force && !kfm_quorate(m) ? kfm_quorum_force(m) : -EALREADY;
	if (m->promote || m->leave)
		return -EBUSY;
	/* with this policy no manager decides that */
	if (m->policy == KFM_QUORUM && kfm_has_word(cmd, "fenced"))
		return -EINVAL;
	if (m->meta_failed || m->log.failed || m->leg_failed)
		return -EIO;
	if (m->sb.flags & KFM_SB_DOUBT)	/* it may have been half overwritten */
		return -EUCLEAN;
	/* a blank one was given up by kfm_detach(): what it lacks was acknowledged */
	if (m->sb.state == KFM_INCONSISTENT ||
	    (m->sb.flags & KFM_SB_LEG_FAILED && (!force || m->sb.state == KFM_BLANK)))
		return -EUCLEAN;
	return m->sb.state == KFM_BLANK && !force ? -ENODATA : 0;
}

/*
 * Did the log of this node, which has been replayed, end before that of a peer of the same
 * generation? Then its last records may be lost, and may have been acknowledged. The peer has them.
 */
static bool log_ends_early(const struct kfm *m)
{
	struct kfm_peer *p;

	kfm_for_each_peer(p, m) {
		if (p->answer != KFM_A_STATE || !kfm_told_longer(p))
			continue;
		DMERR("%s: not promoted: the log of %s goes further: promote that one", kfm_name(m),
		      kfm_peer_name(p));
		return true;
	}
	return false;
}

/*
 * Become primary, in the order that README.md gives: end the session, so that the old primary can
 * write nothing more; replay its log to the leg; flush the leg, whose cache may have what the old
 * primary has acknowledged; empty the log, so that it is never replayed over newer writes; raise
 * the generation. Each step is durable before the next one. Reads and writes do not wait for peers
 * that have not described their copies, or for any peer after a promotion by force.
 */
static int become_primary(struct kfm *m, bool force)
{
	struct kfm_super before;
	struct kfm_peer *p;
	int ret;

	if (kfm_tears(m))
		return -EMEDIUMTYPE;
	kfm_peers_end(m);
	if (m->log.failed)	/* while the peers were asked */
		return -EIO;
	ret = kfm_log_replay(m);
	if (ret == -EUCLEAN && !kfm_has_word(m->promote, "force"))
		return kfm_writes_missing(m) ?: ret;
	if (ret == -EBADMSG && !kfm_has_word(m->promote, "force"))
		return -EUCLEAN;	/* and the log remains, so this is found again */
	if (ret && ret != -EUCLEAN && ret != -EBADMSG)
		return ret;
	if (!ret && !force && log_ends_early(m))
		return -ESTALE;
	ret = blkdev_issue_flush(m->leg->bdev);
	if (ret) {	/* the next flush would not fail for what is lost now */
		m->log.failed = true;
		return ret;
	}
	before = m->sb;
	kfm_for_each_peer(p, m) {
		if (force || p->answer != KFM_A_STATE)
			kfm_pair(p)->flags |= KFM_PAIR_ALONE;
		else if (m->policy == KFM_QUORUM)	/* those that answered are more than half */
			kfm_pair(p)->flags &= ~KFM_PAIR_ALONE;
	}
	kfm_gens_raise(&m->sb.gens, kfm_random());
	m->sb.gens.source = 0;
	m->sb.state = KFM_UPTODATE;
	m->sb.flags &= ~KFM_SB_LEG_FAILED;	/* by force */
	m->sb.flags |= KFM_SB_PRIMARY;
	kfm_quorum_promoted(m, &before, force);
	ret = kfm_log_start(m, kfm_random(), m->sb.gens.cur, m->sb.node) ?: kfm_super_save(m);
	if (ret) {
		m->sb = before;
		return ret;
	}
	kfm_flush_reset(m);
	kfm_for_each_peer(p, m) {
		p->policy_applied = false;
		p->attach = false;
		p->refused = 0;
		p->rail = p->asked_by ?: p->rail;	/* it has answered by that */
		p->down = jiffies;
		p->next = jiffies;
	}
	m->was_insync = false;
	m->followed = NULL;
	m->left = false;
	m->open = false;
	smp_store_release(&m->primary, true);	/* after @open; pairs with kfm_map() */
	kfm_event(m, "primary");
	return 0;
}

/* End `promote`, if there is one. */
void kfm_promote_end(struct kfm *m, int ret)
{
	struct kfm_cmd *cmd = m->promote;

	m->promote = NULL;
	if (cmd)
		kfm_cmd_end(cmd, ret);
}

/*
 * Decide when all answers have arrived, or when the time for them has ended. If the answer of a
 * peer reports a session with a live primary, the primary is not dead, whatever the manager has
 * decided.
 */
static int promote_decide(struct kfm *m)
{
	bool force = kfm_has_word(m->promote, "force"), unknown = false;
	struct kfm_peer *p;
	int why = -EPERM;

	kfm_for_each_peer(p, m) {
		if (p->answer == KFM_A_FOLLOWS)
			return -EBUSY;
		if (p->answer == KFM_A_NEWER)
			why = -ESTALE;
		else if (p->answer == KFM_A_SPLIT && why == -EPERM)
			why = -ENOTUNIQ;
		unknown |= p->answer != KFM_A_STATE;
	}
	if (!unknown || force || kfm_promote_voted(m))
		return become_primary(m, force);
	if (!kfm_has_word(m->promote, "fenced") || m->policy == KFM_ALONE || !m->was_insync ||
	    m->sb.state != KFM_UPTODATE) {
		DMERR_LIMIT("%s: not promoted: this copy may lack acknowledged writes",
			    kfm_name(m));
		return why;
	}
	return become_primary(m, false);
}

/* Does the copy of a peer permit the promotion? */
static int promote_compared(struct kfm_peer *p, const struct kfm_msg *msg)
{
	enum kfm_verdict verdict = kfm_peer_compare(p, msg);
	struct kfm *m = p->m;
	bool whole;

	if (kfm_told_takes(m, msg))
		return -EUCLEAN;
	whole = msg->state == KFM_UPTODATE || msg->state == KFM_OUTDATED;
	p->log_epoch = whole && msg->gens.cur == m->sb.gens.cur ? msg->epoch : 0;
	p->log_number = msg->number;
	if (m->policy == KFM_QUORUM) {
		kfm_quorum_vote(p, msg, verdict);
		return 0;
	}
	p->answer = verdict == KFM_OTHER ? KFM_A_NO : KFM_A_STATE;
	if (verdict == KFM_OTHER || kfm_has_word(m->promote, "force"))
		return 0;
	if (verdict == KFM_STALE || (m->sb.state == KFM_OUTDATED && verdict != KFM_SAME))
		return -ESTALE;
	return verdict == KFM_SPLIT ? -ENOTUNIQ : 0;
}

static int promote_refused(struct kfm_peer *p, u32 why)
{
	const struct kfm *m = p->m;

	p->answer = why == KFM_R_FOLLOWS ? KFM_A_FOLLOWS : KFM_A_NO;
	if (why == KFM_R_PRIMARY)
		return -EBUSY;
	/* it may have gone on alone, whatever the manager says of it; with a quorum others know */
	if (why == KFM_R_DOUBT && m->policy != KFM_QUORUM && !kfm_has_word(m->promote, "force"))
		return -ESTALE;
	return why == KFM_R_BUSY ? -EAGAIN : 0;
}

/* A peer has answered the HELLO of a candidate. */
void kfm_promote_answer(struct kfm_peer *p, const struct kfm_msg *msg)
{
	struct kfm *m = p->m;
	int ret = 0;

	p->asked_by = p->came;
	if (msg->type == KFM_STATE)
		ret = promote_compared(p, msg);
	else if (msg->type == KFM_REFUSED)
		ret = promote_refused(p, msg->arg);
	if (ret) {
		kfm_promote_end(m, ret);
		return;
	}
	kfm_for_each_peer(p, m) {
		if (p->answer == KFM_A_NONE || p->answer == KFM_A_FOLLOWS)
			return;
	}
	kfm_promote_end(m, promote_decide(m));
}

/* Ask again, or decide without those that have not answered. */
void kfm_promote_tick(struct kfm *m)
{
	struct kfm_peer *p;

	if (time_after(jiffies, m->promote_by)) {
		kfm_promote_end(m, promote_decide(m));
		return;
	}
	kfm_for_each_peer(p, m) {
		if (time_before(jiffies, p->next))
			continue;
		p->next = jiffies + kfm_rails_wait(p, REQUEST_EVERY);
		p->asked_by = p->asked_by ? kfm_rail_next(p->asked_by) : p->rail;
		kfm_peer_hello(p->asked_by, KFM_M_CANDIDATE);
	}
}

/* Begin to execute `promote`. */
void kfm_promote(struct kfm *m, struct kfm_cmd *cmd)
{
	int ret = promote_check(m, cmd);
	struct kfm_peer *p;

	if (ret || m->primary) {	/* by force, below half */
		kfm_cmd_end(cmd, ret);
		return;
	}
	m->promote = cmd;
	/* a peer reports a session with a dead primary until its own time-out */
	m->promote_by = jiffies + m->timeout + 2 * REQUEST_EVERY;
	kfm_for_each_peer(p, m) {
		p->answer = KFM_A_NONE;
		p->asked_by = NULL;
		p->next = jiffies;
	}
}

/**
 * kfm_demote() - become secondary
 * @m: mirror
 *
 * Return: 0; or a negative error, and nothing has changed, or it can be tried again.
 */
int kfm_demote(struct kfm *m)
{
	struct kfm_gens gens = m->sb.gens;
	int ret;

	if (!m->primary)
		return -EALREADY;
	kfm_verify_stop(m);	/* its part may still wait for a leg that hangs */
	if (!kfm_writes_idle(m))
		return -EBUSY;
	kfm_repair_bad_rest(m);
	ret = kfm_bits_rest(m);
	if (ret)
		return ret;
	m->sb.gens = kfm_quorum_kept(m);
	m->sb.flags &= ~KFM_SB_PRIMARY;
	ret = kfm_super_save(m);
	if (ret) {
		m->sb.gens = gens;
		return ret;
	}
	WRITE_ONCE(m->primary, false);
	WRITE_ONCE(m->repair.bad_count, 0);
	m->leg_failed |= m->detached;	/* the leg is used again after a resume */
	kfm_peers_end(m);
	kfm_event(m, "secondary");
	return 0;
}
