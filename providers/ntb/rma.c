// SPDX-License-Identifier: GPL-2.0
/*
 * rma.c - remote memory, both sides.
 *
 *   nt_put_rma()	initiator: the operation whose turn it is; a write goes as one record, or as a row of them that nothing else of ours
 *			comes between but answers and the payload of messages
 *   nt_rx_write()	target: may it? Then bytes, as they come, from the ring to the region
 *   nt_rx_tell()	all of it is there: counters, remote CQ data; then the verdict
 *   nt_rx_read()	target: may it? Then the answer waits in reads
 *   nt_put_read()	a piece of the answer, from the region by way of a piece of memory of our own, which the engine may read when the region
 *			has ended
 *   nt_rx_read_data()	initiator: it has come
 */
#include "ntb.h"

/* ---- initiator. The lock is held ---- */

/* The record has the segments, in its head or in place of payload. */
static void nt_put_segs(struct nt_conn *conn, struct nt_send *s, struct kfi_oper *op, struct ntw_frame *f)
{
	struct nt_op *nop = nt_op(op);

	f->nsegs = op->rma_count;
	nt_op_segs(op);
	if (f->nsegs <= NTW_HEAD_SEGS) {
		nt_send_post(conn, s, f, nop->segs);
		return;
	}
	nop->vec = (struct kvec) { nop->segs, f->nsegs * sizeof(nop->segs[0]) };
	s->op = op;
	s->rec.len = nop->vec.iov_len;
	iov_iter_kvec(&s->rec.iter, ITER_SOURCE, &nop->vec, 1, s->rec.len);
	nt_send_post(conn, s, f, NULL);
}

static void nt_put_ask(struct nt_conn *conn, struct kfi_oper *op, u8 type)
{
	struct ntw_frame f = nt_op_frame(op, type);

	f.bits &= type == NTW_FLUSH ? NTW_F_COMMIT : 0;
	if (type == NTW_FLUSH)
		f.len = 0;
	conn->op = NULL;
	nt_op_wait(conn, op, NT_OP_UNANSWERED);
	nt_put_segs(conn, nt_send_get(conn), op, &f);
}

/* The next piece of the payload, which is not moved before it has been posted. */
static void nt_write_piece(struct nt_conn *conn, struct nt_send *s, struct kfi_oper *op, u32 room, struct ntw_frame *f)
{
	struct nt_op *nop = nt_op(op);

	s->rec.len = min_t(u64, op->len - nop->at, room);
	s->op = s->rec.len ? op : NULL;
	s->rec.iter = op->iter;
	iov_iter_advance(&op->iter, s->rec.len);
	nop->at += s->rec.len;
	if (nop->at < op->len)
		return;
	f->bits |= NTW_F_LAST;
	conn->op = NULL;
	nt_op_wait(conn, op, NT_OP_UNANSWERED);
}

static void nt_put_write(struct nt_conn *conn, struct kfi_oper *op)
{
	struct ntw_frame f = nt_op_frame(op, NTW_WRITE);
	struct nt_send *s = nt_send_get(conn);

	if (nt_op(op)->state != NT_OP_QUEUED) {
		f.type = NTW_MORE;
		f.bits = 0;
		nt_write_piece(conn, s, op, conn->room - NTW_PREFIX, &f);
		nt_send_post(conn, s, &f, NULL);
		return;
	}
	nt_op_wait(conn, op, NT_OP_SENDING);
	if (op->rma_count <= NTW_HEAD_SEGS || !op->len)
		nt_write_piece(conn, s, op, conn->room - NTW_HEAD_MAX, &f);
	nt_put_segs(conn, s, op, &f);
}

bool nt_put_rma(struct nt_conn *conn)
{
	struct kfi_oper *op = conn->op;

	switch (op->code) {
	case KFI_OPC_WRITE:
		nt_put_write(conn, op);
		break;
	case KFI_OPC_READ:
		nt_put_ask(conn, op, NTW_READ);
		break;
	case KFI_OPC_FLUSH:
		nt_put_ask(conn, op, NTW_FLUSH);
		break;
	default:
		nt_put_atomic(conn, op);
	}
	return true;
}

