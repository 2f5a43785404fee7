// SPDX-License-Identifier: GPL-2.0
/* Buffers that are changed as soon as they may be: after an inject, or in a completion callback. */
#include <linux/mm.h>
#include "harness.h"

static void clobber(struct test *t, struct pair *p)
{
	size_t max = t->info[0]->tx_attr->inject_size, len;
	u8 *tx = test_zalloc(t, max), *rx = test_zalloc(t, max);
	bool late;
	comp_t c;
	int i;

	REQUIRE(t, max > 0);
	for (i = 0; i < 40 && !t->failures; i++) {
		late = i % 3 == 0 && t->type != KFI_EP_DGRAM;
		len = i & 1 ? max : test_random(t, max + 1);
		fill(tx, len, i);
		memset(rx, 0, max);
		if (!late)
			POST(t, kfi_recv(p->b.ep, rx, max, NULL, KFI_ADDR_UNSPEC, CTX(i)));
		REQUIRE(t, !POST(t, kfi_inject(p->a.ep, tx, len, p->a.peer)));
		memset(tx, 0xff, max);
		if (late)	/* it has to have waited in other memory */
			POST(t, kfi_recv(p->b.ep, rx, max, NULL, KFI_ADDR_UNSPEC, CTX(i)));
		REQUIRE_RX(&p->b, &c, CTX(i), KFI_MSG | KFI_RECV);
		EXPECT_EQ(t, c.len, len);
		EXPECT_DATA(t, rx, len, i);
	}
	NONE_TX(&p->a);
}

/* As a flag of a message it completes like any other. */
static void with_completion(struct test *t, struct pair *p)
{
	u8 *tx = test_zalloc(t, 64), *rx = test_zalloc(t, 64);
	struct kvec iov[2] = { { tx, 10 }, { tx + 20, 10 } };
	struct kfi_msg msg = { .type = KFI_KVEC, .msg_iov = iov, .iov_count = 2 };
	comp_t c;

	msg.addr = p->a.peer;
	msg.context = CTX(5);
	fill(tx, 10, 1);
	fill(tx + 20, 10, 2);
	POST(t, kfi_recv(p->b.ep, rx, 64, NULL, KFI_ADDR_UNSPEC, rx));
	REQUIRE(t, !POST(t, kfi_sendmsg(p->a.ep, &msg, KFI_INJECT | KFI_COMPLETION)));
	memset(tx, 0xff, 64);
	REQUIRE_TX(&p->a, &c, CTX(5), KFI_MSG | KFI_SEND);
	REQUIRE(t, !WAIT_RX(&p->b, &c));
	EXPECT_EQ(t, c.len, 20);
	EXPECT_DATA(t, rx, 10, 1);
	EXPECT_DATA(t, rx + 10, 10, 2);
}

static void too_long(struct test *t, struct pair *p)
{
	size_t max = t->info[0]->tx_attr->inject_size;
	u8 *tx = test_zalloc(t, max + 1), *rx = test_zalloc(t, max + 1);
	comp_t c;

	POST(t, kfi_recv(p->b.ep, rx, max + 1, NULL, KFI_ADDR_UNSPEC, rx));
	EXPECT_EQ(t, kfi_inject(p->a.ep, tx, max + 1, p->a.peer), -EINVAL);
	EXPECT_EQ(t, kfi_injectdata(p->a.ep, tx, max + 1, 1, p->a.peer), -EINVAL);
	/* It has had no effect. */
	NONE_TX(&p->a);
	NONE_RX(&p->b);
	EXPECT_EQ(t, kfi_inject(p->a.ep, tx, 1, p->a.peer), 0);
	REQUIRE(t, !WAIT_RX(&p->b, &c));
	EXPECT_EQ(t, c.len, 1);
}

