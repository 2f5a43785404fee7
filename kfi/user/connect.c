// SPDX-License-Identifier: GPL-2.0
/*
 * Names of endpoints, and connections.
 */
#include <linux/uaccess.h>
#include "user.h"

/* Copy private data or an address of the process. */
static int take(void *to, u64 from, u32 len, size_t room)
{
	if (len > room)
		return -EINVAL;
	return copy_from_user(to, u64_to_user_ptr(from), len) ? -EFAULT : 0;
}

static struct ku_ep *any_ep_get(struct ku_ctx *ctx, u32 handle)
{
	struct ku_obj *obj = ku_obj_get(ctx, handle, KFI_CLASS_UNSPEC);

	if (IS_ERR(obj))
		return ERR_CAST(obj);
	if (obj->class == KFI_CLASS_EP || obj->class == KFI_CLASS_PEP)
		return to_ku_ep(obj);
	ku_obj_put(obj);
	return ERR_PTR(-EBADF);
}

static struct ku_ep *active_ep_get(struct ku_ctx *ctx, u32 handle)
{
	struct ku_obj *obj = ku_obj_get(ctx, handle, KFI_CLASS_EP);

	return IS_ERR(obj) ? ERR_CAST(obj) : to_ku_ep(obj);
}

/* ---- names ---- */

static int give_name(struct kfi_user_name *name, const u8 *addr, size_t len, int ret)
{
	u32 room = name->addrlen;

	if (ret)
		return ret;
	name->addrlen = len;
	if (copy_to_user(u64_to_user_ptr(name->addr), addr, min_t(size_t, room, len)))
		return -EFAULT;
	return room < len ? -KFI_ETOOSMALL : 0;
}

int ku_ioc_getname(struct ku_ctx *ctx, void *arg)
{
	struct kfi_user_name *name = arg;
	struct ku_ep *ep = any_ep_get(ctx, name->handle);
	u8 addr[KFI_USER_ADDR_MAX];
	size_t len = sizeof(addr);
	int ret;

	if (IS_ERR(ep))
		return PTR_ERR(ep);
	ret = kfi_getname(ep->obj.fid, addr, &len);
	ret = give_name(name, addr, len, ret);
	ku_obj_put(&ep->obj);
	return ret;
}

int ku_ioc_getpeer(struct ku_ctx *ctx, void *arg)
{
	struct kfi_user_name *name = arg;
	struct ku_ep *ep = active_ep_get(ctx, name->handle);
	u8 addr[KFI_USER_ADDR_MAX];
	size_t len = sizeof(addr);
	int ret;

	if (IS_ERR(ep))
		return PTR_ERR(ep);
	ret = kfi_getpeer(ep->ep, addr, &len);
	ret = give_name(name, addr, len, ret);
	ku_obj_put(&ep->obj);
	return ret;
}

int ku_ioc_setname(struct ku_ctx *ctx, void *arg)
{
	struct kfi_user_name *name = arg;
	u8 addr[KFI_USER_ADDR_MAX] __aligned(8);
	struct ku_ep *ep;
	int ret;

	ret = take(addr, name->addr, name->addrlen, sizeof(addr));
	if (ret)
		return ret;
	ep = any_ep_get(ctx, name->handle);
	if (IS_ERR(ep))
		return PTR_ERR(ep);
	ret = ku_limits_addr(ctx, ep->addr_format, addr, name->addrlen) ?:
	      kfi_setname(ep->obj.fid, addr, name->addrlen);
	ku_obj_put(&ep->obj);
	return ret;
}

/* ---- connections ---- */

int ku_ioc_listen(struct ku_ctx *ctx, void *arg)
{
	struct kfi_user_handle *listen = arg;
	struct ku_obj *obj;
	int ret;

	obj = ku_obj_get(ctx, listen->handle, KFI_CLASS_PEP);
	if (IS_ERR(obj))
		return PTR_ERR(obj);
	ret = kfi_listen(container_of(obj->fid, struct kfid_pep, fid));
	ku_obj_put(obj);
	return ret;
}

