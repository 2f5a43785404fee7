// SPDX-License-Identifier: GPL-2.0
/*
 * cm.c - connections.
 *
 * No event is reported to a consumer from within a call of another consumer. Each event of an
 * endpoint sets a bit in its @events and queues its cm_work. Only cm_work calls kfi_ep_connected(),
 * kfi_ep_refused() and kfi_ep_disconnected(), so the events stay in order. cm_work may wait for
 * operations to complete and for grace periods; only the close of the endpoint waits for cm_work.
 *
 * A connection is two endpoints with the number of the other one in peer_id. An endpoint that ends
 * notifies its peer before its number can be used again, so peer_id never denotes a different
 * endpoint.
 */
#include <linux/slab.h>
#include "loop.h"

enum {
	LOOP_EV_CONNECT		= BIT(0),
	LOOP_EV_REFUSED		= BIT(1),
	LOOP_EV_CONNECTED	= BIT(2),
	LOOP_EV_DOWN		= BIT(3),
};

/**
 * struct loop_connreq - a connection request
 * @base: common part
 * @ref: references: of the initiator's loop_ep.req, and of the listening side until accept or
 *	reject
 * @lock: protects @from; no other lock is held with it
 * @from: the initiator, which clears the pointer before it stops
 * @from_id: number of the initiator
 * @to: number of the listener
 * @lp: the listener, only compared and never dereferenced
 * @posted: the listener has the request, so kfi_connreq_gone() may be called. Protected by
 *	loop_ep.lock of the initiator
 * @len: bytes of @data
 * @data: private data
 */
struct loop_connreq {
	struct kfi_connreq	base;
	refcount_t		ref;
	spinlock_t		lock;
	struct loop_ep		*from;
	u64			from_id;
	u64			to;
	struct loop_pep		*lp;
	bool			posted;
	size_t			len;
	u8			data[KFI_CM_DATA_MAX];
};

static struct loop_connreq *to_loop_connreq(struct kfi_connreq *req)
{
	return container_of(req, struct loop_connreq, base);
}

static void loop_req_put(struct loop_connreq *req)
{
	if (refcount_dec_and_test(&req->ref))
		kfree(req);
}

/* Take the initiator out of the request, with a reference. Return: NULL if that was done before. */
static struct loop_ep *loop_req_initiator(struct loop_connreq *req)
{
	struct loop_ep *le;

	spin_lock_bh(&req->lock);
	le = req->from;
	req->from = NULL;
	if (le)
		refcount_inc(&le->users);
	spin_unlock_bh(&req->lock);
	return le;
}

/* ---- events of an endpoint ---- */

static void loop_event(struct loop_ep *le, unsigned int event)
{
	lockdep_assert_held(&le->lock);
	if (le->stopped)
		return;
	le->events |= event;
	queue_work(loop_wq, &le->cm_work);
}

static void loop_answer(struct loop_ep *le, unsigned int event, int err, const void *data,
			size_t len)
{
	lockdep_assert_held(&le->lock);
	le->cm_err = err;
	le->cm_len = len;
	if (len)
		memcpy(le->cm_data, data, len);
	loop_event(le, event);
}

static void loop_refuse(struct loop_ep *le, int err)
{
	spin_lock_bh(&le->lock);
	loop_answer(le, LOOP_EV_REFUSED, err, NULL, 0);
	spin_unlock_bh(&le->lock);
}

/*
 * Return the initiator with a reference if it still waits for an answer. The caller then also owns
 * the reference of the initiator's loop_ep.req.
 */
static struct loop_ep *loop_initiator(struct loop_connreq *req)
{
	struct loop_ep *le = loop_req_initiator(req);
	bool waits;

	if (!le)
		return NULL;
	spin_lock_bh(&le->lock);
	waits = le->req == req;
	if (waits)
		le->req = NULL;
	spin_unlock_bh(&le->lock);
	if (waits)
		return le;
	loop_ep_put(le);
	return NULL;
}

/* ---- initiator ---- */

int loop_connect(struct kfi_ep *ep, const void *addr, const void *data, size_t len)
{
	const struct kfi_loop_addr *a = addr;
	struct loop_ep *le = to_loop_ep(ep);
	struct loop_connreq *req;

	if (!loop_addr_ok(a->id) || len > sizeof(req->data))
		return -EINVAL;
	req = kzalloc(sizeof(*req), GFP_KERNEL);
	if (!req)
		return -ENOMEM;
	refcount_set(&req->ref, 1);
	spin_lock_init(&req->lock);
	req->from = le;
	req->from_id = le->id;
	req->to = a->id;
	req->len = len;
	memcpy(req->data, data, len);
	spin_lock_bh(&le->lock);
	le->req = req;
	loop_event(le, LOOP_EV_CONNECT);
	spin_unlock_bh(&le->lock);
	return 0;
}

