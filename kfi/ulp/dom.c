// SPDX-License-Identifier: GPL-2.0
/*
 * dom.c - finds a provider for an address, and keeps the domains that connections of one module
 * share.
 *
 * fabs_lock protects the list of fabrics and &kfi_fab.users, and nothing waits under it: all
 * modules and namespaces share it. &kfi_fab.lock is held while a domain of the fabric is opened,
 * which may wait for what else happens in this fabric, and so in this namespace.
 *
 * A reconnect for which memory reclaim waits takes both. So allocations under them never wait for
 * I/O, whoever makes them.
 */
#include <linux/ctype.h>
#include <linux/inet.h>
#include <linux/kmod.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <kfi_account.h>
#include "ulp.h"

#define ULP_API	KFI_VERSION(KFI_MAJOR_VERSION, KFI_MINOR_VERSION)

static LIST_HEAD(fabs);
static DEFINE_MUTEX(fabs_lock);

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

/* ---- addresses that nobody has yet ---- */

static bool looks_like_ipv4(const char *node)
{
	return strchr(node, '.') && strspn(node, "0123456789.") == strlen(node);
}

/*
 * Can a device have the name some day? The name of a way may be any word. What looks like an IP
 * address has to be one; the interface in its scope may come later.
 */
static bool node_is_possible(const char *node)
{
	const char *c;
	u8 addr[16];

	if (!*node || strlen(node) >= KFI_NAME_MAX)
		return false;
	for (c = node; *c; c++)
		if (!isgraph(*c))
			return false;
	if (looks_like_ipv4(node))
		return in4_pton(node, -1, addr, -1, NULL) && addr[0] < 224;
	if (strstr(node, "::"))
		return in6_pton(node, -1, addr, '%', NULL) && addr[0] != 0xff;
	return true;
}

/* All providers have numbers as services, and those of IP have 16 bits. */
static bool service_is_possible(const char *node, const char *service)
{
	u64 n;

	return !kstrtou64(service, 10, &n) &&
	       (n <= U16_MAX || !node || !(looks_like_ipv4(node) || strstr(node, "::")));
}

/*
 * Nobody has the address at which a ULP is to listen: may it come? If a provider has it and lacks
 * what the ULP needs, or if no provider is loaded that could have it, nothing that comes later is a
 * reason to wait. Return: 0: it may; -EINVAL: it is malformed; -ENODATA; or another negative error
 */
int kfi_ulp_may_come(struct net *net, const struct kfi_need *need, const char *node,
		     const char *service)
{
	const struct kfi_need any = {
		.provider = need->provider, .device = need->device, .type = need->type,
	};
	struct kfi_info *infos;
	int ret;

	if ((node && !node_is_possible(node)) || (service && !service_is_possible(node, service)))
		return -EINVAL;
	ret = kfi_ulp_query(net, &any, NULL, node, service, KFI_SOURCE | KFI_PROV_ATTR_ONLY,
			    &infos);
	if (ret)
		return ret;
	kfi_freeinfo(infos);
	ret = kfi_ulp_query(net, &any, NULL, node, service, KFI_SOURCE, &infos);
	if (ret)
		return ret == -ENODATA ? 0 : ret;
	kfi_freeinfo(infos);
	/* The address is there: what the ULP needs beside it is not, or has come meanwhile. */
	ret = kfi_ulp_query(net, need, NULL, node, service, KFI_SOURCE, &infos);
	if (!ret)
		kfi_freeinfo(infos);
	return ret;
}

/* ---- queries ---- */

int kfi_find(struct net *net, const struct kfi_need *need, const char *src, const char *dst,
	     const char *service, struct kfi_info **info)
{
	bool local = !dst && (src || (service && !need->one_peer));

	return kfi_ulp_query(net, need, dst ? src : NULL, dst ?: src, service,
			     local ? KFI_SOURCE : 0, info);
}
EXPORT_SYMBOL_GPL(kfi_find);

/* ---- fabrics ---- */

static struct kfi_fab *fab_new(struct net *net, const struct kfi_info *info, struct module *owner,
			       struct kfi_account *account)
{
	const char *prov = info->fabric_attr->prov_name, *name = info->fabric_attr->name;
	size_t len = strlen(prov) + 1, all = len + strlen(name) + 1;
	struct kfi_fab *fab = kzalloc(struct_size(fab, prov, all), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!fab)
		return ERR_PTR(-ENOMEM);
	ret = kfi_fabric_net(net, info->fabric_attr, &fab->fabric, NULL);
	if (ret) {
		kfree(fab);
		return ERR_PTR(ret);
	}
	kfi_fabric_set_account(fab->fabric, account);
	fab->owner = owner;
	fab->net_cookie = net->net_cookie;
	mutex_init(&fab->lock);
	INIT_LIST_HEAD(&fab->doms);
	fab->name = fab->prov + len;
	memcpy(fab->prov, prov, len);
	memcpy(fab->name, name, all - len);
	return fab;
}

static void fab_free(struct kfi_fab *fab)
{
	WARN_ON(kfi_close(&fab->fabric->fid));
	mutex_destroy(&fab->lock);
	kfree(fab);
}

static struct kfi_fab *fab_find(struct net *net, const struct kfi_info *info, struct module *owner)
{
	struct kfi_fab *fab;

	lockdep_assert_held(&fabs_lock);
	list_for_each_entry(fab, &fabs, entry)
		if (fab->owner == owner && fab->net_cookie == net->net_cookie &&
		    !strcmp(fab->prov, info->fabric_attr->prov_name) &&
		    !strcmp(fab->name, info->fabric_attr->name))
			return fab;
	return NULL;
}

