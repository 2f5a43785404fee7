// SPDX-License-Identifier: GPL-2.0
/*
 * main.c - kfi_loop.ko: init and exit, discovery, addresses.
 */
#include <linux/init.h>
#include <net/netns/generic.h>
#include "loop.h"

#define LOOP_VERSION	KFI_VERSION(1, 0)
#define LOOP_CAPS	(KFI_MSG | KFI_RMA | KFI_TAGGED | KFI_TAGGED_RMA | KFI_ATOMIC | \
			 KFI_SEND | KFI_RECV | KFI_READ | KFI_WRITE | KFI_REMOTE_READ | \
			 KFI_REMOTE_WRITE | KFI_MULTI_RECV | KFI_DIRECTED_RECV |		\
			 KFI_RMA_EVENT | KFI_SOURCE | KFI_LOCAL_COMM | KFI_PLACE)
/*
 * Operations are performed at the peer in posting order, either before the post returns or behind
 * operations that wait.
 */
#define LOOP_ORDER	(KFI_ORDER_STRICT | KFI_ORDER_RMA_RAR | KFI_ORDER_RMA_RAW | \
			 KFI_ORDER_RMA_WAR | KFI_ORDER_RMA_WAW | KFI_ORDER_ATOMIC_RAR | \
			 KFI_ORDER_ATOMIC_RAW | KFI_ORDER_ATOMIC_WAR | KFI_ORDER_ATOMIC_WAW)

struct workqueue_struct *loop_wq;

static unsigned int loop_net_id __read_mostly;

struct loop_net *loop_net(struct net *net)
{
	return net_generic(net, loop_net_id);
}

/* ---- addresses ---- */

bool loop_addr_ok(u64 id)
{
	return id && id <= ULONG_MAX;
}

int loop_id_reserve(struct xarray *ids, u32 *next, u64 *id)
{
	u32 free;
	int err;

	if (*id) {
		err = xa_insert(ids, *id, NULL, GFP_KERNEL);
		return err == -EBUSY ? -EADDRINUSE : err;
	}
	/* Consumers tend to choose small numbers; free numbers are taken from the upper half. */
	err = xa_alloc_cyclic(ids, &free, NULL, XA_LIMIT(1U << 31, U32_MAX), next, GFP_KERNEL);
	if (err < 0)
		return err == -EBUSY ? -EADDRNOTAVAIL : err;
	*id = free;
	return 0;
}

static int loop_resolve(struct kfi_domain *domain, const char *node, const char *service,
			void *addr)
{
	struct kfi_loop_addr *a = addr;

	if ((node && strcmp(node, "loop")) || !service)
		return -EINVAL;
	if (kstrtou64(service, 10, &a->id) || !loop_addr_ok(a->id))
		return -EINVAL;
	return sizeof(*a);
}

static int loop_addr_check(struct kfi_domain *domain, const void *addr)
{
	const struct kfi_loop_addr *a = addr;

	return loop_addr_ok(a->id) ? 0 : -EINVAL;
}

static void loop_addr_str(const void *addr, size_t len, char *buf, size_t size)
{
	const struct kfi_loop_addr *a = addr;

	snprintf(buf, size, "loop:%llu", len >= sizeof(*a) ? a->id : 0);
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
	struct kfi_tx_attr tx = {
		.caps = LOOP_CAPS, .op_flags = LOOP_LEVELS, .msg_order = LOOP_ORDER,
		.inject_size = LOOP_INJECT, .size = LOOP_QUEUE,
		.iov_limit = LOOP_IOV, .rma_iov_limit = LOOP_IOV,
	};
	struct kfi_rx_attr rx = {
		.caps = LOOP_CAPS,
		.msg_order = LOOP_ORDER,
		.size = LOOP_QUEUE,
		.iov_limit = LOOP_IOV,
	};
	struct kfi_ep_attr ep = {
		.type = type,
		.protocol = KFI_PROTO_LOOP,
		.protocol_version = 1,
		.max_msg_size = LOOP_MAX_MSG,
		.max_order_raw_size = LOOP_MAX_MSG,
		.max_order_war_size = LOOP_MAX_MSG,
		.max_order_waw_size = LOOP_MAX_MSG,
	};
	struct kfi_domain_attr domain = {
		.name = "loop0",
		.mr_key_size = sizeof(u64),
		.cq_data_size = sizeof(u64),
		.max_ep_auth_key = 1,
		.max_ep_tx_ctx = type == KFI_EP_RDM ? LOOP_CTX : 1,
		.max_ep_rx_ctx = type == KFI_EP_RDM ? LOOP_CTX : 1,
		.mr_iov_limit = LOOP_IOV,
		.caps = KFI_LOCAL_COMM,
	};
	struct kfi_fabric_attr fabric = { .name = "loop" };
	struct kfi_info offer = {
		.caps = LOOP_CAPS,
		.tx_attr = &tx,
		.rx_attr = &rx,
		.ep_attr = &ep,
		.domain_attr = &domain,
		.fabric_attr = &fabric,
	};

	if (type == KFI_EP_RDM) {
		offer.caps |= KFI_NAMED_RX_CTX;
		tx.caps |= KFI_NAMED_RX_CTX;
	}
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
	if (q->service && (kstrtou64(q->service, 10, id) || !loop_addr_ok(*id)))
		return -ENODATA;
	err = loop_offer(q, KFI_EP_RDM, &names);
	return err ?: loop_offer(q, KFI_EP_MSG, &names);
}