/*
 * Take the request back from the listener. Return: true if it was waiting there. If the listener is
 * not found any more, it has passed on or rejected all its requests. A waiting request holds no
 * reference to the listener, because the close of a listener would then wait for consumers.
 */
static bool loop_req_gone(struct loop_ep *le, struct loop_connreq *req)
{
	struct loop_pep *lp = loop_pep_get(le->ln, req->to);
	bool gone;

	if (!lp)
		return false;
	gone = lp == req->lp && kfi_connreq_gone(&req->base);
	loop_pep_put(lp);
	return gone;
}

/* Withdraw the request unless it has been answered. Return: true if it was withdrawn. */
static bool loop_withdraw(struct loop_ep *le)
{
	struct loop_connreq *req;
	struct loop_ep *self;
	bool posted;

	spin_lock_bh(&le->lock);
	req = le->req;
	posted = req && req->posted;
	le->req = NULL;
	spin_unlock_bh(&le->lock);
	if (!req)
		return false;
	self = loop_req_initiator(req);
	if (self)
		loop_ep_put(self);
	/* the listener still had the request: drop the reference of the listening side */
	if (posted && loop_req_gone(le, req))
		loop_req_put(req);
	loop_req_put(req);
	return true;
}

/*
 * Return the request with a reference for the caller and one for the listening side, and take a
 * reference of the endpoint, for which loop_ep_stop() waits. Return: NULL if the request was
 * withdrawn.
 */
static struct loop_connreq *loop_connect_begin(struct loop_ep *le)
{
	struct loop_connreq *req = NULL;

	spin_lock_bh(&le->lock);
	if (le->req && !le->stopped) {
		req = le->req;
		refcount_add(2, &req->ref);
		refcount_inc(&le->users);
	}
	spin_unlock_bh(&le->lock);
	return req;
}

static void loop_connect_posted(struct loop_ep *le, struct loop_connreq *req)
{
	bool waits;

	spin_lock_bh(&le->lock);
	waits = le->req == req;
	req->posted = waits;
	spin_unlock_bh(&le->lock);
	/*
	 * If the request was withdrawn before it was posted, take it back from the listener. If it
	 * was answered, the listener does not have it any more.
	 */
	if (!waits && kfi_connreq_gone(&req->base))
		loop_req_put(req);
}

static void loop_do_connect(struct loop_ep *le)
{
	struct loop_connreq *req = loop_connect_begin(le);
	struct kfi_loop_addr self = { .id = le->id };
	struct loop_pep *lp;
	int err = -ECONNREFUSED;

	if (!req)
		return;
	lp = loop_pep_get(le->ln, req->to);
	req->lp = lp;
	if (lp && !kfi_auth_same(le->ep.info->ep_attr, lp->pep.info->ep_attr))
		err = -KFI_EKEYREJECTED;
	else if (lp)
		err = kfi_pep_connreq(&lp->pep, &req->base, &self, sizeof(self), req->data,
				      req->len);
	if (!err) {
		loop_connect_posted(le, req);
	} else {
		loop_req_put(req);
		if (loop_withdraw(le))
			loop_refuse(le, err == -KFI_EKEYREJECTED ? err : -ECONNREFUSED);
	}
	if (lp)
		loop_pep_put(lp);
	loop_req_put(req);
	loop_ep_put(le);
}

/* ---- acceptor ---- */

/*
 * Connect both endpoints. The acceptor is up, and has LOOP_EV_CONNECTED set, before the connection
 * is reported to the initiator: if the initiator ends the connection at once, cm_work of the
 * acceptor finds both events. Otherwise the caller queues cm_work when the initiator is up, too,
 * because the consumer of the acceptor may send as soon as it gets KFI_CONNECTED. Messages to
 * either endpoint wait until its cm_work has reported the connection.
 */
