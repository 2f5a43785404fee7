/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* ntb_get_dma_dev() came with 7.1. Before, the parent of the bridge is the device for DMA. */
#ifndef _KFI_COMPAT_LINUX_NTB_H
#define _KFI_COMPAT_LINUX_NTB_H

#include_next <linux/ntb.h>

#ifndef KFI_HAVE_NTB_DMA_DEV
static inline struct device *ntb_get_dma_dev(struct ntb_dev *ntb)
{
	return ntb->dev.parent;
}

#define KFI_NTB_OPS_DMA_DEV(_get)
#else
#define KFI_NTB_OPS_DMA_DEV(_get)	.get_dma_dev = _get,
#endif

#endif
