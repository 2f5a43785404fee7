// SPDX-License-Identifier: GPL-2.0
/*
 * out.c - writes to the peer, by engine or by CPU: batches of the records that shadow.c has placed,
 * each with a line and a signal. ring.c describes the protocol.
 *
 * The ring's lock is held in all of this file, except in nt_ring_beat() and nt_ring_bye(), which
 * take it. A function nt_give*() that returns false has found no room, and is called again when
 * copies were reaped.
 */
#include "ring.h"

/* ---- lines ---- */

static void nt_line(struct nt_ring *ring, u64 produced, struct ntw_line *line)
{
	struct nt_out *out = &ring->out;
	u32 yours = out->yours;

	out->announced = produced;
	out->announced_at = jiffies;
	out->serial += NTW_SERIAL_STEP;
	out->leaving = !ring->in.awake && (out->leaving || out->awake);
	WRITE_ONCE(out->awake, ring->in.awake);
	/*
	 * A line that is given again has the same position as before, which the peer may have seen.
	 * So @produced does not decrease.
	 */
	out->produced = max(out->produced, produced);
	ring->in.reported = ring->in.to_report;
	ring->in.repeated = ring->in.seen;
	*line = (struct ntw_line) {
		.produced = cpu_to_le64(ntw_word(yours, produced)),
		.consumed = cpu_to_le64(ntw_word(yours, ring->in.reported)),
		.echo = cpu_to_le64(ntw_word(yours, ring->in.seen)),
		.serial = cpu_to_le64(ntw_word(yours, out->serial | (out->asking ? NTW_ASK : 0) |
							      (out->awake ? NTW_AWAKE : 0))),
	};
}

/* ---- closing: a batch takes no more records ---- */

static void nt_batch_reset(struct nt_batch *b)
{
	INIT_LIST_HEAD(&b->recs);
	b->bytes = 0;
	b->runs = 0;
	b->load = 0;
	b->signal = false;
	b->suppressed = false;
	b->written = false;
	b->announced = false;
	b->tries = 0;
}

/*
 * If the peer may have received the line, the bytes before it are not written again: the peer may
 * use that memory for something else by now.
 */
static void nt_rewind(struct nt_batch *b)
{
	b->step = b->announced ? NT_STEP_LINE : NT_STEP_PAYLOAD;
	b->next = 0;
	b->done = 0;
	b->low = U64_MAX;
	b->high = 0;
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
	/* @go also holds for records that wait for room */
	out->go &= !list_empty(&out->waiting);
	out->cpu_backoff -= !!out->cpu_backoff;
	nt_rewind(b);
	out->filling++;
	nt_batch_reset(nt_filling(out));
}

/* ---- giving: a batch is given to the engine, until the engine has no room ---- */

