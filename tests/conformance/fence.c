// SPDX-License-Identifier: GPL-2.0
/*
 * KFI_FENCE, fi_msg(3): an operation that starts when all earlier ones have ended, and operations
 * behind it.
 *
 * A fence is held up by a tagged message that completes by its delivery, and that the peer does not
 * receive until the case posts a receive. The connection is established meanwhile.
 */
#include "harness.h"

#define LEN	64

static u8 *fence_pair(struct test *t, struct pair **p)
{
	*p = pair_open(t, NULL, NULL);
	return *p ? test_zalloc(t, 8 * LEN) : NULL;
}

/* Does not end before its tag is received. */
static int stick(struct pair *p, u8 *buf, u64 tag)
{
	struct kvec v = { buf, LEN };
	struct kfi_msg_tagged msg = {
		.type = KFI_KVEC, .msg_iov = &v, .iov_count = 1, .addr = p->a.peer, .tag = tag,
		.context = CTX(tag),
	};

	return POST(p->a.t, kfi_tsendmsg(p->a.ep, &msg, KFI_COMPLETION | KFI_DELIVERY_COMPLETE));
}

static int release(struct pair *p, u8 *buf, u64 tag)
{
	return POST(p->b.t,
		    kfi_trecv(p->b.ep, buf + LEN, LEN, NULL, KFI_ADDR_UNSPEC, tag, 0, CTX(tag)));
}

/* A sends @n, and B has a receive for it. */
static int say(struct pair *p, u8 *buf, unsigned long n, u64 flags)
{
	struct kvec v = { buf, LEN };
	struct kfi_msg msg = {
		.type = KFI_KVEC, .msg_iov = &v, .iov_count = 1, .addr = p->a.peer,
		.context = CTX(n), .data = n,
	};
	int ret = POST(p->b.t,
		       kfi_recv(p->b.ep, buf + 2 * LEN, LEN, NULL, KFI_ADDR_UNSPEC, CTX(n)));

	return ret   ?:
		       POST(p->a.t, kfi_sendmsg(p->a.ep, &msg,
						KFI_COMPLETION | KFI_REMOTE_CQ_DATA | flags));
}

static void heard(struct test *t, struct pair *p, unsigned long n)
{
	comp_t c;

	if (WAIT_RX(&p->b, &c))
		return;
	EXPECT_EQ(t, c.err, 0);
	EXPECT_EQ(t, c.data, n);
}

static void ended(struct test *t, struct pair *p, unsigned long n)
{
	comp_t c;

	if (WAIT_TX(&p->a, &c))
		return;
	EXPECT_EQ(t, (unsigned long)c.op_context, n);
	EXPECT_EQ(t, c.err, 0);
}

/* The tagged message was received. */
static void released(struct test *t, struct pair *p, u64 tag)
{
	comp_t c;

	if (!WAIT_RX(&p->b, &c))
		EXPECT_COMP(t, &c, CTX(tag), KFI_TAGGED | KFI_RECV);
}

/* The fence waits, operations behind it wait as well, and those before it do not. */
static void waits(struct test *t)
{
	struct pair *p;
	u8 *buf = fence_pair(t, &p);
	int i;

	REQUIRE(t, buf && !stick(p, buf, 1) && !say(p, buf, 2, 0));
	heard(t, p, 2);
	ended(t, p, 2);
	REQUIRE(t, !say(p, buf, 3, KFI_FENCE) && !say(p, buf, 4, 0) && !say(p, buf, 5, KFI_INJECT));
	NONE_RX(&p->b);
	NONE_TX(&p->a);
	REQUIRE(t, !release(p, buf, 1));
	released(t, p, 1);
	ended(t, p, 1);
	for (i = 3; i < 6; i++) {
		heard(t, p, i);
		ended(t, p, i);
	}
	still_works(p);
}

/* Without earlier operations it has no effect. */
static void alone(struct test *t)
{
	struct pair *p;
	u8 *buf = fence_pair(t, &p);
	int i;

	REQUIRE(t, buf);
	for (i = 1; i < 20 && !t->failures; i++) {
		REQUIRE(t, !say(p, buf, i, KFI_FENCE));
		heard(t, p, i);
		ended(t, p, i);
	}
	for (i = 1; i < 9; i++)
		REQUIRE(t, !say(p, buf, i, KFI_FENCE));
	for (i = 1; i < 9; i++) {
		heard(t, p, i);
		ended(t, p, i);
	}
	NONE_RX(&p->b);
}

