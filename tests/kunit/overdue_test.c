// SPDX-License-Identifier: GPL-2.0
/*
 * Operations that take too long: KFI_OPT_OP_TIMEOUT_MS. The endpoint has two connections that exist
 * in name only; the table @carriers says which of them has an operation, by the context of the
 * operation.
 */
#include <linux/delay.h>
#include <kfi_home.h>
#include <kfi_trigger.h>
#include "fake.h"

#define OW_MS		200
#define OW_SLOTS	64

/**
 * struct overdue_conn - a connection
 * @fails: how often it was to end; @err: the first reason; @at: when, jiffies
 */
struct overdue_conn {
	struct kfi_peer_conn	pc;
	atomic_t		fails;
	int			err;
	unsigned long		at;
};

static struct overdue_conn ow_conns[2];
static struct overdue_conn *ow_carriers[8];
static struct kfi_home ow_home;

struct overdue_world {
	struct kfi_world	*w;
	struct kfi_info		*info;
	struct kfid_cq		*cq;
	struct kfid_ep		*ep;
	struct fake_ep		*fake;
};

#define CTX(n)	((void *)(unsigned long)(n))

/* Of a context that is no number: whichever connection its place had before. */
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

	lockdep_assert_held(&ow_home.lock);
	if (atomic_read(&conn->fails))
		return;
	conn->err = err;
	conn->at = jiffies;
	atomic_inc(&conn->fails);
}

static const struct kfi_home_ops ow_ops = { .fail = ow_fail, .carrier = ow_carrier };

static void ow_open(struct kunit *test, struct overdue_world *o, u64 caps, u64 cq_flags)
{
	size_t ms = OW_MS;
	int i;

	memset(ow_conns, 0, sizeof(ow_conns));
	memset(ow_carriers, 0, sizeof(ow_carriers));
	spin_lock_init(&ow_home.lock);
	INIT_LIST_HEAD(&ow_home.conns);
	ow_home.ops = &ow_ops;
	for (i = 0; i < ARRAY_SIZE(ow_conns); i++)
		list_add_tail(&ow_conns[i].pc.entry, &ow_home.conns);
	o->w = fake_open(test);
	o->info = fake_info(o->w, KFI_EP_RDM);
	o->info->caps |= caps;
	o->cq = fake_cq(o->w, OW_SLOTS, cq_flags, NULL, NULL);
	KUNIT_ASSERT_EQ(test, 0, kfi_endpoint(&o->w->domain.fid, o->info, &o->ep, NULL));
	kfi_to_ep(o->ep)->home = &ow_home;
	KUNIT_ASSERT_EQ(test, 0, kfi_ep_bind(o->ep, &o->cq->fid, KFI_TRANSMIT | KFI_RECV));
	KUNIT_ASSERT_EQ(test, 0, kfi_ep_bind(o->ep, &o->w->av->fid, 0));
	KUNIT_ASSERT_EQ(test, 0,
			kfi_setopt(&o->ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_OP_TIMEOUT_MS, &ms,
				   sizeof(ms)));
	KUNIT_ASSERT_EQ(test, 0, kfi_enable(o->ep));
	o->fake = to_fake(o->ep);
}

static void ow_close(struct kunit *test, struct overdue_world *o)
{
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&o->ep->fid));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&o->cq->fid));
	kfi_freeinfo(o->info);
	fake_close(o->w);
}

static void ow_post(struct kunit *test, struct overdue_world *o, unsigned long context,
		    struct overdue_conn *conn, u64 flags)
{
	static u8 buf[16];
	struct kvec vec = { buf, sizeof(buf) };
	struct kfi_msg msg = {
		.type = KFI_KVEC, .msg_iov = &vec, .iov_count = 1, .context = CTX(context)
	};

	WRITE_ONCE(ow_carriers[context], conn);
	KUNIT_EXPECT_EQ(test, 0, kfi_sendmsg(o->ep, &msg, flags));
}

/*
 * The connection ends because of what was posted, or got its connection, at @since; and not too
 * early.
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

/* The connection of an operation that nobody answers ends, and no other. */
static void overdue_ends(struct kunit *test)
{
	unsigned long start = jiffies;
	struct overdue_world o;

	ow_open(test, &o, 0, 0);
	ow_post(test, &o, 1, &ow_conns[0], 0);
	ow_expect_end(test, &ow_conns[0], start);
	ow_expect_none(test, &ow_conns[1]);
	ow_close(test, &o);
}

/* A place that is always in use, by an operation that has just begun. */
static void overdue_in_time(struct kunit *test)
{
	unsigned long end = jiffies + msecs_to_jiffies(4 * OW_MS);
	struct overdue_world o;
	struct kfi_cq_tagged_entry e;

	ow_open(test, &o, 0, 0);
	while (time_before(jiffies, end)) {
		ow_post(test, &o, 1, &ow_conns[0], 0);
		msleep(OW_MS / 20);
		KUNIT_EXPECT_TRUE(test, fake_finish(o.fake, 0));
		KUNIT_EXPECT_EQ(test, 1, kfi_cq_read(o.cq, &e, 1));
	}
	ow_expect_none(test, &ow_conns[0]);
	ow_close(test, &o);
}

