/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* get_dev_pagemap() had a second argument, a page map that may be the right one, until 6.18. */
#ifndef _KFI_COMPAT_LINUX_MEMREMAP_H
#define _KFI_COMPAT_LINUX_MEMREMAP_H

#include_next <linux/memremap.h>

#ifndef KFI_HAVE_PAGEMAP_OF_PFN
#define get_dev_pagemap(pfn) get_dev_pagemap(pfn, NULL)
#endif

#endif
