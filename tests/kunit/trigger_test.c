// SPDX-License-Identifier: GPL-2.0
/*
 * Operations that wait for a counter.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/slab.h>
#include <kfi_trigger.h>
#include "crew.h"
#include "fake.h"

#define TW_DEPTH	8	/* as in fake_info() */
#define TW_SLOTS	64

static u8 tw_buf[64];
static struct kvec tw_vec = { tw_buf, 16 };

struct trigger_world {
	struct kfi_world	*w;
	struct kfi_info		*info;
	struct kfid_cq		*cq;
	struct kfid_ep		*ep;
	struct fake_ep		*fake;
	struct kfid_cntr	*cntr;
};

static struct kfid_cntr *tw_cntr(struct trigger_world *t)
{
	struct kfi_cntr_attr attr = { .wait_obj = KFI_WAIT_QUEUE };
	struct kfid_cntr *cntr = NULL;

	KUNIT_ASSERT_EQ(t->w->test, 0, kfi_cntr_open(&t->w->domain.fid, &attr, &cntr, NULL));
	return cntr;
}

static void tw_open(struct kunit *test, struct trigger_world *t)
{
	t->w = fake_open(test);
	t->w->ops.atomic_size = 64;
	t->info = fake_info(t->w, KFI_EP_RDM);
	t->info->caps |= KFI_TRIGGER | KFI_ATOMIC;
	t->cq = fake_cq(t->w, TW_SLOTS, 0, NULL, NULL);
	t->ep = fake_rdm(t->w, t->info, t->cq);
	t->fake = to_fake(t->ep);
	t->cntr = tw_cntr(t);
}

/* Read the next entry: return its context, and its error in *@err. */
static void *tw_entry(struct trigger_world *t, int *err)
{
	struct kfi_cq_err_entry wc = {};
	struct kfi_cq_tagged_entry e;
	ssize_t ret;

	*err = 0;
	ret = kfi_cq_read(t->cq, &e, 1);
	if (ret == 1)
		return e.op_context;
	if (ret != -KFI_EAVAIL || kfi_cq_readerr(t->cq, &wc, 0) != 1)
		return NULL;
	*err = wc.err;
	return wc.op_context;
}

/* Close everything: no slot and no reference is left. */
static void tw_close(struct kunit *test, struct trigger_world *t)
{
	int err;

	if (t->ep)
		KUNIT_EXPECT_EQ(test, 0, kfi_close(&t->ep->fid));
	if (t->cntr)
		KUNIT_EXPECT_EQ(test, 0, kfi_close(&t->cntr->fid));
	while (tw_entry(t, &err))
		;	/* entries of operations that the provider had */
	KUNIT_EXPECT_EQ(test, TW_SLOTS, atomic_read(&kfi_to_cq(t->cq)->free));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&t->cq->fid));
	kfi_freeinfo(t->info);
	fake_close(t->w);
}

static struct kfi_triggered_context tw_at(struct kfid_cntr *cntr, size_t threshold)
{
	return (struct kfi_triggered_context) {
		.event_type = KFI_TRIGGER_THRESHOLD,
		.trigger.threshold = { .cntr = cntr, .threshold = threshold },
	};
}

static int tw_send(struct trigger_world *t, struct kfi_triggered_context *c, u64 flags)
{
	struct kfi_msg msg = { .type = KFI_KVEC, .msg_iov = &tw_vec, .iov_count = 1, .context = c };

	return kfi_sendmsg(t->ep, &msg, KFI_TRIGGER | flags);
}

static int tw_recv(struct trigger_world *t, struct kfi_triggered_context *c)
{
	struct kfi_msg msg = {
		.type = KFI_KVEC, .msg_iov = &tw_vec, .iov_count = 1, .addr = KFI_ADDR_UNSPEC,
		.context = c,
	};

	return kfi_recvmsg(t->ep, &msg, KFI_TRIGGER);
}

static unsigned int tw_started(struct trigger_world *t)
{
	unsigned int n;

	spin_lock_bh(&t->fake->lock);
	n = list_count_nodes(&t->fake->ops);
	spin_unlock_bh(&t->fake->lock);
	return n;
}

