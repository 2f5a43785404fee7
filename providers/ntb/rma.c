// SPDX-License-Identifier: GPL-2.0
/*
 * rma.c - remote memory, both sides.
 *
 *   nt_put_rma()	initiator: the operation whose turn it is. A long write asks first where its payload may go (nt_put_asking()); others
 *			go as one record, or as a row of them that nothing else of ours comes between but answers and the payload of messages
 *   nt_rx_ask()	target: may it, and is the region in the window? nt_rx_write_data(): it has come
 *   nt_rx_write()	target: may it? Then bytes, as they come, from the ring to the region
 *   nt_rx_tell()	all of it is there: counters, remote CQ data; then the verdict
 *   nt_rx_read()	target: may it? Then the answer waits in reads
 *   nt_put_read()	a piece of the answer: straight from the region to the reader's memory, or through the ring
 *   nt_rx_read_data()	initiator: it has come
 */
#include "ntb.h"

/* ---- initiator. The lock is held ---- */

/* The record has the segments, and the spots of a read, in its head or in place of payload. */
static void nt_put_segs(struct nt_conn *conn, struct nt_send *s, struct kfi_oper *op, struct ntw_frame *f)
{
	struct nt_op *nop = nt_op(op);

	f->nsegs = op->rma_count;
	nt_op_segs(op);
	nt_places_say(nop->place, f->nspots, (void *)(nop->segs + f->nsegs));
	if (ntw_tail(f) <= NTW_TAIL_HEAD) {
		nt_send_post(conn, s, f, nop->tail);
		return;
	}
	nop->vec = (struct kvec) { nop->tail, ntw_tail(f) };
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
	if (type == NTW_READ)
		nt_op_lend(conn, op);
	f.nspots = nt_op(op)->nplaces;
	conn->op = NULL;
	nt_op_wait(conn, op, NT_OP_UNANSWERED);
	nt_put_segs(conn, nt_send_get(conn), op, &f);
}

/* Where none of the last ones was told a place it is a round trip for nothing. */
bool nt_write_asks(const struct nt_conn *conn, const struct kfi_oper *op)
{
	return op->code == KFI_OPC_WRITE && conn->direct && op->len > conn->eager &&
	       (conn->shy < NT_SHY || conn->skipped >= NT_SHY_SKIP);
}

void nt_put_asking(struct nt_conn *conn, struct kfi_oper *op)
{
	struct ntw_frame f = nt_op_frame(op, NTW_WRITE);

	f.bits |= NTW_F_ASK;
	conn->skipped = 0;
	nt_op(op)->state = NT_OP_ASKED;
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

static void nt_put_write_piece(struct nt_conn *conn, struct kfi_oper *op)
{
	struct nt_send *s = nt_send_get(conn);
	struct ntw_frame f;

	if (nt_put_piece(conn, s, op, &f)) {
		conn->op = NULL;
		nt_op_wait(conn, op, NT_OP_UNANSWERED);
	}
	nt_send_post(conn, s, &f, NULL);
}

/* Through the ring, without asking. */
static void nt_put_write_bytes(struct nt_conn *conn, struct kfi_oper *op)
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
	conn->skipped++;
	nt_op_wait(conn, op, NT_OP_SENDING);
	if (op->rma_count <= NTW_HEAD_SEGS || !op->len)
		nt_write_piece(conn, s, op, conn->room - NTW_HEAD_MAX, &f);
	nt_put_segs(conn, s, op, &f);
}

/* False: it waits for the target's answer, and all that is behind it. */
static bool nt_put_write(struct nt_conn *conn, struct kfi_oper *op)
{
	struct nt_op *nop = nt_op(op);

	if (nop->state == NT_OP_ASKED)
		return false;
	if (nop->state == NT_OP_GRANTED) {
		nt_put_write_piece(conn, op);
	} else if (nop->state == NT_OP_QUEUED && nt_write_asks(conn, op)) {
		nt_op_wait(conn, op, NT_OP_ASKED);
		nt_put_asking(conn, op);
	} else {
		nt_put_write_bytes(conn, op);
	}
	return true;
}

