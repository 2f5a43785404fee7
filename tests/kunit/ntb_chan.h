/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ntb_chan.h - a DMA channel for tests of the ring of kfi_ntb, which takes every liberty that the
 * dmaengine interface allows
 *
 * Only a fence orders copies on it, and not even that if it is loose: those that nothing orders
 * are executed last one first. A test includes this file after struct end, the end of a ring that
 * the channel copies for, and the functions end_on() and end_off(), which start and stop the ring.
 */
#ifndef _KFI_KUNIT_NTB_CHAN_H
#define _KFI_KUNIT_NTB_CHAN_H

#define CHAN_RING	64U

/**
 * struct chan - the channel of one end
 * @device: holds the operations of the channel
 * @chan: what the ring sees
 * @end: the end whose ring submits copies
 * @tx: ring of copies; those from @ran to @head are submitted and have not been executed
 * @head: number of copies submitted so far
 * @ran: number of copies executed so far
 * @early: copies that were executed ahead of one that they depend on
 * @hold: nothing is executed
 * @loose: fences do not hold, so the work item of the ring's engine gives the copies
 * @later: executes copies that are issued, with @loose
 * @refuse: the n-th copy that is submitted from now on is refused; 0: none is
 * @bounce: bounce memory that the ring's engine gets with the channel
 *
 * The lock of the end's ring protects all members: the ring calls the channel with it held, and
 * with
 * @loose without it.
 */
struct chan {
	struct dma_device		device;
	struct dma_chan			chan;
	struct end			*end;
	struct dma_async_tx_descriptor	tx[CHAN_RING];
	u32				head, ran;
	u32				early;
	bool				hold, loose;
	struct delayed_work		later;
	u32				refuse;
	u8				bounce[NT_BOUNCE];
};

static struct chan *chan_of(struct dma_chan *chan)
{
	return container_of(chan, struct chan, chan);
}

static dma_cookie_t chan_submit(struct dma_async_tx_descriptor *tx)
{
	struct chan *c = chan_of(tx->chan);
	dma_cookie_t cookie;

	if (c->loose)
		spin_lock_bh(&c->end->ring.lock);
	cookie = c->refuse && !--c->refuse ? -ENOMEM : ++c->head;
	if (c->loose)
		spin_unlock_bh(&c->end->ring.lock);
	return cookie;
}

static struct dma_async_tx_descriptor *chan_prep(struct dma_chan *chan, dma_addr_t to,
						 dma_addr_t from, size_t len, unsigned long flags)
{
	struct chan *c = chan_of(chan);
	struct dma_async_tx_descriptor *tx = &c->tx[c->head % CHAN_RING];

	if (c->head - READ_ONCE(c->ran) == CHAN_RING)
		return NULL;
	*tx = (struct dma_async_tx_descriptor) {
		.chan = chan, .flags = flags, .tx_submit = chan_submit,
	};
	return tx;
}

static struct nt_desc *chan_desc(struct chan *c, u32 i)
{
	return c->tx[i % CHAN_RING].callback_param;
}

static void chan_copy(struct chan *c, const struct nt_desc *d)
{
	if (d->what == NT_SIGNAL)
		nt_ring_schedule(&c->end->other->ring);
	else
		memcpy(c->end->other->mem + d->at,
		       d->what == NT_PAYLOAD && !d->bounced ? (void *)(unsigned long)d->dma : d->from,
		       d->len);
}

/*
 * Execute the copies up to a fence, the last one first. A line depends on the bytes that it
 * announces, a signal on its line: the ring must have put a fence between them.
 */
static void chan_run(struct chan *c, u32 end)
{
	const struct dmaengine_result good = { .result = DMA_TRANS_NOERROR };
	u32 i, k;

	for (i = end; i-- != c->ran;) {
		u8 what = chan_desc(c, i)->what;

		for (k = c->ran; k != i; k++)
			c->early += what >= NT_LINE && chan_desc(c, k)->what < what;
		chan_copy(c, chan_desc(c, i));
	}
	for (; c->ran != end; c->ran++)
		nt_chan_done(chan_desc(c, c->ran), &good);
}

static void chan_go(struct chan *c)
{
	u32 end;

	while (!c->hold && c->ran != c->head) {
		for (end = c->ran;
		     end != c->head &&
		     (c->loose || !(c->tx[end % CHAN_RING].flags & DMA_PREP_FENCE)); end++)
			;
		chan_run(c, end + (end != c->head));
	}
}

static void chan_later(struct work_struct *work)
{
	struct chan *c = container_of(to_delayed_work(work), struct chan, later);

	spin_lock_bh(&c->end->ring.lock);
	chan_go(c);
	spin_unlock_bh(&c->end->ring.lock);
}

/* A loose channel waits for more copies, to execute the last one first. */
static void chan_issue(struct dma_chan *chan)
{
	struct chan *c = chan_of(chan);

	if (c->loose)
		schedule_delayed_work(&c->later, 1);
	else
		chan_go(c);
}

static enum dma_status chan_status(struct dma_chan *chan, dma_cookie_t cookie,
				   struct dma_tx_state *state)
{
	return DMA_COMPLETE;
}

/* Copies are only executed with the ring's lock held: nothing runs that had to be waited for. */
static int chan_terminate(struct dma_chan *chan)
{
	return 0;
}

static struct chan *chan_begin(struct kunit *test, struct end *end, bool loose)
{
	struct chan *c = kfi_test_zalloc(test, sizeof(*c));

	c->device.device_prep_dma_memcpy = chan_prep;
	c->device.device_issue_pending = chan_issue;
	c->device.device_tx_status = chan_status;
	c->device.device_terminate_all = chan_terminate;
	c->chan.device = &c->device;
	c->end = end;
	c->loose = loose;
	INIT_DELAYED_WORK(&c->later, chan_later);
	msleep(20);	/* first lines */
	KUNIT_ASSERT_TRUE(test, nt_ring_engine_idle(&end->ring));
	spin_lock_bh(&end->ring.lock);
	end->ring.engine.chan = &c->chan;
	end->ring.engine.bad = NULL;
	end->ring.engine.tasked = loose;
	end->ring.engine.bounce = c->bounce;
	end->ring.engine.bell_len = sizeof(u32);
	spin_unlock_bh(&end->ring.lock);
	return c;
}

/*
 * The engine must not free the bounce memory and the doorbells when the ring exits: they were not
 * allocated for a device.
 */
static void chan_end(struct end *end)
{
	end_off(end);
	cancel_delayed_work_sync(&chan_of(end->ring.engine.chan)->later);
	end->ring.engine.chan = NULL;
	end->ring.engine.tasked = false;
	end->ring.engine.bounce = NULL;
	end->ring.engine.bell_len = 0;
	end_on(end, 200, 101);
}

#endif
