// SPDX-License-Identifier: GPL-2.0
/*
 * rx.c - the receive path, in the order in which a message takes it.
 *
 *   ks_data_ready()	softirq: TCP has bytes, we hold the socket lock (stream.c)
 *   ks_rx_actor()	each buffer of the stream goes through a small state machine (stream.c)
 *   ks_rx_dispatch()	a header is complete: what is it, where does its payload belong?
 *   ks_rx_place()	payload is copied once, from the socket buffer to its final place (stream.c)
 *   ks_rx_finish()	completion, answer
 *
 * What can't go on (completion queue full, no memory) blocks this stream and nothing else; rx_work tries again. Whatever
 * a peer does against the protocol ends its connection through ks_conn_fail().
 */
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <net/tcp.h>
#include "sock.h"

static void ks_rx_next(struct ks_conn *conn)
{
	struct ks_rx *rx = &conn->rx;

	rx->at = KS_RX_HDR;
	rx->have = 0;
	rx->counted = false;
	rx->inv_over = false;
	rx->finishing = false;
	rx->status = 0;
	rx->in = NULL;
	rx->op = NULL;
	rx->commit = NULL;
}

/* ---- answers to the peer ---- */

struct ks_answer *ks_answer_get(struct ks_conn *conn)
{
	struct ks_answer *answer;

	spin_lock(&conn->lock);
	answer = list_first_entry_or_null(&conn->free_answers, struct ks_answer, link);
	if (answer)
		list_del(&answer->link);
	spin_unlock(&conn->lock);
	return answer;
}

/* In frames of other types the flag means something else. */
static bool ks_may_be_lazy(const struct skw_frame *f)
{
	return (f->type == SKW_MSG || f->type == SKW_WRITE) && f->flags & SKW_F_LAZY;
}

/* The peer may have no more unanswered requests than we said: then there is always an answer to be had. */
int ks_rx_ack(struct ks_conn *conn, u16 status)
{
	struct ks_answer *answer = ks_answer_get(conn);

	if (!answer)
		return -EPROTO;
	answer->kind = KS_ANSWER_ACK;
	answer->status = status;
	answer->id = conn->rx.f.id;
	answer->gen = conn->rx.f.gen;
	spin_lock(&conn->lock);
	ks_verdict_queue(conn, answer, ks_may_be_lazy(&conn->rx.f) && !status);
	spin_unlock(&conn->lock);
	return 0;
}

/* ---- messages ---- */

static u8 ks_rx_cls(const struct skw_frame *f)
{
	return f->flags & SKW_F_TAGGED ? KS_CLS_TAG : KS_CLS_MSG;
}

kfi_addr_t ks_rx_src(struct ks_conn *conn)
{
	struct kfi_ep *ep = &conn->sep->ep;

	if (!ep->av || !(ep->caps & (KFI_SOURCE | KFI_DIRECTED_RECV)))
		return KFI_ADDR_NOTAVAIL;
	return kfi_av_reverse(ep->av, conn->av_name);
}

static u64 ks_rx_flags(const struct skw_frame *f)
{
	u64 flags = f->flags & SKW_F_TAGGED ? KFI_TAGGED : KFI_MSG;

	if (f->flags & SKW_F_CQ_DATA)
		flags |= KFI_REMOTE_CQ_DATA;
	if (f->flags & SKW_F_RMA)
		flags |= KFI_RMA | (f->type == SKW_TREAD ? KFI_READ : KFI_WRITE);
	return flags;
}

static void ks_rx_describe(struct ks_conn *conn, struct kfi_rx *rx)
{
	const struct skw_frame *f = &conn->rx.f;

	rx->len = f->len;
	rx->tag = f->tag;
	rx->data = f->data;
	rx->flags = ks_rx_flags(f);
	if (conn->rx.inv_over) {
		rx->flags |= KFI_INVALIDATE;
		rx->data = le64_to_cpu(conn->rx.segs[0].key);
	}
	rx->name = conn->av_name;
}

