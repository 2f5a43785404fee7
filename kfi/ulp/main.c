// SPDX-License-Identifier: GPL-2.0
/* main.c - kfi_ulp.ko, the kit for ULPs: init and exit. It has lists of domains and of listeners. */
#include <linux/module.h>
#include <kfi_version.h>
#include "ulp.h"

static int __init ulp_init(void)
{
	return kfi_listeners_init();
}

static void __exit ulp_exit(void)
{
	kfi_listeners_exit();
}

module_init(ulp_init);
module_exit(ulp_exit);

MODULE_DESCRIPTION("kfabric: the kit for ULPs");
MODULE_VERSION(KFABRIC_VERSION);
MODULE_LICENSE("GPL");
