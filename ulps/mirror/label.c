// SPDX-License-Identifier: GPL-2.0
/*
 * label.c - whose copy a leg has. The metadata says what is known of a copy, and may be on another
 * device: then nothing in it tells that the leg is that of another mirror, or was put back to what
 * it was at some time.
 *
 * If the metadata is elsewhere, the label is behind the data. It names mirror and node, and has a
 * *mark*, a random number that the superblock has as well. The mark changes whenever the node
 * begins to use the leg, and when it has ended that in order. So a leg that comes from a snapshot
 * has an older mark, unless the snapshot was made since the node last began, and the node has lost
 * its power after that. The new mark is in the superblock before it is in the label, and until that
 * is known to be durable either of both is right:
 *
 *	superblock: @label_next		label: the new mark		superblock: @label
 *
 * A mark that is neither of them, and no label at all, mean that nothing is known of this copy: the
 * node is in doubt, as after damage of a superblock (meta.c). A leg of another mirror, or of
 * another node, is refused.
 *
 * If the metadata is on the leg, leg and metadata can't be exchanged. The last block of the device
 * has a label of another kind, the *tag*, which says where the metadata is, and of which mirror.
 * When the mirror grows, the metadata moves to behind the new end. The tag is written when all of
 * it is there, and decides which of both places counts: until then the old one, from then on the
 * new one, whatever size the next table has. Programs read the tag, too, to know what the device
 * is.
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

/*
 * Return: 0; -ENODATA for zeros; -EMEDIUMTYPE for other data; -EBADMSG for damage; -EPROTONOSUPPORT
 * for a label of another version, of which the log tells; -EIO
 */
static int label_read(struct kfm *m, u64 at, struct kfm_label *label)
{
	int ret;

	if (kfm_io(m->leg->bdev, REQ_OP_READ, at, m->page, KFM_BLOCK))
		return -EIO;	/* whatever the device says of itself, it says nothing of a label */
	ret = kfm_label_decode(m->page, label);
	if (ret == -EPROTONOSUPPORT)
		kfm_other_version(m, "label of the leg", KFM_LABEL_VERSION, KFM_LABEL_VERSION);
	return ret == -ENODATA && memchr_inv(m->page, 0, KFM_BLOCK) ? -EMEDIUMTYPE : ret;
}

static int block_write(struct kfm *m, u64 at, struct kfm_label *label)
{
	if (!at)
		return -ENOSPC;
	memcpy(label->uuid, m->sb.uuid, sizeof(label->uuid));
	label->node = m->sb.node;
	memset(m->page, 0, KFM_BLOCK);
	kfm_label_encode(label, m->page);
	return kfm_io(m->leg->bdev, REQ_OP_WRITE | REQ_FUA | REQ_SYNC, at, m->page, KFM_BLOCK);
}

static int label_write(struct kfm *m, u64 sectors, u64 mark)
{
	struct kfm_label label = { .mark = mark, .sectors = sectors };

	return block_write(m, label_at(m, sectors), &label);
}

/**
 * kfm_label_tag() - say where the metadata on the leg is
 * @m: mirror with metadata on its leg
 * @meta_at: byte where it is
 * @sectors: size of the mirror that it describes
 *
 * Return: 0 or a negative error.
 */
int kfm_label_tag(struct kfm *m, u64 meta_at, u64 sectors)
{
	struct kfm_label tag = {
		.at = meta_at, .sectors = sectors, .flags = KFM_LABEL_INTERNAL,
	};
	u64 at = label_at(m, m->sectors);
	int ret = block_write(m, at, &tag);

	if (ret)
		return ret;
	m->tag = tag;
	m->tag_at = at;
	return 0;
}

/* Is a label one of a mirror and node whose superblock is known? */
static bool is_of(const struct kfm_label *label, const struct kfm_super *known)
{
	return label->node == known->node &&
	       !memcmp(label->uuid, known->uuid, sizeof(label->uuid));
}

