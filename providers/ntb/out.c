// SPDX-License-Identifier: GPL-2.0
/*
 * out.c - what we write to the peer: records are placed in the shadow, collected into batches, and given to the engine. See ring.c.
 *
 * All of it is under the ring's lock. A function that returns false has found no room, and is called again when something has been reaped.
 */
#include "ring.h"

static struct nt_batch *nt_batch(struct nt_out *out, unsigned int slot)
{
	return &out->batch[slot % NT_SLOTS];
}

static struct nt_batch *nt_filling(struct nt_out *out)
{
	return nt_batch(out, out->filling);
}

/* ---- placing: what is posted gets its place in the shadow ---- */

/* Payload that the engine fetches from where it lies */
static bool nt_loads(const struct nt_rec *rec)
{
	return rec->len && (rec->count || rec->len > NT_COPY);
}

static void nt_batch_reset(struct nt_batch *b)
{
	INIT_LIST_HEAD(&b->recs);
	b->bytes = 0;
	b->runs = 0;
	b->load = false;
	b->signal = false;
	b->written = false;
	b->tries = 0;
}

/* @len bytes at position @pos are to be copied from the shadow. */
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
	memcpy(out->shadow + (pos & (out->size - 1)), &head, sizeof(head));
}

/* The end of the ring is too short for what comes: it is skipped. */
static void nt_fill_end(struct nt_out *out, struct nt_batch *b, u32 rest)
{
	nt_head(out, out->placed, (struct ntw_rec) { .type = NTW_SKIP }, rest);
	nt_run_add(out, b, out->placed, sizeof(struct ntw_rec));
	out->placed += rest;
}

static void nt_put(struct nt_out *out, struct nt_batch *b, struct nt_rec *rec)
{
	u32 at = out->placed & (out->size - 1), len = rec->head_len, inside = rec->count ? 0 : rec->len;
	struct ntw_rec head = rec->rec;
	struct iov_iter it = rec->iter;

	head.flags = rec->flags & NT_REC_ACK ? NTW_R_ACK : 0;
	memcpy(out->shadow + at, rec->head, rec->head_len);
	nt_head(out, out->placed, head, len + inside);
	if (inside && !nt_loads(rec)) {
		/* Kernel memory: this can't fault. */
		WARN_ON_ONCE(copy_from_iter(out->shadow + at + len, inside, &it) != inside);
		len += inside;
	}
	/* Runs are whole words, and adjacent ones become one; the last bytes of a record with long payload nobody reads. */
	nt_run_add(out, b, out->placed, nt_loads(rec) ? len : ntw_rec_span(len));
	out->placed += rec->span;
}

/* Return: bytes at the end of the ring that @rec does not fit */
static u32 nt_rest(const struct nt_out *out, const struct nt_rec *rec)
{
	u32 rest = out->size - (out->placed & (out->size - 1));

	return rest < rec->span ? rest : 0;
}

static bool nt_place(struct nt_ring *ring, struct nt_rec *rec)
{
	struct nt_out *out = &ring->out;
	struct nt_batch *b = nt_filling(out);
	u32 rest = nt_rest(out, rec);

	if (b->runs + 3 > NT_RUNS || (b->bytes && b->bytes + rec->span > out->size / NT_BATCHES))
		return false;
	if (out->placed + rest + rec->span > out->acked + out->size)
		return false;
	if (rest)
		nt_fill_end(out, b, rest);
	if (rec->span)
		nt_put(out, b, rec);
	rec->end = out->placed;
	b->load |= nt_loads(rec);
	list_add_tail(&rec->entry, &b->recs);
	return true;
}

/* ---- lines ---- */

static void nt_line(struct nt_ring *ring, u64 produced, struct ntw_line *line)
{
	struct nt_out *out = &ring->out;
	u32 yours = out->yours;

	out->said = produced;
	out->serial += 2;
	/* One that is given again says what it said; the peer may have seen that, but none that came later. */
	out->produced = max(out->produced, produced);
	ring->in.told = ring->in.tell;
	*line = (struct ntw_line) {
		.produced = cpu_to_le64(ntw_word(yours, produced)),
		.consumed = cpu_to_le64(ntw_word(yours, ring->in.told)),
		.echo = cpu_to_le64(ntw_word(yours, ring->in.seen)),
		.serial = cpu_to_le64(ntw_word(yours, out->serial | (out->asking ? NTW_ASK : 0))),
	};
}

