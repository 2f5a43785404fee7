// SPDX-License-Identifier: GPL-2.0
/* kfi_ep_reset(): a connection ends at once, and its endpoint connects again. */
#include <linux/delay.h>
#include "harness.h"

#define LONG		60000	/* bytes: no provider keeps such a message for a late receive */
#define RECVS		4

/* After a success neither operations nor events of the connection are left. */
static bool reset_it(struct node *n)
{
	int ret = kfi_ep_reset(n->ep);
	struct kfi_eq_cm_entry event;
	u32 type;

	if (ret == -EOPNOTSUPP) {
		test_skip(n->t, "endpoints can't be reset");
		return false;
	}
	return EXPECT_EQ(n->t, ret, 0) &&
	       EXPECT_EQ(n->t, kfi_eq_read(n->eq, &type, &event, sizeof(event), 0), -EAGAIN);
}

/* The accepting endpoint gets an event, and is closed. */
static bool peer_ends(struct node *b)
{
	struct event ev;

	if (WAIT_EVENT(b, &ev) || !EXPECT_EQ(b->t, ev.type, KFI_SHUTDOWN) ||
	    !EXPECT_EQ(b->t, test_close(b->t, &b->ep->fid), 0))
		return false;
	b->ep = NULL;
	return true;
}

static bool drop_completions(struct node *n, struct kfid_cq *cq)
{
	comp_t c;
	int ret;

	do {
		ret = comp_poll(n, cq, &c);
	} while (ret == 1);
	return EXPECT_EQ(n->t, ret, 0);
}

/* Receives that wait, and a message and an access under way. */
static bool busy(struct pair *p, u8 *buf, const struct region *far)
{
	struct test *t = p->a.t;
	int i;

	for (i = 0; i < RECVS; i++)
		if (POST(t, kfi_recv(p->a.ep, buf, 64, NULL, KFI_ADDR_UNSPEC, CTX(i))))
			return false;
	return !POST(t, kfi_send(p->a.ep, buf + LONG, LONG, NULL, p->a.peer, CTX(RECVS))) &&
	       !POST(t, kfi_write(p->a.ep, buf + 2 * LONG, LONG, NULL, p->a.peer, far->addr,
				  far->key, CTX(RECVS + 1)));
}

/* All operations have ended on return; the write may have been performed before. */
static bool all_ended(struct node *a)
{
	struct test *t = a->t;
	comp_t c;
	int i;

	for (i = 0; i < RECVS; i++) {
		if (!EXPECT_EQ(t, comp_poll(a, a->rxcq, &c), 1))
			return false;
		EXPECT_ERR(t, &c, CTX(i), ECANCELED);
	}
	for (i = 0; i < 2; i++) {
		if (!EXPECT_EQ(t, comp_poll(a, a->txcq, &c), 1))
			return false;
		EXPECT(t, c.err == ECANCELED || c.op_context == CTX(RECVS + 1) || test_hw_recv(t));
	}
	NONE_RX(a);
	NONE_TX(a);
	return true;
}

static void connected(struct test *t, struct pair *p)
{
	u8 *near_mem = test_pages(t, LONG), *far_mem = test_pages(t, LONG);
	u8 *buf = test_pages(t, 3 * LONG);
	bool bound = t->info[1]->domain_attr->mr_mode & KFI_MR_ENDPOINT;
	struct region near, far;
	comp_t c;
	int i;

	REQUIRE(t, !region_open(&p->b, &far, far_mem, LONG, KFI_REMOTE_WRITE));
	REQUIRE(t, !region_open(&p->a, &near, near_mem, LONG, KFI_REMOTE_READ));
	for (i = 0; i < 4; i++) {
		REQUIRE(t, busy(p, buf, &far));
		if (!reset_it(&p->a))
			return;
		REQUIRE(t, all_ended(&p->a));
		EXPECT_EQ(t, kfi_send(p->a.ep, buf, 1, NULL, p->a.peer, NULL), -ENOTCONN);
		if (bound)
			REQUIRE_EQ(t, test_close(t, &far.mr->fid), 0);
		REQUIRE(t, peer_ends(&p->b) && drop_completions(&p->b, p->b.rxcq));
		REQUIRE(t, !pair_connect(&p->a, &p->b));
		if (bound)
			REQUIRE(t, !region_open(&p->b, &far, far_mem, LONG, KFI_REMOTE_WRITE));
		if (transfer(&p->a, &p->b, LONG, i) || transfer(&p->b, &p->a, 100, i))
			return;
		/* The regions are the old ones. */
		fill(near_mem, LONG, i);
		POST(t, kfi_read(p->b.ep, buf, LONG, NULL, p->b.peer, near.addr, near.key, buf));
		REQUIRE_TX(&p->b, &c, buf, KFI_RMA | KFI_READ);
		EXPECT_DATA(t, buf, LONG, i);
	}
}