/* Return where the next byte of a record's payload goes, and in *@most how many bytes fit there */
static u64 nt_target(const struct nt_out *out, const struct nt_batch *b, size_t *most)
{
	const struct nt_rec *rec = b->rec;

	*most = rec->len - b->done;
	if (!rec->count)
		return NTW_RING_AT + ((rec->end - rec->span) & (out->size - 1)) + rec->head_len +
		       b->done;
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

static void nt_places_begin(struct nt_batch *b)
{
	const struct nt_place *place = b->rec->place;
	unsigned int i;

	for (i = 0; i < b->rec->count; i++) {
		b->low = min(b->low, place[i].at);
		b->high = max(b->high, place[i].at + place[i].len);
	}
}

/*
 * An engine may execute copies in any order between fences, but if two payloads are written to the
 * same memory, the later one has to remain there. Return NT_COPY_FENCE if the next payload for
 * places overlaps the range of copies behind the last fence. That is the range of all of them, so
 * there may be a fence that is not needed.
 */
static u32 nt_places_fence(const struct nt_out *out, const struct nt_batch *b)
{
	const struct nt_rec *rec = b->rec;
	unsigned int i;

	list_for_each_entry_continue(rec, &b->recs, entry) {
		if (!rec->count || rec->err || !nt_loads(out, rec))
			continue;
		for (i = 0; i < rec->count; i++)
			if (rec->place[i].at < b->high &&
			    rec->place[i].at + rec->place[i].len > b->low)
				return NT_COPY_FENCE;
		break;
	}
	return 0;
}

static bool nt_give_load(struct nt_ring *ring, struct nt_batch *b)
{
	struct nt_piece piece;
	struct iov_iter it;
	size_t most;
	u32 flags;
	u64 at;

	if (!b->done) {
		b->it = b->rec->iter;
		b->place = 0;
		b->place_done = 0;
		nt_places_begin(b);
	}
	while (b->done < b->rec->len) {
		at = nt_target(&ring->out, b, &most);
		if (!most) {
			nt_given(b, 0);
			continue;
		}
		it = b->it;
		nt_piece_take(&it, min(most, ring->engine.piece_max), &piece);
		flags = b->done + piece.len == b->rec->len ? nt_places_fence(&ring->out, b) : 0;
		if (!nt_engine_copy(&ring->engine, NT_PAYLOAD, &piece, at, b->rec, flags))
			return false;
		if (flags) {
			b->low = U64_MAX;
			b->high = 0;
		}
		iov_iter_advance(&b->it, piece.len);
		nt_given(b, piece.len);
	}
	return true;
}

static bool nt_give_payload(struct nt_ring *ring, struct nt_batch *b)
{
	while (b->load && !list_entry_is_head(b->rec, &b->recs, entry)) {
		if (nt_loads(&ring->out, b->rec) && !b->rec->err && !nt_give_load(ring, b))
			return false;
		b->rec = list_next_entry(b->rec, entry);
		b->done = 0;
	}
	return true;
}

/*
 * The last run is fenced, so that the line comes after it, and after the payload. A batch with
 * payload has a run, because each record has a header.
 */
static bool nt_give_runs(struct nt_ring *ring, struct nt_batch *b)
{
	struct nt_out *out = &ring->out;

	for (; b->next < b->runs; b->next++) {
		const struct nt_run *run = &b->run[b->next];
		struct nt_piece piece = { .addr = out->shadow + run->at,
					  .dma = out->shadow_dma + run->at,
					  .len = run->len };

		if (!nt_engine_copy(&ring->engine, NT_BYTES, &piece, NTW_RING_AT + run->at, NULL,
				    b->next + 1 == b->runs ? NT_COPY_FENCE : 0))
			return false;
	}
	return true;
}

/*
 * Return: true if the signal of the last line can be left out. It can only if the peer is awake,
 * that is, if it polls. If the peer stops polling before it has seen that line, it sends a line
 * with a signal, and nt_in_sleep() finds @quiet set. A line that asks always has a signal, because
 * a side that changes from CPU to engine sends nothing else until it has the answer. The first line
 * without NTW_AWAKE has one, too: if both sides sent theirs without a signal, because each has seen
 * the other one awake, neither would see the last line of the other.
 */
static bool nt_suppress_signal(struct nt_ring *ring)
{
	struct nt_out *out = &ring->out;
	bool leaving = out->leaving;

	out->leaving = false;
	if (!(ring->in.seen & NTW_AWAKE) || out->asking || leaving)
		return false;
	out->quiet = true;
	out->unrung = out->serial;
	ring->stats.signals_saved++;
	return true;
}

static bool nt_by_bell(const struct nt_ring *ring, const struct nt_batch *b)
{
	return b->signal && !b->suppressed && ring->engine.bells;
}

static bool nt_give_line(struct nt_ring *ring, struct nt_batch *b)
{
	struct nt_piece piece = { .addr = b->line, .dma = b->line_dma, .len = sizeof(*b->line) };

	nt_line(ring, b->end, b->line);
	b->suppressed = b->signal && nt_suppress_signal(ring);
	ring->out.by_engine = ring->out.serial;
	ring->out.direct = false;
	return nt_engine_copy(&ring->engine, NT_LINE, &piece, offsetof(struct ntw_ctl, line), NULL,
			      NT_COPY_FENCE | (nt_by_bell(ring, b) ? 0 : NT_COPY_LAST));
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

/* ---- the two paths: CPU and engine ---- */

/*
 * Return: true if the peer has seen the line *@serial, the last one on one of the two paths. A peer
 * that echoes a line that was not written harms only itself. *@serial is set to the echo, because
 * the other path may be used until serial numbers wrap around.
 */
static bool nt_echoed(const struct nt_out *out, u32 *serial)
{
	if ((s32)(out->echoed - *serial) < 0)
		return false;
	*serial = out->echoed;
	return true;
}

/* Let the next line ask for an answer, unless an answer is awaited. */
static bool nt_want(struct nt_out *out)
{
	if (out->asking)
		return false;
	out->asking = true;
	out->ask = out->serial + NTW_SERIAL_STEP;
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
	ring->out.direct = true;
	if (signal && !nt_suppress_signal(ring))
		nt_signal(ring);
}

/*
 * Return: true if we have to answer by CPU although we change from CPU to engine. If the peer
 * changes, too, each side waits for an answer that the other one can't give by its engine yet, so
 * one of the two gives it by CPU again. If both did, they would answer each other for ever.
 */
static bool nt_yields(const struct nt_ring *ring)
{
	const struct nt_in *in = &ring->in;

	return in->seen & NTW_ASK && in->repeated != in->seen && in->mine < ring->out.yours;
}

/*
 * Return: true if the engine may start. It may when the peer has echoed the last line that the CPU
 * has written; otherwise the peer is asked, once. Without an engine there is one path only. The
 * change costs a round trip, so after it the CPU writes no batches for a while.
 */
static bool nt_switch(struct nt_ring *ring)
{
	struct nt_out *out = &ring->out;
	struct ntw_line line;

	if (!ring->engine.chan || nt_echoed(out, &out->by_cpu)) {
		out->switching = false;
		return true;
	}
	if (!out->switching || nt_yields(ring)) {
		out->switches += !out->switching;
		out->switching = true;
		out->cpu_backoff = NT_CPU_BACKOFF;
		nt_want(out);
		nt_write_line(ring, out->announced, &line, true);
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

/*
 * Return: true if the CPU may write this batch. It may if the batch is small and the engine is
 * idle, unless the change back to the engine has recently had to wait for the peer (@cpu_backoff).
 * A line alone may never be answered, so it takes the path of the last line.
 */
static bool nt_direct(struct nt_ring *ring, const struct nt_batch *b)
{
	struct nt_out *out = &ring->out;

	if (!ring->direct || b->bytes > ring->direct || b->load || out->failing || out->switching ||
	    !nt_engine_idle(&ring->engine))
		return false;
	if (ring->engine.chan && (out->cpu_backoff || !(b->bytes || out->direct)))
		return false;
	return nt_echoed(out, &out->by_engine);
}

static void nt_write(struct nt_ring *ring, struct nt_batch *b)
{
	struct nt_out *out = &ring->out;
	unsigned int i;

	for (i = 0; i < b->runs; i++)
		nt_engine_write(&ring->engine, NTW_RING_AT + b->run[i].at,
				out->shadow + b->run[i].at, b->run[i].len);
	nt_write_line(ring, b->end, b->line, b->signal);
	b->written = true;
	out->giving++;
	tasklet_schedule(&ring->tasklet);
}

/* ---- pushing ---- */

/* If no event is expected that makes room, ask the peer. */
static void nt_ask(struct nt_ring *ring)
{
	struct nt_out *out = &ring->out;

	bool wanted = out->wanted && !nt_shadow_roomy(out);

	if ((list_empty(&out->waiting) && !wanted) || nt_filled(out) ||
	    out->filling != out->oldest || !nt_want(out))
		return;
	ring->stats.full++;
	out->due = true;
	out->wake = true;
}

/*
 * Return: true if the batch that is being filled has to be sent. Otherwise it waits for records
 * that were announced by "more".
 */
static bool nt_leaves(const struct nt_out *out)
{
	return out->due || (nt_filled(out) && (out->go || !list_empty(&out->waiting)));
}

void nt_out_push(struct nt_ring *ring)
{
	struct nt_out *out = &ring->out;

	lockdep_assert_held(&ring->lock);
	do {
		nt_shadow_fill(ring);
		nt_ask(ring);
		if (!nt_leaves(out) || out->filling - out->oldest >= NT_BATCHES)
			break;
		nt_close(ring);
		if (out->filling - out->giving == 1 && nt_direct(ring, nt_batch(out, out->giving)))
			nt_write(ring, nt_batch(out, out->giving));
	} while (true);
	nt_submit(ring);
}

/* ---- reaping: the engine has completed copies, with or without an error ---- */

static void nt_complete(struct nt_ring *ring, struct nt_batch *b, struct list_head *done)
{
	list_splice_tail_init(&b->recs, done);
	ring->out.arrived = b->end;
	ring->out.oldest++;
	if (b->bytes)
		ring->stats.batches++;
	else
		ring->stats.lines++;
	/*
	 * If the engine can't write doorbells, the CPU does so when the engine has executed its
	 * copies.
	 */
	if (b->signal && !b->suppressed && !b->written && !ring->engine.bells &&
	    ring->state == NT_UP)
		nt_signal(ring);
}

static void nt_reap_written(struct nt_ring *ring, struct list_head *done)
{
	struct nt_out *out = &ring->out;

	while (out->oldest != out->giving && nt_batch(out, out->oldest)->written)
		nt_complete(ring, nt_batch(out, out->oldest), done);
}

/*
 * Only the signal of the batch has failed. The peer may have read the batch and reclaimed memory
 * that it had exposed, so the batch is not written again. The CPU rings the doorbell.
 */
static void nt_reap_unrung(struct nt_ring *ring, struct list_head *done)
{
	nt_complete(ring, nt_batch(&ring->out, ring->out.oldest), done);
	if (ring->state == NT_UP)
		nt_signal(ring);
}

/*
 * Return: false if the engine has continued after a failed copy, so that the peer was told of bytes
 * that are not there.
 */
static bool nt_reap_one(struct nt_ring *ring, struct nt_desc *d, struct list_head *done)
{
	struct nt_out *out = &ring->out;

	if (d->fate == NT_DONE) {
		if (out->failing)
			return d->what != NT_LINE || !((const struct ntw_line *)d->from)->produced;
		if (d->flags & NT_COPY_LAST)
			nt_complete(ring, nt_batch(out, out->oldest), done);
		return true;
	}
	if (d->what == NT_SIGNAL && !out->failing)
		nt_reap_unrung(ring, done);
	/* All copies before the line were executed, and the line may have arrived. */
	if (d->what == NT_LINE && !out->failing)
		nt_batch(out, out->oldest)->announced = true;
	out->failing = true;
	if (d->fate == NT_FAILED)
		ring->stats.dma_errors++;
	if (d->fate == NT_FAILED && d->what == NT_PAYLOAD)
		d->rec->err = -EIO;
	return true;
}

/*
 * The engine has completed all copies, some of them without execution. Give the batches again.
 * Return: false if a batch has failed too often.
 */
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
				nt_shadow_void(out, rec);
		nt_rewind(nt_batch(out, i));
	}
	out->giving = out->oldest;
	out->leaving = !out->awake;	/* the line without NTW_AWAKE may not have arrived */
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

/* ---- init and exit ---- */

void nt_ring_beat(struct nt_ring *ring, unsigned int ms)
{
	struct nt_out *out = &ring->out;

	spin_lock_bh(&ring->lock);
	if (ring->state == NT_UP) {
		out->due |= nt_filled(out) ||
			    time_after_eq(jiffies, out->announced_at + msecs_to_jiffies(ms));
		nt_engine_poll(&ring->engine);
		nt_out_push(ring);
	}
	spin_unlock_bh(&ring->lock);
	nt_ring_look(ring);
}

void nt_ring_bye(struct nt_ring *ring, u32 yours)
{
	spin_lock_bh(&ring->lock);
	nt_engine_write_word(&ring->engine, offsetof(struct ntw_ctl, line.bye), ntw_word(yours, 1));
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
	out->crc = ring->crc;
	out->placed = 0;
	out->produced = 0;
	out->arrived = 0;
	out->acked = 0;
	out->announced = 0;
	out->serial = 0;
	out->by_engine = 0;
	out->by_cpu = 0;
	out->echoed = 0;
	out->direct = false;
	out->cpu_backoff = 0;
	out->switching = false;
	out->asking = false;
	out->awake = false;
	out->leaving = false;
	out->quiet = false;
	out->filling = 0;
	out->giving = 0;
	out->oldest = 0;
	out->due = true;
	out->wake = true;
	out->wanted = false;
	out->go = false;
	out->failing = false;
}

void nt_out_abandon(struct nt_ring *ring, struct list_head *all)
{
	struct nt_out *out = &ring->out;
	struct nt_rec *rec;
	unsigned int i;

	lockdep_assert_held(&ring->lock);
	for (i = out->oldest; i != out->filling + 1; i++)
		list_splice_tail_init(&nt_batch(out, i)->recs, all);
	list_for_each_entry(rec, &out->waiting, entry)
		rec->waits = false;
	list_splice_tail_init(&out->waiting, all);
}
