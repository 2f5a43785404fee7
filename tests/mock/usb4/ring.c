// SPDX-License-Identifier: GPL-2.0
/*
 * ring.c - rings for service drivers: the driver's half, which drivers/thunderbolt/nhi.c is in the
 * kernel. Frames are in ring.queue until there are descriptors for them, and in ring.in_flight
 * until they are completed.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/export.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string_choices.h>
#include "mock.h"

static unsigned int vectors = TM_VECTORS;
module_param(vectors, uint, 0444);
MODULE_PARM_DESC(vectors, "interrupts of a host interface, of which each ring takes one and the control channel two (2-16, default 16)");

static const char *tm_kind_of(const struct tb_ring *ring)
{
	return ring->is_tx ? "TX ring" : "RX ring";
}

/* ---- descriptors, under ring->lock ---- */

static bool tm_full(const struct tb_ring *ring)
{
	return (ring->head + 1) % ring->size == ring->tail;
}

static void tm_write_desc(struct tb_ring *ring, const struct ring_frame *frame)
{
	struct ring_desc *desc = &ring->descriptors[ring->head];
	u32 word = FIELD_PREP(TM_DESC_FLAGS, RING_DESC_POSTED | RING_DESC_INTERRUPT);

	if (ring->is_tx)
		word |= FIELD_PREP(TM_DESC_LENGTH, (u32)frame->size) |
			FIELD_PREP(TM_DESC_EOF, (u32)frame->eof) |
			FIELD_PREP(TM_DESC_SOF, (u32)frame->sof);
	desc->phys = cpu_to_le64(frame->buffer_phy);
	desc->time = 0;
	WRITE_ONCE(desc->word, cpu_to_le32(word));
	ring->head = (ring->head + 1) % ring->size;
}

/* Post what there are descriptors for. */
static void tm_post_queue(struct tb_ring *ring)
{
	struct ring_frame *frame;
	int before = ring->head;

	lockdep_assert_held(&ring->lock);
	while (!tm_full(ring) && !list_empty(&ring->queue)) {
		frame = list_first_entry(&ring->queue, struct ring_frame, list);
		list_move_tail(&frame->list, &ring->in_flight);
		tm_write_desc(ring, frame);
	}
	if (ring->head == before)
		return;
	spin_lock(&tm_lock);
	tm_engine_post(to_tm_ring(ring), ring->head);
	spin_unlock(&tm_lock);
}

/* Return the oldest frame if the host interface has completed it. It stays in its list. */
static struct ring_frame *tm_completed(struct tb_ring *ring)
{
	struct ring_frame *frame;
	u32 word;

	lockdep_assert_held(&ring->lock);
	if (ring->head == ring->tail)
		return NULL;
	/* pairs with tm_complete() */
	word = le32_to_cpu(smp_load_acquire(&ring->descriptors[ring->tail].word));
	if (!(word & TM_DESC_DONE))
		return NULL;
	frame = list_first_entry(&ring->in_flight, struct ring_frame, list);
	if (!ring->is_tx) {
		frame->size = FIELD_GET(TM_DESC_LENGTH, word);
		frame->eof = FIELD_GET(TM_DESC_EOF, word);
		frame->sof = FIELD_GET(TM_DESC_SOF, word);
		frame->flags = FIELD_GET(TM_DESC_FLAGS, word);
	}
	ring->tail = (ring->tail + 1) % ring->size;
	return frame;
}

/* ---- completion ---- */

static void tm_ring_work(struct work_struct *work)
{
	struct tb_ring *ring = container_of(work, struct tb_ring, work);
	struct ring_frame *frame;
	unsigned long flags;
	bool canceled;
	LIST_HEAD(done);

	spin_lock_irqsave(&ring->lock, flags);
	canceled = !ring->running;
	if (canceled) {
		list_splice_tail_init(&ring->in_flight, &done);
		list_splice_tail_init(&ring->queue, &done);
	} else {
		while ((frame = tm_completed(ring)))
			list_move_tail(&frame->list, &done);
		tm_post_queue(ring);
	}
	spin_unlock_irqrestore(&ring->lock, flags);

	/* The callback may free the frame, or enqueue it again. */
	while ((frame = list_first_entry_or_null(&done, struct ring_frame, list))) {
		list_del_init(&frame->list);
		if (frame->callback)
			frame->callback(ring, frame, canceled);
	}
}

static bool tm_mask(struct tb_ring *ring, bool mask)
{
	bool before;

	spin_lock(&tm_lock);
	before = !tm_engine_enable(to_tm_ring(ring), !mask);
	spin_unlock(&tm_lock);
	return before;
}

