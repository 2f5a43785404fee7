// SPDX-License-Identifier: GPL-2.0
/*
 * log.c - the log of a secondary, and the replay of any log.
 *
 * The peer writes a record to the ring in memory and asks for it to be made durable. kfm_persist()
 * checks the record and writes it to the log device, and the peer gets its answer after that:
 * nothing else of this node runs before. The worker copies records to the leg in their order,
 * flushes the leg, and then stores in the log's head that they may be overwritten.
 *
 * The ring in memory is a copy. A replay uses only what is on the device: it reads head and ring
 * again, so what was in memory only is lost in a takeover as it is in a loss of power.
 *
 * kfm_persist() is called in work items of the provider, several at a time, between kfm_log_open()
 * and kfm_log_close(), which waits for them.
 */
#include <linux/gfp.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "direct.h"
#include "log.h"
#include "meta.h"
#include "mirror.h"
#include "net.h"
#include "peer.h"
#include "recent.h"
#include "repair.h"
#include "rest.h"
#include "ring.h"
#include "told.h"

#define APPLY_DELAY	(HZ / 50)
/* What a ring has in use at most: a record for each of the window, and what its end leaves out */
#define RING_USED	round_up((KFM_WINDOW + 1) * KFM_GROUP_BYTES, KFM_BLOCK)

/* ---- the ring ---- */

/* Make a piece of the ring durable. May sleep. Return: 0 or a negative error. */
static int ring_store(struct kfm *m, u32 at, u32 len)
{
	return kfm_io(m->logdev->bdev, REQ_OP_WRITE | REQ_FUA | REQ_SYNC,
		      m->log_at + KFM_RING_AT + at, m->log.ring + at, len);
}

/* ---- persist() ---- */

/* Is the record one that may come, at a place of its own? */
static int rec_expected(const struct kfm *m, const struct kfm_rec *r)
{
	const struct kfm_log *log = &m->log;

	if (r->log != log->head.id || r->gen != log->head.gen || r->seq < log->head.seq ||
	    r->seq - log->head.seq >= KFM_WINDOW || !kfm_rec_blocks(m, r))
		return -EPROTO;
	return log->recs[r->seq % KFM_WINDOW].seq || kfm_direct_overlaps(m, r) ? -EPROTO : 0;
}

/*
 * Should the worker apply records now that a group is durable? It applies them by itself after a
 * while. Until then it must not miss a batch that is full, a ring that the primary needs, or a
 * record that somebody waits for. A group that was the only one missing may complete any of these.
 */
static bool apply_wanted(const struct kfm *m, const struct kfm_rec *recs, unsigned int count)
{
	const struct kfm_rec *first = &recs[0], *last = &recs[count - 1];
	const struct kfm_log *log = &m->log;
	u32 used = last->at - log->head.at + (last->at < log->head.at ? log->ring_len : 0);

	return last->seq / KFM_BATCH != (first->seq - 1) / KFM_BATCH || used >= log->ring_len / 4 ||
	       READ_ONCE(log->awaited) ||
	       (first->seq == log->head.seq &&
		log->recs[(last->seq + 1) % KFM_WINDOW].seq == last->seq + 1);
}

/* Read and check a record of which @len bytes or less were written. Return: 0 or an error. */
static int rec_read(struct kfm *m, u32 at, u32 len, struct kfm_rec *r)
{
	struct kfm_log *log = &m->log;
	struct kfm_le_rec head;

	if (len < KFM_REC_DATA_AT)
		return -EPROTO;
	memcpy(&head, log->ring + at + KFM_REC_HEAD_AT, sizeof(head));
	if (kfm_rec_decode(&head, m->sectors, r) || len < kfm_rec_room(r->len))
		return -EPROTO;
	r->at = at;
	return kfm_rec_intact(&head, log->ring + at + KFM_REC_DATA_AT, r->len) ? 0 : -EBADMSG;
}

