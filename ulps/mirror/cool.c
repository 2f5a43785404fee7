// SPDX-License-Identifier: GPL-2.0
/*
 * cool.c - extents that nothing writes any more are cleaned: the bits of their regions are written,
 * and the extents are not active from then on (bits.c). With volatile caches a flush goes before,
 * see rule C1 of flush.c.
 *
 * All of it is the worker's.
 */
#include <linux/bitmap.h>
#include <linux/blkdev.h>
#include "bits.h"
#include "flush.h"
#include "mirror.h"
#include "peer.h"
#include "quorum.h"
#include "write.h"

#define RENEW_EVERY	(15 * HZ)	/* of kfm.touched */

/*
 * A write in flight uses its extent. What is read for a peer, or repaired, needs no active extent:
 * it makes copies the same.
 */
static void touch_flight(struct kfm *m)
{
	const struct kfm_write *w;

	list_for_each_entry(w, &m->flight, entry) {
		if (w->kind != KFM_FLUSH)
			kfm_touch(m, w->sector, w->len);
	}
}

/* Choose the active extents that were not touched since the last time, 15 s ago or more. */
static void choose_untouched(struct kfm *m)
{
	struct kfm_peer *p;
	u32 e;

	kfm_for_each_peer(p, m) {
		for (e = find_next_bit_le(p->active, m->extents, 0); e < m->extents;
		     e = find_next_bit_le(p->active, m->extents, e + 1)) {
			if (!test_bit(e, m->touched))
				__set_bit(e, m->cooling);
		}
	}
	bitmap_zero(m->touched, m->extents);
	m->renewed = jiffies;
}

/*
 * Choose a quarter of the active extents of a peer, by the hand of a clock. It passes over those
 * that were touched, and takes them at its second turn.
 */
static void choose_quarter(struct kfm_peer *p)
{
	u32 turns = 2 * p->active_count, wanted = p->active_count / 4, e;
	struct kfm *m = p->m;

	for (; turns && wanted; turns--) {
		e = find_next_bit_le(p->active, m->extents, m->hand);
		if (e >= m->extents)
			e = find_next_bit_le(p->active, m->extents, 0);
		m->hand = e + 1;
		if (__test_and_clear_bit(e, m->touched))
			continue;
		wanted -= !__test_and_set_bit(e, m->cooling);
	}
}

/*
 * Extents are chosen: with volatile caches a flush goes before the end. It does not cover writes
 * that are in flight now, and these, and what is written from now on, touch their extents.
 */
static void cooling_began(struct kfm *m)
{
	bool flush = m->primary && m->cache && !bitmap_empty(m->cooling, m->extents);

	touch_flight(m);
	m->cool_from = flush ? m->written : 0;
}

/* Begin to clean, if it is time: choose extents. Return: false if there is nothing to do. */
static bool cooling_begin(struct kfm *m)
{
	bool due = time_after(jiffies, m->renewed + RENEW_EVERY), full = false;
	struct kfm_peer *p;

	kfm_for_each_peer(p, m)
		full |= p->active_count > KFM_ACTIVE_MAX;
	if (!due && !full)
		return false;
	touch_flight(m);
	if (due)
		choose_untouched(m);
	kfm_for_each_peer(p, m) {
		if (!due && p->active_count > KFM_ACTIVE_MAX)
			choose_quarter(p);
	}
	cooling_began(m);
	return true;
}

/*
 * Rule C1 of flush.c. What may be in a cache alone was flushed, or all regions of the chosen
 * extents may differ.
 */
static void uncache(struct kfm_peer *p)
{
	struct kfm *m = p->m;
	bool flushed = p->flushed >= m->cool_from;
	u32 e;

	for_each_set_bit(e, m->cooling, m->extents) {
		if (__test_and_clear_bit(e, p->cached) && !flushed)
			kfm_extent_oos(p, e);
	}
}

/*
 * Make durable on this leg what was written to the chosen extents, unless a flush that a peer has
 * answered did so, or this copy is worthless. If the leg has failed, all regions of these extents
 * may differ, whatever was flushed: a disk that has lost something may say so once, to another
 * flush, or to a write.
 *
 * Return: 0, or the error of a flush; then the extents stay active.
 */
static int settle_leg(struct kfm *m)
{
	struct kfm_peer *p;
	int ret;
	u32 e;

	if (!m->cool_from || m->detached)
		return 0;
	kfm_for_each_peer(p, m) {
		if (p->flushed >= m->cool_from && !m->leg_failed)
			return 0;
	}
	ret = m->leg_failed ? 0 : blkdev_issue_flush(m->leg->bdev);
	if (ret) {
		m->leg_failed = true;
		kfm_flush_leg_failed(m);	/* a suspend or `demote` may follow at once */
	}
	for_each_set_bit(e, m->cooling, m->extents) {
		kfm_for_each_peer(p, m) {
			if (m->leg_failed)
				kfm_extent_oos(p, e);
		}
	}
	return ret;
}

/* The chosen extents that nothing has touched meanwhile are not active any more. */
static int cooling_end(struct kfm *m)
{
	struct kfm_peer *p;
	int ret;
	u32 e;

	touch_flight(m);
	bitmap_andnot(m->cooling, m->cooling, m->touched, m->extents);
	ret = settle_leg(m);
	kfm_for_each_peer(p, m) {
		if (p->cached)
			uncache(p);
	}
	ret = kfm_oos_flush(m) ?: ret;
	for_each_set_bit(e, m->cooling, m->extents) {
		kfm_for_each_peer(p, m) {
			if (!ret)
				kfm_active_clear(p, e);
		}
	}
	bitmap_zero(m->cooling, m->extents);
	m->cool_from = 0;
	return ret ?: kfm_active_flush(m);
}

/**
 * kfm_bits_run() - clean extents, if it is time
 * @m: formatted mirror
 *
 * Not while it is detached: an extent that is cleaned without a peer may be out of sync, and a
 * peer that has the only copy never is.
 *
 * Context: the worker.
 */
void kfm_bits_run(struct kfm *m)
{
	if (m->meta_failed || m->detached || (!m->cool_from && !cooling_begin(m)))
		return;
	if (!kfm_flush_awaited(m))
		cooling_end(m);
}

/* Begin to clean all extents. Context: the worker. */
void kfm_bits_cool(struct kfm *m)
{
	bitmap_zero(m->touched, m->extents);
	choose_untouched(m);
	cooling_began(m);
}

/**
 * kfm_bits_rest() - leave no extent active in which no write is in flight
 * @m: formatted mirror
 *
 * Before a node is demoted, or stops. kfm_flush_settles() has waited for a flush, if it could.
 *
 * Context: the worker. Return: 0 or a negative error.
 */
int kfm_bits_rest(struct kfm *m)
{
	kfm_bits_cool(m);
	return cooling_end(m);
}

/**
 * kfm_flush_settles() - clean all extents before sessions end
 * @m: mirror
 *
 * Context: the worker.
 *
 * Return: true if no flush is waited for. During a suspend that must not flush, without a peer that
 * is needed, and after an error a flush might never end: then kfm_bits_rest() sets the bits of what
 * may be in a cache alone.
 */
bool kfm_flush_settles(struct kfm *m)
{
	if (!m->formatted || !m->primary || !m->cache || m->bios || READ_ONCE(m->noflush))
		return true;
	if (!m->cool_from)
		kfm_bits_cool(m);
	if (!m->flushing && (m->leg_failed || m->meta_failed || !kfm_flush_awaited(m) ||
			     !kfm_writes_may_end(m)))
		return true;
	m->again = true;
	return false;
}
