// SPDX-License-Identifier: GPL-2.0
/*
 * flat.c - a window over memory outside the arena, if the administrator of this machine permits
 * one. It is another memory window of the bridge than the one with the rings, and is opened and
 * closed together with that one. None of its memory is exposed for a transfer before the peer has
 * written a word through it. There are two kinds:
 *
 * flat=N shows all memory of this machine, whether consumers have exposed it or not. The window
 * begins at address 0, because bridges require an address that is aligned to the size. So the
 * offset of a byte is its bus address, which has to be its physical address.
 *
 * mapped=N shows memory that consumers have registered for writes of peers, and that of transfers
 * while they last. It requires an IOMMU (map.c).
 */
#include <linux/dma-mapping.h>
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/iommu.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/nodemask.h>
#include "bridge.h"

static int nt_flat_index = -1;
module_param_named_unsafe(flat, nt_flat_index, int, 0444);
MODULE_PARM_DESC(flat, "window through which the peer can write to ALL memory (default -1: none)");

static int nt_mapped_index = -1;
module_param_named(mapped, nt_mapped_index, int, 0444);
MODULE_PARM_DESC(mapped, "window over the memory of transfers, behind an IOMMU (default -1: none)");

bool nt_flat_maps(void)
{
	return nt_mapped_index >= 0;
}

int nt_flat_check_params(void)
{
	if (nt_flat_index < 0 || nt_mapped_index < 0)
		return 0;
	pr_err("kfi_ntb: flat=%d and mapped=%d: one of them\n", nt_flat_index, nt_mapped_index);
	return -EINVAL;
}

/* ---- is a window possible? ---- */

static const char *nt_flat_name(const struct nt_flat *flat)
{
	return flat->all ? "flat" : "mapped";
}

static int nt_flat_refuse(const struct nt_flat *flat, struct ntb_dev *ntb, const char *why)
{
	dev_err(&ntb->dev, "%s=%d: %s\n", nt_flat_name(flat), flat->index, why);
	return -EINVAL;
}

#if IS_ENABLED(CONFIG_IOMMU_API)
static bool nt_flat_translated(struct device *dev)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(dev);

	return domain && domain->type != IOMMU_DOMAIN_IDENTITY;
}
#else
static bool nt_flat_translated(struct device *dev)
{
	return false;
}
#endif

/*
 * Return: true if bus addresses are physical addresses, and the CPU sees what the bridge writes
 * without a cache operation.
 */
static bool nt_flat_same(struct device *dev)
{
	struct page *page = alloc_page(GFP_KERNEL);
	bool same = false;
	dma_addr_t dma;

	if (!page)
		return false;
	dma = dma_map_page(dev, page, 0, PAGE_SIZE, DMA_FROM_DEVICE);
	if (!dma_mapping_error(dev, dma)) {
		same = dma == page_to_phys(page) && !dma_need_sync(dev, dma);
		dma_unmap_page(dev, dma, PAGE_SIZE, DMA_FROM_DEVICE);
	}
	__free_page(page);
	return same;
}

/*
 * Return the end of memory. The window does not show memory that is added behind it later. The end
 * of a node is not used, because the struct pages of a bridge's window (paged.c) raise it.
 */
static u64 nt_flat_end(void)
{
	struct zone *zone;
	u64 end = 0;
	int node, i;

	for_each_online_node(node) {
		for (i = 0; i < MAX_NR_ZONES; i++) {
			zone = &NODE_DATA(node)->node_zones[i];
			if (populated_zone(zone) && !zone_is_zone_device(zone))
				end = max_t(u64, end, PFN_PHYS(zone_end_pfn(zone)));
		}
	}
	return end;
}

int nt_flat_init(struct nt_flat *flat, struct ntb_dev *ntb, const struct nt_window *win)
{
	struct device *dev = ntb_get_dma_dev(ntb);

	flat->peer = -1;
	flat->all = nt_flat_index >= 0;
	flat->index = flat->all ? nt_flat_index : nt_mapped_index;
	if (flat->index < 0)
		return 0;
	if (flat->index >= ntb_mw_count(ntb, NT_PEER))
		return nt_flat_refuse(flat, ntb, "there is no such memory window");
	if (flat->index == win->index)
		return nt_flat_refuse(flat, ntb, "that memory window has the rings");
	if (!flat->all)
		return nt_map_possible(dev) ? 0 :
		       nt_flat_refuse(flat, ntb,
				      "no IOMMU translates what the bridge writes, or not so that drivers can choose");
	if (nt_flat_translated(dev))
		return nt_flat_refuse(flat, ntb, "an IOMMU translates what the bridge writes");
	if (!nt_flat_same(dev))
		return nt_flat_refuse(flat, ntb, "the bridge's addresses are not those of memory");
	return 0;
}

