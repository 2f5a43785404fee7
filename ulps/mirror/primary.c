// SPDX-License-Identifier: GPL-2.0
/*
 * primary.c - a session as the primary has it, see the head of peer.c: what it compares, and what
 * it stores before writes go to the peer, or end without it. All of it is the worker's.
 */
#include "bits.h"
#include "csum.h"
#include "event.h"
#include "flush.h"
#include "leave.h"
#include "leg.h"
#include "meta.h"
#include "mirror.h"
#include "net.h"
#include "peer.h"
#include "primary.h"
#include "quorum.h"
#include "rail.h"
#include "recent.h"
#include "record.h"
#include "refuse.h"
#include "repair.h"
#include "resync.h"
#include "ring.h"
#include "session.h"
#include "told.h"
#include "verify.h"
#include "write.h"
#include "zero.h"

#define HELLO_EVERY	(HZ / 2)
#define WAIT_EVERY	(HZ / 10)

/* The peer has refused a session. */
static void on_refused(struct kfm_peer *p, u32 why)
{
	if (p->state == KFM_SESSION_UP)
		return;
	kfm_refuse(p, why && why < KFM_REFUSALS ? why : KFM_W_LATER);
}

/*
 * Store which node the peer is. If its copy is resynchronised, also store in which generation that
 * begins; a resynchronisation that was interrupted keeps its number. If nothing has to be
 * resynchronised, the generation of the copy becomes the base.
 */
static int pair_begin(struct kfm_peer *p, const struct kfm_msg *state, enum kfm_verdict verdict,
		      bool resync)
{
	struct kfm_pair *pair = kfm_pair(p), before = *pair;
	bool goes_on = state->state == KFM_INCONSISTENT && verdict == KFM_BITS;
	int ret;

	pair->node = state->node;
	if (resync && !goes_on)
		pair->source = p->m->sb.gens.cur;
	if (!resync)
		pair->base = state->gens.cur;
	if (pair->node == before.node && pair->source == before.source && pair->base == before.base)
		return 0;
	ret = kfm_super_save(p->m);
	if (ret)
		*pair = before;
	return ret;
}

static void on_state(struct kfm_peer *p, const struct kfm_msg *msg)
{
	static const u8 reasons[] = {
		[KFM_STALE] = KFM_W_STALE, [KFM_SPLIT] = KFM_W_SPLIT, [KFM_OTHER] = KFM_W_OTHER,
	};
	enum kfm_verdict verdict;
	struct kfm_msg attach = { .type = KFM_ATTACH, .session = p->session };
	struct kfm *m = p->m;

	if (p->state != KFM_SESSION_HELLO)
		return;
	if (!kfm_node_matches(p, msg->node) || kfm_quorum_full(m, msg->node)) {
		kfm_refuse(p, KFM_W_OTHER_NODE);
		return;
	}
	if (m->policy == KFM_QUORUM && !(msg->flags & KFM_M_QUORUM)) {
		kfm_refuse(p, KFM_R_POLICY);
		return;
	}
	if (kfm_told_knows(m, msg)) {
		kfm_refuse(p, KFM_W_EARLIER);
		return;
	}
	verdict = kfm_state_compare(p, msg);
	if (verdict >= KFM_STALE) {
		kfm_refuse(p, reasons[verdict]);
		kfm_quorum_newer(p, msg);
		return;
	}
	if (msg->sectors < m->sectors && !p->witness) {
		kfm_refuse(p, KFM_R_SIZE);
		return;
	}
	if (m->noquorum && !kfm_may_copy(p, msg)) {
		kfm_refuse(p, KFM_W_BLANK);
		return;
	}
	if (m->noquorum && !kfm_quorum_admits(p, msg->node)) {
		kfm_refuse(p, KFM_W_NO_VOTE);
		return;
	}
	if (!p->witness)
		p->sectors = msg->sectors;
	kfm_flush_start(p, msg->start);
	p->whole = msg->state == KFM_UPTODATE || msg->state == KFM_OUTDATED;
	p->fresh = m->policy == KFM_QUORUM && !msg->gens.cur;
	attach.arg = !p->witness && (verdict == KFM_FULL || p->oos_count || !p->whole ||
				     msg->flags & KFM_M_DIRTY);
	if (attach.arg && m->detached) {
		kfm_refuse(p, KFM_W_NO_SOURCE);
		return;
	}
	p->refused = 0;
	p->attach = attach.arg;
	p->synced_sent = false;
	p->gen = 0;
	if (!kfm_may_copy(p, msg) || !kfm_quorum_admits(p, msg->node) ||
	    (p->attach && kfm_resync_waits(p))) {
		p->state = KFM_SESSION_DOWN;
		p->next = jiffies + WAIT_EVERY;
		return;
	}
	if (verdict == KFM_FULL && kfm_oos_fill(p))
		return;
	if (pair_begin(p, msg, verdict, attach.arg))
		return;
	attach.gens = kfm_pair_gens(p);
	p->log_gen = attach.gens.cur;
	p->state = KFM_SESSION_ATTACH;
	p->deadline = jiffies + 2 * m->timeout;
	kfm_net_send(p, &attach);
}