static void tagged(struct test *t, struct pair *p)
{
	size_t max = t->info[0]->tx_attr->inject_size;
	u8 *tx = test_zalloc(t, max + 1), *rx = test_zalloc(t, max);
	comp_t c;

	EXPECT_EQ(t, kfi_tinject(p->a.ep, tx, max + 1, p->a.peer, 1), -EINVAL);
	fill(tx, max, 1);
	POST(t, kfi_trecv(p->b.ep, rx, max, NULL, KFI_ADDR_UNSPEC, 5, 0, CTX(1)));
	REQUIRE(t, !POST(t, kfi_tinject(p->a.ep, tx, max, p->a.peer, 5)));
	memset(tx, 0xff, max);
	REQUIRE_RX(&p->b, &c, CTX(1), KFI_TAGGED | KFI_RECV);
	EXPECT_DATA(t, rx, max, 1);
	POST(t, kfi_trecv(p->b.ep, rx, max, NULL, KFI_ADDR_UNSPEC, 5, 0, CTX(2)));
	REQUIRE(t, !POST(t, kfi_tinjectdata(p->a.ep, tx, 1, 77, p->a.peer, 5)));
	REQUIRE_RX(&p->b, &c, CTX(2), KFI_TAGGED | KFI_RECV | KFI_REMOTE_CQ_DATA);
	EXPECT_EQ(t, c.data, 77);
	NONE_TX(&p->a);
}

static void write_remote(struct test *t, struct pair *p)
{
	size_t max = t->info[0]->tx_attr->inject_size;
	u8 *tx = test_zalloc(t, max + 1), *rx = test_pages(t, max);
	struct region r;
	comp_t c;

	REQUIRE(t, !region_open(&p->b, &r, rx, max, KFI_REMOTE_WRITE));
	EXPECT_EQ(t, kfi_inject_write(p->a.ep, tx, max + 1, p->a.peer, r.addr, r.key), -EINVAL);
	fill(tx, max, 1);
	REQUIRE(t, !POST(t, kfi_inject_write(p->a.ep, tx, max, p->a.peer, r.addr, r.key)));
	memset(tx, 0xff, max);
	/* Data with a completion comes after the completion of earlier ones. */
	if (!test_hw_recv(t)) {
		REQUIRE(t, !POST(t, kfi_inject_writedata(p->a.ep, tx, 0, 5, p->a.peer, r.addr,
							 r.key)));
		REQUIRE(t, !WAIT_RX(&p->b, &c));
		EXPECT_EQ(t, c.flags, KFI_RMA | KFI_REMOTE_WRITE | KFI_REMOTE_CQ_DATA);
		EXPECT_EQ(t, c.data, 5);
	}
	EXPECT(t, test_until(t, differs(rx, max, 1) == -1));
	NONE_TX(&p->a);
	/* A failure is reported nevertheless. */
	REQUIRE(t, !POST(t, kfi_inject_write(p->a.ep, tx, 1, p->a.peer, r.addr, r.key ^ 1)));
	REQUIRE(t, !WAIT_TX(&p->a, &c));
	EXPECT_EQ(t, c.err, EACCES);
}

/*
 * A completion returns the buffer: the callback overwrites it, and the peer must still get what
 * was sent. The host script also runs these cases on a lossy and slow wire, where data is
 * retransmitted from the pages.
 */

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

	REQUIRE(t, p && over_open(t, o, max));
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

	REQUIRE(t, p && over_open(t, o, max));
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

const struct test_case inject_cases[] = {
	{ "inject.clobber", T_ALL, 0, C_MSG, .pair = clobber },
	{ "inject.with_completion", T_ALL, 0, C_MSG, .pair = with_completion },
	{ "inject.too_long", T_ALL, 0, C_MSG, .pair = too_long },
	{ "inject.tagged", T_REL, 0, C_TAGGED, .pair = tagged },
	{ "inject.write", T_REL, 0, C_MSG | C_RMA, .pair = write_remote },
	{ "overwrite.sends", T_REL, 0, C_MSG, sends },
	{ "overwrite.writes", T_REL, 0, C_MSG | C_RMA, writes },
	{ }
};
