// SPDX-License-Identifier: GPL-2.0
/*
 * meta.c - the superblock, and I/O of the metadata device. The worker calls these functions, and
 * resume does before it starts the worker. bits.c has the bitmaps.
 */
#include <linux/crc32c.h>
#include <linux/mm.h>
#include <linux/vmalloc.h>
#include "flush.h"
#include "log.h"
#include "meta.h"
#include "mirror.h"
#include "peer.h"

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

/* Read metadata, from where it is. @byte: from its beginning on. Return: 0 or a negative error */
int kfm_meta_read(struct kfm *m, u64 byte, void *buf, u32 len)
{
	return kfm_io(m->meta->bdev, REQ_OP_READ, m->meta_from + byte, buf, len);
}

/* Write metadata, to where it is to be. Return: 0 or a negative error */
int kfm_meta_write(struct kfm *m, blk_opf_t flags, u64 byte, void *buf, u32 len)
{
	return kfm_io(m->meta->bdev, REQ_OP_WRITE | REQ_SYNC | flags, m->meta_at + byte, buf, len);
}

/* ---- bitmaps: each sector has a CRC ---- */

static u32 map_crc(const u8 *map, u64 at)
{
	__le64 place = cpu_to_le64(at);

	return crc32c(crc32c(~0U, &place, sizeof(place)), map, KFM_MAP_BYTES);
}

/**
 * kfm_map_encode() - make a sector of a bitmap
 * @map: KFM_MAP_BYTES of the bitmap
 * @at: byte of the metadata where the sector is
 * @sector: KFM_SECTOR bytes
 */
void kfm_map_encode(const u8 *map, u64 at, u8 *sector)
{
	__le32 crc = cpu_to_le32(map_crc(map, at));

	memcpy(sector, map, KFM_MAP_BYTES);
	memcpy(sector + KFM_MAP_BYTES, &crc, sizeof(crc));
}

/* Return: true, with the bits in @map; or the sector does not check, and all bits are set */
bool kfm_map_decode(const u8 *sector, u64 at, u8 *map)
{
	__le32 crc = cpu_to_le32(map_crc(sector, at));
	bool intact = !memcmp(sector + KFM_MAP_BYTES, &crc, sizeof(crc));

	if (intact)
		memcpy(map, sector, KFM_MAP_BYTES);
	else
		memset(map, 0xff, KFM_MAP_BYTES);
	return intact;
}

/**
 * kfm_map_write() - write blocks of a bitmap
 * @m: mirror
 * @flags: REQ_FUA or 0
 * @at: byte of the metadata, where the first one is
 * @map: what the first one has of the bitmap
 * @blocks: how many
 *
 * Return: 0 or a negative error.
 */
int kfm_map_write(struct kfm *m, blk_opf_t flags, u64 at, const u8 *map, u32 blocks)
{
	u32 n, i;
	int ret;

	for (; blocks; blocks -= n, at += n * KFM_BLOCK) {
		n = min_t(u32, blocks, KFM_MAP_BLOCKS);
		for (i = 0; i < n * KFM_BLOCK; i += KFM_SECTOR, map += KFM_MAP_BYTES)
			kfm_map_encode(map, at + i, m->maps + i);
		ret = kfm_meta_write(m, flags, at, m->maps, n * KFM_BLOCK);
		if (ret)
			return ret;
	}
	return 0;
}

/**
 * kfm_map_read() - read blocks of a bitmap
 * @m: mirror
 * @at: byte of the metadata, where the first one is
 * @map: for what they have of the bitmap. What a damaged sector has of it is set
 * @blocks: how many
 * @bad: the number of damaged sectors is added
 *
 * Return: 0 or a negative error.
 */
int kfm_map_read(struct kfm *m, u64 at, u8 *map, u32 blocks, u32 *bad)
{
	u32 n, i;
	int ret;

	for (; blocks; blocks -= n, at += n * KFM_BLOCK) {
		n = min_t(u32, blocks, KFM_MAP_BLOCKS);
		ret = kfm_meta_read(m, at, m->maps, n * KFM_BLOCK);
		if (ret)
			return ret;
		for (i = 0; i < n * KFM_BLOCK; i += KFM_SECTOR, map += KFM_MAP_BYTES)
			*bad += !kfm_map_decode(m->maps + i, at + i, map);
	}
	return 0;
}

/**
 * kfm_other_version() - say that a block is of a version that this module does not read
 * @m: mirror, with the block in kfm.page
 * @what: what it is, for the kernel's log
 * @lowest: the first version that this module reads
 * @highest: the last one
 *
 * The caller refuses the devices, so that nothing on them changes.
 */
void kfm_other_version(const struct kfm *m, const char *what, u32 lowest, u32 highest)
{
	u32 version = le32_to_cpup(m->page + KFM_VERSION_AT);

	DMERR("%s: the %s has version %u, and this module reads %u to %u: use %s kfabric",
	      kfm_name(m), what, version, lowest, highest,
	      version > highest ? "a newer" : "an older");
}

/* ---- superblock ---- */