static void trigger_order(struct kunit *test)
{
	static const size_t at[] = { 3, 1, 2, 1 };
	static const u8 order[] = { 1, 3, 2, 0 };
	struct kfi_triggered_context c[4];
	struct trigger_world t;
	unsigned int i;
	int err;

	tw_open(test, &t);
	for (i = 0; i < 4; i++) {
		c[i] = tw_at(t.cntr, at[i]);
		KUNIT_EXPECT_EQ(test, 0, tw_send(&t, &c[i], 0));
	}
	msleep(20);
	KUNIT_EXPECT_EQ(test, 0, tw_started(&t));
	kfi_cntr_adderr(t.cntr, 7);	/* only successes count */
	msleep(20);
	KUNIT_EXPECT_EQ(test, 0, tw_started(&t));
	kfi_cntr_add(t.cntr, 1);
	KUNIT_EXPECT_TRUE(test, fake_soon(tw_started(&t) == 2));
	kfi_cntr_add(t.cntr, 2);
	KUNIT_EXPECT_TRUE(test, fake_soon(tw_started(&t) == 4));
	for (i = 0; i < 4; i++) {
		KUNIT_EXPECT_TRUE(test, fake_finish(t.fake, 0));
		KUNIT_EXPECT_PTR_EQ(test, &c[order[i]], tw_entry(&t, &err));
		KUNIT_EXPECT_EQ(test, 0, err);
	}
	tw_close(test, &t);
}

/*
 * The threshold was reached before the post; and a later change does not stop what an earlier one
 * has started.
 */
static void trigger_decides(struct kunit *test)
{
	struct kfi_triggered_context c[2];
	struct trigger_world t;

	tw_open(test, &t);
	kfi_cntr_set(t.cntr, 5);
	c[0] = tw_at(t.cntr, 5);
	KUNIT_EXPECT_EQ(test, 0, tw_send(&t, &c[0], 0));
	KUNIT_EXPECT_TRUE(test, fake_soon(tw_started(&t) == 1));
	c[1] = tw_at(t.cntr, 9);
	KUNIT_EXPECT_EQ(test, 0, tw_send(&t, &c[1], 0));
	kfi_cntr_set(t.cntr, 9);
	kfi_cntr_set(t.cntr, 0);
	KUNIT_EXPECT_TRUE(test, fake_soon(tw_started(&t) == 2));
	tw_close(test, &t);
}

static void trigger_bounded(struct kunit *test)
{
	struct kfi_triggered_context c[TW_DEPTH + 1];
	struct trigger_world t;
	int i, err;

	tw_open(test, &t);
	for (i = 0; i <= TW_DEPTH; i++) {
		c[i] = tw_at(t.cntr, 1);
		KUNIT_EXPECT_EQ(test, i < TW_DEPTH ? 0 : -EAGAIN, tw_send(&t, &c[i], 0));
	}
	KUNIT_EXPECT_EQ(test, 0, kfi_cancel(&t.ep->fid, &c[3]));
	KUNIT_EXPECT_PTR_EQ(test, &c[3], tw_entry(&t, &err));
	KUNIT_EXPECT_EQ(test, ECANCELED, err);
	KUNIT_EXPECT_EQ(test, -ENOENT, kfi_cancel(&t.ep->fid, &c[3]));
	KUNIT_EXPECT_EQ(test, 0, tw_send(&t, &c[TW_DEPTH], 0));
	kfi_cntr_add(t.cntr, 1);
	KUNIT_EXPECT_TRUE(test, fake_soon(tw_started(&t) == TW_DEPTH));
	KUNIT_EXPECT_EQ(test, -ENOENT, kfi_cancel(&t.ep->fid, &c[0]));	/* the provider has it */
	for (i = 0; i < TW_DEPTH; i++) {
		KUNIT_EXPECT_TRUE(test, fake_finish(t.fake, 0));
		KUNIT_EXPECT_NOT_NULL(test, tw_entry(&t, &err));
	}
	tw_close(test, &t);
}

static void trigger_refusals(struct kunit *test)
{
	struct kfi_triggered_context c;
	struct kfi_msg_tagged look = { .type = KFI_KVEC };
	struct kfi_info *plain;
	struct trigger_world t;
	struct kfid_ep *ep;

	tw_open(test, &t);
	KUNIT_EXPECT_EQ(test, -EINVAL, tw_send(&t, NULL, 0));
	c = tw_at(NULL, 1);
	KUNIT_EXPECT_EQ(test, -EINVAL, tw_send(&t, &c, 0));
	c = tw_at(t.cntr, 1);
	KUNIT_EXPECT_EQ(test, -EINVAL, tw_send(&t, &c, KFI_CQE));
	KUNIT_EXPECT_EQ(test, -KFI_EBADFLAGS, tw_send(&t, &c, KFI_MULTI_RECV));
	look.context = &c;
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_trecvmsg(t.ep, &look, KFI_TRIGGER | KFI_PEEK));
	c.event_type = KFI_TRIGGER_XPU;
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, tw_send(&t, &c, 0));
	plain = fake_info(t.w, KFI_EP_RDM);
	ep = t.ep;
	t.ep = fake_rdm(t.w, plain, t.cq);
	c = tw_at(t.cntr, 1);
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, tw_send(&t, &c, 0));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&t.ep->fid));
	t.ep = ep;
	kfi_freeinfo(plain);
	KUNIT_EXPECT_EQ(test, 0, kfi_pool_used(&kfi_to_ep(t.ep)->tx));
	tw_close(test, &t);
}

