// SPDX-License-Identifier: GPL-2.0
/*
 * kfi_verbs - kfabric over the kernel's RDMA core: the life of the module.
 */
#include <linux/module.h>
#include "dev.h"

static int __init kv_init(void)
{
	return kv_dev_init();
}

static void __exit kv_exit(void)
{
	kv_dev_exit();
}

module_init(kv_init);
module_exit(kv_exit);
MODULE_DESCRIPTION("kfabric provider over RDMA verbs");
MODULE_LICENSE("GPL");
MODULE_ALIAS("kfi-provider-verbs");
