// SPDX-License-Identifier: GPL-2.0
/*
 * send.c - sends the bytes of a connection, within the limit of the peer and the room in the rings.
 *
 *   nt_post_unit()	sends frames, and payload behind them or for places of the peer
 *   nt_send()		sends a record with bytes that are copied, or that the engine reads
 *   nt_put()		selects the ring for a record that is copied
 *   nt_send_placed()	sends payload to places, and a record behind it
 *   nt_stall()		is called if there is no room: nt_conns_room() lets the protocol try again
 */
#include <linux/slab.h>
#include "ntb.h"

/* ---- loads: payload that the engine reads ---- */

static void nt_load_sent(struct nt_rec *rec, int err);

int nt_loads_alloc(struct nt_stream *s)
{
	struct nt_load *loads;
	unsigned int i;

	loads = kvcalloc(NT_LOADS, sizeof(*loads), GFP_NOIO);
	if (!loads)
		return -ENOMEM;
	spin_lock_bh(&s->lock);
	s->loads = loads;
	for (i = 0; i < NT_LOADS; i++) {
		loads[i].stream = s;
		loads[i].rec.sent = nt_load_sent;
		loads[i].rec.mapping = loads[i].mapping;
		list_add(&loads[i].entry, &s->idle);
	}
	spin_unlock_bh(&s->lock);
	return 0;
}

/*
 * Take back payload that still waits for room. The CLOSE has NTW_C_ABORT then, because the stream
 * is not complete.
 */
void nt_loads_unpost(struct nt_stream *s)
{
	struct nt_load *l, *next;

	lockdep_assert_held(&s->lock);
	list_for_each_entry_safe(l, next, &s->posted, entry) {
		if (!nt_ring_unpost(s->ring, &l->rec))
			continue;
		list_move(&l->entry, &s->idle);
		s->abort = true;
	}
}

/* ---- room ---- */

static void nt_stall(struct nt_stream *s, enum ntw_which which)
{
	struct nt_dev *dev = s->dev;

	if (!s->stalled) {
		s->stalled = true;
		refcount_inc(&s->ref);
		spin_lock(&dev->lock);
		list_add_tail(&s->stall, &dev->stalled[s->ring->index]);
		spin_unlock(&dev->lock);
	}
	nt_ring_want(s->ring, which);
}

/* There is room in a ring of a queue. The BH work of the queue calls this function. */
void nt_conns_room(struct nt_ring *ring)
{
	struct nt_dev *dev = nt_ring_link(ring)->priv;
	struct nt_stream *s, *next;
	LIST_HEAD(list);

	spin_lock(&dev->lock);
	list_splice_init(&dev->stalled[ring->index], &list);
	spin_unlock(&dev->lock);
	kfi_batch_begin();
	list_for_each_entry_safe(s, next, &list, stall) {
		spin_lock(&s->lock);
		list_del(&s->stall);
		s->stalled = false;
		nt_ctrl_run(s);
		if (s->end)
			kfi_link_room(&s->end->link);
		spin_unlock(&s->lock);
		nt_stream_put(s);
	}
	kfi_batch_end();
}

/* ---- records that are copied ---- */

/*
 * Return: true if records of the connection may be in the bulk ring that the peer has not handled.
 * Later records have to go there, too, because those of the message ring do not wait for them.
 */
static bool nt_behind_bulk(const struct nt_stream *s)
{
	return s->busy || !list_empty(&s->posted) ||
	       !nt_ring_acked(s->ring, s->bulk_end);
}

/* See nt_ring_put(). Without room, nt_conns_room() continues later. Return: 0, -EAGAIN */
static int nt_put(struct nt_stream *s, const struct kvec *vec, unsigned int n,
		  struct iov_iter *payload, u32 len, bool more)
{
	struct nt_ring *ring = s->ring;
	enum ntw_which which = NTW_MSG;
	unsigned int i;
	u32 all = len;
	int ret;

	for (i = 0; i < n; i++)
		all += vec[i].iov_len;
	if (all > ring->direct || nt_behind_bulk(s))
		which = NTW_BULK;
	ret = nt_ring_put(ring, which, vec, n, payload, len, more);
	if (ret)
		nt_stall(s, which);
	else if (which == NTW_BULK)
		s->bulk_end = nt_ring_placed(ring);
	return ret;
}

/* Send the limit in a record of its own. */
void nt_send_limit(struct nt_stream *s)
{
	struct {
		struct ntw_rec rec;
		struct ntw_data data;
	} head;
	struct kvec vec = { &head, sizeof(head) };

	rcu_read_lock();	/* see nt_stream_over() */
	ntw_encode_data(s->sent + s->put, nt_advertise(s), s->peer, &head.rec, &head.data);
	if (nt_stream_over(s) || !nt_put(s, &vec, 1, NULL, 0, false))
		__clear_bit(NT_DUE_LIMIT, &s->due);
	rcu_read_unlock();
}

/* ---- sending a load ---- */

/*
 * Post the record of @l, whose payload is the next @len bytes of @iter.
 * Return: 0; -EAGAIN: the link is down; -EPROTO: the peer has named places that can't be reached.
 */
