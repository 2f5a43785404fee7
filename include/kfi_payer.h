/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfi_payer.h - what processes may hold: limits of one user.
 *
 * A module that opens objects for processes has a payer for each context: kfi_ib.ko for a context
 * of verbs, kfi_net.ko for a device that a user has made. All payers of a user share one count of
 * objects of each kind, and one account of kernel memory. The limits are parameters of kfi.ko.
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

#endif /* _KFI_PAYER_H */
