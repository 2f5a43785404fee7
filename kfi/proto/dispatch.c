// SPDX-License-Identifier: GPL-2.0
/*
 * dispatch.c - what a received frame means. Under the link's lock, with bottom halves off.
 *
 *   kfp_rx_dispatch()	header and segments are complete: select the destination of the payload
 *   kfp_rx_more()	the next segment of a write
 *   kfp_rx_finish()	the payload has arrived: completion, answer
 */
#include "peers.h"

/* ---- answers to the peer ---- */

struct kfp_answer *kfp_answer_get(struct kfp_conn *conn)
{
	struct kfp_answer *answer;

	spin_lock(&conn->lock);
	answer = list_first_entry_or_null(&conn->free_answers, struct kfp_answer, link);
	if (answer)
		list_del(&answer->link);
	spin_unlock(&conn->lock);
	if (answer)
		answer->spliced = false;
	return answer;
}

/* KFW_F_LAZY and KFW_F_FETCH are the same bit: only MSG and WRITE have the former. */
static bool kfp_may_be_lazy(const struct kfw_frame *f)
{
	return (f->type == KFW_MSG || f->type == KFW_WRITE) && f->flags & KFW_F_LAZY;
}

/*
 * Queue an ACK. The pool has a free answer, unless the peer has more requests outstanding than this
 * side announced, which violates the protocol.
 */
int kfp_rx_ack(struct kfp_conn *conn, u16 status)
{
	struct kfp_answer *answer = kfp_answer_get(conn);

	if (!answer)
		return -EPROTO;
	answer->kind = KFP_ANSWER_ACK;
	answer->status = status;
	answer->id = conn->rx.f.id;
	answer->gen = conn->rx.f.gen;
	spin_lock(&conn->lock);
	kfp_ack_queue(conn, answer, kfp_may_be_lazy(&conn->rx.f) && !status);
	spin_unlock(&conn->lock);
	return 0;
}

/* ---- messages ---- */

static u8 kfp_rx_cls(const struct kfw_frame *f)
{
	return f->flags & KFW_F_TAGGED ? KFP_CLS_TAG : KFP_CLS_MSG;
}

kfi_addr_t kfp_rx_src(struct kfp_conn *conn)
{
	struct kfi_ep *ep = &conn->ep->ep;

	if (!ep->av || !(ep->caps & (KFI_SOURCE | KFI_DIRECTED_RECV)))
		return KFI_ADDR_NOTAVAIL;
	return kfi_av_reverse(ep->av, conn->av_name);
}

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
		rx->flags |= KFI_INVALIDATE;
		rx->data = le64_to_cpu(conn->rx.segs[0].key);
	}
	rx->name = conn->av_name;
}

/*
 * Invalidate the region that the frame names. A sender that names a key which it may not use
 * violates the protocol. A region that is in use at this moment, or that its owner has ended first,
 * stays with its owner, and the completion of the receive does not report an invalidation.
 */
static int kfp_rx_invalidate(struct kfp_conn *conn)
{
	int ret;

	if (!(conn->rx.f.flags & KFW_F_INV))
		return 0;
	ret = kfi_mr_kill(&conn->ep->ep, le64_to_cpu(conn->rx.segs[0].key));
	conn->rx.invalidated = !ret;
	return ret == -EACCES ? -EPROTO : 0;
}

/*
 * Do what a frame does only once, although a frame that was blocked is dispatched again: charge its
 * credit, and invalidate the region that it names (&kfp_rx.counted). Return: 0 or -EPROTO.
 */
static int kfp_rx_once(struct kfp_conn *conn, u32 cost)
{
	bool ok = true;

	if (conn->rx.counted)
		return 0;
	spin_lock(&conn->lock);
	ok = kfi_credit_charge(&conn->credit[kfp_rx_cls(&conn->rx.f)], cost);
	spin_unlock(&conn->lock);
	conn->rx.counted = true;
	return ok ? kfp_rx_invalidate(conn) : -EPROTO;
}

