/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KFI_COMPAT_LINUX_SKBUFF_H
#define _KFI_COMPAT_LINUX_SKBUFF_H

#include_next <linux/skbuff.h>

/* Came with 6.12. Before, no socket buffer has device memory, and the CPU can read all of them. */
#ifndef KFI_HAVE_SKB_FRAGS_READABLE
static inline bool skb_frags_readable(const struct sk_buff *skb)
{
	return true;
}
#endif

#endif
