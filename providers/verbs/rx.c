// SPDX-License-Identifier: GPL-2.0
/*
 * rx.c - the receive path, in the order in which a packet takes it.
 *
 *   kv_recv_done()	softirq: the device has filled a slot
 *   kv_rx_loop()	packets are looked at one after the other
 *   kv_rx_packet()	what is it? Credits, then by type
 *   kv_rx_message()	to its receive; or the slot waits in the matching, with the message in it
 *   kv_slot_release()	the slot goes back to the device, and with it the credit to the peer
 *
 * Most packets are messages that find their receive at once. Their credits are counted when they have been delivered, for then the
 * lock is taken anyway, once for all that there is to do.
 *
 * What can't go on (completion queue full) stops this connection's packets and nothing else. Whatever a peer does against the
 * protocol ends its connection.
 */
#include <linux/mm.h>
#include "verbs.h"

/* ---- slots ---- */

/* One of the slot's holders is through with it. The lock of its connection is held. */
void kv_slot_release(struct kv_slot *slot, u8 hold)
{
	struct kv_conn *conn = slot->conn;

	slot->holds &= ~hold;
	if (slot->holds || test_bit(KV_DEAD, &conn->flags))
		return;
	if (slot->cls < KVW_CLS && kfi_credit_free(&conn->credit_rx[slot->cls], 1))
		conn->credit_due = conn->waits = true;
	if (kv_slot_post(slot))
		kv_conn_fail(conn, -EIO);
}

/* Something has to be said to the peer; the lock is held. */
void kv_slot_answer(struct kv_slot *slot, u8 type, u16 status)
{
	slot->answer = (struct kvw_packet){ .type = type, .status = status, .id = slot->p.id, .gen = slot->p.gen };
	slot->holds |= KV_HOLD_ANSWER;
	list_add_tail(&slot->alink, &slot->conn->answers);
	slot->conn->waits = true;
}

/* ---- what a packet says about credits, and what it has cost ---- */

/* 1: there is more room at the peer; 0; -EPROTO. */
static inline int kv_rx_credits(struct kv_conn *conn, const struct kvw_packet *p)
{
	struct kfi_credit_tx *tx = conn->credit_tx;
	int cls, one, ret = 0;

	for (cls = 0; cls < KVW_CLS && ret >= 0; cls++, tx++) {
		if (p->credit[cls] == (u16)tx->limit)
			continue;	/* no news */
		one = kfi_credit_update(tx, kfi_credit_widen(tx, p->credit[cls]), conn->window[cls]);
		ret = one < 0 ? one : ret | one;
	}
	return ret;
}

/* Once per packet, also when it is looked at again after having been stopped. The lock is held. Return: as above. */
static __always_inline int kv_rx_charge(struct kv_slot *slot)
{
	struct kv_conn *conn = slot->conn;
	int ret;

	if (slot->charged)
		return 0;
	slot->charged = true;
	ret = kv_rx_credits(conn, &slot->p);
	if (unlikely(ret < 0))
		return ret;
	if (slot->cls < KVW_CLS && !kfi_credit_charge(&conn->credit_rx[slot->cls], 1))
		return -EPROTO;
	if (unlikely(slot->p.spent))
		kv_grow(conn, slot->p.spent);
	kv_keys_age(conn, slot->p.epoch);
	if (slot->p.type == KVW_MSG && slot->p.flags & KVW_F_ARRIVED)
		kv_slot_answer(slot, KVW_FIN, 0);
	return ret;
}

static void kv_rx_broken(struct kv_conn *conn, int err)
{
	clear_bit(KV_REST, &conn->flags);
	kv_conn_fail(conn, err);
}

#define KV_NO_FIN	-1

/*
 * The message in it is where it belongs, or will never be; with @fin the peer hears what became of it. Unexpected ones refer to their
 * connection, which may be down. Bottom halves are off.
 */
