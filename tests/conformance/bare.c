// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs as they are (KFI_PROTO_RDMA_CM_IB_RC): receives that are the device's, and what there is not without a protocol of the
 * provider's.
 */
#include <linux/delay.h>
#include <linux/prandom.h>
#include <linux/vmalloc.h>
#include "harness.h"

/* Both hear of the end of the connection. */
static void both_end(struct pair *p)
{
	struct event *ev = test_new(p->a.t, struct event);
	struct node *n[] = { &p->a, &p->b };
	int i;

	for (i = 0; ev && i < 2; i++) {
		if (WAIT_EVENT(n[i], ev))
			return;
		EXPECT_EQ(n[i]->t, ev->err, 0);
		EXPECT_EQ(n[i]->t, ev->type, KFI_SHUTDOWN);
		EXPECT(n[i]->t, ev->fid == &n[i]->ep->fid);
	}
}

/* ---- receives that wait for a connection ---- */

#define EARLY	32

static size_t early_len(int i)
{
	return 1 + i * 97;
}

static void send_all(struct pair *p, u8 *tx)
{
	struct test *t = p->a.t;
	comp_t c;
	int i;

	for (i = 0; i < EARLY; i++) {
		if (i == 5)
			continue;
		fill(tx, early_len(i), i);
		if (POST(t, kfi_send(p->b.ep, tx, early_len(i), NULL, 0, CTX(i))) || WAIT_TX(&p->b, &c))
			return;
		EXPECT_COMP(t, &c, CTX(i), KFI_MSG | KFI_SEND);
	}
}

/* They keep their order, and can be taken back as long as no device has them. */
static void before(struct test *t)
{
	struct pair *p = test_new(t, struct pair);
	u8 *tx = test_zalloc(t, 4096), *rx = test_zalloc(t, EARLY * 4096);
	comp_t c;
	int i;

	REQUIRE(t, p && tx && rx && !node_open_ep(t, &p->a, 0, NULL) && !node_open(t, &p->b, 1, NULL) && !node_listen(&p->b));
	for (i = 0; i < EARLY; i++)
		REQUIRE(t, !POST(t, kfi_recv(p->a.ep, rx + 4096 * i, 4096, NULL, KFI_ADDR_UNSPEC, CTX(i))));
	EXPECT_EQ(t, kfi_cancel(&p->a.ep->fid, CTX(5)), 0);
	EXPECT_EQ(t, kfi_cancel(&p->a.ep->fid, CTX(5)), -ENOENT);
	REQUIRE(t, !WAIT_RX(&p->a, &c));
	EXPECT_ERR(t, &c, CTX(5), ECANCELED);
	REQUIRE(t, !pair_connect(&p->a, &p->b));
	EXPECT_EQ(t, kfi_cancel(&p->a.ep->fid, CTX(6)), -ENOENT);
	send_all(p, tx);
	for (i = 0; i < EARLY; i++) {
		if (i == 5)
			continue;
		REQUIRE(t, !WAIT_RX(&p->a, &c));
		EXPECT_COMP(t, &c, CTX(i), KFI_MSG | KFI_RECV);
		EXPECT_EQ(t, c.len, early_len(i));
		EXPECT_DATA(t, rx + 4096 * i, c.len, i);
	}
	NONE_RX(&p->a);
}

/* Those that never get one end with the attempt to connect. */
static void never(struct test *t)
{
	struct pair *p = test_new(t, struct pair);
	u8 *rx = test_zalloc(t, 4096);
	struct event *ev = test_new(t, struct event);
	comp_t c;
	int i;

	REQUIRE(t, p && rx && ev && !node_open_ep(t, &p->a, 0, NULL) && !node_open(t, &p->b, 1, NULL) && !node_listen(&p->b));
	REQUIRE_EQ(t, test_close(t, &p->b.pep->fid), 0);
	for (i = 0; i < 4; i++)
		REQUIRE(t, !POST(t, kfi_recv(p->a.ep, rx + 64 * i, 64, NULL, KFI_ADDR_UNSPEC, CTX(i))));
	EXPECT_EQ(t, kfi_connect(p->a.ep, p->b.addr, NULL, 0), 0);
	REQUIRE(t, !event_wait(t, p->a.eq, ev, t->w->loss_ms + t->w->wait_ms, __FILE__, __LINE__));
	EXPECT_EQ(t, ev->err, ECONNREFUSED);
	for (i = 0; i < 4; i++) {
		REQUIRE_EQ(t, comp_poll(&p->a, p->a.rxcq, &c), 1);
		EXPECT(t, c.err > 0 && c.op_context == CTX(i));
	}
	EXPECT_EQ(t, kfi_recv(p->a.ep, rx, 64, NULL, KFI_ADDR_UNSPEC, NULL), -ESHUTDOWN);
	NONE_RX(&p->a);
}

