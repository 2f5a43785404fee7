// SPDX-License-Identifier: GPL-2.0
/*
 * meta.c - the superblock, and I/O of the metadata device. The worker calls these functions, and
 * resume does before it starts the worker. bits.c has the bitmaps.
 */
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

/* ---- superblock ---- */

#define BLANK	(128 << 10)	/* bytes; btrfs begins with 64 KiB of zeros */

/**
 * kfm_blank() - does a device begin with zeros?
 * @m: mirror; its page is used
 * @bdev: metadata or log device
 *
 * Superblocks at the end of a device, as some of md have, are not looked for.
 *
 * Return: 0; -EMEDIUMTYPE if another user has written it; or an error of the device.
 */
int kfm_blank(struct kfm *m, struct block_device *bdev)
{
	u64 at, end = min_t(u64, BLANK, bdev_nr_bytes(bdev));
	int ret;

	for (at = 0; at + KFM_BLOCK <= end; at += KFM_BLOCK) {
		ret = kfm_io(bdev, REQ_OP_READ, at, m->page, KFM_BLOCK);
		if (ret)
			return ret == -ENODATA ? -EIO : ret;
		if (memchr_inv(m->page, 0, KFM_BLOCK))
			return -EMEDIUMTYPE;
	}
	return 0;
}

/*
 * One copy does not check. No write of this node leaves that behind, as each copy is one sector, so
 * the device has damaged it, and it may be the newer one. What that said is not known: that the
 * other nodes went on, or that this node did, that the copy is partly overwritten, or which
 * regions differ. Its serial number tells nothing either, because one bit may make it lower by 2.
 */
static void doubt(struct kfm *m)
{
	DMERR("%s: one superblock is damaged: what it said is not known", kfm_name(m));
	m->sb.state = KFM_BLANK;
	m->sb.flags |= KFM_SB_DOUBT | KFM_SB_BITS_LOST;
	m->sb.coarse = false;
}

/**
 * kfm_super_load() - read the superblock
 * @m: mirror
 *
 * If one of both copies is damaged, this node is in doubt (KFM_SB_DOUBT), in memory: the caller goes
 * on with kfm_super_settle().
 *
 * Return: 0, with kfm.sb and kfm.formatted set; a device of zeros is not formatted. A negative
 * error if the device holds other data, or a superblock of a longer mirror or another version. The
 * device is not written.
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
		/* ext4 leaves its first two sectors empty */
		if (ret[i] == -ENODATA && memchr_inv(m->page, 0, KFM_BLOCK))
			ret[i] = -EMEDIUMTYPE;
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
	/* the first superblock of a device leaves the other place empty */
	if (m->formatted && (ret[0] || ret[1]) &&
	    (ret[0] == -EBADMSG || ret[1] == -EBADMSG || m->sb.serial > 1))
		doubt(m);
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
	/* a log may have acknowledged writes, and a log of former times must never be replayed */
	if (m->formatted && !m->logdev != !!(m->sb.flags & KFM_SB_NO_LOG)) {
		DMERR("%s: this node was created with%s a log device, and keeps it so", kfm_name(m),
		      m->logdev ? "out" : "");
		return -EINVAL;
	}
	return 0;
}

/**
 * kfm_super_settle() - decide what follows from a damaged superblock
 * @m: formatted mirror, with KFM_SB_DOUBT
 * @known: what this node had stored last, if it has run until now; or NULL
 *
 * A resume knows what was stored before the suspend, and stores it again. Else the doubt becomes
 * durable. Either write takes the place of the damaged copy.
 *
 * Return: 0 or a negative error.
 */
int kfm_super_settle(struct kfm *m, const struct kfm_super *known)
{
	u64 serial = m->sb.serial;

	if (known && known->node == m->sb.node && known->serial - serial <= 1) {
		m->sb = *known;
		m->sb.serial = serial;
	}
	return kfm_super_save(m);
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
