// SPDX-License-Identifier: GPL-2.0
/* A node of kfi_mirror whose disks, wires and log are functions of this file. */
#include <linux/unaligned.h>
#include <linux/vmalloc.h>
#include "mirror_world.h"

/* There is no device, and I/O ends at once. */
static int mw_io(struct bio *bio);
static int mw_dev_flush(bool leg);
static unsigned int mw_zero_limit(void);
static u32 mw_block(void);
static void mw_queue(struct work_struct *work);
static struct kfm_read *mw_read_data(const struct bio *bio);
static u64 mw_bytes(void);
static int mw_name(char *id);
static struct gendisk *mw_disk(void);
static int mw_sample(u64 byte, void *buf, u32 len);

#undef bdev_logical_block_size
#define bdev_logical_block_size(bdev)	((void)(bdev), mw_block())
#undef bdev_write_zeroes_sectors
#define bdev_write_zeroes_sectors(bdev)	((void)(bdev), mw_zero_limit())
#undef bdev_nr_bytes
#define bdev_nr_bytes(bdev)		((void)(bdev), mw_bytes())
#define dm_table_get_md(table)		NULL
#define dm_disk(md)			((void)(md), mw_disk())
#define dm_copy_name_and_uuid(md, name, id) ((void)(name), mw_name(id))
#define blkdev_issue_flush(bdev)	((void)(bdev), mw_dev_flush(strstr(#bdev, "leg")))
#define queue_work(wq, work)		((void)(wq), mw_queue(work))
#define submit_bio_wait(bio)		mw_io(bio)
#define submit_bio(bio)			mw_submit(bio)
#define submit_bio_noacct(bio)		mw_submit(bio)
#define kfm_rec_blocks(m, r)		(!((r)->len % KFM_SECTOR))
#define bio_endio(bio)			((bio)->bi_end_io(bio))
#define dm_per_bio_data(bio, size)	mw_read_data(bio)

#include "../../ulps/mirror/meta.c"
#include "../../ulps/mirror/bits.c"
#define kfm_io(bdev, op, byte, buf, len) mw_sample(byte, buf, len)
#include "../../ulps/mirror/rest.c"
#undef kfm_io
#include "../../ulps/mirror/told.c"
#include "../../ulps/mirror/cool.c"
#include "../../ulps/mirror/label.c"
#include "../../ulps/mirror/peer.c"
#include "../../ulps/mirror/session.c"
#include "../../ulps/mirror/rail.c"
#include "../../ulps/mirror/refuse.c"
#include "../../ulps/mirror/source.c"
#include "../../ulps/mirror/primary.c"
#include "../../ulps/mirror/role.c"
#include "../../ulps/mirror/quorum.c"
#include "../../ulps/mirror/vote.c"
#include "../../ulps/mirror/minority.c"
#include "../../ulps/mirror/secondary.c"
#include "../../ulps/mirror/recent.c"
#include "../../ulps/mirror/resync.c"
#include "../../ulps/mirror/csum.c"
#include "../../ulps/mirror/ring.c"
#include "../../ulps/mirror/flight.c"
#include "../../ulps/mirror/write.c"
#include "../../ulps/mirror/run.c"
#include "../../ulps/mirror/leg.c"
#include "../../ulps/mirror/detach.c"
#include "../../ulps/mirror/zero.c"
#include "../../ulps/mirror/post.c"
#include "../../ulps/mirror/read.c"
#include "../../ulps/mirror/verify.c"
#include "../../ulps/mirror/command.c"
#include "../../ulps/mirror/promote.c"
#include "../../ulps/mirror/copy.c"
#include "../../ulps/mirror/leave.c"
#include "../../ulps/mirror/status.c"
#include "../../ulps/mirror/flush.c"
#define find_peer	mw_find_peer	/* command.c has one, too */
#define kfm_repair_run	mw_repair_run
#include "../../ulps/mirror/repair.c"
#include "../../ulps/mirror/serve.c"
#undef kfm_repair_run

static struct mw *mw_now;	/* KUnit runs one test at a time */
char mw_heard[256];

void mw_hear(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vscnprintf(mw_heard, sizeof(mw_heard), fmt, args);
	va_end(args);
}

