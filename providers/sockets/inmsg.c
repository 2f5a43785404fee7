// SPDX-License-Identifier: GPL-2.0
/*
 * inmsg.c - messages that wait: eager ones for their receive, long ones for their receive and then their payload.
 *
 * A message object belongs to the matching while it is unexpected, and to its connection
 * otherwise. Its state is under ks_conn.lock: a receive may be posted on one CPU while the
 * payload arrives on another. A message object holds a reference to its connection, which may be
 * down when a receive finally comes.
 *
 * When the connection goes down ks_inmsgs_collect() takes over all messages but complete ones;
 * after that the connection grants nothing.
 */
#include <linux/slab.h>
#include <linux/tcp.h>
#include "sock.h"

/* One that has served before, if there is any: long messages one after the other allocate nothing. */
static struct ks_inmsg *ks_inmsg_alloc(struct ks_conn *conn)
{
	struct ks_inmsg *in;

	spin_lock_bh(&conn->lock);
	in = list_first_entry_or_null(&conn->spares, struct ks_inmsg, entry);
	if (in) {
		list_del(&in->entry);
		conn->nr_spares--;
	}
	spin_unlock_bh(&conn->lock);
	if (!in)
		return kmem_cache_zalloc(ks_inmsg_cache, GFP_ATOMIC | __GFP_NOWARN);
	memset(in, 0, sizeof(*in));
	return in;
}

/* Bounded by the peer's credit, so nobody else's memory is at stake: ks_window units and as many of these objects. */
struct ks_inmsg *ks_inmsg_new(struct ks_conn *conn, const struct skw_frame *f, u32 cost)
{
	struct ks_inmsg *in = ks_inmsg_alloc(conn);

	if (!in)
		return NULL;
	if (f->payload) {
		in->buf = kmalloc(f->payload, GFP_ATOMIC | __GFP_NOWARN);
		if (!in->buf) {
			kmem_cache_free(ks_inmsg_cache, in);
			return NULL;
		}
	}
	in->state = f->type == SKW_MSG ? KS_IN_ARRIVING : KS_IN_ASKED;
	in->read = f->type == SKW_TREAD;
	in->cls = f->flags & SKW_F_TAGGED ? KS_CLS_TAG : KS_CLS_MSG;
	in->cost = cost;
	in->promised = f->flags & (SKW_F_ACK | SKW_F_INV);
	in->id = f->id;
	in->gen = f->gen;
	INIT_LIST_HEAD(&in->answer.link);
	ks_conn_get(conn);
	in->conn = conn;
	spin_lock_bh(&conn->lock);
	list_add_tail(&in->entry, &conn->inmsgs);
	conn->nr_inmsgs++;
	conn->unexpected += f->payload;
	spin_unlock_bh(&conn->lock);
	return in;
}

void ks_inmsg_free(struct ks_inmsg *in)
{
	struct ks_conn *conn = in->conn;
	void *buf = in->buf;
	u32 cost = in->cost;
	bool spare, left, last;

	spin_lock_bh(&conn->lock);
	list_del(&in->entry);
	left = conn->held_left;
	last = !--conn->nr_inmsgs;
	if (buf)
		conn->unexpected -= in->rx.len;
	spare = conn->nr_spares < KS_RDV && !test_bit(KS_DEAD, &conn->flags);
	if (spare) {
		list_add(&in->entry, &conn->spares);
		conn->nr_spares++;
	}
	spin_unlock_bh(&conn->lock);
	kfree(buf);
	if (!spare)
		kmem_cache_free(ks_inmsg_cache, in);
	if (unlikely(left))
		ks_held_freed(conn, cost, last);
	ks_conn_put(conn);
}

void ks_inmsg_free_spares(struct ks_conn *conn)
{
	struct ks_inmsg *in, *next;
	LIST_HEAD(spares);

	spin_lock_bh(&conn->lock);
	list_splice_init(&conn->spares, &spares);
	conn->nr_spares = 0;
	spin_unlock_bh(&conn->lock);
	list_for_each_entry_safe(in, next, &spares, entry)
		kmem_cache_free(ks_inmsg_cache, in);
}

/* The peer may send as much more; tell it when that is worth a frame. */
/* Bottom halves are off. */
void __ks_credit_free(struct ks_conn *conn, u8 cls, u32 cost)
{
	spin_lock(&conn->lock);
	if (kfi_credit_free(&conn->credit[cls], cost))
		conn->credit_due = true;
	spin_unlock(&conn->lock);
}

