// SPDX-License-Identifier: GPL-2.0
/*
 * A peer moves bytes into a region, as a provider does, while its owner ends it: when the owner has
 * been told of the end, not one byte may land any more.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/slab.h>
#include "crew.h"
#include "mr_fixture.h"

/**
 * struct race - a thread moves bytes as a provider does while another ends regions
 * @mem: what is registered; @moves: bytes moved
 * @key: of the present region
 */
struct race {
	struct kfi_world	*w;
	u64			*mem;
	u64			key;
	atomic_t		moves;
	bool			stop;
	struct completion	gone;
};

static int peer_thread(void *arg)
{
	struct race *r = arg;
	struct iov_iter iter;
	struct kfi_mr *mr;
	u64 mark = 1, key;

	while (!READ_ONCE(r->stop)) {
		key = READ_ONCE(r->key);
		mr = kfi_mr_get(&r->w->ep, key, 0, sizeof(mark), KFI_REMOTE_WRITE, &iter);
		if (IS_ERR(mr)) {
			cpu_relax();
			crew_turn();
			continue;
		}
		rcu_read_lock();
		if (kfi_mr_live(mr, key) &&
		    copy_to_iter(&mark, sizeof(mark), &iter) == sizeof(mark))
			atomic_inc(&r->moves);
		rcu_read_unlock();
		kfi_mr_put(mr);
		crew_turn();
	}
	complete(&r->gone);
	return 0;
}

static void start_peer(struct kunit *test, struct race *r, struct task_struct **task)
{
	init_completion(&r->gone);
	r->w = kfi_world_open(test, NULL);
	r->mem = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, r->mem);
	*task = kthread_create(peer_thread, r, "kfi_mr_peer");
	KUNIT_ASSERT_FALSE(test, IS_ERR(*task));
	get_task_struct(*task);
	wake_up_process(*task);
}

static void stop_peer(struct race *r, struct task_struct *task)
{
	WRITE_ONCE(r->stop, true);
	wait_for_completion(&r->gone);
	kthread_stop_put(task);
}

/* The region has ended: a byte that lands from now on is a bug. */
static void expect_quiet(struct kunit *test, struct race *r)
{
	int i;

	WRITE_ONCE(*r->mem, 0);
	for (i = 0; i < 50; i++)
		cpu_relax();
	KUNIT_EXPECT_EQ(test, 0ULL, READ_ONCE(*r->mem));
}

static void wait_for_a_move(struct race *r)
{
	int before = atomic_read(&r->moves), tries;

	for (tries = 0; tries < 1000 && atomic_read(&r->moves) == before; tries++)
		crew_turn();
}

static void nothing_lands_after_close(struct kunit *test)
{
	struct race *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	struct task_struct *task;
	struct kfid_mr *mr;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, r);
	start_peer(test, r, &task);
	for (i = 0; i < 200; i++) {
		KUNIT_ASSERT_EQ(test, 0,
				kfi_mr_reg(&r->w->domain.fid, r->mem, 8, RW, 0, KFI_KEY_NOTAVAIL, 0,
					   &mr, NULL));
		WRITE_ONCE(r->key, mr->key);
		wait_for_a_move(r);
		KUNIT_ASSERT_EQ(test, 0, kfi_close(&mr->fid));
		expect_quiet(test, r);
	}
	KUNIT_EXPECT_GT(test, atomic_read(&r->moves), 100);
	stop_peer(r, task);
	kfi_world_close(r->w);
}

static void nothing_lands_after_invalidate(struct kunit *test)
{
	struct race *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	struct task_struct *task;
	struct kfid_mr *mr;
	struct job j;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, r);
	start_peer(test, r, &task);
	KUNIT_ASSERT_EQ(test, 0, kfi_mr_alloc(&r->w->domain.fid, 1, 0, &mr, NULL));
	for (i = 0; i < 500; i++) {
		KUNIT_ASSERT_EQ(test, 0, attach(mr, r->mem + i % 2 * 8, 8, &j));
		WRITE_ONCE(r->key, mr->key);
		wait_for_a_move(r);
		KUNIT_ASSERT_EQ(test, 0, detach(mr, &j));
		expect_quiet(test, r);
	}
	KUNIT_EXPECT_GT(test, atomic_read(&r->moves), 100);
	stop_peer(r, task);
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&mr->fid));
	kfi_world_close(r->w);
}

/* A peer that is slow inside its RCU section: the end of the region must wait for exactly that. */
static int slow_thread(void *arg)
{
	struct race *r = arg;
	struct iov_iter iter;
	struct kfi_mr *mr;

	mr = kfi_mr_get(&r->w->ep, r->key, 0, 8, KFI_REMOTE_WRITE, &iter);
	if (!IS_ERR(mr)) {
		rcu_read_lock();
		if (kfi_mr_live(mr, r->key)) {
			atomic_set_release(&r->moves, 1);
			mdelay(30);
			atomic_set_release(&r->moves, 2);
		}
		rcu_read_unlock();
		kfi_mr_put(mr);
	}
	complete(&r->gone);
	return 0;
}

