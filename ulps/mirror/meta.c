// SPDX-License-Identifier: GPL-2.0
/*
 * meta.c - the metadata device: superblock and bitmaps. The worker calls these functions, and
 * resume does before it starts the worker.
 *
 * The bit of a region is set on the device before a write to the region is submitted to a leg. It
 * is cleared later, when no write to the region is in flight and the region is in sync
 * (kfm_peer.oos); with volatile caches, after a flush (flush.c).
 * So after a crash the bits cover all regions in which the copies may differ.
 */
#include <linux/bitmap.h>
#include <linux/mm.h>
#include <linux/vmalloc.h>
#include "flush.h"
#include "log.h"
#include "meta.h"
#include "mirror.h"
#include "peer.h"
#include "write.h"

static struct page *page_of(void *buf)
{
	return is_vmalloc_addr(buf) ? vmalloc_to_page(buf) : virt_to_page(buf);
}

/* Add memory, which may come from vmalloc(). Return: the bytes that have fitted. */
u32 kfm_bio_add(struct bio *bio, void *buf, u32 len)
{
	u32 done, n;

	for (done = 0; done < len; done += n) {
		n = min_t(u32, len - done, PAGE_SIZE - offset_in_page(buf + done));
		if (bio_add_page(bio, page_of(buf + done), n, offset_in_page(buf + done)) != n)
			break;
	}
	return done;
}

/* Transfer as much as fits in one bio. Return: bytes, or a negative error. */
static int io_some(struct block_device *bdev, blk_opf_t op, u64 byte, void *buf, u32 len)
{
	struct bio_vec vecs[KFM_IO_PAGES];
	struct bio bio;
	u32 done;
	int ret;

	bio_init(&bio, bdev, vecs, KFM_IO_PAGES, op);
	bio.bi_iter.bi_sector = byte >> SECTOR_SHIFT;
	done = kfm_bio_add(&bio, buf, len);
	ret = submit_bio_wait(&bio);
	bio_uninit(&bio);
	return ret ?: done;
}

/**
 * kfm_io() - read or write a piece of a device, and wait
 * @bdev: device
 * @op: REQ_OP_READ, or REQ_OP_WRITE with flags
 * @byte: first byte, a multiple of the logical block size
 * @buf: memory, which may come from vmalloc()
 * @len: bytes, a multiple of the logical block size
 *
 * No memory is allocated.
 *
 * Return: 0 or a negative error.
 */
int kfm_io(struct block_device *bdev, blk_opf_t op, u64 byte, void *buf, u32 len)
{
	int n;

	for (; len; len -= n, buf += n, byte += n) {
		n = io_some(bdev, op, byte, buf, len);
		if (n <= 0)
			return n ?: -EIO;
	}
	return 0;
}

/* ---- superblock ---- */

/**
 * kfm_super_load() - read the superblock
 * @m: mirror
 *
 * Return: 0, with kfm.sb and kfm.formatted set; a device of zeros is not formatted. A negative
 * error if the device holds other data, or a superblock of another size or version. The device is
 * not written.
 */
int kfm_super_load(struct kfm *m)
{
	struct kfm_super one;
	int ret[2], i;

	m->formatted = false;
	for (i = 0; i < 2; i++) {
		ret[i] = kfm_io(m->meta->bdev, REQ_OP_READ, i * KFM_BLOCK, m->page, KFM_BLOCK);
		if (ret[i] == -ENODATA)
			ret[i] = -EIO;	/* a medium error, not a block of zeros */
		if (!ret[i])
			ret[i] = kfm_super_decode(m->page, &one);
		if (ret[i] || (m->formatted && one.serial <= m->sb.serial))
			continue;
		m->sb = one;
		m->formatted = true;
	}
	/* a copy with another version or magic may be the newer one, so refuse the device */
	for (i = 0; i < 2; i++) {
		if (ret[i] && ret[i] != -ENODATA && (ret[i] != -EBADMSG || !m->formatted)) {
			DMERR("%s: superblock %d is not ours (%d)", kfm_name(m), i, ret[i]);
			return ret[i];
		}
	}
	if (m->formatted && m->sb.peers != kfm_peer_count(m)) {
		DMERR("%s: the mirror has %u peers, its superblock says %u", kfm_name(m),
		      kfm_peer_count(m), m->sb.peers);
		return -EINVAL;
	}
	if (m->formatted && m->sb.sectors != m->sectors) {
		DMERR("%s: the table has %llu sectors, the mirror %llu: it keeps its size",
		      kfm_name(m), m->sectors, m->sb.sectors);
		return -EINVAL;
	}
	/* a log may have acknowledged writes, and a log of former times must never be replayed */
	if (m->formatted && !m->logdev != !!(m->sb.flags & KFM_SB_NO_LOG)) {
		DMERR("%s: this node was created with%s a log device, and keeps it so", kfm_name(m),
		      m->logdev ? "out" : "");
		return -EINVAL;
	}
	return 0;
}

