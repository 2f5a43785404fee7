/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KFI_COMPAT_NET_NETDEV_LOCK_H
#define _KFI_COMPAT_NET_NETDEV_LOCK_H

#include <linux/version.h>

/* Before 6.15, <linux/netdevice.h> has what is needed of it. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
#include_next <net/netdev_lock.h>
#else
#include <linux/netdevice.h>
#endif

#endif
