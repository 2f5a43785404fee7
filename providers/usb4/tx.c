// SPDX-License-Identifier: GPL-2.0
/*
 * tx.c - the sending side of a cable: records are copied to frames, which are kept until the peer
 * has acknowledged them.
 *
 *	una		sent		high		next
 *	 |  were sent	 |  were sent	 |  were never	 |  being
 *	 |  and not	 |  and have to	 |  sent	 |  filled
 *	 v  acknowledged v  be repeated	 v		 v
 *	-+---------------+---------------+---------------+--->  numbers of frames
 *
 * As a rule @sent is @high. It goes back to @una when the peer says that frames got lost. A frame
 * is given to the ring again only when the ring has no more use for it.
 *
 * When a life is resumed over another cable, the frames are copied to those of the new one while
 * nothing changes, and then the records that wait move. A context that sends just then finds one
 * cable or the other, see u4_tx_lock().
 */
#include <linux/dma-mapping.h>
#include <linux/rcupdate.h>
#include <kfi_prov.h>
#include "usb4.h"

static struct u4_slot *u4_slot(struct u4_tx *tx, u32 seq)
{
	return &tx->slot[seq % U4_FRAMES];
}

static struct u4_ctl *to_u4_ctl(struct kfi_mux_ctl *ctl)
{
	return container_of(ctl, struct u4_ctl, ctl);
}

/* ---- frames ---- */

/* Give a frame to the ring. One that the ring does not take is repeated like one that got lost. */
static void u4_tx_frame(struct u4_cable *c, struct u4_slot *slot, struct u4w_frame *f)
{
	struct u4_tx *tx = &c->tx;
	u32 size = sizeof(struct u4w_head) + f->len;

	f->ack = READ_ONCE(c->rx.next);
	f->life = tx->life;
	if (READ_ONCE(c->rx.heard))
		f->bits |= U4W_HEARD;
	u4w_encode_frame(f, slot->mem);
	dma_sync_single_for_device(c->dma, slot->frame.buffer_phy, size, DMA_TO_DEVICE);
	slot->frame.size = size % U4W_FRAME;	/* 0 stands for U4W_FRAME */
	slot->frame.sof = U4W_PDF_START;
	slot->frame.eof = U4W_PDF_END;
	slot->in_ring = !tb_ring_tx(tx->ring.ring, &slot->frame);
	tx->acked = f->ack;
}

static void u4_tx_reap(struct u4_cable *c)
{
	struct ring_frame *frame;

	while ((frame = tb_ring_poll(c->tx.ring.ring)))
		container_of(frame, struct u4_slot, frame)->in_ring = false;
}

static void u4_tx_send(struct u4_cable *c)
{
	struct u4_tx *tx = &c->tx;

	while (tx->runs && tx->sent != tx->next) {
		struct u4_slot *slot = u4_slot(tx, tx->sent);
		struct u4w_frame f = {
			.seq = tx->sent, .len = slot->len, .type = U4W_RECORDS,
		};

		if (slot->in_ring)
			break;
		if (tx->sent != tx->high) {
			c->stats.repeated++;
		} else {
			if (tx->una == tx->high)
				u4_watch_expect(c);
			tx->high++;
			c->stats.sent++;
		}
		tx->sent++;
		u4_tx_frame(c, slot, &f);
	}
}

void u4_tx_progress(struct u4_cable *c)
{
	lockdep_assert_held(&c->tx.lock);
	u4_tx_reap(c);
	u4_tx_send(c);
}

bool u4_tx_state(struct u4_cable *c, u8 bits)
{
	struct u4_tx *tx = &c->tx;
	struct u4w_frame f = { .seq = tx->sent, .type = U4W_STATE, .bits = bits };
	unsigned int i;

	lockdep_assert_held(&tx->lock);
	for (i = 0; i < U4_STATES; i++) {
		if (tx->state[i].in_ring)
			continue;
		u4_tx_frame(c, &tx->state[i], &f);
		return true;
	}
	return false;
}

