// SPDX-License-Identifier: GPL-2.0
/*
 * Consumers' memory in kfi_verbs: whatever it is made of, it is cut into runs that a fast
 * registration can hold, each byte once and in its order. The source is compiled into this module:
 * a provider exports nothing.
 */
#include <linux/prandom.h>
#include <linux/random.h>
#include <linux/vmalloc.h>
#include "suite.h"
#include "../../providers/verbs/mem.c"

#define POOL	(16 * PAGE_SIZE)	/* memory of each kind that is used */
#define ROOM	(POOL + PAGE_SIZE)
#define SEGS	24
#define PAGES	16			/* the most that a run here holds */

/**
 * struct seg - a segment of a consumer's vector, in the pool of its kind
 * @at: first byte; @len: may be 0
 */
struct seg {
	size_t	at;
	size_t	len;
};

enum kind { LOW, VIRT, BVEC, KINDS };

/**
 * struct layout - memory as a consumer gives it
 * @page: @off: where the next byte is expected, from @seg and @done of it on
 */
struct layout {
	struct kunit	*test;
	enum kind	kind;
	void		*pool;
	unsigned int	n;
	struct seg	segs[SEGS];
	union {
		struct kvec	kvec[SEGS];
		struct bio_vec	bvec[SEGS];
	};
	size_t		count;
	unsigned int	seg;
	size_t		done;
};

static void *pools[2];	/* LOW, which BVEC shares, and VIRT */

static int make_pools(struct kunit *test)
{
	pools[LOW] = alloc_pages_exact(ROOM, GFP_KERNEL);
	pools[VIRT] = vmalloc(ROOM);
	return pools[LOW] && pools[VIRT] ? 0 : -ENOMEM;
}

static void free_pools(struct kunit *test)
{
	if (pools[LOW])
		free_pages_exact(pools[LOW], ROOM);
	vfree(pools[VIRT]);
}

/* Call again to begin at the front. */
static void layout_iter(struct layout *l, struct iov_iter *iter)
{
	unsigned int i;

	l->pool = pools[l->kind == VIRT ? VIRT : LOW];
	l->seg = 0;
	l->done = 0;
	l->count = 0;
	for (i = 0; i < l->n; i++) {
		if (l->kind == BVEC)
			l->bvec[i] = (struct bio_vec){ virt_to_page(l->pool), l->segs[i].len, l->segs[i].at };
		else
			l->kvec[i] = (struct kvec){ l->pool + l->segs[i].at, l->segs[i].len };
		l->count += l->segs[i].len;
	}
	if (l->kind == BVEC)
		iov_iter_bvec(iter, ITER_SOURCE, l->bvec, l->n, l->count);
	else
		iov_iter_kvec(iter, ITER_SOURCE, l->kvec, l->n, l->count);
}

/* The page and the offset of the next byte, and how many follow it in that page. 0: there are no more. */
static size_t layout_next(struct layout *l, struct page **page, size_t *off)
{
	void *at;

	while (l->seg < l->n && l->done == l->segs[l->seg].len) {
		l->seg++;
		l->done = 0;
	}
	if (l->seg == l->n)
		return 0;
	at = l->pool + l->segs[l->seg].at + l->done;
	*page = l->kind == VIRT ? vmalloc_to_page(at) : virt_to_page(at);
	*off = offset_in_page(at);
	return min_t(size_t, l->segs[l->seg].len - l->done, PAGE_SIZE - *off);
}

/* @len bytes from @off of @page on are the next ones of the layout. */
static void expect_bytes(struct layout *l, struct page *page, size_t off, size_t len)
{
	struct page *want;
	size_t at, n;

	KUNIT_ASSERT_GT(l->test, len, 0);
	for (; len; len -= n, off += n, l->done += n) {
		n = layout_next(l, &want, &at);
		KUNIT_ASSERT_GT_MSG(l->test, n, 0, "more bytes than there are");
		n = min(n, len);
		KUNIT_ASSERT_PTR_EQ(l->test, want, page + off / PAGE_SIZE);
		KUNIT_ASSERT_EQ(l->test, at, off % PAGE_SIZE);
	}
}

