// SPDX-License-Identifier: GPL-2.0
/*
 * rx.c - the receiving side of a cable: takes frames from the ring in softirq, and passes their
 * records to the multiplexer in the order of their numbers. Whatever a frame says is checked here
 * or in wire.c, and records again by the multiplexer.
 */
#include <linux/dma-mapping.h>
#include "usb4.h"

/* The peer does not keep to the protocol. */
static void u4_rx_bad(struct u4_cable *c)
{
	u4_cable_fault(c, "the peer has sent an invalid frame");
}

/* Pass the records of a frame on. Return: 0, -EPROTO */
static int u4_rx_records(struct u4_cable *c, const void *content, u32 len)
{
	struct kfi_mux_rec rec;
	u32 at;

	for (at = 0; at < len; at += u4w_rec_size(rec.len)) {
		if (u4w_decode_rec(content + at, len - at, &rec))
			return -EPROTO;
		kfi_mux_rx(&c->way->mux, 0, &rec, content + at + sizeof(struct u4w_rec));
	}
	return 0;
}

/*
 * Handle the number of a frame. Return: true: it is the next one. Other frames with records are
 * dropped, because the peer repeats all of them in order.
 */
static bool u4_rx_is_next(struct u4_cable *c, const struct u4w_frame *f)
{
	struct u4_rx *rx = &c->rx;
	u32 ahead = f->seq - rx->next;

	if (!rx->open) {
		/* Nothing is lost: the peer is up before us, and sends it again when asked. */
		rx->missed |= f->type == U4W_RECORDS;
		return false;
	}
	if (!ahead)
		return true;
	if ((s32)ahead < 0)
		return false;		/* repeated, though it had arrived */
	if (ahead > rx->window) {
		u4_rx_bad(c);
		return false;
	}
	if (!rx->gap_told && !rx->gap)
		c->stats.lost++;
	/* A peer that asks has heard no answer: perhaps that was lost. */
	if (!rx->gap_told || f->bits & U4W_ASKS)
		rx->gap = true;
	return false;
}

static void u4_rx_frame(struct u4_cable *c, const struct u4_slot *slot)
{
	u32 size = slot->frame.size ?: U4W_FRAME;
	struct u4_rx *rx = &c->rx;
	struct u4w_frame f;

	if (slot->frame.flags & (RING_DESC_CRC_ERROR | RING_DESC_BUFFER_OVERRUN)) {
		c->stats.damaged++;	/* nothing of it is valid */
		return;
	}
	if (u4w_decode_frame(slot->mem, size, &f)) {
		/* What another driver has sent over this path before may still arrive at first. */
		if (rx->heard)
			u4_rx_bad(c);
		else
			c->stats.strange++;
		return;
	}
	if (f.life != READ_ONCE(c->incarnation)) {
		c->stats.strange++;
		return;
	}
	WRITE_ONCE(rx->heard_at, jiffies);
	WRITE_ONCE(rx->heard, true);
	if (f.bits & U4W_HEARD && !rx->proved) {
		WRITE_ONCE(rx->proved, true);
		u4_cable_kick(c);
	}
	if (f.bits & U4W_ASKS)
		rx->asked = true;
	if (u4_tx_acked(c, f.ack, f.bits & U4W_GAP)) {
		u4_rx_bad(c);
		return;
	}
	if (!u4_rx_is_next(c, &f) || f.type != U4W_RECORDS)
		return;
	c->stats.received++;
	/* before the records: answers to them acknowledge this frame */
	WRITE_ONCE(rx->next, rx->next + 1);
	rx->gap = false;
	rx->gap_told = false;
	if (u4_rx_records(c, slot->mem + sizeof(struct u4w_head), f.len))
		u4_rx_bad(c);
}

/* Return: true: a frame was handled, and its slot is with the ring again */
static bool u4_rx_one(struct u4_cable *c)
{
	struct ring_frame *frame = tb_ring_poll(c->rx.ring.ring);
	struct u4_slot *slot = container_of(frame, struct u4_slot, frame);

	if (!frame)
		return false;
	if (!READ_ONCE(c->rx.ring.masked))
		WRITE_ONCE(c->rx.unannounced, c->rx.unannounced + 1);
	dma_sync_single_for_cpu(c->dma, frame->buffer_phy, U4W_FRAME, DMA_FROM_DEVICE);
	u4_rx_frame(c, slot);
	dma_sync_single_for_device(c->dma, frame->buffer_phy, U4W_FRAME, DMA_FROM_DEVICE);
	tb_ring_rx(c->rx.ring.ring, frame);
	return true;
}

/* Tell the peer what it has to know now. The other frames are acknowledged by the timer. */
static void u4_rx_answer(struct u4_cable *c)
{
	struct u4_rx *rx = &c->rx;
	struct u4_tx *tx = &c->tx;
	u8 bits;

	if (rx->open && rx->missed) {
		rx->gap = true;
		rx->missed = false;
	}
	bits = rx->gap ? U4W_GAP : 0;
	spin_lock(&tx->lock);
	if (rx->asked || rx->gap || rx->next - tx->acked >= rx->window / 8) {
		if (u4_tx_state(c, bits)) {
			rx->asked = false;
			rx->gap_told |= rx->gap;
			rx->gap = false;
		}
	}
	if (rx->next != tx->acked || rx->asked || rx->gap)
		u4_watch_hurry(c);
	spin_unlock(&tx->lock);
}

/*
 * Handle frames that have arrived. Completion handlers of consumers run in kfi_batch_end(), not
 * after each record.
 */
void u4_poll(struct bh_work_struct *work)
{
	struct u4_cable *c = container_of(work, struct u4_cable, poll);
	unsigned int n = 0;

	rcu_read_lock();
	kfi_batch_begin();
	while (n < U4_BUDGET && u4_rx_one(c))
		n++;
	kfi_batch_end();
	rcu_read_unlock();
	u4_rx_answer(c);
	if (c->rx.open)
		u4_tx_settle(c);
	if (n < U4_BUDGET) {
		u4_ring_unmask(&c->rx.ring);
		rcu_read_lock();
		kfi_batch_begin();
		if (u4_rx_one(c))
			n = U4_BUDGET;
		kfi_batch_end();
		rcu_read_unlock();
	}
	if (n == U4_BUDGET)
		queue_bh_work(work);
}

void u4_rx_reset(struct u4_cable *c)
{
	struct u4_rx *rx = &c->rx;

	rx->next = c->resumes ? c->resumes->rx.next : 0;
	rx->open = false;
	rx->heard = false;
	rx->heard_at = jiffies;
	rx->proved = false;
	rx->gap = false;
	rx->gap_told = false;
	rx->missed = false;
	rx->asked = false;
	rx->unannounced = 0;
}
