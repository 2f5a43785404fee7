// SPDX-License-Identifier: GPL-2.0
/*
 * places.c - payload that the link writes directly to the memory of its receiver.
 *
 * A link with ops->expose() can let the peer's link write to memory of this side. The protocol uses
 * this for long payload. Its receiver exposes the destination and names the places in a frame:
 *
 *	RTS, CTS		the CTS has the places of the receive
 *	READ, TREAD		the request has the places of the reader's buffer
 *	RTW, CTS		a long write: the CTS has the places in the regions
 *
 * Places of a region can be granted for later writes, too (grant.c), and for devices of the peer
 * (device_place.c).
 *
 * The sender posts the payload with the places, and behind it a DATA or READ_DATA frame with
 * KFW_F_PLACED. Payload that can't be exposed is sent as frames, so places are never needed.
 *
 *   kfp_expose()		exposes memory of an operation or of a receive
 *   kfp_conceal()		ends that, when the payload has arrived or the link is closed. The
 *				link may end it later, and then calls kfi_link_concealed()
 *   kfp_places_take()		accepts the places that a frame of the peer names
 *   kfp_rx_rtw()		target of a write: handles an RTW
 *   kfp_rx_rtw_data()		handles the DATA that follows, as if it were the WRITE
 *
 * All functions are called under the link's lock, or after the end of the link.
 */
#include <linux/export.h>
#include <linux/slab.h>
#include "proto.h"

static struct kfp_places *kfp_places_new(struct kfp_conn *conn)
{
	struct kfp_places *places = list_first_entry_or_null(&conn->spare_places,
							     struct kfp_places, entry);

	if (places) {
		list_del(&places->entry);
		conn->nr_spare_places--;
	} else {
		places = kmem_cache_alloc(kfp_places_cache, GFP_ATOMIC | __GFP_NOWARN);
	}
	if (places) {
		places->count = 0;
		places->pieces = 0;
		places->op = NULL;
		places->in = NULL;
	}
	return places;
}

/* After the end of the connection no lock protects the spares. */
static void kfp_places_free(struct kfp_conn *conn, struct kfp_places *places)
{
	if (test_bit(KFP_DEAD, &conn->flags) || conn->nr_spare_places == KFP_RDV) {
		kmem_cache_free(kfp_places_cache, places);
		return;
	}
	list_add(&places->entry, &conn->spare_places);
	conn->nr_spare_places++;
}

/* Free all spares, at the end of the connection. */
void kfp_places_free_spares(struct kfp_conn *conn)
{
	struct kfp_places *places, *next;
	struct kfp_hold *hold, *after;

	list_for_each_entry_safe(places, next, &conn->spare_places, entry)
		kmem_cache_free(kfp_places_cache, places);
	list_for_each_entry_safe(hold, after, &conn->spare_holds, link)
		kfree(hold);
	INIT_LIST_HEAD(&conn->spare_places);
	INIT_LIST_HEAD(&conn->spare_holds);
	conn->nr_spare_places = 0;
}

/* ---- memory of this side ---- */

/*
 * Expose one piece of memory, which may be part of region @mr. Its places are added to those of
 * earlier pieces.
 */
static bool kfp_expose_piece(struct kfp_conn *conn, struct kfp_places *places, struct kfi_mr *mr,
			     u64 addr, const struct iov_iter *iter, u64 len)
{
	struct kfp_piece *piece = &places->piece[places->pieces];
	int ret;

	if (places->count == KFW_PLACES_MAX)
		return false;
	piece->x.mr = mr;
	piece->x.addr = addr;
	piece->x.lasting = false;
	ret = conn->ops->expose(&conn->link, &piece->x, iter, len, places->place + places->count,
				KFW_PLACES_MAX - places->count);
	if (ret <= 0)
		return false;
	places->pieces++;
	places->count += ret;
	return true;
}

/*
 * Let the peer write to @len bytes of @iter, whose memory has to stay valid until kfp_conceal().
 * Return: the places, or NULL if the payload has to come in frames.
 */
struct kfp_places *kfp_expose(struct kfp_conn *conn, const struct iov_iter *iter, u64 len)
{
	struct kfp_places *places;

	if (!conn->ops->expose || len < conn->ops->place_min)
		return NULL;
	places = kfp_places_new(conn);
	if (!places || kfp_expose_piece(conn, places, NULL, 0, iter, len))
		return places;
	kfp_places_free(conn, places);
	return NULL;
}

/* Has a region ended that has pieces? */
bool kfp_places_ended(const struct kfp_places *places)
{
	const struct kfp_piece *piece;

	for (piece = places->piece; piece < places->piece + places->pieces; piece++)
		if (piece->x.mr && !kfi_mr_live(piece->x.mr, piece->key))
			return true;
	return false;
}

