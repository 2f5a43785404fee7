// SPDX-License-Identifier: GPL-2.0
/* bus.c - the bus of services and their drivers */
#include <linux/export.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "mock.h"

static struct tb_service_driver *to_tm_driver(const struct device_driver *drv)
{
	return container_of(drv, struct tb_service_driver, driver);
}

static bool tm_matches(const struct tb_service *svc, const struct tb_service_id *id)
{
	u32 flags = id->match_flags;

	return !(flags & TBSVC_MATCH_PROTOCOL_KEY && strcmp(id->protocol_key, svc->key)) &&
	       !(flags & TBSVC_MATCH_PROTOCOL_ID && id->protocol_id != svc->prtcid) &&
	       !(flags & TBSVC_MATCH_PROTOCOL_VERSION && id->protocol_version != svc->prtcvers) &&
	       !(flags & TBSVC_MATCH_PROTOCOL_REVISION && id->protocol_revision != svc->prtcrevs);
}

static const struct tb_service_id *tm_find_id(struct device *dev, const struct device_driver *drv)
{
	const struct tb_service_id *id = to_tm_driver(drv)->id_table;
	struct tb_service *svc = tb_to_service(dev);

	if (!svc || !id)
		return NULL;
	for (; id->match_flags; id++)
		if (tm_matches(svc, id))
			return id;
	return NULL;
}

static int tm_bus_match(struct device *dev, const struct device_driver *drv)
{
	return tm_find_id(dev, drv) != NULL;
}

static int tm_bus_probe(struct device *dev)
{
	return to_tm_driver(dev->driver)->probe(tb_to_service(dev));
}

static void tm_bus_remove(struct device *dev)
{
	const struct tb_service_driver *driver = to_tm_driver(dev->driver);

	if (driver->remove)
		driver->remove(tb_to_service(dev));
}

static void tm_bus_shutdown(struct device *dev)
{
	struct tb_service *svc = tb_to_service(dev);

	if (svc && dev->driver && to_tm_driver(dev->driver)->shutdown)
		to_tm_driver(dev->driver)->shutdown(svc);
}

const struct bus_type tb_bus_type = {
	.name		= "thunderbolt",
	.match		= tm_bus_match,
	.probe		= tm_bus_probe,
	.remove		= tm_bus_remove,
	.shutdown	= tm_bus_shutdown,
};
EXPORT_SYMBOL_GPL(tb_bus_type);

int tm_bus_init(void)
{
	return bus_register(&tb_bus_type);
}

void tm_bus_exit(void)
{
	bus_unregister(&tb_bus_type);
}

/* Where include/compat has a structure of its own, a macro has the name of the function. */
int (tb_register_service_driver)(struct tb_bus_service_driver *drv)
{
	drv->driver.bus = &tb_bus_type;
	return driver_register(&drv->driver);
}
EXPORT_SYMBOL_GPL(tb_register_service_driver);

void (tb_unregister_service_driver)(struct tb_bus_service_driver *drv)
{
	driver_unregister(&drv->driver);
}
EXPORT_SYMBOL_GPL(tb_unregister_service_driver);

/* ---- what the kernel calls when a system is suspended, resumed or shut down ---- */

struct tm_visit {
	struct tm_host	*host;
	int		(*call)(struct device *dev);
};

/* Drivers are called with the lock of their device, as by the kernel. */
static int tm_visit_device(struct device *dev, void *data)
{
	const struct tm_visit *visit = data;
	struct tb_service *svc = tb_to_service(dev);
	int err = 0;

	if (!svc || tb_service_parent(svc)->tb != visit->host->tb)
		return 0;
	device_lock(dev);
	if (dev->driver)
		err = visit->call(dev);
	device_unlock(dev);
	return err;
}

static int tm_visit_drivers(struct tm_host *host, int (*call)(struct device *dev))
{
	struct tm_visit visit = { .host = host, .call = call };

	return bus_for_each_dev(&tb_bus_type, NULL, &visit, tm_visit_device);
}

static int tm_suspend(struct device *dev)
{
	const struct dev_pm_ops *pm = dev->driver->pm;

	return pm && pm->suspend ? pm->suspend(dev) : 0;
}

static int tm_resume(struct device *dev)
{
	const struct dev_pm_ops *pm = dev->driver->pm;

	return pm && pm->resume ? pm->resume(dev) : 0;
}

static int tm_shutdown(struct device *dev)
{
	tm_bus_shutdown(dev);
	return 0;
}

int tm_drivers_suspend(struct tm_host *host)
{
	return tm_visit_drivers(host, tm_suspend);
}

int tm_drivers_resume(struct tm_host *host)
{
	return tm_visit_drivers(host, tm_resume);
}

void tm_drivers_shutdown(struct tm_host *host)
{
	tm_visit_drivers(host, tm_shutdown);
}