bool nt_put_rma(struct nt_conn *conn)
{
	struct kfi_oper *op = conn->op;

	switch (op->code) {
	case KFI_OPC_WRITE:
		return nt_put_write(conn, op);
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
	u64 bytes = f->bits & NTW_F_PLACED ? f->len : f->payload;
	struct kfi_oper *op = nt_answered_op(conn, f);
	struct nt_op *nop;
	int ret;

	if (!op)
		return -EPROTO;
	nop = nt_op(op);
	if (nop->state != NT_OP_UNANSWERED || f->data != nop->at || bytes > op->len - nop->at)
		return -EPROTO;
	/* Where it was lent all goes there, and nowhere else. */
	if (bytes && nop->lent != !!(f->bits & NTW_F_PLACED))
		return -EPROTO;
	if (f->bits & NTW_F_PLACED)
		ret = nt_placed_check(conn, f, &op->iter, nop->at);
	else if (op->code == KFI_OPC_READ || op->code == KFI_OPC_TREAD)
		ret = nt_copy_in(op, payload, f->payload);
	else
		ret = nt_op_fetches(op) && f->payload == op->len ? nt_rx_fetched(op, payload) : -EPROTO;
	if (ret)
		return ret;
	nop->at += bytes;
	nt_count_in(conn, bytes, f->bits & NTW_F_PLACED);
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

void nt_rma_spend(struct nt_slot *slot)
{
	struct kfi_mr *mr;
	unsigned int i;

	if (slot->status || !slot->mr)
		return;
	kfi_mr_spend(slot->mr, slot->key);
	rcu_read_lock();
	for (i = 0; i + 1 < slot->f.nsegs; i++) {
		mr = kfi_mr_find(&slot->conn->nep->ep, slot->seg[i].key);
		if (mr)
			kfi_mr_spend(mr, slot->seg[i].key);
	}
	rcu_read_unlock();
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

	nt_count_in(slot->conn, len, false);
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

	if (conn->write == slot)
		conn->write = NULL;
	slot->state = NT_SLOT_QUEUED;
	if (!slot->mr)
		nt_open_seg(slot, KFI_REMOTE_WRITE);	/* nothing is a length, too */
	nt_rma_spend(slot);
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

/* All that it needs to know is where the payload may go. */
static int nt_rx_ask(struct nt_conn *conn, const struct ntw_frame *f, const struct kfi_rma_iov *segs)
{
	struct nt_slot *slot = nt_request_slot(conn, f, segs, NT_SLOT_OFFERED);
	int ret = slot ? nt_check_segs(slot, KFI_REMOTE_WRITE) : -EPROTO;
	struct nt_done done = NT_DONE(done);

	if (ret)
		return ret;
	if (!slot->status)
		slot->status = nt_commit_get(slot);
	if (slot->status) {
		nt_slot_verdict(slot);
		return 0;
	}
	nt_lend_region(slot);
	spin_lock_bh(&conn->lock);
	nt_slot_answer(slot, NTW_CTS, 0);
	nt_tx_run(conn, &done);
	spin_unlock_bh(&conn->lock);
	nt_done(&done);
	return 0;
}

/* What it has asked for comes, to the places or through the ring. */
int nt_rx_write_data(struct nt_slot *slot, const struct ntw_frame *f, const void *payload)
{
	bool placed = f->bits & NTW_F_PLACED;
	u64 bytes = placed ? f->len : f->payload, left = slot->f.len - slot->came;
	int ret;

	if (placed != !!slot->nplaces || bytes > left || !!(f->bits & NTW_F_LAST) != (bytes == left))
		return -EPROTO;
	ret = placed ? nt_region_check(slot, f) : 0;
	if (ret)
		return ret;
	if (placed)
		nt_count_in(slot->conn, bytes, true);
	else
		nt_write_bytes(slot, payload, f->payload);
	slot->came += bytes;
	if (!(f->bits & NTW_F_LAST))
		return 0;
	if (placed)
		nt_region_landed(slot);
	nt_write_end(slot);
	return 0;
}

int nt_rx_write(struct nt_conn *conn, const struct ntw_frame *f, const struct kfi_rma_iov *segs, const void *payload)
{
	struct nt_slot *slot;
	int ret;

	if (f->bits & NTW_F_ASK)
		return nt_rx_ask(conn, f, segs);
	slot = conn->write ? NULL : nt_request_slot(conn, f, segs, NT_SLOT_WRITING);
	ret = slot ? nt_check_segs(slot, KFI_REMOTE_WRITE) : -EPROTO;
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
		ret = kfi_remote_rma(&conn->nep->ep, slot->mr, slot->key, nt_tell_flags(&slot->f), slot->f.len, slot->f.data,
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

int nt_rx_read(struct nt_conn *conn, const struct ntw_frame *f, const struct kfi_rma_iov *segs, const void *payload)
{
	struct nt_slot *slot = nt_request_slot(conn, f, segs, NT_SLOT_READING);
	struct nt_done done = NT_DONE(done);
	int ret = slot ? nt_check_segs(slot, KFI_REMOTE_READ) ?: nt_slot_spots(slot, payload) : -EPROTO;

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

/*
 * The last bytes are on their way in @s, or there are none. What goes straight the engine has yet to read: the owner is told when it has, for he
 * may write there again as soon as he counts the read.
 */
static void nt_read_end(struct nt_slot *slot, struct nt_send *s)
{
	struct kfi_ep *ep = &slot->conn->nep->ep;

	list_del_init(&slot->entry);
	if (slot->f.type == NTW_READ)
		nt_rma_spend(slot);
	if (slot->f.type == NTW_TREAD)
		kfi_rx_complete(&slot->rx, 0);
	else if (s->mr)
		s->read = slot->f.len;
	else if (!slot->status)
		kfi_remote_rma(ep, slot->mr, slot->key, KFI_REMOTE_READ, slot->f.len, 0, KFI_ADDR_NOTAVAIL);
	nt_rma_let_go(slot);
}

/* What is in @s goes to where the reader wants it. */
static void nt_read_place(struct nt_slot *slot, struct nt_send *s, struct ntw_frame *f)
{
	if (!slot->nplaces || !s->rec.len)
		return;
	f->bits = NTW_F_PLACED;
	f->len = s->rec.len;
	f->crc = nt_crc_out(slot->conn, s);
	s->rec.count = nt_places_cut(slot->place, slot->nplaces, f->data, s->rec.len, s->place);
	s->rec.place = s->place;
}

/* By way of memory of our own, which the engine may read when the region has ended: for who goes through the ring may wait long. */
static void nt_read_staged(struct nt_slot *slot, struct nt_send *s)
{
	struct nt_conn *conn = slot->conn;

	s->bounce = nt_bounce_get(conn);
	s->rec.len = nt_read_bytes(slot, s->bounce, min(NT_BOUNCE, conn->room - NTW_PREFIX));
	s->vec = (struct kvec) { s->bounce, s->rec.len };
	iov_iter_kvec(&s->rec.iter, ITER_SOURCE, &s->vec, 1, s->rec.len);
}

/* From the region itself, which is held until the engine is done with it. */
static void nt_read_straight(struct nt_slot *slot, struct nt_send *s)
{
	size_t n;

	while (!slot->left && nt_open_seg(slot, KFI_REMOTE_READ))
		;
	if (slot->status)
		return;
	if (!nt_source_hold(slot->conn, slot->mr, slot->key)) {
		slot->status = EREMOTEIO;
		return;
	}
	n = min_t(u64, slot->left, nt_stretch(slot->conn));
	s->mr = slot->mr;
	s->key = slot->key;
	s->rec.iter = slot->iter;
	iov_iter_truncate(&s->rec.iter, n);
	s->rec.len = n;
	iov_iter_advance(&slot->iter, n);
	slot->left -= n;
	slot->at += n;
}

/* A piece of the answer that is first. The lock is held */
bool nt_put_read(struct nt_conn *conn)
{
	struct nt_slot *slot = list_first_entry_or_null(&conn->reads, struct nt_slot, entry);
	bool over, straight = slot && slot->nplaces && slot->f.type == NTW_READ;
	struct ntw_frame f = { .type = NTW_READ_DATA };
	struct nt_send *s;

	if (!slot || (!straight && !conn->nbounces))
		return false;
	s = nt_send_get(conn);
	f.id = slot->f.id;
	f.gen = slot->f.gen;
	f.data = slot->at;
	if (straight)
		nt_read_straight(slot, s);
	else
		nt_read_staged(slot, s);
	over = slot->status || nt_read_over(slot);
	if (slot->status) {		/* the verdict is all that goes */
		f.type = NTW_ACK;
		f.status = slot->status;
		f.data = 0;
		s->rec.len = 0;
	} else {
		nt_read_place(slot, s, &f);
		f.bits |= over ? NTW_F_LAST : 0;
	}
	if (over) {
		nt_read_end(slot, s);
		nt_slot_free(slot);
	}
	nt_send_post(conn, s, &f, NULL);
	return true;
}
