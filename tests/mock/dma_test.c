// SPDX-License-Identifier: GPL-2.0
/* dma_test.c - the engine: copies into windows and onto doorbells, their order, and faults */
#include <linux/dma-mapping.h>
#include <linux/dmaengine.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include "budget.h"
#include "test.h"

#define MK_COPIES	8

/* One channel for all tests of the suite: the first one, number 0 of commands */
static struct dma_chan *mk_chan;
static u8 *mk_src;			/* MK_MEM bytes with a pattern */
static dma_addr_t mk_src_dma, mk_window_dma;

/* The result of a copy */
struct mk_copy {
	enum dmaengine_tx_result	result;
	u32				residue;
	/* position in the order of the callbacks, from 1; 0: no callback */
	int				place;
	bool				soft;		/* called in softirq */
	struct mk_copy			*chain;		/* the callback issues it */
	dma_addr_t			dst;
};

static atomic_t mk_calls;

static void mk_push(struct mk_copy *copy, dma_addr_t dst, size_t offset, size_t len,
		    unsigned long flags);

static void mk_called(void *ctx, const struct dmaengine_result *result)
{
	struct mk_copy *copy = ctx;

	copy->result = result->result;
	copy->residue = result->residue;
	copy->soft = in_serving_softirq();
	if (copy->chain) {
		mk_push(copy->chain, copy->chain->dst, 0, 64, DMA_PREP_INTERRUPT);
		dma_async_issue_pending(mk_chan);
	}
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

static int mk_dma_suite_init(struct kunit_suite *suite)
{
	dma_cap_mask_t mask;
	int err, i;

	dma_cap_zero(mask);
	dma_cap_set(DMA_MEMCPY, mask);
	mk_chan = dma_request_channel(mask, mk_first, NULL);
	mk_src = kmalloc(MK_MEM, GFP_KERNEL);
	err = mk_chan && mk_src ? mk_suite_init(suite) : -ENODEV;
	if (err)
		goto undo;
	for (i = 0; i < MK_MEM; i++)
		mk_src[i] = i * 31 + (i >> 8);
	return 0;
undo:
	kfree(mk_src);
	if (mk_chan)
		dma_release_channel(mk_chan);
	mk_chan = NULL;
	return err;
}

static void mk_dma_suite_exit(struct kunit_suite *suite)
{
	if (!mk_chan)
		return;
	mk_suite_exit(suite);
	dma_release_channel(mk_chan);
	kfree(mk_src);
}

static int mk_dma_init_case(struct kunit *test)
{
	struct device *dev = mk_chan->device->dev;

	mk_init(test);
	mk_src_dma = dma_map_single(dev, mk_src, MK_MEM, DMA_TO_DEVICE);
	KUNIT_ASSERT_FALSE(test, dma_mapping_error(dev, mk_src_dma));
	mk_window_dma = dma_map_resource(dev, mk_side[0].addr, mk_side[0].size, DMA_FROM_DEVICE, 0);
	KUNIT_ASSERT_FALSE(test, dma_mapping_error(dev, mk_window_dma));
	atomic_set(&mk_calls, 0);
	memset(mk_side[1].mem, 0, MK_MEM);
	return 0;
}

static void mk_dma_exit_case(struct kunit *test)
{
	struct device *dev = mk_chan->device->dev;

	dmaengine_terminate_sync(mk_chan);
	dma_unmap_resource(dev, mk_window_dma, mk_side[0].size, DMA_FROM_DEVICE, 0);
	dma_unmap_single(dev, mk_src_dma, MK_MEM, DMA_TO_DEVICE);
	mk_exit(test);
}

static void mk_into_window(struct kunit *test)
{
	u64 writes = mk_count(0, "dma_writes"), reads = mk_count(0, "dma_reads");
	struct mk_copy copy = {};

	mk_push(&copy, mk_window_dma, 0, MK_MEM, DMA_PREP_INTERRUPT);
	dma_async_issue_pending(mk_chan);
	KUNIT_ASSERT_TRUE(test, SOON(mk_was_called(&copy)));
	KUNIT_EXPECT_EQ(test, copy.result, DMA_TRANS_NOERROR);
	KUNIT_EXPECT_TRUE(test, copy.soft);
	KUNIT_EXPECT_MEMEQ(test, mk_side[1].mem, mk_src, MK_MEM);
	KUNIT_EXPECT_EQ(test, mk_count(0, "dma_writes"), writes + 1);
	KUNIT_EXPECT_EQ(test, mk_count(0, "dma_reads"), reads);
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

static void mk_onto_doorbell(struct kunit *test)
{
	struct mk_copy data = {}, bell = {};
	struct mk_side *b = &mk_side[1];
	resource_size_t size;
	phys_addr_t addr;
	dma_addr_t dma;
	u64 value;

	KUNIT_ASSERT_EQ(test, ntb_peer_db_addr(mk_side[0].ntb, &addr, &size, &value, 4), 0);
	dma = dma_map_resource(mk_chan->device->dev, addr, size, DMA_FROM_DEVICE, 0);
	*(u32 *)mk_src = value;
	mk_push(&data, mk_window_dma, 0, 4096, DMA_PREP_FENCE);
	mk_push(&bell, dma, 0, 4, DMA_PREP_INTERRUPT);
	dma_async_issue_pending(mk_chan);
	KUNIT_EXPECT_TRUE(test, SOON(b->vectors == BIT(4)));
	KUNIT_EXPECT_MEMEQ(test, b->mem, mk_src, 4096);
	KUNIT_EXPECT_TRUE(test, SOON(mk_was_called(&bell)));
	dma_unmap_resource(mk_chan->device->dev, dma, size, DMA_FROM_DEVICE, 0);
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

static void mk_dma_posted(struct kunit *test)
{
	u64 *mem = mk_side[1].mem;
	struct mk_copy copy = {};

	mk_command(test, "link 0 posted 1000000");
	mk_push(&copy, mk_window_dma, 8, 64, DMA_PREP_INTERRUPT);
	dma_async_issue_pending(mk_chan);
	KUNIT_EXPECT_TRUE(test, SOON(mk_was_called(&copy)));
	KUNIT_EXPECT_EQ(test, READ_ONCE(*mem), 0);
	KUNIT_EXPECT_TRUE(test, SOON(READ_ONCE(*mem)));
}

static void mk_push_all(struct mk_copy *copies, unsigned long flags)
{
	int i;

	for (i = 0; i < MK_COPIES; i++)
		mk_push(&copies[i], mk_window_dma + i * 64, i * 64, 64, flags);
	dma_async_issue_pending(mk_chan);
}

static void mk_dma_order(struct kunit *test)
{
	struct mk_copy copies[MK_COPIES] = {};
	int i;

	mk_push_all(copies, DMA_PREP_INTERRUPT);
	KUNIT_EXPECT_TRUE(test, SOON(mk_was_called(&copies[MK_COPIES - 1])));
	for (i = 0; i < MK_COPIES; i++)
		KUNIT_EXPECT_EQ(test, copies[i].place, i + 1);
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

static void mk_dma_read_error(struct kunit *test)
{
	struct mk_copy copy = {};

	mk_command(test, "dma 0 fail-read 1");
	mk_push(&copy, mk_window_dma, 0, 64, 0);
	dma_async_issue_pending(mk_chan);
	KUNIT_EXPECT_TRUE(test, SOON(mk_was_called(&copy)));
	KUNIT_EXPECT_EQ(test, copy.result, DMA_TRANS_READ_FAILED);
}

/* An address without memory or window */
static void mk_dma_nowhere(struct kunit *test)
{
	struct mk_copy copy = {};

	mk_push(&copy, BIT_ULL(46), 0, 64, DMA_PREP_INTERRUPT);
	dma_async_issue_pending(mk_chan);
	KUNIT_EXPECT_TRUE(test, SOON(mk_was_called(&copy)));
	KUNIT_EXPECT_EQ(test, copy.result, DMA_TRANS_WRITE_FAILED);
}

static void mk_dma_drop(struct kunit *test)
{
	struct mk_copy copies[MK_COPIES] = {};

	mk_command(test, "dma 0 drop 2");
	mk_push_all(copies, DMA_PREP_INTERRUPT);
	KUNIT_EXPECT_TRUE(test, SOON(mk_was_called(&copies[MK_COPIES - 1])));
	KUNIT_EXPECT_EQ(test, copies[1].result, DMA_TRANS_NOERROR);
	KUNIT_EXPECT_EQ(test, *(u64 *)(mk_side[1].mem + 64), 0);
	KUNIT_EXPECT_MEMEQ(test, mk_side[1].mem + 128, mk_src + 128, 64);
}

/* Two copies to one address: the second one remains, unless it may overtake the first. */
static u8 mk_last_of_two(struct kunit *test, unsigned long flags)
{
	struct mk_copy one = {}, two = {};

	mk_src[0] = 1;
	mk_src[64] = 2;
	mk_push(&one, mk_window_dma, 0, 64, flags);
	mk_push(&two, mk_window_dma, 64, 64, DMA_PREP_INTERRUPT);
	dma_async_issue_pending(mk_chan);
	KUNIT_EXPECT_TRUE(test, SOON(mk_was_called(&two)));
	KUNIT_EXPECT_EQ(test, two.place, one.place + 1);
	return *(u8 *)mk_side[1].mem;
}

static void mk_dma_fence(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, mk_last_of_two(test, 0), 2);
	mk_command(test, "dma 0 reorder on");
	KUNIT_EXPECT_EQ(test, mk_last_of_two(test, 0), 1);
	KUNIT_EXPECT_EQ(test, mk_last_of_two(test, DMA_PREP_FENCE), 2);
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

static void mk_dma_group(struct kunit *test)
{
	mk_command(test, "dma 0 reorder on");
	KUNIT_EXPECT_EQ(test, mk_last_of_three(test, 0), 1);
	KUNIT_EXPECT_EQ(test, mk_last_of_three(test, DMA_PREP_FENCE), 3);
}

/* Without an interrupt the callback comes only when the driver looks by itself. */
static void mk_dma_silent(struct kunit *test)
{
	struct mk_copy copy = {};
	ktime_t start = ktime_get();

	mk_push(&copy, mk_window_dma, 8, 64, 0);
	dma_async_issue_pending(mk_chan);
	KUNIT_EXPECT_TRUE(test, SOON(mk_was_called(&copy)));
	KUNIT_EXPECT_GE(test, ktime_ms_delta(ktime_get(), start), 100);
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

static void mk_dma_status(struct kunit *test)
{
	struct dma_tx_state state;
	struct mk_copy copy = {};
	dma_cookie_t cookie;

	mk_command(test, "dma 0 lose 1");
	mk_push(&copy, mk_window_dma, 0, 64, DMA_PREP_INTERRUPT);
	cookie = mk_chan->cookie;
	KUNIT_EXPECT_EQ(test, dmaengine_tx_status(mk_chan, cookie, &state), DMA_IN_PROGRESS);
	KUNIT_EXPECT_EQ(test, state.residue, 64);
	dma_async_issue_pending(mk_chan);
	KUNIT_EXPECT_TRUE(test, SOON(dmaengine_tx_status(mk_chan, cookie, &state) == DMA_COMPLETE));
	KUNIT_EXPECT_EQ(test, state.residue, 0);
	KUNIT_EXPECT_TRUE(test, SOON(mk_was_called(&copy)));
}

static void mk_dma_terminate(struct kunit *test)
{
	struct mk_copy copies[MK_COPIES] = {};

	mk_command(test, "dma 0 slow 100000");
	mk_push_all(copies, DMA_PREP_INTERRUPT);
	KUNIT_EXPECT_TRUE(test, SOON(mk_was_called(&copies[0])));
	KUNIT_EXPECT_EQ(test, dmaengine_terminate_sync(mk_chan), 0);
	KUNIT_EXPECT_FALSE(test, mk_was_called(&copies[MK_COPIES - 1]));
	mk_command(test, "dma 0 slow 0");
	memset(mk_side[1].mem, 0, MK_MEM);
	msleep(20);
	KUNIT_EXPECT_EQ(test, *(u64 *)(mk_side[1].mem + 64), 0);
	mk_push_all(copies, DMA_PREP_INTERRUPT);
	KUNIT_EXPECT_TRUE(test, SOON(mk_was_called(&copies[MK_COPIES - 1])));
}

/* As many copies as the ring holds, then none until one is done. */
static void mk_dma_full(struct kunit *test)
{
	struct dma_async_tx_descriptor *tx;
	struct mk_copy copy = {};
	int n = 0;

	while ((tx = mk_prep(mk_window_dma, 0, 8, DMA_PREP_INTERRUPT))) {
		dmaengine_submit(tx);
		n++;
	}
	KUNIT_EXPECT_GE(test, n, 16);
	dma_async_issue_pending(mk_chan);
	KUNIT_EXPECT_TRUE(test, SOON(dma_async_is_tx_complete(mk_chan, mk_chan->cookie, NULL,
							      NULL) == DMA_COMPLETE));
	KUNIT_ASSERT_TRUE(test, SOON(tx = mk_prep(mk_window_dma, 0, 8, 0)));
	dmaengine_submit(tx);
	mk_push(&copy, mk_window_dma, 0, 8, DMA_PREP_INTERRUPT);
	dma_async_issue_pending(mk_chan);
	KUNIT_EXPECT_TRUE(test, SOON(mk_was_called(&copy)));
}

/* A callback may prepare and issue the next copy. */
static void mk_dma_chain(struct kunit *test)
{
	struct mk_copy copies[3] = {};

	copies[0].chain = &copies[1];
	copies[1].chain = &copies[2];
	copies[1].dst = mk_window_dma + 64;
	copies[2].dst = mk_window_dma + 128;
	mk_push(&copies[0], mk_window_dma, 0, 64, DMA_PREP_INTERRUPT);
	dma_async_issue_pending(mk_chan);
	KUNIT_EXPECT_TRUE(test, SOON(mk_was_called(&copies[2])));
	KUNIT_EXPECT_MEMEQ(test, mk_side[1].mem + 128, mk_src, 64);
}

/* ---- an engine that takes time: engine_mbs ---- */

#define MK_RAM_MBS	10
#define MK_RAM_US	(MK_MEM / MK_RAM_MBS)	/* time of such memory for MK_MEM bytes */

/*
 * Make memory of port 0 slow. Return: false: the engine does not take time, so memory can't either.
 */
static bool mk_slow_ram(struct kunit *test, u32 mbs)
{
	char line[40];
	int err;

	snprintf(line, sizeof(line), "end 0.0 ram %u", mbs);
	err = kfi_ntb_mock_command(line);
	if (err)
		KUNIT_EXPECT_EQ(test, err, -EOPNOTSUPP);
	return !err;
}

static s64 mk_us_since(ktime_t start)
{
	/* Memory that was idle has saved a little time. */
	return ktime_us_delta(ktime_get(), start) + NM_BUDGET_LATE_NS / NSEC_PER_USEC;
}

/* A copy takes the time of the memory that it reads, and its pieces arrive meanwhile. */
static void mk_dma_slow_ram(struct kunit *test)
{
	u64 crossed = mk_count(0, "ram_bytes");
	u8 *mem = mk_side[1].mem;
	struct mk_copy copy = {};
	ktime_t start;

	if (!mk_slow_ram(test, MK_RAM_MBS))
		return;
	mk_src[0] = 1;
	start = ktime_get();
	mk_push(&copy, mk_window_dma, 0, MK_MEM, DMA_PREP_INTERRUPT);
	dma_async_issue_pending(mk_chan);
	KUNIT_EXPECT_TRUE(test, SOON(READ_ONCE(mem[0])));
	KUNIT_EXPECT_FALSE(test, mk_was_called(&copy));
	KUNIT_EXPECT_EQ(test, mem[MK_MEM - 1], 0);
	KUNIT_ASSERT_TRUE(test, SOON(mk_was_called(&copy)));
	KUNIT_EXPECT_GE(test, mk_us_since(start), MK_RAM_US);
	KUNIT_EXPECT_MEMEQ(test, mem, mk_src, MK_MEM);
	KUNIT_EXPECT_EQ(test, mk_count(0, "ram_bytes"), crossed + MK_MEM);
	mk_slow_ram(test, 0);
}

/* Memory has time for one user after the other. */
static void mk_dma_shared_ram(struct kunit *test)
{
	struct mk_copy copy = {};
	ktime_t start;

	if (!mk_slow_ram(test, MK_RAM_MBS))
		return;
	start = ktime_get();
	mk_push(&copy, mk_window_dma, 0, MK_MEM, DMA_PREP_INTERRUPT);
	dma_async_issue_pending(mk_chan);
	kfi_ntb_mock_ram(0, 0, MK_MEM);
	KUNIT_ASSERT_TRUE(test, SOON(mk_was_called(&copy)));
	KUNIT_EXPECT_GE(test, mk_us_since(start), 2 * MK_RAM_US);
	mk_slow_ram(test, 0);
}

/* The rest of a copy that was terminated is not made, and the channel can be used again. */
static void mk_dma_slow_terminate(struct kunit *test)
{
	u8 *mem = mk_side[1].mem;
	struct mk_copy copy = {}, next = {};

	if (!mk_slow_ram(test, 1))
		return;
	mk_src[0] = 1;
	mk_push(&copy, mk_window_dma, 0, MK_MEM, DMA_PREP_INTERRUPT);
	dma_async_issue_pending(mk_chan);
	KUNIT_EXPECT_TRUE(test, SOON(READ_ONCE(mem[0])));
	KUNIT_EXPECT_EQ(test, dmaengine_terminate_sync(mk_chan), 0);
	memset(mem, 0, MK_MEM);
	mk_slow_ram(test, 0);
	msleep(100);
	KUNIT_EXPECT_NULL(test, memchr_inv(mem, 0, MK_MEM));
	KUNIT_EXPECT_FALSE(test, mk_was_called(&copy));
	mk_push(&next, mk_window_dma, 0, MK_MEM, DMA_PREP_INTERRUPT);
	dma_async_issue_pending(mk_chan);
	KUNIT_EXPECT_TRUE(test, SOON(mk_was_called(&next)));
	KUNIT_EXPECT_MEMEQ(test, mem, mk_src, MK_MEM);
}

static struct kunit_case mk_cases[] = {
	KUNIT_CASE(mk_into_window),
	KUNIT_CASE(mk_not_issued),
	KUNIT_CASE(mk_onto_doorbell),
	KUNIT_CASE(mk_dma_dead),
	KUNIT_CASE(mk_dma_posted),
	KUNIT_CASE(mk_dma_order),
	KUNIT_CASE(mk_dma_error),
	KUNIT_CASE(mk_dma_read_error),
	KUNIT_CASE(mk_dma_nowhere),
	KUNIT_CASE(mk_dma_drop),
	KUNIT_CASE(mk_dma_fence),
	KUNIT_CASE(mk_dma_group),
	KUNIT_CASE(mk_dma_silent),
	KUNIT_CASE(mk_dma_together),
	KUNIT_CASE(mk_dma_status),
	KUNIT_CASE(mk_dma_terminate),
	KUNIT_CASE(mk_dma_full),
	KUNIT_CASE(mk_dma_chain),
	KUNIT_CASE(mk_dma_slow_ram),
	KUNIT_CASE(mk_dma_shared_ram),
	KUNIT_CASE(mk_dma_slow_terminate),
	{}
};

struct kunit_suite mk_dma_suite = {
	.name = "kfi_ntb_mock_dma",
	.test_cases = mk_cases,
	.suite_init = mk_dma_suite_init,
	.suite_exit = mk_dma_suite_exit,
	.init = mk_dma_init_case,
	.exit = mk_dma_exit_case,
};
