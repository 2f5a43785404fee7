// SPDX-License-Identifier: GPL-2.0
/* Operations that wait for earlier ones: KFI_FENCE. */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/slab.h>
#include "crew.h"
#include "fake.h"

#define FW_DEPTH	8	/* as in fake_info() */
#define FW_SLOTS	64

static u8 fw_buf[64];
static struct kvec fw_vec = { fw_buf, 16 };

struct fence_world {
	struct kfi_world	*w;
	struct kfi_info		*info;
	struct kfid_cq		*cq;
	struct kfid_ep		*ep;
	struct fake_ep		*fake;
};

/* A context that is only a number */
#define CTX(n)	((void *)(unsigned long)(n))

static atomic_t fw_flushes;

static void fw_flush(struct kfi_ep *ep)
{
	atomic_inc(&fw_flushes);
}

static void fw_open(struct kunit *test, struct fence_world *f, u64 caps)
{
	f->w = fake_open(test);
	f->w->ops.tx_flush = fw_flush;
	atomic_set(&fw_flushes, 0);
	f->info = fake_info(f->w, KFI_EP_RDM);
	f->info->caps |= caps;
	f->cq = fake_cq(f->w, FW_SLOTS, 0, NULL, NULL);
	f->ep = fake_rdm(f->w, f->info, f->cq);
	f->fake = to_fake(f->ep);
}

/* Read the next entry of the queue. Return its context, and its error in *@err. */
static unsigned long fw_entry(struct fence_world *f, int *err)
{
	struct kfi_cq_err_entry wc = {};
	struct kfi_cq_tagged_entry e;
	ssize_t ret;

	*err = 0;
	ret = kfi_cq_read(f->cq, &e, 1);
	if (ret == 1)
		return (unsigned long)e.op_context;
	if (ret != -KFI_EAVAIL || kfi_cq_readerr(f->cq, &wc, 0) != 1)
		return 0;
	*err = wc.err;
	return (unsigned long)wc.op_context;
}

static void fw_expect(struct kunit *test, struct fence_world *f, unsigned long context, int err)
{
	int got;

	KUNIT_EXPECT_EQ(test, context, fw_entry(f, &got));
	KUNIT_EXPECT_EQ(test, err, got);
}

static void fw_close(struct kunit *test, struct fence_world *f)
{
	int err;

	if (f->ep)
		KUNIT_EXPECT_EQ(test, 0, kfi_close(&f->ep->fid));
	while (fw_entry(f, &err))
		;	/* end operations that the provider has */
	KUNIT_EXPECT_EQ(test, FW_SLOTS, atomic_read(&kfi_to_cq(f->cq)->free));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&f->cq->fid));
	kfi_freeinfo(f->info);
	fake_close(f->w);
}

static int fw_send(struct fence_world *f, unsigned long context, u64 flags)
{
	struct kfi_msg msg = {
		.type = KFI_KVEC, .msg_iov = &fw_vec, .iov_count = 1, .context = CTX(context)
	};

	return kfi_sendmsg(f->ep, &msg, flags);
}

#define POST(f, context, flags)	KUNIT_EXPECT_EQ(test, 0, fw_send(f, context, flags))

/* Return the operations that the provider has, oldest first, as decimal digits. */
static unsigned long fw_started(struct fence_world *f)
{
	struct kfi_oper *op;
	unsigned long all = 0;

	spin_lock_bh(&f->fake->lock);
	list_for_each_entry(op, &f->fake->ops, link)
		all = all * 10 + (unsigned long)op->context;
	spin_unlock_bh(&f->fake->lock);
	return all;
}

#define STARTS(f, all)	KUNIT_EXPECT_TRUE(test, fake_soon(fw_started(f) == (all)))
#define FINISH(f, err)	KUNIT_EXPECT_TRUE(test, fake_finish((f)->fake, err))

/* Check that nothing else starts for a while. */
static void fw_stays(struct kunit *test, struct fence_world *f, unsigned long all)
{
	msleep(20);
	KUNIT_EXPECT_EQ(test, all, fw_started(f));
}

/* ---- the order ---- */

