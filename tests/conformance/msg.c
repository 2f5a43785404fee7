// SPDX-License-Identifier: GPL-2.0
/*
 * Messages.
 */
#include <linux/delay.h>
#include "harness.h"

static void sizes(struct test *t, struct pair *p)
{
	u8 *tx = test_pages(t, size_max(t)), *rx = test_pages(t, size_max(t));
	size_t size;

	for (size = 1; size <= size_max(t); size = size_next(t, size)) {
		if (exchange(&p->a, &p->b, tx, rx, size, size)) {
			FAIL(t, "with %zu bytes", size);
			return;
		}
	}
	/* The longest message; with DGRAM the limit has to be right. */
	if (t->info[0]->ep_attr->max_msg_size <= size_max(t))
		exchange(&p->a, &p->b, tx, rx, t->info[0]->ep_attr->max_msg_size, 1);
	/* Every length of a small message, at every alignment. */
	for (size = 0; size < 300 && !t->failures; size += 7)
		exchange(&p->b, &p->a, tx + size % 9, rx + size % 5, size, size);
}

/* How a message near a border is sent: number of pieces, and whether its receive is posted. */
static int border(struct pair *p, u8 *tx, u8 *rx, size_t len, size_t room, u64 flags)
{
	struct kvec out[] = { { tx, 64 }, { tx + 64, len - 64 } },
		    in[] = { { rx, 64 }, { rx + PAGE_SIZE, room - 64 } };
	struct kfi_msg send = {
		.type = KFI_KVEC, .msg_iov = out, .iov_count = 2, .context = tx, .addr = p->a.peer,
		.data = len,
	};
	struct kfi_msg recv = {
		.type = KFI_KVEC, .msg_iov = in, .iov_count = 2, .context = rx,
		.addr = KFI_ADDR_UNSPEC,
	};
	struct test *t = p->a.t;
	bool late = len & 1;
	size_t n = min(len, room);
	comp_t c;

	fill(tx, len, len);
	memset(rx, 0x5a, 4 * PAGE_SIZE);
	if ((!late && POST(t, kfi_recvmsg(p->b.ep, &recv, KFI_COMPLETION))) ||
	    POST(t, kfi_sendmsg(p->a.ep, &send, KFI_COMPLETION | flags)) ||
	    (late && POST(t, kfi_recvmsg(p->b.ep, &recv, KFI_COMPLETION))) || WAIT_RX(&p->b, &c))
		return -EIO;
	if (len > room)
		EXPECT_ERR(t, &c, rx, KFI_ETRUNC);
	else
		EXPECT_COMP(t, &c, rx, KFI_MSG | KFI_RECV | flags);
	EXPECT_EQ(t, c.len, len);
	memmove(rx + 64, rx + PAGE_SIZE, n - 64);
	EXPECT_DATA(t, rx, n, len);
	EXPECT_EQ(t, not_all(rx + PAGE_SIZE + n - 64, 3 * PAGE_SIZE - n + 64, 0x5a), -1);
	return WAIT_TX(&p->a, &c);
}

/*
 * Lengths around a page, around a page with a header of one or another provider before it, and
 * around the limit above which providers do not send a message in one piece: a small piece and a
 * page, as storage sends them.
 */
static void borders(struct test *t, struct pair *p)
{
	static const size_t at[] = { 4024, 4048, 4056, 4064, 4072, 4080, 4096, 4160,
				     4488, 4512, 4536, 4560, 4568, 4592, 4608, 8192 };
	u8 *tx = test_pages(t, 4 * PAGE_SIZE), *rx = test_pages(t, 4 * PAGE_SIZE);
	size_t len;
	int i;

	for (i = 0; i < 3 * ARRAY_SIZE(at) && !t->failures; i++) {
		len = at[i / 3] - 1 + i % 3;
		if (border(p, tx, rx, len, len, 0) ||
		    border(p, tx, rx, len + 1, len + 1, KFI_REMOTE_CQ_DATA) ||
		    (!test_hw_recv(t) &&
		     (border(p, tx, rx, len, len - 1, 0) || border(p, tx, rx, len, 1000, 0))) ||
		    t->failures)
			FAIL(t, "with %zu bytes", len);
	}
}

