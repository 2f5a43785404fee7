// SPDX-License-Identifier: GPL-2.0
/*
 * kfi_usb4_mock - a simulated core of USB4 (drivers/thunderbolt): two hosts in one kernel, joined
 * by cables. Service drivers run on it under KASAN, lockdep and kmemleak, in kernels that have no
 * CONFIG_USB4. README.md lists its rules and their sources.
 *
 *   main.c      this: the module         host.c     domains and host interfaces
 *   bus.c       services and drivers     xdomain.c  plug and unplug events, services
 *   property.c  what hosts announce      channel.c  packets of services
 *   path.c      paths and HopIDs         ring.c     rings: the driver's half
 *   cable.c     cables, faults           engine.c   rings: the host interface's half, interrupts
 *   control.c   commands, in debugfs
 */
#include <linux/module.h>
#include "mock.h"

struct tm_host tm_host[TM_HOSTS];
struct tm_cable tm_cable[TM_CABLES];

unsigned int tm_cables = 1;
module_param_named(cables, tm_cables, uint, 0444);
MODULE_PARM_DESC(cables, "cables between host a and host b (1-3, default 1)");

bool tm_old_core;
module_param_named(old_core, tm_old_core, bool, 0444);
MODULE_PARM_DESC(old_core, "at an unplug drivers are unbound under tb->lock (Linux 6.1, 6.12)");

bool tm_interfaces;
module_param_named(interfaces, tm_interfaces, bool, 0444);
MODULE_PARM_DESC(interfaces, "each port of a host has the UUID of a host interface of its own");

/* Both ends of a cable have different routes. */
static void __init tm_cable_init(struct tm_cable *cable, int index)
{
	struct tm_port *port;

	cable->index = index;
	for (port = cable->port; port < cable->port + TM_HOSTS; port++) {
		port->cable = cable;
		port->host = &tm_host[port - cable->port];
		port->route = 1 + 2 * ((index + port->host->index) % TM_CABLES);
		tm_port_init(port);
	}
}

static void tm_plug_all(bool in)
{
	int i;

	spin_lock_irq(&tm_lock);
	for (i = 0; i < tm_cables; i++)
		tm_cable_plug(&tm_cable[i], in);
	spin_unlock_irq(&tm_lock);
}

static int __init tm_add_hosts(void)
{
	int err;

	err = tm_host_add(&tm_host[0]);
	if (err)
		return err;
	err = tm_host_add(&tm_host[1]);
	if (err)
		tm_host_remove(&tm_host[0]);
	return err;
}

static int __init tm_init(void)
{
	int i, err;

	if (!tm_cables || tm_cables > TM_CABLES)
		return -EINVAL;
	err = tm_properties_init();
	if (err)
		return err;
	err = tm_bus_init();
	if (err)
		goto err_properties;
	err = tm_driver_init();
	if (err)
		goto err_bus;
	tm_fault_seed();
	err = tm_add_hosts();
	if (err)
		goto err_driver;
	for (i = 0; i < tm_cables; i++)
		tm_cable_init(&tm_cable[i], i);
	tm_plug_all(true);
	tm_control_init();
	return 0;

err_driver:
	tm_driver_exit();
err_bus:
	tm_bus_exit();
err_properties:
	tm_properties_exit();
	return err;
}

/* No service driver is left, as they use symbols of this module. */
static void __exit tm_exit(void)
{
	int i;

	tm_control_exit();
	tm_plug_all(false);
	for (i = 0; i < tm_cables; i++) {
		tm_port_exit(&tm_cable[i].port[0]);
		tm_port_exit(&tm_cable[i].port[1]);
	}
	tm_host_remove(&tm_host[0]);
	tm_host_remove(&tm_host[1]);
	tm_driver_exit();
	tm_bus_exit();
	tm_properties_exit();
}

module_init(tm_init);
module_exit(tm_exit);
MODULE_DESCRIPTION("two hosts and USB4 cables between them, in software");
MODULE_LICENSE("GPL");
