// SPDX-License-Identifier: GPL-2.0
/*
 * serve.c - the secondary's part of repair.c: it answers COPY, by which the primary asks for data
 * that its own leg can't read, or compares the copies.
 *
 * All functions run in the worker, except for the completion, which clears kfm_serve.busy with
 * release semantics. No memory is allocated.
 */
#include <linux/crc32c.h>
#include "direct.h"
#include "meta.h"
#include "mirror.h"
#include "net.h"
#include "peer.h"
#include "repair.h"

static u8 *patch_of(const struct kfm *m, const struct kfm_serve *s)
{
	return m->log.patch + (s - m->serve) * KFM_WRITE_MAX;
}

static void answer(struct kfm *m, const struct kfm_serve *s)
{
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
	struct kfm_serve *s = &p->m->serve[msg->patch];

	if (s->step == KFM_S_NONE || s->id != msg->id) {
		s->step = KFM_S_REQUESTED;
		s->id = msg->id;
		s->sector = msg->sector;
		s->len = msg->arg;
		s->seq = msg->seq;
	} else if (s->step == KFM_S_ANSWERED) {
		answer(p->m, s);
	}
}

/* Is this copy in sync, and is the requested range inside the mirror, in whole blocks? */
static bool may_serve(const struct kfm *m, const struct kfm_serve *s)
{
	const struct kfm_rec r = { .sector = s->sector, .len = s->len };

	return m->sb.state == KFM_UPTODATE && m->was_insync && s->sector < m->sectors &&
	       m->sectors - s->sector >= s->len / KFM_SECTOR && kfm_rec_blocks(m, &r);
}

static void serve_end_io(struct bio *bio)
{
	struct kfm_serve *s = container_of(bio, struct kfm_serve, bio);

	s->status = bio->bi_status;
	kfm_signal(s->m, &s->busy);
}

static void serve_read(struct kfm *m, struct kfm_serve *s)
{
	s->m = m;
	bio_init(&s->bio, m->leg->bdev, s->vecs, KFM_PATCH_PAGES, REQ_OP_READ);
	s->bio.bi_iter.bi_sector = s->sector;
	s->bio.bi_end_io = serve_end_io;
	kfm_bio_add(&s->bio, patch_of(m, s), s->len);
	s->step = KFM_S_READING;
	s->busy = true;
	submit_bio(&s->bio);
}

static void serve_end(struct kfm *m, struct kfm_serve *s, u32 given)
{
	s->answer_len = given;
	s->crc = given ? crc32c(~0U, patch_of(m, s), given) : 0;
	s->step = KFM_S_ANSWERED;
	answer(m, s);
}

static void serve_one(struct kfm *m, struct kfm_serve *s)
{
	if (kfm_busy(&s->busy))
		return;
	if (s->step == KFM_S_READING)
		serve_end(m, s, s->status ? 0 : s->len);
	if (s->step != KFM_S_REQUESTED || m->log.head.seq <= s->seq)
		return;
	if (may_serve(m, s))
		serve_read(m, s);
	else
		serve_end(m, s, 0);
}

/**
 * kfm_repair_serve() - answer the requests of the primary whose records are applied
 * @m: secondary
 *
 * The worker does not wait for the leg, because it has to answer other messages meanwhile. A read
 * of the leg may outlast its session; the next read of its patch begins after it, and a suspend
 * waits for it.
 */
void kfm_repair_serve(struct kfm *m)
{
	unsigned int i;

	for (i = 0; i < KFM_PATCHES && m->log.open; i++)
		serve_one(m, &m->serve[i]);
}

/* Does a request wait for records that are to be applied? Any context. */
bool kfm_serve_waits(const struct kfm *m)
{
	unsigned int i;

	for (i = 0; i < KFM_PATCHES; i++) {
		if (READ_ONCE(m->serve[i].step) == KFM_S_REQUESTED)
			return true;
	}
	return false;
}

/* Is the leg being read? */
bool kfm_serve_busy(const struct kfm *m)
{
	unsigned int i;

	for (i = 0; i < KFM_PATCHES; i++) {
		if (kfm_busy(&m->serve[i].busy))
			return true;
	}
	return false;
}

/* The session has ended: nothing is answered any more. */
void kfm_serve_stop(struct kfm *m)
{
	unsigned int i;

	for (i = 0; i < KFM_PATCHES; i++)
		m->serve[i].step = KFM_S_NONE;
}
