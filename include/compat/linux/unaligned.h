/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Before 6.12 this header is <asm/unaligned.h>. */
#ifndef _KFI_COMPAT_UNALIGNED_H
#define _KFI_COMPAT_UNALIGNED_H


#ifdef KFI_HAVE_UNALIGNED_H
#include_next <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

#endif /* _KFI_COMPAT_UNALIGNED_H */
