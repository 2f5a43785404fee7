/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * bvec_set_page() and bvec_set_virt() came with 6.3. The stable series of 6.1 has got the first one
 * alone.
 */
#ifndef _KFI_COMPAT_LINUX_BVEC_H
#define _KFI_COMPAT_LINUX_BVEC_H

#include_next <linux/bvec.h>

#ifndef KFI_HAVE_BVEC_SET_PAGE
static inline void bvec_set_page(struct bio_vec *bv, struct page *page, unsigned int len,
				 unsigned int offset)
{
	bv->bv_page = page;
	bv->bv_len = len;
	bv->bv_offset = offset;
}
#endif

#ifndef KFI_HAVE_BVEC_SET_VIRT
static inline void bvec_set_virt(struct bio_vec *bv, void *at, unsigned int len)
{
	bvec_set_page(bv, virt_to_page(at), len, offset_in_page(at));
}
#endif

#endif