/* What is stored in a block is of another version, with a right checksum. */
void mw_version(void *block, u32 version)
{
	__le32 *words = block + KFM_VERSION_AT;

	words[0] = cpu_to_le32(version);
	words[1] = 0;
	words[1] = cpu_to_le32(crc32c(~0U, block, KFM_SECTOR));
}

/* ---- disks ---- */

/*
 * What is durable covers what may differ, whenever it changes: the bits of regions, and those of
 * extents, each of which has 8 regions. A peer has a block of each.
 */
static void mw_covered(const struct mw *w)
{
	const u8 *active, *oos;
	const struct kfm_peer *p;
	unsigned int e;

	kfm_for_each_peer(p, &w->m) {
		active = w->durable + KFM_BITMAP_AT + p->index * KFM_BLOCK;
		oos = active + kfm_peer_count(&w->m) * KFM_BLOCK;
		for (e = 0; e < w->m.extents && w->watched; e++)
			if (!test_bit_le(e, active))
				KUNIT_EXPECT_EQ(w->test, p->oos[e] & ~oos[e], 0);
	}
}

static int mw_dev_flush(bool leg)
{
	if (mw_now->io_err)
		return mw_now->io_err;
	if (leg) {
		if (mw_now->flush_err)
			return mw_now->flush_err;
		memcpy(mw_now->leg_safe, mw_now->leg, sizeof(mw_now->leg));
		return 0;
	}
	memcpy(mw_now->durable, mw_now->meta, MW_META);
	mw_covered(mw_now);
	return 0;
}

static unsigned int mw_zero_limit(void)
{
	return mw_now->zero_limit;
}

static u32 mw_block(void)
{
	return mw_now->block ?: KFM_SECTOR;
}

static void mw_queue(struct work_struct *work)
{
	if (mw_now->leg_waits)
		mw_now->works[mw_now->nr_works++] = work;
	else
		work->func(work);
}

/* What the write of zeroes writes that has this sector. A part of a resynchronisation has zeros. */
static u32 mw_zeroes(const struct mw *w, u64 sector)
{
	struct kfm_write *write;

	list_for_each_entry(write, &w->m.flight, entry) {
		if (write->kind == KFM_ZEROES && write->sector <= sector &&
		    sector < write->sector + write->len / KFM_SECTOR)
			return !write->bio ? 0 :
			       *(u32 *)(w->page + (write->bio - w->bios) * PAGE_SIZE);
	}
	KUNIT_FAIL(w->test, "nobody writes zeroes to sector %llu", sector);
	return 0;
}

/* Of the leg: behind the data there are two blocks. */
static u64 mw_bytes(void)
{
	return kfm_behind_data(mw_now->m.sectors) + mw_now->blocks * KFM_BLOCK;
}

static int mw_name(char *id)
{
	strscpy(id, mw_now->id, DM_UUID_LEN);
	return 0;
}

/* A region of the leg is read, of which nothing but the first word is there. */
static int mw_sample(u64 byte, void *buf, u32 len)
{
	memset(buf, 0, len);
	*(u32 *)buf = mw_now->leg[byte / KFM_SECTOR >> mw_now->m.shift];
	return mw_now->io_err;
}

/* The metadata device has a volatile cache. Behind the data of the leg may be a label. */
static int mw_meta(struct mw *w, struct bio *bio)
{
	u64 at = bio->bi_iter.bi_sector * KFM_SECTOR, end = kfm_behind_data(w->m.sectors);
	struct bvec_iter iter;
	struct bio_vec vec;

	if (op_is_write(bio_op(bio)) && w->io_left && !--w->io_left)
		w->io_err = -EIO;
	if (w->io_err && !w->io_lands)
		return w->io_err;
	w->io_lands = w->io_lands && !w->io_err;
	if (at >= end) {
		u8 *label = w->label[(at - end) / KFM_BLOCK];

		if (!op_is_write(bio_op(bio)))
			memcpy(bvec_virt(bio->bi_io_vec), label, KFM_BLOCK);
		else
			memcpy(label, bvec_virt(bio->bi_io_vec), KFM_BLOCK);
		return w->io_err;
	}
	bio_for_each_segment(vec, bio, iter) {
		if (at + vec.bv_len > MW_META)		/* zeros, which nothing writes */
			memset(bvec_virt(&vec), 0, vec.bv_len);
		else if (!op_is_write(bio_op(bio)))
			memcpy(bvec_virt(&vec), w->meta + at, vec.bv_len);
		else
			memcpy(w->meta + at, bvec_virt(&vec), vec.bv_len);
		if (bio->bi_opf & REQ_FUA)
			memcpy(w->durable + at, bvec_virt(&vec), vec.bv_len);
		at += vec.bv_len;
	}
	if (bio->bi_opf & REQ_FUA)
		mw_covered(w);
	return w->io_err;
}

