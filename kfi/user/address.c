// SPDX-License-Identifier: GPL-2.0
/*
 * Address vectors.
 */
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "user.h"

#define AV_BATCH	4096	/* addresses of one call */
#define AV_COUNT_MAX	1024	/* expected addresses for which room is reserved, at most */
#define AV_SLOT_ROOM	32	/* bytes of the table for an expected address */
#define AV_ROOM		256	/* bytes that kfi.ko has for an address, roughly */

static struct ku_av *av_get(struct ku_ctx *ctx, u32 handle)
{
	struct ku_obj *obj = ku_obj_get(ctx, handle, KFI_CLASS_AV);

	return IS_ERR(obj) ? ERR_CAST(obj) : container_of(obj, struct ku_av, obj);
}

int ku_ioc_av(struct ku_ctx *ctx, void *arg)
{
	struct kfi_user_av *open = arg;
	struct kfi_av_attr attr = {
		.type = KFI_AV_TABLE,
		.rx_ctx_bits = min_t(u32, open->rx_ctx_bits, 64),
		.count = min_t(u64, open->count, AV_COUNT_MAX),
	};
	struct ku_domain *domain;
	struct ku_av *av;
	int ret;

	domain = ku_domain_get(ctx, open->domain);
	if (IS_ERR(domain))
		return PTR_ERR(domain);
	av = ku_obj_new(ctx, &domain->obj, sizeof(*av), KFI_CLASS_AV, open->cookie);
	if (IS_ERR(av)) {
		ret = PTR_ERR(av);
		goto put_domain;
	}
	ret = ku_obj_charge(&av->obj, attr.count * AV_SLOT_ROOM);
	if (ret)
		goto abandon;
	ret = kfi_av_open(domain->domain, &attr, &av->av, av);
	if (ret)
		goto abandon;
	av->obj.fid = &av->av->fid;
	av->addrlen = domain->addrlen;
	open->handle = av->obj.handle;
	open->addrlen = av->addrlen;
	ku_obj_publish(&av->obj);
	goto put_domain;

abandon:
	ku_obj_abandon(&av->obj);
put_domain:
	ku_obj_put(&domain->obj);
	return ret;
}

/* ---- inserting ---- */

/* Charge the memory of addresses before they are inserted */
static int charge(struct ku_av *av, size_t count)
{
	int ret;

	mutex_lock(&av->obj.lock);
	ret = ku_obj_charge(&av->obj, count * AV_ROOM);
	mutex_unlock(&av->obj.lock);
	return ret;
}

/* Undo charge() for addresses that could not be inserted, or are removed */
static void uncharge(struct ku_av *av, size_t count)
{
	mutex_lock(&av->obj.lock);
	kfi_account_uncharge(ku_account(av->obj.ctx), count * AV_ROOM);
	av->obj.room -= count * AV_ROOM;
	mutex_unlock(&av->obj.lock);
}

/*
 * Copy the results of an insertion to the process: addresses, and with @errs the error of each
 */
static int give_results(const kfi_addr_t *results, u64 fi_addrs, const int *errs, u64 to_errs,
			size_t count)
{
	if (fi_addrs && copy_to_user(u64_to_user_ptr(fi_addrs), results, count * sizeof(*results)))
		return -EFAULT;
	if (to_errs && copy_to_user(u64_to_user_ptr(to_errs), errs, count * sizeof(*errs)))
		return -EFAULT;
	return 0;
}

static int insert(struct ku_av *av, struct kfi_user_av_insert *ins)
{
	kfi_addr_t *results = kvmalloc_array(ins->count, sizeof(*results), GFP_KERNEL_ACCOUNT);
	int *errs = kvcalloc(ins->count, sizeof(*errs), GFP_KERNEL_ACCOUNT);
	void *addrs = vmemdup_user(u64_to_user_ptr(ins->addrs), ins->addrs_size);
	int ret = -ENOMEM, inserted;

	if (IS_ERR(addrs)) {
		ret = PTR_ERR(addrs);
		addrs = NULL;
		goto free_all;
	}
	if (!results || !errs)
		goto free_all;
	ret = charge(av, ins->count);
	if (ret)
		goto free_all;
	inserted = kfi_av_insert(av->av, addrs, ins->count, results, KFI_SYNC_ERR, errs);
	uncharge(av, ins->count - max(inserted, 0));
	ret = inserted;
	if (ret < 0)
		goto free_all;
	ret = give_results(results, ins->fi_addrs, errs, ins->errs, ins->count);
	if (!ret)
		ins->count = inserted;
free_all:
	kvfree(addrs);
	kvfree(errs);
	kvfree(results);
	return ret;
}

int ku_ioc_av_insert(struct ku_ctx *ctx, void *arg)
{
	struct kfi_user_av_insert *ins = arg;
	struct ku_av *av;
	int ret = -EINVAL;

	if (ins->reserved || !ins->count || ins->count > AV_BATCH)
		return -EINVAL;
	av = av_get(ctx, ins->av);
	if (IS_ERR(av))
		return PTR_ERR(av);
	if (ins->addrs_size == ins->count * av->addrlen)
		ret = insert(av, ins);
	ku_obj_put(&av->obj);
	return ret;
}

