/* SPDX-License-Identifier: GPL-2.0 */
/*
 * region.h - memory regions; shared by region.c and rkey.c.
 */
#ifndef _KFI_VERBS_REGION_H
#define _KFI_VERBS_REGION_H

#include "verbs.h"

/* kv_chunk.state, under kv_region.lock */
enum { KV_CHUNK_NEW, KV_CHUNK_BUSY, KV_CHUNK_VALID, KV_CHUNK_DEREG, KV_CHUNK_NOMR };

/**
 * struct kv_chunk - a part of a region, and its registration
 * @mr: the registration
 * @sg: scatterlist with room for @room entries; the chunk uses @run of them
 * @nents: number of mapped entries: @run or 0
 * @at: position of the first byte in the region
 * @len: bytes
 * @state: KV_CHUNK_*
 * @queued: registration requests of the chunk in a send queue. The peer may invalidate the chunk
 *	before the device reports its registration
 * @by: BUSY: the queue pair that registers the chunk
 * @last: previous key, which the device accepts until the chunk is registered again
 * @unknown: long-lived region with a key of the device: a registration was lost, and the device may
 *	have executed it
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
	bool			unknown;
};

/**
 * struct kv_region - private part of a region
 * @rcu: frees it
 * @entry: in &kv_domain.regions, until it is @closed
 * @reg_node: region with a key of the device: entry in &kv_ep.reg_queue of @vep, or empty
 * @mr: the region of kfi.ko
 * @kdom: the domain, referenced
 * @pd: protection domain: that of the domain, or with keys of the device that of the endpoint
 * @lock: protects the states of chunks; bottom halves off. No lock is taken under it, except for
 *	those of the driver, of the DMA mapping, of workqueues and of waiters
 * @idle: woken when a registration has left a send queue
 * @dereg_work: deregisters chunks that are DEREG
 * @alloc_work: allocates registrations for chunks that are NOMR; without memory it tries again
 *	later
 * @ending: kfi.ko waits for kfi_mr_settle(), which reports the end of the region
 * @closed: kv_mr_close() has begun
 * @notify: kfi.ko waits for kfi_mr_registered() while the region is in &kv_ep.reg_queue. Under
 *	&kv_ep.reg_lock
 * @busy: registrations in a send queue
 * @count: entries of @chunk
 * @cut: number of chunks of the attached memory; 0 if no memory is attached
 */
struct kv_region {
	struct rcu_head		rcu;
	struct list_head	entry;
	struct list_head	reg_node;
	struct kv_ep		*vep;
	struct kfi_mr		*mr;
	struct kv_domain	*kdom;
	struct ib_pd		*pd;
	spinlock_t		lock;
	wait_queue_head_t	idle;
	struct work_struct	dereg_work;
	struct delayed_work	alloc_work;
	bool			ending;
	bool			closed;
	bool			notify;
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
void kv_reg_queue_add(struct kv_region *region, bool notify);
void kv_reg_queue_push(struct kv_region *region);
void kv_reg_queue_del(struct kv_region *region);

#endif /* _KFI_VERBS_REGION_H */
