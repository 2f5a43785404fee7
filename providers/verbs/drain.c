// SPDX-License-Identifier: GPL-2.0
/*
 * drain.c - the end of a queue pair: the device returns all requests, or their memory is never used
 * again.
 *
 * A queue pair in the error state flushes its queues in order, so the completion of the last
 * request shows that all requests before it have completed. ib_drain_qp() waits for that without a
 * time limit, and would delay the close of an endpoint and the removal of a device. If a driver has
 * a drain function of its own, because its device may not be able to flush, that function is used.
 * Any other device that takes longer than kv_drain_ms is considered broken: its queue pair is
 * reset, after which the device has no requests and accesses no memory. But it may still report the
 * requests that it had. So the memory of their completions is never freed, and this module stays
 * loaded.
 */
#define pr_fmt(fmt) "kfi_verbs: " fmt

#include <linux/module.h>
#include "drain.h"

/* This list is never read. It keeps a pointer to the memory, so that kmemleak reports no leak. */
static LLIST_HEAD(kv_leaked);

void kv_leak(struct llist_node *node)
{
	llist_add(node, &kv_leaked);
}

void kv_late_done(struct ib_cq *cq, struct ib_wc *wc)
{
}

void kv_abandon(struct ib_qp *qp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };
	int ret = ib_modify_qp(qp, &attr, IB_QP_STATE);

	__module_get(THIS_MODULE);
	pr_err("%s: queue pair %u does not give back what it was given, reset: %d; its receives are lost and the module stays\n",
	       dev_name(&qp->device->dev), qp->qp_num, ret);
}

static void kv_drain_done(struct ib_cq *cq, struct ib_wc *wc)
{
	complete(&container_of(wc->wr_cqe, struct kv_drain_end, cqe)->done);
}

static struct ib_cqe *kv_drain_cqe(struct kv_drain_end *end)
{
	end->cqe.done = kv_drain_done;
	init_completion(&end->done);
	return &end->cqe;
}

static int kv_drain_post(struct ib_qp *qp, struct kv_drain *drain)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct ib_rdma_wr send = { .wr = {
		.wr_cqe = kv_drain_cqe(&drain->sends), .opcode = IB_WR_RDMA_WRITE,
	} };
	struct ib_recv_wr recv = { .wr_cqe = kv_drain_cqe(&drain->receives) };

	return ib_modify_qp(qp, &attr, IB_QP_STATE) ?: ib_post_send(qp, &send.wr, NULL) ?:
	       ib_post_recv(qp, &recv, NULL);
}

static bool kv_drain_wait(struct kv_drain_end *end)
{
	return wait_for_completion_timeout(&end->done, msecs_to_jiffies(kv_drain_ms));
}

bool kv_drain(struct ib_qp *qp, struct kv_drain *drain)
{
	if (qp->device->ops.drain_sq || qp->device->ops.drain_rq) {
		ib_drain_qp(qp);
		return true;
	}
	return !kv_drain_post(qp, drain) && kv_drain_wait(&drain->sends) &&
	       kv_drain_wait(&drain->receives);
}
