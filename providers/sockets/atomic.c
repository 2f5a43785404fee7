// SPDX-License-Identifier: GPL-2.0
/*
 * atomic.c - atomic operations on both sides. The core does them (kfi_atomic_perform()); here is their way there and back.
 *
 *   ks_put_atomic()		initiator: frame, segments, operands
 *   ks_rx_atomic()		target: where the operands go until they are all there
 *   ks_rx_finish_atomic()	the operation; the answer
 *   ks_put_fetched()		old values and the verdict
 *   ks_rx_fetched()		initiator: they are there
 *
 * All of it fits into a stage buffer, and the target keeps the old values in the place of the operands: what could fail for want of
 * memory does so before the first element is touched. Socket lock held throughout.
 */
#include <linux/slab.h>
#include "sock.h"

static_assert(2 * SKW_ATOMIC_MAX <= KS_INLINE);

void ks_values_free(void **values, const u8 *small)
{
	if (*values != small)
		kfree(*values);
	*values = NULL;
}

/* ---- initiator ---- */

static u16 ks_atomic_slot(const struct kfi_oper *op)
{
	return skw_atomic_slot(op->atomic->op, op->atomic->datatype);
}

static void ks_stage_values(struct ks_conn *conn, struct kfi_oper *op, struct iov_iter *iter)
{
	struct ks_tx *tx = &conn->tx;
	size_t len = iov_iter_count(iter);
	u8 *to = tx->stage + tx->staged;

	if (kfi_copy_from(to, iter, len) != len)
		WARN_ON_ONCE(1);
	skw_encode_values(to, len, skw_value_size(ks_atomic_slot(op)));
	tx->staged += len;
	__kfi_stat_add(op->ep, copied, len);
}

void ks_put_atomic(struct ks_conn *conn, struct kfi_oper *op)
{
	struct skw_frame f = ks_op_frame(op, SKW_ATOMIC);

	if (op->code == KFI_OPC_FETCH_ATOMIC)
		f.flags |= SKW_F_FETCH;
	if (op->code == KFI_OPC_COMPARE_ATOMIC)
		f.flags |= SKW_F_COMPARE;
	f.rma_count = op->rma_count;
	f.slot = ks_atomic_slot(op);
	f.payload = iov_iter_count(&op->iter) + iov_iter_count(&op->atomic->compare);
	conn->tx.requests++;
	ks_put_frame(conn, &f);
	ks_put_segments(conn, op);
	ks_stage_values(conn, op, &op->iter);
	ks_stage_values(conn, op, &op->atomic->compare);
	ks_op_sent(conn, op, true);
}

/* The old values have come, all of them; our vector's pieces are whole elements. */
void ks_rx_fetched(struct kfi_oper *op)
{
	const struct kvec *vec = op->atomic->result.kvec;
	size_t left = op->len;

	for (; left; left -= vec++->iov_len)
		skw_decode_values(vec->iov_base, vec->iov_len, skw_value_size(ks_atomic_slot(op)));
}

/* ---- target: the operands ---- */

static bool ks_atomic_lengths_ok(const struct ks_rx *rx)
{
	u64 left = rx->f.len, len;
	unsigned int i;

	for (i = 0; i < rx->f.rma_count; i++) {
		len = le64_to_cpu(rx->segs[i].len);
		if (len > left)
			return false;
		left -= len;
	}
	return !left;
}

/* Return: 0; -ENOMEM: try again later, nothing has changed; -EPROTO. */
int ks_rx_atomic(struct ks_conn *conn)
{
	struct ks_rx *rx = &conn->rx;
	size_t room = max(rx->f.payload, rx->f.len);
	int ret;

	if (conn->tx.version < SKW_VERSION_ATOMIC || !ks_atomic_lengths_ok(rx))
		return -EPROTO;
	rx->values = room <= KS_SMALL ? rx->small : kmalloc(room, GFP_ATOMIC | __GFP_NOWARN);
	if (!rx->values)
		return -ENOMEM;
	ret = ks_rx_commit(conn);
	if (ret) {
		ks_values_free(&rx->values, rx->small);
		return ret;
	}
	rx->to = KS_TO_ATOMIC;
	rx->left = rx->f.payload;
	rx->vec = (struct kvec){ .iov_base = rx->values, .iov_len = rx->f.payload };
	iov_iter_kvec(&rx->iter, ITER_DEST, &rx->vec, 1, rx->f.payload);
	rx->into = &rx->iter;
	return 0;
}

void ks_rx_atomic_drop(struct ks_conn *conn)
{
	ks_rx_wrote(conn);
	ks_values_free(&conn->rx.values, conn->rx.small);
}

/* ---- target: the operation ---- */

static u8 ks_atomic_code(const struct skw_frame *f)
{
	if (f->flags & SKW_F_FETCH)
		return KFI_OPC_FETCH_ATOMIC;
	return f->flags & SKW_F_COMPARE ? KFI_OPC_COMPARE_ATOMIC : KFI_OPC_ATOMIC;
}

