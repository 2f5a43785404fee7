// SPDX-License-Identifier: GPL-2.0
/*
 * slot.c - receive buffers of a connection, and how many there are.
 *
 * Receives are posted before the peer can send, and there is one for each packet that its credits allow: a receiver is
 * never not ready. A connection begins with few, for thousands of them may be idle and each buffer is a page that the device and the
 * processor touch in turn. A packet may be longer than its page, by what consumers have in front of a page of theirs: for that there is a
 * second piece, some of which share a page, so no two pages have to lie side by side. When a peer says that it has spent all that it was
 * told of, or we have as many requests unanswered as there are receives for the answers, there will be twice as many, up to the module's
 * parameters. They stay until the connection ends.
 */
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "verbs.h"

/**
 * struct kv_batch - slots that came together
 * @entry: in &kv_conn.batches; @n: of @slot; @mapped: of them that the device knows
 */
struct kv_batch {
	struct list_head	entry;
	unsigned int		n;
	unsigned int		mapped;
	struct kv_slot		slot[] __counted_by(n);
};

/* The most there can be. */
unsigned int kv_nslots(void)
{
	return KVW_CLS * kv_window + kv_answers + KV_MISC;
}

/* ---- one ---- */

/* Give it back to the device. Nothing of it is anybody else's. */
int kv_slot_post(struct kv_slot *slot)
{
	struct kv_conn *conn = slot->conn;
	struct ib_device *ib = conn->kdom->ib;
	int i;

	slot->state = KV_SLOT_FREE;
	slot->read = false;
	slot->charged = false;
	slot->inv_over = false;
	slot->wrs = 0;
	slot->left = 0;
	slot->err = 0;
	for (i = 0; i < slot->wr.num_sge; i++)
		ib_dma_sync_single_for_device(ib, slot->sge[i].addr, slot->sge[i].length, DMA_FROM_DEVICE);
	return ib_post_recv(conn->qp, &slot->wr, NULL);
}

static int kv_slot_map(struct ib_device *ib, struct kv_slot *slot, u32 lkey)
{
	u64 dma = ib_dma_map_single(ib, slot->mem, KVW_PAGE, DMA_FROM_DEVICE);

	if (ib_dma_mapping_error(ib, dma))
		return -EIO;
	slot->sge[0] = (struct ib_sge){ dma, KVW_PAGE, lkey };
	slot->wr = (struct ib_recv_wr){ .wr_cqe = &slot->cqe, .sg_list = slot->sge, .num_sge = 1 };
	if (!slot->tail)
		return 0;
	dma = ib_dma_map_single(ib, slot->tail, KV_TAIL, DMA_FROM_DEVICE);
	if (ib_dma_mapping_error(ib, dma)) {
		ib_dma_unmap_single(ib, slot->sge[0].addr, KVW_PAGE, DMA_FROM_DEVICE);
		return -EIO;
	}
	slot->sge[1] = (struct ib_sge){ dma, KV_TAIL, lkey };
	slot->wr.num_sge = 2;
	return 0;
}

static int kv_slot_init(struct kv_conn *conn, struct kv_slot *slot)
{
	int ret = kv_slot_map(conn->kdom->ib, slot, conn->kdom->pd->local_dma_lkey);

	if (ret)
		return ret;
	slot->conn = conn;
	slot->cqe.done = kv_recv_done;
	INIT_LIST_HEAD(&slot->link);
	INIT_LIST_HEAD(&slot->alink);
	INIT_WORK(&slot->work, kv_commit_work);
	return 0;
}

/* ---- many ---- */

#define KV_TAILS	(PAGE_SIZE / KV_TAIL)	/* that share a page, which is the first one's */

static void kv_batch_free(struct kv_batch *batch)
{
	unsigned int i;

	for (i = 0; i < batch->n; i++) {
		free_page((unsigned long)batch->slot[i].mem);
		if (batch->slot[i].tail && !(i % KV_TAILS))
			free_page((unsigned long)batch->slot[i].tail);
	}
	kvfree(batch);
}

static void kv_batch_unmap(struct kv_conn *conn, struct kv_batch *batch)
{
	unsigned int i;

	for (i = 0; i < batch->mapped; i++) {
		ib_dma_unmap_single(conn->kdom->ib, batch->slot[i].sge[0].addr, KVW_PAGE, DMA_FROM_DEVICE);
		if (batch->slot[i].tail)
			ib_dma_unmap_single(conn->kdom->ib, batch->slot[i].sge[1].addr, KV_TAIL, DMA_FROM_DEVICE);
	}
}

/* @tails: pages for the ends of packets, behind those for what is in front of them */
static int kv_batch_pages(struct kv_batch *batch, unsigned int tails, gfp_t gfp)
{
	struct page **pages = kvcalloc(batch->n + tails, sizeof(*pages), gfp);
	int ret = pages ? kv_pages_alloc(pages, batch->n + tails, gfp) : -ENOMEM;
	unsigned int i;

	for (i = 0; i < batch->n && !ret; i++) {
		batch->slot[i].mem = page_address(pages[i]);
		if (tails)
			batch->slot[i].tail = page_address(pages[batch->n + i / KV_TAILS]) + i % KV_TAILS * KV_TAIL;
	}
	kvfree(pages);
	return ret;
}

static struct kv_batch *kv_batch_new(struct kv_conn *conn, unsigned int n, gfp_t gfp)
{
	struct kv_batch *batch = kvzalloc(struct_size(batch, slot, n), gfp);
	int ret;

	if (!batch)
		return NULL;
	batch->n = n;
	ret = kv_batch_pages(batch, kv_packet(conn->kdom) > KVW_PAGE ? DIV_ROUND_UP(n, KV_TAILS) : 0, gfp);
	for (; batch->mapped < n && !ret; batch->mapped += !ret)
		ret = kv_slot_init(conn, &batch->slot[batch->mapped]);
	if (!ret)
		return batch;
	kv_batch_unmap(conn, batch);
	kv_batch_free(batch);
	return NULL;
}

