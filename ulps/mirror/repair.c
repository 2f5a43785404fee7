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
 * this leg could become the source of a resynchronisation of those sectors.
 *
 * If the write to the leg fails, that is no failed leg: it was given what it has had. It may be a
 * disk without a path for a moment. The range is *bad* from then on: the peers serve each read of
 * it, and each time the data is written back again, until the leg takes it. Nothing is compared
 * there, or copied from there. A demotion sets the bits of bad ranges, and KFM_SB_LEG_FAILED, which
 * excludes this copy as a source; after a crash the sectors are unreadable, or have current data.
 * A leg with more than KFM_BAD_RANGES of them has failed, as it has after any failed write if a
 * cache may have lost more than that (flush.c).
 *
 * A detached node (detach.c) reads all of its data in this way, and writes nothing back. If there
 * is no other peer to ask, its reads have no deadline but that of the session. While no peer has
 * the data they wait, as writes do.
 *
 * One read is repaired at a time. A detached node has a read in flight for each patch of a peer:
 * of an older program that is one. The secondary's part is in serve.c. All functions run in the
 * worker, except for the completions, which clear @leg_busy and kfm_post.busy with release
 * semantics, as those of writes do. No memory is allocated.
 */
#include <linux/crc32c.h>
#include <linux/highmem.h>
#include "bits.h"
#include "leg.h"
#include "meta.h"
#include "mirror.h"
#include "net.h"
#include "peer.h"
#include "record.h"
#include "repair.h"
#include "session.h"
#include "write.h"

#define REQUEST_EVERY	(HZ / 4)
#define CRC_TRIES	3		/* of data that arrives with a wrong CRC */

/*
 * Is the peer's copy of a range current? It is if its regions are in sync: all writes that were
 * acknowledged since are in the log of this session, or on the leg.
 */
