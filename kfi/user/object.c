// SPDX-License-Identifier: GPL-2.0
/*
 * The table of a context's objects: find, hold, close.
 *
 * An ioctl holds a reference of the objects that it uses (ku_obj.users). Close takes the handle out
 * of the table, so that no new call finds the object, wakes calls that sleep on it and waits for
 * the others.
 *
 * An object counts the objects that depend on it (ku_obj.bound), as kfi.ko does. While the count is
 * not 0, close fails before anything has changed, and calls of other threads are not affected. A
 * running call may add a dependent object after that: close waits for the call, finds the object in
 * use and puts the handle back.
 */
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <linux/wait_bit.h>
#include "user.h"

/* ---- the table ---- */

enum kfi_payer_kind ku_obj_kind(u32 class)
{
	switch (class) {
	case KFI_CLASS_EP:
	case KFI_CLASS_PEP:
	case KFI_CLASS_STX_CTX:
	case KFI_CLASS_SRX_CTX:
		return KFI_PAYER_ENDPOINTS;
	case KFI_CLASS_MR:
		return KFI_PAYER_REGIONS;
	default:
		return KFI_PAYER_OTHERS;
	}
}

void ku_obj_add_target(struct ku_obj *obj, struct ku_obj *target)
{
	atomic_inc(&target->bound);
	obj->targets[obj->nr_targets++] = target;
}

static void drop_targets(struct ku_obj *obj)
{
	while (obj->nr_targets)
		atomic_dec(&obj->targets[--obj->nr_targets]->bound);
}

/* Bytes that kfi.ko and a provider allocate for an object that is opened */
static size_t class_bytes(u32 class)
{
	switch (ku_obj_kind(class)) {
	case KFI_PAYER_ENDPOINTS:
		return KFI_PAYER_ENDPOINT_BYTES;
	case KFI_PAYER_REGIONS:
		return KFI_PAYER_REGION_BYTES;
	default:
		return KFI_PAYER_OTHER_BYTES;
	}
}

int ku_obj_charge(struct ku_obj *obj, size_t bytes)
{
	if (kfi_account_charge(ku_account(obj->ctx), bytes))
		return -EMFILE;
	obj->room += bytes;
	return 0;
}

void ku_obj_uncharge(struct ku_obj *obj, size_t bytes)
{
	kfi_account_uncharge(ku_account(obj->ctx), bytes);
	obj->room -= bytes;
}

static void uncharge(struct ku_obj *obj)
{
	kfi_payer_give(obj->ctx->payer, ku_obj_kind(obj->class), obj->room);
}

void *ku_obj_new(struct ku_ctx *ctx, struct ku_obj *parent, size_t size, u32 class, u64 cookie)
{
	size_t room = size + class_bytes(class);
	struct ku_obj *obj;
	int ret;

	ret = kfi_payer_take(ctx->payer, ku_obj_kind(class), room);
	if (ret)
		return ERR_PTR(ret);
	ret = -ENOMEM;
	obj = kvzalloc(size, GFP_KERNEL_ACCOUNT);
	if (!obj)
		goto give_back;
	obj->ctx = ctx;
	obj->class = class;
	obj->cookie = cookie;
	obj->room = room;
	mutex_init(&obj->lock);
	refcount_set(&obj->users, 1);
	refcount_set(&obj->maps, 1);
	/*
	 * The index is taken, but the object can't be found yet. An index that was freed is not
	 * taken again soon, so that a handle that a process keeps for too long names no object
	 * rather than another one.
	 */
	ret = xa_alloc_cyclic(&ctx->objs, &obj->handle, NULL, XA_LIMIT(1, INT_MAX), &ctx->next,
			      GFP_KERNEL_ACCOUNT);
	if (ret < 0)
		goto free_obj;
	if (parent)
		ku_obj_add_target(obj, parent);
	return obj;

free_obj:
	kvfree(obj);
give_back:
	kfi_payer_give(ctx->payer, ku_obj_kind(class), room);
	return ERR_PTR(ret);
}

