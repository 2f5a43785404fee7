// SPDX-License-Identifier: GPL-2.0
/*
 * dma_run.c - a thread of each channel makes the copies, or lets them fail.
 *
 * Addresses are bus addresses. An address in the range of windows and doorbells goes through the
 * bridge; all others are memory.
 */
#include <linux/bottom_half.h>
#include <linux/delay.h>
#include <linux/dma-direct.h>
#include <linux/random.h>
#include <linux/sizes.h>
#include "dma.h"
#include "mock.h"

#define NM_CHUNK	SZ_64K		/* bytes between two chances to reschedule */
#define NM_GROUP	16U		/* maximum of copies that are reordered among each other */

/* Return the memory at this address, or NULL. */
static void *nm_memory(struct nm_chan *c, dma_addr_t addr, size_t len)
{
	phys_addr_t phys = dma_to_phys(c->chan.device->dev, addr);

	if (!pfn_valid(PHYS_PFN(phys)) || !pfn_valid(PHYS_PFN(phys + len - 1)))
		return NULL;
	return phys_to_virt(phys);
}

/* Copy from window to window through a bounce page. */
static void nm_copy_across(const struct nm_place *to, const struct nm_place *from, size_t len)
{
	struct nm_place src = *from, dst = *to;
	u8 bounce[256];
	size_t n;

	for (; len; len -= n) {
		n = min(len, sizeof(bounce));
		nm_read(&src, bounce, n, true);
		nm_write(&dst, bounce, n, true);
		src.at += n;
		dst.at += n;
	}
}

static enum dmaengine_tx_result nm_copy_chunk(struct nm_chan *c, dma_addr_t dst, dma_addr_t src,
					      size_t len)
{
	bool cross_to, cross_from;
	struct nm_place to, from;
	void *d, *s;

	cross_to = nm_find(dst, &to);
	cross_from = nm_find(src, &from);
	d = cross_to ? NULL : nm_memory(c, dst, len);
	s = cross_from ? NULL : nm_memory(c, src, len);
	if ((cross_from && len > from.room) || (!cross_from && !s))
		return DMA_TRANS_READ_FAILED;
	if ((cross_to && len > to.room) || (!cross_to && !d))
		return DMA_TRANS_WRITE_FAILED;
	if (cross_to && nm_blind & BIT(c - nm_chan)) {
		nm_add(to.end, NM_BLOCKED, 1);
		return DMA_TRANS_NOERROR;
	}
	if (cross_to && cross_from)
		nm_copy_across(&to, &from, len);
	else if (cross_to)
		nm_write(&to, s, len, true);
	else if (cross_from)
		nm_read(&from, d, len, true);
	else
		memcpy(d, s, len);
	return DMA_TRANS_NOERROR;
}

static void nm_make(struct nm_chan *c, struct nm_copy *copy)
{
	size_t done, n;

	copy->result = (struct dmaengine_result){ .result = DMA_TRANS_NOERROR };
	for (done = 0; done < copy->len; done += n) {
		n = min_t(size_t, copy->len - done, NM_CHUNK);
		copy->result.result = nm_copy_chunk(c, copy->dst + done, copy->src + done, n);
		if (copy->result.result != DMA_TRANS_NOERROR)
			break;
		cond_resched();
	}
	copy->result.residue = copy->len - done;
}

static bool nm_now(u32 *countdown)
{
	return *countdown && !--*countdown;
}

/* Take the next copy, if there is one. Return: with reordering, take another one */
static bool nm_start_one(struct nm_chan *c)
{
	struct nm_copy *copy = list_first_entry_or_null(&c->issued, struct nm_copy, node);

	lockdep_assert_held(&c->lock);
	if (!copy || c->fault.hang)
		return false;
	list_move_tail(&copy->node, &c->running);
	copy->fails = nm_now(&c->fault.fail_write);
	return nm_no_order || !(copy->tx.flags & DMA_PREP_FENCE);
}

/*
 * Take the copies that run next: one copy; or, with reordering, all up to the first with
 * DMA_PREP_FENCE, before whose end no later copy begins. Copies complete in order, so all earlier
 * copies are complete then, too.
 */
static void nm_start(struct nm_chan *c)
{
	unsigned int n = 1;

	lockdep_assert_held(&c->lock);
	while (nm_start_one(c) && c->fault.reorder && n++ < NM_GROUP)
		;
}

/* Does the copy fail, by command or by its alignment? Then it is not made. Set its result. */
static bool nm_fails(struct nm_copy *copy)
{
	struct dma_device *engine = copy->tx.chan->device;

	copy->result = (struct dmaengine_result){ .result = DMA_TRANS_NOERROR };
	if (!copy->fails && is_dma_copy_aligned(engine, copy->src, copy->dst, copy->len))
		return false;
	copy->result.result = DMA_TRANS_WRITE_FAILED;
	copy->result.residue = copy->len;
	return true;
}

/* Does the engine pretend to have made the copy? */
static bool nm_pretends(const struct nm_copy *copy)
{
	return nm_silent && copy->len > nm_silent && copy->len % 2;
}

/* The last copy first: only a fence makes a copy wait for another one. */
static void nm_run_now(struct nm_chan *c)
{
	struct nm_copy *copy;

	list_for_each_entry_reverse(copy, &c->running, node)
		if (!nm_fails(copy) && !nm_pretends(copy))
			nm_make(c, copy);
}

