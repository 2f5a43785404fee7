/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * is_vmalloc_or_module_addr() is not exported to modules by older kernels.
 * zone_device_pages_have_same_pgmap() came with 6.2, vm_flags_set() and vm_flags_clear() with 6.3.
 */
#ifndef _KFI_COMPAT_LINUX_MM_H
#define _KFI_COMPAT_LINUX_MM_H

#include_next <linux/mm.h>

static inline bool kfi_is_vmalloc_or_module_addr(const void *at)
{
#ifdef MODULES_VADDR
	if ((unsigned long)at >= MODULES_VADDR && (unsigned long)at < MODULES_END)
		return true;
#endif
	return is_vmalloc_addr(at);
}
#define is_vmalloc_or_module_addr(at) kfi_is_vmalloc_or_module_addr(at)

#ifndef KFI_HAVE_SAME_PGMAP
static inline bool kfi_zone_device_pages_have_same_pgmap(const struct page *a, const struct page *b)
{
	bool device = is_zone_device_page(a);

	return device == is_zone_device_page(b) && (!device || a->pgmap == b->pgmap);
}
#define zone_device_pages_have_same_pgmap(a, b) kfi_zone_device_pages_have_same_pgmap(a, b)
#endif

#ifndef KFI_HAVE_VM_FLAGS_SET
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
