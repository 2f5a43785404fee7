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
 *	  DATA			--->			kfp_rx_data()
 *				<---	ACK
 *
 *	  REPLY with message
 *	  and payload		--->			kfp_send_reply(), kfp_rx_reply()
 *				<---	(ACK)		kfp_rx_finish_reply()
 *
 * A message that finds no receive, or whose payload has not arrived, is a struct kfp_inmsg (inmsg.c).
 */
#include "peers.h"

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

/*
 * Decide whether the link references the payload, and whether the operation completes only when the
 * peer has answered. Return: the flags of its frame for that.
 */
static __always_inline u16 kfp_ask_ack(struct kfp_conn *conn, struct kfi_oper *op)
{
	kfp_op(op)->spliced = kfp_can_splice(conn, &op->iter, op->len);
	if (!(op->flags & (KFI_TRANSMIT_COMPLETE | KFI_DELIVERY_COMPLETE)) &&
	    (!kfp_op(op)->spliced || kfp_reports_sent(conn)))
		return 0;
	kfp_op_request(conn, op);
	return KFW_F_ACK | kfp_lazy(op);
}

static bool kfp_send_message(struct kfp_conn *conn, struct kfi_oper *op)
{
	bool eager = !kfp_is_long(conn, op);
	u8 cls = kfp_op_row(op)->cls;
	u16 flags = kfp_op_flags(op) | (cls == KFP_CLS_TAG ? KFW_F_TAGGED : 0) |
		    (op->code == KFI_OPC_TWRITE ? KFW_F_RMA : 0) |
		    (op->flags & KFI_INVALIDATE ? KFW_F_INV : 0);
	struct kfw_hdr *hdr;

	if (kfp_op(op)->state == KFP_OP_GRANTED) {
		list_del(&op->link);
		kfp_rdv_send_data(conn, op);
		return true;
	}
	if (!kfi_credit_take(&conn->tx.credit[cls], eager ? kfw_cost(op->len) : 1))
		return false;
	list_del(&op->link);
	if (eager)
		flags |= kfp_ask_ack(conn, op);
	if (eager && !flags) {
		kfp_send_plain(conn, KFW_PLAIN, op->len);
		kfp_send_payload(conn, op, op->len, false, NULL, 0);
		return true;
	}
	hdr = kfp_send_op_frame(conn, op, eager ? KFW_MSG : KFW_RTS, flags);
	if (flags & KFW_F_INV) {
		hdr->rma_count = cpu_to_le16(1);
		kfp_send_segment(conn, 0, 0, op->inv_key);
	}
	if (eager) {
		hdr->payload = hdr->len;
		kfp_send_payload(conn, op, op->len, flags & KFW_F_ACK, NULL, 0);
	} else {
		kfp_op(op)->spliced = kfp_can_splice(conn, &op->iter, op->len);
		kfp_op_requested(conn, op);
	}
	return true;
}

/* ---- sender: a write and the message behind it ---- */

static_assert(KFI_REPLY_LEN == KFW_REPLY_MAX && KFW_REPLY_MAX <= KFW_CREDIT_BYTES);

static u32 kfp_reply_cost(const struct kfp_conn *conn, const struct kfi_oper *op)
{
	return 1;
}

static bool kfp_send_reply(struct kfp_conn *conn, struct kfi_oper *op)
{
	struct kfw_hdr *hdr;
	u16 flags;

	if (!kfi_credit_take(&conn->tx.credit[KFP_CLS_MSG], 1))
		return false;
	list_del(&op->link);
	flags = kfp_ask_ack(conn, op) | (op->flags & KFI_INVALIDATE ? KFW_F_INV : 0);
	hdr = kfp_send_op_frame(conn, op, KFW_REPLY, flags);
	hdr->rma_count = cpu_to_le16(1);
	hdr->msg_len = cpu_to_le16(op->reply_len);
	hdr->payload = hdr->len;
	kfp_send_segment(conn, op->rma[0].addr, op->rma[0].len, op->rma[0].key);
	kfp_send_bytes(conn, op->inline_buf, op->reply_len);
	kfp_send_payload(conn, op, op->len, flags & KFW_F_ACK, NULL, 0);
	return true;
}

