// SPDX-License-Identifier: GPL-2.0
/*
 * send.c - bytes into TCP: the frames that were gathered, the payload of an operation, the data of an answer. Socket lock held.
 *
 * Each answers 0 when all of it is with TCP, -EAGAIN when TCP takes no more now, or why the connection ends.
 */
#include <linux/bvec.h>
#include <linux/tcp.h>
#include <net/tcp.h>
#include "sock.h"

static int ks_send(struct ks_conn *conn, struct iov_iter *iter, size_t len, int flags)
{
	struct msghdr msg __uninitialized;
	int sent;

	/* All that tcp_sendmsg_locked() looks at; to clear the rest costs as much as everything else here. */
	msg.msg_name = NULL;
	msg.msg_namelen = 0;
	msg.msg_control = NULL;
	msg.msg_controllen = 0;
	msg.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | flags;
	msg.msg_ubuf = NULL;
	msg.msg_iter = *iter;
	iov_iter_truncate(&msg.msg_iter, len);
	sent = tcp_sendmsg_locked(conn->sk, &msg, len);
	if (sent > 0) {
		iov_iter_advance(iter, sent);
		conn->tx.bytes += sent;
	}
	return sent;
}

int ks_tx_frames(struct ks_conn *conn)
{
	struct ks_tx *tx = &conn->tx;
	int more = tx->at == KS_TX_FRAMES ? 0 : MSG_MORE;
	struct iov_iter iter;
	struct kvec vec;
	int sent;

	while (tx->written < tx->staged) {
		vec = (struct kvec) { tx->stage + tx->written, tx->staged - tx->written };
		iov_iter_kvec(&iter, ITER_SOURCE, &vec, 1, vec.iov_len);
		sent = ks_send(conn, &iter, vec.iov_len, more);
		if (sent <= 0)
			return sent ?: -EAGAIN;
		tx->written += sent;
	}
	tx->staged = 0;
	tx->written = 0;
	return 0;
}

int ks_tx_payload(struct ks_conn *conn)
{
	struct kfi_oper *op = conn->tx.op;
	struct ks_op *sop = ks_op(op);
	int flags = (sop->spliced ? MSG_SPLICE_PAGES : 0) | (ks_tx_follows(conn) ? MSG_MORE : 0);
	int sent;

	while (sop->left) {
		sent = ks_send(conn, &op->iter, min_t(u64, sop->left, KS_TX_BUDGET), flags);
		if (sent <= 0)
			return sent ?: -EAGAIN;
		sop->left -= sent;
	}
	conn->tx.op = NULL;
	conn->tx.at = KS_TX_FRAMES;
	ks_op_sent(conn, op, sop->answered);
	return 0;
}

/* The region died while its bytes were promised: the stream needs as many, the verdict will say what they are worth. */
static int ks_send_zeros(struct ks_conn *conn, struct ks_answer *answer)
{
	struct bio_vec bv = { .bv_page = ZERO_PAGE(0), .bv_len = min_t(u64, answer->len, PAGE_SIZE) };
	struct iov_iter iter;

	answer->status = EREMOTEIO;
	iov_iter_bvec(&iter, ITER_SOURCE, &bv, 1, bv.bv_len);
	return ks_send(conn, &iter, bv.bv_len, 0);
}

static int ks_send_region(struct ks_conn *conn, struct ks_answer *answer)
{
	int sent;

	rcu_read_lock();
	if (!answer->mr || kfi_mr_live(answer->mr, answer->key))
		sent = ks_send(conn, &answer->iter, min_t(u64, answer->len, KS_TX_BUDGET), 0);
	else
		sent = ks_send_zeros(conn, answer);
	rcu_read_unlock();
	return sent;
}

int ks_tx_answer(struct ks_conn *conn)
{
	struct ks_answer *answer = conn->tx.answer;
	int sent;

	while (answer->len) {
		sent = ks_send_region(conn, answer);
		if (sent <= 0)
			return sent ?: -EAGAIN;
		answer->len -= sent;
	}
	if (answer->mr) {
		kfi_remote_rma(&conn->sep->ep, answer->mr, answer->key, KFI_REMOTE_READ, le64_to_cpu(answer->seg0.len), 0,
			       KFI_ADDR_NOTAVAIL);
		kfi_mr_put(answer->mr);
		answer->mr = NULL;
	}
	conn->tx.answer = NULL;
	conn->tx.at = KS_TX_FRAMES;
	spin_lock_bh(&conn->lock);
	list_add(&answer->link, &conn->answers);	/* next segment, or the verdict, goes out at once */
	spin_unlock_bh(&conn->lock);
	return 0;
}
