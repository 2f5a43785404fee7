/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ring.h - records to the peer and from it, over two pieces of memory, each with two rings. This is
 * one queue of a link; a link may have several, which do not depend on each other.
 *
 * Records do not depend on a bridge. Signals, and whatever else a bridge does, are requested
 * through struct nt_ring_ops, so that tests can connect two sides over plain memory. The opening
 * comment of ring.c describes states, orders and locks.
 *
 * A record of the bulk ring: nt_ring_post() -> (waits for room) -> in the ring -> sent(). It is the
 * caller's again after sent(), which comes exactly once for each nt_ring_post() that has returned
 * 0, with an error if the link goes down before. The callbacks come in the order of the posts, one
 * at a time from the BH work, with no lock of the ring held, so they may post. nt_ring_put() sends
 * a record through either ring, and copies it at once.
 */
#ifndef _KFI_NTB_RING_H
#define _KFI_NTB_RING_H

#include <linux/crc32c.h>
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/uio.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include "dma.h"

/*
 * Batches that may be under way, a power of two; one more is being filled. Two keep an engine busy;
 * with more there would be fewer records in each, and more lines and signals
 */
#define NT_BATCHES	2U
#define NT_SLOTS	(2 * NT_BATCHES)
#define NT_RUNS		16U	/* pieces of the shadow in a batch */
#define NT_TRIES	3U	/* times that a batch is given to an engine that fails */
/* ops->room() is called when 1/NT_ROOM of a ring is free; of the bulk ring, twice that */
#define NT_ROOM		4U
/*
 * Records of each ring that are handled in one run of the BH work. Those of the bulk ring may be
 * long, and short ones must not wait for many of them.
 */
#define NT_BUDGET	64U
#define NT_BULK_BUDGET	8U
#define NT_PROOF	8192U	/* bytes that the engine writes as its proof; less than any ring */
#define NT_STREAM	4U	/* runs after a long record before the next one is not expected */
#define NT_LINGER	8U	/* runs that find nothing before a side is not awake any more */
/* A signal has found nothing: look again so many times, after NT_LOOK_NS, then twice as late */
#define NT_LOOKS	7U
#define NT_LOOK_NS	50000U
#define NT_LATE		16U	/* see &nt_in.score */

/*
 * Payload up to this length is copied by CPU through the shadow. With a CRC of it, so is all
 * payload that does not go to places.
 */
#define NT_COPY		1024U
/* The same for payload of the stream in several pieces, of so many bytes on average */
#define NT_PIECE	32768U
/* Bytes of payload in a batch with more than one record: its first record waits for all of them */
#define NT_LOAD_MAX	16777216U

/**
 * struct nt_place - memory of the peer to which the peer lets us write
 * @at: byte of its inbound memory, within its arena; with NTW_FLAT: byte of its flat window
 * @len: bytes
 */
struct nt_place {
	u64	at;
	u32	len;
};

/**
 * struct nt_rec - one record of the bulk ring; embedded in the object that waits for it
 * @entry: entry in lists of the ring
 * @sent: called when nothing reads the memory of @iter any more, and nothing writes to @place for
 *	this record; or NULL. @err: 0; -EIO: a copy failed, and the peer does not get the record;
 *	-ENOTCONN: the link went down, and it is not known whether the peer has received the record
 * @rec: header, with type, bits and conn filled in; the ring fills in the rest of struct ntw_rec
 * @head: the header, and what follows it in the record
 * @head_len: bytes of @head, sizeof(struct ntw_rec) to NTW_HEAD_MAX
 * @count: entries of @place; 0: the payload follows the header in the record
 * @place: where the payload is written instead, ahead of the record; valid until sent()
 * @iter: payload (ITER_SOURCE): kvec or bvec, kernel memory that is valid until sent(). Not
 *	advanced
 * @len: bytes of the payload, or 0
 * @mapping: NT_MAPPINGS entries for the ring, valid until sent(); NULL if no engine reads the
 *	payload, see nt_engine_reads()
 * @mapped: for the ring: entries of @mapping that describe the payload; 0: no channel reads it
 * @local: for the ring: the record takes no room and is not sent; only sent() is called
 * @waits: for the ring: the record waits for room, and can be taken back
 * @err: for the ring: a copy failed
 * @span: for the ring: bytes of the ring that the record takes
 * @end: for the ring: position behind the record. Valid in sent()
 */
