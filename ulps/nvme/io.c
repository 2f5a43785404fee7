// SPDX-License-Identifier: GPL-2.0
/*
 * io.c - requests: from blk-mq to the target and back.
 *
 *	queue_rq	sets up the SQE, attaches a region or puts data into the capsule, sends it
 *	answer		a message of 16 bytes: status; it usually detaches the region as well
 *	kfn_req_done()	called by the kit when the request has ended, see kfi_req.h
 *	complete	called by blk-mq, on a CPU of its choice
 */
#include <linux/blk-mq.h>
#include <linux/sched/isolation.h>
#include <linux/unaligned.h>
#include <kfi_blk.h>
#include "host.h"

enum {
	KFN_POLL_BUDGET		= 256,
	/* blk-mq waits as long for a resource whose return is not reported to it */
	KFN_REQUEUE_MS		= 3,
};

static struct request *to_rq(struct kfi_req *kreq)
{
	return blk_mq_rq_from_pdu(container_of(kreq, struct kfn_req, kreq));
}

/* ---- digests ---- */

/* The data does not change: the core sees to that. */
static __le32 kfn_data_digest(struct request *rq)
{
	struct req_iterator iter;
	struct bio_vec bv;
	u32 crc = ~0U;

	if (rq->rq_flags & RQF_SPECIAL_PAYLOAD) {
		bv = rq->special_vec;
		return cpu_to_le32(~crc32c(crc, bvec_virt(&bv), bv.bv_len));
	}
	rq_for_each_bvec(bv, rq, iter)
		crc = crc32c(crc, bvec_virt(&bv), bv.bv_len);
	return cpu_to_le32(~crc);
}

static bool kfn_has_digest(const struct kfn_req *req, struct request *rq, int dir)
{
	return req->queue->ctrl->digests & KFN_DIGEST_DATA && rq_data_dir(rq) == dir &&
	       blk_rq_nr_phys_segments(rq);
}

/* The region is detached. A target sends no data with an error. */
static bool kfn_data_intact(const struct kfn_req *req, struct request *rq)
{
	return !kfn_has_digest(req, rq, READ) || le16_to_cpu(req->status) >> 1 ||
	       req->sqe.digest.data == kfn_data_digest(rq);
}

/* ---- completion ---- */

static bool kfn_can_retry(int err)
{
	return err == -EAGAIN || err == -ENOMEM;	/* a recovery would take even more memory */
}

/*
 * The connection takes no request any more, which a post may notice before kfn_lost() is called.
 * Requests wait from now on, and do not use up their retries. A memory error (-EIO) is that of one
 * request.
 */
static void kfn_queue_failed(struct kfn_queue *queue, int err)
{
	if (err == -EIO)
		return;
	clear_bit(KFN_Q_LIVE, &queue->flags);	/* before the state, see nvme_check_ready() */
	kfn_recover(queue->ctrl);
}

/* The region is detached already: the request may get another tag when it is started again. */
static void kfn_req_done(struct kfi_req *kreq, int err)
{
	struct request *rq = to_rq(kreq);
	struct kfn_req *req = blk_mq_rq_to_pdu(rq);

	if (unlikely(err && kfn_can_retry(err))) {
		nvme_cleanup_cmd(rq);
		blk_mq_requeue_request(rq, false);
		blk_mq_delay_kick_requeue_list(rq->q, KFN_REQUEUE_MS);
		return;
	}
	if (unlikely(err)) {
		kfn_queue_failed(req->queue, err);
		req->status = cpu_to_le16(NVME_SC_HOST_PATH_ERROR << 1);
		req->result.u64 = 0;
	} else if (unlikely(req->queue->ctrl->digests) && !kfn_data_intact(req, rq)) {
		dev_err_ratelimited(req->queue->ctrl->ctrl.device,
				    "queue %u: command %#x: wrong data digest\n",
				    req->queue->qid, nvme_cid(rq));
		req->status = cpu_to_le16(NVME_SC_DATA_XFER_ERROR << 1);
	}
	if (!nvme_try_complete_req(rq, req->status, req->result))
		nvme_complete_rq(rq);
}