/* The leg reads or writes the first word of each region. */
static void mw_leg(struct mw *w, struct bio *bio)
{
	struct bvec_iter iter;
	struct bio_vec vec;
	u32 at, *word;

	if (bio->bi_opf & REQ_PREFLUSH)
		memcpy(w->leg_safe, w->leg, sizeof(w->leg));
	bio_for_each_segment(vec, bio, iter) {
		for (at = 0; at < vec.bv_len; at += KFM_SECTOR) {
			word = &w->leg[(iter.bi_sector + at / KFM_SECTOR) >> w->m.shift];
			if ((iter.bi_sector + at / KFM_SECTOR) & ((1 << w->m.shift) - 1))
				continue;
			if (op_is_write(bio_op(bio)))
				*word = *(u32 *)(bvec_virt(&vec) + at);
			else
				*(u32 *)(bvec_virt(&vec) + at) = *word;
			if (bio->bi_opf & REQ_FUA)
				w->leg_safe[word - w->leg] = *word;
		}
	}
}

/* Are the active bits of a range durable for all peers? */
static bool mw_active(const struct mw *w, const struct bio *bio)
{
	const u8 *active = w->durable + KFM_BITMAP_AT;
	u32 e = bio->bi_iter.bi_sector >> w->m.extent_shift;
	bool all = true;
	unsigned int i;

	for (; e <= (bio_end_sector(bio) - 1) >> w->m.extent_shift; e++)
		for (i = 0; i < kfm_peer_count(&w->m); i++)
			all &= w->peers[i].witness || test_bit_le(e, active + i * KFM_BLOCK);
	return all;
}

/* I/O of the metadata; or the leg is set to zero, by itself or by hand. */
static int mw_io(struct bio *bio)
{
	u64 sector = bio->bi_iter.bi_sector;
	struct mw *w = mw_now;
	u32 r;

	if (bio_op(bio) != REQ_OP_WRITE_ZEROES &&
	    (bio_op(bio) != REQ_OP_WRITE || bio_page(bio) != ZERO_PAGE(0)))
		return mw_meta(w, bio);
	w->zero_bios++;
	KUNIT_EXPECT_TRUE(w->test, mw_active(w, bio));
	for (r = sector >> w->m.shift; r <= (bio_end_sector(bio) - 1) >> w->m.shift; r++) {
		if (!w->io_err && (u64)r << w->m.shift >= sector)
			w->leg[r] = mw_zeroes(w, (u64)r << w->m.shift);
	}
	return w->io_err;
}

/* A bio is submitted to the leg. */
void mw_submit(struct bio *bio)
{
	bool flush = bio->bi_end_io == csum_flush_end_io;
	struct mw *w = mw_now;

	if (bio->bi_iter.bi_size && op_is_write(bio_op(bio)))
		KUNIT_EXPECT_TRUE(w->test, mw_active(w, bio));
	w->csum_flushes += flush;
	if (w->leg_waits && !flush) {
		bio_list_add(&w->legs, bio);
		return;
	}
	mw_leg(w, bio);
	bio->bi_status = flush ? errno_to_blk_status(w->flush_err) : 0;
	bio->bi_end_io(bio);
	KUNIT_EXPECT_TRUE(w->test, !flush || !w->flush_err || w->m.log.failed);
}

/*
 * The last write of zeroes is done, and its flush submitted, which ends at once unless @leg_waits;
 * or the oldest write or flush of the leg ends with @status.
 */
void mw_leg_ends(struct mw *w, blk_status_t status)
{
	struct work_struct *work = w->nr_works ? w->works[--w->nr_works] : NULL;
	struct bio *bio;

	if (work) {
		work->func(work);
		return;
	}
	bio = bio_list_pop(&w->legs);
	KUNIT_ASSERT_NOT_NULL(w->test, bio);
	if (!status)
		mw_leg(w, bio);
	bio->bi_status = status;
	bio->bi_end_io(bio);
}

