// SPDX-License-Identifier: GPL-2.0
/*
 * rendezvous.c - the payload of a long message, which its receiver requests. message.c has the
 * rest.
 *
 *	sender				receiver
 *	  RTS			--->			kfp_rdv_enqueue(), when there is a receive
 *				<---	CTS		kfp_rdv_grant(), kfp_send_cts(); kfp_got_cts()
 *	  DATA			--->			kfp_rdv_send_data(); kfp_rx_data()
 *				<---	ACK		kfp_rdv_done(): another one may be granted
 *
 * The receiver grants KFP_RDV messages at a time, with KFP_RDV_BYTES bytes at most, unless there
 * is only one. If its link can expose the receive, the CTS names the places (memory.c), and the
 * payload goes there; else it follows the DATA frame. A payload of more than KFW_FRAME_MAX bytes,
 * or in places KFW_PLACED_MAX, comes in parts, each with a DATA frame; those of several messages
 * may alternate.
 *
 * A granted message holds its receive, so the sender has a deadline: kfp_rdvs_late().
 */
#include "conn.h"

/* ---- receiver: grant ---- */

/* Return a free slot, or -1. */
static int kfp_rdv_slot(const struct kfp_rdvs *rdvs, u64 len)
{
	int slot;

	if (rdvs->bytes && rdvs->bytes + len > KFP_RDV_BYTES)
		return -1;
	for (slot = 0; slot < KFP_RDV; slot++)
		if (!rdvs->slot[slot])
			return slot;
	return -1;
}

static void kfp_send_cts(struct kfp_conn *conn, struct kfp_answer *answer);

static const struct kfp_answer_row kfp_cts_row = {
	.send = kfp_send_cts,
};

/*
 * Grant messages that wait for a slot, oldest first: queue the CTS. The credit returns with it, so
 * a peer that does not use its grants runs out of credit.
 */
static void kfp_rdv_grant(struct kfp_conn *conn)
{
	struct kfp_rdvs *rdvs = &conn->rdvs;
	struct kfp_inmsg *in;
	int slot;

	lockdep_assert_held(&conn->lock);
	while (!list_empty(&rdvs->waiting)) {
		in = list_first_entry(&rdvs->waiting, struct kfp_inmsg, answer.link);
		slot = kfp_rdv_slot(rdvs, in->rx.len);
		if (slot < 0)
			return;
		list_del_init(&in->answer.link);
		rdvs->slot[slot] = in;
		rdvs->bytes += in->rx.len;
		in->slot = slot;
		in->state = KFP_IN_GRANTED;
		in->answer.row = &kfp_cts_row;
		kfp_credit_return(conn, in->cls, in->cost);
		kfp_answer_queue(conn, &in->answer);
	}
}

/* The message has found its receive. */
void kfp_rdv_enqueue(struct kfp_inmsg *in)
{
	list_add_tail(&in->answer.link, &in->conn->rdvs.waiting);
	kfp_rdv_grant(in->conn);
}

/*
 * The next part of the message is due: return when the wait for it begins. Bytes in places do not
 * show before the DATA behind them has arrived, so the time for them at the least rate is added.
 */
static unsigned long kfp_rdv_begin(const struct kfp_conn *conn, const struct kfp_inmsg *in)
{
	unsigned long now = kfp_rx_now(conn);

	return in->placed ? now + kfp_transfer_time(kfw_part(in->rx.len - in->got, true)) : now;
}

/*
 * The CTS is in the stage: from now on the peer has to send. The time for the bytes that the link
 * has to deliver before the CTS is added. Only DATA of this message ends the wait; kfp_rx_late()
 * supervises the frame, and then the wait for the next part begins. Bytes of other frames prolong
 * it (kfp_extend()), because the peer may have sent them before the CTS arrived, and may alternate
 * with them. But the last part has to begin within the time that the longest payload may take:
 * otherwise a peer could hold a receive for as long as it sends something else. For the same
 * reason each message has a time of its own, and not the connection one for all of them: a peer
 * could keep one, and renew that time by sending others.
 */
static void kfp_rdv_clock(struct kfp_conn *conn, struct kfp_inmsg *in)
{
	spin_lock_bh(&conn->lock);
	in->since = kfp_rdv_begin(conn, in) + kfp_delivery_time(conn);
	in->limit = in->since + kfp_peer_timeout(conn) + kfp_transfer_time(KFW_PAYLOAD_MAX);
	spin_unlock_bh(&conn->lock);
}