/* A triggered receive matches nothing before its threshold is reached. */
static void trigger_receive(struct kunit *test)
{
	struct kfi_triggered_context c[2];
	struct kfi_rx rx = { .flags = KFI_MSG, .len = 4 };
	struct trigger_world t;
	struct kfi_ep *ep;
	int err;

	tw_open(test, &t);
	ep = kfi_to_ep(t.ep);
	c[0] = tw_at(t.cntr, 1);
	c[1] = tw_at(t.cntr, 2);
	KUNIT_EXPECT_EQ(test, 0, tw_recv(&t, &c[0]));
	KUNIT_EXPECT_EQ(test, 0, tw_recv(&t, &c[1]));
	KUNIT_EXPECT_EQ(test, KFI_RX_NONE, kfi_rx_arrive(ep, &rx, false));
	kfi_cntr_add(t.cntr, 1);
	KUNIT_EXPECT_TRUE(test, fake_soon(kfi_rx_arrive(ep, &rx, false) == KFI_RX_MATCHED));
	kfi_rx_complete(&rx, 0);
	KUNIT_EXPECT_PTR_EQ(test, &c[0], tw_entry(&t, &err));
	KUNIT_EXPECT_EQ(test, 0, kfi_cancel(&t.ep->fid, &c[1]));
	KUNIT_EXPECT_PTR_EQ(test, &c[1], tw_entry(&t, &err));
	KUNIT_EXPECT_EQ(test, ECANCELED, err);
	tw_close(test, &t);
}

/*
 * The end of an endpoint ends operations that wait for a counter, and drops their reference to it.
 */
static void trigger_ends(struct kunit *test)
{
	struct kfi_triggered_context c[3];
	struct trigger_world t;
	int i, n, err, kill;

	for (kill = 0; kill < 2; kill++) {
		tw_open(test, &t);
		for (i = 0; i < 3; i++) {
			c[i] = tw_at(t.cntr, 1);
			KUNIT_EXPECT_EQ(test, 0,
					i == 1 ? tw_recv(&t, &c[i]) : tw_send(&t, &c[i], 0));
		}
		KUNIT_EXPECT_EQ(test, -EBUSY, kfi_close(&t.cntr->fid));
		if (kill) {
			kfi_ep_kill(kfi_to_ep(t.ep));
			KUNIT_EXPECT_EQ(test, -ENODEV, tw_send(&t, &c[0], 0));
		} else {
			KUNIT_EXPECT_EQ(test, 0, kfi_close(&t.ep->fid));
			t.ep = NULL;
		}
		KUNIT_EXPECT_EQ(test, 0, kfi_close(&t.cntr->fid));
		t.cntr = NULL;
		for (n = 0; tw_entry(&t, &err); n++)
			KUNIT_EXPECT_EQ(test, kill ? ENODEV : ECANCELED, err);
		KUNIT_EXPECT_EQ(test, 3, n);
		tw_close(test, &t);
	}
}

/*
 * Operations for which the provider has no room are repeated, in order, until they succeed, time
 * out or the endpoint ends.
 */
static void trigger_again(struct kunit *test)
{
	struct kfi_triggered_context c[3];
	struct trigger_world t;
	ktime_t start;
	int i, err;

	tw_open(test, &t);
	WRITE_ONCE(t.fake->refuse, -EAGAIN);
	kfi_cntr_add(t.cntr, 1);
	for (i = 0; i < 2; i++) {
		c[i] = tw_at(t.cntr, 1);
		KUNIT_EXPECT_EQ(test, 0, tw_send(&t, &c[i], 0));
	}
	msleep(30);
	KUNIT_EXPECT_NULL(test, tw_entry(&t, &err));
	WRITE_ONCE(t.fake->refuse, 0);
	KUNIT_EXPECT_TRUE(test, fake_soon(tw_started(&t) == 2));
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_TRUE(test, fake_finish(t.fake, 0));
		KUNIT_EXPECT_PTR_EQ(test, &c[i], tw_entry(&t, &err));
	}
	WRITE_ONCE(t.fake->refuse, -EAGAIN);
	start = ktime_get();
	KUNIT_EXPECT_EQ(test, 0, tw_send(&t, &c[0], 0));
	while (!tw_entry(&t, &err) && ktime_ms_delta(ktime_get(), start) < 10000)
		msleep(20);
	KUNIT_EXPECT_EQ(test, EAGAIN, err);
	KUNIT_EXPECT_GE(test, ktime_ms_delta(ktime_get(), start), 500);
	for (i = 0; i < 3; i++) {
		c[i] = tw_at(t.cntr, 1);
		KUNIT_EXPECT_EQ(test, 0, tw_send(&t, &c[i], 0));
	}
	msleep(20);
	KUNIT_EXPECT_EQ(test, 0, kfi_cancel(&t.ep->fid, &c[2]));
	KUNIT_EXPECT_PTR_EQ(test, &c[2], tw_entry(&t, &err));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&t.ep->fid));
	t.ep = NULL;
	for (i = 0; tw_entry(&t, &err); i++)
		KUNIT_EXPECT_EQ(test, ECANCELED, err);
	KUNIT_EXPECT_EQ(test, 2, i);
	tw_close(test, &t);
}

