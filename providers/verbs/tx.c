// SPDX-License-Identifier: GPL-2.0
/*
 * tx.c - the send path of RDM endpoints, in the order in which a message takes it. That of MSG endpoints is in plain.c.
 *
 *   kv_tx() -> kv_rdm_tx()		which connection?
 *   kv_tx_post()			onto its queue, if anything waits there
 *   kv_tx_at_once(), kv_tx_run()	credits spent, work requests filled in, one chain given to the device
 *   kv_send_done()			the device reports (sq.c)
 *   kv_op_end(), kv_done()		the consumer hears of it, with no lock held
 */
#include "verbs.h"

int kv_tx(struct kfi_ep *ep, struct kfi_oper *op)
{
	/* A receive is nobody's to make durable. */
	if (unlikely(op->flags & KFI_COMMIT_COMPLETE) && op->code == KFI_OPC_TWRITE)
		return -EOPNOTSUPP;
	memset(kv_op(op), 0, offsetof(struct kv_op, iter));
	INIT_LIST_HEAD(&kv_op(op)->frmrs);
	return kv_rdm_tx(to_kv_ep(ep), op);
}

/* There may be something to send. The caller has a reference, or is inside the RCU section in which it found it. */
void kv_tx_kick(struct kv_conn *conn)
{
	struct kv_done done = KV_DONE(done);

	spin_lock_bh(&conn->lock);
	kv_tx_run(conn, &done);
	kv_unlock_bh(conn, &done);
}

/* The last of a series went to another peer, or was refused; or something is to be asked again. */
void kv_more_work(struct work_struct *work)
{
	struct kv_conn *conn = container_of(to_delayed_work(work), struct kv_conn, more_work);

	spin_lock_bh(&conn->lock);
	conn->asks_later = false;
	spin_unlock_bh(&conn->lock);
	kv_tx_kick(conn);
}

/* The peer can't say it now: in the next jiffy perhaps. The lock is held. */
void kv_ask_later(struct kv_conn *conn)
{
	if (test_bit(KV_DEAD, &conn->flags))
		return;
	conn->asks_later = true;
	queue_delayed_work(kv_cm_wq, &conn->more_work, 1);
}

/* ---- the end of operations ---- */

/* Under the lock; the consumer hears of it when that has been dropped. Nobody may find it any more. */
void kv_op_end(struct kfi_oper *op, int err, struct kv_done *done)
{
	struct kv_op *kop = kv_op(op);

	kop->err = kop->err ?: err;
	kop->state = KV_OP_QUEUED;
	kop->conn = NULL;
	kv_done_op(done, op);
}

void kv_done_all(struct kv_done *done)
{
	struct kfi_oper *op, *next;
	struct kv_slot *slot, *after;

	llist_for_each_entry_safe(op, next, done->ops, lnode)
		__kfi_tx_complete(op, kv_op(op)->err);
	list_for_each_entry_safe(slot, after, &done->slots, link) {
		list_del_init(&slot->link);
		kv_slot_fetched(slot);
	}
}

/* ---- packets ---- */

/* Return: its bytes */
u32 kv_put_header(struct kv_conn *conn, struct kv_sqe *e, struct kvw_packet *p)
{
	int cls;

	p->spent = 0;
	for (cls = 0; cls < KVW_CLS; cls++) {
		p->credit[cls] = kfi_credit_advert(&conn->credit_rx[cls]);
		p->spent |= (conn->credit_tx[cls].limit == conn->credit_tx[cls].used) << cls;
	}
	p->epoch = atomic_read(&conn->kdom->epoch);
	conn->credit_due = false;
	return kvw_encode(p, e->buf);
}

/* Can it go with the request? siw takes payload there, but not of what invalidates: it ends the connection. */
static bool kv_in_request(const struct kv_conn *conn, const struct kv_sqe *e, u32 bytes)
{
	return bytes <= conn->in_request && !e->mapped && !(conn->kdom->iwarp && e->wr.send.opcode == IB_WR_SEND_WITH_INV);
}

