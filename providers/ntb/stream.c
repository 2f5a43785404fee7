// SPDX-License-Identifier: GPL-2.0
/*
 * stream.c - the records of connections in the rings of their queue: what the multiplexer asks for.
 *
 * The message ring does not wait for the bulk ring. So a record goes to the message ring only if
 * the peer has handled all that the connection has put in the bulk ring (nt_behind_bulk()). Records
 * that may wait for room are always in the bulk ring.
 */
#include <linux/slab.h>
#include <linux/unaligned.h>
#include "ntb.h"

/* ---- records that are copied ---- */

/* The header of a record, and what follows it without bytes of the stream */
struct nt_head {
	struct ntw_rec	rec;
	u8		body[KFI_MUX_BODY_MAX];
};

u32 nt_head_fill(const struct kfi_mux_rec *rec, void *head)
{
	struct nt_head *h = head;

	h->rec = (struct ntw_rec) {
		.type = rec->type, .bits = rec->bits, .conn = cpu_to_le32(rec->conn),
	};
	memcpy(h->body, rec->body, sizeof(h->body));	/* of a constant length, so it is inline */
	return sizeof(h->rec) + rec->len;
}

/* Return: true if the peer may not have handled all records of the connection in the bulk ring */
static bool nt_behind_bulk(const struct nt_stream *ns, const struct nt_ring *ring)
{
	return ns->s.busy || !list_empty(&ns->posted) || !nt_ring_acked(ring, ns->s.behind);
}

static int nt_put(struct kfi_mux_stream *s, const struct kfi_mux_rec *rec, const void *bytes,
		  u32 len, struct iov_iter *payload, u32 load, bool more)
{
	struct nt_stream *ns = to_nt_stream(s);
	struct nt_ring *ring = nt_stream_ring(ns);
	struct nt_head head;
	struct kvec vec[] = {
		{ &head, nt_head_fill(rec, &head) }, { (void *)bytes, len },
	};
	int ret;

	ns->wants = NTW_MSG;
	if (vec[0].iov_len + len + load > ring->direct || nt_behind_bulk(ns, ring))
		ns->wants = NTW_BULK;
	ret = nt_ring_put(ring, ns->wants, vec, bytes ? 2 : 1, payload, load, more);
	if (!ret && ns->wants == NTW_BULK)
		s->behind = nt_ring_placed(ring);
	return ret;
}

static void nt_want(struct kfi_mux_stream *s)
{
	struct nt_stream *ns = to_nt_stream(s);

	nt_ring_want(nt_stream_ring(ns), ns->wants);
}

static void nt_kick(struct kfi_mux *mux, unsigned int lane)
{
	nt_ring_kick(&to_nt_link(mux)->ring[lane]);
}

static u32 nt_room(struct kfi_mux *mux, unsigned int lane)
{
	return nt_ring_room(&to_nt_link(mux)->ring[lane]) - sizeof(struct ntw_rec);
}

static void nt_fault(struct kfi_mux *mux, unsigned int life, const char *why)
{
	nt_link_fault(to_nt_link(mux), life, why);
}

/* ---- records that may wait ---- */

static void nt_ctl_sent(struct nt_rec *rec, int err)
{
	struct nt_ctl *nctl = container_of(rec, struct nt_ctl, rec);

	nctl->ctl.end = rec->end;
	nctl->ctl.sent(&nctl->ctl);
}

static int nt_post(struct kfi_mux *mux, unsigned int lane, struct kfi_mux_ctl *ctl)
{
	struct nt_ctl *nctl = container_of(ctl, struct nt_ctl, ctl);

	nctl->rec.sent = nt_ctl_sent;
	nctl->rec.head_len = nt_head_fill(&ctl->rec, nctl->rec.head);
	return nt_ring_post(&to_nt_link(mux)->ring[lane], &nctl->rec, false);
}

/* ---- life of a connection ---- */

static void nt_stream_init(struct kfi_mux_stream *s)
{
	struct nt_stream *ns = to_nt_stream(s);

	s->ctl = &ns->ctl.ctl;
	INIT_LIST_HEAD(&ns->idle);
	INIT_LIST_HEAD(&ns->posted);
	INIT_LIST_HEAD(&ns->exposures);
	INIT_LIST_HEAD(&ns->unexposed);
	INIT_WORK(&ns->held_work, nt_held_work);
}

static void nt_opened(struct kfi_mux_stream *s)
{
	struct nt_link *nlink = to_nt_link(s->mux);
	struct kfi_link *link = &s->end->link;

	link->checks = READ_ONCE(nlink->checks);
	link->pages = !link->checks && nt_pages_any(nlink);
}

static void nt_closed(struct kfi_mux_stream *s)
{
	struct nt_stream *ns = to_nt_stream(s);

	if (ns->drain)
		nt_ring_drain(nt_stream_ring(ns));
	nt_wait_access_end(ns);
	nt_exposures_free(ns);
	kvfree(ns->loads);
}

/* An end of a bridge is identified by the number that the driver reports. */
static int nt_side(struct kfi_mux *mux, const char *text, void *side)
{
	u32 number;

	if (kstrtou32(text, 10, &number))
		return -EINVAL;
	put_unaligned_le32(number, side);
	return 0;
}

const struct kfi_mux_ops nt_mux_ops = {
	.stream_size	= sizeof(struct nt_stream),
	.ctl_size	= sizeof(struct nt_ctl),
	.put		= nt_put,
	.want		= nt_want,
	.post		= nt_post,
	.kick		= nt_kick,
	.room		= nt_room,
	.fault		= nt_fault,
	.side		= nt_side,
	.stream_init	= nt_stream_init,
	.opened		= nt_opened,
	.admitted	= nt_loads_alloc,
	.withdraw	= nt_withdraw,
	.closed		= nt_closed,
	.held		= nt_held,
	.splice_fits	= nt_splice_fits,
	.splice		= nt_splice,
	.put_places	= nt_put_places,
	.placed		= nt_placed,
};

const struct kfi_link_ops nt_link_ops = {
	KFI_MUX_LINK_OPS(sizeof(__le32)),
	.flags		= KFI_LINK_REPORTS_SENT,
	.place_min	= NT_COPY,
	.splices	= nt_splices,
	.sent_to	= nt_sent_to,
	.expose		= nt_expose,
	.conceal	= nt_conceal,
	.pages		= nt_place_pages,
	.unpin		= nt_unpin,
};
