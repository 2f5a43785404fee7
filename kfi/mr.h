/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mr.h - shared by mr.c (regions), mr_key.c, mr_io.c (regions for one I/O), mr_lease.c and mem.c
 */
#ifndef _KFI_MR_H
#define _KFI_MR_H

#include <linux/rhashtable.h>
#include "core.h"

/* Allocate a region without memory; it pins @domain. Return: the region, or ERR_PTR. May sleep. */
struct kfi_mr *kfi_mr_new(struct kfi_domain *domain, size_t iov_limit, void *context);
/* Have the provider prepare the region before peers can find it. May sleep. */
int kfi_mr_prepare(struct kfi_mr *mr);
/* Undo kfi_mr_new(). */
void kfi_mr_abandon(struct kfi_mr *mr);
/*
 * Return the number of segments that @attr needs, or a negative errno. *@len: bytes. Does not
 * sleep.
 */
ssize_t kfi_mr_measure(const struct kfi_mr_attr *attr, size_t *len);
/*
 * Copy segments, rights and offset from @attr. kfi_mr_measure() has accepted @attr, and there is
 * room for @segs segments. Does not sleep.
 */
void kfi_mr_fill(struct kfi_mr *mr, const struct kfi_mr_attr *attr, size_t segs, size_t len);
/*
 * Give the region a slot, unless its keys are the provider's or all slots are taken.
 * Return: 0 or a negative errno. May sleep.
 */
int kfi_mr_take_slot(struct kfi_mr *mr);
/* Give the slot back; the structure is freed after a grace period. Does not sleep. */
void kfi_mr_leave_slot(struct kfi_mr *mr);
/*
 * Make the region known by a key that the consumer has chosen; with KFI_KEY_NOTAVAIL by the
 * provider's, or by one that can't be guessed. Does not sleep.
 * Return: 0; -EINVAL: the key is too long; -KFI_ENOKEY: it is in use; or another negative errno.
 */
int kfi_mr_set_key(struct kfi_mr *mr, u64 requested);
/* Take a key that is in the hash table out of it. Does not sleep. */
void kfi_mr_drop_key(struct kfi_mr *mr);
/*
 * Let peers find and use the region, or prevent that. Operations that found the region before it
 * was made dead may still be moving bytes, see kfi_mr_in_use().
 */
void kfi_mr_make_live(struct kfi_mr *mr);
void kfi_mr_make_dead(struct kfi_mr *mr);
bool kfi_mr_key_exists(struct kfi_ep *ep, u64 key);
void kfi_mr_done_exit(void);
/* Log that a call has waited for the region for KFI_MR_LATE, and continues to wait. */
#define KFI_MR_LATE	(30 * HZ)
void kfi_mr_warn_busy(const struct kfi_mr *mr);
void kfi_mr_retire(struct kfi_mr *mr);

/*
 * mr_lease.c: recall all leases, because the region ends or changes. Any context but hard
 * interrupt.
 * Return: true if there is a lease; it ends in bounded time.
 */
bool kfi_mr_recall(struct kfi_mr *mr);
/*
 * Recall the leases of the endpoint, whose peers may not write any more (&kfi_ep.remote_denied), in
 * all regions of its domain. Waits for none of them. Process context.
 */
void kfi_mr_recall_ep(struct kfi_ep *ep);
/* Recall the leases, and wait until there is none. No lease begins meanwhile. Sleeps. */
void kfi_mr_recall_wait(struct kfi_mr *mr);

/*
 * mem.c: pin the memory of kfi_mem_alloc() that the segments are in, from kfi_mr_fill() until no
 * byte can be written to it any more. Do not sleep.
 */
void kfi_mem_claim(struct kfi_mr *mr);
void kfi_mem_unclaim(struct kfi_mr *mr);

/*
 * Return true if an operation holds a reference, so that bytes may be moving. The result false
 * after kfi_mr_make_dead() is final: later operations see that the region is dead. Pairs with the
 * barrier in kfi_mr_get().
 */
static inline bool kfi_mr_in_use(struct kfi_mr *mr)
{
	bool used;

	smp_mb();			/* pairs with kfi_mr_get() */
	used = kref_read(&mr->ref) != 1;
	/* after all accesses of operations that have dropped their reference */
	smp_acquire__after_ctrl_dep();
	return used;
}

#endif /* _KFI_MR_H */
