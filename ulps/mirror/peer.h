/* SPDX-License-Identifier: GPL-2.0 */
/* peer.h - another node, and the session with it */
#ifndef KFM_PEER_H
#define KFM_PEER_H

#include "bits.h"
#include "mirror.h"
#include "net.h"
#include "ring.h"

/* States of a session (peer.c). A secondary uses only KFM_SESSION_DOWN and KFM_SESSION_UP. */
enum kfm_session_state {
	KFM_SESSION_DOWN,	/* none; a primary sends HELLO from time to time */
	KFM_SESSION_HELLO,	/* HELLO was sent, STATE or REFUSED is due */
	KFM_SESSION_ATTACH,	/* ATTACH was sent, GRANT is due */
	KFM_SESSION_BITMAP,	/* the bitmap of the peer is being read */
	KFM_SESSION_UP,		/* records may be posted */
};

/**
 * struct kfm_peer - another node, and all that a node knows of it. The context that has claimed the
 * mirror uses it, except for @inbox, and for the operations of the provider; status reads some
 * members without a lock.
 *
 * The constructor sets the members above @inbox; they do not change until the destructor.
 *
 * @m: the mirror
 * @index: place in kfm.peers
 * @rails: the ways to the peer, in the order of the table; NULL behind the last one
 * @witness: the peer is the witness: it has no copy
 * @inbox: received messages that the worker has not taken yet. Protected by kfm.lock
 * @rail: of @rails, that of the session: messages, the log and reads use it
 * @came: of @rails, that by which the message has come that is being handled
 * @state: state of the session
 * @session: number of the session
 * @version: version of the messages of the session, KFM_MSG_; 0 before the first one
 * @sectors: size of the peer, from the last HELLO or STATE that was taken; else that of this node
 * @attach: the peer's copy has to be overwritten, as ATTACH announces
 * @whole: the peer's copy was whole when it described that
 * @fresh: policy quorum: that copy had never been in sync, or has forgotten that it was
 * @log_gen: the generation in ATTACH, which all records of the session have
 * @synced_sent: SYNCED was sent in this session, so the peer's copy may be whole
 * @gen: generation that the peer has stored in this session, as far as this node knows
 * @began: kfm.numbered when the session began
 * @candidate_session: session number of the last HELLO before a promotion
 * @asked_by: of @rails, that by which it was sent
 * @hello_start: kfm.start of the node that has sent the last HELLO which this node has taken
 * @hello_stamp: when that was, by the clock of that node
 * @answer: answer to that
 * @log_epoch: kfm_log_head.epoch of its log, if that is of the present generation, else 0
 * @log_number: number of the last write there
 * @voter: number of the node that has described its copy so
 * @votes: policy quorum: its answer counts
 * @ask: kfm.asked when this peer was lost, or when the session with a copy that is @fresh began
 * @answered: kfm.asked in the last PONG of this session
 * @timed: with kfm.reads_quorum: kfm.asked in the first PING that the peer has not answered; 0 if
 *	it has answered all
 * @timed_at: time at which that was sent, jiffies
 * @heard: the same of the last one that was answered
 * @features: KFM_F_ of the peer, from its HELLO; used by a secondary
 * @start: what the peer's last STATE says, see kfm.start
 * @flushed: number of the last flush that this leg and that of the peer have had
 * @settled: what a flush of this session has covered, which all copies that are needed have had
 * @insync: both nodes have recorded that the copies are the same
 * @refused: why there is no session, see refuse.h
 * @live: time of the last message from the peer, jiffies
 * @next: time of the next step of the session, jiffies
 * @deadline: time at which the present step of the handshake fails, jiffies
 * @down: time at which a primary that needs the peer lost it, jiffies
 * @policy_applied: the policy was applied since @down
 * @outage: number of the present outage, which began with the end of the last session or with
 *	resume
 * @ring: log of the peer
 * @numbers: its records may have the numbers of their writes
 * @slots: slots of the peer
 * @csum: in this session, it answers HASH, and is to be asked
 * @gap: a write was requeued after its record was posted, and the post may still fail; or before
 *	the peer was in sync, which needs a session that resynchronises it
 * @active: extents that are active, in the byte order of the device (bits.c)
 * @active_stale: blocks of @active that differ from those on the device
 * @active_count: how many extents are active
 * @oos: regions that are out of sync: the peer's copy may differ. In the byte order of the device
 * @stale: blocks of @oos that differ from those on the device
 * @oos_count: how many regions are out of sync
 * @oos_start: how many when the resynchronisation began
 * @cached: active extents of which this leg, or that of the peer, may have something in a volatile
 *	cache alone (flush.c). NULL without kfm.cache
 * @wire: bitmap of wire regions: what a primary has read from the peer, or a secondary offers it
 * @fetch: completion of the read of @wire
 * @fetch_busy: the provider owns @fetch and @wire. Cleared with release semantics
 * @fetch_err: result of the read
 * @rs_from: region from which on the next part is searched
 * @rs_tried: time of the last read that failed, jiffies
 * @rs_round: number of resynchronisations that were stopped
 * @rs_equal: bytes that were not sent in the last session, because the peer had the same
 * @budget: bytes that a resynchronisation may read now
 * @budget_at: time at which @budget was computed, jiffies
 */
