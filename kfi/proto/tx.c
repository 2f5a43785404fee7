// SPDX-License-Identifier: GPL-2.0
/*
 * tx.c - the transmit side. A message passes through these functions:
 *
 *   kfi_proto_tx()		find the connection, add the operation to its lock-free list
 *   kfp_tx_kick()		become the runner, unless another context is
 *   kfp_tx_run()		post units to the link
 *   kfp_unit_next()		the next unit: frames (frames.c), and the payload of the last one
 *   kfp_unit_accepted()		account for what the link has accepted of it
 *   kfp_op_sent()		complete the operation, or wait for the answer of the peer
 *
 * kfp_conn.busy selects the runner. The context that sets it runs the transmit side under the
 * link's lock, or leaves this to tx_work. All other contexts set kfp_conn.kick and return; the
 * runner reads it after it has cleared busy. A post only tries the link's lock, see proto.h.
 */
#include <linux/bvec.h>
#include <linux/export.h>
#include "peers.h"

int kfi_proto_tx(struct kfi_ep *ep, struct kfi_oper *op)
{
	struct kfi_proto_ep *pe = to_proto_ep(ep);
	struct kfi_peer_conn *pc;
	struct kfp_conn *conn;
	bool more;

	/* The owner of a region can't make the contents of a receive durable. */
	if (unlikely(op->flags & KFI_COMMIT_COMPLETE) && op->code == KFI_OPC_TWRITE)
		return -EOPNOTSUPP;
	*kfp_op(op) = (struct kfp_op) { .state = KFP_OP_QUEUED };
	if (unlikely(op->code == KFI_OPC_PLACE_PUT)) {
		conn = kfp_dev_place_conn(op->place);
		if (!conn) {
			kfi_tx_complete(op, op->len ? -ECONNRESET : 0);
			return 0;
		}
	} else if (ep->type == KFI_EP_RDM) {
		pc = kfi_peer_find_conn(&pe->peers, op);
		if (IS_ERR_OR_NULL(pc))
			return PTR_ERR_OR_ZERO(pc);
		conn = to_kfp_conn(pc);
	} else {
		pc = kfi_conn_set_conn(&pe->conn_set);
		if (unlikely(!pc))
			return -ENOTCONN;
		conn = to_kfp_conn(pc);
	}
	if (ep->type != KFI_EP_RDM && unlikely(test_bit(KFP_BYE_WANTED, &conn->flags)))
		return -ESHUTDOWN;
	/*
	 * The end of the connection waits for the RCU section of this post before it collects
	 * @posted.
	 */
	more = op->flags & KFI_MORE;
	kfp_op(op)->conn = conn;
	llist_add(&op->lnode, &conn->posted);	/* from here on the operation may be gone */
	if (!more)
		kfp_tx_kick(conn);
	else if (!delayed_work_pending(&conn->more_work))
		kfp_conn_queue(conn, &conn->more_work, 1);
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_proto_tx);

/*
 * Send posts with KFI_MORE that no other post follows. The connection set of an RDM endpoint has no
 * published connection (&kfi_peer.conn has); there more_work of each connection sends them.
 */
void kfi_proto_tx_flush(struct kfi_ep *ep)
{
	struct kfi_peer_conn *pc = kfi_conn_set_conn(&to_proto_ep(ep)->conn_set);

	if (pc && !llist_empty(&to_kfp_conn(pc)->posted))
		kfp_tx_kick(to_kfp_conn(pc));
}
EXPORT_SYMBOL_GPL(kfi_proto_tx_flush);

static void kfp_tx_defer(struct kfp_conn *conn, unsigned int delay_ms)
{
	kfp_conn_queue(conn, &conn->tx_work, msecs_to_jiffies(delay_ms));
}

void kfp_tx_kick(struct kfp_conn *conn)
{
	WRITE_ONCE(conn->kick, true);
	if (test_and_set_bit(0, &conn->busy))
		return;
	if (!conn->ops->trylock(&conn->link)) {
		kfp_tx_defer(conn, 0);
		return;
	}
	kfp_tx_run(conn);
	conn->ops->unlock(&conn->link);
}

/*
 * Run the transmit side in a work item. The work item owns busy from the moment it was queued. No
 * consumer lock is held here, so completion handlers may run.
 */
void kfp_tx_work(struct work_struct *work)
{
	struct kfp_conn *conn = container_of(to_delayed_work(work), struct kfp_conn, tx_work);

	local_bh_disable();
	kfi_batch_begin();
	if (test_bit(KFP_DEAD, &conn->flags)) {
		;	/* the link is being closed */
	} else if (conn->ops->lock(&conn->link)) {
		kfp_tx_run(conn);
		conn->ops->unlock(&conn->link);
	} else {
		kfp_tx_defer(conn, 1);
	}
	kfi_batch_end();
	local_bh_enable();
}