const struct kfp_op_row kfp_reply_op = {
	.cls = KFP_CLS_MSG,
	.cost = kfp_reply_cost,
	.send = kfp_send_reply,
};

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

/* ---- receiver: frames ---- */

/* @access: KFI_READ or KFI_WRITE, of tagged RMA */
static __always_inline void kfp_rx_describe(struct kfp_conn *conn, struct kfi_rx *rx,
					    u64 access)
{
	const struct kfw_frame *f = &conn->rx.f;

	rx->len = f->len;
	rx->tag = f->tag;
	rx->data = f->data;
	rx->flags = f->flags & KFW_F_TAGGED ? KFI_TAGGED : KFI_MSG;
	if (f->flags & KFW_F_CQ_DATA)
		rx->flags |= KFI_REMOTE_CQ_DATA;
	if (f->flags & KFW_F_RMA)
		rx->flags |= KFI_RMA | access;
	if (conn->rx.invalidated) {
		rx->flags |= conn->rx.invalidated == 1 ? KFI_INVALIDATE : KFI_INVALIDATE_DUE;
		rx->data = le64_to_cpu(conn->rx.segs[0].key);
	}
	rx->name = conn->av_name;
}

/*
 * Do what a frame does only once, although a frame that was blocked is dispatched again: charge its
 * credit, and invalidate the region that it names (&kfp_rx.counted). Return: 0 or -EPROTO.
 *
 * A sender that names a key which it may not use violates the protocol. A region that is in use at
 * this moment is to be ended by its owner, and the completion of the receive says so. If the owner
 * has ended it first, there is nothing to say.
 */
static __always_inline int kfp_rx_once(struct kfp_conn *conn, u32 cost)
{
	struct kfp_rx *rx = &conn->rx;
	int ret;

	if (rx->counted)
		return 0;
	rx->counted = true;
	if (!kfi_credit_charge(&conn->credit[kfp_rx_cls(&rx->f)], cost))
		return -EPROTO;
	if (!(rx->f.flags & KFW_F_INV))
		return 0;
	ret = kfi_mr_kill(&conn->ep->ep, le64_to_cpu(rx->segs[0].key));
	rx->invalidated = !ret ? 1 : ret == -EBUSY ? 2 : 0;
	return ret == -EACCES ? -EPROTO : 0;
}

static __always_inline int kfp_rx_to_receive(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;

	rx->matched = true;
	conn->rx.into = &rx->rx.iter;
	conn->rx.left = rx->rx.room;
	rx->skip = rx->f.payload - rx->rx.room;
	spin_lock(&conn->lock);
	kfp_credit_return(conn, kfp_rx_cls(&rx->f), kfw_cost(rx->f.len));
	spin_unlock(&conn->lock);
	return 0;
}

static int kfp_rx_to_inmsg(struct kfp_conn *conn, struct kfp_inmsg *in)
{
	struct kfp_rx *rx = &conn->rx;

	rx->in = in;
	conn->rx.left = rx->f.payload;
	/* The vector belongs to the message object, which lives until the payload is complete. */
	iov_iter_kvec(&rx->iter, ITER_DEST, in->vec, in->nvecs, rx->f.payload);
	conn->rx.into = &rx->iter;
	return 0;
}

static int kfp_rx_discard(struct kfp_conn *conn)
{
	conn->rx.skip = conn->rx.f.payload;
	return 0;
}

static int kfp_rx_unexpected(struct kfp_conn *conn)
{
	struct kfp_inmsg *in = kfp_inmsg_new(conn, &conn->rx.f, kfw_cost(conn->rx.f.len), NULL);

	if (!in)
		return -ENOMEM;
	kfp_rx_describe(conn, &in->rx, 0);
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
	kfp_rx_describe(conn, &conn->rx.rx, 0);
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
	} else if (unlikely(conn->late_acks)) {
		/* no receive gets it, and the end of the connection says so to the sender */
		return 0;
	}
	return rx->f.flags & KFW_F_ACK ? kfp_rx_ack(conn, 0) : 0;
}

