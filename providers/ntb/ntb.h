/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ntb.h - what kfi_ntb adds to the multiplexer (kfi_mux.h), above a bridge (bridge.h): payload that
 * the engine reads, memory of ours that the peer writes to, and memory of the peer that devices
 * write to. docs/wire-ntb-endpoints.md describes this.
 *
 * Members marked (L) are protected by &kfi_mux_stream.lock.
 */
#ifndef _KFI_NTB_NTB_H
#define _KFI_NTB_NTB_H

#include <linux/workqueue.h>
#include <kfi_mux.h>
#include "bridge.h"

#define NT_LOADS	8		/* payloads of a connection under way at a time */
#define NT_PLACES	16		/* places of one payload */
#define NT_STRETCH	NT_LOAD_MAX	/* placed bytes that one record announces, at most */
#define NT_CHECKED	262144U		/* the same with a CRC, which is computed under a lock */
#define NT_RETURN_MS	5000		/* that a closed connection waits for its peer's CLOSE */

extern struct kfi_proto nt_proto;	/* main.c, as the next one */
extern struct kfi_mux_prov nt_prov;

/**
 * struct nt_mr - a memory region
 * @mr: common part
 * @at: address at which the peer of @link finds the region in a window, from registration on; 0: it
 *	is in none. If it is in one, it holds a reference of the bridge
 * @link: the bridge of that window
 */
struct nt_mr {
	struct kfi_mr	mr;
	u64		at;
	struct nt_link	*link;
};

/**
 * struct nt_ctl - a record of the multiplexer that may wait for room
 * @ctl: common part
 * @rec: the record of the bulk ring
 */
struct nt_ctl {
	struct kfi_mux_ctl	ctl;
	struct nt_rec		rec;
};

/**
 * struct nt_load - payload that the engine reads from the consumer's memory, or from @copy
 * @rec: the record
 * @ns: the connection; nt_closed() waits until the engine has read the payload
 * @entry: entry in &nt_stream.idle or &nt_stream.posted (L)
 * @at: bytes of the connection that were sent before the payload (L)
 * @place: places to which the payload is written, unless it is part of the stream
 * @mapping: &nt_rec.mapping
 * @vec: describes @copy
 * @copy: copy of payload for places whose memory may be reused before the engine has read it
 */
struct nt_load {
	struct nt_rec		rec;
	struct nt_stream	*ns;
	struct list_head	entry;
	u64			at;
	struct nt_place		place[NT_PLACES];
	struct nt_mapping	mapping[NT_MAPPINGS];
	struct kvec		vec;
	u8			copy[NT_COPY];
};

/**
 * struct nt_exposure - memory that the peer writes to, if it was mapped for that, or placed payload
 *	has a CRC; all members (L)
 * @entry: entry in &nt_stream.exposures or &nt_stream.unexposed
 * @key: &kfi_link_place.key of its places, without the bit of the window
 * @iter: the memory
 * @len: bytes of the memory
 * @at: address at which the peer finds the memory, if it was mapped for this exposure; or 0
 * @lasting: the memory belongs to a lasting grant
 * @checked: bytes that the peer has announced. Each byte is announced once; in @lasting memory once
 *	between two frames
 * @behind: if @lasting: bytes of the stream that have come before the bytes of @checked
 */
struct nt_exposure {
	struct list_head	entry;
	u32			key;
	struct iov_iter		iter;
	u64			len;
	u64			at;
	bool			lasting;
	u64			checked;
	u64			behind;
};

/**
 * struct nt_stream - a connection
 * @s: common part. Each pin has a reference, the last of which passes to @held_work if that is
 *	queued
 * @ctl: &kfi_mux_stream.ctl
 * @wants: ring in which the last record has found no room (L)
 * @loads: NT_LOADS entries, allocated when the peer is admitted
 * @idle: unused entries of @loads (L)
 * @posted: posted entries of @loads, in order (L)
 * @starved: a post has found @idle empty, or left its turn to others (L)
 * @drain: when the connection was closed, the engine was to read payload of it
 * @exposures: list of struct nt_exposure (L)
 * @unexposed: struct nt_exposure that can be reused (L)
 * @key: key of the newest entry of @exposures (L)
 * @wrapped: all keys have been used once (L)
 * @pins: places that devices of this machine write, and fences that have failed; see
 *	nt_place_pages()
 * @held: the CLOSE that was sent last says that another one follows. Written under the lock
 * @held_work: sends another CLOSE when no pin is left
 */
struct nt_stream {
	struct kfi_mux_stream	s;
	struct nt_ctl		ctl;
	enum ntw_which		wants;
	struct nt_load		*loads;
	struct list_head	idle, posted;
	bool			starved;
	bool			drain;
	struct list_head	exposures, unexposed;
	u32			key;
	bool			wrapped;
	atomic_t		pins;
	bool			held;
	struct work_struct	held_work;
};

