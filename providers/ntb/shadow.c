// SPDX-License-Identifier: GPL-2.0
/*
 * shadow.c - posts: a record is placed in the shadow of a ring. In the bulk ring it belongs to the
 * batch that is being filled, or waits for room. ring.c describes the protocol.
 */
#include <linux/memremap.h>
#include <linux/scatterlist.h>
#include "ring.h"

/* ---- placing: the lock is held ---- */

/* Add @len bytes at position @pos of the bulk ring to what the batch copies. */
static void nt_run_add(struct nt_out *out, u64 pos, u32 len)
{
	struct nt_batch *b = nt_filling(out);
	u32 at = pos & (out->tx[NTW_BULK].size - 1);
	struct nt_run *last = b->runs ? &b->run[b->runs - 1] : NULL;

	b->bytes += len;
	if (last && last->at + last->len == at)
		last->len += len;
	else
		b->run[b->runs++] = (struct nt_run) { .at = at, .len = len };
}

static void *nt_shadow_at(const struct nt_tx *tx, u64 pos)
{
	return tx->shadow + (pos & (tx->size - 1));
}

/* @len: bytes of the record. nt_shadow_seal() completes the header of one in the message ring. */
static void nt_head(struct nt_out *out, enum ntw_which which, u64 pos, struct ntw_rec head, u32 len)
{
	head.len = cpu_to_le16(len - sizeof(head));
	head.check = cpu_to_le32((u32)pos ^ out->peer_id);
	if (out->crc && head.type == NTW_SKIP && which == NTW_BULK)
		head.check = cpu_to_le32(nt_rec_check(&head, NULL, 0));
	memcpy(nt_shadow_at(&out->tx[which], pos), &head, sizeof(head));
}

void nt_shadow_seal(struct nt_out *out, u64 done)
{
	const struct nt_tx *tx = &out->tx[NTW_MSG];
	struct ntw_rec *rec;
	u64 pos;

	for (pos = tx->produced; pos != tx->placed; pos += ntw_rec_span(ntw_rec_len(rec))) {
		rec = nt_shadow_at(tx, pos);
		rec->done = cpu_to_le32(done);
		if (!out->crc)
			continue;
		rec->check = cpu_to_le32(nt_rec_check(rec, rec + 1, rec->type == NTW_SKIP ? 0 :
						      le16_to_cpu(rec->len)));
	}
}

/* Put a filler at the end of the ring, which is too short for the next record. */
static void nt_fill_end(struct nt_out *out, enum ntw_which which, u32 rest)
{
	struct nt_tx *tx = &out->tx[which];

	nt_head(out, which, tx->placed, (struct ntw_rec) { .type = NTW_SKIP }, rest);
	if (which == NTW_BULK)
		nt_run_add(out, tx->placed, sizeof(struct ntw_rec));
	WRITE_ONCE(tx->placed, tx->placed + rest);
}

/*
 * Write the @n parts of @vec, which begin with a header, and behind them @inside bytes of @it, to
 * the shadow. The record has @all bytes; the engine copies those that are missing. The CRC does not
 * cover these, nor long payload, unless all is to be covered. Return: bytes that were written
 */
static u32 nt_put_bytes(struct nt_out *out, enum ntw_which which, const struct kvec *vec,
			unsigned int n, struct iov_iter *it, u32 inside, u32 all)
{
	u64 pos = out->tx[which].placed;
	struct ntw_rec *rec = nt_shadow_at(&out->tx[which], pos);
	const struct ntw_rec *first = vec->iov_base;
	u32 len = 0, covered;

	for (; n--; vec++) {
		memcpy((void *)rec + len, vec->iov_base, vec->iov_len);
		len += vec->iov_len;
	}
	nt_head(out, which, pos, *first, all);
	/* The copy is complete, because kernel memory does not fault. */
	WARN_ON_ONCE(inside && copy_from_iter((void *)rec + len, inside, it) != inside);
	if (out->crc && which == NTW_BULK) {
		covered = len + (inside <= NT_COPY || out->crc_all ? inside : 0);
		rec->head = cpu_to_le32(covered < all ? covered : 0);
		rec->check = cpu_to_le32(nt_rec_check(rec, rec + 1, covered - sizeof(*rec)));
	}
	return len + inside;
}