/* Read and check the records that were written. Return: how many, or a negative error. */
static int group_read(struct kfm *m, u32 at, u32 len, struct kfm_rec *recs)
{
	unsigned int count;
	u32 room;
	int ret;

	for (count = 0; len; count++, at += room, len -= room) {
		ret = count < KFM_GROUP ? rec_read(m, at, len, &recs[count]) : -EPROTO;
		if (!ret && recs[count].seq != recs[0].seq + count)
			ret = -EPROTO;
		if (ret)
			return ret;
		room = kfm_rec_room(recs[count].len);
	}
	return count ?: -EPROTO;
}

/* Are all records expected? If so, and if they are durable, add them to those that are applied. */
static int group_take(struct kfm *m, const struct kfm_rec *recs, unsigned int count, bool durable)
{
	struct kfm_log *log = &m->log;
	unsigned int i;
	int ret = 0;
	bool due;

	spin_lock_bh(&log->lock);
	for (i = 0; i < count && !ret; i++)
		ret = rec_expected(m, &recs[i]);
	for (i = 0; i < count && durable && !ret; i++)
		log->recs[recs[i].seq % KFM_WINDOW] = recs[i];
	due = durable && !ret && apply_wanted(m, recs, count);
	log->top = durable && !ret ? max(log->top, recs[count - 1].seq) : log->top;
	while (log->recs[log->row % KFM_WINDOW].seq == log->row) {
		log->end = max(log->end, log->recs[log->row % KFM_WINDOW].number);
		WRITE_ONCE(log->row, log->row + 1);
	}
	spin_unlock_bh(&log->lock);
	if (due)
		kfm_kick(m);
	return ret;
}

/* Write into each record what is durable by now, before the record is written to the device. */
static void group_mark(struct kfm *m, const struct kfm_rec *recs, unsigned int count)
{
	struct kfm_log *log = &m->log;
	u64 row = READ_ONCE(log->row);
	unsigned int i;

	for (i = 0; i < count; i++)
		kfm_mark_encode(log->head.id, row, (void *)log->ring + recs[i].at);
}

static struct kfm_store *store_get(struct kfm_log *log)
{
	struct kfm_store *s;

	spin_lock_bh(&log->lock);
	s = list_first_entry_or_null(&log->stores_free, struct kfm_store, entry);
	if (s)
		list_del(&s->entry);
	spin_unlock_bh(&log->lock);
	return s;
}

/* The group is durable, or it is not. With the end of the call the mirror may go. */
static void store_end(struct kfm_store *s)
{
	struct kfi_persist *p = s->p;
	struct kfm *m = s->m;
	int err = blk_status_to_errno(s->bio.bi_status) ?: group_take(m, s->recs, s->count, true);

	spin_lock_bh(&m->log.lock);
	list_add(&s->entry, &m->log.stores_free);
	spin_unlock_bh(&m->log.lock);
	rcu_read_lock();	/* see kfm_signal() */
	kfi_persist_done(p, err);
	rcu_read_unlock();
}

static void store_work(struct work_struct *work)
{
	store_end(container_of(work, struct kfm_store, work));
}

static void store_end_io(struct bio *bio)
{
	struct kfm_store *s = container_of(bio, struct kfm_store, bio);

	if (in_hardirq() || irqs_disabled())
		queue_work(kfm_store_wq, &s->work);
	else
		store_end(s);
}

/* Begin to write a group to the log device. */
static void store_begin(struct kfm_store *s, u32 at, u32 len)
{
	bio_init(&s->bio, s->m->logdev->bdev, s->vecs, KFM_GROUP_PAGES,
		 REQ_OP_WRITE | REQ_FUA | REQ_SYNC);
	s->bio.bi_iter.bi_sector = (s->m->log_at + KFM_RING_AT + at) / KFM_SECTOR;
	s->bio.bi_end_io = store_end_io;
	kfm_bio_add(&s->bio, s->m->log.ring + at, len);
	submit_bio(&s->bio);
}

/*
 * The range holds one or more records that follow one another, with all of their room. Without a
 * kfm_store, because there are too many, they are durable when this returns.
 */
