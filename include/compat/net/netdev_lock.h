/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KFI_COMPAT_NET_NETDEV_LOCK_H
#define _KFI_COMPAT_NET_NETDEV_LOCK_H


/* Before 6.15, <linux/netdevice.h> has what is needed of it. */
#ifdef KFI_HAVE_NETDEV_LOCK_H
#include_next <net/netdev_lock.h>
#else
#include <linux/netdevice.h>
#endif

#endif
