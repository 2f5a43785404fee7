// SPDX-License-Identifier: GPL-2.0
/*
 * commit.c - durable data: frames with KFW_F_COMMIT.
 *
 *   kfp_rx_commit()	target: checks the regions before the first byte of the frame is copied
 *   kfp_rx_end()	target: the frame and all frames before it are complete: queues the
 *			commit, or the ACK
 *   kfp_commit_work()	target: calls persist() of the owners of the regions, and begins
 *			the next commit
 *   kfp_commit_done()	target: all calls have ended: queues the ACK
 *
 * A request with a commit needs memory that outlives the answers of the connection: struct
 * kfp_commit, allocated before a byte is copied. Without memory the frame is handled again later.
 * persist() is called by the work item of the commit, without a lock of the protocol, and delays
 * neither the frames that follow nor the end of the connection or its endpoint. An owner may sleep
 * in it, so KFP_COMMITS work items of a connection call it at a time, and the other commits wait:
 * otherwise one connection could occupy the threads of all. A call that answers later occupies
 * none, so there are as many of them as the peer may have requests outstanding. A commit that has
 * not begun when the connection ends is dropped. One that has begun finds, in an RCU section, that
 * the connection is dead. Only the owner of a region waits for it, when the owner ends the region.
 */
#include <linux/slab.h>
#include "commit.h"
#include "conn.h"

/* ---- target: the regions. Under the link's lock ---- */

static struct kfi_rma_iov kfp_commit_range(const struct kfw_rma *seg)
{
	return (struct kfi_rma_iov) {
		.addr = le64_to_cpu(seg->addr),
		.len = min_t(u64, le64_to_cpu(seg->len), SIZE_MAX),	/* no region is longer */
		.key = le64_to_cpu(seg->key),
	};
}

/**
 * struct kfp_commit - a commit
 * @work: calls persist()
 * @entry: entry in &kfp_commits.waiting
 * @conn: its connection. Referenced from its begin on
 * @answer: its answer, from its begin on. May be used only while the connection is not dead
 * @regions: what is to become durable
 */
struct kfp_commit {
	struct work_struct	work;
	struct list_head	entry;
	struct kfp_conn		*conn;
	struct kfp_answer	*answer;
	struct kfi_commit	regions;
};

static void kfp_commit_free(struct kfp_commit *c)
{
	kfi_commit_put(&c->regions);
	kfree(c);
}

/* Drop a commit that has not begun. */
static void kfp_commit_drop(struct kfp_conn *conn, struct kfp_answer *answer)
{
	if (answer->durable)
		kfp_commit_free(answer->durable);
	answer->durable = NULL;
	answer->row = &kfp_ack_row;
}

static void kfp_commit_abandon(struct kfp_conn *conn, struct kfp_answer *answer)
{
	kfp_commit_drop(conn, answer);
	kfp_answer_put(conn, answer);
}

static const struct kfp_answer_row kfp_commit_row = {
	.drop = kfp_commit_drop,
};

static void kfp_commit_work(struct work_struct *work);
static void kfp_commit_done(struct kfi_commit *regions, int err);

/* Take references to the regions of all segments. Return: 0 or the reason of the first failure. */
static int kfp_commit_get(struct kfp_conn *conn, struct kfp_commit *c)
{
	struct kfp_rx *rx = &conn->rx;
	struct kfi_rma_iov range;
	int err = 0;

	INIT_WORK(&c->work, kfp_commit_work);
	c->conn = conn;
	c->regions.done = kfp_commit_done;
	c->regions.count = 0;
	while (c->regions.count < rx->f.rma_count && !err) {
		range = kfp_commit_range(&rx->segs[c->regions.count]);
		err = kfi_commit_get(&conn->ep->ep, &range, &c->regions);
	}
	return err;
}

/*
 * Prepare a frame with KFW_F_COMMIT: take its answer, with references to the regions, because a
 * region may end before its data is durable. Return: 0, perhaps with a status; -ENOMEM if nothing
 * has changed and the frame has to be dispatched again; -EPROTO.
 */