static void empty(struct test *t, struct pair *p)
{
	struct kfi_msg msg = {};
	u8 *buf = test_zalloc(t, 64);
	comp_t c;

	memset(buf, 0x5a, 64);
	/* An empty message into a buffer. */
	POST(t, kfi_recv(p->b.ep, buf, 64, NULL, KFI_ADDR_UNSPEC, CTX(1)));
	msg.addr = p->a.peer;
	msg.context = CTX(2);
	REQUIRE(t, !POST(t, kfi_sendmsg(p->a.ep, &msg, KFI_COMPLETION)));
	REQUIRE_TX(&p->a, &c, CTX(2), KFI_MSG | KFI_SEND);
	REQUIRE_RX(&p->b, &c, CTX(1), KFI_MSG | KFI_RECV);
	EXPECT_EQ(t, c.len, 0);
	EXPECT_EQ(t, not_all(buf, 64, 0x5a), -1);
	/* An empty message into an empty buffer. */
	POST(t, kfi_recv(p->b.ep, NULL, 0, NULL, KFI_ADDR_UNSPEC, CTX(3)));
	POST(t, kfi_send(p->a.ep, NULL, 0, NULL, p->a.peer, CTX(4)));
	REQUIRE(t, !WAIT_TX(&p->a, &c) && !WAIT_RX(&p->b, &c));
	EXPECT_COMP(t, &c, CTX(3), KFI_MSG | KFI_RECV);
	EXPECT_EQ(t, c.len, 0);
}

static void remote_data(struct test *t, struct pair *p)
{
	static const u64 data[] = { 0, 1, 0x8000000000000000ULL, 0x0123456789abcdefULL, ~0ULL };
	u64 mask = U64_MAX;
	size_t width;
	u8 *buf = test_zalloc(t, 128);
	comp_t c;
	int i;

	width = t->info[0]->domain_attr->cq_data_size;
	EXPECT(t, width > 0 && width <= 8);
	if (width < 8)
		mask = BIT_ULL(8 * width) - 1;
	for (i = 0; i < ARRAY_SIZE(data); i++) {
		POST(t, kfi_recv(p->b.ep, buf, 64, NULL, KFI_ADDR_UNSPEC, CTX(i)));
		POST(t,
		     kfi_senddata(p->a.ep, buf + 64, i, NULL, data[i] & mask, p->a.peer, CTX(i)));
		REQUIRE_TX(&p->a, &c, CTX(i), KFI_MSG | KFI_SEND);
		REQUIRE_RX(&p->b, &c, CTX(i), KFI_MSG | KFI_RECV | KFI_REMOTE_CQ_DATA);
		EXPECT_EQ(t, c.data, data[i] & mask);
		EXPECT_EQ(t, c.len, i);
	}
}

/* Sends first, receives later: no message is lost, and the order is kept. */
static void unexpected(struct test *t, struct pair *p)
{
	size_t step = 3000;
	int i, n = 16;
	u8 *tx = test_pages(t, n * step), *rx = test_pages(t, n * step);
	comp_t c;

	for (i = 0; i < n; i++) {
		fill(tx + i * step, step, i);
		REQUIRE(t, !POST(t, kfi_send(p->a.ep, tx + i * step, step - i, NULL, p->a.peer,
					     CTX(i))));
	}
	msleep(100);
	for (i = 0; i < n; i++)
		REQUIRE(t, !POST(t, kfi_recv(p->b.ep, rx + i * step, step, NULL,
					     KFI_ADDR_UNSPEC, CTX(i))));
	for (i = 0; i < n; i++) {
		REQUIRE_RX(&p->b, &c, CTX(i), KFI_MSG | KFI_RECV);
		EXPECT_EQ(t, c.len, step - i);
		EXPECT_DATA(t, rx + i * step, step - i, i);
		REQUIRE_TX(&p->a, &c, CTX(i), KFI_MSG | KFI_SEND);
	}
}

