// SPDX-License-Identifier: GPL-2.0
/*
 * Scalable endpoints: one name, contexts that send or receive on their own, and addresses of
 * contexts.
 */
#include "harness.h"

#define LANES		3
#define BITS		8	/* bits of a handle that name a context */

/**
 * struct big - a scalable endpoint with its contexts
 * @n: common objects
 * @sep: the scalable endpoint
 * @av: its vector, in which handles have room for a context
 * @tx: transmit contexts as nodes, so that functions for endpoints work with them. The peer of each
 *	is a lane of the other side
 * @rx: receive contexts as nodes
 */
struct big {
	struct node	n;
	struct kfid_ep	*sep;
	struct kfid_av	*av;
	struct node	tx[LANES], rx[LANES];
};

static int open_cq(struct node *n, struct kfid_cq **cq)
{
	struct kfi_cq_attr attr = {
		.size = 256, .format = KFI_CQ_FORMAT_TAGGED, .wait_obj = KFI_WAIT_NONE,
	};

	return KEEP(n->t, kfi_cq_open(n->domain, &attr, cq, NULL, NULL), &(*cq)->fid);
}

static int sep_open(struct test *t, struct big *b, int side)
{
	struct kfi_av_attr av = { .type = KFI_AV_UNSPEC, .rx_ctx_bits = BITS };
	int ret = node_open(t, &b->n, side, NULL);

	if (ret)
		return ret;
	b->n.info->ep_attr->tx_ctx_cnt = LANES;
	b->n.info->ep_attr->rx_ctx_cnt = LANES;
	ret = KEEP(t, kfi_av_open(b->n.domain, &av, &b->av, NULL), &b->av->fid);
	if (!ret)
		ret = KEEP(t, kfi_scalable_ep(b->n.domain, b->n.info, &b->sep, b), &b->sep->fid);
	if (ret)
		return ret;
	return EXPECT_EQ(t, kfi_scalable_ep_bind(b->sep, &b->av->fid, 0), 0) ? 0 : -EIO;
}

static int sep_enable(struct big *b)
{
	struct test *t = b->n.t;

	if (!EXPECT_EQ(t,
		       kfi_setopt(&b->sep->fid, KFI_OPT_ENDPOINT, KFI_OPT_RECLAIM, &(size_t){ 1 },
				  sizeof(size_t)),
		       0) ||
	    !EXPECT_EQ(t, kfi_enable(b->sep), 0))
		return -EIO;
	b->n.addrlen = sizeof(b->n.addr);
	return EXPECT_EQ(t, kfi_getname(&b->sep->fid, b->n.addr, &b->n.addrlen), 0) ? 0 : -EIO;
}

static int tx_open(struct big *b, int i)
{
	struct node *n = &b->tx[i];
	struct test *t = b->n.t;
	int ret;

	*n = b->n;
	n->av = b->av;
	ret = open_cq(n, &n->txcq);
	if (!ret)
		ret = KEEP(t, kfi_tx_context(b->sep, i, NULL, &n->ep, n), &n->ep->fid);
	if (ret)
		return ret;
	/* The context determines the direction. */
	return EXPECT_EQ(t, kfi_ep_bind(n->ep, &n->txcq->fid, 0), 0) &&
	       EXPECT_EQ(t, kfi_enable(n->ep), 0) ? 0 : -EIO;
}

static int rx_open(struct big *b, int i)
{
	struct node *n = &b->rx[i];
	struct test *t = b->n.t;
	int ret;

	*n = b->n;
	n->av = b->av;
	ret = open_cq(n, &n->rxcq);
	if (!ret)
		ret = KEEP(t, kfi_rx_context(b->sep, i, NULL, &n->ep, n), &n->ep->fid);
	if (ret)
		return ret;
	return EXPECT_EQ(t, kfi_ep_bind(n->ep, &n->rxcq->fid, 0), 0) &&
	       EXPECT_EQ(t, kfi_enable(n->ep), 0) ? 0 : -EIO;
}

static int big_open(struct test *t, struct big *b, int side)
{
	int i, ret = sep_open(t, b, side) ?: sep_enable(b);

	for (i = 0; i < LANES && !ret; i++)
		ret = tx_open(b, i) ?: rx_open(b, i);
	return ret;
}

static int know(struct kfid_av *av, const struct node *peer, kfi_addr_t *addr)
{
	return EXPECT_EQ(peer->t, kfi_av_insert(av, peer->addr, 1, addr, 0, NULL), 1) ? 0 : -EIO;
}

