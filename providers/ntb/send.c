// SPDX-License-Identifier: GPL-2.0
/*
 * send.c - records on their way, and the end of the operations that wait for them.
 *
 *   nt_send_get()	one of the connection's pool; when there is none what wants to be sent waits for the next to be heard of
 *   nt_send_post()	to the link, with the word that more follows
 *   nt_send_now()	the same for what is so short that it is copied at once, and of which nobody has to hear: needs no record of the pool
 *   nt_kick_link()	no more does
 *   nt_sent()		nothing reads its memory any more
 *   nt_heard()		the peer has handled it: it is free again
 *
 * When half of the pool is on its way the peer is asked to say at once what it has handled (NT_REC_ACK); before that only for those whose
 * operation waits for it. A record that fails ends its connection: what was lost can't be told from what was not.
 */
#include <linux/slab.h>
#include "ntb.h"

/* ---- the end of operations. The lock is held ---- */

/* Nothing more is said about it, so nothing of the peer's lands in its memory. */
static void nt_op_settle(struct nt_op *nop)
{
	if (nop->lent)
		nt_loan_end(nop->conn);
	if (nop->asked)
		nop->conn->nasked--;
	nop->lent = false;
	nop->asked = false;
}

/* Nobody may find it any more; it is on a list of the connection. */
void nt_op_end(struct kfi_oper *op, int err, struct nt_done *done)
{
	struct nt_op *nop = nt_op(op);

	if (nop->conn && nop->conn->op == op)
		nop->conn->op = NULL;
	nt_op_settle(nop);
	nop->err = nop->err ?: err;
	nop->state = NT_OP_QUEUED;
	nop->conn = NULL;
	list_move_tail(&op->link, &done->ops);
}

/* All is known about it; it ends when its memory is free. */
void nt_op_finish(struct kfi_oper *op, int err, struct nt_done *done)
{
	struct nt_op *nop = nt_op(op);

	nop->err = nop->err ?: err;
	nop->state = NT_OP_FINISHED;
	nt_op_settle(nop);
	if (nop->conn->op == op)
		nop->conn->op = NULL;
	if (!nop->sends)
		nt_op_end(op, 0, done);
	else
		list_move_tail(&op->link, &nop->conn->waiting);
}

/* No lock is held. */
void nt_done_all(struct nt_done *done)
{
	struct kfi_oper *op, *next;

	list_for_each_entry_safe(op, next, &done->ops, link) {
		list_del(&op->link);
		kfi_tx_complete(op, nt_op(op)->err);
	}
}

/* ---- memory of our own ---- */

void *nt_bounce_get(struct nt_conn *conn)
{
	return conn->nbounces ? conn->bounces[--conn->nbounces] : NULL;
}

void nt_bounce_put(struct nt_conn *conn, void *bounce)
{
	conn->bounces[conn->nbounces++] = bounce;
}

/* ---- records ---- */

/* May a request or payload be sent? Answers may as long as there is a record at all. */
bool nt_room(const struct nt_conn *conn)
{
	return conn->nidle > NT_RESERVE;
}

struct nt_send *nt_send_get(struct nt_conn *conn)
{
	struct nt_send *s = list_first_entry_or_null(&conn->idle, struct nt_send, entry);

	lockdep_assert_held(&conn->lock);
	if (!s)
		return NULL;
	list_move_tail(&s->entry, &conn->flying);
	conn->nidle--;
	s->op = NULL;
	s->slot = NULL;
	s->bounce = NULL;
	s->mr = NULL;
	s->read = 0;
	s->over = false;
	s->hears = false;
	s->rec.len = 0;
	s->rec.count = 0;
	return s;
}

static void nt_send_back(struct nt_conn *conn, struct nt_send *s)
{
	s->op = NULL;
	list_move(&s->entry, &conn->idle);
	conn->nidle++;
}

