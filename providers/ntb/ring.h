/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ring.h - records to the peer and from it, over two pieces of memory. What is in here knows of no bridge: signals, and what else a
 * bridge does, are asked for by struct nt_ring_ops, so that tests can join two rings over plain memory.
 *
 * The opening comment of ring.c has states, orders and locks.
 */
#ifndef _KFI_NTB_RING_H
#define _KFI_NTB_RING_H

#include <linux/crc32c.h>
#include <linux/interrupt.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include "dma.h"
#include "link.h"

#define NT_BATCHES	4U	/* under way at once, a power of two; another one is being filled */
#define NT_SLOTS	(2 * NT_BATCHES)
#define NT_RUNS		16U	/* pieces of the shadow in a batch */
#define NT_TRIES	3U	/* times that a batch is given to an engine that fails */
#define NT_WARY		16U	/* batches that go by the engine, when a change to it has cost a round trip */
#define NT_LAG		4U	/* of what it can hold, the part of the ring that was handled and not told of */
#define NT_BUDGET	64U	/* records handled before others run */
#define NT_LINGER	8U	/* looks in vain of who has said that it is awake */

struct nt_ring;

/**
 * struct nt_ring_ops - what a ring wants done
 * @signal:	wake the peer, by CPU. Under the ring's lock
 * @burst:	records and callbacks of records follow, or have (@begin false). In the tasklet, no lock held; or NULL
 * @record:	one from the peer, see nt_rx_record(). No lock held
 * @room:	there is room again after nt_ring_want(). In the tasklet, no lock held; or NULL
 * @fault:	the ring can't go on: take it down, soon. Under the ring's lock or none; more than once
 */
struct nt_ring_ops {
	void (*signal)(struct nt_ring *ring);
	void (*burst)(struct nt_ring *ring, bool begin);
	void (*record)(struct nt_ring *ring, const struct ntw_rec *rec, const void *body, size_t len);
	void (*room)(struct nt_ring *ring);
	void (*fault)(struct nt_ring *ring, const char *why);
};

/** struct nt_run - @len bytes of the ring, from byte @at of it on, that have to be copied out of the shadow */
struct nt_run {
	u32	at, len;
};

/** enum nt_step - how far a batch has been given to the engine */
enum nt_step {
	NT_STEP_PAYLOAD,
	NT_STEP_RUNS,
	NT_STEP_LINE,
	NT_STEP_SIGNAL,
	NT_STEP_GIVEN
};

/**
 * struct nt_batch - records that go together, with one index and one signal
 * @recs:	in order
 * @end:	of the last of them in the ring
 * @bytes:	to be copied
 * @load:	bytes of payload that the engine has to fetch
 * @signal:	the peer is to be woken
 * @hushed:	it is not, for it is awake
 * @written:	by CPU, at once
 * @told:	its line has failed: perhaps the peer has got it, and then it has ended what it had lent for these records
 * @tries:	how often it was given
 * @runs: pieces, in @run
 * @line:	where its control line is made up; @line_dma: for the engine
 * @step:	enum nt_step; @next: run that is next
 * @rec:	record that is next; @it: its payload from there on, @done bytes of which have been given; @place: place that is next,
 *		@place_done bytes of which have been filled
 */
struct nt_batch {
	struct list_head	recs;
	u64			end;
	u32			bytes;
	u64			load;
	bool			signal;
	bool			hushed;
	bool			written;
	bool			told;
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
};

/** enum nt_ring_state - of a ring */
enum nt_ring_state {
	NT_OFF,		/* nothing moves; no callback comes */
	NT_UP,
	NT_ENDING	/* what the engine has is waited for; nothing is given to it, nothing is handled */
};

