// SPDX-License-Identifier: GPL-2.0
/*
 * The calls, types and flags that Lustre's kfilnd uses, in the way it uses
 * them, from the headers and the include path it has (include/ and no more). It
 * fails at build time if the interface drifts away from what the LND compiles
 * against, and has no effect when it is loaded: the conformance list makes the
 * same calls.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <kfi_endpoint.h>
#include <kfi_errno.h>
#include <kfi_rma.h>
#include <kfi_tagged.h>
#include <kfi_cxi_ext.h>

#define RX_CTX_BITS	8
#define IOV_MAX		256
#define MAX_PAYLOAD	(1U << 20)
#define DEPTH		256

struct lnd_dev {
	struct kfid_fabric	*fabric;
	struct kfid_domain	*domain;
	struct kfid_av		*av;
	struct kfid_ep		*sep, *rx, *tx;
	struct kfid_cq		*cq;
	struct device		*device;
	u32			auth_key;
	u32			nid_addr;
};

/* One request, its data as pages or as a mapped list */
struct lnd_req {
	kfi_addr_t		peer;
	u64			tag;
	u64			status;
	size_t			len;
	enum kfi_iov_type	type;
	size_t			nents;
	union {
		struct bio_vec		*bvec;
		struct scatterlist	*sgl;
	};
};

static struct kfi_info *lnd_hints(struct lnd_dev *dev)
{
	struct kfi_info *hints = kfi_allocinfo();

	if (!hints)
		return NULL;
	hints->caps = KFI_MSG | KFI_RMA | KFI_SEND | KFI_RECV | KFI_READ |
		      KFI_WRITE | KFI_REMOTE_READ | KFI_REMOTE_WRITE |
		      KFI_MULTI_RECV | KFI_REMOTE_COMM | KFI_NAMED_RX_CTX |
		      KFI_TAGGED | KFI_TAGGED_RMA | KFI_DIRECTED_RECV;
	hints->fabric_attr->prov_version = KFI_VERSION(1, 0);
	hints->domain_attr->mr_iov_limit = IOV_MAX;
	hints->domain_attr->mr_key_size = sizeof(int);
	hints->domain_attr->resource_mgmt = KFI_RM_DISABLED;
	hints->domain_attr->tclass = KFI_TC_BEST_EFFORT;
	hints->ep_attr->max_msg_size = MAX_PAYLOAD;
	hints->ep_attr->auth_key = (void *)&dev->auth_key;
	hints->ep_attr->auth_key_size = sizeof(dev->auth_key);
	hints->rx_attr->op_flags = KFI_COMPLETION | KFI_MULTI_RECV;
	hints->rx_attr->iov_limit = IOV_MAX;
	hints->tx_attr->op_flags = KFI_COMPLETION;
	hints->tx_attr->iov_limit = IOV_MAX;
	hints->tx_attr->rma_iov_limit = IOV_MAX;
	hints->tx_attr->tclass = KFI_TC_BEST_EFFORT;
	return hints;
}

/* The key is not ours to free: it has to leave the hints before they go. */
static void lnd_hints_free(struct kfi_info *hints)
{
	hints->ep_attr->auth_key = NULL;
	hints->ep_attr->auth_key_size = 0;
	kfi_freeinfo(hints);
}

/* An open object is part of the hints, and what is found is opened. */
static int lnd_open(struct lnd_dev *dev, const char *node, const char *service)
{
	struct kfi_info *hints = lnd_hints(dev), *copy, *info;
	int rc;

	if (!hints)
		return -ENOMEM;
	hints->fabric_attr->fabric = dev->fabric;
	hints->domain_attr->domain = dev->domain;
	copy = kfi_dupinfo(hints);	/* with a key of its own */
	rc = copy ? kfi_getinfo(0, node, service, KFI_SOURCE, copy, &info) : -ENOMEM;
	if (!rc) {
		dev->nid_addr = ((struct kcxi_addr *)info->src_addr)->nic;
		rc = kfi_fabric(info->fabric_attr, &dev->fabric, dev) ?:
		     kfi_domain(dev->fabric, info, &dev->domain, dev) ?:
		     kfi_scalable_ep(dev->domain, info, &dev->sep, dev) ?:
		     kfi_scalable_ep_bind(dev->sep, &dev->av->fid, 0) ?: kfi_enable(dev->sep);
		kfi_freeinfo(info);
	}
	kfi_freeinfo(copy);
	lnd_hints_free(hints);
	return rc;
}

