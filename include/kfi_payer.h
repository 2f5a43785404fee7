/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfi_payer.h - what processes may hold: limits of one user, whatever the doors that it uses.
 *
 * A module that opens objects for processes has a payer for each open of its device: kfi_user.ko
 * for /dev/kfi, kfi_ib.ko for a context of verbs. All payers of a user share one count of objects
 * of each kind, and one account of kernel memory. The limits are parameters of kfi.ko.
 */
#ifndef _KFI_PAYER_H
#define _KFI_PAYER_H

#include <linux/sizes.h>
#include <kfi_account.h>

struct user_struct;

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
 * kfi_payer_user() - return the user that pays
 * @payer: the payer, which holds the user
 */
struct user_struct *kfi_payer_user(const struct kfi_payer *payer);

#endif /* _KFI_PAYER_H */
