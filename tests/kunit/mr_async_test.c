// SPDX-License-Identifier: GPL-2.0
/*
 * Regions of kfi_mr_alloc(): the order of registrations, invalidations and accesses of a peer, and
 * when done() is called.
 */
#include <kunit/test.h>
#include "fixture.h"

static char mem[256];

static struct kfid_mr *long_lived_region(struct kfi_world *w)
{
	struct kfid_mr *mr = NULL;

	KUNIT_EXPECT_EQ(w->test, 0,
			kfi_mr_reg(&w->domain.fid, mem, sizeof(mem), RW, 0, 3, 0, &mr, NULL));
	return mr;
}

static void per_io_limits(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct kvec iov[3] = { { mem, 1 }, { mem, 1 }, { mem, 1 } };
	struct kfi_mr_attr attr = { .type = KFI_KVEC, .mr_iov = iov, .iov_count = 3, .access = RW };
	struct kfid_mr *mr, *long_lived = long_lived_region(w);
	struct job j;

	job_init(&j);
	w->domain.limits.mr_page_limit = 2;
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_mr_alloc(&w->domain.fid, 0, 0, &mr, NULL));
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_mr_alloc(&w->domain.fid, 3, 0, &mr, NULL));
	KUNIT_EXPECT_EQ(test, -KFI_EBADFLAGS, kfi_mr_alloc(&w->domain.fid, 2, KFI_MORE, &mr, NULL));
	KUNIT_ASSERT_EQ(test, 0, kfi_mr_alloc(&w->domain.fid, 2, 0, &mr, NULL));
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_mr_register(mr, &attr, &j.work));
	attr.iov_count = 2;
	attr.requested_key = 5;
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_mr_register(mr, &attr, &j.work));
	attr.requested_key = 0;
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_mr_register(long_lived, &attr, &j.work));
	w->domain.dead = true;
	KUNIT_EXPECT_EQ(test, -ENODEV, kfi_mr_register(mr, &attr, &j.work));
	w->domain.dead = false;
	KUNIT_EXPECT_EQ(test, 0, kfi_mr_register(mr, &attr, &j.work));
	wait_for_completion(&j.done);
	KUNIT_EXPECT_EQ(test, 0, detach(mr, &j));
	/* without a work item there is no done(), and the next call can follow at once */
	KUNIT_EXPECT_EQ(test, 0, kfi_mr_register(mr, &attr, NULL));
	KUNIT_EXPECT_TRUE(test, may(w, mr->key, 0, 2, KFI_REMOTE_WRITE));
	KUNIT_EXPECT_EQ(test, -KFI_EOPBADSTATE, kfi_mr_register(mr, &attr, NULL));
	KUNIT_EXPECT_EQ(test, 0, detach(mr, &j));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&mr->fid));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&long_lived->fid));
	kfi_world_close(w);
}

/* While bottom halves are off, as in softirq, done() is not called. */
static void done_is_never_inside_the_call(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct kvec iov = { mem, 8 };
	struct kfi_mr_attr attr = { .type = KFI_KVEC, .mr_iov = &iov, .iov_count = 1, .access = RW };
	int ret, inside, busy;
	struct kfid_mr *mr;
	struct job j;

	job_init(&j);
	KUNIT_ASSERT_EQ(test, 0, kfi_mr_alloc(&w->domain.fid, 1, 0, &mr, NULL));
	local_bh_disable();
	ret = kfi_mr_register(mr, &attr, &j.work);
	inside = j.calls;
	busy = kfi_mr_invalidate(mr, &j.work);
	local_bh_enable();
	KUNIT_ASSERT_EQ(test, 0, ret);
	KUNIT_EXPECT_EQ(test, 0, inside);
	KUNIT_EXPECT_EQ(test, -EAGAIN, busy);
	wait_for_completion(&j.done);
	KUNIT_EXPECT_EQ(test, 1, j.calls);
	KUNIT_EXPECT_EQ(test, 0, detach(mr, &j));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&mr->fid));
	kfi_world_close(w);
}

/*
 * A peer keeps a reference over an invalidation and another registration: its old key is invalid,
 * and the owner can use the region meanwhile.
 */
static void slow_peer_and_a_new_life(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct iov_iter iter;
	struct kfi_mr *slow;
	struct kfid_mr *mr;
	struct job j;
	u64 old;

	KUNIT_ASSERT_EQ(test, 0, kfi_mr_alloc(&w->domain.fid, 1, 0, &mr, NULL));
	KUNIT_ASSERT_EQ(test, 0, attach(mr, mem, 64, &j));
	old = mr->key;
	slow = kfi_mr_get(&w->ep, old, 0, 64, KFI_REMOTE_WRITE, &iter);
	KUNIT_ASSERT_FALSE(test, IS_ERR(slow));
	KUNIT_ASSERT_EQ(test, 0, detach(mr, &j));
	KUNIT_ASSERT_EQ(test, 0, attach(mr, mem + 64, 64, &j));
	KUNIT_EXPECT_TRUE(test, may(w, mr->key, 0, 64, KFI_REMOTE_WRITE));
	KUNIT_EXPECT_FALSE(test, kfi_mr_live(slow, old));
	KUNIT_EXPECT_TRUE(test, kfi_mr_live(slow, mr->key));
	kfi_mr_put(slow);
	KUNIT_ASSERT_EQ(test, 0, detach(mr, &j));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&mr->fid));
	kfi_world_close(w);
}

