// SPDX-License-Identifier: GPL-2.0
/*
 * kfi_sockets - a provider over the kernel's TCP and UDP. It needs no hardware, and a helper in
 * user space (tlshd) only for TLS.
 *
 *   main.c		parameters, operations, life of the module
 *   sock.h		objects
 *   addr.c		names, and the answers to getinfo
 *   iface.c		the interfaces that sockets are bound to
 *   ep.c		domains, endpoints and passive endpoints
 *   listen.c  dial.c	incoming and outgoing connections
 *   link.c		life of a TCP connection, as a link of the message protocol (kfi_link.h)
 *   stream.c		transmit and receive
 *   tls.c  tls_link.c	connections with TLS, if the parameter tls selects that
 *   dgram.c  wire.h	DGRAM endpoints, and their format
 */
#include <linux/module.h>
#include <kfi_version.h>
#include "sock.h"

struct kfi_proto ks_proto = {
	.name		= "sockets",
	.ops		= &ks_link_ops,
	.addr_str	= kfi_inaddr_str,
	.buffers	= SZ_4K,	/* a socket; TCP bounds what it queues */
	.params = {
		KFI_PROTO_DEFAULTS,
		.eager_size		= 16 * 1024,
		.unexpected_origin	= 32768,
		.origin_peers		= 1024,
		.origin_backlog		= 128,
		.need_privilege		= true,
	},
};

KFI_PROTO_PARAMS(ks_proto);
KFI_PARAM(origin_peers, ks_proto.params.origin_peers, count, 0644,
	  "connections per endpoint that come from one origin (default 1024)");

module_param_named(reserved_ports, ks_proto.params.need_privilege, bool, 0644);
MODULE_PARM_DESC(reserved_ports,
		 "without a secret key, RDM peers, and MSG peers of consumers that ask for it, have to use ports below 1024 (default yes)");

unsigned int ks_short_port = 914;
KFI_PARAM(short_port, ks_short_port, short_port, 0444,
	  "port of pid 0 in short names, as kfilnd uses them (default 914)");

bool ks_splice = true;
module_param_named(splice, ks_splice, bool, 0644);
MODULE_PARM_DESC(splice,
		 "send page-backed payload without a copy if possible (default yes)");

char ks_tls[8] = "no";
KFI_PARAM_TEXT(tls, ks_tls, 0444,
	       "all connections use TLS 1.3, with pre-shared keys (psk) or certificates (x509) (default no)");
bool ks_tls_wanted __ro_after_init;

struct workqueue_struct *ks_wq;
struct workqueue_struct *ks_cm_wq;

struct kfi_prov_ops ks_dgram_ops __ro_after_init;

static const struct kfi_prov_ops ks_ops = {
	.domain_size	= sizeof(struct ks_domain),
	.ep_size	= sizeof(struct ks_ep),
	.pep_size	= sizeof(struct ks_pep),
	.tx_priv	= KFI_PROTO_TX_PRIV,
	.cm_data_size	= KFI_PROTO_DATA_MAX,
	.atomic_size	= KFI_PROTO_ATOMIC_MAX,
	.av_only	= true,
	.need_privilege	= true,

	.getinfo	= ks_getinfo,
	.resolve	= ks_resolve,
	.addr_check	= ks_addr_check,
	.addr_str	= kfi_inaddr_str,
	.addr_removed	= kfi_proto_addr_removed,
	.domain_open	= ks_domain_open,

	.ep_open	= ks_ep_open,
	.ep_enable	= ks_ep_enable,
	.ep_stop	= ks_ep_stop,
	.ep_close	= ks_ep_close,
	.getname	= ks_ep_getname,
	.setname	= ks_ep_setname,
	.peers		= kfi_proto_peers,

	.tx		= kfi_proto_tx,
	.tx_flush	= kfi_proto_tx_flush,
	.rx_matched	= kfi_proto_rx_matched,
	.rx_drop	= kfi_proto_rx_drop,

	.connect	= kfi_proto_connect,
	.accept		= kfi_proto_accept,
	.shutdown	= kfi_proto_shutdown,
	.getpeer	= ks_ep_getpeer,
	.pep_open	= ks_pep_open,
	.pep_close	= ks_pep_close,
	.pep_getname	= ks_pep_getname,
	.pep_setname	= ks_pep_setname,
	.listen		= ks_pep_listen,
	.reject		= kfi_proto_reject,
};

static struct kfi_provider ks_provider = {
	.name		= "sockets",
	.version	= KFI_VERSION(1, 0),
	.ops		= &ks_ops,
};

/* Who asks for TLS, and can't have it, gets no provider rather than one without TLS. */
static int __init ks_tls_select(void)
{
	ks_tls_wanted = strcmp(ks_tls, "no");
	if (!ks_tls_wanted)
		return 0;
	if (strcmp(ks_tls, "psk") && strcmp(ks_tls, "x509")) {
		pr_err("kfi_sockets: tls=%s is refused: it is psk, x509, or no\n", ks_tls);
		return -EINVAL;
	}
	if (!KS_HAS_TLS) {
		pr_err("kfi_sockets: tls=%s is refused: this kernel has no TLS handshakes, or no keys for them (CONFIG_NET_HANDSHAKE, CONFIG_NVME_KEYRING)\n",
		       ks_tls);
		return -EOPNOTSUPP;
	}
	return ks_tls_init(&ks_proto);
}

static int __init ks_init(void)
{
	int ret;

	ks_dgram_ops = ks_ops;
	ks_dgram_ops.tx = ks_dgram_tx;
	ks_dgram_ops.tx_flush = NULL;
	ret = ks_tls_select();
	if (ret)
		return ret;
	ret = kfi_proto_init(&ks_proto);
	if (ret)
		goto exit_tls;
	ret = -ENOMEM;
	ks_wq = alloc_workqueue("kfi_sockets", WQ_MEM_RECLAIM | WQ_HIGHPRI | WQ_PERCPU, 0);
	if (!ks_wq)
		goto exit_proto;
	ks_cm_wq = alloc_workqueue("kfi_sockets_cm", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!ks_cm_wq)
		goto destroy_wq;
	ret = ks_iface_init();
	if (ret)
		goto destroy_cm_wq;
	ret = kfi_provider_register(&ks_provider);
	if (ret)
		goto exit_iface;
	return 0;
exit_iface:
	ks_iface_exit();
destroy_cm_wq:
	destroy_workqueue(ks_cm_wq);
destroy_wq:
	destroy_workqueue(ks_wq);
exit_proto:
	kfi_proto_exit(&ks_proto);
exit_tls:
	if (ks_tls_on())
		ks_tls_exit();
	return ret;
}

static void __exit ks_exit(void)
{
	kfi_provider_deregister(&ks_provider);
	ks_iface_exit();
	destroy_workqueue(ks_cm_wq);
	destroy_workqueue(ks_wq);
	kfi_proto_exit(&ks_proto);
	if (ks_tls_on())
		ks_tls_exit();
}

module_init(ks_init);
module_exit(ks_exit);
MODULE_DESCRIPTION("kfabric provider over TCP and UDP sockets");
MODULE_VERSION(KFABRIC_VERSION);
MODULE_LICENSE("GPL");
MODULE_ALIAS("kfi-provider-sockets");
