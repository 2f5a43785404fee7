// SPDX-License-Identifier: GPL-2.0
/*
 * kfi_ntb - kfabric over PCI Express non-transparent bridges. Each machine has a ring in its
 * memory, to which the other one writes, by DMA engine or by CPU.
 *
 *   main.c		parameters, operations, init and exit of the module
 *   ntb.h		what this provider adds to the multiplexer (kfi_mux.h), which has
 *			connections, endpoints, names and discovery
 *   dev.c		bridges as ways of the multiplexer
 *   stream.c		the records of connections in the rings
 *   load.c		payload that the engine reads
 *   expose.c		memory to which the peer writes directly
 *   place.c		memory of the peer to which devices of this machine write
 *   bridge.h		a bridge, and the other files: records in order, and memory to which the
 *			peer writes
 */
#include <linux/module.h>
#include <kfi_version.h>
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

static const struct kfi_prov_ops nt_ops = {
	KFI_MUX_PROV_OPS,
	.domain_size	= sizeof(struct kfi_mux_domain),
	.mr_size	= sizeof(struct nt_mr),
	.place_size	= sizeof(struct kfi_proto_place),
	.addr_str	= nt_addr_str,
	.domain_open	= nt_domain_open,
	.domain_close	= nt_domain_close,
	.mr_reg		= nt_mr_reg,
	.mr_dereg	= nt_mr_dereg,
	.mem_alloc	= nt_mem_alloc,
	.mem_free	= nt_mem_free,
	.place_end	= kfi_proto_place_end,
	.ep_open	= nt_ep_open,
	.parts		= nt_parts,
};

struct kfi_mux_prov nt_prov = {
	.prov = {
		.name		= "ntb",
		.version	= KFI_VERSION(1, 0),
		.ops		= &nt_ops,
	},
	.proto		= &nt_proto,
	.ops		= &nt_mux_ops,
	.addr_format	= KFI_ADDR_NTB,
	.side_len	= sizeof(__le32),
	.protocol	= KFI_PROTO_KFI_NTB,
	.stream_kib	= 128,
};

struct kfi_wire nt_wire = { .name = "bridges", .speaks = &ntw_speaks };

static int __init nt_init(void)
{
	int ret = kfi_mux_prov_init(&nt_prov);

	if (ret)
		return ret;
	kfi_wire_register(&nt_wire);
	ret = nt_links_init();
	if (ret)
		goto exit_mux;
	ret = kfi_provider_register(&nt_prov.prov);
	if (ret)
		goto exit_links;
	ret = nt_devs_init();
	if (ret)
		goto deregister;
	return 0;
deregister:
	kfi_provider_deregister(&nt_prov.prov);
exit_links:
	nt_links_exit();
exit_mux:
	kfi_wire_unregister(&nt_wire);
	kfi_mux_prov_exit(&nt_prov);
	return ret;
}

/* Open fabrics hold a reference of the module, so only bridges are left to remove. */
static void __exit nt_exit(void)
{
	kfi_provider_deregister(&nt_prov.prov);
	nt_devs_exit();
	nt_links_exit();
	kfi_wire_unregister(&nt_wire);
	kfi_mux_prov_exit(&nt_prov);
}

module_init(nt_init);
module_exit(nt_exit);
MODULE_DESCRIPTION("kfabric provider over PCI Express non-transparent bridges");
MODULE_VERSION(KFABRIC_VERSION);
MODULE_LICENSE("GPL");
MODULE_ALIAS("kfi-provider-ntb");
