/* SPDX-License-Identifier: GPL-2.0 */
/*
 * link.h - one bridge, as the endpoints see it: records in order to the peer and from it, payload straight to a place in the
 * peer's memory, and a piece of our own memory that the peer can write to.
 *
 * Contexts. Everything marked "any" may be called in process context and softirq, not in hard interrupts, and takes no lock for longer than
 * a copy of NT_COPY bytes, or with a CRC of a record. Callbacks (&nt_rec.sent, &nt_rec.heard, nt_rx_record()) come one at a time from the link's
 * tasklet, with none of the link's locks held: they may post. nt_conns_link_up() and nt_conns_link_down() come from the link's work item and
 * may sleep, never both at once, and always in turn.
 *
 * Life of a record: nt_post() -> (waits for room) -> in the ring -> sent() -> heard(). After heard(), or after sent() if it has no heard(), it
 * is the caller's again. Each comes
 * exactly once for each nt_post() that has returned 0: sent() first, both with an error if the link goes before. Those of one link
 * come in the order of the posts.
 *
 * Life of a link: nt_link_add() -> nt_link_start() -> { nt_conns_link_up() -> nt_conns_link_down() } ... -> nt_link_stop() -> nt_link_remove().
 */
#ifndef _KFI_NTB_LINK_H
#define _KFI_NTB_LINK_H

#include <linux/list.h>
#include <linux/types.h>
#include <linux/uio.h>
#include "wire.h"

struct device;
struct ntb_dev;
struct nt_inbound;
struct nt_link;

#define NT_COPY		1024U	/* payload up to this goes through the shadow, by CPU; with a CRC all that is not placed does */
#define NT_LOAD_MAX	16777216U	/* payload of a batch that has more than one record: a line says that we live, and waits for it */

/**
 * struct nt_place - memory of the peer's that it lets us write to
 * @at:		byte of its inbound memory, within its arena; with NTW_FLAT: of what its flat window shows
 * @len:	bytes
 */
struct nt_place {
	u64	at;
	u32	len;
};

/* Flags of a record, the caller's */
#define NT_REC_ACK	0x01	/* heard() is waited for: the peer is asked to signal it */
#define NT_REC_LOCAL	0x80	/* the link's own: takes no room and is not sent; its end is sent() */

/**
 * struct nt_rec - one record on its way; embedded in what waits for it
 * @entry:	link's
 * @sent:	its memory (@iter) is free: nothing reads it any more, and with @place nothing writes there on its behalf. Or NULL
 * @heard:	the peer has handled the record, and all before it, and its payload is in its place. @err: -EIO: a copy failed, the peer has heard
 *		nothing of it; -ENOTCONN: the link went, and it is not known whether the peer has. The record is the caller's again. Or NULL
 * @head:	header, with &ntw_rec.type, bits and conn filled in; the rest of struct ntw_rec is the link's
 * @head_len:	bytes of it, sizeof(struct ntw_rec) to NTW_HEAD_MAX
 * @flags:	NT_REC_*
 * @count:	entries of @place; 0: the payload follows the header in the record
 * @place:	where the payload goes instead, ahead of the record; stays until sent()
 * @iter:	payload (ITER_SOURCE): kvec or bvec, kernel memory that stays until sent(). Not advanced
 * @len:	bytes of it, or 0
 * @err:	link's: a copy failed
 * @waits:	link's: it is waiting for room, and can be taken back
 * @span:	link's: bytes that it takes of the ring
 * @end:	link's: where it ends in the ring
 */
struct nt_rec {
	struct list_head	entry;
	void			(*sent)(struct nt_rec *rec, int err);
	void			(*heard)(struct nt_rec *rec, int err);
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
	/* the link's */
	int			err;
	bool			waits;
	u32			span;
	u64			end;
};

/**
 * struct nt_stats - what a link has done since it was added; only grows
 * @records_out: @records_in: records, without fillers
 * @bytes_out:	payload and headers, through the ring or to places
 * @bytes_in:	bytes of the ring that were handled
 * @descriptors: copies given to the DMA engine; @dma_bytes: bytes of them; @cpu_bytes: bytes written through the bridge by CPU
 * @batches:	batches; @lines: control lines without a batch
 * @signals:	sent; @signals_saved: not sent, for the peer looked by itself; @interrupts: received
 * @full:	times that records had to wait for room; @engine_full: ... for room in the engine
 * @unmapped:	copies of memory that could not be mapped for the engine: the CPU has copied it first
 * @bounced:	bytes of the peer's that the endpoints had to copy by CPU, @placed: that its engine has put in their place; see nt_payload_in()
 * @crc_errors:	records of the peer whose bytes, or placed payload, were not what it had written
 * @dma_errors: copies that failed; @protocol_errors: things that no peer says; @ups: times that the link has come up; @resets: and gone
 */