static void expect_end(struct layout *l)
{
	struct page *page;
	size_t off;

	KUNIT_ASSERT_EQ_MSG(l->test, layout_next(l, &page, &off), 0, "bytes are left over");
}

/* What a fast registration of @pages pages can hold: no gaps but before the first byte and behind the last one. */
static void expect_run(struct layout *l, struct scatterlist *sg, unsigned int n, unsigned int pages, size_t bytes)
{
	unsigned int i, used = 0;

	KUNIT_ASSERT_GT(l->test, n, 0);
	for (i = 0; i < n; i++) {
		KUNIT_ASSERT_TRUE(l->test, !i || !sg[i].offset);
		KUNIT_ASSERT_TRUE(l->test, i == n - 1 || !offset_in_page(sg[i].offset + sg[i].length));
		KUNIT_ASSERT_EQ(l->test, sg_is_last(&sg[i]), i == n - 1);
		used += DIV_ROUND_UP(sg[i].offset + sg[i].length, PAGE_SIZE);
		expect_bytes(l, sg_page(&sg[i]), sg[i].offset, sg[i].length);
		bytes -= sg[i].length;
	}
	KUNIT_ASSERT_EQ(l->test, bytes, 0);
	KUNIT_ASSERT_LE(l->test, used, pages);
}

/* All of it in runs */
static void take_runs(struct layout *l, unsigned int pages)
{
	struct scatterlist sg[PAGES];
	struct iov_iter iter;
	unsigned int n;
	size_t bytes;

	layout_iter(l, &iter);
	while (iov_iter_count(&iter)) {
		sg_init_table(sg, PAGES);
		n = kv_take_run(&iter, sg, pages, &bytes);
		expect_run(l, sg, n, pages, bytes);
	}
	expect_end(l);
	n = kv_take_run(&iter, sg, pages, &bytes);
	KUNIT_EXPECT_EQ(l->test, n, 0);
	KUNIT_EXPECT_EQ(l->test, bytes, 0);
}

/* The same in pieces of at most @max bytes. */
static void take_pieces(struct layout *l, size_t max)
{
	struct iov_iter iter;
	struct page *page;
	size_t off, n;

	layout_iter(l, &iter);
	while (iov_iter_count(&iter)) {
		n = kv_take_piece(&iter, max, &page, &off);
		KUNIT_ASSERT_LE(l->test, n, max);
		expect_bytes(l, page, off, n);
	}
	expect_end(l);
}

/* Borders of pages as often as not: else nothing would ever join. */
static void random_layout(struct layout *l, struct rnd_state *rnd)
{
	unsigned int i;

	l->kind = prandom_u32_state(rnd) % KINDS;
	l->n = 1 + prandom_u32_state(rnd) % SEGS;
	for (i = 0; i < l->n; i++) {
		struct seg *s = &l->segs[i];

		s->at = prandom_u32_state(rnd) % POOL;
		s->len = prandom_u32_state(rnd) % (POOL - s->at + 1);
		if (prandom_u32_state(rnd) % 4)
			s->at &= PAGE_MASK;
		if (prandom_u32_state(rnd) % 4)
			s->len &= PAGE_MASK;
		if (prandom_u32_state(rnd) % 8 == 0)
			s->len = 0;
	}
}

static void random_memory(struct kunit *test)
{
	struct layout l = { .test = test };
	u64 seed = get_random_u64();
	struct rnd_state rnd;
	unsigned int i;

	kunit_info(test, "seed %llu\n", seed);
	prandom_seed_state(&rnd, seed);
	for (i = 0; i < 2000; i++) {
		random_layout(&l, &rnd);
		take_runs(&l, 1 + prandom_u32_state(&rnd) % PAGES);
		take_pieces(&l, 1 + prandom_u32_state(&rnd) % POOL);
	}
}

KFI_SUITE_IN(kfi_verbs_mem, make_pools, free_pools,
	KUNIT_CASE(random_memory));
