// SPDX-License-Identifier: GPL-2.0
/*
 * emulated.c - I/O memory for kernels that can't emulate it, for measurements on several CPUs
 *
 * A mapping is the physical address with a bit that makes it no address of the CPU, so an access
 * that does not go through these functions is a fault at once. emulated.h lets a client call them.
 */
#include <linux/ioport.h>
#include <linux/logic_iomem.h>
#include <linux/module.h>
#include "emulated.h"
#include "mock.h"

#define NM_MAPPED	(1UL << 62)

/* In place of lib/logic_iomem.c: nm_find() knows the addresses. */
int logic_iomem_add_region(struct resource *range, const struct logic_iomem_region_ops *ops)
{
	return request_resource(&iomem_resource, range);
}

void __iomem *kfi_ntb_mock_ioremap(phys_addr_t at, size_t len)
{
	struct nm_place place;

	if (!nm_find(at, &place) || len > place.room)
		return NULL;
	return (void __iomem *)(NM_MAPPED | at);
}
EXPORT_SYMBOL_GPL(kfi_ntb_mock_ioremap);

void kfi_ntb_mock_write(void __iomem *to, const void *from, size_t len)
{
	struct nm_place place;

	if (nm_find((unsigned long)to & ~NM_MAPPED, &place))
		nm_write(&place, from, len, false);
}
EXPORT_SYMBOL_GPL(kfi_ntb_mock_write);

u32 kfi_ntb_mock_readl(const void __iomem *from)
{
	struct nm_place place;
	u32 value = ~0U;

	if (nm_find((unsigned long)from & ~NM_MAPPED, &place))
		nm_read(&place, &value, sizeof(value), false);
	return value;
}
EXPORT_SYMBOL_GPL(kfi_ntb_mock_readl);