/* End the access of the peer to all pieces; then their regions may end. */
static bool kfp_conceal_pieces(struct kfp_conn *conn, struct kfp_places *places)
{
	struct kfp_piece *piece;

	for (; places->pieces; places->pieces--) {
		piece = &places->piece[places->pieces - 1];
		if (conn->ops->conceal(&conn->link, &piece->x))
			return false;
		if (!piece->x.mr)
			continue;
		kfi_mr_unhold(piece->x.mr);
		kfi_mr_put(piece->x.mr);
	}
	places->count = 0;
	return true;
}

/*
 * End the access of the peer to exposed memory, or free the places of the peer. Return: true if the
 * places were freed, and *@places is NULL; false if kfi_link_concealed() will free them and end the
 * operation or the message that the memory belongs to.
 */
bool kfp_conceal(struct kfp_conn *conn, struct kfp_places **places)
{
	if (likely(!*places))
		return true;
	if (!kfp_conceal_pieces(conn, *places))
		return false;
	kfp_places_free(conn, *places);
	*places = NULL;
	return true;
}

static void kfp_concealed_run(struct kfp_conn *conn)
{
	struct kfp_places *places = conn->concealed;

	if (places->op) {
		list_del(&places->op->link);
		kfp_op_end(conn, places->op, kfp_op(places->op)->result);
	} else {
		kfp_inmsg_concealed(places->in);
	}
}

/* Only memory of an operation or of a receive is concealed late, and that is one piece. */
void kfi_link_concealed(struct kfi_link *link, struct kfi_exposed *x)
{
	struct kfp_places *places = container_of(x, struct kfp_places, piece[0].x);
	struct kfp_conn *conn = link_conn(link);

	places->pieces = 0;
	conn->concealed = places;
	kfp_rx_burst(conn, kfp_concealed_run);
}
EXPORT_SYMBOL_GPL(kfi_link_concealed);

/*
 * Expose a segment of a region. The region is held, so that its end waits until the peer can't
 * write to it any more.
 */
static bool kfp_expose_segment(struct kfp_conn *conn, struct kfp_places *places,
			       const struct kfw_rma *seg)
{
	u64 key = le64_to_cpu(seg->key), len = le64_to_cpu(seg->len);
	struct iov_iter iter;
	struct kfi_mr *mr;

	mr = kfi_mr_get(&conn->ep->ep, key, le64_to_cpu(seg->addr), len, KFI_REMOTE_WRITE, &iter);
	if (IS_ERR(mr))
		return false;
	if (!kfi_mr_hold(mr, key))
		goto put;
	if (kfp_expose_piece(conn, places, mr, le64_to_cpu(seg->addr), &iter, len)) {
		places->piece[places->pieces - 1].key = key;
		return true;
	}
	kfi_mr_unhold(mr);
put:
	kfi_mr_put(mr);
	return false;
}

/* Expose all segments of the write of an RTW, or none of them. */
static void kfp_expose_segments(struct kfp_conn *conn, struct kfp_places *places)
{
	unsigned int i;

	if (!conn->ops->expose)
		return;
	places->ended = 0;
	for (i = 0; i < places->rtw.rma_count; i++) {
		if (!places->segs[i].len || kfp_expose_segment(conn, places, &places->segs[i]))
			continue;
		kfp_conceal_pieces(conn, places);
		return;
	}
}

/*
 * Expose the destination of a long message, or of the write of an RTW, before its CTS is encoded.
 * The payload of a message that is longer than its receive comes in frames, and its end is dropped.
 */
void kfp_inmsg_expose(struct kfp_conn *conn, struct kfp_inmsg *in)
{
	if (in->rtw_answer)
		kfp_expose_segments(conn, in->places);
	else if (in->rx.room == in->rx.len)
		in->places = kfp_expose(conn, &in->rx.iter, in->rx.len);
	if (in->places)
		in->places->in = in;
}

void kfp_send_place_list(struct kfp_conn *conn, const struct kfi_link_place *place, unsigned int n)
{
	struct kfp_tx *tx = &conn->tx;

	for (; n; n--, place++) {
		struct kfw_place *to = (void *)(tx->stage + tx->staged);

		to->at = cpu_to_le64(place->at);
		to->len = cpu_to_le32(place->len);
		to->key = cpu_to_le32(place->key);
		tx->staged += sizeof(*to);
	}
}

void kfp_send_places(struct kfp_conn *conn, const struct kfp_places *places)
{
	if (places)
		kfp_send_place_list(conn, places->place, places->count);
}

/* ---- memory of the peer ---- */

/*
 * Store the places that the current frame names for @len bytes of payload. The link checks their
 * addresses when payload is posted to them. Return: 0; -ENOMEM; -EPROTO if they do not fit.
 */
