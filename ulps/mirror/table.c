// SPDX-License-Identifier: GPL-2.0
/*
 * table.c - the table of a mirror: its words, and the disks, peers and memory that they ask for
 *
 * Table: 0 LENGTH kfi_mirror LEG META LOG PROVIDER NODE SERVICE PEER-NODE PEER-SERVICE POLICY
 *	[COUNT [timeout MS] [rate KIB] [direct BYTES|off] [data-crc log|all] [cache on|off|auto]
 *	[rate-min KIB] [csum on|off] [on-io-error fail|detach] [reads any|quorum] [secret KEY]
 *	[rail PROVIDER NODE SERVICE PEER-NODE PEER-SERVICE]...
 *	[peer PROVIDER NODE SERVICE PEER-NODE PEER-SERVICE [rail ...]...]...
 *	[witness PROVIDER NODE SERVICE PEER-NODE PEER-SERVICE [rail ...]...]]
 * A rail is one more way to the peer before it.
 * LEG and LOG of the witness are -. META may be the word internal, and LOG then, too: they are on
 * the leg.
 */
#include <linux/kstrtox.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <net/net_namespace.h>
#include "command.h"
#include "direct.h"
#include "label.h"
#include "log.h"
#include "meta.h"
#include "mirror.h"
#include "net.h"
#include "peer.h"
#include "resync.h"
#include "secret.h"
#include "status.h"
#include "table.h"
#include "write.h"

static int table_device(struct kfm *m, const char *path, struct dm_dev **dev, unsigned int lbs)
{
	int ret = dm_get_device(m->ti, path, dm_table_get_mode(m->ti->table), dev);

	if (ret || bdev_logical_block_size((*dev)->bdev) <= lbs)
		return ret;
	m->ti->error = lbs == KFM_SECTOR ?
		"The log device has logical blocks of more than 512 bytes: use another one, or -" :
		"A device has logical blocks of more than 4096 bytes";
	return -EINVAL;
}

static bool is_memory(const struct dm_dev *dev)
{
	return dev && blk_queue_dax(bdev_get_queue(dev->bdev));
}

/*
 * Is the leg, or the log device, memory in which a loss of power may leave half a sector? Memory in
 * sector mode (BTT) is not. Tables below the mirror may be reloaded.
 */
bool kfm_tears(const struct kfm *m)
{
	return is_memory(m->leg) || is_memory(m->logdev);
}

/* Is a word the one that puts metadata or the log on the leg? */
static bool is_internal(const char *word)
{
	return !strcmp(word, "internal");
}

/*
 * The log device, or "-" for none: then the node takes direct records alone. A log on the leg is
 * behind the metadata.
 */
static int table_log(struct kfm *m, const char *leg, const char *path)
{
	if (is_internal(path)) {
		m->ti->error = "LOG internal needs META internal";
		if (!m->internal)
			return -EINVAL;
		m->log_at = m->meta_at + kfm_meta_bytes(m->sectors, kfm_peer_count(m));
		path = leg;
	}
	if (strcmp(path, "-")) {
		m->ti->error = "Can't use the log device";
		return table_device(m, path, &m->logdev, KFM_SECTOR);
	}
	m->ti->error = "A node without a log device needs direct 0, or no such word";
	if (m->direct_min && m->direct_min != KFM_DIRECT_DEFAULT)
		return -EINVAL;
	m->direct_min = 0;
	m->ti->error = "The leg needs a log: it must not see changes, or needs more of memory";
	return kfm_direct_takes(m) ? 0 : -EINVAL;
}

/* Bytes that metadata of version 5 needs */
static u64 plain_bytes(const struct kfm *m)
{
	return KFM_BITMAP_AT + (u64)kfm_peer_count(m) *
	       (kfm_bitmap_bytes(m->sectors, m->extent_shift) +
		kfm_bitmap_bytes(m->sectors, m->shift));
}