/* ---- kick.c and claim.c ---- */

struct workqueue_struct *kfm_wq;
struct workqueue_struct *kfm_open_wq;	/* the test opens endpoints */
struct workqueue_struct *kfm_store_wq;	/* nothing ends in an interrupt */

void kfm_kick(struct kfm *m)
{
}

bool kfm_claim_work(struct kfm *m)
{
	return true;
}

void kfm_unclaim_work(struct kfm *m)
{
}

void kfm_run_atomic(struct kfm *m, struct bio_list *legs)
{
}

void kfm_signal(struct kfm *m, bool *busy)
{
	WRITE_ONCE(*busy, false);	/* all of this is one thread */
}

u64 kfm_random(void)
{
	return get_random_u64() | 1;
}

bool kfm_tears(const struct kfm *m)
{
	return mw_now->became_memory;
}

static struct gendisk *mw_disk(void)
{
	static struct block_device part;
	static struct gendisk disk = { .part0 = &part };

	part.bd_holder = mw_now->in_use ? mw_now : NULL;
	return &disk;
}

void kfm_event(struct kfm *m, const char *what)
{
	strlcat(mw_now->events, what, sizeof(mw_now->events));
	strlcat(mw_now->events, " ", sizeof(mw_now->events));
}

void kfm_peer_event(const struct kfm_peer *p, const char *what)
{
	kfm_event(p->m, what);
}

/* ---- net.c ---- */

/*
 * Nodes that were made before there were several versions take this message. They have the types,
 * reasons and flags of these numbers, and a tail of zeros. What a type does not use they do not
 * look at. The numbers are written down because they do not change.
 */
static void mw_expect_old(const struct kfm_msg *msg)
{
	struct kunit *test = mw_now->test;
	struct kfm_le_msg le;
	const u8 *at = (const u8 *)&le;

	kfm_msg_encode(msg, &le);
	KUNIT_EXPECT_EQ(test, sizeof(le), 256);
	KUNIT_EXPECT_MEMEQ(test, at, "FMSG\4", 6);
	KUNIT_EXPECT_TRUE(test, at[6] >= 1 && at[6] <= 13 && !at[7]);
	KUNIT_EXPECT_LE(test, get_unaligned_le32(at + 136), 7);
	if (at[6] == 3)		/* REFUSED */
		KUNIT_EXPECT_TRUE(test, at[140] >= 1 && at[140] <= 9);
	KUNIT_EXPECT_NULL(test, memchr_inv(at + 240, 0, 16));
}

void kfm_net_send_by(struct kfm_rail *rail, const struct kfm_msg *msg)
{
	unsigned int peer = rail->p->index;

	if (!mw_now->newer)
		mw_expect_old(msg);
	mw_now->sent[peer][msg->type] = *msg;
	mw_now->by[peer][msg->type] = rail;
	mw_now->count[peer][msg->type]++;
}

void kfm_net_send(struct kfm_peer *p, const struct kfm_msg *msg)
{
	kfm_net_send_by(p->rail, msg);
}

ssize_t kfm_net_fetch(struct kfm_peer *p, u64 key, u64 addr, u32 len)
{
	return 0;	/* at once; kfm_peer.wire is what the test has put there */
}

ssize_t kfm_net_write(struct kfm_peer *p, const struct kfm_group *g)
{
	struct kfm_post *post;
	unsigned int i;

	if (mw_now->full)
		return -EAGAIN;
	if (!g->direct)
		KUNIT_EXPECT_LE(mw_now->test, g->at + g->bytes, p->ring.len);
	for (i = 0; i < g->count; i++) {
		if (g->writes[i]->kind == KFM_ZEROES)
			*(u32 *)(g->writes[i]->buf + KFM_DATA_AT) =
				mw_zeroes(mw_now, g->writes[i]->sector);
		post = &g->writes[i]->posts[p->index];
		post->busy = true;
		mw_now->posted[p->index][mw_now->nr_posted[p->index]++] = post;
	}
	mw_now->group[p->index] = *g;
	mw_now->groups[p->index]++;
	return 0;
}

