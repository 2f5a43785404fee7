// SPDX-License-Identifier: GPL-2.0
/* bridge_test.c - the bridge: link, scratchpads, doorbells, windows */
#include <linux/sizes.h>
#include "test.h"

static void mk_scratchpads(struct kunit *test)
{
	struct ntb_dev *a = mk_side[0].ntb, *b = mk_side[1].ntb;
	int i;

	KUNIT_ASSERT_EQ(test, ntb_spad_count(a), 16);
	for (i = 0; i < 16; i++) {
		ntb_peer_spad_write(a, 0, i, 0xa0 + i);
		ntb_peer_spad_write(b, 0, i, 0xb0 + i);
	}
	for (i = 0; i < 16; i++) {
		KUNIT_EXPECT_EQ(test, ntb_spad_read(b, i), 0xa0 + i);
		KUNIT_EXPECT_EQ(test, ntb_spad_read(a, i), 0xb0 + i);
		KUNIT_EXPECT_EQ(test, ntb_peer_spad_read(a, 0, i), 0xa0 + i);
	}
	KUNIT_EXPECT_EQ(test, ntb_peer_spad_write(a, 0, 16, 1), -EINVAL);
}

static void mk_ports(struct kunit *test)
{
	struct ntb_dev *a = mk_side[0].ntb, *b = mk_side[1].ntb;

	KUNIT_EXPECT_EQ(test, ntb_port_number(a), 0);
	KUNIT_EXPECT_EQ(test, ntb_port_number(b), 1);
	KUNIT_EXPECT_EQ(test, ntb_peer_port_count(a), 1);
	KUNIT_EXPECT_EQ(test, ntb_peer_port_number(a, 0), 1);
	KUNIT_EXPECT_EQ(test, ntb_peer_port_number(b, 0), 0);
	KUNIT_EXPECT_EQ(test, ntb_peer_port_idx(b, 0), 0);
	KUNIT_EXPECT_EQ(test, ntb_peer_port_idx(b, 1), -EINVAL);
}

/* A doorbell has an event only if it was not pending and is not masked. */
static void mk_doorbells(struct kunit *test)
{
	struct mk_side *a = &mk_side[0], *b = &mk_side[1];

	ntb_peer_db_set(a->ntb, BIT_ULL(3));
	KUNIT_EXPECT_TRUE(test, SOON(atomic_read(&b->bells) == 1));
	KUNIT_EXPECT_EQ(test, ntb_db_read(b->ntb), BIT_ULL(3));
	KUNIT_EXPECT_EQ(test, b->vectors, BIT(3));
	ntb_peer_db_set(a->ntb, BIT_ULL(3));
	ntb_peer_db_set(a->ntb, BIT_ULL(7));
	KUNIT_EXPECT_TRUE(test, SOON(atomic_read(&b->bells) == 2));
	KUNIT_EXPECT_EQ(test, b->vectors, BIT(3) | BIT(7));
	ntb_db_clear(b->ntb, BIT_ULL(3));
	ntb_peer_db_set(a->ntb, BIT_ULL(3));
	KUNIT_EXPECT_TRUE(test, SOON(atomic_read(&b->bells) == 3));
	KUNIT_EXPECT_EQ(test, atomic_read(&a->bells), 0);
	KUNIT_EXPECT_EQ(test, ntb_peer_db_set(a->ntb, BIT_ULL(31)), -EINVAL);
}

static void mk_masks(struct kunit *test)
{
	struct mk_side *a = &mk_side[0], *b = &mk_side[1];

	ntb_db_set_mask(b->ntb, BIT_ULL(5));
	ntb_peer_db_set(a->ntb, BIT_ULL(5) | BIT_ULL(6));
	KUNIT_EXPECT_TRUE(test, SOON(atomic_read(&b->bells) == 1));
	msleep(20);
	KUNIT_EXPECT_EQ(test, b->vectors, BIT(6));
	KUNIT_EXPECT_EQ(test, ntb_db_read(b->ntb), BIT_ULL(5) | BIT_ULL(6));
	ntb_db_clear_mask(b->ntb, BIT_ULL(5));
	KUNIT_EXPECT_TRUE(test, SOON(atomic_read(&b->bells) == 2));
	KUNIT_EXPECT_EQ(test, b->vectors, BIT(5) | BIT(6));
	ntb_db_clear_mask(b->ntb, BIT_ULL(5));
	msleep(20);
	KUNIT_EXPECT_EQ(test, atomic_read(&b->bells), 2);
}