/* ---- closing: a batch gets no more records ---- */

static bool nt_pending(const struct nt_out *out)
{
	return out->due || !list_empty(&out->batch[out->filling % NT_SLOTS].recs);
}

static void nt_rewind(struct nt_batch *b)
{
	b->step = NT_STEP_PAYLOAD;
	b->next = 0;
	b->done = 0;
	b->rec = list_first_entry(&b->recs, struct nt_rec, entry);
}

static void nt_close(struct nt_ring *ring)
{
	struct nt_out *out = &ring->out;
	struct nt_batch *b = nt_filling(out);

	b->end = out->placed;
	b->signal = out->wake || b->bytes;
	out->due = false;
	out->wake = false;
	out->calm = b->bytes <= ring->direct && !b->load ? out->calm + 1 : 0;
	nt_rewind(b);
	out->filling++;
	nt_batch_reset(nt_filling(out));
}

/* ---- giving: a batch goes to the engine, and stops wherever that has no room ---- */

/* Where the next byte of a record's payload goes, and how many more may follow it there */
static u32 nt_target(const struct nt_out *out, const struct nt_batch *b, size_t *most)
{
	const struct nt_rec *rec = b->rec;

	*most = rec->len - b->done;
	if (!rec->count)
		return NTW_RING_AT + ((rec->end - rec->span) & (out->size - 1)) + rec->head_len + b->done;
	*most = min_t(size_t, *most, rec->place[b->place].len - b->place_done);
	return rec->place[b->place].at + b->place_done;
}

static void nt_given(struct nt_batch *b, size_t len)
{
	b->done += len;
	b->place_done += len;
	if (!b->rec->count || b->place_done < b->rec->place[b->place].len)
		return;
	b->place++;
	b->place_done = 0;
}

static bool nt_give_load(struct nt_ring *ring, struct nt_batch *b)
{
	struct iov_iter it;
	struct nt_piece piece;
	size_t most;
	u32 at;

	if (!b->done) {
		b->it = b->rec->iter;
		b->place = 0;
		b->place_done = 0;
	}
	while (b->done < b->rec->len) {
		at = nt_target(&ring->out, b, &most);
		if (!most) {
			nt_given(b, 0);
			continue;
		}
		it = b->it;
		nt_piece_take(&it, min(most, ring->engine.piece_max), &piece);
		if (!nt_engine_copy(&ring->engine, NT_PAYLOAD, &piece, at, b->rec, false))
			return false;
		b->it = it;
		nt_given(b, piece.len);
	}
	return true;
}

static bool nt_give_payload(struct nt_ring *ring, struct nt_batch *b)
{
	while (b->load && !list_entry_is_head(b->rec, &b->recs, entry)) {
		if (nt_loads(b->rec) && !b->rec->err && !nt_give_load(ring, b))
			return false;
		b->rec = list_next_entry(b->rec, entry);
		b->done = 0;
	}
	return true;
}

static bool nt_give_runs(struct nt_ring *ring, struct nt_batch *b)
{
	struct nt_out *out = &ring->out;

	for (; b->next < b->runs; b->next++) {
		const struct nt_run *run = &b->run[b->next];
		struct nt_piece piece = { .addr = out->shadow + run->at, .dma = out->shadow_dma + run->at, .len = run->len };

		if (!nt_engine_copy(&ring->engine, NT_BYTES, &piece, NTW_RING_AT + run->at, NULL, false))
			return false;
	}
	return true;
}

static bool nt_by_bell(const struct nt_ring *ring, const struct nt_batch *b)
{
	return b->signal && ring->engine.bells;
}

static bool nt_give_line(struct nt_ring *ring, struct nt_batch *b)
{
	struct nt_piece piece = { .addr = b->line, .dma = b->line_dma, .len = sizeof(*b->line) };

	nt_line(ring, b->end, b->line);
	ring->out.by_engine = ring->out.serial;
	return nt_engine_copy(&ring->engine, NT_LINE, &piece, offsetof(struct ntw_ctl, line), NULL, !nt_by_bell(ring, b));
}

