// SPDX-License-Identifier: GPL-2.0
/*
 * io.c - requests: from blk-mq to the target and back.
 *
 *	queue_rq	sets up the SQE, attaches a region or puts data into the capsule, sends it
 *	answer		a message of 16 bytes: status; it usually detaches the region as well
 *	kfn_req_put()	called by the answer, the send of a capsule with data, and queue_rq; the
 *			last call completes the request
 *	complete	called by blk-mq, on a CPU of its choice
 *
 * A command without data in its capsule is injected: its answer implies that its send has ended, so
 * the request does not wait for a completion of the send.
 */
#include <linux/blk-mq.h>
#include <linux/unaligned.h>
#include "host.h"

enum {
	KFN_POLL_BUDGET		= 256,
	/* blk-mq waits as long for a resource whose return is not reported to it */
	KFN_REQUEUE_MS		= 3,
};

/* ---- completion ---- */

/* The region is detached already: the request may get another tag when it is started again. */
static void kfn_req_requeue(struct request *rq)
{
	nvme_cleanup_cmd(rq);
	blk_mq_requeue_request(rq, false);
	blk_mq_delay_kick_requeue_list(rq->q, KFN_REQUEUE_MS);
}

void kfn_req_complete(struct kfn_req *req)
{
	struct request *rq = blk_mq_rq_from_pdu(req);

	if (unlikely(test_bit(KFN_R_REQUEUE, &req->flags)))
		kfn_req_requeue(rq);
	else if (!nvme_try_complete_req(rq, req->status, req->result))
		nvme_complete_rq(rq);
}

/* One of the events counted by @pending has happened. */
void kfn_req_put(struct kfn_req *req)
{
	if (atomic_dec_and_test(&req->pending) && !kfn_region_detach(req))
		kfn_req_complete(req);
}

static void kfn_sent(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	struct kfn_req *req = container_of(cqe, struct kfn_req, sent);

	if (wc->err)
		kfn_queue_broken(req->queue);
	kfn_req_put(req);
}

/* done() of an injected command; it is called only if the send fails */
void kfn_inject_failed(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	struct kfn_queue *queue = container_of(cqe, struct kfn_queue, inject_cqe);

	if (wc->err)
		kfn_queue_broken(queue);
}

/* ---- answers: their content is not trusted ---- */

static void kfn_bad_answer(struct kfn_queue *queue, const char *what, u64 value)
{
	dev_err_ratelimited(queue->ctrl->ctrl.device, "queue %u: the target sends %s (%#llx)\n",
			    queue->qid, what, value);
	kfn_queue_broken(queue);
}

/*
 * Find the request of an answer. If it is found, the caller has to call kfn_req_put() for the
 * answer.
 */
static struct kfn_req *kfn_find_req(struct kfn_queue *queue, u16 command_id)
{
	struct request *rq = nvme_find_rq(queue->tags, command_id);
	struct kfn_req *req = rq ? blk_mq_rq_to_pdu(rq) : NULL;

	/* The atomic operation is a full barrier; see kfn_req_begin(). */
	if (req && req->queue == queue && READ_ONCE(req->epoch) == queue->epoch &&
	    test_and_clear_bit(KFN_R_SENT, &req->flags))
		return req;
	kfn_bad_answer(queue, "an answer to no command", command_id);
	return NULL;
}

static void kfn_take_answer(struct kfn_queue *queue, const struct nvme_completion *cqe,
			    const struct kfi_cq_err_entry *wc)
{
	struct kfn_req *req = kfn_find_req(queue, cqe->command_id);

	if (!req)
		return;
	req->status = cqe->status;
	req->result = cqe->result;
	if (wc->flags & KFI_INVALIDATE) {
		if (wc->data == req->key)
			clear_bit(KFN_R_ATTACHED, &req->flags);
		else
			kfn_bad_answer(queue, "an end of another command's region", wc->data);
	}
	kfn_req_put(req);
}

/*
 * Receives are posted before the first command, and at the first connection before the tags exist,
 * so a malicious target can send an answer that early.
 */
static void kfn_dispatch_answer(struct kfn_queue *queue, struct nvme_completion *cqe,
				const struct kfi_cq_err_entry *wc)
{
	if (!test_bit_acquire(KFN_Q_TAGS, &queue->flags))
		kfn_bad_answer(queue, "an answer before any command", cqe->command_id);
	else if (nvme_is_aen_req(queue->qid, cqe->command_id))
		nvme_complete_async_event(&queue->ctrl->ctrl, cqe->status, &cqe->result);
	else
		kfn_take_answer(queue, cqe, wc);
}