static void kv_slot_consumed(struct kv_slot *slot, int fin)
{
	struct kv_conn *conn = slot->conn;
	bool unexpected = slot->unexpected;
	struct kv_done done = KV_DONE(done);
	int ret;

	spin_lock(&conn->lock);
	ret = kv_rx_charge(slot);
	if (likely(ret >= 0)) {
		if (fin >= 0)
			kv_slot_answer(slot, KVW_FIN, fin);
		kv_slot_release(slot, KV_HOLD_MESSAGE);
		if (kv_tx_waits(conn) && (ret || conn->credit_due || !list_empty(&conn->answers)))
			kv_tx_run(conn, &done);
	}
	slot->unexpected = false;
	if (unexpected && conn->left)
		kv_held_freed(slot);
	spin_unlock(&conn->lock);
	kv_done(&done);
	if (unlikely(ret < 0))
		kv_rx_broken(conn, ret);
	if (unexpected)
		kv_conn_put(conn);
}

/* ---- messages ---- */

kfi_addr_t kv_rx_src(struct kv_conn *conn)
{
	struct kfi_ep *ep = &conn->vep->ep;

	if (!ep->av || !(ep->caps & (KFI_SOURCE | KFI_DIRECTED_RECV)))
		return KFI_ADDR_NOTAVAIL;
	return kfi_av_reverse(ep->av, conn->av_name);
}

static u64 kv_rx_flags(const struct kvw_packet *p)
{
	u64 flags = p->flags & KVW_F_TAGGED ? KFI_TAGGED : KFI_MSG;

	if (p->flags & KVW_F_CQ_DATA)
		flags |= KFI_REMOTE_CQ_DATA;
	if (p->flags & KVW_F_RMA)
		flags |= KFI_RMA | (p->type == KVW_TREAD ? KFI_READ : KFI_WRITE);
	return flags;
}

static void kv_rx_describe(struct kv_slot *slot)
{
	const struct kvw_packet *p = &slot->p;
	struct kfi_rx *rx = &slot->rx;

	rx->len = p->len;
	rx->tag = p->tag;
	rx->data = slot->inv_over ? le64_to_cpu(kv_slot_descs(slot)->addr) : p->data;
	rx->flags = kv_rx_flags(p) | (slot->inv_over ? KFI_INVALIDATE : 0);
	rx->name = slot->conn->av_name;
}

/* As much of the payload as the receive takes. */
static size_t kv_slot_copy(struct kv_slot *slot)
{
	const void *payload = kv_slot_descs(slot) + slot->p.count;
	size_t here = slot->mem + KVW_PAGE - payload, n = min(slot->rx.room, here);
	size_t copied = kfi_copy_to(&slot->rx.iter, payload, n);

	if (unlikely(n < slot->rx.room))
		copied += kfi_copy_to(&slot->rx.iter, slot->tail, slot->rx.room - n);
	return copied;
}

/* A whole message: from the slot to its receive, the only copy. Bottom halves are off. */
static void kv_slot_deliver(struct kv_slot *slot)
{
	WARN_ON_ONCE(kv_slot_copy(slot) != slot->rx.room);	/* kernel memory can't fault */
	__kfi_stat_add(&slot->conn->vep->ep, bounced, slot->rx.room);
	__kfi_rx_complete(&slot->rx, 0);
	kv_slot_consumed(slot, slot->p.flags & KVW_F_LANDED ? 0 : KV_NO_FIN);
}

/* A request to move data has its receive. False: its connection is down. */
static bool kv_slot_fetch(struct kv_slot *slot)
{
	struct kv_conn *conn = slot->conn;
	bool there;
	struct kv_done done = KV_DONE(done);

	spin_lock_bh(&conn->lock);
	there = slot->state != KV_SLOT_LOST && !test_bit(KV_DEAD, &conn->flags);
	if (there) {
		kv_fetch_start(conn, slot);
		kv_tx_run(conn, &done);
	}
	kv_unlock_bh(conn, &done);
	return there;
}

/* The initiator of RMA hears what became of it; a sender need not know. */
static u16 kv_fetch_status(const struct kv_slot *slot)
{
	if (slot->err)
		return EREMOTEIO;
	return slot->p.flags & KVW_F_RMA && slot->rx.len > slot->rx.room ? KFI_ETRUNC : 0;
}

