// SPDX-License-Identifier: GPL-2.0
/* dma.c - the engine for its clients: channels that copy memory */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include "dma.h"
#include "mock.h"

struct nm_chan nm_chan[NM_CHANS];

unsigned int nm_channels = 8;
module_param_named(channels, nm_channels, uint, 0444);
MODULE_PARM_DESC(channels, "DMA channels (0-16)");

static unsigned int ring = 256;
module_param(ring, uint, 0444);
MODULE_PARM_DESC(ring, "copies that a channel can hold");

static bool terminate = true;
module_param(terminate, bool, 0444);
MODULE_PARM_DESC(terminate, "the engine can terminate copies (ioatdma can't)");

static bool reorder;
module_param(reorder, bool, 0444);
MODULE_PARM_DESC(reorder, "all channels begin with the fault 'reorder': copies overtake those before them, but for fences");

bool nm_no_order;
module_param_named(no_order, nm_no_order, bool, 0444);
MODULE_PARM_DESC(no_order, "no fence; reports only copies with an interrupt (idxd)");

static char *engine = "ioatdma";
module_param(engine, charp, 0444);
MODULE_PARM_DESC(engine, "name of the engine's driver, by which clients know it (default ioatdma)");

unsigned int nm_silent;
module_param_named(silent, nm_silent, uint, 0444);
MODULE_PARM_DESC(silent, "copies of an odd length that is more than this are not made, and no error is reported (ptdma); 0: none");

static unsigned int copy_align;
module_param(copy_align, uint, 0444);
MODULE_PARM_DESC(copy_align, "log2 of the alignment that copies want in address and length; others fail (switchtec_dma: 3)");

static bool sleeps;
module_param(sleeps, bool, 0444);
MODULE_PARM_DESC(sleeps, "preparing and issuing sleep while the channel is full (ae4dma, idxd)");

unsigned int nm_blind;
module_param_named(blind, nm_blind, uint, 0444);
MODULE_PARM_DESC(blind, "mask of channels whose writes do not cross bridges (requester ids, ACS)");

/* The driver that the engine stands for leaves the residue unset: ioatdma, idxd */
bool nm_no_residue;

bool nm_shuffle;
module_param_named(shuffle, nm_shuffle, bool, 0444);
MODULE_PARM_DESC(shuffle, "copies are reported out of order (switchtec_dma)");

static struct platform_device *nm_platform;
static struct dma_device nm_engine;

static struct list_head *nm_lists(struct nm_chan *c, int i)
{
	struct list_head *all[] = { &c->idle,	&c->prepared, &c->submitted,
				    &c->issued, &c->running,  &c->done };

	return i < ARRAY_SIZE(all) ? all[i] : NULL;
}

static void nm_init_lists(struct nm_chan *c)
{
	struct list_head *list;
	int i;

	for (i = 0; (list = nm_lists(c, i)); i++)
		INIT_LIST_HEAD(list);
}

static int nm_alloc_chan(struct dma_chan *chan)
{
	struct nm_chan *c = to_nm_chan(chan);
	unsigned int i;

	c->ring = kvcalloc(ring, sizeof(*c->ring), GFP_KERNEL);
	if (!c->ring)
		return -ENOMEM;
	for (i = 0; i < ring; i++)
		list_add_tail(&c->ring[i].node, &c->idle);
	chan->cookie = chan->completed_cookie = DMA_MIN_COOKIE;
	return ring;
}

/* The client owns a prepared copy until it submits it. */
static dma_cookie_t nm_submit(struct dma_async_tx_descriptor *tx)
{
	struct nm_chan *c = to_nm_chan(tx->chan);
	unsigned long flags;
	dma_cookie_t cookie;

	spin_lock_irqsave(&c->lock, flags);
	cookie = tx->chan->cookie + 1;
	if (cookie < DMA_MIN_COOKIE)
		cookie = DMA_MIN_COOKIE;
	tx->cookie = tx->chan->cookie = cookie;
	list_move_tail(&to_nm_copy(tx)->node, &c->submitted);
	spin_unlock_irqrestore(&c->lock, flags);
	spin_unlock_bh(&c->prep_lock);
	return cookie;
}

static struct nm_copy *nm_take_idle(struct nm_chan *c)
{
	struct nm_copy *copy;
	unsigned long flags;

	spin_lock_irqsave(&c->lock, flags);
	copy = list_first_entry_or_null(&c->idle, struct nm_copy, node);
	if (copy)
		list_move_tail(&copy->node, &c->prepared);
	else
		c->full++;
	spin_unlock_irqrestore(&c->lock, flags);
	return copy;
}