static int table_meta(struct kfm *m, const char *leg, const char *path)
{
	u64 needed = kfm_meta_bytes(m->sectors, kfm_peer_count(m));
	int ret;

	m->internal = is_internal(path);
	if (m->internal) {	/* and in the last block a label */
		m->meta_at = kfm_behind_data(m->sectors);
		needed += m->meta_at + KFM_BLOCK;
		path = leg;
	}
	m->meta_from = m->meta_at;
	m->ti->error = "Can't use the metadata device";
	ret = table_device(m, path, &m->meta, KFM_BLOCK);
	if (ret || round_down(bdev_nr_bytes(m->meta->bdev), KFM_BLOCK) >= needed)
		return ret;
	DMERR("%s: the metadata device has %llu bytes, and %llu are needed%s", kfm_name(m),
	      bdev_nr_bytes(m->meta->bdev), needed,
	      !m->internal && bdev_nr_bytes(m->meta->bdev) >= plain_bytes(m) ?
	      ", more than before: bitmaps have checksums now" : "");
	m->ti->error = "The metadata device is too small";
	return -ENOSPC;
}

/* This node has no leg: it votes. The words that describe writes are ignored. */
static int table_witness(struct kfm *m, char **argv)
{
	int ret;

	m->witness = true;
	m->direct_min = KFM_DIRECT_OFF;
	m->ti->error = "A witness, whose LEG is -, has LOG - as well, and no peer is one";
	if (strcmp(argv[2], "-") || kfm_copy_count(m) != kfm_peer_count(m))
		return -EINVAL;
	m->ti->error = "A witness has no leg for its metadata";
	ret = is_internal(argv[1]) ? -EINVAL : table_meta(m, NULL, argv[1]);
	if (ret)
		return ret;
	m->ti->error = "No memory";
	return kfm_log_alloc(m);
}

static int table_devices(struct kfm *m, char **argv)
{
	int ret;

	if (!strcmp(argv[0], "-"))
		return table_witness(m, argv);
	m->ti->error = "Can't use the leg";
	ret = table_device(m, argv[0], &m->leg, KFM_BLOCK);
	if (!ret && bdev_nr_sectors(m->leg->bdev) < m->ti->len)
		ret = -ENOSPC;
	if (ret)
		return ret;
	ret = table_meta(m, argv[0], argv[1]) ?: table_log(m, argv[0], argv[2]);
	if (ret)
		return ret;
	m->ti->error = "The log device is too small, or there is no memory";
	ret = kfm_log_alloc(m);
	if (ret)
		return ret;
	m->single_direct = m->direct_min != KFM_DIRECT_OFF && kfm_copy_count(m) == 1 &&
			   !bdev_rot(m->leg->bdev);
	m->ti->error = "The leg or the log is memory that can tear sectors: use sector mode (BTT)";
	return kfm_tears(m) ? -EINVAL : 0;
}

/* Do the words of the table fit each other, and the devices? */
static int table_fits(struct kfm *m)
{
	m->ti->error = "reads quorum needs policy quorum";
	if (m->reads_quorum && m->policy != KFM_QUORUM)
		return -EINVAL;
	m->ti->error = "A witness needs policy quorum";
	if ((m->witness || kfm_copy_count(m) != kfm_peer_count(m)) && m->policy != KFM_QUORUM)
		return -EINVAL;
	m->ti->error = "on-io-error detach is refused with policy quorum";
	return m->policy == KFM_QUORUM && m->detach ? -EINVAL : 0;
}

static int rail_words(struct kfm_rail *r, char **argv)
{
	char **to[] = { &r->provider, &r->local[0], &r->local[1], &r->remote[0], &r->remote[1] };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(to); i++) {
		*to[i] = kstrdup(argv[i], GFP_KERNEL);
		if (!*to[i])
			return -ENOMEM;
	}
	return 0;
}

static bool same_pair(char *const *a, char *const *b)
{
	return !strcmp(a[0], b[0]) && !strcmp(a[1], b[1]);
}

/* Does a rail to any peer have the same address, at either end? */
static bool same_end(const struct kfm *m, char **argv)
{
	struct kfm_rail *rail;
	struct kfm_peer *p;

	kfm_for_each_peer(p, m) {
		kfm_for_each_rail(rail, p) {
			if (!strcmp(rail->provider, argv[0]) &&
			    (same_pair(rail->local, argv + 1) || same_pair(rail->remote, argv + 3)))
				return true;
		}
	}
	return false;
}

