// SPDX-License-Identifier: GPL-2.0
/*
 * atomic.c - atomic operations, both sides. The core of the target's kernel does them (kfi_atomic_perform()), on every device alike; here is
 * their way there and back. What devices can do by themselves is not used: it is less (8 bytes, two operations), and atomic
 * towards nothing else but itself.
 *
 *   kv_put_atomic()	initiator: segments, operands and values to compare with, in one packet
 *   kv_rx_atomic()	target: done in the slot that the packet came in; old values take the place of the operands there
 *   kv_put_old()	... and are the answer, where they are wanted; else it is a FIN
 *   kv_got_old()	initiator: they have come
 *
 * Devices perform RMA when it comes and not behind what the target's processor has still to do. So what follows an atomic operation
 * is held back until that has been answered (kv_conn.atomics, rma.c).
 */
#include "verbs.h"

static_assert(KVW_OP_READ == KFI_ATOMIC_READ);
static_assert(KVW_HDR_MAX + KV_DESCS * sizeof(struct kvw_desc) + 2 * KVW_ATOMIC_MAX <= KV_BUF);

/* On the wire values are little endian. */
static void kv_swap_values(void *values, size_t len, size_t size)
{
#ifdef __BIG_ENDIAN
	u8 *at = values, *end = values + len;
	size_t i;

	for (; at < end; at += size)
		for (i = 0; i < size / 2; i++)
			swap(at[i], at[size - 1 - i]);
#endif
}

/* ---- initiator. The lock is held ---- */

static size_t kv_put_values(void *to, struct iov_iter iter, size_t size)
{
	size_t len = iov_iter_count(&iter);

	if (kfi_copy_from(to, &iter, len) != len)
		WARN_ON_ONCE(1);	/* kernel memory can't fault */
	kv_swap_values(to, len, size);
	return len;
}

static u8 kv_atomic_flags(const struct kfi_oper *op)
{
	return (op->flags & KFI_REMOTE_CQ_DATA ? KVW_F_CQ_DATA : 0) | (op->flags & KFI_COMMIT_COMPLETE ? KVW_F_COMMIT : 0) |
	       (op->code == KFI_OPC_FETCH_ATOMIC ? KVW_F_FETCH : 0) | (op->code == KFI_OPC_COMPARE_ATOMIC ? KVW_F_COMPARE : 0);
}

/* False: not now. */
bool kv_put_atomic(struct kv_conn *conn, struct kfi_oper *op)
{
	struct kvw_packet p = kv_op_packet(op, KVW_ATOMIC);
	size_t size = kfi_atomic_size(op->atomic->datatype);
	struct kv_sqe *e;
	u32 bytes;

	if (!kv_may_ask(conn) || !kfi_credit_take(&conn->credit_tx[KVW_CLS_CTL], 1))
		return false;
	p.flags = kv_atomic_flags(op);
	p.status = KVW_ATOMIC_STATUS(op->atomic->op, op->atomic->datatype);
	p.count = op->rma_count;
	e = kv_sq_get(conn, KV_SQ_PACKET);
	bytes = kv_put_header(conn, e, &p);
	kv_rma_descs(op, 0, op->rma_count, e->buf + bytes);
	bytes += p.count * sizeof(struct kvw_desc);
	bytes += kv_put_values(e->buf + bytes, op->iter, size);
	bytes += kv_put_values(e->buf + bytes, op->atomic->compare, size);
	e->nsge = 1;
	if (conn->reads)
		e->wr.send.send_flags = IB_SEND_FENCE;	/* what they read is from before it */
	kv_put_send(conn, e, bytes, false);
	kv_op_asked(conn, op);
	conn->atomics++;
	__kfi_stat_add(op->ep, copied, bytes);
	return true;
}

static bool kv_wants_old(const struct kfi_oper *op)
{
	return op->code == KFI_OPC_FETCH_ATOMIC || op->code == KFI_OPC_COMPARE_ATOMIC;
}

/* Is a FIN with @status an answer to it? One that succeeds and wants old values is answered by them. */
bool kv_atomic_fin_ok(const struct kfi_oper *op, u16 status)
{
	return status || !kv_wants_old(op);
}

/* @values: in a slot, which is ours */
int kv_got_old(struct kv_conn *conn, const struct kvw_packet *p, void *values, struct kv_done *done)
{
	struct kfi_oper *op = kv_answered_op(conn, p);
	struct iov_iter iter;

	if (!op || !kfi_opc_is_atomic(op->code) || !kv_wants_old(op) || p->len != op->len)
		return -EPROTO;
	iter = op->atomic->result;
	kv_swap_values(values, p->len, kfi_atomic_size(op->atomic->datatype));
	if (kfi_copy_to(&iter, values, p->len) != p->len)
		WARN_ON_ONCE(1);
	kv_op_answered(conn, op);
	kv_rma_landed(conn, op, 0, done);
	return 0;
}

