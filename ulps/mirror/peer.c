// SPDX-License-Identifier: GPL-2.0
/*
 * peer.c - the sessions: each is between two nodes. The part of the secondary is in secondary.c.
 *
 *   primary			secondary
 *   HELLO		->			ends the old session: its keys are dead
 *			<-	STATE		or REFUSED
 *   compares generations
 *   ATTACH		->			compares, too; replays the old log; durably
 *						INCONSISTENT if it is going to be overwritten;
 *			<-	GRANT		begins a new log, gives out keys
 *   reads the bitmap, if the secondary
 *   has been primary
 *   records		->			APPLIED
 *   in sync: durably not alone
 *   SYNCED		->			takes the generations, durably UPTODATE
 *			<-	SYNCED_OK
 *						to be stopped: durably OUTDATED
 *			<-	LEAVE
 *   durably alone
 *   BYE		->
 *
 * The primary drives. A step without an answer, or an error of a record, ends the session, and the
 * primary begins another one. All of it is the worker's.
 */
#include "bits.h"
#include "command.h"
#include "csum.h"
#include "direct.h"
#include "flush.h"
#include "leg.h"
#include "log.h"
#include "meta.h"
#include "mirror.h"
#include "net.h"
#include "peer.h"
#include "quorum.h"
#include "recent.h"
#include "record.h"
#include "repair.h"
#include "resync.h"
#include "ring.h"
#include "secondary.h"
#include "write.h"
#include "zero.h"

#define HELLO_EVERY	(HZ / 2)
#define REFUSED_EVERY	(2 * HZ)
#define WAIT_EVERY	(HZ / 10)

static const char own_leg_failed[] = "this node's disk has failed";
static const char no_source[] = "this node's disk has failed, and the peer lacks data";
static const char other_node[] = "another node is in the place of the peer: `replace` admits it";
static const char other_size[] = "the peer is shorter: `resize` it first; or it has other logical blocks";
static const char other_version[] = "the peer speaks other versions of the protocol";
static const char blank_waits[] = "the peer's copy is blank, and there is no quorum without it";
static const char no_vote[] = "the peer has no vote yet, and there is no quorum to give it one";
static const char needs_log[] = "the peer's module is too old for a node without a log";

static const char * const refusals[KFM_REFUSALS] = {
	[KFM_R_PRIMARY] = "the peer is primary",
	[KFM_R_FOREIGN] = "the peer belongs to another mirror, or has no metadata",
	[KFM_R_SIZE] = other_size,
	[KFM_R_BUSY] = "the peer is to become primary",
	[KFM_R_POLICY] = "the peer has another policy",
	[KFM_R_LEG] = "the peer's disk has failed",
	[KFM_R_FOLLOWS] = "the peer has a session with another primary",
	[KFM_R_PEERS] = "the table of the peer has another number of peers",
	[KFM_R_NODE] = "the peer knows another node in this place: there `replace` admits this one",
	[KFM_R_VERSION] = other_version,
	[KFM_R_ONLY] = "the peer has no other copy",
	[KFM_R_WITNESS] = "the tables of both nodes differ about which peer is the witness",
	[KFM_R_DOUBT] = "a superblock of the peer is damaged, and its data may be newer",
};

/* Send a message that has no other members. */
void kfm_peer_send(struct kfm_peer *p, u16 type, u32 arg, u64 session)
{
	struct kfm_msg msg = { .type = type, .arg = arg, .session = session };

	kfm_net_send(p, &msg);
}

/* The generations of this node, as seen from a peer */
static struct kfm_gens pair_gens(const struct kfm_peer *p)
{
	struct kfm_gens gens = p->m->sb.gens;

	gens.base = kfm_pair(p)->base;
	gens.source = kfm_pair(p)->source;
	return gens;
}

/*
 * Is the node the one that has always been the peer, or may it be the first one? A table with its
 * peers in another order would mix up bitmaps. Another node is refused, with a blank copy, too: it
 * would get the whole disk, and acknowledge writes in the place of the peer. Only the administrator
 * replaces a node (command.c).
 */
