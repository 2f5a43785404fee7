// SPDX-License-Identifier: GPL-2.0
/*
 * setup.c - setup and teardown of the message protocol: for the module, for each provider, and for
 * each endpoint. docs/architecture.md lists the files of the protocol.
 */
#include <linux/export.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include "peers.h"

struct workqueue_struct *kfp_wq;
struct workqueue_struct *kfp_cm_wq;
struct workqueue_struct *kfp_end_wq;
struct workqueue_struct *kfp_commit_wq;
struct kmem_cache *kfp_inmsg_cache;
struct kmem_cache *kfp_places_cache;
struct kfp_stage __percpu *kfp_stages;

static_assert(KFI_PROTO_DATA_MAX == KFW_DATA_MAX);
static_assert(KFI_PROTO_ATOMIC_MAX == KFW_ATOMIC_MAX);
static_assert(KFI_PROTO_RMA_MAX == KFW_RMA_MAX);
static_assert(KFI_PROTO_VERSION == KFW_VERSION);

/* ---- the module ---- */

int kfp_init(void)
{
	kfp_inmsg_cache = KMEM_CACHE(kfp_inmsg, SLAB_HWCACHE_ALIGN);
	kfp_places_cache = KMEM_CACHE(kfp_places, SLAB_HWCACHE_ALIGN);
	kfp_stages = alloc_percpu(struct kfp_stage);
	kfp_wq = alloc_workqueue("kfi_proto", WQ_MEM_RECLAIM | WQ_HIGHPRI | WQ_PERCPU, 0);
	kfp_cm_wq = alloc_workqueue("kfi_proto_cm", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	kfp_end_wq = alloc_workqueue("kfi_proto_end", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	kfp_commit_wq = alloc_workqueue("kfi_proto_commit",
					WQ_MEM_RECLAIM | WQ_HIGHPRI | WQ_PERCPU, 0);
	if (kfp_inmsg_cache && kfp_places_cache && kfp_stages && kfp_wq && kfp_cm_wq &&
	    kfp_end_wq && kfp_commit_wq)
		return 0;
	kfp_exit();
	return -ENOMEM;
}

void kfp_exit(void)
{
	if (kfp_commit_wq)
		destroy_workqueue(kfp_commit_wq);
	if (kfp_end_wq)
		destroy_workqueue(kfp_end_wq);
	if (kfp_cm_wq)
		destroy_workqueue(kfp_cm_wq);
	if (kfp_wq)
		destroy_workqueue(kfp_wq);
	free_percpu(kfp_stages);
	kmem_cache_destroy(kfp_places_cache);
	kmem_cache_destroy(kfp_inmsg_cache);
}

/* ---- a provider ---- */

/* Values within their ranges may be too small for one another: raise them. */
static void kfp_check_params(struct kfi_proto *proto)
{
	struct kfi_proto_params *p = &proto->params;
	/* The longest message has to fit into half of the allowance, see kfp_eager_max(). */
	unsigned int least = 2 * kfw_cost(p->eager_size);

	if (p->unexpected < least) {
		pr_warn("kfi_%s: using unexpected=%u\n", proto->name, least);
		p->unexpected = least;
	}
	/* The first connection gets full allowances, see kfp_account_share. */
	p->unexpected_peer = max(p->unexpected_peer, 4 * p->unexpected);
	p->unexpected_origin = max(p->unexpected_origin, 8 * p->unexpected);
	p->unexpected_total = max(p->unexpected_total, 16 * p->unexpected);
}

int kfi_proto_init(struct kfi_proto *proto)
{
	char name[KFI_NAME_MAX];

	kfp_check_params(proto);
	mutex_init(&proto->accepting);
	kfp_conn_set_ops_init(proto);
	/*
	 * A slab cache for each provider. Objects of the general caches have few different
	 * alignments, so that the hot lines of all connections would compete for few sets of the
	 * CPU's cache.
	 */
	snprintf(name, sizeof(name), "kfi_%s_conn", proto->name);
	proto->cache = kmem_cache_create(name,
					 offsetof(struct kfp_conn, link) + proto->ops->link_size,
					 __alignof__(struct kfp_conn), SLAB_HWCACHE_ALIGN, NULL);
	return proto->cache ? 0 : -ENOMEM;
}
EXPORT_SYMBOL_GPL(kfi_proto_init);

void kfi_proto_exit(struct kfi_proto *proto)
{
	/* A call of persist() may last longer than its connection and its endpoint. */
	wait_var_event(&proto->conns, !atomic_read(&proto->conns));
	mutex_destroy(&proto->accepting);
	kmem_cache_destroy(proto->cache);
}
EXPORT_SYMBOL_GPL(kfi_proto_exit);

/* ---- an endpoint ---- */

/* Datagrams are not kept, and a transmit context receives none. */
static bool kfp_keeps_messages(const struct kfi_ep *ep)
{
	return ep->type != KFI_EP_DGRAM && ep->fid.fid.fclass != KFI_CLASS_TX_CTX;
}

int kfi_proto_ep_open(struct kfi_ep *ep, struct kfi_proto *proto)
{
	struct kfi_proto_ep *pe = to_proto_ep(ep);
	int ret = 0;

	if (ep->sep && ep->ctx >= KFI_PROTO_CTX_MAX)
		return -EINVAL;
	/* The provider may have been loaded again, without TLS, after it had answered getinfo. */
	if (ep->caps & KFI_PROTECTED && !proto->protection)
		return -EOPNOTSUPP;
	pe->proto = proto;
	if (ep->type == KFI_EP_RDM) {
		pe->accounts = kfp_accounts_new(proto, kfi_ep_account(ep));
		ret = pe->accounts ? 0 : -ENOMEM;
	} else if (ep->type == KFI_EP_MSG) {
		ret = kfp_account_msg_open(pe);
	}
	if (ret)
		return ret;
	ep->eager_size = proto->params.eager_size;
	/* Over a link with places they are better for longer data. */
	ep->reply_max = proto->ops->expose ? proto->params.eager_size : KFW_FRAME_MAX;
	if (kfp_keeps_messages(ep))
		ep->eager_max = kfp_eager_max(proto->params.unexpected);
	kfi_peers_init(&pe->peers, ep);
	kfi_conn_set_init(&pe->conn_set, ep, &proto->conn_set_ops);
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_proto_ep_open);

/*
 * Each connection goes down in a work item of its own, which waits for its peer for a bounded time
 * at most.
 */
void kfi_proto_ep_stop(struct kfi_ep *ep, int err, void (*unlisten)(struct kfi_proto_ep *pe))
{
	struct kfi_proto_ep *pe = to_proto_ep(ep);

	kfi_peers_stop(&pe->peers);
	kfi_conn_set_stop(&pe->conn_set, err);
	if (unlisten)
		unlisten(pe);
	kfi_conn_set_drain(&pe->conn_set);
	if (ep->type != KFI_EP_RDM)
		return;
	synchronize_rcu();	/* posts that have not seen the stop have queued operations */
	kfi_peers_flush(&pe->peers, err);
}
EXPORT_SYMBOL_GPL(kfi_proto_ep_stop);

void kfi_proto_ep_close(struct kfi_ep *ep)
{
	struct kfi_proto_ep *pe = to_proto_ep(ep);

	if (ep->type == KFI_EP_RDM)
		kfi_peers_free(&pe->peers);
	if (ep->type == KFI_EP_MSG)
		kfp_account_msg_close(pe);	/* the allowance of a raw queue pair is 0 */
	kfree(pe->accounts);
}
EXPORT_SYMBOL_GPL(kfi_proto_ep_close);
