// SPDX-License-Identifier: GPL-2.0
/*
 * One buffer for many messages.
 */
#include <linux/delay.h>
#include "harness.h"

#define C_MULTI	(C_MSG | KFI_MULTI_RECV)

ssize_t recv_multi(struct kfid_ep *ep, void *buf, size_t len, void *ctx)
{
	struct kvec iov = { buf, len };
	struct kfi_msg msg = {
		.type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1,
		.addr = KFI_ADDR_UNSPEC, .context = ctx,
	};

	return kfi_recvmsg(ep, &msg, KFI_MULTI_RECV | KFI_COMPLETION);
}

static int post_multi(struct node *n, void *buf, size_t len, void *ctx)
{
	return POST(n->t, recv_multi(n->ep, buf, len, ctx));
}

static int set_min(struct node *n)
{
	size_t min = (size_t)n->opts.arg;
	int ret = kfi_setopt(&n->ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_MIN_MULTI_RECV, &min,
			     sizeof(min));

	EXPECT_EQ(n->t, ret, 0);
	return ret;
}

static struct pair *open_min(struct test *t, size_t min)
{
	struct node_opts opts = { .before_enable = set_min, .arg = (void *)min };

	return pair_open(t, NULL, &opts);
}

static int send_one(struct node *a, u8 *tx, size_t len, u64 seed)
{
	comp_t c;

	fill(tx, len, seed);
	if (POST(a->t, kfi_send(a->ep, tx, len, NULL, a->peer, CTX(9))) || WAIT_TX(a, &c))
		return -EIO;
	EXPECT_COMP(a->t, &c, CTX(9), KFI_MSG | KFI_SEND);
	return 0;
}

#define CHAIN		1000
/* bytes beyond a buffer, so that only a full buffer is regarded as full */
#define CHAIN_PLAN	(CHAIN + 64)
#define CHAIN_BUFS	4
#define CHAIN_MIN	512

static size_t chain_len(int i)
{
	return 100 + i % 300;
}

/* State of one run: the lengths alone determine where each message has to be placed. */
struct chain {
	/* of the messages in the buffer that was posted as the n-th */
	int	first[CHAIN_PLAN];
	int	post[CHAIN_BUFS];	/* the n of a buffer's present use */
	int	left[CHAIN_BUFS];	/* messages that have not come to it in that use */
	bool	seen[CHAIN];
	int	posts;
};

static void chain_plan(struct chain *c)
{
	size_t room = 0;
	int i, buf = 0;

	for (i = 0; i < CHAIN_PLAN; i++) {
		if (room < CHAIN_MIN) {
			c->first[buf++] = i;
			room = 4096;
		}
		room -= chain_len(i);
	}
	while (buf < CHAIN_PLAN)
		c->first[buf++] = CHAIN_PLAN;
}

static int chain_post(struct chain *c, struct node *n, u8 *rx, int buf)
{
	int post = c->posts++;

	memset(rx + 4096 * buf, 0, 4096);
	c->post[buf] = post;
	c->left[buf] = c->first[post + 1] - c->first[post];
	return post_multi(n, rx + 4096 * buf, 4096, CTX(buf));
}

/*
 * Return the message that belongs to the place of this entry, or -1. Messages are placed in the
 * order in which they were sent. They may be reported in another order: one CPU reports those that
 * came before their buffer, and another those that came after it.
 */
static int chain_message(const struct chain *c, int buf, size_t at)
{
	int i, end = c->first[c->post[buf] + 1];
	size_t pos = 0;

	for (i = c->first[c->post[buf]]; i < end && pos < at; i++)
		pos += chain_len(i);
	return i < end && pos == at ? i : -1;
}

static void chain_event(struct test *t, struct chain *c, struct node *n, u8 *tx, u8 *rx,
			const comp_t *comp)
{
	size_t at = (u8 *)comp->buf - rx;
	int buf = at / 4096, i;
	bool last;

	REQUIRE(t, !comp->err && at < 4096 * CHAIN_BUFS);
	i = chain_message(c, buf, at % 4096);
	REQUIRE(t, i >= 0 && !c->seen[i]);
	c->seen[i] = true;
	last = !--c->left[buf];		/* whichever message that entry is for */
	EXPECT_COMP(t, comp, CTX(buf), KFI_MSG | KFI_RECV | (last ? KFI_MULTI_RECV : 0));
	EXPECT_EQ(t, comp->len, chain_len(i));
	EXPECT(t, !memcmp(comp->buf, tx + i % 5, comp->len));
	if (last)
		REQUIRE(t, !chain_post(c, n, rx, buf));
}

