/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Before 6.14 alloc_pages_bulk() is called alloc_pages_bulk_array(). */
#ifndef _KFI_COMPAT_LINUX_GFP_H
#define _KFI_COMPAT_LINUX_GFP_H

#include_next <linux/gfp.h>

#ifdef KFI_HAVE_ALLOC_PAGES_BULK_ARRAY
#undef alloc_pages_bulk
#define alloc_pages_bulk(gfp, n, pages) alloc_pages_bulk_array(gfp, n, pages)
#endif

#endif
