// SPDX-License-Identifier: GPL-2.0
/* Authorization keys: only endpoints with the same key communicate. */
#include "harness.h"

#define KEY	"the key that both have"
/* Longer than a block of the hash, and different in the last byte only */
#define LONG	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const char *const apart[][2] = {
	{ KEY, "the key that both hAve" },
	{ KEY, KEY "!" },
	{ LONG "a", LONG "b" },
	{ KEY, NULL },
	{ NULL, KEY },
};

/* An endpoint's key is its own, or its domain's. */
static void same(struct test *t)
{
	static const struct node_opts opts[][2] = {
		{ { .key = KEY }, { .key = KEY } },
		{ { .key = LONG }, { .domain_key = LONG } },
		{ { .key = KEY, .domain_key = "another" }, { .domain_key = KEY } },
	};
	struct pair *p;
	int i;

	for (i = 0; i < ARRAY_SIZE(opts); i++) {
		p = pair_open(t, &opts[i][0], &opts[i][1]);
		REQUIRE(t, p);
		transfer(&p->a, &p->b, 5000, i);
		transfer(&p->b, &p->a, 100, i);
		still_works(p);
		test_close(t, &p->a.ep->fid);
		test_close(t, &p->b.ep->fid);
		if (p->b.pep)
			test_close(t, &p->b.pep->fid);
	}
}

static void cross(struct test *t, struct pair *p, u8 *buf)
{
	struct node *n;
	comp_t c;
	int i;

	fill(buf, 64, 1);
	fill(buf + 64, 64, 2);
	POST(t, kfi_recv(p->a.ep, buf + 128, 64, NULL, KFI_ADDR_UNSPEC, buf + 128));
	POST(t, kfi_recv(p->b.ep, buf + 192, 64, NULL, KFI_ADDR_UNSPEC, buf + 192));
	POST(t, kfi_send(p->a.ep, buf, 64, NULL, p->a.peer, buf));
	POST(t, kfi_send(p->b.ep, buf + 64, 64, NULL, p->b.peer, buf + 64));
	for (i = 0; i < 2; i++) {
		n = i ? &p->b : &p->a;
		REQUIRE_TX_OK(n, &c);
		REQUIRE(t, !WAIT_RX(n, &c));
		EXPECT_DATA(t, buf + 128 + i * 64, 64, 2 - i);
	}
}

/*
 * Both call at the same time, before either knows the other. Links on which the ends do not know
 * who is who lose one of many such calls.
 */
static void crossing(struct test *t)
{
	int round, rounds = t->w->quick ? 10 : 1000;
	struct node_opts opts = { .key = KEY };
	u8 *buf = test_zalloc(t, 256);
	struct pair *p;

	for (round = 0; round < rounds && !t->failures; round++) {
		p = pair_open(t, &opts, &opts);
		REQUIRE(t, p);
		memset(buf, 0, 256);
		cross(t, p, buf);
		if (!t->failures && !round)
			still_works(p);
		node_close(&p->a);
		node_close(&p->b);
	}
}

/*
 * A side without a key may refuse to call at all, because any process might listen at the address
 * of the other side.
 */
static void refused_send(struct node *from, struct node *to, const char *key, u8 *buf)
{
	struct test *t = from->t;
	comp_t c;

	POST(t, kfi_recv(to->ep, buf, 64, NULL, KFI_ADDR_UNSPEC, buf));
	POST(t, kfi_send(from->ep, buf + 64, 64, NULL, from->peer, buf + 64));
	REQUIRE_TX_ERR(from, &c, buf + 64, !key && c.err == EACCES ? EACCES : KFI_EKEYREJECTED);
	NONE_RX(to);
	EXPECT_EQ(t, not_all(buf, 64, 0), -1);
	EXPECT_EQ(t, kfi_cancel(&to->ep->fid, buf), 0);
	REQUIRE(t, !WAIT_RX(to, &c));
}

/*
 * Both directions are refused; a third endpoint, which has the key of one of them, is served as
 * usual.
 */
static void other_key(struct test *t)
{
	struct node_opts a = {}, b = {};
	struct node *third = test_new(t, struct node);
	u8 *buf = test_zalloc(t, 128);
	struct pair *p;
	int i;

	memset(buf + 64, 0x5a, 64);
	for (i = 0; i < ARRAY_SIZE(apart) && !t->failures; i++) {
		a.key = apart[i][0];
		b.key = apart[i][1];
		p = pair_open(t, &a, &b);
		REQUIRE(t, p);
		refused_send(&p->a, &p->b, a.key, buf);
		refused_send(&p->b, &p->a, b.key, buf);
		REQUIRE(t, !node_open_ep(t, third, 0, &b));
		REQUIRE(t, !node_insert(third, &p->b, &third->peer) &&
				   !node_insert(&p->b, third, &p->b.peer));
		transfer(third, &p->b, 1000, i);
		transfer(&p->b, third, 1000, i);
		refused_send(&p->a, &p->b, a.key, buf);
		test_close(t, &third->ep->fid);
		test_close(t, &p->a.ep->fid);
		test_close(t, &p->b.ep->fid);
	}
}

