/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KFI_COMPAT_LINUX_SKBUFF_H
#define _KFI_COMPAT_LINUX_SKBUFF_H

#include_next <linux/skbuff.h>
#include <linux/version.h>

/* Came with 6.12. Before, no socket buffer has device memory, and the CPU can read all of them. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
static inline bool skb_frags_readable(const struct sk_buff *skb)
{
	return true;
}
#endif

#endif