/* It reads nothing any more. */
static void nt_send_release(struct nt_conn *conn, struct nt_send *s, struct nt_done *done)
{
	struct nt_op *nop;

	if (s->bounce)
		nt_bounce_put(conn, s->bounce);
	s->bounce = NULL;
	if (s->mr)
		nt_source_release(conn, s->mr);
	s->mr = NULL;
	if (s->slot)
		nt_slot_free(s->slot);
	s->slot = NULL;
	if (!s->op)
		return;
	nop = nt_op(s->op);
	nop->sends--;
	if (nop->state == NT_OP_FINISHED && !nop->sends)
		nt_op_end(s->op, 0, done);
	if (!s->hears)
		s->op = NULL;
}

/* All of the region has been read, this and what came before: what fails among that fails the connection first. */
static void nt_read_told(struct nt_conn *conn, struct nt_send *s)
{
	if (s->read && !test_bit(NT_FAILED, &conn->flags))
		kfi_remote_rma(&conn->nep->ep, s->mr, s->key, KFI_REMOTE_READ, s->read, 0, KFI_ADDR_NOTAVAIL);
	s->read = 0;
}

static void nt_sent(struct nt_rec *rec, int err)
{
	struct nt_send *s = container_of(rec, struct nt_send, rec);
	struct nt_conn *conn = s->conn;
	struct nt_done done = NT_DONE(done);

	spin_lock_bh(&conn->lock);
	if (err && s->op && !test_bit(NT_DEAD, &conn->flags))
		nt_op(s->op)->err = nt_op(s->op)->err ?: err == -EIO ? -EIO : -ECONNRESET;
	if (!err)
		nt_read_told(conn, s);
	nt_send_release(conn, s, &done);
	if (!err)
		nt_tx_run(conn, &done);
	spin_unlock_bh(&conn->lock);
	if (err)
		nt_conn_fail(conn, err == -EIO ? -EIO : -ECONNRESET);
	nt_done(&done);
	atomic_dec_return_release(&conn->unsent);	/* pairs with nt_put_now() */
}

static void nt_heard(struct nt_rec *rec, int err)
{
	struct nt_send *s = container_of(rec, struct nt_send, rec);
	struct nt_conn *conn = s->conn;
	struct nt_done done = NT_DONE(done);

	spin_lock_bh(&conn->lock);
	if (s->op && !err && !test_bit(NT_DEAD, &conn->flags) && nt_op(s->op)->state == NT_OP_SENT)
		nt_op_finish(s->op, 0, &done);
	nt_send_back(conn, s);
	if (!err)
		nt_tx_run(conn, &done);
	spin_unlock_bh(&conn->lock);
	if (err)
		nt_conn_fail(conn, err == -EIO ? -EIO : -ECONNRESET);
	nt_done(&done);
	nt_conn_put(conn);
}

int nt_conn_post(struct nt_conn *conn, struct nt_rec *rec, bool more)
{
	if (conn->mirror) {
		nt_mirror_post(&conn->dev->mirror, rec);
		return 0;
	}
	if (conn->life != nt_link_life(conn->dev->link))
		return -ENOTCONN;
	return nt_post(conn->dev->link, rec, more);
}

/* What every record of the connection says */
static void nt_send_terms(struct nt_conn *conn, struct ntw_frame *f)
{
	int cls;

	for (cls = 0; cls < NTW_CLS; cls++)
		f->credit[cls] = kfi_credit_advert(&conn->credit_rx[cls]);
	f->conn = conn->peer_id;
}

/*
 * No segments; @len bytes of @iter, which moves on. Bottom halves are off.
 * Return: false: not this way, nt_send_post() is to be tried, which repeats what was said about credits.
 */
bool nt_send_now(struct nt_conn *conn, struct ntw_frame *f, struct iov_iter *iter, u32 len)
{
	struct {
		struct ntw_rec	rec;
		struct ntw_hdr	hdr;
	} head __uninitialized;

	lockdep_assert_held(&conn->lock);
	if (conn->mirror || len > NT_COPY || conn->life != nt_link_life(conn->dev->link))
		return false;
	nt_send_terms(conn, f);
	ntw_encode(f, &head.rec, &head.hdr);
	if (nt_put(conn->dev->link, &head, sizeof(head), iter, len))
		return false;
	conn->credit_due = false;
	conn->kick = true;
	conn->tx_bytes += sizeof(head) + len;
	return true;
}