/* Make kfm.sb durable. */
int kfm_super_save(struct kfm *m)
{
	int ret;

	m->sb.serial++;
	memset(m->page, 0, KFM_BLOCK);
	kfm_super_encode(&m->sb, m->page);
	ret = kfm_io(m->meta->bdev, REQ_OP_WRITE | REQ_FUA | REQ_SYNC,
		     (m->sb.serial & 1) * KFM_BLOCK, m->page, KFM_BLOCK);
	if (ret && !m->meta_failed)
		DMERR("%s: can't write the superblock (%d)", kfm_name(m), ret);
	m->meta_failed |= ret;
	return ret;
}

/* ---- bitmap ---- */

static void mark_stale(struct kfm_peer *p, u32 region)
{
	__set_bit(region / 8 / KFM_BLOCK, p->stale);
}

/* Where the bitmap of a peer begins */
static u64 bits_at(const struct kfm_peer *p)
{
	return KFM_BITMAP_AT + (u64)p->index * p->m->bitmap_bytes;
}

int kfm_bits_load(struct kfm_peer *p)
{
	return kfm_io(p->m->meta->bdev, REQ_OP_READ, bits_at(p), p->bits, p->m->bitmap_bytes);
}

static int flush_one(struct kfm_peer *p)
{
	struct kfm *m = p->m;
	u32 blocks = m->bitmap_bytes / KFM_BLOCK, i;
	int ret;

	for_each_set_bit(i, p->stale, blocks) {
		ret = kfm_io(m->meta->bdev, REQ_OP_WRITE | REQ_FUA | REQ_SYNC,
			     bits_at(p) + (u64)i * KFM_BLOCK, p->bits + i * KFM_BLOCK, KFM_BLOCK);
		if (ret) {
			if (!m->meta_failed)
				DMERR("%s: can't write the bitmap (%d)", kfm_name(m), ret);
			m->meta_failed = true;
			return ret;
		}
		__clear_bit(i, p->stale);
	}
	return 0;
}

/* Write the changed blocks of all bitmaps and make them durable. */
int kfm_bits_flush(struct kfm *m)
{
	struct kfm_peer *p;
	int ret = 0;

	kfm_for_each_peer(p, m)
		ret = ret ?: flush_one(p);
	return ret;
}

static void set_one(struct kfm_peer *p, u32 region)
{
	if (!__test_and_set_bit_le(region, p->bits))
		mark_stale(p, region);
}

/* A write begins: set the bit of its region in all bitmaps. */
void kfm_bit_set(struct kfm *m, u32 region)
{
	struct kfm_peer *p;

	if (m->cooling)
		__clear_bit(region, m->cooling);
	kfm_for_each_peer(p, m)
		set_one(p, region);
}

/* Is the bit of a region set in all bitmaps, durably? */
bool kfm_bit_durable(const struct kfm *m, u32 region)
{
	struct kfm_peer *p;

	kfm_for_each_peer(p, m) {
		if (!test_bit_le(region, p->bits) || test_bit(region / 8 / KFM_BLOCK, p->stale))
			return false;
	}
	return true;
}

bool kfm_bits_any(const struct kfm_peer *p)
{
	return find_next_bit_le(p->bits, p->m->regions, 0) < p->m->regions;
}

