// SPDX-License-Identifier: GPL-2.0
/*
 * tx.c - the send path, in the order in which a message takes it.
 *
 *   ks_tx() -> ks_rdm_tx() or ks_msg_tx()	which connection?
 *   ks_tx_post()				onto its lock-free list
 *   ks_tx_kick()				one poster becomes the runner
 *   ks_tx_run()				frames are gathered, credits spent, TCP is fed
 *   ks_op_sent()				complete, or wait for the peer's answer
 *
 * busy makes the runner: whoever sets it runs the transmit side under the socket lock, or hands that duty to
 * tx_work. Everybody else leaves kick behind and goes: the runner looks at it after it has cleared busy. The runner
 * only tries the socket lock, see sock.h.
 */
#include <linux/bvec.h>
#include <linux/tcp.h>
#include <net/tcp.h>
#include "sock.h"

int ks_tx(struct kfi_ep *ep, struct kfi_oper *op)
{
	struct ks_ep *sep = to_ks_ep(ep);

	/* A receive is nobody's to make durable. */
	if (unlikely(op->flags & KFI_COMMIT_COMPLETE) && op->code == KFI_OPC_TWRITE)
		return -EOPNOTSUPP;
	*ks_op(op) = (struct ks_op) { .state = KS_OP_QUEUED };
	switch (ep->type) {
	case KFI_EP_RDM:
		return ks_rdm_tx(sep, op);
	case KFI_EP_MSG:
		return ks_msg_tx(sep, op);
	default:
		return ks_dgram_tx(sep, op);
	}
}

/* Called inside rcu_read_lock(), which keeps the connection from collecting its list before us. */
void ks_tx_post(struct ks_conn *conn, struct kfi_oper *op)
{
	bool more = op->flags & KFI_MORE;

	ks_op(op)->conn = conn;
	llist_add(&op->lnode, &conn->posted);
	if (!more)
		ks_tx_kick(conn);
	else if (!delayed_work_pending(&conn->more_work))
		ks_conn_queue(conn, &conn->more_work, 1);
}

/* A series without a last one. Those to peers of an RDM endpoint leave with more_work. */
void ks_tx_flush(struct kfi_ep *ep)
{
	struct kfi_peer_conn *way = kfi_home_way(&to_ks_ep(ep)->home);

	if (way && !llist_empty(&to_ks_conn(way)->posted))
		ks_tx_kick(to_ks_conn(way));
}

static void ks_tx_defer(struct ks_conn *conn, unsigned int delay_ms)
{
	ks_conn_queue(conn, &conn->tx_work, msecs_to_jiffies(delay_ms));
}

void ks_tx_kick(struct ks_conn *conn)
{
	WRITE_ONCE(conn->kick, true);
	if (test_and_set_bit(0, &conn->busy))
		return;
	if (!ks_conn_trylock(conn)) {
		ks_tx_defer(conn, 0);
		return;
	}
	ks_tx_run_locked(conn);
	ks_conn_unlock(conn);
}

/* The deferred runner: it owns busy from the moment it was queued. No consumer lock is held here: handlers may run. */
void ks_tx_work(struct work_struct *work)
{
	struct ks_conn *conn = container_of(to_delayed_work(work), struct ks_conn, tx_work);

	local_bh_disable();
	kfi_batch_begin();
	if (ks_conn_lock(conn)) {
		ks_tx_run_locked(conn);
		ks_conn_unlock(conn);
	} else if (!test_bit(KS_DEAD, &conn->flags)) {
		ks_tx_defer(conn, 1);
	}
	kfi_batch_end();
	local_bh_enable();
}

/* ---- frames into the stage buffer ---- */

static void ks_tx_collect(struct ks_conn *conn)
{
	struct llist_node *posted;
	struct kfi_oper *op, *next;

	if (llist_empty(&conn->posted))	/* most often: an xchg saved */
		return;
	posted = llist_reverse_order(llist_del_all(&conn->posted));
	llist_for_each_entry_safe(op, next, posted, lnode)
		list_add_tail(&op->link, &conn->tx.queue);
}

