// SPDX-License-Identifier: GPL-2.0
/*
 * disk.c - the disk bypass0, whose content is a function of the position. It stands for a disk that
 * writes by DMA: pages of the window of a mock bridge are written by the bridge's "other devices"
 * (tests/mock), all others by the CPU. Writes to the disk are dropped.
 *
 * Files in debugfs:
 *	delay_us	time of each I/O. The data is written at its end
 *	hold		1: no I/O ends
 *	fail		1: each I/O writes its data, and then fails if that went to a window; 2: in any case
 *	wrong		1: a bit of what it writes to windows is wrong
 *	window_bytes	bytes that it has written to windows
 *	ram_bytes	bytes that it has written to memory of this machine
 *	waiting		I/Os that have not ended
 *
 * Every second I/O ends with interrupts disabled, as in the interrupt handler of a driver.
 */
#include <linux/blkdev.h>
#include <linux/debugfs.h>
#include <linux/highmem.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include "../../mock/command.h"
#include "bypass.h"

/**
 * struct disk_io - an I/O until its end
 * @work: ends it
 * @bio: its bio
 * @quiet: end it with interrupts disabled
 */
struct disk_io {
	struct delayed_work	work;
	struct bio		*bio;
	bool			quiet;
};

static struct gendisk *bypass_disk;
static struct workqueue_struct *disk_wq;
static u32 disk_delay_us, disk_hold, disk_fail, disk_wrong;
static atomic_t disk_turn, disk_waiting;
static u64 disk_window_bytes, disk_ram_bytes;	/* under disk_lock */
static DEFINE_SPINLOCK(disk_lock);

/* Write a piece of at most a page. Return: true: to a window. */
static bool disk_write(struct page *page, unsigned int off, unsigned int len, u64 pos)
{
	u64 words[64], wrong = READ_ONCE(disk_wrong);
	unsigned int at, i, n;
	bool window = false;

	for (at = 0; at < len; at += n) {
		n = min_t(unsigned int, len - at, sizeof(words));
		for (i = 0; i < n / sizeof(u64); i++)
			words[i] = bypass_word(pos + at + i * sizeof(u64));
		words[0] ^= wrong;
		window = kfi_ntb_mock_device_write(page, off + at, words, n);
		words[0] ^= wrong;
		if (!window)
			memcpy_to_page(page, off + at, (char *)words, n);
	}
	spin_lock(&disk_lock);
	if (window)
		disk_window_bytes += len;
	else
		disk_ram_bytes += len;
	spin_unlock(&disk_lock);
	return window;
}

/* Return: true if data was written to a window. */
static bool disk_transfer(struct bio *bio)
{
	u64 pos = (u64)bio->bi_iter.bi_sector << SECTOR_SHIFT;
	struct bvec_iter iter;
	struct bio_vec bv;
	bool window = false;

	if (bio_op(bio) != REQ_OP_READ)
		return false;
	bio_for_each_segment(bv, bio, iter) {
		window |= disk_write(bv.bv_page, bv.bv_offset, bv.bv_len, pos);
		pos += bv.bv_len;
	}
	return window;
}

static void disk_end(struct work_struct *work)
{
	struct disk_io *io = container_of(to_delayed_work(work), struct disk_io, work);
	struct bio *bio = io->bio;
	unsigned long flags;

	if (READ_ONCE(disk_hold)) {
		queue_delayed_work(disk_wq, &io->work, 1);
		return;
	}
	if (READ_ONCE(disk_fail) > !disk_transfer(bio))
		bio->bi_status = BLK_STS_IOERR;
	if (io->quiet) {
		local_irq_save(flags);
		bio_endio(bio);
		local_irq_restore(flags);
	} else {
		bio_endio(bio);
	}
	kfree(io);
	atomic_dec(&disk_waiting);
}

static void disk_submit(struct bio *bio)
{
	struct disk_io *io = kmalloc(sizeof(*io), GFP_NOIO);

	if (!io) {
		bio->bi_status = BLK_STS_RESOURCE;
		bio_endio(bio);
		return;
	}
	INIT_DELAYED_WORK(&io->work, disk_end);
	io->bio = bio;
	io->quiet = atomic_inc_return(&disk_turn) & 1;
	atomic_inc(&disk_waiting);
	queue_delayed_work(disk_wq, &io->work, usecs_to_jiffies(READ_ONCE(disk_delay_us)));
}

static const struct block_device_operations disk_ops = {
	.owner		= THIS_MODULE,
	.submit_bio	= disk_submit,
};

int bypass_disk_init(struct dentry *dir)
{
	struct queue_limits limits = { .max_hw_sectors = 2048, .max_segments = 256 };
	int ret = -ENOMEM;

	disk_wq = alloc_workqueue("bypass", WQ_MEM_RECLAIM | WQ_PERCPU, 0);
	if (!disk_wq)
		return ret;
	bypass_disk = blk_alloc_disk(&limits, NUMA_NO_NODE);
	if (IS_ERR(bypass_disk)) {
		ret = PTR_ERR(bypass_disk);
		goto destroy;
	}
	bypass_disk->fops = &disk_ops;
	strscpy(bypass_disk->disk_name, BYPASS_DISK);
	set_capacity(bypass_disk, BYPASS_MIB << (20 - SECTOR_SHIFT));
	ret = add_disk(bypass_disk);
	if (ret)
		goto put;
	debugfs_create_u32("delay_us", 0600, dir, &disk_delay_us);
	debugfs_create_u32("hold", 0600, dir, &disk_hold);
	debugfs_create_u32("fail", 0600, dir, &disk_fail);
	debugfs_create_u32("wrong", 0600, dir, &disk_wrong);
	debugfs_create_u64("window_bytes", 0600, dir, &disk_window_bytes);
	debugfs_create_u64("ram_bytes", 0600, dir, &disk_ram_bytes);
	debugfs_create_atomic_t("waiting", 0400, dir, &disk_waiting);
	return 0;
put:
	put_disk(bypass_disk);
destroy:
	destroy_workqueue(disk_wq);
	return ret;
}

void bypass_disk_exit(void)
{
	del_gendisk(bypass_disk);
	put_disk(bypass_disk);
	destroy_workqueue(disk_wq);
}
