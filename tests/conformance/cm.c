// SPDX-License-Identifier: GPL-2.0
/*
 * Names and connections.
 */
#include "harness.h"

static void names(struct test *t)
{
	struct node *n = test_new(t, struct node);
	u8 got[128];
	size_t len;

	REQUIRE(t, !node_open(t, n, 0, NULL));
	if (t->type == KFI_EP_MSG)
		REQUIRE(t, !node_listen(n));
	else
		REQUIRE(t, !node_endpoint(n, n->info) && !node_enable(n));
	memset(got, 0xee, sizeof(got));
	len = 3;
	EXPECT_EQ(t, kfi_getname(n->pep ? &n->pep->fid : &n->ep->fid, got, &len),
		  -KFI_ETOOSMALL);
	EXPECT_EQ(t, len, n->addrlen);
	EXPECT(t, !memcmp(got, n->addr, 3));
	EXPECT_EQ(t, not_all(got + 3, sizeof(got) - 3, 0xee), -1);
	len = 0;
	EXPECT_EQ(t, kfi_getname(n->pep ? &n->pep->fid : &n->ep->fid, NULL, &len),
		  -KFI_ETOOSMALL);
	EXPECT_EQ(t, len, n->addrlen);
	/* The name is constant now. */
	EXPECT_EQ(t, kfi_setname(n->pep ? &n->pep->fid : &n->ep->fid, n->addr, n->addrlen),
		  -KFI_EOPBADSTATE);
}

/* ---- private data ---- */

static size_t cm_data_size(struct test *t, struct node *n)
{
	size_t size = 0, len = sizeof(size);

	EXPECT_EQ(t, kfi_getopt(&n->ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_CM_DATA_SIZE, &size,
				&len), 0);
	EXPECT_EQ(t, len, sizeof(size));
	return size;
}

struct talk {
	struct node	a, b;
	struct event	ev;
	u8		data[300];
	size_t		max;
};

/* Open A, and B as a listener; *len: bytes of data that a request may carry */
static struct talk *talk_open(struct test *t)
{
	struct talk *k = test_new(t, struct talk);

	if (node_open_ep(t, &k->a, 0, NULL) || node_open(t, &k->b, 1, NULL) ||
	    node_listen(&k->b))
		return NULL;
	k->max = min_t(size_t, cm_data_size(t, &k->a), sizeof(k->ev.data));
	return k;
}

/* What the other side gets of private data: if the length is not reported, all of the maximum. */
static size_t told(const struct talk *k, size_t len)
{
	return test_hw_recv(k->a.t) ? k->max : len;
}

static bool request(struct talk *k, size_t len, u64 seed)
{
	struct test *t = k->a.t;

	fill(k->data, len, seed);
	return EXPECT_EQ(t, kfi_connect(k->a.ep, k->b.addr, k->data, len), 0) &&
	       !WAIT_EVENT(&k->b, &k->ev) &&
	       EXPECT_EQ(t, k->ev.type, KFI_CONNREQ) &&
	       EXPECT(t, k->ev.fid == &k->b.pep->fid) && EXPECT(t, k->ev.info) &&
	       EXPECT_EQ(t, k->ev.len, told(k, len)) && EXPECT_DATA(t, k->ev.data, len, seed);
}

/* Accept the request in k->ev with @len bytes, and check that both sides are connected. */
static bool accept_it(struct talk *k, size_t len, u64 seed)
{
	struct test *t = k->a.t;
	int ret = node_endpoint(&k->b, k->ev.info);

	kfi_freeinfo(k->ev.info);
	if (ret)
		return false;
	fill(k->data, len, seed);
	/* accept enables the endpoint. */
	if (!EXPECT_EQ(t, kfi_accept(k->b.ep, k->data, len), 0) || WAIT_EVENT(&k->a, &k->ev) ||
	    !EXPECT_EQ(t, k->ev.type, KFI_CONNECTED) || !EXPECT_EQ(t, k->ev.err, 0))
		return false;
	EXPECT(t, k->ev.fid == &k->a.ep->fid);
	EXPECT_EQ(t, k->ev.len, told(k, len));
	EXPECT_DATA(t, k->ev.data, len, seed);
	if (WAIT_EVENT(&k->b, &k->ev))
		return false;
	EXPECT(t, k->ev.fid == &k->b.ep->fid);
	return EXPECT_EQ(t, k->ev.type, KFI_CONNECTED);
}

