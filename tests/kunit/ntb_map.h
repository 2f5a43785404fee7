/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ntb_map.h - mapping of memory for the channel in the tests of kfi_ntb's rings. A test includes
 * this file ahead of the sources of the rings.
 */
#ifndef _NTB_MAP_H
#define _NTB_MAP_H

#include <linux/dma-mapping.h>

/* The DMA address of payload is that of the CPU in the linear map, and can be refused. */
#undef dma_map_page
#undef dma_unmap_page
#define dma_map_page	test_map
#define dma_unmap_page	test_unmap

static struct page *unmappable;
static spinlock_t *unlocked;	/* nothing is mapped or unmapped under it */
static u32 locked;		/* number of times that this happened */
static u64 mapped;		/* bytes that are mapped */
static u64 addresses;		/* sum of their addresses */

static dma_addr_t test_map(struct device *dev, struct page *page, size_t off, size_t len,
			   enum dma_data_direction dir)
{
	dma_addr_t at = (unsigned long)page_address(page) + off;

	locked += unlocked && lockdep_is_held(unlocked);
	if (page == unmappable)
		return DMA_MAPPING_ERROR;
	mapped += len;
	addresses += at;
	return at;
}

static void test_unmap(struct device *dev, dma_addr_t addr, size_t len, enum dma_data_direction dir)
{
	locked += unlocked && lockdep_is_held(unlocked);
	mapped -= len;
	addresses -= addr;
}

#endif
