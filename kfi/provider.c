// SPDX-License-Identifier: GPL-2.0
/*
 * provider.c - registration and look-up of providers
 *
 * Readers walk the list inside SRCU, so a provider may sleep in its getinfo operation while no lock
 * is held, and registration never waits for discovery. An open fabric pins the module of its
 * provider.
 */
#define pr_fmt(fmt) "kfi: " fmt

#include <linux/kmod.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/srcu.h>

#include "registry.h"

static LIST_HEAD(kfi_providers);
/* Protects changes of kfi_providers. No other lock is taken under it. */
static DEFINE_MUTEX(kfi_providers_lock);
/* Protects readers of kfi_providers, also while they call a provider's getinfo. */
DEFINE_STATIC_SRCU(kfi_providers_srcu);

/* Conditions under which an operation is mandatory */
enum kfi_op_group {
	KFI_OPS_ALWAYS,
	KFI_OPS_MATCHING,	/* mandatory unless receives are posted to hardware */
	/* this group and the following ones: all operations of the group or none */
	KFI_OPS_HW_RECV,
	KFI_OPS_CONNECT,
	KFI_OPS_LISTEN,
	KFI_OPS_MR,
	KFI_OPS_MEM,
	KFI_OPS_GROUPS
};

struct kfi_op_rule {
	size_t			offset;
	const char		*name;
	enum kfi_op_group	group;
};

#define RULE(op, grp)	{ offsetof(struct kfi_prov_ops, op), #op, KFI_OPS_##grp }

static const struct kfi_op_rule kfi_op_rules[] = {
	RULE(getinfo, ALWAYS),
	RULE(resolve, ALWAYS),
	RULE(addr_str, ALWAYS),
	RULE(domain_open, ALWAYS),
	RULE(ep_open, ALWAYS),
	RULE(ep_enable, ALWAYS),
	RULE(ep_stop, ALWAYS),
	RULE(ep_close, ALWAYS),
	RULE(tx, ALWAYS),
	RULE(getname, ALWAYS),
	RULE(rx_matched, MATCHING),
	RULE(rx_drop, MATCHING),
	RULE(rx_posted, HW_RECV),
	RULE(rx_cancel, HW_RECV),
	RULE(connect, CONNECT),
	RULE(accept, CONNECT),
	RULE(shutdown, CONNECT),
	RULE(getpeer, CONNECT),
	RULE(pep_open, LISTEN),
	RULE(pep_close, LISTEN),
	RULE(pep_getname, LISTEN),
	RULE(listen, LISTEN),
	RULE(reject, LISTEN),
	RULE(mr_reg, MR),
	RULE(mr_dereg, MR),
	RULE(mem_alloc, MEM),
	RULE(mem_free, MEM),
};

static bool has_op(const struct kfi_prov_ops *ops, const struct kfi_op_rule *rule)
{
	return *(void * const *)((const char *)ops + rule->offset);
}

static bool group_used(const struct kfi_prov_ops *ops, enum kfi_op_group group)
{
	int i;

	if (group == KFI_OPS_ALWAYS)
		return true;
	if (group == KFI_OPS_MATCHING)
		return !ops->rx_posted;
	for (i = 0; i < ARRAY_SIZE(kfi_op_rules); i++)
		if (kfi_op_rules[i].group == group &&
		    has_op(ops, &kfi_op_rules[i]))
			return true;
	return false;
}

/**
 * kfi_missing_op() - look for a mandatory operation that is not set
 * @ops: a provider's operations
 *
 * Return: the name of the first that is missing, or NULL.
 */
const char *kfi_missing_op(const struct kfi_prov_ops *ops)
{
	bool used[KFI_OPS_GROUPS];
	int i;

	for (i = 0; i < KFI_OPS_GROUPS; i++)
		used[i] = group_used(ops, i);
	for (i = 0; i < ARRAY_SIZE(kfi_op_rules); i++)
		if (used[kfi_op_rules[i].group] &&
		    !has_op(ops, &kfi_op_rules[i]))
			return kfi_op_rules[i].name;
	return NULL;
}

/**
 * kfi_provider_name_ok() - check whether a name may be part of a module alias
 * @name: a name from a hint or a provider
 *
 * Return: true if the name is not empty, shorter than KFI_NAME_MAX, and made of a-z, 0-9, _ and -.
 */
bool kfi_provider_name_ok(const char *name)
{
	size_t len = strnlen(name, KFI_NAME_MAX);

	return len && len < KFI_NAME_MAX &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == len;
}

