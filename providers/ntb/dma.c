// SPDX-License-Identifier: GPL-2.0
/*
 * dma.c - copies to the peer, see dma.h.
 *
 * A channel completes memory copies in order. It may execute them in any order, except for fences
 * (DMA_PREP_FENCE): a copy begins when the last fenced copy before it is complete. So the last copy
 * of the bytes that a line announces is fenced, and so is payload for places that later payload of
 * the batch overwrites. A line is fenced, too, because its signal and the next line must not
 * overtake it (bulk.c). A signal needs no fence, because nothing has to come behind it.
 *
 * A copy that was submitted behind a failed copy is not executed if a fence is between the two:
 * ioatdma aborts it. A copy that is submitted after the failure is executed, and if it is a line,
 * it would announce bytes that are not there. ioatdma calls the callbacks of the failed and the
 * aborted copies before it prepares another one, and no copy can fail between the preparation of a
 * copy and its submission, because one lock covers both. So a line that is prepared after an error
 * can be made empty. With an engine that behaves differently, or that does not abort, bulk.c finds
 * afterwards that a line was executed behind an error, and the link goes down.
 *
 * A channel without that order, or whose driver may sleep, gets its copies from the work item,
 * which waits at each fence until all copies before it have ended. It gives none behind a failed
 * one.
 *
 * Each copy has a callback that reports its result. Only the last copy of a batch and every
 * NT_IRQ_INTERVAL-th one, or more if the channel is small, ask for an interrupt. Callbacks run
 * under locks of the engine's driver, so they only store the result and queue the BH work.
 */
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "dma.h"

/* Windows and doorbells are no memory of this machine, and channels map the same ones */
#define NT_DMA_ATTRS	DMA_ATTR_SKIP_CPU_SYNC
#define NT_SLICE	65536U	/* bytes that the work item copies before it may be rescheduled */
#define NT_HALT_MS	20U	/* between two looks at a work item that has to see @halt */
#define NT_HALT_LOOKS	50U

/* ---- execution of copies ---- */

static void nt_desc_set_state(struct nt_desc *d, enum nt_copy_state state)
{
	struct bh_work_struct *wake = d->engine->wake;

	/* Pairs with nt_engine_reap(). @d may be used again or freed once the state is seen. */
	smp_store_release(&d->state, state);
	queue_bh_work(wake);
}

/* A copy of a channel has ended. */
static void nt_chan_end(struct nt_desc *d, enum nt_copy_state state)
{
	struct nt_engine *e = d->engine;

	if (state != NT_DONE)
		WRITE_ONCE(e->broken, true);
	/* Before the state, after which @e may be freed; orders @broken, see nt_task_settle() */
	if (e->tasked && atomic_dec_and_test(&e->flying))
		wake_up(&e->settled);
	nt_desc_set_state(d, state);
}

static void nt_chan_done(void *arg, const struct dmaengine_result *result)
{
	enum nt_copy_state state = NT_DONE;

	if (result && result->result != DMA_TRANS_NOERROR)
		state = result->result == DMA_TRANS_ABORTED ? NT_ABORTED : NT_FAILED;
	nt_chan_end(arg, state);
}

/*
 * Write words of 8 bytes, in no order among each other, behind all that was written before, even
 * if the window is mapped write-combining: there a fence makes a write on the bus of its own of
 * what is in front of it.
 */
static void nt_engine_words(const struct nt_engine *e, size_t at, const void *words, size_t len)
{
	size_t i;

	wmb();		/* behind what was written before */
	for (i = 0; i < len; i += sizeof(u64))
		iosys_map_wr(&e->peer, at + i, u64, *(const u64 *)(words + i));
}

/*
 * The same in the order of the words. What is written later, such as a doorbell, comes behind
 * them.
 */
static void nt_engine_ordered(const struct nt_engine *e, size_t at, const void *words, size_t len)
{
	size_t i;

	for (i = 0; i < len; i += sizeof(u64))
		nt_engine_words(e, at + i, words + i, sizeof(u64));
	wmb();		/* before a doorbell */
}

/*
 * Write a line without its word @bye, which nt_ring_bye() writes. A reader that sees the echo or
 * the serial relies on the positions, so these are written first.
 */
