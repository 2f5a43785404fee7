// SPDX-License-Identifier: GPL-2.0
/*
 * read.c - reads of regions, and the data that is returned to the peer.
 *
 *	initiator			target
 *	  READ			--->			kfp_send_read(), kfp_rx_read()
 *				<---	READ_DATA ...	kfp_send_segment_data(); kfp_rx_read_data()
 *				<---	ACK
 *
 * The initiator exposes its buffer, if that is possible, and names its places in the READ; the data
 * goes there or follows READ_DATA, which is sent for each segment and for each part of a long one.
 * Tagged reads (tread.c) and fetching atomic operations (atomic.c) return data in the same way.
 *
 * All functions are called under the link's lock, or after the end of the link.
 */
#include <linux/slab.h>
#include "conn.h"

/**
 * struct kfp_lease - a region that the link still reads, for data that was returned to the peer
 * @reading: what the link reads, or entry in &kfp_reads.spare_leases
 * @mr: the region
 */
struct kfp_lease {
	struct kfp_reading	reading;
	struct kfi_mr		*mr;
};

/* ---- initiator ---- */

/* Return the segments that the peer keeps until it has answered the operation. */
static u32 kfp_read_segs(const struct kfi_oper *op)
{
	return op->rma_count > 1 ? op->rma_count : 0;
}

/* Does the peer have room for the segments of a read, until it has answered earlier ones? */
static struct kfi_oper *kfp_read_next(struct kfp_conn *conn, struct kfi_oper *op)
{
	if (!kfp_may_request(conn) || kfp_read_segs(op) > KFW_READ_SEGS - conn->reads.segs)
		return NULL;
	return op;
}

static void kfp_read_concealed(struct kfp_conn *conn, struct kfp_exposed *e)
{
	kfp_op_concealed(conn, container_of(e, struct kfp_places, exposed)->op);
}

/* Expose the buffer of a read. Return: its places; NULL if the data has to come in frames. */
static struct kfp_places *kfp_read_expose(struct kfp_conn *conn, struct kfi_oper *op)
{
	struct kfp_places *places;
	int n;

	places = kfp_may_expose(conn, op->len) ? kfp_places_new(conn) : NULL;
	if (!places)
		return NULL;
	n = kfp_expose(conn, &places->exposed, &op->iter, op->len, places->place,
		       kfp_read_concealed);
	places->op = op;
	places->count = max(n, 0);
	if (n <= 0)
		kfp_places_put(conn, &places);
	return places;
}

/*
 * Send the request of a read. The buffer is exposed, if that is possible, so that the link of the
 * peer can write the result to it.
 */
void kfp_send_read_request(struct kfp_conn *conn, struct kfi_oper *op, u8 type, u16 flags)
{
	struct kfp_places *places = kfp_read_expose(conn, op);
	struct kfw_hdr *hdr = kfp_send_op_frame(conn, op, type, flags);

	kfp_op(op)->places = places;
	if (type == KFW_READ) {
		hdr->rma_count = cpu_to_le16(op->rma_count);
		kfp_send_segments(conn, op);
	}
	if (places) {
		hdr->places = places->count;
		kfp_send_places(conn, places->place, places->count);
	}
	kfp_op_sent(conn, op, true);
}

static bool kfp_send_read(struct kfp_conn *conn, struct kfi_oper *op)
{
	list_del(&op->link);
	kfp_op_request(conn, op);
	conn->reads.segs += kfp_read_segs(op);
	kfp_send_read_request(conn, op, KFW_READ, 0);
	return true;
}

/* Select the destination of the data of a read. */
int kfp_read_data(struct kfp_conn *conn, struct kfi_oper *op)
{
	struct kfp_rx *rx = &conn->rx;

	if (!(rx->f.flags & KFW_F_PLACED)) {
		conn->rx.into = &op->iter;
		return 0;
	}
	if (!kfp_op(op)->places)
		return -EPROTO;
	iov_iter_advance(&op->iter, rx->f.len);	/* frames may carry the rest */
	kfi_stat_add(&conn->ep->ep, placed, rx->f.len);
	return 0;
}

