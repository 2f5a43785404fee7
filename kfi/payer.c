// SPDX-License-Identifier: GPL-2.0
/*
 * payer.c - limits of one user, in all contexts of all doors together.
 *
 * Objects are counted for the user that has opened the context, even if a process of another user
 * closes it. Kernel memory is charged to payer_user.bytes: by the module that has the context for
 * what its calls allocate, and by kfi.ko, through the account of a payer, for connections and
 * unexpected messages. docs/user-space.md lists what is charged where.
 *
 * payers_lock protects the list of users.
 */
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <kfi_payer.h>
#include "core.h"

static unsigned int max_contexts = 256;
module_param(max_contexts, uint, 0644);
MODULE_PARM_DESC(max_contexts,
		 "opens of /dev/kfi and of devices of kfi_ib per user (default 256)");

static unsigned int max_endpoints = 1024;
module_param(max_endpoints, uint, 0644);
MODULE_PARM_DESC(max_endpoints, "endpoints and queue pairs per user (default 1024)");

static unsigned int max_regions = 65536;
module_param(max_regions, uint, 0644);
MODULE_PARM_DESC(max_regions, "memory regions per user (default 65536)");

static unsigned int max_objects = 65536;
module_param(max_objects, uint, 0644);
MODULE_PARM_DESC(max_objects,
		 "queues, counters, vectors and requests per user (default 65536)");

static unsigned int max_queue_mb;
module_param(max_queue_mb, uint, 0644);
MODULE_PARM_DESC(max_queue_mb,
		 "MiB of kernel memory per user (default: a quarter of the machine's memory)");

/**
 * struct payer_user - a user with a payer
 * @entry: entry in payer_users
 * @payers: how many; under payers_lock
 * @cred: credentials of the first opener, which hold the account of the user
 * @count: objects of each kind
 * @bytes: kernel memory
 */
struct payer_user {
	struct list_head	entry;
	unsigned int		payers;
	const struct cred	*cred;
	atomic_t		count[KFI_PAYER_KINDS];
	atomic_long_t		bytes;
};

/**
 * struct kfi_payer - one open of a device
 * @refs: references
 * @user: the user
 * @account: account of the user, with the memory cgroup of the opener
 */
struct kfi_payer {
	refcount_t		refs;
	struct payer_user	*user;
	struct kfi_account	account;
};

static LIST_HEAD(payer_users);
static DEFINE_MUTEX(payers_lock);

void kfi_payer_init(void)
{
	if (!max_queue_mb)
		max_queue_mb = max(totalram_pages() >> (20 - PAGE_SHIFT + 2), 16UL);
}

static struct payer_user *user_of(const struct user_struct *account)
{
	struct payer_user *user;

	lockdep_assert_held(&payers_lock);
	list_for_each_entry(user, &payer_users, entry)
		if (user->cred->user == account)
			return user;
	return NULL;
}

static struct payer_user *user_get(void)
{
	struct payer_user *user;

	mutex_lock(&payers_lock);
	user = user_of(current_user());
	if (!user) {
		user = kzalloc(sizeof(*user), GFP_KERNEL);
		if (!user)
			goto unlock;
		user->cred = get_current_cred();
		list_add(&user->entry, &payer_users);
	}
	user->payers++;
unlock:
	mutex_unlock(&payers_lock);
	return user;
}

static void user_put(struct payer_user *user)
{
	mutex_lock(&payers_lock);
	if (!--user->payers) {
		list_del(&user->entry);
		WARN_ON_ONCE(atomic_long_read(&user->bytes));
		put_cred(user->cred);
		kfree(user);
	}
	mutex_unlock(&payers_lock);
}

struct kfi_payer *kfi_payer_open(void)
{
	struct kfi_payer *payer = kzalloc(sizeof(*payer), GFP_KERNEL_ACCOUNT);
	int ret = -ENOMEM;

	if (!payer)
		return ERR_PTR(ret);
	payer->user = user_get();
	if (!payer->user)
		goto free;
	payer->account.bytes = &payer->user->bytes;
	payer->account.max_mib = &max_queue_mb;
	ret = kfi_payer_take(payer, KFI_PAYER_CONTEXTS, 0);
	if (ret)
		goto put_user;
	payer->account.memcg = get_mem_cgroup_from_mm(current->mm);
	refcount_set(&payer->refs, 1);
	return payer;

put_user:
	user_put(payer->user);
free:
	kfree(payer);
	return ERR_PTR(ret);
}
EXPORT_SYMBOL_GPL(kfi_payer_open);

struct kfi_payer *kfi_payer_get(struct kfi_payer *payer)
{
	if (payer)
		refcount_inc(&payer->refs);
	return payer;
}
EXPORT_SYMBOL_GPL(kfi_payer_get);

void kfi_payer_put(struct kfi_payer *payer)
{
	if (!payer || !refcount_dec_and_test(&payer->refs))
		return;
	kfi_payer_give(payer, KFI_PAYER_CONTEXTS, 0);
	mem_cgroup_put(payer->account.memcg);
	user_put(payer->user);
	kfree(payer);
}
EXPORT_SYMBOL_GPL(kfi_payer_put);

int kfi_payer_take(struct kfi_payer *payer, enum kfi_payer_kind kind, size_t bytes)
{
	const unsigned int limit[KFI_PAYER_KINDS] = {
		[KFI_PAYER_CONTEXTS] = READ_ONCE(max_contexts),
		[KFI_PAYER_ENDPOINTS] = READ_ONCE(max_endpoints),
		[KFI_PAYER_REGIONS] = READ_ONCE(max_regions),
		[KFI_PAYER_OTHERS] = READ_ONCE(max_objects),
	};
	atomic_t *count;

	if (!payer)
		return 0;
	count = &payer->user->count[kind];
	if ((unsigned int)atomic_inc_return(count) <= limit[kind] &&
	    !kfi_account_charge(&payer->account, bytes))
		return 0;
	atomic_dec(count);
	return -EMFILE;
}
EXPORT_SYMBOL_GPL(kfi_payer_take);

void kfi_payer_give(struct kfi_payer *payer, enum kfi_payer_kind kind, size_t bytes)
{
	if (!payer)
		return;
	kfi_account_uncharge(&payer->account, bytes);
	atomic_dec(&payer->user->count[kind]);
}
EXPORT_SYMBOL_GPL(kfi_payer_give);

struct kfi_account *kfi_payer_account(struct kfi_payer *payer)
{
	return payer ? &payer->account : NULL;
}
EXPORT_SYMBOL_GPL(kfi_payer_account);

struct user_struct *kfi_payer_user(const struct kfi_payer *payer)
{
	return payer->user->cred->user;
}
EXPORT_SYMBOL_GPL(kfi_payer_user);