/*
 * The key of a domain is that of its endpoints without a key. If the keys of two domains differ, or
 * if only one has a key, no data is transferred.
 */
static void other_domain_key(struct test *t)
{
	u8 *buf = test_zalloc(t, 128);
	struct node_opts a = {}, b = {};
	struct pair *p;
	int i;

	memset(buf + 64, 0x5a, 64);
	for (i = 0; i < ARRAY_SIZE(apart) && !t->failures; i++) {
		a.domain_key = apart[i][0];
		b.domain_key = apart[i][1];
		p = pair_open(t, &a, &b);
		REQUIRE(t, p);
		refused_send(&p->a, &p->b, a.domain_key, buf);
		refused_send(&p->b, &p->a, b.domain_key, buf);
		node_close(&p->a);
		node_close(&p->b);
	}
}

/* The listener's consumer gets no event of such a call, and gets the next one. */
static void unheard(struct test *t)
{
	struct node *a = test_new(t, struct node), *b = test_new(t, struct node);
	struct event *ev = test_new(t, struct event);
	struct node_opts opts = {};
	struct kfi_eq_cm_entry cm;
	u32 what;
	int i;

	for (i = 0; i < ARRAY_SIZE(apart) && !t->failures; i++) {
		opts.key = apart[i][1];
		REQUIRE(t, !node_open(t, b, 1, &opts) && !node_listen(b));
		opts.key = apart[i][0];
		REQUIRE(t, !node_open_ep(t, a, 0, &opts));
		EXPECT_EQ(t, kfi_connect(a->ep, b->addr, "secret", 6), 0);
		REQUIRE(t, !WAIT_EVENT(a, ev));
		EXPECT_EQ(t, ev->err, KFI_EKEYREJECTED);
		EXPECT(t, ev->fid == &a->ep->fid);
		EXPECT_EQ(t, kfi_eq_read(b->eq, &what, &cm, sizeof(cm), 0), -EAGAIN);
		test_close(t, &a->ep->fid);
		opts.key = apart[i][1];
		REQUIRE(t, !node_open_ep(t, a, 0, &opts) && !pair_connect(a, b));
		transfer(a, b, 1000, i);
		test_close(t, &a->ep->fid);
		test_close(t, &b->ep->fid);
		test_close(t, &b->pep->fid);
	}
}

/* An endpoint with another key can't accept a caller that the listener's key has admitted. */
static void accepts(struct test *t)
{
	struct node_opts keyed = { .key = KEY };
	struct node *a = test_new(t, struct node), *b = test_new(t, struct node);
	struct event *ev = test_new(t, struct event);

	REQUIRE(t,
		!node_open(t, b, 1, &keyed) && !node_listen(b) && !node_open_ep(t, a, 0, &keyed));
	EXPECT_EQ(t, kfi_connect(a->ep, b->addr, NULL, 0), 0);
	REQUIRE(t, !WAIT_EVENT(b, ev));
	REQUIRE_EQ(t, ev->type, KFI_CONNREQ);
	if (EXPECT_EQ(t, ev->info->ep_attr->auth_key_size, strlen(KEY)))
		ev->info->ep_attr->auth_key[0] ^= 1;
	EXPECT(t, !node_endpoint(b, ev->info) && !node_enable(b));
	kfi_freeinfo(ev->info);
	REQUIRE(t, !t->failures);
	EXPECT_EQ(t, kfi_accept(b->ep, NULL, 0), -KFI_EKEYREJECTED);
	test_close(t, &b->ep->fid);
	REQUIRE(t, !WAIT_EVENT(a, ev));
	EXPECT_EQ(t, ev->err, ECONNREFUSED);
	test_close(t, &a->ep->fid);
	REQUIRE(t, !node_open_ep(t, a, 0, &keyed) && !pair_connect(a, b));
	transfer(a, b, 1000, 1);
}

const struct test_case auth_cases[] = {
	{ "auth.same", T_REL, CASE_MATCHING, C_MSG, same },
	{ "auth.crossing", T_RDM, 0, C_MSG, crossing },
	{ "auth.other_key", T_RDM, 0, C_MSG, other_key },
	{ "auth.other_domain_key", T_RDM, 0, C_MSG, other_domain_key },
	{ "auth.unheard", T_MSG, CASE_MATCHING, C_MSG, unheard },
	{ "auth.accepts", T_MSG, CASE_MATCHING, C_MSG, accepts },
	{ }
};
