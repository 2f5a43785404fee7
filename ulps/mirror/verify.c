// SPDX-License-Identifier: GPL-2.0
/*
 * verify.c - a primary compares its copy with those of its peers, one part after the other.
 *
 *   primary				secondary
 *   claims the range, as a write does
 *   COPY			->	applies its log up to the last record that was posted
 *   reads its leg			reads its leg into the patch
 *				<-	COPIED, with a CRC
 *   compares the CRC with that of its own data
 *
 * The request and its answer are those of repair.c, but nobody reads the patch: the CRC is enough.
 * No write to the range is in flight while it is claimed, so what differs is a difference, and no
 * write that one of both nodes has not got yet.
 *
 * With several peers one that has something else than this node is not enough to know which of both
 * is wrong: all others in sync are asked for the same part. If one of them has what that peer has,
 * this node is outvoted, whatever the rest have, and the part is not overwritten for the rest of
 * this comparison: a person has to decide. If one of them does not answer, the part is left out.
 *
 * Otherwise the regions of a part that differs are out of sync from then on, durably, and the
 * resynchronisation of this session overwrites them with the data of the primary. If the session
 * ends before, the next one begins with ATTACH that announces that, as after each outage. The
 * peer's copy stays one that may be promoted meanwhile: sectors that are overwritten are not worse
 * than those that were there.
 *
 * A part that the peer, or this node, can't read is left out, and counted. So is what is out of
 * sync, and a part to which writes are in flight all the time.
 * All functions run in the worker.
 */
#include <linux/crc32c.h>
#include <linux/math64.h>
#include "bits.h"
#include "leg.h"
#include "mirror.h"
#include "net.h"
#include "peer.h"
#include "repair.h"
#include "resync.h"
#include "verify.h"
#include "write.h"

#define REQUEST_EVERY	(HZ / 4)
#define PART		(KFM_WRITE_MAX / KFM_SECTOR)	/* sectors */

static bool peer_insync(const struct kfm_peer *p)
{
	return p->state == KFM_SESSION_UP && p->insync && !p->gap;
}

/* Should a range be the same at the peer? */
static bool comparable(const struct kfm_peer *p, u64 sector, u32 len)
{
	return peer_insync(p) && !kfm_oos_any(p, sector, len) &&
	       !kfm_repair_bad(p->m, sector, len / KFM_SECTOR);
}

/* Leave out a part that is out of sync, or all of a peer that is not in sync. */
static void leave_out(const struct kfm_peer *p)
{
	struct kfm_verify *v = &p->m->verify;
	u64 parts = peer_insync(p) ? 1 : DIV_ROUND_UP_ULL(p->m->sectors - v->next, PART);

	v->skipped += parts;
	v->next += parts * PART;
}

static u32 part_bytes(const struct kfm *m)
{
	return min_t(u64, m->sectors - m->verify.next, PART) * KFM_SECTOR;
}

static void request(struct kfm *m)
{
	struct kfm_verify *v = &m->verify;
	struct kfm_msg msg = {
		.type = KFM_COPY, .session = v->session, .id = v->id, .sector = v->w->sector,
		.arg = v->w->len, .seq = v->seq,
	};

	v->repeat = jiffies + REQUEST_EVERY;
	kfm_net_send(v->asked, &msg);
}

/* Ask a peer for the part, which is claimed. */
static void ask(struct kfm *m, struct kfm_peer *p)
{
	struct kfm_verify *v = &m->verify;

	v->asked = p;
	v->session = p->session;
	v->id = kfm_random();
	v->seq = p->ring.next.seq - 1;
	v->answered = false;
	v->deadline = jiffies + m->timeout;
	request(m);
}

/* Begin to compare the next part. Return: true if it has to be called again. */
static bool part_begin(struct kfm *m)
{
	struct kfm_verify *v = &m->verify;
	struct kfm_peer *p = m->peers[v->index];

	if (!p || p->witness) {
		v->running = false;
		v->done = true;
		kfm_event(m, "verified");
		return false;
	}
	if (v->next >= m->sectors) {
		v->next = 0;
		v->index++;
		return true;
	}
	if (!comparable(p, v->next, part_bytes(m))) {
		leave_out(p);
		return true;
	}
	/* the peer serves one request at a time, and a reader waits for that of a repair */
	if (kfm_repair_runs(m) || !kfm_resync_allowed(p))
		return false;
	v->w = kfm_write_get(m, p, v->next, part_bytes(m));
	if (!v->w) {	/* the range is in use */
		v->waits = v->waits ?: jiffies | 1;
		m->again = true;
		if (time_before(jiffies, v->waits + m->timeout))
			return false;
		v->waits = 0;	/* it always is: leave the part out */
		v->skipped++;
		v->next += PART;
		return true;
	}
	v->waits = 0;
	list_add_tail(&v->w->entry, &m->repairs);
	p->budget -= v->w->len;
	v->voting = false;
	ask(m, p);
	kfm_write_leg(v->w, REQ_OP_READ);
	return false;
}

/* Ask the next peer that may know which of two copies is wrong. Return: false if there is none. */
static bool ask_next(struct kfm *m)
{
	struct kfm_verify *v = &m->verify;
	struct kfm_peer *p;

	while ((p = m->peers[v->voter])) {
		v->voter++;
		if (p->index == v->index || p->witness || !comparable(p, v->w->sector, v->w->len))
			continue;
		/* the range may have a write that this node and the first peer have: both_have() */
		if (!kfm_range_lacks(p, v->w->sector, v->w->len)) {
			ask(m, p);
			return true;
		}
		v->unasked = true;
	}
	return false;
}