void nt_engine_write_line(struct nt_engine *e, u32 at, const struct ntw_line *line)
{
	const size_t echo = offsetof(struct ntw_line, echo), len = offsetof(struct ntw_line, bye);

	nt_engine_words(e, at, line, echo);
	nt_engine_words(e, at + echo, &line->echo, len - echo);
	wmb();		/* before a doorbell */
	e->count.cpu_bytes += len;
}

void nt_engine_write_word(struct nt_engine *e, u32 at, u64 word)
{
	__le64 le = cpu_to_le64(word);

	nt_engine_ordered(e, at, &le, sizeof(le));
	e->count.cpu_bytes += sizeof(le);
}

/* memcpy_toio() of x86 stores four bytes at a time. */
static void nt_engine_store(struct nt_engine *e, size_t at, const void *from, size_t len)
{
	if (IS_ENABLED(CONFIG_X86) && e->peer.is_iomem &&
	    IS_ALIGNED(at | (uintptr_t)from | len, sizeof(u64)))
		__iowrite64_copy(e->peer.vaddr_iomem + at, from, len / sizeof(u64));
	else
		iosys_map_memcpy_to(&e->peer, at, from, len);
}

void nt_engine_write(struct nt_engine *e, u32 at, const void *from, size_t len)
{
	nt_engine_store(e, at, from, len);
	e->count.cpu_bytes += len;
}

static void nt_work_copy(struct nt_engine *e, const struct nt_desc *d)
{
	u32 done, n;

	e->count.work_bytes += d->len;
	if (d->what == NT_LINE)
		return nt_engine_ordered(e, d->at, d->from, d->len);
	for (done = 0; done < d->len && !READ_ONCE(e->halt); done += n) {
		n = min(d->len - done, NT_SLICE);
		nt_engine_store(e, d->at + done, d->from + done, n);
		cond_resched();
	}
}

/* ---- giving of copies ---- */

/*
 * The memory can't be mapped for the engine. The CPU copies it to memory that is mapped, because
 * lines, which are the signs of life, must not wait here until an address is free.
 * Return: false if another such copy was not reaped yet.
 */
static bool nt_piece_bounce(struct nt_engine *e, struct nt_piece *piece, struct nt_desc *d)
{
	if (e->bouncing) {
		nt_engine_go(e);
		return false;
	}
	piece->len = min(piece->len, NT_BOUNCE);
	memcpy(e->bounce, piece->addr, piece->len);
	d->from = e->bounce;
	d->dma = e->bounce_dma;
	d->bounced = true;
	e->bouncing = true;
	e->count.unmapped++;
	return true;
}

static void nt_desc_unbounce(struct nt_engine *e, struct nt_desc *d)
{
	if (d->bounced)
		e->bouncing = false;
	d->bounced = false;
}

/* Return the address for the channel. @d->at was checked by nt_places_good(). */
static dma_addr_t nt_desc_to(const struct nt_engine *e, const struct nt_desc *d)
{
	if (d->what == NT_SIGNAL)
		return e->bell;
	return d->at & NTW_FLAT ? e->flat + (d->at & ~NTW_FLAT) : e->window + d->at;
}

static bool nt_chan_give(struct nt_engine *e, struct nt_desc *d)
{
	bool irq = d->flags & NT_COPY_LAST || d->bounced || ++e->since_irq >= e->irq_interval;
	struct dma_async_tx_descriptor *tx;
	u32 len = d->len;	/* once submitted, @d may be reaped and used again */
	dma_cookie_t cookie;

	tx = dmaengine_prep_dma_memcpy(e->chan, nt_desc_to(e, d), d->dma, len,
				       (irq ? DMA_PREP_INTERRUPT : 0) |
					       (d->flags & NT_COPY_FENCE ? DMA_PREP_FENCE : 0));
	if (!tx)
		return false;
	if (irq)
		e->since_irq = 0;
	/*
	 * A line announces that all copies before it have been executed. After an error this is not
	 * true, and the engine does not abort this copy any more, so make the line empty.
	 */
	if (d->what == NT_LINE && READ_ONCE(e->broken))
		memset((void *)d->from, 0, d->len);
	tx->callback_result = nt_chan_done;
	tx->callback_param = d;
	if (e->tasked)
		atomic_inc(&e->flying);
	cookie = dmaengine_submit(tx);
	if (dma_submit_error(cookie)) {
		/*
		 * The driver has dropped the copy and calls no callback. A line behind it has to be
		 * empty, as behind a copy that has failed.
		 */
		e->count.refused++;
		nt_chan_end(d, NT_ABORTED);
		return true;
	}
	e->cookie = cookie;
	e->count.descriptors++;
	e->count.dma_bytes += len;
	return true;
}

