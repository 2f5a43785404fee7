// SPDX-License-Identifier: GPL-2.0
/*
 * commit.c - writes of a peer that are to be durable: their regions' owners are called, and then the peer is answered.
 *
 * The data is in memory when the packet that asks for it is looked at, for it has come on the same queue pair before. The slot of
 * that packet is where everything is kept, so what a peer can have under way is bounded by its credits. Owners may sleep for as
 * long as they like: nobody waits for them but the peer.
 */
#include <kfi_commit.h>
#include "verbs.h"

/* Behind the descriptors and what an atomic operation has behind them. */
static struct kfi_commit_seg *kv_commit_segs(const struct kv_slot *slot)
{
	void *end = (void *)(kv_slot_descs(slot) + KV_DESCS) + 2 * KVW_ATOMIC_MAX;

	return PTR_ALIGN(end, __alignof__(struct kfi_commit_seg));
}

static_assert(KVW_HDR_MAX + KV_DESCS * (sizeof(struct kvw_desc) + sizeof(struct kfi_commit_seg)) + 2 * KVW_ATOMIC_MAX + 64 <
	      KVW_PAGE);

static int kv_commit_get_all(struct kv_slot *slot)
{
	const struct kvw_desc *descs = kv_slot_descs(slot);
	struct kfi_commit_seg *segs = kv_commit_segs(slot);
	unsigned int i;
	int ret = 0;

	for (i = 0; i < slot->p.count && !ret; i++) {
		struct kfi_rma_iov rma = {
			.addr = le64_to_cpu(descs[i].addr),
			.len = min_t(u64, le64_to_cpu(descs[i].len), SIZE_MAX),
			.key = le64_to_cpu(descs[i].key),
		};

		ret = kfi_commit_get(&slot->conn->vep->ep, &rma, &segs[i]);
	}
	if (ret)
		kfi_commit_put(segs, i - 1);
	return ret;
}

/* 0: they are all there, with references. */
static int kv_commit_get(struct kv_slot *slot)
{
	if (slot->p.count > KV_DESCS)
		return -EINVAL;
	return kv_commit_get_all(slot);
}

/* Nothing has been moved yet: can it be durable? */
int kv_commit_possible(struct kv_slot *slot)
{
	int ret = kv_commit_get(slot);

	if (!ret)
		kfi_commit_put(kv_commit_segs(slot), slot->p.count);
	return ret;
}

static void kv_commit_answer(struct kv_slot *slot, int err)
{
	struct kv_conn *conn = slot->conn;
	struct kv_done done = KV_DONE(done);

	spin_lock_bh(&conn->lock);
	kv_atomic_answer(slot, -err);
	kv_slot_release(slot, KV_HOLD_MESSAGE);
	kv_tx_run(conn, &done);
	kv_unlock_bh(conn, &done);
}

/* The connection, and its endpoint, may have gone meanwhile: the slot is there, and the owners are asked for the peer's sake. */
void kv_commit_work(struct work_struct *work)
{
	struct kv_slot *slot = container_of(work, struct kv_slot, work);
	struct kfi_commit_seg *segs = kv_commit_segs(slot);
	struct kv_conn *conn = slot->conn;
	int err;

	err = kfi_commit_run(segs, slot->p.count);
	kfi_commit_put(segs, slot->p.count);
	kv_commit_answer(slot, err);
	kv_conn_put(conn);
}

/* Softirq. The answer follows, whatever it is. */
void kv_commit_start(struct kv_slot *slot)
{
	int ret = kv_commit_get(slot);

	/* Bytes have moved: "not allowed" would deny it. */
	if (ret == -EACCES && slot->p.type != KVW_FLUSH)
		ret = -EREMOTEIO;
	if (ret) {
		kv_commit_answer(slot, ret);
		return;
	}
	kv_conn_get(slot->conn);
	queue_work(kv_commit_wq, &slot->work);
}