/* As long as there is no connection the time does not count. */
static void overdue_unconnected(struct kunit *test)
{
	struct overdue_world o;
	unsigned long start;

	ow_open(test, &o, 0, 0);
	ow_post(test, &o, 1, NULL, 0);
	msleep(2 * OW_MS);
	start = jiffies;
	WRITE_ONCE(ow_carriers[1], &ow_conns[0]);
	ow_expect_end(test, &ow_conns[0], start);
	ow_close(test, &o);
}

/* What waits behind a fence is not with any connection, whatever its place says. */
static void overdue_fence(struct kunit *test)
{
	struct overdue_world o;
	unsigned long start;

	ow_open(test, &o, KFI_FENCE, 0);
	start = jiffies;
	ow_post(test, &o, 1, &ow_conns[0], 0);
	ow_post(test, &o, 2, &ow_conns[1], KFI_FENCE);
	ow_expect_end(test, &ow_conns[0], start);
	msleep(2 * OW_MS);
	ow_expect_none(test, &ow_conns[1]);
	start = jiffies;
	KUNIT_EXPECT_TRUE(test, fake_finish(o.fake, -ETIMEDOUT));
	ow_expect_end(test, &ow_conns[1], start);
	ow_close(test, &o);
}

/* Nor is what waits for a counter. */
static void overdue_trigger(struct kunit *test)
{
	struct kfi_cntr_attr attr = { .wait_obj = KFI_WAIT_QUEUE };
	struct kfi_triggered_context c = { .event_type = KFI_TRIGGER_THRESHOLD };
	struct kfi_msg msg = { .type = KFI_KVEC, .context = &c };
	struct overdue_world o;
	struct kfid_cntr *cntr;
	unsigned long start;

	ow_open(test, &o, KFI_TRIGGER, 0);
	KUNIT_ASSERT_EQ(test, 0, kfi_cntr_open(&o.w->domain.fid, &attr, &cntr, NULL));
	c.trigger.threshold.cntr = cntr;
	c.trigger.threshold.threshold = 1;
	KUNIT_EXPECT_EQ(test, 0, kfi_sendmsg(o.ep, &msg, KFI_TRIGGER));
	msleep(2 * OW_MS);
	ow_expect_none(test, &ow_conns[1]);
	start = jiffies;
	kfi_cntr_add(cntr, 1);
	ow_expect_end(test, &ow_conns[1], start);
	KUNIT_EXPECT_TRUE(test, fake_finish(o.fake, 0));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&cntr->fid));
	ow_close(test, &o);
}

static void ow_done(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
}

/* An operation that has ended keeps its place until its done() was called. */
static void overdue_ended(struct kunit *test)
{
	struct kfi_cqe cqe = { .done = ow_done };
	struct kfi_msg msg = { .type = KFI_KVEC, .context = &cqe };
	struct overdue_world o;

	ow_open(test, &o, 0, KFI_CQ_DIRECT);
	KUNIT_EXPECT_EQ(test, 0, kfi_sendmsg(o.ep, &msg, KFI_CQE));
	KUNIT_EXPECT_TRUE(test, fake_finish(o.fake, 0));
	KUNIT_EXPECT_EQ(test, 1, kfi_pool_used(&kfi_to_ep(o.ep)->tx));
	msleep(2 * OW_MS);
	ow_expect_none(test, &ow_conns[1]);
	ow_close(test, &o);
}

static int ow_set(struct kfid_ep *ep, size_t ms)
{
	return kfi_setopt(&ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_OP_TIMEOUT_MS, &ms, sizeof(ms));
}

static void overdue_options(struct kunit *test)
{
	size_t ms = 1, len = sizeof(ms);
	struct overdue_world o;
	struct kfid_ep *ep;

	ow_open(test, &o, 0, 0);
	KUNIT_EXPECT_EQ(test, 0,
			kfi_getopt(&o.ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_OP_TIMEOUT_MS, &ms, &len));
	KUNIT_EXPECT_EQ(test, OW_MS, ms);
	KUNIT_EXPECT_EQ(test, -KFI_EOPBADSTATE, ow_set(o.ep, 0));
	KUNIT_ASSERT_EQ(test, 0, kfi_endpoint(&o.w->domain.fid, o.info, &ep, NULL));
	KUNIT_EXPECT_EQ(test, 0,
			kfi_getopt(&ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_OP_TIMEOUT_MS, &ms, &len));
	KUNIT_EXPECT_EQ(test, 0, ms);
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, ow_set(ep, 1));	/* a provider without connections */
	kfi_to_ep(ep)->home = &ow_home;
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
	ow_close(test, &o);
}

static struct kunit_case overdue_cases[] = {
	KUNIT_CASE(overdue_ends),
	KUNIT_CASE(overdue_in_time),
	KUNIT_CASE(overdue_unconnected),
	KUNIT_CASE(overdue_fence),
	KUNIT_CASE(overdue_trigger),
	KUNIT_CASE(overdue_ended),
	KUNIT_CASE(overdue_options),
	{}
};

static struct kunit_suite overdue_suite = {
	.name = "kfi_overdue",
	.test_cases = overdue_cases,
};
kunit_test_suite(overdue_suite);
