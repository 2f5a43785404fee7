// SPDX-License-Identifier: GPL-2.0
/*
 * tplace.c - READs that bypass the memory of this machine: the disk writes the data directly into
 * the host's memory, through a place (kfi_place.h).
 *
 *	host				nvmet-kfi				disk
 *	READ			--->	kfnt_place_begin(): may this disk do that?
 *				<--->	kfnt_place_get()
 *					kfnt_place_got(): execute	--->	READ into the
 *	memory			<-----------------------------------------	pages of the place
 *					kfnt_queue_response()		<---	done
 *				<---	put of the place: has a fence
 *				<---	answer, behind the put
 *					kfnt_place_end(): the handle is free again
 *
 * Every step before the execution may fail: then the command gets pages in RAM, as all others. So
 * this is an optimization, and it is off unless the administrator has named the disk: whether all
 * that a disk has written is in front of the fence is a property of the machine.
 *
 * A queue has its handles for places in a pool. A command owns a handle from kfnt_place_begin() to
 * kfnt_place_end(), which drops a place that was not put: because the disk has failed, or because
 * the queue has ended meanwhile. A disk can't be stopped, so nothing ends a place before the disk
 * has completed the command: nvmet waits for its commands before a queue, a namespace or a port is
 * released, and the provider keeps the pages after the end of the connection.
 */
#include <linux/blk-integrity.h>
#include <linux/blkdev.h>
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/pci-p2pdma.h>
#include <linux/rculist.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <kfi_param.h>
#include <kfi_place.h>
#include "target.h"

enum { KFNT_DISKS_TEXT = 1024 };	/* bytes of a list of disks */

static char bypass[KFNT_DISKS_TEXT];
KFI_PARAM_TEXT(bypass, bypass, 0444,
	       "disks, as nvme0n1,nvme1n1, that write READs into the host's memory (default none)");

static char bypass_disks[KFNT_DISKS_TEXT];
KFI_PARAM_TEXT_UNSAFE(bypass_disks, bypass_disks, 0444,
		      "disks, as dm-0,sda, that do so without a check (default none)");

/**
 * struct kfnt_disk - may a disk write to the places of a domain?
 * @entry: entry in the list of the domain, &kfi_dom.priv, which only grows
 * @all: entry in kfnt_disks
 * @seq: &gendisk.diskseq, which no other disk ever has
 * @usable: yes; false after a READ has failed
 * @writer: name, and the decision with its reason
 * @domain: name of the domain; the same life time
 */
struct kfnt_disk {
	struct list_head	entry;
	struct list_head	all;
	u64			seq;
	bool			usable;
	struct kfi_place_writer	writer;
	const char		*domain;
};

/**
 * struct kfnt_place - a handle, and its pages as the core wants them
 * @entry: entry in &kfnt_places.free
 * @fid: handle
 * @disk: disk that writes there; it has the life time of the domain
 * @check: the comparison of its data
 * @sg: its pages
 */
struct kfnt_place {
	struct list_head	entry;
	struct kfid_place	*fid;
	struct kfnt_disk	*disk;
	struct kfnt_check	check;
	struct scatterlist	sg[KFN_TX_SEGS];
};

/**
 * struct kfnt_places - handles of a queue
 * @lock: protects @free
 * @free: handles that no command has
 * @min: bytes below which a write from RAM is not slower
 * @n: number of @place
 * @place: handles
 */
struct kfnt_places {
	spinlock_t		lock;
	struct list_head	free;
	size_t			min;
	unsigned int		n;
	struct kfnt_place	place[] __counted_by(n);
};

/* Handles of a queue: more places than kfi_ntb's `grants` permits are never given */
enum { KFNT_PLACES_MAX = 64 };

/* Protects the insertion into lists of disks, and kfnt_disks */
static DEFINE_MUTEX(kfnt_disks_lock);
static LIST_HEAD(kfnt_disks);

/*
 * @reads: READs whose data has bypassed this machine's memory. The end of the connection may have
 *	made the transfer fail
 * @bytes: their bytes
 * @ram: READs of disks that may write to places, which went through RAM because there was no
 *	handle or no place, or because the buffer does not suit the disk
 * @staged: READs whose data was read into memory of a disk (kfnt_map_ram())
 * @checked: READs of @reads whose data was compared
 */
struct kfnt_place_counts {
	u64	reads;
	u64	bytes;
	u64	ram;
	u64	staged;
	u64	checked;
};

static DEFINE_PER_CPU(struct kfnt_place_counts, kfnt_counts);
static struct dentry *kfnt_debugfs;

