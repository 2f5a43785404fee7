// SPDX-License-Identifier: GPL-2.0
/*
 * piece_test.c - kfi_piece() finds all bytes of an iterator, in order and once, whatever the
 * segments are: empty, mapped page by page, or with an offset of more than a page
 */
#include <kunit/test.h>
#include <linux/bvec.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/uio.h>
#include <linux/vmalloc.h>
#include <kfi_prov.h>

#define ORDER	2
#define AREA	((size_t)PAGE_SIZE << ORDER)

struct areas {
	u8 *linear, *mapped;
};

static void fill(u8 *to, u32 seed)
{
	size_t i;

	for (i = 0; i < AREA; i++)
		to[i] = (i * 7 + i / 251 + seed) & 0xff;
}

static int piece_init(struct kunit *test)
{
	struct areas *a = kunit_kzalloc(test, sizeof(*a), GFP_KERNEL);

	if (!a)
		return -ENOMEM;
	test->priv = a;
	a->linear = (u8 *)__get_free_pages(GFP_KERNEL | __GFP_COMP, ORDER);
	a->mapped = vmalloc(AREA);
	if (!a->linear || !a->mapped)
		return -ENOMEM;
	fill(a->linear, 1);
	fill(a->mapped, 100);
	return 0;
}

static void piece_exit(struct kunit *test)
{
	struct areas *a = test->priv;

	if (!a)
		return;
	free_pages((unsigned long)a->linear, ORDER);
	vfree(a->mapped);
}

/*
 * Take all pieces of @iter, in steps of at most @step bytes, and compare them with the bytes that
 * copy_from_iter() returns. Return the number of pieces.
 */
static int take(struct kunit *test, struct iov_iter iter, size_t step, size_t longest)
{
	size_t total = iov_iter_count(&iter), at, off, len;
	u8 *want = kunit_kzalloc(test, total, GFP_KERNEL);
	struct iov_iter copy = iter;
	struct page *page;
	int pieces = 0;

	KUNIT_ASSERT_NOT_NULL(test, want);
	KUNIT_ASSERT_EQ(test, total, copy_from_iter(want, total, &copy));
	for (at = 0; at < total; at += len, pieces++) {
		len = kfi_piece(&iter, &page, &off);
		KUNIT_ASSERT_GT(test, len, 0UL);
		KUNIT_ASSERT_LE(test, len, min(total - at, longest));
		KUNIT_ASSERT_LT(test, off, PAGE_SIZE);
		len = min(len, step);
		KUNIT_ASSERT_MEMEQ(test, page_address(page) + off, want + at, len);
		iov_iter_advance(&iter, len);
	}
	KUNIT_EXPECT_EQ(test, 0UL, iov_iter_count(&iter));
	return pieces;
}

static void linear_is_one_piece(struct kunit *test)
{
	struct areas *a = test->priv;
	struct kvec vec = { a->linear + 10, AREA - 20 };
	struct iov_iter iter;

	iov_iter_kvec(&iter, ITER_SOURCE, &vec, 1, vec.iov_len);
	KUNIT_EXPECT_EQ(test, 1, take(test, iter, SIZE_MAX, SIZE_MAX));
	take(test, iter, 1000, SIZE_MAX);
}

static void mapped_ends_at_pages(struct kunit *test)
{
	struct areas *a = test->priv;
	struct kvec vec = { a->mapped + 10, AREA - 20 };
	struct iov_iter iter;

	iov_iter_kvec(&iter, ITER_SOURCE, &vec, 1, vec.iov_len);
	KUNIT_EXPECT_EQ(test, 1 << ORDER, take(test, iter, SIZE_MAX, PAGE_SIZE));
	take(test, iter, 1000, PAGE_SIZE);
}

static void empty_segments(struct kunit *test)
{
	struct areas *a = test->priv;
	struct page *page = virt_to_page(a->linear);
	struct kvec vec[] = {
		{ a->linear, 0 }, { a->linear + 5, 100 }, { NULL, 0 }, { a->mapped, 0 },
		{ a->mapped + PAGE_SIZE - 1, 2 }, { a->linear + 300, 1 }, { NULL, 0 },
	};
	struct bio_vec bvec[] = {
		{ page, 0, 0 }, { page, 100, 5 }, { page, 0, PAGE_SIZE }, { page, 7, 300 },
	};
	struct iov_iter iter;

	iov_iter_kvec(&iter, ITER_SOURCE, vec, ARRAY_SIZE(vec), 103);
	KUNIT_EXPECT_EQ(test, 4, take(test, iter, SIZE_MAX, 100));
	iov_iter_bvec(&iter, ITER_SOURCE, bvec, ARRAY_SIZE(bvec), 107);
	KUNIT_EXPECT_EQ(test, 2, take(test, iter, SIZE_MAX, 100));
}

/* The count of the iterator is less than what its segments have. */
static void short_count(struct kunit *test)
{
	struct areas *a = test->priv;
	struct kvec vec[] = { { a->linear, 100 }, { a->mapped, AREA } };
	struct bio_vec bvec = { virt_to_page(a->linear), AREA, 0 };
	struct iov_iter iter;

	iov_iter_kvec(&iter, ITER_SOURCE, vec, 2, 30);
	KUNIT_EXPECT_EQ(test, 1, take(test, iter, SIZE_MAX, 30));
	iov_iter_kvec(&iter, ITER_SOURCE, vec, 2, 130);
	KUNIT_EXPECT_EQ(test, 2, take(test, iter, SIZE_MAX, 100));
	iov_iter_bvec(&iter, ITER_SOURCE, &bvec, 1, 30);
	KUNIT_EXPECT_EQ(test, 1, take(test, iter, SIZE_MAX, 30));
}

static void offset_over_a_page(struct kunit *test)
{
	struct areas *a = test->priv;
	struct bio_vec bvec[] = {
		{ virt_to_page(a->linear), PAGE_SIZE, 2 * PAGE_SIZE + 17 },
		{ virt_to_page(a->linear), 64, PAGE_SIZE - 1 },
	};
	struct iov_iter iter;

	iov_iter_bvec(&iter, ITER_SOURCE, bvec, 2, PAGE_SIZE + 64);
	KUNIT_EXPECT_EQ(test, 2, take(test, iter, SIZE_MAX, PAGE_SIZE));
	take(test, iter, PAGE_SIZE - 18, PAGE_SIZE);
}

static struct kunit_case piece_cases[] = {
	KUNIT_CASE(linear_is_one_piece),
	KUNIT_CASE(mapped_ends_at_pages),
	KUNIT_CASE(empty_segments),
	KUNIT_CASE(short_count),
	KUNIT_CASE(offset_over_a_page),
	{}
};

static struct kunit_suite piece_suite = {
	.name = "kfi_piece",
	.init = piece_init,
	.exit = piece_exit,
	.test_cases = piece_cases,
};
kunit_test_suite(piece_suite);
