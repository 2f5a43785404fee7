// SPDX-License-Identifier: GPL-2.0
/*
 * ring.c - the two rings of a cable, and the memory of their frames.
 *
 * Both rings are polled by u4_poll(). With a polled ring the core masks the interrupt when it comes
 * and calls ring->start_poll(), in hard interrupt context. The core offers that for receiving
 * rings. It works for sending rings as well, if the driver sets the function itself. Otherwise the
 * core would reap frames in a work item of system_wq, which has no rescuer, so writeback over a
 * cable could wait for memory that only writeback sets free.
 */
#include <linux/dma-mapping.h>
#include <linux/gfp.h>
#include "usb4.h"

/* ---- interrupts ---- */

/* Hard interrupt, under the lock of the ring. */
static void u4_rx_interrupt(void *data)
{
	struct u4_cable *c = data;

	WRITE_ONCE(c->rx.ring.masked, true);
	WRITE_ONCE(c->rx.ring.irqs, c->rx.ring.irqs + 1);
	queue_bh_work(&c->poll);
}

/* The same. Nothing waits for frames to have been sent, so the interrupt stays masked. */
static void u4_tx_interrupt(void *data)
{
	struct u4_cable *c = data;

	WRITE_ONCE(c->tx.ring.masked, true);
}

/* A frame that is complete by now may cause no interrupt: the caller looks once more. */
void u4_ring_unmask(struct u4_ring *ring)
{
	if (!READ_ONCE(ring->masked))
		return;
	WRITE_ONCE(ring->masked, false);
	tb_ring_poll_complete(ring->ring);
}

/*
 * The core warns if the interrupt of a ring that stops is masked. So unmask it, and mask it no
 * more: without start_poll the core leaves it alone. A frame that the core reaps from then on has
 * no callback, and belongs to us like all others when tb_ring_stop() has returned. u4_poll() must
 * not run.
 */
static void u4_ring_stop(struct u4_ring *ring)
{
	bool masked;

	do {
		WRITE_ONCE(ring->masked, false);
		tb_ring_poll_complete(ring->ring);
		spin_lock_irq(&ring->ring->lock);
		masked = ring->masked;
		if (!masked)
			ring->ring->start_poll = NULL;
		spin_unlock_irq(&ring->ring->lock);
	} while (masked);
	tb_ring_stop(ring->ring);
}

/* ---- start and stop ---- */

static void u4_ring_fill(struct u4_cable *c)
{
	unsigned int i;

	for (i = 0; i < U4_FRAMES; i++)
		tb_ring_rx(c->rx.ring.ring, &c->rx.slot[i].frame);
}

static void u4_ring_start(struct u4_ring *ring, void (*interrupt)(void *))
{
	ring->masked = false;
	ring->ring->start_poll = interrupt;
	tb_ring_start(ring->ring);
}

/* Return: 0; -ESHUTDOWN: the host interface is going away */
int u4_rings_start(struct u4_cable *c)
{
	lockdep_assert_held(&c->lock);
	u4_tx_reset(c);
	u4_rx_reset(c);
	u4_ring_start(&c->tx.ring, u4_tx_interrupt);
	u4_ring_start(&c->rx.ring, u4_rx_interrupt);
	c->running = true;
	if (!c->rx.ring.ring->running) {
		u4_rings_stop(c);
		return -ESHUTDOWN;
	}
	u4_ring_fill(c);
	return 0;
}

/* On return no frame is handled, and the timer does not run. */
void u4_rings_stop(struct u4_cable *c)
{
	lockdep_assert_held(&c->lock);
	if (!c->running)
		return;
	u4_tx_pause(c);
	u4_watch_stop(c);
	disable_bh_work_sync(&c->poll);
	u4_ring_stop(&c->rx.ring);
	u4_ring_stop(&c->tx.ring);
	c->running = false;
	enable_bh_work(&c->poll);
	cancel_bh_work_sync(&c->poll);
}

/*
 * An interrupt got lost, so the host interface sends no other: it has not been told that the last
 * one was handled. Only a stop clears that. The frames that are lost by it are repeated.
 */
