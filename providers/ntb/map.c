// SPDX-License-Identifier: GPL-2.0
/*
 * map.c - a window over the memory of transfers, where an IOMMU is between the bridge and memory.
 *
 * The window shows a range of bus addresses, as long as the bridge permits. The first page of the
 * range is mapped to the control page, to which the peer writes the word that shows that it reaches
 * the window (flat.c). Nothing else is mapped at first. Memory is mapped in the range, in one piece:
 *
 * - the pages of a region to which peers may write, from its registration to its end. The peer can
 *   also reach what else is in the first and the last page;
 * - the pages of other memory that is exposed, such as that of a receive or of a region for one
 *   I/O, while it is exposed (expose.c), if it consists of whole pages.
 *
 * The peer can't reach memory any more when nt_window_unmap() has returned, because the IOMMU has
 * dropped the mapping.
 */
#include <linux/dma-map-ops.h>
#include <linux/dma-mapping.h>
#include <linux/genalloc.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/vmalloc.h>
#include "bridge.h"

/* The length of a range is limited, because page tables and the allocator take memory. */
#define NT_MAP_MAX	(64ULL * SZ_1G)
/*
 * Bytes that are mapped for one transfer. The mapping and its end take a fixed time, mostly that of
 * an invalidation of the IOMMU, and a single page is copied in less. They run in softirq, so the
 * time for the pages is limited.
 */
#define NT_MAP_ONCE_MIN	(2 * PAGE_SIZE)
#define NT_MAP_ONCE_MAX	SZ_1M

/* Return: true if there is an IOMMU, and drivers can choose what a range of addresses shows. */
bool nt_map_possible(struct device *dev)
{
	struct dma_iova_state probe;

	if (!dma_iova_try_alloc(dev, &probe, 0, PAGE_SIZE))
		return false;
	dma_iova_free(dev, &probe);
	return true;
}

static struct device *nt_map_dev(const struct nt_link *link)
{
	return ntb_get_dma_dev(link->ntb);
}

/* ---- the range ---- */

/*
 * @first: bytes at the beginning that are not given to regions. They contain the control page, and
 * a parked window shows them.
 */
static int nt_map_room(struct nt_map *map, u64 first, u64 size, int node)
{
	int ret;

	map->room = gen_pool_create(PAGE_SHIFT, node);
	if (!map->room)
		return -ENOMEM;
	ret = gen_pool_add(map->room, first, size - first, node);
	if (ret)
		gen_pool_destroy(map->room);
	return ret;
}

static int nt_map_control(struct nt_link *link, struct nt_map *map)
{
	struct device *dev = nt_map_dev(link);
	void *page = link->win.mem;
	phys_addr_t phys = page_to_phys(is_vmalloc_addr(page) ? vmalloc_to_page(page) :
								virt_to_page(page));
	int ret = dma_iova_link(dev, &map->iova, phys, 0, PAGE_SIZE, DMA_FROM_DEVICE, 0);

	if (ret)
		return ret;
	ret = dma_iova_sync(dev, &map->iova, 0, PAGE_SIZE);
	if (ret)
		dma_iova_unlink(dev, &map->iova, 0, PAGE_SIZE, DMA_FROM_DEVICE, 0);
	return ret;
}

/*
 * Called with the bridge's link up. @most: bytes that the bridge can show; @align: alignment that
 * it requires. The kernel aligns a range to its length. So the range is as long as the larger of
 * the two, rounded up to a power of two, even if less of it is used.
 */
int nt_map_open(struct nt_link *link, u64 most, u64 align)
{
	struct nt_flat *flat = &link->flat;
	struct nt_map *map = &flat->map;
	struct device *dev = nt_map_dev(link);
	int ret = -ENOSPC;
	u64 size;

	if (most < 2 * PAGE_SIZE || !dev_is_dma_coherent(dev))
		return -EINVAL;
	size = rounddown_pow_of_two(min(most, NT_MAP_MAX));
	if (!dma_iova_try_alloc(dev, &map->iova, 0, roundup_pow_of_two(max(most, align))))
		return ret;
	if (!IS_ALIGNED(map->iova.addr, align))
		goto free;
	ret = nt_map_room(map, max_t(u64, flat->park, PAGE_SIZE), size, dev_to_node(dev));
	if (ret)
		goto free;
	ret = nt_map_control(link, map);
	if (ret)
		goto destroy;
	flat->base = map->iova.addr;
	flat->word = offsetof(struct ntw_ctl, flat);
	flat->size = size;
	return 0;
destroy:
	gen_pool_destroy(map->room);
free:
	dma_iova_free(dev, &map->iova);
	return ret;
}