/* Open two of them that know each other; tx[i].peer is the other's first context. */
static struct big *two_open(struct test *t)
{
	struct big *b = test_zalloc(t, 2 * sizeof(*b));
	kfi_addr_t addr;
	int i, j;

	if (!b || big_open(t, &b[0], 0) || big_open(t, &b[1], 1))
		return NULL;
	for (i = 0; i < 2; i++) {
		if (know(b[i].av, &b[!i].n, &addr))
			return NULL;
		for (j = 0; j < LANES; j++)
			b[i].tx[j].peer = b[i].rx[j].peer = addr;
	}
	return b;
}

/* ---- the cases ---- */

static void bring_up(struct test *t)
{
	struct big *b = test_new(t, struct big);
	struct kfi_tx_attr much = { .iov_limit = SIZE_MAX };
	struct kfid_ep *ep, *other;
	struct kfid_cq *cq;
	u8 name[128];
	size_t len = sizeof(name), eager = 2000;

	REQUIRE(t, b && !sep_open(t, b, 0) && !open_cq(&b->n, &cq));
	REQUIRE_EQ(t, kfi_rx_context(b->sep, 0, NULL, &ep, NULL), 0);
	test_keep(t, &ep->fid);
	EXPECT_EQ(t, kfi_rx_context(b->sep, 0, NULL, &other, NULL), -EBUSY);
	EXPECT_EQ(t, kfi_rx_context(b->sep, LANES, NULL, &other, NULL), -EINVAL);
	EXPECT_EQ(t, kfi_rx_context(b->sep, -1, NULL, &other, NULL), -EINVAL);
	EXPECT_EQ(t, kfi_rx_context(ep, 1, NULL, &other, NULL), -EINVAL);
	EXPECT_EQ(t, kfi_tx_context(b->sep, 1, &much, &other, NULL), -EINVAL);
	EXPECT_EQ(t, kfi_ep_bind(ep, &b->av->fid, 0), -EINVAL);
	EXPECT_EQ(t, kfi_ep_bind(ep, &cq->fid, KFI_TRANSMIT), -EINVAL);
	EXPECT_EQ(t, kfi_ep_bind(b->sep, &cq->fid, KFI_RECV), -EINVAL);
	EXPECT_EQ(t, kfi_ep_bind(ep, &cq->fid, 0), 0);
	EXPECT_EQ(t, kfi_enable(ep), -KFI_EOPBADSTATE);
	EXPECT_EQ(t, kfi_setopt(&b->sep->fid, KFI_OPT_ENDPOINT, KFI_OPT_EAGER_SIZE, &eager, 8), 0);
	eager = 1000;
	EXPECT_EQ(t, kfi_setopt(&ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_EAGER_SIZE, &eager, 8), 0);
	REQUIRE(t, !sep_enable(b));
	EXPECT_EQ(t, kfi_enable(b->sep), -EINVAL);
	EXPECT_EQ(t, kfi_enable(ep), 0);
	eager = 0;
	EXPECT_EQ(t, kfi_getopt(&ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_EAGER_SIZE, &eager, &len), 0);
	EXPECT_EQ(t, eager, 1000);
	len = sizeof(name);
	EXPECT_EQ(t, kfi_getname(&ep->fid, name, &len), 0);
	EXPECT(t, len == b->n.addrlen && !memcmp(name, b->n.addr, len));
	EXPECT_EQ(t, kfi_close(&b->sep->fid), -EBUSY);
}

/* Properties that a context has from its scalable endpoint. */
static bool may_use_the_reserve(struct test *t, struct node *n)
{
	size_t value = 0, len = sizeof(value);

	EXPECT_EQ(t, kfi_getopt(&n->ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_RECLAIM, &value, &len), 0);
	return value;
}

/* Each context transfers in its direction, and the scalable endpoint not at all. */
static void halves(struct test *t)
{
	struct big *b = test_new(t, struct big);
	kfi_addr_t self;
	u8 buf[8] = {};

	REQUIRE(t, b && !big_open(t, b, 0) && !know(b->av, &b->n, &self));
	EXPECT(t, may_use_the_reserve(t, &b->tx[0]) && may_use_the_reserve(t, &b->rx[LANES - 1]));
	EXPECT_EQ(t, kfi_send(b->sep, buf, 8, NULL, self, CTX(1)), -EOPNOTSUPP);
	EXPECT_EQ(t, kfi_recv(b->sep, buf, 8, NULL, KFI_ADDR_UNSPEC, CTX(1)), -EOPNOTSUPP);
	EXPECT_EQ(t, kfi_send(b->rx[0].ep, buf, 8, NULL, self, CTX(1)), -EOPNOTSUPP);
	EXPECT_EQ(t, kfi_recv(b->tx[0].ep, buf, 8, NULL, KFI_ADDR_UNSPEC, CTX(1)), -EOPNOTSUPP);
	EXPECT_EQ(t, kfi_cancel(&b->rx[0].ep->fid, CTX(1)), -ENOENT);
	NONE_TX(&b->tx[0]);
	NONE_RX(&b->rx[0]);
}

