// SPDX-License-Identifier: GPL-2.0
/*
 * stream.c - connections: a stream of bytes in each direction, as a link of the message protocol.
 *
 *   nt_open()  nt_dial()	call the peer; call.c answers calls of the peer
 *   nt_ctrl_run()		sends records without bytes
 *   nt_close()			sends the last record, and ends the connection
 *
 * send.c and recv.c send and receive the bytes.
 *
 * A struct nt_stream may exist longer than its struct nt_end, until its last record was sent.
 * Records of the peer are handled in the RCU section in which the connection was found (dev.c).
 */
#include <linux/log2.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "ntb.h"

/* ---- allocation, and numbers ---- */

void nt_stream_put(struct nt_stream *s)
{
	struct nt_dev *dev = s->dev;

	if (!refcount_dec_and_test(&s->ref))
		return;
	if (s->leaving)
		atomic_dec(&dev->leaving);
	kfree_rcu(s, rcu);
	nt_dev_put(dev);
}

static int nt_stream_number(struct nt_stream *s)
{
	struct nt_dev *dev = s->dev;
	int ret;

	xa_lock_bh(&dev->streams);
	ret = __xa_alloc_cyclic(&dev->streams, &s->id, NULL, XA_LIMIT(1, INT_MAX),
				&dev->next_number, GFP_NOIO);
	xa_unlock_bh(&dev->streams);
	return min(ret, 0);
}

/* nt_stream_number() has created the entry of the number, so the store allocates nothing. */
void nt_stream_publish(struct nt_stream *s)
{
	xa_lock_bh(&s->dev->streams);
	__xa_store(&s->dev->streams, s->id, s, GFP_ATOMIC);
	xa_unlock_bh(&s->dev->streams);
}

static void nt_ctrl_sent(struct nt_rec *rec, int err);

void nt_backlog_free(struct nt_stream *s, u8 *backlog)
{
	if (backlog != s->first)
		kvfree(backlog);
}

struct nt_stream *nt_stream_new(struct nt_dev *dev, u32 window)
{
	struct nt_stream *s = kzalloc(sizeof(*s), GFP_NOIO);

	if (!s)
		return NULL;
	refcount_set(&s->ref, 1);
	spin_lock_init(&s->lock);
	s->dev = dev;
	s->window = window;
	s->advertised = window;
	s->ctrl.sent = nt_ctrl_sent;
	INIT_LIST_HEAD(&s->idle);
	INIT_LIST_HEAD(&s->posted);
	INIT_LIST_HEAD(&s->exposures);
	INIT_LIST_HEAD(&s->unexposed);
	INIT_WORK(&s->held_work, nt_held_work);
	s->backlog = window > sizeof(s->first) ? kvmalloc(window, GFP_NOIO) : s->first;
	if (!s->backlog || nt_stream_number(s)) {
		nt_backlog_free(s, s->backlog);
		kfree(s);
		return NULL;
	}
	nt_dev_get(dev);
	return s;
}

/* ---- records for the ring ---- */

/*
 * Return: true if the life of the link that the connection belongs to has ended.
 * nt_conns_link_down() waits for RCU sections in which this function has returned false.
 */
bool nt_stream_over(const struct nt_stream *s)
{
	return s->life != nt_link_life(s->dev->link);
}

/* Return: 0; -ENOTCONN: the link is down, and no callback is called */
static int nt_stream_post(struct nt_stream *s, struct nt_rec *rec)
{
	int ret;

	rcu_read_lock();
	ret = nt_stream_over(s) ? -ENOTCONN : nt_ring_post(s->ring, rec, false);
	rcu_read_unlock();
	return ret;
}

static u16 nt_ctrl_fill(struct nt_stream *s, int what)
{
	struct ntw_calling c = { .number = s->id, .window = s->window };
	void *body = s->ctrl.head + sizeof(struct ntw_rec);
	struct ntw_rec *rec = &s->ctrl.rec;

	switch (what) {
	case NT_DUE_CALL:
		ntw_encode_call(&s->call, rec, body);
		return sizeof(struct ntw_call);
	case NT_DUE_ANSWER:
		ntw_encode_answer(&c, s->peer, rec, body);
		return sizeof(struct ntw_answer);
	default:
		ntw_encode_close((s->abort ? NTW_C_ABORT : 0) | (s->wants ? NTW_C_RETURN : 0) |
				 (nt_stream_note_held(s) ? NTW_C_HELD : 0), s->peer, rec);
		return 0;
	}
}

/*
 * Send the records that are due, one at a time. Calls and closes of all connections take the bulk
 * ring of their queue: the close of a connection arrives before the call of the one that replaces
 * it, which has the same queue (ntw_call_queue()).
 */
