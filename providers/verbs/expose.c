// SPDX-License-Identifier: GPL-2.0
/*
 * expose.c - local memory that the peer writes to by RDMA WRITE.
 *
 * A place is an address and a key of the device. Memory is registered while it is exposed, by
 * registrations of the connection: each of them holds memory without gaps, so several may be
 * needed. The registration requests precede the SEND with the places. When the payload has
 * arrived, or a grant has ended, the device invalidates the keys; after that the owner may use the
 * memory again, or its region may end. Lasting grants leave half of the registrations to
 * transfers.
 *
 * All functions are called under the link's lock, except for alloc, dereg and free.
 */
#include <linux/slab.h>
#include "verbs.h"

/*
 * Allocate the registrations of a connection. If memory is short, there are fewer registrations or
 * none; then payload is sent in frames. Process context.
 */
void kv_frmrs_alloc(struct kv_stream *s)
{
	unsigned int i, pages = s->qp.kdom->max_frmr_pages;
	struct kv_frmr *frmr;
	struct ib_mr *mr;

	s->frmr_mem = kvcalloc(KV_FRMRS, sizeof(*s->frmr_mem), GFP_NOIO);
	s->frmr_sg = kvcalloc(KV_FRMRS * pages, sizeof(*s->frmr_sg), GFP_NOIO);
	if (!s->frmr_mem || !s->frmr_sg)
		return;
	for (i = 0; i < KV_FRMRS; i++) {
		mr = ib_alloc_mr(s->qp.kdom->pd, IB_MR_TYPE_MEM_REG, pages);
		if (IS_ERR(mr))
			return;
		frmr = &s->frmr_mem[i];
		frmr->mr = mr;
		frmr->sg = s->frmr_sg + i * pages;
		sg_init_table(frmr->sg, pages);
		spin_lock_bh(&s->qp.lock);
		list_add_tail(&frmr->entry, &s->frmrs);
		spin_unlock_bh(&s->qp.lock);
	}
}

static void kv_frmr_unmap(struct kv_stream *s, struct kv_frmr *frmr)
{
	if (frmr->nents)
		ib_dma_unmap_sg(s->qp.kdom->ib, frmr->sg, frmr->nents, DMA_FROM_DEVICE);
	frmr->nents = 0;
}

/* Deregister all memory. On return the peer can't access it any more. Process context. */
void kv_frmrs_dereg(struct kv_stream *s)
{
	unsigned int i;

	for (i = 0; s->frmr_mem && i < KV_FRMRS; i++) {
		if (s->frmr_mem[i].mr)
			ib_dereg_mr(s->frmr_mem[i].mr);
		s->frmr_mem[i].mr = NULL;
		kv_frmr_unmap(s, &s->frmr_mem[i]);
	}
}

void kv_frmrs_free(struct kv_stream *s)
{
	kvfree(s->frmr_sg);
	kvfree(s->frmr_mem);
}

/* ---- expose ---- */

/* Map the front of @iter, and advance it. */
static int kv_frmr_map(struct kv_stream *s, struct kv_frmr *frmr, struct iov_iter *iter)
{
	struct kv_domain *kdom = s->qp.kdom;
	size_t bytes;
	unsigned int n = kv_take_run(iter, frmr->sg, kdom->max_frmr_pages, &bytes);
	int ret = kv_map_mr(kdom, frmr->mr, frmr->sg, n, bytes, DMA_FROM_DEVICE);

	if (!ret)
		frmr->nents = n;
	return ret;
}

/* Return how many registrations a lasting grant may take. */
static unsigned int kv_frmrs_spare(const struct kv_stream *s)
{
	struct kv_frmr *frmr;
	unsigned int n = 0;

	list_for_each_entry(frmr, &s->frmrs, entry)
		n++;
	return n - min(n, KV_FRMRS / 2);
}

