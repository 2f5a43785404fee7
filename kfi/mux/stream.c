// SPDX-License-Identifier: GPL-2.0
/*
 * stream.c - connections: a stream of bytes in each direction, as a link of the message protocol.
 *
 *   kfi_mux_open()  kfi_mux_dial()	call the peer; call.c answers calls of the peer
 *   kmx_ctl_run()			sends records without bytes
 *   kfi_mux_close()			sends the last record, and ends the connection
 *
 * send.c and recv.c send and receive the bytes.
 *
 * A struct kfi_mux_stream may exist longer than its struct kfi_mux_end, until its last record was
 * sent. Records of the peer are handled in the RCU section in which the connection was found
 * (way.c).
 */
#include <linux/export.h>
#include <linux/log2.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "mux.h"

/* ---- allocation, and numbers ---- */

void kfi_mux_stream_put(struct kfi_mux_stream *s)
{
	struct kfi_mux *mux = s->mux;

	if (!refcount_dec_and_test(&s->ref))
		return;
	if (s->leaving)
		atomic_dec(&mux->leaving);
	kfree_rcu(s, rcu);
	kfi_mux_put(mux);
}
EXPORT_SYMBOL_GPL(kfi_mux_stream_put);

static int kmx_stream_number(struct kfi_mux_stream *s)
{
	struct kfi_mux *mux = s->mux;
	int ret;

	xa_lock_bh(&mux->streams);
	ret = __xa_alloc_cyclic(&mux->streams, &s->id, NULL, XA_LIMIT(1, INT_MAX),
				&mux->next_number, GFP_NOIO);
	xa_unlock_bh(&mux->streams);
	return min(ret, 0);
}

/* kmx_stream_number() has created the entry of the number, so the store allocates nothing. */
void kmx_stream_publish(struct kfi_mux_stream *s)
{
	xa_lock_bh(&s->mux->streams);
	__xa_store(&s->mux->streams, s->id, s, GFP_ATOMIC);
	xa_unlock_bh(&s->mux->streams);
}

void kmx_backlog_free(struct kfi_mux_stream *s, u8 *backlog)
{
	if (backlog != s->first)
		kvfree(backlog);
}

static void kmx_ctl_sent(struct kfi_mux_ctl *ctl);

struct kfi_mux_stream *kmx_stream_new(struct kfi_mux *mux, u32 window)
{
	struct kfi_mux_stream *s = kzalloc(mux->ops->stream_size, GFP_NOIO);

	if (!s)
		return NULL;
	refcount_set(&s->ref, 1);
	spin_lock_init(&s->lock);
	s->mux = mux;
	s->window = window;
	s->advertised = window;
	mux->ops->stream_init(s);
	s->ctl->owner = s;
	s->ctl->sent = kmx_ctl_sent;
	s->backlog = window > sizeof(s->first) ? kvmalloc(window, GFP_NOIO) : s->first;
	if (!s->backlog || kmx_stream_number(s)) {
		kmx_backlog_free(s, s->backlog);
		kfree(s);
		return NULL;
	}
	kmx_get(mux);
	return s;
}

/* ---- records without bytes ---- */

static void kmx_ctl_fill(struct kfi_mux_stream *s, int what)
{
	struct kmw_calling c = {
		.number = s->id, .window = s->window, .from = s->port, .to = s->to,
	};
	bool (*held)(struct kfi_mux_stream *s) = s->mux->ops->held;
	struct kfi_mux_rec *rec = &s->ctl->rec;

	switch (what) {
	case KMX_DUE_CALL:
		kmw_encode_call(&c, rec);
		break;
	case KMX_DUE_ANSWER:
		kmw_encode_answer(&c, s->peer, rec);
		break;
	default:
		kmw_encode_close((s->abort ? KMW_C_ABORT : 0) | (s->wants ? KMW_C_RETURN : 0) |
				 (held && held(s) ? KMW_C_HELD : 0), s->peer, rec);
	}
}

/* Return: 0; -ENOTCONN: the way is down, and no callback is called */
static int kmx_ctl_post(struct kfi_mux_stream *s)
{
	int ret;

	rcu_read_lock();
	ret = kfi_mux_over(s) ? -ENOTCONN : s->mux->ops->post(s->mux, s->lane, s->ctl);
	rcu_read_unlock();
	return ret;
}

/*
 * Send the records that are due, one at a time. Calls and closes of all connections of a lane keep
 * their order: the close of a connection arrives before the call of the one that replaces it, which
 * has the same lane (kmw_call_lane()).
 */
void kmx_ctl_run(struct kfi_mux_stream *s)
{
	int what;

	lockdep_assert_held(&s->lock);
	while (s->due & ~BIT(KMX_DUE_LIMIT) && !s->busy) {
		what = __ffs(s->due & ~BIT(KMX_DUE_LIMIT));
		__clear_bit(what, &s->due);
		kmx_ctl_fill(s, what);
		s->busy = true;
		refcount_inc(&s->ref);
		if (kmx_ctl_post(s)) {
			s->busy = false;
			refcount_dec(&s->ref);
		}
	}
	if (test_bit(KMX_DUE_LIMIT, &s->due))
		kmx_send_limit(s);
}

