// SPDX-License-Identifier: GPL-2.0
/*
 * Atomic operations that must not succeed: not a byte changes, each ends once, and the endpoint
 * goes on.
 */
#include "atomic.h"

/* One operation of each kind ends with @err. */
static void denied(struct lab *l, enum kind how, unsigned int type, size_t n, u64 addr, u64 key,
		   int err)
{
	unsigned int op = how == COMPARE ? KFI_CSWAP_NE : KFI_ATOMIC_WRITE;
	struct test *t = l->t;

	memset(l->far, 0x5a, LAB_LEN);
	memset(l->old, 0x77, LAB_LEN);
	memset(l->v, 0xa5, LAB_LEN);
	EXPECT_EQ(t, lab_do(l, how, op, type, n, addr, key), err);
	EXPECT_EQ(t, not_all(l->far, LAB_LEN, 0x5a), -1);
	EXPECT_EQ(t, not_all(l->old, LAB_LEN, 0x77), -1);
	if (t->failures)
		FAIL(t, "kind %u, type %u, %zu elements at %#llx, key %#llx", how, type, n, addr,
		     key);
}

static void still_adds(struct lab *l)
{
	struct test *t = l->t;

	memset(l->far, 0, LAB_LEN);
	*(u64 *)l->v = 5;
	EXPECT_EQ(t, lab_do(l, FETCH, KFI_SUM, KFI_UINT64, 1, l->r.addr, l->r.key), 0);
	EXPECT_EQ(t, *(u64 *)l->old, 0);
	EXPECT_EQ(t, *lab_words(l), 5);
}

/* A change needs the right to write, a fetch the right to read. */
static void rights(struct test *t)
{
	struct lab *r = lab_open(t, KFI_REMOTE_READ, NULL),
		   *w = lab_open(t, KFI_REMOTE_WRITE, NULL);
	enum kind how;

	REQUIRE(t, r && w);
	for (how = BASE; how < KINDS; how++)
		denied(r, how, KFI_UINT64, 1, r->r.addr, r->r.key, EACCES);
	denied(w, FETCH, KFI_UINT64, 1, w->r.addr, w->r.key, EACCES);
	denied(w, COMPARE, KFI_UINT64, 1, w->r.addr, w->r.key, EACCES);
	EXPECT_EQ(t, lab_do(w, FETCH, KFI_ATOMIC_READ, KFI_UINT64, 1, w->r.addr, w->r.key), EACCES);
	memset(r->far, 0x42, LAB_LEN);
	EXPECT_EQ(t, lab_do(r, FETCH, KFI_ATOMIC_READ, KFI_UINT64, 4, r->r.addr, r->r.key), 0);
	EXPECT_EQ(t, not_all(r->old, 32, 0x42), -1);
	memset(w->v, 0x42, 8);
	EXPECT_EQ(t, lab_do(w, BASE, KFI_ATOMIC_WRITE, KFI_UINT64, 1, w->r.addr, w->r.key), 0);
	EXPECT_EQ(t, not_all(w->r.buf, 8, 0x42), -1);
}

/*
 * The post fails for errors that it can detect; errors that depend on the peer's memory are the
 * peer's answer.
 */
static void misaligned(struct test *t)
{
	struct lab *l = lab_open(t, ALL_RIGHTS, NULL);
	struct region odd;
	enum kind how;
	int i;

	REQUIRE(t, l && !region_open(&l->p->b, &odd, l->r.buf + 1, 1024, ALL_RIGHTS));
	for (how = BASE; how < KINDS; how++) {
		unsigned int op = how == COMPARE ? KFI_CSWAP : KFI_SUM;

		for (i = 2; i < 8; i++)
			EXPECT_EQ(t,
				  lab_post(l, how, op, int_types[i].type, 1,
					   l->r.addr + int_types[i].size / 2, l->r.key, l),
				  -EINVAL);
		for (i = 2; i < 8 && !(odd.addr & 1); i++)
			denied(l, how, int_types[i].type, 2, odd.addr, odd.key, EINVAL);
	}
	NONE_TX(&l->p->a);
	EXPECT_EQ(t, lab_do(l, BASE, KFI_SUM, KFI_UINT8, 3, odd.addr, odd.key), 0);
	still_adds(l);
}

/* If one of several targets is bad, none of them changes. */
static void half_wrong(struct test *t)
{
	struct lab *l = lab_open(t, ALL_RIGHTS, NULL);
	struct kfi_rma_ioc to[2];
	struct kfi_ioc in = {}, out = {};
	struct kfi_msg_atomic msg = {
		.msg_iov = &in, .iov_count = 1, .rma_iov = to, .rma_iov_count = 2,
		.datatype = KFI_UINT32, .op = KFI_ATOMIC_WRITE,
	};
	comp_t c;
	int i;

	REQUIRE(t, l);
	if (l->p->a.info->tx_attr->rma_iov_limit < 2) {
		test_skip(t, "one remote segment is all there is");
		return;
	}
	in = (struct kfi_ioc){ l->v, 4 };
	out = (struct kfi_ioc){ l->old, 4 };
	msg.addr = l->p->a.peer;
	msg.context = l;
	for (i = 0; i < 3; i++) {
		to[0] = (struct kfi_rma_ioc){ l->r.addr, 2, l->r.key };
		to[1] = (struct kfi_rma_ioc) { l->r.addr + LAB_LEN / 2 - 8 + 4 * (i > 0), 2,
					      l->r.key + (i == 2) };
		memset(l->far, 0x5a, LAB_LEN);
		POST(t, kfi_fetch_atomicmsg(l->p->a.ep, &msg, &out, NULL, 1, KFI_COMPLETION));
		REQUIRE(t, !WAIT_TX(&l->p->a, &c));
		EXPECT_EQ(t, c.err, i ? EACCES : 0);
		if (i)
			EXPECT_EQ(t, not_all(l->far, LAB_LEN, 0x5a), -1);
	}
	still_adds(l);
}