struct nt_rec {
	struct list_head	entry;
	void			(*sent)(struct nt_rec *rec, int err);
	union {
		struct ntw_rec	rec;
		u8		head[NTW_HEAD_MAX];
	};
	u16			head_len;
	u16			count;
	const struct nt_place	*place;
	struct iov_iter		iter;
	size_t			len;
	struct nt_mapping	*mapping;
	/* the following members are the ring's */
	u16			mapped;
	bool			local;
	bool			waits;
	int			err;
	u32			span;
	u64			end;
};

/**
 * struct nt_stats - counters of a ring since it was initialised
 * @records_out: records that were sent, without fillers
 * @records_in: records that were received, without fillers
 * @bytes_out: payload and headers, through the ring or to places
 * @bytes_in: bytes of the rings that were handled
 * @batches: batches of the bulk ring
 * @messages: times that records of the message ring were written
 * @bursts: of these, without a line
 * @lines: lines without records
 * @signals: signals that were sent
 * @signals_saved: signals that were not sent because the peer was polling
 * @full: times that records had to wait for room
 * @late: signals of the peer that have overtaken what they announce
 * @crc_errors: records of the peer with a wrong CRC
 * @dma_errors: copies that failed
 * @protocol_errors: violations of the protocol by the peer
 */
struct nt_stats {
	u64	records_out, records_in;
	u64	bytes_out, bytes_in;
	u64	batches, messages, bursts, lines;
	u64	signals, signals_saved;
	u64	full;
	u64	late;
	u64	crc_errors;
	u64	dma_errors, protocol_errors;
};

struct nt_ring;

/**
 * struct nt_ring_ops - functions of the bridge that are called here
 * @signal: wake the peer, by CPU. Called under the lock
 * @burst_begin: records and callbacks of records follow. Called in the BH work without a lock; or
 *	NULL
 * @burst_end: no more of them follow. Called as @burst_begin, and NULL if that is
 * @record: handle a record of the peer. @rec: copy of its first bytes; @body: the @len bytes that
 *	follow, in memory that the PEER MAY STILL CHANGE: copy, then check. Valid during the call.
 *	Called in the BH work without a lock
 * @room: there is room again after nt_ring_want(). Called in the BH work without a lock; or NULL
 * @settle: let later signals interrupt again. On return, what was written before earlier ones has
 *	arrived. Called in the BH work without a lock; or NULL
 * @fault: the rings can't go on and have to be taken down soon. Called under the lock or without
 *	it, possibly more than once
 */
struct nt_ring_ops {
	void (*signal)(struct nt_ring *ring);
	void (*burst_begin)(struct nt_ring *ring);
	void (*burst_end)(struct nt_ring *ring);
	void (*record)(struct nt_ring *ring, const struct ntw_rec *rec, const void *body,
		       size_t len);
	void (*room)(struct nt_ring *ring);
	void (*settle)(struct nt_ring *ring);
	void (*fault)(struct nt_ring *ring, const char *why);
};

/**
 * struct nt_run - @len bytes of the bulk ring, from its byte @at on, to be copied out of the shadow
 */
struct nt_run {
	u32	at, len;
};

/**
 * enum nt_step - part of a batch that is given to the engine next
 */
enum nt_step {
	NT_STEP_PAYLOAD,
	NT_STEP_RUNS,
	NT_STEP_LINE,
	NT_STEP_SIGNAL,
	NT_STEP_GIVEN
};