static void kfp_read_answered(struct kfp_conn *conn, struct kfi_oper *op)
{
	conn->reads.segs -= kfp_read_segs(op);
}

static int kfp_read_acked(struct kfp_conn *conn, struct kfi_oper *op)
{
	return kfp_op(op)->got == op->len ? 0 : -EREMOTEIO;
}

const struct kfp_op_row kfp_read_op = {
	.cls = KFP_CLS,
	.returns = true,
	.next = kfp_read_next,
	.send = kfp_send_read,
	.data = kfp_read_data,
	.answered = kfp_read_answered,
	.acked = kfp_read_acked,
};

/* Handle returned data, of a read or of another operation of this side. */
static int kfp_rx_read_data(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;
	struct kfi_oper *op = kfp_answered_op(conn, &rx->f);

	if (!op || !kfp_op_row(op)->returns || kfp_op(op)->state != KFP_OP_UNANSWERED ||
	    rx->f.len > op->len - kfp_op(op)->got)
		return -EPROTO;
	rx->op = op;
	conn->rx.left = rx->f.payload;
	return kfp_op_row(op)->data(conn, op);
}

static int kfp_rx_finish_read_data(struct kfp_conn *conn)
{
	struct kfi_oper *op = conn->rx.op;

	kfp_op(op)->got += conn->rx.f.len;
	if (kfp_op_row(op)->returned)
		kfp_op_row(op)->returned(conn, op);
	return 0;
}

const struct kfp_frame_row kfp_read_data_frame = {
	.receive = kfp_rx_read_data,
	.finish = kfp_rx_finish_read_data,
};

/* ---- target ---- */

static void kfp_lease_free(struct kfp_conn *conn, struct kfp_lease *lease)
{
	if (!kfp_spare_put(&conn->reads.spare_leases, &lease->reading.link))
		kfree(lease);
}

/* Release a region whose pages the link does not read any more. */
static void kfp_lease_put(struct kfp_conn *conn, struct kfp_lease *lease)
{
	kfi_mr_unlease(lease->mr, NULL);
	kfp_lease_free(conn, lease);
}

/* From now on the lease of an answer lasts only until the link has read what was posted. */
static void kfp_lease_end(struct kfp_conn *conn, struct kfp_answer *answer)
{
	struct kfp_lease *lease = answer->lease;

	if (!lease)
		return;
	answer->lease = NULL;
	lease->reading.end = conn->link.posted;
	kfp_reading_wait(conn, &lease->reading);
}

/* The link has read the bytes. */
static void kfp_lease_read(struct kfp_conn *conn, struct kfp_reading *reading)
{
	kfp_lease_put(conn, container_of(reading, struct kfp_lease, reading));
}

/*
 * May the link reference the pages of the data that is returned next? The end of a region then
 * waits until the link has read it. Data that goes to places of the peer is always referenced.
 */
static bool kfp_lease_source(struct kfp_conn *conn, struct kfp_answer *answer, u32 len, bool placing)
{
	struct list_head *spare;
	struct kfp_lease *lease;

	if (!kfp_reports_sent(conn) ||
	    (!placing && !kfp_can_splice(conn, &answer->iter, len)))
		return false;
	if (!answer->mr)
		return true;	/* a receive, which is held until kfi_link_sent() */
	spare = kfp_spare_get(&conn->reads.spare_leases);
	lease = spare ? list_entry(spare, struct kfp_lease, reading.link) :
		       kmalloc(sizeof(*lease), GFP_ATOMIC | __GFP_NOWARN);
	if (!lease)
		return false;
	if (!kfi_mr_lease(&conn->ep->ep, answer->mr, answer->key, NULL)) {
		kfp_lease_free(conn, lease);
		return false;
	}
	lease->mr = answer->mr;
	lease->reading.read = kfp_lease_read;
	answer->lease = lease;
	return true;
}

/*
 * The region of the data that is being returned may have ended. Then zeros are sent, because the
 * frame has announced the number of bytes. The status of the ACK shows that the data is invalid.
 */