/* They are the connection's from here on, even if the device does not take them all. */
static int kv_batch_post(struct kv_conn *conn, struct kv_batch *batch)
{
	unsigned int i;
	int ret = 0;

	list_add_tail(&batch->entry, &conn->batches);
	for (i = 0; i < batch->n && !ret; i++)
		ret = kv_slot_post(&batch->slot[i]);
	return ret;
}

static unsigned int kv_first(unsigned int most)
{
	return min_t(unsigned int, most, KVW_FIRST);
}

/* How long packets of the two sides may be. */
static void kv_agree(struct kv_conn *conn, u32 theirs, u32 ours)
{
	conn->room = min_t(u32, theirs, KVW_PACKET) - KVW_HDR_MAX;
	conn->takes = ours;
}

/* Before the first packet can come. On failure the caller takes down what there is. */
int kv_slots_create(struct kv_conn *conn)
{
	struct kv_batch *batch = kv_batch_new(conn, KVW_CLS * kv_first(kv_window) + kv_first(kv_answers) + KV_MISC, GFP_NOIO);

	kv_agree(conn, KVW_PAGE, KVW_PAGE);
	return batch ? kv_batch_post(conn, batch) : -ENOMEM;
}

/* The hellos are exchanged; the lock is held. */
void kv_slots_open(struct kv_conn *conn)
{
	int cls;

	for (cls = 0; cls < KVW_CLS; cls++) {
		conn->window[cls] = conn->greeting.window[cls];
		kfi_credit_init(&conn->credit_tx[cls], &conn->credit_rx[cls], kv_first(kv_window),
				kv_first(conn->window[cls]));
	}
	conn->requests_max = kv_first(kv_answers);
	kv_agree(conn, conn->greeting.packet, conn->greeting.version < KVW_VERSION_LONG ? KVW_PAGE : kv_packet(conn->kdom));
}

void kv_slots_each(struct kv_conn *conn, void (*fn)(struct kv_slot *slot, int err), int err)
{
	struct kv_batch *batch;
	unsigned int i;

	list_for_each_entry(batch, &conn->batches, entry)
		for (i = 0; i < batch->n; i++)
			fn(&batch->slot[i], err);
}

/* The device is through with them; messages in them may still be wanted. */
void kv_slots_unmap(struct kv_conn *conn)
{
	struct kv_batch *batch;

	list_for_each_entry(batch, &conn->batches, entry)
		kv_batch_unmap(conn, batch);
}

void kv_slots_free(struct kv_conn *conn)
{
	struct kv_batch *batch, *next;

	list_for_each_entry_safe(batch, next, &conn->batches, entry)
		kv_batch_free(batch);
}

/* ---- more ---- */

/* How many more of a class, or of answers, there are to be. */
static unsigned int kv_more(const struct kv_conn *conn, int cls)
{
	unsigned int now = cls < KVW_CLS ? conn->credit_rx[cls].window : conn->requests_max;
	unsigned int most = cls < KVW_CLS ? kv_window : kv_answers;

	return min(now, most - now);
}

/* The lock is held, on a path that must not wait. @what: classes, and answers as the bit behind them. */
void kv_grow(struct kv_conn *conn, u8 what)
{
	lockdep_assert_held(&conn->lock);
	if (!(what & ~conn->grow) || test_bit(KV_DEAD, &conn->flags))
		return;
	conn->grow |= what;
	queue_work(kv_cm_wq, &conn->grow_work);
}

static unsigned int kv_wanted(struct kv_conn *conn, unsigned int *more)
{
	unsigned int n = 0;
	int cls;

	spin_lock_bh(&conn->lock);
	for (cls = 0; cls <= KVW_CLS; cls++) {
		more[cls] = conn->grow & BIT(cls) ? kv_more(conn, cls) : 0;
		n += more[cls];
	}
	spin_unlock_bh(&conn->lock);
	return n;
}

/* There are receives for them. */
static void kv_widen(struct kv_conn *conn, const unsigned int *more)
{
	int cls;

	for (cls = 0; cls < KVW_CLS; cls++) {
		conn->credit_rx[cls].window += more[cls];
		conn->credit_due |= more[cls];
	}
	conn->waits = true;
	conn->requests_max += more[KVW_CLS];
}

/* Who has got as much as there is need not ask again; all others may. */
static void kv_grow_again(struct kv_conn *conn)
{
	int cls;

	for (cls = 0; cls <= KVW_CLS; cls++)
		if (kv_more(conn, cls))
			conn->grow &= ~BIT(cls);
}

/* Nothing comes of it if there is no memory: the end of the connection waits for us, and memory maybe for that. */
void kv_grow_work(struct work_struct *work)
{
	struct kv_conn *conn = container_of(work, struct kv_conn, grow_work);
	unsigned int more[KVW_CLS + 1], noio = memalloc_noio_save();
	unsigned int n = kv_wanted(conn, more);
	struct kv_batch *batch = n ? kv_batch_new(conn, n, GFP_NOIO | __GFP_NORETRY | __GFP_NOWARN) : NULL;
	int ret = batch ? kv_batch_post(conn, batch) : -ENOMEM;
	struct kv_done done = KV_DONE(done);

	memalloc_noio_restore(noio);
	if (batch && ret)
		kv_conn_fail(conn, -EIO);
	spin_lock_bh(&conn->lock);
	if (!ret)
		kv_widen(conn, more);
	kv_grow_again(conn);
	kv_tx_run(conn, &done);
	kv_unlock_bh(conn, &done);
}
