// SPDX-License-Identifier: GPL-2.0
/*
 * peer.c - the session of two nodes.
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

static void send_simple(struct kfm *m, u16 type, u32 arg, u64 session)
{
	struct kfm_msg msg = { .type = type, .arg = arg, .session = session };

	kfm_net_send(m, &msg);
}

static void refuse_peer(struct kfm *m, const char *why)
{
	if (!m->refused) {
		DMERR("%s: no session: %s", kfm_name(m), why);
		kfm_event(m, "refused");
	}
	m->refused = why;
	m->link = KFM_DOWN;
	m->next = jiffies + REFUSED_EVERY;
}

/* ---- the end of a session ---- */

/**
 * kfm_go_alone() - write without the peer from now on
 * @m: primary without a session
 *
 * The peer is not in sync, and there is a new generation, durably, before any write is
 * acknowledged that the peer does not have.
 *
 * Return: 0 or a negative error; then writes are still held.
 */
int kfm_go_alone(struct kfm *m)
{
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
	kfm_event(m, "alone");
	return 0;
}

static void apply_policy(struct kfm *m)
{
	m->policed = true;
	if (kfm_is_alone(m) || m->leg_failed)
		return;
	if (m->policy == KFM_ALONE)
		kfm_go_alone(m);
	else
		kfm_event(m, m->policy == KFM_FENCE ? "frozen" : "stopped");
}

/**
 * kfm_peer_lost() - the session of a primary has ended
 * @m: primary
 * @err: why
 */
void kfm_peer_lost(struct kfm *m, int err)
{
	bool up = m->link == KFM_UP;

	m->link = KFM_DOWN;
	m->insync = false;
	m->next = jiffies + HELLO_EVERY;
	if (!up)
		return;
	DMWARN("%s: the peer is lost (%d)", kfm_name(m), err);
	kfm_event(m, "lost");
	m->down = jiffies;
	kfm_resync_stop(m);
	kfm_writes_lost(m);
	apply_policy(m);
}

/* End the session of a secondary: no byte of the peer lands after this. */
void kfm_peer_end(struct kfm *m)
{
	kfm_log_close(m);
	if (m->link != KFM_DOWN)
		send_simple(m, KFM_BYE, 0, m->session);
	m->link = KFM_DOWN;
}

/*
 * The leg of a primary has failed. The peer stays in sync, with all records in its log, and can be
 * promoted. A new session would overwrite it from the disk that has failed.
 */
void kfm_peer_leg(struct kfm *m)
{
	if (m->link != KFM_DOWN) {
		send_simple(m, KFM_BYE, 0, m->session);
		m->link = KFM_DOWN;
		kfm_resync_stop(m);
		kfm_writes_lost(m);
	}
	m->insync = false;
	if (m->refused != leg_failed) {
		m->refused = leg_failed;
		DMERR("%s: a write to the leg has failed", kfm_name(m));
		kfm_event(m, "failed");
	}
}

/* ---- secondary ---- */