static struct dma_async_tx_descriptor *nm_prep(struct dma_chan *chan, dma_addr_t dst,
					       dma_addr_t src, size_t len, unsigned long flags)
{
	struct nm_chan *c = to_nm_chan(chan);
	struct nm_copy *copy;

	might_sleep_if(sleeps);
	while (sleeps && list_empty_careful(&c->idle))
		usleep_range(100, 200);
	/* Held until submit, so that no failure comes in between */
	spin_lock_bh(&c->prep_lock);
	copy = nm_take_idle(c);
	if (!copy) {
		spin_unlock_bh(&c->prep_lock);
		return NULL;
	}
	memset(&copy->tx, 0, sizeof(copy->tx));
	dma_async_tx_descriptor_init(&copy->tx, chan);
	copy->tx.flags = flags;
	copy->tx.tx_submit = nm_submit;
	copy->dst = dst;
	copy->src = src;
	copy->len = len;
	copy->dropped = false;
	return &copy->tx;
}

void nm_kick(struct nm_chan *c)
{
	lockdep_assert_held(&c->lock);
	if (!list_empty(&c->issued))
		kthread_queue_work(c->worker, &c->work);
}

static void nm_issue(struct dma_chan *chan)
{
	struct nm_chan *c = to_nm_chan(chan);
	unsigned long flags;

	might_sleep_if(sleeps);
	spin_lock_irqsave(&c->lock, flags);
	list_splice_tail_init(&c->submitted, &c->issued);
	nm_kick(c);
	spin_unlock_irqrestore(&c->lock, flags);
}

/* Bytes of the copy with this cookie that are left; a copy is made at once. */
static u32 nm_residue(struct nm_chan *c, dma_cookie_t cookie)
{
	struct list_head *lists[] = { &c->submitted, &c->issued, &c->running };
	struct nm_copy *copy;
	int i;

	for (i = 0; i < ARRAY_SIZE(lists); i++)
		list_for_each_entry(copy, lists[i], node)
			if (copy->tx.cookie == cookie)
				return copy->len;
	return 0;
}

/* A client that asks also finds copies that completed without an interrupt. */
static enum dma_status nm_status(struct dma_chan *chan, dma_cookie_t cookie,
				 struct dma_tx_state *state)
{
	struct nm_chan *c = to_nm_chan(chan);
	enum dma_status status;
	unsigned long flags;

	spin_lock_irqsave(&c->lock, flags);
	status = nm_no_order ? DMA_OUT_OF_ORDER :
		 dma_async_is_complete(cookie, chan->completed_cookie, chan->cookie);
	dma_set_tx_state(state, chan->completed_cookie, chan->cookie, nm_residue(c, cookie));
	if (!list_empty(&c->done))
		tasklet_schedule(&c->told);
	spin_unlock_irqrestore(&c->lock, flags);
	return status;
}

/*
 * A running copy is dropped when it ends, for which nm_synchronize() waits. Mappings end with their
 * copies.
 */
static int nm_terminate(struct dma_chan *chan)
{
	struct nm_chan *c = to_nm_chan(chan);
	struct nm_copy *copy;
	unsigned long flags;
	LIST_HEAD(gone);

	spin_lock_irqsave(&c->lock, flags);
	list_splice_tail_init(&c->done, &gone);
	list_for_each_entry(copy, &c->running, node)
		copy->dropped = true;
	list_splice_tail_init(&c->issued, &gone);
	list_splice_tail_init(&c->submitted, &gone);
	spin_unlock_irqrestore(&c->lock, flags);

	list_for_each_entry(copy, &gone, node)
		dma_descriptor_unmap(&copy->tx);
	spin_lock_irqsave(&c->lock, flags);
	list_splice_tail(&gone, &c->idle);
	spin_unlock_irqrestore(&c->lock, flags);
	return 0;
}

/*
 * The client submits nothing meanwhile. The tasklet stays enabled, so the channel can be used
 * again.
 */
static void nm_synchronize(struct dma_chan *chan)
{
	struct nm_chan *c = to_nm_chan(chan);

	kthread_flush_work(&c->work);
	tasklet_disable(&c->told);
	tasklet_enable(&c->told);
}

static void nm_free_chan(struct dma_chan *chan)
{
	struct nm_chan *c = to_nm_chan(chan);

	nm_terminate(chan);
	nm_synchronize(chan);
	timer_delete_sync(&c->look);
	tasklet_kill(&c->told);
	WARN_ONCE(!list_empty(&c->prepared), "a copy was prepared and not submitted\n");
	nm_init_lists(c);
	kvfree(c->ring);
	c->ring = NULL;
}

