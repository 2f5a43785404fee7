/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ring.h - records to the peer and from it, over two pieces of memory.
 *
 * A ring does not depend on a bridge. It requests signals, and whatever else a bridge does, through
 * struct nt_ring_ops, so that tests can connect two rings over plain memory. The opening comment of
 * ring.c describes states, orders and locks.
 *
 * Life of a record: nt_ring_post() -> (waits for room) -> in the ring -> sent() -> handled(). It is
 * the caller's again after handled(), or after sent() if it has no handled(). Each comes exactly
 * once for each nt_ring_post() that has returned 0, sent() first; both have an error if the link
 * goes down before. The callbacks of one ring come in the order of the posts, one at a time from
 * its tasklet, with none of its locks held, so they may post.
 */
#ifndef _KFI_NTB_RING_H
#define _KFI_NTB_RING_H

#include <linux/crc32c.h>
#include <linux/interrupt.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/uio.h>
#include <linux/wait.h>
#include "dma.h"

/* batches that may be under way, a power of two; one more is being filled */
#define NT_BATCHES	4U
#define NT_SLOTS	(2 * NT_BATCHES)
#define NT_RUNS		16U	/* pieces of the shadow in a batch */
#define NT_TRIES	3U	/* times that a batch is given to an engine that fails */
/* batches for the engine alone after a change from CPU to engine has cost a round trip */
#define NT_CPU_BACKOFF	16U
/* the peer is told when 1/NT_LAG of the ring was handled without being reported */
#define NT_LAG		4U
#define NT_BUDGET	64U	/* records handled in one run of the tasklet */
#define NT_LINGER	8U	/* runs that find nothing before a side is not awake any more */

/*
 * Payload up to this length is copied by CPU through the shadow. With a CRC, so is all payload that
 * does not go to places.
 */
#define NT_COPY		1024U
/*
 * Bytes of payload in a batch with more than one record. The limit exists because a line, which is
 * a sign of life, waits for the payload.
 */
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

/* Flags of a record that the caller sets */
#define NT_REC_ACK	0x01	/* the peer has to signal that it has handled the record */
/* set by the link: the record takes no room and is not sent; only sent() is called */
#define NT_REC_LOCAL	0x80

/**
 * struct nt_rec - one record; embedded in the object that waits for it
 * @entry: entry in lists of the link
 * @sent: called when nothing reads the memory of @iter any more, and nothing writes to @place for
 *	this record; or NULL
 * @handled: called when the peer has handled the record and all before it, and its payload is in
 *	its place; or NULL. @err: -EIO: a copy failed, and the peer has not received the record;
 *	-ENOTCONN: the link went down, and it is not known whether the peer has received the record.
 *	From the call on, the record is the caller's again
 * @rec: header, with type, bits and conn filled in; the link fills in the rest of struct ntw_rec
 * @head: the header, and what follows it in the record
 * @head_len: bytes of @head, sizeof(struct ntw_rec) to NTW_HEAD_MAX
 * @flags: NT_REC_*
 * @count: entries of @place; 0: the payload follows the header in the record
 * @place: where the payload is written instead, ahead of the record; valid until sent()
 * @iter: payload (ITER_SOURCE): kvec or bvec, kernel memory that is valid until sent(). Not
 *	advanced
 * @len: bytes of the payload, or 0
 * @err: for the link: a copy failed
 * @waits: for the link: the record waits for room, and can be taken back
 * @span: for the link: bytes of the ring that the record takes
 * @end: for the link: position in the ring behind the record
 */
struct nt_rec {
	struct list_head	entry;
	void			(*sent)(struct nt_rec *rec, int err);
	void			(*handled)(struct nt_rec *rec, int err);
	union {
		struct ntw_rec	rec;
		u8		head[NTW_HEAD_MAX];
	};
	u16			head_len;
	u8			flags;
	u16			count;
	const struct nt_place	*place;
	struct iov_iter		iter;
	size_t			len;
	/* the following members are the link's */
	int			err;
	bool			waits;
	u32			span;
	u64			end;
};

