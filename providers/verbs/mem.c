// SPDX-License-Identifier: GPL-2.0
/*
 * mem.c - memory of consumers, split into contiguous pieces for devices.
 */
#include <linux/bvec.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include "verbs.h"

/* Take the first piece of @iter, at most @max bytes, and advance @iter. Return: its length. */
size_t kv_take_piece(struct iov_iter *iter, size_t max, struct page **page, size_t *off)
{
	size_t len = min(kfi_piece(iter, page, off), max);

	iov_iter_advance(iter, len);
	return len;
}

/*
 * Fill @sg with memory for one fast registration from the front of @iter, at most @pages pages, and
 * advance @iter. The memory of a fast registration has no gaps: pieces begin and end at page
 * boundaries, except at the first and the last byte. Return: number of entries.
 */
unsigned int kv_take_run(struct iov_iter *iter, struct scatterlist *sg, unsigned int pages,
			 size_t *bytes)
{
	unsigned int n = 0, used = 0, need;
	struct page *page;
	size_t off, len;

	*bytes = 0;
	while (iov_iter_count(iter)) {
		len = kfi_piece(iter, &page, &off);
		if (n && off)
			break;
		len = min(len, (size_t)(pages - used) * PAGE_SIZE - off);
		need = DIV_ROUND_UP(off + len, PAGE_SIZE);
		sg_unmark_end(&sg[n]);
		sg_set_page(&sg[n++], page, len, off);
		iov_iter_advance(iter, len);
		*bytes += len;
		used += need;
		if (used == pages || (off + len) % PAGE_SIZE)
			break;
	}
	if (n)
		sg_mark_end(&sg[n - 1]);
	return n;
}

struct scatterlist *kv_alloc_sg(unsigned int n, gfp_t gfp)
{
	struct scatterlist *sg = kvmalloc_array(n, sizeof(*sg), gfp);

	if (sg)
		sg_init_table(sg, n);
	return sg;
}

/*
 * Did the DMA mapping of @list copy some of the memory? Such memory can't be used: the copy is
 * written back when the list is unmapped, over bytes that the owner has written meanwhile, and the
 * owner does not see bytes of a peer before that.
 */
static bool kv_bounces(const struct kv_domain *kdom, struct scatterlist *list, int nents)
{
	struct scatterlist *sg;
	bool bounces = false;
	int i;

	if (likely(!kdom->bounces))
		return false;
	for_each_sg(list, sg, nents, i)
		bounces |= dma_need_sync(kdom->dma, sg_dma_address(sg));
	return bounces;
}

/*
 * Map the @n entries of @sg, which have @len bytes, and set them as the memory of @mr. Return: 0;
 * otherwise nothing is mapped: -EOPNOTSUPP: see kv_bounces(); -EIO
 */
int kv_map_mr(struct kv_domain *kdom, struct ib_mr *mr, struct scatterlist *sg, unsigned int n,
	      size_t len, enum dma_data_direction dir)
{
	int nents = ib_dma_map_sg(kdom->ib, sg, n, dir), ret = -EIO;

	if (!nents)
		return ret;
	if (kv_bounces(kdom, sg, nents))
		ret = -EOPNOTSUPP;
	else if (ib_map_mr_sg(mr, sg, nents, NULL, PAGE_SIZE) == nents && mr->length == len)
		return 0;
	ib_dma_unmap_sg(kdom->ib, sg, n, dir);
	return ret;
}
