/* SPDX-License-Identifier: GPL-2.0 */
/*
 * region.h - regions with a key of the device; shared by region.c and rkey.c.
 */
#ifndef _KFI_VERBS_REGION_H
#define _KFI_VERBS_REGION_H

#include "verbs.h"

/* kv_region.state, under kv_region.lock */
enum { KV_REGION_NEW, KV_REGION_VALID, KV_REGION_DEREG, KV_REGION_NOMR };

/**
 * struct kv_region - private part of a region
 * @rcu: frees it
 * @entry: in &kv_domain.regions, until it is @closed
 * @reg_node: entry in &kv_ep.reg_queue of @vep, or empty
 * @mr: the region of kfi.ko
 * @kdom: the domain, referenced
 * @pd: protection domain of the endpoint
 * @ib: the registration
 * @sg: scatterlist with room for @room entries; the memory has @run of them, and @len bytes
 * @nents: number of mapped entries: @run or 0
 * @lock: protects the following members and @nents; bottom halves off. No lock is taken under it,
 *	except for those of the driver, of the DMA mapping, of workqueues and of waiters
 * @idle: woken when a registration has left a send queue
 * @dereg_work: deregisters a region that is DEREG
 * @alloc_work: allocates a registration for a region that is NOMR; without memory it tries again
 *	later
 * @state: KV_REGION_*
 * @ending: kfi.ko waits for kfi_mr_settle(), which reports the end of the region
 * @closed: kv_mr_close() has begun
 * @notify: kfi.ko waits for kfi_mr_registered() while the region is in &kv_ep.reg_queue. Under
 *	&kv_ep.reg_lock
 * @queued: registration requests in a send queue. The peer may invalidate the region before the
 *	device reports its registration
 * @last: previous key, which the device accepts until the region is registered again
 * @unknown: long-lived: a registration was lost, and the device may have executed it
 */
struct kv_region {
	struct rcu_head		rcu;
	struct list_head	entry;
	struct list_head	reg_node;
	struct kv_ep		*vep;
	struct kfi_mr		*mr;
	struct kv_domain	*kdom;
	struct ib_pd		*pd;
	struct ib_mr		*ib;
	struct scatterlist	*sg;
	unsigned int		room;
	unsigned int		run;
	unsigned int		nents;
	size_t			len;
	spinlock_t		lock;
	wait_queue_head_t	idle;
	struct work_struct	dereg_work;
	struct delayed_work	alloc_work;
	u8			state;
	bool			ending;
	bool			closed;
	bool			notify;
	unsigned int		queued;
	u32			last;
	bool			unknown;
};

/* region.c */
int kv_region_map(struct kv_region *region);
void kv_region_unmap(struct kv_region *region);

/* rkey.c */
int kv_region_key(struct kv_region *region, bool unused);
struct kv_conn *kv_region_conn(const struct kfi_mr *mr);
void kv_reg_queue_add(struct kv_region *region, bool notify);
void kv_reg_queue_push(struct kv_region *region);
void kv_reg_queue_del(struct kv_region *region);

#endif /* _KFI_VERBS_REGION_H */
