/* SPDX-License-Identifier: GPL-2.0 */
/* verify.h - the comparison of the copies */
#ifndef KFM_VERIFY_H
#define KFM_VERIFY_H

#include <linux/types.h>

struct kfm;
struct kfm_msg;
struct kfm_peer;
struct kfm_write;

#define KFM_VERIFY_KEPT	16u	/* parts that are outvoted */

/**
 * struct kfm_verify - how far a primary has compared its copy with those of its peers; used by the
 * worker only
 * @running: the comparison has begun, and has not ended or been stopped
 * @done: one has ended
 * @report: what differs is counted alone, and stays as it is
 * @index: the peer that is compared now
 * @next: next sector of it
 * @w: range and buffer of the part that is compared, or NULL
 * @waits: time from which on the next part waits for its range, jiffies; 0: it does not
 * @asked: the peer of which the part was requested: that of @index, or another one that votes
 * @voting: the peer of @index has something else, and the others are asked what they have
 * @voter: number of the next peer to ask
 * @other: CRC of what the peer of @index has
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
 * @outvoted: of these, the ones of which another peer has what that one has. If there are more than
 *	@kept has room for, nothing is overwritten any more
 * @skipped: parts that could not be compared
 */
struct kfm_verify {
	bool			running;
	bool			done;
	bool			report;
	unsigned int		index;
	u64			next;
	struct kfm_write	*w;
	unsigned long		waits;
	struct kfm_peer		*asked;
	bool			voting;
	unsigned int		voter;
	u32			other;
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
	u32			outvoted;
	u64			skipped;
};

int kfm_verify_start(struct kfm *m, bool report);
void kfm_verify_stop(struct kfm *m);
void kfm_verify_run(struct kfm *m);
void kfm_verify_copied(struct kfm_peer *p, const struct kfm_msg *msg);
unsigned int kfm_verify_percent(const struct kfm *m);

#endif /* KFM_VERIFY_H */
