// SPDX-License-Identifier: GPL-2.0
/*
 * recv.c - receives the bytes of a connection. The protocol reads them at once, where the
 * provider has them, or they are copied to the backlog.
 *
 *   kmx_data_in()		handles a DATA record
 *   kfi_mux_read()		passes bytes to the protocol
 *   kmx_advertise_soon()	tells the peer that it may send more
 */
#include <linux/export.h>
#include <linux/slab.h>
#include "mux.h"

/* ---- the window ---- */

/* Replace the backlog by a longer one. Return: 0, -ENOMEM */
int kmx_window_grow(struct kfi_mux_stream *s, u32 window)
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
		kmx_advertise_soon(s);
	spin_unlock_bh(&s->lock);
	kmx_backlog_free(s, old);
	return 0;
}

/* Send the limit in a record of its own if the peer may be waiting for it. */
void kmx_advertise_soon(struct kfi_mux_stream *s)
{
	if (s->used + s->window - s->advertised >= s->window / 2)
		kmx_stream_due(s, KMX_DUE_LIMIT);
}

/* ---- bytes ---- */

void kfi_mux_read(struct kfi_link *link)
{
	struct kfi_mux_stream *s = kfi_mux_stream_of(link);
	size_t len, n;
	const u8 *from;
	u32 at;

	do {
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
	} while (n == len && s->used != s->got);
	/*
	 * While a record is handled the limit is not sent in a record of its own, because answers
	 * may follow, which contain it as well.
	 */
	if (!s->piece && !s->ended)
		kmx_advertise_soon(s);
}
EXPORT_SYMBOL_GPL(kfi_mux_read);

/* Copy the last @len bytes before @got to the backlog, which has room for them. */
static void kmx_backlog_put(struct kfi_mux_stream *s, const u8 *from, u32 len)
{
	u32 at = (s->got - len) & (s->window - 1), n = min(len, s->window - at);

	memcpy(s->backlog + at, from, n);
	memcpy(s->backlog, from + n, len - n);
}

/* Handle the next bytes of the stream, in memory that the peer can change. */
static void kmx_bytes_in(struct kfi_mux_stream *s, const u8 *from, u32 len)
{
	struct kfi_link *link = &s->end->link;
	int cpu = raw_smp_processor_id();

	if (link->cpu != cpu)
		WRITE_ONCE(link->cpu, cpu);	/* work items run on the same CPU */
	s->got += len;
	if (s->used + len == s->got)
		s->piece = from;
	else
		kmx_backlog_put(s, from, len);
	kfi_link_rx(link);
	if (s->piece && s->used != s->got)
		kmx_backlog_put(s, s->piece, s->got - s->used);
	s->piece = NULL;
	if (!s->ended)
		kmx_advertise_soon(s);
}

static int kmx_data_ok(const struct kfi_mux_stream *s, const struct kmw_bytes *data)
{
	u32 more = data->limit - (u32)s->limit;

	if (s->state != KFI_MUX_OPEN || data->pos != (u32)(s->got + s->landed) ||
	    data->len > s->advertised - s->got)
		return -EPROTO;
	return s->limit + more - s->sent <= KMW_WINDOW_MAX ? 0 : -EPROTO;
}

/* The peer has written to places. Return: 0, or the error with which the connection ends */
static int kmx_placed_in(struct kfi_mux_stream *s, const struct kfi_mux_piece *piece)
{
	const struct kfi_mux_ops *ops = s->mux->ops;
	int ret = ops->placed ? ops->placed(s, piece) : -EPROTO;

	if (!ret)
		s->landed += piece->len;
	return ret;
}

/* Handle a DATA record, whose bytes follow at @body, in memory that the peer can change. */
void kmx_data_in(struct kfi_mux_stream *s, const struct kfi_mux_rec *rec, const void *body)
{
	struct kmw_bytes data;
	int ret = kmw_decode_data(rec, &data);
	u32 more;

	spin_lock(&s->lock);
	if (!s->end || s->ended)
		goto unlock;
	ret = ret ?: kmx_data_ok(s, &data);
	if (!ret && data.placed.len)
		ret = kmx_placed_in(s, &data.placed);
	if (ret) {
		kfi_mux_end(s, ret);
		goto unlock;
	}
	more = data.limit - (u32)s->limit;
	s->limit += more;
	if (data.len)
		kmx_bytes_in(s, body + sizeof(struct kmw_data), data.len);
	if (more && s->end)
		kfi_link_room(&s->end->link);
unlock:
	spin_unlock(&s->lock);
}
