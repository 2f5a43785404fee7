/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfi_account.h - who pays for the kernel memory behind the objects of a fabric.
 *
 * Objects hold memory that no call of their owner allocates: connections, which peers may begin,
 * and messages that arrive before their receive. A consumer that opens objects on behalf of another
 * owner, such as kfi_ib.ko for a process, gives the fabric an account. kfi.ko charges such memory
 * to the account before it exists: a connection is refused, or gets smaller allowances, and no
 * message that a peer was allowed to send is ever lost. A fabric without an account is not limited.
 * A domain may have another account than its fabric.
 */
#ifndef _KFI_ACCOUNT_H
#define _KFI_ACCOUNT_H

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/types.h>

struct kfid_domain;
struct kfid_fabric;
struct mem_cgroup;

/**
 * struct kfi_account - an account of kernel memory
 * @bytes: bytes that are charged. Several accounts may share one count
 * @max_mib: the most that may be charged, MiB. It may change at any time
 * @memcg: memory cgroup that pays for what work items and softirqs allocate, or NULL
 * @up: account to which the same bytes are charged as well, or NULL
 *
 * The owner of an account does not free it before it has closed the fabric, or the domain.
 */
struct kfi_account {
	atomic_long_t		*bytes;
	const unsigned int	*max_mib;
	struct mem_cgroup	*memcg;
	struct kfi_account	*up;
};

/**
 * kfi_fabric_set_account() - let an account pay for what is opened in a fabric
 * @fabric: the fabric, in which nothing was opened yet
 * @account: the account
 *
 * Context: any.
 */
void kfi_fabric_set_account(struct kfid_fabric *fabric, struct kfi_account *account);

/**
 * kfi_domain_set_account() - let another account pay for what is opened in a domain
 * @domain: the domain, in which nothing was opened yet
 * @account: the account, instead of that of the fabric; NULL for none
 *
 * A connection that a passive endpoint of the fabric has accepted belongs to the domain of its
 * endpoint from then on.
 * Context: any.
 */
void kfi_domain_set_account(struct kfid_domain *domain, struct kfi_account *account);

/**
 * kfi_account_max() - return the most that may be charged, bytes
 * @account: the account
 */
static inline long kfi_account_max(const struct kfi_account *account)
{
	return min_t(u64, (u64)READ_ONCE(*account->max_mib) << 20, LONG_MAX / 2);
}

/**
 * kfi_account_uncharge() - undo kfi_account_charge()
 * @account: the account, or NULL
 * @bytes: number of bytes
 *
 * Context: any.
 */
static inline void kfi_account_uncharge(struct kfi_account *account, size_t bytes)
{
	for (; account; account = account->up)
		atomic_long_sub(bytes, account->bytes);
}

/**
 * kfi_account_charge() - charge memory before it is allocated
 * @account: the account, or NULL
 * @bytes: number of bytes
 *
 * Context: any. Return: 0; -ENOBUFS if the account, or one above it, does not allow that much.
 */
static inline int kfi_account_charge(struct kfi_account *account, size_t bytes)
{
	struct kfi_account *one;
	long max;

	for (one = account; one; one = one->up) {
		max = kfi_account_max(one);
		if (bytes > (unsigned long)max)
			break;
		if (atomic_long_add_return(bytes, one->bytes) > max) {
			atomic_long_sub(bytes, one->bytes);
			break;
		}
	}
	if (!one)
		return 0;
	for (; account != one; account = account->up)
		atomic_long_sub(bytes, account->bytes);
	return -ENOBUFS;
}

/**
 * kfi_account_left() - return how much may still be charged, bytes
 * @account: the account
 */
static inline long kfi_account_left(const struct kfi_account *account)
{
	long left = LONG_MAX;

	for (; account; account = account->up)
		left = min(left, kfi_account_max(account) - atomic_long_read(account->bytes));
	return max(left, 0L);
}

#endif /* _KFI_ACCOUNT_H */