static int nm_chan_init(struct nm_chan *c, int i)
{
	spin_lock_init(&c->prep_lock);
	spin_lock_init(&c->lock);
	nm_init_lists(c);
	c->fault.reorder = reorder;
	kthread_init_work(&c->work, nm_run);
	tasklet_setup(&c->told, nm_tell);
	timer_setup(&c->look, nm_look, 0);
	c->worker = kthread_run_worker(0, "kfi_mock_dma/%d", i);
	if (IS_ERR(c->worker))
		return PTR_ERR(c->worker);
	c->chan.device = &nm_engine;
	list_add_tail(&c->chan.device_node, &nm_engine.channels);
	return 0;
}

static int nm_init_chans(void)
{
	int i, err;

	INIT_LIST_HEAD(&nm_engine.channels);
	for (i = 0; i < nm_channels; i++) {
		err = nm_chan_init(&nm_chan[i], i);
		if (err)
			goto undo;
	}
	return 0;
undo:
	while (i--)
		kthread_destroy_worker(nm_chan[i].worker);
	return err;
}

static void nm_exit_chans(void)
{
	int i;

	for (i = 0; i < nm_channels; i++)
		kthread_destroy_worker(nm_chan[i].worker);
}

static void nm_engine_init(struct device *dev)
{
	nm_engine.dev = dev;
	dma_cap_set(DMA_MEMCPY, nm_engine.cap_mask);
	dma_cap_set(DMA_PRIVATE, nm_engine.cap_mask);
	if (nm_no_order)
		dma_cap_set(DMA_COMPLETION_NO_ORDER, nm_engine.cap_mask);
	nm_engine.device_alloc_chan_resources = nm_alloc_chan;
	nm_engine.device_free_chan_resources = nm_free_chan;
	nm_engine.device_prep_dma_memcpy = nm_prep;
	nm_engine.device_issue_pending = nm_issue;
	nm_engine.device_tx_status = nm_status;
	nm_engine.copy_align = copy_align;
	nm_engine.residue_granularity = DMA_RESIDUE_GRANULARITY_DESCRIPTOR;
	nm_engine.directions = BIT(DMA_MEM_TO_MEM);
	if (!terminate)
		return;
	nm_engine.device_terminate_all = nm_terminate;
	nm_engine.device_synchronize = nm_synchronize;
}

static int nm_probe(struct platform_device *platform)
{
	int err;

	err = dma_coerce_mask_and_coherent(&platform->dev, DMA_BIT_MASK(64));
	if (err)
		return err;
	err = nm_init_chans();
	if (err)
		return err;
	nm_engine_init(&platform->dev);
	err = dma_async_device_register(&nm_engine);
	if (err)
		nm_exit_chans();
	return err;
}

static void nm_remove(struct platform_device *platform)
{
	dma_async_device_unregister(&nm_engine);
	nm_exit_chans();
}

static struct platform_driver nm_driver = {
	.probe = nm_probe,
	.remove = nm_remove,
	.driver = { .name = "ioatdma" },
};

/* An engine can be registered only for a device that has a driver. */
int nm_dma_init(void)
{
	int err;

	if (nm_channels > NM_CHANS || !ring)
		return -EINVAL;
	if (!nm_channels)
		return 0;
	nm_driver.driver.name = engine;
	nm_no_residue = !strcmp(engine, "ioatdma") || !strcmp(engine, "idxd");
	err = platform_driver_register(&nm_driver);
	if (err)
		return err;
	nm_platform = platform_device_register_simple(nm_driver.driver.name, PLATFORM_DEVID_NONE,
						      NULL, 0);
	if (IS_ERR(nm_platform)) {
		platform_driver_unregister(&nm_driver);
		return PTR_ERR(nm_platform);
	}
	return 0;
}

void nm_dma_exit(void)
{
	if (!nm_channels)
		return;
	platform_device_unregister(nm_platform);
	platform_driver_unregister(&nm_driver);
}

void nm_dma_show(struct seq_file *file)
{
	unsigned long flags;
	struct nm_chan *c;

	for (c = nm_chan; c < nm_chan + nm_channels; c++) {
		spin_lock_irqsave(&c->lock, flags);
		seq_printf(file,
			   "dma %td copies %llu bytes %llu irqs %llu errors %llu aborted %llu full %llu\n",
			   c - nm_chan, c->copies, c->bytes, c->irqs, c->errors,
			   c->aborted, c->full);
		spin_unlock_irqrestore(&c->lock, flags);
	}
}