static int kfp_rx_to_receive(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;

	rx->to = KFP_TO_RX;
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

	rx->to = KFP_TO_INMSG;
	rx->in = in;
	conn->link.left = rx->f.payload;
	rx->skip = 0;
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
	conn->rx.to = KFP_TO_NOWHERE;
	conn->link.left = 0;
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

/*
 * Handle an RTS or a TREAD. No payload follows; a message object represents the request until its
 * end. Tagged RMA does not wait for a receive: without one it is refused.
 */
static int kfp_rx_request(struct kfp_conn *conn)
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
	ret = kfp_places_take(conn, conn->rx.f.len, &in->answer.places);
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

/* ---- RMA ---- */

/*
 * Check all segments before the first byte is copied. Return: 0, perhaps with a status; -EPROTO.
 */
int kfp_rx_check_segments(struct kfp_conn *conn, u64 access)
{
	struct kfp_rx *rx = &conn->rx;
	struct iov_iter iter;
	struct kfi_mr *mr;
	unsigned int i;
	u64 len, total = 0;

	for (i = 0; i < rx->f.rma_count; i++) {
		len = le64_to_cpu(rx->segs[i].len);
		if (len > KFW_PAYLOAD_MAX)
			return -EPROTO;
		total += len;
		mr = kfi_mr_get(&conn->ep->ep, le64_to_cpu(rx->segs[i].key),
				le64_to_cpu(rx->segs[i].addr), len, access, &iter);
		if (IS_ERR(mr))
			rx->status = EACCES;
		else
			kfi_mr_put(mr);
	}
	return total == rx->f.len ? 0 : -EPROTO;
}

/*
 * Open the next segment of a write. The payload of a segment that can't be opened any more is
 * dropped, and the ACK reports it.
 */
static void kfp_rx_open_segment(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;
	const struct kfw_rma *seg = &rx->segs[rx->seg++];
	u64 len = le64_to_cpu(seg->len);

	conn->link.left = len;
	rx->key = le64_to_cpu(seg->key);
	conn->link.into = &rx->iter;
	rx->mr = kfi_mr_get(&conn->ep->ep, le64_to_cpu(seg->key), le64_to_cpu(seg->addr), len,
			    KFI_REMOTE_WRITE, &rx->iter);
	if (!IS_ERR(rx->mr))
		return;
	rx->mr = NULL;
	rx->status = rx->seg > 1 ? EREMOTEIO : EACCES;
}

/*
 * Handle a WRITE. If its payload is in the regions already, because of an RTW or of a lasting
 * grant, only the end of the write is left.
 */
int kfp_rx_write(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;
	int ret = 0;

	if (rx->f.flags & KFW_F_PLACED && !rx->landed)
		ret = kfp_rx_placed(conn);
	if (ret)
		return ret;
	if (rx->landed) {
		rx->to = KFP_TO_MR;
		rx->seg = rx->f.rma_count;
		return kfp_rx_commit(conn);
	}
	/* A single segment is checked when it is opened. */
	if (rx->f.rma_count > 1 || rx->f.flags & KFW_F_COMMIT)
		ret = kfp_rx_check_segments(conn, KFI_REMOTE_WRITE) ?: kfp_rx_commit(conn);
	else if (le64_to_cpu(rx->segs[0].len) != rx->f.len)
		ret = -EPROTO;
	if (ret)
		return ret;
	rx->to = KFP_TO_MR;
	rx->seg = 0;
	rx->skip = 0;
	if (!rx->status)
		kfp_rx_open_segment(conn);
	if (rx->status) {
		conn->link.left = 0;
		rx->skip = rx->f.payload;
		rx->seg = rx->f.rma_count;
	}
	return 0;
}

void kfp_segs_free(struct kfp_conn *conn, struct kfp_answer *answer)
{
	kfree(answer->segs);
	answer->segs = NULL;
	conn->read_segs -= answer->nsegs;
}

/* Several segments are copied, and stay until their data has left. kfp_conn_bytes() pays for them. */
static int kfp_rx_read(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;
	u32 copied = rx->f.rma_count > 1 ? rx->f.rma_count : 0;
	struct kfp_places *places;
	struct kfp_answer *answer;
	struct kfw_rma *segs = NULL;
	int ret = kfp_rx_check_segments(conn, KFI_REMOTE_READ);

	if (!ret && copied > KFW_READ_SEGS - conn->read_segs)
		ret = -EPROTO;
	if (!ret)
		ret = kfp_places_take(conn, rx->f.len, &places);
	if (ret)
		return ret;
	if (copied) {
		segs = kmemdup(rx->segs, copied * sizeof(*segs), GFP_ATOMIC | __GFP_NOWARN);
		if (!segs) {
			kfp_conceal(conn, &places);
			return -ENOMEM;
		}
	}
	answer = kfp_answer_get(conn);
	if (!answer) {
		kfp_conceal(conn, &places);
		kfree(segs);
		return -EPROTO;
	}
	conn->read_segs += copied;
	answer->places = places;
	answer->placed = 0;
	answer->kind = KFP_ANSWER_READ;
	answer->id = rx->f.id;
	answer->gen = rx->f.gen;
	answer->status = rx->status;
	answer->seg = 0;
	answer->nsegs = rx->f.rma_count;
	answer->seg0 = rx->segs[0];
	answer->segs = segs;
	spin_lock_bh(&conn->lock);
	kfp_answer_queue(conn, answer);
	spin_unlock_bh(&conn->lock);
	return 0;
}

/* Handle data for a read or a fetching operation of this side. */
static int kfp_rx_read_data(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;
	struct kfi_oper *op = kfp_answered_op(conn, &rx->f);
	bool reads;

	if (!op || kfp_op(op)->state != KFP_OP_UNANSWERED ||
	    rx->f.len > op->len - kfp_op(op)->got)
		return -EPROTO;
	reads = op->code == KFI_OPC_READ || op->code == KFI_OPC_TREAD;
	if (rx->f.flags & KFW_F_PLACED) {
		if (!reads || !kfp_op(op)->places)
			return -EPROTO;
		iov_iter_advance(&op->iter, rx->f.len);	/* frames may carry the rest */
		kfi_stat_add(&conn->ep->ep, placed, rx->f.len);
	} else if (reads) {
		conn->link.into = &op->iter;
	} else if (kfp_op_fetches(op) && rx->f.payload == op->len) {
		rx->iter = op->atomic->result;
		conn->link.into = &rx->iter;
	} else {
		return -EPROTO;
	}
	rx->to = KFP_TO_OP;
	rx->op = op;
	conn->link.left = rx->f.payload;
	rx->skip = 0;
	return 0;
}

static int kfp_rx_rendezvous(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;
	bool placed = rx->f.flags & KFW_F_PLACED;
	struct kfp_inmsg *in = NULL;

	spin_lock_bh(&conn->lock);
	if (rx->f.slot < KFP_RDV)
		in = conn->rdv[rx->f.slot];
	/*
	 * A DATA frame before its CTS has been sent is invalid: the answer is still queued, and is
	 * needed again for the ACK.
	 */
	if (in && (in->id != rx->f.id || in->gen != rx->f.gen || in->state != KFP_IN_GRANTED ||
		   in->rx.len != rx->f.len || !list_empty(&in->answer.link) ||
		   (placed && !(in->places && in->places->pieces))))
		in = NULL;
	if (in)
		conn->rdv[rx->f.slot] = NULL;
	spin_unlock_bh(&conn->lock);
	if (!in)
		return -EPROTO;
	if (in->rtw_answer)
		return kfp_rx_rtw_data(conn, in);
	kfp_conceal(conn, &in->places);
	rx->to = KFP_TO_RDV;
	rx->in = in;
	if (placed) {
		kfi_stat_add(&conn->ep->ep, placed, rx->f.len);
		return 0;
	}
	conn->link.into = &in->rx.iter;
	conn->link.left = in->rx.room;
	rx->skip = rx->f.payload - in->rx.room;
	return 0;
}

/* ---- frames ---- */

static bool kfp_is_request(u8 type)
{
	return type == KFW_MSG || type == KFW_RTS || type == KFW_TREAD || type == KFW_WRITE ||
	       type == KFW_READ || type == KFW_ATOMIC || type == KFW_FLUSH || type == KFW_RTW;
}

/*
 * Handle a header. Return: 0; -EAGAIN or -ENOMEM if the frame can't be handled now and has to be
 * dispatched again. What was done is not repeated then: kfp_rx_once(), and for a WRITE whose
 * payload has landed (&kfp_rx.landed) the look-up of its region. The DATA of an RTW is a WRITE by
 * then.
 * Other negative values end the connection.
 */
int kfp_rx_dispatch(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;

	conn->link.left = 0;
	rx->skip = 0;
	rx->to = KFP_TO_NOWHERE;
	if (unlikely(kfi_peer_tx_ctx(&conn->ep->ep)) && kfp_is_request(rx->f.type))
		return -EPROTO;		/* a transmit context accepts answers only */
	switch (rx->f.type) {
	case KFW_MSG:
		return kfp_rx_message(conn);
	case KFW_RTS:
	case KFW_TREAD:
		return kfp_rx_request(conn);
	case KFW_CTS:
		return kfp_got_cts(conn, &rx->f);
	case KFW_DATA:
		return kfp_rx_rendezvous(conn);
	case KFW_WRITE:
		return kfp_rx_write(conn);
	case KFW_READ:
		return kfp_rx_read(conn);
	case KFW_READ_DATA:
		return kfp_rx_read_data(conn);
	case KFW_ACK:
		return kfp_got_ack(conn, &rx->f);
	case KFW_ATOMIC:
		return kfp_rx_atomic(conn);
	case KFW_FLUSH:
		return kfp_rx_flush(conn);
	case KFW_RTW:
		return kfp_rx_rtw(conn);
	case KFW_GRANT:
		return kfp_rx_grant(conn);
	case KFW_RECALL:
		return kfp_rx_recall(conn);
	case KFW_RECALLED:
		return kfp_rx_recalled(conn);
	case KFW_BYE:
		return -ESHUTDOWN;
	default:
		return 0;
	}
}

void kfp_rx_put_mr(struct kfp_conn *conn)
{
	if (conn->rx.mr)
		kfi_mr_put(conn->rx.mr);
	conn->rx.mr = NULL;
}

static int kfp_rx_finish_write(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;
	u64 flags = KFI_REMOTE_WRITE | (rx->f.flags & KFW_F_CQ_DATA ? KFI_REMOTE_CQ_DATA : 0);
	int ret = 0;

	if (!rx->status)
		ret = kfi_remote_rma(&conn->ep->ep, rx->mr, rx->key, flags, rx->f.len, rx->f.data,
				     kfp_rx_src(conn));
	if (ret)
		return ret;
	kfp_rx_put_mr(conn);
	return kfp_rx_end(conn);
}

int kfp_rx_finish(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;
	bool late_ack;

	switch (rx->to) {
	case KFP_TO_RX:
		rx->to = KFP_TO_NOWHERE;		/* kfp_rx_abort() must not end it again */
		__kfi_rx_complete(&rx->rx, 0);
		break;
	case KFP_TO_INMSG:
		late_ack = rx->in->late_ack;
		kfp_inmsg_arrived(rx->in);	/* it may free the message */
		if (unlikely(late_ack))
			return 0;	/* the ACK follows when the message is received */
		break;
	case KFP_TO_RDV:
		kfp_inmsg_done(rx->in);
		return 0;
	case KFP_TO_MR:
		return kfp_rx_finish_write(conn);
	case KFP_TO_ATOMIC:
	case KFP_TO_EVENT:
		return kfp_rx_finish_atomic(conn);
	case KFP_TO_OP:
		kfp_op(rx->op)->got += rx->f.len;
		if (kfp_op_fetches(rx->op))
			kfp_rx_fetched(rx->op);
		return 0;
	}
	return rx->f.flags & KFW_F_ACK ? kfp_rx_ack(conn, 0) : 0;
}

/* Open the next segment of a write, if there is one. */
bool kfp_rx_more(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;

	if (rx->to != KFP_TO_MR || rx->seg >= rx->f.rma_count)
		return false;
	kfp_rx_put_mr(conn);
	kfp_rx_open_segment(conn);
	return true;
}