/* An operation that the provider refuses for good ends with an error. */
static void trigger_refused(struct kunit *test)
{
	struct kfi_triggered_context c;
	struct trigger_world t;
	void *context;
	int err;

	tw_open(test, &t);
	t.fake->refuse = -ENETDOWN;
	c = tw_at(t.cntr, 0);
	KUNIT_EXPECT_EQ(test, 0, tw_send(&t, &c, 0));
	KUNIT_EXPECT_TRUE(test, fake_soon((context = tw_entry(&t, &err))));
	KUNIT_EXPECT_PTR_EQ(test, &c, context);
	KUNIT_EXPECT_EQ(test, ENETDOWN, err);
	tw_close(test, &t);
}

/* ---- deferred work ---- */

struct tw_work {
	struct kfi_deferred_work	work;
	struct kfi_op_msg		msg;
	struct kfi_op_cntr		cntr;
};

static int tw_queue(struct trigger_world *t, struct tw_work *k, u64 threshold,
		    struct kfid_cntr *ended, u64 flags)
{
	k->msg = (struct kfi_op_msg) {
		.ep = t->ep,
		.msg = { .type = KFI_KVEC, .msg_iov = &tw_vec, .iov_count = 1, .context = k },
		.flags = flags,
	};
	k->work = (struct kfi_deferred_work) {
		.threshold = threshold, .triggering_cntr = t->cntr, .completion_cntr = ended,
		.op_type = KFI_OP_SEND, .op.msg = &k->msg,
	};
	return kfi_control(&t->w->domain.fid.fid, KFI_QUEUE_WORK, &k->work);
}

static int tw_queue_cntr(struct trigger_world *t, struct tw_work *k, u64 threshold,
			 struct kfid_cntr *target, enum kfi_op_type type, u64 value)
{
	k->cntr = (struct kfi_op_cntr) { .cntr = target, .value = value };
	k->work = (struct kfi_deferred_work) {
		.threshold = threshold,
		.triggering_cntr = t->cntr,
		.op_type = type,
		.op.cntr = &k->cntr,
	};
	return kfi_control(&t->w->domain.fid.fid, KFI_QUEUE_WORK, &k->work);
}

/* Only the completion counter counts, by one. There is an entry only on request or on error. */
static void work_counts(struct kunit *test)
{
	struct trigger_world t;
	struct kfid_cntr *ended;
	struct tw_work k[3];
	int i, err;

	tw_open(test, &t);
	ended = tw_cntr(&t);
	KUNIT_EXPECT_EQ(test, 0, tw_queue(&t, &k[0], 1, ended, 0));
	KUNIT_EXPECT_EQ(test, 0, tw_queue(&t, &k[1], 2, ended, KFI_COMPLETION));
	KUNIT_EXPECT_EQ(test, 0, tw_queue(&t, &k[2], 3, ended, 0));
	KUNIT_EXPECT_EQ(test, -EBUSY, kfi_close(&ended->fid));
	kfi_cntr_add(t.cntr, 1);
	kfi_cntr_adderr(t.cntr, 2);		/* errors count as ended */
	KUNIT_EXPECT_TRUE(test, fake_soon(tw_started(&t) == 3));
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_TRUE(test, fake_finish(t.fake, i < 2 ? 0 : -EHOSTUNREACH));
	KUNIT_EXPECT_EQ(test, 2, kfi_cntr_read(ended));
	KUNIT_EXPECT_EQ(test, 1, kfi_cntr_readerr(ended));
	KUNIT_EXPECT_PTR_EQ(test, (void *)&k[1], tw_entry(&t, &err));
	KUNIT_EXPECT_EQ(test, 0, err);
	KUNIT_EXPECT_PTR_EQ(test, (void *)&k[2], tw_entry(&t, &err));
	KUNIT_EXPECT_EQ(test, EHOSTUNREACH, err);
	KUNIT_EXPECT_NULL(test, tw_entry(&t, &err));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&ended->fid));
	tw_close(test, &t);
}

