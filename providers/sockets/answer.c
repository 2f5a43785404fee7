// SPDX-License-Identifier: GPL-2.0
/*
 * answer.c - what the peer says about our operations. Nothing it says is believed before the operation's own state agrees.
 * Socket lock held throughout.
 */
#include <linux/tcp.h>
#include "sock.h"

/* The operation an answer is about, or NULL: no such place, reused since, or not on this connection. */
struct kfi_oper *ks_answered_op(struct ks_conn *conn, const struct skw_frame *f)
{
	struct kfi_oper *op = kfi_tx_by_index(&conn->sep->ep, f->id);

	if (!op || READ_ONCE(op->gen) != f->gen || READ_ONCE(ks_op(op)->conn) != conn)
		return NULL;
	return op;
}

int ks_got_cts(struct ks_conn *conn, const struct skw_frame *f)
{
	struct kfi_oper *op = ks_answered_op(conn, f);

	if (!op || ks_op(op)->state != KS_OP_ASKED)
		return -EPROTO;
	ks_op(op)->slot = f->slot;
	ks_op(op)->state = KS_OP_GRANTED;
	list_move_tail(&op->link, &conn->tx.granted);
	return 0;
}

/* Requests that take an answer out of the peer's pool, see ks_put_message(), ks_put_rma(), ks_put_atomic(), ks_put_flush(). */
static bool ks_was_request(const struct kfi_oper *op)
{
	if (op->code == KFI_OPC_WRITE || op->code == KFI_OPC_READ || op->code == KFI_OPC_FLUSH ||
	    kfi_opc_is_atomic(op->code))
		return true;
	return !ks_op(op)->asked && op->code != KFI_OPC_TREAD;
}

static int ks_verdict(const struct kfi_oper *op, const struct skw_frame *f)
{
	bool read = op->code == KFI_OPC_READ || op->code == KFI_OPC_TREAD || ks_op_fetches(op);

	if (f->status)
		return f->status < MAX_ERRNO ? -(int)f->status : -EREMOTEIO;
	if (read && ks_op(op)->got != op->len)
		return op->code == KFI_OPC_TREAD ? -KFI_ETRUNC : -EREMOTEIO;
	return 0;
}

/*
 * Has the peer's TCP acknowledged all bytes of the operation? A peer has read what it answers, so
 * the segment that carries its answer, or an earlier one, acknowledges these bytes. Until then
 * TCP may send spliced pages once more, with whatever their owner has put there meanwhile.
 * Positions have 64 bits: an answer may come many GiB later. What of the hello is not
 * acknowledged yet counts against the peer; the hello came first.
 */
static bool ks_op_acked(const struct ks_conn *conn, const struct kfi_oper *op)
{
	const struct tcp_sock *tp = tcp_sk(conn->sk);
	u32 unacked = tp->write_seq - tp->snd_una;

	return ks_op(op)->end + unacked <= conn->tx.bytes;
}

int ks_got_ack(struct ks_conn *conn, const struct skw_frame *f)
{
	struct kfi_oper *op = ks_answered_op(conn, f);
	u8 state;

	if (!op)
		return -EPROTO;
	state = ks_op(op)->state;
	if (state != KS_OP_UNANSWERED && !(state == KS_OP_ASKED && f->status))
		return -EPROTO;
	if (state == KS_OP_UNANSWERED && !ks_op_acked(conn, op))
		return -EPROTO;
	list_del(&op->link);
	if (ks_was_request(op))
		conn->tx.requests--;
	ks_op(op)->state = KS_OP_QUEUED;
	ks_op(op)->conn = NULL;
	kfi_tx_complete(op, ks_verdict(op, f));
	return 0;
}