/* Of those that end a transfer, the end of the connection among them, one does. */
static bool kv_slot_claim(struct kv_slot *slot)
{
	struct kv_conn *conn = slot->conn;
	bool ours;

	spin_lock_bh(&conn->lock);
	ours = slot->state == KV_SLOT_FETCHING;
	if (ours)
		slot->state = KV_SLOT_HERE;
	spin_unlock_bh(&conn->lock);
	return ours;
}

/* The data is where it belongs, or will never be. */
void kv_slot_fetched(struct kv_slot *slot)
{
	u16 status = kv_fetch_status(slot);

	if (!kv_slot_claim(slot))
		return;
	local_bh_disable();
	if (slot->err) {
		kfi_rx_abort(&slot->rx, slot->err);
	} else {
		__kfi_stat_add(&slot->conn->vep->ep, placed, slot->rx.room);
		__kfi_rx_complete(&slot->rx, 0);
	}
	kv_slot_consumed(slot, status);
	local_bh_enable();
}

/* kfi.ko has found the receive for a message that waited. Process or softirq, no lock of ours held. */
void kv_rx_matched(struct kfi_ep *ep, struct kfi_rx *rx)
{
	struct kv_slot *slot = container_of(rx, struct kv_slot, rx);
	struct kv_conn *conn = slot->conn;

	local_bh_disable();
	kv_conn_get(conn);	/* once the transfer has begun, another CPU may end it */
	if (slot->p.type == KVW_MSG) {
		kv_slot_deliver(slot);
	} else if (!kv_slot_fetch(slot)) {
		kfi_rx_abort(rx, -ECONNRESET);
		kv_slot_consumed(slot, KV_NO_FIN);
	}
	kv_conn_put(conn);
	local_bh_enable();
}

/* The endpoint closes and nobody will ever want it. */
void kv_rx_drop(struct kfi_ep *ep, struct kfi_rx *rx)
{
	local_bh_disable();
	kv_slot_consumed(container_of(rx, struct kv_slot, rx), KV_NO_FIN);
	local_bh_enable();
}

/*
 * The device has invalidated with it what it says, or what was its owner's to end just then: of that nobody is to be told any more,
 * and its registration is taken back.
 */
static bool kv_inv_is_fair(struct kv_slot *slot, bool inv, u64 key)
{
	if (!slot->inv_key || (inv && kv_region_taken(slot->conn, key, slot->inv_key)))
		return true;
	return !kv_region_spoilt(slot->conn->kdom, slot->inv_key) && inv;
}

/*
 * With a key that is none of its business the sender does not know what it does; nor if its device has ended something else than that
 * key's region. A region that the device still knows, because the sender has forgotten the device's key of it, or whose owner was
 * faster, is left to him, and the receive does not say that it is over.
 */
static int kv_rx_invalidate(struct kv_slot *slot)
{
	bool inv = slot->p.flags & KVW_F_INV;
	u64 key = inv ? le64_to_cpu(kv_slot_descs(slot)->addr) : 0;
	int ret;

	slot->inv_over = false;
	if (unlikely(!kv_inv_is_fair(slot, inv, key)))
		return -EPROTO;
	if (!inv)
		return 0;
	ret = kfi_mr_kill(&slot->conn->vep->ep, key);
	slot->inv_over = !ret;
	return ret == -EACCES ? -EPROTO : 0;
}

/* Before anything is done with it that is not to be done for a peer without credit. */
static int kv_rx_count(struct kv_slot *slot)
{
	struct kv_conn *conn = slot->conn;
	struct kv_done done = KV_DONE(done);
	int ret;

	if (slot->charged)
		return 0;
	spin_lock_bh(&conn->lock);
	ret = kv_rx_charge(slot);
	if (ret > 0 || slot->holds & KV_HOLD_ANSWER)
		kv_tx_run(conn, &done);
	kv_unlock_bh(conn, &done);
	return ret < 0 ? ret : kv_rx_invalidate(slot);
}

/* Before the matching has it: a receive may take it at once, on another CPU. */
static void kv_slot_queue(struct kv_slot *slot)
{
	kv_conn_get(slot->conn);
	slot->state = KV_SLOT_QUEUED;
	slot->unexpected = true;
}

