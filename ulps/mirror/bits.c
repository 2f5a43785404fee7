// SPDX-License-Identifier: GPL-2.0
/*
 * bits.c - where the copy of a peer may differ from that of this node, also after a crash. The
 * context that has claimed the mirror calls these functions, and resume does before it starts the
 * worker. All but those that say so write the metadata device, so only the worker calls them.
 *
 * Each peer with a copy has two bitmaps. The bit of a region says that it is out of sync. The bit
 * of an extent, a run of many regions, says that it is active: it is, or was a short time ago,
 * written.
 *
 * Before a byte reaches a leg, the active bit of its extent is durable for each peer that may then
 * differ. An active bit is cleared only when no write is in flight in the extent, and the bits of
 * its regions on the device are those in memory.
 *
 * So after a crash the regions that may differ are those whose bits are set on the device, and all
 * regions of active extents. A write waits for the bit of its extent alone, and for that only if
 * the extent is not active yet. The bits of regions in active extents are written when the extents
 * are cleaned. In other extents the caller that sets the bit of a region goes on with
 * kfm_bits_flush(); a bit that is cleared there may stay set on the device.
 */
#include <linux/bitmap.h>
#include <linux/blkdev.h>
#include <linux/string.h>
#include "bits.h"
#include "label.h"
#include "meta.h"
#include "mirror.h"
#include "peer.h"
#include "rest.h"

/* ---- the device ---- */

static u64 active_at(const struct kfm_peer *p)
{
	return KFM_BITMAP_AT + (u64)p->index * kfm_map_room(p->m->active_bytes);
}

static u64 oos_at(const struct kfm_peer *p)
{
	const struct kfm *m = p->m;

	return KFM_BITMAP_AT + (u64)kfm_peer_count(m) * kfm_map_room(m->active_bytes) +
	       (u64)p->index * kfm_map_room(m->bitmap_bytes);
}

/* Write the stale blocks of a bitmap of @bytes bytes, which is at @at on the device. */
static int write_blocks(struct kfm *m, blk_opf_t flags, u64 at, u8 *map, u32 bytes,
			const unsigned long *stale)
{
	unsigned int first, end;
	int ret;

	for_each_set_bitrange(first, end, stale, bytes / KFM_MAP_BLOCK) {
		ret = kfm_map_write(m, flags, at + (u64)first * KFM_BLOCK,
				    map + (size_t)first * KFM_MAP_BLOCK, end - first);
		if (ret)
			return ret;
	}
	return 0;
}

static int bits_failed(struct kfm *m, int ret)
{
	if (!m->meta_failed)
		DMERR("%s: can't write the bitmaps (%d)", kfm_name(m), ret);
	m->meta_failed = true;
	return ret;
}

/* Make the active bits durable. Return: 0 or a negative error. */
int kfm_active_flush(struct kfm *m)
{
	struct kfm_peer *p;
	int ret;

	kfm_for_each_peer(p, m) {
		ret = write_blocks(m, REQ_FUA, active_at(p), p->active, m->active_bytes,
				   p->active_stale);
		if (ret)
			return bits_failed(m, ret);
		bitmap_zero(p->active_stale, KFM_ACTIVE_BLOCKS);
	}
	return 0;
}

/* Make the bits of regions durable, with one flush for all blocks. */
int kfm_oos_flush(struct kfm *m)
{
	u32 blocks = m->bitmap_bytes / KFM_MAP_BLOCK;
	bool written = false;
	struct kfm_peer *p;
	int ret = 0;

	kfm_for_each_peer(p, m) {
		written |= !bitmap_empty(p->stale, blocks);
		ret = ret ?: write_blocks(m, 0, oos_at(p), p->oos, m->bitmap_bytes, p->stale);
	}
	if (written && !ret)
		ret = blkdev_issue_flush(m->meta->bdev);
	if (ret)
		return bits_failed(m, ret);
	kfm_for_each_peer(p, m)
		bitmap_zero(p->stale, blocks);
	return 0;
}

/**
 * kfm_bits_flush() - make all bits durable
 * @m: mirror
 *
 * Those of regions come first: active bits may have been cleared.
 *
 * Context: the worker. Return: 0 or a negative error.
 */
int kfm_bits_flush(struct kfm *m)
{
	return kfm_oos_flush(m) ?: kfm_active_flush(m);
}

/* ---- extents ---- */

static u32 extent_of(const struct kfm *m, u64 sector)
{
	return sector >> m->extent_shift;
}

