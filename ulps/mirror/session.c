// SPDX-License-Identifier: GPL-2.0
/*
 * session.c - what any part may do with a session, and with what is stored about a peer: compare
 * its copy, go on without it, and end the session. peer.c has the messages of a session.
 *
 * All of it is the worker's.
 */
#include "event.h"
#include "leg.h"
#include "log.h"
#include "meta.h"
#include "mirror.h"
#include "net.h"
#include "peer.h"
#include "quorum.h"
#include "rail.h"
#include "refuse.h"
#include "resync.h"
#include "session.h"
#include "told.h"
#include "write.h"

#define HELLO_EVERY	(HZ / 2)

struct kfi_wire kfm_wire = { .name = "mirrors", .speaks = &kfm_speaks };

/* Send a message that has no other members. */
void kfm_peer_send(struct kfm_peer *p, u16 type, u32 arg, u64 session)
{
	struct kfm_msg msg = { .type = type, .arg = arg, .session = session };

	kfm_net_send(p, &msg);
}

/* The generations of this node, as seen from a peer */
struct kfm_gens kfm_pair_gens(const struct kfm_peer *p)
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

/* The versions that the sender of HELLO or REFUSED speaks; its features are in kfm_peer */
static struct kfi_versions msg_speaks(const struct kfm_msg *m)
{
	u16 highest = m->versions ? m->versions >> 16 : KFM_MSG_FORM, lowest = m->versions;

	if (!m->versions)
		lowest = KFM_MSG_FORM;
	return (struct kfi_versions) {
		.lowest = clamp_t(u16, lowest, 1, U8_MAX), .highest = min_t(u16, highest, U8_MAX),
	};
}

/**
 * kfm_peer_versions() - what this node and a peer speak
 * @p: the peer
 * @msg: its HELLO or REFUSED
 *
 * Without a common version the log and "kfi show" name the peer. Return: the version that both use,
 * or 0.
 */
u16 kfm_peer_versions(const struct kfm_peer *p, const struct kfm_msg *msg)
{
	struct kfi_versions theirs = msg_speaks(msg), agreed;
	int ret = kfi_versions_agree(&kfm_speaks, &theirs, &agreed);
	char peer[128];

	if (!ret && !kfi_wire_any_refused())
		return agreed.highest;
	snprintf(peer, sizeof(peer), "%s: peer %s", kfm_name(p->m), kfm_peer_name(p));
	if (!ret)
		kfi_wire_met(p->m->net_ns, &kfm_wire, peer);
	else if (ret == -EPROTONOSUPPORT)
		kfi_wire_refused(p->m->net_ns, &kfm_wire, peer, &theirs);
	return agreed.highest;
}

/**
 * kfm_peer_other_version() - a node has sent HELLO in a version that this node does not speak
 * @p: the peer
 * @hello: what was read of it
 *
 * Both nodes get a reason. The answer to other messages would be answered in the same way, for
 * ever.
 */
void kfm_peer_other_version(struct kfm_peer *p, const struct kfm_msg *hello)
{
	const struct kfm_msg refused = {
		.type = KFM_REFUSED, .arg = KFM_R_VERSION, .session = hello->session,
		.versions = KFM_VERSIONS_OWN,
	};

	kfm_peer_versions(p, hello);
	kfm_net_send_by(p->came, &refused);
	if (p->state <= KFM_SESSION_HELLO)
		kfm_refuse(p, KFM_R_VERSION);
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
	const struct kfm_msg refused = {
		.type = KFM_REFUSED, .arg = hello->versions ? KFM_R_VERSION : KFM_R_LEG,
		.session = hello->session, .versions = KFM_VERSIONS_OWN,
	};
	struct kfm *m = p->m;

	if (m->log.open && m->log.peer == p)
		kfm_log_close(m);	/* the session of an earlier program of this node */
	kfm_net_send_by(p->came, &refused);
	kfm_refuse(p, KFM_W_NEEDS_LOG);
}

/* Compare the copy of a peer, as STATE describes it. */
enum kfm_verdict kfm_peer_compare(const struct kfm_peer *p, const struct kfm_msg *state)
{
	struct kfm_gens mine = kfm_pair_gens(p);

	if (!kfm_node_matches(p, state->node) || state->peers != kfm_peer_count(p->m) ||
	    !kfm_roles_agree(p, state))
		return KFM_OTHER;
	return kfm_quorum_compare(p->m, &mine, &state->gens, state->state);
}

/**
 * kfm_peer_hello() - begin a session
 * @rail: by which rail, to the peer of a primary, or of a node that asks before a promotion
 * @flags: KFM_M_
 */
