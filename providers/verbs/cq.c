// SPDX-License-Identifier: GPL-2.0
/*
 * cq.c - a connection's completion queue at the device. Mostly one that the RDMA core shares out and polls in softirq. If the
 * consumer polls his own queues, and nothing else hears of the connection, it is a queue of its own, for him to look at
 * (kfi_source.h).
 */
#include "verbs.h"

static struct kv_conn *kv_source_conn(struct kfi_source *src)
{
	return container_of(src, struct kv_conn, source);
}

static int kv_cq_poll(struct kfi_source *src, int budget)
{
	struct kv_conn *conn = kv_source_conn(src);
	struct ib_wc wc[8];
	int i, n, all = 0;

	do {
		n = ib_poll_cq(conn->cq, min_t(int, ARRAY_SIZE(wc), budget - all), wc);
		for (i = 0; i < n; i++)
			wc[i].wr_cqe->done(conn->cq, &wc[i]);
		all += max(n, 0);
	} while (n == ARRAY_SIZE(wc) && all < budget);
	return all;
}

static bool kv_cq_arm(struct kfi_source *src)
{
	return ib_req_notify_cq(kv_source_conn(src)->cq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS) > 0;
}

static const struct kfi_source_ops kv_source_ops = {
	.poll	= kv_cq_poll,
	.arm	= kv_cq_arm,
};

/* Any context. Not before it is armed, and so not before the source has been started. */
static void kv_cq_event(struct ib_cq *cq, void *context)
{
	kfi_source_event(context);
}

/* The queue itself is in trouble; what its queue pair does then is heard there. */
static void kv_cq_trouble(struct ib_event *event, void *context)
{
}

static int kv_cq_own(struct kv_conn *conn, unsigned int ncqe, int vector)
{
	struct ib_device *ib = conn->kdom->ib;
	struct ib_cq_init_attr attr = {
		.cqe		= ncqe,
		.comp_vector	= (vector < 0 ? raw_smp_processor_id() : vector) % ib->num_comp_vectors,
	};
	struct ib_cq *cq = ib_create_cq(ib, kv_cq_event, kv_cq_trouble, &conn->source, &attr);

	if (IS_ERR(cq))
		return PTR_ERR(cq);
	conn->cq = cq;
	conn->ncqe = 0;
	kfi_source_start(&conn->source, &kv_source_ops, &conn->vep->ep);
	return 0;
}

int kv_cq_open(struct kv_conn *conn, unsigned int ncqe, int vector)
{
	struct ib_cq *cq;

	if (kfi_source_wanted(&conn->vep->ep))
		return kv_cq_own(conn, ncqe, vector);
	cq = ib_cq_pool_get(conn->kdom->ib, ncqe, vector, IB_POLL_SOFTIRQ);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	conn->cq = cq;
	conn->ncqe = ncqe;
	return 0;
}

/* Its queue pair is gone: nothing comes any more. */
void kv_cq_close(struct kv_conn *conn)
{
	if (!conn->cq)
		return;
	if (conn->ncqe) {
		ib_cq_pool_put(conn->cq, conn->ncqe);
	} else {
		kfi_source_stop(&conn->source);
		ib_destroy_cq(conn->cq);
	}
	conn->cq = NULL;
}