static bool nt_give_signal(struct nt_ring *ring, struct nt_batch *b)
{
	if (!nt_by_bell(ring, b))
		return true;
	if (!nt_engine_ring(&ring->engine, ring->bell % ring->engine.bells))
		return false;
	ring->bell++;
	ring->stats.signals++;
	return true;
}

static bool nt_give(struct nt_ring *ring, struct nt_batch *b)
{
	static bool (*const steps[])(struct nt_ring *ring, struct nt_batch *b) = {
		[NT_STEP_PAYLOAD] = nt_give_payload,
		[NT_STEP_RUNS] = nt_give_runs,
		[NT_STEP_LINE] = nt_give_line,
		[NT_STEP_SIGNAL] = nt_give_signal,
	};

	for (; b->step < NT_STEP_GIVEN; b->step++)
		if (!steps[b->step](ring, b))
			return false;
	return true;
}

/* ---- two ways: by CPU, and by engine ---- */

/* The peer has seen the line with this serial. It can echo none that was not written; if it says so that is its loss. */
static bool nt_echoed(const struct nt_out *out, u32 serial)
{
	return (s32)(out->echoed - serial) >= 0;
}

/* The next line asks for an answer, if none is being waited for. */
static bool nt_want(struct nt_out *out)
{
	if (out->asking)
		return false;
	out->asking = true;
	out->ask = out->serial + 2;
	return true;
}

static void nt_signal(struct nt_ring *ring)
{
	ring->stats.signals++;
	ring->ops->signal(ring);
}

static void nt_write_line(struct nt_ring *ring, u64 produced, struct ntw_line *line, bool signal)
{
	nt_line(ring, produced, line);
	nt_engine_write_line(&ring->engine, line);
	ring->out.by_cpu = ring->out.serial;
	if (signal)
		nt_signal(ring);
}

/* What the CPU has written is there, so the engine may begin. Otherwise the peer is asked, once. Where there is no engine there is one way. */
static bool nt_switch(struct nt_ring *ring)
{
	struct nt_out *out = &ring->out;
	struct ntw_line line;

	if (!ring->engine.chan || nt_echoed(out, out->by_cpu)) {
		out->switching = false;
		return true;
	}
	if (!out->switching) {
		out->switching = true;
		nt_want(out);
		nt_write_line(ring, out->said, &line, true);
	}
	return false;
}

static void nt_submit(struct nt_ring *ring)
{
	struct nt_out *out = &ring->out;

	if (out->failing || out->giving == out->filling || !nt_switch(ring))
		return;
	for (; out->giving != out->filling; out->giving++)
		if (!nt_give(ring, nt_batch(out, out->giving)))
			break;
	nt_engine_go(&ring->engine);
}

/* The other way round; and not for a single small batch between big ones, for each change costs a round trip. */
static bool nt_direct(const struct nt_ring *ring)
{
	const struct nt_out *out = &ring->out;

	return out->calm >= (ring->engine.chan ? NT_CALM : 1) && !out->failing && !out->switching && nt_engine_idle(&ring->engine) &&
	       nt_echoed(out, out->by_engine);
}

static void nt_write(struct nt_ring *ring, struct nt_batch *b)
{
	struct nt_out *out = &ring->out;
	unsigned int i;

	for (i = 0; i < b->runs; i++)
		nt_engine_write(&ring->engine, NTW_RING_AT + b->run[i].at, out->shadow + b->run[i].at, b->run[i].len);
	nt_write_line(ring, b->end, b->line, b->signal);
	b->written = true;
	out->giving++;
	tasklet_schedule(&ring->tasklet);
}

/* ---- pushing ---- */

static void nt_fill(struct nt_ring *ring)
{
	struct nt_out *out = &ring->out;
	struct nt_rec *rec, *next;

	list_for_each_entry_safe(rec, next, &out->waiting, entry) {
		list_del(&rec->entry);
		if (nt_place(ring, rec))
			continue;
		list_add(&rec->entry, &out->waiting);
		return;
	}
}