static void session_up(struct kfm_peer *p)
{
	if (!p->slots.zeroes)
		kfm_zeroes_left_out(p);
	/*
	 * Writes ended alone meanwhile, or the peer does not take what is in flight: its copy has
	 * to be inconsistent before it gets these regions.
	 */
	if (!p->attach && p->oos_count) {
		kfm_peer_lost(p, -EAGAIN);
		return;
	}
	p->state = KFM_SESSION_UP;
	p->outage++;
	p->began = p->m->numbered;
	p->live = jiffies;
	p->next = jiffies;
	p->insync = false;
	p->settled.known = false;
	p->answered = 0;
	p->timed = 0;
	p->heard = jiffies - p->m->timeout;
	if (p->fresh)
		kfm_quorum_ask(p);
	p->oos_start = p->oos_count;
	kfm_resync_begin(p);
	kfm_rails_ask(p);
	kfm_peer_event(p, "connected");
}

static void on_grant(struct kfm_peer *p, const struct kfm_msg *msg)
{
	struct kfm *m = p->m;
	bool cached = p->slots.caches;

	if (p->state != KFM_SESSION_ATTACH || !kfm_roles_agree(p, msg))
		return;
	kfm_ring_begin(p, msg);
	kfm_slots_begin(p, msg);
	p->numbers = msg->flags & KFM_M_NUMBERS;
	p->csum = m->csum && msg->flags & KFM_M_CSUM;
	if (cached && !p->slots.caches)	/* it can't be told any more to flush what it has */
		kfm_flush_lost(p);
	if (!msg->bitmap_len) {
		session_up(p);
		return;
	}
	p->deadline = jiffies + m->timeout;
	p->state = KFM_SESSION_BITMAP;
	if (msg->bitmap_len != kfm_wire_bytes(m->sectors) || kfm_busy(&p->fetch_busy) ||
	    kfm_net_fetch(p, msg->bitmap_key, msg->bitmap_addr, msg->bitmap_len))
		kfm_peer_lost(p, -EPROTO);
}

/*
 * The peer has stored the generation, which becomes the base, and that its copy is whole. A copy
 * that is partly overwritten comes from a disk that was put back, from now on. For the base alone
 * the superblock is not written: until the next generation, whose beginning writes it, the older
 * one is as good.
 */
static void synced_ok(struct kfm_peer *p)
{
	bool partial = kfm_pair(p)->source;

	p->gen = p->m->sb.gens.cur;
	kfm_pair(p)->base = p->gen;
	kfm_pair(p)->source = 0;
	if (partial)
		kfm_super_save(p->m);
	if (!p->insync && !p->oos_count) {
		p->insync = true;
		kfm_source_back(p);
		kfm_peer_event(p, "synced");
	}
	kfm_quorum_stored(p->m);
}

/* A message of the present session */
void kfm_primary_message(struct kfm_peer *p, const struct kfm_msg *msg)
{
	switch (msg->type) {
	case KFM_STATE:
		p->version = msg->version;
		on_state(p, msg);
		break;
	case KFM_REFUSED:
		on_refused(p, msg->arg);
		kfm_quorum_newer(p, msg);
		break;
	case KFM_GRANT:
		on_grant(p, msg);
		break;
	case KFM_APPLIED:
	case KFM_PONG:
		if (p->state != KFM_SESSION_UP)
			break;
		kfm_ring_applied(&p->ring, msg->seq);
		p->answered = max(p->answered, min(msg->asked, p->m->asked));
		if (p->timed && p->answered >= p->timed) {
			p->heard = p->timed_at;
			p->timed = 0;
		}
		break;
	case KFM_RAIL:
		if (p->state == KFM_SESSION_UP)
			kfm_rail_granted(p, msg);
		break;
	case KFM_SYNCED_OK:
		if (p->state == KFM_SESSION_UP && p->synced_sent &&
		    msg->gens.cur == p->m->sb.gens.cur)
			synced_ok(p);
		break;
	case KFM_COPIED:
		if (p->state == KFM_SESSION_UP)
			kfm_repair_copied(p, msg);
		kfm_verify_copied(p, msg);
		break;
	case KFM_HASHED:
		kfm_csum_answered(p, msg);
		break;
	case KFM_BYE:
		if (msg->arg == KFM_BYE_RAIL)
			kfm_rails_others_failed(p);
		kfm_peer_lost(p, -ESHUTDOWN);
		break;
	case KFM_LEAVE:
		kfm_leave_message(p);
		break;
	}
}

