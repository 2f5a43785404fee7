// SPDX-License-Identifier: GPL-2.0
/*
 * commit.c - what is to be visible or durable: FLUSH frames, and others with SKW_F_COMMIT.
 *
 *   ks_put_flush()	initiator: frame, segments
 *   ks_rx_commit()	target: may it, and can it be? Before a byte of the frame moves
 *   ks_rx_verdict()	all has landed, with all that came before it on the stream: to the owners, or the answer
 *   ks_commit_work()	the owners of the regions; the answer
 *
 * A commit sits in one of the answers that every request of the peer has its own of, so it takes no more memory; only several
 * segments do. persist() runs in one of a connection's few hands, without any lock of ours, and holds up no frame that comes
 * after it. Nor does it hold up the end of the connection or its endpoint: what has not begun then never does, and what
 * runs finds, in an RCU section, that nobody waits for it any more. The owner alone waits for it, when he ends his region.
 */
#include <linux/slab.h>
#include "sock.h"

/* ---- initiator ---- */

/* For a peer of an older version: not weakened, but refused. */
bool ks_op_too_new(const struct ks_conn *conn, const struct kfi_oper *op)
{
	if (kfi_opc_is_atomic(op->code) && conn->tx.version < SKW_VERSION_ATOMIC)
		return true;
	return (op->code == KFI_OPC_FLUSH || op->flags & KFI_COMMIT_COMPLETE) &&
	       conn->tx.version < SKW_VERSION_COMMIT;
}

/* Behind every write that was posted before: RMA is sent in the order of its posts. */
void ks_put_flush(struct ks_conn *conn, struct kfi_oper *op)
{
	struct skw_frame f = ks_op_frame(op, SKW_FLUSH);

	f.rma_count = op->rma_count;
	conn->tx.requests++;
	ks_put_frame(conn, &f);
	ks_put_segments(conn, op);
	ks_op_sent(conn, op, true);
}

/* ---- target: what it is about. Socket lock held ---- */

static struct kfi_rma_iov ks_commit_range(const struct skw_rma *seg)
{
	return (struct kfi_rma_iov) {
		.addr = le64_to_cpu(seg->addr),
		.len = min_t(u64, le64_to_cpu(seg->len), SIZE_MAX),	/* no region is as long */
		.key = le64_to_cpu(seg->key),
	};
}

static void ks_commit_abandon(struct ks_conn *conn, struct ks_answer *answer)
{
	ks_commit_drop(answer);
	spin_lock_bh(&conn->lock);
	list_add(&answer->link, &conn->free_answers);
	spin_unlock_bh(&conn->lock);
}

/* References to all regions, or none and why. */
static int ks_commit_get(struct ks_conn *conn, struct ks_answer *answer, struct kfi_commit_seg *segs)
{
	struct ks_rx *rx = &conn->rx;
	struct kfi_rma_iov range;
	int err = 0;

	while (answer->nsegs < rx->f.rma_count && !err) {
		range = ks_commit_range(&rx->segs[answer->nsegs]);
		err = kfi_commit_get(&conn->sep->ep, &range, &segs[answer->nsegs]);
		answer->nsegs += !err;
	}
	return err;
}

/*
 * A frame that asks for it takes its answer now, with the regions in it: what was written is not to be lost sight of when an
 * operation uses its region up. Return: 0, perhaps with a verdict; -ENOMEM: try again later, nothing has changed; -EPROTO.
 */
int ks_rx_commit(struct ks_conn *conn)
{
	struct ks_rx *rx = &conn->rx;
	struct ks_answer *answer;
	int err;

	if (!(rx->f.flags & SKW_F_COMMIT))
		return 0;
	if (conn->tx.version < SKW_VERSION_COMMIT)
		return -EPROTO;
	if (rx->status)
		return 0;
	answer = ks_answer_get(conn);
	if (!answer)
		return -EPROTO;
	answer->kind = KS_ANSWER_COMMIT;
	answer->nsegs = 0;
	answer->id = rx->f.id;
	answer->gen = rx->f.gen;
	answer->durable = &answer->durable0;
	if (rx->f.rma_count > 1)
		answer->durable = kmalloc_array(rx->f.rma_count, sizeof(*answer->durable), GFP_ATOMIC | __GFP_NOWARN);
	err = answer->durable ? ks_commit_get(conn, answer, answer->durable) : -ENOMEM;
	if (!err) {
		rx->commit = answer;
		return 0;
	}
	ks_commit_abandon(conn, answer);
	if (err == -ENOMEM)
		return err;
	rx->status = -err;
	return 0;
}

/* Memory is the same for all who look at it: what has landed is visible. */
static void ks_rx_visible(struct ks_conn *conn)
{
	struct ks_rx *rx = &conn->rx;
	struct kfi_rma_iov range;
	struct iov_iter iter;
	struct kfi_mr *mr;
	unsigned int i;

	for (i = 0; i < rx->f.rma_count && !rx->status; i++) {
		range = ks_commit_range(&rx->segs[i]);
		mr = kfi_mr_get(&conn->sep->ep, range.key, range.addr, range.len, KFI_REMOTE_WRITE, &iter);
		if (IS_ERR(mr))
			rx->status = EACCES;
		else
			kfi_mr_put(mr);
	}
}

