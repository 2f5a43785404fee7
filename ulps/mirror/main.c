// SPDX-License-Identifier: GPL-2.0
/*
 * main.c - kfi_mirror, a device-mapper target for mirrored writes: the module, and what
 * device-mapper calls.
 *
 * A context that has claimed the mirror (claim.c) uses its members, which need no lock. One work
 * item, the worker (run.c), can do everything that is to be done, and may sleep. Other contexts
 * hand something over, and then either queue the worker (kfm_kick()), or advance the writes
 * themselves, as far as this is possible without sleeping (kfm_run_atomic()).
 */
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <net/net_namespace.h>
#include <kfi_version.h>
#include "bits.h"
#include "command.h"
#include "flush.h"
#include "label.h"
#include "leg.h"
#include "log.h"
#include "meta.h"
#include "mirror.h"
#include "net.h"
#include "peer.h"
#include "quorum.h"
#include "read.h"
#include "repair.h"
#include "rest.h"
#include "run.h"
#include "session.h"
#include "status.h"
#include "table.h"
#include "write.h"
#include "zero.h"

#define PLUG_WRITES	32	/* writes that a plug holds back, as many as requests in a plug */

/* All mirrors, for a table that takes over the role of the one before it */
static LIST_HEAD(mirrors);
static DEFINE_MUTEX(mirrors_lock);

/* ---- life ---- */

static struct kfm *kfm_alloc(struct dm_target *ti)
{
	struct kfm *m = kzalloc(sizeof(*m), GFP_KERNEL);

	if (!m)
		return NULL;
	m->ti = ti;
	m->sectors = ti->len;
	m->shift = kfm_region_shift(m->sectors);
	m->regions = ((m->sectors - 1) >> m->shift) + 1;
	m->bitmap_bytes = kfm_map_bytes(m->sectors, m->shift);
	m->extent_shift = kfm_extent_shift(m->sectors);
	m->extents = ((m->sectors - 1) >> m->extent_shift) + 1;
	m->active_bytes = kfm_map_bytes(m->sectors, m->extent_shift);
	m->numbered = 1;
	m->start = kfm_random();
	m->net_ns = get_net(current->nsproxy->net_ns);
	spin_lock_init(&m->lock);
	kfi_runner_init(&m->runner);
	spin_lock_init(&m->log.lock);
	INIT_LIST_HEAD(&m->entry);
	INIT_LIST_HEAD(&m->cmds);
	INIT_LIST_HEAD(&m->free);
	INIT_LIST_HEAD(&m->flight);
	INIT_LIST_HEAD(&m->reads);
	INIT_LIST_HEAD(&m->repairs);
	INIT_LIST_HEAD(&m->hashes);
	INIT_LIST_HEAD(&m->draining);
	init_completion(&m->applied);
	INIT_WORK(&m->work, kfm_worker);
	INIT_DELAYED_WORK(&m->tick, kfm_worker_tick);
	kfm_events_init(&m->events);
	return m;
}

static void kfm_free(struct kfm *m)
{
	kfm_table_free(m);
	put_net(m->net_ns);
	kfree(m);
}

static int kfm_ctr(struct dm_target *ti, unsigned int argc, char **argv)
{
	struct kfm *m = kfm_alloc(ti);
	int ret;

	ti->error = "No memory";
	if (!m)
		return -ENOMEM;
	ret = kfm_table_read(m, argc, argv);
	if (ret) {
		kfm_free(m);
		return ret;
	}
	ti->per_io_data_size = sizeof(struct kfm_read);
	/* the clone gets the cgroup of its submitter, which kfm_leg_prepare() passes to the leg */
	ti->needs_bio_set_dev = true;
	ti->num_discard_bios = 1;
	ti->num_write_zeroes_bios = 1;
	ti->discards_supported = true;	/* see kfm_io_hints() */
	ti->num_flush_bios = m->cache;
	ti->flush_supported = m->cache;	/* also if the leg has no cache, and a peer's has */
	ti->private = m;
	mutex_lock(&mirrors_lock);
	list_add(&m->entry, &mirrors);
	mutex_unlock(&mirrors_lock);
	return 0;
}