/* Enter @new, if there is no such fabric. Return: the fabric in the list, with a user; or NULL */
static struct kfi_fab *fab_enter(struct net *net, const struct kfi_info *info,
				 struct module *owner, struct kfi_fab *new)
{
	struct kfi_fab *fab;

	mutex_lock(&fabs_lock);
	fab = fab_find(net, info, owner);
	if (!fab && new) {
		fab = new;
		list_add(&fab->entry, &fabs);
	}
	if (fab)
		fab->users++;
	mutex_unlock(&fabs_lock);
	return fab;
}

struct kfi_fab *kfi_fab_get(struct net *net, const struct kfi_info *info, struct module *owner,
			    struct kfi_account *account)
{
	struct kfi_fab *fab = fab_enter(net, info, owner, NULL), *new;
	unsigned int noio;

	if (fab)
		return fab;
	noio = memalloc_noio_save();
	new = fab_new(net, info, owner, account);
	memalloc_noio_restore(noio);
	if (IS_ERR(new))
		return new;
	fab = fab_enter(net, info, owner, new);
	if (fab != new)
		fab_free(new);
	return fab;
}

static void fab_hold(struct kfi_fab *fab)
{
	mutex_lock(&fabs_lock);
	fab->users++;
	mutex_unlock(&fabs_lock);
}

void kfi_fab_put(struct kfi_fab *fab)
{
	bool last;

	mutex_lock(&fabs_lock);
	last = !--fab->users;
	if (last)
		list_del(&fab->entry);
	mutex_unlock(&fabs_lock);
	if (last)
		fab_free(fab);
}

/* ---- domains ---- */

static struct kfi_dom *dom_new(struct kfi_fab *fab, const struct kfi_info *info,
			       struct kfi_account *account)
{
	const char *name = info->domain_attr->name;
	size_t len = strlen(name) + 1;
	struct kfi_dom *dom = kzalloc(struct_size(dom, name, len), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!dom)
		return ERR_PTR(-ENOMEM);
	ret = kfi_domain(fab->fabric, (struct kfi_info *)info, &dom->domain, NULL);
	if (ret)
		goto free;
	ret = kfi_domain_limits(dom->domain, &dom->limits);
	if (ret)
		goto close;
	kfi_domain_set_account(dom->domain, account);
	memcpy(dom->name, name, len);
	dom->account = account;
	dom->mr_mode = info->domain_attr->mr_mode;
	dom->caps = info->domain_attr->caps;
	dom->fab = fab;
	list_add(&dom->entry, &fab->doms);
	return dom;

close:
	kfi_close(&dom->domain->fid);
free:
	kfree(dom);
	return ERR_PTR(ret);
}

/* A domain that lost its device is not found any more. */
static struct kfi_dom *dom_find(struct kfi_fab *fab, const struct kfi_info *info,
				const struct kfi_account *account)
{
	struct kfi_domain_limits limits;
	struct kfi_dom *dom;

	lockdep_assert_held(&fab->lock);
	list_for_each_entry(dom, &fab->doms, entry) {
		if (strcmp(dom->name, info->domain_attr->name) || dom->account != account ||
		    dom->mr_mode != info->domain_attr->mr_mode ||
		    dom->caps != info->domain_attr->caps)
			continue;
		if (!kfi_domain_limits(dom->domain, &limits))
			return dom;
		list_del_init(&dom->entry);
		break;
	}
	return NULL;
}

struct kfi_dom *kfi_dom_get_paid(struct net *net, const struct kfi_info *info,
				 struct module *owner, struct kfi_account *account)
{
	/* The account of a fabric is that of its listeners: this one may go before the fabric. */
	struct kfi_fab *fab = kfi_fab_get(net, info, owner, NULL);
	struct kfi_dom *dom;
	unsigned int noio;
	bool new;

	if (IS_ERR(fab))
		return ERR_CAST(fab);
	noio = memalloc_noio_save();
	mutex_lock(&fab->lock);
	dom = dom_find(fab, info, account);
	new = !dom;
	if (new)
		dom = dom_new(fab, info, account);
	if (!IS_ERR(dom))
		dom->users++;
	mutex_unlock(&fab->lock);
	memalloc_noio_restore(noio);
	if (!new || IS_ERR(dom))
		kfi_fab_put(fab);	/* a new domain keeps this reference */
	return dom;
}
EXPORT_SYMBOL_GPL(kfi_dom_get_paid);

struct kfi_dom *kfi_dom_get(struct net *net, const struct kfi_info *info, struct module *owner)
{
	return kfi_dom_get_paid(net, info, owner, NULL);
}
EXPORT_SYMBOL_GPL(kfi_dom_get);

struct kfi_dom *kfi_dom_ref(struct kfi_dom *dom)
{
	mutex_lock(&dom->fab->lock);
	dom->users++;
	mutex_unlock(&dom->fab->lock);
	return dom;
}

void kfi_dom_put(struct kfi_dom *dom)
{
	struct kfi_fab *fab = dom->fab;
	bool last;

	/* mutex_unlock() uses the lock until it returns, and another put may be the last by then. */
	fab_hold(fab);
	mutex_lock(&fab->lock);
	last = !--dom->users;
	if (last)
		list_del(&dom->entry);
	mutex_unlock(&fab->lock);
	kfi_fab_put(fab);
	if (!last)
		return;
	if (dom->closing)
		dom->closing(dom);
	WARN_ON(kfi_close(&dom->domain->fid));
	kfi_fab_put(fab);
	kfree(dom);
}
EXPORT_SYMBOL_GPL(kfi_dom_put);
