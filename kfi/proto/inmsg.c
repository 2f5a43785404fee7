// SPDX-License-Identifier: GPL-2.0
/*
 * inmsg.c - inbound messages that wait: eager messages for their receive, long messages for their
 * receive and then for their payload.
 *
 * A message object belongs to the matching while it is unexpected, and to its connection otherwise.
 * kfp_conn.lock protects its state, because a receive may be posted on one CPU while the payload
 * arrives on another. A message object holds a reference to its connection, which may be down when
 * a receive is posted at last.
 *
 * When the link is closed kfp_inmsgs_collect() takes all messages except complete ones, and TREADs
 * whose receive the link may still read. After that the connection grants nothing.
 */
#include <linux/export.h>
#include <linux/slab.h>
#include "proto.h"

/*
 * Reuse a message object of this connection, if there is one. So a series of long messages
 * allocates no memory.
 */
static struct kfp_inmsg *kfp_inmsg_alloc(struct kfp_conn *conn)
{
	struct kfp_inmsg *in;

	spin_lock_bh(&conn->lock);
	in = list_first_entry_or_null(&conn->spares, struct kfp_inmsg, entry);
	if (in) {
		list_del(&in->entry);
		conn->nr_spares--;
	}
	spin_unlock_bh(&conn->lock);
	if (!in)
		return kmem_cache_zalloc(kfp_inmsg_cache, GFP_ATOMIC | __GFP_NOWARN);
	memset(in, 0, sizeof(*in));
	return in;
}

/*
 * Allocate a message object and, for an eager message, its buffer. The credit of the peer bounds
 * both.
 */
struct kfp_inmsg *kfp_inmsg_new(struct kfp_conn *conn, const struct kfw_frame *f, u32 cost)
{
	struct kfp_inmsg *in = kfp_inmsg_alloc(conn);

	if (!in)
		return NULL;
	if (f->payload) {
		in->buf = kmalloc(f->payload, GFP_ATOMIC | __GFP_NOWARN);
		if (!in->buf) {
			kmem_cache_free(kfp_inmsg_cache, in);
			return NULL;
		}
	}
	in->state = f->type == KFW_MSG ? KFP_IN_ARRIVING : KFP_IN_REQUESTED;
	in->read = f->type == KFW_TREAD;
	in->cls = f->flags & KFW_F_TAGGED ? KFP_CLS_TAG : KFP_CLS_MSG;
	in->cost = cost;
	in->late_ack = conn->late_acks && f->flags & KFW_F_ACK;
	in->no_drop = conn->rx.invalidated || (f->flags & KFW_F_ACK && !in->late_ack);
	in->id = f->id;
	in->gen = f->gen;
	INIT_LIST_HEAD(&in->answer.link);
	kfp_conn_get(conn);
	in->conn = conn;
	spin_lock_bh(&conn->lock);
	list_add_tail(&in->entry, &conn->inmsgs);
	conn->nr_inmsgs++;
	conn->unexpected += f->payload;
	spin_unlock_bh(&conn->lock);
	return in;
}

void kfp_inmsg_free(struct kfp_inmsg *in)
{
	struct kfp_conn *conn = in->conn;
	void *buf = in->buf;
	u32 cost = in->cost;
	bool spare, orphaned, last;

	kfp_conceal(conn, &in->answer.places);
	spin_lock_bh(&conn->lock);
	list_del(&in->entry);
	orphaned = conn->orphaned;
	last = !--conn->nr_inmsgs;
	if (buf)
		conn->unexpected -= in->rx.len;
	spare = conn->nr_spares < KFP_RDV && !test_bit(KFP_DEAD, &conn->flags);
	if (spare) {
		list_add(&in->entry, &conn->spares);
		conn->nr_spares++;
	}
	spin_unlock_bh(&conn->lock);
	kfree(buf);
	if (!spare)
		kmem_cache_free(kfp_inmsg_cache, in);
	if (unlikely(orphaned))
		kfp_account_freed(conn, cost, last);
	kfp_conn_put(conn);
}

