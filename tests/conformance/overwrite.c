// SPDX-License-Identifier: GPL-2.0
/*
 * A completion returns the buffer: the callback overwrites it, and the peer must still get what was
 * sent. The host script also runs these cases on a lossy and slow wire, where data is retransmitted
 * from the pages.
 */
#include <linux/delay.h>
#include <linux/mm.h>
#include "harness.h"

#define DEPTH	4

struct over {
	struct kfi_cqe	cqe;
	struct test	*t;
	u8		*buf;
	size_t		len;
	u64		seed;
	int		err;
	atomic_t	busy;
};

static void over_done(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	struct over *o = container_of(cqe, struct over, cqe);

	memset(o->buf, 0xdd, o->len);
	o->err = wc->err;
	atomic_set_release(&o->busy, 0);
}

/* Pages, as a block layer passes them. */
static int post_pages(struct node *a, struct over *o, struct bio_vec *bv, struct region *r)
{
	size_t i, n = DIV_ROUND_UP(o->len, PAGE_SIZE);
	struct kfi_rma_iov rma;
	struct kfi_msg_rma wmsg = { .type = KFI_BVEC, .msg_biov = bv, .iov_count = n };
	struct kfi_msg msg = { .type = KFI_BVEC, .msg_biov = bv, .iov_count = n };

	for (i = 0; i < n; i++)
		bvec_set_page(&bv[i], test_page(o->buf + i * PAGE_SIZE),
			      min(PAGE_SIZE, o->len - i * PAGE_SIZE), 0);
	fill(o->buf, o->len, o->seed);
	atomic_set(&o->busy, 1);
	msg.addr = wmsg.addr = a->peer;
	msg.context = wmsg.context = &o->cqe;
	if (!r)
		return POST(a->t, kfi_sendmsg(a->ep, &msg, KFI_CQE | KFI_COMPLETION));
	rma = (struct kfi_rma_iov){ r->addr, o->len, r->key };
	wmsg.rma_iov = &rma;
	wmsg.rma_iov_count = 1;
	return POST(a->t, kfi_writemsg(a->ep, &wmsg, KFI_CQE | KFI_COMPLETION));
}

static size_t over_len(struct test *t)
{
	size_t most = (t->info[0]->tx_attr->iov_limit - 1) * PAGE_SIZE;

	return min3((size_t)1 << 18, most, t->info[0]->ep_attr->max_msg_size);
}

static bool over_open(struct test *t, struct over *o, size_t max)
{
	int i;

	for (i = 0; i < DEPTH; i++) {
		o[i].t = t;
		o[i].cqe.done = over_done;
		o[i].buf = test_pages(t, max);
		if (!o[i].buf)
			return false;
	}
	return true;
}

/**
 * struct over_rx - receives of B
 * @buf: one for each, of @max bytes
 * @msg: message of each: they match in the order of posting
 * @posted: number of receives that were posted
 * @lens: lengths of all messages
 */
struct over_rx {
	struct node	*n;
	u8		*buf[DEPTH];
	size_t		max;
	u32		msg[DEPTH];
	u32		posted;
	size_t		*lens;
};

static void over_recv(struct over_rx *rx, u32 i)
{
	rx->msg[i] = rx->posted++;
	POST(rx->n->t, kfi_recv(rx->n->ep, rx->buf[i], rx->max, NULL, KFI_ADDR_UNSPEC, CTX(i)));
}

/*
 * Wait for one of them, not necessarily the oldest: a short message may complete before a long one.
 */
static bool over_got(struct over_rx *rx, u32 n)
{
	struct test *t = rx->n->t;
	comp_t c;
	u32 i;

	if (WAIT_RX(rx->n, &c))
		return false;
	i = (unsigned long)c.op_context;
	EXPECT_COMP(t, &c, CTX(i), KFI_MSG | KFI_RECV);
	if (!EXPECT(t, i < DEPTH && rx->msg[i] < n) || !EXPECT_EQ(t, c.len, rx->lens[rx->msg[i]]) ||
	    !EXPECT_DATA(t, rx->buf[i], c.len, rx->msg[i]))
		return false;
	over_recv(rx, i);
	return !t->failures;
}