void ks_put_frame(struct ks_conn *conn, struct skw_frame *f)
{
	struct ks_tx *tx = &conn->tx;

	spin_lock(&conn->lock);
	f->credit_msg = kfi_credit_advert(&conn->credit[KS_CLS_MSG]);
	f->credit_tag = kfi_credit_advert(&conn->credit[KS_CLS_TAG]);
	conn->credit_due = false;
	spin_unlock(&conn->lock);
	skw_encode(f, (struct skw_hdr *)(tx->stage + tx->staged));
	tx->staged += sizeof(struct skw_hdr);
}

void ks_put_segments(struct ks_conn *conn, const struct kfi_oper *op)
{
	struct ks_tx *tx = &conn->tx;
	unsigned int i;

	for (i = 0; i < op->rma_count; i++) {
		struct skw_rma *seg = (void *)(tx->stage + tx->staged);

		seg->addr = cpu_to_le64(op->rma[i].addr);
		seg->len = cpu_to_le64(op->rma[i].len);
		seg->key = cpu_to_le64(op->rma[i].key);
		tx->staged += sizeof(*seg);
	}
}

static void ks_put_invalidate(struct ks_conn *conn, const struct kfi_oper *op)
{
	struct skw_rma *seg = (void *)(conn->tx.stage + conn->tx.staged);

	*seg = (struct skw_rma) { .key = cpu_to_le64(op->inv_key) };
	conn->tx.staged += sizeof(*seg);
}

static bool ks_is_tagged(const struct kfi_oper *op)
{
	return op->code == KFI_OPC_TSEND || op->code == KFI_OPC_TWRITE || op->code == KFI_OPC_TREAD;
}

static bool ks_is_message(const struct kfi_oper *op)
{
	return op->code != KFI_OPC_WRITE && op->code != KFI_OPC_READ && op->code != KFI_OPC_FLUSH &&
	       !kfi_opc_is_atomic(op->code);
}

/* Rendezvous: too long for the peer's buffers, or its completion means "in the receiver's buffer". */
static bool ks_is_long(const struct ks_conn *conn, const struct kfi_oper *op)
{
	return op->code == KFI_OPC_TWRITE || op->len > conn->tx.eager || (op->flags & KFI_DELIVERY_COMPLETE);
}

static bool ks_can_splice(const struct kfi_oper *op)
{
	const struct bio_vec *bv = op->iter.bvec;
	unsigned long i;

	if (!MSG_SPLICE_PAGES || !ks_splice || !iov_iter_is_bvec(&op->iter) || op->len < KS_SPLICE_MIN)
		return false;
	for (i = 0; i < op->iter.nr_segs; i++)
		if (!sendpages_ok(bv[i].bv_page, bv[i].bv_len, bv[i].bv_offset))
			return false;
	return true;
}

/* Has the payload left the consumer's memory only when the peer says so? */
static bool ks_wants_ack(const struct kfi_oper *op)
{
	return ks_op(op)->spliced || (op->flags & (KFI_TRANSMIT_COMPLETE | KFI_DELIVERY_COMPLETE));
}

/*
 * All of the operation is with TCP or in the stage buffer. Its end in the stream is kept for
 * ks_op_acked().
 */
void ks_op_sent(struct ks_conn *conn, struct kfi_oper *op, bool answered)
{
	const struct ks_tx *tx = &conn->tx;

	if (!answered) {
		kfi_tx_complete(op, 0);
		return;
	}
	ks_op(op)->end = tx->bytes + tx->staged - tx->written;
	ks_op(op)->state = KS_OP_UNANSWERED;
	list_add_tail(&op->link, &conn->tx.waiting);
}

/* Kernel memory can't fault. */
static void ks_stage_payload(struct ks_tx *tx, struct kfi_oper *op)
{
	if (kfi_copy_from(tx->stage + tx->staged, &op->iter, op->len) != op->len)
		WARN_ON_ONCE(1);
	tx->staged += op->len;
}

/* A payload follows the frame just put: gather it if short, else leave it to ks_tx_payload(). */
static void ks_put_payload(struct ks_conn *conn, struct kfi_oper *op, bool answered)
{
	struct ks_tx *tx = &conn->tx;

	if (op->len <= KS_INLINE) {
		ks_stage_payload(tx, op);
		__kfi_stat_add(op->ep, copied, op->len);
		ks_op_sent(conn, op, answered);
		return;
	}
	tx->op = op;
	tx->at = KS_TX_PAYLOAD;
	ks_op(op)->answered = answered;
	ks_op(op)->left = op->len;
	ks_op(op)->state = KS_OP_SENDING;
	if (ks_op(op)->spliced)
		kfi_stat_add(op->ep, spliced, op->len);
	else
		kfi_stat_add(op->ep, copied, op->len);
}