void ks_credit_free(struct ks_conn *conn, u8 cls, u32 cost)
{
	local_bh_disable();
	__ks_credit_free(conn, cls, cost);
	local_bh_enable();
}

/* Something is owed to the peer, if there still is one. The caller has a reference: the connection may go down meanwhile. */
static void ks_inmsg_kick(struct ks_conn *conn)
{
	rcu_read_lock();
	if (!test_bit(KS_DEAD, &conn->flags) &&
	    (READ_ONCE(conn->credit_due) || !list_empty_careful(&conn->answers)))
		ks_tx_kick(conn);
	rcu_read_unlock();
}

/* Buffer to receive: the second copy that an unexpected message costs. */
static void ks_inmsg_deliver(struct ks_inmsg *in)
{
	struct ks_conn *conn = in->conn;

	if (kfi_copy_to(&in->rx.iter, in->buf, in->rx.room) != in->rx.room)
		WARN_ON_ONCE(1);	/* kernel memory can't fault */
	kfi_rx_complete(&in->rx, 0);
	ks_credit_free(conn, in->cls, in->cost);
	ks_inmsg_kick(conn);
	ks_inmsg_free(in);
}

/* The last byte of an eager message is in the buffer. Socket lock held. */
void ks_inmsg_arrived(struct ks_inmsg *in)
{
	struct ks_conn *conn = in->conn;
	bool matched;

	spin_lock_bh(&conn->lock);
	in->state = KS_IN_READY;
	matched = in->matched;
	spin_unlock_bh(&conn->lock);
	if (matched)
		ks_inmsg_deliver(in);
}

/*
 * The peer may ask for as much more as it has used up with this one, which has its receive and
 * its answer.
 */
static void ks_grant_credit(struct ks_inmsg *in)
{
	struct ks_conn *conn = in->conn;

	lockdep_assert_held(&conn->lock);
	if (kfi_credit_free(&conn->credit[in->cls], in->cost))
		conn->credit_due = true;
}

/* A free place for a long message, or -1. A peer has KS_RDV places and KS_GRANT_MAX bytes. */
static int ks_grant_place(const struct ks_conn *conn, const struct ks_inmsg *in)
{
	int slot;

	if (conn->granted && conn->granted + in->rx.len > KS_GRANT_MAX)
		return -1;
	for (slot = 0; slot < KS_RDV; slot++)
		if (!conn->rdv[slot])
			return slot;
	return -1;
}

/*
 * Ask for the payload. Credit is given back here, with the CTS: a peer that leaves its grants
 * unused runs out of it.
 */
static void ks_grant(struct ks_inmsg *in, int slot)
{
	struct ks_conn *conn = in->conn;

	conn->rdv[slot] = in;
	conn->granted += in->rx.len;
	ks_grant_credit(in);
	in->state = KS_IN_GRANTED;
	in->answer.kind = KS_ANSWER_CTS;
	in->answer.slot = slot;
	in->answer.id = in->id;
	in->answer.gen = in->gen;
	ks_answer_queue(conn, &in->answer);
}

/* Grant what waits for a place, oldest first. */
static void ks_grant_waiting(struct ks_conn *conn)
{
	struct ks_inmsg *in;
	int slot;

	lockdep_assert_held(&conn->lock);
	while (!list_empty(&conn->rdv_wait)) {
		in = list_first_entry(&conn->rdv_wait, struct ks_inmsg, answer.link);
		slot = ks_grant_place(conn, in);
		if (slot < 0)
			return;
		list_del_init(&in->answer.link);
		ks_grant(in, slot);
	}
}

/* A long message has its receive. */
static void ks_grant_write(struct ks_inmsg *in)
{
	list_add_tail(&in->answer.link, &in->conn->rdv_wait);
	ks_grant_waiting(in->conn);
}

/* A tagged read has its receive: that is where the data comes from. */
static void ks_grant_read(struct ks_inmsg *in)
{
	in->state = KS_IN_GRANTED;
	in->answer.kind = KS_ANSWER_TREAD;
	in->answer.id = in->id;
	in->answer.gen = in->gen;
	in->answer.len = in->rx.room;
	in->answer.iter = in->rx.iter;
	in->answer.iter.data_source = ITER_SOURCE;
	ks_grant_credit(in);
	ks_answer_queue(in->conn, &in->answer);
}