/* What goes with the request is taken from where the processor has it, while it is posted; what does not, by the device. */
void kv_put_buf(struct kv_conn *conn, struct kv_sqe *e, u32 bytes)
{
	bool in_request = kv_in_request(conn, e, bytes);

	e->sge[0] = (struct ib_sge){ in_request ? (uintptr_t)e->buf : e->dma, bytes, conn->kdom->pd->local_dma_lkey };
	if (in_request)
		e->wr.send.send_flags |= IB_SEND_INLINE;
	else
		ib_dma_sync_single_for_device(conn->kdom->ib, e->dma, bytes, DMA_TO_DEVICE);
}

/* A packet of @bytes in @e->buf, and what @e has mapped behind it. */
void kv_put_send(struct kv_conn *conn, struct kv_sqe *e, u32 bytes, bool tell)
{
	kv_put_buf(conn, e, bytes);
	if (e->wr.send.opcode != IB_WR_SEND_WITH_INV)
		e->wr.send.opcode = IB_WR_SEND;
	conn->tx_bytes += bytes;
	kv_sq_put(conn, e, &e->wr.send, tell);
}

/* Header and descriptors, nobody waits for its completion; @wr_flags: IB_SEND_ */
void kv_put_packet(struct kv_conn *conn, struct kvw_packet *p, const struct kvw_desc *descs, int wr_flags)
{
	struct kv_sqe *e = kv_sq_get(conn, KV_SQ_PACKET);
	u32 head = kv_put_header(conn, e, p), len = p->count * sizeof(*descs);

	if (len)
		memcpy(e->buf + head, descs, len);
	e->nsge = 1;
	e->wr.send.send_flags = wr_flags;
	kv_put_send(conn, e, head + len, false);
}

static bool kv_is_tagged(const struct kfi_oper *op)
{
	return op->code == KFI_OPC_TSEND || op->code == KFI_OPC_TWRITE || op->code == KFI_OPC_TREAD;
}

u8 kv_op_cls(const struct kfi_oper *op)
{
	return kv_is_tagged(op) ? KVW_CLS_TAG : KVW_CLS_MSG;
}

static unsigned int kv_max_pieces(const struct kv_conn *conn)
{
	return min_t(unsigned int, KV_SGE, conn->kdom->max_send_sge - 1);
}

static bool kv_is_rma(const struct kfi_oper *op)
{
	return op->code == KFI_OPC_WRITE || op->code == KFI_OPC_READ || op->code == KFI_OPC_FLUSH || kfi_opc_is_atomic(op->code);
}

/* Member by member: an initialiser would clear all of it first. What kv_put_header() fills in is left to that. */
static __always_inline void kv_fill_packet(struct kvw_packet *p, const struct kfi_oper *op, u8 type)
{
	p->type = type;
	p->flags = (kv_is_tagged(op) ? KVW_F_TAGGED : 0) | (op->flags & KFI_REMOTE_CQ_DATA ? KVW_F_CQ_DATA : 0) |
		   (op->flags & KFI_INVALIDATE ? KVW_F_INV : 0);
	p->count = 0;
	p->status = 0;
	p->id = op->index;
	p->gen = op->gen;
	p->len = op->len;
	p->tag = op->tag;
	p->data = op->data;
}

struct kvw_packet kv_op_packet(const struct kfi_oper *op, u8 type)
{
	struct kvw_packet p __uninitialized;

	kv_fill_packet(&p, op, type);
	return p;
}

/* The peer's credit for a message that won't come. */
void kv_put_void(struct kv_conn *conn, const struct kfi_oper *op)
{
	struct kvw_packet p = { .type = KVW_VOID, .flags = kv_is_tagged(op) ? KVW_F_TAGGED : 0 };

	kv_put_packet(conn, &p, NULL, 0);
}

/*
 * A FIN of the peer is due, for which we keep a receive. RMA that is under way goes to the list
 * when all of it is in the send queue.
 */
