// SPDX-License-Identifier: GPL-2.0
/*
 * post.c - which records a peer is sent, and when: groups of those that wait, in the order of the
 * writes. All functions run with the mirror claimed (claim.c).
 */
#include <linux/crc32c.h>
#include "direct.h"
#include "log.h"
#include "mirror.h"
#include "peer.h"
#include "rail.h"
#include "record.h"
#include "ring.h"
#include "write.h"

#define GROUP_PART	2	/* a group has at least this part of the records in flight */

/* A session begins: all slots that the peer offers are free. */
void kfm_slots_begin(struct kfm_peer *p, const struct kfm_msg *grant)
{
	struct kfm_slots *s = &p->slots;

	kfm_rails_begin(p, grant);
	s->data_crc = p->m->data_crc || !p->rail->checked;
	s->zeroes = grant->flags & KFM_M_ZEROES;
	s->caches = p->m->cache && p->start && grant->flags & KFM_M_CACHE && grant->arg;
	s->number = 0;
	for (s->count = 0; s->count < grant->arg; s->count++)
		s->free[s->count] = s->count;
}

/* A record is durable at the peer: if it is the first one of its slot, that is free. */
void kfm_slot_free(struct kfm_peer *p, struct kfm_post *post)
{
	if (post->slot) {
		p->slots.free[p->slots.count++] = post->slot - 1;
		post->rail->bytes -= post->bytes;
	}
	post->slot = 0;
}

/*
 * Is there a record for the peer that is not known to be durable? A peer that keeps nothing in a
 * volatile cache gets no record of a flush.
 */
bool kfm_unacked(const struct kfm_peer *p, const struct kfm_write *w)
{
	int state = w->posts[p->index].state;

	if (w->kind == KFM_FLUSH && !p->slots.caches)
		return false;
	return state == KFM_P_WAIT || state == KFM_P_POSTED;
}

/* Is there a record that waits for being posted? */
static bool waits(const struct kfm_peer *p, const struct kfm_write *w)
{
	return kfm_unacked(p, w) && w->posts[p->index].state == KFM_P_WAIT;
}

/*
 * Is a record better written to the leg of the peer than to its log? A long one is. Many short
 * ones are one write to the log, but one without company would only be written twice. A disk that
 * has to seek, as that of the peer probably does if this node's does, writes its log faster; and
 * several peers make bits durable before they write the leg (kfm.single_direct is false for both).
 * With volatile caches each one is: the log has to be durable, and makes a flush of the leg for
 * each batch. Zeroes and flushes are never logged.
 */
static bool direct_wanted(const struct kfm_peer *p, const struct kfm_write *w)
{
	const struct kfm *m = p->m;

	return w->kind != KFM_DATA || p->slots.caches || w->len >= m->direct_min ||
	       (m->single_direct && list_is_singular(&m->flight));
}

/**
 * kfm_logged() - which records in the peer's log overlap a range?
 * @p: peer with a session
 * @sector: first sector
 * @len: bytes
 *
 * Return: the number of the last one that APPLIED has not reported, or 0.
 */
u64 kfm_logged(const struct kfm_peer *p, u64 sector, u32 len)
{
	const struct kfm_rec r = { .sector = sector, .len = len };
	u64 seq;

	for (seq = p->ring.next.seq - 1; seq > p->ring.applied; seq--) {
		if (kfm_recs_overlap(&p->slots.logged[seq % KFM_WINDOW], &r))
			return seq;
	}
	return 0;
}

/*
 * Is the record of a write to be a direct one (direct.c)? It is if the peer has slots, and if it
 * overlaps no record in the peer's log that a replay may still write to the leg. Then it waits for
 * a slot: one is free as soon as another record is on the leg, while a logged one is written twice.
 * Else it is logged; or, if the peer has no log, it waits until it overlaps nothing. Zeroes and
 * flushes wait for both.
 */
static bool is_direct(const struct kfm_peer *p, const struct kfm_write *w)
{
	if (!p->rail->open || (p->ring.len && !direct_wanted(p, w)))
		return false;
	return !kfm_logged(p, w->sector, w->len);
}

