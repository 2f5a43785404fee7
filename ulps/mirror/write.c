// SPDX-License-Identifier: GPL-2.0
/*
 * write.c - how the primary executes a write.
 *
 *   kfm_map()			hands over the bio (main.c)
 *   admit_writes()		takes a struct kfm_write, unless the write overlaps one in flight
 *   kfm_writes_launch()	makes the extent active, durably, copies the data, writes to the
 *				leg
 *   kfm_post_all()		writes records to the log or to slots of a peer (post.c)
 *   kfm_writes_end()		ends the bio when the leg has the data, and its record is durable
 *				at the peer; a record in the log ends after all before it
 *
 * run.c calls these in turn, with the mirror claimed (claim.c). The completions clear @leg_busy and
 * kfm_post.busy with release semantics. No memory is allocated.
 */
#include <linux/highmem.h>
#include "bits.h"
#include "flush.h"
#include "leg.h"
#include "mirror.h"
#include "peer.h"
#include "quorum.h"
#include "repair.h"
#include "rest.h"
#include "resync.h"
#include "session.h"
#include "write.h"
#include "zero.h"

/* ---- ends ---- */

static void end_bio(struct kfm_write *w, blk_status_t status)
{
	w->bio->bi_status = status;
	bio_endio(w->bio);
	w->bio = NULL;
	w->m->bios--;
	w->m->zeroes -= w->kind == KFM_ZEROES;
}

/*
 * A write ends. Set its bits for the peers that are not known to have it, or are not the same. For
 * the others this leg, or theirs, may have it in a volatile cache alone. If a write of a detached
 * node fails, what one peer has of it is the data.
 */
static void mark_peers(const struct kfm_write *w)
{
	struct kfm_peer *p, *only = w->left_out ? NULL : kfm_only_copy(w->m);

	kfm_for_each_peer(p, w->m) {
		if ((p == only && w->leg_status) ||
		    (w->left_out && w->posts[p->index].state == KFM_P_NONE))
			continue;
		if (w->leg_status || kfm_unacked(p, w))
			kfm_oos_set(p, w->sector, w->len);
		else if (w->cached)
			kfm_cached_set(p, w->sector, w->len);
	}
}

static void finish(struct kfm *m, struct kfm_write *w)
{
	if (w->kind == KFM_FLUSH) {
		kfm_flush_ended(w);
	} else {
		if (w->bio)
			mark_peers(w);
		if (!m->detached || w->cached)
			kfm_flush_outdated(m);
	}
	if (w->bio)
		end_bio(w, w->leg_status);
	else if (w->peer)
		kfm_resync_part(w);
	kfm_write_put(w);
}

/* Is an error that of a record, or of the peer, and not of the way to it? */
static bool is_of_peer(int err)
{
	return err == -EACCES || err == -EBADMSG || err == -EIO || err == -EPROTO ||
	       err == -EREMOTEIO;
}

/* Check which posted records are durable at the peer. Return: 0, or the error of a record. */
int kfm_acks_collect(struct kfm_peer *p)
{
	struct kfm_post *post;
	struct kfm_write *w;
	int err = 0;

	list_for_each_entry(w, &p->m->flight, entry) {
		post = &w->posts[p->index];
		if (post->state != KFM_P_POSTED || kfm_busy(&post->busy))
			continue;
		if (post->err) {
			err = post->err;
			post->rail->failed |= !is_of_peer(err);
			continue;
		}
		post->state = KFM_P_ACKED;
		kfm_slot_free(p, post);
		if (post->rail == p->rail)	/* another one says nothing of messages */
			p->live = jiffies;
	}
	return err;
}

/* A flush that clears bits waits for no peer that is away, whose bits stay. */
static bool waits_for(const struct kfm_write *w, const struct kfm_peer *p)
{
	if (w->kind == KFM_FLUSH && !w->bio)
		return p->state == KFM_SESSION_UP;
	return !kfm_peer_optional(p);
}

/*
 * The peers that hold up a write, as bits: they are needed, and its record is not known to be
 * durable there, or it is in the log and one before it is not, because a replay stops at the first
 * missing record. A direct record has no place in the log, nor has a flush. @missing: peers at
 * whose log this is so for a record before; those of this write are added.
 */
static unsigned int holding_peers(const struct kfm_write *w, unsigned int *missing)
{
	unsigned int bits = 0;
	struct kfm_peer *p;
	bool logged;

	kfm_for_each_peer(p, w->m) {
		logged = !w->posts[p->index].direct && w->kind != KFM_FLUSH;
		if (kfm_unacked(p, w) && waits_for(w, p)) {
			bits |= BIT(p->index);
			*missing |= logged ? BIT(p->index) : 0;
		}
		if (logged)
			bits |= *missing & BIT(p->index);
	}
	return bits;
}

