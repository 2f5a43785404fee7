// SPDX-License-Identifier: GPL-2.0
/*
 * rdv.c - long messages and tagged RMA: who has the memory tells where it is, the other side moves the data, FIN ends it.
 *
 *	sender, or reader		  receiver
 *	registers its memory
 *	RTS or TREAD, descriptors ----->  finds the receive
 *				  <=====  RDMA READ (RTS) or WRITE (TREAD), one-sided
 *				  <-----  FIN
 *	invalidates, completes
 *
 * Registrations come from a pool of each class, for those of one that waits for receives must not keep the other waiting. An
 * operation ends when the peer can touch its memory no more: after the invalidation, or the end of the queue pair.
 */
#include <linux/slab.h>
#include "verbs.h"

/* ---- sender, or reader ---- */

/* Are there as many registrations as the memory takes? Looked up once: an operation may have to wait often. */
bool kv_long_room(const struct kv_conn *conn, struct kfi_oper *op)
{
	struct kv_op *kop = kv_op(op);

	if (!kop->regs)
		kop->regs = kv_count_runs(&op->iter, conn->kdom->max_frmr_pages);
	return conn->nfrmrs[kv_op_cls(op)] >= min_t(unsigned int, kop->regs, KV_FRMRS);
}

/* Register all of the operation's memory; descriptors go to @descs. Return: their number or a negative errno. */
static int kv_expose(struct kv_conn *conn, struct kfi_oper *op, struct kvw_desc *descs)
{
	bool read = op->code == KFI_OPC_TREAD;
	int access = read ? IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE : IB_ACCESS_REMOTE_READ;
	struct iov_iter iter = op->iter;
	struct kv_frmr *frmr;
	int n, ret;

	for (n = 0; iov_iter_count(&iter); n++) {
		frmr = kv_frmr_take(conn, kv_op_cls(op), &kv_op(op)->frmrs);
		if (!frmr)
			return -EMSGSIZE;
		ret = kv_frmr_map(conn, frmr, &iter, read ? DMA_FROM_DEVICE : DMA_TO_DEVICE);
		if (ret)
			return ret;
		if (!n)
			kv_put_fence(conn, frmr->mr->rkey);
		kv_put_reg(conn, kv_sq_get(conn, KV_SQ_REG), frmr->mr, access, false);
		frmr->valid = true;
		descs[n] = (struct kvw_desc){ cpu_to_le64(frmr->mr->iova), cpu_to_le64(frmr->mr->rkey),
					      cpu_to_le64(frmr->mr->length) };
	}
	return n;
}

/* A request to move the data. Credit has been taken, and kv_long_room() was true. */
void kv_put_long(struct kv_conn *conn, struct kfi_oper *op, struct kv_done *done)
{
	struct kvw_packet p = kv_op_packet(op, op->code == KFI_OPC_TREAD ? KVW_TREAD : KVW_RTS);
	struct kvw_desc descs[KV_DESCS + 1] = {};
	bool inv = p.flags & KVW_F_INV;
	int n;

	if (inv)
		descs[0].addr = cpu_to_le64(op->inv_key);
	n = kv_expose(conn, op, descs + inv);
	if (n < 0) {
		/* The credit is spent, and what was registered has to be taken back. */
		kv_long_end(conn, op, n, done);
		kv_put_void(conn, op);
		return;
	}
	if (op->code == KFI_OPC_TWRITE || op->code == KFI_OPC_TREAD) {
		p.flags |= KVW_F_RMA;
		p.tag = op->rma[0].key;
	}
	p.count = n + inv;
	kv_put_packet(conn, &p, descs, 0);
	kv_op_asked(conn, op);
}

/* The peer is through with it, or was never told: take back what it may touch. */
void kv_long_end(struct kv_conn *conn, struct kfi_oper *op, int err, struct kv_done *done)
{
	struct kv_op *kop = kv_op(op);
	struct kv_frmr *frmr, *next;

	kop->err = kop->err ?: err;
	kop->state = KV_OP_ENDING;
	list_for_each_entry_safe(frmr, next, &kop->frmrs, link) {
		if (frmr->valid)
			kop->ninv++;
		else
			kv_frmr_give(conn, frmr);
	}
	if (!kop->ninv) {
		kv_op_end(op, 0, done);
		return;
	}
	list_add_tail(&op->link, &conn->ending);
	conn->waits = true;
}

