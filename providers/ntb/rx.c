// SPDX-License-Identifier: GPL-2.0
/*
 * rx.c - the receive path, in the order in which a record takes it.
 *
 *   nt_conn_record()	softirq: a record has come, for a connection that there is. What is it? Credits, then by type
 *   nt_rx_message()	to its receive, straight out of the ring; or a copy waits in a slot
 *   nt_rx_settle()	a burst of them is through: credits go back
 *   nt_rx_go_on()	what waits in rxq, in order: messages for room in a completion queue, requests that have been performed for
 *			their consumer to be told
 *   nt_rx_matched()	a receive has come for a message that waited in the matching
 *
 * Bytes of RMA and of long messages are moved as they come, also when something waits: they are not behind messages. What waits stops its
 * connection's messages and nothing else. Whatever a peer does against the protocol ends its connection.
 */
#include "ntb.h"

#define NT_REST_MS	5000	/* for what came before the end to be received, if the consumer makes room for it */

kfi_addr_t nt_rx_src(struct nt_conn *conn)
{
	struct kfi_ep *ep = &conn->nep->ep;

	if (!ep->av || !(ep->caps & (KFI_SOURCE | KFI_DIRECTED_RECV)))
		return KFI_ADDR_NOTAVAIL;
	return kfi_av_reverse(ep->av, &conn->name);
}

static u64 nt_rx_flags(const struct ntw_frame *f)
{
	u64 flags = f->bits & NTW_F_TAGGED ? KFI_TAGGED : KFI_MSG;

	if (f->bits & NTW_F_CQ_DATA)
		flags |= KFI_REMOTE_CQ_DATA;
	if (f->bits & NTW_F_RMA)
		flags |= KFI_RMA | (f->type == NTW_TREAD ? KFI_READ : KFI_WRITE);
	return flags;
}

static void nt_rx_describe(struct nt_conn *conn, struct kfi_rx *rx, const struct ntw_frame *f)
{
	rx->len = f->len;
	rx->tag = f->tag;
	rx->data = f->data;
	rx->flags = nt_rx_flags(f);
	rx->name = &conn->name;
}

/* ---- what has waited ---- */

/* A slot whose message is where it belongs, or nobody's: answer or free it. */
static void nt_slot_delivered(struct nt_slot *slot)
{
	struct nt_conn *conn = slot->conn;
	struct nt_done done = NT_DONE(done);

	spin_lock_bh(&conn->lock);
	if (slot->f.bits & NTW_F_ACK && !test_bit(NT_DEAD, &conn->flags))
		nt_slot_answer(slot, NTW_ACK, 0);
	else
		nt_slot_free(slot);
	if (!test_bit(NT_DEAD, &conn->flags))
		nt_tx_run(conn, &done);
	spin_unlock_bh(&conn->lock);
	nt_done(&done);
}

static void nt_slot_deliver(struct nt_slot *slot)
{
	if (slot->rx.room && copy_to_iter(slot->buf, slot->rx.room, &slot->rx.iter) != slot->rx.room)
		WARN_ON_ONCE(1);	/* kernel memory can't fault */
	kfi_rx_complete(&slot->rx, 0);
	nt_slot_delivered(slot);
}

/* The receive is lent to the sender, if it is in the window. The lock is held */
static void nt_slot_lend(struct nt_slot *slot)
{
	struct nt_conn *conn = slot->conn;

	slot->nplaces = nt_places(conn, &slot->rx.iter, min(slot->rx.len, slot->rx.room), slot->place, NT_PLACES);
	if (slot->nplaces && !nt_loan_begin(conn))
		slot->nplaces = 0;
}

/* A request to move data has its receive: ask for the payload, or begin to send it. False: its connection is down. */
static bool nt_slot_grant(struct nt_slot *slot)
{
	struct nt_conn *conn = slot->conn;
	struct nt_done done = NT_DONE(done);
	bool there;

	spin_lock_bh(&conn->lock);
	there = slot->state != NT_SLOT_LOST && !test_bit(NT_DEAD, &conn->flags);
	if (there && slot->f.type == NTW_TREAD) {
		slot->state = NT_SLOT_READING;
		slot->left = min_t(u64, slot->rx.room, slot->f.len);
		slot->iter = slot->rx.iter;
		slot->iter.data_source = ITER_SOURCE;
		list_add_tail(&slot->entry, &conn->reads);
	} else if (there) {
		slot->state = NT_SLOT_GRANTED;
		nt_slot_lend(slot);
		nt_slot_answer(slot, NTW_CTS, 0);
	}
	if (there)
		nt_tx_run(conn, &done);
	spin_unlock_bh(&conn->lock);
	nt_done(&done);
	return there;
}

