// SPDX-License-Identifier: GPL-2.0
/*
 * tx.c - the transmit side, from the post of a consumer to the link. An operation passes through:
 *
 *   kfi_proto_tx()		finds the connection, adds the operation to its lock-free list
 *   kfp_tx_kick()		becomes the runner, unless another context is
 *   kfp_tx_run()		posts units to the link
 *   kfp_unit_next()		the next unit: frames, and the payload of the last one
 *   kfp_tx_gather()		encodes the frames of a unit: operations, answers, control frames
 *   kfp_op_row.send()		encodes the operation, in the file of its protocol
 *   kfp_op_sent()		completes it, or waits for the answer of the peer (oper.c)
 *   kfp_unit_accepted()		accounts for what the link has accepted of a unit
 *
 * kfp_conn.runner selects the runner (kfi_runner.h). It runs the transmit side under the link's
 * lock, or passes the claim to tx_work. All other contexts leave a note and return. A post only
 * tries the link's lock, see conn.h.
 *
 * The next frame is, in this order: urgent; an answer; the payload of a granted operation; an
 * operation that has waited for credit; new ones, in the order of the posts; credit; the BYE.
 * An operation that takes no credit never waits behind a message without credit. Payload is sent in
 * parts (kfw_part()), and takes turns with the others after each part: no frame waits for all of a
 * long payload, except behind a write that was posted before.
 */
#include <linux/export.h>
#include "peers.h"

/* ---- the next frame: under the link's lock, or after the end of the link ---- */

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

#define KFP_FRAME_MAX	(sizeof(struct kfw_hdr) + KFP_SEGS_BYTES + KFP_INLINE)
static_assert(KFP_FRAME_MAX < KFP_STAGE);

/* May another frame follow in the stage? */
static inline bool kfp_stage_takes(const struct kfp_tx *tx)
{
	return tx->at == KFP_TX_FRAMES && tx->staged + KFP_FRAME_MAX <= KFP_STAGE;
}

/*
 * Send the next operation: one that has waited for credit, or those of the queue, as far as there
 * is room for their frames. Return false if none can be sent.
 */
static bool kfp_send_next_op(struct kfp_conn *conn)
{
	struct kfp_tx *tx = &conn->tx;
	const struct kfp_op_row *row;
	struct kfi_oper *op, *next;
	bool sent = false;
	int cls;

	for (cls = 0; cls < KFP_CLS; cls++) {
		op = list_first_entry_or_null(&tx->stalled[cls], struct kfi_oper, link);
		if (op && kfp_may_request(conn) && kfp_op_row(op)->send(conn, op))
			return true;
	}
	list_for_each_entry_safe(op, next, &tx->queue, link) {
		row = kfp_op_row(op);
		if (row->next) {
			op = row->next(conn, op);
			return (op && kfp_op_row(op)->send(conn, op)) || sent;
		}
		if (!kfp_may_request(conn))
			break;
		if ((row->cls == KFP_CLS || list_empty(&tx->stalled[row->cls])) &&
		    row->send(conn, op)) {
			sent = true;
			if (!kfp_stage_takes(tx))
				break;
			continue;
		}
		if (WARN_ON_ONCE(row->cls == KFP_CLS))
			break;
		list_move_tail(&op->link, &tx->stalled[row->cls]);
	}
	return sent;
}

/* The same. What is sent may be the consumer's answer to a request of the peer. */
static bool kfp_send_ops(struct kfp_conn *conn)
{
	if (!kfp_send_next_op(conn))
		return false;
	if (conn->rx.asked)
		kfp_turn(conn);
	return true;
}

/*
 * Will another frame certainly follow the current one, so that the link may wait for it? Credit
 * only grows until then.
 */