/**
 * struct nt_batch - records of the bulk ring that are sent together, with one line and one signal
 * @recs: the records, in order
 * @end: position in the ring behind the last of them
 * @bytes: bytes of the ring to be copied
 * @load: bytes of payload that the engine has to fetch
 * @after: position in the message ring behind the records that come before this batch
 * @cpu: the CPU copies it: the engine has failed to, or can't
 * @rings: the engine writes the signal
 * @announced: the copy of its line has failed. The peer may have received the line, and may then
 *	have reclaimed the memory that it had exposed for these records
 * @tries: number of times that the batch was given to the engine
 * @step: enum nt_step
 * @runs: number of used entries of @run
 * @next: next entry of @run to be given
 * @run: pieces of the shadow
 * @line: line of the batch
 * @line_dma: address of @line for the engine
 * @rec: record whose payload is given next
 * @it: payload of @rec that was not given yet
 * @done: bytes of the payload that were given
 * @mapping: index of the entry of &nt_rec.mapping from which the next copy reads
 * @mapping_done: bytes of that entry for which copies were given
 * @place: index of the place of @rec to which the next copy goes
 * @place_done: bytes of that place for which copies were given
 * @low: first byte of the places to which copies behind the last fence write
 * @high: end of these bytes
 */
struct nt_batch {
	struct list_head	recs;
	u64			end;
	u32			bytes;
	u64			load;
	u64			after;
	bool			cpu;
	bool			rings;
	bool			announced;
	u8			tries;
	u8			step;
	unsigned int		runs, next;
	struct nt_run		run[NT_RUNS];
	struct ntw_bulk_line	*line;
	dma_addr_t		line_dma;
	struct nt_rec		*rec;
	struct iov_iter		it;
	size_t			done;
	unsigned int		mapping, place;
	u32			mapping_done, place_done;
	u64			low, high;
};

/**
 * enum nt_ring_state - state of a ring
 */
enum nt_ring_state {
	NT_OFF,		/* nothing is copied, and no callback is called */
	NT_UP,
	/* the end is due: no copy is started, and no record is handled */
	NT_ENDING
};

/**
 * struct nt_tx - one of the two rings of the peer, as this side writes it
 * @size: bytes
 * @shadow: its contents
 * @dma: address of @shadow for the engine; not used for the message ring
 * @placed: position up to which there are records; acked <= produced <= placed <= acked + size
 * @produced: position up to which records were written to the peer, or announced by a line
 * @acked: position up to which the peer has handled records
 * @go: records that are not announced have to be sent: one of them was sent without "more"
 * @wanted: ops->room() has to be called, see nt_ring_want()
 */
struct nt_tx {
	u32		size;
	void		*shadow;
	dma_addr_t	dma;
	u64		placed;
	u64		produced;
	u64		acked;
	bool		go;
	bool		wanted;
};

/**
 * struct nt_out - the direction to the peer; the lock protects all of it
 * @tx: the rings
 * @size: size of the peer's rings, for ntw_ring_at(), and for which shadows were allocated
 * @base: byte of the peer's inbound memory at which the queue begins
 * @arena: byte of the peer's inbound memory at which its arena begins
 * @crc: records have a CRC
 * @crc_all: it covers payload that the engine could read, too, so the CPU copies that
 * @peer_id: the peer's incarnation, with which the words for the peer are tagged
 * @corked: the BH work is running, and calls nt_out_push() at its end
 *
 * Batches of the bulk ring:
 *
 * @waiting: records that wait for room
 * @arrived: position up to which records, and the lines that announce them, were copied
 * @filling: slot that takes records. Slots count up and are used modulo NT_SLOTS
 * @giving: first slot that waits for the engine
 * @oldest: first slot that the engine has not completed
 * @batch: the slots
 * @lines: NT_SLOTS lines
 * @lines_dma: address of @lines for the engine
 * @failing: a copy has failed. When all copies behind it were reaped, the batches are given again
 * @turning: the next batch waits until the peer has handled all batches before it, because the CPU
 *	copies it and the engine has copied those, or the reverse
 *
 * Lines that the CPU writes:
 *
 * @due: a line has to be sent, whether or not there are records
 * @wake: that line needs a signal
 * @line_at: time of the last line, in jiffies
 * @serial: serial number of the last line
 * @echoed: serial number of the last line that the peer has seen
 * @awaits_answer: the peer has to answer; all lines have NTW_ASK
 * @ask: serial number of the first line that asks
 * @awake: the last line has NTW_AWAKE
 * @leaving: a line without NTW_AWAKE has followed one with it, and no line with a signal has
 *	followed yet
 * @unsignalled: the peer got no signal for the line @unsignalled_serial, and has not echoed it
 * @unsignalled_serial: serial number of that line
 * @quiet: end of the last batch whose line has no signal, because the peer was awake when the
 *	engine had copied it
 */