void kfp_inmsg_free_spares(struct kfp_conn *conn)
{
	struct kfp_inmsg *in, *next;
	LIST_HEAD(spares);

	spin_lock_bh(&conn->lock);
	list_splice_init(&conn->spares, &spares);
	conn->nr_spares = 0;
	spin_unlock_bh(&conn->lock);
	list_for_each_entry_safe(in, next, &spares, entry)
		kmem_cache_free(kfp_inmsg_cache, in);
}

/*
 * Return credit to the peer: the next frame carries it. If half of the window or more is free and
 * not advertised, a frame is sent for it.
 */
static void kfp_credit_return(struct kfp_conn *conn, u8 cls, u32 cost)
{
	lockdep_assert_held(&conn->lock);
	conn->credit_freed = true;
	if (kfi_credit_free(&conn->credit[cls], cost))
		conn->credit_due = true;
}

/* Return the credit of a message. Called with bottom halves off. */
void __kfp_credit_free(struct kfp_conn *conn, u8 cls, u32 cost)
{
	spin_lock(&conn->lock);
	kfp_credit_return(conn, cls, cost);
	spin_unlock(&conn->lock);
}

void kfp_credit_free(struct kfp_conn *conn, u8 cls, u32 cost)
{
	local_bh_disable();
	__kfp_credit_free(conn, cls, cost);
	local_bh_enable();
}

/*
 * Send what is due to the peer, unless the connection is down. The caller holds a reference,
 * because the connection may go down meanwhile.
 */
static void kfp_inmsg_kick(struct kfp_conn *conn)
{
	rcu_read_lock();
	if (!test_bit(KFP_DEAD, &conn->flags) &&
	    (READ_ONCE(conn->credit_due) || !list_empty_careful(&conn->answers)))
		kfp_tx_kick(conn);
	rcu_read_unlock();
}

/* Queue the ACK of a message, which the peer waits for. The message object ends with it. */
static void kfp_inmsg_ack(struct kfp_inmsg *in, u8 state, u16 status)
{
	lockdep_assert_held(&in->conn->lock);
	in->state = state;
	in->answer.kind = KFP_ANSWER_ACK;
	in->answer.status = status;
	in->answer.id = in->id;
	in->answer.gen = in->gen;
	kfp_answer_queue(in->conn, &in->answer);
}

/*
 * Queue the ACK of an eager message that has been received, unless the connection is down.
 * kfp_inmsgs_collect() runs a grace period after KFP_DEAD was set.
 */
static bool kfp_inmsg_ack_late(struct kfp_inmsg *in)
{
	struct kfp_conn *conn = in->conn;
	bool live;

	rcu_read_lock();
	live = !test_bit(KFP_DEAD, &conn->flags);
	if (live) {
		spin_lock_bh(&conn->lock);
		kfp_inmsg_ack(in, KFP_IN_ANSWERED, 0);
		spin_unlock_bh(&conn->lock);
	}
	rcu_read_unlock();
	return live;
}

/*
 * Copy a complete eager message from its buffer to its receive. This is the second copy of an
 * unexpected message. The connection exists until the return: the caller holds a reference, or the
 * link's lock.
 */
static void kfp_inmsg_deliver(struct kfp_inmsg *in)
{
	struct kfp_conn *conn = in->conn;

	if (kfi_copy_to(&in->rx.iter, in->buf, in->rx.room) != in->rx.room)
		WARN_ON_ONCE(1);	/* kernel memory can't fault */
	kfi_rx_complete(&in->rx, 0);
	if (unlikely(in->late_ack) && kfp_inmsg_ack_late(in)) {
		kfp_inmsg_kick(conn);
		return;
	}
	kfp_credit_free(conn, in->cls, in->cost);
	kfp_inmsg_kick(conn);
	kfp_inmsg_free(in);
}

/* The last byte of an eager message has arrived. Called under the link's lock. */
void kfp_inmsg_arrived(struct kfp_inmsg *in)
{
	struct kfp_conn *conn = in->conn;
	bool matched;

	spin_lock_bh(&conn->lock);
	in->state = KFP_IN_READY;
	matched = in->matched;
	spin_unlock_bh(&conn->lock);
	if (matched)
		kfp_inmsg_deliver(in);
}

