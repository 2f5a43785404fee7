// SPDX-License-Identifier: GPL-2.0
/*
 * kfi_ntb - kfabric over PCI Express non-transparent bridges: memory of two machines, a ring in each, and a DMA engine.
 *
 *   main.c    this: parameters, operations, life of the module
 *   dev.c     bridges and domains     info.c  what we offer     addr.c  names
 *   ep.c      endpoints               rdm.c  msg.c   their two kinds
 *   cm.c  auth.c  conn.c              how a connection comes, and how it goes
 *   tx.c  send.c                      the send path             rx.c  slot.c   the receive path
 *   mirror.c                          records to our own end
 *   way.c                             several bridges to one machine
 *   lend.c                            memory that the peer writes to by itself
 *   rma.c  atomic.c  commit.c         remote memory, both sides
 *   record.[ch]                       the format of what endpoints say
 *   link.h and the files behind it    a bridge: records in order, and memory that the peer writes to
 */
#include <linux/module.h>
#include "ntb.h"

unsigned int nt_eager_size = 4352;	/* a page, and a header of a consumer's in front of it */
module_param_named(eager_size, nt_eager_size, uint, 0444);
MODULE_PARM_DESC(eager_size, "longest message sent without asking, bytes, 1024 to 16384 (default 4352)");

unsigned int nt_unexpected = 128;
module_param_named(unexpected, nt_unexpected, uint, 0444);
MODULE_PARM_DESC(unexpected, "messages held for each peer and class, 4 to 4096 (default 128)");

unsigned int nt_requests = 64;
module_param_named(requests, nt_requests, uint, 0444);
MODULE_PARM_DESC(requests, "unanswered RMA, atomic operations and flushes accepted from each peer, 4 to 4096 (default 64)");

unsigned int nt_connect_timeout_ms = 10000;
module_param_named(connect_timeout_ms, nt_connect_timeout_ms, uint, 0644);
MODULE_PARM_DESC(connect_timeout_ms, "time for a connection to be established, milliseconds (default 10000)");

unsigned int nt_max_peers = 4096;
module_param_named(max_peers, nt_max_peers, uint, 0644);
MODULE_PARM_DESC(max_peers, "peers per endpoint that may connect by themselves (default 4096)");

unsigned int nt_backlog = 512;
module_param_named(backlog, nt_backlog, uint, 0644);
MODULE_PARM_DESC(backlog, "connections in handshake per listening endpoint; ended ones of a peer with messages to receive (default 512)");

struct workqueue_struct *nt_cm_wq;
struct workqueue_struct *nt_commit_wq;
struct workqueue_struct *nt_mirror_wq;

static const struct kfi_prov_ops nt_ops = {
	.domain_size	= sizeof(struct nt_domain),
	.ep_size	= sizeof(struct nt_ep),
	.pep_size	= sizeof(struct nt_pep),
	.mr_size	= sizeof(struct nt_mr),
	.tx_priv	= sizeof(struct nt_op),
	.cm_data_size	= NTW_DATA_MAX,
	.atomic_size	= NTW_ATOMIC_MAX,
	.flush		= true,

	.getinfo	= nt_getinfo,
	.resolve	= nt_resolve,
	.addr_check	= nt_addr_check,
	.addr_str	= nt_addr_str,
	.addr_removed	= nt_addr_removed,
	.domain_open	= nt_domain_open,
	.domain_close	= nt_domain_close,
	.mr_reg		= nt_mr_reg,
	.mr_dereg	= nt_mr_dereg,
	.mem_alloc	= nt_mem_alloc,
	.mem_free	= nt_mem_free,

	.ep_open	= nt_ep_open,
	.ep_enable	= nt_ep_enable,
	.ep_stop	= nt_ep_stop,
	.ep_close	= nt_ep_close,
	.getname	= nt_ep_getname,
	.setname	= nt_ep_setname,
	.peers		= nt_ep_peers,

	.tx		= nt_tx,
	.tx_flush	= nt_tx_flush,
	.rx_matched	= nt_rx_matched,
	.rx_drop	= nt_rx_drop,

	.connect	= nt_msg_connect,
	.accept		= nt_msg_accept,
	.shutdown	= nt_msg_shutdown,
	.getpeer	= nt_msg_getpeer,
	.pep_open	= nt_pep_open,
	.pep_close	= nt_pep_close,
	.pep_getname	= nt_pep_getname,
	.pep_setname	= nt_pep_setname,
	.listen		= nt_pep_listen,
	.reject		= nt_pep_reject,
};

static struct kfi_provider nt_provider = {
	.name		= "ntb",
	.version	= KFI_VERSION(1, 0),
	.ops		= &nt_ops,
};

/* Values that would stop every connection are mended, loudly. */
static void nt_check_params(void)
{
	unsigned int eager = clamp(nt_eager_size, 1024U, 16384U);	/* all that one atomic operation has is at most 1024 */
	unsigned int unexpected = clamp(nt_unexpected, 4U, 4096U);
	unsigned int requests = clamp(nt_requests, 4U, 4096U);

	if (eager != nt_eager_size || unexpected != nt_unexpected || requests != nt_requests)
		pr_warn("kfi_ntb: using eager_size=%u unexpected=%u requests=%u\n", eager, unexpected, requests);
	nt_eager_size = eager;
	nt_unexpected = unexpected;
	nt_requests = requests;
}

static int __init nt_init(void)
{
	int ret = -ENOMEM;

	nt_check_params();
	nt_ways_init();
	nt_cm_wq = alloc_workqueue("kfi_ntb_cm", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!nt_cm_wq)
		return ret;
	nt_commit_wq = alloc_workqueue("kfi_ntb_commit", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!nt_commit_wq)
		goto destroy_cm_wq;
	nt_mirror_wq = alloc_workqueue("kfi_ntb_mirror", WQ_MEM_RECLAIM | WQ_UNBOUND | WQ_HIGHPRI, 0);
	if (!nt_mirror_wq)
		goto destroy_commit_wq;
	ret = nt_links_init();
	if (ret)
		goto destroy_mirror_wq;
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
destroy_mirror_wq:
	destroy_workqueue(nt_mirror_wq);
destroy_commit_wq:
	destroy_workqueue(nt_commit_wq);
destroy_cm_wq:
	destroy_workqueue(nt_cm_wq);
	return ret;
}

/* Open fabrics keep the module: only bridges are left. */
static void __exit nt_exit(void)
{
	kfi_provider_deregister(&nt_provider);
	nt_devs_exit();
	nt_links_exit();
	destroy_workqueue(nt_mirror_wq);
	destroy_workqueue(nt_commit_wq);
	destroy_workqueue(nt_cm_wq);
}

module_init(nt_init);
module_exit(nt_exit);
MODULE_DESCRIPTION("kfabric provider over PCI Express non-transparent bridges");
MODULE_LICENSE("GPL");
MODULE_ALIAS("kfi-provider-ntb");
