// SPDX-License-Identifier: GPL-2.0
/*
 * secondary.c - a session as the secondary has it, see the head of peer.c: what it answers, and
 * what it stores before it does. All of it runs in the worker.
 */
#include "bits.h"
#include "copy.h"
#include "csum.h"
#include "direct.h"
#include "event.h"
#include "label.h"
#include "leave.h"
#include "log.h"
#include "meta.h"
#include "mirror.h"
#include "net.h"
#include "peer.h"
#include "quorum.h"
#include "recent.h"
#include "repair.h"
#include "secondary.h"
#include "session.h"
#include "told.h"

/*
 * The session with another primary than @p, unless that was silent for too long; or NULL. With
 * `reads quorum` a primary serves reads for a while after it was heard, so this node follows it for
 * the time-out, however their session has ended, unless the primary itself has ended it (BYE).
 */
static struct kfm_peer *other_primary(const struct kfm_peer *p)
{
	const struct kfm *m = p->m;
	struct kfm_peer *q = m->log.open ? m->log.peer : NULL;

	if (m->reads_quorum && !q)
		q = m->followed;
	return q && q != p && time_before(jiffies, q->live + m->timeout) ? q : NULL;
}

/* The policy of the sender of HELLO */
static u32 hello_policy(const struct kfm_msg *msg)
{
	return msg->features & KFM_F_QUORUM ? KFM_QUORUM : msg->arg;
}

/*
 * May this node have forgotten something that keeps it from answering HELLO (KFM_SB_DOUBT)? It
 * agrees with no candidate. A primary makes its copy the same, unless what is left of the
 * superblock says that the primary lacks data, or has another past.
 */
static bool in_doubt(const struct kfm *m, const struct kfm_msg *hello)
{
	if (!(m->sb.flags & KFM_SB_DOUBT))
		return false;
	return hello->flags & KFM_M_CANDIDATE ||
	       (m->sb.gens.cur && kfm_compare(&hello->gens, &m->sb.gens, KFM_UPTODATE) >= KFM_STALE);
}

/*
 * Do the logical blocks of both legs keep the nodes from having a session? A primary must not write
 * less than a block of this leg. After a change of roles this node would be the primary, so at the
 * first session of both nodes the blocks have to be the same. A mirror that has begun with others
 * goes on as before.
 */
static bool blocks_differ(const struct kfm_peer *p, const struct kfm_msg *hello)
{
	u32 lbs = bdev_logical_block_size(p->m->leg->bdev);
	bool first = !kfm_pair(p)->node && !(hello->flags & KFM_M_CANDIDATE);

	return first ? lbs != hello->lbs : lbs > hello->lbs;
}

/*
 * Why HELLO is refused, or 0. What keeps a candidate from becoming a second primary comes first,
 * whatever else is wrong with it: after another answer `fenced` and `force` promote it. A primary
 * may be shorter than this node, which grows before it. A candidate may be longer: the generations
 * tell whose copy has all writes, as a primary goes on alone before it ends one that a peer lacks.
 */
static u32 hello_refusal(const struct kfm_peer *p, const struct kfm_msg *msg)
{
	const struct kfm *m = p->m;

	if (!m->formatted || memcmp(m->sb.uuid, msg->uuid, sizeof(msg->uuid)))
		return KFM_R_FOREIGN;
	if (m->primary)
		return KFM_R_PRIMARY;
	if (m->promote)
		return KFM_R_BUSY;
	if (other_primary(p))
		return KFM_R_FOLLOWS;
	if (!kfm_peer_versions(p, msg))
		return KFM_R_VERSION;
	if (!kfm_roles_agree(p, msg))
		return KFM_R_WITNESS;
	if (!m->witness && ((msg->sectors > m->sectors && !(msg->flags & KFM_M_CANDIDATE)) ||
			    blocks_differ(p, msg)))
		return KFM_R_SIZE;
	if (!kfm_node_matches(p, msg->node))
		return KFM_R_NODE;
	if (m->policy != hello_policy(msg))
		return KFM_R_POLICY;
	if (msg->peers != kfm_peer_count(m))
		return KFM_R_PEERS;
	if (in_doubt(m, msg))
		return msg->versions ? KFM_R_DOUBT : KFM_R_LEG;
	if ((m->leg_failed || (!m->logdev && !m->witness && !kfm_direct_takes(m))) &&
	    !(msg->flags & KFM_M_CANDIDATE))
		return KFM_R_LEG;
	return m->log.failed || m->meta_failed ? KFM_R_LEG : 0;
}

