/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* nvme_is_write() takes a pointer to a constant since 6.7. */
#ifndef _KFI_COMPAT_LINUX_NVME_H
#define _KFI_COMPAT_LINUX_NVME_H

#include_next <linux/nvme.h>

#ifndef KFI_HAVE_NVME_IS_WRITE_CONST
#define nvme_is_write(cmd)	nvme_is_write((struct nvme_command *)(cmd))
#endif

#endif
