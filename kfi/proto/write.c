// SPDX-License-Identifier: GPL-2.0
/*
 * write.c - writes to regions.
 *
 *	initiator			target
 *	  WRITE with payload	--->			kfp_send_frames(), kfp_rx_write()
 *	  (WRITE ...)		--->			kfp_rx_part()
 *				<---	ACK		kfp_rx_finish_write()
 *
 * A payload of more than KFW_FRAME_MAX bytes comes in parts, each behind a WRITE with all
 * segments. So the target keeps no right to use a region between two parts, and a peer that sends
 * no further one delays the end of none.
 *
 * If both links have places, a long write of one segment sends its payload to memory that the peer
 * has granted (grant.c). It asks for a grant first, unless it has a lasting one:
 *
 *	  RTW			--->			kfp_send_rtw(), kfp_rx_rtw()
 *				<---	GRANT		kfp_send_grant(); kfp_write_granted()
 *	  bytes, WRITE with PLACED --->			kfp_send_placed(), kfp_rx_placed()
 *				<---	ACK		kfp_rx_finish_write()
 *
 * The bytes are sent in parts as well, but only the last one has a frame. Without a grant the
 * WRITE has its payload.
 *
 * All functions are called under the link's lock, or after the end of the link.
 */
#include <linux/once.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include "grant.h"

/* ---- initiator: write ---- */

/*
 * Is this a write whose payload may go to places? The eager size of the peer is that of messages.
 * It may be longer because receives of the peer are in memory without places.
 */
static bool kfp_rtw_possible(const struct kfp_conn *conn, const struct kfi_oper *op)
{
	return op->code == KFI_OPC_WRITE && op->len > kfp_params(conn)->eager_size &&
	       kfp_may_expose(conn, op->len) &&
	       op->rma_count == 1;
}

/*
 * Does a write that could use an RTW do so? Each RTW costs a round trip. If the last answers gave
 * nothing, only one in KFP_RTW_RETRY of these writes does. Longer writes do: the peer may expose
 * only memory for which that is worth it.
 */
static bool kfp_uses_rtw(const struct kfp_conn *conn, const struct kfi_oper *op)
{
	return conn->writes.rtw_failures < KFP_RTW_FAILURES || op->len > conn->writes.rtw_failed;
}

/* Can a write use the permit? */
static bool kfp_permit_fits(const struct kfp_permit *p, const struct kfi_oper *op)
{
	return p && (p->commits || !(op->flags & KFI_COMMIT_COMPLETE));
}

/* Return the permit that a write can use without an RTW, or that its RTW has got; or NULL. */
static __always_inline struct kfp_permit *kfp_write_permit(const struct kfp_conn *conn,
							   const struct kfi_oper *op)
{
	struct kfp_permit *p = kfp_op(op)->permit;

	if (p || !kfp_rtw_possible(conn, op))
		return p;
	p = kfp_permit_over(conn, &op->rma[0]);
	return kfp_permit_fits(p, op) ? p : NULL;
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
		if (kfp_op(op)->state == KFP_OP_QUEUED && kfp_rtw_possible(conn, op) &&
		    kfp_uses_rtw(conn, op) && !kfp_write_permit(conn, op))
			return op;
	}
	return NULL;
}

/* Was a part of the payload sent? */
static bool kfp_op_begun(const struct kfi_oper *op)
{
	return kfp_op_left(op) < op->len;
}

/*
 * A write whose RTW was sent waits for its GRANT. The bytes of a write with places would overtake
 * earlier writes and atomic operations whose data is in frames: it waits for their ACKs. But the
 * ACK of a commit may take as long as the owner of the memory likes, and nothing else may wait for
 * that: then the data goes in frames as well.
 */
static struct kfi_oper *kfp_write_next(struct kfp_conn *conn, struct kfi_oper *op)
{
	bool wait = conn->tx.unplaced && !conn->tx.unplaced_commits;
	u8 state = kfp_op(op)->state;

	if (state == KFP_OP_REQUESTED ||
	    (wait && kfp_write_permit(conn, op) && !kfp_op_begun(op)))
		return kfp_next_rtw(conn, op);
	return state == KFP_OP_GRANTED || kfp_may_request(conn) ? op : NULL;
}

/*
 * A GRANT has arrived. Note whether there is a permit now, see kfp_uses_rtw(). A lasting one is
 * looked up when the write is sent, because it may be recalled before.
 */
