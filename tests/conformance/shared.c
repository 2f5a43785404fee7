// SPDX-License-Identifier: GPL-2.0
/*
 * Shared receive contexts: endpoints that receive from one place.
 */
#include <linux/delay.h>
#include "harness.h"

#define CROWD		3
#define LONG		(256 * 1024)

/**
 * struct crowd - endpoints that share contexts, and the peer of each
 * @host: common objects of those that share: domain, queues, vector, listener. As a node it is the
 *	shared receive context
 * @srx: shared receive context, or NULL
 * @stx: shared transmit context, or NULL
 * @cntrs: a receive counter for each, if wanted
 * @b: endpoints that share
 * @a: their peers
 * @nr: number of @b and of @a
 */
struct crowd {
	struct test		*t;
	struct node		host;
	struct kfid_ep		*srx;
	struct kfid_stx		*stx;
	struct kfid_cntr	*cntrs[CROWD];
	struct node		a[CROWD], b[CROWD];
	int			nr;
};

/* Bind the shared contexts, if there are any, to a new endpoint. */
static int bind_shared(struct node *n)
{
	struct crowd *c = n->opts.arg;
	struct test *t = n->t;

	if (c->srx && !EXPECT_EQ(t, kfi_ep_bind(n->ep, &c->srx->fid, 0), 0))
		return -EIO;
	if (c->stx && !EXPECT_EQ(t, kfi_ep_bind(n->ep, &c->stx->fid, 0), 0))
		return -EIO;
	if (c->cntrs[c->nr] &&
	    !EXPECT_EQ(t, kfi_ep_bind(n->ep, &c->cntrs[c->nr]->fid, KFI_RECV), 0))
		return -EIO;
	return 0;
}

/*
 * Open side B without endpoints. @rx, @tx: attributes of the contexts; NULL: there is none of this
 * kind. Return: NULL after having failed the case.
 */
static struct crowd *crowd_host(struct test *t, struct kfi_rx_attr *rx, struct kfi_tx_attr *tx)
{
	struct crowd *c = test_new(t, struct crowd);
	struct node_opts opts = { .before_enable = bind_shared, .arg = c };

	if (!c || node_open(t, &c->host, 1, &opts))
		return NULL;
	c->t = t;
	if (rx && KEEP(t, kfi_srx_context(c->host.domain, rx, &c->srx, c), &c->srx->fid))
		return NULL;
	if (tx && KEEP(t, kfi_stx_context(c->host.domain, tx, &c->stx, c), &c->stx->fid))
		return NULL;
	if (rx)
		c->host.info->ep_attr->rx_ctx_cnt = KFI_SHARED_CONTEXT;
	if (tx)
		c->host.info->ep_attr->tx_ctx_cnt = KFI_SHARED_CONTEXT;
	if (t->type == KFI_EP_MSG && node_listen(&c->host))
		return NULL;
	c->host.ep = c->srx;
	return c;
}

/* Open endpoint @i, and connect it with its peer or introduce it. Return: 0 or a negative errno. */
static int crowd_join(struct crowd *c, int i)
{
	struct node *a = &c->a[i], *b = &c->b[i];
	int ret;

	*b = c->host;
	b->ep = NULL;
	c->nr = i;
	if (c->t->type == KFI_EP_MSG)
		return pair_connect(a, b);
	ret = node_endpoint(b, b->info) ?: node_enable(b);
	return ret ?: node_insert(a, b, &a->peer) ?: node_insert(b, a, &b->peer);
}

/* Open all peers, and the endpoints that they communicate with. */
static struct crowd *crowd_meet(struct crowd *c)
{
	int i;

	for (i = 0; c && i < CROWD; i++)
		if (node_open_ep(c->t, &c->a[i], 0, NULL) || crowd_join(c, i))
			return NULL;
	return c;
}

static struct crowd *crowd_open(struct test *t, struct kfi_rx_attr *rx, struct kfi_tx_attr *tx)
{
	return crowd_meet(crowd_host(t, rx, tx));
}

static struct kfi_rx_attr plain_rx;
static struct kfi_tx_attr plain_tx;

/* This one and the next two return 0 or, having failed the case, a negative errno. */
static int crowd_recv(struct crowd *c, void *buf, size_t len, void *ctx)
{
	return POST(c->t, kfi_recv(c->srx, buf, len, NULL, KFI_ADDR_UNSPEC, ctx));
}