static int nt_load_post(struct nt_stream *s, struct nt_load *l, struct iov_iter *iter, u32 len,
			bool more)
{
	int ret;

	l->rec.iter = *iter;
	l->rec.len = len;
	l->at = s->sent + s->put;
	ret = nt_ring_post(s->ring, &l->rec, more);
	if (ret)
		return ret == -ENOTCONN ? -EAGAIN : -EPROTO;
	iov_iter_advance(iter, len);
	list_move_tail(&l->entry, &s->posted);
	return 0;
}

/*
 * The engine does not read the payload any more. The BH work calls this function, or nt_ring_off()
 * at the end of a life.
 */
static void nt_load_sent(struct nt_rec *rec, int err)
{
	struct nt_load *l = container_of(rec, struct nt_load, rec);
	struct nt_stream *s = l->stream;
	bool starved;

	spin_lock_bh(&s->lock);
	list_move_tail(&l->entry, &s->idle);
	s->bulk_end = max(s->bulk_end, rec->end);
	starved = s->starved;
	s->starved = false;
	if (err == -EIO)
		nt_stream_end(s, err);	/* the peer has not received the record */
	if (s->end)
		kfi_link_sent(&s->end->link);
	if (s->end && starved)
		kfi_link_room(&s->end->link);
	spin_unlock_bh(&s->lock);
}

static struct nt_load *nt_load_get(struct nt_stream *s)
{
	struct nt_load *l = list_first_entry_or_null(&s->idle, struct nt_load, entry);

	s->starved |= !l;
	return l;
}

/* Return: true if another connection waits for room in a ring of this queue */
static bool nt_others_wait(const struct nt_stream *s)
{
	const struct list_head *stalled = &s->dev->stalled[s->ring->index];

	return READ_ONCE(stalled->next) != (s->stalled ? READ_ONCE(stalled->prev) : stalled);
}

/*
 * Send payload in the stream, behind @head_len bytes of frames. Posted payload takes room before
 * the records of others that are copied (nt_put_fits()). So while others wait, a connection posts
 * more only after its earlier payload has been sent.
 */
static int nt_send_load(struct nt_stream *s, const void *head, u32 head_len, struct kfi_unit *unit,
			u32 len, bool more)
{
	struct nt_load *l;
	void *body;

	if (!list_empty(&s->posted) && nt_others_wait(s)) {
		s->starved = true;	/* nt_load_sent() lets the protocol try again */
		return -EAGAIN;
	}
	l = nt_load_get(s);
	if (!l)
		return -EAGAIN;
	body = l->rec.head + sizeof(struct ntw_rec);
	ntw_encode_data(s->sent + s->put, nt_advertise(s), s->peer, &l->rec.rec, body);
	memcpy(l->rec.head + NT_PREFIX, head, head_len);
	l->rec.head_len = NT_PREFIX + head_len;
	l->rec.count = 0;
	return nt_load_post(s, l, unit->payload, len, more);
}

u32 nt_places_cut(const struct kfi_unit *unit, u64 at, u64 max, bool one, struct nt_place *to,
		  unsigned int *count)
{
	const struct kfi_link_place *from = unit->place, *end = from + unit->nplaces;
	u32 len = 0, key = 0, n;

	for (*count = 0; from < end && len < max && *count < NT_PLACES; from++) {
		if (at >= from->len) {
			at -= from->len;
			continue;
		}
		if (from->at & NTW_FLAT || (one && len && (from->key ^ key) & ~NTW_K_WINDOW))
			break;
		key = from->key;
		n = min_t(u64, from->len - at, max - len);
		to[(*count)++] = (struct nt_place) {
			.at = (from->at + at) | (key & NTW_K_WINDOW ? NTW_FLAT : 0), .len = n,
		};
		at = 0;
		len += n;
	}
	return len;
}

/*
 * Store in @piece the key of the place that has byte @at, and the offset of that byte from the
 * first place with this key.
 */
static void nt_place_named(const struct kfi_unit *unit, u64 at, struct ntw_piece *piece)
{
	u64 begin = 0, key_begin = 0;
	unsigned int i;

	for (i = 0; i < unit->nplaces; i++) {
		if (i && (unit->place[i].key ^ unit->place[i - 1].key) & ~NTW_K_WINDOW)
			key_begin = begin;
		begin += unit->place[i].len;
		if (at < begin)
			break;
	}
	if (i == unit->nplaces)
		return;
	piece->key = unit->place[i].key & ~NTW_K_WINDOW;
	piece->at = at - key_begin;
}

/*
 * Send payload to places of the peer, and behind it a record that announces it. @at: see
 * &kfi_unit.at
 */