static u64 kfp_returned_check(struct kfp_conn *conn)
{
	struct kfp_answer *answer = conn->tx.answer;
	struct kfp_payload *payload = &conn->tx.payload;
	u64 len;

	if (!answer->mr || kfi_mr_live(answer->mr, answer->key))
		return payload->left;
	answer->status = EREMOTEIO;
	payload->spliced = false;
	len = min_t(u64, payload->left, PAGE_SIZE);
	answer->zeros = (struct bio_vec) { .bv_page = ZERO_PAGE(0), .bv_len = len };
	iov_iter_bvec(&answer->iter, ITER_SOURCE, &answer->zeros, 1, len);
	return len;
}

/*
 * The link has accepted the data. The rest of the answer goes in front of the others, unless that is
 * more of the same segment. If its region has ended, the ACK follows.
 */
void kfp_returned_sent(struct kfp_conn *conn)
{
	struct kfp_answer *answer = conn->tx.answer;
	u32 sent = kfw_part(answer->left, conn->tx.payload.into);

	conn->tx.answer = NULL;
	answer->placed += sent;
	answer->left -= sent;
	kfp_lease_end(conn, answer);
	if (answer->left && !answer->status) {
		conn->tx.yields = true;
		conn->tx.shares = true;
		kfp_answer_rest(conn, answer);
		return;
	}
	if (answer->mr) {
		kfi_remote_rma(&conn->ep->ep, answer->mr, answer->key, KFI_REMOTE_READ,
			       answer->len, 0, KFI_ADDR_NOTAVAIL);
		kfi_mr_put(answer->mr);
		answer->mr = NULL;
	}
	spin_lock_bh(&conn->lock);
	list_add(&answer->link, &conn->answers);
	spin_unlock_bh(&conn->lock);
}

/*
 * Return the next part of the data: to the places of the peer, or behind the frame. Return: the link
 * references the pages.
 */
bool kfp_send_returned(struct kfp_conn *conn, struct kfp_answer *answer)
{
	bool placing = answer->places && answer->left;
	bool spliced = kfp_lease_source(conn, answer, kfw_part(answer->left, placing), placing);
	struct kfw_hdr *hdr = kfp_send_answer_frame(conn, answer, KFW_READ_DATA);
	u32 part;

	placing &= spliced;
	part = kfw_part(answer->left, placing);
	hdr->len = cpu_to_le64(part);
	if (placing)
		hdr->flags = cpu_to_le16(KFW_F_PLACED);
	else
		hdr->payload = hdr->len;
	conn->tx.answer = answer;
	conn->tx.at = KFP_TX_PAYLOAD;
	conn->tx.payload = (struct kfp_payload) {
		.iter = &answer->iter,
		.left = part,
		.into = placing ? answer->places : NULL,
		.at = answer->placed,
		.spliced = spliced,
		.check = kfp_returned_check,
		.sent = kfp_returned_sent,
	};
	return spliced;
}

/*
 * Open the next segment of a read. Return false if there is none, or if it may not be read; then
 * answer->status is the reason.
 */
static bool kfp_read_segment(struct kfp_conn *conn, struct kfp_answer *answer)
{
	const struct kfw_rma *seg = answer->segs ? &answer->segs[answer->seg] : &answer->seg0;

	if (answer->status || answer->seg == answer->nsegs)
		return false;
	answer->seg++;
	answer->len = le64_to_cpu(seg->len);
	answer->left = answer->len;
	answer->key = le64_to_cpu(seg->key);
	answer->mr = kfi_mr_get(&conn->ep->ep, le64_to_cpu(seg->key), le64_to_cpu(seg->addr),
				answer->len, KFI_REMOTE_READ, &answer->iter);
	if (!IS_ERR(answer->mr))
		return true;
	answer->status = answer->seg > 1 ? EREMOTEIO : EACCES;	/* EACCES: no byte has been sent */
	answer->mr = NULL;
	return false;
}

/*
 * Return the next part of the data, or the ACK behind the last one. A granted payload may follow,
 * except between the last part and the ACK.
 */
