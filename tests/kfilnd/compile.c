// SPDX-License-Identifier: GPL-2.0
/*
 * A consumer in the shape of Lustre's kfilnd: every call, type and flag that
 * the LND uses, used in the way and order it uses them, from the headers and
 * the include path it has (include/ and no more). It fails at build time if the
 * interface drifts away from what the LND compiles against.
 *
 * Loaded with node=<interface> it also brings a device up and down.
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
#define MIN_RECV	4096
#define DEPTH		256
#define BUF_ORDER	9	/* 2 MiB with pages of 4 KiB */

static char *node;
module_param(node, charp, 0444);
MODULE_PARM_DESC(node, "interface to bring a device up on (default: none)");

static uint net;
module_param(net, uint, 0444);
MODULE_PARM_DESC(net, "network number, the service (default: 0)");

struct lnd_cq {
	struct kfid_cq		*cq;
	struct work_struct	work;
};

struct lnd_ctx {
	struct kfid_ep		*rx, *tx;
	struct lnd_cq		rx_cq, tx_cq;
	struct page		*page;
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

/* What is open, in the order in which it was opened */
static struct kfid *lnd_fids[16];
static unsigned int lnd_nr_fids;

/* The result of a call that opens @fid */
#define lnd_opened(rc, fid)	({ int __rc = (rc); if (!__rc) lnd_fids[lnd_nr_fids++] = (fid); __rc; })

struct lnd_dev {
	struct kfid_fabric	*fabric;
	struct kfid_domain	*domain;
	struct kfid_av		*av;
	struct kfid_ep		*sep;
	struct device		*device;
	u32			nid_addr;
	struct lnd_ctx		ctx;
	struct lnd_req		req;
};

static void lnd_close_all(struct lnd_dev *dev)
{
	struct lnd_cq *cqs[] = { &dev->ctx.rx_cq, &dev->ctx.tx_cq };
	int i;

	while (lnd_nr_fids) {
		for (i = 0; i < ARRAY_SIZE(cqs); i++)
			if (cqs[i]->cq)
				flush_work(&cqs[i]->work);
		WARN_ON(kfi_close(lnd_fids[--lnd_nr_fids]));
	}
}

static struct kfi_info *lnd_hints(u32 *auth_key)
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
	hints->ep_attr->auth_key = (void *)auth_key;
	hints->ep_attr->auth_key_size = sizeof(*auth_key);
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

/* Ask whether an open object fits the node: a yes would make two devices share it. */
static bool lnd_can_reuse(struct kfi_info *hints, const char *service,
			  struct kfid_fabric *fabric, struct kfid_domain *domain)
{
	struct kfi_info *info;
	int rc;

