// SPDX-License-Identifier: GPL-2.0
/*
 * Objects are closed in every order, with operations outstanding: each close is refused with -EBUSY
 * or succeeds, and each accepted operation ends once.
 */
#include <linux/delay.h>
#include "harness.h"

enum { FABRIC, DOMAIN, EQ, AV, TXCQ, RXCQ, CNTR, MR, HANDLE, PEP, EP, OTHER, OBJECTS };

/* Objects that have to be closed before */
static const u16 users[OBJECTS] = {
	[FABRIC] = BIT(DOMAIN) | BIT(EQ) | BIT(PEP),
	[DOMAIN] = BIT(AV) | BIT(TXCQ) | BIT(RXCQ) | BIT(CNTR) | BIT(MR) | BIT(HANDLE) | BIT(EP) |
		   BIT(OTHER),
	[EQ] = BIT(PEP) | BIT(EP) | BIT(OTHER),
	[AV] = BIT(EP) | BIT(OTHER),
	[TXCQ] = BIT(EP) | BIT(OTHER),
	[RXCQ] = BIT(EP) | BIT(OTHER),
	[CNTR] = BIT(MR) | BIT(EP),
	[EP] = BIT(MR) | BIT(HANDLE),
};

/**
 * struct zoo - one object of each kind on side A, with their dependencies
 * @fid: NULL: not open (or not any more)
 */
struct zoo {
	struct test	*t;
	struct node	n;
	struct node	other;
	struct kfid_cntr *cntr;
	struct kfid	*fid[OBJECTS];
	u8		*buf;
};

static int bind_cntr(struct node *n)
{
	struct zoo *z = n->opts.arg;

	if (z->cntr)
		return 0;	/* a second endpoint */
	if (!EXPECT_EQ(n->t, kfi_cntr_open(n->domain, NULL, &z->cntr, NULL), 0))
		return -EIO;
	test_keep(n->t, &z->cntr->fid);
	return EXPECT_EQ(n->t, kfi_ep_bind(n->ep, &z->cntr->fid, KFI_SEND | KFI_REMOTE_WRITE), 0) ?
	       0 : -EIO;
}

static bool zoo_regions(struct zoo *z)
{
	struct test *t = z->t;
	struct kfid_mr *mr;
	int ret;

	if (!EXPECT_EQ(t,
		       kfi_mr_reg(z->n.domain, z->buf, 64, KFI_REMOTE_WRITE, 0, 5, KFI_RMA_EVENT,
				  &mr, NULL),
		       0))
		return false;
	test_keep(t, &mr->fid);
	z->fid[MR] = &mr->fid;
	if (!EXPECT_EQ(t, kfi_mr_bind(mr, &z->cntr->fid, KFI_REMOTE_WRITE), 0) ||
	    !EXPECT_EQ(t, kfi_mr_bind(mr, &z->n.ep->fid, 0), 0) ||
	    !EXPECT_EQ(t, kfi_mr_enable(mr), 0))
		return false;
	ret = kfi_mr_alloc(z->n.domain, 1, 0, &mr, NULL);
	if (ret == -EOPNOTSUPP)
		return true;
	if (!EXPECT_EQ(t, ret, 0))
		return false;
	test_keep(t, &mr->fid);
	z->fid[HANDLE] = &mr->fid;
	return EXPECT_EQ(t, kfi_mr_bind(mr, &z->n.ep->fid, 0), 0);
}

