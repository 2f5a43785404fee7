// SPDX-License-Identifier: GPL-2.0
/* Operations: pool entries, generations, and how each kind ends. */
#include <linux/delay.h>
#include <kfi_conn_set.h>
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

static void op_place_end(struct kfi_dev_place *place)
{
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
		{ KFI_OPC_PLACE_PUT,	KFI_RMA | KFI_WRITE },
		{ KFI_OPC_PLACE_GET,	KFI_RMA | KFI_WRITE },
		{ KFI_OPC_ATOMIC,	KFI_ATOMIC | KFI_WRITE },
		{ KFI_OPC_FETCH_ATOMIC,	KFI_ATOMIC | KFI_READ },
		{ KFI_OPC_COMPARE_ATOMIC, KFI_ATOMIC | KFI_READ },
	};
	struct kfi_dev_place place = {};
	struct kfi_cq_tagged_entry e;
	struct kfi_cq_err_entry wc = {};
	struct kfi_oper *op;
	struct fake_rig o;
	unsigned int i;

	fake_rig_open(test, &o, 8, 0);
	o.w->ops.place_end = op_place_end;
	place.domain = &o.w->domain;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		op = kfi_op_get(&o.fake->ep, &o.fake->ep.tx, o.fake->ep.tx_cq, KFI_COMPLETION);
		op->code = cases[i].code;
		op->place = &place;
		op->len = 1;
		op->context = (void *)&cases[i];
		kfi_tx_complete(op, 0);
		KUNIT_EXPECT_EQ(test, 1, kfi_cq_read(o.cq, &e, 1));
		KUNIT_EXPECT_EQ_MSG(test, cases[i].flags, e.flags, "opcode %u", cases[i].code);
		KUNIT_EXPECT_PTR_EQ(test, (void *)&cases[i], e.op_context);
		op = kfi_op_get(&o.fake->ep, &o.fake->ep.tx, o.fake->ep.tx_cq, 0);
		op->code = cases[i].code;
		op->place = &place;
		op->len = 1;
		op->context = (void *)&cases[i];
		kfi_tx_complete(op, -EHOSTUNREACH);
		KUNIT_EXPECT_EQ(test, -KFI_EAVAIL, kfi_cq_read(o.cq, &e, 1));
		KUNIT_EXPECT_EQ(test, 1, kfi_cq_readerr(o.cq, &wc, 0));
		KUNIT_EXPECT_EQ(test, cases[i].flags, wc.flags);
		KUNIT_EXPECT_EQ(test, EHOSTUNREACH, wc.err);
		KUNIT_EXPECT_EQ(test, KFI_ADDR_NOTAVAIL, wc.src_addr);
	}
	/* a get that fails is no error */
	KUNIT_EXPECT_EQ(test, ARRAY_SIZE(cases) - 1, STAT(&o, errors));
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
	KUNIT_CASE(op_tx_flags),
	KUNIT_CASE(op_silent),
	KUNIT_CASE(op_freed_first),
	{}
};

static struct kunit_suite op_suite = {
	.name = "kfi_op",
	.test_cases = op_cases,
};

kunit_test_suite(op_suite);

/*
 * Operations that take too long: KFI_OPT_OP_TIMEOUT_MS. The endpoint has two connections without a
 * peer; the table @carriers says which of them has an operation, by the context of the operation.
 */

#define OW_MS		200
#define OW_SLOTS	64

/**
 * struct overdue_conn - a connection
 * @fails: how often its end was requested
 * @err: the first error
 * @at: when, in jiffies
 */
struct overdue_conn {
	struct kfi_peer_conn	pc;
	atomic_t		fails;
	int			err;
	unsigned long		at;
};

static struct overdue_conn ow_conns[2];
static struct overdue_conn *ow_carriers[8];
static struct kfi_conn_set ow_conn_set;

#define CTX(n)	((void *)(unsigned long)(n))

/* A context that is not a number: an operation may have any connection left from earlier. */
static const struct kfi_peer_conn *ow_carrier(const struct kfi_oper *op)
{
	unsigned long context = (unsigned long)READ_ONCE(op->context);
	const struct overdue_conn *conn =
		context < ARRAY_SIZE(ow_carriers) ? READ_ONCE(ow_carriers[context]) : &ow_conns[1];

	return conn ? &conn->pc : NULL;
}

static void ow_fail(struct kfi_peer_conn *pc, int err)
{
	struct overdue_conn *conn = container_of(pc, struct overdue_conn, pc);

	lockdep_assert_held(&ow_conn_set.lock);
	if (atomic_read(&conn->fails))
		return;
	conn->err = err;
	conn->at = jiffies;
	atomic_inc(&conn->fails);
}

static const struct kfi_conn_set_ops ow_ops = { .fail = ow_fail, .carrier = ow_carrier };

static void ow_open(struct kunit *test, struct fake_rig *o, u64 cq_flags)
{
	size_t ms = OW_MS;
	int i;

	memset(ow_conns, 0, sizeof(ow_conns));
	memset(ow_carriers, 0, sizeof(ow_carriers));
	spin_lock_init(&ow_conn_set.lock);
	INIT_LIST_HEAD(&ow_conn_set.conns);
	ow_conn_set.ops = &ow_ops;
	for (i = 0; i < ARRAY_SIZE(ow_conns); i++)
		list_add_tail(&ow_conns[i].pc.entry, &ow_conn_set.conns);
	fake_rig_prepare(test, o, OW_SLOTS, cq_flags);
	KUNIT_ASSERT_EQ(test, 0, kfi_endpoint(&o->w->domain.fid, o->info, &o->ep, NULL));
	kfi_to_ep(o->ep)->conn_set = &ow_conn_set;
	KUNIT_ASSERT_EQ(test, 0, kfi_ep_bind(o->ep, &o->cq->fid, KFI_TRANSMIT | KFI_RECV));
	KUNIT_ASSERT_EQ(test, 0, kfi_ep_bind(o->ep, &o->w->av->fid, 0));
	KUNIT_ASSERT_EQ(test, 0,
			kfi_setopt(&o->ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_OP_TIMEOUT_MS, &ms,
				   sizeof(ms)));
	KUNIT_ASSERT_EQ(test, 0, kfi_enable(o->ep));
	o->fake = to_fake(o->ep);
}

