// SPDX-License-Identifier: GPL-2.0
/*
 * Atomic operations at the target: results are compared with a model that computes in the C types,
 * and concurrent operations are atomic.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "crew.h"
#include "fake.h"
#include "fixture.h"

#define LAST_OP		KFI_DIFF
#define KEY		7
#define KEY_ALIAS	8

static const enum kfi_datatype types[] = {
	KFI_INT8, KFI_UINT8, KFI_INT16, KFI_UINT16, KFI_INT32, KFI_UINT32, KFI_INT64, KFI_UINT64,
#ifdef CONFIG_64BIT
	KFI_INT128, KFI_UINT128,
#endif
};

/* ---- the model: fi_atomic(3), one element at a time ---- */

#ifdef CONFIG_64BIT
typedef __int128 signed_128;
typedef unsigned __int128 unsigned_128;
#endif

/* Products are computed by shifts and additions, unlike in the code under test. */
#define MODEL(name, T, U)							\
static U times_##name(U a, U b)							\
{										\
	U sum = 0;								\
										\
	for (; b; b >>= 1, a <<= 1)						\
		if (b & 1)							\
			sum += a;						\
	return sum;								\
}										\
										\
static void model_##name(unsigned int op, void *addr, const void *buf, const void *compare)	\
{										\
	T t = *(T *)addr, v = *(const T *)buf, c = *(const T *)compare;		\
										\
	if ((op == KFI_MIN && v < t) || (op == KFI_MAX && v > t) || op == KFI_ATOMIC_WRITE ||	\
	    (op == KFI_CSWAP && c == t) || (op == KFI_CSWAP_NE && c != t) ||	\
	    (op == KFI_CSWAP_LE && c <= t) || (op == KFI_CSWAP_LT && c < t) ||	\
	    (op == KFI_CSWAP_GE && c >= t) || (op == KFI_CSWAP_GT && c > t))	\
		t = v;								\
	else if (op == KFI_SUM)							\
		t = (T)((U)t + (U)v);						\
	else if (op == KFI_DIFF)						\
		t = (T)((U)t - (U)v);						\
	else if (op == KFI_PROD)						\
		t = (T)times_##name((U)t, (U)v);				\
	else if (op == KFI_LOR)							\
		t = t || v;							\
	else if (op == KFI_LAND)						\
		t = t && v;							\
	else if (op == KFI_LXOR)						\
		t = (t && !v) || (!t && v);					\
	else if (op == KFI_BOR)							\
		t |= v;								\
	else if (op == KFI_BAND)						\
		t &= v;								\
	else if (op == KFI_BXOR)						\
		t ^= v;								\
	else if (op == KFI_MSWAP)						\
		t = (v & c) | (t & ~c);						\
	*(T *)addr = t;								\
}

MODEL(s8, s8, u8)
MODEL(u8, u8, u8)
MODEL(s16, s16, u16)
MODEL(u16, u16, u16)
MODEL(s32, s32, u32)
MODEL(u32, u32, u32)
MODEL(s64, s64, u64)
MODEL(u64, u64, u64)
#ifdef CONFIG_64BIT
MODEL(s128, signed_128, unsigned_128)
MODEL(u128, unsigned_128, unsigned_128)
#endif

static void (*const models[])(unsigned int op, void *addr, const void *buf, const void *compare) = {
	[KFI_INT8] = model_s8,	   [KFI_UINT8] = model_u8,     [KFI_INT16] = model_s16,
	[KFI_UINT16] = model_u16,  [KFI_INT32] = model_s32,    [KFI_UINT32] = model_u32,
	[KFI_INT64] = model_s64,   [KFI_UINT64] = model_u64,
#ifdef CONFIG_64BIT
	[KFI_INT128] = model_s128, [KFI_UINT128] = model_u128,
#endif
};

/* ---- a world with a region ---- */

static struct kfi_world *atomic_open(struct kunit *test)
{
	static const struct kfi_world_opts opts = { .caps = KFI_MSG | KFI_RMA | KFI_ATOMIC };

	return kfi_world_open(test, &opts);
}

static struct kfid_mr *region(struct kfi_world *w, void *buf, size_t len, u64 access, u64 key)
{
	struct kfid_mr *mr = NULL;