static void kfp_send_segment_data(struct kfp_conn *conn, struct kfp_answer *answer)
{
	conn->tx.yields = answer->seg + 1 != answer->nsegs;
	if ((answer->left && !answer->status) || kfp_read_segment(conn, answer))
		kfp_send_returned(conn, answer);
	else
		kfp_send_ack(conn, answer);
}

static void kfp_read_drop(struct kfp_conn *conn, struct kfp_answer *answer)
{
	if (answer->segs)
		conn->reads.peer_segs -= answer->nsegs;
	kfree(answer->segs);
	answer->segs = NULL;
	if (answer->mr)		/* only a part of its segment was sent */
		kfi_mr_put(answer->mr);
	answer->mr = NULL;
	kfp_places_put(conn, &answer->places);
}

static void kfp_read_done(struct kfp_conn *conn, struct kfp_answer *answer)
{
	kfp_read_drop(conn, answer);
	kfp_answer_put(conn, answer);
}

static const struct kfp_answer_row kfp_read_row = {
	.returns = true,
	.send = kfp_send_segment_data,
	.done = kfp_read_done,
	.drop = kfp_read_drop,
};

/* Several segments are copied, and stay until their data has left. kfp_conn_bytes() pays for them. */
static int kfp_rx_read(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;
	u32 copied = rx->f.rma_count > 1 ? rx->f.rma_count : 0;
	struct kfp_places *places;
	struct kfp_answer *answer;
	struct kfw_rma *segs = NULL;
	int ret = kfp_rx_check_segments(conn, KFI_REMOTE_READ);

	if (!ret && copied > KFW_READ_SEGS - conn->reads.peer_segs)
		ret = -EPROTO;
	if (!ret)
		ret = kfp_places_take(conn, rx->f.len, &places);
	if (ret)
		return ret;
	if (copied) {
		segs = kmemdup(rx->segs, copied * sizeof(*segs), GFP_ATOMIC | __GFP_NOWARN);
		if (!segs) {
			kfp_places_put(conn, &places);
			return -ENOMEM;
		}
	}
	answer = kfp_answer_get(conn, &kfp_read_row);
	if (!answer) {
		kfp_places_put(conn, &places);
		kfree(segs);
		return -EPROTO;
	}
	conn->reads.peer_segs += copied;
	answer->places = places;
	answer->placed = 0;
	answer->left = 0;
	answer->status = rx->status;
	answer->seg = 0;
	answer->nsegs = rx->f.rma_count;
	answer->seg0 = rx->segs[0];
	answer->segs = segs;
	spin_lock_bh(&conn->lock);
	kfp_answer_queue(conn, answer);
	spin_unlock_bh(&conn->lock);
	return 0;
}

const struct kfp_frame_row kfp_read_frame = {
	.request = true,
	.receive = kfp_rx_read,
};

/*
 * The region of the data that is being returned may have ended while the link has no room. How long
 * that lasts depends on the peer, and the owner of the region must not wait for it:
 * kfp_returned_check() sends zeros instead of the rest.
 */
static bool kfp_lease_watch(struct kfp_conn *conn, unsigned long extra, unsigned long held)
{
	struct kfp_answer *answer = conn->tx.answer;

	if (answer && answer->lease && !kfi_mr_live(answer->mr, answer->key))
		kfp_lease_end(conn, answer);
	return false;
}

/* ---- the life of a connection ---- */

static void kfp_reads_init(struct kfp_conn *conn)
{
	kfp_spares_init(&conn->reads.spare_leases);
}

/* Data that was being returned will not be sent. */
static void kfp_reads_end(struct kfp_conn *conn, int err)
{
	struct kfp_answer *answer = conn->tx.answer;

	if (answer && answer->lease)
		kfp_lease_put(conn, answer->lease);
	conn->tx.answer = NULL;
}

static void kfp_reads_free(struct kfp_conn *conn)
{
	struct list_head *spare;

	while ((spare = kfp_spare_get(&conn->reads.spare_leases)))
		kfree(list_entry(spare, struct kfp_lease, reading.link));
}

const struct kfp_protocol kfp_read_protocol = {
	.init = kfp_reads_init,
	.watch = kfp_lease_watch,
	.end = kfp_reads_end,
	.free = kfp_reads_free,
};