/* Nothing will come of itself that makes room: ask. */
static void nt_ask(struct nt_ring *ring)
{
	struct nt_out *out = &ring->out;

	if (list_empty(&out->waiting) || !list_empty(&nt_filling(out)->recs) || out->filling != out->oldest || !nt_want(out))
		return;
	ring->stats.full++;
	out->due = true;
	out->wake = true;
}

void nt_out_push(struct nt_ring *ring)
{
	struct nt_out *out = &ring->out;

	lockdep_assert_held(&ring->lock);
	do {
		nt_fill(ring);
		nt_ask(ring);
		if (!nt_pending(out) || out->filling - out->oldest >= NT_BATCHES)
			break;
		nt_close(ring);
		if (out->filling - out->giving == 1 && nt_direct(ring))
			nt_write(ring, nt_batch(out, out->giving));
	} while (true);
	nt_submit(ring);
}

/* ---- reaping: the engine is done with it, well or not ---- */

static void nt_complete(struct nt_ring *ring, struct nt_batch *b, struct list_head *done)
{
	list_splice_tail_init(&b->recs, done);
	ring->out.oldest++;
	if (b->bytes)
		ring->stats.batches++;
	else
		ring->stats.lines++;
	/* The engine can't ring: the CPU does, now that the engine's writes are on their way. */
	if (b->signal && !b->written && !ring->engine.bells && ring->state == NT_UP)
		nt_signal(ring);
}

static void nt_reap_written(struct nt_ring *ring, struct list_head *done)
{
	struct nt_out *out = &ring->out;

	while (out->oldest != out->giving && nt_batch(out, out->oldest)->written)
		nt_complete(ring, nt_batch(out, out->oldest), done);
}

/* Return: false: the engine ran on behind a copy that had failed, and the peer has been told of bytes that are not there. */
static bool nt_reap_one(struct nt_ring *ring, struct nt_desc *d, struct list_head *done)
{
	struct nt_out *out = &ring->out;

	if (d->fate == NT_DONE) {
		if (out->failing)
			return d->what != NT_LINE || !((const struct ntw_line *)d->from)->produced;
		if (d->last)
			nt_complete(ring, nt_batch(out, out->oldest), done);
		return true;
	}
	out->failing = true;
	if (d->fate == NT_FAILED)
		ring->stats.dma_errors++;
	if (d->fate == NT_FAILED && d->what == NT_PAYLOAD)
		d->rec->err = -EIO;
	return true;
}

/* A record whose payload could not be copied: the peer is to pass over its place. */
static void nt_void(struct nt_out *out, const struct nt_rec *rec)
{
	if (rec->span)
		nt_head(out, rec->end - rec->span, (struct ntw_rec) { .type = NTW_SKIP }, rec->span);
}

/* All that the engine had has come back, and some of it not done. Return: false: it has failed too often. */
static bool nt_again(struct nt_ring *ring)
{
	struct nt_out *out = &ring->out;
	struct nt_rec *rec;
	unsigned int i;

	if (ring->state == NT_UP && nt_batch(out, out->oldest)->tries++ == NT_TRIES)
		return false;
	for (i = out->oldest; i != out->filling; i++) {
		list_for_each_entry(rec, &nt_batch(out, i)->recs, entry)
			if (rec->err)
				nt_void(out, rec);
		nt_rewind(nt_batch(out, i));
	}
	out->giving = out->oldest;
	out->failing = false;
	WRITE_ONCE(ring->engine.broken, false);
	return true;
}

bool nt_out_reap(struct nt_ring *ring, struct list_head *done)
{
	struct nt_engine *e = &ring->engine;
	struct nt_desc *d;
	bool good = true;

	lockdep_assert_held(&ring->lock);
	for (nt_reap_written(ring, done); (d = nt_engine_reap(e)); nt_reap_written(ring, done)) {
		good &= nt_reap_one(ring, d, done);
		e->tail++;
	}
	if (ring->out.failing && nt_engine_idle(e))
		good &= nt_again(ring);
	return good;
}

/* ---- posts ---- */

