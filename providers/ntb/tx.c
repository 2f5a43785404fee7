// SPDX-License-Identifier: GPL-2.0
/*
 * tx.c - the send path, in the order in which a message takes it.
 *
 *   nt_tx() -> nt_rdm_tx() or nt_msg_tx()	which connection?
 *   nt_tx_post()				onto its queue
 *   nt_tx_run()				credits spent, records posted to the link, one kick for all of them
 *   nt_sent(), nt_heard()			the link reports (send.c)
 *   nt_op_finish(), nt_done()			the consumer hears of it, with no lock held
 *
 * When is an operation over? A message for which nobody asked more when its memory is free; with KFI_TRANSMIT_COMPLETE when the peer has
 * handled its record; with KFI_DELIVERY_COMPLETE, and everything that has a result, when the peer's ACK is here. And never before the
 * last record that reads its memory was sent.
 */
#include "ntb.h"

int nt_tx(struct kfi_ep *ep, struct kfi_oper *op)
{
	struct nt_op *nop = nt_op(op);

	/* A receive is nobody's to make durable. */
	if (unlikely(op->flags & KFI_COMMIT_COMPLETE) && op->code == KFI_OPC_TWRITE)
		return -EOPNOTSUPP;
	nop->conn = NULL;
	nop->state = NT_OP_QUEUED;
	nop->sends = 0;
	nop->err = 0;
	nop->at = 0;
	nop->asked = false;
	nop->lent = false;
	nop->nplaces = 0;
	return ep->type == KFI_EP_RDM ? nt_rdm_tx(to_nt_ep(ep), op) : nt_msg_tx(to_nt_ep(ep), op);
}

/* ---- series: what is posted with KFI_MORE leaves with the last one, whenever it has found credit. The lock is held ---- */

/* What was placed since @kick was so waits, and no other for it; and not when records run short. */
static void nt_hold(struct nt_conn *conn, bool kick)
{
	if (!conn->series || conn->nidle < NT_SENDS / 2)
		return;
	conn->held |= conn->kick;
	conn->kick = kick;
}

static void nt_release(struct nt_conn *conn)
{
	conn->series = false;
	conn->kick |= conn->held;
	conn->held = false;
}

/* Nothing more is said. */
static bool nt_silent(const struct nt_conn *conn)
{
	return READ_ONCE(conn->flags) & (BIT(NT_FAILED) | BIT(NT_MUTE));
}

static void nt_tx_fill(struct nt_conn *conn, struct nt_done *done);
static bool nt_tx_quick(struct nt_conn *conn, struct kfi_oper *op, bool *over);

/* Called inside rcu_read_lock(), which keeps the connection from collecting its queue before us, and with bottom halves off. */
void nt_tx_post(struct nt_conn *conn, struct kfi_oper *op)
{
	bool more = op->flags & KFI_MORE, over = false;
	struct nt_done done = NT_DONE(done);

	spin_lock(&conn->lock);
	nt_op(op)->conn = conn;
	conn->series = more;
	conn->posts += more;
	if (nt_tx_quick(conn, op, &over)) {
		nt_hold(conn, false);
	} else {
		list_add_tail(&op->link, &conn->queue);
		nt_tx_fill(conn, &done);
	}
	if (!more)
		nt_release(conn);
	nt_kick_link(conn);
	spin_unlock(&conn->lock);
	if (over)
		kfi_tx_complete(op, 0);
	nt_done(&done);
	if (more && !delayed_work_pending(&conn->more_work))
		queue_delayed_work(nt_cm_wq, &conn->more_work, 1);
}

/* There may be something to send. The caller has a reference, or is inside the RCU section in which it found it. */
void nt_tx_kick(struct nt_conn *conn)
{
	struct nt_done done = NT_DONE(done);

	spin_lock_bh(&conn->lock);
	nt_release(conn);
	nt_tx_run(conn, &done);
	spin_unlock_bh(&conn->lock);
	nt_done(&done);
}

/* A series without a last one. Those to peers of an RDM endpoint leave with more_work. */
void nt_tx_flush(struct kfi_ep *ep)
{
	struct kfi_peer_conn *way = kfi_home_way(&to_nt_ep(ep)->home);

	if (way)
		nt_tx_kick(to_nt_conn(way));
}

