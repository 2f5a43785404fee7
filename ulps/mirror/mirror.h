/* SPDX-License-Identifier: GPL-2.0 */
/* mirror.h - shared by the files of kfi_mirror.ko. README.md describes how they work together. */
#ifndef KFM_MIRROR_H
#define KFM_MIRROR_H

#define DM_MSG_PREFIX "kfi_mirror"

#include <linux/bio.h>
#include <linux/bitops.h>
#include <linux/blkdev.h>
#include <linux/completion.h>
#include <linux/device-mapper.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <kfi_conn.h>
#include <kfi_rma.h>
#include <kfi_runner.h>
#include "proto.h"

#define KFM_WRITES	64	/* writes in flight */
#define KFM_READS	4	/* parts of each resynchronisation in flight, besides writes */
/* Writes, parts and reads that use one peer; the last one is a read being repaired */
#define KFM_SLOTS	(KFM_WRITES + KFM_READS + 1)
#define KFM_PEER_WORDS	5	/* PROVIDER NODE SERVICE PEER-NODE PEER-SERVICE */
#define KFM_RX		16	/* receives posted */
#define KFM_TX		16	/* messages being sent */
#define KFM_IOV		(2 * KFM_GROUP)	/* head and data of each record of a post */
#define KFM_BATCH	16	/* records that are applied at a time */
#define KFM_RATE_MAX	(1u << 30)	/* KiB a second */
#define KFM_EVENTS	(16 * KFM_PEERS)	/* queued uevents; the oldest are dropped */
#define KFM_DATA_AT	PAGE_SIZE	/* data in kfm_write.buf; legs may need alignment */
/* Pages of a record: its data may begin in the middle of a page */
#define KFM_IO_PAGES	(DIV_ROUND_UP(KFM_WRITE_MAX, PAGE_SIZE) + 1)

struct kfm;
struct kfm_peer;
struct kfm_write;

/**
 * struct kfm_post - the record of a write for one peer
 * @w: the write
 * @next: next record of the group, which completes with this one; or NULL
 * @cqe: completion of the group of which this is the first record, or of the read from the peer
 * @busy: the provider owns @cqe and the buffer of @w. Cleared with release semantics
 * @err: result, valid when @busy is false
 * @seq: number of the record in the session, if it was posted
 * @state: how far the record is
 */
struct kfm_post {
	struct kfm_write	*w;
	struct kfm_post		*next;
	struct kfi_cqe		cqe;
	bool			busy;
	int			err;
	u64			seq;
	enum {
		KFM_P_NONE,	/* this peer gets no record of the write */
		KFM_P_WAIT,	/* to be posted: it was not posted in the present session */
		KFM_P_POSTED,	/* posted, and not known to be durable */
		KFM_P_ACKED,	/* durable in the log of the peer */
	} state;
};

/**
 * struct kfm_write - a write of the primary, a part of a region that is being resynchronised, or a
 * read that is being repaired
 * @entry: in one of the lists of struct kfm
 * @begin: in the list of writes that launch_writes() or launch_durable() begins
 * @m: the mirror
 * @bio: write or read to end, NULL for resynchronisation
 * @sector: first sector
 * @len: bytes
 * @number: writes and parts are numbered as they begin
 * @buf: contiguous pages. The first page ends with the heads of the records, that for the first
 *	peer last; the data follows. The data is a stable copy: the CRCs, the leg and all peers get
 *	the same bytes
 * @leg: write to the leg, or read for resynchronisation
 * @vec: its vector
 * @leg_status: its result, valid when @leg_busy is false
 * @leg_busy: the block layer owns @leg and uses @buf. Cleared with release semantics
 * @posts: the records for all peers, by kfm_peer.index
 * @own_seq: number of its record in the log of this node (own.c). 0: there is no record, because
 *	the leg needs none, or because it could not be stored; then the leg was not written either
 * @own_at: place of that record
 * @peer: the peer that is resynchronised, or that serves the read; NULL for a write
 * @round: value of kfm_peer.rs_round when this part of a resynchronisation began
 */