/*
 * Return a free slot for a long message or an RTW, or -1. A connection has KFP_RDV slots. Its
 * granted messages have KFP_RDV_BYTES bytes at most, unless there is only one.
 */
static int kfp_rdv_slot(const struct kfp_conn *conn, const struct kfp_inmsg *in)
{
	int slot;

	if (conn->rdv_bytes && conn->rdv_bytes + in->rx.len > KFP_RDV_BYTES)
		return -1;
	for (slot = 0; slot < KFP_RDV; slot++)
		if (!conn->rdv[slot])
			return slot;
	return -1;
}

/*
 * Grant a long message or an RTW: queue the CTS. The credit returns with the CTS, so a peer that
 * does not use its grants runs out of credit.
 */
static void kfp_rdv_grant(struct kfp_inmsg *in, int slot)
{
	struct kfp_conn *conn = in->conn;

	conn->rdv[slot] = in;
	conn->rdv_bytes += in->rx.len;
	if (!in->rtw_answer)
		kfp_credit_return(conn, in->cls, in->cost);
	in->state = KFP_IN_GRANTED;
	in->answer.kind = KFP_ANSWER_CTS;
	in->answer.slot = slot;
	in->answer.id = in->id;
	in->answer.gen = in->gen;
	kfp_answer_queue(conn, &in->answer);
}

/* Grant messages that wait for a slot, oldest first. */
static void kfp_rdv_grant_waiting(struct kfp_conn *conn)
{
	struct kfp_inmsg *in;
	int slot;

	lockdep_assert_held(&conn->lock);
	while (!list_empty(&conn->rdv_wait)) {
		in = list_first_entry(&conn->rdv_wait, struct kfp_inmsg, answer.link);
		slot = kfp_rdv_slot(conn, in);
		if (slot < 0)
			return;
		list_del_init(&in->answer.link);
		kfp_rdv_grant(in, slot);
	}
}

/*
 * Queue a long message that has found its receive, or an RTW, for a rendezvous slot, and grant what
 * there are slots for, oldest first. Called under kfp_conn.lock.
 */
static void kfp_rdv_enqueue(struct kfp_inmsg *in)
{
	list_add_tail(&in->answer.link, &in->conn->rdv_wait);
	kfp_rdv_grant_waiting(in->conn);
}

/* Grant the write of an RTW, as soon as there is a slot. */
void kfp_rdv_enqueue_rtw(struct kfp_inmsg *in)
{
	spin_lock_bh(&in->conn->lock);
	kfp_rdv_enqueue(in);
	spin_unlock_bh(&in->conn->lock);
}

/* Queue the data of a tagged read, which has found its receive. */
static void kfp_tread_answer(struct kfp_inmsg *in)
{
	in->state = KFP_IN_GRANTED;
	in->answer.kind = KFP_ANSWER_TREAD;
	in->answer.id = in->id;
	in->answer.gen = in->gen;
	in->answer.len = in->rx.room;
	in->answer.iter = in->rx.iter;
	in->answer.iter.data_source = ITER_SOURCE;
	atomic_inc(&in->conn->treads);
	kfp_credit_return(in->conn, in->cls, in->cost);
	kfp_answer_queue(in->conn, &in->answer);
}

/*
 * The CTS is in the stage: from now on the peer has to send. The time for the bytes that the link
 * has to deliver before the CTS is added. Only the DATA frame of this message ends the wait; then
 * kfp_rx_late() supervises the frame. Bytes of other frames prolong the wait (kfp_extend()),
 * because the peer may have sent them before the CTS arrived, but not longer than the longest frame
 * may take. Called under the link's lock.
 */
void kfp_rdv_cts_encoded(struct kfp_inmsg *in)
{
	struct kfp_conn *conn = in->conn;
	unsigned long before = kfp_delivery_time(conn);

	/* Bytes that go to places do not advance kfp_rx.bytes. */
	if (in->places && in->places->pieces)
		before += kfp_transfer_time(in->rx.len);
	spin_lock_bh(&conn->lock);
	in->since = jiffies + before;
	in->limit = in->since + kfp_peer_timeout(conn) + kfp_transfer_time(KFW_PAYLOAD_MAX);
	spin_unlock_bh(&conn->lock);
}