static void kmx_ctl_sent(struct kfi_mux_ctl *ctl)
{
	struct kfi_mux_stream *s = ctl->owner;

	spin_lock_bh(&s->lock);
	s->busy = false;
	s->behind = max(s->behind, ctl->end);
	kmx_ctl_run(s);
	spin_unlock_bh(&s->lock);
	kfi_mux_stream_put(s);
}

void kmx_stream_due(struct kfi_mux_stream *s, int what)
{
	__set_bit(what, &s->due);
	kmx_ctl_run(s);
}

/* ---- beginning ---- */

void kmx_stream_open(struct kfi_mux_stream *s, u32 peer, u32 limit)
{
	const struct kfi_mux_ops *ops = s->mux->ops;

	lockdep_assert_held(&s->lock);
	s->peer = peer;
	s->limit = limit;
	s->room = ops->room(s->mux, s->lane) - sizeof(struct kmw_data);
	s->state = KFI_MUX_OPEN;
	if (ops->opened)
		ops->opened(s);
}

void kfi_mux_name_self(struct kfi_link *link, void *name)
{
	const struct kfi_mux_stream *s = kfi_mux_stream_of(link);

	kmx_addr_set(s->mux->prov, name, s->mux->own, s->port);
}
EXPORT_SYMBOL_GPL(kfi_mux_name_self);

int kfi_mux_open(struct kfi_link *link)
{
	struct kfi_mux_ep *mep = to_mux_ep(&link->ep->ep);
	struct kfi_mux *mux = mep->mux;
	struct kfi_mux_stream *s;

	/* A way can't carry records to our own end. */
	if (!kmx_is_side(mux, mux->peer, link->name))
		return -EHOSTUNREACH;
	s = kmx_stream_new(mux, mux->prov->stream_kib * 1024);
	if (!s)
		return -ENOMEM;
	container_of(link, struct kfi_mux_end, link)->stream = s;
	s->port = mep->port;
	s->to = kmx_addr_port(mux->prov, link->name);
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_mux_open);

/* Return the lane for a connection that calls. The answer takes the lane of the call. */
static u8 kmx_stream_lane(const struct kfi_mux_stream *s)
{
	const struct kfi_mux *mux = s->mux;
	int order = memcmp(mux->own, mux->peer, mux->prov->side_len);
	struct kmw_calling call = { .number = s->id, .from = s->port, .to = s->to };

	return kmw_call_lane(&call, order < 0 || (!order && s->port < s->to),
			     READ_ONCE(mux->lanes));
}

/*
 * Send a CALL, if the way is up and not held. Otherwise kfi_mux_up() or kfi_mux_resume() calls this
 * function again.
 */
void kmx_stream_call(struct kfi_mux_stream *s)
{
	lockdep_assert_held(&s->lock);
	if (s->state != KFI_MUX_NEW || s->ended)
		return;
	rcu_read_lock();	/* see kfi_mux_over() */
	s->life = kfi_mux_life(s->mux);
	/* pairs with kfi_mux_up() */
	if (smp_load_acquire(&s->mux->up) && !READ_ONCE(s->mux->hold.now)) {
		WRITE_ONCE(s->lane, kmx_stream_lane(s));
		s->state = KFI_MUX_CALLED;
		kmx_stream_due(s, KMX_DUE_CALL);
	}
	rcu_read_unlock();
}

int kfi_mux_dial(struct kfi_link *link)
{
	struct kfi_mux_stream *s = kfi_mux_stream_of(link);

	spin_lock_bh(&s->lock);
	s->end = container_of(link, struct kfi_mux_end, link);
	spin_unlock_bh(&s->lock);
	kmx_stream_publish(s);
	/* Either kmx_stream_call() sees the way up, or kmx_calls_send() sees the connection. */
	smp_mb();
	spin_lock_bh(&s->lock);
	kmx_stream_call(s);
	spin_unlock_bh(&s->lock);
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_mux_dial);

/*
 * The peer has proved its identity, and gets a window that is longer than a hello. If it may send
 * longer messages at once than by default, eight of them have room: the next ones have to be under
 * way while one is handled, and limits travel with other records then.
 */
void kfi_mux_admit(struct kfi_link *link)
{
	struct kfi_mux_stream *s = kfi_mux_stream_of(link);
	const struct kfi_mux_prov *mp = s->mux->prov;
	u32 usual = mp->stream_kib * 1024, window = usual;

	if (link->eager > mp->proto->params.eager_size)
		window = max_t(u32, window, 8 * roundup_pow_of_two(link->eager));
	/* without memory for a long window a short one will do */
	if ((s->mux->ops->admitted && s->mux->ops->admitted(s)) ||
	    (kmx_window_grow(s, window) && kmx_window_grow(s, usual)))
		kfi_link_fail(link, -ENOMEM);
}
EXPORT_SYMBOL_GPL(kfi_mux_admit);

/* ---- end ---- */