/* One fence after the other; operations in between start with the first. */
static void chain(struct test *t)
{
	struct pair *p;
	u8 *buf = fence_pair(t, &p);

	REQUIRE(t, buf && !stick(p, buf, 1) && !say(p, buf, 2, KFI_FENCE) && !stick(p, buf, 3));
	REQUIRE(t, !say(p, buf, 4, KFI_FENCE) && !say(p, buf, 5, 0));
	NONE_RX(&p->b);
	REQUIRE(t, !release(p, buf, 1));
	released(t, p, 1);
	ended(t, p, 1);
	heard(t, p, 2);
	ended(t, p, 2);
	NONE_RX(&p->b);
	NONE_TX(&p->a);
	REQUIRE(t, !release(p, buf, 3));
	released(t, p, 3);
	ended(t, p, 3);
	heard(t, p, 4);
	heard(t, p, 5);
	ended(t, p, 4);
	ended(t, p, 5);
	NONE_TX(&p->a);
}

#define BULK	(1U << 20)

/* When the peer has the message, the data that was read before it has arrived. */
static void after_read(struct test *t)
{
	struct pair *p;
	u8 *buf = fence_pair(t, &p), *near = test_pages(t, BULK), *far = test_pages(t, BULK);
	int i, n = t->w->quick ? 4 : 20;
	struct region r;

	REQUIRE(t, buf && near && far && !region_open(&p->b, &r, far, BULK, KFI_REMOTE_READ));
	for (i = 0; i < n && !t->failures; i++) {
		fill(far, BULK, i);
		memset(near, 0, BULK);
		REQUIRE(t, !POST(t, kfi_read(p->a.ep, near, BULK, NULL, p->a.peer, r.addr, r.key,
					     CTX(1))));
		REQUIRE(t, !say(p, buf, 2, KFI_FENCE));
		heard(t, p, 2);
		EXPECT_DATA(t, near, BULK, i);
		ended(t, p, 1);
		ended(t, p, 2);
	}
}

/* A read in front of the fence sees the old data, and not the write behind the fence. */
static void write_after_read(struct test *t)
{
	struct pair *p = pair_open(t, NULL, NULL);
	u8 *old = test_pages(t, BULK), *new = test_pages(t, BULK), *far = test_pages(t, BULK);
	struct kvec v = { new, BULK };
	struct kfi_rma_iov there = { .len = BULK };
	struct kfi_msg_rma msg = {
		.type = KFI_KVEC, .msg_iov = &v, .iov_count = 1, .rma_iov = &there,
		.rma_iov_count = 1, .context = CTX(2),
	};
	int i, n = t->w->quick ? 4 : 20;
	struct region r;

	REQUIRE(t, p && old && new && far &&
			   !region_open(&p->b, &r, far, BULK, KFI_REMOTE_READ | KFI_REMOTE_WRITE));
	msg.addr = p->a.peer;
	there.addr = r.addr;
	there.key = r.key;
	fill(far, BULK, 0);
	for (i = 0; i < n && !t->failures; i++) {
		fill(new, BULK, i + 1);
		REQUIRE(t, !POST(t, kfi_read(p->a.ep, old, BULK, NULL, p->a.peer, r.addr, r.key,
					     CTX(1))));
		REQUIRE(t, !POST(t, kfi_writemsg(p->a.ep, &msg, KFI_COMPLETION | KFI_FENCE)));
		ended(t, p, 1);
		EXPECT_DATA(t, old, BULK, i);
		ended(t, p, 2);
		EXPECT_DATA(t, far, BULK, i + 1);
	}
}

/* ---- its ends ---- */

