// SPDX-License-Identifier: GPL-2.0
/*
 * tread.c - tagged reads: the data comes out of the receive that waits for the tag.
 *
 *	initiator			target
 *	  TREAD			--->			kfp_send_tread(), kfp_rx_tread()
 *				<---	READ_DATA	kfp_tread_matched(), kfp_send_tread_data()
 *				<---	ACK
 *
 * The request is a struct kfp_inmsg (message.c). It holds its receive until the link has read the
 * data for the last time.
 */
#include "conn.h"

/* ---- initiator ---- */

static u32 kfp_tread_cost(const struct kfp_conn *conn, const struct kfi_oper *op)
{
	return 1;
}

static bool kfp_send_tread(struct kfp_conn *conn, struct kfi_oper *op)
{
	if (!kfi_credit_take(&conn->tx.credit[KFP_CLS_TAG], 1))
		return false;
	list_del(&op->link);
	kfp_send_read_request(conn, op, KFW_TREAD, KFW_F_TAGGED | KFW_F_RMA);
	return true;
}

static int kfp_tread_acked(struct kfp_conn *conn, struct kfi_oper *op)
{
	return kfp_op(op)->got == op->len ? 0 : -KFI_ETRUNC;
}

const struct kfp_op_row kfp_tread_op = {
	.cls = KFP_CLS_TAG,
	.returns = true,
	.cost = kfp_tread_cost,
	.send = kfp_send_tread,
	.data = kfp_read_data,
	.acked = kfp_tread_acked,
};

/* ---- target ---- */

static void kfp_tread_sent(struct kfp_conn *conn)
{
	struct kfp_inmsg *in = container_of(conn->tx.answer, struct kfp_inmsg, answer);

	in->reading.end = conn->link.posted;
	kfp_returned_sent(conn);
}

static void kfp_send_tread_data(struct kfp_conn *conn, struct kfp_answer *answer)
{
	struct kfp_inmsg *in = container_of(answer, struct kfp_inmsg, answer);

	conn->tx.yields = answer->seg;
	if (answer->seg && !answer->left) {
		kfp_send_ack(conn, answer);
		return;
	}
	answer->seg = 1;
	in->spliced |= kfp_send_returned(conn, answer);
	conn->tx.payload.sent = kfp_tread_sent;
}

/* The link does not read the receive any more. */
static void kfp_tread_end(struct kfp_conn *conn, struct kfp_reading *reading)
{
	struct kfp_inmsg *in = container_of(reading, struct kfp_inmsg, reading);

	atomic_dec(&conn->messages.treads);
	conn->messages.since = 0;
	kfi_rx_complete(&in->rx, 0);
	kfp_inmsg_free(in);
}

static void kfp_tread_done(struct kfp_conn *conn, struct kfp_answer *answer)
{
	struct kfp_inmsg *in = container_of(answer, struct kfp_inmsg, answer);

	in->reading.read = kfp_tread_end;
	if (in->spliced)
		kfp_reading_wait(conn, &in->reading);
	else
		kfp_tread_end(conn, &in->reading);
}

static const struct kfp_answer_row kfp_tread_row = {
	.returns = true,
	.send = kfp_send_tread_data,
	.done = kfp_tread_done,
};

/* The TREAD has found its receive: queue the data. Called under kfp_conn.lock. */
static void kfp_tread_matched(struct kfp_inmsg *in)
{
	struct kfp_answer *answer = &in->answer;

	in->state = KFP_IN_GRANTED;
	answer->row = &kfp_tread_row;
	answer->len = in->rx.room;
	answer->left = answer->len;
	answer->iter = in->rx.iter;
	answer->iter.data_source = ITER_SOURCE;
	atomic_inc(&in->conn->messages.treads);
	kfp_credit_return(in->conn, in->cls, in->cost);
	kfp_answer_queue(in->conn, answer);
}

static int kfp_rx_tread(struct kfp_conn *conn)
{
	return kfp_rx_request(conn, kfp_tread_matched, KFI_READ);
}

const struct kfp_frame_row kfp_tread_frame = {
	.request = true,
	.receive = kfp_rx_tread,
};

/*
 * Does the peer take the data of a TREAD too slowly? A TREAD holds a receive of this side, which
 * can't be canceled. So the rules are those of a payload that arrives, see kfp_rx_late(). The end
 * of each TREAD begins the wait again.
 */
static bool kfp_treads_late(struct kfp_conn *conn, unsigned long extra, unsigned long held)
{
	struct kfp_messages *messages = &conn->messages;
	u64 posted = conn->link.posted;
	unsigned long taken = kfp_transfer_time(posted - messages->watched) + held;

	messages->watched = posted;
	if (!atomic_read(&messages->treads)) {
		messages->since = 0;
		return false;
	}
	messages->since = messages->since ? kfp_extend(messages->since, jiffies, taken) : jiffies | 1;
	return time_after(jiffies, messages->since + kfp_peer_timeout(conn));
}

const struct kfp_protocol kfp_tread_protocol = {
	.watch = kfp_treads_late,
};