/* One more way to the last peer */
static int table_rail(struct kfm *m, char **argv)
{
	struct kfm_peer *p = m->peers[kfm_peer_count(m) - 1];
	struct kfm_rail *rail;
	unsigned int n = kfm_rail_count(p);

	m->ti->error = "Too many rails to a peer, or the same NODE and SERVICE twice";
	if (n == KFM_RAILS || same_end(m, argv))
		return -EINVAL;
	m->ti->error = "No memory";
	rail = kzalloc(sizeof(*rail), GFP_KERNEL);
	if (!rail)
		return -ENOMEM;
	rail->p = p;
	INIT_WORK(&rail->work, kfm_net_work);
	kfi_conn_init(&rail->conn, &kfm_conn_ops);
	p->rails[n] = rail;
	p->rail = p->rails[0];
	p->came = p->rails[0];
	return rail_words(rail, argv);
}

static int table_peer(struct kfm *m, char **argv, bool witness)
{
	struct kfm_peer *p;

	m->ti->error = "Too many peers, or one behind the witness";
	if (kfm_peer_count(m) == KFM_PEERS ||
	    (m->peers[0] && m->peers[kfm_peer_count(m) - 1]->witness))
		return -EINVAL;
	p = kzalloc(sizeof(*p), GFP_KERNEL);
	m->ti->error = "No memory";
	if (!p)
		return -ENOMEM;
	p->m = m;
	p->witness = witness;
	p->index = kfm_peer_count(m);
	p->sectors = m->sectors;
	m->peers[p->index] = p;
	INIT_LIST_HEAD(&p->inbox);
	return table_rail(m, argv);
}

static int table_policy(struct kfm *m, const char *word)
{
	unsigned int i;

	for (i = 0; i < KFM_POLICIES; i++) {
		if (!strcmp(word, kfm_policies[i])) {
			m->policy = i;
			return 0;
		}
	}
	m->ti->error = "The policy is stop, fence, alone or quorum";
	return -EINVAL;
}

/* Of an even number of nodes more than half are as many as of the next odd one. */
static int table_odd(struct kfm *m)
{
	m->ti->error = "Policy quorum needs an odd number of nodes, so two or four peers";
	return m->policy == KFM_QUORUM && kfm_peer_count(m) % 2 ? -EINVAL : 0;
}

static int table_direct(struct kfm *m, const char *word)
{
	m->direct_min = KFM_DIRECT_OFF;
	if (!strcmp(word, "off"))
		return 0;
	m->ti->error = "direct needs a number of bytes up to that of the longest record, or off";
	return kstrtou32(word, 10, &m->direct_min) ?: m->direct_min > KFM_WRITE_MAX ? -EINVAL : 0;
}

static int table_data_crc(struct kfm *m, const char *word)
{
	m->data_crc = !strcmp(word, "all");
	m->ti->error = "data-crc is log or all";
	return m->data_crc || !strcmp(word, "log") ? 0 : -EINVAL;
}

static int table_cache(struct kfm *m, const char *word)
{
	int i = match_string(kfm_cache_words, KFM_CACHE_WORDS, word);

	m->ti->error = "cache is on, off or auto";
	if (i < 0)
		return -EINVAL;
	m->cache_word = i;
	return 0;
}

static int table_csum(struct kfm *m, const char *word)
{
	m->csum = !strcmp(word, "on");
	m->ti->error = "csum is on or off";
	return m->csum || !strcmp(word, "off") ? 0 : -EINVAL;
}

static int table_reads(struct kfm *m, const char *word)
{
	m->reads_quorum = !strcmp(word, "quorum");
	m->ti->error = "reads is any or quorum";
	return m->reads_quorum || !strcmp(word, "any") ? 0 : -EINVAL;
}

static int table_on_io_error(struct kfm *m, const char *word)
{
	m->detach = !strcmp(word, "detach");
	m->ti->error = "on-io-error is fail or detach";
	return m->detach || !strcmp(word, "fail") ? 0 : -EINVAL;
}

