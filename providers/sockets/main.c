// SPDX-License-Identifier: GPL-2.0
/*
 * kfi_sockets - kfabric over the kernel's own TCP and UDP: needs no hardware and no user-space helper.
 *
 *   main.c    this: parameters, operations, life of the module
 *   addr.c    names and what we offer for them
 *   ep.c      endpoints        rdm.c  msg.c  dgram.c   their three kinds
 *   listen.c  greet.c  conn.c  how a connection comes, and how it goes
 *   tx.c  send.c    the send path    rx.c  stream.c  the receive path
 *   atomic.c  atomic operations, both sides    commit.c  what is to be visible or durable
 *   inmsg.c   messages that wait       held.c    how many of them    answer.c   what peers say about our operations
 *   wire.[ch] the format
 */
#include <linux/module.h>
#include <linux/slab.h>
#include "sock.h"

unsigned int ks_eager_size = 16 * 1024;
module_param_named(eager_size, ks_eager_size, uint, 0444);
MODULE_PARM_DESC(eager_size, "longest message sent without asking, bytes, 256 to 1048576 (default 16384)");

unsigned int ks_window = 1024;
module_param_named(window, ks_window, uint, 0444);
MODULE_PARM_DESC(window, "unexpected messages held for each peer and class, units of 256 bytes (default 1024)");

unsigned int ks_window_peer = 8192;
module_param_named(window_peer, ks_window_peer, uint, 0444);
MODULE_PARM_DESC(window_peer, "unexpected messages held for a peer over all its connections, units (default 8192)");

unsigned int ks_window_source = 32768;
module_param_named(window_source, ks_window_source, uint, 0444);
MODULE_PARM_DESC(window_source, "unexpected messages held for all peers of one source, per endpoint, units (default 32768)");

unsigned int ks_window_total = 131072;
module_param_named(window_total, ks_window_total, uint, 0444);
MODULE_PARM_DESC(window_total, "unexpected messages held by an endpoint, units; each peer gets 32 beyond (default 131072)");

unsigned int ks_requests = 256;
module_param_named(requests, ks_requests, uint, 0444);
MODULE_PARM_DESC(requests, "unanswered RMA, atomic operations and flushes accepted from each peer, 16 to 65535 (default 256)");

unsigned int ks_connect_timeout_ms = 10000;
module_param_named(connect_timeout_ms, ks_connect_timeout_ms, uint, 0644);
MODULE_PARM_DESC(connect_timeout_ms, "time for a connection to be established, milliseconds (default 10000)");

unsigned int ks_keepidle_s = 5;
module_param_named(keepidle_s, ks_keepidle_s, uint, 0644);
MODULE_PARM_DESC(keepidle_s, "silence before an idle peer is probed, seconds (default 5)");

unsigned int ks_keepintvl_s = 2;
module_param_named(keepintvl_s, ks_keepintvl_s, uint, 0644);
MODULE_PARM_DESC(keepintvl_s, "time between probes, seconds (default 2)");

unsigned int ks_keepcnt = 3;
module_param_named(keepcnt, ks_keepcnt, uint, 0644);
MODULE_PARM_DESC(keepcnt, "unanswered probes before a peer is dead (default 3)");

unsigned int ks_user_timeout_ms = 10000;
module_param_named(user_timeout_ms, ks_user_timeout_ms, uint, 0644);
MODULE_PARM_DESC(user_timeout_ms, "unacknowledged data before a peer is dead, milliseconds (default 10000)");

unsigned int ks_max_peers = 4096;
module_param_named(max_peers, ks_max_peers, uint, 0644);
MODULE_PARM_DESC(max_peers, "peers per endpoint that may connect by themselves (default 4096)");

unsigned int ks_hello_timeout_ms = 3000;
module_param_named(hello_timeout_ms, ks_hello_timeout_ms, uint, 0644);
MODULE_PARM_DESC(hello_timeout_ms, "time for a caller to say, and to prove, who it is, milliseconds (default 3000)");

unsigned int ks_source_peers = 1024;
module_param_named(source_peers, ks_source_peers, uint, 0644);
MODULE_PARM_DESC(source_peers, "connections per endpoint that come from one source, an IPv4 address or IPv6 /64 (default 1024)");

unsigned int ks_source_backlog = 128;
module_param_named(source_backlog, ks_source_backlog, uint, 0644);
MODULE_PARM_DESC(source_backlog, "... in handshake (default 128)");

unsigned int ks_backlog = 512;
module_param_named(backlog, ks_backlog, uint, 0644);
MODULE_PARM_DESC(backlog, "connections in handshake per listening endpoint (default 512)");

ushort ks_short_port = 12345;
module_param_named(short_port, ks_short_port, ushort, 0444);
MODULE_PARM_DESC(short_port, "port of pid 0 in short names, which kfilnd has (default 12345)");

bool ks_reserved_ports = true;
module_param_named(reserved_ports, ks_reserved_ports, bool, 0644);
MODULE_PARM_DESC(reserved_ports, "RDM without authorization key: call from ports 512 to 1023, and believe callers only from ports below 1024 (default yes)");

bool ks_splice = true;
module_param_named(splice, ks_splice, bool, 0644);
MODULE_PARM_DESC(splice, "send page-backed payload without a copy where the kernel can (default yes)");

