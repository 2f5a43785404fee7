// SPDX-License-Identifier: GPL-2.0
/*
 * own.c - the log of a primary whose leg can tear a sector.
 *
 * A leg in persistent memory is written in pieces of 8 bytes, so a loss of power may leave a sector
 * that is half old and half new. A primary with such a leg stores each record in its own log, which
 * is in persistent memory, too, before it writes the leg. A node that was primary replays its log
 * before anything else uses the leg: when it is promoted, when another primary sends it ATTACH, and
 * when a primary is resumed. So each sector that was being written is written again, as a whole. A
 * demotion or a suspend leaves an empty log, so that nothing is replayed over what is written
 * outside the mirror later.
 *
 * Records are stored in the order of their numbers, and a write to the leg begins when its record is
 * durable. So a record that is incomplete after a loss of power belongs to a write that has not begun,
 * and so do those behind it. A record may be overwritten when the log's head is behind it; the head
 * is moved when half of the log is in use. Records of writes that have ended are replayed, too, if
 * the head is not behind them yet: that changes nothing, because each is the last write to its
 * sectors, or a later record is replayed over it.
 *
 * All functions run with the mirror claimed.
 */
#include <linux/string.h>
#include "log.h"
#include "mirror.h"
#include "own.h"
#include "peer.h"
#include "ring.h"
#include "write.h"

/* Is there no room in the log for the record of a write of @len bytes? */
bool kfm_own_full(const struct kfm *m, u32 len)
{
	struct kfm_place next = m->log.own.next;
	u32 at;

	return m->leg_tears && !kfm_ring_take(&m->log.own, &next, kfm_rec_room(len), &at);
}

/* Take the next place in the log for the record of a write. There is room. */
void kfm_own_take(struct kfm_write *w)
{
	struct kfm_ring *own = &w->m->log.own;

	if (!w->m->leg_tears)
		return;
	w->own_seq = own->next.seq;
	WARN_ON(!kfm_ring_take(own, &own->next, kfm_rec_room(w->len), &w->own_at));
	own->ends[w->own_seq % KFM_WINDOW] = own->next.head;
}

/*
 * Make the record of a write durable. Return: 0 or a negative error. After an error the write has
 * no record, and the leg has failed: records behind the missing one would never be replayed.
 */
int kfm_own_store(struct kfm_write *w)
{
	struct kfm_log *log = &w->m->log;
	u32 room = kfm_rec_room(w->len);
	struct kfm_rec r = {
		.log = log->head.id, .gen = log->head.gen, .seq = w->own_seq,
		.sector = w->sector, .len = w->len,
	};
	const u8 *data = w->buf + KFM_DATA_AT;
	u8 *to = log->ring + w->own_at;
	struct kfm_le_rec head;
	int ret = -EIO;

	if (!w->own_seq)
		return 0;
	if (!w->m->leg_failed && kfm_log_sound(w->m, w->own_at, room)) {
		kfm_rec_encode(&r, data, &head);
		memcpy(to + KFM_REC_HEAD_AT, &head, sizeof(head));
		memcpy(to + KFM_REC_DATA_AT, data, w->len);
		ret = kfm_log_store(w->m, w->own_at, room);
	}
	if (ret) {
		w->own_seq = 0;
		w->m->leg_failed = true;
	}
	return ret;
}

/* Is it time to move the head of the log? */
bool kfm_own_due(const struct kfm *m)
{
	const struct kfm_ring *own = &m->log.own;

	return m->leg_tears && (own->next.head - own->tail >= own->len / 2 ||
				own->next.seq - own->applied > KFM_WINDOW / 2);
}

/*
 * The first record of a list whose write to the leg has not ended well, or @seq if that comes
 * first. A write that has failed may have left half a sector.
 */
static u64 first_open(const struct list_head *list, u64 seq)
{
	struct kfm_write *w;

	list_for_each_entry(w, list, entry) {
		if (w->own_seq && (kfm_busy(&w->leg_busy) || w->leg_status))
			seq = min(seq, w->own_seq);
	}
	return seq;
}

/* Records before @first may be overwritten, as soon as that is durable. */
static int trim(struct kfm *m, u64 first)
{
	struct kfm_ring *own = &m->log.own;
	u64 tail = own->ends[(first - 1) % KFM_WINDOW];
	int ret = kfm_log_trim(m, first, tail % own->len);

	if (ret)
		m->leg_failed = true;
	else
		kfm_ring_applied(own, first - 1);
	return ret;
}

/**
 * kfm_own_trim() - move the head of the log behind the writes that have ended, if it is time
 * @m: primary
 *
 * Context: the worker. Return: 0; or a negative error if no more records can be stored. A log that
 * can't be written ends the use of the leg. After an error of the metadata the log has places that
 * were taken for writes which have not begun, so records behind them would never be replayed.
 */
int kfm_own_trim(struct kfm *m)
{
	u64 first;

	if (!m->leg_tears)
		return 0;
	if (m->leg_failed || m->meta_failed)
		return -EIO;
	if (!kfm_own_due(m))
		return 0;
	first = first_open(&m->repairs, first_open(&m->flight, m->log.own.next.seq));
	return first == m->log.own.applied + 1 ? 0 : trim(m, first);
}

/**
 * kfm_own_empty() - begin an empty log, if this is a primary that uses its log, and its leg has all
 *	that was written
 * @m: mirror without a write in flight
 *
 * Context: the worker. Return: 0, also if there is nothing to do; or a negative error if the empty
 * log may not be durable. A replay may find the old log then, so the leg counts as failed, and no
 * record is stored any more.
 */
int kfm_own_empty(struct kfm *m)
{
	int ret;

	if (!m->primary || !m->leg_tears || m->leg_failed)
		return 0;
	ret = kfm_log_start(m, kfm_random(), m->sb.gens.cur, m->sb.node);
	if (ret)
		m->leg_failed = true;
	return ret;
}

/**
 * kfm_own_resume() - replay the log of a primary, and begin an empty one
 * @m: mirror that is being resumed. The caller has cleared kfm.leg_failed
 *
 * A loss of power, or a write to the leg that has failed, may have left half a sector: it is
 * written again.
 *
 * Return: 0 or a negative error.
 */
int kfm_own_resume(struct kfm *m)
{
	if (!m->primary || !m->leg_tears)
		return 0;
	return kfm_log_replay(m) ?: kfm_own_empty(m);
}