/**
 * kfm_label_locate() - find the metadata on the leg
 * @m: mirror that is being resumed
 * @from: where it was before, or the place that follows from the size
 * @known: the superblock that was there; its node is 0 if none is known
 *
 * Sets kfm.meta_from, where a superblock is looked for, and kfm.tag, which the superblock has to
 * fit. A device without a tag has become longer since the tag was written, or has no metadata yet.
 * The tag of another mirror or node counts as none if @known is known: it is one of former times.
 *
 * Return: 0; -EPROTONOSUPPORT for a tag of another version, which stays; or -EIO: the tag can't be
 * read, and nothing else tells where the metadata is.
 */
int kfm_label_locate(struct kfm *m, u64 from, const struct kfm_super *known)
{
	u64 end = round_down(bdev_nr_bytes(m->leg->bdev), KFM_BLOCK);
	struct kfm_label *tag = &m->tag;
	int ret;

	m->meta_from = from;
	m->tag_at = end - KFM_BLOCK;
	ret = label_read(m, m->tag_at, tag);
	if (ret == -EIO || ret == -EBADMSG)
		DMERR("%s: the last block of the leg, which says where the metadata is, %s",
		      kfm_name(m), ret == -EIO ? "can't be read" : "is damaged");
	if (ret || !(tag->flags & KFM_LABEL_INTERNAL) || tag->at % KFM_BLOCK ||
	    tag->at > end - KFM_BITMAP_AT - KFM_BLOCK || (known->node && !is_of(tag, known)))
		memset(tag, 0, sizeof(*tag));
	else
		m->meta_from = tag->at;
	if (ret == -EPROTONOSUPPORT)
		return ret;
	return ret == -EIO && !known->node ? -EIO : 0;
}

/* Is what was found on the leg what the tag names? Return: 0 or -EMEDIUMTYPE */
int kfm_label_fits(const struct kfm *m)
{
	const struct kfm_label *tag = &m->tag;

	if (!m->internal || !tag->node || (m->formatted && is_of(tag, &m->sb)))
		return 0;
	DMERR("%s: the last block of the leg names mirror %pUb, %llu sectors, at byte %llu",
	      kfm_name(m), tag->uuid, tag->sectors, tag->at);
	DMERR("%s: that mirror is not there: if it is not needed, write zeros over that block",
	      kfm_name(m));
	return -EMEDIUMTYPE;
}

/**
 * kfm_label_may_create() - may the block of the label be written?
 * @m: mirror that is being formatted, or grows
 * @uuid: of the mirror
 *
 * Return: 0; -ENOSPC if there is no room for a label; -EMEDIUMTYPE if there is other data;
 * -ENOTUNIQ if that is the label of another mirror; or another negative error.
 */
int kfm_label_may_create(struct kfm *m, const u8 *uuid)
{
	u64 at = m->leg ? label_at(m, m->sectors) : 0;
	struct kfm_label label;
	int ret;

	if (!at)
		return -ENOSPC;
	ret = label_read(m, at, &label);
	if (!ret && memcmp(label.uuid, uuid, sizeof(label.uuid))) {
		DMERR("%s: the leg has the label of mirror %pUb, at byte %llu", kfm_name(m),
		      label.uuid, at);
		return -ENOTUNIQ;
	}
	if (ret == -EBADMSG)
		DMERR("%s: the leg has the label of a mirror, at byte %llu: it is damaged",
		      kfm_name(m), at);
	if (ret == -EBADMSG || ret == -EPROTONOSUPPORT)
		return -ENOTUNIQ;
	return ret == -ENODATA ? 0 : ret;
}

/* Give the leg its label, if kfm.sb says that it has one. Return: 0 or a negative error. */
int kfm_label_create(struct kfm *m)
{
	if (!(m->sb.flags & KFM_SB_LABEL))
		return 0;
	m->sb.label = kfm_random();
	return label_write(m, m->sectors, m->sb.label);
}

/* The label is known to have this mark: in memory. */
static void label_has(struct kfm *m, u64 mark)
{
	m->sb.label = mark;
	m->sb.label_next = 0;
}

/*
 * Nothing that is known of this copy has to be true: in memory, until a primary attaches. The
 * bitmaps stay as they are, which are those of the right leg.
 */
