// SPDX-License-Identifier: GPL-2.0
/*
 * resync.c - resynchronisation: the primary reads regions that are out of sync from its leg, and
 * writes them to the peer as records, direct ones or in its log, as all other writes. A range
 * that is being read or sent is in a list that kfm_write_get() checks for overlaps, so no write to
 * the range begins meanwhile. Each peer has a resynchronisation of its own.
 *
 * Regions are resynchronised one after the other. A region is in sync when all its parts are
 * durable at the peer. The bitmap records the remaining regions, so a later session continues
 * with them.
 */
#include "log.h"
#include "meta.h"
#include "mirror.h"
#include "peer.h"
#include "resync.h"
#include "write.h"

#define RETRY	(5 * HZ)	/* a region that could not be read */

static void no_region(struct kfm_peer *p)
{
	p->rs_region = p->m->regions;
	p->rs_next = 0;
	p->rs_end = 0;
	p->rs_open = 0;
}

/* Stop the resynchronisation. Parts that are being read or sent are dropped when they end. */
void kfm_resync_stop(struct kfm_peer *p)
{
	p->rs_round++;
	no_region(p);
}

/* A part has ended. It counts if it is durable at the peer and belongs to the present region. */
void kfm_resync_part(struct kfm_write *w)
{
	struct kfm_peer *p = w->peer;

	if (w->posts[p->index].state != KFM_P_ACKED || w->round != p->rs_round || w->m->leg_failed)
		return;
	p->rs_open--;
	if (p->rs_open || p->rs_next < p->rs_end)
		return;
	kfm_oos_clear(p, p->rs_region);
	no_region(p);
}

static void part_unreadable(struct kfm_write *w)
{
	struct kfm_peer *p = w->peer;

	DMERR_LIMIT("%s: can't read sector %llu to resynchronise it", kfm_name(w->m), w->sector);
	if (w->round != p->rs_round)
		return;
	p->rs_from = kfm_region(w->m, w->sector) + 1;
	p->rs_tried = jiffies;
	kfm_resync_stop(p);
}

/*
 * Move parts that were read to the writes that wait for being posted. A region that can't be read
 * stays out of sync, and is tried again after the others.
 */
void kfm_resync_reads(struct kfm *m)
{
	struct kfm_write *w, *next;

	list_for_each_entry_safe(w, next, &m->reads, entry) {
		if (kfm_busy(&w->leg_busy))
			continue;
		if (!w->leg_status && w->round == w->peer->rs_round) {
			list_move_tail(&w->entry, &m->flight);
			continue;
		}
		if (w->leg_status)
			part_unreadable(w);
		kfm_write_put(w);
	}
}

/* May another part be read now? The budget grows with time, up to the rate of one second. */
bool kfm_resync_allowed(struct kfm_peer *p)
{
	s64 rate = (s64)READ_ONCE(p->m->rate) << 10;
	unsigned long now = jiffies, elapsed;

	if (!rate) {
		p->budget = 0;	/* a limit that is set later begins without a debt */
		p->budget_at = now;
		return true;
	}
	/* after a long time without a resynchronisation the product would overflow */
	elapsed = min_t(unsigned long, now - p->budget_at, HZ);
	p->budget = min(p->budget + rate * (s64)elapsed / HZ, rate);
	p->budget_at = now;
	return p->budget > 0;
}

static bool next_region(struct kfm_peer *p)
{
	struct kfm *m = p->m;
	u32 r;

	if (p->rs_region < m->regions)
		return p->rs_next < p->rs_end;
	r = find_next_bit(p->oos, m->regions, p->rs_from);
	if (r >= m->regions) {
		if (time_after(jiffies, p->rs_tried + RETRY))
			p->rs_from = 0;
		return false;
	}
	p->rs_region = r;
	p->rs_next = (u64)r << m->shift;
	p->rs_end = min(p->rs_next + (1ULL << m->shift), m->sectors);
	p->rs_open = 0;
	return true;
}

/* Begin to read parts for a peer. A part that overlaps a write waits for the end of the write. */
static void read_parts(struct kfm_peer *p)
{
	struct kfm *m = p->m;
	struct kfm_write *w;
	u32 len;

	while (p->state == KFM_SESSION_UP && p->oos_count && p->rs_open < KFM_READS &&
	       kfm_resync_allowed(p) && next_region(p)) {
		len = min_t(u64, (p->rs_end - p->rs_next) * KFM_SECTOR, KFM_WRITE_MAX);
		w = kfm_write_get(m, p, p->rs_next, len);
		if (!w)
			return;
		list_add_tail(&w->entry, &m->reads);
		p->rs_open++;
		p->rs_next += len / KFM_SECTOR;
		p->budget -= len;
		kfm_write_leg(w, REQ_OP_READ);
	}
}

/*
 * Continue all resynchronisations. A secondary that was primary before may have regions out of
 * sync, too; its peer resynchronises those.
 */
void kfm_resync_run(struct kfm *m)
{
	struct kfm_peer *p;

	kfm_resync_reads(m);
	if (!m->primary)
		return;
	kfm_for_each_peer(p, m)
		read_parts(p);
}
