// SPDX-License-Identifier: GPL-2.0
/*
 * What kfi_ntb requests of a bridge's windows: where they may lead, and how they are closed. The
 * bridge is a table of operations that records what was set. kfi_ntb exports nothing, so its source
 * is compiled into this module.
 */
#include <kunit/test.h>
#include <linux/sizes.h>
#include "../../providers/ntb/msi.c"

#define WINDOWS		3

struct bridge {
	struct ntb_dev		ntb;
	struct nt_link		link;
	resource_size_t		addr_align, size_align, size_max;
	bool			stuck;		/* no window can be changed */
	/* refuses a translation of length 0, as Ice Lake does */
	bool			no_zero;
	/* the translation that was set last, and that of each window */
	unsigned int		sets;
	dma_addr_t		addr;
	resource_size_t		size;
	dma_addr_t		addr_of[WINDOWS];
	resource_size_t		size_of[WINDOWS];
};

static struct bridge *bridge_of(struct ntb_dev *ntb)
{
	return container_of(ntb, struct bridge, ntb);
}

static u64 br_link_is_up(struct ntb_dev *ntb, enum ntb_speed *speed, enum ntb_width *width)
{
	return 1;
}

static int br_mw_get_align(struct ntb_dev *ntb, int pidx, int widx, resource_size_t *addr_align,
			   resource_size_t *size_align, resource_size_t *size_max)
{
	struct bridge *br = bridge_of(ntb);

	*addr_align = br->addr_align;
	*size_align = br->size_align;
	*size_max = br->size_max;
	return 0;
}

static int br_mw_set_trans(struct ntb_dev *ntb, int pidx, int widx, dma_addr_t addr,
			   resource_size_t size)
{
	struct bridge *br = bridge_of(ntb);

	if (br->stuck || (br->no_zero && !size))
		return -EIO;
	br->sets++;
	br->addr = addr;
	br->size = size;
	br->addr_of[widx] = addr;
	br->size_of[widx] = size;
	return 0;
}

static const struct ntb_dev_ops br_ops = {
	.link_is_up	= br_link_is_up,
	.mw_get_align	= br_mw_get_align,
	.mw_set_trans	= br_mw_set_trans,
};

static int bridge_init(struct kunit *test)
{
	struct bridge *br = kunit_kzalloc(test, sizeof(*br), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, br);
	test->priv = br;
	br->ntb.ops = &br_ops;
	br->link.ntb = &br->ntb;
	return 0;
}

/* ---- interrupt messages ---- */

static int open_msi(struct kunit *test, u64 addr, resource_size_t addr_align,
		    resource_size_t size_align)
{
	struct bridge *br = test->priv;
	struct nt_msi msi = { .window = 1 };
	int ret;

	br->addr_align = addr_align;
	br->size_align = size_align;
	br->size_max = max_t(resource_size_t, addr_align, SZ_4M);
	br->sets = 0;
	ret = nt_msi_open_window(&br->link, &msi, addr);
	KUNIT_EXPECT_EQ(test, ret ? 0U : 1U, br->sets);
	if (ret)
		return ret;
	KUNIT_EXPECT_GE(test, br->addr, 0xfee00000ULL);
	KUNIT_EXPECT_LE(test, br->addr + br->size, 0xfef00000ULL);
	KUNIT_EXPECT_EQ(test, addr, br->addr + msi.at);
	return ret;
}

/*
 * Whatever alignment the bridge requires, the window shows addresses of interrupt messages and
 * nothing else.
 */
