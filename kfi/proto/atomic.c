// SPDX-License-Identifier: GPL-2.0
/*
 * atomic.c - atomic operations on both sides. The core performs them (kfi_atomic_perform()).
 *
 *   kfp_send_atomic()		initiator: encodes frame, segments, operands
 *   kfp_rx_atomic()		target: selects the buffer of the operands
 *   kfp_rx_finish_atomic()	target: performs the operation, queues the answer
 *   kfp_send_fetched()		target: encodes the old values and the ACK
 *   kfp_fetched()		initiator: converts the old values
 *
 * The frame fits into the stage, and the target stores the old values in the buffer of the
 * operands. So all allocations are made before the first element is changed. All functions are
 * called under the link's lock.
 */
#include <linux/slab.h>
#include "conn.h"

static_assert(2 * KFW_ATOMIC_MAX <= KFP_INLINE);

static void kfp_values_free(void **values, const u8 *small)
{
	if (*values != small)
		kfree(*values);
	*values = NULL;
}

/* ---- initiator ---- */

static void kfp_stage_values(struct kfp_conn *conn, struct kfi_oper *op, struct iov_iter *iter)
{
	struct kfp_tx *tx = &conn->tx;
	size_t len = iov_iter_count(iter);
	u8 *to = tx->stage + tx->staged;

	if (kfi_copy_from(to, iter, len) != len)
		WARN_ON_ONCE(1);
	kfw_encode_values(to, len, kfw_value_size(op->atomic->datatype));
	tx->staged += len;
	__kfi_stat_add(op->ep, copied, len);
}

static bool kfp_send_atomic(struct kfp_conn *conn, struct kfi_oper *op)
{
	u16 flags = kfp_op_flags(op) | (op->code == KFI_OPC_FETCH_ATOMIC ? KFW_F_FETCH : 0) |
		    (op->code == KFI_OPC_COMPARE_ATOMIC ? KFW_F_COMPARE : 0);
	struct kfw_hdr *hdr = kfp_send_op_frame(conn, op, KFW_ATOMIC, flags);

	list_del(&op->link);
	hdr->rma_count = cpu_to_le16(op->rma_count);
	hdr->op = op->atomic->op;
	hdr->datatype = op->atomic->datatype;
	hdr->payload = cpu_to_le64(iov_iter_count(&op->iter) +
				   iov_iter_count(&op->atomic->compare));
	kfp_op_request(conn, op);
	kfp_op_unplaced(conn, op);
	kfp_send_segments(conn, op);
	kfp_stage_values(conn, op, &op->iter);
	kfp_stage_values(conn, op, &op->atomic->compare);
	kfp_op_sent(conn, op, true);
	return true;
}

/* Select the destination of the old values. */
static int kfp_fetched_data(struct kfp_conn *conn, struct kfi_oper *op)
{
	struct kfp_rx *rx = &conn->rx;

	if (rx->f.flags & KFW_F_PLACED || rx->f.payload != op->len)
		return -EPROTO;
	rx->iter = op->atomic->result;
	conn->rx.into = &rx->iter;
	return 0;
}

/* All old values have arrived. Each entry of the vector contains whole elements. */
static void kfp_fetched(struct kfp_conn *conn, struct kfi_oper *op)
{
	const struct kvec *vec = op->atomic->result.kvec;
	size_t left = op->len;

	for (; left; left -= vec++->iov_len)
		kfw_decode_values(vec->iov_base, vec->iov_len, kfw_value_size(op->atomic->datatype));
}

static int kfp_fetch_acked(struct kfp_conn *conn, struct kfi_oper *op)
{
	return kfp_op(op)->got == op->len ? 0 : -EREMOTEIO;
}

const struct kfp_op_row kfp_atomic_op = {
	.cls = KFP_CLS,
	.send = kfp_send_atomic,
};

const struct kfp_op_row kfp_fetch_op = {
	.cls = KFP_CLS,
	.returns = true,
	.send = kfp_send_atomic,
	.data = kfp_fetched_data,
	.returned = kfp_fetched,
	.acked = kfp_fetch_acked,
};

/* ---- target: the operands ---- */

