// SPDX-License-Identifier: GPL-2.0
/*
 * Address vectors.
 */
#include <linux/delay.h>
#include "harness.h"

static struct node *open_named(struct test *t)
{
	struct node *n = test_new(t, struct node);

	return !node_open_ep(t, n, 0, NULL) ? n : NULL;
}

static void lookup(struct test *t)
{
	struct node *n = open_named(t);
	u8 got[128] = {};
	kfi_addr_t addr = KFI_ADDR_NOTAVAIL;
	size_t len = sizeof(got);

	REQUIRE(t, n);
	EXPECT_EQ(t, kfi_av_insert(n->av, n->addr, 1, &addr, 0, NULL), 1);
	EXPECT(t, addr != KFI_ADDR_NOTAVAIL);
	EXPECT_EQ(t, kfi_av_lookup(n->av, addr, got, &len), 0);
	EXPECT_EQ(t, len, n->addrlen);
	EXPECT(t, !memcmp(got, n->addr, n->addrlen));
	/* If the buffer is too small: the part that fits, and the full length. */
	memset(got, 0xee, sizeof(got));
	len = 3;
	EXPECT_EQ(t, kfi_av_lookup(n->av, addr, got, &len), 0);
	EXPECT_EQ(t, len, n->addrlen);
	EXPECT(t, !memcmp(got, n->addr, 3));
	EXPECT_EQ(t, not_all(got + 3, sizeof(got) - 3, 0xee), -1);
}

static void bad_address(struct test *t)
{
	struct node *n = open_named(t);
	kfi_addr_t addr[2] = { 1, 1 };
	int err[2] = { -1, -1 };
	u8 *two;

	REQUIRE(t, n);
	two = test_zalloc(t, 2 * n->addrlen);
	EXPECT_EQ(t, kfi_av_insert(n->av, two, 1, addr, 0, NULL), 0);
	EXPECT_EQ(t, addr[0], KFI_ADDR_NOTAVAIL);
	memcpy(two, n->addr, n->addrlen);
	EXPECT_EQ(t, kfi_av_insert(n->av, two, 2, addr, KFI_SYNC_ERR, err), 1);
	EXPECT(t, addr[0] != KFI_ADDR_NOTAVAIL);
	EXPECT_EQ(t, addr[1], KFI_ADDR_NOTAVAIL);
	EXPECT_EQ(t, err[0], 0);
	EXPECT_EQ(t, err[1], EINVAL);
	EXPECT_EQ(t, kfi_av_insert(n->av, two, 1, NULL, BIT_ULL(40), NULL), -KFI_EBADFLAGS);
}

static void removal(struct test *t)
{
	struct node *n = open_named(t);
	kfi_addr_t addr, never = 123456, notavail = KFI_ADDR_NOTAVAIL;
	size_t len = 128;
	u8 got[128];

	REQUIRE(t, n);
	EXPECT_EQ(t, kfi_av_remove(n->av, &never, 1, 0), -EINVAL);
	EXPECT_EQ(t, kfi_av_remove(n->av, &notavail, 1, 0), -EINVAL);
	EXPECT_EQ(t, kfi_av_lookup(n->av, 0, got, &len), -EINVAL);
	REQUIRE_EQ(t, kfi_av_insert(n->av, n->addr, 1, &addr, 0, NULL), 1);
	EXPECT_EQ(t, kfi_av_remove(n->av, &addr, 1, 1), -KFI_EBADFLAGS);
	EXPECT_EQ(t, kfi_av_remove(n->av, &addr, 1, 0), 0);
	EXPECT_EQ(t, kfi_av_remove(n->av, &addr, 1, 0), -EINVAL);
	EXPECT_EQ(t, kfi_av_lookup(n->av, addr, got, &len), -EINVAL);
	/* Then a post names no peer. */
	EXPECT_EQ(t, kfi_send(n->ep, got, 1, NULL, addr, NULL), -EINVAL);
	EXPECT_EQ(t, kfi_send(n->ep, got, 1, NULL, KFI_ADDR_UNSPEC, NULL), -EINVAL);
	NONE_TX(n);
}

