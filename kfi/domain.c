// SPDX-License-Identifier: GPL-2.0
/*
 * domain.c - domains: open, close, commands. A domain stands for one device or network interface.
 *
 * Locks: &kfi_fabric.lock protects the list of domains; &kfi_domain.lock protects the lists of the
 * domain's objects, and &kfi_domain.eq.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "auth.h"
#include "eq.h"
#include "registry.h"

static int check_info(const struct kfi_fabric *fabric, const struct kfi_info *info)
{
	const char *name;

	if (!info || !info->domain_attr || !info->domain_attr->name ||
	    !info->fabric_attr || !info->fabric_attr->prov_name)
		return -EINVAL;
	if (strcmp(info->fabric_attr->prov_name, fabric->prov->name))
		return -EINVAL;
	if (!kfi_auth_key_ok(info->domain_attr->auth_key, info->domain_attr->auth_key_size))
		return -EINVAL;
	name = info->domain_attr->name;
	return strnlen(name, KFI_NAME_MAX) < KFI_NAME_MAX ? 0 : -EINVAL;
}

static struct kfi_domain *make_domain(struct kfi_fabric *fabric, const struct kfi_info *info,
				      void *context)
{
	struct kfi_domain *domain;

	domain = kzalloc(max(sizeof(*domain), fabric->prov->ops->domain_size), GFP_KERNEL_ACCOUNT);
	if (!domain)
		return NULL;
	domain->info = kfi_info_copy(info);
	if (!domain->info) {
		kfree(domain);
		return NULL;
	}
	domain->fid.fid.fclass = KFI_CLASS_DOMAIN;
	domain->fid.fid.context = context;
	kfi_obj_init(&domain->obj);
	domain->fabric = fabric;
	domain->account = fabric->account;
	strscpy(domain->name, info->domain_attr->name, sizeof(domain->name));
	domain->limits.numa_node = NUMA_NO_NODE;
	mutex_init(&domain->lock);
	INIT_LIST_HEAD(&domain->eps);
	INIT_LIST_HEAD(&domain->writers);
	INIT_LIST_HEAD(&domain->regions);
	xa_init(&domain->mems);
	return domain;
}

static void free_domain(struct kfi_domain *domain)
{
	xa_destroy(&domain->mems);
	mutex_destroy(&domain->lock);
	kfi_freeinfo(domain->info);
	kfree(domain);
}

static int open_domain(struct kfi_domain *domain)
{
	unsigned int noio = memalloc_noio_save();	/* see docs/locking.md */
	struct kfi_fabric *fabric = domain->fabric;
	int ret = -ENODEV;

	mutex_lock(&fabric->lock);
	if (!fabric->dead)
		ret = fabric->prov->ops->domain_open(domain);
	if (!ret) {
		if (!domain->limits.dma_device)
			domain->limits.dma_device = kfi_soft_device();
		if (!domain->limits.refusal)
			domain->limits.refusal = KFI_REFUSAL_OP;
		kfi_obj_get(&fabric->obj);
		kfi_obj_link(&domain->obj, &fabric->domains);
	}
	mutex_unlock(&fabric->lock);
	memalloc_noio_restore(noio);
	return ret;
}

/**
 * kfi_domain() - see kfi_domain.h
 * @fabric_fid: parent
 * @info: an answer of kfi_getinfo()
 * @domain_fid: where to store the domain
 * @context: the consumer's pointer
 *
 * Return: 0 or a negative errno.
 */
int kfi_domain(struct kfid_fabric *fabric_fid, struct kfi_info *info,
	       struct kfid_domain **domain_fid, void *context)
{
	struct kfi_fabric *fabric;
	struct kfi_domain *domain;
	int ret;

	might_sleep();
	if (!fabric_fid || fabric_fid->fid.fclass != KFI_CLASS_FABRIC || !domain_fid)
		return -EINVAL;
	fabric = kfi_to_fabric(fabric_fid);
	ret = check_info(fabric, info);
	if (ret)
		return ret;
	domain = make_domain(fabric, info, context);
	if (!domain)
		return -ENOMEM;
	ret = kfi_mr_table_init(domain);
	if (ret)
		goto free_domain;
	ret = open_domain(domain);
	if (ret)
		goto exit_mrs;
	*domain_fid = &domain->fid;
	return 0;

exit_mrs:
	kfi_mr_table_exit(domain);
free_domain:
	free_domain(domain);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_domain);

