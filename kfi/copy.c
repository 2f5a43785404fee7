// SPDX-License-Identifier: GPL-2.0
/*
 * Copy between a buffer and the memory of an operation, and that memory as contiguous pieces.
 *
 * copy_to_iter() and copy_from_iter() are made for copies to and from user space. With
 * CONFIG_HARDENED_USERCOPY they look up the object that contains the buffer, which costs several
 * times as much as the copy of a short message. Here both sides are kernel memory, and most
 * messages are contiguous.
 */
#include <linux/bvec.h>
#include <linux/export.h>
#include <linux/mm.h>
#include <linux/uio.h>
#include <linux/vmalloc.h>
#include "core.h"

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