static void distrust(struct kfm *m, const char *why)
{
	DMERR("%s: %s: nothing is known of what is on it", kfm_name(m), why);
	m->sb.state = KFM_BLANK;
	m->sb.flags |= KFM_SB_DOUBT;
}

/**
 * kfm_label_check() - is the leg the one that the superblock describes?
 * @m: formatted mirror that is being resumed, with its superblock
 *
 * A leg that can't be read is going to fail. It may be any one, so its label is not written
 * (kfm.label_unread). A blank copy may be on any leg that no other copy is on, and that has nothing
 * else where the label is to be: nothing is known of it, as when its disk was replaced. A leg with
 * other data there may be that of anybody.
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
	m->label_unread = ret == -EIO;
	if (ret == -EPROTONOSUPPORT)
		return ret;
	if (ret == -EMEDIUMTYPE) {
		DMERR("%s: other data at byte %llu of the leg, where its label should be",
		      kfm_name(m), at);
		DMERR("%s: if these %u bytes are not needed, write zeros over them", kfm_name(m),
		      KFM_BLOCK);
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
 * The label at the old end is right until the superblock has the new size. A mirror that takes all
 * of the leg, or is followed by other data, has no label from then on.
 *
 * Return: 0 or a negative error.
 */
int kfm_label_move(struct kfm *m)
{
	int ret;

	if (m->sb.sectors == m->sectors || !(m->sb.flags & KFM_SB_LABEL))
		return 0;
	ret = kfm_label_may_create(m, m->sb.uuid);
	if (!ret)
		return label_write(m, m->sectors, m->sb.label);
	if (ret != -ENOSPC && ret != -EMEDIUMTYPE && ret != -ENOTUNIQ)
		return ret;
	DMWARN("%s: the leg has no room for a label any more%s", kfm_name(m),
	       ret == -ENOSPC ? "" : ": there is other data behind the mirror");
	m->sb.flags &= ~KFM_SB_LABEL;
	m->sb.label = 0;
	m->sb.label_next = 0;
	return 0;
}

/**
 * kfm_label_renew() - the use of the leg begins, or has ended: change the mark
 * @m: formatted mirror
 *
 * Without effect if the leg, or the metadata, has failed, and while this node is in doubt and no
 * primary has attached: if the leg is the wrong one, the right one may come back. If the label
 * can't be written, the next start takes the old mark for right as well as the new one. The tag
 * changes only if the leg has become longer.
 *
 * Return: 0 or a negative error.
 */
int kfm_label_renew(struct kfm *m)
{
	int ret;

	if (m->leg_failed || m->meta_failed || m->detached)
		return 0;
	if (m->internal)
		return m->tag.at == m->meta_at && m->tag.sectors == m->sectors &&
		       m->tag_at == label_at(m, m->sectors) ?
		       0 : kfm_label_tag(m, m->meta_at, m->sectors);
	if (!(m->sb.flags & KFM_SB_LABEL) || m->label_unread ||
	    (m->sb.flags & KFM_SB_DOUBT && m->sb.state == KFM_BLANK))
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
 * @m: mirror
 * @found: UUID of the mirror that the metadata is of, or will be
 *
 * The tool puts the UUID that the configuration names into that of the device. Another one here
 * means that the disks of two mirrors were exchanged.
 *
 * Return: 0, also for a device whose UUID says nothing; or -EMEDIUMTYPE.
 */
int kfm_label_name(const struct kfm *m, const u8 *found)
{
	char name[DM_NAME_LEN], id[DM_UUID_LEN];
	u8 named[UUID_SIZE];
	uuid_t uuid;

	if (dm_copy_name_and_uuid(dm_table_get_md(m->ti->table), name, id) ||
	    strncmp(id, UUID_PREFIX, strlen(UUID_PREFIX)) ||
	    uuid_parse(id + strlen(UUID_PREFIX), &uuid))
		return 0;
	export_uuid(named, &uuid);
	if (!memcmp(named, found, sizeof(named)))
		return 0;
	DMERR("%s: the device is that of mirror %pUb, and the metadata that of %pUb",
	      kfm_name(m), named, found);
	return -EMEDIUMTYPE;
}