/* This side did not read for @pause jiffies: extend the deadlines of payloads granted by a CTS. */
void kfp_rdv_pause(struct kfp_conn *conn, unsigned long pause)
{
	struct kfp_inmsg *in;
	int slot;

	spin_lock_bh(&conn->lock);
	for (slot = 0; slot < KFP_RDV; slot++) {
		in = conn->rdv[slot];
		if (!in)
			continue;
		in->since += pause;
		in->limit += pause;
	}
	spin_unlock_bh(&conn->lock);
}

/*
 * Advance the start @since of a wait by @extra jiffies, because the peer has sent something, but
 * not beyond the present. So a peer that was fast may not be silent for longer.
 */
unsigned long kfp_extend(unsigned long since, unsigned long extra)
{
	unsigned long now = jiffies;

	if (time_after(since, now))
		return since;
	return extra < now - since ? since + extra : now;
}

/* Has the peer not begun a payload for too long after its CTS? @extra: see kfp_extend() */
bool kfp_rdv_late(struct kfp_conn *conn, unsigned long extra)
{
	unsigned long timeout = kfp_grant_timeout(conn);
	struct kfp_inmsg *in;
	bool late = false;
	int slot;

	spin_lock_bh(&conn->lock);
	for (slot = 0; slot < KFP_RDV; slot++) {
		in = conn->rdv[slot];
		if (!in || !list_empty(&in->answer.link))
			continue;
		in->since = kfp_extend(in->since, extra);
		late |= time_after(jiffies, in->since + timeout) || time_after(jiffies, in->limit);
	}
	spin_unlock_bh(&conn->lock);
	return late;
}

/*
 * Has a region ended to which the peer was granted a write, and have peer_timeout_ms passed since?
 * That counts also while this side does not read because of a full completion queue: the thread
 * that reads the queue may be waiting for the end of the region. Called under the link's lock.
 */
bool kfp_rdv_region_late(struct kfp_conn *conn)
{
	unsigned long timeout = kfp_peer_timeout(conn);
	struct kfp_inmsg *in;
	bool late = false;
	int slot;

	spin_lock_bh(&conn->lock);
	for (slot = 0; slot < KFP_RDV; slot++) {
		in = conn->rdv[slot];
		if (!in || !in->rtw_answer || !in->places || !kfp_places_ended(in->places))
			continue;
		in->places->ended = in->places->ended ?: jiffies | 1;
		late |= time_after(jiffies, in->places->ended + timeout);
	}
	spin_unlock_bh(&conn->lock);
	return late;
}

/*
 * A receive was found for a message that waited. Called in process context or softirq, perhaps
 * under the link's lock, but not under kfp_conn.lock.
 */
void kfi_proto_rx_matched(struct kfi_ep *ep, struct kfi_rx *rx)
{
	struct kfp_inmsg *in = container_of(rx, struct kfp_inmsg, rx);
	struct kfp_conn *conn = in->conn;
	u8 state;

	kfp_conn_get(conn);	/* a granted message may end on another CPU */
	spin_lock_bh(&conn->lock);
	in->matched = true;
	state = in->state;
	if (state == KFP_IN_REQUESTED) {
		if (in->read)
			kfp_tread_answer(in);
		else
			kfp_rdv_enqueue(in);
	}
	spin_unlock_bh(&conn->lock);

	if (state == KFP_IN_READY) {
		kfp_inmsg_deliver(in);
	} else if (state == KFP_IN_LOST) {
		kfi_rx_abort(rx, -ECONNRESET);
		kfp_inmsg_free(in);
	} else if (state == KFP_IN_REQUESTED) {
		kfp_inmsg_kick(conn);
	}
	kfp_conn_put(conn);
}
EXPORT_SYMBOL_GPL(kfi_proto_rx_matched);

/* The endpoint closes and drops an unexpected message. */
void kfi_proto_rx_drop(struct kfi_ep *ep, struct kfi_rx *rx)
{
	kfp_inmsg_free(container_of(rx, struct kfp_inmsg, rx));
}
EXPORT_SYMBOL_GPL(kfi_proto_rx_drop);