	hints->fabric_attr->fabric = fabric;
	hints->domain_attr->domain = domain;
	rc = kfi_getinfo(0, node, service, KFI_SOURCE, hints, &info);
	hints->fabric_attr->fabric = NULL;
	hints->domain_attr->domain = NULL;
	if (!rc)
		kfi_freeinfo(info);
	return !rc;
}

/* Resource numbers are asked for if the fabric lets a consumer choose them. */
static void lnd_try_dynamic(struct kfid_fabric *fabric, struct kfi_info *hints)
{
	struct kfi_cxi_fabric_ops *ops;
	int rc;

	rc = kfi_open_ops(&fabric->fid, KFI_CXI_FAB_OPS_1, 0, (void **)&ops, NULL);
	if (rc)
		return;
	rc = ops->enable_dynamic_rsrc_alloc(&fabric->fid, true);
	if (rc)
		return;
	hints->domain_attr->cq_cnt = 2;
	hints->domain_attr->tx_ctx_cnt = 1;
	hints->domain_attr->rx_ctx_cnt = 1;
	hints->rx_attr->size = DEPTH;
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

static void lnd_drain(struct work_struct *work)
{
	struct lnd_cq *c = container_of(work, struct lnd_cq, work);
	struct kfi_cq_data_entry entry;
	struct kfi_cq_err_entry error;
	ssize_t rc;

	for (;;) {
		rc = kfi_cq_read(c->cq, &entry, 1);
		if (rc == -KFI_EAVAIL) {
			while (kfi_cq_readerr(c->cq, &error, 0) == 1)
				lnd_complete(error.flags, error.op_context, -error.err);
		} else if (rc == 1) {
			WARN_ON_ONCE(lnd_event(&entry));
		} else {
			WARN_ON_ONCE(rc != -EAGAIN);
			break;
		}
	}
}

static void lnd_comp_handler(struct kfid_cq *cq, void *context)
{
	struct lnd_cq *c = context;

	queue_work(system_unbound_wq, &c->work);
}

static int lnd_cq_open(struct lnd_dev *dev, struct lnd_cq *c)
{
	struct kfi_cq_attr attr = {};

	attr.flags = KFI_AFFINITY;
	attr.format = KFI_CQ_FORMAT_DATA;
	attr.wait_cond = KFI_CQ_COND_NONE;
	attr.wait_obj = KFI_WAIT_NONE;
	attr.signaling_vector = 0;
	attr.size = DEPTH;
	INIT_WORK(&c->work, lnd_drain);
	return lnd_opened(kfi_cq_open(dev->domain, &attr, &c->cq, lnd_comp_handler, c), &c->cq->fid);
}

static int lnd_rx_open(struct lnd_dev *dev, struct lnd_ctx *ctx)
{
	struct kfi_rx_attr attr = {};
	size_t min_multi_recv = MIN_RECV;
	int rc;

	attr.op_flags = KFI_COMPLETION | KFI_MULTI_RECV;
	attr.msg_order = KFI_ORDER_NONE;
	attr.comp_order = KFI_ORDER_NONE;
	attr.size = DEPTH;
	attr.iov_limit = IOV_MAX;
	rc = lnd_opened(kfi_rx_context(dev->sep, 0, &attr, &ctx->rx, ctx), &ctx->rx->fid);
	return rc ?: kfi_setopt(&ctx->rx->fid, KFI_OPT_ENDPOINT, KFI_OPT_MIN_MULTI_RECV,
				&min_multi_recv, sizeof(min_multi_recv));
}

static int lnd_tx_open(struct lnd_dev *dev, struct lnd_ctx *ctx)
{
	struct kfi_tx_attr attr = {};

	attr.op_flags = KFI_COMPLETION | KFI_TRANSMIT_COMPLETE;
	attr.msg_order = KFI_ORDER_NONE;
	attr.comp_order = KFI_ORDER_NONE;
	attr.size = DEPTH;
	attr.iov_limit = IOV_MAX;
	attr.rma_iov_limit = IOV_MAX;
	attr.tclass = KFI_TC_BEST_EFFORT;
	return lnd_opened(kfi_tx_context(dev->sep, 0, &attr, &ctx->tx, ctx), &ctx->tx->fid);
}

static int lnd_ctx_open(struct lnd_dev *dev, struct lnd_ctx *ctx)
{
	ctx->page = alloc_pages(GFP_KERNEL, BUF_ORDER);
	if (!ctx->page)
		return -ENOMEM;
	return lnd_cq_open(dev, &ctx->rx_cq) ?: lnd_cq_open(dev, &ctx->tx_cq) ?:
	       lnd_rx_open(dev, ctx) ?: lnd_tx_open(dev, ctx) ?:
	       kfi_ep_bind(ctx->rx, &ctx->rx_cq.cq->fid, 0) ?:
	       kfi_ep_bind(ctx->tx, &ctx->tx_cq.cq->fid, 0) ?:
	       kfi_enable(ctx->rx) ?: kfi_enable(ctx->tx) ?:
	       kfi_recv(ctx->rx, page_address(ctx->page), PAGE_SIZE << BUF_ORDER, NULL,
			KFI_ADDR_UNSPEC, ctx);
}

static int lnd_sep_open(struct lnd_dev *dev, struct kfi_info *info)
{
	struct kfi_av_attr attr = {};

	attr.type = KFI_AV_UNSPEC;
	attr.rx_ctx_bits = RX_CTX_BITS;
	return lnd_opened(kfi_av_open(dev->domain, &attr, &dev->av, dev), &dev->av->fid) ?:
	       lnd_opened(kfi_scalable_ep(dev->domain, info, &dev->sep, dev), &dev->sep->fid) ?:
	       kfi_scalable_ep_bind(dev->sep, &dev->av->fid, 0) ?: kfi_enable(dev->sep);
}

static void lnd_get_device(struct lnd_dev *dev)
{
	struct kfi_cxi_domain_ops *ops;
	int rc;

	rc = kfi_open_ops(&dev->domain->fid, KFI_CXI_DOM_OPS_1, 0, (void **)&ops, NULL);
	if (!rc)
		ops->get_device(&dev->domain->fid, &dev->device);
}

static int lnd_dev_open(struct lnd_dev *dev, struct kfi_info *info)
{
	int rc;

	if (!info->src_addr || info->src_addrlen != sizeof(struct kcxi_addr))
		return -EADDRNOTAVAIL;
	dev->nid_addr = ((struct kcxi_addr *)info->src_addr)->nic;
	rc = lnd_opened(kfi_domain(dev->fabric, info, &dev->domain, dev), &dev->domain->fid);
	if (rc)
		return rc;
	lnd_get_device(dev);
	return lnd_sep_open(dev, info) ?: lnd_ctx_open(dev, &dev->ctx);
}

static int lnd_peer_add(struct lnd_dev *dev, u32 nid_addr, u32 nid_net, int rx_index,
			kfi_addr_t *peer, kfi_addr_t *rx)
{
	char name[16], service[16];
	int rc;

	snprintf(name, sizeof(name), "%#x", nid_addr);
	snprintf(service, sizeof(service), "%u", nid_net);
	rc = kfi_av_insertsvc(dev->av, name, service, peer, 0, dev);
	if (rc != 1)
		return rc < 0 ? rc : -ECONNABORTED;
	*rx = kfi_rx_addr(*peer, rx_index, RX_CTX_BITS);
	return 0;
}

static int lnd_post_send(struct lnd_ctx *ctx, struct lnd_req *req, void *buf)
{
	return kfi_send(ctx->tx, buf, req->len, NULL, req->peer, req);
}

static int lnd_post_skip(struct lnd_ctx *ctx, struct lnd_req *req)
{
	return kfi_tsenddata(ctx->tx, NULL, 0, NULL, req->status, req->peer, req->tag, req);
}

static int lnd_post_sink(struct lnd_ctx *ctx, struct lnd_req *req)
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
	pr_debug("%lu fragments, tag 0x%llx\n", msg.iov_count, msg.tag);
	return kfi_trecvmsg(ctx->rx, &msg, KFI_COMPLETION);
}

static int lnd_post_rma(struct lnd_ctx *ctx, struct lnd_req *req, bool read)
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
		return kfi_readmsg(ctx->tx, &rma, KFI_TAGGED | KFI_COMPLETION);
	return kfi_writemsg(ctx->tx, &rma, KFI_TAGGED | KFI_COMPLETION);
}

