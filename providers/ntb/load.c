// SPDX-License-Identifier: GPL-2.0
/*
 * load.c - payload of a connection that the engine reads where it is, for the stream or for places
 * of the peer.
 *
 *   nt_splice()	sends payload in the stream, behind frames that are copied
 *   nt_put_places()	sends payload to places, and a record behind it
 *   nt_load_sent()	the engine does not read the payload any more
 *   nt_withdraw()	takes back what waits for room, when the connection is closed
 */
#include <linux/slab.h>
#include "ntb.h"

static void nt_load_sent(struct nt_rec *rec, int err);

int nt_loads_alloc(struct kfi_mux_stream *s)
{
	struct nt_stream *ns = to_nt_stream(s);
	struct nt_load *loads;
	unsigned int i;

	loads = kvcalloc(NT_LOADS, sizeof(*loads), GFP_NOIO);
	if (!loads)
		return -ENOMEM;
	spin_lock_bh(&s->lock);
	ns->loads = loads;
	for (i = 0; i < NT_LOADS; i++) {
		loads[i].ns = ns;
		loads[i].rec.sent = nt_load_sent;
		loads[i].rec.mapping = loads[i].mapping;
		list_add(&loads[i].entry, &ns->idle);
	}
	spin_unlock_bh(&s->lock);
	return 0;
}

/* The CLOSE tells the peer that bytes are lost, because the stream is not complete. */
void nt_withdraw(struct kfi_mux_stream *s)
{
	struct nt_stream *ns = to_nt_stream(s);
	struct nt_load *l, *next;

	lockdep_assert_held(&s->lock);
	list_for_each_entry_safe(l, next, &ns->posted, entry) {
		if (!nt_ring_unpost(nt_stream_ring(ns), &l->rec))
			continue;
		list_move(&l->entry, &ns->idle);
		s->abort = true;
	}
	ns->drain = !list_empty(&ns->posted);
}

/*
 * Post the record of @l, whose payload is the next @len bytes of @iter.
 * Return: 0; -EAGAIN: the link is down; -EPROTO: the peer has named places that can't be reached.
 */
static int nt_load_post(struct nt_stream *ns, struct nt_load *l, struct iov_iter *iter, u32 len,
			bool more)
{
	int ret;

	l->rec.iter = *iter;
	l->rec.len = len;
	l->at = ns->s.sent + ns->s.put;
	ret = nt_ring_post(nt_stream_ring(ns), &l->rec, more);
	if (ret)
		return ret == -ENOTCONN ? -EAGAIN : -EPROTO;
	iov_iter_advance(iter, len);
	list_move_tail(&l->entry, &ns->posted);
	return 0;
}

/* The BH work calls this function, or nt_ring_off() at the end of a life. */
static void nt_load_sent(struct nt_rec *rec, int err)
{
	struct nt_load *l = container_of(rec, struct nt_load, rec);
	struct nt_stream *ns = l->ns;
	struct kfi_mux_stream *s = &ns->s;
	bool starved;

	spin_lock_bh(&s->lock);
	list_move_tail(&l->entry, &ns->idle);
	s->behind = max(s->behind, rec->end);
	starved = ns->starved;
	ns->starved = false;
	if (err == -EIO)
		kfi_mux_end(s, err);	/* the peer has not received the record */
	if (s->end)
		kfi_link_sent(&s->end->link);
	if (s->end && starved)
		kfi_link_room(&s->end->link);
	spin_unlock_bh(&s->lock);
}

static struct nt_load *nt_load_get(struct nt_stream *ns)
{
	struct nt_load *l = list_first_entry_or_null(&ns->idle, struct nt_load, entry);

	ns->starved |= !l;
	return l;
}

/* ---- payload in the stream ---- */

/* Frames that have no room in the head of a record are sent in a record of their own. */
bool nt_splice_fits(struct kfi_mux_stream *s, u32 len, const struct iov_iter *payload, u32 *load)
{
	if (*load <= NT_COPY)
		return false;
	if (len > NTW_HEAD_MAX - sizeof(struct ntw_rec) - KFI_MUX_DATA_LEN) {
		*load = 0;
		return false;
	}
	*load = nt_ring_fits(nt_stream_ring(to_nt_stream(s)), *payload, *load);
	return true;
}