/* The mirror is suspended, or was never resumed. */
static void kfm_dtr(struct dm_target *ti)
{
	struct kfm *m = ti->private;
	struct kfm_rail *rail;
	struct kfm_peer *p;

	mutex_lock(&mirrors_lock);
	list_del(&m->entry);
	mutex_unlock(&mirrors_lock);
	synchronize_rcu();	/* the last kfm_signal() and kfm_run_atomic() */
	cancel_delayed_work_sync(&m->tick);
	cancel_work_sync(&m->work);
	kfm_for_each_peer(p, m) {
		kfm_for_each_rail(rail, p) {
			flush_work(&rail->work);
			kfi_conn_close(&rail->conn);
		}
	}
	kfm_events_end(&m->events);
	kfm_free(m);
}

/* ---- I/O ---- */

/* Hand over writes; begin them if this context may sleep. When they end, the mirror may go. */
static void writes_arrive(struct kfm *m, struct bio_list *bios, bool may_sleep)
{
	struct bio_list legs = BIO_EMPTY_LIST;
	unsigned long flags;
	struct bio *leg;

	rcu_read_lock();
	spin_lock_irqsave(&m->lock, flags);
	bio_list_merge(&m->arrived, bios);
	spin_unlock_irqrestore(&m->lock, flags);
	if (may_sleep)
		kfm_run_atomic(m, &legs);
	else
		kfm_kick(m);
	rcu_read_unlock();
	while ((leg = bio_list_pop(&legs)))
		submit_bio(leg);
}

/*
 * Writes that a task submits in one plug. They arrive when there are PLUG_WRITES of them, when the
 * task ends the plug, or when it sleeps.
 */
struct kfm_plug {
	struct blk_plug_cb	cb;
	struct bio_list		bios;
	unsigned int		count;
};

static void unplug(struct blk_plug_cb *cb, bool from_schedule)
{
	struct kfm_plug *plug = container_of(cb, struct kfm_plug, cb);

	writes_arrive(cb->data, &plug->bios, !from_schedule);
	kfree(plug);
}

/*
 * Writes that come together go to the peer together. Without a plug, or without memory for the
 * callback, each goes by itself.
 */
static void map_write(struct kfm *m, struct bio *bio)
{
	struct blk_plug_cb *cb = blk_check_plugged(unplug, m, sizeof(struct kfm_plug));
	struct kfm_plug alone = { .count = PLUG_WRITES - 1 }, *plug = &alone;

	if (cb)
		plug = container_of(cb, struct kfm_plug, cb);
	bio_list_add(&plug->bios, bio);
	if (++plug->count < PLUG_WRITES)
		return;
	writes_arrive(m, &plug->bios, true);
	bio_list_init(&plug->bios);
	plug->count = 0;
}

/* Take a write of zeroes up to where the next record of them would begin. */
static void zeroes_part(struct bio *bio)
{
	const u32 most = KFM_ZEROES_MAX / KFM_SECTOR;
	u32 part = most - bio->bi_iter.bi_sector % most;

	if (bio_sectors(bio) > part)
		dm_accept_partial_bio(bio, part);
}

static int kfm_map(struct dm_target *ti, struct bio *bio)
{
	struct kfm *m = ti->private;
	struct kfm_read *r = dm_per_bio_data(bio, sizeof(*r));

	if (!smp_load_acquire(&m->primary))	/* pairs with become_primary() */
		return DM_MAPIO_KILL;
	if (bio_op(bio) == REQ_OP_READ) {
		r->iter = bio->bi_iter;
		r->tried = false;
		r->leg_asked = false;
		bio_set_dev(bio, m->leg->bdev);
		if (!READ_ONCE(m->open) || kfm_reads_wait(m))
			kfm_read_hold(m, bio);
		else if (READ_ONCE(m->detached) ||
			 kfm_repair_bad(m, bio->bi_iter.bi_sector, bio_sectors(bio)))
			kfm_read_remote(m, bio);
		else
			return DM_MAPIO_REMAPPED;
		return DM_MAPIO_SUBMITTED;
	}
	if (bio_op(bio) != REQ_OP_WRITE && !kfm_bio_zeroes(bio))
		return DM_MAPIO_KILL;
	if (!bio->bi_iter.bi_size && !op_is_flush(bio->bi_opf))
		return DM_MAPIO_KILL;
	if (kfm_bio_zeroes(bio))
		zeroes_part(bio);
	if (bio->bi_iter.bi_size || kfm_flush_needed(m))
		map_write(m, bio);
	else
		bio_endio(bio);
	return DM_MAPIO_SUBMITTED;
}