/* Each kind of post once, to ourselves; the teardown ends what has not ended. */
static int lnd_exchange(struct lnd_dev *dev)
{
	struct lnd_ctx *ctx = &dev->ctx;
	struct lnd_req *req = &dev->req;
	kfi_addr_t peer;
	int rc;

	req->type = KFI_BVEC;
	req->tag = 1;
	rc = lnd_peer_add(dev, dev->nid_addr, net, 0, &peer, &req->peer);
	if (rc)
		return rc;
	rc = lnd_post_sink(ctx, req) ?: lnd_post_skip(ctx, req) ?:
	     lnd_post_send(ctx, req, page_address(ctx->page)) ?:
	     lnd_post_rma(ctx, req, true) ?: lnd_post_rma(ctx, req, false);
	while (kfi_cancel(&ctx->rx->fid, req) == -EAGAIN)
		schedule();
	kfi_av_remove(dev->av, &peer, 1, 0);
	return rc;
}

static int lnd_run(struct lnd_dev *dev, struct kfi_info *hints, const char *service)
{
	struct kfi_info *copy, *info;
	int rc;

	copy = kfi_dupinfo(hints);	/* with a key of its own */
	if (!copy)
		return -ENOMEM;
	rc = kfi_getinfo(0, node, service, KFI_SOURCE, copy, &info);
	kfi_freeinfo(copy);
	if (rc)
		return rc;
	rc = lnd_opened(kfi_fabric(info->fabric_attr, &dev->fabric, dev), &dev->fabric->fid);
	if (rc)
		goto out;
	lnd_try_dynamic(dev->fabric, hints);
	rc = lnd_dev_open(dev, info);
	if (!rc && !lnd_can_reuse(hints, service, dev->fabric, dev->domain))
		rc = -EXDEV;
	rc = rc ?: lnd_exchange(dev);
	while (dev->ctx.rx && kfi_cancel(&dev->ctx.rx->fid, &dev->ctx) == -EAGAIN)
		schedule();
out:
	lnd_close_all(dev);
	if (dev->ctx.page)
		__free_pages(dev->ctx.page, BUF_ORDER);
	kfi_freeinfo(info);
	return rc;
}

static int __init lnd_init(void)
{
	static u32 auth_key = 1;
	struct kfi_info *hints;
	struct lnd_dev *dev;
	char service[16];
	int rc = -ENOMEM;

	if (!node)
		return 0;
	snprintf(service, sizeof(service), "%u", net);
	dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	if (!dev)
		return rc;
	hints = lnd_hints(&auth_key);
	if (!hints)
		goto out;
	rc = lnd_run(dev, hints, service);
	lnd_hints_free(hints);
out:
	kfree(dev);
	return rc;
}
module_init(lnd_init);

static void __exit lnd_exit(void)
{
}
module_exit(lnd_exit);

MODULE_DESCRIPTION("Compile-time test of the interface that Lustre's kfilnd uses");
MODULE_LICENSE("GPL");
