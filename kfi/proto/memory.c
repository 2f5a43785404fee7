// SPDX-License-Identifier: GPL-2.0
/*
 * memory.c - memory to which the link of the other side writes directly.
 *
 * A link with ops->expose() can let the peer's link write to memory of this side. The protocols use
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
 *   kfp_expose_segments()	exposes memory of regions
 *   kfp_conceal()		ends that, when the payload has arrived or the link is closed. The
 *				link may end it later, and then calls kfi_link_concealed()
 *   kfp_places_take()		accepts the places that a frame of the peer names
 *
 * All functions are called under the link's lock, or after the end of the link.
 */
#include <linux/slab.h>
#include "proto.h"

static struct kfp_places *kfp_places_new(struct kfp_conn *conn)
{
	struct list_head *spare = kfp_spare_get(&conn->spare_places);
	struct kfp_places *places;

	places = spare ? list_entry(spare, struct kfp_places, entry) :
			 kmem_cache_alloc(kfp_places_cache, GFP_ATOMIC | __GFP_NOWARN);
	if (places) {
		places->count = 0;
		places->pieces = 0;
		places->concealed = NULL;
	}
	return places;
}

/* After the end of the connection no lock protects the spares. */
static void kfp_places_free(struct kfp_conn *conn, struct kfp_places *places)
{
	if (test_bit(KFP_DEAD, &conn->flags) ||
	    !kfp_spare_put(&conn->spare_places, &places->entry))
		kmem_cache_free(kfp_places_cache, places);
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
 * places were freed, and *@places is NULL; false if &kfp_places.concealed will be called.
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

/* Only memory of an operation or of a receive is concealed late, and that is one piece. */
void kfp_concealed(struct kfp_conn *conn, struct kfi_exposed *x)
{
	struct kfp_places *places = container_of(x, struct kfp_places, piece[0].x);

	places->pieces = 0;
	places->concealed(conn, places->owner);
}

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

/*
 * Expose all segments of a write, or none of them. Return: the places, or NULL if the payload has to
 * come in frames.
 */
struct kfp_places *kfp_expose_segments(struct kfp_conn *conn, const struct kfw_rma *segs,
				       unsigned int n)
{
	struct kfp_places *places;

	if (!conn->ops->expose)
		return NULL;
	places = kfp_places_new(conn);
	if (!places)
		return NULL;
	for (; n; n--, segs++)
		if (segs->len && !kfp_expose_segment(conn, places, segs))
			break;
	if (!n)
		return places;
	WARN_ON_ONCE(!kfp_conceal(conn, &places));	/* memory of regions: at once */
	return NULL;
}

/* ---- the regions that a frame names ---- */

/*
 * Check all segments before the first byte is copied. Return: 0, perhaps with a status; -EPROTO.
 */
int kfp_rx_check_segments(struct kfp_conn *conn, u64 access)
{
	struct kfp_rx *rx = &conn->rx;
	struct iov_iter iter;
	struct kfi_mr *mr;
	unsigned int i;
	u64 len, total = 0;

	for (i = 0; i < rx->f.rma_count; i++) {
		len = le64_to_cpu(rx->segs[i].len);
		if (len > KFW_PAYLOAD_MAX)
			return -EPROTO;
		total += len;
		mr = kfi_mr_get(&conn->ep->ep, le64_to_cpu(rx->segs[i].key),
				le64_to_cpu(rx->segs[i].addr), len, access, &iter);
		if (IS_ERR(mr))
			rx->status = EACCES;
		else
			kfi_mr_put(mr);
	}
	return total == rx->f.len ? 0 : -EPROTO;
}

void kfp_rx_put_mr(struct kfp_conn *conn)
{
	if (conn->rx.mr)
		kfi_mr_put(conn->rx.mr);
	conn->rx.mr = NULL;
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

/* ---- the life of a connection ---- */

static void kfp_memory_init(struct kfp_conn *conn)
{
	kfp_spares_init(&conn->spare_places);
}

static void kfp_memory_free(struct kfp_conn *conn)
{
	struct list_head *spare;

	while ((spare = kfp_spare_get(&conn->spare_places)))
		kmem_cache_free(kfp_places_cache, list_entry(spare, struct kfp_places, entry));
}

const struct kfp_protocol kfp_memory_protocol = {
	.init = kfp_memory_init,
	.free = kfp_memory_free,
};
