/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mirror.h - the mirror itself, and the functions of kick.c and claim.c. The other headers name the
 * files whose functions they have. README.md describes how they work together.
 */
#ifndef KFM_MIRROR_H
#define KFM_MIRROR_H

#define DM_MSG_PREFIX "kfi_mirror"

#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/completion.h>
#include <linux/device-mapper.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <kfi_runner.h>
#include "direct.h"
#include "event.h"
#include "log.h"
#include "proto.h"
#include "recent.h"
#include "repair.h"
#include "verify.h"

#define KFM_PEER_WORDS	5	/* PROVIDER NODE SERVICE PEER-NODE PEER-SERVICE */

enum kfm_cache_word { KFM_CACHE_AUTO, KFM_CACHE_OFF, KFM_CACHE_ON, KFM_CACHE_WORDS };

struct kfm_apply;
struct kfm_cmd;
struct kfm_peer;
struct kfm_write;

/**
 * struct kfm - a mirror: the target of a table
 *
 * The constructor sets the members above @noflush; they do not change until the destructor.
 *
 * @ti: target
 * @witness: this node is the witness of its peers: it has no leg, no log and no slots
 * @leg: disk with this node's copy, or NULL
 * @meta: disk with superblock and bitmaps; the leg, if @internal
 * @internal: the metadata is on the leg, behind the data
 * @meta_at: byte of @meta where the metadata begins
 * @logdev: disk with the log, or NULL: the node takes no records but direct ones. It is the leg, if
 *	@log_at is not 0
 * @log_at: byte of @logdev where the log begins; 0 unless that is the leg
 * @direct_min: records of so many bytes and more go straight to the leg of a peer that has slots
 * @single_direct: so does a shorter record while no other write is in flight, see is_direct()
 * @data_crc: the data of direct records has a CRC over each network
 * @detach: go on over the network when the leg has failed, see detach.c
 * @cache_word: the word `cache` of the table
 * @cache: what it means for this leg: as primary, let volatile caches keep writes until a flush
 * @csum: as primary, send only those parts of a resynchronisation whose hash differs at the peer
 *	(csum.c)
 * @reads_quorum: policy quorum: reads wait while this primary may not be the only one, see read.c
 * @start: random number that STATE names. It changes when the cache of the leg may have lost
 *	something: with the power of this node, or with an error of the leg. A table takes it over
 *	from the one before it; resume writes it
 * @policy: what happens when a peer in sync is lost
 * @timeout: a peer that sends nothing for so long is lost, jiffies
 * @secret: authorization key of the endpoints, NULL for none
 * @secret_len: bytes
 * @secret_name: description of the key that has the secret, or NULL
 * @net_ns: network namespace of the caller of the constructor; held
 * @sectors: size
 * @regions: regions, of which each may differ from that of a peer
 * @shift: sectors of a region, as a power of two
 * @bitmap_bytes: bytes of a bitmap of regions: what whole blocks of the device have of it
 * @extents: extents, of which each may be active
 * @extent_shift: sectors of an extent, as a power of two
 * @active_bytes: the same of a bitmap of extents
 * @peers: the other nodes, in the order of the table; NULL behind the last one
 * @entry: in the list of all mirrors
 *
 * @noflush: dm suspends without flushing: bios end with BLK_STS_DM_REQUEUE. Written by presuspend
 *	and resume, read by the context that has the claim
 *
 * @lock: protects @arrived, @held, @unread, @cmds, @active, @events and kfm_peer.inbox. Leaf,
 *	taken with interrupts off
 * @arrived: writes that no context with the claim has taken yet
 * @held: reads that came before this node was open
 * @unread: reads that the leg has failed and that the worker has not taken yet
 * @cmds: commands that the worker has not taken yet
 * @active: the mirror may be claimed: true between resume and suspend
 * @runner: its claim is the right to use the members below @events; a note means that
 *	something was handed over, see claim.c
 * @worker_due: the worker could not claim the mirror
 * @worker_notes: for the worker while it has the claim: kfi_runner_begin()
 * @work: the worker
 * @tick: queues @work after a while, when @active
 * @events: what is to be reported to user space
 *
 * The context that has the claim uses the other members: mostly the worker. Status reads some
 * of them without a lock.
 *
 * @sb: superblock as on the device; formatted if @formatted
 * @primary: role
 * @open: reads go to the leg, or to a peer if @detached: since this node was promoted, each other
 *	copy that can be promoted has become the same (read.c). map() reads it without the claim
 * @meta_failed: the metadata device has failed
 * @leg_failed: a write to the leg has failed, and this node does not detach, or what it needs
 *	without a leg has failed, too: no write, no session until the next resume
 * @detached: this primary goes on without its leg, and its copy is worthless. It stays so until
 *	the next resume, at which the superblock decides. map() reads it without the claim
 * @only: during a suspend with noflush: the peer whose copy is the data of this detached node
 * @meta_from: byte of @meta where the metadata was, until it is whole at @meta_at: a mirror that
 *	grows, and has it on the leg
 * @tag: what the last block of a leg with metadata says; all zeros: nothing
 * @tag_at: byte of the leg where that is
 * @label_unread: the label of the leg could not be read, so it is not written
 * @wrote_last: regions of the leg that were written last (rest.c)
 * @wrote_at: the place of the last one, never wrapped
 * @page: buffer for a block of metadata
 * @maps: the same for KFM_MAP_BLOCKS blocks of a bitmap
 * @followed: the primary with which this secondary had its last session, until that ends it
 * @was_insync: this secondary was in sync in a session since it was resumed, and nothing has
 *	invalidated its copy since
 * @log: own log
 * @direct: own slots
 * @writes: writes, and parts of resynchronisations and a read that is repaired
 * @slots: how many
 * @bios: writes in @flight that have a bio
 * @zeroes: of these, the ones that write zeroes
 * @free: unused writes
 * @queue: bios that have no struct kfm_write yet
 * @flight: writes, in the order of their records
 * @reads: parts of a resynchronisation that are being read from the leg
 * @repairs: &kfm_fetch.w and &kfm_verify.w, if there are such
 * @hashes: parts that this secondary compares with the data of its primary (csum.c)
 * @draining: writes whose bio has ended while the provider still owns their buffer
 * @repair: reads that are being repaired, or that a peer serves for a detached node
 * @verify: the comparison of the copies
 * @serve: what the primary has requested from this secondary, for each of KFM_PATCHES patches
 * @again: a post failed with -EAGAIN, so the worker runs again soon
 * @rate: limit of a resynchronisation in KiB a second, 0 for none
 * @rate_min: the same while the application writes; 0: as at other times
 * @wrote: time at which the worker last saw a write of the application, jiffies; or a moment ago,
 *	if that is long ago
 * @touched: extents that were written since @renewed, or are to stay active for another reason
 * @renewed: time at which @touched began, jiffies
 * @cooling: active extents that are being cleaned
 * @cool_from: number of the first flush that may end that, see flush.c; 0 if none is needed
 * @hand: extent at which the search for the next ones begins, if too many are active
 * @numbered: number of the next write, flush or part, from 1. A table that takes over the role goes
 *	on with it
 * @logged: number of the last write that was posted to a log with its number
 * @written: a flush with this number or a later one began after all writes that have ended. With
 *	@flushed also read by map()
 * @flushed: number of the last flush that this leg, and all peers that are needed, have had
 * @flush_last: number of the last flush that has begun
 * @flushing: a flush of this node's own is in flight
 * @recent: ranges of the last records that were applied, see recent.c
 * @recent_direct: the same of the last direct records
 * @counted_gen: policy quorum: the last generation that more than half have stored, as far as this
 *	primary knows, or in which it has written by force
 * @announced: the last generation that this primary has sent in SYNCED
 * @asked: number of the last question whether the peers are there; PING has it, and PONG repeats it
 * @resumed: time of the last resume, jiffies
 * @reads_until: with @reads_quorum: so long no other node is promoted, jiffies. map() reads it
 *	without the claim
 * @quorate_at: time at which this primary had more than half, jiffies
 * @noquorum: it has not had that for a while
 * @stepping: it is about to become secondary, because others have gone on without it
 * @left: this secondary has said that it leaves, and takes part in no session until it is resumed,
 *	or promoted
 * @leave: `leave` that waits for the primary
 * @leave_by: time at which it stops waiting, jiffies
 * @promote: promotion that waits for the answers of the peers
 * @promote_by: time at which the promotion stops waiting, jiffies
 * @stop: suspend that waits for the worker to finish
 * @applies: writes of records to the leg
 * @applying: records being written to the leg, plus 1
 * @applied: completed when these writes have ended
 * @apply_err: first error of these writes
 */