void kv_op_asked(struct kv_conn *conn, struct kfi_oper *op)
{
	conn->requests++;
	kv_op(op)->asked++;
	kv_op(op)->state = KV_OP_ASKED;
	if (conn->op != op)
		list_add_tail(&op->link, &conn->waiting);
}

/* An answer of the peer's has come, and with it our receive for it. */
void kv_op_answered(struct kv_conn *conn, struct kfi_oper *op)
{
	conn->requests--;
	if (!--kv_op(op)->asked && conn->op != op)
		list_del(&op->link);
}

/* It ends with a work request. */
static void kv_op_inflight(struct kv_conn *conn, struct kv_sqe *e, struct kfi_oper *op)
{
	conn->inflight++;
	e->op = op;
}

/* When may the consumer have his buffer back? */
static u8 kv_answer_wanted(const struct kv_conn *conn, const struct kfi_oper *op)
{
	if (op->flags & KFI_DELIVERY_COMPLETE)
		return KVW_F_LANDED;
	/* iWARP reports what it has handed to TCP. */
	if (op->flags & KFI_TRANSMIT_COMPLETE && conn->kdom->iwarp)
		return KVW_F_ARRIVED;
	return 0;
}

static noinline int kv_map_pieces(struct kv_conn *conn, struct kv_sqe *e, const struct kfi_oper *op)
{
	struct iov_iter iter = op->iter;
	ssize_t n = kv_sq_map(conn, e, &iter, op->len, kv_max_pieces(conn), DMA_TO_DEVICE);

	if (n < 0)
		return n;
	return n == op->len ? 0 : -EMSGSIZE;
}

/* Short payload is copied behind the header, more is fetched by the device. */
static inline int kv_map_payload(struct kv_conn *conn, struct kv_sqe *e, struct kfi_oper *op, void *at, u32 *bytes)
{
	e->nsge = 1;
	if (op->len > KV_INLINE)
		return kv_map_pieces(conn, e, op);
	WARN_ON_ONCE(kfi_copy_from(at, &op->iter, op->len) != op->len);
	*bytes += op->len;
	__kfi_stat_add(op->ep, copied, op->len);
	return 0;
}

/*
 * It ends with the peer's answer, and with the work request if that has the consumer's memory: a device that has not heard from the peer's
 * may send it once more, when the answer is here long since.
 */
static void kv_sent_asking(struct kv_conn *conn, struct kv_sqe *e, struct kfi_oper *op)
{
	kv_op_asked(conn, op);
	kv_op(op)->issued = true;
	conn->inflight++;
	if (!e->mapped)
		return;
	e->kind = KV_SQ_PART;
	e->op = op;
	kv_op(op)->wrs = 1;
}

void kv_sent(struct kv_conn *conn, struct kv_sqe *e, struct kfi_oper *op, u8 answer, struct kv_done *done)
{
	kv_op(op)->state = KV_OP_SENT;
	if (answer)
		kv_sent_asking(conn, e, op);
	else if (!e->mapped && !(op->flags & KFI_TRANSMIT_COMPLETE))
		kv_op_end(op, 0, done);
	else
		kv_op_inflight(conn, e, op);
}

/* If we know what the region is for the peer's device, that does it. */
static void kv_send_invalidates(struct kv_conn *conn, struct kv_sqe *e, u64 key)
{
	u32 rkey = kv_key_rkey(conn, key);

	if (!rkey)
		return;
	e->wr.send.opcode = IB_WR_SEND_WITH_INV;
	e->wr.send.ex.invalidate_rkey = rkey;
}

