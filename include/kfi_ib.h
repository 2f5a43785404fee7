/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* kfi_ib.h - what others have to know of kfi_ib, RDMA devices over kfabric */
#ifndef KFI_IB_H
#define KFI_IB_H

/*
 * The number by which the RDMA core distinguishes drivers. It has to be none of the kernel's:
 * drivers cast a device that has theirs.
 */
#define KFI_IB_DRIVER_ID	0x6b666962

/* Version of what the driver and its library for rdma-core say to each other */
#define KIB_UVERBS_ABI_VERSION	1

#endif /* KFI_IB_H */
