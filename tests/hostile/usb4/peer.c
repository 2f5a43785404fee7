// SPDX-License-Identifier: GPL-2.0
/*
 * peer.c - rings, frames, and lives that begin and end as they should. The callbacks of frames run
 * in work items of the core.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/gfp.h>
#include "hostile.h"

/* ---- sending ---- */

static void hu_sent(struct tb_ring *ring, struct ring_frame *frame, bool canceled)
{
	/* pairs with hu_slot_get() */
	smp_store_release(&container_of(frame, struct hu_slot, frame)->busy, false);
}

static struct hu_slot *hu_slot_get(struct hu *hu)
{
	struct hu_slot *slot = NULL;
	unsigned int i;

	spin_lock(&hu->lock);
	for (i = 0; i < HU_FRAMES && !slot; i++)
		if (!smp_load_acquire(&hu->out[i].busy))	/* pairs with hu_sent() */
			slot = &hu->out[i];
	if (slot)
		slot->busy = true;
	spin_unlock(&hu->lock);
	return slot;
}

/* Send it at once, or not at all: the work item of received frames does not wait. */
static int hu_frame_try(struct hu *hu, const void *bytes, u32 size)
{
	struct hu_slot *slot = hu_slot_get(hu);
	struct device *dma = tb_ring_dma_device(hu->tx);
	int ret;

	if (!slot)
		return -EAGAIN;
	memcpy(slot->mem, bytes, size);
	dma_sync_single_for_device(dma, slot->frame.buffer_phy, size, DMA_TO_DEVICE);
	slot->frame.size = size % U4W_FRAME;
	slot->frame.sof = U4W_PDF_START;
	slot->frame.eof = U4W_PDF_END;
	slot->frame.callback = hu_sent;
	ret = tb_ring_tx(hu->tx, &slot->frame);
	if (ret)
		WRITE_ONCE(slot->busy, false);
	return ret;
}

int hu_frame(struct hu *hu, const void *bytes, u32 size)
{
	unsigned long end = jiffies + msecs_to_jiffies(HU_SEND_MS);
	int ret;

	do {
		if (!hu->running || hu_get(hu, over))
			return -ENOTCONN;
		ret = hu_frame_try(hu, bytes, size);
		if (ret != -EAGAIN)
			return ret;
		usleep_range(100, 200);
	} while (time_before(jiffies, end));
	return -ETIMEDOUT;
}

struct u4w_frame hu_header(struct hu *hu, u32 len)
{
	struct u4w_frame f = { .type = len ? U4W_RECORDS : U4W_STATE, .bits = U4W_HEARD };

	spin_lock(&hu->lock);
	if (!hu->mute)
		hu->told = hu->next;
	f.seq = hu->seq;
	f.ack = hu->told;
	f.life = hu->life;
	f.len = len;
	spin_unlock(&hu->lock);
	return f;
}

int hu_framed(struct hu *hu, const struct u4w_frame *f, const void *bytes, u32 len)
{
	u4w_encode_frame(f, (struct u4w_head *)hu->frame);
	memcpy(hu->frame + sizeof(struct u4w_head), bytes, len);
	return hu_frame(hu, hu->frame, sizeof(struct u4w_head) + len);
}

int hu_state(struct hu *hu, u8 bits)
{
	struct u4w_frame f = hu_header(hu, 0);

	f.bits |= bits;
	return hu_framed(hu, &f, NULL, 0);
}

static bool hu_acked(struct hu *hu, u32 seq)
{
	return (s32)(hu_get(hu, acked) - seq) > 0;
}

int hu_records_unacked(struct hu *hu)
{
	struct u4w_frame f = hu_header(hu, hu->content.len);
	int ret = hu_framed(hu, &f, hu->content.bytes, hu->content.len);

	hu->content.len = 0;
	if (!ret)
		hu_set(hu, seq, f.seq + 1);
	return ret;
}

