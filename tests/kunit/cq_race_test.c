// SPDX-License-Identifier: GPL-2.0
/* Completion queues with several threads: writers, readers, handlers. */
#include <linux/kthread.h>
#include <linux/prandom.h>
#include <linux/random.h>
#include "crew.h"
#include "fake.h"

/* Take a slot as a post does, and complete. */
static bool put(struct kfid_cq *cq, unsigned long id, int err)
{
	struct kfi_cq_err_entry wc = {
		.op_context = (void *)id,
		.flags = KFI_MSG | KFI_RECV,
		.len = id + 1,
		.err = err,
		.prov_errno = err,
	};

	if (!kfi_cq_reserve(kfi_to_cq(cq)))
		return false;
	kfi_cq_fill(kfi_to_cq(cq), &wc);
	return true;
}

#define STRESS_TASKS	3
#define STRESS_EACH	4000

struct stress {
	struct kfid_cq		*cq;
	u64			seed;
	atomic_t		next_task;
	atomic_t		got;
	atomic_t		twice;
	atomic_t		wrong;
	atomic_t		producers;
	unsigned long		seen[BITS_TO_LONGS(STRESS_TASKS * STRESS_EACH)];
};

static int stress_produce(void *arg)
{
	struct stress *s = arg;
	u32 task = atomic_inc_return(&s->next_task) - 1, i;
	struct rnd_state rnd;

	prandom_seed_state(&rnd, s->seed + task);
	for (i = 0; i < STRESS_EACH; i++) {
		u32 r = prandom_u32_state(&rnd);

		if (!(r & 15) && kfi_cq_reserve(kfi_to_cq(s->cq)))
			kfi_cq_unreserve(kfi_to_cq(s->cq));
		while (!put(s->cq, task * STRESS_EACH + i + 1, r & 16 ? 0 : EIO))
			crew_turn();
	}
	atomic_dec(&s->producers);
	return 0;
}

static void stress_account(struct stress *s, unsigned long id, size_t len)
{
	if (id < 1 || id > STRESS_TASKS * STRESS_EACH || len != id + 1)
		atomic_inc(&s->wrong);
	else if (test_and_set_bit(id - 1, s->seen))
		atomic_inc(&s->twice);
	atomic_inc(&s->got);
}

static int stress_consume(void *arg)
{
	struct kfi_cq_tagged_entry e[4];
	struct kfi_cq_err_entry wc = {};
	struct stress *s = arg;
	ssize_t n, i;

	while (atomic_read(&s->got) < STRESS_TASKS * STRESS_EACH && !kthread_should_stop()) {
		n = kfi_cq_sread(s->cq, e, ARRAY_SIZE(e), NULL, 20);
		for (i = 0; i < n; i++)
			stress_account(s, (unsigned long)e[i].op_context, e[i].len);
		if (n == -KFI_EAVAIL && kfi_cq_readerr(s->cq, &wc, 0) == 1)
			stress_account(s, (unsigned long)wc.op_context, wc.len);
	}
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

/*
 * Each entry is read once, unchanged, and the queue never holds more than its size (kfi_cq_fill()
 * warns otherwise).
 */
static void each_entry_once(struct kunit *test)
{
	struct task_struct *reader[STRESS_TASKS];
	struct kfi_world *w = fake_open(test);
	struct stress *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	unsigned long end = jiffies + 60 * HZ;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, s);
	s->cq = fake_cq(w, 13, 0, NULL, NULL);
	get_random_bytes(&s->seed, sizeof(s->seed));
	kunit_info(test, "seed 0x%llx", s->seed);
	atomic_set(&s->producers, STRESS_TASKS);
	for (i = 0; i < STRESS_TASKS; i++) {
		reader[i] = kthread_run(stress_consume, s, "kfi_reader");
		kthread_run(stress_produce, s, "kfi_writer");
	}
	while (atomic_read(&s->got) < STRESS_TASKS * STRESS_EACH && time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
	fake_soon(!atomic_read(&s->producers));
	for (i = 0; i < STRESS_TASKS; i++)
		kthread_stop(reader[i]);
	KUNIT_EXPECT_EQ(test, STRESS_TASKS * STRESS_EACH, atomic_read(&s->got));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&s->twice));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&s->wrong));
	KUNIT_EXPECT_EQ(test, 13, atomic_read(&kfi_to_cq(s->cq)->free));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&s->cq->fid));
	fake_close(w);
}

struct wake {
	struct kfid_cq	*cq;
	atomic_t	read;
};

static void wake_handler(struct kfid_cq *cq, void *context)
{
	struct kfi_cq_tagged_entry e[2];
	struct wake *wake = context;
	ssize_t n;

	while ((n = kfi_cq_read(cq, e, 2)) > 0)
		atomic_add(n, &wake->read);
}

/*
 * A reader that empties the queue whenever its handler is called gets all entries, in either
 * context: no call is lost.
 */
static void no_lost_edge(struct kunit *test)
{
	static const u64 flags[] = { 0, KFI_CQ_SOFTIRQ };
	struct kfi_world *w = fake_open(test);
	struct wake wake;
	int i, f;

	for (f = 0; f < ARRAY_SIZE(flags); f++) {
		wake = (struct wake){};
		wake.cq = fake_cq(w, 3, flags[f], wake_handler, &wake);
		for (i = 0; i < 5000; i++)
			if (!fake_soon(put(wake.cq, i + 1, 0)))
				break;
		KUNIT_EXPECT_EQ(test, 5000, i);
		KUNIT_EXPECT_TRUE(test, fake_soon(atomic_read(&wake.read) == 5000));
		KUNIT_EXPECT_EQ(test, 0, kfi_close(&wake.cq->fid));
	}
	fake_close(w);
}

#define EDGE_WRITERS	3
#define EDGE_EACH	2000

static void edge_writer(void *arg, unsigned int id, struct rnd_state *rnd)
{
	unsigned long end = jiffies + 60 * HZ;
	struct wake *wake = arg;
	int i;

	for (i = 0; i < EDGE_EACH && time_before(jiffies, end); i++) {
		while (!put(wake->cq, 1, 0) && time_before(jiffies, end))
			crew_turn();
		crew_dawdle(rnd);
	}
}

/* The same with several writers: the last entry of each burst comes from another CPU each time. */
static void no_lost_edge_of_many(struct kunit *test)
{
	static const u64 flags[] = { 0, KFI_CQ_SOFTIRQ };
	struct kfi_world *w = fake_open(test);
	struct wake wake;
	int f;

	for (f = 0; f < ARRAY_SIZE(flags); f++) {
		wake = (struct wake){};
		wake.cq = fake_cq(w, 5, flags[f], wake_handler, &wake);
		crew_run(test, EDGE_WRITERS, edge_writer, &wake);
		KUNIT_EXPECT_TRUE(test,
				  fake_soon(atomic_read(&wake.read) == EDGE_WRITERS * EDGE_EACH));
		KUNIT_EXPECT_EQ(test, 5, atomic_read(&kfi_to_cq(wake.cq)->free));
		KUNIT_EXPECT_EQ(test, 0, kfi_close(&wake.cq->fid));
	}
	fake_close(w);
}

static struct kunit_case cq_race_cases[] = {
	KUNIT_CASE_SLOW(each_entry_once),
	KUNIT_CASE_SLOW(no_lost_edge),
	KUNIT_CASE_SLOW(no_lost_edge_of_many),
	{}
};

static struct kunit_suite cq_race_suite = {
	.name = "kfi_cq_race",
	.test_cases = cq_race_cases,
};
kunit_test_suite(cq_race_suite);
