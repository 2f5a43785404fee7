// SPDX-License-Identifier: GPL-2.0
/*
 * tcmd.c - commands: received, checked, passed to nvmet, answered.
 *
 *	WRITE, data in the capsule	execute, answer
 *	WRITE				read the host's region, execute, answer
 *	READ				execute, write the host's region, then answer
 *	READ that bypasses RAM		get a place, execute, put the place, then answer (tplace.c)
 */
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/unaligned.h>
#include "hints.h"
#include "target.h"

/* ---- receiving ---- */

static void kfnt_cmd_begin(struct kfnt_cmd *cmd);

static void kfnt_cmd_received(struct kfid_cq *cq, struct kfi_cqe *cqe,
			      const struct kfi_cq_err_entry *wc)
{
	struct kfnt_cmd *cmd = container_of(cqe, struct kfnt_cmd, recv);

	if (wc->err || wc->len < sizeof(*cmd->sqe)) {
		kfnt_queue_fail(cmd->queue, wc->err ? "a receive failed" : "a command is too short",
				wc->err);
		return;
	}
	cmd->capsule = wc->len - sizeof(*cmd->sqe);
	if (cmd->queue->qid)
		WRITE_ONCE(cmd->queue->round, current);
	kfnt_cmd_begin(cmd);
}

/* Return: 0, or the error of the endpoint; -ESHUTDOWN when the queue ends. */
int kfnt_cmd_receive(struct kfnt_cmd *cmd)
{
	struct bio_vec vec[KFN_RX_SEGS];
	struct kfi_msg msg = {
		.type = KFI_BVEC, .msg_biov = vec, .iov_count = 1, .context = &cmd->recv,
	};
	int ret = -ESHUTDOWN;

	bvec_set_page(&vec[0], virt_to_page(cmd->sqe), sizeof(*cmd->sqe), offset_in_page(cmd->sqe));
	if (cmd->data)
		bvec_set_page(&vec[msg.iov_count++], cmd->data, cmd->queue->inline_size, 0);
	rcu_read_lock();
	if (test_bit(KFNT_Q_OPEN, &cmd->queue->flags))
		ret = kfi_recvmsg(cmd->queue->ep, &msg, KFI_CQE);
	rcu_read_unlock();
	return ret;
}

int kfnt_cmds_receive(struct kfnt_cmd *cmds, unsigned int n)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < n && !ret; i++)
		ret = kfnt_cmd_receive(&cmds[i]);
	return ret;
}

/* A command has ended: post its memory as the receive of another command. */
void kfnt_cmd_release(struct kfnt_cmd *cmd)
{
	int ret;

	if (cmd->place)
		kfnt_place_end(cmd);
	else if (cmd->req.sg && cmd->req.sg != &cmd->own_sg)
		nvmet_req_free_sgls(&cmd->req);
	cmd->req.sg = NULL;
	ret = kfnt_cmd_receive(cmd);
	if (ret)
		kfnt_queue_fail(cmd->queue, "no receive can be posted", -ret);
}

/* ---- where data is ---- */

/* Let the core use the command's own memory, beginning at @offset. */
static void kfnt_map_own(struct kfnt_cmd *cmd, u64 offset, u32 len)
{
	sg_init_table(&cmd->own_sg, 1);
	sg_set_page(&cmd->own_sg, cmd->data + (offset >> PAGE_SHIFT), len, offset_in_page(offset));
	cmd->req.sg = &cmd->own_sg;
	cmd->req.sg_cnt = 1;
	cmd->req.transfer_len = len;
}