/* When one buffer is full the next one is used; no message is lost in between. */
static void chained(struct test *t)
{
	struct pair *p = open_min(t, CHAIN_MIN);
	u8 *tx = test_pages(t, 512), *rx = test_pages(t, CHAIN_BUFS * 4096);
	struct chain *chain = test_zalloc(t, sizeof(*chain));
	int i, n = t->w->quick ? CHAIN / 5 : CHAIN, got = 0, sent = 0, ended = 0;
	unsigned long until = jiffies + msecs_to_jiffies(2 * t->w->wait_ms);
	comp_t c;

	REQUIRE(t, p);
	fill(tx, 512, 5);
	chain_plan(chain);
	for (i = 0; i < CHAIN_BUFS; i++)
		REQUIRE(t, !chain_post(chain, &p->b, rx, i));
	while ((got < n || ended < n) && !t->failures && time_before(jiffies, until)) {
		if (sent < n &&
		    !kfi_send(p->a.ep, tx + sent % 5, chain_len(sent), NULL, p->a.peer, CTX(sent)))
			sent++;
		if (comp_poll(&p->a, p->a.txcq, &c) == 1)
			EXPECT_COMP(t, &c, CTX(ended++), KFI_MSG | KFI_SEND);
		if (comp_poll(&p->b, p->b.rxcq, &c) != 1)
			continue;
		got++;
		chain_event(t, chain, &p->b, tx, rx, &c);
	}
	EXPECT_EQ(t, got, n);
	EXPECT_EQ(t, ended, n);
	EXPECT(t, chain->posts > CHAIN_BUFS + 3);
}

/* All messages that have waited go into the buffer when it is posted. */
static void unexpected(struct test *t)
{
	struct pair *p = open_min(t, 64);
	u8 *tx = test_pages(t, 64 * 8), *rx = test_pages(t, 4096);
	comp_t c;
	int i;

	REQUIRE(t, p);
	fill(tx, 64 * 8, 1);
	for (i = 0; i < 8; i++)
		REQUIRE(t, !POST(t, kfi_send(p->a.ep, tx + 64 * i, 64, NULL, p->a.peer, CTX(i))));
	msleep(100);
	REQUIRE(t, !post_multi(&p->b, rx, 4096, rx));
	for (i = 0; i < 8; i++) {
		REQUIRE_RX(&p->b, &c, rx, KFI_MSG | KFI_RECV);
		EXPECT(t, !memcmp(c.buf, tx + 64 * i, 64));
		REQUIRE(t, !WAIT_TX(&p->a, &c));
	}
	/* It is still posted: its end is reported once. */
	EXPECT_EQ(t, kfi_cancel(&p->b.ep->fid, rx), 0);
	REQUIRE_RX_ERR(&p->b, &c, rx, ECANCELED);
	NONE_RX(&p->b);
}

/*
 * A message too long for the rest of the buffer goes to the next one, and an entry without a
 * message releases this buffer.
 */
static void next_buffer(struct test *t)
{
	struct pair *p = open_min(t, 64);
	u8 *tx = test_pages(t, 2048), *rx = test_pages(t, 4096), *next = test_zalloc(t, 1000);
	comp_t c;

	REQUIRE(t, p);
	memset(rx, 0x5a, 4096);
	REQUIRE(t, !post_multi(&p->b, rx, 1000, CTX(1)));
	REQUIRE(t, !send_one(&p->a, tx, 700, 1) && !WAIT_RX(&p->b, &c));
	EXPECT_COMP(t, &c, CTX(1), KFI_MSG | KFI_RECV);
	fill(tx, 500, 2);
	REQUIRE(t, !POST(t, kfi_send(p->a.ep, tx, 500, NULL, p->a.peer, CTX(3))));
	REQUIRE_RX(&p->b, &c, CTX(1), KFI_MULTI_RECV);
	EXPECT_EQ(t, c.len, 0);
	EXPECT_EQ(t, not_all(rx + 700, 4096 - 700, 0x5a), -1);
	EXPECT_DATA(t, rx, 700, 1);
	REQUIRE(t, !post_multi(&p->b, next, 1000, CTX(2)));
	REQUIRE(t, !WAIT_RX(&p->b, &c) && c.buf == next);
	EXPECT_COMP(t, &c, CTX(2), KFI_MSG | KFI_RECV);
	EXPECT_EQ(t, c.len, 500);
	EXPECT_DATA(t, next, 500, 2);
	REQUIRE(t, !WAIT_TX(&p->a, &c));
	NONE_RX(&p->b);
}

