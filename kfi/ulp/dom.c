// SPDX-License-Identifier: GPL-2.0
/*
 * dom.c - finds a provider for an address, and keeps the domains that connections of one module
 * share.
 *
 * A reconnect for which memory reclaim waits takes doms_lock. So allocations under the lock never
 * wait for I/O, whoever makes them.
 */
#include <linux/kmod.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "ulp.h"

#define ULP_API	KFI_VERSION(KFI_MAJOR_VERSION, KFI_MINOR_VERSION)

static LIST_HEAD(fabs);
static DEFINE_MUTEX(doms_lock);

/* ---- search ---- */

static int hint(char **to, const char *name)
{
	if (!name || !*name)
		return 0;
	*to = kstrdup(name, GFP_KERNEL);
	return *to ? 0 : -ENOMEM;
}

static struct kfi_info *make_hints(const struct kfi_need *need, const char *src)
{
	struct kfi_info *hints = kfi_allocinfo();

	if (!hints)
		return NULL;
	hints->caps = KFI_MSG | KFI_RMA | need->caps;
	hints->ep_attr->type = need->type;
	hints->ep_attr->max_msg_size = need->max_len;
	hints->tx_attr->msg_order = need->order;
	hints->tx_attr->op_flags = need->level;
	hints->tx_attr->iov_limit = need->tx_segs;
	hints->tx_attr->inject_size = need->inject;
	hints->tx_attr->tclass = need->tclass;
	hints->rx_attr->msg_order = need->order;
	hints->rx_attr->iov_limit = need->rx_segs;
	hints->domain_attr->caps = need->one_peer ? KFI_ONE_PEER : 0;
	hints->domain_attr->mr_key_size = need->key_size;
	hints->domain_attr->mr_mode = KFI_MR_VIRT_ADDR | KFI_MR_ALLOCATED | KFI_MR_PROV_KEY |
				      KFI_MR_ENDPOINT;
	if (hint(&hints->fabric_attr->prov_name, need->provider) ||
	    hint(&hints->domain_attr->name, need->device) ||
	    hint((char **)&hints->src_addr, src))
		goto free;
	if (hints->src_addr) {
		hints->addr_format = KFI_ADDR_STR;
		hints->src_addrlen = strlen(src) + 1;
	}
	if (!need->auth_key)
		return hints;
	hints->ep_attr->auth_key = kmemdup(need->auth_key, need->auth_key_size, GFP_KERNEL);
	hints->ep_attr->auth_key_size = need->auth_key_size;
	if (hints->ep_attr->auth_key)
		return hints;
free:
	kfi_freeinfo(hints);
	return NULL;
}

int kfi_ulp_query(struct net *net, const struct kfi_need *need, const char *src, const char *node,
		  const char *service, u64 flags, struct kfi_info **info)
{
	struct kfi_info *hints = make_hints(need, src);
	int ret;

	if (!hints)
		return -ENOMEM;
	ret = kfi_getinfo_net(net, ULP_API, node, service, flags, hints, info);
	/* kfi.ko loads a provider that is named */
	if (ret == -ENODATA && need->load && !hints->fabric_attr->prov_name) {
		request_module(KFI_MODULE_IP);
		ret = kfi_getinfo_net(net, ULP_API, node, service, flags, hints, info);
	}
	kfi_freeinfo(hints);
	return ret;
}

int kfi_find(struct net *net, const struct kfi_need *need, const char *src, const char *dst,
	     const char *service, struct kfi_info **info)
{
	bool local = !dst && (src || (service && !need->one_peer));

	return kfi_ulp_query(net, need, dst ? src : NULL, dst ?: src, service,
			     local ? KFI_SOURCE : 0, info);
}
EXPORT_SYMBOL_GPL(kfi_find);

/* ---- fabrics ---- */

static struct kfi_fab *fab_new(struct net *net, const struct kfi_info *info, struct module *owner)
{
	const char *prov = info->fabric_attr->prov_name, *name = info->fabric_attr->name;
	size_t len = strlen(prov) + 1, all = len + strlen(name) + 1;
	struct kfi_fab *fab = kzalloc(struct_size(fab, prov, all), GFP_KERNEL);
	int ret;

	if (!fab)
		return ERR_PTR(-ENOMEM);
	ret = kfi_fabric_net(net, info->fabric_attr, &fab->fabric, NULL);
	if (ret) {
		kfree(fab);
		return ERR_PTR(ret);
	}
	fab->owner = owner;
	fab->net_cookie = net->net_cookie;
	INIT_LIST_HEAD(&fab->doms);
	fab->name = fab->prov + len;
	memcpy(fab->prov, prov, len);
	memcpy(fab->name, name, all - len);
	list_add(&fab->entry, &fabs);
	return fab;
}

