// SPDX-License-Identifier: GPL-2.0
/*
 * told.c - what peers tell of their accesses to regions of ours, of which no code of ours has known.
 */
#include "verbs.h"

/*
 * Does the peer have the right to segment @i of the packet? The region, with a reference, or NULL.
 */
static struct kfi_mr *kv_told_region(const struct kv_slot *slot, unsigned int i, u64 access)
{
	const struct kvw_desc *desc = &kv_slot_descs(slot)[i];
	struct iov_iter iter;
	struct kfi_mr *mr;

	mr = kfi_mr_get(&slot->conn->vep->ep, le64_to_cpu(desc->key), le64_to_cpu(desc->addr),
			le64_to_cpu(desc->len), access, &iter);
	return IS_ERR(mr) ? NULL : mr;
}

/* Has an earlier segment of the packet the key of segment @i? */
static bool kv_told_again(const struct kv_slot *slot, unsigned int i)
{
	const struct kvw_desc *descs = kv_slot_descs(slot);
	unsigned int j;

	for (j = 0; j < i; j++)
		if (descs[j].key == descs[i].key)
			return true;
	return false;
}

/*
 * The last region of the packet, with a reference; NULL: the peer has no right to one of the
 * segments, or its owner has ended it. *@room grows by the length of each region that is named.
 */
static struct kfi_mr *kv_told_regions(const struct kv_slot *slot, u64 access, u64 *room)
{
	struct kfi_mr *mr = NULL;
	unsigned int i;

	for (i = 0; i < slot->p.count; i++) {
		if (mr)
			kfi_mr_put(mr);
		mr = kv_told_region(slot, i, access);
		if (!mr)
			return NULL;
		if (!kv_told_again(slot, i))
			*room += mr->len;
	}
	return mr;
}

/* The parts of one access are of one kind, and no more than an access may have. */
static bool kv_part_fits(const struct kv_conn *conn, const struct kvw_packet *p)
{
	return !conn->parts.count || (conn->parts.read == !!(p->flags & KVW_F_READ) &&
				      conn->parts.count < KV_RMA_MAX / KV_DESCS);
}

/*
 * One completion for all segments: the owner of the last region hears of it. The peer says how long
 * the access was, so every segment is checked before the length is passed on: a segment outside of
 * a region, or of a region that its owner has ended meanwhile, makes no completion. Segments may
 * overlap; the owner does not hear of more bytes than the regions have that a packet names. An
 * access of many segments comes in parts, of which only their number and length are kept.
 */
int kv_tell_owner(struct kv_slot *slot, u64 flags)
{
	u64 access = flags & (KFI_REMOTE_READ | KFI_REMOTE_WRITE), key, room = 0;
	bool done = slot->p.type == KVW_DONE, part = done && slot->p.flags & KVW_F_PART;
	struct kv_conn *conn = slot->conn;
	u64 len = slot->p.len;
	struct kfi_mr *mr;
	int ret = 0;

	lockdep_assert_held(&conn->rx_lock);
	if (len > KV_MSG_MAX || (done && (len > KV_MSG_MAX - conn->parts.len || !kv_part_fits(conn, &slot->p))))
		return -EPROTO;
	mr = kv_told_regions(slot, access, &room);
	len = min(len, room) + (done ? conn->parts.len : 0);
	if (part) {
		conn->parts.count++;
		conn->parts.read = slot->p.flags & KVW_F_READ;
		conn->parts.len = len;
		conn->parts.refused |= !mr;
	} else if (mr && !(done && conn->parts.refused)) {
		key = le64_to_cpu(kv_slot_descs(slot)[slot->p.count - 1].key);
		if (slot->p.flags & KVW_F_CQ_DATA)
			flags |= KFI_REMOTE_CQ_DATA;
		ret = kfi_remote_rma(&conn->vep->ep, mr, key, flags, len, slot->p.data,
				     kv_rx_src(conn));
	}
	if (mr)
		kfi_mr_put(mr);
	if (!ret && done && !part)
		memset(&conn->parts, 0, sizeof(conn->parts));
	return ret;
}

void kv_rx_told(struct kv_slot *slot, u16 status)
{
	struct kv_conn *conn = slot->conn;
	struct kv_done done = KV_DONE(done);

	spin_lock_bh(&conn->lock);
	if (slot->p.flags & KVW_F_LANDED || slot->p.type == KVW_ATOMIC)
		kv_atomic_answer(slot, status);
	kv_slot_release(slot, KV_HOLD_MESSAGE);
	kv_tx_run(conn, &done);
	kv_unlock_bh(conn, &done);
}

int kv_rx_done(struct kv_slot *slot)
{
	int ret = kv_tell_owner(slot, slot->p.flags & KVW_F_READ ? KFI_REMOTE_READ : KFI_REMOTE_WRITE);

	if (ret)
		return ret;
	if (slot->p.flags & KVW_F_COMMIT)
		kv_commit_start(slot);
	else
		kv_rx_told(slot, 0);
	return 0;
}

static u16 kv_flush_status(const struct kv_slot *slot)
{
	const struct kvw_desc *desc = kv_slot_descs(slot);
	struct iov_iter iter;
	struct kfi_mr *mr;
	unsigned int i;

	for (i = 0; i < slot->p.count; i++, desc++) {
		mr = kfi_mr_get(&slot->conn->vep->ep, le64_to_cpu(desc->key), le64_to_cpu(desc->addr), le64_to_cpu(desc->len),
				KFI_REMOTE_WRITE, &iter);
		if (IS_ERR(mr))
			return EACCES;
		kfi_mr_put(mr);
	}
	return 0;
}

/* What the peer has written before is in memory, for it came on this queue pair before. */
int kv_rx_flush(struct kv_slot *slot)
{
	if (slot->p.flags & KVW_F_COMMIT)
		kv_commit_start(slot);
	else
		kv_rx_told(slot, kv_flush_status(slot));
	return 0;
}
