// SPDX-License-Identifier: GPL-2.0
/*
 * arbiter.c - what a connection sends next.
 *
 * In this order: urgent frames; answers; the payload of granted operations; operations that have waited
 * for credit; new operations, in the order of their posts; credit and the BYE. An operation that takes
 * no credit never waits behind a message without credit. Payload is sent in parts (kfw_part()),
 * and takes turns with the others after each part: no frame waits for all of a long payload,
 * except behind a write that was posted before.
 *
 * All functions are called under the link's lock, or after the end of the link.
 */
#include "conn.h"

/* Move the operations that were posted since the last call to the queue. */
void kfp_tx_collect(struct kfp_conn *conn)
{
	struct llist_node *posted;
	struct kfi_oper *op, *next;

	if (llist_empty(&conn->posted))	/* the usual case; saves an xchg */
		return;
	posted = llist_reverse_order(llist_del_all(&conn->posted));
	llist_for_each_entry_safe(op, next, posted, lnode)
		list_add_tail(&op->link, &conn->tx.queue);
}

/* ---- operations ---- */

static bool kfp_send_op(struct kfp_conn *conn, struct kfi_oper *op)
{
	return kfp_op_row(op)->send(conn, op);
}

/* Send the next operation. Return false if none can be sent. */
static bool kfp_send_next_op(struct kfp_conn *conn)
{
	struct kfp_tx *tx = &conn->tx;
	const struct kfp_op_row *row;
	struct kfi_oper *op, *next;
	int cls;

	for (cls = 0; cls < KFP_CLS; cls++) {
		op = list_first_entry_or_null(&tx->stalled[cls], struct kfi_oper, link);
		if (op && kfp_may_request(conn) && kfp_send_op(conn, op))
			return true;
	}
	list_for_each_entry_safe(op, next, &tx->queue, link) {
		row = kfp_op_row(op);
		if (row->next) {
			op = row->next(conn, op);
			return op && kfp_send_op(conn, op);
		}
		if (!kfp_may_request(conn))
			return false;
		if ((row->cls == KFP_CLS || list_empty(&tx->stalled[row->cls])) &&
		    row->send(conn, op))
			return true;
		if (WARN_ON_ONCE(row->cls == KFP_CLS))
			return false;
		list_move_tail(&op->link, &tx->stalled[row->cls]);
	}
	return false;
}

/*
 * Will another frame certainly follow the current one, so that the link may wait for it? Credit
 * only grows until then.
 */
bool kfp_tx_follows(struct kfp_conn *conn)
{
	struct kfp_tx *tx = &conn->tx;
	struct kfi_oper *op = list_first_entry_or_null(&tx->queue, struct kfi_oper, link);
	const struct kfp_op_row *row;

	/* An operation that has sent its request may have to wait for the one that is being sent. */
	if (!op || !kfp_may_request(conn) || kfp_op(op)->state != KFP_OP_QUEUED)
		return false;
	row = kfp_op_row(op);
	if (row->cls == KFP_CLS)
		return !row->silent && (!row->next || row->next(conn, op) == op);
	return list_empty(&tx->stalled[row->cls]) &&
	       kfi_credit_covers(&tx->credit[row->cls], row->cost(conn, op));
}

/* ---- control frames ---- */

/*
 * Is a BYE due? The shutdown was requested, and all that was posted before it has been sent and
 * answered. The flag is read before the lists.
 */
static bool kfp_bye_due(struct kfp_conn *conn)
{
	if (!test_bit(KFP_BYE_WANTED, &conn->flags))
		return false;
	smp_rmb();		/* pairs with kfi_proto_shutdown() */
	return kfp_drained(conn) && !test_and_set_bit(KFP_BYE_SENT, &conn->flags);
}

static bool kfp_send_control(struct kfp_conn *conn)
{
	if (READ_ONCE(conn->credit_due))
		kfp_send_frame(conn, KFW_CREDIT);
	else if (kfp_bye_due(conn))
		kfp_send_frame(conn, KFW_BYE);
	else
		return false;
	return true;
}

/* Credit is in the header of each frame. */
static int kfp_rx_nothing(struct kfp_conn *conn)
{
	return 0;
}

const struct kfp_frame_row kfp_credit_frame = {
	.receive = kfp_rx_nothing,
};

static int kfp_rx_bye(struct kfp_conn *conn)
{
	return -ESHUTDOWN;
}

const struct kfp_frame_row kfp_bye_frame = {
	.receive = kfp_rx_bye,
};

/* ---- the next frame ---- */

/*
 * Is there no frame to send? This is the usual case, and cheaper to find out here than in
 * kfp_send_next().
 */
bool kfp_tx_empty(struct kfp_conn *conn)
{
	const struct kfp_tx *tx = &conn->tx;

	return llist_empty(&conn->posted) && list_empty(&tx->queue) && list_empty(&tx->granted) &&
	       list_empty(&tx->stalled[KFP_CLS_MSG]) && list_empty(&tx->stalled[KFP_CLS_TAG]) &&
	       list_empty_careful(&conn->answers) && !READ_ONCE(conn->credit_due) && !tx->urgent &&
	       !test_bit(KFP_BYE_WANTED, &conn->flags);
}

/*
 * Encode the next frame. Urgent frames are few, and owners of regions wait for them. Answers are sent
 * before granted payloads, but after returned data (&kfp_tx.yields) one granted payload is sent.
 * Otherwise a peer that always has reads outstanding would delay the messages that it has granted
 * beyond their deadline. For the same reason an operation of the queue is sent after a part of a
 * payload (&kfp_tx.shares).
 */
static bool kfp_send_next(struct kfp_conn *conn)
{
	struct kfp_tx *tx = &conn->tx;
	struct kfp_answer *answer = NULL;
	struct kfi_oper *op;

	if (unlikely(tx->urgent)) {
		kfp_protocols_call(urgent, conn);
		return true;
	}
	if (unlikely(tx->shares)) {
		tx->shares = false;
		if (kfp_send_next_op(conn))
			return true;
	}
	if (!list_empty_careful(&conn->answers) && (!tx->yields || list_empty(&tx->granted)))
		answer = kfp_answer_next(conn);
	tx->yields = false;
	if (answer) {
		answer->row->send(conn, answer);
		return true;
	}
	op = list_first_entry_or_null(&tx->granted, struct kfi_oper, link);
	if (op)
		return kfp_send_op(conn, op);
	return kfp_send_next_op(conn) || kfp_send_control(conn);
}

#define KFP_FRAME_MAX	(sizeof(struct kfw_hdr) + KFP_SEGS_BYTES + KFP_INLINE)
static_assert(KFP_FRAME_MAX < KFP_STAGE);

/*
 * Encode frames until the stage is full, a payload follows the last one, or nothing is left. Mostly
 * one frame was due, which is found out here at less cost than in kfp_send_next(). Then the runner
 * need not ask again: what becomes due meanwhile leaves a note.
 */
void kfp_tx_gather(struct kfp_conn *conn)
{
	struct kfp_tx *tx = &conn->tx;

	while (tx->at == KFP_TX_FRAMES && tx->staged + KFP_FRAME_MAX <= KFP_STAGE &&
	       kfp_send_next(conn)) {
		if (!list_empty_careful(&conn->lazy))
			kfp_lazy_join(conn);
		if (kfp_tx_empty(conn)) {
			tx->idle = tx->at == KFP_TX_FRAMES;
			break;
		}
	}
}
