// SPDX-License-Identifier: GPL-2.0
/*
 * pmem.c - a log in persistent memory: where its ring is, and whether it is still there. Its
 * records are made durable by kfm_log_store() (log.c), as all others are.
 */
#include <linux/dax.h>
#include <linux/memremap.h>
#include <linux/mm.h>
#include "log.h"
#include "mirror.h"

/* Where a CPU can reach a piece of the ring in persistent memory, or NULL */
static void *ring_dax_addr(const struct kfm *m, u32 at, u32 bytes, enum dax_access_mode mode)
{
	struct dax_device *dax = m->logdev->dax_dev;
	u64 byte = (u64)get_start_sect(m->logdev->bdev) * KFM_SECTOR + m->log_at + KFM_RING_AT + at;
	long pages = PFN_UP(offset_in_page(byte) + bytes), found;
	void *ring;
	int id;

	if (!IS_ENABLED(CONFIG_DAX))
		return NULL;
	id = dax_read_lock();
	found = dax_direct_access(dax, byte >> PAGE_SHIFT, pages, mode, &ring, NULL);
	dax_read_unlock(id);
	return found < pages ? NULL : ring + offset_in_page(byte);
}

/*
 * Find the ring in persistent memory. Return: its address; or NULL if a CPU can't load and store
 * all of it in one piece, if the provider needs pages that it does not have, if a place in it is
 * known to be bad, or if flushing the caches of the CPUs does not make it durable.
 */
static void *ring_find(const struct kfm *m)
{
	struct dax_device *dax = m->logdev->dax_dev;
	void *ring;

	if (!dax || !dax_synchronous(dax))
		return NULL;
	ring = ring_dax_addr(m, 0, m->log.room, DAX_ACCESS);
	return ring && virt_addr_valid(ring) ? ring : NULL;
}

/*
 * Are both ends of a piece of the ring still where the constructor has found them? Tables below a
 * mirror may be reloaded. A place that has gone bad is an error of the access that reads it.
 */
bool kfm_ring_unmoved(const struct kfm *m, u32 at, u32 len)
{
	const struct kfm_log *log = &m->log;
	u32 end = at + len - 1;

	return !log->dax || (ring_dax_addr(m, at, 1, DAX_RECOVERY_WRITE) == log->ring + at &&
			     ring_dax_addr(m, end, 1, DAX_RECOVERY_WRITE) == log->ring + end);
}

bool kfm_log_unmoved(const struct kfm *m)
{
	return kfm_ring_unmoved(m, 0, m->log.room);
}

/*
 * May a CPU write to a piece of the ring in persistent memory? Only if it is where the constructor
 * has found it, and no place in it is known to be bad.
 */
bool kfm_log_sound(const struct kfm *m, u32 at, u32 len)
{
	return m->log.dax && ring_dax_addr(m, at, len, DAX_ACCESS) == m->log.ring + at;
}

/* Take the ring in persistent memory. Until kfm_log_free() its driver can't remove the memory. */
void *kfm_ring_map(struct kfm *m)
{
	void *ring = ring_find(m);

	if (!ring)
		return NULL;
	m->log.pgmap = get_dev_pagemap(page_to_pfn(virt_to_page(ring)));
	if (!m->log.pgmap)
		return NULL;
	m->log.dax = m->logdev->dax_dev;
	return ring;
}