int kfp_rx_commit(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;
	struct kfp_answer *answer;
	int err;

	if (!(rx->f.flags & KFW_F_COMMIT))
		return 0;
	if (rx->status)
		return 0;
	answer = kfp_answer_get(conn, &kfp_commit_row);
	if (!answer)
		return -EPROTO;
	answer->durable = kmalloc(struct_size(answer->durable, regions.segs, rx->f.rma_count),
				  GFP_ATOMIC | __GFP_NOWARN);
	err = answer->durable ? kfp_commit_get(conn, answer->durable) : -ENOMEM;
	if (!err) {
		rx->commit = answer;
		return 0;
	}
	kfp_commit_abandon(conn, answer);
	if (err == -ENOMEM)
		return err;
	rx->status = -err;
	return 0;
}

/* ---- target: the owners ---- */

/* Queue the ACK of a frame, or its commit, which queues the ACK when it has ended. */
int kfp_rx_end(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;
	struct kfp_answer *answer = rx->commit;
	struct kfp_commit *c;

	if (!answer)
		return kfp_rx_ack(conn, rx->status);
	rx->commit = NULL;
	if (rx->status) {		/* a region has ended meanwhile */
		kfp_commit_abandon(conn, answer);
		return kfp_rx_ack(conn, rx->status);
	}
	c = answer->durable;
	c->answer = answer;
	answer->durable = NULL;
	answer->row = &kfp_ack_row;
	kfp_conn_get(conn);
	spin_lock_bh(&conn->lock);
	if (conn->commits.running < KFP_COMMITS) {
		conn->commits.running++;
		queue_work(kfp_commit_wq, &c->work);
	} else {
		list_add_tail(&c->entry, &conn->commits.waiting);
	}
	spin_unlock_bh(&conn->lock);
	return 0;
}

/* Process context or softirq. The owners of the regions may have ended them already. */
static void kfp_commit_done(struct kfi_commit *regions, int err)
{
	struct kfp_commit *c = container_of(regions, struct kfp_commit, regions);
	struct kfp_answer *answer = c->answer;
	struct kfp_conn *conn = c->conn;

	kfp_commit_free(c);
	rcu_read_lock();
	if (!test_bit(KFP_DEAD, &conn->flags)) {
		answer->status = -err;
		spin_lock_bh(&conn->lock);
		kfp_answer_queue(conn, answer);
		spin_unlock_bh(&conn->lock);
		kfp_tx_kick(conn);
	}
	rcu_read_unlock();
	kfp_conn_put(conn);
}

static void kfp_commit_work(struct work_struct *work)
{
	struct kfp_commit *c = container_of(work, struct kfp_commit, work), *next;
	struct kfp_conn *conn = c->conn;

	kfp_conn_get(conn);
	if (!test_bit(KFP_DEAD, &conn->flags)) {
		/* After this the commit and its reference may be gone. */
		kfi_commit_start(&c->regions);
	} else {
		kfp_commit_free(c);
		kfp_conn_put(conn);
	}
	spin_lock_bh(&conn->lock);
	next = list_first_entry_or_null(&conn->commits.waiting, struct kfp_commit, entry);
	if (next) {			/* it takes the place of this one */
		list_del(&next->entry);
		queue_work(kfp_commit_wq, &next->work);
	} else {
		conn->commits.running--;
	}
	spin_unlock_bh(&conn->lock);
	kfp_conn_put(conn);
}

/* ---- the life of a connection ---- */

static void kfp_commits_init(struct kfp_conn *conn)
{
	INIT_LIST_HEAD(&conn->commits.waiting);
}

/* No frame arrives any more: drop the commits that have not begun. */
static void kfp_commits_closed(struct kfp_conn *conn)
{
	struct kfp_commit *c, *next;
	LIST_HEAD(waiting);

	spin_lock_bh(&conn->lock);
	list_splice_init(&conn->commits.waiting, &waiting);
	spin_unlock_bh(&conn->lock);
	list_for_each_entry_safe(c, next, &waiting, entry) {
		kfp_commit_free(c);
		kfp_conn_put(conn);
	}
}

const struct kfp_protocol kfp_commit_protocol = {
	.init = kfp_commits_init,
	.closed = kfp_commits_closed,
};