struct nt_out {
	struct nt_tx		tx[NTW_RINGS];
	u32			size;
	u32			base;
	u32			arena;
	bool			crc;
	bool			crc_all;
	u32			peer_id;
	bool			corked;

	struct list_head	waiting;
	u64			arrived;
	unsigned int		filling;
	unsigned int		giving;
	unsigned int		oldest;
	struct nt_batch		batch[NT_SLOTS];
	struct ntw_bulk_line	*lines;
	dma_addr_t		lines_dma;
	bool			failing;
	bool			turning;

	bool			due;
	bool			wake;
	unsigned long		line_at;
	u32			serial;
	u32			echoed;
	bool			awaits_answer;
	u32			ask;
	bool			awake;
	bool			leaving;
	bool			unsignalled;
	u32			unsignalled_serial;
	u64			quiet;
};

/**
 * struct nt_rx - one of our two rings, which the peer writes
 * @ring: the ring
 * @size: its bytes
 * @got: bytes that were handled
 * @avail: bytes that the peer has produced, as last read or found; reported <= to_report <= got <=
 *	avail <= got + size
 * @cut: the last run has used its budget, so there may be more than @avail
 * @to_report: @got at the end of the BH work's last run
 * @reported: @to_report when the last line was made; bulk ring: or the last record of the message
 *	ring
 * @told: bulk ring: @reported of the last line, or record, that had a signal, or would have had one
 *	if the peer had not been awake
 *
 * The BH work alone uses it, except for @to_report, @reported and @told, which the lock protects.
 */
struct nt_rx {
	void		*ring;
	u32		size;
	u64		got;
	u64		avail;
	bool		cut;
	u64		to_report;
	u64		reported;
	u64		told;
};

/**
 * struct nt_in - the direction from the peer
 * @rx: the rings
 * @after: position in the message ring. Records of the bulk ring are handled behind it
 * @ctl: the control page, which the peer writes
 * @own_id: our incarnation, with which the words for us are tagged
 * @crc: records have a CRC
 * @crc_all: of all of their bytes
 * @torn: a record had a wrong CRC
 * @answered: serial number of the last line with NTW_ASK of the peer that was answered
 * @serial: the peer's serial number, as last read
 * @echo: our serial number that the peer has seen, as last read
 * @seen: @serial at the end of the BH work's last run
 * @busy: the BH work runs again by itself; set at the end of its run
 * @awake: it has also run again by itself before, and the peer is told
 * @idle: number of runs that have found nothing
 * @stream: runs for which long records are expected to come or go
 * @placed: nt_ring_placed() before the end of the last run
 * @lags: half of the bulk ring was handled in the last run, and the next one reports that
 * @unsettled: the peer has signalled since the last &nt_ring_ops.settle
 * @known: sum of all positions of records that the last run has found
 * @records: &nt_stats.records_in at that time
 * @msgs: the same of the message ring alone, at the end of the last run
 * @room: &nt_tx.acked of the bulk ring when the peer has last reported it with a signal
 * @early: the last news may have signals that have not come yet; until @early_until, in jiffies
 * @looks: a signal has found nothing, or one may have come for late bytes, and so many looks were
 *	planned since; 0: none is
 * @suspect: that signal announces no line, and no news before had a signal to come. So what it
 *	announces is late
 * @score: grows by two with each late signal, and is one less with each that finds something
 * @overtaken: the score has been NT_LATE: the peer is told. The work item of the link reads it
 *
 * The BH work alone uses it, except for @seen, @answered, @busy and @awake, which the lock
 * protects.
 */
