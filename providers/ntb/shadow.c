// SPDX-License-Identifier: GPL-2.0
/*
 * shadow.c - posts: a record is placed in the shadow and in the batch that is being filled, or it
 * waits for room. ring.c describes the protocol.
 */
#include "ring.h"

/* ---- placing: the ring's lock is held ---- */

/* Add @len bytes at position @pos of the shadow to what the batch copies. */
static void nt_run_add(struct nt_out *out, struct nt_batch *b, u64 pos, u32 len)
{
	u32 at = pos & (out->size - 1);
	struct nt_run *last = b->runs ? &b->run[b->runs - 1] : NULL;

	b->bytes += len;
	if (last && last->at + last->len == at)
		last->len += len;
	else
		b->run[b->runs++] = (struct nt_run) { .at = at, .len = len };
}

static void nt_head(struct nt_out *out, u64 pos, struct ntw_rec head, u32 len)
{
	head.len = cpu_to_le32(len);
	head.check = cpu_to_le32((u32)pos ^ out->yours);
	if (out->crc && head.type == NTW_SKIP)
		head.check = cpu_to_le32(nt_rec_check(&head, NULL, 0));
	memcpy(out->shadow + (pos & (out->size - 1)), &head, sizeof(head));
}

/* Put a filler at the end of the ring, which is too short for the next record. */
static void nt_fill_end(struct nt_out *out, struct nt_batch *b, u32 rest)
{
	nt_head(out, out->placed, (struct ntw_rec) { .type = NTW_SKIP }, rest);
	nt_run_add(out, b, out->placed, sizeof(struct ntw_rec));
	out->placed += rest;
}

/*
 * Write the @n parts of @vec, which begin with a header, and behind them @inside bytes of @it, to
 * the shadow. The record has @all bytes. Return: bytes that were written
 */
static u32 nt_put_bytes(struct nt_out *out, const struct kvec *vec, unsigned int n, u8 flags,
			struct iov_iter *it, u32 inside, u32 all)
{
	u32 at = out->placed & (out->size - 1), len = 0;
	struct ntw_rec first = *(const struct ntw_rec *)vec->iov_base;

	first.flags = flags & NT_REC_ACK ? NTW_R_ACK : 0;
	for (; n--; vec++) {
		memcpy(out->shadow + at + len, vec->iov_base, vec->iov_len);
		len += vec->iov_len;
	}
	nt_head(out, out->placed, first, all);
	/* The copy is complete, because kernel memory does not fault. */
	WARN_ON_ONCE(inside && copy_from_iter(out->shadow + at + len, inside, it) != inside);
	if (out->crc) {
		struct ntw_rec *rec = out->shadow + at;

		rec->check = cpu_to_le32(nt_rec_check(rec, rec + 1, all - sizeof(*rec)));
	}
	return len + inside;
}

static void nt_put_rec(struct nt_out *out, struct nt_batch *b, struct nt_rec *rec)
{
	u32 inside = rec->count ? 0 : rec->len;
	struct kvec head = { rec->head, rec->head_len };
	struct iov_iter it = rec->iter;
	bool loads = nt_loads(out, rec);
	u32 len = nt_put_bytes(out, &head, 1, rec->flags, &it, loads ? 0 : inside,
			       rec->head_len + inside);

	/*
	 * A run includes the padding to NTW_ALIGN, so that adjacent runs can be merged. If the
	 * engine copies the payload, the padding is not copied; the peer does not read it.
	 */
	nt_run_add(out, b, out->placed, loads ? len : ntw_rec_span(len));
	out->placed += rec->span;
}

/*
 * Return: true if there is room for @span contiguous bytes, and for @load bytes of payload. If the
 * bytes do not fit at the end of the ring, a filler is put there.
 */
static bool nt_fit(struct nt_out *out, struct nt_batch *b, u32 span, u32 load)
{
	u32 rest = out->size - (out->placed & (out->size - 1));

	if (rest >= span)
		rest = 0;
	if (b->runs + 3 > NT_RUNS || (b->bytes && b->bytes + span > out->size / NT_BATCHES))
		return false;
	if (b->load && b->load + load > NT_LOAD_MAX)
		return false;
	if (out->placed + rest + span > out->acked + out->size)
		return false;
	if (rest)
		nt_fill_end(out, b, rest);
	return true;
}

