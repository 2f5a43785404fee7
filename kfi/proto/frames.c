// SPDX-License-Identifier: GPL-2.0
/*
 * frames.c - what is sent next: the frames of operations and answers, in which order, and where the
 * payload comes from. All functions are called under the link's lock, or after the end of the link,
 * except kfp_more_work() and kfp_answer_queue().
 *
 *   kfp_tx_gather()		frames into the stage, until a long payload follows
 *   kfp_send_next()		the next frame: answers, granted payload, new operations
 *   kfp_send_op()		the frame of an operation
 *
 * A function kfp_send_*() encodes into the stage: a frame, several frames, a part of one, or none
 * if none is due. The link gets them with the next unit (tx.c).
 */
#include "proto.h"

/* ---- encode frames into the stage ---- */

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

void kfp_send_frame(struct kfp_conn *conn, struct kfw_frame *f)
{
	struct kfp_tx *tx = &conn->tx;

	if (READ_ONCE(conn->credit_freed)) {
		spin_lock(&conn->lock);
		kfi_credit_advert(&conn->credit[KFP_CLS_MSG]);
		kfi_credit_advert(&conn->credit[KFP_CLS_TAG]);
		conn->credit_freed = false;
		conn->credit_due = false;
		spin_unlock(&conn->lock);
	}
	f->credit_msg = conn->credit[KFP_CLS_MSG].advertised;
	f->credit_tag = conn->credit[KFP_CLS_TAG].advertised;
	kfw_encode(f, (struct kfw_hdr *)(tx->stage + tx->staged));
	tx->staged += sizeof(struct kfw_hdr);
}

void kfp_send_segments(struct kfp_conn *conn, const struct kfi_oper *op)
{
	struct kfp_tx *tx = &conn->tx;
	unsigned int i;

	for (i = 0; i < op->rma_count; i++) {
		struct kfw_rma *seg = (void *)(tx->stage + tx->staged);

		seg->addr = cpu_to_le64(op->rma[i].addr);
		seg->len = cpu_to_le64(op->rma[i].len);
		seg->key = cpu_to_le64(op->rma[i].key);
		tx->staged += sizeof(*seg);
	}
}

static void kfp_send_invalidate(struct kfp_conn *conn, const struct kfi_oper *op)
{
	struct kfw_rma *seg = (void *)(conn->tx.stage + conn->tx.staged);

	*seg = (struct kfw_rma) { .key = cpu_to_le64(op->inv_key) };
	conn->tx.staged += sizeof(*seg);
}

static bool kfp_is_tagged(const struct kfi_oper *op)
{
	return op->code == KFI_OPC_TSEND || op->code == KFI_OPC_TWRITE || op->code == KFI_OPC_TREAD;
}

static bool kfp_is_message(const struct kfi_oper *op)
{
	return op->code != KFI_OPC_WRITE && op->code != KFI_OPC_READ && op->code != KFI_OPC_FLUSH &&
	       !kfi_opc_is_atomic(op->code) && !kfi_opc_is_place(op->code);
}

/*
 * Rendezvous is used for payload beyond the peer's eager size, and if the completion has to mean
 * that the payload is in the receive.
 */
static bool kfp_is_long(const struct kfp_conn *conn, const struct kfi_oper *op)
{
	return op->code == KFI_OPC_TWRITE || op->len > conn->tx.eager ||
	       (op->flags & KFI_DELIVERY_COMPLETE);
}

static bool kfp_can_splice(const struct kfp_conn *conn, const struct iov_iter *iter, u64 len)
{
	return len > KFP_INLINE && conn->ops->splices &&
	       conn->ops->splices(&conn->link, iter, len);
}

/* Does the operation complete only when the peer has answered? */
static bool kfp_wants_ack(const struct kfp_conn *conn, const struct kfi_oper *op)
{
	return (kfp_op(op)->spliced && !kfp_reports_sent(conn)) ||
	       (op->flags & (KFI_TRANSMIT_COMPLETE | KFI_DELIVERY_COMPLETE));
}