/* Was a part outvoted in this comparison? */
static bool is_kept(const struct kfm_verify *v, u64 sector)
{
	unsigned int i;

	for (i = 0; i < min(v->outvoted, KFM_VERIFY_KEPT); i++) {
		if (v->kept[i] == sector)
			return true;
	}
	return false;
}

static void differs(struct kfm *m)
{
	const struct kfm_write *w = m->verify.w;
	struct kfm_peer *p = w->peer;

	DMERR_LIMIT("%s: %u bytes from sector %llu on differ from those of %s", kfm_name(m),
		    w->len, w->sector, kfm_peer_name(p));
	m->verify.differ++;
	if (m->verify.report || is_kept(&m->verify, w->sector))
		return;
	kfm_oos_set(p, w->sector, w->len);
	p->oos_start = max(p->oos_start, p->oos_count);
	kfm_bits_flush(m);
}

/* Two copies are the same, and this one is not: it is not written over them. */
static void outvoted(struct kfm *m)
{
	const struct kfm_write *w = m->verify.w;
	struct kfm_verify *v = &m->verify;

	DMERR_LIMIT("%s: %u bytes from sector %llu on differ from two peers that agree",
		    kfm_name(m), w->len, w->sector);
	v->differ++;
	if (is_kept(v, w->sector))
		return;
	if (v->outvoted < KFM_VERIFY_KEPT)
		v->kept[v->outvoted] = w->sector;
	else
		v->report = true;
	v->outvoted++;
}

/* All have been asked, and none of them has what the peer has. */
static void part_won(struct kfm *m)
{
	struct kfm_verify *v = &m->verify;

	if (v->unasked || !comparable(v->w->peer, v->w->sector, v->w->len))
		v->skipped++;
	else
		differs(m);
}

/*
 * The peer that was asked has answered, or can't: @valid. Return: true if another one has been
 * asked; false if the part has been compared.
 */
static bool part_judged(struct kfm *m, bool valid)
{
	struct kfm_verify *v = &m->verify;
	u32 mine = crc32c(~0U, v->w->buf + KFM_DATA_AT, v->w->len);

	if (!v->voting && (!valid || v->crc == mine)) {
		v->skipped += !valid;
		return false;
	}
	if (!v->voting) {
		v->voting = true;
		v->other = v->crc;
		v->voter = 0;
		v->unasked = false;
	} else if (valid && v->crc == v->other) {
		outvoted(m);
		return false;
	}
	v->unasked |= !valid;
	if (ask_next(m))
		return true;
	part_won(m);
	return false;
}

/* The claim of the part ends. */
static void part_put(struct kfm *m)
{
	kfm_write_put(m->verify.w);
	m->verify.w = NULL;
}

/* Go on with the part, if there is one. */
static void part_run(struct kfm *m)
{
	struct kfm_verify *v = &m->verify;
	struct kfm_write *w = v->w;
	bool usable;

	if (!w || kfm_busy(&w->leg_busy))
		return;
	if (!v->running) {	/* nobody is asked any more, and nothing overwritten */
		v->skipped++;
		part_put(m);
		return;
	}
	/* A repair goes first: it may need the range, the write, or the patch. */
	if (kfm_repair_runs(m)) {
		part_put(m);
		return;
	}
	usable = comparable(v->asked, w->sector, w->len) && v->asked->session == v->session &&
		 !w->leg_status;
	if (usable && !v->answered && time_before(jiffies, v->deadline)) {
		if (!time_before(jiffies, v->repeat))
			request(m);
		return;
	}
	if (part_judged(m, usable && v->answered && v->len == w->len))
		return;
	v->next = w->sector + PART;
	part_put(m);
}

/**
 * kfm_verify_run() - go on with the comparison, if there is one
 * @m: mirror
 *
 * Context: the worker.
 */
void kfm_verify_run(struct kfm *m)
{
	struct kfm_verify *v = &m->verify;

	if (READ_ONCE(m->noflush) || m->stop || !m->primary || m->leg_failed || m->meta_failed ||
	    m->detached)
		kfm_verify_stop(m);
	part_run(m);
	while (v->running && !v->w && part_begin(m))
		;
}

/* A peer has answered COPY. */
void kfm_verify_copied(struct kfm_peer *p, const struct kfm_msg *msg)
{
	struct kfm_verify *v = &p->m->verify;

	if (!v->w || v->asked != p || v->answered || msg->id != v->id)
		return;
	v->answered = true;
	v->len = msg->arg;
	v->crc = msg->crc;
}

/**
 * kfm_verify_start() - begin to compare the copies
 * @m: mirror
 * @report: change nothing
 *
 * Return: 0; or -EINVAL at a secondary, -EALREADY while another comparison runs, -EIO after a
 * failure
 */
int kfm_verify_start(struct kfm *m, bool report)
{
	struct kfm_verify *v = &m->verify;

	if (!m->primary)
		return -EINVAL;
	if (v->running || v->w)
		return -EALREADY;
	if (m->leg_failed || m->meta_failed || m->detached)
		return -EIO;
	*v = (struct kfm_verify) { .running = true, .report = report };
	return 0;
}

/* Stop the comparison. The part in flight ends when this node has read it. */
void kfm_verify_stop(struct kfm *m)
{
	m->verify.running = false;
}

/* How far is the comparison? For status, without a lock. */
unsigned int kfm_verify_percent(const struct kfm *m)
{
	unsigned int index = READ_ONCE(m->verify.index), peers = kfm_copy_count(m);
	u64 next = min(READ_ONCE(m->verify.next), m->sectors);

	return index >= peers ? 100 : (index * 100 + div64_u64(next * 100, m->sectors)) / peers;
}