/* No memory is attached to regions for one I/O any more, and they can be used at once. */
static void regions(struct test *t, struct pair *p)
{
	u8 *mem = test_pages(t, LONG), *buf = test_pages(t, LONG);
	struct kvec iov = { mem, LONG };
	struct kfi_mr_attr attr = io_attr(&iov, KFI_REMOTE_READ);
	struct io_work *io = io_work_new(t);
	struct kfid_mr *mr[2];
	u64 key;
	comp_t c;
	int i, j;

	for (j = 0; j < 2; j++) {
		REQUIRE_EQ(t, kfi_mr_alloc(p->a.domain, DIV_ROUND_UP(LONG, PAGE_SIZE) + 1, 0,
					   &mr[j], NULL), 0);
		test_keep(t, &mr[j]->fid);
		REQUIRE_EQ(t, kfi_mr_bind(mr[j], &p->a.ep->fid, 0), 0);
	}
	for (i = 0; i < 4; i++) {
		REQUIRE_EQ(t, kfi_mr_register(mr[0], &attr, NULL), 0);
		key = kfi_mr_key(mr[0]);
		REQUIRE(t, !POST(t, kfi_read(p->b.ep, buf, LONG, NULL, p->b.peer,
					     kfi_mr_addr(mr[0]), key, buf)));
		if (i % 2)
			REQUIRE(t, !WAIT_TX(&p->b, &c));
		if (!reset_it(&p->a))
			return;
		EXPECT_EQ(t, kfi_mr_invalidate(mr[0], &io->work), -KFI_EOPBADSTATE);
		EXPECT_EQ(t, kfi_mr_invalidate(mr[1], &io->work), -KFI_EOPBADSTATE);
		REQUIRE(t, peer_ends(&p->b) && drop_completions(&p->b, p->b.txcq));
		REQUIRE(t, !pair_connect(&p->a, &p->b));
	}
	REQUIRE_EQ(t, kfi_mr_register(mr[0], &attr, &io->work), 0);
	EXPECT(t, kfi_mr_key(mr[0]) != key);
	REQUIRE(t, io_work_wait(t, io));
	fill(mem, LONG, 3);
	REQUIRE(t, !POST(t, kfi_read(p->b.ep, buf, LONG, NULL, p->b.peer, kfi_mr_addr(mr[0]),
				     kfi_mr_key(mr[0]), buf)));
	REQUIRE_TX(&p->b, &c, buf, KFI_RMA | KFI_READ);
	EXPECT_DATA(t, buf, LONG, 3);
	EXPECT_EQ(t, kfi_ep_reset(p->a.ep), 0);
}

/*
 * A region is enabled behind a message for which the peer has no receive: a device may not have
 * registered it when the connection ends. The next peer can use it all the same.
 */
static void region_behind(struct test *t, struct pair *p)
{
	u8 *mem = test_pages(t, LONG), *buf = test_pages(t, LONG);
	struct region r;
	comp_t c;

	REQUIRE(t, !POST(t, kfi_send(p->a.ep, buf, LONG, NULL, p->a.peer, buf)));
	REQUIRE(t, !region_open(&p->a, &r, mem, LONG, KFI_REMOTE_READ));
	if (!reset_it(&p->a))
		return;
	REQUIRE(t, drop_completions(&p->a, p->a.txcq) && peer_ends(&p->b));
	REQUIRE(t, !pair_connect(&p->a, &p->b) && !transfer(&p->a, &p->b, 100, 1));
	EXPECT_EQ(t, kfi_mr_key(r.mr), r.key);
	fill(mem, LONG, 2);
	REQUIRE(t, !POST(t, kfi_read(p->b.ep, buf, LONG, NULL, p->b.peer, r.addr, r.key, buf)));
	REQUIRE_TX(&p->b, &c, buf, KFI_RMA | KFI_READ);
	EXPECT_DATA(t, buf, LONG, 2);
}

/* Before the peer has answered, after it has refused, and before there was a call. */
static void calling(struct test *t)
{
	struct node *a = test_new(t, struct node), *b = test_new(t, struct node);
	struct event *ev = test_new(t, struct event);
	u8 *buf = test_zalloc(t, 64);
	comp_t c;

	REQUIRE(t, !node_open_ep(t, a, 0, NULL) && !node_open(t, b, 1, NULL) && !node_listen(b));
	REQUIRE(t, !POST(t, kfi_recv(a->ep, buf, 64, NULL, KFI_ADDR_UNSPEC, buf)));
	if (!reset_it(a))
		return;
	REQUIRE_EQ(t, comp_poll(a, a->rxcq, &c), 1);
	EXPECT_ERR(t, &c, buf, ECANCELED);

	REQUIRE_EQ(t, kfi_connect(a->ep, b->addr, NULL, 0), 0);
	REQUIRE(t, reset_it(a));
	REQUIRE_EQ(t, kfi_connect(a->ep, b->addr, NULL, 0), 0);
	REQUIRE(t, !WAIT_EVENT(b, ev));
	REQUIRE_EQ(t, ev->type, KFI_CONNREQ);
	REQUIRE(t, reset_it(a));
	kfi_reject(b->pep, ev->info->handle, NULL, 0);	/* the handle may be invalid */
	kfi_freeinfo(ev->info);
	while (!kfi_eq_sread(b->eq, &ev->type, &ev->data, sizeof(ev->data), 300, 0))
		;

	REQUIRE_EQ(t, kfi_connect(a->ep, b->addr, NULL, 0), 0);
	REQUIRE(t, !WAIT_EVENT(b, ev));
	REQUIRE_EQ(t, ev->type, KFI_CONNREQ);
	EXPECT_EQ(t, kfi_reject(b->pep, ev->info->handle, NULL, 0), 0);
	kfi_freeinfo(ev->info);
	REQUIRE(t, !WAIT_EVENT(a, ev));
	EXPECT_EQ(t, ev->err, ECONNREFUSED);
	EXPECT_EQ(t, kfi_connect(a->ep, b->addr, NULL, 0), -KFI_EOPBADSTATE);
	REQUIRE(t, reset_it(a));
	REQUIRE(t, !pair_connect(a, b));
	transfer(a, b, 100, 1);
}