static u32 hello_refusal(const struct kfm *m, const struct kfm_msg *msg)
{
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

static void on_hello(struct kfm *m, const struct kfm_msg *msg)
{
	u32 refusal = hello_refusal(m, msg);
	struct kfm_msg answer = {
		.type = KFM_STATE, .session = msg->session, .gens = m->sb.gens,
		.state = m->sb.state, .sectors = m->sectors,
	};

	if (refusal == KFM_R_POLICY && msg->arg == KFM_ALONE)
		m->was_insync = false;	/* the peer may go on without this node */
	if (refusal) {
		send_simple(m, KFM_REFUSED, refusal, msg->session);
		return;
	}
	if (!(msg->flags & KFM_M_CANDIDATE)) {
		kfm_log_close(m);
		m->link = KFM_DOWN;
		m->session = msg->session;
	}
	if (kfm_bits_any(m))
		answer.flags = KFM_M_DIRTY;
	kfm_net_send(m, &answer);
}

/* Does the plan of the primary agree with what this node knows? */
static bool attach_fits(const struct kfm *m, const struct kfm_msg *msg)
{
	enum kfm_verdict verdict = kfm_compare(&msg->gens, &m->sb.gens, m->sb.state);

	if (verdict == KFM_STALE || verdict == KFM_SPLIT)
		return false;
	if (msg->arg)
		return true;
	return (m->sb.state == KFM_UPTODATE || m->sb.state == KFM_OUTDATED) &&
	       verdict != KFM_FULL && !kfm_bits_any(m);
}

static int attach_prepare(struct kfm *m, const struct kfm_msg *msg)
{
	int ret = kfm_log_replay(m);

	if (ret == -EUCLEAN)
		return kfm_give_up(m) ?: ret;
	if (!ret && msg->arg) {
		m->was_insync = false;
		m->sb.state = KFM_INCONSISTENT;
		m->sb.gens.source = msg->gens.cur;
		ret = kfm_super_save(m);
	}
	return ret ?: kfm_log_start(m, m->session, msg->gens.cur);
}

static void send_grant(struct kfm *m)
{
	struct kfm_log *log = &m->log;
	struct kfm_msg grant = {
		.type = KFM_GRANT,
		.session = m->session,
		.ring_key = kfi_mr_key(log->mr),
		.ring_addr = kfi_mr_addr(log->mr),
		.ring_len = log->ring_len,
		.bitmap_key = kfi_mr_key(log->bitmap_mr),
		.bitmap_addr = kfi_mr_addr(log->bitmap_mr),
		.bitmap_len = kfm_bits_any(m) ? m->bitmap_bytes : 0,
		.window_key = kfi_mr_key(log->window_mr),
		.window_addr = kfi_mr_addr(log->window_mr),
	};

	kfm_net_send(m, &grant);
}

static void on_attach(struct kfm *m, const struct kfm_msg *msg)
{
	int ret;

	if (m->link == KFM_UP || !attach_fits(m, msg))
		return;
	ret = attach_prepare(m, msg);
	if (ret == -EUCLEAN) {	/* this copy is blank now: the primary has to compare again */
		send_simple(m, KFM_BYE, 0, m->session);
		return;
	}
	if (ret) {
		m->log.failed = true;
		send_simple(m, KFM_REFUSED, KFM_R_LEG, m->session);
		return;
	}
	ret = kfm_log_open(m);
	if (ret) {
		DMERR("%s: can't register the log (%d)", kfm_name(m), ret);
		return;
	}
	m->link = KFM_UP;
	send_grant(m);
}

/* The copies are the same: what the log does not have applied yet is durable in it. */
static void on_synced(struct kfm *m, const struct kfm_msg *msg)
{
	if (m->link != KFM_UP)
		return;
	if (m->sb.state != KFM_UPTODATE || m->sb.gens.cur != msg->gens.cur) {
		m->sb.state = KFM_UPTODATE;
		m->sb.gens = msg->gens;
		m->sb.gens.source = 0;
		m->sb.flags = 0;
		if (kfm_super_save(m))
			return;
		kfm_event(m, "synced");
	}
	kfm_bits_clear(m);
	if (kfm_bits_flush(m))
		return;
	m->was_insync = true;
	send_simple(m, KFM_SYNCED_OK, 0, m->session);
}

static void on_ping(struct kfm *m)
{
	struct kfm_msg pong = {
		.type = KFM_PONG, .session = m->session, .seq = m->log.head.seq - 1,
	};

	if (m->link == KFM_UP)
		kfm_net_send(m, &pong);
	else
		send_simple(m, KFM_BYE, 0, m->session);
}

static void secondary_message(struct kfm *m, const struct kfm_msg *msg)
{
	switch (msg->type) {
	case KFM_ATTACH:
		on_attach(m, msg);
		break;
	case KFM_SYNCED:
		on_synced(m, msg);
		break;
	case KFM_PING:
		on_ping(m);
		break;
	case KFM_COPY:
		if (m->link == KFM_UP)
			kfm_repair_asked(m, msg);
		break;
	case KFM_BYE:
		kfm_log_close(m);
		m->link = KFM_DOWN;
		break;
	}
}

/* ---- primary ---- */

/**
 * kfm_peer_hello() - begin a session
 * @m: primary, or a node that asks before a promotion
 * @flags: KFM_M_
 */
void kfm_peer_hello(struct kfm *m, u32 flags)
{
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
		m->asked = hello.session;
	else
		m->session = hello.session;
	kfm_net_send(m, &hello);
}

static void on_state(struct kfm *m, const struct kfm_msg *msg)
{
	enum kfm_verdict verdict = kfm_compare(&m->sb.gens, &msg->gens, msg->state);
	struct kfm_msg attach = {
		.type = KFM_ATTACH, .session = m->session, .gens = m->sb.gens,
	};

	if (m->link != KFM_HELLOED)
		return;
	if (verdict == KFM_STALE || verdict == KFM_SPLIT) {
		refuse_peer(m, verdict == KFM_STALE ? "this copy is stale" :
			    "the copies are split: each has data that the other does not have");
		return;
	}
	m->refused = NULL;
	if (verdict == KFM_FULL && kfm_oos_fill(m))
		return;
	attach.arg = verdict == KFM_FULL || m->oos_count || msg->flags & KFM_M_DIRTY ||
		     (msg->state != KFM_UPTODATE && msg->state != KFM_OUTDATED);
	m->attach = attach.arg;
	m->link = KFM_ATTACHING;
	m->deadline = jiffies + 2 * m->timeout;
	kfm_net_send(m, &attach);
}

static void session_up(struct kfm *m)
{
	/*
	 * Writes ended alone meanwhile: the peer's copy has to be inconsistent before it gets
	 * them.
	 */
	if (!m->attach && m->oos_count) {
		kfm_peer_lost(m, -EAGAIN);
		return;
	}
	m->link = KFM_UP;
	m->outage++;
	m->live = jiffies;
	m->next = jiffies;
	m->insync = false;
	m->rs_from = 0;
	m->oos_start = m->oos_count;
	kfm_resync_stop(m);
	kfm_event(m, "connected");
}

static void on_grant(struct kfm *m, const struct kfm_msg *msg)
{
	if (m->link != KFM_ATTACHING)
		return;
	kfm_ring_begin(m, msg);
	if (!msg->bitmap_len) {
		session_up(m);
		return;
	}
	m->deadline = jiffies + m->timeout;
	m->link = KFM_FETCHING;
	if (msg->bitmap_len != m->bitmap_bytes || kfm_busy(&m->fetch_busy) ||
	    kfm_net_fetch(m, msg->bitmap_key, msg->bitmap_addr, msg->bitmap_len))
		kfm_peer_lost(m, -EPROTO);
}

static void primary_message(struct kfm *m, const struct kfm_msg *msg)
{
	switch (msg->type) {
	case KFM_STATE:
		on_state(m, msg);
		break;
	case KFM_REFUSED:
		if (m->link != KFM_UP)
			refuse_peer(m, refusals[msg->arg]);
		break;
	case KFM_GRANT:
		on_grant(m, msg);
		break;
	case KFM_APPLIED:
	case KFM_PONG:
		if (m->link == KFM_UP)
			kfm_ring_applied(m, msg->seq);
		break;
	case KFM_SYNCED_OK:
		if (m->link != KFM_UP || m->insync || m->oos_count)
			break;
		m->insync = true;
		kfm_event(m, "synced");
		break;
	case KFM_COPIED:
		if (m->link == KFM_UP)
			kfm_repair_copied(m, msg);
		break;
	case KFM_BYE:
		kfm_peer_lost(m, -ESHUTDOWN);
		break;
	}
}

/* The peer's bitmap has come, or not. */
static void fetch_tick(struct kfm *m)
{
	if (kfm_busy(&m->fetch_busy))
		return;
	if (m->fetch_err || kfm_oos_merge(m, m->peer_bits))
		kfm_peer_lost(m, m->fetch_err);
	else
		session_up(m);
}

/*
 * Everything is the same: say so, until the peer has answered. The peer may be promoted after
 * SYNCED, so the note that it was not in sync has to be gone, durably, before.
 */
static void synced_tick(struct kfm *m)
{
	struct kfm_msg synced = { .type = KFM_SYNCED, .session = m->session };
	struct kfm_super before = m->sb;

	if (m->meta_failed)
		return;
	if (kfm_is_alone(m) || m->sb.gens.base != m->sb.gens.cur) {
		m->sb.flags &= ~KFM_SB_ALONE;
		m->sb.gens.base = m->sb.gens.cur;
		if (kfm_super_save(m)) {
			m->sb.flags = before.flags;
			m->sb.gens.base = before.gens.base;
			return;
		}
	}
	synced.gens = m->sb.gens;
	kfm_net_send(m, &synced);
}

static void up_tick(struct kfm *m)
{
	if (time_after(jiffies, m->live + m->timeout)) {
		kfm_peer_lost(m, -ETIMEDOUT);
		return;
	}
	if (time_before(jiffies, m->next))
		return;
	m->next = jiffies + m->timeout / 8;
	if (m->oos_count || m->insync)
		send_simple(m, KFM_PING, m->insync, m->session);
	else
		synced_tick(m);
}

/* A peer that never came is lost as well; also without an endpoint. */
static void policy_tick(struct kfm *m)
{
	if (m->link != KFM_UP && !m->policed && time_after(jiffies, m->down + m->timeout))
		apply_policy(m);
}

static void primary_tick(struct kfm *m)
{
	if (m->leg_failed)
		return;
	switch (m->link) {
	case KFM_DOWN:
		if (time_before(jiffies, m->next))
			return;
		m->link = KFM_HELLOED;
		m->deadline = jiffies + HELLO_EVERY;
		kfm_peer_hello(m, 0);
		return;
	case KFM_FETCHING:
		fetch_tick(m);
		break;
	case KFM_UP:
		up_tick(m);
		return;
	default:
		break;
	}
	if (m->link != KFM_UP && m->link != KFM_DOWN && time_after(jiffies, m->deadline))
		kfm_peer_lost(m, -ETIMEDOUT);
}

/* ---- both ---- */

/* A message that has the right form. Its sender is in the address vector. */
void kfm_peer_message(struct kfm *m, const struct kfm_msg *msg)
{
	if (msg->type == KFM_HELLO) {
		on_hello(m, msg);
		return;
	}
	if (!m->formatted || msg->session != (m->promote ? m->asked : m->session) ||
	    (msg->type != KFM_REFUSED && memcmp(m->sb.uuid, msg->uuid, sizeof(msg->uuid))))
		return;
	m->live = jiffies;
	if (m->promote)
		kfm_promote_answer(m, msg);
	else if (m->primary)
		primary_message(m, msg);
	else
		secondary_message(m, msg);
}

static void open_tick(struct kfm *m)
{
	if (kfm_busy(&m->net.opening) || time_before(jiffies, m->net.retry))
		return;
	m->net.retry = jiffies + HZ;
	m->net.opening = true;
	schedule_work(&m->net.work);
}

/* What is due. */
void kfm_peer_tick(struct kfm *m)
{
	if (!kfm_net_up(m)) {
		if (m->primary)
			kfm_peer_lost(m, -ENODEV);
		m->link = KFM_DOWN;
		open_tick(m);
	}
	if (m->promote)
		kfm_promote_tick(m);
	if (!m->formatted)
		return;
	if (m->primary)
		policy_tick(m);
	if (!kfm_net_up(m))
		return;
	if (m->primary) {
		primary_tick(m);
		return;
	}
	kfm_log_apply(m, m->serve.step == KFM_S_ASKED);
	kfm_repair_serve(m);
}