void kfi_domain_set_account(struct kfid_domain *domain_fid, struct kfi_account *account)
{
	kfi_to_domain(domain_fid)->account = account;
}
EXPORT_SYMBOL_GPL(kfi_domain_set_account);

static int close_domain(struct kfid *fid)
{
	struct kfi_domain *domain = container_of(fid, struct kfi_domain, fid.fid);
	struct kfi_fabric *fabric = domain->fabric;

	if (!kfi_obj_retire(&domain->obj))
		return -EBUSY;
	mutex_lock(&fabric->lock);
	list_del(&domain->obj.entry);
	mutex_unlock(&fabric->lock);
	if (fabric->prov->ops->domain_close)
		fabric->prov->ops->domain_close(domain);
	kfi_mr_table_exit(domain);
	if (domain->eq) {
		kfi_eq_purge(domain->eq, fid);
		kfi_obj_put(kfi_eq_obj(domain->eq));
	}
	free_domain(domain);
	kfi_obj_put(&fabric->obj);
	return 0;
}

static int bind_eq(struct kfi_domain *domain, struct kfi_eq *eq)
{
	int ret = 0;

	if (eq->fabric != domain->fabric)
		return -KFI_EDOMAIN;
	mutex_lock(&domain->lock);
	if (domain->eq) {
		ret = -EINVAL;
	} else if (!list_empty(&domain->eps)) {
		ret = -KFI_EOPBADSTATE;
	} else {
		kfi_obj_get(kfi_eq_obj(eq));
		domain->eq = eq;
	}
	mutex_unlock(&domain->lock);
	return ret;
}

static int bind_domain(struct kfid *fid, struct kfid *bfid, u64 flags)
{
	struct kfi_domain *domain = container_of(fid, struct kfi_domain, fid.fid);

	if (bfid->fclass != KFI_CLASS_EQ)
		return -EINVAL;
	if (flags & ~KFI_REG_MR)
		return -KFI_EBADFLAGS;
	if (flags)	/* registrations are complete when they return */
		return -EOPNOTSUPP;
	return bind_eq(domain, kfi_fid_to_eq(bfid));
}

const struct kfi_fid_class kfi_domain_class = {
	.name		= "domain",
	.close		= close_domain,
	.bind		= bind_domain,
	.ops_open	= kfi_domain_ops_open,
};

/**
 * kfi_domain_resolve() - query the provider for the address of a node
 * @domain: domain
 * @node: as in kfi_av_insertsvc()
 * @service: as in kfi_av_insertsvc()
 * @addr: room for KFI_ADDR_MAX bytes
 *
 * &kfi_domain.lock keeps the namespace from being destroyed while the provider uses it.
 *
 * Context: Process context, may sleep.
 * Return: length of the address in bytes; -ENODEV if the namespace or the device is gone; another
 * negative errno from the provider, such as -EINVAL.
 */
int kfi_domain_resolve(struct kfi_domain *domain, const char *node, const char *service,
		       void *addr)
{
	int ret = -ENODEV;

	mutex_lock(&domain->lock);
	if (!READ_ONCE(domain->dead))
		ret = domain->fabric->prov->ops->resolve(domain, node, service, addr);
	mutex_unlock(&domain->lock);
	return ret;
}

static struct kfi_domain *check_domain(struct kfid_domain *fid)
{
	return fid && fid->fid.fclass == KFI_CLASS_DOMAIN ? kfi_to_domain(fid) : NULL;
}

/**
 * kfi_domain_limits() - see kfi_domain.h
 * @fid: domain
 * @limits: where to store them
 *
 * Return: 0, -ENODEV or -EINVAL.
 */
int kfi_domain_limits(struct kfid_domain *fid, struct kfi_domain_limits *limits)
{
	struct kfi_domain *domain = check_domain(fid);

	if (!domain || !limits)
		return -EINVAL;
	if (READ_ONCE(domain->dead))
		return -ENODEV;
	*limits = domain->limits;
	limits->addrlen = domain->addrlen;
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_domain_limits);