static int crowd_send(struct crowd *c, int i, const void *buf, size_t len, void *ctx)
{
	return POST(c->t, kfi_send(c->a[i].ep, buf, len, NULL, c->a[i].peer, ctx));
}

/* Send a message from endpoint @i's peer; *@rx is its completion at the receiver. */
static int crowd_pass(struct crowd *c, int i, void *buf, size_t len, comp_t *rx)
{
	comp_t tx;

	fill(buf, len, i);
	if (crowd_send(c, i, buf, len, CTX(99)) || WAIT_TX(&c->a[i], &tx) || WAIT_RX(&c->host, rx))
		return -EIO;
	EXPECT_COMP(c->t, &tx, CTX(99), KFI_MSG | KFI_SEND);
	return 0;
}

/* ---- receiving ---- */

/*
 * The receives are used in the order in which they were posted, to whichever endpoint messages are
 * sent.
 */
static void receives(struct test *t)
{
	struct crowd *c = crowd_open(t, &plain_rx, NULL);
	u8 *tx = test_pages(t, 2000), *rx = test_pages(t, 4 * CROWD * 2000);
	size_t len, max = min_t(size_t, 1300, t->info[0]->ep_attr->max_msg_size);
	comp_t e;
	int i;

	REQUIRE(t, c);
	for (i = 0; i < 4 * CROWD; i++)
		REQUIRE(t, !crowd_recv(c, rx + i * 2000, 2000, CTX(i)));
	for (i = 0; i < 4 * CROWD; i++) {
		len = 1 + test_random(t, max);
		REQUIRE(t, !crowd_pass(c, i * 2 % CROWD, tx, len, &e));
		EXPECT_COMP(t, &e, CTX(i), KFI_MSG | KFI_RECV);
		EXPECT_EQ(t, e.len, len);
		EXPECT_DATA(t, rx + i * 2000, len, i * 2 % CROWD);
	}
	NONE_RX(&c->host);
}

/* The messages of all of them wait in one place, short and long ones. */
static void unexpected(struct test *t)
{
	struct crowd *c = crowd_open(t, &plain_rx, NULL);
	u8 *tx = test_pages(t, LONG), *rx = test_pages(t, 2 * CROWD * LONG);
	unsigned long seen = 0;
	comp_t e;
	int i;

	REQUIRE(t, c);
	fill(tx, LONG, 5);
	for (i = 0; i < CROWD; i++) {
		REQUIRE(t, !crowd_send(c, i, tx, 100 + i, CTX(0)));
		REQUIRE(t, !crowd_send(c, i, tx, LONG - i, CTX(1)));
	}
	msleep(100);
	for (i = 0; i < 2 * CROWD; i++)
		REQUIRE(t, !crowd_recv(c, rx + i * LONG, LONG, CTX(i)));
	for (i = 0; i < 2 * CROWD; i++) {
		REQUIRE_RX_OK(&c->host, &e);
		EXPECT_DATA(t, rx + (unsigned long)e.op_context * LONG, e.len, 5);
		/* each length once */
		EXPECT(t,
		       !test_and_set_bit(e.len < 1000 ? e.len - 100 : CROWD + LONG - e.len, &seen));
	}
	for (i = 0; i < 2 * CROWD; i++)
		REQUIRE(t, !WAIT_TX(&c->a[i / 2], &e));
	EXPECT_EQ(t, seen, BIT(2 * CROWD) - 1);
}

static void tags(struct test *t)
{
	struct crowd *c = crowd_open(t, &plain_rx, NULL);
	u8 *buf = test_pages(t, 4096);
	comp_t e;
	int i;

	REQUIRE(t, c);
	for (i = 0; i < CROWD; i++)
		REQUIRE(t, !POST(t, kfi_trecv(c->srx, buf + 64 * i, 64, NULL, KFI_ADDR_UNSPEC, i, 0,
					      CTX(i))));
	for (i = CROWD - 1; i >= 0; i--) {
		fill(buf + 2048, 64, i);
		REQUIRE(t, !POST(t, kfi_tsend(c->a[i].ep, buf + 2048, 64, NULL, c->a[i].peer, i,
					      CTX(i))));
		REQUIRE(t, !WAIT_TX(&c->a[i], &e) && !WAIT_RX(&c->host, &e));
		EXPECT_COMP(t, &e, CTX(i), KFI_TAGGED | KFI_RECV);
		EXPECT_EQ(t, e.tag, i);
		EXPECT_DATA(t, buf + 64 * i, 64, i);
	}
}

