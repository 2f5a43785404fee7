/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Attributes that the kernel defines in a header that is included before all others. Every file of
 * kfabric includes this header.
 */
#ifndef _KFI_COMPAT_LINUX_STDDEF_H
#define _KFI_COMPAT_LINUX_STDDEF_H

#include_next <linux/stddef.h>

#ifndef __counted_by
#define __counted_by(member)
#endif

#ifndef __uninitialized
#define __uninitialized
#endif

#endif