bool kfnt_bypass(void)
{
	return *bypass || *bypass_disks;
}

/* ---- which disks ---- */

/* Is the disk's name in the list @at, whose names are separated by commas? */
static bool kfnt_disk_named(const char *at, const char *name)
{
	size_t len = strlen(name), n;

	for (; *at; at += n + (at[n] == ',')) {
		n = strcspn(at, ",");
		if (n == len && !strncmp(at, name, n))
			return true;
	}
	return false;
}

static bool kfnt_disk_is_pci(struct block_device *bdev)
{
	struct device *dev = disk_to_dev(bdev->bd_disk);

	while (dev && !dev_is_pci(dev))
		dev = dev->parent;
	return dev;
}

static bool kfnt_disk_in_reach(struct block_device *bdev, struct device *pages)
{
	return dev_is_pci(pages) &&
	       pci_p2pdma_distance(to_pci_dev(pages), disk_to_dev(bdev->bd_disk), true) >= 0;
}

/*
 * May the disk write to pages of this device? A disk that is made of others has no PCI device, so
 * nothing is known about its path to the bridge. That is so also if its driver claims to support
 * such pages, as some of md and the heads of NVMe multipath do. If a disk in bypass_disks has a PCI
 * device, the name replaces what its driver claims, but not the path.
 *
 * A disk whose data must not change while it is written has a CPU that reads this data, to compute
 * parity or checksums, as RAID 5, dm-integrity and T10-PI do. A CPU must not access the pages of a
 * place, so a name does not help. dm-crypt is not recognized.
 */
static bool kfnt_disk_check(struct block_device *bdev, struct device *pages, const char **reason)
{
	const char *name = bdev->bd_disk->disk_name;
	bool unchecked = kfnt_disk_named(bypass_disks, name);

	if (bdev_stable_writes(bdev))
		*reason = "no: a CPU computes or checks its data";
	else if (!unchecked && !kfnt_disk_named(bypass, name))
		*reason = "no: the parameter bypass does not name it";
	else if (unchecked && !(pages && IS_ENABLED(CONFIG_PCI_P2PDMA) && kfnt_disk_is_pci(bdev)))
		*reason = "yes: bypass_disks";
	else if (!pages)
		*reason = "yes: the places are memory of this machine";
	else if (!unchecked && !blk_queue_pci_p2pdma(bdev_get_queue(bdev)))
		*reason = "no: its driver does not support memory of other devices";
	else if (!kfnt_disk_in_reach(bdev, pages))
		*reason = "no: no known path from it to the bridge";
	else
		*reason = "yes: it reaches the bridge";
	return **reason == 'y';
}

static struct kfnt_disk *kfnt_disk_find(struct kfi_dom *dom, u64 seq)
{
	struct list_head *disks = READ_ONCE(dom->priv);
	struct kfnt_disk *disk;

	if (!disks)
		return NULL;
	list_for_each_entry_rcu(disk, disks, entry, lockdep_is_held(&kfnt_disks_lock))
		if (disk->seq == seq)
			return disk;
	return NULL;
}

/* The domain has no user any more. */
static void kfnt_disks_free(struct kfi_dom *dom)
{
	struct list_head *disks = dom->priv;
	struct kfnt_disk *disk, *next;

	mutex_lock(&kfnt_disks_lock);
	list_for_each_entry_safe(disk, next, disks, entry) {
		list_del(&disk->all);
		kfi_place_writer_del(dom->domain, &disk->writer);
		kfree(disk);
	}
	mutex_unlock(&kfnt_disks_lock);
	kfree(disks);
}

static bool kfnt_disks_begin(struct kfi_dom *dom)
{
	struct list_head *disks = kzalloc(sizeof(*disks), GFP_KERNEL);

	if (!disks)
		return false;
	INIT_LIST_HEAD(disks);
	dom->closing = kfnt_disks_free;
	smp_store_release(&dom->priv, disks);	/* pairs with kfnt_disk_find() */
	return true;
}

static void kfnt_disk_add(struct kfi_dom *dom, struct block_device *bdev)
{
	struct kfi_domain_limits limits;
	struct kfnt_disk *disk;

	lockdep_assert_held(&kfnt_disks_lock);
	if (kfi_domain_limits(dom->domain, &limits))
		return;		/* the device has gone */
	if (!dom->priv && !kfnt_disks_begin(dom))
		return;
	disk = kzalloc(sizeof(*disk), GFP_KERNEL);
	if (!disk)
		return;
	disk->seq = bdev->bd_disk->diskseq;
	disk->domain = dom->name;
	strscpy(disk->writer.name, bdev->bd_disk->disk_name, sizeof(disk->writer.name));
	disk->usable = kfnt_disk_check(bdev, limits.place_device, &disk->writer.verdict);
	pr_info("nvmet-kfi: does %s write directly to the memory of hosts over %s? %s\n",
		disk->writer.name, dom->name, disk->writer.verdict);
	kfi_place_writer_add(dom->domain, &disk->writer);
	list_add_tail_rcu(&disk->entry, dom->priv);
	list_add_tail(&disk->all, &kfnt_disks);
}

