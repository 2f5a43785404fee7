// SPDX-License-Identifier: GPL-2.0
/*
 * copy.c - bytes from one piece of memory to another.
 */
#include <linux/highmem.h>
#include <linux/uio.h>
#include "loop.h"

/* A piece of memory at the front of @it, mapped if need be; at most *len bytes, and *len says how many. */
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
 * Copy between kvec or bvec iterators, in any context. Not copy_to_iter(): its check of the source is meant for user
 * copies and would refuse slab objects that are not to be shown to users.
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