static bool zoo_open(struct test *t, struct zoo *z)
{
	struct node_opts opts = { .before_enable = bind_cntr, .arg = z };
	struct node *n = &z->n;

	memset(z, 0, sizeof(*z));
	z->t = t;
	z->buf = test_zalloc(t, 256);
	if (node_open(t, n, 0, &opts))
		return false;
	if (t->type == KFI_EP_MSG && node_listen(n))
		return false;
	if (node_endpoint(n, n->info) || node_enable(n))
		return false;
	z->other = *n;
	if (node_endpoint(&z->other, n->info) || !zoo_regions(z))
		return false;
	z->fid[FABRIC] = &n->fabric->fid;
	z->fid[DOMAIN] = &n->domain->fid;
	z->fid[EQ] = &n->eq->fid;
	z->fid[AV] = n->av ? &n->av->fid : NULL;
	z->fid[TXCQ] = &n->txcq->fid;
	z->fid[RXCQ] = &n->rxcq->fid;
	z->fid[CNTR] = &z->cntr->fid;
	z->fid[PEP] = n->pep ? &n->pep->fid : NULL;
	z->fid[EP] = &n->ep->fid;
	z->fid[OTHER] = &z->other.ep->fid;
	return true;
}

static bool zoo_wanted(const struct zoo *z, int which)
{
	int i;

	for (i = 0; i < OBJECTS; i++)
		if (z->fid[i] && users[which] & BIT(i))
			return true;
	return false;
}

/* The receives of an endpoint that was closed: each ends once. */
static void zoo_drain(struct zoo *z, int posted)
{
	struct test *t = z->t;
	comp_t c;
	int i;

	for (i = 0; i < posted; i++) {
		REQUIRE_EQ(t, comp_poll(&z->n, z->n.rxcq, &c), 1);
		EXPECT_ERR(t, &c, CTX(i), ECANCELED);
	}
	EXPECT_EQ(t, comp_poll(&z->n, z->n.rxcq, &c), 0);
}

/* Objects in random order, over and over, until none is left. */
static void any_order(struct test *t)
{
	struct zoo *z = test_new(t, struct zoo);
	int round, rounds = t->w->quick ? 16 : 200, left, which, i, refused = 0;

	for (round = 0; round < rounds && !t->failures; round++) {
		REQUIRE(t, zoo_open(t, z));
		for (i = 0; i < 8; i++)
			POST(t, kfi_recv(z->n.ep, z->buf, 64, NULL, KFI_ADDR_UNSPEC, CTX(i)));
		for (i = 0, left = 0; i < OBJECTS; i++)
			left += !!z->fid[i];
		while (left && !t->failures) {
			which = test_random(t, OBJECTS);
			if (!z->fid[which])
				continue;
			if (zoo_wanted(z, which)) {
				EXPECT_EQ(t, kfi_close(z->fid[which]), -EBUSY);
				refused++;
				continue;
			}
			if (!EXPECT_EQ(t, test_close(t, z->fid[which]), 0))
				FAIL(t, "object %d", which);
			z->fid[which] = NULL;
			left--;
			if (which == EP)
				zoo_drain(z, 8);
		}
	}
	EXPECT(t, refused > rounds);
}

/*
 * A scalable endpoint: contexts and queues are closed before it, and it before its vector, whatever
 * is tried first.
 */