struct nt_in {
	struct nt_rx		rx[NTW_RINGS];
	u64			after;
	const struct ntw_ctl	*ctl;
	u32			own_id;
	bool			crc;
	bool			crc_all;
	bool			torn;
	u32			answered;
	u32			serial, echo;
	u32			seen;
	bool			busy;
	bool			awake;
	u8			idle;
	u8			stream;
	u64			placed;
	bool			lags;
	bool			unsettled;
	u64			known, records, msgs, room;
	bool			early;
	unsigned long		early_until;
	u8			looks;
	bool			suspect;
	u8			score;
	bool			overtaken;
};

/**
 * struct nt_ring - both directions of a queue
 * @index: number of the queue in its link, 0 to NTW_QUEUES_MAX - 1; constant
 * @lock: protects @out, @engine, @state and the members of @in that struct nt_in and struct nt_rx
 *	name; taken by posts and by the BH work, with bottom halves off. Locks of the DMA engine's
 *	driver are taken inside
 * @ops: see struct nt_ring_ops
 * @state: enum nt_ring_state; READ_ONCE() without the lock where an old value does no harm. A fault
 *	of another queue also changes it from NT_UP to NT_ENDING without the lock
 * @lost: the bridge has reported, in a hard interrupt, that its link is gone or has changed.
 *	Records that arrive after that are not handled
 * @lives: odd while the rings are on, and until all callbacks of its end were called. Changed by
 *	nt_ring_on() and nt_ring_off()
 * @direct: maximum length of a record of the message ring; 0: it is not used
 * @crc: records have a CRC in both directions; set before nt_ring_on()
 * @crc_all: it covers payload that an engine could read, too, because an engine of one of the
 *	sides may hide errors, or the administrator wants it. Set before nt_ring_on()
 * @bell: the peer's doorbell bit that is rung, counted from the first one. Set before nt_ring_on()
 * @flush: the CPU reads from the window and rings then, because doorbells overtake what is written.
 *	Changed under the lock
 * @proofs: copies of nt_ring_prove() that were given in this life
 * @out: the direction to the peer
 * @in: the direction from the peer
 * @burst: bytes of records since completion handlers have run; used by the BH work alone
 * @rung: the peer has signalled since the last run. Interrupts set it, beside queueing @run
 * @look: lets the BH work look again
 * @run: the BH work, which is a work item in softirq: handles records, completes and starts copies
 * @idle: woken when the engine has no copies left, and when the rings are off
 * @engine: copies to the peer
 * @stats: counters; each is changed either under the lock or by the BH work alone
 */
struct nt_ring {
	unsigned int			index;
	spinlock_t			lock;
	const struct nt_ring_ops	*ops;
	unsigned int			state;
	bool				lost;
	u32				lives;
	u32				direct;
	bool				crc;
	bool				crc_all;
	u8				bell;
	bool				flush;
	unsigned int			proofs;
	struct nt_out			out;
	struct nt_in			in;
	u32				burst;
	bool				rung;
	struct bh_work_struct		run;
	struct hrtimer			look;
	wait_queue_head_t		idle;
	struct nt_engine		engine;
	struct nt_stats			stats;
};

/*
 * Allocate memory and a channel. @first: queue 0 of the link, see nt_engine_init(); NULL: this is
 * it. Process context, may sleep
 */
int nt_ring_init(struct nt_ring *ring, const struct nt_ring_ops *ops, int node, bool use_dma,
		 struct workqueue_struct *wq, const struct nt_ring *first);
void nt_ring_exit(struct nt_ring *ring);
/*
 * Prepare shadows for a peer that has @queues queues with rings of @size bytes. Process context,
 * while the rings are off
 */
int nt_ring_shadow(struct nt_ring *ring, unsigned int queues, u32 size);
/*
 * nt_ring_on() - start both rings, at position 0
 * @inbound: the queue in our inbound memory, with rings of @size bytes. Its message ring was 0
 *	when the peer had not written to it in this life
 * @own_id, @peer_id: incarnations
 *
 * Process context, while the rings are off; nt_engine_open() was called before.
 */
void nt_ring_on(struct nt_ring *ring, void *inbound, u32 size, u32 own_id, u32 peer_id);
/*
 * Let the engine write NT_PROOF bytes, the words &ntw_ctl.proof and its doorbell, while the rings
 * are off. Process context; called again until it returns true: all of that was given
 */
