// SPDX-License-Identifier: GPL-2.0
/*
 * Where the peer of a kfi_ntb reaches memory: in the arena, in a flat window, or not at all.
 * kfi_ntb exports nothing, so its source is compiled into this module.
 */
#include <linux/bvec.h>
#include "suite.h"
#include "../../providers/ntb/win.c"
#include "../../providers/ntb/flat.c"
#include "../../providers/ntb/map.c"

/* The window of the fence is memory. */
#undef readb
#undef readl
#define readb(at)	(*(__force const u8 *)(at))
#define readl(at)	(*(__force const u32 *)(at))
#include "../../providers/ntb/pages.c"

#define RING		16384U
#define ARENA		(NTW_CTL_SIZE + NTW_RINGS * RING)
#define INBOUND		(ARENA + 65536U)
#define PLACES		4U
#define ALL		(1ULL << 46)	/* more memory than a machine of the tests has */

/* link.c: the next life may begin */
void nt_link_queue(struct nt_link *link)
{
}

static struct nt_link *link_of(struct kunit *test)
{
	return test->priv;
}

static u8 *arena(struct kunit *test)
{
	return link_of(test)->win.mem + ARENA;
}

static int places_init(struct kunit *test)
{
	struct nt_link *link = kfi_test_zalloc(test, sizeof(*link));

	test->priv = link;
	link->win.in = kunit_kzalloc(test, sizeof(*link->win.in), GFP_KERNEL);
	link->win.mem = alloc_pages_exact(INBOUND, GFP_KERNEL);
	link->win.size = INBOUND;
	link->win.reach = INBOUND;
	link->win.ring = RING;
	link->win.wanted = 1;
	link->win.queues = 1;
	link->flat.all = true;
	link->flat.size = ALL;
	link->flat.open = true;
	link->own_id = 77;
	KUNIT_ASSERT_TRUE(test, link->win.in && link->win.mem);
	KUNIT_ASSERT_EQ(test, 0, nt_win_arena(&link->win, NUMA_NO_NODE));
	return 0;
}

static void places_exit(struct kunit *test)
{
	struct nt_link *link = test->priv;

	if (!link || !link->win.in)
		return;
	nt_win_unmark(&link->win);
	if (link->win.in->arena)
		gen_pool_destroy(link->win.in->arena);
	if (link->win.mem)
		free_pages_exact(link->win.mem, INBOUND);
}

/*
 * The peer has written its word through the flat window of this life of the link, or of another
 * one.
 */
static void show(struct kunit *test, bool flat)
{
	struct ntw_ctl *ctl = link_of(test)->win.mem;

	ctl->flat = cpu_to_le64(ntw_word(link_of(test)->own_id + !flat, 1));
}

static int places(struct kunit *test, const struct kvec *vec, unsigned int n, size_t len, bool flat,
		  struct nt_place *place)
{
	struct iov_iter it;
	size_t all = 0;
	unsigned int i;

	for (i = 0; i < n; i++)
		all += vec[i].iov_len;
	iov_iter_kvec(&it, ITER_DEST, vec, n, all);
	show(test, flat);
	return nt_window_places(link_of(test), &it, len, place, PLACES);
}

static u64 flat_of(const void *mem)
{
	return NTW_FLAT | virt_to_phys((void *)mem);
}

/* Rings are as long as the shorter window allows. */
static void rings_that_fit(struct kunit *test)
{
	static const struct {
		u32	shown, reach, wanted, ring, queues;
	} rows[] = {	/* lengths in KiB */
		{ 4096, 4096, 1, 1024, 1 }, { 4096, 4096, 2, 1024, 2 }, { 4096, 65536, 2, 1024, 2 },
		{ 4096, 4096, 4, 512, 4 }, { 4096, 2048, 2, 512, 2 },
		{ 4096, 1280, 1, 512, 1 }, { 4096, 1280, 2, 512, 1 }, { 4096, 768, 2, 512, 1 },
		{ 4096, 256, 2, 128, 1 }, { 256, 4096, 1, 128, 1 }, { 4096, 64, 1, 32, 1 },
		{ 4096, 36, 8, 16, 1 }, { 4096, 35, 1, 0, 0 }, { 32, 4096, 1, 0, 0 },
	};
	struct nt_inbound in = {};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct nt_window win = {
			.in = &in, .shown = rows[i].shown * SZ_1K, .wanted = rows[i].wanted,
		};
		int ret = nt_win_divide(&win, (u64)rows[i].reach * SZ_1K);

		KUNIT_EXPECT_EQ_MSG(test, rows[i].ring ? 0 : -ENOSPC, ret, "row %u", i);
		if (ret)
			continue;
		KUNIT_EXPECT_EQ_MSG(test, rows[i].ring * SZ_1K, win.ring, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, rows[i].queues, win.queues, "row %u", i);
		KUNIT_EXPECT_GE_MSG(test, nt_win_queues(&win), 1U, "row %u", i);
	}
}