/* The last of a series went to another peer, or was refused. */
/* ... when none has followed for a while: the clock may tick in the middle of a series. */
void nt_more_work(struct work_struct *work)
{
	struct nt_conn *conn = container_of(to_delayed_work(work), struct nt_conn, more_work);
	u32 posts = READ_ONCE(conn->posts);

	if (posts == conn->posts_seen)
		return nt_tx_kick(conn);
	conn->posts_seen = posts;
	queue_delayed_work(nt_cm_wq, &conn->more_work, 1);
}

/* ---- what an operation looks like ---- */

static bool nt_is_tagged(const struct kfi_oper *op)
{
	return op->code == KFI_OPC_TSEND || op->code == KFI_OPC_TWRITE || op->code == KFI_OPC_TREAD;
}

static bool nt_is_rma(const struct kfi_oper *op)
{
	return op->code == KFI_OPC_WRITE || op->code == KFI_OPC_READ || op->code == KFI_OPC_FLUSH || kfi_opc_is_atomic(op->code);
}

static bool nt_is_long(const struct nt_conn *conn, const struct kfi_oper *op)
{
	return op->code == KFI_OPC_TWRITE || op->len > conn->eager;
}

struct ntw_frame nt_op_frame(const struct kfi_oper *op, u8 type)
{
	return (struct ntw_frame) {
		.type = type,
		.bits = (nt_is_tagged(op) ? NTW_F_TAGGED : 0) | (op->flags & KFI_REMOTE_CQ_DATA ? NTW_F_CQ_DATA : 0) |
			(op->flags & KFI_COMMIT_COMPLETE ? NTW_F_COMMIT : 0),
		.id = op->index,
		.gen = op->gen,
		.len = op->len,
		.tag = op->tag,
		.data = op->data,
	};
}

/* Remote segments as they go out. */
void nt_op_segs(struct kfi_oper *op)
{
	struct ntw_seg *segs = nt_op(op)->segs;
	unsigned int i;

	for (i = 0; i < op->rma_count; i++)
		segs[i] = (struct ntw_seg) {
			.addr = cpu_to_le64(op->rma[i].addr),
			.len = cpu_to_le64(op->rma[i].len),
			.key = cpu_to_le64(op->rma[i].key),
		};
}

/* It has gone, or begun to: something will come of it. */
void nt_op_wait(struct nt_conn *conn, struct kfi_oper *op, u8 state)
{
	nt_op(op)->state = state;
	list_move_tail(&op->link, &conn->waiting);
}

/* What comes goes straight to its memory, if that is in the window; small answers are quicker through the ring. */
void nt_op_lend(struct nt_conn *conn, struct kfi_oper *op)
{
	struct nt_op *nop = nt_op(op);
	unsigned int n = op->len > NT_COPY ? nt_places(conn, &op->iter, op->len, nop->place, NT_PLACES) : 0;

	if (!n || !nt_loan_begin(conn))
		return;
	nop->nplaces = n;
	nop->lent = true;
}

/* The next bytes of a payload that the peer has asked for. Return: they are the last. */
bool nt_put_piece(struct nt_conn *conn, struct nt_send *s, struct kfi_oper *op, struct ntw_frame *f)
{
	struct nt_op *nop = nt_op(op);
	u64 left = nop->want - nop->at;

	*f = (struct ntw_frame) { .type = NTW_DATA, .id = op->index, .gen = op->gen, .slot = nop->slot, .data = nop->at };
	s->op = op;
	s->rec.iter = op->iter;
	s->rec.len = min_t(u64, left, nop->nplaces ? nt_stretch(conn) : conn->room - NTW_PREFIX);
	if (nop->nplaces) {
		f->bits = NTW_F_PLACED;
		f->len = s->rec.len;
		f->crc = nt_crc_out(conn, s);
		s->rec.count = nt_places_cut(nop->place, nop->nplaces, nop->at, s->rec.len, s->place);
		s->rec.place = s->place;
	}
	iov_iter_advance(&op->iter, s->rec.len);
	nop->at += s->rec.len;
	if (s->rec.len < left)
		return false;
	f->bits |= NTW_F_LAST;
	return true;
}

