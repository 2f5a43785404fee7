// SPDX-License-Identifier: GPL-2.0
/*
 * Operations: places, generations, and how each kind ends.
 */
#include "fake.h"

struct op_world {
	struct kfi_world	*w;
	struct kfi_info		*info;
	struct kfid_cq		*cq;
	struct kfid_ep		*fid;
	struct kfi_ep		*ep;
	struct fake_ep		*fake;
};

static void op_open(struct kunit *test, struct op_world *o, u32 cq_size)
{
	o->w = fake_open(test);
	o->info = fake_info(o->w, KFI_EP_RDM);
	o->info->caps |= KFI_TAGGED_RMA;
	o->cq = fake_cq(o->w, cq_size, 0, NULL, NULL);
	o->fid = fake_rdm(o->w, o->info, o->cq);
	o->ep = kfi_to_ep(o->fid);
	o->fake = to_fake(o->fid);
}

static void op_close(struct kunit *test, struct op_world *o)
{
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&o->fid->fid));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&o->cq->fid));
	kfi_freeinfo(o->info);
	fake_close(o->w);
}

static u64 stat_sum(struct kfi_ep *ep, size_t offset)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += *(u64 *)((void *)per_cpu_ptr(ep->stats, cpu) + offset);
	return sum;
}

#define STAT(o, field)	stat_sum((o)->ep, offsetof(struct kfi_stats, field))

/* Every place once, then -EAGAIN; the index finds the operation, any other number nothing. */
static void op_places(struct kunit *test)
{
	struct op_world o;
	struct kfi_oper *op[8];
	unsigned long seen = 0;
	u32 gen, i;

	op_open(test, &o, 64);
	for (i = 0; i < 8; i++) {
		op[i] = kfi_op_get(o.ep, &o.ep->tx, o.ep->tx_cq, 0);
		KUNIT_ASSERT_FALSE(test, IS_ERR(op[i]));
		KUNIT_EXPECT_FALSE(test, __test_and_set_bit(op[i]->index, &seen));
		KUNIT_EXPECT_PTR_EQ(test, op[i], kfi_op_by_index(&o.ep->tx, op[i]->index));
		KUNIT_EXPECT_PTR_EQ(test, o.ep, op[i]->ep);
		KUNIT_EXPECT_NOT_NULL(test, op[i]->rma);
		/* KASAN, and the neighbours below, see what overlaps */
		memset(op[i]->inline_buf, i, 64);
		memset(op[i]->iov.kvec, i, 4 * sizeof(struct kvec));
		memset(op[i]->rma, i, 2 * sizeof(struct kfi_rma_iov));
	}
	KUNIT_EXPECT_EQ(test, 0xff, seen);
	KUNIT_EXPECT_EQ(test, -EAGAIN, PTR_ERR(kfi_op_get(o.ep, &o.ep->tx, o.ep->tx_cq, 0)));
	KUNIT_EXPECT_EQ(test, 1, STAT(&o, again));
	KUNIT_EXPECT_NULL(test, kfi_op_by_index(&o.ep->tx, 8));
	KUNIT_EXPECT_NULL(test, kfi_op_by_index(&o.ep->tx, U32_MAX));
	for (i = 0; i < 8; i++) {
		KUNIT_EXPECT_PTR_EQ(test, o.ep, op[i]->ep);
		KUNIT_EXPECT_EQ(test, i, *(u8 *)op[i]->inline_buf);
		KUNIT_EXPECT_EQ(test, i, ((u8 *)op[i]->inline_buf)[63]);
		KUNIT_EXPECT_EQ(test, i, *(u8 *)op[i]->iov.kvec);
		KUNIT_EXPECT_EQ(test, i, *(u8 *)op[i]->rma);
		gen = op[i]->gen;
		kfi_op_abort(op[i]);
		KUNIT_EXPECT_EQ(test, gen + 1, op[i]->gen);
	}
	KUNIT_EXPECT_EQ(test, 64, atomic_read(&o.ep->tx_cq->free));
	op_close(test, &o);
}

/* A full queue refuses, and the place goes back. */
static void op_full_queue(struct kunit *test)
{
	struct op_world o;
	struct kfi_oper *a, *b;

	op_open(test, &o, 1);
	a = kfi_op_get(o.ep, &o.ep->tx, o.ep->tx_cq, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR(a));
	b = kfi_op_get(o.ep, &o.ep->rx, o.ep->rx_cq, 0);
	KUNIT_EXPECT_EQ(test, -EAGAIN, PTR_ERR(b));
	KUNIT_EXPECT_EQ(test, 0, kfi_pool_used(&o.ep->rx));
	b = kfi_op_get(o.ep, &o.ep->rx, o.ep->rx_cq, KFI_CQE);	/* needs no slot */
	KUNIT_EXPECT_FALSE(test, IS_ERR(b));
	kfi_op_abort(b);
	kfi_op_abort(a);
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&o.ep->tx_cq->free));
	op_close(test, &o);
}