bool nt_ring_prove(struct nt_ring *ring, u32 peer_id);
/* Start no more copies, and handle no more records. Process context */
void nt_ring_end(struct nt_ring *ring);
/*
 * After nt_ring_end(), wait until the engine has completed all copies of ours. Process context.
 * Return: false if it has not after @timeout jiffies
 */
bool nt_ring_wait_idle(struct nt_ring *ring, unsigned long timeout);
/*
 * End copies that were not executed, see nt_engine_abort(). If that is not possible, the engine is
 * shown as one that hangs until it has completed them. Process context
 */
bool nt_ring_abort(struct nt_ring *ring);
/*
 * End all records with -ENOTCONN, when the engine is idle and the peer can't write any more.
 * Process context
 */
void nt_ring_off(struct nt_ring *ring);

/* ---- records: any context but hard interrupts, except where said ---- */

/*
 * nt_ring_post() - send a record through the bulk ring
 * @more: another record follows at once: this one may wait for it, or for nt_ring_kick()
 *
 * The peer handles records in the order of the posts. The function neither sleeps nor spins for
 * room: a record without room is queued.
 *
 * Return: 0; on error no callback is called: -ENOTCONN: the link is down; -EMSGSIZE: the record is
 * longer than nt_ring_room(); -EINVAL: we can't write to the places, they are shorter than the
 * payload, or the payload is longer than nt_ring_fits().
 */
int nt_ring_post(struct nt_ring *ring, struct nt_rec *rec, bool more);
/*
 * Return how many of the first @len bytes of @it one record may have as payload that the engine
 * reads: memory in many pieces takes several records. Any context
 */
size_t nt_ring_fits(const struct nt_ring *ring, struct iov_iter it, size_t len);
/*
 * nt_ring_put() - send a record that is copied at once
 * @which: the ring. A record of the bulk ring comes after all records that were put in the message
 *	ring before it. The opposite is not true: see nt_ring_acked()
 * @vec: @n parts; the first begins with a struct ntw_rec, as &nt_rec.head
 * @iter: payload of @len bytes, which is advanced; or NULL
 * @more: another record follows at once: this one may wait for it, or for nt_ring_kick()
 *
 * The order of records of one ring is kept. The whole record has at most nt_ring_room() bytes.
 * The function is called in softirq, or with bottom halves off.
 *
 * Return: 0; -EAGAIN: there is no room, or the link is down, and nothing was done.
 */
int nt_ring_put(struct nt_ring *ring, enum ntw_which which, const struct kvec *vec, unsigned int n,
		struct iov_iter *iter, u32 len, bool more);
/* Let ops->room() be called when there is room, after nt_ring_put() has found none */
void nt_ring_want(struct nt_ring *ring, enum ntw_which which);
/*
 * Position in the bulk ring behind all records that were put there, and whether the peer has
 * handled all records before a position. Records of the message ring that are sent after that come
 * after these records. Any context, without the lock.
 */
static inline u64 nt_ring_placed(const struct nt_ring *ring)
{
	return READ_ONCE(ring->out.tx[NTW_BULK].placed);
}

static inline bool nt_ring_acked(const struct nt_ring *ring, u64 position)
{
	return READ_ONCE(ring->out.tx[NTW_BULK].acked) >= position;
}

/* Send records that wait for another one to follow */
void nt_ring_kick(struct nt_ring *ring);
/* Check whether we can write to these places. Return: 0, -ENOTCONN, -EINVAL */
int nt_ring_reaches(struct nt_ring *ring, const struct nt_place *place, unsigned int n);
/*
 * nt_ring_unpost() - take back a record that waits for room
 *
 * Return: true: the record is the caller's again, and no callback is called; false: it is in the
 * ring, so its callbacks were called or will be.
 */
bool nt_ring_unpost(struct nt_ring *ring, struct nt_rec *rec);
/*
 * nt_ring_drain() - wait until the engine has completed all that was posted before and has found
 * room
 *
 * May sleep, and must not be called from a callback. On return sent() was called for these records.
 * The end of the link's life bounds the wait. For records that wait for room see nt_ring_unpost().
 */