static int nt_copy_in(struct kfi_oper *op, const void *payload, u32 len)
{
	if (len && copy_to_iter(payload, len, &op->iter) != len)
		return -EPROTO;
	return 0;
}

/* Bytes that we have asked for; the last ones are the end of it. */
int nt_rx_read_data(struct nt_conn *conn, const struct ntw_frame *f, const void *payload, struct nt_done *done)
{
	struct kfi_oper *op = nt_answered_op(conn, f);
	struct nt_op *nop;
	int ret;

	if (!op)
		return -EPROTO;
	nop = nt_op(op);
	if (nop->state != NT_OP_UNANSWERED || f->data != nop->at || f->payload > op->len - nop->at)
		return -EPROTO;
	if (op->code == KFI_OPC_READ || op->code == KFI_OPC_TREAD)
		ret = nt_copy_in(op, payload, f->payload);
	else
		ret = nt_op_fetches(op) && f->payload == op->len ? nt_rx_fetched(op, payload) : -EPROTO;
	if (ret)
		return ret;
	nop->at += f->payload;
	nt_bounced(conn->dev->link, f->payload);
	if (f->bits & NTW_F_LAST)
		nt_op_finish(op, nop->at == op->len ? 0 : op->code == KFI_OPC_TREAD ? -KFI_ETRUNC : -EREMOTEIO, done);
	return 0;
}

/* ---- target: what a request is about ---- */

/* A slot for it, as its credit says. */
struct nt_slot *nt_request_slot(struct nt_conn *conn, const struct ntw_frame *f, const struct kfi_rma_iov *segs, u8 state)
{
	struct nt_slot *slot = NULL;

	spin_lock_bh(&conn->lock);
	if (kfi_credit_charge(&conn->credit_rx[NTW_CLS_REQ], 1)) {
		slot = nt_slot_get(conn, NTW_CLS_REQ);
		nt_slot_fill(slot, f, segs, NULL);
		slot->state = state;
	}
	spin_unlock_bh(&conn->lock);
	return slot;
}

/* Every segment is checked before the first byte moves. */
static int nt_check_segs(struct nt_slot *slot, u64 access)
{
	struct iov_iter iter;
	struct kfi_mr *mr;
	unsigned int i;
	u64 left = slot->f.len;

	for (i = 0; i < slot->f.nsegs; i++) {
		if (slot->seg[i].len > left)
			return -EPROTO;
		left -= slot->seg[i].len;
		mr = kfi_mr_get(&slot->conn->nep->ep, slot->seg[i].key, slot->seg[i].addr, slot->seg[i].len, access, &iter);
		if (IS_ERR(mr))
			slot->status = EACCES;
		else
			kfi_mr_put(mr);
	}
	return left ? -EPROTO : 0;
}

void nt_rma_let_go(struct nt_slot *slot)
{
	if (slot->mr)
		kfi_mr_put(slot->mr);
	slot->mr = NULL;
}

/* The next segment. What can't be opened any more makes the verdict. */
static bool nt_open_seg(struct nt_slot *slot, u64 access)
{
	const struct kfi_rma_iov *seg = &slot->seg[slot->iseg];

	if (slot->status || slot->iseg == slot->f.nsegs)
		return false;
	slot->iseg++;
	nt_rma_let_go(slot);
	slot->mr = kfi_mr_get(&slot->conn->nep->ep, seg->key, seg->addr, seg->len, access, &slot->iter);
	slot->key = seg->key;
	slot->left = seg->len;
	if (!IS_ERR(slot->mr))
		return true;
	slot->mr = NULL;
	slot->left = 0;
	slot->status = slot->iseg > 1 ? EREMOTEIO : EACCES;	/* the latter: nothing has moved */
	return false;
}