/* ---- target ---- */

static void *kv_slot_values(const struct kv_slot *slot)
{
	return kv_slot_descs(slot) + slot->p.count;
}

static u8 kv_atomic_code(const struct kvw_packet *p)
{
	if (p->flags & KVW_F_FETCH)
		return KFI_OPC_FETCH_ATOMIC;
	return p->flags & KVW_F_COMPARE ? KFI_OPC_COMPARE_ATOMIC : KFI_OPC_ATOMIC;
}

static void kv_slot_segs(const struct kv_slot *slot, struct kfi_rma_iov *segs)
{
	const struct kvw_desc *desc = kv_slot_descs(slot);
	unsigned int i;

	for (i = 0; i < slot->p.count; i++, desc++)
		segs[i] = (struct kfi_rma_iov){
			.addr = le64_to_cpu(desc->addr),
			.len = min_t(u64, le64_to_cpu(desc->len), SIZE_MAX),
			.key = le64_to_cpu(desc->key),
		};
}

/* What is in the slot is done, and old values are there afterwards. */
static int kv_atomic_run(struct kv_slot *slot)
{
	const struct kvw_packet *p = &slot->p;
	struct kfi_atomic a = {
		.code = kv_atomic_code(p), .op = KVW_ATOMIC_OP(p->status), .datatype = KVW_ATOMIC_TYPE(p->status), .len = p->len,
	};
	size_t size = kfi_atomic_size(a.datatype), operands = kvw_operands(p), all = operands + kvw_compares(p);
	void *values = kv_slot_values(slot);
	struct kvec vec[] = {
		{ values, operands }, { values + operands, all - operands }, { values, kvw_olds(p) },
	};
	struct kfi_rma_iov segs[KV_DESCS];
	struct kfi_mr *mr;

	if (!size || p->len % size)
		return size ? -EINVAL : -EOPNOTSUPP;
	kv_slot_segs(slot, segs);
	iov_iter_kvec(&a.operand, ITER_SOURCE, &vec[0], 1, vec[0].iov_len);
	iov_iter_kvec(&a.compare, ITER_SOURCE, &vec[1], 1, vec[1].iov_len);
	iov_iter_kvec(&a.result, ITER_DEST, &vec[2], 1, vec[2].iov_len);
	kv_swap_values(values, all, size);
	mr = kfi_atomic_perform(&slot->conn->vep->ep, &a, segs, p->count);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	kv_swap_values(values, vec[2].iov_len, size);
	kfi_mr_put(mr);
	return 0;
}

/* Old values where they are wanted, else a FIN. The lock is held. */
void kv_atomic_answer(struct kv_slot *slot, u16 status)
{
	bool old = slot->p.type == KVW_ATOMIC && kvw_olds(&slot->p) && !status;

	kv_slot_answer(slot, old ? KVW_OLD : KVW_FIN, status);
	slot->answer.len = old ? kvw_olds(&slot->p) : 0;
}

/* The answer of a slot whose values are still in it. The lock is held. */
void kv_put_old(struct kv_conn *conn, struct kv_slot *slot)
{
	struct kv_sqe *e = kv_sq_get(conn, KV_SQ_PACKET);
	u32 head = kv_put_header(conn, e, &slot->answer), len = slot->answer.len;

	memcpy(e->buf + head, kv_slot_values(slot), len);
	e->nsge = 1;
	kv_put_send(conn, e, head + len, false);
}

static int kv_atomic_tell(struct kv_slot *slot)
{
	return kv_tell_owner(slot, KFI_ATOMIC | (kvw_olds(&slot->p) ? KFI_REMOTE_READ : KFI_REMOTE_WRITE));
}

/* Before anything changes: may it be, and can it be durable? */
static int kv_atomic_check(struct kv_slot *slot)
{
	if (slot->p.count > KV_DESCS)
		return -EINVAL;
	return slot->p.flags & KVW_F_COMMIT ? kv_commit_possible(slot) : 0;
}

/* It may come here more than once, until the consumer has room for what he is told; it is done the first time. */
int kv_rx_atomic(struct kv_slot *slot)
{
	int ret;

	if (!slot->performed)
		slot->err = kv_atomic_check(slot) ?: kv_atomic_run(slot);
	slot->performed = true;
	ret = slot->err ? 0 : kv_atomic_tell(slot);
	if (ret)
		return ret;
	if (!slot->err && slot->p.flags & KVW_F_COMMIT)
		kv_commit_start(slot);
	else
		kv_rx_told(slot, -slot->err);
	return 0;
}