static bool loop_link(struct loop_ep *le, struct loop_connreq *req, const void *data, size_t len)
{
	struct loop_ep *from = loop_initiator(req);
	bool alive;

	if (!from)
		return false;
	loop_hold(le, true);
	loop_hold(from, true);
	spin_lock_bh(&le->lock);
	le->peer_id = req->from_id;
	le->peer_name = req->from_id;
	WRITE_ONCE(le->up, true);
	le->cm_len = 0;
	le->events |= LOOP_EV_CONNECTED;
	spin_unlock_bh(&le->lock);
	spin_lock_bh(&from->lock);
	alive = !from->stopped;
	if (alive) {
		from->peer_id = le->id;
		from->peer_name = req->to;
		WRITE_ONCE(from->up, true);
		loop_answer(from, LOOP_EV_CONNECTED, 0, data, len);
	}
	spin_unlock_bh(&from->lock);
	loop_req_put(req);	/* reference of the initiator's loop_ep.req */
	loop_ep_put(from);
	return alive;
}

int loop_accept(struct kfi_ep *ep, const void *data, size_t len)
{
	struct loop_connreq *req = to_loop_connreq(ep->connreq);
	struct loop_ep *le = to_loop_ep(ep);

	if (len > sizeof(le->cm_data))
		return -EINVAL;
	if (loop_link(le, req, data, len)) {
		queue_work(loop_wq, &le->cm_work);
	} else {
		spin_lock_bh(&le->lock);
		le->events &= ~LOOP_EV_CONNECTED;
		spin_unlock_bh(&le->lock);
		loop_ep_down(le, -ECONNABORTED);
		loop_refuse(le, -ECONNABORTED);
	}
	loop_req_put(req);
	return 0;
}

int loop_reject(struct kfi_pep *pep, struct kfi_connreq *base, const void *data, size_t len)
{
	struct loop_connreq *req = to_loop_connreq(base);
	struct loop_ep *from;

	if (len > sizeof(from->cm_data))
		return -EINVAL;
	from = loop_initiator(req);
	if (from) {
		spin_lock_bh(&from->lock);
		loop_answer(from, LOOP_EV_REFUSED, -ECONNREFUSED, data, len);
		spin_unlock_bh(&from->lock);
		loop_ep_put(from);
		loop_req_put(req);	/* reference of the initiator's loop_ep.req */
	}
	loop_req_put(req);
	return 0;
}

/* ---- end ---- */

static void loop_notify_peer(struct loop_ep *le)
{
	struct loop_ep *peer;

	if (!le->peer_id)
		return;
	peer = loop_ep_get(le->ln, le->peer_id, 0);
	if (!peer)
		return;
	spin_lock_bh(&peer->lock);
	if (peer->peer_id == le->id && peer->up) {
		WRITE_ONCE(peer->up, false);
		peer->err = -ENOTCONN;
		loop_event(peer, LOOP_EV_DOWN);
	}
	spin_unlock_bh(&peer->lock);
	loop_ep_put(peer);
}

int loop_shutdown(struct kfi_ep *ep)
{
	struct loop_ep *le = to_loop_ep(ep);

	/*
	 * End the own operations first: messages that have found their receive are delivered before
	 * the end is reported to the peer.
	 */
	loop_ep_down(le, -ESHUTDOWN);
	loop_notify_peer(le);
	spin_lock_bh(&le->lock);
	loop_event(le, LOOP_EV_DOWN);
	spin_unlock_bh(&le->lock);
	return 0;
}

void loop_cm_stop(struct loop_ep *le)
{
	if (le->ep.type != KFI_EP_MSG)
		return;
	spin_lock_bh(&le->lock);
	le->stopped = true;
	le->events = 0;
	spin_unlock_bh(&le->lock);
	loop_withdraw(le);
	loop_notify_peer(le);
}

void loop_cm_work(struct work_struct *work)
{
	struct loop_ep *le = container_of(work, struct loop_ep, cm_work);
	unsigned int events;

	spin_lock_bh(&le->lock);
	events = le->events;
	le->events = 0;
	spin_unlock_bh(&le->lock);

	if (events & LOOP_EV_CONNECT)
		loop_do_connect(le);
	if (events & LOOP_EV_REFUSED)
		kfi_ep_refused(&le->ep, le->cm_err, le->cm_data, le->cm_len);
	if (events & LOOP_EV_CONNECTED) {
		kfi_ep_connected(&le->ep, le->cm_data, le->cm_len);
		loop_hold(le, false);
	}
	if (events & LOOP_EV_DOWN) {
		loop_ep_down(le, -ECONNRESET);
		kfi_ep_disconnected(&le->ep, -ESHUTDOWN);
	}
}

int loop_getpeer(struct kfi_ep *ep, void *addr)
{
	struct kfi_loop_addr *a = addr;

	a->id = to_loop_ep(ep)->peer_name;
	return sizeof(*a);
}