/* The receiver does not know the sender yet when the message comes. */
static void unexpected_unknown_sender(struct test *t)
{
	struct pair *p = test_new(t, struct pair);
	u8 *tx = test_pages(t, 4096), *rx = test_pages(t, 4096);
	comp_t c;

	REQUIRE(t, !node_open_ep(t, &p->a, 0, NULL) && !node_open_ep(t, &p->b, 1, NULL));
	REQUIRE(t, !node_insert(&p->a, &p->b, &p->a.peer));
	fill(tx, 2000, 1);
	REQUIRE(t, !POST(t, kfi_send(p->a.ep, tx, 2000, NULL, p->a.peer, tx)));
	msleep(100);
	REQUIRE(t, !node_insert(&p->b, &p->a, &p->b.peer));
	REQUIRE(t, !POST(t, kfi_recv(p->b.ep, rx, 4096, NULL, KFI_ADDR_UNSPEC, rx)));
	REQUIRE(t, !WAIT_RX(&p->b, &c) && !WAIT_TX(&p->a, &c));
	EXPECT_DATA(t, rx, 2000, 1);
	still_works(p);
}

/**
 * struct queue - many messages at a time, of which the n-th has to be received by the n-th receive.
 * The order of the two completions is not defined.
 * @len: length of each message
 * @state: of each message: SENT and GOT once its two completions have come
 * @posted: sends and receives that were posted
 * @received: receives that were posted
 * @first: all before this one are complete on both sides
 */
struct queue {
	struct pair	*p;
	u8		*tx, *rx;
	size_t		max;
	u32		*len;
	u8		*state;
	u32		n, posted, received, first;
};

enum { SENT = 1, GOT = 2, OVER = 3 };

#define DEPTH	32

static void queue_post(struct queue *q)
{
	struct pair *p = q->p;
	u32 end = min(q->n, q->first + DEPTH);

	while (q->received < end &&
	       !kfi_recv(p->b.ep, q->rx + q->received % DEPTH * q->max, q->max, NULL,
			 KFI_ADDR_UNSPEC, CTX(q->received)))
		q->received++;
	for (; q->posted < end; q->posted++) {
		u8 *tx = q->tx + q->posted % DEPTH * q->max;

		fill(tx, q->len[q->posted], q->posted);
		if (kfi_send(p->a.ep, tx, q->len[q->posted], NULL, p->a.peer, CTX(q->posted)))
			break;
	}
}

static bool queue_ended(struct queue *q, const comp_t *c, u8 what)
{
	struct test *t = q->p->a.t;
	unsigned long which = (unsigned long)c->op_context;

	if (!EXPECT_EQ(t, c->err, 0) || !EXPECT(t, which < q->n) ||
	    !EXPECT_EQ(t, q->state[which] & what, 0))
		return false;
	q->state[which] |= what;
	while (q->first < q->n && q->state[q->first] == OVER)
		q->first++;
	if (what == SENT)
		return true;
	return EXPECT_EQ(t, c->len, q->len[which]) &&
	       EXPECT_DATA(t, q->rx + which % DEPTH * q->max, c->len, which);
}

