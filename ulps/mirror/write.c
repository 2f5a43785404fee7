// SPDX-License-Identifier: GPL-2.0
/*
 * write.c - how the primary executes a write.
 *
 *   kfm_map()		hands over the bio (main.c)
 *   admit_writes()	takes a struct kfm_write, unless the write overlaps one that is in flight
 *   launch_writes()	makes the extent active, durably, copies the data, writes to the leg,
 *			and before that to this node's log if the leg can tear a sector (own.c)
 *   kfm_post_all()	writes groups of records to the log or to slots of a peer (post.c)
 *   end_writes()	ends the bio when the leg has the data, and its record is durable at the
 *			peer, and if that is in the log all records of the log before it
 *
 * kfm_writes_run() does all of it in the worker. kfm_writes_run_atomic() does, in the context that
 * has handed something over, what needs neither sleep nor metadata: most writes begin in the
 * context that submits them, and end in the softirq in which the answer of the peer arrives. Both
 * run with the mirror claimed (claim.c). The completions clear @leg_busy and kfm_post.busy with
 * release semantics. No memory is allocated.
 */
#include <linux/gfp.h>
#include <linux/highmem.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "bits.h"
#include "csum.h"
#include "flush.h"
#include "leg.h"
#include "log.h"
#include "mirror.h"
#include "own.h"
#include "peer.h"
#include "quorum.h"
#include "read.h"
#include "repair.h"
#include "resync.h"
#include "write.h"
#include "zero.h"

#define ATOMIC_BYTES	(4 * KFM_WRITE_MAX)	/* begun by one kfm_writes_run_atomic() */

static void write_init(struct kfm *m, struct kfm_write *w)
{
	unsigned int i;

	w->m = m;
	INIT_WORK(&w->zero, kfm_zero_work);
	for (i = 0; i < KFM_PEERS; i++)
		w->posts[i].w = w;
}

/* Bytes of a chunk; the last one may be shorter. */
static u32 chunk_bytes(unsigned int i)
{
	return min_t(u32, KFM_CHUNK, KFM_BUF_SIZE - i * KFM_CHUNK);
}

static int buf_alloc(struct kfm_write *w)
{
	struct page *pages[KFM_BUF_SIZE / PAGE_SIZE];
	unsigned int i, n = ARRAY_SIZE(pages);

	static_assert(!(KFM_BUF_SIZE % PAGE_SIZE) && !(KFM_CHUNK % PAGE_SIZE));
	for (i = 0; i < KFM_CHUNKS; i++) {
		w->chunks[i] = alloc_pages_exact(chunk_bytes(i), GFP_KERNEL | __GFP_ZERO);
		if (!w->chunks[i])
			return -ENOMEM;
	}
	for (i = 0; i < n; i++)
		pages[i] = virt_to_page(w->chunks[i * PAGE_SIZE / KFM_CHUNK] +
					i * PAGE_SIZE % KFM_CHUNK);
	w->buf = vmap(pages, n, VM_MAP, PAGE_KERNEL);
	return w->buf ? 0 : -ENOMEM;
}

static void buf_free(struct kfm_write *w)
{
	unsigned int i;

	vunmap(w->buf);
	for (i = 0; i < KFM_CHUNKS && w->chunks[i]; i++)
		free_pages_exact(w->chunks[i], chunk_bytes(i));
}

int kfm_writes_alloc(struct kfm *m)
{
	unsigned int i;

	m->slots = KFM_WRITES + KFM_READS * kfm_peer_count(m) + 1;
	m->writes = kvcalloc(m->slots, sizeof(*m->writes), GFP_KERNEL);
	if (!m->writes)
		return -ENOMEM;
	for (i = 0; i < m->slots; i++) {
		write_init(m, &m->writes[i]);
		if (buf_alloc(&m->writes[i]))
			return -ENOMEM;
		list_add_tail(&m->writes[i].entry, &m->free);
	}
	return 0;
}