/*
 * The channel is full. If none of its copies had a completion interrupt, nothing would report that
 * it has room again, so more copies have one from now on.
 */
static void nt_chan_full(struct nt_engine *e)
{
	e->count.full++;
	e->irq_interval = clamp((e->head - e->tail) / 4, 1U, e->irq_interval);
	nt_engine_go(e);
	nt_engine_poll(e);
}

static bool nt_engine_give(struct nt_engine *e, struct nt_desc *d)
{
	d->state = NT_GIVEN;
	d->cpu = e->cpu;
	if (nt_engine_idle(e))
		WRITE_ONCE(e->halt, false);
	if (!e->cpu && !e->tasked && !nt_chan_give(e, d)) {
		nt_desc_unbounce(e, d);
		nt_chan_full(e);
		return false;
	}
	WRITE_ONCE(e->head, e->head + 1);
	if (e->cpu || e->tasked)
		smp_store_release(&e->given, e->given + 1);	/* pairs with nt_work() */
	else
		e->passed++;
	return true;
}

static struct nt_desc *nt_engine_next(struct nt_engine *e)
{
	struct nt_desc *d = &e->desc[e->head & (NT_DESCS - 1)];

	if (e->head - e->tail < NT_DESCS) {
		d->engine = e;
		return d;
	}
	e->count.full++;
	return NULL;
}

bool nt_engine_copy(struct nt_engine *e, enum nt_what what, struct nt_piece *piece, u64 at,
		    struct nt_rec *rec, u8 flags)
{
	struct nt_desc *d = nt_engine_next(e);

	if (!d)
		return false;
	d->what = what;
	d->at = at;
	d->rec = rec;
	d->flags = flags;
	d->from = piece->addr;
	d->dma = piece->dma;
	d->bounced = false;
	if (!e->cpu && piece->dma == DMA_MAPPING_ERROR && !nt_piece_bounce(e, piece, d))
		return false;
	d->len = piece->len;
	return nt_engine_give(e, d);
}

bool nt_engine_ring(struct nt_engine *e)
{
	struct nt_desc *d = nt_engine_next(e);

	if (!d)
		return false;
	*d = (struct nt_desc) {
		.engine = e, .what = NT_SIGNAL, .from = e->bell_data, .dma = e->bell_dma,
		.len = e->bell_len, .flags = NT_COPY_LAST,
	};
	return nt_engine_give(e, d);
}

void nt_engine_go(struct nt_engine *e)
{
	if (nt_engine_idle(e))
		return;
	if (e->cpu || e->tasked)
		queue_work(e->wq, &e->work);
	else
		dma_async_issue_pending(e->chan);
}

void nt_engine_poll(struct nt_engine *e)
{
	if (!e->cpu && !e->tasked && !nt_engine_idle(e))
		dmaengine_tx_status(e->chan, e->cookie, NULL);
}

struct nt_desc *nt_engine_reap(struct nt_engine *e)
{
	struct nt_desc *d = &e->desc[e->tail & (NT_DESCS - 1)];

	/* Pairs with nt_desc_set_state(). */
	if (nt_engine_idle(e) || smp_load_acquire(&d->state) == NT_GIVEN)
		return NULL;
	nt_desc_unbounce(e, d);
	return d;
}

/* The channel was terminated, and calls no callbacks for the copies that were not executed. */
static void nt_chan_ended(struct nt_engine *e)
{
	u32 i;

	for (i = e->tail; i != e->head; i++)
		if (READ_ONCE(e->desc[i & (NT_DESCS - 1)].state) == NT_GIVEN)
			nt_desc_set_state(&e->desc[i & (NT_DESCS - 1)], NT_ABORTED);
}