static void fence_waits(struct kunit *test)
{
	struct fence_world f;

	fw_open(test, &f, KFI_FENCE);
	POST(&f, 1, 0);
	POST(&f, 2, 0);
	POST(&f, 3, KFI_FENCE);
	POST(&f, 4, 0);
	fw_stays(test, &f, 12);
	FINISH(&f, 0);
	fw_stays(test, &f, 2);
	FINISH(&f, -EHOSTUNREACH);	/* a failure is an end as well */
	STARTS(&f, 34);
	POST(&f, 5, 0);
	STARTS(&f, 345);
	fw_expect(test, &f, 1, 0);
	fw_expect(test, &f, 2, EHOSTUNREACH);
	fw_close(test, &f);
}

/* Without earlier operations a fence starts at once, in the post. */
static void fence_alone(struct kunit *test)
{
	struct fence_world f;

	fw_open(test, &f, KFI_FENCE);
	POST(&f, 1, KFI_FENCE);
	KUNIT_EXPECT_EQ(test, 1, fw_started(&f));
	FINISH(&f, 0);
	POST(&f, 2, KFI_FENCE);
	POST(&f, 3, 0);
	KUNIT_EXPECT_EQ(test, 23, fw_started(&f));
	fw_close(test, &f);
}

/* Operations behind a fence start together with it; the next fence waits for them. */
static void fence_chain(struct kunit *test)
{
	struct fence_world f;

	fw_open(test, &f, KFI_FENCE);
	POST(&f, 1, 0);
	POST(&f, 2, KFI_FENCE);
	POST(&f, 3, 0);
	POST(&f, 4, KFI_FENCE);
	POST(&f, 5, KFI_FENCE);
	POST(&f, 6, 0);
	FINISH(&f, 0);
	STARTS(&f, 23);
	FINISH(&f, 0);
	fw_stays(test, &f, 3);
	FINISH(&f, 0);
	STARTS(&f, 4);
	fw_stays(test, &f, 4);
	FINISH(&f, 0);
	STARTS(&f, 56);
	fw_close(test, &f);
}

/* Only endpoints that requested KFI_FENCE have it, and receives never do. */
static void fence_refused(struct kunit *test)
{
	struct kfi_msg msg = {
		.type = KFI_KVEC, .msg_iov = &fw_vec, .iov_count = 1, .addr = KFI_ADDR_UNSPEC
	};
	struct fence_world f;

	fw_open(test, &f, 0);
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, fw_send(&f, 1, KFI_FENCE));
	KUNIT_EXPECT_NULL(test, kfi_to_ep(f.ep)->fence);
	fw_close(test, &f);
	fw_open(test, &f, KFI_FENCE);
	KUNIT_EXPECT_EQ(test, -KFI_EBADFLAGS, kfi_recvmsg(f.ep, &msg, KFI_FENCE));
	KUNIT_EXPECT_EQ(test, 0, kfi_pool_used(&kfi_to_ep(f.ep)->rx));
	fw_close(test, &f);
}

/* ---- a held operation is a post like any other ---- */

/* An injected payload is copied at once. */
static void fence_injects(struct kunit *test)
{
	struct fence_world f;
	struct kfi_oper *op;
	u8 got[16];

	fw_open(test, &f, KFI_FENCE);
	POST(&f, 1, 0);
	memset(fw_buf, 1, sizeof(fw_buf));
	POST(&f, 2, KFI_FENCE | KFI_INJECT);
	memset(fw_buf, 2, sizeof(fw_buf));
	FINISH(&f, 0);
	STARTS(&f, 2);
	op = list_first_entry(&f.fake->ops, struct kfi_oper, link);
	KUNIT_EXPECT_EQ(test, 16, copy_from_iter(got, 16, &op->iter));
	KUNIT_EXPECT_EQ(test, 1, got[0]);
	fw_close(test, &f);
}

/*
 * A fence must not wait for a doorbell that only the next post rings, and a held post is not
 * followed by one.
 */
static void fence_more(struct kunit *test)
{
	struct fence_world f;
	struct kfi_oper *op;

	fw_open(test, &f, KFI_FENCE);
	POST(&f, 1, KFI_MORE);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&fw_flushes));
	POST(&f, 2, KFI_FENCE | KFI_MORE);
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&fw_flushes));
	kfi_ep_tx_flush(f.ep);		/* rung by the caller that finds no next post */
	KUNIT_EXPECT_EQ(test, 2, atomic_read(&fw_flushes));
	POST(&f, 3, KFI_MORE);
	POST(&f, 4, KFI_FENCE);
	FINISH(&f, 0);
	STARTS(&f, 23);
	list_for_each_entry(op, &f.fake->ops, link)
		KUNIT_EXPECT_FALSE(test, op->flags & KFI_MORE);
	fw_close(test, &f);
}

