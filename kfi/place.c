// SPDX-License-Identifier: GPL-2.0
/*
 * place.c - handles for places: pieces of a peer's region that devices of this machine write.
 *
 *	      get		success		    put, drop
 *	FREE ------> GETTING ------------> GOT --------------> PUTTING ------> FREE
 *	  ^		| error					completion
 *	  +-------------+
 *	FREE ------> CLOSED						(close)
 *
 * kfi_dev_place.state is changed by cmpxchg(); no lock is taken. A post that is refused restores
 * the state. In the states GETTING and PUTTING the handle belongs to the operation, and the
 * completion of the operation ends that: kfi_place_ended() runs before the completion is reported,
 * so that the consumer can use the handle in done().
 *
 * What holds the region of the peer belongs to the provider, from its success in ops->tx() until
 * ops->place_end(). This file calls ops->place_end() once for each place: also for a put that fails
 * before the provider sees it, and for a place that is dropped when there is no endpoint any more.
 * So neither the handle nor ops->place_end() depends on the endpoint. The handle pins the domain.
 */
#include <linux/bvec.h>
#include <linux/export.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include <linux/vmalloc.h>
#include "place.h"

static const struct kfi_prov_ops *place_ops(const struct kfi_dev_place *place)
{
	return place->domain->fabric->prov->ops;
}

/* ---- handles ---- */

int kfi_place_open(struct kfid_domain *dfid, size_t seg_limit, struct kfid_place **fid,
		   void *context)
{
	struct kfi_domain *domain = kfi_to_domain(dfid);
	const struct kfi_prov_ops *ops = domain->fabric->prov->ops;
	struct kfi_dev_place *place;

	might_sleep();
	if (!seg_limit || seg_limit > KFI_PLACE_SEGS_MAX)
		return -EINVAL;
	if (!ops->place_end)
		return -EOPNOTSUPP;
	if (READ_ONCE(domain->dead))
		return -ENODEV;
	place = kzalloc(max(sizeof(*place), ops->place_size), GFP_KERNEL_ACCOUNT);
	if (!place)
		return -ENOMEM;
	place->bvec = kvmalloc_array(seg_limit, sizeof(*place->bvec), GFP_KERNEL_ACCOUNT);
	if (!place->bvec) {
		kfree(place);
		return -ENOMEM;
	}
	place->fid.fid.fclass = KFI_CLASS_PLACE;
	place->fid.fid.context = context;
	place->fid.bvec = place->bvec;
	place->domain = domain;
	place->seg_limit = seg_limit;
	kfi_obj_get(&domain->obj);
	*fid = &place->fid;
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_place_open);

static int place_close(struct kfid *fid)
{
	struct kfi_dev_place *place = container_of(fid, struct kfi_dev_place, fid.fid);

	if (cmpxchg(&place->state, KFI_PLACE_FREE, KFI_PLACE_CLOSED) != KFI_PLACE_FREE)
		return -EBUSY;
	kfi_obj_put(&place->domain->obj);
	kvfree(place->bvec);
	kfree(place);
	return 0;
}

const struct kfi_fid_class kfi_place_class = {
	.name = "place",
	.close = place_close,
};

/* ---- devices that write, for kfi show ---- */

void kfi_place_writer_add(struct kfid_domain *dfid, struct kfi_place_writer *writer)
{
	static atomic_t last_id;
	struct kfi_domain *domain = kfi_to_domain(dfid);

	mutex_lock(&domain->lock);
	writer->id = atomic_inc_return(&last_id);
	list_add_tail(&writer->entry, &domain->writers);
	mutex_unlock(&domain->lock);
}
EXPORT_SYMBOL_GPL(kfi_place_writer_add);

void kfi_place_writer_del(struct kfid_domain *dfid, struct kfi_place_writer *writer)
{
	struct kfi_domain *domain = kfi_to_domain(dfid);

	mutex_lock(&domain->lock);
	list_del(&writer->entry);
	mutex_unlock(&domain->lock);
}
EXPORT_SYMBOL_GPL(kfi_place_writer_del);