/* Map @iter with the first registrations of @s->frmrs. Return: their number, or a negative errno */
static int kv_frmrs_map(struct kv_stream *s, struct iov_iter *iter, unsigned int max)
{
	struct kv_frmr *frmr;
	unsigned int n = 0;
	int ret = 0;

	list_for_each_entry(frmr, &s->frmrs, entry) {
		if (!iov_iter_count(iter) || n == max)
			break;
		n++;
		ret = kv_frmr_map(s, frmr, iter);
		if (ret)
			break;
	}
	if (!ret && !iov_iter_count(iter) && kv_sq_room(&s->qp) > n)
		return n;
	list_for_each_entry(frmr, &s->frmrs, entry)
		kv_frmr_unmap(s, frmr);		/* does nothing if none is mapped */
	return ret ?: -ENOSPC;
}

int kv_expose(struct kfi_link *link, struct kfi_exposed *x, const struct iov_iter *iter, u64 len,
	      struct kfi_link_place *place, unsigned int max)
{
	struct kv_stream *s = kv_stream_of(link);
	struct iov_iter front = *iter;
	struct kv_frmr *frmr;
	int i, n;

	x->priv[0] = NULL;
	if (!s->qp.up || s->ended || s->qp.broken || !len || (x->mr && x->mr->per_io))
		return -EOPNOTSUPP;
	if (x->lasting)
		max = min(max, kv_frmrs_spare(s));
	if (len > (u64)max * s->qp.kdom->max_frmr_pages * PAGE_SIZE)
		return -ENOSPC;
	iov_iter_truncate(&front, len);
	n = kv_frmrs_map(s, &front, max);
	for (i = 0; i < n; i++) {
		frmr = list_first_entry(&s->frmrs, struct kv_frmr, entry);
		list_del(&frmr->entry);
		if (!i)
			kv_put_fence(&s->qp, frmr->mr->rkey);
		kv_put_reg(&s->qp, kv_sq_get(&s->qp, KV_SQ_OTHER), frmr->mr,
			   IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE, false);
		place[i] = (struct kfi_link_place) {
			.at = frmr->mr->iova, .len = frmr->mr->length, .key = frmr->mr->rkey,
		};
		frmr->x = x;
		frmr->next = x->priv[0];
		x->priv[0] = frmr;
	}
	return n;
}

/* ---- conceal ---- */

/*
 * Put the invalidation of a registration into the send queue. Return false if there is no
 * registration to invalidate, or no room.
 */
bool kv_put_ending(struct kv_stream *s)
{
	struct kv_frmr *frmr = list_first_entry_or_null(&s->ending, struct kv_frmr, entry);
	struct kv_sqe *e;

	if (!frmr || !kv_sq_room(&s->qp))
		return false;
	list_del(&frmr->entry);
	e = kv_sq_get(&s->qp, KV_SQ_INV);
	e->frmr = frmr;
	kv_put_inv(&s->qp, e, frmr->mr->rkey, true);
	return true;
}

/*
 * A registration was invalidated. After an error the device may still accept the key, until
 * kv_frmrs_dereg().
 */
void kv_frmr_ended(struct kv_stream *s, struct kv_frmr *frmr, int err)
{
	struct kfi_exposed *x = frmr->x;
	struct kv_frmr **at = (void *)&x->priv[0];

	if (err)
		return;
	kv_frmr_unmap(s, frmr);
	list_add(&frmr->entry, &s->frmrs);
	while (*at != frmr)
		at = &(*at)->next;
	*at = frmr->next;
	if (!x->priv[0] && s->link)
		kfi_link_concealed(s->link, x);
}

int kv_conceal(struct kfi_link *link, struct kfi_exposed *x)
{
	struct kv_stream *s = kv_stream_of(link);
	struct kv_frmr *frmr;

	if (!s)
		return 0;	/* closed */
	for (frmr = x->priv[0]; frmr; frmr = frmr->next)
		list_add_tail(&frmr->entry, &s->ending);
	if (!s->receiving)
		kv_stream_run(s);
	return -EINPROGRESS;
}
