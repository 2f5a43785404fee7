// SPDX-License-Identifier: GPL-2.0
/*
 * device.c - the device for which consumers of software providers map scatterlists. The device is
 * on no bus, so its DMA mapping is direct and costs nothing. Software providers access the pages,
 * and do not use the DMA addresses.
 */
#include <linux/device.h>
#include <linux/dma-mapping.h>

#include "registry.h"

static struct device *kfi_dev;

/**
 * kfi_soft_device() - the device, which exists as long as kfi.ko is loaded
 *
 * Return: the device, never NULL.
 */
struct device *kfi_soft_device(void)
{
	return kfi_dev;
}

/**
 * kfi_device_init() - register the device
 *
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

/** kfi_device_exit() - unregister the device */
void kfi_device_exit(void)
{
	root_device_unregister(kfi_dev);
}