/* A message waits for its receive no longer than that takes, whichever side has called: the device asks again soon. */
static void late(struct test *t)
{
	struct pair *p = pair_open(t, NULL, NULL);
	u8 *buf = test_zalloc(t, 256);
	unsigned long start;
	comp_t c;
	int i;

	REQUIRE(t, p && buf);
	for (i = 0; i < 2; i++) {
		struct node *from = i ? &p->b : &p->a, *to = i ? &p->a : &p->b;
		int n;

		start = jiffies;
		for (n = 0; n < 20; n++) {
			REQUIRE(t, !POST(t, kfi_send(from->ep, buf, 100, NULL, 0, CTX(n))));
			usleep_range(5000, 6000);
			REQUIRE(t, !POST(t, kfi_recv(to->ep, buf + 128, 100, NULL, KFI_ADDR_UNSPEC, CTX(n))) && !WAIT_RX(to, &c) &&
				   !WAIT_TX(from, &c));
		}
		EXPECT(t, time_before(jiffies, start + 6 * HZ));	/* 13 s, if the device were told nothing */
	}
}

/* ---- what does not fit ---- */

/* Of the device's words for it some are plainer than others. */
static bool says_too_long(int err)
{
	return err == KFI_ETRUNC || err == EIO;
}

static void one_too_long(struct test *t, size_t room, size_t len)
{
	struct pair *p = pair_open(t, NULL, NULL);
	u8 *tx = test_pages(t, 16384), *rx = test_pages(t, 16384);
	comp_t c;
	int i;

	REQUIRE(t, p && tx && rx);
	memset(rx, 0x5a, 16384);
	for (i = 0; i < 3; i++)
		REQUIRE(t, !POST(t, kfi_recv(p->b.ep, rx + 5000 * i, i ? 4096 : room, NULL, KFI_ADDR_UNSPEC, CTX(i))));
	POST(t, kfi_send(p->a.ep, tx, len, NULL, 0, tx));
	REQUIRE(t, !WAIT_TX(&p->a, &c));
	EXPECT(t, c.err > 0 && c.op_context == tx);
	for (i = 0; i < 3; i++) {
		REQUIRE(t, !WAIT_RX(&p->b, &c));
		EXPECT(t, c.op_context == CTX(i));
		EXPECT(t, i ? c.err > 0 : says_too_long(c.err));
	}
	both_end(p);
	EXPECT_EQ(t, not_all(rx + room, 16384 - room, 0x5a), -1);
	EXPECT_EQ(t, kfi_send(p->a.ep, tx, 1, NULL, 0, NULL), -ESHUTDOWN);
	EXPECT_EQ(t, kfi_recv(p->b.ep, rx, 1, NULL, 0, NULL), -ESHUTDOWN);
	node_close(&p->a);
	node_close(&p->b);
}

/* A message that is longer than its receive ends the connection, and not a byte of it is beyond the receive. */
static void too_long(struct test *t)
{
	one_too_long(t, 100, 101);
	one_too_long(t, 0, 65);
	one_too_long(t, 1000, 9000);
}

/* Memory that lies in more pieces than a request has, which are 16 at most: of side A, for the other's is what the agent has. */
static void pieces(struct test *t)
{
	struct pair *p = pair_open(t, NULL, NULL);
	size_t len = 20 * PAGE_SIZE;
	u8 *buf = vzalloc(len);
	comp_t c;

	if (EXPECT(t, p && buf)) {
		EXPECT_EQ(t, kfi_recv(p->a.ep, buf, len, NULL, KFI_ADDR_UNSPEC, NULL), -EMSGSIZE);
		if (!POST(t, kfi_send(p->a.ep, buf, len, NULL, 0, buf)) && !WAIT_TX(&p->a, &c))
			EXPECT_ERR(t, &c, buf, EMSGSIZE);
		still_works(p);
	}
	vfree(buf);
}