static struct kfi_fab *fab_get(struct net *net, const struct kfi_info *info, struct module *owner)
{
	struct kfi_fab *fab;

	lockdep_assert_held(&doms_lock);
	list_for_each_entry(fab, &fabs, entry)
		if (fab->owner == owner && fab->net_cookie == net->net_cookie &&
		    !strcmp(fab->prov, info->fabric_attr->prov_name) &&
		    !strcmp(fab->name, info->fabric_attr->name))
			goto found;
	fab = fab_new(net, info, owner);
	if (IS_ERR(fab))
		return fab;
found:
	fab->users++;
	return fab;
}

static void fab_put(struct kfi_fab *fab)
{
	lockdep_assert_held(&doms_lock);
	if (--fab->users)
		return;
	list_del(&fab->entry);
	WARN_ON(kfi_close(&fab->fabric->fid));
	kfree(fab);
}

struct kfi_fab *kfi_fab_get(struct net *net, const struct kfi_info *info, struct module *owner)
{
	unsigned int noio = memalloc_noio_save();
	struct kfi_fab *fab;

	mutex_lock(&doms_lock);
	fab = fab_get(net, info, owner);
	mutex_unlock(&doms_lock);
	memalloc_noio_restore(noio);
	return fab;
}

void kfi_fab_put(struct kfi_fab *fab)
{
	mutex_lock(&doms_lock);
	fab_put(fab);
	mutex_unlock(&doms_lock);
}

/* ---- domains ---- */

static struct kfi_dom *dom_new(struct kfi_fab *fab, const struct kfi_info *info)
{
	const char *name = info->domain_attr->name;
	size_t len = strlen(name) + 1;
	struct kfi_dom *dom = kzalloc(struct_size(dom, name, len), GFP_KERNEL);
	int ret;

	if (!dom)
		return ERR_PTR(-ENOMEM);
	ret = kfi_domain(fab->fabric, (struct kfi_info *)info, &dom->domain, NULL);
	if (ret)
		goto free;
	ret = kfi_domain_limits(dom->domain, &dom->limits);
	if (ret)
		goto close;
	memcpy(dom->name, name, len);
	dom->mr_mode = info->domain_attr->mr_mode;
	dom->caps = info->domain_attr->caps;
	dom->fab = fab;
	fab->users++;
	list_add(&dom->entry, &fab->doms);
	return dom;

close:
	kfi_close(&dom->domain->fid);
free:
	kfree(dom);
	return ERR_PTR(ret);
}

/* A domain that lost its device is not found any more. */
static struct kfi_dom *dom_get(struct kfi_fab *fab, const struct kfi_info *info)
{
	struct kfi_domain_limits limits;
	struct kfi_dom *dom;

	lockdep_assert_held(&doms_lock);
	list_for_each_entry(dom, &fab->doms, entry) {
		if (strcmp(dom->name, info->domain_attr->name) ||
		    dom->mr_mode != info->domain_attr->mr_mode ||
		    dom->caps != info->domain_attr->caps)
			continue;
		if (!kfi_domain_limits(dom->domain, &limits))
			goto found;
		list_del_init(&dom->entry);
		break;
	}
	dom = dom_new(fab, info);
	if (IS_ERR(dom))
		return dom;
found:
	dom->users++;
	return dom;
}

struct kfi_dom *kfi_dom_get(struct net *net, const struct kfi_info *info, struct module *owner)
{
	unsigned int noio = memalloc_noio_save();
	struct kfi_dom *dom = ERR_PTR(-ENODEV);
	struct kfi_fab *fab;

	mutex_lock(&doms_lock);
	fab = fab_get(net, info, owner);
	if (IS_ERR(fab)) {
		dom = ERR_CAST(fab);
	} else {
		dom = dom_get(fab, info);
		fab_put(fab);
	}
	mutex_unlock(&doms_lock);
	memalloc_noio_restore(noio);
	return dom;
}
EXPORT_SYMBOL_GPL(kfi_dom_get);

struct kfi_dom *kfi_dom_ref(struct kfi_dom *dom)
{
	mutex_lock(&doms_lock);
	dom->users++;
	mutex_unlock(&doms_lock);
	return dom;
}

void kfi_dom_put(struct kfi_dom *dom)
{
	bool last;

	mutex_lock(&doms_lock);
	last = !--dom->users;
	if (last)
		list_del(&dom->entry);
	mutex_unlock(&doms_lock);
	if (!last)
		return;
	if (dom->closing)
		dom->closing(dom);
	WARN_ON(kfi_close(&dom->domain->fid));
	kfi_fab_put(dom->fab);
	kfree(dom);
}
EXPORT_SYMBOL_GPL(kfi_dom_put);