/*
 * The CTS is in the stage buffer: from now on the peer has to send. There is more time for the
 * bytes that TCP has to deliver before the CTS. Nothing but its own DATA frame ends this wait; from
 * then on ks_rx_late() looks at the frame. Bytes of other frames prolong the wait (ks_paced()), for
 * they may have been on their way before the CTS came; but no longer than the longest frame takes
 * that may be. Socket lock held.
 */
void ks_inmsg_granted(struct ks_inmsg *in)
{
	struct ks_conn *conn = in->conn;
	const struct tcp_sock *tp = tcp_sk(conn->sk);
	u64 before = tp->write_seq - tp->snd_una + conn->tx.staged;

	spin_lock_bh(&conn->lock);
	in->since = jiffies + div_u64(before * HZ, KS_RATE_MIN);
	in->limit = in->since + msecs_to_jiffies(ks_user_timeout_ms) + div_u64(SKW_PAYLOAD_MAX * HZ, KS_RATE_MIN);
	spin_unlock_bh(&conn->lock);
}

/* We could not go on reading for @pause jiffies: that is not the peer's time. */
void ks_grants_pause(struct ks_conn *conn, unsigned long pause)
{
	struct ks_inmsg *in;
	int slot;

	spin_lock_bh(&conn->lock);
	for (slot = 0; slot < KS_RDV; slot++) {
		in = conn->rdv[slot];
		if (!in)
			continue;
		in->since += pause;
		in->limit += pause;
	}
	spin_unlock_bh(&conn->lock);
}

/*
 * The peer has earned @earned jiffies by sending. They move the begin of a wait, @since, on, but
 * not beyond now: a peer that has been fast may not be silent for longer.
 */
unsigned long ks_paced(unsigned long since, unsigned long earned)
{
	unsigned long now = jiffies;

	if (time_after(since, now))
		return since;
	return earned < now - since ? since + earned : now;
}

/* Has the peer, which has earned @earned jiffies, left a grant unused for too long? */
bool ks_grants_late(struct ks_conn *conn, unsigned long earned)
{
	unsigned long patience = msecs_to_jiffies(ks_user_timeout_ms);
	struct ks_inmsg *in;
	bool late = false;
	int slot;

	spin_lock_bh(&conn->lock);
	for (slot = 0; slot < KS_RDV; slot++) {
		in = conn->rdv[slot];
		if (!in || !list_empty(&in->answer.link))
			continue;
		in->since = ks_paced(in->since, earned);
		late |= time_after(jiffies, in->since + patience) || time_after(jiffies, in->limit);
	}
	spin_unlock_bh(&conn->lock);
	return late;
}

/* kfi.ko has found the receive for a message that waited. Process or softirq, no lock of ours held. */
void ks_rx_matched(struct kfi_ep *ep, struct kfi_rx *rx)
{
	struct ks_inmsg *in = container_of(rx, struct ks_inmsg, rx);
	struct ks_conn *conn = in->conn;
	u8 state;

	ks_conn_get(conn);	/* once granted, the message may end on another CPU */
	spin_lock_bh(&conn->lock);
	in->matched = true;
	state = in->state;
	if (state == KS_IN_ASKED) {
		if (in->read)
			ks_grant_read(in);
		else
			ks_grant_write(in);
	}
	spin_unlock_bh(&conn->lock);

	if (state == KS_IN_READY) {
		ks_inmsg_deliver(in);
	} else if (state == KS_IN_LOST) {
		kfi_rx_abort(rx, -ECONNRESET);
		ks_inmsg_free(in);
	} else if (state == KS_IN_ASKED) {
		ks_inmsg_kick(conn);
	}
	ks_conn_put(conn);
}

/* The endpoint closes and nobody will ever want it. */
void ks_rx_drop(struct kfi_ep *ep, struct kfi_rx *rx)
{
	ks_inmsg_free(container_of(rx, struct ks_inmsg, rx));
}

/* What has found no receive and may not wait for one. It costs its sender credit until the verdict has left. */
void ks_inmsg_refuse(struct ks_inmsg *in, u16 status)
{
	struct ks_conn *conn = in->conn;

	spin_lock_bh(&conn->lock);
	in->state = KS_IN_REFUSED;
	in->matched = true;
	in->answer.kind = KS_ANSWER_ACK;
	in->answer.status = status;
	in->answer.id = in->id;
	in->answer.gen = in->gen;
	ks_answer_queue(conn, &in->answer);
	spin_unlock_bh(&conn->lock);
}

/* A sender need not know what became of its message, but RMA has a result. */
static u16 ks_inmsg_status(const struct ks_inmsg *in)
{
	return in->rx.flags & KFI_RMA && in->rx.len > in->rx.room ? KFI_ETRUNC : 0;
}