static int lnd_extensions(struct lnd_dev *dev)
{
	struct kfi_cxi_fabric_ops *fabric_ops;
	struct kfi_cxi_domain_ops *ops;

	return kfi_open_ops(&dev->fabric->fid, KFI_CXI_FAB_OPS_1, 0, (void **)&fabric_ops, NULL) ?:
	       fabric_ops->enable_dynamic_rsrc_alloc(&dev->fabric->fid, true) ?:
	       kfi_open_ops(&dev->domain->fid, KFI_CXI_DOM_OPS_1, 0, (void **)&ops, NULL) ?:
	       ops->get_device(&dev->domain->fid, &dev->device);
}

static void lnd_complete(u64 flags, void *context, int status)
{
	pr_debug("%p: flags %llx status %d\n", context, flags, status);
}

/* The LND accepts these sets of flags and stops the node for any other. */
static int lnd_event(const struct kfi_cq_data_entry *e)
{
	switch (e->flags) {
	case KFI_MSG | KFI_RECV:
	case KFI_MSG | KFI_RECV | KFI_MULTI_RECV:
		lnd_complete(e->flags, e->buf, e->len);
		return 0;
	case KFI_TAGGED | KFI_RECV | KFI_REMOTE_CQ_DATA:
		lnd_complete(e->flags, e->op_context, -(s64)be64_to_cpu((__force __be64)e->data));
		return 0;
	case KFI_TAGGED | KFI_RMA | KFI_READ | KFI_RECV:
	case KFI_TAGGED | KFI_RMA | KFI_WRITE | KFI_RECV:
	case KFI_TAGGED | KFI_SEND:
	case KFI_TAGGED | KFI_RMA | KFI_READ | KFI_SEND:
	case KFI_TAGGED | KFI_RMA | KFI_WRITE | KFI_SEND:
	case KFI_MSG | KFI_SEND:
		lnd_complete(e->flags, e->op_context, 0);
		return 0;
	default:
		return -EPROTO;
	}
}

static void lnd_comp_handler(struct kfid_cq *cq, void *context)
{
	struct kfi_cq_data_entry entry;
	struct kfi_cq_err_entry error;

	while (kfi_cq_read(cq, &entry, 1) == 1)
		WARN_ON_ONCE(lnd_event(&entry));
	while (kfi_cq_readerr(cq, &error, 0) == 1)
		lnd_complete(error.flags, error.op_context, -error.err);
}

static int lnd_contexts(struct lnd_dev *dev)
{
	size_t min_multi_recv = 4096;
	struct kfi_cq_attr cq = {
		.flags = KFI_AFFINITY,
		.format = KFI_CQ_FORMAT_DATA,
		.wait_cond = KFI_CQ_COND_NONE,
		.wait_obj = KFI_WAIT_NONE,
		.signaling_vector = 0,
		.size = DEPTH,
	};
	struct kfi_rx_attr rx = {
		.op_flags = KFI_COMPLETION | KFI_MULTI_RECV,
		.msg_order = KFI_ORDER_NONE,
		.comp_order = KFI_ORDER_NONE,
		.size = DEPTH,
		.iov_limit = IOV_MAX,
	};
	struct kfi_tx_attr tx = {
		.op_flags = KFI_COMPLETION | KFI_TRANSMIT_COMPLETE,
		.msg_order = KFI_ORDER_NONE,
		.comp_order = KFI_ORDER_NONE,
		.size = DEPTH,
		.iov_limit = IOV_MAX,
		.rma_iov_limit = IOV_MAX,
		.tclass = KFI_TC_BEST_EFFORT,
	};

	return kfi_cq_open(dev->domain, &cq, &dev->cq, lnd_comp_handler, dev) ?:
	       kfi_rx_context(dev->sep, 0, &rx, &dev->rx, dev) ?:
	       kfi_tx_context(dev->sep, 0, &tx, &dev->tx, dev) ?:
	       kfi_setopt(&dev->rx->fid, KFI_OPT_ENDPOINT, KFI_OPT_MIN_MULTI_RECV,
			  &min_multi_recv, sizeof(min_multi_recv)) ?:
	       kfi_ep_bind(dev->rx, &dev->cq->fid, 0) ?: kfi_enable(dev->rx);
}