/**
 * struct nt_stats - counters of a ring since it was initialised
 * @records_out: records that were posted, without fillers
 * @records_in: records that were received, without fillers
 * @bytes_out: payload and headers, through the ring or to places
 * @bytes_in: bytes of the ring that were handled
 * @batches: batches
 * @lines: lines that were sent without records
 * @signals: signals that were sent
 * @signals_saved: signals that were not sent because the peer was polling
 * @full: times that records had to wait for room
 * @crc_errors: records of the peer with a wrong CRC
 * @dma_errors: copies that failed
 * @protocol_errors: violations of the protocol by the peer
 */
struct nt_stats {
	u64	records_out, records_in;
	u64	bytes_out, bytes_in;
	u64	batches, lines;
	u64	signals, signals_saved;
	u64	full;
	u64	crc_errors;
	u64	dma_errors, protocol_errors;
};

struct nt_ring;

/**
 * struct nt_ring_ops - functions of its bridge that a ring calls
 * @signal: wake the peer, by CPU. Called under the ring's lock
 * @burst_begin: records and callbacks of records follow. Called in the tasklet without a lock; or
 *	NULL
 * @burst_end: no more of them follow. Called as @burst_begin, and NULL if that is
 * @record: handle a record of the peer. @rec: copy of its first bytes; @body: the @len bytes that
 *	follow, in memory that the PEER MAY STILL CHANGE: copy, then check. Valid during the call.
 *	Called in the tasklet without a lock. The peer sees what is posted during the call before it
 *	sees that this record was handled, unless the post has to wait for room or for the engine.
 *	So a record that was handled may still be answered
 * @room: there is room again after nt_ring_want(). Called in the tasklet without a lock; or NULL
 * @fault: the ring can't go on and has to be taken down soon. Called under the ring's lock or
 *	without it, possibly more than once
 */
struct nt_ring_ops {
	void (*signal)(struct nt_ring *ring);
	void (*burst_begin)(struct nt_ring *ring);
	void (*burst_end)(struct nt_ring *ring);
	void (*record)(struct nt_ring *ring, const struct ntw_rec *rec, const void *body,
		       size_t len);
	void (*room)(struct nt_ring *ring);
	void (*fault)(struct nt_ring *ring, const char *why);
};

/**
 * struct nt_run - @len bytes of the ring, from its byte @at on, to be copied out of the shadow
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
 * struct nt_batch - records that are sent together, with one index and one signal
 * @recs: the records, in order
 * @end: position in the ring behind the last of them
 * @bytes: bytes of the ring to be copied
 * @load: bytes of payload that the engine has to fetch
 * @signal: the peer has to be woken
 * @suppressed: the signal was left out, because the peer is awake
 * @written: the CPU has written the batch
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
	bool			signal;
	bool			suppressed;
	bool			written;
	bool			announced;
	u8			tries;
	u8			step;
	unsigned int		runs, next;
	struct nt_run		run[NT_RUNS];
	struct ntw_line		*line;
	dma_addr_t		line_dma;
	struct nt_rec		*rec;
	struct iov_iter		it;
	size_t			done;
	unsigned int		place;
	u32			place_done;
	u64			low, high;
};

/**
 * enum nt_ring_state - state of a ring
 */
enum nt_ring_state {
	NT_OFF,		/* nothing is copied, and no callback is called */
	NT_UP,
	/* nt_ring_end() waits for copies; none is started, and no record is handled */
	NT_ENDING
};

