// SPDX-License-Identifier: GPL-2.0
/*
 * resync.c - resynchronisation: the primary reads regions that are out of sync from its leg, and
 * writes them to the peer as records of the log. So they are ordered with all other writes. A range
 * that is being read or sent is in a list that kfm_write_get() checks for overlaps, so no write to
 * the range begins meanwhile.
 *
 * Regions are resynchronised one after the other. A region is in sync when all its parts are
 * durable in the peer's log. The bitmap records the remaining regions, so a later session continues
 * with them.
 */
#include "mirror.h"

#define RETRY	(5 * HZ)	/* a region that could not be read */

static void no_region(struct kfm *m)
{
	m->rs_region = m->regions;
	m->rs_next = 0;
	m->rs_end = 0;
	m->rs_open = 0;
}

/* Stop the resynchronisation. Parts that are being read or sent are dropped when they end. */
void kfm_resync_stop(struct kfm *m)
{
	m->rs_round++;
	no_region(m);
}

/* A part has ended. It counts if it is durable at the peer and belongs to the present region. */
void kfm_resync_part(struct kfm_write *w)
{
	struct kfm *m = w->m;

	if (w->peer != KFM_P_ACKED || w->round != m->rs_round || m->leg_failed)
		return;
	m->rs_open--;
	if (m->rs_open || m->rs_next < m->rs_end)
		return;
	kfm_oos_clear(m, m->rs_region);
	no_region(m);
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
		if (!w->leg_status && w->round == m->rs_round) {
			list_move_tail(&w->entry, &m->flight);
			continue;
		}
		if (w->leg_status) {
			DMERR_LIMIT("%s: can't read sector %llu to resynchronise it", kfm_name(m),
				    w->sector);
			if (w->round == m->rs_round) {
				m->rs_from = kfm_region(m, w->sector) + 1;
				m->rs_tried = jiffies;
				kfm_resync_stop(m);
			}
		}
		kfm_write_put(w);
	}
}

/* May another part be read now? The budget grows with time, up to the rate of one second. */
static bool in_budget(struct kfm *m)
{
	s64 rate = (s64)READ_ONCE(m->rate) << 10;
	unsigned long now = jiffies;

	if (!rate) {
		m->budget = 0;	/* a limit that is set later begins without a debt */
		m->filled = now;
		return true;
	}
	m->budget = min(m->budget + rate * (long)(now - m->filled) / HZ, rate);
	m->filled = now;
	return m->budget > 0;
}

static bool next_region(struct kfm *m)
{
	u32 r;

	if (m->rs_region < m->regions)
		return m->rs_next < m->rs_end;
	r = find_next_bit(m->oos, m->regions, m->rs_from);
	if (r >= m->regions) {
		if (time_after(jiffies, m->rs_tried + RETRY))
			m->rs_from = 0;
		return false;
	}
	m->rs_region = r;
	m->rs_next = (u64)r << m->shift;
	m->rs_end = min(m->rs_next + (1ULL << m->shift), m->sectors);
	m->rs_open = 0;
	return true;
}

/*
 * Begin to read parts. A part that overlaps a write waits for the end of the write. A secondary
 * that was primary before may have regions out of sync, too; its peer resynchronises those.
 */
void kfm_resync_run(struct kfm *m)
{
	struct kfm_write *w;
	u32 len;

	kfm_resync_reads(m);
	while (m->primary && m->link == KFM_UP && m->oos_count && m->rs_open < KFM_READS &&
	       in_budget(m) && next_region(m)) {
		len = min_t(u64, (m->rs_end - m->rs_next) * KFM_SECTOR, KFM_WRITE_MAX);
		w = kfm_write_get(m, m->rs_next, len);
		if (!w)
			return;
		list_add_tail(&w->entry, &m->reads);
		m->rs_open++;
		m->rs_next += len / KFM_SECTOR;
		m->budget -= len;
		kfm_write_leg(w, REQ_OP_READ);
	}
}