/* The fence's operation is cancelled; those behind it still wait. */
static void cancelled(struct test *t)
{
	struct pair *p;
	u8 *buf = fence_pair(t, &p);
	comp_t c;

	REQUIRE(t, buf && !stick(p, buf, 1) && !say(p, buf, 2, KFI_FENCE) && !say(p, buf, 3, 0));
	EXPECT_EQ(t, kfi_cancel(&p->a.ep->fid, CTX(2)), 0);
	EXPECT_EQ(t, kfi_cancel(&p->a.ep->fid, CTX(2)), -ENOENT);
	REQUIRE(t, !WAIT_TX(&p->a, &c));
	EXPECT_ERR(t, &c, CTX(2), ECANCELED);
	NONE_RX(&p->b);
	REQUIRE(t, !release(p, buf, 1));
	released(t, p, 1);
	heard(t, p, 3);
	ended(t, p, 1);
	ended(t, p, 3);
	EXPECT_EQ(t, kfi_cancel(&p->a.ep->fid, CTX(3)), -ENOENT);
	NONE_TX(&p->a);
}

/* Each of three operations of A ends once, with @fail in error. */
static void all_end(struct test *t, struct pair *p, bool fail)
{
	unsigned long seen = 0, which;
	comp_t c;
	int i;

	for (i = 0; i < 3; i++) {
		if (comp_wait_ms(t, &p->a, p->a.txcq, &c, t->w->loss_ms + t->w->wait_ms, __FILE__,
				 __LINE__))
			return;
		which = (unsigned long)c.op_context;
		EXPECT(t, (c.err || !fail) && c.err != EAGAIN && which <= 3 &&
				  !test_and_set_bit(which, &seen));
	}
	NONE_TX(&p->a);
}

static u8 *three(struct test *t, struct pair **p)
{
	u8 *buf = fence_pair(t, p);

	return buf && !stick(*p, buf, 1) && !say(*p, buf, 2, KFI_FENCE) && !say(*p, buf, 3, 0) ?
	       buf : NULL;
}

static void closed(struct test *t)
{
	struct pair *p;

	REQUIRE(t, three(t, &p));
	REQUIRE_EQ(t, test_close(t, &p->a.ep->fid), 0);
	all_end(t, p, true);
}

static void disconnected(struct test *t)
{
	struct pair *p;

	REQUIRE(t, three(t, &p));
	EXPECT_EQ(t, kfi_shutdown(p->b.ep, 0), 0);
	all_end(t, p, true);
}

/*
 * An orderly end sends operations that were started: it may wait for the receive, and may come
 * before or after those that are held.
 */
static void shut_down(struct test *t)
{
	struct pair *p;
	u8 *buf = three(t, &p);
	int ret;

	REQUIRE(t, buf);
	EXPECT_EQ(t, kfi_shutdown(p->a.ep, 0), 0);
	ret = kfi_trecv(p->b.ep, buf + LEN, LEN, NULL, KFI_ADDR_UNSPEC, 1, 0, CTX(1));
	EXPECT(t, !ret || ret == -ESHUTDOWN);
	all_end(t, p, false);
}

static void peer_lost(struct test *t)
{
	struct pair *p;

	REQUIRE(t, three(t, &p));
	REQUIRE_EQ(t, test_close(t, &p->b.ep->fid), 0);
	p->b.ep = NULL;
	all_end(t, p, true);
}

/* Without the capability there is no fence; nor can a receive have one. */
static void refused(struct test *t)
{
	struct node_opts without = { .caps = C_MSG };
	struct pair *p = pair_open(t, &without, &without), *with;
	struct kvec v = { };
	struct kfi_msg msg = { .type = KFI_KVEC, .msg_iov = &v, .addr = KFI_ADDR_UNSPEC };

	REQUIRE(t, p);
	EXPECT_EQ(t, p->a.info->caps & KFI_FENCE, 0);
	EXPECT_EQ(t, p->a.info->tx_attr->caps & KFI_FENCE, 0);
	msg.addr = p->a.peer;
	EXPECT_EQ(t, kfi_sendmsg(p->a.ep, &msg, KFI_FENCE), -EOPNOTSUPP);
	NONE_TX(&p->a);
	with = pair_open(t, NULL, NULL);
	REQUIRE(t, with);
	EXPECT(t, with->a.info->caps & KFI_FENCE);
	EXPECT(t, with->a.info->tx_attr->caps & KFI_FENCE);
	EXPECT_EQ(t, with->a.info->rx_attr->caps & KFI_FENCE, 0);
	msg.addr = KFI_ADDR_UNSPEC;
	EXPECT_EQ(t, kfi_recvmsg(with->a.ep, &msg, KFI_FENCE), -KFI_EBADFLAGS);
	still_works(with);
}

/* ---- on all CPUs ---- */

