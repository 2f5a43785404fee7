// SPDX-License-Identifier: GPL-2.0
/*
 * recv.c - receives the bytes of a connection. The protocol reads them at once, out of a ring, or
 * they are copied to the backlog.
 *
 *   nt_data_in()		handles a DATA record
 *   nt_read()			passes bytes to the protocol
 *   nt_advertise_soon()	tells the peer that it may send more
 */
#include <linux/slab.h>
#include "ntb.h"

/* ---- the window ---- */

/* Replace the backlog by a longer one. Return: 0, -ENOMEM */
int nt_window_grow(struct nt_stream *s, u32 window)
{
	u8 *old, *mem;
	u64 at;

	if (s->window >= window)
		return 0;
	mem = kvmalloc(window, GFP_NOIO);
	if (!mem)
		return -ENOMEM;
	spin_lock_bh(&s->lock);
	for (at = s->used; at != s->got; at++)
		mem[at & (window - 1)] = s->backlog[at & (s->window - 1)];
	old = s->backlog;
	s->backlog = mem;
	s->window = window;
	if (!s->ended)
		nt_advertise_soon(s);
	spin_unlock_bh(&s->lock);
	nt_backlog_free(s, old);
	return 0;
}

/* Return the position up to which the peer may send. The caller reports it to the peer. */
u32 nt_advertise(struct nt_stream *s)
{
	s->advertised = s->used + s->window;
	return s->advertised;
}

/* Send the limit in a record of its own if the peer may be waiting for it. */
void nt_advertise_soon(struct nt_stream *s)
{
	if (s->used + s->window - s->advertised >= s->window / 2)
		nt_stream_due(s, NT_DUE_LIMIT);
}

/* ---- bytes ---- */

/*
 * The number of steps is limited, because a backlog can contain thousands of short frames, and this
 * function runs with bottom halves off.
 */
bool nt_read(struct kfi_link *link)
{
	struct nt_stream *s = nt_stream_of(link);
	unsigned int steps = NT_RX_STEPS;
	size_t len, n = 1;
	const u8 *from;
	u32 at;

	while (s->used != s->got && n && steps--) {
		len = s->got - s->used;
		from = s->piece;
		if (!from) {
			at = s->used & (s->window - 1);
			from = s->backlog + at;
			len = min_t(size_t, len, s->window - at);
		}
		n = kfi_link_rx_bytes(link, from, len);
		s->used += n;
		if (s->piece)
			s->piece += n;
	}
	/*
	 * While a record is handled the limit is not sent in a record of its own, because answers
	 * may follow, which contain it as well.
	 */
	if (!s->piece && !s->ended)
		nt_advertise_soon(s);
	return s->used == s->got || !n;
}

/* Copy the last @len bytes before @got to the backlog, which has room for them. */
static void nt_backlog_put(struct nt_stream *s, const u8 *from, u32 len)
{
	u32 at = (s->got - len) & (s->window - 1), n = min(len, s->window - at);

	memcpy(s->backlog + at, from, n);
	memcpy(s->backlog, from + n, len - n);
}

/* Handle the next bytes of the stream, in memory that the peer can change. */
static void nt_bytes_in(struct nt_stream *s, const u8 *from, u32 len)
{
	struct kfi_link *link = &s->end->link;
	int cpu = raw_smp_processor_id();

	if (link->cpu != cpu)
		WRITE_ONCE(link->cpu, cpu);	/* work items run on the same CPU */
	s->got += len;
	if (s->used + len == s->got)
		s->piece = from;
	else
		nt_backlog_put(s, from, len);
	kfi_link_rx(link);
	if (s->piece && s->used != s->got)
		nt_backlog_put(s, s->piece, s->got - s->used);
	s->piece = NULL;
	if (!s->ended)
		nt_advertise_soon(s);
}

static int nt_data_ok(const struct nt_stream *s, const struct ntw_piece *piece)
{
	u32 more = piece->limit - (u32)s->limit;

	if (s->state != NT_OPEN || piece->pos != (u32)(s->got + s->landed) ||
	    piece->len > s->advertised - s->got)
		return -EPROTO;
	return s->limit + more - s->sent <= NTW_WINDOW_MAX ? 0 : -EPROTO;
}

/* Copy what is in front of the bytes, and check the copy */
static int nt_data_decode(const struct ntw_rec *rec, const void *body, size_t len,
			  struct ntw_piece *piece)
{
	struct {
		struct ntw_data data;
		struct ntw_placed placed;
	} raw = {};

	if (len < sizeof(raw.data))
		return -EPROTO;
	memcpy(&raw, body, min(len, sizeof(raw)));
	barrier_data(&raw);
	return ntw_decode_data(rec, &raw.data, &raw.placed, len, piece);
}

/* Handle a DATA record. The BH work of the ring calls this function. */
void nt_data_in(struct nt_stream *s, const struct ntw_rec *rec, const void *body, size_t len)
{
	struct ntw_piece piece;
	int ret = nt_data_decode(rec, body, len, &piece);
	u32 more;

	spin_lock(&s->lock);
	if (!s->end || s->ended)
		goto unlock;
	ret = ret ?: nt_data_ok(s, &piece);
	if (!ret && piece.placed)
		ret = nt_placed_in(s, &piece);
	if (ret) {
		nt_stream_end(s, ret);
		goto unlock;
	}
	more = piece.limit - (u32)s->limit;
	s->limit += more;
	if (piece.len)
		nt_bytes_in(s, body + sizeof(struct ntw_data), piece.len);
	if (more && s->end)
		kfi_link_room(&s->end->link);
unlock:
	spin_unlock(&s->lock);
}
