// SPDX-License-Identifier: GPL-2.0
/*
 * kfi_verbs - kfabric over the kernel's RDMA core: InfiniBand, RoCE and iWARP, by the generic verbs and rdma_cm alone.
 *
 *   main.c    this: parameters, operations, life of the module
 *   dev.c     devices and domains    addr.c  names    info.c  what we offer
 *   ep.c      endpoints    rdm.c  msg.c  their kinds    plain.c  MSG endpoints: queue pairs without our protocol
 *   cm.c      how a connection comes about    auth.c  with a key    conn.c  its life
 *   qp.c  slot.c  what it has at the device    drain.c  how that ends
 *   tx.c      the send path    sq.c  the send queue    rx.c  the receive path
 *   rdv.c     long messages    rma.c  key.c  RMA of ours    frmr.c  what both register    region.c  rkey.c  memory that peers may name
 *   atomic.c  atomic operations    commit.c  what is to be durable
 *   mem.c     consumers' memory as devices want it    wire.[ch]  the format
 */
#include <linux/module.h>
#include "verbs.h"

/* What makes no sense is refused, at load and later. */
#define KV_PARAM(name, var, low, high, perm)							\
	static int kv_set_##name(const char *val, const struct kernel_param *kp)		\
	{											\
		return param_set_uint_minmax(val, kp, low, high);				\
	}											\
	static const struct kernel_param_ops kv_ops_##name = {					\
		.set = kv_set_##name, .get = param_get_uint,					\
	};											\
	module_param_cb(name, &kv_ops_##name, &(var), perm);					\
	__MODULE_PARM_TYPE(name, "uint")

#define KV_MS_MAX	3600000		/* an hour */

unsigned int kv_window = 64;
KV_PARAM(window, kv_window, 4, KVW_WINDOW_MAX, 0444);
MODULE_PARM_DESC(window, "packets of each class that a peer may have unreceived, 4 to 4096 (default 64)");

unsigned int kv_answers = 64;
KV_PARAM(requests, kv_answers, 4, KVW_WINDOW_MAX, 0444);
MODULE_PARM_DESC(requests, "unanswered requests of ours to a peer, 4 to 4096 (default 64)");

unsigned int kv_connect_timeout_ms = 10000;
KV_PARAM(connect_timeout_ms, kv_connect_timeout_ms, 1, KV_MS_MAX, 0644);
MODULE_PARM_DESC(connect_timeout_ms, "time for a connection to be established, milliseconds (default 10000)");

unsigned int kv_keepalive_s = 5;
KV_PARAM(keepalive_s, kv_keepalive_s, 1, KV_MS_MAX / 1000, 0644);
MODULE_PARM_DESC(keepalive_s, "silence before a peer is asked for a sign of life, seconds (default 5)");

unsigned int kv_timeout_ms = 10000;
KV_PARAM(timeout_ms, kv_timeout_ms, 1, KV_MS_MAX, 0644);
MODULE_PARM_DESC(timeout_ms, "time for that sign before the peer is dead, milliseconds (default 10000)");

unsigned int kv_backlog = 512;
KV_PARAM(backlog, kv_backlog, 1, USHRT_MAX, 0644);
MODULE_PARM_DESC(backlog, "unanswered connection requests per listening endpoint (default 512)");

unsigned int kv_max_peers = 4096;
KV_PARAM(max_peers, kv_max_peers, 0, INT_MAX, 0644);
MODULE_PARM_DESC(max_peers, "peers per endpoint that may connect by themselves (default 4096)");

unsigned int kv_drain_ms = 60000;
KV_PARAM(drain_ms, kv_drain_ms, 100, KV_MS_MAX, 0644);
MODULE_PARM_DESC(drain_ms, "time for a device to give back what a connection gave it, milliseconds (default 60000)");

unsigned int kv_short_port = 12345;
KV_PARAM(short_port, kv_short_port, 1, KFI_SHORT_PORT_MAX, 0444);
MODULE_PARM_DESC(short_port,
		 "port of pid 0 in short names, which kfilnd has, 1 to 61440 (default 12345)");

unsigned int kv_held_max = 8192;
KV_PARAM(held_max, kv_held_max, 1, INT_MAX, 0644);
MODULE_PARM_DESC(held_max,
		 "messages per endpoint that dead connections may have left before callers are refused; an address may leave a fourth (default 8192)");

struct workqueue_struct *kv_cm_wq;
struct workqueue_struct *kv_region_wq;
struct workqueue_struct *kv_commit_wq;

struct kfi_prov_ops kv_msg_ops __ro_after_init;

static const struct kfi_prov_ops kv_ops = {
	.domain_size	= sizeof(struct kv_domain),
	.ep_size	= sizeof(struct kv_ep),
	.pep_size	= sizeof(struct kv_pep),
	.tx_priv	= sizeof(struct kv_op),
	.cm_data_size	= KVW_DATA_MAX,
	.atomic_size	= KVW_ATOMIC_MAX,
	.atomic_targets	= KV_DESCS,
	.flush		= true,

	.getinfo	= kv_getinfo,
	.resolve	= kv_resolve,
	.addr_check	= kv_addr_check,
	.addr_str	= kfi_inaddr_str,
	.domain_open	= kv_domain_open,
	.domain_close	= kv_domain_close,

	.ep_open	= kv_ep_open,
	.ep_enable	= kv_ep_enable,
	.ep_stop	= kv_ep_stop,
	.ep_restart	= kv_ep_restart,
	.ep_close	= kv_ep_close,
	.getname	= kv_ep_getname,
	.setname	= kv_ep_setname,
	.peers		= kv_ep_peers,
	.addr_removed	= kv_addr_removed,

	.tx		= kv_tx,
	.tx_flush	= kv_tx_flush,
	.rx_posted	= kv_plain_recv,
	.rx_cancel	= kv_plain_cancel,
	.rx_matched	= kv_rx_matched,
	.rx_drop	= kv_rx_drop,

	.connect	= kv_msg_connect,
	.accept		= kv_msg_accept,
	.shutdown	= kv_msg_shutdown,
	.getpeer	= kv_msg_getpeer,
	.pep_open	= kv_pep_open,
	.pep_close	= kv_pep_close,
	.pep_getname	= kv_pep_getname,
	.pep_setname	= kv_pep_setname,
	.listen		= kv_pep_listen,
	.reject		= kv_pep_reject,

	.mr_reg		= kv_mr_open,
	.mr_dereg	= kv_mr_close,
	.mr_end		= kv_mr_end,
	.mr_enable	= kv_mr_enable,
	.mr_attach	= kv_mr_attach,
	.mr_publish	= kv_mr_publish,
	.mr_known	= kv_mr_known,
};

/* Of endpoints that are queue pairs: what needs the protocol is not there. */
static void __init kv_msg_ops_init(void)
{
	kv_msg_ops = kv_ops;
	kv_msg_ops.tx = kv_plain_tx;
	kv_msg_ops.flush = false;
	kv_msg_ops.atomic_size = 0;
}

static struct kfi_provider kv_provider = {
	.name		= "verbs",
	.version	= KFI_VERSION(1, 0),
	.ops		= &kv_ops,
};

static int __init kv_init(void)
{
	int ret = -ENOMEM;

	kv_msg_ops_init();
	kv_cm_wq = alloc_workqueue("kfi_verbs_cm", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!kv_cm_wq)
		return ret;
	kv_commit_wq = alloc_workqueue("kfi_verbs_commit", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!kv_commit_wq)
		goto destroy_wq;
	kv_region_wq = alloc_workqueue("kfi_verbs_region", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!kv_region_wq)
		goto destroy_commit_wq;
	ret = kv_dev_init();
	if (ret)
		goto destroy_region_wq;
	ret = kfi_provider_register(&kv_provider);
	if (ret)
		goto exit_dev;
	return 0;
exit_dev:
	kv_dev_exit();
destroy_region_wq:
	destroy_workqueue(kv_region_wq);
destroy_commit_wq:
	destroy_workqueue(kv_commit_wq);
destroy_wq:
	destroy_workqueue(kv_cm_wq);
	return ret;
}

static void __exit kv_exit(void)
{
	kfi_provider_deregister(&kv_provider);
	kv_dev_exit();
	destroy_workqueue(kv_region_wq);
	destroy_workqueue(kv_commit_wq);
	destroy_workqueue(kv_cm_wq);
}

module_init(kv_init);
module_exit(kv_exit);
MODULE_DESCRIPTION("kfabric provider over RDMA verbs");
MODULE_LICENSE("GPL");
MODULE_ALIAS("kfi-provider-verbs");