/* ---- room ---- */

/* The frame that is being filled has all its records. */
static void u4_tx_close(struct u4_cable *c)
{
	struct u4_tx *tx = &c->tx;

	if (!tx->fill)
		return;
	u4_slot(tx, tx->next)->len = tx->fill;
	tx->fill = 0;
	tx->next++;
	u4_tx_send(c);
}

/* Return: true if a frame can be begun */
static bool u4_tx_free(const struct u4_tx *tx)
{
	return tx->next - tx->una < tx->window && !tx->slot[tx->next % U4_FRAMES].in_ring;
}

/* Return memory for a record of @size bytes with its header, or NULL */
static void *u4_tx_reserve(struct u4_cable *c, u32 size)
{
	struct u4_tx *tx = &c->tx;
	void *mem;

	if (tx->fill + size > U4W_CONTENT)
		u4_tx_close(c);
	if (!tx->fill && !u4_tx_free(tx)) {
		u4_tx_reap(c);
		if (!u4_tx_free(tx))
			return NULL;
	}
	mem = u4_slot(tx, tx->next)->mem + sizeof(struct u4w_head) + tx->fill;
	tx->fill += size;
	return mem;
}

/* Return memory behind the header and the body of a record, or NULL */
static void *u4_tx_record(struct u4_cable *c, const struct kfi_mux_rec *rec, u32 more)
{
	u32 len = rec->len + more, size = u4w_rec_size(len);
	void *mem = u4_tx_reserve(c, size);

	if (!mem)
		return NULL;
	memset(mem + size - U4W_ALIGN, 0, U4W_ALIGN);	/* what is behind an odd length */
	u4w_encode_rec(rec, len, mem);
	mem += sizeof(struct u4w_rec);
	memcpy(mem, rec->body, rec->len);
	return mem + rec->len;
}

/* Copy records that have waited for room. */
static void u4_tx_posted(struct u4_cable *c)
{
	struct u4_tx *tx = &c->tx;
	struct u4_ctl *ctl;

	while ((ctl = list_first_entry_or_null(&tx->posted, struct u4_ctl, entry)) &&
	       u4_tx_record(c, &ctl->ctl.rec, 0))
		list_move_tail(&ctl->entry, &tx->done);
	u4_tx_close(c);
}

/* ---- acknowledgements ---- */

int u4_tx_acked(struct u4_cable *c, u32 ack, bool gap)
{
	struct u4_tx *tx = &c->tx;
	int ret = 0;

	if (ack == READ_ONCE(tx->una) && !gap)
		return 0;
	spin_lock(&tx->lock);
	if ((s32)(ack - tx->una) < 0)
		goto unlock;		/* from before a repetition */
	if (ack - tx->una > tx->high - tx->una) {
		ret = -EPROTO;
		goto unlock;
	}
	if (ack != tx->una) {
		WRITE_ONCE(tx->una, ack);
		if ((s32)(tx->sent - ack) < 0)
			tx->sent = ack;
		if (tx->una != tx->high)
			u4_watch_expect(c);
	}
	u4_tx_reap(c);
	/* A frame that is in the ring is going to be repeated already. */
	if (gap && tx->una != tx->high && !u4_slot(tx, tx->una)->in_ring)
		tx->sent = tx->una;
	u4_tx_send(c);
unlock:
	spin_unlock(&tx->lock);
	return ret;
}

void u4_tx_settle(struct u4_cable *c)
{
	struct u4_tx *tx = &c->tx;
	struct u4_ctl *ctl, *next;
	LIST_HEAD(done);
	bool room;

	spin_lock(&tx->lock);
	u4_tx_progress(c);
	if (tx->runs)
		u4_tx_posted(c);
	list_splice_init(&tx->done, &done);
	room = tx->runs && tx->wanted && list_empty(&tx->posted) && u4_tx_free(tx);
	if (room)
		tx->wanted = false;
	spin_unlock(&tx->lock);
	list_for_each_entry_safe(ctl, next, &done, entry)
		ctl->ctl.sent(&ctl->ctl);
	if (room)
		kfi_mux_room(&c->way->mux, 0);
}