/*
 * Posted payload takes room before the records of others that are copied (nt_put_fits()). So while
 * others wait, a connection posts more only after its earlier payload has been sent.
 */
int nt_splice(struct kfi_mux_stream *s, const struct kfi_mux_rec *rec, const void *bytes, u32 len,
	      struct iov_iter *payload, u32 load, bool more)
{
	struct nt_stream *ns = to_nt_stream(s);
	struct nt_load *l;

	if (!list_empty(&ns->posted) && kfi_mux_others_wait(s)) {
		ns->starved = true;	/* nt_load_sent() lets the protocol try again */
		return -EAGAIN;
	}
	l = nt_load_get(ns);
	if (!l)
		return -EAGAIN;
	l->rec.head_len = nt_head_fill(rec, l->rec.head);
	memcpy(l->rec.head + l->rec.head_len, bytes, len);
	l->rec.head_len += len;
	l->rec.count = 0;
	return nt_load_post(ns, l, payload, load, more);
}

/*
 * With a CRC of it, payload of the stream is copied: its owner may change it after the CRC was
 * computed. So is a frame of a network device, which is in several pieces and shorter than 64 KiB:
 * to map a piece, describe it to the engine and unmap it takes a CPU about as long as to copy some
 * KiB. Longer payload, such as data of a disk, would be copied once more than it has to be.
 */
bool nt_splices(const struct kfi_link *link, const struct iov_iter *iter, size_t len)
{
	if (iter->nr_segs > 1 && iov_iter_count(iter) < NTW_REC_MAX &&
	    iov_iter_count(iter) / iter->nr_segs < NT_PIECE)
		return false;
	return len > NT_COPY && !READ_ONCE(nt_stream_ring(nt_stream_of(link))->crc_all);
}

u64 nt_sent_to(const struct kfi_link *link)
{
	struct nt_stream *ns = nt_stream_of(link);
	const struct nt_load *l;

	if (!ns)
		return U64_MAX;		/* closed */
	l = list_first_entry_or_null(&ns->posted, struct nt_load, entry);
	return l ? l->at : ns->s.sent + ns->s.put;
}

/* ---- payload to places ---- */

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
static void nt_place_named(const struct kfi_unit *unit, u64 at, struct kfi_mux_piece *piece)
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

int nt_put_places(struct kfi_mux_stream *s, struct kfi_unit *unit, u64 at)
{
	struct nt_stream *ns = to_nt_stream(s);
	bool checks = nt_stream_link(ns)->checks, more;
	u32 most = checks ? NT_CHECKED : NT_STRETCH, len;
	struct iov_iter copy, *from = unit->payload;
	struct nt_load *l = nt_load_get(ns);
	struct kfi_mux_piece piece = {};
	struct kfi_mux_rec rec;
	unsigned int count;
	int ret;

	if (!l)
		return -EAGAIN;
	if (!(unit->flags & KFI_UNIT_SPLICE))
		most = NT_COPY;
	len = min_t(u64, unit->left, most);
	if (most != NT_COPY)
		len = nt_ring_fits(nt_stream_ring(ns), *unit->payload, len);
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
	piece.len = len;
	if (checks) {
		nt_place_named(unit, at, &piece);
		piece.crc = nt_iter_crc(~0U, *from, 0, len);
	}
	kfi_mux_announce(s, &piece, &rec);
	l->rec.head_len = nt_head_fill(&rec, l->rec.head);
	more = len < unit->left || unit->flags & KFI_UNIT_MORE;
	ret = nt_load_post(ns, l, from, len, more);
	if (ret)
		return ret;
	if (from == &copy)
		iov_iter_advance(unit->payload, len);
	kfi_mux_told(s);
	s->put += len;
	unit->left -= len;
	return 0;
}
