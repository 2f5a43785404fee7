// SPDX-License-Identifier: GPL-2.0
/* Operations: pool entries, generations, and how each kind ends. */
#include "fake.h"

static u64 stat_sum(struct kfi_ep *ep, size_t offset)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += *(u64 *)((void *)per_cpu_ptr(ep->stats, cpu) + offset);
	return sum;
}

#define STAT(o, field)	stat_sum(&(o)->fake->ep, offsetof(struct kfi_stats, field))

/*
 * Each entry of the pool once, then -EAGAIN; the index finds the operation, any other number finds
 * nothing.
 */
static void op_places(struct kunit *test)
{
	struct fake_rig o;
	struct kfi_oper *op[8];
	unsigned long seen = 0;
	u32 gen, i;

	fake_rig_open(test, &o, 64, 0);
	for (i = 0; i < 8; i++) {
		op[i] = kfi_op_get(&o.fake->ep, &o.fake->ep.tx, o.fake->ep.tx_cq, 0);
		KUNIT_ASSERT_FALSE(test, IS_ERR(op[i]));
		KUNIT_EXPECT_FALSE(test, __test_and_set_bit(op[i]->index, &seen));
		KUNIT_EXPECT_PTR_EQ(test, op[i], kfi_op_by_index(&o.fake->ep.tx, op[i]->index));
		KUNIT_EXPECT_PTR_EQ(test, &o.fake->ep, op[i]->ep);
		KUNIT_EXPECT_NOT_NULL(test, op[i]->rma);
		/* KASAN, and the comparison below, detect an overlap */
		memset(op[i]->inline_buf, i, 64);
		memset(op[i]->iov.kvec, i, 4 * sizeof(struct kvec));
		memset(op[i]->rma, i, 2 * sizeof(struct kfi_rma_iov));
	}
	KUNIT_EXPECT_EQ(test, 0xff, seen);
	KUNIT_EXPECT_EQ(test, -EAGAIN, PTR_ERR(kfi_op_get(&o.fake->ep, &o.fake->ep.tx, o.fake->ep.tx_cq, 0)));
	KUNIT_EXPECT_EQ(test, 1, STAT(&o, again));
	KUNIT_EXPECT_NULL(test, kfi_op_by_index(&o.fake->ep.tx, 8));
	KUNIT_EXPECT_NULL(test, kfi_op_by_index(&o.fake->ep.tx, U32_MAX));
	for (i = 0; i < 8; i++) {
		KUNIT_EXPECT_PTR_EQ(test, &o.fake->ep, op[i]->ep);
		KUNIT_EXPECT_EQ(test, i, *(u8 *)op[i]->inline_buf);
		KUNIT_EXPECT_EQ(test, i, ((u8 *)op[i]->inline_buf)[63]);
		KUNIT_EXPECT_EQ(test, i, *(u8 *)op[i]->iov.kvec);
		KUNIT_EXPECT_EQ(test, i, *(u8 *)op[i]->rma);
		gen = op[i]->gen;
		kfi_op_abort(op[i]);
		KUNIT_EXPECT_EQ(test, gen + 1, op[i]->gen);
	}
	KUNIT_EXPECT_EQ(test, 64, atomic_read(&o.fake->ep.tx_cq->free));
	fake_rig_close(&o);
}

/* Without a completion on success the slot is returned. A failure has an entry anyway. */
static void op_silent(struct kunit *test)
{
	struct kfi_cq_err_entry wc = {};
	struct kfi_oper *op;
	struct fake_rig o;
	int i;

	fake_rig_open(test, &o, 1, 0);
	for (i = 0; i < 4; i++) {
		op = kfi_op_get(&o.fake->ep, &o.fake->ep.tx, o.fake->ep.tx_cq, KFI_NO_COMPLETION);
		KUNIT_ASSERT_FALSE(test, IS_ERR(op));
		kfi_tx_complete(op, 0);
		KUNIT_EXPECT_EQ(test, -EAGAIN, kfi_cq_read(o.cq, &wc, 1));
	}
	op = kfi_op_get(&o.fake->ep, &o.fake->ep.tx, o.fake->ep.tx_cq, KFI_NO_COMPLETION);
	op->context = &o;
	kfi_tx_complete(op, -EIO);
	KUNIT_EXPECT_EQ(test, 1, kfi_cq_readerr(o.cq, &wc, 0));
	KUNIT_EXPECT_PTR_EQ(test, (void *)&o, wc.op_context);
	fake_rig_close(&o);
}

/*
 * The operation is free before the consumer can see its completion. Whoever sleeps for an entry is
 * woken by it, so a function in the place of a sleeper sees what a reader on another CPU may see.
 */
struct sleeper {
	struct wait_queue_entry	wait;
	struct kfi_op_pool	*pool;
	unsigned int		woken;
	unsigned int		used;
};

static int sleeper_woken(struct wait_queue_entry *wait, unsigned int mode, int flags, void *key)
{
	struct sleeper *s = container_of(wait, struct sleeper, wait);

	s->woken++;
	s->used += kfi_pool_used(s->pool);
	return 0;
}

static void op_freed_first(struct kunit *test)
{
	struct sleeper s = {};
	struct kfi_oper *op;
	struct fake_rig o;
	struct kfi_cq *cq;
	int i;

	fake_rig_open(test, &o, 4, 0);
	cq = kfi_to_cq(o.cq);
	s.pool = &o.fake->ep.tx;
	init_waitqueue_func_entry(&s.wait, sleeper_woken);
	add_wait_queue(&cq->wait, &s.wait);
	for (i = 0; i < 3; i++) {
		op = kfi_op_get(&o.fake->ep, s.pool, o.fake->ep.tx_cq, 0);
		KUNIT_ASSERT_FALSE(test, IS_ERR(op));
		cq->asleep = true;
		kfi_tx_complete(op, i == 2 ? -EIO : 0);
	}
	remove_wait_queue(&cq->wait, &s.wait);
	KUNIT_EXPECT_EQ(test, 3U, s.woken);
	KUNIT_EXPECT_EQ(test, 0U, s.used);
	fake_rig_close(&o);
}

static struct kunit_case op_cases[] = {
	KUNIT_CASE(op_places),
	KUNIT_CASE(op_silent),
	KUNIT_CASE(op_freed_first),
	{}
};

static struct kunit_suite op_suite = {
	.name = "kfi_op",
	.test_cases = op_cases,
};

kunit_test_suite(op_suite);