static int kfp_write_granted(struct kfp_conn *conn, struct kfi_oper *op, struct kfp_permit *p)
{
	struct kfp_writes *writes = &conn->writes;

	if (p && p->once) {
		if (kfp_permit_fits(p, op))
			kfp_op(op)->permit = p;
		else
			kfp_permit_return(conn, p);
	}
	kfp_op(op)->state = KFP_OP_GRANTED;
	if (!p && !kfp_write_permit(conn, op)) {
		writes->rtw_failures = min(writes->rtw_failures + 1, KFP_RTW_FAILURES);
		writes->rtw_failed = max_t(u64, writes->rtw_failed, op->len);
	} else if (op->len <= writes->rtw_failed) {
		writes->rtw_failures = 0;
		writes->rtw_failed = 0;
	}
	return 0;
}

/*
 * The operation keeps its position in the queue, and the operations behind it wait until its
 * payload was sent.
 */
static void kfp_send_rtw(struct kfp_conn *conn, struct kfi_oper *op)
{
	kfp_op_request(conn, op);
	kfp_send_op_frame(conn, op, KFW_RTW, 0)->rma_count = cpu_to_le16(1);
	kfp_send_segments(conn, op);
	kfp_op(op)->state = KFP_OP_REQUESTED;
}

/*
 * Send the next part of a payload to the memory of a grant, and with the last one the WRITE. The
 * places stay valid until the link has accepted the payload, because the RECALLED of the grant is
 * a later frame.
 */
static void kfp_send_placed(struct kfp_conn *conn, struct kfi_oper *op, struct kfp_permit *p)
{
	u64 left = kfp_op_left(op);
	u32 part = kfw_part(left, true);

	if (!kfp_op_begun(op)) {
		if (conn->link.checks)
			kfp_op_unplaced(conn, op);
		kfp_op(op)->permit = p;
		kfp_op(op)->spliced = true;
		if (kfp_op(op)->state == KFP_OP_QUEUED)		/* without an RTW */
			kfi_stat_add(op->ep, granted, op->len);
	}
	p->busy = true;
	if (part == left)
		kfp_permit_write(conn, op, p, kfp_op_flags(op) | kfp_lazy(op));
	kfp_send_payload(conn, op, part, true, &p->places,
			 op->rma[0].addr - p->addr + (op->len - left));
}

static void kfp_send_frames(struct kfp_conn *conn, struct kfi_oper *op)
{
	struct kfw_hdr *hdr = kfp_send_op_frame(conn, op, KFW_WRITE,
						kfp_op_flags(op) | kfp_lazy(op));
	u32 part = kfw_part(kfp_op_left(op), false);

	if (!kfp_op_begun(op)) {
		kfp_op_unplaced(conn, op);
		kfp_op(op)->spliced = kfp_can_splice(conn, &op->iter, op->len);
	}
	hdr->rma_count = cpu_to_le16(op->rma_count);
	hdr->payload = cpu_to_le64(part);
	kfp_send_segments(conn, op);
	kfp_send_payload(conn, op, part, true, NULL, 0);
}