/* Is it the data that can't be read? */
static bool bad_data(blk_status_t error)
{
	return error == BLK_STS_IOERR || error == BLK_STS_MEDIUM || error == BLK_STS_PROTECTION ||
	       error == BLK_STS_TARGET;
}

/*
 * May a peer serve a read that has failed? Also one of a disk that has gone, if this node detaches
 */
static bool peer_serves(const struct kfm *m, blk_status_t error)
{
	bool gone = error == BLK_STS_OFFLINE || error == BLK_STS_TRANSPORT ||
		    error == BLK_STS_TIMEOUT;

	return bad_data(error) || (m->detach && gone) || (READ_ONCE(m->detached) && error);
}

/*
 * The worker takes over a read that the leg has failed, and ends it (repair.c), which comes here
 * again. A read that was held, and is failed because this node will not be open, has no other
 * source. Any context.
 */
static int kfm_end_io(struct dm_target *ti, struct bio *bio, blk_status_t *error)
{
	struct kfm_read *r = dm_per_bio_data(bio, sizeof(*r));
	struct kfm *m = ti->private;

	if (bio_op(bio) != REQ_OP_READ || r->tried || !peer_serves(m, *error) ||
	    !READ_ONCE(m->open))
		return DM_ENDIO_DONE;
	r->leg_asked = true;
	kfm_read_remote(m, bio);
	return DM_ENDIO_INCOMPLETE;
}

/* ---- suspend and resume ---- */

static void kfm_presuspend(struct dm_target *ti)
{
	struct kfm *m = ti->private;

	WRITE_ONCE(m->noflush, dm_noflush_suspending(ti));
	kfm_kick(m);
}

static void kfm_presuspend_undo(struct dm_target *ti)
{
	struct kfm *m = ti->private;

	WRITE_ONCE(m->noflush, false);
	kfm_kick(m);
}

static void kfm_postsuspend(struct dm_target *ti)
{
	kfm_command(ti->private, 0, NULL);
}

/* Has the leg failed since the resume? Then its cache may have lost what it had acknowledged. */
static bool cache_lost(const struct kfm *m)
{
	return m->log.failed || m->leg_failed || m->detached;
}

/* Is this table the next one of the same mirror? Under mirrors_lock. */
static bool follows(const struct kfm *m, const struct kfm *old)
{
	return old != m && !READ_ONCE(old->active) &&
	       dm_table_get_md(old->ti->table) == dm_table_get_md(m->ti->table) &&
	       !memcmp(old->sb.uuid, m->sb.uuid, sizeof(m->sb.uuid));
}

/*
 * A detached primary does not grow: no copy has the new part, and there is nothing to copy from.
 * The bits of that part would be set for all peers, and so exclude the last copy.
 */
static int may_grow(const struct kfm *m)
{
	const struct kfm *old;
	int ret = 0;

	if (m->sb.sectors >= m->sectors)
		return 0;
	if (kfm_detached_stored(m))	/* a further resume of the same table */
		ret = -EBUSY;
	mutex_lock(&mirrors_lock);
	list_for_each_entry(old, &mirrors, entry) {
		if (follows(m, old) && kfm_detached_stored(old))
			ret = -EBUSY;
	}
	mutex_unlock(&mirrors_lock);
	if (ret)
		DMERR("%s: a primary without a leg keeps its size", kfm_name(m));
	return ret;
}

/*
 * What a table takes over from the one before it, if there is one. The cache of the leg has lost
 * nothing (@start), unless the leg has failed.
 *
 * The table before this one was primary: so is this one. Its superblock is the same. So is its
 * policy: the peer relies on it while there is no session.
 */