static u32 last_extent(const struct kfm *m, u64 sector, u32 len)
{
	return extent_of(m, sector + len / KFM_SECTOR - 1);
}

/* The extents of a range stay active for a while. */
void kfm_touch(struct kfm *m, u64 sector, u32 len)
{
	u32 e;

	for (e = extent_of(m, sector); e <= last_extent(m, sector, len); e++) {
		if (!test_bit(e, m->touched))	/* do not write what all writes read */
			__set_bit(e, m->touched);
	}
}

/**
 * kfm_active_set() - set the active bits of a range for a peer, in memory
 * @p: peer
 * @sector: first sector
 * @len: bytes
 *
 * Context: any that has claimed the mirror.
 */
void kfm_active_set(struct kfm_peer *p, u64 sector, u32 len)
{
	struct kfm *m = p->m;
	u32 e;

	if (p->witness)
		return;
	kfm_touch(m, sector, len);
	for (e = extent_of(m, sector); e <= last_extent(m, sector, len); e++) {
		if (test_bit_le(e, p->active))
			continue;
		__set_bit_le(e, p->active);
		__set_bit(e / 8 / KFM_MAP_BLOCK, p->active_stale);
		p->active_count++;
	}
}

void kfm_active_clear(struct kfm_peer *p, u32 extent)
{
	if (!__test_and_clear_bit_le(extent, p->active))
		return;
	__set_bit(extent / 8 / KFM_MAP_BLOCK, p->active_stale);
	p->active_count--;
}

/* Is a range active for all peers, durably? Any context that has claimed the mirror. */
bool kfm_active_durable(const struct kfm *m, u64 sector, u32 len)
{
	struct kfm_peer *p;
	u32 e;

	kfm_for_each_peer(p, m) {
		if (p->witness)
			continue;
		for (e = extent_of(m, sector); e <= last_extent(m, sector, len); e++) {
			if (!test_bit_le(e, p->active) ||
			    test_bit(e / 8 / KFM_MAP_BLOCK, p->active_stale))
				return false;
		}
	}
	return true;
}

/* ---- regions that are out of sync ---- */

static u32 region_of(const struct kfm *m, u64 sector)
{
	return sector >> m->shift;
}

/* The region behind a range */
static u32 region_end(const struct kfm *m, u64 sector, u32 len)
{
	return region_of(m, sector + len / KFM_SECTOR - 1) + 1;
}

/* Set the bits of the regions from @first to before @end. These may be all regions. */
static void set_regions(struct kfm_peer *p, u32 first, u32 end)
{
	u32 before = p->oos_count, r = first;

	if (p->witness)
		return;
	while (r < end) {
		if (r % 8 || end - r < 8) {
			p->oos_count += !__test_and_set_bit_le(r, p->oos);
			r++;
		} else {
			p->oos_count += 8 - hweight8(p->oos[r / 8]);
			p->oos[r / 8] = 0xff;
			r += 8;
		}
	}
	if (p->oos_count != before)
		bitmap_set(p->stale, first / 8 / KFM_MAP_BLOCK,
			   (end - 1) / 8 / KFM_MAP_BLOCK - first / 8 / KFM_MAP_BLOCK + 1);
}

/* Set the bits of all regions in a piece of 2^@shift sectors, the last of which may be shorter. */
static void set_piece(struct kfm_peer *p, u32 piece, u32 shift)
{
	const struct kfm *m = p->m;
	u64 end = min(((u64)piece + 1) << shift, m->sectors);

	set_regions(p, region_of(m, (u64)piece << shift), region_of(m, end - 1) + 1);
}

/* All regions of an extent may differ. */
void kfm_extent_oos(struct kfm_peer *p, u32 extent)
{
	set_piece(p, extent, p->m->extent_shift);
}

/**
 * kfm_oos_set() - the peer's copy of a range may differ
 * @p: peer
 * @sector: first sector
 * @len: bytes
 *
 * In memory: if the extent may not be active, the caller goes on with kfm_bits_flush().
 *
 * Context: any that has claimed the mirror.
 */
void kfm_oos_set(struct kfm_peer *p, u64 sector, u32 len)
{
	set_regions(p, region_of(p->m, sector), region_end(p->m, sector, len));
}

/* All regions of active extents may differ. */
static void set_active(struct kfm_peer *p)
{
	const struct kfm *m = p->m;
	u32 e;

	for (e = find_next_bit_le(p->active, m->extents, 0); e < m->extents;
	     e = find_next_bit_le(p->active, m->extents, e + 1))
		kfm_extent_oos(p, e);
}

