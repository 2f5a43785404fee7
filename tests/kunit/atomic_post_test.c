// SPDX-License-Identifier: GPL-2.0
/*
 * Posts of atomic operations: which are refused, what reaches the provider, and what queries
 * answer.
 */
#include "fake.h"

#define MOST	64	/* bytes of target that the provider permits */

struct apost {
	struct kfi_world	*w;
	struct kfi_info		*info;
	struct kfid_cq		*cq;
	struct kfid_ep		*ep;
	struct fake_ep		*fake;
};

static void apost_open(struct kunit *test, struct apost *p, size_t most)
{
	p->w = fake_open(test);
	p->w->ops.atomic_size = most;
	p->info = fake_info(p->w, KFI_EP_RDM);
	p->info->caps |= KFI_ATOMIC;
	p->cq = fake_cq(p->w, 64, 0, NULL, NULL);
	p->ep = fake_rdm(p->w, p->info, p->cq);
	p->fake = to_fake(p->ep);
}

static void apost_close(struct kunit *test, struct apost *p)
{
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&p->ep->fid));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&p->cq->fid));
	kfi_freeinfo(p->info);
	fake_close(p->w);
}

static u64 operands[32], compares[32], results[32];

/* Two entries each, 8 elements in all */
static struct kfi_ioc operand_iov[] = { { operands, 3 },
					{ operands + 3, 5 },
					{ operands, 0 },
					{ operands, 0 },
					{ operands, 0 } };
static struct kfi_ioc compare_iov[] = { { compares, 7 }, { compares + 7, 1 } };
static struct kfi_ioc result_iov[] = { { results, 4 }, { results + 4, 4 } };
static const struct kfi_rma_ioc target_iov[] = { { 0, 2, 1 }, { 64, 6, 2 }, { 0, 0, 3 } };

static const struct kfi_msg_atomic good = {
	.msg_iov = operand_iov, .iov_count = 2, .rma_iov = target_iov, .rma_iov_count = 2,
	.datatype = KFI_UINT64, .op = KFI_SUM,
};

static void untouched(struct kunit *test, struct apost *p)
{
	struct kfi_ep *ep = kfi_to_ep(p->ep);

	KUNIT_EXPECT_TRUE(test, list_empty(&p->fake->ops));
	KUNIT_EXPECT_EQ(test, 0, kfi_pool_used(&ep->tx));
	KUNIT_EXPECT_EQ(test, 64, atomic_read(&ep->tx_cq->free));
}

static struct kfi_ioc null_iov = { NULL, 8 }, short_iov = { operands, 7 },
		      long_iov = { operands, 9 };
static struct kfi_ioc huge_iov = { operands, SIZE_MAX };
static const struct kfi_rma_ioc odd = { 4, 8, 1 }, many = { 0, 9, 1 }, huge = { 0, SIZE_MAX, 1 },
				none = { 0, 0, 1 };

