// SPDX-License-Identifier: GPL-2.0
/*
 * rest.c - a node that stops in order stores checksums of its bitmaps, and of a sample of its leg,
 * with its superblock (KFM_SB_REST). When it starts again, its disks have to be the same: a bitmap
 * that is an earlier one, and a leg that was exchanged or put back, are noticed, though nothing on
 * them tells of another time. The next superblock of any kind ends that.
 *
 * The sample are the first and the last region, which differ from mirror to mirror, and those that
 * were written last, which differ from time to time. Only a leg with neither a label nor the
 * metadata needs one: of the others more is known (label.c).
 *
 * All functions run in resume before the worker, or in the worker in the last step of a suspend.
 */
#include <linux/blkdev.h>
#include <linux/crc32c.h>
#include "bits.h"
#include "meta.h"
#include "mirror.h"
#include "peer.h"
#include "rest.h"

/* CRC32C of the bitmaps of a peer, as they are in memory and on the device */
u32 kfm_rest_map(const struct kfm_peer *p)
{
	return crc32c(crc32c(~0U, p->active, p->m->active_bytes), p->oos, p->m->bitmap_bytes);
}

/* Add a region of the leg, of a mirror of the size of the superblock. @crc: so far */
static int sample_add(struct kfm *m, u32 region, u32 *crc)
{
	u32 shift = kfm_region_shift(m->sb.sectors);
	u64 from = (u64)region << shift, end = min(from + (1 << shift), m->sb.sectors);
	u32 len;
	int ret;

	if (from >= end)
		return -EINVAL;
	len = round_down((end - from) * KFM_SECTOR, bdev_logical_block_size(m->leg->bdev));
	ret = kfm_io(m->leg->bdev, REQ_OP_READ, from * KFM_SECTOR, m->maps, len);
	*crc = crc32c(*crc, m->maps, len);
	return ret;
}

/* CRC32C of the sample that the superblock names. Return: 0 or a negative error */
static int sample(struct kfm *m, u32 *crc)
{
	u32 last = (m->sb.sectors - 1) >> kfm_region_shift(m->sb.sectors);
	unsigned int i;
	int ret;

	*crc = ~0U;
	ret = sample_add(m, 0, crc) ?: sample_add(m, last, crc);
	for (i = 0; i < KFM_SAMPLES; i++)
		ret = ret ?: sample_add(m, m->sb.regions[i], crc);
	return ret;
}

/* Has the leg nothing else that tells whose it is, and of which time? */
static bool is_bare(const struct kfm *m)
{
	return m->leg && !(m->sb.flags & (KFM_SB_LABEL | KFM_SB_INTERNAL));
}

/**
 * kfm_rest_begin() - the use of the disks has ended in order: store how they are
 * @m: formatted mirror, whose bitmaps are durable
 *
 * What the leg has in a volatile cache may not be there when it is read again, so it is flushed.
 * Without effect while this node is in doubt: the right leg may come back.
 */
void kfm_rest_begin(struct kfm *m)
{
	struct kfm_peer *p;

	if (m->meta_failed || (m->sb.flags & KFM_SB_DOUBT && m->sb.state == KFM_BLANK))
		return;
	kfm_for_each_peer(p, m)
		m->sb.maps[p->index] = kfm_rest_map(p);
	m->sb.flags |= KFM_SB_REST;
	memcpy(m->sb.regions, m->wrote_last, sizeof(m->sb.regions));
	if (is_bare(m) && !m->leg_failed && !m->detached && !m->log.failed &&
	    m->sb.state != KFM_BLANK && !blkdev_issue_flush(m->leg->bdev) &&
	    !sample(m, &m->sb.sample))
		m->sb.flags |= KFM_SB_SAMPLE;
	kfm_super_put(m);
}

/**
 * kfm_rest_check() - is the leg as it was left?
 * @m: formatted mirror that is being resumed, whose leg has no label
 *
 * If not, this node is in doubt, in memory, until a primary attaches: the right leg may come back.
 * A leg that can't be read is going to fail.
 */
void kfm_rest_check(struct kfm *m)
{
	u32 crc;

	if (!(m->sb.flags & KFM_SB_SAMPLE) || !is_bare(m) || m->sb.state == KFM_BLANK)
		return;
	if (sample(m, &crc) || crc == m->sb.sample)
		return;
	DMERR("%s: the leg is not as this node left it: nothing is known of what is on it",
	      kfm_name(m));
	m->sb.state = KFM_BLANK;
	m->sb.flags |= KFM_SB_DOUBT;
}

/* The use of the disks begins again. The next sample has what is not written until then, too. */
void kfm_rest_end(struct kfm *m)
{
	memcpy(m->wrote_last, m->sb.regions, sizeof(m->wrote_last));
	if (m->sb.flags & KFM_SB_REST && !(m->sb.flags & KFM_SB_DOUBT && m->sb.state == KFM_BLANK))
		kfm_super_save(m);
}
