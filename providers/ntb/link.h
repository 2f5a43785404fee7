/* SPDX-License-Identifier: GPL-2.0 */
/*
 * link.h - one bridge, as the endpoints see it: records to the peer and from it, in order; payload
 * that is written to its place in the peer's memory; and a piece of our own memory that the peer
 * can write to.
 *
 * Contexts. A function under "any" may be called in process context and softirq, not in hard
 * interrupts. It takes no lock for longer than a copy of NT_COPY bytes, or with a CRC of one
 * record. Callbacks (&nt_rec.sent, &nt_rec.handled, nt_rx_record()) come one at a time from the
 * link's tasklet, with none of the link's locks held, so they may post. nt_conns_link_up() and
 * nt_conns_link_down() come from the link's work item and may sleep; they come in turn, and never
 * both at once.
 *
 * Life of a record: nt_post() -> (waits for room) -> in the ring -> sent() -> handled(). It is the
 * caller's again after handled(), or after sent() if it has no handled(). Each comes exactly once
 * for each nt_post() that has returned 0, sent() first; both have an error if the link goes down
 * before. The callbacks of one link come in the order of the posts.
 *
 * Life of a link: nt_link_add() -> nt_link_start() -> { nt_conns_link_up() -> nt_conns_link_down()
 * } ... -> nt_link_stop() -> nt_link_remove().
 */
#ifndef _KFI_NTB_LINK_H
#define _KFI_NTB_LINK_H

#include <linux/list.h>
#include <linux/types.h>
#include <linux/uio.h>
#include "wire.h"

struct bio_vec;
struct device;
struct ntb_dev;
struct nt_inbound;
struct nt_link;

/* payload up to this is copied by CPU through the shadow; with a CRC all that is not placed is */
#define NT_COPY		1024U
/* payload of a batch with more than one record: a line, which is a sign of life, waits for it */
#define NT_LOAD_MAX	16777216U

/**
 * struct nt_place - memory of the peer to which it lets us write
 * @at: byte of its inbound memory, within its arena; with NTW_FLAT: byte of its flat window
 * @len: bytes
 */
struct nt_place {
	u64	at;
	u32	len;
};

/* Flags of a record that the caller sets */
#define NT_REC_ACK	0x01	/* the peer is asked to signal that it has handled the record */
/* set by the link: the record takes no room and is not sent; only sent() is called */
#define NT_REC_LOCAL	0x80

/**
 * struct nt_rec - one record; embedded in the object that waits for it
 * @entry: entry in lists of the link
 * @sent: called when nothing reads the memory of @iter any more, and nothing writes to @place for
 *	this record. Or NULL
 * @handled: called when the peer has handled the record and all before it, and its payload is in
 *	its place. @err: -EIO: a copy failed, and the peer has not received the record; -ENOTCONN:
 *	the link went down, and it is not known whether the peer has received it. The record is the
 *	caller's again. Or NULL
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
 * @waits: for the link: it is waiting for room, and can be taken back
 * @span: for the link: bytes of the ring that it takes
 * @end: for the link: position in the ring behind it
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
 * struct nt_stats - what a link has done since it was added; members only grow
 * @records_out: records that were posted, without fillers
 * @records_in: records that were received, without fillers
 * @bytes_out: payload and headers, through the ring or to places
 * @bytes_in: bytes of the ring that were handled
 * @descriptors: copies that were given to the DMA engine
 * @dma_bytes: bytes of these
 * @cpu_bytes: bytes that the CPU has written through the bridge
 * @batches: batches
 * @lines: control lines without a batch
 * @signals: signals that were sent
 * @signals_saved: signals that were not sent because the peer was polling
 * @interrupts: signals that were received
 * @full: times that records had to wait for room
 * @engine_full: times that copies had to wait for room in the engine
 * @unmapped: copies of memory that could not be mapped for the engine, so that the CPU has copied
 *	it first
 * @crc_errors: records of the peer whose bytes or placed payload were not what the peer has written
 * @bounced: bytes of the peer that the endpoints had to copy by CPU, see nt_payload_in()
 * @placed: bytes that the peer's engine has written to their place, see nt_payload_in()
 * @dma_errors: copies that failed
 * @protocol_errors: violations of the protocol by the peer
 * @ups: times that the link has come up
 * @resets: times that the link has gone down
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

/* Check the parameters; create the workqueue and the debugfs directory */
int nt_links_init(void);
void nt_links_exit(void);
/*
 * @priv: see nt_link_priv(). No callback is called before nt_link_start(). Return: ERR_PTR() on
 *	error
 */