static bool nt_place(struct nt_ring *ring, struct nt_rec *rec)
{
	struct nt_out *out = &ring->out;
	struct nt_batch *b = nt_filling(out);
	u32 load = nt_loads(out, rec) ? rec->len : 0;

	if (!nt_fit(out, b, rec->span, load))
		return false;
	if (rec->span)
		nt_put_rec(out, b, rec);
	rec->end = out->placed;
	b->load += load;
	list_add_tail(&rec->entry, &b->recs);
	return true;
}

void nt_shadow_fill(struct nt_ring *ring)
{
	struct nt_out *out = &ring->out;
	struct nt_rec *rec, *next;

	list_for_each_entry_safe(rec, next, &out->waiting, entry) {
		list_del(&rec->entry);
		rec->waits = !nt_place(ring, rec);
		if (!rec->waits)
			continue;
		list_add(&rec->entry, &out->waiting);
		return;
	}
}

void nt_shadow_void(struct nt_out *out, const struct nt_rec *rec)
{
	if (rec->span)
		nt_head(out, rec->end - rec->span, (struct ntw_rec) { .type = NTW_SKIP }, rec->span);
}

/* ---- posts ---- */

/*
 * Return: true if the place is in the arena, or in a flat window that the engine reaches. The sums
 * do not overflow, because place->len has 32 bits and the bit NTW_FLAT is cleared.
 */
static bool nt_place_good(const struct nt_ring *ring, const struct nt_place *place)
{
	u64 at = place->at & ~NTW_FLAT;

	if (place->at & NTW_FLAT)
		return at + place->len <= ring->engine.flat_len;
	return at >= NTW_RING_AT + ring->out.size && at + place->len <= ring->engine.size;
}

static bool nt_places_good(const struct nt_ring *ring, const struct nt_place *place,
			   unsigned int n, size_t len)
{
	size_t sum = 0;
	unsigned int i;

	for (i = 0; i < n; i++) {
		if (!nt_place_good(ring, &place[i]))
			return false;
		sum += place[i].len;
	}
	return sum >= len;
}

int nt_ring_reaches(struct nt_ring *ring, const struct nt_place *place, unsigned int n)
{
	int ret = -ENOTCONN;

	spin_lock_bh(&ring->lock);
	if (ring->state == NT_UP)
		ret = nt_places_good(ring, place, n, 0) ? 0 : -EINVAL;
	spin_unlock_bh(&ring->lock);
	return ret;
}

static int nt_check(const struct nt_ring *ring, const struct nt_rec *rec)
{
	if (ring->state != NT_UP)
		return -ENOTCONN;
	if (rec->head_len < sizeof(struct ntw_rec) || rec->head_len > NTW_HEAD_MAX)
		return -EINVAL;
	if (rec->count)
		return nt_places_good(ring, rec->place, rec->count, rec->len) ? 0 : -EINVAL;
	return rec->len <= ntw_rec_max(ring->out.size) - rec->head_len ? 0 : -EMSGSIZE;
}

static void nt_queue(struct nt_ring *ring, struct nt_rec *rec, bool more)
{
	struct nt_out *out = &ring->out;

	rec->err = 0;
	rec->waits = true;
	list_add_tail(&rec->entry, &out->waiting);
	out->go |= !more;
	nt_shadow_fill(ring);
	if (!out->corked && (!more || !list_empty(&out->waiting)))
		nt_out_push(ring);
}

int nt_ring_post(struct nt_ring *ring, struct nt_rec *rec, bool more)
{
	int ret;

	spin_lock_bh(&ring->lock);
	ret = nt_check(ring, rec);
	if (!ret) {
		rec->flags &= ~NT_REC_LOCAL;
		rec->span = ntw_rec_span(rec->head_len + (rec->count ? 0 : rec->len));
		ring->stats.records_out++;
		ring->stats.bytes_out += rec->head_len + rec->len;
		nt_queue(ring, rec, more);
	}
	spin_unlock_bh(&ring->lock);
	return ret;
}

/* Return: true if there is room now, or after the batch that is being filled was closed. */
static bool nt_put_fits(struct nt_ring *ring, u32 span)
{
	struct nt_out *out = &ring->out;

	if (nt_fit(out, nt_filling(out), span, 0))
		return true;
	if (!nt_filled(out))
		return false;
	out->go = true;
	nt_out_push(ring);
	return nt_fit(out, nt_filling(out), span, 0);
}

