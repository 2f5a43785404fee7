// SPDX-License-Identifier: GPL-2.0
/*
 * ring.c - rings of requests, and the memory that a request describes: pieces of the kernel's own
 * memory, parts of one region of a ULP, or parts of several regions of a process.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "kib.h"

/* ---- rings ---- */

void kib_ring_init(struct kib_ring *ring, u32 depth, u32 sge, u32 room)
{
	spin_lock_init(&ring->lock);
	ring->depth = roundup_pow_of_two(max(depth, 1U));	/* the counters of the ring wrap */
	ring->sge = max(sge, 1U);
	ring->room = max(ring->sge, room);
	ring->size = struct_size((struct kib_slot *)NULL, vec, ring->room) +
		     ring->sge * sizeof(struct kib_mr *);
}

int kib_ring_alloc(struct kib_ring *ring, struct kib_qp *qp)
{
	u32 i;

	ring->slots = kvcalloc(ring->depth, ring->size, GFP_KERNEL_ACCOUNT);
	if (!ring->slots)
		return -ENOMEM;
	for (i = 0; i < ring->depth; i++)
		kib_slot(ring, i)->qp = qp;
	return 0;
}

/*
 * Return: the slot for the next request, or NULL if the ring is full. The caller fills it in, and
 * publishes it by increasing &kib_ring.head.
 */
struct kib_slot *kib_ring_slot(struct kib_ring *ring)
{
	lockdep_assert_held(&ring->lock);
	/* pairs with the release of a slot in kib_send_report() and kib_recv_report() */
	if (ring->head - smp_load_acquire(&ring->tail) == ring->depth)
		return NULL;
	return kib_slot(ring, ring->head);
}

/* Return: the request that is to be reported next, or NULL if it has not ended. For the runner */
struct kib_slot *kib_ring_ended(const struct kib_ring *ring)
{
	struct kib_slot *s = kib_slot(ring, ring->tail);

	if (ring->tail == ring->next)
		return NULL;
	/* pairs with send_ended() and recv_ended() */
	return smp_load_acquire(&s->step) == KIB_DONE ? s : NULL;
}

/* ---- memory of a request ---- */

/* Find the region of an element. A request has parts of one region only. */
static int slot_find_region(struct ib_pd *pd, struct kib_slot *s, const struct ib_sge *sge)
{
	struct kib_mr *mr;

	if (sge->lkey == KIB_LKEY || !sge->length)
		return 0;
	mr = xa_load(&to_kib_dev(pd->device)->mrs, sge->lkey >> 8);
	if (!mr || mr->ib.pd != pd || (s->mr && (s->mr != mr || s->lkey != sge->lkey)))
		return -EINVAL;
	s->mr = mr;
	s->lkey = sge->lkey;
	return 0;
}

/* Store the entries of an element, if there is @to. Return: their number */
static unsigned int slot_part(const struct kib_slot *s, const struct ib_sge *sge,
			      struct bio_vec *to)
{
	if (!sge->length)
		return 0;
	if (sge->lkey != KIB_LKEY)
		return kib_mr_part(s->mr, sge->addr, sge->length, to);
	if (to)
		bvec_set_page(to, ib_virt_dma_to_page(sge->addr), sge->length,
			      offset_in_page(sge->addr));
	return 1;
}

/* Free what a request has but its slot. */
void kib_slot_release(struct kib_ring *ring, struct kib_slot *s)
{
	kfree(s->big);
	s->big = NULL;
	while (s->held)
		kib_user_mr_put(kib_slot_regions(ring, s)[--s->held]);
}

/* The elements of a process may be parts of several regions, which were registered before. */
static int slot_map_user(struct ib_pd *pd, struct kib_ring *ring, struct kib_slot *s,
			 const struct ib_sge *sge, int nr, int dir)
{
	struct kvec *vec = (struct kvec *)s->vec;
	struct kib_mr *mr;
	int i;

	static_assert(sizeof(*vec) <= sizeof(*s->vec));
	for (i = 0; i < nr; i++) {
		if (!sge[i].length)
			continue;
		mr = kib_user_mr_get(pd, &sge[i], dir);
		if (!mr)
			goto release;
		kib_slot_regions(ring, s)[s->held++] = mr;
		vec[s->nr].iov_base = kib_user_mr_at(mr, sge[i].addr);
		vec[s->nr++].iov_len = sge[i].length;
		if (check_add_overflow(s->len, sge[i].length, &s->len))
			goto release;
	}
	iov_iter_kvec(&s->iter, dir, vec, s->nr, s->len);
	if (s->len <= KIB_MAX_MSG)
		return 0;
release:
	kib_slot_release(ring, s);
	return -EINVAL;
}

/*
 * One piece of the kernel's own memory, as nearly always. The CPU copies to it, and from it if it
 * is short, which costs least without pages. A provider may pass on pages of a longer one.
 */
static int slot_map_one(struct kib_slot *s, const struct ib_sge *sge, int dir)
{
	struct kvec *vec = (struct kvec *)s->vec;

	s->len = sge->length;
	s->nr = !!s->len;
	if (dir == ITER_DEST || s->len < PAGE_SIZE) {
		*vec = (struct kvec){ ib_virt_dma_to_ptr(sge->addr), s->len };
		iov_iter_kvec(&s->iter, dir, vec, s->nr, s->len);
	} else {
		slot_part(s, sge, s->vec);
		iov_iter_bvec(&s->iter, dir, s->vec, 1, s->len);
	}
	return s->len <= KIB_MAX_MSG ? 0 : -EINVAL;
}

/*
 * Store the memory of a request. A region is looked up by the part of its key that does not change:
 * the registration may be an earlier request, which was not started yet. Its memory is known by
 * now.
 */
int kib_slot_map(struct ib_pd *pd, struct kib_ring *ring, struct kib_slot *s,
		 const struct ib_sge *sge, int nr, int dir)
{
	struct bio_vec *vec = s->vec;
	unsigned int all = 0, n;
	int i, ret;

	s->len = 0;
	s->nr = 0;
	s->mr = NULL;
	if (pd->uobject)
		return slot_map_user(pd, ring, s, sge, nr, dir);
	if (likely(nr == 1 && sge->lkey == KIB_LKEY))
		return slot_map_one(s, sge, dir);
	for (i = 0; i < nr; i++) {
		ret = slot_find_region(pd, s, &sge[i]);
		if (ret || check_add_overflow(s->len, sge[i].length, &s->len))
			return -EINVAL;
	}
	if (s->len > KIB_MAX_MSG)
		return -EINVAL;
	if (s->mr && nr == 1) {
		s->local = sge->addr;
		return 0;
	}
	for (i = 0; i < nr; i++) {
		n = slot_part(s, &sge[i], NULL);
		if (!n && sge[i].length)
			return -EINVAL;
		all += n;
	}
	if (all > ring->room) {
		vec = kmalloc_array(all, sizeof(*vec), GFP_ATOMIC | __GFP_NOWARN);
		if (!vec)
			return -ENOMEM;
		s->big = vec;
	}
	for (i = 0; i < nr; i++)
		s->nr += slot_part(s, &sge[i], vec + s->nr);
	iov_iter_bvec(&s->iter, dir, vec, s->nr, s->len);
	return 0;
}
