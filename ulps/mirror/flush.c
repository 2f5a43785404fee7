// SPDX-License-Identifier: GPL-2.0
/*
 * flush.c - volatile caches of the legs, which a primary uses if its table says so (kfm.cache).
 *
 * A write without FUA is acknowledged when it is in the caches of all legs, and a flush makes them
 * durable: that of a file system, or one that this node begins by itself. A flush is a struct
 * kfm_write without a range. It flushes the leg, and posts a record KFM_D_FLUSH to each peer that
 * keeps writes in a cache (kfm_slots.caches). It covers the writes that had ended before it began,
 * so it has no place among them, and it ends as a write does, when all peers that are needed have
 * answered. Two rules keep the bits right; tests/model/mirror_leg.pml has both.
 *
 * C1 (NO_FLUSH_FIRST): an extent is active for a peer until this leg and that of the peer were
 * flushed since the last write to it. The cleaning of extents (cool.c) chooses those without a
 * write in flight, and waits for a flush that began after the last write had ended (cool_from). A
 * write that begins meanwhile takes its extent out again. A peer that is away acknowledges no
 * flush: all regions of an extent that it may have in its cache alone (kfm_peer.cached) are out of
 * sync when the extent is cleaned.
 *
 * C2 (NO_STARTS): a peer whose cache may have lost something names another kfm.start. Then each
 * region of the active extents may differ, and is resynchronised (primary.c). So it is if this node
 * has gone on without the peer, which may have missed a flush.
 *
 * A demotion and a suspend flush before the sessions end, and clean all extents. If a suspend must
 * not wait, what may be in a cache alone is out of sync. A promotion flushes the leg before it
 * raises the generation (NO_LEG_FLUSH, promote.c). The first flush after a promotion, or after a
 * resume, goes to all peers, whatever was flushed before.
 *
 * A leg that fails may lose what it has acknowledged since the last flush. So this node is no
 * source any more (KFM_SB_LEG_FAILED). And no flush cleans an extent after that: the leg may
 * report no other error (settle_leg(), slot_end_io()).
 *
 * All functions but kfm_flush_needed() run with the mirror claimed.
 */
#include "bits.h"
#include "flush.h"
#include "leg.h"
#include "meta.h"
#include "mirror.h"
#include "peer.h"
#include "recent.h"
#include "write.h"

#define FLUSH_RECORDS	(KFM_WINDOW / 4)	/* between flushes, with several peers */

/* A write has ended, so no flush that has begun already covers it. */
void kfm_flush_outdated(struct kfm *m)
{
	WRITE_ONCE(m->written, m->numbered);
}

/* Do extents wait for a flush before they are cleaned? */
bool kfm_flush_awaited(const struct kfm *m)
{
	struct kfm_peer *p;

	kfm_for_each_peer(p, m) {
		if (p->state == KFM_SESSION_UP && p->flushed < m->cool_from)
			return true;
	}
	return false;
}

/*
 * Is this node to begin a flush? Also if secondaries have to be told which writes are settled:
 * they keep a list of KFM_WINDOW records (recent.c); and once after the leg has failed, because
 * only the caches of peers may have what was not flushed (may_cache()).
 */
bool kfm_flush_due(const struct kfm *m)
{
	bool many = kfm_copy_count(m) > 1 && m->numbered - m->flush_last >= FLUSH_RECORDS;

	return !m->flushing && m->cache &&
	       (((many || m->detached) && kfm_flush_needed(m)) || kfm_flush_awaited(m));
}

/* @w has its number, and no record of it was posted. */
void kfm_flush_begins(struct kfm_write *w)
{
	struct kfm *m = w->m;

	m->flush_last = w->number;
	m->flushing |= !w->bio;
	kfm_recent_mark(w);
}

/*
 * A flush has covered, here and at all peers that are needed, what had ended when it began. If
 * this node is detached, nothing is in a cache alone after that (may_cache()).
 */
static void all_flushed(const struct kfm_write *w)
{
	struct kfm *m = w->m;
	struct kfm_peer *p;

	WRITE_ONCE(m->flushed, max(m->flushed, w->number));
	kfm_for_each_peer(p, m) {
		if (w->posts[p->index].settled.known)
			p->settled = w->posts[p->index].settled;
		if (m->detached && !kfm_flush_needed(m))
			bitmap_zero(p->cached, m->extents);
	}
}

/* The leg has answered, and all peers that the flush waits for. */
void kfm_flush_ended(struct kfm_write *w)
{
	struct kfm *m = w->m;
	struct kfm_peer *p;
	bool all = true;

	if (!w->bio)
		m->flushing = false;
	if (w->leg_status)
		return;
	kfm_for_each_peer(p, m) {
		if (!kfm_unacked(p, w))
			p->flushed = max(p->flushed, w->number);
		else
			all &= kfm_peer_optional(p);
	}
	if (all)
		all_flushed(w);
}

/**
 * kfm_flush_leg_failed() - store that the leg may lack acknowledged writes
 * @m: primary whose leg has failed
 *
 * The peers have them, so this node must not be the source of a resynchronisation, not even after
 * a resume. Context: the worker.
 */
void kfm_flush_leg_failed(struct kfm *m)
{
	if (!m->primary || !m->cache || m->sb.flags & KFM_SB_LEG_FAILED)
		return;
	m->sb.flags |= KFM_SB_LEG_FAILED;
	kfm_super_save(m);
}

/* This node has become primary, or goes on after a resume: what peers have cached is not known. */
void kfm_flush_reset(struct kfm *m)
{
	m->flushing = false;
	m->cool_from = 0;
	kfm_flush_outdated(m);
}

/**
 * kfm_flush_lost() - the cache of a peer may have lost something: rule C2
 * @p: peer of a primary
 *
 * Each region may differ that was written since the last flush. The extents of all of these are
 * active. Of a detached node the others have lost nothing after its first flush: what it writes is
 * durable at once.
 */
void kfm_flush_lost(struct kfm_peer *p)
{
	if (!p->m->detached || kfm_is_alone(p) || kfm_flush_needed(p->m))
		kfm_cached_lost(p);
}

/**
 * kfm_flush_start() - a peer has said which start of its node this is
 * @p: peer of a primary
 * @start: what its STATE says
 *
 * A peer without which this node has gone on may have missed a flush that has ended.
 */
void kfm_flush_start(struct kfm_peer *p, u64 start)
{
	if (p->slots.caches && (p->start != start || kfm_is_alone(p)))
		kfm_flush_lost(p);
	p->start = start;
}