struct nt_link *nt_link_add(struct ntb_dev *ntb, void *priv);
/* Enable the bridge's link. From now on the link comes up when it can */
int nt_link_start(struct nt_link *link);
/*
 * Take all links down, as nt_link_stop() does, because this kernel ends. nt_link_stop() is called
 * for each of them nevertheless if the module is removed.
 */
void nt_links_halt(void);
/*
 * Take the link down for good, with nt_conns_link_down() if it was up. On return no callback runs
 * or will be called.
 */
void nt_link_stop(struct nt_link *link);
/* Free the link and its memory, after nt_link_stop() and when all of its arena has been freed */
void nt_link_remove(struct nt_link *link);

/* --- what it is: any --- */

void *nt_link_priv(const struct nt_link *link);
/* name of the NTB device; valid as long as the link */
const char *nt_link_name(const struct nt_link *link);
struct device *nt_link_device(const struct nt_link *link);	/* the NTB device */
/* NUMA node of the device, or NUMA_NO_NODE */
int nt_link_node(const struct nt_link *link);
u32 nt_link_side(const struct nt_link *link);			/* port number of this end */
u32 nt_link_peer_side(const struct nt_link *link);		/* port number of the other end */
bool nt_link_is_up(const struct nt_link *link);			/* may have changed on return */
/*
 * Return: true if this kernel ends and the engine has not returned what it has: the callbacks of
 * records are not called, nt_drain() may never return, and nt_link_remove() must not be called.
 */
bool nt_link_hung(const struct nt_link *link);
/* Wait until the link is up. May sleep. Return: 0, -ETIMEDOUT, -ERESTARTSYS */
int nt_link_wait_up(struct nt_link *link, unsigned int ms);
void nt_link_stats(const struct nt_link *link, struct nt_stats *stats);
/* Count @bytes of payload that were written to their place by the peer, or copied by CPU */
void nt_payload_in(struct nt_link *link, size_t bytes, bool placed);
/* Number of the link's life. It changes when a life ends, just before nt_conns_link_down() */
unsigned int nt_link_life(const struct nt_link *link);
/* The peer can write to all memory of this machine */
bool nt_link_exposes_all(const struct nt_link *link);
/*
 * The peer has shown that it writes through our flat window, which may show registered memory only
 */
bool nt_link_flat_in_use(const struct nt_link *link);
/* Our engine can write through the peer's flat window */
bool nt_link_reaches_flat(const struct nt_link *link);
/* End this life of the link soon, unless it has ended: the peer violates the protocol */
void nt_link_fault(struct nt_link *link, unsigned int life, const char *why);

/*
 * nt_link_checks() - does placed payload have a CRC, in the record that announces it?
 *
 * Constant from nt_conns_link_up() to nt_conns_link_down(). Any context.
 */
bool nt_link_checks(const struct nt_link *link);
/* A record of that life has announced placed payload with another CRC: end the life */
void nt_link_torn(struct nt_link *link, unsigned int life);
/*
 * nt_iter_crc() - CRC32C, not inverted, of memory that may have places
 * @crc: ~0, or the result for the bytes before
 * @it: the memory, kvec or bvec
 * @skip: bytes to leave out first
 * @len: bytes, all of which are in @it
 *
 * Any context.
 */