static int kfm_persist(struct kfid_mr *mr, uint64_t offset, size_t len, struct kfi_persist *p)
{
	struct kfm *m = mr->fid.context;
	struct kfm_rec recs[KFM_GROUP];
	struct kfm_store *s;
	int count, ret;

	if (offset % KFM_SECTOR || offset > m->log.ring_len || m->log.ring_len - offset < len)
		return -EPROTO;
	count = group_read(m, offset, len, recs);
	if (count < 0)
		return count;
	ret = group_take(m, recs, count, false);
	if (ret)
		return ret;
	group_mark(m, recs, count);
	s = len <= KFM_GROUP_BYTES ? store_get(&m->log) : NULL;
	if (!s)
		return ring_store(m, offset, len) ?: group_take(m, recs, count, true);
	memcpy(s->recs, recs, count * sizeof(*recs));
	s->count = count;
	s->p = p;
	store_begin(s, offset, len);
	return -EIOCBQUEUED;
}

/* ---- from the log to the leg ---- */

static void apply_put(struct kfm *m)
{
	if (atomic_dec_and_test(&m->applying))
		complete(&m->applied);
}

static void apply_end_io(struct bio *bio)
{
	struct kfm *m = container_of(bio, struct kfm_apply, bio)->m;

	if (bio->bi_status) {
		WRITE_ONCE(m->log.failed, true);	/* for flushes behind it: slot_end_io() */
		WRITE_ONCE(m->apply_err, blk_status_to_errno(bio->bi_status));
	}
	apply_put(m);
}

/*
 * Is the leg written from a copy of the record? Its CRC was checked when the record was made
 * durable. A peer that changes the data since then harms only what it may write anyway, and the log
 * device has the record as it was. But some legs must not see a change, can't read from each sector
 * of memory, or want whole blocks of more than a sector in each page.
 */
static bool apply_copies(const struct kfm *m)
{
	return bdev_stable_writes(m->leg->bdev) ||
	       bdev_dma_alignment(m->leg->bdev) >= KFM_SECTOR ||
	       bdev_logical_block_size(m->leg->bdev) > KFM_SECTOR;
}

/* Return: 0; -EBADMSG if a record is not any more what was made durable. */
static int apply_check(struct kfm *m, struct kfm_apply *a, const struct kfm_rec *r)
{
	struct kfm_le_rec head;
	struct kfm_rec now;

	memcpy(&head, m->log.ring + r->at + KFM_REC_HEAD_AT, sizeof(head));
	if (kfm_rec_decode(&head, m->sectors, &now) || now.seq != r->seq || now.log != r->log ||
	    now.sector != r->sector || now.len != r->len)
		return -EBADMSG;
	a->data = m->log.ring + r->at + KFM_REC_DATA_AT;
	if (!apply_copies(m))
		return 0;
	a->data = memcpy(a->buf, a->data, r->len);
	return 0;
}

static void apply_start(struct kfm *m, struct kfm_apply *a, const struct kfm_rec *r)
{
	bio_init(&a->bio, m->leg->bdev, a->vecs, ARRAY_SIZE(a->vecs),
		 r->len ? REQ_OP_WRITE : REQ_OP_WRITE | REQ_PREFLUSH | REQ_SYNC);
	a->bio.bi_iter.bi_sector = r->sector;
	a->bio.bi_end_io = apply_end_io;
	a->m = m;
	kfm_bio_add(&a->bio, a->data, r->len);
	atomic_inc(&m->applying);
	submit_bio(&a->bio);
}

/* Write records to the leg, or flush it: a record without data. Return: 0 or a negative error. */
static int apply_wait(struct kfm *m, const struct kfm_rec *recs, unsigned int count)
{
	struct blk_plug plug;
	unsigned int i;

	m->apply_err = 0;
	reinit_completion(&m->applied);
	atomic_set(&m->applying, 1);
	blk_start_plug(&plug);
	for (i = 0; i < count; i++)
		apply_start(m, &m->applies[i], &recs[i]);
	blk_finish_plug(&plug);
	apply_put(m);
	wait_for_completion(&m->applied);
	for (i = 0; i < count; i++)
		bio_uninit(&m->applies[i].bio);
	return m->apply_err;
}

/*
 * Write records to the leg, durably, and store that they may be overwritten. Records of a batch do
 * not overlap: writes that are in flight together have no order. @recs of the log has them until
 * the head is durable: a replay might still write them over what a direct record has written
 * meanwhile.
 * Return: 0 or a negative error.
 */