/* The message in one packet. */
static void kv_put_short(struct kv_conn *conn, struct kfi_oper *op, struct kv_done *done)
{
	u8 answer = kv_answer_wanted(conn, op);
	struct kvw_packet p __uninitialized;
	struct kv_sqe *e;
	u32 bytes;
	int ret;

	kv_fill_packet(&p, op, KVW_MSG);
	p.flags |= answer;
	p.count = kvw_msg_descs(p.flags);
	e = kv_sq_get(conn, KV_SQ_PACKET);
	bytes = kv_put_header(conn, e, &p);
	if (p.flags & KVW_F_INV) {
		struct kvw_desc *desc = e->buf + bytes;

		*desc = (struct kvw_desc){ .addr = cpu_to_le64(op->inv_key) };
		bytes += sizeof(*desc);
		kv_send_invalidates(conn, e, op->inv_key);
	}
	ret = kv_map_payload(conn, e, op, e->buf + bytes, &bytes);
	if (unlikely(ret)) {
		kv_sq_unmap(conn, e);
		kv_op_end(op, ret, done);
		kv_put_void(conn, op);
		return;
	}
	kv_sent(conn, e, op, answer, done);
	kv_put_send(conn, e, bytes, e->op);
}

/* ---- what goes next ---- */

/* Too long for a packet, or in too many pieces: a segment of up to a page is at most two, and the one that may be longer three. */
static inline bool kv_is_long(const struct kv_conn *conn, const struct kfi_oper *op)
{
	size_t descs = op->flags & KFI_INVALIDATE ? sizeof(struct kvw_desc) : 0;

	if (op->code == KFI_OPC_TWRITE || op->code == KFI_OPC_TREAD || op->len > conn->room - descs)
		return true;
	return op->len > KV_INLINE && 2 * op->iter.nr_segs + (op->len > PAGE_SIZE) > kv_max_pieces(conn);
}

/* Everything a message can take: an answer, registrations if it is long, and a credit. */
static inline bool kv_may_send(struct kv_conn *conn, struct kfi_oper *op, bool is_long)
{
	return kv_may_ask(conn) && (likely(!is_long) || kv_long_room(conn, op)) &&
	       kfi_credit_take(&conn->credit_tx[kv_op_cls(op)], 1);
}

static void kv_put_message(struct kv_conn *conn, struct kfi_oper *op, bool is_long, struct kv_done *done)
{
	if (is_long)
		kv_put_long(conn, op, done);
	else
		kv_put_short(conn, op, done);
}

/* The same, of an operation in a list. False: not now. */
static bool kv_put_listed(struct kv_conn *conn, struct kfi_oper *op, struct kv_done *done)
{
	bool is_long;

	is_long = kv_is_long(conn, op);
	if (!kv_may_send(conn, op, is_long))
		return false;
	list_del(&op->link);
	kv_put_message(conn, op, is_long, done);
	return true;
}

static bool kv_put_stalled(struct kv_conn *conn, struct kv_done *done)
{
	struct kfi_oper *op;
	int cls;

	for (cls = 0; cls < KVW_CLS_CTL; cls++) {
		op = list_first_entry_or_null(&conn->stalled[cls], struct kfi_oper, link);
		if (op && kv_put_listed(conn, op, done))
			return true;
	}
	return false;
}

/* In posting order; a message without credit does not keep RMA behind it, nor messages of the other kind. */
static bool kv_put_queued(struct kv_conn *conn, struct kv_done *done)
{
	struct kfi_oper *op, *next;
	u8 cls;

	if (conn->op)
		return kv_put_rma(conn, done);
	list_for_each_entry_safe(op, next, &conn->queue, link) {
		if (kv_is_rma(op)) {
			list_del(&op->link);
			conn->op = op;
			return kv_put_rma(conn, done);
		}
		cls = kv_op_cls(op);
		if (list_empty(&conn->stalled[cls]) && kv_put_listed(conn, op, done))
			return true;
		list_move_tail(&op->link, &conn->stalled[cls]);
	}
	return false;
}

/* An answer about a region may have become untrue while it waited. */
static void kv_check_answer(struct kv_conn *conn, struct kv_slot *slot)
{
	if (slot->answer.type != KVW_KEY_IS || slot->epoch == atomic_read(&conn->kdom->epoch) || slot->answer.status)
		return;
	slot->answer.status = EAGAIN;
	slot->answer.count = 0;
}

