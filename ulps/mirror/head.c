// SPDX-License-Identifier: GPL-2.0
/*
 * head.c - the heads of a log, which say where a replay begins. The worker calls these functions,
 * and resume does before it starts the worker.
 */
#include <linux/sched/mm.h>
#include <linux/vmalloc.h>
#include "log.h"
#include "meta.h"
#include "mirror.h"
#include "recent.h"
#include "ring.h"

/* Without a log device the head is in memory alone: it says whose direct records are taken. */
int kfm_head_save(struct kfm *m, struct kfm_log_head *head)
{
	int ret;

	if (!m->logdev)
		return 0;
	head->serial++;
	head->super = m->sb.serial;
	head->owner = m->sb.node;
	memset(m->page, 0, KFM_BLOCK);
	kfm_log_encode(head, m->page);
	ret = kfm_io(m->logdev->bdev, REQ_OP_WRITE | REQ_FUA | REQ_SYNC,
		     m->log_at + (head->serial & 1) * KFM_BLOCK, m->page, KFM_BLOCK);
	if (ret) {
		DMERR("%s: can't write the head of the log (%d)", kfm_name(m), ret);
		head->serial--;		/* the next attempt writes the same place */
	}
	return ret;
}

/* Bytes of the device that a ring may have. The last block of a leg is not the log's. */
u32 kfm_device_room(const struct kfm *m)
{
	u64 bytes = bdev_nr_bytes(m->logdev->bdev), used = m->log_at + KFM_RING_AT;

	if (m->log_at)
		used += KFM_BLOCK;
	bytes = bytes > used ? bytes - used : 0;
	return round_down(min_t(u64, bytes, KFM_RING_MAX), KFM_BLOCK);
}

/*
 * A log that an older program has begun may have more than RING_USED. The memory for it is kept
 * until the next load of the table. There is no session.
 */
static int ring_extend(struct kfm_log *log, u32 bytes)
{
	unsigned int noio;
	void *ring;

	if (bytes <= log->ring_mem)
		return 0;
	noio = memalloc_noio_save();	/* the mirror may be suspended */
	ring = vzalloc(bytes);
	memalloc_noio_restore(noio);
	if (!ring)
		return -ENOMEM;
	vfree(log->ring);
	log->ring = ring;
	log->ring_mem = bytes;
	return 0;
}

/*
 * Read the heads: the one with the higher serial number counts. @gap: both are there, and one of
 * them is an earlier one. Return: how many there are, or a negative error.
 */
static int heads_read(struct kfm *m, struct kfm_log_head *head, bool *gap)
{
	struct kfm_log_head one;
	int i, ret, found = 0;
	u64 serials[2];

	for (i = 0; i < 2; i++) {
		ret = kfm_io(m->logdev->bdev, REQ_OP_READ, m->log_at + i * KFM_BLOCK, m->page,
			     KFM_BLOCK);
		if (ret)
			return ret;
		ret = kfm_log_decode(m->page, &one);
		if (ret == -EPROTONOSUPPORT) {
			kfm_other_version(m, "log", KFM_LOG_LOWEST, KFM_LOG_VERSION);
			return ret;
		}
		if (ret)
			continue;
		if (!found || one.serial > head->serial)
			*head = one;
		serials[i] = one.serial;
		found++;
	}
	*gap = found == 2 && !kfm_in_turn(serials);
	return found;
}

/**
 * kfm_log_load() - read the head of the log
 * @m: mirror
 *
 * The log keeps its size on a device that has grown; the next one uses all of the device.
 *
 * Each head is a sector, and both have been written since `create`. So a head that does not check
 * was damaged on the device, and may be the newer one: with the older one a replay would write
 * records over what direct records have written since, and would not be noticed.
 *
 * A head may also be an earlier one, which a disk has given back with its right checksum. Then both
 * do not follow one another, or the superblock, or a peer, knows of a later one (told.c).
 *
 * Return: 0; -EBADMSG if a head is damaged or missing, so that nothing may be replayed; or another
 * negative error, also for the log of another mirror or node, and -EPROTONOSUPPORT for one of another
 * version.
 */
