// SPDX-License-Identifier: GPL-2.0
/*
 * send.c - sends the bytes of a connection, within the limit of the peer and the room of its lane.
 *
 *   kfi_mux_post()	sends frames, and payload behind them or for places of the peer
 *   kmx_send()		sends a record with bytes that are copied, or that the provider reads later
 *   kmx_stall()	is called if there is no room: kfi_mux_room() lets the protocol try again
 */
#include <linux/export.h>
#include "mux.h"

/* ---- room ---- */

static void kmx_stall(struct kfi_mux_stream *s)
{
	struct kfi_mux *mux = s->mux;

	if (!s->stalled) {
		s->stalled = true;
		refcount_inc(&s->ref);
		spin_lock(&mux->lock);
		list_add_tail(&s->stall, &mux->stalled[s->lane]);
		spin_unlock(&mux->lock);
	}
	mux->ops->want(s);
}

bool kfi_mux_others_wait(const struct kfi_mux_stream *s)
{
	const struct list_head *stalled = &s->mux->stalled[s->lane];

	return READ_ONCE(stalled->next) != (s->stalled ? READ_ONCE(stalled->prev) : stalled);
}
EXPORT_SYMBOL_GPL(kfi_mux_others_wait);

/* ---- records ---- */

/* Fill in the record of the next bytes of the stream, with the limit of the peer. */
static void kmx_data(struct kfi_mux_stream *s, struct kfi_mux_rec *rec)
{
	kmw_encode_data(s->sent + s->put, s->used + s->window, s->peer, rec);
}

void kfi_mux_announce(struct kfi_mux_stream *s, const struct kfi_mux_piece *piece,
		      struct kfi_mux_rec *rec)
{
	kmx_data(s, rec);
	kmw_encode_placed(piece, rec);
}
EXPORT_SYMBOL_GPL(kfi_mux_announce);

void kfi_mux_told(struct kfi_mux_stream *s)
{
	s->advertised = s->used + s->window;
	__clear_bit(KMX_DUE_LIMIT, &s->due);
}
EXPORT_SYMBOL_GPL(kfi_mux_told);

/* Send the limit in a record of its own. */
void kmx_send_limit(struct kfi_mux_stream *s)
{
	struct kfi_mux_rec rec;

	rcu_read_lock();	/* see kfi_mux_over() */
	kmx_data(s, &rec);
	if (kfi_mux_over(s) || !s->mux->ops->put(s, &rec, NULL, 0, NULL, 0, false))
		kfi_mux_told(s);
	else
		kmx_stall(s);
	rcu_read_unlock();
}

/* Send a record with as much of the unit as there is room for. Return: 0, -EAGAIN, -EPROTO */
static int kmx_send(struct kfi_mux_stream *s, struct kfi_unit *unit)
{
	const struct kfi_mux_ops *ops = s->mux->ops;
	u32 room = min_t(u64, s->limit - s->sent, s->room);
	u32 head = min(unit->len - unit->done, room);
	u32 load = unit->done + head == unit->len ? min_t(u64, unit->left, room - head) : 0;
	const void *bytes = unit->head + unit->done;
	bool splice = unit->flags & KFI_UNIT_SPLICE && load && ops->splice_fits, last, more;
	struct kfi_mux_rec rec;
	int ret;

	if (!room)
		return -EAGAIN;		/* kfi_link_room() is called when a new limit comes */
	if (splice)
		splice = ops->splice_fits(s, head, unit->payload, &load);
	last = unit->done + head == unit->len && unit->left == load;
	more = s->limit - s->sent > head + load && (!last || unit->flags & KFI_UNIT_MORE);
	kmx_data(s, &rec);
	if (splice) {
		ret = ops->splice(s, &rec, bytes, head, unit->payload, load, more);
	} else {
		ret = ops->put(s, &rec, bytes, head, unit->payload, load, more);
		if (ret)
			kmx_stall(s);
	}
	if (ret)
		return ret;
	kfi_mux_told(s);
	s->sent += head + load;
	unit->done += head;
	unit->left -= load;
	return 0;
}

int kfi_mux_post(struct kfi_link *link, struct kfi_unit *unit)
{
	struct kfi_mux_stream *s = kfi_mux_stream_of(link);
	const struct kfi_mux_ops *ops = s->mux->ops;
	u64 before = unit->left;
	int ret = 0;

	rcu_read_lock();
	/* If the connection has ended, that was reported, and kfi_link_room() is not called. */
	if (s->ended || s->state != KFI_MUX_OPEN || kfi_mux_over(s))
		ret = -EAGAIN;
	while (!ret && unit->nplaces && unit->left)
		ret = ops->put_places(s, unit, unit->at + before - unit->left);
	while (!ret && !unit->nplaces && (unit->done < unit->len || unit->left))
		ret = kmx_send(s, unit);
	if (ret)
		ops->kick(s->mux, s->lane);	/* send what was posted before */
	rcu_read_unlock();
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_mux_post);

u64 kfi_mux_sent_to(const struct kfi_link *link)
{
	const struct kfi_mux_stream *s = kfi_mux_stream_of(link);

	return s ? s->sent + s->put : U64_MAX;
}
EXPORT_SYMBOL_GPL(kfi_mux_sent_to);