/*
 * With policy quorum the other node learns the generation of this one, whatever the reason is: it
 * may be a primary that does not know that this node, or its primary, has gone on.
 */
static void send_refused(struct kfm_peer *p, const struct kfm_msg *hello, u32 why)
{
	struct kfm_msg refused = {
		.type = KFM_REFUSED, .arg = why, .session = hello->session,
		.versions = KFM_VERSIONS_OWN,
	};

	if (p->m->formatted && p->m->policy == KFM_QUORUM && hello->features & KFM_F_QUORUM) {
		refused.gens = p->m->sb.gens;
		refused.peers = kfm_peer_count(p->m);
		refused.flags = KFM_M_QUORUM;
	}
	kfm_net_send_by(p->came, &refused);
}

/*
 * Has a primary sent HELLO before another one that this node has taken? Those of several rails have
 * no order, and the primary waits for the answer to the last one alone. An older program has no
 * stamps, and one rail.
 */
static bool is_late(struct kfm_peer *p, const struct kfm_msg *hello)
{
	if (hello->start && hello->start == p->hello_start && hello->seq < p->hello_stamp)
		return true;
	p->hello_start = hello->start;
	p->hello_stamp = hello->seq;
	return false;
}

/**
 * kfm_secondary_hello() - answer HELLO, in any role
 * @p: its sender
 * @msg: HELLO
 */
void kfm_secondary_hello(struct kfm_peer *p, const struct kfm_msg *msg)
{
	struct kfm *m = p->m;
	bool candidate = msg->flags & KFM_M_CANDIDATE;
	u32 refusal = hello_refusal(p, msg);
	struct kfm_msg answer = {
		.type = KFM_STATE, .session = msg->session, .gens = m->sb.gens,
		.state = m->sb.state, .sectors = m->sectors, .peers = kfm_peer_count(m),
		.start = m->start, .version = kfm_peer_versions(p, msg),
	};

	if (!refusal && kfm_told_takes(m, msg)) {
		refusal = hello_refusal(p, msg);
		answer.state = m->sb.state;
	}
	if (refusal == KFM_R_POLICY && (msg->arg == KFM_ALONE || msg->features & KFM_F_QUORUM))
		m->was_insync = false;	/* the peer may go on without this node */
	if (refusal) {
		send_refused(p, msg, refusal);
		if (refusal == KFM_R_PRIMARY)
			kfm_quorum_newer(p, msg);
		return;
	}
	if (!m->logdev && ~msg->features & (KFM_F_NO_LOG | KFM_F_DIRECT) && !candidate) {
		kfm_peer_needs_log(p, msg);
		return;
	}
	if (!candidate) {
		if (is_late(p, msg))
			return;
		if (m->log.open)
			m->log.peer->state = KFM_SESSION_DOWN;
		kfm_log_close(m);
		p->state = KFM_SESSION_DOWN;
		p->rail = p->came;
		p->session = msg->session;
		p->refused = 0;
		p->features = msg->features;
		p->version = answer.version;
		if (!m->witness)
			p->sectors = msg->sectors;
	}
	if (m->left && !candidate) {
		kfm_leave_send(p);
		return;
	}
	/* to a primary: it gets all of a blank copy, and goes on with one that is partly written */
	if (m->sb.flags & KFM_SB_DOUBT)
		answer.gens = (struct kfm_gens) { .source = m->sb.gens.source };
	if (kfm_wire_any(p))
		answer.flags = KFM_M_DIRTY;
	answer.flags |= kfm_quorum_flags(m);
	kfm_told_speaks(m, &answer);
	kfm_told_tells(p, &answer);
	answer.epoch = m->log.head.epoch;
	answer.number = READ_ONCE(m->log.end);
	kfm_net_send_by(p->came, &answer);
}

/* Does the plan of the primary agree with the generations of this node? */
static bool attach_fits(const struct kfm_peer *p, const struct kfm_msg *msg)
{
	const struct kfm *m = p->m;
	enum kfm_verdict verdict = kfm_quorum_compare(m, &msg->gens, &m->sb.gens, m->sb.state);

	if (verdict == KFM_STALE || verdict == KFM_SPLIT)
		return false;
	if (m->witness)	/* it has nothing that could be overwritten */
		return !msg->arg;
	if (msg->arg)
		return true;
	return (m->sb.state == KFM_UPTODATE || m->sb.state == KFM_OUTDATED) &&
	       verdict != KFM_FULL && !kfm_wire_any(p);
}

