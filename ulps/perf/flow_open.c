// SPDX-License-Identifier: GPL-2.0
/* flow_open.c - what a flow needs, its memory, and the end. */
#include <linux/slab.h>

#include "perf.h"

void perf_flow_init(struct perf_flow *flow, u32 ep_type, const struct perf_hello *hello,
		    const struct perf_role *role, const struct kfi_conn_ops *ops)
{
	memset(flow, 0, sizeof(*flow));
	kfi_conn_init(&flow->conn, ops);
	flow->ep_type = ep_type;
	flow->hello = *hello;
	flow->softirq = hello->wait == KFI_PERF_WAIT_SOFTIRQ;
	flow->role = role;
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

/* ---- what it needs ---- */

static unsigned int chunks(size_t len)
{
	return DIV_ROUND_UP(len, perf_chunk(len));
}

void perf_flow_need(const struct perf_flow *flow, const struct perf_shape *shape,
		    struct kfi_need *need)
{
	perf_need_key(need);
	need->type = flow->ep_type;
	need->caps = flow->hello.op == KFI_PERF_TAGGED ? KFI_TAGGED : 0;
	need->order |= KFI_ORDER_SAS;
	need->max_len = max_t(size_t, flow->hello.size, PERF_CTL_MAX);
	if (flow->hello.mem != KFI_PERF_MEM_PAGES)
		return;
	need->tx_segs = max(chunks(shape->tx_len), chunks(shape->rx_len));
	need->rx_segs = need->tx_segs;
}

static bool suits(const struct kfi_info *info, const char *fabric)
{
	return info->domain_attr->cq_data_size >= sizeof(u32) &&
	       (!fabric || !strcmp(info->fabric_attr->name, fabric));
}

/**
 * perf_find() - find the first provider that can do what is measured
 * @net: network namespace
 * @need: what is needed
 * @fabric: name of the fabric: an interface may have several, one for each kind of address; or NULL
 * @node: address of the server, or NULL
 * @service: port of the server, or NULL
 * @info: returns one entry, which the caller frees
 * Return: 0, -ENODATA, or another negative error.
 */
int perf_find(struct net *net, const struct kfi_need *need, const char *fabric, const char *node,
	      const char *service, struct kfi_info **info)
{
	struct kfi_info *list, **at = &list;
	int err = kfi_find(net, need, NULL, node, service, &list);

	if (err)
		return err;
	while (*at && !suits(*at, fabric))
		at = &(*at)->next;
	*info = *at;
	if (*info) {
		*at = (*info)->next;
		(*info)->next = NULL;
	}
	kfi_freeinfo(list);
	return *info ? 0 : -ENODATA;
}

struct kfi_conn_attr perf_flow_attr(const struct perf_flow *flow, const struct perf_shape *shape)
{
	return (struct kfi_conn_attr) {
		.depth = shape->rx + PERF_CTL_OPS,
		.tx = shape->tx + PERF_CTL_OPS,
		.where = flow->softirq ? KFI_CONN_SOFTIRQ : KFI_CONN_READ,
	};
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
		op->buf = perf_buf_alloc(flow->dom->domain, len, mem);
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
 * perf_flow_ops() - open the domain, and allocate the operations and their buffers
 * @flow: the flow
 * @net: network namespace of @info
 * @info: what the connection will be opened with
 * @shape: numbers of operations
 * Return: 0 or a negative error. perf_flow_free() must be called either way.
 */
int perf_flow_ops(struct perf_flow *flow, struct net *net, const struct kfi_info *info,
		  const struct perf_shape *shape)
{
	unsigned int ctl_rx = perf_mixed(&flow->hello, shape) ? 0 : PERF_CTL_OPS;
	struct kfi_dom *dom = kfi_dom_get(net, info, THIS_MODULE);
	u8 mem = flow->hello.mem;

	if (IS_ERR(dom))
		return PTR_ERR(dom);
	flow->dom = dom;
	flow->inject = info->tx_attr->inject_size;
	flow->ops = kvcalloc(PERF_CTL_OPS + ctl_rx + shape->tx + shape->rx, sizeof(*flow->ops),
			     GFP_KERNEL);
	if (!flow->ops)
		return -ENOMEM;
	return add_ops(flow, PERF_OP_CTL_TX, PERF_CTL_OPS, PERF_CTL_MAX, KFI_PERF_MEM_KVEC) ?:
	       add_ops(flow, PERF_OP_CTL_RX, ctl_rx, PERF_CTL_MAX, KFI_PERF_MEM_KVEC) ?:
	       add_ops(flow, PERF_OP_TX, shape->tx, shape->tx_len, mem) ?:
	       add_ops(flow, PERF_OP_RX, shape->rx, shape->rx_len, mem);
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

/* ---- the region ---- */

static int register_region(struct perf_flow *flow)
{
	struct kfi_mr_attr attr = {
		.access = KFI_REMOTE_READ | KFI_REMOTE_WRITE,
		.requested_key = KFI_KEY_NOTAVAIL,
	};
	struct perf_vec vec;
	int err;

	perf_buf_vec(flow->region, flow->region->len, &vec);
	attr.type = vec.type;
	if (vec.type == KFI_KVEC)
		attr.mr_iov = vec.kvec;
	else
		attr.mr_biov = vec.bvec;
	attr.iov_count = vec.count;
	err = kfi_region_open(&flow->conn, &attr, 0, &flow->mr);
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
	flow->region = perf_buf_alloc(flow->dom->domain, len, flow->hello.mem);
	if (!flow->region && flow->hello.mem == KFI_PERF_MEM_PAGES)
		flow->region = perf_buf_alloc(flow->dom->domain, len, KFI_PERF_MEM_KVEC);
	return flow->region ? register_region(flow) : -ENOMEM;
}

/* ---- the end ---- */

static int set_closing(struct perf_flow *flow, void *arg)
{
	flow->closing = true;
	return 0;
}

/* The thread is the caller or has ended: nothing is posted any more, and the region is closed. */
void perf_flow_end(struct perf_flow *flow)
{
	perf_flow_call(flow, set_closing, NULL);
	if (flow->mr)
		WARN_ON_ONCE(kfi_close(&flow->mr->fid));
	flow->mr = NULL;
}

/* Free the memory of a flow whose connection is closed, or was never open. */
void perf_flow_free(struct perf_flow *flow)
{
	unsigned int i;

	cancel_work_sync(&flow->space_work);
	perf_buf_free(flow->region);
	for (i = 0; i < flow->nops; i++)
		perf_buf_free(flow->ops[i].buf);
	kvfree(flow->ops);
	if (flow->dom)
		kfi_dom_put(flow->dom);
}

/**
 * perf_flow_close() - close and free everything of a flow
 * @flow: the flow, which may have been opened in part
 */
void perf_flow_close(struct perf_flow *flow)
{
	perf_flow_end(flow);
	kfi_conn_close(&flow->conn);
	perf_flow_free(flow);
}
