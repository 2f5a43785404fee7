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