static void kfn_rsp_done(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	struct kfn_rsp *rsp = container_of(cqe, struct kfn_rsp, cqe);
	struct kfn_queue *queue = rsp->queue;
	struct nvme_completion answer;

	if (wc->err) {
		kfn_queue_broken(queue);
		return;
	}
	if (wc->len < sizeof(rsp->data)) {
		kfn_bad_answer(queue, "a short answer", wc->len);
		return;
	}
	/* The answer frees a tag: the next command with it must find the receive posted. */
	answer = rsp->data;
	if (kfn_rsp_post(rsp))
		kfn_queue_broken(queue);
	rcu_read_lock();
	kfn_dispatch_answer(queue, &answer, wc);
	rcu_read_unlock();
}

/**
 * kfn_rsp_post() - post a receive for one answer
 * @rsp: receive, not posted
 *
 * Context: Any that posts; while the queue is being opened, or in its handlers.
 * Return: 0, or the error of the endpoint.
 */
int kfn_rsp_post(struct kfn_rsp *rsp)
{
	struct kvec iov = { &rsp->data, sizeof(rsp->data) };
	struct kfi_msg msg = {
		.type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1, .context = &rsp->cqe
	};

	rsp->cqe.done = kfn_rsp_done;
	return kfi_recvmsg(rsp->queue->ep, &msg, KFI_CQE);
}

/* ---- commands ---- */

static void kfn_no_data(struct nvme_command *cmd)
{
	struct nvme_keyed_sgl_desc *sgl = &cmd->common.dptr.ksgl;

	memset(sgl, 0, sizeof(*sgl));
	sgl->type = NVME_KEY_SGL_FMT_DATA_DESC << 4;
}

/* Send a command without data. @more: KFI_MORE or 0 */
static ssize_t kfn_inject(struct kfn_queue *queue, struct nvme_command *cmd, u64 more)
{
	struct kvec iov = { cmd, sizeof(*cmd) };
	struct kfi_msg msg = {
		.type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1, .context = &queue->inject_cqe
	};

	return kfi_sendmsg(queue->ep, &msg, KFI_CQE | KFI_INJECT | KFI_NO_COMPLETION | more);
}

/*
 * Return how much data may be in a capsule of this queue. The limit of the provider is the longest
 * message that it sends without a handshake: the target should fetch longer data from a region.
 */
static unsigned int kfn_capsule_room(const struct kfn_queue *queue)
{
	const struct kfn_ctrl *ctrl = queue->ctrl;
	u32 capsule = ctrl->ctrl.ioccsz * 16;	/* reported by the target; not all cores check it */

	if (ctrl->kfi.limits.short_msg_limit)
		capsule = min_t(size_t, capsule, ctrl->kfi.limits.short_msg_limit);

	if (!queue->qid || !ctrl->in_capsule || capsule < sizeof(struct nvme_command))
		return 0;
	return min_t(u32, capsule - sizeof(struct nvme_command), KFN_INLINE_MAX);
}

static bool kfn_in_capsule(struct kfn_queue *queue, struct request *rq)
{
	return rq_data_dir(rq) == WRITE && blk_rq_payload_bytes(rq) <= kfn_capsule_room(queue) &&
	       blk_rq_nr_phys_segments(rq) < KFN_TX_SEGS;
}

static ssize_t kfn_send_capsule(struct kfn_req *req, struct request *rq, u64 more)
{
	struct nvme_sgl_desc *sgl = &req->cmd.common.dptr.sgl;
	struct nvme_command *sqe = &req->queue->sqes[rq->tag];
	struct bio_vec vec[KFN_TX_SEGS];
	struct kfi_msg msg = { .type = KFI_BVEC, .msg_biov = vec, .context = &req->sent };
	ssize_t ret;

	sgl->addr = 0;
	sgl->length = cpu_to_le32(blk_rq_payload_bytes(rq));
	sgl->type = NVME_SGL_FMT_DATA_DESC << 4 | NVME_SGL_FMT_OFFSET;
	*sqe = req->cmd;
	bvec_set_page(&vec[0], virt_to_page(sqe), sizeof(*sqe), offset_in_page(sqe));
	msg.iov_count = 1 + kfn_request_vec(rq, vec + 1, KFN_TX_SEGS - 1);
	req->sent.done = kfn_sent;
	atomic_inc(&req->pending);
	ret = kfi_sendmsg(req->queue->ep, &msg, KFI_CQE | KFI_INJECT_COMPLETE | more);
	if (ret)
		atomic_dec(&req->pending);	/* does not reach 0: queue_rq counts, too */
	return ret;
}

static bool kfn_can_retry(int err)
{
	return err == -EAGAIN || err == -ENOMEM;	/* a recovery would take even more memory */
}

/*
 * The command could not be sent, but a region is attached: end the request as an answer would do,
 * which detaches the region. The request is started again if there was no room.
 */