struct nt_stats {
	u64	records_out, records_in;
	u64	bytes_out, bytes_in;
	u64	descriptors, dma_bytes, cpu_bytes;
	u64	batches, lines;
	u64	signals, signals_saved, interrupts;
	u64	full, engine_full;
	u64	unmapped, crc_errors;
	u64	bounced, placed;
	u64	dma_errors, protocol_errors, ups, resets;
};

/* --- life: process context, may sleep. Called by main.c alone --- */

/* Parameters are checked; workqueue, debugfs. */
int nt_links_init(void);
void nt_links_exit(void);
/* @priv: whose it is, see nt_link_priv(). Nothing is called back before nt_link_start(). ERR_PTR */
struct nt_link *nt_link_add(struct ntb_dev *ntb, void *priv);
/* Enables the bridge's link; from now on it comes up when it can. */
int nt_link_start(struct nt_link *link);
/*
 * All of them go down as by nt_link_stop(), for this kernel ends; it is called for each of them all
 * the same, if the module goes.
 */
void nt_links_halt(void);
/* It goes down, with nt_conns_link_down() if it was up, and does not come up again. On return no callback runs or comes. */
void nt_link_stop(struct nt_link *link);
/* After nt_link_stop(), and when all of its arena has been given back: frees it, and its memory. */
void nt_link_remove(struct nt_link *link);

/* --- what it is: any --- */

void *nt_link_priv(const struct nt_link *link);
const char *nt_link_name(const struct nt_link *link);		/* of the NTB device; lives as long as the link */
struct device *nt_link_device(const struct nt_link *link);	/* the NTB device */
int nt_link_node(const struct nt_link *link);			/* NUMA node of the device, or NUMA_NO_NODE */
u32 nt_link_side(const struct nt_link *link);			/* port number of this end */
u32 nt_link_peer_side(const struct nt_link *link);		/* ... and of the other */
bool nt_link_is_up(const struct nt_link *link);			/* may have changed when it returns */
/*
 * This kernel ends, and the engine has not given back what it has: records have no end, nt_drain()
 * may never return, and nt_link_remove() must not be called.
 */
bool nt_link_hung(const struct nt_link *link);
/* Wait until it is up. May sleep. Return: 0, -ETIMEDOUT, -ERESTARTSYS; at once if it is up */
int nt_link_wait_up(struct nt_link *link, unsigned int ms);
void nt_link_stats(const struct nt_link *link, struct nt_stats *stats);
void nt_payload_in(struct nt_link *link, size_t bytes, bool placed);
/* Which life this is: another one from the end of one on, just before nt_conns_link_down() */
unsigned int nt_link_life(const struct nt_link *link);
/* The peer can write to all memory of this machine; it has shown that it does so, or to what is mapped; and we can there */
bool nt_link_bares(const struct nt_link *link);
bool nt_link_lends(const struct nt_link *link);
bool nt_link_reaches(const struct nt_link *link);
/* The peer does not do what the link lives by: this life of it ends, soon, if it has not already */
void nt_link_fault(struct nt_link *link, unsigned int life, const char *why);

/*
 * nt_link_checks() - placed payload has a CRC in the record that announces it
 * Constant from nt_conns_link_up() to nt_conns_link_down(). Any context
 */
bool nt_link_checks(const struct nt_link *link);
/* A record of that life has announced placed payload with another CRC: the life ends */
void nt_link_torn(struct nt_link *link, unsigned int life);
/*
 * nt_iter_crc() - CRC32C, not inverted, of memory that may have places
 * @crc: ~0, or of what is before; @it: the memory, kvec or bvec; @skip: bytes to leave out first;
 * @len: bytes, all of them there. Any context
 */
u32 nt_iter_crc(u32 crc, struct iov_iter it, size_t skip, size_t len);

/* Records have a CRC. Constant as nt_link_checks(). Any context */
bool nt_link_crc(const struct nt_link *link);

/* Most bytes of a record to this peer, header included. Constant from nt_conns_link_up() to nt_conns_link_down(), never below 2048. */
u32 nt_rec_room(const struct nt_link *link);
/* The same for a peer whose ring is as long as ours, also while the link is down. */
u32 nt_rec_room_own(const struct nt_link *link);

/* --- records: any --- */

/*
 * nt_post() - send a record
 * @more: another follows at once: it may wait for that, or for nt_kick()
 * Order of posts is the order of handling at the peer. Never sleeps, never spins for room: a record that finds none waits in the link.
 * Return: 0, -ENOTCONN (it is down: no callback comes), -EMSGSIZE (more than nt_rec_room()), -EINVAL (places that we can't write to, or that
 * are shorter than the payload)
 */
