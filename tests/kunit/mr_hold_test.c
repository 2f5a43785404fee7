// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that a device writes by itself: holds, for which the end of a region waits, and memory of
 * the domain's (kfi_mem_alloc()), which its regions keep.
 */
#include <kunit/test.h>
#include <linux/kthread.h>
#include <kfi_mem.h>
#include "mr_fixture.h"

static char mem[256];

static struct kfi_mr *got(struct kfi_world *w, u64 key)
{
	struct iov_iter iter;

	return kfi_mr_get(&w->ep, key, 0, 8, KFI_REMOTE_WRITE, &iter);
}

/* done() of an invalidation comes with the last hold; the region is dead at once. */
static void invalidation_waits(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct kfi_mr *one, *two;
	struct kfid_mr *mr;
	struct job j;
	u64 key;

	KUNIT_ASSERT_EQ(test, 0, kfi_mr_alloc(&w->domain.fid, 1, 0, &mr, NULL));
	KUNIT_ASSERT_EQ(test, 0, attach(mr, mem, 64, &j));
	key = mr->key;
	one = got(w, key);
	two = got(w, key);
	KUNIT_ASSERT_FALSE(test, IS_ERR(one) || IS_ERR(two));
	KUNIT_ASSERT_TRUE(test, kfi_mr_hold(one, key));
	KUNIT_ASSERT_TRUE(test, kfi_mr_hold(two, key));
	kfi_mr_put(two);			/* a hold is a reference of its own */
	job_init(&j);
	KUNIT_ASSERT_EQ(test, 0, kfi_mr_invalidate(mr, &j.work));
	KUNIT_EXPECT_FALSE(test, kfi_mr_live(one, key));
	KUNIT_EXPECT_FALSE(test, may(w, key, 0, 8, KFI_REMOTE_WRITE));
	KUNIT_EXPECT_FALSE(test, kfi_mr_hold(one, key));
	kfi_mr_unhold(two);
	KUNIT_EXPECT_EQ(test, 0, wait_for_completion_timeout(&j.done, msecs_to_jiffies(100)));
	kfi_mr_unhold(one);
	KUNIT_ASSERT_NE(test, 0, wait_for_completion_timeout(&j.done, msecs_to_jiffies(10000)));
	KUNIT_EXPECT_EQ(test, 1, j.calls);
	/* Who has kept his reference has no right to what it is attached to next. */
	KUNIT_ASSERT_EQ(test, 0, attach(mr, mem + 64, 64, &j));
	KUNIT_EXPECT_FALSE(test, kfi_mr_hold(one, key));
	KUNIT_EXPECT_TRUE(test, kfi_mr_hold(one, mr->key));
	kfi_mr_unhold(one);
	kfi_mr_put(one);
	KUNIT_ASSERT_EQ(test, 0, detach(mr, &j));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&mr->fid));
	kfi_world_close(w);
}

/* A thread that closes a region. */
struct closing {
	struct kfid_mr		*mr;
	struct completion	done;
	int			ret;
};

static int close_it(void *arg)
{
	struct closing *c = arg;

	c->ret = kfi_close(&c->mr->fid);
	complete(&c->done);
	return 0;
}

static void close_waits(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct closing c = { .done = COMPLETION_INITIALIZER_ONSTACK(c.done) };
	struct kfi_mr *mr;
	u64 key;

	KUNIT_ASSERT_EQ(test, 0,
			kfi_mr_reg(&w->domain.fid, mem, sizeof(mem), RW, 0, 3, 0, &c.mr, NULL));
	key = c.mr->key;
	mr = got(w, key);
	KUNIT_ASSERT_FALSE(test, IS_ERR(mr));
	KUNIT_ASSERT_TRUE(test, kfi_mr_hold(mr, key));
	kfi_mr_put(mr);
	KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(close_it, &c, "kunit_close")));
	KUNIT_EXPECT_EQ(test, 0, wait_for_completion_timeout(&c.done, msecs_to_jiffies(100)));
	KUNIT_EXPECT_FALSE(test, may(w, key, 0, 8, KFI_REMOTE_WRITE));
	kfi_mr_unhold(mr);
	KUNIT_ASSERT_NE(test, 0, wait_for_completion_timeout(&c.done, msecs_to_jiffies(10000)));
	KUNIT_EXPECT_EQ(test, 0, c.ret);
	kfi_world_close(w);
}

/* ---- memory of the domain's ---- */

static int given, answer;
static u8 *window;			/* two pages */

static int world_mem_alloc(struct kfi_domain *domain, struct kfi_mem *m)
{
	if (answer)
		return answer;
	given++;
	m->addr = window;
	m->numa_node = NUMA_NO_NODE;
	return 0;
}

static void world_mem_free(struct kfi_domain *domain, struct kfi_mem *m)
{
	given--;
}

static struct kfi_world *mem_world(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);

	w->ops.mem_alloc = world_mem_alloc;
	w->ops.mem_free = world_mem_free;
	window = (u8 *)__get_free_pages(GFP_KERNEL | __GFP_ZERO, 1);
	KUNIT_ASSERT_NOT_NULL(test, window);
	given = answer = 0;
	return w;
}