static int loop_domain_open(struct kfi_domain *domain)
{
	domain->addrlen = sizeof(struct kfi_loop_addr);
	domain->limits = (struct kfi_domain_limits) {
		.numa_node = NUMA_NO_NODE,
		.mr_page_limit = LOOP_IOV,
		.sge_limit = LOOP_IOV,
	};
	return 0;
}

static void loop_domain_close(struct kfi_domain *domain)
{
	/* There is nothing to undo. */
}

/* ---- the provider ---- */

static const struct kfi_prov_ops loop_ops = {
	.ep_size	= sizeof(struct loop_ep),
	.pep_size	= sizeof(struct loop_pep),
	.place_size	= sizeof(struct loop_place),
	.tx_priv	= sizeof(struct loop_op),
	.cm_data_size	= KFI_CM_DATA_MAX,
	.atomic_size	= LOOP_ATOMIC,

	.getinfo	= loop_getinfo,
	.resolve	= loop_resolve,
	.addr_check	= loop_addr_check,
	.addr_str	= loop_addr_str,
	.domain_open	= loop_domain_open,
	.domain_close	= loop_domain_close,

	.ep_open	= loop_ep_open,
	.ep_enable	= loop_ep_enable,
	.ep_stop	= loop_ep_stop,
	.ep_restart	= loop_ep_restart,
	.ep_close	= loop_ep_close,
	.getname	= loop_getname,
	.setname	= loop_setname,

	.tx		= loop_tx,
	.rx_matched	= loop_rx_matched,
	.rx_drop	= loop_rx_drop,
	.place_end	= loop_place_end,

	.connect	= loop_connect,
	.accept		= loop_accept,
	.shutdown	= loop_shutdown,
	.getpeer	= loop_getpeer,
	.pep_open	= loop_pep_open,
	.pep_close	= loop_pep_close,
	.pep_getname	= loop_pep_getname,
	.pep_setname	= loop_pep_setname,
	.listen		= loop_listen,
	.reject		= loop_reject,
};

static struct kfi_provider loop_provider = {
	.name		= "loop",
	.version	= LOOP_VERSION,
	.ops		= &loop_ops,
};

/* ---- module ---- */

static int __net_init loop_net_init(struct net *net)
{
	struct loop_net *ln = loop_net(net);

	xa_init_flags(&ln->eps, XA_FLAGS_ALLOC);
	xa_init_flags(&ln->listeners, XA_FLAGS_ALLOC);
	spin_lock_init(&ln->stall_lock);
	return 0;
}

/*
 * An exit operation is not needed: kfi.ko stops the endpoints of a namespace before this memory is
 * freed, so the arrays are empty.
 */
static struct pernet_operations loop_pernet = {
	.init	= loop_net_init,
	.id	= &loop_net_id,
	.size	= sizeof(struct loop_net),
};

static int __init loop_init(void)
{
	int err;

	loop_wq = alloc_workqueue("kfi_loop", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!loop_wq)
		return -ENOMEM;
	err = register_pernet_subsys(&loop_pernet);
	if (err)
		goto destroy_wq;
	err = kfi_provider_register(&loop_provider);
	if (err)
		goto unregister_pernet;
	return 0;

unregister_pernet:
	unregister_pernet_subsys(&loop_pernet);
destroy_wq:
	destroy_workqueue(loop_wq);
	return err;
}
module_init(loop_init);

static void __exit loop_exit(void)
{
	kfi_provider_deregister(&loop_provider);
	unregister_pernet_subsys(&loop_pernet);
	destroy_workqueue(loop_wq);
}
module_exit(loop_exit);

MODULE_DESCRIPTION("kfabric provider: loopback between endpoints of one kernel");
MODULE_LICENSE("GPL");
MODULE_VERSION("1.0");
MODULE_ALIAS("kfi-provider-loop");
