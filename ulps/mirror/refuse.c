// SPDX-License-Identifier: GPL-2.0
/*
 * refuse.c - why there is no session with a peer, in words for the kernel's log, and in one word
 * for the status. A peer that is refused is asked again after a while.
 */
#include "event.h"
#include "mirror.h"
#include "peer.h"
#include "rail.h"
#include "refuse.h"

#define REFUSED_EVERY	(2 * HZ)

static const char * const reasons[KFM_WHYS] = {
	[KFM_R_PRIMARY] = "the peer is primary",
	[KFM_R_FOREIGN] = "the peer belongs to another mirror, or has no metadata",
	[KFM_R_SIZE] = "the peer is shorter: `resize` it first; or it has other logical blocks",
	[KFM_R_BUSY] = "the peer is to become primary",
	[KFM_R_POLICY] = "the peer has another policy",
	[KFM_R_LEG] = "the peer's disk has failed",
	[KFM_R_FOLLOWS] = "the peer has a session with another primary",
	[KFM_R_PEERS] = "the table of the peer has another number of peers",
	[KFM_R_NODE] = "the peer knows another node in this place: there `replace` admits this one",
	[KFM_R_VERSION] = "the peer speaks other versions of the protocol",
	[KFM_R_ONLY] = "the peer has no other copy",
	[KFM_R_WITNESS] = "the tables of both nodes differ about which peer is the witness",
	[KFM_R_DOUBT] = "a superblock of the peer is damaged, and its data may be newer",
	[KFM_W_LATER] = "for a reason of a later version",
	[KFM_W_OWN_LEG] = "this node's disk has failed",
	[KFM_W_NO_SOURCE] = "this node's disk has failed, and the peer lacks data",
	[KFM_W_STALE] = "this copy is stale",
	[KFM_W_SPLIT] = "the copies are split: each has data that the other does not have",
	[KFM_W_OTHER] = "the peer has another number of peers, or is, or is not, the witness",
	[KFM_W_OTHER_NODE] = "another node is in the place of the peer: `replace` admits it",
	[KFM_W_BLANK] = "the peer's copy is blank, and there is no quorum without it",
	[KFM_W_NO_VOTE] = "the peer has no vote yet, and there is no quorum to give it one",
	[KFM_W_NEEDS_LOG] = "the peer's module is too old for a node without a log",
	[KFM_W_SECRET] = "one of both nodes has no secret, or another one",
	[KFM_W_PORT] = "without a secret both ends need ports below 1024",
	[KFM_W_EARLIER] = "the peer knows of later metadata: a disk has given back earlier data",
};

/**
 * kfm_refuse() - there is no session with a peer
 * @p: peer
 * @why: KFM_R_ or KFM_W_. The first one is reported, until there is a session
 *
 * Context: the worker.
 */
void kfm_refuse(struct kfm_peer *p, unsigned int why)
{
	if (!p->refused) {
		DMERR("%s: no session: %s", kfm_name(p->m), reasons[why]);
		kfm_peer_event(p, "refused");
	}
	p->refused = why;
	p->rail = kfm_rail_next(p->rail);	/* it may be another node that has said so */
	p->state = KFM_SESSION_DOWN;
	p->next = jiffies + REFUSED_EVERY;
}

/* Was the last one that was refused in the place of the peer another node? */
bool kfm_other_node(const struct kfm_peer *p)
{
	return p->refused == KFM_W_OTHER_NODE;
}

/* The word of the status that tells what is to be done about a refusal, or NULL */
const char *kfm_refused_word(const struct kfm_peer *p)
{
	switch (p->refused) {
	case KFM_W_OTHER_NODE:
		return "other-node";
	case KFM_R_SIZE:
		return "other-size";
	case KFM_R_VERSION:
	case KFM_W_NEEDS_LOG:
		return "other-version";
	case KFM_W_EARLIER:
		return "earlier";
	default:
		return NULL;
	}
}