bool nt_engine_abort(struct nt_engine *e)
{
	unsigned int looks;

	WRITE_ONCE(e->halt, true);
	wake_up(&e->settled);
	/*
	 * The driver of a tasked channel may keep the work item for as long as the channel
	 * hangs.
	 */
	for (looks = 0; work_busy(&e->work); looks++) {
		if (looks == NT_HALT_LOOKS)
			return false;
		msleep(NT_HALT_MS);
	}
	if (e->cpu)
		return true;
	if (dmaengine_terminate_sync(e->chan))
		return false;
	atomic_set(&e->flying, 0);
	nt_chan_ended(e);
	return true;
}

/* ---- the work item: the CPU copies, or gives copies to a channel that is tasked ---- */

/*
 * Return: true if no copy of the channel is under way, so its next ones come behind all of them.
 */
static bool nt_task_settle(struct nt_engine *e)
{
	/* Pairs with nt_chan_end(): who sees that a copy has ended sees @broken, too. */
	wait_event(e->settled, !atomic_read_acquire(&e->flying) || READ_ONCE(e->halt));
	return !READ_ONCE(e->halt);
}

/*
 * A fence is a wait: the copies before it have ended, and written nothing later, when the next one
 * is given. A copy behind one that has failed is not given: nt_bulk_reap() gives it again.
 */
static void nt_task(struct nt_engine *e, struct nt_desc *d)
{
	bool fence = d->flags & NT_COPY_FENCE;

	while (!READ_ONCE(e->halt) && !READ_ONCE(e->broken)) {
		if (nt_chan_give(e, d)) {
			/*
			 * At once, because the driver may wait for its end when it gets the
			 * next.
			 */
			dma_async_issue_pending(e->chan);
			if (fence)
				nt_task_settle(e);
			return;
		}
		/*
		 * It is full, or it takes no copies any more: then the link's time limit ends
		 * this.
		 */
		if (nt_task_settle(e))
			usleep_range(1000, 2000);
	}
	nt_desc_set_state(d, NT_ABORTED);
}

static void nt_work_one(struct nt_engine *e, struct nt_desc *d)
{
	if (!d->cpu)
		return nt_task(e, d);
	if (!READ_ONCE(e->halt))
		nt_work_copy(e, d);
	nt_desc_set_state(d, READ_ONCE(e->halt) ? NT_ABORTED : NT_DONE);
}

static void nt_work(struct work_struct *work)
{
	struct nt_engine *e = container_of(work, struct nt_engine, work);

	/* Pairs with nt_engine_give(): descriptors below @given are complete, and so is @passed. */
	while (e->ran != smp_load_acquire(&e->given))
		nt_work_one(e, &e->desc[(e->ran++ + e->passed) & (NT_DESCS - 1)]);
}

/* ---- memory, channel and windows ---- */

void *nt_engine_alloc(struct nt_engine *e, size_t len, dma_addr_t *dma)
{
	*dma = 0;
	return e->chan ? dma_alloc_coherent(e->dev, len, dma, GFP_KERNEL) :
			 kvzalloc(len, GFP_KERNEL);
}

void nt_engine_free(struct nt_engine *e, size_t len, void *mem, dma_addr_t dma)
{
	if (!mem)
		return;
	if (e->chan)
		dma_free_coherent(e->dev, len, mem, dma);
	else
		kvfree(mem);
}

/* ---- which engines are used, and how far they are trusted ---- */

const char *nt_engine_driver(const struct nt_engine *e)
{
	return e->dev && e->dev->driver ? e->dev->driver->name : "no driver";
}

/* ptdma, ae4dma and plx_dma call back after an error as if there was none. */
bool nt_engine_reports(const struct nt_engine *e)
{
	return !e->chan || !strcmp(nt_engine_driver(e), "ioatdma") ||
	       !strcmp(nt_engine_driver(e), "idxd");
}

/*
 * Return: true if copies have to be given by the work item: the channel completes copies in any
 * order, so a fence does not hold, or its driver may sleep when it is given one. idxd does both.
 */
