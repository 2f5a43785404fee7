// SPDX-License-Identifier: GPL-2.0
/*
 * rules_test.c - rules of README.md that a client does not see broken: a bridge or an engine that
 * permits more than hardware does would let a faulty client pass. This module is a client of the
 * first bridge; what clients depend on, kfi_ntb and the suites of its links show.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/dmaengine.h>
#include <linux/io.h>
#include <linux/module.h>
#include <linux/ntb.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include "command.h"

#define MK_MEM		SZ_64K	/* bytes of the window that are translated */
#define MK_COPIES	8

struct mk_side {
	/* NULL while the device is gone; WRITE_ONCE by probe and remove */
	struct ntb_dev		*ntb;
	phys_addr_t		addr;		/* of the window to the peer */
	resource_size_t		size;		/* of the window */
	void __iomem		*window;
	void			*mem;		/* what the peer's window shows */
	dma_addr_t		dma;
	size_t			mem_size;
	atomic_t		links, bells;	/* events */
	unsigned long		vectors;	/* doorbells that rang; set_bit() */
	bool			up_at_bell;	/* ntb_link_is_up() in the last doorbell event */
};

static struct mk_side mk_side[2];

/* Does the condition become true within some seconds? */
#define SOON(condition)							\
({									\
	bool __so = false;						\
	int __try;							\
									\
	for (__try = 0; __try < 10000 && !(__so = (condition)); __try++)	\
		usleep_range(500, 1000);				\
	__so;								\
})

static u64 mk_count(int port, const char *name)
{
	return kfi_ntb_mock_count(0, port, name);
}

static void mk_link_event(void *ctx)
{
	struct mk_side *side = ctx;

	atomic_inc(&side->links);
}

static void mk_db_event(void *ctx, int vector)
{
	struct mk_side *side = ctx;

	side->up_at_bell = ntb_link_is_up(side->ntb, NULL, NULL);
	set_bit(vector, &side->vectors);
	atomic_inc(&side->bells);
}

static const struct ntb_ctx_ops mk_ctx_ops = {
	.link_event = mk_link_event, .db_event = mk_db_event,
};

static void mk_close(struct mk_side *side)
{
	ntb_mw_clear_trans(side->ntb, 0, 0);
	if (side->window)
		iounmap(side->window);
	if (side->mem)
		dma_free_coherent(ntb_get_dma_dev(side->ntb), side->mem_size, side->mem, side->dma);
	side->window = NULL;
	side->mem = NULL;
}

static int mk_probe(struct ntb_client *client, struct ntb_dev *ntb)
{
	struct mk_side *side = &mk_side[ntb_port_number(ntb)];

	if (strncmp(dev_name(&ntb->dev), "mock0.", 6))
		return -ENODEV;
	WRITE_ONCE(side->ntb, ntb);
	return ntb_set_ctx(ntb, side, &mk_ctx_ops);
}

static void mk_remove(struct ntb_client *client, struct ntb_dev *ntb)
{
	struct mk_side *side = ntb->ctx;

	mk_close(side);
	ntb_link_disable(ntb);
	ntb_clear_ctx(ntb);
	WRITE_ONCE(side->ntb, NULL);
}

static struct ntb_client mk_client = { .ops = { .probe = mk_probe, .remove = mk_remove } };

static void mk_command(struct kunit *test, const char *line)
{
	KUNIT_EXPECT_EQ_MSG(test, kfi_ntb_mock_command(line), 0, "%s", line);
}

/* Allocate memory of the window's size, which is the alignment; only a part of it is shown. */
static void mk_open(struct kunit *test, struct mk_side *side)
{
	resource_size_t align, size_align, size_max;

	KUNIT_ASSERT_EQ(test, ntb_peer_mw_get_addr(side->ntb, 0, &side->addr, &side->size), 0);
	KUNIT_ASSERT_EQ(test, ntb_mw_get_align(side->ntb, 0, 0, &align, &size_align, &size_max), 0);
	KUNIT_ASSERT_EQ(test, size_max, side->size);
	side->mem_size = align;
	side->mem = dma_alloc_coherent(ntb_get_dma_dev(side->ntb), side->mem_size, &side->dma,
				       GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, side->mem);
	side->window = ioremap_wc(side->addr, side->size);
	KUNIT_ASSERT_NOT_NULL(test, side->window);
	KUNIT_ASSERT_EQ(test, ntb_mw_set_trans(side->ntb, 0, 0, side->dma, MK_MEM), 0);
}