static int apply_batch(struct kfm *m, const struct kfm_rec *recs, unsigned int count)
{
	const struct kfm_rec *last = &recs[count - 1], flush = {};
	struct kfm_log *log = &m->log;
	struct kfm_log_head head = log->head;
	unsigned int i;
	int ret;

	for (i = 0; i < count; i++) {
		ret = apply_check(m, &m->applies[i], &recs[i]);
		if (ret)
			return ret;
	}
	ret = apply_wait(m, recs, count) ?: apply_wait(m, &flush, 1);
	if (!ret && READ_ONCE(log->failed))	/* a flush of a slot has got the error */
		ret = -EIO;
	ret = ret ?: kfm_recent_add(m, recs, count);
	head.seq = last->seq + 1;
	head.at = last->at + kfm_rec_room(last->len);
	for (i = 0; i < count; i++)
		head.number = max(head.number, recs[i].number);
	if (READ_ONCE(log->row) == head.seq)	/* nothing is left that is not applied */
		head.number = max(head.number, log->reached);
	ret = ret ?: kfm_head_save(m, &head);
	if (ret)
		return ret;
	spin_lock_bh(&log->lock);
	for (i = 0; i < count; i++)
		log->recs[recs[i].seq % KFM_WINDOW].seq = 0;
	for (i = 0; i < count; i++)
		kfm_rest_wrote(m, recs[i].sector);
	log->end = max(log->end, head.number);
	log->head = head;
	spin_unlock_bh(&log->lock);
	return 0;
}

/* Add a record to a batch. Return: false if it has to wait for the next one. */
static bool batch_add(struct kfm_rec *recs, unsigned int *count, const struct kfm_rec *r)
{
	unsigned int i;

	if (*count == KFM_BATCH)
		return false;
	for (i = 0; i < *count; i++) {
		if (kfm_recs_overlap(&recs[i], r))
			return false;
	}
	recs[(*count)++] = *r;
	return true;
}

/*
 * Take the durable records that follow one another. @whole: the batch does not wait for others,
 * because no other fits into it, or because the primary needs the room in the ring.
 */
static unsigned int batch_durable(struct kfm_log *log, struct kfm_rec *recs, bool *whole)
{
	unsigned int count = 0;
	struct kfm_rec *r;
	u32 bytes = 0;
	u64 seq;

	*whole = false;
	spin_lock_bh(&log->lock);
	for (seq = log->head.seq; !*whole; seq++) {
		r = &log->recs[seq % KFM_WINDOW];
		if (r->seq != seq)
			break;
		bytes += kfm_rec_room(r->len);
		*whole = !batch_add(recs, &count, r) || count == KFM_BATCH ||
			 bytes >= log->ring_len / 4;
	}
	spin_unlock_bh(&log->lock);
	return count;
}

/**
 * kfm_log_apply() - write durable records of the session to the leg
 * @m: secondary with a session
 * @all: do not wait for more of them
 *
 * Return: 0; or a negative error, and records of the session can't be applied: it has to end.
 */
int kfm_log_apply(struct kfm *m, bool all)
{
	struct kfm_rec recs[KFM_BATCH];
	struct kfm_log *log = &m->log;
	struct kfm_msg msg = { .type = KFM_APPLIED };
	unsigned int count;
	bool whole;
	int ret;

	if (!log->open || log->failed)
		return 0;
	WRITE_ONCE(log->awaited, all);
	count = batch_durable(log, recs, &whole);
	if (!count) {
		log->oldest_at = 0;
		return 0;
	}
	if (!log->oldest_at)
		log->oldest_at = jiffies | 1;
	if (!all && !whole && time_before(jiffies, log->oldest_at + APPLY_DELAY))
		return 0;
	ret = apply_batch(m, recs, count);
	log->oldest_at = 0;
	if (ret) {
		DMERR("%s: can't apply the log (%d)", kfm_name(m), ret);
		if (ret != -EBADMSG)
			log->failed = true;	/* a direct record may set it, too */
		return ret;
	}
	msg.session = log->peer->session;
	msg.seq = log->head.seq - 1;
	kfm_told_speaks(m, &msg);
	kfm_net_send(log->peer, &msg);
	kfm_kick(m);
	return 0;
}

