/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KFI_COMPAT_LINUX_NETDEVICE_H
#define _KFI_COMPAT_LINUX_NETDEVICE_H

#include_next <linux/netdevice.h>
#include <linux/version.h>

/*
 * The device stays in its network namespace: a bit of three names in three places. Kbuild finds
 * the newest name, which has come to the stable series of 6.12, too, between two of its versions.
 */
static inline void kfi_netns_immutable(struct net_device *dev)
{
#if defined(KFI_HAVE_NETNS_IMMUTABLE)
	dev->netns_immutable = true;
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
	dev->netns_local = true;
#else
	dev->features |= NETIF_F_NETNS_LOCAL;
#endif
}

#endif