static int lnd_peer(struct lnd_dev *dev, const char *name, const char *service, kfi_addr_t *rx)
{
	struct kfi_av_attr attr = { .type = KFI_AV_UNSPEC, .rx_ctx_bits = RX_CTX_BITS };
	kfi_addr_t peer;
	int rc;

	rc = kfi_av_open(dev->domain, &attr, &dev->av, dev);
	if (rc)
		return rc;
	rc = kfi_av_insertsvc(dev->av, name, service, &peer, 0, dev);
	if (rc != 1)
		return rc;
	*rx = kfi_rx_addr(peer, 0, RX_CTX_BITS);
	return kfi_av_remove(dev->av, &peer, 1, 0);
}

static int lnd_post_sink(struct lnd_dev *dev, struct lnd_req *req)
{
	struct kfi_msg_tagged msg = {
		.tag = req->tag,
		.context = req,
		.addr = req->peer,
	};

	msg.type = req->type;
	msg.iov_count = req->nents;
	if (req->type == KFI_SGL)
		msg.msg_sgl = req->sgl;
	else
		msg.msg_biov = req->bvec;
	return kfi_trecvmsg(dev->rx, &msg, KFI_COMPLETION);
}

static int lnd_post_rma(struct lnd_dev *dev, struct lnd_req *req, bool read)
{
	struct kfi_rma_iov rma_iov = {
		.len = req->len,
		.key = req->tag,
	};
	struct kfi_msg_rma rma = {
		.addr = req->peer,
		.rma_iov = &rma_iov,
		.rma_iov_count = 1,
		.context = req,
	};

	rma.type = req->type;
	rma.iov_count = req->nents;
	if (req->type == KFI_SGL)
		rma.msg_sgl = req->sgl;
	else
		rma.msg_biov = req->bvec;
	if (read)
		return kfi_readmsg(dev->tx, &rma, KFI_TAGGED | KFI_COMPLETION);
	return kfi_writemsg(dev->tx, &rma, KFI_TAGGED | KFI_COMPLETION);
}

static int lnd_post(struct lnd_dev *dev, struct lnd_req *req, void *buf)
{
	return kfi_recv(dev->rx, buf, req->len, NULL, KFI_ADDR_UNSPEC, dev) ?:
	       kfi_send(dev->tx, buf, req->len, NULL, req->peer, req) ?:
	       kfi_tsenddata(dev->tx, NULL, 0, NULL, req->status, req->peer, req->tag, req) ?:
	       lnd_post_sink(dev, req) ?: lnd_post_rma(dev, req, true) ?:
	       lnd_post_rma(dev, req, false) ?: kfi_cancel(&dev->rx->fid, req);
}

static int __used lnd_all(struct lnd_dev *dev, struct lnd_req *req, void *buf)
{
	return lnd_open(dev, "va", "0") ?: lnd_extensions(dev) ?: lnd_contexts(dev) ?:
	       lnd_peer(dev, "0x1", "0", &req->peer) ?: lnd_post(dev, req, buf) ?:
	       kfi_close(&dev->rx->fid);
}

MODULE_DESCRIPTION("Compile-time test of the interface that Lustre's kfilnd uses");
MODULE_LICENSE("GPL");