static int insert_names(struct ku_av *av, struct kfi_user_av_svc *svc, const char *node,
			const char *service)
{
	size_t count = (size_t)svc->nodecnt * svc->svccnt;
	kfi_addr_t *results = kvmalloc_array(count, sizeof(*results), GFP_KERNEL_ACCOUNT);
	int ret, inserted;

	if (!results)
		return -ENOMEM;
	ret = charge(av, count);
	if (ret) {
		kvfree(results);
		return ret;
	}
	if (count == 1)
		inserted = kfi_av_insertsvc(av->av, node, service, results, 0, NULL);
	else
		inserted = kfi_av_insertsym(av->av, node, svc->nodecnt, service, svc->svccnt,
					    results, 0, NULL);
	uncharge(av, count - max(inserted, 0));
	ret = inserted < 0 ? inserted : give_results(results, svc->fi_addrs, NULL, 0, count);
	if (!ret)
		svc->count = inserted;
	kvfree(results);
	return ret;
}

int ku_ioc_av_insertsvc(struct ku_ctx *ctx, void *arg)
{
	struct kfi_user_av_svc *svc = arg;
	char *node, *service;
	struct ku_av *av;
	int ret;

	if (!svc->nodecnt || !svc->svccnt || (u64)svc->nodecnt * svc->svccnt > AV_BATCH)
		return -EINVAL;
	av = av_get(ctx, svc->av);
	if (IS_ERR(av))
		return PTR_ERR(av);
	node = ku_string(svc->node, 256);
	if (IS_ERR(node)) {
		ret = PTR_ERR(node);
		goto put_av;
	}
	service = ku_string(svc->service, 64);
	if (IS_ERR(service)) {
		ret = PTR_ERR(service);
		goto free_node;
	}
	ret = insert_names(av, svc, node, service);
	kfree(service);
free_node:
	kfree(node);
put_av:
	ku_obj_put(&av->obj);
	return ret;
}

/*
 * Addresses are removed one by one, because kfi.ko does not return how many of several it has
 * removed.
 */
static int remove_all(struct ku_av *av, kfi_addr_t *addrs, size_t count)
{
	size_t i, removed = 0;
	int ret = 0, err;

	for (i = 0; i < count; i++) {
		err = kfi_av_remove(av->av, &addrs[i], 1, 0);
		ret = ret ?: err;
		removed += !err;
	}
	uncharge(av, removed);
	return ret;
}

int ku_ioc_av_remove(struct ku_ctx *ctx, void *arg)
{
	struct kfi_user_av_remove *remove = arg;
	kfi_addr_t *addrs;
	struct ku_av *av;
	int ret;

	if (!remove->count || remove->count > AV_BATCH)
		return -EINVAL;
	addrs = vmemdup_user(u64_to_user_ptr(remove->fi_addrs), remove->count * sizeof(*addrs));
	if (IS_ERR(addrs))
		return PTR_ERR(addrs);
	av = av_get(ctx, remove->av);
	if (IS_ERR(av)) {
		ret = PTR_ERR(av);
	} else {
		ret = remove_all(av, addrs, remove->count);
		ku_obj_put(&av->obj);
	}
	kvfree(addrs);
	return ret;
}

/* ---- look-up ---- */

static int lookup(struct ku_av *av, struct kfi_user_av_lookup *look)
{
	u8 addr[KFI_USER_ADDR_MAX] = {};
	size_t len = sizeof(addr);
	u32 room = look->addrlen;
	int ret;

	ret = kfi_av_lookup(av->av, look->fi_addr, addr, &len);
	if (ret)
		return ret;
	look->addrlen = len;
	if (copy_to_user(u64_to_user_ptr(look->addr), addr, min_t(size_t, room, len)))
		return -EFAULT;
	return 0;
}

int ku_ioc_av_lookup(struct ku_ctx *ctx, void *arg)
{
	struct kfi_user_av_lookup *look = arg;
	struct ku_av *av = av_get(ctx, look->av);
	int ret;

	if (IS_ERR(av))
		return PTR_ERR(av);
	ret = lookup(av, look);
	ku_obj_put(&av->obj);
	return ret;
}

static int straddr(struct ku_av *av, struct kfi_user_av_lookup *look)
{
	u8 addr[KFI_USER_ADDR_MAX] = {};
	char text[128];
	size_t len = sizeof(text), n;

	if (look->addrlen != av->addrlen || !look->len)
		return -EINVAL;
	if (copy_from_user(addr, u64_to_user_ptr(look->addr), look->addrlen))
		return -EFAULT;
	kfi_av_straddr(av->av, addr, text, &len);
	n = min_t(size_t, look->len, strlen(text) + 1);
	text[n - 1] = 0;
	look->len = len;
	return copy_to_user(u64_to_user_ptr(look->str), text, n) ? -EFAULT : 0;
}

int ku_ioc_av_straddr(struct ku_ctx *ctx, void *arg)
{
	struct kfi_user_av_lookup *look = arg;
	struct ku_av *av = av_get(ctx, look->av);
	int ret;

	if (IS_ERR(av))
		return PTR_ERR(av);
	ret = straddr(av, look);
	ku_obj_put(&av->obj);
	return ret;
}
