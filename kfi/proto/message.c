// SPDX-License-Identifier: GPL-2.0
/*
 * message.c - messages: eager and by rendezvous. A tagged write is a message that must find its
 * receive; tread.c has tagged reads.
 *
 *	sender				receiver
 *	  MSG with payload	--->			kfp_send_message(), kfp_rx_message()
 *				<---	(ACK)		kfp_rx_finish_message()
 *
 *	  RTS			--->			kfp_send_message(), kfp_rx_rts()
 *				<---	CTS		when a receive was found (rendezvous.c)
 *	  DATA			--->			kfp_inmsg_data(), kfp_inmsg_done()
 *				<---	ACK
 *
 * A message that finds no receive, or whose payload has not arrived, is a struct kfp_inmsg (inmsg.c).
 */
#include "peers.h"

static const struct kfp_rdv_ops kfp_inmsg_rdv_ops;
static const struct kfp_frame_row kfp_inmsg_data_row;

/* ---- sender ---- */

/*
 * Rendezvous is used for payload beyond the peer's eager size, and if the completion has to mean
 * that the payload is in the receive.
 */
static bool kfp_is_long(const struct kfp_conn *conn, const struct kfi_oper *op)
{
	return op->len > conn->tx.eager || op->code == KFI_OPC_TWRITE ||
	       (op->flags & KFI_DELIVERY_COMPLETE);
}

static u32 kfp_message_cost(const struct kfp_conn *conn, const struct kfi_oper *op)
{
	return kfp_is_long(conn, op) ? 1 : kfw_cost(op->len);
}

/* Does the operation complete only when the peer has answered? */
static bool kfp_wants_ack(const struct kfp_conn *conn, const struct kfi_oper *op)
{
	return (kfp_op(op)->spliced && !kfp_reports_sent(conn)) ||
	       (op->flags & (KFI_TRANSMIT_COMPLETE | KFI_DELIVERY_COMPLETE));
}

/* Send the frame of a message that has its credit, and the payload if it is eager. */
static void kfp_send_credited(struct kfp_conn *conn, struct kfi_oper *op, u8 cls, bool eager)
{
	struct kfw_frame f = __kfp_op_frame(op, eager ? KFW_MSG : KFW_RTS, cls == KFP_CLS_TAG);
	struct kfp_op *pop = kfp_op(op);

	pop->spliced = kfp_can_splice(conn, &op->iter, op->len);
	if (op->code == KFI_OPC_TWRITE)
		f.flags |= KFW_F_RMA;
	if (op->flags & KFI_INVALIDATE) {
		f.flags |= KFW_F_INV;
		f.rma_count = 1;
	}
	if (eager) {
		f.payload = op->len;
		if (kfp_wants_ack(conn, op)) {
			f.flags |= KFW_F_ACK | kfp_lazy(op);
			kfp_op_request(conn, op);
		}
	}
	kfp_send_frame(conn, &f);
	if (op->flags & KFI_INVALIDATE)
		kfp_send_segment(conn, 0, 0, op->inv_key);
	if (eager)
		kfp_send_payload(conn, op, op->len, f.flags & KFW_F_ACK, NULL, 0);
	else
		kfp_op_requested(conn, op);
}

static bool kfp_send_message(struct kfp_conn *conn, struct kfi_oper *op)
{
	bool eager = !kfp_is_long(conn, op);
	u8 cls = kfp_op_row(op)->cls;

	if (kfp_op(op)->state == KFP_OP_GRANTED) {
		list_del(&op->link);
		kfp_rdv_send_data(conn, op);
		return true;
	}
	if (!kfi_credit_take(&conn->tx.credit[cls], eager ? kfw_cost(op->len) : 1))
		return false;
	list_del(&op->link);
	kfp_send_credited(conn, op, cls, eager);
	return true;
}

/* The owner of a region can't make the contents of a receive durable. */
static int kfp_twrite_post(struct kfi_oper *op, struct kfp_conn **conn)
{
	return op->flags & KFI_COMMIT_COMPLETE ? -EOPNOTSUPP : 0;
}

const struct kfp_op_row kfp_msg_op = {
	.cls = KFP_CLS_MSG,
	.cost = kfp_message_cost,
	.send = kfp_send_message,
};

const struct kfp_op_row kfp_tmsg_op = {
	.cls = KFP_CLS_TAG,
	.cost = kfp_message_cost,
	.send = kfp_send_message,
};