/*
 * With a key that is none of its business the sender does not know what it does. A region that somebody uses at this moment, or
 * whose owner was faster, is left to him, and the receive does not say that it is over.
 */
static int ks_rx_invalidate(struct ks_conn *conn)
{
	int ret;

	if (!(conn->rx.f.flags & SKW_F_INV))
		return 0;
	ret = kfi_mr_kill(&conn->sep->ep, le64_to_cpu(conn->rx.segs[0].key));
	conn->rx.inv_over = !ret;
	return ret == -EACCES ? -EPROTO : 0;
}

/* Once per frame, also when it is dispatched again after having been blocked. */
static int ks_rx_charge(struct ks_conn *conn, u32 cost)
{
	bool ok = true;

	if (conn->rx.counted)
		return 0;
	spin_lock(&conn->lock);
	ok = kfi_credit_charge(&conn->credit[ks_rx_cls(&conn->rx.f)], cost);
	spin_unlock(&conn->lock);
	conn->rx.counted = true;
	return ok ? ks_rx_invalidate(conn) : -EPROTO;
}

static int ks_rx_to_receive(struct ks_conn *conn)
{
	struct ks_rx *rx = &conn->rx;

	rx->to = KS_TO_RX;
	rx->into = &rx->rx.iter;
	rx->left = rx->rx.room;
	rx->skip = rx->f.payload - rx->rx.room;
	__ks_credit_free(conn, ks_rx_cls(&rx->f), skw_cost(rx->f.len));
	return 0;
}

static int ks_rx_to_inmsg(struct ks_conn *conn, struct ks_inmsg *in)
{
	struct ks_rx *rx = &conn->rx;
	struct kvec vec = { in->buf, rx->f.payload };

	kfi_stat_inc(&conn->sep->ep, unexpected);
	rx->to = KS_TO_INMSG;
	rx->in = in;
	rx->left = rx->f.payload;
	rx->skip = 0;
	/* One segment, used up before this frame: the iterator keeps a copy of the vector in the message object. */
	in->vec = vec;
	iov_iter_kvec(&rx->iter, ITER_DEST, &in->vec, 1, vec.iov_len);
	rx->into = &rx->iter;
	return 0;
}

static int ks_rx_discard(struct ks_conn *conn)
{
	conn->rx.to = KS_TO_NOWHERE;
	conn->rx.left = 0;
	conn->rx.skip = conn->rx.f.payload;
	return 0;
}

static int ks_rx_unexpected(struct ks_conn *conn)
{
	struct ks_inmsg *in = ks_inmsg_new(conn, &conn->rx.f, skw_cost(conn->rx.f.len));

	if (!in)
		return -ENOMEM;
	ks_rx_describe(conn, &in->rx);
	switch (kfi_rx_arrive(&conn->sep->ep, &in->rx, true)) {
	case KFI_RX_QUEUED:
		return ks_rx_to_inmsg(conn, in);
	case KFI_RX_MATCHED:			/* posted in the meantime */
		conn->rx.rx = in->rx;
		ks_inmsg_free(in);
		return ks_rx_to_receive(conn);
	case KFI_RX_FULL:
		ks_inmsg_free(in);
		return -EAGAIN;
	default:
		ks_inmsg_free(in);
		return ks_rx_discard(conn);
	}
}

static int ks_rx_message(struct ks_conn *conn)
{
	int ret = ks_rx_charge(conn, skw_cost(conn->rx.f.len));

	if (ret)
		return ret;
	ks_rx_describe(conn, &conn->rx.rx);
	switch (kfi_rx_arrive(&conn->sep->ep, &conn->rx.rx, false)) {
	case KFI_RX_MATCHED:
		return ks_rx_to_receive(conn);
	case KFI_RX_NONE:
		return ks_rx_unexpected(conn);
	case KFI_RX_FULL:
		return -EAGAIN;
	default:
		return ks_rx_discard(conn);
	}
}