/* Counters trigger one another, and at the end an operation. */
static void work_chain(struct kunit *test)
{
	struct trigger_world t;
	struct kfid_cntr *first, *second;
	struct tw_work k[3];

	tw_open(test, &t);
	second = t.cntr;
	first = t.cntr = tw_cntr(&t);
	KUNIT_EXPECT_EQ(test, 0, tw_queue_cntr(&t, &k[0], 4, second, KFI_OP_CNTR_SET, 10));
	KUNIT_EXPECT_EQ(test, 0, tw_queue_cntr(&t, &k[1], 4, second, KFI_OP_CNTR_ADD, 5));
	t.cntr = second;
	KUNIT_EXPECT_EQ(test, 0, tw_queue(&t, &k[2], 15, NULL, 0));
	kfi_cntr_add(first, 3);
	msleep(20);
	KUNIT_EXPECT_EQ(test, 0, kfi_cntr_read(second));
	kfi_cntr_add(first, 1);
	KUNIT_EXPECT_TRUE(test, fake_soon(tw_started(&t) == 1));
	KUNIT_EXPECT_EQ(test, 15, kfi_cntr_read(second));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&first->fid));
	tw_close(test, &t);
}

static void work_refusals(struct kunit *test)
{
	struct trigger_world t;
	struct tw_work k;

	tw_open(test, &t);
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_control(&t.w->domain.fid.fid, KFI_QUEUE_WORK, NULL));
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_control(&t.w->domain.fid.fid, KFI_CANCEL_WORK, NULL));
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_control(&t.w->domain.fid.fid, KFI_FLUSH_WORK, &k));
	KUNIT_EXPECT_EQ(test, -KFI_EBADFLAGS, tw_queue(&t, &k, 1, NULL, KFI_TRIGGER));
	KUNIT_EXPECT_EQ(test, -EINVAL, tw_queue(&t, &k, 1, NULL, KFI_MULTI_RECV));
	tw_vec.iov_len = 65;		/* longer than an inject may be */
	KUNIT_EXPECT_EQ(test, -EINVAL, tw_queue(&t, &k, 1, NULL, KFI_INJECT));
	tw_vec.iov_len = 16;
	KUNIT_EXPECT_EQ(test, -EINVAL, tw_queue_cntr(&t, &k, 1, NULL, KFI_OP_CNTR_ADD, 1));
	k.cntr.cntr = t.cntr;
	k.work.completion_cntr = t.cntr;
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_control(&t.w->domain.fid.fid, KFI_QUEUE_WORK, &k.work));
	k.work.completion_cntr = NULL;
	k.work.op_type = KFI_OP_CNTR_ADD + 1;
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_control(&t.w->domain.fid.fid, KFI_QUEUE_WORK, &k.work));
	KUNIT_EXPECT_EQ(test, 0, kfi_pool_used(&kfi_to_ep(t.ep)->tx));
	tw_close(test, &t);
}

/* Queue work of the type @type with @flags. Return: the result. A read can't inject its payload. */
static int tw_queue_rma(struct trigger_world *t, enum kfi_op_type type, u64 flags)
{
	struct kfi_rma_iov there = { .len = 16 };
	struct kfi_op_rma rma = {
		.ep = t->ep,
		.flags = flags,
		.msg = { .type = KFI_KVEC,
			 .msg_iov = &tw_vec,
			 .iov_count = 1,
			 .rma_iov = &there,
			 .rma_iov_count = 1,
			 .context = t },
	};
	struct kfi_deferred_work work = {
		.threshold = 1, .triggering_cntr = t->cntr, .op_type = type, .op.rma = &rma
	};

	return kfi_control(&t->w->domain.fid.fid, KFI_QUEUE_WORK, &work);
}

static void work_read_injects_not(struct kunit *test)
{
	struct trigger_world t;

	tw_open(test, &t);
	KUNIT_EXPECT_EQ(test, -KFI_EBADFLAGS, tw_queue_rma(&t, KFI_OP_READ, KFI_INJECT));
	KUNIT_EXPECT_EQ(test, 0, tw_queue_rma(&t, KFI_OP_WRITE, KFI_INJECT));
	KUNIT_EXPECT_EQ(test, 0, tw_queue_rma(&t, KFI_OP_READ, 0));
	kfi_cntr_add(t.cntr, 1);
	KUNIT_EXPECT_TRUE(test, fake_soon(tw_started(&t) == 2));
	tw_close(test, &t);
}