/* Replace the endpoint of a caller. */
static bool again(struct node *n)
{
	return EXPECT_EQ(n->t, test_close(n->t, &n->ep->fid), 0) && !node_endpoint(n, n->info) &&
	       !node_enable(n);
}

static void private_data(struct test *t)
{
	struct talk *k = talk_open(t);
	size_t len = sizeof(k->data);

	REQUIRE(t, k);
	EXPECT(t, k->max >= 16);
	REQUIRE(t, request(k, k->max, 1) && accept_it(k, k->max, 2));
	EXPECT_EQ(t, kfi_getpeer(k->a.ep, k->data, &len), 0);
	EXPECT(t, len == k->b.addrlen && !memcmp(k->data, k->b.addr, len));
	if (!transfer(&k->a, &k->b, 1000, 1))
		transfer(&k->b, &k->a, 1000, 2);
}

/* The same by kfi_eq_next(): a request, and its refusal. Both have data. */
static void next_event(struct test *t)
{
	struct talk *k = talk_open(t);
	struct kfi_event ev = {};

	REQUIRE(t, k);
	EXPECT(t, !kfi_eq_next(k->a.eq, &ev) && !kfi_eq_next(k->b.eq, &ev));
	fill(k->data, 20, 1);
	REQUIRE_EQ(t, kfi_connect(k->a.ep, k->b.addr, k->data, 20), 0);
	REQUIRE(t, test_until(t, kfi_eq_next(k->b.eq, &ev)));
	REQUIRE(t, EXPECT_EQ(t, ev.event, KFI_CONNREQ) && ev.info);
	EXPECT_EQ(t, ev.err, 0);
	EXPECT(t, ev.fid == &k->b.pep->fid);
	EXPECT_EQ(t, ev.len, told(k, 20));
	EXPECT_DATA(t, ev.data, 20, 1);
	fill(k->data, 9, 2);
	EXPECT_EQ(t, kfi_reject(k->b.pep, ev.info->handle, k->data, 9), 0);
	kfi_freeinfo(ev.info);
	REQUIRE(t, test_until(t, kfi_eq_next(k->a.eq, &ev)));
	EXPECT_EQ(t, ev.err, -ECONNREFUSED);
	EXPECT(t, ev.fid == &k->a.ep->fid && !ev.info);
	EXPECT(t, ev.len >= 9);
	EXPECT_DATA(t, ev.data, 9, 2);
	EXPECT(t, !kfi_eq_next(k->a.eq, &ev) && !kfi_eq_next(k->b.eq, &ev));
}

static void too_much_data(struct test *t)
{
	struct talk *k = talk_open(t);
	size_t max;

	REQUIRE(t, k);
	max = cm_data_size(t, &k->a);
	REQUIRE(t, max < sizeof(k->data));
	EXPECT_EQ(t, kfi_connect(k->a.ep, k->b.addr, k->data, max + 1), -EINVAL);
	REQUIRE(t, request(k, 5, 1));
	EXPECT_EQ(t, kfi_reject(k->b.pep, k->ev.info->handle, k->data, max + 1), -EINVAL);
	/* The request can still be accepted. */
	REQUIRE(t, accept_it(k, 0, 1));
	transfer(&k->a, &k->b, 10, 1);
}

static void reject_it(struct test *t)
{
	struct talk *k = talk_open(t);
	kfid_t handle;
	int i;

	REQUIRE(t, k);
	for (i = 0; i < 3; i++) {
		REQUIRE(t, request(k, 0, 0));
		handle = k->ev.info->handle;
		fill(k->data, k->max, i);
		EXPECT_EQ(t, kfi_reject(k->b.pep, handle, k->data, k->max), 0);
		kfi_freeinfo(k->ev.info);
		REQUIRE(t, !WAIT_EVENT(&k->a, &k->ev));
		EXPECT_EQ(t, k->ev.err, ECONNREFUSED);
		EXPECT(t, k->ev.fid == &k->a.ep->fid);
		EXPECT_EQ(t, k->ev.len, k->max);
		EXPECT_DATA(t, k->ev.data, k->max, i);
		/* The handle can't be used again. */
		EXPECT_EQ(t, kfi_reject(k->b.pep, &k->a.ep->fid, NULL, 0), -EINVAL);
		REQUIRE(t, again(&k->a));
	}
	REQUIRE(t, request(k, 0, 0) && accept_it(k, 0, 0));
	transfer(&k->a, &k->b, 10, 1);
}