static void inherit(struct kfm *m)
{
	struct kfm *old;

	mutex_lock(&mirrors_lock);
	list_for_each_entry(old, &mirrors, entry) {
		if (!follows(m, old))
			continue;
		if (!cache_lost(old))
			m->start = old->start;
		if (!old->primary || m->witness)	/* of another node, with its own metadata */
			continue;
		if (m->policy != old->policy)
			DMWARN("%s: a primary keeps its policy", kfm_name(m));
		m->policy = old->policy;
		m->open = old->open;
		memcpy(m->repair.bad, old->repair.bad, sizeof(m->repair.bad));
		m->repair.bad_count = old->repair.bad_count;
		m->numbered = max(m->numbered, old->numbered);
		m->logged = old->logged;
		m->counted_gen = old->counted_gen;
		m->announced = old->announced;
		WRITE_ONCE(old->primary, false);
		WRITE_ONCE(m->primary, true);
	}
	mutex_unlock(&mirrors_lock);
}

/* Was this table, or the one before it, primary? @known: the superblock of that one, if any */
static bool was_primary(const struct kfm *m, struct kfm_super *known)
{
	const struct kfm *old;
	bool primary = m->primary;

	mutex_lock(&mirrors_lock);
	list_for_each_entry(old, &mirrors, entry) {
		if (!follows(m, old))
			continue;
		*known = old->sb;
		primary |= old->primary;
	}
	mutex_unlock(&mirrors_lock);
	return primary;
}

static void doubtful_size(const struct kfm *m)
{
	DMERR("%s: a node in doubt does not grow: give it its size of %llu sectors", kfm_name(m),
	      m->sb.sectors);
}

/*
 * Is this the metadata of the mirror, is the leg its leg, and do both tell what this node has
 * stored? If one superblock is damaged, and this table has run before, or the one before it has,
 * this node knows what was stored, and a primary goes on. It does not if the device has something
 * else, or the leg was put back. Nothing is stored because of the leg: what this node knows is kept
 * for the right one. A secondary stores its doubt when a primary begins to overwrite the leg.
 */
static int identify(struct kfm *m, const struct kfm_super *before)
{
	struct kfm_super known = *before;
	bool primary = was_primary(m, &known);
	bool doubt = false;
	int ret = kfm_label_name(m, m->sb.uuid);

	/* nothing is stored in either place before the metadata has moved: may_move() */
	if (!ret && m->sb.flags & KFM_SB_DOUBT && m->meta_from != m->meta_at) {
		doubtful_size(m);
		ret = -EUCLEAN;
	}
	if (!ret && m->sb.flags & KFM_SB_DOUBT) {
		ret = kfm_super_settle(m, known.node ? &known : NULL);
		doubt = m->sb.flags & KFM_SB_DOUBT;
	}
	/* a primary that is detached uses no leg */
	if (!ret && !(primary && m->sb.state == KFM_BLANK && m->sb.flags & KFM_SB_LEG_FAILED))
		ret = kfm_label_check(m);
	if (!ret)
		kfm_rest_check(m);
	if (!ret && primary && m->sb.flags & KFM_SB_DOUBT)
		ret = -EUCLEAN;
	if (!ret && !doubt && m->sb.flags & KFM_SB_DOUBT && m->sb.sectors < m->sectors) {
		doubtful_size(m);
		ret = -EUCLEAN;
	}
	if (ret && !doubt && known.node && known.node == m->sb.node)
		m->sb = known;
	return ret;
}

/* The table before this one, if it has had metadata; under mirrors_lock */
static const struct kfm *table_before(const struct kfm *m)
{
	const struct kfm *old;

	list_for_each_entry(old, &mirrors, entry) {
		if (old != m && old->sb.node && !READ_ONCE(old->active) &&
		    dm_table_get_md(old->ti->table) == dm_table_get_md(m->ti->table))
			return old;
	}
	return NULL;
}

/*
 * Find the metadata on the leg. A table before this one may have had it behind another end.
 * @known: what this table knew before, or the one before it
 * @from: the same of the place of the metadata
 */
