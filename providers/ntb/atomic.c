// SPDX-License-Identifier: GPL-2.0
/*
 * atomic.c - atomic operations on both sides. The core does them (kfi_atomic_perform()); here is their way there and back.
 *
 *   nt_put_atomic()	initiator: segments, operands and values to compare with, in one record
 *   nt_rx_atomic()	target: the operation, in the slot that keeps its record; old values take the place of the operands there
 *   nt_rx_tell()	the consumer is told, then the answer (rma.c)
 *   nt_rx_fetched()	initiator: old values have come
 */
#include "ntb.h"

static_assert(NTW_SEGS_MAX * sizeof(struct ntw_seg) + 2 * NTW_ATOMIC_MAX <= NT_BOUNCE);

/* ---- initiator. The lock is held ---- */

static size_t nt_put_values(void *to, struct iov_iter *iter, size_t size)
{
	size_t len = iov_iter_count(iter);

	if (copy_from_iter(to, len, iter) != len)
		WARN_ON_ONCE(1);
	ntw_swap_values(to, len, size);
	return len;
}

void nt_put_atomic(struct nt_conn *conn, struct kfi_oper *op)
{
	struct ntw_frame f = nt_op_frame(op, NTW_ATOMIC);
	size_t size = kfi_atomic_size(op->atomic->datatype), len = op->rma_count * sizeof(struct ntw_seg);
	struct nt_send *s = nt_send_get(conn);

	if (op->code == KFI_OPC_FETCH_ATOMIC)
		f.bits |= NTW_F_FETCH;
	if (op->code == KFI_OPC_COMPARE_ATOMIC)
		f.bits |= NTW_F_COMPARE;
	f.nsegs = op->rma_count;
	f.op = op->atomic->op;
	f.datatype = op->atomic->datatype;
	s->bounce = nt_bounce_get(conn);
	nt_op_segs(op);
	memcpy(s->bounce, nt_op(op)->segs, len);
	len += nt_put_values(s->bounce + len, &op->iter, size);
	len += nt_put_values(s->bounce + len, &op->atomic->compare, size);
	s->vec = (struct kvec) { s->bounce, len };
	s->rec.len = len;
	iov_iter_kvec(&s->rec.iter, ITER_SOURCE, &s->vec, 1, len);
	conn->op = NULL;
	nt_op_wait(conn, op, NT_OP_UNANSWERED);
	nt_send_post(conn, s, &f, NULL);
	__kfi_stat_add(op->ep, copied, len);
}

/* Element by element, for the peer may change them where they lie. */
int nt_rx_fetched(struct kfi_oper *op, const void *payload)
{
	size_t size = kfi_atomic_size(op->atomic->datatype), at;
	struct iov_iter iter = op->atomic->result;
	u8 value[16] __aligned(8);

	for (at = 0; at < op->len; at += size) {
		memcpy(value, payload + at, size);
		ntw_swap_values(value, size, size);
		if (copy_to_iter(value, size, &iter) != size)
			return -EPROTO;
	}
	return 0;
}

/* ---- target ---- */

static bool nt_atomic_lengths_ok(const struct ntw_frame *f, const struct kfi_rma_iov *segs)
{
	u64 left = f->len;
	unsigned int i;

	for (i = 0; i < f->nsegs; i++) {
		if (segs[i].len > left)
			return false;
		left -= segs[i].len;
	}
	return !left;
}

static u8 nt_atomic_code(const struct ntw_frame *f)
{
	if (f->bits & NTW_F_FETCH)
		return KFI_OPC_FETCH_ATOMIC;
	return f->bits & NTW_F_COMPARE ? KFI_OPC_COMPARE_ATOMIC : KFI_OPC_ATOMIC;
}

/* What is in the slot's buffer is done, and old values are there afterwards. */
static void nt_atomic_run(struct nt_slot *slot)
{
	const struct ntw_frame *f = &slot->f;
	struct kfi_atomic a = { .code = nt_atomic_code(f), .op = f->op, .datatype = f->datatype, .len = f->len };
	size_t operands = a.op == KFI_ATOMIC_READ ? 0 : a.len, results = a.code == KFI_OPC_ATOMIC ? 0 : a.len;
	size_t size = kfi_atomic_size(f->datatype);
	struct kvec vec[] = {
		{ slot->buf, operands }, { slot->buf + operands, f->payload - operands }, { slot->buf, results },
	};

	if (!size || a.len % size) {
		slot->status = size ? EINVAL : EOPNOTSUPP;
		return;
	}
	iov_iter_kvec(&a.operand, ITER_SOURCE, &vec[0], 1, operands);
	iov_iter_kvec(&a.compare, ITER_SOURCE, &vec[1], 1, vec[1].iov_len);
	iov_iter_kvec(&a.result, ITER_DEST, &vec[2], 1, results);
	ntw_swap_values(slot->buf, f->payload, size);
	slot->mr = kfi_atomic_perform(&slot->conn->nep->ep, &a, slot->seg, f->nsegs);
	if (IS_ERR(slot->mr)) {
		slot->status = -PTR_ERR(slot->mr);
		slot->mr = NULL;
	} else {
		slot->key = slot->seg[f->nsegs - 1].key;
	}
	nt_rma_spend(slot);
	ntw_swap_values(slot->buf, results, size);
}

int nt_rx_atomic(struct nt_conn *conn, const struct ntw_frame *f, const struct kfi_rma_iov *segs, const void *payload)
{
	struct nt_slot *slot;

	if (!nt_atomic_lengths_ok(f, segs))
		return -EPROTO;
	slot = nt_request_slot(conn, f, segs, NT_SLOT_QUEUED);
	if (!slot)
		return -EPROTO;
	memcpy(slot->buf, payload, f->payload);
	slot->status = nt_commit_get(slot);
	if (!slot->status)
		nt_atomic_run(slot);
	if (f->bits & NTW_F_CQ_DATA)
		nt_rx_enter(conn, slot);
	else
		nt_rx_tell(slot);
	return 0;
}