int nt_post(struct nt_link *link, struct nt_rec *rec, bool more);
/*
 * nt_put() - send a record that is copied at once
 * @vec: @n parts; the first begins with a struct ntw_rec, as &nt_rec.head
 * @iter: payload, @len bytes, which is moved on; or NULL
 * @more: another record follows at once: this one may wait for it, or for nt_kick()
 * The record takes its place in the order of posts. All of it has at most nt_rec_room() bytes. For
 * softirq, or with bottom halves off.
 * Return: 0; -EAGAIN: no room, or down: nothing has happened
 */
int nt_put(struct nt_link *link, const struct kvec *vec, unsigned int n, struct iov_iter *iter,
	   u32 len, bool more);
/* nt_want_room() - have nt_conns_room() called when there is room again after nt_put() has found none */
void nt_want_room(struct nt_link *link);
void nt_kick(struct nt_link *link);
/*
 * nt_unpost() - take back a record that waits for room
 * Return: true: it is the caller's again and no callback comes; false: it is in the ring, or its callbacks have come or will.
 */
bool nt_unpost(struct nt_link *link, struct nt_rec *rec);
/*
 * nt_drain() - wait until all that was posted before, and has found room, is no longer read or written by the engine
 * May sleep; not from a callback. Their sent() has been called on return. Bounded by the life of the link. Of what still waits for room see nt_unpost().
 */
void nt_drain(struct nt_link *link);

/* --- our inbound memory --- */

/*
 * nt_arena_alloc() - memory that the peer can write to directly, zeroed, aligned to a page if @len is one or more, else to 64 bytes
 * There is none before the link was up for the first time, nor when a window could not be closed; it
 * stays where it is for the life of the link, whether up or down. Any context.
 * Return: NULL: no room
 */
void *nt_arena_alloc(struct nt_link *link, size_t len);
void nt_arena_free(struct nt_link *link, void *mem, size_t len);
/*
 * nt_mem_get() - the same for a consumer, who may have it longer than there is a link
 * @in: what nt_mem_put() wants; @node: where it is. Return: NULL: no room
 */
void *nt_mem_get(struct nt_link *link, size_t len, struct nt_inbound **in, int *node);
void nt_mem_put(struct nt_inbound *in, void *mem, size_t len);
/* Bytes of it in all, and free */
size_t nt_arena_size(const struct nt_link *link, size_t *avail);
/*
 * nt_window_places() - where local memory is in our inbound memory, or in our flat window
 * @iter: the memory, kvec or bvec; @len: bytes of it from the beginning
 * Return: places filled in; 0: not all of it is inside, or it takes more than @max places. Any context.
 */
int nt_window_places(struct nt_link *link, const struct iov_iter *iter, size_t len, struct nt_place *place, unsigned int max);
/*
 * nt_window_map() - let the peer write to memory that stays where it is until nt_window_unmap()
 * @iter: the memory, kvec or bvec; @len: all of it; it need not be up. Process context. Not unless nt_window_maps().
 * @at: where the peer finds it, in one piece. Return: 0; -ENOSPC: no room; -EINVAL: not in one piece, or not memory
 */
int nt_window_map(struct nt_link *link, const struct iov_iter *iter, size_t len, u64 *at);
/* On return nothing of the peer's lands there any more. Process context */
void nt_window_unmap(struct nt_link *link, u64 at, size_t len);
/* May a bridge have such a window? And has this one, since the link has been up? Any context */
bool nt_flat_maps(void);
bool nt_window_maps(const struct nt_link *link);
/* The page of inbound memory that an address of nt_arena_alloc() is in */
struct page *nt_arena_page(struct nt_link *link, void *mem);

/* --- what the endpoints provide --- */

/* Records and callbacks of records come between these two, from the tasklet; what they lead to may be put off until the second. */
void nt_rx_burst_begin(struct nt_link *link);
void nt_rx_burst_end(struct nt_link *link);
/*
 * nt_rx_record() - a record from the peer, in order
 * @rec: copy of its first bytes; @body: what is behind them, @len bytes, in memory that the PEER MAY STILL CHANGE: copy, then check. Valid
 *	during the call. What is posted meanwhile is seen by the peer before it hears that this record was handled, unless it has to wait (for room,
 *	or for the engine): that it was handled does not say that nothing comes
 */
void nt_rx_record(struct nt_link *link, const struct ntw_rec *rec, const void *body, size_t len);
/* There is room again after nt_want_room(). From the tasklet */
void nt_conns_room(struct nt_link *link);
/* It is up: post. No record and no callback comes before it returns, so it must wait for none. */
void nt_conns_link_up(struct nt_link *link);
/*
 * It is down: nothing is read or written by the engine any more, nothing of the peer's lands in our memory, and all records have had
 * their callbacks (-ENOTCONN). None comes until nt_conns_link_up().
 */
void nt_conns_link_down(struct nt_link *link, int err);

#endif /* _KFI_NTB_LINK_H */
