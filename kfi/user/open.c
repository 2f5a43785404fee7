// SPDX-License-Identifier: GPL-2.0
/*
 * Opening fabrics, domains, endpoints and shared contexts.
 */
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include "user.h"

int ku_ioc_fabric(struct ku_ctx *ctx, void *arg)
{
	struct kfi_user_fabric *open = arg;
	struct kfi_fabric_attr attr = {
		.name = open->name,
		.prov_name = open->prov_name,
		.api_version = open->api_version,
	};
	struct kfid_fabric *fabric;
	struct ku_obj *obj;
	int ret;

	if (!memchr(open->name, 0, sizeof(open->name)) ||
	    !memchr(open->prov_name, 0, sizeof(open->prov_name)))
		return -EINVAL;
	obj = ku_obj_new(ctx, NULL, sizeof(*obj), KFI_CLASS_FABRIC, open->cookie);
	if (IS_ERR(obj))
		return PTR_ERR(obj);
	ret = kfi_fabric_net(ctx->net, &attr, &fabric, obj);
	if (ret) {
		ku_obj_abandon(obj);
		return ret;
	}
	kfi_fabric_set_account(fabric, ku_account(ctx));
	obj->fid = &fabric->fid;
	open->handle = obj->handle;
	ku_obj_publish(obj);
	return 0;
}

/* Reduce a size to the requested one; 0 requests no size. */
static void shorten(size_t *offered, size_t requested)
{
	if (requested)
		*offered = min(*offered, requested);
}

/*
 * kfi.ko and providers rely on the contents of an info, which they have created. So the info of a
 * process is used only as hints. The first info that matches the hints, and that is offered to
 * processes, is opened, possibly with shorter queues and fewer capabilities.
 */
static struct kfi_info *find_info(struct ku_ctx *ctx, const struct kfi_info *requested)
{
	struct kfi_info *list, *first, *info = NULL;
	int ret;

	ret = kfi_getinfo_net(ctx->net, 0, NULL, NULL, 0, requested, &list);
	if (ret)
		return ERR_PTR(ret);
	for (first = list; first && !ku_info_offered(first); first = first->next)
		;
	if (first)
		info = kfi_dupinfo(first);
	kfi_freeinfo(list);
	if (!info)
		return ERR_PTR(first ? -ENOMEM : -ENODATA);
	ret = ku_limits_addr(ctx, info->addr_format, info->src_addr, info->src_addrlen);
	if (ret) {
		kfi_freeinfo(info);
		return ERR_PTR(ret);
	}
	info->caps &= requested->caps ?: info->caps;
	info->tx_attr->caps &= requested->tx_attr->caps ?: info->tx_attr->caps;
	info->rx_attr->caps &= requested->rx_attr->caps ?: info->rx_attr->caps;
	shorten(&info->tx_attr->size, requested->tx_attr->size);
	shorten(&info->rx_attr->size, requested->rx_attr->size);
	shorten(&info->tx_attr->inject_size, requested->tx_attr->inject_size);
	shorten(&info->ep_attr->max_msg_size, requested->ep_attr->max_msg_size);
	/*
	 * A vector of the process may have any number of pages: it is posted as one iov_iter, so
	 * operations of kfi.ko need no room for vectors. A descriptor has all its flags, so no
	 * default flags are added.
	 */
	info->tx_attr->iov_limit = 1;
	info->rx_attr->iov_limit = 1;
	shorten(&info->tx_attr->rma_iov_limit, KFI_USER_IOV_MAX);
	info->tx_attr->op_flags = 0;
	info->rx_attr->op_flags = 0;
	return info;
}

/* The names of an endpoint's domain replace those in the info of the process. */
static int same_domain(struct kfi_info *requested, const struct kfi_info *domain)
{
	char *name = kstrdup(domain->domain_attr->name, GFP_KERNEL_ACCOUNT);
	char *fabric = kstrdup(domain->fabric_attr->name, GFP_KERNEL_ACCOUNT);
	char *prov = kstrdup(domain->fabric_attr->prov_name, GFP_KERNEL_ACCOUNT);

	if (!name || !fabric || !prov) {
		kfree(name);
		kfree(fabric);
		kfree(prov);
		return -ENOMEM;
	}
	kfree(requested->domain_attr->name);
	kfree(requested->fabric_attr->name);
	kfree(requested->fabric_attr->prov_name);
	requested->domain_attr->name = name;
	requested->fabric_attr->name = fabric;
	requested->fabric_attr->prov_name = prov;
	requested->addr_format = domain->addr_format;
	return 0;
}

/* Return the info for an object in @fabric or in @domain. */
static struct kfi_info *open_info(struct ku_ctx *ctx, const struct kfi_user_open *open,
				  struct ku_obj *fabric, const struct ku_domain *domain)
{
	struct kfi_info *requested, *info;
	int ret = 0;