static bool kv_put_answer(struct kv_conn *conn)
{
	struct kv_slot *slot = list_first_entry_or_null(&conn->answers, struct kv_slot, alink);

	if (!slot)
		return false;
	list_del_init(&slot->alink);
	kv_check_answer(conn, slot);
	if (slot->answer.type == KVW_OLD)
		kv_put_old(conn, slot);
	else
		kv_put_packet(conn, &slot->answer, kv_slot_descs(slot), 0);
	kv_slot_release(slot, KV_HOLD_ANSWER);
	return true;
}

/* Nothing posted is left to be sent or answered. Under the lock. */
static bool kv_drained(const struct kv_conn *conn)
{
	return !conn->op && list_empty(&conn->queue) && list_empty(&conn->stalled[KVW_CLS_MSG]) &&
	       list_empty(&conn->stalled[KVW_CLS_TAG]) && list_empty(&conn->waiting) && list_empty(&conn->ending) &&
	       !conn->inflight;
}

/* The peer hangs up when it hears it; a deadline does if it doesn't. */
static bool kv_bye_due(struct kv_conn *conn)
{
	if (!test_bit(KV_BYE_WANTED, &conn->flags) || !kv_drained(conn) || test_and_set_bit(KV_BYE_SENT, &conn->flags))
		return false;
	queue_delayed_work(kv_cm_wq, &conn->deadline, msecs_to_jiffies(kv_connect_timeout_ms));
	return true;
}

bool kv_put_control(struct kv_conn *conn)
{
	struct kvw_packet p = {};

	if (conn->credit_due)
		p.type = KVW_CREDIT;
	else if (kv_bye_due(conn))
		p.type = KVW_BYE;
	else
		return false;
	if (conn->plain)
		kv_put_hangup(conn);
	else
		kv_put_packet(conn, &p, NULL, 0);
	return true;
}

static bool kv_put_ready(struct kv_conn *conn)
{
	struct kvw_packet p = { .type = KVW_READY };

	if (!conn->ready_due)
		return false;
	conn->ready_due = false;
	kv_put_packet(conn, &p, NULL, 0);
	return true;
}

static bool kv_put_next(struct kv_conn *conn, struct kv_done *done)
{
	if (conn->plain)
		return kv_plain_next(conn, done);
	return kv_put_ready(conn) || kv_put_answer(conn) || kv_put_inv(conn) || kv_put_fetch(conn, done) ||
	       kv_put_stalled(conn, done) || kv_put_queued(conn, done) || kv_put_control(conn);
}

/* Regions are in their list before the lock is taken: kv_mr_publish() */
static bool kv_tx_left(const struct kv_conn *conn)
{
	return !kv_tx_idle(conn) || !list_empty(&conn->vep->fresh);
}

/* The lock is held: fill the send queue with what may go. */
void kv_tx_run(struct kv_conn *conn, struct kv_done *done)
{
	lockdep_assert_held(&conn->lock);
	if (!kv_tx_open(conn))
		return;
	while (kv_tx_left(conn) && kv_sq_room(conn) >= KV_SQ_ROOM && kv_put_next(conn, done))
		;
	conn->waits = kv_tx_left(conn);
	if (conn->chain)
		kv_sq_post(conn);
}

/* Nothing waits that it could overtake: the same as if it had been queued, and all had been looked through. @more: the device gets it later. */
static void kv_tx_at_once(struct kv_conn *conn, struct kfi_oper *op, bool more, struct kv_done *done)
{
	bool is_long;

	if (kv_is_rma(op)) {
		conn->op = op;
		kv_tx_run(conn, done);
		return;
	}
	is_long = kv_is_long(conn, op);
	if (unlikely(!kv_may_send(conn, op, is_long))) {
		list_add_tail(&op->link, &conn->stalled[kv_op_cls(op)]);
		conn->waits = true;
		kv_sq_post(conn);	/* what has taken the last credit */
		return;
	}
	kv_put_message(conn, op, is_long, done);
	if (unlikely(kv_tx_waits(conn)))
		kv_tx_run(conn, done);	/* what could not be registered is taken back */
	if (!more)
		kv_sq_post(conn);
}

