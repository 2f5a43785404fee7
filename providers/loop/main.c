// SPDX-License-Identifier: GPL-2.0
/*
 * kfi_loop - a provider between endpoints of one kernel, and the template for a link.
 *
 *   main.c	bounds, addresses, discovery, operations, life of the module
 *   loop.h	objects and locks
 *   ep.c		endpoints and passive endpoints
 *   link.c	life of a connection, as a link of the message protocol (kfi_link.h)
 *   stream.c	transmit and receive
 *   place.c	memory that the other end writes to directly
 */
#include <linux/init.h>
#include <kfi_version.h>
#include "loop.h"

static void loop_addr_str(const void *addr, size_t len, char *buf, size_t size)
{
	const struct kfi_loop_addr *a = addr;

	snprintf(buf, size, "loop:%llu", len >= sizeof(*a) ? a->id : 0);
}

struct kfi_proto loop_proto = {
	.name		= "loop",
	.ops		= &loop_link_ops,
	.addr_str	= loop_addr_str,
	.buffers	= sizeof(struct loop_pipe),
	.params = {
		KFI_PROTO_DEFAULTS,
		KFI_PROTO_GRANT_DEFAULTS,
		.eager_size		= 16 * 1024,
		.unexpected_origin	= 131072,
		.origin_peers		= 4096,		/* all peers have the same origin */
		.origin_backlog		= 512,
	},
};

/* ---- addresses ---- */

static int loop_resolve(struct kfi_domain *domain, const char *node, const char *service,
			void *addr)
{
	struct kfi_loop_addr *a = addr;

	if ((node && strcmp(node, "loop")) || !service)
		return -EINVAL;
	if (kstrtou64(service, 10, &a->id) || !a->id)
		return -EINVAL;
	return sizeof(*a);
}

static int loop_addr_check(struct kfi_domain *domain, u32 format, const void *addr)
{
	const struct kfi_loop_addr *a = addr;

	return a->id ? 0 : -EINVAL;
}

/* ---- discovery ---- */

struct loop_names {
	struct kfi_loop_addr src, dest;
};

/* A source address 0 stands for any free number. */
static void loop_offer_addrs(struct kfi_query *q, struct kfi_info *offer, struct loop_names *names)
{
	const struct kfi_info *h = q->hints;

	offer->addr_format = KFI_ADDR_LOOP;
	offer->src_addr = &names->src;
	offer->src_addrlen = sizeof(names->src);
	if (!names->src.id && h && h->src_addr && h->src_addrlen == sizeof(names->src))
		offer->src_addr = h->src_addr;
	offer->dest_addrlen = sizeof(names->dest);
	if (names->dest.id)
		offer->dest_addr = &names->dest;
	else if (h && h->dest_addr && h->dest_addrlen == sizeof(names->dest))
		offer->dest_addr = h->dest_addr;
	else
		offer->dest_addrlen = 0;
}

static int loop_offer(struct kfi_query *q, enum kfi_ep_type type, struct loop_names *names)
{
	static const struct kfi_proto_offer link = {
		.caps = KFI_LOCAL_COMM | KFI_PLACE | KFI_DATA_CHECK,
		.protocol = KFI_PROTO_LOOP,
		.depth = 16384,
		.max_msg = SZ_64M,
	};
	struct kfi_tx_attr tx;
	struct kfi_rx_attr rx;
	struct kfi_ep_attr ep;
	struct kfi_domain_attr domain;
	struct kfi_fabric_attr fabric = { .name = "loop" };
	struct kfi_info offer = {
		.tx_attr = &tx,
		.rx_attr = &rx,
		.ep_attr = &ep,
		.domain_attr = &domain,
		.fabric_attr = &fabric,
	};

	kfi_proto_offer(&offer, type, &link);
	domain.name = "loop0";
	loop_offer_addrs(q, &offer, names);
	return kfi_query_add(q, &offer);
}

static int loop_getinfo(struct kfi_query *q)
{
	struct loop_names names = {};
	u64 *id = q->flags & KFI_SOURCE ? &names.src.id : &names.dest.id;
	int err;

	if (q->node && strcmp(q->node, "loop"))
		return -ENODATA;
	if (q->service && (kstrtou64(q->service, 10, id) || !*id))
		return -ENODATA;
	err = loop_offer(q, KFI_EP_RDM, &names);
	return err ?: loop_offer(q, KFI_EP_MSG, &names);
}

static int loop_domain_open(struct kfi_domain *domain)
{
	domain->addrlen = sizeof(struct kfi_loop_addr);
	domain->limits.numa_node = NUMA_NO_NODE;
	domain->limits.mr_page_limit = SIZE_MAX;
	domain->limits.sge_limit = domain->info->domain_attr->mr_iov_limit;
	return 0;
}

/* ---- the provider ---- */

static const struct kfi_prov_ops loop_ops = {
	.ep_size	= sizeof(struct loop_ep),
	.pep_size	= sizeof(struct loop_pep),
	.place_size	= sizeof(struct kfi_proto_place),
	.tx_priv	= KFI_PROTO_TX_PRIV,
	.cm_data_size	= KFI_PROTO_DATA_MAX,
	.atomic_size	= KFI_PROTO_ATOMIC_MAX,
	.av_only	= true,

	.getinfo	= loop_getinfo,
	.resolve	= loop_resolve,
	.addr_check	= loop_addr_check,
	.addr_str	= loop_addr_str,
	.addr_removed	= kfi_proto_addr_removed,
	.domain_open	= loop_domain_open,

	.ep_open	= loop_ep_open,
	.ep_enable	= loop_ep_enable,
	.ep_stop	= loop_ep_stop,
	.ep_close	= loop_ep_close,
	.getname	= loop_getname,
	.setname	= loop_setname,
	.peers		= kfi_proto_peers,

	.tx		= kfi_proto_tx,
	.tx_flush	= kfi_proto_tx_flush,
	.rx_matched	= kfi_proto_rx_matched,
	.rx_drop	= kfi_proto_rx_drop,
	.place_end	= kfi_proto_place_end,

	.connect	= kfi_proto_connect,
	.accept		= kfi_proto_accept,
	.shutdown	= kfi_proto_shutdown,
	.getpeer	= loop_getpeer,
	.pep_open	= loop_pep_open,
	.pep_close	= loop_pep_close,
	.pep_getname	= loop_pep_getname,
	.pep_setname	= loop_pep_setname,
	.listen		= loop_listen,
	.reject		= kfi_proto_reject,
};

static struct kfi_provider loop_provider = {
	.name		= "loop",
	.version	= KFI_VERSION(1, 0),
	.ops		= &loop_ops,
};

/* ---- module ---- */

static int __init loop_init(void)
{
	int err = kfi_proto_init(&loop_proto);

	if (err)
		return err;
	err = kfi_provider_register(&loop_provider);
	if (err)
		kfi_proto_exit(&loop_proto);
	return err;
}
module_init(loop_init);

static void __exit loop_exit(void)
{
	kfi_provider_deregister(&loop_provider);
	kfi_proto_exit(&loop_proto);
}
module_exit(loop_exit);

MODULE_DESCRIPTION("kfabric provider: loopback between endpoints of one kernel");
MODULE_VERSION(KFABRIC_VERSION);
MODULE_LICENSE("GPL");
MODULE_ALIAS("kfi-provider-loop");
