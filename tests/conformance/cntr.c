// SPDX-License-Identifier: GPL-2.0
/* Counters: of endpoints, of regions, and changed by the consumer. */
#include <linux/delay.h>
#include <linux/ktime.h>
#include "harness.h"

static struct kfid_cntr *open_cntr(struct test *t, struct node *n)
{
	struct kfi_cntr_attr attr = { .wait_obj = KFI_WAIT_QUEUE };
	struct kfid_cntr *cntr;

	if (!EXPECT_EQ(t, kfi_cntr_open(n->domain, &attr, &cntr, NULL), 0))
		return NULL;
	test_keep(t, &cntr->fid);
	return cntr;
}

static void by_hand(struct test *t)
{
	struct kfi_cntr_attr attr = { .wait_obj = KFI_WAIT_NONE };
	struct node *n = test_new(t, struct node);
	struct kfid_cntr *cntr, *blind;
	ktime_t start;

	REQUIRE(t, !node_open(t, n, 0, NULL));
	cntr = open_cntr(t, n);
	REQUIRE(t, cntr);
	EXPECT_EQ(t, kfi_cntr_read(cntr), 0);
	EXPECT_EQ(t, kfi_cntr_add(cntr, 5), 0);
	EXPECT_EQ(t, kfi_cntr_read(cntr), 5);
	EXPECT_EQ(t, kfi_cntr_set(cntr, 3), 0);
	EXPECT_EQ(t, kfi_cntr_read(cntr), 3);
	EXPECT_EQ(t, kfi_cntr_readerr(cntr), 0);
	EXPECT_EQ(t, kfi_cntr_wait(cntr, 3, 0), 0);
	start = ktime_get();
	EXPECT_EQ(t, kfi_cntr_wait(cntr, 4, 200), -ETIMEDOUT);
	/* Ticks of a busy virtual machine come late, and then several at once. */
	EXPECT(t, ktime_ms_delta(ktime_get(), start) >= 100);
	EXPECT_EQ(t, kfi_cntr_adderr(cntr, 2), 0);
	EXPECT_EQ(t, kfi_cntr_readerr(cntr), 2);
	EXPECT_EQ(t, kfi_cntr_seterr(cntr, 1), 0);
	EXPECT_EQ(t, kfi_cntr_readerr(cntr), 1);
	REQUIRE_EQ(t, kfi_cntr_open(n->domain, &attr, &blind, NULL), 0);
	EXPECT_EQ(t, kfi_cntr_wait(blind, 0, 0), -EINVAL);
	EXPECT_EQ(t, kfi_close(&blind->fid), 0);
	attr.wait_obj = KFI_WAIT_FD;
	EXPECT_EQ(t, kfi_cntr_open(n->domain, &attr, &blind, NULL), -EOPNOTSUPP);
	attr.wait_obj = KFI_WAIT_NONE;
	attr.flags = 1;
	EXPECT_EQ(t, kfi_cntr_open(n->domain, &attr, &blind, NULL), -KFI_EBADFLAGS);
}

struct waiter {
	struct kfid_cntr	*cntr;
	u64			threshold;
	int			ms;
};

static int wait_for(void *arg)
{
	struct waiter *w = arg;

	return kfi_cntr_wait(w->cntr, w->threshold, w->ms);
}

#define WAITERS	4

/*
 * Each waiter wakes at its own value, however the counter changes; an error wakes all that are
 * left.
 */
static void several(struct test *t)
{
	struct worker *th = test_zalloc(t, WAITERS * sizeof(*th));
	struct waiter *w = test_zalloc(t, WAITERS * sizeof(*w));
	struct node *n = test_new(t, struct node);
	struct kfid_cntr *cntr;
	int i;

	REQUIRE(t, !node_open(t, n, 0, NULL));
	cntr = open_cntr(t, n);
	REQUIRE(t, cntr);
	EXPECT_EQ(t, kfi_cntr_adderr(cntr, 5), 0);	/* an old error ends no wait */
	for (i = 0; i < WAITERS; i++) {
		w[i] = (struct waiter) {
			.cntr = cntr, .threshold = 10 * (i + 1), .ms = i ? -1 : t->w->wait_ms,
		};
		if (!EXPECT(t, !worker_start(t, &th[i], -1, wait_for, &w[i])))
			break;
	}
	msleep(50);
	EXPECT_EQ(t, kfi_cntr_set(cntr, 20), 0);
	if (i > 1) {
		EXPECT_EQ(t, worker_join(&th[0], t->w->wait_ms), 0);
		EXPECT_EQ(t, worker_join(&th[1], t->w->wait_ms), 0);
	}
	msleep(30);
	EXPECT(t,
	       i < WAITERS || (!completion_done(&th[2].ended) && !completion_done(&th[3].ended)));
	EXPECT_EQ(t, kfi_cntr_set(cntr, 1), 0);		/* a smaller value ends none either */
	EXPECT_EQ(t, kfi_cntr_seterr(cntr, 2), 0);	/* a change, if not a greater number */
	while (i-- > 2)
		EXPECT_EQ(t, worker_join(&th[i], t->w->wait_ms), -KFI_EAVAIL);
}