/* A message too long for a whole buffer is truncated, with true lengths, and ends the buffer. */
static void truncated(struct test *t)
{
	struct pair *p = open_min(t, 64);
	u8 *tx = test_pages(t, 2048), *rx = test_pages(t, 4096);
	comp_t c;

	REQUIRE(t, p);
	memset(rx, 0x5a, 4096);
	REQUIRE(t, !post_multi(&p->b, rx, 1000, rx));
	fill(tx, 1500, 2);
	REQUIRE(t, !POST(t, kfi_send(p->a.ep, tx, 1500, NULL, p->a.peer, CTX(1))));
	REQUIRE_RX_ERR(&p->b, &c, rx, KFI_ETRUNC);
	EXPECT_EQ(t, c.flags, KFI_MSG | KFI_RECV | KFI_MULTI_RECV);
	EXPECT_EQ(t, c.len, 1500);
	EXPECT_EQ(t, c.olen, 500);
	EXPECT_DATA(t, rx, 1000, 2);
	EXPECT_EQ(t, not_all(rx + 1000, 3096, 0x5a), -1);
	REQUIRE(t, !WAIT_TX(&p->a, &c));
	still_works(p);
}

/*
 * Filled to the last byte, and to one byte less than the minimum: that message releases it, not an
 * earlier one.
 */
static void exactly_full(struct test *t)
{
	static const struct { size_t min, first, second; bool released; } rows[] = {
		{ 24, 1000, 24, true },		/* no byte is left */
		{ 64, 960, 1, true },		/* 63 bytes are left */
		{ 64, 959, 1, false },		/* 64 are left: one more message may come */
		{ 1, 1000, 24, true },
		{ 1, 1000, 23, false },
		/* a full buffer is released, whatever the minimum */
		{ 0, 1000, 24, true },
	};
	u8 *tx = test_pages(t, 1024), *rx = test_pages(t, 4096);
	struct pair *p;
	comp_t c;
	int i;

	for (i = 0; i < ARRAY_SIZE(rows) && !t->failures; i++) {
		p = open_min(t, rows[i].min);
		REQUIRE(t, p);
		memset(rx, 0x5a, 4096);
		REQUIRE(t, !post_multi(&p->b, rx, 1024, CTX(7)));
		REQUIRE(t, !send_one(&p->a, tx, rows[i].first, i) && !WAIT_RX(&p->b, &c));
		EXPECT_COMP(t, &c, CTX(7), KFI_MSG | KFI_RECV);
		REQUIRE(t, !send_one(&p->a, tx, rows[i].second, i + 50) && !WAIT_RX(&p->b, &c));
		EXPECT_COMP(t, &c, CTX(7),
			    KFI_MSG | KFI_RECV | (rows[i].released ? KFI_MULTI_RECV : 0));
		EXPECT_DATA(t, rx, rows[i].first, i);
		EXPECT_DATA(t, c.buf, rows[i].second, i + 50);
		EXPECT_EQ(t, not_all(rx + 1024, 4096 - 1024, 0x5a), -1);
		NONE_RX(&p->b);
		EXPECT_EQ(t, kfi_cancel(&p->b.ep->fid, CTX(7)), rows[i].released ? -ENOENT : 0);
		if (!rows[i].released) {
			REQUIRE_RX_ERR(&p->b, &c, CTX(7), ECANCELED);
			EXPECT_EQ(t, c.flags, KFI_MSG | KFI_RECV | KFI_MULTI_RECV);
		}
		node_close(&p->a);
		node_close(&p->b);
	}
}

/*
 * Cancelled while messages arrive: each of them is reported before the buffer's last entry, or goes
 * to the next buffer.
 */