void kfm_writes_free(struct kfm *m)
{
	unsigned int i;

	for (i = 0; m->writes && i < m->slots; i++)
		buf_free(&m->writes[i]);
	kvfree(m->writes);
}

/* ---- ranges; a flush has none, and overlaps nothing ---- */

/*
 * The leg has a write, and so has a peer: what is copied to it from the leg meanwhile has the write
 * as well. With policy quorum the peer may have to be in sync before the write ends.
 */
static bool both_have(const struct kfm_write *w, const struct kfm_peer *peer)
{
	return peer && w->m->policy == KFM_QUORUM && !w->peer && !kfm_busy(&w->leg_busy) &&
	       !w->leg_status && w->posts[peer->index].state == KFM_P_ACKED;
}

static bool list_overlaps(const struct list_head *list, const struct kfm_peer *peer, u64 sector,
			  u64 end)
{
	struct kfm_write *w;

	list_for_each_entry(w, list, entry) {
		if (w->sector < end && sector < w->sector + w->len / KFM_SECTOR &&
		    !both_have(w, peer))
			return true;
	}
	return false;
}

/* What is in a slot ends with the session that has the slot. */
static void post_reset(struct kfm_post *post, int state)
{
	post->state = state;
	post->direct = false;
	post->slot = 0;
	post->settled.known = false;
}

/**
 * kfm_write_get() - take a free write for a range
 * @m: mirror
 * @peer: the peer that is resynchronised, or serves a read; NULL for a write to all peers
 * @sector: first sector
 * @len: bytes; 0 for a flush
 *
 * Return: the write, which is on no list; NULL if all writes are in use, or if the range is.
 */
struct kfm_write *kfm_write_get(struct kfm *m, struct kfm_peer *peer, u64 sector, u32 len)
{
	struct kfm_write *w = list_first_entry_or_null(&m->free, struct kfm_write, entry);
	u64 end = sector + len / KFM_SECTOR;
	struct kfm_peer *p;

	if (!w || list_overlaps(&m->flight, peer, sector, end) ||
	    list_overlaps(&m->reads, NULL, sector, end) ||
	    list_overlaps(&m->repairs, NULL, sector, end))
		return NULL;
	list_del_init(&w->entry);
	w->bio = NULL;
	w->kind = len ? KFM_DATA : KFM_FLUSH;
	w->sector = sector;
	w->len = len;
	w->leg_status = BLK_STS_OK;
	w->leg_busy = false;
	w->own_seq = 0;
	w->crc_known = false;
	w->cached = false;
	w->left_out = false;
	w->peer = peer;
	w->round = peer ? peer->rs_round : 0;
	w->number = m->numbered++;
	kfm_for_each_peer(p, m)
		post_reset(&w->posts[p->index],
			   (peer && peer != p) || p->witness ? KFM_P_NONE : KFM_P_WAIT);
	return w;
}

/* Does a provider use the buffer? */
bool kfm_posts_busy(const struct kfm_write *w)
{
	struct kfm_peer *p;

	kfm_for_each_peer(p, w->m) {
		if (kfm_busy(&w->posts[p->index].busy))
			return true;
	}
	return false;
}

/* Release the range now, and @w when no provider uses its buffer any more. @leg_busy is false. */
void kfm_write_put(struct kfm_write *w)
{
	struct kfm *m = w->m;

	list_move_tail(&w->entry, kfm_posts_busy(w) ? &m->draining : &m->free);
}

static void reclaim_writes(struct kfm *m)
{
	struct kfm_write *w, *next;

	list_for_each_entry_safe(w, next, &m->draining, entry) {
		if (!kfm_posts_busy(w))
			list_move_tail(&w->entry, &m->free);
	}
}

bool kfm_writes_idle(const struct kfm *m)
{
	return bio_list_empty(&m->queue) && list_empty(&m->flight) && list_empty(&m->reads) &&
	       list_empty(&m->repairs) && list_empty(&m->hashes);
}

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