static void sends(struct test *t)
{
	struct node_opts soft = { .cq_flags = KFI_CQ_SOFTIRQ };
	struct pair *p = pair_open(t, &soft, NULL);
	size_t max = over_len(t);
	struct bio_vec *bv = test_zalloc(t, (max / PAGE_SIZE + 1) * sizeof(*bv));
	struct over *o = test_zalloc(t, DEPTH * sizeof(*o));
	struct over_rx rx = { .max = max };
	u32 i, n = t->w->quick ? 60 : 300, got = 0;

	REQUIRE(t, p && bv && o && over_open(t, o, max));
	rx.n = &p->b;
	rx.lens = test_zalloc(t, n * sizeof(*rx.lens));
	REQUIRE(t, rx.lens);
	for (i = 0; i < DEPTH; i++) {
		rx.buf[i] = test_pages(t, max);
		REQUIRE(t, rx.buf[i]);
		over_recv(&rx, i);
	}
	for (i = 0; i < n && !t->failures; i++) {
		struct over *one = &o[i % DEPTH];

		REQUIRE(t, test_until(t, !atomic_read_acquire(&one->busy)));
		EXPECT_EQ(t, one->err, 0);
		one->len = i % 3 ? max - test_random(t, 4000) : 1 + test_random(t, 20000);
		one->len = min(one->len, max);
		one->seed = i;
		rx.lens[i] = one->len;
		/* Long messages whose end the peer sees one message later. */
		if (post_pages(&p->a, one, bv, NULL))
			break;
		for (; got < i || (got <= i && i == n - 1); got++)
			REQUIRE(t, over_got(&rx, n));
	}
	EXPECT_EQ(t, got, n);
	for (i = 0; i < DEPTH; i++)
		EXPECT(t, test_until(t, !atomic_read_acquire(&o[i].busy)));
}

/* The same with remote writes; the last one of each slot is compared. */
static void writes(struct test *t)
{
	struct node_opts soft = { .cq_flags = KFI_CQ_SOFTIRQ };
	struct pair *p = pair_open(t, &soft, NULL);
	size_t max = over_len(t);
	struct bio_vec *bv = test_zalloc(t, (max / PAGE_SIZE + 1) * sizeof(*bv));
	struct over *o = test_zalloc(t, DEPTH * sizeof(*o));
	struct region r[DEPTH];
	u32 i, n = t->w->quick ? 60 : 300;

	REQUIRE(t, p && bv && o && over_open(t, o, max));
	for (i = 0; i < DEPTH; i++) {
		u8 *far = test_pages(t, max);

		REQUIRE(t, far && !region_open(&p->b, &r[i], far, max, KFI_REMOTE_WRITE));
	}
	for (i = 0; i < n + DEPTH && !t->failures; i++) {
		struct over *one = &o[i % DEPTH];

		REQUIRE(t, test_until(t, !atomic_read_acquire(&one->busy)));
		EXPECT_EQ(t, one->err, 0);
		if (i >= DEPTH) {
			u8 *far = r[i % DEPTH].buf;

			REQUIRE(t, test_until(t, differs(far, one->len, one->seed) == -1));
		}
		if (i >= n)
			continue;
		one->len = max - test_random(t, min_t(size_t, max, 5000));
		one->seed = i;
		if (post_pages(&p->a, one, bv, &r[i % DEPTH]))
			break;
	}
}

const struct test_case overwrite_cases[] = {
	{ "overwrite.sends", T_REL, 0, C_MSG, sends },
	{ "overwrite.writes", T_REL, 0, C_MSG | C_RMA, writes },
	{ }
};