int ku_ioc_connect(struct ku_ctx *ctx, void *arg)
{
	struct kfi_user_name *to = arg;
	u8 addr[KFI_USER_ADDR_MAX] __aligned(8) = {}, param[KFI_USER_DATA_MAX];
	struct ku_ep *ep;
	int ret;

	ret = take(addr, to->addr, to->addrlen, sizeof(addr));
	if (!ret)
		ret = take(param, to->param, to->paramlen, sizeof(param));
	if (ret)
		return ret;
	ep = active_ep_get(ctx, to->handle);
	if (IS_ERR(ep))
		return PTR_ERR(ep);
	mutex_lock(&ep->obj.lock);
	ret = ku_ep_prepare(ep) ?: kfi_connect(ep->ep, addr, param, to->paramlen);
	ku_ep_enabled(ep);	/* even if it could not connect */
	mutex_unlock(&ep->obj.lock);
	ku_obj_put(&ep->obj);
	return ret;
}

int ku_ioc_accept(struct ku_ctx *ctx, void *arg)
{
	struct kfi_user_name *accept = arg;
	u8 param[KFI_USER_DATA_MAX];
	struct ku_ep *ep;
	int ret;

	ret = take(param, accept->param, accept->paramlen, sizeof(param));
	if (ret)
		return ret;
	ep = active_ep_get(ctx, accept->handle);
	if (IS_ERR(ep))
		return PTR_ERR(ep);
	mutex_lock(&ep->obj.lock);
	ret = ku_ep_prepare(ep) ?: kfi_accept(ep->ep, param, accept->paramlen);
	ku_ep_enabled(ep);	/* even if it could not connect */
	mutex_unlock(&ep->obj.lock);
	ku_obj_put(&ep->obj);
	return ret;
}

/* Only one thread can take the request, either to reject it or to open an endpoint with it. */
static int reject(struct ku_ctx *ctx, struct ku_obj *pep, struct ku_connreq *req, const void *param,
		  size_t len)
{
	int ret = -EINVAL;

	mutex_lock(&ctx->events);
	if (req->info && req->pep == pep->handle) {
		ret = kfi_reject(container_of(pep->fid, struct kfid_pep, fid), req->info->handle,
				 param, len);
		if (!ret) {
			kfi_freeinfo(req->info);
			req->info = NULL;
		}
	}
	mutex_unlock(&ctx->events);
	return ret;
}

int ku_ioc_reject(struct ku_ctx *ctx, void *arg)
{
	struct kfi_user_name *name = arg;
	u8 param[KFI_USER_DATA_MAX];
	struct ku_obj *pep, *req;
	int ret;

	ret = take(param, name->param, name->paramlen, sizeof(param));
	if (ret)
		return ret;
	pep = ku_obj_get(ctx, name->handle, KFI_CLASS_PEP);
	if (IS_ERR(pep))
		return PTR_ERR(pep);
	req = ku_obj_get(ctx, name->connreq, KFI_CLASS_CONNREQ);
	if (IS_ERR(req)) {
		ret = PTR_ERR(req);
		goto put_pep;
	}
	ret = reject(ctx, pep, container_of(req, struct ku_connreq, obj), param, name->paramlen);
	ku_obj_put(req);
put_pep:
	ku_obj_put(pep);
	return ret;
}

int ku_ioc_shutdown(struct ku_ctx *ctx, void *arg)
{
	struct kfi_user_shutdown *shutdown = arg;
	struct ku_ep *ep;
	int ret;

	if (shutdown->reserved)
		return -EINVAL;
	ep = active_ep_get(ctx, shutdown->handle);
	if (IS_ERR(ep))
		return PTR_ERR(ep);
	ret = kfi_shutdown(ep->ep, shutdown->flags);
	ku_obj_put(&ep->obj);
	return ret;
}
