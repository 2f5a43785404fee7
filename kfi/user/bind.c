// SPDX-License-Identifier: GPL-2.0
/* Calls for endpoints between open and close: bind, enable, options. */
#include <linux/uaccess.h>
#include "user.h"

/* Return the directions that a counter with these flags counts. */
static u64 counted_directions(u64 flags)
{
	u64 directions = flags & KFI_RECV;

	if (flags & (KFI_SEND | KFI_WRITE | KFI_READ))
		directions |= KFI_TRANSMIT;
	return directions;
}

static bool has_targets(const struct ku_obj *obj)
{
	return obj->class == KFI_CLASS_EP || obj->class == KFI_CLASS_PEP ||
	       obj->class == KFI_CLASS_SRX_CTX;
}

static bool has_target(const struct ku_ep *ep, u32 class)
{
	unsigned int i;

	for (i = 0; i < ep->obj.nr_targets; i++)
		if (ep->obj.targets[i]->class == class)
			return true;
	return false;
}

/* The target can't be closed before the object. */
static int bind_obj(struct ku_obj *obj, struct ku_obj *target, u64 flags)
{
	int ret;

	lockdep_assert_held(&obj->lock);
	if (obj->nr_targets == KU_TARGETS)
		return -EINVAL;
	ret = kfi_bind(obj->fid, target->fid, flags);
	if (!ret)
		ku_obj_add_target(obj, target);
	return ret;
}

static int bind_ep(struct ku_ep *ep, struct ku_obj *target, u64 flags)
{
	int ret;

	/* The shared context would get the hidden queue as its queue. */
	if (ep->hidden && target->class == KFI_CLASS_SRX_CTX)
		return -EINVAL;
	ret = bind_obj(&ep->obj, target, flags);
	if (ret)
		return ret;
	if (target->class == KFI_CLASS_CQ)
		ep->queued |= flags & (KFI_TRANSMIT | KFI_RECV);
	if (target->class == KFI_CLASS_CNTR)
		ep->counted |= counted_directions(flags);
	if (target->class == KFI_CLASS_SRX_CTX)
		ep->queued |= KFI_RECV;		/* all receives are those of the context */
	return 0;
}

int ku_ioc_bind(struct ku_ctx *ctx, void *arg)
{
	struct kfi_user_bind *bind = arg;
	struct ku_obj *obj, *target;
	int ret;

	/*
	 * The end of each operation has to be reported to this module, which passes the selected
	 * completions to the process.
	 */
	if (bind->flags & (KFI_SELECTIVE_COMPLETION | GENMASK_ULL(63, 60)))
		return -KFI_EBADFLAGS;
	obj = ku_obj_get(ctx, bind->handle, KFI_CLASS_UNSPEC);
	if (IS_ERR(obj))
		return PTR_ERR(obj);
	target = ku_obj_get(ctx, bind->target, KFI_CLASS_UNSPEC);
	if (IS_ERR(target)) {
		ret = PTR_ERR(target);
		goto put_obj;
	}
	mutex_lock(&obj->lock);
	if (!obj->fid || !target->fid)
		ret = -EINVAL;		/* a connection request */
	else if (has_targets(obj))
		ret = bind_ep(to_ku_ep(obj), target, bind->flags);
	else
		ret = bind_obj(obj, target, bind->flags);
	mutex_unlock(&obj->lock);
	ku_obj_put(target);
put_obj:
	ku_obj_put(obj);
	return ret;
}

/*
 * Give a hidden queue to a direction that has a counter and no queue: otherwise kfi.ko would not
 * report the ends of operations to this module.
 */
int ku_ep_prepare(struct ku_ep *ep)
{
	u64 directions = ep->counted & ~ep->queued;
	struct ku_ring *ring;
	size_t bytes;
	int ret;

	lockdep_assert_held(&ep->obj.lock);
	if (!directions)
		return 0;
	if (!ep->hidden) {
		bytes = ep->depth * sizeof(struct kfi_user_cqe);
		ret = ku_obj_charge(&ep->obj, bytes);
		if (ret)
			return ret;
		ring = ku_ring_hidden(ep->obj.ctx, ep->domain, ep->depth);
		if (IS_ERR(ring)) {
			ku_obj_uncharge(&ep->obj, bytes);
			return PTR_ERR(ring);
		}
		ep->hidden = ring;
	}
	ret = kfi_bind(ep->obj.fid, &ep->hidden->cq->fid, directions);
	if (!ret)
		ep->queued |= directions;
	return ret;
}

/*
 * A shared receive context now has the queue of its first endpoint, which can't be closed before
 * the context.
 */
