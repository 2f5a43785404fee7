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
#include "target.h"

/* ---- where data is ---- */

/* Let the core use the command's own memory, beginning at @offset. */
static void kfnt_map_own(struct kfnt_cmd *cmd, u64 offset, u32 len)
{
	sg_init_table(&cmd->own_sg, 1);
	sg_set_page(&cmd->own_sg, cmd->rx.more + (offset >> PAGE_SHIFT), len,
		    offset_in_page(offset));
	cmd->req.sg = &cmd->own_sg;
	cmd->req.sg_cnt = 1;
	cmd->req.transfer_len = len;
}

/* The limit is the number of bytes received, not the size of a capsule. */
static u16 kfnt_map_capsule(struct kfnt_cmd *cmd)
{
	const struct nvme_sgl_desc *sgl = &kfnt_sqe(cmd)->common.dptr.sgl;
	u64 offset = le64_to_cpu(sgl->addr);
	u32 len = le32_to_cpu(sgl->length);

	if (!nvme_is_write(kfnt_sqe(cmd))) {
		cmd->req.error_loc = offsetof(struct nvme_common_command, opcode);
		return NVME_SC_INVALID_FIELD | NVME_STATUS_DNR;
	}
	if (offset > cmd->capsule || len > cmd->capsule - offset)
		return NVME_SC_SGL_INVALID_OFFSET | NVME_STATUS_DNR;
	if (len)
		kfnt_map_own(cmd, offset, len);
	return 0;
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
 * data of earlier commands of the same host.
 *
 * The data of a READ may be in memory of a disk, from which the network's device reads it. The
 * administrator decides by the attribute p2pmem of the namespace, and the core looks for such
 * memory within reach of both. The data of a WRITE may be copied by a CPU, which must not write
 * there; digests would be read from there.
 *
 * Process context, may sleep. Return: 0, or a status
 */
u16 kfnt_map_ram(struct kfnt_cmd *cmd, u32 len)
{
	const struct kfi_domain_limits *limits = &cmd->rx.conn->dom->limits;
	bool stage = limits->p2p_device && len > limits->short_msg_limit &&
		     !kfnt_queue(cmd)->digests && !nvme_is_write(kfnt_sqe(cmd)) && cmd->req.ns &&
		     cmd->req.ns->use_p2pmem;

	if (len <= kfnt_queue(cmd)->inline_size && !stage) {
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

/*
 * Data in the host's region. Before NVMe's connect no other command is permitted, so more memory
 * is not allocated.
 */
static u16 kfnt_map(struct kfnt_cmd *cmd)
{
	const struct nvme_keyed_sgl_desc *sgl = &kfnt_sqe(cmd)->common.dptr.ksgl;
	const struct kfnt_queue *queue = kfnt_queue(cmd);
	u32 len = get_unaligned_le24(sgl->length);
	u16 status = 0;

	switch (sgl->type) {
	case NVME_SGL_FMT_DATA_DESC << 4 | NVME_SGL_FMT_OFFSET:
		return kfnt_map_capsule(cmd);
	case NVME_KEY_SGL_FMT_DATA_DESC << 4 | NVME_SGL_FMT_ADDRESS:
	case NVME_KEY_SGL_FMT_DATA_DESC << 4 | NVME_SGL_FMT_INVALIDATE:
		break;
	default:
		cmd->req.error_loc = offsetof(struct nvme_common_command, dptr);
		return NVME_SC_SGL_INVALID_TYPE | NVME_STATUS_DNR;
	}
	if (!len)
		return 0;
	if (len > (test_bit(KFNT_Q_INSTALLED, &queue->flags) ? KFN_DATA_MAX :
							      sizeof(struct nvmf_connect_data)))
		return NVME_SC_SGL_INVALID_DATA | NVME_STATUS_DNR;
	/* pairs with kfnt_places_open() */
	if (unlikely(smp_load_acquire(&queue->places)) && kfnt_place_begin(cmd, len))
		cmd->req.transfer_len = len;
	else
		status = kfnt_map_ram(cmd, len);
	if (status)
		return status;
	cmd->fetch = nvme_is_write(kfnt_sqe(cmd));
	cmd->rw.addr = le64_to_cpu(sgl->addr);
	cmd->rw.key = get_unaligned_le32(sgl->key);
	cmd->inv = sgl->type == (NVME_KEY_SGL_FMT_DATA_DESC << 4 | NVME_SGL_FMT_INVALIDATE);
	return 0;
}

/* ---- digests ---- */

static bool kfnt_head_intact(const struct kfnt_cmd *cmd)
{
	return cmd->rx.len >= sizeof(struct kfn_sqe) &&
	       kfn_sealed(cmd->rx.head, sizeof(struct nvme_command), kfnt_queue(cmd)->digests);
}

static __le32 kfnt_data_digest(const struct kfnt_cmd *cmd)
{
	u32 part, left = cmd->req.transfer_len, crc = ~0U;
	struct scatterlist *sg = cmd->req.sg;

	for (; left; left -= part, sg = sg_next(sg)) {
		part = min(sg->length, left);
		crc = crc32c(crc, sg_virt(sg), part);
	}
	return cpu_to_le32(~crc);
}

/* Is the data of a write, if there is any, what the host has sent? */
static bool kfnt_data_intact(const struct kfnt_cmd *cmd)
{
	const struct kfn_sqe *sqe = cmd->rx.head;

	return !(kfnt_queue(cmd)->digests & KFN_DIGEST_DATA) || !nvme_is_write(&sqe->cmd) ||
	       !cmd->req.transfer_len || sqe->digest.data == kfnt_data_digest(cmd);
}

/* ---- execution ---- */

/* The data of a write is here. */
static void kfnt_execute(struct kfnt_cmd *cmd)
{
	if (likely(!kfnt_queue(cmd)->digests) || kfnt_data_intact(cmd)) {
		cmd->req.execute(&cmd->req);
		return;
	}
	pr_warn_ratelimited("nvmet-kfi: queue %u: a wrong data digest\n", kfnt_queue(cmd)->qid);
	nvmet_req_complete(&cmd->req, NVME_SC_DATA_XFER_ERROR);
}

static void kfnt_fetched(struct kfi_rw *rw, int err)
{
	struct kfnt_cmd *cmd = container_of(rw, struct kfnt_cmd, rw);

	if (err)
		nvmet_req_complete(&cmd->req, NVME_SC_DATA_XFER_ERROR);
	else
		kfnt_execute(cmd);
}

void kfnt_received(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	struct kfi_rxbuf *rx = kfi_rx_got(cqe, wc, sizeof(struct nvme_command));
	struct kfnt_cmd *cmd = container_of(rx, struct kfnt_cmd, rx);
	struct kfnt_queue *queue;
	bool installed;
	u16 status;

	if (!rx)
		return;
	queue = kfnt_queue(cmd);
	if (unlikely(queue->digests) && !kfnt_head_intact(cmd)) {
		kfi_conn_fail(rx->conn, -EBADMSG);
		return;
	}
	installed = test_bit(KFNT_Q_INSTALLED, &queue->flags);
	if (unlikely(!installed) && !kfnt_may_connect(queue, &kfnt_sqe(cmd)->connect)) {
		kfi_conn_fail(rx->conn, -EPROTO);
		return;
	}
	cmd->req.cmd = kfnt_sqe(cmd);
	cmd->req.cqe = &cmd->cqe;
	cmd->req.port = queue->port->nport;
	cmd->req.p2p_client = rx->conn->dom->limits.p2p_device;
	memset(&cmd->cqe, 0, sizeof(cmd->cqe));
	kfi_rw_begin(&cmd->rw, rx->conn);
	cmd->capsule = rx->len - rx->conn->attr.rx_len;
	cmd->inv = false;
	cmd->fetch = false;
	if (!nvmet_req_init(&cmd->req, &queue->sq, &kfnt_ops))
		return;	/* answered */
	status = kfnt_map(cmd);
	if (status) {
		nvmet_req_complete(&cmd->req, status);
		return;
	}
	if (unlikely(!installed))	/* so it is a connect */
		set_bit(KFNT_Q_CONNECT_CAME, &queue->flags);
	if (cmd->place) {
		kfnt_place_get(cmd);
	} else if (cmd->fetch) {
		cmd->rw.done = kfnt_fetched;
		kfi_rw_read(&cmd->rw, cmd->req.sg, cmd->req.transfer_len);
	} else {
		kfnt_execute(cmd);
	}
}

/* ---- answers ---- */

/* The answer was posted, and the data has left its memory: receive another command. */
static void kfnt_answered(struct kfi_rw *rw, int err)
{
	struct kfnt_cmd *cmd = container_of(rw, struct kfnt_cmd, rw);

	if (cmd->place)
		kfnt_place_end(cmd);
	else if (cmd->req.sg && cmd->req.sg != &cmd->own_sg)
		nvmet_req_free_sgls(&cmd->req);
	cmd->req.sg = NULL;
	kfi_rx_done(&cmd->rx);
}

static void kfnt_answer(struct kfnt_cmd *cmd, bool data)
{
	cmd->rw.done = kfnt_answered;
	kfi_rw_reply(&cmd->rw, cmd->req.sg, data ? cmd->req.transfer_len : 0, &cmd->answer,
		     kfnt_queue(cmd)->digests ? sizeof(cmd->answer) : sizeof(cmd->cqe), cmd->inv);
}

/* Does the answer have data before it? */
static bool kfnt_has_data(const struct kfnt_cmd *cmd)
{
	return !nvme_is_write(cmd->req.cmd) && !cmd->cqe.status && cmd->req.sg;
}

static void kfnt_seal(struct kfi_rw *rw, int err)
{
	struct kfnt_cmd *cmd = container_of(rw, struct kfnt_cmd, rw);
	u8 digests = kfnt_queue(cmd)->digests;
	bool data = kfnt_has_data(cmd);

	kfn_seal(&cmd->cqe, sizeof(cmd->cqe), digests,
		 data && digests & KFN_DIGEST_DATA ? kfnt_data_digest(cmd) : 0);
	kfnt_answer(cmd, data);
}

/* The data is compared: tverify.c. */
static void kfnt_checked(struct kfi_rw *rw, int err)
{
	struct kfnt_cmd *cmd = container_of(rw, struct kfnt_cmd, rw);

	if (err && err != -EACCES) {
		kfnt_answered(rw, err);	/* the connection has ended */
		return;
	}
	kfnt_place_check(cmd, err);
	kfnt_answer(cmd, false);
}

static void kfnt_put_done(struct kfi_rw *rw, int err)
{
	struct kfnt_cmd *cmd = container_of(rw, struct kfnt_cmd, rw);

	if (err) {
		kfnt_answered(rw, err);
		return;
	}
	rw->place = NULL;
	rw->done = kfnt_checked;
	kfi_rw_read(rw, kfnt_place_host(cmd), cmd->req.transfer_len);
}

static void kfnt_undo_place(struct kfi_rw *rw, int err)
{
	struct kfnt_cmd *cmd = container_of(rw, struct kfnt_cmd, rw);

	kfnt_place_failed(cmd);
	kfnt_answer(cmd, false);
}

/*
 * Disks may complete in hard interrupts, where only transfers may begin: so what else is to do is
 * done after one, which is empty if need be. A command with a place has no digests.
 */
void kfnt_queue_response(struct nvmet_req *req)
{
	struct kfnt_cmd *cmd = to_kfnt_cmd(req);
	bool data = kfnt_has_data(cmd);

	if (unlikely(kfnt_queue(cmd)->digests)) {
		cmd->rw.done = kfnt_seal;
		kfi_rw_reply(&cmd->rw, NULL, 0, NULL, 0, false);
	} else if (cmd->place && !data) {
		cmd->rw.done = kfnt_undo_place;
		kfi_rw_reply(&cmd->rw, NULL, 0, NULL, 0, false);
	} else if (cmd->place && kfnt_place_put(cmd)) {
		cmd->rw.done = kfnt_put_done;
		kfi_rw_reply(&cmd->rw, NULL, req->transfer_len, NULL, 0, false);
	} else {
		kfnt_answer(cmd, data);
	}
}
