/* SPDX-License-Identifier: GPL-2.0 */
/* verify.h - the comparison of the copies */
#ifndef KFM_VERIFY_H
#define KFM_VERIFY_H

#include <linux/types.h>

struct kfm;
struct kfm_msg;
struct kfm_peer;
struct kfm_write;

/**
 * struct kfm_verify - how far a primary has compared its copy with those of its peers; used by the
 * worker only
 * @running: the comparison has begun, and has not ended or been stopped
 * @done: one has ended
 * @index: the peer that is compared now
 * @next: next sector of it
 * @w: range and buffer of the part that is compared, or NULL
 * @waits: time from which on the next part waits for its range, jiffies; 0: it does not
 * @session: session in which the part was requested
 * @id: number of the request
 * @seq: the peer must have applied the records up to this one before it reads its leg
 * @answered: the peer has answered
 * @len: its answer: bytes that it has read, 0 if it can't
 * @crc: its answer: CRC32C of them
 * @repeat: time to repeat the request, jiffies
 * @deadline: time at which the part is left out, jiffies
 * @differ: parts that differ from those of a peer
 * @skipped: parts that could not be compared
 */
struct kfm_verify {
	bool			running;
	bool			done;
	unsigned int		index;
	u64			next;
	struct kfm_write	*w;
	unsigned long		waits;
	u64			session;
	u64			id;
	u64			seq;
	bool			answered;
	u32			len;
	u32			crc;
	unsigned long		repeat;
	unsigned long		deadline;
	u32			differ;
	u64			skipped;
};

int kfm_verify_start(struct kfm *m);
void kfm_verify_stop(struct kfm *m);
void kfm_verify_run(struct kfm *m);
void kfm_verify_copied(struct kfm_peer *p, const struct kfm_msg *msg);
unsigned int kfm_verify_percent(const struct kfm *m);

#endif /* KFM_VERIFY_H */
