// SPDX-License-Identifier: GPL-2.0
/* Dependencies between objects, and their life times. */
#include <linux/delay.h>
#include "harness.h"

static void busy(struct test *t)
{
	struct pair *p = pair_open(t, NULL, NULL);
	struct node *a;

	REQUIRE(t, p);
	a = &p->a;
	EXPECT_EQ(t, kfi_close(&a->fabric->fid), -EBUSY);
	EXPECT_EQ(t, kfi_close(&a->domain->fid), -EBUSY);
	EXPECT_EQ(t, kfi_close(&a->txcq->fid), -EBUSY);
	EXPECT_EQ(t, kfi_close(&a->rxcq->fid), -EBUSY);
	EXPECT_EQ(t, kfi_close(&a->eq->fid), -EBUSY);
	if (a->av)
		EXPECT_EQ(t, kfi_close(&a->av->fid), -EBUSY);
	/* After a refusal the object is unchanged. */
	still_works(p);
}

/* A region or queue alone keeps the domain, the domain the fabric. */
static void busy_children(struct test *t)
{
	struct node *a = test_new(t, struct node);
	struct region r = {};
	void *buf = test_zalloc(t, 64);

	REQUIRE(t, a && buf && !node_open(t, a, 0, NULL));
	EXPECT_EQ(t, test_close(t, &a->rxcq->fid), 0);
	EXPECT_EQ(t, test_close(t, &a->txcq->fid), 0);
	EXPECT_EQ(t, test_close(t, &a->eq->fid), 0);
	if (a->av)
		EXPECT_EQ(t, test_close(t, &a->av->fid), 0);
	REQUIRE_EQ(t, kfi_mr_reg(a->domain, buf, 64, KFI_REMOTE_READ, 0, 77, 0, &r.mr, NULL), 0);
	EXPECT_EQ(t, kfi_close(&a->domain->fid), -EBUSY);
	EXPECT_EQ(t, kfi_close(&r.mr->fid), 0);
	EXPECT_EQ(t, kfi_close(&a->fabric->fid), -EBUSY);
	EXPECT_EQ(t, test_close(t, &a->domain->fid), 0);
	EXPECT_EQ(t, test_close(t, &a->fabric->fid), 0);
}

static void again_and_again(struct test *t)
{
	int i, n = t->w->quick ? 10 : 50;
	struct pair *p;

	for (i = 0; i < n && !t->failures; i++) {
		p = pair_open(t, NULL, NULL);
		REQUIRE(t, p);
		if (transfer(&p->a, &p->b, 100, i))
			return;
		node_close(&p->a);
		node_close(&p->b);
	}
}