static void kfn_end_unsent(struct kfn_req *req, int err)
{
	if (!test_and_clear_bit(KFN_R_SENT, &req->flags))
		return;
	if (kfn_can_retry(err))
		set_bit(KFN_R_REQUEUE, &req->flags);
	req->status = cpu_to_le16(NVME_SC_HOST_PATH_ERROR << 1);
	req->result.u64 = 0;
	kfn_req_put(req);
}

static ssize_t kfn_send_keyed(struct kfn_req *req, struct request *rq, u64 more)
{
	ssize_t ret = kfn_region_register(req, rq);

	if (ret)
		return ret;
	ret = kfn_inject(req->queue, &req->cmd, more);
	if (ret)
		kfn_end_unsent(req, ret);
	return 0;
}

/*
 * From now on answers are accepted; a malicious target may answer before it has the command. A
 * request that was cancelled with its connection still has KFN_R_SENT, so the flag is cleared
 * before @epoch is set.
 */
static void kfn_req_begin(struct kfn_req *req)
{
	WRITE_ONCE(req->flags, 0);
	atomic_set(&req->pending, 2);	/* answer, queue_rq */
	smp_wmb();	/* pairs with test_and_clear_bit() in kfn_find_req() */
	WRITE_ONCE(req->epoch, req->queue->epoch);
	smp_wmb();	/* a context that takes the flag sees all of the above */
	WRITE_ONCE(req->flags, BIT(KFN_R_SENT));
}

static ssize_t kfn_post_command(struct kfn_req *req, struct request *rq, u64 more)
{
	if (!blk_rq_nr_phys_segments(rq)) {
		kfn_no_data(&req->cmd);
		return kfn_inject(req->queue, &req->cmd, more);
	}
	if (kfn_in_capsule(req->queue, rq))
		return kfn_send_capsule(req, rq, more);
	return kfn_send_keyed(req, rq, more);
}

/*
 * Return: 0; or an error: then blk-mq owns the request again, and no answer can end it. If an
 * answer arrived before the failure, it ends the request and the error is dropped.
 */
static ssize_t kfn_send_command(struct kfn_req *req, struct request *rq, u64 more)
{
	ssize_t ret;

	req->cmd.common.flags |= NVME_CMD_SGL_METABUF;
	kfn_req_begin(req);
	ret = kfn_post_command(req, rq, more);
	if (ret && test_and_clear_bit(KFN_R_SENT, &req->flags))
		return ret;
	kfn_req_put(req);
	return 0;
}

/* A request whose memory can't be mapped for the device fails alone; the core retries it (-EIO). */
static blk_status_t kfn_send_failed(struct request *rq, int err)
{
	if (kfn_can_retry(err)) {
		nvme_cleanup_cmd(rq);
		return BLK_STS_RESOURCE;
	}
	if (err == -EINVAL || err == -EMSGSIZE || err == -EOPNOTSUPP) {
		nvme_cleanup_cmd(rq);
		return BLK_STS_IOERR;
	}
	if (err != -EIO)
		kfn_recover(to_kfn(nvme_req(rq)->ctrl));
	return nvme_host_path_error(rq);
}

/*
 * Called under the RCU read lock under which KFN_Q_OPEN was tested. A stop of the queue waits until
 * this function has returned. So a cancellation after the stop finds no request that is about to
 * fail here, and no other request is started. (A request that is returned to blk-mq is returned in
 * blk-mq's own RCU section around queue_rq.)
 */
static blk_status_t kfn_start(struct kfn_req *req, struct request *rq, u64 more)
{
	ssize_t ret;

	nvme_start_request(rq);
	ret = kfn_send_command(req, rq, more);
	return ret ? kfn_send_failed(rq, ret) : BLK_STS_OK;
}

static blk_status_t kfn_queue_rq(struct blk_mq_hw_ctx *hctx, const struct blk_mq_queue_data *bd)
{
	struct kfn_queue *queue = hctx->driver_data;
	struct request *rq = bd->rq;
	struct kfn_req *req = blk_mq_rq_to_pdu(rq);
	struct nvme_ctrl *ctrl = &queue->ctrl->ctrl;
	blk_status_t status;

	if (!nvme_check_ready(ctrl, rq, test_bit(KFN_Q_LIVE, &queue->flags)))
		return nvme_fail_nonready_command(ctrl, rq);
	status = nvme_setup_cmd(hctx->queue->queuedata, rq);
	if (status)
		return status;
	rcu_read_lock();
	if (kfn_queue_open(queue)) {
		status = kfn_start(req, rq, bd->last ? 0 : KFI_MORE);
	} else {
		kfn_recover(queue->ctrl);
		status = nvme_host_path_error(rq);
	}
	rcu_read_unlock();
	return status;
}