	requested = ku_info_from_user(open->info, open->info_size);
	if (IS_ERR(requested))
		return requested;
	if (domain)
		ret = same_domain(requested, domain->info);
	if (fabric)
		requested->fabric_attr->fabric = container_of(fabric->fid, struct kfid_fabric, fid);
	info = ret ? ERR_PTR(ret) : find_info(ctx, requested);
	/*
	 * The process chooses the addresses in its regions. Addresses of the kernel's mapping are
	 * not used, and not shown to the process.
	 */
	if (!IS_ERR(info))
		info->domain_attr->mr_mode &= ~KFI_MR_VIRT_ADDR;
	kfi_freeinfo(requested);
	return info;
}

static u64 ep_room(const struct kfi_info *info)
{
	u64 depth = (u64)info->tx_attr->size + info->rx_attr->size;

	return depth * (KFI_PAYER_OPER_BYTES + min_t(size_t, info->tx_attr->inject_size, SZ_4K));
}

/*
 * First part of all calls with struct kfi_user_open: allocate an object of @class, and the info to
 * open it with.
 */
static void *open_new(struct ku_ctx *ctx, struct kfi_user_open *open, struct ku_obj *fabric,
		      struct ku_domain *domain, size_t size, u32 class, struct kfi_info **infop)
{
	struct ku_obj *parent = fabric, *obj;
	struct kfi_info *info;
	int ret;

	info = open_info(ctx, open, fabric, domain);
	if (IS_ERR(info))
		return ERR_CAST(info);
	if (domain)
		parent = &domain->obj;
	obj = ku_obj_new(ctx, parent, size, class, open->cookie);
	if (IS_ERR(obj)) {
		ret = PTR_ERR(obj);
		goto free_info;
	}
	if (ku_obj_kind(class) == KFI_PAYER_ENDPOINTS && class != KFI_CLASS_PEP) {
		ret = ep_room(info) > SIZE_MAX ? -EMFILE : ku_obj_charge(obj, ep_room(info));
		if (ret)
			goto abandon;
	}
	*infop = info;
	return obj;

abandon:
	ku_obj_abandon(obj);
free_info:
	kfi_freeinfo(info);
	return ERR_PTR(ret);
}

/* Last part of all calls with struct kfi_user_open. @ret: result of kfi.ko */
static int open_done(struct kfi_user_open *open, struct ku_obj *obj, struct kfid *fid,
		     struct kfi_info *info, int ret)
{
	kfi_freeinfo(info);
	if (ret) {
		ku_obj_abandon(obj);
		return ret;
	}
	obj->fid = fid;
	open->handle = obj->handle;
	ku_obj_publish(obj);
	return 0;
}

/* The domain keeps the info, because its endpoints have to be of the same provider and domain. */
static int open_domain(struct ku_domain *domain, struct kfid_fabric *fabric, struct kfi_info *info)
{
	struct kfi_domain_limits limits;
	int ret;

	domain->info = kfi_dupinfo(info);
	if (!domain->info)
		return -ENOMEM;
	ret = kfi_domain(fabric, info, &domain->domain, domain);
	if (ret)
		goto free_info;
	ret = kfi_domain_limits(domain->domain, &limits);
	if (!ret && limits.addrlen > KFI_USER_ADDR_MAX)
		ret = -EOPNOTSUPP;
	if (ret)
		goto close_domain;
	domain->addrlen = limits.addrlen;
	return 0;

close_domain:
	kfi_close(&domain->domain->fid);
free_info:
	kfi_freeinfo(domain->info);
	return ret;
}

int ku_ioc_domain(struct ku_ctx *ctx, void *arg)
{
	struct kfi_user_open *open = arg;
	struct ku_domain *domain;
	struct kfi_info *info;
	struct ku_obj *fabric;
	int ret;

	fabric = ku_obj_get(ctx, open->parent, KFI_CLASS_FABRIC);
	if (IS_ERR(fabric))
		return PTR_ERR(fabric);
	domain = open_new(ctx, open, fabric, NULL, sizeof(*domain), KFI_CLASS_DOMAIN, &info);
	if (IS_ERR(domain)) {
		ret = PTR_ERR(domain);
		goto put_fabric;
	}
	ret = open_domain(domain, container_of(fabric->fid, struct kfid_fabric, fid), info);
	ret = open_done(open, &domain->obj, &domain->domain->fid, info, ret);
put_fabric:
	ku_obj_put(fabric);
	return ret;
}

static struct ku_ep *open_ep(struct ku_ctx *ctx, struct kfi_user_open *open, struct ku_obj *fabric,
			     struct ku_domain *domain, u32 class, struct kfi_info **infop)
{
	struct ku_ep *ep = open_new(ctx, open, fabric, domain, sizeof(*ep), class, infop);

	if (IS_ERR(ep))
		return ep;
	INIT_LIST_HEAD(&ep->receives);
	ep->domain = domain ? domain->domain : NULL;
	ep->addr_format = (*infop)->addr_format;
	ep->max_msg_size = (*infop)->ep_attr->max_msg_size;
	ep->depth = (*infop)->tx_attr->size + (*infop)->rx_attr->size;
	return ep;
}

