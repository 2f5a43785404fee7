// SPDX-License-Identifier: GPL-2.0
/*
 * write.c - writes to regions.
 *
 *	initiator			target
 *	  WRITE with payload	--->			kfp_send_frames(), kfp_rx_write()
 *	  (DATA ...)		--->			kfp_rdv_send_data(), kfp_rtw_data()
 *				<---	ACK		kfp_rx_finish_write()
 *
 * DATA has the parts of the payload that follow the first KFW_FRAME_MAX bytes.
 *
 * A long write asks for the places of its regions first, if both links have places. Its payload is
 * then a rendezvous (rendezvous.c), and its DATA is handled as the WRITE that it replaces:
 *
 *	  RTW			--->			kfp_send_rtw(), kfp_rx_rtw()
 *				<---	CTS		kfp_rtw_expose(); kfp_write_granted()
 *	  bytes, DATA		--->			kfp_send_write(), kfp_rtw_data()
 *				<---	ACK
 *
 * A write to memory for which the peer has given a lasting grant (grant.c) sends the bytes and the
 * WRITE at once: kfp_send_placed().
 *
 * All functions are called under the link's lock, or after the end of the link.
 */
#include <linux/slab.h>
#include "commit.h"
#include "grant.h"

/* ---- initiator: write ---- */

/* Is this a write whose payload may go to places? */
static bool kfp_rtw_possible(const struct kfp_conn *conn, const struct kfi_oper *op)
{
	return op->code == KFI_OPC_WRITE && op->len > conn->tx.eager && conn->ops->expose &&
	       op->len >= conn->ops->place_min && op->rma_count <= KFP_RTW_SEGS;
}

/*
 * Does a write use an RTW? Each RTW costs a round trip. If the last answers named no places, only
 * one in KFP_RTW_RETRY of the writes that could use an RTW does so. Longer writes do: the peer may
 * expose only memory for which that is worth it.
 */
static bool kfp_uses_rtw(const struct kfp_conn *conn, const struct kfi_oper *op)
{
	return kfp_rtw_possible(conn, op) &&
	       (conn->writes.rtw_failures < KFP_RTW_FAILURES || op->len > conn->writes.rtw_failed);
}

/* Find the permit that a write can use instead of an RTW. Return: the permit, or NULL. */
static struct kfp_permit *kfp_write_permit(const struct kfp_conn *conn, const struct kfi_oper *op)
{
	struct kfp_permit *p;

	if (!kfp_rtw_possible(conn, op) || op->rma_count != 1 || op->len > KFW_GRANTED_MAX)
		return NULL;
	p = kfp_permit_over(conn, &op->rma[0]);
	return p && (p->commits || !(op->flags & KFI_COMMIT_COMPLETE)) ? p : NULL;
}

/*
 * The write @op waits, and no operation behind it is sent. Return a write among the next operations
 * whose RTW can be sent meanwhile, or NULL.
 */
static struct kfi_oper *kfp_next_rtw(struct kfp_conn *conn, struct kfi_oper *op)
{
	unsigned int ahead = 0;

	list_for_each_entry_continue(op, &conn->tx.queue, link) {
		if (++ahead == KFP_RTW_AHEAD || !kfp_may_request(conn))
			break;
		if (kfp_op(op)->state == KFP_OP_QUEUED && kfp_uses_rtw(conn, op) &&
		    !kfp_write_permit(conn, op))
			return op;
	}
	return NULL;
}

/*
 * Would the bytes of a write with places overtake earlier writes and atomic operations whose data
 * is in frames? Then it waits for their ACKs. But the ACK of a commit may take as long as the
 * owner of the memory likes, and nothing else may wait for that: then the data goes in frames as
 * well.
 */
static bool kfp_places_wait(const struct kfp_conn *conn)
{
	return conn->tx.unplaced && !conn->tx.unplaced_commits;
}

/* Was a part of the payload sent? */
static bool kfp_op_begun(const struct kfi_oper *op)
{
	return kfp_op_left(op) < op->len;
}

/* A write whose RTW was sent waits for its CTS. */
static struct kfi_oper *kfp_write_next(struct kfp_conn *conn, struct kfi_oper *op)
{
	bool waits;