/* ---- messages ---- */

static void nt_put_invalidate(struct kfi_oper *op, struct ntw_frame *f)
{
	if (!(op->flags & KFI_INVALIDATE))
		return;
	f->bits |= NTW_F_INV;
	f->nsegs = 1;
	nt_op(op)->segs[0] = (struct ntw_seg) { .key = cpu_to_le64(op->inv_key) };
}

/* The payload waits for a receive. */
static void nt_put_request(struct nt_conn *conn, struct kfi_oper *op)
{
	struct ntw_frame f = nt_op_frame(op, op->code == KFI_OPC_TREAD ? NTW_TREAD : NTW_RTS);
	struct nt_send *s = nt_send_get(conn);

	if (op->code == KFI_OPC_TREAD || op->code == KFI_OPC_TWRITE) {
		f.bits |= NTW_F_RMA;
		f.tag = op->rma[0].key;
	}
	if (op->code == KFI_OPC_TREAD)
		f.bits = NTW_F_TAGGED | NTW_F_RMA;
	nt_put_invalidate(op, &f);
	if (op->code == KFI_OPC_TREAD)
		nt_op_lend(conn, op);
	f.nspots = nt_op(op)->nplaces;
	nt_places_say(nt_op(op)->place, f.nspots, (void *)(nt_op(op)->segs + f.nsegs));
	nt_op_wait(conn, op, op->code == KFI_OPC_TREAD ? NT_OP_UNANSWERED : NT_OP_ASKED);
	nt_send_post(conn, s, &f, nt_op(op)->segs);
}

/* The message in one record, and that is all that anybody wants to know: its memory is free at once. */
static bool nt_put_now(struct nt_conn *conn, struct kfi_oper *op)
{
	struct ntw_frame f __uninitialized;

	if (op->len > NT_COPY || op->flags & (KFI_TRANSMIT_COMPLETE | KFI_DELIVERY_COMPLETE | KFI_INVALIDATE) ||
	    atomic_read_acquire(&conn->unsent))
		return false;
	f = nt_op_frame(op, NTW_MSG);
	if (!nt_send_now(conn, &f, &op->iter, op->len))
		return false;
	__kfi_stat_add(op->ep, copied, op->len);
	return true;
}

/* The message in one record. */
static void nt_put_short(struct nt_conn *conn, struct kfi_oper *op, struct nt_done *done)
{
	struct ntw_frame f __uninitialized;
	struct nt_send *s;
	int ret;

	f = nt_op_frame(op, NTW_MSG);
	s = nt_send_get(conn);
	if (op->flags & KFI_DELIVERY_COMPLETE)
		f.bits |= NTW_F_ACK;
	nt_put_invalidate(op, &f);
	s->op = op;
	s->hears = op->flags & KFI_TRANSMIT_COMPLETE && !(f.bits & NTW_F_ACK);
	s->rec.iter = op->iter;
	s->rec.len = op->len;
	nt_op_wait(conn, op, f.bits & NTW_F_ACK ? NT_OP_UNANSWERED : NT_OP_SENT);
	ret = nt_send_post(conn, s, &f, nt_op(op)->segs);
	if (!ret && nt_op(op)->state == NT_OP_SENT && !s->hears)
		nt_op_finish(op, 0, done);
	__kfi_stat_add(op->ep, copied, op->len);
}

static void nt_put_message(struct nt_conn *conn, struct kfi_oper *op, struct nt_done *done)
{
	if (op->code == KFI_OPC_TREAD || nt_is_long(conn, op))
		nt_put_request(conn, op);
	else
		nt_put_short(conn, op, done);
}

/* They take turns, too. */
static bool nt_put_granted(struct nt_conn *conn)
{
	struct kfi_oper *op = list_first_entry_or_null(&conn->granted, struct kfi_oper, link);
	struct ntw_frame f __uninitialized;
	struct nt_send *s;

	if (!op)
		return false;
	list_move_tail(&op->link, &conn->granted);
	s = nt_send_get(conn);
	if (nt_put_piece(conn, s, op, &f))
		nt_op_wait(conn, op, NT_OP_UNANSWERED);
	nt_send_post(conn, s, &f, NULL);
	return true;
}

