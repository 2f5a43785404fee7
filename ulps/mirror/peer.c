// SPDX-License-Identifier: GPL-2.0
/*
 * peer.c - the sessions: each is one of two nodes.
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
 *
 * The primary drives. A step without an answer, or an error of a record, ends the session, and the
 * primary begins another one. All of it is the worker's.
 */
#include "mirror.h"

#define HELLO_EVERY	(HZ / 2)
#define REFUSED_EVERY	(2 * HZ)

static const char * const refusals[KFM_REFUSALS] = {
	[KFM_R_PRIMARY] = "the peer is primary",
	[KFM_R_FOREIGN] = "the peer belongs to another pair",
	[KFM_R_SIZE] = "the peer's size or block size does not fit",
	[KFM_R_BUSY] = "the peer is to become primary",
	[KFM_R_POLICY] = "the peer has another policy",
	[KFM_R_LEG] = "the peer's disk has failed",
};

static const char leg_failed[] = "this node's disk has failed";

static void send_simple(struct kfm_peer *p, u16 type, u32 arg, u64 session)
{
	struct kfm_msg msg = { .type = type, .arg = arg, .session = session };

	kfm_net_send(p, &msg);
}

static void refuse_peer(struct kfm_peer *p, const char *why)
{
	struct kfm *m = p->m;

	if (!p->refused) {
		DMERR("%s: no session: %s", kfm_name(m), why);
		kfm_event(p, "refused");
	}
	p->refused = why;
	p->link = KFM_DOWN;
	p->next = jiffies + REFUSED_EVERY;
}

/* ---- the end of a session ---- */

/**
 * kfm_go_alone() - write without a peer from now on
 * @p: peer of a primary, without a session
 *
 * The peer is not in sync, and there is a new generation, durably, before any write is
 * acknowledged that the peer does not have.
 *
 * Return: 0 or a negative error; then writes are still held.
 */
int kfm_go_alone(struct kfm_peer *p)
{
	struct kfm *m = p->m;
	struct kfm_super before = m->sb;
	int ret;

	kfm_gens_raise(&m->sb.gens, kfm_random());
	m->sb.flags |= KFM_SB_ALONE;
	ret = kfm_super_save(m);
	if (ret) {
		m->sb.gens = before.gens;
		m->sb.flags = before.flags;
		return ret;
	}
	kfm_event(p, "alone");
	return 0;
}

static void apply_policy(struct kfm_peer *p)
{
	struct kfm *m = p->m;

	p->policed = true;
	if (kfm_is_alone(p) || m->leg_failed)
		return;
	if (m->policy == KFM_ALONE)
		kfm_go_alone(p);
	else
		kfm_event(p, m->policy == KFM_FENCE ? "frozen" : "stopped");
}

/**
 * kfm_peer_lost() - a session of a primary has ended
 * @p: the peer
 * @err: why
 */
void kfm_peer_lost(struct kfm_peer *p, int err)
{
	struct kfm *m = p->m;
	bool up = p->link == KFM_UP;

	p->link = KFM_DOWN;
	p->insync = false;
	p->next = jiffies + HELLO_EVERY;
	if (!up)
		return;
	DMWARN("%s: the peer is lost (%d)", kfm_name(m), err);
	kfm_event(p, "lost");
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
		if (p->link != KFM_DOWN)
			send_simple(p, KFM_BYE, 0, p->session);
		p->link = KFM_DOWN;
		p->insync = false;
	}
}

static void leg_lost(struct kfm_peer *p)
{
	if (p->link != KFM_DOWN) {
		send_simple(p, KFM_BYE, 0, p->session);
		p->link = KFM_DOWN;
		kfm_resync_stop(p);
		kfm_writes_lost(p);
	}
	p->insync = false;
	if (p->refused != leg_failed) {
		p->refused = leg_failed;
		DMERR("%s: a write to the leg has failed", kfm_name(p->m));
		kfm_event(p, "failed");
	}
}

/*
 * The leg of a primary has failed. The peers stay in sync, with all records in their logs, and can
 * be promoted. A new session would overwrite them from the disk that has failed.
 */
void kfm_peers_leg(struct kfm *m)
{
	struct kfm_peer *p;

	kfm_for_each_peer(p, m)
		leg_lost(p);
}

/* ---- secondary ---- */