struct kfm_write {
	struct list_head	entry;
	struct list_head	begin;
	struct kfm		*m;
	struct bio		*bio;
	u64			sector;
	u32			len;
	u64			number;
	u8			*buf;
	struct bio		leg;
	struct bio_vec		vec;
	blk_status_t		leg_status;
	bool			leg_busy;
	struct kfm_post		posts[KFM_PEERS];
	u64			own_seq;
	u32			own_at;
	struct kfm_peer		*peer;
	u32			round;
};

/**
 * struct kfm_place - where the next record goes in the log of a peer
 * @at: offset of the record; a record that does not fit there begins at 0
 * @head: bytes used since the session began, never wrapped
 * @seq: sequence number of the record
 */
struct kfm_place {
	u32	at;
	u64	head;
	u64	seq;
};

/**
 * struct kfm_group - records that follow one another in the log of a peer, and are written at once
 * @writes: their writes
 * @count: how many
 * @at: offset of the first one
 * @bytes: room of all
 * @ends: value of &kfm_place.head after each
 * @next: place behind them
 */
struct kfm_group {
	struct kfm_write	*writes[KFM_GROUP];
	unsigned int		count;
	u32			at;
	u32			bytes;
	u64			ends[KFM_GROUP];
	struct kfm_place	next;
};

/**
 * struct kfm_ring - the primary's view of the log of a peer, or of its own log, which needs no keys
 * @key: key of the ring
 * @addr: address of its first byte
 * @len: bytes
 * @next: place of the next record
 * @tail: like &kfm_place.head: bytes that are applied and may be overwritten
 * @applied: records up to this one are in the leg
 * @ends: value of &kfm_place.head after each record that is not applied yet
 * @window_key: key of the window, see repair.c
 * @window_addr: address of its first byte
 */
struct kfm_ring {
	u64	key;
	u64	addr;
	u32	len;
	struct kfm_place next;
	u64	tail;
	u64	applied;
	u64	ends[KFM_WINDOW];
	u64	window_key;
	u64	window_addr;
};

/**
 * struct kfm_read - a read, in the memory that device-mapper allocates with each bio
 * @iter: copy of the bio's iterator, which the leg's driver advances
 * @tried: the leg has failed the read, and the worker has it
 * @failed_peers: peers that could not serve it, as bits
 * @deadline: the read fails if no peer has sent the data by then, jiffies
 */
struct kfm_read {
	struct bvec_iter	iter;
	bool			tried;
	u8			failed_peers;
	unsigned long		deadline;
};

/**
 * struct kfm_repair - the read that a primary repairs; used by the worker only
 * @waiting: next read to repair; its range is in use. No new write to the range begins before it
 * @w: range, buffer and bio of the read being repaired, or NULL
 * @step: what the repair waits for
 * @session: session in which the read was requested from &kfm_write.peer, which was in sync
 * @id: number of the request
 * @seq: the peer must have applied the records up to this one before it reads its leg
 * @crc: CRC32C of the data that the peer offers
 * @next: time to repeat the request, jiffies
 * @deadline: the next peer is asked if this one has not sent the data by then, jiffies
 * @count: reads whose data was written back to the leg
 */
struct kfm_repair {
	struct bio		*waiting;
	struct kfm_write	*w;
	enum {
		KFM_F_REQUESTED,	/* COPY was sent, the answer is due */
		KFM_F_FETCHING,		/* the window of the peer is being read */
		KFM_F_WRITING,		/* the data is being written to the leg */
	} step;
	u64			session;
	u64			id;
	u64			seq;
	u32			crc;
	unsigned long		next;
	unsigned long		deadline;
	unsigned int		count;
};

/**
 * struct kfm_serve - a read that the primary requests from a secondary; used by the worker only
 * @step: how far the request is
 * @id: number of the request
 * @sector: first sector
 * @seq: records up to this one have to be applied before the leg is read
 * @len: bytes
 * @answer_len: answer: bytes in the window, 0 if the request can't be served
 * @crc: answer: CRC32C of the bytes in the window
 * @bio: read of the leg
 * @vec: vector of @bio
 * @status: result of @bio, valid when @busy is false
 * @busy: the block layer owns @bio and the window, even if the session of the request has ended.
 *	Cleared with release semantics
 */