	switch (kfp_op(op)->state) {
	case KFP_OP_REQUESTED:
		return kfp_next_rtw(conn, op);
	case KFP_OP_GRANTED:
		waits = kfp_places_wait(conn) && kfp_op(op)->places && !kfp_op_begun(op);
		return waits ? kfp_next_rtw(conn, op) : op;
	default:
		if (kfp_places_wait(conn) && kfp_write_permit(conn, op))
			return kfp_next_rtw(conn, op);
		return kfp_may_request(conn) ? op : NULL;
	}
}

/* A CTS has arrived. Note whether it has named places, see kfp_uses_rtw(). */
static void kfp_write_granted(struct kfp_conn *conn, struct kfi_oper *op, unsigned int places)
{
	struct kfp_writes *writes = &conn->writes;

	if (!places) {
		writes->rtw_failures = min(writes->rtw_failures + 1, KFP_RTW_FAILURES);
		writes->rtw_failed = max_t(u64, writes->rtw_failed, op->len);
	} else if (op->len <= writes->rtw_failed) {
		writes->rtw_failures = 0;
		writes->rtw_failed = 0;
	}
}

/*
 * A write is sent without an RTW. After KFP_RTW_RETRY that could have used one, the next one does.
 */
static void kfp_rtw_skipped(struct kfp_conn *conn, const struct kfi_oper *op)
{
	if (!kfp_rtw_possible(conn, op) || ++conn->writes.rtw_skips < KFP_RTW_RETRY)
		return;
	conn->writes.rtw_skips = 0;
	conn->writes.rtw_failures--;
}

/*
 * The operation keeps its position in the queue, and the operations behind it wait until its
 * payload was sent.
 */
static void kfp_send_rtw(struct kfp_conn *conn, struct kfi_oper *op)
{
	struct kfw_frame f = kfp_op_frame(op, KFW_RTW);

	f.rma_count = op->rma_count;
	kfp_op_request(conn, op);
	kfp_send_frame(conn, &f);
	kfp_send_segments(conn, op);
	kfp_op(op)->state = KFP_OP_REQUESTED;
	kfp_op(op)->may_get_grant = true;
}

/* Send a write whose payload goes to the places of a lasting grant. */
static void kfp_send_placed(struct kfp_conn *conn, struct kfi_oper *op, const struct kfp_permit *p)
{
	struct kfw_frame f = kfp_op_frame(op, KFW_WRITE);

	kfp_op_request(conn, op);
	if (conn->link.checks)
		kfp_op_unplaced(conn, op);
	f.rma_count = 1;
	f.flags |= kfp_lazy(op) | KFW_F_PLACED;
	f.grant = p->slot;
	f.grant_id = p->id;
	kfp_op(op)->spliced = true;
	kfi_stat_add(op->ep, granted, op->len);
	kfp_send_frame(conn, &f);
	kfp_send_segments(conn, op);
	/*
	 * The places stay valid until the link has accepted the payload, because the RECALLED of
	 * the grant is a later frame.
	 */
	kfp_send_payload(conn, op, op->len, true, p->places, op->rma[0].addr - p->addr);
}

static void kfp_send_frames(struct kfp_conn *conn, struct kfi_oper *op)
{
	struct kfw_frame f = kfp_op_frame(op, KFW_WRITE);

	kfp_op_request(conn, op);
	kfp_op_unplaced(conn, op);
	kfp_rtw_skipped(conn, op);
	f.rma_count = op->rma_count;
	f.payload = kfw_part(op->len);
	f.flags |= kfp_lazy(op);
	kfp_op(op)->slot = KFW_SLOT_WRITE;
	kfp_op(op)->spliced = kfp_can_splice(conn, &op->iter, op->len);
	kfp_send_frame(conn, &f);
	kfp_send_segments(conn, op);
	kfp_send_payload(conn, op, f.payload, true, NULL, 0);
}