void tm_ring_interrupt(struct tb_ring *ring)
{
	lockdep_assert_held(&ring->nhi->lock);
	spin_lock(&ring->lock);
	if (ring->running && ring->start_poll) {
		tm_mask(ring, true);
		ring->start_poll(ring->poll_data);
	} else if (ring->running) {
		schedule_work(&ring->work);
	}
	spin_unlock(&ring->lock);
}

struct ring_frame *tb_ring_poll(struct tb_ring *ring)
{
	struct ring_frame *frame = NULL;
	unsigned long flags;

	spin_lock_irqsave(&ring->lock, flags);
	if (ring->running)
		frame = tm_completed(ring);
	if (frame)
		list_del_init(&frame->list);
	spin_unlock_irqrestore(&ring->lock, flags);
	return frame;
}
EXPORT_SYMBOL_GPL(tb_ring_poll);

/* A ring that is stopped meanwhile gets its interrupt back all the same, as in the kernel. */
void tb_ring_poll_complete(struct tb_ring *ring)
{
	unsigned long flags;

	spin_lock_irqsave(&ring->nhi->lock, flags);
	spin_lock(&ring->lock);
	if (ring->start_poll)
		tm_mask(ring, false);
	spin_unlock(&ring->lock);
	spin_unlock_irqrestore(&ring->nhi->lock, flags);
}
EXPORT_SYMBOL_GPL(tb_ring_poll_complete);

int __tb_ring_enqueue(struct tb_ring *ring, struct ring_frame *frame)
{
	unsigned long flags;

	spin_lock_irqsave(&ring->lock, flags);
	if (!ring->running) {
		spin_unlock_irqrestore(&ring->lock, flags);
		return -ESHUTDOWN;
	}
	list_add_tail(&frame->list, &ring->queue);
	tm_post_queue(ring);
	spin_unlock_irqrestore(&ring->lock, flags);
	return 0;
}
EXPORT_SYMBOL_GPL(__tb_ring_enqueue);

/* ---- the life of a ring ---- */

/* The caller has a new ring, or one that it frees: no interrupt comes for it. */
static int tm_take_vector(struct tb_ring *ring)
{
	struct tm_host *host = tm_host_of(ring->nhi);
	int vector, err = 0;

	spin_lock_irq(&host->nhi.lock);
	vector = find_first_zero_bit(&host->vectors, vectors);
	if (vector >= vectors) {
		err = -ENOSPC;
	} else {
		__set_bit(vector, &host->vectors);
		ring->vector = vector;
		ring->irq = 1 + vector;
	}
	spin_unlock_irq(&host->nhi.lock);
	return err;
}

static void tm_drop_vector(struct tb_ring *ring)
{
	struct tm_host *host = tm_host_of(ring->nhi);

	spin_lock_irq(&host->nhi.lock);
	__clear_bit(ring->vector, &host->vectors);
	spin_unlock_irq(&host->nhi.lock);
}

static struct tb_ring **tm_slot(struct tb_ring *ring)
{
	return (ring->is_tx ? ring->nhi->tx_rings : ring->nhi->rx_rings) + ring->hop;
}

/* A ring of -1 gets the first one that is free. */
static int tm_take_hop(struct tb_ring *ring)
{
	bool any = ring->hop < 0;
	int err = 0;

	spin_lock_irq(&ring->nhi->lock);
	if (any)
		for (ring->hop = 1; ring->hop < TM_HOPS && *tm_slot(ring); ring->hop++)
			;
	if (ring->hop >= TM_HOPS)
		err = -EINVAL;
	else if (*tm_slot(ring))
		err = -EBUSY;
	else
		*tm_slot(ring) = ring;
	spin_unlock_irq(&ring->nhi->lock);
	if (err)
		dev_warn(ring->nhi->dev, "%s %d can't be allocated: %d\n", tm_kind_of(ring),
			 any ? -1 : ring->hop, err);
	return err;
}

/* Make a ring of what the caller has filled in. */
static struct tb_ring *tm_ring_alloc(const struct tb_ring *like)
{
	struct tm_ring *r;
	struct tb_ring *ring;

	r = kzalloc(sizeof(*r), GFP_KERNEL);
	if (!r)
		return NULL;
	INIT_LIST_HEAD(&r->coming);
	ring = &r->ring;
	*ring = *like;
	spin_lock_init(&ring->lock);
	INIT_LIST_HEAD(&ring->queue);
	INIT_LIST_HEAD(&ring->in_flight);
	INIT_WORK(&ring->work, tm_ring_work);
	ring->descriptors = dma_alloc_coherent(ring->nhi->dev,
					       ring->size * sizeof(*ring->descriptors),
					       &ring->descriptors_dma, GFP_KERNEL);
	if (!ring->descriptors)
		goto err_free;
	if (tm_take_vector(ring))
		goto err_descriptors;
	if (tm_take_hop(ring))
		goto err_vector;
	return ring;

err_vector:
	tm_drop_vector(ring);
err_descriptors:
	dma_free_coherent(ring->nhi->dev, ring->size * sizeof(*ring->descriptors),
			  ring->descriptors, ring->descriptors_dma);
err_free:
	kfree(r);
	return NULL;
}