/* ---- the bridge ---- */

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

	mk_lost(test, "lost_beyond", MK_MEM);
	mk_lost(test, "lost_beyond", b->size - 4);
	KUNIT_EXPECT_EQ(test, *(u32 *)(mem + MK_MEM), 0);
	ntb_mw_clear_trans(b->ntb, 0, 0);
	mk_lost(test, "lost_closed", 0);
	KUNIT_EXPECT_EQ(test, *(u32 *)mem, 0);
	KUNIT_EXPECT_EQ(test, ntb_mw_set_trans(b->ntb, 0, 0, b->dma + SZ_4K, SZ_4K), -EINVAL);
}

static void mk_dead(struct kunit *test)
{
	struct mk_side *a = &mk_side[0], *b = &mk_side[1];
	u64 lost = mk_count(0, "lost_dead");

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

/* Posted writes arrive later, in order; a read flushes them. */
static void mk_posted(struct kunit *test)
{
	struct mk_side *a = &mk_side[0], *b = &mk_side[1];
	u32 *mem = b->mem;

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

/* ---- the engine ---- */

/* The first channel, number 0 of commands */
static struct dma_chan *mk_chan;
static u8 *mk_src;			/* MK_MEM bytes with a pattern */
static dma_addr_t mk_src_dma, mk_window_dma;

/* The result of a copy */
struct mk_copy {
	enum dmaengine_tx_result	result;
	u32				residue;
	/* position in the order of the callbacks, from 1; 0: no callback */
	int				place;
};

static atomic_t mk_calls;

static void mk_called(void *ctx, const struct dmaengine_result *result)
{
	struct mk_copy *copy = ctx;

	copy->result = result->result;
	copy->residue = result->residue;
	/* Publishes the members above: mk_was_called(). */
	smp_store_release(&copy->place, atomic_inc_return(&mk_calls));
}

static struct dma_async_tx_descriptor *mk_prep(dma_addr_t dst, size_t offset, size_t len,
					       unsigned long flags)
{
	return dmaengine_prep_dma_memcpy(mk_chan, dst, mk_src_dma + offset, len,
					 flags | DMA_CTRL_ACK);
}

/* Submit, do not issue. */
static void mk_push(struct mk_copy *copy, dma_addr_t dst, size_t offset, size_t len,
		    unsigned long flags)
{
	struct dma_async_tx_descriptor *tx = mk_prep(dst, offset, len, flags);

	if (WARN_ON(!tx))
		return;
	copy->place = 0;
	tx->callback_result = mk_called;
	tx->callback_param = copy;
	dmaengine_submit(tx);
}

static bool mk_was_called(struct mk_copy *copy)
{
	return smp_load_acquire(&copy->place);	/* mk_called() */
}

static bool mk_first(struct dma_chan *chan, void *unused)
{
	return chan->chan_id == 0;
}

static int mk_suite_init(struct kunit_suite *suite)
{
	dma_cap_mask_t mask;
	int err, i;

	dma_cap_zero(mask);
	dma_cap_set(DMA_MEMCPY, mask);
	memset(mk_side, 0, sizeof(mk_side));
	mk_chan = dma_request_channel(mask, mk_first, NULL);
	mk_src = kmalloc(MK_MEM, GFP_KERNEL);
	err = mk_chan && mk_src ? ntb_register_client(&mk_client) : -ENODEV;
	for (i = 0; !err && i < MK_MEM; i++)
		mk_src[i] = i * 31 + (i >> 8);
	return err;
}

static void mk_suite_exit(struct kunit_suite *suite)
{
	if (!mk_chan)
		return;
	ntb_unregister_client(&mk_client);
	dma_release_channel(mk_chan);
	kfree(mk_src);
}

static int mk_init(struct kunit *test)
{
	struct device *dev = mk_chan->device->dev;
	struct mk_side *side;

	for (side = mk_side; side < mk_side + 2; side++) {
		KUNIT_ASSERT_NOT_NULL(test, side->ntb);
		ntb_link_enable(side->ntb, NTB_SPEED_AUTO, NTB_WIDTH_AUTO);
	}
	for (side = mk_side; side < mk_side + 2; side++) {
		KUNIT_ASSERT_TRUE(test, SOON(ntb_link_is_up(side->ntb, NULL, NULL)));
		mk_open(test, side);
		ntb_db_clear(side->ntb, ntb_db_valid_mask(side->ntb));
		ntb_db_clear_mask(side->ntb, ntb_db_valid_mask(side->ntb));
		atomic_set(&side->links, 0);
		atomic_set(&side->bells, 0);
		side->vectors = 0;
	}
	mk_src_dma = dma_map_single(dev, mk_src, MK_MEM, DMA_TO_DEVICE);
	KUNIT_ASSERT_FALSE(test, dma_mapping_error(dev, mk_src_dma));
	mk_window_dma = dma_map_resource(dev, mk_side[0].addr, mk_side[0].size, DMA_FROM_DEVICE, 0);
	KUNIT_ASSERT_FALSE(test, dma_mapping_error(dev, mk_window_dma));
	atomic_set(&mk_calls, 0);
	memset(mk_side[1].mem, 0, mk_side[1].mem_size);
	return 0;
}

static void mk_exit(struct kunit *test)
{
	static const char * const clean[] = {
		"link 0 up", "link 0 lag 0", "link 0 posted 0", "dma 0 fail-write 0", "dma 0 reorder off",
	};
	struct device *dev = mk_chan->device->dev;
	int i;

	dmaengine_terminate_sync(mk_chan);
	dma_unmap_resource(dev, mk_window_dma, mk_side[0].size, DMA_FROM_DEVICE, 0);
	dma_unmap_single(dev, mk_src_dma, MK_MEM, DMA_TO_DEVICE);
	for (i = 0; i < ARRAY_SIZE(clean); i++)
		mk_command(test, clean[i]);
	for (i = 0; i < 2; i++) {
		mk_close(&mk_side[i]);
		ntb_db_set_mask(mk_side[i].ntb, ntb_db_valid_mask(mk_side[i].ntb));
		ntb_link_disable(mk_side[i].ntb);
	}
	SOON(!ntb_link_is_up(mk_side[0].ntb, NULL, NULL) &&
	     !ntb_link_is_up(mk_side[1].ntb, NULL, NULL));
}

/* No copy is made before it is issued. */
static void mk_not_issued(struct kunit *test)
{
	struct mk_copy copy = {};

	mk_push(&copy, mk_window_dma, 0, 64, DMA_PREP_INTERRUPT);
	msleep(20);
	KUNIT_EXPECT_FALSE(test, mk_was_called(&copy));
	KUNIT_EXPECT_EQ(test, *(u64 *)mk_side[1].mem, 0);
	dma_async_issue_pending(mk_chan);
	KUNIT_EXPECT_TRUE(test, SOON(mk_was_called(&copy)));
}

/* Completion does not mean delivery. */
static void mk_dma_dead(struct kunit *test)
{
	u64 lost = mk_count(0, "lost_dead");
	struct mk_copy copy = {};

	mk_command(test, "link 0 down");
	mk_push(&copy, mk_window_dma, 0, 64, DMA_PREP_INTERRUPT);
	dma_async_issue_pending(mk_chan);
	KUNIT_EXPECT_TRUE(test, SOON(mk_was_called(&copy)));
	KUNIT_EXPECT_EQ(test, copy.result, DMA_TRANS_NOERROR);
	KUNIT_EXPECT_EQ(test, mk_count(0, "lost_dead"), lost + 1);
	KUNIT_EXPECT_EQ(test, *(u64 *)mk_side[1].mem, 0);
}

static void mk_push_all(struct mk_copy *copies, unsigned long flags)
{
	int i;

	for (i = 0; i < MK_COPIES; i++)
		mk_push(&copies[i], mk_window_dma + i * 64, i * 64, 64, flags);
	dma_async_issue_pending(mk_chan);
}

/* Copies behind one that failed are not made. */
static void mk_dma_error(struct kunit *test)
{
	struct mk_copy copies[MK_COPIES] = {};
	int i;

	mk_command(test, "dma 0 fail-write 3");
	mk_push_all(copies, DMA_PREP_INTERRUPT);
	KUNIT_EXPECT_TRUE(test, SOON(mk_was_called(&copies[MK_COPIES - 1])));
	for (i = 0; i < MK_COPIES; i++) {
		KUNIT_EXPECT_EQ(test, copies[i].result,
				i < 2  ? DMA_TRANS_NOERROR :
				i == 2 ? DMA_TRANS_WRITE_FAILED :
					 DMA_TRANS_ABORTED);
		KUNIT_EXPECT_EQ(test, copies[i].residue, i < 2 ? 0 : 64);
	}
	KUNIT_EXPECT_MEMEQ(test, mk_side[1].mem, mk_src, 128);
	KUNIT_EXPECT_EQ(test, *(u64 *)(mk_side[1].mem + 128), 0);
	mk_push_all(copies, DMA_PREP_INTERRUPT);
	KUNIT_EXPECT_TRUE(test, SOON(mk_was_called(&copies[MK_COPIES - 1])));
	KUNIT_EXPECT_MEMEQ(test, mk_side[1].mem, mk_src, MK_COPIES * 64);
}

/*
 * A fence orders all copies before it, because copies complete in order. @fenced: DMA_PREP_FENCE
 * for the second of three copies to one address.
 */
static u8 mk_last_of_three(struct kunit *test, unsigned long fenced)
{
	struct mk_copy copies[3] = {};
	int i;

	for (i = 0; i < 3; i++) {
		mk_src[i * 64] = i + 1;
		mk_push(&copies[i], mk_window_dma, i * 64, 64,
			i == 1 ? fenced :
			i == 2 ? DMA_PREP_INTERRUPT :
				 0);
	}
	dma_async_issue_pending(mk_chan);
	KUNIT_EXPECT_TRUE(test, SOON(mk_was_called(&copies[2])));
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, copies[i].place, copies[0].place + i);
	return *(u8 *)mk_side[1].mem;
}

static void mk_dma_fence(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, mk_last_of_three(test, 0), 3);
	mk_command(test, "dma 0 reorder on");
	KUNIT_EXPECT_EQ(test, mk_last_of_three(test, 0), 1);
	KUNIT_EXPECT_EQ(test, mk_last_of_three(test, DMA_PREP_FENCE), 3);
}