/* The limit is the number of bytes received, not the size of a capsule. */
static u16 kfnt_map_capsule(struct kfnt_cmd *cmd)
{
	const struct nvme_sgl_desc *sgl = &cmd->sqe->common.dptr.sgl;
	u64 offset = le64_to_cpu(sgl->addr);
	u32 len = le32_to_cpu(sgl->length);

	if (!nvme_is_write(cmd->sqe)) {
		cmd->req.error_loc = offsetof(struct nvme_common_command, opcode);
		return NVME_SC_INVALID_FIELD | NVME_STATUS_DNR;
	}
	if (offset > cmd->capsule || len > cmd->capsule - offset)
		return NVME_SC_SGL_INVALID_OFFSET | NVME_STATUS_DNR;
	if (len)
		kfnt_map_own(cmd, offset, len);
	return 0;
}

/* Before NVMe's connect no other command is permitted, so more memory is not allocated. */
static u32 kfnt_data_max(const struct kfnt_queue *queue)
{
	return test_bit(KFNT_Q_INSTALLED, &queue->flags) ? KFN_DATA_MAX :
						       sizeof(struct nvmf_connect_data);
}

/*
 * May the data be in memory of a disk, from which the network's device reads it? The administrator
 * decides by the attribute p2pmem of the namespace, and the core looks for such memory within reach
 * of both. The data of a WRITE may be copied by a CPU, which must not write there.
 */
static bool kfnt_may_stage(const struct kfnt_cmd *cmd, u32 len)
{
	const struct kfnt_queue *queue = cmd->queue;

	return queue->p2p_client && len > queue->p2p_min && !nvme_is_write(cmd->sqe) &&
	       cmd->req.ns && cmd->req.ns->use_p2pmem;
}

/* Allocate memory of a disk, or RAM. */
static bool kfnt_alloc(struct kfnt_cmd *cmd, bool stage)
{
	struct nvmet_req *req = &cmd->req;

	if (stage)
		return !nvmet_req_alloc_sgls(req);
	req->sg = sgl_alloc(req->transfer_len, GFP_KERNEL, &req->sg_cnt);
	return req->sg;
}

/*
 * Short data needs no allocation: the memory for data in the capsule is not in use. It may contain
 * data of earlier commands of the same host. Process context, may sleep. Return: 0, or a status
 */
u16 kfnt_map_ram(struct kfnt_cmd *cmd, u32 len)
{
	bool stage = kfnt_may_stage(cmd, len);

	if (len <= cmd->queue->inline_size && !stage) {
		kfnt_map_own(cmd, 0, len);
		return 0;
	}
	cmd->req.transfer_len = len;
	if (kfnt_alloc(cmd, stage)) {
		kfnt_count_staged(cmd);
		return 0;
	}
	cmd->req.transfer_len = 0;
	return NVME_SC_INTERNAL;
}

/* The data is in the host's region. */
static u16 kfnt_map_region(struct kfnt_cmd *cmd, bool inv)
{
	const struct nvme_keyed_sgl_desc *sgl = &cmd->sqe->common.dptr.ksgl;
	u32 len = get_unaligned_le24(sgl->length);
	u16 status = 0;

	if (!len)
		return 0;
	if (len > kfnt_data_max(cmd->queue))
		return NVME_SC_SGL_INVALID_DATA | NVME_STATUS_DNR;
	if (kfnt_place_begin(cmd, len))
		cmd->req.transfer_len = len;
	else
		status = kfnt_map_ram(cmd, len);
	if (status)
		return status;
	cmd->fetch = nvme_is_write(cmd->sqe);
	cmd->addr = le64_to_cpu(sgl->addr);
	cmd->key = get_unaligned_le32(sgl->key);
	cmd->inv = inv;
	return 0;
}

static u16 kfnt_map(struct kfnt_cmd *cmd)
{
	switch (cmd->sqe->common.dptr.ksgl.type) {
	case NVME_SGL_FMT_DATA_DESC << 4 | NVME_SGL_FMT_OFFSET:
		return kfnt_map_capsule(cmd);
	case NVME_KEY_SGL_FMT_DATA_DESC << 4 | NVME_SGL_FMT_ADDRESS:
		return kfnt_map_region(cmd, false);
	case NVME_KEY_SGL_FMT_DATA_DESC << 4 | NVME_SGL_FMT_INVALIDATE:
		return kfnt_map_region(cmd, true);
	default:
		cmd->req.error_loc = offsetof(struct nvme_common_command, dptr);
		return NVME_SC_SGL_INVALID_TYPE | NVME_STATUS_DNR;
	}
}