/* ---- answers: their content is not trusted ---- */

static void kfn_bad_answer(struct kfn_queue *queue, const char *what, u64 value)
{
	dev_err_ratelimited(queue->ctrl->ctrl.device, "queue %u: the target sends %s (%#llx)\n",
			    queue->qid, what, value);
	kfi_conn_fail(&queue->conn, -EPROTO);
}

/*
 * Receives are posted before the first command, and at the first connection before the tags exist,
 * so a malicious target can send an answer that early.
 */
static void kfn_dispatch_answer(struct kfn_queue *queue, struct nvme_completion *cqe,
				const struct kfi_cq_err_entry *wc, __le32 digest)
{
	struct request *rq;
	struct kfn_req *req;

	if (!test_bit_acquire(KFN_Q_TAGS, &queue->flags)) {
		kfn_bad_answer(queue, "an answer before any command", cqe->command_id);
		return;
	}
	if (nvme_is_aen_req(queue->qid, cqe->command_id)) {
		nvme_complete_async_event(&queue->ctrl->ctrl, cqe->status, &cqe->result);
		return;
	}
	rq = nvme_find_rq(queue->tags, cqe->command_id);
	req = rq ? blk_mq_rq_to_pdu(rq) : NULL;
	if (!req || !kfi_req_answered(&req->kreq, &queue->conn, wc)) {
		kfn_bad_answer(queue, "an answer to no command", cqe->command_id);
		return;
	}
	req->status = cqe->status;
	req->result = cqe->result;
	req->sqe.digest.data = digest;
	kfi_req_put(&req->kreq);
}

static void kfn_received(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	struct nvme_completion answer;
	struct kfi_conn *conn = kfi_rx_take(cqe, wc, &answer, sizeof(answer));

	if (!conn)
		return;
	rcu_read_lock();
	kfn_dispatch_answer(container_of(conn, struct kfn_queue, conn), &answer, wc, 0);
	rcu_read_unlock();
}

static void kfn_received_sealed(struct kfid_cq *cq, struct kfi_cqe *cqe,
				const struct kfi_cq_err_entry *wc)
{
	struct kfn_cqe answer;
	struct kfi_conn *conn = kfi_rx_take(cqe, wc, &answer, sizeof(answer));
	struct kfn_queue *queue = container_of(conn, struct kfn_queue, conn);

	if (!conn)
		return;
	if (!kfn_sealed(&answer.cqe, sizeof(answer.cqe), queue->ctrl->digests)) {
		kfn_bad_answer(queue, "a wrong header digest", answer.cqe.command_id);
		return;
	}
	rcu_read_lock();
	kfn_dispatch_answer(queue, &answer.cqe, wc, answer.digest.data);
	rcu_read_unlock();
}

const struct kfi_conn_ops kfn_conn_ops = {
	.received	= kfn_received,
	.req_done	= kfn_req_done,
	.lost		= kfn_lost,
};

const struct kfi_conn_ops kfn_digest_conn_ops = {
	.received	= kfn_received_sealed,
	.req_done	= kfn_req_done,
	.lost		= kfn_lost,
};

/* ---- commands ---- */

static void kfn_no_data(struct nvme_command *cmd)
{
	struct nvme_keyed_sgl_desc *sgl = &cmd->common.dptr.ksgl;

	memset(sgl, 0, sizeof(*sgl));
	sgl->type = NVME_KEY_SGL_FMT_DATA_DESC << 4;
}

/* Send the command of a request: @data in its capsule, or NULL */
static int kfn_send_sqe(struct kfn_req *req, const struct bio_vec *data, unsigned int n, u64 more)
{
	u8 digests = req->queue->ctrl->digests;
	size_t len = sizeof(req->cmd);

	if (unlikely(digests)) {
		kfn_seal(&req->cmd, len, digests, req->sqe.digest.data);
		len = sizeof(req->sqe);
	}
	return kfi_req_send(&req->kreq, &req->sqe, len, data, n, more);
}

