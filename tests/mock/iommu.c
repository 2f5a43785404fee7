// SPDX-License-Identifier: GPL-2.0
/*
 * kfi_iommu_mock - a simulated IOMMU in front of the simulated engines (mock-dma, on the platform
 * bus). The kernel's drivers/iommu creates domains, allocates addresses
 * and calls this driver for pages. Code that plays a device translates addresses with
 * iommu_iova_to_phys(), under a lock that it holds until its bytes were copied, and provides
 * kfi_iommu_mock_wait(). So an address is out of reach when the call that unmaps it returns, as
 * with hardware. Drivers may unmap in softirq.
 *
 * Load it before the devices exist; remove it after them.
 */
#include <linux/dma-mapping.h>
#include <linux/iommu.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/xarray.h>
#include "command.h"

static bool kept;
module_param(kept, bool, 0444);
MODULE_PARM_DESC(kept, "drivers may leave mappings behind (default no)");

/**
 * struct km_domain - address space of the devices of a group
 * @pages: by number of the bus page: number of the page of memory, as a value
 */
struct km_domain {
	struct iommu_domain	domain;
	struct xarray		pages;
};

static struct iommu_device km_iommu;

void (*kfi_iommu_mock_wait)(void);
EXPORT_SYMBOL_GPL(kfi_iommu_mock_wait);

static struct km_domain *to_km(struct iommu_domain *domain)
{
	return container_of(domain, struct km_domain, domain);
}

/* The simulation has no registers for tables. */
static int km_attach_dev(struct iommu_domain *domain, struct device *dev, struct iommu_domain *old)
{
	return 0;
}

static int km_map_pages(struct iommu_domain *domain, unsigned long iova, phys_addr_t phys,
			size_t size, size_t count, int prot, gfp_t gfp, size_t *mapped)
{
	struct km_domain *kd = to_km(domain);
	unsigned long flags;
	int ret = 0;
	size_t i;

	xa_lock_irqsave(&kd->pages, flags);
	for (i = 0; i < count && !ret; i++) {
		ret = __xa_insert(&kd->pages, PHYS_PFN(iova) + i, xa_mk_value(PHYS_PFN(phys) + i),
				  GFP_ATOMIC);
		*mapped += ret ? 0 : size;
	}
	xa_unlock_irqrestore(&kd->pages, flags);
	return ret == -EBUSY ? -EADDRINUSE : ret;
}

static size_t km_unmap_pages(struct iommu_domain *domain, unsigned long iova, size_t size,
			     size_t count, struct iommu_iotlb_gather *gather)
{
	struct km_domain *kd = to_km(domain);
	unsigned long flags;
	size_t i;

	xa_lock_irqsave(&kd->pages, flags);
	for (i = 0; i < count; i++)
		if (!__xa_erase(&kd->pages, PHYS_PFN(iova) + i))
			break;
	xa_unlock_irqrestore(&kd->pages, flags);
	return i * size;
}

/* An access that has translated before the unmapping ends before this returns. */
static void km_flush_iotlb_all(struct iommu_domain *domain)
{
	typeof(kfi_iommu_mock_wait) wait = READ_ONCE(kfi_iommu_mock_wait);

	if (wait)
		wait();
}

static void km_iotlb_sync(struct iommu_domain *domain, struct iommu_iotlb_gather *gather)
{
	km_flush_iotlb_all(domain);
}

static phys_addr_t km_iova_to_phys(struct iommu_domain *domain, dma_addr_t iova)
{
	void *page = xa_load(&to_km(domain)->pages, PHYS_PFN(iova));

	return page ? PFN_PHYS(xa_to_value(page)) + offset_in_page(iova) : 0;
}

static void km_free(struct iommu_domain *domain)
{
	struct km_domain *kd = to_km(domain);

	/* A driver has left a mapping. */
	WARN_ON(!kept && !xa_empty(&kd->pages));
	xa_destroy(&kd->pages);
	kfree(kd);
}

static const struct iommu_domain_ops km_domain_ops = {
	.attach_dev		= km_attach_dev,
	.map_pages		= km_map_pages,
	.unmap_pages		= km_unmap_pages,
	.flush_iotlb_all	= km_flush_iotlb_all,
	.iotlb_sync		= km_iotlb_sync,
	.iova_to_phys		= km_iova_to_phys,
	.free			= km_free,
};

static struct iommu_domain *km_domain_alloc(struct device *dev)
{
	struct km_domain *kd = kzalloc(sizeof(*kd), GFP_KERNEL);

	if (!kd)
		return ERR_PTR(-ENOMEM);
	xa_init_flags(&kd->pages, XA_FLAGS_LOCK_IRQ);
	kd->domain.pgsize_bitmap = PAGE_SIZE;
	kd->domain.geometry = (struct iommu_domain_geometry){
		.aperture_end = DMA_BIT_MASK(48), .force_aperture = true,
	};
	return &kd->domain;
}

static struct iommu_device *km_probe_device(struct device *dev)
{
	return strstarts(dev_name(dev), "mock-dma") ? &km_iommu : ERR_PTR(-ENODEV);
}

static const struct iommu_ops km_ops = {
	.owner			= THIS_MODULE,
	.domain_alloc_paging	= km_domain_alloc,
	.probe_device		= km_probe_device,
	.device_group		= generic_device_group,
	.default_domain_ops	= &km_domain_ops,
};

static int __init km_init(void)
{
	int ret = iommu_device_sysfs_add(&km_iommu, NULL, NULL, "kfi_iommu_mock");

	if (ret)
		return ret;
	ret = iommu_device_register(&km_iommu, &km_ops, NULL);
	if (ret)
		iommu_device_sysfs_remove(&km_iommu);
	return ret;
}

static void __exit km_exit(void)
{
	iommu_device_unregister(&km_iommu);
	iommu_device_sysfs_remove(&km_iommu);
}

module_init(km_init);
module_exit(km_exit);
MODULE_DESCRIPTION("an IOMMU in software");
MODULE_LICENSE("GPL");