static bool nt_places_good(const struct nt_ring *ring, const struct nt_rec *rec)
{
	u32 arena = NTW_RING_AT + ring->out.size;
	size_t sum = 0;
	unsigned int i;

	for (i = 0; i < rec->count; i++) {
		const struct nt_place *place = &rec->place[i];

		if (place->at < arena || (u64)place->at + place->len > ring->engine.size)
			return false;
		sum += place->len;
	}
	return sum >= rec->len;
}

static int nt_check(const struct nt_ring *ring, const struct nt_rec *rec)
{
	if (ring->state != NT_UP)
		return -ENOTCONN;
	if (rec->head_len < sizeof(struct ntw_rec) || rec->head_len > NTW_HEAD_MAX)
		return -EINVAL;
	if (rec->count)
		return nt_places_good(ring, rec) ? 0 : -EINVAL;
	return rec->len <= ntw_rec_max(ring->out.size) - rec->head_len ? 0 : -EMSGSIZE;
}

static void nt_queue(struct nt_ring *ring, struct nt_rec *rec, bool more)
{
	struct nt_out *out = &ring->out;

	rec->err = 0;
	list_add_tail(&rec->entry, &out->waiting);
	nt_fill(ring);
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

void nt_ring_kick(struct nt_ring *ring)
{
	spin_lock_bh(&ring->lock);
	if (ring->state == NT_UP && !ring->out.corked)
		nt_out_push(ring);
	spin_unlock_bh(&ring->lock);
}

bool nt_ring_unpost(struct nt_ring *ring, struct nt_rec *rec)
{
	struct nt_rec *at;
	bool found = false;

	spin_lock_bh(&ring->lock);
	list_for_each_entry(at, &ring->out.waiting, entry) {
		found = at == rec;
		if (found) {
			list_del(&rec->entry);
			break;
		}
	}
	spin_unlock_bh(&ring->lock);
	return found;
}

/* Goes the way of records without being one. */
struct nt_mark {
	struct nt_rec		rec;
	struct completion	passed;
};

static void nt_mark_sent(struct nt_rec *rec, int err)
{
	complete(&container_of(rec, struct nt_mark, rec)->passed);
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
		nt_queue(ring, &mark.rec, false);
	spin_unlock_bh(&ring->lock);
	/* A life that ends takes all with it, and the next one may have begun before we look. */
	if (state == NT_UP)
		wait_for_completion(&mark.passed);
	else if (lives % 2)
		wait_event(ring->idle, READ_ONCE(ring->lives) != lives);
}

/* ---- life ---- */

void nt_ring_beat(struct nt_ring *ring)
{
	spin_lock_bh(&ring->lock);
	if (ring->state == NT_UP) {
		ring->out.due = true;
		nt_engine_poke(&ring->engine);
		nt_out_push(ring);
	}
	spin_unlock_bh(&ring->lock);
	nt_ring_look(ring);
}

void nt_ring_bye(struct nt_ring *ring)
{
	spin_lock_bh(&ring->lock);
	nt_engine_write_word(&ring->engine, offsetof(struct ntw_ctl, line.bye), ntw_word(ring->out.yours, 1));
	nt_signal(ring);
	spin_unlock_bh(&ring->lock);
}

void nt_out_reset(struct nt_ring *ring, u32 yours)
{
	struct nt_out *out = &ring->out;
	unsigned int i;

	for (i = 0; i < NT_SLOTS; i++)
		nt_batch_reset(&out->batch[i]);
	out->yours = yours;
	out->placed = 0;
	out->produced = 0;
	out->acked = 0;
	out->said = 0;
	out->serial = 0;
	out->by_engine = 0;
	out->by_cpu = 0;
	out->echoed = 0;
	out->calm = 0;
	out->switching = false;
	out->asking = false;
	out->filling = 0;
	out->giving = 0;
	out->oldest = 0;
	out->due = true;
	out->wake = true;
	out->failing = false;
}

void nt_out_abandon(struct nt_ring *ring, struct list_head *all)
{
	struct nt_out *out = &ring->out;
	unsigned int i;

	lockdep_assert_held(&ring->lock);
	for (i = out->oldest; i != out->filling + 1; i++)
		list_splice_tail_init(&nt_batch(out, i)->recs, all);
	list_splice_tail_init(&out->waiting, all);
}
