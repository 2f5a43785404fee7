/* SPDX-License-Identifier: GPL-2.0 */
/* write.h - writes, and flushes, parts of a resynchronisation and repairs, which are like them */
#ifndef KFM_WRITE_H
#define KFM_WRITE_H

#include <linux/mmzone.h>
#include <linux/sizes.h>
#include <linux/uio.h>
#include <kfi_rma.h>
#include "mirror.h"
#include "peer.h"
#include "record.h"

#define KFM_WRITES	64	/* writes in flight */
#define KFM_READS	4	/* parts of each resynchronisation in flight, besides writes */
/* Writes, parts and reads that use one peer; the last one is a read being repaired */
#define KFM_SLOTS	(KFM_WRITES + KFM_READS + 1)

/*
 * Writes of zeroes in flight. A leg may have to write them by hand, and a peer that needs the
 * time-out for all of them is lost.
 */
#define KFM_ZEROES_FLIGHT	8

#define KFM_DATA_AT	PAGE_SIZE	/* data in kfm_write.buf; legs may need alignment */
#define KFM_BUF_SIZE	(KFM_DATA_AT + KFM_WRITE_MAX)	/* heads, data */
/*
 * A buffer has chunks of so many bytes, contiguous in memory. The allocator tries hard for no more
 * than PAGE_ALLOC_COSTLY_ORDER, and a table may have to be loaded when memory is in pieces.
 */
#define KFM_CHUNK	(PAGE_SIZE << (PAGE_SIZE < SZ_32K ? PAGE_ALLOC_COSTLY_ORDER : 0))
#define KFM_CHUNKS	DIV_ROUND_UP(KFM_BUF_SIZE, KFM_CHUNK)

/**
 * struct kfm_post - the record of a write for one peer
 * @w: the write
 * @next: next record of the group, which completes with this one; or NULL
 * @cqe: completion of the group of which this is the first record, or of the read from the peer
 * @busy: the provider owns @cqe and the buffer of @w. Cleared with release semantics
 * @err: result, valid when @busy is false
 * @seq: number of the record in the session, if it was posted; direct records are counted apart
 * @direct: it was posted as a direct record (direct.c)
 * @slot: slot of the direct records of which this is the first one, plus 1; or 0
 * @bytes: of all records in that slot
 * @rail: by which it was posted
 * @settled: of a flush: which records it covers, if the session goes on
 * @state: how far the record is
 */
struct kfm_post {
	struct kfm_write	*w;
	struct kfm_post		*next;
	struct kfi_cqe		cqe;
	bool			busy;
	int			err;
	u64			seq;
	bool			direct;
	u8			slot;
	u32			bytes;
	struct kfm_rail		*rail;
	struct kfm_settled	settled;
	enum {
		KFM_P_NONE,	/* this peer gets no record of the write */
		KFM_P_WAIT,	/* to be posted: it was not posted in the present session */
		KFM_P_POSTED,	/* posted, and not known to be durable */
		KFM_P_ACKED,	/* durable in the log of the peer, or on its leg */
	} state;
};

/* What a write writes */
enum kfm_write_kind {
	KFM_DATA,	/* the bytes in its buffer */
	KFM_ZEROES,	/* zeroes; the buffer is not used (zero.c) */
	KFM_FLUSH,	/* nothing: the leg is flushed, and those of peers (flush.c). No range */
};

/**
 * struct kfm_sum - a part of a resynchronisation of which both nodes compare the hash (csum.c)
 * @step: how far it is
 * @session: session of the request
 * @id: number of the request
 * @hash: hash of the primary's data
 * @seq: the peer must have applied the records up to this one before it reads its leg
 * @repeat: time to repeat the request, jiffies
 * @deadline: the data is sent, and that of all other parts, if there is no answer by then, jiffies
 */
struct kfm_sum {
	enum {
		KFM_H_NONE,		/* primary: it reads its leg */
		KFM_H_ASKED,		/* HASH was sent, or has come: log first */
		KFM_H_READING,		/* secondary: it reads its leg */
		KFM_H_SAME,		/* secondary: it has the same, and has to flush its leg */
		KFM_H_EQUAL,		/* primary: the peer has the same, durably */
		KFM_H_DIFFERS,		/* primary: the data has to be sent */
	} step;
	u64		session;
	u64		id;
	u64		hash;
	u64		seq;
	unsigned long	repeat;
	unsigned long	deadline;
};