/* From every transmit context to every receive context, and to no other. */
static void lanes(struct test *t)
{
	struct big *b = two_open(t);
	int round, i, j, k;
	kfi_addr_t addr;

	REQUIRE(t, b);
	addr = b[0].tx[0].peer;
	for (round = 0; round < 2; round++)
		for (i = 0; i < LANES; i++)
			for (j = 0; j < LANES && !t->failures; j++) {
				b[0].tx[i].peer = kfi_rx_addr(addr, j, BITS);
				transfer(&b[0].tx[i], &b[1].rx[j], 100 + 5000 * j, i);
			}
	for (k = 0; k < LANES; k++)
		NONE_RX(&b[1].rx[k]);
}

/* The sender's name is that of its scalable endpoint, whichever context has sent. */
static void source(struct test *t)
{
	struct big *b = two_open(t);
	u8 *buf = test_zalloc(t, 128);
	struct kfi_cq_tagged_entry e;
	kfi_addr_t from;
	comp_t c;
	int i;

	REQUIRE(t, b && buf);
	for (i = 0; i < LANES; i++) {
		REQUIRE(t,
			!POST(t, kfi_recv(b[1].rx[0].ep, buf, 64, NULL, b[1].rx[0].peer, CTX(i))));
		REQUIRE(t, !POST(t, kfi_send(b[0].tx[i].ep, buf + 64, 8, NULL, b[0].tx[i].peer,
					     CTX(9))));
		REQUIRE(t, !WAIT_TX(&b[0].tx[i], &c));
		REQUIRE(t, test_until(t, kfi_cq_readfrom(b[1].rx[0].rxcq, &e, 1, &from) == 1));
		EXPECT(t, e.op_context == CTX(i));
		EXPECT_EQ(t, from, b[1].rx[0].peer);
	}
}

/* An endpoint without contexts has itself as its first context. */
static void plain_peer(struct test *t)
{
	struct node *plain = test_new(t, struct node);
	struct big *b = test_new(t, struct big);
	kfi_addr_t addr;
	u8 *buf = test_zalloc(t, 64);
	comp_t c;
	int i;

	REQUIRE(t, b && plain && buf && !big_open(t, b, 0) && !node_open_ep(t, plain, 1, NULL));
	REQUIRE(t, !know(b->av, plain, &addr) && !know(plain->av, &b->n, &plain->peer));
	for (i = 0; i < LANES && !t->failures; i++) {
		b->tx[i].peer = addr;
		transfer(&b->tx[i], plain, 500, i);
		transfer(plain, &b->rx[0], 600, i);
	}
	/* It has no second one. */
	REQUIRE(t,
		!POST(t, kfi_send(b->tx[0].ep, buf, 8, NULL, kfi_rx_addr(addr, 1, BITS), CTX(1))));
	REQUIRE(t,
		!comp_wait_ms(t, &b->tx[0], b->tx[0].txcq, &c, t->w->loss_ms, __FILE__, __LINE__));
	EXPECT(t, c.op_context == CTX(1));
	EXPECT(t, c.err == ECONNREFUSED || c.err == EHOSTUNREACH || c.err == ENOTCONN);
	NONE_RX(plain);
}