/* RTS and TREAD: no payload now; a message object stands for it until the end. Tagged RMA waits for no receive. */
static int ks_rx_request(struct ks_conn *conn)
{
	bool rma = conn->rx.f.flags & SKW_F_RMA;
	struct ks_inmsg *in;
	int ret;

	/* Who has not asked for tagged RMA does not have his receives read by it. */
	if (rma && !(conn->sep->ep.caps & KFI_TAGGED_RMA))
		return -EPROTO;
	ret = ks_rx_charge(conn, 1);
	if (ret)
		return ret;
	in = ks_inmsg_new(conn, &conn->rx.f, 1);
	if (!in)
		return -ENOMEM;
	ks_rx_describe(conn, &in->rx);
	switch (kfi_rx_arrive(&conn->sep->ep, &in->rx, !rma)) {
	case KFI_RX_QUEUED:
		kfi_stat_inc(&conn->sep->ep, unexpected);
		return 0;
	case KFI_RX_NONE:
		ks_inmsg_refuse(in, EACCES);
		return 0;
	case KFI_RX_MATCHED:
		ks_rx_matched(&conn->sep->ep, &in->rx);
		return 0;
	case KFI_RX_FULL:
		ks_inmsg_free(in);
		return -EAGAIN;
	default:
		ks_inmsg_free(in);
		return 0;
	}
}

/* ---- RMA ---- */

/* Every segment is checked before the first byte moves. */
static int ks_rx_check_segments(struct ks_conn *conn, u64 access, u64 *total)
{
	struct ks_rx *rx = &conn->rx;
	struct iov_iter iter;
	struct kfi_mr *mr;
	unsigned int i;
	u64 len;

	*total = 0;
	for (i = 0; i < rx->f.rma_count; i++) {
		len = le64_to_cpu(rx->segs[i].len);
		if (len > SKW_PAYLOAD_MAX)
			return -EPROTO;
		*total += len;
		mr = kfi_mr_get(&conn->sep->ep, le64_to_cpu(rx->segs[i].key), le64_to_cpu(rx->segs[i].addr), len,
				access, &iter);
		if (IS_ERR(mr))
			rx->status = EACCES;
		else
			kfi_mr_put(mr);
	}
	return *total == rx->f.len ? 0 : -EPROTO;
}

/* The next segment of a write; what can't be opened any more is thrown away and makes the verdict. */
static void ks_rx_open_segment(struct ks_conn *conn)
{
	struct ks_rx *rx = &conn->rx;
	const struct skw_rma *seg = &rx->segs[rx->seg++];
	u64 len = le64_to_cpu(seg->len);

	rx->left = len;
	rx->key = le64_to_cpu(seg->key);
	rx->into = &rx->iter;
	rx->mr = kfi_mr_get(&conn->sep->ep, le64_to_cpu(seg->key), le64_to_cpu(seg->addr), len, KFI_REMOTE_WRITE,
			    &rx->iter);
	if (!IS_ERR(rx->mr))
		return;
	rx->mr = NULL;
	rx->status = rx->seg > 1 ? EREMOTEIO : EACCES;
}

static int ks_rx_write(struct ks_conn *conn)
{
	struct ks_rx *rx = &conn->rx;
	u64 total;
	int ret = ks_rx_check_segments(conn, KFI_REMOTE_WRITE, &total) ?: ks_rx_commit(conn);

	if (ret)
		return ret;
	rx->to = KS_TO_MR;
	rx->seg = 0;
	rx->skip = 0;
	if (rx->status) {
		rx->left = 0;
		rx->skip = rx->f.payload;
		rx->seg = rx->f.rma_count;
		return 0;
	}
	ks_rx_open_segment(conn);
	return 0;
}