/**
 * kfm_cached_set() - this leg, or that of a peer, may have a range in a volatile cache alone
 * @p: peer
 * @sector: first sector, in an active extent
 * @len: bytes
 *
 * Context: any that has claimed the mirror.
 */
void kfm_cached_set(struct kfm_peer *p, u64 sector, u32 len)
{
	u32 e;

	for (e = extent_of(p->m, sector); e <= last_extent(p->m, sector, len); e++) {
		if (!test_bit(e, p->cached))
			__set_bit(e, p->cached);
	}
}

/* The peer may have lost what it had in its cache: rule C2 of flush.c. Context: the worker. */
void kfm_cached_lost(struct kfm_peer *p)
{
	set_active(p);
	bitmap_zero(p->cached, p->m->extents);
}

/* The peer's copy of a range's regions is the same. Any context that has claimed the mirror. */
void kfm_oos_clear(struct kfm_peer *p, u64 sector, u32 len)
{
	u32 r, end = region_end(p->m, sector, len);

	for (r = region_of(p->m, sector); r < end; r++) {
		if (!__test_and_clear_bit_le(r, p->oos))
			continue;
		__set_bit(r / 8 / KFM_MAP_BLOCK, p->stale);
		p->oos_count--;
	}
}

/* May the peer's copy differ in a range? Any context that has claimed the mirror. */
bool kfm_oos_any(const struct kfm_peer *p, u64 sector, u32 len)
{
	u32 end = region_end(p->m, sector, len);

	return find_next_bit_le(p->oos, end, region_of(p->m, sector)) < end;
}

/* All of the peer's copy may differ, durably. Return: 0 or a negative error. */
int kfm_oos_fill(struct kfm_peer *p)
{
	set_regions(p, 0, p->m->regions);
	return kfm_bits_flush(p->m);
}

/* Does a block of a bitmap have a bit? Then it is going to be stale. */
static void mark_used(const u8 *map, u32 bytes, unsigned long *stale)
{
	u32 i;

	for (i = 0; i < bytes / KFM_MAP_BLOCK; i++) {
		if (memchr_inv(map + (size_t)i * KFM_MAP_BLOCK, 0, KFM_MAP_BLOCK))
			__set_bit(i, stale);
	}
}

/* All of the peer's copy is the same, in memory. Any context that has claimed the mirror. */
void kfm_oos_zero(struct kfm_peer *p)
{
	if (!p->oos_count)
		return;
	mark_used(p->oos, p->m->bitmap_bytes, p->stale);
	memset(p->oos, 0, p->m->bitmap_bytes);
	p->oos_count = 0;
}

/* Clear all bits of a peer in memory. The caller goes on with kfm_bits_flush(). */
void kfm_bits_clear(struct kfm_peer *p)
{
	kfm_oos_zero(p);
	if (!p->active_count)
		return;
	mark_used(p->active, p->m->active_bytes, p->active_stale);
	memset(p->active, 0, p->m->active_bytes);
	p->active_count = 0;
}

/* ---- wire regions ---- */

/* The region behind those that the peer has, too */
static u32 shared_end(const struct kfm_peer *p)
{
	return region_of(p->m, kfm_shared(p) - 1) + 1;
}

/* May anything differ of what both nodes have? */
bool kfm_wire_any(const struct kfm_peer *p)
{
	return find_next_bit_le(p->oos, shared_end(p), 0) < shared_end(p);
}

/* Describe in kfm_peer.wire what may differ, for the peer to read. */
void kfm_wire_fill(struct kfm_peer *p)
{
	u32 up = kfm_wire_shift(kfm_shared(p)) - p->m->shift, end = shared_end(p), r;

	memset(p->wire, 0, kfm_wire_bytes(kfm_shared(p)));
	for (r = find_next_bit_le(p->oos, end, 0); r < end;
	     r = find_next_bit_le(p->oos, end, ((r >> up) + 1) << up))
		__set_bit_le(r >> up, p->wire);
}

/* Set the bits of the pieces that kfm_peer.wire has, from the piece @first to before @end. */
static void add_pieces(struct kfm_peer *p, u32 first, u32 end, u32 shift)
{
	u32 count = end - first, i;

	for (i = find_next_bit_le(p->wire, count, 0); i < count;
	     i = find_next_bit_le(p->wire, count, i + 1))
		set_piece(p, first + i, shift);
}

/* Pieces of a mirror */
static u32 pieces(u64 sectors, u32 shift)
{
	return ((sectors - 1) >> shift) + 1;
}