static void contexts(struct test *t)
{
	struct kfi_av_attr attr = { .type = KFI_AV_UNSPEC, .rx_ctx_bits = 4 };
	struct node *n = test_new(t, struct node);
	struct kfid_ep *sep, *rx, *tx;
	u8 *buf = test_zalloc(t, 64);
	struct kfid_av *av;
	comp_t c;

	REQUIRE(t, !node_open(t, n, 0, NULL) && !kfi_av_open(n->domain, &attr, &av, NULL));
	test_keep(t, &av->fid);
	n->info->ep_attr->tx_ctx_cnt = 1;
	n->info->ep_attr->rx_ctx_cnt = 1;
	REQUIRE_EQ(t, kfi_scalable_ep(n->domain, n->info, &sep, NULL), 0);
	test_keep(t, &sep->fid);
	REQUIRE(t, !kfi_scalable_ep_bind(sep, &av->fid, 0) && !kfi_enable(sep));
	REQUIRE_EQ(t, kfi_rx_context(sep, 0, NULL, &rx, NULL), 0);
	test_keep(t, &rx->fid);
	REQUIRE_EQ(t, kfi_tx_context(sep, 0, NULL, &tx, NULL), 0);
	test_keep(t, &tx->fid);
	REQUIRE(t, !kfi_ep_bind(rx, &n->rxcq->fid, 0) && !kfi_ep_bind(tx, &n->txcq->fid, 0));
	REQUIRE(t, !kfi_enable(rx) && !kfi_enable(tx));
	POST(t, kfi_recv(rx, buf, 64, NULL, KFI_ADDR_UNSPEC, CTX(1)));
	EXPECT_EQ(t, kfi_close(&sep->fid), -EBUSY);
	EXPECT_EQ(t, kfi_close(&av->fid), -EBUSY);
	EXPECT_EQ(t, kfi_close(&n->rxcq->fid), -EBUSY);
	EXPECT_EQ(t, test_close(t, &rx->fid), 0);
	REQUIRE_RX_ERR(n, &c, CTX(1), ECANCELED);
	EXPECT_EQ(t, kfi_close(&sep->fid), -EBUSY);
	EXPECT_EQ(t, test_close(t, &n->rxcq->fid), 0);
	EXPECT_EQ(t, kfi_close(&n->txcq->fid), -EBUSY);
	EXPECT_EQ(t, test_close(t, &tx->fid), 0);
	EXPECT_EQ(t, kfi_close(&av->fid), -EBUSY);
	EXPECT_EQ(t, test_close(t, &sep->fid), 0);
	EXPECT_EQ(t, test_close(t, &av->fid), 0);
}

struct closer {
	struct kfid	*fid;
	struct completion begun;
};

static int close_run(void *arg)
{
	struct closer *x = arg;

	complete(&x->begun);
	return kfi_close(x->fid);
}

/*
 * Both sides are closed during traffic, at the same time or one after the other: all operations end
 * once.
 */
static void in_traffic(struct test *t)
{
	int round, rounds = t->w->quick ? 6 : 60, i, posted, ended;
	size_t len = min_t(size_t, 100000, t->info[0]->ep_attr->max_msg_size);
	u8 *tx = test_pages(t, len), *rx = test_pages(t, len);
	struct worker *w = test_new(t, struct worker);
	struct closer x;
	struct pair *p;
	comp_t c;

	for (round = 0; round < rounds && !t->failures; round++) {
		p = pair_open(t, NULL, NULL);
		REQUIRE(t, p);
		for (i = 0; i < 32; i++)
			POST(t, kfi_recv(p->b.ep, rx, len, NULL, KFI_ADDR_UNSPEC, CTX(i)));
		for (posted = 0; posted < 64; posted++)
			if (kfi_send(p->a.ep, tx, posted & 1 ? 100 : len, NULL, p->a.peer,
				     CTX(posted)))
				break;
		init_completion(&x.begun);
		x.fid = round & 1 ? &p->a.ep->fid : &p->b.ep->fid;
		REQUIRE(t, !worker_start(t, w, -1, close_run, &x));
		wait_for_completion(&x.begun);
		EXPECT_EQ(t, kfi_close(round & 1 ? &p->b.ep->fid : &p->a.ep->fid), 0);
		EXPECT_EQ(t, worker_join(w, t->w->wait_ms), 0);
		test_forget(t, &p->a.ep->fid);
		test_forget(t, &p->b.ep->fid);
		p->a.ep = p->b.ep = NULL;
		/* After the close all entries are in the queue, so there is no wait. */
		for (ended = 0; comp_poll(&p->a, p->a.txcq, &c) == 1; ended++)
			;
		EXPECT_EQ(t, ended, posted);
		for (ended = 0; comp_poll(&p->b, p->b.rxcq, &c) == 1; ended++)
			;
		EXPECT_EQ(t, ended, 32);
		node_close(&p->a);
		node_close(&p->b);
	}
}

/* ---- Dependencies between objects, and their life times. ---- */