/* Each outstanding receive ends once, and its entry outlives the endpoint. */
static void flushed(struct test *t)
{
	struct pair *p = pair_open(t, NULL, NULL);
	u8 *buf = test_zalloc(t, 4096);
	u64 seen = 0;
	comp_t c;
	int i;

	REQUIRE(t, p && buf);
	for (i = 1; i <= 32; i++)
		REQUIRE(t, !POST(t, kfi_recv(p->b.ep, buf + 64 * i, 64, NULL,
					     KFI_ADDR_UNSPEC, CTX(i))));
	REQUIRE_EQ(t, test_close(t, &p->b.ep->fid), 0);
	p->b.ep = NULL;
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
static void unread_successes(struct test *t)
{
	struct pair *p = pair_open(t, NULL, NULL);
	u8 *buf = test_zalloc(t, 1024);
	comp_t c;
	int i;

	REQUIRE(t, p && buf);
	for (i = 1; i <= 8; i++)
		REQUIRE(t, !POST(t, kfi_recv(p->b.ep, buf + 64 * i, 64, NULL,
					     KFI_ADDR_UNSPEC, CTX(i))));
	for (i = 1; i <= 4; i++) {
		REQUIRE(t, !POST(t, kfi_send(p->a.ep, buf, 16, NULL, p->a.peer, CTX(i))));
		REQUIRE(t, !WAIT_TX(&p->a, &c));
	}
	/* They come in order, so when the last one has come all have. */
	REQUIRE(t, !WAIT_RX(&p->b, &c));
	EXPECT_COMP(t, &c, CTX(1), KFI_MSG | KFI_RECV);
	msleep(200);
	EXPECT_EQ(t, test_close(t, &p->b.ep->fid), 0);
	for (i = 2; i <= 8; i++) {
		REQUIRE(t, !WAIT_RX(&p->b, &c));
		EXPECT_EQ(t, c.err, i <= 4 ? 0 : ECANCELED);
	}
	NONE_RX(&p->b);
}

/* Sends that the peer does not receive end when the endpoint is closed. */
static void close_sender(struct test *t)
{
	struct pair *p = pair_open(t, NULL, NULL);
	size_t len = min_t(size_t, 1 << 20, t->info[0]->ep_attr->max_msg_size);
	u8 *buf = test_pages(t, len);
	int i, posted = 0, ended = 0;
	comp_t c;

	REQUIRE(t, p && buf);
	for (i = 1; i <= 16; i++)
		posted += !kfi_send(p->a.ep, buf, len, NULL, p->a.peer, CTX(i));
	REQUIRE(t, posted > 0);
	REQUIRE_EQ(t, test_close(t, &p->a.ep->fid), 0);
	while (comp_poll(&p->a, p->a.txcq, &c) == 1) {
		EXPECT(t, c.err == 0 || c.err == ECANCELED);
		EXPECT_EQ(t, c.flags, KFI_MSG | KFI_SEND);
		ended++;
	}
	EXPECT_EQ(t, ended, posted);
	NONE_TX(&p->a);
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

	REQUIRE(t, h);
	h->opts.handler = count_calls;
	h->opts.arg = &h->calls;
	p = pair_open(t, &h->opts, &h->opts);
	buf = test_zalloc(t, 64);
	REQUIRE(t, p && buf);
	POST(t, kfi_recv(p->b.ep, buf, 64, NULL, KFI_ADDR_UNSPEC, buf));
	POST(t, kfi_send(p->a.ep, buf, 64, NULL, p->a.peer, buf));
	node_close(&p->a);
	node_close(&p->b);
	before = atomic_read(&h->calls);
	msleep(100);
	EXPECT_EQ(t, atomic_read(&h->calls), before);
}

/* An info holds no reference, and the provider's objects may be closed first. */
static void info_is_memory(struct test *t)
{
	struct node *a = test_new(t, struct node);
	struct kfi_info *info;

	REQUIRE(t, a && !test_getinfo(t, 0, t->c->caps ?: C_MSG, &info));
	kfi_freeinfo(t->info[0]);
	t->info[0] = info;
	REQUIRE(t, !node_open(t, a, 0, NULL));
	/* The endpoint has copied what it needs of the info. */
	REQUIRE(t, !node_endpoint(a, a->info));
	test_free_info(t, a->info);
	a->info = NULL;
	EXPECT_EQ(t, node_enable(a), 0);
}

const struct test_case lifetime_cases[] = {
	{ "lifetime.busy", T_ALL, 0, 0, busy },
	{ "lifetime.busy_children", T_ALL, CASE_ONCE, C_MSG | C_RMA, busy_children },
	{ "lifetime.again_and_again", T_ALL, 0, 0, again_and_again },
	{ "lifetime.flushed", T_ALL, 0, 0, flushed },
	{ "lifetime.unread_successes", T_REL, 0, 0, unread_successes },
	{ "lifetime.close_sender", T_REL, 0, 0, close_sender },
	{ "lifetime.quiet_after_close", T_ALL, 0, 0, quiet_after_close },
	{ "lifetime.info_is_memory", T_ALL, 0, 0, info_is_memory },
	{ }
};