/* ---- units: what the link has to send, and what it has accepted; under its lock ---- */

/*
 * Bytes of the data of an answer for the next unit. If the region has ended, zeros are sent,
 * because the frame has announced the number of bytes. The status of the ACK then shows that the
 * data is invalid.
 */
static u64 kfp_answer_piece(struct kfp_answer *answer)
{
	u64 piece = min_t(u64, answer->len, KFP_TX_BUDGET);

	if (!answer->mr || kfi_mr_live(answer->mr, answer->key))
		return piece;
	answer->status = EREMOTEIO;
	answer->spliced = false;
	piece = min_t(u64, answer->len, PAGE_SIZE);
	answer->zeros = (struct bio_vec) { .bv_page = ZERO_PAGE(0), .bv_len = piece };
	iov_iter_bvec(&answer->iter, ITER_SOURCE, &answer->zeros, 1, piece);
	return piece;
}

/* The payload of the unit goes to the peer's places, ahead of the frames. */
static void kfp_unit_to_places(struct kfi_unit *unit, const struct kfp_places *places, u64 at)
{
	unit->len = 0;
	unit->place = places->place;
	unit->nplaces = places->count;
	unit->at = at;
	unit->flags |= KFI_UNIT_MORE;
}

/*
 * The next unit: frames, and the payload of the last of them. Payload that goes to places of the
 * peer is a unit of its own, ahead of the frames that are in the stage. Called inside the RCU
 * section in which the unit is posted, because the payload may be memory of a region. Return:
 * false: nothing is left.
 */
static bool kfp_unit_next(struct kfp_conn *conn, struct kfi_unit *unit)
{
	struct kfp_tx *tx = &conn->tx;
	const struct kfp_op *pop;

	if (tx->at == KFP_TX_FRAMES && !tx->staged && kfp_tx_empty(conn))
		return false;
	if (unlikely(test_bit(KFP_BYE_WANTED, &conn->flags)))
		kfp_lazy_join(conn);	/* no frame may follow a BYE */
	do {
		kfp_tx_collect(conn);
		kfp_tx_gather(conn);
	} while (tx->at == KFP_TX_FRAMES && !tx->staged && !llist_empty(&conn->posted));
	*unit = (struct kfi_unit) {
		.head = tx->stage + tx->written,
		.len = tx->staged - tx->written,
	};
	switch (tx->at) {
	case KFP_TX_PAYLOAD:
		pop = kfp_op(tx->op);
		unit->payload = &tx->op->iter;
		unit->left = min_t(u64, pop->left, KFP_TX_BUDGET);
		unit->flags = pop->spliced ? KFI_UNIT_SPLICE : 0;
		if (unit->left < pop->left || kfp_tx_follows(conn))
			unit->flags |= KFI_UNIT_MORE;
		if (pop->by_permit && pop->left)
			kfp_unit_to_places(unit, tx->into, tx->into_at + tx->op->len - pop->left);
		else if (pop->places && pop->left)
			kfp_unit_to_places(unit, pop->places, tx->op->len - pop->left);
		return true;
	case KFP_TX_ANSWER:
		unit->payload = &tx->answer->iter;
		unit->left = kfp_answer_piece(tx->answer);
		unit->flags = tx->answer->spliced ? KFI_UNIT_SPLICE : 0;
		if (tx->answer->placing && tx->answer->len)
			kfp_unit_to_places(unit, tx->answer->places, tx->answer->placed);
		return true;
	default:
		return unit->len;
	}
}

/* From now on the hold of an answer lasts only until the link has read what was posted. */
static void kfp_hold_end(struct kfp_conn *conn, struct kfp_answer *answer)
{
	struct kfp_hold *hold = answer->hold;

	if (!hold)
		return;
	answer->hold = NULL;
	hold->end = conn->link.posted;
	if (hold->end <= conn->ops->sent_to(&conn->link))
		kfp_hold_put(conn, hold);
	else
		list_add_tail(&hold->link, &conn->tx.holds);
}

/*
 * The region of the answer in progress may have ended while the link has no room. How long that
 * lasts depends on the peer, and the owner of the region must not wait for it: kfp_answer_piece()
 * sends zeros instead of the rest. Called under the link's lock.
 */
void kfp_answer_watch(struct kfp_conn *conn)
{
	struct kfp_answer *answer = conn->tx.answer;

	if (answer && answer->hold && !kfi_mr_live(answer->mr, answer->key))
		kfp_hold_end(conn, answer);
}

/*
 * Does the peer take the data of a TREAD too slowly? A TREAD holds a receive of this side, which
 * can't be canceled. So the rules are those of a payload that arrives, see kfp_rx_late(). The end
 * of each TREAD begins the wait again. Called under the link's lock.
 */