void kfm_peer_hello(struct kfm_rail *rail, u32 flags)
{
	struct kfm_peer *p = rail->p;
	struct kfm *m = p->m;
	struct kfm_msg hello = {
		.type = KFM_HELLO,
		.gens = kfm_pair_gens(p),
		.sectors = m->sectors,
		.lbs = bdev_logical_block_size(m->leg->bdev),
		.state = m->sb.state,
		.flags = flags,
		.arg = m->policy == KFM_QUORUM ? KFM_STOP : m->policy,
		.peers = kfm_peer_count(m),
		.versions = KFM_VERSIONS_OWN,
		.start = m->start,
		.seq = ktime_get_ns(),
		.features = KFM_F_LEAVE | KFM_F_DIRECT | KFM_F_NO_LOG | KFM_F_ZEROES |
			    KFM_F_PATCHES | KFM_F_NUMBERS,
	};

	if (m->cache && m->direct_min != KFM_DIRECT_OFF)
		hello.features |= KFM_F_CACHE;
	if (m->policy == KFM_QUORUM)
		hello.features |= KFM_F_QUORUM;
	if (p->witness)
		hello.features |= KFM_F_WITNESS;
	if (m->csum)
		hello.features |= KFM_F_CSUM;
	kfm_told_speaks(m, &hello);
	kfm_told_tells(p, &hello);
	hello.session = kfm_random();
	if (flags & KFM_M_CANDIDATE) {
		p->candidate_session = hello.session;
	} else {
		p->session = hello.session;
		p->version = 0;
	}
	WRITE_ONCE(rail->sent_err, 0);	/* identity_tick() looks at the result of HELLO */
	kfm_net_send_by(rail, &hello);
}

/* ---- without a peer ---- */

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

/* A peer that never came is lost as well; also without an endpoint. */
void kfm_policy_tick(struct kfm_peer *p)
{
	struct kfm *m = p->m;

	if (p->state != KFM_SESSION_UP && !p->policy_applied &&
	    time_after(jiffies, p->down + m->timeout))
		apply_policy(p);
}

/* ---- the end of a session ---- */

/* With `reads quorum` they go on when kfm_reads_extend() has heard enough of the others. */
static void reads_stop(struct kfm *m)
{
	if (m->reads_quorum)
		WRITE_ONCE(m->reads_until, jiffies - 1);
}

/**
 * kfm_peer_lost() - a session of a primary has ended
 * @p: the peer
 * @err: why
 */
void kfm_peer_lost(struct kfm_peer *p, int err)
{
	struct kfm *m = p->m;
	bool up = p->state == KFM_SESSION_UP, other = kfm_rails_lost(p);

	/* the event is sent again: `fenced` was refused while the peer was coming back */
	if (p->state > KFM_SESSION_HELLO && !kfm_is_alone(p))
		p->policy_applied = false;
	p->state = KFM_SESSION_DOWN;
	p->insync = false;
	p->next = other ? jiffies : jiffies + HELLO_EVERY;
	if (!up)
		return;
	DMWARN("%s: the peer is lost (%d)", kfm_name(m), err);
	reads_stop(m);
	kfm_peer_event(p, "lost");
	p->down = jiffies;
	kfm_resync_stop(p);
	kfm_writes_lost(p);
	if (!other)
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

/* The same, because a rail of it has failed, or does not answer */
void kfm_rail_lost(struct kfm_rail *rail, int err)
{
	rail->failed = true;
	kfm_peer_lost(rail->p, err);
}

/*
 * Close an endpoint for a peer, after the regions that it may write to. If the session is at that
 * rail, or the primary has posted there, it ends.
 */
void kfm_rail_close(struct kfm_rail *rail)
{
	struct kfm_peer *p = rail->p;
	struct kfm *m = p->m;

	if (!kfm_rail_up(rail))
		return;
	if (m->log.open && m->log.peer == p && (rail == p->rail || rail->slots_mr)) {
		kfm_log_close(m);
		p->state = KFM_SESSION_DOWN;
		if (rail != p->rail)
			kfm_peer_send(p, KFM_BYE, KFM_BYE_RAIL, p->session);
	}
	if (m->primary && (rail == p->rail || rail->open))
		kfm_rail_lost(rail, -ENODEV);
	kfm_net_close(rail);
}

/* All of them */
void kfm_peer_close(struct kfm_peer *p)
{
	struct kfm_rail *rail;

	kfm_for_each_rail(rail, p)
		kfm_rail_close(rail);
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
	p->refused = KFM_W_OWN_LEG;
}

/*
 * The leg of a primary has failed. The peers stay in sync, with all records in their logs, and can
 * be promoted. A new session would overwrite them from the disk that has failed.
 */
void kfm_peers_leg_failed(struct kfm *m)
{
	bool known = m->peers[0]->refused == KFM_W_OWN_LEG;
	struct kfm_peer *p;

	reads_stop(m);
	kfm_for_each_peer(p, m)
		leg_lost(p);
	if (known)
		return;
	DMERR("%s: the leg is not written any more: it, or the log of this node, has failed",
	      kfm_name(m));
	kfm_event(m, "failed");
}