static void op_tx_flags(struct kunit *test)
{
	static const struct { u8 code; u64 flags; } cases[] = {
		{ KFI_OPC_SEND,		KFI_MSG | KFI_SEND },
		{ KFI_OPC_TSEND,	KFI_TAGGED | KFI_SEND },
		{ KFI_OPC_WRITE,	KFI_RMA | KFI_WRITE },
		{ KFI_OPC_READ,		KFI_RMA | KFI_READ },
		{ KFI_OPC_TWRITE,	KFI_TAGGED | KFI_RMA | KFI_WRITE | KFI_SEND },
		{ KFI_OPC_TREAD,	KFI_TAGGED | KFI_RMA | KFI_READ | KFI_SEND },
		{ KFI_OPC_FLUSH,	KFI_RMA | KFI_WRITE },
		{ KFI_OPC_ATOMIC,	KFI_ATOMIC | KFI_WRITE },
		{ KFI_OPC_FETCH_ATOMIC,	KFI_ATOMIC | KFI_READ },
		{ KFI_OPC_COMPARE_ATOMIC, KFI_ATOMIC | KFI_READ },
	};
	struct kfi_cq_tagged_entry e;
	struct kfi_cq_err_entry wc = {};
	struct kfi_oper *op;
	struct op_world o;
	unsigned int i;

	op_open(test, &o, 8);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		op = kfi_op_get(o.ep, &o.ep->tx, o.ep->tx_cq, KFI_COMPLETION);
		op->code = cases[i].code;
		op->context = (void *)&cases[i];
		kfi_tx_complete(op, 0);
		KUNIT_EXPECT_EQ(test, 1, kfi_cq_read(o.cq, &e, 1));
		KUNIT_EXPECT_EQ_MSG(test, cases[i].flags, e.flags, "opcode %u", cases[i].code);
		KUNIT_EXPECT_PTR_EQ(test, (void *)&cases[i], e.op_context);
		op = kfi_op_get(o.ep, &o.ep->tx, o.ep->tx_cq, 0);
		op->code = cases[i].code;
		op->context = (void *)&cases[i];
		kfi_tx_complete(op, -EHOSTUNREACH);
		KUNIT_EXPECT_EQ(test, -KFI_EAVAIL, kfi_cq_read(o.cq, &e, 1));
		KUNIT_EXPECT_EQ(test, 1, kfi_cq_readerr(o.cq, &wc, 0));
		KUNIT_EXPECT_EQ(test, cases[i].flags, wc.flags);
		KUNIT_EXPECT_EQ(test, EHOSTUNREACH, wc.err);
		KUNIT_EXPECT_EQ(test, KFI_ADDR_NOTAVAIL, wc.src_addr);
	}
	KUNIT_EXPECT_EQ(test, ARRAY_SIZE(cases), STAT(&o, errors));
	op_close(test, &o);
}

/* Nobody wants to hear of the success: the slot goes back. A failure is told in any case. */
static void op_silent(struct kunit *test)
{
	struct kfi_cq_err_entry wc = {};
	struct kfi_oper *op;
	struct op_world o;
	int i;

	op_open(test, &o, 1);
	for (i = 0; i < 4; i++) {
		op = kfi_op_get(o.ep, &o.ep->tx, o.ep->tx_cq, KFI_NO_COMPLETION);
		KUNIT_ASSERT_FALSE(test, IS_ERR(op));
		kfi_tx_complete(op, 0);
		KUNIT_EXPECT_EQ(test, -EAGAIN, kfi_cq_read(o.cq, &wc, 1));
	}
	op = kfi_op_get(o.ep, &o.ep->tx, o.ep->tx_cq, KFI_NO_COMPLETION);
	op->context = &o;
	kfi_tx_complete(op, -EIO);
	KUNIT_EXPECT_EQ(test, 1, kfi_cq_readerr(o.cq, &wc, 0));
	KUNIT_EXPECT_PTR_EQ(test, (void *)&o, wc.op_context);
	op_close(test, &o);
}

struct silent_req {
	struct kfi_cqe	cqe;
	atomic_t	calls;
	int		err;
};

static void silent_done(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	struct silent_req *r = container_of(cqe, struct silent_req, cqe);

	r->err = wc->err;
	atomic_inc(&r->calls);
}