/* The peer's bitmap has come, or not. */
static void fetch_tick(struct kfm_peer *p)
{
	if (kfm_busy(&p->fetch_busy))
		return;
	if (p->fetch_err)
		kfm_rail_lost(p->rail, p->fetch_err);
	else if (kfm_wire_merge(p))
		kfm_peer_lost(p, 0);
	else
		session_up(p);
}

/* The number of the first write that has not ended, or of the next one */
static u64 open_from(const struct kfm *m)
{
	const struct kfm_write *w;
	u64 first = m->numbered;

	list_for_each_entry(w, &m->flight, entry)
		first = min(first, w->number);
	return first;
}

/*
 * Both copies are the same: send SYNCED until the peer has answered. The peer may be promoted after
 * SYNCED, so the note that it was not in sync has to be removed, durably, before.
 *
 * A peer that is lost before it answers may have stored the generation or not. In both cases the
 * bitmap alone must be enough when the peer returns. If its copy was overwritten until now and the
 * generation is not stored, kfm_compare() identifies the copy by its source, so the base can
 * change before SYNCED is sent. A whole copy is identified by its generation alone, so the older
 * base remains until the peer answers.
 */
static void synced_tick(struct kfm_peer *p)
{
	struct kfm *m = p->m;
	struct kfm_msg synced = { .type = KFM_SYNCED, .session = p->session };
	struct kfm_pair *pair = kfm_pair(p), before = *pair;

	if (m->meta_failed)
		return;
	pair->flags &= ~(KFM_PAIR_ALONE | KFM_PAIR_LEFT);
	if (p->attach && !p->synced_sent)
		pair->base = m->sb.gens.cur;
	if ((pair->flags != before.flags || pair->base != before.base) && kfm_super_save(m)) {
		*pair = before;
		return;
	}
	synced.gens = m->sb.gens;
	kfm_quorum_announce(m, &synced);
	kfm_recent_announce(p, &synced);
	kfm_told_speaks(m, &synced);
	synced.number = min(m->logged, open_from(m) - 1);
	p->synced_sent = true;
	kfm_net_send(p, &synced);
}

/* PING reports to a peer in sync which writes are settled. When it was sent matters to reads. */
static void ping(struct kfm_peer *p)
{
	struct kfm_msg msg = { .type = KFM_PING, .arg = p->insync, .session = p->session };

	if (p->m->reads_quorum && !p->timed) {
		p->timed = ++p->m->asked;
		p->timed_at = jiffies;
	}
	msg.asked = p->m->asked;
	if (p->insync)
		kfm_recent_announce(p, &msg);
	kfm_told_speaks(p->m, &msg);
	kfm_net_send(p, &msg);
}

static void up_tick(struct kfm_peer *p)
{
	struct kfm *m = p->m;

	if (time_after(jiffies, p->live + m->timeout)) {
		kfm_rail_lost(p->rail, -ETIMEDOUT);
		return;
	}
	if (time_before(jiffies, p->next))
		return;
	p->next = jiffies + m->timeout / 8;
	kfm_rails_ask(p);
	if (p->insync ? p->gen == m->sb.gens.cur : p->oos_count || !kfm_may_sync(p))
		ping(p);
	else
		synced_tick(p);
}

/* What is due in a session of a primary, or before there is one */
void kfm_primary_tick(struct kfm_peer *p)
{
	struct kfm *m = p->m;

	if (m->leg_failed || m->stepping)
		return;
	switch (p->state) {
	case KFM_SESSION_DOWN:
		if (time_before(jiffies, p->next))
			return;
		p->state = KFM_SESSION_HELLO;
		p->deadline = jiffies + kfm_rails_wait(p, HELLO_EVERY);
		kfm_peer_hello(p->rail, 0);
		return;
	case KFM_SESSION_BITMAP:
		fetch_tick(p);
		break;
	case KFM_SESSION_UP:
		up_tick(p);
		return;
	default:
		break;
	}
	if (p->state != KFM_SESSION_UP && p->state != KFM_SESSION_DOWN &&
	    time_after(jiffies, p->deadline))
		kfm_rail_lost(p->rail, -ETIMEDOUT);
}