/* Long and short messages mixed keep their order. */
static void in_order(struct test *t)
{
	struct queue *q = test_new(t, struct queue);
	unsigned long until;
	comp_t c;
	u32 i;

	q->p = pair_open(t, NULL, NULL);
	q->n = t->w->quick ? 200 : 2000;
	q->max = min_t(size_t, 20000, t->info[0]->ep_attr->max_msg_size);
	q->tx = test_pages(t, DEPTH * q->max);
	q->rx = test_pages(t, DEPTH * q->max);
	q->len = test_zalloc(t, q->n * sizeof(*q->len));
	q->state = test_zalloc(t, q->n);
	REQUIRE(t, q->p && q->tx && q->rx && q->len && q->state);
	for (i = 0; i < q->n; i++)
		q->len[i] = 1 + test_random(t, i % 5 ? 200 : q->max);
	until = jiffies + msecs_to_jiffies(2 * t->w->wait_ms);
	while (q->first < q->n && !t->failures && time_before(jiffies, until)) {
		queue_post(q);
		while (comp_poll(&q->p->a, q->p->a.txcq, &c) == 1)
			if (!queue_ended(q, &c, SENT))
				return;
		while (comp_poll(&q->p->b, q->p->b.rxcq, &c) == 1)
			if (!queue_ended(q, &c, GOT))
				return;
		cond_resched();
	}
	EXPECT_EQ(t, q->first, q->n);
	NONE_TX(&q->p->a);
	NONE_RX(&q->p->b);
}

/* More than a provider may collect for one write, then payload of its own between short frames. */
static size_t more_len(int i)
{
	return i < 32 ? 1000 : i % 3 ? 64 : 3000;
}

/* Posted together with KFI_MORE; the last one without the flag sends all. */
static void more(struct test *t, struct pair *p)
{
	u8 *tx = test_zalloc(t, 64 * SZ_4K), *rx = test_zalloc(t, 64 * SZ_4K);
	struct kfi_msg msg = { .type = KFI_KVEC, .iov_count = 1 };
	struct kvec iov;
	comp_t c;
	int i, n = 64;

	fill(tx, n * SZ_4K, 3);
	for (i = 0; i < n; i++)
		REQUIRE(t, !POST(t, kfi_recv(p->b.ep, rx + i * SZ_4K, SZ_4K, NULL, KFI_ADDR_UNSPEC,
					     CTX(i))));
	msg.msg_iov = &iov;
	msg.addr = p->a.peer;
	for (i = 0; i < n; i++) {
		iov = (struct kvec) { tx + i * SZ_4K, more_len(i) };
		msg.context = CTX(i);
		REQUIRE(t, !POST(t, kfi_sendmsg(p->a.ep, &msg, KFI_COMPLETION |
						(i < n - 1 ? KFI_MORE : 0))));
	}
	for (i = 0; i < n; i++) {
		REQUIRE_RX(&p->b, &c, CTX(i), KFI_MSG | KFI_RECV);
		EXPECT_EQ(t, c.len, more_len(i));
		REQUIRE(t, !WAIT_TX(&p->a, &c));
		EXPECT(t, !memcmp(rx + i * SZ_4K, tx + i * SZ_4K, more_len(i)));
	}
}

/* ---- vectors ---- */

static const enum kfi_iov_type types[] = { KFI_KVEC, KFI_BVEC, KFI_SGL };

static void one_cut(struct pair *p, int txtype, int rxtype, size_t len, size_t segs)
{
	struct test *t = p->a.t;
	size_t txoff = test_random(t, 4095), rxoff = test_random(t, 4095);
	size_t room = len + 2 * PAGE_SIZE;
	u8 *tx = test_pages(t, room), *rx = test_pages(t, room);
	struct cut out = {}, in = {};
	comp_t c;

	memset(rx, 0x5a, room);
	fill(tx + txoff, len, len);
	if (cut(&p->a, &out, types[txtype], tx + txoff, len,
		min(segs, t->info[0]->tx_attr->iov_limit), true) ||
	    cut(&p->b, &in, types[rxtype], rx + rxoff, len,
		min(segs, t->info[1]->rx_attr->iov_limit), false))
		return;
	if (!recv_cut(&p->b, &in, CTX(1), KFI_COMPLETION) &&
	    !send_cut(&p->a, &out, CTX(2), KFI_COMPLETION) &&
	    !WAIT_TX(&p->a, &c) && !WAIT_RX(&p->b, &c)) {
		EXPECT_COMP(t, &c, CTX(1), KFI_MSG | KFI_RECV);
		EXPECT_EQ(t, c.len, len);
	}
	uncut(&p->a, &out);
	uncut(&p->b, &in);
	EXPECT_DATA(t, rx + rxoff, len, len);
	/* Memory beside it was not changed. */
	EXPECT_EQ(t, not_all(rx, rxoff, 0x5a), -1);
	EXPECT_EQ(t, not_all(rx + rxoff + len, room - rxoff - len, 0x5a), -1);
	if (t->failures)
		FAIL(t, "with %zu bytes, kinds %d to %d, %zu to %zu segments", len,
		     types[txtype], types[rxtype], out.count, in.count);
}