static void peer_gone(struct test *t, struct pair *p)
{
	int i;

	for (i = 0; i < 4; i++) {
		REQUIRE(t, !node_close_ep(&p->b));
		if (i % 2)
			msleep(20);	/* or before the end is noticed */
		if (!reset_it(&p->a))
			return;
		REQUIRE(t, !pair_connect(&p->a, &p->b));
		REQUIRE(t, !transfer(&p->a, &p->b, 100, i) && !transfer(&p->b, &p->a, LONG, i));
	}
}

/* One call, and what its peer has at once: a receive that has completed can be answered. */
static bool answer_at_once(struct test *t, struct node *a, struct node *b, u8 *buf)
{
	struct event *ev = test_new(t, struct event);
	comp_t c;
	int ret;

	if (!EXPECT_EQ(t, kfi_connect(a->ep, b->addr, NULL, 0), 0) || WAIT_EVENT(b, ev) ||
	    !EXPECT_EQ(t, ev->type, KFI_CONNREQ))
		return false;
	ret = node_endpoint(b, ev->info) ?: node_enable(b);
	kfi_freeinfo(ev->info);
	if (ret || POST(t, kfi_recv(b->ep, buf, 64, NULL, KFI_ADDR_UNSPEC, buf)) ||
	    !EXPECT_EQ(t, kfi_accept(b->ep, NULL, 0), 0) || WAIT_EVENT(a, ev) ||
	    !EXPECT_EQ(t, ev->type, KFI_CONNECTED) ||
	    POST(t, kfi_recv(a->ep, buf + 64, 64, NULL, KFI_ADDR_UNSPEC, buf + 64)) ||
	    POST(t, kfi_send(a->ep, buf + 128, 64, NULL, a->peer, buf + 128)))
		return false;
	while (!comp_poll(b, b->rxcq, &c))
		cond_resched();
	return EXPECT_EQ(t, c.err, 0) &&
	       EXPECT_EQ(t, kfi_send(b->ep, buf, 64, NULL, b->peer, buf), 0) &&
	       !WAIT_RX(a, &c) && EXPECT_EQ(t, c.err, 0) && !WAIT_EVENT(b, ev) &&
	       EXPECT_EQ(t, ev->type, KFI_CONNECTED);
}

/* No receive completes before its endpoint may send. */
static void early(struct test *t)
{
	struct node *a = test_new(t, struct node), *b = test_new(t, struct node);
	u8 *buf = test_zalloc(t, 192);
	int i;

	REQUIRE(t, !node_open_ep(t, a, 0, NULL) && !node_open(t, b, 1, NULL) && !node_listen(b));
	for (i = 0; i < 20; i++) {
		REQUIRE(t, answer_at_once(t, a, b, buf) && reset_it(a));
		REQUIRE(t, drop_completions(a, a->txcq) && peer_ends(b) &&
			drop_completions(b, b->txcq));
	}
}

static void refused(struct test *t)
{
	struct node *a = test_new(t, struct node);

	REQUIRE(t, !node_open(t, a, 0, NULL));
	if (t->type == KFI_EP_MSG) {
		REQUIRE(t, !node_endpoint(a, a->info));
		EXPECT(t, kfi_ep_reset(a->ep) < 0);	/* it is not enabled */
		return;
	}
	REQUIRE(t, !node_endpoint(a, a->info) && !node_enable(a));
	EXPECT_EQ(t, kfi_ep_reset(a->ep), -EOPNOTSUPP);
}

const struct test_case reset_cases[] = {
	{ "reset.connected", T_MSG, 0, C_MSG | C_RMA, .pair = connected },
	{ "reset.regions", T_MSG, 0, C_MSG | C_RMA, .pair = regions },
	{ "reset.region_behind", T_MSG, 0, C_MSG | C_RMA, .pair = region_behind },
	{ "reset.calling", T_MSG, 0, C_MSG, calling },
	{ "reset.peer_gone", T_MSG, 0, C_MSG, .pair = peer_gone },
	{ "reset.early", T_MSG, 0, C_MSG, early },
	{ "reset.refused", T_ALL, 0, C_MSG, refused },
	{}
};