static int check_provider(const struct kfi_provider *prov, u32 contract, size_t size)
{
	const char *missing;

	if (contract != KFI_PROV_CONTRACT || size != sizeof(struct kfi_prov_ops)) {
		pr_err("provider %s: built for contract %u (%zu bytes), not %u (%zu bytes)\n",
		       prov->name, contract, size, KFI_PROV_CONTRACT,
		       sizeof(struct kfi_prov_ops));
		return -EINVAL;
	}
	if (!prov->name || !kfi_provider_name_ok(prov->name)) {
		pr_err("provider without a valid name\n");
		return -EINVAL;
	}
	missing = kfi_missing_op(prov->ops);
	if (missing) {
		pr_err("provider %s: no %s operation\n", prov->name, missing);
		return -EINVAL;
	}
	return 0;
}

/* Called inside the SRCU section, or with kfi_providers_lock held. */
static struct kfi_provider *find_provider(const char *name)
{
	struct kfi_provider *prov;

	list_for_each_entry_srcu(prov, &kfi_providers, entry,
				 srcu_read_lock_held(&kfi_providers_srcu) ||
				 lockdep_is_held(&kfi_providers_lock))
		if (!strcmp(prov->name, name))
			return prov;
	return NULL;
}

/**
 * __kfi_provider_register() - see kfi_provider_register() in kfi_prov.h
 * @prov: description of the provider
 * @contract: version of the contract that the provider was compiled with
 * @size: size of struct kfi_prov_ops that the provider was compiled with
 * @owner: module of the provider
 *
 * Return: 0, -EINVAL, -EEXIST.
 */
int __kfi_provider_register(struct kfi_provider *prov, u32 contract, size_t size,
			    struct module *owner)
{
	static u32 last_id;	/* protected by kfi_providers_lock */
	int ret;

	if (!prov || !prov->ops)
		return -EINVAL;
	ret = check_provider(prov, contract, size);
	if (ret)
		return ret;

	mutex_lock(&kfi_providers_lock);
	if (find_provider(prov->name)) {
		ret = -EEXIST;
	} else {
		prov->owner = owner;
		prov->id = ++last_id;
		list_add_tail_rcu(&prov->entry, &kfi_providers);
	}
	mutex_unlock(&kfi_providers_lock);
	return ret;
}
EXPORT_SYMBOL_GPL(__kfi_provider_register);

/**
 * kfi_provider_deregister() - see kfi_prov.h
 * @prov: a registered provider
 */
void kfi_provider_deregister(struct kfi_provider *prov)
{
	mutex_lock(&kfi_providers_lock);
	list_del_rcu(&prov->entry);
	mutex_unlock(&kfi_providers_lock);
	synchronize_srcu(&kfi_providers_srcu);
}
EXPORT_SYMBOL_GPL(kfi_provider_deregister);

/**
 * kfi_walk_providers() - call a function for every provider, in order of registration
 * @fn: function; may sleep. No lock is held, and the provider's module is pinned. A nonzero result
 *	ends the walk
 * @arg: argument of @fn
 *
 * Return: the last result of @fn, or 0.
 */
int kfi_walk_providers(kfi_provider_fn fn, void *arg)
{
	struct kfi_provider *prov;
	int idx, ret = 0;

	idx = srcu_read_lock(&kfi_providers_srcu);
	list_for_each_entry_srcu(prov, &kfi_providers, entry,
				 srcu_read_lock_held(&kfi_providers_srcu)) {
		if (!try_module_get(prov->owner))
			continue;
		ret = fn(prov, arg);
		module_put(prov->owner);
		if (ret)
			break;
	}
	srcu_read_unlock(&kfi_providers_srcu, idx);
	return ret;
}

/**
 * kfi_provider_find() - find a provider that is loaded
 * @name: name of the provider
 *
 * Return: the provider with its module pinned, or NULL.
 */
struct kfi_provider *kfi_provider_find(const char *name)
{
	struct kfi_provider *prov;
	int idx;

	idx = srcu_read_lock(&kfi_providers_srcu);
	prov = find_provider(name);
	if (prov && !try_module_get(prov->owner))
		prov = NULL;
	srcu_read_unlock(&kfi_providers_srcu, idx);
	return prov;
}

/* Loading a module allocates memory and reads files, so it is not allowed during memory reclaim. */
static bool may_load(void)
{
	return !(current->flags & (PF_MEMALLOC | PF_MEMALLOC_NOIO | PF_MEMALLOC_NOFS));
}

/**
 * kfi_provider_get() - find a provider; load its module if necessary
 * @name: name of the provider
 *
 * Context: Process context, may sleep.
 * Return: the provider with its module pinned, or NULL.
 */
struct kfi_provider *kfi_provider_get(const char *name)
{
	struct kfi_provider *prov = kfi_provider_find(name);

	if (prov || !kfi_provider_name_ok(name) || !may_load())
		return prov;
	request_module("kfi-provider-%s", name);
	return kfi_provider_find(name);
}

/**
 * kfi_provider_put() - unpin the module of a provider
 * @prov: result of kfi_provider_get() or kfi_provider_find()
 */
void kfi_provider_put(struct kfi_provider *prov)
{
	module_put(prov->owner);
}
