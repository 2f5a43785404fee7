// SPDX-License-Identifier: GPL-2.0
/* queue.c - the connection of a queue, from the open of its endpoint to the close. */
#include <linux/jiffies.h>
#include <linux/slab.h>
#include "host.h"

/* ---- events ---- */

static void kfn_connected(struct kfn_queue *queue, int err)
{
	queue->cm_error = err;
	complete(&queue->connected);
}

/**
 * kfn_queue_broken() - the connection of a queue can no longer be used
 * @queue: queue
 *
 * A live controller recovers. If the controller is not live, the commands that set it up or take it
 * down are cancelled, because they would wait for their time-outs. A stop sets KFN_Q_BROKEN before
 * it cancels operations, so for these operations this function does nothing.
 *
 * Context: Any.
 */
void kfn_queue_broken(struct kfn_queue *queue)
{
	/* A full barrier, which pairs with kfn_queue_ready() */
	if (test_and_set_bit(KFN_Q_BROKEN, &queue->flags))
		return;
	if (!kfn_recover(queue->ctrl))
		queue_work(kfn_wq, &queue->lost_work);
}

static void kfn_disconnected(struct kfn_queue *queue, int err)
{
	kfn_connected(queue, err);
	kfn_queue_broken(queue);
}

static int kfn_check_accept(struct kfn_queue *queue, const void *data, size_t len)
{
	const struct nvme_rdma_cm_rep *rep = data;

	if (len < sizeof(*rep) || le16_to_cpu(rep->recfmt) != NVME_RDMA_CM_FMT_1_0) {
		dev_err(queue->ctrl->ctrl.device, "queue %u: what answers is no NVMe target\n",
			queue->qid);
		return -EPROTO;
	}
	if (le16_to_cpu(rep->crqsize) + 1 >= queue->size)
		return 0;
	dev_err(queue->ctrl->ctrl.device, "queue %u: the target has room for %u commands, not %u\n",
		queue->qid, le16_to_cpu(rep->crqsize), queue->size);
	return -EPROTO;
}

static void kfn_event_error(struct kfn_queue *queue)
{
	struct nvme_rdma_cm_rej rej = {};
	struct kfi_eq_err_entry err = { .err_data = &rej, .err_data_size = sizeof(rej) };

	if (kfi_eq_readerr(queue->eq, &err, 0) < 0)
		return;
	/* Status 0 means that the network has padded empty private data with zeros. */
	if (err.err_data_size >= sizeof(rej) &&
	    le16_to_cpu(rej.recfmt) == NVME_RDMA_CM_FMT_1_0 && rej.sts)
		dev_err(queue->ctrl->ctrl.device, "queue %u: the target refuses: %s (%#x)\n",
			queue->qid, nvme_rdma_cm_msg(le16_to_cpu(rej.sts)), le16_to_cpu(rej.sts));
	kfn_disconnected(queue, -err.err);
}

static void kfn_event(struct kfid_eq *eq, void *context)
{
	u8 buf[sizeof(struct kfi_eq_cm_entry) + sizeof(struct nvme_rdma_cm_rep)] __aligned(8);
	struct kfi_eq_cm_entry *cm = (void *)buf;
	struct kfn_queue *queue = context;
	u32 event;
	ssize_t n;

	for (;;) {
		n = kfi_eq_read(eq, &event, buf, sizeof(buf), 0);
		if (n == -KFI_EAVAIL) {
			kfn_event_error(queue);
			continue;
		}
		if (n < 0)
			return;
		if (event == KFI_CONNECTED)
			kfn_connected(queue, kfn_check_accept(queue, cm->data, n - sizeof(*cm)));
		else if (event == KFI_SHUTDOWN)
			kfn_disconnected(queue, -ECONNRESET);
	}
}

/* ---- opening ---- */

static bool kfn_queue_polled(const struct kfn_queue *queue)
{
	const u32 *n = queue->ctrl->io_queues;

	return queue->qid && queue->qid > n[HCTX_TYPE_DEFAULT] + n[HCTX_TYPE_READ];
}