static void nt_slot_matched(struct nt_slot *slot)
{
	struct nt_conn *conn = slot->conn;

	if (slot->f.type == NTW_MSG) {
		nt_slot_deliver(slot);
	} else if (!nt_slot_grant(slot)) {
		kfi_rx_abort(&slot->rx, -ECONNRESET);
		spin_lock_bh(&conn->lock);
		nt_slot_free(slot);
		spin_unlock_bh(&conn->lock);
	}
}

/* kfi.ko has found the receive for a message that waited. Process or softirq, no lock of ours held. */
void nt_rx_matched(struct kfi_ep *ep, struct kfi_rx *rx)
{
	struct nt_slot *slot = container_of(rx, struct nt_slot, rx);
	struct nt_conn *conn = slot->conn;

	nt_slot_matched(slot);
	nt_conn_put(conn);	/* the matching's */
}

/* The endpoint closes and nobody will ever want it. */
void nt_rx_drop(struct kfi_ep *ep, struct kfi_rx *rx)
{
	struct nt_slot *slot = container_of(rx, struct nt_slot, rx);
	struct nt_conn *conn = slot->conn;

	spin_lock_bh(&conn->lock);
	nt_slot_free(slot);
	spin_unlock_bh(&conn->lock);
	nt_conn_put(conn);
}

/* ---- messages ---- */

/*
 * With a key that is none of its business the sender does not know what it does. A region that somebody uses at this moment, or
 * whose owner was faster, is left to him, and the receive does not say that it is over.
 */
static int nt_slot_invalidate(struct nt_slot *slot)
{
	int ret;

	if (!(slot->f.bits & NTW_F_INV) || slot->killed)
		return 0;
	ret = kfi_mr_kill(&slot->conn->nep->ep, slot->seg[0].key);
	slot->inv_over = !ret;
	slot->killed = true;
	return ret == -EACCES ? -EPROTO : 0;
}

static void nt_slot_unwanted(struct nt_slot *slot)
{
	struct nt_conn *conn = slot->conn;

	spin_lock_bh(&conn->lock);
	nt_slot_free(slot);
	spin_unlock_bh(&conn->lock);
}

/*
 * A message in a slot, all of it or a request. It may be matched, and gone, on another CPU before kfi_rx_arrive() returns.
 * Return: 0, -EAGAIN: nothing has happened.
 */
static int nt_slot_arrive(struct nt_slot *slot)
{
	bool queue = !(slot->f.bits & NTW_F_RMA);
	struct nt_conn *conn = slot->conn;
	enum kfi_rx_verdict verdict;

	nt_rx_describe(conn, &slot->rx, &slot->f);
	if (slot->inv_over) {
		slot->rx.flags |= KFI_INVALIDATE;
		slot->rx.data = slot->seg[0].key;
	}
	nt_conn_get(conn);
	spin_lock_bh(&conn->lock);
	slot->state = slot->f.type == NTW_MSG ? NT_SLOT_MESSAGE : NT_SLOT_ASKED;
	spin_unlock_bh(&conn->lock);
	verdict = kfi_rx_arrive(&conn->nep->ep, &slot->rx, queue);
	if (verdict == KFI_RX_QUEUED) {
		kfi_stat_inc(&conn->nep->ep, unexpected);
		return 0;
	}
	if (verdict == KFI_RX_FULL)
		slot->state = NT_SLOT_QUEUED;
	else if (verdict == KFI_RX_MATCHED)
		nt_slot_matched(slot);
	else if (verdict == KFI_RX_NONE)
		nt_slot_ack(slot, EACCES);	/* tagged RMA waits for no receive */
	else
		nt_slot_unwanted(slot);
	nt_conn_put(conn);
	return verdict == KFI_RX_FULL ? -EAGAIN : 0;
}