/*
 * End writes, and parts of resynchronisations. A write waits for all peers, and a part for its own
 * one: another one that stops does not hold it up. A write that the leg has failed is left to
 * kfm_leg_check(), unless the peers go on without this leg.
 */
void kfm_writes_end(struct kfm *m)
{
	bool hold = !kfm_generation_known(m);
	struct kfm_write *w, *next;
	unsigned int missing = 0, bits;

	list_for_each_entry_safe(w, next, &m->flight, entry) {
		bits = holding_peers(w, &missing);
		if (w->peer ? bits & BIT(w->peer->index) : bits || hold)
			continue;
		if (kfm_busy(&w->leg_busy))
			continue;
		if (m->detached)
			w->leg_status = w->left_out ? BLK_STS_NOTSUPP : BLK_STS_OK;
		if (!w->leg_status || w->left_out)
			finish(m, w);
	}
}

/* The leg has failed: end the session, and fail all writes. The peer keeps its copy. */
void kfm_writes_fail(struct kfm *m)
{
	struct kfm_write *w, *next;

	kfm_peers_leg_failed(m);
	kfm_flush_leg_failed(m);
	list_for_each_entry_safe(w, next, &m->flight, entry) {
		if (kfm_busy(&w->leg_busy))
			continue;
		w->leg_status = w->leg_status ?: BLK_STS_IOERR;
		finish(m, w);
	}
}

/*
 * This node is about to become secondary: its writes fail, but its leg has not. The leg has them,
 * so they are out of sync.
 */
void kfm_writes_give_back(struct kfm *m)
{
	struct kfm_write *w, *next;

	list_for_each_entry_safe(w, next, &m->flight, entry) {
		if (kfm_busy(&w->leg_busy))
			continue;
		m->leg_failed |= w->leg_status != BLK_STS_OK;	/* since kfm_leg_check() */
		w->leg_status = BLK_STS_IOERR;
		finish(m, w);
	}
}

/*
 * Requeue all bios that have not ended, for a suspend with noflush. No write is acknowledged from
 * now on, because records before it may belong to writes that were requeued. If this node is
 * detached, what one peer has of these writes counts.
 */
void kfm_writes_requeue(struct kfm *m)
{
	struct kfm_write *w, *next;
	struct kfm_peer *p;
	struct bio *bio;

	while ((bio = bio_list_pop(&m->queue))) {
		bio->bi_status = BLK_STS_DM_REQUEUE;
		bio_endio(bio);
	}
	list_for_each_entry_safe(w, next, &m->flight, entry) {
		if (w->peer || kfm_busy(&w->leg_busy))
			continue;
		m->leg_failed |= w->leg_status && !m->detached;
		/* a peer may have the record or lack it until dm submits the write again */
		kfm_for_each_peer(p, m) {
			p->gap |= w->posts[p->index].state == KFM_P_POSTED || !p->insync;
			if (w->kind != KFM_FLUSH && p != m->only)
				kfm_oos_set(p, w->sector, w->len);
		}
		if (!m->detached || w->cached)
			kfm_flush_outdated(m);
		if (w->bio)
			end_bio(w, BLK_STS_DM_REQUEUE);
		else
			m->flushing = false;
		kfm_write_put(w);
	}
}

/* ---- begin ---- */

void kfm_queue_fail(struct kfm *m)
{
	struct bio *bio;

	while ((bio = bio_list_pop(&m->queue)))
		bio_io_error(bio);
}

/* The first bio of the queue, if it may begin as far as the writes in flight are concerned */
static struct bio *next_write(struct kfm *m)
{
	struct bio *bio = bio_list_peek(&m->queue);

	if (m->bios == KFM_WRITES || !bio || kfm_repair_waits(m, bio))
		return NULL;
	return kfm_bio_zeroes(bio) && m->zeroes == KFM_ZEROES_FLIGHT ? NULL : bio;
}

/* May a bio begin without the worker? A flush writes no extent. */
static bool bio_durable(const struct kfm *m, const struct bio *bio)
{
	if (!bio->bi_iter.bi_size)
		return true;
	return !kfm_bio_zeroes(bio) &&
	       kfm_active_durable(m, bio->bi_iter.bi_sector, bio->bi_iter.bi_size);
}

/*
 * May a volatile cache keep the data, at this node and at peers that take such records? What only
 * peers have is durable there at once: one that loses its power can't get it from here.
 */
static bool may_cache(const struct kfm_write *w)
{
	return w->m->cache && !w->m->detached && w->kind == KFM_DATA && w->bio &&
	       !(w->bio->bi_opf & REQ_FUA);
}