/* ---- pages ---- */

/* Return the page of a kernel address; NULL if it has none, like mapped memory of a device. */
static struct page *addr_page(const void *addr)
{
	struct page *page;

	if (!is_vmalloc_or_module_addr(addr))
		return virt_addr_valid(addr) ? virt_to_page(addr) : NULL;
	page = vmalloc_to_page(addr);
	return page && pfn_valid(page_to_pfn(page)) ? page : NULL;
}

/* Describe the first bytes of @it, up to the end of their page. */
static bool first_piece(const struct iov_iter *it, struct bio_vec *bv)
{
	struct bvec_iter at = { .bi_size = it->iov_offset + iov_iter_count(it) };
	void *addr;

	if (iov_iter_is_bvec(it)) {
		bvec_iter_advance(it->bvec, &at, it->iov_offset);
		*bv = bvec_iter_bvec(it->bvec, at);
		return true;
	}
	addr = it->kvec->iov_base + it->iov_offset;
	bv->bv_page = addr_page(addr);
	bv->bv_offset = offset_in_page(addr);
	bv->bv_len = min3(iov_iter_count(it), it->kvec->iov_len - it->iov_offset,
			  (size_t)PAGE_SIZE - bv->bv_offset);
	return bv->bv_page;
}

static phys_addr_t piece_phys(const struct bio_vec *bv)
{
	return page_to_phys(bv->bv_page) + bv->bv_offset;
}

/*
 * Append the piece to @last if it is adjacent. Users of a segment compute its other pages from the
 * first page. So both the memory and the struct pages have to be adjacent, and pages of devices
 * must belong to one device.
 */
static bool merge_piece(struct bio_vec *last, const struct bio_vec *bv)
{
	size_t end = last->bv_offset + last->bv_len;

	if (piece_phys(last) + last->bv_len != piece_phys(bv) ||
	    last->bv_len > UINT_MAX - bv->bv_len)
		return false;
	if (last->bv_page + end / PAGE_SIZE != bv->bv_page ||
	    !zone_device_pages_have_same_pgmap(last->bv_page, bv->bv_page))
		return false;
	last->bv_len += bv->bv_len;
	return true;
}

int kfi_place_fill(struct kfi_dev_place *place, struct iov_iter iter)
{
	size_t count = 0;
	struct bio_vec bv;

	place->fid.len = iov_iter_count(&iter);
	for (; iov_iter_count(&iter); iov_iter_advance(&iter, bv.bv_len)) {
		iov_iter_advance(&iter, 0);	/* past empty segments */
		if (!first_piece(&iter, &bv))
			return -EOPNOTSUPP;
		if (count && merge_piece(&place->bvec[count - 1], &bv))
			continue;
		if (count == place->seg_limit)
			return -EMSGSIZE;
		place->bvec[count++] = bv;
	}
	place->fid.count = count;
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_place_fill);

/* ---- the end ---- */

static void place_end(struct kfi_dev_place *place)
{
	place_ops(place)->place_end(place);
	if (place->fid.writer)
		atomic_dec(&place->fid.writer->places);
	kfi_place_set(place, KFI_PLACE_FREE);
}

int kfi_place_drop(struct kfid_place *pfid)
{
	struct kfi_dev_place *place = to_dev_place(pfid);

	lockdep_assert_irqs_enabled();
	if (!kfi_place_move(place, KFI_PLACE_GOT, KFI_PLACE_PUTTING))
		return -KFI_EOPBADSTATE;
	place_end(place);
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_place_drop);

void kfi_place_ended(struct kfi_oper *op, int err)
{
	struct kfi_dev_place *place = op->place;

	if (op->code == KFI_OPC_PLACE_PUT) {
		place_end(place);
		return;
	}
	if (!err && place->fid.writer)
		atomic_inc(&place->fid.writer->places);
	kfi_place_set(place, err ? KFI_PLACE_FREE : KFI_PLACE_GOT);
}