int ku_ioc_passive_ep(struct ku_ctx *ctx, void *arg)
{
	struct kfi_user_open *open = arg;
	struct kfid_pep *pep = NULL;
	struct ku_obj *fabric;
	struct kfi_info *info;
	struct ku_ep *ep;
	int ret;

	fabric = ku_obj_get(ctx, open->parent, KFI_CLASS_FABRIC);
	if (IS_ERR(fabric))
		return PTR_ERR(fabric);
	ep = open_ep(ctx, open, fabric, NULL, KFI_CLASS_PEP, &info);
	if (IS_ERR(ep)) {
		ret = PTR_ERR(ep);
		goto put_fabric;
	}
	ret = kfi_passive_ep(container_of(fabric->fid, struct kfid_fabric, fid), info, &pep,
			     &ep->obj);
	ret = open_done(open, &ep->obj, &pep->fid, info, ret);
put_fabric:
	ku_obj_put(fabric);
	return ret;
}

/*
 * The endpoint of a process neither uses reserved ports nor accepts peers because of them, and its
 * memory is that of pin.c.
 */
static int make_unprivileged(struct kfid_ep *ep)
{
	size_t yes = 1;
	int ret;

	ret = kfi_setopt(&ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_UNPRIVILEGED, &yes, sizeof(yes));
	if (ret)
		kfi_close(&ep->fid);
	return ret;
}

/* On success the request belongs to the endpoint. */
static int open_endpoint(struct kfi_info *info, struct ku_connreq *req, struct ku_ep *ep)
{
	int ret;

	mutex_lock(&ep->obj.ctx->events);	/* no other endpoint takes the request */
	if (req) {
		ret = -EINVAL;
		if (!req->info)
			goto unlock;
		info->handle = req->info->handle;
	}
	ret = kfi_endpoint(ep->domain, info, &ep->ep, &ep->obj) ?: make_unprivileged(ep->ep);
	if (ret)
		goto unlock;
	if (req) {
		kfi_freeinfo(req->info);
		req->info = NULL;
	}
unlock:
	mutex_unlock(&ep->obj.ctx->events);
	return ret;
}

int ku_ioc_endpoint(struct ku_ctx *ctx, void *arg)
{
	struct kfi_user_open *open = arg;
	struct ku_obj *request = NULL;
	struct ku_domain *domain;
	struct kfi_info *info;
	struct ku_ep *ep;
	int ret;

	domain = ku_domain_get(ctx, open->parent);
	if (IS_ERR(domain))
		return PTR_ERR(domain);
	if (open->connreq) {
		request = ku_obj_get(ctx, open->connreq, KFI_CLASS_CONNREQ);
		if (IS_ERR(request)) {
			ret = PTR_ERR(request);
			goto put_domain;
		}
	}
	ep = open_ep(ctx, open, NULL, domain, KFI_CLASS_EP, &info);
	if (IS_ERR(ep)) {
		ret = PTR_ERR(ep);
		goto put_request;
	}
	ret = open_endpoint(info, request ? container_of(request, struct ku_connreq, obj) : NULL,
			    ep);
	ret = open_done(open, &ep->obj, &ep->ep->fid, info, ret);
put_request:
	if (request)
		ku_obj_put(request);
put_domain:
	ku_obj_put(&domain->obj);
	return ret;
}

/* Open a context of @class, which endpoints of a domain share */
static int open_shared(struct ku_ctx *ctx, struct kfi_user_open *open, u32 class)
{
	struct ku_domain *domain;
	struct kfi_info *info;
	struct kfid_stx *stx;
	struct kfid *fid;
	struct ku_ep *ep;
	int ret;

	domain = ku_domain_get(ctx, open->parent);
	if (IS_ERR(domain))
		return PTR_ERR(domain);
	ep = open_ep(ctx, open, NULL, domain, class, &info);
	if (IS_ERR(ep)) {
		ret = PTR_ERR(ep);
		goto put_domain;
	}
	if (class == KFI_CLASS_STX_CTX) {
		ret = kfi_stx_context(ep->domain, info->tx_attr, &stx, &ep->obj);
		fid = ret ? NULL : &stx->fid;
	} else {
		ret = kfi_srx_context(ep->domain, info->rx_attr, &ep->ep, &ep->obj) ?:
		      make_unprivileged(ep->ep);
		fid = ret ? NULL : &ep->ep->fid;
	}
	ret = open_done(open, &ep->obj, fid, info, ret);
put_domain:
	ku_obj_put(&domain->obj);
	return ret;
}

int ku_ioc_stx(struct ku_ctx *ctx, void *arg)
{
	return open_shared(ctx, arg, KFI_CLASS_STX_CTX);
}

int ku_ioc_srx(struct ku_ctx *ctx, void *arg)
{
	return open_shared(ctx, arg, KFI_CLASS_SRX_CTX);
}