	KUNIT_ASSERT_EQ(w->test, 0,
			kfi_mr_reg(&w->domain.fid, buf, len, access, 0, key, 0, &mr, NULL));
	return mr;
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

static u8 code_of(unsigned int op)
{
	return op >= KFI_CSWAP && op <= KFI_MSWAP ? KFI_OPC_COMPARE_ATOMIC : KFI_OPC_FETCH_ATOMIC;
}

/* ---- results ---- */

#define EDGES		8
#define COMBINATIONS	(EDGES * EDGES * EDGES)

/* Return zero, one, two, minus one, both ends of the signed range, or one of two random numbers. */
static void edge(unsigned int i, void *to, size_t size)
{
	u8 *p = to;

	memset(p, i == 3 || i == 5 ? 0xff : 0, size);
	if (i == 1 || i == 2)
		p[0] = i;
	else if (i == 4)
		p[size - 1] = 0x80;
	else if (i == 5)
		p[size - 1] = 0x7f;
	else if (i > 5)
		get_random_bytes(p, size);
}

struct sums {
	u8 target[COMBINATIONS * 16] __aligned(16);
	u8 want[COMBINATIONS * 16] __aligned(16);
	u8 before[COMBINATIONS * 16] __aligned(16);
	u8 old[COMBINATIONS * 16] __aligned(16);
	u8 v[2 * COMBINATIONS * 16] __aligned(16);
};

static void compute_one(struct kunit *test, struct kfi_world *w, struct sums *s, unsigned int op,
			unsigned int type)
{
	size_t size = kfi_atomic_size(type), len = COMBINATIONS * size, i;
	/* The values to compare with follow the operands; a read has no operands. */
	u8 *compare = s->v + (op == KFI_ATOMIC_READ ? 0 : len);

	for (i = 0; i < COMBINATIONS; i++) {
		edge(i % EDGES, s->target + i * size, size);
		edge(i / EDGES % EDGES, s->v + i * size, size);
		edge(i / EDGES / EDGES, compare + i * size, size);
	}
	memcpy(s->want, s->target, len);
	memcpy(s->before, s->target, len);
	for (i = 0; i < COMBINATIONS; i++)
		models[type](op, s->want + i * size, s->v + i * size, compare + i * size);
	KUNIT_EXPECT_EQ(test, 0,
			perform(w, KEY, 0, code_of(op), op, type, COMBINATIONS, s->v, s->old));
	KUNIT_EXPECT_EQ_MSG(test, 0, memcmp(s->want, s->target, len), "operation %u on type %u", op,
			    type);
	KUNIT_EXPECT_EQ_MSG(test, 0, memcmp(s->before, s->old, len), "operation %u on type %u", op,
			    type);
}

static void atomic_computes(struct kunit *test)
{
	struct sums *s = vmalloc(sizeof(*s));
	struct kfi_world *w = atomic_open(test);
	struct kfid_mr *mr;
	unsigned int op, i;

	KUNIT_ASSERT_NOT_NULL(test, s);
	mr = region(w, s->target, sizeof(s->target), RW, KEY);
	for (op = 0; op <= LAST_OP; op++)
		for (i = 0; i < ARRAY_SIZE(types); i++)
			compute_one(test, w, s, op, types[i]);
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&mr->fid));
	kfi_world_close(w);
	vfree(s);
}

/* ---- memory ---- */

/*
 * Elements lie in segments of any length, over several pages. An operation is refused if an element
 * would lie in two segments.
 */
static void atomic_segments(struct kunit *test)
{
	static const size_t cuts[] = { 8, 24, 64, 1000, 2048, 4096 };
	size_t len = 3 * PAGE_SIZE, n = len / 8, i, c;
	u64 *buf = vmalloc(len), *v = vmalloc(len), *old = vmalloc(len);
	struct kfi_world *w = atomic_open(test);
	struct kfid_mr *mr;

	KUNIT_ASSERT_TRUE(test, buf && v && old);
	for (c = 0; c < ARRAY_SIZE(cuts); c++) {
		for (i = 0; i < n; i++) {
			buf[i] = i;
			v[i] = i << 32;
		}
		/* A segment may not cross a page. */
		mr = page_region(w, buf, PAGE_SIZE / cuts[c] * cuts[c], cuts[c], KEY);
		i = PAGE_SIZE / cuts[c] * cuts[c] / 8;
		KUNIT_EXPECT_EQ(test, 0,
				perform(w, KEY, 0, KFI_OPC_FETCH_ATOMIC, KFI_SUM, KFI_UINT64, i, v,
					old));
		while (i--) {
			KUNIT_EXPECT_EQ(test, old[i], i);
			KUNIT_EXPECT_EQ(test, buf[i], i | (u64)i << 32);
		}
		KUNIT_EXPECT_EQ(test, 0, kfi_close(&mr->fid));
	}
	mr = page_region(w, buf, PAGE_SIZE, 20, KEY);	/* 204 segments of 20 bytes and one of 16 */
	memset(buf, 0, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, -EINVAL,
			perform(w, KEY, 0, KFI_OPC_ATOMIC, KFI_ATOMIC_WRITE, KFI_UINT64, 3, v,
				NULL));
	KUNIT_EXPECT_EQ(test, 0,
			perform(w, KEY, 0, KFI_OPC_ATOMIC, KFI_ATOMIC_WRITE, KFI_UINT64, 2, v + 1,
				NULL));
	KUNIT_EXPECT_EQ(test, 0,
			perform(w, KEY, 0, KFI_OPC_ATOMIC, KFI_BOR, KFI_UINT32, 10, v + 1, NULL));
	KUNIT_EXPECT_EQ(test, 1ULL << 32, buf[0]);
	KUNIT_EXPECT_EQ(test, 2ULL << 32, buf[1]);
	KUNIT_EXPECT_EQ(test, 3ULL << 32, buf[2]);
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&mr->fid));
	kfi_world_close(w);
	vfree(old);
	vfree(v);
	vfree(buf);
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