/* ---- deferred atomic operations ---- */

static u64 tw_words[6];

struct tw_atomic {
	struct kfi_deferred_work	work;
	struct kfi_op_compare_atomic	op;
	struct kfi_ioc			v[3];
	struct kfi_rma_ioc		there;
};

/* @i: kind of operation, relative to KFI_OP_ATOMIC */
static int tw_queue_atomic(struct trigger_world *t, struct tw_atomic *k, int i, u64 flags)
{
	static struct kfi_op_atomic base;
	static struct kfi_op_fetch_atomic fetch;
	int n;

	for (n = 0; n < 3; n++)
		k->v[n] = (struct kfi_ioc) { &tw_words[2 * n], 2 };
	k->there = (struct kfi_rma_ioc) { .addr = 16, .count = 2, .key = 5 };
	k->op = (struct kfi_op_compare_atomic) {
		.ep = t->ep,
		.msg = { .msg_iov = &k->v[0],
			 .iov_count = 1,
			 .rma_iov = &k->there,
			 .rma_iov_count = 1,
			 .datatype = KFI_UINT64,
			 .op = i == 2 ? KFI_CSWAP : KFI_SUM,
			 .context = k },
		.fetch = { .msg_iov = &k->v[2], .iov_count = 1 },
		.compare = { .msg_iov = &k->v[1], .iov_count = 1 },
		.flags = flags,
	};
	base = (struct kfi_op_atomic) { .ep = k->op.ep, .msg = k->op.msg, .flags = flags };
	fetch = (struct kfi_op_fetch_atomic) {
		.ep = k->op.ep, .msg = k->op.msg, .fetch = k->op.fetch, .flags = flags
	};
	k->work = (struct kfi_deferred_work) {
		.threshold = 1, .triggering_cntr = t->cntr, .op_type = KFI_OP_ATOMIC + i,
	};
	if (i == 0)
		k->work.op.atomic = &base;
	else if (i == 1)
		k->work.op.fetch_atomic = &fetch;
	else
		k->work.op.compare_atomic = &k->op;
	return kfi_control(&t->w->domain.fid.fid, KFI_QUEUE_WORK, &k->work);
}

/*
 * All three kinds are described when they are queued: the consumer may reuse the vectors and
 * structures then.
 */
static void work_atomics(struct kunit *test)
{
	struct trigger_world t;
	struct tw_atomic k;
	struct kfi_oper *op;
	u64 got[2];
	int i;

	tw_open(test, &t);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, 0, tw_queue_atomic(&t, &k, i, 0));
		memset(&k.op, 0xff, sizeof(k.op));
		memset(k.v, 0xff, sizeof(k.v));
		memset(&k.there, 0xff, sizeof(k.there));
	}
	for (i = 0; i < 6; i++)
		tw_words[i] = 10 + i;
	KUNIT_EXPECT_EQ(test, 0, tw_started(&t));
	kfi_cntr_add(t.cntr, 1);
	KUNIT_EXPECT_TRUE(test, fake_soon(tw_started(&t) == 3));
	i = 0;
	list_for_each_entry(op, &t.fake->ops, link) {
		KUNIT_EXPECT_EQ(test, KFI_OPC_ATOMIC + i, op->code);
		KUNIT_EXPECT_EQ(test, 16, op->len);
		KUNIT_EXPECT_EQ(test, 5, op->rma[0].key);
		KUNIT_EXPECT_EQ(test, i == 2 ? KFI_CSWAP : KFI_SUM, op->atomic->op);
		KUNIT_EXPECT_EQ(test, 16, copy_from_iter(got, 16, &op->iter));
		KUNIT_EXPECT_EQ(test, 11, got[1]);
		KUNIT_EXPECT_EQ(test, i == 2 ? 16 : 0,
				copy_from_iter(got, 16, &op->atomic->compare));
		KUNIT_EXPECT_EQ(test, i == 2 ? 13 : 11, got[1]);
		KUNIT_EXPECT_EQ(test, i ? 16 : 0, iov_iter_count(&op->atomic->result));
		i++;
	}
	tw_close(test, &t);
}