static bool kfp_send_write(struct kfp_conn *conn, struct kfi_oper *op)
{
	struct kfp_op *pop = kfp_op(op);
	const struct kfp_permit *p;

	if (pop->state == KFP_OP_GRANTED) {
		list_del(&op->link);
		if (conn->tx.unplaced && !kfp_op_begun(op))
			kfp_conceal(conn, &pop->places);	/* see kfp_places_wait() */
		if ((!pop->places || conn->link.checks) && !kfp_op_begun(op))
			kfp_op_unplaced(conn, op);
		kfp_rdv_send_data(conn, op);
		return true;
	}
	p = conn->tx.unplaced ? NULL : kfp_write_permit(conn, op);
	if (!p && !conn->tx.unplaced_commits && kfp_uses_rtw(conn, op)) {
		kfp_send_rtw(conn, op);
		return true;
	}
	list_del(&op->link);
	if (p)
		kfp_send_placed(conn, op, p);
	else
		kfp_send_frames(conn, op);
	return true;
}

const struct kfp_op_row kfp_write_op = {
	.cls = KFP_CLS,
	.next = kfp_write_next,
	.send = kfp_send_write,
	.granted = kfp_write_granted,
};

/* ---- target: write ---- */

static const struct kfp_rdv_ops kfp_rtw_rdv_ops;

static struct kfp_rtw *kfp_rtw_new(struct kfp_conn *conn)
{
	struct list_head *spare = kfp_spare_get(&conn->writes.spare_rtws);
	struct kfp_rx *rx = &conn->rx;
	struct kfp_rtw *rtw = spare ? list_entry(spare, struct kfp_rtw, entry) :
				      kmalloc(sizeof(*rtw), GFP_ATOMIC | __GFP_NOWARN);

	if (!rtw)
		return NULL;
	memset(rtw, 0, sizeof(*rtw));
	rtw->segs = rtw->few;
	if (rx->f.rma_count > KFP_RTW_SEGS)
		rtw->segs = kmalloc_array(rx->f.rma_count, sizeof(*rtw->segs),
					  GFP_ATOMIC | __GFP_NOWARN);
	if (!rtw->segs) {
		kfree(rtw);
		return NULL;
	}
	memcpy(rtw->segs, rx->segs, rx->f.rma_count * sizeof(*rtw->segs));
	rtw->f = rx->f;
	rtw->rdv.ops = &kfp_rtw_rdv_ops;
	rtw->rdv.len = rx->f.len;
	rtw->rdv.answer.id = rx->f.id;
	rtw->rdv.answer.gen = rx->f.gen;
	INIT_LIST_HEAD(&rtw->rdv.answer.link);
	list_add_tail(&rtw->entry, &conn->writes.rtws);
	return rtw;
}

static void kfp_rtw_free(struct kfp_conn *conn, struct kfp_rtw *rtw)
{
	list_del(&rtw->entry);
	WARN_ON_ONCE(!kfp_conceal(conn, &rtw->rdv.places));	/* memory of regions: at once */
	if (rtw->rest.mr)
		kfi_mr_put(rtw->rest.mr);
	if (rtw->segs != rtw->few)
		kfree(rtw->segs);
	if (test_bit(KFP_DEAD, &conn->flags) ||
	    !kfp_spare_put(&conn->writes.spare_rtws, &rtw->entry))
		kfree(rtw);
}

/* Let the next @len bytes, or those of them that are in the part, go to the current segment. */
static void kfp_part_take(struct kfp_conn *conn, u64 len)
{
	struct kfp_writes *writes = &conn->writes;

	conn->link.left = min(len, writes->part_left);
	writes->part_left -= conn->link.left;
	writes->part->left = len - conn->link.left;
}

/* The first part of a write arrives in a WRITE. The others come in DATA for a slot of its own. */
static int kfp_part_first(struct kfp_conn *conn)
{
	struct kfp_writes *writes = &conn->writes;
	struct kfp_rtw *rtw = writes->part;

	if (!rtw) {
		if (conn->rdvs.slot[KFW_SLOT_WRITE])
			return -EPROTO;
		rtw = kfp_rtw_new(conn);
		if (!rtw)
			return -ENOMEM;
		rtw->rdv.slot = KFW_SLOT_WRITE;
		rtw->rdv.got = conn->rx.f.payload;
		rtw->rdv.since = kfp_rx_now(conn);
		rtw->rdv.limit = rtw->rdv.since + kfp_peer_timeout(conn) +
				 kfp_transfer_time(KFW_PAYLOAD_MAX);
		writes->part = rtw;
		spin_lock_bh(&conn->lock);
		conn->rdvs.slot[KFW_SLOT_WRITE] = &rtw->rdv;
		spin_unlock_bh(&conn->lock);
	}
	writes->part_left = conn->rx.f.payload;
	return 0;
}