static void nobody(struct test *t)
{
	struct talk *k = talk_open(t);

	REQUIRE(t, k);
	REQUIRE_EQ(t, test_close(t, &k->b.pep->fid), 0);
	k->b.pep = NULL;
	EXPECT_EQ(t, kfi_connect(k->a.ep, k->b.addr, NULL, 0), 0);
	REQUIRE(t, !event_wait(t, k->a.eq, &k->ev, t->w->loss_ms + t->w->wait_ms,
			       __FILE__, __LINE__));
	EXPECT_EQ(t, k->ev.err, ECONNREFUSED);
	EXPECT(t, k->ev.fid == &k->a.ep->fid);
	/* An endpoint that has failed can't connect again. */
	EXPECT(t, kfi_connect(k->a.ep, k->b.addr, NULL, 0) < 0);
}

static bool expect_shutdown(struct node *n, struct event *ev)
{
	return !WAIT_EVENT(n, ev) && EXPECT_EQ(n->t, ev->err, 0) &&
	       EXPECT_EQ(n->t, ev->type, KFI_SHUTDOWN) &&
	       EXPECT(n->t, ev->fid == &n->ep->fid);
}

/* Both sides get one event, the receives end, and posts are refused. */
static void shutdown_both(struct test *t, struct pair *p)
{
	struct event *ev = test_new(t, struct event);
	u8 *buf = test_zalloc(t, 256);
	u32 type;
	comp_t c;
	int i;

	for (i = 1; i <= 4; i++) {
		POST(t, kfi_recv(p->a.ep, buf, 64, NULL, KFI_ADDR_UNSPEC, CTX(i)));
		POST(t, kfi_recv(p->b.ep, buf, 64, NULL, KFI_ADDR_UNSPEC, CTX(i)));
	}
	EXPECT_EQ(t, kfi_shutdown(p->a.ep, 0), 0);
	REQUIRE(t, expect_shutdown(&p->a, ev) && expect_shutdown(&p->b, ev));
	for (i = 1; i <= 4; i++) {
		REQUIRE(t, !WAIT_RX(&p->a, &c));
		EXPECT(t, c.err == ECANCELED || c.err == ESHUTDOWN);
		EXPECT(t, c.op_context == CTX(i));
		REQUIRE(t, !WAIT_RX(&p->b, &c));
		EXPECT(t, c.err == ECANCELED || c.err == ESHUTDOWN || c.err == ECONNRESET);
		EXPECT(t, c.op_context == CTX(i));
	}
	EXPECT_EQ(t, kfi_send(p->a.ep, buf, 1, NULL, 0, NULL), -ESHUTDOWN);
	EXPECT_EQ(t, kfi_send(p->b.ep, buf, 1, NULL, 0, NULL), -ESHUTDOWN);
	/* A receive that comes too late is accepted, and ends: its consumer may not know yet. */
	POST(t, kfi_recv(p->b.ep, buf, 1, NULL, KFI_ADDR_UNSPEC, CTX(5)));
	REQUIRE_RX_ERR(&p->b, &c, CTX(5), ESHUTDOWN);
	EXPECT_EQ(t, kfi_eq_read(p->a.eq, &type, &ev->data, sizeof(ev->data), 0), -EAGAIN);
	EXPECT_EQ(t, kfi_eq_read(p->b.eq, &type, &ev->data, sizeof(ev->data), 0), -EAGAIN);
	NONE_RX(&p->a);
	NONE_RX(&p->b);
}

/* A message that was sent before an orderly end arrives before it. */
static void shutdown_is_orderly(struct test *t, struct pair *p)
{
	struct event *ev = test_new(t, struct event);
	int i, n = 32;
	u8 *tx = test_pages(t, n * 1000), *rx = test_pages(t, n * 1000);
	comp_t c;

	fill(tx, n * 1000, 1);
	for (i = 0; i < n; i++)
		POST(t, kfi_recv(p->b.ep, rx + 1000 * i, 1000, NULL, KFI_ADDR_UNSPEC, CTX(i)));
	for (i = 0; i < n; i++)
		POST(t, kfi_send(p->a.ep, tx + 1000 * i, 1000, NULL, 0, CTX(i)));
	for (i = 0; i < n; i++)
		REQUIRE_TX(&p->a, &c, CTX(i), KFI_MSG | KFI_SEND);
	EXPECT_EQ(t, kfi_shutdown(p->a.ep, 0), 0);
	REQUIRE(t, expect_shutdown(&p->b, ev));
	for (i = 0; i < n; i++) {
		/* The receives end before the event is raised. */
		REQUIRE_EQ(t, comp_poll(&p->b, p->b.rxcq, &c), 1);
		EXPECT_COMP(t, &c, CTX(i), KFI_MSG | KFI_RECV);
	}
	EXPECT_DATA(t, rx, n * 1000, 1);
}