/* Copy the payload behind the frame. Kernel memory can't fault. */
static void kfp_stage_payload(struct kfp_tx *tx, struct kfi_oper *op)
{
	if (kfi_copy_from(tx->stage + tx->staged, &op->iter, op->len) != op->len)
		WARN_ON_ONCE(1);
	tx->staged += op->len;
}

/*
 * Add the payload of the last frame: copy a short payload into the stage, send a longer one behind
 * it.
 */
static void kfp_send_payload(struct kfp_conn *conn, struct kfi_oper *op, bool answered)
{
	struct kfp_tx *tx = &conn->tx;

	if (op->len <= KFP_INLINE && !kfp_op(op)->places && !kfp_op(op)->by_permit) {
		kfp_stage_payload(tx, op);
		__kfi_stat_add(op->ep, copied, op->len);
		kfp_op_sent(conn, op, answered);
		return;
	}
	tx->op = op;
	tx->at = KFP_TX_PAYLOAD;
	kfp_op(op)->answered = answered;
	kfp_op(op)->left = op->len;
	kfp_op(op)->state = KFP_OP_SENDING;
	if (kfp_op(op)->spliced)
		kfi_stat_add(op->ep, spliced, op->len);
	else
		kfi_stat_add(op->ep, copied, op->len);
}

/*
 * The ACK of an operation with KFI_INJECT_COMPLETE may be delayed: its completion shows only that
 * the buffer can be reused.
 */
static u8 kfp_lazy(const struct kfi_oper *op)
{
	return op->flags & KFI_INJECT_COMPLETE ? KFW_F_LAZY : 0;
}

struct kfw_frame kfp_op_frame(const struct kfi_oper *op, u8 type)
{
	return (struct kfw_frame) {
		.type = type,
		.flags = (kfp_is_tagged(op) ? KFW_F_TAGGED : 0) |
			 (op->flags & KFI_REMOTE_CQ_DATA ? KFW_F_CQ_DATA : 0) |
			 (op->flags & KFI_COMMIT_COMPLETE ? KFW_F_COMMIT : 0),
		.id = op->index,
		.gen = op->gen,
		.len = op->len,
		.tag = op->tag,
		.data = op->data,
	};
}

static void kfp_send_message(struct kfp_conn *conn, struct kfi_oper *op)
{
	bool eager = !kfp_is_long(conn, op);
	struct kfw_frame f = kfp_op_frame(op, eager ? KFW_MSG : KFW_RTS);

	kfp_op(op)->spliced = kfp_can_splice(conn, &op->iter, op->len);
	if (op->code == KFI_OPC_TWRITE)
		f.flags |= KFW_F_RMA;
	if (op->flags & KFI_INVALIDATE) {
		f.flags |= KFW_F_INV;
		f.rma_count = 1;
	}
	if (eager) {
		f.payload = op->len;
		if (kfp_wants_ack(conn, op)) {
			f.flags |= KFW_F_ACK | kfp_lazy(op);
			conn->tx.requests++;
		}
	}
	kfp_send_frame(conn, &f);
	if (op->flags & KFI_INVALIDATE)
		kfp_send_invalidate(conn, op);
	if (eager) {
		kfp_send_payload(conn, op, f.flags & KFW_F_ACK);
		return;
	}
	kfp_op(op)->rendezvous = true;
	kfp_op(op)->state = KFP_OP_REQUESTED;
	list_add_tail(&op->link, &conn->tx.waiting);
}

/* Expose the buffer of a read, so that the link of the peer can write the result to it. */
static void kfp_expose_result(struct kfp_conn *conn, struct kfi_oper *op, struct kfw_frame *f)
{
	struct kfp_places *places = kfp_expose(conn, &op->iter, op->len);

	kfp_op(op)->places = places;
	if (!places)
		return;
	places->op = op;
	f->places = places->count;
}