/* The payload of a long message has landed: complete it, owe the peer a verdict, let the next one have the place. */
void ks_inmsg_done(struct ks_inmsg *in)
{
	struct ks_conn *conn = in->conn;

	kfi_rx_complete(&in->rx, 0);
	spin_lock_bh(&conn->lock);
	conn->granted -= in->rx.len;
	in->state = KS_IN_ANSWERED;
	in->answer.kind = KS_ANSWER_ACK;
	in->answer.status = ks_inmsg_status(in);
	ks_answer_queue(conn, &in->answer);
	ks_grant_waiting(conn);
	spin_unlock_bh(&conn->lock);
}

/* An answer has been sent for the last time: back to the pool, or the end of its message object. Socket lock held. */
void ks_answer_done(struct ks_conn *conn, struct ks_answer *answer)
{
	struct ks_inmsg *in;

	if (!answer->pooled) {
		in = container_of(answer, struct ks_inmsg, answer);
		if (answer->kind == KS_ANSWER_TREAD)
			kfi_rx_complete(&in->rx, 0);
		if (in->state == KS_IN_REFUSED)
			ks_credit_free(conn, in->cls, in->cost);
		ks_inmsg_free(in);
		return;
	}
	kfree(answer->segs);
	answer->segs = NULL;
	ks_values_free(&answer->values, answer->small);
	spin_lock_bh(&conn->lock);
	list_add(&answer->link, &conn->free_answers);
	spin_unlock_bh(&conn->lock);
}

/* Its receive has not ended yet: see ks_inmsgs_abort(). */
static bool ks_inmsg_holds_receive(const struct ks_inmsg *in)
{
	return in->matched && in->state != KS_IN_ANSWERED && in->state != KS_IN_REFUSED;
}

/*
 * The connection is down: nothing arrives or leaves any more. Collect the messages that it leaves
 * half done in @lost. From here on no message of this connection is granted a receive, and none
 * is in a list that outlives it: all of them are taken out of the matching, out of @answers and
 * out of @rdv_wait in one section of ks_conn.lock, before the first receive is given back. A
 * receive that is given back is matched with the next message at once (kfi_rx_abort()).
 *
 * A complete message (KS_IN_READY) stays in the matching. A message that a post takes out of the
 * matching at this moment stays with the post: ks_rx_matched() finds KS_IN_LOST and ends it.
 */
void ks_inmsgs_collect(struct ks_conn *conn, struct list_head *lost)
{
	struct ks_inmsg *in, *next;

	spin_lock_bh(&conn->lock);
	list_for_each_entry_safe(in, next, &conn->inmsgs, entry) {
		if (in->state == KS_IN_READY || in->state == KS_IN_LOST)
			continue;
		list_del_init(&in->answer.link);
		in->lost_receive = ks_inmsg_holds_receive(in);
		in->state = KS_IN_LOST;
		if (in->matched || kfi_rx_unqueue(&in->rx))
			list_move_tail(&in->entry, lost);
	}
	memset(conn->rdv, 0, sizeof(conn->rdv));
	spin_unlock_bh(&conn->lock);
}

/*
 * Give the receives of @lost back, or end them. The messages in @lost belong to the caller.
 * Called without a lock.
 */
void ks_inmsgs_abort(struct list_head *lost, int err)
{
	struct ks_inmsg *in, *next;

	list_for_each_entry_safe(in, next, lost, entry) {
		if (in->lost_receive)
			kfi_rx_abort(&in->rx, err);
		ks_inmsg_free(in);
	}
}

/*
 * The connection has been down for some time, and its messages are in the way of others. What no
 * receive has taken and nobody was promised is dropped; the sender's completion has said only
 * that the message had left it. Process context.
 */
void ks_inmsgs_drop(struct ks_conn *conn)
{
	struct kfi_ep *ep = &conn->sep->ep;
	struct ks_inmsg *in, *next;
	LIST_HEAD(drop);

	spin_lock_bh(&conn->lock);
	list_for_each_entry_safe(in, next, &conn->inmsgs, entry)
		if (in->state == KS_IN_READY && !in->matched && !in->promised && kfi_rx_forget(&in->rx))
			list_move_tail(&in->entry, &drop);
	spin_unlock_bh(&conn->lock);
	list_for_each_entry_safe(in, next, &drop, entry) {
		kfi_stat_inc(ep, dropped);
		ks_inmsg_free(in);
	}
}
