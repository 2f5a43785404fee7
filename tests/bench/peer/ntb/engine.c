// SPDX-License-Identifier: GPL-2.0
/*
 * engine.c - the DMA engine alone: chains of copies, each with an interrupt at its end, several in
 * progress. The end of a chain issues the next one, without a thread. Copies go through the window
 * of a bridge to memory behind it.
 */
#include <linux/bottom_half.h>
#include <linux/completion.h>
#include <linux/dma-mapping.h>
#include <linux/dmaengine.h>
#include <linux/slab.h>
#include "nb.h"

/*
 * bench_variant.arg: copies of a chain, and number of buffers. &bench_variant.depth counts copies.
 * NB_SLICES buffers are slices of the large blocks.
 */
#define NB_SLICES		(BENCH_LARGE * BENCH_LARGE_SIZE / BENCH_MB)
#define NB_ARG(_chain, _bufs)	((_chain) | (_bufs) << 8)
#define NB_CHAIN_OF(_arg)	((_arg) & 0xff)
#define NB_BUFS_OF(_arg)	((_arg) >> 8)

struct nb_engine {
	struct dma_chan		*chan;
	/* from the buffers of streams, to memory behind the window */
	struct bench_mem	mem[2];
	dma_addr_t		dma[BENCH_MEM_MAX];	/* of the first */
	u32			mapped;			/* of them */
	struct nb_window	window;
	u32			chain, chains;	/* copies of a chain, and chains in progress */
	u32			next, ops;	/* number of the next copy, and of all copies */
	u32			ended;		/* chains ended, of those begun: */
	u32			begun;
	struct completion	done;
	int			err;
};

static void nb_unmap(struct nb_engine *e)
{
	for (; e->mapped; e->mapped--)
		dma_unmap_page(e->chan->device->dev, e->dma[e->mapped - 1], e->mem[0].size, DMA_TO_DEVICE);
}

static int nb_map(struct nb_engine *e)
{
	struct bench_mem *mem = &e->mem[0];
	struct device *dev = e->chan->device->dev;
	dma_addr_t at;

	for (; e->mapped < mem->count; e->mapped++) {
		at = dma_map_page(dev, mem->page[e->mapped], 0, mem->size, DMA_TO_DEVICE);
		if (dma_mapping_error(dev, at)) {
			nb_unmap(e);
			return -ENOMEM;
		}
		e->dma[e->mapped] = at;
	}
	return 0;
}

static int nb_map_both(struct nb_engine *e)
{
	int err = nb_map(e);

	if (err)
		return err;
	err = nb_window_open(&e->window, e->chan->device->dev, &e->mem[1]);
	if (err)
		nb_unmap(e);
	return err;
}

static void nb_free(struct nb_engine *e)
{
	if (e->chan)
		dma_release_channel(e->chan);
	kfree(e);
}

static_assert(NB_SLICES <= BENCH_MEM_MAX);

static struct bench_mem nb_mem(const struct bench_env *env, int side, u32 count, u32 size)
{
	struct bench_mem mem = { .count = count, .size = size };
	u32 i, each = BENCH_LARGE_SIZE / size;

	if (count != NB_SLICES)
		return bench_mem_first(&env->mem[side], count, size);
	for (i = 0; i < count; i++)
		mem.page[i] = env->large[side].page[i / each] + (i % each * size >> PAGE_SHIFT);
	return mem;
}

static void *nb_open(struct bench_env *env, const struct bench_variant *v)
{
	struct nb_engine *e = kzalloc(sizeof(*e), GFP_KERNEL);
	dma_cap_mask_t mask;
	int i, err;

	if (!e)
		return ERR_PTR(-ENOMEM);
	dma_cap_zero(mask);
	dma_cap_set(DMA_MEMCPY, mask);
	init_completion(&e->done);
	for (i = 0; i < 2; i++)
		e->mem[i] = nb_mem(env, i, NB_BUFS_OF(v->arg), v->size);
	e->chain = NB_CHAIN_OF(v->arg);
	e->chains = v->depth / e->chain;
	e->chan = dma_request_channel(mask, NULL, NULL);
	err = e->chan ? nb_map_both(e) : -ENODEV;
	if (!err)
		return e;
	nb_free(e);
	return ERR_PTR(err);
}