static void kfp_send_rma(struct kfp_conn *conn, struct kfi_oper *op)
{
	struct kfw_frame f = kfp_op_frame(op, op->code == KFI_OPC_WRITE ? KFW_WRITE : KFW_READ);

	conn->tx.requests++;
	f.rma_count = op->rma_count;
	if (op->code == KFI_OPC_READ) {
		f.flags = 0;
		conn->tx.read_segs += kfp_read_segs(op);
		kfp_expose_result(conn, op, &f);
		kfp_send_frame(conn, &f);
		kfp_send_segments(conn, op);
		kfp_send_places(conn, kfp_op(op)->places);
		kfp_op_sent(conn, op, true);
		return;
	}
	kfp_rtw_skipped(conn, op);
	f.payload = op->len;
	f.flags |= kfp_lazy(op);
	kfp_op(op)->spliced = kfp_can_splice(conn, &op->iter, op->len);
	kfp_send_frame(conn, &f);
	kfp_send_segments(conn, op);
	kfp_send_payload(conn, op, true);
}

static void kfp_send_tread(struct kfp_conn *conn, struct kfi_oper *op)
{
	struct kfw_frame f = kfp_op_frame(op, KFW_TREAD);

	f.flags = KFW_F_TAGGED | KFW_F_RMA;
	kfp_expose_result(conn, op, &f);
	kfp_send_frame(conn, &f);
	kfp_send_places(conn, kfp_op(op)->places);
	kfp_op_sent(conn, op, true);
}

/*
 * Send the payload that the peer has granted: to its places, if the CTS named any, and else as
 * frames.
 */
static void kfp_send_data(struct kfp_conn *conn, struct kfi_oper *op)
{
	struct kfw_frame f = kfp_op_frame(op, KFW_DATA);
	bool placed = kfp_op(op)->places;

	list_del(&op->link);
	f.flags = placed ? KFW_F_PLACED : 0;
	f.slot = kfp_op(op)->slot;
	f.payload = placed ? 0 : op->len;
	kfp_op(op)->spliced = placed || kfp_can_splice(conn, &op->iter, op->len);
	kfp_send_frame(conn, &f);
	kfp_send_payload(conn, op, true);
}

/* Send a write whose payload goes to the places of a lasting grant. */
static void kfp_send_placed(struct kfp_conn *conn, struct kfi_oper *op, const struct kfp_permit *p)
{
	struct kfw_frame f = kfp_op_frame(op, KFW_WRITE);

	list_del(&op->link);
	conn->tx.requests++;
	f.rma_count = 1;
	f.flags |= kfp_lazy(op);
	kfp_permit_use(conn, p, op, &f);
	kfp_op(op)->spliced = true;
	kfp_op(op)->by_permit = true;
	kfi_stat_add(op->ep, granted, op->len);
	kfp_send_frame(conn, &f);
	kfp_send_segments(conn, op);
	kfp_send_payload(conn, op, true);
}

static void kfp_send_op(struct kfp_conn *conn, struct kfi_oper *op)
{
	const struct kfp_permit *p;

	if (kfp_op(op)->state == KFP_OP_GRANTED) {
		kfp_send_data(conn, op);
		return;
	}
	p = kfp_permit_find(conn, op);
	if (p) {
		kfp_send_placed(conn, op, p);
		return;
	}
	if (kfp_uses_rtw(conn, op)) {
		kfp_send_rtw(conn, op);
		return;
	}
	list_del(&op->link);
	switch (op->code) {
	case KFI_OPC_WRITE:
	case KFI_OPC_READ:
		kfp_send_rma(conn, op);
		break;
	case KFI_OPC_TREAD:
		kfp_send_tread(conn, op);
		break;
	case KFI_OPC_ATOMIC ... KFI_OPC_COMPARE_ATOMIC:
		kfp_send_atomic(conn, op);
		break;
	case KFI_OPC_FLUSH:
		kfp_send_flush(conn, op);
		break;
	case KFI_OPC_PLACE_GET:
		kfp_send_place_get(conn, op);
		break;
	case KFI_OPC_PLACE_PUT:
		kfp_send_place_put(conn, op);
		break;
	default:
		kfp_send_message(conn, op);
	}
}