struct kfm_serve {
	enum {
		KFM_S_NONE,		/* there is no request */
		KFM_S_REQUESTED,	/* records have to be applied before the leg is read */
		KFM_S_READING,		/* the leg is being read */
		KFM_S_ANSWERED,		/* COPIED was sent, and is repeated on request */
	} step;
	u64		id;
	u64		sector;
	u64		seq;
	u32		len;
	u32		answer_len;
	u32		crc;
	struct bio	bio;
	struct bio_vec	vec;
	blk_status_t	status;
	bool		busy;
};

/**
 * struct kfm_log - the log of a secondary, or of a primary whose leg can tear a sector (own.c)
 * @head: as on the device; seq and at name the first record that is not applied. The worker
 *	writes it, under @lock while @mr is open; persist() reads it under @lock
 * @ring: the ring if the log is in persistent memory, otherwise a copy in RAM; peers write to it
 * @room: bytes of the device that a ring may have, all of them reachable at @ring. The device may
 *	have grown since the present log began
 * @ring_len: bytes of the ring, as in @head
 * @dax: DAX device of the log device if @ring is in persistent memory, else NULL. Set by the
 *	constructor
 * @pgmap: reference that keeps that memory in place
 * @peer: the primary; valid while @mr is open
 * @mr: @peer may write to @ring. NULL without a session
 * @bitmap_mr: the peer may read the bitmap
 * @window: KFM_WRITE_MAX bytes of the leg that the peer has asked for
 * @window_mr: the peer may read @window
 * @lock: protects @head and @recs
 * @recs: durable records, indexed by sequence number; seq is 0 in an unused entry
 * @acked: records of the log @acked_id before this number were made durable in a row, so the peer
 *	relies on them
 * @acked_id: number of a log, see @acked
 * @oldest_at: time at which the oldest record that is not applied became durable, jiffies; 0: none
 * @own: what the primary has stored in its own log
 * @failed: the leg or the log device has failed. No session until the next resume
 */
struct kfm_log {
	struct kfm_log_head	head;
	u8			*ring;
	u32			room;
	u32			ring_len;
	struct dax_device	*dax;
	struct dev_pagemap	*pgmap;
	struct kfm_peer		*peer;
	struct kfid_mr		*mr;
	struct kfid_mr		*bitmap_mr;
	u8			*window;
	struct kfid_mr		*window_mr;
	spinlock_t		lock;
	struct kfm_rec		recs[KFM_WINDOW];
	u64			acked;
	u64			acked_id;
	unsigned long		oldest_at;
	struct kfm_ring		own;
	bool			failed;
};

/**
 * struct kfm_apply - a record that is being written from the log to the leg
 * @bio: write
 * @vecs: its vector
 * @data: the data, in the ring or in @buf
 * @buf: room for a copy of the data, KFM_WRITE_MAX bytes in whole pages
 * @m: the mirror
 */
struct kfm_apply {
	struct bio	bio;
	struct bio_vec	vecs[KFM_IO_PAGES];
	u8		*data;
	u8		*buf;
	struct kfm	*m;
};

/**
 * struct kfm_rx - a receive
 * @rx: the kit's part
 * @entry: in kfm_peer.inbox while a message waits for the worker
 * @err: result, KFI_E
 */
struct kfm_rx {
	struct kfi_rxbuf	rx;
	struct list_head	entry;
	int			err;
};

/**
 * struct kfm_slot - a message that is sent
 * @p: the peer
 * @cqe: completion
 * @busy: the provider owns the slot. Cleared with release semantics
 * @data: the message
 */
struct kfm_slot {
	struct kfm_peer		*p;
	struct kfi_cqe		cqe;
	bool			busy;
	struct kfm_le_msg	data;
};