static void nt_put_rec(struct nt_out *out, struct nt_rec *rec)
{
	u32 inside = rec->count ? 0 : rec->len;
	struct kvec head = { rec->head, rec->head_len };
	struct nt_tx *tx = &out->tx[NTW_BULK];
	struct iov_iter it = rec->iter;
	bool loads = nt_engine_reads(out, rec);
	u32 len = nt_put_bytes(out, NTW_BULK, &head, 1, &it, loads ? 0 : inside,
			       rec->head_len + inside);

	/*
	 * A run includes the padding to NTW_ALIGN, so that adjacent runs can be merged. If the
	 * engine copies payload into the record, the padding behind it is not copied; the peer does
	 * not read it.
	 */
	nt_run_add(out, tx->placed, loads && inside ? len : ntw_rec_span(len));
	WRITE_ONCE(tx->placed, tx->placed + rec->span);
}

/* Return: true if the batch that is being filled can take a record, and has a run for a filler. */
static bool nt_batch_takes(struct nt_out *out, u32 span, u32 load)
{
	const struct nt_batch *b = nt_filling(out);

	if (b->runs + 3 > NT_RUNS || (b->bytes && b->bytes + span > out->tx[NTW_BULK].size / 2))
		return false;
	return !b->load || b->load + load <= NT_LOAD_MAX;
}

/*
 * Return: true if there is room for @span contiguous bytes, and for @load bytes of payload. If the
 * bytes do not fit at the end of the ring, a filler is put there.
 */
static bool nt_fit(struct nt_out *out, enum ntw_which which, u32 span, u32 load)
{
	const struct nt_tx *tx = &out->tx[which];
	u32 rest = tx->size - (tx->placed & (tx->size - 1));

	if (rest >= span)
		rest = 0;
	if (which == NTW_BULK && !nt_batch_takes(out, span, load))
		return false;
	if (tx->placed + rest + span > tx->acked + tx->size)
		return false;
	if (rest)
		nt_fill_end(out, which, rest);
	return true;
}