/* Each outstanding receive ends once, and its entry outlives the endpoint. */
static void flushed(struct test *t, struct pair *p)
{
	u8 *buf = test_zalloc(t, 4096);
	u64 seen = 0;
	comp_t c;
	int i;

	for (i = 1; i <= 32; i++)
		REQUIRE(t, !POST(t, kfi_recv(p->b.ep, buf + 64 * i, 64, NULL,
					     KFI_ADDR_UNSPEC, CTX(i))));
	REQUIRE(t, !node_close_ep(&p->b));
	for (i = 1; i <= 32; i++) {
		REQUIRE_EQ(t, comp_poll(&p->b, p->b.rxcq, &c), 1);
		EXPECT_EQ(t, c.err, ECANCELED);
		EXPECT_EQ(t, c.flags, KFI_MSG | KFI_RECV);
		EXPECT_EQ(t, c.len, 0);
		seen |= BIT_ULL((unsigned long)c.op_context & 63);
	}
	EXPECT_EQ(t, seen, GENMASK_ULL(32, 1));
	NONE_RX(&p->b);
}

/* Successes that were not read do not become errors. */
static void unread_successes(struct test *t, struct pair *p)
{
	u8 *buf = test_zalloc(t, 1024);
	comp_t c;
	int i;

	for (i = 1; i <= 8; i++)
		REQUIRE(t, !POST(t, kfi_recv(p->b.ep, buf + 64 * i, 64, NULL,
					     KFI_ADDR_UNSPEC, CTX(i))));
	for (i = 1; i <= 4; i++) {
		REQUIRE(t, !POST(t, kfi_send(p->a.ep, buf, 16, NULL, p->a.peer, CTX(i))));
		REQUIRE(t, !WAIT_TX(&p->a, &c));
	}
	/* They come in order, so when the last one has come all have. */
	REQUIRE_RX(&p->b, &c, CTX(1), KFI_MSG | KFI_RECV);
	msleep(200);
	EXPECT_EQ(t, test_close(t, &p->b.ep->fid), 0);
	for (i = 2; i <= 8; i++) {
		REQUIRE(t, !WAIT_RX(&p->b, &c));
		EXPECT_EQ(t, c.err, i <= 4 ? 0 : ECANCELED);
	}
	NONE_RX(&p->b);
}

static void count_calls(struct kfid_cq *cq, void *context)
{
	atomic_inc((atomic_t *)context);
}

/* No handler is called after the close of its queue has returned. */
static void quiet_after_close(struct test *t)
{
	struct {
		struct node_opts opts;
		atomic_t calls;
	} *h = test_zalloc(t, sizeof(*h));
	struct pair *p;
	int before;
	u8 *buf;

	h->opts.handler = count_calls;
	h->opts.arg = &h->calls;
	p = pair_open(t, &h->opts, &h->opts);
	buf = test_zalloc(t, 64);
	REQUIRE(t, p);
	POST(t, kfi_recv(p->b.ep, buf, 64, NULL, KFI_ADDR_UNSPEC, buf));
	POST(t, kfi_send(p->a.ep, buf, 64, NULL, p->a.peer, buf));
	node_close(&p->a);
	node_close(&p->b);
	before = atomic_read(&h->calls);
	msleep(100);
	EXPECT_EQ(t, atomic_read(&h->calls), before);
}

const struct test_case close_cases[] = {
	{ "lifetime.any_order", T_REL, 0, C_MSG | C_RMA | KFI_RMA_EVENT, any_order },
	{ "lifetime.contexts", T_RDM, 0, C_MSG | KFI_NAMED_RX_CTX, contexts },
	{ "lifetime.in_traffic", T_REL, 0, C_MSG, in_traffic },
	{ "lifetime.flushed", T_ALL, 0, 0, .pair = flushed },
	{ "lifetime.unread_successes", T_REL, 0, 0, .pair = unread_successes },
	{ "lifetime.quiet_after_close", T_ALL, 0, 0, quiet_after_close },
	{ }
};