/** struct nt_out - where our bytes go; all under the ring's lock */
struct nt_out {
	void			*shadow;	/* the peer's ring, as we write it; @shadow_dma: for the engine; @shadow_len: bytes allocated */
	dma_addr_t		shadow_dma;
	size_t			shadow_len;
	u32			size;		/* of the peer's ring */
	bool			crc;		/* records have a CRC, so all bytes of a record pass the CPU */
	u32			yours;		/* the peer's incarnation, which tags what we write */
	u64			placed;		/* bytes of the ring that have a record; acked <= produced <= placed <= acked + size */
	u64			produced;	/* ... and that a line has been made up for */
	u64			arrived;	/* ... that the engine has written, with the line that tells of them */
	u64			acked;		/* ... that the peer has handled */
	u64			said;		/* @produced in the last line that was given to the engine, or written; @said_at: in jiffies */
	unsigned long		said_at;
	u32			serial;		/* of the last line */
	u32			by_engine, by_cpu;	/* ... that went that way */
	u32			echoed;		/* ... that the peer has seen */
	bool			direct;		/* the last line was the CPU's */
	unsigned int		wary;		/* batches that the CPU is not to write */
	bool			switching;	/* the CPU's last line is to be echoed before the engine begins */
	u64			switches;	/* times that it was to be; with @acked: what the peer has given, if it owes */
	struct list_head	waiting;	/* records without room */
	unsigned int		filling;	/* slots, modulo NT_SLOTS: this one takes records ... */
	unsigned int		giving;		/* ... from here on they wait for the engine */
	unsigned int		oldest;		/* ... from here on it has them */
	struct nt_batch		batch[NT_SLOTS];
	struct ntw_line		*lines;		/* NT_SLOTS of them; @lines_dma: for the engine */
	dma_addr_t		lines_dma;
	bool			due;		/* a line has to go out, whether or not there are records */
	bool			wake;		/* ... with a signal */
	bool			wanted;		/* @room is to be called, see nt_ring_want() */
	bool			go;		/* what is being filled is to leave: of who has placed something there one says that no more follows */
	bool			failing;	/* a copy has failed: what is behind it is waited for, then given again */
	bool			corked;		/* the tasklet will push */
	bool			asking;		/* the peer is to answer; asked first by the line with the serial @ask */
	u32			ask;
	bool			awake;		/* the last line has said that we are */
	bool			leaving;	/* a line has said that we no longer are, and none with a signal since */
	bool			quiet;		/* the peer got no signal of the line with the serial @unrung, and has not echoed it */
	u32			unrung;
};

/**
 * struct nt_in - where the peer's bytes come; the tasklet's alone, but @tell, @told, @seen, @repeated, @answered and @awake: under the
 * ring's lock
 */
struct nt_in {
	const void		*ring;		/* memory that the peer writes */
	u32			size;
	const struct ntw_ctl	*ctl;		/* the same: the control page */
	u32			mine;		/* our incarnation, which tags what is for us */
	bool			crc;		/* records have a CRC */
	bool			torn;		/* a record has had a wrong one */
	u64			got;		/* handled */
	u64			avail;		/* produced, as we have seen it; told <= tell <= got <= avail <= got + size */
	u64			tell;		/* @got at the end of a run */
	u64			told;		/* ... in the last line that we made up */
	u64			pair_consumed;	/* what the peer had consumed of ours ... */
	u64			pair_produced;	/* ... before it had produced this */
	u64			hear;		/* our records up to here have been handled, and what was said before about them */
	bool			ack;		/* one handled since the last line wants to be told of it */
	u32			answered;	/* the peer's serial that asked last */
	u32			serial, echo;	/* the peer's, as last seen */
	u32			seen;		/* ... at the end of a run */
	u32			repeated;	/* ... in the last line that we made up */
	bool			awake;		/* the tasklet will look again: set at the end of a run, under the lock */
	u8			idle;		/* its looks in vain */
};

/**
 * struct nt_ring - both directions
 * @lock:	posts and the tasklet: @out, @engine, @state. Taken with bottom halves off. Inside of it: locks of the DMA engine's driver
 * @ops:	see there
 * @state:	enum nt_ring_state; READ_ONCE() without the lock where it may be old
 * @lost:	the bridge has said, in a hard interrupt, that its link has gone or changed: nothing that has come since is believed
 * @lives:	odd: it lives, or not all has been called back yet. Changed by nt_ring_on() and nt_ring_off()
 * @direct:	batches of up to so many bytes are written by CPU when nothing is under way
 * @crc:	records have a CRC, both ways: agreed upon before nt_ring_on()
 * @bells:	the peer's; @bell: the one that is next
 * @unheard:	records that the engine is done with; the tasklet's, and nt_ring_off()'s when that can't run
 * @tasklet:	handles, completes, gives
 * @idle:	woken when the engine has nothing more in NT_ENDING, and when the ring is off
 * @stats:	the ring's part; each of them is changed either under the lock or by the tasklet alone
 */
struct nt_ring {
	spinlock_t			lock;
	const struct nt_ring_ops	*ops;
	u8				state;
	bool				lost;
	u32				lives;
	u32				direct;
	bool				crc;
	unsigned int			bells, bell;
	struct nt_out			out;
	struct nt_in			in;
	struct list_head		unheard;
	struct tasklet_struct		tasklet;
	wait_queue_head_t		idle;
	struct nt_engine		engine;
	struct nt_stats			stats;
};