static bool peer_has(const struct kfm_peer *p, u64 sector, u32 len)
{
	const struct kfm *m = p->m;

	return m->primary && p->state == KFM_SESSION_UP && p->insync && !p->gap && !p->witness &&
	       !m->leg_failed && !kfm_oos_any(p, sector, len);
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

/* Does a read wait for a peer that has all data, and has not said that it can't read this? */
static bool read_waits(const struct kfm *m, const struct kfm_read *r)
{
	bool may = m->detached && m->primary && !m->leg_failed && !READ_ONCE(m->noflush);
	struct kfm_peer *p;

	kfm_for_each_peer(p, m) {
		if (may && !kfm_lacks_data(p) && !(r->failed_peers & BIT(p->index)))
			return true;
	}
	return false;
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

/*
 * End the read with an error, or requeue it during a suspend with noflush. One of a bad range goes
 * to the leg first: without a peer that may be the only one that has the data.
 */
static void fail_read(struct kfm *m, struct bio *bio)
{
	struct kfm_read *r = dm_per_bio_data(bio, sizeof(*r));

	if (!r->leg_asked && m->primary && !m->detached && !m->leg_failed &&
	    !READ_ONCE(m->noflush)) {
		r->leg_asked = true;
		bio->bi_opf |= REQ_META;	/* see kfm_writes_launch() */
		submit_bio_noacct(bio);
		return;
	}
	bio->bi_status = READ_ONCE(m->noflush) ? BLK_STS_DM_REQUEUE : BLK_STS_IOERR;
	bio_endio(bio);
}

static void request_data(struct kfm *m, struct kfm_fetch *f)
{
	struct kfm_msg msg = {
		.type = KFM_COPY, .session = f->session, .id = f->id, .sector = f->w->sector,
		.arg = f->w->len, .seq = f->seq, .patch = f - m->repair.fetches,
	};

	f->next = jiffies + REQUEST_EVERY;
	kfm_net_send(f->w->peer, &msg);
}

/* Is a read being repaired or served, or does one wait for that? */
bool kfm_repair_runs(const struct kfm *m)
{
	unsigned int i;

	for (i = 0; i < KFM_PATCHES; i++) {
		if (m->repair.fetches[i].w)
			return true;
	}
	return m->repair.waiting;
}

/* An unused patch of a peer, which has one of each number; NULL: there is none */
static struct kfm_fetch *free_patch(struct kfm *m, const struct kfm_peer *p)
{
	unsigned int i, n = m->detached ? p->ring.patches : 1;

	/* writes take at most KFM_WRITES, and a detached node resynchronises nothing */
	static_assert(KFM_PATCHES <= KFM_READS + 1);
	for (i = 0; i < n; i++) {
		if (!m->repair.fetches[i].w)
			return &m->repair.fetches[i];
	}
	return NULL;
}

/* Begin to repair the next read. Return: true if it has to be called again, for another read. */
static bool repair_begin(struct kfm *m)
{
	unsigned long now = jiffies;
	struct kfm_fetch *f;
	unsigned int count;
	struct kfm_peer *p;
	struct kfm_read *r;
	struct bio *bio;

	/* no write waits for a read whose turn has not come */
	if (!m->detached && m->repair.fetches[0].w)
		return false;
	bio = next_bio(m);
	if (!bio)
		return false;
	r = dm_per_bio_data(bio, sizeof(*r));
	p = find_peer(m, bio, &count);
	if (!p && read_waits(m, r)) {
		m->repair.waiting = bio;
		return false;
	}
	if (READ_ONCE(m->noflush) || !p || (!m->detached && time_after(now, r->deadline))) {
		fail_read(m, bio);
		return true;
	}
	f = free_patch(m, p);
	if (!f) {
		m->repair.waiting = bio;
		return false;
	}
	f->w = kfm_write_get(m, p, bio->bi_iter.bi_sector, bio->bi_iter.bi_size);
	if (!f->w) {	/* the range is in use */
		m->repair.waiting = bio;
		m->again = true;
		return false;
	}
	f->w->bio = bio;
	list_add_tail(&f->w->entry, &m->repairs);
	f->step = KFM_F_REQUESTED;
	f->session = p->session;
	f->id = kfm_random();
	f->seq = p->ring.next.seq - 1;
	if (m->detached)	/* there is another one to ask, or the session has the deadline */
		f->deadline = now + (count > 1 ? m->timeout / count : MAX_JIFFY_OFFSET);
	else
		f->deadline = now + (r->deadline - now) / count;
	request_data(m, f);
	return true;
}

/* Release the range now, and the buffer as soon as the provider does not use it. */
static void repair_end(struct kfm_fetch *f)
{
	kfm_write_put(f->w);
	f->w = NULL;
}

/* A read is the next one, unless another one is already. */
static void read_again(struct kfm *m, struct bio *bio)
{
	if (!m->repair.waiting) {
		m->repair.waiting = bio;
		return;
	}
	spin_lock_irq(&m->lock);
	bio_list_add_head(&m->unread, bio);
	spin_unlock_irq(&m->lock);
}

/*
 * The peer does not serve the read: ask the next one, or fail it. @unable: it is not asked again
 * for this read.
 */
static void repair_abandon(struct kfm *m, struct kfm_fetch *f, bool unable)
{
	struct bio *bio = f->w->bio;
	struct kfm_read *r = dm_per_bio_data(bio, sizeof(*r));
	unsigned int count;

	if (unable || !m->detached)
		r->failed_peers |= BIT(f->w->peer->index);
	repair_end(f);
	if (!READ_ONCE(m->noflush) && (find_peer(m, bio, &count) || read_waits(m, r))) {
		read_again(m, bio);
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
static void fetched(struct kfm *m, struct kfm_fetch *f)
{
	struct kfm_write *w = f->w;
	const u8 *from = w->buf + KFM_DATA_AT;
	struct bvec_iter iter;
	struct bio_vec vec;
	struct kfm_read *r;

	if (crc32c(~0U, from, w->len) != f->crc) {
		r = dm_per_bio_data(w->bio, sizeof(*r));
		repair_abandon(m, f, ++r->mismatches >= CRC_TRIES);
		return;
	}
	bio_for_each_segment(vec, w->bio, iter) {
		memcpy_to_bvec(&vec, from);
		from += vec.bv_len;
	}
	if (m->detached) {
		bio_endio(w->bio);
		repair_end(f);
		return;
	}
	f->step = KFM_F_WRITING;
	kfm_write_leg(w, REQ_OP_WRITE | REQ_FUA | REQ_SYNC);
}

/* ---- bad ranges ---- */

/**
 * kfm_repair_bad() - is a part of a range bad?
 * @m: primary
 * @sector: first sector
 * @sectors: how many
 *
 * Context: any.
 */
bool kfm_repair_bad(struct kfm *m, u64 sector, u64 sectors)
{
	const struct kfm_bad *b = m->repair.bad;
	unsigned long flags;
	bool found = false;
	unsigned int i;

	if (!READ_ONCE(m->repair.bad_count))
		return false;
	spin_lock_irqsave(&m->lock, flags);
	for (i = 0; i < m->repair.bad_count; i++)
		found |= b[i].sector < sector + sectors && sector < b[i].end;
	spin_unlock_irqrestore(&m->lock, flags);
	return found;
}

/* No part of a range is bad any more; or all of it is, if @add. Return: false without a place. */
static bool bad_change(const struct kfm_write *w, bool add)
{
	const struct kfm_bad range = { w->sector, w->sector + w->len / KFM_SECTOR };
	struct kfm_repair *r = &w->m->repair;
	unsigned int i, kept = 0;
	bool fits;

	spin_lock_irq(&w->m->lock);
	for (i = 0; i < r->bad_count; i++) {
		if (r->bad[i].sector < range.sector || r->bad[i].end > range.end)
			r->bad[kept++] = r->bad[i];
	}
	fits = !add || kept < KFM_BAD_RANGES;
	if (add && fits)
		r->bad[kept++] = range;
	WRITE_ONCE(r->bad_count, kept);
	spin_unlock_irq(&w->m->lock);
	return fits;
}

/**
 * kfm_repair_bad_rest() - exclude bad ranges from the copy of a node that is about to be secondary
 * @m: primary without a write in flight. The caller stores the bits and the superblock
 *
 * It gets these ranges from the next primary, which is another node.
 */
void kfm_repair_bad_rest(struct kfm *m)
{
	const struct kfm_repair *r = &m->repair;
	struct kfm_peer *p;
	unsigned int i;

	for (i = 0; i < r->bad_count; i++) {
		kfm_for_each_peer(p, m)
			kfm_oos_set(p, r->bad[i].sector,
				    (r->bad[i].end - r->bad[i].sector) * KFM_SECTOR);
		m->sb.flags |= KFM_SB_LEG_FAILED;
	}
}

/* May the leg be used although it has not taken repaired data? */
static bool write_back_optional(const struct kfm_write *w)
{
	struct kfm *m = w->m;

	return !m->cache && !m->detached &&
	       (m->repair.bad_count < KFM_BAD_RANGES ||
		kfm_repair_bad(m, w->sector, w->len / KFM_SECTOR));
}

/*
 * The write of the data to the leg has failed, and the node does not go on without it. It gets no
 * session until it is demoted, not even after a resume; as a secondary it gets the region from its
 * peer. If the metadata can't be stored, no write is acknowledged any more, as after any error of
 * the metadata device.
 */
static void repair_failed(struct kfm *m, const struct kfm_write *w)
{
	struct kfm_peer *p;

	kfm_for_each_peer(p, m)
		kfm_oos_set(p, w->sector, w->len);
	m->sb.flags |= KFM_SB_LEG_FAILED;
	if (!kfm_bits_flush(m))
		kfm_super_save(m);
}

static void repair_written(struct kfm *m, struct kfm_fetch *f)
{
	if (!f->w->leg_status) {
		m->repair.count++;
		bad_change(f->w, false);
		DMWARN_LIMIT("%s: sector %llu could not be read, and was repaired", kfm_name(m),
			     f->w->sector);
	} else if (write_back_optional(f->w) && bad_change(f->w, true)) {
		DMERR_LIMIT("%s: sector %llu could not be read, and the leg does not take its data",
			    kfm_name(m), f->w->sector);
	} else {
		m->leg_failed |= !m->detached;
		kfm_leg_run(m);
		if (!m->detached)
			repair_failed(m, f->w);
	}
	bio_endio(f->w->bio);	/* with success: the bio has the data of the peer */
	repair_end(f);
}

/*
 * Has the leg failed the write of repaired data, and so altogether? Any context that has claimed
 * the mirror.
 */
bool kfm_repair_leg_failed(const struct kfm *m)
{
	const struct kfm_fetch *f = m->repair.fetches;	/* the only one of a node with a leg */

	return f->w && f->step == KFM_F_WRITING && !kfm_busy(&f->w->leg_busy) &&
	       f->w->leg_status && !write_back_optional(f->w);
}

/*
 * The patch could not be read. For a detached node another attempt in this session would not end
 * otherwise, and the peer may have the only copy: the next session has other keys.
 */
static void fetch_failed(struct kfm *m, struct kfm_fetch *f, int err)
{
	struct kfm_peer *p = f->w->peer;
	bool same = p->state == KFM_SESSION_UP && p->session == f->session;

	if (m->detached && same)
		kfm_rail_lost(p->rail, err);
	repair_abandon(m, f, false);
}

/* Stop waiting for the peer? A read from the peer that is still in flight moves to kfm.draining. */
static bool too_late(const struct kfm *m, const struct kfm_fetch *f)
{
	const struct kfm_peer *p = f->w->peer;

	return READ_ONCE(m->noflush) || p->state != KFM_SESSION_UP ||
	       p->session != f->session || time_after(jiffies, f->deadline);
}

static void go_on(struct kfm *m, struct kfm_fetch *f)
{
	struct kfm_post *post = &f->w->posts[f->w->peer->index];
	bool busy;

	switch (f->step) {
	case KFM_F_REQUESTED:
		if (too_late(m, f))
			repair_abandon(m, f, time_after(jiffies, f->deadline));
		else if (!time_before(jiffies, f->next))
			request_data(m, f);
		break;
	case KFM_F_FETCHING:
		busy = kfm_busy(&post->busy);	/* once: it may change at any time */
		if (busy && too_late(m, f))
			repair_abandon(m, f, time_after(jiffies, f->deadline));
		else if (!busy && post->err)
			fetch_failed(m, f, post->err);
		else if (!busy)
			fetched(m, f);
		break;
	case KFM_F_WRITING:
		if (!kfm_busy(&f->w->leg_busy))
			repair_written(m, f);
		break;
	}
}

/**
 * kfm_repair_run() - continue the reads that peers serve
 * @m: mirror
 */
void kfm_repair_run(struct kfm *m)
{
	struct kfm_fetch *f;

	for (f = m->repair.fetches; f < m->repair.fetches + KFM_PATCHES; f++) {
		if (f->w)
			go_on(m, f);
	}
	while (repair_begin(m))
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
	struct kfm_repair *r = &p->m->repair;
	struct kfm_fetch *f = r->fetches;
	ssize_t ret = -ENODATA;

	while (f < r->fetches + KFM_PATCHES &&
	       (!f->w || f->w->peer != p || f->step != KFM_F_REQUESTED || msg->id != f->id))
		f++;
	if (f == r->fetches + KFM_PATCHES)
		return;
	if (msg->arg == f->w->len)
		ret = kfm_net_read(p, f->w, f - r->fetches);
	f->crc = msg->crc;
	if (!ret)
		f->step = KFM_F_FETCHING;
	else if (msg->arg != f->w->len)
		repair_abandon(p->m, f, true);
	else if (ret != -EAGAIN)	/* after -EAGAIN the request is repeated */
		fetch_failed(p->m, f, ret);
}