/* The victim drops frames that come before its life is up, so the frame may have to be repeated. */
int hu_records(struct hu *hu)
{
	unsigned long end = jiffies + msecs_to_jiffies(HU_SEND_MS);
	struct u4w_frame f = hu_header(hu, hu->content.len);
	int ret;

	hu_set(hu, seq, f.seq + 1);
	do {
		ret = hu_framed(hu, &f, hu->content.bytes, hu->content.len) ?:
		      hu_state(hu, U4W_ASKS);
	} while (!ret && !victim_until(hu_acked(hu, f.seq) || hu_get(hu, over), 100) &&
		 time_before(jiffies, end));
	hu->content.len = 0;
	if (ret)
		return ret;
	if (hu_acked(hu, f.seq))
		return 0;
	return hu_get(hu, over) ? -ENOTCONN : -ETIMEDOUT;
}

bool hu_add(struct hu *hu, const struct kfi_mux_rec *rec, const void *bytes, u32 len)
{
	struct hu_content *content = &hu->content;
	u32 size = u4w_rec_size(rec->len + len);
	u8 *at = content->bytes + content->len;

	if (content->len + size > sizeof(content->bytes))
		return false;
	memset(at, 0, size);
	u4w_encode_rec(rec, rec->len + len, (struct u4w_rec *)at);
	at += sizeof(struct u4w_rec);
	memcpy(at, rec->body, rec->len);
	memcpy(at + rec->len, bytes, len);
	content->len += size;
	return true;
}

/* ---- receiving ---- */

static struct hu_got *hu_got_at(struct hu *hu, u32 number)
{
	struct hu_got *got = &hu->got[number % HU_NUMBERS];

	lockdep_assert_held(&hu->lock);
	if (got->number != number)
		*got = (struct hu_got) { .number = number };
	return got;
}

static void hu_record_in(struct hu *hu, struct kfi_mux_rec *rec, const void *body)
{
	struct hu_got *got = hu_got_at(hu, rec->conn);
	struct kmw_calling c;

	memcpy(rec->body, body, min(rec->len, KFI_MUX_BODY_MAX));
	if (!kmw_decode_answer(rec, &c)) {
		got->answers++;
		got->from = c.number;
		got->status = c.status;
	} else if (!kmw_decode_close(rec)) {
		got->closes++;
	}
}

static void hu_records_in(struct hu *hu, const void *content, u32 len)
{
	struct kfi_mux_rec rec;
	u32 at;

	for (at = 0; at < len; at += u4w_rec_size(rec.len)) {
		if (u4w_decode_rec(content + at, len - at, &rec)) {
			pr_err("hostile: wrong: the victim sends a broken record\n");
			return;
		}
		hu_record_in(hu, &rec, content + at + sizeof(struct u4w_rec));
	}
}

/* Return: the victim has to be told that the frame has come */
static bool hu_frame_in(struct hu *hu, const void *mem, u32 size)
{
	struct u4w_frame f;

	lockdep_assert_held(&hu->lock);
	if (u4w_decode_frame(mem, size, &f)) {
		pr_err("hostile: wrong: the victim sends a broken frame\n");
		return false;
	}
	if (f.life != hu->incarnation)
		return false;
	hu->heard |= f.bits & U4W_HEARD;
	if ((s32)(f.ack - hu->acked) > 0)
		hu->acked = f.ack;
	if (f.type == U4W_STATE) {
		hu->states++;
		return f.bits & U4W_ASKS;
	}
	if (f.seq == hu->next) {
		hu->next++;
		hu_records_in(hu, mem + sizeof(struct u4w_head), f.len);
	}
	return true;
}

static void hu_received(struct tb_ring *ring, struct ring_frame *frame, bool canceled)
{
	struct hu_slot *slot = container_of(frame, struct hu_slot, frame);
	struct hu *hu = slot->hu;
	struct u4w_head head;
	struct u4w_frame f;
	bool tell;

	if (canceled)
		return;
	dma_sync_single_for_cpu(tb_ring_dma_device(ring), frame->buffer_phy, U4W_FRAME,
				DMA_FROM_DEVICE);
	spin_lock(&hu->lock);
	tell = hu_frame_in(hu, slot->mem, frame->size ?: U4W_FRAME) && !hu->mute;
	spin_unlock(&hu->lock);
	if (tell) {
		f = hu_header(hu, 0);
		u4w_encode_frame(&f, &head);
		hu_frame_try(hu, &head, sizeof(head));	/* or the victim asks again */
	}
	dma_sync_single_for_device(tb_ring_dma_device(ring), frame->buffer_phy, U4W_FRAME,
				   DMA_FROM_DEVICE);
	tb_ring_rx(ring, frame);
}