struct workqueue_struct *ks_wq;
struct workqueue_struct *ks_cm_wq;
struct workqueue_struct *ks_commit_wq;
struct kmem_cache *ks_inmsg_cache;
struct kmem_cache *ks_conn_cache;
struct ks_stage __percpu *ks_stages;

static const struct kfi_prov_ops ks_ops = {
	.domain_size	= sizeof(struct ks_domain),
	.ep_size	= sizeof(struct ks_ep),
	.pep_size	= sizeof(struct ks_pep),
	.tx_priv	= sizeof(struct ks_op),
	.cm_data_size	= SKW_DATA_MAX,
	.atomic_size	= SKW_ATOMIC_MAX,
	.flush		= true,
	.av_only	= true,

	.getinfo	= ks_getinfo,
	.resolve	= ks_resolve,
	.addr_check	= ks_addr_check,
	.addr_str	= kfi_inaddr_str,
	.addr_removed	= ks_addr_removed,
	.domain_open	= ks_domain_open,

	.ep_open	= ks_ep_open,
	.ep_enable	= ks_ep_enable,
	.ep_stop	= ks_ep_stop,
	.ep_close	= ks_ep_close,
	.getname	= ks_ep_getname,
	.setname	= ks_ep_setname,
	.peers		= ks_ep_peers,

	.tx		= ks_tx,
	.tx_flush	= ks_tx_flush,
	.rx_matched	= ks_rx_matched,
	.rx_drop	= ks_rx_drop,

	.connect	= ks_msg_connect,
	.accept		= ks_msg_accept,
	.shutdown	= ks_msg_shutdown,
	.getpeer	= ks_msg_getpeer,
	.pep_open	= ks_pep_open,
	.pep_close	= ks_pep_close,
	.pep_getname	= ks_pep_getname,
	.pep_setname	= ks_pep_setname,
	.listen		= ks_pep_listen,
	.reject		= ks_pep_reject,
};

static struct kfi_provider ks_provider = {
	.name		= "sockets",
	.version	= KFI_VERSION(1, 0),
	.ops		= &ks_ops,
};

/* Values that would stop every stream are mended, loudly. */
static void ks_check_params(void)
{
	unsigned int eager = clamp(ks_eager_size, 256U, 1U << 20);
	/* We tell of free units when half the window is: the longest message has to fit into the other half. */
	unsigned int window = clamp(ks_window, 2 * skw_cost(eager), 1U << 24);
	unsigned int requests = clamp(ks_requests, 16U, 65535U);

	if (eager != ks_eager_size || window != ks_window || requests != ks_requests)
		pr_warn("kfi_sockets: using eager_size=%u window=%u requests=%u\n", eager, window, requests);
	if (ks_short_port > KFI_SHORT_PORT_MAX) {
		ks_short_port = KFI_SHORT_PORT_MAX;
		pr_warn("kfi_sockets: using short_port=%u\n", ks_short_port);
	}
	ks_eager_size = eager;
	ks_window = window;
	ks_requests = requests;
	/* The first connection gets full windows: see ks_held_levels. */
	ks_window_peer = max(ks_window_peer, 4 * window);
	ks_window_source = max(ks_window_source, 8 * window);
	ks_window_total = max(ks_window_total, 16 * window);
}

static void ks_free_memory(void)
{
	free_percpu(ks_stages);
	kmem_cache_destroy(ks_inmsg_cache);
	kmem_cache_destroy(ks_conn_cache);
}

static int __init ks_init(void)
{
	int ret = -ENOMEM;

	ks_check_params();
	/* Of its own: in the general caches all would have their hot lines in the same places. */
	ks_conn_cache = KMEM_CACHE(ks_conn, SLAB_HWCACHE_ALIGN);
	ks_inmsg_cache = KMEM_CACHE(ks_inmsg, SLAB_HWCACHE_ALIGN);
	ks_stages = alloc_percpu(struct ks_stage);
	if (!ks_conn_cache || !ks_inmsg_cache || !ks_stages)
		goto free_memory;
	ks_wq = alloc_workqueue("kfi_sockets", WQ_MEM_RECLAIM | WQ_HIGHPRI | WQ_PERCPU, 0);
	if (!ks_wq)
		goto free_memory;
	ks_cm_wq = alloc_workqueue("kfi_sockets_cm", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!ks_cm_wq)
		goto destroy_wq;
	ks_commit_wq = alloc_workqueue("kfi_sockets_commit", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!ks_commit_wq)
		goto destroy_cm_wq;
	ret = kfi_provider_register(&ks_provider);
	if (ret)
		goto destroy_commit_wq;
	return 0;
destroy_commit_wq:
	destroy_workqueue(ks_commit_wq);
destroy_cm_wq:
	destroy_workqueue(ks_cm_wq);
destroy_wq:
	destroy_workqueue(ks_wq);
free_memory:
	ks_free_memory();
	return ret;
}

static void __exit ks_exit(void)
{
	kfi_provider_deregister(&ks_provider);
	destroy_workqueue(ks_commit_wq);
	destroy_workqueue(ks_cm_wq);
	destroy_workqueue(ks_wq);
	ks_free_memory();
}

module_init(ks_init);
module_exit(ks_exit);
MODULE_DESCRIPTION("kfabric provider over TCP and UDP sockets");
MODULE_LICENSE("GPL");
MODULE_ALIAS("kfi-provider-sockets");