static int attach_prepare(struct kfm_peer *p, const struct kfm_msg *msg)
{
	struct kfm *m = p->m;
	int ret = kfm_log_replay(m);

	if (ret == -EUCLEAN)
		return kfm_writes_missing(m) ?: ret;
	if (ret == -EBADMSG)
		return kfm_log_unusable(m) ?: -EUCLEAN;
	if (ret)
		return ret;
	if (msg->arg) {
		m->was_insync = false;
		m->sb.state = KFM_INCONSISTENT;
		if (m->sb.flags & KFM_SB_DOUBT)		/* what they say may be wrong */
			m->sb.gens = (struct kfm_gens) {};
		m->sb.gens.source = msg->gens.source;
	}
	if (msg->arg || kfm_pair(p)->node != msg->node) {
		kfm_pair(p)->node = msg->node;
		ret = kfm_super_save(m);
	}
	/* whatever leg this is, it is the one from now on */
	if (!ret && msg->arg && m->sb.flags & KFM_SB_DOUBT && kfm_label_renew(m))
		DMWARN("%s: can't write the label of the leg", kfm_name(m));
	m->log.epoch = p->features & KFM_F_NUMBERS ? p->hello_start : 0;
	return ret ?: kfm_log_start(m, p->session, msg->gens.cur, msg->node);
}

static void send_grant(struct kfm_peer *p)
{
	struct kfm *m = p->m;
	struct kfm_log *log = &m->log;
	struct kfm_msg grant = {
		.type = KFM_GRANT,
		.session = p->session,
		.bitmap_key = kfi_mr_key(log->bitmap_mr),
		.bitmap_addr = kfi_mr_addr(log->bitmap_mr),
		.bitmap_len = kfm_wire_any(p) ? kfm_wire_bytes(kfm_shared(p)) : 0,
		.patch_key = kfi_mr_key(log->patch_mr),
		.patch_addr = kfi_mr_addr(log->patch_mr),
	};

	if (p->features & KFM_F_PATCHES)
		grant.flags = KFM_M_PATCHES;
	if (log->mr) {
		grant.ring_key = kfi_mr_key(log->mr);
		grant.ring_addr = kfi_mr_addr(log->mr);
		grant.ring_len = log->ring_len;
	}
	if (m->direct.open) {
		grant.arg = KFM_DIRECT_SLOTS;
		grant.flags |= (p->features & KFM_F_ZEROES ? KFM_M_ZEROES : 0) |
			       (p->features & KFM_F_CACHE ? KFM_M_CACHE : 0);
		grant.slots_key = kfi_mr_key(p->rail->slots_mr);
		grant.slots_addr = kfi_mr_addr(p->rail->slots_mr);
	}
	if (p->features & KFM_F_CSUM)
		grant.flags |= KFM_M_CSUM;
	if (p->features & KFM_F_NUMBERS)
		grant.flags |= KFM_M_NUMBERS;
	kfm_net_send(p, &grant);
}

/* A session with a witness: there is nothing to read or to write, so it gives out no keys. */
static void witness_grant(struct kfm_peer *p)
{
	struct kfm_msg grant = {
		.type = KFM_GRANT, .session = p->session, .flags = KFM_M_WITNESS,
	};

	p->m->log.peer = p;
	p->m->log.open = true;
	p->m->followed = p;
	p->state = KFM_SESSION_UP;
	kfm_net_send(p, &grant);
}

static void on_attach(struct kfm_peer *p, const struct kfm_msg *msg)
{
	struct kfm *m = p->m;
	u64 session = p->session;
	int ret;

	/* a bitmap that this node has begun to read as a primary may still come */
	if (m->log.open || !kfm_node_matches(p, msg->node) || !attach_fits(p, msg) ||
	    kfm_busy(&p->fetch_busy))
		return;
	ret = attach_prepare(p, msg);
	if (ret == -EUCLEAN) {	/* this copy is blank now: the primary has to compare again */
		kfm_peer_send(p, KFM_BYE, 0, session);
		return;
	}
	if (ret) {
		m->log.failed = true;
		kfm_peer_send(p, KFM_REFUSED, KFM_R_LEG, p->session);
		return;
	}
	if (m->witness) {
		witness_grant(p);
		return;
	}
	kfm_wire_fill(p);
	ret = kfm_log_open(p);
	if (ret) {
		DMERR("%s: can't register the log (%d)", kfm_name(m), ret);
		return;
	}
	p->state = KFM_SESSION_UP;
	m->followed = p;
	send_grant(p);
}

/*
 * The copies are the same: what this node has not applied yet is durable in its log. All nodes with
 * this generation have the same data, except for the regions of writes in flight, see recent.c.
 */
