// SPDX-License-Identifier: GPL-2.0
/*
 * piece.c - splits memory of consumers (kvec or bvec of kernel memory) into pieces that are
 * contiguous for CPU and device.
 */
#include <linux/bvec.h>
#include <linux/crc32c.h>
#include <linux/mm.h>
#include <linux/uio.h>
#include <kfi_prov.h>
#include "ring.h"

void nt_piece_take(struct iov_iter *it, size_t max, struct nt_piece *piece)
{
	piece->dma = 0;
	piece->len = min(kfi_piece(it, &piece->page, &piece->off), max);
	if (iov_iter_is_kvec(it))
		piece->addr = it->kvec->iov_base + it->iov_offset;
	else
		piece->addr = page_address(piece->page) + piece->off;
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