/* One invalidation; only the last of an operation is reported, and stands for all of them. */
bool kv_put_inv(struct kv_conn *conn)
{
	struct kfi_oper *op;
	struct kv_frmr *frmr;
	struct kv_sqe *e;

	list_for_each_entry(op, &conn->ending, link) {
		list_for_each_entry(frmr, &kv_op(op)->frmrs, link) {
			if (!frmr->valid)
				continue;
			e = kv_sq_get(conn, KV_SQ_INV);
			e->op = op;
			e->frmr = frmr;
			e->wr.send.opcode = IB_WR_LOCAL_INV;
			e->wr.send.ex.invalidate_rkey = frmr->mr->rkey;
			frmr->valid = false;
			kv_sq_put(conn, e, &e->wr.send, list_is_last(&frmr->link, &kv_op(op)->frmrs));
			return true;
		}
	}
	return false;
}

/*
 * An invalidation has ended. One that the device has not executed leaves it what it was to forget: the memory stays mapped until
 * kv_frmrs_dereg(), before which the operation is not reported either, see kv_sq_failed().
 */
void kv_frmr_done(struct kv_sqe *e, int err, struct kv_done *done)
{
	struct kfi_oper *op = e->op;

	if (err)
		list_del_init(&e->frmr->link);
	else
		kv_frmr_give(e->conn, e->frmr);
	if (--kv_op(op)->ninv)
		return;
	list_del(&op->link);
	kv_op_end(op, 0, done);
}

/* ---- receiver ---- */

static bool kv_slot_writes(const struct kv_slot *slot)
{
	return slot->p.type == KVW_TREAD;
}

/* The descriptor under way, and what is left of it; descriptors are the peer's word. NULL: there are no more bytes. */
static const struct kvw_desc *kv_slot_desc(struct kv_slot *slot, u64 *left)
{
	const struct kvw_desc *descs = kv_slot_descs(slot);

	for (; slot->desc < slot->p.count; slot->desc++, slot->at = 0) {
		*left = le64_to_cpu(descs[slot->desc].len);
		if (slot->at < *left) {
			*left -= slot->at;
			return &descs[slot->desc];
		}
	}
	return NULL;
}

static void kv_put_move(struct kv_conn *conn, struct kv_slot *slot, const struct kvw_desc *desc, u64 left)
{
	u64 addr = le64_to_cpu(desc->addr) + slot->at, len = min(left, slot->left);
	struct kv_sqe *e;
	ssize_t n;

	if (kv_slot_writes(slot))
		e = kv_sq_write(conn, KV_SQ_FETCH, &slot->iter, len, &n);
	else
		e = kv_sq_read(conn, KV_SQ_FETCH, &slot->iter, addr, len, &n);
	if (n < 0) {
		kv_sq_unmap(conn, e);
		slot->err = n;
		slot->left = 0;
		if (slot->wrs)
			kv_put_mark(conn);
		return;
	}
	e->slot = slot;
	e->wr.rdma.remote_addr = addr;
	e->wr.rdma.rkey = le64_to_cpu(desc->key);
	slot->at += n;
	slot->left -= n;
	slot->wrs++;
	kv_sq_put(conn, e, &e->wr.rdma.wr, !slot->left);
}

/* It promised more than it has described. */
static void kv_put_broken(struct kv_conn *conn, struct kv_slot *slot)
{
	slot->err = -EPROTO;
	kv_conn_fail(conn, -EPROTO);
}

/* One work request of the oldest transfer. */
bool kv_put_fetch(struct kv_conn *conn, struct kv_done *done)
{
	struct kv_slot *slot = list_first_entry_or_null(&conn->fetches, struct kv_slot, link);
	const struct kvw_desc *desc;
	u64 left;

	if (!slot || (!kv_slot_writes(slot) && !kv_may_read(conn)))
		return false;
	if (slot->left && !slot->err) {
		desc = kv_slot_desc(slot, &left);
		if (desc)
			kv_put_move(conn, slot, desc, left);
		else
			kv_put_broken(conn, slot);
	}
	if (slot->err)
		slot->left = 0;
	if (slot->left)
		return true;
	list_del_init(&slot->link);
	if (!slot->wrs)
		list_add_tail(&slot->link, &done->slots);
	return true;
}

/* The receive is found. Process or softirq; the lock is held. */
void kv_fetch_start(struct kv_conn *conn, struct kv_slot *slot)
{
	slot->state = KV_SLOT_FETCHING;
	slot->iter = slot->rx.iter;
	slot->left = slot->rx.room;
	slot->desc = slot->p.flags & KVW_F_INV ? 1 : 0;
	slot->at = 0;
	list_add_tail(&slot->link, &conn->fetches);
	conn->waits = true;
}