/* Remove the peer, insert it again, and continue. */
static void insert_again(struct test *t, struct pair *p)
{
	kfi_addr_t old = 0;
	int i;

	for (i = 0; i < 5; i++) {
		if (transfer(&p->a, &p->b, 500, i))
			return;
		REQUIRE_EQ(t, kfi_av_remove(p->a.av, &p->a.peer, 1, 0), 0);
		/* The provider has communicated with it, and must not use the old state. */
		EXPECT_EQ(t, kfi_send(p->a.ep, &old, 1, NULL, p->a.peer, NULL), -EINVAL);
		old = p->a.peer;
		REQUIRE(t, !node_insert(&p->a, &p->b, &p->a.peer));
		EXPECT(t, p->a.peer != old);
	}
	still_works(p);
}

#define WAITING	16

/*
 * An address is removed with messages under way: they end as usual, and meanwhile no other address
 * gets the handle.
 */
static void removed_outstanding(struct test *t, struct pair *p)
{
	struct node *third = test_new(t, struct node);
	size_t step = 3000;
	u8 *tx = test_pages(t, WAITING * step), *rx = test_pages(t, WAITING * step);
	unsigned long ended = 0;
	kfi_addr_t old, addr;
	comp_t c;
	int i;

	REQUIRE(t, !node_open_ep(t, third, 1, NULL));
	old = p->a.peer;
	for (i = 0; i < WAITING; i++) {
		fill(tx + i * step, step, i);
		REQUIRE(t, !POST(t, kfi_send(p->a.ep, tx + i * step, i & 1 ? step : 100, NULL, old,
					     CTX(i))));
	}
	REQUIRE_EQ(t, kfi_av_remove(p->a.av, &old, 1, 0), 0);
	EXPECT_EQ(t, kfi_send(p->a.ep, tx, 8, NULL, old, CTX(99)), -EINVAL);
	REQUIRE(t, !node_insert(&p->a, third, &addr));
	EXPECT(t, addr != old);
	for (i = 0; i < WAITING; i++) {
		POST(t, kfi_recv(p->b.ep, rx + i * step, step, NULL, KFI_ADDR_UNSPEC, CTX(i)));
		REQUIRE_RX(&p->b, &c, CTX(i), KFI_MSG | KFI_RECV);
		EXPECT_DATA(t, rx + i * step, i & 1 ? step : 100, i);
	}
	/* Payload that was copied is sent earlier than what a device still reads. */
	for (i = 0; i < WAITING; i++) {
		REQUIRE_TX(&p->a, &c, c.op_context, KFI_MSG | KFI_SEND);
		ended |= BIT((unsigned long)c.op_context - (unsigned long)CTX(0));
	}
	EXPECT_EQ(t, ended, BIT(WAITING) - 1);
	NONE_TX(&p->a);
	REQUIRE(t, !node_insert(&p->a, &p->b, &p->a.peer));
	still_works(p);
}

/* ---- messages that wait while the address of their sender is inserted or removed ---- */

#define LONG	200000
#define C_WAITING	(C_MSG | C_TAGGED | KFI_SOURCE | KFI_DIRECTED_RECV)

static const struct {
	size_t len;
	bool tagged;
} waiting[] = { { 100, false }, { LONG, false }, { 200, true }, { LONG, true } };

static bool wait_send(struct node *n, u8 *tx)
{
	struct test *t = n->t;
	size_t len;
	u8 *buf;
	int i;

	for (i = 0; i < ARRAY_SIZE(waiting); i++) {
		buf = tx + i * LONG;
		len = waiting[i].len;
		fill(buf, len, i);
		if (waiting[i].tagged ?
			    POST(t, kfi_tsend(n->ep, buf, len, NULL, n->peer, i, CTX(i))) :
			    POST(t, kfi_send(n->ep, buf, len, NULL, n->peer, CTX(i))))
			return false;
	}
	return true;
}