static bool nt_chan_tasked(const struct dma_chan *chan)
{
	const struct device *dev = chan->device->dev;

	return dma_has_cap(DMA_COMPLETION_NO_ORDER, chan->device->cap_mask) ||
	       (dev->driver && !strcmp(dev->driver->name, "ae4dma"));
}

bool nt_engine_aligned(const struct nt_engine *e, u64 bits)
{
	return !e->chan || !(bits & (BIT_ULL(e->chan->device->copy_align) - 1));
}

void nt_engine_give_up(struct nt_engine *e, const struct nt_reason *bad, bool failed)
{
	dev_err_ratelimited(e->dev,
			    "kfi_ntb does not use %s of this DMA engine (%s): %s. The CPU copies, which is slower; %s\n",
			    dma_chan_name(e->chan), nt_engine_driver(e), bad->why, bad->help);
	WRITE_ONCE(e->bad, bad);
	e->failed |= failed;
	e->cpu = true;
}

/**
 * struct nt_want - the channel that is looked for
 * @node: NUMA node of its device, or NUMA_NO_NODE for any
 * @like: another channel of the same driver is looked for; or NULL
 * @refused: device of an engine that wants too large an alignment; or NULL
 */
struct nt_want {
	int			node;
	const struct dma_chan	*like;
	struct device		*refused;
};

static bool nt_chan_fits(struct dma_chan *chan, void *arg)
{
	struct nt_want *want = arg;

	/* The line is the shortest copy that each batch has. */
	if (1U << chan->device->copy_align > sizeof(struct ntw_bulk_line)) {
		want->refused = chan->device->dev;
		return false;
	}
	/* On many Xeons each channel of ioatdma is a function of its own. */
	if (want->like && chan->device->dev->driver != want->like->device->dev->driver)
		return false;
	return want->node == NUMA_NO_NODE || dev_to_node(chan->device->dev) == want->node;
}

/* Return a channel, or NULL, and why there is none in *@bad. */
static struct dma_chan *nt_chan_get(int node, const struct dma_chan *like,
				    const struct nt_reason **bad)
{
	static const struct nt_reason none = {
		"no driver of one is loaded", "load it, and kfi_ntb again"
	};
	static const struct nt_reason crooked = { "it wants too large an alignment" };
	struct nt_want near = { .node = node, .like = like };
	struct nt_want any = { .node = NUMA_NO_NODE };
	struct dma_chan *chan = NULL;
	dma_cap_mask_t mask;

	dma_cap_zero(mask);
	dma_cap_set(DMA_MEMCPY, mask);
	if (node != NUMA_NO_NODE || like)
		chan = dma_request_channel(mask, nt_chan_fits, &near);
	if (!chan && !like)
		chan = dma_request_channel(mask, nt_chan_fits, &any);
	if (!chan && any.refused)
		dev_warn(any.refused,
			 "kfi_ntb does not use this DMA engine: %s. The CPU copies, which is slower\n",
			 crooked.why);
	if (!chan)
		*bad = any.refused ? &crooked : &none;
	return chan;
}

int nt_engine_init(struct nt_engine *e, int node, bool use, struct bh_work_struct *wake,
		   struct workqueue_struct *wq, const struct nt_engine *like)
{
	static const struct nt_reason unwanted = { "the parameter use_dma says so" };
	int ret = -ENOMEM;

