// SPDX-License-Identifier: GPL-2.0
/*
 * Tagged RMA: a read or write that names a tagged receive of the peer instead of a region, and uses
 * it up.
 */
#include <linux/delay.h>
#include "harness.h"

static int expect_tag(struct node *n, void *buf, size_t len, u64 tag, void *ctx)
{
	return POST(n->t, kfi_trecv(n->ep, buf, len, NULL, KFI_ADDR_UNSPEC, tag, 0, ctx));
}

ssize_t rma_tagged(struct node *n, kfi_addr_t to, void *buf, size_t len, u64 tag, void *ctx,
		   bool write)
{
	struct kvec iov = { buf, len };
	struct kfi_rma_iov rma = { .addr = 0, .len = len, .key = tag };
	struct kfi_msg_rma msg = {
		.type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1, .addr = to,
		.rma_iov = &rma, .rma_iov_count = 1, .context = ctx,
	};
	u64 flags = KFI_TAGGED | KFI_COMPLETION;

	return write ? kfi_writemsg(n->ep, &msg, flags) : kfi_readmsg(n->ep, &msg, flags);
}

static int access_tag(struct node *n, void *buf, size_t len, u64 tag, void *ctx, bool write)
{
	return POST(n->t, rma_tagged(n, n->peer, buf, len, tag, ctx, write));
}

/* The operation finds the receive, moves the data, and completes at both sides. */
static void moves(struct test *t, struct pair *p)
{
	size_t len = min_t(size_t, 100000, t->info[0]->ep_attr->max_msg_size);
	u8 *near = test_pages(t, len), *far = test_pages(t, len);
	comp_t c;
	int i;

	for (i = 0; i < 6 && !t->failures; i++) {
		bool write = i & 1;

		fill(write ? near : far, len, i);
		memset(write ? far : near, 0, len);
		REQUIRE(t, !expect_tag(&p->b, far, len, 0x50 + i, CTX(1)));
		REQUIRE(t, !access_tag(&p->a, near, len, 0x50 + i, CTX(2), write));
		REQUIRE(t, !WAIT_TX(&p->a, &c));
		EXPECT_COMP(t, &c, CTX(2), KFI_TAGGED | KFI_RMA | KFI_SEND |
			    (write ? KFI_WRITE : KFI_READ));
		if (!write)
			EXPECT_DATA(t, near, len, i);
		REQUIRE(t, !WAIT_RX(&p->b, &c));
		EXPECT_COMP(t, &c, CTX(1), KFI_TAGGED | KFI_RMA | KFI_RECV |
			    (write ? KFI_WRITE : KFI_READ));
		if (write)
			EXPECT_DATA(t, far, len, i);
	}
	/* An empty message with data takes the same kind of receive. */
	REQUIRE(t, !expect_tag(&p->b, far, len, 0x99, CTX(3)));
	POST(t, kfi_tsenddata(p->a.ep, near, 0, NULL, 0x1234, p->a.peer, 0x99, CTX(4)));
	REQUIRE_RX(&p->b, &c, CTX(3), KFI_TAGGED | KFI_RECV | KFI_REMOTE_CQ_DATA);
	EXPECT_EQ(t, c.data, 0x1234);
	REQUIRE_TX(&p->a, &c, CTX(4), KFI_TAGGED | KFI_SEND);
	NONE_RX(&p->b);
	NONE_TX(&p->a);
}

#define RMA_FLAGS(write)	(KFI_TAGGED | KFI_RMA | ((write) ? KFI_WRITE : KFI_READ))