/**
 * struct nt_out - the direction to the peer; the ring's lock protects all of it
 * @shadow: the peer's ring as we write it
 * @shadow_dma: address of @shadow for the engine
 * @shadow_len: bytes that were allocated
 * @size: bytes of the peer's ring
 * @crc: records have a CRC, so the CPU reads all bytes of a record
 * @yours: the peer's incarnation, with which the words for the peer are tagged
 * @placed: position up to which there are records; acked <= produced <= placed <= acked + size
 * @produced: position up to which lines were made that announce records
 * @arrived: position up to which records, and the lines that announce them, were written
 * @acked: position up to which the peer has handled records
 * @announced: @produced in the last line that was given to the engine or written
 * @announced_at: time of that line, in jiffies
 * @serial: serial number of the last line
 * @by_engine: serial number of the last line that was copied by the engine
 * @by_cpu: serial number of the last line that was written by the CPU
 * @echoed: serial number of the last line that the peer has seen
 * @direct: the last line was written by the CPU
 * @cpu_backoff: number of further batches that the CPU does not write
 * @switching: the peer has to echo the CPU's last line before the engine starts
 * @switches: number of times that @switching was set; see nt_ring_peer_owes()
 * @waiting: records that wait for room
 * @filling: slot that takes records. Slots count up and are used modulo NT_SLOTS
 * @giving: first slot that waits for the engine
 * @oldest: first slot that the engine has not completed
 * @batch: the slots
 * @lines: NT_SLOTS lines
 * @lines_dma: address of @lines for the engine
 * @due: a line has to be sent, whether or not there are records
 * @wake: that line needs a signal
 * @wanted: ops->room() has to be called, see nt_ring_want()
 * @go: the batch that is being filled has to be sent: a record in it was posted without "more"
 * @failing: a copy has failed. When all copies behind it were reaped, the batches are given again
 * @corked: the tasklet is running, and calls nt_out_push() at its end
 * @asking: the peer has to answer; all lines have NTW_ASK
 * @ask: serial number of the first line that asks
 * @awake: the last line has NTW_AWAKE
 * @leaving: a line without NTW_AWAKE has followed one with it, and no line with a signal has
 *	followed yet
 * @quiet: the peer got no signal for the line with the serial number @unrung, and has not echoed it
 * @unrung: see @quiet
 */
struct nt_out {
	void			*shadow;
	dma_addr_t		shadow_dma;
	size_t			shadow_len;
	u32			size;
	bool			crc;
	u32			yours;
	u64			placed;
	u64			produced;
	u64			arrived;
	u64			acked;
	u64			announced;
	unsigned long		announced_at;
	u32			serial;
	u32			by_engine, by_cpu;
	u32			echoed;
	bool			direct;
	unsigned int		cpu_backoff;
	bool			switching;
	u64			switches;
	struct list_head	waiting;
	unsigned int		filling;
	unsigned int		giving;
	unsigned int		oldest;
	struct nt_batch		batch[NT_SLOTS];
	struct ntw_line		*lines;
	dma_addr_t		lines_dma;
	bool			due;
	bool			wake;
	bool			wanted;
	bool			go;
	bool			failing;
	bool			corked;
	bool			asking;
	u32			ask;
	bool			awake;
	bool			leaving;
	bool			quiet;
	u32			unrung;
};

/**
 * struct nt_in - the direction from the peer
 * @ring: the ring, which the peer writes
 * @size: bytes of the ring
 * @ctl: the control page, which the peer writes
 * @mine: our incarnation, with which the words for us are tagged
 * @crc: records have a CRC
 * @torn: a record had a wrong CRC
 * @got: bytes that were handled
 * @avail: bytes that the peer has produced, as last read; reported <= to_report <= got <= avail <=
 *	got + size
 * @to_report: @got at the end of the tasklet's last run
 * @reported: @to_report when the last line was made
 * @pair_consumed: bytes that the peer had consumed of ours ...
 * @pair_produced: ... before it had produced this many bytes
 * @handled_to: the peer has handled our records up to this position, and we have handled all
 *	answers that the peer had sent before it reported that
 * @ack: a record that was handled since the last line asks for a signal
 * @answered: serial number of the last line with NTW_ASK of the peer that was answered
 * @serial: the peer's serial number, as last read
 * @echo: our serial number that the peer has seen, as last read
 * @seen: @serial at the end of the tasklet's last run
 * @repeated: @seen when the last line was made
 * @awake: the tasklet will run again by itself; set at the end of its run
 * @idle: number of runs that have found nothing
 *
 * The tasklet alone uses it, except for @to_report, @reported, @seen, @repeated, @answered and
 * @awake, which the ring's lock protects.
 */
struct nt_in {
	const void		*ring;
	u32			size;
	const struct ntw_ctl	*ctl;
	u32			mine;
	bool			crc;
	bool			torn;
	u64			got;
	u64			avail;
	u64			to_report;
	u64			reported;
	u64			pair_consumed;
	u64			pair_produced;
	u64			handled_to;
	bool			ack;
	u32			answered;
	u32			serial, echo;
	u32			seen;
	u32			repeated;
	bool			awake;
	u8			idle;
};