/* ---- rings ---- */

static int hu_slots_alloc(struct hu *hu, struct hu_slot *slots, struct device *dma,
			  enum dma_data_direction dir)
{
	struct hu_slot *slot;

	for (slot = slots; slot < slots + HU_FRAMES; slot++) {
		slot->hu = hu;
		slot->mem = (void *)get_zeroed_page(GFP_KERNEL);
		if (!slot->mem)
			return -ENOMEM;
		slot->frame.buffer_phy = dma_map_single(dma, slot->mem, U4W_FRAME, dir);
		if (!dma_mapping_error(dma, slot->frame.buffer_phy))
			continue;
		free_page((unsigned long)slot->mem);
		slot->mem = NULL;
		return -ENOMEM;
	}
	return 0;
}

static void hu_slots_free(struct hu_slot *slots, struct device *dma, enum dma_data_direction dir)
{
	struct hu_slot *slot;

	for (slot = slots; slot < slots + HU_FRAMES; slot++) {
		if (!slot->mem)
			continue;
		dma_unmap_single(dma, slot->frame.buffer_phy, U4W_FRAME, dir);
		free_page((unsigned long)slot->mem);
		slot->mem = NULL;
	}
}

/* With end-to-end flow control a ring that has no frames posted stops the victim's. */
int hu_rings_alloc(struct hu *hu)
{
	const unsigned int flags = RING_FLAG_FRAME | RING_FLAG_E2E;
	struct tb_nhi *nhi = hu->xd->tb->nhi;
	struct device *dma;
	int ret = -ENOSPC;

	hu->out_hop = -1;
	hu->tx = tb_ring_alloc_tx(nhi, -1, HU_FRAMES + 1, flags);
	if (hu->tx)
		hu->rx = tb_ring_alloc_rx(nhi, -1, HU_FRAMES + 1, flags, hu->tx->hop,
					  BIT(U4W_PDF_START), BIT(U4W_PDF_END), NULL, NULL);
	if (hu->rx) {
		dma = tb_ring_dma_device(hu->rx);
		ret = hu_slots_alloc(hu, hu->out, dma, DMA_TO_DEVICE) ?:
		      hu_slots_alloc(hu, hu->in, dma, DMA_FROM_DEVICE);
	}
	if (!ret) {
		hu->out_hop = tb_xdomain_alloc_out_hopid(hu->xd, -1);
		ret = min(hu->out_hop, 0);
	}
	if (ret)
		hu_rings_free(hu);
	return ret;
}

void hu_rings_free(struct hu *hu)
{
	if (hu->out_hop >= 0)
		tb_xdomain_release_out_hopid(hu->xd, hu->out_hop);
	if (hu->rx) {
		hu_slots_free(hu->in, tb_ring_dma_device(hu->rx), DMA_FROM_DEVICE);
		hu_slots_free(hu->out, tb_ring_dma_device(hu->rx), DMA_TO_DEVICE);
		tb_ring_free(hu->rx);
	}
	if (hu->tx)
		tb_ring_free(hu->tx);
	hu->rx = NULL;
	hu->tx = NULL;
}

static void hu_life_reset(struct hu *hu)
{
	spin_lock(&hu->lock);
	hu->life = hu->theirs;
	hu->over = false;
	hu->seq = 0;
	hu->acked = 0;
	hu->next = 0;
	hu->told = 0;
	hu->heard = false;
	spin_unlock(&hu->lock);
}

int hu_rings_start(struct hu *hu, unsigned int posted)
{
	unsigned int i;
	int ret;

	hu_life_reset(hu);
	hu->in_hop = tb_xdomain_alloc_in_hopid(hu->xd, hu_get(hu, their_hop));
	if (hu->in_hop < 0)
		return hu->in_hop;
	tb_ring_start(hu->tx);
	tb_ring_start(hu->rx);
	hu->running = true;
	for (i = 0; i < posted; i++) {
		hu->in[i].frame.callback = hu_received;
		tb_ring_rx(hu->rx, &hu->in[i].frame);
	}
	ret = tb_xdomain_enable_paths(hu->xd, hu->out_hop, hu->tx->hop, hu->in_hop, hu->rx->hop);
	if (ret)
		hu_rings_stop(hu);
	return ret;
}