/* ---- what there is not ---- */

static int open_as(struct node *n, u64 caps, enum kfi_ep_type type)
{
	struct kfi_info *info = kfi_dupinfo(n->info);
	struct kfid_ep *ep;
	int ret;

	if (!info)
		return -ENOMEM;
	info->caps |= caps;
	info->ep_attr->type = type;
	ret = kfi_endpoint(n->domain, info, &ep, NULL);
	if (!ret)
		kfi_close(&ep->fid);
	kfi_freeinfo(info);
	return ret;
}

static void absent(struct test *t)
{
	struct pair *p = pair_open(t, NULL, NULL);
	u8 *buf = test_zalloc(t, 64);
	struct kvec iov = { buf, 8 };
	struct kfi_msg msg = { .type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1 };

	REQUIRE(t, p && buf);
	EXPECT_EQ(t, t->info[0]->ep_attr->protocol, KFI_PROTO_RDMA_CM_IB_RC);
	EXPECT_EQ(t, t->info[0]->domain_attr->max_ep_srx_ctx, 0);
	EXPECT_EQ(t, open_as(&p->a, KFI_TAGGED, KFI_EP_MSG), -EOPNOTSUPP);
	EXPECT_EQ(t, open_as(&p->a, KFI_RMA, KFI_EP_MSG), -EOPNOTSUPP);
	EXPECT_EQ(t, open_as(&p->a, KFI_MULTI_RECV, KFI_EP_MSG), -EOPNOTSUPP);
	EXPECT_EQ(t, open_as(&p->a, 0, KFI_EP_RDM), -EINVAL);
	EXPECT_EQ(t, open_as(&p->a, 0, KFI_EP_MSG), 0);
	EXPECT_EQ(t, kfi_sendmsg(p->a.ep, &msg, KFI_DELIVERY_COMPLETE), -EOPNOTSUPP);
	EXPECT_EQ(t, kfi_sendmsg(p->a.ep, &msg, KFI_INVALIDATE), -EOPNOTSUPP);
	EXPECT_EQ(t, kfi_trecv(p->a.ep, buf, 8, NULL, KFI_ADDR_UNSPEC, 1, 0, NULL), -EOPNOTSUPP);
	still_works(p);
}

/* An endpoint by the provider's own protocol. */
static int open_ours(struct test *t, struct node *n, int side)
{
	struct node_opts opts = { .caps = C_MSG };
	int ret;

	t->w->bare = false;
	ret = node_open(t, n, side, &opts);
	t->w->bare = true;
	return ret;
}

static void is_refused_by(struct node *a)
{
	struct event *ev = test_new(a->t, struct event);

	if (!ev || WAIT_EVENT(a, ev))
		return;
	EXPECT(a->t, ev->fid == &a->ep->fid);
	EXPECT(a->t, ev->err == ECONNREFUSED || ev->err == EPROTO);
}

/* Who calls by another protocol gets no connection, whatever the consumers say. */
static void foreign(struct test *t)
{
	struct node *a = test_new(t, struct node), *b = test_new(t, struct node), *c = test_new(t, struct node);
	struct event *ev = test_new(t, struct event);
	u32 type;

	REQUIRE(t, a && b && c && ev);
	/* A listener that wants a hello */
	REQUIRE(t, !open_ours(t, b, 1) && !node_listen(b) && !node_open_ep(t, a, 0, NULL));
	EXPECT_EQ(t, kfi_connect(a->ep, b->addr, NULL, 0), 0);
	is_refused_by(a);
	EXPECT_EQ(t, kfi_eq_read(b->eq, &type, ev->data, sizeof(ev->data), 0), -EAGAIN);
	node_close(a);
	/* ... and one to whom it is private data: its consumer says no, or nothing that helps */
	REQUIRE(t, !node_open(t, c, 1, NULL) && !node_listen(c));
	REQUIRE(t, !open_ours(t, a, 0) && !node_endpoint(a, a->info) && !node_enable(a));
	EXPECT_EQ(t, kfi_connect(a->ep, c->addr, NULL, 0), 0);
	REQUIRE(t, !WAIT_EVENT(c, ev) && EXPECT_EQ(t, ev->type, KFI_CONNREQ));
	ev->info->ep_attr->protocol = KFI_PROTO_KFI_RC;
	REQUIRE(t, !node_endpoint(c, ev->info));
	kfi_freeinfo(ev->info);
	EXPECT_EQ(t, kfi_accept(c->ep, NULL, 0), 0);
	REQUIRE(t, !WAIT_EVENT(c, ev));
	EXPECT_EQ(t, ev->err, EPROTO);
	is_refused_by(a);
}