/* Consumers keep memory of the arena, so it begins where it did, whatever a later peer reaches. */
static void rings_of_later_lives(struct kunit *test)
{
	struct nt_window *win = &link_of(test)->win;

	win->shown = INBOUND;
	KUNIT_EXPECT_EQ(test, 0, nt_win_divide(win, SZ_4G));
	KUNIT_EXPECT_LE(test, ntw_arena_at(win->queues, win->ring), win->arena);
	KUNIT_EXPECT_EQ(test, ARENA, win->arena);
	KUNIT_EXPECT_EQ(test, -ENOSPC, nt_win_divide(win, ntw_arena_at(1, RING) - 1));
}

/*
 * The word that shows how much the peer reaches is in no memory of consumers, and nothing behind it
 * is exposed.
 */
static void word_at_the_end(struct kunit *test)
{
	struct nt_link *link = link_of(test);
	struct nt_window *win = &link->win;
	size_t grain = BIT(NT_GRAIN_SHIFT);
	size_t i, grains = (INBOUND - ARENA) / grain;
	void **all = kunit_kcalloc(test, grains, sizeof(*all), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, all);
	win->shown = INBOUND;
	KUNIT_ASSERT_EQ(test, 0, nt_win_divide(win, INBOUND));
	nt_win_mark(win);
	KUNIT_EXPECT_EQ(test, INBOUND - grain, win->end);
	/* another peer reaches less */
	KUNIT_ASSERT_EQ(test, 0, nt_win_divide(win, ARENA + 10 * grain));
	nt_win_mark(win);
	KUNIT_EXPECT_EQ(test, ARENA + 9 * grain, win->end);
	/* consumers have all but that */
	refcount_set(&win->in->ref, 1);
	for (i = 0; i < grains; i++) {
		all[i] = nt_mem_get(link, grain);
		if (IS_ERR(all[i]))
			break;
		KUNIT_EXPECT_PTR_NE(test, all[i], win->mem + win->end);
	}
	KUNIT_EXPECT_EQ(test, grains - 1, i);
	/* what is in use in front of the end is not written to */
	KUNIT_ASSERT_EQ(test, 0, nt_win_divide(win, ARENA + 5 * grain));
	nt_win_mark(win);
	KUNIT_EXPECT_EQ(test, ntw_arena_at(1, win->ring) - sizeof(u64), win->end);
	nt_mem_put(win->in, all[2], grain);
	nt_win_mark(win);
	KUNIT_EXPECT_EQ(test, ARENA + 2 * grain, win->end);
	while (i--)
		if (i != 2)
			nt_mem_put(win->in, all[i], grain);
	nt_win_unmark(win);
}

static void in_the_arena(struct kunit *test)
{
	struct kvec vec[2] = { { arena(test) + 100, 200 }, { arena(test) + 300, 50 } };
	struct nt_place place[PLACES];
	int flat;

	for (flat = 0; flat < 2; flat++) {
		KUNIT_EXPECT_EQ(test, 1, places(test, vec, 2, 250, flat, place));
		KUNIT_EXPECT_EQ(test, ARENA + 100ULL, place[0].at);
		KUNIT_EXPECT_EQ(test, 250U, place[0].len);
	}
	vec[0].iov_base = arena(test) - 1;	/* the ring is not exposed */
	KUNIT_EXPECT_EQ(test, 0, places(test, vec, 2, 250, false, place));
	link_of(test)->flat.open = false;
	vec[0].iov_base = place;
	KUNIT_EXPECT_EQ(test, 0, places(test, vec, 1, 8, true, place));
}

/* The peer's window is shorter than our memory. Memory behind its end is not exposed. */
static void within_reach(struct kunit *test)
{
	struct kvec vec = { arena(test) + 100, 200 };
	struct nt_place place[PLACES];

	link_of(test)->win.reach = ARENA + 300;
	KUNIT_EXPECT_EQ(test, 1, places(test, &vec, 1, 200, false, place));
	link_of(test)->win.reach = ARENA + 299;
	KUNIT_EXPECT_EQ(test, 0, places(test, &vec, 1, 200, false, place));
	link_of(test)->win.reach = ARENA + 50;
	KUNIT_EXPECT_EQ(test, 0, places(test, &vec, 1, 200, false, place));
}