/* One that waits in rxq. Return: 0, -EAGAIN */
static int nt_rx_slot(struct nt_conn *conn, struct nt_slot *slot)
{
	if (slot->f.type != NTW_MSG && slot->f.type != NTW_RTS && slot->f.type != NTW_TREAD)
		return nt_rx_tell(slot);
	if (nt_slot_invalidate(slot)) {
		nt_conn_fail(conn, -EPROTO);
		nt_slot_unwanted(slot);
		return 0;
	}
	return nt_slot_arrive(slot);
}

/* Under the lock, and for this moment alone. */
static struct nt_slot *nt_rx_next(struct nt_conn *conn)
{
	struct nt_slot *slot = list_first_entry_or_null(&conn->rxq, struct nt_slot, entry);

	if (slot)
		list_del_init(&slot->entry);
	return slot;
}

/* We have rx_busy and the lock: look at what waits, until nothing does, or it has to go on waiting. True: it has. */
static bool nt_rx_drain(struct nt_conn *conn)
{
	struct nt_slot *slot;
	int ret = 0;

	while (!ret && !test_bit(NT_DEAD, &conn->flags) && (slot = nt_rx_next(conn))) {
		spin_unlock_bh(&conn->lock);
		ret = nt_rx_slot(conn, slot);
		spin_lock_bh(&conn->lock);
		if (ret)
			list_add(&slot->entry, &conn->rxq);
	}
	conn->rx_busy = false;
	conn->blocked = ret;
	return ret;
}

/* The peer has gone, and all that it said has been heard. The lock is held. */
static void nt_rx_over(struct nt_conn *conn)
{
	if (conn->ended && list_empty(&conn->rxq) && !conn->rx_busy)
		nt_conn_fail(conn, conn->ended);
}

/* Return: false: there is room already. */
static bool nt_rx_block(struct nt_conn *conn)
{
	return conn->nep->ep.rx_cq && kfi_cq_wait_space(conn->nep->ep.rx_cq, &conn->space);
}

/* With rx_busy. */
static void nt_rx_go_on(struct nt_conn *conn)
{
	bool blocked;

	spin_lock_bh(&conn->lock);
	for (;;) {
		blocked = nt_rx_drain(conn);
		nt_rx_over(conn);
		spin_unlock_bh(&conn->lock);
		if (!blocked || nt_rx_block(conn))
			return;
		spin_lock_bh(&conn->lock);
		conn->rx_busy = true;
		conn->blocked = false;
	}
}

/* There is room in the queue again. */
void nt_rx_space(struct kfi_cq_waiter *w)
{
	struct nt_conn *conn = container_of(w, struct nt_conn, space);

	spin_lock_bh(&conn->lock);
	conn->blocked = false;
	conn->rx_busy = true;
	spin_unlock_bh(&conn->lock);
	kfi_batch_begin();
	nt_rx_go_on(conn);
	kfi_batch_end();
}

/* Behind all that waits; if nothing does it is looked at now. */
void nt_rx_enter(struct nt_conn *conn, struct nt_slot *slot)
{
	bool ours;

	spin_lock_bh(&conn->lock);
	list_add_tail(&slot->entry, &conn->rxq);
	ours = !conn->rx_busy && !conn->blocked;
	if (ours)
		conn->rx_busy = true;
	spin_unlock_bh(&conn->lock);
	if (ours)
		nt_rx_go_on(conn);
}

static int nt_rx_keep(struct nt_conn *conn, u8 cls, const struct ntw_frame *f, const struct kfi_rma_iov *segs,
		      const void *payload)
{
	struct nt_slot *slot;
	int ret;

	spin_lock_bh(&conn->lock);
	slot = nt_slot_get(conn, cls);
	nt_slot_fill(slot, f, segs, payload);
	ret = nt_slot_spots(slot, payload);
	spin_unlock_bh(&conn->lock);
	if (!ret)
		nt_rx_enter(conn, slot);
	return ret;
}

