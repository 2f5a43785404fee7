// SPDX-License-Identifier: GPL-2.0
/*
 * answer.c - what this side owes to the peer: answers to its requests, and credit.
 *
 * A connection has answers for some requests of the peer (&kfp_conn.pool), and gets more of them
 * before a request is handled that finds none, up to one for each that the peer may have
 * outstanding. Without memory for more, the requests wait until those are sent that there are. So
 * an idle connection is small. Objects that wait longer contain an answer of their own. An answer
 * waits in &kfp_conn.answers until the transmit side encodes it (&kfp_answer_row.send). ACKs that
 * may be late wait in &kfp_conn.lazy until other frames are sent, until there are KFP_LAZY_MAX, or
 * for a jiffy. An ACK may be late if its sender says so, and if the consumer of this side answers
 * each request by an operation of its own (kfp_turn()): one segment takes both then.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "conn.h"

/**
 * struct kfp_answers - a piece of the answers of a connection
 * @next: the piece before
 * @answer: the answers
 */
struct kfp_answers {
	struct kfp_answers	*next;
	struct kfp_answer	answer[16];
};

static_assert(sizeof(struct kfp_answers) <= 4096);

/*
 * Add a piece to the pool, of as many answers as the peer may still have. Called when the
 * connection gets its buffers, and then under (L). Return: 0, -ENOMEM
 */
int kfp_answers_more(struct kfp_conn *conn, gfp_t gfp)
{
	unsigned int i, n = kfp_params(conn)->requests - conn->nr_pool;
	struct kfp_answers *more = kzalloc(sizeof(*more), gfp);

	if (!more)
		return -ENOMEM;
	n = min_t(unsigned int, n, ARRAY_SIZE(more->answer));
	more->next = conn->pool;
	conn->pool = more;
	conn->nr_pool += n;
	spin_lock_bh(&conn->lock);
	for (i = 0; i < n; i++)
		list_add_tail(&more->answer[i].link, &conn->free_answers);
	spin_unlock_bh(&conn->lock);
	return 0;
}

/*
 * The request that follows finds no answer: add some, unless the peer has more requests outstanding
 * than this side announced, which kfp_answer_get() refuses. Called under (L). Return: 0, -ENOMEM
 */
int kfp_answers_grow(struct kfp_conn *conn)
{
	struct mem_cgroup *memcg;
	int ret;

	if (conn->nr_pool >= kfp_params(conn)->requests)
		return 0;
	memcg = set_active_memcg(kfp_memcg(conn));
	ret = kfp_answers_more(conn, kfp_gfp_atomic(conn));
	set_active_memcg(memcg);
	return ret;
}

/* The connection has ended, and owes no answer. */
void kfp_answers_free(struct kfp_conn *conn)
{
	struct kfp_answers *piece;

	INIT_LIST_HEAD(&conn->free_answers);
	while ((piece = conn->pool)) {
		conn->pool = piece->next;
		kfree(piece);
	}
	conn->nr_pool = 0;
}

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
	struct kfp_answers *piece;
	struct kfp_answer *answer;
	unsigned int i;

	for (piece = conn->pool; piece; piece = piece->next)
		for (i = 0; i < ARRAY_SIZE(piece->answer); i++) {
			answer = &piece->answer[i];
			if (answer->row && answer->row->drop)
				answer->row->drop(conn, answer);
		}
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
 * does not queue it again, and the lock makes that ACK visible here. Their peer has waited for nothing,
 * so its next requests are acknowledged at once. Return: true if answers are due.
 */
bool kfp_lazy_take(struct kfp_conn *conn)
{
	bool due;

	spin_lock_bh(&conn->lock);
	if (!list_empty(&conn->lazy))
		WRITE_ONCE(conn->rx.paired, 0);
	__kfp_lazy_join(conn);
	due = !list_empty(&conn->answers);
	spin_unlock_bh(&conn->lock);
	return due;
}

/*
 * An operation is being sent. If it follows a request within a jiffy, both sides take turns: it is
 * the consumer's answer, as in ping-pong and in most protocols of calls. When that was so
 * KFP_PAIRED times in a row, ACKs wait for the consumer's answer. Two requests without an operation
 * in between, or an ACK that has waited for a jiffy, end that. Called under (L).
 */
void kfp_turn(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;
	u8 paired = READ_ONCE(rx->paired);	/* kfp_lazy_take() clears it without (L) */

	rx->asked = false;
	if (time_after(jiffies, rx->last_rx + 1))
		WRITE_ONCE(rx->paired, 0);
	else if (paired < KFP_PAIRED)
		WRITE_ONCE(rx->paired, paired + 1);
}

/*
 * A request is acknowledged. Return: whether the ACK shall wait for the answer of the consumer.
 *
 * It shall not while this side waits for an answer itself: the consumer's next operation may come
 * only after that one. If the peer held its ACK as well, both sides would wait for each other.
 */
static bool kfp_turns(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;

	if (rx->asked)
		WRITE_ONCE(rx->paired, 0);
	rx->asked = true;
	return READ_ONCE(rx->paired) == KFP_PAIRED && list_empty(&conn->tx.waiting);
}

/*
 * Queue an ACK for the request that is being handled, in the order of the requests. Return: 0, -EPROTO.
 * Called under (L).
 */
int kfp_rx_ack(struct kfp_conn *conn, u16 status)
{
	struct kfp_answer *answer = kfp_answer_get(conn, &kfp_ack_row);
	bool lazy = kfp_turns(conn);

	if (!answer)
		return -EPROTO;
	lazy = (lazy || conn->rx.f.flags & KFW_F_LAZY) && !status;
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