static int metadata_find(struct kfm *m, struct kfm_super *known, u64 *from)
{
	const struct kfm *old;

	mutex_lock(&mirrors_lock);
	old = table_before(m);
	if (old)
		*known = old->sb;
	if (old && old->internal && m->internal)
		*from = old->meta_from;
	mutex_unlock(&mirrors_lock);
	return m->internal ? kfm_label_locate(m, *from, known) : 0;
}

/* Is what was loaded what is known of this node? */
static int superblock_fits(const struct kfm *m, const struct kfm_super *known)
{
	if (!m->formatted || !known->node ||
	    (known->node == m->sb.node && !memcmp(known->uuid, m->sb.uuid, sizeof(known->uuid))))
		return kfm_label_fits(m);
	DMERR("%s: the metadata is that of another node, of mirror %pUb: wrong devices?",
	      kfm_name(m), m->sb.uuid);
	return -EMEDIUMTYPE;
}

/*
 * There is no superblock that fits. The next attempt has what was known before, and the role.
 * Return: @ret, or -EUCLEAN if there was metadata.
 */
static int keep(struct kfm *m, const struct kfm_super *known, int ret)
{
	m->sb = *known;
	if (!m->sb.node) {
		m->formatted = false;
		return ret;
	}
	if (!ret)
		DMERR("%s: there is no metadata any more: does the table name the right devices?",
		      kfm_name(m));
	inherit(m);
	return ret ?: -EUCLEAN;
}

/*
 * May the metadata on the leg move to behind the new end? It is whole in its old place meanwhile. A
 * log does not move: it may have records.
 */
static int may_move(const struct kfm *m)
{
	u64 end = m->meta_from + kfm_meta_bytes(m->sb.sectors, kfm_peer_count(m));

	if (m->meta_from == m->meta_at)
		return 0;
	if (m->log_at) {
		DMERR("%s: with its log on the leg a mirror keeps its size", kfm_name(m));
		return -EOPNOTSUPP;
	}
	if (m->meta_at >= end)
		return 0;
	DMERR("%s: the leg has its metadata there: let the mirror grow to %llu sectors or more",
	      kfm_name(m), end / KFM_SECTOR);
	return -ENOSPC;
}

/* All that is on the devices but the superblock. @before: what this table knew of that */
static int load(struct kfm *m, const struct kfm_super *before)
{
	int ret = kfm_log_load(m);

	if (ret && ret != -EBADMSG)	/* a replay finds that again, see kfm_log_unusable() */
		return ret;
	if (m->log.head.super > m->sb.serial) {
		kfm_super_doubt(m, "the log knows of a later superblock");
		m->sb.serial = m->log.head.super;
	}
	if (!ret)
		kfm_log_scan(m);
	ret = identify(m, before) ?: may_grow(m) ?: may_move(m) ?: kfm_label_move(m);
	return ret ?: kfm_bits_load(m);
}

static void peer_resume(struct kfm_peer *p)
{
	struct kfm_rail *rail;

	p->policy_applied = false;
	p->attach = false;
	/*
	 * "fenced OUTAGE" names a peer by this number. Each peer has a range of its own, and the
	 * random start makes a number of an earlier table unlikely.
	 */
	p->outage = get_random_u32() / KFM_PEERS + p->index * (U32_MAX / KFM_PEERS);
	p->refused = 0;
	p->state = KFM_SESSION_DOWN;
	p->gap = false;
	p->next = jiffies;
	p->down = jiffies;
	p->budget_at = jiffies;
	p->rail = p->rails[0];
	kfm_for_each_rail(rail, p) {
		rail->retry = jiffies;
		rail->failed = false;
		rail->open = false;
	}
}

