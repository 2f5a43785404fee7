// SPDX-License-Identifier: GPL-2.0
/* flow_open.c - open and close flows. */
#include <linux/slab.h>

#include "perf.h"

void perf_flow_init(struct perf_flow *flow, struct net *net, u32 ep_type,
		    const struct perf_hello *hello, const struct perf_role *role)
{
	memset(flow, 0, sizeof(*flow));
	flow->net = net;
	flow->ep_type = ep_type;
	flow->hello = *hello;
	flow->softirq = hello->wait == KFI_PERF_WAIT_SOFTIRQ;
	flow->role = role;
	flow->peer = KFI_ADDR_UNSPEC;
	INIT_LIST_HEAD(&flow->tx_free);
	INIT_LIST_HEAD(&flow->ctl_free);
	INIT_LIST_HEAD(&flow->rx_lost);
	spin_lock_init(&flow->lock);
	init_waitqueue_head(&flow->wq);
	INIT_WORK(&flow->space_work, perf_flow_space);
	flow->inject_op.flow = flow;
	flow->inject_op.kind = PERF_OP_TX;
	flow->inject_op.cqe.done = perf_flow_done;
}

/* ---- the domain ---- */

/**
 * perf_flow_domain() - open a domain, if the flow does not borrow one
 * @flow: the flow, with its info
 * Return: 0 or a negative error. perf_flow_close() must be called either way.
 */
int perf_flow_domain(struct perf_flow *flow)
{
	if (flow->domain)
		return 0;
	flow->own_domain = true;
	return kfi_fabric_net(flow->net, flow->info->fabric_attr, &flow->fabric, NULL) ?:
	       kfi_domain(flow->fabric, flow->info, &flow->domain, NULL);
}

/* ---- operations ---- */

static int add_ops(struct perf_flow *flow, enum perf_op_kind kind, unsigned int n, size_t len,
		   u8 mem)
{
	struct perf_op *op;
	unsigned int i;

	for (i = 0; i < n; i++) {
		op = &flow->ops[flow->nops++];
		op->flow = flow;
		op->kind = kind;
		op->index = i;
		op->cqe.done = perf_flow_done;
		INIT_LIST_HEAD(&op->entry);
		op->buf = perf_buf_alloc(flow->domain, len, mem);
		if (!op->buf)
			return -ENOMEM;
		if (kind == PERF_OP_TX)
			list_add_tail(&op->entry, &flow->tx_free);
		else if (kind == PERF_OP_CTL_TX)
			list_add_tail(&op->entry, &flow->ctl_free);
	}
	return 0;
}

/**
 * perf_flow_ops() - allocate the operations and their buffers
 * @flow: the flow, with its domain
 * @shape: their numbers
 * Return: 0 or -ENOMEM. perf_flow_close() must be called either way.
 */
int perf_flow_ops(struct perf_flow *flow, const struct perf_shape *shape)
{
	unsigned int ctl_rx = perf_mixed(&flow->hello, shape) ? 0 : PERF_CTL_OPS;
	u8 mem = flow->hello.mem;

	flow->ops = kvcalloc(PERF_CTL_OPS + ctl_rx + shape->tx + shape->rx, sizeof(*flow->ops),
			     GFP_KERNEL);
	if (!flow->ops)
		return -ENOMEM;
	return add_ops(flow, PERF_OP_CTL_TX, PERF_CTL_OPS, PERF_CTL_MAX, KFI_PERF_MEM_KVEC) ?:
	       add_ops(flow, PERF_OP_CTL_RX, ctl_rx, PERF_CTL_MAX, KFI_PERF_MEM_KVEC) ?:
	       add_ops(flow, PERF_OP_TX, shape->tx, shape->tx_len, mem) ?:
	       add_ops(flow, PERF_OP_RX, shape->rx, shape->rx_len, mem);
}

static void free_ops(struct perf_flow *flow)
{
	unsigned int i;

	for (i = 0; i < flow->nops; i++)
		perf_buf_free(flow->ops[i].buf);
	kvfree(flow->ops);
	flow->ops = NULL;
	flow->nops = 0;
}

static int post_all_rx(struct perf_flow *flow, void *arg)
{
	unsigned int i;
	int err;

	for (i = 0; i < flow->nops; i++) {
		if (flow->ops[i].kind != PERF_OP_RX && flow->ops[i].kind != PERF_OP_CTL_RX)
			continue;
		err = perf_post_rx(flow, &flow->ops[i]);
		if (err && err != -EAGAIN)
			return err;
	}
	return 0;
}