bool kfp_treads_late(struct kfp_conn *conn)
{
	struct kfp_tx *tx = &conn->tx;
	u64 posted = conn->link.posted;
	unsigned long extra = kfp_transfer_time(posted - tx->watched);

	tx->watched = posted;
	if (!atomic_read(&conn->treads)) {
		tx->since = 0;
		return false;
	}
	tx->since = tx->since ? kfp_extend(tx->since, extra) : jiffies | 1;
	return time_after(jiffies, tx->since + kfp_peer_timeout(conn));
}

/*
 * The link has accepted the data of an answer, or of one segment of it. Queue the rest of the
 * answer in front of the others.
 */
static void kfp_answer_sent(struct kfp_conn *conn)
{
	struct kfp_answer *answer = conn->tx.answer;
	const struct kfw_rma *seg = answer->segs ? &answer->segs[answer->seg - 1] : &answer->seg0;

	if (answer->mr) {
		kfi_remote_rma(&conn->ep->ep, answer->mr, answer->key, KFI_REMOTE_READ,
			       le64_to_cpu(seg->len), 0, KFI_ADDR_NOTAVAIL);
		kfi_mr_put(answer->mr);
		answer->mr = NULL;
	}
	answer->end = conn->link.posted;
	kfp_hold_end(conn, answer);
	conn->tx.answer = NULL;
	conn->tx.at = KFP_TX_FRAMES;
	spin_lock_bh(&conn->lock);
	list_add(&answer->link, &conn->answers);
	spin_unlock_bh(&conn->lock);
}

/* The link has taken a part of a unit, or all of it. The payload had @left bytes. */
static void kfp_unit_accepted(struct kfp_conn *conn, const struct kfi_unit *unit, u64 left)
{
	struct kfp_tx *tx = &conn->tx;
	u64 accepted = left - unit->left;

	conn->link.posted += unit->done + accepted;
	tx->written += unit->done;
	if (tx->at == KFP_TX_PAYLOAD) {
		kfp_op(tx->op)->left -= accepted;
	} else if (tx->at == KFP_TX_ANSWER) {
		tx->answer->len -= accepted;
		tx->answer->placed += accepted;
	}
	/* Frames are left in the stage. The frames of a unit with places follow it. */
	if (tx->written != tx->staged || unit->nplaces)
		return;
	tx->staged = 0;
	tx->written = 0;
	if (tx->at == KFP_TX_PAYLOAD) {
		struct kfi_oper *op = tx->op;

		if (kfp_op(op)->left)
			return;
		tx->op = NULL;
		tx->at = KFP_TX_FRAMES;
		kfp_op_sent(conn, op, kfp_op(op)->answered);
	} else if (tx->at == KFP_TX_ANSWER) {
		if (!tx->answer->len)
			kfp_answer_sent(conn);
	}
}

/* ---- the runner ---- */

/* Take this CPU's stage, unless frames are left in the connection's own buffer. */
static struct kfp_stage *kfp_stage_take(struct kfp_tx *tx)
{
	struct kfp_stage *stage = this_cpu_ptr(kfp_stages);

	/* With a preemptible softirq the stage would not be exclusive. */
	if (IS_ENABLED(CONFIG_PREEMPT_RT) || unlikely(tx->staged || stage->in_use))
		return NULL;
	stage->in_use = true;
	tx->stage = stage->buf;
	return stage;
}

static void kfp_stage_return(struct kfp_tx *tx, struct kfp_stage *stage)
{
	if (unlikely(!stage))
		return;
	if (unlikely(tx->staged)) {
		tx->staged -= tx->written;
		memcpy(tx->held, tx->stage + tx->written, tx->staged);
		tx->written = 0;
	}
	tx->stage = tx->held;
	stage->in_use = false;
}

#define KFP_TX_LONG	1	/* the budget of a run is used up */

/*
 * The runner has stopped: @ret is what the last post has returned, or KFP_TX_LONG.
 * Return: true: busy was passed to tx_work, which continues.
 */
static bool kfp_tx_stopped(struct kfp_conn *conn, int ret)
{
	switch (ret) {
	case 0:		/* nothing is left */
		if (test_bit(KFP_BYE_SENT, &conn->flags))
			kfp_bye_posted(conn);
		return false;
	case -EAGAIN:	/* kfi_link_room() will be called */
		return false;
	case KFP_TX_LONG:
		kfp_tx_defer(conn, 0);
		return true;
	case -ENOMEM:
		/*
		 * tx_work tries again, after the link's lock was dropped. This is so also if the
		 * connection has failed: the link may have set kick in post(), the loop of
		 * kfp_tx_run() would try again at once, and the end of the connection would not get
		 * the lock.
		 */
		kfp_tx_defer(conn, 1);
		return true;
	default:
		kfp_conn_fail(conn, ret);
		return false;
	}
}

