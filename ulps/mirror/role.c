// SPDX-License-Identifier: GPL-2.0
/*
 * role.c - which messages a node takes from whom.
 *
 * The table says which peer is the witness. A message does not change that: it agrees, or its
 * sender has no session, gives no vote, and reports no generation.
 */
#include "mirror.h"
#include "peer.h"

/* Does a message that says which of both nodes is a witness agree with the table? */
bool kfm_roles_agree(const struct kfm_peer *p, const struct kfm_msg *msg)
{
	switch (msg->type) {
	case KFM_HELLO:		/* a witness is no primary, and no candidate */
		return !p->witness && p->m->witness == !!(msg->features & KFM_F_WITNESS);
	case KFM_STATE:
	case KFM_GRANT:
		return p->witness == !!(msg->flags & KFM_M_WITNESS);
	default:
		return true;
	}
}

/* What this node is at the moment. A witness is never one of the first two. */
enum {
	AS_CANDIDATE = 1,
	AS_PRIMARY = 2,
	AS_SECONDARY = 4,
	AS_WITNESS = 8,
};

#define AS_DRIVER	(AS_CANDIDATE | AS_PRIMARY)	/* has sent HELLO */
#define AS_DRIVEN	(AS_SECONDARY | AS_WITNESS)

/*
 * As what this node takes a message: from a peer that has a copy, and from the witness. What is in
 * no set is dropped. HELLO comes at any time, and always has an answer (secondary.c).
 */
static const struct {
	u8	copy;
	u8	witness;
} takes[KFM_MSG_TYPES] = {
	[KFM_STATE]	= { AS_DRIVER, AS_DRIVER },
	[KFM_REFUSED]	= { AS_DRIVER | AS_DRIVEN, AS_DRIVER },
	[KFM_ATTACH]	= { AS_DRIVEN, 0 },
	[KFM_GRANT]	= { AS_PRIMARY, AS_PRIMARY },
	[KFM_APPLIED]	= { AS_PRIMARY, 0 },
	[KFM_PING]	= { AS_DRIVEN, 0 },
	[KFM_PONG]	= { AS_PRIMARY, AS_PRIMARY },
	[KFM_SYNCED]	= { AS_DRIVEN, 0 },
	[KFM_SYNCED_OK]	= { AS_PRIMARY, AS_PRIMARY },
	[KFM_BYE]	= { AS_PRIMARY | AS_DRIVEN, AS_PRIMARY },
	[KFM_COPY]	= { AS_SECONDARY, 0 },
	[KFM_COPIED]	= { AS_PRIMARY, 0 },
	[KFM_LEAVE]	= { AS_PRIMARY, AS_PRIMARY },
	[KFM_HASH]	= { AS_SECONDARY, 0 },
	[KFM_HASHED]	= { AS_PRIMARY, 0 },
	[KFM_RAIL]	= { AS_PRIMARY | AS_SECONDARY, 0 },
};

static unsigned int this_role(const struct kfm *m)
{
	if (m->witness)
		return AS_WITNESS;
	if (m->promote)
		return AS_CANDIDATE;
	return m->primary ? AS_PRIMARY : AS_SECONDARY;
}

/* Is a message of this type taken from the peer, as what this node is now? */
bool kfm_role_may_send(const struct kfm_peer *p, u16 type)
{
	return (p->witness ? takes[type].witness : takes[type].copy) & this_role(p->m);
}
