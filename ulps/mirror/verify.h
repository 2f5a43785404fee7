/* SPDX-License-Identifier: GPL-2.0 */
/* verify.h - the comparison of the copies */
#ifndef KFM_VERIFY_H
#define KFM_VERIFY_H

#include <linux/types.h>

struct kfm;
struct kfm_msg;
struct kfm_peer;
struct kfm_write;

#define KFM_VERIFY_KEPT		16u	/* parts that are outvoted */
#define KFM_VERIFY_MARKS	64u	/* ranges that differ */

/* What is done with a part that differs: whose copy is written over the other one */
enum kfm_verify_source {
	KFM_VERIFY_REPORT,	/* that of nobody */
	KFM_VERIFY_HERE,	/* that of this primary */
	KFM_VERIFY_PEER,	/* that of one peer, over all others */
	KFM_VERIFY_MAJORITY,	/* the one that more than half of the copies are like */
};

/**
 * struct kfm_marks - ranges that differ, and were left so
 * @at: their first sectors, and the sectors behind them; in no order
 * @count: how many
 * @whole: the comparison that has found them has ended, compared all that it was to, and had room
 *	for all of them
 */
struct kfm_marks {
	struct { u64 sector, end; } at[KFM_VERIFY_MARKS];
	unsigned int	count;
	bool		whole;
};

/**
 * struct kfm_verify - how far a primary has compared its copy with those of its peers; used by the
 * worker only
 * @running: the comparison has begun, and has not ended or been stopped
 * @done: one has ended
 * @source: what is done with a part that differs
 * @repairs: something was to be done with it, when the comparison began
 * @from: with KFM_VERIFY_PEER the peer that has the source, which is compared first; or NULL
 * @todo: only these ranges are compared, if they are whole
 * @marks: what was found and left
 * @index: how many peers have been compared
 * @next: next sector of the one that is compared now
 * @w: range and buffer of the part that is compared, or NULL
 * @waits: time from which on the next part waits for its range, jiffies; 0: it does not
 * @step: what is done with the part
 * @asked: the peer of which the part was requested: the one that is compared, or one that votes
 * @voter: number of the next peer to ask
 * @other: CRC of what the peer that is compared has
 * @like_here: other copies that are as that of this node
 * @like_there: other copies that are as that of the peer
 * @unasked: a copy in sync was asked and has not answered
 * @kept: first sectors of parts that are outvoted: these are not overwritten
 * @session: session of @asked in which the part was requested
 * @id: number of the request
 * @seq: the peer must have applied the records up to this one before it reads its leg
 * @answered: the peer has answered
 * @len: its answer: bytes that it has read, 0 if it can't
 * @crc: its answer: CRC32C of them
 * @repeat: time to repeat the request, jiffies
 * @deadline: time at which the part is left out, jiffies
 * @differ: parts that differ from those of a peer
 * @left: parts that were found to differ and left so, at each peer; also those of @skipped that
 *	could not be overwritten
 * @outvoted: of @differ, the ones of which two copies are the same that the source is not. If there
 *	are more than @kept has room for, nothing is overwritten any more
 * @skipped: parts that could not be compared
 */
struct kfm_verify {
	bool			running;
	bool			done;
	enum kfm_verify_source	source;
	bool			repairs;
	struct kfm_peer		*from;
	struct kfm_marks	todo;
	struct kfm_marks	marks;
	unsigned int		index;
	u64			next;
	struct kfm_write	*w;
	unsigned long		waits;
	enum {
		KFM_V_COMPARED,		/* the peer is asked what it has */
		KFM_V_VOTED,		/* that is something else: the others are asked */
		KFM_V_TAKEN,		/* the peer is asked for its data */
		KFM_V_FETCHED,		/* the patch of the peer is read */
		KFM_V_WRITTEN,		/* its data is written to the leg */
	} step;
	struct kfm_peer		*asked;
	unsigned int		voter;
	u32			other;
	unsigned int		like_here;
	unsigned int		like_there;
	bool			unasked;
	u64			kept[KFM_VERIFY_KEPT];
	u64			session;
	u64			id;
	u64			seq;
	bool			answered;
	u32			len;
	u32			crc;
	unsigned long		repeat;
	unsigned long		deadline;
	u32			differ;
	u32			left;
	u32			outvoted;
	u64			skipped;
};

int kfm_verify_start(struct kfm *m, enum kfm_verify_source source, struct kfm_peer *from);
void kfm_verify_stop(struct kfm *m);
void kfm_verify_run(struct kfm *m);
void kfm_verify_copied(struct kfm_peer *p, const struct kfm_msg *msg);
unsigned int kfm_verify_percent(const struct kfm *m);
bool kfm_verify_leg_failed(const struct kfm *m);

#endif /* KFM_VERIFY_H */