static int nt_send_placed(struct nt_stream *s, struct kfi_unit *unit, u64 at)
{
	bool checks = s->dev->link->checks, more;
	u32 most = checks ? NT_CHECKED : NT_STRETCH, len;
	struct iov_iter copy, *from = unit->payload;
	struct nt_load *l = nt_load_get(s);
	struct ntw_piece piece;
	unsigned int count;
	int ret;

	if (!l)
		return -EAGAIN;
	if (!(unit->flags & KFI_UNIT_SPLICE))
		most = NT_COPY;
	len = min_t(u64, unit->left, most);
	if (most != NT_COPY)
		len = nt_ring_fits(s->ring, *unit->payload, len);
	len = nt_places_cut(unit, at, len, checks, l->place, &count);
	if (!len)
		return -EPROTO;
	l->rec.count = count;
	l->rec.place = l->place;
	if (most == NT_COPY) {
		copy = *unit->payload;
		WARN_ON_ONCE(kfi_copy_from(l->copy, &copy, len) != len);
		l->vec = (struct kvec) { l->copy, len };
		iov_iter_kvec(&copy, ITER_SOURCE, &l->vec, 1, len);
		from = &copy;
	}
	piece = (struct ntw_piece) {
		.pos = s->sent + s->put, .limit = nt_advertise(s), .placed = len,
	};
	if (checks) {
		nt_place_named(unit, at, &piece);
		piece.crc = nt_iter_crc(~0U, *from, 0, len);
	}
	ntw_encode_placed(&piece, s->peer, &l->rec.rec,
			  (void *)l->rec.head + sizeof(struct ntw_rec),
			  (void *)l->rec.head + NT_PREFIX);
	l->rec.head_len = NT_PREFIX + sizeof(struct ntw_placed);
	more = len < unit->left || unit->flags & KFI_UNIT_MORE;
	ret = nt_load_post(s, l, from, len, more);
	if (ret)
		return ret;
	if (from == &copy)
		iov_iter_advance(unit->payload, len);
	__clear_bit(NT_DUE_LIMIT, &s->due);
	s->put += len;
	unit->left -= len;
	return 0;
}

/* ---- sending bytes of the stream ---- */

/* Send a record with as much of the unit as there is room for. Return: 0, -EAGAIN, -EPROTO */
static int nt_send(struct nt_stream *s, struct kfi_unit *unit)
{
	u32 room = min_t(u64, s->limit - s->sent, s->room);
	u32 head = min(unit->len - unit->done, room);
	u32 load = unit->done + head == unit->len ? min_t(u64, unit->left, room - head) : 0;
	bool splice = unit->flags & KFI_UNIT_SPLICE && load > NT_COPY, last, more;
	struct {
		struct ntw_rec rec;
		struct ntw_data data;
	} first;
	struct kvec vec[] = {
		{ &first, sizeof(first) }, { (void *)unit->head + unit->done, 0 },
	};
	int ret;

	if (!room)
		return -EAGAIN;		/* kfi_link_room() is called when a new limit comes */
	if (splice && head > NTW_HEAD_MAX - NT_PREFIX) {
		splice = false;		/* send the frames in a record of their own */
		load = 0;
	}
	if (splice)
		load = nt_ring_fits(s->ring, *unit->payload, load);
	vec[1].iov_len = head;
	last = unit->done + head == unit->len && unit->left == load;
	more = s->limit - s->sent > head + load && (!last || unit->flags & KFI_UNIT_MORE);
	if (splice) {
		ret = nt_send_load(s, vec[1].iov_base, head, unit, load, more);
	} else {
		ntw_encode_data(s->sent + s->put, nt_advertise(s), s->peer, &first.rec,
				&first.data);
		ret = nt_put(s, vec, 2, unit->payload, load, more);
	}
	if (ret)
		return ret;
	__clear_bit(NT_DUE_LIMIT, &s->due);
	s->sent += head + load;
	unit->done += head;
	unit->left -= load;
	return 0;
}

int nt_post_unit(struct kfi_link *link, struct kfi_unit *unit)
{
	struct nt_stream *s = nt_stream_of(link);
	u64 before = unit->left;
	int ret = 0;

	rcu_read_lock();
	/* If the connection has ended, that was reported, and kfi_link_room() is not called. */
	if (s->ended || s->state != NT_OPEN || nt_stream_over(s))
		ret = -EAGAIN;
	while (!ret && unit->nplaces && unit->left)
		ret = nt_send_placed(s, unit, unit->at + before - unit->left);
	while (!ret && !unit->nplaces && (unit->done < unit->len || unit->left))
		ret = nt_send(s, unit);
	if (ret)
		nt_ring_kick(s->ring);	/* send what was posted before */
	rcu_read_unlock();
	return ret;
}

/*
 * With a CRC of it, payload of the stream is copied: its owner may change it after the CRC was
 * computed.
 */
bool nt_splices(const struct kfi_link *link, const struct iov_iter *iter, size_t len)
{
	const struct nt_stream *s = nt_stream_of(link);

	return len > NT_COPY && !READ_ONCE(s->ring->crc_all);
}

u64 nt_sent_to(const struct kfi_link *link)
{
	struct nt_stream *s = nt_stream_of(link);
	const struct nt_load *l;

	if (!s)
		return U64_MAX;		/* closed */
	l = list_first_entry_or_null(&s->posted, struct nt_load, entry);
	return l ? l->at : s->sent + s->put;
}