bool kfm_node_matches(const struct kfm_peer *p, u64 node)
{
	const struct kfm *m = p->m;
	struct kfm_peer *q;

	if (!node || node == m->sb.node)
		return false;
	kfm_for_each_peer(q, m) {
		if (q != p && kfm_pair(q)->node == node)
			return false;
	}
	return !kfm_pair(p)->node || kfm_pair(p)->node == node;
}

/* Was the last one that was refused in the place of the peer another node? */
bool kfm_other_node(const struct kfm_peer *p)
{
	return p->refused == other_node;
}

/* The word of the status that tells what is to be done about a refusal, or NULL */
const char *kfm_refused_word(const struct kfm_peer *p)
{
	if (kfm_other_node(p))
		return "other-node";
	if (p->refused == other_size)
		return "other-size";
	return p->refused == other_version || p->refused == needs_log ? "other-version" : NULL;
}

/*
 * Does a peer of a detached node lack data? It can't get that any more, so its copy is of no use
 * here.
 */
bool kfm_lacks_data(const struct kfm_peer *p)
{
	return p->witness || kfm_is_alone(p) || p->oos_count || p->refused == no_source;
}

static void refuse_peer(struct kfm_peer *p, const char *why)
{
	struct kfm *m = p->m;

	if (!p->refused) {
		DMERR("%s: no session: %s", kfm_name(m), why);
		kfm_peer_event(p, "refused");
	}
	p->refused = why;
	p->state = KFM_SESSION_DOWN;
	p->next = jiffies + REFUSED_EVERY;
}

/* The peer has refused a session. */
static void on_refused(struct kfm_peer *p, u32 why)
{
	if (p->state == KFM_SESSION_UP)
		return;
	refuse_peer(p, why < KFM_REFUSALS ? refusals[why] : "for a reason of a later version");
}

/**
 * kfm_peer_other_version() - a node has sent HELLO in a version that this node does not speak
 * @p: the peer
 * @session: number of the session in HELLO
 *
 * Both nodes get a reason. The answer to other messages would be answered in the same way, for
 * ever.
 */
void kfm_peer_other_version(struct kfm_peer *p, u64 session)
{
	kfm_peer_send(p, KFM_REFUSED, KFM_R_VERSION, session);
	if (p->state <= KFM_SESSION_HELLO)
		refuse_peer(p, other_version);
}

/**
 * kfm_peer_needs_log() - a primary would write to a log that this node does not have
 * @p: the primary
 * @hello: its HELLO
 *
 * A node that names no versions does not know KFM_R_VERSION.
 */
void kfm_peer_needs_log(struct kfm_peer *p, const struct kfm_msg *hello)
{
	struct kfm *m = p->m;

	if (m->log.open && m->log.peer == p)
		kfm_log_close(m);	/* the session of an earlier program of this node */
	kfm_peer_send(p, KFM_REFUSED, hello->versions ? KFM_R_VERSION : KFM_R_LEG, hello->session);
	refuse_peer(p, needs_log);
}

/* ---- the end of a session ---- */

/**
 * kfm_pair_change() - change what is stored about a peer
 * @p: peer, without a session, or whose session ends now
 * @pair: the new content
 *
 * A primary may end writes without this peer afterwards, so it begins a generation. Peers in sync
 * get that by SYNCED; no write ends before they have stored it (write.c).
 *
 * Return: 0; or a negative error, and nothing has changed.
 */
int kfm_pair_change(struct kfm_peer *p, const struct kfm_pair *pair)
{
	struct kfm *m = p->m;
	struct kfm_super before = m->sb;
	struct kfm_peer *q;
	int ret;

	*kfm_pair(p) = *pair;
	if (m->primary)
		kfm_gens_raise(&m->sb.gens, kfm_random());
	ret = kfm_super_save(m);
	if (ret) {
		m->sb = before;
		return ret;
	}
	if (m->primary)
		kfm_quorum_stored(m);
	kfm_for_each_peer(q, m)
		q->next = q->state == KFM_SESSION_UP ? jiffies : q->next;	/* SYNCED */
	return 0;
}