/* Delivered, and its sender wants to know. */
static void nt_rx_say_so(struct nt_conn *conn, u8 cls, const struct ntw_frame *f)
{
	struct nt_done done = NT_DONE(done);
	struct nt_slot *slot;

	spin_lock(&conn->lock);
	slot = nt_slot_get(conn, cls);
	slot->f = *f;
	nt_slot_answer(slot, NTW_ACK, 0);
	nt_tx_run(conn, &done);
	spin_unlock(&conn->lock);
	nt_done(&done);
}

/* The receive is there: from the ring to it, the only copy. */
static void nt_rx_direct(struct nt_conn *conn, struct kfi_rx *rx, u8 cls, const struct ntw_frame *f, const void *payload)
{
	if (rx->room && kfi_copy_to(&rx->iter, payload, rx->room) != rx->room)
		WARN_ON_ONCE(1);
	kfi_rx_complete(rx, 0);
	if (f->bits & NTW_F_ACK)
		nt_rx_say_so(conn, cls, f);
	else
		conn->rx_freed[cls]++;
}

/* A burst is through. Tasklet, in the RCU section of the burst. */
void nt_rx_settle(struct nt_conn *conn)
{
	struct nt_done done = NT_DONE(done);
	int cls;

	if (!conn->rx_freed[NTW_CLS_MSG] && !conn->rx_freed[NTW_CLS_TAG])
		return;
	spin_lock(&conn->lock);
	for (cls = 0; cls < NTW_CLS_REQ; cls++) {
		if (conn->rx_freed[cls] && kfi_credit_free(&conn->credit_rx[cls], conn->rx_freed[cls]))
			conn->credit_due = true;
		conn->rx_freed[cls] = 0;
	}
	if (conn->credit_due)
		nt_tx_run(conn, &done);
	spin_unlock(&conn->lock);
	nt_done(&done);
}

/* Has the peer credit for it, and does something wait that it is behind? */
static int nt_rx_charge(struct nt_conn *conn, u8 cls, bool *behind)
{
	bool ok;

	spin_lock(&conn->lock);
	ok = kfi_credit_charge(&conn->credit_rx[cls], 1);
	*behind = conn->rx_busy || conn->blocked || !list_empty(&conn->rxq);
	spin_unlock(&conn->lock);
	return ok ? 0 : -EPROTO;
}

static int nt_rx_message(struct nt_conn *conn, const struct ntw_frame *f, const struct kfi_rma_iov *segs, const void *payload)
{
	u8 cls = f->bits & NTW_F_TAGGED ? NTW_CLS_TAG : NTW_CLS_MSG;
	struct kfi_rx rx __uninitialized;
	bool behind;
	int ret;

	/* Who has not asked for tagged RMA does not have his receives read by it. */
	if (f->bits & NTW_F_RMA && !(conn->nep->ep.caps & KFI_TAGGED_RMA))
		return -EPROTO;
	ret = nt_rx_charge(conn, cls, &behind);
	if (ret)
		return ret;
	if (!behind && f->type == NTW_MSG && !(f->bits & NTW_F_INV)) {
		nt_rx_describe(conn, &rx, f);
		if (kfi_rx_arrive(&conn->nep->ep, &rx, false) == KFI_RX_MATCHED) {
			nt_rx_direct(conn, &rx, cls, f, payload);
			return 0;
		}
	}
	return nt_rx_keep(conn, cls, f, segs, payload);
}

/* ---- long messages ---- */

static struct nt_slot *nt_granted_slot(struct nt_conn *conn, const struct ntw_frame *f)
{
	struct nt_slot *slot = nt_slot_at(conn, f->slot);

	if (!slot || (slot->state != NT_SLOT_GRANTED && slot->state != NT_SLOT_OFFERED) || slot->answer ||
	    slot->f.id != f->id || slot->f.gen != f->gen)
		return NULL;
	return f->data == (slot->state == NT_SLOT_OFFERED ? slot->came : slot->at) ? slot : NULL;
}

/* A sender need not know what became of its message, but RMA has a result. */
static u16 nt_slot_status(const struct nt_slot *slot)
{
	return slot->f.bits & NTW_F_RMA && slot->rx.len > slot->rx.room ? KFI_ETRUNC : 0;
}

