// SPDX-License-Identifier: GPL-2.0
/*
 * leg.c - the leg of a primary: what is written to it, and what follows when it has failed.
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
#include "leg.h"
#include "meta.h"
#include "mirror.h"
#include "own.h"
#include "peer.h"
#include "repair.h"
#include "verify.h"
#include "write.h"
#include "zero.h"

/* ---- writes to the leg ---- */

static void leg_continue(struct kfm *m)
{
	if (in_hardirq() || irqs_disabled())
		kfm_kick(m);
	else
		kfm_run_atomic(m, NULL);
}

/*
 * Any context. While a record of the write is at a provider, there is nothing to do: the record's
 * completion, which comes later, finds that the leg has the data. Another context may end and reuse
 * the write as soon as @leg_busy is false; then nothing is left to do here, whatever
 * kfm_posts_busy() says of the next write.
 */
static void leg_end_io(struct bio *bio)
{
	struct kfm_write *w = container_of(bio, struct kfm_write, leg);
	blk_status_t status = bio->bi_status;
	struct kfm *m = w->m;

	w->leg_status = status;
	rcu_read_lock();	/* see kfm_signal() */
	smp_store_release(&w->leg_busy, false);	/* pairs with kfm_busy() */
	smp_mb();		/* before kfm_posts_busy(); pairs with record_done(), see claim.c */
	if (status)
		kfm_kick(m);
	else if (!kfm_posts_busy(w))
		leg_continue(m);
	rcu_read_unlock();
}

/* The write belongs to the cgroup and has the priority of its submitter, whoever executes it. */
static void leg_prepare(struct kfm_write *w, blk_opf_t op)
{
	struct kvec pieces[KFM_CHUNKS];
	unsigned int i, n = kfm_write_pieces(w, KFM_DATA_AT, kfm_write_data(w), pieces);

	bio_init(&w->leg, w->m->leg->bdev, w->vecs, KFM_CHUNKS, op);
	if (w->bio) {
		bio_clone_blkg_association(&w->leg, w->bio);
		w->leg.bi_ioprio = w->bio->bi_ioprio;
	}
	w->leg.bi_iter.bi_sector = w->sector;
	w->leg.bi_end_io = leg_end_io;
	for (i = 0; i < n; i++)
		__bio_add_page(&w->leg, virt_to_page(pieces[i].iov_base), pieces[i].iov_len,
			       offset_in_page(pieces[i].iov_base));
	w->leg_busy = true;
}

/* May the leg be written? If not, the write has ended with an error. */
static bool leg_logged(struct kfm_write *w)
{
	int ret = kfm_own_store(w);

	if (!ret)
		return true;
	DMERR_LIMIT("%s: can't store a record before the leg is written (%d)", kfm_name(w->m), ret);
	bio_io_error(&w->leg);
	return false;
}

/**
 * kfm_leg_begin() - prepare a write to the leg
 * @w: write of data, or a flush
 * @op: operation and flags
 *
 * Return: true if the caller is to submit &kfm_write.leg; false if the write has ended.
 */
bool kfm_leg_begin(struct kfm_write *w, blk_opf_t op)
{
	leg_prepare(w, op);
	return leg_logged(w);
}

/* A detached node has no leg. A write there is what its peers have of it; a read has no data. */
static void leg_left_out(struct kfm_write *w, blk_opf_t op)
{
	w->leg_status = op_is_write(op) ? BLK_STS_OK : BLK_STS_IOERR;
	w->leg_busy = false;
	kfm_kick(w->m);
}

/* Write the data to the leg, or read it from the leg. Context: the worker. */
void kfm_write_leg(struct kfm_write *w, blk_opf_t op)
{
	if (w->m->detached) {
		leg_left_out(w, op);
		return;
	}
	leg_prepare(w, op);
	if (w->kind == KFM_ZEROES)
		queue_work(kfm_store_wq, &w->zero);
	else if (leg_logged(w))
		submit_bio(&w->leg);
}

/* ---- the leg has failed ---- */

/**
 * kfm_leg_check() - find out whether a write to the leg has failed
 * @m: primary
 *
 * This comes before a session is found to have ended, and before a write ends: from now on this
 * node must neither go on without a peer nor be the source of a resynchronisation. The copy of the
 * peer is the good one.
 *
 * Context: any that has claimed the mirror.
 */
void kfm_leg_check(struct kfm *m)
{
	struct kfm_write *w;

	if (m->detached)
		return;
	list_for_each_entry(w, &m->flight, entry)
		m->leg_failed |= !w->peer && !kfm_busy(&w->leg_busy) && w->leg_status;
	m->leg_failed |= kfm_repair_leg_failed(m);
}

/* Has the peer all data, and a session? */
static bool is_source(const struct kfm_peer *p)
{
	return p->state == KFM_SESSION_UP && p->insync && !p->witness && !p->gap && !p->oos_count;
}

/* Is there a peer other than @but that has all data, and a session? */
static bool has_source(const struct kfm *m, const struct kfm_peer *but)
{
	struct kfm_peer *p;

	kfm_for_each_peer(p, m) {
		if (p != but && is_source(p))
			return true;
	}
	return false;
}

/**
 * kfm_only_copy() - choose the peer whose copy is the data of a detached node
 * @m: mirror
 *
 * One with a session is better than one that may never return. What it has of a write that does
 * not end counts; the others may differ from it.
 *
 * Context: any that has claimed the mirror. Return: the peer; or NULL: all peers lack data, or the
 * node is not detached.
 */
struct kfm_peer *kfm_only_copy(const struct kfm *m)
{
	struct kfm_peer *p, *found = NULL;

	kfm_for_each_peer(p, m) {
		if (!m->detached || kfm_lacks_data(p))
			continue;
		if (is_source(p))
			return p;
		found = found ?: p;
	}
	return found;
}

/**
 * kfm_may_do_without() - may this node write without a peer, if its policy says so?
 * @p: peer of a primary
 *
 * A detached one needs another peer that has the data: R3.
 */
bool kfm_may_do_without(const struct kfm_peer *p)
{
	return !p->m->detached || has_source(p->m, p);
}

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
 * Context: the worker. Return: 0; -EALREADY; -EOPNOTSUPP with that policy, or if the leg has a log
 * of this node's own; -ENOTCONN if no peer has the data; or another negative error. Then nothing
 * has changed.
 */
int kfm_detach(struct kfm *m)
{
	struct kfm_super before = m->sb;
	struct kfm_peer *p;
	int ret;

	if (m->detached)
		return -EALREADY;
	if (m->leg_tears || m->policy == KFM_QUORUM)
		return -EOPNOTSUPP;
	if (m->meta_failed)
		return -EIO;
	if (!has_source(m, NULL))
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
	kfm_verify_stop(m);
	kfm_for_each_peer(p, m) {
		if (is_source(p))
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

/* Does the superblock say that this primary is detached? No other one has a blank copy. */
bool kfm_detached_stored(const struct kfm *m)
{
	return m->primary && m->sb.state == KFM_BLANK && m->sb.flags & KFM_SB_LEG_FAILED;
}

/**
 * kfm_source_back() - a peer has become in sync
 * @p: peer of a primary
 *
 * A detached node could not do without others before, and may now: the policy is applied to them.
 */
void kfm_source_back(const struct kfm_peer *p)
{
	struct kfm_peer *q;

	kfm_for_each_peer(q, p->m) {
		if (p->m->detached && q != p && q->state != KFM_SESSION_UP)
			q->policy_applied = false;
	}
}
