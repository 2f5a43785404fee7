/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The kit for ULPs: memory of requests of the block layer */
#ifndef KFI_BLK_H
#define KFI_BLK_H

#include <linux/blk-mq.h>

/**
 * kfi_rq_bvecs() - collect the pieces of memory of a request
 * @rq: request with data
 * @vec: where to put them
 * @room: pieces that fit
 *
 * Contiguous memory is one piece: &kfi_domain_limits.virt_boundary_mask, which is a limit of the
 * block queue, applies to such pieces.
 *
 * Context: Any.
 * Return: number of pieces, or 0 if there are more than @room.
 */
static inline unsigned int kfi_rq_bvecs(struct request *rq, struct bio_vec *vec, unsigned int room)
{
	struct req_iterator iter;
	struct bio_vec bv, *last;
	unsigned int n = 0;

	if (rq->rq_flags & RQF_SPECIAL_PAYLOAD) {
		vec[0] = rq->special_vec;
		return 1;
	}
	rq_for_each_bvec(bv, rq, iter) {
		last = n ? &vec[n - 1] : NULL;
		if (last && page_to_phys(last->bv_page) + last->bv_offset + last->bv_len ==
			 page_to_phys(bv.bv_page) + bv.bv_offset) {
			last->bv_len += bv.bv_len;
			continue;
		}
		if (WARN_ON_ONCE(n == room))
			return 0;
		vec[n++] = bv;
	}
	return n;
}

#endif /* KFI_BLK_H */