static bool nt_place(struct nt_ring *ring, struct nt_rec *rec)
{
	struct nt_out *out = &ring->out;
	u32 load = nt_engine_reads(out, rec) ? rec->len : 0;

	if (!nt_fit(out, NTW_BULK, rec->span, load))
		return false;
	if (rec->span)
		nt_put_rec(out, rec);
	rec->end = out->tx[NTW_BULK].placed;
	nt_filling(out)->load += load;
	list_add_tail(&rec->entry, &nt_filling(out)->recs);
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

void nt_shadow_to_filler(struct nt_out *out, const struct nt_rec *rec)
{
	if (rec->span)
		nt_head(out, NTW_BULK, rec->end - rec->span,
			(struct ntw_rec) { .type = NTW_SKIP }, rec->span);
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
	return at >= ring->out.arena && at + place->len <= ring->engine.size;
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
	out->tx[NTW_BULK].go |= !more;
	/* Records of the message ring do not wait until this one can leave. */
	out->tx[NTW_MSG].go |= nt_unannounced(out);
	nt_shadow_fill(ring);
	ring->stats.full += rec->waits;
	if (!out->corked && (!more || !list_empty(&out->waiting)))
		nt_out_push(ring);
}

size_t nt_ring_fits(const struct nt_ring *ring, struct iov_iter it, size_t len)
{
	struct nt_piece piece;
	size_t fits = 0;
	unsigned int n;

	if (!ring->engine.chan)
		return len;
	for (n = 0; fits < len && n < NT_MAPPINGS; n++) {
		nt_piece_take(&it, min(len - fits, ring->engine.piece_max), &piece);
		fits += piece.len;
	}
	return fits;
}

/*
 * Map memory of another PCI device, such as the memory buffer of a disk. Only the mapping of a
 * scatterlist finds the path between both devices. A bus address is no mapping. If there is no
 * path, the CPU copies the memory.
 */
static void nt_map_device(struct device *dev, const struct nt_piece *piece, struct nt_mapping *m)
{
	struct scatterlist sg;

	sg_init_table(&sg, 1);
	sg_set_page(&sg, piece->page, piece->len, piece->off);
	if (!dma_map_sg(dev, &sg, 1, DMA_TO_DEVICE))
		return;
	m->how = sg_dma_is_bus_address(&sg) ? NT_MAP_NONE : NT_MAP_LIST;
	m->dma = sg_dma_address(&sg);
}

static void nt_unmap_device(struct device *dev, const struct nt_mapping *m)
{
	struct scatterlist sg;

	sg_init_one(&sg, m->addr, m->len);
	sg_dma_address(&sg) = m->dma;
	sg_dma_len(&sg) = m->len;
	dma_unmap_sg(dev, &sg, 1, DMA_TO_DEVICE);
}

static void nt_piece_map(struct device *dev, const struct nt_piece *piece, struct nt_mapping *m)
{
	*m = (struct nt_mapping) {
		.dma = DMA_MAPPING_ERROR, .addr = piece->addr, .len = piece->len,
	};
	if (unlikely(is_pci_p2pdma_page(piece->page))) {
		nt_map_device(dev, piece, m);
		return;
	}
	m->dma = dma_map_page(dev, piece->page, piece->off, piece->len, DMA_TO_DEVICE);
	if (dma_mapping_error(dev, m->dma))
		m->dma = DMA_MAPPING_ERROR;
	else
		m->how = NT_MAP_PAGE;
}

/*
 * Map the payload if a channel reads it. A piece that can't be mapped fails nothing: the CPU copies
 * it later (nt_piece_bounce()). The lock is not held, because an IOMMU takes long to map many
 * pieces, and records of all connections would wait for that.
 */
static int nt_rec_map(struct nt_ring *ring, struct nt_rec *rec)
{
	struct nt_engine *e = &ring->engine;
	struct iov_iter it = rec->iter;
	size_t left = rec->len;
	struct nt_piece piece;

	rec->mapped = 0;
	if (!nt_engine_uses_chan(e) || !nt_engine_reads(&ring->out, rec))
		return 0;
	for (; left && rec->mapping && rec->mapped < NT_MAPPINGS; left -= piece.len) {
		nt_piece_take(&it, min(left, e->piece_max), &piece);
		nt_piece_map(e->dev, &piece, &rec->mapping[rec->mapped++]);
	}
	if (!left)
		return 0;
	nt_rec_unmap(ring, rec);
	return -EINVAL;
}

void nt_rec_unmap(struct nt_ring *ring, struct nt_rec *rec)
{
	const struct nt_mapping *m = rec->mapping;

	for (; rec->mapped; rec->mapped--, m++) {
		if (m->how == NT_MAP_PAGE)
			dma_unmap_page(ring->engine.dev, m->dma, m->len, DMA_TO_DEVICE);
		else if (m->how == NT_MAP_LIST)
			nt_unmap_device(ring->engine.dev, m);
	}
}

int nt_ring_post(struct nt_ring *ring, struct nt_rec *rec, bool more)
{
	int ret = nt_rec_map(ring, rec);

	if (ret)
		return ret;
	spin_lock_bh(&ring->lock);
	ret = nt_check(ring, rec);
	if (!ret) {
		rec->local = false;
		rec->span = ntw_rec_span(rec->head_len + (rec->count ? 0 : rec->len));
		ring->stats.records_out++;
		ring->stats.bytes_out += rec->head_len + rec->len;
		nt_queue(ring, rec, more);
	}
	spin_unlock_bh(&ring->lock);
	if (ret)
		nt_rec_unmap(ring, rec);
	return ret;
}

/* Return: true if there is room now, or after the batch that is being filled was closed. */
static bool nt_put_fits(struct nt_ring *ring, enum ntw_which which, u32 span)
{
	struct nt_out *out = &ring->out;

	if (which == NTW_BULK && !list_empty(&out->waiting))
		return false;
	if (nt_fit(out, which, span, 0))
		return true;
	if (which == NTW_MSG || !nt_filled(out))
		return false;
	out->tx[which].go = true;
	nt_out_push(ring);
	return nt_fit(out, which, span, 0);
}

int nt_ring_put(struct nt_ring *ring, enum ntw_which which, const struct kvec *vec, unsigned int n,
		struct iov_iter *iter, u32 len, bool more)
{
	struct nt_out *out = &ring->out;
	struct nt_tx *tx = &out->tx[which];
	int ret = -EAGAIN;
	unsigned int i;
	u32 all = len;

	for (i = 0; i < n; i++)
		all += vec[i].iov_len;
	spin_lock(&ring->lock);
	if (ring->state == NT_UP && nt_put_fits(ring, which, ntw_rec_span(all))) {
		nt_put_bytes(out, which, vec, n, iter, len, all);
		if (which == NTW_BULK) {
			nt_run_add(out, tx->placed, ntw_rec_span(all));
			out->tx[NTW_MSG].go |= nt_unannounced(out);	/* as in nt_queue() */
		}
		WRITE_ONCE(tx->placed, tx->placed + ntw_rec_span(all));
		ring->stats.records_out++;
		ring->stats.bytes_out += all;
		tx->go |= !more;
		if (!more && !out->corked)
			nt_out_push(ring);
		ret = 0;
	}
	spin_unlock(&ring->lock);
	return ret;
}

bool nt_shadow_has_room(const struct nt_out *out, enum ntw_which which)
{
	const struct nt_batch *b = &out->batch[out->filling % NT_SLOTS];
	const struct nt_tx *tx = &out->tx[which];
	u32 room = out->tx[which].size / NT_ROOM;

	/* The longest record of the bulk ring may need a filler of that length in front of it. */
	if (tx->acked + tx->size - tx->placed < (which == NTW_MSG ? room : 2 * room))
		return false;
	return which == NTW_MSG ||
	       (list_empty(&out->waiting) && b->runs + 3 <= NT_RUNS && b->bytes <= room / 2);
}

/* The BH work calls ops->room(), also if there is room already. */
void nt_ring_want(struct nt_ring *ring, enum ntw_which which)
{
	struct nt_out *out = &ring->out;

	spin_lock_bh(&ring->lock);
	if (ring->state == NT_UP) {
		ring->stats.full += !out->tx[which].wanted;
		out->tx[which].wanted = true;
		out->tx[which].go |= which == NTW_MSG ? nt_unannounced(out) : nt_filled(out);
		nt_out_push(ring);
		if (nt_shadow_has_room(out, which))
			queue_bh_work(&ring->run);
	}
	spin_unlock_bh(&ring->lock);
}

void nt_ring_kick(struct nt_ring *ring)
{
	struct nt_out *out = &ring->out;

	spin_lock_bh(&ring->lock);
	out->tx[NTW_MSG].go |= nt_unannounced(out);
	out->tx[NTW_BULK].go |= nt_filled(out) || !list_empty(&out->waiting);
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
	if (waits)
		nt_rec_unmap(ring, rec);
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

	rec->end = out->tx[NTW_BULK].placed;
	list_add_tail(&rec->entry, &nt_filling(out)->recs);
	out->tx[NTW_BULK].go = true;
	if (!out->corked)
		nt_out_push(ring);
}

void nt_ring_drain(struct nt_ring *ring)
{
	struct nt_mark mark = { .rec = { .sent = nt_mark_sent, .local = true } };
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