static int ks_rx_read(struct ks_conn *conn)
{
	struct ks_rx *rx = &conn->rx;
	struct ks_answer *answer;
	struct skw_rma *segs = NULL;
	u64 total;
	int ret = ks_rx_check_segments(conn, KFI_REMOTE_READ, &total);

	if (ret)
		return ret;
	if (rx->f.rma_count > 1) {
		segs = kmemdup(rx->segs, rx->f.rma_count * sizeof(*segs), GFP_ATOMIC | __GFP_NOWARN);
		if (!segs)
			return -ENOMEM;
	}
	answer = ks_answer_get(conn);
	if (!answer) {
		kfree(segs);
		return -EPROTO;
	}
	answer->kind = KS_ANSWER_READ;
	answer->id = rx->f.id;
	answer->gen = rx->f.gen;
	answer->status = rx->status;
	answer->seg = 0;
	answer->nsegs = rx->f.rma_count;
	answer->seg0 = rx->segs[0];
	answer->segs = segs;
	spin_lock_bh(&conn->lock);
	ks_answer_queue(conn, answer);
	spin_unlock_bh(&conn->lock);
	return 0;
}

/* Data that we asked for. */
static int ks_rx_read_data(struct ks_conn *conn)
{
	struct ks_rx *rx = &conn->rx;
	struct kfi_oper *op = ks_answered_op(conn, &rx->f);

	if (!op || ks_op(op)->state != KS_OP_UNANSWERED || rx->f.payload > op->len - ks_op(op)->got)
		return -EPROTO;
	if (op->code == KFI_OPC_READ || op->code == KFI_OPC_TREAD) {
		rx->into = &op->iter;
	} else if (ks_op_fetches(op) && rx->f.payload == op->len) {
		rx->iter = op->atomic->result;
		rx->into = &rx->iter;
	} else {
		return -EPROTO;
	}
	rx->to = KS_TO_OP;
	rx->op = op;
	rx->left = rx->f.payload;
	rx->skip = 0;
	return 0;
}

static int ks_rx_rendezvous(struct ks_conn *conn)
{
	struct ks_rx *rx = &conn->rx;
	struct ks_inmsg *in = NULL;

	spin_lock_bh(&conn->lock);
	if (rx->f.slot < KS_RDV)
		in = conn->rdv[rx->f.slot];
	/* Not before its CTS has left: the answer is still queued, and will be needed again for the verdict. */
	if (in && (in->id != rx->f.id || in->gen != rx->f.gen || in->state != KS_IN_GRANTED ||
		   in->rx.len != rx->f.payload || !list_empty(&in->answer.link)))
		in = NULL;
	if (in)
		conn->rdv[rx->f.slot] = NULL;
	spin_unlock_bh(&conn->lock);
	if (!in)
		return -EPROTO;
	rx->to = KS_TO_RDV;
	rx->in = in;
	rx->into = &in->rx.iter;
	rx->left = in->rx.room;
	rx->skip = rx->f.payload - in->rx.room;
	return 0;
}

/* ---- the state machine ---- */

static int ks_rx_credit(struct ks_conn *conn)
{
	const struct skw_frame *f = &conn->rx.f;
	struct ks_tx *tx = &conn->tx;

	if (kfi_credit_update(&tx->credit[KS_CLS_MSG], f->credit_msg, tx->window[KS_CLS_MSG]) < 0 ||
	    kfi_credit_update(&tx->credit[KS_CLS_TAG], f->credit_tag, tx->window[KS_CLS_TAG]) < 0)
		return -EPROTO;
	return 0;
}

static bool ks_rx_asks(u8 type)
{
	return type == SKW_MSG || type == SKW_RTS || type == SKW_TREAD || type == SKW_WRITE || type == SKW_READ ||
	       type == SKW_ATOMIC || type == SKW_FLUSH;
}