int kfm_log_load(struct kfm *m)
{
	struct kfm_log_head *head = &m->log.head;
	int ret, found;
	bool gap;

	if (!m->logdev)
		return 0;
	found = heads_read(m, head, &gap);
	if (found < 0)
		return found;
	if (!found || memcmp(head->uuid, m->sb.uuid, sizeof(head->uuid)) ||
	    (head->owner && head->owner != m->sb.node)) {
		DMERR("%s: the log is not this mirror's, or not this node's", kfm_name(m));
		return -EMEDIUMTYPE;
	}
	if (head->ring > kfm_device_room(m)) {
		DMERR("%s: the log device has shrunk: the log has %u bytes, %u are left",
		      kfm_name(m), head->ring, kfm_device_room(m));
		return -ENOSPC;
	}
	m->log.ring_len = head->ring;
	ret = ring_extend(&m->log, head->ring);
	if (ret)
		return ret;
	if (gap || head->serial < max(m->sb.head, m->log.told)) {
		DMERR("%s: a head of the log is an earlier one: nothing is replayed", kfm_name(m));
		return -EBADMSG;
	}
	if (found == 2)
		return 0;
	DMERR("%s: a head of the log is damaged: nothing is replayed", kfm_name(m));
	return -EBADMSG;
}

/**
 * kfm_log_start() - begin an empty log
 * @m: mirror; no session
 * @id: number of the session that will write it, or a random number: records of other numbers are
 *	never replayed
 * @gen: generation of the primary
 * @node: number of the primary, which may be this node; 0 if there is none
 *
 * Both heads are written, so that none of them is that of an earlier log. The log of another
 * primary numbers its writes anew.
 *
 * Return: 0, and that is durable; or a negative error.
 */
int kfm_log_start(struct kfm *m, u64 id, u64 gen, u64 node)
{
	struct kfm_log *log = &m->log;
	struct kfm_log_head before = log->head;

	log->ring_len = log->room;
	log->head = (struct kfm_log_head) {
		.serial = max3(before.serial, m->sb.head, log->told), .id = id, .gen = gen,
		.node = node, .seq = 1, .ring = log->ring_len,
		.epoch = node && node != m->sb.node ? log->epoch : 0,
	};
	if (log->head.epoch && log->head.epoch == before.epoch)
		log->head.number = before.number;
	log->end = log->head.number;
	log->reached = 0;
	memcpy(log->head.uuid, m->sb.uuid, sizeof(log->head.uuid));
	memset(log->recs, 0, sizeof(log->recs));
	log->top = 0;
	log->row = 1;
	log->oldest_at = 0;
	kfm_recent_begin(m);
	log->begun = id;
	return kfm_head_save(m, &log->head) ?: kfm_head_save(m, &log->head);
}

/**
 * kfm_log_reached() - this copy has all writes up to a number, in the log or not
 * @m: secondary in sync
 * @number: from SYNCED
 *
 * Without that the log of a node that has come back would seem to end before those of others. It is
 * stored when the log has nothing that is not applied, which is when apply_batch() does it, or now.
 * It is no error if it can't be stored.
 */
void kfm_log_reached(struct kfm *m, u64 number)
{
	struct kfm_log *log = &m->log;
	struct kfm_log_head head = log->head;

	if (!head.epoch || number <= head.number)
		return;
	log->reached = number;
	head.number = number;
	if (READ_ONCE(log->row) == head.seq && kfm_head_save(m, &head))
		return;
	spin_lock_bh(&log->lock);
	log->end = max(log->end, number);
	if (head.serial != log->head.serial)
		log->head = head;
	spin_unlock_bh(&log->lock);
}
