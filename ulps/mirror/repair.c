// SPDX-License-Identifier: GPL-2.0
/*
 * repair.c - when the primary's leg fails a read, the primary reads the data from a peer that is in
 * sync, or from the next one if that fails, ends the bio with it, and writes it to the leg.
 *
 *   primary				secondary
 *   queues the bio (main.c)
 *   claims the range, as a write does
 *   COPY			->	applies its log up to the last record that was posted
 *					reads its leg into the patch
 *				<-	COPIED, with a CRC
 *   reads the patch: kfi_read()
 *   fills the bio, writes to the leg
 *
 * While the range is claimed, no write to it is in flight. So the records that the peer applies
 * include all writes to the range, and the leg gets current data. The bit of the region is not
 * set: a crash during the repair leaves unreadable sectors or current data, and with the bit set
 * this leg could become the source of a resynchronisation of those sectors. If the write to the
 * leg fails, the range may hold anything. Then the bit and KFM_SB_LEG_FAILED, which excludes this
 * copy as a source, are made durable before the read ends. If no record can be stored (own.c), the
 * leg is not written: the read gets the data all the same, and the copy remains a source.
 *
 * One read is repaired at a time. All functions run in the worker, except for the completions,
 * which clear @leg_busy, kfm_post.busy and kfm_serve.busy with release semantics, as those of
 * writes do. No memory is allocated.
 */
#include <linux/crc32c.h>
#include <linux/highmem.h>
#include "bits.h"
#include "direct.h"
#include "meta.h"
#include "mirror.h"
#include "net.h"
#include "own.h"
#include "peer.h"
#include "record.h"
#include "repair.h"
#include "write.h"

#define REQUEST_EVERY	(HZ / 4)

/* ---- primary ---- */

/*
 * Is the peer's copy of a range current? It is if its regions are in sync: all writes that were
 * acknowledged since are in the log of this session, or on the leg.
 */
static bool peer_has(const struct kfm_peer *p, u64 sector, u32 len)
{
	const struct kfm *m = p->m;

	return m->primary && p->state == KFM_SESSION_UP && p->insync && !p->gap && !m->leg_failed &&
	       !kfm_oos_any(p, sector, len);
}

/* The next peer that can serve the read, or NULL; @count: how many there are */
static struct kfm_peer *find_peer(const struct kfm *m, struct bio *bio, unsigned int *count)
{
	const struct kfm_read *r = dm_per_bio_data(bio, sizeof(*r));
	struct kfm_peer *p, *found = NULL;

	*count = 0;
	kfm_for_each_peer(p, m) {
		if (r->failed_peers & BIT(p->index) ||
		    !peer_has(p, bio->bi_iter.bi_sector, bio->bi_iter.bi_size))
			continue;
		found = found ?: p;
		(*count)++;
	}
	return found;
}

static struct bio *next_bio(struct kfm *m)
{
	struct bio *bio = m->repair.waiting;

	m->repair.waiting = NULL;
	if (bio)
		return bio;
	spin_lock_irq(&m->lock);
	bio = bio_list_pop(&m->unread);
	spin_unlock_irq(&m->lock);
	return bio;
}

/* End the read with an error, or requeue it during a suspend with noflush. */
static void fail_read(struct kfm *m, struct bio *bio)
{
	bio->bi_status = READ_ONCE(m->noflush) ? BLK_STS_DM_REQUEUE : BLK_STS_IOERR;
	bio_endio(bio);
}

static void request_data(struct kfm *m)
{
	struct kfm_repair *f = &m->repair;
	struct kfm_msg msg = {
		.type = KFM_COPY, .session = f->session, .id = f->id, .sector = f->w->sector,
		.arg = f->w->len, .seq = f->seq,
	};

	f->next = jiffies + REQUEST_EVERY;
	kfm_net_send(f->w->peer, &msg);
}

/* Begin to repair the next read. Return: true if it has to be called again, for another read. */
static bool repair_begin(struct kfm *m)
{
	struct kfm_repair *f = &m->repair;
	struct bio *bio = next_bio(m);
	unsigned long now = jiffies;
	unsigned int count;
	struct kfm_peer *p;
	struct kfm_read *r;

	if (!bio)
		return false;
	r = dm_per_bio_data(bio, sizeof(*r));
	p = find_peer(m, bio, &count);
	if (READ_ONCE(m->noflush) || !p || time_after(now, r->deadline)) {
		fail_read(m, bio);
		return true;
	}
	f->w = kfm_write_get(m, p, bio->bi_iter.bi_sector, bio->bi_iter.bi_size);
	if (!f->w) {	/* the range is in use */
		f->waiting = bio;
		m->again = true;
		return false;
	}
	f->w->bio = bio;
	list_add_tail(&f->w->entry, &m->repairs);
	f->step = KFM_F_REQUESTED;
	f->session = p->session;
	f->id = kfm_random();
	f->seq = p->ring.next.seq - 1;
	f->deadline = now + (r->deadline - now) / count;
	request_data(m);
	return false;
}

