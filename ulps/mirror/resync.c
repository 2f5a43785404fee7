// SPDX-License-Identifier: GPL-2.0
/*
 * resync.c - resynchronisation: the primary reads regions that are out of sync from its leg, and
 * writes them to the peer as records, direct ones or in its log, as all other writes. A range
 * that is being read or sent is in a list that kfm_write_get() checks for overlaps, so no write to
 * the range begins meanwhile. Each peer has a resynchronisation of its own.
 *
 * A part is a run of regions, which are in sync when it is durable at the peer. The bitmap has the
 * regions that are left, so a later session continues with them. With `csum` a part that the peer
 * has already is not sent (csum.c). A part that is all zeros is sent as a record without data, and
 * the leg of the peer gives back its room (zero.c).
 *
 * How much is read is limited by `rate`, and by `rate-min` while the application writes, or did so
 * a moment ago: between two writes of one that makes one after the other there is always a gap.
 */
#include <linux/kstrtox.h>
#include <linux/string.h>
#include "bits.h"
#include "csum.h"
#include "leg.h"
#include "log.h"
#include "mirror.h"
#include "peer.h"
#include "quorum.h"
#include "repair.h"
#include "resync.h"
#include "write.h"

#define RETRY		(5 * HZ)	/* of a part that could not be read */
#define BACK_OFF	(HZ / 10)	/* after a write of the application */

/*
 * Should the resynchronisation of a peer wait for another peer? While a copy is overwritten it
 * can't be promoted. So of two whole copies one is left as it is until the other one is whole
 * again. And the generation, which becomes the number of the resynchronisation, should be known to
 * all copies that can be promoted: for another node the copy that has it would be a split one.
 * Writes are held meanwhile, so a peer that does not come, or needs long, is waited for during a
 * part of the time-out only. One that was blank can't be promoted, and may need this peer to get
 * the generation (kfm_may_sync()).
 */
bool kfm_resync_waits(const struct kfm_peer *p)
{
	const struct kfm *m = p->m;
	bool early = time_before(jiffies, p->down + m->timeout / 2), wait;
	struct kfm_peer *q;

	kfm_for_each_peer(q, m) {
		if (q == p || kfm_is_alone(q))
			continue;
		if (q->attach && !q->synced_sent)
			wait = early && q->state > KFM_SESSION_HELLO && q->whole && p->whole &&
			       !kfm_is_alone(p);
		else if (q->state == KFM_SESSION_UP)
			wait = q->gen != m->sb.gens.cur && (!q->fresh || q->synced_sent);
		else
			wait = early && !q->policy_applied;
		if (wait)
			return true;
	}
	return false;
}

/* Begin with the first regions that are out of sync: there is a session. */
void kfm_resync_begin(struct kfm_peer *p)
{
	p->rs_from = 0;
	p->rs_tried = jiffies - RETRY;
	p->rs_equal = 0;
	p->m->wrote = jiffies - BACK_OFF;
	kfm_resync_stop(p);
}

/* The peer has these regions. If they were the last ones, SYNCED is due at once. */
static void regions_same(struct kfm_peer *p, u64 sector, u32 len)
{
	kfm_oos_clear(p, sector, len);
	if (p->oos_count || p->insync)
		return;
	p->next = jiffies;
	kfm_kick(p->m);
}

/* A part has ended. It counts if it is durable at the peer, and of the present session. */
void kfm_resync_part(struct kfm_write *w)
{
	struct kfm_peer *p = w->peer;

	if (w->posts[p->index].state == KFM_P_ACKED && w->round == p->rs_round &&
	    !w->m->leg_failed)
		regions_same(p, w->sector, w->len);
}

static void part_unreadable(struct kfm_write *w)
{
	struct kfm_peer *p = w->peer;

	DMERR_LIMIT("%s: can't read sector %llu to resynchronise it", kfm_name(w->m), w->sector);
	p->rs_tried = jiffies;
}

/* The peer has the same, durably. */
static void part_equal(struct kfm_write *w)
{
	struct kfm_peer *p = w->peer;

	if (!w->m->leg_failed) {
		regions_same(p, w->sector, w->len);
		p->rs_equal += w->len;
	}
	kfm_write_put(w);
}

/*
 * A part waits for being posted. Data is looked at up to its first byte that is not zero. A record
 * of zeroes that overlaps the log of the peer would hold up the records behind it.
 */
static void part_post(struct kfm_write *w)
{
	struct kfm_peer *p = w->peer;

	if (p->slots.zeroes && !memchr_inv(w->buf + KFM_DATA_AT, 0, w->len) &&
	    !kfm_logged(p, w->sector, w->len))
		w->kind = KFM_ZEROES;
	list_move_tail(&w->entry, &w->m->flight);
}