/* What a peer offers */
ssize_t kfm_net_read(struct kfm_peer *p, struct kfm_write *w, u32 patch)
{
	memset(w->buf + KFM_DATA_AT, MW_OFFERED, w->len);
	w->posts[p->index].err = mw_now->read_err;
	return 0;
}

int kfm_net_receive(struct kfm_peer *p, struct kfm_msg *msg)
{
	return mw_now->receive ? mw_now->receive(p, msg) : -ENODATA;
}

void kfm_net_close(struct kfm_rail *rail)
{
	if (mw_now->close)
		mw_now->close(rail);
	else if (rail->p->rails[1])
		rail->up = false;
}

/* ---- log.c ---- */

int kfm_log_start(struct kfm *m, u64 id, u64 gen, u64 node)
{
	m->log.head = (struct kfm_log_head) { .id = id, .gen = gen, .node = node, .seq = 1 };
	kfm_recent_begin(m);
	return 0;
}

void kfm_log_reached(struct kfm *m, u64 number)
{
	m->log.reached = number;
}

int kfm_log_open(struct kfm_peer *p)
{
	mw_now->log_opened++;
	return -ENOMEM;
}

void kfm_log_close(struct kfm *m)
{
	m->log.open = false;
}

int kfm_log_replay(struct kfm *m)
{
	return mw_now->replay_err;
}

int kfm_log_apply(struct kfm *m, bool all)
{
	return mw_now->apply_err;
}

/* ---- direct.c ---- */

bool kfm_direct_takes(const struct kfm *m)
{
	return true;
}

void kfm_direct_run(struct kfm *m)
{
}

int kfm_direct_rail(struct kfm_rail *rail)
{
	return -ENOMEM;
}

/* ---- repair.c ---- */

void kfm_repair_run(struct kfm *m)
{
	if (mw_now->leg_fails_late)
		mw_leg_ends(mw_now, BLK_STS_IOERR);
	mw_now->leg_fails_late = false;
	mw_repair_run(m);
}

static struct kfm_read *mw_read_data(const struct bio *bio)
{
	return &mw_now->reads[bio - mw_now->bios];
}

/* ---- the world ---- */

/* One more rail to a peer, with an endpoint */
struct kfm_rail *mw_rail(struct mw *w, unsigned int peer)
{
	struct kfm_rail *rail = kfi_test_zalloc(w->test, sizeof(*rail));
	unsigned int n = 0;

	while (w->peers[peer].rails[n])
		n++;
	KUNIT_ASSERT_LT(w->test, n, KFM_RAILS);
	rail->p = &w->peers[peer];
	rail->remote[0] = kfi_test_zalloc(w->test, 8);
	rail->remote[1] = kfi_test_zalloc(w->test, 8);
	memcpy(rail->remote[0], "there", 6);
	memcpy(rail->remote[1], "7", 2);
	rail->up = true;
	rail->retry = jiffies + 600 * HZ;	/* there is no queue to open it in */
	w->peers[peer].rails[n] = rail;
	return rail;
}

static void mw_peer(struct mw *w, struct kfm_peer *p, unsigned int index)
{
	struct kfm *m = &w->m;

	p->m = m;
	p->index = index;
	p->sectors = m->sectors;
	p->active = kfi_test_zalloc(w->test, KFM_BLOCK);
	p->wire = kfi_test_zalloc(w->test, KFM_BLOCK);
	p->oos = kfi_test_zalloc(w->test, KFM_BLOCK);
	p->stale = kfi_test_zalloc(w->test, sizeof(long));
	p->down = jiffies;
	p->next = jiffies;
	p->outage = 10 * index;
	INIT_LIST_HEAD(&p->inbox);
	m->sb.pairs[index].node = MW_NODE + index;
	m->peers[index] = p;
	mw_rail(w, index);
	p->rail = p->rails[0];
	p->came = p->rails[0];
}

static void mw_free(void *data)
{
	struct mw *w = data;

	kfm_writes_free(&w->m);
	free_page((unsigned long)w->m.page);
	if (w->page)
		free_pages_exact(w->page, 2 * KFM_WRITE_MAX);
	kvfree(w);
}