/**
 * struct at_once - what a caller does once it is connected, in another thread than the acceptor
 * @work: waits for the event, and acts
 * @n: the node of the caller
 * @second: another caller, which calls @to; NULL: the connection ends
 * @ret: result of the call, or the reason why there was none
 */
struct at_once {
	struct work_struct	work;
	struct node		*n, *second;
	const void		*to;
	int			ret;
};

static void at_once_work(struct work_struct *work)
{
	struct at_once *q = container_of(work, struct at_once, work);
	struct event ev;

	q->ret = WAIT_EVENT(q->n, &ev) ?: ev.err ?: ev.type != KFI_CONNECTED ? -EPROTO :
		 q->second ? kfi_connect(q->second->ep, q->to, NULL, 0) : kfi_shutdown(q->n->ep, 0);
}

/* Accept a call while the caller acts, and get the event of the connection. */
static bool accept_at_once(struct talk *k, struct at_once *q)
{
	struct test *t = k->a.t;
	int ret;

	if (!request(k, 0, 0))
		return false;
	ret = node_endpoint(&k->b, k->ev.info);
	kfi_freeinfo(k->ev.info);
	if (!EXPECT_EQ(t, ret, 0))
		return false;
	schedule_work(&q->work);
	ret = kfi_accept(k->b.ep, NULL, 0);
	flush_work(&q->work);
	return EXPECT_EQ(t, ret, 0) && EXPECT_EQ(t, q->ret, 0) && !WAIT_EVENT(&k->b, &k->ev) &&
	       EXPECT_EQ(t, k->ev.err, 0) && EXPECT_EQ(t, k->ev.type, KFI_CONNECTED);
}

/*
 * The caller ends the connection at once, perhaps while the other side still is in kfi_accept(): the
 * other side gets both events, that of the connection and that of its end.
 */
static void shut_at_once(struct test *t)
{
	struct at_once *q = test_new(t, struct at_once);
	struct talk *k = talk_open(t);
	int i;

	REQUIRE(t, k);
	INIT_WORK(&q->work, at_once_work);
	q->n = &k->a;
	for (i = 0; i < 5; i++) {
		REQUIRE(t, accept_at_once(k, q));
		REQUIRE(t, expect_shutdown(&k->b, &k->ev) && expect_shutdown(&k->a, &k->ev));
		REQUIRE(t, again(&k->a) && !node_close_ep(&k->b));
	}
}

/* The close of one side is reported to the other. */
static void peer_closes(struct test *t, struct pair *p)
{
	struct event *ev = test_new(t, struct event);
	u8 *buf = test_zalloc(t, 64);
	comp_t c;

	POST(t, kfi_recv(p->a.ep, buf, 64, NULL, KFI_ADDR_UNSPEC, buf));
	REQUIRE(t, !node_close_ep(&p->b));
	REQUIRE(t, expect_shutdown(&p->a, ev));
	REQUIRE_EQ(t, comp_poll(&p->a, p->a.rxcq, &c), 1);
	EXPECT(t, c.err > 0 && c.op_context == buf);
	if (!pair_reconnect(p, &p->b))
		still_works(p);
}

/*
 * A caller that is connected may call again at once: the listener gets KFI_CONNECTED of the
 * first connection before KFI_CONNREQ of the second one.
 */
static void calls_again(struct test *t)
{
	int i, n = t->w->quick ? 20 : 300, ret;
	struct node *second = test_new(t, struct node);
	struct at_once *q = test_new(t, struct at_once);
	struct talk *k = talk_open(t);

	if (test_hw_recv(t)) {
		test_skip(t, "rdma_cm reports an accepted connection when its caller is ready");
		return;
	}
	REQUIRE(t, k && second && !node_open_ep(t, second, 0, NULL));
	INIT_WORK(&q->work, at_once_work);
	q->n = &k->a;
	q->second = second;
	q->to = k->b.addr;
	for (i = 0; i < n; i++) {
		REQUIRE(t, accept_at_once(k, q));
		REQUIRE(t, !WAIT_EVENT(&k->b, &k->ev));
		REQUIRE_EQ(t, k->ev.type, KFI_CONNREQ);
		ret = kfi_reject(k->b.pep, k->ev.info->handle, NULL, 0);
		kfi_freeinfo(k->ev.info);
		REQUIRE_EQ(t, ret, 0);
		REQUIRE(t, !WAIT_EVENT(second, &k->ev));
		EXPECT_EQ(t, k->ev.err, ECONNREFUSED);
		REQUIRE(t, again(second) && again(&k->a) && !node_close_ep(&k->b));
	}
}