/* Whose end nobody is in a hurry to hear of: who asks for the weakest level by name wants his buffer back, some time. */
static u8 ks_lazy(const struct ks_conn *conn, const struct kfi_oper *op)
{
	return (op->flags & KFI_INJECT_COMPLETE) && conn->tx.version >= SKW_VERSION_LAZY ? SKW_F_LAZY : 0;
}

struct skw_frame ks_op_frame(const struct kfi_oper *op, u8 type)
{
	return (struct skw_frame) {
		.type = type,
		.flags = (ks_is_tagged(op) ? SKW_F_TAGGED : 0) | (op->flags & KFI_REMOTE_CQ_DATA ? SKW_F_CQ_DATA : 0) |
			 (op->flags & KFI_COMMIT_COMPLETE ? SKW_F_COMMIT : 0),
		.id = op->index,
		.gen = op->gen,
		.len = op->len,
		.tag = op->tag,
		.data = op->data,
	};
}

static void ks_put_message(struct ks_conn *conn, struct kfi_oper *op)
{
	bool eager = !ks_is_long(conn, op);
	struct skw_frame f = ks_op_frame(op, eager ? SKW_MSG : SKW_RTS);

	ks_op(op)->spliced = ks_can_splice(op);
	if (op->code == KFI_OPC_TWRITE) {
		f.flags |= SKW_F_RMA;
		f.tag = op->rma[0].key;
	}
	if (op->flags & KFI_INVALIDATE) {
		f.flags |= SKW_F_INV;
		f.rma_count = 1;
	}
	if (eager) {
		f.payload = op->len;
		if (ks_wants_ack(op)) {
			f.flags |= SKW_F_ACK | ks_lazy(conn, op);
			conn->tx.requests++;
		}
	}
	ks_put_frame(conn, &f);
	if (op->flags & KFI_INVALIDATE)
		ks_put_invalidate(conn, op);
	if (eager) {
		ks_put_payload(conn, op, f.flags & SKW_F_ACK);
		return;
	}
	ks_op(op)->asked = true;
	ks_op(op)->state = KS_OP_ASKED;
	list_add_tail(&op->link, &conn->tx.waiting);
}

static void ks_put_rma(struct ks_conn *conn, struct kfi_oper *op)
{
	struct skw_frame f = ks_op_frame(op, op->code == KFI_OPC_WRITE ? SKW_WRITE : SKW_READ);

	conn->tx.requests++;
	f.rma_count = op->rma_count;
	if (op->code == KFI_OPC_READ) {
		f.flags = 0;
		ks_put_frame(conn, &f);
		ks_put_segments(conn, op);
		ks_op_sent(conn, op, true);
		return;
	}
	f.payload = op->len;
	f.flags |= ks_lazy(conn, op);
	ks_op(op)->spliced = ks_can_splice(op);
	ks_put_frame(conn, &f);
	ks_put_segments(conn, op);
	ks_put_payload(conn, op, true);
}

static void ks_put_tread(struct ks_conn *conn, struct kfi_oper *op)
{
	struct skw_frame f = ks_op_frame(op, SKW_TREAD);

	f.flags = SKW_F_TAGGED | SKW_F_RMA;
	f.tag = op->rma[0].key;
	ks_put_frame(conn, &f);
	ks_op_sent(conn, op, true);
}

static void ks_put_op(struct ks_conn *conn, struct kfi_oper *op)
{
	list_del(&op->link);
	if (unlikely(conn->tx.version < SKW_VERSION) && ks_op_too_new(conn, op)) {
		kfi_tx_complete(op, -EOPNOTSUPP);
		return;
	}
	switch (op->code) {
	case KFI_OPC_WRITE:
	case KFI_OPC_READ:
		ks_put_rma(conn, op);
		break;
	case KFI_OPC_TREAD:
		ks_put_tread(conn, op);
		break;
	case KFI_OPC_ATOMIC ... KFI_OPC_COMPARE_ATOMIC:
		ks_put_atomic(conn, op);
		break;
	case KFI_OPC_FLUSH:
		ks_put_flush(conn, op);
		break;
	default:
		ks_put_message(conn, op);
	}
}