/* It is in its receive, by whatever way. */
static void nt_rx_landed(struct nt_slot *slot)
{
	struct nt_conn *conn = slot->conn;

	kfi_rx_complete(&slot->rx, 0);
	if (slot->nplaces) {
		spin_lock_bh(&conn->lock);
		nt_loan_end(conn);
		spin_unlock_bh(&conn->lock);
	}
	nt_slot_ack(slot, nt_slot_status(slot));
}

static int nt_rx_message_data(struct nt_slot *slot, const struct ntw_frame *f, const void *payload)
{
	bool placed = f->bits & NTW_F_PLACED;
	u64 bytes = placed ? f->len : f->payload, left = min_t(u64, slot->rx.len, slot->rx.room) - slot->at;
	int ret;

	if (placed != !!slot->nplaces || bytes > left || !!(f->bits & NTW_F_LAST) != (bytes == left))
		return -EPROTO;
	ret = placed ? nt_placed_check(slot->conn, f, &slot->rx.iter, slot->at) : 0;
	if (ret)
		return ret;
	if (!placed && bytes && copy_to_iter(payload, bytes, &slot->rx.iter) != bytes)
		WARN_ON_ONCE(1);
	slot->at += bytes;
	nt_count_in(slot->conn, bytes, placed);
	if (f->bits & NTW_F_LAST)
		nt_rx_landed(slot);
	return 0;
}

static int nt_rx_data(struct nt_conn *conn, const struct ntw_frame *f, const void *payload)
{
	struct nt_slot *slot;

	spin_lock_bh(&conn->lock);
	slot = nt_granted_slot(conn, f);
	spin_unlock_bh(&conn->lock);
	if (!slot)
		return -EPROTO;
	return slot->state == NT_SLOT_OFFERED ? nt_rx_write_data(slot, f, payload) : nt_rx_message_data(slot, f, payload);
}

/* ---- the rest ---- */

/* What it said before is heard first, if there is room for it in time. */
static int nt_rx_end(struct nt_conn *conn, int err)
{
	spin_lock_bh(&conn->lock);
	conn->ended = conn->ended ?: err;
	nt_rx_over(conn);
	if (!test_bit(NT_FAILED, &conn->flags))
		mod_delayed_work(nt_cm_wq, &conn->deadline, msecs_to_jiffies(NT_REST_MS));
	spin_unlock_bh(&conn->lock);
	return 0;
}

/* Of two that are connected one may just close; somebody we only send to has broken off. */
static int nt_rx_close(struct nt_conn *conn, const struct ntw_frame *f)
{
	/* pairs with nt_home_moved() */
	bool msg = smp_load_acquire(&conn->npep) || conn->nep->ep.type == KFI_EP_MSG;

	nt_lend_closed(conn, f->bits);
	if (conn->state != NT_READY)
		return -ECONNRESET;
	return nt_rx_end(conn, msg ? -ESHUTDOWN : -ECONNRESET);
}

static int nt_rx_answer(struct nt_conn *conn, const struct ntw_frame *f, const void *payload)
{
	struct nt_done done = NT_DONE(done);
	int ret = 0;

	spin_lock_bh(&conn->lock);
	if (f->type == NTW_CTS)
		ret = nt_got_cts(conn, f, payload);
	else if (f->type == NTW_ACK)
		ret = nt_got_ack(conn, f, &done);
	else
		ret = nt_rx_read_data(conn, f, payload, &done);
	if (!ret)
		nt_tx_run(conn, &done);
	spin_unlock_bh(&conn->lock);
	nt_done(&done);
	return ret;
}

/* Limits change in nt_rx_credit() alone, so it may look without the lock. */
static bool nt_rx_credit_known(const struct nt_conn *conn, const struct ntw_frame *f)
{
	int cls;

	for (cls = 0; cls < NTW_CLS; cls++)
		if ((u16)conn->credit_tx[cls].limit != f->credit[cls])
			return false;
	return true;
}

