// SPDX-License-Identifier: GPL-2.0
/*
 * client_disk.c - kfi_example.ko, the disk of a server as /dev/kfiexample: init, exit, and blk-mq.
 */
#include <linux/module.h>
#include <kfi_param.h>
#include "client.h"

static char node[EX_NAME], service[EX_NAME] = EX_SERVICE;
KFI_PARAM_TEXT(node, node, 0444, "address of the server");
KFI_PARAM_TEXT(service, service, 0444, "its service (default " EX_SERVICE ")");

enum { EX_AGAIN_MS = 10 };

static struct blk_mq_tag_set ex_set;
static struct gendisk *ex_disk;
static bool ex_gone;		/* the module is being unloaded */
static bool ex_paused;		/* the queue of @ex_disk is quiesced */

struct ex_rq *ex_rq_find(unsigned int tag)
{
	struct request *rq = tag < EX_DEPTH ? blk_mq_tag_to_rq(ex_set.tags[0], tag) : NULL;

	return rq ? blk_mq_rq_to_pdu(rq) : NULL;
}

/* @err: -EAGAIN: repeat it. Softirq */
void ex_rq_done(struct request *rq, int err)
{
	if (err == -EAGAIN) {
		blk_mq_requeue_request(rq, false);
		blk_mq_delay_kick_requeue_list(rq->q, EX_AGAIN_MS);
	} else {
		blk_mq_end_request(rq, errno_to_blk_status(err));
	}
}

static blk_status_t ex_queue_rq(struct blk_mq_hw_ctx *hctx, const struct blk_mq_queue_data *bd)
{
	int ret;

	if (READ_ONCE(ex_gone))
		return BLK_STS_IOERR;
	ret = ex_send(bd->rq, !bd->last);
	return !ret ? BLK_STS_OK :
	       ret == -EAGAIN || ret == -ENOTCONN ? BLK_STS_RESOURCE : BLK_STS_IOERR;
}

static void ex_commit_rqs(struct blk_mq_hw_ctx *hctx)
{
	kfi_conn_flush(&ex_conn);
}

/* The requests are repeated over the next connection. */
static enum blk_eh_timer_return ex_timeout(struct request *rq)
{
	struct ex_rq *er = blk_mq_rq_to_pdu(rq);

	kfi_req_fail(&er->req, -ETIMEDOUT);
	return BLK_EH_RESET_TIMER;
}

static const struct blk_mq_ops ex_mq_ops = {
	.queue_rq = ex_queue_rq, .commit_rqs = ex_commit_rqs, .timeout = ex_timeout,
};

static const struct block_device_operations ex_fops = { .owner = THIS_MODULE };

static bool ex_repeat(struct request *rq, void *data)
{
	if (blk_mq_request_started(rq))
		blk_mq_requeue_request(rq, false);
	return true;
}

/*
 * The connection was stopped: take back what has no answer, and start nothing until the next one.
 */
void ex_disk_pause(void)
{
	if (!ex_disk)
		return;
	if (!ex_paused)
		blk_mq_quiesce_queue(ex_disk->queue);
	ex_paused = true;
	blk_mq_tagset_busy_iter(&ex_set, ex_repeat, NULL);
}

void ex_disk_resume(void)
{
	if (!ex_paused)
		return;
	ex_paused = false;
	blk_mq_unquiesce_queue(ex_disk->queue);
	blk_mq_kick_requeue_list(ex_disk->queue);
}

static int ex_disk_add(void)
{
	struct queue_limits lim = {
		.max_hw_sectors = EX_MAX >> SECTOR_SHIFT, .max_segments = EX_SEGS,
		.virt_boundary_mask = ex_conn.dom->limits.virt_boundary_mask,
		.features = BLK_FEAT_WRITE_CACHE,
	};
	struct gendisk *disk = blk_mq_alloc_disk(&ex_set, &lim, NULL);
	int ret;

	if (IS_ERR(disk))
		return PTR_ERR(disk);
	disk->fops = &ex_fops;
	strscpy(disk->disk_name, "kfiexample", DISK_NAME_LEN);
	set_capacity(disk, ex_sectors);
	smp_store_release(&ex_disk, disk);	/* the timeout and the recovery find it set up */
	ret = add_disk(disk);
	if (ret) {
		ex_leave();
		put_disk(disk);
	}
	return ret;
}

/* The tags exist before the connection: a server may send anything. */
static int __init ex_init(void)
{
	int ret;

	ex_set = (struct blk_mq_tag_set) {
		.ops = &ex_mq_ops, .nr_hw_queues = 1, .queue_depth = EX_DEPTH,
		.cmd_size = sizeof(struct ex_rq), .numa_node = NUMA_NO_NODE, .timeout = 30 * HZ,
	};
	ret = blk_mq_alloc_tag_set(&ex_set);
	if (ret)
		return ret;
	ret = ex_begin(node, service);
	if (ret)
		goto free_set;
	ret = ex_disk_add();
	if (!ret)
		return 0;
	ex_leave();
	ex_end();
free_set:
	blk_mq_free_tag_set(&ex_set);
	return ret;
}

/* Nobody has the disk open. If there is no connection, what is left fails. */
static void __exit ex_exit(void)
{
	WRITE_ONCE(ex_gone, true);
	ex_leave();
	ex_disk_pause();
	ex_disk_resume();
	del_gendisk(ex_disk);
	ex_end();
	put_disk(ex_disk);
	blk_mq_free_tag_set(&ex_set);
}

module_init(ex_init);
module_exit(ex_exit);
MODULE_DESCRIPTION("kfabric: example of a ULP, the disk of a server");
MODULE_LICENSE("GPL");