static int kfm_preresume(struct dm_target *ti)
{
	struct kfm *m = ti->private;
	struct kfm_super before = m->sb, known = m->sb;
	u64 from = m->meta_from;
	struct kfm_peer *p;
	int ret;

	if (kfm_tears(m)) {
		DMERR("%s: leg or log became memory that can tear its sectors", kfm_name(m));
		return -EMEDIUMTYPE;
	}
	m->meta_failed = false;
	/* after an error dm frees the table before this one: the next one has the role from here */
	ret = metadata_find(m, &known, &from) ?: kfm_super_load(m) ?: superblock_fits(m, &known);
	if (ret || !m->formatted) {
		ret = keep(m, &known, ret);
	} else {
		ret = load(m, &before);
		if (ret)
			inherit(m);
	}
	if (ret) {
		m->meta_from = from;
		return ret;
	}
	if (cache_lost(m))
		m->start = kfm_random();
	inherit(m);
	m->leg_failed = false;
	kfm_rest_end(m);
	kfm_flush_reset(m);
	/* the table before may have left in the cache what no flush would reach any more */
	m->detached = kfm_detached_stored(m);
	m->leg_failed = m->primary && !m->detached && (m->sb.flags & KFM_SB_LEG_FAILED ||
						       blkdev_issue_flush(m->leg->bdev));
	if (m->formatted && kfm_label_renew(m))
		DMWARN("%s: can't write the label of the leg", kfm_name(m));
	kfm_quorum_resume(m);
	m->log.failed = false;
	m->log.oldest_at = 0;
	m->was_insync = false;
	m->followed = NULL;
	m->resumed = jiffies;
	m->left = false;
	kfm_for_each_peer(p, m)
		peer_resume(p);
	m->renewed = jiffies;
	m->noflush = false;
	m->only = NULL;
	spin_lock_irq(&m->lock);
	/* a completion that began before the suspend may read @active in kfm_writes_run_atomic() */
	smp_store_release(&m->active, true);
	spin_unlock_irq(&m->lock);
	kfm_kick(m);
	return 0;
}

/* ---- other calls ---- */

static int kfm_message(struct dm_target *ti, unsigned int argc, char **argv, char *result,
		       unsigned int maxlen)
{
	return argc ? kfm_command(ti->private, argc, argv) : -EINVAL;
}

/* The leg has the data; its limits are the mirror's. */
static int kfm_iterate_devices(struct dm_target *ti, iterate_devices_callout_fn fn, void *data)
{
	struct kfm *m = ti->private;

	return m->leg ? fn(ti, m->leg, 0, ti->len, data) : 0;
}

/*
 * A discard writes zeroes (zero.c). It is offered if the leg does that by itself: a discard that
 * writes them by hand would be of no use. dm-table.c offers write-zeroes under the same condition.
 */
static void kfm_io_hints(struct dm_target *ti, struct queue_limits *limits)
{
	limits->max_hw_discard_sectors = limits->max_write_zeroes_sectors ?
					 UINT_MAX >> SECTOR_SHIFT : 0;
	limits->max_discard_sectors = limits->max_hw_discard_sectors;
	limits->discard_granularity = max(limits->discard_granularity,
					  limits->physical_block_size);
}

static struct target_type kfm_target = {
	.name			= "kfi_mirror",
	.version		= { 1, 0, 0 },
	.features		= DM_TARGET_SINGLETON,
	.module			= THIS_MODULE,
	.ctr			= kfm_ctr,
	.dtr			= kfm_dtr,
	.map			= kfm_map,
	.end_io			= kfm_end_io,
	.presuspend		= kfm_presuspend,
	.presuspend_undo	= kfm_presuspend_undo,
	.postsuspend		= kfm_postsuspend,
	.preresume		= kfm_preresume,
	.status			= kfm_status,
	.message		= kfm_message,
	.iterate_devices	= kfm_iterate_devices,
	.io_hints		= kfm_io_hints,
};

/* ---- the module ---- */

static int __init kfm_init(void)
{
	int ret = kfm_queues_init();

	if (ret)
		return ret;
	kfi_wire_register(&kfm_wire);
	ret = dm_register_target(&kfm_target);
	if (ret) {
		kfi_wire_unregister(&kfm_wire);
		kfm_queues_exit();
	}
	return ret;
}

static void __exit kfm_exit(void)
{
	dm_unregister_target(&kfm_target);
	kfi_wire_unregister(&kfm_wire);
	kfm_queues_exit();
}

module_init(kfm_init);
module_exit(kfm_exit);

MODULE_ALIAS("dm-kfi_mirror");
MODULE_DESCRIPTION("device-mapper target for mirrored writes over kfabric");
MODULE_VERSION(KFABRIC_VERSION);
MODULE_LICENSE("GPL");
