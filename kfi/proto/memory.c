// SPDX-License-Identifier: GPL-2.0
/*
 * memory.c - memory to which the link of the other side writes directly.
 *
 * A link with ops->expose() can let the peer's link write to memory of this side. The protocols use
 * this for long payload. Its receiver exposes the destination and names the places in a frame:
 *
 *	RTS, CTS		the CTS has the places of the receive
 *	READ, TREAD		the request has the places of the reader's buffer
 *	RTW, GRANT		the GRANT has the places of memory of a region (grant.c)
 *
 * The sender posts the payload with the places, and behind it a DATA, READ_DATA or WRITE frame
 * with KFW_F_PLACED. Payload that can't be exposed is sent as frames, so places are never needed.
 *
 *   kfp_expose()		lets the peer write to memory: struct kfp_exposed
 *   kfp_conceal()		ends that, when the payload has arrived or the link is closed. The
 *				link may end it later, and then calls kfi_link_concealed()
 *   kfp_places_take()		accepts the places that a frame of the peer names
 *
 * All functions are called under the link's lock, or after the end of the link.
 */
#include <linux/slab.h>
#include "conn.h"

/* ---- memory of this side ---- */

/*
 * Let the peer write to @len bytes of @iter, whose memory has to stay valid until kfp_conceal().
 * Return: number of entries of @place that name it; not above 0: the payload has to come in
 * frames.
 */
int kfp_expose(struct kfp_conn *conn, struct kfp_exposed *e, const struct iov_iter *iter, u64 len,
	       struct kfi_link_place *place,
	       void (*concealed)(struct kfp_conn *conn, struct kfp_exposed *e))
{
	int n = conn->ops->expose(&conn->link, &e->x, iter, len, place, KFW_PLACES_MAX);

	if (n > 0)
		e->concealed = concealed;
	return n;
}

/* End the access of the peer. Return: false if &kfp_exposed.concealed will be called. */
bool kfp_conceal(struct kfp_conn *conn, struct kfp_exposed *e)
{
	if (e->concealed && conn->ops->conceal(&conn->link, &e->x))
		return false;
	e->concealed = NULL;
	return true;
}

void kfp_concealed(struct kfp_conn *conn, struct kfi_exposed *x)
{
	struct kfp_exposed *e = container_of(x, struct kfp_exposed, x);
	void (*concealed)(struct kfp_conn *conn, struct kfp_exposed *e) = e->concealed;

	e->concealed = NULL;
	concealed(conn, e);
}

/* ---- places ---- */

struct kfp_places *kfp_places_new(struct kfp_conn *conn)
{
	struct list_head *spare = kfp_spare_get(&conn->spare_places);
	struct kfp_places *places;

	places = spare ? list_entry(spare, struct kfp_places, entry) :
			 kmem_cache_alloc(kfp_places_cache, GFP_ATOMIC | __GFP_NOWARN);
	if (places)
		places->exposed = (struct kfp_exposed) {};
	return places;
}

/*
 * Free the places, when the peer can't write to them any more. Return: true, and *@places is NULL;
 * or false if &kfp_exposed.concealed will be called. After the end of the connection no lock
 * protects the spares.
 */
bool __kfp_places_put(struct kfp_conn *conn, struct kfp_places **places)
{
	if (!kfp_conceal(conn, &(*places)->exposed))
		return false;
	if (test_bit(KFP_DEAD, &conn->flags) ||
	    !kfp_spare_put(&conn->spare_places, &(*places)->entry))
		kmem_cache_free(kfp_places_cache, *places);
	*places = NULL;
	return true;
}

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
	*to = places;
	ret = kfp_places_read(conn, len, places);
	if (ret)
		kfp_places_put(conn, to);
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
