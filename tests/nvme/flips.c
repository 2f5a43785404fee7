// SPDX-License-Identifier: GPL-2.0
/*
 * flips.c - kfi_nvme_flips.ko: nvme-kfi of the same source, with a network that changes bits of
 * reads and writes. tests/nvme/inside shows that every byte is right nevertheless with digests, and
 * that it is not without them.
 */
#include <linux/bitmap.h>
#include <linux/moduleparam.h>
#include <linux/spinlock.h>
#include "host.h"

/* What changes */
enum { FLIP_COMMAND = 1, FLIP_ANSWER, FLIP_WRITTEN, FLIP_READ };

/* One message of so many, so that a command which is repeated comes through. */
enum { FLIP_STRIDE = 7 };

static unsigned int what;
module_param(what, uint, 0644);
MODULE_PARM_DESC(what, "1: commands, 2: answers, 3: data that is written, 4: data that is read");

static unsigned int left;
module_param(left, uint, 0644);
MODULE_PARM_DESC(left, "number of bits to be changed");

static DEFINE_SPINLOCK(flips_lock);	/* protects @left and @flips_seen */
static unsigned int flips_seen;
/* Tags of I/O queue 1 whose data to be written is changed until the answer */
static DECLARE_BITMAP(flips_written, KFN_QUEUE_MAX);

static bool flips_now(unsigned int kind)
{
	bool now = false;

	spin_lock_bh(&flips_lock);
	if (kind == what && left && ++flips_seen % FLIP_STRIDE == 0) {
		left--;
		now = true;
	}
	spin_unlock_bh(&flips_lock);
	return now;
}

/* Only these have a block number and data of a user. */
static bool flips_may(const struct kfn_queue *queue, const struct kfn_req *req)
{
	u8 opcode = req->cmd.common.opcode;

	return queue->qid == 1 && (opcode == nvme_cmd_read || opcode == nvme_cmd_write);
}

static void flips_data(struct request *rq)
{
	struct bio_vec bv = req_bvec(rq);
	u8 *data = bvec_virt(&bv);

	data[bv.bv_len / 2] ^= 0x10;
}

static int flips_send(struct kfi_req *kreq, const void *msg, size_t len,
		      const struct bio_vec *data, unsigned int n, u64 flags)
{
	struct kfn_req *req = container_of(kreq, struct kfn_req, kreq);
	struct request *rq = blk_mq_rq_from_pdu(req);
	struct kfn_sqe sqe;

	if (!flips_may(req->queue, req))
		return kfi_req_send(kreq, msg, len, data, n, flags);
	memcpy(&sqe, msg, len);
	if (flips_now(FLIP_COMMAND)) {
		sqe.cmd.rw.slba ^= cpu_to_le64(8);
	} else if (rq_data_dir(rq) == WRITE && flips_now(FLIP_WRITTEN)) {
		set_bit(rq->tag, flips_written);
		flips_data(rq);
	}
	return kfi_req_send(kreq, &sqe, len, data, n, flags);
}

static void flips_answer(struct kfn_queue *queue, struct nvme_completion *cqe)
{
	struct request *rq;

	if (queue->qid != 1 || !test_bit_acquire(KFN_Q_TAGS, &queue->flags))
		return;
	rq = nvme_find_rq(queue->tags, cqe->command_id);
	if (!rq || !flips_may(queue, blk_mq_rq_to_pdu(rq)))
		return;
	if (test_and_clear_bit(rq->tag, flips_written) ||
	    (rq_data_dir(rq) == READ && flips_now(FLIP_READ)))
		flips_data(rq);
	else if (flips_now(FLIP_ANSWER))
		cqe->status ^= cpu_to_le16(NVME_SC_INTERNAL << 1);
}

static struct kfi_conn *flips_take(struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc,
				   void *msg, size_t len)
{
	struct kfi_conn *conn = kfi_rx_take(cqe, wc, msg, len);

	rcu_read_lock();
	if (conn)
		flips_answer(container_of(conn, struct kfn_queue, conn), msg);
	rcu_read_unlock();
	return conn;
}

#define kfi_req_send flips_send
#define kfi_rx_take flips_take

#include "../../ulps/nvme/host.c"
#include "../../ulps/nvme/ctrl.c"
#include "../../ulps/nvme/net.c"
#include "../../ulps/nvme/queue.c"
#include "../../ulps/nvme/io.c"
#include "../../ulps/nvme/hlayout.c"