static void op_silent_cqe(struct kunit *test)
{
	struct silent_req r = { .cqe.done = silent_done };
	struct kfi_oper *op;
	struct op_world o;
	int i;

	op_open(test, &o, 1);
	for (i = 0; i < 2; i++) {
		op = kfi_op_get(o.ep, &o.ep->tx, o.ep->tx_cq, KFI_NO_COMPLETION | KFI_CQE);
		op->context = &r.cqe;
		kfi_tx_complete(op, i ? -EIO : 0);
	}
	KUNIT_EXPECT_TRUE(test, fake_soon(atomic_read(&r.calls) == 1));
	KUNIT_EXPECT_EQ(test, EIO, r.err);
	KUNIT_EXPECT_TRUE(test, fake_soon(!kfi_pool_used(&o.ep->tx)));
	op_close(test, &o);
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&r.calls));
}

/*
 * The place is free before the consumer can know of the end: a reader at full depth never sees
 * -EAGAIN. The softirq runs as soon as the entry is in the queue and bottom halves are on, which is
 * before kfi_tx_complete() returns.
 */
struct tight {
	struct op_world	*o;
	atomic_t	seen;
	atomic_t	again;
};

static void tight_handler(struct kfid_cq *cq, void *context)
{
	struct kfi_cq_tagged_entry e;
	struct tight *t = context;
	struct kfi_oper *op;

	while (kfi_cq_read(cq, &e, 1) == 1) {
		op = kfi_op_get(t->o->ep, &t->o->ep->tx, kfi_to_cq(cq), 0);
		if (IS_ERR(op))
			atomic_inc(&t->again);
		else
			kfi_op_abort(op);
		atomic_inc(&t->seen);
	}
}

static void op_freed_first(struct kunit *test)
{
	struct op_world o = {};
	struct tight t = { .o = &o };
	struct kfi_oper *op;
	int i;

	o.w = fake_open(test);
	o.info = fake_info(o.w, KFI_EP_RDM);
	o.info->tx_attr->size = 1;
	o.cq = fake_cq(o.w, 4, KFI_CQ_SOFTIRQ, tight_handler, &t);
	o.fid = fake_rdm(o.w, o.info, o.cq);
	o.ep = kfi_to_ep(o.fid);
	for (i = 0; i < 500; i++) {
		KUNIT_ASSERT_TRUE(test,
				  fake_soon(!IS_ERR(op = kfi_op_get(o.ep, &o.ep->tx, o.ep->tx_cq, 0))));
		kfi_tx_complete(op, 0);
		KUNIT_ASSERT_TRUE(test, fake_soon(atomic_read(&t.seen) == i + 1));
	}
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&t.again));
	op_close(test, &o);
}

static void op_counters(struct kunit *test)
{
	struct kfi_world *w = fake_open(test);
	struct kfi_info *info = fake_info(w, KFI_EP_RDM);
	struct kfi_cntr_attr attr = {};
	static const u64 flags[] = { KFI_SEND, KFI_READ, KFI_WRITE };
	struct kfid_cntr *cntr[3];
	struct kfid_ep *fid;
	struct kfi_oper *op;
	struct kfi_ep *ep;
	int i;

	KUNIT_ASSERT_EQ(test, 0, kfi_endpoint(&w->domain.fid, info, &fid, NULL));
	for (i = 0; i < 3; i++) {
		KUNIT_ASSERT_EQ(test, 0, kfi_cntr_open(&w->domain.fid, &attr, &cntr[i], NULL));
		KUNIT_ASSERT_EQ(test, 0, kfi_ep_bind(fid, &cntr[i]->fid, flags[i]));
	}
	ep = kfi_to_ep(fid);
	/* send, tsend, write, read; without any queue */
	for (i = KFI_OPC_SEND; i <= KFI_OPC_READ; i++) {
		op = kfi_op_get(ep, &ep->tx, NULL, 0);
		op->code = i;
		kfi_tx_complete(op, i == KFI_OPC_READ ? -EIO : 0);
	}
	KUNIT_EXPECT_EQ(test, 2, kfi_cntr_read(cntr[0]));
	KUNIT_EXPECT_EQ(test, 0, kfi_cntr_read(cntr[1]));
	KUNIT_EXPECT_EQ(test, 1, kfi_cntr_readerr(cntr[1]));
	KUNIT_EXPECT_EQ(test, 1, kfi_cntr_read(cntr[2]));
	KUNIT_EXPECT_EQ(test, -EBUSY, kfi_close(&cntr[0]->fid));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&fid->fid));
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, 0, kfi_close(&cntr[i]->fid));
	kfi_freeinfo(info);
	fake_close(w);
}

static struct kunit_case op_cases[] = {
	KUNIT_CASE(op_places),
	KUNIT_CASE(op_full_queue),
	KUNIT_CASE(op_tx_flags),
	KUNIT_CASE(op_silent),
	KUNIT_CASE(op_silent_cqe),
	KUNIT_CASE_SLOW(op_freed_first),
	KUNIT_CASE(op_counters),
	{}
};

static struct kunit_suite op_suite = {
	.name = "kfi_op",
	.test_cases = op_cases,
};

kunit_test_suite(op_suite);
