// SPDX-License-Identifier: GPL-2.0
/*
 * slot.c - room for what has to wait: messages for their receive or for room in a completion queue, requests for their answer. A
 * connection has as many as the credits that it grants, allocated before it grants them. So nothing that a peer may send can fail for want of memory, and
 * what it can make us hold is known.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include "ntb.h"

int nt_slots_alloc(struct nt_conn *conn)
{
	struct nt_slot *slot;
	u32 i;

	conn->slot_stride = ALIGN(sizeof(*slot) + nt_eager_size, SMP_CACHE_BYTES);
	conn->slot_mem = kvcalloc(2 * nt_unexpected + nt_requests, conn->slot_stride, GFP_NOIO);
	if (!conn->slot_mem)
		return -ENOMEM;
	conn->nslots = 2 * nt_unexpected + nt_requests;
	for (i = 0; i < conn->nslots; i++) {
		slot = nt_slot_at(conn, i);
		slot->conn = conn;
		list_add_tail(&slot->entry, &conn->slots);
	}
	return 0;
}

struct nt_slot *nt_slot_at(struct nt_conn *conn, u32 index)
{
	return index < conn->nslots ? conn->slot_mem + (size_t)index * conn->slot_stride : NULL;
}

u32 nt_slot_index(const struct nt_slot *slot)
{
	return ((void *)slot - slot->conn->slot_mem) / slot->conn->slot_stride;
}

/* What was used last is taken next. There is one: credits are slots. */
struct nt_slot *nt_slot_get(struct nt_conn *conn, u8 cls)
{
	struct nt_slot *slot = list_first_entry(&conn->slots, struct nt_slot, entry);

	lockdep_assert_held(&conn->lock);
	list_del_init(&slot->entry);
	slot->state = NT_SLOT_QUEUED;
	slot->cls = cls;
	slot->answer = 0;
	slot->status = 0;
	slot->killed = false;
	slot->inv_over = false;
	slot->came = 0;
	slot->at = 0;
	slot->left = 0;
	slot->iseg = 0;
	slot->ndurable = 0;
	slot->mr = NULL;
	slot->nheld = 0;
	slot->nplaces = 0;
	slot->len = 0;
	return slot;
}

void nt_slot_fill(struct nt_slot *slot, const struct ntw_frame *f, const struct kfi_rma_iov *segs, const void *payload)
{
	slot->f = *f;
	memcpy(slot->seg, segs, f->nsegs * sizeof(*segs));
	if (!payload)
		return;
	slot->len = f->payload;
	memcpy(slot->buf, payload, f->payload);
	if (f->type == NTW_MSG)
		slot->conn->unexpected += slot->len;
}

void nt_slot_free(struct nt_slot *slot)
{
	struct nt_conn *conn = slot->conn;

	lockdep_assert_held(&conn->lock);
	if (slot->f.type == NTW_MSG)
		conn->unexpected -= slot->len;
	slot->len = 0;
	slot->state = NT_SLOT_FREE;
	list_add(&slot->entry, &conn->slots);
	if (kfi_credit_free(&conn->credit_rx[slot->cls], 1))
		conn->credit_due = true;
}

/* Its sender is to hear this; it is free, or another's, when that has been sent. */
void nt_slot_answer(struct nt_slot *slot, u8 type, u16 status)
{
	struct nt_conn *conn = slot->conn;

	lockdep_assert_held(&conn->lock);
	slot->answer = type;
	slot->status = status;
	if (type != NTW_CTS)
		slot->state = NT_SLOT_ANSWER;
	list_add_tail(&slot->entry, &conn->answers);
}

void nt_slot_ack(struct nt_slot *slot, u16 status)
{
	struct nt_conn *conn = slot->conn;
	struct nt_done done = NT_DONE(done);

	spin_lock_bh(&conn->lock);
	nt_slot_answer(slot, NTW_ACK, status);
	nt_tx_run(conn, &done);
	spin_unlock_bh(&conn->lock);
	nt_done(&done);
}

/* ---- the end of the connection ---- */

/* What it is in the middle of. Nothing arrives or leaves any more. */
static void nt_slot_lose(struct nt_slot *slot, u8 state, int err)
{
	switch (state) {
	case NT_SLOT_GRANTED:
		kfi_rx_abort(&slot->rx, err);
		break;
	case NT_SLOT_READING:
		if (slot->f.type == NTW_TREAD)
			kfi_rx_abort(&slot->rx, err);
		fallthrough;
	case NT_SLOT_QUEUED:
	case NT_SLOT_WRITING:
		nt_rma_let_go(slot);
		nt_commit_put(slot);
		break;
	case NT_SLOT_OFFERED:
		nt_region_back(slot);
		nt_rma_let_go(slot);
		nt_commit_put(slot);
		break;
	case NT_SLOT_OWNERS:
		nt_commit_put(slot);
		break;
	}
}

/* True: it is ours to end. In the matching a whole message stays, and what has no payload yet is taken back. */
static bool nt_slot_ours(struct nt_slot *slot)
{
	switch (slot->state) {
	case NT_SLOT_FREE:
	case NT_SLOT_MESSAGE:
	case NT_SLOT_ANSWER:
	case NT_SLOT_LOST:
		return false;
	case NT_SLOT_ASKED:
		slot->state = NT_SLOT_LOST;
		/* Else a receive takes it right now, and finds it lost as soon as it has the lock. */
		return kfi_rx_unqueue(&slot->rx);
	case NT_SLOT_OWNERS:
		return !list_empty(&slot->entry);	/* else a hand has it */
	default:
		return true;
	}
}

void nt_slots_lost(struct nt_conn *conn, int err)
{
	struct nt_slot *slot;
	bool ours, asked;
	u8 state;
	u32 i;

	for (i = 0; i < conn->nslots; i++) {
		slot = nt_slot_at(conn, i);
		spin_lock_bh(&conn->lock);
		state = slot->state;
		asked = state == NT_SLOT_ASKED;
		ours = nt_slot_ours(slot);
		if (ours)
			slot->state = NT_SLOT_LOST;
		spin_unlock_bh(&conn->lock);
		if (ours)
			nt_slot_lose(slot, state, err);
		if (ours && asked)
			nt_conn_put(conn);	/* the matching's; the caller has another */
	}
}