/*
 * Is a sector all zeros, or an empty one of a bitmap at @place? A `create` that has failed leaves
 * such sectors.
 */
static bool is_empty(const u8 *sector, u64 place)
{
	__le32 crc = cpu_to_le32(map_crc(sector, place));

	return !memchr_inv(sector, 0, KFM_MAP_BYTES) &&
	       (!memchr_inv(sector + KFM_MAP_BYTES, 0, sizeof(crc)) ||
		(place >= KFM_BITMAP_AT && !memcmp(sector + KFM_MAP_BYTES, &crc, sizeof(crc))));
}

/* Is a range blank? @meta: it begins with the metadata */
static int blank(struct kfm *m, struct block_device *bdev, u64 from, u64 to, bool meta)
{
	u64 at, place;
	u32 i, n;

	to = round_down(to, KFM_BLOCK);
	for (at = from; at < to; at += n) {
		n = min_t(u64, to - at, KFM_MAP_BLOCKS * KFM_BLOCK);
		if (kfm_io(bdev, REQ_OP_READ, at, m->maps, n))
			return -EIO;
		for (i = 0; i < n; i += KFM_SECTOR) {
			place = meta ? at + i - from : 0;
			if (is_empty(m->maps + i, place))
				continue;
			DMERR("%s: there is other data at byte %llu of %pg", kfm_name(m), at + i,
			      bdev);
			return -EMEDIUMTYPE;
		}
	}
	return 0;
}

/**
 * kfm_blank() - does a device have zeros?
 * @m: mirror
 * @bdev: device
 * @from: first byte, a multiple of KFM_BLOCK
 * @to: the byte behind the last one
 *
 * Return: 0; -EMEDIUMTYPE if another user has written it; or -EIO.
 */
int kfm_blank(struct kfm *m, struct block_device *bdev, u64 from, u64 to)
{
	return blank(m, bdev, from, to, false);
}

/* The same of the first @len bytes of the metadata, which may have empty bitmaps */
int kfm_meta_blank(struct kfm *m, u64 len)
{
	return blank(m, m->meta->bdev, m->meta_at, m->meta_at + len, true);
}

/**
 * kfm_super_doubt() - what this node has stored last may not be known any more
 * @m: formatted mirror
 * @why: for the kernel's log
 *
 * What the lost superblock said may be that the other nodes went on, or that this node did, that
 * the copy is partly overwritten, or which regions differ.
 *
 * In memory: the caller stores it.
 */
void kfm_super_doubt(struct kfm *m, const char *why)
{
	DMERR("%s: %s: what this node has stored last is not known", kfm_name(m), why);
	m->sb.state = KFM_BLANK;
	m->sb.flags |= KFM_SB_DOUBT | KFM_SB_BITS_LOST;
	m->sb.coarse = false;
	m->sb.plain = false;
}

static const char *why_not(const struct kfm *m, int err)
{
	switch (err) {
	case -EMEDIUMTYPE:
		return m->internal ?
			"there is other data: is it another leg, or has it another size?" :
			"there is other data; if not needed, write zeros over its first 128 KiB";
	case -EBADMSG:
		return "both superblocks are damaged";
	default:
		return "it can't be read";
	}
}

/*
 * Are the serial numbers of both places those of two successive writes, each in its place? If not,
 * a place has given back what it had before.
 */
bool kfm_in_turn(const u64 *serials)
{
	u64 first = min(serials[0], serials[1]);

	return !(serials[0] & 1) && serials[1] & 1 && max(serials[0], serials[1]) - first == 1;
}

/**
 * kfm_super_load() - read the superblock
 * @m: mirror
 *
 * No write of this node leaves a copy that does not check, as each is one sector: its device has
 * damaged it. Nor does any write leave both with numbers that do not follow one another: one of
 * them is an earlier one. Either may have been the newer one, so this node is in doubt
 * (KFM_SB_DOUBT), in memory: the caller goes on with kfm_super_settle().
 *
 * Return: 0, with kfm.sb and kfm.formatted set; a device of zeros is not formatted. -EPROTONOSUPPORT
 * if a superblock is of another version, which may be the newer one of both. Another negative error
 * if the device holds other data, or a superblock of a longer mirror. The device is not written.
 */