#define POSTERS	4
#define EACH	16
#define PIECE	8192

struct poster {
	struct worker	w;
	struct pair	*p;
	struct region	*r;
	u8		*near, *buf;
	unsigned int	first;
};

/* Read a piece and then send a message, sixteen times. */
static int read_and_say(void *arg)
{
	struct poster *s = arg;
	struct node *a = &s->p->a;
	struct kvec v = { s->buf, LEN };
	struct kfi_msg msg = { .type = KFI_KVEC, .msg_iov = &v, .iov_count = 1, .addr = a->peer };
	unsigned int i;

	for (i = s->first; i < s->first + EACH; i++) {
		msg.data = i;
		msg.context = CTX(i);
		if (POST(a->t, kfi_read(a->ep, s->near + i * PIECE, PIECE, NULL, a->peer,
					s->r->addr + i * PIECE, s->r->key, CTX(i))) ||
		    POST(a->t,
			 kfi_sendmsg(a->ep, &msg, KFI_COMPLETION | KFI_REMOTE_CQ_DATA | KFI_FENCE)))
			return -EIO;
	}
	return 0;
}

/* Several threads on one endpoint: each message is true when it is received. */
static void stress(struct test *t)
{
	unsigned int i, n = POSTERS * EACH, heard = 0, done = 0;
	struct poster *s = test_zalloc(t, POSTERS * sizeof(*s));
	u8 *near = test_pages(t, n * PIECE), *far = test_pages(t, n * PIECE);
	struct pair *p;
	u8 *buf = fence_pair(t, &p);
	unsigned long idle = 0;
	struct region r;
	comp_t c;

	REQUIRE(t, s && near && far && buf &&
			   !region_open(&p->b, &r, far, n * PIECE, KFI_REMOTE_READ));
	for (i = 0; i < n; i++) {
		fill(far + i * PIECE, PIECE, i);
		REQUIRE(t,
			!POST(t, kfi_recv(p->b.ep, buf + LEN, LEN, NULL, KFI_ADDR_UNSPEC, CTX(i))));
	}
	for (i = 0; i < POSTERS; i++) {
		s[i] = (struct poster) {
			.p = p, .r = &r, .near = near, .buf = buf, .first = i * EACH
		};
		REQUIRE(t, !worker_start(t, &s[i].w, -1, read_and_say, &s[i]));
	}
	while (heard < n || done < 2 * n) {
		if (comp_poll(&p->a, p->a.txcq, &c) == 1) {
			EXPECT_EQ(t, c.err, 0);
			done++;
			idle = 0;
		} else if (comp_poll(&p->b, p->b.rxcq, &c) == 1) {
			EXPECT(t, !c.err && c.data < n);
			EXPECT_DATA(t, near + c.data % n * PIECE, PIECE, c.data);
			heard++;
			idle = 0;
		} else if (!test_again(t, &idle)) {
			break;
		}
	}
	for (i = 0; i < POSTERS; i++)
		EXPECT_EQ(t, worker_join(&s[i].w, t->w->wait_ms), 0);
	EXPECT_EQ(t, heard, n);
	EXPECT_EQ(t, done, 2 * n);
}

#define C_FENCE	(C_MSG | C_TAGGED | KFI_FENCE)

const struct test_case fence_cases[] = {
	{ "fence.waits", T_REL, 0, C_FENCE, waits },
	{ "fence.alone", T_ALL, 0, C_MSG | KFI_FENCE, alone },
	{ "fence.chain", T_REL, 0, C_FENCE, chain },
	{ "fence.after_read", T_REL, 0, C_FENCE | C_RMA, after_read },
	{ "fence.write_after_read", T_REL, 0, C_FENCE | C_RMA, write_after_read },
	{ "fence.cancelled", T_REL, 0, C_FENCE, cancelled },
	{ "fence.closed", T_REL, 0, C_FENCE, closed },
	{ "fence.disconnected", T_MSG, 0, C_FENCE, disconnected },
	{ "fence.shut_down", T_MSG, 0, C_FENCE, shut_down },
	{ "fence.peer_lost", T_REL, 0, C_FENCE, peer_lost },
	{ "fence.refused", T_REL, 0, C_MSG | KFI_FENCE, refused },
	{ "fence.stress", T_REL, 0, C_FENCE | C_RMA, stress },
	{ }
};