/* Add what a former primary has described in kfm_peer.wire, durably. Return: 0 or an error */
int kfm_wire_merge(struct kfm_peer *p)
{
	u32 shift = kfm_wire_shift(p->m->sectors);

	add_pieces(p, 0, pieces(p->m->sectors, shift), shift);
	return kfm_bits_flush(p->m);
}

/* ---- load and create ---- */

/* No bit is set in memory, as on the device. */
static void forget(struct kfm_peer *p)
{
	const struct kfm *m = p->m;

	memset(p->active, 0, m->active_bytes);
	memset(p->oos, 0, m->bitmap_bytes);
	bitmap_zero(p->active_stale, KFM_ACTIVE_BLOCKS);
	bitmap_zero(p->stale, m->bitmap_bytes / KFM_MAP_BLOCK);
	if (p->cached)
		bitmap_zero(p->cached, m->extents);
	p->active_count = 0;
	p->oos_count = 0;
}

/* Nothing is known of the device. */
static void all_stale(struct kfm *m)
{
	struct kfm_peer *p;

	kfm_for_each_peer(p, m) {
		bitmap_set(p->stale, 0, m->bitmap_bytes / KFM_MAP_BLOCK);
		bitmap_set(p->active_stale, 0, m->active_bytes / KFM_MAP_BLOCK);
	}
}

/* Clear all bits, on a device that may hold anything. Return: 0 or a negative error. */
int kfm_bits_create(struct kfm *m)
{
	struct kfm_peer *p;

	kfm_for_each_peer(p, m)
		forget(p);
	all_stale(m);
	return kfm_bits_flush(m);
}

/*
 * The bitmaps are whole in their new place. Store the superblock there; then the tag, and from then
 * on this is the metadata. The old superblocks are within the data now.
 */
static int move_end(struct kfm *m)
{
	u64 from = m->meta_from;
	int ret;

	ret = kfm_super_save(m) ?: kfm_label_tag(m, m->meta_at, m->sectors);
	if (ret)
		return ret;
	m->meta_from = m->meta_at;
	if (kfm_super_clear(m, from))
		DMWARN("%s: can't clear the old superblocks", kfm_name(m));
	return 0;
}

/*
 * Write all bitmaps in the present form and size. What is in their place may be of another one, so
 * until they are whole the superblock says that every region may differ. After that it says that
 * the mirror has grown. Metadata on the leg moves meanwhile: what is in the old place stays as it
 * is, and counts until the tag names the new one (label.c).
 */
static int rewrite(struct kfm *m)
{
	bool moves = m->meta_from != m->meta_at;
	int ret;

	m->sb.coarse = false;
	m->sb.plain = false;
	all_stale(m);
	if (moves) {	/* the tag may be none yet: the device has become longer */
		ret = kfm_label_tag(m, m->meta_from, m->sb.sectors) ?:
		      kfm_super_clear(m, m->meta_at);
	} else {
		m->sb.flags |= KFM_SB_BITS_LOST;
		ret = kfm_super_save(m);
	}
	ret = ret ?: kfm_bits_flush(m);
	if (ret)
		return ret;
	m->sb.flags &= ~KFM_SB_BITS_LOST;
	m->sb.sectors = m->sectors;
	return moves ? move_end(m) : kfm_super_save(m);
}

/* Clear what is behind the last bit, which a device may have set. Return: how many bits are set */
static u32 count_bits(u8 *map, u32 bits, u32 bytes)
{
	u32 used = DIV_ROUND_UP(bits, 8);

	memset(map + used, 0, bytes - used);
	if (bits % 8)
		map[used - 1] &= (1 << bits % 8) - 1;
	return memweight(map, bytes);
}

static int load_one(struct kfm_peer *p, u32 *bad)
{
	struct kfm *m = p->m;
	u32 known, damaged = *bad;
	int ret;

	ret = kfm_map_read(m, active_at(p), p->active, m->active_bytes / KFM_MAP_BLOCK, bad) ?:
	      kfm_map_read(m, oos_at(p), p->oos, m->bitmap_bytes / KFM_MAP_BLOCK, bad);
	if (ret)
		return ret;
	known = kfm_rest_map(p);
	p->active_count = count_bits(p->active, m->extents, m->active_bytes);
	p->oos_count = count_bits(p->oos, m->regions, m->bitmap_bytes);
	set_active(p);
	/* The bits of a damaged sector are set: then the others are taken as they are. */
	if (m->sb.flags & KFM_SB_REST && *bad == damaged && known != m->sb.maps[p->index]) {
		DMERR("%s: the bitmaps for %s are not as this node left them", kfm_name(m),
		      kfm_peer_name(p));
		set_regions(p, 0, m->regions);
		++*bad;
	}
	return 0;
}

