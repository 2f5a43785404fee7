// SPDX-License-Identifier: GPL-2.0
/*
 * tverify.c - compares the data of READs that bypass the memory of this machine (bypass_verify=1).
 *
 *	kfnt_check_begin()	reads the data from the disk to RAM
 *				the disk writes it to the place; put (tplace.c)
 *	tcmd.c			reads the host's memory to RAM, behind the put
 *	kfnt_check_result()	compares both
 *
 * So the comparison sees what the host would see after the put: data that has not arrived is a
 * difference as wrong data is. The host has to let its memory be read (nvme-kfi's parameter
 * verify). It gets no answer before the comparison, and repeats the READ if there is a difference.
 * The disk does not write to hosts any more then.
 *
 * If the same blocks are written meanwhile, any of the data is right. So after a difference the
 * blocks are read from the disk again, and the difference counts only if the disk still has the
 * data of the first time.
 */
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include "target.h"

static bool bypass_verify;
module_param(bypass_verify, bool, 0444);
MODULE_PARM_DESC(bypass_verify, "compare all data that bypasses this machine's memory, slowly (default no)");

/* Pieces of the copies: a MiB of them is one post */
enum { KFNT_CHECK_ORDER = 4 };

static struct scatterlist *kfnt_check_alloc(u32 len, unsigned int *n)
{
	return sgl_alloc_order(len, KFNT_CHECK_ORDER, false, GFP_KERNEL | __GFP_NOWARN, n);
}

/* Read the data of the command from the disk. Process context, sleeps. */
static int kfnt_check_read(const struct kfnt_cmd *cmd, struct nvmet_ns *ns,
			   struct scatterlist *sgl, unsigned int n)
{
	struct scatterlist *sg;
	struct bio *bio;
	unsigned int i;
	int ret = 0;

	bio = bio_alloc(ns->bdev, n, REQ_OP_READ, GFP_KERNEL);
	bio->bi_iter.bi_sector = le64_to_cpu(kfnt_sqe(cmd)->rw.slba)
				 << (ns->blksize_shift - SECTOR_SHIFT);
	for_each_sg(sgl, sg, n, i)
		if (bio_add_page(bio, sg_page(sg), sg->length, sg->offset) != sg->length)
			ret = -EIO;
	ret = ret ?: submit_bio_wait(bio);
	bio_put(bio);
	return ret;
}

/**
 * kfnt_check_begin() - prepare the comparison of a READ, if that is wanted
 * @cmd: command, before its place is got
 * @check: zeroed
 * @len: bytes of its data
 *
 * Context: Process context, may sleep.
 * Return: false: no memory, or the disk has failed. @check is empty again.
 */
bool kfnt_check_begin(const struct kfnt_cmd *cmd, struct kfnt_check *check, u32 len)
{
	if (!bypass_verify)
		return true;
	/* The core releases the command's namespace before the comparison. */
	check->ns = cmd->req.ns;
	percpu_ref_get(&check->ns->ref);
	check->disk = kfnt_check_alloc(len, &check->n);
	check->host = kfnt_check_alloc(len, &check->n);
	if (check->disk && check->host && !kfnt_check_read(cmd, check->ns, check->disk, check->n))
		return true;
	kfnt_check_end(check);
	return false;
}

/**
 * kfnt_check_end() - free the memory of a comparison
 * @check: may be empty
 *
 * Context: Process context or softirq.
 */
void kfnt_check_end(struct kfnt_check *check)
{
	if (check->disk)
		sgl_free_order(check->disk, KFNT_CHECK_ORDER);
	if (check->host)
		sgl_free_order(check->host, KFNT_CHECK_ORDER);
	if (check->ns)
		percpu_ref_put(&check->ns->ref);
	*check = (struct kfnt_check){};
}

/* Both lists have pieces of the same lengths. */
static bool kfnt_check_same(const struct kfnt_check *check)
{
	struct scatterlist *a = check->disk, *b = check->host;

	for (; a; a = sg_next(a), b = sg_next(b))
		if (memcmp(sg_virt(a), sg_virt(b), a->length))
			return false;
	return true;
}

/**
 * kfnt_check_result() - compare what the disk has with what the host has
 * @cmd: command whose memory at the host was read
 * @check: its copies; that of the host may be overwritten
 * @err: 0, or the error of that
 *
 * Context: Process context, may sleep.
 * Return: NULL, or why the disk must not write to hosts any more.
 */
const char *kfnt_check_result(const struct kfnt_cmd *cmd, struct kfnt_check *check, int err)
{
	if (err)
		return "no: the host does not let its memory be read: nvme-kfi verify=1";
	if (kfnt_check_same(check) || kfnt_check_read(cmd, check->ns, check->host, check->n) ||
	    !kfnt_check_same(check))
		return NULL;
	return "no: the host had other data than the disk";
}
