// SPDX-License-Identifier: GPL-2.0
/* peer.c - the peer: an MSG endpoint of kfi_sockets, or of a bridge, for each call. */
#include <linux/module.h>
#include <linux/slab.h>
#include "hostile.h"

static char *bridge = "";
module_param(bridge, charp, 0444);
MODULE_PARM_DESC(bridge, "call over the bridge whose other end is this domain");

unsigned long hi_patience = HI_WAIT;
bool hi_reserved;

static struct kfi_info *peer_info;
static struct kfid_fabric *peer_fabric;
static struct kfid_domain *peer_domain;
static struct kfid_cq *peer_cq;

static void peer_event(struct kfid_eq *eq, void *context)
{
	struct hi_peer *p = context;
	struct kfi_event ev;

	while (kfi_eq_next(eq, &ev)) {
		if (!ev.err && ev.event == KFI_CONNECTED) {
			complete_all(&p->answered);
			continue;
		}
		if (!completion_done(&p->answered)) {
			p->err = ev.err ?: -ECONNRESET;
			complete_all(&p->answered);
		}
		complete_all(&p->lost);
	}
}

int hi_peers_open(void)
{
	struct kfi_cq_attr attr = { .size = 64, .format = KFI_CQ_FORMAT_DATA };
	struct kfi_info *hints = kfi_allocinfo();
	int ret = -ENOMEM;

	if (!hints)
		return ret;
	hints->caps = KFI_MSG | KFI_RMA;
	hints->ep_attr->type = KFI_EP_MSG;
	hints->domain_attr->mr_mode = KFI_MR_ALLOCATED;
	hints->domain_attr->mr_key_size = sizeof(u32);
	hints->fabric_attr->prov_name = kstrdup(*bridge ? "ntb" : "sockets", GFP_KERNEL);
	hints->domain_attr->name = *bridge ? kstrdup(bridge, GFP_KERNEL) : NULL;
	if (hints->fabric_attr->prov_name && (!*bridge || hints->domain_attr->name))
		ret = kfi_getinfo_net(&init_net, KFI_VERSION(KFI_MAJOR_VERSION, KFI_MINOR_VERSION),
				      *bridge ? NULL : HI_NODE, HI_SERVICE, 0, hints, &peer_info);
	kfi_freeinfo(hints);
	ret = ret ?: kfi_fabric_net(&init_net, peer_info->fabric_attr, &peer_fabric, NULL);
	ret = ret ?: kfi_domain(peer_fabric, peer_info, &peer_domain, NULL);
	return ret ?: kfi_cq_open(peer_domain, &attr, &peer_cq, NULL, NULL);
}

void hi_peers_close(void)
{
	if (peer_cq)
		WARN_ON(kfi_close(&peer_cq->fid));
	if (peer_domain)
		WARN_ON(kfi_close(&peer_domain->fid));
	if (peer_fabric)
		WARN_ON(kfi_close(&peer_fabric->fid));
	kfi_freeinfo(peer_info);
}

bool hi_bridge(void)
{
	return *bridge;
}

struct kib_hello hi_hello(void)
{
	struct kib_hello hello = {
		.magic = cpu_to_be32(KIB_MAGIC), .version = KIB_VERSION, .family = 4,
		.ird = cpu_to_be16(4), .ord = cpu_to_be16(4),
		.src_port = cpu_to_be16(40000), .dst_port = cpu_to_be16(HI_PORT),
	};
	__be32 dst = cpu_to_be32(HI_ADDR), src = cpu_to_be32(*bridge ? HI_ADDR + 1 : HI_ADDR);

	memcpy(hello.src, &src, sizeof(src));
	memcpy(hello.dst, &dst, sizeof(dst));
	return hello;
}

int hi_call(struct hi_peer *p, const void *data, size_t len)
{
	size_t reserved = hi_reserved;
	int ret;

	*p = (struct hi_peer) {};
	init_completion(&p->answered);
	init_completion(&p->lost);
	ret = kfi_eq_open(peer_fabric, NULL, &p->eq, peer_event, p);
	if (ret)
		return ret;
	ret = kfi_endpoint(peer_domain, peer_info, &p->ep, p) ?:
	      kfi_ep_bind(p->ep, &peer_cq->fid, KFI_TRANSMIT | KFI_RECV) ?:
	      kfi_ep_bind(p->ep, &p->eq->fid, 0) ?:
	      kfi_setopt(&p->ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_RESERVED_PORT, &reserved,
			 sizeof(reserved)) ?: kfi_enable(p->ep) ?:
	      kfi_connect(p->ep, peer_info->dest_addr, data, len);
	if (ret)
		return ret;
	if (!wait_for_completion_timeout(&p->answered, hi_patience))
		return -ETIMEDOUT;
	return p->err;
}

void hi_end(struct hi_peer *p)
{
	if (p->ep)
		WARN_ON(kfi_close(&p->ep->fid));
	if (p->eq)
		WARN_ON(kfi_close(&p->eq->fid));
}

static void op_done(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	struct hi_op *op = container_of(cqe, struct hi_op, cqe);

	op->err = -wc->err;
	complete(&op->done);
}

int hi_begin(struct hi_peer *p, struct hi_op *op, const void *buf, size_t len, u64 data,
	     u64 inv_key, u64 flags)
{
	struct kvec iov = { (void *)buf, len };
	struct kfi_msg msg = {
		.type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1, .context = &op->cqe,
		.data = data, .inv_key = inv_key,
	};

	op->cqe.done = op_done;
	init_completion(&op->done);
	return kfi_sendmsg(p->ep, &msg, flags | KFI_CQE);
}

int hi_wait(struct hi_op *op)
{
	wait_for_completion(&op->done);
	return op->err;
}

/* A connection that has ended refuses posts: that is an outcome, too. */
int hi_send(struct hi_peer *p, const void *buf, size_t len, u64 data, u64 inv_key, u64 flags)
{
	struct hi_op op;

	return hi_begin(p, &op, buf, len, data, inv_key, flags) ?: hi_wait(&op);
}

int hi_rma(struct hi_peer *p, void *buf, size_t len, u64 addr, u64 key, bool read)
{
	struct hi_op op = { .cqe.done = op_done };
	struct kfi_rma_iov rma = { .addr = addr, .len = len, .key = key };
	struct kvec iov = { buf, len };
	struct kfi_msg_rma msg = {
		.type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1, .rma_iov = &rma,
		.rma_iov_count = 1, .context = &op.cqe,
	};
	int ret;

	init_completion(&op.done);
	ret = read ? kfi_readmsg(p->ep, &msg, KFI_CQE) : kfi_writemsg(p->ep, &msg, KFI_CQE);
	return ret ?: hi_wait(&op);
}
