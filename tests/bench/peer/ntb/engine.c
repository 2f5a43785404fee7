// SPDX-License-Identifier: GPL-2.0
/*
 * engine.c - the DMA engine by itself: copies from memory to memory in chains, the last of each with an interrupt. The next
 * chain is issued when the last has been called.
 */
#include <linux/completion.h>
#include <linux/dma-mapping.h>
#include <linux/dmaengine.h>
#include <linux/slab.h>
#include "nb.h"

#define NB_CHAIN	64

struct nb_engine {
	struct dma_chan		*chan;
	void			*buf[2];	/* from, to */
	dma_addr_t		dma[2];
	u32			size;
	struct completion	done;
	int			err;
};

static void nb_unmap(struct nb_engine *e)
{
	struct device *dev = e->chan->device->dev;

	dma_unmap_single(dev, e->dma[0], e->size, DMA_TO_DEVICE);
	dma_unmap_single(dev, e->dma[1], e->size, DMA_FROM_DEVICE);
}

static int nb_map(struct nb_engine *e)
{
	struct device *dev = e->chan->device->dev;

	e->dma[0] = dma_map_single(dev, e->buf[0], e->size, DMA_TO_DEVICE);
	if (dma_mapping_error(dev, e->dma[0]))
		return -ENOMEM;
	e->dma[1] = dma_map_single(dev, e->buf[1], e->size, DMA_FROM_DEVICE);
	if (!dma_mapping_error(dev, e->dma[1]))
		return 0;
	dma_unmap_single(dev, e->dma[0], e->size, DMA_TO_DEVICE);
	return -ENOMEM;
}

static void nb_free(struct nb_engine *e)
{
	if (e->chan)
		dma_release_channel(e->chan);
	kfree(e->buf[0]);
	kfree(e->buf[1]);
	kfree(e);
}

static void *nb_open(struct bench_env *env, const struct bench_variant *v)
{
	struct nb_engine *e = kzalloc(sizeof(*e), GFP_KERNEL);
	dma_cap_mask_t mask;

	if (!e)
		return ERR_PTR(-ENOMEM);
	dma_cap_zero(mask);
	dma_cap_set(DMA_MEMCPY, mask);
	init_completion(&e->done);
	e->size = v->size;
	e->chan = dma_request_channel(mask, NULL, NULL);
	e->buf[0] = kzalloc(e->size, GFP_KERNEL);
	e->buf[1] = kzalloc(e->size, GFP_KERNEL);
	if (e->chan && e->buf[0] && e->buf[1] && !nb_map(e))
		return e;
	nb_free(e);
	return ERR_PTR(-ENODEV);
}

static void nb_close(void *priv)
{
	struct nb_engine *e = priv;

	dmaengine_terminate_sync(e->chan);
	nb_unmap(e);
	nb_free(e);
}

static void nb_called(void *ctx, const struct dmaengine_result *result)
{
	struct nb_engine *e = ctx;

	if (result->result != DMA_TRANS_NOERROR)
		e->err = -EIO;
	complete(&e->done);
}

static int nb_push(struct nb_engine *e, bool last)
{
	struct dma_async_tx_descriptor *tx;

	tx = dmaengine_prep_dma_memcpy(e->chan, e->dma[1], e->dma[0], e->size, DMA_CTRL_ACK | (last ? DMA_PREP_INTERRUPT : 0));
	if (!tx)
		return -EAGAIN;
	if (last) {
		tx->callback_result = nb_called;
		tx->callback_param = e;
	}
	return dma_submit_error(dmaengine_submit(tx)) ? -EIO : 0;
}

static int nb_chain(struct nb_engine *e, u32 count)
{
	int err;
	u32 i;

	reinit_completion(&e->done);
	for (i = 0; i < count; i++) {
		err = nb_push(e, i + 1 == count);
		if (err)
			return err;
	}
	dma_async_issue_pending(e->chan);
	return wait_for_completion_timeout(&e->done, BENCH_TIMEOUT) ? e->err : -ETIMEDOUT;
}

static s64 nb_run(void *priv, u32 ops)
{
	struct nb_engine *e = priv;
	u64 start;
	u32 done;
	int err;

	*(u32 *)e->buf[0] = ops;
	start = bench_clock();
	for (done = 0; done < ops; done += NB_CHAIN) {
		err = nb_chain(e, min(ops - done, NB_CHAIN));
		if (err)
			return err;
	}
	start = bench_clock() - start;
	return *(u32 *)e->buf[1] == ops ? start : -EBADMSG;
}

#define NB_VARIANT(_name, _text, _size)					\
const struct bench_variant _name = {					\
	.name = _text, .open = nb_open, .run = nb_run, .close = nb_close, .depth = NB_CHAIN, .size = _size,	\
}

NB_VARIANT(bench_dma_8, "dma-8", 8);
NB_VARIANT(bench_dma_64, "dma-64", 64);
NB_VARIANT(bench_dma_4k, "dma-4k", 4096);
NB_VARIANT(bench_dma_64k, "dma-64k", 65536);