/**
 * struct kfm_net - the endpoint for a peer; used by @work while @opening is true, otherwise by the
 *	worker
 * @work: opens the endpoint. It allocates memory, which may have to wait for writes to this mirror
 * @opening: @work is queued or running. Cleared with release semantics
 * @up: @conn is open
 * @conn: the endpoint
 * @retry: time of the next attempt to open the endpoint, jiffies
 * @logged_err: error of the last attempt, so that it is logged once
 * @sent_err: result of the last message that was sent, KFI_E; written in softirq
 * @tx: messages being sent
 */
struct kfm_net {
	struct work_struct	work;
	bool			opening;
	bool			up;
	struct kfi_conn		conn;
	unsigned long		retry;
	int			logged_err;
	int			sent_err;
	struct kfm_slot		tx[KFM_TX];
};

/* States of a session (peer.c). A secondary uses only KFM_SESSION_DOWN and KFM_SESSION_UP. */
enum kfm_session_state {
	KFM_SESSION_DOWN,	/* none; a primary sends HELLO from time to time */
	KFM_SESSION_HELLO,	/* HELLO was sent, STATE or REFUSED is due */
	KFM_SESSION_ATTACH,	/* ATTACH was sent, GRANT is due */
	KFM_SESSION_BITMAP,	/* the bitmap of the peer is being read */
	KFM_SESSION_UP,		/* records may be posted */
};

/**
 * struct kfm_peer - another node, and all that a node knows of it. The context that has claimed the
 * mirror uses it, except for @inbox, and for the operations of the provider; status reads some
 * members without a lock.
 *
 * The constructor sets the members above @inbox; they do not change until the destructor.
 *
 * @m: the mirror
 * @index: place in kfm.peers
 * @provider: name of the provider, or "any"
 * @local: node and service of this end
 * @remote: node and service of the peer
 * @inbox: received messages that the worker has not taken yet. Protected by kfm.lock
 * @net: endpoint
 * @state: state of the session
 * @session: number of the session
 * @attach: the peer's copy has to be overwritten, as ATTACH announces
 * @whole: the peer's copy was whole when it described that
 * @log_gen: the generation in ATTACH, which all records of the session have
 * @synced_sent: SYNCED was sent in this session, so the peer's copy may be whole
 * @gen: generation that the peer has stored in this session, as far as this node knows
 * @began: kfm.numbered when the session began
 * @candidate_session: session number of the last HELLO before a promotion
 * @answer: answer to that
 * @insync: both nodes have recorded that the copies are the same
 * @refused: reason for which there is no session, for status
 * @live: time of the last message from the peer, jiffies
 * @next: time of the next step of the session, jiffies
 * @deadline: time at which the present step of the handshake fails, jiffies
 * @down: time at which a primary that needs the peer lost it, jiffies
 * @policy_applied: the policy was applied since @down
 * @outage: number of the present outage, which began with the end of the last session or with
 *	resume
 * @ring: log of the peer
 * @gap: a write was requeued after its record was posted, and the post may still fail; or before
 *	the peer was in sync, which needs a session that resynchronises it
 * @bits: bitmap of the peer as on the device, in the byte order of the device
 * @stale: blocks of @bits that have to be written to the device
 * @oos: regions that are out of sync: the peer's copy may differ
 * @oos_count: how many
 * @oos_start: how many when the resynchronisation began
 * @peer_bits: bitmap that the peer has sent
 * @fetch: completion of the read of @peer_bits
 * @fetch_busy: the provider owns @fetch and @peer_bits. Cleared with release semantics
 * @fetch_err: result of the read
 * @rs_from: regions before this one are in sync, or could not be read
 * @rs_tried: time of the last read that failed, jiffies
 * @rs_region: region that is being resynchronised, or kfm.regions if there is none
 * @rs_next: next sector of the region to read
 * @rs_end: sector behind the region
 * @rs_open: parts of the region that are being read or sent
 * @rs_round: number of resynchronisations that were stopped
 * @budget: bytes that a resynchronisation may read now
 * @budget_at: time at which @budget was computed, jiffies
 */
