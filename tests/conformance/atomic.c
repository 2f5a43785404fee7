// SPDX-License-Identifier: GPL-2.0
/* Atomic operations */
#include <linux/delay.h>
#include "harness.h"

/* The three kinds of calls */
enum kind { BASE, FETCH, COMPARE, KINDS };

/* Flags of queries */
static const u64 kind_flag[KINDS] = { 0, KFI_FETCH_ATOMIC, KFI_COMPARE_ATOMIC };
/* Flags of completions */
static const u64 kind_comp[KINDS] = { KFI_ATOMIC | KFI_WRITE, KFI_ATOMIC | KFI_READ,
				      KFI_ATOMIC | KFI_READ };

/* All integer types of up to 64 bits */
static const struct int_type {
	enum kfi_datatype	type;
	size_t			size;
	bool			sign;
} int_types[8] = {
	{ KFI_INT8, 1, true }, { KFI_UINT8, 1, false }, { KFI_INT16, 2, true }, { KFI_UINT16, 2, false },
	{ KFI_INT32, 4, true }, { KFI_UINT32, 4, false }, { KFI_INT64, 8, true }, { KFI_UINT64, 8, false },
};

/* ---- the lab ---- */

#define LAB_LEN		8192	/* bytes of each piece of memory */

/**
 * struct lab - B's region, and A's memory for operands and results
 * @far: B's memory, of which @r is the middle half
 * @v: operands
 * @cmp: values to compare with
 * @old: results
 */
struct lab {
	struct test	*t;
	struct pair	*p;
	struct region	r;
	u8		*far, *v, *cmp, *old;
};

/* The region's memory, as it is now. */
static u64 *lab_words(struct lab *l)
{
	return (u64 *)l->r.buf;
}

static struct lab *lab_open(struct test *t, u64 access, const struct node_opts *b)
{
	struct lab *l = test_new(t, struct lab);

	l->t = t;
	l->p = pair_open(t, NULL, b);
	l->far = test_pages(t, LAB_LEN);
	l->v = test_pages(t, LAB_LEN);
	l->cmp = test_pages(t, LAB_LEN);
	l->old = test_pages(t, LAB_LEN);
	if (!l->p || region_open(&l->p->b, &l->r, l->far + LAB_LEN / 4, LAB_LEN / 2, access))
		return NULL;
	return l;
}

/* Post @n elements from the lab's memory. */
static ssize_t lab_post(struct lab *l, enum kind how, unsigned int op, unsigned int type, size_t n,
			u64 addr, u64 key, void *ctx)
{
	struct node *a = &l->p->a;

	if (how == BASE)
		return kfi_atomic(a->ep, l->v, n, NULL, a->peer, addr, key, type, op, ctx);
	if (how == FETCH)
		return kfi_fetch_atomic(a->ep, l->v, n, NULL, l->old, NULL, a->peer, addr, key,
					type, op, ctx);
	return kfi_compare_atomic(a->ep, l->v, n, NULL, l->cmp, NULL, l->old, NULL, a->peer, addr,
				  key, type, op, ctx);
}

/* Post, and wait for the end. Return: its error, positive. */
static int lab_do(struct lab *l, enum kind how, unsigned int op, unsigned int type, size_t n,
		  u64 addr, u64 key)
{
	struct test *t = l->t;
	comp_t c = {};

	if (POST(t, lab_post(l, how, op, type, n, addr, key, l)) || WAIT_TX(&l->p->a, &c))
		return -EIO;
	EXPECT(t, c.op_context == l);
	EXPECT_EQ(t, c.flags, kind_comp[how]);
	return c.err;
}

/* ---- every type and operation ---- */

static u64 get(const u8 *p, const struct int_type *i)
{
	switch (i->size) {
	case 1:
		return i->sign ? (u64)*(s8 *)p : *p;
	case 2:
		return i->sign ? (u64)*(s16 *)p : *(u16 *)p;
	case 4:
		return i->sign ? (u64)*(s32 *)p : *(u32 *)p;
	default:
		return *(u64 *)p;
	}
}