/* There is no such receive, or no longer: refused at once, without effect on a later receive. */
static void no_receive(struct test *t, struct pair *p)
{
	u8 *near = test_pages(t, 4096), *far = test_pages(t, 4096);
	comp_t c;
	int i;

	memset(near, 0xa5, 4096);
	memset(far, 0x5a, 4096);
	for (i = 0; i < 6 && !t->failures; i++) {
		if (i >= 2)
			REQUIRE(t, !expect_tag(&p->b, far, 4096, 7, CTX(1)));
		if (i >= 4) {	/* cancelled; otherwise the tag is wrong */
			EXPECT_EQ(t, kfi_cancel(&p->b.ep->fid, CTX(1)), 0);
			REQUIRE_RX_ERR(&p->b, &c, CTX(1), ECANCELED);
		}
		REQUIRE(t, !access_tag(&p->a, near, 4096, i < 4 ? 8 : 7, CTX(2), i & 1));
		REQUIRE_TX_ERR(&p->a, &c, CTX(2), EACCES);
		EXPECT_EQ(t, c.flags, RMA_FLAGS(i & 1) | KFI_SEND);
		REQUIRE(t, !expect_tag(&p->b, far, 4096, 8, CTX(3)));
		NONE_RX(&p->b);
		EXPECT_EQ(t, kfi_cancel(&p->b.ep->fid, CTX(3)), 0);
		REQUIRE(t, !WAIT_RX(&p->b, &c));
		if (i == 2 || i == 3) {
			EXPECT_EQ(t, kfi_cancel(&p->b.ep->fid, CTX(1)), 0);
			REQUIRE(t, !WAIT_RX(&p->b, &c));
		}
	}
	EXPECT_EQ(t, not_all(near, 4096, 0xa5), -1);
	EXPECT_EQ(t, not_all(far, 4096, 0x5a), -1);
	still_works(p);
}

/* A receive that permits one direction is not found by the other one. */
static void direction(struct test *t, struct pair *p)
{
	u8 *near = test_pages(t, 4096), *far = test_pages(t, 4096);
	comp_t c;
	int i;

	for (i = 0; i < 2 && !t->failures; i++) {
		struct kvec iov = { far, 4096 };
		struct kfi_msg_tagged msg = {
			.type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1,
			.addr = KFI_ADDR_UNSPEC, .tag = 7, .context = CTX(1),
		};
		u64 flags = KFI_COMPLETION | (i ? KFI_REMOTE_WRITE : KFI_REMOTE_READ);

		memset(near, 0xa5, 4096);
		memset(far, 0x5a, 4096);
		POST(t, kfi_trecvmsg(p->b.ep, &msg, flags));
		REQUIRE(t, !access_tag(&p->a, near, 4096, 7, CTX(2), !i));
		REQUIRE_TX_ERR(&p->a, &c, CTX(2), EACCES);
		NONE_RX(&p->b);
		EXPECT_EQ(t, not_all(near, 4096, 0xa5), -1);
		EXPECT_EQ(t, not_all(far, 4096, 0x5a), -1);
		REQUIRE(t, !access_tag(&p->a, near, 4096, 7, CTX(3), i));
		REQUIRE_TX(&p->a, &c, CTX(3), RMA_FLAGS(i) | KFI_SEND);
		REQUIRE_RX(&p->b, &c, CTX(1), RMA_FLAGS(i) | KFI_RECV);
	}
}

/* Any number of refusals: they hold no resource. */
static void refusals(struct test *t, struct pair *p)
{
	int i, n = t->w->quick ? 600 : 20000, ended = 0;
	unsigned long until = jiffies + msecs_to_jiffies(3 * t->w->wait_ms);
	u8 *near = test_pages(t, 65536);
	comp_t c;

	for (i = 0; ended < n && !t->failures && time_before(jiffies, until); ) {
		size_t len = i % 3 ? 100 : 65536;

		if (i < n && !rma_tagged(&p->a, p->a.peer, near, len, i, CTX(i), i & 1))
			i++;
		while (comp_poll(&p->a, p->a.txcq, &c) == 1) {
			EXPECT_EQ(t, c.err, EACCES);
			ended++;
		}
	}
	EXPECT_EQ(t, ended, n);
	NONE_RX(&p->b);
	still_works(p);
}

