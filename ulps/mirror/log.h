/* SPDX-License-Identifier: GPL-2.0 */
/* log.h - the log of this node, and its records on their way to the leg */
#ifndef KFM_LOG_H
#define KFM_LOG_H

#include <linux/bio.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include "ring.h"

struct kfi_persist;
struct kfid_mr;
struct kfm;
struct kfm_peer;

#define KFM_BATCH	16	/* records that are applied at a time */

#define KFM_STORES	32	/* groups that are being written to the log device */

/* Pages of a record: its data may begin in the middle of a page */
#define KFM_IO_PAGES	(DIV_ROUND_UP(KFM_WRITE_MAX, PAGE_SIZE) + 1)
/* Pages of a group, which begins at a sector, too */
#define KFM_GROUP_PAGES	(DIV_ROUND_UP(KFM_GROUP_BYTES, PAGE_SIZE) + 1)

/**
 * struct kfm_store - a group of records that is being written to the log device
 * @entry: in kfm_log.stores_free, while it is unused
 * @m: the mirror
 * @p: the call of persist() that ends with @bio
 * @bio: the write
 * @vecs: its vector
 * @recs: the records
 * @count: how many
 * @work: ends the call if @bio has ended where interrupts are off
 */
struct kfm_store {
	struct list_head	entry;
	struct kfm		*m;
	struct kfi_persist	*p;
	struct bio		bio;
	struct bio_vec		vecs[KFM_GROUP_PAGES];
	struct kfm_rec		recs[KFM_GROUP];
	unsigned int		count;
	struct work_struct	work;
};

/**
 * struct kfm_log - the log of a secondary
 * @head: as on the device; seq and at name the first record that is not applied. The worker
 *	writes it, under @lock while @open; persist() reads it under @lock
 * @ring: a copy of the ring of the device; peers write to it
 * @room: bytes of the next log, all of them reachable at @ring. The device may have grown since
 *	the present one began
 * @ring_mem: bytes allocated for @ring
 * @ring_len: bytes of the ring, as in @head
 * @peer: the primary; valid while @open
 * @open: there is a session with @peer, and the regions below
 * @mr: @peer may write to @ring. NULL without a session, or without a log device
 * @bitmap_mr: the peer may read the bitmap
 * @patch: KFM_PATCHES pieces of the leg that the peer has asked for, KFM_WRITE_MAX bytes each
 * @patch_mr: the peer may read @patch
 * @lock: protects @head, @recs, @top, @row, @end and @stores_free, and slots (direct.h); taken with
 *	bottom halves off
 * @stores: groups that are being written
 * @stores_free: unused ones
 * @recs: durable records that the durable head is not behind, indexed by sequence number; seq is 0
 *	in an unused entry
 * @top: highest number of a durable record
 * @row: the first record that is not durable; those before it are, in a row
 * @acked: records of the log @acked_id before this number were made durable in a row, so the peer
 *	relies on them
 * @acked_id: number of a log, see @acked
 * @begun: number of the last log that this table has begun: what it knows of that outlives no
 *	restart
 * @told: serial number of a head that a peer knows of (told.c)
 * @epoch: kfm.start of the primary that has sent the last HELLO: that of the next log
 * @reached: this copy has all writes up to this number, as SYNCED has said; 0 if it is not known
 * @end: number of the last write, of @epoch of the head, that is durable here with those before it
 * @oldest_at: time at which the oldest record that is not applied became durable, jiffies; 0: none
 * @awaited: somebody waits for the records to be applied: a repair, or a comparison. Written by the
 *	worker before it looks at @recs
 * @failed: the leg or the log device has failed. No session until the next resume
 */
struct kfm_log {
	struct kfm_log_head	head;
	u8			*ring;
	u32			room;
	u32			ring_mem;
	u32			ring_len;
	struct kfm_peer		*peer;
	bool			open;
	struct kfid_mr		*mr;
	struct kfid_mr		*bitmap_mr;
	u8			*patch;
	struct kfid_mr		*patch_mr;
	spinlock_t		lock;
	struct kfm_store	*stores;
	struct list_head	stores_free;
	struct kfm_rec		recs[KFM_WINDOW];
	u64			top;
	u64			row;
	u64			acked;
	u64			acked_id;
	u64			begun;
	u64			told;
	u64			epoch;
	u64			reached;
	u64			end;
	unsigned long		oldest_at;
	bool			awaited;
	bool			failed;
};

/**
 * struct kfm_apply - a record that is being written from the log to the leg
 * @bio: write
 * @vecs: its vector
 * @data: the data, in the ring or in @buf
 * @buf: room for a copy of the data, KFM_WRITE_MAX bytes in whole pages
 * @m: the mirror
 */
struct kfm_apply {
	struct bio	bio;
	struct bio_vec	vecs[KFM_IO_PAGES];
	u8		*data;
	u8		*buf;
	struct kfm	*m;
};

/* Do two records write the same sector? */
static inline bool kfm_recs_overlap(const struct kfm_rec *a, const struct kfm_rec *b)
{
	return a->sector < b->sector + b->len / KFM_SECTOR &&
	       b->sector < a->sector + a->len / KFM_SECTOR;
}

/* head.c */
int kfm_head_save(struct kfm *m, struct kfm_log_head *head);
u32 kfm_device_room(const struct kfm *m);
int kfm_log_load(struct kfm *m);
int kfm_log_start(struct kfm *m, u64 id, u64 gen, u64 node);
void kfm_log_reached(struct kfm *m, u64 number);

/* log.c */
int kfm_log_open(struct kfm_peer *p);
void kfm_log_close(struct kfm *m);
void kfm_log_scan(struct kfm *m);
int kfm_log_replay(struct kfm *m);
int kfm_log_apply(struct kfm *m, bool all);
int kfm_log_alloc(struct kfm *m);
void kfm_log_free(struct kfm *m);

#endif /* KFM_LOG_H */
