// SPDX-License-Identifier: GPL-2.0
/*
 * post.c - which records a peer is sent, and when: groups of those that wait, in the order of the
 * writes. All functions run with the mirror claimed (claim.c).
 */
#include "mirror.h"
#include "peer.h"
#include "record.h"
#include "ring.h"
#include "write.h"

#define GROUP_PART	2	/* a group has at least this part of the records in flight */

/*
 * Where the head of the record for a peer is: at the end of a sector of its own, because a provider
 * may read the sectors of other peers meanwhile. That of the first peer is followed by the data.
 */
void *kfm_write_head(const struct kfm_peer *p, const struct kfm_write *w)
{
	static_assert(KFM_PEERS * KFM_SECTOR <= KFM_DATA_AT);

	return w->buf + KFM_DATA_AT - p->index * KFM_SECTOR - sizeof(struct kfm_le_rec);
}

/* Add a record to a group. Return: false if it, or the ring, has no room. */
static bool group_add(const struct kfm_ring *ring, struct kfm_group *g, struct kfm_write *w)
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

/* Collect the records that are posted next, in the order of the writes, from @w on. */
static void group_collect(struct kfm_peer *p, struct kfm_group *g, struct kfm_write *w)
{
	const struct kfm_post *post;

	list_for_each_entry_from(w, &p->m->flight, entry) {
		post = &w->posts[p->index];
		if (post->state != KFM_P_WAIT)
			continue;
		/* posted in an earlier session, not completed yet */
		if (kfm_busy(&post->busy) || !group_add(&p->ring, g, w))
			return;
	}
}

/* Write a group to the peer. Return: 0; -EAGAIN; or the error of the session. */
static int post(struct kfm_peer *p, const struct kfm_group *g)
{
	struct kfm_rec r = { .log = p->session, .gen = p->log_gen, .seq = p->ring.next.seq };
	struct kfm_ring *ring = &p->ring;
	struct kfm_write *w;
	struct kfm_post *post;
	unsigned int i;
	ssize_t ret;

	for (i = 0; i < g->count; i++, r.seq++) {
		w = g->writes[i];
		r.sector = w->sector;
		r.len = w->len;
		kfm_rec_encode(&r, w->buf + KFM_DATA_AT, kfm_write_head(p, w));
	}
	ret = kfm_net_write(p, g);
	if (ret) {
		p->m->again |= ret == -EAGAIN;
		return ret;
	}
	for (i = 0; i < g->count; i++) {
		post = &g->writes[i]->posts[p->index];
		post->state = KFM_P_POSTED;
		post->seq = ring->next.seq + i;
		ring->ends[post->seq % KFM_WINDOW] = g->ends[i];
	}
	ring->next = g->next;
	return 0;
}

/*
 * Is it time to post? A write to the ring wakes a thread of the peer, and its answer one here,
 * whether it has one record or many. So a record waits while many others are in flight, until there
 * are some that can go together. This is checked again when one of those in flight has ended, so
 * nothing waits for long; with few writes in flight nothing waits at all.
 */
static bool post_due(const struct kfm_peer *p)
{
	unsigned int waiting = 0, posted = 0;
	const struct kfm_write *w;
	u32 bytes = 0;

	list_for_each_entry(w, &p->m->flight, entry) {
		switch (w->posts[p->index].state) {
		case KFM_P_WAIT:
			waiting++;
			bytes += kfm_rec_room(w->len);
			break;
		case KFM_P_POSTED:
			posted++;
			break;
		default:
			break;
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
	struct kfm_group g;
	u32 bytes = 0;
	struct kfm_write *w;
	int ret = 0;

	if (p->state != KFM_SESSION_UP || !post_due(p))
		return 0;
	list_for_each_entry(w, &p->m->flight, entry) {
		if (w->posts[p->index].state != KFM_P_WAIT)
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