/* Return: 0; -EAGAIN, -ENOMEM: try again later, nothing has changed; others end the connection. */
static int ks_rx_dispatch(struct ks_conn *conn)
{
	struct ks_rx *rx = &conn->rx;

	rx->left = 0;
	rx->skip = 0;
	rx->to = KS_TO_NOWHERE;
	if (unlikely(kfi_peer_tx_ctx(&conn->sep->ep)) && ks_rx_asks(rx->f.type))
		return -EPROTO;		/* a transmit context is answered, and asked for nothing */
	switch (rx->f.type) {
	case SKW_MSG:
		return ks_rx_message(conn);
	case SKW_RTS:
	case SKW_TREAD:
		return ks_rx_request(conn);
	case SKW_CTS:
		return ks_got_cts(conn, &rx->f);
	case SKW_DATA:
		return ks_rx_rendezvous(conn);
	case SKW_WRITE:
		return ks_rx_write(conn);
	case SKW_READ:
		return ks_rx_read(conn);
	case SKW_READ_DATA:
		return ks_rx_read_data(conn);
	case SKW_ACK:
		return ks_got_ack(conn, &rx->f);
	case SKW_ATOMIC:
		return ks_rx_atomic(conn);
	case SKW_FLUSH:
		return ks_rx_flush(conn);
	case SKW_BYE:
		return -ESHUTDOWN;
	default:
		return 0;
	}
}

void ks_rx_wrote(struct ks_conn *conn)
{
	if (conn->rx.mr)
		kfi_mr_put(conn->rx.mr);
	conn->rx.mr = NULL;
}

static int ks_rx_finish_write(struct ks_conn *conn)
{
	struct ks_rx *rx = &conn->rx;
	u64 flags = KFI_REMOTE_WRITE | (rx->f.flags & SKW_F_CQ_DATA ? KFI_REMOTE_CQ_DATA : 0);
	int ret = 0;

	if (!rx->status)
		ret = kfi_remote_rma(&conn->sep->ep, rx->mr, rx->key, flags, rx->f.len, rx->f.data, ks_rx_src(conn));
	if (ret)
		return ret;
	ks_rx_wrote(conn);
	return ks_rx_verdict(conn);
}

static int ks_rx_finish(struct ks_conn *conn)
{
	struct ks_rx *rx = &conn->rx;

	switch (rx->to) {
	case KS_TO_RX:
		rx->to = KS_TO_NOWHERE;		/* it has ended, whatever becomes of the answer: see ks_rx_abort() */
		kfi_rx_complete(&rx->rx, 0);
		break;
	case KS_TO_INMSG:
		ks_inmsg_arrived(rx->in);
		break;
	case KS_TO_RDV:
		ks_inmsg_done(rx->in);
		return 0;
	case KS_TO_MR:
		return ks_rx_finish_write(conn);
	case KS_TO_ATOMIC:
	case KS_TO_TELL:
		return ks_rx_finish_atomic(conn);
	case KS_TO_OP:
		ks_op(rx->op)->got += rx->f.payload;
		if (ks_op_fetches(rx->op))
			ks_rx_fetched(rx->op);
		return 0;
	}
	return rx->f.flags & SKW_F_ACK ? ks_rx_ack(conn, 0) : 0;
}

/* More segments of a write to fill? */
static bool ks_rx_more(struct ks_conn *conn)
{
	struct ks_rx *rx = &conn->rx;

	if (rx->to != KS_TO_MR || rx->seg >= rx->f.rma_count)
		return false;
	ks_rx_wrote(conn);
	ks_rx_open_segment(conn);
	return true;
}

static void ks_rx_block(struct ks_conn *conn, int why)
{
	struct ks_rx *rx = &conn->rx;

	rx->at = KS_RX_BLOCKED;
	rx->blocked = jiffies;
	if (why == -EAGAIN && conn->sep->ep.rx_cq && kfi_cq_wait_space(conn->sep->ep.rx_cq, &rx->space))
		return;
	ks_conn_queue(conn, &conn->rx_work, why == -EAGAIN ? 0 : 1);
}