static void vectors(struct test *t, struct pair *p)
{
	size_t max = min_t(size_t, t->w->quick ? 100000 : 500000,
			   t->info[0]->ep_attr->max_msg_size);
	int i, rounds = t->w->quick ? 2 : 6;

	/* All pairs of kinds, a few random cuts each. */
	for (i = 0; i < 9 * rounds && !t->failures; i++) {
		size_t limit = t->info[0]->tx_attr->iov_limit * PAGE_SIZE / 2;
		size_t len = 1 + test_random(t, min(max, limit));

		one_cut(p, i % 3, i / 3 % 3, len, 1 + test_random(t, 256));
	}
	/* As many segments as are permitted. */
	for (i = 0; i < 3 && !t->failures; i++)
		one_cut(p, i, (i + 1) % 3, min_t(size_t, max, 6000), 1024);
}

static void too_many_segments(struct test *t, struct pair *p)
{
	size_t n = t->info[0]->tx_attr->iov_limit + 1, m = t->info[1]->rx_attr->iov_limit + 1, i;
	struct kvec *iov = test_zalloc(t, max(n, m) * sizeof(*iov));
	u8 *buf = test_zalloc(t, 64);

	for (i = 0; i < max(n, m); i++)
		iov[i] = (struct kvec){ buf, 1 };
	EXPECT_EQ(t, kfi_sendv(p->a.ep, iov, NULL, n, p->a.peer, NULL), -EINVAL);
	EXPECT_EQ(t, kfi_recvv(p->b.ep, iov, NULL, m, KFI_ADDR_UNSPEC, NULL), -EINVAL);
	still_works(p);
}

/* Slab memory: its pages must not be passed to a socket. */
static void slab_memory(struct test *t, struct pair *p)
{
	size_t len = min_t(size_t, 16000, t->info[0]->ep_attr->max_msg_size);
	u8 *tx = kmalloc(len, GFP_KERNEL), *rx = test_zalloc(t, len);
	comp_t c;
	int i;

	for (i = 0; tx && i < 20 && !t->failures; i++) {
		fill(tx, len, i);
		memset(rx, 0, len);
		POST(t, kfi_recv(p->b.ep, rx, len, NULL, KFI_ADDR_UNSPEC, rx));
		POST(t, kfi_send(p->a.ep, tx, len, NULL, p->a.peer, tx));
		if (WAIT_TX(&p->a, &c))
			break;
		EXPECT_EQ(t, c.err, 0);
		/* The buffer is the sender's again: free it at once. */
		memset(tx, 0xff, len);
		kfree(tx);
		tx = kmalloc(len, GFP_KERNEL);
		if (WAIT_RX(&p->b, &c))
			break;
		EXPECT_DATA(t, rx, len, i);
	}
	EXPECT_EQ(t, i, 20);
	if (p->a.ep && !test_close(t, &p->a.ep->fid))
		p->a.ep = NULL;
	kfree(tx);
}

/*
 * Of pages that were allocated together, and not as a compound page, only the first has a reference
 * of its own, so a socket can't take the others.
 */