int perf_flow_post_rx(struct perf_flow *flow)
{
	return perf_flow_call(flow, post_all_rx, NULL);
}

/* ---- the endpoint ---- */

static int open_cq(struct perf_flow *flow, const struct perf_shape *shape)
{
	struct kfi_cq_attr attr = {
		.size = shape->tx + shape->rx + 4 * PERF_CTL_OPS,
		.flags = flow->softirq ? KFI_CQ_SOFTIRQ : 0,
		.format = KFI_CQ_FORMAT_TAGGED,
		.wait_obj = flow->softirq ? KFI_WAIT_NONE : KFI_WAIT_QUEUE,
	};

	return kfi_cq_open(flow->domain, &attr, &flow->cq, NULL, NULL);
}

static int open_eq(struct perf_flow *flow)
{
	struct kfi_eq_attr attr = { .wait_obj = KFI_WAIT_QUEUE };

	return kfi_eq_open(flow->fabric, &attr, &flow->eq, NULL, NULL) ?:
	       kfi_ep_bind(flow->ep, &flow->eq->fid, 0);
}

static int open_av(struct perf_flow *flow)
{
	struct kfi_av_attr attr = { .type = KFI_AV_TABLE, .count = 2 };

	return kfi_av_open(flow->domain, &attr, &flow->av, NULL) ?:
	       kfi_ep_bind(flow->ep, &flow->av->fid, 0);
}

/**
 * perf_flow_open() - open an enabled endpoint with its queues
 * @flow: the flow, with its info and domain
 * @shape: numbers of operations
 * Return: 0 or a negative error. perf_flow_close() must be called either way.
 */
int perf_flow_open(struct perf_flow *flow, const struct perf_shape *shape)
{
	flow->inject = flow->info->tx_attr->inject_size;
	return open_cq(flow, shape) ?:
	       kfi_endpoint(flow->domain, flow->info, &flow->ep, NULL) ?:
	       kfi_ep_bind(flow->ep, &flow->cq->fid, KFI_TRANSMIT | KFI_RECV) ?:
	       (flow->ep_type == KFI_EP_MSG ? open_eq(flow) : open_av(flow)) ?:
	       kfi_enable(flow->ep);
}

/* ---- the region ---- */

static void set_mr_vec(struct kfi_mr_attr *attr, const struct perf_vec *vec)
{
	attr->type = vec->type;
	if (vec->type == KFI_KVEC)
		attr->mr_iov = vec->kvec;
	else
		attr->mr_biov = vec->bvec;
	attr->iov_count = vec->count;
}

static int register_region(struct perf_flow *flow)
{
	int mode = flow->info->domain_attr->mr_mode;
	struct kfi_mr_attr attr = {
		.access = KFI_REMOTE_READ | KFI_REMOTE_WRITE,
		.requested_key = KFI_KEY_NOTAVAIL,
	};
	struct perf_vec vec;
	int err;

	perf_buf_vec(flow->region, flow->region->len, &vec);
	set_mr_vec(&attr, &vec);
	err = kfi_mr_regattr(flow->domain, &attr, 0, &flow->mr);
	if (!err && (mode & KFI_MR_ENDPOINT))
		err = kfi_mr_bind(flow->mr, &flow->ep->fid, 0) ?: kfi_mr_enable(flow->mr);
	if (err)
		return err;
	flow->key = kfi_mr_key(flow->mr);
	flow->base = kfi_mr_addr(flow->mr);
	return 0;
}

/**
 * perf_flow_region() - register memory for the peer to read and write
 * @flow: the flow, open
 * @len: bytes
 * Return: 0 or a negative error.
 */
int perf_flow_region(struct perf_flow *flow, size_t len)
{
	flow->region = perf_buf_alloc(flow->domain, len, flow->hello.mem);
	if (!flow->region && flow->hello.mem == KFI_PERF_MEM_PAGES)
		flow->region = perf_buf_alloc(flow->domain, len, KFI_PERF_MEM_KVEC);
	return flow->region ? register_region(flow) : -ENOMEM;
}

/* ---- close ---- */

static void close_fid(struct kfid *fid)
{
	WARN_ON_ONCE(kfi_close(fid));
}

static int set_closing(struct perf_flow *flow, void *arg)
{
	flow->closing = true;
	return 0;
}

