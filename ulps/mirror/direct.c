// SPDX-License-Identifier: GPL-2.0
/*
 * direct.c - records that a secondary writes to its leg at once, and not to its log.
 *
 *   primary				secondary
 *   takes a free slot (post.c)
 *   heads and data, commit	->	persist(): checks the heads and the data
 *					with several peers: the worker makes the bits durable
 *					writes to the leg, with FUA or, if the record says
 *					so, into its cache; or flushes the leg
 *   the slot is free		<-	commit answered
 *
 * So the data is written once, and not twice, and nothing is left to be applied. The primary
 * decides which records are direct, by their length. Both nodes check the rule that makes this
 * safe: a direct record overlaps no record of the log that is at or behind the durable head,
 * because a replay would write that over it. The primary knows what it has logged and what APPLIED
 * has reported, and logs a record that overlaps something else. Two records that are in flight
 * never overlap (kfm_write_get()), and a session begins when all direct records of the one before
 * have ended: kfm_direct_close() waits for them. A direct record has a number, and no place in the
 * order of the log: the one that ends late holds up no other.
 *
 * With several peers the bits of the regions for the other secondaries are durable before the leg
 * is written: if the primary dies, nobody else knows that this copy may have what another one
 * lacks.
 *
 * A write to the leg that is cut off was not acknowledged. The primary, if it lives, posts it
 * again; else its region is in the bitmaps, as that of each write in flight. A leg has no slots if
 * the data must not change while it is written, or if it needs more of memory than slots offer: the
 * worker copies records for it.
 */
#include <linux/crc32c.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "bits.h"
#include "direct.h"
#include "log.h"
#include "meta.h"
#include "mirror.h"
#include "net.h"
#include "peer.h"
#include "recent.h"
#include "rest.h"
#include "zero.h"

/* ---- a group ---- */

/* The records are on the leg, or they are not. With the end of the call the mirror may go. */
static void slot_end(struct kfm_direct_slot *s, int err)
{
	struct kfi_persist *p = s->p;
	struct kfm *m = s->m;

	spin_lock_bh(&m->log.lock);
	list_del(&s->entry);
	s->p = NULL;
	spin_unlock_bh(&m->log.lock);
	rcu_read_lock();	/* see kfm_signal() */
	kfi_persist_done(p, err);
	rcu_read_unlock();
}

static void slot_work(struct work_struct *work)
{
	struct kfm_direct_slot *s = container_of(work, struct kfm_direct_slot, work);

	slot_end(s, s->err);
}

static void slot_put(struct kfm_direct_slot *s)
{
	if (!atomic_dec_and_test(&s->pending))
		return;
	if (in_hardirq() || irqs_disabled())
		queue_work(kfm_store_wq, &s->work);
	else
		slot_end(s, s->err);
}

/* A record has been written to the leg, or not. */
static void slot_result(struct kfm_direct_slot *s, int err)
{
	if (!err)
		return;
	WRITE_ONCE(s->m->log.failed, true);	/* the peer would post it again and again */
	cmpxchg(&s->err, 0, err);
	DMERR_LIMIT("%s: can't write a direct record to the leg (%d)", kfm_name(s->m), err);
}

/*
 * What promises to be durable has no success if a flush has failed, or a write: a disk that has
 * lost something may say so once. That error came first, and @failed of the log was set where it
 * came.
 */
static void slot_end_io(struct bio *bio)
{
	struct kfm_direct_slot *s = bio->bi_private;
	int err = blk_status_to_errno(bio->bi_status);

	if (!(s->recs[bio - s->bios].flags & KFM_D_CACHED) && READ_ONCE(s->m->log.failed))
		err = err ?: -EIO;
	slot_result(s, err);
	slot_put(s);
}

static void slot_submit(struct kfm_direct_slot *s, struct bio *bio)
{
	bio->bi_end_io = slot_end_io;
	bio->bi_private = s;
	submit_bio(bio);
}