struct kfm {
	struct dm_target	*ti;
	bool			witness;
	struct dm_dev		*leg;
	struct dm_dev		*meta;
	bool			internal;
	u64			meta_at;
	struct dm_dev		*logdev;
	u64			log_at;
	u32			direct_min;
	bool			single_direct;
	bool			data_crc;
	bool			detach;
	enum kfm_cache_word	cache_word;
	bool			cache;
	bool			csum;
	bool			reads_quorum;
	u64			start;
	enum kfm_policy		policy;
	unsigned long		timeout;
	u8			*secret;
	unsigned int		secret_len;
	char			*secret_name;
	struct net		*net_ns;
	u64			sectors;
	u32			regions;
	u32			shift;
	u32			bitmap_bytes;
	u32			extents;
	u32			extent_shift;
	u32			active_bytes;
	struct kfm_peer		*peers[KFM_PEERS + 1];
	struct list_head	entry;

	bool			noflush;

	spinlock_t		lock;
	struct bio_list		arrived;
	struct bio_list		held;
	struct bio_list		unread;
	struct list_head	cmds;
	bool			active;
	struct kfi_runner	runner;
	bool			worker_due;
	long			worker_notes;
	struct work_struct	work;
	struct delayed_work	tick;
	struct kfm_events	events;