int kfp_places_take(struct kfp_conn *conn, u64 len, struct kfp_places **to)
{
	struct kfp_rx *rx = &conn->rx;
	const struct kfw_place *from = (void *)(rx->segs + rx->f.rma_count);
	struct kfp_places *places;
	u64 total = 0;
	unsigned int i;

	*to = NULL;
	if (!rx->f.places)
		return 0;
	for (i = 0; i < rx->f.places; i++)
		total += le32_to_cpu(from[i].len);
	if (total != len || !conn->ops->expose)
		return -EPROTO;
	places = kfp_places_new(conn);
	if (!places)
		return -ENOMEM;
	for (i = 0; i < rx->f.places; i++) {
		places->place[i] = (struct kfi_link_place) {
			.at = le64_to_cpu(from[i].at),
			.len = le32_to_cpu(from[i].len),
			.key = le32_to_cpu(from[i].key),
		};
	}
	places->count = rx->f.places;
	*to = places;
	return 0;
}

/* ---- initiator: a write with an RTW ---- */

/*
 * A write is sent without an RTW. After KFP_RTW_RETRY that could have used one, the next one does.
 */
void kfp_rtw_skipped(struct kfp_conn *conn, const struct kfi_oper *op)
{
	struct kfp_tx *tx = &conn->tx;

	if (!kfp_rtw_possible(conn, op) || ++tx->rtw_skips < KFP_RTW_RETRY)
		return;
	tx->rtw_skips = 0;
	tx->rtw_failures--;
}

/*
 * The operation keeps its position in the queue, and the operations behind it wait until its
 * payload was sent.
 */
void kfp_send_rtw(struct kfp_conn *conn, struct kfi_oper *op)
{
	struct kfw_frame f = kfp_op_frame(op, KFW_RTW);

	f.rma_count = op->rma_count;
	conn->tx.requests++;
	kfp_send_frame(conn, &f);
	kfp_send_segments(conn, op);
	kfp_op(op)->state = KFP_OP_REQUESTED;
}

/* ---- target: a write with an RTW ---- */

/* Handle an RTW. Its answer is taken from the pool now, and is returned when the DATA arrives. */
int kfp_rx_rtw(struct kfp_conn *conn)
{
	struct kfp_rx *rx = &conn->rx;
	struct kfp_places *places;
	struct kfp_inmsg *in;
	int ret = kfp_rx_check_segments(conn, KFI_REMOTE_WRITE) ?: kfp_rx_commit_rtw(conn);

	if (ret || rx->f.rma_count > KFP_RTW_SEGS)
		return ret ?: -EPROTO;
	if (rx->status)
		return kfp_rx_ack(conn, rx->status);
	if (rx->f.flags & KFW_F_PLACE)
		return kfp_rx_dev_place(conn);
	places = kfp_places_new(conn);
	if (!places)
		return -ENOMEM;
	in = kfp_inmsg_new(conn, &rx->f, 0);
	if (!in) {
		kfp_places_free(conn, places);
		return -ENOMEM;
	}
	places->rtw = rx->f;
	memcpy(places->segs, rx->segs, rx->f.rma_count * sizeof(*rx->segs));
	in->places = places;
	in->rx.len = rx->f.len;
	in->rtw_answer = kfp_answer_get(conn);
	if (!in->rtw_answer) {
		kfp_conceal(conn, &in->places);
		kfp_inmsg_free(in);
		return -EPROTO;
	}
	kfp_rdv_enqueue_rtw(in);
	return 0;
}

/*
 * The payload is in the regions. The last region is kept, for the event; its owner does not have to
 * wait for that.
 */
static void kfp_rx_landed(struct kfp_conn *conn, const struct kfp_places *places)
{
	struct kfp_rx *rx = &conn->rx;
	const struct kfw_rma *last = &places->segs[places->rtw.rma_count - 1];
	unsigned int i;

	for (i = 0; i < places->pieces; i++)
		if (!kfi_mr_live(places->piece[i].x.mr, places->piece[i].key))
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
 * Handle the DATA for an RTW as the WRITE that it replaces: its payload either follows or is in the
 * regions.
 */
int kfp_rx_rtw_data(struct kfp_conn *conn, struct kfp_inmsg *in)
{
	struct kfp_rx *rx = &conn->rx;
	struct kfp_places *places = in->places;
	bool placed = rx->f.flags & KFW_F_PLACED;

	rx->f = places->rtw;
	rx->f.type = KFW_WRITE;
	rx->f.payload = placed ? 0 : rx->f.len;
	memcpy(rx->segs, places->segs, rx->f.rma_count * sizeof(*rx->segs));
	if (placed) {
		kfp_grant_written(conn, le64_to_cpu(places->segs[0].key));
		kfp_rx_landed(conn, places);
	}
	kfp_conceal(conn, &in->places);
	kfp_answer_done(conn, in->rtw_answer);
	kfp_inmsg_rtw_done(in);
	return kfp_rx_write(conn);
}