static void ow_post(struct kunit *test, struct fake_rig *o, unsigned long context,
		    struct overdue_conn *conn)
{
	static u8 buf[16];
	struct kvec vec = { buf, sizeof(buf) };
	struct kfi_msg msg = {
		.type = KFI_KVEC, .msg_iov = &vec, .iov_count = 1, .context = CTX(context)
	};

	WRITE_ONCE(ow_carriers[context], conn);
	KUNIT_EXPECT_EQ(test, 0, kfi_sendmsg(o->ep, &msg, 0));
}

/*
 * The connection ends, but not before the time limit of an operation that was posted, or got its
 * connection, at @since.
 */
static void ow_expect_end(struct kunit *test, struct overdue_conn *conn, unsigned long since)
{
	KUNIT_ASSERT_TRUE(test, fake_soon(atomic_read(&conn->fails)));
	KUNIT_EXPECT_EQ(test, -ETIMEDOUT, conn->err);
	KUNIT_EXPECT_TRUE(test, time_after_eq(conn->at, since + msecs_to_jiffies(OW_MS)));
}

static void ow_expect_none(struct kunit *test, struct overdue_conn *conn)
{
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&conn->fails));
}

/* Time without a connection does not count. */
static void overdue_unconnected(struct kunit *test)
{
	struct fake_rig o;
	unsigned long start;

	ow_open(test, &o, 0);
	ow_post(test, &o, 1, NULL);
	msleep(2 * OW_MS);
	start = jiffies;
	WRITE_ONCE(ow_carriers[1], &ow_conns[0]);
	ow_expect_end(test, &ow_conns[0], start);
	fake_rig_close(&o);
}

static void ow_done(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
}

/* An operation that has ended stays in the pool until its done() was called. */
static void overdue_ended(struct kunit *test)
{
	struct kfi_cqe cqe = { .done = ow_done };
	struct kfi_msg msg = { .type = KFI_KVEC, .context = &cqe };
	struct fake_rig o;

	ow_open(test, &o, KFI_CQ_DIRECT);
	KUNIT_EXPECT_EQ(test, 0, kfi_sendmsg(o.ep, &msg, KFI_CQE));
	KUNIT_EXPECT_TRUE(test, fake_finish(o.fake, 0));
	KUNIT_EXPECT_EQ(test, 1, kfi_pool_used(&kfi_to_ep(o.ep)->tx));
	msleep(2 * OW_MS);
	ow_expect_none(test, &ow_conns[1]);
	fake_rig_close(&o);
}

static int ow_set(struct kfid_ep *ep, size_t ms)
{
	return kfi_setopt(&ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_OP_TIMEOUT_MS, &ms, sizeof(ms));
}

static void overdue_options(struct kunit *test)
{
	size_t ms = 1, len = sizeof(ms);
	struct fake_rig o;
	struct kfid_ep *ep;

	ow_open(test, &o, 0);
	KUNIT_EXPECT_EQ(test, 0,
			kfi_getopt(&o.ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_OP_TIMEOUT_MS, &ms, &len));
	KUNIT_EXPECT_EQ(test, OW_MS, ms);
	KUNIT_EXPECT_EQ(test, -KFI_EOPBADSTATE, ow_set(o.ep, 0));
	KUNIT_ASSERT_EQ(test, 0, kfi_endpoint(&o.w->domain.fid, o.info, &ep, NULL));
	KUNIT_EXPECT_EQ(test, 0,
			kfi_getopt(&ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_OP_TIMEOUT_MS, &ms, &len));
	KUNIT_EXPECT_EQ(test, 0, ms);
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, ow_set(ep, 1));	/* a provider without connections */
	kfi_to_ep(ep)->conn_set = &ow_conn_set;
	KUNIT_EXPECT_EQ(test, -EINVAL,
			kfi_setopt(&ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_OP_TIMEOUT_MS, &ms, 4));
	KUNIT_EXPECT_EQ(test, -EINVAL, ow_set(ep, KFI_OP_TIMEOUT_MAX_MS + 1));
	KUNIT_EXPECT_EQ(test, 0, ow_set(ep, KFI_OP_TIMEOUT_MAX_MS));
	KUNIT_EXPECT_EQ(test, 0, ow_set(ep, 0));
	kfi_to_ep(ep)->type = KFI_EP_DGRAM;
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, ow_set(ep, 1));
	kfi_to_ep(ep)->type = KFI_EP_RDM;
	ep->fid.fclass = KFI_CLASS_RX_CTX;
	KUNIT_EXPECT_EQ(test, -ENOPROTOOPT, ow_set(ep, 1));
	ep->fid.fclass = KFI_CLASS_EP;
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&ep->fid));
	fake_rig_close(&o);
}

static struct kunit_case overdue_cases[] = {
	KUNIT_CASE(overdue_unconnected),
	KUNIT_CASE(overdue_ended),
	KUNIT_CASE(overdue_options),
	{}
};

static struct kunit_suite overdue_suite = {
	.name = "kfi_overdue",
	.test_cases = overdue_cases,
};
kunit_test_suite(overdue_suite);