const struct kfp_op_row kfp_twrite_op = {
	.cls = KFP_CLS_TAG,
	.post = kfp_twrite_post,
	.cost = kfp_message_cost,
	.send = kfp_send_message,
};

/* ---- receiver: rendezvous. The functions of kfp_inmsg_rdv_ops ---- */

/* The credit returns with the CTS, so a peer that does not use its grants runs out of credit. */
static void kfp_inmsg_granted(struct kfp_conn *conn, struct kfp_rdv *rdv)
{
	struct kfp_inmsg *in = container_of(rdv, struct kfp_inmsg, rdv);

	in->state = KFP_IN_GRANTED;
	kfp_credit_return(conn, in->cls, in->cost);
}

/*
 * Return the status for the ACK. The ACK of a message does not report that the message was
 * truncated; the ACK of RMA does.
 */
static u16 kfp_inmsg_status(const struct kfp_inmsg *in)
{
	return in->rx.flags & KFI_RMA && in->rx.len > in->rx.room ? KFI_ETRUNC : 0;
}

/*
 * No more bytes of a long message go to its receive: complete the receive, unless that is done. The
 * rest of a message that is too long for it is dropped, and must not hold the receive for as long
 * as it takes. Such a receive is never exposed.
 */
static void kfp_inmsg_filled(struct kfp_inmsg *in)
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
 * The payload of a long message is complete: queue the ACK, grant the next payload. If the peer can
 * still write to the receive, this follows when it can't any more.
 */
static void kfp_inmsg_done(struct kfp_inmsg *in)
{
	struct kfp_conn *conn = in->conn;

	in->landed = true;
	if (in->rdv.places)
		return;
	kfp_inmsg_filled(in);
	spin_lock_bh(&conn->lock);
	kfp_inmsg_ack(in, KFP_IN_ANSWERED, kfp_inmsg_status(in));
	kfp_rdv_end(conn, &in->rdv);
	spin_unlock_bh(&conn->lock);
}

static void kfp_inmsg_concealed(struct kfp_conn *conn, void *owner)
{
	struct kfp_inmsg *in = owner;

	kfp_conceal(conn, &in->rdv.places);
	if (in->landed)
		kfp_inmsg_done(in);
}

/*
 * The payload of a message that is longer than its receive comes in frames, and its end is dropped.
 */
static void kfp_inmsg_expose(struct kfp_conn *conn, struct kfp_rdv *rdv)
{
	struct kfp_inmsg *in = container_of(rdv, struct kfp_inmsg, rdv);

	if (in->rx.room != in->rx.len)
		return;
	rdv->places = kfp_expose(conn, &in->rx.iter, in->rx.len);
	if (!rdv->places)
		return;
	rdv->places->owner = in;
	rdv->places->concealed = kfp_inmsg_concealed;
}

static int kfp_inmsg_data(struct kfp_conn *conn, struct kfp_rdv *rdv)
{
	struct kfp_inmsg *in = container_of(rdv, struct kfp_inmsg, rdv);
	struct kfp_rx *rx = &conn->rx;
	u64 before = rdv->got - rx->f.len;

	/* The peer does not write to the places any more, or will not do so. */
	if (rdv->placed ? rdv->got == rdv->len : !before)
		kfp_conceal(conn, &rdv->places);
	rx->row = &kfp_inmsg_data_row;
	rx->in = in;
	if (rdv->placed) {
		kfi_stat_add(&conn->ep->ep, placed, rx->f.len);
		return 0;
	}
	conn->link.into = &in->rx.iter;
	conn->link.left = min(rx->f.payload, in->rx.room - min(before, in->rx.room));
	rx->skip = rx->f.payload - conn->link.left;
	return 0;
}

static bool kfp_inmsg_data_more(struct kfp_conn *conn)
{
	struct kfp_inmsg *in = conn->rx.in;

	if (in->rx.len > in->rx.room && in->rdv.got >= in->rx.room)
		kfp_inmsg_filled(in);
	return false;
}

static int kfp_inmsg_data_finish(struct kfp_conn *conn)
{
	struct kfp_inmsg *in = conn->rx.in;

	if (in->rdv.got == in->rdv.len)
		kfp_inmsg_done(in);
	return 0;
}