static u32 kfp_op_cost(const struct kfp_conn *conn, const struct kfi_oper *op)
{
	return op->code == KFI_OPC_TREAD || kfp_is_long(conn, op) ? 1 : kfw_cost(op->len);
}

static u8 kfp_op_cls(const struct kfi_oper *op)
{
	return kfp_is_tagged(op) ? KFP_CLS_TAG : KFP_CLS_MSG;
}

static bool kfp_may_send(struct kfp_conn *conn, struct kfi_oper *op)
{
	return kfi_credit_take(&conn->tx.credit[kfp_op_cls(op)], kfp_op_cost(conn, op));
}

/* ---- answers ---- */

static struct kfp_answer *kfp_next_answer(struct kfp_conn *conn)
{
	struct kfp_answer *answer;

	if (list_empty_careful(&conn->answers))
		return NULL;
	spin_lock(&conn->lock);
	answer = list_first_entry_or_null(&conn->answers, struct kfp_answer, link);
	if (answer)
		list_del_init(&answer->link);
	spin_unlock(&conn->lock);
	return answer;
}

void kfp_send_ack(struct kfp_conn *conn, struct kfp_answer *answer)
{
	struct kfw_frame f = {
		.type = KFW_ACK,
		.id = answer->id, .gen = answer->gen, .status = answer->status,
	};

	kfp_send_frame(conn, &f);
	kfp_answer_done(conn, answer);
}

static void kfp_send_cts(struct kfp_conn *conn, struct kfp_answer *answer)
{
	struct kfp_inmsg *in = container_of(answer, struct kfp_inmsg, answer);
	struct kfw_frame f = {
		.type = KFW_CTS,
		.id = answer->id, .gen = answer->gen, .slot = answer->slot,
	};

	kfp_inmsg_expose(conn, in);
	if (in->rtw_answer && conn->grants)
		kfp_send_grant(conn, in);
	f.places = in->places ? in->places->count : 0;
	kfp_send_frame(conn, &f);
	kfp_send_places(conn, in->places);
	kfp_rdv_cts_encoded(in);
}

/*
 * May the link reference the pages of the data that is returned next? The end of a region then
 * waits until the link has read it. Data that goes to places of the peer is always referenced.
 */
static bool kfp_hold_source(struct kfp_conn *conn, struct kfp_answer *answer, bool placing)
{
	struct kfp_hold *hold;

	if (!kfp_reports_sent(conn) ||
	    (!placing && !kfp_can_splice(conn, &answer->iter, answer->len)))
		return false;
	if (!answer->mr)
		return true;	/* a receive, which is held until kfi_link_sent() */
	hold = list_first_entry_or_null(&conn->spare_holds, struct kfp_hold, link);
	if (hold)
		list_del(&hold->link);
	else
		hold = kmalloc(sizeof(*hold), GFP_ATOMIC | __GFP_NOWARN);
	if (!hold)
		return false;
	if (!kfi_mr_hold(answer->mr, answer->key)) {
		list_add(&hold->link, &conn->spare_holds);
		return false;
	}
	hold->mr = answer->mr;
	answer->hold = hold;
	return true;
}

/* Release a region whose pages the link does not read any more. */
void kfp_hold_put(struct kfp_conn *conn, struct kfp_hold *hold)
{
	kfi_mr_unhold(hold->mr);
	list_add(&hold->link, &conn->spare_holds);
}

void kfp_hold_drop(struct kfp_conn *conn, struct kfp_answer *answer)
{
	if (answer->hold)
		kfp_hold_put(conn, answer->hold);
	answer->hold = NULL;
}

/*
 * Open the next segment of a read. Return false if there is none, or if it may not be read; then
 * answer->status is the reason.
 */
