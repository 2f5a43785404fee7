/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* msi_device_has_isolated_msi() came with 6.3. Before, the IOMMU has the same information. */
#ifndef _KFI_COMPAT_LINUX_MSI_H
#define _KFI_COMPAT_LINUX_MSI_H

#include_next <linux/msi.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
#include <linux/iommu.h>

static inline bool msi_device_has_isolated_msi(struct device *dev)
{
	return device_iommu_capable(dev, IOMMU_CAP_INTR_REMAP);
}
#endif

#endif
