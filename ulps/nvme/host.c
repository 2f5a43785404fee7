// SPDX-License-Identifier: GPL-2.0
/*
 * host.c - nvme-kfi, the host of NVMe over Fabrics over kfabric: init, exit, and `nvme connect -t
 * kfi`.
 */
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <kfi_param.h>
#include <kfi_version.h>
#include "host.h"

static char provider[KFI_NAME_MAX];
KFI_PARAM_TEXT(provider, provider, 0644,
	       "kfabric provider (default: the first that reaches the target)");

static bool tls;
module_param(tls, bool, 0644);
MODULE_PARM_DESC(tls, "connect only under TLS, as with --tls (default no)");

static bool hdr_digest;
module_param(hdr_digest, bool, 0644);
MODULE_PARM_DESC(hdr_digest,
		 "connect only with digests of headers, as with --hdr-digest (default no)");

static bool data_digest;
module_param(data_digest, bool, 0644);
MODULE_PARM_DESC(data_digest,
		 "connect only with digests of data, as with --data-digest (default no)");

bool kfn_verify;
module_param_named(verify, kfn_verify, bool, 0644);
MODULE_PARM_DESC(verify, "let targets read the memory of reads, for bypass_verify (default no)");

/* Runs lost_work, in a queue of its own, because work items of the core may wait for lost_work */
struct workqueue_struct *kfn_wq;

/* All complete controllers */
static LIST_HEAD(kfn_ctrls);
static DEFINE_MUTEX(kfn_ctrls_lock);

void kfn_provider(char name[KFI_NAME_MAX])
{
	kfi_param_read(name, provider, KFI_NAME_MAX);
}

bool kfn_tls(void)
{
	return READ_ONCE(tls);
}

static void kfn_free_ctrl(struct nvme_ctrl *nctrl)
{
	struct kfn_ctrl *ctrl = to_kfn(nctrl);

	if (!list_empty(&ctrl->entry)) {
		mutex_lock(&kfn_ctrls_lock);
		list_del(&ctrl->entry);
		mutex_unlock(&kfn_ctrls_lock);
		nvmf_free_options(nctrl->opts);
	}
	put_net_track(ctrl->net, &ctrl->ns_tracker);
	kfree(ctrl->queues);
	kfree(ctrl);
}

/*
 * Show the local address of the admin queue, as the target sees it, if it is one of IP. Ends of
 * bridges and cables are not shown.
 */
static int kfn_get_address(struct nvme_ctrl *nctrl, char *buf, int size)
{
	int len = nvmf_get_address(nctrl, buf, size);
	struct sockaddr_storage addr = {};
	size_t addrlen = sizeof(addr);
	int ret = kfi_conn_name(&to_kfn(nctrl)->queues[0].conn, &addr, &addrlen);

	if (ret || !((addr.ss_family == AF_INET && addrlen == sizeof(struct sockaddr_in)) ||
		     (addr.ss_family == AF_INET6 && addrlen == sizeof(struct sockaddr_in6))))
		return len;
	if (len > 0)
		len--;	/* without the newline */
	return len + scnprintf(buf + len, size - len, "%ssrc_addr=%pISc\n", len ? "," : "", &addr);
}

static unsigned long __maybe_unused kfn_get_virt_boundary(struct nvme_ctrl *nctrl, bool is_admin)
{
	return to_kfn(nctrl)->virt_mask;
}

static const struct nvme_ctrl_ops kfn_ctrl_ops = {
	.name			= "kfi",
	.module			= THIS_MODULE,
	.flags			= NVME_F_FABRICS,
	.reg_read32		= nvmf_reg_read32,
	.reg_read64		= nvmf_reg_read64,
	.reg_write32		= nvmf_reg_write32,
	.free_ctrl		= kfn_free_ctrl,
	.submit_async_event	= kfn_submit_async_event,
	.delete_ctrl		= kfn_delete_ctrl,
	.stop_ctrl		= kfn_stop_ctrl,
	.get_address		= kfn_get_address,
	KFN_SUBSYSTEM_RESET_OP(nvmf_subsystem_reset)
	KFN_VIRT_BOUNDARY_OP(kfn_get_virt_boundary)
};

/* ---- creation ---- */

static bool kfn_exists(struct nvmf_ctrl_options *opts)
{
	struct kfn_ctrl *ctrl;
	bool found = false;

	mutex_lock(&kfn_ctrls_lock);
	list_for_each_entry(ctrl, &kfn_ctrls, entry) {
		found = net_eq(ctrl->net, current->nsproxy->net_ns) &&
			nvmf_ip_options_match(&ctrl->ctrl, opts);
		if (found)
			break;
	}
	mutex_unlock(&kfn_ctrls_lock);
	return found;
}

static int kfn_check_options(struct nvmf_ctrl_options *opts)
{
	if (!(opts->mask & NVMF_OPT_TRSVCID)) {
		opts->trsvcid = kstrdup(KFN_PORT, GFP_KERNEL);
		if (!opts->trsvcid)
			return -ENOMEM;
		opts->mask |= NVMF_OPT_TRSVCID;
	}
	/* The core reads data_digest: pages that are being written must not change. */
	opts->hdr_digest |= READ_ONCE(hdr_digest);
	opts->data_digest |= READ_ONCE(data_digest);
	return !opts->duplicate_connect && kfn_exists(opts) ? -EALREADY : 0;
}