/*
 * Move parts that were read to the writes that wait for being posted, unless the peer has them.
 * Regions that can't be read stay out of sync, and are tried again after the others.
 */
void kfm_resync_reads(struct kfm *m)
{
	struct kfm_write *w, *next;

	list_for_each_entry_safe(w, next, &m->reads, entry) {
		if (kfm_busy(&w->leg_busy))
			continue;
		if (kfm_repair_bad(m, w->sector, w->len / KFM_SECTOR))
			w->leg_status = BLK_STS_IOERR;
		if (w->leg_status)
			part_unreadable(w);
		if (w->leg_status || w->round != w->peer->rs_round)
			kfm_write_put(w);
		else if (w->peer->csum && kfm_csum_waits(w))
			continue;
		else if (w->sum.step == KFM_H_EQUAL)
			part_equal(w);
		else
			part_post(w);
	}
}

/*
 * Does the application write? A write that is held by a policy does not count: it may be the
 * resynchronisation that it waits for. The worker calls this in each run, so the time of the last
 * write is never so old that it seems to be one to come.
 */
void kfm_resync_notes(struct kfm *m)
{
	if ((m->bios || !bio_list_empty(&m->queue)) && kfm_writes_may_end(m))
		m->wrote = jiffies;
	else if (time_after(jiffies, m->wrote + BACK_OFF))
		m->wrote = jiffies - BACK_OFF;
}

/* Parse the limit of a resynchronisation, in a table or a message. Return: 0 or an error */
int kfm_rate_parse(const char *word, unsigned int *kib)
{
	unsigned int rate;
	int ret = kstrtouint(word, 10, &rate);

	if (!ret && rate > KFM_RATE_MAX)
		ret = -ERANGE;
	if (!ret)
		WRITE_ONCE(*kib, rate);
	return ret;
}

/* The present limit in bytes a second, 0 for none */
static s64 rate_now(const struct kfm *m)
{
	unsigned int rate = READ_ONCE(m->rate), least = READ_ONCE(m->rate_min);

	if (least && time_before(jiffies, m->wrote + BACK_OFF))
		rate = rate ? min(rate, least) : least;
	return (s64)rate << 10;
}

/* May another part be read now? The budget grows with time, up to the rate of one second. */
bool kfm_resync_allowed(struct kfm_peer *p)
{
	s64 rate = rate_now(p->m);
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

/* Parts of a peer that are being read or sent */
static unsigned int parts_open(const struct kfm_peer *p)
{
	const struct kfm_write *w;
	unsigned int n = 0;

	list_for_each_entry(w, &p->m->reads, entry)
		n += w->peer == p;
	list_for_each_entry(w, &p->m->flight, entry)
		n += w->peer == p;
	return n;
}

/*
 * Find the next part: adjacent regions that are out of sync, from @first on. When all parts have
 * ended, the search begins again, for regions that have become out of sync since, or could not be
 * read: these after a while.
 *
 * Return: the region behind the part; 0: there is none now.
 */
static u32 next_part(struct kfm_peer *p, u32 *first)
{
	struct kfm *m = p->m;
	u32 end;

	*first = find_next_bit_le(p->oos, m->regions, p->rs_from);
	if (*first >= m->regions) {
		if (!parts_open(p) && time_after_eq(jiffies, p->rs_tried + RETRY))
			p->rs_from = 0;
		return 0;
	}
	end = min(*first + (KFM_WRITE_MAX / KFM_SECTOR >> m->shift), m->regions);
	return find_next_zero_bit_le(p->oos, end, *first);
}

/* Begin to read the next part for a peer, unless it overlaps a write, or a part, in flight. */
static bool read_part(struct kfm_peer *p)
{
	struct kfm *m = p->m;
	u32 first, end = next_part(p, &first), len;
	u64 sector = (u64)first << m->shift;
	struct kfm_write *w;

	if (!end)
		return false;
	len = (min((u64)end << m->shift, m->sectors) - sector) * KFM_SECTOR;
	w = kfm_write_get(m, p, sector, len);
	if (!w)
		return false;
	w->sum.step = KFM_H_NONE;
	list_add_tail(&w->entry, &m->reads);
	p->rs_from = end;
	p->budget -= len;
	kfm_write_leg(w, REQ_OP_READ);
	return true;
}

static void read_parts(struct kfm_peer *p)
{
	while (p->state == KFM_SESSION_UP && p->oos_count && parts_open(p) < KFM_READS &&
	       kfm_resync_allowed(p) && read_part(p))
		;
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
