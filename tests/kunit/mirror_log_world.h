/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mirror_log_world.h - a secondary of kfi_mirror with a log, of which the test is the primary, and
 * the disks. The source of the log is compiled here, so one test includes this.
 */
#ifndef _KFI_KUNIT_MIRROR_LOG_WORLD_H
#define _KFI_KUNIT_MIRROR_LOG_WORLD_H

/* The node of mirror_world.c has a log that does nothing. This one has names of its own. */
#define kfm_log_load	ml_log_load
#define kfm_log_start	ml_log_start
#define kfm_log_apply	ml_log_apply
#define kfm_log_replay	ml_log_replay
#define kfm_log_scan	ml_log_scan
#define kfm_log_reached	ml_log_reached
#define kfm_log_open	ml_log_open
#define kfm_log_close	ml_log_close
#define kfm_log_alloc	ml_log_alloc
#define kfm_log_free	ml_log_free
#define kfm_direct_run	ml_direct_run
#define kfm_direct_rail	ml_direct_rail
#define kfm_direct_takes ml_direct_takes
#define kfi_close	ml_region_close

#include "mirror_world.h"

static struct ml *ml_now;	/* KUnit runs one test at a time */

static int ml_io(struct block_device *bdev, blk_opf_t op, u64 byte, void *buf, u32 len);
static void ml_submit(struct bio *bio);
static int ml_region(struct kfm_rail *rail, void *buf, size_t len, u64 access,
		     kfm_persist_fn *persist, struct kfid_mr **mr);
static u32 ml_stable(void);
static unsigned int ml_alignment(void);
static unsigned int ml_block(void);
static u64 ml_ring(void);
static void ml_persisted(struct kfi_persist *p, int err);
static int ml_zero(u64 sector, u32 len, blk_opf_t flags);

#undef bdev_nr_bytes
#undef bdev_stable_writes
#undef bdev_dma_alignment
#undef bdev_logical_block_size
#define bdev_nr_bytes(bdev)		((void)(bdev), KFM_RING_AT + ml_ring())
#define bdev_stable_writes(bdev)	((void)(bdev), ml_stable())
#define bdev_dma_alignment(bdev)	((void)(bdev), ml_alignment())
#define bdev_logical_block_size(bdev)	((void)(bdev), ml_block())
#define submit_bio(bio)			ml_submit(bio)
#define kfm_io(bdev, op, byte, buf, len) ml_io(bdev, op, byte, buf, len)
#define kfm_net_region			ml_region
#define kfi_persist_done(p, err)	ml_persisted(p, err)
#define kfm_zero(bdev, sector, len, flags) ((void)(bdev), ml_zero(sector, len, flags))
#define queue_work(wq, work)		((work)->func(work))

#include "../../ulps/mirror/head.c"
#include "../../ulps/mirror/log.c"
#include "../../ulps/mirror/direct.c"

#define ML_LOG	77	/* number of the session */
#define ML_GEN	5
#define ML_RING_MAX	(2 * KFM_RING_MIN)

/**
 * struct ml - a secondary with a session
 * @w: the node
 * @mr: the region of its ring
 * @disk: its log device, with room for a ring of up to ML_RING_MAX
 * @ring: bytes of its ring
 * @err: result of all I/O of the log device
 * @waits: what is written to the log device, or from a slot, ends when the test says so
 * @writes: what has not ended
 * @results: results of the calls of persist() that have ended later, by their numbers
 * @ended: how many
 * @stable: the leg must not see a change of what it writes
 * @alignment: what the leg needs of memory, as a mask
 * @block: of the leg, in bytes
 * @leg: first and last sector of each record that was written to the leg, in turn
 * @in_place: of these, the records that were written from the ring
 * @flushes: of the leg
 * @flush_status: result of each flush of the leg
 * @op: the last bio of the leg
 * @no_crc: direct records have no CRC of their data
 * @zero_err: result of each write of zeroes
 * @zero_flags: of the last one
 */
struct ml {
	struct mw	*w;
	struct kfid_mr	mr;
	u8		*disk;
	u64		ring;
	int		err;
	bool		waits;
	struct bio_list	writes;
	int		results[2 * KFM_STORES + 1];
	unsigned int	ended;
	bool		stable;
	unsigned int	alignment;
	unsigned int	block;
	u64		leg[2 * KFM_WINDOW];
	unsigned int	legs;
	unsigned int	in_place;
	unsigned int	flushes;
	blk_status_t	flush_status;
	blk_opf_t	op;
	bool		no_crc;
	int		zero_err;
	blk_opf_t	zero_flags;
};

