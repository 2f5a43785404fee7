// SPDX-License-Identifier: GPL-2.0
/*
 * units.c - what the link has to send, and what it has accepted. Called under the link's lock.
 *
 *   kfp_unit_next()		the next unit for the link: frames, and the payload of the last one
 *   kfp_unit_accepted()		accounts for what the link has accepted of it
 */
#include <linux/bvec.h>
#include "proto.h"

/*
 * Bytes of the data of an answer for the next unit. If the region has ended, zeros are sent,
 * because the frame has announced the number of bytes. The status of the ACK then shows that the
 * data is invalid.
 */
static u64 kfp_answer_piece(struct kfp_answer *answer)
{
	u64 piece = min_t(u64, answer->len, KFP_TX_BUDGET);

	if (!answer->mr || kfi_mr_live(answer->mr, answer->key))
		return piece;
	answer->status = EREMOTEIO;
	answer->spliced = false;
	piece = min_t(u64, answer->len, PAGE_SIZE);
	answer->zeros = (struct bio_vec) { .bv_page = ZERO_PAGE(0), .bv_len = piece };
	iov_iter_bvec(&answer->iter, ITER_SOURCE, &answer->zeros, 1, piece);
	return piece;
}

/* The payload of the unit goes to the peer's places, ahead of the frames. */
static void kfp_unit_to_places(struct kfi_unit *unit, const struct kfp_places *places, u64 at)
{
	unit->len = 0;
	unit->place = places->place;
	unit->nplaces = places->count;
	unit->at = at;
	unit->flags |= KFI_UNIT_MORE;
}

/*
 * The next unit: frames, and the payload of the last of them. Payload that goes to places of the
 * peer is a unit of its own, ahead of the frames that are in the stage. Called inside the RCU
 * section in which the unit is posted, because the payload may be memory of a region. Return:
 * false: nothing is left.
 */
bool kfp_unit_next(struct kfp_conn *conn, struct kfi_unit *unit)
{
	struct kfp_tx *tx = &conn->tx;
	const struct kfp_op *pop;

	if (tx->at == KFP_TX_FRAMES && !tx->staged && kfp_tx_empty(conn))
		return false;
	if (unlikely(test_bit(KFP_BYE_WANTED, &conn->flags)))
		kfp_lazy_join(conn);	/* no frame may follow a BYE */
	do {
		kfp_tx_collect(conn);
		kfp_tx_gather(conn);
	} while (tx->at == KFP_TX_FRAMES && !tx->staged && !llist_empty(&conn->posted));
	*unit = (struct kfi_unit) {
		.head = tx->stage + tx->written,
		.len = tx->staged - tx->written,
	};
	switch (tx->at) {
	case KFP_TX_PAYLOAD:
		pop = kfp_op(tx->op);
		unit->payload = &tx->op->iter;
		unit->left = min_t(u64, pop->left, KFP_TX_BUDGET);
		unit->flags = pop->spliced ? KFI_UNIT_SPLICE : 0;
		if (unit->left < pop->left || kfp_tx_follows(conn))
			unit->flags |= KFI_UNIT_MORE;
		if (pop->granted && pop->left)
			kfp_unit_to_places(unit, tx->into, tx->into_at + tx->op->len - pop->left);
		else if (pop->places && pop->left)
			kfp_unit_to_places(unit, pop->places, tx->op->len - pop->left);
		return true;
	case KFP_TX_ANSWER:
		unit->payload = &tx->answer->iter;
		unit->left = kfp_answer_piece(tx->answer);
		unit->flags = tx->answer->spliced ? KFI_UNIT_SPLICE : 0;
		if (tx->answer->placing && tx->answer->len)
			kfp_unit_to_places(unit, tx->answer->places, tx->answer->placed);
		return true;
	default:
		return unit->len;
	}
}

/*
 * The link has accepted the data of an answer, or of one segment of it. Queue the rest of the
 * answer in front of the others.
 */
static void kfp_answer_sent(struct kfp_conn *conn)
{
	struct kfp_answer *answer = conn->tx.answer;
	const struct kfw_rma *seg = answer->segs ? &answer->segs[answer->seg - 1] : &answer->seg0;

	if (answer->mr) {
		kfi_remote_rma(&conn->ep->ep, answer->mr, answer->key, KFI_REMOTE_READ,
			       le64_to_cpu(seg->len), 0, KFI_ADDR_NOTAVAIL);
		kfi_mr_put(answer->mr);
		answer->mr = NULL;
	}
	answer->end = conn->link.posted;
	if (answer->hold) {
		answer->hold->end = conn->link.posted;
		if (answer->hold->end <= conn->ops->sent_to(&conn->link))
			kfp_hold_put(conn, answer->hold);
		else
			list_add_tail(&answer->hold->link, &conn->tx.holds);
		answer->hold = NULL;
	}
	conn->tx.answer = NULL;
	conn->tx.at = KFP_TX_FRAMES;
	spin_lock_bh(&conn->lock);
	list_add(&answer->link, &conn->answers);
	spin_unlock_bh(&conn->lock);
}

/* The link has taken a part of a unit, or all of it. The payload had @left bytes. */
void kfp_unit_accepted(struct kfp_conn *conn, const struct kfi_unit *unit, u64 left)
{
	struct kfp_tx *tx = &conn->tx;
	u64 accepted = left - unit->left;

	conn->link.posted += unit->done + accepted;
	tx->written += unit->done;
	if (tx->at == KFP_TX_PAYLOAD) {
		kfp_op(tx->op)->left -= accepted;
	} else if (tx->at == KFP_TX_ANSWER) {
		tx->answer->len -= accepted;
		tx->answer->placed += accepted;
	}
	if (tx->written != tx->staged || unit->nplaces)
		return;
	tx->staged = 0;
	tx->written = 0;
	if (tx->at == KFP_TX_PAYLOAD) {
		struct kfi_oper *op = tx->op;

		if (kfp_op(op)->left)
			return;
		tx->op = NULL;
		tx->at = KFP_TX_FRAMES;
		kfp_op_sent(conn, op, kfp_op(op)->answered);
	} else if (tx->at == KFP_TX_ANSWER) {
		if (!tx->answer->len)
			kfp_answer_sent(conn);
	}
}
