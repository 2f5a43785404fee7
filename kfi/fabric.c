// SPDX-License-Identifier: GPL-2.0
/* fabric.c - fabrics: open and close, and walks over the open objects. */
#include <linux/nsproxy.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <net/net_namespace.h>

#include "ep.h"
#include "registry.h"

LIST_HEAD(kfi_fabrics);
/*
 * Protects kfi_fabrics, and &kfi_fabric.walks. Each open of a fabric takes it, so nothing waits
 * under it: a walk does not hold it while it looks at a fabric.
 */
static DEFINE_MUTEX(kfi_fabrics_lock);

/**
 * kfi_current_net() - the network namespace of the calling task
 *
 * Return: the namespace. The calling task holds a reference to it.
 */
struct net *kfi_current_net(void)
{
	return current->nsproxy ? current->nsproxy->net_ns : &init_net;
}

/* ---- open and close ---- */

static struct kfi_fabric *make_fabric(struct net *net, const struct kfi_fabric_attr *attr,
				      struct kfi_provider *prov, void *context)
{
	struct kfi_fabric *fabric;

	fabric = kzalloc(sizeof(*fabric), GFP_KERNEL_ACCOUNT);
	if (!fabric)
		return NULL;
	fabric->fid.fid.fclass = KFI_CLASS_FABRIC;
	fabric->fid.fid.context = context;
	fabric->fid.api_version = attr->api_version ?: kfi_version();
	kfi_obj_init(&fabric->obj);
	fabric->prov = prov;
	write_pnet(&fabric->net, net);
	strscpy(fabric->name, attr->name, sizeof(fabric->name));
	mutex_init(&fabric->lock);
	INIT_LIST_HEAD(&fabric->domains);
	INIT_LIST_HEAD(&fabric->peps);
	return fabric;
}

static int check_attr(const struct kfi_fabric_attr *attr)
{
	if (!attr || !attr->prov_name || !attr->name)
		return -EINVAL;
	if (attr->api_version > kfi_version())
		return -ENOSYS;
	return strnlen(attr->name, KFI_NAME_MAX) < KFI_NAME_MAX ? 0 : -EINVAL;
}

/**
 * kfi_fabric_net() - see kfi_info.h
 * @net: network namespace; the caller holds a reference during the call
 * @attr: from an answer of kfi_getinfo()
 * @fabric_fid: where to store the fabric
 * @context: the consumer's pointer
 *
 * Return: 0 or a negative errno.
 */
int kfi_fabric_net(struct net *net, struct kfi_fabric_attr *attr,
		   struct kfid_fabric **fabric_fid, void *context)
{
	struct kfi_provider *prov;
	struct kfi_fabric *fabric;
	int ret;

	might_sleep();
	if (!net || !fabric_fid)
		return -EINVAL;
	ret = check_attr(attr);
	if (ret)
		return ret;
	prov = kfi_provider_get(attr->prov_name);
	if (!prov)
		return -ENODATA;
	fabric = make_fabric(net, attr, prov, context);
	if (!fabric) {
		kfi_provider_put(prov);
		return -ENOMEM;
	}
	mutex_lock(&kfi_fabrics_lock);
	kfi_obj_link(&fabric->obj, &kfi_fabrics);
	mutex_unlock(&kfi_fabrics_lock);
	*fabric_fid = &fabric->fid;
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_fabric_net);

/**
 * kfi_fabric() - see kfi_info.h
 * @attr: as in kfi_fabric_net()
 * @fabric: as in kfi_fabric_net()
 * @context: as in kfi_fabric_net()
 *
 * Return: as kfi_fabric_net().
 */
int kfi_fabric(struct kfi_fabric_attr *attr, struct kfid_fabric **fabric,
	       void *context)
{
	return kfi_fabric_net(kfi_current_net(), attr, fabric, context);
}
EXPORT_SYMBOL_GPL(kfi_fabric);

void kfi_fabric_set_account(struct kfid_fabric *fabric_fid, struct kfi_account *account)
{
	kfi_to_fabric(fabric_fid)->account = account;
}
EXPORT_SYMBOL_GPL(kfi_fabric_set_account);

static int close_fabric(struct kfid *fid)
{
	struct kfi_fabric *fabric = container_of(fid, struct kfi_fabric, fid.fid);
	struct kfi_provider *prov = fabric->prov;

	if (!kfi_obj_retire(&fabric->obj))
		return -EBUSY;
	mutex_lock(&kfi_fabrics_lock);
	list_del(&fabric->obj.entry);
	mutex_unlock(&kfi_fabrics_lock);
	wait_var_event(&fabric->walks, !READ_ONCE(fabric->walks));
	mutex_lock(&kfi_fabrics_lock);	/* the last walk has left the lock */
	mutex_unlock(&kfi_fabrics_lock);
	mutex_destroy(&fabric->lock);
	kfree(fabric);
	kfi_provider_put(prov);
	return 0;
}