static void put(u8 *p, const struct int_type *i, u64 v)
{
	switch (i->size) {
	case 1:
		*p = v;
		break;
	case 2:
		*(u16 *)p = v;
		break;
	case 4:
		*(u32 *)p = v;
		break;
	default:
		*(u64 *)p = v;
	}
}

static int cmp_values(u64 a, u64 b, bool sign)
{
	if (a == b)
		return 0;
	return (sign ? (s64)a < (s64)b : a < b) ? -1 : 1;
}

/* fi_atomic(3): addr[i], buf[i], compare[i] */
static u64 model(unsigned int op, bool sign, u64 addr, u64 buf, u64 compare)
{
	int order = cmp_values(buf, addr, sign), cswap = cmp_values(compare, addr, sign);

	switch (op) {
	case KFI_MIN:
		return order < 0 ? buf : addr;
	case KFI_MAX:
		return order > 0 ? buf : addr;
	case KFI_SUM:
		return addr + buf;
	case KFI_DIFF:
		return addr - buf;
	case KFI_PROD:
		return addr * buf;
	case KFI_LOR:
		return addr || buf;
	case KFI_LAND:
		return addr && buf;
	case KFI_LXOR:
		return (addr && !buf) || (!addr && buf);
	case KFI_BOR:
		return addr | buf;
	case KFI_BAND:
		return addr & buf;
	case KFI_BXOR:
		return addr ^ buf;
	case KFI_ATOMIC_WRITE:
		return buf;
	case KFI_ATOMIC_READ:
		return addr;
	case KFI_CSWAP:
		return cswap == 0 ? buf : addr;
	case KFI_CSWAP_NE:
		return cswap != 0 ? buf : addr;
	case KFI_CSWAP_LE:
		return cswap <= 0 ? buf : addr;
	case KFI_CSWAP_LT:
		return cswap < 0 ? buf : addr;
	case KFI_CSWAP_GE:
		return cswap >= 0 ? buf : addr;
	case KFI_CSWAP_GT:
		return cswap > 0 ? buf : addr;
	case KFI_MSWAP:
		return (buf & compare) | (addr & ~compare);
	}
	return 0;
}

/* Random values, often small ones, so that equal values, logical values and order are tested. */
static void random_values(struct test *t, u8 *p, size_t n, const struct int_type *i)
{
	for (; n--; p += i->size)
		put(p, i,
		    test_random(t, 3) ? test_random(t, 4) - 1ULL :
					(u64)test_random(t, U32_MAX) * 0x100000001ULL);
}

static void one_op(struct lab *l, u8 *want, enum kind how, unsigned int op,
		   const struct int_type *i)
{
	struct test *t = l->t;
	struct kfi_atomic_attr attr;
	size_t n, off, k;
	u8 *old = want + LAB_LEN;

	REQUIRE_EQ(t, kfi_ep_query_atomic(l->p->a.ep, i->type, op, &attr, kind_flag[how]), 0);
	REQUIRE_EQ(t, attr.size, i->size);
	n = 1 + test_random(t, min(attr.count, LAB_LEN / 2 / i->size));
	off = test_random(t, LAB_LEN / 2 / i->size - n + 1) * i->size;
	random_values(t, l->r.buf, l->r.len / i->size, i);
	random_values(t, l->v, n, i);
	random_values(t, l->cmp, n, i);
	memset(l->old, 0, LAB_LEN);
	memcpy(want, l->far, LAB_LEN);
	memset(old, 0, LAB_LEN);
	for (k = 0; k < n * i->size; k += i->size) {
		u8 *at = want + LAB_LEN / 4 + off + k;

		put(old + k, i, how == BASE ? 0 : get(at, i));
		put(at, i, model(op, i->sign, get(at, i), get(l->v + k, i), get(l->cmp + k, i)));
	}
	EXPECT_EQ(t, lab_do(l, how, op, i->type, n, l->r.addr + off, l->r.key), 0);
	EXPECT(t, !memcmp(want, l->far, LAB_LEN));
	EXPECT(t, !memcmp(old, l->old, LAB_LEN));
	if (t->failures)
		FAIL(t, "kind %u, operation %u, type %u, %zu elements", how, op, i->type, n);
}

