/* SPDX-License-Identifier: GPL-2.0 */
/*
 * atomic.h - atomic operations: atomic.c posts them, atomic_target.c performs them at the target,
 * atomic_math.c computes the result of one element.
 */
#ifndef _KFI_CORE_ATOMIC_H
#define _KFI_CORE_ATOMIC_H

#include "core.h"
#include <linux/types.h>

/*
 * atomic_math.c: perform one element, and store the previous value of @target in @old.
 * kfi_atomic_valid() has accepted operation and type, and all pointers are naturally aligned.
 * @operand and @compare must be readable even if @op does not use them. The caller excludes other
 * operations on @target.
 */
void kfi_atomic_element(u8 op, u16 datatype, void *target, const void *operand, const void *compare,
			void *old);

/* atomic_target.c */
void kfi_atomic_init(void);

#endif /* _KFI_CORE_ATOMIC_H */
