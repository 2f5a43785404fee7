/* SPDX-License-Identifier: GPL-2.0 */
/* repair.h - reads that the leg has failed, and that a peer serves */
#ifndef KFM_REPAIR_H
#define KFM_REPAIR_H

#include <linux/bio.h>
#include "proto.h"

struct kfm;
struct kfm_peer;
struct kfm_write;

#define KFM_PATCH_PAGES	DIV_ROUND_UP(KFM_WRITE_MAX, PAGE_SIZE)

/**
 * struct kfm_read - a read, in the memory that device-mapper allocates with each bio
 * @iter: copy of the bio's iterator, which the leg's driver advances
 * @tried: the leg has failed the read, or is not asked, and the worker has it
 * @failed_peers: peers that could not serve it, as bits
 * @leg_asked: the leg has failed it
 * @mismatches: how often its data has arrived with a wrong CRC
 * @deadline: the read fails if no peer has sent the data by then, jiffies
 */
struct kfm_read {
	struct bvec_iter	iter;
	bool			tried;
	bool			leg_asked;
	u8			failed_peers;
	u8			mismatches;
	unsigned long		deadline;
};

/**
 * struct kfm_fetch - a read that a peer serves; used by the worker only
 * @w: range, buffer and bio of the read, or NULL
 * @step: what it waits for
 * @session: session in which the read was requested from &kfm_write.peer, which was in sync
 * @id: number of the request
 * @seq: the peer must have applied the records up to this one before it reads its leg
 * @crc: CRC32C of the data that the peer offers
 * @next: time to repeat the request, jiffies
 * @deadline: the next peer is asked if this one has not sent the data by then, jiffies
 */
struct kfm_fetch {
	struct kfm_write	*w;
	enum {
		KFM_F_REQUESTED,	/* COPY was sent, the answer is due */
		KFM_F_FETCHING,		/* the patch of the peer is being read */
		KFM_F_WRITING,		/* the data is being written to the leg */
	} step;
	u64			session;
	u64			id;
	u64			seq;
	u32			crc;
	unsigned long		next;
	unsigned long		deadline;
};

#define KFM_BAD_RANGES	16	/* of a leg that has not failed */

/* A range whose data the leg could not be given back; see repair.c */
struct kfm_bad {
	u64	sector;
	u64	end;
};

/**
 * struct kfm_repair - reads that the leg of a primary has failed, or that a detached one has
 * @waiting: next read; its range or all patches are in use, or no peer has the data. No new write
 *	to its range begins before it
 * @fetches: reads that peers serve, by the number of the patch; one at a time while there is a leg
 * @count: reads whose data was written back to the leg
 * @bad: ranges that the leg could not read, and whose data it did not take back. Protected by
 *	kfm.lock
 * @bad_count: how many. Also read without the lock
 */
struct kfm_repair {
	struct bio		*waiting;
	struct kfm_fetch	fetches[KFM_PATCHES];
	unsigned int		count;
	struct kfm_bad		bad[KFM_BAD_RANGES];
	unsigned int		bad_count;
};

/**
 * struct kfm_serve - a read that the primary requests from a secondary; used by the worker only
 * @m: the mirror
 * @step: how far the request is
 * @id: number of the request
 * @sector: first sector
 * @seq: records up to this one have to be applied before the leg is read
 * @len: bytes
 * @answer_len: answer: bytes in the patch, 0 if the request can't be served
 * @crc: answer: CRC32C of the bytes in the patch
 * @bio: read of the leg
 * @vecs: vector of @bio
 * @status: result of @bio, valid when @busy is false
 * @busy: the block layer owns @bio and the patch, even if the session of the request has ended.
 *	Cleared with release semantics
 */
struct kfm_serve {
	struct kfm	*m;
	enum {
		KFM_S_NONE,		/* there is no request */
		KFM_S_REQUESTED,	/* records have to be applied before the leg is read */
		KFM_S_READING,		/* the leg is being read */
		KFM_S_ANSWERED,		/* COPIED was sent, and is repeated on request */
	} step;
	u64		id;
	u64		sector;
	u64		seq;
	u32		len;
	u32		answer_len;
	u32		crc;
	struct bio	bio;
	struct bio_vec	vecs[KFM_PATCH_PAGES];
	blk_status_t	status;
	bool		busy;
};

void kfm_repair_run(struct kfm *m);
bool kfm_repair_runs(const struct kfm *m);
bool kfm_repair_leg_failed(const struct kfm *m);
bool kfm_repair_bad(struct kfm *m, u64 sector, u64 sectors);
void kfm_repair_bad_rest(struct kfm *m);
bool kfm_repair_waits(const struct kfm *m, const struct bio *bio);
void kfm_repair_copied(struct kfm_peer *p, const struct kfm_msg *msg);

/* serve.c */
void kfm_repair_requested(struct kfm_peer *p, const struct kfm_msg *msg);
void kfm_repair_serve(struct kfm *m);
bool kfm_serve_waits(const struct kfm *m);
bool kfm_serve_busy(const struct kfm *m);
void kfm_serve_stop(struct kfm *m);

#endif /* KFM_REPAIR_H */