u32 nt_iter_crc(u32 crc, struct iov_iter it, size_t skip, size_t len);

/* Do records have a CRC? Constant as nt_link_checks(). Any context */
bool nt_link_crc(const struct nt_link *link);

/*
 * Most bytes of a record to this peer, with its header. Constant from nt_conns_link_up() to
 * nt_conns_link_down(), and never below 2048.
 */
u32 nt_rec_room(const struct nt_link *link);
/* The same for a peer whose ring is as long as ours, also while the link is down */
u32 nt_rec_room_own(const struct nt_link *link);

/* --- records: any --- */

/*
 * nt_post() - send a record
 * @more: another record follows at once: this one may wait for it, or for nt_kick()
 *
 * The peer handles records in the order of the posts. The function neither sleeps nor spins for
 * room: a record without room waits in the link.
 *
 * Return: 0; -ENOTCONN if the link is down, and no callback is called; -EMSGSIZE if the record is
 * longer than nt_rec_room(); -EINVAL if we can't write to the places, or if they are shorter than
 * the payload.
 */
int nt_post(struct nt_link *link, struct nt_rec *rec, bool more);
/*
 * nt_put() - send a record that is copied at once
 * @vec: @n parts; the first begins with a struct ntw_rec, as &nt_rec.head
 * @iter: payload of @len bytes, which is advanced; or NULL
 * @more: another record follows at once: this one may wait for it, or for nt_kick()
 *
 * The record takes its place in the order of posts. All of it has at most nt_rec_room() bytes. For
 * softirq, or with bottom halves off.
 *
 * Return: 0; -EAGAIN: there is no room, or the link is down, and nothing was done.
 */
int nt_put(struct nt_link *link, const struct kvec *vec, unsigned int n, struct iov_iter *iter,
	   u32 len, bool more);
/*
 * nt_want_room() - let nt_conns_room() be called when there is room, after nt_put() has found none
 */
void nt_want_room(struct nt_link *link);
/* nt_kick() - send records that wait for another one to follow */
void nt_kick(struct nt_link *link);
/*
 * nt_unpost() - take back a record that waits for room
 *
 * Return: true: it is the caller's again, and no callback is called; false: it is in the ring, or
 * its callbacks were called or will be.
 */
bool nt_unpost(struct nt_link *link, struct nt_rec *rec);
/*
 * nt_drain() - wait until the engine has completed all that was posted before and has found room
 *
 * May sleep; not called from a callback. On return sent() was called for these records. The end of
 * the link's life bounds the wait. For records that wait for room see nt_unpost().
 */
void nt_drain(struct nt_link *link);

/* --- our inbound memory --- */

/*
 * nt_arena_alloc() - allocate memory that the peer can write to directly
 *
 * The memory is zeroed. It is aligned to a page if @len is one or more, else to 64 bytes. There is
 * none before the link was up for the first time, nor when a window could not be closed. It stays
 * at its address as long as the link exists, whether it is up or down. Any context.
 *
 * Return: NULL without room.
 */
void *nt_arena_alloc(struct nt_link *link, size_t len);
void nt_arena_free(struct nt_link *link, void *mem, size_t len);
/*
 * nt_mem_get() - the same for a consumer, which may keep it longer than the link exists
 * @in: set for nt_mem_put()
 * @node: set to the NUMA node
 *
 * Return: NULL without room.
 */
void *nt_mem_get(struct nt_link *link, size_t len, struct nt_inbound **in, int *node);
void nt_mem_put(struct nt_inbound *in, void *mem, size_t len);
/* Return the bytes of the arena, and in *@avail those that are free */
size_t nt_arena_size(const struct nt_link *link, size_t *avail);
/*
 * nt_window_places() - find local memory in our inbound memory or in our flat window
 * @iter: the memory, kvec or bvec
 * @len: bytes of it from the beginning
 *
 * Any context. Return: number of places; 0: not all of the memory is there, or it takes more than
 * @max places.
 */