static void plain_pages(struct test *t, struct pair *p)
{
	size_t len = min_t(size_t, 4 * PAGE_SIZE, t->info[0]->ep_attr->max_msg_size);
	u8 *tx = (u8 *)__get_free_pages(GFP_KERNEL, 2), *rx = test_zalloc(t, len);
	struct bio_vec bv;
	comp_t c;

	if (EXPECT(t, tx)) {
		fill(tx, len, 1);
		bvec_set_page(&bv, virt_to_page(tx), len, 0);
		POST(t, kfi_recv(p->b.ep, rx, len, NULL, KFI_ADDR_UNSPEC, rx));
		POST(t, kfi_sendbv(p->a.ep, &bv, NULL, 1, p->a.peer, tx));
		if (!WAIT_TX(&p->a, &c))
			EXPECT_EQ(t, c.err, 0);
		if (!WAIT_RX(&p->b, &c))
			EXPECT_DATA(t, rx, len, 1);
	}
	if (p->a.ep && !test_close(t, &p->a.ep->fid))
		p->a.ep = NULL;
	free_pages((unsigned long)tx, 2);
}

static void truncated(struct test *t, struct pair *p)
{
	static const size_t lens[] = { 65, 4096, 100000 };
	u8 *tx = test_pages(t, 100000), *rx = test_pages(t, 4096);
	comp_t c;
	int i;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		if (lens[i] > t->info[0]->ep_attr->max_msg_size)
			break;
		fill(tx, lens[i], i);
		memset(rx, 0x5a, 4096);
		POST(t, kfi_recv(p->b.ep, rx, 64, NULL, KFI_ADDR_UNSPEC, rx));
		REQUIRE(t, !POST(t, kfi_send(p->a.ep, tx, lens[i], NULL, p->a.peer, tx)));
		REQUIRE_RX_ERR(&p->b, &c, rx, KFI_ETRUNC);
		EXPECT_EQ(t, c.flags, KFI_MSG | KFI_RECV);
		/* The length of the message, and how much did not fit. */
		EXPECT_EQ(t, c.len, lens[i]);
		EXPECT_EQ(t, c.olen, lens[i] - 64);
		EXPECT_DATA(t, rx, 64, i);
		EXPECT_EQ(t, not_all(rx + 64, 4096 - 64, 0x5a), -1);
		/* The sender is not responsible, but its send ends. */
		REQUIRE(t, !WAIT_TX(&p->a, &c));
		EXPECT(t, c.err == 0 || c.err == KFI_ETRUNC);
	}
	still_works(p);
}

/* ---- completion levels ---- */

/* Is the level offered for this type? */
static bool has_level(struct test *t, u64 level)
{
	struct kfi_info *hints = test_hints(t, C_MSG), *info;
	int ret;

	hints->tx_attr->op_flags = level;
	ret = test_answer(t, 0, hints, &info);
	if (ret) {
		EXPECT_EQ(t, ret, -ENODATA);
		return false;
	}
	EXPECT(t, info->tx_attr->op_flags & level);
	kfi_freeinfo(info);
	return true;
}