struct kfm_peer {
	struct kfm		*m;
	unsigned int		index;
	struct kfm_rail		*rails[KFM_RAILS + 1];
	bool			witness;

	struct list_head	inbox;
	struct kfm_rail		*rail;
	struct kfm_rail		*came;
	enum kfm_session_state	state;
	u64			session;
	u16			version;
	u64			sectors;
	bool			attach;
	bool			whole;
	bool			fresh;
	u64			log_gen;
	bool			synced_sent;
	u64			gen;
	u64			began;
	u64			candidate_session;
	struct kfm_rail		*asked_by;
	u64			hello_start;
	u64			hello_stamp;
	enum {
		KFM_A_NONE, KFM_A_STATE, KFM_A_FOLLOWS, KFM_A_NEWER, KFM_A_SPLIT, KFM_A_NO
	} answer;
	u64			log_epoch;
	u64			log_number;
	u64			voter;
	bool			votes;
	u64			ask;
	u64			answered;
	u64			timed;
	unsigned long		timed_at;
	unsigned long		heard;
	u64			features;
	u64			start;
	u64			flushed;
	struct kfm_settled	settled;
	bool			insync;
	unsigned int		refused;
	unsigned long		live;
	unsigned long		next;
	unsigned long		deadline;
	unsigned long		down;
	bool			policy_applied;
	u32			outage;
	struct kfm_ring		ring;
	bool			numbers;
	struct kfm_slots	slots;
	bool			csum;
	bool			gap;

	u8			*active;
	DECLARE_BITMAP(active_stale, KFM_ACTIVE_BLOCKS);
	u32			active_count;
	u8			*oos;
	unsigned long		*stale;
	u32			oos_count;
	u32			oos_start;
	unsigned long		*cached;
	u8			*wire;
	struct kfi_cqe		fetch;
	bool			fetch_busy;
	int			fetch_err;

	u32			rs_from;
	unsigned long		rs_tried;
	u32			rs_round;
	u64			rs_equal;
	s64			budget;
	unsigned long		budget_at;
};

/* Each peer in turn */
#define kfm_for_each_peer(p, m) \
	for (struct kfm_peer *const *at_ = (m)->peers; ((p) = *at_); at_++)

void kfm_peer_message(struct kfm_peer *p, const struct kfm_msg *msg);
void kfm_peers_run(struct kfm *m);
void kfm_peers_tick(struct kfm *m);

/* How many peers have a copy? All do but the last one, if that is the witness. */
static inline unsigned int kfm_copy_count(const struct kfm *m)
{
	unsigned int n = kfm_peer_count(m);

	return n - m->peers[n - 1]->witness;
}

/* Each rail to a peer in turn */
#define kfm_for_each_rail(rail, p) \
	for (struct kfm_rail *const *rail_ = (p)->rails; ((rail) = *rail_); rail_++)

static inline unsigned int kfm_rail_count(const struct kfm_peer *p)
{
	unsigned int n = 0;

	while (p->rails[n])
		n++;
	return n;
}

/* Is there an endpoint? */
static inline bool kfm_rail_up(const struct kfm_rail *rail)
{
	return !kfm_busy(&rail->opening) && rail->up;
}

/* Is there one for the session? */
static inline bool kfm_net_up(const struct kfm_peer *p)
{
	return kfm_rail_up(p->rail);
}

/* The peer in messages: its address by the first rail */
static inline const char *kfm_peer_name(const struct kfm_peer *p)
{
	return p->rails[0]->remote[0];
}

/* What is stored about the peer */
static inline struct kfm_pair *kfm_pair(const struct kfm_peer *p)
{
	return &p->m->sb.pairs[p->index];
}

/* Does the primary write without this peer? */
static inline bool kfm_is_alone(const struct kfm_peer *p)
{
	return kfm_pair(p)->flags & KFM_PAIR_ALONE;
}

/* Sectors that both nodes have, as a session: its primary is not longer than the peer */
static inline u64 kfm_shared(const struct kfm_peer *p)
{
	return min(p->sectors, p->m->sectors);
}

/* role.c */
bool kfm_roles_agree(const struct kfm_peer *p, const struct kfm_msg *msg);
bool kfm_role_may_send(const struct kfm_peer *p, u16 type);

#endif /* KFM_PEER_H */