void u4_ring_rx_restart(struct u4_cable *c)
{
	lockdep_assert_held(&c->lock);
	if (!c->running)
		return;
	disable_bh_work_sync(&c->poll);
	u4_ring_stop(&c->rx.ring);
	u4_ring_start(&c->rx.ring, u4_rx_interrupt);
	u4_ring_fill(c);
	enable_bh_work(&c->poll);
	queue_bh_work(&c->poll);
	c->stats.restarts++;
}

/* ---- memory ---- */

static int u4_slot_alloc(struct u4_cable *c, struct u4_slot *slot, enum dma_data_direction dir)
{
	slot->mem = (void *)get_zeroed_page(GFP_KERNEL);
	if (!slot->mem)
		return -ENOMEM;
	slot->frame.buffer_phy = dma_map_single(c->dma, slot->mem, U4W_FRAME, dir);
	slot->mapped = !dma_mapping_error(c->dma, slot->frame.buffer_phy);
	return slot->mapped ? 0 : -ENOMEM;
}

static int u4_slots_alloc(struct u4_cable *c, struct u4_slot *slot, unsigned int n,
			  enum dma_data_direction dir)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < n && !ret; i++)
		ret = u4_slot_alloc(c, &slot[i], dir);
	return ret;
}

static void u4_slots_unmap(struct u4_cable *c, struct u4_slot *slot, unsigned int n,
			   enum dma_data_direction dir)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		if (slot[i].mapped)
			dma_unmap_single(c->dma, slot[i].frame.buffer_phy, U4W_FRAME, dir);
		slot[i].mapped = false;
	}
}

static void u4_slots_free(struct u4_slot *slot, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		free_page((unsigned long)slot[i].mem);
		slot[i].mem = NULL;
	}
}

/* A ring of n descriptors has room for n - 1 frames. */
static int u4_ring_alloc(struct u4_cable *c)
{
	struct tb_nhi *nhi = c->xd->tb->nhi;
	unsigned int flags = RING_FLAG_FRAME | (u4_e2e ? RING_FLAG_E2E : 0);
	struct u4_ring *tx = &c->tx.ring, *rx = &c->rx.ring;

	tx->ring = tb_ring_alloc_tx(nhi, -1, U4_FRAMES + U4_STATES + 1, flags);
	if (!tx->ring)
		return -ENOSPC;
	tx->hop = tx->ring->hop;
	tx->ring->poll_data = c;
	rx->ring = tb_ring_alloc_rx(nhi, -1, U4_FRAMES + 1, flags, tx->hop, BIT(U4W_PDF_START),
				    BIT(U4W_PDF_END), u4_rx_interrupt, c);
	if (!rx->ring)
		return -ENOSPC;
	rx->hop = rx->ring->hop;
	return 0;
}

/* Return: 0; -ENOSPC: the host interface has no ring left; -ENOMEM */
int u4_rings_alloc(struct u4_cable *c)
{
	int ret = u4_ring_alloc(c);

	if (!ret) {
		c->dma = tb_ring_dma_device(c->rx.ring.ring);
		ret = u4_slots_alloc(c, c->tx.slot, U4_FRAMES, DMA_TO_DEVICE) ?:
		      u4_slots_alloc(c, c->tx.state, U4_STATES, DMA_TO_DEVICE) ?:
		      u4_slots_alloc(c, c->rx.slot, U4_FRAMES, DMA_FROM_DEVICE);
	}
	if (ret)
		u4_rings_free(c);
	return ret;
}

/* The rings do not run. Frames of the sending side stay, because the life may be held. */
void u4_rings_free(struct u4_cable *c)
{
	u4_slots_unmap(c, c->rx.slot, U4_FRAMES, DMA_FROM_DEVICE);
	u4_slots_unmap(c, c->tx.state, U4_STATES, DMA_TO_DEVICE);
	u4_slots_unmap(c, c->tx.slot, U4_FRAMES, DMA_TO_DEVICE);
	u4_slots_free(c->rx.slot, U4_FRAMES);
	u4_slots_free(c->tx.state, U4_STATES);
	if (c->rx.ring.ring)
		tb_ring_free(c->rx.ring.ring);
	if (c->tx.ring.ring)
		tb_ring_free(c->tx.ring.ring);
	c->rx.ring.ring = NULL;
	c->tx.ring.ring = NULL;
}

void u4_frames_free(struct u4_cable *c)
{
	u4_slots_free(c->tx.slot, U4_FRAMES);
}