/* A secondary whose copy is whole, of generation 5, and was in sync. */
struct mw *mw_make(struct kunit *test, unsigned int peers)
{
	struct mw *w = kvzalloc(sizeof(*w), GFP_KERNEL);
	struct kfm *m;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, w);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, mw_free, w), 0);
	mw_now = w;
	w->test = test;
	m = &w->m;
	m->leg = kfi_test_zalloc(w->test, sizeof(*m->leg));
	m->meta = m->leg;
	m->logdev = m->leg;
	m->log.patch = kfi_test_zalloc(w->test, KFM_PATCHES * KFM_WRITE_MAX);
	m->serve = kfi_test_zalloc(w->test, KFM_PATCHES * sizeof(*m->serve));
	m->timeout = HZ;
	m->policy = KFM_FENCE;
	m->direct_min = KFM_DIRECT_DEFAULT;
	m->shift = KFM_REGION_SHIFT_MIN;
	m->regions = MW_REGIONS;
	m->sectors = (u64)MW_REGIONS << m->shift;
	m->bitmap_bytes = KFM_MAP_BLOCK;
	m->extent_shift = m->shift + 3;
	m->extents = MW_REGIONS / 8;
	m->active_bytes = KFM_MAP_BLOCK;
	m->maps = kfi_test_zalloc(w->test, KFM_MAP_BLOCKS * KFM_BLOCK);
	m->touched = kfi_test_zalloc(w->test, KFM_BLOCK);
	m->cooling = kfi_test_zalloc(w->test, KFM_BLOCK);
	m->page = (void *)get_zeroed_page(GFP_KERNEL);
	w->page = alloc_pages_exact(2 * KFM_WRITE_MAX, GFP_KERNEL | __GFP_ZERO);
	KUNIT_ASSERT_TRUE(test, m->page && w->page);
	spin_lock_init(&m->lock);
	kfi_runner_init(&m->runner);
	INIT_LIST_HEAD(&m->cmds);
	INIT_LIST_HEAD(&m->free);
	INIT_LIST_HEAD(&m->flight);
	INIT_LIST_HEAD(&m->reads);
	INIT_LIST_HEAD(&m->repairs);
	INIT_LIST_HEAD(&m->hashes);
	INIT_LIST_HEAD(&m->draining);
	m->sb = (struct kfm_super) {
		.sectors = m->sectors, .peers = peers, .node = 7,
		.state = KFM_UPTODATE, .gens = { .cur = 5 },
	};
	for (i = 0; i < peers; i++) {
		mw_peer(w, &w->peers[i], i);
		m->sb.pairs[i].base = 5;
	}
	KUNIT_ASSERT_EQ(test, kfm_writes_alloc(m), 0);
	m->formatted = true;
	m->active = true;
	m->numbered = 1;
	m->was_insync = true;
	m->renewed = jiffies;
	KUNIT_ASSERT_EQ(test, kfm_bits_create(m), 0);
	w->watched = true;
	w->blocks = 2;
	w->id = "";
	kfm_log_start(m, 1, 5, 0);
	return w;
}

/* The node has been promoted: its generation is @gen, the one before was 5. */
void mw_primary(struct mw *w, u64 gen)
{
	struct kfm *m = &w->m;

	m->sb.gens = (struct kfm_gens) { .cur = gen, .history = { 5 } };
	m->sb.flags = KFM_SB_PRIMARY;
	m->primary = true;
}

/* Legs have volatile caches, and the node uses them when it is primary. */
void mw_cache(struct mw *w)
{
	struct kfm_peer *p;

	w->m.cache = true;
	kfm_for_each_peer(p, &w->m)
		p->cached = kfi_test_zalloc(w->test, KFM_BLOCK);
	kfm_flush_reset(&w->m);
}

/* A secondary in a session with its first peer */
struct mw *mw_follower(struct kunit *test)
{
	struct mw *w = mw_make(test, 2);

	w->m.log.open = true;
	w->m.log.peer = &w->peers[0];
	w->m.log.head.node = MW_NODE;
	w->peers[0].state = KFM_SESSION_UP;
	w->peers[0].session = 9;
	return w;
}

/* The worker runs once. */
void mw_run(struct mw *w)
{
	kfm_peers_tick(&w->m);
	kfm_writes_run(&w->m);
	kfm_bits_run(&w->m);
}

