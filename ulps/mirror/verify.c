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
 * Which of two copies is wrong is not known here. So what differs is *marked*, and stays as it is,
 * unless the caller has named the source: this node, a peer, or what more than half of all copies
 * are like (enum kfm_verify_source). Only what is marked is compared then, if the marks are whole.
 *
 * With several peers all others in sync are asked for a part that differs. More copies than the
 * source has on its side outvote it: a part of which another copy is as the one that would be
 * overwritten, while none is as the source, is not overwritten for the rest of this comparison. If
 * one of the others does not answer, the part is left out.
 *
 * If the source is here, the regions of the part are out of sync from then on, durably, and the
 * resynchronisation of this session overwrites them with the data of the primary. If the session
 * ends before, the next one begins with ATTACH that announces that, as after each outage. The
 * peer's copy stays one that may be promoted meanwhile: sectors that are overwritten are not worse
 * than those that were there.
 *
 * If the source is a peer, the primary asks it once more, reads its patch, and writes the data to
 * its own leg, with the range claimed. No bit is set: what a crash leaves of the part is what one of
 * both copies has had. The source is the first peer that is compared. At each further one a part
 * that differs is overwritten if this node has there what the source has.
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

/* The peer that is compared now, or NULL; that of the source is the first one. */
static struct kfm_peer *compared(const struct kfm *m)
{
	const struct kfm_verify *v = &m->verify;
	unsigned int i = v->index;

	if (v->from && !i)
		return v->from;
	return m->peers[v->from && i <= v->from->index ? i - 1 : i];
}

/* Leave out a part that is out of sync, or all of a peer that is not in sync. */
static void leave_out(const struct kfm_peer *p)
{
	struct kfm_verify *v = &p->m->verify;
	bool one = peer_insync(p);

	v->skipped += one ? 1 : DIV_ROUND_UP_ULL(p->m->sectors - v->next, PART);
	v->next = one ? v->next + PART : p->m->sectors;
}

/* ---- marks ---- */

/* The first sector from @next on that is to be compared, or the end of the mirror */
static u64 next_todo(const struct kfm *m, u64 next)
{
	const struct kfm_marks *todo = &m->verify.todo;
	u64 first = m->sectors;
	unsigned int i;

	if (!todo->whole)
		return next;
	for (i = 0; i < todo->count; i++) {
		if (todo->at[i].end > next)
			first = min(first, max(next, todo->at[i].sector));
	}
	return first;
}

/* The part differs, and stays so. It may be known from another peer. */
static void mark(struct kfm *m)
{
	struct kfm_marks *marks = &m->verify.marks;
	u64 sector = m->verify.w->sector, end = sector + m->verify.w->len / KFM_SECTOR;
	unsigned int i;

	m->verify.left++;
	for (i = 0; i < marks->count; i++) {
		if (marks->at[i].sector <= sector && end <= marks->at[i].end)
			return;
		if (marks->at[i].end != sector)
			continue;
		marks->at[i].end = end;
		return;
	}
	if (i == KFM_VERIFY_MARKS) {
		marks->whole = false;
		return;
	}
	marks->at[i].sector = sector;
	marks->at[i].end = end;
	marks->count++;
}

/* The comparison has ended. Each range that was left is in the log, which has lost some before. */
static void end(struct kfm *m)
{
	struct kfm_verify *v = &m->verify;
	unsigned int i;

	v->running = false;
	v->done = true;
	v->marks.whole &= !v->skipped;
	for (i = 0; i < v->marks.count; i++)
		DMERR("%s: verify: sectors %llu to %llu differ between two copies", kfm_name(m),
		      v->marks.at[i].sector, v->marks.at[i].end - 1);
	kfm_event(m, "verified");
}

/* ---- a part ---- */

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
	struct kfm_peer *p = compared(m);

	if (!p || p->witness) {
		end(m);
		return false;
	}
	v->next = next_todo(m, v->next);
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
	v->step = KFM_V_COMPARED;
	ask(m, p);
	kfm_write_leg(v->w, REQ_OP_READ);
	return false;
}

/*
 * Ask the next peer that may know which of two copies is wrong: of two that are no source that is
 * the source alone. Return: false if there is none.
 */