/*
 * Add a direct record to a group. Return: false if it has no room. A flush, which takes long, goes
 * alone: a group has one answer.
 */
static bool direct_add(struct kfm_group *g, struct kfm_write *w)
{
	const u32 head = sizeof(struct kfm_le_direct), data = kfm_write_data(w);

	if (g->count && w->kind == KFM_FLUSH)
		return false;
	if (g->count == KFM_GROUP || g->bytes - g->count * head + data > KFM_WRITE_MAX)
		return false;
	g->bytes += head + data;
	g->writes[g->count++] = w;
	return true;
}

/* Add a record to a group. Return: false if it, or the ring, has no room. */
static bool log_add(const struct kfm_ring *ring, struct kfm_group *g, struct kfm_write *w)
{
	u32 room = kfm_rec_room(w->len), at;
	struct kfm_place next = g->next;

	if (!kfm_ring_take(ring, &next, room, &at))
		return false;
	if (g->count && (g->count == KFM_GROUP || g->bytes + room > KFM_GROUP_BYTES ||
			 at != g->next.at))
		return false;
	if (!g->count)
		g->at = at;
	g->next = next;
	g->bytes += room;
	g->ends[g->count] = g->next.head;
	g->writes[g->count++] = w;
	return true;
}

/*
 * Add the next record. Return: false if it does not go with the others, has no room, or waits.
 * Data does not go with zeroes or a flush, which need longer.
 */
static bool group_add(const struct kfm_peer *p, struct kfm_group *g, struct kfm_write *w)
{
	bool direct = is_direct(p, w);

	if (direct && !p->slots.count)
		return false;
	if (g->count && (direct != g->direct || w->kind != g->writes[0]->kind))
		return false;
	if (!direct && w->kind != KFM_DATA)
		return false;
	g->direct = direct;
	return direct ? direct_add(g, w) : log_add(&p->ring, g, w);
}

/* Collect the records that are posted next, in the order of the writes, from @w on. */
static void group_collect(struct kfm_peer *p, struct kfm_group *g, struct kfm_write *w)
{
	list_for_each_entry_from(w, &p->m->flight, entry) {
		if (!waits(p, w))
			continue;
		/* posted in an earlier session, not completed yet */
		if (kfm_busy(&w->posts[p->index].busy) || !group_add(p, g, w))
			return;
	}
}

/* The CRC of the data, the same for all peers; NULL if the peer gets none */
static const u32 *data_crc(const struct kfm_peer *p, struct kfm_write *w)
{
	if (!p->slots.data_crc || w->kind != KFM_DATA)
		return NULL;
	if (!w->crc_known)
		w->crc = crc32c(~0U, w->buf + KFM_DATA_AT, w->len);
	w->crc_known = true;
	return &w->crc;
}

/* KFM_D_ of the direct record of a write, without that of a CRC */
static u32 rec_flags(const struct kfm_peer *p, const struct kfm_write *w)
{
	switch (w->kind) {
	case KFM_FLUSH:
		return KFM_D_FLUSH;
	case KFM_ZEROES:
		/* a part of a resynchronisation, which has no bio, gives back the room */
		return KFM_D_ZEROES | (w->bio && w->bio->bi_opf & REQ_NOUNMAP ? KFM_D_NOUNMAP : 0);
	default:
		return p->slots.caches && w->cached ? KFM_D_CACHED : 0;
	}
}

static void group_encode(const struct kfm_peer *p, const struct kfm_group *g)
{
	struct kfm_rec r = {
		.log = p->session, .gen = p->log_gen,
		.seq = g->direct ? p->slots.number + 1 : p->ring.next.seq,
	};
	struct kfm_write *w;
	unsigned int i;

	for (i = 0; i < g->count; i++, r.seq++) {
		w = g->writes[i];
		r.sector = w->sector;
		r.len = w->len;
		r.flags = rec_flags(p, w);
		/* a part of a resynchronisation is read when it has its number, and not in order */
		r.number = p->numbers && !w->peer ? w->number : 0;
		if (g->direct)
			kfm_direct_encode(&r, data_crc(p, w), kfm_write_head(p, w));
		else
			kfm_rec_encode(&r, w->buf + KFM_DATA_AT, kfm_write_head(p, w));
	}
}

