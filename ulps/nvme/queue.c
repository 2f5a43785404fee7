// SPDX-License-Identifier: GPL-2.0
/* queue.c - the connection of a queue. */
#include <linux/slab.h>
#include "host.h"

static struct kfn_queue *to_queue(struct kfi_conn *conn)
{
	return container_of(conn, struct kfn_queue, conn);
}

/* ---- opening ---- */

static int kfn_check_accept(struct kfn_queue *queue, const struct nvme_rdma_cm_rep *rep, size_t len)
{
	if (len < sizeof(*rep) || le16_to_cpu(rep->recfmt) != NVME_RDMA_CM_FMT_1_0) {
		dev_err(queue->ctrl->ctrl.device, "queue %u: what answers is no NVMe target\n",
			queue->qid);
		return -EPROTO;
	}
	if (kfn_cm_get_digests(rep->rsvd) != queue->ctrl->digests) {
		dev_err(queue->ctrl->ctrl.device,
			"queue %u: the target does not support these digests: %s\n", queue->qid,
			"connect without hdr_digest and data_digest");
		return -EOPNOTSUPP;
	}
	if (le16_to_cpu(rep->crqsize) + 1 >= queue->size)
		return 0;
	dev_err(queue->ctrl->ctrl.device, "queue %u: the target has room for %u commands, not %u\n",
		queue->qid, le16_to_cpu(rep->crqsize), queue->size);
	return -EPROTO;
}

/* Status 0 means that the network has padded empty private data with zeros. */
static void kfn_log_refusal(struct kfn_queue *queue, const void *answer, size_t len)
{
	const struct nvme_rdma_cm_rej *rej = answer;

	if (len >= sizeof(*rej) && le16_to_cpu(rej->recfmt) == NVME_RDMA_CM_FMT_1_0 && rej->sts)
		dev_err(queue->ctrl->ctrl.device, "queue %u: the target refuses: %s (%#x)\n",
			queue->qid, nvme_rdma_cm_msg(le16_to_cpu(rej->sts)), le16_to_cpu(rej->sts));
}

static bool kfn_queue_polled(const struct kfn_queue *queue)
{
	const u32 *n = queue->ctrl->io_queues;

	return queue->qid && queue->qid > n[HCTX_TYPE_DEFAULT] + n[HCTX_TYPE_READ];
}

/*
 * Return how much data may be in a capsule of this queue. The limit of the provider is the longest
 * message that it sends without a handshake: the target should fetch longer data from a region.
 */
static unsigned int kfn_capsule_room(const struct kfn_queue *queue)
{
	const struct kfn_ctrl *ctrl = queue->ctrl;
	size_t head = kfn_head_len(sizeof(struct nvme_command), ctrl->digests);
	/* reported by the target; not all cores check it */
	size_t len = kfn_head_len(ctrl->ctrl.ioccsz * 16, ctrl->digests);

	if (ctrl->dom->limits.short_msg_limit)
		len = min(len, ctrl->dom->limits.short_msg_limit);
	if (!queue->qid || !ctrl->in_capsule || len < head)
		return 0;
	return min_t(size_t, len - head, KFN_INLINE_MAX);
}

static int kfn_queue_connect(struct kfn_queue *queue)
{
	struct kfn_ctrl *ctrl = queue->ctrl;
	struct nvme_rdma_cm_req req = {
		.recfmt = cpu_to_le16(NVME_RDMA_CM_FMT_1_0),
		.qid = cpu_to_le16(queue->qid),
		.hrqsize = cpu_to_le16(queue->size),
		.hsqsize = cpu_to_le16(queue->size - 1),
		.cntlid = cpu_to_le16(queue->qid ? ctrl->ctrl.cntlid : 0),
	};
	const struct kfi_conn_attr attr = {
		.depth = queue->size,
		.rx_len = kfn_head_len(sizeof(struct nvme_completion), ctrl->digests),
		.tx_len = kfn_head_len(sizeof(struct nvme_command), ctrl->digests),
		.region_segs = ctrl->pages,
		.where = kfn_queue_polled(queue) ? KFI_CONN_POLL : KFI_CONN_SOFTIRQ,
		.reclaim = true,	/* pages are written to this disk, or swapped to it */
	};
	struct nvme_rdma_cm_rep rep;
	size_t len = sizeof(rep);
	int ret;

	kfn_cm_set_digests(req.rsvd, ctrl->digests);
	ret = kfi_conn_open(&queue->conn, ctrl->dom, ctrl->info, &attr) ?:
	      kfi_conn_connect(&queue->conn, ctrl->info->dest_addr, &req, sizeof(req), &rep, &len,
			       KFN_CONNECT_MS);
	if (ret == -ECONNREFUSED)
		kfn_log_refusal(queue, &rep, len);
	return ret ?: kfn_check_accept(queue, &rep, len);
}