/*
 * Refuse a request that has found no receive and may not wait for one. Its credit returns after the
 * ACK has been sent.
 */
void kfp_inmsg_refuse(struct kfp_inmsg *in, u16 status)
{
	struct kfp_conn *conn = in->conn;

	spin_lock_bh(&conn->lock);
	in->matched = true;
	kfp_inmsg_ack(in, KFP_IN_REFUSED, status);
	spin_unlock_bh(&conn->lock);
}

/*
 * Return the status for the ACK. The ACK of a message does not report that the message was
 * truncated; the ACK of RMA does.
 */
static u16 kfp_inmsg_status(const struct kfp_inmsg *in)
{
	return in->rx.flags & KFI_RMA && in->rx.len > in->rx.room ? KFI_ETRUNC : 0;
}

/*
 * No more bytes of a long message go to its receive: complete the receive, unless that is done. The
 * rest of a message that is too long for it is dropped, and must not hold the receive for as long
 * as it takes. Such a receive is never exposed.
 */
void kfp_inmsg_filled(struct kfp_inmsg *in)
{
	struct kfp_conn *conn = in->conn;

	if (in->state != KFP_IN_GRANTED)
		return;
	kfi_rx_complete(&in->rx, 0);
	spin_lock_bh(&conn->lock);
	in->state = KFP_IN_ANSWERED;
	spin_unlock_bh(&conn->lock);
}

/* The payload of a long message is complete: queue the ACK, grant the next message. */
void kfp_inmsg_done(struct kfp_inmsg *in)
{
	struct kfp_conn *conn = in->conn;

	in->landed = true;
	if (in->places)
		return;		/* kfp_inmsg_concealed() */
	kfp_inmsg_filled(in);
	spin_lock_bh(&conn->lock);
	conn->rdv_bytes -= in->rx.len;
	kfp_inmsg_ack(in, KFP_IN_ANSWERED, kfp_inmsg_status(in));
	kfp_rdv_grant_waiting(conn);
	spin_unlock_bh(&conn->lock);
}

/* The peer can't write to the receive any more. */
void kfp_inmsg_concealed(struct kfp_inmsg *in)
{
	kfp_conceal(in->conn, &in->places);
	if (in->landed)
		kfp_inmsg_done(in);
}

/* The DATA for an RTW has arrived: grant the next request. */
void kfp_inmsg_rtw_done(struct kfp_inmsg *in)
{
	struct kfp_conn *conn = in->conn;

	spin_lock_bh(&conn->lock);
	conn->rdv_bytes -= in->rx.len;
	kfp_rdv_grant_waiting(conn);
	spin_unlock_bh(&conn->lock);
	kfp_inmsg_free(in);
}

/*
 * An answer was sent completely: return it to the pool, or free its message object. Called under
 * the link's lock.
 */
void kfp_answer_done(struct kfp_conn *conn, struct kfp_answer *answer)
{
	struct kfp_inmsg *in;

	if (!answer->pooled) {
		in = container_of(answer, struct kfp_inmsg, answer);
		if (answer->kind == KFP_ANSWER_TREAD) {
			if (answer->spliced && answer->end > conn->ops->sent_to(&conn->link)) {
				list_add_tail(&answer->link, &conn->tx.returned);
				return;
			}
			atomic_dec(&conn->treads);
			conn->tx.since = 0;
			kfi_rx_complete(&in->rx, 0);
		}
		if (in->state == KFP_IN_REFUSED || in->late_ack)
			kfp_credit_free(conn, in->cls, in->cost);
		kfp_inmsg_free(in);
		return;
	}
	if (answer->segs)
		kfp_segs_free(conn, answer);
	kfp_conceal(conn, &answer->places);
	kfp_values_free(&answer->values, answer->small);
	spin_lock_bh(&conn->lock);
	list_add(&answer->link, &conn->free_answers);
	spin_unlock_bh(&conn->lock);
}

/* Does the message hold a receive that has not completed? See kfp_inmsgs_abort(). */
static bool kfp_inmsg_holds_receive(const struct kfp_inmsg *in)
{
	return in->matched && in->state != KFP_IN_ANSWERED && in->state != KFP_IN_REFUSED;
}