/* One buffer for the messages of all of them. */
static void multi_receive(struct test *t)
{
	struct crowd *c = crowd_open(t, &plain_rx, NULL);
	u8 *tx = test_pages(t, 512), *rx = test_pages(t, 4096);
	size_t used = 0, len, min = 512;
	bool last = false;
	comp_t e;
	int i;

	REQUIRE(t, c);
	REQUIRE_EQ(t, kfi_setopt(&c->srx->fid, KFI_OPT_ENDPOINT, KFI_OPT_MIN_MULTI_RECV, &min,
				 sizeof(min)), 0);
	REQUIRE(t, !POST(t, recv_multi(c->srx, rx, 4096, CTX(7))));
	for (i = 0; !last; i = (i + 1) % CROWD) {
		len = 1 + test_random(t, 511);
		last = 4096 - used - len < min;
		REQUIRE(t, !crowd_pass(c, i, tx, len, &e));
		EXPECT_COMP(t, &e, CTX(7), KFI_MSG | KFI_RECV | (last ? KFI_MULTI_RECV : 0));
		REQUIRE(t, (u8 *)e.buf >= rx + used && (u8 *)e.buf + len <= rx + 4096);
		EXPECT_DATA(t, e.buf, len, i);
		used = (u8 *)e.buf + len - rx;
	}
	NONE_RX(&c->host);
}

/* Each endpoint counts the messages that have come to it. */
static void counted(struct test *t)
{
	struct kfi_cntr_attr attr = { .events = KFI_CNTR_EVENTS_COMP };
	struct crowd *c = crowd_host(t, &plain_rx, NULL);
	u8 *buf = test_zalloc(t, 128);
	comp_t e;
	int i, j;

	REQUIRE(t, c);
	for (i = 0; i < CROWD; i++)
		REQUIRE(t, !KEEP(t, kfi_cntr_open(c->host.domain, &attr, &c->cntrs[i], NULL),
				 &c->cntrs[i]->fid));
	REQUIRE(t, crowd_meet(c));
	for (i = 0; i < CROWD; i++)
		for (j = 0; j <= i; j++)
			REQUIRE(t, !crowd_recv(c, buf, 64, CTX(0)) &&
					   !crowd_pass(c, i, buf + 64, 8, &e));
	for (i = 0; i < CROWD; i++)
		EXPECT_EQ(t, kfi_cntr_read(c->cntrs[i]), i + 1);
}

/* ---- ends ---- */

/* Messages that wait for an endpoint are dropped with it; receives stay for the others. */
static void one_leaves(struct test *t)
{
	struct crowd *c = crowd_open(t, &plain_rx, NULL);
	u8 *tx = test_pages(t, LONG), *rx = test_pages(t, 4 * LONG);
	comp_t e;
	int i;

	REQUIRE(t, c);
	fill(tx, LONG, 1);
	for (i = 0; i < 2; i++) {
		REQUIRE(t, !crowd_send(c, i, tx, 100 + i, CTX(0)));
		REQUIRE(t, !crowd_send(c, i, tx, LONG - i, CTX(1)));
	}
	msleep(100);
	REQUIRE_EQ(t, test_close(t, &c->b[0].ep->fid), 0);
	for (i = 0; i < 4; i++)
		REQUIRE(t, !crowd_recv(c, rx + i * LONG, LONG, CTX(i)));
	for (i = 0; i < 2; i++) {
		REQUIRE_RX_OK(&c->host, &e);
		EXPECT(t, e.len == 101 || e.len == LONG - 1);
		EXPECT_DATA(t, rx + (unsigned long)e.op_context * LONG, e.len, 1);
		REQUIRE(t, !WAIT_TX(&c->a[0], &e) && !WAIT_TX(&c->a[1], &e));
	}
	REQUIRE(t, !crowd_pass(c, 2, tx, 500, &e));
	EXPECT_COMP(t, &e, CTX(2), KFI_MSG | KFI_RECV);
	EXPECT_DATA(t, rx + 2 * LONG, 500, 2);
	/* A new endpoint of the same name may come. */
	if (t->type == KFI_EP_MSG)
		return;
	REQUIRE(t, !crowd_join(c, 0) && !crowd_pass(c, 0, tx, 600, &e));
	EXPECT_COMP(t, &e, CTX(3), KFI_MSG | KFI_RECV);
}

