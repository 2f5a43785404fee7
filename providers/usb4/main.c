// SPDX-License-Identifier: GPL-2.0
/*
 * kfi_usb4 - kfabric over USB4 and Thunderbolt cables between two hosts. Frames go through a pair
 * of DMA rings of the host interfaces.
 *
 *   main.c		parameters, operations, init and exit of the module
 *   usb4.h		objects, states and locks
 *   way.c		ways to other hosts, and names
 *   plug.c		cables that are plugged and pulled
 *   cable.c		the life of a cable
 *   hold.c		what connections do while a cable is out
 *   login.c		messages by which both hosts agree
 *   tx.c  rx.c		frames, and the records in them
 *   watch.c		the timer: acknowledgements, silent peers, lost interrupts
 *   ring.c		rings, and the memory of frames
 *   wire.h  wire.c	format
 *
 * The multiplexer (kfi_mux.h) has connections, endpoints, names and discovery.
 */
#include <linux/module.h>
#include <kfi_version.h>
#include "usb4.h"

static const struct kfi_link_ops u4_link_ops = {
	KFI_MUX_LINK_OPS(UUID_SIZE),
	.sent_to	= kfi_mux_sent_to,
};

static struct kfi_proto u4_proto = {
	.name		= "usb4",
	.ops		= &u4_link_ops,
	.addr_str	= u4_addr_str,
	.params = {
		KFI_PROTO_DEFAULTS,
		.eager_size		= 16 * 1024,
		.unexpected_origin	= 131072,
		.origin_peers		= 4096,	/* all peers at one end have the same origin */
		.origin_backlog		= 512,
	},
};

KFI_PROTO_PARAMS(u4_proto);

unsigned int u4_timeout_s = 5;
KFI_PARAM(timeout_s, u4_timeout_s, s, 0644,
	  "seconds after which a peer that is silent, or acknowledges nothing, is given up (default 5)");

unsigned int u4_hold_s = 15;
KFI_PARAM(hold_s, u4_hold_s, hold_s, 0644,
	  "seconds for which connections wait for a cable that was pulled; 0: they end at once (default 15)");

bool u4_e2e = true;
module_param_named(e2e, u4_e2e, bool, 0444);
MODULE_PARM_DESC(e2e, "let the host interfaces hold frames back while the receiver has no room (default yes)");

char u4_ports[U4_PORTS];
KFI_PARAM_TEXT(ports, u4_ports, 0644,
	       "names of ports, NAME=HOST-INTERFACE/PORT,..., such as left=0000:00:0d.2/1,right=0000:00:0d.2/3");

static const struct kfi_prov_ops u4_ops = {
	KFI_MUX_PROV_OPS,
	.domain_size	= sizeof(struct kfi_mux_domain),
	.addr_str	= u4_addr_str,
	.domain_open	= u4_domain_open,
	.domain_close	= u4_domain_close,
	.ep_open	= kfi_mux_ep_open,
	.parts		= u4_parts,
};

struct kfi_mux_prov u4_prov = {
	.prov = {
		.name		= "usb4",
		.version	= KFI_VERSION(1, 0),
		.ops		= &u4_ops,
	},
	.proto		= &u4_proto,
	.ops		= &u4_mux_ops,
	.addr_format	= KFI_ADDR_USB4,
	.side_len	= UUID_SIZE,
	.protocol	= KFI_PROTO_KFI_USB4,
	.stream_kib	= 256,
};

/*
 * Without a rescuer: the core's messages wait for work items that have none, either. Data do not
 * wait for this queue, but the end of a life does.
 */
struct workqueue_struct *u4_wq;

struct kfi_wire u4_wire = { .name = "USB4 cables", .speaks = &u4w_speaks };

static int __init u4_init(void)
{
	int ret = -ENOMEM;

	u4_ways_init();
	kfi_wire_register(&u4_wire);
	u4_wq = alloc_workqueue("kfi_usb4", WQ_UNBOUND, 0);
	if (!u4_wq)
		goto unregister_wire;
	ret = kfi_mux_prov_init(&u4_prov);
	if (ret)
		goto destroy_wq;
	ret = kfi_provider_register(&u4_prov.prov);
	if (ret)
		goto exit_mux;
	ret = u4_plug_init();
	if (ret)
		goto deregister;
	/* Last, as nothing may fail then: a message may be handled at any time. */
	u4_login_init();
	return 0;
deregister:
	kfi_provider_deregister(&u4_prov.prov);
exit_mux:
	kfi_mux_prov_exit(&u4_prov);
destroy_wq:
	destroy_workqueue(u4_wq);
unregister_wire:
	kfi_wire_unregister(&u4_wire);
	return ret;
}

/* Open fabrics hold a reference of the module, so only cables are left. */
static void __exit u4_exit(void)
{
	kfi_provider_deregister(&u4_prov.prov);
	u4_plug_exit();
	u4_ways_exit();
	destroy_workqueue(u4_wq);
	kfi_mux_prov_exit(&u4_prov);
	kfi_wire_unregister(&u4_wire);
}

module_init(u4_init);
module_exit(u4_exit);
MODULE_DESCRIPTION("kfabric provider over USB4 and Thunderbolt cables");
MODULE_VERSION(KFABRIC_VERSION);
MODULE_LICENSE("GPL");
MODULE_ALIAS("kfi-provider-usb4");
