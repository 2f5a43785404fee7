// SPDX-License-Identifier: GPL-2.0
/*
 * inmsg.c - inbound messages that wait: eager messages for their receive, and requests (message.c,
 * tread.c) for their receive and then for their end.
 *
 * A message object belongs to the matching while it is unexpected, and to its connection otherwise.
 * kfp_conn.lock protects its state, because a receive may be posted on one CPU while the payload
 * arrives on another. A message object holds a reference to its connection, which may be down when a
 * receive is posted at last.
 *
 * When the link is closed kfp_inmsgs_collect() takes all messages except complete ones, and those
 * whose receive the link may still read. After that the connection grants nothing.
 */
#include <linux/export.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "conn.h"

/*
 * Reuse a message object of this connection, if there is one. So a series of long messages
 * allocates no memory.
 */
static struct kfp_inmsg *kfp_inmsg_alloc(struct kfp_conn *conn, gfp_t gfp)
{
	struct list_head *spare;

	spin_lock_bh(&conn->lock);
	spare = kfp_spare_get(&conn->messages.spares);
	spin_unlock_bh(&conn->lock);
	if (!spare)
		return kmem_cache_zalloc(kfp_inmsg_cache, gfp);
	return memset(list_entry(spare, struct kfp_inmsg, entry), 0, sizeof(struct kfp_inmsg));
}

static void kfp_inmsg_buf_free(struct kfp_inmsg *in)
{
	unsigned int i;

	for (i = 0; i < in->nvecs; i++)
		kfree(in->vec[i].iov_base);
	if (in->vec != &in->one)
		kfree(in->vec);
}

/*
 * Allocate room for @len bytes of payload, in pieces of at most a page: while memory is fragmented
 * there may be no longer ones, and a connection handles no frame until the allocation succeeds.
 * After a failure, too, kfp_inmsg_buf_free() has to be called.
 */
static bool kfp_inmsg_buf_alloc(struct kfp_inmsg *in, size_t len, gfp_t gfp)
{
	unsigned int n = DIV_ROUND_UP(len, PAGE_SIZE);
	struct kvec *vec = n > 1 ? kmalloc_array(n, sizeof(*vec), gfp) : &in->one;

	in->vec = vec;
	for (; vec && in->nvecs < n; in->nvecs++, vec++) {
		vec->iov_len = min(len, PAGE_SIZE);
		vec->iov_base = kmalloc(vec->iov_len, gfp);
		if (!vec->iov_base)
			return false;
		len -= vec->iov_len;
	}
	return vec;
}

/* Allocate a message object, and a buffer for @payload bytes of an eager message. */
static struct kfp_inmsg *kfp_inmsg_alloc_all(struct kfp_conn *conn, size_t payload, gfp_t gfp)
{
	struct kfp_inmsg *in = kfp_inmsg_alloc(conn, gfp);

	if (!in || !payload || kfp_inmsg_buf_alloc(in, payload, gfp))
		return in;
	kfp_inmsg_buf_free(in);
	kmem_cache_free(kfp_inmsg_cache, in);
	return NULL;
}

/* The same for a connection for which a memory cgroup pays */
static struct kfp_inmsg *kfp_inmsg_alloc_paid(struct kfp_conn *conn, size_t payload)
{
	struct mem_cgroup *memcg = set_active_memcg(kfp_memcg(conn));
	struct kfp_inmsg *in = kfp_inmsg_alloc_all(conn, payload, kfp_gfp_atomic(conn));

	set_active_memcg(memcg);
	return in;
}

/*
 * Allocate a message object and, for an eager message, its buffer. The credit of the peer bounds
 * both. @granted: NULL for an eager message.
 */
struct kfp_inmsg *kfp_inmsg_new(struct kfp_conn *conn, const struct kfw_frame *f, u32 cost,
				void (*granted)(struct kfp_inmsg *in))
{
	struct kfp_inmsg *in;

	if (unlikely(kfp_memcg(conn)))
		in = kfp_inmsg_alloc_paid(conn, f->payload);
	else
		in = kfp_inmsg_alloc_all(conn, f->payload, GFP_ATOMIC | __GFP_NOWARN);
	if (!in)
		return NULL;
	in->state = granted ? KFP_IN_REQUESTED : KFP_IN_ARRIVING;
	in->granted = granted;
	in->cls = kfp_rx_cls(f);
	in->cost = cost;
	in->late_ack = conn->late_acks && f->flags & KFW_F_ACK;
	in->no_drop = conn->rx.invalidated || (f->flags & KFW_F_ACK && !in->late_ack);
	in->answer.id = f->id;
	in->answer.gen = f->gen;
	INIT_LIST_HEAD(&in->answer.link);
	kfp_conn_get(conn);
	in->conn = conn;
	spin_lock_bh(&conn->lock);
	list_add_tail(&in->entry, &conn->messages.all);
	conn->messages.unexpected += f->payload;
	spin_unlock_bh(&conn->lock);
	return in;
}