static struct adding *adding;	/* one case at a time */

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
static int add_fn(void *arg)
{
	unsigned long nr = (unsigned long)arg, i;
	u64 key = nr & 1 ? KEY : KEY_ALIAS, one = 1, high = 1ULL << 32, old;
	struct adding *a = adding;

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
	atomic_dec(&a->left);
	return 0;
}

static void atomic_loses_nothing(struct kunit *test)
{
	struct adding *a = kunit_kzalloc(test, sizeof(*a), GFP_KERNEL);
	struct kfid_mr *mr, *alias;
	unsigned long i;

	KUNIT_ASSERT_NOT_NULL(test, a);
	a->w = atomic_open(test);
	a->word = vzalloc(PAGE_SIZE);
	a->seen = kunit_kcalloc(test, BITS_TO_LONGS(ADDERS * ADDS), sizeof(long), GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, a->word && a->seen);
	atomic_set(&a->left, ADDERS);
	mr = region(a->w, a->word, PAGE_SIZE, RW, KEY);
	alias = page_region(a->w, a->word, PAGE_SIZE, PAGE_SIZE, KEY_ALIAS);
	adding = a;
	for (i = 0; i < ADDERS; i++)
		kthread_run(add_fn, (void *)i, "kfi_add");
	for (i = 0; i < 30 && !fake_soon(!atomic_read(&a->left)); i++)
		;
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&a->left));
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
		mr = region(a->w, a->word + 1, 8, RW, KEY_ALIAS);
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
	struct adding *a = kunit_kzalloc(test, sizeof(*a), GFP_KERNEL);
	u64 one[2] = { 1, 1 }, good = 0, half = 0, i;
	struct kfid_mr *mr;
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, a);
	a->w = atomic_open(test);
	a->word = kunit_kzalloc(test, 16, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, a->word);
	init_completion(&a->gone);
	atomic_set(&a->left, 1);
	mr = region(a->w, a->word, 8, RW, KEY);
	kthread_run(flicker_fn, a, "kfi_flicker");
	for (i = 0; i < TRIES || (good < 100 && i < 100 * TRIES); i++) {
		ret = add_two(a->w, one);
		good += !ret;
		half += ret == -EREMOTEIO;
		if (ret && ret != -EREMOTEIO && ret != -EACCES)
			KUNIT_FAIL(test, "verdict %d", ret);
		if (i % 100 == 0)
			crew_turn();
	}
	atomic_set(&a->left, 0);
	wait_for_completion(&a->gone);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&a->failed));
	KUNIT_EXPECT_NE(test, 0, good);
	KUNIT_EXPECT_EQ(test, good + half, a->word[0]);
	KUNIT_EXPECT_EQ(test, good, a->word[1]);
	kunit_info(test, "%llu done, %llu by half, of %llu", good, half, i);
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&mr->fid));
	kfi_world_close(a->w);
}

static struct kunit_case atomic_cases[] = {
	KUNIT_CASE(atomic_computes),
	KUNIT_CASE(atomic_segments),
	KUNIT_CASE_SLOW(atomic_loses_nothing),
	KUNIT_CASE_SLOW(atomic_verdict_is_true),
	{}
};

static struct kunit_suite atomic_suite = {
	.name = "kfi_atomic",
	.test_cases = atomic_cases,
};
kunit_test_suite(atomic_suite);