void kfi_mux_end(struct kfi_mux_stream *s, int err)
{
	lockdep_assert_held(&s->lock);
	if (s->ended)
		return;
	WRITE_ONCE(s->ended, err);
	if (s->end)
		kfi_link_down(&s->end->link);
}
EXPORT_SYMBOL_GPL(kfi_mux_end);

/* Send a CLOSE, once, unless the peer's number is not known. */
static void kmx_send_close(struct kfi_mux_stream *s)
{
	if (s->closing || !s->peer)
		return;
	s->closing = true;
	__clear_bit(KMX_DUE_LIMIT, &s->due);	/* no record follows a CLOSE */
	kmx_stream_due(s, KMX_DUE_CLOSE);
}

void kfi_mux_close_again(struct kfi_mux_stream *s)
{
	kmx_stream_due(s, KMX_DUE_CLOSE);
}
EXPORT_SYMBOL_GPL(kfi_mux_close_again);

/*
 * The peer has closed the connection. It writes nothing to our memory any more, unless the CLOSE
 * has KMW_C_HELD: then devices of the peer still do, and another CLOSE follows.
 */
void kmx_close_in(struct kfi_mux_stream *s, const struct kfi_mux_rec *rec)
{
	int err = rec->bits & KMW_C_ABORT ? -ECONNRESET : -ESHUTDOWN;

	if (kmw_decode_close(rec))
		err = -EPROTO;
	spin_lock(&s->lock);
	if (!(rec->bits & KMW_C_HELD))
		WRITE_ONCE(s->returned, true);
	kfi_mux_end(s, s->state == KFI_MUX_OPEN ? err : -ECONNREFUSED);
	/*
	 * The CLOSE follows all that we have written to the peer. In the state KFI_MUX_CLOSED no
	 * CLOSE is due: kfi_mux_close() has sent one, or the peer had returned all memory before.
	 * The last reference to @s may be gone then.
	 */
	if (rec->bits & KMW_C_RETURN && s->state != KFI_MUX_CLOSED)
		kmx_send_close(s);
	spin_unlock(&s->lock);
	wake_up_all(&s->mux->back);
}

int kfi_mux_ended(const struct kfi_link *link)
{
	return READ_ONCE(kfi_mux_stream_of(link)->ended);
}
EXPORT_SYMBOL_GPL(kfi_mux_ended);

void kfi_mux_detach(struct kfi_link *link)
{
	struct kfi_mux_stream *s = kfi_mux_stream_of(link);

	spin_lock_bh(&s->lock);
	s->end = NULL;
	spin_unlock_bh(&s->lock);
}
EXPORT_SYMBOL_GPL(kfi_mux_detach);

/* No other context uses the connection, except for records that were posted. */
void kmx_stream_free(struct kfi_mux_stream *s)
{
	xa_erase_bh(&s->mux->streams, s->id);
	kmx_backlog_free(s, s->backlog);
	kfi_mux_stream_put(s);
}

void kfi_mux_close(struct kfi_link *link, bool abort)
{
	struct kfi_mux_stream *s = kfi_mux_stream_of(link);
	const struct kfi_mux_ops *ops = s->mux->ops;

	spin_lock_bh(&s->lock);
	s->end = NULL;
	s->state = KFI_MUX_CLOSED;
	s->abort = abort;
	s->wants = s->exposed;
	__clear_bit(KMX_DUE_CALL, &s->due);
	__clear_bit(KMX_DUE_LIMIT, &s->due);
	if (ops->withdraw)
		ops->withdraw(s);
	if (!s->returned)
		kmx_send_close(s);
	spin_unlock_bh(&s->lock);
	if (ops->closed)
		ops->closed(s);
	container_of(link, struct kfi_mux_end, link)->stream = NULL;
	/*
	 * The stream exists until its last record was sent. If the peer makes no room for the last
	 * records of too many streams, this life of the way ends.
	 */
	s->leaving = true;
	if (atomic_inc_return(&s->mux->leaving) > KMX_LEAVING)
		ops->fault(s->mux, s->life, "the peer does not read the ends of its connections");
	kmx_stream_free(s);
}
EXPORT_SYMBOL_GPL(kfi_mux_close);

/*
 * Records of a lane arrive in order, and a port that calls again takes the same lane. So if it
 * does, this side has already handled the CLOSE of the old connection.
 */
int kfi_mux_probe(struct kfi_link *link)
{
	return READ_ONCE(kfi_mux_stream_of(link)->ended) ? -1 : 1;
}
EXPORT_SYMBOL_GPL(kfi_mux_probe);

/* ---- lock of the link ---- */

bool kfi_mux_trylock(struct kfi_link *link)
{
	return spin_trylock_bh(&kfi_mux_stream_of(link)->lock);
}
EXPORT_SYMBOL_GPL(kfi_mux_trylock);

bool kfi_mux_lock(struct kfi_link *link)
{
	spin_lock_bh(&kfi_mux_stream_of(link)->lock);
	return true;
}
EXPORT_SYMBOL_GPL(kfi_mux_lock);

void kfi_mux_unlock(struct kfi_link *link)
{
	spin_unlock_bh(&kfi_mux_stream_of(link)->lock);
}
EXPORT_SYMBOL_GPL(kfi_mux_unlock);