/* Another part arrives: continue where the last one has ended. */
static void kfp_part_next(struct kfp_conn *conn)
{
	struct kfp_rtw *rtw = conn->writes.part;
	struct kfp_rx *rx = &conn->rx;

	rx->mr = rtw->rest.mr;
	rx->key = rtw->rest.key;
	rx->iter = rtw->rest.iter;
	rx->commit = rtw->rest.commit;
	rx->seg = rtw->rest.seg;
	rx->status = rtw->rest.status;
	rtw->rest.mr = NULL;
	conn->link.into = &rx->iter;
	conn->writes.part_left = rx->f.payload;
	if (rx->mr || !rx->status) {
		kfp_part_take(conn, rtw->left);
		return;
	}
	rx->skip = rx->f.payload;	/* a segment could not be opened */
	rx->seg = rx->f.rma_count;
}

/* A part is complete. Return: true if another one follows; then the write is kept. */
static bool kfp_part_kept(struct kfp_conn *conn)
{
	struct kfp_rtw *rtw = conn->writes.part;
	struct kfp_rx *rx = &conn->rx;

	conn->writes.part = NULL;
	if (rtw->rdv.got < rtw->rdv.len) {
		rtw->rest.mr = rx->mr;
		rtw->rest.key = rx->key;
		rtw->rest.iter = rx->iter;
		rtw->rest.commit = rx->commit;
		rtw->rest.seg = rx->seg;
		rtw->rest.status = rx->status;
		rx->mr = NULL;
		return true;
	}
	if (rtw->rdv.slot != KFW_SLOT_WRITE) {
		spin_lock_bh(&conn->lock);
		kfp_rdv_end(conn, &rtw->rdv);
		spin_unlock_bh(&conn->lock);
	}
	kfp_rtw_free(conn, rtw);
	return false;
}

/*
 * Open the next segment of a write. The payload of a segment that can't be opened any more is
 * dropped, and the ACK reports it.
 */
static void kfp_rx_open_segment(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;
	const struct kfw_rma *seg = &rx->segs[rx->seg++];
	u64 len = le64_to_cpu(seg->len);

	conn->link.left = len;
	if (unlikely(conn->writes.part))
		kfp_part_take(conn, len);
	rx->key = le64_to_cpu(seg->key);
	conn->link.into = &rx->iter;
	rx->mr = kfi_mr_get(&conn->ep->ep, le64_to_cpu(seg->key), le64_to_cpu(seg->addr), len,
			    KFI_REMOTE_WRITE, &rx->iter);
	if (!IS_ERR(rx->mr))
		return;
	rx->mr = NULL;
	rx->status = rx->seg > 1 ? EREMOTEIO : EACCES;
}

/*
 * Handle a WRITE. If its payload is in the regions already, because of an RTW or of a lasting
 * grant, only the end of the write is left.
 */
static int kfp_rx_write(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;
	int ret = 0;

	if (rx->f.flags & KFW_F_PLACED && !rx->landed)
		ret = kfp_rx_placed(conn);
	if (ret)
		return ret;
	rx->seg = rx->f.rma_count;
	if (rx->landed)
		return kfp_rx_commit(conn);
	if (unlikely(rx->f.payload != rx->f.len))
		ret = kfp_part_first(conn);
	if (ret)
		return ret;
	/* A single segment is checked when it is opened. */
	if (rx->f.rma_count > 1 || rx->f.flags & KFW_F_COMMIT)
		ret = kfp_rx_check_segments(conn, KFI_REMOTE_WRITE) ?: kfp_rx_commit(conn);
	else if (le64_to_cpu(rx->segs[0].len) != rx->f.len)
		ret = -EPROTO;
	if (ret)
		return ret;
	if (!rx->status) {
		rx->seg = 0;
		kfp_rx_open_segment(conn);
	}
	if (rx->status) {
		conn->link.left = 0;
		rx->skip = rx->f.payload;
		rx->seg = rx->f.rma_count;
	}
	return 0;
}