static void msi_alone(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0, open_msi(test, 0xfee0100c, 1, 1));
	KUNIT_EXPECT_EQ(test, 0, open_msi(test, 0xfee0100c, SZ_64K, SZ_4K));
	KUNIT_EXPECT_EQ(test, 0, open_msi(test, 0xfeeff00c, SZ_1M, 1));
	KUNIT_EXPECT_EQ(test, 0, open_msi(test, 0xfeeff00c, SZ_4K, SZ_4K));
	/* would show what is above these addresses */
	KUNIT_EXPECT_NE(test, 0, open_msi(test, 0xfeeff00c, SZ_4K, SZ_64K));
	KUNIT_EXPECT_EQ(test, 0, open_msi(test, 0xfee0100c, SZ_2M, 1));
	KUNIT_EXPECT_NE(test, 0, open_msi(test, 0xfee0100c, SZ_2M, SZ_2M));
	/* would show what is below them: the I/O APIC */
	KUNIT_EXPECT_NE(test, 0, open_msi(test, 0xfee0100c, SZ_4M, 1));
	KUNIT_EXPECT_NE(test, 0, open_msi(test, 0xfee0100c, SZ_4G, 1));		/* RAM */
	KUNIT_EXPECT_NE(test, 0, open_msi(test, 0xfee0100c, 64ULL * SZ_1G, 1));
	KUNIT_EXPECT_NE(test, 0, open_msi(test, 0xfec0100c, SZ_4K, 1));
	KUNIT_EXPECT_NE(test, 0, open_msi(test, 0x1fee0100cULL, SZ_4K, 1));
}

/*
 * Only the administrator can permit peers that could raise any interrupt of the machine; that
 * taints the kernel.
 */
static void msi_not_remapped(struct kunit *test)
{
	struct bridge *br = test->priv;
	bool tainted = test_taint(TAINT_USER);

	KUNIT_EXPECT_EQ(test, 0, nt_msi_allow(&br->ntb, false, true));
	KUNIT_EXPECT_EQ(test, 0, nt_msi_allow(&br->ntb, true, true));
	KUNIT_EXPECT_EQ(test, -EPERM, nt_msi_allow(&br->ntb, false, false));
	KUNIT_EXPECT_EQ(test, tainted, !!test_taint(TAINT_USER));
	KUNIT_EXPECT_EQ(test, 0, nt_msi_allow(&br->ntb, true, false));
	KUNIT_EXPECT_TRUE(test, test_taint(TAINT_USER));
}

/* ---- closing ---- */

/* A closed window shows the control page, on every bridge, and never the memory at address 0. */
static void closed_windows(struct kunit *test)
{
	struct bridge *br = test->priv;
	struct nt_window *win = &br->link.win;
	unsigned int i;

	win->mem = kunit_kzalloc(test, 8 * NTW_CTL_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, win->mem);
	win->dma = 0x7f400000;
	win->size = 8 * NTW_CTL_SIZE;
	win->ring = 4 * NTW_CTL_SIZE;
	win->size_align = 1;
	for (i = 0; i < 2; i++) {
		br->no_zero = i;
		KUNIT_EXPECT_EQ(test, 0, nt_win_open(win, &br->ntb));
		KUNIT_EXPECT_EQ(test, win->size, br->size);
		KUNIT_EXPECT_EQ(test, 0, nt_win_close(win, &br->ntb));
		KUNIT_EXPECT_FALSE(test, win->open);
		KUNIT_EXPECT_EQ(test, win->dma, br->addr);
		KUNIT_EXPECT_EQ(test, NTW_CTL_SIZE, br->size);
	}
}

/*
 * The bridge can't limit a window to the control page, so the window would still show exposed
 * memory. Then closing fails, unless the window can be switched off.
 */
static void unclosed_windows(struct kunit *test)
{
	struct bridge *br = test->priv;
	struct nt_window *win = &br->link.win;

	win->mem = kunit_kzalloc(test, 8 * NTW_CTL_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, win->mem);
	win->dma = 0x7f400000;
	win->size = 8 * NTW_CTL_SIZE;
	win->ring = 4 * NTW_CTL_SIZE;
	win->size_align = 8 * NTW_CTL_SIZE;
	br->no_zero = true;
	KUNIT_EXPECT_EQ(test, 0, nt_win_open(win, &br->ntb));
	KUNIT_EXPECT_NE(test, 0, nt_win_close(win, &br->ntb));
	KUNIT_EXPECT_TRUE(test, win->open);
	br->no_zero = false;
	KUNIT_EXPECT_EQ(test, 0, nt_win_close(win, &br->ntb));
	KUNIT_EXPECT_FALSE(test, win->open);
	KUNIT_EXPECT_EQ(test, 0ULL, (u64)br->size);
}