/* Read the ring from the device. */
static int ring_load(struct kfm *m)
{
	return kfm_io(m->logdev->bdev, REQ_OP_READ, m->log_at + KFM_RING_AT, m->log.ring,
		      m->log.ring_len);
}

/* Read what may be the next record, at @at, from the device. Return: 0 or a negative error */
static int rec_load(struct kfm *m, u32 at)
{
	struct kfm_log *log = &m->log;
	u64 from = m->log_at + KFM_RING_AT + at;
	struct kfm_le_rec head;
	struct kfm_rec r;
	int ret;

	if (at > log->ring_len || log->ring_len - at < KFM_REC_DATA_AT)
		return 0;
	ret = kfm_io(m->logdev->bdev, REQ_OP_READ, from, log->ring + at, KFM_REC_DATA_AT);
	if (ret)
		return ret;
	memcpy(&head, log->ring + at + KFM_REC_HEAD_AT, sizeof(head));
	if (kfm_rec_decode(&head, m->sectors, &r) || r.log != log->head.id ||
	    log->ring_len - at < kfm_rec_room(r.len))
		return 0;
	return kfm_io(m->logdev->bdev, REQ_OP_READ, from + KFM_REC_DATA_AT,
		      log->ring + at + KFM_REC_DATA_AT, r.len);
}

/**
 * kfm_log_scan() - find out how far the log goes, and apply nothing
 * @m: mirror without a session, after kfm_log_load()
 *
 * Sets kfm_log.end. What can't be read is found by the replay.
 */
void kfm_log_scan(struct kfm *m)
{
	struct kfm_log *log = &m->log;
	struct kfm_log_head at = log->head;
	struct kfm_rec r;

	log->end = at.number;
	if (!m->logdev)
		return;
	while (!rec_load(m, at.at) && !rec_load(m, 0) &&
	       !kfm_ring_next(log->ring, log->ring_len, m->sectors, &at, &r)) {
		log->end = max(log->end, r.number);
		at.seq = r.seq + 1;
		at.at = r.at + kfm_rec_room(r.len);
	}
}

/*
 * Store up to where the records of this log are durable in a row. This outlives a replay that fails
 * and a resume, but not the beginning of another log.
 */
static void record_acked(struct kfm_log *log)
{
	const struct kfm_rec *r;
	u64 seq;

	for (seq = log->head.seq; seq; seq++) {
		r = &log->recs[seq % KFM_WINDOW];
		if (r->seq != seq || r->log != log->head.id)
			break;
	}
	if (log->acked_id != log->head.id)
		log->acked = 0;
	log->acked_id = log->head.id;
	log->acked = max(log->acked, seq);
}

/**
 * kfm_log_replay() - write all complete records of the log device to the leg
 * @m: mirror without a session
 *
 * The first record that is missing or incomplete ends the log: what follows was never acknowledged.
 * But a record that was durable may have been damaged on the device (kfm_ring_damaged()). A peer
 * can also overwrite a record that was acknowledged as durable. If that record was made durable
 * since the mirror's table was loaded, the replay notices that it ends too early.
 *
 * Return: 0, and the log is empty, or there is none; or a negative error: -EBADMSG if the device
 * has damaged the log, which each replay finds again, see kfm_log_unusable(); -EUCLEAN if a peer
 * has, see kfm_writes_missing(). In both cases this copy lacks acknowledged writes.
 */
int kfm_log_replay(struct kfm *m)
{
	struct kfm_rec recs[KFM_BATCH], r;
	struct kfm_log *log = &m->log;
	struct kfm_log_head at;
	unsigned int count;
	u64 total = 0;
	int ret;

	if (!m->logdev)
		return 0;
	record_acked(log);
	ret = kfm_log_load(m) ?: ring_load(m);
	memset(log->recs, 0, sizeof(log->recs));
	while (!ret) {
		at = log->head;
		for (count = 0; !kfm_ring_next(log->ring, log->ring_len, m->sectors, &at, &r);) {
			if (!batch_add(recs, &count, &r))
				break;
			at.seq = r.seq + 1;
			at.at = r.at + kfm_rec_room(r.len);
		}
		if (!count)
			break;
		ret = apply_batch(m, recs, count);
		total += count;
	}
	if (total || ret)
		DMINFO("%s: %llu records of the log replayed (%d)", kfm_name(m), total, ret);
	if (!ret && kfm_ring_damaged(log->ring, log->ring_len, m->sectors, &log->head)) {
		DMERR("%s: record %llu of the log was durable, and is damaged", kfm_name(m),
		      log->head.seq);
		return -EBADMSG;
	}
	if (ret || log->head.id != log->acked_id || log->head.seq >= log->acked)
		return ret;
	return -EUCLEAN;
}