/**
 * struct nt_ring - both directions
 * @lock: protects @out, @engine, @state and the members of @in that struct nt_in names; taken by
 *	posts and by the tasklet, with bottom halves off. Locks of the DMA engine's driver are taken
 *	inside
 * @ops: see struct nt_ring_ops
 * @state: enum nt_ring_state; READ_ONCE() without the lock where an old value does no harm
 * @lost: the bridge has reported, in a hard interrupt, that its link is gone or has changed.
 *	Records that arrive after that are not handled
 * @lives: odd while the ring is on, and until all callbacks of its end were called. Changed by
 *	nt_ring_on() and nt_ring_off()
 * @direct: batches of at most this many bytes are written by the CPU when no copy is under way
 * @crc: records have a CRC in both directions; set before nt_ring_on()
 * @bell: the doorbell that is rung next
 * @out: the direction to the peer
 * @in: the direction from the peer
 * @unhandled: records that were copied, and that the peer has not handled. Used by the tasklet, and
 *	by nt_ring_off() when the tasklet can't run any more
 * @tasklet: handles records, completes copies and starts copies
 * @idle: woken when the engine has no copies left, and when the ring is off
 * @engine: copies to the peer
 * @stats: counters; each is changed either under the lock or by the tasklet alone
 */
struct nt_ring {
	spinlock_t			lock;
	const struct nt_ring_ops	*ops;
	u8				state;
	bool				lost;
	u32				lives;
	u32				direct;
	bool				crc;
	unsigned int			bell;
	struct nt_out			out;
	struct nt_in			in;
	struct list_head		unhandled;
	struct tasklet_struct		tasklet;
	wait_queue_head_t		idle;
	struct nt_engine		engine;
	struct nt_stats			stats;
};

/* Allocate memory and a channel. Process context, may sleep */
int nt_ring_init(struct nt_ring *ring, const struct nt_ring_ops *ops, int node, bool use_dma,
		 struct workqueue_struct *wq);
void nt_ring_exit(struct nt_ring *ring);
/* Prepare a shadow for a peer's ring of @size bytes. Process context, while the ring is off */
int nt_ring_shadow(struct nt_ring *ring, u32 size);
/*
 * nt_ring_on() - start the ring, at position 0
 * @inbound: our inbound memory, with a ring of @size bytes; @mine, @yours: incarnations
 *
 * Process context, while the ring is off; nt_engine_open() was called before.
 */
void nt_ring_on(struct nt_ring *ring, const void *inbound, u32 size, u32 mine, u32 yours);
/*
 * nt_ring_end() - start no more copies, and wait until the engine has completed all of ours
 *
 * If that takes longer than @ms milliseconds, the copies are aborted. Process context.
 * Return: 0; -ETIMEDOUT: the engine may still have copies, so the function has to be called again.
 */
int nt_ring_end(struct nt_ring *ring, unsigned int ms);
/*
 * End all records with -ENOTCONN, after nt_ring_end() and when the peer can't write any more.
 * Process context
 */
void nt_ring_off(struct nt_ring *ring);

/* ---- records: any context but hard interrupts ---- */

/*
 * nt_ring_post() - send a record
 * @more: another record follows at once: this one may wait for it, or for nt_ring_kick()
 *
 * The peer handles records in the order of the posts. The function neither sleeps nor spins for
 * room: a record without room is queued.
 *
 * Return: 0; on error no callback is called: -ENOTCONN: the link is down; -EMSGSIZE: the record is
 * longer than nt_ring_room(); -EINVAL: we can't write to the places, or they are shorter than the
 * payload.
 */
int nt_ring_post(struct nt_ring *ring, struct nt_rec *rec, bool more);
/*
 * nt_ring_put() - send a record that is copied at once
 * @vec: @n parts; the first begins with a struct ntw_rec, as &nt_rec.head
 * @iter: payload of @len bytes, which is advanced; or NULL
 * @more: another record follows at once: this one may wait for it, or for nt_ring_kick()
 *
 * The order of this record and of posts is kept. The whole record has at most nt_ring_room() bytes.
 * The function is called in softirq, or with bottom halves off.
 *
 * Return: 0; -EAGAIN: there is no room, or the link is down, and nothing was done.
 */