/* Release the range now, and the buffer as soon as the provider does not use it. */
static void repair_end(struct kfm_repair *f)
{
	kfm_write_put(f->w);
	f->w = NULL;
}

/* The peer does not serve the read: ask the next one, or fail it. */
static void repair_abandon(struct kfm *m)
{
	struct kfm_repair *f = &m->repair;
	struct bio *bio = f->w->bio;
	struct kfm_read *r = dm_per_bio_data(bio, sizeof(*r));
	unsigned int count;

	r->failed_peers |= BIT(f->w->peer->index);
	repair_end(f);
	if (!READ_ONCE(m->noflush) && find_peer(m, bio, &count)) {
		f->waiting = bio;
		m->again = true;
		return;
	}
	if (!READ_ONCE(m->noflush))
		DMERR_LIMIT("%s: sector %llu can't be read, and no peer serves it", kfm_name(m),
			    bio->bi_iter.bi_sector);
	fail_read(m, bio);
}

/*
 * The data has arrived. If its CRC is right, copy it to the bio and write it to the leg, unless
 * that can't be written.
 */
static void fetched(struct kfm *m)
{
	struct kfm_write *w = m->repair.w;
	const u8 *from = w->buf + KFM_DATA_AT;
	bool unwritable = kfm_own_trim(m);
	struct bvec_iter iter;
	struct bio_vec vec;

	if (crc32c(~0U, from, w->len) != m->repair.crc) {
		repair_abandon(m);
		return;
	}
	if (!unwritable && kfm_own_full(m, w->len)) {	/* until a write to the leg has ended */
		m->again = true;
		return;
	}
	bio_for_each_segment(vec, w->bio, iter) {
		memcpy_to_bvec(&vec, from);
		from += vec.bv_len;
	}
	if (unwritable) {
		bio_endio(w->bio);
		repair_end(&m->repair);
		return;
	}
	m->repair.step = KFM_F_WRITING;
	kfm_own_take(w);
	kfm_write_leg(w, REQ_OP_WRITE | REQ_FUA | REQ_SYNC);
}

/*
 * The write of the data to the leg has failed. The node gets no session until it is demoted, not
 * even after a resume; as a secondary it gets the region from its peer. If the metadata can't be
 * stored, no write is acknowledged any more, as after any error of the metadata device.
 */
static void repair_failed(struct kfm *m)
{
	struct kfm_peer *p;

	m->leg_failed = true;
	kfm_for_each_peer(p, m)
		kfm_oos_set(p, m->repair.w->sector, m->repair.w->len);
	m->sb.flags |= KFM_SB_LEG_FAILED;
	if (!kfm_bits_flush(m))
		kfm_super_save(m);
}

static void repair_written(struct kfm *m)
{
	struct kfm_repair *f = &m->repair;
	bool untouched = m->leg_tears && !f->w->own_seq;	/* kfm_own_store() has failed */

	if (!f->w->leg_status) {
		f->count++;
		DMWARN_LIMIT("%s: sector %llu could not be read, and was repaired", kfm_name(m),
			     f->w->sector);
	} else if (!untouched) {
		repair_failed(m);
	}
	bio_endio(f->w->bio);	/* with success: the bio has the data of the peer */
	repair_end(f);
}

/* Stop waiting for the peer? A read from the peer that is still in flight moves to kfm.draining. */
static bool too_late(const struct kfm *m)
{
	const struct kfm_peer *p = m->repair.w->peer;

	return READ_ONCE(m->noflush) || p->state != KFM_SESSION_UP ||
	       p->session != m->repair.session || time_after(jiffies, m->repair.deadline);
}

static void go_on(struct kfm *m)
{
	struct kfm_repair *f = &m->repair;
	struct kfm_post *post = &f->w->posts[f->w->peer->index];
	bool busy;

	switch (f->step) {
	case KFM_F_REQUESTED:
		if (too_late(m))
			repair_abandon(m);
		else if (!time_before(jiffies, f->next))
			request_data(m);
		break;
	case KFM_F_FETCHING:
		busy = kfm_busy(&post->busy);	/* once: it may change at any time */
		if (busy ? too_late(m) : post->err)
			repair_abandon(m);
		else if (!busy)
			fetched(m);
		break;
	case KFM_F_WRITING:
		if (!kfm_busy(&f->w->leg_busy))
			repair_written(m);
		break;
	}
}

/**
 * kfm_repair_run() - continue the repair of reads that the leg has failed
 * @m: mirror
 */