/* Bits that a part of a bitmap has which fits @wire, and which is whole blocks of the device */
static u32 bits_at_once(bool plain)
{
	return plain ? KFM_WIRE_REGIONS_MAX :
		       KFM_WIRE_BYTES_MAX / KFM_MAP_BLOCK * KFM_MAP_BLOCK * 8;
}

/*
 * Add the pieces that a bitmap of the superblock's size at @at has. It is read by way of @wire.
 * Only in its present form it has checksums.
 */
static int load_pieces(struct kfm_peer *p, u64 at, u32 shift, u32 *bad)
{
	bool plain = p->m->sb.coarse || p->m->sb.plain;
	u32 count = pieces(p->m->sb.sectors, shift), done, n, blocks;
	u32 step = bits_at_once(plain);
	int ret;

	for (done = 0; done < count; done += n) {
		n = min(count - done, step);
		blocks = DIV_ROUND_UP(n, 8 * (plain ? KFM_BLOCK : KFM_MAP_BLOCK));
		if (plain)
			ret = kfm_meta_read(p->m, at, p->wire, blocks * KFM_BLOCK);
		else
			ret = kfm_map_read(p->m, at, p->wire, blocks, bad);
		if (ret)
			return ret;
		at += blocks * KFM_BLOCK;
		add_pieces(p, done, done + n, shift);
	}
	return 0;
}

static u32 other_room(const struct kfm_super *sb, u32 shift)
{
	return sb->plain ? kfm_bitmap_bytes(sb->sectors, shift) :
			   kfm_map_room(kfm_map_bytes(sb->sectors, shift));
}

/* Bitmaps of an older version, or of a shorter mirror: behind its end nothing is known. */
static int load_other(struct kfm_peer *p, u32 *bad)
{
	const struct kfm *m = p->m;
	u64 sectors = m->sb.sectors, at = KFM_BITMAP_AT;
	u32 region = kfm_region_shift(sectors), extent = kfm_extent_shift(sectors);
	int ret;

	if (m->sb.coarse) {
		ret = load_pieces(p, at + (u64)p->index * kfm_wire_bytes(sectors),
				  kfm_wire_shift(sectors), bad);
	} else {
		ret = load_pieces(p, at + (u64)p->index * other_room(&m->sb, extent), extent, bad);
		at += (u64)kfm_peer_count(m) * other_room(&m->sb, extent);
		at += (u64)p->index * other_room(&m->sb, region);
		ret = ret ?: load_pieces(p, at, region, bad);
	}
	if (sectors < m->sectors)
		set_regions(p, region_of(m, sectors), m->regions);
	return ret;
}

/*
 * Sectors of the bitmaps are damaged, or earlier ones. All regions that they described may differ,
 * and that is stored, so that the sectors check again.
 */
static int mend(struct kfm *m, u32 bad)
{
	DMERR("%s: the bitmaps are damaged (%u): what they described is resynchronised",
	      kfm_name(m), bad);
	all_stale(m);
	return kfm_bits_flush(m);
}

/**
 * kfm_bits_load() - read which regions may differ
 * @m: formatted mirror that is being resumed, with its superblock
 *
 * Bitmaps of an older version are written anew in the present form, and so are bitmaps that are not
 * whole, and those of a mirror that grows. Its new part may differ from that of any peer.
 *
 * Return: 0 or a negative error.
 */
int kfm_bits_load(struct kfm *m)
{
	bool lost = m->sb.flags & KFM_SB_BITS_LOST, grows = m->sb.sectors < m->sectors;
	bool other = m->sb.coarse || m->sb.plain || grows;
	struct kfm_peer *p;
	u32 bad = 0;
	int ret = 0;

	kfm_for_each_peer(p, m) {
		forget(p);
		if (lost)
			set_regions(p, 0, m->regions);
		else if (!ret && !p->witness)
			ret = other ? load_other(p, &bad) : load_one(p, &bad);
	}
	if (ret)
		return ret;
	if (!lost && !other)
		return bad ? mend(m, bad) : 0;
	DMINFO("%s: the bitmaps are written in the form of version %u, for %llu sectors",
	       kfm_name(m), KFM_VERSION, m->sectors);
	return rewrite(m);
}

/* ---- cleaning: extents that are not written any more are not active for long ---- */
