/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* MAX() came with 6.12, and to the stable series of 6.1. */
#ifndef _KFI_COMPAT_LINUX_MINMAX_H
#define _KFI_COMPAT_LINUX_MINMAX_H

#include_next <linux/minmax.h>

#ifndef MAX
#define MAX(a, b)	((a) > (b) ? (a) : (b))
#endif

#endif