static void nt_send_head(struct nt_send *s, struct ntw_frame *f, const void *tail)
{
	struct nt_conn *conn = s->conn;
	u32 len = tail ? ntw_tail(f) : 0;

	nt_send_terms(conn, f);
	conn->credit_due = false;
	ntw_encode(f, &s->rec.rec, (struct ntw_hdr *)(s->rec.head + sizeof(struct ntw_rec)));
	memcpy(s->rec.head + NTW_PREFIX, tail, len);
	s->rec.head_len = NTW_PREFIX + len;
}

/*
 * @s has its payload, and what it is to end (@op, @slot, @bounce, @mr); @tail: segments and spots that go into the head. Return: 0; negative: the
 * connection ends, and the caller need not care.
 */
int nt_send_post(struct nt_conn *conn, struct nt_send *s, struct ntw_frame *f, const void *tail)
{
	struct nt_done none = NT_DONE(none);
	int ret;

	lockdep_assert_held(&conn->lock);
	nt_send_head(s, f, tail);
	s->rec.flags = s->hears || conn->nidle < NT_SENDS / 2 ? NT_REC_ACK : 0;
	if (s->op)
		nt_op(s->op)->sends++;
	nt_conn_get(conn);
	ret = nt_conn_post(conn, &s->rec, true);
	if (!ret) {
		atomic_inc(&conn->unsent);
		conn->kick = true;
		conn->tx_bytes += s->rec.head_len + s->rec.len;
		return 0;
	}
	s->hears = false;
	nt_send_release(conn, s, &none);
	nt_send_back(conn, s);
	list_splice(&none.ops, &conn->waiting);		/* the end of the connection ends it */
	/* -EINVAL: the peer has lent us what is none of its arena */
	nt_conn_fail(conn, ret == -ENOTCONN ? -ECONNRESET : ret == -EINVAL ? -EPROTO : ret);
	nt_conn_put(conn);
	return ret;
}

/* The lock is held. */
void nt_kick_link(struct nt_conn *conn)
{
	if (!conn->kick)
		return;
	conn->kick = false;
	if (conn->mirror)
		return;
	nt_kick(conn->dev->link);
}

void nt_sends_init(struct nt_conn *conn)
{
	unsigned int i;

	for (i = 0; i < NT_SENDS; i++) {
		struct nt_send *s = &conn->sends[i];

		s->conn = conn;
		s->rec.sent = nt_sent;
		s->rec.heard = nt_heard;
		list_add_tail(&s->entry, &conn->idle);
	}
	conn->nidle = NT_SENDS;
}

/* Does it only wait for room? Then it is ours again. */
static bool nt_send_unpost(struct nt_conn *conn, struct nt_send *s)
{
	return conn->mirror ? nt_mirror_unpost(&conn->dev->mirror, &s->rec) : nt_unpost(conn->dev->link, &s->rec);
}

/* NT_DEAD is set and nobody posts any more: on return nothing of ours is read. Some may still be heard of. */
void nt_sends_drain(struct nt_conn *conn)
{
	struct nt_done done = NT_DONE(done);
	struct nt_send *s, *next;

	spin_lock_bh(&conn->lock);
	list_for_each_entry_safe(s, next, &conn->flying, entry) {
		if (!nt_send_unpost(conn, s))
			continue;
		s->hears = false;
		atomic_dec(&conn->unsent);
		nt_send_release(conn, s, &done);
		nt_send_back(conn, s);
		nt_conn_put(conn);	/* the caller has another */
	}
	spin_unlock_bh(&conn->lock);
	nt_done(&done);
	if (conn->mirror)
		nt_mirror_drain(&conn->dev->mirror);
	else
		nt_drain(conn->dev->link);
}