/* ---- session ---- */

/* Let the primary write records, and read the bitmap and the data that it will request. */
int kfm_log_open(struct kfm_peer *p)
{
	struct kfm *m = p->m;
	struct kfm_log *log = &m->log;
	int ret = 0;

	log->peer = p;
	if (m->logdev)
		ret = kfm_net_region(p->rail, log->ring, log->ring_len, KFI_REMOTE_WRITE,
				     kfm_persist, &log->mr);
	if (!ret)
		ret = kfm_net_region(p->rail, p->wire, kfm_wire_bytes(kfm_shared(p)),
				     KFI_REMOTE_READ, NULL, &log->bitmap_mr);
	if (!ret)
		ret = kfm_net_region(p->rail, log->patch, KFM_PATCHES * KFM_WRITE_MAX,
				     KFI_REMOTE_READ, NULL, &log->patch_mr);
	ret = ret ?: kfm_direct_open(p);
	log->open = !ret;
	if (ret)
		kfm_log_close(m);
	return ret;
}

/* After this no byte of the peer lands, and persist() does not run. */
void kfm_log_close(struct kfm *m)
{
	m->log.open = false;
	kfm_direct_close(m);
	kfm_net_region_end(&m->log.mr);
	kfm_net_region_end(&m->log.bitmap_mr);
	kfm_net_region_end(&m->log.patch_mr);
	kfm_serve_stop(m);
}

static int stores_alloc(struct kfm *m)
{
	struct kfm_log *log = &m->log;
	unsigned int i;

	log->stores = kvcalloc(KFM_STORES, sizeof(*log->stores), GFP_KERNEL);
	for (i = 0; log->stores && i < KFM_STORES; i++) {
		log->stores[i].m = m;
		INIT_WORK(&log->stores[i].work, store_work);
		list_add(&log->stores[i].entry, &log->stores_free);
	}
	return log->stores ? 0 : -ENOMEM;
}

/* Allocate the ring for a device, and buffers to apply records from. */
static int ring_alloc(struct kfm *m)
{
	struct kfm_log *log = &m->log;
	unsigned int i;

	log->room = min_t(u32, kfm_device_room(m), RING_USED);
	if (log->room < KFM_RING_MIN)
		return -ENOSPC;
	log->ring_mem = log->room;
	log->ring = vzalloc(log->room);
	log->ring_len = log->room;
	m->applies = kcalloc(KFM_BATCH, sizeof(*m->applies), GFP_KERNEL);
	if (!log->ring || !m->applies || stores_alloc(m))
		return -ENOMEM;
	for (i = 0; i < KFM_BATCH; i++) {
		m->applies[i].buf = vmalloc(KFM_WRITE_MAX);
		if (!m->applies[i].buf)
			return -ENOMEM;
	}
	return 0;
}

/* Allocate what a session needs, and the log, if there is a device for one. */
int kfm_log_alloc(struct kfm *m)
{
	INIT_LIST_HEAD(&m->log.stores_free);
	m->log.patch = vzalloc(KFM_PATCHES * KFM_WRITE_MAX);
	m->serve = kcalloc(KFM_PATCHES, sizeof(*m->serve), GFP_KERNEL);
	if (!m->log.patch || !m->serve)
		return -ENOMEM;
	return m->logdev ? ring_alloc(m) : 0;
}

void kfm_log_free(struct kfm *m)
{
	for (unsigned int i = 0; m->applies && i < KFM_BATCH; i++)
		vfree(m->applies[i].buf);
	kfree(m->applies);
	kvfree(m->log.stores);
	vfree(m->log.patch);
	kfree(m->serve);
	vfree(m->log.ring);
}