static bool wait_recv(struct node *n, int i, u8 *rx, kfi_addr_t from)
{
	struct test *t = n->t;

	memset(rx, 0x5a, LONG);
	return waiting[i].tagged ? !POST(t, kfi_trecv(n->ep, rx, LONG, NULL, from, i, 0, CTX(i)))
				 : !POST(t, kfi_recv(n->ep, rx, LONG, NULL, from, CTX(i)));
}

static bool wait_from(struct node *n, struct kfi_cq_tagged_entry *e, kfi_addr_t from)
{
	struct test *t = n->t;
	kfi_addr_t src = 0;

	return EXPECT(t, test_until(t, kfi_cq_readfrom(n->rxcq, e, 1, &src) == 1)) &&
	       EXPECT_EQ(t, src, from);
}

/* The receive of message @i has it, and reports its sender. */
static bool wait_got(struct node *n, int i, const u8 *rx, kfi_addr_t from)
{
	struct kfi_cq_tagged_entry e;
	struct test *t = n->t;

	return wait_from(n, &e, from) && EXPECT(t, e.op_context == CTX(i)) &&
	       EXPECT_EQ(t, e.flags, KFI_RECV | (waiting[i].tagged ? KFI_TAGGED : KFI_MSG)) &&
	       EXPECT_EQ(t, e.len, waiting[i].len) && EXPECT_DATA(t, rx, waiting[i].len, i);
}

static bool wait_sent(struct node *n)
{
	comp_t c;
	int i;

	for (i = 0; i < ARRAY_SIZE(waiting); i++) {
		if (WAIT_TX(n, &c))
			return false;
		EXPECT_EQ(n->t, c.err, 0);
	}
	return true;
}

static bool wait_peek(struct node *n, u64 tag, kfi_addr_t from)
{
	struct kfi_msg_tagged msg = {
		.type = KFI_KVEC, .addr = from, .tag = tag, .context = CTX(77),
	};

	return !POST(n->t, kfi_trecvmsg(n->ep, &msg, KFI_PEEK | KFI_COMPLETION));
}

static bool wait_cancelled(struct node *n, void *context)
{
	comp_t c;

	if (!EXPECT_EQ(n->t, kfi_cancel(&n->ep->fid, context), 0) || WAIT_RX(n, &c))
		return false;
	EXPECT_ERR(n->t, &c, context, ECANCELED);
	return true;
}

/*
 * Once an address is inserted, receives that name it take the messages that its peer has sent
 * before the insertion, and those that it sends afterwards.
 */