/* Are writes kept in volatile caches? By default if the leg has one. */
static bool cache_choose(const struct kfm *m)
{
	return m->cache_word == KFM_CACHE_ON ||
	       (m->cache_word == KFM_CACHE_AUTO && m->leg && bdev_write_cache(m->leg->bdev));
}

static bool is_way(const char *word)
{
	return !strcasecmp(word, "peer") || !strcasecmp(word, "witness") ||
	       !strcasecmp(word, "rail");
}

/*
 * Read PROVIDER NODE SERVICE PEER-NODE PEER-SERVICE behind one of these words. @args: how many
 * words of options are left.
 */
static int table_way(struct kfm *m, const char *word, unsigned int args, struct dm_arg_set *as)
{
	int ret;

	m->ti->error = "Options peer, witness and rail need five words";
	if (args < KFM_PEER_WORDS || as->argc < KFM_PEER_WORDS)
		return -EINVAL;
	if (!strcasecmp(word, "rail"))
		ret = table_rail(m, as->argv);
	else
		ret = table_peer(m, as->argv, !strcasecmp(word, "witness"));
	dm_consume_args(as, KFM_PEER_WORDS);
	return ret;
}

static int table_options(struct kfm *m, struct dm_arg_set *as)
{
	static const struct dm_arg count = {
		0, 20 + (KFM_PEERS * KFM_RAILS - 1) * (1 + KFM_PEER_WORDS),
		"Invalid number of options"
	};
	static const struct dm_arg timeout = { 200, 600000, "Invalid timeout" };
	unsigned int args = 0, ms = 5000;
	const char *word;
	int ret = 0;

	m->direct_min = KFM_DIRECT_DEFAULT;
	if (as->argc)
		ret = dm_read_arg_group(&count, as, &args, &m->ti->error);
	while (!ret && args >= 2) {
		word = dm_shift_arg(as);
		if (!strcasecmp(word, "timeout")) {
			ret = dm_read_arg(&timeout, as, &ms, &m->ti->error);
		} else if (!strcasecmp(word, "rate")) {
			m->ti->error = "Invalid rate";
			ret = kfm_rate_parse(dm_shift_arg(as), &m->rate);
		} else if (!strcasecmp(word, "rate-min")) {
			m->ti->error = "Invalid rate-min";
			ret = kfm_rate_parse(dm_shift_arg(as), &m->rate_min);
		} else if (!strcasecmp(word, "direct")) {
			ret = table_direct(m, dm_shift_arg(as));
		} else if (!strcasecmp(word, "data-crc")) {
			ret = table_data_crc(m, dm_shift_arg(as));
		} else if (!strcasecmp(word, "cache")) {
			ret = table_cache(m, dm_shift_arg(as));
		} else if (!strcasecmp(word, "csum")) {
			ret = table_csum(m, dm_shift_arg(as));
		} else if (!strcasecmp(word, "on-io-error")) {
			ret = table_on_io_error(m, dm_shift_arg(as));
		} else if (!strcasecmp(word, "reads")) {
			ret = table_reads(m, dm_shift_arg(as));
		} else if (!strcasecmp(word, "secret")) {
			ret = kfm_secret_get(m, dm_shift_arg(as));
		} else if (is_way(word)) {
			ret = table_way(m, word, args - 1, as);
			args -= ret ? 0 : KFM_PEER_WORDS - 1;
		} else {
			m->ti->error = "Unknown option";
			ret = -EINVAL;
		}
		args -= 2;
	}
	if (!ret && (args || as->argc)) {
		m->ti->error = "An option has no value, or there are too many words";
		ret = -EINVAL;
	}
	m->timeout = msecs_to_jiffies(ms);
	return ret;
}

static int peer_memory(struct kfm_peer *p)
{
	const struct kfm *m = p->m;

	/* not kvzalloc(), which rounds up to a power of two if it can */
	p->active = vzalloc(m->active_bytes);
	p->oos = vzalloc(m->bitmap_bytes);
	p->stale = kvcalloc(BITS_TO_LONGS(m->bitmap_bytes / KFM_MAP_BLOCK), sizeof(long),
			    GFP_KERNEL);
	p->wire = kvzalloc(KFM_WIRE_BYTES_MAX, GFP_KERNEL);	/* whatever the peer's size */
	if (m->cache)
		p->cached = kvcalloc(BITS_TO_LONGS(m->extents), sizeof(long), GFP_KERNEL);
	if (!p->active || !p->oos || !p->stale || !p->wire || (m->cache && !p->cached))
		return -ENOMEM;
	return 0;
}