/* ---- begin and end of a life ---- */

/* Nothing but &u4_tx.posted and &u4_tx.wanted of the holder changes. */
static void u4_tx_copy(struct u4_tx *tx, struct u4_tx *from, u32 una)
{
	struct u4_slot *to;
	u32 seq;

	tx->una = una;
	tx->high = from->high;
	tx->next = from->next;
	if (tx == from)
		return;
	for (seq = una; seq != from->next; seq++) {
		to = u4_slot(tx, seq);
		to->len = u4_slot(from, seq)->len;
		memcpy(to->mem + sizeof(struct u4w_head),
		       u4_slot(from, seq)->mem + sizeof(struct u4w_head), to->len);
	}
}

void u4_tx_reset(struct u4_cable *c)
{
	struct u4_tx *tx = &c->tx;
	unsigned int i;

	for (i = 0; i < U4_FRAMES; i++)
		tx->slot[i].in_ring = false;
	for (i = 0; i < U4_STATES; i++)
		tx->state[i].in_ring = false;
	if (c->resumes) {
		u4_tx_copy(tx, &c->resumes->tx, c->resume_una);
	} else {
		tx->una = 0;
		tx->high = 0;
		tx->next = 0;
		tx->wanted = false;
	}
	tx->sent = tx->una;
	tx->fill = 0;
	tx->acked = 0;
}

void u4_tx_open(struct u4_cable *c)
{
	spin_lock_bh(&c->tx.lock);
	c->tx.open = true;
	spin_unlock_bh(&c->tx.lock);
}

/* Connections may have found no room while the life was held. */
void u4_tx_run(struct u4_cable *c)
{
	struct u4_tx *tx = &c->tx;

	spin_lock_bh(&tx->lock);
	tx->runs = true;
	tx->wanted = true;
	if (tx->una != tx->high)
		u4_watch_expect(c);
	spin_unlock_bh(&tx->lock);
}

void u4_tx_pause(struct u4_cable *c)
{
	spin_lock_bh(&c->tx.lock);
	c->tx.runs = false;
	u4_tx_close(c);
	spin_unlock_bh(&c->tx.lock);
}

void u4_tx_shut(struct u4_cable *c)
{
	spin_lock_bh(&c->tx.lock);
	c->tx.open = false;
	c->tx.runs = false;
	spin_unlock_bh(&c->tx.lock);
}

void u4_tx_move(struct u4_cable *c, struct u4_cable *from)
{
	if (c == from)
		return;
	spin_lock_bh(&from->tx.lock);
	spin_lock_nested(&c->tx.lock, SINGLE_DEPTH_NESTING);
	list_splice_tail_init(&from->tx.posted, &c->tx.posted);
	list_splice_tail_init(&from->tx.done, &c->tx.done);
	c->tx.open = true;
	/* before @from is shut: see u4_tx_lock() */
	rcu_assign_pointer(c->way->cable, c);
	from->tx.open = false;
	spin_unlock(&c->tx.lock);
	spin_unlock_bh(&from->tx.lock);
}

void u4_tx_cancel(struct u4_cable *c)
{
	struct u4_ctl *ctl, *next;
	LIST_HEAD(all);

	spin_lock_bh(&c->tx.lock);
	list_splice_init(&c->tx.done, &all);
	list_splice_tail_init(&c->tx.posted, &all);
	spin_unlock_bh(&c->tx.lock);
	list_for_each_entry_safe(ctl, next, &all, entry) {
		local_bh_disable();
		ctl->ctl.sent(&ctl->ctl);
		local_bh_enable();
	}
}

/* ---- operations of the multiplexer ---- */

/*
 * Return the cable that has the sending side of this life, with its lock; NULL: the way is down. In
 * an RCU section.
 */