/* A region differs from that of a peer. */
void mw_differs(struct mw *w, unsigned int peer, u32 region)
{
	kfm_oos_set(&w->peers[peer], (u64)region << w->m.shift, KFM_SECTOR);
	KUNIT_EXPECT_EQ(w->test, kfm_bits_flush(&w->m), 0);
}

/* A test has changed bits of the bitmaps: their checksums are right again. */
void mw_seal(struct mw *w)
{
	u8 map[KFM_MAP_BYTES];
	u32 at;

	for (at = KFM_BITMAP_AT; at < MW_META; at += KFM_SECTOR) {
		memcpy(map, w->durable + at, sizeof(map));
		kfm_map_encode(map, at, w->durable + at);
	}
}

/* The power fails: what is durable is left, and the mirror is resumed. */
int mw_load(struct mw *w)
{
	w->io_err = 0;
	w->io_left = 0;
	memcpy(w->meta, w->durable, MW_META);
	return kfm_super_load(&w->m) ?:
	       (w->m.sb.flags & KFM_SB_DOUBT ? kfm_super_settle(&w->m, NULL) : 0) ?:
	       kfm_bits_load(&w->m);
}

/* A message of a peer */
void mw_say(struct mw *w, unsigned int peer, struct kfm_msg msg)
{
	struct kfm_peer *p = &w->peers[peer];

	if (!msg.session)
		msg.session = w->m.promote ? p->candidate_session : p->session;
	msg.node = msg.node ?: MW_NODE + peer;
	kfm_peer_message(p, &msg);
}

/* A peer answers HELLO. */
void mw_state(struct mw *w, unsigned int peer, u32 state, u64 gen, u32 flags)
{
	mw_say(w, peer, (struct kfm_msg) {
		.type = KFM_STATE, .state = state, .gens.cur = gen,
		.flags = flags | (w->m.policy == KFM_QUORUM ? KFM_M_QUORUM : 0),
		.peers = w->m.sb.peers, .sectors = w->m.sectors, .start = 1,
	});
}

/* A peer answers ATTACH: the session begins. */
void mw_grant(struct mw *w, unsigned int peer)
{
	mw_say(w, peer, (struct kfm_msg) {
		.type = KFM_GRANT, .ring_len = w->no_log ? 0 : KFM_RING_MIN, .arg = w->slots,
		.flags = (w->takes_zeroes ? KFM_M_ZEROES : 0) | (w->m.cache ? KFM_M_CACHE : 0) |
			 (w->m.csum ? KFM_M_CSUM : 0) |
			 (w->newer ? KFM_M_PATCHES | KFM_M_NUMBERS : 0),
	});
}

/* A peer answers SYNCED. */
void mw_synced_ok(struct mw *w, unsigned int peer)
{
	mw_say(w, peer, (struct kfm_msg) {
		.type = KFM_SYNCED_OK, .gens = w->sent[peer][KFM_SYNCED].gens,
	});
}

/* A session with a whole copy that is the same, up to SYNCED; or with a blank one */
void mw_join(struct mw *w, unsigned int peer, u64 gen)
{
	w->peers[peer].next = jiffies;
	mw_run(w);
	mw_state(w, peer, gen ? KFM_UPTODATE : KFM_BLANK, gen, 0);
	mw_grant(w, peer);
	mw_run(w);
}

/* A primary whose peer is in sync */
struct mw *mw_synced(struct kunit *test)
{
	struct mw *w = mw_make(test, 1);

	mw_primary(w, 6);
	mw_join(w, 0, 5);
	mw_synced_ok(w, 0);
	return w;
}

/* A primary whose peers are in sync, and have slots; with @cache all legs have caches. */
struct mw *mw_with_slots(struct kunit *test, unsigned int peers, bool cache)
{
	struct mw *w = mw_make(test, peers);
	unsigned int i;

	w->newer = true;
	w->slots = 4;
	if (cache)
		mw_cache(w);
	mw_primary(w, 6);
	for (i = 0; i < peers; i++) {
		mw_join(w, i, 5);
		mw_synced_ok(w, i);
	}
	return w;
}