static void work_atomic_refusals(struct kunit *test)
{
	struct trigger_world t;
	struct tw_atomic k;

	tw_open(test, &t);
	KUNIT_EXPECT_EQ(test, 0, tw_queue_atomic(&t, &k, 0, KFI_INJECT));
	KUNIT_EXPECT_EQ(test, -KFI_EBADFLAGS, tw_queue_atomic(&t, &k, 1, KFI_INJECT));
	KUNIT_EXPECT_EQ(test, -KFI_EBADFLAGS, tw_queue_atomic(&t, &k, 2, KFI_INJECT));
	KUNIT_EXPECT_EQ(test, -KFI_EBADFLAGS, tw_queue_atomic(&t, &k, 2, KFI_TAGGED));
	k.op.flags = 0;
	k.v[1].count = 1;
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_control(&t.w->domain.fid.fid, KFI_QUEUE_WORK, &k.work));
	k.v[1].count = 2;
	k.op.ep = NULL;
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_control(&t.w->domain.fid.fid, KFI_QUEUE_WORK, &k.work));
	KUNIT_EXPECT_EQ(test, 1, kfi_pool_used(&kfi_to_ep(t.ep)->tx));
	tw_close(test, &t);
}

/* Canceled work does not start, is not counted and has no entry. */
static void work_cancel(struct kunit *test)
{
	struct kfid *domain;
	struct trigger_world t;
	struct tw_work k[4];
	int err;

	tw_open(test, &t);
	domain = &t.w->domain.fid.fid;
	KUNIT_EXPECT_EQ(test, 0, tw_queue(&t, &k[0], 1, t.cntr, KFI_COMPLETION));
	KUNIT_EXPECT_EQ(test, 0, tw_queue_cntr(&t, &k[1], 1, t.cntr, KFI_OP_CNTR_ADD, 7));
	KUNIT_EXPECT_EQ(test, 0, kfi_control(domain, KFI_CANCEL_WORK, &k[0].work));
	KUNIT_EXPECT_EQ(test, -ENOENT, kfi_control(domain, KFI_CANCEL_WORK, &k[0].work));
	KUNIT_EXPECT_EQ(test, 0, kfi_control(domain, KFI_CANCEL_WORK, &k[1].work));
	KUNIT_EXPECT_EQ(test, 0, tw_queue(&t, &k[2], 1, t.cntr, 0));
	KUNIT_EXPECT_EQ(test, 0, tw_queue(&t, &k[3], 2, NULL, 0));
	KUNIT_EXPECT_EQ(test, 0, kfi_control(domain, KFI_FLUSH_WORK, NULL));
	KUNIT_EXPECT_EQ(test, 0, tw_queue(&t, &k[2], 1, NULL, 0));
	KUNIT_EXPECT_EQ(test, 0, kfi_control(&t.cntr->fid, KFI_FLUSH_WORK, NULL));
	kfi_cntr_add(t.cntr, 5);
	msleep(20);
	KUNIT_EXPECT_EQ(test, 0, tw_started(&t));
	KUNIT_EXPECT_EQ(test, 5, kfi_cntr_read(t.cntr));
	KUNIT_EXPECT_NULL(test, tw_entry(&t, &err));
	KUNIT_EXPECT_EQ(test, 0, kfi_pool_used(&kfi_to_ep(t.ep)->tx));
	tw_close(test, &t);
}

/* Injected payload of deferred work is read when the work starts, and not later. */
static void work_inject(struct kunit *test)
{
	struct trigger_world t;
	struct kfi_oper *op;
	struct tw_work k;
	u8 got[16];

	tw_open(test, &t);
	memset(tw_buf, 1, sizeof(tw_buf));
	KUNIT_EXPECT_EQ(test, 0, tw_queue(&t, &k, 1, NULL, KFI_INJECT));
	memset(tw_buf, 2, sizeof(tw_buf));
	kfi_cntr_add(t.cntr, 1);
	KUNIT_EXPECT_TRUE(test, fake_soon(tw_started(&t) == 1));
	memset(tw_buf, 3, sizeof(tw_buf));
	op = list_first_entry(&t.fake->ops, struct kfi_oper, link);
	KUNIT_EXPECT_EQ(test, 16, copy_from_iter(got, 16, &op->iter));
	KUNIT_EXPECT_EQ(test, 2, got[0]);
	KUNIT_EXPECT_EQ(test, 2, got[15]);
	tw_close(test, &t);
}

/* ---- races ---- */

#define RACE_ROUNDS	300

struct race {
	struct trigger_world	*t;
	struct kfid_cntr	*at, *ended;
	struct tw_work		k[TW_DEPTH];
	struct completion	go, done;
	bool			stop;
};

/* The other thread counts while works are canceled. */
static int race_fn(void *arg)
{
	struct race *r = arg;
	int i;

	while (!READ_ONCE(r->stop)) {
		wait_for_completion(&r->go);
		for (i = 0; i < TW_DEPTH && !READ_ONCE(r->stop); i++) {
			if (i % 3)
				kfi_cntr_add(r->at, 1);
			else
				kfi_cntr_adderr(r->at, 1);
		}
		complete(&r->done);
	}
	return 0;
}

