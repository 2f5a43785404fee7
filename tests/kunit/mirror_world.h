/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mirror_world.h - a node of kfi_mirror without disks, wires and device-mapper: the test is its
 * peers, and calls the worker. Sessions, writes, commands, bitmaps and status are those of
 * ulps/mirror, whose source is compiled into this module.
 */
#ifndef _KFI_KUNIT_MIRROR_WORLD_H
#define _KFI_KUNIT_MIRROR_WORLD_H

#include <linux/device-mapper.h>
#include "suite.h"
__printf(1, 2) void mw_hear(const char *fmt, ...);
/* A test that tries each bit of a block would print thousands of lines. */
#undef DMERR
#undef DMINFO
#define DMERR(...)	do { mw_hear(__VA_ARGS__); DMERR_LIMIT(__VA_ARGS__); } while (0)
#define DMINFO(...)	DMINFO_LIMIT(__VA_ARGS__)
#define dm_table_device_name(table)	((void)sizeof(table), "mirror")	/* there is none */
#include "../../ulps/mirror/bits.h"
#include "../../ulps/mirror/command.h"
#include "../../ulps/mirror/copy.h"
#include "../../ulps/mirror/csum.h"
#include "../../ulps/mirror/flush.h"
#include "../../ulps/mirror/label.h"
#include "../../ulps/mirror/leave.h"
#include "../../ulps/mirror/leg.h"
#include "../../ulps/mirror/log.h"
#include "../../ulps/mirror/meta.h"
#include "../../ulps/mirror/mirror.h"
#include "../../ulps/mirror/net.h"
#include "../../ulps/mirror/peer.h"
#include "../../ulps/mirror/primary.h"
#include "../../ulps/mirror/promote.h"
#include "../../ulps/mirror/quorum.h"
#include "../../ulps/mirror/rail.h"
#include "../../ulps/mirror/read.h"
#include "../../ulps/mirror/recent.h"
#include "../../ulps/mirror/record.h"
#include "../../ulps/mirror/refuse.h"
#include "../../ulps/mirror/repair.h"
#include "../../ulps/mirror/rest.h"
#include "../../ulps/mirror/resync.h"
#include "../../ulps/mirror/ring.h"
#include "../../ulps/mirror/run.h"
#include "../../ulps/mirror/secondary.h"
#include "../../ulps/mirror/session.h"
#include "../../ulps/mirror/status.h"
#include "../../ulps/mirror/table.h"
#include "../../ulps/mirror/told.h"
#include "../../ulps/mirror/verify.h"
#include "../../ulps/mirror/write.h"
#include "../../ulps/mirror/zero.h"

#define MW_REGIONS	64	/* 8 of them are an extent */
#define MW_META		(KFM_BITMAP_AT + 2 * KFM_PEERS * KFM_BLOCK)
#define MW_OFFERED	0x5a	/* each byte of a patch of a peer */
#define MW_NODE		100	/* number of the first peer; the others follow */

/**
 * struct mw - the world
 * @m: the node, with peers that have endpoints
 * @test: the test
 * @sent: the last message of each type that a peer was sent
 * @by: by which rail
 * @count: how many of them
 * @posted: records that a peer was sent and has not acknowledged, in their order
 * @nr_posted: how many
 * @slots: that a peer offers for direct records
 * @no_log: a peer has no log, and only these
 * @takes_zeroes: a peer says so in GRANT
 * @receive: takes the next message of a peer; NULL: mw_say() brings them
 * @close: closes an endpoint; NULL: it is closed, if that is one of several rails
 * @newer: the peers are not of the first version, so they may be sent what that does not know
 * @read_err: result of a read from a patch of a peer
 * @io_err: result of all I/O of the metadata device, and of the log's head
 * @io_left: writes to the metadata device until @io_err becomes -EIO; 0: it does not
 * @io_lands: the write that fails then is done all the same
 * @meta: the metadata device, as it is read
 * @durable: what of it is durable
 * @label: blocks of the leg behind the data
 * @blocks: how many
 * @id: UUID of the device, for device-mapper
 * @watched: that covers what may differ at any time
 * @replay_err: result of each kfm_log_replay() from now on
 * @apply_err: result of each kfm_log_apply() from now on
 * @log_opened: how often this node would have given keys to a peer
 * @became_memory: the leg has become memory that can tear a sector
 * @leg_waits: what is submitted to the leg ends when the test says so
 * @legs: what has not ended
 * @works: zeroes that the leg has not begun to write
 * @nr_works: how many
 * @zero_limit: sectors that the leg sets to zero by itself in one bio
 * @zero_bios: bios that have done that, or have written zeros
 * @leg: first word of each region of the leg
 * @leg_safe: the same without what only its volatile cache has
 * @flush_err: result of a flush of the leg that the worker waits for
 * @csum_flushes: of these, the ones behind a comparison
 * @leg_fails_late: the oldest of @legs fails in the middle of kfm_writes_run()
 * @block: bytes of a logical block of the leg; 0: a sector
 * @in_use: a file system has the device
 * @events: uevents, with a blank behind each
 * @flight: writes and reads that have not ended, as bits
 * @done: those that have ended well, as bits; what was set before stays
 * @requeued: those that dm has taken back, as bits
 * @bios: the writes and reads
 * @vecs: their vectors
 * @reads: what device-mapper has for the reads
 * @page: their data, KFM_WRITE_MAX bytes from the page of its number on. Zeroes leave the first
 *	word of it in each region, so that the test knows whose they are
 */