#define CLOSE(obj)			\
do {					\
	if (obj)			\
		close_fid(&(obj)->fid);	\
	(obj) = NULL;			\
} while (0)

/**
 * perf_flow_close() - close and free everything of a flow
 * @flow: the flow, which may have been opened in part
 */
void perf_flow_close(struct perf_flow *flow)
{
	perf_flow_call(flow, set_closing, NULL);
	CLOSE(flow->mr);
	CLOSE(flow->ep);
	cancel_work_sync(&flow->space_work);
	CLOSE(flow->av);
	CLOSE(flow->cq);
	CLOSE(flow->eq);
	perf_buf_free(flow->region);
	flow->region = NULL;
	free_ops(flow);
	if (flow->own_domain) {
		CLOSE(flow->domain);
		CLOSE(flow->fabric);
	}
	kfi_freeinfo(flow->info);
	flow->info = NULL;
}

/* ---- arguments of kfi_getinfo() ---- */

static int set_hints(struct kfi_info *hints, const struct perf_ask *ask)
{
	hints->caps = ask->caps;
	hints->ep_attr->type = ask->ep_type;
	hints->ep_attr->max_msg_size = ask->msg;
	hints->tx_attr->size = ask->tx;
	hints->tx_attr->iov_limit = ask->iov;
	hints->tx_attr->msg_order = KFI_ORDER_SAS | ask->order;
	hints->tx_attr->op_flags = ask->delivery ? KFI_DELIVERY_COMPLETE : 0;
	hints->rx_attr->size = ask->rx;
	hints->rx_attr->iov_limit = ask->iov;
	hints->rx_attr->msg_order = KFI_ORDER_SAS;
	hints->domain_attr->cq_data_size = sizeof(u32);
	hints->domain_attr->mr_iov_limit = ask->mr_iov;
	hints->domain_attr->mr_mode = KFI_MR_VIRT_ADDR | KFI_MR_ALLOCATED |
				      KFI_MR_PROV_KEY | KFI_MR_ENDPOINT;
	hints->fabric_attr->fabric = ask->fabric;
	hints->domain_attr->domain = ask->domain;
	if (!ask->prov || !*ask->prov)
		return 0;
	hints->fabric_attr->prov_name = kstrdup(ask->prov, GFP_KERNEL);
	return hints->fabric_attr->prov_name ? 0 : -ENOMEM;
}

/**
 * perf_getinfo() - get infos
 * @ask: the query
 * @info: returns the list
 * Return: 0 or a negative error.
 */
int perf_getinfo(const struct perf_ask *ask, struct kfi_info **info)
{
	const char *node = ask->node && *ask->node ? ask->node : NULL;
	u64 flags = node || ask->service ? ask->flags : 0;
	struct kfi_info *hints = kfi_allocinfo();
	int err;

	if (!hints)
		return -ENOMEM;
	err = set_hints(hints, ask);
	if (!err)
		err = kfi_getinfo_net(ask->net, KFI_VERSION(KFI_MAJOR_VERSION, KFI_MINOR_VERSION),
				      node, ask->service, flags, hints, info);
	kfi_freeinfo(hints);
	return err;
}

u64 perf_caps(const struct perf_hello *hello)
{
	u64 caps = KFI_MSG;

	if (hello->op == KFI_PERF_TAGGED)
		caps |= KFI_TAGGED;
	if (perf_is_rma(hello))
		caps |= KFI_RMA;
	return caps;
}

static size_t chunks(size_t len)
{
	return DIV_ROUND_UP(len, perf_chunk(len));
}

void perf_ask_flow(struct perf_ask *ask, const struct perf_hello *hello,
		   const struct perf_shape *shape)
{
	size_t region = hello->depth * perf_stride(hello);

	ask->caps = perf_caps(hello);
	ask->tx = shape->tx + PERF_CTL_OPS;
	ask->rx = shape->rx + PERF_CTL_OPS;
	ask->msg = max_t(size_t, hello->size, PERF_CTL_MAX);
	if (hello->mem == KFI_PERF_MEM_PAGES) {
		ask->iov = max(chunks(shape->tx_len), chunks(shape->rx_len));
		ask->mr_iov = perf_is_rma(hello) ? min_t(size_t, chunks(region), PERF_IOV_MAX) : 0;
	}
	ask->delivery = hello->op == KFI_PERF_WRITE;
}
