// SPDX-License-Identifier: GPL-2.0
/*
 * flow_post.c - posts. All functions run under the lock of the flow, perhaps in softirq. Without
 * room they return -EAGAIN, and the pump is called again when there may be some.
 */
#include "perf.h"

#define TAG	0x7065726600000001ULL

static void space(struct kfid_ep *ep, void *context)
{
	struct perf_flow *flow = context;

	WRITE_ONCE(flow->blocked, false);
	if (flow->softirq)
		queue_work(perf_wq, &flow->space_work);
	perf_flow_wake(flow);
}

/* @space may be called before this returns: it takes no lock. */
static ssize_t posted(struct perf_flow *flow, ssize_t ret)
{
	int err;

	if (ret == -EAGAIN) {
		WRITE_ONCE(flow->blocked, true);
		err = kfi_ep_tx_space(flow->conn.ep, space, flow);
		if (err && err != -EALREADY)
			WRITE_ONCE(flow->blocked, false);
	}
	return ret;
}

static void *context_of(struct perf_flow *flow, struct perf_op *op)
{
	return flow->softirq ? (void *)&op->cqe : op;
}

static u64 style(const struct perf_flow *flow)
{
	return KFI_COMPLETION | (flow->softirq ? KFI_CQE : 0);
}

static void set_vec(struct kfi_msg *msg, const struct perf_vec *vec)
{
	msg->type = vec->type;
	if (vec->type == KFI_KVEC)
		msg->msg_iov = vec->kvec;
	else
		msg->msg_biov = vec->bvec;
	msg->iov_count = vec->count;
}

/* Return a tagged message with the members of an untagged one. */
static ssize_t send_tagged(struct perf_flow *flow, const struct kfi_msg *msg, u64 flags)
{
	struct kfi_msg_tagged tagged = {
		.type = msg->type,
		.msg_iov = msg->msg_iov,
		.iov_count = msg->iov_count,
		.addr = msg->addr,
		.tag = TAG,
		.context = msg->context,
	};

	return kfi_tsendmsg(flow->conn.ep, &tagged, flags);
}

static ssize_t recv_tagged(struct perf_flow *flow, const struct kfi_msg *msg, u64 flags)
{
	struct kfi_msg_tagged tagged = {
		.type = msg->type,
		.msg_iov = msg->msg_iov,
		.iov_count = msg->iov_count,
		.addr = KFI_ADDR_UNSPEC,
		.tag = TAG,
		.context = msg->context,
	};

	return kfi_trecvmsg(flow->conn.ep, &tagged, flags);
}

/**
 * perf_post_rx() - post a receive, or note that it has to be posted
 * @flow: the flow
 * @op: the receive
 * Return: 0, -EAGAIN if it will be posted later, or a negative error.
 */
int perf_post_rx(struct perf_flow *flow, struct perf_op *op)
{
	struct kfi_msg msg = { .addr = KFI_ADDR_UNSPEC, .context = context_of(flow, op) };
	struct perf_vec vec __uninitialized;
	ssize_t ret;

	op->echo = false;
	perf_buf_vec(op->buf, op->buf->len, &vec);
	set_vec(&msg, &vec);
	if (op->kind == PERF_OP_RX && flow->hello.op == KFI_PERF_TAGGED)
		ret = recv_tagged(flow, &msg, style(flow));
	else
		ret = kfi_recvmsg(flow->conn.ep, &msg, style(flow));
	if (ret == -EAGAIN)
		list_add_tail(&op->entry, &flow->rx_lost);
	else if (ret)
		perf_flow_fail(flow, ret, "posting a receive");
	return ret;
}

/* Is a message of this length sent without a completion of its own? */
bool perf_injects(const struct perf_flow *flow, size_t len)
{
	return flow->hello.mode == KFI_PERF_LATENCY && len <= flow->inject;
}

/**
 * perf_post_tx() - send the first bytes of an operation's buffer
 * @flow: the flow
 * @op: the operation; not occupied if perf_injects()
 * @len: bytes
 * @flags: 0 or KFI_MORE
 * Return: 0, -EAGAIN, or a negative error.
 */
int perf_post_tx(struct perf_flow *flow, struct perf_op *op, size_t len, u64 flags)
{
	struct kfi_msg msg = { .addr = flow->conn.peer, .context = context_of(flow, op) };
	struct perf_vec vec __uninitialized;

	flags |= style(flow) | flow->tx_flags;
	if (perf_injects(flow, len)) {
		flags = (flags & ~KFI_COMPLETION) | KFI_INJECT | KFI_NO_COMPLETION;
		msg.context = context_of(flow, &flow->inject_op);
	}
	perf_buf_vec(op->buf, len, &vec);
	set_vec(&msg, &vec);
	if (flow->hello.op == KFI_PERF_TAGGED)
		return posted(flow, send_tagged(flow, &msg, flags));
	return posted(flow, kfi_sendmsg(flow->conn.ep, &msg, flags));
}

/**
 * perf_post_rma() - write to, or read from, the slot of an operation's message
 * @flow: the flow
 * @op: the operation, with its message's number in seq
 * @flags: 0 or KFI_MORE
 * Return: 0, -EAGAIN, or a negative error.
 */
int perf_post_rma(struct perf_flow *flow, struct perf_op *op, u64 flags)
{
	const struct perf_hello *h = &flow->hello;
	struct kfi_rma_iov rma = {
		.addr = flow->base + (op->seq % h->depth) * perf_stride(h),
		.len = h->size,
		.key = flow->key,
	};
	struct kfi_msg_rma msg = {
		.addr = flow->conn.peer,
		.rma_iov = &rma,
		.rma_iov_count = 1,
		.context = context_of(flow, op),
	};
	struct perf_vec vec __uninitialized;

	perf_buf_vec(op->buf, h->size, &vec);
	msg.type = vec.type;
	msg.msg_iov = vec.kvec;		/* msg_iov shares its place with the members for pages */
	msg.iov_count = vec.count;
	flags |= style(flow);
	if (h->op == KFI_PERF_READ)
		return posted(flow, kfi_readmsg(flow->conn.ep, &msg, flags));
	return posted(flow, kfi_writemsg(flow->conn.ep, &msg, flags | flow->tx_flags));
}

/**
 * perf_post_ctl() - send a control message
 * @flow: the flow
 * @ctl: the message
 * Return: 0, -EAGAIN, or a negative error.
 */
int perf_post_ctl(struct perf_flow *flow, const struct perf_ctl *ctl)
{
	struct kfi_msg msg = { .addr = flow->conn.peer, .data = PERF_CTL_DATA };
	struct perf_vec vec __uninitialized;
	struct perf_ctl copy = *ctl;
	struct perf_op *op;
	ssize_t ret;

	op = list_first_entry_or_null(&flow->ctl_free, struct perf_op, entry);
	if (!op)
		return -EAGAIN;
	copy.version = flow->version;
	perf_buf_vec(op->buf, perf_encode(&copy, op->buf->va[0]), &vec);
	set_vec(&msg, &vec);
	msg.context = context_of(flow, op);
	ret = posted(flow, kfi_sendmsg(flow->conn.ep, &msg, style(flow) | KFI_REMOTE_CQ_DATA));
	if (!ret) {
		list_del_init(&op->entry);
		flow->ctl_busy++;
	}
	return ret;
}
