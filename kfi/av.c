// SPDX-License-Identifier: GPL-2.0
/*
 * Address vectors: peers that a consumer can name, by small numbers (handles).
 *
 * The entries have two indices: an xarray from handle to address, for posts, and a hash table from
 * address to handle, for arrivals. Look-ups use RCU and take no lock, so they are allowed in any
 * context but hard interrupt. &kfi_av.lock serialises insertion and removal.
 *
 * An address that is inserted again gets the same handle, and one more use. The entry is removed
 * when the address has been removed as many times, as in libfabric's providers. Indices are
 * allocated cyclically, so a removed index is not reused before all others have been. Providers may
 * therefore keep state of a peer by its index; they are notified when an entry is removed
 * (&kfi_prov_ops.addr_removed).
 */
#include <linux/export.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/rhashtable.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include "av.h"

#define AV_RX_CTX_BITS_MAX	16
#define AV_INSERT_FLAGS		(KFI_MORE | KFI_SYNC_ERR)
#define AV_LIMIT		XA_LIMIT(0, U32_MAX - 1)

struct av_entry {
	struct rhash_head	node;
	struct rcu_head		rcu;
	u32			index;
	u32			uses;	/* protected by kfi_av.lock */
	u8			addr[];
};

struct kfi_obj *kfi_av_obj(struct kfi_av *av)
{
	return &av->obj;
}

static const struct kfi_prov_ops *av_ops(const struct kfi_av *av)
{
	return av->domain->fabric->prov->ops;
}

/* ---- the data path ---- */

/* The handle without the bits that name a receive context. */
static u64 handle_index(const struct kfi_av *av, kfi_addr_t addr)
{
	return av->rx_ctx_bits ? addr & (~0ULL >> av->rx_ctx_bits) : addr;
}

/* The caller is in an RCU read section, or holds @av->lock. */
static struct av_entry *entry_of(struct kfi_av *av, kfi_addr_t addr)
{
	u64 index = handle_index(av, addr);

	return index < U32_MAX ? xa_load(&av->table, index) : NULL;
}

u32 kfi_av_index(struct kfi_av *av, kfi_addr_t addr)
{
	return min_t(u64, handle_index(av, addr), U32_MAX);
}
EXPORT_SYMBOL_GPL(kfi_av_index);

u32 kfi_av_rx_ctx(struct kfi_av *av, kfi_addr_t addr)
{
	return av->rx_ctx_bits ? addr >> (64 - av->rx_ctx_bits) : 0;
}
EXPORT_SYMBOL_GPL(kfi_av_rx_ctx);

int kfi_av_addr(struct kfi_av *av, kfi_addr_t addr, void *buf)
{
	struct av_entry *e;

	rcu_read_lock();
	e = entry_of(av, addr);
	if (e)
		memcpy(buf, e->addr, av->addrlen);
	rcu_read_unlock();
	return e ? av->addrlen : -EINVAL;
}
EXPORT_SYMBOL_GPL(kfi_av_addr);

kfi_addr_t kfi_av_reverse(struct kfi_av *av, const void *addr)
{
	kfi_addr_t handle = KFI_ADDR_NOTAVAIL;
	struct av_entry *e;

	rcu_read_lock();
	e = rhashtable_lookup(&av->by_addr, addr, av->params);
	if (e)
		handle = e->index;
	rcu_read_unlock();
	return handle;
}
EXPORT_SYMBOL_GPL(kfi_av_reverse);

/* ---- insertion ---- */

static int add_entry(struct kfi_av *av, struct av_entry *e)
{
	int ret;

	ret = xa_alloc_cyclic(&av->table, &e->index, NULL, AV_LIMIT, &av->next,
			      GFP_KERNEL_ACCOUNT);
	if (ret < 0)
		return ret;
	ret = rhashtable_insert_fast(&av->by_addr, &e->node, av->params);
	if (ret)
		goto free_index;
	/*
	 * The slot is reserved, so this allocates no memory. A reader sees the complete entry or
	 * none.
	 */
	ret = xa_err(xa_store(&av->table, e->index, e, GFP_KERNEL));
	if (ret)
		goto unhash;
	return 0;

unhash:
	rhashtable_remove_fast(&av->by_addr, &e->node, av->params);
free_index:
	xa_erase(&av->table, e->index);
	return ret;
}