int ks_rx_flush(struct ks_conn *conn)
{
	int ret;

	if (conn->tx.version < SKW_VERSION_COMMIT)
		return -EPROTO;
	ret = ks_rx_commit(conn);
	if (ret)
		return ret;
	if (!(conn->rx.f.flags & SKW_F_COMMIT))
		ks_rx_visible(conn);
	return ks_rx_verdict(conn);
}

/* ---- target: the owners ---- */

/* One more hand, if there is one; else the first that is ready takes what waits. */
static void ks_commit_start(struct ks_conn *conn)
{
	unsigned int hand = find_first_zero_bit(&conn->committing, KS_COMMITS);

	lockdep_assert_held(&conn->lock);
	if (hand == KS_COMMITS)
		return;
	__set_bit(hand, &conn->committing);
	ks_conn_get(conn);
	queue_work(ks_commit_wq, &conn->committers[hand].work);
}

/* The frame has been dealt with but for its answer, which owners may have to come before. */
int ks_rx_verdict(struct ks_conn *conn)
{
	struct ks_rx *rx = &conn->rx;
	struct ks_answer *answer = rx->commit;

	if (!answer)
		return ks_rx_ack(conn, rx->status);
	rx->commit = NULL;
	if (rx->status) {		/* a region has died under it */
		ks_commit_abandon(conn, answer);
		return ks_rx_ack(conn, rx->status);
	}
	spin_lock_bh(&conn->lock);
	list_add_tail(&answer->link, &conn->commits);
	ks_commit_start(conn);
	spin_unlock_bh(&conn->lock);
	return 0;
}

/**
 * struct ks_commit - what a hand has taken
 * @answer:	still there when it is done only if the connection is
 * @segs: @count: the regions; @one: room for the only one
 */
struct ks_commit {
	struct ks_answer	*answer;
	struct kfi_commit_seg	*segs;
	struct kfi_commit_seg	one;
	unsigned int		count;
};

/* From here on the regions are the hand's, and the answer has none. */
static void ks_commit_take(struct ks_commit *c, struct ks_answer *answer)
{
	list_del_init(&answer->link);
	c->answer = answer;
	c->count = answer->nsegs;
	c->one = answer->durable0;
	c->segs = answer->durable == &answer->durable0 ? &c->one : answer->durable;
	answer->durable = NULL;
	answer->kind = KS_ANSWER_ACK;
}

static bool ks_commit_next(struct ks_committer *self, struct ks_commit *c)
{
	struct ks_conn *conn = self->conn;
	struct ks_answer *answer = NULL;

	rcu_read_lock();	/* ks_conn_down() waits for us before it looks at what is left */
	spin_lock_bh(&conn->lock);
	if (!test_bit(KS_DEAD, &conn->flags))
		answer = list_first_entry_or_null(&conn->commits, struct ks_answer, link);
	if (answer)
		ks_commit_take(c, answer);
	else
		__clear_bit(self - conn->committers, &conn->committing);
	spin_unlock_bh(&conn->lock);
	rcu_read_unlock();
	return answer;
}

static void ks_commit_answer(struct ks_conn *conn, struct ks_answer *answer, int err)
{
	rcu_read_lock();
	if (!test_bit(KS_DEAD, &conn->flags)) {
		answer->status = -err;
		spin_lock_bh(&conn->lock);
		ks_answer_queue(conn, answer);
		spin_unlock_bh(&conn->lock);
		ks_tx_kick(conn);
	}
	rcu_read_unlock();
}

static void ks_commit_work(struct work_struct *work)
{
	struct ks_committer *self = container_of(work, struct ks_committer, work);
	struct ks_conn *conn = self->conn;
	struct ks_commit c;
	int err;

	while (ks_commit_next(self, &c)) {
		err = kfi_commit_run(c.segs, c.count);
		kfi_commit_put(c.segs, c.count);
		if (c.segs != &c.one)
			kfree(c.segs);
		ks_commit_answer(conn, c.answer, err);
	}
	ks_conn_put(conn);
}

/* ---- a connection's ---- */

void ks_commit_init(struct ks_conn *conn)
{
	unsigned int hand;

	INIT_LIST_HEAD(&conn->commits);
	for (hand = 0; hand < KS_COMMITS; hand++) {
		INIT_WORK(&conn->committers[hand].work, ks_commit_work);
		conn->committers[hand].conn = conn;
	}
}

/* Nobody is going to do it. */
void ks_commit_drop(struct ks_answer *answer)
{
	if (answer->kind != KS_ANSWER_COMMIT)
		return;
	kfi_commit_put(answer->durable, answer->nsegs);
	if (answer->durable != &answer->durable0)
		kfree(answer->durable);
	answer->durable = NULL;
	answer->kind = KS_ANSWER_ACK;
}