/*
 * Post units until the link is full, nothing is left, or KFP_TX_BUDGET is used up. The caller holds
 * the link's lock and busy; busy is released, or passed to tx_work. Bottom halves are off, which is
 * an RCU section: it covers the memory of regions that the units refer to.
 */
void kfp_tx_run(struct kfp_conn *conn)
{
	struct kfp_stage *stage;
	struct kfi_unit unit;
	u64 until, left;
	int ret;

	do {
		WRITE_ONCE(conn->kick, false);
		smp_mb();		/* a post is seen by this run, or its kick below */
		/* Pairs with kfp_conn_start(). */
		if (smp_load_acquire(&conn->state) == KFP_READY &&
		    !test_bit(KFP_DEAD, &conn->flags)) {
			ret = 0;
			until = conn->link.posted + KFP_TX_BUDGET;
			stage = kfp_stage_take(&conn->tx);
			while (!ret && kfp_unit_next(conn, &unit)) {
				left = unit.left;
				ret = conn->ops->post(&conn->link, &unit);
				kfp_unit_accepted(conn, &unit, left);
				if (!ret && conn->link.posted >= until)
					ret = KFP_TX_LONG;
			}
			kfp_stage_return(&conn->tx, stage);
			if (kfp_tx_stopped(conn, ret))
				return;
		}
		/* the next runner sees the work of this one */
		smp_store_release(&conn->busy, 0);
		smp_mb();		/* pairs with test_and_set_bit() in kfp_tx_kick() */
	} while (READ_ONCE(conn->kick) && !test_and_set_bit(0, &conn->busy));
}

/* Mostly called in softirq, when an acknowledgement of the peer has arrived. */
void kfi_link_room(struct kfi_link *link)
{
	struct kfp_conn *conn = link_conn(link);

	WRITE_ONCE(conn->kick, true);
	if (test_and_set_bit(0, &conn->busy))
		return;
	local_bh_disable();
	kfi_batch_begin();
	kfp_tx_run(conn);
	kfi_batch_end();
	local_bh_enable();
}
EXPORT_SYMBOL_GPL(kfi_link_room);

/* ---- completion, and memory that the link still reads ---- */

/*
 * Complete an operation. Its private part must not refer to the connection any more: another
 * connection can be allocated at the same address.
 */
void kfp_op_end(struct kfp_conn *conn, struct kfi_oper *op, int result)
{
	if (!kfp_conceal(conn, &kfp_op(op)->places)) {
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
	tx->unplaced += kfp_unplaced(op);
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

/* The link does not read bytes before position @to any more: end what has waited for that. */
static void kfp_unsent_end(struct kfp_conn *conn, u64 to)
{
	struct kfp_tx *tx = &conn->tx;
	struct kfp_answer *answer, *after;
	struct kfi_oper *op, *next;
	struct kfp_hold *hold, *last;

	list_for_each_entry_safe(op, next, &tx->unsent, link) {
		if (kfp_op(op)->end > to)
			break;
		list_del(&op->link);
		kfp_op_end(conn, op, kfp_op(op)->result);
	}
	list_for_each_entry_safe(hold, last, &tx->holds, link) {
		if (hold->end > to)
			break;
		list_del(&hold->link);
		kfp_hold_put(conn, hold);
	}
	list_for_each_entry_safe(answer, after, &tx->returned, link) {
		if (answer->end > to)
			break;
		list_del_init(&answer->link);
		answer->spliced = false;
		kfp_answer_done(conn, answer);
	}
}

static void kfp_sent_run(struct kfp_conn *conn)
{
	if (!test_bit(KFP_DEAD, &conn->flags))
		kfp_unsent_end(conn, conn->ops->sent_to(&conn->link));
}

void kfi_link_sent(struct kfi_link *link)
{
	struct kfp_conn *conn = link_conn(link);
	struct kfp_tx *tx = &conn->tx;

	if (!list_empty(&tx->unsent) || !list_empty(&tx->holds) || !list_empty(&tx->returned))
		kfp_rx_burst(conn, kfp_sent_run);
}
EXPORT_SYMBOL_GPL(kfi_link_sent);

/* ---- the end ---- */

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

	kfp_tx_collect(conn);
	kfp_unsent_end(conn, U64_MAX);
	if (tx->op)
		kfp_op_end(conn, tx->op, err);
	tx->op = NULL;
	kfp_fail_list(conn, &tx->waiting, err);
	kfp_fail_list(conn, &tx->granted, err);
	for (cls = 0; cls < KFP_CLS; cls++)
		kfp_fail_list(conn, &tx->stalled[cls], err);
	kfp_fail_list(conn, &tx->queue, err);
}
