// SPDX-License-Identifier: GPL-2.0
/*
 * Atomic operations at the target are atomic among themselves, and their results are true. What
 * they compute is tested by the list of conformance (atomic.types).
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "crew.h"
#include "fake.h"
#include "fixture.h"

#define KEY		7
#define KEY_ALIAS	8

/* ---- a world with a region ---- */

static struct kfi_world *atomic_open(struct kunit *test)
{
	static const struct kfi_world_opts opts = { .caps = KFI_MSG | KFI_RMA | KFI_ATOMIC };

	return kfi_world_open(test, &opts);
}

/* A region of vmalloc()ed memory, as page segments of @cut bytes */
static struct kfid_mr *page_region(struct kfi_world *w, void *buf, size_t len, size_t cut, u64 key)
{
	size_t n = DIV_ROUND_UP(len, cut), i;
	struct bio_vec *bv = kunit_kcalloc(w->test, n, sizeof(*bv), GFP_KERNEL);
	struct kfi_mr_attr attr = {
		.type = KFI_BVEC, .mr_biov = bv, .iov_count = n, .access = RW, .requested_key = key,
	};
	struct kfid_mr *mr = NULL;

	KUNIT_ASSERT_NOT_NULL(w->test, bv);
	for (i = 0; i < n; i++)
		bvec_set_page(&bv[i], vmalloc_to_page(buf + i * cut), min(cut, len - i * cut),
			      offset_in_page(buf + i * cut));
	KUNIT_ASSERT_EQ(w->test, 0, kfi_mr_regattr(&w->domain.fid, &attr, 0, &mr));
	return mr;
}

/*
 * Perform an operation on @n elements at @addr. @v has the operands, then the values to compare
 * with; the old values are stored in @old.
 */
static int perform(struct kfi_world *w, u64 key, u64 addr, u8 code, unsigned int op,
		   unsigned int type, size_t n, void *v, void *old)
{
	size_t len = n * kfi_atomic_size(type), operands = op == KFI_ATOMIC_READ ? 0 : len;
	struct kfi_atomic a = { .code = code, .op = op, .datatype = type, .len = len };
	struct kfi_rma_iov seg = { addr, len, key };
	struct kvec vec[] = {
		{ v, operands }, { v + operands, code == KFI_OPC_COMPARE_ATOMIC ? len : 0 },
		{ old, code == KFI_OPC_ATOMIC ? 0 : len },
	};
	struct kfi_mr *mr;

	iov_iter_kvec(&a.operand, ITER_SOURCE, &vec[0], 1, vec[0].iov_len);
	iov_iter_kvec(&a.compare, ITER_SOURCE, &vec[1], 1, vec[1].iov_len);
	iov_iter_kvec(&a.result, ITER_DEST, &vec[2], 1, vec[2].iov_len);
	mr = kfi_atomic_perform(&w->ep, &a, &seg, 1);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	kfi_mr_put(mr);
	return 0;
}

/* ---- concurrent operations ---- */

#define ADDERS		4
#define ADDS		20000

/**
 * struct adding - threads that count in the same words
 * @word: word 0: all threads add 1, as 64 bits, and mark the old values in @seen; word 1: half of
 *	the threads add 1 to the lower half, as 32 bits, the others 2^32 to the whole; word 2: all
 *	threads add 1 by compare and swap
 */
struct adding {
	struct kfi_world	*w;
	u64			*word;
	unsigned long		*seen;
	atomic_t		left, failed;
	struct completion	gone;
};

static void add_by_swap(struct adding *a, u64 key)
{
	u64 v[2], old = READ_ONCE(a->word[2]);

	do {
		v[1] = old;
		v[0] = old + 1;
		if (perform(a->w, key, 16, KFI_OPC_COMPARE_ATOMIC, KFI_CSWAP, KFI_UINT64, 1, v,
			    &old))
			atomic_inc(&a->failed);
	} while (old != v[1]);
}

/* Even threads use the alias of the region, odd ones the region. */
static void add(void *arg, unsigned int nr, struct rnd_state *rnd)
{
	u64 key = nr & 1 ? KEY : KEY_ALIAS, one = 1, high = 1ULL << 32, old;
	struct adding *a = arg;
	unsigned long i;

	for (i = 0; i < ADDS; i++) {
		if (perform(a->w, key, 0, KFI_OPC_FETCH_ATOMIC, KFI_SUM, KFI_UINT64, 1, &one,
			    &old) ||
		    old >= ADDERS * ADDS || test_and_set_bit(old, a->seen))
			atomic_inc(&a->failed);
		if (nr & 2 ? perform(a->w, key, 8, KFI_OPC_ATOMIC, KFI_SUM, KFI_UINT32, 1, &one,
				     NULL) :
			     perform(a->w, key, 8, KFI_OPC_ATOMIC, KFI_SUM, KFI_UINT64, 1, &high,
				     NULL))
			atomic_inc(&a->failed);
		if (i % 4 == 0)
			add_by_swap(a, key);
		if (i % 1000 == 0)
			crew_turn();
	}
}