struct tb_ring *tb_ring_alloc_tx(struct tb_nhi *nhi, int hop, int size, unsigned int flags)
{
	const struct tb_ring like = {
		.nhi = nhi, .hop = hop, .size = size, .flags = flags, .is_tx = true,
	};

	return tm_ring_alloc(&like);
}
EXPORT_SYMBOL_GPL(tb_ring_alloc_tx);

struct tb_ring *tb_ring_alloc_rx(struct tb_nhi *nhi, int hop, int size, unsigned int flags,
				 int e2e_tx_hop, u16 sof_mask, u16 eof_mask,
				 void (*start_poll)(void *), void *poll_data)
{
	const struct tb_ring like = {
		.nhi = nhi, .hop = hop, .size = size, .flags = flags, .e2e_tx_hop = e2e_tx_hop,
		.sof_mask = sof_mask, .eof_mask = eof_mask, .start_poll = start_poll,
		.poll_data = poll_data,
	};

	return tm_ring_alloc(&like);
}
EXPORT_SYMBOL_GPL(tb_ring_alloc_rx);

/* Under nhi->lock and ring->lock. The kernel warns of an interrupt that is as it should become. */
static void tm_interrupt_active(struct tb_ring *ring, bool active)
{
	if (tm_mask(ring, !active) != active)
		dev_WARN(ring->nhi->dev, "interrupt for %s %d is already %s\n", tm_kind_of(ring),
			 ring->hop, str_enabled_disabled(active));
}

void tb_ring_start(struct tb_ring *ring)
{
	spin_lock_irq(&ring->nhi->lock);
	spin_lock(&ring->lock);
	if (ring->running) {
		dev_WARN(ring->nhi->dev, "%s %d already started\n", tm_kind_of(ring), ring->hop);
		goto out;
	}
	spin_lock(&tm_lock);
	tm_engine_start(to_tm_ring(ring));
	spin_unlock(&tm_lock);
	tm_interrupt_active(ring, true);
	ring->running = true;
out:
	spin_unlock(&ring->lock);
	spin_unlock_irq(&ring->nhi->lock);
}
EXPORT_SYMBOL_GPL(tb_ring_start);

static void tm_halt(struct tb_ring *ring)
{
	spin_lock(&tm_lock);
	tm_engine_stop(to_tm_ring(ring));
	spin_unlock(&tm_lock);
}

void tb_ring_stop(struct tb_ring *ring)
{
	spin_lock_irq(&ring->nhi->lock);
	spin_lock(&ring->lock);
	if (!ring->running) {
		dev_WARN(ring->nhi->dev, "%s %d already stopped\n", tm_kind_of(ring), ring->hop);
		goto out;
	}
	tm_interrupt_active(ring, false);
	tm_halt(ring);
	ring->head = 0;
	ring->tail = 0;
	ring->running = false;
out:
	spin_unlock(&ring->lock);
	spin_unlock_irq(&ring->nhi->lock);
	schedule_work(&ring->work);
	flush_work(&ring->work);
}
EXPORT_SYMBOL_GPL(tb_ring_stop);

void tb_ring_free(struct tb_ring *ring)
{
	spin_lock_irq(&ring->nhi->lock);
	*tm_slot(ring) = NULL;
	if (ring->running)
		dev_WARN(ring->nhi->dev, "%s %d still running\n", tm_kind_of(ring), ring->hop);
	/* In hardware it would write to memory that is free. */
	tm_halt(ring);
	spin_unlock_irq(&ring->nhi->lock);
	tm_drop_vector(ring);
	dma_free_coherent(ring->nhi->dev, ring->size * sizeof(*ring->descriptors),
			  ring->descriptors, ring->descriptors_dma);
	flush_work(&ring->work);
	if (ring->hop)
		msleep(READ_ONCE(tm_host_of(ring->nhi)->slow_free_ms));
	kfree(to_tm_ring(ring));
}
EXPORT_SYMBOL_GPL(tb_ring_free);

bool tm_rings_left(struct tm_host *host)
{
	unsigned long flags;
	bool left = false;
	int hop;

	spin_lock_irqsave(&host->nhi.lock, flags);
	for (hop = 1; hop < TM_HOPS; hop++)
		left |= host->tx_rings[hop] || host->rx_rings[hop];
	spin_unlock_irqrestore(&host->nhi.lock, flags);
	return left;
}