/* The multiplexer frees these by their common parts. */
static_assert(!offsetof(struct nt_stream, s) && !offsetof(struct nt_ctl, ctl));
static_assert(NTW_QUEUES_MAX <= KFI_MUX_LANES);

static inline struct nt_mr *to_nt_mr(struct kfi_mr *mr)
{
	return container_of(mr, struct nt_mr, mr);
}

static inline struct nt_link *to_nt_link(struct kfi_mux *mux)
{
	return container_of(mux, struct nt_link, mux);
}

static inline struct nt_stream *to_nt_stream(struct kfi_mux_stream *s)
{
	return container_of(s, struct nt_stream, s);
}

/* NULL when the connection was closed */
static inline struct nt_stream *nt_stream_of(const struct kfi_link *link)
{
	struct kfi_mux_stream *s = kfi_mux_stream_of(link);

	return s ? to_nt_stream(s) : NULL;
}

/* The bridge of a connection, and the queue of its records */
static inline struct nt_link *nt_stream_link(const struct nt_stream *ns)
{
	return to_nt_link(ns->s.mux);
}

static inline struct nt_ring *nt_stream_ring(const struct nt_stream *ns)
{
	return &nt_stream_link(ns)->ring[ns->s.lane];
}

/* dev.c: bridges and domains */
int nt_devs_init(void);
void nt_devs_exit(void);
int nt_domain_open(struct kfi_domain *domain);
void nt_domain_close(struct kfi_domain *domain);
int nt_mem_alloc(struct kfi_domain *domain, struct kfi_mem *mem);
void nt_mem_free(struct kfi_domain *domain, struct kfi_mem *mem);
int nt_ep_open(struct kfi_ep *ep);
int nt_parts(struct net *net, int (*emit)(void *arg, const struct kfi_part *part), void *arg);
void nt_addr_str(const void *addr, size_t len, char *buf, size_t size);

/* stream.c: the records of connections in the rings */
extern const struct kfi_mux_ops nt_mux_ops;
extern const struct kfi_link_ops nt_link_ops;
/* Encode the header of a record, and its body, at @head. Return: bytes of both */
u32 nt_head_fill(const struct kfi_mux_rec *rec, void *head);

/* load.c: payload that the engine reads */
int nt_loads_alloc(struct kfi_mux_stream *s);	/* process context */
/* The callers of these hold the lock of the connection */
void nt_withdraw(struct kfi_mux_stream *s);
bool nt_splice_fits(struct kfi_mux_stream *s, u32 len, const struct iov_iter *payload, u32 *load);
int nt_splice(struct kfi_mux_stream *s, const struct kfi_mux_rec *rec, const void *bytes, u32 len,
	      struct iov_iter *payload, u32 load, bool more);
int nt_put_places(struct kfi_mux_stream *s, struct kfi_unit *unit, u64 at);
bool nt_splices(const struct kfi_link *link, const struct iov_iter *iter, size_t len);
u64 nt_sent_to(const struct kfi_link *link);
/*
 * Find up to @max bytes of the places of the unit, from byte @at on; with @one all of them have the
 * same key. @to has room for NT_PLACES entries, and *@count of them are filled in.
 * Return: bytes; 0: there are no such places.
 */
u32 nt_places_cut(const struct kfi_unit *unit, u64 at, u64 max, bool one, struct nt_place *to,
		  unsigned int *count);

/* expose.c: memory that the peer writes to */
int nt_expose(struct kfi_link *link, struct kfi_exposed *x, const struct iov_iter *iter, u64 len,
	      struct kfi_link_place *place, unsigned int max);
int nt_conceal(struct kfi_link *link, struct kfi_exposed *x);
/* The caller holds the lock of the connection; &kfi_mux_ops.placed */
int nt_placed(struct kfi_mux_stream *s, const struct kfi_mux_piece *piece);
void nt_exposures_free(struct nt_stream *ns);
/* Wait until the peer can't write to our memory through @ns any more. Process context, sleeps */
void nt_wait_access_end(struct nt_stream *ns);
int nt_mr_reg(struct kfi_mr *mr);		/* process context, these two */
void nt_mr_dereg(struct kfi_mr *mr);

/* place.c: memory of the peer that devices write; operations of &struct kfi_link_ops */
void *nt_place_pages(struct kfi_link *link, const struct kfi_link_place *place, unsigned int n,
		     u64 at, u64 len, struct kfi_dev_place *to);
int nt_unpin(void *pin, const struct kfi_dev_place *place);
/* &kfi_mux_ops.held */
bool nt_held(struct kfi_mux_stream *s);
void nt_held_work(struct work_struct *work);

#endif /* _KFI_NTB_NTB_H */