void kfm_repair_run(struct kfm *m)
{
	if (m->repair.w)
		go_on(m);
	while (!m->repair.w && repair_begin(m))
		;
}

/**
 * kfm_repair_waits() - check whether a write has to wait for a read that is to be repaired
 * @m: mirror
 * @bio: write that is about to begin
 *
 * Return: true if the write overlaps a read that waits for its range.
 */
bool kfm_repair_waits(const struct kfm *m, const struct bio *bio)
{
	const struct bio *read = m->repair.waiting;

	return read && read->bi_iter.bi_sector < bio_end_sector(bio) &&
	       bio->bi_iter.bi_sector < bio_end_sector(read);
}

/**
 * kfm_repair_copied() - handle the peer's answer: read the data from its patch
 * @p: peer with a session
 * @msg: COPIED
 */
void kfm_repair_copied(struct kfm_peer *p, const struct kfm_msg *msg)
{
	struct kfm_repair *f = &p->m->repair;
	ssize_t ret = -ENODATA;

	if (!f->w || f->w->peer != p || f->step != KFM_F_REQUESTED || msg->id != f->id)
		return;
	if (msg->arg == f->w->len)
		ret = kfm_net_read(p, f->w);
	f->crc = msg->crc;
	if (!ret)
		f->step = KFM_F_FETCHING;
	else if (ret != -EAGAIN)	/* after -EAGAIN the request is repeated */
		repair_abandon(p->m);
}

/* ---- secondary ---- */

static void answer(struct kfm *m)
{
	const struct kfm_serve *s = &m->serve;
	struct kfm_peer *p = m->log.peer;
	struct kfm_msg msg = {
		.type = KFM_COPIED, .session = p->session, .id = s->id, .arg = s->answer_len,
		.crc = s->crc,
	};

	kfm_net_send(p, &msg);
}

/**
 * kfm_repair_requested() - handle a request of the primary for data
 * @p: primary with a session
 * @msg: COPY
 *
 * A repeated request gets the same answer again, and the patch is not filled again: the primary
 * may be reading it.
 */
void kfm_repair_requested(struct kfm_peer *p, const struct kfm_msg *msg)
{
	struct kfm_serve *s = &p->m->serve;

	if (s->step == KFM_S_NONE || s->id != msg->id) {
		s->step = KFM_S_REQUESTED;
		s->id = msg->id;
		s->sector = msg->sector;
		s->len = msg->arg;
		s->seq = msg->seq;
	} else if (s->step == KFM_S_ANSWERED) {
		answer(p->m);
	}
}

/* Is this copy in sync, and is the requested range inside the mirror, in whole blocks? */
static bool may_serve(const struct kfm *m)
{
	const struct kfm_rec r = { .sector = m->serve.sector, .len = m->serve.len };

	return m->sb.state == KFM_UPTODATE && m->was_insync && m->serve.sector < m->sectors &&
	       m->sectors - m->serve.sector >= m->serve.len / KFM_SECTOR && kfm_rec_blocks(m, &r);
}

static void serve_end_io(struct bio *bio)
{
	struct kfm *m = container_of(bio, struct kfm, serve.bio);

	m->serve.status = bio->bi_status;
	kfm_signal(m, &m->serve.busy);
}

static void serve_read(struct kfm *m)
{
	struct kfm_serve *s = &m->serve;

	bio_init(&s->bio, m->leg->bdev, s->vecs, KFM_PATCH_PAGES, REQ_OP_READ);
	s->bio.bi_iter.bi_sector = s->sector;
	s->bio.bi_end_io = serve_end_io;
	kfm_bio_add(&s->bio, m->log.patch, s->len);
	s->step = KFM_S_READING;
	s->busy = true;
	submit_bio(&s->bio);
}

static void serve_end(struct kfm *m, u32 given)
{
	struct kfm_serve *s = &m->serve;

	s->answer_len = given;
	s->crc = given ? crc32c(~0U, m->log.patch, given) : 0;
	s->step = KFM_S_ANSWERED;
	answer(m);
}

/**
 * kfm_repair_serve() - answer the request of the primary once the records are applied
 * @m: secondary
 *
 * The worker does not wait for the leg, because it has to answer other messages meanwhile. A read
 * of the leg may outlast its session; the next read begins after it, and a suspend waits for it.
 */
void kfm_repair_serve(struct kfm *m)
{
	struct kfm_serve *s = &m->serve;

	if (!m->log.open || kfm_busy(&s->busy))
		return;
	if (s->step == KFM_S_READING)
		serve_end(m, s->status ? 0 : s->len);
	if (s->step != KFM_S_REQUESTED || m->log.head.seq <= s->seq)
		return;
	if (may_serve(m))
		serve_read(m);
	else
		serve_end(m, 0);
}