int nt_ring_put(struct nt_ring *ring, const struct kvec *vec, unsigned int n, struct iov_iter *iter,
		u32 len, bool more)
{
	struct nt_out *out = &ring->out;
	int ret = -EAGAIN;
	unsigned int i;
	u32 all = len;

	for (i = 0; i < n; i++)
		all += vec[i].iov_len;
	spin_lock(&ring->lock);
	if (ring->state == NT_UP && list_empty(&out->waiting) &&
	    nt_put_fits(ring, ntw_rec_span(all))) {
		nt_put_bytes(out, vec, n, 0, iter, len, all);
		nt_run_add(out, nt_filling(out), out->placed, ntw_rec_span(all));
		out->placed += ntw_rec_span(all);
		ring->stats.records_out++;
		ring->stats.bytes_out += all;
		out->go |= !more;
		if (!more && !out->corked)
			nt_out_push(ring);
		ret = 0;
	}
	spin_unlock(&ring->lock);
	return ret;
}

bool nt_shadow_roomy(const struct nt_out *out)
{
	const struct nt_batch *b = &out->batch[out->filling % NT_SLOTS];
	u32 room = out->size / NT_BATCHES;

	return list_empty(&out->waiting) && b->runs + 3 <= NT_RUNS && b->bytes <= room / 2 &&
	       out->acked + out->size - out->placed >= room;
}

/* The tasklet calls ops->room(), also if there is room already. */
void nt_ring_want(struct nt_ring *ring)
{
	struct nt_out *out = &ring->out;

	spin_lock_bh(&ring->lock);
	if (ring->state == NT_UP) {
		out->wanted = true;
		out->go |= nt_filled(out);
		nt_out_push(ring);
		if (nt_shadow_roomy(out))
			tasklet_schedule(&ring->tasklet);
	}
	spin_unlock_bh(&ring->lock);
}

void nt_ring_kick(struct nt_ring *ring)
{
	struct nt_out *out = &ring->out;

	spin_lock_bh(&ring->lock);
	out->go |= nt_filled(out) || !list_empty(&out->waiting);
	if (ring->state == NT_UP && !out->corked)
		nt_out_push(ring);
	spin_unlock_bh(&ring->lock);
}

bool nt_ring_unpost(struct nt_ring *ring, struct nt_rec *rec)
{
	bool waits;

	spin_lock_bh(&ring->lock);
	waits = rec->waits;
	if (waits)
		list_del(&rec->entry);
	rec->waits = false;
	spin_unlock_bh(&ring->lock);
	return waits;
}

/* struct nt_mark - a record that is not sent; it completes when those before it were sent */
struct nt_mark {
	struct nt_rec		rec;
	struct completion	passed;
};

static void nt_mark_sent(struct nt_rec *rec, int err)
{
	complete(&container_of(rec, struct nt_mark, rec)->passed);
}

/*
 * Place the mark behind all records that were placed, and before those that wait for room. The
 * caller has taken back its own waiting records. Those of others are not waited for, because the
 * peer may let them wait without limit.
 */
static void nt_mark_place(struct nt_ring *ring, struct nt_rec *rec)
{
	struct nt_out *out = &ring->out;

	rec->end = out->placed;
	list_add_tail(&rec->entry, &nt_filling(out)->recs);
	out->go = true;
	if (!out->corked)
		nt_out_push(ring);
}

void nt_ring_drain(struct nt_ring *ring)
{
	struct nt_mark mark = { .rec = { .sent = nt_mark_sent, .flags = NT_REC_LOCAL } };
	u32 lives;
	u8 state;

	init_completion(&mark.passed);
	spin_lock_bh(&ring->lock);
	state = ring->state;
	lives = ring->lives;
	if (state == NT_UP)
		nt_mark_place(ring, &mark.rec);
	spin_unlock_bh(&ring->lock);
	/*
	 * The end of a life completes all records. The next life may begin before wait_event()
	 * checks, so it compares &nt_ring.lives and not the state.
	 */
	if (state == NT_UP)
		wait_for_completion(&mark.passed);
	else if (lives % 2)
		wait_event(ring->idle, READ_ONCE(ring->lives) != lives);
}