	struct kfm_super	sb;
	bool			formatted;
	bool			primary;
	bool			open;
	bool			meta_failed;
	bool			leg_failed;
	bool			detached;
	struct kfm_peer		*only;
	u64			meta_from;
	struct kfm_label	tag;
	u64			tag_at;
	bool			label_unread;
	u32			wrote_last[KFM_SAMPLES];
	u32			wrote_at;
	void			*page;
	u8			*maps;

	struct kfm_peer		*followed;
	bool			was_insync;
	struct kfm_log		log;
	struct kfm_direct	direct;

	struct kfm_write	*writes;
	unsigned int		slots;
	unsigned int		bios;
	unsigned int		zeroes;
	struct list_head	free;
	struct bio_list		queue;
	struct list_head	flight;
	struct list_head	reads;
	struct list_head	repairs;
	struct list_head	hashes;
	struct list_head	draining;
	struct kfm_repair	repair;
	struct kfm_serve	*serve;
	struct kfm_verify	verify;
	bool			again;

	u64			numbered;
	u64			logged;
	u64			written;
	u64			flushed;
	u64			flush_last;
	bool			flushing;
	struct kfm_recent	recent[KFM_WINDOW];
	struct kfm_recent	recent_direct[KFM_WINDOW];

	unsigned int		rate;
	unsigned int		rate_min;
	unsigned long		wrote;
	unsigned long		*touched;
	unsigned long		renewed;
	unsigned long		*cooling;
	u64			cool_from;
	u32			hand;

	u64			counted_gen;
	u64			announced;
	u64			asked;
	unsigned long		resumed;
	unsigned long		reads_until;
	unsigned long		quorate_at;
	bool			noquorum;
	bool			stepping;

	bool			left;
	struct kfm_cmd		*leave;
	unsigned long		leave_by;
	struct kfm_cmd		*promote;
	unsigned long		promote_by;
	struct kfm_cmd		*stop;

	struct kfm_apply	*applies;
	atomic_t		applying;
	struct completion	applied;
	int			apply_err;
};

/* kick.c */
extern struct workqueue_struct *kfm_wq, *kfm_open_wq, *kfm_store_wq;
int kfm_queues_init(void);
void kfm_queues_exit(void);
void kfm_kick(struct kfm *m);
void kfm_signal(struct kfm *m, bool *busy);
u64 kfm_random(void);

/* claim.c */
bool kfm_claim_work(struct kfm *m);
void kfm_unclaim_work(struct kfm *m);
void kfm_run_atomic(struct kfm *m, struct bio_list *legs);

/* Does the provider or the block layer own the object of @busy? If not, its results are valid. */
static inline bool kfm_busy(const bool *busy)
{
	return smp_load_acquire(busy);	/* pairs with kfm_signal(), record_done(), leg_end_io() */
}

static inline unsigned int kfm_peer_count(const struct kfm *m)
{
	unsigned int n = 0;

	while (m->peers[n])
		n++;
	return n;
}

static inline const char *kfm_name(const struct kfm *m)
{
	return dm_table_device_name(m->ti->table);
}

#endif /* KFM_MIRROR_H */