/* Counters of all directions of the nodes of a case, by side. */
enum { C_SEND, C_RECV, C_READ, C_WRITE, C_RREAD, C_RWRITE, C_COUNT };

static const u64 directions[C_COUNT] = {
	KFI_SEND, KFI_RECV, KFI_READ, KFI_WRITE, KFI_REMOTE_READ, KFI_REMOTE_WRITE,
};

static int bind_all(struct node *n)
{
	struct kfid_cntr **cntr = (struct kfid_cntr **)n->opts.arg + n->side * C_COUNT;
	bool rma = n->info->caps & KFI_RMA;
	int i, ret;

	for (i = 0; i < (rma ? C_COUNT : C_READ); i++) {
		cntr[i] = open_cntr(n->t, n);
		if (!cntr[i])
			return -EIO;
		ret = kfi_ep_bind(n->ep, &cntr[i]->fid, directions[i]);
		if (!EXPECT_EQ(n->t, ret, 0))
			return ret;
	}
	return 0;
}

static void messages(struct test *t)
{
	struct kfid_cntr *cntr[2][C_COUNT] = {};
	struct node_opts opts = { .before_enable = bind_all, .arg = cntr };
	struct pair *p = pair_open(t, &opts, &opts);
	u8 *buf = test_zalloc(t, 128);
	comp_t c;
	int i;

	REQUIRE(t, p);
	for (i = 0; i < 5; i++)
		if (transfer(&p->a, &p->b, 64, i))
			return;
	EXPECT(t, test_until(t, kfi_cntr_read(cntr[0][C_SEND]) == 5));
	EXPECT(t, test_until(t, kfi_cntr_read(cntr[1][C_RECV]) == 5));
	/* Operations without a completion are counted as well. */
	POST(t, kfi_recv(p->b.ep, buf, 64, NULL, KFI_ADDR_UNSPEC, buf));
	POST(t, kfi_inject(p->a.ep, buf + 64, 16, p->a.peer));
	REQUIRE(t, !WAIT_RX(&p->b, &c));
	EXPECT_EQ(t, kfi_cntr_wait(cntr[0][C_SEND], 6, t->w->wait_ms), 0);
	EXPECT_EQ(t, kfi_cntr_wait(cntr[1][C_RECV], 6, t->w->wait_ms), 0);
	/* Failures are counted separately. */
	POST(t, kfi_recv(p->b.ep, buf, 64, NULL, KFI_ADDR_UNSPEC, buf));
	EXPECT_EQ(t, kfi_cancel(&p->b.ep->fid, buf), 0);
	REQUIRE(t, !WAIT_RX(&p->b, &c));
	EXPECT(t, test_until(t, kfi_cntr_readerr(cntr[1][C_RECV]) == 1));
	EXPECT_EQ(t, kfi_cntr_read(cntr[1][C_RECV]), 6);
	EXPECT_EQ(t, kfi_cntr_read(cntr[0][C_RECV]), 0);
	EXPECT_EQ(t, kfi_cntr_readerr(cntr[0][C_SEND]), 0);
}

/*
 * A counter counts all operations, also those without an entry in the queue: silent by request, by
 * default, and injected.
 */