static void bad_posts(struct test *t)
{
	struct lab *l = lab_open(t, ALL_RIGHTS, NULL);
	size_t limit, i;
	struct kfi_ioc in = {}, *many;
	struct kfi_rma_ioc to, *far;
	struct kfi_msg_atomic msg = {
		.iov_count = 1, .rma_iov_count = 1, .datatype = KFI_INT32, .op = KFI_SUM
	};
	struct kfid_ep *ep;

	REQUIRE(t, l);
	ep = l->p->a.ep;
	limit = max(l->p->a.info->tx_attr->iov_limit, l->p->a.info->tx_attr->rma_iov_limit) + 1;
	many = test_zalloc(t, limit * sizeof(*many));
	far = test_zalloc(t, limit * sizeof(*far));
	REQUIRE(t, many && far);
	in = (struct kfi_ioc){ l->v, 1 };
	to = (struct kfi_rma_ioc){ l->r.addr, 1, l->r.key };
	for (i = 0; i < limit; i++) {
		many[i] = in;
		far[i] = to;
	}
	msg.addr = l->p->a.peer;
	msg.msg_iov = &in;
	msg.rma_iov = &to;
	EXPECT_EQ(t, kfi_atomicmsg(ep, &msg, KFI_TAGGED), -KFI_EBADFLAGS);
	EXPECT_EQ(t, kfi_atomicmsg(ep, &msg, KFI_MULTI_RECV), -KFI_EBADFLAGS);
	EXPECT_EQ(t, kfi_fetch_atomicmsg(ep, &msg, &in, NULL, 1, KFI_INJECT), -KFI_EBADFLAGS);
	EXPECT_EQ(t, kfi_fetch_atomicmsg(ep, &msg, &in, NULL, 1, KFI_REMOTE_CQ_DATA),
		  -KFI_EBADFLAGS);
	EXPECT_EQ(t,
		  kfi_atomic(ep, l->v, 0, NULL, msg.addr, l->r.addr, l->r.key, KFI_INT32, KFI_SUM,
			     NULL),
		  -EINVAL);
	EXPECT_EQ(t,
		  kfi_atomic(ep, NULL, 1, NULL, msg.addr, l->r.addr, l->r.key, KFI_INT32, KFI_SUM,
			     NULL),
		  -EINVAL);
	msg.msg_iov = many;
	msg.iov_count = limit;
	msg.rma_iov = far;
	msg.rma_iov_count = limit;
	EXPECT_EQ(t, kfi_atomicmsg(ep, &msg, 0), -EINVAL);
	msg.iov_count = 2;
	msg.rma_iov_count = 1;		/* two operands, one target */
	EXPECT_EQ(t, kfi_atomicmsg(ep, &msg, 0), -EINVAL);
	if (t->type != KFI_EP_MSG) {
		msg.iov_count = 1;
		msg.addr = 12345;
		EXPECT_EQ(t, kfi_atomicmsg(ep, &msg, 0), -EINVAL);
	}
	NONE_TX(&l->p->a);
	still_adds(l);
}

/*
 * Without the capability an endpoint can't post atomic operations, nor does its memory change by
 * them.
 */
static void without_capability(struct test *t)
{
	struct node_opts plain = { .caps = C_MSG | C_RMA };
	struct lab *l = lab_open(t, ALL_RIGHTS, &plain);
	struct kfi_atomic_attr attr;
	struct node *b;
	enum kind how;

	REQUIRE(t, l);
	b = &l->p->b;
	REQUIRE(t, !(b->info->caps & KFI_ATOMIC));
	for (how = BASE; how < KINDS; how++)
		denied(l, how, KFI_UINT64, 1, l->r.addr, l->r.key, EACCES);
	EXPECT_EQ(t, kfi_ep_query_atomic(b->ep, KFI_UINT64, KFI_SUM, &attr, 0), -EOPNOTSUPP);
	EXPECT_EQ(t, kfi_query_atomic(b->domain, KFI_UINT64, KFI_SUM, &attr, 0), -EOPNOTSUPP);
	EXPECT_EQ(t, kfi_atomic(b->ep, l->v, 1, NULL, b->peer, 0, 1, KFI_UINT64, KFI_SUM, NULL),
		  -EOPNOTSUPP);
	NONE_TX(b);
	still_works(l->p);
}

const struct test_case atomic_error_cases[] = {
	{ "atomic.rights", T_REL, 0, C_ATOMIC, rights },
	{ "atomic.misaligned", T_REL, 0, C_ATOMIC, misaligned },
	{ "atomic.half_wrong", T_REL, 0, C_ATOMIC, half_wrong },
	{ "atomic.bad_posts", T_REL, 0, C_ATOMIC, bad_posts },
	{ "atomic.without_capability", T_REL, 0, C_MSG | C_RMA | C_ATOMIC, without_capability },
	{}
};