/* Clear all bits in memory. */
void kfm_bits_clear(struct kfm_peer *p)
{
	memset(p->bits, 0, p->m->bitmap_bytes);
	bitmap_set(p->stale, 0, p->m->bitmap_bytes / KFM_BLOCK);
	bitmap_zero(p->oos, p->m->regions);
	p->oos_count = 0;
}

/*
 * May the bit of a region be cleared? With volatile caches after a flush: this is rule C1 of
 * flush.c.
 */
static bool may_clear(const struct kfm_peer *p, u32 r)
{
	const struct kfm *m = p->m;

	if (test_bit(r, p->oos) || kfm_region_busy(m, r))
		return false;
	return !m->primary || !kfm_caches(m) ||
	       (m->cool_from && test_bit(r, m->cooling) && p->flushed >= m->cool_from);
}

static void clean_one(struct kfm_peer *p)
{
	struct kfm *m = p->m;
	u32 r;

	for (r = find_next_bit_le(p->bits, m->regions, 0); r < m->regions;
	     r = find_next_bit_le(p->bits, m->regions, r + 1)) {
		if (!may_clear(p, r))
			continue;
		__clear_bit_le(r, p->bits);
		mark_stale(p, r);
	}
}

static void clean_all(struct kfm *m)
{
	struct kfm_peer *p;

	kfm_for_each_peer(p, m)
		clean_one(p);
}

/* Choose the regions whose bits the next flush clears, if no write begins there before it ends. */
static void cool(struct kfm *m)
{
	struct kfm_peer *p;
	u32 r;

	bitmap_zero(m->cooling, m->regions);
	m->cool_from = 0;
	kfm_for_each_peer(p, m) {
		for (r = find_next_bit_le(p->bits, m->regions, 0); r < m->regions;
		     r = find_next_bit_le(p->bits, m->regions, r + 1)) {
			if (test_bit(r, p->oos) || kfm_region_busy(m, r))
				continue;
			__set_bit(r, m->cooling);
			m->cool_from = m->written;
		}
	}
}

/*
 * Clear the bits of regions that are in sync and have no write in flight. A primary with volatile
 * caches does so in two steps: it chooses regions, and clears them after a flush, in a later call,
 * or now if all that was written has been flushed already.
 */
int kfm_bits_clean(struct kfm *m)
{
	clean_all(m);
	if (m->primary && kfm_caches(m) && !kfm_flush_awaited(m)) {
		cool(m);
		clean_all(m);
	}
	return kfm_bits_flush(m);
}

/* ---- regions that are out of sync; the bit of each such region is set ---- */

void kfm_oos_set(struct kfm_peer *p, u32 region)
{
	set_one(p, region);
	p->oos_count += !__test_and_set_bit(region, p->oos);
}

void kfm_oos_clear(struct kfm_peer *p, u32 region)
{
	p->oos_count -= __test_and_clear_bit(region, p->oos);
}

/* Every region whose bit is set in a bitmap may differ. */
static void add_bits(struct kfm_peer *p, const u8 *bits)
{
	u32 regions = p->m->regions, r;

	for (r = find_next_bit_le(bits, regions, 0); r < regions;
	     r = find_next_bit_le(bits, regions, r + 1))
		kfm_oos_set(p, r);
}

/* Every region whose bit is set may differ: all that was written since the bits were cleared. */
void kfm_oos_add_bits(struct kfm_peer *p)
{
	add_bits(p, p->bits);
}

/* Load the regions that may differ after a crash, from the bitmaps */
void kfm_oos_load(struct kfm *m)
{
	struct kfm_peer *p;

	kfm_for_each_peer(p, m) {
		bitmap_zero(p->oos, m->regions);
		p->oos_count = 0;
		kfm_oos_add_bits(p);
	}
}

int kfm_oos_fill(struct kfm_peer *p)
{
	u32 r;

	for (r = 0; r < p->m->regions; r++)
		kfm_oos_set(p, r);
	return kfm_bits_flush(p->m);
}

/* Add the regions that a former primary may have written. */
int kfm_oos_merge(struct kfm_peer *p)
{
	add_bits(p, p->peer_bits);
	return kfm_bits_flush(p->m);
}