bool nt_flat_switch_off(struct nt_link *link)
{
	struct nt_flat *flat = &link->flat;

	if (nt_flat_close(flat, link->ntb) && flat->all)
		dev_err(&link->ntb->dev,
			"flat=%d: the window can't be closed: the peer can write to all memory of this machine\n",
			flat->index);
	if (flat->parked && !nt_mw_switch_off(link->ntb, flat->index, link->win.off))
		flat->parked = 0;
	/* The first page of the range of addresses is mapped to the control page (map.c). */
	return flat->mapped && (flat->open || flat->parked);
}

void nt_flat_exit(struct nt_link *link)
{
	if (link->flat.mapped)
		nt_map_close(link, link->flat.open || link->flat.parked);
}

static int nt_flat_all(struct nt_link *link, u64 size_align, u64 size_max, bool log)
{
	const struct nt_window *win = &link->win;
	struct nt_flat *flat = &link->flat;
	/* the rings may be in reserved memory, behind the end of other memory */
	u64 size, end = max_t(u64, nt_flat_end(), win->dma + win->size);

	size = 1ULL << fls64(max3(size_align, (u64)PAGE_SIZE, end) - 1);
	if (size <= size_max && size <= NTW_FLAT_MAX) {
		flat->size = size;
		flat->word = win->dma + offsetof(struct ntw_ctl, flat);
		return 0;
	}
	if (log)
		dev_err(&link->ntb->dev,
			"flat=%d: a memory window of %llu MiB for %llu MiB of addresses\n",
			flat->index, size_max >> 20, size >> 20);
	return -ENOSPC;
}

static int nt_flat_mapped(struct nt_link *link, u64 size_max, u64 addr_align, bool log)
{
	int ret = nt_map_open(link, size_max, max_t(u64, addr_align, PAGE_SIZE));

	if (ret && log)
		dev_err(&link->ntb->dev,
			"mapped=%d: no range of addresses for %llu bytes, aligned to %llu (%d)\n",
			link->flat.index, size_max, addr_align, ret);
	smp_store_release(&link->flat.mapped, !ret);	/* pairs with nt_window_maps() */
	return ret;
}

/*
 * Return the length to which the closed window can be shortened, the shortest that the bridge
 * permits, or 0 if the window would show memory that is in use. A window over registered memory has
 * no region there (map.c). A window over all memory may show page 0, or the first 64 KiB, which x86
 * does not use.
 */
static u32 nt_flat_park(const struct nt_flat *flat, u64 size_align, u64 size_max)
{
	u64 most = flat->all ? SZ_64K : min(size_max / 4, (u64)SZ_16M);
	u64 len = round_up((u64)PAGE_SIZE, max(size_align, 1ULL));

	return len <= most ? len : 0;
}

int nt_flat_ready(struct nt_link *link, bool log)
{
	resource_size_t addr_align, size_align, size_max;
	struct nt_flat *flat = &link->flat;
	int ret;

	if (flat->index < 0)
		return 0;
	ret = ntb_mw_get_align(link->ntb, NT_PEER, flat->index, &addr_align, &size_align,
			       &size_max);
	if (ret)
		return ret;
	/* What was shown once stays as it is, because consumers have addresses in it. */
	if (flat->size && flat->size <= size_max)
		return 0;
	if (flat->size && log)
		dev_err(&link->ntb->dev, "%s=%d: the window has become shorter than %llu bytes\n",
			nt_flat_name(flat), flat->index, flat->size);
	if (flat->size)
		return -ENOSPC;
	flat->park = nt_flat_park(flat, size_align, size_max);
	return flat->all ? nt_flat_all(link, size_align, size_max, log) :
			   nt_flat_mapped(link, size_max, addr_align, log);
}

/* ---- opening and closing ---- */

int nt_flat_open(struct nt_flat *flat, struct ntb_dev *ntb)
{
	int ret;

	if (flat->index < 0)
		return 0;
	ret = ntb_mw_set_trans(ntb, NT_PEER, flat->index, flat->base, flat->size);
	WRITE_ONCE(flat->open, !ret);
	return ret;
}