/*
 * The first READ of a disk over a domain searches for the path between both, and may sleep. Return:
 * the disk, if it may write to places of the domain, or NULL.
 */
static struct kfnt_disk *kfnt_disk_usable(struct kfi_dom *dom, struct block_device *bdev)
{
	u64 seq = bdev->bd_disk->diskseq;
	struct kfnt_disk *disk;

	rcu_read_lock();
	disk = kfnt_disk_find(dom, seq);
	rcu_read_unlock();
	if (!disk) {
		mutex_lock(&kfnt_disks_lock);
		if (!kfnt_disk_find(dom, seq))
			kfnt_disk_add(dom, bdev);
		disk = kfnt_disk_find(dom, seq);
		mutex_unlock(&kfnt_disks_lock);
	}
	return disk && READ_ONCE(disk->usable) ? disk : NULL;
}

/* The disk may be at fault, or its path to the bridge: READs through RAM will show that. */
static void kfnt_disk_stop(struct kfnt_disk *disk, const char *verdict)
{
	if (!READ_ONCE(disk->usable))
		return;
	WRITE_ONCE(disk->writer.verdict, verdict);
	WRITE_ONCE(disk->usable, false);
	pr_warn("nvmet-kfi: does %s write directly to the memory of hosts over %s? %s\n",
		disk->writer.name, disk->domain, verdict);
}

/* ---- handles of a queue ---- */

void kfnt_places_close(struct kfnt_queue *queue)
{
	struct kfnt_places *places = queue->places;
	unsigned int i;

	for (i = 0; places && i < places->n && places->place[i].fid; i++)
		WARN_ON(kfi_close(&places->place[i].fid->fid));
	kvfree(places);
	queue->places = NULL;
}

/**
 * kfnt_places_open() - open handles for the commands of a queue
 * @queue: queue whose host has connected to a controller. Without memory, or if its domain has no
 *	places, all its READs go through RAM
 *
 * Context: Execution of the connect command, process context.
 */
void kfnt_places_open(struct kfnt_queue *queue)
{
	struct kfi_domain_limits limits;
	struct kfnt_places *places;
	unsigned int i, n;

	if (!queue->qid || !queue->has_places || queue->places ||
	    kfi_domain_limits(queue->conn.dom->domain, &limits))
		return;
	n = min_t(unsigned int, queue->depth, KFNT_PLACES_MAX);
	places = kvzalloc(struct_size(places, place, n), GFP_KERNEL);
	if (!places)
		return;
	places->n = n;
	spin_lock_init(&places->lock);
	INIT_LIST_HEAD(&places->free);
	places->min = limits.place_min;
	for (i = 0; i < places->n; i++) {
		if (kfi_place_open(queue->conn.dom->domain, KFN_TX_SEGS, &places->place[i].fid,
				   queue))
			break;
		list_add_tail(&places->place[i].entry, &places->free);
	}
	smp_store_release(&queue->places, places);	/* pairs with kfnt_map() */
}

static struct kfnt_place *kfnt_place_take(struct kfnt_places *places)
{
	struct kfnt_place *place;

	spin_lock_bh(&places->lock);
	place = list_first_entry_or_null(&places->free, struct kfnt_place, entry);
	if (place)
		list_del(&place->entry);
	spin_unlock_bh(&places->lock);
	return place;
}

/**
 * kfnt_place_end() - end the place of a command, if it has one that was not put
 * @cmd: command with a handle. The disk does not write any more
 *
 * Context: Process context or softirq.
 */
void kfnt_place_end(struct kfnt_cmd *cmd)
{
	struct kfnt_places *places = kfnt_queue(cmd)->places;
	struct kfnt_place *place = cmd->place;

	kfi_place_drop(place->fid);	/* after a put, or without a place, an error */
	kfnt_check_end(&place->check);
	cmd->place = NULL;
	cmd->rw.place = NULL;
	cmd->req.sg = NULL;
	spin_lock_bh(&places->lock);
	list_add(&place->entry, &places->free);
	spin_unlock_bh(&places->lock);
}

