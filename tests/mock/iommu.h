/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KFI_IOMMU_MOCK_H
#define _KFI_IOMMU_MOCK_H

/*
 * Set by the module that plays the devices behind the IOMMU: waits until accesses have ended that
 * have translated their addresses before. Called in any context, so it does not sleep.
 */
extern void (*kfi_iommu_mock_wait)(void);

#endif /* _KFI_IOMMU_MOCK_H */
