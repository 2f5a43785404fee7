// SPDX-License-Identifier: GPL-2.0
/*
 * payload.c - the local vector of a post, and copies from it and to it.
 *
 * The vector is copied to the operation, because the caller's vector may be on its stack, and
 * becomes an iov_iter over the copy. With KFI_ITER the vector is not copied: it must stay until the
 * operation completes.
 */
#include <linux/bvec.h>
#include <linux/export.h>
#include <linux/highmem.h>
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/scatterlist.h>
#include <linux/uio.h>
#include <linux/vmalloc.h>
#include "core.h"
#include "opcode.h"

/* ---- copies ---- */

/*
 * copy_to_iter() and copy_from_iter() are made for copies to and from user space. With
 * CONFIG_HARDENED_USERCOPY they look up the object that contains the buffer, which costs several
 * times as much as the copy of a short message. Here both sides are kernel memory, and most
 * messages are contiguous.
 */
static void *bvec_at(const struct iov_iter *iter)
{
	return page_address(iter->bvec->bv_page) + iter->bvec->bv_offset + iter->iov_offset;
}

/*
 * Return the address of the next @len bytes of @iter, and advance @iter, if the bytes are
 * contiguous and need no mapping. Otherwise return NULL.
 */
static __always_inline void *next_piece(struct iov_iter *iter, size_t len)
{
	bool kvec = iov_iter_is_kvec(iter);
	size_t left;
	void *at;

	if (unlikely(len > iov_iter_count(iter) || (!kvec && IS_ENABLED(CONFIG_HIGHMEM))))
		return NULL;
	left = (kvec ? iter->kvec->iov_len : iter->bvec->bv_len) - iter->iov_offset;
	if (unlikely(len > left || (len == left && iter->nr_segs > 1)))
		return NULL;	/* iov_iter advances to the next segment */
	at = kvec ? iter->kvec->iov_base + iter->iov_offset : bvec_at(iter);
	iter->iov_offset += len;
	iter->count -= len;
	return at;
}

size_t kfi_copy_to(struct iov_iter *iter, const void *from, size_t len)
{
	void *to = len ? next_piece(iter, len) : NULL;

	if (unlikely(!to))
		return len ? _copy_to_iter(from, len, iter) : 0;
	memcpy(to, from, len);
	return len;
}
EXPORT_SYMBOL_GPL(kfi_copy_to);

size_t kfi_copy_from(void *to, struct iov_iter *iter, size_t len)
{
	const void *from = len ? next_piece(iter, len) : NULL;

	if (unlikely(!from))
		return len ? _copy_from_iter(to, len, iter) : 0;
	memcpy(to, from, len);
	return len;
}
EXPORT_SYMBOL_GPL(kfi_copy_from);

size_t kfi_piece(struct iov_iter *iter, struct page **page, size_t *off)
{
	bool kvec = iov_iter_is_kvec(iter);
	size_t len, at;
	void *addr;

	if (unlikely(iter->iov_offset >= (kvec ? iter->kvec->iov_len : iter->bvec->bv_len)))
		iov_iter_advance(iter, 0);	/* past empty segments */
	if (!kvec) {
		at = iter->bvec->bv_offset + iter->iov_offset;
		*page = iter->bvec->bv_page + at / PAGE_SIZE;
		*off = at % PAGE_SIZE;
		return min(iter->bvec->bv_len - iter->iov_offset, iov_iter_count(iter));
	}
	addr = iter->kvec->iov_base + iter->iov_offset;
	len = min(iter->kvec->iov_len - iter->iov_offset, iov_iter_count(iter));
	*off = offset_in_page(addr);
	if (is_vmalloc_or_module_addr(addr)) {
		*page = vmalloc_to_page(addr);
		return min_t(size_t, len, PAGE_SIZE - *off);
	}
	*page = virt_to_page(addr);
	return len;
}
EXPORT_SYMBOL_GPL(kfi_piece);

/* ---- the vector of a post ---- */

/*
 * Append a piece of an sg list. A piece that is physically contiguous with the previous one extends
 * it.
 */
static int payload_add_pages(struct kfi_oper *op, u32 *n, u32 limit, struct scatterlist *sg,
			     size_t len)
{
	struct bio_vec *last = *n ? &op->iov.bvec[*n - 1] : NULL;

	if (last && page_to_phys(last->bv_page) + last->bv_offset + last->bv_len == sg_phys(sg) &&
	    last->bv_len + len <= UINT_MAX) {
		last->bv_len += len;
		return 0;
	}
	if (*n >= limit)
		return -EINVAL;
	bvec_set_page(&op->iov.bvec[(*n)++], sg_page(sg), len, sg->offset);
	return 0;
}

/*
 * The first @count entries, which are mapped, give the number of bytes. The pages are those of the
 * list before it was mapped, which may have more entries, because mapping can merge entries.
 */