static bool ask_next(struct kfm *m)
{
	struct kfm_verify *v = &m->verify;
	struct kfm_peer *p;

	while ((p = m->peers[v->voter])) {
		v->voter++;
		if (p == v->w->peer || p->witness ||
		    (v->from && v->w->peer != v->from && p != v->from) ||
		    !comparable(p, v->w->sector, v->w->len))
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

/* The peer is to get what this node has. */
static void overwrite_peer(struct kfm *m)
{
	const struct kfm_write *w = m->verify.w;
	struct kfm_peer *p = w->peer;

	kfm_oos_set(p, w->sector, w->len);
	p->oos_start = max(p->oos_start, p->oos_count);
	kfm_bits_flush(m);
}

/* Two copies are the same, and the source is not: it is not written over them. */
static void outvoted(struct kfm *m)
{
	const struct kfm_write *w = m->verify.w;
	struct kfm_verify *v = &m->verify;

	DMERR_LIMIT("%s: %u bytes from sector %llu on differ from two copies that agree",
		    kfm_name(m), w->len, w->sector);
	v->differ++;
	mark(m);
	if (is_kept(v, w->sector))
		return;
	if (v->outvoted < KFM_VERIFY_KEPT)
		v->kept[v->outvoted] = w->sector;
	else
		v->source = KFM_VERIFY_REPORT;
	v->outvoted++;
}

enum fate { LEAVE, OUTVOTED, OVERWRITE_PEER, OVERWRITE_THIS };

/* All have been asked. What is done with the part? */
static enum fate judge(const struct kfm *m)
{
	const struct kfm_verify *v = &m->verify;
	unsigned int here = 1 + v->like_here, there = 1 + v->like_there;
	unsigned int copies = 1 + kfm_copy_count(m);

	switch (v->source) {
	case KFM_VERIFY_HERE:
		return is_kept(v, v->w->sector) ? LEAVE : OVERWRITE_PEER;
	case KFM_VERIFY_PEER:
		if (v->w->peer != v->from)
			return v->like_here ? OVERWRITE_PEER : LEAVE;
		return here > there ? OUTVOTED : OVERWRITE_THIS;
	case KFM_VERIFY_MAJORITY:
		if (2 * here > copies)
			return OVERWRITE_PEER;
		return 2 * there > copies ? OVERWRITE_THIS : LEAVE;
	default:
		return LEAVE;
	}
}

/* Return: true if the part goes on: this node takes the data of the peer. */
static bool part_decided(struct kfm *m)
{
	struct kfm_verify *v = &m->verify;
	enum fate what = judge(m);

	if (!comparable(v->w->peer, v->w->sector, v->w->len) ||
	    (v->unasked && (v->source != KFM_VERIFY_MAJORITY || what == LEAVE))) {
		v->skipped++;
		return false;
	}
	if (what == OVERWRITE_THIS) {
		v->step = KFM_V_TAKEN;
		ask(m, v->w->peer);
		return true;
	}
	if (what == OUTVOTED) {
		outvoted(m);
		return false;
	}
	DMERR_LIMIT("%s: %u bytes from sector %llu on differ from those of %s", kfm_name(m),
		    v->w->len, v->w->sector, kfm_peer_name(v->w->peer));
	v->differ++;
	if (what == OVERWRITE_PEER)
		overwrite_peer(m);
	else
		mark(m);
	return false;
}

/*
 * The peer that was asked has answered, or can't: @valid. Return: true if another one has been
 * asked; false if the part has been compared.
 */
static bool part_judged(struct kfm *m, bool valid)
{
	struct kfm_verify *v = &m->verify;
	u32 mine = crc32c(~0U, v->w->buf + KFM_DATA_AT, v->w->len);

	if (v->step == KFM_V_COMPARED && (!valid || v->crc == mine)) {
		v->skipped += !valid;
		return false;
	}
	if (v->step == KFM_V_COMPARED) {
		v->step = KFM_V_VOTED;
		v->other = v->crc;
		v->voter = 0;
		v->like_here = 0;
		v->like_there = 0;
		v->unasked = false;
	} else {
		v->like_here += valid && v->crc == mine;
		v->like_there += valid && v->crc == v->other;
		v->unasked |= !valid;
	}
	if (v->like_there && v->source <= KFM_VERIFY_HERE) {
		outvoted(m);
		return false;
	}
	return ask_next(m) || part_decided(m);
}

/* ---- the copy of a peer is the right one ---- */

/* The part can't be overwritten. */
static bool part_left(struct kfm *m)
{
	m->verify.skipped++;
	mark(m);
	return false;
}

/* The peer offers its data, or can't: @valid. Return: true if it is being read. */
static bool part_taken(struct kfm *m, bool valid)
{
	struct kfm_verify *v = &m->verify;
	ssize_t ret = -EIO;

	if (valid && v->crc == v->other)
		ret = kfm_net_read(v->asked, v->w, 0);
	if (ret == -EAGAIN && time_before(jiffies, v->deadline)) {
		m->again = true;
		return true;
	}
	if (ret)
		return part_left(m);
	v->step = KFM_V_FETCHED;
	v->deadline = jiffies + m->timeout;
	return true;
}

/* Return: true if the part goes on. What is still being read moves to kfm.draining. */
static bool part_fetched(struct kfm *m)
{
	struct kfm_verify *v = &m->verify;
	struct kfm_write *w = v->w;
	struct kfm_post *post = &w->posts[v->asked->index];
	bool usable = comparable(v->asked, w->sector, w->len) && v->asked->session == v->session;
	bool busy = kfm_busy(&post->busy);	/* once: it may change at any time */

	if (busy && usable && time_before(jiffies, v->deadline))
		return true;
	if (busy || !usable || post->err ||
	    crc32c(~0U, w->buf + KFM_DATA_AT, w->len) != v->other)
		return part_left(m);
	v->step = KFM_V_WRITTEN;
	kfm_write_leg(w, REQ_OP_WRITE | REQ_FUA | REQ_SYNC);
	return true;
}

static void part_written(struct kfm *m)
{
	struct kfm_verify *v = &m->verify;

	if (v->w->leg_status) {
		DMERR_LIMIT("%s: sector %llu: the leg does not take the data of %s", kfm_name(m),
			    v->w->sector, kfm_peer_name(v->w->peer));
		part_left(m);
		return;
	}
	v->differ++;
	/* Peers that were compared before were compared with what this node had. */
	if (v->source == KFM_VERIFY_MAJORITY && v->index)
		mark(m);
	DMWARN_LIMIT("%s: %u bytes from sector %llu on are those of %s now", kfm_name(m),
		     v->w->len, v->w->sector, kfm_peer_name(v->w->peer));
}

/**
 * kfm_verify_leg_failed() - has the leg lost what it had, when it did not take data of a peer?
 * @m: mirror
 *
 * As kfm_repair_leg_failed(): a cache may have lost more than this write.
 */
bool kfm_verify_leg_failed(const struct kfm *m)
{
	const struct kfm_verify *v = &m->verify;

	return v->w && v->step == KFM_V_WRITTEN && m->cache && !kfm_busy(&v->w->leg_busy) &&
	       v->w->leg_status;
}

/* The claim of the part ends. */
static void part_put(struct kfm *m)
{
	kfm_write_put(m->verify.w);
	m->verify.w = NULL;
}

/* Go on with a part. Return: false if it has ended. */
static bool part_goes_on(struct kfm *m)
{
	struct kfm_verify *v = &m->verify;
	struct kfm_write *w = v->w;
	bool usable, valid;

	if (v->step == KFM_V_WRITTEN) {
		part_written(m);
		return false;
	}
	if (v->step == KFM_V_FETCHED)
		return part_fetched(m);
	usable = comparable(v->asked, w->sector, w->len) && v->asked->session == v->session &&
		 !w->leg_status;
	if (usable && !v->answered && time_before(jiffies, v->deadline)) {
		if (!time_before(jiffies, v->repeat))
			request(m);
		return true;
	}
	valid = usable && v->answered && v->len == w->len;
	return v->step == KFM_V_TAKEN ? part_taken(m, valid) : part_judged(m, valid);
}

/* Go on with the part, if there is one. */
static void part_run(struct kfm *m)
{
	struct kfm_verify *v = &m->verify;
	struct kfm_write *w = v->w;

	if (!w || kfm_busy(&w->leg_busy))
		return;
	if (!v->running && v->step != KFM_V_WRITTEN) {	/* nothing more is asked, or overwritten */
		v->skipped++;
		part_put(m);
		return;
	}
	/* A repair goes first: it may need the range, the write, or the patch. */
	if (v->step != KFM_V_WRITTEN && kfm_repair_runs(m)) {
		part_put(m);
		return;
	}
	if (part_goes_on(m))
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
 * @source: what is done with a part that differs
 * @from: the peer with KFM_VERIFY_PEER, or NULL
 *
 * Return: 0; or -EINVAL at a secondary, -EALREADY while another comparison runs, -EIO after a
 * failure, -ENOTCONN if @from is not in sync, -EOPNOTSUPP if there is no majority of the copies
 */
int kfm_verify_start(struct kfm *m, enum kfm_verify_source source, struct kfm_peer *from)
{
	struct kfm_verify *v = &m->verify;
	struct kfm_marks marks = v->marks;

	if (!m->primary)
		return -EINVAL;
	if (v->running || v->w)
		return -EALREADY;
	if (m->leg_failed || m->meta_failed || m->detached)
		return -EIO;
	if (source == KFM_VERIFY_MAJORITY && kfm_copy_count(m) < 2)
		return -EOPNOTSUPP;
	if (from && !peer_insync(from))
		return -ENOTCONN;
	*v = (struct kfm_verify) {
		.running = true, .source = source, .from = from, .marks.whole = true,
		.repairs = source != KFM_VERIFY_REPORT,
	};
	/* If nothing was found, that was then. */
	if (v->repairs && marks.count)
		v->todo = marks;
	return 0;
}

/*
 * Stop the comparison, and forget what it has found. The part in flight ends when this node has read
 * or written it.
 */
void kfm_verify_stop(struct kfm *m)
{
	m->verify.running = false;
	m->verify.marks.whole = false;
}

/* How far is the comparison? For status, without a lock. */
unsigned int kfm_verify_percent(const struct kfm *m)
{
	unsigned int index = READ_ONCE(m->verify.index), peers = kfm_copy_count(m);
	u64 next = min(READ_ONCE(m->verify.next), m->sectors);

	return index >= peers ? 100 : (index * 100 + div64_u64(next * 100, m->sectors)) / peers;
}