static const struct {
	int			op, datatype;
	const struct kfi_ioc	*iov;
	size_t			iov_count;
	const struct kfi_rma_ioc *rma;
	size_t			rma_count;
	u64			flags;
	int			ret;
} refused[] = {
	{ KFI_CSWAP,	KFI_UINT64,	operand_iov, 2,	target_iov, 2,	0, -EOPNOTSUPP },
	{ KFI_ATOMIC_READ, KFI_UINT64,	operand_iov, 2,	target_iov, 2,	0, -EOPNOTSUPP },
	{ KFI_NOOP,	KFI_UINT64,	operand_iov, 2,	target_iov, 2,	0, -EOPNOTSUPP },
	{ -1,		KFI_UINT64,	operand_iov, 2,	target_iov, 2,	0, -EOPNOTSUPP },
	{ KFI_SUM,	KFI_FLOAT,	operand_iov, 2,	target_iov, 2,	0, -EOPNOTSUPP },
	{ KFI_SUM, KFI_DOUBLE_COMPLEX,	operand_iov, 2,	target_iov, 2,	0, -EOPNOTSUPP },
	{ KFI_SUM,	KFI_VOID,	operand_iov, 2,	target_iov, 2,	0, -EOPNOTSUPP },
	{ KFI_SUM,	-1,		operand_iov, 2,	target_iov, 2,	0, -EOPNOTSUPP },
	{ KFI_SUM,	KFI_UINT64,	operand_iov, 2,	&many, 1,	0, -EMSGSIZE },
	{ KFI_SUM,	KFI_UINT64,	operand_iov, 2,	&huge, 1,	0, -EMSGSIZE },
	{ KFI_SUM,	KFI_UINT64,	operand_iov, 2,	&odd, 1,	0, -EINVAL },
	{ KFI_SUM,	KFI_UINT64,	operand_iov, 2,	&none, 1,	0, -EINVAL },
	{ KFI_SUM,	KFI_UINT64,	operand_iov, 2,	NULL, 2,	0, -EINVAL },
	{ KFI_SUM,	KFI_UINT64,	operand_iov, 2,	target_iov, 0,	0, -EINVAL },
	{ KFI_SUM,	KFI_UINT64,	operand_iov, 2,	target_iov, 1,	0, -EINVAL },
	{ KFI_SUM,	KFI_UINT64,	operand_iov, 2,	target_iov, 3,	0, -EINVAL },
	{ KFI_SUM,	KFI_UINT64,	operand_iov, 0,	target_iov, 2,	0, -EINVAL },
	{ KFI_SUM,	KFI_UINT64,	operand_iov, 5,	target_iov, 2,	0, -EINVAL },
	{ KFI_SUM,	KFI_UINT64,	NULL, 2,	target_iov, 2,	0, -EINVAL },
	{ KFI_SUM,	KFI_UINT64,	&null_iov, 1,	target_iov, 2,	0, -EINVAL },
	{ KFI_SUM,	KFI_UINT64,	&short_iov, 1,	target_iov, 2,	0, -EINVAL },
	{ KFI_SUM,	KFI_UINT64,	&long_iov, 1,	target_iov, 2,	0, -EINVAL },
	{ KFI_SUM,	KFI_UINT64,	&huge_iov, 1,	target_iov, 2,	0, -EINVAL },
	{ KFI_SUM,	KFI_UINT64,	operand_iov, 2,	target_iov, 2,	KFI_MULTI_RECV, -KFI_EBADFLAGS },
	{ KFI_SUM,	KFI_UINT64,	operand_iov, 2,	target_iov, 2,	KFI_TAGGED, -KFI_EBADFLAGS },
	{ KFI_SUM,	KFI_UINT64,	operand_iov, 2,	target_iov, 2,	KFI_FENCE, -KFI_EBADFLAGS },
	{ KFI_SUM,	KFI_UINT64,	operand_iov, 2,	target_iov, 2,	KFI_COMMIT_COMPLETE, -EOPNOTSUPP },
	{ KFI_SUM,	KFI_UINT64,	operand_iov, 2,	target_iov, 2,	KFI_CQE, -EINVAL },
};

static void apost_refusals(struct kunit *test)
{
	struct kfi_msg_atomic m = good;
	struct apost p;
	unsigned int i;

	apost_open(test, &p, MOST);
	for (i = 0; i < ARRAY_SIZE(refused); i++) {
		m.op = refused[i].op;
		m.datatype = refused[i].datatype;
		m.msg_iov = refused[i].iov;
		m.iov_count = refused[i].iov_count;
		m.rma_iov = refused[i].rma;
		m.rma_iov_count = refused[i].rma_count;
		KUNIT_EXPECT_EQ_MSG(test, refused[i].ret, kfi_atomicmsg(p.ep, &m, refused[i].flags),
				    "case %u", i);
		untouched(test, &p);
	}
	m = good;
	KUNIT_EXPECT_EQ(test, -KFI_EBADFLAGS,
			kfi_fetch_atomicmsg(p.ep, &m, result_iov, NULL, 2, KFI_INJECT));
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_fetch_atomicmsg(p.ep, &m, result_iov, NULL, 1, 0));
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_fetch_atomicmsg(p.ep, &m, NULL, NULL, 0, 0));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			kfi_compare_atomicmsg(p.ep, &m, compare_iov, NULL, 2, result_iov, NULL, 2,
					      0));
	m.op = KFI_CSWAP;
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, kfi_fetch_atomicmsg(p.ep, &m, result_iov, NULL, 2, 0));
	KUNIT_EXPECT_EQ(test, -EINVAL,
			kfi_compare_atomicmsg(p.ep, &m, compare_iov, NULL, 1, result_iov, NULL, 2,
					      0));
	KUNIT_EXPECT_EQ(test, -EINVAL,
			kfi_compare_atomicmsg(p.ep, &m, NULL, NULL, 0, result_iov, NULL, 2, 0));
	KUNIT_EXPECT_EQ(test, -EINVAL,
			kfi_compare_atomicmsg(p.ep, &m, compare_iov, NULL, 2, NULL, NULL, 0, 0));
	untouched(test, &p);
	apost_close(test, &p);
}