void nt_ctrl_run(struct nt_stream *s)
{
	int what;

	lockdep_assert_held(&s->lock);
	while (s->due & ~BIT(NT_DUE_LIMIT) && !s->busy) {
		what = __ffs(s->due & ~BIT(NT_DUE_LIMIT));
		__clear_bit(what, &s->due);
		s->ctrl.head_len = sizeof(struct ntw_rec) + nt_ctrl_fill(s, what);
		s->busy = true;
		refcount_inc(&s->ref);
		if (nt_stream_post(s, &s->ctrl)) {
			s->busy = false;
			refcount_dec(&s->ref);
		}
	}
	if (test_bit(NT_DUE_LIMIT, &s->due))
		nt_send_limit(s);
}

static void nt_ctrl_sent(struct nt_rec *rec, int err)
{
	struct nt_stream *s = container_of(rec, struct nt_stream, ctrl);

	spin_lock_bh(&s->lock);
	s->busy = false;
	s->bulk_end = max(s->bulk_end, rec->end);
	nt_ctrl_run(s);
	spin_unlock_bh(&s->lock);
	nt_stream_put(s);
}

void nt_stream_due(struct nt_stream *s, int what)
{
	__set_bit(what, &s->due);
	nt_ctrl_run(s);
}

/* ---- beginning ---- */

void nt_stream_open(struct nt_stream *s, u32 peer, u32 limit)
{
	lockdep_assert_held(&s->lock);
	s->peer = peer;
	s->limit = limit;
	s->room = nt_ring_room(s->ring) - NT_PREFIX;
	s->state = NT_OPEN;
	s->end->link.checks = READ_ONCE(s->dev->link->checks);
	s->end->link.pages = !s->end->link.checks && nt_pages_any(s->dev->link);
}

static int nt_open(struct kfi_link *link)
{
	const struct ntw_addr *to = (void *)link->name;
	struct nt_ep *nep = nt_link_ep(link);
	struct nt_stream *s;

	/* A bridge can't carry records to our own end. */
	if (le32_to_cpu(to->side) != nt_link_peer_side(nep->dev->link))
		return -EHOSTUNREACH;
	s = nt_stream_new(nep->dev, nt_stream_kib * 1024);
	if (!s)
		return -ENOMEM;
	container_of(link, struct nt_end, link)->stream = s;
	s->ring = &nep->dev->link->ring[0];
	s->port = le32_to_cpu(nep->addr.port);
	s->call = (struct ntw_calling) {
		.number = s->id,
		.from = le32_to_cpu(nep->addr.port),
		.to = le32_to_cpu(to->port),
		.window = s->window,
	};
	return 0;
}

/* Return the queue for a connection that calls. The answer takes the queue of the call. */
static struct nt_ring *nt_stream_ring(struct nt_link *link, const struct ntw_calling *call)
{
	u32 here = nt_link_side(link), there = nt_link_peer_side(link);
	bool first = here < there || (here == there && call->from < call->to);

	return &link->ring[ntw_call_queue(call, first, READ_ONCE(link->queues))];
}

/* Send a CALL, if the link is up. Otherwise nt_conns_link_up() calls this function again. */
void nt_stream_call(struct nt_stream *s)
{
	lockdep_assert_held(&s->lock);
	if (s->state != NT_NEW || s->ended)
		return;
	rcu_read_lock();	/* see nt_stream_over() */
	s->life = nt_link_life(s->dev->link);
	if (nt_link_is_up(s->dev->link)) {
		WRITE_ONCE(s->ring, nt_stream_ring(s->dev->link, &s->call));
		s->state = NT_CALLED;
		nt_stream_due(s, NT_DUE_CALL);
	}
	rcu_read_unlock();
}

static int nt_dial(struct kfi_link *link)
{
	struct nt_stream *s = nt_stream_of(link);

	spin_lock_bh(&s->lock);
	s->end = container_of(link, struct nt_end, link);
	spin_unlock_bh(&s->lock);
	nt_stream_publish(s);
	/* Either nt_stream_call() sees the link up, or nt_conns_link_up() sees the connection. */
	smp_mb();
	spin_lock_bh(&s->lock);
	nt_stream_call(s);
	spin_unlock_bh(&s->lock);
	return 0;
}

/*
 * The peer has proved its identity, and gets a window that is longer than a hello. If it may send
 * longer messages at once than by default, four of them have room: the next ones have to be under
 * way while one is handled.
 */
static void nt_admit(struct kfi_link *link)
{
	struct nt_stream *s = nt_stream_of(link);
	u32 window = nt_stream_kib * 1024;

	if (link->eager > nt_proto.params.eager_size)
		window = max_t(u32, window, 4 * roundup_pow_of_two(link->eager));
	/* without memory for a long window a short one will do */
	if (nt_loads_alloc(s) || (nt_window_grow(s, window) &&
				  nt_window_grow(s, nt_stream_kib * 1024)))
		kfi_link_fail(link, -ENOMEM);
}

/* ---- end ---- */

void nt_stream_end(struct nt_stream *s, int err)
{
	lockdep_assert_held(&s->lock);
	if (s->ended)
		return;
	WRITE_ONCE(s->ended, err);
	if (s->end)
		kfi_link_down(&s->end->link);
}