/* ---- execution ---- */

static void kfnt_cmd_reset(struct kfnt_cmd *cmd)
{
	cmd->req.cmd = cmd->sqe;
	cmd->req.cqe = &cmd->cqe;
	cmd->req.port = cmd->queue->listener->port->nport;
	cmd->req.p2p_client = cmd->queue->p2p_client;
	memset(&cmd->cqe, 0, sizeof(cmd->cqe));
	cmd->inv = false;
	cmd->fetch = false;
}

static void kfnt_cmd_begin(struct kfnt_cmd *cmd)
{
	u16 status;

	if (!kfnt_may_connect(cmd->queue, &cmd->sqe->connect)) {
		kfnt_queue_fail(cmd->queue, "a connect is not permitted", EPROTO);
		return;
	}
	kfnt_cmd_reset(cmd);
	if (!nvmet_req_init(&cmd->req, &cmd->queue->sq, kfnt_ops()))
		return;	/* answered */
	status = kfnt_map(cmd);
	if (status) {
		nvmet_req_complete(&cmd->req, status);
		return;
	}
	if (!test_bit(KFNT_Q_INSTALLED, &cmd->queue->flags))	/* so it is a connect */
		set_bit(KFNT_Q_CONNECT_CAME, &cmd->queue->flags);
	if (cmd->place)
		kfnt_place_get(cmd);
	else if (cmd->fetch)
		kfnt_move(cmd, false);
	else
		cmd->req.execute(&cmd->req);
}

/* Disks may complete in hard interrupts, where no operation may be posted. */
void kfnt_queue_response(struct nvmet_req *req)
{
	struct kfnt_cmd *cmd = to_kfnt_cmd(req);

	if (!in_hardirq() && !irqs_disabled()) {
		kfnt_move(cmd, true);
		return;
	}
	llist_add(&cmd->deferred, &cmd->queue->deferred);
	queue_work(kfnt_post_wq, &cmd->queue->resume_work);
}

/* ---- memory ---- */

static int kfnt_cmd_init(struct kfnt_queue *queue, struct kfnt_cmd *cmd)
{
	cmd->queue = queue;
	cmd->recv.done = kfnt_cmd_received;
	cmd->sqe = kmalloc(sizeof(*cmd->sqe), GFP_KERNEL);
	if (!cmd->sqe)
		return -ENOMEM;
	if (!queue->inline_size)
		return 0;
	cmd->data = alloc_pages(GFP_KERNEL | __GFP_COMP, get_order(queue->inline_size));
	return cmd->data ? 0 : -ENOMEM;
}

struct kfnt_cmd *kfnt_cmds_alloc(struct kfnt_queue *queue, unsigned int n)
{
	struct kfnt_cmd *cmds = kvcalloc(n, sizeof(*cmds), GFP_KERNEL);
	unsigned int i;
	int ret = 0;

	if (!cmds)
		return NULL;
	for (i = 0; i < n && !ret; i++)
		ret = kfnt_cmd_init(queue, &cmds[i]);
	if (!ret)
		return cmds;
	kfnt_cmds_free(queue, cmds, n);
	return NULL;
}

void kfnt_cmds_free(struct kfnt_queue *queue, struct kfnt_cmd *cmds, unsigned int n)
{
	unsigned int i;

	for (i = 0; cmds && i < n; i++) {
		kfree(cmds[i].sqe);
		if (cmds[i].data)
			__free_pages(cmds[i].data, get_order(queue->inline_size));
	}
	kvfree(cmds);
}