static struct kfi_oper *last(struct apost *p)
{
	return list_last_entry(&p->fake->ops, struct kfi_oper, link);
}

/* @iter reads the bytes that were at @from. */
static void expect_from(struct kunit *test, struct iov_iter iter, const void *from, size_t len)
{
	u8 got[MOST];

	KUNIT_ASSERT_EQ(test, len, iov_iter_count(&iter));
	KUNIT_EXPECT_EQ(test, len, copy_from_iter(got, len, &iter));
	KUNIT_EXPECT_EQ(test, 0, memcmp(got, from, len));
}

static void apost_described(struct kunit *test)
{
	struct kfi_msg_atomic m = good;
	struct kfi_oper *op;
	struct iov_iter it;
	struct apost p;
	unsigned int i;

	for (i = 0; i < 8; i++) {
		operands[i] = i + 1;
		compares[i] = i + 100;
	}
	apost_open(test, &p, MOST);
	m.op = KFI_MSWAP;
	m.datatype = KFI_INT64;
	KUNIT_ASSERT_EQ(test, 0,
			kfi_compare_atomicmsg(p.ep, &m, compare_iov, NULL, 2, result_iov, NULL, 2,
					      0));
	op = last(&p);
	KUNIT_EXPECT_EQ(test, KFI_OPC_COMPARE_ATOMIC, op->code);
	KUNIT_EXPECT_EQ(test, KFI_MSWAP, op->atomic->op);
	KUNIT_EXPECT_EQ(test, KFI_INT64, op->atomic->datatype);
	KUNIT_EXPECT_EQ(test, MOST, op->len);
	KUNIT_EXPECT_EQ(test, 2, op->rma_count);
	KUNIT_EXPECT_EQ(test, 16, op->rma[0].len);
	KUNIT_EXPECT_EQ(test, 48, op->rma[1].len);
	KUNIT_EXPECT_EQ(test, 64, op->rma[1].addr);
	KUNIT_EXPECT_EQ(test, 2, op->rma[1].key);
	expect_from(test, op->iter, operands, MOST);
	expect_from(test, op->atomic->compare, compares, MOST);
	it = op->atomic->result;
	KUNIT_EXPECT_EQ(test, MOST, copy_to_iter(compares, MOST, &it));
	KUNIT_EXPECT_EQ(test, 0, memcmp(results, compares, MOST));

	/* The operands of a read are ignored. */
	m.op = KFI_ATOMIC_READ;
	m.msg_iov = NULL;
	KUNIT_ASSERT_EQ(test, 0, kfi_fetch_atomicmsg(p.ep, &m, result_iov, NULL, 2, 0));
	KUNIT_EXPECT_EQ(test, 0, iov_iter_count(&last(&p)->iter));
	KUNIT_EXPECT_EQ(test, 0, iov_iter_count(&last(&p)->atomic->compare));
	KUNIT_EXPECT_EQ(test, MOST, iov_iter_count(&last(&p)->atomic->result));

	/* An injected operation has a copy of its operands. */
	KUNIT_ASSERT_EQ(test, 0,
			kfi_inject_atomic(p.ep, operands, 8, 0, 0, 1, KFI_UINT64, KFI_BOR));
	operands[7] = 0;
	KUNIT_EXPECT_EQ(test, KFI_OPC_ATOMIC, last(&p)->code);
	KUNIT_EXPECT_EQ(test, 8, ((u64 *)last(&p)->inline_buf)[7]);
	expect_from(test, last(&p)->iter, last(&p)->inline_buf, MOST);
	apost_close(test, &p);
}

