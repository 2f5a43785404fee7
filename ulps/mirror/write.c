// SPDX-License-Identifier: GPL-2.0
/*
 * write.c - how the primary executes a write.
 *
 *   kfm_map()		queues the bio (main.c)
 *   admit()		takes a struct kfm_write, unless the write overlaps one that is in flight
 *   launch()		makes the bit durable, copies the data, writes to the leg
 *   post()		writes the record to the peer's log
 *   settle()		ends the bio when the leg has the data, and its record and all records
 *			before it are durable at the peer
 *
 * All functions run in the worker, except for the completions, which clear @leg_busy and @peer_busy
 * with release semantics. No memory is allocated.
 */
#include <linux/gfp.h>
#include <linux/highmem.h>
#include <linux/slab.h>
#include "mirror.h"

#define BUF_SIZE	(KFM_DATA_AT + KFM_WRITE_MAX)

int kfm_writes_alloc(struct kfm *m)
{
	unsigned int i;

	m->writes = kcalloc(KFM_SLOTS, sizeof(*m->writes), GFP_KERNEL);
	if (!m->writes)
		return -ENOMEM;
	for (i = 0; i < KFM_SLOTS; i++) {
		m->writes[i].m = m;
		m->writes[i].buf = alloc_pages_exact(BUF_SIZE, GFP_KERNEL);
		if (!m->writes[i].buf)
			return -ENOMEM;
		list_add_tail(&m->writes[i].entry, &m->free);
	}
	return 0;
}

void kfm_writes_free(struct kfm *m)
{
	unsigned int i;

	for (i = 0; m->writes && i < KFM_SLOTS; i++) {
		if (m->writes[i].buf)
			free_pages_exact(m->writes[i].buf, BUF_SIZE);
	}
	kfree(m->writes);
}

/* ---- ranges ---- */

static bool list_overlaps(const struct list_head *list, u64 sector, u64 end)
{
	struct kfm_write *w;

	list_for_each_entry(w, list, entry) {
		if (w->sector < end && sector < w->sector + w->len / KFM_SECTOR)
			return true;
	}
	return false;
}

/**
 * kfm_write_get() - take a free write for a range
 * @m: mirror
 * @sector: first sector
 * @len: bytes
 *
 * Return: the write, which is on no list; NULL if all writes are in use, or if the range is.
 */
struct kfm_write *kfm_write_get(struct kfm *m, u64 sector, u32 len)
{
	u64 end = sector + len / KFM_SECTOR;
	struct kfm_write *w = list_first_entry_or_null(&m->free, struct kfm_write, entry);

	if (!w || list_overlaps(&m->flight, sector, end) || list_overlaps(&m->reads, sector, end) ||
	    list_overlaps(&m->repairs, sector, end))
		return NULL;
	list_del_init(&w->entry);
	w->bio = NULL;
	w->sector = sector;
	w->len = len;
	w->leg_status = BLK_STS_OK;
	w->leg_busy = false;
	w->peer = KFM_P_WAIT;
	w->round = m->rs_round;
	m->busy[kfm_region(m, sector)]++;
	return w;
}

/* Release the range now, and @w when the provider no longer uses its buffer. @leg_busy is false. */
void kfm_write_put(struct kfm_write *w)
{
	struct kfm *m = w->m;

	m->busy[kfm_region(m, w->sector)]--;
	list_move_tail(&w->entry, kfm_busy(&w->peer_busy) ? &m->limbo : &m->free);
}

static void leave_limbo(struct kfm *m)
{
	struct kfm_write *w, *next;

	list_for_each_entry_safe(w, next, &m->limbo, entry) {
		if (!kfm_busy(&w->peer_busy))
			list_move_tail(&w->entry, &m->free);
	}
}

bool kfm_writes_idle(const struct kfm *m)
{
	return bio_list_empty(&m->queue) && list_empty(&m->flight) && list_empty(&m->reads) &&
	       list_empty(&m->repairs);
}

/* ---- leg ---- */

static void leg_end_io(struct bio *bio)
{
	struct kfm_write *w = container_of(bio, struct kfm_write, leg);

	w->leg_status = bio->bi_status;
	kfm_signal(w->m, &w->leg_busy);
}

/* Write the data to the leg, or read it from the leg. */
void kfm_write_leg(struct kfm_write *w, blk_opf_t op)
{
	bio_init(&w->leg, w->m->leg->bdev, &w->vec, 1, op);
	w->leg.bi_iter.bi_sector = w->sector;
	w->leg.bi_end_io = leg_end_io;
	__bio_add_page(&w->leg, virt_to_page(w->buf + KFM_DATA_AT), w->len, 0);
	w->leg_busy = true;
	submit_bio(&w->leg);
}

/* ---- records ---- */

void kfm_ring_begin(struct kfm *m, const struct kfm_msg *grant)
{
	m->ring = (struct kfm_ring) {
		.key = grant->ring_key, .addr = grant->ring_addr, .len = grant->ring_len, .seq = 1,
		.window_key = grant->window_key, .window_addr = grant->window_addr,
	};
}

