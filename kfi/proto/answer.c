// SPDX-License-Identifier: GPL-2.0
/*
 * answer.c - answers of the peer to operations of this side. An answer is accepted only if the
 * state of the operation agrees with it. All functions are called under the link's lock.
 */
#include "proto.h"

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

/* Note whether the answer to an RTW has named places, see kfp_uses_rtw(). */
static void kfp_rtw_answered(struct kfp_tx *tx, u64 len, bool places)
{
	if (!places) {
		tx->rtw_failures = min(tx->rtw_failures + 1, KFP_RTW_FAILURES);
		tx->rtw_failed = max(tx->rtw_failed, len);
	} else if (len <= tx->rtw_failed) {
		tx->rtw_failures = 0;
		tx->rtw_failed = 0;
	}
}

/* Handle a CTS. A granted write keeps its position in the queue. */
int kfp_got_cts(struct kfp_conn *conn, const struct kfw_frame *f)
{
	struct kfi_oper *op = kfp_answered_op(conn, f);
	struct kfp_tx *tx = &conn->tx;
	int ret;

	if (!op || kfp_op(op)->state != KFP_OP_REQUESTED)
		return -EPROTO;
	ret = kfp_places_take(conn, op->len, &kfp_op(op)->places);
	if (ret)
		return ret;
	kfp_op(op)->slot = f->slot;
	kfp_op(op)->state = KFP_OP_GRANTED;
	if (op->code != KFI_OPC_WRITE)
		list_move_tail(&op->link, &tx->granted);
	else
		kfp_rtw_answered(tx, op->len, f->places);
	return 0;
}

/*
 * Does the operation use an answer of the peer's pool? The functions that send such operations
 * increment &kfp_tx.requests.
 */
static bool kfp_was_request(const struct kfi_oper *op)
{
	if (op->code == KFI_OPC_WRITE || op->code == KFI_OPC_READ || op->code == KFI_OPC_FLUSH ||
	    kfi_opc_is_atomic(op->code) || kfi_opc_is_place(op->code))
		return true;
	return !kfp_op(op)->rendezvous && op->code != KFI_OPC_TREAD;
}

static int kfp_ack_status(struct kfp_conn *conn, struct kfi_oper *op, const struct kfw_frame *f)
{
	bool read = op->code == KFI_OPC_READ || op->code == KFI_OPC_TREAD || kfp_op_fetches(op);

	if (f->status)
		return f->status < MAX_ERRNO ? -(int)f->status : -EREMOTEIO;
	if (read && kfp_op(op)->got != op->len)
		return op->code == KFI_OPC_TREAD ? -KFI_ETRUNC : -EREMOTEIO;
	return op->code == KFI_OPC_PLACE_GET ? kfp_dev_place_give(conn, op) : 0;
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

int kfp_got_ack(struct kfp_conn *conn, const struct kfw_frame *f)
{
	struct kfi_oper *op = kfp_answered_op(conn, f);
	bool sent;
	u8 state;

	if (!op)
		return -EPROTO;
	state = kfp_op(op)->state;
	if (state != KFP_OP_UNANSWERED && !(state == KFP_OP_REQUESTED && f->status))
		return -EPROTO;
	sent = state == KFP_OP_REQUESTED || kfp_op_acked(conn, op);
	if (!sent && !kfp_reports_sent(conn))
		return -EPROTO;
	list_del(&op->link);
	if (kfp_was_request(op)) {
		conn->tx.requests--;
		conn->tx.read_segs -= kfp_read_segs(op);
	}
	if (state == KFP_OP_UNANSWERED)
		conn->tx.unplaced -= kfp_unplaced(op);
	sent |= !kfp_op(op)->spliced;	/* the link has copied all of it */
	if (sent)
		kfp_op_end(conn, op, kfp_ack_status(conn, op, f));
	else
		kfp_op_unsent(conn, op, kfp_ack_status(conn, op, f));
	return 0;
}
