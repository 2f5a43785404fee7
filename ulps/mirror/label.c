// SPDX-License-Identifier: GPL-2.0
/*
 * label.c - whose copy a leg has. The metadata says what is known of a copy, and may be on another
 * device: then nothing in it tells that the leg is that of another mirror, or was put back to what
 * it was at some time.
 *
 * If the metadata is elsewhere, the label is behind the data. It names mirror and node, and has a
 * *mark*, a random number that the superblock has as well. Both are changed whenever the node begins
 * to use the leg, and when it has ended that in order. So a leg that comes from a snapshot has an
 * older mark, unless the snapshot was made since the node last began, and it has lost its power after
 * that. The new mark is in the superblock before it is in the label, and until that is known to be
 * durable either of both is right:
 *
 *	superblock: @label_next		label: the new mark		superblock: @label
 *
 * A mark that is neither of them, and no label at all, mean that nothing is known of this copy: the
 * node is in doubt, as after damage of a superblock (meta.c). A leg of another mirror, or of another
 * node, is refused.
 *
 * If the metadata is on the leg, the two can't be exchanged, and the superblocks are the label. The
 * last block of the device has one that names them, for programs that look for one there, such as
 * the tool: the kernel does not read it to decide anything.
 *
 * All functions run in resume before the worker, or in the worker.
 */
#include <linux/math.h>
#include <linux/uuid.h>
#include "label.h"
#include "log.h"
#include "meta.h"
#include "mirror.h"
#include "peer.h"

#define UUID_PREFIX	"KFI-MIRROR-"	/* of the UUID that `kfi mirror` gives to a device */

/* The first byte behind the data that begins a block */
u64 kfm_behind_data(u64 sectors)
{
	return round_up(sectors * KFM_SECTOR, KFM_BLOCK);
}

/* The byte behind the metadata, and behind the log, on the leg */
static u64 internal_end(const struct kfm *m)
{
	u64 end = m->meta_at + kfm_meta_bytes(m->sectors, kfm_peer_count(m));

	return m->log_at ? m->log_at + KFM_RING_AT + max(m->log.ring_len, m->log.room) : end;
}

/* Where the label is, or 0 if the leg has no room for one behind @sectors. It may have shrunk. */
static u64 label_at(const struct kfm *m, u64 sectors)
{
	u64 end = round_down(bdev_nr_bytes(m->leg->bdev), KFM_BLOCK);
	u64 from = m->internal ? internal_end(m) : kfm_behind_data(sectors);

	if (from + KFM_BLOCK > end)
		return 0;
	return m->internal ? end - KFM_BLOCK : from;
}

/* Return: 0; -ENODATA for zeros; -EMEDIUMTYPE for other data; -EBADMSG for damage; -EIO */
static int label_read(struct kfm *m, u64 at, struct kfm_label *label)
{
	int ret;

	if (kfm_io(m->leg->bdev, REQ_OP_READ, at, m->page, KFM_BLOCK))
		return -EIO;	/* whatever the device says of itself, it says nothing of a label */
	ret = kfm_label_decode(m->page, label);
	return ret == -ENODATA && memchr_inv(m->page, 0, KFM_BLOCK) ? -EMEDIUMTYPE : ret;
}

static int label_write(struct kfm *m, u64 sectors, u64 mark)
{
	struct kfm_label label = { .node = m->sb.node, .mark = mark, .sectors = sectors };
	u64 at = label_at(m, sectors);

	if (!at)
		return -ENOSPC;
	memcpy(label.uuid, m->sb.uuid, sizeof(label.uuid));
	if (m->internal) {
		label.flags = KFM_LABEL_INTERNAL;
		label.at = m->meta_at;
	}
	memset(m->page, 0, KFM_BLOCK);
	kfm_label_encode(&label, m->page);
	return kfm_io(m->leg->bdev, REQ_OP_WRITE | REQ_FUA | REQ_SYNC, at, m->page, KFM_BLOCK);
}

/**
 * kfm_label_may_create() - may the block of the label be written?
 * @m: mirror that is being formatted
 *
 * Return: 0; -ENOSPC if there is no room for a label; -EMEDIUMTYPE if that has other data than a
 * label of any mirror; or another negative error.
 */
int kfm_label_may_create(struct kfm *m)
{
	u64 at = m->leg ? label_at(m, m->sectors) : 0;
	struct kfm_label label;
	int ret;

	if (!at)
		return -ENOSPC;
	ret = label_read(m, at, &label);
	return ret == -ENODATA || ret == -EBADMSG || ret == -EPROTONOSUPPORT ? 0 : ret;
}

/* Give the leg its label, if there is one: kfm.sb says so. Return: 0 or a negative error. */
int kfm_label_create(struct kfm *m)
{
	if (m->sb.flags & KFM_SB_LABEL)
		m->sb.label = kfm_random();
	return m->sb.flags & (KFM_SB_LABEL | KFM_SB_INTERNAL) ?
	       label_write(m, m->sectors, m->sb.label) : 0;
}

/* The label is known to have this mark: in memory. */
static void label_has(struct kfm *m, u64 mark)
{
	m->sb.label = mark;
	m->sb.label_next = 0;
}

/* Nothing that is known of this copy has to be true. */
static void distrust(struct kfm *m, const char *why)
{
	DMERR("%s: %s: nothing is known of what is on it", kfm_name(m), why);
	kfm_super_doubt(m);
}

