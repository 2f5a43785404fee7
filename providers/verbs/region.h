/* SPDX-License-Identifier: GPL-2.0 */
/*
 * region.h - regions, between region.c and rkey.c.
 */
#ifndef _KFI_VERBS_REGION_H
#define _KFI_VERBS_REGION_H

#include "verbs.h"

/* kv_chunk.state, under kv_region.lock */
enum { KV_CHUNK_NEW, KV_CHUNK_BUSY, KV_CHUNK_VALID, KV_CHUNK_GOING, KV_CHUNK_BARE };

/**
 * struct kv_chunk - what one registration holds
 * @mr: the registration
 * @sg: room for @room entries, of which the chunk has @run; @nents of these are mapped: all or none
 * @at: position of its first byte in the region
 * @len: bytes
 * @state: KV_CHUNK_*
 * @queued: its registrations in a send queue. The peer may end one before the device reports it
 * @by: BUSY: the queue pair that registers the chunk
 * @last: key before the present one, which a device that has registered nothing since still accepts
 */
struct kv_chunk {
	struct ib_mr		*mr;
	struct scatterlist	*sg;
	unsigned int		room;
	unsigned int		run;
	unsigned int		nents;
	size_t			at;
	size_t			len;
	u8			state;
	unsigned int		queued;
	struct kv_qp		*by;
	u32			last;
};

/**
 * struct kv_region - our part of a region
 * @rcu: frees it
 * @entry: in &kv_domain.regions, until it is @closed
 * @fresh: with a key of the device: entry in &kv_ep.fresh of @vep, or empty
 * @mr: the region of kfi.ko
 * @kdom: the domain, referenced
 * @lock: protects the states of chunks; bottom halves off, a leaf
 * @idle: woken when a registration has left a send queue
 * @renew: makes the device take back chunks that are GOING
 * @supply: makes registrations for chunks that are BARE; without memory it tries again later
 * @ending: kfi.ko waits for the end: kfi_mr_settle()
 * @closed: kv_mr_close() has begun
 * @tell: in &kv_ep.fresh: kfi.ko waits for kfi_mr_registered(). Under &kv_ep.fresh_lock
 * @busy: registrations in a send queue
 * @count: entries of @chunk
 * @cut: chunks of the memory that is attached now; 0: none is
 */
struct kv_region {
	struct rcu_head		rcu;
	struct list_head	entry;
	struct list_head	fresh;
	struct kv_ep		*vep;
	struct kfi_mr		*mr;
	struct kv_domain	*kdom;
	spinlock_t		lock;
	wait_queue_head_t	idle;
	struct work_struct	renew;
	struct delayed_work	supply;
	bool			ending;
	bool			closed;
	bool			tell;
	unsigned int		busy;
	unsigned int		count;
	unsigned int		cut;
	struct kv_chunk		chunk[] __counted_by(count);
};

/* region.c */
int kv_chunk_map(struct kv_region *region, struct kv_chunk *chunk);
void kv_chunk_unmap(struct kv_domain *kdom, struct kv_chunk *chunk);
int kv_access(const struct kfi_mr *mr);

/* rkey.c */
int kv_region_key(struct kv_region *region, bool unused);
struct kv_conn *kv_region_conn(const struct kfi_mr *mr);
void kv_fresh_del(struct kv_region *region);

#endif /* _KFI_VERBS_REGION_H */
