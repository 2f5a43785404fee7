// SPDX-License-Identifier: GPL-2.0
/*
 * reader.c - reads the disk bypass0 through NVMe, at the host's end of a mock bridge, into memory
 * that the other end reaches through its window (kfi_mem_alloc()), and compares.
 *
 *	echo DEVICE BYTES DEPTH COUNT > /sys/kernel/debug/kfi_nvme_bypass/read
 *
 * reads COUNT times BYTES, DEPTH at a time, up to the first error. The write then returns: success,
 * -EIO if a read has failed, -EILSEQ if one has brought other bytes, and -EUCLEAN if bytes have
 * come to a buffer after the end of its read. For that a buffer is overwritten when its read has
 * been compared, and looked at again before its next read and some time after the last one.
 */
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/completion.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <kfabric.h>
#include <kfi_domain.h>
#include <kfi_mem.h>
#include "bypass.h"

enum { READER_DEPTH = 16, READER_LATE_MS = 300, READER_REST = 0x5a };

static char *domain = "mock0.0";
module_param(domain, charp, 0);
MODULE_PARM_DESC(domain, "end of the bridge whose memory is read into (default mock0.0)");

struct reader;

/**
 * struct reader_slot - one of the reads that are under way at a time
 * @reader: the run
 * @buf: its buffer
 * @task: reads
 * @ended: @task has ended
 */
struct reader_slot {
	struct reader		*reader;
	u8			*buf;
	struct task_struct	*task;
	struct completion	ended;
};

/**
 * struct reader - a run
 * @bdev: device
 * @bytes: of a read
 * @left: reads that have not begun
 * @next: number of the next read
 * @err: first error
 */
struct reader {
	struct block_device	*bdev;
	size_t			bytes;
	atomic_t		left;
	atomic_t		next;
	atomic_t		err;
	struct reader_slot	slot[READER_DEPTH];
};

static void reader_fails(struct reader *reader, int err)
{
	if (atomic_cmpxchg(&reader->err, 0, err) == 0)
		pr_info("kfi_nvme_bypass: a read: %d\n", err);
	atomic_set(&reader->left, 0);
	/* What is written late is worse than what has failed. */
	if (err == -EUCLEAN)
		atomic_set(&reader->err, err);
}

static int reader_submit(struct reader_slot *slot, u64 pos)
{
	struct reader *reader = slot->reader;
	size_t done, pages = reader->bytes / PAGE_SIZE;
	struct bio *bio = bio_alloc(reader->bdev, pages, REQ_OP_READ, GFP_KERNEL);
	struct page *page;
	void *addr;
	int ret;

	bio->bi_iter.bi_sector = pos >> SECTOR_SHIFT;
	for (done = 0; done < reader->bytes; done += PAGE_SIZE) {
		addr = slot->buf + done;
		page = is_vmalloc_addr(addr) ? vmalloc_to_page(addr) : virt_to_page(addr);
		__bio_add_page(bio, page, PAGE_SIZE, 0);
	}
	ret = submit_bio_wait(bio);
	bio_put(bio);
	return ret;
}

static bool reader_compare(const struct reader_slot *slot, u64 pos)
{
	const u64 *word = (const u64 *)slot->buf;
	size_t i;

	for (i = 0; i < slot->reader->bytes / sizeof(u64); i++)
		if (word[i] != bypass_word(pos + i * sizeof(u64)))
			return false;
	return true;
}

static void reader_rests(struct reader_slot *slot)
{
	if (memchr_inv(slot->buf, READER_REST, slot->reader->bytes))
		reader_fails(slot->reader, -EUCLEAN);
}

static int reader_thread(void *data)
{
	struct reader_slot *slot = data;
	struct reader *reader = slot->reader;
	u64 disk = (u64)BYPASS_MIB << 20, pos;
	int ret;

	memset(slot->buf, READER_REST, reader->bytes);
	while (atomic_dec_if_positive(&reader->left) >= 0) {
		reader_rests(slot);
		/* each read a different piece, not in order */
		pos = (u64)atomic_inc_return(&reader->next) * 7 * reader->bytes % disk;
		pos = min(pos, disk - reader->bytes);
		ret = reader_submit(slot, pos);
		if (ret)
			reader_fails(reader, ret);
		else if (!reader_compare(slot, pos))
			reader_fails(reader, -EILSEQ);
		memset(slot->buf, READER_REST, reader->bytes);
	}
	msleep(READER_LATE_MS);
	reader_rests(slot);
	complete(&slot->ended);
	return 0;
}

