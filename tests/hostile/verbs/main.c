// SPDX-License-Identifier: GPL-2.0
/*
 * main.c - loading the module is the test; its result is insmod's. It runs in the network namespace of who loads it.
 */
#include <linux/module.h>
#include "hostile.h"

static char *node = "10.0.0.1";
module_param(node, charp, 0444);
MODULE_PARM_DESC(node, "an address of this namespace that an RDMA device has");

static char *only = "";
module_param(only, charp, 0444);
MODULE_PARM_DESC(only, "this case alone (default: all)");

static char *without = "";
module_param(without, charp, 0444);
MODULE_PARM_DESC(without, "not this case (default: all run)");

static int __init hostile_init(void)
{
	return hostile_cases(node, only, without) ? -EIO : 0;
}

static void __exit hostile_exit(void)
{
}

module_init(hostile_init);
module_exit(hostile_exit);
MODULE_DESCRIPTION("a hostile peer of kfi_verbs");
MODULE_LICENSE("GPL");