/* The payload of a rendezvous that the peer has granted. */
static void ks_put_granted(struct ks_conn *conn, struct kfi_oper *op)
{
	struct skw_frame f = ks_op_frame(op, SKW_DATA);

	list_del(&op->link);
	f.flags = 0;
	f.slot = ks_op(op)->slot;
	f.payload = op->len;
	ks_put_frame(conn, &f);
	ks_put_payload(conn, op, true);
}

static u32 ks_op_cost(const struct ks_conn *conn, const struct kfi_oper *op)
{
	return op->code == KFI_OPC_TREAD || ks_is_long(conn, op) ? 1 : skw_cost(op->len);
}

static bool ks_may_send(struct ks_conn *conn, struct kfi_oper *op)
{
	u8 cls = ks_is_tagged(op) ? KS_CLS_TAG : KS_CLS_MSG;

	return kfi_credit_take(&conn->tx.credit[cls], ks_op_cost(conn, op));
}

/* ---- answers ---- */

static struct ks_answer *ks_next_answer(struct ks_conn *conn)
{
	struct ks_answer *answer;

	if (list_empty_careful(&conn->answers))
		return NULL;
	spin_lock(&conn->lock);
	answer = list_first_entry_or_null(&conn->answers, struct ks_answer, link);
	if (answer)
		list_del_init(&answer->link);
	spin_unlock(&conn->lock);
	return answer;
}

void ks_put_verdict(struct ks_conn *conn, struct ks_answer *answer)
{
	struct skw_frame f = {
		.type = answer->kind == KS_ANSWER_CTS ? SKW_CTS : SKW_ACK,
		.id = answer->id, .gen = answer->gen, .slot = answer->slot, .status = answer->status,
	};

	ks_put_frame(conn, &f);
	if (answer->kind == KS_ANSWER_CTS)
		ks_inmsg_granted(container_of(answer, struct ks_inmsg, answer));
	else
		ks_answer_done(conn, answer);
}

/* Open the next segment of a read; false: there is none, or it may not be read (then status says so). */
static bool ks_read_segment(struct ks_conn *conn, struct ks_answer *answer)
{
	const struct skw_rma *seg = answer->segs ? &answer->segs[answer->seg] : &answer->seg0;

	if (answer->status || answer->seg == answer->nsegs)
		return false;
	answer->seg++;
	answer->len = le64_to_cpu(seg->len);
	answer->key = le64_to_cpu(seg->key);
	answer->mr = kfi_mr_get(&conn->sep->ep, le64_to_cpu(seg->key), le64_to_cpu(seg->addr), answer->len,
				KFI_REMOTE_READ, &answer->iter);
	if (!IS_ERR(answer->mr))
		return true;
	answer->status = answer->seg > 1 ? EREMOTEIO : EACCES;	/* the latter: nothing has moved */
	answer->mr = NULL;
	return false;
}

static void ks_put_read(struct ks_conn *conn, struct ks_answer *answer)
{
	struct skw_frame f = { .type = SKW_READ_DATA, .id = answer->id, .gen = answer->gen };

	if (answer->kind == KS_ANSWER_TREAD) {
		if (answer->seg++) {
			ks_put_verdict(conn, answer);
			return;
		}
	} else if (!ks_read_segment(conn, answer)) {
		ks_put_verdict(conn, answer);
		return;
	}
	f.payload = answer->len;
	f.len = answer->len;
	ks_put_frame(conn, &f);
	conn->tx.answer = answer;
	conn->tx.at = KS_TX_ANSWER;
}

static void ks_put_answer(struct ks_conn *conn, struct ks_answer *answer)
{
	if (answer->kind == KS_ANSWER_READ || answer->kind == KS_ANSWER_TREAD)
		ks_put_read(conn, answer);
	else if (answer->kind == KS_ANSWER_FETCHED)
		ks_put_fetched(conn, answer);
	else
		ks_put_verdict(conn, answer);
}

