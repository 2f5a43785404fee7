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

static dma_addr_t test_map(struct device *dev, struct page *page, size_t off, size_t len,
			   enum dma_data_direction dir)
{
	return page == unmappable ? DMA_MAPPING_ERROR : (unsigned long)page_address(page) + off;
}

static void test_unmap(struct device *dev, dma_addr_t addr, size_t len, enum dma_data_direction dir)
{
}

#endif