/* A command takes one transmit, whose completion may arrive later than the command's answer. */
static int kfn_queue_endpoint(struct kfn_queue *queue)
{
	struct kfn_net *kn = &queue->ctrl->kfi;
	struct kfi_info *info = kfi_dupinfo(kn->info);
	int ret;

	if (!info)
		return -ENOMEM;
	info->tx_attr->size = 2 * queue->size;
	info->rx_attr->size = queue->size;
	ret = kfi_endpoint(kn->domain, info, &queue->ep, queue);
	kfi_freeinfo(info);
	return ret;
}

/* Reclaim may wait for pages that are written to this disk, or swapped to it. */
static int kfn_queue_reclaims(struct kfn_queue *queue)
{
	size_t yes = 1;

	return kfi_setopt(&queue->ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_RECLAIM, &yes, sizeof(yes));
}

/* On failure @queue->ep is NULL, and no object is open. */
static int kfn_queue_objects(struct kfn_queue *queue)
{
	struct kfi_cq_attr cq = {
		.size = 16,	/* all operations have a done() */
		.flags = queue->polled ? KFI_CQ_DIRECT : KFI_CQ_SOFTIRQ,
		.format = KFI_CQ_FORMAT_DATA,
	};
	struct kfn_net *kn = &queue->ctrl->kfi;
	int ret;

	ret = kfi_cq_open(kn->domain, &cq, &queue->cq, NULL, queue);
	if (ret)
		return ret;
	ret = kfi_eq_open(kn->fabric, NULL, &queue->eq, kfn_event, queue);
	if (ret)
		goto close_cq;
	ret = kfn_queue_endpoint(queue);
	if (ret)
		goto close_eq;
	ret = kfn_queue_reclaims(queue) ?:
	      kfi_ep_bind(queue->ep, &queue->cq->fid, KFI_TRANSMIT | KFI_RECV) ?:
	      kfi_ep_bind(queue->ep, &queue->eq->fid, 0) ?:
	      kfi_enable(queue->ep);
	if (!ret)
		return 0;

	kfi_close(&queue->ep->fid);
	queue->ep = NULL;
close_eq:
	kfi_close(&queue->eq->fid);
close_cq:
	kfi_close(&queue->cq->fid);
	return ret;
}

static void kfn_queue_close(struct kfn_queue *queue)
{
	WARN_ON(kfi_close(&queue->ep->fid));
	WARN_ON(kfi_close(&queue->eq->fid));
	WARN_ON(kfi_close(&queue->cq->fid));
	queue->ep = NULL;
}

/* Close the objects of a queue without a connection. */
static void kfn_queue_release(struct kfn_queue *queue)
{
	if (!queue->ep)
		return;
	kfn_regions_close(queue);
	kfn_queue_close(queue);
}

/* Can the objects of the last connection be used for this one? */
static bool kfn_queue_fits(const struct kfn_queue *queue)
{
	return queue->ep && queue->depth >= queue->size && queue->polled == kfn_queue_polled(queue);
}

/* Open the objects of a queue, unless they were kept from the last connection. */
static int kfn_queue_open_all(struct kfn_queue *queue)
{
	int ret;

	if (kfn_queue_fits(queue))
		return 0;
	kfn_queue_release(queue);
	queue->depth = queue->size;
	queue->polled = kfn_queue_polled(queue);
	ret = kfn_room_make(queue) ?: kfn_queue_objects(queue);
	if (ret)
		return ret;
	ret = kfn_regions_open(queue);
	if (ret)
		kfn_queue_close(queue);
	return ret;
}

/*
 * End the connection. On return no handler of the queue runs, and the provider does not write to
 * its memory any more. The endpoint and the regions are kept for the next connection: reclaim may
 * wait for this disk, and the allocation of new objects would wait for reclaim. They are closed if
 * they can't be used again, or if their network was removed.
 */
static void kfn_queue_disconnect(struct kfn_queue *queue)
{
	int ret;

	ret = kfi_ep_reset(queue->ep);
	kfn_regions_quiesce(queue);
	if (!ret)
		ret = kfn_regions_detach(queue);
	if (!ret)
		return;
	if (ret != -EOPNOTSUPP)
		queue->ctrl->kfi.stale = true;
	kfn_queue_release(queue);
}