/*
 * Close endpoint 0 at some point of a long message; every receive ends once, and the others
 * continue.
 */
static void leave_once(struct crowd *c, u8 *tx, u8 *rx)
{
	struct test *t = c->t;
	unsigned long seen = 0;
	bool small = false;
	comp_t e;

	REQUIRE(t, !crowd_recv(c, rx, LONG, CTX(0)) && !crowd_recv(c, rx + LONG, LONG, CTX(1)));
	REQUIRE(t, !crowd_send(c, 0, tx, LONG, CTX(9)));
	udelay(test_random(t, 300));
	REQUIRE_EQ(t, test_close(t, &c->b[0].ep->fid), 0);
	REQUIRE(t, !WAIT_TX(&c->a[0], &e));
	REQUIRE(t, !crowd_send(c, 1, tx, 200, CTX(9)) && !WAIT_TX(&c->a[1], &e));
	while (!small) {
		REQUIRE(t, !WAIT_RX(&c->host, &e));
		EXPECT(t, !test_and_set_bit((unsigned long)e.op_context, &seen));
		small = !e.err && e.len == 200;
		/* Only a connection ends its receive. */
		EXPECT(t, small || (!e.err && e.len == LONG) || (e.err && t->type == KFI_EP_MSG));
		if (!e.err)
			EXPECT_DATA(t, rx + (unsigned long)e.op_context * LONG, e.len, 3);
	}
	while (seen != 3) {
		EXPECT_EQ(t, kfi_cancel(&c->srx->fid, CTX(ffz(seen))), 0);
		REQUIRE_RX_ERR(&c->host, &e, CTX(ffz(seen)), ECANCELED);
		seen |= 1UL << ffz(seen);
	}
	NONE_RX(&c->host);
}

static void leaves_during_transfers(struct test *t)
{
	struct crowd *c = crowd_open(t, &plain_rx, NULL);
	u8 *tx = test_pages(t, LONG), *rx = test_pages(t, 2 * LONG);
	int i;

	REQUIRE(t, c);
	fill(tx, LONG, 3);
	for (i = 0; i < (t->w->quick ? 20 : 200) && !t->failures; i++) {
		leave_once(c, tx, rx);
		if (t->failures)
			return;
		if (t->type == KFI_EP_MSG) {
			test_close(t, &c->a[0].ep->fid);
			REQUIRE(t,
				!node_endpoint(&c->a[0], c->a[0].info) && !node_enable(&c->a[0]));
		}
		REQUIRE(t, !crowd_join(c, 0));
	}
}

/* Receives that are not used end in the common queue; no object is closed while others use it. */
static void ends(struct test *t)
{
	struct crowd *c = crowd_open(t, &plain_rx, &plain_tx);
	u8 *buf = test_zalloc(t, 192);
	comp_t e;
	int i;

	REQUIRE(t, c);
	for (i = 0; i < 3; i++)
		REQUIRE(t, !crowd_recv(c, buf + 64 * i, 64, CTX(i)));
	EXPECT_EQ(t, kfi_cancel(&c->srx->fid, CTX(1)), 0);
	REQUIRE_RX_ERR(&c->host, &e, CTX(1), ECANCELED);
	EXPECT_EQ(t, kfi_cancel(&c->srx->fid, CTX(1)), -ENOENT);
	EXPECT_EQ(t, kfi_cancel(&c->b[0].ep->fid, CTX(0)), -ENOENT);
	EXPECT_EQ(t, kfi_close(&c->srx->fid), -EBUSY);
	EXPECT_EQ(t, kfi_close(&c->stx->fid), -EBUSY);
	EXPECT_EQ(t, kfi_close(&c->host.rxcq->fid), -EBUSY);
	for (i = 0; i < CROWD; i++)
		REQUIRE_EQ(t, test_close(t, &c->b[i].ep->fid), 0);
	NONE_RX(&c->host);
	EXPECT_EQ(t, test_close(t, &c->srx->fid), 0);
	EXPECT_EQ(t, test_close(t, &c->stx->fid), 0);
	for (i = 0; i < 3; i += 2)
		REQUIRE_RX_ERR(&c->host, &e, CTX(i), ECANCELED);
	NONE_RX(&c->host);
}

/* ---- what is refused ---- */