static u32 hello_refusal(const struct kfm_peer *p, const struct kfm_msg *msg)
{
	const struct kfm *m = p->m;

	if (!m->formatted || memcmp(m->sb.uuid, msg->uuid, sizeof(msg->uuid)))
		return KFM_R_FOREIGN;
	if (msg->sectors != m->sectors || bdev_logical_block_size(m->leg->bdev) > msg->lbs)
		return KFM_R_SIZE;
	if (m->primary)
		return KFM_R_PRIMARY;
	if (m->promote)
		return KFM_R_BUSY;
	if (m->policy != msg->arg)
		return KFM_R_POLICY;
	if (m->leg_failed && !(msg->flags & KFM_M_CANDIDATE))
		return KFM_R_LEG;
	return m->log.failed || m->meta_failed ? KFM_R_LEG : 0;
}

static void on_hello(struct kfm_peer *p, const struct kfm_msg *msg)
{
	struct kfm *m = p->m;
	u32 refusal = hello_refusal(p, msg);
	struct kfm_msg answer = {
		.type = KFM_STATE, .session = msg->session, .gens = m->sb.gens,
		.state = m->sb.state, .sectors = m->sectors,
	};

	if (refusal == KFM_R_POLICY && msg->arg == KFM_ALONE)
		m->was_insync = false;	/* the peer may go on without this node */
	if (refusal) {
		send_simple(p, KFM_REFUSED, refusal, msg->session);
		return;
	}
	if (!(msg->flags & KFM_M_CANDIDATE)) {
		kfm_log_close(m);
		p->link = KFM_DOWN;
		p->session = msg->session;
	}
	if (kfm_bits_any(p))
		answer.flags = KFM_M_DIRTY;
	kfm_net_send(p, &answer);
}

/* Does the plan of the primary agree with what this node knows? */
static bool attach_fits(const struct kfm_peer *p, const struct kfm_msg *msg)
{
	const struct kfm *m = p->m;
	enum kfm_verdict verdict = kfm_compare(&msg->gens, &m->sb.gens, m->sb.state);

	if (verdict == KFM_STALE || verdict == KFM_SPLIT)
		return false;
	if (msg->arg)
		return true;
	return (m->sb.state == KFM_UPTODATE || m->sb.state == KFM_OUTDATED) &&
	       verdict != KFM_FULL && !kfm_bits_any(p);
}

static int attach_prepare(struct kfm_peer *p, const struct kfm_msg *msg)
{
	struct kfm *m = p->m;
	int ret = kfm_log_replay(m);

	if (ret == -EUCLEAN)
		return kfm_give_up(m) ?: ret;
	if (!ret && msg->arg) {
		m->was_insync = false;
		m->sb.state = KFM_INCONSISTENT;
		m->sb.gens.source = msg->gens.cur;
		ret = kfm_super_save(m);
	}
	return ret ?: kfm_log_start(m, p->session, msg->gens.cur);
}

static void send_grant(struct kfm_peer *p)
{
	struct kfm *m = p->m;
	struct kfm_log *log = &m->log;
	struct kfm_msg grant = {
		.type = KFM_GRANT,
		.session = p->session,
		.ring_key = kfi_mr_key(log->mr),
		.ring_addr = kfi_mr_addr(log->mr),
		.ring_len = log->ring_len,
		.bitmap_key = kfi_mr_key(log->bitmap_mr),
		.bitmap_addr = kfi_mr_addr(log->bitmap_mr),
		.bitmap_len = kfm_bits_any(p) ? m->bitmap_bytes : 0,
		.window_key = kfi_mr_key(log->window_mr),
		.window_addr = kfi_mr_addr(log->window_mr),
	};

	kfm_net_send(p, &grant);
}

static void on_attach(struct kfm_peer *p, const struct kfm_msg *msg)
{
	struct kfm *m = p->m;
	int ret;

	if (p->link == KFM_UP || !attach_fits(p, msg))
		return;
	ret = attach_prepare(p, msg);
	if (ret == -EUCLEAN) {	/* this copy is blank now: the primary has to compare again */
		send_simple(p, KFM_BYE, 0, p->session);
		return;
	}
	if (ret) {
		m->log.failed = true;
		send_simple(p, KFM_REFUSED, KFM_R_LEG, p->session);
		return;
	}
	ret = kfm_log_open(p);
	if (ret) {
		DMERR("%s: can't register the log (%d)", kfm_name(m), ret);
		return;
	}
	p->link = KFM_UP;
	send_grant(p);
}

