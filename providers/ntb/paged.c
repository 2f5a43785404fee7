// SPDX-License-Identifier: GPL-2.0
/*
 * paged.c - struct pages for a window of the bridge, so that other devices of this machine can
 * write there. pages.c gives these pages to the protocol.
 *
 * The window with the rings gets no pages, because memory with pages is uncached, not
 * write-combining, also where this module maps it. The first other window gets them. The peer's
 * flat window has to be that one, or no memory of a flat window has places.
 *
 * The kernel's code for peer-to-peer DMA (CONFIG_PCI_P2PDMA) makes the pages. They last until the
 * driver of the bridge is unbound. So they may exist from an earlier load of this module, and are
 * allocated from their pool. The whole window is allocated at once, and is not published, so no
 * other user of the pool can get a part of it.
 *
 * A kernel without this code has pages only if the administrator asks for them, because it does not
 * check whether a disk reaches the window: what a disk writes may be lost, or go somewhere else.
 */
#include <linux/io.h>
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pci-p2pdma.h>
#include <linux/slab.h>
#include "bridge.h"

static bool nt_places_unchecked;
module_param_named_unsafe(places_unchecked, nt_places_unchecked, bool, 0444);
MODULE_PARM_DESC(places_unchecked, "pages on kernels that can't check the way of a device to the bridge");

/* ---- with CONFIG_PCI_P2PDMA ---- */

/* Return the BAR that begins with this address, or -1. */
static int nt_paged_bar(struct pci_dev *pdev, phys_addr_t base, size_t len)
{
	int bar;

	for (bar = 0; bar < PCI_STD_NUM_BARS; bar++)
		if (pci_resource_flags(pdev, bar) & IORESOURCE_MEM &&
		    pci_resource_start(pdev, bar) == base && pci_resource_len(pdev, bar) >= len)
			return bar;
	return -1;
}

/* A second call for the same BAR would be a fault of this module. */
static bool nt_paged_in_use(struct pci_dev *pdev)
{
	void *page = pci_alloc_p2pmem(pdev, PAGE_SIZE);

	if (page)
		pci_free_p2pmem(pdev, page, PAGE_SIZE);
	return page;
}

/* The bridge's pool may have the pages of another window, if an earlier load has used that one. */
static int nt_paged_take(struct nt_paged *paged, struct pci_dev *pdev)
{
	void *mem = pci_alloc_p2pmem(pdev, paged->len);

	if (!mem)
		return -ENOMEM;
	if (page_to_phys(virt_to_page(mem)) != paged->base) {
		pci_free_p2pmem(pdev, mem, paged->len);
		return -EBUSY;
	}
	paged->mem = mem;
	return 0;
}

static int nt_paged_p2p(struct nt_paged *paged, struct pci_dev *pdev)
{
	int ret, bar = nt_paged_bar(pdev, paged->base, paged->len);

	if (bar < 0)
		return -ENXIO;
	ret = nt_paged_take(paged, pdev);
	if (ret != -ENOMEM)
		return ret;
	if (nt_paged_in_use(pdev))
		return -EBUSY;
	ret = pci_p2pdma_add_resource(pdev, bar, paged->len, 0);
	return ret ?: nt_paged_take(paged, pdev);
}

/* ---- without ---- */

#ifdef CONFIG_ZONE_DEVICE
/*
 * The kernel would map the pages as if they were RAM, with a cache, unless the memory is mapped
 * otherwise at that moment.
 */
static int nt_paged_generic(struct nt_paged *paged, int node)
{
	void __iomem *uncached;
	void *mem;

	paged->map = kzalloc(sizeof(*paged->map), GFP_KERNEL);
	if (!paged->map)
		return -ENOMEM;
	paged->map->type = MEMORY_DEVICE_GENERIC;
	paged->map->range.start = paged->base;
	paged->map->range.end = paged->base + paged->len - 1;
	paged->map->nr_range = 1;
	uncached = ioremap(paged->base, paged->len);
	mem = uncached ? memremap_pages(paged->map, node) : ERR_PTR(-ENOMEM);
	if (uncached)
		iounmap(uncached);
	if (!IS_ERR(mem)) {
		paged->mem = mem;
		return 0;
	}
	kfree(paged->map);
	paged->map = NULL;
	return PTR_ERR(mem);
}

static void nt_paged_unmake(struct nt_paged *paged)
{
	memunmap_pages(paged->map);
	kfree(paged->map);
}
#else
static int nt_paged_generic(struct nt_paged *paged, int node)
{
	return -EOPNOTSUPP;
}

static void nt_paged_unmake(struct nt_paged *paged)
{
}
#endif

/* ---- both ---- */

static int nt_paged_make(struct nt_paged *paged, struct ntb_dev *ntb)
{
	int ret;

	if (ntb_peer_mw_get_addr(ntb, paged->index, &paged->base, &paged->len))
		return -ENODEV;
	if (!IS_ALIGNED(paged->base | paged->len, memremap_compat_align()))
		return -EINVAL;
	ret = nt_paged_p2p(paged, ntb->pdev);
	if (ret == -EOPNOTSUPP && nt_places_unchecked)
		ret = nt_paged_generic(paged, dev_to_node(&ntb->pdev->dev));
	return ret;
}

static const char *nt_paged_reason(int err)
{
	switch (err) {
	case -ENODEV: return "there is no window besides that of the rings";
	case -EINVAL: return "its address or length is not aligned";
	case -ENXIO: return "it does not begin with a BAR";
	case -EBUSY: return "pages are in use, or another window has them: unbind the driver";
	case -EOPNOTSUPP: return "this kernel has no peer-to-peer DMA, see places_unchecked";
	default: return "the kernel does not make them";
	}
}

void nt_paged_init(struct nt_paged *paged, struct ntb_dev *ntb, int ring)
{
	int ret = -ENODEV;

	paged->index = ring ? 0 : 1;
	/* Only tests/mock has bridges on no bus. */
	if (!nt_places_on || !ntb->pdev || !ntb->pdev->bus)
		return;
	if (paged->index < ntb_peer_mw_count(ntb))
		ret = nt_paged_make(paged, ntb);
	if (ret)
		dev_warn(&ntb->dev, "places: no pages for window %d: %s (%d; alignment %lu)\n",
			 paged->index, nt_paged_reason(ret), ret, memremap_compat_align());
	else
		dev_info(&ntb->dev,
			 "places: pages for window %d, %llu MiB, %s; their fence is not proven\n",
			 paged->index, (u64)paged->len >> 20,
			 paged->map ? "unchecked" : "peer-to-peer DMA");
}

/* All places are back. */
void nt_paged_exit(struct nt_paged *paged, struct ntb_dev *ntb)
{
	if (!paged->mem)
		return;
	if (paged->map)
		nt_paged_unmake(paged);
	else
		pci_free_p2pmem(ntb->pdev, paged->mem, paged->len);
}
