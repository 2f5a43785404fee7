// SPDX-License-Identifier: GPL-2.0
/*
 * main.c - init and exit of kfi.ko
 */
#include <linux/module.h>
#include <net/genetlink.h>
#include <linux/kfi.h>
#include <kfi_version.h>

#include "atomic.h"
#include "mux/mux.h"
#include "proto/conn.h"
#include "registry.h"

static int __init kfi_init(void)
{
	int ret;

	kfi_mr_init();
	kfi_payer_init();
	kfi_atomic_init();
	ret = kfi_device_init();
	if (ret)
		return ret;
	ret = kfi_idmap_init();
	if (ret)
		goto exit_device;
	ret = kfi_versions_init();
	if (ret)
		goto exit_idmap;
	kfi_wire_register(&kfp_wire);
	kfi_wire_register(&kmx_wire);
	ret = kfi_cq_init();
	if (ret)
		goto exit_versions;
	ret = kfi_overdue_init();
	if (ret)
		goto exit_cq;
	ret = kfp_init();
	if (ret)
		goto exit_overdue;
	ret = kfi_fabric_init();
	if (ret)
		goto exit_proto;
	ret = kfi_netlink_init();
	if (ret)
		goto exit_fabric;
	return 0;

exit_fabric:
	kfi_fabric_exit();
exit_proto:
	kfp_exit();
exit_overdue:
	kfi_overdue_exit();
exit_cq:
	kfi_cq_exit();
exit_versions:
	kfi_wire_unregister(&kmx_wire);
	kfi_wire_unregister(&kfp_wire);
	kfi_versions_exit();
exit_idmap:
	kfi_idmap_exit();
exit_device:
	kfi_device_exit();
	return ret;
}

/* An open fabric pins its provider's module, which depends on kfi.ko: no object is left here. */
static void __exit kfi_exit(void)
{
	kfi_netlink_exit();
	kfi_fabric_exit();
	kfp_exit();
	kfi_mr_exit();
	kfi_overdue_exit();
	kfi_cq_exit();
	kfi_wire_unregister(&kmx_wire);
	kfi_wire_unregister(&kfp_wire);
	kfi_versions_exit();
	kfi_idmap_exit();
	kfi_device_exit();
}

module_init(kfi_init);
module_exit(kfi_exit);

MODULE_DESCRIPTION("kfabric: one message and RMA interface over any fabric");
MODULE_VERSION(KFABRIC_VERSION);
MODULE_LICENSE("GPL");
MODULE_ALIAS("kfabric");
MODULE_ALIAS_GENL_FAMILY(KFI_GENL_NAME);	/* "kfi info" loads kfi.ko */