static const struct kfp_frame_row kfp_inmsg_data_row = {
	.granted = true,
	.more = kfp_inmsg_data_more,
	.finish = kfp_inmsg_data_finish,
};

static const struct kfp_rdv_ops kfp_inmsg_rdv_ops = {
	.granted = kfp_inmsg_granted,
	.expose = kfp_inmsg_expose,
	.data = kfp_inmsg_data,
};

/* ---- receiver: frames ---- */

static u64 kfp_rx_flags(const struct kfw_frame *f)
{
	u64 flags = f->flags & KFW_F_TAGGED ? KFI_TAGGED : KFI_MSG;

	if (f->flags & KFW_F_CQ_DATA)
		flags |= KFI_REMOTE_CQ_DATA;
	if (f->flags & KFW_F_RMA)
		flags |= KFI_RMA | (f->type == KFW_TREAD ? KFI_READ : KFI_WRITE);
	return flags;
}

static void kfp_rx_describe(struct kfp_conn *conn, struct kfi_rx *rx)
{
	const struct kfw_frame *f = &conn->rx.f;

	rx->len = f->len;
	rx->tag = f->tag;
	rx->data = f->data;
	rx->flags = kfp_rx_flags(f);
	if (conn->rx.invalidated) {
		rx->flags |= conn->rx.invalidated == 1 ? KFI_INVALIDATE : KFI_INVALIDATE_DUE;
		rx->data = le64_to_cpu(conn->rx.segs[0].key);
	}
	rx->name = conn->av_name;
}

/*
 * Invalidate the region that the frame names. A sender that names a key which it may not use
 * violates the protocol. A region that is in use at this moment is to be ended by its owner, and the
 * completion of the receive says so. If the owner has ended it first, there is nothing to say.
 */
static int kfp_rx_invalidate(struct kfp_conn *conn)
{
	int ret;

	if (!(conn->rx.f.flags & KFW_F_INV))
		return 0;
	ret = kfi_mr_kill(&conn->ep->ep, le64_to_cpu(conn->rx.segs[0].key));
	conn->rx.invalidated = !ret ? 1 : ret == -EBUSY ? 2 : 0;
	return ret == -EACCES ? -EPROTO : 0;
}

/*
 * Do what a frame does only once, although a frame that was blocked is dispatched again: charge its
 * credit, and invalidate the region that it names (&kfp_rx.counted). Return: 0 or -EPROTO.
 */
static int kfp_rx_once(struct kfp_conn *conn, u32 cost)
{
	if (conn->rx.counted)
		return 0;
	conn->rx.counted = true;
	if (!kfi_credit_charge(&conn->credit[kfp_rx_cls(&conn->rx.f)], cost))
		return -EPROTO;
	return kfp_rx_invalidate(conn);
}

static int kfp_rx_to_receive(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;

	rx->matched = true;
	conn->link.into = &rx->rx.iter;
	conn->link.left = rx->rx.room;
	rx->skip = rx->f.payload - rx->rx.room;
	__kfp_credit_free(conn, kfp_rx_cls(&rx->f), kfw_cost(rx->f.len));
	return 0;
}

static int kfp_rx_to_inmsg(struct kfp_conn *conn, struct kfp_inmsg *in)
{
	struct kfp_rx *rx = &conn->rx;
	struct kvec vec = { in->buf, rx->f.payload };

	rx->in = in;
	conn->link.left = rx->f.payload;
	/*
	 * The vector of the iterator is in the message object, which lives until the payload is
	 * complete.
	 */
	in->vec = vec;
	iov_iter_kvec(&rx->iter, ITER_DEST, &in->vec, 1, vec.iov_len);
	conn->link.into = &rx->iter;
	return 0;
}

static int kfp_rx_discard(struct kfp_conn *conn)
{
	conn->rx.skip = conn->rx.f.payload;
	return 0;
}

static int kfp_rx_unexpected(struct kfp_conn *conn)
{
	struct kfp_inmsg *in = kfp_inmsg_new(conn, &conn->rx.f, kfw_cost(conn->rx.f.len));

	if (!in)
		return -ENOMEM;
	kfp_rx_describe(conn, &in->rx);
	switch (__kfi_rx_arrive(&conn->ep->ep, &in->rx, true)) {
	case KFI_RX_QUEUED:
		return kfp_rx_to_inmsg(conn, in);
	case KFI_RX_MATCHED:			/* a receive was posted meanwhile */
		conn->rx.rx = in->rx;
		kfp_inmsg_free(in);
		return kfp_rx_to_receive(conn);
	case KFI_RX_FULL:
		kfp_inmsg_free(in);
		return -EAGAIN;
	default:
		kfp_inmsg_free(in);
		return kfp_rx_discard(conn);
	}
}