const struct kfi_fid_class kfi_fabric_class = {
	.name		= "fabric",
	.close		= close_fabric,
	.ops_open	= kfi_fabric_ops_open,
};

/* ---- walks ---- */

/*
 * Is the fabric in the namespace? NULL: in any, also in one that is ending: the end of a device
 * waits for that, too, by the locks of the fabric.
 */
static bool in_net(const struct kfi_fabric *fabric, const struct net *net)
{
	return !net || (!READ_ONCE(fabric->dead) && net_eq(read_pnet(&fabric->net), net));
}

/*
 * Look at the first fabric with a greater id than @last, until walk_leave(). The one of the step
 * before may have left the list meanwhile, so the id says where to continue.
 */
static struct kfi_fabric *walk_next(struct net *net, u32 last)
{
	struct kfi_fabric *fabric, *next = NULL;

	mutex_lock(&kfi_fabrics_lock);
	list_for_each_entry(fabric, &kfi_fabrics, obj.entry) {
		if (fabric->obj.id <= last || !in_net(fabric, net))
			continue;
		WRITE_ONCE(fabric->walks, fabric->walks + 1);
		next = fabric;
		break;
	}
	mutex_unlock(&kfi_fabrics_lock);
	return next;
}

/* close_fabric() takes the lock, too, before it frees the fabric. */
static void walk_leave(struct kfi_fabric *fabric)
{
	mutex_lock(&kfi_fabrics_lock);
	WRITE_ONCE(fabric->walks, fabric->walks - 1);
	wake_up_var(&fabric->walks);
	mutex_unlock(&kfi_fabrics_lock);
}

static int walk_domain(struct kfi_domain *domain, kfi_ep_fn fn, void *arg)
{
	struct kfi_ep *ep;
	int ret = 0;

	mutex_lock(&domain->lock);
	list_for_each_entry(ep, &domain->eps, obj.entry) {
		ret = fn(ep, arg);
		if (ret)
			break;
	}
	mutex_unlock(&domain->lock);
	return ret;
}

/**
 * kfi_fabric_walk_eps() - call a function for each endpoint of a fabric
 * @fabric: fabric; the caller prevents its close
 * @fn: called under &kfi_fabric.lock and &kfi_domain.lock, so the endpoint can't be closed
 *	meanwhile. May sleep. A nonzero result ends the walk
 * @arg: argument for @fn
 *
 * Return: the last result of @fn, or 0.
 */
int kfi_fabric_walk_eps(struct kfi_fabric *fabric, kfi_ep_fn fn, void *arg)
{
	struct kfi_domain *domain;
	int ret = 0;

	mutex_lock(&fabric->lock);
	list_for_each_entry(domain, &fabric->domains, obj.entry) {
		ret = walk_domain(domain, fn, arg);
		if (ret)
			break;
	}
	mutex_unlock(&fabric->lock);
	return ret;
}

/**
 * kfi_walk_fabrics() - call a function for each fabric of a namespace that is not dead
 * @net: namespace; NULL: all
 * @fn: called without a lock. May sleep. The close of the fabric waits for it, and the fabric may
 *	have no objects any more. A nonzero result ends the walk
 * @arg: argument for @fn
 *
 * Return: the last result of @fn, or 0.
 */
int kfi_walk_fabrics(struct net *net, kfi_fabric_fn fn, void *arg)
{
	struct kfi_fabric *fabric;
	int ret = 0;
	u32 id = 0;

	while (!ret && (fabric = walk_next(net, id))) {
		ret = fn(fabric, arg);
		id = fabric->obj.id;
		walk_leave(fabric);
	}
	return ret;
}

struct ep_walk {
	kfi_ep_fn	fn;
	void		*arg;
};

static int walk_eps(struct kfi_fabric *fabric, void *arg)
{
	struct ep_walk *walk = arg;

	return kfi_fabric_walk_eps(fabric, walk->fn, walk->arg);
}

/**
 * kfi_walk_eps() - call a function for each endpoint of a namespace
 * @net: namespace
 * @fn: as in kfi_fabric_walk_eps()
 * @arg: argument for @fn
 *
 * Return: the last result of @fn, or 0.
 */
int kfi_walk_eps(struct net *net, kfi_ep_fn fn, void *arg)
{
	struct ep_walk walk = { .fn = fn, .arg = arg };

	return kfi_walk_fabrics(net, walk_eps, &walk);
}
