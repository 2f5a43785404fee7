// SPDX-License-Identifier: GPL-2.0
/* host.c - a host: a domain, its host interface, and the device that does its DMA */
#include <linux/dma-mapping.h>
#include <linux/slab.h>
#include "mock.h"

/* The first one is the lower one. */
static const uuid_t tm_uuid[TM_HOSTS] = {
	UUID_INIT(0x6d6f636b, 0x0000, 0x4000, 0x80, 0, 0, 0, 0, 0, 0, 0x0a),
	UUID_INIT(0x6d6f636b, 0x0000, 0x4000, 0x80, 0, 0, 0, 0, 0, 0, 0x0b),
};

static void tm_domain_release(struct device *dev)
{
	struct tb *tb = container_of(dev, struct tb, dev);
	struct tb_nhi *nhi = tb->nhi;

	kfree(tb);
	complete(&nhi->domain_released);
}

static const struct device_type tm_domain_type = {
	.name		= "thunderbolt_domain",
	.release	= tm_domain_release,
};

/* The first time there is no domain yet, and no longer the last time. */
static int tm_function_probe(struct platform_device *function)
{
	struct tm_host *host = &tm_host[function->id];

	if (host->tb)
		tm_xdomains_back(host);
	return 0;
}

static void tm_function_remove(struct platform_device *function)
{
	struct tm_host *host = &tm_host[function->id];

	if (host->tb)
		tm_xdomains_gone(host);
}

static struct platform_driver tm_driver = {
	.probe	= tm_function_probe,
	.remove	= tm_function_remove,
	.driver	= { .name = "mock-usb4" },
};

int tm_driver_init(void)
{
	return platform_driver_register(&tm_driver);
}

void tm_driver_exit(void)
{
	platform_driver_unregister(&tm_driver);
}

static int tm_function_add(struct tm_host *host)
{
	const struct platform_device_info info = {
		.name = "mock-usb4", .id = host->index, .dma_mask = DMA_BIT_MASK(64),
	};
	struct platform_device *function = platform_device_register_full(&info);

	if (IS_ERR(function))
		return PTR_ERR(function);
	host->function = function;
	return 0;
}

static void tm_nhi_init(struct tm_host *host)
{
	struct tb_nhi *nhi = &host->nhi;

	spin_lock_init(&nhi->lock);
	nhi->dev = &host->function->dev;
	nhi->tx_rings = host->tx_rings;
	nhi->rx_rings = host->rx_rings;
	nhi->hop_count = TM_HOPS;
	init_completion(&nhi->domain_released);
}

static int tm_domain_add(struct tm_host *host)
{
	struct tb *tb = kzalloc(sizeof(*tb), GFP_KERNEL);
	int err;

	if (!tb)
		return -ENOMEM;
	host->tb = tb;
	tb->nhi = &host->nhi;
	tb->index = host->index;
	mutex_init(&tb->lock);
	device_initialize(&tb->dev);
	tb->dev.parent = host->nhi.dev;
	tb->dev.bus = &tb_bus_type;
	tb->dev.type = &tm_domain_type;
	tb->wq = alloc_ordered_workqueue("mock-usb4-%c", 0, host->name);
	if (!tb->wq) {
		err = -ENOMEM;
		goto err_put;
	}
	err = dev_set_name(&tb->dev, "domain%d", tb->index);
	if (!err)
		err = device_add(&tb->dev);
	if (!err)
		return 0;
	destroy_workqueue(tb->wq);
err_put:
	put_device(&tb->dev);
	return err;
}

static void tm_domain_remove(struct tm_host *host)
{
	destroy_workqueue(host->tb->wq);
	device_unregister(&host->tb->dev);
	host->tb = NULL;
	/* Only a driver that was unloaded can have a reference: it has lost it. */
	WARN_ON(!wait_for_completion_timeout(&host->nhi.domain_released, 10 * HZ));
}

int tm_host_add(struct tm_host *host)
{
	int err;

	host->index = host - tm_host;
	host->name = 'a' + host->index;
	host->uuid = tm_uuid[host->index];
	INIT_LIST_HEAD(&host->tunnels);
	tm_engine_init(host);
	err = tm_function_add(host);
	if (err)
		return err;
	tm_nhi_init(host);
	err = tm_domain_add(host);
	if (err)
		goto err_function;
	err = tm_channel_start(host);
	if (err)
		goto err_domain;
	return 0;

err_domain:
	tm_domain_remove(host);
err_function:
	platform_device_unregister(host->function);
	return err;
}

void tm_host_remove(struct tm_host *host)
{
	tm_channel_stop(host);
	tm_engine_exit(host);
	tm_domain_remove(host);
	platform_device_unregister(host->function);
}
