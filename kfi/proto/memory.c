// SPDX-License-Identifier: GPL-2.0
/*
 * memory.c - memory to which the link of the other side writes directly, for one transfer.
 *
 * A link with ops->expose() can let the peer's link write to memory of this side. The protocols use
 * this for long payload. Its receiver exposes the destination and names the places in a frame:
 *
 *	RTS, CTS		the CTS has the places of the receive
 *	READ, TREAD		the request has the places of the reader's buffer
 *
 * Memory of regions, to which the peer writes on its own, is granted (grant.c).
 *
 * The sender posts the payload with the places, and behind it a DATA or READ_DATA frame with
 * KFW_F_PLACED. Payload that can't be exposed is sent as frames, so places are never needed.
 *
 *   kfp_expose()		exposes memory of an operation or of a receive
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
	if (places)
		places->own = false;
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
 * Let the peer write to @len bytes of @iter, whose memory has to stay valid until kfp_conceal().
 * If that returns false, @concealed is called with @owner. Return: the places, or NULL if the
 * payload has to come in frames.
 */
struct kfp_places *kfp_expose(struct kfp_conn *conn, const struct iov_iter *iter, u64 len,
			      void (*concealed)(struct kfp_conn *conn, void *owner), void *owner)
{
	struct kfp_places *places;
	int n;

	if (!conn->ops->expose || len < conn->ops->place_min)
		return NULL;
	places = kfp_places_new(conn);
	if (!places)
		return NULL;
	places->x.mr = NULL;
	places->x.lasting = false;
	n = conn->ops->expose(&conn->link, &places->x, iter, len, places->place, KFW_PLACES_MAX);
	if (n <= 0) {
		kfp_places_free(conn, places);
		return NULL;
	}
	places->count = n;
	places->own = true;
	places->concealed = concealed;
	places->owner = owner;
	return places;
}

/*
 * End the access of the peer to exposed memory, or free the places of the peer. Return: true if the
 * places were freed, and *@places is NULL; false if &kfp_places.concealed will be called.
 */
bool __kfp_conceal(struct kfp_conn *conn, struct kfp_places **places)
{
	if ((*places)->own && conn->ops->conceal(&conn->link, &(*places)->x))
		return false;
	kfp_places_free(conn, *places);
	*places = NULL;
	return true;
}

void kfp_concealed(struct kfp_conn *conn, struct kfi_exposed *x)
{
	struct kfp_places *places = container_of(x, struct kfp_places, x);

	places->own = false;
	places->concealed(conn, places->owner);
}

/* ---- the regions that a frame names ---- */

/* Has the frame as many bytes as all of its segments? */
bool kfp_rx_lengths_ok(const struct kfp_rx *rx)
{
	u64 left = rx->f.len, len;
	unsigned int i;

	for (i = 0; i < rx->f.rma_count; i++) {
		len = le64_to_cpu(rx->segs[i].len);
		if (len > left)
			return false;
		left -= len;
	}
	return !left;
}

/*
 * Check all segments before the first byte is copied. Return: 0, perhaps with a status; -EPROTO.
 */
int kfp_rx_check_segments(struct kfp_conn *conn, u64 access)
{
	struct kfp_rx *rx = &conn->rx;
	u64 left = rx->f.len, len;
	struct iov_iter iter;
	struct kfi_mr *mr;
	unsigned int i;

	for (i = 0; i < rx->f.rma_count; i++) {
		len = le64_to_cpu(rx->segs[i].len);
		if (len > left)
			return -EPROTO;
		left -= len;
		mr = kfi_mr_get(&conn->ep->ep, le64_to_cpu(rx->segs[i].key),
				le64_to_cpu(rx->segs[i].addr), len, access, &iter);
		if (IS_ERR(mr))
			rx->status = EACCES;
		else
			kfi_mr_put(mr);
	}
	return left ? -EPROTO : 0;
}

void kfp_rx_put_mr(struct kfp_conn *conn)
{
	if (conn->rx.mr)
		kfi_mr_put(conn->rx.mr);
	conn->rx.mr = NULL;
}

/* ---- memory of the peer ---- */

/*
 * Copy the places that the current frame names for @len bytes of payload. The link checks their
 * addresses when payload is posted to them. Return: 0; -EPROTO if they do not fit.
 */
int kfp_places_read(struct kfp_conn *conn, u64 len, struct kfp_places *places)
{
	struct kfp_rx *rx = &conn->rx;
	const struct kfw_place *from = (void *)(rx->segs + rx->f.rma_count);
	u64 total = 0;
	unsigned int i;

	for (i = 0; i < rx->f.places; i++) {
		places->place[i] = (struct kfi_link_place) {
			.at = le64_to_cpu(from[i].at),
			.len = le32_to_cpu(from[i].len),
			.key = le32_to_cpu(from[i].key),
		};
		total += places->place[i].len;
	}
	places->count = rx->f.places;
	return total == len ? 0 : -EPROTO;
}

/*
 * Store the places that the current frame names for @len bytes of payload, if it names any.
 * Return: 0; -ENOMEM; -EPROTO if they do not fit.
 */
int kfp_places_take(struct kfp_conn *conn, u64 len, struct kfp_places **to)
{
	struct kfp_places *places;
	int ret;

	*to = NULL;
	if (!conn->rx.f.places)
		return 0;
	if (!conn->ops->expose)
		return -EPROTO;
	places = kfp_places_new(conn);
	if (!places)
		return -ENOMEM;
	ret = kfp_places_read(conn, len, places);
	if (ret)
		kfp_places_free(conn, places);
	else
		*to = places;
	return ret;
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
