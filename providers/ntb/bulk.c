// SPDX-License-Identifier: GPL-2.0
/*
 * bulk.c - writes to the peer by the engine: batches of the records that shadow.c has placed in the
 * bulk ring, each with a line and a signal. ring.c describes the protocol.
 *
 * The lock is held in all of this file. A function nt_give*() that returns false has found no room,
 * and is called again when copies were reaped.
 */
#include "ring.h"

/* ---- closing: a batch takes no more records ---- */

static void nt_batch_reset(struct nt_batch *b)
{
	INIT_LIST_HEAD(&b->recs);
	b->bytes = 0;
	b->runs = 0;
	b->load = 0;
	b->cpu = false;
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

/* Return: true if the engine can't copy a part of the batch, because of its address or length. */
static bool nt_crooked(const struct nt_ring *ring, const struct nt_batch *b)
{
	const struct nt_rec *rec;
	u64 bits = 0;
	unsigned int i;

	if (nt_engine_aligned(&ring->engine, 1))
		return false;
	list_for_each_entry(rec, &b->recs, entry) {
		if (!nt_engine_reads(&ring->out, rec))
			continue;
		bits |= rec->len | (rec->count ? 0 : rec->head_len);
		for (i = 0; i < rec->count; i++)
			bits |= rec->place[i].at | rec->place[i].len;
		for (i = 0; i < rec->mapped; i++)
			bits |= rec->mapping[i].dma | rec->mapping[i].len;
	}
	return !nt_engine_aligned(&ring->engine, bits);
}

static void nt_close(struct nt_ring *ring)
{
	const struct nt_rx *rx = &ring->in.rx[NTW_BULK];
	struct nt_out *out = &ring->out;
	struct nt_tx *tx = &out->tx[NTW_BULK];
	struct nt_batch *b = nt_filling(out);

	out->tx[NTW_MSG].go |= nt_unannounced(out);
	/*
	 * Connections of the peer stay in its bulk ring until it knows that theirs were handled
	 * there. If both sides are there, only this line tells it. The signal of the batch will
	 * do: if it overtakes the line, the peer sees the line in its next run.
	 */
	out->due |= rx->to_report != rx->reported && !nt_msgs_report(out);
	b->end = tx->placed;
	b->cpu = nt_crooked(ring, b);
	/* nt_out_push() announces these records before it gives the batch. */
	b->after = out->tx[NTW_MSG].placed;
	/* @go also holds for records that wait for room */
	tx->go &= !list_empty(&out->waiting);
	nt_rewind(b);
	out->filling++;
	nt_batch_reset(nt_filling(out));
}

/*
 * Return: true if the batch that is being filled has to be sent. Otherwise it waits for records
 * that were announced by "more".
 */
static bool nt_leaves(const struct nt_out *out)
{
	return nt_filled(out) && (out->tx[NTW_BULK].go || !list_empty(&out->waiting));
}

void nt_bulk_close(struct nt_ring *ring)
{
	struct nt_out *out = &ring->out;

	lockdep_assert_held(&ring->lock);
	nt_shadow_fill(ring);
	while (nt_leaves(out) && out->filling - out->oldest < NT_BATCHES) {
		nt_close(ring);
		nt_shadow_fill(ring);
	}
}

/* ---- giving: a batch is given to the engine, until the engine has no room ---- */

/* Return where the next byte of a record's payload goes, and in *@most how many bytes fit there */
static u64 nt_target(const struct nt_out *out, const struct nt_batch *b, size_t *most)
{
	const struct nt_rec *rec = b->rec;

	*most = rec->len - b->done;
	if (!rec->count)
		return nt_out_at(out, NTW_BULK) + rec->head_len + b->done +
		       ((rec->end - rec->span) & (out->tx[NTW_BULK].size - 1));
	*most = min_t(size_t, *most, rec->place[b->place].len - b->place_done);
	return rec->place[b->place].at + b->place_done;
}

static void nt_given(struct nt_batch *b, size_t len)
{
	b->done += len;
	b->mapping_done += len;
	if (b->rec->mapped && b->mapping_done == b->rec->mapping[b->mapping].len) {
		b->mapping++;
		b->mapping_done = 0;
	}
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
		if (!rec->count || rec->err || !nt_engine_reads(out, rec))
			continue;
		for (i = 0; i < rec->count; i++)
			if (rec->place[i].at < b->high &&
			    rec->place[i].at + rec->place[i].len > b->low)
				return NT_COPY_FENCE;
		break;
	}
	return 0;
}