static bool kfp_tx_follows(struct kfp_conn *conn)
{
	struct kfp_tx *tx = &conn->tx;
	struct kfi_oper *op = list_first_entry_or_null(&tx->queue, struct kfi_oper, link);
	const struct kfp_op_row *row;

	/* An operation that has sent its request may wait for the one that is being sent. */
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
 * answered. The flag is read before the lists. A delayed ACK goes ahead of the BYE: the runner sends
 * it, and looks again.
 */
static bool kfp_bye_due(struct kfp_conn *conn)
{
	if (!test_bit(KFP_BYE_WANTED, &conn->flags))
		return false;
	smp_rmb();		/* pairs with kfi_proto_shutdown() */
	return list_empty_careful(&conn->lazy) && kfp_drained(conn) &&
	       !test_and_set_bit(KFP_BYE_SENT, &conn->flags);
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

/*
 * Is there no frame to send? This is the usual case, and cheaper to find out here than in
 * kfp_send_next().
 */
static bool kfp_tx_empty(struct kfp_conn *conn)
{
	const struct kfp_tx *tx = &conn->tx;

	return llist_empty(&conn->posted) && list_empty(&tx->queue) && list_empty(&tx->granted) &&
	       list_empty(&tx->stalled[KFP_CLS_MSG]) && list_empty(&tx->stalled[KFP_CLS_TAG]) &&
	       list_empty_careful(&conn->answers) && !READ_ONCE(conn->credit_due) && !tx->urgent &&
	       !test_bit(KFP_BYE_WANTED, &conn->flags);
}

/*
 * Encode the next frame, or those of the next operations. Urgent frames are few, and owners of
 * regions wait for them. Answers are sent before granted payloads, but after returned data
 * (&kfp_tx.yields) one granted payload is sent. Otherwise a peer that always has reads outstanding
 * would delay the messages that it has granted beyond their deadline. For the same reason
 * operations of the queue are sent after a part of a payload (&kfp_tx.shares).
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
		if (kfp_send_ops(conn))
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
		return kfp_op_row(op)->send(conn, op);
	return kfp_send_ops(conn) || kfp_send_control(conn);
}

/*
 * Encode frames until the stage is full, a payload follows the last one, or nothing is left. Mostly
 * one frame was due, which is found out here at less cost than in kfp_send_next(). Then the runner
 * need not ask again: what becomes due meanwhile leaves a note.
 *
 * Delayed ACKs go ahead of the frames for which they have waited: the peer's consumer learns that
 * its message was received before it gets the message that answers it.
 */
static void kfp_tx_gather(struct kfp_conn *conn)
{
	struct kfp_tx *tx = &conn->tx;

	if (!list_empty_careful(&conn->lazy) && !kfp_tx_empty(conn))
		kfp_lazy_join(conn);
	while (kfp_stage_takes(tx) && kfp_send_next(conn)) {
		if (kfp_tx_empty(conn)) {
			tx->idle = tx->at == KFP_TX_FRAMES;
			break;
		}
	}
}

/* ---- units: what the link has to send, and what it has accepted; under its lock ---- */

/*
 * The next unit: frames, and the payload of the last of them. Payload that goes to places of the
 * peer is a unit of its own, ahead of the frames that are in the stage. Called inside the RCU
 * section in which the unit is posted, because the payload may be memory of a region. Return:
 * false: nothing is left.
 */
static bool kfp_unit_next(struct kfp_conn *conn, struct kfi_unit *unit)
{
	struct kfp_tx *tx = &conn->tx;
	const struct kfp_payload *payload = &tx->payload;
	u64 ready;

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
	if (tx->at != KFP_TX_PAYLOAD)
		return unit->len;
	ready = payload->check ? payload->check(conn) : payload->left;
	unit->payload = payload->iter;
	unit->left = min_t(u64, ready, KFP_TX_BUDGET);
	unit->flags = payload->spliced ? KFI_UNIT_SPLICE : 0;
	/*
	 * The operation may have more bytes than this frame. Data that is returned has more, or its
	 * ACK follows.
	 */
	if (tx->op ? unit->left < kfp_op_left(tx->op) || kfp_tx_follows(conn) : !!tx->answer)
		unit->flags |= KFI_UNIT_MORE;
	if (payload->into && payload->left) {
		unit->len = 0;
		unit->place = payload->into->place;
		unit->nplaces = payload->into->count;
		unit->at = payload->at;
		unit->flags |= KFI_UNIT_MORE;
	}
	return true;
}

/* The link has taken a part of a unit, or all of it. The payload had @left bytes. */
static void kfp_unit_accepted(struct kfp_conn *conn, const struct kfi_unit *unit, u64 left)
{
	struct kfp_tx *tx = &conn->tx;
	u64 accepted = left - unit->left;

	conn->link.posted += unit->done + accepted;
	tx->written += unit->done;
	if (tx->at == KFP_TX_PAYLOAD) {
		tx->payload.left -= accepted;
		tx->payload.at += accepted;
	}
	/* Frames are left in the stage. Those of a unit with places, if any, follow it. */
	if (tx->written != tx->staged)
		return;
	tx->staged = 0;
	tx->written = 0;
	if (tx->at == KFP_TX_PAYLOAD && !tx->payload.left) {
		tx->at = KFP_TX_FRAMES;
		tx->payload.sent(conn);
	}
}

/* ---- the runner ---- */

static void kfp_tx_defer(struct kfp_conn *conn, unsigned int delay_ms)
{
	kfp_conn_queue(conn, &conn->tx_work, msecs_to_jiffies(delay_ms));
}

#define KFP_TX_LONG	1	/* the budget of a run is used up */

/*
 * The link has accepted the BYE of this side. The peer closes the link when it has read the BYE. If
 * this side closed the link first, frames of the peer that are in transit could make the link drop
 * bytes that this side has sent.
 */
static void kfp_bye_posted(struct kfp_conn *conn)
{
	unsigned long timeout = kfp_peer_timeout(conn);

	if (test_and_set_bit(KFP_BYE_POSTED, &conn->flags))
		return;
	conn->deadline = kfp_now(conn) + timeout;
	mod_delayed_work(kfp_cm_wq, &conn->hello_work, timeout);
}

/*
 * The runner has stopped: @ret is what the last post has returned, or KFP_TX_LONG.
 * Return: true: the claim was passed to tx_work, which continues.
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
		 * connection has failed: the link may have left a note in post(), the loop of
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
 * the link's lock and the claim, which is given up, or passed to tx_work. Bottom halves are off,
 * which is an RCU section: it covers the memory of regions that the units refer to.
 *
 * Frames are encoded into this CPU's stage, unless frames are left in the connection's own buffer.
 * With a preemptible softirq the stage would not be exclusive.
 */
void kfp_tx_run(struct kfp_conn *conn)
{
	struct kfp_tx *tx = &conn->tx;
	struct kfp_stage *stage;
	struct kfi_unit unit __uninitialized;	/* kfp_unit_next() sets all of it */
	u64 until, left;
	long notes;
	int ret;

	do {
		notes = kfi_runner_begin(&conn->runner);
		/* Pairs with kfp_conn_start(). */
		if (smp_load_acquire(&conn->state) != KFP_READY || test_bit(KFP_DEAD, &conn->flags))
			continue;
		if (tx->at == KFP_TX_FRAMES && !tx->staged && kfp_tx_empty(conn))
			continue;	/* a receive mostly causes nothing */
		stage = this_cpu_ptr(kfp_stages);
		if (IS_ENABLED(CONFIG_PREEMPT_RT) || unlikely(tx->staged || stage->in_use)) {
			stage = NULL;
		} else {
			stage->in_use = true;
			tx->stage = stage->buf;
		}
		ret = 0;
		until = conn->link.posted + KFP_TX_BUDGET;
		tx->idle = false;
		while (!ret && !tx->idle && kfp_unit_next(conn, &unit)) {
			left = unit.left;
			ret = conn->ops->post(&conn->link, &unit);
			kfp_unit_accepted(conn, &unit, left);
			if (!ret && conn->link.posted >= until)
				ret = KFP_TX_LONG;
		}
		if (likely(stage)) {
			if (unlikely(tx->staged)) {
				tx->staged -= tx->written;
				memcpy(tx->held, tx->stage + tx->written, tx->staged);
				tx->written = 0;
			}
			tx->stage = tx->held;
			stage->in_use = false;
		}
		if (kfp_tx_stopped(conn, ret))
			return;
	} while (!kfi_runner_leave(&conn->runner, notes));
}

/* Mostly called in softirq, when an acknowledgement of the peer has arrived. */
void kfi_link_room(struct kfi_link *link)
{
	struct kfp_conn *conn = link_conn(link);

	if (!kfi_runner_enter(&conn->runner))
		return;
	local_bh_disable();
	kfi_batch_begin();
	kfp_tx_run(conn);
	kfi_batch_end();
	local_bh_enable();
}
EXPORT_SYMBOL_GPL(kfi_link_room);

/* ---- kicks and posts ---- */

void kfp_tx_kick(struct kfp_conn *conn)
{
	if (!kfi_runner_enter(&conn->runner))
		return;
	if (!conn->ops->trylock(&conn->link)) {
		kfp_tx_defer(conn, 0);
		return;
	}
	kfp_tx_run(conn);
	conn->ops->unlock(&conn->link);
}

/*
 * Send what is due to the peer, unless the connection is down. The caller holds a reference,
 * because the connection may go down meanwhile.
 */
void kfp_tx_kick_due(struct kfp_conn *conn)
{
	rcu_read_lock();
	if (!test_bit(KFP_DEAD, &conn->flags) &&
	    (READ_ONCE(conn->credit_due) || !list_empty_careful(&conn->answers)))
		kfp_tx_kick(conn);
	rcu_read_unlock();
}

/*
 * Run the transmit side in a work item, which has the claim from the moment it was queued. No
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

/*
 * Send delayed ACKs, and delayed posts: those with KFI_MORE whose last post went to another peer or
 * was refused.
 */
void kfp_more_work(struct work_struct *work)
{
	struct kfp_conn *conn = container_of(to_delayed_work(work), struct kfp_conn, more_work);

	rcu_read_lock();
	if ((kfp_lazy_take(conn) || !llist_empty(&conn->posted)) &&
	    !test_bit(KFP_DEAD, &conn->flags))
		kfp_tx_kick(conn);
	rcu_read_unlock();
}

int kfi_proto_tx(struct kfi_ep *ep, struct kfi_oper *op)
{
	struct kfi_proto_ep *pe = to_proto_ep(ep);
	const struct kfp_op_row *row = kfp_op_row(op);
	struct kfp_conn *conn = NULL;
	struct kfi_peer_conn *pc;
	bool more;
	int ret;

	*kfp_op(op) = (struct kfp_op) { .state = KFP_OP_QUEUED };
	if (unlikely(row->post)) {
		ret = row->post(op, &conn);
		if (ret)
			return ret == -ECANCELED ? 0 : ret;
	}
	if (unlikely(conn)) {
		;	/* the operation belongs to this connection */
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

/* ---- the link does not use memory of this side any more ---- */

static void kfp_sent_run(struct kfp_conn *conn)
{
	if (!test_bit(KFP_DEAD, &conn->flags))
		kfp_sent_to(conn, conn->ops->sent_to(&conn->link));
}

void kfi_link_sent(struct kfi_link *link)
{
	struct kfp_conn *conn = link_conn(link);

	if (!list_empty(&conn->tx.unsent) || !list_empty(&conn->tx.reading))
		kfp_burst(conn, kfp_sent_run);
}
EXPORT_SYMBOL_GPL(kfi_link_sent);

static void kfp_concealed_run(struct kfp_conn *conn)
{
	kfp_concealed(conn, conn->concealed);
}

void kfi_link_concealed(struct kfi_link *link, struct kfi_exposed *x)
{
	struct kfp_conn *conn = link_conn(link);

	conn->concealed = x;
	kfp_burst(conn, kfp_concealed_run);
}
EXPORT_SYMBOL_GPL(kfi_link_concealed);

/* Send a CREDIT frame, which the peer's end of the link acknowledges. */
void kfi_link_ping(struct kfi_link *link)
{
	struct kfp_conn *conn = link_conn(link);

	spin_lock_bh(&conn->lock);
	conn->credit_due = true;
	conn->credit_freed = true;
	spin_unlock_bh(&conn->lock);
	rcu_read_lock();
	if (!test_bit(KFP_DEAD, &conn->flags))
		kfp_tx_kick(conn);
	rcu_read_unlock();
}
EXPORT_SYMBOL_GPL(kfi_link_ping);