static void inserted_late(struct test *t)
{
	size_t len = ARRAY_SIZE(waiting) * LONG;
	struct pair *p = test_new(t, struct pair);
	struct node *third = test_new(t, struct node);
	u8 *tx = test_pages(t, len), *rx = test_pages(t, len);
	struct kfi_cq_tagged_entry e;
	kfi_addr_t other;
	comp_t c;
	int i;

	REQUIRE(t, !node_open_ep(t, &p->a, 0, NULL) && !node_open_ep(t, third, 0, NULL));
	REQUIRE(t, !node_open_ep(t, &p->b, 1, NULL));
	REQUIRE(t, !node_insert(&p->a, &p->b, &p->a.peer) && !node_insert(&p->b, third, &other));
	REQUIRE(t, !POST(t, kfi_recv(p->b.ep, rx, 8, NULL, other, CTX(90))));
	REQUIRE(t, !POST(t, kfi_trecv(p->b.ep, rx, 8, NULL, other, 0, ~0ULL, CTX(91))));
	REQUIRE(t, wait_send(&p->a, tx));
	msleep(100);
	NONE_RX(&p->b);
	REQUIRE(t, wait_peek(&p->b, 2, KFI_ADDR_UNSPEC) && wait_from(&p->b, &e, KFI_ADDR_NOTAVAIL));
	REQUIRE(t, !node_insert(&p->b, &p->a, &p->b.peer));
	EXPECT(t, p->b.peer != other);
	REQUIRE(t, wait_peek(&p->b, 2, p->b.peer) && wait_from(&p->b, &e, p->b.peer));
	EXPECT_EQ(t, e.len, waiting[2].len);
	REQUIRE(t, wait_peek(&p->b, 2, other) && !WAIT_RX(&p->b, &c));
	EXPECT_ERR(t, &c, CTX(77), ENOMSG);
	/* Messages that have waited. The first receive takes a message of any sender. */
	for (i = 0; i < ARRAY_SIZE(waiting); i++) {
		REQUIRE(t, wait_recv(&p->b, i, rx + i * LONG, i ? p->b.peer : KFI_ADDR_UNSPEC));
		REQUIRE(t, wait_got(&p->b, i, rx + i * LONG, p->b.peer));
	}
	REQUIRE(t, wait_sent(&p->a));
	/* Messages that wait and have come after the insertion. */
	REQUIRE(t, wait_send(&p->a, tx));
	msleep(100);
	for (i = 0; i < ARRAY_SIZE(waiting); i++) {
		REQUIRE(t, wait_recv(&p->b, i, rx + i * LONG, p->b.peer));
		REQUIRE(t, wait_got(&p->b, i, rx + i * LONG, p->b.peer));
	}
	REQUIRE(t, wait_sent(&p->a));
	/* Messages that find their receive. A long one may end later than a short one. */
	for (i = 0; i < ARRAY_SIZE(waiting); i++)
		REQUIRE(t, wait_recv(&p->b, i, rx + i * LONG, p->b.peer));
	REQUIRE(t, wait_send(&p->a, tx) && wait_sent(&p->a));
	for (i = 0; i < ARRAY_SIZE(waiting); i++) {
		REQUIRE(t, wait_from(&p->b, &e, p->b.peer));
		REQUIRE(t, (uintptr_t)e.op_context < ARRAY_SIZE(waiting));
		EXPECT_EQ(t, e.len, waiting[(uintptr_t)e.op_context].len);
	}
	for (i = 0; i < ARRAY_SIZE(waiting); i++)
		EXPECT_DATA(t, rx + i * LONG, waiting[i].len, i);
	/* None of them was for the other peer. */
	REQUIRE(t, wait_cancelled(&p->b, CTX(90)) && wait_cancelled(&p->b, CTX(91)));
	still_works(p);
}

/*
 * An address is removed and inserted again while messages of its peer wait: no message is from the
 * old handle, all are from the new one.
 */
static void removed_waiting(struct test *t, struct pair *p)
{
	size_t len = ARRAY_SIZE(waiting) * LONG;
	u8 *tx = test_pages(t, len), *rx = test_pages(t, len);
	struct kfi_cq_tagged_entry e;
	kfi_addr_t old;
	int i;

	REQUIRE(t, wait_send(&p->a, tx));
	msleep(100);
	old = p->b.peer;
	REQUIRE(t, wait_peek(&p->b, 2, old) && wait_from(&p->b, &e, old));
	REQUIRE_EQ(t, kfi_av_remove(p->b.av, &old, 1, 0), 0);
	REQUIRE(t, wait_peek(&p->b, 2, KFI_ADDR_UNSPEC) && wait_from(&p->b, &e, KFI_ADDR_NOTAVAIL));
	REQUIRE(t, !POST(t, kfi_trecv(p->b.ep, rx, 8, NULL, old, 0, ~0ULL, CTX(91))));
	NONE_RX(&p->b);
	REQUIRE(t, wait_recv(&p->b, 0, rx, KFI_ADDR_UNSPEC));
	REQUIRE(t, wait_got(&p->b, 0, rx, KFI_ADDR_NOTAVAIL));
	REQUIRE(t, !node_insert(&p->b, &p->a, &p->b.peer));
	EXPECT(t, p->b.peer != old);
	for (i = 1; i < ARRAY_SIZE(waiting); i++) {
		REQUIRE(t, wait_recv(&p->b, i, rx + i * LONG, p->b.peer));
		REQUIRE(t, wait_got(&p->b, i, rx + i * LONG, p->b.peer));
	}
	REQUIRE(t, wait_sent(&p->a));
	REQUIRE(t, wait_cancelled(&p->b, CTX(91)));
	still_works(p);
}