/* The peer has applied the records up to @seq. A number outside the open records is ignored. */
void kfm_ring_applied(struct kfm *m, u64 seq)
{
	struct kfm_ring *ring = &m->ring;

	if (seq <= ring->applied || seq >= ring->seq)
		return;
	ring->tail = ring->ends[seq % KFM_WINDOW];
	ring->applied = seq;
}

/* Find room for a record. Return: its offset, with the new &kfm_ring.head in @head; or -EAGAIN. */
static s64 ring_room(const struct kfm_ring *ring, u32 room, u64 *head)
{
	u32 take, at = kfm_ring_place(ring->len, ring->at, room, &take);

	if (ring->head + take - ring->tail > ring->len ||
	    ring->seq - ring->applied >= KFM_WINDOW)
		return -EAGAIN;
	*head = ring->head + take;
	return at;
}

/* Write the record to the peer. Return: 0; -EAGAIN; or the error of the session. */
static int post(struct kfm *m, struct kfm_write *w)
{
	u32 len = sizeof(struct kfm_le_rec) + w->len;
	struct kfm_rec r = {
		.log = m->session, .gen = m->sb.gens.cur, .seq = m->ring.seq, .sector = w->sector,
		.len = w->len,
	};
	ssize_t ret;
	u64 head;
	s64 at;

	if (kfm_busy(&w->peer_busy))	/* posted in an earlier session, not completed yet */
		return -EAGAIN;
	at = ring_room(&m->ring, kfm_rec_room(w->len), &head);
	if (at < 0)
		return at;
	kfm_rec_encode(&r, w->buf + KFM_DATA_AT,
		       (void *)(w->buf + KFM_DATA_AT - sizeof(struct kfm_le_rec)));
	ret = kfm_net_write(m, w, at, len);
	if (ret) {
		m->again |= ret == -EAGAIN;
		return ret;
	}
	w->peer = KFM_P_POSTED;
	m->ring.ends[m->ring.seq++ % KFM_WINDOW] = head;
	m->ring.head = head;
	m->ring.at = at + kfm_rec_room(w->len);
	return 0;
}

/* Post records in the order of the writes, as long as there is room. */
static void post_all(struct kfm *m)
{
	struct kfm_write *w;
	int ret = 0;

	if (m->link != KFM_UP)
		return;
	list_for_each_entry(w, &m->flight, entry) {
		if (w->peer == KFM_P_WAIT)
			ret = post(m, w);
		if (ret)
			break;
	}
	if (ret && ret != -EAGAIN)
		kfm_peer_lost(m, ret);
}

/* ---- ends ---- */

static void end_bio(struct kfm_write *w, blk_status_t status)
{
	w->bio->bi_status = status;
	bio_endio(w->bio);
	w->bio = NULL;
	w->m->bios--;
}

static void finish(struct kfm *m, struct kfm_write *w)
{
	if (w->leg_status)
		m->leg_failed = true;
	if (w->leg_status || w->peer != KFM_P_ACKED)
		kfm_oos_set(m, kfm_region(m, w->sector));
	if (w->bio)
		end_bio(w, w->leg_status);
	else
		kfm_resync_part(w);
	kfm_write_put(w);
}

/* Check which posted records are durable at the peer. */
static void collect(struct kfm *m)
{
	struct kfm_write *w;
	int err = 0;

	list_for_each_entry(w, &m->flight, entry) {
		if (w->peer != KFM_P_POSTED || kfm_busy(&w->peer_busy))
			continue;
		if (w->peer_err) {
			err = w->peer_err;
		} else {
			w->peer = KFM_P_ACKED;
			m->live = jiffies;
		}
	}
	if (err)
		kfm_peer_lost(m, err);
}

/*
 * End writes. A record counts only when all records before it are durable, because a replay stops
 * at the first missing record. A node without its peer ends writes only after it has set
 * KFM_SB_ALONE in its superblock (kfm_go_alone()).
 */
static void settle(struct kfm *m)
{
	/* ATTACH announced no resynchronisation, so no write may end without the peer */
	bool attaching = m->link > KFM_HELLOED && !m->attach;
	bool alone = m->link != KFM_UP && !attaching && kfm_is_alone(m) && !m->meta_failed;
	bool ordered = true;
	struct kfm_write *w, *next;

	list_for_each_entry_safe(w, next, &m->flight, entry) {
		ordered &= w->peer == KFM_P_ACKED;
		if (!ordered && !alone)
			break;
		if (!kfm_busy(&w->leg_busy))
			finish(m, w);
	}
}

/*
 * Has a write to the leg failed? This is checked before settle() reaches the write: from now on
 * this node must neither go on alone nor become the source of a resynchronisation. The peer's copy
 * is the good one.
 */
static void leg_check(struct kfm *m)
{
	struct kfm_write *w;

	list_for_each_entry(w, &m->flight, entry)
		m->leg_failed |= w->bio && !kfm_busy(&w->leg_busy) && w->leg_status;
}

