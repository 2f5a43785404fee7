/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The probe() of a service driver has the service as its only argument since 7.3. */
#ifndef _KFI_COMPAT_LINUX_THUNDERBOLT_H
#define _KFI_COMPAT_LINUX_THUNDERBOLT_H

#ifdef KFI_HAVE_TB_PROBE_SERVICE
#include_next <linux/thunderbolt.h>

/* The structure that the bus knows, for tests/mock, which is the bus. */
#define tb_bus_service_driver	tb_service_driver
#else
#define tb_service_driver	tb_bus_service_driver
#include_next <linux/thunderbolt.h>
#undef tb_service_driver

/* A driver as 7.3 declares it. The bus knows the same memory as its own structure. */
struct tb_service_driver {
	union {
		struct tb_bus_service_driver bus;
		struct {
			struct device_driver driver;
			int (*bus_probe)(struct tb_service *svc, const struct tb_service_id *id);
			void (*remove)(struct tb_service *svc);
			void (*shutdown)(struct tb_service *svc);
			const struct tb_service_id *id_table;
		};
	};
	int (*probe)(struct tb_service *svc);
};

#define KFI_TB_SAME_PLACE(ours, theirs)						\
	static_assert(offsetof(struct tb_service_driver, ours) ==		\
		      offsetof(struct tb_bus_service_driver, theirs))
KFI_TB_SAME_PLACE(driver, driver);
KFI_TB_SAME_PLACE(bus_probe, probe);
KFI_TB_SAME_PLACE(remove, remove);
KFI_TB_SAME_PLACE(shutdown, shutdown);
KFI_TB_SAME_PLACE(id_table, id_table);
#undef KFI_TB_SAME_PLACE

static inline int kfi_tb_probe(struct tb_service *svc, const struct tb_service_id *id)
{
	return container_of(svc->dev.driver, struct tb_service_driver, driver)->probe(svc);
}

static inline int kfi_tb_register(struct tb_service_driver *drv)
{
	drv->bus_probe = kfi_tb_probe;
	return tb_register_service_driver(&drv->bus);
}

#define tb_register_service_driver(drv)		kfi_tb_register(drv)
#define tb_unregister_service_driver(drv)	tb_unregister_service_driver(&(drv)->bus)
#endif

#endif