static void refused(struct test *t)
{
	struct crowd *c = crowd_open(t, &plain_rx, &plain_tx);
	struct kfi_rx_attr wide_rx = { .iov_limit = SIZE_MAX };
	struct kfi_tx_attr wide_tx = { .inject_size = SIZE_MAX }, thin_tx = { .iov_limit = 1 };
	struct kfi_cntr_attr cattr = { .events = KFI_CNTR_EVENTS_COMP };
	size_t min = 8;
	struct node *b, *n = test_new(t, struct node);
	struct kfid_cntr *cntr;
	struct kfid_stx *thin;
	struct kfid_ep *ep;
	u8 buf[8];

	REQUIRE(t, c && !node_open_ep(t, n, 1, NULL));
	b = &c->b[0];
	EXPECT_EQ(t, kfi_srx_context(c->host.domain, &wide_rx, &ep, NULL), -EINVAL);
	EXPECT_EQ(t, kfi_stx_context(c->host.domain, &wide_tx, &thin, NULL), -EINVAL);
	/* Receives are posted to the context, and its messages come to no other. */
	EXPECT_EQ(t, kfi_recv(b->ep, buf, 8, NULL, KFI_ADDR_UNSPEC, CTX(1)), -EOPNOTSUPP);
	EXPECT_EQ(t, kfi_send(c->srx, buf, 8, NULL, 0, CTX(1)),
		  t->type == KFI_EP_MSG ? -ENOTCONN : -EOPNOTSUPP);
	EXPECT_EQ(t,
		  kfi_setopt(&b->ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_MIN_MULTI_RECV, &min,
			     sizeof(min)),
		  -EOPNOTSUPP);
	EXPECT_EQ(t, kfi_ep_bind(b->ep, &c->srx->fid, 0), -KFI_EOPBADSTATE);
	EXPECT_EQ(t, kfi_enable(c->srx), -EINVAL);
	EXPECT_EQ(t, kfi_ep_bind(c->srx, &c->host.rxcq->fid, KFI_RECV), -KFI_EOPBADSTATE);

	/*
	 * Endpoints that were not opened to share, that share already, in another domain, with
	 * another queue
	 */
	REQUIRE(t, !KEEP(t, kfi_endpoint(n->domain, n->info, &ep, NULL), &ep->fid));
	EXPECT_EQ(t, kfi_ep_bind(ep, &c->srx->fid, 0), -KFI_EDOMAIN);
	REQUIRE_EQ(t, test_close(t, &ep->fid), 0);
	c->host.info->ep_attr->rx_ctx_cnt = c->host.info->ep_attr->tx_ctx_cnt = 1;
	REQUIRE(t, !KEEP(t, kfi_endpoint(c->host.domain, c->host.info, &ep, NULL), &ep->fid));
	EXPECT_EQ(t, kfi_ep_bind(ep, &c->srx->fid, 0), -EINVAL);
	EXPECT_EQ(t, kfi_ep_bind(ep, &c->stx->fid, 0), -EINVAL);
	REQUIRE_EQ(t, test_close(t, &ep->fid), 0);
	c->host.info->ep_attr->rx_ctx_cnt = c->host.info->ep_attr->tx_ctx_cnt = KFI_SHARED_CONTEXT;
	REQUIRE(t, !KEEP(t, kfi_endpoint(c->host.domain, c->host.info, &ep, NULL), &ep->fid));
	EXPECT_EQ(t, kfi_ep_bind(ep, &c->srx->fid, KFI_RECV), -KFI_EBADFLAGS);
	REQUIRE_EQ(t, kfi_ep_bind(ep, &c->host.txcq->fid, KFI_TRANSMIT | KFI_RECV), 0);
	REQUIRE_EQ(t, kfi_ep_bind(ep, &c->host.eq->fid, 0), 0);
	if (c->host.av)
		REQUIRE_EQ(t, kfi_ep_bind(ep, &c->host.av->fid, 0), 0);
	EXPECT_EQ(t, kfi_enable(ep), -KFI_EOPBADSTATE);
	if (!KEEP(t, kfi_stx_context(c->host.domain, &thin_tx, &thin, NULL), &thin->fid) &&
	    c->host.info->tx_attr->iov_limit > 1)
		EXPECT_EQ(t, kfi_ep_bind(ep, &thin->fid, 0), -EINVAL);
	EXPECT_EQ(t, kfi_ep_bind(ep, &c->stx->fid, 0), 0);
	EXPECT_EQ(t, kfi_ep_bind(ep, &c->stx->fid, 0), -EINVAL);
	EXPECT_EQ(t, kfi_enable(ep), -KFI_ENORX);
	EXPECT_EQ(t, kfi_ep_bind(ep, &c->srx->fid, 0), 0);
	EXPECT_EQ(t, kfi_ep_bind(ep, &c->srx->fid, 0), -EINVAL);
	EXPECT_EQ(t, kfi_enable(ep), -EINVAL);	/* not the queue of the others */

	/* Contexts have no counters, and transmit contexts need no queue. */
	REQUIRE(t, !KEEP(t, kfi_cntr_open(c->host.domain, &cattr, &cntr, NULL), &cntr->fid));
	EXPECT_EQ(t, kfi_ep_bind(c->srx, &cntr->fid, KFI_RECV), -KFI_EOPBADSTATE);
	EXPECT_EQ(t, kfi_bind(&c->stx->fid, &cntr->fid, KFI_SEND), -EINVAL);
	EXPECT_EQ(t, kfi_bind(&c->stx->fid, &c->host.txcq->fid, KFI_TRANSMIT), -EINVAL);
}