static int reader_run(struct reader *reader, u8 *mem, unsigned int depth)
{
	struct reader_slot *slot;
	unsigned int i;

	for (i = 0; i < depth; i++) {
		slot = &reader->slot[i];
		slot->reader = reader;
		slot->buf = mem + i * reader->bytes;
		init_completion(&slot->ended);
		slot->task = kthread_run(reader_thread, slot, "bypass-%u", i);
		if (IS_ERR(slot->task)) {
			reader_fails(reader, PTR_ERR(slot->task));
			break;
		}
	}
	while (i--)
		wait_for_completion(&reader->slot[i].ended);
	return atomic_read(&reader->err);
}

/* ---- memory of the host's end ---- */

static int reader_with_mem(struct kfid_domain *dom, struct reader *reader, unsigned int depth)
{
	struct kfi_mem *mem;
	int ret = kfi_mem_alloc(dom, depth * reader->bytes, KFI_MEM_DIRECT, &mem);

	if (ret)
		return ret;
	ret = reader_run(reader, mem->addr, depth);
	WARN_ON(kfi_mem_free(mem));
	return ret;
}

static int reader_with_domain(struct kfi_info *info, struct reader *reader, unsigned int depth)
{
	struct kfid_fabric *fabric;
	struct kfid_domain *dom;
	int ret = kfi_fabric(info->fabric_attr, &fabric, NULL);

	if (ret)
		return ret;
	ret = kfi_domain(fabric, info, &dom, NULL);
	if (!ret) {
		ret = reader_with_mem(dom, reader, depth);
		WARN_ON(kfi_close(&dom->fid));
	}
	WARN_ON(kfi_close(&fabric->fid));
	return ret;
}

static int reader_at(struct reader *reader, unsigned int depth)
{
	struct kfi_info *hints = kfi_allocinfo(), *info = NULL;
	int ret = -ENOMEM;

	if (!hints)
		return ret;
	hints->ep_attr->type = KFI_EP_MSG;
	hints->fabric_attr->prov_name = kstrdup("ntb", GFP_KERNEL);
	hints->domain_attr->name = kstrdup(domain, GFP_KERNEL);
	if (hints->fabric_attr->prov_name && hints->domain_attr->name)
		ret = kfi_getinfo(KFI_VERSION(KFI_MAJOR_VERSION, KFI_MINOR_VERSION), NULL, NULL, 0,
				  hints, &info);
	if (!ret)
		ret = reader_with_domain(info, reader, depth);
	kfi_freeinfo(info);
	kfi_freeinfo(hints);
	return ret;
}

static ssize_t reader_write(struct file *file, const char __user *from, size_t len, loff_t *pos)
{
	char line[128], device[64];
	unsigned int depth, count;
	struct reader *reader;
	struct file *bdev;
	size_t bytes;
	int ret;

	if (len >= sizeof(line) || copy_from_user(line, from, len))
		return -EFAULT;
	line[len] = 0;
	if (sscanf(line, "%63s %zu %u %u", device, &bytes, &depth, &count) != 4 || !depth ||
	    depth > READER_DEPTH || !bytes || bytes % PAGE_SIZE)
		return -EINVAL;
	bdev = bdev_file_open_by_path(device, BLK_OPEN_READ, NULL, NULL);
	if (IS_ERR(bdev))
		return PTR_ERR(bdev);
	reader = kzalloc(sizeof(*reader), GFP_KERNEL);
	ret = -ENOMEM;
	if (reader) {
		reader->bdev = file_bdev(bdev);
		reader->bytes = bytes;
		atomic_set(&reader->left, count);
		ret = reader_at(reader, depth);
		kfree(reader);
	}
	bdev_fput(bdev);
	return ret ?: len;
}

static const struct file_operations reader_fops = {
	.owner	= THIS_MODULE,
	.write	= reader_write,
};

void bypass_reader_init(struct dentry *dir)
{
	debugfs_create_file("read", 0200, dir, NULL, &reader_fops);
}

/* ---- the module ---- */

static struct dentry *bypass_dir;

static int __init bypass_init(void)
{
	int ret;

	bypass_dir = debugfs_create_dir("kfi_nvme_bypass", NULL);
	ret = bypass_disk_init(bypass_dir);
	if (ret)
		debugfs_remove(bypass_dir);
	else
		bypass_reader_init(bypass_dir);
	return ret;
}

static void __exit bypass_exit(void)
{
	debugfs_remove(bypass_dir);
	bypass_disk_exit();
}

module_init(bypass_init);
module_exit(bypass_exit);

MODULE_DESCRIPTION("test of READs that bypass the memory of the target");
MODULE_LICENSE("GPL");
