// SPDX-License-Identifier: GPL-2.0
/*
 * What kfi_ntb requests of a bridge's windows when it closes them. The bridge is a table of
 * operations that records what was set. ntb_places_test.c compiles win.c into this module.
 */
#include <kunit/test.h>
#include "../../providers/ntb/bridge.h"

struct bridge {
	struct ntb_dev		ntb;
	struct pci_dev		pdev;
	struct device_driver	driver;
	struct nt_window	win;
	bool			stuck;		/* no window can be changed */
	/* refuses a translation of length 0, as Ice Lake does, with this error */
	bool			no_zero;
	int			err;
	unsigned int		sets;
	/* the translation that was set last */
	dma_addr_t		addr;
	resource_size_t		size;
};

static int br_mw_set_trans(struct ntb_dev *ntb, int pidx, int widx, dma_addr_t addr,
			   resource_size_t size)
{
	struct bridge *br = container_of(ntb, struct bridge, ntb);

	if (br->stuck || (br->no_zero && !size))
		return br->err;
	br->sets++;
	br->addr = addr;
	br->size = size;
	return 0;
}

static const struct ntb_dev_ops br_ops = {
	.mw_set_trans	= br_mw_set_trans,
};

static int bridge_init(struct kunit *test)
{
	struct bridge *br = kunit_kzalloc(test, sizeof(*br), GFP_KERNEL);
	struct nt_window *win;

	KUNIT_ASSERT_NOT_NULL(test, br);
	test->priv = br;
	br->ntb.ops = &br_ops;
	br->ntb.pdev = &br->pdev;
	br->pdev.dev.driver = &br->driver;
	br->driver.name = "ntb_hw_other";
	br->err = -EIO;
	win = &br->win;
	win->mem = kunit_kzalloc(test, 8 * NTW_CTL_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, win->mem);
	win->dma = 0x7f400000;
	win->size = 8 * NTW_CTL_SIZE;
	win->queues = 1;
	win->ring = 2 * NTW_CTL_SIZE;
	win->size_align = 1;
	return 0;
}

/* A closed window shows the control page, on every bridge, and never the memory at address 0. */
static void closed_windows(struct kunit *test)
{
	struct bridge *br = test->priv;
	struct nt_window *win = &br->win;
	unsigned int i;

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
	struct nt_window *win = &br->win;

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

/* Memory that a window still shows is never freed. A window that was switched off shows none. */
static void shut_windows(struct kunit *test)
{
	struct bridge *br = test->priv;
	struct nt_window *win = &br->win;

	KUNIT_EXPECT_FALSE(test, nt_win_switch_off(win, &br->ntb));
	KUNIT_EXPECT_EQ(test, 0U, br->sets);
	br->no_zero = true;
	KUNIT_EXPECT_EQ(test, 0, nt_win_open(win, &br->ntb));
	br->stuck = true;
	KUNIT_EXPECT_TRUE(test, nt_win_switch_off(win, &br->ntb));
	br->stuck = false;
	KUNIT_EXPECT_TRUE(test, nt_win_switch_off(win, &br->ntb));
	br->no_zero = false;
	KUNIT_EXPECT_FALSE(test, nt_win_switch_off(win, &br->ntb));
	KUNIT_EXPECT_EQ(test, 0ULL, (u64)br->size);
}

static void arrive(struct nt_window *win, size_t at, u8 how)
{
	*(__le64 *)(win->mem + at) = cpu_to_le64(ntw_word(7, how));
}

/* A window that refuses length 0 is closed for one driver, bridge and error only. */
static void refused_but_closed(struct kunit *test)
{
	struct bridge *br = test->priv;
	struct nt_window *win = &br->win;

	br->no_zero = true;
	KUNIT_EXPECT_EQ(test, 0, nt_win_open(win, &br->ntb));
	win->off = 1;
	KUNIT_EXPECT_TRUE(test, nt_win_switch_off(win, &br->ntb));
	br->driver.name = "ntb_hw_intel";
	KUNIT_EXPECT_TRUE(test, nt_win_switch_off(win, &br->ntb));
	br->pdev.device = 0x347e;
	br->err = -EINVAL;
	KUNIT_EXPECT_TRUE(test, nt_win_switch_off(win, &br->ntb));
	br->err = -EIO;
	win->off = 0;
	KUNIT_EXPECT_TRUE(test, nt_win_switch_off(win, &br->ntb));
	win->off = 1;
	KUNIT_EXPECT_FALSE(test, nt_win_switch_off(win, &br->ntb));
}

/*
 * What the peer's try shows can only make things worse: a window that refuses length 0 is not
 * taken for closed, nor is one that accepts it and is not closed, and one that no call closes.
 */
static void tried_windows(struct kunit *test)
{
	struct bridge *br = test->priv;
	struct nt_window *win = &br->win;

	KUNIT_EXPECT_TRUE(test, nt_win_try(win, &br->ntb, NTW_TRY_CLOSED));
	KUNIT_EXPECT_EQ(test, NTW_CTL_SIZE, br->size);
	arrive(win, offsetof(struct ntw_ctl, shut), NTW_TRY_CLOSED);
	KUNIT_EXPECT_EQ(test, NTW_TRY_OFF, nt_win_tried(win, NTW_TRY_CLOSED, 7));
	KUNIT_EXPECT_FALSE(test, win->unshut || win->proven);
	br->no_zero = true;
	KUNIT_EXPECT_TRUE(test, nt_win_try(win, &br->ntb, NTW_TRY_OFF));
	KUNIT_EXPECT_EQ(test, 0, nt_win_tried(win, NTW_TRY_OFF, 7));
	KUNIT_EXPECT_TRUE(test, win->proven);
	KUNIT_EXPECT_TRUE(test, nt_win_switch_off(win, &br->ntb));

	br->no_zero = false;
	KUNIT_EXPECT_TRUE(test, nt_win_try(win, &br->ntb, NTW_TRY_OFF));
	arrive(win, offsetof(struct ntw_ctl, shut), NTW_TRY_OFF);
	KUNIT_EXPECT_EQ(test, 0, nt_win_tried(win, NTW_TRY_OFF, 7));
	KUNIT_EXPECT_TRUE(test, nt_win_switch_off(win, &br->ntb));

	KUNIT_EXPECT_TRUE(test, nt_win_try(win, &br->ntb, NTW_TRY_CLOSED));
	arrive(win, ntw_shut_at(win->ring), NTW_TRY_CLOSED);
	nt_win_tried(win, NTW_TRY_CLOSED, 7);
	KUNIT_EXPECT_TRUE(test, win->unshut);
	KUNIT_EXPECT_TRUE(test, nt_win_switch_off(win, &br->ntb));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(refused_but_closed),
	KUNIT_CASE(tried_windows),
	KUNIT_CASE(shut_windows),
	KUNIT_CASE(closed_windows),
	KUNIT_CASE(unclosed_windows),
	{}
};

static struct kunit_suite suite = {
	.name = "kfi_ntb_bridge",
	.init = bridge_init,
	.test_cases = cases,
};
kunit_test_suite(suite);