int kfm_super_load(struct kfm *m)
{
	struct kfm_super one;
	u64 serials[2] = {};
	int ret[2], i;

	m->formatted = false;
	for (i = 0; i < 2; i++) {
		ret[i] = kfm_meta_read(m, i * KFM_BLOCK, m->page, KFM_BLOCK);
		if (ret[i] == -ENODATA)
			ret[i] = -EIO;	/* a medium error, not a block of zeros */
		if (!ret[i])
			ret[i] = kfm_super_decode(m->page, &one);
		if (ret[i] == -EPROTONOSUPPORT) {
			kfm_other_version(m, "metadata", KFM_VERSION_LOWEST, KFM_VERSION);
			return ret[i];
		}
		/* ext4 leaves its first two sectors empty */
		if (ret[i] == -ENODATA && memchr_inv(m->page, 0, KFM_BLOCK))
			ret[i] = -EMEDIUMTYPE;
		if (ret[i])
			continue;
		serials[i] = one.serial;
		if (m->formatted && one.serial <= m->sb.serial)
			continue;
		m->sb = one;
		m->formatted = true;
	}
	/* a copy with another magic may be the newer one, so refuse the device */
	for (i = 0; i < 2; i++) {
		if (ret[i] && ret[i] != -ENODATA && (ret[i] != -EBADMSG || !m->formatted)) {
			DMERR("%s: no superblock at byte %llu of the metadata's device: %s (%d)",
			      kfm_name(m), m->meta_from + i * KFM_BLOCK, why_not(m, ret[i]),
			      ret[i]);
			return ret[i];
		}
	}
	/* the first superblock of a device leaves the other place empty */
	if (m->formatted && (ret[0] || ret[1]) &&
	    (ret[0] == -EBADMSG || ret[1] == -EBADMSG || m->sb.serial > 1))
		kfm_super_doubt(m, "one superblock is damaged");
	else if (m->formatted && !ret[0] && !ret[1] && !kfm_in_turn(serials))
		kfm_super_doubt(m, "one superblock is an earlier one");
	if (m->formatted && m->sb.peers != kfm_peer_count(m)) {
		DMERR("%s: the mirror has %u peers, its superblock says %u", kfm_name(m),
		      kfm_peer_count(m), m->sb.peers);
		return -EINVAL;
	}
	if (m->formatted && m->sb.sectors > m->sectors) {
		DMERR("%s: the table has %llu sectors, and the mirror %llu, which it keeps",
		      kfm_name(m), m->sectors, m->sb.sectors);
		return -EINVAL;
	}
	/* what a witness has stored looks like the metadata of a copy */
	if (m->formatted && m->witness != !!(m->sb.flags & KFM_SB_WITNESS)) {
		DMERR("%s: this node was created with%s a copy, and keeps it so", kfm_name(m),
		      m->witness ? "" : "out");
		return -EINVAL;
	}
	if (m->formatted && m->internal != !!(m->sb.flags & KFM_SB_INTERNAL)) {
		DMERR("%s: this node was created with%s metadata on its leg, and keeps it so",
		      kfm_name(m), m->internal ? "out" : "");
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

/**
 * kfm_super_settle() - decide what follows from a damaged or an earlier superblock
 * @m: formatted mirror, with KFM_SB_DOUBT
 * @known: what this node had stored last, if it has run until now; or NULL
 *
 * A resume knows what was stored before the suspend, and stores it again, if no more than that is
 * missing: the bitmaps may be earlier ones, too. Else the doubt becomes durable. Both places have
 * what is stored then.
 *
 * Return: 0 or a negative error.
 */
int kfm_super_settle(struct kfm *m, const struct kfm_super *known)
{
	u64 serial = m->sb.serial;

	if (known && known->node == m->sb.node && known->serial - serial <= 2) {
		m->sb = *known;
		m->sb.serial = serial;
		/* with KFM_SB_REST: bitmaps and leg are compared next */
		return kfm_super_put(m);
	}
	m->sb.serial += KFM_SERIAL_STEP;
	return kfm_super_save(m);
}

/* Write kfm.sb to the place that has the older one. */
static int super_write(struct kfm *m)
{
	m->sb.serial++;
	memset(m->page, 0, KFM_BLOCK);
	kfm_super_encode(&m->sb, m->page);
	return kfm_meta_write(m, REQ_FUA, (m->sb.serial & 1) * KFM_BLOCK, m->page, KFM_BLOCK);
}

/*
 * Make kfm.sb durable in both places, with all of its flags. So if a device loses one of both
 * writes, and says that it was done, the other place has the same, or the numbers do not follow one
 * another. After an error the next attempt writes the same places.
 */
int kfm_super_put(struct kfm *m)
{
	u64 serial = m->sb.serial;
	int ret;

	m->sb.head = max(m->sb.head, m->log.head.serial);
	ret = super_write(m) ?: super_write(m);
	if (!ret)
		return 0;
	if (!m->meta_failed)
		DMERR("%s: can't write the superblock (%d)", kfm_name(m), ret);
	m->sb.serial = serial;
	m->meta_failed = true;
	return ret;
}

/* Make kfm.sb durable. Its disks do not stay as they are (rest.c). Return: 0 or a negative error */
int kfm_super_save(struct kfm *m)
{
	m->sb.flags &= ~(KFM_SB_REST | KFM_SB_SAMPLE);
	return kfm_super_put(m);
}

/* Make the places of both superblocks zeros, from byte @at on. Return: 0 or a negative error */
int kfm_super_clear(struct kfm *m, u64 at)
{
	int i, ret = 0;

	memset(m->page, 0, KFM_BLOCK);
	for (i = 0; i < 2 && !ret; i++)
		ret = kfm_io(m->meta->bdev, REQ_OP_WRITE | REQ_FUA | REQ_SYNC, at + i * KFM_BLOCK,
			     m->page, KFM_BLOCK);
	return ret;
}