int nt_ring_put(struct nt_ring *ring, const struct kvec *vec, unsigned int n, struct iov_iter *iter,
		u32 len, bool more);
/* Let ops->room() be called when there is room, after nt_ring_put() has found none */
void nt_ring_want(struct nt_ring *ring);
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
 * Maximum length of a record to this peer, with its header. It is constant while the ring is on,
 * and at least 2048
 */
static inline u32 nt_ring_room(const struct nt_ring *ring)
{
	return ntw_rec_max(ring->out.size);
}

/* ---- for the link's work item ---- */

/*
 * nt_ring_beat() sends a line, as a sign of life, unless one was sent in the last @ms milliseconds.
 * nt_ring_bye() tells a peer with the incarnation @yours that this life ends. It writes at once, so
 * it may be called only after nt_ring_end(), or before nt_ring_on().
 */
void nt_ring_beat(struct nt_ring *ring, unsigned int ms);
void nt_ring_bye(struct nt_ring *ring, u32 yours);
/* Read the words of the peer as they are now */
u32 nt_ring_peer_serial(const struct nt_ring *ring);
bool nt_ring_peer_bye(const struct nt_ring *ring);
/*
 * Return: true if the peer owes an answer, without which this side can't make progress. *@given
 * changes with each answer
 */
bool nt_ring_peer_owes(struct nt_ring *ring, u64 *given);

/* Let the tasklet look for records and completed copies. Any context, hard interrupts too */
static inline void nt_ring_look(struct nt_ring *ring)
{
	if (READ_ONCE(ring->state) == NT_UP)
		tasklet_schedule(&ring->tasklet);
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

/*
 * Return: true if the engine reads the payload from the consumer's memory. With a CRC, payload that
 * does not go to places is copied first, because its owner may change it after the CRC was computed
 * (writeback).
 */
static inline bool nt_loads(const struct nt_out *out, const struct nt_rec *rec)
{
	return rec->len && (rec->count || (!out->crc && rec->len > NT_COPY));
}

/*
 * Compute the CRC of a record. @head has the position and the incarnation in the place of its
 * check; @len bytes follow it at @body.
 */
static inline u32 nt_rec_check(const struct ntw_rec *head, const void *body, u32 len)
{
	return crc32c(crc32c(~0U, head, sizeof(*head)), body, len);
}

/* shadow.c, under the lock: place waiting records as far as there is room */
void nt_shadow_fill(struct nt_ring *ring);
/* Return: true if there is room for long records. Under the lock */
bool nt_shadow_roomy(const struct nt_out *out);
/* Turn a record whose payload could not be copied into a filler, which the peer skips */
void nt_shadow_void(struct nt_out *out, const struct nt_rec *rec);

/*
 * out.c, under the lock: place waiting records and give placed records to the engine, as far as
 * there is room
 */
void nt_out_push(struct nt_ring *ring);
/* Add the records that the engine has completed to @done. Return: false if the ring can't go on */
bool nt_out_reap(struct nt_ring *ring, struct list_head *done);
/* Move all records that were not reaped to @all, in order. The engine has no copies any more */
void nt_out_abandon(struct nt_ring *ring, struct list_head *all);
/* Start at position 0, for a peer of this incarnation */
void nt_out_reset(struct nt_ring *ring, u32 yours);

/*
 * in.c, in the tasklet: read the peer's words, and handle records up to a budget. Return: false if
 * the peer does not follow the protocol
 */
bool nt_in_look(struct nt_ring *ring);
bool nt_in_take(struct nt_ring *ring);
/* Return: true if the tasklet has to run again, because there are or may soon be more records */
bool nt_in_more(struct nt_ring *ring);
void nt_in_reset(struct nt_ring *ring, const void *inbound, u32 size, u32 mine);
/*
 * Under the lock: make a line due if there is something to report to the peer. @more: the tasklet
 * runs again
 */
void nt_in_due(struct nt_ring *ring, bool more);

#endif /* _KFI_NTB_RING_H */