static void kv_slot_unqueue(struct kv_slot *slot)
{
	slot->state = KV_SLOT_HERE;
	slot->unexpected = false;
	kv_conn_put(slot->conn);
}

static int kv_rx_message(struct kv_slot *slot)
{
	struct kfi_ep *ep = &slot->conn->vep->ep;
	bool whole = slot->p.type == KVW_MSG, rma = slot->p.flags & KVW_F_RMA;
	enum kfi_rx_verdict verdict;
	int ret;

	kv_rx_describe(slot);
	verdict = __kfi_rx_arrive(ep, &slot->rx, false);
	if (likely(verdict == KFI_RX_MATCHED && whole)) {
		kv_slot_deliver(slot);
		return 0;
	}
	ret = kv_rx_count(slot);
	if (ret)
		return ret;
	if (verdict == KFI_RX_NONE && !rma) {
		kv_slot_queue(slot);
		verdict = __kfi_rx_arrive(ep, &slot->rx, true);
		if (verdict == KFI_RX_QUEUED) {
			kfi_stat_inc(ep, unexpected);
			return 0;
		}
		kv_slot_unqueue(slot);
	}
	switch (verdict) {
	case KFI_RX_MATCHED:
		if (whole)
			kv_slot_deliver(slot);
		else if (!kv_slot_fetch(slot))
			kfi_rx_abort(&slot->rx, -ECONNRESET);
		return 0;
	case KFI_RX_FULL:
		return -EAGAIN;
	case KFI_RX_NONE:		/* tagged RMA waits for no receive */
		kv_slot_consumed(slot, EACCES);
		return 0;
	default:
		kv_slot_consumed(slot, KV_NO_FIN);
		return 0;
	}
}

/* ---- packets ---- */

/* Once per packet: what is it? */
static int kv_rx_read(struct kv_slot *slot)
{
	struct kv_conn *conn = slot->conn;
	int ret = kvw_decode(kv_slot_hdr(slot), slot->bytes, &slot->p);

	if (ret || unlikely(slot->bytes > conn->takes))
		return -EPROTO;
	/* Also what a size_t of 32 bits could not hold. */
	if (unlikely(slot->p.len > KV_MSG_MAX &&
		     (slot->p.type == KVW_RTS || slot->p.type == KVW_TREAD)))
		return -EPROTO;
	slot->cls = kvw_cls(slot->p.type, slot->p.flags);
	if (unlikely(slot->cls < KVW_CLS && kfi_peer_tx_ctx(&conn->vep->ep)))
		return -EPROTO;		/* a transmit context is answered, and asked for nothing */
	slot->read = true;
	slot->performed = false;
	slot->holds = KV_HOLD_MESSAGE;
	conn->rx_bytes += slot->bytes;
	return 0;
}

/* It asks for nothing that takes time: the slot is free after it, and what it says may let something go. */
static int kv_rx_control(struct kv_slot *slot)
{
	struct kv_conn *conn = slot->conn;
	int ret = 0;
	struct kv_done done = KV_DONE(done);

	spin_lock_bh(&conn->lock);
	if (slot->p.type == KVW_FIN)
		ret = kv_got_fin(conn, &slot->p, &done);
	else if (slot->p.type == KVW_OLD)
		ret = kv_got_old(conn, &slot->p, kv_slot_descs(slot), &done);
	else if (slot->p.type == KVW_KEY_IS)
		ret = kv_got_key(conn, &slot->p, kv_slot_descs(slot));
	else if (slot->p.type == KVW_BYE)
		ret = -ESHUTDOWN;
	if (!ret) {
		kv_slot_release(slot, KV_HOLD_MESSAGE);
		kv_tx_run(conn, &done);
	}
	kv_unlock_bh(conn, &done);
	return ret;
}

/* Of what comes before the end of the connection, and is looked at after it, what needs nothing of the peer is of use. */
static bool kv_rx_too_late(const struct kv_slot *slot)
{
	return test_bit(KV_DOWN, &slot->conn->flags) && slot->p.type != KVW_MSG && slot->p.type != KVW_DONE;
}

