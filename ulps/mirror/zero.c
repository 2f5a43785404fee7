// SPDX-License-Identifier: GPL-2.0
/*
 * zero.c - discard and write-zeroes.
 *
 *   primary				secondary
 *   bits, as for each write
 *   zeroes its leg: kfm_zero(), a flush
 *   direct record without data	->	persist(): checks the head
 *					zeroes its leg: kfm_zero(), a flush
 *				<-	commit answered
 *
 * Both mean the same: the range reads as zeros at all nodes afterwards, and a leg may give back
 * its room. What a plain discard leaves would differ from node to node. A write-zeroes with
 * REQ_NOUNMAP keeps the room of all legs. Not so a resynchronisation: nobody knows how the zeros
 * that it finds came about, and its records give back the room (resync.c).
 *
 * Such a write is one as all others: its range is claimed, its bits are durable before a leg is
 * written, and it ends when all peers have it that are needed. Its record is never in a log, which
 * has data. So the rule of direct records (direct.c) makes it wait until the peer has applied what
 * it overlaps (post.c).
 *
 * A peer says in GRANT whether it takes these records. While one that has a session does not, a
 * discard and a write-zeroes end as not supported, and the block layer writes zeros instead.
 */
#include <linux/blkdev.h>
#include "bits.h"
#include "leg.h"
#include "mirror.h"
#include "peer.h"
#include "write.h"
#include "zero.h"

#define ZERO_PAGES	16	/* of one bio that is written by hand */

/* Let the disk write zeroes by itself. Return: 0, or an error; -EOPNOTSUPP if it does not. */
static int zero_by_disk(struct block_device *bdev, u64 sector, u32 len, blk_opf_t flags)
{
	u32 most, n;
	struct bio bio;
	int ret = 0;

	for (; len && !ret; sector += n / KFM_SECTOR, len -= n) {
		most = min(bdev_write_zeroes_sectors(bdev), KFM_ZEROES_MAX / KFM_SECTOR);
		n = min(len, round_down(most * KFM_SECTOR, KFM_BLOCK));
		if (!n)
			return -EOPNOTSUPP;
		bio_init(&bio, bdev, NULL, 0, REQ_OP_WRITE_ZEROES | REQ_SYNC | flags);
		bio.bi_iter.bi_sector = sector;
		bio.bi_iter.bi_size = n;
		ret = submit_bio_wait(&bio);
		bio_uninit(&bio);
	}
	/* some disks find out now that they can't, and say so by their limits alone */
	return ret && !bdev_write_zeroes_sectors(bdev) ? -EOPNOTSUPP : ret;
}

/* Write pages of zeros. */
static int zero_by_hand(struct block_device *bdev, u64 sector, u32 len)
{
	struct bio_vec vecs[ZERO_PAGES];
	u32 left, n;
	struct bio bio;
	int ret = 0;

	for (; len && !ret; sector += n / KFM_SECTOR, len -= n) {
		n = min_t(u32, len, ZERO_PAGES * PAGE_SIZE);
		bio_init(&bio, bdev, vecs, ZERO_PAGES, REQ_OP_WRITE | REQ_SYNC);
		bio.bi_iter.bi_sector = sector;
		for (left = n; left; left -= min_t(u32, left, PAGE_SIZE))
			__bio_add_page(&bio, ZERO_PAGE(0), min_t(u32, left, PAGE_SIZE), 0);
		ret = submit_bio_wait(&bio);
		bio_uninit(&bio);
	}
	return ret;
}

/**
 * kfm_zero() - set a range of a disk to zero; the caller flushes the disk
 * @bdev: disk
 * @sector: first sector
 * @len: bytes, up to KFM_ZEROES_MAX; whole blocks of the disk
 * @flags: REQ_NOUNMAP if the disk has to keep the room, or 0
 *
 * No memory is allocated. After an error, or a crash, each sector is as it was, or zero.
 *
 * Context: may sleep.
 * Return: 0 or a negative error.
 */
int kfm_zero(struct block_device *bdev, u64 sector, u32 len, blk_opf_t flags)
{
	int ret = zero_by_disk(bdev, sector, len, flags);

	return ret == -EOPNOTSUPP ? zero_by_hand(bdev, sector, len) : ret;
}

/*
 * Write the zeroes of a write to the leg, and flush it. The flush ends as other writes to the leg
 * do: its error is known before that of a flush behind it (kfm_writes_run()).
 */
void kfm_zero_work(struct work_struct *work)
{
	struct kfm_write *w = container_of(work, struct kfm_write, zero);
	int ret = kfm_zero(w->leg.bi_bdev, w->sector, w->len, w->bio->bi_opf & REQ_NOUNMAP);

	if (!ret) {
		submit_bio(&w->leg);
		return;
	}
	w->leg.bi_status = errno_to_blk_status(ret);
	bio_endio(&w->leg);
}

/**
 * kfm_zeroes_taken() - may a write of zeroes begin?
 * @m: primary that may write, so all peers have a session without which it does not go on
 */
bool kfm_zeroes_taken(const struct kfm *m)
{
	struct kfm_peer *p;

	kfm_for_each_peer(p, m) {
		if (p->state == KFM_SESSION_UP && !p->slots.zeroes && !p->witness)
			return false;
	}
	return true;
}

/**
 * kfm_zeroes_left_out() - a session begins with a peer that takes no zeroes
 * @p: the peer. Its program is an older one than in the session before, or its table another one
 *
 * The regions of what is in flight are out of sync, and resynchronised. Until ATTACH has announced
 * that, its copy may pass for a whole one: then these writes still wait for it, and the caller
 * ends the session. Their bits are durable. The only copy of a detached node is never out of sync,
 * so there these writes end with an error.
 */
void kfm_zeroes_left_out(struct kfm_peer *p)
{
	struct kfm_write *w;

	list_for_each_entry(w, &p->m->flight, entry) {
		if (w->kind != KFM_ZEROES || w->posts[p->index].state != KFM_P_WAIT)
			continue;
		if (!kfm_may_do_without(p)) {
			w->left_out = true;
			w->posts[p->index].state = KFM_P_NONE;
			continue;
		}
		kfm_oos_set(p, w->sector, w->len);
		if (p->attach)
			w->posts[p->index].state = KFM_P_NONE;
	}
}