void ku_obj_publish(struct ku_obj *obj)
{
	/* The index is reserved, so the store needs no memory. */
	WARN_ON_ONCE(xa_err(xa_store(&obj->ctx->objs, obj->handle, obj, GFP_KERNEL)));
}

void ku_obj_abandon(struct ku_obj *obj)
{
	struct ku_ctx *ctx = obj->ctx;

	drop_targets(obj);
	xa_erase(&ctx->objs, obj->handle);
	uncharge(obj);
	kvfree_rcu(obj, rcu);
}

struct ku_obj *ku_obj_get(struct ku_ctx *ctx, u32 handle, u32 class)
{
	struct ku_obj *obj;

	rcu_read_lock();
	obj = xa_load(&ctx->objs, handle);
	if (obj && ((class && obj->class != class) || !refcount_inc_not_zero(&obj->users)))
		obj = NULL;
	rcu_read_unlock();
	return obj ?: ERR_PTR(-EBADF);
}

void ku_obj_put(struct ku_obj *obj)
{
	if (unlikely(refcount_dec_and_test(&obj->users))) {
		smp_mb__after_atomic();		/* before the test for sleepers */
		wake_up_var(&obj->users);
	}
}

struct ku_ep *ku_ep_get(struct ku_ctx *ctx, u32 handle)
{
	struct ku_obj *obj = ku_obj_get(ctx, handle, KFI_CLASS_UNSPEC);

	if (IS_ERR(obj))
		return ERR_CAST(obj);
	if (obj->class == KFI_CLASS_EP || obj->class == KFI_CLASS_SRX_CTX)
		return to_ku_ep(obj);
	ku_obj_put(obj);
	return ERR_PTR(-EBADF);
}

struct ku_domain *ku_domain_get(struct ku_ctx *ctx, u32 handle)
{
	struct ku_obj *obj = ku_obj_get(ctx, handle, KFI_CLASS_DOMAIN);

	return IS_ERR(obj) ? ERR_CAST(obj) : container_of(obj, struct ku_domain, obj);
}

/* ---- closing ---- */

/* Empty the list of receives. Completions of the receives may be read after the close. */
static void drop_receives(struct ku_ep *ep)
{
	struct ku_ctx *ctx = ep->obj.ctx;
	struct ku_op *op, *next;
	LIST_HEAD(ended);

	spin_lock_bh(&ctx->ops_lock);
	list_for_each_entry_safe(op, next, &ep->receives, link) {
		op->ep = NULL;
		if (op->ended)
			list_move(&op->link, &ended);
		else
			list_del_init(&op->link);
	}
	spin_unlock_bh(&ctx->ops_lock);
	list_for_each_entry_safe(op, next, &ended, link) {
		list_del_init(&op->link);
		ku_op_put(op);
	}
}

static int end_ep(struct ku_ep *ep)
{
	int ret;

	mutex_lock(&ep->obj.ctx->events);
	ret = kfi_close(ep->obj.fid);
	mutex_unlock(&ep->obj.ctx->events);
	if (ret)
		return ret;
	drop_receives(ep);
	/* A queue that can't be closed is still used: a leak is better than a use after free. */
	if (ep->hidden && !WARN_ON_ONCE(ku_ring_end(ep->hidden)))
		kvfree_rcu(ep->hidden, obj.rcu);
	return 0;
}

/* Close the object of kfi.ko. After an error the object is unchanged. */
static int end_obj(struct ku_obj *obj)
{
	int ret;

	switch (obj->class) {
	case KFI_CLASS_EP:
	case KFI_CLASS_PEP:
	case KFI_CLASS_STX_CTX:
	case KFI_CLASS_SRX_CTX:
		return end_ep(to_ku_ep(obj));
	case KFI_CLASS_CQ:
		return ku_ring_end(to_ku_ring(obj));
	case KFI_CLASS_CONNREQ:
		ku_connreq_end(container_of(obj, struct ku_connreq, obj));
		return 0;
	case KFI_CLASS_DOMAIN:
		mutex_lock(&obj->ctx->events);
		ret = kfi_close(obj->fid);
		mutex_unlock(&obj->ctx->events);
		return ret;
	default:
		return kfi_close(obj->fid);
	}
}