static void window_of(struct kunit *test, struct nt_window *win)
{
	win->mem = kunit_kzalloc(test, 8 * NTW_CTL_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, win->mem);
	win->dma = 0x7f400000;
	win->size = 8 * NTW_CTL_SIZE;
	win->base_len = win->size;
	win->ring = 4 * NTW_CTL_SIZE;
	win->size_align = 1;
}

static void offered_msi(struct kunit *test, resource_size_t addr_align, resource_size_t size_align)
{
	struct bridge *br = test->priv;

	br->link.msi.window = 1;
	br->addr_align = addr_align;
	br->size_align = size_align;
	br->size_max = SZ_4M;
	KUNIT_ASSERT_EQ(test, 0, nt_msi_open_window(&br->link, &br->link.msi, 0xfee0100c));
}

/*
 * A closed window of interrupt messages shows nothing. If it can't be switched off it shows the
 * control page, with the shortest length that the bridge permits, and that memory is known when
 * memory is freed.
 */
static void withdrawn_msi(struct kunit *test)
{
	struct bridge *br = test->priv;
	struct nt_window *win = &br->link.win;

	window_of(test, win);
	offered_msi(test, SZ_4K, SZ_4K);
	KUNIT_EXPECT_EQ(test, 0, nt_msi_close_window(&br->link));
	KUNIT_EXPECT_EQ(test, 0ULL, (u64)br->size_of[1]);
	KUNIT_EXPECT_EQ(test, 0UL, nt_msi_shut(&br->link));

	br->no_zero = true;
	offered_msi(test, SZ_4K, SZ_8K);
	KUNIT_EXPECT_EQ(test, 0, nt_msi_close_window(&br->link));
	KUNIT_EXPECT_EQ(test, win->dma, br->addr_of[1]);
	KUNIT_EXPECT_EQ(test, (u64)SZ_8K, (u64)br->size_of[1]);
	KUNIT_EXPECT_EQ(test, (size_t)SZ_8K, nt_msi_shut(&br->link));
	br->no_zero = false;
	KUNIT_EXPECT_EQ(test, 0UL, nt_msi_shut(&br->link));
	KUNIT_EXPECT_EQ(test, 0ULL, (u64)br->size_of[1]);

	/* Lengths or addresses that the bridge does not support: exposed memory would be shown. */
	br->no_zero = true;
	offered_msi(test, SZ_4K, SZ_64K);
	KUNIT_EXPECT_GT(test, 0, nt_msi_close_window(&br->link));
	KUNIT_EXPECT_EQ(test, 0xfee01000ULL, (u64)br->addr_of[1]);
	win->dma += SZ_4K;
	offered_msi(test, SZ_8K, SZ_4K);
	KUNIT_EXPECT_GT(test, 0, nt_msi_close_window(&br->link));
	KUNIT_EXPECT_EQ(test, 0UL, nt_msi_shut(&br->link));
}

/* Memory that a window still shows is never freed. A window that was switched off shows none. */
static void shut_windows(struct kunit *test)
{
	struct bridge *br = test->priv;
	struct nt_window *win = &br->link.win;

	window_of(test, win);
	KUNIT_EXPECT_EQ(test, 0UL, nt_win_shut(win, &br->ntb));
	KUNIT_EXPECT_EQ(test, 0U, br->sets);
	br->no_zero = true;
	KUNIT_EXPECT_EQ(test, 0, nt_win_open(win, &br->ntb));
	br->stuck = true;
	KUNIT_EXPECT_EQ(test, win->base_len, nt_win_shut(win, &br->ntb));
	br->stuck = false;
	KUNIT_EXPECT_EQ(test, (size_t)NTW_CTL_SIZE, nt_win_shut(win, &br->ntb));
	br->no_zero = false;
	KUNIT_EXPECT_EQ(test, 0UL, nt_win_shut(win, &br->ntb));
	KUNIT_EXPECT_EQ(test, 0ULL, (u64)br->size);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(withdrawn_msi),
	KUNIT_CASE(shut_windows),
	KUNIT_CASE(closed_windows),
	KUNIT_CASE(unclosed_windows),
	KUNIT_CASE(msi_alone),
	KUNIT_CASE(msi_not_remapped),
	{}
};

static struct kunit_suite suite = {
	.name = "kfi_ntb_bridge",
	.init = bridge_init,
	.test_cases = cases,
};
kunit_test_suite(suite);
