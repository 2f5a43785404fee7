// SPDX-License-Identifier: GPL-2.0
/*
 * device.c - a device for consumers of software providers to map scatterlists
 * for. It stands on no bus, so its mapping is direct and costs nothing; the
 * provider walks the pages and never looks at the DMA addresses.
 */
#include <linux/device.h>
#include <linux/dma-mapping.h>

#include "registry.h"

static struct device *kfi_dev;

/**
 * kfi_soft_device() - the device, which lives as long as kfi.ko
 * Return: the device, never NULL.
 */
struct device *kfi_soft_device(void)
{
	return kfi_dev;
}

/**
 * kfi_device_init() - make the device
 * Return: 0 or a negative errno.
 */
int kfi_device_init(void)
{
	struct device *dev = root_device_register("kfabric");

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	dev->coherent_dma_mask = DMA_BIT_MASK(64);
	dev->dma_mask = &dev->coherent_dma_mask;
	kfi_dev = dev;
	return 0;
}

/**
 * kfi_device_exit() - remove the device
 */
void kfi_device_exit(void)
{
	root_device_unregister(kfi_dev);
}