static void cancelled(struct test *t)
{
	size_t len = min_t(size_t, 100000, t->info[0]->ep_attr->max_msg_size), room = 16 * len;
	u8 *tx = test_pages(t, len), *rx = test_pages(t, room), *next = test_pages(t, room);
	int i, n = t->w->quick ? 20 : 200, got, over;
	struct pair *p = open_min(t, 64);
	comp_t c;

	REQUIRE(t, p);
	fill(tx, len, 3);
	for (i = 0; i < n && !t->failures; i++) {
		REQUIRE(t, !post_multi(&p->b, rx, room, CTX(1)));
		for (got = 0; got < 8; got++)
			REQUIRE(t, !POST(t, kfi_send(p->a.ep, tx, got & 1 ? len : 300, NULL,
						     p->a.peer, CTX(9))));
		if (i % 3)
			usleep_range(100 * i, 100 * i + 1);
		EXPECT_EQ(t, kfi_cancel(&p->b.ep->fid, CTX(1)), 0);
		memset(next, 0, room);
		REQUIRE(t, !post_multi(&p->b, next, room, CTX(2)));
		for (got = 0, over = 0; (got < 8 || !over) && !t->failures;) {
			REQUIRE(t, !WAIT_RX(&p->b, &c));
			EXPECT(t, !over || c.op_context == CTX(2));
			EXPECT(t, c.err == 0 || (c.err == ECANCELED && c.op_context == CTX(1)));
			if (!c.err && c.flags & KFI_RECV) {
				EXPECT(t, !memcmp(c.buf, tx, c.len));
				got++;
			}
			over += !!(c.flags & KFI_MULTI_RECV);
		}
		EXPECT_EQ(t, over, 1);
		EXPECT_EQ(t, kfi_cancel(&p->b.ep->fid, CTX(2)), 0);
		REQUIRE_RX_ERR(&p->b, &c, CTX(2), ECANCELED);
		for (got = 0; got < 8; got++)
			REQUIRE(t, !WAIT_TX(&p->a, &c));
	}
	NONE_RX(&p->b);
}

/* By default flags, as consumers with plain receives use it. */
static void by_default(struct test *t)
{
	struct node_opts opts = {
		.rx_op_flags = KFI_MULTI_RECV | KFI_COMPLETION,
		.before_enable = set_min, .arg = (void *)64,
	};
	struct pair *p = pair_open(t, NULL, &opts);
	u8 *tx = test_pages(t, 64), *rx = test_pages(t, 4096);
	comp_t c;
	int i;

	REQUIRE(t, p);
	POST(t, kfi_recv(p->b.ep, rx, 4096, NULL, KFI_ADDR_UNSPEC, rx));
	for (i = 0; i < 3; i++) {
		REQUIRE(t, !send_one(&p->a, tx, 60, i) && !WAIT_RX(&p->b, &c));
		EXPECT_COMP(t, &c, rx, KFI_MSG | KFI_RECV);
		EXPECT_DATA(t, c.buf, 60, i);
	}
}

static void option(struct test *t)
{
	struct pair *p = open_min(t, 4096);
	size_t min = 0, len = sizeof(min);

	REQUIRE(t, p);
	EXPECT_EQ(t, kfi_getopt(&p->b.ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_MIN_MULTI_RECV, &min,
				&len), 0);
	EXPECT_EQ(t, min, 4096);
	EXPECT_EQ(t, len, sizeof(min));
	len = 1;
	EXPECT_EQ(t, kfi_getopt(&p->b.ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_MIN_MULTI_RECV, &min,
				&len), -KFI_ETOOSMALL);
	EXPECT_EQ(t, len, sizeof(min));
	EXPECT_EQ(t, kfi_setopt(&p->b.ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_MIN_MULTI_RECV, &min, 1),
		  -EINVAL);
	EXPECT_EQ(t, kfi_setopt(&p->b.ep->fid, KFI_OPT_ENDPOINT, 9999, &min, sizeof(min)),
		  -ENOPROTOOPT);
	EXPECT_EQ(t, kfi_setopt(&p->b.ep->fid, 99, KFI_OPT_MIN_MULTI_RECV, &min, sizeof(min)),
		  -ENOPROTOOPT);
}

const struct test_case multirecv_cases[] = {
	{ "multirecv.chained", T_REL, 0, C_MULTI, chained },
	{ "multirecv.unexpected", T_REL, 0, C_MULTI, unexpected },
	{ "multirecv.next_buffer", T_REL, 0, C_MULTI, next_buffer },
	{ "multirecv.truncated", T_REL, 0, C_MULTI, truncated },
	{ "multirecv.exactly_full", T_REL, 0, C_MULTI, exactly_full },
	{ "multirecv.cancelled", T_REL, 0, C_MULTI, cancelled },
	{ "multirecv.by_default", T_REL, 0, C_MULTI, by_default },
	{ "multirecv.option", T_REL, 0, C_MULTI, option },
	{ }
};