/* Is the data of a TREAD being sent, or may the link still refer to it? */
static bool kfp_inmsg_is_read(const struct kfp_inmsg *in)
{
	return in->answer.spliced || in->conn->tx.answer == &in->answer;
}

/*
 * The connection is down, and no byte arrives any more. Collect the incomplete messages in @lost;
 * those whose receive the link may still read only if it has @released all memory. From here on no
 * message of this connection is granted a receive, and none is in a list that outlives it: all of
 * them are taken out of the matching, out of @answers and out of @rdv_wait in one section of
 * kfp_conn.lock, before the first receive is returned. A receive that is returned is matched with
 * the next message at once (kfi_rx_abort()).
 *
 * A complete message (KFP_IN_READY) stays in the matching. A message that a post takes out of the
 * matching at this moment stays with the post: kfi_proto_rx_matched() finds KFP_IN_LOST and ends
 * it.
 */
void kfp_inmsgs_collect(struct kfp_conn *conn, struct list_head *lost, bool released)
{
	struct kfp_inmsg *in, *next;

	spin_lock_bh(&conn->lock);
	list_for_each_entry_safe(in, next, &conn->inmsgs, entry) {
		if (in->state == KFP_IN_READY || in->state == KFP_IN_LOST ||
		    (!released && kfp_inmsg_is_read(in)))
			continue;
		list_del_init(&in->answer.link);
		in->lost_receive = kfp_inmsg_holds_receive(in);
		in->state = KFP_IN_LOST;
		if (in->matched || in->rtw_answer || kfi_rx_unqueue(&in->rx))
			list_move_tail(&in->entry, lost);
	}
	memset(conn->rdv, 0, sizeof(conn->rdv));
	spin_unlock_bh(&conn->lock);
}

/*
 * Return the receives of the messages in @lost to the matching, or abort them, and free the
 * messages. Called without a lock.
 */
void kfp_inmsgs_abort(struct list_head *lost, int err)
{
	struct kfp_inmsg *in, *next;

	list_for_each_entry_safe(in, next, lost, entry) {
		kfp_conceal(in->conn, &in->places);
		if (in->lost_receive)
			kfi_rx_abort(&in->rx, err);
		kfp_inmsg_free(in);
	}
}

/*
 * The messages that wait for a receive go behind the messages of all others, in their order. Under
 * the link's lock no message arrives meanwhile, and the link exists for a grace period after
 * KFP_DEAD was set. This is best effort: messages keep their place if the link's lock is not
 * available at this moment.
 */
void kfp_inmsgs_yield(struct kfp_conn *conn)
{
	struct kfp_inmsg *in;

	rcu_read_lock();
	/* Pairs with the store in kfp_conn_start(). */
	if (smp_load_acquire(&conn->state) == KFP_READY && !test_bit(KFP_DEAD, &conn->flags) &&
	    conn->ops->lock(&conn->link)) {
		spin_lock(&conn->lock);
		list_for_each_entry(in, &conn->inmsgs, entry)
			if (!in->matched && !in->rtw_answer)
				kfi_rx_yield(&in->rx);
		spin_unlock(&conn->lock);
		conn->ops->unlock(&conn->link);
	}
	rcu_read_unlock();
}

/*
 * Drop complete messages of a connection that is down, because they take room from others. Messages
 * that a receive has taken stay, and so do those with &kfp_inmsg.no_drop. Process context.
 */
void kfp_inmsgs_drop(struct kfp_conn *conn)
{
	struct kfi_ep *ep = &conn->ep->ep;
	struct kfp_inmsg *in, *next;
	LIST_HEAD(drop);

	spin_lock_bh(&conn->lock);
	list_for_each_entry_safe(in, next, &conn->inmsgs, entry)
		if (in->state == KFP_IN_READY && !in->matched && !in->no_drop &&
		    kfi_rx_dequeue(&in->rx))
			list_move_tail(&in->entry, &drop);
	spin_unlock_bh(&conn->lock);
	list_for_each_entry_safe(in, next, &drop, entry) {
		kfi_stat_inc(ep, dropped);
		kfp_inmsg_free(in);
	}
}
