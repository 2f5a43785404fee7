/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dma_iova_*() came with 6.16. Before, a driver can't choose what is mapped at an address of the
 * IOMMU, and these functions fail, as they do in newer kernels if there is no IOMMU.
 */
#ifndef _KFI_COMPAT_LINUX_DMA_MAPPING_H
#define _KFI_COMPAT_LINUX_DMA_MAPPING_H

#include_next <linux/dma-mapping.h>

#ifndef KFI_HAVE_DMA_IOVA
struct dma_iova_state {
	dma_addr_t addr;
};

static inline bool dma_iova_try_alloc(struct device *dev, struct dma_iova_state *state,
				      phys_addr_t phys, size_t size)
{
	return false;
}

static inline void dma_iova_free(struct device *dev, struct dma_iova_state *state)
{
}

static inline int dma_iova_link(struct device *dev, struct dma_iova_state *state, phys_addr_t phys,
				size_t offset, size_t size, enum dma_data_direction dir,
				unsigned long attrs)
{
	return -EIO;
}

static inline int dma_iova_sync(struct device *dev, struct dma_iova_state *state, size_t offset,
				size_t size)
{
	return -EIO;
}

static inline void dma_iova_unlink(struct device *dev, struct dma_iova_state *state, size_t offset,
				   size_t size, enum dma_data_direction dir, unsigned long attrs)
{
}
#endif

#endif