/* The path goes first: one whose ring was stopped may never become idle. */
void hu_rings_stop(struct hu *hu)
{
	if (!hu->running)
		return;
	tb_xdomain_disable_paths(hu->xd, hu->out_hop, hu->tx->hop, hu->in_hop, hu->rx->hop);
	tb_ring_stop(hu->rx);
	tb_ring_stop(hu->tx);
	tb_xdomain_release_in_hopid(hu->xd, hu->in_hop);
	hu->running = false;
	hu_set(hu, life, 0);
}

/* ---- lives ---- */

/* Ask until the victim says that it has heard us. */
static int hu_heard(struct hu *hu)
{
	unsigned long end = jiffies + msecs_to_jiffies(HU_SEND_MS);

	while (time_before(jiffies, end)) {
		if (hu_get(hu, heard))
			return 0;
		if (hu_state(hu, U4W_ASKS))
			break;
		msleep(20);
	}
	return -ETIMEDOUT;
}

static void hu_born(struct hu *hu)
{
	spin_lock(&hu->lock);
	hu->born_own = hu->incarnation;
	hu->born_peer = hu->theirs;
	spin_unlock(&hu->lock);
}

int hu_begin(struct hu *hu)
{
	unsigned int tries;
	int ret = -ETIMEDOUT;

	if (hu->running && !hu_get(hu, over))
		return 0;
	hu_set(hu, mute, false);
	for (tries = 0; tries < 4 && ret; tries++) {
		hu_end(hu);
		ret = hu_login(hu) ?: hu_rings_start(hu, HU_FRAMES) ?: hu_heard(hu);
	}
	hu_born(hu);
	return ret;
}

int hu_resume(struct hu *hu, const struct u4_held *held, bool goes_on)
{
	int ret;

	hu_rings_stop(hu);
	hu->said.held = *held;
	ret = hu_login(hu);
	hu->said.held = (struct u4_held) {};
	ret = ret ?: hu_rings_start(hu, HU_FRAMES);
	if (ret)
		return ret;
	if (goes_on) {
		spin_lock(&hu->lock);
		hu->seq = held->high;
		hu->next = held->next;
		hu->told = held->next;
		spin_unlock(&hu->lock);
	} else {
		hu_born(hu);
	}
	return hu_heard(hu);
}

void hu_end(struct hu *hu)
{
	struct u4w_msg msg = hu_msg(hu, U4W_LOGOUT);

	if (hu->running && !hu_get(hu, over))
		hu_ask(hu, &msg);
	hu_rings_stop(hu);
}

bool hu_ends(struct hu *hu, unsigned int ms)
{
	return victim_until(hu_get(hu, over), ms);
}

/* ---- calls ---- */

u32 hu_number(struct hu *hu)
{
	return ++hu->number;
}

struct hu_got hu_got(struct hu *hu, u32 number)
{
	struct hu_got got = { .number = number };

	spin_lock(&hu->lock);
	if (hu->got[number % HU_NUMBERS].number == number)
		got = hu->got[number % HU_NUMBERS];
	spin_unlock(&hu->lock);
	return got;
}

void hu_add_call(struct hu *hu, u32 number, u32 to, u32 window)
{
	struct kmw_calling c = { .number = number, .from = 1, .to = to, .window = window };
	struct kfi_mux_rec rec;

	kmw_encode_call(&c, &rec);
	hu_add(hu, &rec, NULL, 0);
}

u32 hu_call(struct hu *hu, u32 to)
{
	u32 number = hu_number(hu);

	hu->content.len = 0;
	hu_add_call(hu, number, to, KFI_MUX_WINDOW_MIN);
	if (hu_records(hu))
		return 0;
	return victim_until(hu_got(hu, number).answers, HU_SEND_MS) ? number : 0;
}

bool hu_answers(struct hu *hu)
{
	u32 number = hu_call(hu, HU_PORT_NOBODY);

	return number && hu_got(hu, number).status == ECONNREFUSED;
}
