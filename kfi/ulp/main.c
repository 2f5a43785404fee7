// SPDX-License-Identifier: GPL-2.0
/* main.c - kfi_ulp.ko, the kit for ULPs. It has no state of its own but the list in dom.c. */
#include <linux/module.h>

MODULE_DESCRIPTION("kfabric: the kit for ULPs");
MODULE_LICENSE("GPL");