/* Open the next segment of a write, if there is one, and bytes for it in this part. */
static bool kfp_rx_write_more(struct kfp_conn *conn)
{
	const struct kfp_rtw *rtw = conn->writes.part;

	if (conn->rx.seg >= conn->rx.f.rma_count)
		return false;
	if (unlikely(rtw) && !conn->writes.part_left && rtw->rdv.got < rtw->rdv.len)
		return false;
	kfp_rx_put_mr(conn);
	kfp_rx_open_segment(conn);
	return true;
}

static int kfp_rx_finish_write(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;
	u64 flags = KFI_REMOTE_WRITE | (rx->f.flags & KFW_F_CQ_DATA ? KFI_REMOTE_CQ_DATA : 0);
	int ret = 0;

	if (unlikely(conn->writes.part) && kfp_part_kept(conn))
		return 0;
	if (!rx->status)
		ret = kfi_remote_rma(&conn->ep->ep, rx->mr, rx->key, flags, rx->f.len, rx->f.data,
				     kfp_rx_src(conn));
	if (ret)
		return ret;
	kfp_rx_put_mr(conn);
	return kfp_rx_end(conn);
}

static void kfp_rx_write_abort(struct kfp_conn *conn, int err)
{
	kfp_rx_put_mr(conn);
}

const struct kfp_frame_row kfp_write_frame = {
	.request = true,
	.region = true,
	.receive = kfp_rx_write,
	.more = kfp_rx_write_more,
	.finish = kfp_rx_finish_write,
	.abort = kfp_rx_write_abort,
};

/* ---- target: a write with an RTW ---- */

/* Handle an RTW. Its answer is taken from the pool now, and is returned when the DATA arrives. */
static int kfp_rx_rtw(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;
	struct kfp_rtw *rtw;
	int ret = kfp_rx_check_segments(conn, KFI_REMOTE_WRITE) ?: kfp_rx_commit_check(conn);

	if (ret || rx->f.rma_count > KFP_RTW_SEGS)
		return ret ?: -EPROTO;
	if (rx->status)
		return kfp_rx_ack(conn, rx->status);
	if (rx->f.flags & KFW_F_DEVICE)
		return kfp_rx_dev_place(conn);
	rtw = kfp_rtw_new(conn);
	if (!rtw)
		return -ENOMEM;
	rtw->answer = kfp_answer_get(conn, NULL);
	if (!rtw->answer) {
		kfp_rtw_free(conn, rtw);
		return -EPROTO;
	}
	spin_lock_bh(&conn->lock);
	kfp_rdv_enqueue(conn, &rtw->rdv);
	spin_unlock_bh(&conn->lock);
	return 0;
}

/* If the peer has written to this region before, a GRANT is sent ahead of the CTS. */
static void kfp_rtw_expose(struct kfp_conn *conn, struct kfp_rdv *rdv)
{
	struct kfp_rtw *rtw = container_of(rdv, struct kfp_rtw, rdv);

	rdv->places = kfp_expose_segments(conn, rtw->segs, rtw->f.rma_count);
	if (rdv->places && rdv->places->pieces && rtw->f.rma_count == 1)
		kfp_send_grant(conn, rdv->answer.id, rdv->answer.gen, rtw->segs, rdv->places);
}

/*
 * The payload is in the regions. The last region is kept, for the event; its owner does not have to
 * wait for that.
 */
static void kfp_rtw_landed(struct kfp_conn *conn, const struct kfp_rtw *rtw)
{
	struct kfp_rx *rx = &conn->rx;
	const struct kfw_rma *last = &rtw->segs[rtw->f.rma_count - 1];

	kfp_grant_written(conn, le64_to_cpu(rtw->segs[0].key));
	if (kfp_places_ended(rtw->rdv.places))
		rx->status = EREMOTEIO;
	rx->key = le64_to_cpu(last->key);
	rx->mr = kfi_mr_get(&conn->ep->ep, rx->key, le64_to_cpu(last->addr),
			    le64_to_cpu(last->len), KFI_REMOTE_WRITE, &rx->iter);
	if (IS_ERR(rx->mr)) {
		rx->mr = NULL;
		rx->status = EREMOTEIO;
	}
	rx->landed = true;
	kfi_stat_add(&conn->ep->ep, placed, rx->f.len);
}