static bool kfp_read_segment(struct kfp_conn *conn, struct kfp_answer *answer)
{
	const struct kfw_rma *seg = answer->segs ? &answer->segs[answer->seg] : &answer->seg0;

	if (answer->status || answer->seg == answer->nsegs)
		return false;
	answer->seg++;
	answer->len = le64_to_cpu(seg->len);
	answer->key = le64_to_cpu(seg->key);
	answer->mr = kfi_mr_get(&conn->ep->ep, le64_to_cpu(seg->key), le64_to_cpu(seg->addr),
				answer->len, KFI_REMOTE_READ, &answer->iter);
	if (!IS_ERR(answer->mr))
		return true;
	answer->status = answer->seg > 1 ? EREMOTEIO : EACCES;	/* EACCES: no byte has been sent */
	answer->mr = NULL;
	return false;
}

static void kfp_send_read(struct kfp_conn *conn, struct kfp_answer *answer)
{
	struct kfw_frame f = { .type = KFW_READ_DATA, .id = answer->id, .gen = answer->gen };

	if (answer->kind == KFP_ANSWER_TREAD) {
		if (answer->seg++) {
			kfp_send_ack(conn, answer);
			return;
		}
	} else if (!kfp_read_segment(conn, answer)) {
		kfp_send_ack(conn, answer);
		return;
	}
	answer->placing = answer->places && answer->len;
	answer->spliced = kfp_hold_source(conn, answer, answer->placing);
	answer->placing &= answer->spliced;
	f.flags = answer->placing ? KFW_F_PLACED : 0;
	f.payload = f.flags ? 0 : answer->len;
	f.len = answer->len;
	kfp_send_frame(conn, &f);
	conn->tx.answer = answer;
	conn->tx.at = KFP_TX_ANSWER;
}

static void kfp_send_answer(struct kfp_conn *conn, struct kfp_answer *answer)
{
	if (answer->kind == KFP_ANSWER_READ || answer->kind == KFP_ANSWER_TREAD)
		kfp_send_read(conn, answer);
	else if (answer->kind == KFP_ANSWER_FETCHED)
		kfp_send_fetched(conn, answer);
	else if (answer->kind == KFP_ANSWER_CTS)
		kfp_send_cts(conn, answer);
	else if (answer->kind == KFP_ANSWER_PLACE)
		kfp_send_place_answer(conn, answer);
	else
		kfp_send_ack(conn, answer);
}

void kfp_answer_queue(struct kfp_conn *conn, struct kfp_answer *answer)
{
	lockdep_assert_held(&conn->lock);
	list_add_tail(&answer->link, &conn->answers);
}

static void __kfp_lazy_join(struct kfp_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	list_splice_tail_init(&conn->lazy, &conn->answers);
	conn->nr_lazy = 0;
}

/* Move delayed ACKs to the answers, because other frames are being sent. */
void kfp_lazy_join(struct kfp_conn *conn)
{
	if (list_empty_careful(&conn->lazy))
		return;
	spin_lock_bh(&conn->lock);
	__kfp_lazy_join(conn);
	spin_unlock_bh(&conn->lock);
}

/* Queue an ACK in the order of the requests. Called under kfp_conn.lock. */
void kfp_ack_queue(struct kfp_conn *conn, struct kfp_answer *answer, bool lazy)
{
	list_add_tail(&answer->link, &conn->lazy);
	if (!lazy || ++conn->nr_lazy == KFP_LAZY_MAX)
		__kfp_lazy_join(conn);
	else if (!delayed_work_pending(&conn->more_work))
		kfp_conn_queue(conn, &conn->more_work, 1);
}

/*
 * Send delayed ACKs, and delayed posts: those with KFI_MORE whose last post went to another peer or
 * was refused.
 */