void ks_answer_queue(struct ks_conn *conn, struct ks_answer *answer)
{
	lockdep_assert_held(&conn->lock);
	list_add_tail(&answer->link, &conn->answers);
}

static void __ks_lazy_join(struct ks_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	list_splice_tail_init(&conn->lazy, &conn->answers);
	conn->nr_lazy = 0;
}

/* Acknowledgements without hurry: they go with whatever goes, or when they have waited long enough. */
static void ks_lazy_join(struct ks_conn *conn)
{
	if (list_empty_careful(&conn->lazy))
		return;
	spin_lock_bh(&conn->lock);
	__ks_lazy_join(conn);
	spin_unlock_bh(&conn->lock);
}

/* A verdict, in the order in which the requests came. Under ks_conn.lock. */
void ks_verdict_queue(struct ks_conn *conn, struct ks_answer *answer, bool lazy)
{
	list_add_tail(&answer->link, &conn->lazy);
	if (!lazy || ++conn->nr_lazy == KS_LAZY_MAX)
		__ks_lazy_join(conn);
	else if (!delayed_work_pending(&conn->more_work))
		ks_conn_queue(conn, &conn->more_work, 1);
}

/* The last of a series went to another peer, or was refused; or answers have waited for company. */
void ks_more_work(struct work_struct *work)
{
	struct ks_conn *conn = container_of(to_delayed_work(work), struct ks_conn, more_work);

	rcu_read_lock();
	/* Not ks_lazy_join(): who has added one while we were pending counts on us, and it is the lock by which we see it. */
	spin_lock_bh(&conn->lock);
	__ks_lazy_join(conn);
	spin_unlock_bh(&conn->lock);
	if (!test_bit(KS_DEAD, &conn->flags) && (!llist_empty(&conn->posted) || !list_empty_careful(&conn->answers)))
		ks_tx_kick(conn);
	rcu_read_unlock();
}

/* ---- what goes next ---- */

/* Operations that waited for credit, then new ones in their order. RMA never waits behind a message without credit. */
static struct kfi_oper *ks_next_op(struct ks_conn *conn)
{
	struct ks_tx *tx = &conn->tx;
	struct kfi_oper *op, *next;
	int cls;

	for (cls = 0; cls < KS_CLS; cls++) {
		op = list_first_entry_or_null(&tx->stalled[cls], struct kfi_oper, link);
		if (op && tx->requests < tx->requests_max && ks_may_send(conn, op))
			return op;
	}
	list_for_each_entry_safe(op, next, &tx->queue, link) {
		if (tx->requests >= tx->requests_max)
			return NULL;
		if (!ks_is_message(op))
			return op;
		cls = ks_is_tagged(op) ? KS_CLS_TAG : KS_CLS_MSG;
		if (list_empty(&tx->stalled[cls]) && ks_may_send(conn, op))
			return op;
		list_move_tail(&op->link, &tx->stalled[cls]);
	}
	return NULL;
}

/*
 * Is a frame certain to be sent right behind what is under way, so that TCP may wait for it? Credit only grows until then. What TCP
 * does not take for lack of room goes out with the acknowledgements that make room.
 */
bool ks_tx_follows(struct ks_conn *conn)
{
	struct ks_tx *tx = &conn->tx;
	struct kfi_oper *op = list_first_entry_or_null(&tx->queue, struct kfi_oper, link);
	u8 cls;

	if (!op || tx->requests >= tx->requests_max || (unlikely(tx->version < SKW_VERSION) && ks_op_too_new(conn, op)))
		return false;
	if (!ks_is_message(op))
		return true;
	cls = ks_is_tagged(op) ? KS_CLS_TAG : KS_CLS_MSG;
	return list_empty(&tx->stalled[cls]) && kfi_credit_covers(&tx->credit[cls], ks_op_cost(conn, op));
}

/* Nothing posted is left to be sent or answered. Socket lock held, or the connection is down. */
bool ks_drained(const struct ks_conn *conn)
{
	const struct ks_tx *tx = &conn->tx;

	return !tx->op && llist_empty(&conn->posted) &&
	       list_empty(&tx->queue) && list_empty(&tx->waiting) && list_empty(&tx->granted) &&
	       list_empty(&tx->stalled[KS_CLS_MSG]) && list_empty(&tx->stalled[KS_CLS_TAG]);
}

