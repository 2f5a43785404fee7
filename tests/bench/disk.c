// SPDX-License-Identifier: GPL-2.0
/*
 * disk.c - load on the disk /dev/bench/NAME that the guest has created, where NAME is the variant's
 * name. A program in user space would spend more on system calls than a transport on an I/O.
 *
 * A thread keeps some bios in progress and sleeps until one has ended. It starts those that have
 * ended meanwhile again in one plug, like io_submit().
 *
 * Each page of the disk has a stamp: its position, and the run that wrote it. Reads check the
 * position, and after a run of writes its last blocks are read back.
 */
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/err.h>
#include <linux/kernel_stat.h>
#include <linux/llist.h>
#include <linux/prandom.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/tick.h>
#include <linux/wait.h>
#include "bench.h"

struct disk_stamp {
	u64	page;
	u64	run;
};

struct disk_load;

/**
 * struct disk_slot - an I/O
 * @node: in &disk_load.ended
 * @page: first page of the disk that it reads or writes
 * @vec: its own pages
 */
struct disk_slot {
	struct bio		bio;
	struct llist_node	node;
	struct disk_load	*load;
	u64			page;
	struct bio_vec		*vec;
};

/**
 * struct disk_load - a load
 * @blocks: places of the disk that are used, each of the variant's size
 * @stride: pages from one of them to the next
 * @next: next place of sequential access
 * @run: number of the run, unique among all loads
 * @starts: I/Os still to be started
 * @busy: I/Os in progress
 * @cpu: nanoseconds of the last run in which the CPU was not idle
 * @ended: slots that have ended; bios add them, the thread takes them, and sleeps on @wait
 */
struct disk_load {
	const struct bench_variant	*v;
	struct file			*file;
	struct block_device		*bdev;
	struct disk_slot		*slots;
	u64				blocks;
	u64				stride;
	u64				next;
	u64				run;
	struct rnd_state		rnd;
	u32				starts;
	u32				busy;
	int				err;
	s64				cpu;
	struct llist_head		ended;
	wait_queue_head_t		wait;
};

static unsigned int disk_pages(const struct bench_variant *v)
{
	return v->size / PAGE_SIZE;
}

static bool disk_writes(const struct disk_load *load)
{
	return load->v->arg & KB_DISK_WRITE;
}

/* ---- stamps ---- */

static struct disk_stamp *disk_stamp(struct disk_slot *slot, unsigned int i)
{
	return page_address(slot->vec[i].bv_page);
}

static void disk_mark(struct disk_slot *slot)
{
	unsigned int i;

	for (i = 0; i < disk_pages(slot->load->v); i++)
		*disk_stamp(slot, i) = (struct disk_stamp) { slot->page + i, slot->load->run };
}

/* @run: 0, or the run that must have written the page. The stamp is erased afterwards. */
static void disk_check(struct disk_slot *slot, u64 run)
{
	struct disk_load *load = slot->load;
	struct disk_stamp *stamp;
	unsigned int i;

	for (i = 0; i < disk_pages(load->v); i++) {
		stamp = disk_stamp(slot, i);
		if (stamp->page != slot->page + i || (run && stamp->run != run))
			load->err = -EILSEQ;
		stamp->page = U64_MAX;
	}
}

/* ---- one I/O ---- */

static void disk_ended(struct bio *bio)
{
	struct disk_slot *slot = bio->bi_private;
	struct disk_load *load = slot->load;

	if (llist_add(&slot->node, &load->ended))
		wake_up(&load->wait);
}

static void disk_submit(struct disk_slot *slot, blk_opf_t op)
{
	struct bio *bio = &slot->bio;

	bio_init(bio, slot->load->bdev, slot->vec, disk_pages(slot->load->v), op);
	bio->bi_vcnt = disk_pages(slot->load->v);
	bio->bi_iter.bi_size = slot->load->v->size;
	bio->bi_iter.bi_sector = slot->page << (PAGE_SHIFT - SECTOR_SHIFT);
	bio->bi_end_io = disk_ended;
	bio->bi_private = slot;
	submit_bio(bio);
}

static u64 disk_place(struct disk_load *load)
{
	u64 block = load->v->arg & KB_DISK_RANDOM ? prandom_u32_state(&load->rnd) : load->next++;

	return block % load->blocks * load->stride;
}

static void disk_start(struct disk_slot *slot)
{
	slot->load->starts--;
	slot->load->busy++;
	slot->page = disk_place(slot->load);
	if (disk_writes(slot->load))
		disk_mark(slot);
	disk_submit(slot, disk_writes(slot->load) ? REQ_OP_WRITE : REQ_OP_READ);
}

static void disk_end(struct disk_slot *slot)
{
	struct disk_load *load = slot->load;

	if (slot->bio.bi_status)
		load->err = blk_status_to_errno(slot->bio.bi_status);
	else if (!disk_writes(load))
		disk_check(slot, 0);
	bio_uninit(&slot->bio);
}

/* ---- many I/Os ---- */

/* Start I/Os in the slots that have ended. */
static void disk_turn(struct disk_load *load)
{
	struct disk_slot *slot, *next;
	struct llist_node *ended;
	struct blk_plug plug;

	wait_event(load->wait, !llist_empty(&load->ended));
	ended = llist_reverse_order(llist_del_all(&load->ended));
	blk_start_plug(&plug);
	llist_for_each_entry_safe(slot, next, ended, node) {
		disk_end(slot);
		load->busy--;
		if (load->starts)
			disk_start(slot);
	}
	blk_finish_plug(&plug);
}

