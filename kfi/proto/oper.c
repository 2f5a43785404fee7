// SPDX-License-Identifier: GPL-2.0
/*
 * oper.c - the end of an operation: it completes exactly once, when the peer has answered, if it has
 * to, and the link does not read its memory any more.
 *
 *   kfp_op_sent()		all of it is in the stage or accepted by the link
 *   kfp_got_ack()		the peer has answered
 *   kfp_op_unsent()		the link still reads its memory
 *   kfp_op_end()		completes it
 *   kfp_tx_flush_all()		completes all operations of a connection that has ended
 *
 * An answer is accepted only if the state of the operation agrees with it. All functions are called
 * under the link's lock, or after the end of the link.
 */
#include "conn.h"

static void kfp_op_unsent(struct kfp_conn *conn, struct kfi_oper *op, int result);

/*
 * Complete an operation. Its private part must not refer to the connection any more: another
 * connection can be allocated at the same address.
 */
void kfp_op_end(struct kfp_conn *conn, struct kfi_oper *op, int result)
{
	if (unlikely(kfp_op(op)->places) && !kfp_places_put(conn, &kfp_op(op)->places)) {
		kfp_op(op)->end = U64_MAX;
		kfp_op_unsent(conn, op, result);
		return;
	}
	kfp_op(op)->state = KFP_OP_QUEUED;
	kfp_op(op)->conn = NULL;
	kfi_tx_complete(op, result);
}

/*
 * Let an operation wait for kfi_link_sent(), or with end U64_MAX for kfi_link_concealed(); nothing
 * else is due for it. The peer may answer operations in another order than they were sent in, so
 * the list is sorted here.
 */
void kfp_op_unsent(struct kfp_conn *conn, struct kfi_oper *op, int result)
{
	struct list_head *at = conn->tx.unsent.prev;

	while (at != &conn->tx.unsent &&
	       kfp_op(list_entry(at, struct kfi_oper, link))->end > kfp_op(op)->end)
		at = at->prev;
	list_add(&op->link, at);
	kfp_op(op)->state = KFP_OP_UNSENT;
	kfp_op(op)->result = result;
}

/* The peer can't write to the buffer of the operation any more, which kfp_op_end() waits for. */
void kfp_op_concealed(struct kfp_conn *conn, struct kfi_oper *op)
{
	list_del(&op->link);
	kfp_op_end(conn, op, kfp_op(op)->result);
}

/*
 * Has the link read the bytes of the operation for the last time? Before that it may send spliced
 * pages again, with new contents. The peer answers after it has received the bytes, so the link has
 * their acknowledgement no later than the answer. Only on a link with KFI_LINK_REPORTS_SENT may the
 * answer arrive first. Positions have 64 bits, because an answer may arrive many GiB later.
 */
bool kfp_op_acked(const struct kfp_conn *conn, const struct kfi_oper *op)
{
	return kfp_op(op)->end <= conn->ops->sent_to(&conn->link);
}

/*
 * All bytes of the operation are accepted by the link or are in the stage. The position of its last
 * byte is kept for kfp_op_acked().
 */
void kfp_op_sent(struct kfp_conn *conn, struct kfi_oper *op, bool answered)
{
	struct kfp_tx *tx = &conn->tx;

	if (!answered && !kfp_op(op)->spliced) {
		__kfi_tx_complete(op, 0);
		return;
	}
	kfp_op(op)->end = conn->link.posted + tx->staged - tx->written;
	if (!answered) {
		/* kfi_link_sent() is called only if the link still reads the memory. */
		if (kfp_op_acked(conn, op))
			kfp_op_end(conn, op, 0);
		else
			kfp_op_unsent(conn, op, 0);
		return;
	}
	kfp_op(op)->state = KFP_OP_UNANSWERED;
	list_add_tail(&op->link, &conn->tx.waiting);
}

/* The request of a rendezvous is in the stage: its CTS is due. */
void kfp_op_requested(struct kfp_conn *conn, struct kfi_oper *op)
{
	kfp_op(op)->state = KFP_OP_REQUESTED;
	list_add_tail(&op->link, &conn->tx.waiting);
}

/* ---- answers of the peer ---- */

/*
 * Return the operation that an answer names, or NULL if there is none, if it has been reused since,
 * or if it was posted to another connection.
 */
struct kfi_oper *kfp_answered_op(struct kfp_conn *conn, const struct kfw_frame *f)
{
	struct kfi_oper *op = kfi_tx_by_index(&conn->ep->ep, f->id);

	if (!op || READ_ONCE(op->gen) != f->gen || READ_ONCE(kfp_op(op)->conn) != conn)
		return NULL;
	return op;
}

static int kfp_ack_result(const struct kfw_frame *f)
{
	return f->status < MAX_ERRNO ? -(int)f->status : -EREMOTEIO;
}