static int take_gens(struct kfm *m, const struct kfm_msg *synced)
{
	struct kfm_super before = m->sb;
	struct kfm_peer *p;
	int ret;

	m->sb.state = KFM_UPTODATE;
	m->sb.gens = synced->gens;
	m->sb.gens.source = 0;
	m->sb.gens.base = 0;
	m->sb.flags &= KFM_SB_KEPT;
	kfm_quorum_take(m, synced);
	kfm_for_each_peer(p, m) {
		kfm_pair(p)->base = synced->gens.cur;
		kfm_pair(p)->source = 0;
		kfm_pair(p)->flags &= KFM_PAIR_WITNESS;
	}
	ret = kfm_super_save(m);
	if (ret)
		m->sb = before;
	return ret;
}

/* Store the generations in SYNCED, if they are @new. Return: 0 or a negative error. */
static int store_synced(struct kfm_peer *p, const struct kfm_msg *msg, bool new)
{
	struct kfm *m = p->m;
	int ret = new ? take_gens(m, msg) : 0;

	if (ret)
		return ret;
	kfm_recent_clean(p, msg);
	kfm_bits_clear(p);
	return kfm_bits_flush(m);
}

/* The primary ends no write before the answer. A node that can't give it ends the session. */
static void on_synced(struct kfm_peer *p, const struct kfm_msg *msg)
{
	struct kfm_msg answer = { .type = KFM_SYNCED_OK, .session = p->session };
	struct kfm *m = p->m;
	bool new = m->sb.state != KFM_UPTODATE || m->sb.gens.cur != msg->gens.cur;

	if (p->state != KFM_SESSION_UP || m->left)	/* the copy stays outdated */
		return;
	if (store_synced(p, msg, new)) {
		kfm_peers_end(m);
		return;
	}
	m->was_insync = true;
	kfm_log_reached(m, msg->number);
	if (new)	/* the status of the node says so by now */
		kfm_peer_event(p, "synced");
	answer.gens = m->sb.gens;
	kfm_told_speaks(m, &answer);
	kfm_net_send(p, &answer);
}

static void on_ping(struct kfm_peer *p, const struct kfm_msg *ping)
{
	struct kfm *m = p->m;
	struct kfm_msg pong = {
		.type = KFM_PONG, .session = p->session, .seq = m->log.head.seq - 1,
		.asked = ping->asked,
	};

	if (p->state != KFM_SESSION_UP) {
		kfm_peer_send(p, KFM_BYE, 0, p->session);
		return;
	}
	kfm_recent_clean(p, ping);
	kfm_told_speaks(m, &pong);
	kfm_net_send(p, &pong);
}

/* The primary asks for the slots by another rail. */
static void on_rail(struct kfm_peer *p)
{
	struct kfm_msg answer = { .type = KFM_RAIL, .session = p->session };
	struct kfm_rail *rail = p->came;

	if (p->state != KFM_SESSION_UP || !p->m->direct.open || kfm_direct_rail(rail))
		return;
	answer.slots_key = kfi_mr_key(rail->slots_mr);
	answer.slots_addr = kfi_mr_addr(rail->slots_mr);
	kfm_net_send_by(rail, &answer);
}

/**
 * kfm_secondary_message() - handle a message of the present session
 * @p: the primary
 * @msg: message, not HELLO
 */
void kfm_secondary_message(struct kfm_peer *p, const struct kfm_msg *msg)
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
		on_ping(p, msg);
		break;
	case KFM_RAIL:
		on_rail(p);
		break;
	case KFM_COPY:
		if (p->state == KFM_SESSION_UP)
			kfm_repair_requested(p, msg);
		break;
	case KFM_HASH:
		if (p->state == KFM_SESSION_UP)
			kfm_csum_requested(p, msg);
		break;
	case KFM_BYE:
		if (p->state == KFM_SESSION_UP)
			kfm_log_close(m);
		p->state = KFM_SESSION_DOWN;
		if (msg->arg == KFM_BYE_LEAVE)	/* the primary goes on */
			kfm_leave_end(m, 0);
		else if (m->followed == p)
			m->followed = NULL;
		break;
	case KFM_REFUSED:
		if (msg->arg != KFM_R_ONLY)
			break;
		m->left = false;	/* the next session makes this copy up to date again */
		kfm_leave_end(m, -EBUSY);
		break;
	}
}

/* ---- time ---- */

/* What is due in each run of the worker of a secondary */
void kfm_secondary_tick(struct kfm *m)
{
	kfm_direct_run(m);
	if (kfm_log_apply(m, kfm_serve_waits(m) || kfm_csum_behind(m)))
		kfm_peers_end(m);	/* a replay reads what was made durable */
	kfm_repair_serve(m);
}