static int table_memory(struct kfm *m)
{
	struct kfm_peer *p;

	m->ti->error = "No memory";
	m->page = (void *)get_zeroed_page(GFP_KERNEL);
	m->maps = kvmalloc(KFM_MAP_BLOCKS * KFM_BLOCK, GFP_KERNEL);
	m->touched = kvcalloc(BITS_TO_LONGS(m->extents), sizeof(long), GFP_KERNEL);
	m->cooling = kvcalloc(BITS_TO_LONGS(m->extents), sizeof(long), GFP_KERNEL);
	if (!m->page || !m->maps || !m->touched || !m->cooling)
		return -ENOMEM;
	kfm_for_each_peer(p, m) {
		if (peer_memory(p))
			return -ENOMEM;
	}
	return (m->witness ? 0 : kfm_writes_alloc(m)) ?: kfm_direct_alloc(m);
}

/**
 * kfm_table_read() - give a mirror what its table names
 * @m: mirror without peers, disks and memory
 * @argc: words
 * @argv: the words
 *
 * Has no effect on any other mirror: a reload reads the second table while the first one is in use.
 * Context: may sleep.
 * Return: 0, or an errno; then the target has an error text, and the caller has to call
 *	kfm_table_free()
 */
int kfm_table_read(struct kfm *m, unsigned int argc, char **argv)
{
	struct dm_arg_set as = { .argc = argc, .argv = argv };
	struct dm_target *ti = m->ti;
	int ret;

	ti->error = "LEG META LOG PROVIDER NODE SERVICE PEER-NODE PEER-SERVICE POLICY [COUNT ...]";
	if (argc < 9)
		return -EINVAL;
	ti->error = "The mirror has to be the only target of its table, of 128 TiB at most";
	if (ti->begin || ti->len > KFM_SECTORS_MAX)
		return -EINVAL;
	ret = table_peer(m, argv + 3, false);
	if (!ret)
		ret = table_policy(m, argv[8]);
	dm_consume_args(&as, 9);
	if (!ret)
		ret = table_options(m, &as);
	if (!ret)
		ret = table_odd(m);
	if (!ret)
		ret = table_devices(m, argv) ?: table_fits(m);
	m->cache = !ret && cache_choose(m);
	if (!ret)
		ret = table_memory(m);
	return ret ? ret : dm_set_target_max_io_len(ti, KFM_WRITE_MAX / KFM_SECTOR);
}

static void rail_free(struct kfm_rail *rail)
{
	int i;

	for (i = 0; i < 2; i++) {
		kfree(rail->local[i]);
		kfree(rail->remote[i]);
	}
	kfree(rail->provider);
	kfree(rail);
}

static void peer_free(struct kfm_peer *p)
{
	struct kfm_rail *rail;

	kvfree(p->active);
	kvfree(p->oos);
	kvfree(p->stale);
	kvfree(p->wire);
	kvfree(p->cached);
	kfm_for_each_rail(rail, p)
		rail_free(rail);
	kfree(p);
}

/**
 * kfm_table_free() - give back what kfm_table_read() took
 * @m: mirror that nobody uses
 *
 * Context: may sleep.
 */
void kfm_table_free(struct kfm *m)
{
	struct kfm_peer *p;

	kfm_writes_free(m);
	kfm_direct_free(m);
	kfm_log_free(m);
	kfm_for_each_peer(p, m)
		peer_free(p);
	free_page((unsigned long)m->page);
	kvfree(m->maps);
	kvfree(m->touched);
	kvfree(m->cooling);
	if (m->logdev)
		dm_put_device(m->ti, m->logdev);
	if (m->meta)
		dm_put_device(m->ti, m->meta);
	if (m->leg)
		dm_put_device(m->ti, m->leg);
	kfree_sensitive(m->secret);
	kfree(m->secret_name);
}
