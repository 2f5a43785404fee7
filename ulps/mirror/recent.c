// SPDX-License-Identifier: GPL-2.0
/*
 * recent.c - what two secondaries of one primary may have that differs, if the primary dies.
 *
 * A write that is in flight when the primary dies may have reached one secondary and not the other.
 * So a secondary with several peers sets the bit of each region that it writes, in the bitmaps of
 * all peers but the primary, before the record leaves its log. When it is promoted, it
 * resynchronises these regions, and those in the bitmaps of the other nodes.
 *
 * A write is settled when it has ended: then all peers have it that are in sync, and those that are
 * not have an older generation. PING and SYNCED of the primary contain the last record of the
 * session up to which all writes are settled, with those of earlier sessions (KFM_M_SETTLED). The
 * secondary then clears the bits of all regions that no later record has written. It keeps a list
 * of the regions of the last KFM_WINDOW records. That is enough for the writes in flight, but not
 * if many parts of a resynchronisation follow them: then it clears nothing until these writes are
 * settled.
 *
 * A mirror with one peer does nothing of that, nor does the replay of a node's own records (own.c),
 * whose bits were durable before they were written. All functions run in the worker.
 */
#include "meta.h"
#include "mirror.h"
#include "peer.h"
#include "recent.h"
#include "write.h"

/* ---- primary ---- */

/*
 * Does a copy that may be promoted, or be taken for one of this generation, lack a write that
 * another peer has? That may be one that dm took back, or one that the leg has failed. A copy
 * without which this node writes has an older generation. One that is being resynchronised is
 * inconsistent until SYNCED.
 */
static bool any_open(const struct kfm *m)
{
	struct kfm_peer *p;

	kfm_for_each_peer(p, m) {
		if (p->oos_count && !kfm_is_alone(p) &&
		    !(p->state == KFM_SESSION_UP && p->attach && !p->synced_sent))
			return true;
	}
	return false;
}

/**
 * kfm_recent_announce() - report to a secondary which writes are settled
 * @p: peer in sync
 * @msg: PING or SYNCED; @seq and KFM_M_SETTLED are set if all writes are settled that began before
 *	the session
 */
void kfm_recent_announce(const struct kfm_peer *p, struct kfm_msg *msg)
{
	const struct kfm_post *post;
	struct kfm_write *w;

	if (any_open(p->m))
		return;
	msg->seq = p->ring.next.seq - 1;
	list_for_each_entry(w, &p->m->flight, entry) {
		if (w->peer)	/* all peers that are in sync have what is resynchronised */
			continue;
		if (w->number < p->began) {
			msg->seq = 0;
			return;
		}
		post = &w->posts[p->index];
		if (post->state == KFM_P_POSTED || post->state == KFM_P_ACKED)
			msg->seq = post->seq - 1;
		break;
	}
	msg->flags |= KFM_M_SETTLED;
}

/* ---- secondary ---- */

/**
 * kfm_recent_add() - set the bits of records that are on the leg
 * @m: secondary, or a node that is being promoted
 * @recs: the records
 * @count: number of records
 *
 * Return: 0 if the bits are durable, or a negative error.
 */
int kfm_recent_add(struct kfm *m, const struct kfm_rec *recs, unsigned int count)
{
	struct kfm_recent *recent;
	struct kfm_peer *p;
	unsigned int i;

	if (!m->peers[1] || m->log.head.node == m->sb.node)
		return 0;
	for (i = 0; i < count; i++) {
		recent = &m->recent[recs[i].seq % KFM_WINDOW];
		recent->seq = recs[i].seq;
		recent->first = kfm_region(m, recs[i].sector);
		recent->last = kfm_region(m, recs[i].sector + recs[i].len / KFM_SECTOR - 1);
		kfm_for_each_peer(p, m) {
			if (m->sb.pairs[p->index].node == m->log.head.node)
				continue;
			kfm_oos_set(p, recent->first);
			kfm_oos_set(p, recent->last);
		}
	}
	return kfm_bits_flush(m);
}

/* Clear all regions that may differ from those of a peer but those of records behind @seq. */
static void clear_settled(struct kfm_peer *q, u64 seq)
{
	const struct kfm_recent *recent = q->m->recent;
	unsigned int i;

	bitmap_zero(q->oos, q->m->regions);
	q->oos_count = 0;
	for (i = 0; i < KFM_WINDOW; i++) {
		if (recent[i].seq <= seq)
			continue;
		kfm_oos_set(q, recent[i].first);
		kfm_oos_set(q, recent[i].last);
	}
}

/**
 * kfm_recent_clean() - clear the regions of settled writes
 * @p: the primary, with a session in which this node was in sync
 * @msg: PING or SYNCED
 *
 * The bits are cleared later, by kfm_bits_clean().
 */
void kfm_recent_clean(struct kfm_peer *p, const struct kfm_msg *msg)
{
	struct kfm *m = p->m;
	u64 applied = m->log.head.seq - 1;
	struct kfm_peer *q;

	if (!(msg->flags & KFM_M_SETTLED) ||
	    (applied > msg->seq && applied - msg->seq > KFM_WINDOW))
		return;
	kfm_for_each_peer(q, m) {
		if (q != p && q->oos_count)
			clear_settled(q, msg->seq);
	}
}

/* A log begins: its records are numbered from 1 again. */
void kfm_recent_begin(struct kfm *m)
{
	memset(m->recent, 0, sizeof(m->recent));
}
