// SPDX-License-Identifier: GPL-2.0
/*
 * rendezvous.c - payload that its receiver requests: of a long message (message.c).
 *
 *	sender				receiver
 *	  request		--->			kfp_rdv_enqueue(), when the destination is known
 *				<---	CTS		kfp_rdv_grant(), kfp_send_cts(); kfp_got_cts()
 *	  DATA			--->			kfp_rdv_send_data(); kfp_rx_data()
 *							kfp_rdv_end(): another one may be granted
 *
 * The receiver grants KFP_RDV payloads at a time, with KFP_RDV_BYTES bytes at most, unless there
 * is only one. If its link can expose the destination, the CTS names the places (memory.c), and
 * the payload goes there; else it follows the DATA frame. A payload of more than KFW_FRAME_MAX
 * bytes comes in parts, each with a DATA frame; those of several payloads may alternate.
 *
 * A granted payload holds its destination, so the sender has a deadline: kfp_rdvs_late().
 */
#include "proto.h"

/* ---- receiver ---- */

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

/* Grant payloads that wait for a slot, oldest first: queue the CTS. */
static void kfp_rdv_grant(struct kfp_conn *conn)
{
	struct kfp_rdvs *rdvs = &conn->rdvs;
	struct kfp_rdv *rdv;
	int slot;

	lockdep_assert_held(&conn->lock);
	while (!list_empty(&rdvs->waiting)) {
		rdv = list_first_entry(&rdvs->waiting, struct kfp_rdv, answer.link);
		slot = kfp_rdv_slot(rdvs, rdv->len);
		if (slot < 0)
			return;
		list_del_init(&rdv->answer.link);
		rdvs->slot[slot] = rdv;
		rdvs->bytes += rdv->len;
		rdv->slot = slot;
		rdv->answer.row = &kfp_cts_row;
		rdv->ops->granted(conn, rdv);
		kfp_answer_queue(conn, &rdv->answer);
	}
}

/*
 * The destination of a payload is known: queue it for a slot, and grant what there are slots for,
 * oldest first.
 */
void kfp_rdv_enqueue(struct kfp_conn *conn, struct kfp_rdv *rdv)
{
	list_add_tail(&rdv->answer.link, &conn->rdvs.waiting);
	kfp_rdv_grant(conn);
}

/* A granted payload is complete: grant the next one. */
void kfp_rdv_end(struct kfp_conn *conn, struct kfp_rdv *rdv)
{
	conn->rdvs.bytes -= rdv->len;
	kfp_rdv_grant(conn);
}

/*
 * The CTS is in the stage: from now on the peer has to send. The time for the bytes that the link
 * has to deliver before the CTS is added. Only DATA of this payload ends the wait; kfp_rx_late()
 * supervises the frame, and then the wait for the next part begins. Bytes of other frames prolong
 * it (kfp_extend()), because the peer may have sent them before the CTS arrived, and may alternate
 * with them. But the last part has to begin within the time that the longest payload may take:
 * otherwise a peer could hold a receive for as long as it sends something else. For the same
 * reason each payload has a time of its own, and not the connection one for all of them: a peer
 * could keep one, and renew that time by sending others.
 */
static void kfp_rdv_clock(struct kfp_conn *conn, struct kfp_rdv *rdv)
{
	spin_lock_bh(&conn->lock);
	rdv->since = kfp_rx_now(conn) + kfp_delivery_time(conn);
	rdv->limit = rdv->since + kfp_peer_timeout(conn) + kfp_transfer_time(KFW_PAYLOAD_MAX);
	spin_unlock_bh(&conn->lock);
}

static void kfp_send_cts(struct kfp_conn *conn, struct kfp_answer *answer)
{
	struct kfp_rdv *rdv = container_of(answer, struct kfp_rdv, answer);
	struct kfw_frame f = {
		.type = KFW_CTS,
		.id = answer->id, .gen = answer->gen, .slot = rdv->slot,
	};

	rdv->ops->expose(conn, rdv);
	f.places = rdv->places ? rdv->places->count : 0;
	kfp_send_frame(conn, &f);
	if (rdv->places)
		kfp_send_places(conn, rdv->places->place, rdv->places->count);
	kfp_rdv_clock(conn, rdv);
}

/*
 * Is this DATA the next part of the payload? Each part but the last has KFW_FRAME_MAX bytes, so
 * each is progress. All parts are in the places that were named, or none is. A DATA frame before
 * its CTS has been sent is invalid: the answer is still queued, and is needed again for the ACK.
 */
static bool kfp_rdv_accepts(const struct kfp_rdv *rdv, const struct kfw_frame *f)
{
	bool placed = f->flags & KFW_F_PLACED;

	if (rdv->answer.id != f->id || rdv->answer.gen != f->gen ||
	    f->len != kfw_part(rdv->len - rdv->got) || !list_empty(&rdv->answer.link))
		return false;
	if (rdv->got)
		return placed == rdv->placed;
	return !placed || (rdv->places && rdv->places->own);
}

static int kfp_rx_data(struct kfp_conn *conn)
{
	const struct kfw_frame *f = &conn->rx.f;
	struct kfp_rdv *rdv = NULL;

	spin_lock_bh(&conn->lock);
	if (f->slot < KFP_RDV)
		rdv = conn->rdvs.slot[f->slot];
	if (rdv && !kfp_rdv_accepts(rdv, f))
		rdv = NULL;
	if (rdv) {
		rdv->placed = f->flags & KFW_F_PLACED;
		rdv->got += f->len;
		rdv->since = kfp_rx_now(conn);
		if (rdv->got == rdv->len)
			conn->rdvs.slot[f->slot] = NULL;
	}
	spin_unlock_bh(&conn->lock);
	return rdv ? rdv->ops->data(conn, rdv) : -EPROTO;
}

const struct kfp_frame_row kfp_data_frame = {
	.receive = kfp_rx_data,
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
	struct kfw_frame f = kfp_op_frame(op, KFW_DATA);
	struct kfp_op *pop = kfp_op(op);
	u64 left = kfp_op_left(op);

	f.flags = pop->places ? KFW_F_PLACED : 0;
	f.slot = pop->slot;
	f.len = kfw_part(left);
	f.payload = pop->places ? 0 : f.len;
	if (left == op->len)
		pop->spliced = pop->places || kfp_can_splice(conn, &op->iter, op->len);
	kfp_send_frame(conn, &f);
	kfp_send_payload(conn, op, f.len, true, pop->places, op->len - left);
}

/* ---- slow senders, and the life of a connection ---- */

/*
 * Has the peer not begun a payload, or its next part, for too long? Not while the receive side is
 * blocked.
 */
static unsigned int kfp_rdvs_late(struct kfp_conn *conn, unsigned long extra)
{
	unsigned long timeout = kfp_grant_timeout(conn), now = kfp_rx_now(conn);
	struct kfp_rdv *rdv;
	unsigned int late = 0;
	int slot;

	spin_lock_bh(&conn->lock);
	for (slot = 0; slot < KFP_RDV; slot++) {
		rdv = conn->rdvs.slot[slot];
		if (!rdv || !list_empty(&rdv->answer.link))
			continue;
		rdv->since = kfp_extend(rdv->since, now, extra);
		if (time_after(now, rdv->since + timeout) || time_after(now, rdv->limit))
			late |= KFP_LATE_GRANT;
	}
	spin_unlock_bh(&conn->lock);
	return conn->rx.at != KFP_RX_BLOCKED ? late : 0;
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