/* ---- answers ---- */

static void nt_put_bare(struct nt_conn *conn, struct ntw_frame *f)
{
	if (!nt_send_now(conn, f, NULL, 0))
		nt_send_post(conn, nt_send_get(conn), f, NULL);
}

/* They have been left in the slot, which goes with them. */
static void nt_put_old_values(struct nt_conn *conn, struct nt_slot *slot, struct ntw_frame *f)
{
	struct nt_send *s = nt_send_get(conn);

	f->bits = NTW_F_LAST;
	f->len = slot->f.len;
	s->slot = slot;
	s->rec.len = slot->f.len;
	slot->vec = (struct kvec) { slot->buf, slot->f.len };
	iov_iter_kvec(&s->rec.iter, ITER_SOURCE, &slot->vec, 1, slot->f.len);
	nt_send_post(conn, s, f, NULL);
}

static void nt_slot_say(struct nt_conn *conn, struct nt_slot *slot)
{
	struct ntw_frame f = { .type = slot->answer, .status = slot->status, .id = slot->f.id, .gen = slot->f.gen };
	struct ntw_spot spots[NTW_SPOTS_MAX];

	if (f.type == NTW_READ_DATA) {
		nt_put_old_values(conn, slot, &f);
		return;
	}
	if (f.type == NTW_CTS) {
		f.slot = nt_slot_index(slot);
		f.len = slot->f.type == NTW_WRITE ? slot->f.len : min_t(u64, slot->rx.len, slot->rx.room);
		f.nspots = slot->nplaces;
		nt_places_say(slot->place, f.nspots, spots);
		slot->answer = 0;
	} else {
		nt_slot_free(slot);
	}
	if (f.nspots)
		nt_send_post(conn, nt_send_get(conn), &f, spots);
	else
		nt_put_bare(conn, &f);
}

static bool nt_put_answer(struct nt_conn *conn)
{
	struct nt_slot *slot = list_first_entry_or_null(&conn->answers, struct nt_slot, entry);

	if (!slot || !conn->nidle)
		return false;
	list_del_init(&slot->entry);
	nt_slot_say(conn, slot);
	return true;
}

/* ---- what goes next ---- */

static u8 nt_op_cls(const struct kfi_oper *op)
{
	if (nt_is_rma(op))
		return NTW_CLS_REQ;
	return nt_is_tagged(op) ? NTW_CLS_TAG : NTW_CLS_MSG;
}

static bool nt_may_send(struct nt_conn *conn, const struct kfi_oper *op)
{
	return kfi_credit_take(&conn->credit_tx[nt_op_cls(op)], 1);
}

/* Some at a time: each is no more than a record. */
static bool nt_put_stalled(struct nt_conn *conn, struct nt_done *done)
{
	unsigned int cls, n = 0;
	struct kfi_oper *op;

	for (cls = 0; cls < NTW_CLS_REQ; cls++) {
		while (n < NT_TURN && nt_room(conn) &&
		       (op = list_first_entry_or_null(&conn->stalled[cls], struct kfi_oper, link)) && nt_may_send(conn, op)) {
			nt_put_message(conn, op, done);
			n++;
		}
	}
	return n;
}

/*
 * Places for the payload of writes that are to come. In the order of posts, so that a request never waits for credit that one behind it has.
 */
static bool nt_put_ask_ahead(struct nt_conn *conn)
{
	unsigned int looked = 0;
	struct kfi_oper *op;

	if (!conn->direct || conn->nasked == NT_AHEAD)
		return false;
	list_for_each_entry(op, &conn->queue, link) {
		if (looked++ == 2 * NT_AHEAD)
			return false;
		if (nt_op_cls(op) != NTW_CLS_REQ || nt_op(op)->asked)
			continue;
		if (!nt_write_asks(conn, op) || !nt_may_send(conn, op))
			return false;
		nt_op(op)->asked = true;
		conn->nasked++;
		nt_put_asking(conn, op);
		return true;
	}
	return false;
}

