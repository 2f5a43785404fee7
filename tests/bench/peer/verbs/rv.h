/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rv.h - the limit of kfi_verbs: verbs inside the kernel, used as directly as possible
 *
 * Two queue pairs in two namespaces, connected by rdma_cm, each with its own completion queue,
 * which softirq polls. Work requests are prepared once and posted again and
 * again; receives are posted before anything arrives; short payload is inline; few sends are
 * signaled.
 */
#ifndef _KFI_BENCH_RV_H
#define _KFI_BENCH_RV_H

#include <linux/completion.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>
#include "../modules.h"

/* maximum length of inline payload */
#define RV_INLINE	64
#define RV_READS	8	/* in progress */

/**
 * struct rv_end - an end of a connection
 * @event: rdma_cm has reported @said, with @status
 */
struct rv_end {
	struct rdma_cm_id	*id;
	struct ib_pd		*pd;
	struct ib_cq		*cq;
	struct ib_qp		*qp;
	struct completion	event;
	int			said;
	int			status;
};

/**
 * struct rv_pair - both ends of a connection
 * @end: index 0 in the first namespace has called index 1 in the second
 * @done: a run has ended, or failed with @err
 */
struct rv_pair {
	struct rv_end		end[2];
	struct completion	done;
	int			err;
};

/**
 * struct rv_slot - a prepared work request: a receive, or a send or write of @buf
 * @owner: its owner, for its completion
 */
struct rv_slot {
	struct ib_cqe			cqe;
	void				*owner;
	void				*buf;
	struct ib_sge			sge;
	enum dma_data_direction		dir;
	struct ib_recv_wr		recv;
	struct ib_rdma_wr		send;
};

/**
 * struct rv_region - memory that the peer may write
 */
struct rv_region {
	struct ib_mr		*mr;
	struct scatterlist	sg;
};

typedef void rv_done(struct ib_cq *cq, struct ib_wc *wc);

/* @sends, @recvs: maximum of work requests of each end. On failure nothing is left. */
int rv_pair_open(struct rv_pair *pair, struct bench_env *env, u32 sends, u32 recvs);
void rv_pair_stop(struct rv_pair *pair);	/* afterwards all requests have completed */
void rv_pair_close(struct rv_pair *pair);
void rv_fail(struct rv_pair *pair, int err);

int rv_slot_recv(struct rv_end *end, struct rv_slot *slot, void *buf, u32 size, rv_done *done,
		 void *owner);
int rv_slot_send(struct rv_end *end, struct rv_slot *slot, void *buf, u32 size, rv_done *done,
		 void *owner);
void rv_slot_free(struct rv_end *end, struct rv_slot *slot);

int rv_region_open(struct rv_end *end, struct rv_region *region, struct page *page, u32 size);
void rv_region_close(struct rv_end *end, struct rv_region *region);

static inline struct rv_slot *rv_slot(struct ib_wc *wc)
{
	return container_of(wc->wr_cqe, struct rv_slot, cqe);
}

/* Requests that are flushed at the end are no failure. */
static inline bool rv_bad(struct rv_pair *pair, const struct ib_wc *wc)
{
	if (likely(wc->status == IB_WC_SUCCESS))
		return false;
	if (wc->status != IB_WC_WR_FLUSH_ERR)
		rv_fail(pair, -EIO);
	return true;
}

/* Make the received bytes visible to the CPU. */
static inline void *rv_arrived(struct rv_end *end, struct rv_slot *slot)
{
	ib_dma_sync_single_for_cpu(end->id->device, slot->sge.addr, slot->sge.length,
				   DMA_FROM_DEVICE);
	return slot->buf;
}

static inline int rv_post_recv(struct rv_end *end, struct rv_slot *slot)
{
	return ib_post_recv(end->qp, &slot->recv, NULL);
}

static inline void rv_report(struct rv_slot *slot, bool signaled)
{
	if (signaled)
		slot->send.wr.send_flags |= IB_SEND_SIGNALED;
	else
		slot->send.wr.send_flags &= ~IB_SEND_SIGNALED;
}

static inline int rv_post_send(struct rv_end *end, struct rv_slot *slot)
{
	return ib_post_send(end->qp, &slot->send.wr, NULL);
}

#endif /* _KFI_BENCH_RV_H */
