// SPDX-License-Identifier: GPL-2.0
/* Contexts: open and release of /dev/kfi. */
#include <linux/fs.h>
#include <linux/nsproxy.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include "context.h"

int ku_open(struct inode *inode, struct file *file)
{
	struct ku_ctx *ctx;
	int ret;

	ctx = kzalloc(sizeof(*ctx), GFP_KERNEL_ACCOUNT);
	if (!ctx)
		return -ENOMEM;
	ctx->payer = kfi_payer_open();
	if (IS_ERR(ctx->payer)) {
		ret = PTR_ERR(ctx->payer);
		kfree(ctx);
		return ret;
	}
	ctx->mm = current->mm;
	mmgrab(ctx->mm);
	ctx->net = get_net(current->nsproxy->net_ns);
	xa_init_flags(&ctx->objs, XA_FLAGS_ALLOC1);
	mutex_init(&ctx->events);
	mutex_init(&ctx->pinning);
	spin_lock_init(&ctx->ops_lock);
	ku_cache_init(ctx);
	file->private_data = ctx;
	return nonseekable_open(inode, file);
}

/*
 * The last descriptor and the last mapping are closed, so no call is running. Operations end while
 * their endpoints are closed; their memory is unpinned after that. Notifiers of the memory
 * management may still run: ku_cache_exit() waits for them.
 */
int ku_release(struct inode *inode, struct file *file)
{
	struct ku_ctx *ctx = file->private_data;

	ku_obj_close_all(ctx);
	/*
	 * An object that could not be closed still uses the context: a leak is better than a use
	 * after free.
	 */
	if (WARN_ON_ONCE(!xa_empty(&ctx->objs)))
		return 0;
	ku_cache_exit(ctx);
	ku_stock_empty(ctx);
	xa_destroy(&ctx->objs);
	put_net(ctx->net);
	mmdrop(ctx->mm);
	kfi_payer_put(ctx->payer);
	kfree(ctx);
	return 0;
}

/*
 * A mapping is copied when it is split or moved, and by a fork after MADV_DOFORK. Each copy has a
 * reference of the file, so the context exists until the last one is closed.
 */
static void map_open(struct vm_area_struct *vma)
{
	struct ku_obj *obj = vma->vm_private_data;

	refcount_inc(&obj->maps);
}

static void map_close(struct vm_area_struct *vma)
{
	ku_obj_unmapped(vma->vm_private_data);
}

static const struct vm_operations_struct ku_vm_ops = {
	.open = map_open,
	.close = map_close,
};

/* The offset of a mapping is the handle of a completion queue or counter. */
int ku_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct ku_ctx *ctx = file->private_data;
	struct ku_obj *obj;
	int ret = -EINVAL;

	if (current->mm != ctx->mm)
		return -EIO;
	if (vma->vm_pgoff > U32_MAX || !(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	obj = ku_obj_get(ctx, vma->vm_pgoff, KFI_CLASS_UNSPEC);
	if (IS_ERR(obj))
		return PTR_ERR(obj);
	vm_flags_set(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP);
	if (obj->class == KFI_CLASS_CQ)
		ret = ku_ring_map(to_ku_ring(obj), vma);
	else if (obj->class == KFI_CLASS_CNTR)
		ret = ku_cntr_map(container_of(obj, struct ku_cntr, obj), vma);
	if (!ret) {
		vma->vm_private_data = obj;
		vma->vm_ops = &ku_vm_ops;
		map_open(vma);
	}
	ku_obj_put(obj);
	return ret;
}