static void anywhere(struct kunit *test)
{
	u8 *mem = kfi_test_zalloc(test, 8192);
	struct kvec vec[3] = { { mem + 10, 90 }, { mem + 100, 50 }, { mem + 200, 1000 } };
	struct nt_place place[PLACES];

	KUNIT_EXPECT_EQ(test, 0, places(test, vec, 3, 1140, false, place));
	/* adjacent pieces are merged */
	KUNIT_EXPECT_EQ(test, 2, places(test, vec, 3, 1100, true, place));
	KUNIT_EXPECT_EQ(test, flat_of(mem + 10), place[0].at);
	KUNIT_EXPECT_EQ(test, 140U, place[0].len);
	KUNIT_EXPECT_EQ(test, flat_of(mem + 200), place[1].at);
	KUNIT_EXPECT_EQ(test, 960U, place[1].len);
	vec[1].iov_base = arena(test);
	/* all of it or nothing */
	KUNIT_EXPECT_EQ(test, 0, places(test, vec, 3, 1140, false, place));
	KUNIT_EXPECT_EQ(test, 3, places(test, vec, 3, 1140, true, place));
	KUNIT_EXPECT_EQ(test, (u64)ARENA, place[1].at);
	KUNIT_EXPECT_EQ(test, flat_of(mem + 200), place[2].at);
}

/* up to the end of the window, to the byte */
static void behind_its_end(struct kunit *test)
{
	u8 *mem = kfi_test_zalloc(test, 4096);
	struct kvec vec = { mem, 4096 };
	struct nt_place place[PLACES];

	link_of(test)->flat.size = virt_to_phys(mem) + 100;
	KUNIT_EXPECT_EQ(test, 1, places(test, &vec, 1, 100, true, place));
	KUNIT_EXPECT_EQ(test, 0, places(test, &vec, 1, 101, true, place));
	link_of(test)->flat.size = 0;
	KUNIT_EXPECT_EQ(test, 0, places(test, &vec, 1, 1, true, place));
}

/* Pages with adjacent virtual and any physical addresses */
static void mapped_pages(struct kunit *test)
{
	struct page *page[PLACES + 1], *scattered[PLACES + 1];
	struct nt_place place[PLACES];
	struct kvec vec;
	unsigned int i;

	for (i = 0; i <= PLACES; i++) {
		page[i] = alloc_pages(GFP_KERNEL, 1);	/* the first halves are not adjacent */
		KUNIT_ASSERT_NOT_NULL(test, page[i]);
		scattered[i] = page[i];
	}
	vec.iov_base = vmap(scattered, PLACES + 1, VM_MAP, PAGE_KERNEL);
	vec.iov_len = (PLACES + 1) * PAGE_SIZE;
	KUNIT_ASSERT_NOT_NULL(test, vec.iov_base);
	KUNIT_EXPECT_EQ(test, (int)PLACES, places(test, &vec, 1, PLACES * PAGE_SIZE, true, place));
	for (i = 0; i < PLACES; i++) {
		KUNIT_EXPECT_EQ(test, NTW_FLAT | page_to_phys(page[i]), place[i].at);
		KUNIT_EXPECT_EQ(test, (u32)PAGE_SIZE, place[i].len);
	}
	/* too many */
	KUNIT_EXPECT_EQ(test, 0, places(test, &vec, 1, PLACES * PAGE_SIZE + 1, true, place));
	vunmap(vec.iov_base);
	scattered[1] = page[0] + 1;
	vec.iov_base = vmap(scattered, PLACES + 1, VM_MAP, PAGE_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, vec.iov_base);
	KUNIT_EXPECT_EQ(test, (int)PLACES, places(test, &vec, 1, vec.iov_len, true, place));
	KUNIT_EXPECT_EQ(test, 2 * (u32)PAGE_SIZE, place[0].len);
	vunmap(vec.iov_base);
	for (i = 0; i <= PLACES; i++)
		__free_pages(page[i], 1);
}

static void by_pages(struct kunit *test)
{
	struct page *page = alloc_pages(GFP_KERNEL, 2);
	struct bio_vec bv[2];
	struct nt_place place[PLACES];
	struct iov_iter it;

	KUNIT_ASSERT_NOT_NULL(test, page);
	bvec_set_page(&bv[0], page, 2 * PAGE_SIZE - 100, 100);
	bvec_set_page(&bv[1], page, PAGE_SIZE, 2 * PAGE_SIZE + 1);
	iov_iter_bvec(&it, ITER_DEST, bv, 2, 3 * PAGE_SIZE - 100);
	show(test, true);
	KUNIT_EXPECT_EQ(test, 2, nt_window_places(link_of(test), &it, it.count, place, PLACES));
	KUNIT_EXPECT_EQ(test, NTW_FLAT | (page_to_phys(page) + 100), place[0].at);
	KUNIT_EXPECT_EQ(test, NTW_FLAT | (page_to_phys(page) + 2 * PAGE_SIZE + 1), place[1].at);
	KUNIT_EXPECT_EQ(test, (u32)PAGE_SIZE, place[1].len);
	show(test, false);
	KUNIT_EXPECT_EQ(test, 0, nt_window_places(link_of(test), &it, it.count, place, PLACES));
	__free_pages(page, 2);
}