/*
 * Free the range. No region is left, because each has a reference of the device. If a window still
 * shows the range (@shown), it is never freed: the kernel could use its addresses for other memory
 * that is mapped for the device.
 */
void nt_map_close(struct nt_link *link, bool shown)
{
	struct nt_map *map = &link->flat.map;
	struct device *dev = nt_map_dev(link);

	gen_pool_destroy(map->room);
	if (shown) {
		dev_warn(&link->ntb->dev,
			 "a window can't be shut: its range of addresses is never used again\n");
		return;
	}
	dma_iova_unlink(dev, &map->iova, 0, PAGE_SIZE, DMA_FROM_DEVICE, 0);
	dma_iova_free(dev, &map->iova);
}

/* ---- memory ---- */

/*
 * Return: true if the memory has struct pages and fills them, except before the first byte and
 * behind the last byte of the region.
 */
static bool nt_map_fits(const struct nt_piece *piece, bool first, bool last)
{
	if (!piece->page || !pfn_valid(page_to_pfn(piece->page)) ||
	    is_zone_device_page(piece->page))
		return false;
	return (first || !piece->off) && (last || PAGE_ALIGNED(piece->off + piece->len));
}

/*
 * Map memory. @whole: all of its pages must be its own; otherwise the first and the last one may
 * have other data, and the caller may sleep. Return: bytes of the range that were mapped, from @at
 * on; fewer than @size on error
 */
static size_t nt_map_link(struct nt_link *link, struct iov_iter it, size_t len, size_t at,
			  size_t size, bool whole)
{
	struct nt_map *map = &link->flat.map;
	struct nt_piece piece;
	size_t done = 0, n;

	for (; len; len -= piece.len, done += n) {
		nt_piece_take(&it, len, &piece);
		n = PAGE_ALIGN(piece.off + piece.len);
		if (!nt_map_fits(&piece, !whole && !done, !whole && piece.len == len) ||
		    n > size - done)
			break;
		if (dma_iova_link(nt_map_dev(link), &map->iova, page_to_phys(piece.page), at + done,
				  n, DMA_FROM_DEVICE, 0))
			break;
		if (!whole)
			cond_resched();
	}
	return done;
}

static void nt_map_unlink(struct nt_link *link, size_t at, size_t size)
{
	if (size)
		dma_iova_unlink(nt_map_dev(link), &link->flat.map.iova, at, size, DMA_FROM_DEVICE,
				0);
}

bool nt_window_maps(const struct nt_link *link)
{
	return smp_load_acquire(&link->flat.mapped);	/* pairs with nt_flat_ready() */
}

static int nt_map(struct nt_link *link, const struct iov_iter *iter, size_t len, bool whole,
		  u64 *at)
{
	struct nt_map *map = &link->flat.map;
	struct iov_iter it = *iter;
	struct nt_piece first;
	size_t size, done;
	unsigned long begin;

	if (READ_ONCE(link->exposed))
		return -ENOSPC;
	nt_piece_take(&it, len, &first);
	if (whole && (first.off || !PAGE_ALIGNED(len)))
		return -EINVAL;
	size = PAGE_ALIGN(first.off + len);
	begin = gen_pool_alloc(map->room, size);
	if (!begin)
		return -ENOSPC;
	done = nt_map_link(link, *iter, len, begin, size, whole);
	if (done == size && !dma_iova_sync(nt_map_dev(link), &map->iova, begin, size)) {
		*at = (begin + first.off) | NTW_FLAT;
		return 0;
	}
	nt_map_unlink(link, begin, done);
	gen_pool_free(map->room, begin, size);
	return -EINVAL;
}

int nt_window_map(struct nt_link *link, const struct iov_iter *iter, size_t len, u64 *at)
{
	return nt_map(link, iter, len, false, at);
}

int nt_window_map_once(struct nt_link *link, const struct iov_iter *iter, size_t len, u64 *at)
{
	if (len < NT_MAP_ONCE_MIN || len > NT_MAP_ONCE_MAX || len > iter->count ||
	    !nt_window_maps(link) || !nt_link_flat_in_use(link))
		return -ENOSPC;
	return nt_map(link, iter, len, true, at);
}

void nt_window_unmap(struct nt_link *link, u64 at, size_t len)
{
	u64 first = at & ~NTW_FLAT, begin = round_down(first, PAGE_SIZE);
	size_t size = PAGE_ALIGN(first - begin + len);

	nt_map_unlink(link, begin, size);
	gen_pool_free(link->flat.map.room, begin, size);
}

size_t nt_map_used(const struct nt_link *link)
{
	return nt_window_maps(link) ?
	       gen_pool_size(link->flat.map.room) - gen_pool_avail(link->flat.map.room) : 0;
}