/* A context with a queue of its own works before there is any endpoint. */
static void enabled_first(struct test *t)
{
	struct crowd *c = crowd_host(t, &plain_rx, NULL);
	u8 *buf = test_zalloc(t, 256);
	comp_t e;

	REQUIRE(t, c);
	EXPECT_EQ(t, kfi_recv(c->srx, buf, 64, NULL, KFI_ADDR_UNSPEC, CTX(1)), -KFI_EOPBADSTATE);
	EXPECT_EQ(t, kfi_enable(c->srx), -KFI_ENOCQ);
	EXPECT_EQ(t, kfi_ep_bind(c->srx, &c->host.rxcq->fid, KFI_TRANSMIT), -EINVAL);
	EXPECT_EQ(t, kfi_ep_bind(c->srx, &c->host.eq->fid, 0), -EINVAL);
	REQUIRE_EQ(t, kfi_ep_bind(c->srx, &c->host.rxcq->fid, 0), 0);
	if (c->host.av) {
		EXPECT_EQ(t, kfi_enable(c->srx), -KFI_ENOAV);
		REQUIRE_EQ(t, kfi_ep_bind(c->srx, &c->host.av->fid, 0), 0);
	}
	REQUIRE_EQ(t, kfi_enable(c->srx), 0);
	REQUIRE(t, !crowd_recv(c, buf, 64, CTX(1)));
	REQUIRE(t, crowd_meet(c) && !crowd_pass(c, 1, buf + 128, 32, &e));
	EXPECT_COMP(t, &e, CTX(1), KFI_MSG | KFI_RECV);
	EXPECT_DATA(t, buf, 32, 1);
}

/* ---- whose message it was ---- */

#define EACH		4	/* messages to each endpoint */

/**
 * struct named - a receive that is told whose message it has got
 * @cqe: its completion
 * @slow: done() takes a while
 * @err: result
 * @len: length of the message
 * @called: done() was called; @ended: it returns
 */
struct named {
	struct kfi_cqe	cqe;
	bool		slow;
	int		err;
	size_t		len;
	bool		called, ended;
};

static void named_done(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	struct named *n = container_of(cqe, struct named, cqe);

	n->err = wc->err;
	n->len = wc->len;
	WRITE_ONCE(n->called, true);
	if (n->slow)
		msleep(100);
	smp_store_release(&n->ended, true);	/* pairs with named_ended() */
}

static bool named_ended(const struct named *n)
{
	return smp_load_acquire(&n->ended);	/* pairs with named_done() */
}

static int named_recv(struct crowd *c, struct named *n, void *buf)
{
	struct kvec iov = { buf, LONG };
	struct kfi_msg msg = {
		.type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1, .addr = KFI_ADDR_UNSPEC,
		.context = &n->cqe,
	};

	n->cqe.done = named_done;
	n->cqe.ep = c->srx;
	return POST(c->t, kfi_recvmsg(c->srx, &msg, KFI_CQE));
}

/* Long messages, which end late, alternate with short ones. */
static size_t named_len(u64 nr)
{
	return nr % 2 ? 100 + nr : LONG - nr;
}