static int kfn_queue_receives(struct kfn_queue *queue)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < queue->size && !ret; i++) {
		queue->rsps[i].queue = queue;
		ret = kfn_rsp_post(&queue->rsps[i]);
	}
	return ret;
}

static int kfn_queue_connect(struct kfn_queue *queue)
{
	struct nvme_rdma_cm_req req = {
		.recfmt = cpu_to_le16(NVME_RDMA_CM_FMT_1_0),
		.qid = cpu_to_le16(queue->qid),
		.hrqsize = cpu_to_le16(queue->size),
		.hsqsize = cpu_to_le16(queue->size - 1),
		.cntlid = cpu_to_le16(queue->qid ? queue->ctrl->ctrl.cntlid : 0),
	};
	int ret;

	ret = kfi_connect(queue->ep, queue->ctrl->kfi.info->dest_addr, &req, sizeof(req));
	if (ret)
		return ret;
	if (!wait_for_completion_timeout(&queue->connected, msecs_to_jiffies(kfn_connect_ms())))
		return -ETIMEDOUT;
	return queue->cm_error;
}

static void kfn_queue_init(struct kfn_queue *queue, unsigned int size)
{
	queue->size = size;
	queue->epoch++;
	/* a stop by a time-out may have set KFN_Q_BROKEN before the set-up */
	clear_bit(KFN_Q_TAGS, &queue->flags);
	clear_bit(KFN_Q_BROKEN, &queue->flags);
	queue->inject_cqe.done = kfn_inject_failed;
	atomic_set(&queue->works, 1);
	init_completion(&queue->connected);
}

/*
 * Open the queue. If the connection failed before KFN_Q_ALLOCATED was set, lost_work had nothing to
 * stop, so it is queued again here.
 */
static void kfn_queue_ready(struct kfn_queue *queue)
{
	set_bit(KFN_Q_ALLOCATED, &queue->flags);
	set_bit(KFN_Q_OPEN, &queue->flags);
	smp_mb__after_atomic();	/* pairs with kfn_queue_broken() */
	if (test_bit(KFN_Q_BROKEN, &queue->flags))
		queue_work(kfn_wq, &queue->lost_work);
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

	kfn_queue_init(queue, size);
	ret = kfn_queue_open_all(queue);
	if (ret == -ENODEV)
		ctrl->kfi.stale = true;
	if (ret)
		goto report;
	ret = kfn_queue_receives(queue) ?: kfn_queue_connect(queue);
	if (ret)
		goto disconnect;
	kfn_queue_ready(queue);
	return 0;

disconnect:
	kfn_queue_disconnect(queue);
	cancel_work_sync(&queue->lost_work);
report:
	dev_err(ctrl->ctrl.device, "queue %u: no connection to %s:%s (%d)\n", qid,
		ctrl->ctrl.opts->traddr, ctrl->ctrl.opts->trsvcid, ret);
	return ret;
}

/* ---- end ---- */

static void kfn_queue_stop(struct kfn_queue *queue)
{
	mutex_lock(&queue->lock);
	if (test_and_clear_bit(KFN_Q_ALLOCATED, &queue->flags))
		kfn_queue_disconnect(queue);
	mutex_unlock(&queue->lock);
}

/**
 * kfn_queues_release() - close the objects that stopped queues have kept
 * @ctrl: controller, whose queues are stopped
 */
void kfn_queues_release(struct kfn_ctrl *ctrl)
{
	unsigned int i;

	for (i = 0; i < ctrl->nr_queues; i++) {
		mutex_lock(&ctrl->queues[i].lock);
		kfn_queue_release(&ctrl->queues[i]);
		mutex_unlock(&ctrl->queues[i].lock);
	}
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
		clear_bit(KFN_Q_OPEN, &ctrl->queues[i].flags);
		set_bit(KFN_Q_BROKEN, &ctrl->queues[i].flags);
	}
	synchronize_rcu();
	for (i = first; i < end; i++)
		kfn_queue_stop(&ctrl->queues[i]);
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