/* ---- stress ---- */

#define LANE_RECVS	32
#define LANE_LEN	20000

/**
 * struct lane - messages in one direction, as many as go, until @until or until an end goes
 * @sent: @posted: @told: @got: sends; of them reported; receives; of them reported
 * @broken: something has ended in error: from now on all does
 */
struct lane {
	struct worker		worker;
	struct node		*from, *to;
	struct rnd_state	rnd;
	unsigned long		until;
	u8			*tx, *rx;
	size_t			len[LANE_RECVS];
	u64			sent, told, posted, got;
	bool			broken;
};

static void lane_recv(struct lane *l)
{
	u8 *at = l->rx + l->posted % LANE_RECVS * LANE_LEN;

	if (!kfi_recv(l->to->ep, at, LANE_LEN, NULL, KFI_ADDR_UNSPEC, CTX(l->posted)))
		l->posted++;
	else
		l->broken = true;
}

/* Its memory is free when the message before in it has come. Sometimes there is no receive for a moment. */
static void lane_send(struct lane *l)
{
	u32 dice = prandom_u32_state(&l->rnd), i = l->sent % LANE_RECVS;
	size_t len = dice & 7 ? (dice >> 8) % 200 : (dice >> 8) % LANE_LEN;
	struct kvec iov[2] = { { l->tx + i * LANE_LEN, len / 3 }, { l->tx + i * LANE_LEN + len / 3, len - len / 3 } };
	struct kfi_msg msg = { .type = KFI_KVEC, .msg_iov = iov, .iov_count = 2, .context = CTX(l->sent), .data = (u32)l->sent };
	u64 flags = KFI_COMPLETION | KFI_REMOTE_CQ_DATA | (dice & 8 ? KFI_MORE : 0) | (dice & 16 ? KFI_TRANSMIT_COMPLETE : 0);
	ssize_t ret;

	fill(iov[0].iov_base, len, l->sent);
	l->len[i] = len;
	ret = kfi_sendmsg(l->from->ep, &msg, flags);
	if (!ret)
		l->sent++;
	else if (ret != -EAGAIN)
		l->broken = true;
}

static bool lane_comps(struct lane *l)
{
	struct test *t = l->from->t;
	comp_t c;

	while (comp_poll(l->from, l->from->txcq, &c) == 1) {
		l->told++;	/* short ones sooner than what is under way before them */
		l->broken |= c.err;
	}
	while (comp_poll(l->to, l->to->rxcq, &c) == 1) {
		l->broken |= c.err;
		if (!c.err && (!EXPECT(t, c.op_context == CTX(l->got)) || !EXPECT_EQ(t, c.data, (u32)l->got) ||
			       !EXPECT_EQ(t, c.len, l->len[l->got % LANE_RECVS]) ||
			       !EXPECT_DATA(t, l->rx + l->got % LANE_RECVS * LANE_LEN, c.len, l->got)))
			return false;
		l->got++;
	}
	return true;
}

/* Until all that was posted has been told of; of receives without a message, when the connection is gone. */
static bool lane_over(const struct lane *l)
{
	return l->told == l->sent && l->got == (l->broken ? l->posted : l->sent);
}

static int lane_run(void *arg)
{
	struct lane *l = arg;
	struct test *t = l->from->t;
	unsigned long limit = l->until + msecs_to_jiffies(t->w->wait_ms);
	bool more;

	do {
		more = time_before(jiffies, l->until) && !l->broken;
		if (more && l->posted - l->got < LANE_RECVS)
			lane_recv(l);
		if (more && l->sent - l->got < LANE_RECVS && (s64)(l->sent - l->posted) < 4)
			lane_send(l);
		if (!more)
			kfi_ep_tx_flush(l->from->ep);
		if (!lane_comps(l))
			return -EIO;
		cond_resched();
	} while (more || (!lane_over(l) && time_before(jiffies, limit)));
	return lane_over(l) ? 0 : -ETIMEDOUT;
}