/*
 * Each bell is answered in its event. A client may take the lock of an end in its events as well.
 */
static void mk_echo(struct mk_side *side)
{
	ntb_db_clear(side->ntb, BIT_ULL(0));
	if (atomic_read(&side->bells) < 500)
		ntb_peer_db_set(side->ntb, BIT_ULL(0));
}

static void mk_doorbell_ping_pong(struct kunit *test)
{
	mk_side[0].on_bell = mk_side[1].on_bell = mk_echo;
	ntb_peer_db_set(mk_side[0].ntb, BIT_ULL(0));
	KUNIT_EXPECT_TRUE(test, SOON(atomic_read(&mk_side[0].bells) >= 500));
}

static void mk_doorbell_by_address(struct kunit *test)
{
	struct mk_side *a = &mk_side[0], *b = &mk_side[1];
	resource_size_t size;
	void __iomem *io;
	phys_addr_t addr;
	u64 data;

	KUNIT_ASSERT_EQ(test, ntb_peer_db_addr(a->ntb, &addr, &size, &data, 9), 0);
	KUNIT_EXPECT_EQ(test, size, 4);
	io = ioremap(addr, size);
	KUNIT_ASSERT_NOT_NULL(test, io);
	writel(data, io);
	KUNIT_EXPECT_TRUE(test, SOON(b->vectors == BIT(9)));
	iounmap(io);
	KUNIT_EXPECT_EQ(test, ntb_peer_db_addr(a->ntb, &addr, &size, &data, 31), -EINVAL);
}

static void mk_stores(struct kunit *test)
{
	struct mk_side *a = &mk_side[0], *b = &mk_side[1];
	u8 *mem = b->mem, bytes[100];
	int i;

	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = i * 7;
	writeb(0x11, a->window);
	writew(0x2222, a->window + 2);
	writel(0x44444444, a->window + 4);
	writeq(0x8888888888888888ULL, a->window + 8);
	memcpy_toio(a->window + SZ_4K - 50, bytes, sizeof(bytes));
	KUNIT_EXPECT_EQ(test, mem[0], 0x11);
	KUNIT_EXPECT_EQ(test, *(u16 *)(mem + 2), 0x2222);
	KUNIT_EXPECT_EQ(test, *(u32 *)(mem + 4), 0x44444444);
	KUNIT_EXPECT_EQ(test, *(u64 *)(mem + 8), 0x8888888888888888ULL);
	KUNIT_EXPECT_MEMEQ(test, mem + SZ_4K - 50, bytes, sizeof(bytes));
	KUNIT_EXPECT_EQ(test, readl(a->window + 4), 0x44444444);
	memset_io(a->window, 0x5a, 16);
	KUNIT_EXPECT_EQ(test, *(u64 *)(mem + 8), 0x5a5a5a5a5a5a5a5aULL);
}

/* A lost write is counted at the writer, and has no other effect. */
static void mk_lost(struct kunit *test, const char *why, u64 offset)
{
	u64 before = mk_count(0, why);

	writel(0xbad, mk_side[0].window + offset);
	KUNIT_EXPECT_EQ_MSG(test, mk_count(0, why), before + 1, "%s", why);
	KUNIT_EXPECT_EQ(test, readl(mk_side[0].window + offset), ~0);
}

