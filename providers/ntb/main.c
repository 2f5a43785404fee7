// SPDX-License-Identifier: GPL-2.0
/*
 * kfi_ntb - kfabric over PCI Express non-transparent bridges. Each machine has a ring in its
 * memory, to which the other one writes, by DMA engine or by CPU.
 *
 *   main.c		parameters, operations, init and exit of the module
 *   ntb.h		objects and locks above a bridge
 *   dev.c		bridges and domains
 *   info.c  addr.c	discovery, and names
 *   ep.c		endpoints and passive endpoints
 *   stream.c  call.c	connections, as links of the message protocol (kfi_link.h), and callers
 *   send.c  recv.c	the streams of connections
 *   expose.c		memory to which the peer writes directly
 *   place.c		memory of the peer to which devices of this machine write
 *   record.[ch]	format of the records of connections
 *   bridge.h		a bridge, and the other files: records in order, and memory to which the
 *			peer writes
 */
#include <linux/module.h>
#include "ntb.h"

struct kfi_proto nt_proto = {
	.name		= "ntb",
	.ops		= &nt_link_ops,
	.addr_str	= nt_addr_str,
	.params = {
		KFI_PROTO_DEFAULTS,
		KFI_PROTO_GRANT_DEFAULTS,
		/* a page, and a header of a consumer in front of it */
		.eager_size		= 4352,
		.unexpected_origin	= 131072,
		.origin_peers		= 4096,	/* all peers at one end have the same origin */
		.origin_backlog		= 512,
	},
};

KFI_PROTO_PARAMS(nt_proto);
KFI_PROTO_GRANT_PARAMS(nt_proto);

unsigned int nt_stream_kib = 128;
module_param_named(stream_kib, nt_stream_kib, uint, 0444);
MODULE_PARM_DESC(stream_kib,
		 "KiB that a peer may send ahead on a connection, 4 to 8192 (default 128)");

unsigned int nt_return_ms = 5000;
KFI_PARAM(return_ms, nt_return_ms, drain_ms, 0644,
	  "milliseconds that a closed connection waits for its peer's CLOSE (default 5000)");

struct workqueue_struct *nt_cm_wq;

static const struct kfi_prov_ops nt_ops = {
	.domain_size	= sizeof(struct nt_domain),
	.ep_size	= sizeof(struct nt_ep),
	.pep_size	= sizeof(struct nt_pep),
	.mr_size	= sizeof(struct nt_mr),
	.place_size	= sizeof(struct kfi_proto_place),
	.tx_priv	= KFI_PROTO_TX_PRIV,
	.cm_data_size	= KFI_PROTO_DATA_MAX,
	.atomic_size	= KFI_PROTO_ATOMIC_MAX,
	.av_only	= true,

	.getinfo	= nt_getinfo,
	.resolve	= nt_resolve,
	.addr_check	= nt_addr_check,
	.addr_str	= nt_addr_str,
	.addr_removed	= kfi_proto_addr_removed,
	.domain_open	= nt_domain_open,
	.domain_close	= nt_domain_close,
	.mr_reg		= nt_mr_reg,
	.mr_dereg	= nt_mr_dereg,
	.mem_alloc	= nt_mem_alloc,
	.mem_free	= nt_mem_free,
	.place_end	= kfi_proto_place_end,

	.ep_open	= nt_ep_open,
	.ep_enable	= nt_ep_enable,
	.ep_stop	= nt_ep_stop,
	.ep_close	= kfi_proto_ep_close,
	.getname	= nt_ep_getname,
	.setname	= nt_ep_setname,
	.peers		= kfi_proto_peers,
	.parts		= nt_parts,

	.tx		= kfi_proto_tx,
	.tx_flush	= kfi_proto_tx_flush,
	.rx_matched	= kfi_proto_rx_matched,
	.rx_drop	= kfi_proto_rx_drop,

	.connect	= kfi_proto_connect,
	.accept		= kfi_proto_accept,
	.shutdown	= kfi_proto_shutdown,
	.getpeer	= nt_ep_getpeer,
	.pep_open	= nt_pep_open,
	.pep_close	= nt_pep_close,
	.pep_getname	= nt_pep_getname,
	.pep_setname	= nt_pep_setname,
	.listen		= nt_pep_listen,
	.reject		= kfi_proto_reject,
};

static struct kfi_provider nt_provider = {
	.name		= "ntb",
	.version	= KFI_VERSION(1, 0),
	.ops		= &nt_ops,
};

/* An invalid value is corrected, with a message in the log. */
static void __init nt_check_params(void)
{
	unsigned int kib = rounddown_pow_of_two(clamp(nt_stream_kib, 4U, 8192U));

	if (kib != nt_stream_kib)
		pr_warn("kfi_ntb: using stream_kib=%u\n", kib);
	nt_stream_kib = kib;
}

static int __init nt_init(void)
{
	int ret;

	nt_check_params();
	nt_proto.buffers = nt_stream_kib * 1024;
	ret = kfi_proto_init(&nt_proto);
	if (ret)
		return ret;
	ret = -ENOMEM;
	nt_cm_wq = alloc_workqueue("kfi_ntb_cm", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!nt_cm_wq)
		goto exit_proto;
	ret = nt_links_init();
	if (ret)
		goto destroy_cm_wq;
	ret = kfi_provider_register(&nt_provider);
	if (ret)
		goto exit_links;
	ret = nt_devs_init();
	if (ret)
		goto deregister;
	return 0;
deregister:
	kfi_provider_deregister(&nt_provider);
exit_links:
	nt_links_exit();
destroy_cm_wq:
	destroy_workqueue(nt_cm_wq);
exit_proto:
	kfi_proto_exit(&nt_proto);
	return ret;
}

/* Open fabrics hold a reference of the module, so only bridges are left to remove. */
static void __exit nt_exit(void)
{
	kfi_provider_deregister(&nt_provider);
	nt_devs_exit();
	nt_links_exit();
	destroy_workqueue(nt_cm_wq);
	kfi_proto_exit(&nt_proto);
}

module_init(nt_init);
module_exit(nt_exit);
MODULE_DESCRIPTION("kfabric provider over PCI Express non-transparent bridges");
MODULE_LICENSE("GPL");
MODULE_ALIAS("kfi-provider-ntb");