/* Commands were sent with KFI_MORE, and no further one follows. */
static void kfn_commit_rqs(struct blk_mq_hw_ctx *hctx)
{
	struct kfn_queue *queue = hctx->driver_data;

	rcu_read_lock();
	if (kfn_queue_open(queue))
		kfi_ep_tx_flush(queue->ep);
	rcu_read_unlock();
}

void kfn_submit_async_event(struct nvme_ctrl *nctrl)
{
	struct kfn_ctrl *ctrl = to_kfn(nctrl);
	struct kfn_queue *queue = &ctrl->queues[0];

	memset(&ctrl->aen, 0, sizeof(ctrl->aen));
	ctrl->aen.common.opcode = nvme_admin_async_event;
	ctrl->aen.common.command_id = NVME_AQ_BLK_MQ_DEPTH;
	ctrl->aen.common.flags = NVME_CMD_SGL_METABUF;
	kfn_no_data(&ctrl->aen);
	rcu_read_lock();
	if (kfn_queue_open(queue) && kfn_inject(queue, &ctrl->aen, 0))
		kfn_recover(ctrl);
	rcu_read_unlock();
}

static int kfn_poll(struct blk_mq_hw_ctx *hctx, struct io_comp_batch *iob)
{
	struct kfn_queue *queue = hctx->driver_data;
	int n = 0;

	rcu_read_lock();
	if (kfn_queue_open(queue))
		n = kfi_cq_poll(queue->cq, KFN_POLL_BUDGET);
	rcu_read_unlock();
	return max(n, 0);
}

/* ---- time-outs ---- */

/*
 * A live controller recovers, which ends this request with the others. A controller that is being
 * set up or taken down may be waiting for this request, so it ends here, after its queue was
 * stopped.
 */
static enum blk_eh_timer_return kfn_timeout(struct request *rq)
{
	struct kfn_req *req = blk_mq_rq_to_pdu(rq);
	struct kfn_queue *queue = req->queue;
	struct kfn_ctrl *ctrl = queue->ctrl;

	dev_warn(ctrl->ctrl.device, "queue %u: command %#x, opcode %#x (%s): no answer in time\n",
		 queue->qid, nvme_cid(rq), req->cmd.common.opcode,
		 nvme_fabrics_opcode_str(queue->qid, &req->cmd));
	if (nvme_ctrl_state(&ctrl->ctrl) == NVME_CTRL_LIVE) {
		kfn_recover(ctrl);
		return BLK_EH_RESET_TIMER;
	}
	kfn_queues_stop(ctrl, queue->qid, queue->qid + 1);
	mutex_lock(&queue->lock);	/* see kfn_lost_work() */
	nvmf_complete_timed_out_request(rq);
	mutex_unlock(&queue->lock);
	return BLK_EH_DONE;
}

/* ---- blk-mq ---- */

static int kfn_init_request(struct blk_mq_tag_set *set, struct request *rq, unsigned int index,
			    kfn_node_t node)
{
	struct kfn_ctrl *ctrl = to_kfn(set->driver_data);
	struct kfn_req *req = blk_mq_rq_to_pdu(rq);

	req->queue = &ctrl->queues[set == &ctrl->tag_set ? index + 1 : 0];
	nvme_req(rq)->ctrl = &ctrl->ctrl;
	nvme_req(rq)->cmd = &req->cmd;
	return 0;
}

static int kfn_init_hctx(struct blk_mq_hw_ctx *hctx, void *data, unsigned int index)
{
	hctx->driver_data = &to_kfn(data)->queues[index + 1];
	return 0;
}

static int kfn_init_admin_hctx(struct blk_mq_hw_ctx *hctx, void *data, unsigned int index)
{
	hctx->driver_data = &to_kfn(data)->queues[0];
	return 0;
}

static void kfn_map_queues(struct blk_mq_tag_set *set)
{
	struct kfn_ctrl *ctrl = to_kfn(set->driver_data);

	nvmf_map_queues(set, &ctrl->ctrl, ctrl->io_queues);
}

const struct blk_mq_ops kfn_mq_ops = {
	.queue_rq	= kfn_queue_rq,
	.commit_rqs	= kfn_commit_rqs,
	.complete	= nvme_complete_rq,
	.init_request	= kfn_init_request,
	.init_hctx	= kfn_init_hctx,
	.timeout	= kfn_timeout,
	.map_queues	= kfn_map_queues,
	.poll		= kfn_poll,
};

const struct blk_mq_ops kfn_admin_mq_ops = {
	.queue_rq	= kfn_queue_rq,
	.commit_rqs	= kfn_commit_rqs,
	.complete	= nvme_complete_rq,
	.init_request	= kfn_init_request,
	.init_hctx	= kfn_init_admin_hctx,
	.timeout	= kfn_timeout,
};
