// SPDX-License-Identifier: GPL-2.0
/*
 * recent.c - what two secondaries of one primary may have that differs, if the primary dies.
 *
 * A write that is in flight when the primary dies may have reached one secondary and not the other.
 * So a secondary with several peers sets the bits of each region that it writes, in the bitmaps of
 * all peers but the primary, and makes its extent active, durably, before the record leaves its
 * log, or before a direct record is written to its leg. When it is promoted, it resynchronises
 * these regions, and those in the bitmaps of the other nodes.
 *
 * A write is settled when it has ended: then all peers have it that are in sync, and those that
 * are not have an older generation. If legs have volatile caches, it is settled when a flush has
 * ended, here and at all peers, that began later: until then one of them may lose it with its
 * power. PING and SYNCED of the primary contain the last record of the session up to which all
 * writes are settled, with those of earlier sessions (KFM_M_SETTLED), and the last direct record.
 * The secondary then clears the bits of all regions that no later record has written. It keeps a
 * list of the ranges of the last KFM_WINDOW records. That is enough for the writes in flight, but
 * not if many parts of a resynchronisation follow them: then it clears nothing until these writes
 * are settled.
 *
 * A mirror with one peer does nothing of that. All functions run in the worker.
 */
#include "bits.h"
#include "flush.h"
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

/* Which records of the session are settled, if no cache can lose them? */
static struct kfm_settled settled_now(const struct kfm_peer *p)
{
	struct kfm_settled s = { .seq = p->ring.next.seq, .direct = p->slots.number + 1 };
	const struct kfm_post *post;
	struct kfm_write *w;

	list_for_each_entry(w, &p->m->flight, entry) {
		if (w->peer)	/* all peers that are in sync have what is resynchronised */
			continue;
		if (w->number < p->began)
			return s;
		post = &w->posts[p->index];
		if (post->state != KFM_P_POSTED && post->state != KFM_P_ACKED)
			continue;
		if (post->direct)
			s.direct = min(s.direct, post->seq);
		else
			s.seq = min(s.seq, post->seq);
	}
	s.seq--;
	s.direct--;
	s.known = true;
	return s;
}

/* A flush begins. When it has ended, kfm_flush_ended() stores what it covers. */
void kfm_recent_mark(struct kfm_write *w)
{
	struct kfm_peer *p;

	kfm_for_each_peer(p, w->m) {
		if (p->state == KFM_SESSION_UP)
			w->posts[p->index].settled = settled_now(p);
	}
}

/**
 * kfm_recent_announce() - report to a secondary which writes are settled
 * @p: peer in sync
 * @msg: PING or SYNCED; @seq, @direct and KFM_M_SETTLED are set if all writes are settled that
 *	began before the session
 */
void kfm_recent_announce(const struct kfm_peer *p, struct kfm_msg *msg)
{
	/* what a detached node writes after its first flush is in no cache alone */
	bool cached = p->m->cache && (!p->m->detached || kfm_flush_needed(p->m));
	struct kfm_settled s = cached ? p->settled : settled_now(p);

	if (any_open(p->m) || !s.known)
		return;
	msg->seq = s.seq;
	msg->direct = s.direct;
	msg->flags |= KFM_M_SETTLED;
}

/* ---- secondary ---- */

/**
 * kfm_recent_set() - set the bits of records, in memory
 * @m: secondary, or a node that is being promoted
 * @table: kfm.recent, or kfm.recent_direct
 * @recs: the records
 * @count: number of records
 */
void kfm_recent_set(struct kfm *m, struct kfm_recent *table, const struct kfm_rec *recs,
		    unsigned int count)
{
	struct kfm_recent *recent;
	const struct kfm_rec *r;
	struct kfm_peer *p;

	if (kfm_copy_count(m) == 1 || m->log.head.node == m->sb.node)
		return;
	for (r = recs; r < recs + count; r++) {
		if (!r->len)	/* a flush */
			continue;
		recent = &table[r->seq % KFM_WINDOW];
		if (r->seq > recent->seq)	/* direct records come in any order */
			*recent = (struct kfm_recent) { r->seq, r->sector, r->len };
		kfm_for_each_peer(p, m) {
			if (m->sb.pairs[p->index].node == m->log.head.node)
				continue;
			kfm_active_set(p, r->sector, r->len);
			kfm_oos_set(p, r->sector, r->len);
		}
	}
}

/* Set the bits of records of the log that are on the leg. Return: 0 if they are durable. */
int kfm_recent_add(struct kfm *m, const struct kfm_rec *recs, unsigned int count)
{
	kfm_recent_set(m, m->recent, recs, count);
	return kfm_active_flush(m);
}

static void set_later(struct kfm_peer *q, const struct kfm_recent *table, u64 seq)
{
	unsigned int i;

	for (i = 0; i < KFM_WINDOW; i++) {
		if (table[i].seq > seq)
			kfm_oos_set(q, table[i].sector, table[i].len);
	}
}

/* Clear all regions that may differ from those of a peer but those of later records. */
static void clear_settled(struct kfm_peer *q, const struct kfm_msg *msg)
{
	kfm_oos_zero(q);
	set_later(q, q->m->recent, msg->seq);
	set_later(q, q->m->recent_direct, msg->direct);
}

/* Are there records behind @settled that the table does not have any more? */
static bool overrun(u64 last, u64 settled)
{
	return last > settled && last - settled > KFM_WINDOW;
}

/**
 * kfm_recent_clean() - clear the regions of settled writes
 * @p: the primary, with a session in which this node was in sync
 * @msg: PING or SYNCED
 *
 * In memory: on the device they are cleared when the extents are cleaned (cool.c). A primary that
 * is shorter than this node knows nothing of what is behind its end, so nothing is cleared.
 */
void kfm_recent_clean(struct kfm_peer *p, const struct kfm_msg *msg)
{
	struct kfm *m = p->m;
	struct kfm_peer *q;

	if (!(msg->flags & KFM_M_SETTLED) || p->sectors < m->sectors ||
	    overrun(m->log.head.seq - 1, msg->seq) ||
	    overrun(READ_ONCE(m->direct.top), msg->direct))
		return;
	kfm_for_each_peer(q, m) {
		if (q != p && q->oos_count)
			clear_settled(q, msg);
	}
}

/* A log begins: its records are numbered from 1 again. */
void kfm_recent_begin(struct kfm *m)
{
	memset(m->recent, 0, sizeof(m->recent));
	memset(m->recent_direct, 0, sizeof(m->recent_direct));
}
