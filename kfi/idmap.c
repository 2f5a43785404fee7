// SPDX-License-Identifier: GPL-2.0
/*
 * The map of fabric ids: which IPv4 address the number of a node stands for, in one network namespace.
 *
 * Providers over IP whose consumers name nodes by numbers (Lustre's kfilnd) derive one from the other. Where they can't, an
 * administrator says it here, through netlink. Neither number nor address is there twice. Changes take a mutex, look-ups RCU;
 * the one from the address walks, but only discovery and greetings make it.
 */
#include <linux/export.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include "registry.h"

#define IDMAP_MAX	65536	/* entries of a namespace */

struct idmap_entry {
	__be32		addr;
	struct rcu_head	rcu;
};

struct idmap_net {
	struct xarray	entries;	/* by id */
	struct mutex	lock;
	unsigned int	count;
};

static unsigned int idmap_net_id;

static struct idmap_net *idmap_of(struct net *net)
{
	return net_generic(net, idmap_net_id);
}

/* ---- for providers ---- */

int kfi_idmap_addr(struct net *net, u32 id, __be32 *addr)
{
	struct idmap_entry *e;

	rcu_read_lock();
	e = xa_load(&idmap_of(net)->entries, id);
	if (e)
		*addr = e->addr;
	rcu_read_unlock();
	return e ? 0 : -ENOENT;
}
EXPORT_SYMBOL_GPL(kfi_idmap_addr);

int kfi_idmap_id(struct net *net, __be32 addr, u32 *id)
{
	struct idmap_entry *e;
	unsigned long index;
	int ret = -ENOENT;

	rcu_read_lock();
	xa_for_each(&idmap_of(net)->entries, index, e) {
		if (e->addr != addr)
			continue;
		*id = index;
		ret = 0;
		break;
	}
	rcu_read_unlock();
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_idmap_id);

/* ---- for the administrator ---- */

static int add_locked(struct idmap_net *map, struct net *net, u32 id, struct idmap_entry *e)
{
	u32 other;
	int ret;

	lockdep_assert_held(&map->lock);
	if (map->count >= IDMAP_MAX)
		return -ENOSPC;
	if (!kfi_idmap_id(net, e->addr, &other))
		return -EEXIST;
	ret = xa_insert(&map->entries, id, e, GFP_KERNEL);
	if (ret)
		return ret == -EBUSY ? -EEXIST : ret;
	map->count++;
	return 0;
}

int kfi_idmap_add(struct net *net, u32 id, __be32 addr)
{
	struct idmap_net *map = idmap_of(net);
	struct idmap_entry *e;
	int ret;

	if (!id || id > KFI_IDMAP_ID_MAX || !addr)
		return -EINVAL;
	e = kzalloc(sizeof(*e), GFP_KERNEL_ACCOUNT);
	if (!e)
		return -ENOMEM;
	e->addr = addr;
	mutex_lock(&map->lock);
	ret = add_locked(map, net, id, e);
	mutex_unlock(&map->lock);
	if (ret)
		kfree(e);
	return ret;
}

int kfi_idmap_del(struct net *net, u32 id)
{
	struct idmap_net *map = idmap_of(net);
	struct idmap_entry *e;

	mutex_lock(&map->lock);
	e = xa_erase(&map->entries, id);
	if (e)
		map->count--;
	mutex_unlock(&map->lock);
	if (!e)
		return -ENOENT;
	kfree_rcu(e, rcu);
	return 0;
}

int kfi_idmap_next(struct net *net, u32 *id, __be32 *addr)
{
	unsigned long index = *id;
	struct idmap_entry *e;

	rcu_read_lock();
	e = xa_find(&idmap_of(net)->entries, &index, KFI_IDMAP_ID_MAX, XA_PRESENT);
	if (e) {
		*id = index;
		*addr = e->addr;
	}
	rcu_read_unlock();
	return e ? 0 : -ENOENT;
}

/* ---- namespaces ---- */

static int __net_init idmap_net_init(struct net *net)
{
	struct idmap_net *map = idmap_of(net);

	xa_init(&map->entries);
	mutex_init(&map->lock);
	return 0;
}

static void __net_exit idmap_net_exit(struct net *net)
{
	struct idmap_net *map = idmap_of(net);
	struct idmap_entry *e;
	unsigned long index;

	xa_for_each(&map->entries, index, e)
		kfree(e);
	xa_destroy(&map->entries);
}

static struct pernet_operations idmap_net_ops = {
	.init	= idmap_net_init,
	.exit	= idmap_net_exit,
	.id	= &idmap_net_id,
	.size	= sizeof(struct idmap_net),
};

int kfi_idmap_init(void)
{
	return register_pernet_subsys(&idmap_net_ops);
}

void kfi_idmap_exit(void)
{
	unregister_pernet_subsys(&idmap_net_ops);
}