/* It is its turn, and it has credit. */
static bool nt_put_asked(struct nt_conn *conn, struct kfi_oper *op)
{
	nt_op(op)->asked = false;
	conn->nasked--;
	list_move_tail(&op->link, &conn->waiting);
	conn->op = op;
	return nt_put_rma(conn);
}

/*
 * In posting order. A message without credit does not keep RMA behind it, nor messages of the other kind; RMA keeps all that is behind
 * it, for a message says that the writes before it are there.
 */
static bool nt_put_queued(struct nt_conn *conn, struct nt_done *done)
{
	struct kfi_oper *op, *next;
	u8 cls;

	list_for_each_entry_safe(op, next, &conn->queue, link) {
		cls = nt_op_cls(op);
		if (nt_op(op)->asked)
			return nt_put_asked(conn, op);
		if (cls == NTW_CLS_REQ) {
			if ((kfi_opc_is_atomic(op->code) && !conn->nbounces) || !nt_may_send(conn, op))
				return false;
			conn->op = op;
			return nt_put_rma(conn);
		}
		if (list_empty(&conn->stalled[cls]) && nt_may_send(conn, op)) {
			nt_put_message(conn, op, done);
			return true;
		}
		list_move_tail(&op->link, &conn->stalled[cls]);
	}
	return false;
}

/*
 * What nt_tx_fill() would do with a message before which nothing waits but messages, without the detour. True: it has been sent and is @over, or
 * waits for credit.
 */
static bool nt_tx_quick(struct nt_conn *conn, struct kfi_oper *op, bool *over)
{
	u8 cls = nt_op_cls(op);

	if (conn->state != NT_READY || cls == NTW_CLS_REQ || conn->op || !list_empty(&conn->queue) || nt_silent(conn))
		return false;
	if (!list_empty(&conn->stalled[cls]) || conn->credit_tx[cls].used == conn->credit_tx[cls].limit) {
		list_add_tail(&op->link, &conn->stalled[cls]);
		return true;
	}
	if (op->code == KFI_OPC_TREAD || nt_is_long(conn, op) || !nt_put_now(conn, op))
		return false;
	kfi_credit_take(&conn->credit_tx[cls], 1);
	*over = true;
	return true;
}

/* Nothing posted is left to be sent or answered. */
static bool nt_drained(const struct nt_conn *conn)
{
	return !conn->op && list_empty(&conn->queue) && list_empty(&conn->stalled[NTW_CLS_MSG]) &&
	       list_empty(&conn->stalled[NTW_CLS_TAG]) && list_empty(&conn->granted) && list_empty(&conn->waiting);
}

/* The peer hangs up when it hears it; a deadline does if it doesn't. */
static bool nt_bye_due(struct nt_conn *conn)
{
	if (!test_bit(NT_BYE_WANTED, &conn->flags) || !nt_drained(conn) || test_and_set_bit(NT_BYE_SENT, &conn->flags))
		return false;
	queue_delayed_work(nt_cm_wq, &conn->deadline, msecs_to_jiffies(nt_connect_timeout_ms));
	return true;
}

static bool nt_put_control(struct nt_conn *conn)
{
	struct ntw_frame f __uninitialized;
	u8 type;

	if (!conn->nidle)
		return false;
	if (conn->credit_due)
		type = NTW_CREDIT;
	else if (nt_bye_due(conn))
		type = NTW_BYE;
	else
		return false;
	f = (struct ntw_frame) { .type = type };
	nt_put_bare(conn, &f);
	return true;
}

static bool nt_put_posted(struct nt_conn *conn, struct nt_done *done)
{
	bool kick = conn->kick, put;

	put = nt_put_stalled(conn, done) || nt_put_ask_ahead(conn) || (conn->op ? nt_put_rma(conn) : nt_put_queued(conn, done));
	nt_hold(conn, kick);
	return put;
}

/* In turn: neither a long message nor a long read keeps all else waiting. */
static bool nt_put_payload(struct nt_conn *conn, struct nt_done *done)
{
	bool put = false;
	int i;

	for (i = 0; i < 3 && !put && nt_room(conn); i++) {
		switch (conn->turn++ % 3) {
		case 0:
			put = nt_put_granted(conn);
			break;
		case 1:
			put = nt_put_read(conn);
			break;
		default:
			put = nt_put_posted(conn, done);
		}
	}
	return put;
}

