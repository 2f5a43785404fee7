/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Before 6.10 rdma_restrack_count() counts all objects, and has no parameter for that. */
#ifndef _KFI_COMPAT_RDMA_RESTRACK_H
#define _KFI_COMPAT_RDMA_RESTRACK_H

#include_next <rdma/restrack.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
static inline int kfi_restrack_count(struct ib_device *dev, enum rdma_restrack_type type,
				     bool show_details)
{
	return rdma_restrack_count(dev, type);
}
#define rdma_restrack_count kfi_restrack_count
#endif

#endif