/* Check which posted records are durable at the peer. Return: 0, or the error of a record. */
static int collect_acks(struct kfm_peer *p)
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
		} else {
			post->state = KFM_P_ACKED;
			kfm_slot_free(p, post);
			p->live = jiffies;
		}
	}
	return err;
}

/*
 * May writes end without the peer? Only after KFM_PAIR_ALONE was set in the superblock
 * (kfm_go_alone()). If ATTACH announced no resynchronisation, no write may end without the peer
 * until the session is up, or has failed.
 */
bool kfm_peer_optional(const struct kfm_peer *p)
{
	bool attaching = p->state > KFM_SESSION_HELLO && !p->attach;

	return p->state != KFM_SESSION_UP && !attaching && kfm_is_alone(p) && !p->m->meta_failed;
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
static void end_writes(struct kfm *m)
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
static void fail_writes(struct kfm *m)
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
static void give_back(struct kfm *m)
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

/* The session has ended: the next one posts the records again and restarts a resynchronisation. */
void kfm_writes_lost(struct kfm_peer *p)
{
	struct kfm_write *w, *next;

	if (p->witness)
		return;
	list_for_each_entry_safe(w, next, &p->m->flight, entry) {
		if (!w->peer) {
			post_reset(&w->posts[p->index], KFM_P_WAIT);
			w->left_out = false;	/* the next session decides */
		} else if (w->peer == p) {
			kfm_write_put(w);
		}
	}
}

/*
 * Requeue all bios that have not ended, for a suspend with noflush. No write is acknowledged from
 * now on, because records before it may belong to writes that were requeued. If this node is
 * detached, what one peer has of these writes counts.
 */
static void requeue_bios(struct kfm *m)
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

static void fail_queue(struct kfm *m)
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
	return kfm_caches(w->m) && !w->m->detached && w->kind == KFM_DATA && w->bio &&
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
	w->leg_busy = true;	/* until the leg has the data, or launch_writes() fails */
	if (w->kind == KFM_FLUSH) {
		kfm_flush_begins(w);
	} else {
		m->zeroes += w->kind == KFM_ZEROES;
		kfm_own_take(w);
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
 * ATOMIC_BYTES.
 *
 * Return: false if the next write is left to the worker: it writes zeroes, its extent is not
 * active yet, this node's log has no room for its record, or ATOMIC_BYTES are used up. True
 * otherwise, also if a write waits for one that it overlaps, or for other writes of zeroes.
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
		if (atomic && (bytes > ATOMIC_BYTES || !bio_durable(m, bio)))
			return false;
		if (zeroes && !kfm_zeroes_taken(m)) {
			bio_list_pop(&m->queue);
			bio->bi_status = BLK_STS_NOTSUPP;
			bio_endio(bio);
			continue;
		}
		if (kfm_own_full(m, bio->bi_iter.bi_size))
			return false;
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
static void launch_writes(struct kfm *m)
{
	struct kfm_write *w, *next;
	LIST_HEAD(batch);
	int ret;

	if (kfm_own_trim(m)) {
		m->again = true;	/* to fail all writes */
		return;
	}
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
static bool launch_durable(struct kfm *m, struct bio_list *legs)
{
	struct kfm_write *w, *next;
	LIST_HEAD(batch);
	bool all = admit_writes(m, &batch, true);

	list_for_each_entry_safe(w, next, &batch, begin) {
		list_del(&w->begin);
		copy_data(w);
		if (kfm_leg_begin(w, leg_op(w)))
			bio_list_add(legs, &w->leg);
	}
	return all && !kfm_own_due(m);
}

static void take_new_bios(struct kfm *m)
{
	unsigned long flags;

	spin_lock_irqsave(&m->lock, flags);
	bio_list_merge(&m->queue, &m->arrived);
	bio_list_init(&m->arrived);
	spin_unlock_irqrestore(&m->lock, flags);
}

/* Is there nothing to do but to write, on the leg and to all peers? */
static bool nothing_but_writes(const struct kfm *m)
{
	struct kfm_peer *p;

	if (!m->primary || m->stop || READ_ONCE(m->noflush) || m->meta_failed || m->leg_failed ||
	    m->detached || m->repair.waiting || m->verify.running || !list_empty(&m->repairs) ||
	    !list_empty(&m->reads))
		return false;
	kfm_for_each_peer(p, m) {
		if (p->witness && kfm_is_alone(p) && p->state <= KFM_SESSION_HELLO)
			continue;
		if (p->state != KFM_SESSION_UP || !p->insync || p->oos_count || p->gap)
			return false;
	}
	return kfm_generation_known(m);
}

/**
 * kfm_writes_run_atomic() - advance the writes as far as this is possible without the worker
 * @m: mirror
 * @legs: the caller submits the bios that are added to this list, with the claim released; NULL:
 *	the caller must not sleep, so no write begins
 *
 * All writes of an undisturbed mirror are executed here, except for those whose extent is not
 * active. What changes the state of a session, of the leg or of the metadata is left to the worker
 * as it is, which finds it again. So is what exceeds ATOMIC_BYTES; a pass ends all writes that can
 * end.
 *
 * Context: the mirror is claimed; bottom halves are off. Return: true if the worker has to run.
 */
bool kfm_writes_run_atomic(struct kfm *m, struct bio_list *legs)
{
	bool worker = false;
	struct kfm_peer *p;

	if (!smp_load_acquire(&m->active))	/* pairs with kfm_preresume() */
		return false;
	if (!nothing_but_writes(m))
		return true;
	take_new_bios(m);
	reclaim_writes(m);
	kfm_leg_check(m);
	if (m->leg_failed)
		return true;
	kfm_for_each_peer(p, m) {
		if (collect_acks(p))
			return true;
	}
	end_writes(m);
	if (legs)
		worker = !launch_durable(m, legs);
	else
		worker = !bio_list_empty(&m->queue);
	kfm_for_each_peer(p, m)
		worker |= kfm_post_all(p, ATOMIC_BYTES) != 0;
	return worker;
}

/**
 * kfm_writes_run() - advance all writes as far as possible
 * @m: mirror
 */
void kfm_writes_run(struct kfm *m)
{
	struct kfm_peer *p;
	int ret;

	m->again = false;
	take_new_bios(m);
	reclaim_writes(m);
	kfm_leg_check(m);
	kfm_for_each_peer(p, m) {
		ret = collect_acks(p);
		if (ret)
			kfm_peer_lost(p, ret);
	}
	kfm_leg_run(m);
	kfm_repair_run(m);
	kfm_resync_notes(m);
	kfm_verify_run(m);
	kfm_csum_serve(m);
	kfm_reads_run(m);
	if (READ_ONCE(m->noflush)) {
		kfm_resync_reads(m);
		m->only = m->only ?: kfm_only_copy(m);	/* one, until all bios are requeued */
		requeue_bios(m);
		if (m->leg_failed)
			kfm_flush_leg_failed(m);	/* it is not known after the resume */
		return;
	}
	m->only = NULL;
	/* the suspend was canceled: no completion is checked for the record of a requeued write */
	kfm_for_each_peer(p, m) {
		if (p->gap && p->state == KFM_SESSION_UP)
			kfm_peer_lost(p, -EINTR);
		p->gap = false;
	}
	end_writes(m);
	kfm_leg_check(m);	/* an error may have come since, and before a flush: settle_leg() */
	kfm_leg_run(m);
	if (m->leg_failed)
		fail_writes(m);
	else if (m->stepping)
		give_back(m);
	if (!m->primary || m->meta_failed || m->leg_failed || m->stepping)
		fail_queue(m);
	else if (kfm_may_write(m))
		launch_writes(m);
	kfm_resync_run(m);
	kfm_for_each_peer(p, m) {
		ret = kfm_post_all(p, U32_MAX);
		if (ret && ret != -EAGAIN)
			kfm_peer_lost(p, ret);
	}
}