static bool lane_start(struct lane *l, struct node *from, struct node *to, unsigned int ms)
{
	struct test *t = from->t;

	l->from = from;
	l->to = to;
	l->tx = test_pages(t, LANE_RECVS * LANE_LEN);
	l->rx = test_pages(t, LANE_RECVS * LANE_LEN);
	l->until = jiffies + msecs_to_jiffies(ms);
	prandom_seed_state(&l->rnd, prandom_u32_state(&t->rnd));
	return EXPECT(t, l->tx && l->rx) && !worker_start(t, &l->worker, -1, lane_run, l);
}

/** struct lanes - both directions of a pair at once; @n: of them that run */
struct lanes {
	struct pair	*p;
	struct lane	lane[2];
	int		n;
};

static struct lanes *lanes_start(struct test *t, unsigned int ms)
{
	struct lanes *ls = test_new(t, struct lanes);

	if (!ls)
		return NULL;
	ls->p = pair_open(t, NULL, NULL);
	if (!ls->p || !lane_start(&ls->lane[0], &ls->p->a, &ls->p->b, ms))
		return ls;
	ls->n = 1 + lane_start(&ls->lane[1], &ls->p->b, &ls->p->a, ms);
	return ls;
}

/* Return: messages */
static u64 lanes_join(struct test *t, struct lanes *ls, unsigned int ms)
{
	u64 got = 0;
	int i;

	for (i = 0; i < ls->n; i++) {
		struct lane *l = &ls->lane[i];

		EXPECT_EQ(t, worker_join(&l->worker, ms + 2 * t->w->wait_ms), 0);
		got += l->got;
		if (t->failures)
			FAIL(t, "lane %d: sent %llu told %llu posted %llu got %llu, broken %d", i, l->sent, l->told, l->posted, l->got,
			     l->broken);
	}
	if (ls->p) {
		node_close(&ls->p->a);
		node_close(&ls->p->b);
	}
	return got;
}

/* @ends: one side hangs up while they are at it. */
static u64 lanes(struct test *t, unsigned int ms, bool ends)
{
	struct lanes *ls = lanes_start(t, ms);

	if (!ls)
		return 0;
	if (ls->n == 2 && ends) {
		msleep(ms / 2);
		EXPECT_EQ(t, kfi_shutdown(ls->p->b.ep, 0), 0);
	}
	return lanes_join(t, ls, ms);
}

static void stress(struct test *t)
{
	u64 got = lanes(t, t->w->stress_ms, false);
	int i;

	EXPECT(t, got > 2 * LANE_RECVS);
	for (i = 0; i < 8 && !t->failures; i++)
		got += lanes(t, t->w->stress_ms / 8, true);
	pr_info("    # both directions: %llu messages\n", got);
}

/* The device of one side goes, at some moment of all that, and comes back; what has been posted ends once, at both sides. */
static void device_gone_once(struct test *t, u32 round)
{
	struct lanes *ls = lanes_start(t, t->w->script_ms);
	struct pair *p;

	REQUIRE(t, ls);
	script_ask(t, "device_gone", round);
	lanes_join(t, ls, t->w->loss_ms);
	script_ask(t, "device_back", round);
	p = pair_open(t, NULL, NULL);
	REQUIRE(t, p);
	still_works(p);
}

static void device_gone(struct test *t)
{
	u32 i;

	for (i = 0; i < t->w->removals && !t->failures; i++) {
		device_gone_once(t, i);
		test_teardown(t);
	}
}

const struct test_case bare_cases[] = {
	{ "bare.before", T_MSG, CASE_BARE, C_MSG, before },
	{ "bare.never", T_MSG, CASE_BARE, C_MSG, never },
	{ "bare.late", T_MSG, CASE_BARE, C_MSG, late },
	{ "bare.too_long", T_MSG, CASE_BARE, C_MSG, too_long },
	{ "bare.pieces", T_MSG, CASE_BARE, C_MSG, pieces },
	{ "bare.absent", T_MSG, CASE_BARE, C_MSG, absent },
	{ "bare.foreign", T_MSG, CASE_BARE, C_MSG, foreign },
	{ "bare.stress", T_MSG, CASE_BARE, C_MSG, stress },
	{ "bare.device_gone", T_MSG, CASE_BARE | CASE_SCRIPT, C_MSG, device_gone },
	{ }
};