static int kfp_rx_message(struct kfp_conn *conn)
{
	int ret = kfp_rx_once(conn, kfw_cost(conn->rx.f.len));

	if (ret)
		return ret;
	kfp_rx_describe(conn, &conn->rx.rx);
	switch (__kfi_rx_arrive(&conn->ep->ep, &conn->rx.rx, false)) {
	case KFI_RX_MATCHED:
		return kfp_rx_to_receive(conn);
	case KFI_RX_NONE:
		return kfp_rx_unexpected(conn);
	case KFI_RX_FULL:
		return -EAGAIN;
	default:
		return kfp_rx_discard(conn);
	}
}

static int kfp_rx_finish_message(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;
	bool late_ack;

	if (likely(rx->matched)) {
		rx->matched = false;		/* kfp_rx_message_abort() must not end it again */
		__kfi_rx_complete(&rx->rx, 0);
	} else if (rx->in) {
		late_ack = rx->in->late_ack;
		kfp_inmsg_arrived(rx->in);	/* it may free the message */
		if (unlikely(late_ack))
			return 0;	/* the ACK follows when the message is received */
	}
	return rx->f.flags & KFW_F_ACK ? kfp_rx_ack(conn, 0) : 0;
}

/* kfp_inmsgs_abort() handles the frames that belong to a message object. */
static void kfp_rx_message_abort(struct kfp_conn *conn, int err)
{
	struct kfp_rx *rx = &conn->rx;

	if (rx->matched && (conn->link.left || rx->skip || rx->finishing))
		kfi_rx_abort(&rx->rx, err);
}

const struct kfp_frame_row kfp_msg_frame = {
	.request = true,
	.receive = kfp_rx_message,
	.finish = kfp_rx_finish_message,
	.abort = kfp_rx_message_abort,
};

/*
 * Handle a request for a rendezvous with a receive, or for its data: call @granted when the receive
 * was found. No payload follows; a message object represents the request until its end. Tagged RMA
 * does not wait for a receive: without one it is refused.
 */
int kfp_rx_request(struct kfp_conn *conn, void (*granted)(struct kfp_inmsg *in))
{
	bool rma = conn->rx.f.flags & KFW_F_RMA;
	struct kfp_inmsg *in;
	int ret;

	/* An endpoint without KFI_TAGGED_RMA does not expose its receives. */
	if (rma && !(conn->ep->ep.caps & KFI_TAGGED_RMA))
		return -EPROTO;
	ret = kfp_rx_once(conn, 1);
	if (ret)
		return ret;
	in = kfp_inmsg_new(conn, &conn->rx.f, 1);
	if (!in)
		return -ENOMEM;
	in->granted = granted;
	ret = kfp_places_take(conn, conn->rx.f.len, &in->rdv.answer.places);
	if (ret) {
		kfp_inmsg_free(in);
		return ret;
	}
	kfp_rx_describe(conn, &in->rx);
	switch (__kfi_rx_arrive(&conn->ep->ep, &in->rx, !rma)) {
	case KFI_RX_QUEUED:
		return 0;
	case KFI_RX_NONE:
		kfp_inmsg_refuse(in, EACCES);
		return 0;
	case KFI_RX_MATCHED:
		kfi_proto_rx_matched(&conn->ep->ep, &in->rx);
		return 0;
	case KFI_RX_FULL:
		kfp_inmsg_free(in);
		return -EAGAIN;
	default:
		kfp_inmsg_free(in);
		return 0;
	}
}

static void kfp_rts_matched(struct kfp_inmsg *in)
{
	in->rdv.ops = &kfp_inmsg_rdv_ops;
	kfp_rdv_enqueue(in->conn, &in->rdv);
}

static int kfp_rx_rts(struct kfp_conn *conn)
{
	return kfp_rx_request(conn, kfp_rts_matched);
}

const struct kfp_frame_row kfp_rts_frame = {
	.request = true,
	.receive = kfp_rx_rts,
};