/**
 * kfn_queue_start() - connect a queue
 * @ctrl: controller, whose domain is open
 * @qid: number of the queue
 * @size: commands
 *
 * Return: 0; or a negative error, with nothing connected.
 */
int kfn_queue_start(struct kfn_ctrl *ctrl, unsigned int qid, unsigned int size)
{
	struct kfn_queue *queue = &ctrl->queues[qid];
	int ret;

	queue->size = size;
	queue->capsule_room = kfn_capsule_room(queue);
	clear_bit(KFN_Q_TAGS, &queue->flags);
	ret = kfn_queue_connect(queue);
	if (!ret)
		return 0;
	kfn_queues_end(ctrl, qid, qid + 1);
	dev_err(ctrl->ctrl.device, "queue %u: no connection to %s:%s (%d)\n", qid,
		ctrl->ctrl.opts->traddr, ctrl->ctrl.opts->trsvcid, ret);
	return ret;
}

/* ---- end ---- */

/*
 * A live controller recovers. If the controller is not live, the commands that set it up or take it
 * down are cancelled, because they would wait for their time-outs.
 */
void kfn_lost(struct kfi_conn *conn, int err)
{
	struct kfn_queue *queue = to_queue(conn);

	if (!kfn_recover(queue->ctrl))
		queue_work(kfn_wq, &queue->lost_work);
}

/**
 * kfn_queues_stop() - disconnect queues, and let no further request start
 * @ctrl: controller
 * @first: number of the first queue
 * @end: number behind the last queue
 *
 * Requests in flight are not ended: the caller has to cancel them. Requests whose answer has
 * arrived may complete meanwhile.
 */
void kfn_queues_stop(struct kfn_ctrl *ctrl, unsigned int first, unsigned int end)
{
	unsigned int i;

	for (i = first; i < end; i++) {
		clear_bit(KFN_Q_LIVE, &ctrl->queues[i].flags);
		kfi_conn_stop(&ctrl->queues[i].conn);
	}
}

/**
 * kfn_queues_end() - kfn_queues_stop(), and wait for the work items that cancel requests
 * @ctrl: controller
 * @first: number of the first queue
 * @end: number behind the last queue
 */
void kfn_queues_end(struct kfn_ctrl *ctrl, unsigned int first, unsigned int end)
{
	unsigned int i;

	kfn_queues_stop(ctrl, first, end);
	for (i = first; i < end; i++)
		cancel_work_sync(&ctrl->queues[i].lost_work);
}

static bool kfn_cancel(struct request *rq, void *data)
{
	struct kfn_req *req = blk_mq_rq_to_pdu(rq);

	return req->queue == data ? nvme_cancel_request(rq, &req->queue->ctrl->ctrl) : true;
}

void kfn_lost_work(struct work_struct *work)
{
	struct kfn_queue *queue = container_of(work, struct kfn_queue, lost_work);
	struct kfn_ctrl *ctrl = queue->ctrl;
	struct blk_mq_tag_set *set;

	kfn_queues_stop(ctrl, queue->qid, queue->qid + 1);
	/* If there is no set yet, commands will find the queue closed. */
	set = READ_ONCE(*(queue->qid ? &ctrl->ctrl.tagset : &ctrl->ctrl.admin_tagset));
	if (!set)
		return;
	/* a time-out may be ending one of the requests: its test and its end must be one step */
	mutex_lock(&ctrl->tags_lock);
	mutex_lock(&queue->lock);
	blk_mq_tagset_busy_iter(set, kfn_cancel, queue);
	mutex_unlock(&queue->lock);
	mutex_unlock(&ctrl->tags_lock);
}