static void fw_space(struct kfid_ep *ep, void *context)
{
	complete(context);
}

/* A held operation occupies an operation and a slot of the queue. */
static void fence_bounded(struct kunit *test)
{
	DECLARE_COMPLETION_ONSTACK(space);
	struct fence_world f;
	int i;

	fw_open(test, &f, KFI_FENCE);
	for (i = 1; i <= FW_DEPTH; i++)
		POST(&f, i, i == 2 ? KFI_FENCE : 0);
	KUNIT_EXPECT_EQ(test, -EAGAIN, fw_send(&f, 9, 0));
	KUNIT_EXPECT_EQ(test, -EAGAIN, fw_send(&f, 9, KFI_FENCE));
	KUNIT_EXPECT_EQ(test, 0, kfi_ep_tx_space(f.ep, fw_space, &space));
	fw_stays(test, &f, 1);
	KUNIT_EXPECT_FALSE(test, completion_done(&space));
	FINISH(&f, 0);
	KUNIT_EXPECT_NE(test, 0, wait_for_completion_timeout(&space, 2 * HZ));
	STARTS(&f, 2345678);
	fw_close(test, &f);
}

/* ---- the end of fences ---- */

/* A canceled fence no longer starts, but operations behind it still wait for those before it. */
static void fence_cancel(struct kunit *test)
{
	struct fence_world f;

	fw_open(test, &f, KFI_FENCE);
	POST(&f, 1, 0);
	POST(&f, 2, KFI_FENCE);
	POST(&f, 3, 0);
	POST(&f, 4, KFI_FENCE);
	KUNIT_EXPECT_EQ(test, 0, kfi_cancel(&f.ep->fid, CTX(2)));
	fw_expect(test, &f, 2, ECANCELED);
	KUNIT_EXPECT_EQ(test, -ENOENT, kfi_cancel(&f.ep->fid, CTX(2)));
	KUNIT_EXPECT_EQ(test, 0, kfi_cancel(&f.ep->fid, CTX(4)));
	fw_expect(test, &f, 4, ECANCELED);
	POST(&f, 5, 0);		/* uses the operation that the fence has freed */
	fw_stays(test, &f, 1);
	FINISH(&f, 0);
	STARTS(&f, 3);
	fw_stays(test, &f, 3);
	KUNIT_EXPECT_EQ(test, -ENOENT, kfi_cancel(&f.ep->fid, CTX(3)));	/* the provider has it */
	FINISH(&f, 0);
	STARTS(&f, 5);
	fw_close(test, &f);
}

/*
 * The last fence is canceled: a new post still waits for the operations before the fence, but no
 * longer than for these.
 */
static void fence_cancel_last(struct kunit *test)
{
	struct fence_world f;

	fw_open(test, &f, KFI_FENCE);
	POST(&f, 1, 0);
	POST(&f, 2, KFI_FENCE);
	KUNIT_EXPECT_EQ(test, 0, kfi_cancel(&f.ep->fid, CTX(2)));
	msleep(20);
	POST(&f, 3, 0);
	fw_stays(test, &f, 1);
	FINISH(&f, 0);
	STARTS(&f, 3);
	POST(&f, 4, KFI_FENCE);
	KUNIT_EXPECT_EQ(test, 0, kfi_cancel(&f.ep->fid, CTX(4)));
	FINISH(&f, 0);
	POST(&f, 5, 0);
	STARTS(&f, 5);
	fw_close(test, &f);
}

static void fence_ends(struct kunit *test)
{
	struct fence_world f;
	int kill, i, err;

	for (kill = 0; kill < 2; kill++) {
		fw_open(test, &f, KFI_FENCE);
		for (i = 1; i <= 5; i++)
			POST(&f, i, i % 2 ? 0 : KFI_FENCE);
		fw_stays(test, &f, 1);
		if (kill) {
			kfi_ep_kill(kfi_to_ep(f.ep));
			KUNIT_EXPECT_EQ(test, -ENODEV, fw_send(&f, 6, KFI_FENCE));
		} else {
			KUNIT_EXPECT_EQ(test, 0, kfi_close(&f.ep->fid));
			f.ep = NULL;
		}
		KUNIT_EXPECT_TRUE(test, fake_soon(!f.ep || !kfi_pool_used(&kfi_to_ep(f.ep)->tx)));
		fw_expect(test, &f, 1, kill ? ENODEV : ECANCELED);
		for (i = 1; fw_entry(&f, &err); i++)
			KUNIT_EXPECT_EQ(test, kill ? ENODEV : ECANCELED, err);
		KUNIT_EXPECT_EQ(test, 5, i);
		fw_close(test, &f);
	}
}