void kfp_more_work(struct work_struct *work)
{
	struct kfp_conn *conn = container_of(to_delayed_work(work), struct kfp_conn, more_work);

	rcu_read_lock();
	/*
	 * Not kfp_lazy_join(), which looks at the list without the lock. A context that adds an ACK
	 * while this work is pending does not queue it again, and the lock makes that ACK visible
	 * here.
	 */
	spin_lock_bh(&conn->lock);
	__kfp_lazy_join(conn);
	spin_unlock_bh(&conn->lock);
	if (!test_bit(KFP_DEAD, &conn->flags) &&
	    (!llist_empty(&conn->posted) || !list_empty_careful(&conn->answers)))
		kfp_tx_kick(conn);
	rcu_read_unlock();
}

/* ---- select the next frame ---- */

/*
 * Does a write have to wait? A write whose RTW was sent waits for its CTS. A write with places, of
 * its CTS or of a lasting grant, waits until the peer has performed all earlier writes and atomic
 * operations whose data is in frames, because the bytes that go to places would overtake those
 * frames.
 */
static bool kfp_op_waits(const struct kfp_conn *conn, const struct kfi_oper *op)
{
	switch (kfp_op(op)->state) {
	case KFP_OP_REQUESTED:
		return true;
	case KFP_OP_GRANTED:
		return kfp_op(op)->places && conn->tx.unplaced;
	default:
		return conn->tx.unplaced && kfp_permit_find(conn, op);
	}
}

/* Does the peer have room for the segments of a read, until it has answered earlier ones? */
static bool kfp_segs_fit(const struct kfp_tx *tx, const struct kfi_oper *op)
{
	return kfp_read_segs(op) <= KFW_READ_SEGS - tx->read_segs;
}

/*
 * The write @op waits, and no operation behind it is sent. Return a write among the next operations
 * whose RTW can be sent meanwhile, or NULL.
 */
static struct kfi_oper *kfp_next_rtw(struct kfp_conn *conn, struct kfi_oper *op)
{
	unsigned int ahead = 0;

	list_for_each_entry_continue(op, &conn->tx.queue, link) {
		if (++ahead == KFP_RTW_AHEAD || conn->tx.requests >= conn->tx.requests_max)
			break;
		if (kfp_op(op)->state == KFP_OP_QUEUED && kfp_uses_rtw(conn, op) &&
		    !kfp_permit_find(conn, op))
			return op;
	}
	return NULL;
}

/*
 * Return the next operation: first those that waited for credit, then new ones in order. RMA never
 * waits behind a message without credit.
 */
static struct kfi_oper *kfp_next_op(struct kfp_conn *conn)
{
	struct kfp_tx *tx = &conn->tx;
	struct kfi_oper *op, *next;
	int cls;

	for (cls = 0; cls < KFP_CLS; cls++) {
		op = list_first_entry_or_null(&tx->stalled[cls], struct kfi_oper, link);
		if (op && tx->requests < tx->requests_max && kfp_may_send(conn, op))
			return op;
	}
	list_for_each_entry_safe(op, next, &tx->queue, link) {
		if (kfp_op_waits(conn, op))
			return kfp_next_rtw(conn, op);
		if (kfp_op(op)->state == KFP_OP_GRANTED)
			return op;
		if (tx->requests >= tx->requests_max)
			return NULL;
		if (!kfp_is_message(op))
			return kfp_segs_fit(tx, op) ? op : NULL;
		cls = kfp_op_cls(op);
		if (list_empty(&tx->stalled[cls]) && kfp_may_send(conn, op))
			return op;
		list_move_tail(&op->link, &tx->stalled[cls]);
	}
	return NULL;
}

/*
 * Will another frame certainly follow the current one, so that the link may wait for it? Credit
 * only grows until then.
 */
