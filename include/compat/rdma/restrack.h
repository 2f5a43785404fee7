/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Before 6.10 rdma_restrack_count() counts all objects, and has no parameter for that. 6.1 has got
 * the parameter in a stable release, so its type decides and not its version.
 */
#ifndef _KFI_COMPAT_RDMA_RESTRACK_H
#define _KFI_COMPAT_RDMA_RESTRACK_H

#include_next <rdma/restrack.h>

static inline int kfi_restrack_count(struct ib_device *dev, enum rdma_restrack_type type,
				     bool show_details)
{
	int (*all)(struct ib_device *dev, enum rdma_restrack_type type) =
		(void *)rdma_restrack_count;
	int (*some)(struct ib_device *dev, enum rdma_restrack_type type, bool show_details) =
		(void *)rdma_restrack_count;

	if (__same_type(rdma_restrack_count, *some))
		return some(dev, type, show_details);
	return all(dev, type);
}
#define rdma_restrack_count kfi_restrack_count

#endif