static void named_check(struct crowd *c, const struct named *n, unsigned long *seen)
{
	struct test *t = c->t;
	int i;

	EXPECT_EQ(t, n->err, 0);
	for (i = 0; i < CROWD && c->b[i].ep != n->cqe.ep; i++)
		;
	REQUIRE(t, i < CROWD && n->cqe.nr < EACH);
	EXPECT_EQ(t, n->len, named_len(n->cqe.nr));
	EXPECT(t, !test_and_set_bit(i * EACH + n->cqe.nr, seen));
}

/*
 * A receive knows which endpoint's message it has got, and which one of them that was, whether it
 * was posted before the message or after it.
 */
static void named(struct test *t)
{
	struct crowd *c = crowd_open(t, &plain_rx, NULL);
	struct named *n = test_zalloc(t, (CROWD * EACH + 1) * sizeof(*n));
	u8 *tx = test_pages(t, LONG), *rx = test_pages(t, CROWD * EACH * LONG);
	unsigned long seen = 0;
	comp_t e;
	int i;

	REQUIRE(t, c);
	for (i = 0; i < CROWD * EACH / 2; i++)
		REQUIRE(t, !named_recv(c, &n[i], rx + i * LONG));
	for (i = 0; i < CROWD * EACH; i++)
		REQUIRE(t, !crowd_send(c, i % CROWD, tx, named_len(i / CROWD), CTX(0)));
	msleep(50);
	for (i = CROWD * EACH / 2; i < CROWD * EACH; i++)
		REQUIRE(t, !named_recv(c, &n[i], rx + i * LONG));
	for (i = 0; i < CROWD * EACH; i++) {
		REQUIRE(t, test_until(t, named_ended(&n[i])));
		named_check(c, &n[i], &seen);
		REQUIRE(t, !WAIT_TX(&c->a[i % CROWD], &e));
	}
	EXPECT_EQ(t, seen, BIT(CROWD * EACH) - 1);
	REQUIRE(t, !named_recv(c, &n[i], rx));
	EXPECT_EQ(t, kfi_cancel(&c->srx->fid, &n[i].cqe), 0);
	REQUIRE(t, test_until(t, named_ended(&n[i])));
	EXPECT_EQ(t, n[i].err, ECANCELED);
	EXPECT(t, !n[i].cqe.ep);
}

/* The endpoint is there until the last done() that it is named in returns. */
static void named_ends(struct test *t)
{
	struct crowd *c = crowd_open(t, &plain_rx, NULL);
	struct named *n = test_new(t, struct named);
	u8 *tx = test_pages(t, LONG), *rx = test_pages(t, LONG);
	comp_t e;

	REQUIRE(t, c);
	n->slow = true;
	REQUIRE(t, !named_recv(c, n, rx) && !crowd_send(c, 0, tx, 100, CTX(0)));
	REQUIRE(t, test_until(t, READ_ONCE(n->called)));
	EXPECT_EQ(t, test_close(t, &c->b[0].ep->fid), 0);
	EXPECT(t, named_ended(n));
	REQUIRE(t, !WAIT_TX(&c->a[0], &e));
}

/* ---- Shared transmit contexts: effects of endpoints of one pool on each other. ---- */

#define DEPTH	4	/* operations of a context in the case about its room */

static void transmits(struct test *t)
{
	struct crowd *c = crowd_open(t, NULL, &plain_tx);
	int i, j;

	REQUIRE(t, c);
	for (j = 0; j < 3; j++)
		for (i = 0; i < CROWD && !t->failures; i++) {
			c->b[i].txcq = c->host.txcq;
			transfer(&c->b[i], &c->a[i],
				 100 + 50000 * (j == 2 && t->type != KFI_EP_DGRAM), i);
			transfer(&c->a[i], &c->b[i], 100, i);
		}
}

static void count_call(struct kfid_ep *ep, void *arg)
{
	atomic_inc(arg);
}

/* DEPTH sends without receives: there is no room for more, by any of the endpoints. */
static bool use_up(struct crowd *c, const u8 *tx)
{
	struct test *t = c->t;
	int i;

	for (i = 0; i < DEPTH; i++)
		if (!EXPECT_EQ(t,
			       kfi_send(c->b[i % CROWD].ep, tx, LONG, NULL, c->b[i % CROWD].peer,
					CTX(i)),
			       0))
			return false;
	for (i = 0; i < CROWD; i++)
		EXPECT_EQ(t, kfi_send(c->b[i].ep, tx, LONG, NULL, c->b[i].peer, CTX(9)), -EAGAIN);
	return true;
}

