// SPDX-License-Identifier: GPL-2.0
/*
 * place.c - memory that the other end writes to directly: loop_place() copies payload from the
 * memory of its sender to that of its receiver. Keys and ranges are checked although both ends are
 * in one kernel: a fault of the protocol is reported by the end of the connection, and no byte
 * arrives in memory that is not exposed.
 */
#include <linux/highmem.h>
#include <linux/uio.h>
#include "loop.h"

/* ---- the owner of the memory ---- */

/* Return a free entry with a new key, or NULL. */
static struct loop_exposure *loop_exposure_new(struct loop_end *self)
{
	unsigned int i;

	for (i = 0; i < LOOP_PLACES; i++) {
		if (self->place[i].len)
			continue;
		self->place[i].key = (self->place[i].key / LOOP_PLACES + 1) * LOOP_PLACES + i;
		return &self->place[i];
	}
	return NULL;
}

int loop_expose(struct kfi_link *link, struct kfi_exposed *x, const struct iov_iter *iter, u64 len,
		struct kfi_link_place *place, unsigned int max)
{
	struct loop_end *self = loop_own(link);
	struct loop_exposure *e;

	if (!len || len > U32_MAX || !max)
		return -EOPNOTSUPP;
	spin_lock(&self->places_lock);
	e = loop_exposure_new(self);
	if (e) {
		e->len = len;
		e->iter = *iter;
		e->iter.data_source = ITER_DEST;
		e->mr = x->mr;
		*place = (struct kfi_link_place) { .len = len, .key = e->key };
	}
	spin_unlock(&self->places_lock);
	x->priv[0] = e;
	return e ? 1 : -ENOSPC;
}

int loop_conceal(struct kfi_link *link, struct kfi_exposed *x)
{
	struct loop_exposure *e = x->priv[0];
	struct loop_end *self;

	if (!to_loop_link(link)->pipe)
		return 0;	/* loop_conceal_all() has done it */
	self = loop_own(link);
	spin_lock(&self->places_lock);
	e->len = 0;
	spin_unlock(&self->places_lock);
	return 0;
}

/* The link is being closed: no byte arrives in memory of this end any more. */
void loop_conceal_all(struct loop_end *self)
{
	unsigned int i;

	spin_lock_bh(&self->places_lock);
	for (i = 0; i < LOOP_PLACES; i++)
		self->place[i].len = 0;
	spin_unlock_bh(&self->places_lock);
}

/* ---- the other end ---- */

/* Find @len bytes from byte @at of a place on. Return NULL if they are not exposed. */
static struct loop_exposure *loop_exposed(struct loop_end *to, const struct kfi_link_place *place,
					  u64 at, u64 len)
{
	struct loop_exposure *e = &to->place[place->key % LOOP_PLACES];

	lockdep_assert_held(&to->places_lock);
	if (e->key != place->key || place->at > e->len || at > e->len - place->at ||
	    len > e->len - place->at - at)
		return NULL;
	return e;
}

static void loop_copy(struct iov_iter *to, struct iov_iter *from, size_t len)
{
	size_t n, off;
	struct page *page;
	void *bytes;

	for (; len; len -= n) {
		n = min(len, kfi_piece(from, &page, &off));
		n = min(n, PAGE_SIZE - off);
		bytes = kmap_local_page(page);
		kfi_copy_to(to, bytes + off, n);
		kunmap_local(bytes);
		iov_iter_advance(from, n);
	}
}

/*
 * Copy the payload of a unit, at most a part of a payload, to its place: memory has one place
 * here. The owner, which may be exposing and concealing other memory, waits meanwhile.
 */
int loop_place(struct loop_end *to, struct kfi_unit *unit)
{
	struct loop_exposure *e = NULL;
	struct iov_iter iter;

	spin_lock(&to->places_lock);
	if (unit->nplaces == 1)
		e = loop_exposed(to, unit->place, unit->at, unit->left);
	if (e) {
		iter = e->iter;
		iov_iter_advance(&iter, unit->place->at + unit->at);
		loop_copy(&iter, unit->payload, unit->left);
		unit->left = 0;
	}
	spin_unlock(&to->places_lock);
	return e ? 0 : -EPROTO;
}

/* ---- devices that write to the memory of the other end ---- */

/*
 * The pages of the memory are ordinary pages, and writes of a device to them can't be prevented. So
 * a pin is a lease of the region: its end waits until the consumer's device has finished, even if
 * the connection ends before that.
 */
void *loop_pages(struct kfi_link *link, const struct kfi_link_place *place, unsigned int n, u64 at,
		 u64 len, struct kfi_dev_place *to)
{
	struct loop_end *other = loop_other(link);
	struct loop_exposure *e;
	struct kfi_mr *mr = NULL;
	struct iov_iter iter;
	int ret;

	spin_lock(&other->places_lock);
	e = n == 1 ? loop_exposed(other, place, at, len) : NULL;
	/* An end that closes conceals all of its memory, and that is no fault of it. */
	ret = READ_ONCE(other->closed) ? -ECONNRESET : -EPROTO;
	if (e) {
		ret = -EOPNOTSUPP;
		iter = e->iter;
		iov_iter_advance(&iter, place->at + at);
		iov_iter_truncate(&iter, len);
		if (e->mr && kfi_mr_lease(NULL, e->mr, READ_ONCE(e->mr->fid.key), NULL))
			mr = e->mr;
	}
	spin_unlock(&other->places_lock);
	if (!mr)
		return ERR_PTR(ret);
	ret = kfi_place_fill(to, iter);
	if (!ret)
		return mr;
	kfi_mr_unlease(mr, NULL);
	return ERR_PTR(ret);
}

/* Memory is coherent: the bytes of a device are visible when its completion is. */
int loop_unpin(void *pin, const struct kfi_dev_place *place)
{
	kfi_mr_unlease(pin, NULL);
	return 0;
}