static void ks_rx_error(struct ks_conn *conn, int err)
{
	conn->rx.at = KS_RX_BLOCKED;
	ks_conn_fail(conn, err);
}

void ks_rx_payload_done(struct ks_conn *conn)
{
	struct ks_rx *rx = &conn->rx;
	int ret;

	do {
		if (rx->left) {
			rx->at = KS_RX_PAYLOAD;
			return;
		}
	} while (ks_rx_more(conn));
	if (rx->skip) {
		rx->at = KS_RX_SKIP;
		return;
	}
	rx->finishing = true;
	ret = ks_rx_finish(conn);
	if (!ret)
		ks_rx_next(conn);
	else if (ret == -EAGAIN)
		ks_rx_block(conn, ret);
	else
		ks_rx_error(conn, ret);
}

/* Header and segments are here; also called again after having been blocked. */
void ks_rx_proceed(struct ks_conn *conn)
{
	struct ks_rx *rx = &conn->rx;
	int ret;

	if (rx->finishing) {
		ks_rx_payload_done(conn);
		return;
	}
	ret = ks_rx_dispatch(conn);
	rx->since = jiffies;
	if (!ret)
		ks_rx_payload_done(conn);
	else if (ret == -EAGAIN || ret == -ENOMEM)
		ks_rx_block(conn, ret);
	else
		ks_rx_error(conn, ret);
}

void ks_rx_header(struct ks_conn *conn, const struct skw_hdr *hdr)
{
	struct ks_rx *rx = &conn->rx;

	if (skw_decode(hdr, ks_eager_size, &rx->f) || ks_rx_credit(conn)) {
		ks_rx_error(conn, -EPROTO);
		return;
	}
	rx->have = 0;
	if (rx->f.rma_count)
		rx->at = KS_RX_SEGS;
	else
		ks_rx_proceed(conn);
}

/*
 * Has the peer stopped in the middle of a frame, does its payload come too slowly, or has the peer
 * left a grant unused? A payload holds its receive, and the messages behind it hold theirs, so one
 * byte now and then is not enough: the bytes since the last call earn the peer a second for each
 * KS_RATE_MIN. What we can't read is not late. Socket lock held.
 */
bool ks_rx_late(struct ks_conn *conn)
{
	struct ks_rx *rx = &conn->rx;
	unsigned long patience = msecs_to_jiffies(ks_user_timeout_ms);
	unsigned long earned = min_t(u64, div_u64((rx->bytes - rx->watched) * HZ, KS_RATE_MIN), LONG_MAX);
	bool payload = rx->at == KS_RX_PAYLOAD || rx->at == KS_RX_SKIP;
	bool late = ks_grants_late(conn, earned);

	rx->watched = rx->bytes;
	rx->since = ks_paced(rx->since, earned);
	if (rx->at == KS_RX_BLOCKED)
		return false;
	if ((rx->at != KS_RX_HDR || rx->have) && time_after(jiffies, rx->heard + patience))
		return true;
	return late || (payload && time_after(jiffies, rx->since + patience));
}

/*
 * The connection is down, its socket closed: the frame that was in the middle of arriving will
 * not be complete. If that frame belongs to a message object, ks_inmsgs_collect() has it.
 */
void ks_rx_abort(struct ks_conn *conn, int err)
{
	struct ks_rx *rx = &conn->rx;

	if (rx->at == KS_RX_HDR || rx->at == KS_RX_SEGS)
		return;
	if (rx->to == KS_TO_RX && (rx->left || rx->skip || rx->finishing))
		kfi_rx_abort(&rx->rx, err);
	if (rx->to == KS_TO_MR)
		ks_rx_wrote(conn);
	if (rx->to == KS_TO_ATOMIC || rx->to == KS_TO_TELL)
		ks_rx_atomic_drop(conn);
	rx->to = KS_TO_NOWHERE;
}