static bool kfp_send_write(struct kfp_conn *conn, struct kfi_oper *op)
{
	struct kfp_op *pop = kfp_op(op);
	bool begun = pop->state == KFP_OP_GRANTED && kfp_op_begun(op);
	struct kfp_permit *p = begun ? pop->permit : kfp_write_permit(conn, op);

	if (conn->tx.unplaced && !begun) {	/* see kfp_write_next() */
		if (pop->permit)
			kfp_permit_return(conn, pop->permit);
		pop->permit = NULL;
		p = NULL;
	}
	if (pop->state == KFP_OP_QUEUED) {
		if (!p && kfp_rtw_possible(conn, op)) {
			if (!kfp_uses_rtw(conn, op)) {
				/* After KFP_RTW_RETRY of these the next one does. */
				if (++conn->writes.rtw_skips == KFP_RTW_RETRY) {
					conn->writes.rtw_skips = 0;
					conn->writes.rtw_failures--;
				}
			} else if (!conn->tx.unplaced_commits) {
				kfp_send_rtw(conn, op);
				return true;
			}
		}
		kfp_op_request(conn, op);
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

/* Has the frame a part of the payload? A frame whose payload is in places has none of it. */
static bool kfp_is_part(const struct kfw_frame *f)
{
	return f->payload && f->payload != f->len;
}

/* Reduce the segments to those of the payload of this frame, which begins at byte @at of the write. */
static void kfp_part_trim(struct kfp_rx *rx, u64 at)
{
	struct kfw_rma *seg = rx->segs;
	u64 left = rx->f.payload, len;
	u16 n = 0;

	for (; at >= le64_to_cpu(seg->len); seg++)
		at -= le64_to_cpu(seg->len);
	for (; left; left -= len, at = 0) {
		len = min(left, le64_to_cpu(seg->len) - at);
		rx->segs[n++] = (struct kfw_rma) {
			.addr = cpu_to_le64(le64_to_cpu(seg->addr) + at),
			.len = cpu_to_le64(len),
			.key = seg->key,
		};
		seg++;
	}
	rx->f.rma_count = n;
}

/* Of the segments of a write only this is kept between two parts: a peer can't make two that agree. */
static u64 kfp_segs_hash(const struct kfp_rx *rx)
{
	static siphash_key_t key __read_mostly;

	get_random_once(&key, sizeof(key));
	return siphash(rx->segs, rx->f.rma_count * sizeof(rx->segs[0]), &key);
}

/* Is this frame the next part of the write that has begun? */
static bool kfp_part_follows(const struct kfp_part *part, const struct kfp_rx *rx)
{
	const struct kfw_frame *first = &part->first, *f = &rx->f;

	return first->id == f->id && first->gen == f->gen && first->len == f->len &&
	       first->flags == f->flags && first->data == f->data &&
	       first->rma_count == f->rma_count && part->segs == kfp_segs_hash(rx);
}

/*
 * The frame has a part of the payload of a write: the first one, or the next one of the write that
 * has begun. The regions are checked and their commit is prepared as for the whole write. Return:
 * 0, perhaps with a status; -ENOMEM if nothing has changed; -EPROTO.
 */
static int kfp_rx_part(struct kfp_conn *conn)
{
	struct kfp_part *part = &conn->writes.part;
	struct kfp_rx *rx = &conn->rx;
	int ret;

	if (rx->f.payload != kfw_part(rx->f.len - part->got, false))
		return -EPROTO;
	if (part->got && !kfp_part_follows(part, rx))
		return -EPROTO;
	if (part->got) {
		rx->status = part->status;
		rx->commit = part->commit;
	} else {
		ret = kfp_rx_check_segments(conn, KFI_REMOTE_WRITE) ?: kfp_rx_commit(conn);
		if (ret)
			return ret;
		part->first = rx->f;
		part->segs = kfp_segs_hash(rx);
	}
	kfp_part_trim(rx, part->got);
	return 0;
}

/* A part is complete. Return: true if it was not the last one: then the next one follows. */
static bool kfp_part_kept(struct kfp_conn *conn)
{
	struct kfp_part *part = &conn->writes.part;
	const struct kfp_rx *rx = &conn->rx;

	if (part->got + rx->f.payload == rx->f.len)
		return false;
	part->got += rx->f.payload;
	part->status = rx->status;
	part->commit = rx->commit;
	kfp_rx_put_mr(conn);
	return true;
}

/*
 * Open the next segment of a write. The payload of a segment that can't be opened any more is
 * dropped, and the ACK reports it. EACCES means that no byte was written.
 */
static void kfp_rx_open_segment(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;

	if (kfp_rx_open_region(conn, &rx->segs[rx->seg++]))
		return;
	rx->status = rx->seg > 1 || (kfp_is_part(&rx->f) && conn->writes.part.got) ? EREMOTEIO :
										      EACCES;
}

/* Handle a WRITE. If its payload is in the memory of a grant, only its end is left. */
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
	/* A single segment is checked when it is opened. */
	if (unlikely(rx->f.payload != rx->f.len))
		ret = kfp_rx_part(conn);
	else if (rx->f.rma_count > 1 || rx->f.flags & KFW_F_COMMIT)
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
		conn->rx.left = 0;
		rx->skip = rx->f.payload;
		rx->seg = rx->f.rma_count;
	}
	return 0;
}

/* Open the next segment of a write, if there is one. */
static bool kfp_rx_write_more(struct kfp_conn *conn)
{
	if (conn->rx.seg >= conn->rx.f.rma_count)
		return false;
	kfp_rx_put_mr(conn);
	kfp_rx_open_segment(conn);
	return true;
}

static int kfp_rx_finish_write(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;
	u64 flags = KFI_REMOTE_WRITE | (rx->f.flags & KFW_F_CQ_DATA ? KFI_REMOTE_CQ_DATA : 0);
	bool part = kfp_is_part(&rx->f);
	int ret = 0;

	if (unlikely(part) && kfp_part_kept(conn))
		return 0;
	if (!rx->status)
		ret = kfi_remote_rma(&conn->ep->ep, rx->mr, rx->key, flags, rx->f.len, rx->f.data,
				     kfp_rx_src(conn));
	if (ret)
		return ret;
	if (unlikely(part))
		conn->writes.part.got = 0;
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