static void rx_ctx_bits(struct test *t)
{
	struct kfi_av_attr attr = { .type = KFI_AV_TABLE, .rx_ctx_bits = 8 };
	struct node *n = open_named(t);
	struct kfid_av *av;
	kfi_addr_t addr;
	size_t len = 128;
	u8 got[128];

	REQUIRE(t, n);
	REQUIRE_EQ(t, kfi_av_open(n->domain, &attr, &av, NULL), 0);
	test_keep(t, &av->fid);
	REQUIRE_EQ(t, kfi_av_insert(av, n->addr, 1, &addr, 0, NULL), 1);
	EXPECT_EQ(t, addr >> 56, 0);
	addr = kfi_rx_addr(addr, 5, 8);
	EXPECT_EQ(t, addr >> 56, 5);
	/* The bits between context and index are checked. */
	EXPECT_EQ(t, kfi_av_lookup(av, addr | BIT_ULL(40), got, &len), -EINVAL);
	EXPECT_EQ(t, kfi_av_remove(av, &addr, 1, 0), 0);
	EXPECT_EQ(t, kfi_av_lookup(av, addr, got, &len), -EINVAL);
	attr.rx_ctx_bits = 17;
	EXPECT_EQ(t, kfi_av_open(n->domain, &attr, &av, NULL), -EINVAL);
	attr.rx_ctx_bits = -1;
	EXPECT_EQ(t, kfi_av_open(n->domain, &attr, &av, NULL), -EINVAL);
}

/* ---- KFI_OPT_AV_ONLY ---- */

static int set_members(struct node *n)
{
	size_t yes = 1;
	int ret = kfi_setopt(&n->ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_AV_ONLY, &yes, sizeof(yes));

	if (ret == -ENOPROTOOPT)
		test_skip(n->t, "any caller is admitted");
	else
		EXPECT_EQ(n->t, ret, 0);
	return ret;
}

/* Messages of an address that is not in the vector are refused, until it is inserted. */
static void members_only(struct test *t)
{
	struct node_opts opts = { .before_enable = set_members };
	struct pair *p = pair_open(t, NULL, &opts);
	struct node *third = test_new(t, struct node);
	kfi_addr_t addr;
	comp_t c;

	if (!p)
		return;
	REQUIRE(t, !node_open_ep(t, third, 0, NULL));
	if (transfer(&p->a, &p->b, 100, 1))
		return;
	REQUIRE(t, !node_insert(third, &p->b, &third->peer));
	REQUIRE(t, !POST(t, kfi_send(third->ep, NULL, 0, NULL, third->peer, CTX(1))));
	REQUIRE_TX_ERR(third, &c, CTX(1), EACCES);
	NONE_RX(&p->b);
	REQUIRE(t, !node_insert(&p->b, third, &addr));
	transfer(third, &p->b, 100, 2);
	still_works(p);
}

const struct test_case av_cases[] = {
	{ "av.lookup", T_RDM | T_DGRAM, 0, 0, lookup },
	{ "av.bad_address", T_RDM | T_DGRAM, 0, 0, bad_address },
	{ "av.removal", T_RDM | T_DGRAM, 0, 0, removal },
	{ "av.insert_again", T_RDM | T_DGRAM, 0, 0, .pair = insert_again },
	{ "av.removed_outstanding", T_RDM, 0, 0, .pair = removed_outstanding },
	{ "av.inserted_late", T_RDM, 0, C_WAITING, inserted_late },
	{ "av.removed_waiting", T_RDM, 0, C_WAITING, .pair = removed_waiting },
	{ "av.rx_ctx_bits", T_RDM | T_DGRAM, CASE_ONCE, 0, rx_ctx_bits },
	{ "av.members_only", T_RDM, 0, 0, members_only },
	{ }
};