static void kfp_rdv_concealed(struct kfp_conn *conn, struct kfp_exposed *e);

/*
 * The payload of a message that is longer than its receive comes in frames, and its end is
 * dropped.
 */
static void kfp_send_cts(struct kfp_conn *conn, struct kfp_answer *answer)
{
	struct kfp_inmsg *in = container_of(answer, struct kfp_inmsg, answer);
	struct kfi_link_place place[KFW_PLACES_MAX] __uninitialized;	/* @n of them are set */
	struct kfw_hdr *hdr;
	int n = 0;

	if (in->rx.room == in->rx.len && kfp_may_expose(conn, in->rx.len))
		n = kfp_expose(conn, &in->exposed, &in->rx.iter, in->rx.len, place,
			       kfp_rdv_concealed);
	n = max(n, 0);
	in->placed = n;
	hdr = kfp_send_answer_frame(conn, answer, KFW_CTS);
	hdr->slot = cpu_to_le16(in->slot);
	hdr->places = n;
	kfp_send_places(conn, place, n);
	kfp_rdv_clock(conn, in);
}

/* ---- receiver: payload ---- */

/*
 * No more bytes of the message go to its receive: complete the receive, unless that is done. The
 * rest of a message that is too long for it is dropped, and must not hold the receive for as long
 * as it takes. Such a receive is never exposed.
 */
static void kfp_rdv_filled(struct kfp_inmsg *in)
{
	struct kfp_conn *conn = in->conn;

	if (in->state != KFP_IN_GRANTED)
		return;
	kfi_rx_complete(&in->rx, 0);
	spin_lock_bh(&conn->lock);
	in->state = KFP_IN_ANSWERED;
	spin_unlock_bh(&conn->lock);
}

/*
 * The payload is complete: queue the ACK, grant the next message. If the peer can still write to
 * the receive, this follows when it can't any more. The ACK of a message does not report that the
 * message was truncated; the ACK of RMA does.
 */
static void kfp_rdv_done(struct kfp_inmsg *in)
{
	struct kfp_conn *conn = in->conn;
	bool truncated = in->rx.flags & KFI_RMA && in->rx.len > in->rx.room;

	in->landed = true;
	if (in->exposed.concealed)
		return;
	kfp_rdv_filled(in);
	spin_lock_bh(&conn->lock);
	kfp_inmsg_ack(in, KFP_IN_ANSWERED, truncated ? KFI_ETRUNC : 0);
	conn->rdvs.bytes -= in->rx.len;
	kfp_rdv_grant(conn);
	spin_unlock_bh(&conn->lock);
}

static void kfp_rdv_concealed(struct kfp_conn *conn, struct kfp_exposed *e)
{
	struct kfp_inmsg *in = container_of(e, struct kfp_inmsg, exposed);

	if (in->landed)
		kfp_rdv_done(in);
}

/*
 * Is this DATA the next part of the payload? Each part but the last has KFW_FRAME_MAX bytes, or in
 * places KFW_PLACED_MAX, so each is progress. All parts are in the places that were named, or none
 * is. A DATA frame before its CTS has been sent is invalid: the answer is still queued, and is
 * needed again for the ACK.
 */
static bool kfp_rdv_accepts(const struct kfp_inmsg *in, const struct kfw_frame *f)
{
	bool placed = f->flags & KFW_F_PLACED;

	if (in->answer.id != f->id || in->answer.gen != f->gen ||
	    f->len != kfw_part(in->rx.len - in->got, placed) || !list_empty(&in->answer.link))
		return false;
	return placed == in->placed || (!placed && !in->got);
}

/* Return the message whose next part the frame has, or NULL. With the last part its slot is free. */
static struct kfp_inmsg *kfp_rdv_next(struct kfp_conn *conn, const struct kfw_frame *f)
{
	struct kfp_inmsg *in = NULL;

	spin_lock_bh(&conn->lock);
	if (f->slot < KFP_RDV)
		in = conn->rdvs.slot[f->slot];
	if (in && !kfp_rdv_accepts(in, f))
		in = NULL;
	if (in) {
		in->placed = f->flags & KFW_F_PLACED;
		in->got += f->len;
		in->since = kfp_rdv_begin(conn, in);
		if (in->got == in->rx.len)
			conn->rdvs.slot[f->slot] = NULL;
	}
	spin_unlock_bh(&conn->lock);
	return in;
}