/**
 * struct kfm_write - a write or a flush of the primary, a part that is being resynchronised, or a
 * read that is being repaired; at a secondary a part that is compared
 * @entry: in one of the lists of struct kfm
 * @begin: in the list of writes that kfm_writes_launch() or its like begins
 * @m: the mirror
 * @bio: write or read to end, NULL for resynchronisation, and for a flush of this node's own
 * @kind: what it writes; a read has data, and so has a part, unless it is all zeros
 * @sector: first sector
 * @len: bytes
 * @number: writes and parts are numbered as they begin
 * @buf: the first page ends with the heads of the records, that for the first peer last; the data
 *	follows. The data is a stable copy: the CRCs, the leg and all peers get the same bytes
 * @chunks: the pages of @buf, contiguous in each chunk; @buf maps all of them
 * @crc: CRC32C of the data, if @crc_known
 * @crc_known: it was computed, for a direct record
 * @cached: a volatile cache may keep the data, here and at peers that take such records
 * @left_out: zeroes that the only copy of a detached node does not take: an error
 * @leg: write to the leg, or read for resynchronisation
 * @vecs: its vector
 * @zero: writes zeroes to the leg, and then submits @leg, a flush
 * @leg_status: its result, valid when @leg_busy is false
 * @leg_busy: the block layer, or @zero, owns @leg and uses @buf. Cleared with release semantics
 * @posts: the records for all peers, by kfm_peer.index
 * @peer: the peer that is resynchronised, or that serves the read; NULL for a write
 * @round: value of kfm_peer.rs_round when this part of a resynchronisation began
 * @sum: its comparison with the copy of the peer
 */
struct kfm_write {
	struct list_head	entry;
	struct list_head	begin;
	struct kfm		*m;
	struct bio		*bio;
	enum kfm_write_kind	kind;
	u64			sector;
	u32			len;
	u64			number;
	u8			*buf;
	u8			*chunks[KFM_CHUNKS];
	u32			crc;
	bool			crc_known;
	bool			cached;
	bool			left_out;
	struct bio		leg;
	struct bio_vec		vecs[KFM_CHUNKS];
	struct work_struct	zero;
	blk_status_t		leg_status;
	bool			leg_busy;
	struct kfm_post		posts[KFM_PEERS];
	struct kfm_peer		*peer;
	u32			round;
	struct kfm_sum		sum;
};

/* A part of the buffer, as pieces that are contiguous in memory. Return: how many */
static inline unsigned int kfm_write_pieces(const struct kfm_write *w, u32 at, u32 len,
					    struct kvec *pieces)
{
	unsigned int n = 0;
	u32 bytes;

	for (; len; at += bytes, len -= bytes) {
		bytes = min_t(u32, len, KFM_CHUNK - at % KFM_CHUNK);
		pieces[n++] = (struct kvec) {
			.iov_base = w->chunks[at / KFM_CHUNK] + at % KFM_CHUNK, .iov_len = bytes,
		};
	}
	return n;
}

/* Bytes of data that its record has */
static inline u32 kfm_write_data(const struct kfm_write *w)
{
	return w->kind == KFM_DATA ? w->len : 0;
}

/*
 * Where the head of the record for a peer is: at the end of a sector of its own, because a
 * provider may read the sectors of other peers meanwhile. That of the first peer is followed by
 * the data.
 */
static inline void *kfm_write_head(const struct kfm_peer *p, const struct kfm_write *w)
{
	static_assert(KFM_PEERS * KFM_SECTOR <= KFM_DATA_AT);

	return w->chunks[0] + KFM_DATA_AT - p->index * KFM_SECTOR - sizeof(struct kfm_le_rec);
}

/* flight.c */
int kfm_writes_alloc(struct kfm *m);
void kfm_writes_free(struct kfm *m);
void kfm_writes_lost(struct kfm_peer *p);
bool kfm_writes_idle(const struct kfm *m);
struct kfm_write *kfm_write_get(struct kfm *m, struct kfm_peer *p, u64 sector, u32 len);
void kfm_write_put(struct kfm_write *w);
void kfm_writes_reclaim(struct kfm *m);
bool kfm_range_lacks(const struct kfm_peer *p, u64 sector, u32 len);
bool kfm_posts_busy(const struct kfm_write *w);

/* write.c */
#define KFM_ATOMIC_BYTES	(4 * KFM_WRITE_MAX)	/* begun by one kfm_writes_run_atomic() */

int kfm_acks_collect(struct kfm_peer *p);
void kfm_writes_end(struct kfm *m);
void kfm_writes_fail(struct kfm *m);
void kfm_writes_give_back(struct kfm *m);
void kfm_writes_requeue(struct kfm *m);
void kfm_queue_fail(struct kfm *m);
void kfm_writes_launch(struct kfm *m);
bool kfm_writes_launch_durable(struct kfm *m, struct bio_list *legs);

/* post.c */
void kfm_slots_begin(struct kfm_peer *p, const struct kfm_msg *grant);
void kfm_slot_free(struct kfm_peer *p, struct kfm_post *post);
bool kfm_unacked(const struct kfm_peer *p, const struct kfm_write *w);
u64 kfm_logged(const struct kfm_peer *p, u64 sector, u32 len);
int kfm_post_all(struct kfm_peer *p, u32 limit);

#endif /* KFM_WRITE_H */
