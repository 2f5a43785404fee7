// SPDX-License-Identifier: GPL-2.0
/*
 * commit.c - what is to be visible or durable: FLUSH records, and others with NTW_F_COMMIT.
 *
 *   nt_commit_get()	target: may it, and can it be? Before a byte of the request moves
 *   nt_slot_verdict()	all has landed, with all that came before it in the ring: to the owners, or the answer
 *   nt_commit_work()	the owners of the regions; the answer
 *
 * A commit sits in the slot of its request. persist() runs in one of a connection's few hands, without any lock of ours, and holds up no record
 * that comes after it. Nor does it hold up the end of the connection or its endpoint: what has not begun then never does, and what
 * runs finds, in an RCU section, that nobody waits for it any more. The owner alone waits for it, when he ends his region.
 */
#include "ntb.h"

/* References to all regions, or none and why. */
u16 nt_commit_get(struct nt_slot *slot)
{
	int err = 0;

	if (!(slot->f.bits & NTW_F_COMMIT))
		return 0;
	while (slot->ndurable < slot->f.nsegs && !err) {
		err = kfi_commit_get(&slot->conn->nep->ep, &slot->seg[slot->ndurable], &slot->durable[slot->ndurable]);
		slot->ndurable += !err;
	}
	if (err)
		nt_commit_put(slot);
	return -err;
}

void nt_commit_put(struct nt_slot *slot)
{
	kfi_commit_put(slot->durable, slot->ndurable);
	slot->ndurable = 0;
}

/* Memory is the same for all who look at it: what has landed is visible. */
static u16 nt_visible(struct nt_slot *slot)
{
	struct iov_iter iter;
	struct kfi_mr *mr;
	unsigned int i;

	for (i = 0; i < slot->f.nsegs; i++) {
		mr = kfi_mr_get(&slot->conn->nep->ep, slot->seg[i].key, slot->seg[i].addr, slot->seg[i].len, KFI_REMOTE_WRITE, &iter);
		if (IS_ERR(mr))
			return EACCES;
		kfi_mr_put(mr);
	}
	return 0;
}

int nt_rx_flush(struct nt_conn *conn, const struct ntw_frame *f, const struct kfi_rma_iov *segs)
{
	struct nt_slot *slot = nt_request_slot(conn, f, segs, NT_SLOT_QUEUED);

	if (!slot)
		return -EPROTO;
	slot->status = f->bits & NTW_F_COMMIT ? nt_commit_get(slot) : nt_visible(slot);
	nt_slot_verdict(slot);
	return 0;
}

/* ---- the owners ---- */

/* One more hand, if there is one; else the first that is ready takes what waits. */
static void nt_commit_start(struct nt_conn *conn)
{
	unsigned int hand = find_first_zero_bit(&conn->committing, NT_COMMITS);

	lockdep_assert_held(&conn->lock);
	if (hand == NT_COMMITS)
		return;
	__set_bit(hand, &conn->committing);
	nt_conn_get(conn);
	queue_work(nt_commit_wq, &conn->hands[hand].work);
}

/* The request has been dealt with but for its answer, which owners may have to come before. */
void nt_slot_verdict(struct nt_slot *slot)
{
	struct nt_conn *conn = slot->conn;

	if (slot->status || !slot->ndurable) {
		nt_commit_put(slot);		/* a region has died under it */
		nt_slot_ack(slot, slot->status);
		return;
	}
	spin_lock_bh(&conn->lock);
	slot->state = NT_SLOT_OWNERS;
	list_add_tail(&slot->entry, &conn->commits);
	nt_commit_start(conn);
	spin_unlock_bh(&conn->lock);
}

/* The next one that waits; it is the hand's. NULL: there is none, or the connection is over, and the hand rests. */
static struct nt_slot *nt_commit_next(struct nt_hand *hand)
{
	struct nt_conn *conn = hand->conn;
	struct nt_slot *slot = NULL;

	spin_lock_bh(&conn->lock);
	if (!test_bit(NT_DEAD, &conn->flags))
		slot = list_first_entry_or_null(&conn->commits, struct nt_slot, entry);
	if (slot)
		list_del_init(&slot->entry);
	else
		__clear_bit(hand - conn->hands, &conn->committing);
	spin_unlock_bh(&conn->lock);
	return slot;
}

static void nt_commit_work(struct work_struct *work)
{
	struct nt_hand *hand = container_of(work, struct nt_hand, work);
	struct nt_conn *conn = hand->conn;
	struct nt_slot *slot;
	int err;

	while ((slot = nt_commit_next(hand))) {
		err = kfi_commit_run(slot->durable, slot->ndurable);
		nt_commit_put(slot);
		rcu_read_lock();
		if (!test_bit(NT_DEAD, &conn->flags))
			nt_slot_ack(slot, -err);
		rcu_read_unlock();
	}
	nt_conn_put(conn);
}

void nt_commit_init(struct nt_conn *conn)
{
	unsigned int hand;

	INIT_LIST_HEAD(&conn->commits);
	for (hand = 0; hand < NT_COMMITS; hand++) {
		INIT_WORK(&conn->hands[hand].work, nt_commit_work);
		conn->hands[hand].conn = conn;
	}
}