/* Is it an operation of this kind, fi_atomic(3)? */
static bool of_kind(enum kind how, unsigned int op)
{
	bool compare = op >= KFI_CSWAP && op <= KFI_MSWAP;

	if (op > KFI_DIFF || compare != (how == COMPARE))
		return false;
	return op != KFI_ATOMIC_READ || how == FETCH;
}

static void types(struct test *t)
{
	struct lab *l = lab_open(t, ALL_RIGHTS, NULL);
	u8 *want = test_pages(t, 2 * LAB_LEN);
	unsigned int op, i, round;
	enum kind how;

	REQUIRE(t, l);
	for (round = 0; round < (t->w->quick ? 1 : 10); round++)
		for (how = BASE; how < KINDS; how++)
			for (op = 0; op <= KFI_DIFF; op++)
				for (i = 0; i < ARRAY_SIZE(int_types) && !t->failures; i++)
					if (of_kind(how, op))
						one_op(l, want, how, op, &int_types[i]);
	/* The target was not involved. */
	NONE_RX(&l->p->b);
	NONE_TX(&l->p->b);
}

/* Carries, signs and the swap of 128 bits, where supported. */
static void wide(struct test *t)
{
	struct lab *l = lab_open(t, ALL_RIGHTS, NULL);
	struct kfi_atomic_attr attr;
	u64 *w, *v, *cmp, *old;

	REQUIRE(t, l);
	w = lab_words(l);
	v = (u64 *)l->v;
	cmp = (u64 *)l->cmp;
	old = (u64 *)l->old;
	if (kfi_ep_query_atomic(l->p->a.ep, KFI_UINT128, KFI_SUM, &attr, 0)) {
		EXPECT_EQ(t, lab_post(l, BASE, KFI_SUM, KFI_UINT128, 1, l->r.addr, l->r.key, l),
			  -EOPNOTSUPP);
		return;
	}
	/* The lower word first, as on every machine that these tests run on. */
	w[0] = U64_MAX;
	v[0] = 1;
	EXPECT_EQ(t, lab_do(l, FETCH, KFI_SUM, KFI_UINT128, 1, l->r.addr, l->r.key), 0);
	EXPECT(t, w[0] == 0 && w[1] == 1 && old[0] == U64_MAX && old[1] == 0);
	v[0] = 5;
	v[1] = U64_MAX;		/* negative, or very large */
	EXPECT_EQ(t, lab_do(l, BASE, KFI_MAX, KFI_INT128, 1, l->r.addr, l->r.key), 0);
	EXPECT(t, w[0] == 0 && w[1] == 1);
	EXPECT_EQ(t, lab_do(l, BASE, KFI_MAX, KFI_UINT128, 1, l->r.addr, l->r.key), 0);
	EXPECT(t, w[0] == 5 && w[1] == U64_MAX);
	cmp[0] = 5;
	cmp[1] = 0;		/* half of it is equal */
	EXPECT_EQ(t, lab_do(l, COMPARE, KFI_CSWAP, KFI_INT128, 1, l->r.addr, l->r.key), 0);
	EXPECT(t, old[0] == 5 && old[1] == U64_MAX && w[1] == U64_MAX);
	cmp[1] = U64_MAX;
	v[0] = 77;
	v[1] = 78;
	EXPECT_EQ(t, lab_do(l, COMPARE, KFI_CSWAP, KFI_INT128, 1, l->r.addr, l->r.key), 0);
	EXPECT(t, w[0] == 77 && w[1] == 78 && w[2] == 0);
}