/* A peer has made all records durable that it was sent, and has applied them. */
void mw_ack(struct mw *w, unsigned int peer)
{
	struct kfm_msg applied = { .type = KFM_APPLIED, .seq = w->peers[peer].ring.next.seq - 1 };
	unsigned int i;

	for (i = 0; i < w->nr_posted[peer]; i++) {
		w->posted[peer][i]->err = 0;
		w->posted[peer][i]->busy = false;
	}
	w->nr_posted[peer] = 0;
	mw_say(w, peer, applied);
}

/* The peers have what they were sent, and have stored the generation. */
void mw_answers(struct mw *w)
{
	struct kfm_peer *p;

	mw_run(w);
	kfm_for_each_peer(p, &w->m) {
		mw_ack(w, p->index);
		if (p->state == KFM_SESSION_UP)
			mw_synced_ok(w, p->index);
	}
	mw_run(w);
}

static void mw_ended(struct bio *bio)
{
	unsigned int number = bio - mw_now->bios;

	KUNIT_EXPECT_TRUE(mw_now->test, test_and_clear_bit(number, &mw_now->flight));
	if (bio->bi_status == BLK_STS_DM_REQUEUE)
		set_bit(number, &mw_now->requeued);
	else if (!bio->bi_status)
		set_bit(number, &mw_now->done);
}

/* Bytes are written. */
void mw_write_at(struct mw *w, unsigned int number, u64 sector, u32 bytes)
{
	struct bio *bio = &w->bios[number];

	bvec_set_virt(&w->vecs[number], w->page + number * PAGE_SIZE, KFM_WRITE_MAX);
	bio_init(bio, NULL, &w->vecs[number], 1, REQ_OP_WRITE);
	bio->bi_vcnt = 1;
	bio->bi_iter.bi_size = bytes;
	bio->bi_iter.bi_sector = sector;
	bio->bi_end_io = mw_ended;
	KUNIT_ASSERT_FALSE(w->test, test_and_set_bit(number, &w->flight));
	bio_list_add(&w->m.arrived, bio);
}

/* A page is written to a region. */
void mw_write(struct mw *w, unsigned int number, u32 region)
{
	mw_write_at(w, number, (u64)region << w->m.shift, PAGE_SIZE);
}

/* Regions are set to zero. */
void mw_zero(struct mw *w, unsigned int number, u32 first, u32 regions, blk_opf_t op)
{
	mw_write_at(w, number, (u64)first << w->m.shift, regions << w->m.shift << SECTOR_SHIFT);
	w->bios[number].bi_opf = op;
}

/* The page of a region of this number is read; main.c has found that the node was not open. */
void mw_read(struct mw *w, unsigned int number)
{
	struct bio *bio = &w->bios[number];

	bvec_set_virt(&w->vecs[number], w->page + number * PAGE_SIZE, PAGE_SIZE);
	bio_init(bio, NULL, &w->vecs[number], 1, REQ_OP_READ);
	bio->bi_vcnt = 1;
	bio->bi_iter.bi_size = PAGE_SIZE;
	bio->bi_iter.bi_sector = (u64)number << w->m.shift;
	bio->bi_end_io = mw_ended;
	w->reads[number].iter = bio->bi_iter;
	KUNIT_ASSERT_FALSE(w->test, test_and_set_bit(number, &w->flight));
	bio_list_add(&w->m.held, bio);
}

/* A flush, which has to go to the legs (kfm_flush_needed()) */
void mw_flush(struct mw *w, unsigned int number)
{
	mw_write_at(w, number, 0, 0);
	w->bios[number].bi_opf |= REQ_PREFLUSH;
}

/* A dm message; @rest: the words behind the first one. Return: its result, or 1 if it waits. */
int mw_order(struct mw *w, const char *first, const char *rest)
{
	static struct kfm_cmd cmd;	/* it may wait for longer than this function */
	static char words[2][48], *argv[4] = { words[0] };
	char *at = words[1];

	strscpy(words[0], first);
	strscpy(words[1], rest ?: "");
	cmd = (struct kfm_cmd) { .argc = 1, .argv = argv, .ret = 1 };
	while (rest && at && cmd.argc < ARRAY_SIZE(argv))
		argv[cmd.argc++] = strsep(&at, " ");
	init_completion(&cmd.done);
	list_add_tail(&cmd.entry, &w->m.cmds);
	kfm_commands(&w->m);
	return cmd.ret;
}