static void nm_interrupt(struct nm_chan *c)
{
	lockdep_assert_held(&c->lock);
	c->irqs++;
	tasklet_schedule(&c->told);
}

/* Return a copy to the idle list that was terminated while it ran, or that has no callback. */
static void nm_forget(struct nm_chan *c, struct nm_copy *copy)
{
	dma_descriptor_unmap(&copy->tx);
	list_move_tail(&copy->node, &c->idle);
}

/*
 * Cookies complete in order, because copies leave this list in order. Return: has the client a
 * callback?
 */
static bool nm_complete(struct nm_chan *c, struct nm_copy *copy)
{
	bool failed = copy->result.result != DMA_TRANS_NOERROR;

	lockdep_assert_held(&c->lock);
	c->chan.completed_cookie = copy->tx.cookie;
	c->copies++;
	c->bytes += copy->len - copy->result.residue;
	c->errors += failed && copy->result.result != DMA_TRANS_ABORTED;
	c->aborted += copy->result.result == DMA_TRANS_ABORTED;
	if (nm_no_order && !(copy->tx.flags & DMA_PREP_INTERRUPT))
		nm_forget(c, copy);
	else
		list_move_tail(&copy->node, &c->done);
	return failed || copy->tx.flags & DMA_PREP_INTERRUPT;
}

/* After an error, copies behind it are aborted, as in ioatdma (ioat_abort_descs()). */
static void nm_abort(struct nm_chan *c)
{
	struct nm_copy *copy;

	lockdep_assert_held(&c->lock);
	list_splice_tail_init(&c->submitted, &c->issued);
	while ((copy = list_first_entry_or_null(&c->issued, struct nm_copy, node))) {
		copy->result = (struct dmaengine_result) {
			.result = DMA_TRANS_ABORTED, .residue = copy->len,
		};
		c->chan.completed_cookie = copy->tx.cookie;
		c->aborted++;
		list_move_tail(&copy->node, &c->done);
	}
}

void nm_look(struct timer_list *timer)
{
	struct nm_chan *c = container_of(timer, struct nm_chan, look);

	tasklet_schedule(&c->told);
}

/* The copy is idle before the callback, which may prepare the next one. */
static void nm_call(struct nm_chan *c, struct nm_copy *copy)
{
	struct dma_async_tx_descriptor tx = copy->tx;
	struct dmaengine_result result = copy->result;
	unsigned long flags;

	dma_descriptor_unmap(&copy->tx);
	spin_lock_irqsave(&c->lock, flags);
	list_add_tail(&copy->node, &c->idle);
	spin_unlock_irqrestore(&c->lock, flags);
	if (nm_no_residue)
		result.residue = get_random_u32();
	if (tx.callback_result)
		tx.callback_result(tx.callback_param, &result);
	else if (tx.callback)
		tx.callback(tx.callback_param);
}

static struct nm_copy *nm_take_done(struct nm_chan *c)
{
	struct nm_copy *copy;
	unsigned long flags;

	spin_lock_irqsave(&c->lock, flags);
	copy = list_first_entry_or_null(&c->done, struct nm_copy, node);
	if (copy && nm_shuffle)
		copy = list_last_entry(&c->done, struct nm_copy, node);
	if (copy)
		list_del_init(&copy->node);
	spin_unlock_irqrestore(&c->lock, flags);
	return copy;
}

void nm_tell(struct tasklet_struct *task)
{
	struct nm_chan *c = from_tasklet(c, task, told);
	struct nm_copy *copy;

	while ((copy = nm_take_done(c)))
		nm_call(c, copy);
}

/* What runs has ended. Bottom halves are off. */
static void nm_finish(struct nm_chan *c)
{
	struct nm_copy *copy, *next;
	bool tell = false, failed = false;

	/* A client that submits more has been told of the failure before. */
	spin_lock_bh(&c->prep_lock);
	spin_lock_irq(&c->lock);
	list_for_each_entry_safe(copy, next, &c->running, node) {
		if (copy->dropped) {
			nm_forget(c, copy);
			continue;
		}
		/* The bytes of a copy that was made early may have arrived all the same. */
		if (failed && !nm_no_order)
			copy->result = (struct dmaengine_result) {
				.result = DMA_TRANS_ABORTED, .residue = copy->len,
			};
		failed |= copy->result.result != DMA_TRANS_NOERROR;
		tell |= nm_complete(c, copy);
	}
	if (failed && !nm_no_order)
		nm_abort(c);
	if (tell && !failed)
		nm_interrupt(c);
	if (!list_empty(&c->done))
		mod_timer(&c->look, jiffies + msecs_to_jiffies(NM_LOOK_MS) + 1);
	spin_unlock_irq(&c->lock);
	if (failed)
		nm_tell(&c->told);
	spin_unlock_bh(&c->prep_lock);
}

void nm_run(struct kthread_work *work)
{
	struct nm_chan *c = container_of(work, struct nm_chan, work);

	for (;;) {
		spin_lock_irq(&c->lock);
		nm_start(c);
		spin_unlock_irq(&c->lock);
		if (list_empty(&c->running))	/* only this thread adds to it */
			return;
		nm_run_now(c);
		/* The tasklet runs at local_bh_enable(), as it would at the end of an interrupt. */
		local_bh_disable();
		nm_finish(c);
		local_bh_enable();
		cond_resched();
	}
}
