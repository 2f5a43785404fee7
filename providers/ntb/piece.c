// SPDX-License-Identifier: GPL-2.0
/*
 * piece.c - split memory of consumers, kvec or bvec of kernel memory, into pieces that are
 * contiguous for CPU and device.
 */
#include <linux/bvec.h>
#include <linux/crc32c.h>
#include <linux/mm.h>
#include <linux/uio.h>
#include <linux/vmalloc.h>
#include "ring.h"

/*
 * Memory of the linear map is contiguous as far as its virtual addresses are; memory that is mapped
 * elsewhere is contiguous up to the end of a page.
 */
static void nt_piece_kvec(const struct iov_iter *it, struct nt_piece *piece)
{
	void *addr = it->kvec->iov_base + it->iov_offset;

	piece->addr = addr;
	piece->off = offset_in_page(addr);
	piece->len = it->kvec->iov_len - it->iov_offset;
	if (!is_vmalloc_or_module_addr(addr)) {
		piece->page = virt_to_page(addr);
		return;
	}
	piece->page = vmalloc_to_page(addr);
	piece->len = min_t(size_t, piece->len, PAGE_SIZE - piece->off);
}

static void nt_piece_bvec(const struct iov_iter *it, struct nt_piece *piece)
{
	size_t at = it->bvec->bv_offset + it->iov_offset;

	piece->page = it->bvec->bv_page + at / PAGE_SIZE;
	piece->off = at % PAGE_SIZE;
	piece->addr = page_address(piece->page) + piece->off;
	piece->len = it->bvec->bv_len - it->iov_offset;
}

void nt_piece_take(struct iov_iter *it, size_t max, struct nt_piece *piece)
{
	iov_iter_advance(it, 0);	/* skip empty segments */
	piece->dma = 0;
	if (iov_iter_is_bvec(it))
		nt_piece_bvec(it, piece);
	else
		nt_piece_kvec(it, piece);
	piece->len = min3(piece->len, max, iov_iter_count(it));
	iov_iter_advance(it, piece->len);
}

u32 nt_iter_crc(u32 crc, struct iov_iter it, size_t skip, size_t len)
{
	struct nt_piece piece;

	iov_iter_advance(&it, skip);
	for (; len; len -= piece.len) {
		nt_piece_take(&it, len, &piece);
		crc = crc32c(crc, piece.addr, piece.len);
	}
	return crc;
}
