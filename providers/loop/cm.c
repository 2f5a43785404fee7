// SPDX-License-Identifier: GPL-2.0
/*
 * cm.c - connections.
 *
 * Nothing is told to a consumer from within another's call: whatever happens to an endpoint sets a bit in its @events
 * and queues its cm_work, which alone calls kfi_ep_connected() and its like, so the news keep their order. It may wait
 * for operations to end and for grace periods; nobody but close waits for it.
 *
 * A connection is two endpoints that name each other in peer_id. The number of an endpoint is not used again
 * before it has told its peer that it goes, so the names can't be mistaken.
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
 * struct loop_connreq - a request on its way
 * @base:	common part
 * @ref:	the initiator's loop_ep.req, and the listening side until accept or reject
 * @lock:	protects @from; taken alone
 * @from:	the initiator; it clears this before it stops
 * @from_id:	its number
 * @to:		number of the listener
 * @lp:		the listener, only to compare with
 * @posted:	the listener has it: kfi_connreq_gone() may be asked (under the initiator's loop_ep.lock)
 * @len:	bytes of @data
 * @data:	private data
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

/* The initiator, pinned, and from now on out of reach through the request; NULL if it is already. */
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

/* ---- news for an endpoint ---- */

static void loop_event(struct loop_ep *le, unsigned int event)
{
	lockdep_assert_held(&le->lock);
	if (le->stopped)
		return;
	le->events |= event;
	queue_work(loop_wq, &le->cm_work);
}

static void loop_answer(struct loop_ep *le, unsigned int event, int err, const void *data, size_t len)
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

/* The initiator, pinned, if it still waits for an answer; its claim to the request is the caller's then. */
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

/* ---- the initiator ---- */

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
 * Is it still with the listener? A listener that can't be found any more has given away or rejected all it had. A pin
 * for as long as the request waits would let a closing listener wait for consumers.
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

/* Withdraw the request, if nobody has answered it. Return: it was withdrawn. */
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
	/* Still with the listener: then its claim is ours to drop. */
	if (posted && loop_req_gone(le, req))
		loop_req_put(req);
	loop_req_put(req);
	return true;
}

/* The request, with a claim of ours and one for the listening side, and a pin that keeps stop waiting. */
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
	/* Withdrawn before it was posted? (If it has been answered already, it is not with the listener any more.) */
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
		err = kfi_pep_connreq(&lp->pep, &req->base, &self, sizeof(self), req->data, req->len);
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

/* ---- the acceptor ---- */

/* Both ends get to know each other; the acceptor is ready before the initiator can hear of it. */
static bool loop_link(struct loop_ep *le, struct loop_connreq *req, const void *data, size_t len)
{
	struct loop_ep *from;
	bool alive;

	spin_lock_bh(&le->lock);
	le->peer_id = req->from_id;
	le->peer_name = req->from_id;
	WRITE_ONCE(le->up, true);
	spin_unlock_bh(&le->lock);
	from = loop_initiator(req);
	if (!from)
		return false;
	spin_lock_bh(&from->lock);
	alive = !from->stopped;
	if (alive) {
		from->peer_id = le->id;
		from->peer_name = req->to;
		WRITE_ONCE(from->up, true);
		loop_answer(from, LOOP_EV_CONNECTED, 0, data, len);
	}
	spin_unlock_bh(&from->lock);
	loop_req_put(req);	/* the initiator's */
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
		spin_lock_bh(&le->lock);
		loop_answer(le, LOOP_EV_CONNECTED, 0, NULL, 0);
		spin_unlock_bh(&le->lock);
	} else {
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
		loop_req_put(req);	/* the initiator's */
	}
	loop_req_put(req);
	return 0;
}

/* ---- the end ---- */

static void loop_tell_peer(struct loop_ep *le)
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

	/* Own operations first: what found its receive has arrived before the peer hears of the end. */
	loop_ep_down(le, -ESHUTDOWN);
	loop_tell_peer(le);
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
	loop_tell_peer(le);
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
	if (events & LOOP_EV_CONNECTED)
		kfi_ep_connected(&le->ep, le->cm_data, le->cm_len);
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