/* Behind an IOMMU memory that is not mapped has no places, although the peer reaches the window. */
static void registered_alone(struct kunit *test)
{
	u8 *mem = kfi_test_zalloc(test, 4096);
	struct kvec vec = { mem, 4096 };
	struct nt_place place[PLACES];

	link_of(test)->flat.all = false;
	KUNIT_EXPECT_EQ(test, 0, places(test, &vec, 1, 4096, true, place));
	KUNIT_EXPECT_TRUE(test, nt_link_flat_in_use(link_of(test)));
	KUNIT_EXPECT_FALSE(test, nt_link_exposes_all(link_of(test)));
}

static void expect_fits(struct kunit *test, struct page *page, size_t off, size_t len,
			const char *where)
{
	struct nt_piece piece = { .page = page, .off = off, .len = len };
	int at;

	for (at = 0; at < 4; at++)
		KUNIT_EXPECT_EQ_MSG(test, where[at] == 'y',
				    nt_map_fits(&piece, !(at & 1), !(at & 2)),
				    "%zu bytes at %zu, %d", len, off, at);
}

/*
 * Which pages of a region can be mapped in a row: as the only piece, behind another one, in front
 * of one, and between two.
 */
static void in_a_row(struct kunit *test)
{
	struct page *page = alloc_pages(GFP_KERNEL, 1);

	KUNIT_ASSERT_NOT_NULL(test, page);
	expect_fits(test, page, 0, PAGE_SIZE, "yyyy");
	expect_fits(test, page, 0, 2 * PAGE_SIZE, "yyyy");
	expect_fits(test, page, 0, PAGE_SIZE - 1, "yynn");
	expect_fits(test, page, 1, PAGE_SIZE - 1, "ynyn");
	expect_fits(test, page, 1, PAGE_SIZE - 2, "ynnn");
	expect_fits(test, page, 1, PAGE_SIZE, "ynnn");
	expect_fits(test, NULL, 0, PAGE_SIZE, "nnnn");
	__free_pages(page, 1);
}

/*
 * The fence of a place fails if the link is down: its life has ended, or the window reads all ones
 * at the data and at the peer's ready word. Data alone may be all ones.
 */
static void fence(struct kunit *test)
{
	struct nt_link *link = link_of(test);
	u8 *window = alloc_pages_exact(2 * PAGE_SIZE, GFP_KERNEL | __GFP_ZERO);
	u32 *ready = (u32 *)(window + offsetof(struct ntw_ctl, ready));
	struct bio_vec bv;

	KUNIT_ASSERT_NOT_NULL(test, window);
	link->win.peer = (__force void __iomem *)window;
	link->win.peer_base = virt_to_phys(window);
	link->mux.life = 5;
	bvec_set_page(&bv, virt_to_page(window + PAGE_SIZE), 64, 8);
	KUNIT_EXPECT_EQ(test, nt_pages_fence(link, 5, &bv, 1), 0);
	window[PAGE_SIZE + 8 + 63] = 0xff;
	KUNIT_EXPECT_EQ(test, nt_pages_fence(link, 5, &bv, 1), 0);
	*ready = ~0U;
	KUNIT_EXPECT_EQ(test, nt_pages_fence(link, 5, &bv, 1), -EIO);
	window[PAGE_SIZE + 8 + 63] = 0xfe;
	KUNIT_EXPECT_EQ(test, nt_pages_fence(link, 5, &bv, 1), 0);
	KUNIT_EXPECT_EQ(test, nt_pages_fence(link, 4, &bv, 1), -ENOTCONN);
	KUNIT_EXPECT_EQ(test, nt_pages_fence(link, 5, &bv, 0), 0);
	free_pages_exact(window, 2 * PAGE_SIZE);
}

KFI_SUITE_IN(kfi_ntb_places, places_init, places_exit,
	KUNIT_CASE(rings_that_fit),
	KUNIT_CASE(rings_of_later_lives),
	KUNIT_CASE(word_at_the_end),
	KUNIT_CASE(in_the_arena),
	KUNIT_CASE(within_reach),
	KUNIT_CASE(anywhere),
	KUNIT_CASE(behind_its_end),
	KUNIT_CASE(mapped_pages),
	KUNIT_CASE(by_pages),
	KUNIT_CASE(registered_alone),
	KUNIT_CASE(in_a_row),
	KUNIT_CASE(fence));