/* A context that does not exist, or not yet. */
static void late_context(struct test *t)
{
	struct big *b = test_zalloc(t, 2 * sizeof(*b));
	u8 *buf = test_zalloc(t, 64);
	kfi_addr_t addr;
	comp_t c;

	REQUIRE(t,
		b && buf && !big_open(t, &b[0], 0) && !sep_open(t, &b[1], 1) && !sep_enable(&b[1]));
	REQUIRE(t, !know(b[0].av, &b[1].n, &addr));
	b[0].tx[0].peer = kfi_rx_addr(addr, 2, BITS);
	REQUIRE(t, !POST(t, kfi_send(b[0].tx[0].ep, buf, 8, NULL, b[0].tx[0].peer, CTX(1))));
	REQUIRE(t, !comp_wait_ms(t, &b[0].tx[0], b[0].tx[0].txcq, &c, t->w->loss_ms, __FILE__,
				 __LINE__));
	EXPECT(t, c.err == ECONNREFUSED || c.err == EHOSTUNREACH || c.err == ENOTCONN);
	REQUIRE(t, !rx_open(&b[1], 2));
	transfer(&b[0].tx[0], &b[1].rx[2], 64, 1);
	/* A context that is closed again: its receives are returned, the others continue. */
	REQUIRE(t, !POST(t, kfi_recv(b[1].rx[2].ep, buf, 8, NULL, KFI_ADDR_UNSPEC, CTX(2))));
	REQUIRE(t, !rx_open(&b[1], 1));
	REQUIRE_EQ(t, test_close(t, &b[1].rx[2].ep->fid), 0);
	REQUIRE_RX_ERR(&b[1].rx[2], &c, CTX(2), ECANCELED);
	b[0].tx[0].peer = kfi_rx_addr(addr, 1, BITS);
	transfer(&b[0].tx[0], &b[1].rx[1], 64, 2);
	b[0].tx[0].peer = kfi_rx_addr(addr, 2, BITS);
	/* What is sent before the sender knows of the end may complete, and is lost. */
	REQUIRE(t, test_until(t, !POST(t, kfi_send(b[0].tx[0].ep, buf, 8, NULL, b[0].tx[0].peer,
						   CTX(4))) &&
				 !WAIT_TX(&b[0].tx[0], &c) && c.err));
	REQUIRE(t, !rx_open(&b[1], 2));
	transfer(&b[0].tx[0], &b[1].rx[2], 64, 3);
}

/* An address that was removed is removed for every context. */
static void removed(struct test *t)
{
	struct big *b = two_open(t);
	kfi_addr_t addr;
	u8 buf[8] = {};
	int i;

	REQUIRE(t, b);
	addr = b[0].tx[0].peer;
	for (i = 0; i < LANES && !t->failures; i++) {
		b[0].tx[0].peer = kfi_rx_addr(addr, i, BITS);
		transfer(&b[0].tx[0], &b[1].rx[i], 64, i);
	}
	REQUIRE_EQ(t, kfi_av_remove(b[0].av, &addr, 1, 0), 0);
	for (i = 0; i < LANES; i++)
		EXPECT_EQ(t,
			  kfi_send(b[0].tx[0].ep, buf, 8, NULL, kfi_rx_addr(addr, i, BITS), NULL),
			  -EINVAL);
	NONE_TX(&b[0].tx[0]);
}

/*
 * A region of the scalable endpoint is valid for all its contexts, a region of a context for that
 * only.
 */
static void rma(struct test *t)
{
	struct big *b = two_open(t);
	u8 *near = test_pages(t, 8192), *far = test_pages(t, 8192);
	struct kfid_ep *owner[2];
	struct region r[2];
	comp_t c;
	int i, j;

	REQUIRE(t, b && near && far);
	owner[0] = b[1].sep;
	owner[1] = b[1].rx[1].ep;
	for (i = 0; i < 2; i++) {
		REQUIRE(t, !region_open(&b[1].n, &r[i], far, 8192, KFI_REMOTE_WRITE));
		REQUIRE_EQ(t, kfi_mr_bind(r[i].mr, &owner[i]->fid, 0), 0);
	}
	for (i = 0; i < 2; i++)
		for (j = 0; j < 2; j++) {
			kfi_addr_t to = kfi_rx_addr(b[0].tx[0].peer, j, BITS);

			fill(near, 8192, 2 * i + j);
			memset(far, 0, 8192);
			REQUIRE(t, !POST(t, kfi_write(b[0].tx[j].ep, near, 8192, NULL, to,
						      r[i].addr, r[i].key, CTX(7))));
			REQUIRE(t, !WAIT_TX(&b[0].tx[j], &c));
			if (i == 1 && j == 0) {
				EXPECT_ERR(t, &c, CTX(7), EACCES);
				EXPECT_EQ(t, not_all(far, 8192, 0), -1);
			} else {
				EXPECT_COMP(t, &c, CTX(7), KFI_RMA | KFI_WRITE);
				EXPECT_DATA(t, far, 8192, 2 * i + j);
			}
		}
}

#define BULK	20000