static int kfn_send_capsule(struct kfn_req *req, struct request *rq, u64 more)
{
	struct nvme_sgl_desc *sgl = &req->cmd.common.dptr.sgl;
	struct bio_vec vec[KFN_TX_SEGS];
	unsigned int n = kfi_rq_bvecs(rq, vec, KFN_TX_SEGS - 1);

	sgl->addr = 0;
	sgl->length = cpu_to_le32(blk_rq_payload_bytes(rq));
	sgl->type = NVME_SGL_FMT_DATA_DESC << 4 | NVME_SGL_FMT_OFFSET;
	return kfn_send_sqe(req, vec, n, more);
}

/*
 * Each tag of a queue has a memory region of its own, which the SQE names. The target detaches it
 * with the message that has the CQE, or else the host does.
 */
static int kfn_send_keyed(struct kfn_req *req, struct request *rq, u64 more)
{
	struct nvme_keyed_sgl_desc *sgl = &req->cmd.common.dptr.ksgl;
	struct bio_vec *vec = kfi_req_vec(&req->kreq);
	unsigned int n = kfi_rq_bvecs(rq, vec, req->queue->ctrl->pages);
	u64 access = rq_data_dir(rq) == WRITE ? KFI_REMOTE_READ :
		     KFI_REMOTE_WRITE | (READ_ONCE(kfn_verify) ? KFI_REMOTE_READ : 0);
	int ret = kfi_req_map(&req->kreq, vec, n, access);

	if (ret)
		return ret;
	sgl->addr = cpu_to_le64(req->kreq.addr);
	put_unaligned_le24(blk_rq_payload_bytes(rq), sgl->length);
	put_unaligned_le32(req->kreq.key, sgl->key);
	sgl->type = NVME_KEY_SGL_FMT_DATA_DESC << 4 | NVME_SGL_FMT_INVALIDATE;
	return kfn_send_sqe(req, NULL, 0, more);
}

static int kfn_send_command(struct kfn_req *req, struct request *rq, u64 more)
{
	req->cmd.common.flags |= NVME_CMD_SGL_METABUF;
	kfi_req_begin(&req->kreq, &req->queue->conn, rq->tag);
	if (!blk_rq_nr_phys_segments(rq)) {
		kfn_no_data(&req->cmd);
		return kfn_send_sqe(req, NULL, 0, more);
	}
	if (rq_data_dir(rq) == WRITE && blk_rq_payload_bytes(rq) <= req->queue->capsule_room &&
	    blk_rq_nr_phys_segments(rq) < KFN_TX_SEGS)
		return kfn_send_capsule(req, rq, more);
	return kfn_send_keyed(req, rq, more);
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
	kfn_queue_failed(((struct kfn_req *)blk_mq_rq_to_pdu(rq))->queue, err);
	return nvme_host_path_error(rq);
}

/*
 * A stop of the queue waits until the section between kfi_conn_enter() and kfi_conn_exit() has
 * ended. So a cancellation after the stop finds no request that is about to fail here, and no other
 * request is started. (A request that is returned to blk-mq is returned in blk-mq's own RCU section
 * around queue_rq.)
 */
static blk_status_t kfn_queue_rq(struct blk_mq_hw_ctx *hctx, const struct blk_mq_queue_data *bd)
{
	struct kfn_queue *queue = hctx->driver_data;
	struct request *rq = bd->rq;
	struct kfn_req *req = blk_mq_rq_to_pdu(rq);
	struct nvme_ctrl *ctrl = &queue->ctrl->ctrl;
	blk_status_t status;
	int ret;

	if (!nvme_check_ready(ctrl, rq, test_bit(KFN_Q_LIVE, &queue->flags)))
		return nvme_fail_nonready_command(ctrl, rq);
	status = nvme_setup_cmd(hctx->queue->queuedata, rq);
	if (status)
		return status;
	/* Before the section, which has bottom halves off: the data may be long. */
	if (unlikely(queue->ctrl->digests))
		req->sqe.digest.data = kfn_has_digest(req, rq, WRITE) ? kfn_data_digest(rq) : 0;
	if (!kfi_conn_enter(&queue->conn)) {
		kfn_queue_failed(queue, -ENOTCONN);
		return nvme_host_path_error(rq);
	}
	nvme_start_request(rq);
	ret = kfn_send_command(req, rq, bd->last ? 0 : KFI_MORE);
	status = ret ? kfn_send_failed(rq, ret) : BLK_STS_OK;
	kfi_conn_exit(&queue->conn);
	return status;
}

