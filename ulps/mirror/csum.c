// SPDX-License-Identifier: GPL-2.0
/*
 * csum.c - resynchronisation by checksums, if the table says so: the primary sends no data that the
 * peer has already.
 *
 *   primary				secondary
 *   claims the range, reads its leg
 *   HASH			->	applies its log up to the last record in the range
 *					reads its leg
 *					for all parts that are the same: flushes its leg
 *				<-	HASHED
 *   the same: the regions are in sync
 *   else: a record with the data
 *
 * Each of the KFM_READS parts of a peer does this by itself, so the peer reads as many at a time.
 * While a part is compared, no write to its range is in flight.
 *
 * What a read returns may be in a volatile cache alone: an earlier session may have ended before a
 * flush, or the node may have been primary itself. A record of a resynchronisation is durable when
 * it is answered, and the bits of its regions are cleared then, so "the same" has to mean as much.
 * Therefore the secondary compares, and flushes its leg behind the read. Parts that are the same
 * wait for those that are being read, and one flush is for all of them. A disk that has lost
 * something may report that once, so a flush that fails is the end of the session, and none begins
 * before the next resume. What the primary has in its own cache alone is in an active extent, as in
 * any resynchronisation.
 *
 * The hash is SipHash, 64 bits, with a key that is drawn for each request. So nobody can prepare
 * data that passes for other data; of 2^34 parts that differ, which are 1 PiB, one is missed with a
 * probability of 2^-30. A CRC, which has 32 bits, would be no reason to leave data out.
 *
 * All functions run in the worker. No memory is allocated: a secondary reads into the buffers that
 * its writes would have.
 */
#include <linux/siphash.h>
#include "csum.h"
#include "direct.h"
#include "leg.h"
#include "mirror.h"
#include "net.h"
#include "peer.h"
#include "write.h"

#define REQUEST_EVERY	(HZ / 4)

/* The hash of the data in the buffer, for this request alone */
u64 kfm_csum_hash(const struct kfm_write *w)
{
	const siphash_key_t key = { .key = { w->sum.session, w->sum.id } };

	return siphash(w->buf + KFM_DATA_AT, w->len, &key);
}

/* ---- primary ---- */

static void csum_ask(struct kfm_write *w)
{
	const struct kfm_sum *s = &w->sum;
	struct kfm_msg msg = {
		.type = KFM_HASH, .session = s->session, .id = s->id, .sector = w->sector,
		.arg = w->len, .seq = s->seq, .hash = s->hash,
	};

	w->sum.repeat = jiffies + REQUEST_EVERY;
	kfm_net_send(w->peer, &msg);
}

static void csum_begin(struct kfm_write *w)
{
	const struct kfm_peer *p = w->peer;

	w->sum = (struct kfm_sum) {
		.step = KFM_H_ASKED, .session = p->session, .id = kfm_random(),
		.seq = kfm_logged(p, w->sector, w->len), .deadline = jiffies + w->m->timeout,
	};
	w->sum.hash = kfm_csum_hash(w);
	csum_ask(w);
}

static void csum_unanswered(struct kfm_write *w)
{
	w->sum.step = KFM_H_DIFFERS;
	w->peer->csum = false;	/* its other parts would wait as long, and hold up writes */
	DMINFO("%s: no hash from %s in time: it gets all data", kfm_name(w->m),
	       kfm_peer_name(w->peer));
}

/**
 * kfm_csum_waits() - go on with the comparison of a part
 * @w: part that was read in the present session; the peer answers HASH
 *
 * Return: true while the answer is due; else kfm_sum.step is KFM_H_EQUAL or KFM_H_DIFFERS. A peer
 * that does not answer within the time-out gets all data for the rest of the session.
 */
bool kfm_csum_waits(struct kfm_write *w)
{
	struct kfm_sum *s = &w->sum;

	if (s->step == KFM_H_NONE)
		csum_begin(w);
	else if (s->step == KFM_H_ASKED && time_after(jiffies, s->deadline))
		csum_unanswered(w);
	else if (s->step == KFM_H_ASKED && !time_before(jiffies, s->repeat))
		csum_ask(w);
	return s->step == KFM_H_ASKED;
}

/* A peer has answered HASH. */
void kfm_csum_answered(struct kfm_peer *p, const struct kfm_msg *msg)
{
	struct kfm_write *w;

	list_for_each_entry(w, &p->m->reads, entry) {
		if (w->peer == p && w->sum.step == KFM_H_ASKED && w->sum.id == msg->id)
			w->sum.step = msg->arg ? KFM_H_EQUAL : KFM_H_DIFFERS;
	}
}

/* ---- secondary ---- */

static void csum_answer(const struct kfm_write *w, bool same)
{
	struct kfm_msg msg = {
		.type = KFM_HASHED, .session = w->sum.session, .id = w->sum.id, .arg = same,
	};

	kfm_net_send(w->peer, &msg);
}

/* Does the session in which the part was requested go on? */
static bool csum_awaited(const struct kfm_write *w)
{
	const struct kfm_log *log = &w->m->log;

	return log->open && log->peer == w->peer && w->peer->session == w->sum.session;
}

/* Drop a part of an ended session when its read has ended. Return: does its session go on? */
static bool csum_live(struct kfm_write *w)
{
	if (csum_awaited(w))
		return true;
	if (!kfm_busy(&w->leg_busy))
		kfm_write_put(w);
	return false;
}