static void mem_world_close(struct kfi_world *w)
{
	KUNIT_EXPECT_EQ(w->test, 0, given);
	free_pages((unsigned long)window, 1);
	kfi_world_close(w);
}

/* A region in it keeps it, whatever address names it, and until no byte can land any more. */
static void regions_keep_memory(struct kunit *test)
{
	struct kfi_world *w = mem_world(test);
	struct kfid_mr *mr, *per_io;
	struct kfi_mem *m;
	struct kfi_mr *peer;
	struct job j;
	u64 key;

	KUNIT_ASSERT_EQ(test, 0, kfi_mem_alloc(&w->domain.fid, PAGE_SIZE + 1, KFI_MEM_DIRECT, &m));
	KUNIT_EXPECT_TRUE(test, m->direct);
	KUNIT_EXPECT_EQ(test, 2 * PAGE_SIZE, m->len);
	KUNIT_ASSERT_EQ(test, 0,
			kfi_mr_reg(&w->domain.fid, window + PAGE_SIZE + 100, 8, RW, 0, 3, 0, &mr,
				   NULL));
	KUNIT_EXPECT_EQ(test, -EBUSY, kfi_mem_free(m));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&mr->fid));
	KUNIT_ASSERT_EQ(test, 0, kfi_mr_alloc(&w->domain.fid, 1, 0, &per_io, NULL));
	KUNIT_ASSERT_EQ(test, 0, attach(per_io, window, 64, &j));
	KUNIT_EXPECT_EQ(test, -EBUSY, kfi_mem_free(m));
	key = per_io->key;
	peer = got(w, key);
	KUNIT_ASSERT_FALSE(test, IS_ERR(peer));
	KUNIT_ASSERT_TRUE(test, kfi_mr_hold(peer, key));
	kfi_mr_put(peer);
	job_init(&j);
	KUNIT_ASSERT_EQ(test, 0, kfi_mr_invalidate(per_io, &j.work));
	/* somebody's engine may still write there */
	KUNIT_EXPECT_EQ(test, -EBUSY, kfi_mem_free(m));
	kfi_mr_unhold(peer);
	wait_for_completion(&j.done);
	KUNIT_EXPECT_EQ(test, 0, kfi_mem_free(m));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&per_io->fid));
	mem_world_close(w);
}

/*
 * Other memory keeps nothing, and a region of a piece that has been freed and given anew keeps the
 * new one.
 */
static void other_memory(struct kunit *test)
{
	struct kfi_world *w = mem_world(test);
	struct kfid_mr *mr;
	struct kfi_mem *m;

	KUNIT_ASSERT_EQ(test, 0, kfi_mem_alloc(&w->domain.fid, 2 * PAGE_SIZE, 0, &m));
	KUNIT_ASSERT_EQ(test, 0, kfi_mr_reg(&w->domain.fid, mem, 8, RW, 0, 3, 0, &mr, NULL));
	KUNIT_EXPECT_EQ(test, 0, kfi_mem_free(m));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&mr->fid));
	KUNIT_ASSERT_EQ(test, 0, kfi_mem_alloc(&w->domain.fid, PAGE_SIZE, 0, &m));
	KUNIT_ASSERT_EQ(test, 0,
			kfi_mr_reg(&w->domain.fid, window + PAGE_SIZE, 8, RW, 0, 3, 0, &mr, NULL));
	KUNIT_EXPECT_EQ(test, 0, kfi_mem_free(m));		/* the second page is none of it */
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&mr->fid));
	mem_world_close(w);
}

/*
 * Where the hardware has none left: any memory, unless it has to be that; and none of a domain that
 * is dead.
 */
static void without_memory(struct kunit *test)
{
	struct kfi_world *w = mem_world(test);
	struct kfi_mem *m;

	answer = -ENOMEM;
	KUNIT_EXPECT_EQ(test, -ENOMEM, kfi_mem_alloc(&w->domain.fid, 100, KFI_MEM_DIRECT, &m));
	KUNIT_ASSERT_EQ(test, 0, kfi_mem_alloc(&w->domain.fid, 100, 0, &m));
	KUNIT_EXPECT_FALSE(test, m->direct);
	KUNIT_EXPECT_PTR_NE(test, (void *)window, m->addr);
	KUNIT_EXPECT_EQ(test, 0, kfi_mem_free(m));
	answer = 0;
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_mem_alloc(&w->domain.fid, 0, 0, &m));
	KUNIT_EXPECT_EQ(test, -KFI_EBADFLAGS, kfi_mem_alloc(&w->domain.fid, 8, KFI_MORE, &m));
	w->domain.dead = true;
	KUNIT_EXPECT_EQ(test, -ENODEV, kfi_mem_alloc(&w->domain.fid, 100, 0, &m));
	w->domain.dead = false;
	mem_world_close(w);
}

static struct kunit_case mr_hold_cases[] = {
	KUNIT_CASE(invalidation_waits),
	KUNIT_CASE(close_waits),
	KUNIT_CASE(regions_keep_memory),
	KUNIT_CASE(other_memory),
	KUNIT_CASE(without_memory),
	{ }
};

static struct kunit_suite mr_hold_suite = {
	.name = "kfi_mr_hold",
	.test_cases = mr_hold_cases,
};

kunit_test_suite(mr_hold_suite);
