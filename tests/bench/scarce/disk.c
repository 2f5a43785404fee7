// SPDX-License-Identifier: GPL-2.0
/*
 * disk.c - the server of the cases nvme-scarce: two disks, and memory that they share with the DMA
 * engine and with a neighbour. Speed and memory are models: the machine of port 1 of the first mock
 * bridge has memory of limited speed (command "ram" of tests/mock), and a disk has one, too.
 *
 *	kfi_bypass	nvmet-kfi's bypass_disks has to name it: data goes through the window
 *	kfi_through	data goes through the server's memory
 *
 * Apart from that both disks are the same. The time of a READ is that of the medium, which both
 * disks share, and then that of the memory; pieces of other READs use both meanwhile. Pages of the
 * bridge's window are written by a device of the bridge, which takes no time. Each page begins with
 * its position (struct disk_stamp of ../disk.c). Data that is written to a disk is dropped.
 */
#include <linux/blkdev.h>
#include <linux/highmem.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include "../../mock/budget.h"
#include "../../mock/command.h"
#include "scarce.h"

#define SCARCE_BRIDGE	0
#define SCARCE_PORT	1
#define SCARCE_MIB	64

static unsigned int mbs = 142;
module_param(mbs, uint, 0444);
MODULE_PARM_DESC(mbs, "MB/s of the medium of the disks; 0: no limit (default 142)");

/**
 * struct scarce_io - an I/O until its end
 * @work: all of it
 * @bio: its bio
 * @words: contents of a page
 */
struct scarce_io {
	struct work_struct	work;
	struct bio		*bio;
	u64			words[PAGE_SIZE / sizeof(u64)];
};

static struct workqueue_struct *scarce_wq;
static struct nm_budget scarce_medium;
static struct gendisk *scarce_disk[2];

/* Write a page or a part of it. Return: bytes that went to memory of the server. */
static size_t scarce_write(struct scarce_io *io, const struct bio_vec *bv, u64 pos)
{
	io->words[0] = pos >> PAGE_SHIFT;
	if (kfi_ntb_mock_device_write(bv->bv_page, bv->bv_offset, io->words, bv->bv_len))
		return 0;
	memcpy_to_page(bv->bv_page, bv->bv_offset, (char *)io->words, bv->bv_len);
	return bv->bv_len;
}

static void scarce_move(size_t len, size_t ram)
{
	nm_budget_wait(nm_budget_take(&scarce_medium, len));
	kfi_ntb_mock_ram(SCARCE_BRIDGE, SCARCE_PORT, ram);
}

static void scarce_read(struct scarce_io *io)
{
	struct bio *bio = io->bio;
	u64 pos = (u64)bio->bi_iter.bi_sector << SECTOR_SHIFT;
	size_t piece = nm_budget_piece(mbs), len = 0, ram = 0;
	struct bvec_iter iter;
	struct bio_vec bv;

	bio_for_each_segment(bv, bio, iter) {
		ram += scarce_write(io, &bv, pos);
		len += bv.bv_len;
		pos += bv.bv_len;
		if (len < piece)
			continue;
		scarce_move(len, ram);
		len = 0;
		ram = 0;
	}
	scarce_move(len, ram);
}

static void scarce_work(struct work_struct *work)
{
	struct scarce_io *io = container_of(work, struct scarce_io, work);

	if (bio_op(io->bio) == REQ_OP_READ)
		scarce_read(io);
	bio_endio(io->bio);
	kfree(io);
}

static void scarce_submit(struct bio *bio)
{
	struct scarce_io *io = kzalloc(sizeof(*io), GFP_NOIO);

	if (!io) {
		bio->bi_status = BLK_STS_RESOURCE;
		bio_endio(bio);
		return;
	}
	INIT_WORK(&io->work, scarce_work);
	io->bio = bio;
	queue_work(scarce_wq, &io->work);
}

static const struct block_device_operations scarce_ops = {
	.owner		= THIS_MODULE,
	.submit_bio	= scarce_submit,
};

/* ---- what kfi_bench uses ---- */

static void scarce_ram(size_t len)
{
	kfi_ntb_mock_ram(SCARCE_BRIDGE, SCARCE_PORT, len);
}

static u64 scarce_crossed(void)
{
	return kfi_ntb_mock_count(SCARCE_BRIDGE, SCARCE_PORT, "ram_bytes");
}

const struct bench_scarce bench_scarce = { .read = scarce_ram, .crossed = scarce_crossed };
EXPORT_SYMBOL_GPL(bench_scarce);

/* ---- the module ---- */

static void scarce_remove(struct gendisk *disk)
{
	if (!disk)
		return;
	del_gendisk(disk);
	put_disk(disk);
}

static int __init scarce_add(struct gendisk **added, const char *name)
{
	/* Segments of a bio are pages: the window's pages are not contiguous with others. */
	struct queue_limits limits = {
		.logical_block_size	= PAGE_SIZE,
		.max_hw_sectors		= 2048,
		.max_segments		= 256,
		.max_segment_size	= PAGE_SIZE,
	};
	struct gendisk *disk = blk_alloc_disk(&limits, NUMA_NO_NODE);
	int ret;

	if (IS_ERR(disk))
		return PTR_ERR(disk);
	disk->fops = &scarce_ops;
	strscpy(disk->disk_name, name);
	set_capacity(disk, SCARCE_MIB << (20 - SECTOR_SHIFT));
	ret = add_disk(disk);
	if (ret)
		put_disk(disk);
	else
		*added = disk;
	return ret;
}

static int __init scarce_init(void)
{
	int ret;

	nm_budget_init(&scarce_medium, mbs);
	scarce_wq = alloc_workqueue("kfi_bench_scarce", WQ_UNBOUND, 0);
	if (!scarce_wq)
		return -ENOMEM;
	ret = scarce_add(&scarce_disk[0], "kfi_bypass") ?: scarce_add(&scarce_disk[1], "kfi_through");
	if (!ret)
		return 0;
	scarce_remove(scarce_disk[0]);
	destroy_workqueue(scarce_wq);
	return ret;
}

static void __exit scarce_exit(void)
{
	scarce_remove(scarce_disk[1]);
	scarce_remove(scarce_disk[0]);
	destroy_workqueue(scarce_wq);
}

module_init(scarce_init);
module_exit(scarce_exit);
MODULE_DESCRIPTION("disks and memory of limited speed, for kfabric's benchmarks");
MODULE_LICENSE("GPL");