static void nt_tx_fill(struct nt_conn *conn, struct nt_done *done)
{
	lockdep_assert_held(&conn->lock);
	if (conn->state != NT_READY)
		return;
	while (!nt_silent(conn) && (nt_put_answer(conn) || nt_put_payload(conn, done) || nt_put_control(conn)))
		;
}

/* The lock is held: send what may go. */
void nt_tx_run(struct nt_conn *conn, struct nt_done *done)
{
	nt_tx_fill(conn, done);
	nt_kick_link(conn);
}

/* ---- what the peer says about our operations. The lock is held ---- */

/* The operation an answer is about, or NULL: no such place, reused since, or not on this connection. */
struct kfi_oper *nt_answered_op(struct nt_conn *conn, const struct ntw_frame *f)
{
	struct kfi_oper *op = kfi_tx_by_index(&conn->nep->ep, f->id);

	if (!op || READ_ONCE(op->gen) != f->gen || READ_ONCE(nt_op(op)->conn) != conn)
		return NULL;
	return op;
}

/* A write's payload goes when it is its turn. */
int nt_got_cts(struct nt_conn *conn, const struct ntw_frame *f, const void *payload)
{
	struct kfi_oper *op = nt_answered_op(conn, f);
	struct nt_op *nop;

	if (!op || nt_op(op)->state != NT_OP_ASKED || f->len > op->len || (f->nspots && !conn->direct))
		return -EPROTO;
	nop = nt_op(op);
	if (!nt_places_take(payload - f->nspots * sizeof(struct ntw_spot), f->nspots, f->len, nop->place))
		return -EPROTO;
	if (op->code == KFI_OPC_WRITE && f->len != op->len)
		return -EPROTO;
	nop->slot = f->slot;
	nop->at = 0;
	nop->want = f->len;
	nop->nplaces = f->nspots;
	nop->state = NT_OP_GRANTED;
	if (op->code == KFI_OPC_WRITE)
		conn->shy = f->nspots ? 0 : conn->shy + 1;
	else
		list_move_tail(&op->link, &conn->granted);
	return 0;
}

static int nt_verdict(const struct kfi_oper *op, const struct ntw_frame *f)
{
	bool read = op->code == KFI_OPC_READ || op->code == KFI_OPC_TREAD || nt_op_fetches(op);

	if (f->status)
		return f->status < MAX_ERRNO ? -(int)f->status : -EREMOTEIO;
	if (read && nt_op(op)->at != op->len)
		return op->code == KFI_OPC_TREAD ? -KFI_ETRUNC : -EREMOTEIO;
	return 0;
}

/* An error may come before the whole of a request has gone. */
int nt_got_ack(struct nt_conn *conn, const struct ntw_frame *f, struct nt_done *done)
{
	struct kfi_oper *op = nt_answered_op(conn, f);
	u8 state;

	if (!op)
		return -EPROTO;
	state = nt_op(op)->state;
	if (state != NT_OP_UNANSWERED && !(f->status && state == NT_OP_ASKED))
		return -EPROTO;
	nt_op_finish(op, nt_verdict(op, f), done);
	return 0;
}

/* ---- the end ---- */

static void nt_fail_list(struct list_head *list, int err, struct nt_done *done)
{
	struct kfi_oper *op, *next;

	list_for_each_entry_safe(op, next, list, link)
		nt_op_end(op, nt_op(op)->state == NT_OP_FINISHED ? 0 : err, done);
}

/* No record of ours is read any more and nobody posts: every operation ends here. */
void nt_tx_flush_all(struct nt_conn *conn, int err)
{
	struct nt_done done = NT_DONE(done);
	int cls;

	spin_lock_bh(&conn->lock);
	conn->op = NULL;
	nt_fail_list(&conn->waiting, err, &done);
	nt_fail_list(&conn->granted, err, &done);
	for (cls = 0; cls < NTW_CLS_REQ; cls++)
		nt_fail_list(&conn->stalled[cls], err, &done);
	nt_fail_list(&conn->queue, err, &done);
	spin_unlock_bh(&conn->lock);
	nt_done(&done);
}