/* The end is wanted, and what was posted before the wish has gone: looked at in this order. */
static bool ks_bye_due(struct ks_conn *conn)
{
	if (!test_bit(KS_BYE_WANTED, &conn->flags))
		return false;
	smp_rmb();		/* pairs with ks_msg_shutdown() */
	return ks_drained(conn) && !test_and_set_bit(KS_BYE_SENT, &conn->flags);
}

static noinline void ks_put_bare(struct ks_conn *conn, u8 type)
{
	struct skw_frame f = { .type = type };

	ks_put_frame(conn, &f);
}

static bool ks_put_control(struct ks_conn *conn)
{
	if (READ_ONCE(conn->credit_due))
		ks_put_bare(conn, SKW_CREDIT);
	else if (ks_bye_due(conn))
		ks_put_bare(conn, SKW_BYE);
	else
		return false;
	return true;
}

/*
 * Is it the turn of a granted payload when the next part of this answer has gone? It is after the
 * data of each segment, but the verdict follows the last one at once.
 */
static bool ks_answer_yields(const struct ks_answer *answer)
{
	switch (answer->kind) {
	case KS_ANSWER_READ:
		return answer->seg + 1 != answer->nsegs;
	case KS_ANSWER_TREAD:
		return answer->seg;
	default:
		return answer->kind == KS_ANSWER_FETCHED;
	}
}

/*
 * Answers go before granted payloads, but data that was asked for lets one granted payload pass: a
 * peer that always has reads under way would starve the messages that it has granted, and these
 * have a deadline there.
 */
static bool ks_put_next(struct ks_conn *conn)
{
	struct ks_tx *tx = &conn->tx;
	struct ks_answer *answer = NULL;
	struct kfi_oper *op;

	if (!tx->yields || list_empty(&tx->granted))
		answer = ks_next_answer(conn);
	tx->yields = answer && ks_answer_yields(answer);
	if (answer) {
		ks_put_answer(conn, answer);
		return true;
	}
	op = list_first_entry_or_null(&tx->granted, struct kfi_oper, link);
	if (op) {
		ks_put_granted(conn, op);
		return true;
	}
	op = ks_next_op(conn);
	if (op) {
		ks_put_op(conn, op);
		return true;
	}
	return ks_put_control(conn);
}

#define KS_FRAME_MAX	(sizeof(struct skw_hdr) + SKW_RMA_MAX * sizeof(struct skw_rma) + KS_INLINE)
static_assert(KS_FRAME_MAX < KS_STAGE);

static void ks_tx_gather(struct ks_conn *conn)
{
	struct ks_tx *tx = &conn->tx;

	while (tx->at == KS_TX_FRAMES && tx->staged + KS_FRAME_MAX <= KS_STAGE && ks_put_next(conn))
		ks_lazy_join(conn);
}

/* ---- the runner ---- */

static int ks_tx_step(struct ks_conn *conn)
{
	int ret;

	ks_tx_gather(conn);
	if (!conn->tx.staged && conn->tx.at == KS_TX_FRAMES)
		return 1;	/* nothing left */
	ret = ks_tx_frames(conn);
	if (ret)
		return ret;
	switch (conn->tx.at) {
	case KS_TX_PAYLOAD:
		return ks_tx_payload(conn);
	case KS_TX_ANSWER:
		return ks_tx_answer(conn);
	default:
		return 0;
	}
}

/* This CPU's buffer, unless TCP has left something in the connection's own. */
static struct ks_stage *ks_stage_take(struct ks_tx *tx)
{
	struct ks_stage *stage = this_cpu_ptr(ks_stages);

	/* On a preemptible softirq the CPU's buffer would not be ours alone. */
	if (IS_ENABLED(CONFIG_PREEMPT_RT) || unlikely(tx->staged || stage->taken))
		return NULL;
	stage->taken = true;
	tx->stage = stage->buf;
	return stage;
}

static void ks_stage_return(struct ks_tx *tx, struct ks_stage *stage)
{
	if (unlikely(!stage))
		return;
	if (unlikely(tx->staged)) {
		tx->staged -= tx->written;
		memcpy(tx->held, tx->stage + tx->written, tx->staged);
		tx->written = 0;
	}
	tx->stage = tx->held;
	stage->taken = false;
}