static int kfp_rx_data(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;
	struct kfp_inmsg *in = kfp_rdv_next(conn, &rx->f);
	u64 before;

	if (!in)
		return -EPROTO;
	rx->in = in;
	before = in->got - rx->f.len;
	/* The peer does not write to the places any more, or will not do so. */
	if (in->placed ? in->got == in->rx.len : !before)
		kfp_conceal(conn, &in->exposed);
	if (in->placed) {
		kfi_stat_add(&conn->ep->ep, placed, rx->f.len);
		return 0;
	}
	conn->rx.into = &in->rx.iter;
	conn->rx.left = min(rx->f.payload, in->rx.room - min(before, in->rx.room));
	rx->skip = rx->f.payload - conn->rx.left;
	return 0;
}

static bool kfp_rx_data_more(struct kfp_conn *conn)
{
	struct kfp_inmsg *in = conn->rx.in;

	if (in->rx.len > in->rx.room && in->got >= in->rx.room)
		kfp_rdv_filled(in);
	return false;
}

static int kfp_rx_data_finish(struct kfp_conn *conn)
{
	struct kfp_inmsg *in = conn->rx.in;

	if (in->got == in->rx.len)
		kfp_rdv_done(in);
	return 0;
}

const struct kfp_frame_row kfp_data_frame = {
	.receive = kfp_rx_data,
	.more = kfp_rx_data_more,
	.finish = kfp_rx_data_finish,
};

/* ---- sender ---- */

static int kfp_got_cts(struct kfp_conn *conn)
{
	const struct kfw_frame *f = &conn->rx.f;
	struct kfi_oper *op = kfp_answered_op(conn, f);
	int ret;

	if (!op || kfp_op(op)->state != KFP_OP_REQUESTED || kfp_op_row(op)->granted)
		return -EPROTO;
	ret = kfp_places_take(conn, op->len, &kfp_op(op)->places);
	if (ret)
		return ret;
	kfp_op(op)->slot = f->slot;
	kfp_op(op)->state = KFP_OP_GRANTED;
	list_move_tail(&op->link, &conn->tx.granted);
	return 0;
}

const struct kfp_frame_row kfp_cts_frame = {
	.receive = kfp_got_cts,
};

/*
 * Send the next part of the payload that the peer has granted: to its places, if the CTS named
 * any, and else as frames.
 */
void kfp_rdv_send_data(struct kfp_conn *conn, struct kfi_oper *op)
{
	struct kfp_op *pop = kfp_op(op);
	u64 left = kfp_op_left(op);
	u32 part = kfw_part(left, pop->places);
	struct kfw_hdr *hdr;

	if (left == op->len)
		pop->spliced = pop->places || kfp_can_splice(conn, &op->iter, op->len);
	hdr = kfp_send_op_frame(conn, op, KFW_DATA, pop->places ? KFW_F_PLACED : 0);
	hdr->slot = cpu_to_le16(pop->slot);
	hdr->len = cpu_to_le64(part);
	hdr->payload = pop->places ? 0 : hdr->len;
	kfp_send_payload(conn, op, part, true, pop->places, op->len - left);
}

/* ---- slow senders, and the life of a connection ---- */

/*
 * Has the peer not begun a payload, or its next part, for too long? Not while the receive side is
 * blocked.
 */
static bool kfp_rdvs_late(struct kfp_conn *conn, unsigned long extra, unsigned long held)
{
	unsigned long timeout = kfp_peer_timeout(conn), now = kfp_rx_now(conn);
	struct kfp_inmsg *in;
	bool late = false;
	int slot;

	spin_lock_bh(&conn->lock);
	for (slot = 0; slot < KFP_RDV; slot++) {
		in = conn->rdvs.slot[slot];
		if (!in || !list_empty(&in->answer.link))
			continue;
		in->since = kfp_extend(in->since, now, extra);
		late |= time_after(now, in->since + timeout) || time_after(now, in->limit);
	}
	spin_unlock_bh(&conn->lock);
	return late && conn->rx.at != KFP_RX_BLOCKED;
}

static void kfp_rdvs_init(struct kfp_conn *conn)
{
	INIT_LIST_HEAD(&conn->rdvs.waiting);
}

/* The owners end what has a slot. */
static void kfp_rdvs_closed(struct kfp_conn *conn)
{
	spin_lock_bh(&conn->lock);
	memset(conn->rdvs.slot, 0, sizeof(conn->rdvs.slot));
	spin_unlock_bh(&conn->lock);
}

const struct kfp_protocol kfp_rdv_protocol = {
	.init = kfp_rdvs_init,
	.watch = kfp_rdvs_late,
	.closed = kfp_rdvs_closed,
};