/* May sleep, which persist() and the worker should not do for so long. */
static void slot_zero(struct work_struct *work)
{
	struct kfm_direct_slot *s = container_of(work, struct kfm_direct_slot, zero);
	struct block_device *leg = s->m->leg->bdev;
	struct bio *bio = s->bios;
	const struct kfm_rec *r;

	for (r = s->recs; r < &s->recs[s->count]; r++) {
		if (!(r->flags & KFM_D_ZEROES))
			continue;
		slot_result(s, kfm_zero(leg, r->sector, r->len,
					r->flags & KFM_D_NOUNMAP ? REQ_NOUNMAP : 0));
		bio = &s->bios[r - s->recs];
	}
	/* one flush for all of them, by the bio of the last one */
	bio_init(bio, leg, NULL, 0, REQ_OP_WRITE | REQ_PREFLUSH | REQ_SYNC);
	slot_submit(s, bio);
}

/* What a record asks of the leg. A flush has no data. */
static blk_opf_t rec_op(const struct kfm_rec *r)
{
	if (r->flags & KFM_D_FLUSH)
		return REQ_OP_WRITE | REQ_PREFLUSH | REQ_SYNC;
	return REQ_OP_WRITE | REQ_SYNC | (r->flags & KFM_D_CACHED ? 0 : REQ_FUA);
}

/* Write all records of a slot to the leg. The call ends when the last one has ended. */
static void slot_begin(struct kfm_direct_slot *s)
{
	unsigned int i, vec = 0;
	bool zeroes = false;
	struct blk_plug plug;
	struct bio *bio;

	s->err = 0;
	atomic_set(&s->pending, 1);
	blk_start_plug(&plug);
	for (i = 0; i < s->count; i++) {
		if (s->recs[i].flags & KFM_D_ZEROES) {
			zeroes = true;
			continue;
		}
		bio = &s->bios[i];
		bio_init(bio, s->m->leg->bdev, &s->vecs[vec], KFM_DIRECT_PAGES - vec,
			 rec_op(&s->recs[i]));
		bio->bi_iter.bi_sector = s->recs[i].sector;
		kfm_bio_add(bio, s->data + s->recs[i].at, s->recs[i].len);
		vec += bio->bi_vcnt;
		atomic_inc(&s->pending);
		slot_submit(s, bio);
	}
	blk_finish_plug(&plug);
	if (zeroes)
		queue_work(kfm_store_wq, &s->zero);
	else
		slot_put(s);
}

/* Does a record have whole blocks of the leg? The peer may say anything. */
bool kfm_rec_blocks(const struct kfm *m, const struct kfm_rec *r)
{
	return !((r->sector * KFM_SECTOR | r->len) & (bdev_logical_block_size(m->leg->bdev) - 1));
}

/*
 * Read and check the records of a group, whose heads begin at @at in a slot, and which has @len
 * bytes. The peer may write at any time, so the heads are copied. Return: how many records, or a
 * negative error.
 */
static int slot_read(const struct kfm_direct_slot *s, u32 at, u32 len, struct kfm_rec *recs)
{
	u32 heads = KFM_DIRECT_DATA_AT - at, data = KFM_DIRECT_DATA_AT;
	unsigned int count = heads / sizeof(struct kfm_le_direct), i;
	struct kfm_le_direct head;
	u32 bytes;

	if (!count || heads % sizeof(head) || count > KFM_GROUP || len < heads)
		return -EPROTO;
	len -= heads;
	for (i = 0; i < count; i++) {
		memcpy(&head, s->data + at + i * sizeof(head), sizeof(head));
		if (kfm_direct_decode(&head, s->m->sectors, &recs[i]))
			return -EBADMSG;
		bytes = recs[i].flags & KFM_D_ZEROES ? 0 : recs[i].len;
		if (bytes > len)
			return -EPROTO;
		if (recs[i].flags & KFM_D_CRC &&
		    crc32c(~0U, s->data + data, bytes) != le32_to_cpu(head.data_crc))
			return -EBADMSG;
		recs[i].at = data;
		data += bytes;
		len -= bytes;
	}
	return len ? -EPROTO : count;
}

