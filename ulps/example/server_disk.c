// SPDX-License-Identifier: GPL-2.0
/* server_disk.c - kfi_example_server.ko exports a disk: init, exit, and I/O of the disk. */
#include <linux/blkdev.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <kfi_param.h>
#include "server.h"

static char disk[256], node[EX_NAME] = "0.0.0.0", service[EX_NAME] = EX_SERVICE;
KFI_PARAM_TEXT(disk, disk, 0444, "block device that is exported");
KFI_PARAM_TEXT(node, node, 0444,
	       "address, or name of an interface, to listen at (default 0.0.0.0)");
KFI_PARAM_TEXT(service, service, 0444, "service (default " EX_SERVICE ")");

static struct file *ex_file;

u64 ex_sectors(void)
{
	return bdev_nr_sectors(file_bdev(ex_file));
}

static void ex_bio_done(struct bio *bio)
{
	struct ex_cmd *cmd = bio->bi_private;
	int status = bio->bi_status ? EX_IO : EX_OK;

	bio_put(bio);
	ex_reply(cmd, status);
}

/* Process context, may sleep: the bio comes out of a mempool. The block layer checks the range. */
void ex_execute(struct ex_cmd *cmd)
{
	static const blk_opf_t ops[] = {
		[EX_READ] = REQ_OP_READ, [EX_WRITE] = REQ_OP_WRITE,
		[EX_FLUSH] = REQ_OP_WRITE | REQ_PREFLUSH,
	};
	struct scatterlist *sg;
	struct bio *bio;
	unsigned int i;

	bio = bio_alloc(file_bdev(ex_file), cmd->nents, ops[le16_to_cpu(cmd->req.op)], GFP_NOIO);
	bio->bi_iter.bi_sector = cmd->sg ? le64_to_cpu(cmd->req.sector) : 0;
	bio->bi_private = cmd;
	bio->bi_end_io = ex_bio_done;
	for_each_sg(cmd->sg, sg, cmd->sg ? cmd->nents : 0, i)
		__bio_add_page(bio, sg_page(sg), sg->length, sg->offset);
	submit_bio(bio);
}

static int __init ex_init(void)
{
	int ret;

	if (!*disk)
		return -EINVAL;
	ex_file = bdev_file_open_by_path(disk, BLK_OPEN_READ | BLK_OPEN_WRITE, &ex_file, NULL);
	if (IS_ERR(ex_file))
		return PTR_ERR(ex_file);
	ret = ex_listen(node, service);
	if (ret)
		bdev_fput(ex_file);
	return ret;
}

static void __exit ex_exit(void)
{
	ex_unlisten();
	bdev_fput(ex_file);
}

module_init(ex_init);
module_exit(ex_exit);
MODULE_DESCRIPTION("kfabric: example of a ULP, a disk server");
MODULE_LICENSE("GPL");