static int ml_io(struct block_device *bdev, blk_opf_t op, u64 byte, void *buf, u32 len)
{
	if (!ml_now->err && op_is_write(op))
		memcpy(ml_now->disk + byte, buf, len);
	else if (!ml_now->err)
		memcpy(buf, ml_now->disk + byte, len);
	return ml_now->err;
}

/* A write to the log device ends. */
static void ml_log_ends(struct bio *bio)
{
	u8 *to = ml_now->disk + bio->bi_iter.bi_sector * KFM_SECTOR;
	struct bvec_iter iter;
	struct bio_vec vec;

	if (ml_now->err)
		bio->bi_status = BLK_STS_IOERR;
	bio_for_each_segment(vec, bio, iter) {
		if (!ml_now->err)
			memcpy(to, page_address(vec.bv_page) + vec.bv_offset, vec.bv_len);
		to += vec.bv_len;
	}
	bio->bi_end_io(bio);
}

static void ml_persisted(struct kfi_persist *p, int err)
{
	ml_now->results[(unsigned long)p] = err;
	ml_now->ended++;
}

/* The extents of a direct record are active for the other peer, if there is one, durably. */
static void ml_marked(u64 sector, u32 len)
{
	const struct kfm *m = &ml_now->w->m;
	u64 last = sector + len / KFM_SECTOR - 1;
	u32 e;

	for (e = sector >> m->extent_shift; m->peers[1] && e <= last >> m->extent_shift; e++) {
		KUNIT_EXPECT_TRUE(ml_now->w->test, test_bit_le(e, m->peers[1]->active));
		KUNIT_EXPECT_FALSE(ml_now->w->test, test_bit(0, m->peers[1]->active_stale));
	}
}

static int ml_zero(u64 sector, u32 len, blk_opf_t flags)
{
	ml_marked(sector, len);
	ml_now->leg[ml_now->legs++] = sector;
	ml_now->leg[ml_now->legs++] = sector + len / KFM_SECTOR - 1;
	ml_now->zero_flags = flags;
	return ml_now->zero_err;
}

/* Each byte of a record is the number of its sector. */
static void ml_submit(struct bio *bio)
{
	const struct kfm_log *log = &ml_now->w->m.log;
	struct bvec_iter iter;
	struct bio_vec vec;
	bool inside = false;
	u8 *at;

	if (bio->bi_end_io == store_end_io) {
		KUNIT_EXPECT_TRUE(ml_now->w->test, bio->bi_opf & REQ_FUA);
		if (ml_now->waits)
			bio_list_add(&ml_now->writes, bio);
		else
			ml_log_ends(bio);
		return;
	}
	ml_now->op = bio->bi_opf;
	if (!bio->bi_iter.bi_size) {
		ml_now->flushes++;
		bio->bi_status = ml_now->flush_status;
		bio->bi_end_io(bio);
		KUNIT_EXPECT_TRUE(ml_now->w->test, !ml_now->flush_status || log->failed);
		return;
	}
	bio_for_each_segment(vec, bio, iter) {
		at = page_address(vec.bv_page) + vec.bv_offset;
		KUNIT_EXPECT_EQ(ml_now->w->test, *at, (u8)bio->bi_iter.bi_sector);
		inside |= vec.bv_page == vmalloc_to_page(log->ring + KFM_REC_DATA_AT);
	}
	ml_now->in_place += inside;
	ml_now->leg[ml_now->legs++] = bio->bi_iter.bi_sector;
	ml_now->leg[ml_now->legs++] = bio_end_sector(bio) - 1;
	if (bio->bi_end_io == slot_end_io)
		ml_marked(bio->bi_iter.bi_sector, bio->bi_iter.bi_size);
	if (bio->bi_end_io == slot_end_io && ml_now->waits)
		bio_list_add(&ml_now->writes, bio);
	else
		bio->bi_end_io(bio);
}