static void selective(struct test *t)
{
	struct kfid_cntr *cntr[2][C_COUNT] = {};
	struct node_opts opts = {
		.caps = C_MSG | C_RMA | KFI_RMA_EVENT, .before_enable = bind_all, .arg = cntr,
		.tx_bind = KFI_SELECTIVE_COMPLETION, .rx_bind = KFI_SELECTIVE_COMPLETION,
	};
	struct pair *p = pair_open(t, &opts, &opts);
	u8 *src = test_pages(t, 64), *dst = test_pages(t, 64);
	struct region r;
	comp_t c;
	int i;

	REQUIRE(t, p && src && dst &&
			   !region_open(&p->b, &r, dst, 64, KFI_REMOTE_READ | KFI_REMOTE_WRITE));
	for (i = 0; i < 10; i++) {
		POST(t, kfi_recv(p->b.ep, dst, 64, NULL, KFI_ADDR_UNSPEC, CTX(i)));
		if (i & 1)
			POST(t, kfi_inject(p->a.ep, src, 8, p->a.peer));
		else
			POST(t, kfi_send(p->a.ep, src, 8, NULL, p->a.peer, CTX(i)));
		POST(t, kfi_write(p->a.ep, src, 8, NULL, p->a.peer, r.addr, r.key, CTX(i)));
		POST(t, kfi_read(p->a.ep, src, 8, NULL, p->a.peer, r.addr, r.key, CTX(i)));
	}
	EXPECT_EQ(t, kfi_cntr_wait(cntr[0][C_SEND], 10, t->w->wait_ms), 0);
	EXPECT_EQ(t, kfi_cntr_wait(cntr[1][C_RECV], 10, t->w->wait_ms), 0);
	EXPECT_EQ(t, kfi_cntr_wait(cntr[0][C_WRITE], 10, t->w->wait_ms), 0);
	EXPECT_EQ(t, kfi_cntr_wait(cntr[0][C_READ], 10, t->w->wait_ms), 0);
	EXPECT_EQ(t, kfi_cntr_wait(cntr[1][C_RWRITE], 10, t->w->wait_ms), 0);
	EXPECT_EQ(t, kfi_cntr_wait(cntr[1][C_RREAD], 10, t->w->wait_ms), 0);
	NONE_TX(&p->a);
	NONE_RX(&p->b);
	/* A failure is counted, and reported; at the target it is no success. */
	POST(t, kfi_write(p->a.ep, src, 8, NULL, p->a.peer, r.addr, r.key ^ 1, CTX(99)));
	REQUIRE_TX_ERR(&p->a, &c, CTX(99), EACCES);
	EXPECT(t, test_until(t, kfi_cntr_readerr(cntr[0][C_WRITE]) == 1));
	EXPECT_EQ(t, kfi_cntr_read(cntr[0][C_WRITE]), 10);
	EXPECT_EQ(t, kfi_cntr_read(cntr[0][C_SEND]), 10);
	EXPECT_EQ(t, kfi_cntr_read(cntr[1][C_RWRITE]), 10);
	EXPECT_EQ(t, kfi_cntr_read(cntr[0][C_RWRITE]), 0);
}

static void of_region(struct test *t)
{
	struct node_opts opts = { .caps = C_MSG | C_RMA | KFI_RMA_EVENT };
	struct pair *p = pair_open(t, &opts, &opts);
	u8 *src = test_pages(t, 64), *dst = test_pages(t, 64);
	struct kfid_cntr *cntr;
	struct kfid_mr *mr;
	u64 addr = 0;
	comp_t c;
	int i;

	REQUIRE(t, p);
	cntr = open_cntr(t, &p->b);
	REQUIRE(t, cntr);
	REQUIRE_EQ(t, kfi_mr_reg(p->b.domain, dst, 64, KFI_REMOTE_WRITE, 0, 99, KFI_RMA_EVENT,
				 &mr, NULL), 0);
	test_keep(t, &mr->fid);
	EXPECT_EQ(t, kfi_mr_bind(mr, &cntr->fid, KFI_REMOTE_WRITE), 0);
	if (p->b.info->domain_attr->mr_mode & KFI_MR_ENDPOINT)
		EXPECT_EQ(t, kfi_mr_bind(mr, &p->b.ep->fid, 0), 0);
	EXPECT_EQ(t, kfi_mr_enable(mr), 0);
	addr = kfi_mr_addr(mr);
	for (i = 1; i <= 4; i++) {
		fill(src, 64, i);
		POST(t, kfi_write(p->a.ep, src, 64, NULL, p->a.peer, addr, kfi_mr_key(mr), src));
		/* It is counted when the data has arrived. */
		REQUIRE_EQ(t, kfi_cntr_wait(cntr, i, t->w->wait_ms), 0);
		EXPECT_DATA(t, dst, 64, i);
		REQUIRE(t, !WAIT_TX(&p->a, &c));
	}
}

const struct test_case cntr_cases[] = {
	{ "cntr.by_hand", T_ALL, CASE_ONCE, 0, by_hand },
	{ "cntr.several", T_ALL, CASE_ONCE, 0, several },
	{ "cntr.selective", T_REL, 0, C_MSG | C_RMA | KFI_RMA_EVENT, selective },
	{ "cntr.messages", T_ALL, CASE_MATCHING, 0, messages },
	{ "cntr.of_region", T_REL, 0, C_MSG | C_RMA | KFI_RMA_EVENT, of_region },
	{ }
};
