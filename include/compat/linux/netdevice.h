/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KFI_COMPAT_LINUX_NETDEVICE_H
#define _KFI_COMPAT_LINUX_NETDEVICE_H

#include_next <linux/netdevice.h>

/*
 * The device stays in its network namespace: a bit of three names in three places.
 */
static inline void kfi_netns_immutable(struct net_device *dev)
{
#ifdef KFI_HAVE_NETNS_IMMUTABLE
	dev->netns_immutable = true;
#elif defined(KFI_HAVE_NETNS_LOCAL)
	dev->netns_local = true;
#else
	dev->features |= NETIF_F_NETNS_LOCAL;
#endif
}

#endif