static void run_level(struct test *t)
{
	u64 level = case_num(t);
	struct kfi_msg msg = { .type = KFI_KVEC, .iov_count = 1, .context = CTX(7) };
	size_t len = min_t(size_t, 8192, t->info[0]->ep_attr->max_msg_size);
	struct pair *p;
	struct kvec iov;
	u8 *tx, *rx;
	comp_t c;
	int i;

	if (!has_level(t, level)) {
		test_skip(t, "getinfo refuses completion level %#llx", level);
		return;
	}
	p = pair_open(t, NULL, NULL);
	tx = test_pages(t, 8192);
	rx = test_pages(t, 8192);
	REQUIRE(t, p);
	iov = (struct kvec){ tx, len };
	msg.msg_iov = &iov;
	msg.addr = p->a.peer;
	for (i = 0; i < 20 && !t->failures; i++) {
		fill(tx, len, i);
		memset(rx, 0, len);
		POST(t, kfi_recv(p->b.ep, rx, len, NULL, KFI_ADDR_UNSPEC, CTX(i)));
		REQUIRE(t, !POST(t, kfi_sendmsg(p->a.ep, &msg, KFI_COMPLETION | level)));
		REQUIRE_TX(&p->a, &c, CTX(7), KFI_MSG | KFI_SEND);
		/* Delivered means that the data is there. The buffer may be reused in any case. */
		if (level == KFI_DELIVERY_COMPLETE)
			EXPECT_DATA(t, rx, len, i);
		memset(tx, 0, len);
		REQUIRE(t, !WAIT_RX(&p->b, &c));
		EXPECT_DATA(t, rx, len, i);
	}
}

/* A level that was not granted is refused by a post as well. */
static void no_commit(struct test *t, struct pair *p)
{
	struct kfi_msg msg = {};

	msg.addr = p->a.peer;
	/* Commit has no meaning for a message. */
	EXPECT_EQ(t, kfi_sendmsg(p->a.ep, &msg, KFI_COMPLETION | KFI_COMMIT_COMPLETE),
		  -KFI_EBADFLAGS);
	still_works(p);
}

/* One endpoint, several peers. */
static void several_peers(struct test *t)
{
	struct node *hub = test_new(t, struct node), *peer = test_zalloc(t, 4 * sizeof(*peer));
	bool local = t->info[0]->caps & KFI_LOCAL_COMM;
	kfi_addr_t addr[4];
	int i, round;

	REQUIRE(t, !node_open_ep(t, hub, 0, NULL));
	for (i = 0; i < 4; i++) {
		REQUIRE(t, !node_open_ep(t, &peer[i], !local || i & 1, NULL));
		REQUIRE(t, !node_insert(hub, &peer[i], &addr[i]));
		REQUIRE(t, !node_insert(&peer[i], hub, &peer[i].peer));
	}
	for (round = 0; round < 3; round++) {
		for (i = 0; i < 4 && !t->failures; i++) {
			hub->peer = addr[i];
			transfer(hub, &peer[i], 700 + i, 10 * round + i);
			transfer(&peer[i], hub, 7000 + i, 20 * round + i);
		}
	}
}

/*
 * Guests come, get an answer, and are closed: more of them than a provider may remember at once
 * (tests/conformance/inside sets a small limit). Some stay in the host's address vector, and can
 * still be used.
 */
static void come_and_go(struct test *t)
{
	struct node *host = test_new(t, struct node), *guest = test_new(t, struct node);
	int i, n = t->w->quick ? 24 : 72;
	kfi_addr_t first = KFI_ADDR_UNSPEC;
	comp_t c;

	REQUIRE(t, !node_open_ep(t, host, 0, NULL));
	for (i = 0; i < n && !t->failures; i++) {
		REQUIRE(t, !node_open_ep(t, guest, 1, NULL));
		REQUIRE(t, !node_insert(host, guest, &host->peer));
		REQUIRE(t, !node_insert(guest, host, &guest->peer));
		transfer(guest, host, 100, i);
		transfer(host, guest, 200, i);
		if (!i)
			first = host->peer;
		else if (i % 2)
			EXPECT_EQ(t, kfi_av_remove(host->av, &host->peer, 1, 0), 0);
		node_close(guest);
	}
	REQUIRE(t, !t->failures);
	host->peer = first;
	POST(t, kfi_send(host->ep, &i, 1, NULL, first, CTX(1)));
	REQUIRE(t, !comp_wait_ms(t, host, host->txcq, &c, t->w->loss_ms, __FILE__, __LINE__));
	EXPECT(t, c.op_context == CTX(1));
	EXPECT(t, c.err == EHOSTUNREACH || c.err == ENOTCONN || c.err == ECONNREFUSED);
}

