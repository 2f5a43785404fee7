// SPDX-License-Identifier: GPL-2.0
/*
 * The map of fabric ids: the IPv4 address of a node's number, in one network namespace.
 *
 * Consumers such as Lustre's kfilnd name nodes by numbers. Providers over IP derive the number from
 * the address, and back. Where that is not possible, an administrator sets the address here,
 * through netlink. Each number and each address is in the map once. A mutex serialises changes;
 * look-ups use RCU.
 */
#include <linux/mutex.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include "registry.h"

#define IDMAP_MAX	65536	/* entries of a namespace */

struct idmap_entry {
	u32		id;
	__be32		addr;
	struct rcu_head	rcu;
};

struct idmap_net {
	struct xarray	by_id;		/* all entries, by number */
	struct xarray	by_addr;	/* the same entries, by address in host byte order */
	struct mutex	lock;		/* serialises changes, and protects @count */
	unsigned int	count;
};

static unsigned int idmap_net_id;

static struct idmap_net *idmap_of(struct net *net)
{
	return net_generic(net, idmap_net_id);
}

/* ---- look-ups, for short names ---- */

int kfi_idmap_addr(struct net *net, u32 id, __be32 *addr)
{
	struct idmap_entry *e;

	rcu_read_lock();
	e = xa_load(&idmap_of(net)->by_id, id);
	if (e)
		*addr = e->addr;
	rcu_read_unlock();
	return e ? 0 : -ENOENT;
}

int kfi_idmap_id(struct net *net, __be32 addr, u32 *id)
{
	struct idmap_entry *e;

	rcu_read_lock();
	e = xa_load(&idmap_of(net)->by_addr, ntohl(addr));
	if (e)
		*id = e->id;
	rcu_read_unlock();
	return e ? 0 : -ENOENT;
}

/* ---- for the administrator ---- */

/*
 * Insert an entry under map->lock. If the second insertion fails, a reader may have found the entry
 * by its number: the caller frees it by RCU.
 */
static int add_locked(struct idmap_net *map, struct idmap_entry *e)
{
	int ret;

	lockdep_assert_held(&map->lock);
	if (xa_load(&map->by_id, e->id) || xa_load(&map->by_addr, ntohl(e->addr)))
		return -EEXIST;
	if (map->count >= IDMAP_MAX)
		return -ENOSPC;
	ret = xa_insert(&map->by_id, e->id, e, GFP_KERNEL);
	if (ret)
		return ret;
	ret = xa_insert(&map->by_addr, ntohl(e->addr), e, GFP_KERNEL);
	if (ret)
		xa_erase(&map->by_id, e->id);
	else
		map->count++;
	return ret;
}

int kfi_idmap_add(struct net *net, u32 id, __be32 addr)
{
	struct idmap_net *map = idmap_of(net);
	struct idmap_entry *e;
	int ret;

	if (!id || id > KFI_MAP_ID_MAX || !addr)
		return -EINVAL;
	e = kzalloc(sizeof(*e), GFP_KERNEL_ACCOUNT);
	if (!e)
		return -ENOMEM;
	e->id = id;
	e->addr = addr;
	mutex_lock(&map->lock);
	ret = add_locked(map, e);
	mutex_unlock(&map->lock);
	if (ret)
		kfree_rcu(e, rcu);
	return ret;
}

int kfi_idmap_del(struct net *net, u32 id)
{
	struct idmap_net *map = idmap_of(net);
	struct idmap_entry *e;

	mutex_lock(&map->lock);
	e = xa_erase(&map->by_id, id);
	if (e) {
		xa_erase(&map->by_addr, ntohl(e->addr));
		map->count--;
	}
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
	e = xa_find(&idmap_of(net)->by_id, &index, KFI_MAP_ID_MAX, XA_PRESENT);
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

	/*
	 * The administrator of a namespace fills the map, so its memory is charged to that memory
	 * cgroup.
	 */
	xa_init_flags(&map->by_id, XA_FLAGS_ACCOUNT);
	xa_init_flags(&map->by_addr, XA_FLAGS_ACCOUNT);
	mutex_init(&map->lock);
	return 0;
}

static void __net_exit idmap_net_exit(struct net *net)
{
	struct idmap_net *map = idmap_of(net);
	struct idmap_entry *e;
	unsigned long index;

	xa_for_each(&map->by_id, index, e)
		kfree(e);
	xa_destroy(&map->by_id);
	xa_destroy(&map->by_addr);
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
