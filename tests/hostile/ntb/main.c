// SPDX-License-Identifier: GPL-2.0
/*
 * main.c - takes the end of a bridge that has the larger port. kfi_ntb has the other one already.
 * Loading the module is the test; its result is insmod's.
 */
#include <linux/module.h>
#include "hostile.h"

static char *only = "";
module_param(only, charp, 0444);
MODULE_PARM_DESC(only, "this case alone (default: all)");

static bool mapped;
module_param(mapped, bool, 0444);
MODULE_PARM_DESC(mapped, "kfi_ntb has a window over what is registered: the cases that want one");

static struct hp hp;

static int probe(struct ntb_client *client, struct ntb_dev *ntb)
{
	if (hp.ntb || ntb_port_number(ntb) < ntb_peer_port_number(ntb, 0))
		return -ENODEV;
	return hp_start(&hp, ntb);
}

static void remove(struct ntb_client *client, struct ntb_dev *ntb)
{
	hp_stop(&hp);
}

static struct ntb_client client = {
	.ops = {
		.probe	= probe,
		.remove	= remove,
	},
};

static int __init hostile_init(void)
{
	int ret = ntb_register_client(&client);

	if (ret)
		return ret;
	ret = hp.ntb ? hp_wait_up(&hp) : -ENODEV;
	if (ret)
		pr_err("hostile: wrong: there is no link (%d)\n", ret);
	else
		ret = hostile_cases(&hp, only, mapped) ? -EIO : 0;
	if (ret)
		ntb_unregister_client(&client);
	return ret;
}

static void __exit hostile_exit(void)
{
	ntb_unregister_client(&client);
}

module_init(hostile_init);
module_exit(hostile_exit);
MODULE_DESCRIPTION("a hostile peer of kfi_ntb");
MODULE_LICENSE("GPL");
