/* SPDX-License-Identifier: GPL-2.0 */
/* Older kernels have the name sg_is_dma_bus_address() for sg_dma_is_bus_address(). */
#ifndef _KFI_COMPAT_LINUX_SCATTERLIST_H
#define _KFI_COMPAT_LINUX_SCATTERLIST_H

#include_next <linux/scatterlist.h>

#ifndef KFI_HAVE_SG_DMA_IS_BUS_ADDRESS
#define sg_dma_is_bus_address	sg_is_dma_bus_address
#endif

#endif