static void mk_limits(struct kunit *test)
{
	struct mk_side *b = &mk_side[1];
	u8 *mem = b->mem;

	memset(mem, 0, b->mem_size);
	mk_lost(test, "lost_beyond", MK_MEM);
	mk_lost(test, "lost_beyond", b->size - 4);
	KUNIT_EXPECT_EQ(test, *(u32 *)(mem + MK_MEM), 0);
	ntb_mw_clear_trans(b->ntb, 0, 0);
	mk_lost(test, "lost_closed", 0);
	KUNIT_EXPECT_EQ(test, *(u32 *)mem, 0);
	KUNIT_EXPECT_EQ(test, ntb_mw_set_trans(b->ntb, 0, 0, b->dma + SZ_4K, SZ_4K), -EINVAL);
	KUNIT_EXPECT_EQ(test, ntb_mw_set_trans(b->ntb, 0, 0, b->dma, b->size + 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, ntb_mw_set_trans(b->ntb, 0, 2, b->dma, SZ_4K), -EINVAL);
}

/*
 * The last window may be larger than the others, so that all memory fits; each of its bytes is at
 * the right address.
 */
static void mk_last(struct kunit *test)
{
	struct mk_side *a = &mk_side[0], *b = &mk_side[1];
	int last = ntb_mw_count(b->ntb, 0) - 1;
	resource_size_t align, size_align, max, size;
	u32 *mem = kunit_kzalloc(test, 64, GFP_KERNEL);
	phys_addr_t base, at = virt_to_phys(mem);
	u32 __iomem *word;

	KUNIT_ASSERT_NOT_NULL(test, mem);
	KUNIT_ASSERT_EQ(test, ntb_peer_mw_get_addr(a->ntb, last, &base, &size), 0);
	KUNIT_ASSERT_EQ(test, ntb_mw_get_align(b->ntb, 0, last, &align, &size_align, &max), 0);
	KUNIT_EXPECT_EQ(test, size, max);
	KUNIT_EXPECT_EQ(test, size, align);
	KUNIT_EXPECT_GE(test, size, a->size);
	KUNIT_EXPECT_EQ(test, base % size, 0);
	KUNIT_ASSERT_EQ(test, ntb_mw_set_trans(b->ntb, 0, last, round_down(at, size), size), 0);
	word = ioremap(base + at % size, 64);
	KUNIT_ASSERT_NOT_NULL(test, word);
	writel(77, word);
	KUNIT_EXPECT_EQ(test, mem[0], 77);
	writel(78, word + 15);
	KUNIT_EXPECT_EQ(test, mem[15], 78);
	KUNIT_EXPECT_EQ(test, ntb_mw_clear_trans(b->ntb, 0, last), 0);
	writel(79, word);
	KUNIT_EXPECT_EQ(test, mem[0], 77);
	iounmap(word);
}

static void mk_dead(struct kunit *test)
{
	struct mk_side *a = &mk_side[0], *b = &mk_side[1];
	u64 lost = mk_count(0, "lost_dead");

	memset(b->mem, 0, MK_MEM);
	ntb_spad_write(b->ntb, 0, 1);
	mk_command(test, "link 0 down");
	KUNIT_EXPECT_TRUE(test, SOON(atomic_read(&a->links) && atomic_read(&b->links)));
	KUNIT_EXPECT_FALSE(test, ntb_link_is_up(a->ntb, NULL, NULL));
	KUNIT_EXPECT_EQ(test, ntb_mw_get_align(a->ntb, 0, 0, NULL, NULL, NULL), -ENOTCONN);
	mk_lost(test, "lost_dead", 0);
	ntb_peer_db_set(a->ntb, 1);
	ntb_peer_spad_write(a->ntb, 0, 0, 2);
	msleep(20);
	KUNIT_EXPECT_EQ(test, *(u32 *)b->mem, 0);
	KUNIT_EXPECT_EQ(test, ntb_db_read(b->ntb), 0);
	KUNIT_EXPECT_EQ(test, ntb_spad_read(b->ntb, 0), 1);
	KUNIT_EXPECT_EQ(test, ntb_peer_spad_read(a->ntb, 0, 0), ~0);
	KUNIT_EXPECT_EQ(test, mk_count(0, "lost_dead"), lost + 3);
	mk_command(test, "link 0 up");
	KUNIT_EXPECT_TRUE(test, SOON(ntb_link_is_up(a->ntb, NULL, NULL)));
	writel(7, a->window);
	KUNIT_EXPECT_EQ(test, *(u32 *)b->mem, 7);
}

static void mk_training(struct kunit *test)
{
	struct mk_side *a = &mk_side[0];
	ktime_t start;

	mk_command(test, "link 0 delay 200");
	ntb_link_disable(mk_side[1].ntb);
	KUNIT_EXPECT_TRUE(test, SOON(!ntb_link_is_up(a->ntb, NULL, NULL)));
	start = ktime_get();
	ntb_link_enable(mk_side[1].ntb, NTB_SPEED_AUTO, NTB_WIDTH_AUTO);
	KUNIT_EXPECT_TRUE(test, SOON(ntb_link_is_up(a->ntb, NULL, NULL)));
	KUNIT_EXPECT_GE(test, ktime_ms_delta(ktime_get(), start), 200);
	KUNIT_EXPECT_EQ(test, atomic_read(&a->links), 2);
}

/* A doorbell may come while the driver still considers the link down. */
static void mk_early_doorbell(struct kunit *test)
{
	struct mk_side *a = &mk_side[0], *b = &mk_side[1];

	mk_command(test, "link 0 down");
	KUNIT_EXPECT_TRUE(test, SOON(!ntb_link_is_up(a->ntb, NULL, NULL) &&
				     !ntb_link_is_up(b->ntb, NULL, NULL)));
	mk_command(test, "link 0 lag 1000000");
	mk_command(test, "link 0 up");
	ntb_peer_db_set(a->ntb, BIT_ULL(1));
	KUNIT_EXPECT_TRUE(test, SOON(atomic_read(&b->bells) == 1));
	KUNIT_EXPECT_FALSE(test, b->up_at_bell);
	KUNIT_EXPECT_TRUE(test, SOON(ntb_link_is_up(b->ntb, NULL, NULL)));
}

static void mk_stuck(struct kunit *test)
{
	struct mk_side *a = &mk_side[0];

	mk_command(test, "link 0 stuck on");
	mk_command(test, "link 0 down");
	msleep(20);
	KUNIT_EXPECT_TRUE(test, ntb_link_is_up(a->ntb, NULL, NULL));
	KUNIT_EXPECT_EQ(test, atomic_read(&a->links), 0);
	mk_lost(test, "lost_dead", 0);
	mk_command(test, "link 0 stuck off");
	KUNIT_EXPECT_TRUE(test, SOON(!ntb_link_is_up(a->ntb, NULL, NULL)));
}

static void mk_lost_interrupts(struct kunit *test)
{
	struct mk_side *a = &mk_side[0], *b = &mk_side[1];

	mk_command(test, "end 0.1 lose 1");
	ntb_peer_db_set(a->ntb, BIT_ULL(1));
	KUNIT_EXPECT_TRUE(test, SOON(mk_count(1, "lost_irqs")));
	KUNIT_EXPECT_EQ(test, ntb_db_read(b->ntb), BIT_ULL(1));
	ntb_peer_db_set(a->ntb, BIT_ULL(2));
	KUNIT_EXPECT_TRUE(test, SOON(b->vectors == BIT(2)));
}

/* Posted writes arrive later, in order; a read flushes them. */
static void mk_posted(struct kunit *test)
{
	struct mk_side *a = &mk_side[0], *b = &mk_side[1];
	u32 *mem = b->mem;

	mem[0] = 0;
	mk_command(test, "link 0 posted 300000");
	writel(1, a->window);
	ntb_peer_db_set(a->ntb, BIT_ULL(1));
	KUNIT_EXPECT_EQ(test, READ_ONCE(mem[0]), 0);
	KUNIT_EXPECT_TRUE(test, SOON(atomic_read(&b->bells) == 1));
	KUNIT_EXPECT_EQ(test, READ_ONCE(mem[0]), 1);
	mk_command(test, "link 0 posted 10000000");
	writel(2, a->window);
	KUNIT_EXPECT_EQ(test, READ_ONCE(mem[0]), 1);
	KUNIT_EXPECT_EQ(test, readl(a->window), 2);
	writel(3, a->window);
	mk_command(test, "link 0 down");
	mk_command(test, "link 0 up");
	mk_command(test, "link 0 posted 0");
	KUNIT_EXPECT_TRUE(test, SOON(ntb_link_is_up(a->ntb, NULL, NULL)));
	KUNIT_EXPECT_EQ(test, readl(a->window), 2);
}

/* Afterwards the device is new, as after a restart of its machine. */
static void mk_killed(struct kunit *test)
{
	struct mk_side *a = &mk_side[0], *b = &mk_side[1];

	ntb_peer_spad_write(a->ntb, 0, 0, 5);
	mk_command(test, "end 0.1 kill");
	KUNIT_EXPECT_NULL(test, READ_ONCE(b->ntb));
	KUNIT_EXPECT_TRUE(test, SOON(!ntb_link_is_up(a->ntb, NULL, NULL)));
	mk_lost(test, "lost_dead", 0);
	KUNIT_EXPECT_EQ(test, kfi_ntb_mock_command("end 0.1 kill"), -ENODEV);
	mk_command(test, "end 0.1 revive");
	KUNIT_ASSERT_NOT_NULL(test, READ_ONCE(b->ntb));
	KUNIT_EXPECT_EQ(test, kfi_ntb_mock_command("end 0.1 revive"), -EEXIST);
	KUNIT_EXPECT_EQ(test, ntb_spad_read(b->ntb, 0), 0);
	mk_up(test);
	mk_lost(test, "lost_closed", 0);
	mk_open(test, b);
	writel(9, a->window);
	KUNIT_EXPECT_EQ(test, *(u32 *)b->mem, 9);
}

static void mk_nonsense(struct kunit *test)
{
	static const char * const lines[] = {
		"", "link", "link 0", "link 9 down", "link 0 down 1", "link x up", "link 0 flap 1 2", "end 0 kill", "end 0.2 kill",
		"end 0.0.0 kill", "end 9.0 lose 1", "dma 99 slow 1", "dma 0 slow", "dma 0 slow x", "dma -1 slow 1", "link 0 stuck maybe",
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(lines); i++)
		KUNIT_EXPECT_LT_MSG(test, kfi_ntb_mock_command(lines[i]), 0, "'%s'", lines[i]);
	KUNIT_EXPECT_EQ(test, mk_count(0, "nosuch"), ~0ULL);
}

static struct kunit_case mk_cases[] = {
	KUNIT_CASE(mk_ports),
	KUNIT_CASE(mk_scratchpads),
	KUNIT_CASE(mk_doorbells),
	KUNIT_CASE(mk_masks),
	KUNIT_CASE(mk_doorbell_ping_pong),
	KUNIT_CASE(mk_doorbell_by_address),
	KUNIT_CASE(mk_stores),
	KUNIT_CASE(mk_limits),
	KUNIT_CASE(mk_last),
	KUNIT_CASE(mk_dead),
	KUNIT_CASE(mk_training),
	KUNIT_CASE(mk_early_doorbell),
	KUNIT_CASE(mk_stuck),
	KUNIT_CASE(mk_lost_interrupts),
	KUNIT_CASE(mk_posted),
	KUNIT_CASE(mk_killed),
	KUNIT_CASE(mk_nonsense),
	{}
};

struct kunit_suite mk_bridge_suite = {
	.name = "kfi_ntb_mock_bridge", .test_cases = mk_cases,
	.suite_init = mk_suite_init, .suite_exit = mk_suite_exit, .init = mk_init, .exit = mk_exit,
};