/*
 * Select the buffer of the operands. Return: 0; -ENOMEM if nothing has changed and the frame has to
 * be dispatched again; -EPROTO.
 */
static int kfp_rx_atomic(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;
	size_t room = max(rx->f.payload, rx->f.len);
	int ret;

	if (!kfp_rx_lengths_ok(rx))
		return -EPROTO;
	rx->values = room <= KFP_SMALL ? rx->small : kmalloc(room, GFP_ATOMIC | __GFP_NOWARN);
	if (!rx->values)
		return -ENOMEM;
	ret = kfp_rx_commit(conn);
	if (ret) {
		kfp_values_free(&rx->values, rx->small);
		return ret;
	}
	rx->performed = false;
	conn->rx.left = rx->f.payload;
	rx->vec = (struct kvec){ .iov_base = rx->values, .iov_len = rx->f.payload };
	iov_iter_kvec(&rx->iter, ITER_DEST, &rx->vec, 1, rx->f.payload);
	conn->rx.into = &rx->iter;
	return 0;
}

static void kfp_rx_atomic_drop(struct kfp_conn *conn, int err)
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
		.code = kfp_atomic_code(&rx->f), .op = rx->f.op,
		.datatype = rx->f.datatype, .len = rx->f.len,
	};
	size_t operands = a.op == KFI_ATOMIC_READ ? 0 : a.len;
	size_t results = a.code == KFI_OPC_ATOMIC ? 0 : a.len;
	struct kvec vec[] = {
		{ rx->values, operands },
		{ rx->values + operands, rx->f.payload - operands },
		{ rx->values, results },
	};
	u8 size = kfw_value_size(rx->f.datatype);
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

/* Encode the old values and the ACK. */
static void kfp_send_fetched(struct kfp_conn *conn, struct kfp_answer *answer)
{
	struct kfw_hdr *hdr = kfp_send_answer_frame(conn, answer, KFW_READ_DATA);

	hdr->len = cpu_to_le64(answer->len);
	hdr->payload = hdr->len;
	conn->tx.yields = true;
	kfp_send_bytes(conn, answer->values, answer->len);
	kfp_send_ack(conn, answer);
}

static void kfp_fetched_drop(struct kfp_conn *conn, struct kfp_answer *answer)
{
	kfp_values_free(&answer->values, answer->small);
}

static void kfp_fetched_done(struct kfp_conn *conn, struct kfp_answer *answer)
{
	kfp_fetched_drop(conn, answer);
	kfp_answer_put(conn, answer);
}

static const struct kfp_answer_row kfp_fetched_row = {
	.send = kfp_send_fetched,
	.done = kfp_fetched_done,
	.drop = kfp_fetched_drop,
};

static int kfp_answer_fetched(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;
	struct kfp_answer *answer = kfp_answer_get(conn, &kfp_fetched_row);

	if (!answer)
		return -EPROTO;
	answer->status = 0;
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
static int kfp_rx_finish_atomic(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;
	bool fetch = rx->f.flags & (KFW_F_FETCH | KFW_F_COMPARE);
	u64 flags = KFI_ATOMIC | (fetch ? KFI_REMOTE_READ : KFI_REMOTE_WRITE);
	int ret = 0;

	if (!rx->performed && !rx->status)
		kfp_atomic_run(conn);
	rx->performed = true;
	if (rx->f.flags & KFW_F_CQ_DATA)
		flags |= KFI_REMOTE_CQ_DATA;
	if (!rx->status)
		ret = kfi_remote_rma(&conn->ep->ep, rx->mr, rx->key, flags, rx->f.len, rx->f.data,
				     kfp_rx_src(conn));
	if (ret)
		return ret;
	ret = fetch && !rx->status ? kfp_answer_fetched(conn) : kfp_rx_end(conn);
	kfp_rx_atomic_drop(conn, 0);	/* the region, and values not moved to the answer */
	return ret;
}

const struct kfp_frame_row kfp_atomic_frame = {
	.request = true,
	.receive = kfp_rx_atomic,
	.finish = kfp_rx_finish_atomic,
	.abort = kfp_rx_atomic_drop,
};
