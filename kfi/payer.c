// SPDX-License-Identifier: GPL-2.0
/*
 * payer.c - limits of one user, in all contexts together.
 *
 * Objects are counted for the user that has opened the context, even if a process of another user
 * closes it. Kernel memory is charged to payer_user.bytes: by the module that has the context for
 * what its calls allocate, and by kfi.ko, through the account of a payer, for connections and
 * unexpected messages. docs/verbs-device.md lists what is charged where.
 *
 * A payer has a level for the opener, and one for each user namespace of the opener but the first:
 * the owner of that namespace pays, too. The rule is that of the kernel's ucounts, whose functions
 * are not exported to modules. A level counts once, although the opener may be the owner, and one
 * user may own several of the namespaces.
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
#include <linux/sched/user.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include <kfi_payer.h>
#include "core.h"

static unsigned int max_contexts = 256;
module_param(max_contexts, uint, 0644);
MODULE_PARM_DESC(max_contexts,
		 "contexts of kfi_ib, and devices of kfi_net, per user (default 256)");

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
		 "MiB of kernel memory per user, and for callers of the kernel's endpoints (default: a quarter of the machine's memory)");

/**
 * struct payer_user - a user, or a user namespace, with a payer
 * @entry: entry in payer_users
 * @levels: how many levels of payers count here; under payers_lock
 * @uid: the user
 * @ns: NULL; or the namespace, which root has made. A payer of a process in it holds it
 * @count: objects of each kind
 * @bytes: kernel memory
 */
struct payer_user {
	struct list_head	entry;
	unsigned int		levels;
	kuid_t			uid;
	const struct user_namespace *ns;
	atomic_t		count[KFI_PAYER_KINDS];
	atomic_long_t		bytes;
};

/**
 * struct payer_level - what counts for a payer
 * @user: where
 * @account: account of @user, whose @up is that of the next level
 */
struct payer_level {
	struct payer_user	*user;
	struct kfi_account	account;
};

/**
 * struct kfi_payer - one open of a device
 * @refs: references
 * @cred: credentials of the opener, which hold its user and its namespaces
 * @nr: number of levels
 * @level: the opener, and the owners of its namespaces, the innermost first
 */
struct kfi_payer {
	refcount_t		refs;
	const struct cred	*cred;
	unsigned int		nr;
	struct payer_level	level[];
};

static LIST_HEAD(payer_users);
static DEFINE_MUTEX(payers_lock);

void kfi_payer_init(void)
{
	if (!max_queue_mb)
		max_queue_mb = max(totalram_pages() >> (20 - PAGE_SHIFT + 2), 16UL);
}

/* Return the entry of a user, or of @ns if that is not NULL, with another level; NULL: no memory */
static struct payer_user *user_get(kuid_t uid, const struct user_namespace *ns)
{
	struct payer_user *user;

	mutex_lock(&payers_lock);
	list_for_each_entry(user, &payer_users, entry)
		if (user->ns == ns && uid_eq(user->uid, uid))
			goto found;
	user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);
	if (!user)
		goto unlock;
	user->uid = uid;
	user->ns = ns;
	list_add(&user->entry, &payer_users);
found:
	user->levels++;
unlock:
	mutex_unlock(&payers_lock);
	return user;
}

static void user_put(struct payer_user *user)
{
	mutex_lock(&payers_lock);
	if (!--user->levels) {
		list_del(&user->entry);
		WARN_ON_ONCE(atomic_long_read(&user->bytes));
		kfree(user);
	}
	mutex_unlock(&payers_lock);
}

/* Add a level, unless the payer has it. Return: 0, -ENOMEM */
static int add_level(struct kfi_payer *payer, kuid_t uid, const struct user_namespace *ns)
{
	struct payer_user *user = user_get(uid, ns);
	struct payer_level *level;
	unsigned int i;

	if (!user)
		return -ENOMEM;
	for (i = 0; i < payer->nr; i++) {
		if (payer->level[i].user == user) {
			user_put(user);
			return 0;
		}
	}
	level = &payer->level[payer->nr++];
	level->user = user;
	level->account.bytes = &user->bytes;
	level->account.max_mib = &max_queue_mb;
	if (level != payer->level)
		level[-1].account.up = &level->account;
	return 0;
}

static int add_levels(struct kfi_payer *payer)
{
	const struct user_namespace *ns;
	bool by_root;
	int ret;

	ret = add_level(payer, payer->cred->user->uid, NULL);
	for (ns = payer->cred->user_ns; !ret && ns->parent; ns = ns->parent) {
		by_root = uid_eq(ns->owner, GLOBAL_ROOT_UID);
		ret = add_level(payer, ns->owner, by_root ? ns : NULL);
	}
	return ret;
}

static void payer_free(struct kfi_payer *payer)
{
	while (payer->nr)
		user_put(payer->level[--payer->nr].user);
	put_cred(payer->cred);
	kfree(payer);
}

struct kfi_payer *kfi_payer_open_as(const struct cred *cred)
{
	const struct user_namespace *ns;
	struct kfi_payer *payer;
	unsigned int most = 1;
	int ret;

	for (ns = cred->user_ns; ns->parent; ns = ns->parent)
		most++;
	payer = kzalloc(struct_size(payer, level, most), GFP_KERNEL_ACCOUNT);
	if (!payer)
		return ERR_PTR(-ENOMEM);
	payer->cred = get_cred(cred);
	ret = add_levels(payer) ?: kfi_payer_take(payer, KFI_PAYER_CONTEXTS, 0);
	if (ret) {
		payer_free(payer);
		return ERR_PTR(ret);
	}
	payer->level[0].account.memcg = get_mem_cgroup_from_mm(current->mm);
	refcount_set(&payer->refs, 1);
	return payer;
}

struct kfi_payer *kfi_payer_open(void)
{
	return kfi_payer_open_as(current_cred());
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
	mem_cgroup_put(payer->level[0].account.memcg);
	payer_free(payer);
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
	unsigned int i, counted;

	if (!payer)
		return 0;
	for (i = 0; i < payer->nr; i++) {
		counted = atomic_inc_return(&payer->level[i].user->count[kind]);
		if (counted > limit[kind])
			goto undo;
	}
	if (!kfi_account_charge(&payer->level[0].account, bytes))
		return 0;
	i--;
undo:
	do {
		atomic_dec(&payer->level[i].user->count[kind]);
	} while (i--);
	return -EMFILE;
}
EXPORT_SYMBOL_GPL(kfi_payer_take);

void kfi_payer_give(struct kfi_payer *payer, enum kfi_payer_kind kind, size_t bytes)
{
	unsigned int i;

	if (!payer)
		return;
	kfi_account_uncharge(&payer->level[0].account, bytes);
	for (i = 0; i < payer->nr; i++)
		atomic_dec(&payer->level[i].user->count[kind]);
}
EXPORT_SYMBOL_GPL(kfi_payer_give);

/* Connections that peers have begun to endpoints of the kernel (proto/callers.c) */
struct kfi_account *kfi_payer_callers(void)
{
	static atomic_long_t bytes;
	static struct kfi_account callers = { .bytes = &bytes, .max_mib = &max_queue_mb };

	return &callers;
}

struct kfi_account *kfi_payer_account(struct kfi_payer *payer)
{
	return payer ? &payer->level[0].account : NULL;
}
EXPORT_SYMBOL_GPL(kfi_payer_account);