void nt_ring_drain(struct nt_ring *ring);
/*
 * Maximum length of a record to this peer, with its header. It is constant while the rings are on,
 * and at least 2048
 */
static inline u32 nt_ring_room(const struct nt_ring *ring)
{
	return ntw_rec_max(ring->out.size);
}

/* Byte of the peer's inbound memory at which one of the peer's rings begins */
static inline u32 nt_out_at(const struct nt_out *out, enum ntw_which which)
{
	return out->base + ntw_ring_at(which, out->size);
}

/* ---- for the link's work item ---- */

/*
 * nt_ring_beat() sends a line, as a sign of life, unless one was sent in the last @ms milliseconds.
 * nt_ring_bye() tells a peer with the incarnation @peer_id that this life ends: the word
 * &ntw_line.bye. It is called for queue 0 only, after nt_ring_end(), or before nt_ring_on().
 */
void nt_ring_beat(struct nt_ring *ring, unsigned int ms);
void nt_ring_bye(struct nt_ring *ring, u32 peer_id, u32 bye);
/* Read the words of the peer as they are now */
u32 nt_ring_peer_serial(const struct nt_ring *ring);
u32 nt_ring_peer_bye(const struct nt_ring *ring);	/* 0: the peer has not said so */
/* Return: true if the peer polls, so it needs no signal */
static inline bool nt_peer_awake(const struct nt_ring *ring)
{
	return nt_ring_peer_serial(ring) & NTW_AWAKE;
}

/* Return: true if our doorbells overtake our bytes, as the peer has found */
bool nt_ring_peer_late(const struct nt_ring *ring);
/* Read from the window before each doorbell from here on. Process context */
void nt_ring_flush(struct nt_ring *ring);

/**
 * enum nt_progress - what operations may wait for
 */
enum nt_progress {
	NT_PEER_MSG,		/* the peer handles the message ring */
	NT_PEER_BULK,		/* the peer handles the bulk ring */
	NT_ENGINE,		/* the engine copies */
	NT_PROGRESS
};

/*
 * Return: true if there is something to wait for. *@done changes with each step that is made
 */
bool nt_ring_progress(struct nt_ring *ring, enum nt_progress what, u64 *done);

/* Let the BH work look for records and completed copies. Any context, hard interrupts too */
static inline void nt_ring_schedule(struct nt_ring *ring)
{
	if (READ_ONCE(ring->state) == NT_UP)
		queue_bh_work(&ring->run);
}

/* The same for a signal of the peer */
static inline void nt_ring_rung(struct nt_ring *ring)
{
	WRITE_ONCE(ring->rung, true);
	nt_ring_schedule(ring);
}

/* piece.c: take the first contiguous piece, at most @max bytes, off @it, which is not empty */
void nt_piece_take(struct iov_iter *it, size_t max, struct nt_piece *piece);
/*
 * nt_iter_crc() - compute the CRC32C, not inverted, of memory of a consumer
 * @crc: ~0, or the result for the bytes before
 * @it: the memory, kvec or bvec
 * @skip: bytes to leave out first
 * @len: bytes, all of which are in @it
 *
 * Any context.
 */
u32 nt_iter_crc(u32 crc, struct iov_iter it, size_t skip, size_t len);

/* The batch in a slot, and the batch that takes records */
static inline struct nt_batch *nt_batch(struct nt_out *out, unsigned int slot)
{
	return &out->batch[slot % NT_SLOTS];
}

static inline struct nt_batch *nt_filling(struct nt_out *out)
{
	return nt_batch(out, out->filling);
}

static inline bool nt_filled(const struct nt_out *out)
{
	const struct nt_batch *b = &out->batch[out->filling % NT_SLOTS];

	return b->bytes || !list_empty(&b->recs);
}

/* Return: true if the message ring has records that the peer was not told of */
static inline bool nt_unannounced(const struct nt_out *out)
{
	return out->tx[NTW_MSG].placed != out->tx[NTW_MSG].produced;
}

/* Return: true if records of the message ring leave now, which say what we have handled */
static inline bool nt_msgs_report(const struct nt_out *out)
{
	return out->tx[NTW_MSG].go && nt_unannounced(out);
}