struct kfm_peer {
	struct kfm		*m;
	unsigned int		index;
	char			*provider;
	char			*local[2];
	char			*remote[2];

	struct list_head	inbox;
	struct kfm_net		net;
	enum kfm_session_state	state;
	u64			session;
	bool			attach;
	bool			whole;
	u64			log_gen;
	bool			synced_sent;
	u64			gen;
	u64			began;
	u64			candidate_session;
	enum { KFM_A_NONE, KFM_A_STATE, KFM_A_FOLLOWS, KFM_A_NO } answer;
	bool			insync;
	const char		*refused;
	unsigned long		live;
	unsigned long		next;
	unsigned long		deadline;
	unsigned long		down;
	bool			policy_applied;
	u32			outage;
	struct kfm_ring		ring;
	bool			gap;

	u8			*bits;
	unsigned long		*stale;
	unsigned long		*oos;
	u32			oos_count;
	u32			oos_start;
	u8			*peer_bits;
	struct kfi_cqe		fetch;
	bool			fetch_busy;
	int			fetch_err;

	u32			rs_from;
	unsigned long		rs_tried;
	u32			rs_region;
	u64			rs_next;
	u64			rs_end;
	unsigned int		rs_open;
	u32			rs_round;
	s64			budget;
	unsigned long		budget_at;
};

/**
 * struct kfm_cmd - a dm message, or a suspend, on the stack of its caller
 * @entry: in kfm.cmds
 * @argc: words
 * @argv: the words
 * @done: completed by the worker
 * @ret: result
 */
struct kfm_cmd {
	struct list_head	entry;
	unsigned int		argc;
	char			**argv;
	struct completion	done;
	int			ret;
};

/* An event to be reported to user space; @peer is NULL if it is not one of a single peer */
struct kfm_uevent {
	const char		*what;
	const struct kfm_peer	*peer;
	u32			outage;
};

/* The regions of a record that a secondary has applied, see recent.c */
struct kfm_recent {
	u64	seq;
	u32	first;
	u32	last;
};