static int race_round(struct kunit *test, struct race *r, int round)
{
	struct trigger_world *t = r->t;
	int i, queued = 0, cancelled = 0, ended;

	t->cntr = r->at = tw_cntr(t);
	r->ended = tw_cntr(t);
	for (i = 0; i < TW_DEPTH; i++)
		queued += !tw_queue(t, &r->k[i], i / 2 + 1, r->ended, 0);
	KUNIT_EXPECT_EQ(test, TW_DEPTH, queued);
	complete(&r->go);
	while (kfi_cntr_read(r->at) + kfi_cntr_readerr(r->at) < round % TW_DEPTH)
		crew_turn();
	for (i = 1; i < TW_DEPTH; i += 2)
		cancelled += !kfi_control(&t->w->domain.fid.fid, KFI_CANCEL_WORK, &r->k[i].work);
	wait_for_completion(&r->done);
	/* The provider may still be returning from the last one: finish whatever there is. */
	do {
		if (!fake_finish(t->fake, 0))
			crew_turn();
		ended = kfi_cntr_read(r->ended);
	} while (ended < queued - cancelled && !kfi_cntr_readerr(r->ended));
	KUNIT_EXPECT_EQ(test, queued - cancelled, ended);
	/* After the last one has ended the counter can be closed. */
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&r->ended->fid));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&r->at->fid));
	KUNIT_EXPECT_EQ(test, 0, tw_started(t));
	t->cntr = NULL;
	return cancelled;
}

static void trigger_races(struct kunit *test)
{
	struct race *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	int i, cancelled = 0, err;
	struct trigger_world t;
	struct task_struct *task;

	KUNIT_ASSERT_NOT_NULL(test, r);
	tw_open(test, &t);
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&t.cntr->fid));
	r->t = &t;
	init_completion(&r->go);
	init_completion(&r->done);
	task = kthread_run(race_fn, r, "kfi_race");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	get_task_struct(task);
	for (i = 0; i < RACE_ROUNDS; i++)
		cancelled += race_round(test, r, i);
	kunit_info(test, "%d of %d cancelled in time\n", cancelled, RACE_ROUNDS * TW_DEPTH / 2);
	WRITE_ONCE(r->stop, true);
	complete(&r->go);
	kthread_stop_put(task);
	KUNIT_EXPECT_NULL(test, tw_entry(&t, &err));
	tw_close(test, &t);
}

/* The endpoint ends while its counter counts: each post ends once, either way. */
static void trigger_races_end(struct kunit *test)
{
	struct kfi_triggered_context c[TW_DEPTH];
	struct trigger_world t;
	int round, i, n, err;

	for (round = 0; round < 60; round++) {
		tw_open(test, &t);
		for (i = 0; i < TW_DEPTH; i++) {
			c[i] = tw_at(t.cntr, i + 1);
			KUNIT_EXPECT_EQ(test, 0,
					i % 2 ? tw_recv(&t, &c[i]) : tw_send(&t, &c[i], 0));
		}
		kfi_cntr_add(t.cntr, TW_DEPTH / 2);
		if (round % 3)
			udelay(round);
		kfi_cntr_add(t.cntr, TW_DEPTH / 2 - 1);
		KUNIT_EXPECT_EQ(test, 0, kfi_close(&t.ep->fid));
		t.ep = NULL;
		for (n = 0; tw_entry(&t, &err); n++)
			KUNIT_EXPECT_EQ(test, ECANCELED, err);
		KUNIT_EXPECT_EQ(test, TW_DEPTH, n);
		tw_close(test, &t);
	}
}

static struct kunit_case trigger_cases[] = {
	KUNIT_CASE(trigger_order),
	KUNIT_CASE(trigger_decides),
	KUNIT_CASE(trigger_bounded),
	KUNIT_CASE(trigger_refusals),
	KUNIT_CASE(trigger_receive),
	KUNIT_CASE(trigger_ends),
	KUNIT_CASE(trigger_again),
	KUNIT_CASE(trigger_refused),
	KUNIT_CASE(work_counts),
	KUNIT_CASE(work_chain),
	KUNIT_CASE(work_refusals),
	KUNIT_CASE(work_read_injects_not),
	KUNIT_CASE(work_atomics),
	KUNIT_CASE(work_atomic_refusals),
	KUNIT_CASE(work_cancel),
	KUNIT_CASE(work_inject),
	KUNIT_CASE(trigger_races),
	KUNIT_CASE(trigger_races_end),
	{}
};

static struct kunit_suite trigger_suite = {
	.name = "kfi_trigger",
	.test_cases = trigger_cases,
};

kunit_test_suite(trigger_suite);