int nt_flat_close(struct nt_flat *flat, struct ntb_dev *ntb)
{
	int ret;

	if (!flat->open)
		return 0;
	ret = nt_mw_close(ntb, flat->index, flat->base, flat->park);
	if (ret < 0)
		return ret;
	WRITE_ONCE(flat->open, false);
	flat->parked = ret;
	return 0;
}

bool nt_link_exposes_all(const struct nt_link *link)
{
	return link->flat.all && READ_ONCE(link->flat.open);
}

/* A peer that has written the word through the window reaches our memory. */
bool nt_link_flat_in_use(const struct nt_link *link)
{
	const struct ntw_ctl *ctl = link->win.mem;
	u32 shown;

	return READ_ONCE(link->flat.open) &&
	       ntw_decode_word(le64_to_cpu(READ_ONCE(ctl->flat)), READ_ONCE(link->own_id),
			       &shown) &&
	       shown;
}

bool nt_flat_at(const struct nt_flat *flat, const struct nt_piece *piece, u64 *at)
{
	unsigned long pfn = piece->page ? page_to_pfn(piece->page) : 0;
	u64 begin = PFN_PHYS((u64)pfn) + piece->off;

	if (!flat->all || !piece->page || !pfn_valid(pfn) || is_zone_device_page(piece->page) ||
	    PageHighMem(piece->page))
		return false;
	*at = begin | NTW_FLAT;
	return begin + piece->len <= flat->size;
}

/* ---- the peer's window ---- */

/*
 * Show the peer that our writes arrive. Only a test can tell whether they do: a driver may take
 * address 0 for "no translation", as ntb_hw_switchtec once did, or an IOMMU may drop the writes.
 */
static bool nt_flat_show(const struct nt_link *link, phys_addr_t at)
{
	void __iomem *word = ioremap(at, sizeof(u64));
	struct iosys_map map = IOSYS_MAP_INIT_VADDR_IOMEM(word);

	if (!word)
		return false;
	iosys_map_wr(&map, 0, u64, (__force u64)cpu_to_le64(ntw_word(link->peer_id, 1)));
	iounmap(word);
	return true;
}

/* Return: false if one of the engines can't reach the window. Then none uses it */
static bool nt_flat_engines(struct nt_link *link, phys_addr_t base, u64 len)
{
	unsigned int i;

	for (i = 0; i < link->queues; i++) {
		if (nt_engine_flat(&link->ring[i].engine, base, len))
			continue;
		while (i--)
			nt_engine_flat_close(&link->ring[i].engine);
		return false;
	}
	return true;
}

/* Use the peer's flat window, and show the peer that we do. Return why that can't be, or NULL */
static const char *nt_flat_reach(struct nt_link *link, const struct ntw_hello_info *g)
{
	struct ntb_dev *ntb = link->ntb;
	resource_size_t len;
	phys_addr_t base;
	unsigned int i;

	if (g->flat_window >= ntb_peer_mw_count(ntb) ||
	    ntb_peer_mw_get_addr(ntb, g->flat_window, &base, &len) || len < 1ULL << g->flat_shift)
		return "our window does not reach all of it";
	for (i = 0; i < link->queues; i++)
		if (!nt_engine_uses_chan(&link->ring[i].engine))
			return "a queue has no DMA engine, and the CPU does not write there";
	if (!nt_flat_engines(link, base, 1ULL << g->flat_shift))
		return "the DMA engine does not reach it, or not each byte of it";
	return nt_flat_show(link, base + g->flat_at) ? NULL : "it can't be mapped";
}

int nt_flat_use(struct nt_link *link, const struct ntw_hello_info *g)
{
	const char *why;

	link->paged.flat = false;
	WRITE_ONCE(link->flat.peer, g->flat_shift ? g->flat_window : -1);
	WRITE_ONCE(link->flat.why, NULL);
	if (!g->flat_shift)
		return 0;
	if (g->flat_window == link->win.index)
		return -EPROTO;		/* that window has the rings of the peer */
	why = nt_flat_reach(link, g);
	WRITE_ONCE(link->flat.why, why);
	if (why)
		dev_info_ratelimited(&link->ntb->dev,
				     "the peer's memory is open to us, but nothing is written there: %s\n",
				     why);
	else
		link->paged.flat = g->flat_window == link->paged.index;
	return 0;
}