/* The record is posted: it has a number, and a place in the log is in use. */
static void rec_posted(struct kfm_peer *p, const struct kfm_group *g, unsigned int i)
{
	struct kfm_write *w = g->writes[i];
	struct kfm_post *post = &w->posts[p->index];

	post->state = KFM_P_POSTED;
	post->rail = g->rail;
	post->direct = g->direct;
	if (g->direct) {
		post->seq = ++p->slots.number;
		return;
	}
	post->seq = p->ring.next.seq + i;
	if (p->numbers && !w->peer)
		p->m->logged = max(p->m->logged, w->number);
	p->ring.ends[post->seq % KFM_WINDOW] = g->ends[i];
	p->slots.logged[post->seq % KFM_WINDOW] = (struct kfm_rec) {
		.sector = w->sector, .len = w->len,
	};
}

/* Write a group to the peer. Return: 0; -EAGAIN; or the error of the session. */
static int post(struct kfm_peer *p, struct kfm_group *g)
{
	struct kfm_slots *s = &p->slots;
	struct kfm_post *first = &g->writes[0]->posts[p->index];
	unsigned int i;
	ssize_t ret;

	g->rail = g->direct ? kfm_rail_for_slots(p) : p->rail;
	/* the slot that was used last: the caches of both nodes have it */
	if (g->direct)
		g->at = kfm_slot_at(s->free[s->count - 1], g->count);
	group_encode(p, g);
	ret = kfm_net_write(p, g);
	g->rail->failed = ret && ret != -EAGAIN;
	if (ret) {
		p->m->again |= ret == -EAGAIN;
		return ret;
	}
	for (i = 0; i < g->count; i++)
		rec_posted(p, g, i);
	if (g->direct) {
		first->slot = s->free[--s->count] + 1;
		first->bytes = g->bytes;
		g->rail->bytes += g->bytes;
	} else {
		p->ring.next = g->next;
	}
	return 0;
}

/*
 * Is it time to post? A write to the ring wakes a thread of the peer, and its answer one here,
 * whether it has one record or many. So a record waits while many others are in flight, until
 * there are some that can go together. This is checked again when one of those in flight has
 * ended, so nothing waits for long; with few writes in flight nothing waits at all.
 */
static bool post_due(const struct kfm_peer *p)
{
	unsigned int waiting = 0, posted = 0;
	const struct kfm_write *w;
	u32 bytes = 0;

	list_for_each_entry(w, &p->m->flight, entry) {
		if (waits(p, w)) {
			waiting++;
			bytes += kfm_rec_room(kfm_write_data(w));
		} else {
			posted += w->posts[p->index].state == KFM_P_POSTED;
		}
	}
	return waiting && (waiting * GROUP_PART >= posted || bytes >= KFM_GROUP_BYTES);
}

/**
 * kfm_post_all() - post records in the order of the writes, as long as there is room
 * @p: the peer
 * @limit: post no more than this, in bytes
 *
 * Return: 0; -EAGAIN if the provider takes no more, or the limit was reached; or the error of the
 * session.
 */
int kfm_post_all(struct kfm_peer *p, u32 limit)
{
	struct kfm_group g = {};
	u32 bytes = 0;
	struct kfm_write *w;
	int ret = 0;

	if (p->state != KFM_SESSION_UP || !post_due(p))
		return 0;
	list_for_each_entry(w, &p->m->flight, entry) {
		if (!waits(p, w))
			continue;
		if (bytes >= limit)
			return -EAGAIN;
		g.count = 0;
		g.bytes = 0;
		g.next = p->ring.next;
		group_collect(p, &g, w);
		if (!g.count)
			break;
		ret = post(p, &g);
		if (ret)
			break;
		bytes += g.bytes;
	}
	return ret;
}