/**
 * kfm_go_alone() - write without a peer from now on
 * @p: peer of a primary, without a session, or whose session ends now
 *
 * The peer is not in sync, durably, before any write is acknowledged that it does not have.
 *
 * Return: 0 or a negative error; then writes are still held. -EIO if the peer has the only copy.
 */
int kfm_go_alone(struct kfm_peer *p)
{
	struct kfm_pair pair = *kfm_pair(p);
	int ret;

	if (!kfm_may_do_without(p))
		return -EIO;
	pair.flags |= KFM_PAIR_ALONE;
	ret = kfm_pair_change(p, &pair);
	if (!ret)
		kfm_peer_event(p, "alone");
	return ret;
}

static void apply_policy(struct kfm_peer *p)
{
	struct kfm *m = p->m;
	bool may = kfm_may_do_without(p);

	p->policy_applied = true;
	if (kfm_is_alone(p) || m->leg_failed)
		return;
	if (m->policy == KFM_QUORUM)
		kfm_quorum_ask(p);
	else if (m->policy == KFM_ALONE && may)
		kfm_go_alone(p);
	else
		kfm_peer_event(p, m->policy == KFM_FENCE && may ? "frozen" : "stopped");
}

/**
 * kfm_peer_lost() - a session of a primary has ended
 * @p: the peer
 * @err: why
 */
void kfm_peer_lost(struct kfm_peer *p, int err)
{
	struct kfm *m = p->m;
	bool up = p->state == KFM_SESSION_UP;

	/* the event is sent again: `fenced` was refused while the peer was coming back */
	if (p->state > KFM_SESSION_HELLO && !kfm_is_alone(p))
		p->policy_applied = false;
	p->state = KFM_SESSION_DOWN;
	p->insync = false;
	p->next = jiffies + HELLO_EVERY;
	if (!up)
		return;
	DMWARN("%s: the peer is lost (%d)", kfm_name(m), err);
	kfm_peer_event(p, "lost");
	p->down = jiffies;
	kfm_resync_stop(p);
	kfm_writes_lost(p);
	apply_policy(p);
}

/* End all sessions: no byte of a primary lands after this. */
void kfm_peers_end(struct kfm *m)
{
	struct kfm_peer *p;

	kfm_log_close(m);
	kfm_for_each_peer(p, m) {
		if (p->state != KFM_SESSION_DOWN)
			kfm_peer_send(p, KFM_BYE, 0, p->session);
		p->state = KFM_SESSION_DOWN;
		p->insync = false;
	}
}

/* The same for a primary that has begun something with its peers: that ends, too. */
void kfm_sessions_drop(struct kfm *m)
{
	struct kfm_peer *p;

	kfm_peers_end(m);
	kfm_for_each_peer(p, m) {
		kfm_resync_stop(p);
		kfm_writes_lost(p);
	}
}

static void leg_lost(struct kfm_peer *p)
{
	if (p->state != KFM_SESSION_DOWN) {
		kfm_peer_send(p, KFM_BYE, 0, p->session);
		p->state = KFM_SESSION_DOWN;
		kfm_resync_stop(p);
		kfm_writes_lost(p);
	}
	p->insync = false;
	p->refused = own_leg_failed;
}

/*
 * The leg of a primary has failed. The peers stay in sync, with all records in their logs, and can
 * be promoted. A new session would overwrite them from the disk that has failed.
 */
void kfm_peers_leg_failed(struct kfm *m)
{
	bool known = m->peers[0]->refused == own_leg_failed;
	struct kfm_peer *p;

	kfm_for_each_peer(p, m)
		leg_lost(p);
	if (known)
		return;
	DMERR("%s: the leg is not written any more: it, or the log of this node, has failed",
	      kfm_name(m));
	kfm_event(m, "failed");
}

/* ---- primary ---- */

/**
 * kfm_peer_hello() - begin a session
 * @p: peer of a primary, or of a node that asks before a promotion
 * @flags: KFM_M_
 */