/**
 * kfnt_place_failed() - end the place of a command that the disk has completed with an error
 * @cmd: command with a place. This is before its answer is posted, and so before the host, which
 *	repeats an error that is not permanent, can use its memory again
 *
 * Context: Process context or softirq.
 */
void kfnt_place_failed(struct kfnt_cmd *cmd)
{
	const __le16 dnr = cpu_to_le16(NVME_STATUS_DNR << 1);

	/* Without DNR the core knows another reason, such as a block that the disk can't read. */
	if (cmd->cqe.status & dnr) {
		kfnt_disk_stop(cmd->place->disk, "no: a READ has failed");
		cmd->cqe.status &= ~dnr;
	}
	kfnt_place_end(cmd);
}

/* ---- path of a READ ---- */

/* READs that the core or any disk refuses must not look as if a disk had failed. */
static bool kfnt_read_valid(struct kfnt_cmd *cmd, u32 len)
{
	const struct nvmet_ns *ns = cmd->req.ns;
	u64 at = le64_to_cpu(kfnt_sqe(cmd)->rw.slba), end = ns->size >> ns->blksize_shift;

	return len == nvmet_rw_data_len(&cmd->req) && at < end &&
	       len >> ns->blksize_shift <= end - at;
}

/**
 * kfnt_place_begin() - decide whether the data of a command bypasses this machine's memory
 * @cmd: command of a queue with places, which the core has accepted
 * @len: bytes of its data
 *
 * Context: Process context, may sleep.
 * Return: true: @cmd has a handle, and kfnt_place_get() comes next.
 */
bool kfnt_place_begin(struct kfnt_cmd *cmd, u32 len)
{
	struct kfnt_places *places = kfnt_queue(cmd)->places;
	struct nvmet_ns *ns = cmd->req.ns;
	struct kfnt_disk *disk;

	if (kfnt_sqe(cmd)->common.opcode != nvme_cmd_read || !ns || !ns->bdev ||
	    len < places->min || !kfnt_read_valid(cmd, len))
		return false;
	/* The CPU checks protection information. A disk may get some at any time. */
	if (bdev_get_integrity(ns->bdev))
		return false;
	disk = kfnt_disk_usable(cmd->rx.conn->dom, ns->bdev);
	if (!disk)
		return false;
	cmd->place = kfnt_place_take(places);
	if (!cmd->place) {
		this_cpu_inc(kfnt_counts.ram);
		return false;
	}
	cmd->place->disk = disk;
	cmd->place->fid->writer = &disk->writer;
	if (kfnt_check_begin(cmd, &cmd->place->check, len))
		return true;
	kfnt_place_end(cmd);
	return false;
}

/* Execute the command with pages in RAM, unless its answer can't be sent. */
static void kfnt_place_none(struct kfnt_cmd *cmd)
{
	u16 status = NVME_SC_INTERNAL;

	kfnt_place_end(cmd);
	if (kfi_conn_enter(cmd->rx.conn)) {
		kfi_conn_exit(cmd->rx.conn);
		this_cpu_inc(kfnt_counts.ram);
		status = kfnt_map_ram(cmd, cmd->req.transfer_len);
	}
	if (status)
		nvmet_req_complete(&cmd->req, status);
	else
		cmd->req.execute(&cmd->req);
}

/*
 * The disk has a granularity, and so have its transfers. Buffers of hosts usually consist of pages,
 * but nothing makes a host use such buffers.
 */
static bool kfnt_place_fits(struct kfnt_cmd *cmd)
{
	const struct kfid_place *fid = cmd->place->fid;
	struct block_device *bdev = cmd->req.ns->bdev;
	unsigned int alignment = 0, lens = 0;
	size_t i;

	for (i = 0; i < fid->count; i++) {
		alignment |= fid->bvec[i].bv_offset | fid->bvec[i].bv_len;
		lens |= fid->bvec[i].bv_len;
	}
	return !(alignment & bdev_dma_alignment(bdev)) &&
	       !(lens & (bdev_logical_block_size(bdev) - 1));
}

static void kfnt_place_map(struct kfnt_cmd *cmd)
{
	const struct kfid_place *fid = cmd->place->fid;
	struct scatterlist *sg = cmd->place->sg;
	size_t i;

	sg_init_table(sg, fid->count);
	for (i = 0; i < fid->count; i++)
		sg_set_page(&sg[i], fid->bvec[i].bv_page, fid->bvec[i].bv_len,
			    fid->bvec[i].bv_offset);
	cmd->req.sg = sg;
	cmd->req.sg_cnt = fid->count;
}