/*
 * Return: true if the engine reads the payload from the consumer's memory. If the CRC covers it,
 * payload that does not go to places is copied first, because its owner may change it after the
 * CRC was computed (writeback).
 */
static inline bool nt_engine_reads(const struct nt_out *out, const struct nt_rec *rec)
{
	return rec->len && (rec->count || (!out->crc_all && rec->len > NT_COPY));
}

/*
 * Compute the CRC of a record. @head has the position and the incarnation in the place of its
 * check; @len bytes follow it at @body.
 */
static inline u32 nt_rec_check(const struct ntw_rec *head, const void *body, u32 len)
{
	return crc32c(crc32c(~0U, head, sizeof(*head)), body, len);
}

/*
 * shadow.c, under the lock: complete the headers of the message ring's records that the peer was
 * not told of. @done: what we have handled of its bulk ring
 */
void nt_shadow_seal(struct nt_out *out, u64 done);
/* Place waiting records as far as there is room */
void nt_shadow_fill(struct nt_ring *ring);
/* Return: true if there is room for long records. Under the lock */
bool nt_shadow_has_room(const struct nt_out *out, enum ntw_which which);
/* Unmap the payload of a record that has left the ring. Without the lock */
void nt_rec_unmap(struct nt_ring *ring, struct nt_rec *rec);
/* Turn a record whose payload could not be copied into a filler, which the peer skips */
void nt_shadow_to_filler(struct nt_out *out, const struct nt_rec *rec);

/* line.c, under the lock: write new records of the message ring, and a line, by CPU */
void nt_line_send(struct nt_ring *ring);
/* Wake the peer, by CPU */
void nt_line_signal(struct nt_ring *ring);
void nt_line_reset(struct nt_out *out);

/* bulk.c, under the lock: close batches, as far as there is something to send */
void nt_bulk_close(struct nt_ring *ring);
/* Give closed batches to the engine, as far as that has room */
void nt_bulk_submit(struct nt_ring *ring);
/* Add the records that the engine has completed to @done. Return: false if it can't go on */
bool nt_bulk_reap(struct nt_ring *ring, struct list_head *done);
/* Move all records that were not reaped to @all, in order. The engine has no copies any more */
void nt_bulk_abandon(struct nt_ring *ring, struct list_head *all);
void nt_bulk_reset(struct nt_out *out);

/* Return: true if the engine writes the doorbell behind the batch that it copies */
static inline bool nt_engine_signals(const struct nt_ring *ring)
{
	return ring->engine.bell_len && !ring->engine.cpu && !ring->flush && !nt_peer_awake(ring);
}

/* ring.c, under the lock: send what is there and may be sent, through both rings */
void nt_out_push(struct nt_ring *ring);

/*
 * in.c, in the BH work: read the peer's words, and handle records up to a budget. Return: false if
 * the peer does not follow the protocol
 */
bool nt_in_poll(struct nt_ring *ring);
bool nt_in_handle(struct nt_ring *ring);
/* Return: true if the BH work has to run again, because there are or may soon be more records */
bool nt_in_more(struct nt_ring *ring);
/*
 * Return: true if this run has handled records while long ones come or go. Then another run follows
 * before signals interrupt again: the consumers are busy until then, and more have come meanwhile
 */
bool nt_in_streams(struct nt_ring *ring);
/*
 * Before the BH work waits for a signal: let signals interrupt again. Return: true if records have
 * or a line have come meanwhile, whose signal may have met one that was not cleared yet
 */
bool nt_in_settle(struct nt_ring *ring);
/*
 * Plan another look if a signal has found nothing, and find out whether signals overtake what they
 * announce. @rung: the peer has signalled before this run
 */
void nt_in_late(struct nt_ring *ring, bool rung);
void nt_in_reset(struct nt_ring *ring, void *inbound, u32 size, u32 own_id);
/*
 * Under the lock: make a line due if there is something to report to the peer. @more: the BH work
 * runs again
 */
void nt_in_due(struct nt_ring *ring, bool more);

#endif /* _KFI_NTB_RING_H */
