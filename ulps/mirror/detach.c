// SPDX-License-Identifier: GPL-2.0
/*
 * detach.c - what follows when the leg of a primary has failed.
 *
 * When a write to the leg has failed, the copy of this node is not used any more. If the table
 * says `on-io-error fail`, or no peer has all data, all writes fail, and all sessions end: a peer
 * keeps the good copy, and can be promoted (kfm_peers_leg_failed()). A leg that answers nothing
 * has not failed: the writes wait for it.
 *
 * With `on-io-error detach` this node goes on over the network: it is *detached* (kfm_detach()).
 * It remains primary, and its peers have the data. Writes are those of a mirror whose leg answers
 * at once, and reads are asked of a peer (repair.c). These rules keep a stale copy from being used:
 *
 * R1: before a write ends without the leg, the superblock says durably that this copy is
 *	worthless: it is blank, and has KFM_SB_LEG_FAILED. Such a copy is not promoted, not even by
 *	force, unless `invalidate` has made it a blank one like others; and a primary gives it all
 *	regions. If that can't be stored, all writes fail.
 * R2: before a write ends without the leg, all peers that have the data have stored a new
 *	generation (kfm_generation_known()). So this copy is an older one for them, even if what
 *	R1 has stored is lost with the metadata device.
 * R3: there is always a peer without KFM_PAIR_ALONE, which so has all that was acknowledged: this
 *	node does without a peer only while another one is in sync (kfm_may_do_without()). If the
 *	last one is lost, reads and writes are held until it is back, whatever the policy says. If
 *	it is known that none can come back with all data, they fail (kfm_leg_run()).
 * R4: no region of a peer is resynchronised, because there is nothing to copy from. A peer that
 *	needs that has no session. So the regions of peers that have the data are never out of
 *	sync.
 *
 * The leg is used again when the node is a secondary and has been resumed: then it gets all
 * regions. A disk that fails now and then does not come back by itself, unless a manager demotes
 * this node and starts the mirror again.
 */
#include "event.h"
#include "leg.h"
#include "meta.h"
#include "mirror.h"
#include "peer.h"
#include "session.h"

/*
 * A peer that lacks data, and can't get it from here any more, is lost: the policy applies. If it
 * was being resynchronised, nobody has to decide: its copy is inconsistent, durably.
 */
static void peer_left(struct kfm_peer *p)
{
	bool partial = p->state == KFM_SESSION_UP && p->attach && !p->synced_sent;

	if (p->state != KFM_SESSION_DOWN) {
		kfm_peer_send(p, KFM_BYE, 0, p->session);
		kfm_peer_lost(p, -EIO);
	}
	if (partial && !kfm_is_alone(p))
		kfm_go_alone(p);
	p->policy_applied = false;	/* apply_policy() does nothing while the leg has failed */
}

/**
 * kfm_detach() - go on without the leg, over the network
 * @m: primary
 *
 * The new generation gets to the peers by SYNCED, and no write ends before they have stored it.
 *
 * With policy quorum this node, which counts as one that has the data, would have none.
 *
 * Context: the worker.
 * Return: 0; -EALREADY; -EOPNOTSUPP with that policy; -ENOTCONN if no peer has the data; or another
 * negative error. Then nothing has changed.
 */
int kfm_detach(struct kfm *m)
{
	struct kfm_super before = m->sb;
	struct kfm_peer *p;
	int ret;

	if (m->detached)
		return -EALREADY;
	if (m->policy == KFM_QUORUM)
		return -EOPNOTSUPP;
	if (m->meta_failed)
		return -EIO;
	if (!kfm_has_source(m, NULL))
		return -ENOTCONN;
	m->sb.state = KFM_BLANK;
	m->sb.flags |= KFM_SB_LEG_FAILED;
	kfm_gens_raise(&m->sb.gens, kfm_random());
	ret = kfm_super_save(m);
	if (ret) {
		m->sb = before;
		return ret;
	}
	m->leg_failed = false;
	WRITE_ONCE(m->detached, true);	/* map() */
	kfm_for_each_peer(p, m) {
		if (kfm_is_source(p))
			p->next = jiffies;	/* SYNCED */
		else if (!kfm_is_alone(p) || p->state != KFM_SESSION_DOWN)
			peer_left(p);
	}
	DMERR("%s: goes on without its leg, over the network", kfm_name(m));
	kfm_event(m, "detached");
	kfm_kick(m);
	return 0;
}

/**
 * kfm_leg_run() - decide what follows if the leg has failed
 * @m: mirror
 *
 * If the metadata of a detached node fails, what R1 has stored may be lost as well: all writes
 * fail then, as after any failure of both. They also fail if each peer is known to lack data: none
 * can come back with all of it.
 *
 * Context: the worker, after kfm_leg_check(), and before writes end or fail.
 */
void kfm_leg_run(struct kfm *m)
{
	if (m->detached)
		m->leg_failed |= m->meta_failed || !kfm_only_copy(m);
	else if (m->primary && m->leg_failed && m->detach)
		kfm_detach(m);
}