void kfm_peer_hello(struct kfm_peer *p, u32 flags)
{
	struct kfm *m = p->m;
	struct kfm_msg hello = {
		.type = KFM_HELLO,
		.gens = pair_gens(p),
		.sectors = m->sectors,
		.lbs = bdev_logical_block_size(m->leg->bdev),
		.state = m->sb.state,
		.flags = flags,
		.arg = m->policy == KFM_QUORUM ? KFM_STOP : m->policy,
		.peers = kfm_peer_count(m),
		.versions = KFM_VERSIONS(KFM_MSG_LOWEST, KFM_MSG_VERSION),
		.features = KFM_F_LEAVE | KFM_F_DIRECT | KFM_F_NO_LOG | KFM_F_ZEROES |
			    KFM_F_PATCHES,
	};

	if (kfm_caches(m) && m->direct_min != KFM_DIRECT_OFF)
		hello.features |= KFM_F_CACHE;
	if (m->policy == KFM_QUORUM)
		hello.features |= KFM_F_QUORUM;
	if (p->witness)
		hello.features |= KFM_F_WITNESS;
	if (m->csum)
		hello.features |= KFM_F_CSUM;
	hello.session = kfm_random();
	if (flags & KFM_M_CANDIDATE)
		p->candidate_session = hello.session;
	else
		p->session = hello.session;
	WRITE_ONCE(p->net.sent_err, 0);	/* identity_tick() looks at the result of HELLO */
	kfm_net_send(p, &hello);
}

/* Compare the copy of a peer, as STATE describes it. */
enum kfm_verdict kfm_peer_compare(const struct kfm_peer *p, const struct kfm_msg *state)
{
	struct kfm_gens mine = pair_gens(p);

	if (!kfm_node_matches(p, state->node) || state->peers != kfm_peer_count(p->m) ||
	    !kfm_roles_agree(p, state))
		return KFM_OTHER;
	return kfm_quorum_compare(p->m, &mine, &state->gens, state->state);
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
	static const char * const reasons[] = {
		[KFM_STALE] = "this copy is stale",
		[KFM_SPLIT] = "the copies are split: each has data that the other does not have",
		[KFM_OTHER] = "the peer has another number of peers, or is, or is not, the witness",
	};
	enum kfm_verdict verdict = kfm_state_compare(p, msg);
	struct kfm_msg attach = { .type = KFM_ATTACH, .session = p->session };
	struct kfm *m = p->m;