/* Up to @len bytes of the segment that is open, from it or to it. */
static u32 nt_seg_move(struct nt_slot *slot, void *at, u32 len, bool out)
{
	u32 n = min_t(u64, slot->left, len), moved = 0;

	rcu_read_lock();
	if (kfi_mr_live(slot->mr, slot->key))
		moved = out ? copy_from_iter(at, n, &slot->iter) : copy_to_iter(at, n, &slot->iter);
	rcu_read_unlock();
	if (moved != n)
		slot->status = EREMOTEIO;
	slot->left -= n;
	slot->at += n;
	return n;
}

/* ---- target: write ---- */

static void nt_write_bytes(struct nt_slot *slot, const void *payload, u32 len)
{
	u32 n;

	nt_bounced(slot->conn->dev->link, len);
	while (len && !slot->status && (slot->left || nt_open_seg(slot, KFI_REMOTE_WRITE))) {
		n = nt_seg_move(slot, (void *)payload, len, false);
		payload += n;
		len -= n;
	}
}

/* All has landed. Who is to be told of it may have to wait for room in a queue, and is told in the order of messages. */
static void nt_write_end(struct nt_slot *slot)
{
	struct nt_conn *conn = slot->conn;

	conn->write = NULL;
	slot->state = NT_SLOT_QUEUED;
	if (!slot->mr)
		nt_open_seg(slot, KFI_REMOTE_WRITE);	/* nothing is a length, too */
	if (slot->f.bits & NTW_F_CQ_DATA)
		nt_rx_enter(conn, slot);
	else
		nt_rx_tell(slot);
}

static int nt_write_go_on(struct nt_conn *conn, struct nt_slot *slot, const struct ntw_frame *f, const void *payload)
{
	u64 left = slot->f.len - slot->came;

	if (f->payload > left || !!(f->bits & NTW_F_LAST) != (f->payload == left))
		return -EPROTO;
	nt_write_bytes(slot, payload, f->payload);
	slot->came += f->payload;
	if (f->bits & NTW_F_LAST)
		nt_write_end(slot);
	return 0;
}

int nt_rx_write(struct nt_conn *conn, const struct ntw_frame *f, const struct kfi_rma_iov *segs, const void *payload)
{
	struct nt_slot *slot = conn->write ? NULL : nt_request_slot(conn, f, segs, NT_SLOT_WRITING);
	int ret = slot ? nt_check_segs(slot, KFI_REMOTE_WRITE) : -EPROTO;

	if (ret)
		return ret;
	if (!slot->status)
		slot->status = nt_commit_get(slot);
	conn->write = slot;
	return nt_write_go_on(conn, slot, f, payload);
}

int nt_rx_more(struct nt_conn *conn, const struct ntw_frame *f, const void *payload)
{
	struct nt_slot *slot = conn->write;

	if (!slot || slot->f.id != f->id || slot->f.gen != f->gen)
		return -EPROTO;
	return nt_write_go_on(conn, slot, f, payload);
}

static u64 nt_tell_flags(const struct ntw_frame *f)
{
	u64 flags = f->bits & NTW_F_CQ_DATA ? KFI_REMOTE_CQ_DATA : 0;

	if (f->type != NTW_ATOMIC)
		return flags | KFI_REMOTE_WRITE;
	return flags | KFI_ATOMIC | (f->bits & (NTW_F_FETCH | NTW_F_COMPARE) ? KFI_REMOTE_READ : KFI_REMOTE_WRITE);
}