struct mw {
	struct kfm	m;
	struct kunit	*test;
	struct kfm_msg	sent[KFM_PEERS][KFM_MSG_TYPES];
	struct kfm_rail	*by[KFM_PEERS][KFM_MSG_TYPES];
	unsigned int	count[KFM_PEERS][KFM_MSG_TYPES];
	struct kfm_post	*posted[KFM_PEERS][KFM_WINDOW];
	unsigned int	nr_posted[KFM_PEERS];
	struct kfm_group group[KFM_PEERS];	/* the last one of each peer */
	unsigned int	groups[KFM_PEERS];
	bool		full;			/* the provider takes no operation */
	u32		slots;
	bool		no_log;
	bool		takes_zeroes;
	int		(*receive)(struct kfm_peer *p, struct kfm_msg *msg);
	void		(*close)(struct kfm_rail *rail);
	bool		newer;
	int		read_err;
	int		io_err;
	unsigned int	io_left;
	bool		io_lands;
	u8		meta[MW_META], durable[MW_META];
	u8		label[2][KFM_BLOCK];
	unsigned int	blocks;
	const char	*id;
	bool		watched;
	int		replay_err;
	int		apply_err;
	unsigned int	log_opened;
	bool		became_memory;
	bool		leg_waits;
	struct bio_list	legs;
	struct work_struct *works[KFM_ZEROES_FLIGHT];
	unsigned int	nr_works;
	unsigned int	zero_limit;
	unsigned int	zero_bios;
	u32		leg[MW_REGIONS];
	u32		leg_safe[MW_REGIONS];
	int		flush_err;
	unsigned int	csum_flushes;
	bool		leg_fails_late;
	u32		block;
	bool		in_use;
	char		events[512];
	unsigned long	flight;
	unsigned long	done;
	unsigned long	requeued;
	struct bio	bios[8];
	struct bio_vec	vecs[8];
	struct kfm_read	reads[8];
	void		*page;
	struct kfm_peer	peers[KFM_PEERS];
};

extern char mw_heard[256];	/* the last error in the log */

struct mw *mw_make(struct kunit *test, unsigned int peers);
void mw_version(void *block, u32 version);
struct kfm_rail *mw_rail(struct mw *w, unsigned int peer);
struct mw *mw_follower(struct kunit *test);
void mw_primary(struct mw *w, u64 gen);
void mw_cache(struct mw *w);
void mw_submit(struct bio *bio);
void mw_leg_ends(struct mw *w, blk_status_t status);
void mw_run(struct mw *w);
void mw_differs(struct mw *w, unsigned int peer, u32 region);
int mw_load(struct mw *w);
void mw_seal(struct mw *w);
void mw_say(struct mw *w, unsigned int peer, struct kfm_msg msg);
void mw_state(struct mw *w, unsigned int peer, u32 state, u64 gen, u32 flags);
void mw_grant(struct mw *w, unsigned int peer);
void mw_synced_ok(struct mw *w, unsigned int peer);
void mw_join(struct mw *w, unsigned int peer, u64 gen);
struct mw *mw_synced(struct kunit *test);
struct mw *mw_with_slots(struct kunit *test, unsigned int peers, bool cache);
void mw_ack(struct mw *w, unsigned int peer);
void mw_answers(struct mw *w);
void mw_write_at(struct mw *w, unsigned int number, u64 sector, u32 bytes);
void mw_write(struct mw *w, unsigned int number, u32 region);
void mw_zero(struct mw *w, unsigned int number, u32 first, u32 regions, blk_opf_t op);
void mw_read(struct mw *w, unsigned int number);
void mw_repair_run(struct kfm *m);
void mw_flush(struct mw *w, unsigned int number);
int mw_order(struct mw *w, const char *first, const char *rest);

/* The same, and then the worker runs. */
static inline void mw_ack_run(struct mw *w, unsigned int peer)
{
	mw_ack(w, peer);
	mw_run(w);
}

static inline void mw_write_run(struct mw *w, unsigned int number, u32 region)
{
	mw_write(w, number, region);
	mw_run(w);
}

static inline void mw_zero_run(struct mw *w, unsigned int number, u32 first, u32 regions,
			       blk_opf_t op)
{
	mw_zero(w, number, first, regions, op);
	mw_run(w);
}

#endif