/* Commands were sent with KFI_MORE, and no further one follows. */
static void kfn_commit_rqs(struct blk_mq_hw_ctx *hctx)
{
	kfi_conn_flush(&((struct kfn_queue *)hctx->driver_data)->conn);
}

void kfn_submit_async_event(struct nvme_ctrl *nctrl)
{
	struct kfn_ctrl *ctrl = to_kfn(nctrl);
	struct nvme_command *cmd = &ctrl->aen.cmd;
	ssize_t ret;

	memset(cmd, 0, sizeof(*cmd));
	cmd->common.opcode = nvme_admin_async_event;
	cmd->common.command_id = NVME_AQ_BLK_MQ_DEPTH;
	cmd->common.flags = NVME_CMD_SGL_METABUF;
	kfn_no_data(cmd);
	kfn_seal(cmd, sizeof(*cmd), ctrl->digests, 0);
	ret = kfi_conn_inject(&ctrl->queues[0].conn, &ctrl->aen,
			      kfn_head_len(sizeof(*cmd), ctrl->digests), 0);
	if (ret && ret != -ENOTCONN)
		kfn_recover(ctrl);
}

static int kfn_poll(struct blk_mq_hw_ctx *hctx, struct io_comp_batch *iob)
{
	return kfi_conn_poll(&((struct kfn_queue *)hctx->driver_data)->conn, KFN_POLL_BUDGET);
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

/**
 * kfn_cpu_usable() - does blk-mq let a CPU send what is for a certain queue, as the NVMe connect?
 * @cpu: a possible CPU
 *
 * A CPU that is isolated sends only the commands of its own processes.
 *
 * Return: true or false
 */
bool kfn_cpu_usable(unsigned int cpu)
{
	return cpu_online(cpu) && !cpu_is_isolated(cpu);
}

/* Has each queue of the map a CPU that can send its NVMe connect? */
static bool kfn_map_is_usable(const struct blk_mq_queue_map *map)
{
	unsigned int cpu, i;
	bool has_cpu;

	for (i = 0; i < map->nr_queues; i++) {
		has_cpu = false;
		for_each_possible_cpu(cpu)
			has_cpu |= map->mq_map[cpu] == map->queue_offset + i && kfn_cpu_usable(cpu);
		if (!has_cpu)
			return false;
	}
	return true;
}

/*
 * Give each queue a CPU that is usable, in turn. The other CPUs get queues that have such a CPU:
 * one that comes online later finds its queue connected. If usable CPUs are fewer than queues, the
 * last queues get none.
 */
static void kfn_map_usable(struct blk_mq_queue_map *map)
{
	unsigned int usable = 0, other = 0, n = 0, cpu;

	for_each_possible_cpu(cpu)
		n += kfn_cpu_usable(cpu);
	n = clamp(n, 1U, map->nr_queues);
	for_each_possible_cpu(cpu)
		map->mq_map[cpu] = map->queue_offset +
				   (kfn_cpu_usable(cpu) ? usable++ : other++) % n;
}

/*
 * The core spreads all CPUs that may come over the queues, so that a queue may have only CPUs that
 * are offline or isolated: its NVMe connect can't be sent.
 */
static void kfn_map_queues(struct blk_mq_tag_set *set)
{
	struct kfn_ctrl *ctrl = to_kfn(set->driver_data);
	unsigned int i;

	nvmf_map_queues(set, &ctrl->ctrl, ctrl->io_queues);
	for (i = 0; i < set->nr_maps; i++)
		if (set->map[i].nr_queues && !kfn_map_is_usable(&set->map[i]))
			kfn_map_usable(&set->map[i]);
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