/* Return once the peer is in the middle of it. */
static struct task_struct *start_slow(struct kunit *test, struct race *r)
{
	struct task_struct *task = kthread_create(slow_thread, r, "kfi_mr_slow");
	int tries;

	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	get_task_struct(task);
	init_completion(&r->gone);
	atomic_set(&r->moves, 0);
	wake_up_process(task);
	for (tries = 0; tries < 100000 && !atomic_read(&r->moves); tries++)
		crew_turn();
	KUNIT_EXPECT_GT(test, atomic_read(&r->moves), 0);
	return task;
}

static void end_slow(struct kunit *test, struct race *r, struct task_struct *task)
{
	KUNIT_EXPECT_EQ(test, 2, atomic_read_acquire(&r->moves));
	wait_for_completion(&r->gone);
	kthread_stop_put(task);
}

static void the_end_waits_for_a_move(struct kunit *test)
{
	struct race *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	struct task_struct *task;
	struct kfid_mr *mr;
	u64 word;
	struct job j;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, r);
	r->w = kfi_world_open(test, NULL);
	for (i = 0; i < 5; i++) {
		KUNIT_ASSERT_EQ(test, 0,
				kfi_mr_reg(&r->w->domain.fid, &word, 8, RW, 0, 7, 0, &mr, NULL));
		r->key = 7;
		task = start_slow(test, r);
		KUNIT_EXPECT_EQ(test, 0, kfi_close(&mr->fid));
		end_slow(test, r, task);
	}
	KUNIT_ASSERT_EQ(test, 0, kfi_mr_alloc(&r->w->domain.fid, 1, 0, &mr, NULL));
	for (i = 0; i < 5; i++) {
		KUNIT_ASSERT_EQ(test, 0, attach(mr, &word, 8, &j));
		r->key = mr->key;
		task = start_slow(test, r);
		KUNIT_EXPECT_EQ(test, 0, detach(mr, &j));
		end_slow(test, r, task);
	}
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&mr->fid));
	kfi_world_close(r->w);
}

/**
 * struct binding - calls for one region that come at the same time
 * @begun: the provider enables the region
 * @ret: what the calls have returned
 */
struct binding {
	struct kfid_mr		*mr;
	struct kfid_cntr	*cntr;
	struct completion	begun;
	int			ret[3];
};

/* A provider that takes its time to enable a region. */
static int slow_enable(struct kfi_mr *mr)
{
	struct binding *b = mr->fid.fid.context;

	complete_all(&b->begun);
	msleep(20);
	return 0;
}

static void binding_call(void *arg, unsigned int id, struct rnd_state *rnd)
{
	struct binding *b = arg;

	if (id)
		wait_for_completion(&b->begun);
	b->ret[id] = id == 1 ? kfi_mr_bind(b->mr, &b->cntr->fid, KFI_REMOTE_WRITE) :
			       kfi_mr_enable(b->mr);
}

/* A region that is being enabled can be neither bound nor enabled again. */
static void one_call_at_a_time(struct kunit *test)
{
	struct kfi_world_opts opts = { .mr_mode = KFI_MR_ENDPOINT | KFI_MR_PROV_KEY };
	struct kfi_world *w = kfi_world_open(test, &opts);
	struct binding *b = kunit_kzalloc(test, sizeof(*b), GFP_KERNEL);
	u64 word;

	KUNIT_ASSERT_NOT_NULL(test, b);
	init_completion(&b->begun);
	w->ops.mr_enable = slow_enable;
	KUNIT_ASSERT_EQ(test, 0, kfi_cntr_open(&w->domain.fid, NULL, &b->cntr, NULL));
	KUNIT_ASSERT_EQ(test, 0, kfi_mr_reg(&w->domain.fid, &word, 8, RW, 0, KFI_KEY_NOTAVAIL, 0,
					    &b->mr, b));
	KUNIT_ASSERT_EQ(test, 0, kfi_mr_bind(b->mr, &w->ep.fid.fid, 0));
	crew_run(test, 3, binding_call, b);
	KUNIT_EXPECT_EQ(test, 0, b->ret[0]);
	KUNIT_EXPECT_EQ(test, -KFI_EOPBADSTATE, b->ret[1]);
	KUNIT_EXPECT_EQ(test, -EINVAL, b->ret[2]);
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&b->mr->fid));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&b->cntr->fid));
	kfi_world_close(w);
}

static struct kunit_case race_cases[] = {
	KUNIT_CASE_SLOW(nothing_lands_after_close),
	KUNIT_CASE_SLOW(nothing_lands_after_invalidate),
	KUNIT_CASE_SLOW(the_end_waits_for_a_move),
	KUNIT_CASE(one_call_at_a_time),
	{}
};

static struct kunit_suite race_suite = {
	.name = "kfi_mr_race",
	.test_cases = race_cases,
};
kunit_test_suite(race_suite);