void ku_ep_enabled(struct ku_ep *ep)
{
	struct ku_ep *srx = NULL;
	unsigned int i;

	lockdep_assert_held(&ep->obj.lock);
	for (i = 0; i < ep->obj.nr_targets; i++)
		if (ep->obj.targets[i]->class == KFI_CLASS_SRX_CTX)
			srx = to_ku_ep(ep->obj.targets[i]);
	if (!srx)
		return;
	mutex_lock_nested(&srx->obj.lock, SINGLE_DEPTH_NESTING);
	if (!has_target(srx, KFI_CLASS_CQ))
		for (i = 0; i < ep->obj.nr_targets && srx->obj.nr_targets < KU_TARGETS; i++)
			if (ep->obj.targets[i]->class == KFI_CLASS_CQ)
				ku_obj_add_target(&srx->obj, ep->obj.targets[i]);
	mutex_unlock(&srx->obj.lock);
}

static int enable(struct ku_obj *obj)
{
	int ret = 0;

	lockdep_assert_held(&obj->lock);
	if (!obj->fid)
		return -EINVAL;		/* a connection request */
	if (obj->class == KFI_CLASS_EP)
		ret = ku_ep_prepare(to_ku_ep(obj));
	if (!ret)
		ret = kfi_control(obj->fid, KFI_ENABLE, NULL);
	if (obj->class == KFI_CLASS_EP)
		/* kfi.ko may have failed after it has enabled the endpoint */
		ku_ep_enabled(to_ku_ep(obj));
	return ret;
}

int ku_ioc_enable(struct ku_ctx *ctx, void *arg)
{
	struct kfi_user_handle *which = arg;
	struct ku_obj *obj;
	int ret;

	obj = ku_obj_get(ctx, which->handle, KFI_CLASS_UNSPEC);
	if (IS_ERR(obj))
		return PTR_ERR(obj);
	mutex_lock(&obj->lock);
	ret = enable(obj);
	mutex_unlock(&obj->lock);
	ku_obj_put(obj);
	return ret;
}

/* ---- options ---- */

/* All options of kfi.ko are of type size_t, in libfabric as well; here they have 64 bits. */
static int read_option(struct kfid *fid, struct kfi_user_opt *opt)
{
	size_t value, len = sizeof(value);
	u32 room = opt->len;
	u64 wide;
	int ret;

	ret = kfi_getopt(fid, opt->level, opt->name, &value, &len);
	if (ret)
		return ret;
	opt->len = sizeof(wide);
	if (room < sizeof(wide))
		return -KFI_ETOOSMALL;
	wide = value;
	return copy_to_user(u64_to_user_ptr(opt->value), &wide, sizeof(wide)) ? -EFAULT : 0;
}

/*
 * A process may not set options that affect the memory of others, or that change the privileges of
 * the endpoint.
 */
static int write_option(struct ku_ep *ep, const struct kfi_user_opt *opt)
{
	size_t value;
	u64 wide;

	if (opt->name == KFI_OPT_RECLAIM || opt->name == KFI_OPT_UNPRIVILEGED ||
	    opt->name == KFI_OPT_NEED_PRIVILEGE || opt->name == KFI_OPT_RESERVED_PORT ||
	    opt->name == KFI_OPT_EAGER_SIZE)
		return -ENOPROTOOPT;
	/* No option has another size: size 0 makes kfi.ko return the right error. */
	if (opt->len != sizeof(wide))
		return kfi_setopt(&ep->ep->fid, opt->level, opt->name, &value, 0);
	if (copy_from_user(&wide, u64_to_user_ptr(opt->value), sizeof(wide)))
		return -EFAULT;
	value = wide;
	if (value != wide)
		return -EINVAL;
	return kfi_setopt(&ep->ep->fid, opt->level, opt->name, &value, sizeof(value));
}

int ku_ioc_getopt(struct ku_ctx *ctx, void *arg)
{
	struct kfi_user_opt *opt = arg;
	struct ku_obj *obj = ku_obj_get(ctx, opt->handle, KFI_CLASS_UNSPEC);
	int ret = -EBADF;

	if (IS_ERR(obj))
		return PTR_ERR(obj);
	if (obj->class == KFI_CLASS_EP || obj->class == KFI_CLASS_SRX_CTX ||
	    obj->class == KFI_CLASS_PEP)
		ret = read_option(obj->fid, opt);
	ku_obj_put(obj);
	return ret;
}

int ku_ioc_setopt(struct ku_ctx *ctx, void *arg)
{
	struct kfi_user_opt *opt = arg;
	struct ku_ep *ep = ku_ep_get(ctx, opt->handle);
	int ret;

	if (IS_ERR(ep))
		return PTR_ERR(ep);
	ret = write_option(ep, opt);
	ku_obj_put(&ep->obj);
	return ret;
}