	*e = (struct nt_engine) { .wake = wake, .wq = wq, .irq_interval = NT_IRQ_INTERVAL };
	INIT_WORK(&e->work, nt_work);
	init_waitqueue_head(&e->settled);
	e->desc = kvzalloc_node(NT_DESCS * sizeof(*e->desc), GFP_KERNEL, node);
	if (!e->desc)
		return -ENOMEM;
	e->bad = like ? like->bad : &unwanted;
	if (like && like->chan)
		e->chan = nt_chan_get(dev_to_node(like->dev), like->chan, &e->bad);
	else if (!like && use)
		e->chan = nt_chan_get(node, NULL, &e->bad);
	if (like && like->chan && !e->chan) {
		ret = -ENODEV;
		goto free;
	}
	e->dev = e->chan ? e->chan->device->dev : NULL;
	e->cpu = !e->chan;
	e->failed = !e->chan;
	if (e->chan)
		e->bad = NULL;
	e->tasked = e->chan && nt_chan_tasked(e->chan);
	if (e->tasked)
		e->irq_interval = 1;	/* idxd reports no other copy at all */
	e->piece_max = e->chan ? min(NT_PIECE_MAX, dma_max_mapping_size(e->dev)) : NT_PIECE_MAX;
	e->bell_data = nt_engine_alloc(e, sizeof(*e->bell_data), &e->bell_dma);
	if (!e->bell_data)
		goto release;
	if (!e->chan)
		return 0;
	e->bounce = nt_engine_alloc(e, NT_BOUNCE, &e->bounce_dma);
	if (e->bounce)
		return 0;
	nt_engine_free(e, sizeof(*e->bell_data), e->bell_data, e->bell_dma);
release:
	if (e->chan)
		dma_release_channel(e->chan);
free:
	kvfree(e->desc);
	return ret;
}

void nt_engine_exit(struct nt_engine *e)
{
	nt_engine_free(e, NT_BOUNCE, e->bounce, e->bounce_dma);
	nt_engine_free(e, sizeof(*e->bell_data), e->bell_data, e->bell_dma);
	if (e->chan)
		dma_release_channel(e->chan);
	kvfree(e->desc);
}

int nt_engine_open(struct nt_engine *e, phys_addr_t base, size_t len, const struct iosys_map *vaddr)
{
	e->peer = *vaddr;
	e->size = len;
	if (!e->failed)
		WRITE_ONCE(e->bad, NULL);
	e->failures = 0;
	e->broken = false;
	e->cpu = !nt_engine_uses_chan(e);
	if (!e->chan)
		return 0;
	e->window = dma_map_resource(e->dev, base, len, DMA_FROM_DEVICE, NT_DMA_ATTRS);
	if (dma_mapping_error(e->dev, e->window))
		return -EIO;
	e->window_len = len;
	return 0;
}

void nt_engine_flat_close(struct nt_engine *e)
{
	if (e->flat_len)
		dma_unmap_resource(e->dev, e->flat, e->flat_len, DMA_FROM_DEVICE, NT_DMA_ATTRS);
	e->flat_len = 0;
}

void nt_engine_bell_close(struct nt_engine *e)
{
	if (e->bell_len)
		dma_unmap_resource(e->dev, e->bell, e->bell_len, DMA_FROM_DEVICE, NT_DMA_ATTRS);
	e->bell_len = 0;
}

void nt_engine_close(struct nt_engine *e)
{
	nt_engine_bell_close(e);
	if (e->window_len)
		dma_unmap_resource(e->dev, e->window, e->window_len, DMA_FROM_DEVICE, NT_DMA_ATTRS);
	nt_engine_flat_close(e);
	e->window_len = 0;
	e->size = 0;
}

bool nt_engine_flat(struct nt_engine *e, phys_addr_t base, u64 len)
{
	/* The CPU has no mapping of that window, so it can't copy what the engine can't. */
	if (!nt_engine_uses_chan(e) || !nt_engine_aligned(e, 1) || len > SIZE_MAX)
		return false;
	e->flat = dma_map_resource(e->dev, base, len, DMA_FROM_DEVICE, NT_DMA_ATTRS);
	if (dma_mapping_error(e->dev, e->flat))
		return false;
	e->flat_len = len;
	return true;
}

bool nt_engine_bell(struct nt_engine *e, phys_addr_t base, size_t len, u64 data)
{
	if (!nt_engine_uses_chan(e) || !len || len > sizeof(*e->bell_data) ||
	    !nt_engine_aligned(e, base | len))
		return false;
	/* ntb_hw_switchtec names 4 bytes of a register of 8 for bits of its upper half, too. */
	if (len < sizeof(data) && data >> (BITS_PER_BYTE * len))
		return false;
	e->bell = dma_map_resource(e->dev, base, len, DMA_FROM_DEVICE, NT_DMA_ATTRS);
	if (dma_mapping_error(e->dev, e->bell))
		return false;
	*e->bell_data = cpu_to_le64(data);
	e->bell_len = len;
	return true;
}