/**
 * struct kfm - a mirror: the target of a table
 *
 * The constructor sets the members above @noflush; they do not change until the destructor.
 *
 * @ti: target
 * @leg: disk with this node's copy
 * @meta: disk with superblock and bitmap
 * @logdev: disk with the log
 * @leg_tears: the leg is memory that a loss of power may leave with half a sector, see own.c
 * @policy: what happens when a peer in sync is lost
 * @timeout: a peer that sends nothing for so long is lost, jiffies
 * @secret: authorization key of the endpoints, NULL for none
 * @secret_len: bytes
 * @secret_name: description of the key that has the secret, or NULL
 * @net_ns: network namespace of the caller of the constructor; held
 * @sectors: size
 * @regions: regions of the bitmap
 * @shift: sectors of a region, as a power of two
 * @bitmap_bytes: bytes of the bitmap
 * @peers: the other nodes, in the order of the table; NULL behind the last one
 * @entry: in the list of all mirrors
 *
 * @noflush: dm suspends without flushing: bios end with BLK_STS_DM_REQUEUE. Written by presuspend
 *	and resume, read by the context that has the claim
 *
 * @lock: protects @arrived, @unread, @cmds, @active, @events and kfm_peer.inbox. Leaf, taken
 *	with interrupts off
 * @arrived: writes that no context with the claim has taken yet
 * @unread: reads that the leg has failed and that the worker has not taken yet
 * @cmds: commands that the worker has not taken yet
 * @active: the mirror may be claimed: true between resume and suspend
 * @runner: its claim is the right to use the members below @event_count; a note means that
 *	something was handed over, see claim.c
 * @worker_due: the worker could not claim the mirror
 * @worker_notes: for the worker while it has the claim: kfi_runner_begin()
 * @work: the worker
 * @tick: queues @work after a while, when @active
 * @uevent_work: sends @events as uevents, which allocates memory
 * @events: events to report to user space, the oldest first
 * @event_count: how many
 *
 * The context that has the claim uses the other members: mostly the worker. Status reads some
 * of them without a lock.
 *
 * @sb: superblock as on the device; formatted if @formatted
 * @primary: role
 * @meta_failed: the metadata device has failed
 * @leg_failed: a write to the leg has failed: no write, no session until the next resume
 * @unreplayed: the log of this primary could not be replayed, or not emptied after that. A sector
 *	may be torn: no I/O until the next resume
 * @busy: writes in flight in each region
 * @page: buffer for a block of metadata
 * @was_insync: this secondary was in sync in a session since it was resumed, and nothing has
 *	invalidated its copy since
 * @log: own log
 * @writes: writes, and parts of resynchronisations and a read that is repaired
 * @slots: how many
 * @bios: writes in @flight that have a bio
 * @free: unused writes
 * @queue: bios that have no struct kfm_write yet
 * @flight: writes, in the order of their records
 * @reads: parts of a resynchronisation that are being read from the leg
 * @repairs: &kfm_repair.w, if there is one
 * @draining: writes whose bio has ended while the provider still owns their buffer
 * @repair: the read that is being repaired
 * @serve: the read that the primary requested from this secondary
 * @again: a post failed with -EAGAIN, so the worker runs again soon
 * @rate: limit of a resynchronisation in KiB a second, 0 for none
 * @cleaned: time of the last search for bits to clear, jiffies
 * @numbered: number of the next write or part
 * @recent: regions of the last records that were applied, see recent.c
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
	struct dm_dev		*leg;
	struct dm_dev		*meta;
	struct dm_dev		*logdev;
	bool			leg_tears;
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
	struct kfm_peer		*peers[KFM_PEERS + 1];
	struct list_head	entry;

	bool			noflush;

	spinlock_t		lock;
	struct bio_list		arrived;
	struct bio_list		unread;
	struct list_head	cmds;
	bool			active;
	struct kfi_runner	runner;
	bool			worker_due;
	long			worker_notes;
	struct work_struct	work;
	struct delayed_work	tick;
	struct work_struct	uevent_work;
	struct kfm_uevent	events[KFM_EVENTS];
	unsigned int		event_count;

	struct kfm_super	sb;
	bool			formatted;
	bool			primary;
	bool			meta_failed;
	bool			leg_failed;
	bool			unreplayed;
	u16			*busy;
	void			*page;

	bool			was_insync;
	struct kfm_log		log;

	struct kfm_write	*writes;
	unsigned int		slots;
	unsigned int		bios;
	struct list_head	free;
	struct bio_list		queue;
	struct list_head	flight;
	struct list_head	reads;
	struct list_head	repairs;
	struct list_head	draining;
	struct kfm_repair	repair;
	struct kfm_serve	serve;
	bool			again;

	u64			numbered;
	struct kfm_recent	recent[KFM_WINDOW];

	unsigned int		rate;
	unsigned long		cleaned;

	struct kfm_cmd		*promote;
	unsigned long		promote_by;
	struct kfm_cmd		*stop;

	struct kfm_apply	*applies;
	atomic_t		applying;
	struct completion	applied;
	int			apply_err;
};

/* Each peer in turn */
#define kfm_for_each_peer(p, m) \
	for (struct kfm_peer *const *at_ = (m)->peers; ((p) = *at_); at_++)

/* main.c */
extern struct workqueue_struct *kfm_open_wq;
void kfm_kick(struct kfm *m);
void kfm_signal(struct kfm *m, bool *busy);
void kfm_event(struct kfm *m, const char *what);
void kfm_peer_event(const struct kfm_peer *p, const char *what);
u64 kfm_random(void);
bool kfm_leg_became_memory(const struct kfm *m);

/* secret.c */
#ifdef CONFIG_KEYS
int kfm_secret_get(struct kfm *m, const char *name);
#else
static inline int kfm_secret_get(struct kfm *m, const char *name)
{
	m->ti->error = "A secret needs a kernel with keys (CONFIG_KEYS)";
	return -EOPNOTSUPP;
}
#endif