/* The copies are the same: what the log does not have applied yet is durable in it. */
static void on_synced(struct kfm_peer *p, const struct kfm_msg *msg)
{
	struct kfm *m = p->m;

	if (p->link != KFM_UP)
		return;
	if (m->sb.state != KFM_UPTODATE || m->sb.gens.cur != msg->gens.cur) {
		m->sb.state = KFM_UPTODATE;
		m->sb.gens = msg->gens;
		m->sb.gens.source = 0;
		m->sb.flags = 0;
		if (kfm_super_save(m))
			return;
		kfm_event(p, "synced");
	}
	kfm_bits_clear(m);
	if (kfm_bits_flush(m))
		return;
	m->was_insync = true;
	send_simple(p, KFM_SYNCED_OK, 0, p->session);
}

static void on_ping(struct kfm_peer *p)
{
	struct kfm *m = p->m;
	struct kfm_msg pong = {
		.type = KFM_PONG, .session = p->session, .seq = m->log.head.seq - 1,
	};

	if (p->link == KFM_UP)
		kfm_net_send(p, &pong);
	else
		send_simple(p, KFM_BYE, 0, p->session);
}

static void secondary_message(struct kfm_peer *p, const struct kfm_msg *msg)
{
	struct kfm *m = p->m;

	switch (msg->type) {
	case KFM_ATTACH:
		on_attach(p, msg);
		break;
	case KFM_SYNCED:
		on_synced(p, msg);
		break;
	case KFM_PING:
		on_ping(p);
		break;
	case KFM_COPY:
		if (p->link == KFM_UP)
			kfm_repair_asked(p, msg);
		break;
	case KFM_BYE:
		kfm_log_close(m);
		p->link = KFM_DOWN;
		break;
	}
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
		.gens = m->sb.gens,
		.sectors = m->sectors,
		.lbs = bdev_logical_block_size(m->leg->bdev),
		.state = m->sb.state,
		.flags = flags,
		.arg = m->policy,
	};

	hello.session = kfm_random();
	if (flags & KFM_M_CANDIDATE)
		p->asked = hello.session;
	else
		p->session = hello.session;
	kfm_net_send(p, &hello);
}

static void on_state(struct kfm_peer *p, const struct kfm_msg *msg)
{
	struct kfm *m = p->m;
	enum kfm_verdict verdict = kfm_compare(&m->sb.gens, &msg->gens, msg->state);
	struct kfm_msg attach = {
		.type = KFM_ATTACH, .session = p->session, .gens = m->sb.gens,
	};

	if (p->link != KFM_HELLOED)
		return;
	if (verdict == KFM_STALE || verdict == KFM_SPLIT) {
		refuse_peer(p, verdict == KFM_STALE ? "this copy is stale" :
			    "the copies are split: each has data that the other does not have");
		return;
	}
	p->refused = NULL;
	if (verdict == KFM_FULL && kfm_oos_fill(p))
		return;
	attach.arg = verdict == KFM_FULL || p->oos_count || msg->flags & KFM_M_DIRTY ||
		     (msg->state != KFM_UPTODATE && msg->state != KFM_OUTDATED);
	p->attach = attach.arg;
	p->link = KFM_ATTACHING;
	p->deadline = jiffies + 2 * m->timeout;
	kfm_net_send(p, &attach);
}

static void session_up(struct kfm_peer *p)
{
	/*
	 * Writes ended alone meanwhile: the peer's copy has to be inconsistent before it gets
	 * them.
	 */
	if (!p->attach && p->oos_count) {
		kfm_peer_lost(p, -EAGAIN);
		return;
	}
	p->link = KFM_UP;
	p->outage++;
	p->live = jiffies;
	p->next = jiffies;
	p->insync = false;
	p->rs_from = 0;
	p->oos_start = p->oos_count;
	kfm_resync_stop(p);
	kfm_event(p, "connected");
}

static void on_grant(struct kfm_peer *p, const struct kfm_msg *msg)
{
	struct kfm *m = p->m;

	if (p->link != KFM_ATTACHING)
		return;
	kfm_ring_begin(p, msg);
	if (!msg->bitmap_len) {
		session_up(p);
		return;
	}
	p->deadline = jiffies + m->timeout;
	p->link = KFM_FETCHING;
	if (msg->bitmap_len != m->bitmap_bytes || kfm_busy(&p->fetch_busy) ||
	    kfm_net_fetch(p, msg->bitmap_key, msg->bitmap_addr, msg->bitmap_len))
		kfm_peer_lost(p, -EPROTO);
}