static int ks_tx_steps(struct ks_conn *conn)
{
	u64 until = conn->tx.bytes + KS_TX_BUDGET;
	int ret;

	ks_tx_collect(conn);
	if (unlikely(test_bit(KS_BYE_WANTED, &conn->flags)))
		ks_lazy_join(conn);	/* nothing may follow a BYE */
	do {
		ret = ks_tx_step(conn);
		if (ret == 1 && !llist_empty(&conn->posted)) {
			ks_tx_collect(conn);
			ret = 0;
		}
	} while (!ret && conn->tx.bytes < until);
	return ret;
}

/* Feed TCP until it is full, nothing is left, or it has been long. Return: true if tx_work has to go on. */
static bool ks_tx_run(struct ks_conn *conn)
{
	struct ks_stage *stage;
	int ret;

	if (conn->state != KS_READY || test_bit(KS_DEAD, &conn->flags))
		return false;
	stage = ks_stage_take(&conn->tx);
	ret = ks_tx_steps(conn);
	ks_stage_return(&conn->tx, stage);
	if (!ret)
		return true;
	if (ret < 0 && ret != -EAGAIN)
		ks_conn_fail(conn, ret);
	if (ret == 1 && test_bit(KS_BYE_SENT, &conn->flags))
		ks_greet_bye(conn);
	return false;
}

/* TCP refused although it holds nothing of ours: it had no memory, and no acknowledgement will come to wake us. */
static bool ks_tx_starved(struct ks_conn *conn)
{
	return (conn->tx.staged || conn->tx.at != KS_TX_FRAMES) && !READ_ONCE(conn->sk->sk_wmem_queued) &&
	       !test_bit(KS_FAILED, &conn->flags);
}

/* Socket lock and busy are held; the latter is given up, or passed on to tx_work. */
void ks_tx_run_locked(struct ks_conn *conn)
{
	do {
		WRITE_ONCE(conn->kick, false);
		smp_mb();		/* a post before our look at the list is seen, one after it kicks */
		if (ks_tx_run(conn)) {
			ks_tx_defer(conn, 0);
			return;
		}
		if (conn->state == KS_READY && ks_tx_starved(conn)) {
			ks_tx_defer(conn, 1);
			return;
		}
		smp_store_release(&conn->busy, 0);	/* what the runner did is seen by the next */
		smp_mb();		/* pairs with test_and_set_bit() in ks_tx_kick() */
	} while (READ_ONCE(conn->kick) && !test_and_set_bit(0, &conn->busy));
}

/* TCP has room again. Called with the socket lock held, mostly in softirq when an acknowledgement arrives. */
void ks_write_space(struct sock *sk)
{
	struct ks_conn *conn = sk->sk_user_data;

	if (!conn || !sk_stream_is_writeable(sk))
		return;
	clear_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	WRITE_ONCE(conn->kick, true);
	if (test_and_set_bit(0, &conn->busy))
		return;
	local_bh_disable();
	kfi_batch_begin();
	ks_tx_run_locked(conn);
	kfi_batch_end();
	local_bh_enable();
}

/* ---- the end ---- */

/* Nothing of it may look as if it waited for an answer: another connection can be born at the same address. */
static void ks_op_fail(struct kfi_oper *op, int err)
{
	ks_op(op)->state = KS_OP_QUEUED;
	ks_op(op)->conn = NULL;
	kfi_tx_complete(op, err);
}

static void ks_fail_list(struct list_head *list, int err)
{
	struct kfi_oper *op, *next;

	list_for_each_entry_safe(op, next, list, link) {
		list_del(&op->link);
		ks_op_fail(op, err);
	}
}

/* The socket is closed and nobody posts any more: every operation ends here. */
void ks_tx_flush_all(struct ks_conn *conn, int err)
{
	struct ks_tx *tx = &conn->tx;
	int cls;

	ks_tx_collect(conn);
	if (tx->op)
		ks_op_fail(tx->op, err);
	tx->op = NULL;
	ks_fail_list(&tx->waiting, err);
	ks_fail_list(&tx->granted, err);
	for (cls = 0; cls < KS_CLS; cls++)
		ks_fail_list(&tx->stalled[cls], err);
	ks_fail_list(&tx->queue, err);
}