/* claim.c */
bool kfm_claim_work(struct kfm *m);
void kfm_unclaim_work(struct kfm *m);
void kfm_run_atomic(struct kfm *m, struct bio_list *legs);

/* status.c */
extern const char * const kfm_policies[KFM_POLICIES];
void kfm_status(struct dm_target *ti, status_type_t type, unsigned int flags, char *result,
		unsigned int maxlen);

/* meta.c */
u32 kfm_bio_add(struct bio *bio, void *buf, u32 len);
int kfm_io(struct block_device *bdev, blk_opf_t op, u64 byte, void *buf, u32 len);
int kfm_super_load(struct kfm *m);
int kfm_super_save(struct kfm *m);
int kfm_bits_load(struct kfm_peer *p);
int kfm_bits_flush(struct kfm *m);
void kfm_bit_set(struct kfm *m, u32 region);
bool kfm_bit_durable(const struct kfm *m, u32 region);
bool kfm_bits_any(const struct kfm_peer *p);
void kfm_bits_clear(struct kfm_peer *p);
int kfm_bits_clean(struct kfm *m);
void kfm_oos_set(struct kfm_peer *p, u32 region);
void kfm_oos_clear(struct kfm_peer *p, u32 region);
int kfm_oos_fill(struct kfm_peer *p);
int kfm_oos_merge(struct kfm_peer *p);
void kfm_oos_load(struct kfm *m);

/* log.c */
int kfm_log_load(struct kfm *m);
int kfm_log_start(struct kfm *m, u64 id, u64 gen, u64 node);
int kfm_log_trim(struct kfm *m, u64 seq, u32 at);
bool kfm_log_sound(const struct kfm *m, u32 at, u32 len);
int kfm_log_store(struct kfm *m, u32 at, u32 len);
int kfm_log_open(struct kfm_peer *p);
void kfm_log_close(struct kfm *m);
int kfm_log_replay(struct kfm *m);
void kfm_log_apply(struct kfm *m, bool all);
int kfm_log_alloc(struct kfm *m);
bool kfm_log_unmoved(const struct kfm *m);
void kfm_log_free(struct kfm *m);

/* ring.c */
void kfm_ring_begin(struct kfm_peer *p, const struct kfm_msg *grant);
bool kfm_ring_take(const struct kfm_ring *ring, struct kfm_place *next, u32 room, u32 *at);
void kfm_ring_applied(struct kfm_ring *ring, u64 seq);

/* own.c */
bool kfm_own_full(const struct kfm *m, u32 len);
void kfm_own_take(struct kfm_write *w);
int kfm_own_store(struct kfm_write *w);
bool kfm_own_due(const struct kfm *m);
int kfm_own_trim(struct kfm *m);
int kfm_own_empty(struct kfm *m);
int kfm_own_resume(struct kfm *m);

/* record.c */
ssize_t kfm_net_fetch(struct kfm_peer *p, u64 key, u64 addr, u32 len);
ssize_t kfm_net_read(struct kfm_peer *p, struct kfm_write *w);
ssize_t kfm_net_write(struct kfm_peer *p, const struct kfm_group *g);

/* net.c */
extern const struct kfi_conn_ops kfm_conn_ops;
void kfm_net_work(struct work_struct *work);
void kfm_net_close(struct kfm_peer *p);
int kfm_net_region(struct kfm_peer *p, void *buf, size_t len, u64 access,
		   int (*persist)(struct kfid_mr *mr, u64 offset, size_t len),
		   struct kfid_mr **mr);
void kfm_net_send(struct kfm_peer *p, const struct kfm_msg *msg);
void kfm_net_receive(struct kfm_peer *p);

/* write.c */
int kfm_writes_alloc(struct kfm *m);
void kfm_writes_free(struct kfm *m);
void kfm_writes_run(struct kfm *m);
bool kfm_writes_run_atomic(struct kfm *m, struct bio_list *legs);
void kfm_writes_lost(struct kfm_peer *p);
bool kfm_writes_idle(const struct kfm *m);
struct kfm_write *kfm_write_get(struct kfm *m, struct kfm_peer *p, u64 sector, u32 len);
void kfm_write_put(struct kfm_write *w);
void kfm_write_leg(struct kfm_write *w, blk_opf_t op);
void *kfm_write_head(const struct kfm_peer *p, const struct kfm_write *w);