/**
 * kfm_label_check() - is the leg the one that the superblock describes?
 * @m: formatted mirror that is being resumed, with its superblock
 *
 * A leg that can't be read is no other one; it is going to fail. A blank copy may be on any leg
 * that no other copy is on, and that has nothing else where the label is to be: nothing is known of
 * it, as when its disk was replaced. A leg with other data there may be that of anybody.
 *
 * A label that has the mark that was to be the next one has it from now on, also when a further one
 * is to come.
 *
 * Return: 0, and this node may be in doubt (KFM_SB_DOUBT), in memory; -EMEDIUMTYPE if the leg is
 * that of another mirror or node, or of something else; or another negative error.
 */
int kfm_label_check(struct kfm *m)
{
	struct kfm_label label;
	int ret = -ENODATA;
	u64 at;

	if (!(m->sb.flags & KFM_SB_LABEL))
		return 0;
	at = label_at(m, m->sb.sectors);
	if (at)
		ret = label_read(m, at, &label);
	if (ret == -EPROTONOSUPPORT)
		return ret;
	if (ret == -EMEDIUMTYPE) {
		DMERR("%s: the leg has other data where its label should be, at byte %llu: if these 4096 bytes are not needed, write zeros over them",
		      kfm_name(m), at);
		return ret;
	}
	if (ret == -EIO) {
		DMWARN("%s: can't read the label of the leg", kfm_name(m));
		return 0;
	}
	if (!ret && memcmp(label.uuid, m->sb.uuid, sizeof(label.uuid))) {
		DMERR("%s: the leg is that of mirror %pUb, and the metadata that of %pUb",
		      kfm_name(m), label.uuid, m->sb.uuid);
		return -EMEDIUMTYPE;
	}
	if (!ret && label.node != m->sb.node) {
		DMERR("%s: the leg is that of another node, or from before `create`", kfm_name(m));
		return -EMEDIUMTYPE;
	}
	if (m->sb.state == KFM_BLANK)
		return 0;
	if (ret == -ENODATA)
		distrust(m, "the leg has no label, so it is another disk");
	else if (ret)
		distrust(m, "the label of the leg is damaged");
	else if (label.mark != m->sb.label && (!m->sb.label_next || label.mark != m->sb.label_next))
		distrust(m, "leg and metadata are not of the same time: one of them was put back");
	else if (label.mark != m->sb.label)
		label_has(m, label.mark);
	return 0;
}

/**
 * kfm_label_move() - the mirror becomes longer: write the label behind the new end of the data
 * @m: mirror that is being resumed, whose superblock has the old size
 *
 * The label at the old end is right until the superblock has the new size. A mirror that takes all of
 * the leg, or is followed by other data, has no label from then on.
 *
 * Return: 0 or a negative error.
 */
int kfm_label_move(struct kfm *m)
{
	int ret;

	if (m->sb.sectors == m->sectors || !(m->sb.flags & KFM_SB_LABEL))
		return 0;
	ret = kfm_label_may_create(m);
	if (!ret)
		return label_write(m, m->sectors, m->sb.label);
	if (ret != -ENOSPC && ret != -EMEDIUMTYPE)
		return ret;
	DMWARN("%s: the leg has no room for a label any more%s", kfm_name(m),
	       ret == -EMEDIUMTYPE ? ": there is other data behind the mirror" : "");
	m->sb.flags &= ~KFM_SB_LABEL;
	m->sb.label = 0;
	m->sb.label_next = 0;
	return 0;
}

/* The last block of a leg with the metadata: also after the leg has become longer. */
static int tag(struct kfm *m)
{
	struct kfm_label label;
	u64 at = label_at(m, m->sectors);

	if (at && !label_read(m, at, &label) && label.node == m->sb.node && label.at == m->meta_at &&
	    label.sectors == m->sectors && !memcmp(label.uuid, m->sb.uuid, sizeof(label.uuid)))
		return 0;
	return label_write(m, m->sectors, 0);
}

/**
 * kfm_label_renew() - the use of the leg begins, or has ended: change the mark
 * @m: formatted mirror
 *
 * Without effect if the leg, or the metadata, has failed. If the label can't be written, the next
 * start takes the old mark for right as well as the new one.
 *
 * Return: 0 or a negative error.
 */
int kfm_label_renew(struct kfm *m)
{
	int ret;

	if (m->leg_failed || m->meta_failed || m->detached)
		return 0;
	if (m->internal)
		return tag(m);
	if (!(m->sb.flags & KFM_SB_LABEL))
		return 0;
	/* one that the device did not take, as it has said, may be there: it stays a right one */
	m->sb.label_next = m->sb.label_next ?: kfm_random();
	ret = kfm_super_save(m) ?: label_write(m, m->sectors, m->sb.label_next);
	if (ret)
		return ret;
	label_has(m, m->sb.label_next);
	return kfm_super_save(m);
}

/**
 * kfm_label_name() - does the device have the UUID of this mirror?
 * @m: formatted mirror
 *
 * The tool puts the UUID that the configuration names into that of the device. Another one here
 * means that the disks of two mirrors were exchanged.
 *
 * Return: 0, also for a device whose UUID says nothing; or -EMEDIUMTYPE.
 */
int kfm_label_name(const struct kfm *m)
{
	char name[DM_NAME_LEN], id[DM_UUID_LEN];
	u8 found[UUID_SIZE];
	uuid_t uuid;

	if (dm_copy_name_and_uuid(dm_table_get_md(m->ti->table), name, id) ||
	    strncmp(id, UUID_PREFIX, strlen(UUID_PREFIX)) ||
	    uuid_parse(id + strlen(UUID_PREFIX), &uuid))
		return 0;
	export_uuid(found, &uuid);
	if (!memcmp(found, m->sb.uuid, sizeof(found)))
		return 0;
	DMERR("%s: the metadata is that of mirror %pUb: were disks exchanged?", kfm_name(m),
	      m->sb.uuid);
	return -EMEDIUMTYPE;
}
