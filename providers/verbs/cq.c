// SPDX-License-Identifier: GPL-2.0
/*
 * cq.c - the completion queue of a queue pair. Usually it is one that the RDMA core shares among
 * queue pairs and polls in softirq. If the consumer polls all queues that completions of the
 * connection go to, the queue pair has a completion queue of its own, which the readers of the
 * consumer's queues poll (kfi_poll_dev.h).
 */
#include "verbs.h"

static struct kv_qp *kv_poll_dev_qp(struct kfi_poll_dev *dev)
{
	return container_of(dev, struct kv_qp, poll_dev);
}

static int kv_cq_poll(struct kfi_poll_dev *dev, int budget)
{
	struct kv_qp *qp = kv_poll_dev_qp(dev);
	struct ib_wc wc[8];
	int i, n, all = 0;

	do {
		n = ib_poll_cq(qp->cq, min_t(int, ARRAY_SIZE(wc), budget - all), wc);
		for (i = 0; i < n; i++)
			wc[i].wr_cqe->done(qp->cq, &wc[i]);
		all += max(n, 0);
	} while (n == ARRAY_SIZE(wc) && all < budget);
	return all;
}

static bool kv_cq_arm(struct kfi_poll_dev *dev)
{
	return ib_req_notify_cq(kv_poll_dev_qp(dev)->cq,
				IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS) > 0;
}

static const struct kfi_poll_dev_ops kv_poll_dev_ops = {
	.poll	= kv_cq_poll,
	.arm	= kv_cq_arm,
};

/*
 * The device calls this in any context, but not before kfi_poll_dev_start(), which lets softirq
 * arm the queue.
 */
static void kv_cq_event(struct ib_cq *cq, void *context)
{
	kfi_poll_dev_event(context);
}

/* The completion queue has failed. Nothing to do: the queue pair reports the consequences. */
static void kv_cq_error(struct ib_event *event, void *context)
{
}

static int kv_cq_create(struct kv_qp *qp, struct kfi_ep *ep, unsigned int ncqe, int vector)
{
	struct ib_device *ib = qp->kdom->ib;
	struct ib_cq_init_attr attr = {
		.cqe		= ncqe,
		.comp_vector	= (vector < 0 ? raw_smp_processor_id() : vector) %
				  ib->num_comp_vectors,
	};
	struct ib_cq *cq = ib_create_cq(ib, kv_cq_event, kv_cq_error, &qp->poll_dev, &attr);
	int ret;

	if (IS_ERR(cq))
		return PTR_ERR(cq);
	qp->cq = cq;
	qp->ncqe = 0;
	ret = kfi_poll_dev_start(&qp->poll_dev, &kv_poll_dev_ops, ep);
	if (!ret)
		return 0;
	qp->cq = NULL;
	ib_destroy_cq(cq);
	return ret;
}

/*
 * The vectors of a device are spread over the CPUs: select that of the CPU that the consumer has
 * selected for its receive queue, or else for its transmit queue.
 */
static int kv_cq_vector(const struct kfi_ep *ep)
{
	int cpu = kfi_cq_cpu(ep->rx_cq);

	return cpu < 0 ? kfi_cq_cpu(ep->tx_cq) : cpu;
}

int kv_cq_open(struct kv_qp *qp, struct kfi_ep *ep, unsigned int ncqe)
{
	struct ib_cq *cq;

	if (kfi_poll_dev_wanted(ep))
		return kv_cq_create(qp, ep, ncqe, kv_cq_vector(ep));
	cq = ib_cq_pool_get(qp->kdom->ib, ncqe, kv_cq_vector(ep), IB_POLL_SOFTIRQ);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	qp->cq = cq;
	qp->ncqe = ncqe;
	return 0;
}

/* The queue pair was destroyed: no completion arrives any more. */
void kv_cq_close(struct kv_qp *qp)
{
	if (!qp->cq)
		return;
	if (qp->ncqe) {
		ib_cq_pool_put(qp->cq, qp->ncqe);
	} else {
		kfi_poll_dev_stop(&qp->poll_dev);
		ib_destroy_cq(qp->cq);
	}
	qp->cq = NULL;
}