/* @w is that of a bio, or a flush of this node's own. Its extents are active in memory. */
static void admit(struct kfm_write *w, struct bio *bio, struct list_head *batch)
{
	struct kfm *m = w->m;
	struct kfm_peer *p;

	w->bio = bio;
	m->bios += !!bio;
	w->cached = may_cache(w);
	w->leg_busy = true;	/* until the leg has the data, or kfm_writes_launch() fails */
	if (w->kind == KFM_FLUSH) {
		kfm_flush_begins(w);
	} else {
		m->zeroes += w->kind == KFM_ZEROES;
		kfm_rest_wrote(m, w->sector);
		kfm_for_each_peer(p, m)
			kfm_active_set(p, w->sector, w->len);
	}
	list_add_tail(&w->entry, &m->flight);
	list_add_tail(&w->begin, batch);
}

/*
 * Take writes out of the queue, in order. A write that overlaps a write in flight waits, and so do
 * all writes behind it. A write that overlaps a read waiting for its repair waits, too; otherwise
 * new writes could keep the range in use forever. The extents of the writes are active in memory.
 * Zeroes that a peer does not take end as not supported.
 *
 * @atomic: take only flushes, and writes of data whose extents are active, durably, of at most
 * KFM_ATOMIC_BYTES.
 *
 * Return: false if the next write is left to the worker: it writes zeroes, its extent is not
 * active yet, or KFM_ATOMIC_BYTES are used up. True otherwise, also if a write waits for one that
 * it overlaps, or for other writes of zeroes.
 */
static bool admit_writes(struct kfm *m, struct list_head *batch, bool atomic)
{
	struct kfm_write *w = kfm_flush_due(m) ? kfm_write_get(m, NULL, 0, 0) : NULL;
	struct bio *bio;
	u32 bytes = 0;
	bool zeroes;

	if (w)
		admit(w, NULL, batch);
	while ((bio = next_write(m))) {
		zeroes = kfm_bio_zeroes(bio);
		bytes += bio->bi_iter.bi_size;
		if (atomic && (bytes > KFM_ATOMIC_BYTES || !bio_durable(m, bio)))
			return false;
		if (zeroes && !kfm_zeroes_taken(m)) {
			bio_list_pop(&m->queue);
			bio->bi_status = BLK_STS_NOTSUPP;
			bio_endio(bio);
			continue;
		}
		w = kfm_write_get(m, NULL, bio->bi_iter.bi_size ? bio->bi_iter.bi_sector : 0,
				  bio->bi_iter.bi_size);
		if (!w)
			return true;
		bio_list_pop(&m->queue);
		w->kind = zeroes ? KFM_ZEROES : w->kind;
		admit(w, bio, batch);
	}
	return true;
}

static blk_opf_t leg_op(const struct kfm_write *w)
{
	if (w->kind != KFM_DATA)	/* zeroes are flushed after kfm_zero() */
		return REQ_OP_WRITE | REQ_PREFLUSH | REQ_SYNC;
	return REQ_OP_WRITE | REQ_SYNC | (w->cached ? 0 : REQ_FUA);
}

static void copy_data(struct kfm_write *w)
{
	u8 *to = w->buf + KFM_DATA_AT;
	struct bvec_iter iter;
	struct bio_vec vec;

	if (w->kind != KFM_DATA)
		return;
	bio_for_each_segment(vec, w->bio, iter) {
		memcpy_from_bvec(to, &vec);
		to += vec.bv_len;
	}
}

/*
 * Start the writes that were admitted, after their active bits are durable. With REQ_META a cgroup
 * that has no budget left at the leg is charged a debt. Without it the worker would wait for that
 * budget, and the writes of all other cgroups for the worker, which has the claim.
 */
void kfm_writes_launch(struct kfm *m)
{
	struct kfm_write *w, *next;
	LIST_HEAD(batch);
	int ret;

	admit_writes(m, &batch, false);
	ret = kfm_active_flush(m);
	list_for_each_entry_safe(w, next, &batch, begin) {
		list_del(&w->begin);
		if (ret && w->kind != KFM_FLUSH) {
			end_bio(w, BLK_STS_IOERR);
			kfm_write_put(w);
			continue;
		}
		copy_data(w);
		kfm_write_leg(w, leg_op(w) | REQ_META);
	}
}

/*
 * Start the writes whose extents are active. Their bios for the leg are added to a list, because
 * the present context must not sleep. Return: false if something is left to the worker.
 */
bool kfm_writes_launch_durable(struct kfm *m, struct bio_list *legs)
{
	struct kfm_write *w, *next;
	LIST_HEAD(batch);
	bool all = admit_writes(m, &batch, true);

	list_for_each_entry_safe(w, next, &batch, begin) {
		list_del(&w->begin);
		copy_data(w);
		kfm_leg_prepare(w, leg_op(w));
		bio_list_add(legs, &w->leg);
	}
	return all;
}