/* The next interrupt reports earlier copies as well. */
static void mk_dma_together(struct kunit *test)
{
	struct mk_copy quiet = {}, loud = {};

	mk_push(&quiet, mk_window_dma, 8, 64, 0);
	mk_push(&loud, mk_window_dma, 0, 64, DMA_PREP_INTERRUPT);
	dma_async_issue_pending(mk_chan);
	KUNIT_EXPECT_TRUE(test, SOON(mk_was_called(&loud)));
	KUNIT_EXPECT_EQ(test, quiet.place, 1);
}

static struct kunit_case mk_cases[] = {
	KUNIT_CASE(mk_masks),
	KUNIT_CASE(mk_limits),
	KUNIT_CASE(mk_dead),
	KUNIT_CASE(mk_early_doorbell),
	KUNIT_CASE(mk_posted),
	KUNIT_CASE(mk_not_issued),
	KUNIT_CASE(mk_dma_dead),
	KUNIT_CASE(mk_dma_error),
	KUNIT_CASE(mk_dma_fence),
	KUNIT_CASE(mk_dma_together),
	{}
};

static struct kunit_suite mk_suite = {
	.name = "kfi_ntb_mock",
	.test_cases = mk_cases,
	.suite_init = mk_suite_init,
	.suite_exit = mk_suite_exit,
	.init = mk_init,
	.exit = mk_exit,
};
kunit_test_suite(mk_suite);
MODULE_DESCRIPTION("rules of kfi_ntb_mock");
MODULE_LICENSE("GPL");