int nt_window_places(struct nt_link *link, const struct iov_iter *iter, size_t len,
		     struct nt_place *place, unsigned int max);
/*
 * nt_window_map() - let the peer write to memory that stays at its address until nt_window_unmap()
 * @iter: the memory, kvec or bvec
 * @len: all of its bytes
 * @at: set to the address at which the peer finds it, in one piece
 *
 * It may be called only if nt_window_maps() has returned true; the link may be down. Process
 * context.
 *
 * Return: 0; -ENOSPC: no room; -EINVAL: the memory can't be mapped in one piece, or has no struct
 * page.
 */
int nt_window_map(struct nt_link *link, const struct iov_iter *iter, size_t len, u64 *at);
/* On return no write of the peer arrives there any more. Process context */
void nt_window_unmap(struct nt_link *link, u64 at, size_t len);
/* May a bridge have a window over registered memory? Any context */
bool nt_flat_maps(void);
/* Has this bridge such a window? It has none before the link was up. Any context */
bool nt_window_maps(const struct nt_link *link);
/* Return the page of inbound memory that an address of nt_arena_alloc() is in */
struct page *nt_arena_page(struct nt_link *link, void *mem);

/* --- the peer's memory as pages (pages.c): any context but hard interrupt --- */

/* The device that owns the pages; NULL: the window has none, or it is not to be used so */
struct device *nt_pages_device(const struct nt_link *link);
/*
 * nt_pages() - find the pages of the peer's memory
 * @bv: set to @n entries
 *
 * Return: 0; -EOPNOTSUPP: there are none; -ENOTCONN: the link is down; -EINVAL: we can't write to
 * these places.
 */
int nt_pages(struct nt_link *link, const struct nt_place *place, unsigned int n,
	     struct bio_vec *bv);
/*
 * nt_pages_fence() - let arrive what devices have written to the pages
 *
 * Return: 0: it is in front of all that is posted later in this life; -EIO: the link is down;
 * -ENOTCONN: the life has ended.
 */
int nt_pages_fence(struct nt_link *link, unsigned int life, const struct bio_vec *bv, size_t n);
/* From pin to unpin devices may write to pages: no life begins, and the link is not removed */
void nt_pages_pin(struct nt_link *link);
void nt_pages_unpin(struct nt_link *link);
unsigned int nt_pages_pinned(const struct nt_link *link);	/* number of pins */

/* --- callbacks that the endpoints implement --- */

/*
 * Records and callbacks of records come between these two, from the tasklet. Work that they cause
 * may be deferred until the second.
 */
void nt_rx_burst_begin(struct nt_link *link);
void nt_rx_burst_end(struct nt_link *link);
/*
 * nt_rx_record() - a record from the peer, in order
 * @rec: copy of its first bytes
 * @body: the bytes that follow, in memory that the PEER MAY STILL CHANGE: copy, then check. Valid
 *	during the call
 * @len: bytes of @body
 *
 * The peer sees what is posted meanwhile before it learns that this record was handled, unless the
 * post has to wait for room or for the engine. So a handled record does not mean that no answer
 * follows.
 */
void nt_rx_record(struct nt_link *link, const struct ntw_rec *rec, const void *body, size_t len);
/* There is room again after nt_want_room(). From the tasklet */
void nt_conns_room(struct nt_link *link);
/*
 * The link is up, and records may be posted. No record and no callback comes before it returns, so
 * it must not wait for one.
 */
void nt_conns_link_up(struct nt_link *link);
/*
 * The link is down. The engine reads and writes nothing any more, no write of the peer arrives in
 * our memory, and all records have had their callbacks (-ENOTCONN). No callback comes until
 * nt_conns_link_up().
 */
void nt_conns_link_down(struct nt_link *link, int err);

#endif /* _KFI_NTB_LINK_H */