#define REFUSED_MS	3000	/* less than any time-out of a provider */

/* The peer's machine is there, and no endpoint has the address: the sender is told at once. */
static void nobody(struct test *t)
{
	struct node *a = test_new(t, struct node), *b = test_new(t, struct node);
	u8 *buf = test_zalloc(t, 8);
	comp_t c;

	REQUIRE(t, !node_open_ep(t, a, 0, NULL) && !node_open_ep(t, b, 1, NULL));
	REQUIRE(t, !node_insert(a, b, &a->peer));
	node_close(b);
	REQUIRE(t, !POST(t, kfi_send(a->ep, buf, 8, NULL, a->peer, CTX(1))));
	REQUIRE(t, !comp_wait_ms(t, a, a->txcq, &c, REFUSED_MS, __FILE__, __LINE__));
	EXPECT(t, c.op_context == CTX(1));
	EXPECT_EQ(t, c.err, ECONNREFUSED);
}

/* An endpoint may send to itself, unless the provider reaches other machines only. */
static void to_self(struct test *t)
{
	struct node *n = test_new(t, struct node);
	comp_t c;
	int i;

	REQUIRE(t, !node_open_ep(t, n, 0, NULL) && !node_insert(n, n, &n->peer));
	if (!(n->info->caps & KFI_LOCAL_COMM)) {
		POST(t, kfi_send(n->ep, &i, sizeof(i), NULL, n->peer, CTX(1)));
		REQUIRE_TX_ERR(n, &c, CTX(1), EHOSTUNREACH);
		return;
	}
	for (i = 0; i < 5 && !t->failures; i++) {
		transfer(n, n, 100, i);
		transfer(n, n, 70000, i);
	}
}

const struct test_case msg_cases[] = {
	{ "msg.sizes", T_ALL, 0, C_MSG, .pair = sizes },
	{ "msg.borders", T_REL, 0, C_MSG, .pair = borders },
	{ "msg.empty", T_ALL, 0, C_MSG, .pair = empty },
	{ "msg.remote_data", T_ALL, 0, C_MSG, .pair = remote_data },
	{ "msg.unexpected", T_REL, 0, C_MSG, .pair = unexpected },
	{ "msg.unexpected_unknown_sender", T_RDM, 0, C_MSG, unexpected_unknown_sender },
	{ "msg.in_order", T_REL, 0, C_MSG, in_order },
	{ "msg.more", T_REL, 0, C_MSG, .pair = more },
	{ "msg.vectors", T_ALL, 0, C_MSG, .pair = vectors },
	{ "msg.too_many_segments", T_ALL, 0, C_MSG, .pair = too_many_segments },
	{ "msg.slab_memory", T_REL, 0, C_MSG, .pair = slab_memory },
	{ "msg.plain_pages", T_REL, 0, C_MSG, .pair = plain_pages },
	{ "msg.truncated", T_ALL, CASE_MATCHING, C_MSG, .pair = truncated },
	{ "msg.inject_complete", T_ALL, 0, C_MSG, run_level, CASE_NUM(KFI_INJECT_COMPLETE) },
	{ "msg.transmit_complete", T_ALL, 0, C_MSG, run_level, CASE_NUM(KFI_TRANSMIT_COMPLETE) },
	{ "msg.delivery_complete", T_REL, CASE_CHECKED, C_MSG, run_level,
	  CASE_NUM(KFI_DELIVERY_COMPLETE) },
	{ "msg.no_commit", T_REL, 0, C_MSG, .pair = no_commit },
	{ "msg.several_peers", T_RDM | T_DGRAM, 0, C_MSG, several_peers },
	{ "msg.to_self", T_RDM, 0, C_MSG, to_self },
	{ "msg.come_and_go", T_RDM, 0, C_MSG, come_and_go },
	{ "msg.nobody", T_RDM, 0, C_MSG, nobody },
	{ }
};