/* Does a record overlap one that is being written to the leg? Caller holds kfm_log.lock. */
bool kfm_direct_overlaps(const struct kfm *m, const struct kfm_rec *r)
{
	const struct kfm_direct_slot *s;
	unsigned int i;

	list_for_each_entry(s, &m->direct.busy, entry) {
		for (i = 0; i < s->count; i++) {
			if (kfm_recs_overlap(&s->recs[i], r))
				return true;
		}
	}
	return false;
}

/* Does a record overlap one that a replay might write over it? */
static bool log_overlaps(const struct kfm_log *log, const struct kfm_rec *r)
{
	const struct kfm_rec *logged;
	u64 seq;

	for (seq = log->head.seq; seq <= log->top; seq++) {
		logged = &log->recs[seq % KFM_WINDOW];
		if (logged->seq == seq && kfm_recs_overlap(logged, r))
			return true;
	}
	return false;
}

/* May the record be written, after those before it in its group? */
static bool rec_allowed(const struct kfm *m, const struct kfm_rec *recs, unsigned int at)
{
	const struct kfm_rec *r = &recs[at];
	unsigned int i;

	for (i = 0; i < at; i++) {
		if (kfm_recs_overlap(&recs[i], r))
			return false;
	}
	return r->log == m->log.head.id && r->gen == m->log.head.gen && kfm_rec_blocks(m, r) &&
	       !log_overlaps(&m->log, r) && !kfm_direct_overlaps(m, r);
}

/*
 * Take a slot for a group that has been read. Return: 0; 1 if the worker begins it; or an error.
 */
static int slot_take(struct kfm_direct_slot *s, const struct kfm_rec *recs, unsigned int count,
		     struct kfi_persist *p)
{
	struct kfm *m = s->m;
	struct kfm_direct *d = &m->direct;
	unsigned int i;
	int ret = 0;

	spin_lock_bh(&m->log.lock);
	if (d->closed || s->p)
		ret = -EPROTO;
	for (i = 0; i < count && !ret; i++)
		ret = rec_allowed(m, recs, i) ? 0 : -EPROTO;
	if (!ret) {
		memcpy(s->recs, recs, count * sizeof(*recs));
		s->count = count;
		s->p = p;
		list_add(&s->entry, &d->busy);
		for (i = 0; i < count; i++) {
			d->top = max(d->top, recs[i].seq);
			kfm_rest_wrote(m, recs[i].sector);
		}
		if (kfm_copy_count(m) > 1) {
			list_add_tail(&s->held, &d->held);
			ret = 1;
		}
	}
	spin_unlock_bh(&m->log.lock);
	return ret;
}

static int direct_persist(struct kfid_mr *mr, uint64_t offset, size_t len, struct kfi_persist *p)
{
	struct kfm *m = mr->fid.context;
	struct kfm_rec recs[KFM_GROUP];
	u32 at = offset % KFM_DIRECT_SLOT;
	struct kfm_direct_slot *s;
	int count, ret;

	if (offset >= (u64)KFM_DIRECT_SLOTS * KFM_DIRECT_SLOT || at >= KFM_DIRECT_DATA_AT ||
	    len > KFM_DIRECT_SLOT - at)
		return -EPROTO;
	s = &m->direct.slots[(u32)offset / KFM_DIRECT_SLOT];
	count = slot_read(s, at, len, recs);
	if (count < 0)
		return count;
	ret = slot_take(s, recs, count, p);
	if (ret < 0)
		return ret;
	if (ret)
		kfm_kick(m);
	else
		slot_begin(s);
	return -EIOCBQUEUED;
}

/* ---- the worker ---- */

static void held_get(struct kfm *m, struct list_head *list)
{
	spin_lock_bh(&m->log.lock);
	list_splice_init(&m->direct.held, list);
	spin_unlock_bh(&m->log.lock);
}

/**
 * kfm_direct_run() - make the bits of extents durable, and then write direct records to the leg
 * @m: secondary with several peers
 *
 * Context: the worker, which uses the bitmaps.
 */