void kfp_inmsg_free(struct kfp_inmsg *in)
{
	struct kfp_conn *conn = in->conn;
	u32 cost = in->cost;
	bool spare, orphaned;

	kfp_places_put(conn, &in->answer.places);
	kfp_inmsg_buf_free(in);
	spin_lock_bh(&conn->lock);
	list_del(&in->entry);
	orphaned = conn->orphaned;
	if (in->vec)
		conn->messages.unexpected -= in->rx.len;
	spare = !test_bit(KFP_DEAD, &conn->flags) &&
		kfp_spare_put(&conn->messages.spares, &in->entry);
	spin_unlock_bh(&conn->lock);
	if (!spare)
		kmem_cache_free(kfp_inmsg_cache, in);
	if (unlikely(orphaned))
		kfp_account_freed(conn, cost);
	kfp_conn_put(conn);
}

/* ---- the answer to a message ---- */

/* The ACK of a message was sent. */
static void kfp_inmsg_acked(struct kfp_conn *conn, struct kfp_answer *answer)
{
	struct kfp_inmsg *in = container_of(answer, struct kfp_inmsg, answer);

	if (in->state == KFP_IN_REFUSED || in->late_ack)
		kfp_credit_free(conn, in->cls, in->cost);
	kfp_inmsg_free(in);
}

static const struct kfp_answer_row kfp_inmsg_ack_row = {
	.send = kfp_send_ack,
	.done = kfp_inmsg_acked,
};

/* Queue the ACK of a message, which the peer waits for. The message object ends with it. */
void kfp_inmsg_ack(struct kfp_inmsg *in, u8 state, u16 status)
{
	lockdep_assert_held(&in->conn->lock);
	in->state = state;
	in->answer.row = &kfp_inmsg_ack_row;
	in->answer.status = status;
	kfp_answer_queue(in->conn, &in->answer);
}

/* ---- eager messages ---- */

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
	size_t left = in->rx.room, n;
	const struct kvec *vec;

	for (vec = in->vec; left; vec++, left -= n) {
		n = min(left, vec->iov_len);
		WARN_ON_ONCE(kfi_copy_to(&in->rx.iter, vec->iov_base, n) != n);	/* no faults */
	}
	kfi_rx_complete(&in->rx, 0);
	if (unlikely(in->late_ack) && kfp_inmsg_ack_late(in)) {
		kfp_tx_kick_due(conn);
		return;
	}
	kfp_credit_free(conn, in->cls, in->cost);
	kfp_tx_kick_due(conn);
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