static struct av_entry *new_entry(struct kfi_av *av, const void *addr)
{
	struct av_entry *e = kmalloc(struct_size(e, addr, av->addrlen), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!e)
		return ERR_PTR(-ENOMEM);
	e->uses = 0;
	memcpy(e->addr, addr, av->addrlen);
	ret = add_entry(av, e);
	if (!ret)
		return e;
	kfree_rcu(e, rcu);	/* kfi_av_reverse() may have found it */
	return ERR_PTR(ret);
}

/* Return the handle of one address, or KFI_ADDR_NOTAVAIL with a positive errno in *@err. */
static kfi_addr_t insert_one(struct kfi_av *av, const void *addr, int *err)
{
	struct av_entry *e;

	lockdep_assert_held(&av->lock);
	*err = EINVAL;
	if (av_ops(av)->addr_check &&
	    av_ops(av)->addr_check(av->domain, av->domain->info->addr_format, addr))
		return KFI_ADDR_NOTAVAIL;
	rcu_read_lock();
	e = rhashtable_lookup(&av->by_addr, addr, av->params);
	rcu_read_unlock();	/* @av->lock keeps the entry from being removed */
	if (!e)
		e = new_entry(av, addr);
	if (IS_ERR(e)) {
		*err = -PTR_ERR(e);
		return KFI_ADDR_NOTAVAIL;
	}
	*err = 0;
	e->uses++;
	return e->index;
}

bool kfi_av_put_one(struct kfi_av *av, const void *addr, size_t i, kfi_addr_t *handles, u64 flags,
		    void *context, int *err)
{
	kfi_addr_t handle = KFI_ADDR_NOTAVAIL;

	if (!*err) {
		mutex_lock(&av->lock);
		handle = insert_one(av, addr, err);
		mutex_unlock(&av->lock);
	}
	if (handles)
		handles[i] = handle;
	if (flags & KFI_SYNC_ERR)
		((int *)context)[i] = *err;
	return !*err;
}

int kfi_av_check_insert(u64 flags, const void *context)
{
	if (flags & ~AV_INSERT_FLAGS)
		return -KFI_EBADFLAGS;
	return flags & KFI_SYNC_ERR && !context ? -EINVAL : 0;
}

int kfi_av_insert(struct kfid_av *fid, const void *addr, size_t count, kfi_addr_t *handles,
		  uint64_t flags, void *context)
{
	struct kfi_av *av = kfi_to_av(fid);
	int ret, err, done = 0;
	size_t i;

	might_sleep();
	ret = kfi_av_check_insert(flags, context);
	if (ret)
		return ret;
	if (!addr || !count || count > INT_MAX)
		return -EINVAL;
	for (i = 0; i < count; i++) {
		err = 0;
		done += kfi_av_put_one(av, addr + i * av->addrlen, i, handles, flags, context,
				       &err);
	}
	return done;
}
EXPORT_SYMBOL_GPL(kfi_av_insert);

/* ---- removal and look-up ---- */

/*
 * Notify the providers, after the entry has been removed. A provider that stores the result of a
 * look-up and then looks the address up again either finds that it was removed, or is notified
 * here.
 */
static void notify_removed(struct kfi_av *av, u32 index)
{
	struct kfi_ep *ep;

	lockdep_assert_held(&av->lock);
	list_for_each_entry(ep, &av->eps, av_entry)
		if (ep->ops->addr_removed)
			ep->ops->addr_removed(ep, index);
}

static int remove_one(struct kfi_av *av, kfi_addr_t handle)
{
	struct av_entry *e;

	lockdep_assert_held(&av->lock);
	e = entry_of(av, handle);
	if (!e)
		return -EINVAL;
	if (--e->uses)
		return 0;
	xa_erase(&av->table, e->index);
	rhashtable_remove_fast(&av->by_addr, &e->node, av->params);
	notify_removed(av, e->index);
	kfree_rcu(e, rcu);
	return 0;
}

int kfi_av_remove(struct kfid_av *fid, kfi_addr_t *handles, size_t count, uint64_t flags)
{
	struct kfi_av *av = kfi_to_av(fid);
	int ret = 0;
	size_t i;

	might_sleep();
	if (flags)
		return -KFI_EBADFLAGS;
	if (!handles || !count)
		return -EINVAL;
	mutex_lock(&av->lock);
	for (i = 0; i < count; i++)
		if (remove_one(av, handles[i]))
			ret = -EINVAL;
	mutex_unlock(&av->lock);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_av_remove);