/* Return: 0: told, and answered; -EAGAIN: no room for what the consumer is to be told. */
int nt_rx_tell(struct nt_slot *slot)
{
	struct nt_conn *conn = slot->conn;
	struct nt_done done = NT_DONE(done);
	int ret = 0;

	if (!slot->status)
		ret = kfi_remote_rma(&conn->nep->ep, slot->mr, nt_tell_flags(&slot->f), slot->f.len, slot->f.data,
				     nt_rx_src(conn));
	if (ret)
		return ret;
	nt_rma_let_go(slot);
	if (slot->status || !(slot->f.bits & (NTW_F_FETCH | NTW_F_COMPARE))) {
		nt_slot_verdict(slot);
		return 0;
	}
	spin_lock_bh(&conn->lock);
	nt_slot_answer(slot, NTW_READ_DATA, 0);
	nt_tx_run(conn, &done);
	spin_unlock_bh(&conn->lock);
	nt_done(&done);
	return 0;
}

/* ---- target: read ---- */

int nt_rx_read(struct nt_conn *conn, const struct ntw_frame *f, const struct kfi_rma_iov *segs)
{
	struct nt_slot *slot = nt_request_slot(conn, f, segs, NT_SLOT_READING);
	struct nt_done done = NT_DONE(done);
	int ret = slot ? nt_check_segs(slot, KFI_REMOTE_READ) : -EPROTO;

	if (ret)
		return ret;
	spin_lock_bh(&conn->lock);
	list_add_tail(&slot->entry, &conn->reads);
	nt_tx_run(conn, &done);
	spin_unlock_bh(&conn->lock);
	nt_done(&done);
	return 0;
}

/* Into @to, of a region or of a tagged receive. Return: bytes */
static u32 nt_read_bytes(struct nt_slot *slot, void *to, u32 room)
{
	u32 n, got = 0;

	if (slot->f.type == NTW_TREAD) {
		n = min_t(u64, slot->left, room);
		slot->left -= n;
		slot->at += n;
		return copy_from_iter(to, n, &slot->iter);
	}
	while (got < room && !slot->status && (slot->left || nt_open_seg(slot, KFI_REMOTE_READ)))
		if (slot->left)
			got += nt_seg_move(slot, to + got, room - got, true);
	return got;
}

static bool nt_read_over(const struct nt_slot *slot)
{
	return slot->f.type == NTW_TREAD ? !slot->left : slot->at == slot->f.len;
}

/* The last bytes are on their way, or there are none. */
static void nt_read_end(struct nt_slot *slot)
{
	struct kfi_ep *ep = &slot->conn->nep->ep;

	list_del_init(&slot->entry);
	if (slot->f.type == NTW_TREAD)
		kfi_rx_complete(&slot->rx, 0);
	else if (!slot->status)
		kfi_remote_rma(ep, slot->mr, KFI_REMOTE_READ, slot->f.len, 0, KFI_ADDR_NOTAVAIL);
	nt_rma_let_go(slot);
}

/* A piece of the answer that is first. The lock is held */
bool nt_put_read(struct nt_conn *conn)
{
	struct nt_slot *slot = list_first_entry_or_null(&conn->reads, struct nt_slot, entry);
	struct ntw_frame f = { .type = NTW_READ_DATA };
	struct nt_send *s;
	bool over;

	if (!slot || !conn->nbounces)
		return false;
	s = nt_send_get(conn);
	s->bounce = nt_bounce_get(conn);
	f.id = slot->f.id;
	f.gen = slot->f.gen;
	f.data = slot->at;
	s->rec.len = nt_read_bytes(slot, s->bounce, min(NT_BOUNCE, conn->room - NTW_PREFIX));
	over = slot->status || nt_read_over(slot);
	s->vec = (struct kvec) { s->bounce, s->rec.len };
	iov_iter_kvec(&s->rec.iter, ITER_SOURCE, &s->vec, 1, s->rec.len);
	if (slot->status) {		/* the verdict is all that goes */
		f.type = NTW_ACK;
		f.status = slot->status;
		f.data = 0;
		s->rec.len = 0;
	} else if (over) {
		f.bits = NTW_F_LAST;
	}
	if (over) {
		nt_read_end(slot);
		nt_slot_free(slot);
	}
	nt_send_post(conn, s, &f, NULL);
	return true;
}