/* fi_cntr(3): base operations count as writes, fetching and comparing ones as reads. */
static void apost_completions(struct kunit *test)
{
	struct kfi_cq_tagged_entry e = {};
	struct kfi_msg_atomic m = good;
	struct apost p;

	apost_open(test, &p, MOST);
	KUNIT_ASSERT_EQ(test, 0, kfi_atomicmsg(p.ep, &m, KFI_COMPLETION));
	KUNIT_EXPECT_TRUE(test, fake_finish(p.fake, 0));
	KUNIT_EXPECT_EQ(test, 1, kfi_cq_read(p.cq, &e, 1));
	KUNIT_EXPECT_EQ(test, KFI_ATOMIC | KFI_WRITE, e.flags);
	KUNIT_ASSERT_EQ(test, 0,
			kfi_fetch_atomicmsg(p.ep, &m, result_iov, NULL, 2, KFI_COMPLETION));
	KUNIT_EXPECT_TRUE(test, fake_finish(p.fake, 0));
	KUNIT_EXPECT_EQ(test, 1, kfi_cq_read(p.cq, &e, 1));
	KUNIT_EXPECT_EQ(test, KFI_ATOMIC | KFI_READ, e.flags);
	apost_close(test, &p);
}

static void apost_queries(struct kunit *test)
{
	struct kfi_atomic_attr attr = {};
	struct apost p;

	apost_open(test, &p, MOST);
	KUNIT_EXPECT_EQ(test, 0, kfi_ep_query_atomic(p.ep, KFI_INT16, KFI_SUM, &attr, 0));
	KUNIT_EXPECT_EQ(test, 2, attr.size);
	KUNIT_EXPECT_EQ(test, MOST / 2, attr.count);
	KUNIT_EXPECT_EQ(test, 0,
			kfi_ep_query_atomic(p.ep, KFI_UINT64, KFI_CSWAP, &attr, KFI_COMPARE_ATOMIC));
	KUNIT_EXPECT_EQ(test, MOST / 8, attr.count);
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			kfi_ep_query_atomic(p.ep, KFI_INT16, KFI_CSWAP, &attr, 0));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			kfi_ep_query_atomic(p.ep, KFI_INT16, KFI_ATOMIC_READ, &attr, 0));
	KUNIT_EXPECT_EQ(test, 0,
			kfi_ep_query_atomic(p.ep, KFI_INT16, KFI_ATOMIC_READ, &attr,
					    KFI_FETCH_ATOMIC));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, kfi_ep_query_atomic(p.ep, KFI_FLOAT, KFI_SUM, &attr, 0));
	KUNIT_EXPECT_EQ(test, -KFI_EBADFLAGS,
			kfi_ep_query_atomic(p.ep, KFI_INT8, KFI_SUM, &attr,
					    KFI_FETCH_ATOMIC | KFI_COMPARE_ATOMIC));
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_ep_query_atomic(p.ep, KFI_INT8, KFI_SUM, NULL, 0));
	p.w->info.caps = KFI_MSG;	/* those of the domain */
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			kfi_query_atomic(&p.w->domain.fid, KFI_INT8, KFI_SUM, &attr, 0));
	p.w->info.caps |= KFI_ATOMIC;
	KUNIT_EXPECT_EQ(test, 0, kfi_query_atomic(&p.w->domain.fid, KFI_INT8, KFI_SUM, &attr, 0));
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_query_atomic(NULL, KFI_INT8, KFI_SUM, &attr, 0));
	apost_close(test, &p);

	/* A provider without atomics: the endpoint has none, whatever the info says. */
	apost_open(test, &p, 0);
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, kfi_ep_query_atomic(p.ep, KFI_INT8, KFI_SUM, &attr, 0));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, kfi_atomicmsg(p.ep, &good, 0));
	KUNIT_EXPECT_NULL(test, kfi_op_by_index(&kfi_to_ep(p.ep)->tx, 0)->atomic);
	apost_close(test, &p);
}

static struct kunit_case apost_cases[] = {
	KUNIT_CASE(apost_refusals),
	KUNIT_CASE(apost_described),
	KUNIT_CASE(apost_completions),
	KUNIT_CASE(apost_queries),
	{}
};

static struct kunit_suite apost_suite = {
	.name = "kfi_atomic_post",
	.test_cases = apost_cases,
};
kunit_test_suite(apost_suite);
