// SPDX-License-Identifier: GPL-2.0
/* cable.c - cables that are plugged and pulled, and when a fault strikes */
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/random.h>
#include "mock.h"

static u64 seed;
module_param(seed, ullong, 0444);
MODULE_PARM_DESC(seed, "of random faults; 0: another one each time, which is printed (default 0)");

static struct rnd_state tm_random;	/* under tm_lock */

void tm_fault_seed(void)
{
	if (!seed)
		seed = get_random_u64();
	prandom_seed_state(&tm_random, seed);
	pr_info("kfi_usb4_mock: seed=%llu\n", seed);
}

bool tm_fault_strikes(u32 ppm)
{
	lockdep_assert_held(&tm_lock);
	return ppm && prandom_u32_state(&tm_random) % 1000000 < ppm;
}

/* What is on the way is lost at once. The hosts hear of it by an event each. */
void tm_cable_plug(struct tm_cable *cable, bool plugged)
{
	struct tm_port *port;

	lockdep_assert_held(&tm_lock);
	if (cable->plugged == plugged)
		return;
	cable->plugged = plugged;
	cable->life += !plugged;
	for (port = cable->port; port < cable->port + TM_HOSTS; port++)
		queue_delayed_work(port->host->tb->wq, &port->hotplug, 0);
	tm_engine_go_on();
}