/* Longer than the receive: the part that fits is moved, and both sides get an error. */
static void truncated(struct test *t, struct pair *p)
{
	u8 *near = test_pages(t, 65536), *far = test_pages(t, 65536);
	comp_t c;
	int i;

	for (i = 0; i < 4 && !t->failures; i++) {
		size_t len = i < 2 ? 1000 : 65536;
		bool write = i & 1;

		memset(near, 0x5a, 65536);
		memset(far, 0x5a, 65536);
		fill(write ? near : far, len, i);
		REQUIRE(t, !expect_tag(&p->b, far, 100, i, CTX(1)));
		REQUIRE(t, !access_tag(&p->a, near, len, i, CTX(2), write));
		REQUIRE_TX_ERR(&p->a, &c, CTX(2), KFI_ETRUNC);
		EXPECT_EQ(t, c.flags, RMA_FLAGS(write) | KFI_SEND);
		REQUIRE_RX_ERR(&p->b, &c, CTX(1), KFI_ETRUNC);
		EXPECT_EQ(t, c.flags, RMA_FLAGS(write) | KFI_RECV);
		EXPECT_EQ(t, c.len, len);
		EXPECT_EQ(t, c.olen, len - 100);
		EXPECT_DATA(t, write ? far : near, 100, i);
		EXPECT_EQ(t, not_all((write ? far : near) + 100, 65536 - 100, 0x5a), -1);
	}
	still_works(p);
}

struct access {
	struct pair	*p;
	u8		*near;
	size_t		len;
	u64		tag;
	bool		write;
	struct completion begun;
};

static int access_run(void *arg)
{
	struct access *x = arg;

	complete(&x->begun);
	return access_tag(&x->p->a, x->near, x->len, x->tag, CTX(2), x->write);
}

/* Cancel at some stage of an arriving access. Return: was the receive cancelled? */
static bool cancel_one(struct test *t, struct access *x, u8 *far, unsigned int us)
{
	struct worker *w = test_new(t, struct worker);
	comp_t rx = {}, tx = {};
	ssize_t ret;

	memset(x->write ? far : x->near, 0, x->len);
	fill(x->write ? x->near : far, x->len, x->tag);
	init_completion(&x->begun);
	if (!w || expect_tag(&x->p->b, far, x->len, x->tag, CTX(1)) ||
	    worker_start(t, w, -1, access_run, x))
		return false;
	wait_for_completion(&x->begun);
	usleep_range(us, us + 1);
	ret = kfi_cancel(&x->p->b.ep->fid, CTX(1));
	EXPECT(t, ret == 0 || ret == -ENOENT || ret == -EAGAIN);
	EXPECT_EQ(t, worker_join(w, t->w->wait_ms), 0);
	if (WAIT_RX(&x->p->b, &rx) || WAIT_TX(&x->p->a, &tx))
		return false;
	/* Either it was cancelled, and both sides report it, or it was not. */
	EXPECT_EQ(t, rx.err, ret ? 0 : ECANCELED);
	EXPECT_EQ(t, tx.err, ret ? 0 : EACCES);
	EXPECT_EQ(t, rx.flags, ret ? RMA_FLAGS(x->write) | KFI_RECV : KFI_TAGGED | KFI_RECV);
	if (ret)
		EXPECT_DATA(t, x->write ? far : x->near, x->len, x->tag);
	else
		EXPECT_EQ(t, not_all(x->write ? far : x->near, x->len, 0), -1);
	return !ret;
}

/*
 * The receive is cancelled while its data arrives: one entry for each, and no write after a cancel.
 */
static void cancelled(struct test *t)
{
	struct access x = {
		.p = pair_open(t, NULL, NULL),
		.len = min_t(size_t, 1 << 20, t->info[0]->ep_attr->max_msg_size),
	};
	int i, n = t->w->quick ? 32 : 400, in_time = 0;
	u8 *far = test_pages(t, x.len);

	x.near = test_pages(t, x.len);
	REQUIRE(t, x.p);
	for (i = 0; i < n && !t->failures; i++) {
		x.tag = i;
		x.write = i & 1;
		in_time += cancel_one(t, &x, far, test_random(t, 200 * (i % 16) + 1));
	}
	NONE_RX(&x.p->b);
	NONE_TX(&x.p->a);
	pr_info("    # tagged rma: %d of %d in time\n", in_time, n);
}

