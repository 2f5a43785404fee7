// SPDX-License-Identifier: GPL-2.0
/*
 * answer.c - what this side owes to the peer: answers to its requests, and credit.
 *
 * A connection has an answer for each request that the peer may have outstanding (&kfp_conn.pool), so
 * an answer needs no memory. Objects that wait longer contain an answer of their own. An answer waits
 * in &kfp_conn.answers until the transmit side encodes it (&kfp_answer_row.send). ACKs that may be
 * late wait in &kfp_conn.lazy until other frames are sent, until there are KFP_LAZY_MAX, or for a
 * jiffy.
 */
#include "conn.h"

/*
 * Take an answer of the pool for the request that is being handled. Return: NULL if the peer has more
 * requests outstanding than this side announced, which violates the protocol. Called under (L).
 */
struct kfp_answer *kfp_answer_get(struct kfp_conn *conn, const struct kfp_answer_row *row)
{
	struct kfp_answer *answer;

	spin_lock(&conn->lock);
	answer = list_first_entry_or_null(&conn->free_answers, struct kfp_answer, link);
	if (answer)
		list_del(&answer->link);
	spin_unlock(&conn->lock);
	if (answer) {
		answer->row = row;
		answer->id = conn->rx.f.id;
		answer->gen = conn->rx.f.gen;
	}
	return answer;
}

/* Return an answer to the pool. */
void kfp_answer_put(struct kfp_conn *conn, struct kfp_answer *answer)
{
	answer->row = NULL;
	spin_lock_bh(&conn->lock);
	list_add(&answer->link, &conn->free_answers);
	spin_unlock_bh(&conn->lock);
}

void kfp_answer_queue(struct kfp_conn *conn, struct kfp_answer *answer)
{
	lockdep_assert_held(&conn->lock);
	list_add_tail(&answer->link, &conn->answers);
}

/*
 * A part of the data of an answer was sent. The next part follows, but the answers without data that
 * wait go first. Returned data keeps its order.
 */
void kfp_answer_rest(struct kfp_conn *conn, struct kfp_answer *answer)
{
	struct kfp_answer *other, *next;
	LIST_HEAD(first);

	spin_lock_bh(&conn->lock);
	list_for_each_entry_safe(other, next, &conn->answers, link)
		if (!other->row->returns)
			list_move_tail(&other->link, &first);
	list_add(&answer->link, &conn->answers);
	list_splice(&first, &conn->answers);
	spin_unlock_bh(&conn->lock);
}

/* Take the next answer that is to be sent. */
struct kfp_answer *kfp_answer_next(struct kfp_conn *conn)
{
	struct kfp_answer *answer;

	spin_lock(&conn->lock);
	answer = list_first_entry_or_null(&conn->answers, struct kfp_answer, link);
	if (answer)
		list_del_init(&answer->link);
	spin_unlock(&conn->lock);
	return answer;
}

/* The connection has ended: drop what the answers of the pool hold. */
void kfp_answers_drop(struct kfp_conn *conn)
{
	struct kfp_answer *answer = conn->pool;
	unsigned int i;

	for (i = 0; i < kfp_params(conn)->requests; i++, answer++)
		if (answer->row && answer->row->drop)
			answer->row->drop(conn, answer);
}

/* ---- ACKs ---- */

void kfp_send_ack(struct kfp_conn *conn, struct kfp_answer *answer)
{
	kfp_send_answer_frame(conn, answer, KFW_ACK)->status = cpu_to_le16(answer->status);
	answer->row->done(conn, answer);
}

const struct kfp_answer_row kfp_ack_row = {
	.send = kfp_send_ack,
	.done = kfp_answer_put,
};

static void __kfp_lazy_join(struct kfp_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	list_splice_tail_init(&conn->lazy, &conn->answers);
	conn->nr_lazy = 0;
}

/* Move delayed ACKs to the answers, because other frames are being sent. */
void kfp_lazy_join(struct kfp_conn *conn)
{
	spin_lock_bh(&conn->lock);
	__kfp_lazy_join(conn);
	spin_unlock_bh(&conn->lock);
}

/*
 * Move delayed ACKs to the answers in more_work. A context that adds an ACK while that work is pending
 * does not queue it again, and the lock makes that ACK visible here. Return: true if answers are due.
 */
bool kfp_lazy_take(struct kfp_conn *conn)
{
	bool due;

	spin_lock_bh(&conn->lock);
	__kfp_lazy_join(conn);
	due = !list_empty(&conn->answers);
	spin_unlock_bh(&conn->lock);
	return due;
}

/*
 * Queue an ACK for the request that is being handled, in the order of the requests. Return: 0, -EPROTO.
 * Called under (L).
 */
int kfp_rx_ack(struct kfp_conn *conn, u16 status)
{
	struct kfp_answer *answer = kfp_answer_get(conn, &kfp_ack_row);
	bool lazy = conn->rx.f.flags & KFW_F_LAZY && !status;

	if (!answer)
		return -EPROTO;
	answer->status = status;
	spin_lock(&conn->lock);
	list_add_tail(&answer->link, &conn->lazy);
	if (!lazy || ++conn->nr_lazy == KFP_LAZY_MAX)
		__kfp_lazy_join(conn);
	else if (!delayed_work_pending(&conn->more_work))
		kfp_conn_queue(conn, &conn->more_work, 1);
	spin_unlock(&conn->lock);
	return 0;
}

/* ---- credit ---- */

/*
 * Return credit to the peer: the next frame carries it. If half of the allowance or more is free
 * and not advertised, a frame is sent for it.
 */
void kfp_credit_return(struct kfp_conn *conn, u8 cls, u32 cost)
{
	lockdep_assert_held(&conn->lock);
	conn->credit_freed = true;
	if (kfi_credit_free(&conn->credit[cls], cost))
		conn->credit_due = true;
}

void kfp_credit_free(struct kfp_conn *conn, u8 cls, u32 cost)
{
	spin_lock_bh(&conn->lock);
	kfp_credit_return(conn, cls, cost);
	spin_unlock_bh(&conn->lock);
}