static struct kfn_ctrl *kfn_alloc_ctrl(struct device *dev, struct nvmf_ctrl_options *opts)
{
	struct kfn_ctrl *ctrl;
	int ret;

	ret = kfn_check_options(opts);
	if (ret)
		return ERR_PTR(ret);
	ctrl = kzalloc(sizeof(*ctrl), GFP_KERNEL);
	if (!ctrl)
		return ERR_PTR(-ENOMEM);
	ctrl->ctrl.opts = opts;
	ctrl->ctrl.queue_count = opts->nr_io_queues + opts->nr_write_queues +
				 opts->nr_poll_queues + 1;
	ctrl->ctrl.sqsize = opts->queue_size - 1;
	ctrl->ctrl.kato = opts->kato;
	ctrl->digests = (opts->hdr_digest ? KFN_DIGEST_HEADER : 0) |
			(opts->data_digest ? KFN_DIGEST_DATA : 0);
	ret = -ENOMEM;
	ctrl->nr_queues = ctrl->ctrl.queue_count;
	ctrl->queues = kcalloc(ctrl->nr_queues, sizeof(*ctrl->queues), GFP_KERNEL);
	if (!ctrl->queues)
		goto free;
	kfn_ctrl_init(ctrl);
	ctrl->net = get_net_track(current->nsproxy->net_ns, &ctrl->ns_tracker, GFP_KERNEL);
	ret = nvme_init_ctrl(&ctrl->ctrl, dev, &kfn_ctrl_ops, 0);
	if (!ret)
		return ctrl;

	put_net_track(ctrl->net, &ctrl->ns_tracker);
	kfree(ctrl->queues);
free:
	kfree(ctrl);
	return ERR_PTR(ret);
}

/*
 * The core returns -EINTR for a command that was cancelled because its connection was lost, and a
 * program would just try again.
 */
static int kfn_create_error(int err)
{
	return err > 0 ? -EIO : err == -EINTR && !signal_pending(current) ? -ECONNRESET : err;
}

static struct nvme_ctrl *kfn_create_ctrl(struct device *dev, struct nvmf_ctrl_options *opts)
{
	struct kfn_ctrl *ctrl = kfn_alloc_ctrl(dev, opts);
	int ret;

	if (IS_ERR(ctrl))
		return ERR_CAST(ctrl);
	ret = nvme_add_ctrl(&ctrl->ctrl);
	if (ret)
		goto put;
	WARN_ON_ONCE(!nvme_change_ctrl_state(&ctrl->ctrl, NVME_CTRL_CONNECTING));
	ret = kfn_setup(ctrl, true);
	if (ret)
		goto uninit;
	dev_info(ctrl->ctrl.device, "new ctrl: NQN \"%s\", %s:%s\n",
		 nvmf_ctrl_subsysnqn(&ctrl->ctrl), opts->traddr, opts->trsvcid);
	mutex_lock(&kfn_ctrls_lock);
	list_add_tail(&ctrl->entry, &kfn_ctrls);
	mutex_unlock(&kfn_ctrls_lock);
	return &ctrl->ctrl;

uninit:
	nvme_uninit_ctrl(&ctrl->ctrl);
put:
	nvme_put_ctrl(&ctrl->ctrl);
	return ERR_PTR(kfn_create_error(ret));
}

static struct nvmf_transport_ops kfn_transport = {
	.name		= "kfi",
	.module		= THIS_MODULE,
	.required_opts	= NVMF_OPT_TRADDR,
	.allowed_opts	= NVMF_OPT_TRSVCID | NVMF_OPT_RECONNECT_DELAY | NVMF_OPT_HOST_TRADDR |
			  NVMF_OPT_HOST_IFACE | NVMF_OPT_CTRL_LOSS_TMO | NVMF_OPT_NR_WRITE_QUEUES |
			  NVMF_OPT_NR_POLL_QUEUES | NVMF_OPT_TOS | NVMF_OPT_TLS | NVMF_OPT_KEYRING |
			  NVMF_OPT_HDR_DIGEST | NVMF_OPT_DATA_DIGEST,
	.create_ctrl	= kfn_create_ctrl,
};

/* ---- the module ---- */

static int __init kfn_init(void)
{
	int ret = kfn_check_layouts();

	if (ret)
		return ret;
	kfn_wq = alloc_workqueue("nvme-kfi", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!kfn_wq)
		return -ENOMEM;
	ret = nvmf_register_transport(&kfn_transport);
	if (ret)
		destroy_workqueue(kfn_wq);
	return ret;
}

static void kfn_delete_all(void)
{
	struct kfn_ctrl *ctrl;

	mutex_lock(&kfn_ctrls_lock);
	list_for_each_entry(ctrl, &kfn_ctrls, entry)
		nvme_delete_ctrl(&ctrl->ctrl);
	mutex_unlock(&kfn_ctrls_lock);
	flush_workqueue(nvme_delete_wq);
}

static void __exit kfn_exit(void)
{
	nvmf_unregister_transport(&kfn_transport);
	kfn_delete_all();
	destroy_workqueue(kfn_wq);
}

module_init(kfn_init);
module_exit(kfn_exit);

MODULE_ALIAS("nvme-kfi");
MODULE_DESCRIPTION("NVMe over Fabrics host over kfabric");
MODULE_VERSION(KFABRIC_VERSION);
MODULE_LICENSE("GPL");