static void atomic_loses_nothing(struct kunit *test)
{
	struct adding *a = kfi_test_zalloc(test, sizeof(*a));
	struct kfid_mr *mr, *alias;

	a->w = atomic_open(test);
	a->word = vzalloc(PAGE_SIZE);
	a->seen = kunit_kcalloc(test, BITS_TO_LONGS(ADDERS * ADDS), sizeof(long), GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, a->word && a->seen);
	mr = kfi_world_region(a->w, a->word, PAGE_SIZE, KEY);
	alias = page_region(a->w, a->word, PAGE_SIZE, PAGE_SIZE, KEY_ALIAS);
	crew_run(test, ADDERS, add, a);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&a->failed));
	KUNIT_EXPECT_EQ(test, (u64)ADDERS * ADDS, a->word[0]);
	KUNIT_EXPECT_EQ(test, (u64)ADDERS * ADDS, find_first_zero_bit(a->seen, ADDERS * ADDS));
	KUNIT_EXPECT_EQ(test, (u64)ADDERS / 2 * ADDS | (u64)ADDERS / 2 * ADDS << 32, a->word[1]);
	KUNIT_EXPECT_EQ(test, (u64)ADDERS * ADDS / 4, a->word[2]);
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&mr->fid));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&alias->fid));
	kfi_world_close(a->w);
	vfree(a->word);
}

/* ---- a region that is closed and registered again ---- */

#define TRIES	20000

static int flicker_fn(void *arg)
{
	struct adding *a = arg;
	struct kfid_mr *mr;

	while (atomic_read(&a->left)) {
		mr = kfi_world_region(a->w, a->word + 1, 8, KEY_ALIAS);
		udelay(200);
		if (kfi_close(&mr->fid))
			atomic_inc(&a->failed);
		crew_turn();
	}
	complete(&a->gone);
	return 0;
}

static int add_two(struct kfi_world *w, u64 *one)
{
	struct kfi_rma_iov segs[] = { { 0, 8, KEY }, { 0, 8, KEY_ALIAS } };
	struct kfi_atomic a = {
		.code = KFI_OPC_ATOMIC, .op = KFI_SUM, .datatype = KFI_UINT64, .len = 16
	};
	struct kvec vec = { one, 16 };
	struct kfi_mr *mr;

	iov_iter_kvec(&a.operand, ITER_SOURCE, &vec, 1, 16);
	iov_iter_kvec(&a.compare, ITER_SOURCE, &vec, 0, 0);
	iov_iter_kvec(&a.result, ITER_DEST, &vec, 0, 0);
	mr = kfi_atomic_perform(&w->ep, &a, segs, 2);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	kfi_mr_put(mr);
	return 0;
}

/*
 * The results tell what was done: success: both targets; EACCES: none; EREMOTEIO: the first only,
 * because the region of the second was closed in between.
 */
static void atomic_verdict_is_true(struct kunit *test)
{
	struct adding *a = kfi_test_zalloc(test, sizeof(*a));
	u64 one[2] = { 1, 1 }, good = 0, half = 0, none = 0, i;
	struct kfid_mr *mr;
	int ret;

	a->w = atomic_open(test);
	a->word = kfi_test_zalloc(test, 16);
	init_completion(&a->gone);
	atomic_set(&a->left, 1);
	mr = kfi_world_region(a->w, a->word, 8, KEY);
	kthread_run(flicker_fn, a, "kfi_flicker");
	for (i = 0; i < TRIES || ((good < 100 || !none) && i < 100 * TRIES); i++) {
		ret = add_two(a->w, one);
		good += !ret;
		half += ret == -EREMOTEIO;
		none += ret == -EACCES;
		if (ret && ret != -EREMOTEIO && ret != -EACCES)
			KUNIT_FAIL(test, "verdict %d", ret);
		if (i % 100 == 0)
			crew_turn();
	}
	atomic_set(&a->left, 0);
	wait_for_completion(&a->gone);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&a->failed));
	KUNIT_EXPECT_NE(test, 0, good);
	KUNIT_EXPECT_NE(test, 0, none);	/* all targets are checked before one is changed */
	KUNIT_EXPECT_EQ(test, good + half, a->word[0]);
	KUNIT_EXPECT_EQ(test, good, a->word[1]);
	kunit_info(test, "%llu done, %llu by half, of %llu", good, half, i);
	/* An endpoint without the capability lets no peer change its memory this way. */
	a->w->ep.caps &= ~KFI_ATOMIC;
	KUNIT_EXPECT_EQ(test, -EACCES, perform(a->w, KEY, 0, KFI_OPC_ATOMIC, KFI_SUM, KFI_UINT64, 1,
					       one, NULL));
	KUNIT_EXPECT_EQ(test, good + half, a->word[0]);
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&mr->fid));
	kfi_world_close(a->w);
}

KFI_SUITE(kfi_atomic,
	KUNIT_CASE_SLOW(atomic_loses_nothing),
	KUNIT_CASE_SLOW(atomic_verdict_is_true));