/* kfp_inmsgs_abort() handles the frames that belong to a message object. */
static void kfp_rx_message_abort(struct kfp_conn *conn, int err)
{
	struct kfp_rx *rx = &conn->rx;

	if (rx->matched && (conn->rx.left || rx->skip || rx->finishing))
		kfi_rx_abort(&rx->rx, err);
}

const struct kfp_frame_row kfp_msg_frame = {
	.request = true,
	.receive = kfp_rx_message,
	.finish = kfp_rx_finish_message,
	.abort = kfp_rx_message_abort,
};

/* ---- receiver: a write and the message behind it ---- */

/* The message is behind the segment, in the same buffer. */
static int kfp_rx_reply(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;

	static_assert(sizeof(*rx->segs) + KFW_REPLY_MAX <= KFP_SEGS_BYTES);
	if (le64_to_cpu(rx->segs[0].len) != rx->f.len)
		return -EPROTO;
	if (kfp_rx_open_region(conn, &rx->segs[0]))
		return 0;
	rx->status = EACCES;
	rx->left = 0;
	rx->skip = rx->f.payload;
	return 0;
}

/*
 * The data is in the region, if there is no @status. From then on the frame is one of the message.
 * Without its data the message is dropped, and the sender gets an ACK in any case.
 */
static int kfp_rx_finish_reply(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;
	int ret;

	if (!rx->landed) {
		if (!rx->status)
			kfi_remote_rma(&conn->ep->ep, rx->mr, rx->key, KFI_REMOTE_WRITE, rx->f.len,
				       0, kfp_rx_src(conn));
		kfp_rx_put_mr(conn);
		rx->landed = true;
		rx->f.len = rx->f.msg_len;
		rx->f.payload = rx->f.msg_len;
		rx->f.tag = 0;
	}
	if (unlikely(rx->status)) {
		if (!kfi_credit_charge(&conn->credit[KFP_CLS_MSG], 1))
			return -EPROTO;
		kfp_credit_free(conn, KFP_CLS_MSG, 1);
		if (!kfp_rx_ack(conn, rx->status))
			return 0;
		/* Without the flag no answer is set aside for it: that is no fault of the peer. */
		return rx->f.flags & KFW_F_ACK ? -EPROTO : -EREMOTEIO;
	}
	ret = kfp_rx_message(conn);
	if (ret)
		return ret;
	WARN_ON_ONCE(kfi_copy_to(rx->into, rx->segs + 1, rx->left) != rx->left);
	rx->left = 0;
	rx->skip = 0;
	return kfp_rx_finish_message(conn);
}

static void kfp_rx_reply_abort(struct kfp_conn *conn, int err)
{
	kfp_rx_put_mr(conn);
}

const struct kfp_frame_row kfp_reply_frame = {
	.request = true,
	.region = true,
	.receive = kfp_rx_reply,
	.finish = kfp_rx_finish_reply,
	.abort = kfp_rx_reply_abort,
};

/*
 * Handle a request for a rendezvous with a receive, or for its data: call @granted when the receive
 * was found. @access: what tagged RMA does to the receive. No payload follows; a message object
 * represents the request until its end. Tagged RMA does not wait for a receive: without one it is
 * refused.
 */
int kfp_rx_request(struct kfp_conn *conn, void (*granted)(struct kfp_inmsg *in), u64 access)
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
	in = kfp_inmsg_new(conn, &conn->rx.f, 1, granted);
	if (!in)
		return -ENOMEM;
	ret = kfp_places_take(conn, conn->rx.f.len, &in->answer.places);
	if (ret) {
		kfp_inmsg_free(in);
		return ret;
	}
	kfp_rx_describe(conn, &in->rx, access);
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

static int kfp_rx_rts(struct kfp_conn *conn)
{
	return kfp_rx_request(conn, kfp_rdv_enqueue, KFI_WRITE);
}

const struct kfp_frame_row kfp_rts_frame = {
	.request = true,
	.receive = kfp_rx_rts,
};