/* resync.c */
void kfm_resync_run(struct kfm *m);
void kfm_resync_reads(struct kfm *m);
void kfm_resync_stop(struct kfm_peer *p);
void kfm_resync_part(struct kfm_write *w);

/* repair.c */
void kfm_repair_run(struct kfm *m);
bool kfm_repair_waits(const struct kfm *m, const struct bio *bio);
void kfm_repair_copied(struct kfm_peer *p, const struct kfm_msg *msg);
void kfm_repair_requested(struct kfm_peer *p, const struct kfm_msg *msg);
void kfm_repair_serve(struct kfm *m);

/* recent.c */
void kfm_recent_announce(const struct kfm_peer *p, struct kfm_msg *msg);
int kfm_recent_add(struct kfm *m, const struct kfm_rec *recs, unsigned int count);
void kfm_recent_clean(struct kfm_peer *p, const struct kfm_msg *msg);
void kfm_recent_begin(struct kfm *m);

/* secondary.c */
void kfm_secondary_hello(struct kfm_peer *p, const struct kfm_msg *msg);
void kfm_secondary_message(struct kfm_peer *p, const struct kfm_msg *msg);

/* peer.c */
void kfm_peer_send(struct kfm_peer *p, u16 type, u32 arg, u64 session);
bool kfm_node_matches(const struct kfm_peer *p, u64 node);
bool kfm_other_node(const struct kfm_peer *p);
void kfm_peer_message(struct kfm_peer *p, const struct kfm_msg *msg);
void kfm_peers_tick(struct kfm *m);
void kfm_peer_lost(struct kfm_peer *p, int err);
void kfm_peers_end(struct kfm *m);
void kfm_peers_leg_failed(struct kfm *m);
void kfm_peer_hello(struct kfm_peer *p, u32 flags);
enum kfm_verdict kfm_peer_compare(const struct kfm_peer *p, const struct kfm_msg *state);
int kfm_pair_change(struct kfm_peer *p, const struct kfm_pair *pair);
int kfm_go_alone(struct kfm_peer *p);

/* command.c */
void kfm_commands(struct kfm *m);
void kfm_promote_answer(struct kfm_peer *p, const struct kfm_msg *msg);
void kfm_promote_tick(struct kfm *m);
int kfm_invalidate(struct kfm *m);
int kfm_writes_missing(struct kfm *m);
int kfm_rate_parse(const char *word, unsigned int *kib);
int kfm_command(struct kfm *m, unsigned int argc, char **argv);

/* Does the provider or the block layer own the object of @busy? If not, its results are valid. */
static inline bool kfm_busy(const bool *busy)
{
	return smp_load_acquire(busy);	/* pairs with kfm_signal(), record_done(), leg_end_io() */
}

/* Is there an endpoint? */
static inline bool kfm_net_up(const struct kfm_peer *p)
{
	return !kfm_busy(&p->net.opening) && p->net.up;
}

/* What is stored about the peer */
static inline struct kfm_pair *kfm_pair(const struct kfm_peer *p)
{
	return &p->m->sb.pairs[p->index];
}

/* Does the primary write without this peer? */
static inline bool kfm_is_alone(const struct kfm_peer *p)
{
	return kfm_pair(p)->flags & KFM_PAIR_ALONE;
}

static inline unsigned int kfm_peer_count(const struct kfm *m)
{
	unsigned int n = 0;

	while (m->peers[n])
		n++;
	return n;
}

static inline u32 kfm_region(const struct kfm *m, u64 sector)
{
	return sector >> m->shift;
}

static inline const char *kfm_name(const struct kfm *m)
{
	return dm_table_device_name(m->ti->table);
}

#endif /* KFM_MIRROR_H */