/* Called inside rcu_read_lock(), which keeps the connection from collecting its queue before us, with bottom halves off. */
void kv_tx_post(struct kv_conn *conn, struct kfi_oper *op)
{
	bool more = op->flags & KFI_MORE;
	struct kv_done done = KV_DONE(done);

	kv_op(op)->conn = conn;
	spin_lock(&conn->lock);
	if (!(more && kv_is_rma(op)) && !kv_tx_waits(conn) && likely(kv_tx_open(conn) && kv_sq_room(conn) >= KV_SQ_ROOM)) {
		kv_tx_at_once(conn, op, more, &done);
	} else {
		list_add_tail(&op->link, &conn->queue);
		conn->waits = true;
		if (!more)
			kv_tx_run(conn, &done);
		else
			kv_sq_post(conn);	/* what had room before it */
	}
	spin_unlock(&conn->lock);
	kv_done(&done);
	if (more && !delayed_work_pending(&conn->more_work))
		queue_delayed_work(kv_cm_wq, &conn->more_work, 1);
}

/* A series without a last one. Those to peers of an RDM endpoint leave with more_work. */
void kv_tx_flush(struct kfi_ep *ep)
{
	struct kfi_peer_conn *way = kfi_home_way(&to_kv_ep(ep)->home);

	if (way)
		kv_tx_kick(to_kv_conn(way));
}

/* ---- what the peer says about our operations ---- */

/* The operation an answer is about, or NULL: no such place, reused since, or not on this connection. Under the lock. */
struct kfi_oper *kv_answered_op(struct kv_conn *conn, const struct kvw_packet *p)
{
	struct kfi_oper *op = kfi_tx_by_index(&conn->vep->ep, p->id);

	if (!op || READ_ONCE(op->gen) != p->gen || READ_ONCE(kv_op(op)->conn) != conn || kv_op(op)->state != KV_OP_ASKED)
		return NULL;
	return op;
}

int kv_got_fin(struct kv_conn *conn, const struct kvw_packet *p, struct kv_done *done)
{
	struct kfi_oper *op = kv_answered_op(conn, p);
	int err;

	if (!op || (kfi_opc_is_atomic(op->code) && !kv_atomic_fin_ok(op, p->status)))
		return -EPROTO;
	kv_op_answered(conn, op);
	err = p->status < MAX_ERRNO ? -(int)p->status : -EREMOTEIO;
	if (kv_op(op)->issued || conn->op == op)
		kv_rma_landed(conn, op, err, done);
	else
		kv_long_end(conn, op, err, done);
	return 0;
}

/* ---- the end ---- */

static void kv_fail_list(struct list_head *list, int err, struct kv_done *done)
{
	struct kfi_oper *op, *next;

	list_for_each_entry_safe(op, next, list, link) {
		list_del(&op->link);
		kv_op_end(op, err, done);
	}
}

/* The queue pair is gone and nobody posts any more: every operation ends here. */
void kv_tx_flush_all(struct kv_conn *conn, int err)
{
	struct kfi_oper *op, *next;
	int cls;
	struct kv_done done = KV_DONE(done);

	spin_lock_bh(&conn->lock);
	list_for_each_entry_safe(op, next, &conn->failed, link) {
		list_del(&op->link);
		kv_done_op(&done, op);	/* with the error that it has */
	}
	kv_sq_flush(conn, &done);
	if (conn->op)
		kv_op_end(conn->op, err, &done);
	conn->op = NULL;
	kv_fail_list(&conn->waiting, err, &done);
	kv_fail_list(&conn->ending, err, &done);
	for (cls = 0; cls < KVW_CLS; cls++)
		kv_fail_list(&conn->stalled[cls], err, &done);
	kv_fail_list(&conn->queue, err, &done);
	kv_unlock_bh(conn, &done);
}
