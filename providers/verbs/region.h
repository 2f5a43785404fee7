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
 * @queued: of its registrations in a send queue; the peer may have ended one that has not been reported yet
 * @last:	its key before this one, which a device that has not registered anything since still takes
 * @at: @len: bytes of the region; @sg: room for @room entries, those bytes are @run of them, of which @nents are mapped: all or none
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
	u32			last;
};

/**
 * struct kv_region - our part of a region
 * @entry:	in &kv_domain.regions, until it is @closed
 * @fresh:	with a key of the device: in &kv_ep.fresh of @vep, or empty
 * @lock:	protects the states of chunks; bottom halves off, a leaf
 * @tell:	in &kv_ep.fresh: kfi.ko waits for kfi_mr_registered(). Under &kv_ep.fresh_lock
 * @cut:	chunks of the memory that is attached now; 0: none is
 * @busy:	registrations in a send queue; @idle: wakes who waits for one that was
 * @renew:	has the device take back those that are GOING
 * @supply:	makes registrations for those that are BARE, later again if there is no memory
 * @ending:	kfi.ko waits for that; @closed: the region's handle goes
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
int kv_access(const struct kfi_mr *mr);

/* rkey.c */
int kv_region_key(struct kv_region *region, bool unused);
struct kv_conn *kv_region_conn(const struct kfi_mr *mr);
void kv_fresh_del(struct kv_region *region);

#endif /* _KFI_VERBS_REGION_H */