static void disk_move(struct disk_load *load, u32 ops)
{
	struct blk_plug plug;
	u32 i;

	load->starts = ops;
	blk_start_plug(&plug);
	for (i = 0; i < load->v->depth && load->starts; i++)
		disk_start(&load->slots[i]);
	blk_finish_plug(&plug);
	while (load->busy)
		disk_turn(load);
}

/*
 * Read back what each slot has written last. Two slots may have written one block, both in this
 * run.
 */
static void disk_read_back(struct disk_load *load)
{
	struct disk_slot *slot;
	u32 i;

	for (i = 0; i < load->v->depth; i++) {
		slot = &load->slots[i];
		disk_check(slot, 0);	/* which erases the stamp */
		disk_submit(slot, REQ_OP_READ);
		wait_event(load->wait, !llist_empty(&load->ended));
		llist_del_all(&load->ended);
		if (slot->bio.bi_status)
			load->err = blk_status_to_errno(slot->bio.bi_status);
		disk_check(slot, load->run);
		bio_uninit(&slot->bio);
	}
}

static u64 disk_new_run(void)
{
	static atomic64_t runs = ATOMIC64_INIT(0);

	return atomic64_inc_return(&runs);
}

static s64 disk_idle(void)
{
	return get_cpu_idle_time_us(raw_smp_processor_id(), NULL) * NSEC_PER_USEC;
}

s64 kb_disk_run(void *priv, u32 ops)
{
	struct disk_load *load = priv;
	s64 idle, took;
	u64 start;

	load->run = disk_new_run();
	load->err = 0;
	idle = disk_idle();
	start = bench_clock();
	disk_move(load, ops);
	took = bench_clock() - start;
	load->cpu = max(0, took - (disk_idle() - idle));
	if (!load->err && disk_writes(load))
		disk_read_back(load);
	return load->err ?: took;
}

s64 kb_disk_cpu(void *priv)
{
	return ((struct disk_load *)priv)->cpu;
}

/* ---- open and close ---- */

static void disk_free_slots(struct disk_load *load)
{
	u32 i, j;

	for (i = 0; load->slots && i < load->v->depth; i++) {
		for (j = 0; load->slots[i].vec && j < disk_pages(load->v); j++)
			if (load->slots[i].vec[j].bv_page)
				__free_page(load->slots[i].vec[j].bv_page);
		kfree(load->slots[i].vec);
	}
	kfree(load->slots);
}

static int disk_make_slot(struct disk_load *load, struct disk_slot *slot)
{
	struct page *page;
	unsigned int i;

	slot->load = load;
	slot->vec = kcalloc(disk_pages(load->v), sizeof(*slot->vec), GFP_KERNEL);
	if (!slot->vec)
		return -ENOMEM;
	for (i = 0; i < disk_pages(load->v); i++) {
		page = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!page)
			return -ENOMEM;
		bvec_set_page(&slot->vec[i], page, PAGE_SIZE, 0);
	}
	return 0;
}

static int disk_make_slots(struct disk_load *load)
{
	int ret = 0;
	u32 i;

	load->slots = kcalloc(load->v->depth, sizeof(*load->slots), GFP_KERNEL);
	if (!load->slots)
		return -ENOMEM;
	for (i = 0; i < load->v->depth && !ret; i++)
		ret = disk_make_slot(load, &load->slots[i]);
	return ret;
}

/* Write the stamp of each page, by the first slot. */
static int disk_fill(struct disk_load *load)
{
	struct disk_slot *slot = &load->slots[0];
	u64 block;

	for (block = 0; block < load->blocks && !load->err; block++) {
		slot->page = block * load->stride;
		disk_mark(slot);
		disk_submit(slot, REQ_OP_WRITE);
		wait_event(load->wait, !llist_empty(&load->ended));
		llist_del_all(&load->ended);
		if (slot->bio.bi_status)
			load->err = blk_status_to_errno(slot->bio.bi_status);
		bio_uninit(&slot->bio);
	}
	return load->err;
}

static int disk_open_file(struct disk_load *load)
{
	char path[40];
	u64 bytes;

	snprintf(path, sizeof(path), "/dev/bench/%s", load->v->name);
	load->file = bdev_file_open_by_path(path, BLK_OPEN_READ | BLK_OPEN_WRITE, NULL, NULL);
	if (IS_ERR(load->file))
		return PTR_ERR(load->file);
	load->bdev = file_bdev(load->file);
	bytes = bdev_nr_bytes(load->bdev);
	if (load->v->arg & KB_DISK_SPREAD) {
		load->blocks = KB_DISK_PLACES;
		load->stride = round_down(bytes / KB_DISK_PLACES, load->v->size) / PAGE_SIZE;
	} else {
		load->blocks = min_t(u64, bytes, KB_DISK_SPAN) / load->v->size;
		load->stride = disk_pages(load->v);
	}
	return load->blocks && load->stride ? 0 : -ENOSPC;
}

void kb_disk_close(void *priv)
{
	struct disk_load *load = priv;

	disk_free_slots(load);
	if (!IS_ERR_OR_NULL(load->file))
		bdev_fput(load->file);
	kfree(load);
}

void *kb_disk_open(struct bench_env *env, const struct bench_variant *v)
{
	struct disk_load *load = kzalloc(sizeof(*load), GFP_KERNEL);
	int ret;

	if (!load)
		return ERR_PTR(-ENOMEM);
	load->v = v;
	init_llist_head(&load->ended);
	init_waitqueue_head(&load->wait);
	prandom_seed_state(&load->rnd, 1);
	ret = disk_open_file(load) ?: disk_make_slots(load) ?: disk_fill(load);
	if (!ret)
		return load;
	kb_disk_close(load);
	return ERR_PTR(ret);
}