/* Operands, results and targets in pieces that are independent of one another. */
static void vectors(struct test *t)
{
	struct lab *l = lab_open(t, ALL_RIGHTS, NULL);
	u64 *w, *v, *cmp, *old, i;
	struct kfi_ioc in[2], out[2], with[2];
	struct kfi_rma_ioc to[2];
	struct kfi_msg_atomic msg;
	comp_t c;

	REQUIRE(t, l);
	w = lab_words(l);
	v = (u64 *)l->v;
	cmp = (u64 *)l->cmp;
	old = (u64 *)l->old;
	if (min(l->p->a.info->tx_attr->rma_iov_limit, l->p->a.info->tx_attr->iov_limit) < 2) {
		test_skip(t, "one segment is all there is");
		return;
	}
	for (i = 0; i < 8; i++) {
		w[i < 3 ? i + 10 : i + 20] = i;	/* targets: words 10 to 12 and 23 to 27 */
		v[i < 7 ? i : i + 5] = 100 + i;
		cmp[i < 1 ? i : i + 3] = i % 2 ? i : 1000;
	}
	in[0] = (struct kfi_ioc){ v, 7 };
	in[1] = (struct kfi_ioc){ v + 12, 1 };
	with[0] = (struct kfi_ioc){ cmp, 1 };
	with[1] = (struct kfi_ioc){ cmp + 4, 7 };
	out[0] = (struct kfi_ioc){ old, 5 };
	out[1] = (struct kfi_ioc){ old + 9, 3 };
	to[0] = (struct kfi_rma_ioc){ l->r.addr + 80, 3, l->r.key };
	to[1] = (struct kfi_rma_ioc){ l->r.addr + 23 * 8, 5, l->r.key };
	msg = (struct kfi_msg_atomic){
		.msg_iov = in,
		.iov_count = 2,
		.addr = l->p->a.peer,
		.rma_iov = to,
		.rma_iov_count = 2,
		.datatype = KFI_UINT64,
		.op = KFI_CSWAP,
		.context = l,
	};
	POST(t,
	     kfi_compare_atomicmsg(l->p->a.ep, &msg, with, NULL, 2, out, NULL, 2, KFI_COMPLETION));
	REQUIRE_TX(&l->p->a, &c, l, KFI_ATOMIC | KFI_READ);
	for (i = 0; i < 8; i++) {
		EXPECT_EQ(t, old[i < 5 ? i : i + 4], i);
		EXPECT_EQ(t, w[i < 3 ? i + 10 : i + 20], i % 2 ? 100 + i : i);
	}
	EXPECT_EQ(t, w[13] | w[22] | w[28] | w[9] | old[5] | old[8] | old[12], 0);
	/* What is refused: fewer operands than targets, and more pieces than the limits. */
	for (i = 0; i < 3; i++) {
		in[1].count = i > 0;
		msg.iov_count = i == 1 ? l->p->a.info->tx_attr->iov_limit + 1 : 2;
		msg.rma_iov_count = i == 2 ? l->p->a.info->tx_attr->rma_iov_limit + 1 : 2;
		EXPECT_EQ(t, kfi_compare_atomicmsg(l->p->a.ep, &msg, with, NULL, 2, out, NULL, 2,
						   0), -EINVAL);
	}
	NONE_TX(&l->p->a);
}

/* The caller may change the operands at once. */
static void inject(struct test *t)
{
	struct lab *l = lab_open(t, ALL_RIGHTS, NULL);
	size_t most = 0, len = sizeof(most), n, i;
	struct kfi_atomic_attr attr;
	u64 *v;

	REQUIRE(t, l);
	v = (u64 *)l->v;
	REQUIRE_EQ(t, kfi_query_atomic(l->p->a.domain, KFI_UINT64, KFI_SUM, &attr, 0), 0);
	REQUIRE_EQ(t,
		   kfi_getopt(&l->p->a.ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_INJECT_ATOMIC_SIZE, &most,
			      &len),
		   0);
	n = most / 8;
	REQUIRE(t, n > 0 && n <= LAB_LEN / 16);
	for (i = 0; i < n; i++)
		v[i] = i + 1;
	POST(t, kfi_inject_atomic(l->p->a.ep, v, n, l->p->a.peer, l->r.addr, l->r.key, KFI_UINT64,
				  KFI_SUM));
	memset(v, 0xff, n * 8);
	for (i = 0; i < n; i++)
		EXPECT(t, test_until(t, READ_ONCE(lab_words(l)[i]) == i + 1));
	NONE_TX(&l->p->a);
	EXPECT_EQ(t,
		  kfi_inject_atomic(l->p->a.ep, v, most / 8 + 1, l->p->a.peer, l->r.addr, l->r.key,
				    KFI_UINT64, KFI_SUM),
		  n + 1 > attr.count ? -EMSGSIZE : -EINVAL);
}

/* ---- what is said about them ---- */

