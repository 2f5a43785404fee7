// SPDX-License-Identifier: GPL-2.0
/*
 * atomic.c - atomic operations on both sides. The core performs them (kfi_atomic_perform()).
 *
 *   kfp_send_atomic()		initiator: encodes frame, segments, operands
 *   kfp_rx_atomic()		target: selects the buffer of the operands
 *   kfp_rx_finish_atomic()	target: performs the operation, queues the answer
 *   kfp_send_fetched()		target: encodes the old values and the ACK
 *   kfp_rx_fetched()		initiator: converts the old values
 *
 * The frame fits into the stage, and the target stores the old values in the buffer of the
 * operands. So all allocations are made before the first element is changed. All functions are
 * called under the link's lock.
 */
#include <linux/slab.h>
#include "proto.h"

static_assert(2 * KFW_ATOMIC_MAX <= KFP_INLINE);

void kfp_values_free(void **values, const u8 *small)
{
	if (*values != small)
		kfree(*values);
	*values = NULL;
}

/* ---- initiator ---- */

static u16 kfp_atomic_slot(const struct kfi_oper *op)
{
	return kfw_atomic_slot(op->atomic->op, op->atomic->datatype);
}

static void kfp_stage_values(struct kfp_conn *conn, struct kfi_oper *op, struct iov_iter *iter)
{
	struct kfp_tx *tx = &conn->tx;
	size_t len = iov_iter_count(iter);
	u8 *to = tx->stage + tx->staged;

	if (kfi_copy_from(to, iter, len) != len)
		WARN_ON_ONCE(1);
	kfw_encode_values(to, len, kfw_value_size(kfp_atomic_slot(op)));
	tx->staged += len;
	__kfi_stat_add(op->ep, copied, len);
}

void kfp_send_atomic(struct kfp_conn *conn, struct kfi_oper *op)
{
	struct kfw_frame f = kfp_op_frame(op, KFW_ATOMIC);

	if (op->code == KFI_OPC_FETCH_ATOMIC)
		f.flags |= KFW_F_FETCH;
	if (op->code == KFI_OPC_COMPARE_ATOMIC)
		f.flags |= KFW_F_COMPARE;
	f.rma_count = op->rma_count;
	f.slot = kfp_atomic_slot(op);
	f.payload = iov_iter_count(&op->iter) + iov_iter_count(&op->atomic->compare);
	conn->tx.requests++;
	kfp_send_frame(conn, &f);
	kfp_send_segments(conn, op);
	kfp_stage_values(conn, op, &op->iter);
	kfp_stage_values(conn, op, &op->atomic->compare);
	kfp_op_sent(conn, op, true);
}

/* All old values have arrived. Each entry of the vector contains whole elements. */
void kfp_rx_fetched(struct kfi_oper *op)
{
	const struct kvec *vec = op->atomic->result.kvec;
	size_t left = op->len;

	for (; left; left -= vec++->iov_len)
		kfw_decode_values(vec->iov_base, vec->iov_len, kfw_value_size(kfp_atomic_slot(op)));
}

/* ---- target: the operands ---- */

static bool kfp_atomic_lengths_ok(const struct kfp_rx *rx)
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

/*
 * Select the buffer of the operands. Return: 0; -ENOMEM if nothing has changed and the frame has to
 * be dispatched again; -EPROTO.
 */
int kfp_rx_atomic(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;
	size_t room = max(rx->f.payload, rx->f.len);
	int ret;

	if (!kfp_atomic_lengths_ok(rx))
		return -EPROTO;
	rx->values = room <= KFP_SMALL ? rx->small : kmalloc(room, GFP_ATOMIC | __GFP_NOWARN);
	if (!rx->values)
		return -ENOMEM;
	ret = kfp_rx_commit(conn);
	if (ret) {
		kfp_values_free(&rx->values, rx->small);
		return ret;
	}
	rx->to = KFP_TO_ATOMIC;
	conn->link.left = rx->f.payload;
	rx->vec = (struct kvec){ .iov_base = rx->values, .iov_len = rx->f.payload };
	iov_iter_kvec(&rx->iter, ITER_DEST, &rx->vec, 1, rx->f.payload);
	conn->link.into = &rx->iter;
	return 0;
}

void kfp_rx_atomic_drop(struct kfp_conn *conn)
{
	kfp_rx_put_mr(conn);
	kfp_values_free(&conn->rx.values, conn->rx.small);
}

/* ---- target: the operation ---- */

