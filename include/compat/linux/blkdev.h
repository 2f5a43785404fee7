/* SPDX-License-Identifier: GPL-2.0 */
/* bdev_rot() has replaced bdev_nonrot() in 7.x. */
#ifndef _KFI_COMPAT_LINUX_BLKDEV_H
#define _KFI_COMPAT_LINUX_BLKDEV_H

#include_next <linux/blkdev.h>

#ifndef blk_queue_rot
#define bdev_rot(bdev)	(!bdev_nonrot(bdev))
#endif

#endif /* _KFI_COMPAT_LINUX_BLKDEV_H */
