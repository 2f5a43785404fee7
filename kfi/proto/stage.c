// SPDX-License-Identifier: GPL-2.0
/*
 * stage.c - encode frames into the stage of a connection.
 *
 * A function kfp_send_*() adds to what is in the stage: a frame, several frames, or a part of one. The
 * link gets them with the next unit (tx.c). All functions are called under the link's lock.
 */
#include "conn.h"

/* Each frame carries the limits of the peer's credit. */
static __always_inline void kfp_stage_credit(struct kfp_conn *conn)
{
	if (!READ_ONCE(conn->credit_freed))
		return;
	spin_lock(&conn->lock);
	kfi_credit_advert(&conn->credit[KFP_CLS_MSG]);
	kfi_credit_advert(&conn->credit[KFP_CLS_TAG]);
	conn->credit_freed = false;
	conn->credit_due = false;
	spin_unlock(&conn->lock);
}

/*
 * Begin a frame. The caller sets the other members where they are: a header that is made elsewhere
 * would be read again right after it was written, in wider pieces, and for each of these a CPU
 * waits until all stores have ended.
 */
static __always_inline struct kfw_hdr *kfp_stage_header(struct kfp_conn *conn, u8 type)
{
	struct kfp_tx *tx = &conn->tx;
	struct kfw_hdr *hdr = (struct kfw_hdr *)(tx->stage + tx->staged);

	kfp_stage_credit(conn);
	*hdr = (struct kfw_hdr) {
		.type = type,
		.credit_msg = cpu_to_le32(conn->credit[KFP_CLS_MSG].advertised),
		.credit_tag = cpu_to_le32(conn->credit[KFP_CLS_TAG].advertised),
	};
	tx->staged += sizeof(*hdr);
	return hdr;
}

struct kfw_hdr *kfp_send_frame(struct kfp_conn *conn, u8 type)
{
	return kfp_stage_header(conn, type);
}

struct kfw_hdr *kfp_send_op_frame(struct kfp_conn *conn, const struct kfi_oper *op, u8 type,
				  u16 flags)
{
	struct kfw_hdr *hdr = kfp_stage_header(conn, type);

	hdr->flags = cpu_to_le16(flags);
	hdr->id = cpu_to_le32(op->index);
	hdr->gen = cpu_to_le32(op->gen);
	hdr->len = cpu_to_le64(op->len);
	hdr->tag = cpu_to_le64(op->tag);
	hdr->data = cpu_to_le64(op->data);
	return hdr;
}

struct kfw_hdr *kfp_send_answer_frame(struct kfp_conn *conn, const struct kfp_answer *answer,
				      u8 type)
{
	struct kfw_hdr *hdr = kfp_stage_header(conn, type);

	hdr->id = cpu_to_le32(answer->id);
	hdr->gen = cpu_to_le32(answer->gen);
	return hdr;
}

void kfp_send_plain(struct kfp_conn *conn, u8 type, u32 payload)
{
	struct kfp_tx *tx = &conn->tx;
	struct kfw_plain *to = (struct kfw_plain *)(tx->stage + tx->staged);

	kfp_stage_credit(conn);
	*to = (struct kfw_plain) {
		.type = type,
		.payload = cpu_to_le32(payload),
		.credit_msg = cpu_to_le32(conn->credit[KFP_CLS_MSG].advertised),
		.credit_tag = cpu_to_le32(conn->credit[KFP_CLS_TAG].advertised),
	};
	tx->staged += sizeof(*to);
}

void kfp_send_segment(struct kfp_conn *conn, u64 addr, u64 len, u64 key)
{
	struct kfw_rma *seg = (void *)(conn->tx.stage + conn->tx.staged);

	seg->addr = cpu_to_le64(addr);
	seg->len = cpu_to_le64(len);
	seg->key = cpu_to_le64(key);
	conn->tx.staged += sizeof(*seg);
}

void kfp_send_segments(struct kfp_conn *conn, const struct kfi_oper *op)
{
	unsigned int i;

	for (i = 0; i < op->rma_count; i++)
		kfp_send_segment(conn, op->rma[i].addr, op->rma[i].len, op->rma[i].key);
}

void kfp_send_places(struct kfp_conn *conn, const struct kfi_link_place *place, unsigned int n)
{
	struct kfp_tx *tx = &conn->tx;

	for (; n; n--, place++) {
		struct kfw_place *to = (void *)(tx->stage + tx->staged);

		to->at = cpu_to_le64(place->at);
		to->len = cpu_to_le32(place->len);
		to->key = cpu_to_le32(place->key);
		tx->staged += sizeof(*to);
	}
}

void kfp_send_bytes(struct kfp_conn *conn, const void *bytes, size_t len)
{
	memcpy(conn->tx.stage + conn->tx.staged, bytes, len);
	conn->tx.staged += len;
}

/*
 * A part of a payload was sent. The next one is sent by &kfp_op_row.send again: that of a message
 * after those of other granted messages and operations of the queue, that of a write before all
 * operations that were posted later.
 */
static void kfp_part_sent(struct kfp_conn *conn, struct kfi_oper *op)
{
	kfp_op(op)->state = KFP_OP_GRANTED;
	if (kfp_op_row(op)->cls == KFP_CLS) {
		list_add(&op->link, &conn->tx.queue);
		return;
	}
	list_add_tail(&op->link, &conn->tx.granted);
	conn->tx.shares = true;
}

/* The link has accepted the payload of the last frame. */
static void kfp_payload_sent(struct kfp_conn *conn)
{
	struct kfi_oper *op = conn->tx.op;

	conn->tx.op = NULL;
	if (unlikely(kfp_op_left(op)))
		kfp_part_sent(conn, op);
	else
		kfp_op_sent(conn, op, kfp_op(op)->wants_answer);
}

/*
 * Add the payload of the last frame, the next @len bytes of the operation: copy a short payload into
 * the stage, send a longer one behind it. With @into it goes to places of the peer, from byte @at of
 * them on, which stay valid until the link has accepted it.
 */
void kfp_send_payload(struct kfp_conn *conn, struct kfi_oper *op, u32 len, bool answered,
		      const struct kfp_places *into, u64 at)
{
	struct kfp_tx *tx = &conn->tx;
	struct kfp_op *pop = kfp_op(op);

	if (len <= KFP_INLINE && !into) {
		WARN_ON_ONCE(kfi_copy_from(tx->stage + tx->staged, &op->iter, len) != len);
		tx->staged += len;
		__kfi_stat_add(op->ep, copied, len);
		kfp_op_sent(conn, op, answered);
		return;
	}
	tx->op = op;
	tx->at = KFP_TX_PAYLOAD;
	tx->payload = (struct kfp_payload) {
		.iter = &op->iter,
		.left = len,
		.into = into,
		.at = at,
		.spliced = pop->spliced,
		.sent = kfp_payload_sent,
	};
	pop->wants_answer = answered;
	pop->state = KFP_OP_SENDING;
	if (pop->spliced)
		kfi_stat_add(op->ep, spliced, len);
	else
		kfi_stat_add(op->ep, copied, len);
}
