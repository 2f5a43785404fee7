// SPDX-License-Identifier: GPL-2.0
/*
 * peer.c - the messages of a peer, and what is due of its session. A session is between two nodes:
 * the part of the primary is in primary.c, that of the secondary in secondary.c, and the end, which
 * many parts bring about, in session.c.
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
#include "leave.h"
#include "mirror.h"
#include "net.h"
#include "peer.h"
#include "primary.h"
#include "promote.h"
#include "quorum.h"
#include "rail.h"
#include "refuse.h"
#include "secondary.h"
#include "session.h"
#include "told.h"

#define MALFORMED_PAUSE	HZ

/* ---- messages ---- */

/* A message that has the right form. Its sender is in the address vector of the endpoint for @p. */
void kfm_peer_message(struct kfm_peer *p, const struct kfm_msg *msg)
{
	const struct kfm *m = p->m;

	if (m->formatted && !memcmp(m->sb.uuid, msg->uuid, sizeof(msg->uuid)))
		kfm_told_hears(p, msg);
	if (msg->type == KFM_HELLO) {
		kfm_secondary_hello(p, msg);
		return;
	}
	if (!m->formatted || !kfm_role_may_send(p, msg->type) ||
	    msg->session != (m->promote ? p->candidate_session : p->session) ||
	    (msg->type != KFM_REFUSED && memcmp(m->sb.uuid, msg->uuid, sizeof(msg->uuid))))
		return;
	if (!m->primary || p->came == p->rail)	/* another rail says nothing of that one */
		p->live = jiffies;
	if (msg->type == KFM_REFUSED && msg->arg == KFM_R_VERSION)
		kfm_peer_versions(p, msg);
	if (m->promote)
		kfm_promote_answer(p, msg);
	else if (m->primary)
		kfm_primary_message(p, msg);
	else
		kfm_secondary_message(p, msg);
}

/* A peer that breaks the protocol has no endpoint for a while. */
static void cut_off(struct kfm_peer *p)
{
	struct kfm_rail *rail;

	DMWARN_LIMIT("%s: %s has sent something malformed", kfm_name(p->m), kfm_peer_name(p));
	kfm_peer_close(p);
	kfm_for_each_rail(rail, p)
		rail->retry = jiffies + MALFORMED_PAUSE;
}

/*
 * Handle the messages that have arrived. A peer may send without a pause: what is more than the
 * receives that were posted waits until the worker has done all else that is due.
 */
static void receive(struct kfm_peer *p)
{
	unsigned int budget = KFM_RX;
	struct kfm_msg msg;
	int ret;

	while (true) {
		if (!budget--) {
			kfm_kick(p->m);
			return;
		}
		ret = kfm_net_receive(p, &msg);
		switch (ret) {
		case -ENODATA:
			return;
		case -EPROTO:
			cut_off(p);
			return;
		case -ENODEV:
			kfm_rail_close(p->came);
			break;
		case -EPROTONOSUPPORT:
			kfm_peer_other_version(p, &msg);
			break;
		case 0:
			kfm_peer_message(p, &msg);
		}
	}
}

/* ---- time ---- */

/* Is the peer one that the provider does not believe, or that does not believe this node? */
static void identity_tick(struct kfm_peer *p)
{
	struct kfm_rail *rail = p->rail;	/* a refusal turns to another one */
	int err = READ_ONCE(rail->sent_err);

	if (!err || p->state > KFM_SESSION_HELLO)
		return;
	if (err == KFI_EKEYREJECTED)
		kfm_refuse(p, KFM_W_SECRET);
	else if (err == KFI_EACCES)
		kfm_refuse(p, KFM_W_PORT);
	else if (err == EPROTONOSUPPORT)
		kfm_refuse(p, KFM_R_VERSION);
	WRITE_ONCE(rail->sent_err, 0);
}

static void peer_tick(struct kfm_peer *p)
{
	struct kfm *m = p->m;

	kfm_rails_open(p);
	if (!kfm_net_up(p)) {
		if (m->primary)
			kfm_peer_lost(p, -ENODEV);
		p->state = KFM_SESSION_DOWN;
		p->rail = kfm_rail_next(p->rail);
	}
	identity_tick(p);
	if (!m->formatted || !m->primary)
		return;
	kfm_policy_tick(p);
	if (kfm_net_up(p))
		kfm_primary_tick(p);
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
	if (m->formatted && !m->primary)
		kfm_secondary_tick(m);
}

/* Messages, and what is due. Context: the worker. */
void kfm_peers_run(struct kfm *m)
{
	struct kfm_peer *p;

	kfm_for_each_peer(p, m)
		receive(p);
	kfm_peers_tick(m);
}