/* A transfer of lane @i to a receive of lane @j, which names its sender by any context of it. */
static bool bulk_post(struct big *b, u8 *near, u8 *far, int i, int j, bool write)
{
	struct node *tx = &b[0].tx[i], *rx = &b[1].rx[j];
	u64 tag = 16 * i + j;
	struct kvec in = { far, BULK };
	struct kfi_msg_tagged sink = {
		.type = KFI_KVEC, .msg_iov = &in, .iov_count = 1, .tag = tag,
		.addr = kfi_rx_addr(rx->peer, 1, BITS), .context = CTX(i),
	};

	fill(write ? near : far, BULK, tag);
	return !POST(tx->t, kfi_trecvmsg(rx->ep, &sink, KFI_COMPLETION)) &&
	       !POST(tx->t, rma_tagged(tx, kfi_rx_addr(tx->peer, j, BITS), near, BULK, tag,
				       CTX(j), write));
}

/* Tagged RMA of all contexts to all contexts, at once */
static void tagged_rma(struct test *t)
{
	struct big *b = two_open(t);
	u8 *near = test_pages(t, LANES * LANES * BULK), *far = test_pages(t, LANES * LANES * BULK);
	comp_t c;
	int n, write;

	REQUIRE(t, b && near && far);
	for (write = 0; write < 2; write++) {
		for (n = 0; n < LANES * LANES; n++)
			REQUIRE(t, bulk_post(b, near + n * BULK, far + n * BULK, n / LANES,
					     n % LANES, write));
		for (n = 0; n < LANES * LANES; n++) {
			REQUIRE(t, !WAIT_TX(&b[0].tx[n / LANES], &c));
			EXPECT_EQ(t, c.err, 0);
			REQUIRE(t, !WAIT_RX(&b[1].rx[n % LANES], &c));
			EXPECT_EQ(t, c.err, 0);
		}
		for (n = 0; n < LANES * LANES; n++)
			EXPECT_DATA(t, (write ? far : near) + n * BULK, BULK,
				    16 * (n / LANES) + n % LANES);
	}
	for (n = 0; n < LANES; n++) {
		NONE_TX(&b[0].tx[n]);
		NONE_RX(&b[1].rx[n]);
	}
}

/* Atomic operations of a transmit context; the scalable endpoint has none. */
static void atomics(struct test *t)
{
	struct big *b = two_open(t);
	u64 *far = test_pages(t, 4096), one = 1;
	struct kfi_atomic_attr attr = {};
	struct region r;
	comp_t c;
	int i;

	REQUIRE(t, b && far);
	*far = 0;
	REQUIRE(t, !region_open(&b[1].n, &r, far, 4096, KFI_REMOTE_WRITE | KFI_REMOTE_READ));
	REQUIRE_EQ(t, kfi_mr_bind(r.mr, &b[1].sep->fid, 0), 0);
	EXPECT_EQ(t, kfi_ep_query_atomic(b[0].sep, KFI_UINT64, KFI_SUM, &attr, 0), -EOPNOTSUPP);
	for (i = 0; i < LANES; i++) {
		struct node *tx = &b[0].tx[i];

		attr = (struct kfi_atomic_attr){};
		REQUIRE_EQ(t, kfi_ep_query_atomic(tx->ep, KFI_UINT64, KFI_SUM, &attr, 0), 0);
		EXPECT_EQ(t, attr.size, 8);
		EXPECT(t, attr.count >= 1);
		REQUIRE(t, !POST(t, kfi_atomic(tx->ep, &one, 1, NULL, tx->peer, r.addr, r.key,
					       KFI_UINT64, KFI_SUM, CTX(3))));
		REQUIRE_TX(tx, &c, CTX(3), KFI_ATOMIC | KFI_WRITE);
	}
	EXPECT_EQ(t, *far, LANES);
}

#define C_SEP	(C_MSG | KFI_NAMED_RX_CTX)

const struct test_case sep_cases[] = {
	{ "sep.bring_up", T_RDM, 0, C_SEP, bring_up },
	{ "sep.halves", T_RDM, 0, C_SEP, halves },
	{ "sep.lanes", T_RDM, 0, C_SEP, lanes },
	{ "sep.source", T_RDM, 0, C_SEP | KFI_SOURCE | KFI_DIRECTED_RECV, source },
	{ "sep.plain_peer", T_RDM, 0, C_SEP, plain_peer },
	{ "sep.late_context", T_RDM, 0, C_SEP, late_context },
	{ "sep.removed", T_RDM, 0, C_SEP, removed },
	{ "sep.rma", T_RDM, 0, C_SEP | C_RMA, rma },
	{ "sep.tagged_rma", T_RDM, 0,
	  C_SEP | C_TAGGED | C_RMA | KFI_TAGGED_RMA | KFI_DIRECTED_RECV, tagged_rma },
	{ "sep.atomics", T_RDM, 0, C_SEP | C_ATOMIC, atomics },
	{ }
};