static void room(struct test *t)
{
	struct kfi_tx_attr attr = { .size = DEPTH };
	struct crowd *c = crowd_open(t, NULL, &attr);
	u8 *tx = test_pages(t, LONG), *rx = test_pages(t, LONG);
	atomic_t *told = test_zalloc(t, CROWD * sizeof(*told));
	size_t size, len = sizeof(size);
	comp_t e;
	int i;

	REQUIRE(t, c);
	EXPECT_EQ(t, kfi_getopt(&c->b[0].ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_TX_SIZE, &size, &len),
		  0);
	EXPECT_EQ(t, size, DEPTH);
	fill(tx, LONG, 8);
	REQUIRE(t, use_up(c, tx));
	for (i = 0; i < CROWD; i++)
		REQUIRE_EQ(t, kfi_ep_tx_space(c->b[i].ep, count_call, &told[i]), 0);
	NONE_TX(&c->host);
	EXPECT_EQ(t, atomic_read(&told[0]), 0);
	/* An operation that ends makes room for all of them. */
	REQUIRE(t, !POST(t, kfi_recv(c->a[1].ep, rx, LONG, NULL, KFI_ADDR_UNSPEC, CTX(0))));
	REQUIRE(t, !WAIT_RX(&c->a[1], &e) && !WAIT_TX(&c->host, &e));
	EXPECT_COMP(t, &e, CTX(1), KFI_MSG | KFI_SEND);
	EXPECT_DATA(t, rx, LONG, 8);
	for (i = 0; i < CROWD; i++)
		EXPECT(t, test_until(t, atomic_read(&told[i]) == 1));
	EXPECT_EQ(t, kfi_send(c->b[2].ep, tx, LONG, NULL, c->b[2].peer, CTX(7)), 0);
	EXPECT_EQ(t, kfi_send(c->b[2].ep, tx, LONG, NULL, c->b[2].peer, CTX(8)), -EAGAIN);
	for (i = 0; i < CROWD; i++)
		EXPECT_EQ(t, kfi_ep_tx_space(c->b[i].ep, NULL, NULL), 0);
	/* An endpoint that is closed returns its operations, and nothing else. */
	REQUIRE_EQ(t, test_close(t, &c->b[0].ep->fid), 0);
	for (i = 0; i < 2; i++) {
		REQUIRE_TX_ERR(&c->host, &e, e.op_context, ECANCELED);
		EXPECT(t, e.op_context == CTX(0) || e.op_context == CTX(3));
	}
	for (i = 0; i < 2; i++)
		EXPECT_EQ(t, kfi_send(c->b[1].ep, tx, LONG, NULL, c->b[1].peer, CTX(20 + i)), 0);
	EXPECT_EQ(t, kfi_send(c->b[1].ep, tx, LONG, NULL, c->b[1].peer, CTX(30)), -EAGAIN);
}

const struct test_case shared_cases[] = {
	{ "shared.receives", T_ALL, CASE_MATCHING, C_MSG, receives },
	{ "shared.unexpected", T_REL, CASE_MATCHING, C_MSG, unexpected },
	{ "shared.tags", T_REL, 0, C_TAGGED, tags },
	{ "shared.multi_receive", T_ALL, 0, C_MSG | KFI_MULTI_RECV, multi_receive },
	{ "shared.counted", T_ALL, CASE_MATCHING, C_MSG, counted },
	{ "shared.one_leaves", T_REL, CASE_MATCHING, C_MSG, one_leaves },
	{ "shared.leaves_during_transfers", T_REL, CASE_MATCHING, C_MSG, leaves_during_transfers },
	{ "shared.ends", T_ALL, CASE_MATCHING, C_MSG, ends },
	{ "shared.refused", T_ALL, CASE_MATCHING, C_MSG, refused },
	{ "shared.enabled_first", T_ALL, CASE_MATCHING, C_MSG, enabled_first },
	{ "shared.named", T_MSG, CASE_MATCHING, C_MSG, named },
	{ "shared.named_ends", T_MSG, CASE_MATCHING, C_MSG, named_ends },
	{ "shared.transmits", T_ALL, 0, C_MSG, transmits },
	{ "shared.room", T_REL, 0, C_MSG, room },
	{ }
};