bool kfp_tx_follows(struct kfp_conn *conn)
{
	struct kfp_tx *tx = &conn->tx;
	struct kfi_oper *op = list_first_entry_or_null(&tx->queue, struct kfi_oper, link);
	u8 cls;

	/*
	 * A write whose RTW was sent may have to wait for the operation that is being sent, and a
	 * place may need no frame.
	 */
	if (!op || tx->requests >= tx->requests_max || kfp_op(op)->state != KFP_OP_QUEUED ||
	    kfi_opc_is_place(op->code))
		return false;
	if (!kfp_is_message(op))
		return kfp_segs_fit(tx, op) &&
		       !((tx->unplaced || kfp_unplaced(tx->op)) && kfp_permit_find(conn, op));
	cls = kfp_op_cls(op);
	return list_empty(&tx->stalled[cls]) &&
	       kfi_credit_covers(&tx->credit[cls], kfp_op_cost(conn, op));
}

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

static noinline void kfp_send_header(struct kfp_conn *conn, u8 type)
{
	struct kfw_frame f = { .type = type };

	kfp_send_frame(conn, &f);
}

/*
 * Is there no frame to send? This is the usual case, and cheaper to find out here than in
 * kfp_send_next().
 */
bool kfp_tx_empty(struct kfp_conn *conn)
{
	const struct kfp_tx *tx = &conn->tx;

	return llist_empty(&conn->posted) && list_empty(&tx->queue) && list_empty(&tx->granted) &&
	       list_empty(&tx->stalled[KFP_CLS_MSG]) && list_empty(&tx->stalled[KFP_CLS_TAG]) &&
	       list_empty_careful(&conn->answers) && !READ_ONCE(conn->credit_due) && !tx->recalls &&
	       !test_bit(KFP_BYE_WANTED, &conn->flags);
}

static bool kfp_send_control(struct kfp_conn *conn)
{
	if (READ_ONCE(conn->credit_due))
		kfp_send_header(conn, KFW_CREDIT);
	else if (kfp_bye_due(conn))
		kfp_send_header(conn, KFW_BYE);
	else
		return false;
	return true;
}

/*
 * May a granted payload be sent after the next part of this answer? It may after the data of each
 * segment except the last one, which the ACK follows at once, and after that ACK.
 */
static bool kfp_answer_yields(const struct kfp_answer *answer)
{
	switch (answer->kind) {
	case KFP_ANSWER_READ:
		return answer->seg + 1 != answer->nsegs;
	case KFP_ANSWER_TREAD:
		return answer->seg;
	default:
		return answer->kind == KFP_ANSWER_FETCHED;
	}
}

/*
 * Encode the next frame. Recalls and their answers are sent first: owners of regions wait for them,
 * and there are few. Answers are sent before granted payloads, but after returned data one
 * granted payload is sent. Otherwise a peer that always has reads outstanding would delay the
 * messages that it has granted beyond their deadline.
 */
static bool kfp_send_next(struct kfp_conn *conn)
{
	struct kfp_tx *tx = &conn->tx;
	struct kfp_answer *answer = NULL;
	struct kfi_oper *op;

	if (unlikely(tx->recalls)) {
		kfp_send_recalls(conn);
		return true;
	}
	if (!tx->yields || list_empty(&tx->granted))
		answer = kfp_next_answer(conn);
	tx->yields = answer && kfp_answer_yields(answer);
	if (answer) {
		kfp_send_answer(conn, answer);
		return true;
	}
	op = list_first_entry_or_null(&tx->granted, struct kfi_oper, link);
	if (op) {
		kfp_send_data(conn, op);
		return true;
	}
	op = kfp_next_op(conn);
	if (op) {
		kfp_send_op(conn, op);
		return true;
	}
	return kfp_send_control(conn);
}

#define KFP_FRAME_MAX	(sizeof(struct kfw_hdr) + KFW_RMA_MAX * sizeof(struct kfw_rma) +	\
			 KFW_PLACES_MAX * sizeof(struct kfw_place) + KFP_INLINE)
static_assert(KFP_FRAME_MAX < KFP_STAGE);

void kfp_tx_gather(struct kfp_conn *conn)
{
	struct kfp_tx *tx = &conn->tx;

	while (tx->at == KFP_TX_FRAMES && tx->staged + KFP_FRAME_MAX <= KFP_STAGE &&
	       kfp_send_next(conn))
		kfp_lazy_join(conn);
}
