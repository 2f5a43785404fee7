/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfi_payer.h - what processes may hold: limits of one user, whatever the doors that it uses.
 *
 * A module that opens objects for processes has a payer for each open of its device: kfi_user.ko
 * for /dev/kfi, kfi_ib.ko for a context of verbs. All payers of a user share one count of objects
 * of each kind, one account of kernel memory, and one count of pinned pages. The limits are
 * parameters of kfi.ko; that of pinned pages is RLIMIT_MEMLOCK.
 *
 * A user namespace has more users, as many as its owner has subordinate ids. So what is opened in
 * it counts against the opener, and against the owner of the namespace and of each one above it
 * as well, with the same limits, as the kernel's ucounts do. A namespace that root has made, as
 * most containers are, counts by itself: such containers do not take the limits from one another.
 */
#ifndef _KFI_PAYER_H
#define _KFI_PAYER_H

#include <linux/sizes.h>
#include <kfi_account.h>

/* Kinds of objects, each of which has a limit */
enum kfi_payer_kind {
	KFI_PAYER_CONTEXTS,	/* opens of a device */
	KFI_PAYER_ENDPOINTS,	/* and shared contexts; queue pairs, shared receive queues */
	KFI_PAYER_REGIONS,
	KFI_PAYER_OTHERS,
	KFI_PAYER_KINDS
};

/*
 * Bytes that kfi.ko and a provider allocate for an object of a kind, roughly: with its statistics
 * on each CPU, and what it listens with; a page of a counter, a waiter with a descriptor
 */
#define KFI_PAYER_ENDPOINT_BYTES	SZ_16K
#define KFI_PAYER_REGION_BYTES		SZ_2K
#define KFI_PAYER_OTHER_BYTES		SZ_8K

/* The same for an operation that may be in progress */
#define KFI_PAYER_OPER_BYTES		1024

struct kfi_payer;

/**
 * kfi_payer_open() - make a payer for the calling process
 *
 * It counts as one of the contexts of its user.
 * Context: process.
 * Return: the payer, or ERR_PTR(): -EMFILE if the user has too many; -ENOMEM.
 */
struct kfi_payer *kfi_payer_open(void);

/**
 * kfi_payer_get() - take another reference
 * @payer: the payer, or NULL
 *
 * Context: any.
 * Return: @payer.
 */
struct kfi_payer *kfi_payer_get(struct kfi_payer *payer);

/**
 * kfi_payer_put() - drop a reference
 * @payer: the payer, or NULL. When the last reference is dropped, nothing is charged to it any more
 *
 * Context: process.
 */
void kfi_payer_put(struct kfi_payer *payer);

/**
 * kfi_payer_take() - count an object, and charge its memory, before it is opened
 * @payer: the payer; NULL for an object of the kernel, which has no limits
 * @kind: its kind
 * @bytes: kernel memory
 *
 * Context: any. Return: 0; -EMFILE if a limit does not allow that.
 */
int kfi_payer_take(struct kfi_payer *payer, enum kfi_payer_kind kind, size_t bytes);

/**
 * kfi_payer_give() - undo kfi_payer_take()
 * @payer: the payer, or NULL
 * @kind: the same
 * @bytes: the same
 *
 * Context: any.
 */
void kfi_payer_give(struct kfi_payer *payer, enum kfi_payer_kind kind, size_t bytes);

/**
 * kfi_payer_account() - return the account of kernel memory
 * @payer: the payer, or NULL
 *
 * The account exists as long as the payer.
 * Context: any. Return: the account; NULL if there is no payer.
 */
struct kfi_account *kfi_payer_account(struct kfi_payer *payer);

/**
 * kfi_payer_callers() - return the account of connections that peers begin to kernel endpoints
 *
 * Its limit is that of a user. For the message protocol.
 * Context: any.
 */
struct kfi_account *kfi_payer_callers(void);

/**
 * kfi_payer_lock() - count pinned pages
 * @payer: the payer
 * @pages: number of pages
 * @limit: pages that the calling process may have pinned, of its RLIMIT_MEMLOCK; LONG_MAX: its
 *	namespaces do not limit it, either
 *
 * They count against the limit of the opener together with those of io_uring and AF_XDP, and
 * against the RLIMIT_MEMLOCK that each user namespace was made with.
 *
 * Context: process. Return: 0; -ENOMEM if a limit does not allow that.
 */
int kfi_payer_lock(struct kfi_payer *payer, unsigned long pages, unsigned long limit);

/**
 * kfi_payer_may_lock() - would kfi_payer_lock() succeed when other pages have been released?
 * @payer: the payer
 * @pages: number of pages
 * @limit: see kfi_payer_lock()
 * @ending: number of pages that the payer has locked and will release
 *
 * Context: process.
 */
bool kfi_payer_may_lock(const struct kfi_payer *payer, unsigned long pages, unsigned long limit,
			unsigned long ending);

/**
 * kfi_payer_unlock() - undo kfi_payer_lock()
 * @payer: the payer
 * @pages: number of pages
 *
 * Context: any.
 */
void kfi_payer_unlock(struct kfi_payer *payer, unsigned long pages);

#endif /* _KFI_PAYER_H */