static int set_reclaim(struct node *n)
{
	size_t yes = 1;

	return EXPECT_EQ(n->t,
			 kfi_setopt(&n->ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_RECLAIM, &yes,
				    sizeof(yes)),
			 0) ? 0 : -EIO;
}

/*
 * An endpoint on which memory reclaim depends sets the option before it is enabled; it works as
 * usual, and its end leaves nothing.
 */
static void reclaim(struct test *t)
{
	struct node_opts opts = { .before_enable = set_reclaim };
	struct pair *p = pair_open(t, &opts, NULL);
	size_t value = 7, len = sizeof(value);

	REQUIRE(t, p);
	EXPECT_EQ(t, kfi_getopt(&p->a.ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_RECLAIM, &value, &len), 0);
	EXPECT_EQ(t, value, 1);
	EXPECT_EQ(t, kfi_setopt(&p->a.ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_RECLAIM, &value, 1),
		  -EINVAL);
	EXPECT_EQ(t,
		  kfi_setopt(&p->a.ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_RECLAIM, &value,
			     sizeof(value)),
		  -KFI_EOPBADSTATE);
	EXPECT_EQ(t, kfi_getopt(&p->b.ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_RECLAIM, &value, &len), 0);
	EXPECT_EQ(t, value, 0);
	if (!transfer(&p->a, &p->b, 100, 1))
		transfer(&p->b, &p->a, 60000, 2);
}

static int set_eager(struct node *n, size_t size)
{
	return kfi_setopt(&n->ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_EAGER_SIZE, &size, sizeof(size));
}

static size_t eager_of(struct node *n)
{
	size_t size = 0, len = sizeof(size);

	EXPECT_EQ(n->t, kfi_getopt(&n->ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_EAGER_SIZE, &size, &len),
		  test_hw_recv(n->t) ? -ENOPROTOOPT : 0);
	return size;
}

static int set_eager_most(struct node *n)
{
	if (test_hw_recv(n->t))
		return EXPECT_EQ(n->t, set_eager(n, SIZE_MAX), -ENOPROTOOPT) ? 0 : -EIO;
	EXPECT_EQ(n->t, set_eager(n, 0), -EINVAL);
	EXPECT_EQ(n->t, kfi_setopt(&n->ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_EAGER_SIZE, n, 1),
		  -EINVAL);
	EXPECT_EQ(n->t, set_eager(n, SIZE_MAX), 0);
	return EXPECT_EQ(n->t, set_eager(n, eager_of(n) + 1), -EMSGSIZE) ? 0 : -EIO;
}

static int set_eager_least(struct node *n)
{
	return set_eager(n, 1000);
}

/* Messages about the eager size of one end arrive, whether or not there is a receive. */
static void eager_most(struct test *t)
{
	struct node_opts opts = { .before_enable = set_eager_most };
	struct pair *p = pair_open(t, NULL, &opts);
	u8 *tx = test_pages(t, SZ_1M), *rx = test_pages(t, SZ_1M);
	size_t most, len;
	comp_t c;
	int i;

	REQUIRE(t, p);
	most = eager_of(&p->b) ?: 65536;
	EXPECT_EQ(t, set_eager(&p->b, 1000), test_hw_recv(t) ? -ENOPROTOOPT : -KFI_EOPBADSTATE);
	for (i = 0; i < 12; i++) {	/* two posts for each message, whose order changes */
		len = most - 1 + i / 4;
		if (i % 2 == 0)
			fill(tx, len, i / 2);
		REQUIRE(t, !POST(t, i % 2 == i / 2 % 2 ?
				 kfi_send(p->a.ep, tx, len, NULL, p->a.peer, tx) :
				 kfi_recv(p->b.ep, rx, len, NULL, KFI_ADDR_UNSPEC, rx)));
		REQUIRE(t, i % 2 == 0 || (!WAIT_RX(&p->b, &c) && !WAIT_TX(&p->a, &c)));
		EXPECT_DATA(t, i % 2 ? rx : tx, len, i / 2);
	}
}