#define C_TRMA	(C_TAGGED | C_MSG | C_RMA | KFI_TAGGED_RMA)

/*
 * The buffers for messages are used up, so messages wait; bulk data proceeds, in both directions.
 */
static void passes(struct test *t)
{
	struct node_opts multi = {
		.caps = C_TRMA | KFI_MULTI_RECV, .rx_op_flags = KFI_MULTI_RECV | KFI_COMPLETION,
	};
	struct pair *p = pair_open(t, &multi, &multi);
	u8 *near = test_pages(t, 65536), *far = test_pages(t, 65536), *buf = test_pages(t, 4096),
	   *tx = test_pages(t, 4096);
	u32 posted, ended = 0, got = 0;
	comp_t c;
	int i;

	REQUIRE(t, p);
	fill(tx, 1000, 9);
	POST(t, kfi_recv(p->b.ep, buf, 4096, NULL, KFI_ADDR_UNSPEC, CTX(1)));
	for (posted = 0; posted < 64; posted++)
		if (kfi_send(p->a.ep, tx, 1000, NULL, p->a.peer, CTX(3)))
			break;
	EXPECT(t, posted > 4);
	do {	/* until the only buffer is released */
		REQUIRE(t, !WAIT_RX(&p->b, &c));
		got += c.len == 1000;
	} while (!(c.flags & KFI_MULTI_RECV));
	EXPECT_EQ(t, got, 4);
	for (i = 0; i < 20 && !t->failures; i++) {
		bool write = i & 1, back = i & 2;
		struct node *from = back ? &p->b : &p->a, *to = back ? &p->a : &p->b;

		fill(write ? near : far, 65536, i);
		memset(write ? far : near, 0, 65536);
		REQUIRE(t, !expect_tag(to, far, 65536, i, CTX(5)));
		REQUIRE(t, !access_tag(from, near, 65536, i, CTX(2), write));
		do {
			REQUIRE_TX_OK(from, &c);
			ended += c.op_context == CTX(3);
		} while (c.op_context == CTX(3));
		EXPECT_COMP(t, &c, CTX(2), RMA_FLAGS(write) | KFI_SEND);
		REQUIRE_RX(to, &c, CTX(5), RMA_FLAGS(write) | KFI_RECV);
		EXPECT_DATA(t, write ? far : near, 65536, i);
	}
	/* And then the waiting messages. */
	while (got < posted && !t->failures) {
		POST(t, kfi_recv(p->b.ep, buf, 4096, NULL, KFI_ADDR_UNSPEC, CTX(1)));
		do {
			REQUIRE(t, !WAIT_RX(&p->b, &c));
			got += c.len == 1000;
		} while (got < posted && !(c.flags & KFI_MULTI_RECV));
	}
	for (; ended < posted; ended++)
		REQUIRE(t, !WAIT_TX(&p->a, &c));
}

const struct test_case tagged_rma_cases[] = {
	{ "tagged.rma", T_RDM, 0, C_TRMA, .pair = moves },
	{ "tagged.rma_no_receive", T_RDM, 0, C_TRMA, .pair = no_receive },
	{ "tagged.rma_direction", T_RDM, 0, C_TRMA, .pair = direction },
	{ "tagged.rma_refusals", T_RDM, 0, C_TRMA, .pair = refusals },
	{ "tagged.rma_truncated", T_RDM, 0, C_TRMA, .pair = truncated },
	{ "tagged.rma_cancelled", T_RDM, 0, C_TRMA, cancelled },
	{ "tagged.rma_passes", T_RDM, 0, C_TRMA, passes },
	{ }
};