	if (p->state != KFM_SESSION_HELLO)
		return;
	if (!kfm_node_matches(p, msg->node) || kfm_quorum_full(m, msg->node)) {
		refuse_peer(p, other_node);
		return;
	}
	if (m->policy == KFM_QUORUM && !(msg->flags & KFM_M_QUORUM)) {
		refuse_peer(p, refusals[KFM_R_POLICY]);
		return;
	}
	if (verdict >= KFM_STALE) {
		refuse_peer(p, reasons[verdict]);
		kfm_quorum_newer(p, msg);
		return;
	}
	if (msg->sectors < m->sectors && !p->witness) {
		refuse_peer(p, other_size);
		return;
	}
	if (m->noquorum && !kfm_may_copy(p, msg)) {
		refuse_peer(p, blank_waits);
		return;
	}
	if (m->noquorum && !kfm_quorum_admits(p, msg->node)) {
		refuse_peer(p, no_vote);
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
		refuse_peer(p, no_source);
		return;
	}
	p->refused = NULL;
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
	attach.gens = pair_gens(p);
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
 * The peer has stored the generation, which becomes the base. The superblock is not written for
 * that: until the next generation, whose beginning writes it, the older base is as good.
 */
static void synced_ok(struct kfm_peer *p)
{
	p->gen = p->m->sb.gens.cur;
	kfm_pair(p)->base = p->gen;
	if (!p->insync && !p->oos_count) {
		p->insync = true;
		kfm_source_back(p);
		kfm_peer_event(p, "synced");
	}
	kfm_quorum_stored(p->m);
}

static void primary_message(struct kfm_peer *p, const struct kfm_msg *msg)
{
	switch (msg->type) {
	case KFM_STATE:
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
	if (p->fetch_err || kfm_wire_merge(p))
		kfm_peer_lost(p, p->fetch_err);
	else
		session_up(p);
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
	kfm_net_send(p, &msg);
}

static void up_tick(struct kfm_peer *p)
{
	struct kfm *m = p->m;

	if (time_after(jiffies, p->live + m->timeout)) {
		kfm_peer_lost(p, -ETIMEDOUT);
		return;
	}
	if (time_before(jiffies, p->next))
		return;
	p->next = jiffies + m->timeout / 8;
	if (p->insync ? p->gen == m->sb.gens.cur : p->oos_count || !kfm_may_sync(p))
		ping(p);
	else
		synced_tick(p);
}

/* A peer that never came is lost as well; also without an endpoint. */
static void policy_tick(struct kfm_peer *p)
{
	struct kfm *m = p->m;

	if (p->state != KFM_SESSION_UP && !p->policy_applied &&
	    time_after(jiffies, p->down + m->timeout))
		apply_policy(p);
}

static void primary_tick(struct kfm_peer *p)
{
	struct kfm *m = p->m;

	if (m->leg_failed || m->stepping)
		return;
	switch (p->state) {
	case KFM_SESSION_DOWN:
		if (time_before(jiffies, p->next))
			return;
		p->state = KFM_SESSION_HELLO;
		p->deadline = jiffies + HELLO_EVERY;
		kfm_peer_hello(p, 0);
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
		kfm_peer_lost(p, -ETIMEDOUT);
}

/* ---- both ---- */

/* A message that has the right form. Its sender is in the address vector of the endpoint for @p. */
void kfm_peer_message(struct kfm_peer *p, const struct kfm_msg *msg)
{
	const struct kfm *m = p->m;

	if (msg->type == KFM_HELLO) {
		kfm_secondary_hello(p, msg);
		return;
	}
	if (!m->formatted || !kfm_role_may_send(p, msg->type) ||
	    msg->session != (m->promote ? p->candidate_session : p->session) ||
	    (msg->type != KFM_REFUSED && memcmp(m->sb.uuid, msg->uuid, sizeof(msg->uuid))))
		return;
	p->live = jiffies;
	if (m->promote)
		kfm_promote_answer(p, msg);
	else if (m->primary)
		primary_message(p, msg);
	else
		kfm_secondary_message(p, msg);
}

/* Is the peer one that the provider does not believe, or that does not believe this node? */
static void identity_tick(struct kfm_peer *p)
{
	int err = READ_ONCE(p->net.sent_err);

	if (!err || p->state > KFM_SESSION_HELLO)
		return;
	if (err == KFI_EKEYREJECTED)
		refuse_peer(p, "one of both nodes has no secret, or another one");
	else if (err == KFI_EACCES)
		refuse_peer(p, "without a secret both ends need ports below 1024");
	WRITE_ONCE(p->net.sent_err, 0);
}

static void open_tick(struct kfm_peer *p)
{
	if (kfm_busy(&p->net.opening) || time_before(jiffies, p->net.retry))
		return;
	p->net.retry = jiffies + HZ;
	p->net.opening = true;
	queue_work(kfm_open_wq, &p->net.work);
}

static void peer_tick(struct kfm_peer *p)
{
	struct kfm *m = p->m;

	if (!kfm_net_up(p)) {
		if (m->primary)
			kfm_peer_lost(p, -ENODEV);
		p->state = KFM_SESSION_DOWN;
		open_tick(p);
	}
	identity_tick(p);
	if (!m->formatted || !m->primary)
		return;
	policy_tick(p);
	if (kfm_net_up(p))
		primary_tick(p);
}

/* What is due. */
void kfm_peers_tick(struct kfm *m)
{
	struct kfm_peer *p;

	kfm_for_each_peer(p, m)
		peer_tick(p);
	if (m->formatted && m->primary)
		kfm_quorum_tick(m);
	if (m->promote)
		kfm_promote_tick(m);
	if (m->leave)
		kfm_leave_tick(m);
	if (!m->formatted || m->primary)
		return;
	kfm_direct_run(m);
	kfm_log_apply(m, kfm_serve_waits(m) || kfm_csum_behind(m));
	kfm_repair_serve(m);
}
