// SPDX-License-Identifier: GPL-2.0
/*
 * cache.c - a disk with a volatile cache: writes are as fast as on the device below, but a flush
 * takes its time, and so does a write with FUA, which this disk does by a flush.
 *
 *   dmsetup create NAME --table "0 SECTORS bench_cache DEVICE MICROSECONDS"
 *
 * One flush runs at a time. Those that arrive meanwhile are all served by the next one, as the
 * block layer does it for a disk.
 */
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/delay.h>
#include <linux/device-mapper.h>
#include <linux/kstrtox.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#define CACHE_USEC_MAX	1000000

/**
 * struct cache - a disk
 * @dev: device below
 * @usec: microseconds of a flush
 * @lock: protects @waiting; taken with interrupts off, since a bio may come from any context
 * @waiting: bios that need a flush
 * @wq: executes @work, which may sleep
 * @work: flushes until nothing waits
 */
struct cache {
	struct dm_dev		*dev;
	unsigned int		usec;
	spinlock_t		lock;
	struct bio_list		waiting;
	struct workqueue_struct	*wq;
	struct work_struct	work;
};

static void cache_flush(struct work_struct *work)
{
	struct cache *c = container_of(work, struct cache, work);
	struct bio_list served;
	struct bio *bio;

	for (;;) {
		spin_lock_irq(&c->lock);
		served = c->waiting;
		bio_list_init(&c->waiting);
		spin_unlock_irq(&c->lock);
		if (bio_list_empty(&served))
			return;
		usleep_range(c->usec, c->usec + c->usec / 100);
		while ((bio = bio_list_pop(&served))) {
			bio->bi_opf &= ~(REQ_PREFLUSH | REQ_FUA);
			if (bio->bi_iter.bi_size)
				submit_bio_noacct(bio);
			else
				bio_endio(bio);
		}
	}
}

static int cache_map(struct dm_target *ti, struct bio *bio)
{
	struct cache *c = ti->private;
	unsigned long flags;

	bio_set_dev(bio, c->dev->bdev);
	if (!(bio->bi_opf & (REQ_PREFLUSH | REQ_FUA)))
		return DM_MAPIO_REMAPPED;
	spin_lock_irqsave(&c->lock, flags);
	bio_list_add(&c->waiting, bio);
	spin_unlock_irqrestore(&c->lock, flags);
	queue_work(c->wq, &c->work);
	return DM_MAPIO_SUBMITTED;
}

static int cache_devices(struct dm_target *ti, iterate_devices_callout_fn fn, void *data)
{
	struct cache *c = ti->private;

	return fn(ti, c->dev, 0, ti->len, data);
}

/* Device-mapper has waited for all bios. */
static void cache_dtr(struct dm_target *ti)
{
	struct cache *c = ti->private;

	destroy_workqueue(c->wq);
	dm_put_device(ti, c->dev);
	kfree(c);
}

static int cache_ctr(struct dm_target *ti, unsigned int argc, char **argv)
{
	struct cache *c;
	int ret = -EINVAL;

	if (argc != 2 || ti->begin) {
		ti->error = "DEVICE and MICROSECONDS are needed, for the whole disk";
		return ret;
	}
	c = kzalloc(sizeof(*c), GFP_KERNEL);
	if (!c)
		return -ENOMEM;
	spin_lock_init(&c->lock);
	INIT_WORK(&c->work, cache_flush);
	if (kstrtouint(argv[1], 10, &c->usec) || c->usec > CACHE_USEC_MAX) {
		ti->error = "not a number of microseconds";
		goto free;
	}
	ret = dm_get_device(ti, argv[0], dm_table_get_mode(ti->table), &c->dev);
	if (ret) {
		ti->error = "no such device";
		goto free;
	}
	ret = -ENOMEM;
	c->wq = alloc_ordered_workqueue("bench_cache", WQ_MEM_RECLAIM | WQ_HIGHPRI);
	if (!c->wq)
		goto put;
	ti->private = c;
	ti->num_flush_bios = 1;
	ti->flush_supported = true;	/* whatever the device below has */
	return 0;

put:
	dm_put_device(ti, c->dev);
free:
	kfree(c);
	return ret;
}

static struct target_type cache_target = {
	.name			= "bench_cache",
	.version		= { 1, 0, 0 },
	.module			= THIS_MODULE,
	.ctr			= cache_ctr,
	.dtr			= cache_dtr,
	.map			= cache_map,
	.iterate_devices	= cache_devices,
};
module_dm(cache);

MODULE_DESCRIPTION("A disk with a volatile cache, for benchmarks");
MODULE_LICENSE("GPL");
