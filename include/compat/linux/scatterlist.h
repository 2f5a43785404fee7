/* SPDX-License-Identifier: GPL-2.0 */
/* Before 6.4 sg_dma_is_bus_address() is called sg_is_dma_bus_address(). */
#ifndef _KFI_COMPAT_LINUX_SCATTERLIST_H
#define _KFI_COMPAT_LINUX_SCATTERLIST_H

#include_next <linux/scatterlist.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
#define sg_dma_is_bus_address	sg_is_dma_bus_address
#endif

#endif