/*
 * The sizes that a query reports work (see types), and larger ones are refused; domain and endpoint
 * agree.
 */
static void query(struct test *t)
{
	struct lab *l = lab_open(t, ALL_RIGHTS, NULL);
	struct kfi_atomic_attr dom, attr;
	unsigned int op, type;
	enum kind how;
	int ret;

	REQUIRE(t, l);
	for (how = BASE; how < KINDS; how++) {
		for (op = 0; op < 30 && !t->failures; op++) {
			for (type = 0; type < 30; type++) {
				ret = kfi_ep_query_atomic(l->p->a.ep, type, op, &attr,
							  kind_flag[how]);
				EXPECT_EQ(t,
					  kfi_query_atomic(l->p->a.domain, type, op, &dom,
							   kind_flag[how]),
					  ret);
				if (!ret)
					EXPECT(t, attr.count && dom.count == attr.count &&
							  dom.size == attr.size);
				else
					EXPECT_EQ(t,
						  lab_post(l, how, op, type, 1, l->r.addr, l->r.key,
							   l),
						  -EOPNOTSUPP);
				if (type >= KFI_FLOAT && type <= KFI_LONG_DOUBLE_COMPLEX)
					EXPECT_EQ(t, ret, -EOPNOTSUPP);
			}
		}
	}
	EXPECT_EQ(t,
		  kfi_ep_query_atomic(l->p->a.ep, KFI_INT8, KFI_SUM, &attr,
				      KFI_FETCH_ATOMIC | KFI_COMPARE_ATOMIC),
		  -KFI_EBADFLAGS);
	EXPECT_EQ(t, kfi_query_atomic(l->p->a.domain, KFI_INT8, KFI_SUM, &attr, BIT_ULL(40)),
		  -KFI_EBADFLAGS);
	NONE_TX(&l->p->a);
}

/* The maximum number of elements works, and one more is refused. */
static void limits(struct test *t)
{
	struct lab *l = lab_open(t, ALL_RIGHTS, NULL);
	struct kfi_atomic_attr attr;
	size_t most = 0, len = sizeof(most), i;
	enum kind how;

	REQUIRE(t, l);
	REQUIRE_EQ(t,
		   kfi_getopt(&l->p->a.ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_MAX_ATOMIC_SIZE, &most,
			      &len),
		   0);
	for (how = BASE; how < KINDS; how++) {
		unsigned int op = how == COMPARE ? KFI_MSWAP : KFI_BXOR;

		for (i = 0; i < ARRAY_SIZE(int_types) && !t->failures; i++) {
			const struct int_type *it = &int_types[i];

			REQUIRE_EQ(t,
				   kfi_ep_query_atomic(l->p->a.ep, it->type, op, &attr,
						       kind_flag[how]),
				   0);
			EXPECT_EQ(t, attr.count, most / it->size);
			REQUIRE(t, attr.count * it->size <= LAB_LEN / 2);
			memset(l->v, 0xff, LAB_LEN);
			memset(l->cmp, 0xff, LAB_LEN);
			memset(l->far, 0, LAB_LEN);
			EXPECT_EQ(t, lab_do(l, how, op, it->type, attr.count, l->r.addr, l->r.key),
				  0);
			EXPECT_EQ(t, not_all(l->r.buf, attr.count * it->size, 0xff), -1);
			EXPECT_EQ(t,
				  lab_post(l, how, op, it->type, attr.count + 1, l->r.addr,
					   l->r.key, l),
				  -EMSGSIZE);
			EXPECT_EQ(t,
				  lab_post(l, how, op, it->type, SIZE_MAX, l->r.addr, l->r.key, l),
				  -EMSGSIZE);
		}
	}
	NONE_TX(&l->p->a);
}