/* Credits ride on everything. */
static int nt_rx_credit(struct nt_conn *conn, const struct ntw_frame *f)
{
	struct nt_done done = NT_DONE(done);
	bool more = false;
	int cls, ret = 0;

	if (nt_rx_credit_known(conn, f))
		return 0;
	spin_lock_bh(&conn->lock);
	for (cls = 0; cls < NTW_CLS && ret >= 0; cls++) {
		ret = kfi_credit_update(&conn->credit_tx[cls], kfi_credit_widen(&conn->credit_tx[cls], f->credit[cls]),
					conn->window[cls]);
		more |= ret > 0;
	}
	if (more)
		nt_tx_run(conn, &done);
	spin_unlock_bh(&conn->lock);
	nt_done(&done);
	return min(ret, 0);
}

static bool nt_rx_asks(u8 type)
{
	return type == NTW_MSG || type == NTW_RTS || type == NTW_TREAD || type == NTW_WRITE || type == NTW_MORE || type == NTW_READ ||
	       type == NTW_ATOMIC || type == NTW_FLUSH;
}

static int nt_rx_dispatch(struct nt_conn *conn, const struct ntw_frame *f, const struct kfi_rma_iov *segs, const void *payload)
{
	if (unlikely(kfi_peer_tx_ctx(&conn->nep->ep)) && nt_rx_asks(f->type))
		return -EPROTO;		/* a transmit context is answered, and asked for nothing */
	switch (f->type) {
	case NTW_MSG:
		return nt_rx_message(conn, f, segs, payload);
	case NTW_RTS:
	case NTW_TREAD:
		return nt_rx_message(conn, f, segs, payload);
	case NTW_DATA:
		return nt_rx_data(conn, f, payload);
	case NTW_CTS:
	case NTW_ACK:
	case NTW_READ_DATA:
		return nt_rx_answer(conn, f, payload);
	case NTW_WRITE:
		return nt_rx_write(conn, f, segs, payload);
	case NTW_MORE:
		return nt_rx_more(conn, f, payload);
	case NTW_READ:
		return nt_rx_read(conn, f, segs, payload);
	case NTW_ATOMIC:
		return nt_rx_atomic(conn, f, segs, payload);
	case NTW_FLUSH:
		return nt_rx_flush(conn, f, segs);
	case NTW_BYE:
		return nt_rx_end(conn, -ESHUTDOWN);
	default:
		return 0;
	}
}

/* Segments are copied before they are looked at. */
static void nt_rx_segs(const void *from, unsigned int n, struct kfi_rma_iov *segs)
{
	struct ntw_seg seg;
	unsigned int i;

	for (i = 0; i < n; i++) {
		memcpy(&seg, from + i * sizeof(seg), sizeof(seg));
		/* The compiler might read the peer's memory again instead. */
		barrier_data(&seg);
		segs[i] = (struct kfi_rma_iov) {
			.addr = le64_to_cpu(seg.addr),
			.len = min_t(u64, le64_to_cpu(seg.len), SIZE_MAX),	/* no region is as long */
			.key = le64_to_cpu(seg.key),
		};
	}
}

/* Softirq, in the RCU section in which it was found. @body may be changed by the peer all the time. */
void nt_conn_record(struct nt_conn *conn, const struct ntw_rec *rec, const void *body, size_t len)
{
	struct kfi_rma_iov segs[NTW_SEGS_MAX] __uninitialized;
	struct ntw_frame f __uninitialized;
	struct ntw_hdr hdr __uninitialized;
	int ret = -EPROTO;

	if (len >= sizeof(hdr)) {
		memcpy(&hdr, body, sizeof(hdr));
		barrier_data(&hdr);
		ret = ntw_decode(rec, &hdr, len, nt_eager_size, &f);
	}
	if (!ret && f.type == NTW_CLOSE) {
		ret = nt_rx_close(conn, &f);
	} else if (!ret && READ_ONCE(conn->state) != NT_READY) {
		ret = -EPROTO;
	} else if (!ret) {
		conn->rx_bytes += len;
		nt_rx_segs(body + sizeof(hdr), f.nsegs, segs);
		ret = nt_rx_credit(conn, &f) ?:
		      nt_rx_dispatch(conn, &f, segs, body + sizeof(hdr) + ntw_tail(&f));
	}
	if (ret)
		nt_conn_fail(conn, ret);
}