/* Memory and a channel. Process context, may sleep. */
int nt_ring_init(struct nt_ring *ring, const struct nt_ring_ops *ops, int node, bool use_dma, struct workqueue_struct *wq);
void nt_ring_exit(struct nt_ring *ring);
/* A shadow for a ring of @size bytes at the peer. Process context, off. */
int nt_ring_shadow(struct nt_ring *ring, u32 size);
/*
 * nt_ring_on() - begin, from 0
 * @inbound: our inbound memory, with a ring of @size bytes; @mine, @yours: incarnations. Process context, off; nt_engine_open() came before
 */
void nt_ring_on(struct nt_ring *ring, const void *inbound, u32 size, u32 mine, u32 yours);
/*
 * nt_ring_end() - give nothing more to the engine, and wait until it has nothing of ours. Process context.
 * Return: 0, or -ETIMEDOUT after @ms: to be called again.
 */
int nt_ring_end(struct nt_ring *ring, unsigned int ms);
/* After nt_ring_end() and when the peer can't write any more: all records end with -ENOTCONN. Process context */
void nt_ring_off(struct nt_ring *ring);

/* What is on its way to the peer, see link.h */
int nt_ring_post(struct nt_ring *ring, struct nt_rec *rec, bool more);
int nt_ring_put(struct nt_ring *ring, const struct kvec *vec, unsigned int n, struct iov_iter *iter, u32 len, bool more);
void nt_ring_want(struct nt_ring *ring);
void nt_ring_kick(struct nt_ring *ring);
bool nt_ring_unpost(struct nt_ring *ring, struct nt_rec *rec);
void nt_ring_drain(struct nt_ring *ring);
/*
 * A sign of life, which any line is: none if one has gone in the last @ms milliseconds. And the last word to a peer of that incarnation, written
 * at once: only after nt_ring_end(), or before nt_ring_on()
 */
void nt_ring_beat(struct nt_ring *ring, unsigned int ms);
void nt_ring_bye(struct nt_ring *ring, u32 yours);
/* The peer's words, as they are now */
u32 nt_ring_peer_serial(const struct nt_ring *ring);
bool nt_ring_peer_bye(const struct nt_ring *ring);
/* Does it owe us an answer that only it can give? @given changes with each that it gives. */
bool nt_ring_peer_owes(struct nt_ring *ring, u64 *given);

/* Something may have come. Any context, hard interrupts too. */
static inline void nt_ring_look(struct nt_ring *ring)
{
	if (READ_ONCE(ring->state) == NT_UP)
		tasklet_schedule(&ring->tasklet);
}

/* piece.c: the first contiguous piece of @it, which is not empty; up to @max bytes, @it moves on */
void nt_piece_take(struct iov_iter *it, size_t max, struct nt_piece *piece);

/* The batch in a slot; the one that takes records */
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
 * Payload that the engine fetches from where it lies. A CRC is that of a copy: the owner of the
 * payload may still change it (writeback).
 */
static inline bool nt_loads(const struct nt_out *out, const struct nt_rec *rec)
{
	return rec->len && (rec->count || (!out->crc && rec->len > NT_COPY));
}

/*
 * The check of a record: @head with its own check being the position and the incarnation, @len
 * bytes at @body behind it
 */
static inline u32 nt_rec_check(const struct ntw_rec *head, const void *body, u32 len)
{
	return crc32c(crc32c(~0U, head, sizeof(*head)), body, len);
}

/* shadow.c: under the lock. What waits is placed, as far as there is room. */
void nt_shadow_fill(struct nt_ring *ring);
/* Under the lock: is there room for long records? */
bool nt_shadow_roomy(const struct nt_out *out);
/* The peer is to pass over the place of a record whose payload could not be copied. */
void nt_shadow_void(struct nt_out *out, const struct nt_rec *rec);

/* out.c: under the lock. What waits is placed, what is placed is given to the engine as far as both have room. */
void nt_out_push(struct nt_ring *ring);
/* What the engine is done with is added to @done. Return: false: it can't go on. */
bool nt_out_reap(struct nt_ring *ring, struct list_head *done);
/* All records that have not been reaped, in their order. The engine has none of them. */
void nt_out_abandon(struct nt_ring *ring, struct list_head *all);
/* From the beginning, for a peer of this incarnation */
void nt_out_reset(struct nt_ring *ring, u32 yours);

/* in.c: the tasklet's. The peer's words; records, up to a budget. Return: false: it is no peer that follows the protocol. */
bool nt_in_look(struct nt_ring *ring);
bool nt_in_take(struct nt_ring *ring);
/* Is there, or may there soon be, more? */
bool nt_in_more(struct nt_ring *ring);
void nt_in_reset(struct nt_ring *ring, const void *inbound, u32 size, u32 mine);
/* Under the lock: what the peer should be told becomes due; @more: the tasklet comes again */
void nt_in_due(struct nt_ring *ring, bool more);

#endif /* _KFI_NTB_RING_H */