static u8 kfp_atomic_code(const struct kfw_frame *f)
{
	if (f->flags & KFW_F_FETCH)
		return KFI_OPC_FETCH_ATOMIC;
	return f->flags & KFW_F_COMPARE ? KFI_OPC_COMPARE_ATOMIC : KFI_OPC_ATOMIC;
}

/* Convert the segments in place to the core's structure. */
static const struct kfi_rma_iov *kfp_atomic_segments(struct kfp_rx *rx)
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

static void kfp_atomic_run(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;
	struct kfi_atomic a = {
		.code = kfp_atomic_code(&rx->f), .op = kfw_atomic_op(rx->f.slot),
		.datatype = kfw_atomic_type(rx->f.slot), .len = rx->f.len,
	};
	size_t operands = a.op == KFI_ATOMIC_READ ? 0 : a.len;
	size_t results = a.code == KFI_OPC_ATOMIC ? 0 : a.len;
	struct kvec vec[] = {
		{ rx->values, operands },
		{ rx->values + operands, rx->f.payload - operands },
		{ rx->values, results },
	};
	u8 size = kfw_value_size(rx->f.slot);
	const struct kfi_rma_iov *segs;

	iov_iter_kvec(&a.operand, ITER_SOURCE, &vec[0], 1, operands);
	iov_iter_kvec(&a.compare, ITER_SOURCE, &vec[1], 1, vec[1].iov_len);
	iov_iter_kvec(&a.result, ITER_DEST, &vec[2], 1, results);
	kfw_decode_values(rx->values, rx->f.payload, size);
	segs = kfp_atomic_segments(rx);
	rx->mr = kfi_atomic_perform(&conn->ep->ep, &a, segs, rx->f.rma_count);
	if (IS_ERR(rx->mr)) {
		rx->status = -PTR_ERR(rx->mr);
		rx->mr = NULL;
	} else {
		rx->key = segs[rx->f.rma_count - 1].key;
	}
	kfw_encode_values(rx->values, results, size);
}

static int kfp_answer_fetched(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;
	struct kfp_answer *answer = kfp_answer_get(conn);

	if (!answer)
		return -EPROTO;
	answer->kind = KFP_ANSWER_FETCHED;
	answer->status = 0;
	answer->id = rx->f.id;
	answer->gen = rx->f.gen;
	answer->len = rx->f.len;
	answer->values = rx->values;
	if (rx->values == rx->small)
		answer->values = memcpy(answer->small, rx->small, rx->f.len);
	rx->values = NULL;
	spin_lock(&conn->lock);
	kfp_answer_queue(conn, answer);
	spin_unlock(&conn->lock);
	return 0;
}

/*
 * Perform the operation and queue the answer. Return: 0; -EAGAIN if there is no room for the event;
 * then the function is called again, and does not perform the operation again; -EPROTO.
 */
int kfp_rx_finish_atomic(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;
	bool fetch = rx->f.flags & (KFW_F_FETCH | KFW_F_COMPARE);
	u64 flags = KFI_ATOMIC | (fetch ? KFI_REMOTE_READ : KFI_REMOTE_WRITE);
	int ret = 0;

	if (rx->to == KFP_TO_ATOMIC && !rx->status)
		kfp_atomic_run(conn);
	rx->to = KFP_TO_EVENT;
	if (rx->f.flags & KFW_F_CQ_DATA)
		flags |= KFI_REMOTE_CQ_DATA;
	if (!rx->status)
		ret = kfi_remote_rma(&conn->ep->ep, rx->mr, rx->key, flags, rx->f.len, rx->f.data,
				     kfp_rx_src(conn));
	if (ret)
		return ret;
	ret = fetch && !rx->status ? kfp_answer_fetched(conn) : kfp_rx_end(conn);
	kfp_rx_atomic_drop(conn);	/* the region, and values not moved to the answer */
	return ret;
}

/* Encode the old values and the ACK. */
void kfp_send_fetched(struct kfp_conn *conn, struct kfp_answer *answer)
{
	struct kfw_frame f = {
		.type = KFW_READ_DATA, .id = answer->id, .gen = answer->gen,
		.payload = answer->len, .len = answer->len,
	};
	struct kfp_tx *tx = &conn->tx;

	kfp_send_frame(conn, &f);
	memcpy(tx->stage + tx->staged, answer->values, answer->len);
	tx->staged += answer->len;
	kfp_send_ack(conn, answer);
}