/* The leg has failed: end the session, and fail all writes. The peer keeps its copy. */
static void leg_gone(struct kfm *m)
{
	struct kfm_write *w, *next;

	kfm_peer_leg(m);
	list_for_each_entry_safe(w, next, &m->flight, entry) {
		if (kfm_busy(&w->leg_busy))
			continue;
		w->leg_status = BLK_STS_IOERR;
		finish(m, w);
	}
}

/* The session has ended: the next one posts the records again and restarts a resynchronisation. */
void kfm_writes_lost(struct kfm *m)
{
	struct kfm_write *w, *next;

	list_for_each_entry_safe(w, next, &m->flight, entry) {
		w->peer = KFM_P_WAIT;
		if (!w->bio)
			kfm_write_put(w);
	}
}

/*
 * Requeue all bios that have not ended, for a suspend with noflush. No write is acknowledged from
 * now on, because records before it may belong to writes that were requeued.
 */
static void give_back(struct kfm *m)
{
	struct kfm_write *w, *next;
	struct bio *bio;

	while ((bio = bio_list_pop(&m->queue))) {
		bio->bi_status = BLK_STS_DM_REQUEUE;
		bio_endio(bio);
	}
	list_for_each_entry_safe(w, next, &m->flight, entry) {
		if (!w->bio || kfm_busy(&w->leg_busy))
			continue;
		/* the peer may have the record or lack it until dm submits the write again */
		m->gap |= w->peer == KFM_P_POSTED;
		kfm_oos_set(m, kfm_region(m, w->sector));
		end_bio(w, BLK_STS_DM_REQUEUE);
		kfm_write_put(w);
	}
}

/* ---- begin ---- */

/* May a new write begin? */
static bool may_write(const struct kfm *m)
{
	return m->link == KFM_UP || kfm_is_alone(m);
}

static void fail_queue(struct kfm *m)
{
	struct bio *bio;

	while ((bio = bio_list_pop(&m->queue)))
		bio_io_error(bio);
}

/*
 * Take writes out of the queue, in order. A write that overlaps a write in flight waits, and so do
 * all writes behind it. A write that overlaps a read waiting for its repair waits, too; otherwise
 * new writes could keep the range in use forever. The bits of the writes are set in memory.
 */
static void admit(struct kfm *m, struct list_head *batch)
{
	struct kfm_write *w;
	struct bio *bio;

	while (m->bios < KFM_WRITES && (bio = bio_list_peek(&m->queue)) &&
	       !kfm_repair_waits(m, bio)) {
		w = kfm_write_get(m, bio->bi_iter.bi_sector, bio->bi_iter.bi_size);
		if (!w)
			return;
		bio_list_pop(&m->queue);
		w->bio = bio;
		m->bios++;
		w->leg_busy = true;	/* until launch() submits or fails it */
		kfm_bit_set(m, kfm_region(m, w->sector));
		list_add_tail(&w->entry, &m->flight);
		list_add_tail(&w->begin, batch);
	}
}

static void copy_data(struct kfm_write *w)
{
	u8 *to = w->buf + KFM_DATA_AT;
	struct bvec_iter iter;
	struct bio_vec vec;

	bio_for_each_segment(vec, w->bio, iter) {
		memcpy_from_bvec(to, &vec);
		to += vec.bv_len;
	}
}

/* Start the writes that were admitted, after their bits are durable. */
static void launch(struct kfm *m)
{
	struct kfm_write *w, *next;
	LIST_HEAD(batch);
	int ret;

	admit(m, &batch);
	ret = kfm_bits_flush(m);
	list_for_each_entry_safe(w, next, &batch, begin) {
		list_del(&w->begin);
		if (ret) {
			end_bio(w, BLK_STS_IOERR);
			kfm_write_put(w);
			continue;
		}
		copy_data(w);
		kfm_write_leg(w, REQ_OP_WRITE | REQ_FUA | REQ_SYNC);
	}
}

static void take_arrived(struct kfm *m)
{
	spin_lock_irq(&m->lock);
	bio_list_merge(&m->queue, &m->arrived);
	bio_list_init(&m->arrived);
	spin_unlock_irq(&m->lock);
}

/**
 * kfm_writes_run() - advance all writes as far as possible
 * @m: mirror
 */
void kfm_writes_run(struct kfm *m)
{
	m->again = false;
	take_arrived(m);
	leave_limbo(m);
	leg_check(m);
	collect(m);
	kfm_repair_run(m);
	if (READ_ONCE(m->noflush)) {
		kfm_resync_reads(m);
		give_back(m);
		return;
	}
	/* the suspend was canceled: no completion is checked for the record of a requeued write */
	if (m->gap && m->link == KFM_UP)
		kfm_peer_lost(m, -EINTR);
	m->gap = false;
	settle(m);
	if (m->leg_failed)
		leg_gone(m);
	if (!m->primary || m->meta_failed || m->leg_failed)
		fail_queue(m);
	else if (may_write(m))
		launch(m);
	kfm_resync_run(m);
	post_all(m);
}