/*
 * Handle the DATA as a part of the WRITE, which either follows or is in the regions. With the first
 * part that follows, the write does not need its places any more.
 */
static int kfp_rtw_data(struct kfp_conn *conn, struct kfp_rdv *rdv)
{
	struct kfp_rtw *rtw = container_of(rdv, struct kfp_rtw, rdv);
	struct kfp_rx *rx = &conn->rx;
	u32 part = rx->f.len;

	if (rdv->placed && rdv->got < rdv->len)
		return 0;
	rx->f = rtw->f;
	rx->f.type = KFW_WRITE;
	rx->f.payload = rdv->placed ? 0 : part;
	rx->row = &kfp_write_frame;
	memcpy(rx->segs, rtw->segs, rx->f.rma_count * sizeof(*rx->segs));
	if (!rdv->placed && part < rdv->len) {
		conn->writes.part = rtw;
		if (rdv->got > part) {
			kfp_part_next(conn);
			return 0;
		}
		WARN_ON_ONCE(!kfp_conceal(conn, &rdv->places));	/* memory of regions: at once */
		kfp_answer_put(conn, rtw->answer);
		return kfp_rx_write(conn);
	}
	if (rdv->placed)
		kfp_rtw_landed(conn, rtw);
	kfp_answer_put(conn, rtw->answer);
	spin_lock_bh(&conn->lock);
	kfp_rdv_end(conn, rdv);
	spin_unlock_bh(&conn->lock);
	kfp_rtw_free(conn, rtw);
	return kfp_rx_write(conn);
}

static const struct kfp_rdv_ops kfp_rtw_rdv_ops = {
	.expose = kfp_rtw_expose,
	.data = kfp_rtw_data,
};

const struct kfp_frame_row kfp_rtw_frame = {
	.request = true,
	.receive = kfp_rx_rtw,
};

/*
 * Has a region ended to which the peer was granted a write, and have peer_timeout_ms passed since?
 * That counts also while this side does not read because of a full completion queue: the thread
 * that reads the queue may be waiting for the end of the region.
 */
static unsigned int kfp_rtws_late(struct kfp_conn *conn, unsigned long extra)
{
	unsigned long timeout = kfp_peer_timeout(conn);
	struct kfp_rtw *rtw;
	bool late = false;

	list_for_each_entry(rtw, &conn->writes.rtws, entry) {
		if (!rtw->rdv.places || !kfp_places_ended(rtw->rdv.places))
			continue;
		rtw->ended = rtw->ended ?: jiffies | 1;
		late |= time_after(jiffies, rtw->ended + timeout);
	}
	return late ? KFP_LATE : 0;
}

/* ---- the life of a connection ---- */

static void kfp_writes_init(struct kfp_conn *conn)
{
	INIT_LIST_HEAD(&conn->writes.rtws);
	kfp_spares_init(&conn->writes.spare_rtws);
}

static void kfp_writes_closed(struct kfp_conn *conn)
{
	struct kfp_rtw *rtw;

	spin_lock_bh(&conn->lock);
	list_for_each_entry(rtw, &conn->writes.rtws, entry)
		list_del_init(&rtw->rdv.answer.link);
	spin_unlock_bh(&conn->lock);
}

static void kfp_writes_abort(struct kfp_conn *conn, int err)
{
	struct kfp_rtw *rtw, *next;

	list_for_each_entry_safe(rtw, next, &conn->writes.rtws, entry)
		kfp_rtw_free(conn, rtw);
}

static void kfp_writes_free(struct kfp_conn *conn)
{
	struct list_head *spare;

	while ((spare = kfp_spare_get(&conn->writes.spare_rtws)))
		kfree(list_entry(spare, struct kfp_rtw, entry));
}

const struct kfp_protocol kfp_write_protocol = {
	.init = kfp_writes_init,
	.watch = kfp_rtws_late,
	.closed = kfp_writes_closed,
	.abort = kfp_writes_abort,
	.free = kfp_writes_free,
};
