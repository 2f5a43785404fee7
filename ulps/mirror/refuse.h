/* SPDX-License-Identifier: GPL-2.0 */
/* refuse.h - why there is no session with a peer */
#ifndef KFM_REFUSE_H
#define KFM_REFUSE_H

#include "proto.h"

struct kfm_peer;

/* kfm_peer.refused: 0; what the peer says, which is one of KFM_R_; or what this node says */
enum kfm_why {
	KFM_W_LATER = KFM_REFUSALS,	/* the peer says something that a later version knows */
	KFM_W_OWN_LEG,			/* the leg of this node has failed */
	KFM_W_NO_SOURCE,		/* the same, and the peer lacks data */
	KFM_W_STALE,			/* this copy lacks what the peer has */
	KFM_W_SPLIT,			/* each copy has data that the other one lacks */
	KFM_W_OTHER,			/* the tables do not fit */
	KFM_W_OTHER_NODE,		/* it is not the node that has always been this peer */
	KFM_W_BLANK,			/* no quorum without it, and it has forgotten all */
	KFM_W_NO_VOTE,			/* no quorum to give it a vote */
	KFM_W_NEEDS_LOG,		/* it would write to a log, and this node has none */
	KFM_W_SECRET,			/* the provider does not believe one of both nodes */
	KFM_W_PORT,			/* the same, because a port is not reserved */
	KFM_W_EARLIER,			/* the peer knows of a later superblock of this node */
	KFM_WHYS
};

void kfm_refuse(struct kfm_peer *p, unsigned int why);
bool kfm_other_node(const struct kfm_peer *p);
const char *kfm_refused_word(const struct kfm_peer *p);

#endif /* KFM_REFUSE_H */