/**
 * kfm_csum_requested() - handle a request to compare a part
 * @p: primary with a session
 * @msg: HASH
 *
 * A request that can't be taken now is repeated. One that makes no sense gets no answer.
 */
void kfm_csum_requested(struct kfm_peer *p, const struct kfm_msg *msg)
{
	const struct kfm_rec r = { .sector = msg->sector, .len = msg->arg };
	struct kfm_write *w, *next;
	struct kfm *m = p->m;
	unsigned int count = 0;

	list_for_each_entry_safe(w, next, &m->hashes, entry) {
		if (!csum_live(w))
			continue;
		if (w->sum.id == msg->id)
			return;
		count++;
	}
	if (count == KFM_READS || r.sector >= m->sectors ||
	    m->sectors - r.sector < r.len / KFM_SECTOR || !kfm_rec_blocks(m, &r))
		return;
	w = kfm_write_get(m, p, r.sector, r.len);
	if (!w)
		return;
	w->sum = (struct kfm_sum) {
		.step = KFM_H_ASKED, .session = msg->session, .id = msg->id, .hash = msg->hash,
		.seq = msg->seq,
	};
	list_add_tail(&w->entry, &m->hashes);
}

/* Is there a part of the session that is so far? */
static bool csum_any(const struct kfm *m, int step)
{
	const struct kfm_write *w;

	list_for_each_entry(w, &m->hashes, entry) {
		if (w->sum.step == step && csum_awaited(w))
			return true;
	}
	return false;
}

/* Compare a part that was read. */
static void csum_compare(struct kfm_write *w)
{
	if (w->sum.step != KFM_H_READING || kfm_busy(&w->leg_busy))
		return;
	if (!w->leg_status && kfm_csum_hash(w) == w->sum.hash) {
		w->sum.step = KFM_H_SAME;
		return;
	}
	csum_answer(w, false);
	kfm_write_put(w);
}

/* A flush of the leg, for which the worker waits */
struct csum_flush {
	struct bio		bio;
	struct kfm		*m;
	struct completion	ended;
};

/*
 * Any context. A disk may report an error once, to this flush alone. Other flushes, which succeed
 * then, are regarded as failed: they look at @failed afterwards, see slot_end_io(), apply_batch().
 */
static void csum_flush_end_io(struct bio *bio)
{
	struct csum_flush *f = container_of(bio, struct csum_flush, bio);

	if (bio->bi_status)
		WRITE_ONCE(f->m->log.failed, true);
	complete(&f->ended);
}

/* Make durable what was read. Return: false if this flush, or an earlier one, has failed. */
static bool csum_flush_leg(struct kfm *m)
{
	struct csum_flush f = { .m = m };

	init_completion(&f.ended);
	bio_init(&f.bio, m->leg->bdev, NULL, 0, REQ_OP_WRITE | REQ_PREFLUSH | REQ_SYNC);
	f.bio.bi_end_io = csum_flush_end_io;
	submit_bio(&f.bio);
	wait_for_completion(&f.ended);
	bio_uninit(&f.bio);
	return !READ_ONCE(m->log.failed);
}

/* Answer for the parts that are the same. Return: 0 or a negative error */
static int csum_settle(struct kfm *m)
{
	struct kfm_write *w, *next;

	if (!csum_flush_leg(m)) {
		DMERR("%s: can't flush the leg behind a comparison", kfm_name(m));
		return -EIO;
	}
	list_for_each_entry_safe(w, next, &m->hashes, entry) {
		if (w->sum.step != KFM_H_SAME)
			continue;
		csum_answer(w, true);
		kfm_write_put(w);
	}
	return 0;
}

/* Read a part, if what the log has for it is on the leg. */
static void csum_read(struct kfm_write *w)
{
	if (w->sum.step != KFM_H_ASKED || w->m->log.head.seq <= w->sum.seq)
		return;
	w->sum.step = KFM_H_READING;
	kfm_write_leg(w, REQ_OP_READ);
}

/**
 * kfm_csum_serve() - go on with the comparisons that the primary has requested
 * @m: mirror
 *
 * No part is read while another one waits for a flush, so none waits for long. What a session has
 * begun may end after it, and after a promotion.
 *
 * Return: 0; or a negative error, after which the caller ends the session.
 */
int kfm_csum_serve(struct kfm *m)
{
	struct kfm_write *w, *next;
	int ret = 0;

	list_for_each_entry_safe(w, next, &m->hashes, entry) {
		if (csum_live(w))
			csum_compare(w);
	}
	if (csum_any(m, KFM_H_SAME) && !csum_any(m, KFM_H_READING))
		ret = csum_settle(m);
	if (ret)
		return ret;
	list_for_each_entry_safe(w, next, &m->hashes, entry) {
		if (csum_live(w) && !csum_any(m, KFM_H_SAME))
			csum_read(w);
	}
	return 0;
}

/* Does a comparison wait for records that are in the log of this secondary? */
bool kfm_csum_behind(const struct kfm *m)
{
	const struct kfm_write *w;

	list_for_each_entry(w, &m->hashes, entry) {
		if (w->sum.step == KFM_H_ASKED && m->log.head.seq <= w->sum.seq)
			return true;
	}
	return false;
}