/*
 * A whole message that asks for nothing before it is delivered: if that can be done, it is counted then. Not from a peer whose proof we
 * may still wait for: counting finds that he has no credit, and he must not have reached a receive by then. Nor with a new epoch: who
 * hears of the message must not find the keys that it has made old.
 */
static bool kv_rx_is_plain(const struct kv_slot *slot)
{
	const struct kv_conn *conn = slot->conn;

	return slot->p.type == KVW_MSG && !(slot->p.flags & KVW_F_INV) && likely(!slot->inv_key) &&
	       likely(READ_ONCE(conn->state) == KV_READY) && likely(slot->p.epoch == READ_ONCE(conn->peer_epoch));
}

/* Return: 0; -EAGAIN: again later, nothing has changed; others end the connection. */
static int kv_rx_packet(struct kv_slot *slot)
{
	int ret = likely(!slot->read) ? kv_rx_read(slot) : 0;

	if (!ret && !kv_rx_is_plain(slot))
		ret = kv_rx_count(slot);
	if (ret || unlikely(kv_rx_too_late(slot)))
		return ret;
	switch (slot->p.type) {
	case KVW_MSG:
	case KVW_RTS:
		return kv_rx_message(slot);
	case KVW_TREAD:
		return slot->conn->vep->ep.caps & KFI_TAGGED_RMA ? kv_rx_message(slot) : -EPROTO;
	case KVW_KEY:
		return kv_rx_key(slot);
	case KVW_DONE:
		return kv_rx_done(slot);
	case KVW_FLUSH:
		return kv_rx_flush(slot);
	case KVW_ATOMIC:
		return kv_rx_atomic(slot);
	case KVW_READY:
		return kv_cm_got_ready(slot->conn) ?: kv_rx_control(slot);
	default:
		return kv_rx_control(slot);
	}
}

/* ---- one after the other ---- */

/* The last words of a connection that has ended are heard, see kv_rx_keep(). */
static inline bool kv_rx_goes_on(const struct kv_conn *conn)
{
	return likely(!test_bit(KV_FAILED, &conn->flags)) || test_bit(KV_REST, &conn->flags);
}

static bool kv_rx_may(const struct kv_conn *conn)
{
	return !conn->rx_held && !conn->rx_waits && kv_rx_goes_on(conn);
}

static struct kv_slot *kv_rx_next(struct kv_conn *conn)
{
	struct kv_slot *slot;

	if (likely(list_empty(&conn->rxq)) || !kv_rx_may(conn))
		return NULL;
	slot = list_first_entry(&conn->rxq, struct kv_slot, link);
	list_del_init(&slot->link);
	return slot;
}

/* Look at everything that is there, @slot first, as long as there is room. */
static void kv_rx_loop(struct kv_conn *conn, struct kv_slot *slot)
{
	int ret;

	lockdep_assert_held(&conn->rx_lock);
	for (; slot; slot = kv_rx_next(conn)) {
		ret = kv_rx_packet(slot);
		if (likely(!ret))
			continue;
		list_add(&slot->link, &conn->rxq);
		if (ret != -EAGAIN)
			kv_rx_broken(conn, ret);
		else if (kfi_cq_wait_space(conn->vep->ep.rx_cq, &conn->space))
			conn->rx_waits = true;
	}
}

void kv_rx_run(struct kv_conn *conn)
{
	spin_lock_bh(&conn->rx_lock);
	kv_rx_loop(conn, kv_rx_next(conn));
	spin_unlock_bh(&conn->rx_lock);
}

void kv_rx_space(struct kfi_cq_waiter *w)
{
	struct kv_conn *conn = container_of(w, struct kv_conn, space);
	bool over;

	spin_lock_bh(&conn->rx_lock);
	conn->rx_waits = false;
	kv_rx_loop(conn, kv_rx_next(conn));
	over = !conn->rx_waits && test_bit(KV_DOWN, &conn->flags);
	spin_unlock_bh(&conn->rx_lock);
	if (over)
		kv_conn_again(conn);
}

