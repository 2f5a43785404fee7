// SPDX-License-Identifier: GPL-2.0
/*
 * kfi_verbs - kfabric over the kernel's RDMA core: InfiniBand, RoCE and iWARP. It uses only the
 * generic verbs and rdma_cm.
 *
 *   main.c		parameters, operations, init and exit of the module
 *   dev.c  addr.c	devices and domains, and names
 *   info.c		discovery
 *   ep.c		endpoints
 *   plain.c  recv.c	MSG endpoints: queue pairs without the message protocol
 *   msg.c  conn.c	the connections of MSG endpoints
 *   link.c		connections of RDM endpoints, as links of the message protocol (kfi_link.h)
 *   cm.c		rdma_cm, for both
 *   stream.c		the byte streams of a link
 *   expose.c		memory that the peer of a link writes to
 *   region.c  rkey.c	registrations of memory regions
 *   qp.c  sq.c  cq.c	queue pairs, send queues, completion queues
 *   mem.c		memory of consumers
 *   wire.h		format of a link
 */
#include <linux/module.h>
#include <kfi_version.h>
#include "verbs.h"

struct kfi_proto kv_proto = {
	.name		= "verbs",
	.ops		= &kv_link_ops,
	.addr_str	= kfi_inaddr_str,
	.buffers	= KV_RECVS * KVW_SEND_MAX + KV_LINK_SQ * KV_LINK_BUF +
			  KV_FRMRS * KV_FRMR_PAGES * sizeof(struct scatterlist) +
			  SZ_64K,				/* and a queue pair */
	.params = {
		KFI_PROTO_DEFAULTS,
		KFI_PROTO_GRANT_DEFAULTS,
		/* a page, and a header of a consumer in front of it */
		.eager_size		= 4352,
		.unexpected_origin	= 32768,
		.origin_peers		= 4096,
		.origin_backlog		= 128,
	},
};

KFI_PROTO_PARAMS(kv_proto);
KFI_PARAM(origin_peers, kv_proto.params.origin_peers, count, 0644,
	  "connections per endpoint that come from one origin (default 4096)");

unsigned int kv_short_port = 12345;
KFI_PARAM(short_port, kv_short_port, short_port, 0444,
	  "port of pid 0 in short names, as kfilnd uses them (default 12345)");

struct workqueue_struct *kv_cm_wq;
struct workqueue_struct *kv_end_wq;
struct workqueue_struct *kv_region_wq;

struct kfi_prov_ops kv_msg_ops __ro_after_init;

static const struct kfi_prov_ops kv_ops = {
	.domain_size	= sizeof(struct kv_domain),
	.ep_size	= sizeof(struct kv_ep),
	.pep_size	= sizeof(struct kv_pep),
	.tx_priv	= MAX(KFI_PROTO_TX_PRIV, sizeof(struct kv_op)),
	.cm_data_size	= KVW_DATA_MAX,
	.atomic_size	= KFI_PROTO_ATOMIC_MAX,
	.av_only	= true,

	.getinfo	= kv_getinfo,
	.resolve	= kv_resolve,
	.addr_check	= kv_addr_check,
	.addr_str	= kfi_inaddr_str,
	.addr_removed	= kfi_proto_addr_removed,
	.domain_open	= kv_domain_open,
	.domain_close	= kv_domain_close,

	.ep_open	= kv_ep_open,
	.ep_enable	= kv_ep_enable,
	.ep_stop	= kv_ep_stop,
	.ep_restart	= kv_ep_restart,
	.ep_close	= kv_ep_close,
	.getname	= kv_ep_getname,
	.setname	= kv_ep_setname,
	.peers		= kfi_proto_peers,

	.tx		= kfi_proto_tx,
	.tx_flush	= kfi_proto_tx_flush,
	.rx_posted	= kv_plain_recv,
	.rx_cancel	= kv_plain_cancel,
	.rx_matched	= kfi_proto_rx_matched,
	.rx_drop	= kfi_proto_rx_drop,

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
	.mr_bind	= kv_mr_bind,
	.mr_unbind	= kv_mr_unbind,
	.mr_dereg	= kv_mr_close,
	.mr_end		= kv_mr_end,
	.mr_enable	= kv_mr_enable,
	.mr_attach	= kv_mr_attach,
	.mr_publish	= kv_mr_publish,
	.mr_known	= kv_mr_known,
};

/* MSG endpoints are queue pairs: operations that need the protocol are missing. */
static void __init kv_msg_ops_init(void)
{
	kv_msg_ops = kv_ops;
	kv_msg_ops.tx = kv_plain_tx;
	kv_msg_ops.tx_flush = kv_plain_flush;
	kv_msg_ops.peers = kv_ep_peers;
	kv_msg_ops.atomic_size = 0;
}

static struct kfi_provider kv_provider = {
	.name		= "verbs",
	.version	= KFI_VERSION(1, 0),
	.ops		= &kv_ops,
};

static int __init kv_init(void)
{
	int ret;

	kv_msg_ops_init();
	ret = kfi_proto_init(&kv_proto);
	if (ret)
		return ret;
	kfi_wire_register(&kv_wire);
	ret = -ENOMEM;
	kv_cm_wq = alloc_workqueue("kfi_verbs_cm", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!kv_cm_wq)
		goto exit_proto;
	kv_end_wq = alloc_workqueue("kfi_verbs_end", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!kv_end_wq)
		goto destroy_cm_wq;
	kv_region_wq = alloc_workqueue("kfi_verbs_region", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!kv_region_wq)
		goto destroy_end_wq;
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
destroy_end_wq:
	destroy_workqueue(kv_end_wq);
destroy_cm_wq:
	destroy_workqueue(kv_cm_wq);
exit_proto:
	kfi_wire_unregister(&kv_wire);
	kfi_proto_exit(&kv_proto);
	return ret;
}

static void __exit kv_exit(void)
{
	kfi_provider_deregister(&kv_provider);
	kv_dev_exit();
	destroy_workqueue(kv_region_wq);
	destroy_workqueue(kv_end_wq);
	destroy_workqueue(kv_cm_wq);
	kfi_wire_unregister(&kv_wire);
	kfi_proto_exit(&kv_proto);
}

module_init(kv_init);
module_exit(kv_exit);
MODULE_DESCRIPTION("kfabric provider over RDMA verbs");
MODULE_VERSION(KFABRIC_VERSION);
MODULE_LICENSE("GPL");
MODULE_ALIAS("kfi-provider-verbs");