/* Send a CLOSE, once, unless the peer's number is not known. */
static void nt_send_close(struct nt_stream *s)
{
	if (s->closing || !s->peer)
		return;
	s->closing = true;
	__clear_bit(NT_DUE_LIMIT, &s->due);	/* no record follows a CLOSE */
	nt_stream_due(s, NT_DUE_CLOSE);
}

/*
 * The peer has closed the connection. It writes nothing to our memory any more, unless the CLOSE
 * has NTW_C_HELD: then devices of the peer still do, and another CLOSE follows.
 */
void nt_close_in(struct nt_stream *s, const struct ntw_rec *rec, size_t len)
{
	u16 bits = le16_to_cpu(rec->bits);
	int err = bits & NTW_C_ABORT ? -ECONNRESET : -ESHUTDOWN;

	if (ntw_decode_close(rec, len))
		err = -EPROTO;
	spin_lock(&s->lock);
	if (!(bits & NTW_C_HELD))
		WRITE_ONCE(s->returned, true);
	nt_stream_end(s, s->state == NT_OPEN ? err : -ECONNREFUSED);
	/*
	 * The CLOSE follows all that we have written to the peer. In the state NT_CLOSED no CLOSE
	 * is due: nt_close() has sent one, or the peer had returned all memory before. The last
	 * reference to @s may be gone then.
	 */
	if (bits & NTW_C_RETURN && s->state != NT_CLOSED)
		nt_send_close(s);
	spin_unlock(&s->lock);
	wake_up_all(&s->dev->back);
}

static int nt_ended(const struct kfi_link *link)
{
	return READ_ONCE(nt_stream_of(link)->ended);
}

static void nt_detach(struct kfi_link *link)
{
	struct nt_stream *s = nt_stream_of(link);

	spin_lock_bh(&s->lock);
	s->end = NULL;
	spin_unlock_bh(&s->lock);
}

/* No other context uses the connection, except for records that were posted. */
void nt_stream_free(struct nt_stream *s)
{
	xa_erase_bh(&s->dev->streams, s->id);
	nt_backlog_free(s, s->backlog);
	kvfree(s->loads);
	nt_stream_put(s);
}

static void nt_close(struct kfi_link *link, bool abort)
{
	struct nt_stream *s = nt_stream_of(link);
	bool posted;

	spin_lock_bh(&s->lock);
	s->end = NULL;
	s->state = NT_CLOSED;
	s->abort = abort;
	s->wants = s->exposed;
	__clear_bit(NT_DUE_CALL, &s->due);
	__clear_bit(NT_DUE_LIMIT, &s->due);
	nt_loads_unpost(s);
	posted = !list_empty(&s->posted);
	if (!s->returned)
		nt_send_close(s);
	spin_unlock_bh(&s->lock);
	if (posted)
		nt_ring_drain(s->ring);
	nt_wait_access_end(s);
	container_of(link, struct nt_end, link)->stream = NULL;
	nt_exposures_free(s);
	/*
	 * The stream exists until its last record was sent. If the peer makes no room for the last
	 * records of too many streams, this life of the link ends.
	 */
	s->leaving = true;
	if (atomic_inc_return(&s->dev->leaving) > NT_LEAVING)
		nt_link_fault(s->dev->link, s->life,
			      "the peer does not read the ends of its connections");
	nt_stream_free(s);
}

/*
 * Records of a queue arrive in order, and a port that calls again takes the same queue. So if it
 * does, this side has already handled the CLOSE of the old connection.
 */
static int nt_probe(struct kfi_link *link)
{
	return READ_ONCE(nt_stream_of(link)->ended) ? -1 : 1;
}

/* ---- lock of the link ---- */

static bool nt_trylock(struct kfi_link *link)
{
	return spin_trylock_bh(&nt_stream_of(link)->lock);
}

static bool nt_lock(struct kfi_link *link)
{
	spin_lock_bh(&nt_stream_of(link)->lock);
	return true;
}

static void nt_unlock(struct kfi_link *link)
{
	spin_unlock_bh(&nt_stream_of(link)->lock);
}

const struct kfi_link_ops nt_link_ops = {
	.link_size	= sizeof(struct nt_end),
	.name_len	= sizeof(struct ntw_addr),
	.flags		= KFI_LINK_REPORTS_SENT,
	.place_min	= NT_COPY,

	.len		= nt_name_len,
	.cmp		= nt_name_cmp,
	.hash		= nt_name_hash,
	.name		= nt_name_read,
	.address	= nt_name_write,
	.origin		= nt_name_origin,
	.self		= nt_name_self,
	.wire_name	= nt_name_wire,

	.open		= nt_open,
	.dial		= nt_dial,
	.admit		= nt_admit,
	.ended		= nt_ended,
	.detach		= nt_detach,
	.close		= nt_close,
	.probe		= nt_probe,

	.trylock	= nt_trylock,
	.lock		= nt_lock,
	.unlock		= nt_unlock,

	.post		= nt_post_unit,
	.splices	= nt_splices,
	.sent_to	= nt_sent_to,
	.read		= nt_read,

	.expose		= nt_expose,
	.conceal	= nt_conceal,

	.pages		= nt_place_pages,
	.unpin		= nt_unpin,
};