static int kfp_got_ack(struct kfp_conn *conn)
{
	const struct kfw_frame *f = &conn->rx.f;
	struct kfi_oper *op = kfp_answered_op(conn, f);
	struct kfp_op *pop;
	int result = 0;
	bool sent;

	/* A failure is reported even if no ACK was requested. The operation may have ended. */
	if (!op)
		return f->status ? -EREMOTEIO : -EPROTO;
	pop = kfp_op(op);
	if (f->status && pop->state == KFP_OP_UNSENT && !pop->request) {
		pop->result = kfp_ack_result(f);
		return 0;	/* kfp_sent_to() ends it */
	}
	if (pop->state != KFP_OP_UNANSWERED && !(pop->state == KFP_OP_REQUESTED && f->status))
		return -EPROTO;
	/* A link that reports what it has read has copied the rest, and need not be asked about it. */
	sent = pop->state == KFP_OP_REQUESTED ||
	       (!pop->spliced && kfp_reports_sent(conn)) || kfp_op_acked(conn, op);
	if (!sent && !kfp_reports_sent(conn))
		return -EPROTO;
	list_del(&op->link);
	conn->tx.requests -= pop->request;
	if (pop->unplaced) {
		conn->tx.unplaced--;
		conn->tx.unplaced_commits -= !!(op->flags & KFI_COMMIT_COMPLETE);
	}
	if (kfp_op_row(op)->answered)
		kfp_op_row(op)->answered(conn, op);
	if (f->status)
		result = kfp_ack_result(f);
	else if (kfp_op_row(op)->acked)
		result = kfp_op_row(op)->acked(conn, op);
	if (sent)
		kfp_op_end(conn, op, result);
	else
		kfp_op_unsent(conn, op, result);
	return 0;
}

const struct kfp_frame_row kfp_ack_frame = {
	.receive = kfp_got_ack,
};

/* ---- memory that the link still reads ---- */

/* Call &kfp_reading.read when the link does not read the memory any more. */
void kfp_reading_wait(struct kfp_conn *conn, struct kfp_reading *reading)
{
	struct list_head *at = conn->tx.reading.prev;

	if (reading->end <= conn->ops->sent_to(&conn->link)) {
		reading->read(conn, reading);
		return;
	}
	while (at != &conn->tx.reading &&
	       list_entry(at, struct kfp_reading, link)->end > reading->end)
		at = at->prev;
	list_add(&reading->link, at);
}

/* The link does not read bytes before position @to any more: end what has waited for that. */
void kfp_sent_to(struct kfp_conn *conn, u64 to)
{
	struct kfp_tx *tx = &conn->tx;
	struct kfp_reading *reading, *after;
	struct kfi_oper *op, *next;

	list_for_each_entry_safe(op, next, &tx->unsent, link) {
		if (kfp_op(op)->end > to)
			break;
		list_del(&op->link);
		kfp_op_end(conn, op, kfp_op(op)->result);
	}
	list_for_each_entry_safe(reading, after, &tx->reading, link) {
		if (reading->end > to)
			break;
		list_del(&reading->link);
		reading->read(conn, reading);
	}
}

/* ---- the end of a connection ---- */

/*
 * Return true if no posted operation is left to be sent or answered. Called under the link's lock,
 * or after the end of the link.
 */
bool kfp_drained(const struct kfp_conn *conn)
{
	const struct kfp_tx *tx = &conn->tx;

	return !tx->op && llist_empty(&conn->posted) &&
	       list_empty(&tx->queue) && list_empty(&tx->waiting) && list_empty(&tx->granted) &&
	       list_empty(&tx->unsent) &&
	       list_empty(&tx->stalled[KFP_CLS_MSG]) && list_empty(&tx->stalled[KFP_CLS_TAG]);
}

static void kfp_fail_list(struct kfp_conn *conn, struct list_head *list, int err)
{
	struct kfi_oper *op, *next;

	list_for_each_entry_safe(op, next, list, link) {
		list_del(&op->link);
		kfp_op_end(conn, op, err);
	}
}

/* Complete all operations. The link is closed, and no post uses the connection any more. */
void kfp_tx_flush_all(struct kfp_conn *conn, int err)
{
	struct kfp_tx *tx = &conn->tx;
	int cls;

	kfp_sent_to(conn, U64_MAX);
	if (tx->op)
		kfp_op_end(conn, tx->op, err);
	tx->op = NULL;
	kfp_fail_list(conn, &tx->waiting, err);
	kfp_fail_list(conn, &tx->granted, err);
	for (cls = 0; cls < KFP_CLS; cls++)
		kfp_fail_list(conn, &tx->stalled[cls], err);
	kfp_fail_list(conn, &tx->queue, err);
}