/* Take the next piece of the payload, at most @most bytes, off @it, and find it for the engine. */
static void nt_load_take(struct nt_ring *ring, const struct nt_batch *b, struct iov_iter *it,
			 size_t most, struct nt_piece *piece)
{
	const struct nt_mapping *m = &b->rec->mapping[b->mapping];

	if (!b->rec->mapped)
		return nt_piece_take(it, min(most, ring->engine.piece_max), piece);
	nt_piece_take(it, min_t(size_t, most, m->len - b->mapping_done), piece);
	piece->dma = m->dma == DMA_MAPPING_ERROR ? m->dma : m->dma + b->mapping_done;
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
		b->mapping = 0;
		b->mapping_done = 0;
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
		nt_load_take(ring, b, &it, most, &piece);
		flags = b->done + piece.len == b->rec->len ? nt_places_fence(&ring->out, b) : 0;
		if (!nt_engine_copy(&ring->engine, NT_PAYLOAD, &piece, at, b->rec, flags))
			return false;
		/* nt_engine_copy() may have shortened the copy: the last part has the last fence */
		if (flags && b->done + piece.len == b->rec->len) {
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
		if (nt_engine_reads(&ring->out, b->rec) && !b->rec->err && !nt_give_load(ring, b))
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
	const struct nt_out *out = &ring->out;
	const struct nt_tx *tx = &out->tx[NTW_BULK];
	u32 to = nt_out_at(out, NTW_BULK);

	for (; b->next < b->runs; b->next++) {
		const struct nt_run *run = &b->run[b->next];
		struct nt_piece piece = { .addr = tx->shadow + run->at,
					  .dma = tx->dma + run->at,
					  .len = run->len };

		if (!nt_engine_copy(&ring->engine, NT_BYTES, &piece, to + run->at, NULL,
				    b->next + 1 == b->runs ? NT_COPY_FENCE : 0))
			return false;
	}
	return true;
}

static bool nt_give_line(struct nt_ring *ring, struct nt_batch *b)
{
	struct nt_piece piece = { .addr = b->line, .dma = b->line_dma, .len = sizeof(*b->line) };
	struct nt_out *out = &ring->out;
	struct nt_tx *tx = &out->tx[NTW_BULK];
	u32 peer_id = out->peer_id;

	*b->line = (struct ntw_bulk_line) {
		.after = cpu_to_le64(ntw_word(peer_id, b->after / NTW_ALIGN)),
		.produced = cpu_to_le64(ntw_word(peer_id, b->end)),
	};
	/* The peer may have seen a line that is given again. So @produced does not decrease. */
	tx->produced = max(tx->produced, b->end);
	b->rings = nt_engine_signals(ring);
	return nt_engine_copy(&ring->engine, NT_LINE, &piece,
			      out->base + offsetof(struct ntw_ctl, bulk), NULL,
			      NT_COPY_FENCE |
			      (b->rings ? 0 : NT_COPY_LAST));
}

static bool nt_give_signal(struct nt_ring *ring, struct nt_batch *b)
{
	if (!b->rings)
		return true;
	if (!nt_engine_ring(&ring->engine))
		return false;
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

/*
 * Let the CPU copy from here on, or the engine. What the one has written may arrive after what the
 * other one writes. So the peer has to have handled it: nt_out_push() asks for an answer.
 */
static bool nt_turn(struct nt_ring *ring, bool cpu)
{
	struct nt_engine *e = &ring->engine;
	struct nt_out *out = &ring->out;

	cpu |= !nt_engine_uses_chan(e);
	out->turning = e->cpu != cpu &&
		       (!nt_engine_idle(e) || out->tx[NTW_BULK].acked < out->arrived);
	if (!out->turning)
		e->cpu = cpu;
	return !out->turning;
}

void nt_bulk_submit(struct nt_ring *ring)
{
	struct nt_out *out = &ring->out;
	struct nt_batch *b;

	lockdep_assert_held(&ring->lock);
	if (out->failing || out->giving == out->filling)
		return;
	for (; out->giving != out->filling; out->giving++) {
		b = nt_batch(out, out->giving);
		if (!nt_turn(ring, b->cpu) || !nt_give(ring, b))
			break;
	}
	nt_engine_go(&ring->engine);
}

/* ---- reaping: the engine has completed copies, with or without an error ---- */

/*
 * The engine has copied the line, and no signal. A peer that polls needs none; when it stops, its
 * line says what it has not found, see nt_in_sleep().
 */
static void nt_line_copied(struct nt_ring *ring, const struct nt_batch *b)
{
	if (!nt_peer_awake(ring))
		return nt_line_signal(ring);
	ring->out.quiet = b->end;
	ring->stats.signals_saved++;
}

static void nt_complete(struct nt_ring *ring, struct nt_batch *b, struct list_head *done)
{
	list_splice_tail_init(&b->recs, done);
	ring->out.arrived = b->end;
	ring->out.oldest++;
	if (b->bytes)
		ring->stats.batches++;
	if (!ring->engine.cpu)
		ring->engine.failures = 0;
	if (!b->rings && ring->state == NT_UP)
		nt_line_copied(ring, b);
}

/*
 * Only the signal of the batch has failed. The peer may have read the batch and reclaimed memory
 * that it had exposed, so the batch is not written again. The CPU rings the doorbell.
 */
static void nt_reap_signal(struct nt_ring *ring, struct list_head *done)
{
	nt_complete(ring, nt_batch(&ring->out, ring->out.oldest), done);
	if (ring->state == NT_UP)
		nt_line_signal(ring);
}

/*
 * Return: false if the engine has continued after a failed copy, so that the peer was told of bytes
 * that are not there.
 */
static bool nt_reap_one(struct nt_ring *ring, struct nt_desc *d, struct list_head *done)
{
	struct nt_out *out = &ring->out;

	if (d->state == NT_DONE) {
		if (out->failing)
			return d->what != NT_LINE ||
			       !((const struct ntw_bulk_line *)d->from)->produced;
		if (d->flags & NT_COPY_LAST)
			nt_complete(ring, nt_batch(out, out->oldest), done);
		return true;
	}
	if (d->what == NT_SIGNAL && !out->failing)
		nt_reap_signal(ring, done);
	/* All copies before the line were executed, and the line may have arrived. */
	if (d->what == NT_LINE && !out->failing)
		nt_batch(out, out->oldest)->announced = true;
	out->failing = true;
	if (d->state == NT_FAILED)
		ring->stats.dma_errors++;
	if (d->state == NT_FAILED && d->what == NT_PAYLOAD)
		d->rec->err = -EIO;
	return true;
}

/* Return: true if payload goes to a flat window, which only the engine reaches. */
static bool nt_goes_flat(const struct nt_batch *b)
{
	const struct nt_rec *rec;
	unsigned int i;

	list_for_each_entry(rec, &b->recs, entry)
		for (i = 0; i < rec->count; i++)
			if (rec->place[i].at & NTW_FLAT)
				return true;
	return false;
}

/*
 * The engine has completed all copies, some of them without execution. Give the batches again, to
 * the CPU; with payload for a flat window to the engine, except for payload that it has failed to
 * copy: its record ends with an error.
 */
static void nt_give_again(struct nt_ring *ring, bool flat)
{
	struct nt_out *out = &ring->out;
	struct nt_batch *b;
	struct nt_rec *rec;
	unsigned int i;

	for (i = out->oldest; i != out->filling; i++) {
		b = nt_batch(out, i);
		b->cpu |= !flat;
		/* If the peer may have the line, the room of its records may have been reused. */
		list_for_each_entry(rec, &b->recs, entry) {
			if (!flat)
				rec->err = 0;
			else if (rec->err && !b->announced)
				nt_shadow_to_filler(out, rec);
		}
		nt_rewind(b);
	}
	out->giving = out->oldest;
	out->failing = false;
	WRITE_ONCE(ring->engine.broken, false);
}

/* Return: false if a batch has failed too often. */
static bool nt_again(struct nt_ring *ring)
{
	static const struct nt_reason fails = { "its copies fail again and again", NT_LOAD_AGAIN };
	struct nt_engine *e = &ring->engine;
	struct nt_out *out = &ring->out;
	bool flat = false;
	unsigned int i;

	for (i = out->oldest; i != out->filling; i++)
		flat |= nt_goes_flat(nt_batch(out, i));
	if (ring->state == NT_UP && nt_batch(out, out->oldest)->tries++ == NT_TRIES)
		return false;
	if (ring->state == NT_UP && nt_engine_uses_chan(e) && ++e->failures == NT_TRIES) {
		nt_engine_give_up(e, &fails, true);
		/* The next life has no flat window, so nothing is posted that only an engine can do. */
		if (e->flat_len)
			return false;
	}
	nt_give_again(ring, flat);
	return true;
}

bool nt_bulk_reap(struct nt_ring *ring, struct list_head *done)
{
	struct nt_engine *e = &ring->engine;
	struct nt_desc *d;
	bool good = true;

	lockdep_assert_held(&ring->lock);
	while ((d = nt_engine_reap(e))) {
		good &= nt_reap_one(ring, d, done);
		e->tail++;
	}
	if (ring->out.failing && nt_engine_idle(e))
		good &= nt_again(ring);
	return good;
}

/* ---- beginning and end of a life ---- */

void nt_bulk_reset(struct nt_out *out)
{
	unsigned int i;

	for (i = 0; i < NT_SLOTS; i++)
		nt_batch_reset(&out->batch[i]);
	out->arrived = 0;
	out->quiet = 0;
	out->filling = 0;
	out->giving = 0;
	out->oldest = 0;
	out->failing = false;
	out->turning = false;
}

void nt_bulk_abandon(struct nt_ring *ring, struct list_head *all)
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
