/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef _KFI_COMPAT_LINUX_NET_H
#define _KFI_COMPAT_LINUX_NET_H

#include_next <linux/net.h>

/* Came with 6.12: may TCP take references of all pages in a range? */
#ifndef KFI_HAVE_SENDPAGES_OK
static inline bool sendpages_ok(struct page *page, size_t len, size_t offset)
{
	size_t i, end = DIV_ROUND_UP(offset + len, PAGE_SIZE);

	for (i = offset / PAGE_SIZE; i < end; i++)
		if (!sendpage_ok(page + i))
			return false;
	return true;
}
#endif

#endif