static void primary_message(struct kfm_peer *p, const struct kfm_msg *msg)
{
	switch (msg->type) {
	case KFM_STATE:
		on_state(p, msg);
		break;
	case KFM_REFUSED:
		if (p->link != KFM_UP)
			refuse_peer(p, refusals[msg->arg]);
		break;
	case KFM_GRANT:
		on_grant(p, msg);
		break;
	case KFM_APPLIED:
	case KFM_PONG:
		if (p->link == KFM_UP)
			kfm_ring_applied(p, msg->seq);
		break;
	case KFM_SYNCED_OK:
		if (p->link != KFM_UP || p->insync || p->oos_count)
			break;
		p->insync = true;
		kfm_event(p, "synced");
		break;
	case KFM_COPIED:
		if (p->link == KFM_UP)
			kfm_repair_copied(p, msg);
		break;
	case KFM_BYE:
		kfm_peer_lost(p, -ESHUTDOWN);
		break;
	}
}

/* The peer's bitmap has come, or not. */
static void fetch_tick(struct kfm_peer *p)
{
	if (kfm_busy(&p->fetch_busy))
		return;
	if (p->fetch_err || kfm_oos_merge(p))
		kfm_peer_lost(p, p->fetch_err);
	else
		session_up(p);
}

/*
 * Everything is the same: say so, until the peer has answered. The peer may be promoted after
 * SYNCED, so the note that it was not in sync has to be gone, durably, before.
 */
static void synced_tick(struct kfm_peer *p)
{
	struct kfm *m = p->m;
	struct kfm_msg synced = { .type = KFM_SYNCED, .session = p->session };
	struct kfm_super before = m->sb;

	if (m->meta_failed)
		return;
	if (kfm_is_alone(p) || m->sb.gens.base != m->sb.gens.cur) {
		m->sb.flags &= ~KFM_SB_ALONE;
		m->sb.gens.base = m->sb.gens.cur;
		if (kfm_super_save(m)) {
			m->sb.flags = before.flags;
			m->sb.gens.base = before.gens.base;
			return;
		}
	}
	synced.gens = m->sb.gens;
	kfm_net_send(p, &synced);
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
	if (p->oos_count || p->insync)
		send_simple(p, KFM_PING, p->insync, p->session);
	else
		synced_tick(p);
}

/* A peer that never came is lost as well; also without an endpoint. */
static void policy_tick(struct kfm_peer *p)
{
	struct kfm *m = p->m;

	if (p->link != KFM_UP && !p->policed && time_after(jiffies, p->down + m->timeout))
		apply_policy(p);
}

static void primary_tick(struct kfm_peer *p)
{
	struct kfm *m = p->m;

	if (m->leg_failed)
		return;
	switch (p->link) {
	case KFM_DOWN:
		if (time_before(jiffies, p->next))
			return;
		p->link = KFM_HELLOED;
		p->deadline = jiffies + HELLO_EVERY;
		kfm_peer_hello(p, 0);
		return;
	case KFM_FETCHING:
		fetch_tick(p);
		break;
	case KFM_UP:
		up_tick(p);
		return;
	default:
		break;
	}
	if (p->link != KFM_UP && p->link != KFM_DOWN && time_after(jiffies, p->deadline))
		kfm_peer_lost(p, -ETIMEDOUT);
}

/* ---- both ---- */

/* A message that has the right form. Its sender is in the address vector of the endpoint for @p. */
void kfm_peer_message(struct kfm_peer *p, const struct kfm_msg *msg)
{
	const struct kfm *m = p->m;

	if (msg->type == KFM_HELLO) {
		on_hello(p, msg);
		return;
	}
	if (!m->formatted || msg->session != (m->promote ? p->asked : p->session) ||
	    (msg->type != KFM_REFUSED && memcmp(m->sb.uuid, msg->uuid, sizeof(msg->uuid))))
		return;
	p->live = jiffies;
	if (m->promote)
		kfm_promote_answer(p, msg);
	else if (m->primary)
		primary_message(p, msg);
	else
		secondary_message(p, msg);
}

static void open_tick(struct kfm_peer *p)
{
	if (kfm_busy(&p->net.opening) || time_before(jiffies, p->net.retry))
		return;
	p->net.retry = jiffies + HZ;
	p->net.opening = true;
	schedule_work(&p->net.work);
}

static void peer_tick(struct kfm_peer *p)
{
	struct kfm *m = p->m;

	if (!kfm_net_up(p)) {
		if (m->primary)
			kfm_peer_lost(p, -ENODEV);
		p->link = KFM_DOWN;
		open_tick(p);
	}
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
	if (m->promote)
		kfm_promote_tick(m);
	if (!m->formatted || m->primary)
		return;
	kfm_log_apply(m, m->serve.step == KFM_S_ASKED);
	kfm_repair_serve(m);
}