static void kfnt_place_got(struct kfid_cq *cq, struct kfi_cqe *cqe,
			   const struct kfi_cq_err_entry *wc)
{
	struct kfnt_cmd *cmd = container_of(cqe, struct kfnt_cmd, got);

	if (wc->err || !kfnt_place_fits(cmd)) {
		kfnt_place_none(cmd);
		return;
	}
	kfnt_place_map(cmd);
	cmd->req.execute(&cmd->req);
}

/**
 * kfnt_place_get() - get the place, then execute the command: without a place with pages in RAM
 * @cmd: command with a handle
 *
 * Context: Process context.
 */
void kfnt_place_get(struct kfnt_cmd *cmd)
{
	struct kfi_rma_iov from = {
		.addr = cmd->rw.addr, .len = cmd->req.transfer_len, .key = cmd->rw.key,
	};
	ssize_t ret = -ESHUTDOWN;

	cmd->got.done = kfnt_place_got;
	if (kfi_conn_enter(cmd->rx.conn)) {
		ret = kfi_place_get(cmd->rx.conn->ep, cmd->place->fid, KFI_ADDR_UNSPEC, &from,
				    KFI_CQE, &cmd->got);
		kfi_conn_exit(cmd->rx.conn);
	}
	if (ret)
		kfnt_place_none(cmd);
}

/* Return where to read the host's memory to, to be compared; or NULL. Any context. */
struct scatterlist *kfnt_place_host(const struct kfnt_cmd *cmd)
{
	return cmd->place->check.host;
}

/**
 * kfnt_place_put() - let the transfer of a command put its place
 * @cmd: command with a place, which the disk has completed
 *
 * Context: Any.
 * Return: true if the data has to be compared after that.
 */
bool kfnt_place_put(struct kfnt_cmd *cmd)
{
	cmd->rw.place = cmd->place->fid;
	this_cpu_inc(kfnt_counts.reads);
	this_cpu_add(kfnt_counts.bytes, cmd->req.transfer_len);
	return kfnt_place_host(cmd);
}

/**
 * kfnt_place_check() - compare what the host has with what the disk has
 * @cmd: command whose memory at the host was read. If the host may have other data, the command
 *	fails, and the host repeats it
 * @err: 0, or -EACCES if the host does not let it be read
 *
 * Context: Process context, may sleep.
 */
void kfnt_place_check(struct kfnt_cmd *cmd, int err)
{
	const char *verdict;

	this_cpu_inc(kfnt_counts.checked);
	verdict = kfnt_check_result(cmd, &cmd->place->check, err);
	if (!verdict)
		return;
	kfnt_disk_stop(cmd->place->disk, verdict);
	cmd->cqe.status = cpu_to_le16(NVME_SC_DATA_XFER_ERROR << 1);
}

/* ---- what can be seen ---- */

/* @cmd has memory for its data. */
void kfnt_count_staged(const struct kfnt_cmd *cmd)
{
	if (cmd->req.p2p_dev)
		this_cpu_inc(kfnt_counts.staged);
}

static int kfnt_bypass_show(struct seq_file *seq, void *unused)
{
	struct kfnt_place_counts sum = {};
	struct kfnt_disk *disk;
	int cpu;

	for_each_possible_cpu(cpu) {
		sum.reads += per_cpu(kfnt_counts.reads, cpu);
		sum.bytes += per_cpu(kfnt_counts.bytes, cpu);
		sum.ram += per_cpu(kfnt_counts.ram, cpu);
		sum.staged += per_cpu(kfnt_counts.staged, cpu);
		sum.checked += per_cpu(kfnt_counts.checked, cpu);
	}
	seq_printf(seq, "reads %llu\nbytes %llu\nram %llu\nstaged %llu\nchecked %llu\n",
		   sum.reads, sum.bytes, sum.ram, sum.staged, sum.checked);
	mutex_lock(&kfnt_disks_lock);
	list_for_each_entry(disk, &kfnt_disks, all)
		seq_printf(seq, "%s over %s: %s\n", disk->writer.name, disk->domain,
			   READ_ONCE(disk->writer.verdict));
	mutex_unlock(&kfnt_disks_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(kfnt_bypass);

void kfnt_places_init(void)
{
	if (kfnt_bypass())
		pr_info("nvmet-kfi: bypass: that data arrives before the answer is not proven on hardware\n");
	kfnt_debugfs = debugfs_create_dir("nvmet_kfi", NULL);
	debugfs_create_file("places", 0400, kfnt_debugfs, NULL, &kfnt_bypass_fops);
}

void kfnt_places_exit(void)
{
	debugfs_remove(kfnt_debugfs);
}