static struct u4_cable *u4_tx_lock(struct kfi_mux *mux)
{
	struct u4_way *way = to_u4_way(mux);
	struct u4_cable *c, *shut = NULL;

	while ((c = rcu_dereference(way->cable)) && c != shut) {
		spin_lock_bh(&c->tx.lock);
		if (c->tx.open)
			return c;
		spin_unlock_bh(&c->tx.lock);
		shut = c;	/* the life has ended, or has moved before that */
	}
	return NULL;
}

static void u4_tx_unlock(struct u4_cable *c)
{
	spin_unlock_bh(&c->tx.lock);
}

static int u4_put(struct kfi_mux_stream *s, const struct kfi_mux_rec *rec, const void *bytes,
		  u32 len, struct iov_iter *payload, u32 load, bool more)
{
	struct u4_cable *c = u4_tx_lock(s->mux);
	void *mem = NULL;

	if (!c)
		return -EAGAIN;
	/* Records that were posted before have the first room. */
	if (c->tx.runs && list_empty(&c->tx.posted))
		mem = u4_tx_record(c, rec, len + load);
	if (mem) {
		memcpy(mem, bytes, len);
		if (load)
			kfi_copy_from(mem + len, payload, load);
		if (!more)
			u4_tx_close(c);
	}
	u4_tx_unlock(c);
	return mem ? 0 : -EAGAIN;
}

static void u4_want(struct kfi_mux_stream *s)
{
	struct u4_cable *c = u4_tx_lock(s->mux);

	if (!c)
		return;
	if (c->tx.runs) {	/* or u4_poll() runs no more, and u4_tx_run() follows */
		c->tx.wanted = true;
		u4_watch_hurry(c);
		if (u4_tx_free(&c->tx))		/* since u4_put() */
			queue_bh_work(&c->poll);
	}
	u4_tx_unlock(c);
}

static int u4_post(struct kfi_mux *mux, unsigned int lane, struct kfi_mux_ctl *ctl)
{
	struct u4_cable *c = u4_tx_lock(mux);

	if (!c)
		return -ENOTCONN;
	list_add_tail(&to_u4_ctl(ctl)->entry, &c->tx.posted);
	if (c->tx.runs) {
		u4_tx_posted(c);
		if (!list_empty(&c->tx.done))
			queue_bh_work(&c->poll);	/* calls @sent */
	}
	u4_tx_unlock(c);
	return 0;
}

static void u4_kick(struct kfi_mux *mux, unsigned int lane)
{
	struct u4_cable *c = u4_tx_lock(mux);

	if (!c)
		return;
	if (c->tx.runs)
		u4_tx_close(c);
	u4_tx_unlock(c);
}

static u32 u4_room(struct kfi_mux *mux, unsigned int lane)
{
	return U4W_REC_MAX;
}

static void u4_fault(struct kfi_mux *mux, unsigned int life, const char *why)
{
	struct u4_way *way = to_u4_way(mux);
	struct u4_cable *c;

	rcu_read_lock();
	c = rcu_dereference(way->cable);
	if (c && life == kfi_mux_life(mux)) {
		u4_cable_fault(c, why);
		mod_delayed_work(u4_wq, &way->expire, 0);	/* if the life is held */
	}
	rcu_read_unlock();
}

static void u4_stream_init(struct kfi_mux_stream *s)
{
	s->ctl = &container_of(s, struct u4_stream, s)->ctl.ctl;
}

const struct kfi_mux_ops u4_mux_ops = {
	.stream_size	= sizeof(struct u4_stream),
	.ctl_size	= sizeof(struct u4_ctl),
	.put		= u4_put,
	.want		= u4_want,
	.post		= u4_post,
	.kick		= u4_kick,
	.room		= u4_room,
	.fault		= u4_fault,
	.side		= u4_side,
	.called		= u4_called,
	.stream_init	= u4_stream_init,
};