static noinline int payload_sgl(struct kfi_oper *op, struct scatterlist *sgl, size_t count,
				u32 limit, unsigned int dir)
{
	struct scatterlist *sg;
	size_t len = 0, left, take;
	u32 n = 0;

	for (sg = sgl; count && sg; count--, sg = sg_next(sg))
		if (check_add_overflow(len, (size_t)sg_dma_len(sg), &len))
			return -EINVAL;
	if (count)
		return -EINVAL;
	for (sg = sgl, left = len; left && sg; left -= take, sg = sg_next(sg)) {
		take = min_t(size_t, left, sg->length);
		if (payload_add_pages(op, &n, limit, sg, take))
			return -EINVAL;
	}
	if (left)
		return -EINVAL;
	op->len = len;
	op->sgl = sgl;
	iov_iter_bvec(&op->iter, dir, op->iov.bvec, n, len);
	return 0;
}

/* Only the position in the vector belongs to the operation. */
static noinline int payload_iter(struct kfi_oper *op, const struct iov_iter *iter, unsigned int dir)
{
	if (!iov_iter_is_kvec(iter) && !iov_iter_is_bvec(iter))
		return -EINVAL;
	op->iter = *iter;
	op->iter.data_source = dir;
	op->len = iov_iter_count(iter);
	return 0;
}

/*
 * Memory of a PCI device may be out of reach for another device. So its pages are accepted only if
 * the domain names the device that reads them, because the consumer can then check the way. Nothing
 * is written to such pages, and the CPU copies none of them here.
 *
 * The memory of a process was pinned without FOLL_PCI_P2PDMA, so no page is one of a PCI device.
 * There may be so many pages that looking at each would take too long with bottom halves off.
 */
static int payload_check_devices(const struct kfi_oper *op, unsigned int dir)
{
	const struct kfi_domain *domain = op->ep->domain;
	const struct bio_vec *bv;
	unsigned long i;

	if (!IS_ENABLED(CONFIG_PCI_P2PDMA) || op->ep->unprivileged ||
	    !iov_iter_is_bvec(&op->iter))
		return 0;
	if (dir == ITER_SOURCE && !(op->flags & KFI_INJECT) && domain && domain->limits.p2p_device)
		return 0;
	for (i = 0, bv = op->iter.bvec; i < op->iter.nr_segs; i++, bv++)
		if (bv->bv_len && unlikely(is_pci_p2pdma_page(bv->bv_page)))
			return -EOPNOTSUPP;
	return 0;
}

static int payload_vector(struct kfi_oper *op, enum kfi_iov_type type, const void *iov,
			  size_t count, unsigned int dir)
{
	const struct kfi_ep *ep = op->ep;
	u32 limit = kfi_opc_is_rx(op->code) ? ep->rx.iov_limit : ep->tx.iov_limit;
	size_t i, len = 0;
	int ret = -EINVAL;

	if (unlikely(count > limit || (count && !iov)))
		return -EINVAL;
	if (!count || type == KFI_KVEC) {
		for (i = 0; i < count; i++) {
			op->iov.kvec[i] = ((const struct kvec *)iov)[i];
			if (check_add_overflow(len, op->iov.kvec[i].iov_len, &len))
				return -EINVAL;
		}
		op->len = len;
		iov_iter_kvec(&op->iter, dir, op->iov.kvec, count, len);
		return 0;
	}
	if (type == KFI_BVEC) {
		for (i = 0; i < count; i++) {
			op->iov.bvec[i] = ((const struct bio_vec *)iov)[i];
			if (check_add_overflow(len, (size_t)op->iov.bvec[i].bv_len, &len))
				return -EINVAL;
		}
		op->len = len;
		iov_iter_bvec(&op->iter, dir, op->iov.bvec, count, len);
		ret = 0;
	} else if (type == KFI_SGL) {
		ret = payload_sgl(op, (struct scatterlist *)iov, count, limit, dir);
	} else if (type == KFI_ITER && count == 1) {
		ret = payload_iter(op, iov, dir);
	}
	return ret ?: payload_check_devices(op, dir);
}

int kfi_op_inject(struct kfi_oper *op)
{
	if (op->len > op->ep->inject_size)
		return -EINVAL;
	if (kfi_copy_from(op->inline_buf, &op->iter, op->len) != op->len)
		return -EINVAL;
	op->iov.kvec[0] = (struct kvec){ .iov_base = op->inline_buf, .iov_len = op->len };
	iov_iter_kvec(&op->iter, ITER_SOURCE, op->iov.kvec, 1, op->len);
	op->sgl = NULL;
	return 0;
}

int kfi_op_vector(struct kfi_oper *op, enum kfi_iov_type type, const void *iov, size_t count)
{
	int ret = payload_vector(op, type, iov, count, kfi_opcode_rows[op->code].dir);

	if (likely(!ret) && (op->flags & KFI_INJECT))
		ret = kfi_op_inject(op);
	return ret;
}
