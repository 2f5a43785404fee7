/* SPDX-License-Identifier: GPL-2.0 */
/*
 * emulated.h - accesses to I/O memory are calls of the mock (emulated.c). With KFI_MOCK=y the
 * compiler includes this file in front of each source of kfi_ntb, which then runs only over the
 * mock.
 */
#ifndef KFI_NTB_MOCK_EMULATED_H
#define KFI_NTB_MOCK_EMULATED_H

#include <linux/io.h>

void __iomem *kfi_ntb_mock_ioremap(phys_addr_t at, size_t len);
void kfi_ntb_mock_write(void __iomem *to, const void *from, size_t len);
u32 kfi_ntb_mock_readl(const void __iomem *from);

static inline void kfi_ntb_mock_writeq(u64 value, void __iomem *to)
{
	kfi_ntb_mock_write(to, &value, sizeof(value));
}

#undef ioremap
#undef ioremap_wc
#undef iounmap
#undef memcpy_toio
#undef __iowrite64_copy
#undef readl
#undef writeq
#define ioremap(at, len)		kfi_ntb_mock_ioremap(at, len)
#define ioremap_wc(at, len)		kfi_ntb_mock_ioremap(at, len)
#define iounmap(mapping)		((void)(mapping))
#define memcpy_toio(to, from, len)	kfi_ntb_mock_write(to, from, len)
#define __iowrite64_copy(to, from, n)	kfi_ntb_mock_write(to, from, (n) * sizeof(u64))
#define readl(from)			kfi_ntb_mock_readl(from)
#define writeq(value, to)		kfi_ntb_mock_writeq(value, to)

#endif