/* Mostly there is no other packet. */
static void kv_rx_came(struct kv_conn *conn, struct kv_slot *slot)
{
	spin_lock(&conn->rx_lock);
	if (unlikely(!list_empty(&conn->rxq) || !kv_rx_may(conn))) {
		list_add_tail(&slot->link, &conn->rxq);
		slot = kv_rx_next(conn);
	}
	kv_rx_loop(conn, slot);
	spin_unlock(&conn->rx_lock);
}

/* Softirq */
void kv_recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kv_slot *slot = container_of(wc->wr_cqe, struct kv_slot, cqe);
	struct kv_conn *conn = slot->conn;

	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		if (wc->status != IB_WC_WR_FLUSH_ERR)
			kv_conn_fail(conn, -EIO);
		else
			kv_conn_flushed(conn);
		return;
	}
	slot->bytes = wc->byte_len;
	kv_slot_sync(slot, conn->kdom->ib);
	slot->inv_key = wc->wc_flags & IB_WC_WITH_INVALIDATE ? wc->ex.invalidate_rkey : 0;
	slot->state = KV_SLOT_HERE;
	slot->unexpected = false;
	slot->holds = 0;
	conn->heard = jiffies;
	kfi_batch_begin();
	kv_rx_came(conn, slot);
	kfi_batch_end();
}

/* ---- the end ---- */

/* A request that waits for its receive. False: a receive takes it right now, and finds it lost. */
static bool kv_slot_lose(struct kv_slot *slot)
{
	struct kv_conn *conn = slot->conn;
	bool queued;

	spin_lock_bh(&conn->lock);
	queued = slot->state == KV_SLOT_QUEUED && slot->p.type != KVW_MSG;
	if (queued)
		slot->state = KV_SLOT_LOST;
	spin_unlock_bh(&conn->lock);
	return queued && kfi_rx_unqueue(&slot->rx);
}

static void kv_slot_end(struct kv_slot *slot, int err)
{
	if (kv_slot_claim(slot))
		kfi_rx_abort(&slot->rx, err);
	else if (!kv_slot_lose(slot))
		return;
	if (!slot->unexpected)
		return;
	slot->unexpected = false;
	kv_conn_put(slot->conn);
}

/*
 * No packet comes any more, so whoever has looked at the last one is through, or has left it and waits for room. Not before: he could
 * begin to wait just then.
 */
void kv_rx_stop(struct kv_conn *conn)
{
	if (conn->vep && conn->vep->ep.rx_cq)
		kfi_cq_cancel_wait(conn->vep->ep.rx_cq, &conn->space);
	spin_lock_bh(&conn->rx_lock);
	conn->rx_waits = false;
	spin_unlock_bh(&conn->rx_lock);
}

/* The queue pair is gone and nothing is being looked at: end what was half done. Whole messages stay for their receives. */
void kv_rx_lost(struct kv_conn *conn, int err)
{
	kv_slots_each(conn, kv_slot_end, err);
}

/*
 * The connection is down, and nobody looks at packets: those that have come before are looked at all the same, as far as they are
 * whole. What has been sent with success is not lost because its sender has closed. Nobody has sent anything with success before the
 * handshake was over; who failed in it may have tried.
 */
void kv_rx_keep(struct kv_conn *conn)
{
	if (conn->state != KV_READY || conn->rx_held || conn->error == -EPROTO || list_empty(&conn->rxq))
		return;
	set_bit(KV_REST, &conn->flags);
	mod_delayed_work(kv_cm_wq, &conn->deadline, msecs_to_jiffies(kv_timeout_ms));
}

/* Is there no more of that? Else kv_conn_down() comes again: when there has been room for it, or it is not waited for any longer. */
bool kv_rx_rest(struct kv_conn *conn)
{
	bool waits;

	if (test_bit(KV_REST, &conn->flags) && READ_ONCE(conn->vep->home.stop_err))
		clear_bit(KV_REST, &conn->flags);
	if (test_bit(KV_REST, &conn->flags))
		kv_rx_run(conn);
	spin_lock_bh(&conn->rx_lock);
	waits = conn->rx_waits;
	spin_unlock_bh(&conn->rx_lock);
	if (waits && test_bit(KV_REST, &conn->flags))
		return false;
	clear_bit(KV_REST, &conn->flags);
	kv_rx_stop(conn);
	return true;
}
