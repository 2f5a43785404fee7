// SPDX-License-Identifier: GPL-2.0
/*
 * copy.c - copies between two iterators.
 */
#include <linux/highmem.h>
#include <linux/uio.h>
#include "loop.h"

/* Map the first piece of @it, at most *@len bytes; *@len is set to its length. */
static void *loop_map(const struct iov_iter *it, size_t *len)
{
	size_t off = it->iov_offset;
	const struct bio_vec *bv;

	if (iov_iter_is_kvec(it)) {
		*len = min(*len, it->kvec->iov_len - off);
		return it->kvec->iov_base + off;
	}
	bv = it->bvec;
	*len = min(*len, bv->bv_len - off);
	off += bv->bv_offset;
	*len = min_t(size_t, *len, PAGE_SIZE - offset_in_page(off));
	return kmap_local_page(bv->bv_page + off / PAGE_SIZE) + offset_in_page(off);
}

static void loop_unmap(const struct iov_iter *it, void *p)
{
	if (!iov_iter_is_kvec(it))
		kunmap_local(p);
}

/*
 * Copy between kvec or bvec iterators, in any context. copy_to_iter() can't be used: its check of
 * the source is meant for copies to user space and refuses slab objects that must not be copied
 * there.
 */
size_t loop_copy(struct iov_iter *dst, struct iov_iter *src, size_t len)
{
	size_t done = 0, n, got;
	void *p;

	len = min3(len, iov_iter_count(dst), iov_iter_count(src));
	while (done < len) {
		n = len - done;
		p = loop_map(src, &n);
		got = _copy_to_iter(p, n, dst);
		loop_unmap(src, p);
		iov_iter_advance(src, got);
		done += got;
		if (got < n)
			break;
	}
	return done;
}