int kfi_av_lookup(struct kfid_av *fid, kfi_addr_t handle, void *addr, size_t *addrlen)
{
	struct kfi_av *av = kfi_to_av(fid);
	size_t room = *addrlen;
	struct av_entry *e;

	rcu_read_lock();
	e = entry_of(av, handle);
	if (e && room)
		memcpy(addr, e->addr, min(room, av->addrlen));
	rcu_read_unlock();
	if (!e)
		return -EINVAL;
	*addrlen = av->addrlen;
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_av_lookup);

const char *kfi_av_straddr(struct kfid_av *fid, const void *addr, char *buf, size_t *len)
{
	struct kfi_av *av = kfi_to_av(fid);
	char text[2 * KFI_ADDR_MAX + 1] = "";

	if (av_ops(av)->addr_str)
		av_ops(av)->addr_str(addr, av->addrlen, text, sizeof(text));
	else
		snprintf(text, sizeof(text), "%*phN", (int)av->addrlen, addr);
	if (*len)
		strscpy(buf, text, *len);
	*len = strlen(text) + 1;
	return buf;
}
EXPORT_SYMBOL_GPL(kfi_av_straddr);

/* ---- life ---- */

void kfi_av_join(struct kfi_av *av, struct kfi_ep *ep)
{
	kfi_obj_get(&av->obj);
	mutex_lock(&av->lock);
	list_add_tail(&ep->av_entry, &av->eps);
	mutex_unlock(&av->lock);
	ep->av = av;
}

void kfi_av_leave(struct kfi_av *av, struct kfi_ep *ep)
{
	mutex_lock(&av->lock);
	list_del(&ep->av_entry);
	mutex_unlock(&av->lock);
}

static int check_attr(const struct kfi_av_attr *attr)
{
	if (attr->name || attr->map_addr || attr->type == KFI_AV_MAP)
		return -EOPNOTSUPP;
	if (attr->flags & ~KFI_SYMMETRIC)
		return -KFI_EBADFLAGS;
	if (attr->type != KFI_AV_UNSPEC && attr->type != KFI_AV_TABLE)
		return -EINVAL;
	return attr->rx_ctx_bits < 0 || attr->rx_ctx_bits > AV_RX_CTX_BITS_MAX ? -EINVAL : 0;
}

int kfi_av_open(struct kfid_domain *dfid, struct kfi_av_attr *attr, struct kfid_av **avp,
		void *context)
{
	struct kfi_domain *domain = kfi_to_domain(dfid);
	struct kfi_av *av;
	int ret;

	might_sleep();
	ret = attr ? check_attr(attr) : -EINVAL;
	if (ret)
		return ret;
	if (READ_ONCE(domain->dead))
		return -ENODEV;
	av = kzalloc(sizeof(*av), GFP_KERNEL_ACCOUNT);
	if (!av)
		return -ENOMEM;
	av->fid.fid.fclass = KFI_CLASS_AV;
	av->fid.fid.context = context;
	av->domain = domain;
	av->addrlen = domain->addrlen;
	av->rx_ctx_bits = attr->rx_ctx_bits;
	av->params = (struct rhashtable_params) {
		.key_len = av->addrlen,
		.key_offset = offsetof(struct av_entry, addr),
		.head_offset = offsetof(struct av_entry, node),
		.nelem_hint = min_t(size_t, attr->count, U16_MAX),
		.automatic_shrinking = true,
	};
	ret = rhashtable_init(&av->by_addr, &av->params);
	if (ret)
		goto free_av;
	mutex_init(&av->lock);
	INIT_LIST_HEAD(&av->eps);
	xa_init_flags(&av->table, XA_FLAGS_ALLOC | XA_FLAGS_ACCOUNT);
	kfi_obj_init(&av->obj);
	kfi_obj_get(&domain->obj);
	attr->type = KFI_AV_TABLE;
	*avp = &av->fid;
	return 0;

free_av:
	kfree(av);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_av_open);

static void free_entry(void *ptr, void *arg)
{
	struct av_entry *e = ptr;

	kfree(e);
}

/* No endpoint is bound to the vector, so there are no readers. */
static int av_close(struct kfid *fid)
{
	struct kfi_av *av = container_of(fid, struct kfi_av, fid.fid);

	if (!kfi_obj_retire(&av->obj))
		return -EBUSY;
	rhashtable_free_and_destroy(&av->by_addr, free_entry, NULL);
	xa_destroy(&av->table);
	kfi_obj_put(&av->domain->obj);
	kfree(av);
	return 0;
}

const struct kfi_fid_class kfi_av_class = {
	.name = "av",
	.close = av_close,
};