/* The oldest write from a slot ends. */
static void ml_slot_ends(struct ml *l, blk_status_t status)
{
	struct bio *bio = bio_list_pop(&l->writes);

	KUNIT_ASSERT_NOT_NULL(l->w->test, bio);
	bio->bi_status = status;
	bio->bi_end_io(bio);
}

/* A region ends when all calls of its persist() have ended: no slot may be in use. */
int ml_region_close(struct kfid *fid)
{
	KUNIT_EXPECT_TRUE(ml_now->w->test, list_empty(&ml_now->w->m.direct.busy));
	return 0;
}

static int ml_region(struct kfm_rail *rail, void *buf, size_t len, u64 access,
		     kfm_persist_fn *persist, struct kfid_mr **mr)
{
	return -ENOMEM;
}

static u32 ml_stable(void)
{
	return ml_now->stable;
}

static unsigned int ml_alignment(void)
{
	return ml_now->alignment;
}

static unsigned int ml_block(void)
{
	return ml_now->block;
}

static u64 ml_ring(void)
{
	return ml_now->ring;
}

static void ml_free(void *data)
{
	struct ml *l = data;

	kfm_direct_free(&l->w->m);
	kfm_log_free(&l->w->m);
	vfree(l->disk);
}

static struct ml *ml_make_node(struct kunit *test, unsigned int peers, bool logged)
{
	struct ml *l = kfi_test_zalloc(test, sizeof(*l));
	struct kfm *m;

	ml_now = l;
	l->w = mw_make(test, peers);
	m = &l->w->m;
	l->mr.fid.context = m;
	l->alignment = KFM_SECTOR - 1;
	l->block = KFM_SECTOR;
	l->ring = KFM_RING_MIN;
	l->disk = vzalloc(KFM_RING_AT + ML_RING_MAX);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, ml_free, l), 0);
	KUNIT_ASSERT_NOT_NULL(test, l->disk);
	m->logdev = logged ? m->logdev : NULL;
	KUNIT_ASSERT_EQ(test, kfm_log_alloc(m), 0);
	KUNIT_ASSERT_EQ(test, kfm_direct_alloc(m), 0);
	spin_lock_init(&m->log.lock);
	init_completion(&m->applied);
	KUNIT_ASSERT_EQ(test, kfm_log_start(m, ML_LOG - 1, 0, 0), 0);	/* both heads */
	KUNIT_ASSERT_EQ(test, kfm_log_start(m, ML_LOG, ML_GEN, MW_NODE), 0);
	m->log.open = true;
	m->log.peer = m->peers[0];
	m->log.peer->state = KFM_SESSION_UP;
	m->direct.open = true;
	m->log.peer->rail->slots_mr = &l->mr;
	return l;
}

static struct ml *ml_make(struct kunit *test)
{
	return ml_make_node(test, 1, true);
}

/* The call with this number, which may end later */
static int ml_start(struct ml *l, unsigned long number, u64 at, size_t len)
{
	return kfm_persist(&l->mr, at, len, (struct kfi_persist *)number);
}

static int ml_persist(struct ml *l, u64 at, size_t len)
{
	int ret = ml_start(l, 0, at, len);

	return ret == -EIOCBQUEUED ? l->results[0] : ret;
}

/* The primary writes a record to the ring. Return: the byte behind it. */
static u32 ml_put(struct ml *l, u32 at, struct kfm_rec r)
{
	u8 *ring = l->w->m.log.ring;

	r.log = r.log ?: ML_LOG;
	r.gen = r.gen ?: ML_GEN;
	r.len = r.len ?: KFM_SECTOR;
	memset(ring + at + KFM_REC_DATA_AT, r.sector, r.len);
	kfm_rec_encode(&r, ring + at + KFM_REC_DATA_AT, (void *)ring + at + KFM_REC_HEAD_AT);
	return at + kfm_rec_room(r.len);
}

/* ... and asks for it to be made durable. */
static int ml_record(struct ml *l, u32 at, struct kfm_rec r)
{
	u32 end = ml_put(l, at, r);

	return ml_persist(l, at, end - at);
}

static bool ml_durable(const struct ml *l, u32 at, u32 len)
{
	return !memcmp(l->disk + KFM_RING_AT + at, l->w->m.log.ring + at, len);
}

static struct kfm_le_rec *ml_head(struct ml *l, u32 at)
{
	return (void *)l->w->m.log.ring + at + KFM_REC_HEAD_AT;
}

#endif