void kfm_direct_run(struct kfm *m)
{
	struct kfm_direct_slot *s, *next;
	LIST_HEAD(list);
	int ret;

	held_get(m, &list);
	list_for_each_entry(s, &list, held)
		kfm_recent_set(m, m->recent_direct, s->recs, s->count);
	ret = list_empty(&list) ? 0 : kfm_active_flush(m);
	list_for_each_entry_safe(s, next, &list, held) {
		list_del(&s->held);
		if (ret)
			slot_end(s, ret);
		else
			slot_begin(s);
	}
}

/* Does the leg take records from a slot? */
bool kfm_direct_takes(const struct kfm *m)
{
	return !bdev_stable_writes(m->leg->bdev) &&
	       bdev_dma_alignment(m->leg->bdev) < KFM_SECTOR;
}

/* The primary may write to the slots by this rail. Return: 0 or a negative error */
int kfm_direct_rail(struct kfm_rail *rail)
{
	if (rail->slots_mr)
		return 0;
	return kfm_net_region(rail, rail->p->m->direct.mem, KFM_DIRECT_SLOTS * KFM_DIRECT_SLOT,
			      KFI_REMOTE_WRITE, direct_persist, &rail->slots_mr);
}

/*
 * A primary that knows direct records may write to the slots. Return: 0 or a negative error, also
 * if it may not, and this node has no log.
 */
int kfm_direct_open(struct kfm_peer *p)
{
	struct kfm_direct *d = &p->m->direct;
	int ret;

	d->top = 0;
	d->closed = false;
	if (!d->mem || !(p->features & KFM_F_DIRECT) || !kfm_direct_takes(p->m))
		return p->m->logdev ? 0 : -EOPNOTSUPP;
	ret = kfm_direct_rail(p->rail);
	d->open = !ret;
	return ret;
}

/* After this no byte of the peer lands, and no direct record is being written. */
void kfm_direct_close(struct kfm *m)
{
	struct kfm_direct *d = &m->direct;
	struct kfm_direct_slot *s, *next;
	struct kfm_rail *rail;
	LIST_HEAD(list);

	if (!d->open)
		return;
	d->open = false;
	spin_lock_bh(&m->log.lock);
	d->closed = true;
	spin_unlock_bh(&m->log.lock);
	held_get(m, &list);
	list_for_each_entry_safe(s, next, &list, held) {
		list_del(&s->held);
		slot_end(s, -ESHUTDOWN);
	}
	kfm_for_each_rail(rail, m->log.peer)
		kfm_net_region_end(&rail->slots_mr);
}

static void slots_init(struct kfm *m)
{
	struct kfm_direct *d = &m->direct;
	unsigned int i;

	for (i = 0; i < KFM_DIRECT_SLOTS; i++) {
		d->slots[i].m = m;
		d->slots[i].data = d->mem + i * KFM_DIRECT_SLOT;
		d->slots[i].bios = d->bios + i * KFM_GROUP;
		INIT_WORK(&d->slots[i].zero, slot_zero);
		INIT_WORK(&d->slots[i].work, slot_work);
	}
}

/* Allocate slots, unless this node has no use for them. Return: 0 or -ENOMEM. */
int kfm_direct_alloc(struct kfm *m)
{
	struct kfm_direct *d = &m->direct;

	INIT_LIST_HEAD(&d->busy);
	INIT_LIST_HEAD(&d->held);
	if (m->direct_min == KFM_DIRECT_OFF)
		return 0;
	d->mem = vzalloc(KFM_DIRECT_SLOTS * KFM_DIRECT_SLOT);
	d->slots = kvcalloc(KFM_DIRECT_SLOTS, sizeof(*d->slots), GFP_KERNEL);
	d->bios = kvcalloc(KFM_DIRECT_SLOTS * KFM_GROUP, sizeof(*d->bios), GFP_KERNEL);
	if (!d->mem || !d->slots || !d->bios)
		return -ENOMEM;
	slots_init(m);
	return 0;
}

void kfm_direct_free(struct kfm *m)
{
	kvfree(m->direct.bios);
	kvfree(m->direct.slots);
	vfree(m->direct.mem);
}
