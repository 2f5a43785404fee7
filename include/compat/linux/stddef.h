/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * __counted_by() came with 6.6, in a header that is included before all others. Every file of
 * kfabric includes this header.
 */
#ifndef _KFI_COMPAT_LINUX_STDDEF_H
#define _KFI_COMPAT_LINUX_STDDEF_H

#include_next <linux/stddef.h>

#ifndef __counted_by
#define __counted_by(member)
#endif

#endif