void ku_obj_unmapped(struct ku_obj *obj)
{
	if (!refcount_dec_and_test(&obj->maps))
		return;
	if (obj->class == KFI_CLASS_CQ)
		vfree(to_ku_ring(obj)->head);
	if (obj->class == KFI_CLASS_CNTR)
		free_page((unsigned long)container_of(obj, struct ku_cntr, obj)->count);
	uncharge(obj);
	kvfree_rcu(obj, rcu);
}

/*
 * Free an object that has ended. A process that keeps its mapping of a queue or a counter keeps
 * the pages, so the object stays charged until the last mapping is gone.
 */
static void free_obj(struct ku_obj *obj)
{
	ku_waiter_close(obj);
	drop_targets(obj);
	switch (obj->class) {
	case KFI_CLASS_MR:
		ku_mr_release(container_of(obj, struct ku_mr, obj));
		break;
	case KFI_CLASS_DOMAIN:
		kfi_freeinfo(container_of(obj, struct ku_domain, obj)->info);
		break;
	}
	ku_obj_unmapped(obj);
}

/*
 * Wait for the calls that have found the object; no further call can find it. A call may sleep for
 * long, for example in a page fault that another process handles, so a fatal signal ends the wait.
 * @last: the context is being released, so no call is running.
 */
static int wait_for_users(struct ku_obj *obj, bool last)
{
	WRITE_ONCE(obj->closing, true);
	if (obj->waiter)
		ku_waiter_wake(obj);
	ku_obj_put(obj);	/* reference of the table */
	if (last)	/* a descriptor may be polled */
		wait_var_event(&obj->users, !refcount_read(&obj->users));
	else if (wait_var_event_killable(&obj->users, !refcount_read(&obj->users)) &&
		 refcount_inc_not_zero(&obj->users))
		return -EINTR;
	smp_acquire__after_ctrl_dep();	/* pairs with the last ku_obj_put() */
	return 0;
}

static int close_obj(struct ku_ctx *ctx, u32 handle, bool last)
{
	struct ku_obj *obj;
	int ret = 0;

	xa_lock(&ctx->objs);
	obj = xa_load(&ctx->objs, handle);
	if (!obj)
		ret = -EBADF;
	else if (atomic_read(&obj->bound))
		ret = -EBUSY;
	else
		__xa_store(&ctx->objs, handle, XA_ZERO_ENTRY, 0);	/* the index stays taken */
	xa_unlock(&ctx->objs);
	if (ret)
		return ret;
	ret = wait_for_users(obj, last);
	if (!ret) {
		ret = atomic_read(&obj->bound) ? -EBUSY : end_obj(obj);
		if (ret)
			refcount_set(&obj->users, 1);
	}
	if (ret) {
		WRITE_ONCE(obj->closing, false);
		ku_obj_publish(obj);
		return ret;
	}
	xa_erase(&ctx->objs, handle);
	free_obj(obj);
	return 0;
}

int ku_obj_close(struct ku_ctx *ctx, u32 handle)
{
	return close_obj(ctx, handle, false);
}

/* Objects are closed before those on which they depend. */
void ku_obj_close_all(struct ku_ctx *ctx)
{
	static const u32 order[] = {
		KFI_CLASS_MR, KFI_CLASS_EP, KFI_CLASS_CONNREQ, KFI_CLASS_PEP,
		KFI_CLASS_STX_CTX, KFI_CLASS_SRX_CTX, KFI_CLASS_CNTR, KFI_CLASS_CQ,
		KFI_CLASS_AV, KFI_CLASS_DOMAIN, KFI_CLASS_EQ, KFI_CLASS_FABRIC,
	};
	struct ku_obj *obj;
	unsigned long handle;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(order); i++)
		xa_for_each(&ctx->objs, handle, obj) {
			if (obj->class == order[i])
				WARN_ON_ONCE(close_obj(ctx, handle, true));
			cond_resched();
		}
}

int ku_ioc_close(struct ku_ctx *ctx, void *arg)
{
	struct kfi_user_handle *close = arg;

	return ku_obj_close(ctx, close->handle);
}
