/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * is_vmalloc_or_module_addr() is not exported to modules in 6.1. vm_flags_set() and
 * vm_flags_clear() came with 6.3.
 */
#ifndef _KFI_COMPAT_LINUX_MM_H
#define _KFI_COMPAT_LINUX_MM_H

#include_next <linux/mm.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
static inline bool kfi_is_vmalloc_or_module_addr(const void *at)
{
#ifdef MODULES_VADDR
	if ((unsigned long)at >= MODULES_VADDR && (unsigned long)at < MODULES_END)
		return true;
#endif
	return is_vmalloc_addr(at);
}
#define is_vmalloc_or_module_addr(at) kfi_is_vmalloc_or_module_addr(at)
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void kfi_vm_flags_set(struct vm_area_struct *vma, unsigned long flags)
{
	vma->vm_flags |= flags;
}
#define vm_flags_set(vma, flags) kfi_vm_flags_set(vma, flags)

static inline void kfi_vm_flags_clear(struct vm_area_struct *vma, unsigned long flags)
{
	vma->vm_flags &= ~flags;
}
#define vm_flags_clear(vma, flags) kfi_vm_flags_clear(vma, flags)
#endif

#endif