/*
 * The fence code repeats a post for which the provider had no room, in order. A post that the
 * provider refuses for good ends, and those behind it start.
 */
static void fence_again(struct kunit *test)
{
	struct fence_world f;
	unsigned long context;
	int err;

	fw_open(test, &f, KFI_FENCE);
	POST(&f, 1, 0);
	POST(&f, 2, KFI_FENCE);
	POST(&f, 3, 0);
	WRITE_ONCE(f.fake->refuse, -EAGAIN);
	FINISH(&f, 0);
	fw_stays(test, &f, 0);
	WRITE_ONCE(f.fake->refuse, 0);
	STARTS(&f, 23);
	fw_expect(test, &f, 1, 0);
	POST(&f, 4, KFI_FENCE);
	POST(&f, 5, 0);
	FINISH(&f, 0);
	WRITE_ONCE(f.fake->refuse, -ENETDOWN);
	FINISH(&f, 0);
	fw_expect(test, &f, 2, 0);
	fw_expect(test, &f, 3, 0);
	KUNIT_EXPECT_TRUE(test, fake_soon((context = fw_entry(&f, &err))));
	KUNIT_EXPECT_EQ(test, 4, context);
	KUNIT_EXPECT_EQ(test, ENETDOWN, err);
	KUNIT_EXPECT_TRUE(test, fake_soon((context = fw_entry(&f, &err))));
	KUNIT_EXPECT_EQ(test, 5, context);
	WRITE_ONCE(f.fake->refuse, 0);
	POST(&f, 6, KFI_FENCE);		/* a refused operation is not counted */
	STARTS(&f, 6);
	fw_close(test, &f);
}

/* ---- concurrent posts ---- */

#define RACE_POSTERS	3
#define RACE_POSTS	1500

/**
 * struct fence_race - posters on several CPUs, and a thread that ends what they have posted
 * @f: the endpoint
 * @started: for each poster, how many of its operations the provider got
 * @ended: for each poster, how many of its operations have ended
 * @fence: for each poster, the number of its latest fence that was started
 * @wrong: starts that were too early or in the wrong order
 * @posting: posters that have not finished
 */
struct fence_race {
	struct fence_world	f;
	atomic_t		started[RACE_POSTERS];
	atomic_t		ended[RACE_POSTERS];
	atomic_t		wrong;
	atomic_t		posting;
};

static struct fence_race *fence_race;

struct fence_poster {
	struct fence_race	*r;
	struct task_struct	*task;
	unsigned int		who;
};

/* Each fifth operation is a fence. */
static bool race_fenced(unsigned int n)
{
	return n % 5 == 4;
}

/*
 * The provider gets the operations of a poster in order; a fence, and operations behind it, only
 * when all before it have ended.
 */
static int race_tx(struct kfi_ep *ep, struct kfi_oper *op)
{
	unsigned int who = (unsigned long)op->context >> 16 & 0xff,
		     n = (unsigned long)op->context & 0xffff;
	struct fence_race *r = fence_race;
	struct fake_ep *fake = r->f.fake;
	unsigned int behind = n / 5 * 5;	/* operations before the previous fence */

	if (race_fenced(n))
		behind = n;
	else if (behind)
		behind--;
	if (atomic_inc_return(&r->started[who]) != n + 1 || atomic_read(&r->ended[who]) < behind)
		atomic_inc(&r->wrong);
	spin_lock_bh(&fake->lock);
	list_add_tail(&op->link, &fake->ops);
	spin_unlock_bh(&fake->lock);
	return 0;
}