/* The target gets an entry for operations with data, once, also if its queue was full. */
static void remote_data(struct test *t)
{
	struct node_opts small = { .cq_size = 4 };
	struct lab *l = lab_open(t, ALL_RIGHTS, &small);
	struct kfi_ioc in;
	struct kfi_rma_ioc to;
	struct kfi_msg_atomic msg = {
		.msg_iov = &in, .iov_count = 1, .rma_iov = &to, .rma_iov_count = 1,
		.datatype = KFI_UINT64, .op = KFI_SUM,
	};
	comp_t c;
	int i;

	REQUIRE(t, l);
	in = (struct kfi_ioc){ l->v, 1 };
	to = (struct kfi_rma_ioc){ l->r.addr, 1, l->r.key };
	msg.addr = l->p->a.peer;
	*(u64 *)l->v = 1;
	for (i = 0; i < 20; i++) {
		msg.data = 1000 + i;
		msg.context = CTX(i);
		POST(t, kfi_atomicmsg(l->p->a.ep, &msg, KFI_COMPLETION | KFI_REMOTE_CQ_DATA));
	}
	msleep(50);
	for (i = 0; i < 20 && !t->failures; i++) {
		REQUIRE_RX_OK(&l->p->b, &c);
		EXPECT_EQ(t, c.flags, KFI_ATOMIC | KFI_REMOTE_WRITE | KFI_REMOTE_CQ_DATA);
		EXPECT_EQ(t, c.data, 1000 + i);
		EXPECT(t, READ_ONCE(*lab_words(l)) > i);
		REQUIRE_TX(&l->p->a, &c, CTX(i), KFI_ATOMIC | KFI_WRITE);
	}
	EXPECT_EQ(t, *lab_words(l), 20);
	NONE_RX(&l->p->b);
}

/* Adjacent words that are written and read meanwhile. */
static void mixed_with_rma(struct test *t)
{
	struct lab *l = lab_open(t, ALL_RIGHTS, NULL);
	unsigned int i, n = t->w->quick ? 200 : 5000;
	u64 *w, *near;
	comp_t c;

	REQUIRE(t, l);
	w = lab_words(l);
	near = (u64 *)l->cmp;
	*(u64 *)l->v = 3;
	for (i = 0; i < n && !t->failures; i++) {
		struct node *a = &l->p->a;
		u64 *mine = near + 4 * (i % 16);

		mine[0] = i;
		POST(t, lab_post(l, BASE, KFI_SUM, KFI_UINT64, 1, l->r.addr + 8, l->r.key, CTX(0)));
		POST(t, kfi_write(a->ep, &mine[0], 8, NULL, a->peer, l->r.addr, l->r.key, CTX(1)));
		POST(t,
		     lab_post(l, FETCH, KFI_SUM, KFI_UINT64, 1, l->r.addr + 8, l->r.key, CTX(2)));
		POST(t, kfi_read(a->ep, &mine[1], 24, NULL, a->peer, l->r.addr, l->r.key, CTX(3)));
		POST(t, kfi_write(a->ep, &mine[0], 8, NULL, a->peer, l->r.addr + 16, l->r.key,
				  CTX(4)));
		for (int k = 0; k < 5; k++)
			REQUIRE_TX_OK(a, &c);
		EXPECT_EQ(t, *(u64 *)l->old, 6 * i + 3);
		EXPECT_EQ(t, mine[2], 6 * (i + 1));
		EXPECT_EQ(t, w[0], i);
		EXPECT_EQ(t, w[1], 6 * (i + 1));
		/* a completion at this level only says that it was sent */
		EXPECT(t, test_until(t, READ_ONCE(w[2]) == i));
	}
}

/* ---- those that must not succeed: not a byte changes, and the endpoint goes on ---- */

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

const struct test_case atomic_cases[] = {
	{ "atomic.types", T_REL, 0, C_ATOMIC, types },
	{ "atomic.wide", T_REL, 0, C_ATOMIC, wide },
	{ "atomic.vectors", T_REL, 0, C_ATOMIC, vectors },
	{ "atomic.inject", T_REL, 0, C_ATOMIC, inject },
	{ "atomic.query", T_REL, 0, C_ATOMIC, query },
	{ "atomic.limits", T_REL, 0, C_ATOMIC, limits },
	{ "atomic.remote_data", T_REL, 0, C_ATOMIC, remote_data },
	{ "atomic.mixed_with_rma", T_REL, 0, C_ATOMIC | C_RMA, mixed_with_rma },
	{ "atomic.rights", T_REL, 0, C_ATOMIC, rights },
	{ "atomic.misaligned", T_REL, 0, C_ATOMIC, misaligned },
	{}
};