/* The segments as the core wants them, in the place of those that came. */
static const struct kfi_rma_iov *ks_atomic_segments(struct ks_rx *rx)
{
	struct kfi_rma_iov *to = (void *)rx->segs, seg;
	unsigned int i;

	static_assert(sizeof(*to) <= sizeof(*rx->segs));
	for (i = 0; i < rx->f.rma_count; i++) {
		seg = (struct kfi_rma_iov) {
			.addr = le64_to_cpu(rx->segs[i].addr),
			.len = le64_to_cpu(rx->segs[i].len),
			.key = le64_to_cpu(rx->segs[i].key),
		};
		memcpy(&to[i], &seg, sizeof(seg));
	}
	return to;
}

static void ks_atomic_run(struct ks_conn *conn)
{
	struct ks_rx *rx = &conn->rx;
	struct kfi_atomic a = {
		.code = ks_atomic_code(&rx->f), .op = skw_atomic_op(rx->f.slot),
		.datatype = skw_atomic_type(rx->f.slot), .len = rx->f.len,
	};
	size_t operands = a.op == KFI_ATOMIC_READ ? 0 : a.len, results = a.code == KFI_OPC_ATOMIC ? 0 : a.len;
	struct kvec vec[] = {
		{ rx->values, operands }, { rx->values + operands, rx->f.payload - operands }, { rx->values, results },
	};
	u8 size = skw_value_size(rx->f.slot);
	const struct kfi_rma_iov *segs;

	iov_iter_kvec(&a.operand, ITER_SOURCE, &vec[0], 1, operands);
	iov_iter_kvec(&a.compare, ITER_SOURCE, &vec[1], 1, vec[1].iov_len);
	iov_iter_kvec(&a.result, ITER_DEST, &vec[2], 1, results);
	skw_decode_values(rx->values, rx->f.payload, size);
	segs = ks_atomic_segments(rx);
	rx->mr = kfi_atomic_perform(&conn->sep->ep, &a, segs, rx->f.rma_count);
	if (IS_ERR(rx->mr)) {
		rx->status = -PTR_ERR(rx->mr);
		rx->mr = NULL;
	} else {
		rx->key = segs[rx->f.rma_count - 1].key;
	}
	skw_encode_values(rx->values, results, size);
}

static int ks_answer_fetched(struct ks_conn *conn)
{
	struct ks_rx *rx = &conn->rx;
	struct ks_answer *answer = ks_answer_get(conn);

	if (!answer)
		return -EPROTO;
	answer->kind = KS_ANSWER_FETCHED;
	answer->status = 0;
	answer->id = rx->f.id;
	answer->gen = rx->f.gen;
	answer->len = rx->f.len;
	answer->values = rx->values;
	if (rx->values == rx->small)
		answer->values = memcpy(answer->small, rx->small, rx->f.len);
	rx->values = NULL;
	spin_lock(&conn->lock);
	ks_answer_queue(conn, answer);
	spin_unlock(&conn->lock);
	return 0;
}

/* Return: 0; -EAGAIN: no room for what the consumer is to be told, then it is told later and not done again; -EPROTO. */
int ks_rx_finish_atomic(struct ks_conn *conn)
{
	struct ks_rx *rx = &conn->rx;
	bool fetch = rx->f.flags & (SKW_F_FETCH | SKW_F_COMPARE);
	u64 flags = KFI_ATOMIC | (fetch ? KFI_REMOTE_READ : KFI_REMOTE_WRITE);
	int ret = 0;

	if (rx->to == KS_TO_ATOMIC && !rx->status)
		ks_atomic_run(conn);
	rx->to = KS_TO_TELL;
	if (rx->f.flags & SKW_F_CQ_DATA)
		flags |= KFI_REMOTE_CQ_DATA;
	if (!rx->status)
		ret = kfi_remote_rma(&conn->sep->ep, rx->mr, rx->key, flags, rx->f.len, rx->f.data,
				     ks_rx_src(conn));
	if (ret)
		return ret;
	ret = fetch && !rx->status ? ks_answer_fetched(conn) : ks_rx_verdict(conn);
	ks_rx_atomic_drop(conn);	/* the region, and what the answer has not taken */
	return ret;
}

/* Old values and verdict leave together. */
void ks_put_fetched(struct ks_conn *conn, struct ks_answer *answer)
{
	struct skw_frame f = {
		.type = SKW_READ_DATA, .id = answer->id, .gen = answer->gen, .payload = answer->len, .len = answer->len,
	};
	struct ks_tx *tx = &conn->tx;

	ks_put_frame(conn, &f);
	memcpy(tx->stage + tx->staged, answer->values, answer->len);
	tx->staged += answer->len;
	ks_put_verdict(conn, answer);
}