static void nb_close(void *priv)
{
	struct nb_engine *e = priv;

	dmaengine_terminate_sync(e->chan);
	nb_window_close(&e->window);
	nb_unmap(e);
	nb_free(e);
}

static int nb_chain(struct nb_engine *e);

/* In softirq. After an error nothing more is issued; the copies behind it are still called. */
static void nb_called(void *ctx, const struct dmaengine_result *result)
{
	struct nb_engine *e = ctx;

	e->ended++;
	if (result->result != DMA_TRANS_NOERROR)
		e->err = -EIO;
	if (!e->err && e->next < e->ops)
		e->err = nb_chain(e);
	if (e->ended == e->begun)
		complete(&e->done);
}

static int nb_push(struct nb_engine *e, u32 i, bool last)
{
	u32 slot = i % e->mem[0].count;
	struct dma_async_tx_descriptor *tx;

	tx = dmaengine_prep_dma_memcpy(e->chan, e->window.at[slot], e->dma[slot], e->mem[0].size,
				       DMA_CTRL_ACK | (last ? DMA_PREP_INTERRUPT : 0));
	if (!tx)
		return -EAGAIN;
	if (last) {
		tx->callback_result = nb_called;
		tx->callback_param = e;
	}
	return dma_submit_error(dmaengine_submit(tx)) ? -EIO : 0;
}

static int nb_chain(struct nb_engine *e)
{
	u32 end = min(e->next + e->chain, e->ops);
	int err;

	for (; e->next < end; e->next++) {
		err = nb_push(e, e->next, e->next + 1 == end);
		if (err)
			return err;
	}
	e->begun++;
	dma_async_issue_pending(e->chan);
	return 0;
}

static int nb_stream(struct nb_engine *e, u32 ops)
{
	int err = 0;
	u32 i;

	e->ops = ops;
	e->next = 0;
	e->begun = 0;
	e->ended = 0;
	e->err = 0;
	reinit_completion(&e->done);
	local_bh_disable();
	for (i = 0; i < e->chains && e->next < ops && !err; i++)
		err = nb_chain(e);
	local_bh_enable();
	if (!err && !wait_for_completion_timeout(&e->done, BENCH_TIMEOUT))
		return -ETIMEDOUT;
	return err ?: e->err;
}

static s64 nb_run(void *priv, u32 ops)
{
	struct nb_engine *e = priv;
	u32 seed = bench_mem_stamp(&e->mem[0]);
	u64 start;
	int err;

	start = bench_clock();
	err = nb_stream(e, ops);
	start = bench_clock() - start;
	if (err)
		return err;
	return bench_mem_check(&e->mem[1], seed) ? start : -EBADMSG;
}

#define NB_VARIANT(_name, _text, _size, _bufs, _chain, _chains)							\
const struct bench_variant _name = {										\
	.name = _text, .open = nb_open, .run = nb_run, .close = nb_close, .arg = NB_ARG(_chain, _bufs),		\
	.depth = (_chain) * (_chains), .size = _size,								\
}

/* A chain for each operation of kfi_ntb that it is compared with, and as many in progress */
NB_VARIANT(bench_window_blocks_4k, "window-blocks-4k", 4096, BENCH_BLOCKS, 1, BENCH_BLOCKS);
NB_VARIANT(bench_window_blocks, "window-blocks", BENCH_MB, BENCH_BLOCKS, 1, BENCH_BLOCKS);
NB_VARIANT(bench_window_placed, "window-placed", BENCH_MB, BENCH_PLACED, 1, BENCH_PLACED);
NB_VARIANT(bench_window_long, "window-long", BENCH_MB, NB_SLICES, BENCH_LONG / BENCH_MB, BENCH_LONGS);