static bool race_finish(struct fence_race *r)
{
	struct fake_ep *fake = r->f.fake;
	struct kfi_oper *op;

	spin_lock_bh(&fake->lock);
	op = list_first_entry_or_null(&fake->ops, struct kfi_oper, link);
	if (op)
		list_del(&op->link);
	spin_unlock_bh(&fake->lock);
	if (!op)
		return false;
	atomic_inc(&r->ended[(unsigned long)op->context >> 16 & 0xff]);
	kfi_tx_complete(op, 0);
	return true;
}

static int race_post(void *arg)
{
	struct fence_poster *p = arg;
	struct fence_race *r = p->r;
	unsigned int n;
	int ret;

	for (n = 0; n < RACE_POSTS; n++) {
		unsigned long context = 1UL << 24 | p->who << 16 | n;

		while ((ret = fw_send(&r->f, context,
				      KFI_NO_COMPLETION | (race_fenced(n) ? KFI_FENCE : 0))) ==
		       -EAGAIN)
			crew_turn();
		if (ret)
			atomic_inc(&r->wrong);
	}
	atomic_dec(&r->posting);
	return 0;
}

static void fence_races(struct kunit *test)
{
	struct fence_race *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	struct fence_poster p[RACE_POSTERS];
	unsigned long end = jiffies + 60 * HZ;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, r);
	fw_open(test, &r->f, KFI_FENCE);
	r->f.w->ops.tx = race_tx;
	fence_race = r;
	atomic_set(&r->posting, RACE_POSTERS);
	for (i = 0; i < RACE_POSTERS; i++) {
		p[i] = (struct fence_poster) { .r = r, .who = i };
		p[i].task = kthread_create(race_post, &p[i], "kfi_race/%d", i);
		KUNIT_ASSERT_FALSE(test, IS_ERR(p[i].task));
		get_task_struct(p[i].task);
	}
	for (i = 0; i < RACE_POSTERS; i++)
		wake_up_process(p[i].task);
	while ((race_finish(r) || atomic_read(&r->posting) ||
		kfi_pool_used(&kfi_to_ep(r->f.ep)->tx)) &&
	       time_before(jiffies, end))
		crew_turn();
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&r->wrong));
	KUNIT_EXPECT_EQ(test, 0, kfi_pool_used(&kfi_to_ep(r->f.ep)->tx));
	if (atomic_read(&r->posting))		/* stuck: closing the endpoint ends the posters */
		kfi_ep_kill(kfi_to_ep(r->f.ep));
	for (i = 0; i < RACE_POSTERS; i++) {
		kthread_stop_put(p[i].task);
		KUNIT_EXPECT_EQ(test, RACE_POSTS, atomic_read(&r->ended[i]));
	}
	fw_close(test, &r->f);
}

/* The endpoint ends while operations before the fence end: each operation ends once. */
static void fence_races_end(struct kunit *test)
{
	struct fence_world f;
	int round, i, n, err;

	for (round = 0; round < 40; round++) {
		fw_open(test, &f, KFI_FENCE);
		for (i = 1; i <= FW_DEPTH; i++)
			POST(&f, i, i % 3 ? 0 : KFI_FENCE);
		FINISH(&f, 0);
		FINISH(&f, 0);
		udelay(round * 5);
		KUNIT_EXPECT_EQ(test, 0, kfi_close(&f.ep->fid));
		f.ep = NULL;
		for (n = 0; fw_entry(&f, &err); n++)
			KUNIT_EXPECT_EQ(test, n < 2 ? 0 : ECANCELED, err);
		KUNIT_EXPECT_EQ(test, FW_DEPTH, n);
		fw_close(test, &f);
	}
}

static struct kunit_case fence_cases[] = {
	KUNIT_CASE(fence_waits),
	KUNIT_CASE(fence_alone),
	KUNIT_CASE(fence_chain),
	KUNIT_CASE(fence_refused),
	KUNIT_CASE(fence_injects),
	KUNIT_CASE(fence_more),
	KUNIT_CASE(fence_bounded),
	KUNIT_CASE(fence_cancel),
	KUNIT_CASE(fence_cancel_last),
	KUNIT_CASE(fence_ends),
	KUNIT_CASE(fence_again),
	KUNIT_CASE_SLOW(fence_races),
	KUNIT_CASE_SLOW(fence_races_end),
	{ }
};

static struct kunit_suite fence_suite = {
	.name = "kfi_fence",
	.test_cases = fence_cases,
};

kunit_test_suite(fence_suite);
