// SPDX-License-Identifier: GPL-2.0
/*
 * target.c - nvmet-kfi, the target of NVMe over Fabrics over kfabric: init, exit, and the
 * operations for nvmet.
 */
#include <linux/module.h>
#include <kfi_param.h>
#include <kfi_version.h>
#include "target.h"

enum { KFNT_TRTYPE = 253 };

static char provider[KFI_NAME_MAX];
KFI_PARAM_TEXT(provider, provider, 0644,
	       "kfabric provider of ports (default: all that serve the address)");

static unsigned int trtype = KFNT_TRTYPE;
module_param(trtype, uint, 0444);
MODULE_PARM_DESC(trtype, "transport type number (default 253; 254: use \"loop\" in configfs)");

/* Seconds that a connection has for NVMe's connect */
static unsigned int connect_timeout = 30;
KFI_TEST_PARAM(connect_timeout, connect_timeout, uint);

/* The release of a queue waits for the work item that posts. */
struct kfi_conn_ops kfnt_conn_ops = {
	.received	= kfnt_received,
	.lost		= kfnt_lost,
	.release	= kfnt_release,
};

void kfnt_provider(char name[KFI_NAME_MAX])
{
	kfi_param_read(name, provider, KFI_NAME_MAX);
}

unsigned int kfnt_connect_ms(void)
{
	return READ_ONCE(connect_timeout) * MSEC_PER_SEC;
}

/* Report the address at which the host has connected: it can reach that address. */
static void kfnt_disc_traddr(struct nvmet_req *req, struct nvmet_port *nport, char *traddr)
{
	strscpy_pad(traddr, kfnt_queue(to_kfnt_cmd(req))->traddr, NVMF_TRADDR_SIZE);
}

static u8 kfnt_get_mdts(const struct nvmet_ctrl *ctrl)
{
	return KFN_MDTS;
}

static u16 kfnt_get_max_queue_size(const struct nvmet_ctrl *ctrl)
{
	return kfnt_port_queue_size(ctrl->port, KFN_QUEUE_DEFAULT);
}

/* The type is set before the registration, and constant after that. */
struct nvmet_fabrics_ops kfnt_ops = {
	.owner			= THIS_MODULE,
	.msdbd			= 1,
	.flags			= NVMF_KEYED_SGLS,
	.add_port		= kfnt_add_port,
	.remove_port		= kfnt_remove_port,
	.queue_response		= kfnt_queue_response,
	.delete_ctrl		= kfnt_delete_ctrl,
	.install_queue		= kfnt_install_queue,
	.disc_traddr		= kfnt_disc_traddr,
	.get_mdts		= kfnt_get_mdts,
	.get_max_queue_size	= kfnt_get_max_queue_size,
};

static void kfnt_destroy_workqueues(void)
{
	if (kfnt_conn_ops.end_wq)
		destroy_workqueue(kfnt_conn_ops.end_wq);
	if (kfnt_conn_ops.post_wq)
		destroy_workqueue(kfnt_conn_ops.post_wq);
}

static int kfnt_make_workqueues(void)
{
	kfnt_conn_ops.end_wq = alloc_workqueue("nvmet-kfi", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	/* bound: answers are posted on the CPU of the disk's interrupt */
	kfnt_conn_ops.post_wq = alloc_workqueue("nvmet-kfi-post",
						WQ_MEM_RECLAIM | WQ_PERCPU | WQ_HIGHPRI, 0);
	if (kfnt_conn_ops.end_wq && kfnt_conn_ops.post_wq)
		return 0;
	kfnt_destroy_workqueues();
	return -ENOMEM;
}

static int __init kfnt_init(void)
{
	int ret;

	if (trtype != KFNT_TRTYPE && trtype != NVMF_TRTYPE_LOOP) {
		pr_err("nvmet-kfi: trtype is 253, or 254 for the name \"loop\"\n");
		return -EINVAL;
	}
	kfnt_ops.type = trtype;
	ret = kfnt_check_layouts() ?: kfnt_make_workqueues();
	if (ret)
		return ret;
	kfnt_places_init();
	ret = nvmet_register_transport(&kfnt_ops);
	if (!ret)
		return 0;
	kfnt_places_exit();
	if (ret == -EINVAL)
		pr_err("nvmet-kfi: transport type %u has another owner%s\n", trtype,
		       trtype == NVMF_TRTYPE_LOOP ?
		       ": disable its ports, rmmod nvme-loop, load nvmet-kfi before it (nvme-kfi(7))" : "");
	kfnt_destroy_workqueues();
	return ret;
}

static void __exit kfnt_exit(void)
{
	nvmet_unregister_transport(&kfnt_ops);
	kfnt_ports_exit();
	kfnt_places_exit();
	kfnt_destroy_workqueues();
}

module_init(kfnt_init);
module_exit(kfnt_exit);

MODULE_ALIAS("nvmet-transport-253");
MODULE_DESCRIPTION("NVMe over Fabrics target over kfabric");
MODULE_VERSION(KFABRIC_VERSION);
MODULE_LICENSE("GPL");