/* ---- the matching ---- */

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
	if (state == KFP_IN_REQUESTED)
		in->granted(in);
	spin_unlock_bh(&conn->lock);

	if (state == KFP_IN_READY) {
		kfp_inmsg_deliver(in);
	} else if (state == KFP_IN_LOST) {
		kfi_rx_abort(rx, -ECONNRESET);
		kfp_inmsg_free(in);
	} else if (state == KFP_IN_REQUESTED) {
		kfp_tx_kick_due(conn);
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

/* ---- the life of a connection ---- */

static void kfp_messages_init(struct kfp_conn *conn)
{
	INIT_LIST_HEAD(&conn->messages.all);
	kfp_spares_init(&conn->messages.spares);
	INIT_LIST_HEAD(&conn->messages.lost);
}

/* Does the message hold a receive that has not completed? See kfp_inmsgs_abort(). */
static bool kfp_inmsg_holds_receive(const struct kfp_inmsg *in)
{
	return in->matched && in->state != KFP_IN_ANSWERED && in->state != KFP_IN_REFUSED;
}

/* Is data of the receive being sent, or may the link still refer to it? */
static bool kfp_inmsg_is_read(const struct kfp_inmsg *in)
{
	return in->spliced || in->conn->tx.answer == &in->answer;
}

/*
 * The connection is down, and no byte arrives any more. Collect the incomplete messages; those whose
 * receive the link may still read only if it has @released all memory. From here on no message of
 * this connection is granted a receive, and none is in a list that outlives it: all of them are
 * taken out of the matching, out of @answers and out of &kfp_rdvs.waiting in one section of
 * kfp_conn.lock, before the first receive is returned. A receive that is returned is matched with
 * the next message at once (kfi_rx_abort()).
 *
 * A complete message (KFP_IN_READY) stays in the matching. A message that a post takes out of the
 * matching at this moment stays with the post: kfi_proto_rx_matched() finds KFP_IN_LOST and ends
 * it.
 */
static void kfp_inmsgs_collect(struct kfp_conn *conn, bool released)
{
	struct kfp_inmsg *in, *next;

	spin_lock_bh(&conn->lock);
	list_for_each_entry_safe(in, next, &conn->messages.all, entry) {
		if (in->state == KFP_IN_READY || in->state == KFP_IN_LOST ||
		    (!released && kfp_inmsg_is_read(in)))
			continue;
		list_del_init(&in->answer.link);
		in->lost_receive = kfp_inmsg_holds_receive(in);
		in->state = KFP_IN_LOST;
		if (in->matched || kfi_rx_unqueue(&in->rx))
			list_move_tail(&in->entry, &conn->messages.lost);
	}
	spin_unlock_bh(&conn->lock);
}

static void kfp_messages_closed(struct kfp_conn *conn)
{
	kfp_inmsgs_collect(conn, false);
}

/*
 * Return the receives of the messages that were collected to the matching, or abort them, and free
 * the messages. Called without a lock.
 */
static void kfp_inmsgs_abort(struct kfp_conn *conn, int err)
{
	struct kfp_inmsg *in, *next;

	list_for_each_entry_safe(in, next, &conn->messages.lost, entry) {
		kfp_conceal(conn, &in->exposed);
		if (in->lost_receive)
			kfi_rx_abort(&in->rx, err);
		kfp_inmsg_free(in);
	}
}

static void kfp_messages_end(struct kfp_conn *conn, int err)
{
	kfp_inmsgs_collect(conn, true);
	kfp_inmsgs_abort(conn, err);
}

/*
 * The messages that wait for a receive go behind the messages of all others, in their order. Under
 * the link's lock no message arrives meanwhile, and the link exists for a grace period after
 * KFP_DEAD was set. This is best effort: messages keep their place if the link's lock is not
 * available at this moment.
 */
static void kfp_inmsgs_yield(struct kfp_conn *conn)
{
	struct kfp_inmsg *in;

	rcu_read_lock();
	/* Pairs with the store in kfp_conn_start(). */
	if (smp_load_acquire(&conn->state) == KFP_READY && !test_bit(KFP_DEAD, &conn->flags) &&
	    conn->ops->lock(&conn->link)) {
		spin_lock(&conn->lock);
		list_for_each_entry(in, &conn->messages.all, entry)
			if (!in->matched)
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
static void kfp_inmsgs_drop(struct kfp_conn *conn)
{
	struct kfi_ep *ep = &conn->ep->ep;
	struct kfp_inmsg *in, *next;
	LIST_HEAD(drop);

	spin_lock_bh(&conn->lock);
	list_for_each_entry_safe(in, next, &conn->messages.all, entry)
		if (in->state == KFP_IN_READY && !in->matched && !in->no_drop &&
		    kfi_rx_dequeue(&in->rx))
			list_move_tail(&in->entry, &drop);
	spin_unlock_bh(&conn->lock);
	list_for_each_entry_safe(in, next, &drop, entry) {
		kfi_stat_inc(ep, dropped);
		kfp_inmsg_free(in);
	}
}

static void kfp_inmsg_free_spares(struct kfp_conn *conn)
{
	struct list_head *spare;

	do {
		spin_lock_bh(&conn->lock);
		spare = kfp_spare_get(&conn->messages.spares);
		spin_unlock_bh(&conn->lock);
		if (spare)
			kmem_cache_free(kfp_inmsg_cache, list_entry(spare, struct kfp_inmsg, entry));
	} while (spare);
}

const struct kfp_protocol kfp_inmsg_protocol = {
	.init = kfp_messages_init,
	.yield = kfp_inmsgs_yield,
	.shrink = kfp_inmsgs_drop,
	.closed = kfp_messages_closed,
	.abort = kfp_inmsgs_abort,
	.end = kfp_messages_end,
	.free = kfp_inmsg_free_spares,
};
