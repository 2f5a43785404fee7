// SPDX-License-Identifier: GPL-2.0
/*
 * tx.c - the transmit side: units, and the context that posts them to the link.
 *
 *   kfp_tx_kick()		become the runner, unless another context is
 *   kfp_tx_run()		post units to the link
 *   kfp_unit_next()		the next unit: frames (arbiter.c), and the payload of the last one
 *   kfp_unit_accepted()		account for what the link has accepted of it
 *
 * kfp_conn.runner selects the runner (kfi_runner.h). It runs the transmit side under the link's
 * lock, or passes the claim to tx_work. All other contexts leave a note and return. A post only
 * tries the link's lock, see conn.h.
 */
#include <linux/export.h>
#include "conn.h"

static void kfp_tx_defer(struct kfp_conn *conn, unsigned int delay_ms)
{
	kfp_conn_queue(conn, &conn->tx_work, msecs_to_jiffies(delay_ms));
}

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

/* ---- units: what the link has to send, and what it has accepted; under its lock ---- */

/* May there be something to send? A receive mostly causes nothing. */
static __always_inline bool kfp_tx_due(struct kfp_conn *conn)
{
	const struct kfp_tx *tx = &conn->tx;

	return tx->at != KFP_TX_FRAMES || tx->staged || !kfp_tx_empty(conn);
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
 * The link has accepted the BYE of this side. The peer closes the link when it has read the BYE. If
 * this side closed the link first, frames of the peer that are in transit could make the link drop
 * bytes that this side has sent.
 */
static void kfp_bye_posted(struct kfp_conn *conn)
{
	unsigned long timeout = kfp_peer_timeout(conn);

	if (test_and_set_bit(KFP_BYE_POSTED, &conn->flags))
		return;
	conn->deadline = jiffies + timeout;
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
 */
void kfp_tx_run(struct kfp_conn *conn)
{
	struct kfp_stage *stage;
	struct kfi_unit unit __uninitialized;	/* kfp_unit_next() sets all of it */
	u64 until, left;
	long notes;
	int ret;

	do {
		notes = kfi_runner_begin(&conn->runner);
		/* Pairs with kfp_conn_start(). */
		if (smp_load_acquire(&conn->state) == KFP_READY &&
		    !test_bit(KFP_DEAD, &conn->flags) && kfp_tx_due(conn)) {
			ret = 0;
			until = conn->link.posted + KFP_TX_BUDGET;
			stage = kfp_stage_take(&conn->tx);
			conn->tx.idle = false;
			while (!ret && !conn->tx.idle && kfp_unit_next(conn, &unit)) {
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