/*
 * Data has landed, and is reported late because a queue was full. The region was registered again
 * meanwhile: the access is not counted.
 */
static void a_former_use_is_reported(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct kfid_cntr *cntr;
	struct iov_iter iter;
	struct kfi_mr *slow;
	struct kfid_mr *mr;
	struct job j;
	u64 old;

	KUNIT_ASSERT_EQ(test, 0, kfi_cntr_open(&w->domain.fid, NULL, &cntr, NULL));
	KUNIT_ASSERT_EQ(test, 0, kfi_mr_alloc(&w->domain.fid, 1, 0, &mr, NULL));
	KUNIT_EXPECT_EQ(test, 0, kfi_mr_bind(mr, &cntr->fid, KFI_REMOTE_WRITE));
	KUNIT_ASSERT_EQ(test, 0, attach(mr, mem, 64, &j));
	old = mr->key;
	slow = kfi_mr_get(&w->ep, old, 0, 64, KFI_REMOTE_WRITE, &iter);
	KUNIT_ASSERT_FALSE(test, IS_ERR(slow));
	KUNIT_ASSERT_EQ(test, 0, detach(mr, &j));
	KUNIT_ASSERT_EQ(test, 0, attach(mr, mem + 64, 64, &j));
	KUNIT_EXPECT_EQ(test, 0, kfi_remote_rma(&w->ep, slow, old, KFI_REMOTE_WRITE, 64, 0, 0));
	KUNIT_EXPECT_EQ(test, 0ULL, kfi_cntr_read(cntr));
	KUNIT_EXPECT_TRUE(test, may(w, mr->key, 0, 64, KFI_REMOTE_WRITE));
	KUNIT_EXPECT_EQ(test, 0, kfi_remote_rma(&w->ep, slow, mr->key, KFI_REMOTE_WRITE, 64, 0, 0));
	KUNIT_EXPECT_EQ(test, 1ULL, kfi_cntr_read(cntr));
	kfi_mr_put(slow);
	KUNIT_ASSERT_EQ(test, 0, detach(mr, &j));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&mr->fid));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&cntr->fid));
	kfi_world_close(w);
}

static void killed_by_the_peer(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct kfid_mr *mr, *long_lived = long_lived_region(w);
	struct iov_iter iter;
	struct kfi_mr *held;
	struct job j;
	u64 key;

	KUNIT_EXPECT_EQ(test, -EACCES, kfi_mr_kill(&w->ep, 3));
	KUNIT_EXPECT_TRUE(test, may(w, 3, 0, 1, KFI_REMOTE_READ));
	KUNIT_ASSERT_EQ(test, 0, kfi_mr_alloc(&w->domain.fid, 1, 0, &mr, NULL));
	KUNIT_ASSERT_EQ(test, 0, attach(mr, mem, 64, &j));
	key = mr->key;
	KUNIT_EXPECT_EQ(test, -ENOENT, kfi_mr_kill(&w->ep, key + 1));
	KUNIT_EXPECT_EQ(test, 0, kfi_mr_kill(&w->ep, key));
	KUNIT_EXPECT_FALSE(test, may(w, key, 0, 1, KFI_REMOTE_READ));
	KUNIT_EXPECT_EQ(test, -ENOENT, kfi_mr_kill(&w->ep, key));
	KUNIT_EXPECT_EQ(test, -KFI_EOPBADSTATE, detach(mr, &j));
	/* The region can be used again at once; during an operation kfi_mr_kill() is refused. */
	KUNIT_ASSERT_EQ(test, 0, attach(mr, mem, 64, &j));
	held = kfi_mr_get(&w->ep, mr->key, 0, 64, KFI_REMOTE_WRITE, &iter);
	KUNIT_ASSERT_FALSE(test, IS_ERR(held));
	KUNIT_EXPECT_EQ(test, -EBUSY, kfi_mr_kill(&w->ep, mr->key));
	kfi_mr_put(held);
	KUNIT_EXPECT_EQ(test, 0, detach(mr, &j));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&mr->fid));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&long_lived->fid));
	kfi_world_close(w);
}

static struct kunit_case async_cases[] = {
	KUNIT_CASE(per_io_limits),
	KUNIT_CASE(done_is_never_inside_the_call),
	KUNIT_CASE(slow_peer_and_a_new_life),
	KUNIT_CASE(a_former_use_is_reported),
	KUNIT_CASE(killed_by_the_peer),
	{}
};

static struct kunit_suite async_suite = {
	.name = "kfi_mr_async",
	.test_cases = async_cases,
};
kunit_test_suite(async_suite);