/* Without a receive a message of the eager size is sent, and a longer one is not. */
static void eager_least(struct test *t)
{
	struct node_opts opts = { .before_enable = set_eager_least };
	struct pair *p = pair_open(t, NULL, &opts);
	u8 *tx = test_pages(t, 2002), *rx = test_pages(t, 2002), *at = tx;
	comp_t c;
	int i;

	REQUIRE(t, p);
	EXPECT_EQ(t, eager_of(&p->b), 1000);
	for (i = 0; i < 2; i++, at += 1000) {
		fill(at, 1000 + i, i);
		REQUIRE(t, !POST(t, kfi_send(p->a.ep, at, 1000 + i, NULL, p->a.peer, tx)));
		if (i)
			NONE_TX(&p->a);
		else
			REQUIRE_TX(&p->a, &c, tx, KFI_MSG | KFI_SEND);
	}
	for (i = 0; i < 2; i++) {
		REQUIRE(t, !POST(t, kfi_recv(p->b.ep, rx, 1001, NULL, KFI_ADDR_UNSPEC, rx)));
		REQUIRE_RX(&p->b, &c, rx, KFI_MSG | KFI_RECV);
		EXPECT_DATA(t, rx, 1000 + i, i);
	}
	REQUIRE_TX(&p->a, &c, tx, KFI_MSG | KFI_SEND);
}

static int set_ack_delivered(struct node *n)
{
	size_t yes = 1, len = sizeof(yes);
	int ret = kfi_setopt(&n->ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_ACK_DELIVERED, &yes, len);

	yes = 0;
	return ret ?: kfi_getopt(&n->ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_ACK_DELIVERED, &yes, &len) ?:
	       yes - 1;
}

/*
 * One end acknowledges messages when they are received, and the other one when they arrive. So
 * without a receive the completion waits at one of them.
 */
static void ack_delivered(struct test *t)
{
	struct node_opts opts = { .before_enable = set_ack_delivered };
	struct pair *p = pair_open(t, NULL, &opts);
	u8 *tx = test_pages(t, 2000), *rx = test_pages(t, 2000);
	struct kvec iov = { tx, 2000 };
	struct kfi_msg msg = { .type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1, .context = tx };
	struct node *from, *to;
	comp_t c;
	int i;

	REQUIRE(t, p);
	for (i = 0; i < 4; i++) {
		from = i % 2 ? &p->b : &p->a;
		to = i % 2 ? &p->a : &p->b;
		fill(tx, 2000, i);
		msg.addr = from->peer;
		REQUIRE(t, !POST(t, kfi_sendmsg(from->ep, &msg,
						KFI_COMPLETION | KFI_TRANSMIT_COMPLETE)));
		if (to == &p->b)
			NONE_TX(from);
		else
			REQUIRE_TX(from, &c, tx, KFI_MSG | KFI_SEND);
		REQUIRE(t, !POST(t, kfi_recv(to->ep, rx, 2000, NULL, KFI_ADDR_UNSPEC, rx)));
		REQUIRE_RX(to, &c, rx, KFI_MSG | KFI_RECV);
		EXPECT_DATA(t, rx, 2000, i);
		if (to == &p->b)
			REQUIRE_TX(from, &c, tx, KFI_MSG | KFI_SEND);
	}
}

const struct test_case cm_cases[] = {
	{ "cm.names", T_ALL, 0, 0, names },
	{ "cm.private_data", T_MSG, 0, 0, private_data },
	{ "cm.next_event", T_MSG, 0, 0, next_event },
	{ "cm.too_much_data", T_MSG, 0, 0, too_much_data },
	{ "cm.reject", T_MSG, 0, 0, reject_it },
	{ "cm.nobody", T_MSG, 0, 0, nobody },
	{ "cm.shutdown", T_MSG, 0, 0, .pair = shutdown_both },
	{ "cm.shutdown_is_orderly", T_MSG, 0, 0, .pair = shutdown_is_orderly },
	{ "cm.shut_at_once", T_MSG, 0, 0, shut_at_once },
	{ "cm.peer_closes", T_MSG, 0, 0, .pair = peer_closes },
	{ "cm.calls_again", T_MSG, 0, 0, calls_again },
	{ "cm.reclaim", T_REL, 0, 0, reclaim },
	{ "cm.eager_most", T_REL, 0, 0, eager_most },
	{ "cm.eager_least", T_REL, CASE_MATCHING, 0, eager_least },
	{ "cm.ack_delivered", T_MSG, CASE_MATCHING, 0, ack_delivered },
	{ }
};
